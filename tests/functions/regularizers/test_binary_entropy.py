"""The binary relative entropy and the logarithmic loss."""

from __future__ import annotations

import decimal
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import REFERENCE_D0, REFERENCE_M, REFERENCE_NU, REFERENCE_U, slow_soft_margin
from support.reference_formulas import (
    assert_conjugate,
    assert_copies,
    assert_gradient,
    assert_junk_is_repaired,
    assert_modelled,
    assert_stable,
    binary_dual_in_decimals,
    binary_entropy,
    maximizer_by_bisection,
    points,
)

from boostopt import ProblemError, get_formulation
from boostopt.functions.numerics.sigmoid_sums import solve_sigmoid_sum
from boostopt.functions.regularizers.binary_entropy import BinaryEntropy, LogarithmicLoss
from boostopt.functions.regularizers.capped_simplex import CappedSimplex

seeds = st.integers(0, 2**32 - 1)


def reference(eta: float = 4.0) -> BinaryEntropy:
    return BinaryEntropy(np.full(6, 1 / REFERENCE_NU), eta, REFERENCE_D0)


def random_case(rng: np.random.Generator, largest_N: int = 9, fixed: bool = True) -> tuple[BinaryEntropy, np.ndarray]:
    """Return F with uneven caps and d0 strictly inside, if `fixed` also at 0 and at the cap; and an argument z."""
    N = int(rng.integers(2, largest_N + 1))
    c = rng.uniform(0.4, 3.0, N)
    caps = c / rng.uniform(min(1.0, 0.9 * c.sum()), 0.9 * c.sum())
    d0, free = np.zeros(N), np.ones(N, dtype=bool)
    if fixed and N > 4 and caps[1] < 0.5 and caps[2:].sum() > 1.1 * (1 - caps[1]):
        d0[1], free[:2] = caps[1], False
    free_sum = 1 - d0.sum()
    # Mix with the weights in proportion to the caps, so that all of them have room.
    inside = 0.8 * points(rng, caps[free] / free_sum, 1)[0] + 0.2 * caps[free] / caps[free].sum()
    d0[free] = free_sum * inside
    return BinaryEntropy(caps, float(np.exp(rng.uniform(-3, 5))), d0), rng.uniform(-1, 1, N)


def feasible(F: BinaryEntropy, rng: np.random.Generator) -> list[np.ndarray]:
    """Return points of the domain; fixed weights have their values."""
    if not F.movable.any():
        return [F.fixed_weights]
    free_sum = 1 - F.fixed_weights.sum()
    inside = points(rng, F.upper[F.movable] / free_sum)
    return [
        F.fixed_weights + free_sum * np.where(F.movable, np.bincount(np.flatnonzero(F.movable), d, F.N), 0.0)
        for d in inside
    ]


def test_the_reference_numbers() -> None:
    F = reference()
    point = F.conjugate_at(-REFERENCE_M)
    assert -point.value == pytest.approx(0.0671751405, abs=1e-10)
    assert point.multipliers["beta"] == pytest.approx(-0.1347606967, abs=1e-10)
    expected = (0.0345232549, 0.1443302186, 0.2875625057, 0.1463335519, 0.3233225511, 0.0639279179)
    np.testing.assert_allclose(point.d, expected, atol=1e-10)
    edges = REFERENCE_U.T @ point.d
    np.testing.assert_allclose(edges, (-0.1802198857, 0.3937469698, -0.0810968850), atol=1e-10)
    assert F.value(point.d) + edges.max() == pytest.approx(0.4491273392, abs=1e-10)
    best = F.conjugate_at(-REFERENCE_U @ np.array([0.3790564816, 0.4584361493, 0.1625073691]))
    assert -best.value == pytest.approx(0.1116447095, abs=1e-10)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds)
def test_the_closed_form_is_bisection_on_the_slope(seed: int) -> None:
    F, z = random_case(np.random.default_rng(seed), largest_N=5, fixed=False)

    def slope(n: int, x: float) -> float:
        u, r = float(F.caps[n]), float(F.d0[n])
        if x in (0.0, u):
            return -math.inf if x == 0.0 else math.inf
        return (math.log(x / r) - math.log((u - x) / (u - r))) / F.eta

    np.testing.assert_allclose(F.conjugate_at(z).d, maximizer_by_bisection(slope, F.caps, z), atol=1e-9)


@pytest.mark.thorough
@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_is_the_fenchel_young_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, z = random_case(rng)
    assert_conjugate(F, z, lambda d: binary_entropy(d, F.d0, F.upper) / F.eta, feasible(F, rng))


