"""The functions of atoms: minorants lie below, bounds hold, and steps change slopes as they say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from boostopt._utils.array_types import Array
from boostopt.problem_certificates.arithmetic.balls import ball, balls, midpoints, weighted_sum, working_precision
from boostopt.problem_certificates.atoms.base import Bounds, Function, Tangents
from boostopt.problem_certificates.atoms.eigenvalue_sums import SumOfLargestEigenvalues, VonNeumannEntropy
from boostopt.problem_certificates.atoms.largest_entries import Extreme, SumOfLargest
from boostopt.problem_certificates.atoms.matrix_functions import LogDeterminant, MatrixFraction, TraceOfInverse
from boostopt.problem_certificates.atoms.matrix_norms import LargestEigenvalue, NuclearNorm, SpectralNorm
from boostopt.problem_certificates.atoms.multivariate_smooth import (
    GeometricMean,
    LogSumExp,
    PowerMean,
    QuadraticForm,
    QuadraticOverLinear,
    RelativeEntropy,
)
from boostopt.problem_certificates.atoms.norms import MaximumNorm, PNorm, SumNorm
from boostopt.problem_certificates.atoms.perspectives import Perspective
from boostopt.problem_certificates.atoms.univariate_smooth import (
    Entropy,
    Exponential,
    HuberLoss,
    Logarithm,
    LogisticLoss,
    ProductWithExponential,
    RealPower,
    ShiftedLogarithm,
)

Sampler = Callable[[np.random.Generator], Array]


@dataclass(frozen=True)
class Case:
    """A function, and random points of its domain."""

    function: Function
    sample: Sampler


def reals(k: int) -> Sampler:
    return lambda rng: rng.normal(size=k) * 10.0 ** rng.integers(-3, 2)


def positive(k: int) -> Sampler:
    return lambda rng: rng.exponential(size=k) * 10.0 ** rng.integers(-3, 2) + 1e-9


def small(k: int) -> Sampler:
    return lambda rng: 1e-3 * rng.normal(size=k)


def symmetric_points(n: int) -> Sampler:
    def sample(rng: np.random.Generator) -> Array:
        X = rng.normal(size=(n, n))
        return (X + X.T).ravel()

    return sample


def definite(n: int) -> Sampler:
    def sample(rng: np.random.Generator) -> Array:
        X = rng.normal(size=(n, n))
        return (X @ X.T + 0.01 * np.eye(n)).ravel()

    return sample


def concatenation(*samplers: Sampler) -> Sampler:
    return lambda rng: np.concatenate([sample(rng) for sample in samplers])


def semidefinite_of_low_rank() -> QuadraticForm:
    F = np.random.default_rng(3).normal(size=(4, 2))
    return QuadraticForm(balls(F @ F.T))


def cases() -> dict[str, Case]:
    definite_P = definite(3)(np.random.default_rng(2))
    return {
        "exp": Case(Exponential(), reals(1)),
        "xexp": Case(ProductWithExponential(), lambda rng: rng.exponential(size=1) - 1.0),
        "log": Case(Logarithm(), positive(1)),
        "log1p": Case(ShiftedLogarithm(), lambda rng: rng.exponential(size=1) - 0.99),
        "entr": Case(Entropy(), positive(1)),
        "logistic": Case(LogisticLoss(), reals(1)),
        "huber": Case(HuberLoss(ball(0.7)), reals(1)),
        "square": Case(RealPower(2), reals(1)),
        "power 4": Case(RealPower(4), reals(1)),
        "power 3": Case(RealPower(3), positive(1)),
        "power 1.7": Case(RealPower(1.7), positive(1)),
        "sqrt": Case(RealPower(0.5), positive(1)),
        "inv_pos": Case(RealPower(-1), positive(1)),
        "abs": Case(SumNorm(), reals(1)),
        "norm1": Case(SumNorm(), reals(4)),
        "norm2": Case(PNorm(2), reals(4)),
        "norm 1.3": Case(PNorm(1.3), reals(4)),
        "norm 5": Case(PNorm(5), reals(3)),
        "norm_inf": Case(MaximumNorm(), reals(4)),
        "max": Case(Extreme(1), reals(4)),
        "min": Case(Extreme(-1), reals(4)),
        "sum_largest 2": Case(SumOfLargest(2), reals(5)),
        "sum_largest 2.5": Case(SumOfLargest(2.5), reals(5)),
        "sum_largest 0.4": Case(SumOfLargest(0.4), reals(4)),
        "sum_largest all": Case(SumOfLargest(4), reals(4)),
        "rel_entr": Case(RelativeEntropy(False), positive(2)),
        "kl_div": Case(RelativeEntropy(True), positive(2)),
        "log_sum_exp": Case(LogSumExp(), reals(4)),
        "quad_over_lin": Case(QuadraticOverLinear(), concatenation(reals(3), positive(1))),
        "quad_form": Case(QuadraticForm(balls(definite_P)), reals(3)),
        "quad_form concave": Case(QuadraticForm(balls(-definite_P)), reals(3)),
        "quad_form of low rank": Case(semidefinite_of_low_rank(), reals(4)),
        "quad_form indefinite": Case(QuadraticForm(balls(np.diag([1.0, 0.5, -0.9]))), reals(3)),
        "geo_mean": Case(GeometricMean([ball(0.25), ball(0.5), ball(0.25)]), positive(3)),
        "harmonic_mean": Case(PowerMean(-1), positive(3)),
        "pnorm 0.5": Case(PowerMean(0.5), positive(3)),
        "lambda_max": Case(LargestEigenvalue(3), symmetric_points(3)),
        "sigma_max": Case(SpectralNorm((2, 3)), reals(6)),
        "lambda_sum_largest 1": Case(SumOfLargestEigenvalues(3, 1), symmetric_points(3)),
        "lambda_sum_largest 2": Case(SumOfLargestEigenvalues(4, 2), symmetric_points(4)),
        "lambda_sum_largest 2.5": Case(SumOfLargestEigenvalues(4, 2.5), symmetric_points(4)),
        "lambda_sum_largest 0.4": Case(SumOfLargestEigenvalues(3, 0.4), symmetric_points(3)),
        "lambda_sum_largest all": Case(SumOfLargestEigenvalues(3, 3), symmetric_points(3)),
        "von_neumann_entr": Case(VonNeumannEntropy(3), definite(3)),
        "perspective of exp": Case(Perspective(Exponential()), concatenation(small(1), positive(1))),
        "perspective of xexp": Case(
            Perspective(ProductWithExponential()), lambda rng: positive(1)(rng) * np.array([-rng.random(), 1.0])
        ),
        "perspective of von_neumann_entr": Case(
            Perspective(VonNeumannEntropy(2)), concatenation(definite(2), positive(1))
        ),
        "perspective of log": Case(Perspective(Logarithm()), positive(2)),
        "perspective of square": Case(Perspective(RealPower(2)), concatenation(reals(1), positive(1))),
        "perspective of abs": Case(Perspective(SumNorm()), concatenation(reals(1), positive(1))),
        "perspective of log_sum_exp": Case(Perspective(LogSumExp()), concatenation(small(3), positive(1))),
        "perspective of quad_form": Case(
            Perspective(QuadraticForm(balls(definite_P))), concatenation(reals(3), positive(1))
        ),
        "perspective of log_det": Case(Perspective(LogDeterminant(2)), concatenation(definite(2), positive(1))),
        "normNuc": Case(NuclearNorm((3, 2)), reals(6)),
        "log_det": Case(LogDeterminant(3), definite(3)),
        "tr_inv": Case(TraceOfInverse(3), definite(3)),
        "matrix_frac": Case(MatrixFraction(3, 2), concatenation(reals(6), definite(3))),
    }


CASES = cases()
NAMES = pytest.mark.parametrize("name", CASES)
SEEDS = pytest.mark.parametrize("seed", range(8))


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with working_precision():
        yield


def random_tangents(case: Case, rng: np.random.Generator) -> list[Tangents]:
    """Tangents at a point, with and without required signs, after a random step, and with nonsense as parameters."""
    u = case.sample(rng)[None, :]
    free = np.zeros_like(u)
    first = case.function.tangents(u, free, 10.0 ** rng.integers(-8, -1))
    weights = np.array([10.0 ** rng.integers(-3, 4)])
    count = case.function.directions(first, weights).shape[2]
    following = case.function.step(first, weights, rng.normal(size=(1, count)) * 10.0 ** rng.integers(-3, 3))
    nonsense = first.with_parameters(rng.normal(size=first.parameters.shape) * 10.0 ** rng.integers(-2, 3))
    signs = case.function.tangents(u, rng.integers(-1, 2, size=u.shape).astype(float), 1e-5)
    return [first, following, nonsense, signs]


def box_around(u: Array, rng: np.random.Generator) -> list[Bounds]:
    """Bounds that contain a point, some of them infinite."""
    low = np.where(rng.random(len(u)) < 0.3, -np.inf, u - rng.exponential(size=len(u)) * rng.integers(0, 2))
    high = np.where(rng.random(len(u)) < 0.3, np.inf, u + rng.exponential(size=len(u)) * rng.integers(0, 2))
    return list(zip(low.tolist(), high.tolist(), strict=True))


@pytest.mark.every(2, 1)
@NAMES
@SEEDS
def test_minorants_are_nowhere_above(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng([seed, list(CASES).index(name)])
    for tangents in random_tangents(case, rng):
        points = [case.sample(rng) for _ in range(6)]
        values = [case.function.value(balls(u)) for u in points]
        bounds = [(float(min(column)), float(max(column))) for column in zip(*points, strict=True)]
        slopes, offset = case.function.minorant(tangents, 0, bounds)
        for u, value in zip(points, values, strict=True):
            assert value.is_finite()
            difference = case.function.sign * (value - weighted_sum(slopes, balls(u)) - offset)
            # A proof needs finite numbers; what is not finite proves nothing.
            assert not difference.is_finite() or not difference < 0


ASYMPTOTIC = {
    **dict.fromkeys(("exp", "inv_pos"), lambda u, a: -np.abs(a)),
    **dict.fromkeys(("log", "log1p", "sqrt"), lambda u, a: np.abs(a)),
    "quad_form of low rank": lambda u, a: np.zeros(4),
    "log_det": lambda u, a: (a.reshape(3, 3) @ a.reshape(3, 3).T).ravel(),
    "tr_inv": lambda u, a: (a.reshape(3, 3) @ a.reshape(3, 3).T).ravel(),
}
"""Changes of arguments, made from random numbers, of functions that have slopes along some changes alone."""

WITHOUT_ASYMPTOTIC_SLOPE = {"xexp", "entr", "square", "power 4", "power 3", "power 1.7", "von_neumann_entr"}
"""Functions without one along any change."""


@NAMES
@SEEDS
def test_asymptotic_slopes_bound_all_changes(name: str, seed: int) -> None:
    """f(u + t a) is at most f(u) + t s for a convex f, at least that for a concave one, and lies in the domain."""
    case, rng = CASES[name], np.random.default_rng([seed, list(CASES).index(name), 7])
    f = case.function
    for _ in range(6):
        u = case.sample(rng)
        a = rng.normal(size=len(u)) * 10.0 ** rng.integers(-3, 3)
        changes = [a, np.abs(a), -np.abs(a), case.sample(rng), np.zeros(len(u)), a * (rng.random(len(u)) < 0.5)]
        changes += [ASYMPTOTIC[name](u, a)] if name in ASYMPTOTIC else []
        for change in changes:
            slope = f.asymptotic_slope(balls(change))
            if not slope.is_finite():
                continue
            assert name not in WITHOUT_ASYMPTOTIC_SLOPE or not change.any()
            for t in (1e-3, 1.0, 1e4):
                end = [x + ball(t) * y for x, y in zip(balls(u), balls(change), strict=True)]
                difference = f.sign * (f.value(end) - f.value(balls(u)) - ball(t) * slope)
                assert difference.is_finite() and not difference > 0
            if slope == 0 and f.grows((change > 0).tolist(), balls(change)):
                end = [x + ball(1e300) * ball(1e300) * y for x, y in zip(balls(u), balls(change), strict=True)]
                assert f.value(end) > f.value(balls(u)) + 100


@pytest.mark.parametrize(
    ("name", "change", "slope"),
    [
        ("exp", [-2.0], 0.0),
        ("exp", [1e-300], None),
        ("log", [3.0], 0.0),
        ("log", [-1e-300], None),
        ("logistic", [3.0], 3.0),
        ("logistic", [-3.0], 0.0),
        ("huber", [-2.0], 2.8),
        ("sqrt", [2.0], 0.0),
        ("inv_pos", [2.0], 0.0),
        ("square", [0.0], 0.0),
        ("square", [1e-300], None),
        ("log_sum_exp", [1.0, -2.0, 0.5, 0.0], 1.0),
        ("rel_entr", [0.0, 2.0], 0.0),
        ("kl_div", [0.0, 2.0], 2.0),
        ("rel_entr", [1.0, 0.0], None),
        ("quad_over_lin", [0.0, 0.0, 0.0, 1.0], 0.0),
        ("quad_form", [0.0, 0.0, 1e-300], None),
        ("norm2", [3.0, 4.0, 0.0, 0.0], 5.0),
        ("geo_mean", [4.0, 1.0, 4.0], 2.0),
        ("geo_mean", [4.0, -1e-300, 4.0], None),
    ],
)
def test_asymptotic_slopes_are_the_recession_functions(name: str, change: list[float], slope: float | None) -> None:
    result = CASES[name].function.asymptotic_slope(balls(np.array(change)))
    assert result.is_finite() == (slope is not None)
    assert slope is None or float(result.mid()) == pytest.approx(slope, rel=1e-12, abs=0)


@NAMES
@SEEDS
def test_what_is_nondecreasing_increases_with_each_argument(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng([seed, list(CASES).index(name), 8])
    u = case.sample(rng)
    ends = [
        u + np.abs(rng.normal(size=len(u))) * 10.0 ** rng.integers(-3, 2) * mask for mask in (1, rng.random(len(u)))
    ]
    pairs = [(case.function.value(balls(u)), case.function.value(balls(end))) for end in ends]
    if case.function.is_nondecreasing:
        assert all(value.is_finite() and not value < first for first, value in pairs)


WITHOUT_FAMILY = (
    "quad_form indefinite",
    "quad_form of low rank",
    "sum_largest all",
    "lambda_sum_largest all",
)
"""Functions whose minorants have no slopes that can be chosen."""


@pytest.mark.every(2)
@NAMES
@SEEDS
def test_families_of_minorants_are_nowhere_above(name: str, seed: int) -> None:
    """Small changes of slopes in all directions are proved; large ones are proved or refused, never wrongly proved."""
    case, rng = CASES[name], np.random.default_rng([seed, list(CASES).index(name), 4])
    for count, tangents in enumerate(random_tangents(case, rng)):
        k = len(case.sample(rng))
        is_constant = [[False] * k, [*([False] * (k - 1)), True]][int(rng.integers(0, 2))]
        family = case.function.minorant_family(tangents, 0, ball(1e-6), is_constant)
        if family is None or not all(slope.is_finite() for slope in family.slopes):
            assert name in WITHOUT_FAMILY or count == 2  # nonsense has no slopes
            continue
        assert name not in WITHOUT_FAMILY
        for size in (0.0, 1e-13, 1e-3, 1.0):
            y = balls(size * rng.normal(size=len(family.directions)) * np.array(family.sizes))
            changed = list(family.slopes)
            for column, change in zip(family.directions, y, strict=True):
                for i, coefficient in column:
                    changed[i] = changed[i] + coefficient * change
            slopes, offset = family.complete(changed, y)
            assert all(
                first is second or flag for first, second, flag in zip(slopes, changed, is_constant, strict=True)
            )
            assert offset.is_finite() or size >= 1e-3 or count >= 2
            if not offset.is_finite():
                continue
            for _ in range(6):
                u = case.sample(rng)
                difference = case.function.sign * (
                    case.function.value(balls(u)) - weighted_sum(slopes, balls(u)) - offset
                )
                assert not difference < 0


@NAMES
def test_families_of_minorants_nearly_touch_at_their_point(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng([5, list(CASES).index(name)])
    if name in WITHOUT_FAMILY:
        return
    u = case.sample(rng)
    tangents = case.function.tangents(u[None, :], np.zeros((1, len(u))), 1e-9)
    family = case.function.minorant_family(tangents, 0, ball(1e-12), [False] * len(u))
    assert family is not None
    slopes, offset = family.complete(family.slopes, balls(np.zeros(len(family.directions))))
    value = float(case.function.value(balls(u)).mid())
    size = max(1.0, abs(value), float(np.abs(midpoints(slopes) * u).sum()))
    assert float((weighted_sum(slopes, balls(u)) + offset).mid()) == pytest.approx(value, abs=1e-6 * size)


@pytest.mark.every(2)
@NAMES
@SEEDS
def test_minorants_touch_at_their_point_and_have_the_slopes_that_are_proposed(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng([seed, list(CASES).index(name), 1])
    u = case.sample(rng)
    tangents = case.function.tangents(u[None, :], np.zeros((1, len(u))), 1e-9)
    slopes, offset = case.function.minorant(tangents, 0, [(float(entry), float(entry)) for entry in u])
    assert midpoints(slopes) == pytest.approx(case.function.slopes(tangents)[0], rel=1e-6, abs=1e-9)
    value = float(case.function.value(balls(u)).mid())
    size = max(1.0, abs(value), float(np.abs(midpoints(slopes) * u).sum()))
    if name != "quad_form indefinite":
        assert float((weighted_sum(slopes, balls(u)) + offset).mid()) == pytest.approx(value, abs=1e-6 * size)


@NAMES
def test_the_map_of_directions_multiplies_by_their_matrices(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng([list(CASES).index(name), 7])
    first, following, _, signs = random_tangents(case, rng)
    for tangents in (first, following, signs):
        weights = rng.exponential(size=1)
        with np.errstate(all="ignore"):  # a step may lead far away
            directions = np.nan_to_num(case.function.directions(tangents, weights), posinf=0.0, neginf=0.0)
            product = case.function.direction_map(tangents, weights)
        m, k, r = directions.shape
        y, Z = rng.normal(size=(m, r)), rng.normal(size=(m, k, 3))
        # In a projection large entries cancel: what is left is as exact as they are.
        entries = getattr(product, "_scales", directions)
        size = 1e-13 * max(float(np.abs(entries).max(initial=0.0)), 1e-300) * k
        assert product.size == r
        assert product.multiply(y) == pytest.approx(np.einsum("mkr,mr->mk", directions, y), abs=10 * size)
        expected = np.einsum("mkr,mkq->mrq", directions, Z)
        assert product.multiply_transpose(Z) == pytest.approx(expected, abs=10 * size)


@pytest.mark.every(2)
@NAMES
@SEEDS
def test_directions_are_the_changes_of_slopes(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng([seed, list(CASES).index(name), 2])
    u = case.sample(rng)
    tangents = case.function.tangents(u[None, :], np.zeros((1, len(u))), 0.5)
    weights = np.array([2.0])
    directions = case.function.directions(tangents, weights)[0]
    y = 1e-6 * rng.normal(size=(1, directions.shape[1])) / max(1.0, float(np.abs(directions).max(initial=0.0)))
    y = y if directions.size else np.zeros((1, 0))
    stepped = case.function.step(tangents, weights, y)
    change = (case.function.slopes(stepped) - case.function.slopes(tangents))[0]
    size = max(1e-12, float(np.abs(directions).max(initial=0.0)) * float(np.abs(y).max(initial=0.0)))
    expected = directions @ y[0]
    # At the boundary of a set of slopes, steps that leave it are cut.
    inner = case.function.function if isinstance(case.function, Perspective) else case.function
    is_cut = isinstance(inner, SumNorm | PNorm | MaximumNorm | SumOfLargest | NuclearNorm | HuberLoss | Extreme)
    if not is_cut:
        noise = 1e-9 * float(np.abs(case.function.slopes(tangents)).max())
        assert change == pytest.approx(expected, abs=1e-2 * size + noise)
    else:
        assert np.abs(change).max(initial=0.0) <= 10 * np.abs(expected).max(initial=0.0) + 1e-6


@pytest.mark.every(2, 1)
@NAMES
@SEEDS
def test_bounds_contain_values_and_arguments(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng([seed, list(CASES).index(name), 3])
    for _ in range(5):
        u = case.sample(rng)
        bounds = box_around(u, rng)
        value = case.function.value(balls(u))
        low, high = case.function.output_bounds(bounds)
        assert not value < ball(low) if math.isfinite(low) else True
        assert not value > ball(high) if math.isfinite(high) else True
        output = (float(value.lower()) - 1e-12, float(value.upper()) + rng.exponential() * rng.integers(0, 2) + 1e-12)
        if rng.random() < 0.3:
            output = (-math.inf, output[1])
        if rng.random() < 0.3:
            output = (output[0], math.inf)
        for entry, (first, second) in zip(u.tolist(), case.function.argument_bounds(output, bounds), strict=True):
            assert first <= entry <= second


@NAMES
def test_balls_of_values_contain_the_values_at_their_points(name: str) -> None:
    import flint

    case, rng = CASES[name], np.random.default_rng(5)
    for _ in range(5):
        u = case.sample(rng)
        radius = 1e-9 * float(np.abs(u).min())
        wide = case.function.value([flint.arb(value, radius) for value in u.tolist()])
        for _ in range(4):
            inner = case.function.value(balls(u + radius * rng.uniform(-0.9, 0.9, size=len(u))))
            assert not wide.is_finite() or wide.overlaps(inner)


@SEEDS
def test_tangents_of_xexp_are_below_it_where_it_is_not_convex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    function = ProductWithExponential()
    for v in (*rng.normal(size=4), -1.0, -1.5):
        tangents = function.tangents(np.array([[v]]), np.zeros((1, 1)), 1e-5)
        for choice in (tangents, tangents.with_parameters(np.array([[v]]))):
            slopes, offset = function.minorant(choice, 0, [(-math.inf, math.inf)])
            for u in (-rng.exponential(size=20) * 10).tolist():
                difference = function.value([ball(u)]) - slopes[0] * ball(u) - offset
                assert not difference.is_finite() or not difference < 0


def test_values_at_the_ends_of_domains() -> None:
    zero, one = ball(0.0), ball(1.0)
    assert Entropy().value([zero]) == 0
    assert RelativeEntropy(False).value([zero, one]) == 0
    assert RelativeEntropy(True).value([zero, one]) == 1
    for function, point in (
        (Logarithm(), [zero]),
        (Entropy(), [ball(-1e-30)]),
        (RealPower(-1), [zero]),
        (RealPower(0.5), [ball(-1e-30)]),
        (QuadraticOverLinear(), [one, zero]),
        (RelativeEntropy(False), [one, zero]),
        (LogDeterminant(1), [zero]),
        (TraceOfInverse(1), [ball(-1.0)]),
    ):
        assert not function.value(point).is_finite()


def test_values_are_those_of_other_libraries() -> None:
    scipy_special: Any = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(9)
    root = rng.normal(size=(3, 3))
    X = root @ root.T + np.eye(3)
    for function, u, expected in (
        (RelativeEntropy(True), np.array([0.3, 0.7]), scipy_special.kl_div(0.3, 0.7)),
        (LogSumExp(), np.array([1.0, 2.0, 700.0]), scipy_special.logsumexp([1.0, 2.0, 700.0])),
        (HuberLoss(ball(1.0)), np.array([3.0]), 2 * scipy_special.huber(1.0, 3.0)),
        (LogDeterminant(3), X.ravel(), np.linalg.slogdet(X)[1]),
        (TraceOfInverse(3), X.ravel(), np.trace(np.linalg.inv(X))),
        (NuclearNorm((3, 3)), X.ravel(), np.linalg.norm(X, "nuc")),
        (SpectralNorm((3, 3)), X.ravel(), np.linalg.norm(X, 2)),
        (LargestEigenvalue(3), X.ravel(), np.linalg.eigvalsh(X)[-1]),
        (PNorm(1.3), np.array([1.0, -2.0]), np.linalg.norm([1.0, -2.0], 1.3)),
        (SumOfLargest(1.5), np.array([3.0, 1.0, 2.0]), 4.0),
    ):
        assert float(function.value(balls(u)).mid()) == pytest.approx(expected, rel=1e-12)
