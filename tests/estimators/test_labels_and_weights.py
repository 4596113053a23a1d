"""Labels and sample weights that are none are refused with the row and the value."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.estimators import MarginBoostClassifier, MarginBoostRegressor

X = np.arange(4.0)[:, np.newaxis]

LABELS: dict[str, tuple[Any, str]] = {
    "a text": ("churned", r"one label for each row of X; got the text 'churned'\. .*pass the column"),
    "nan": ([0.0, 1.0, np.nan, 1.0], r"label for each row; got nan at row 2\. Leave out"),
    "nan beside texts": (np.array(["a", "b", "b", np.nan], object), r"got nan at row 3\b"),
    "None": (["a", None, "b", "b"], r"got None at row 1\b"),
    "numbers and texts": ([1, "a", 1, "a"], r"all numbers, or all texts; got 1 and 'a'\. .*str\(label\)"),
    "decimals": ([decimal.Decimal(0), decimal.Decimal(1)] * 2, r"all texts; got Decimal\('1'\)"),
    "complex numbers": (np.ones(4) * 1j, r"real labels; got complex128\. Pass y\.real"),
    "dates": ([datetime.date(2020, 1, day) for day in (1, 1, 2, 2)], r"all texts; got datetime\.date"),
    "numbers and NaT": (
        np.array([1, 0, np.datetime64("NaT"), 1], object),
        r"got NaT at row 2\. Leave out",
    ),
    "dates of NumPy": (np.array([np.datetime64("2020-01-01"), 1, 0, 1], object), r"all texts; got .*2020-01-01"),
    "complex numbers of NumPy": (np.array([np.complex128(1), 1, 0, 1], object), r"all texts; got 1\+0j"),
    "one class": (["a"] * 4, r"at least two classes; got 1 class, 'a'\."),
}
"""Labels that are none, and a pattern of the message."""

WEIGHTS: dict[str, tuple[Any, str]] = {
    "a negative number": ([1, 1, -2, 1], r"at least 0.* Row 2 has -2\."),
    "nan": ([1, np.nan, 1, 1], r" Row 1 has nan\."),
    "an infinity": ([1, 1, 1, np.inf], r" Row 3 has inf\."),
    "too few": ([1, 1], r"must be 4 .*shape \(2,\)"),
    "a column": (np.ones((4, 1)), r"must be 4 .*shape \(4, 1\)"),
    "one number": (2.0, r"must be 4 .*shape \(\)"),
    "zeros": ([0] * 4, r"not all zero; .*sum 0\."),
    "texts": (["1"] * 4, r"must be 4 numbers\b.*<U1"),
    "times": (np.zeros(4, "datetime64[D]"), r"must be 4 numbers\b.*datetime64\[D\]"),
    "times among objects": (np.array([1, 1, 1, np.datetime64("2020-01-01")], object), r"must be 4 numbers: .* dates\b"),
    "complex numbers": (np.ones(4) * 1j, r"must be 4 numbers\b.*complex128"),
}
"""Weights that are none, and a pattern of the message."""


@pytest.mark.parametrize("name", LABELS)
def test_labels_that_are_none_are_refused_in_words(name: str) -> None:
    y, words = LABELS[name]
    for call in (MarginBoostClassifier().fit, MarginBoostClassifier().class_of):
        with pytest.raises(ProblemError, match=words):
            call(X, y)


def test_times_that_are_missing_are_no_labels() -> None:
    days = np.array(["2020-01-01", "2021-01-01", "NaT", "2020-01-01"], "datetime64[D]")
    for y in (days, days - days[0]):
        with pytest.raises(ProblemError, match=r"label for each row; got .*NaT.* at row 2\."):
            MarginBoostClassifier().fit(X, y)


def test_missing_values_of_pandas_are_no_labels() -> None:
    pandas = pytest.importorskip("pandas")
    for kind in ("string", "category", "boolean", "Int64"):
        y = pandas.Series([0, 1, None, 1]).astype("Int64").astype(kind)
        with pytest.raises(ProblemError, match=r"label for each row; got (nan|<NA>) at row 2\."):
            MarginBoostClassifier().fit(X, y)
        whole = y.fillna(y[0])
        assert list(MarginBoostClassifier(epsilon=0.5).fit(X, whole).classes_) == sorted(set(whole))


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[D]", "object"])
def test_dates_are_no_targets(kind: str) -> None:
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01", "2020-01-01"], "datetime64[D]")
    y: Any = (days - days[0]).astype(kind) if kind == "timedelta64[D]" else days.astype("datetime64[D]")
    if kind == "object":
        y = np.array(list(days), dtype=object)
    with pytest.raises(ProblemError, match=r"targets y must be numbers; got dates\b.*\bdays after\b"):
        MarginBoostRegressor().fit(X, y)


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_that_are_none_are_refused_in_words(name: str) -> None:
    weights, words = WEIGHTS[name]
    for estimator, y in ((MarginBoostClassifier(), [0, 0, 1, 1]), (MarginBoostRegressor(), [0.0, 1.0, 2.0, 3.0])):
        with pytest.raises(ProblemError, match=rf"^sample_weight\b.*{words}"):
            estimator.fit(X, y, sample_weight=weights)