@pytest.mark.parametrize("eta", (1e-6, 1.0, 1e6, 1e9))
def test_the_value_in_sixty_digits(eta: float) -> None:
    """Points at which doubles cancel or saturate: the conjugate is right to the rounding that `magnitude` announces."""
    rng = np.random.default_rng(3)
    u, z = np.full(5, 0.4), rng.uniform(-1, 1, 5)
    F = BinaryEntropy(u, eta, np.array([0.3, 0.2, 0.1, 0.25, 0.15]))
    with decimal.localcontext(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        value, d = binary_dual_in_decimals(F.d0, u, eta, z)
    point = F.conjugate_at(z)
    assert point.value == pytest.approx(float(value), abs=2e-15 * (1 + F.magnitude))
    np.testing.assert_allclose(point.d, [float(x) for x in d], atol=1e-15 * (1 + eta))


def test_the_gradient_of_the_conjugate_is_the_maximizer() -> None:
    assert_gradient(reference(), -REFERENCE_M)
    F, z = random_case(np.random.default_rng(8))
    assert_gradient(F, z)


def test_multiplicity_k_is_k_copies() -> None:
    rng = np.random.default_rng(1)
    counts = np.array([1, 3, 2, 4, 1])
    nu, d0 = 4.2, np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    index = np.repeat(np.arange(5), counts)
    merged = BinaryEntropy(counts / nu, 7.0, d0)
    copies = BinaryEntropy(np.full(11, 1 / nu), 7.0, (d0 / counts)[index])
    assert_copies(merged, copies, counts, rng.uniform(-1, 1, 5), points(rng, counts / nu))


@pytest.mark.parametrize("seed", range(4))
def test_the_model_for_solvers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, z = random_case(rng)
    assert_modelled(F, z, feasible(F, rng))


@pytest.mark.parametrize(("N", "nu"), [(12, 4), (30, 3), (7, 1), (5, 5)])
def test_the_span_is_attained_for_whole_nu(N: int, nu: int) -> None:
    """C = (N / nu) H(nu / N) for uniform d0, at the vertices: less than ln(N / nu) + 1."""
    F = BinaryEntropy(np.full(N, 1 / nu), 2.0, np.full(N, 1 / N))
    p = nu / N
    entropy = 0.0 if nu == N else -p * math.log(p) - (1 - p) * math.log(1 - p)
    vertex = np.repeat([1 / nu, 0.0], [nu, N - nu])
    assert F.value_bound == pytest.approx(entropy / p / 2.0, abs=1e-13)
    assert F.value(vertex) == pytest.approx(F.value_bound, abs=1e-13)
    assert F.value_bound <= (math.log(N / nu) + 1) / 2.0


def test_for_large_eta_it_tends_to_the_soft_margin() -> None:
    """AvgMin <= D <= AvgMin + C / eta, the sandwich of the soft margin."""
    for eta in (1.0, 30.0, 1e4, 1e8):
        F = reference(eta)
        excess = -F.conjugate_at(-REFERENCE_M).value - slow_soft_margin(REFERENCE_M, np.ones(6), REFERENCE_NU)
        assert -1e-12 <= excess <= F.value_bound + 1e-12


def test_at_full_support_nothing_can_move() -> None:
    F = BinaryEntropy(np.full(6, 1 / 6), 3.0, np.full(6, 1 / 6))
    point = F.conjugate_at(-REFERENCE_M)
    assert -point.value == pytest.approx(REFERENCE_M.mean(), abs=1e-14)
    np.testing.assert_allclose(point.d, 1 / 6, atol=1e-16)
    assert F.room(point.d).max() <= 1e-16


def test_one_example() -> None:
    for caps, d0 in ((1.0, 1.0), (3.0, 1.0)):
        F = BinaryEntropy(np.array([caps]), 2.0, np.array([d0]))
        point = F.conjugate_at(np.array([0.7]))
        assert point.value == pytest.approx(0.7, abs=1e-12)
        np.testing.assert_allclose(point.d, 1.0, atol=1e-15)


def test_weights_whose_reference_is_at_an_end_stay_there() -> None:
    F = BinaryEntropy(np.full(5, 0.4), 3.0, np.array([0.4, 0.0, 0.3, 0.2, 0.1]))
    for z in (np.array([-50.0, 50.0, 0.1, 0.2, 0.3]), np.array([50.0, -50.0, 0.0, -9.0, 9.0])):
        point = F.conjugate_at(z)
        assert point.d[0] == pytest.approx(0.4, abs=1e-16)
        assert point.d[1] == 0.0
        assert F.gaps(point.d, z, point).sum() <= 1e-13
    d = np.array([0.1, 0.0, 0.4, 0.3, 0.2])
    assert max(F.residuals(d).values()) == pytest.approx(0.3)  # it is no point of the domain
    assert F.project(d)[0] == pytest.approx(0.4, abs=1e-16)
    assert F.support(np.eye(5)[0] * -1.0) == pytest.approx(-0.4, abs=1e-15)


def test_a_reference_above_its_cap_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"\bd0 <= c / nu\b.* 0\.5 > 0\.4 at 1\."):
        BinaryEntropy(np.full(3, 0.4), 1.0, np.array([0.2, 0.5, 0.3]))


