"""Atoms with kinks are the support functions of sets of multipliers."""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest

from boostopt.functions.minorants.multiplier_sets import Ball, Kink, Largest, Sums


def three_norm(u: np.ndarray) -> np.ndarray:
    largest = np.maximum(np.abs(u).max(axis=0), 1e-200)
    return largest * (np.abs(u / largest) ** 3).sum(axis=0) ** (1 / 3)


KINKS: dict[str, tuple[Kink, Callable[[np.ndarray], np.ndarray]]] = {
    "sum of sizes": (Ball(np.inf), lambda u: np.abs(u).sum(axis=0)),
    "largest size": (Ball(1.0), lambda u: np.abs(u).max(axis=0)),
    "Euclidean": (Ball(2.0), lambda u: np.linalg.norm(u, axis=0)),
    "3-norm": (Ball(1.5), lambda u: three_norm(u)),
    "largest": (Largest(1.0), lambda u: u.max(axis=0)),
    "two largest": (Largest(2.0), lambda u: np.sort(u, axis=0)[-2:].sum(axis=0)),
    "1.5 largest": (Largest(1.5), lambda u: np.sort(u, axis=0)[-1] + 0.5 * np.sort(u, axis=0)[-2]),
    "half of the largest": (Largest(0.5), lambda u: 0.5 * u.max(axis=0)),
    "all": (Largest(4.0), lambda u: u.sum(axis=0)),
}
MU = np.array([1.0, 0.0, 3.5])


def arguments(rng: np.random.Generator) -> list[np.ndarray]:
    """Columns with ties, zeros, huge and tiny entries."""
    drawn = rng.normal(size=(4, 3))
    return [drawn, np.round(drawn), np.zeros((4, 3)), np.ones((4, 3)), 1e150 * drawn, 1e-150 * drawn]


def worst(kink: Kink, delta: np.ndarray, mu: np.ndarray) -> float:
    """By how much delta lies outside mu D."""
    given = cp.Variable(delta.shape)
    given.value = delta
    return max(float(np.max(condition.violation())) for condition in kink.conditions(given, mu))


@pytest.mark.parametrize("name", KINKS)
def test_the_value_is_attained_in_the_set(name: str) -> None:
    kink, phi = KINKS[name]
    for u in arguments(np.random.default_rng(0)):
        delta = kink.attained(u, MU)
        assert worst(kink, delta, MU) <= 1e-13
        np.testing.assert_allclose((delta * u).sum(axis=0), MU * phi(u), rtol=1e-12)


@pytest.mark.parametrize("name", KINKS)
def test_whatever_is_chosen_is_moved_into_the_set(name: str) -> None:
    kink, phi = KINKS[name]
    rng = np.random.default_rng(1)
    for raw in (*arguments(rng), np.full((4, 3), 1e300), -np.ones((4, 3))):
        delta = kink.nearest(raw, MU)
        assert worst(kink, delta, MU) <= 1e-13
        np.testing.assert_allclose(kink.nearest(delta, MU), delta, rtol=1e-14, atol=1e-300)  # and then left alone
        for u in arguments(rng):
            scale = np.abs(u).max()
            assert ((delta * u).sum(axis=0) <= MU * phi(u) + 1e-13 * scale).all()


@pytest.mark.parametrize("sign", (1, -1))
def test_multipliers_of_convex_arguments_have_one_sign(sign: int) -> None:
    for q in (1.0, 2.0, np.inf):
        kink = Ball(q, sign)
        delta = kink.nearest(np.random.default_rng(2).normal(size=(4, 3)), MU)
        assert (sign * delta >= 0).all()
        assert worst(kink, delta, MU) <= 1e-14
        assert worst(kink, -sign * np.ones((4, 3)), MU) > 0.1


def test_cumulative_sums_have_one_choice() -> None:
    u, mu = np.random.default_rng(3).normal(size=(2, 7))
    delta = Sums().nearest(np.zeros((1, 7)), mu)
    assert worst(Sums(), delta, mu) <= 1e-14
    assert worst(Sums(), delta + 0.1, mu) > 0.05
    assert float(delta[0] @ u) == pytest.approx(float(mu @ np.cumsum(u)))


def test_what_lies_on_a_kink_is_told() -> None:
    u = np.array([[0.0, 1.0, 2.0], [1.0, 1.0, -2.0], [3.0, 0.5, 0.0]])
    for kink, on in (
        (Ball(np.inf), [[1, 0, 0], [0, 0, 0], [0, 0, 1]]),
        (Ball(1.0), [[0, 1, 1], [0, 1, 1], [0, 0, 0]]),
        (Ball(2.0), [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        (Largest(1.0), [[0, 1, 0], [0, 1, 0], [0, 0, 0]]),
        (Largest(2.0), [[0, 1, 0], [0, 1, 0], [0, 0, 0]]),
    ):
        np.testing.assert_array_equal(kink.active(u), np.array(on, dtype=bool))
    assert Ball(2.0).active(np.zeros((3, 1))).all()
