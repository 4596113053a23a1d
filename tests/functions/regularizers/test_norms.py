"""Norm balls and norm penalties, without and with the relative entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.problems import REFERENCE_U
from support.reference_formulas import (
    assert_conjugate,
    assert_copies,
    assert_gradient,
    assert_junk_is_repaired,
    assert_modelled,
    assert_stable,
    norm_of_copies,
    points,
    program,
    relative_entropy,
)
from support.speeds import many

from boostopt import ProblemError
from boostopt.functions.edge_functions.largest_edge import AbsoluteEdge
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.norms.norm_regularizers import NormBall, NormPenalty, simplex
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy

seeds = st.integers(0, 2**32 - 1)
EXPONENTS = (1.05, 1.2, 1.5, 2.0, 3.0, 7.0, 50.0)
Normed = NormBall | NormPenalty


def base(rng: np.random.Generator, c: np.ndarray, eta: float | None) -> CappedSimplexIndicator | RelativeEntropy:
    """The simplex, or the entropy on it with a zero of d0."""
    if eta is None:
        return simplex(c)
    d0 = rng.dirichlet(np.full(len(c), rng.choice([0.3, 1.0, 10.0]))) + 1e-6
    if len(c) > 4:
        d0[0] = 0.0
    return RelativeEntropy.capped(np.ones(len(c)), 1.0, eta, d0 / d0.sum())


def support(F: Normed) -> np.ndarray:
    return F.base.domain.c > 0


def norm_ends(c: np.ndarray, p: float) -> tuple[float, float]:
    """The smallest and the largest norm of a distribution: in proportion to c, and at a vertex."""
    return norm_of_copies(c / c.sum(), c, p), max(norm_of_copies(x, c, p) for x in np.eye(len(c)))


def random_case(rng: np.random.Generator, exponents: tuple[float, ...] = EXPONENTS) -> tuple[Normed, np.ndarray]:
    """Return a ball, from just above the smallest radius to a void one, or a penalty; and an argument z."""
    N = int(rng.integers(1, 8))
    c = rng.uniform(0.3, 3.0, N) if rng.random() < 0.5 else np.ones(N)
    B = base(rng, c, None if rng.random() < 0.5 else float(np.exp(rng.uniform(-4, 9))))
    z = rng.uniform(-1, 1, N) * rng.choice([1e-3, 1.0, 10.0])
    z = np.round(z * 2) / 2 if rng.random() < 0.3 else z
    if rng.random() < 0.5:
        p = float(rng.choice([*exponents, math.inf]))
        return NormPenalty(B, c, p, float(np.exp(rng.uniform(-9, 9)))), z
    p = float(rng.choice(exponents))
    smallest, largest = norm_ends(c[B.domain.c > 0], p)
    radii = [smallest * (1 + 1e-4), rng.uniform(smallest, largest + 1e-3), largest, 2 * largest]
    return NormBall(B, c, p, float(rng.choice(radii))), z


def value(F: Normed, d: np.ndarray) -> float:
    """F by its definition."""
    entropy = relative_entropy(d, F.base.d0) / F.base.eta if isinstance(F.base, RelativeEntropy) else 0.0
    return entropy + (F.r * norm_of_copies(d, F.c, F.p) if isinstance(F, NormPenalty) else 0.0)


def feasible(F: Normed, rng: np.random.Generator) -> list[np.ndarray]:
    """Return distributions. For a ball, move them to the point of smallest norm until they lie inside."""
    distributions = list[np.ndarray]()
    center = np.where(support(F), F.c, 0.0) / F.c[support(F)].sum()
    for d in [*points(rng, np.where(support(F), 1.0, 0.0), 4), center]:
        low, high = 0.0, 1.0
        while isinstance(F, NormBall) and norm_of_copies(d, F.c, F.p) > F.r and high - low > 1e-12:
            middle = 0.5 * (low + high)
            inside = norm_of_copies((1 - middle) * d + middle * center, F.c, F.p) <= F.r
            low, high = (low, middle) if inside else (middle, high)
        distributions.append(d if low == 0.0 and high == 1.0 else (1 - high) * d + high * center)
    return distributions


@pytest.mark.thorough
@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_is_the_fenchel_young_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, z = random_case(rng)
    assert_conjugate(F, z, lambda d: value(F, d), feasible(F, rng))


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds)
def test_no_two_weights_can_be_traded_at_the_maximizer(seed: int) -> None:
    """Two examples: the conjugate is the largest value along the segment, by a grid and golden sections."""
    rng = np.random.default_rng(seed)
    c, z, p = rng.uniform(0.3, 3.0, 2), rng.uniform(-1, 1, 2), float(rng.choice(EXPONENTS))
    B = base(rng, c, None if rng.random() < 0.5 else float(np.exp(rng.uniform(-2, 5))))
    smallest, largest = norm_ends(c, p)
    for F in (NormPenalty(B, c, p, float(np.exp(rng.uniform(-5, 3)))), NormBall(B, c, p, 0.5 * (smallest + largest))):

        def objective(x: float, F: Normed = F) -> float:
            d = np.array([x, 1 - x])
            if isinstance(F, NormBall) and norm_of_copies(d, c, p) > F.r * (1 + 1e-11):
                return -1e6 * norm_of_copies(d, c, p)  # worse than any value, and the worse the farther outside
            return float(z @ d) - value(F, d)

        grid = np.linspace(0.0, 1.0, 401).tolist()
        best = max(grid, key=objective)
        low, high = max(best - 1 / 400, 0.0), min(best + 1 / 400, 1.0)
        for _ in range(40):
            left_x, right = high - 0.6180339887 * (high - low), low + 0.6180339887 * (high - low)
            low, high = (low, right) if objective(left_x) > objective(right) else (left_x, high)
        maximum = max(objective(x) for x in (best, low, high))
        assert F.conjugate_at(z).value == pytest.approx(maximum, abs=1e-7)


@pytest.mark.parametrize("p", (1.5, 2.0, 4.0))
@pytest.mark.parametrize("eta", (None, 5.0))
def test_the_conjugate_against_a_general_optimizer(p: float, eta: float | None) -> None:
    rng = np.random.default_rng(7)
    c, z = rng.uniform(0.5, 2.0, 5), rng.uniform(-1, 1, 5)
    B = RelativeEntropy.capped(np.ones(5), 1.0, eta, rng.dirichlet(np.ones(5))) if eta else simplex(c)
    smallest, largest = norm_ends(c, p)
    for F in (NormPenalty(B, c, p, 0.4), NormBall(B, c, p, 0.7 * smallest + 0.3 * largest)):
        in_ball: Any = {"type": "ineq", "fun": lambda d, F=F: F.r - norm_of_copies(d, c, p)}
        on_simplex: Any = {"type": "eq", "fun": lambda d: d.sum() - 1}
        answer: Any = scipy.optimize.minimize(
            lambda d, F=F: value(F, np.maximum(d, 0.0)) - z @ d,
            c / c.sum(),
            bounds=[(1e-14, 1)] * 5,
            constraints=[on_simplex, in_ball] if isinstance(F, NormBall) else [on_simplex],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        assert F.conjugate_at(z).value == pytest.approx(-answer.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_gradient_of_the_conjugate_is_the_maximizer(seed: int) -> None:
    """Everywhere but at the kinks of the simplex: with an entropy, or a ball that is felt."""
    rng = np.random.default_rng(seed)
    c, z = rng.uniform(0.5, 2.0, 5), rng.uniform(-1, 1, 5)
    B = base(rng, c, 4.0)
    p = float(rng.choice([1.5, 2.0, 3.0]))
    smallest, largest = norm_ends(c[B.domain.c > 0], p)
    for F in (NormBall(B, c, p, 0.8 * smallest + 0.2 * largest), NormPenalty(B, c, p, 0.3)):
        assert_gradient(F, z, accuracy=1e-6)
    assert_gradient(NormBall(simplex(c), c, 2.0, 0.6), z, accuracy=1e-6)


@pytest.mark.parametrize("p", (1.5, 2.0, 5.0, math.inf))
@pytest.mark.parametrize("eta", (None, 6.0))
def test_multiplicity_k_is_k_copies(p: float, eta: float | None) -> None:
    rng = np.random.default_rng(2)
    counts, d0 = np.array([1, 3, 2, 2]), np.array([0.4, 0.3, 0.2, 0.1])
    c, index, z = counts.astype(float), np.repeat(np.arange(4), counts), rng.uniform(-1, 1, 4)
    many = np.ones(8)
    B = RelativeEntropy.capped(np.ones(4), 1.0, eta, d0) if eta else simplex(c)
    of_copies = RelativeEntropy.capped(many, 1.0, eta, (d0 / counts)[index]) if eta else simplex(many)
    inside = points(rng, np.ones(4))
    assert_copies(NormPenalty(B, c, p, 0.3), NormPenalty(of_copies, many, p, 0.3), counts, z, inside)
    if math.isfinite(p):
        r = 1.5 * 8 ** (1 / p - 1)
        assert_copies(NormBall(B, c, p, r), NormBall(of_copies, many, p, r), counts, z, [])


@pytest.mark.every(3)
@pytest.mark.parametrize("p", (1.5, 2.0, 3.0, math.inf))
@pytest.mark.parametrize("eta", (None, 5.0))
def test_the_model_for_solvers(p: float, eta: float | None) -> None:
    rng = np.random.default_rng(4)
    c, z = rng.uniform(0.5, 2.0, 5), rng.uniform(-1, 1, 5)
    B = base(rng, c, eta)
    assert_modelled(NormPenalty(B, c, p, 0.4), z, points(rng, np.where(B.domain.c > 0, 1.0, 0.0)))
    if math.isfinite(p):
        smallest, largest = norm_ends(c[B.domain.c > 0], p)
        F = NormBall(B, c, p, 0.7 * smallest + 0.3 * largest)
        assert_modelled(F, z, feasible(F, rng))


def test_the_reference_numbers() -> None:
    """Two-sided: ||d||_2 <= 0.5, and 0.3 ||d||_2."""
    c = np.ones(6)
    for F, optimum in (
        (NormBall(simplex(c), c, 2.0, 0.5), 0.0444874399),
        (NormPenalty(simplex(c), c, 2.0, 0.3), 0.1719999238),
    ):
        certificate = program(REFERENCE_U, F, AbsoluteEdge()).solve("cvxpy:clarabel", tol=1e-9).certificate
        assert certificate.gap < 1e-9
        assert certificate.lower - 1e-10 <= optimum <= certificate.upper + 1e-10


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seeds)
@example(7)  # at order 1000 s underflows to 0 on the way to the root
def test_extreme_exponents(seed: int) -> None:
    """Near 1 the norm hardly bends, near infinity it is a cap: the maximizer must still attain the conjugate."""
    rng = np.random.default_rng(seed)
    F, z = random_case(rng, exponents=(1.001, 1000.0))
    assert_conjugate(F, z, lambda d: value(F, d), feasible(F, rng), accuracy=1e-9)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds)
def test_at_and_near_the_smallest_radius(seed: int) -> None:
    """The best s is infinite at the smallest radius; near it F* is a difference of large numbers."""
    rng = np.random.default_rng(seed)
    N, p = int(rng.integers(1, 8)), float(rng.choice(EXPONENTS))
    c, z = rng.uniform(0.3, 3.0, N), rng.uniform(-1, 1, N)
    B = base(rng, c, None if rng.random() < 0.5 else float(np.exp(rng.uniform(-2, 9))))
    smallest, _ = norm_ends(c[B.domain.c > 0], p)
    center = np.where(B.domain.c > 0, c, 0.0) / c[B.domain.c > 0].sum()
    for excess in (-2e-15, 0.0, 2e-15):
        point_ball = NormBall(B, c, p, smallest * (1 + excess))
        point, center_value = point_ball.conjugate_at(z), z @ center - value(point_ball, center)
        rounding = 1e-14 * (1 + point_ball.magnitude)
        assert center_value - rounding <= point.value
        # Weights beside the point count by the square root, and not at all below the smallest radius.
        if excess < 0.0:
            assert point.value <= center_value + rounding
        np.testing.assert_allclose(point.d, center, atol=1e-15)
        np.testing.assert_allclose(point_ball.project(rng.random(N)), center, atol=1e-15)
        assert point_ball.gaps(point.d, z, point).sum() == pytest.approx(point.value - center_value, abs=rounding)
    for excess in (5e-13, 1e-8):
        with pytest.raises(ProblemError, match=r"^r\b.*\bone point\b"):
            NormBall(B, c, p, smallest * (1 + excess))
    with pytest.raises(ProblemError, match=r"^r\b.*-norm\b"):
        NormBall(B, c, p, smallest * (1 - 5e-13))
    for excess in (1.1e-6, 1e-5):
        ball = NormBall(B, c, p, smallest * (1 + excess))
        inside, point = feasible(ball, rng), ball.conjugate_at(z)
        assert_conjugate(ball, z, lambda d, F=ball: value(F, d), inside, accuracy=1e-10)
        worst = max(float(d @ z) - value(ball, d) - point.value for d in inside)
        assert worst <= 1e-14 * (1 + ball.magnitude)  # a bound of F* from above, whatever the accuracy


def test_a_large_ball_is_no_constraint() -> None:
    z = np.array([0.3, -0.2, 0.9, 0.9])
    F = NormBall(simplex(np.ones(4)), np.ones(4), 2.0, 1.0)
    assert F.conjugate_at(z).value == pytest.approx(0.9, abs=1e-15)
    np.testing.assert_allclose(F.conjugate_at(z).d, [0, 0, 0.5, 0.5], atol=1e-15)  # ties are shared
    entropy = RelativeEntropy.capped(np.ones(4), 1.0, 7.0, np.full(4, 0.25))
    of_ball = NormBall(entropy, np.ones(4), 2.0, 1.0).conjugate_at(z)
    assert of_ball.value == pytest.approx(entropy.conjugate_at(z).value, abs=1e-15)


def test_the_infinite_norm_is_a_cap_at_its_own_height() -> None:
    """The penalty r max d: d is uniform on the k examples of largest z for which the sum of (z_n - z_k) reaches r."""
    z = np.array([0.9, 0.5, 0.3, -0.4])
    F = NormPenalty(simplex(np.ones(4)), np.ones(4), math.inf, 0.5)
    point = F.conjugate_at(z)  # (0.9 - x) + (0.5 - x) = 0.5 at x = 0.45, above 0.3
    np.testing.assert_allclose(point.d, [0.5, 0.5, 0, 0], atol=1e-15)
    assert point.value == pytest.approx(0.7 - 0.25, abs=1e-15)
    entropy = RelativeEntropy.capped(np.ones(4), 1.0, 3.0, np.full(4, 0.25))
    G = NormPenalty(entropy, np.ones(4), math.inf, 0.5)
    capped_entropy = RelativeEntropy.capped(np.ones(4), 1.0 / float(G.conjugate_at(z).d.max()), 3.0, np.full(4, 0.25))
    np.testing.assert_allclose(G.conjugate_at(z).d, capped_entropy.conjugate_at(z).d, atol=1e-14)


def test_for_large_eta_the_entropy_vanishes() -> None:
    rng = np.random.default_rng(5)
    c, z, d0 = np.ones(6), rng.uniform(-1, 1, 6), np.full(6, 1 / 6)
    for p, kind, r in ((2.0, NormBall, 0.6), (3.0, NormPenalty, 0.4), (math.inf, NormPenalty, 0.7)):
        limit = kind(simplex(c), c, p, r).conjugate_at(z).value
        for eta in (10.0, 1e3, 1e6, 1e9):
            smoothed = kind(RelativeEntropy.capped(c, 1.0, eta, d0), c, p, r).conjugate_at(z).value
            assert -1e-12 <= limit - smoothed <= np.log(6) / eta + 1e-12


def test_a_penalty_of_strength_towards_0_and_infinity() -> None:
    z, c = np.array([0.3, 0.1, -0.7]), np.array([1.0, 2.0, 1.0])
    for p in (1.5, 2.0, math.inf):
        assert NormPenalty(simplex(c), c, p, 1e-12).conjugate_at(z).value == pytest.approx(0.3, abs=1e-11)
        np.testing.assert_allclose(NormPenalty(simplex(c), c, p, 1e9).conjugate_at(z).d, c / 4, atol=1e-6)


def test_a_ball_that_misses_the_simplex_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"^r must be at least 0\.5, .*\b2-norm\b.*; got 0\.49\. Raise r\.$"):
        NormBall(simplex(np.ones(4)), np.ones(4), 2.0, 0.49)


@pytest.mark.parametrize("seed", range(12))
def test_any_junk_is_repaired(seed: int) -> None:
    assert_junk_is_repaired(random_case(np.random.default_rng(seed))[0], seed)


def test_residuals_of_the_ball_measure_the_norm() -> None:
    F = NormBall(simplex(np.ones(4)), np.ones(4), 2.0, 0.6)
    assert F.residuals(np.eye(4)[0])["norm d <= r"] == pytest.approx(0.4)
    assert F.residuals(np.full(4, 0.25))["norm d <= r"] == 0.0


def test_the_span_bounds_the_value() -> None:
    for seed in range(many(40, 8)):
        rng = np.random.default_rng(seed)
        F, _ = random_case(rng)
        assert max(value(F, d) for d in feasible(F, rng)) <= F.value_bound + 1e-12 * (1 + F.magnitude)


@pytest.mark.thorough
@pytest.mark.parametrize("eta", (None, 1e-6, 1e6, 1e9))
@pytest.mark.parametrize("p", (1.5, 2.0, 5.0, math.inf))
def test_everything_is_finite_at_large_N(p: float, eta: float | None) -> None:
    N = 100_000
    rng = np.random.default_rng(0)
    c, d0, z = np.ones(N), rng.dirichlet(np.full(N, 5.0)), rng.uniform(-1, 1, N)
    B = simplex(c) if eta is None else RelativeEntropy.capped(c, 1.0, eta, d0)
    penalty = NormPenalty(B, c, p, 3.0 if math.isinf(p) else 0.3)
    assert_stable(penalty, z, penalty.project(rng.random(N)))
    if math.isfinite(p):
        ball = NormBall(B, c, p, 2.0 * N ** (1 / p - 1))
        assert_stable(ball, z, ball.project(rng.random(N)))


@pytest.mark.parametrize("kind", [NormBall, NormPenalty])
@pytest.mark.parametrize("eta", [None, 4.0])
def test_the_magnitude_is_no_smaller_than_the_numbers_that_are_added(kind: Any, eta: float | None) -> None:
    """At arguments as large as margins the terms are F*, <z, d> and the part of the base, all with rounding."""
    rng = np.random.default_rng(0)
    base_regularizer = base(rng, np.ones(6), eta)
    F = kind(base_regularizer, np.ones(6), 2.0, 0.6)
    arguments = [np.ones(6), -np.ones(6), *rng.uniform(-1.0, 1.0, (4, 6))]
    sizes = [abs(F.conjugate_at(z).value) + abs(float(z @ F.conjugate_at(z).d)) for z in arguments]
    assert F.magnitude >= base_regularizer.magnitude + max(sizes)
