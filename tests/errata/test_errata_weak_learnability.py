"""Errata of Shalev-Shwartz and Singer 2008 (weak learnability). The page is docs/errata.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from errata.independent_answers import capped_softmax, lpboost, soft_margin, uniform
from errata.printed_statements import projection

import boostopt


@pytest.mark.thorough
def test_S1_the_positive_part_needs_an_absolute_norm() -> None:
    """One hypothesis (so w = 1) and the ball of a norm sqrt(d'Qd) that is not absolute."""
    rng = np.random.default_rng(35)
    L = rng.normal(size=(3, 3))
    Q = L @ L.T + 0.05 * np.eye(3)
    nearest: Any = scipy.optimize.minimize(
        lambda d: d @ Q @ d, uniform(3), bounds=[(0, 1)] * 3, constraints={"type": "eq", "fun": lambda d: d.sum() - 1}
    )
    r = 1.2 * float(np.sqrt(nearest.fun))
    u = -rng.uniform(-1, 1, size=3)
    primal: Any = scipy.optimize.minimize(
        lambda d: u @ d,
        nearest.x,
        bounds=[(0, 1)] * 3,
        constraints=[
            {"type": "eq", "fun": lambda d: d.sum() - 1},
            {"type": "ineq", "fun": lambda d: r**2 - d @ Q @ d, "jac": lambda d: -2 * Q @ d},
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )

    def dual_norm(x: np.ndarray) -> float:
        return float(np.sqrt(max(x @ np.linalg.solve(Q, x), 1e-300)))

    printed_value = max(rho - r * dual_norm(np.maximum(0, rho - u)) for rho in np.linspace(-20, 20, 40001))
    # The slack x >= rho - u instead of its smallest choice.
    with_slack: Any = scipy.optimize.minimize(
        lambda y: r * dual_norm(y[0] - u + y[1:]) - y[0],
        np.append(0.0, np.full(3, 0.1)),
        bounds=[(None, None), *[(0, None)] * 3],
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000},
    )
    assert -with_slack.fun == pytest.approx(primal.fun, abs=1e-7)
    assert printed_value < primal.fun - 0.36


def test_S2_strong_duality_without_an_interior() -> None:
    # At k = m the capped simplex is one point; the sets whose cores the proof intersects have none.
    rng = np.random.default_rng(0)
    for _ in range(10):
        V = rng.uniform(-1, 1, size=(7, 5))
        optimum = lpboost(V, 7)
        np.testing.assert_allclose(optimum.d, 1 / 7, atol=1e-9)
        assert soft_margin(V @ optimum.w, 7) == pytest.approx(optimum.value, abs=1e-9)
        assert optimum.value == pytest.approx((V.T @ uniform(7)).max(), abs=1e-12)


@pytest.mark.thorough
def test_S3_the_number_of_rounds_has_its_constant() -> None:
    """The algorithm of figure 1 on the l1 ball: accurate after 32 ln m / epsilon^2 rounds, not after any multiple."""
    m, epsilon = 16, 0.1
    V = np.random.default_rng(1).choice([-1.0, 1.0], size=(m, 300))
    best = lpboost(np.column_stack([V, -V]), 1).value
    eta = 2 * np.log(m) / epsilon
    enough, small = int(np.ceil(32 * np.log(m) / epsilon**2)) - 2, int(np.ceil(0.01 * np.log(m) / epsilon**2))
    w, margins = np.zeros(300), np.zeros(m)
    missing: dict[int, float] = {}
    for k in range(1, enough + 1):
        d = capped_softmax(-eta * margins, 1)
        e = V.T @ d
        j = int(np.abs(e).argmax())
        x = np.sign(e[j]) * V[:, j] - margins
        alpha = float(np.clip(x @ d / (eta * max(float(np.abs(x).max()), 1e-9) ** 2), 0, 1))
        w *= 1 - alpha
        w[j] += alpha * np.sign(e[j])
        margins = V @ w
        missing[k] = best - float(margins.min())
    assert missing[small] > 4 * epsilon
    assert missing[enough] <= epsilon
    assert np.abs(w).sum() <= 1 + 1e-12


def test_S4_the_projection_drops_examples_without_weight() -> None:
    # All the weight on fewer than k examples: the figure divides by what is left, 0; there is no such projection.
    with np.errstate(divide="ignore", invalid="ignore"):
        printed_value = projection(np.array([1.0, 0.0, 0.0, 0.0]), 0.5)
    assert not np.isfinite(printed_value).all()
    # Or by what rounding leaves, and returns weights that do not sum to 1.
    q = np.array([0.7, 0.2, 0.1, 0.0])
    assert abs(projection(q, 0.3).sum() - 1) > 0.05
    for weights, k in (([1.0, 0, 0, 0], 2), (q, 1 / 0.3)):
        with pytest.raises(boostopt.ProblemError, match=rf"\bnu = {k:g}\b"):
            boostopt.project_capped_simplex(weights, k)
    # With enough live examples the zeros stay, and the others are projected as if alone.
    d = boostopt.project_capped_simplex(q, 1.6)
    np.testing.assert_allclose(d, np.append(projection(q[:3], 1 / 1.6), 0), atol=1e-14)


def test_S5_the_number_of_examples_may_be_any_real_number() -> None:
    V = np.random.default_rng(1).uniform(-1, 1, size=(9, 5))
    for k in (1.0, 2.5, 3.7, 8.99):
        optimum = lpboost(V, k)
        assert soft_margin(V @ optimum.w, k) == pytest.approx(optimum.value, abs=1e-10)
        program = boostopt.get_formulation("lpboost").bind(V, nu=k)
        assert program.certify(d=optimum.d, w=optimum.w).gap < 1e-8
        assert program.certify(d=optimum.d, w=optimum.w).contains(optimum.value)
    assert lpboost(V, 3).value - lpboost(V, 2.5).value > 0.02
    assert lpboost(V, 2.5).value - lpboost(V, 2).value > 0.02
