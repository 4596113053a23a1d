"""Small quadratic programs over the simplex: the maximizer of CVXPY, and no fault on what is degenerate."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt.boosting.qp import simplex_qp
from boostopt.boosting.qp.primal_dual_active_set import active_set_maximizer
from boostopt.boosting.qp.simplex_qp import capped_sum_maximizer, simplex_maximizer


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """H of any rank and size, g of any size."""
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 40))
    A = rng.normal(size=(int(rng.integers(1, 2 * t + 1)), t))
    return A.T @ A * 10.0 ** rng.uniform(-6, 6), rng.normal(size=t) * 10.0 ** rng.uniform(-6, 6)


@pytest.mark.parametrize("seed", range(30))
def test_the_value_is_that_of_another_solver(seed: int) -> None:
    H, g = random_problem(seed)
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
@pytest.mark.parametrize("max_sum", [0.1, 10.0])
def test_without_a_sum_the_slope_is_0_or_all_of_the_sum_is_used(seed: int, max_sum: float) -> None:
    H, g = random_problem(seed)
    z = capped_sum_maximizer(H, g, max_sum)
    assert (z >= 0).all() and z.sum() <= max_sum * (1.0 + 1e-12)
    slope = g - H @ z
    size = max_sum * max(max_sum * float(H.diagonal().max()), float(np.abs(g).max()))
    # No point of the set has more than this above the value of z.
    assert max_sum * max(float(slope.max()), 0.0) - float(slope @ z) <= 1e-9 * size


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


def scaled_error(H: np.ndarray, g: np.ndarray, z: np.ndarray) -> float:
    """Bound the error of the value of z, as a share of the numbers of the program."""
    slope = g - H @ z
    return float(slope.max() - slope @ z) / max(float(H.diagonal().max()), float(np.ptp(g)), 1e-300)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("wrong_share", [0.0, 0.05, 1.0])
def test_guesses_settle_at_the_maximizer_from_any_first_one(seed: int, wrong_share: float) -> None:
    """Of 60 weights, the right ones are guessed, or all but a few, or at random."""
    rng = np.random.default_rng(seed)
    A, g = rng.normal(size=(90, 60)), rng.normal(size=60)
    H = A.T @ A / 90 * 10.0 ** rng.uniform(-1, 1)
    best = simplex_maximizer(H, g)
    used = (best > 1e-9) ^ (rng.random(60) < wrong_share / 2)
    used[int(g.argmax())] = True
    z = active_set_maximizer(H, g, used)
    assert z is not None and (z >= 0).all() and z.sum() == pytest.approx(1.0, abs=1e-12)
    assert scaled_error(H, g, z) <= 1e-11 and z == pytest.approx(best, abs=1e-6)
    assert np.array_equal(simplex_maximizer(H, g, used), z)


@pytest.mark.parametrize("seed", range(30))
def test_the_interior_point_solves_problems_that_guesses_do_not_settle(seed: int) -> None:
    """Of low rank, of any size: an answer of guesses is a maximizer, and there is always some answer."""
    H, g = random_problem(seed)
    used = np.random.default_rng(seed).random(len(g)) < 0.5
    used[0] = True
    z = active_set_maximizer(H, g, used)
    assert z is None or (scaled_error(H, g, z) <= 1e-10 and z.min() >= 0 and z.sum() == pytest.approx(1.0, abs=1e-12))
    assert scaled_error(H, g, simplex_maximizer(H, g, used)) <= 1e-10
    bounded = capped_sum_maximizer(H, g, 3.0, used)
    slope = g - H @ bounded
    size = 3.0 * max(3.0 * float(H.diagonal().max()), float(np.abs(g).max()))
    assert 3.0 * max(float(slope.max()), 0.0) - float(slope @ bounded) <= 1e-9 * size


def test_nothing_settles_where_rounding_leaves_no_factor_or_no_weights() -> None:
    H = np.full((3, 3), -1.0)
    assert active_set_maximizer(H, np.array([1.0, 2.0, 3.0]), np.ones(3, bool)) is None
    assert active_set_maximizer(np.zeros((3, 3)), np.array([1.0, 2.0, 3.0]), np.ones(3, bool)) is None
    assert simplex_maximizer(np.zeros((3, 3)), np.array([1.0, 2.0, 3.0]), np.ones(3, bool))[2] == pytest.approx(1.0)


@pytest.mark.parametrize("t", [2, 3, 5, 20])
@pytest.mark.parametrize("seed", range(25))
def test_singular_programs_are_maximized_from_any_guess(t: int, seed: int) -> None:
    rng = np.random.default_rng([seed, t])
    rank = int(rng.integers(0, 3))
    U = rng.choice([-1.0, 0.0, 1.0], size=(rank, t))
    H, g, used = U.T @ U, rng.normal(size=t) * 10.0 ** rng.integers(-6, 3), rng.random(t) < 0.6
    used[0] |= not used.any()
    z = simplex_maximizer(H, g, used)
    slopes = g - H @ z
    assert z.min() >= 0.0
    assert z.sum() == pytest.approx(1.0, abs=1e-12)
    assert slopes.max() - slopes @ z <= 1e-8 * max(float(H.diagonal().max()), float(np.ptp(g)), 1e-9)


@pytest.mark.parametrize(
    ("curvature", "gradient"),
    [([1.0, 0.0], [4.0, 4.0]), ([0.0, 1e-3], [4.0, 3.0]), ([0.0, 1.0, 0.0], [4.0, 3.9999, 0.0])],
)
def test_flat_directions_leave_finite_weights(curvature: list[float], gradient: list[float]) -> None:
    H, g, used = np.diag(curvature), np.array(gradient), np.ones(len(gradient), bool)
    z = simplex_maximizer(H, g, used)
    slopes = g - H @ z
    assert slopes.max() - slopes @ z <= 1e-8
    assert np.isfinite(capped_sum_maximizer(H, g, 1.0, used)).all()


@pytest.mark.parametrize("guess", [[True, True, False], [True, True, True], [True, False, False], [False, False, True]])
def test_a_weight_enters_where_its_slope_exceeds_the_level(guess: list[bool]) -> None:
    """The slope of the third weight is 0.45 at the maximizer, below the level of 0.5, and 0.9 without the others."""
    H = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.0], [0.9, 0.0, 1.0]])
    z = active_set_maximizer(H, np.array([1.0, 1.0, 0.9]), np.array(guess))
    assert z is not None
    assert z == pytest.approx([0.5, 0.5, 0.0], abs=1e-12)


def test_a_copy_of_a_hypothesis_with_weight_does_not_enter() -> None:
    """Its slope is the level itself: only what exceeds it by more than rounding enters."""
    H = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    z = active_set_maximizer(H, np.ones(3), np.array([True, True, False]))
    assert z is not None
    assert z[2] == 0.0
    assert z[:2] == pytest.approx([0.5, 0.5], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_matrix_of_lower_rank_with_rounding_errors_has_a_factor_with_a_larger_ridge(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a factor the interior point method takes a dozen, and more if a Newton step has thousands of weights."""
    rng, t, rank = np.random.default_rng(seed), 120, 30
    V, errors = rng.choice([-1.0, 1.0], (rank, t)), rng.normal(size=(t, t))
    V[0] = 1.0
    H = V.T @ V + 1e-13 * rank * (errors + errors.T)
    g, used = H @ np.full(t, 1.0 / t) + 1e-2 * V.T @ rng.normal(size=rank) / t, np.ones(t, bool)
    assert active_set_maximizer(H, g, used) is None
    monkeypatch.setattr(simplex_qp, "_mehrotra_step", lambda *_: pytest.fail("the interior point method began"))
    z = simplex_maximizer(H, g, used)
    slopes = g - H @ z
    assert z.min() >= 0.0 and z.sum() == pytest.approx(1.0, abs=1e-12)
    assert slopes.max() - slopes @ z <= 1e-8 * rank
