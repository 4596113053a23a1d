"""Atoms with kinks are the support functions of sets of multipliers."""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest

from boostopt.functions.minorants.multiplier_sets import (
    CumulativeSumMultipliers,
    DualNormBall,
    MultiplierSet,
    SumLargestMultipliers,
)


def three_norm(u: np.ndarray) -> np.ndarray:
    largest = np.maximum(np.abs(u).max(axis=0), 1e-200)
    return largest * (np.abs(u / largest) ** 3).sum(axis=0) ** (1 / 3)


KINKS: dict[str, tuple[MultiplierSet, Callable[[np.ndarray], np.ndarray]]] = {
    "sum of sizes": (DualNormBall(np.inf), lambda u: np.abs(u).sum(axis=0)),
    "largest size": (DualNormBall(1.0), lambda u: np.abs(u).max(axis=0)),
    "Euclidean": (DualNormBall(2.0), lambda u: np.linalg.norm(u, axis=0)),
    "3-norm": (DualNormBall(1.5), lambda u: three_norm(u)),
    "largest": (SumLargestMultipliers(1.0), lambda u: u.max(axis=0)),
    "two largest": (SumLargestMultipliers(2.0), lambda u: np.sort(u, axis=0)[-2:].sum(axis=0)),
    "1.5 largest": (SumLargestMultipliers(1.5), lambda u: np.sort(u, axis=0)[-1] + 0.5 * np.sort(u, axis=0)[-2]),
    "half of the largest": (SumLargestMultipliers(0.5), lambda u: 0.5 * u.max(axis=0)),
    "all": (SumLargestMultipliers(4.0), lambda u: u.sum(axis=0)),
}
MU = np.array([1.0, 0.0, 3.5])


def arguments(rng: np.random.Generator) -> list[np.ndarray]:
    """Columns with ties, zeros, huge and tiny entries."""
    drawn = rng.normal(size=(4, 3))
    return [drawn, np.round(drawn), np.zeros((4, 3)), np.ones((4, 3)), 1e150 * drawn, 1e-150 * drawn]


def worst(kink: MultiplierSet, delta: np.ndarray, mu: np.ndarray) -> float:
    """By how much delta lies outside mu D."""
    given = cp.Variable(delta.shape)
    given.value = delta
    return max(float(np.max(condition.violation())) for condition in kink.constraints(given, mu))


@pytest.mark.parametrize("name", KINKS)
def test_the_value_is_attained_in_the_set(name: str) -> None:
    kink, phi = KINKS[name]
    for u in arguments(np.random.default_rng(0)):
        delta = kink.maximizer(u, MU)
        assert worst(kink, delta, MU) <= 1e-13
        np.testing.assert_allclose((delta * u).sum(axis=0), MU * phi(u), rtol=1e-12)


@pytest.mark.parametrize("name", KINKS)
def test_whatever_is_chosen_is_moved_into_the_set(name: str) -> None:
    kink, phi = KINKS[name]
    rng = np.random.default_rng(1)
    for raw in (*arguments(rng), np.full((4, 3), 1e300), -np.ones((4, 3))):
        delta = kink.project(raw, MU)
        assert worst(kink, delta, MU) <= 1e-13
        np.testing.assert_allclose(kink.project(delta, MU), delta, rtol=1e-14, atol=1e-300)  # and then left alone
        for u in arguments(rng):
            scale = np.abs(u).max()
            assert ((delta * u).sum(axis=0) <= MU * phi(u) + 1e-13 * scale).all()


@pytest.mark.parametrize("sign", (1, -1))
def test_multipliers_of_convex_arguments_have_one_sign(sign: int) -> None:
    for q in (1.0, 2.0, np.inf):
        kink = DualNormBall(q, sign)
        delta = kink.project(np.random.default_rng(2).normal(size=(4, 3)), MU)
        assert (sign * delta >= 0).all()
        assert worst(kink, delta, MU) <= 1e-14
        assert worst(kink, -sign * np.ones((4, 3)), MU) > 0.1


def test_cumulative_sums_have_one_choice() -> None:
    u, mu = np.random.default_rng(3).normal(size=(2, 7))
    delta = CumulativeSumMultipliers().project(np.zeros((1, 7)), mu)
    assert worst(CumulativeSumMultipliers(), delta, mu) <= 1e-14
    assert worst(CumulativeSumMultipliers(), delta + 0.1, mu) > 0.05
    assert float(delta[0] @ u) == pytest.approx(float(mu @ np.cumsum(u)))


def test_points_on_a_kink_are_recognized() -> None:
    u = np.array([[0.0, 1.0, 2.0], [1.0, 1.0, -2.0], [3.0, 0.5, 0.0]])
    for kink, on in (
        (DualNormBall(np.inf), [[1, 0, 0], [0, 0, 0], [0, 0, 1]]),
        (DualNormBall(1.0), [[0, 1, 1], [0, 1, 1], [0, 0, 0]]),
        (DualNormBall(2.0), [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        (SumLargestMultipliers(1.0), [[0, 1, 0], [0, 1, 0], [0, 0, 0]]),
        (SumLargestMultipliers(2.0), [[0, 1, 0], [0, 1, 0], [0, 0, 0]]),
    ):
        np.testing.assert_array_equal(kink.on_kink(u), np.array(on, dtype=bool))
    assert DualNormBall(2.0).on_kink(np.zeros((3, 1))).all()
