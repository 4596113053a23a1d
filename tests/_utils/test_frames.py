"""Results as data frames: a row for each solve, run or round; and data frames of users."""

from __future__ import annotations

import datetime
import decimal
import fractions
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.problems import reference_erlpboost, reference_lpboost

from boostopt import OptionError, ProblemError, benchmark, boost, compare, path
from boostopt.estimators import MarginBoostClassifier, MarginBoostRegressor, RBFNetworkClassifier
from boostopt.oracles import DecisionStumps, GivenMargins

ORACLE = GivenMargins(np.random.default_rng(0).choice([-1.0, 1.0], (30, 12)))


def test_each_result_has_a_row_for_each_of_its_parts() -> None:
    compared = compare(reference_lpboost(), ["highs", "interior"])
    frame = compared.to_dataframe()
    assert frame["backend"].tolist() == ["highs", "interior"]
    assert (frame["lower"] <= compared.interval[1]).all() and (frame["upper"] >= compared.interval[0]).all()
    measured = benchmark(reference_erlpboost(), ["interior"], [1e-6], repeats=2)
    assert len(measured.to_dataframe()) == len(measured.runs)
    run = boost("lpboost", ORACLE, nu=3)
    trace = run.trace.to_dataframe()
    assert list(trace.columns) == list(run.trace.columns) and len(trace) == len(run.trace)
    np.testing.assert_array_equal(trace["soft_margin"], run.trace["soft_margin"])


def test_a_path_has_what_is_proved_of_each_value() -> None:
    runs = path("lpboost", ORACLE, nu=[3.0, 6.0])
    frame = runs.to_dataframe()
    assert frame["nu"].tolist() == [3.0, 6.0]
    np.testing.assert_array_equal(frame["lower"], runs.lower)
    np.testing.assert_array_equal(frame["upper"], runs.upper)
    assert frame["reason"].tolist() == [run.reason for run in runs.runs]


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match=r"^to_dataframe\b.*\bpandas\b"):
        boost("lpboost", ORACLE, nu=3, max_rounds=2).trace.to_dataframe()


def test_columns_with_missing_values_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"mean area": [0.5, 1.5, 2.0, 3.0], "age in years": [1.0, None, 3.0, None]})
    y = [0, 0, 1, 1]
    with pytest.raises(ProblemError, match=r"no missing values; got NaN in the column 'age in years'\. .*Imputer"):
        MarginBoostClassifier().fit(table, y)
    rows = table.assign(**{f"column {k}": pandas.array([1, 2, None, 4], dtype="Int64") for k in range(4)})
    words = "columns 'age in years', 'column 0', 'column 1' and 2 more"
    for model in (MarginBoostClassifier(), MarginBoostRegressor()):
        with pytest.raises(ProblemError, match=f"got NaN in the {words}"):
            model.fit(rows, y)
    fitted = MarginBoostClassifier(epsilon=0.5).fit(table.fillna(0.0), y)
    with pytest.raises(ProblemError, match="NaN in the column 'age in years'"):
        fitted.predict(table)


def test_a_column_without_numbers_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"mean area": [0.5, 1.5, 2.0, 3.0], "old": [True, False, False, True]})
    y = [0, 0, 1, 1]
    model = MarginBoostClassifier(epsilon=0.5).fit(table, y)
    assert "mean area" in model.in_words()[0] and list(model.predict(table)) == y
    for column, words in (
        (["Rome", "Oslo", "Rome", "Oslo"], "'Rome' in the column 'home town'"),
        ([1, 2.5, None, "Oslo"], "'Oslo' in the column 'home town'"),
        (pandas.to_datetime(["2020-01-01"] * 4), r"datetime64\S* in the column 'home town'"),
        (pandas.Categorical(["a", "b", "a", "b"]), "'a' in the column 'home town'"),
    ):
        example = "days after a first date" if "datetime" in words else "by scikit-learn's OneHotEncoder"
        with pytest.raises(ProblemError, match=rf"columns of numbers; got {words}\. Encode .* such as {example}"):
            MarginBoostClassifier().fit(table.assign(**{"home town": column}), y)
    texts = table.assign(**{name: "x" for name in "abcde"}, last=[1.0, 2.0, None, 3.0])
    words = "'x' in the column 'a', and no numbers in the columns 'b', 'c', 'd' and 1 more either. Encode the column"
    with pytest.raises(ProblemError, match=words):
        MarginBoostClassifier().fit(texts, y)
    with pytest.raises(ProblemError, match="'Rome' in the column 'old'"):
        model.predict(table.assign(old="Rome"))
    model.fit(table.astype({"old": object}).assign(rank=pandas.Categorical([1, 2, 2, 1])), y)


