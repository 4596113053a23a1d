"""Classifiers whose weights have limits: budgets of features, and equal mean margins of groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.boosting import ClassCertificate, certify_limits
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import (
    Budget,
    DecisionStumps,
    LimitedClass,
    MarginLimit,
    Oracle,
    Stump,
    equal_mean_margins,
    evaluate,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
y = np.where(X[:, 0] + X[:, 1] ** 2 - 0.7 + 0.5 * RNG.normal(size=60) > 0, 1, 0)
COSTS = np.array([0.0, 0.5, 1.0])
COUNTS = np.where(np.arange(60) % 7 == 0, 0, 1)


def cheap_and_fair(X: Any, y: Any, c: Any) -> Oracle:
    limits = [Budget(COSTS, 0.2), *equal_mean_margins(X[:, 2] > 0, 0.05, c)]
    return LimitedClass(DecisionStumps(X, y, c), limits)


@pytest.mark.thorough_cases("margin")
@pytest.mark.parametrize("nu", [0.3, "margin"])
def test_weights_of_a_fit_keep_the_limits(nu: Any, tmp_path: Path) -> None:
    model = MarginBoostClassifier(base=cheap_and_fair, nu=nu, epsilon=0.02).fit(X, y, sample_weight=COUNTS)
    w, hypotheses, counted = certify_limits(model.run_).w, model.run_.hypotheses, COUNTS > 0
    assert w is not None
    assert (
        sum(weight * COSTS[h.feature] for weight, h in zip(w, hypotheses, strict=True) if isinstance(h, Stump))
        <= 0.2 + 1e-15
    )
    np.testing.assert_allclose(
        model.decision_function(X), np.column_stack(list(evaluate(hypotheses, X))) @ w, atol=1e-14
    )
    margins = np.where(y == 1, 1, -1)[counted] * model.decision_function(X[counted])
    groups = X[counted, 2] > 0
    assert abs(margins[groups].mean() - margins[~groups].mean()) <= 0.05 + 1e-12
    assert model.score(X, y) > 0.8
    certificate = model.certificate_
    assert isinstance(certificate, ClassCertificate)
    assert certificate.quantity == "soft margin" and certificate.gap <= 0.02
    model.save(tmp_path / "model.json")
    loaded = MarginBoostClassifier.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert str(loaded.certificate_).startswith(str(certificate))


def test_a_fit_without_weights_that_keep_the_limits_is_an_error() -> None:
    def impossible(X: Any, y: Any, c: Any) -> Oracle:
        return LimitedClass(DecisionStumps(X, y, c), MarginLimit(np.full(len(y), 1.0 / len(y)), -0.99))

    with pytest.raises(ProblemError, match=r"\bkeep the limits\b.*\bexcess of\b.*\bRaise\b"):
        MarginBoostClassifier(base=impossible, nu=0.3, epsilon=0.05).fit(X, y)
