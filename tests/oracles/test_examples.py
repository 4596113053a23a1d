"""Labels and multiplicities, checked in one place for all oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.oracles import DecisionStumps, GivenMargins, Query, features
from boostopt.oracles.labelled_examples import labelled, multiplicities

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
    examples = labelled(X, y)
    assert examples.y.dtype == np.int8
    assert examples.y.tolist() == [-1, 1, 1, -1]
    assert examples.rows.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1, 1], "both classes must occur among the examples that count; got 4 such examples of one class"),
        ([0, 0, 0, 0], "both classes must occur"),
        ([-1, 0, 1, 1], "y must hold -1 and 1, or 0 and 1; got -1, 0, 1. Code the two classes so"),
        ([1, 2, 1, 2], "got 1, 2. Code"),
        (["1", "-1", "1", "-1"], "got '1', '-1'. Code"),
        (np.array([1, "a", None, 0], dtype=object), "got 1, 'a', None, 0. Code"),
        ([1.0, np.nan, -1.0, 1.0], "got 1.0, nan, -1.0. Code"),
        ([1, -1j, 1, -1], "y must hold -1 and 1"),
        ([[1], [1, 2], [1], [0]], "y must be an array; got rows of unequal length"),
        ([1, -1, 1], r"y shape \(N,\); got \(4, 2\) and \(3,\)\. Pass one label for each row"),
        ([[1], [-1], [1], [-1]], r"got \(4, 2\) and \(4, 1\)"),
        (np.ma.masked_equal([1, -1, 1, 0], 0), "y must have no masked entries; got 1, the first at"),
    ],
)
def test_what_are_no_labels_is_an_error(y: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        labelled(X, y)


def test_multiplicities_say_which_examples_count() -> None:
    rows, counts = multiplicities([2, 0, 0.5, 5e-324], 4)
    assert (rows.tolist(), counts.tolist()) == ([0, 2, 3], [2.0, 0.5, 5e-324])
    rows, counts = multiplicities(None, 3)
    assert (rows.tolist(), counts.tolist()) == ([0, 1, 2], [1.0, 1.0, 1.0])
    assert labelled(X, [0, 1, 1, 0], [2, 1, 0, 1]).rows.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("c", "message"),
    [
        ([1, 1, -1, 1], "c must be 4 finite numbers of at least 0, not all 0; got .*smallest -1, sum 2. Pass"),
        ([0, 0, 0, 0], "smallest 0, sum 0"),
        ([1, 1, 1, np.nan], "smallest nan"),
        ([1, 1, 1, np.inf], "sum inf"),
        ([1e308] * 4, "smallest 1e\\+308, sum inf"),
        ([None] * 4, "smallest nan"),
        ([1, 1, 1], r"got shape \(3,\)"),
        (2, r"got shape \(\)"),
        (["1"] * 4, "the multiplicities c must be 4 numbers: they are <U1; got .*. Pass one for each row"),
        ([1j] * 4, "c must be 4 numbers: they are complex128"),
        ([10**400] * 4, "c must be 4 numbers: int too large"),
        ([[1], [1, 2], [1], [1]], "c must be 4 numbers: .*inhomogeneous"),
        (np.ma.masked_equal([1, 1, 1, 0], 0), "c must have no masked entries"),
    ],
)
def test_what_are_no_multiplicities_is_an_error_wherever_they_are_passed(c: Any, message: str) -> None:
    for refuse in (lambda: DecisionStumps(X, [0, 1, 1, 0], c), lambda: GivenMargins(X / 10, c=c)):
        with pytest.raises(ProblemError, match=message):
            refuse()


def test_examples_are_checked_once_for_all_hypotheses_that_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, times = DecisionStumps(X, [0, 1, 1, 0]), list[Any]()
    checked = features.checked_features
    monkeypatch.setattr(features, "checked_features", lambda X: times.append(X) or checked(X))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    (column,) = oracle.best(Query(np.full(4, 0.25))).columns
    for _ in range(5):
        np.testing.assert_array_equal(np.asarray(oracle.margins_of(column.hypothesis)), column.margins)
    assert len(times) == 1


def test_one_class_of_examples_that_count_is_an_error() -> None:
    with pytest.raises(ProblemError, match="both classes must occur among the examples that count; got 2 such"):
        labelled(X, [0, 1, 1, 0], [0, 1, 1, 0])