@pytest.mark.parametrize("make", [MarginBoostClassifier, MarginBoostRegressor, RBFNetworkClassifier])
def test_a_column_of_texts_or_dates_of_an_array_is_named(make: Any) -> None:
    """A data frame that became an array has lost the names of its columns; their numbers are left."""
    y = [0, 0, 1, 1]
    towns = np.array([[0.5, 1], [1.5, "Rome"], [2.0, 1], [3.0, 1]], dtype=object)
    dates = np.array([[datetime.datetime(2020, 1, 1), 0.5]] * 4, dtype=object)
    places = ((towns, r"'Rome' at row 1, feature 1\..*Encoder"), (dates, r"datetime.* at row 0, feature 0\..*\bdays\b"))
    for rows, words in places:
        with pytest.raises(ProblemError, match=rf"an array of numbers; got {words}"):
            make().fit(rows, y)
    with pytest.raises(ProblemError, match="'q' at row 0, feature 1"):
        make().fit(np.array([["1.5", "q"]] * 4), y)


def test_texts_that_state_numbers_are_read_as_numbers() -> None:
    model = MarginBoostClassifier(epsilon=0.5).fit(
        np.array([["1.5", "2"], ["1.5", "2"], ["0", "2"], ["0", "2"]]), list("ccdd")
    )
    assert model.predict([[1.5, 2.0], [0.0, 2.0]]).tolist() == ["c", "d"]


@pytest.mark.parametrize("make", [MarginBoostClassifier, MarginBoostRegressor, RBFNetworkClassifier])
def test_frames_of_complex_numbers_and_without_columns_are_refused_in_words(make: Any) -> None:
    pandas = pytest.importorskip("pandas")
    table, y = pandas.DataFrame({"phase": np.arange(4.0) * 1j}), [0, 0, 1, 1]
    for rows, words in ((table, "complex128"), (table.astype(object), "0j")):
        with pytest.raises(ProblemError, match=rf"got {words} in the column 'phase'\. .*\bimaginary parts\b"):
            make().fit(rows, y)
    with pytest.raises(ProblemError, match=r"at least one column; got a data frame of 4 rows"):
        make().fit(table[[]], y)


def test_complex_features_are_refused_with_their_two_parts() -> None:
    for X in (np.ones((4, 1)) * 1j, scipy.sparse.csr_matrix(np.ones((4, 1)) * 1j)):
        with pytest.raises(ProblemError, match=r"complex128.*\bimaginary parts as columns\b"):
            DecisionStumps(X, [-1, -1, 1, 1])


NAMED: dict[str, tuple[Any, str]] = {
    "times as objects": ([datetime.date(2020, 1, 1)] * 4, r"date\(2020, 1, 1\).* such as days after"),
    "lists": ([[1, 2]] * 4, r"\[1, 2\].* such as one column for each"),
    "a huge integer": ([1, 2, 3, 10**400], r"int 1000.* such as its logarithm"),
    "a complex number": ([1, "2", 3, 1j], r"1j .*imaginary parts"),
    "an infinity": ([1.0, 2.0, np.inf, 4.0], r"finite.* got inf at row 2, column 'x'"),
    "a text of an infinity": (["1", "2", "-inf", "4"], r"finite.* got -inf at row 2, column 'x'"),
}
"""Columns without finite numbers, and a pattern of the message."""


