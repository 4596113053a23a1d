"""Sums of separable regularizers, the squares, and a linear term."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_formulas import (
    Value,
    assert_conjugate,
    assert_copies,
    assert_gradient,
    assert_junk_is_repaired,
    assert_modelled,
    assert_stable,
    binary_entropy,
    maximizer_by_bisection,
    norm_of_copies,
    points,
    relative_entropy,
)

from boostopt import ProblemError, check_regularizer
from boostopt.authoring import POSITIVE, BoundedEdges, parameter, prototype
from boostopt.functions.regularizers.binary_entropy import BinaryEntropy
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.functions.regularizers.loss_conjugates import Hinge
from boostopt.functions.regularizers.margin_variance import MarginVariance
from boostopt.functions.regularizers.norms.norm_regularizers import NormBall, simplex
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.functions.regularizers.separable import Separable, SeparableSum
from boostopt.functions.regularizers.weighted_squares import Squares
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer

seeds = st.integers(0, 2**32 - 1)


def squares(d: np.ndarray, c: np.ndarray, mu: float) -> float:
    return 0.5 * mu * sum(x * x / k for x, k in zip(d.tolist(), c.tolist(), strict=True))


def random_case(rng: np.random.Generator) -> tuple[Separable, Value, np.ndarray]:
    """Return a sum of two or three regularizers, its value by definition, and an argument z."""
    N = int(rng.integers(1, 7))
    c, z = rng.uniform(0.4, 3.0, N), rng.uniform(-1, 1, N)
    mu, eta = np.exp(rng.uniform(-3, 3, 2)).tolist()
    nu = float(rng.uniform(min(1.0, 0.8 * c.sum()), 0.8 * c.sum()))
    d0 = 0.7 * c / c.sum() + 0.3 * points(rng, c / nu, 1)[0]
    pieces: list[tuple[Separable, Value]] = [
        (CappedSimplexIndicator(CappedSimplex(c, nu)), lambda d: 0.0),
        (RelativeEntropy.capped(c, nu, eta, d0), lambda d: relative_entropy(d, d0) / eta),
        (BinaryEntropy(c / nu, eta, np.minimum(d0, c / nu)), lambda d: binary_entropy(d, d0, c / nu) / eta),
    ]
    first, value = pieces[int(rng.integers(3))]
    if rng.random() < 0.3:
        third, of_third = pieces[1]
        return (
            first + third + Squares(c, mu),
            lambda d: value(d) + of_third(d) + squares(d, c, mu),
            z,
        )
    return first + Squares(c, mu), lambda d: value(d) + squares(d, c, mu), z


@pytest.mark.thorough
@settings(max_examples=20, deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_of_a_sum_is_the_fenchel_young_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, value, z = random_case(rng)
    assert_conjugate(F, z, value, points(rng, F.upper))


@pytest.mark.parametrize("seed", range(5))
def test_the_maximizer_is_bisection_on_the_slope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c, z, mu, eta = rng.uniform(0.5, 2, 4), rng.uniform(-1, 1, 4), 3.0, 5.0
    nu, d0 = 0.6 * float(c.sum()), c / c.sum()
    entropy, binary = RelativeEntropy.capped(c, nu, eta, d0), BinaryEntropy(c / nu, eta, d0)

    def of_entropy(n: int, x: float) -> float:
        return math.log(x / d0[n]) / eta + mu * x / c[n] if x > 0 else -math.inf

    def of_binary(n: int, x: float) -> float:
        u = float(c[n]) / nu
        if x in (0.0, u):
            return -math.inf if x == 0.0 else math.inf
        return (math.log(x / d0[n]) - math.log((u - x) / (u - d0[n]))) / eta + mu * x / c[n]

    def of_cap(n: int, x: float) -> float:
        return mu * x / c[n]

    for piece, slope in (
        (entropy, of_entropy),
        (binary, of_binary),
        (CappedSimplexIndicator(CappedSimplex(c, nu)), of_cap),
    ):
        d = (piece + Squares(c, mu)).conjugate_at(z).d
        np.testing.assert_allclose(d, maximizer_by_bisection(slope, c / nu, z), atol=1e-9)


@pytest.mark.thorough
def test_the_gradient_of_the_conjugate_is_the_maximizer() -> None:
    for seed in range(2):
        F, _, z = random_case(np.random.default_rng(seed))
        assert_gradient(F, z)


def test_multiplicity_k_is_k_copies() -> None:
    rng = np.random.default_rng(0)
    counts, d0 = np.array([3, 1, 2]), np.array([0.5, 0.2, 0.3])
    c, many, index = counts.astype(float), np.ones(6), np.repeat(np.arange(3), counts)
    merged = RelativeEntropy.capped(c, 2.5, 4.0, d0) + Squares(c, 2.0)
    copies = RelativeEntropy.capped(many, 2.5, 4.0, (d0 / counts)[index]) + Squares(many, 2.0)
    assert_copies(merged, copies, counts, rng.uniform(-1, 1, 3), points(rng, c / 2.5))


@pytest.mark.parametrize("seed", range(6))
def test_the_model_for_solvers_is_an_infimal_convolution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, _, z = random_case(rng)
    assert_modelled(F, z, points(rng, F.upper))


def test_a_sum_without_the_simplex() -> None:
    """The hinge and the squares: d = clip((1 + z) c / mu), example by example."""
    c, z, mu, C = np.array([1.0, 2.0, 0.5, 1.0]), np.array([0.3, -0.9, -1.5, 2.0]), 4.0, 0.3
    F = Hinge(c, C) + Squares(c, mu)
    assert not F.on_simplex
    expected = np.clip((1 + z) * c / mu, 0.0, np.minimum(C * c, 1.0))
    np.testing.assert_allclose(F.conjugate_at(z).d, expected, atol=1e-15)
    assert_conjugate(F, z, lambda d: -d.sum() + squares(d, c, mu), [np.zeros(4), 0.5 * C * c, C * c])
    assert_junk_is_repaired(F)


@pytest.mark.parametrize("eta", (1e-6, 1e5, 1e9))
def test_weights_that_underflow_leave_the_gaps_finite(eta: float) -> None:
    """At large eta most maximizers are 0 in floating point, where the slope of the entropy is infinite."""
    rng = np.random.default_rng(0)
    N = 300
    c, d0, z = np.ones(N), np.full(N, 1 / N), rng.uniform(-1, 1, N)
    F = RelativeEntropy.capped(c, 30.0, eta, d0) + Squares(c, 4.0)
    point = F.conjugate_at(z)
    assert abs(point.d.sum() - 1) <= 1e-12
    assert F.gaps(point.d, z, point).sum() < 1e-9
    gaps = F.gaps(d0, z, point)
    assert np.isfinite(gaps).all()
    assert gaps.sum() == pytest.approx(F.value(d0) + point.value - d0 @ z, abs=1e-12 * (1 + F.magnitude))


@pytest.mark.thorough
def test_everything_is_finite_at_large_N() -> None:
    N = 20_000
    rng = np.random.default_rng(0)
    c, d0 = np.ones(N), rng.dirichlet(np.full(N, 5.0))
    F = RelativeEntropy.capped(c, 0.1 * N, 1e6, d0) + Squares(c, 4.0)
    assert_stable(F, rng.uniform(-1, 1, N), F.project(rng.random(N)))


def test_the_smallest_weights_are_found_to_all_their_digits() -> None:
    F = RelativeEntropy.capped(np.ones(2), 1.0, 500.0, np.array([0.5, 0.5])) + Squares(np.ones(2), 1e-300)
    d = F.maximizers(np.array([-1.0, 0.0]))
    assert d[0] == pytest.approx(0.5 * math.exp(-500.0), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_any_junk_is_repaired(seed: int) -> None:
    assert_junk_is_repaired(random_case(np.random.default_rng(seed))[0], seed)


def test_invalid_sums_are_refused() -> None:
    with pytest.raises(ProblemError, match=r"\bregularizers\b.*\[2, 3\]\."):
        SeparableSum((Squares(np.ones(2), 1.0), Squares(np.ones(3), 1.0)))
    with pytest.raises(ProblemError, match="no term"):
        SeparableSum(())
    at_its_cap = BinaryEntropy(np.full(3, 0.4), 1.0, np.array([0.4, 0.3, 0.3]))
    with pytest.raises(ProblemError, match=r"\blower bound\b.* 0\."):
        SeparableSum((at_its_cap, Squares(np.ones(3), 1.0)))


def test_the_squares_alone() -> None:
    """(mu/2) d^2 / c on [0, 1]: z^2 c / (2 mu) while the maximizer is inside."""
    c, mu = np.array([1.0, 2.0, 4.0]), 2.0
    F = Squares(c, mu)
    z = np.array([-0.5, 0.5, 3.0])
    point = F.conjugate_at(z)
    np.testing.assert_allclose(point.d, [0.0, 0.5, 1.0])
    assert point.value == pytest.approx(0.125 + 0.125 + (3.0 - 0.25) - 0.125, abs=1e-15)
    assert_conjugate(F, z, lambda d: squares(d, c, mu), [np.zeros(3), np.ones(3), np.array([0.2, 0.9, 0.4])])
    assert_modelled(F, z, [np.zeros(3), np.ones(3), np.array([0.2, 0.9, 0.4])])
    assert_junk_is_repaired(F)
    assert F.value(np.ones(3)) == F.value_bound


@pytest.mark.thorough
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seeds)
def test_a_linear_term_shifts_the_argument(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base, value, z = random_case(rng)
    tilt = rng.normal(size=base.N)
    F = Tilted(base, tilt)
    assert F.conjugate_at(z).value == base.conjugate_at(z - tilt).value
    assert_conjugate(F, z, lambda d: value(d) + float(tilt @ d), points(rng, base.upper))
    assert max(value(d) + tilt @ d for d in points(rng, base.upper)) <= F.value_bound + 1e-12 * (1 + F.magnitude)
    cap = CappedSimplexIndicator(CappedSimplex(np.ones(4), 2.0))
    assert Tilted(cap, np.array([3.0, -1.0, 0.5, 2.0])).value_bound == pytest.approx(2.5)  # half on each of the largest


def test_slopes_of_a_tilted_sum_for_solvers_are_those_of_its_values() -> None:
    base = RelativeEntropy.capped(np.ones(4), 1.0, 2.0, np.full(4, 0.25))
    F, d, step = Tilted(base, np.array([3.0, -1.0, 0.5, 2.0])), np.array([0.1, 0.2, 0.3, 0.4]), 1e-6
    terms = F.pointwise()
    assert terms is not None
    slopes = [(F.value(d + step * e) - F.value(d - step * e)) / (2.0 * step) for e in np.eye(4)]
    np.testing.assert_allclose(terms.derivatives(d) + 0.0, slopes, atol=1e-7)


def test_a_tilted_ball_and_a_tilted_entropy() -> None:
    rng = np.random.default_rng(3)
    c, z, tilt = np.ones(4), rng.uniform(-1, 1, 4), np.array([0.5, -2.0, 0.0, 1.0])
    ball = Tilted(NormBall(simplex(c), c, 2.0, 0.7), tilt)
    inside = [d for d in points(rng, np.ones(4), 12) if norm_of_copies(d, c, 2.0) <= 0.7]
    assert inside
    assert_conjugate(ball, z, lambda d: float(tilt @ d), inside)
    entropy = Tilted(RelativeEntropy.capped(c, 1.5, 6.0, c / 4), tilt)
    for F in (ball, entropy):
        assert_modelled(F, z, inside)
        assert_junk_is_repaired(F)
        assert_gradient(F, z, accuracy=1e-6)


def test_a_tilted_description_is_as_inexact_as_its_base() -> None:
    """Its dual cannot be modelled: it must not be offered to solvers."""
    import cvxpy as cp

    base = CvxpyRegularizer(CappedSimplex(np.ones(4), 2.0), lambda d: cp.sum_squares(d), np.full(4, 0.25))
    assert Tilted(base, np.ones(4)).has_closed_form_conjugate is False
    assert Tilted(CappedSimplexIndicator(base.domain), np.ones(4)).has_closed_form_conjugate is True


def test_tilted_weights_of_both_signs_are_certified_outside_the_range_of_the_margins() -> None:
    """Weights of both signs can have an edge of 8, so that the constraint e <= 1 does not always hold."""
    U = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    page = prototype(
        "tilted variance",
        lambda p, examples: Tilted(MarginVariance(examples.c, p.D), np.linspace(-9.0, 9.0, 4)),
        lambda p: BoundedEdges(1.0),
        D=parameter("the price of half of the variance of the margins", POSITIVE),
    )
    program = page.bind(U, D=3.0)
    F = program.regularizer
    assert F.signed and check_regularizer(F).passed
    certificate = program.solve("cvxpy:clarabel", tol=1e-6).certificate
    assert certificate.scaled_gap < 1e-6
    infeasible = F.project(None)
    assert (U.T @ infeasible).max() > 7.0 and F.value(infeasible) < certificate.lower - 10.0
    assert program.certify(d=infeasible, w=np.zeros(2)).upper >= certificate.lower


def test_other_summands_are_refused_and_only_indicators_are_indicators() -> None:
    cvxpy_regularizer = CvxpyRegularizer(CappedSimplex(np.ones(3), 1.0), lambda d: cp.sum_squares(d), np.full(3, 1 / 3))
    unsupported_summand: Any = cvxpy_regularizer
    with pytest.raises(ProblemError, match=r"\bSeparable\b.*\bCvxpyRegularizer\b"):
        _ = Squares(np.ones(3), 1.0) + unsupported_summand
    # Only an indicator of distributions makes a soft margin of the margins.
    cap = CappedSimplexIndicator(CappedSimplex(np.ones(3), 1.0))
    assert not any(F.is_indicator for F in (cvxpy_regularizer, Hinge(np.ones(3), 1.0), cap + Squares(np.ones(3), 1.0)))
    assert cap.is_indicator and (cap + cap).is_indicator


def test_squares_are_as_large_as_the_weights_that_the_sum_allows() -> None:
    """On ten thousand examples squares reach 5,000. With caps of 1/100 they reach half of a cap."""
    c = np.ones(10_000)
    F, squares_only = CappedSimplexIndicator(CappedSimplex(c, 100.0)) + Squares(c, 1.0), Squares(c, 1.0)
    d = F.project(np.r_[np.ones(100), np.zeros(9_900)])
    assert F.value(d) == pytest.approx(0.005) and F.magnitude == pytest.approx(0.005)
    assert (
        squares_only.magnitude == pytest.approx(5_000.0)
        and squares_only.value(np.ones(10_000)) <= squares_only.magnitude
    )
