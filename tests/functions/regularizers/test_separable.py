"""Regularizers: the fast formulas against the base class, against suprema and against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import REFERENCE_D0, REFERENCE_M, REFERENCE_NU, draw
from support.speeds import many

from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.functions.regularizers.separable import Separable

seeds = st.integers(0, 2**32 - 1)
NAMES = ("lpboost", "erlpboost")


def random_case(name: str, seed: int) -> tuple[Separable, np.ndarray, np.random.Generator]:
    """Return a regularizer, an argument z of its conjugate, and a generator."""
    rng = np.random.default_rng(seed)
    F = draw(rng).bind(name).regularizer
    assert isinstance(F, Separable)
    return F, rng.uniform(-1, 1, F.N), rng


def some_point(F: Regularizer, rng: np.random.Generator) -> np.ndarray:
    """A random point of the domain, also of its boundary."""
    return F.project(rng.exponential(size=F.N) ** rng.choice([0.5, 1, 4]) * (rng.random(F.N) < rng.choice([0.4, 1])))


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_the_closed_form_is_the_bisection_of_the_base_class(name: str, seed: int) -> None:
    F, z, _ = random_case(name, seed)
    fast = F.conjugate_at(z)
    beta, d = Separable.solve_simplex_multiplier(F, z)
    y = z - beta
    slow = beta + float((y * F.maximizers(y) - F.values(F.maximizers(y))).sum())
    assert fast.value == pytest.approx(slow, abs=1e-11 * (1 + F.magnitude))
    if name == "erlpboost":  # the cap alone has many maximizers
        np.testing.assert_allclose(fast.d, d / d.sum(), atol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_the_gap_is_the_fenchel_young_gap_and_vanishes_at_the_maximizer(name: str, seed: int) -> None:
    F, z, rng = random_case(name, seed)
    point = F.conjugate_at(z)
    scale = 1 + F.magnitude
    assert F.gaps(point.d, z, point).sum() <= 1e-12 * scale
    for _ in range(3):
        d = some_point(F, rng)
        gaps = F.gaps(d, z, point)
        assert (gaps >= 0).all()
        assert gaps.sum() == pytest.approx(F.value(d) + point.value - d @ z, abs=1e-11 * scale)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=many(100, 20), deadline=None)
@given(seed=seeds)
def test_the_maximizer_is_feasible_and_satisfies_stationarity(name: str, seed: int) -> None:
    F, z, _ = random_case(name, seed)
    point = F.conjugate_at(z)
    assert max(F.residuals(point.d).values()) <= 1e-12
    psi, zeta, beta = point.multipliers["psi"], point.multipliers["zeta"], point.multipliers["beta"]
    # What lies within rounding of its cap counts as capped.
    free = (point.d > 1e-290) & (F.upper > 0)
    slope = F.derivatives(point.d)
    np.testing.assert_allclose((slope + beta + psi - zeta)[free], z[free], atol=1e-9 * (1 + F.magnitude))
    assert (psi * (F.upper - point.d) <= 1e-12 * (1 + F.magnitude)).all()


def test_the_gradient_of_the_conjugate_is_the_maximizer() -> None:
    F = RelativeEntropy.capped(np.ones(6), REFERENCE_NU, 4.0, REFERENCE_D0)
    z, h = -REFERENCE_M, 1e-6
    differences = [(F.conjugate_at(z + h * e).value - F.conjugate_at(z - h * e).value) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(differences, F.conjugate_at(z).d, atol=1e-8)


@pytest.mark.thorough
def test_the_base_class_needs_no_closed_form() -> None:
    """A subclass with a linear piece, a curve and its box alone: conjugate and gap come from the base class."""

    class Quadratic(CappedSimplexIndicator):
        """f = d^2 on the box: no formula for beta anywhere."""

        def values(self, d: np.ndarray) -> np.ndarray:
            return d**2

        def derivatives(self, d: np.ndarray) -> np.ndarray:
            return 2 * d

        def maximizers(self, y: np.ndarray) -> np.ndarray:
            return np.clip(y / 2, 0, self.upper)

        solve_simplex_multiplier = Separable.solve_simplex_multiplier

    rng = np.random.default_rng(0)
    F, z = Quadratic(CappedSimplex(np.ones(9), 3.5)), rng.normal(size=9)
    point = F.conjugate_at(z)
    values = [float(d @ z) - F.value(d) for d in (some_point(F, rng) for _ in range(3000))]
    assert max(values) <= point.value + 1e-12
    assert point.d @ z - F.value(point.d) == pytest.approx(point.value, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_span_bounds_the_regularizer(name: str) -> None:
    for seed in range(many(60, 12)):
        F, _, rng = random_case(name, seed)
        largest = max(F.value(F.project(np.eye(F.N)[rng.permutation(F.N)][0] * 1.0)) for _ in range(20))
        assert largest <= F.value_bound + 1e-12 * (1 + F.magnitude)


def test_the_span_of_the_entropy_is_attained_for_integer_nu() -> None:
    F = RelativeEntropy.capped(np.ones(12), 4.0, 2.0, np.full(12, 1 / 12))
    assert F.value_bound == pytest.approx(np.log(12 / 4) / 2, abs=1e-15)
    assert F.value(np.repeat([0.25, 0.0], [4, 8])) == pytest.approx(F.value_bound, abs=1e-15)


@pytest.mark.parametrize("eta", (1e-2, 1.0, 1e6))
def test_values_stay_finite_at_extremes(eta: float) -> None:
    N = 100_000
    rng = np.random.default_rng(1)
    F = RelativeEntropy.capped(np.ones(N), 10.0, eta, np.full(N, 1 / N))
    z = rng.uniform(-1, 1, N)
    point = F.conjugate_at(z)
    lazy = F.project(rng.random(N))
    assert np.isfinite(point.value)
    assert np.isfinite(point.d).all()
    assert np.isfinite(F.gaps(lazy, z, point)).all()
    assert (F.gaps(lazy, z, point) >= 0).all()
    assert -point.value <= -(F.maximizers(z - point.multipliers["beta"]) @ z - F.value(point.d)) + 1e-9


def test_examples_without_reference_weight_have_none() -> None:
    d0 = np.array([0.5, 0.0, 0.5, 0.0])
    F = RelativeEntropy.capped(np.ones(4), 1.5, 3.0, d0)
    point = F.conjugate_at(np.array([0.1, 5.0, -0.2, 1.0]))
    assert point.d[1] == point.d[3] == 0.0
    repaired = F.project(np.array([0.0, 1.0, 0.0, 1.0]))
    assert repaired[1] == repaired[3] == 0.0
    assert np.isfinite(F.value(repaired))
