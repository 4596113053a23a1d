"""Labels and multiplicities, checked in one place for all oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.oracles import DecisionStumps, GivenMargins, Query, feature_validation
from boostopt.oracles.labelled_examples import check_examples, check_multiplicities

X = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1, 0],
        np.array([False, True, True, False]),
        np.array([0, 1, 1, 0], dtype=np.uint8),
        np.array([-1, 1, 1, -1], dtype=object),
        np.array([-1.0, 1, True, -1], dtype=object),
    ],
    ids=str,
)
def test_two_classes_are_minus_1_and_1(y: Any) -> None:
    examples = check_examples(X, y)
    assert examples.y.dtype == np.int8
    assert examples.y.tolist() == [-1, 1, 1, -1]
    assert examples.input_rows.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1, 1], r"\bclasses\b.*\b4\b"),
        ([0, 0, 0, 0], r"\bclasses\b.*\b4\b"),
        ([-1, 0, 1, 1], r"^y\b.*; \w+ -1, 0, 1\."),
        ([1, 2, 1, 2], r"^y\b.*; \w+ 1, 2\."),
        (["1", "-1", "1", "-1"], r"^y\b.*; \w+ '1', '-1'\."),
        (np.array([1, "a", None, 0], dtype=object), r"^y\b.*; \w+ 1, 'a', None, 0\."),
        ([1.0, np.nan, -1.0, 1.0], r"^y\b.*; \w+ 1\.0, nan, -1\.0\."),
        ([1, -1j, 1, -1], r"^y\b.*\b1j\b"),
        ([[1], [1, 2], [1], [0]], r"^y\b.*\brows\b.*\blength\b"),
        ([1, -1, 1], r"\by\b.*\(N,\);.*\(4, 2\).*\(3,\)"),
        ([[1], [-1], [1], [-1]], r"\by\b.*\(N,\);.*\(4, 2\).*\(4, 1\)"),
        (np.ma.masked_equal([1, -1, 1, 0], 0), r"^y\b.*\bmasked\b.* 1,.*\b3\b"),
    ],
    ids=[
        "ones",
        "zeros",
        "three values",
        "1 and 2",
        "text",
        "objects",
        "nan",
        "complex",
        "ragged",
        "one fewer",
        "a column",
        "masked",
    ],
)
def test_invalid_labels_are_errors(y: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        check_examples(X, y)


def test_multiplicities_say_which_examples_count() -> None:
    rows, counts = check_multiplicities([2, 0, 0.5, 5e-324], 4)
    assert (rows.tolist(), counts.tolist()) == ([0, 2, 3], [2.0, 0.5, 5e-324])
    rows, counts = check_multiplicities(None, 3)
    assert (rows.tolist(), counts.tolist()) == ([0, 1, 2], [1.0, 1.0, 1.0])
    assert check_examples(X, [0, 1, 1, 0], [2, 1, 0, 1]).input_rows.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("c", "message"),
    [
        ([1, 1, -1, 1], r"\bc\b.* 4 .*\(4,\), \w+ -1, \w+ 2\."),
        ([0, 0, 0, 0], r"\bc\b.* 4 .*\(4,\), \w+ 0, \w+ 0\."),
        ([1, 1, 1, np.nan], r"\bc\b.* 4 .*\(4,\),.*\bnan,.*\bnan\."),
        ([1, 1, 1, np.inf], r"\bc\b.* 4 .*\(4,\), \w+ 1, \w+ inf\."),
        ([1e308] * 4, r"\bc\b.* 4 .*\(4,\), \w+ 1e\+308, \w+ inf\."),
        ([None] * 4, r"\bc\b.* 4 .*\(4,\),.*\bnan,.*\bnan\."),
        ([1, 1, 1], r"\bc\b.* 4 .*\(3,\)"),
        (2, r"\bc\b.* 4 .*\(\)"),
        (["1"] * 4, r"\bc\b.* 4 .*: .*<U1;"),
        ([1j] * 4, r"\bc\b.* 4 .*: .*complex128;"),
        ([10**400] * 4, r"\bc\b.*\b4\b.*:.*\bint\b.*\bfloat;"),
        ([[1], [1, 2], [1], [1]], r"\bc\b.* 4 .*: .*inhomogeneous"),
        (np.ma.masked_equal([1, 1, 1, 0], 0), r"^c\b.*\bmasked\b.* 1,.*\b3\b"),
    ],
    ids=[
        "negative",
        "zeros",
        "nan",
        "inf",
        "overflow",
        "objects",
        "one fewer",
        "one number",
        "text",
        "complex",
        "long",
        "ragged",
        "masked",
    ],
)
def test_invalid_multiplicities_are_errors_in_every_oracle(c: Any, message: str) -> None:
    for refuse in (lambda: DecisionStumps(X, [0, 1, 1, 0], c), lambda: GivenMargins(X / 10, c=c)):
        with pytest.raises(ProblemError, match=message):
            refuse()


def test_examples_are_checked_once_for_all_hypotheses_that_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, times = DecisionStumps(X, [0, 1, 1, 0]), list[Any]()
    checked = feature_validation.checked_features
    monkeypatch.setattr(feature_validation, "checked_features", lambda X: times.append(X) or checked(X))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    (column,) = oracle.best(Query(np.full(4, 0.25))).columns
    for _ in range(5):
        np.testing.assert_array_equal(np.asarray(oracle.margins_of(column.hypothesis)), column.margins)
    assert len(times) == 1


def test_one_class_of_examples_that_count_is_an_error() -> None:
    with pytest.raises(ProblemError, match=r"\bclasses\b.*\b2\b"):
        check_examples(X, [0, 1, 1, 0], [0, 1, 1, 0])
