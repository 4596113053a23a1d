"""The conjugates of losses of the margins: quadratic hinge, logistic and exponential loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_formulas import (
    assert_conjugate,
    assert_copies,
    assert_gradient,
    assert_junk_is_repaired,
    assert_modelled,
    assert_stable,
)

from boostopt import ProblemError
from boostopt.functions.regularizers.loss_conjugates import Exponential, Logistic, QuadraticHinge
from boostopt.functions.regularizers.separable import Separable

seeds = st.integers(0, 2**32 - 1)


def priced_loss(kind: str, c: np.ndarray, C: float) -> Separable:
    """Return the loss of a name, with a price."""
    if kind == "exponential":
        return Exponential(c, C)
    if kind == "logistic":
        return Logistic.priced(c, C)
    return QuadraticHinge(c, C, *{"smoothed": (0.3, 1.0), "huber": (0.5, 4.0), "squared": (0.5, None)}[kind])


def loss_by_hand(kind: str, m: float) -> float:
    """The loss of one margin, from the papers."""
    x = max(0.0, 1.0 - m)
    return {
        "smoothed": lambda: x * x / 0.6 if x <= 0.3 else x - 0.15,
        "huber": lambda: x * x if m >= -1.0 else -4.0 * m,
        "squared": lambda: x * x,
        "exponential": lambda: math.exp(-m),
        "logistic": lambda: math.log1p(math.exp(-m)),
    }[kind]()


def F_by_hand(kind: str, d: np.ndarray, u: np.ndarray) -> float:
    """F(d) from its definition."""

    def xlog(x: float, y: float) -> float:
        return x * math.log(x / y) if x > 0 else 0.0

    pairs = list(zip(d.tolist(), u.tolist(), strict=True))
    if kind == "exponential":
        return math.fsum(xlog(x, y) - x for x, y in pairs)
    if kind == "logistic":
        return math.fsum(xlog(x, y) + xlog(y - x, y) for x, y in pairs)
    mu = 0.3 if kind == "smoothed" else 0.5
    return math.fsum(-x + 0.5 * mu * x * x / y for x, y in pairs)


KINDS = ("smoothed", "huber", "squared", "exponential", "logistic")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds)
def test_the_conjugate_is_the_loss(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    N, C = int(rng.integers(1, 9)), float(np.exp(rng.uniform(-3, 3)))
    c = rng.uniform(0.3, 3.0, N)
    F, m = priced_loss(kind, c, C), rng.uniform(-0.9, 3, N)
    loss = math.fsum(C * k * loss_by_hand(kind, x) for k, x in zip(c.tolist(), m.tolist(), strict=True))
    assert F.conjugate_at(-m).value == pytest.approx(loss, rel=1e-13, abs=1e-14 * (1 + F.magnitude))
    inside = [F.upper, np.zeros(N), *(F.upper * rng.random(N) for _ in range(3)), F.upper * (rng.random(N) < 0.5)]
    assert_conjugate(F, -m, lambda d: F_by_hand(kind, d, C * c), inside)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_the_conjugate_is_the_maximizer(kind: str) -> None:
    assert_gradient(priced_loss(kind, np.array([1.0, 2.0, 0.5]), 0.7), np.array([0.3, -0.85, -1.4]))


@pytest.mark.parametrize("kind", KINDS)
def test_multiplicity_k_is_k_copies(kind: str) -> None:
    rng, counts = np.random.default_rng(0), np.array([2, 1, 4])
    merged, copies = priced_loss(kind, counts.astype(float), 0.3), priced_loss(kind, np.ones(7), 0.3)
    assert_copies(merged, copies, counts, rng.uniform(-3, 1, 3), [0.3 * counts * rng.random(3)])


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_for_solvers(kind: str) -> None:
    rng = np.random.default_rng(1)
    F = priced_loss(kind, rng.uniform(0.5, 2.0, 4), 0.7)
    assert_modelled(F, rng.uniform(-2, 0.8, 4), [F.upper * rng.random(4) for _ in range(3)])


@pytest.mark.parametrize("kind", KINDS)
def test_any_junk_is_repaired(kind: str) -> None:
    assert_junk_is_repaired(priced_loss(kind, np.array([1.0, 2.0, 0.5]), 0.7), 0)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", (1e-6, 1e6))
def test_everything_is_finite_at_large_N(kind: str, C: float) -> None:
    N = 100_000
    rng = np.random.default_rng(0)
    F, z = priced_loss(kind, np.ones(N), C), rng.uniform(-3, 1, N)
    assert_stable(F, z, C * rng.random(N))
    point = F.conjugate_at(z)
    assert F.gaps(point.d, z, point).sum() <= 1e-9 * C * N


@pytest.mark.parametrize("kind", KINDS)
def test_strong_convexity_is_no_more_than_F_has(kind: str) -> None:
    """F(y) >= F(x) + <F'(x), y - x> + (s/2) ||y - x||_1^2 for the modulus s."""
    rng = np.random.default_rng(5)
    F = priced_loss(kind, rng.uniform(0.5, 2.0, 5), 0.7)
    assert F.strong_convexity > 0.0
    for _ in range(200):
        x, y = F.upper * rng.uniform(0.01, 0.99, 5), F.upper * rng.random(5)
        tangent = F.value(x) + F.derivatives(x) @ (y - x)
        assert F.value(y) - tangent >= 0.5 * F.strong_convexity * np.abs(y - x).sum() ** 2 - 1e-9 * F.magnitude


@pytest.mark.parametrize("kind", ("squared", "exponential"))
def test_no_optimum_comes_near_the_end_of_a_box_that_the_loss_does_not_have(kind: str) -> None:
    """If the loss is at most the loss of margins -1, the slopes lie inside the box."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        c = np.exp(-np.abs(rng.normal(0, 2, 6)))
        F, n = priced_loss(kind, c, 0.7), int(rng.integers(6))
        # One example has the whole loss.
        max_loss = c.sum() * loss_by_hand(kind, -1.0) / c[n]
        m = 1.0 - math.sqrt(max_loss) if kind == "squared" else -math.log(max_loss)
        slope = 2.0 * (1.0 - m) if kind == "squared" else math.exp(-m)
        assert 0.7 * c[n] * slope == pytest.approx(F.upper[n], rel=1e-12)


def test_a_price_whose_squares_overflow_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"\b1\.22626e\+119\b.*\b2\.44645e\+131\b.*\bC\."):
        Exponential(np.ones(3), 1e130)