@pytest.mark.parametrize("name", NAMED)
def test_a_column_without_finite_numbers_is_named_with_what_to_do(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    column, words = NAMED[name]
    table = pandas.DataFrame({"y": [0.0, 1.0, 2.0, 3.0], "x": column})
    with pytest.raises(ProblemError, match=words) as caught:
        MarginBoostClassifier().fit(table, [0, 0, 1, 1])
    assert "column 'x'" in str(caught.value)


def test_columns_of_numbers_in_any_type_are_taken() -> None:
    pandas = pytest.importorskip("pandas")
    for column in (
        pandas.array([1, 2, 3, 4], dtype="Int64"),
        pandas.array([True, False, True, True], dtype="boolean"),
        [decimal.Decimal("1.5"), fractions.Fraction(1, 3), True, "4"],
    ):
        table = pandas.DataFrame({"y": [0.0, 1.0, 2.0, 3.0], "x": column})
        assert MarginBoostClassifier(epsilon=0.5).fit(table, [0, 0, 1, 1]).n_features_in_ == 2


@pytest.mark.parametrize("make", [MarginBoostClassifier, MarginBoostRegressor, RBFNetworkClassifier])
def test_two_columns_of_one_name_are_named(make: Any) -> None:
    pandas = pytest.importorskip("pandas")
    table, y = pandas.DataFrame({"age": [0.0, 1, 2, 3], "size": [1.0, 0, 1, 0]}), [0, 0, 1, 1]
    doubled = pandas.concat([table, table[["age"]]], axis=1)
    with pytest.raises(ProblemError, match=r"different names; got two columns 'age'\. Rename or drop"):
        make().fit(doubled, y)
    model = make(epsilon=0.5) if hasattr(make(), "epsilon") else make(K=1)
    with pytest.raises(ProblemError, match="two columns 'age'"):
        model.fit(table, y).predict(doubled)


def test_columns_of_tables_of_pyarrow_are_named() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table, y = pyarrow.table({"x": [0.5, 1.5, 2.0, 3.0]}), [0, 0, 1, 1]
    assert list(MarginBoostClassifier(epsilon=0.5).fit(table, y).predict(table)) == y
    for column, words in (
        (["a", "b", "a", "b"], "'a' in the column 'z'"),
        ([datetime.date(2020, 1, 1)] * 4, r"datetime64\S* in the column 'z'\. .*days"),
        ([datetime.timedelta(1)] * 4, r"timedelta64\S* in the column 'z'\. .*days"),
        ([{"a": 1}] * 4, r"\{'a': 1\} in the column 'z'"),
        ([1, None, 2, 3], "NaN in the column 'z'"),
    ):
        with pytest.raises(ProblemError, match=f"got {words}"):
            MarginBoostClassifier().fit(table.append_column("z", [pyarrow.array(column)]), y)
    with pytest.raises(ProblemError, match="two columns 'x'"):
        MarginBoostClassifier().fit(table.append_column("x", [pyarrow.array([1, 2, 3, 4])]), y)


ARRAYS: dict[str, tuple[Any, str]] = {
    "complex numbers in lists": ([[1j], [1.0], [2.0], [3.0]], r"complex128.*imaginary parts as columns"),
    "complex numbers in objects": (np.array([[1j], [1], [2], ["3"]], object), r"1j at row 0, feature 0.*imaginary"),
    "complex numbers": (np.ones((4, 1)) * 1j, "Complex data not supported.*complex128.*imaginary parts as columns"),
    "times": (np.zeros((4, 1), "datetime64[D]"), r"datetime64\[D\].*days after"),
    "time spans": (np.zeros((4, 1), "timedelta64[D]"), r"timedelta64\[D\].*days after"),
    "texts": (np.array([["1"], ["a"], ["2"], ["3"]]), "'a' at row 1, feature 0.*OneHotEncoder"),
    "fields": (np.zeros((4, 1), [("a", float)]), "'a'.*one column of an array for each field"),
    "rows of unequal length": ([[1], [1, 2], [1], [1]], "Make the rows equally long"),
    "masked entries": (np.ma.masked_equal(np.arange(4.0)[:, np.newaxis], 2), r"masked.*\(2, 0\)"),
    "times in objects": (np.array([[np.datetime64("2020-01-01")], [1], [2], [3]], object), "row 0, feature 0.*days"),
    "complex scalars in objects": (np.array([[1], [np.complex128(1j)], [2], [3]], object), "row 1, feature 0.*imagin"),
    "None": ([[1.0], [None], [2.0], [3.0]], "no missing values; got None at row 1, feature 0.*Imputer"),
    "NaN": ([[1.0], [2.0], [3.0], [np.nan]], "finite.* got nan at row 3, feature 0"),
}
"""Features without finite numbers, and a pattern of the message."""


@pytest.mark.parametrize("name", ARRAYS)
def test_entries_of_arrays_that_are_no_finite_numbers_are_refused_in_words(name: str) -> None:
    X, words = ARRAYS[name]
    with pytest.raises(
        ProblemError, match=rf"^(Complex data.*)?X must\b.*{words}" if "Complex" not in words else words
    ):
        MarginBoostClassifier().fit(X, [0, 0, 1, 1])
