"""Classes that are made from another class have its examples, and what its votes predict."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.estimators.training.intercept_hypotheses import ClassWithConstants, OracleWithConstants
from boostopt.oracles import Budget, DecisionStumps, LimitedClass, MarginLimit, RegressionStumps
from boostopt.oracles.base import DerivedClass
from boostopt.oracles.distributed.oracle_without_rows import OracleWithoutRows

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.where(np.arange(12) % 3, 1, -1)
COPIES = np.arange(12) % 4
STUMPS = DecisionStumps(X, Y, COPIES)


@pytest.mark.parametrize(
    "derived",
    [
        ClassWithConstants(STUMPS, 3),
        OracleWithConstants(STUMPS, 3, 0.0),
        LimitedClass(STUMPS, Budget(np.ones(3), 0.5)),
    ],
)
def test_the_examples_are_those_of_the_other_class(derived: DerivedClass) -> None:
    total, balance = COPIES.sum(), COPIES @ Y
    assert (derived.total, derived.balance, derived.majority) == (total, balance, 1 if balance >= 0 else -1)
    assert derived.select_examples(np.arange(12)).tolist() == np.flatnonzero(COPIES).tolist()
    with pytest.raises(ProblemError, match=r"\b3 features\b"):
        derived.check_features(X[:, :2])
    derived.check_features(X)


def test_votes_predict_numbers_if_those_of_the_other_class_do() -> None:
    numbers = RegressionStumps(X, X[:, 0])
    derived = LimitedClass(numbers, MarginLimit(np.full(24, 1 / 24), 1.0))
    assert derived.target_scale == numbers.target_scale is not None and derived.class_labels is None


def test_a_class_without_rows_keeps_the_majority_and_not_the_balance() -> None:
    rowless = OracleWithoutRows("stumps", 12, 12.0, -1, False)
    assert rowless.majority == -1
    with pytest.raises(ProblemError, match="without its rows"):
        _ = rowless.balance