@pytest.mark.parametrize("seed", range(8))
def test_any_junk_is_repaired(seed: int) -> None:
    assert_junk_is_repaired(random_case(np.random.default_rng(seed))[0], seed)


@pytest.mark.parametrize("eta", (1e-6, 1e6, 1e9))
def test_everything_is_finite_at_large_N(eta: float) -> None:
    N = 100_000
    rng = np.random.default_rng(0)
    d0 = rng.uniform(0.1, 1.0, N)
    F = BinaryEntropy(np.full(N, 10.0 / N), eta, d0 / d0.sum())
    assert_stable(F, rng.uniform(-1, 1, N), F.project(rng.random(N)))


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seeds)
def test_the_shift_brings_the_sum_of_sigmoids_to_its_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 50))
    x, u = rng.normal(size=n) * 10.0 ** rng.integers(-8, 9), rng.uniform(0.01, 3, n)
    for target in (0.3 * u.sum(), 1e-12 * u.sum(), (1 - 1e-12) * u.sum()):
        tau = solve_sigmoid_sum(x, u, float(target))
        steps = 1e-9 * max(1.0, abs(tau))
        lower_sum, upper_sum = (float(u @ (0.5 * (1 + np.tanh(0.5 * (x - tau + s))))) for s in (-steps, steps))
        assert lower_sum - 1e-12 * u.sum() <= target <= upper_sum + 1e-12 * u.sum()


def test_the_search_ends_where_rounding_hides_its_target() -> None:
    """The products of u and ones sum to less than the target, though the target is below the sum of u."""
    rng = np.random.default_rng(0)
    hidden = 0
    while hidden < 5:
        u = rng.uniform(size=int(rng.integers(50, 400)))
        u /= u.sum()
        target = float(np.nextafter(u.sum(), 0.0))
        if float(u @ np.ones(len(u))) < target:
            hidden += 1
            assert np.isfinite(solve_sigmoid_sum(rng.normal(size=len(u)), u, target))


def test_a_reference_within_rounding_of_all_caps_is_solved() -> None:
    """At nu = N, d0 uniform but for the twelfth digit: a third of the weights count as free, with no room."""
    N = 232
    d0 = np.where(np.arange(N) % 3 == 0, 1 - 1.9e-12, 1 + 0.9e-12) / N
    U = np.random.default_rng(175).uniform(-1, 1, (N, 2))
    certificate = get_formulation("binary_erlpboost").bind(U, nu=N, eta=3.0, d0=d0).certify(w=[0.5, 0.5])
    assert certificate.lower - 1e-10 <= U.mean(axis=0).max() <= certificate.upper + 1e-10


def test_the_logarithmic_loss() -> None:
    """F*(z) = (1/eta) sum c ln((1 + exp(eta z)) / 2), d = c / (1 + exp(-eta z))."""
    rng = np.random.default_rng(2)
    c, z = rng.uniform(0.3, 3.0, 7), rng.uniform(-1, 1, 7)
    for eta in (1e-3, 1.0, 50.0, 1e6):
        F = LogarithmicLoss.from_multiplicities(c, eta)
        point = F.conjugate_at(z)
        losses = c * (np.logaddexp(0.0, eta * z) - math.log(2)) / eta
        assert point.value == pytest.approx(losses.sum(), abs=1e-14 * (1 + F.magnitude))
        np.testing.assert_allclose(point.d, c * np.exp(-np.logaddexp(0.0, -eta * z)), rtol=1e-9, atol=1e-300)
        inside = [c * rng.random(7), c, np.zeros(7), F.d0]
        assert_conjugate(F, z, lambda d, eta=eta: binary_entropy(d, 0.5 * c, c) / eta, inside)
        assert F.value_bound == pytest.approx(math.log(2) * c.sum() / eta, rel=1e-12)
    assert_junk_is_repaired(LogarithmicLoss.from_multiplicities(c, 3.0))
    assert_gradient(LogarithmicLoss.from_multiplicities(c, 3.0), z)
    assert_modelled(LogarithmicLoss.from_multiplicities(c, 3.0), z, [c * rng.random(7), np.zeros(7)])


def test_the_logarithmic_loss_of_copies() -> None:
    rng = np.random.default_rng(4)
    counts = np.array([2, 1, 5])
    merged, copies = (
        LogarithmicLoss.from_multiplicities(counts.astype(float), 4.0),
        LogarithmicLoss.from_multiplicities(np.ones(8), 4.0),
    )
    assert_copies(merged, copies, counts, rng.uniform(-1, 1, 3), [counts * rng.random(3)])


