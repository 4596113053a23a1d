"""Small quadratic programs over the simplex: the maximizer of CVXPY, and no fault on what is degenerate."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt.boosting.simplex_qp import bounded_maximizer, simplex_maximizer


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """H of any rank and size, g of any size."""
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 40))
    A = rng.normal(size=(int(rng.integers(1, 2 * t + 1)), t))
    return A.T @ A * 10.0 ** rng.uniform(-6, 6), rng.normal(size=t) * 10.0 ** rng.uniform(-6, 6)


@pytest.mark.parametrize("seed", range(30))
def test_the_value_is_that_of_another_solver(seed: int) -> None:
    H, g = drawn(seed)
    z = simplex_maximizer(H, g)
    assert (z >= 0).all() and z.sum() == pytest.approx(1.0, abs=1e-12)
    # Optimal where no vertex has a larger slope than the point: what is missed is bounded by the difference.
    slope = g - H @ z
    size = max(float(H.diagonal().max()), float(np.ptp(g)), 1e-300)
    assert float(slope.max() - slope @ z) <= 1e-10 * size
    x: Any = cp.Variable(len(g), nonneg=True)
    on_simplex: Any = cp.sum(x) == 1
    problem = cp.Problem(cp.Maximize(g @ x / size - 0.5 * cp.quad_form(x, cp.psd_wrap(H / size))), [on_simplex])
    best: Any = problem.solve("CLARABEL")
    assert float(g @ z - 0.5 * z @ H @ z) / size >= best - 1e-8


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [0.1, 10.0])
def test_without_a_sum_the_slope_is_0_or_all_of_the_sum_is_used(seed: int, most: float) -> None:
    H, g = drawn(seed)
    z = bounded_maximizer(H, g, most)
    assert (z >= 0).all() and z.sum() <= most * (1.0 + 1e-12)
    slope = g - H @ z
    size = most * max(most * float(H.diagonal().max()), float(np.abs(g).max()))
    # No point of the set has more than this above the value of z.
    assert most * max(float(slope.max()), 0.0) - float(slope @ z) <= 1e-9 * size


@pytest.mark.parametrize(
    ("H", "g"),
    [
        (np.zeros((3, 3)), np.zeros(3)),
        (np.zeros((3, 3)), np.array([0.0, 1.0, 1.0])),
        (np.ones((4, 4)), np.array([1.0, 1.0, 1.0, 1.0])),
        (np.eye(2) * 1e-290, np.array([1e300, -1e300])),
        (np.diag([0.0, 1e12]), np.array([1.0, 2.0])),
    ],
)
def test_degenerate_ones_give_a_point_of_the_simplex_that_is_as_good(H: np.ndarray, g: np.ndarray) -> None:
    z = simplex_maximizer(H, g)
    assert (z >= 0).all() and z.sum() == pytest.approx(1.0, abs=1e-12)
    vertices = np.eye(len(g))
    best = max(float(g @ v - 0.5 * v @ H @ v) for v in vertices)
    size = max(float(np.abs(g).max()), float(H.diagonal().max()), 1e-300)
    assert float(g @ z - 0.5 * z @ H @ z) >= best - 1e-14 * len(g) * size