@pytest.mark.parametrize("eta", (1e-6, 1e6, 1e9))
def test_the_logarithmic_loss_is_finite_at_large_N(eta: float) -> None:
    N = 100_000
    rng = np.random.default_rng(0)
    F = LogarithmicLoss.from_multiplicities(np.ones(N), eta)
    z = rng.uniform(-1, 1, N)
    assert_stable(F, z, rng.random(N))
    point = F.conjugate_at(z)
    # Without the simplex the terms add up to N: no gap at the maximizer, relative to that.
    assert F.gaps(point.d, z, point).sum() < 1e-15 * F.magnitude


@pytest.mark.parametrize("seed", range(12))
def test_rounding_is_within_two_epsilons_of_the_magnitude(seed: int) -> None:
    """A certificate allows at least eleven; many copies at a small nu leave most of every cap unused."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        N = int(rng.integers(2, 40))
        c = rng.integers(1, [2, 6, 10**6][seed % 3] + 1, N).astype(float)
        nu = float(rng.uniform(1.0, 0.9 * c.sum())) if seed % 2 else 1.0
        simplex = CappedSimplex(c, nu)
        d0 = rng.dirichlet(np.full(N, 10 ** rng.uniform(-1.0, 2.0)))
        F = BinaryEntropy.capped(c, nu, 10 ** rng.uniform(-2.0, 6.0), simplex.repair(d0, np.ones(N)))
        d = F.project(simplex.repair(rng.dirichlet(np.full(N, 10 ** rng.uniform(-2.0, 2.0))), np.ones(N)))
        z = rng.normal(size=N) * 10 ** rng.uniform(-3.0, 0.0)
        beta = F.solve_simplex_multiplier(z)[0]
        free, y = F.movable, z - beta
        computed = [terms[free].sum() for terms in (F.values(d), F.conjugate_terms(y), F.young_gaps(d, y))]
        allowed = 2.0 * np.finfo(np.float64).eps * (F.magnitude + np.abs(z).max() + abs(beta))
        np.testing.assert_allclose(computed, in_high_precision(F, d, y), rtol=0.0, atol=allowed)


def in_high_precision(F: BinaryEntropy, d: np.ndarray, y: np.ndarray) -> list[float]:
    """F(d), F*(y) and the sum of both less y d over the free weights, each term as in the formula.

    Of a large cap u the distance u - d0 has been rounded: the cap is what it and d0 sum to.
    """
    with mpmath.workprec(200):
        eta, value, conjugate, gap = mpmath.mpf(F.eta), mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
        for n in np.flatnonzero(F.movable):
            u, x, x0, rest = (mpmath.mpf(float(array[n])) for array in (F.upper, d, F.d0, F.cap_distance_or_zero))
            logit = mpmath.mpf(float(F.logit[n]))
            argument = logit + eta * mpmath.mpf(float(y[n]))
            value += sum(a * mpmath.log(a / b) for a, b in ((x, x0), (rest + x0 - x, rest)) if a > 0)
            conjugate += u * (mpmath.log1p(mpmath.exp(argument)) - mpmath.log1p(mpmath.exp(logit)))
            shares = ((x / u, -argument), (1 - x / u, argument))
            gap += u * sum(p * (mpmath.log(p) + mpmath.log1p(mpmath.exp(a))) for p, a in shares if p > 0)
        return [float(total / eta) for total in (value, conjugate, gap)]


def test_large_caps_make_no_magnitude() -> None:
    """No weight exceeds 1: what is left of a cap is large, and its logarithm small."""
    D0 = np.full(12, 1 / 12)
    few, many = (BinaryEntropy.capped(np.full(12, c), 1.0, 1.0, D0) for c in (1.0, 1e8))
    assert few.magnitude <= 50.0 and many.magnitude <= 200.0
    d = np.random.default_rng(0).dirichlet(np.ones(12))
    exact = in_high_precision(many, d, np.zeros(12))[0]
    assert abs(many.value(d) - exact) <= 1e-14  # the terms themselves are of size 1


def test_the_magnitude_without_the_simplex_does_not_grow_with_the_logarithm_of_the_examples() -> None:
    F = LogarithmicLoss.from_multiplicities(np.full(10, 1e8), 1.0)
    assert 2e9 * np.log(2.0) <= F.magnitude <= 2e9
    rng, eps = np.random.default_rng(1), float(np.finfo(np.float64).eps)
    d, y = F.upper * rng.uniform(size=10), rng.normal(size=10)
    value, conjugate, _ = in_high_precision(F, d, y)
    assert abs(F.value(d) - value) <= 2.0 * eps * F.magnitude
    assert abs(F.conjugate_terms(y).sum() - conjugate) <= 2.0 * eps * (F.magnitude + F.mass * np.abs(y).max())
