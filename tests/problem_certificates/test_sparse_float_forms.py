"""Sparse floats with error bounds contain what exact fractions give, whatever the data; so certificates are true."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import cvxpy
import numpy as np
import pytest
import scipy.sparse
from convex_problems import PROBLEMS, reference_value
from test_certified_problems import assert_true, duals, solve
from test_exact_optima import cvxpy_problem, random_program
from test_problem_reader import EXPRESSIONS, P

from boostopt import certify_problem
from boostopt._utils.array_types import Array
from boostopt.problem_certificates import problem_reader
from boostopt.problem_certificates.arithmetic.balls import (
    ball,
    balls,
    enclosing_balls,
    enclosures,
    is_positive_semidefinite,
    working_precision,
)
from boostopt.problem_certificates.arithmetic.enclosed_sums import scattered_sums, sum_of_squares, total_ball
from boostopt.problem_certificates.arithmetic.sparse_float_forms import FloatForm, FloatRowBlock, product
from boostopt.problem_certificates.atoms.base import Tangents
from boostopt.problem_certificates.atoms.multivariate_smooth import QuadraticOverLinear, RelativeEntropy
from boostopt.problem_certificates.atoms.univariate_smooth import (
    Entropy,
    Exponential,
    Logarithm,
    LogisticLoss,
    RealPower,
)
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.bounds.bounds_from_rows import Box, FloatRowBounds
from boostopt.problem_certificates.minorants import stationary_multipliers
from boostopt.problem_certificates.minorants.lagrangian_minorant import WrongSign, affine_minorant, float_minorant
from boostopt.problem_certificates.problem_reader import read_problem

cp: Any = cvxpy

SEEDS = pytest.mark.parametrize(
    "seed", [seed if seed < 3 else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(60)]
)

HOSTILE = (0.0, 1.0, -1.0, 1 / 3, 1e300, -1e300, 1e-320, 5e-324, 2.0**53 + 2, 1e16, -1e16, 1e-160, 3e-162)


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    """Balls have the precision of certificates, as if `certify_problem` had been called."""
    with working_precision():
        yield


def hostile_numbers(rng: np.random.Generator, size: int, largest: float = math.inf) -> Array:
    """Return numbers of many sizes, some of which cancel."""
    values = rng.normal(size=size) * 10.0 ** rng.integers(-8, 9, size=size)
    is_hostile = rng.random(size) < 0.4
    values[is_hostile] = rng.choice([value for value in HOSTILE if abs(value) <= largest], size=is_hostile.sum())
    if size > 1 and rng.random() < 0.5:
        values[rng.integers(size)] = -values[rng.integers(size)] * (1 + 2.0**-52)
    return values


def hostile_matrix(rng: np.random.Generator, m: int, n: int, largest: float = math.inf) -> Any:
    """Return a sparse matrix of such numbers."""
    mask = rng.random((m, n)) < rng.choice([0.2, 0.6, 1.0])
    matrix = scipy.sparse.csr_array(mask.astype(float))
    matrix.data = hostile_numbers(rng, len(matrix.data), largest)
    return matrix


def exact_product(A: Array, x: Array, b: Array) -> list[Fraction]:
    """Return A x + b in fractions."""
    return [
        sum((Fraction(a) * Fraction(v) for a, v in zip(row, x.tolist(), strict=True)), Fraction(c))
        for row, c in zip(A.tolist(), b.tolist(), strict=True)
    ]


def is_inside(exact: Fraction, mid: float, radius: float) -> bool:
    """Return whether an exact number lies within a radius of a float."""
    assert not math.isnan(mid) and not math.isnan(radius)
    return radius == math.inf or abs(exact - Fraction(mid)) <= Fraction(radius)


@SEEDS
def test_products_contain_the_exact_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        m, n = int(rng.integers(1, 6)), int(rng.integers(1, 8))
        A = hostile_matrix(rng, m, n)
        R = abs(hostile_matrix(rng, m, n)) if rng.random() < 0.5 else None
        x, radii = hostile_numbers(rng, n), np.abs(hostile_numbers(rng, n)) * (rng.random() < 0.5)
        b, b_radii = hostile_numbers(rng, m), np.abs(hostile_numbers(rng, m)) * (rng.random() < 0.5)
        for order in (np.arange(m), rng.permutation(m)):
            rows, row_radii = A[order], None if R is None else R[order]
            mids, errors = product(rows, row_radii, (x, radii), (b[order], b_radii[order]))
            for side in (0.0, 1.0, -1.0):
                with np.errstate(over="ignore"):
                    matrix = rows.toarray()
                    offsets = [
                        Fraction(c) + Fraction(r) * int(side) for c, r in zip(b[order], b_radii[order], strict=True)
                    ]
                radius = np.zeros((m, n)) if row_radii is None else row_radii.toarray()
                for i, offset in enumerate(offsets):
                    exact = offset
                    for j in range(n):
                        entry = Fraction(matrix[i, j]) + int(side) * Fraction(radius[i, j])
                        exact += entry * (Fraction(x[j]) + int(side) * Fraction(radii[j]))
                    assert is_inside(exact, mids[i], errors[i])
        transposed, errors = product(A.T, None, (b, np.zeros(m)))
        exact = exact_product(A.toarray().T, b, np.zeros(n))
        assert all(is_inside(*entry) for entry in zip(exact, transposed, errors, strict=True))


def test_products_with_units_are_exact_and_infinite_ones_have_no_bound() -> None:
    A = scipy.sparse.csr_array(np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, 0], [1e200, 0, 0]]))
    x = np.array([1e200, 1 / 3, np.pi])
    mids, errors = product(A, None, (x, np.zeros(3)), (np.array([0.0, 0, 2.5, 0]), np.zeros(4)))
    assert mids[:3].tolist() == [1e200, -1 / 3, 2.5] and errors.tolist() == [0, 0, 0, math.inf]
    assert mids[3] == 0
    assert not enclosing_balls(mids, errors)[3].is_finite()
    stored_zero = scipy.sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    mids, errors = product(stored_zero, None, (np.zeros(2), np.array([math.inf, math.inf])))
    assert errors.tolist() == [math.inf, math.inf] and mids.tolist() == [0, 0]
    unknown = FloatForm.of_balls([ball(0.0).log(), ball(2.0)], (2,))
    for result in (unknown.multiplied(FloatForm.of_constants(np.zeros(2))), unknown.plus([unknown])):
        assert not result.offsets[0].is_finite() and result.offsets[1].is_finite()


def test_a_radius_is_never_smaller_as_a_ball() -> None:
    rng = np.random.default_rng(0)
    for radius in np.abs(hostile_numbers(rng, 200)).tolist():
        assert enclosing_balls(np.array([1.0]), np.array([radius]))[0].rad() >= ball(radius)


def test_entries_of_a_sparse_constant_that_occur_twice_are_summed() -> None:
    data, columns, pointers = np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])
    matrix = scipy.sparse.csr_array((data, columns, pointers), shape=(2, 2))
    x = FloatForm.of_unknowns(np.arange(2), (2, 1))
    rows = x.product_from_left(FloatForm.of_constants(matrix)).rows
    assert [{k: float(value) for k, value in row.items()} for row in rows] == [{1: 3.0}, {0: 3.0}]


def test_enclosures_of_balls_contain_them() -> None:
    values = [ball(0.1), ball(Fraction(1, 3)), ball(1e300) ** 2, ball(1e-300) ** 3, ball(0.0).log(), ball(2.0).sqrt()]
    mids, radii = enclosures(values)
    assert radii[0] == 0 and math.isinf(radii[2]) and math.isinf(radii[4]) and not np.isnan(mids).any()
    for value, enclosure in zip(values, enclosing_balls(mids, radii), strict=True):
        assert not enclosure.is_finite() or enclosure.contains(value)


@SEEDS
def test_sums_of_floats_with_radii_contain_the_exact_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mids, radii = hostile_numbers(rng, 20), np.abs(hostile_numbers(rng, 20)) * (rng.random() < 0.5)
    places = rng.integers(0, 12, size=20)
    sums, errors = scattered_sums(places, (mids, radii), 12)
    squares, square_errors = sum_of_squares(mids.reshape(4, 5))
    for side in (-1, 0, 1):
        ends = [
            Fraction(mid) + side * Fraction(radius) for mid, radius in zip(mids.tolist(), radii.tolist(), strict=True)
        ]
        total = total_ball((mids, radii))
        assert not total.is_finite() or total.contains(ball(sum(ends, Fraction(0))))
        for place in range(12):
            exact = sum((end for end, k in zip(ends, places.tolist(), strict=True) if k == place), Fraction(0))
            assert is_inside(exact, float(sums[place]), float(errors[place]))
    for row, square, error in zip(mids.reshape(4, 5).tolist(), squares.tolist(), square_errors.tolist(), strict=True):
        assert is_inside(sum((Fraction(entry) ** 2 for entry in row), Fraction(0)), square, error)
    assert errors[np.bincount(places, minlength=12) == 0].max(initial=0.0) == 0


def test_a_negative_multiplier_has_no_minorant_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_reader, "MAX_BALLS", -1)
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, cp.sum_squares(x) <= 1])
    solve(problem)
    read = read_problem(problem)
    point = read.point_of_values()
    assert point is not None and read.is_large
    choice = stationary_multipliers.initial_choice(read, stationary_multipliers.float_point(read, point), 1e-5)
    negative = replace(choice, inequality=-np.ones(len(choice.inequality)))
    assert len(negative.inequality) and float_minorant(read, choice, Propagation(read)) is not None
    assert float_minorant(read, negative, Propagation(read)) is None


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name", [name if k % 3 == 0 else pytest.param(name, marks=pytest.mark.thorough) for k, name in enumerate(PROBLEMS)]
)
def test_minorants_in_floats_contain_those_in_balls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same multipliers and tangents, right and wrong ones: both contain the exact minorant, and prove one bound."""
    monkeypatch.setattr(problem_reader, "MAX_BALLS", -1)
    problem, rng = PROBLEMS[name](), np.random.default_rng(len(name))
    solve(problem)
    read = read_problem(problem)
    x, bounds = read.point_of_values(), Propagation(read)
    assert x is not None and read.is_large
    for size in (0.0, 1e-6, 0.3):
        point = stationary_multipliers.float_point(read, x + size * rng.normal(size=x.shape))
        choice = stationary_multipliers.initial_choice(read, point, 1e-5)
        noise = rng.normal(size=len(choice.equality))
        choice = replace(choice, equality=choice.equality + size * noise, level=size)
        try:
            exact = affine_minorant(read, choice, bounds)
        except WrongSign:
            assert float_minorant(read, choice, bounds) is None
            continue
        minorant = float_minorant(read, choice, bounds)
        if minorant is None:  # floats prove no sign of a multiplier that is 0 up to rounding
            is_known = exact.offset.is_finite() and all(mu.is_exact() for _, mu in exact.groups.values())
            assert size > 0 or not is_known
            continue
        scale = 1 + float(np.abs(minorant.slopes[0]).max())
        for ours, reference in zip(enclosing_balls(*minorant.slopes), exact.slopes, strict=True):
            assert ours.overlaps(reference) and float(ours.rad()) <= 1e-11 * scale
        assert minorant.offset.overlaps(exact.offset) and minorant.multiplier_size.overlaps(exact.multiplier_size)
        assert float(minorant.offset.rad()) <= 1e-11 * (1 + abs(float(minorant.offset.mid())))


@pytest.mark.parametrize(
    "function",
    [
        RelativeEntropy(False),
        RelativeEntropy(True),
        Entropy(),
        Exponential(),
        Logarithm(),
        LogisticLoss(),
        RealPower(Fraction(3, 2)),
        QuadraticOverLinear(),
    ],
    ids=lambda function: type(function).__name__,
)
def test_tangents_of_any_parameters_have_minorants_in_floats_that_contain_those_in_balls(function: Any) -> None:
    rng = np.random.default_rng(3)
    parameters = hostile_numbers(rng, 240)[:, None]  # also of points outside the domain
    if isinstance(function, QuadraticOverLinear):
        parameters = parameters.reshape(60, 4)
    zeros = np.zeros((len(parameters), 0))
    groups = np.flatnonzero(rng.random(len(parameters)) < 0.8)
    enclosed = function.enclosed_minorants(Tangents(parameters, zeros, zeros), groups)
    assert enclosed is not None
    (mids, radii), offsets = enclosed
    count = 0
    for row, i in enumerate(groups.tolist()):
        gradient, offset = function.minorant(Tangents(parameters, zeros, zeros), i, [])
        pairs = [*zip(enclosing_balls(mids[row], radii[row]), gradient, strict=True)]
        pairs += [(enclosing_balls(*(side[row : row + 1] for side in offsets))[0], offset)]
        for ours, exact in pairs:
            assert not ours.is_finite() or ours.overlaps(exact)
        is_finite = all(ours.is_finite() for ours, _ in pairs)
        # A minorant that is none has no finite slopes and offset.
        assert not is_finite or all(exact.is_finite() for _, exact in pairs)
        count += is_finite
    assert count > len(groups) / 5


@pytest.mark.every(2)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_rows_in_floats_contain_those_in_balls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, X, S = cp.Variable(4), cp.Variable((3, 4)), cp.Variable((3, 3), symmetric=True)
    expression = EXPRESSIONS[name](x, X, S) / 3
    problem = cp.Problem(cp.Minimize(cp.sum(x) * 0.1), [expression <= 1, cp.sum(x) + cp.sum(X) == cp.trace(P @ S)])
    exact = read_problem(problem)
    monkeypatch.setattr(problem_reader, "MAX_BALLS", -1)
    read = read_problem(problem)
    assert read.is_large and not exact.is_large and read.n_values == exact.n_values
    first_blocks, blocks = (
        [item.objective, item.inequalities.rows, item.equalities.rows, *(node.arguments for node in item.nodes)]
        for item in (exact, read)
    )
    for first, second in zip(first_blocks, blocks, strict=True):
        assert isinstance(second, FloatRowBlock) and len(first) == len(second)
        for i in range(len(first)):
            row, in_floats = first.rows[i], second.rows[i]
            for k in {*row, *in_floats}:
                entry = in_floats.get(k, ball(0.0))
                assert entry.contains(row.get(k, ball(0.0))) and float(entry.rad()) <= 1e-13 * (
                    1 + abs(float(entry.mid()))
                )
            assert second.offsets[i].contains(first.offsets[i])
    for first, second in zip(exact.nodes, read.nodes, strict=True):
        assert (first.orientations == second.orientations).all()


@SEEDS
def test_forms_contain_sums_and_products_of_hostile_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 4
    F, first, second = (hostile_matrix(rng, *shape, 1e140) for shape in ((3, n), (n, n), (n, n)))
    c, factor = hostile_numbers(rng, n, 1e140), hostile_numbers(rng, n, 1e140)
    unknowns = FloatForm.of_unknowns(np.arange(n), (n,))
    x = unknowns.reshaped((n, 1)).product_from_left(FloatForm.of_constants(first)).reshaped((n,))
    y = unknowns.reshaped((n, 1)).product_from_left(FloatForm.of_constants(second)).reshaped((n,))
    total = x.plus([y, FloatForm.of_constants(c)]).multiplied(FloatForm.of_constants(factor)).reshaped((n, 1))
    result = total.product_from_left(FloatForm.of_constants(F.toarray()))
    dense = [
        [Fraction(a) + Fraction(b) for a, b in zip(*rows, strict=True)]
        for rows in zip(first.toarray(), second.toarray(), strict=True)
    ]
    rows, offsets = result.rows, result.offsets
    for i in range(3):
        weights = [Fraction(a) * Fraction(f) for a, f in zip(F.toarray()[i], factor, strict=True)]
        for k in range(n):
            exact = sum((weight * dense[j][k] for j, weight in enumerate(weights)), Fraction(0))
            entry = rows[i].get(k, ball(0.0))
            assert not entry.is_finite() or entry.contains(ball(exact))
        constant = sum((weight * Fraction(v) for weight, v in zip(weights, c, strict=True)), Fraction(0))
        assert not offsets[i].is_finite() or offsets[i].contains(ball(constant))


@SEEDS
def test_bounds_in_floats_keep_every_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        m, n = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        A, b, z = hostile_matrix(rng, m, n, 1e140), hostile_numbers(rng, m, 1e140), hostile_numbers(rng, n, 1e140)
        R = abs(hostile_matrix(rng, m, n, 1e-3)) if rng.random() < 0.4 else None
        form = FloatForm((m,), A, R, (b, np.zeros(m)))
        rows, signs = FloatRowBounds(FloatRowBlock(form, n), []), rng.choice([-1.0, 0.0, 1.0])
        entries = A.toarray()
        values = []
        for i in range(m):
            radius = np.zeros(n) if R is None else R.toarray()[i]
            values.append(
                sum(
                    (
                        (Fraction(a) + Fraction(signs) * Fraction(r)) * Fraction(v)
                        for a, r, v in zip(entries[i], radius, z, strict=True)
                    ),
                    Fraction(b[i]),
                )
            )
        low, high = (
            [math.nextafter(float(value), side) if rng.random() < 0.7 else side for value in values]
            for side in (-math.inf, math.inf)
        )
        rows.bounds = list(zip(low, high, strict=True))
        lower = np.where(rng.random(n) < 0.6, z - np.abs(z) * rng.choice([0.0, 0.1]), -np.inf)
        upper = np.where(rng.random(n) < 0.6, z + np.abs(z) * rng.choice([0.0, 0.1]), np.inf)
        box = Box(lower, upper)
        for _ in range(3):
            rows.use(box)
            assert (box.lower <= z).all() and (z <= box.upper).all() and not box.is_empty
            rows.improve(box)
            assert all(
                Fraction(first) <= value if math.isfinite(first) else first < 0
                for (first, _), value in zip(rows.bounds, values, strict=True)
            )
            assert all(
                Fraction(last) >= value if math.isfinite(last) else last > 0
                for (_, last), value in zip(rows.bounds, values, strict=True)
            )


@pytest.mark.parametrize(("limit", "exact"), [(1.0, 1.0 / 0.875), (-1.0, -1.0 / 1.125)])
def test_a_coefficient_with_a_radius_bounds_by_its_worse_end(limit: float, exact: float) -> None:
    # (1 +- 1/8) x <= limit: x is largest with the coefficient 7/8 if the limit is positive, with 9/8 if it is negative.
    form = FloatForm((1,), scipy.sparse.csr_array([[1.0]]), scipy.sparse.csr_array([[0.125]]), None)
    box = Box(np.array([-np.inf]), np.array([np.inf]))
    FloatRowBounds(FloatRowBlock(form, 1), [(-math.inf, limit)]).use(box)
    assert exact <= box.upper[0] <= exact + 1e-12


def test_bounds_in_floats_are_as_tight_as_those_in_balls() -> None:
    block = FloatRowBlock(FloatForm((2,), scipy.sparse.csr_array([[2.0, -4.0], [1.0, 1.0]]), None, None), 2)
    box = Box(np.array([0.0, -np.inf]), np.array([np.inf, 3.0]))
    rows = FloatRowBounds(block, [(-math.inf, 8.0), (1.0, math.inf)])
    assert rows.use(box)
    assert box.upper == pytest.approx([10, 3], abs=1e-13) and box.lower == pytest.approx([0, -2], abs=1e-13)
    rows.bounds = [(-math.inf, math.inf)] * 2
    rows.improve(box)
    assert np.array(rows.bounds) == pytest.approx(np.array([[-12, 28], [-2, 13]]), abs=1e-12)
    assert FloatRowBounds(
        FloatRowBlock(FloatForm.of_constants(np.array([1.0, 2.0])), 2), [(0, 1), (3, 4)]
    ).is_violated()
    assert not FloatRowBounds(FloatRowBlock(FloatForm.of_constants(np.array([1.0])), 2), [(1, 1)]).is_violated()


@SEEDS
def test_matrices_that_floats_prove_definite_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 25
    B = rng.integers(-3, 4, size=(n, int(rng.integers(10, 30)))).astype(float)
    scale = 2.0 ** rng.integers(-200, 200)
    gram = B @ B.T  # exact: whole numbers
    assert is_positive_semidefinite(balls((gram + np.eye(n)) * scale), n)
    assert not is_positive_semidefinite(balls((gram - (np.linalg.eigvalsh(gram)[0] + 1e-3) * np.eye(n)) * scale), n)
    for exponent in range(-60, -20, 3):
        shift = float(np.linalg.eigvalsh(gram)[0]) + 2.0**exponent * float(np.trace(gram))
        X = gram - shift * np.eye(n)
        v = np.round(np.linalg.eigh(X)[1][:, 0] * 2.0**30)
        product = exact_product(X, v, np.zeros(n))
        if sum(Fraction(a) * b for a, b in zip(v.tolist(), product, strict=True)) < 0:
            assert not is_positive_semidefinite(balls(X * scale), n)
    uncertain = balls(gram + np.eye(n))
    uncertain[0] = ball(float(gram[0, 0] + 1)).union(ball(-1.0))
    assert not is_positive_semidefinite(uncertain, n)
    assert not is_positive_semidefinite(balls(np.full((n, n), 1e-300)), n)
    with_zeros = np.zeros((n, n))
    with_zeros[:5, :5] = 2 * np.eye(5)
    assert is_positive_semidefinite(balls(with_zeros), n)
    with_zeros[7, 8] = 1e-300
    assert not is_positive_semidefinite(balls(with_zeros), n)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name", [name if k % 6 == 0 else pytest.param(name, marks=pytest.mark.thorough) for k, name in enumerate(PROBLEMS)]
)
def test_certificates_in_floats_are_narrow_and_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_reader, "MAX_BALLS", -1)
    problem, rng = PROBLEMS[name](), np.random.default_rng(len(name))
    reference = reference_value(problem)
    solve(problem)
    certificate = certify_problem(problem)
    assert_true(certificate, reference)
    assert certificate.scaled_gap <= 1e-6
    for dual in duals(problem):
        dual.save_value(-np.array(dual.value) * rng.choice([1, 1000]) + rng.normal(size=np.shape(dual.value)))
    assert_true(certify_problem(problem), reference)


@pytest.mark.parametrize(
    "seed", [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(30)]
)
def test_exact_optima_lie_inside_certificates_in_floats(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_reader, "MAX_BALLS", -1)
    rng = np.random.default_rng(1000 + seed)
    for _ in range(3):
        program = random_program(rng)
        optimum, problem = program.optimum(), cvxpy_problem(program, rng)
        certificate = certify_problem(problem)
        if optimum is None:
            assert certificate.status in ("infeasible", "open") and certificate.point is None
            continue
        is_minimized = isinstance(problem.objective, cp.Minimize)
        ends = (certificate.lower, certificate.upper) if is_minimized else (-certificate.upper, -certificate.lower)
        assert certificate.status in ("bounded", "open")
        assert ends[0] == -math.inf or Fraction(ends[0]) <= optimum
        assert ends[1] == math.inf or Fraction(ends[1]) >= optimum


def test_the_distance_of_a_point_from_feasible_ones_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The equations a x = 1 and b x = 1 + 3e-9 for nearly equal quotients a and b have one solution."""
    x, side, last = cp.Variable(2), 1 + 3e-9, 1 + 1e-9
    rows = [cp.sum(x) / 3 == 1, cp.sum(cp.multiply(np.array([1.0, last]), x)) / 7 == side]
    problem = cp.Problem(cp.Minimize(cp.sum(x)), rows)
    second = (7 * Fraction(side) - 3) / (Fraction(last) - 1)
    solution = [3 - second, second]
    x.value = np.array(solution, dtype=float)
    for is_large in (False, True):
        monkeypatch.setattr(problem_reader, "MAX_BALLS", -1 if is_large else 4000)
        certificate = certify_problem(problem)
        assert certificate.point is not None
        distances = [
            float(abs(Fraction(value) - exact) / abs(exact))
            for value, exact in zip(certificate.point[x].tolist(), solution, strict=True)
        ]
        assert max(distances) <= (1e-5 if is_large else 1e-15)
        assert is_large == any("a feasible point lies within" in reason for reason in certificate.reasons)
        if is_large:
            assert max(distances) <= float(certificate.reasons[0].split()[5]) <= 1e-5


@pytest.mark.parametrize("max_dense", [0, 10**9])
@pytest.mark.parametrize("name", ["lasso", "markowitz", "transport", "maximum cut", "l1 logistic", "svm with slacks"])
def test_steps_of_large_problems_are_as_good(name: str, max_dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps by normal equations, and iterated ones."""
    monkeypatch.setattr(problem_reader, "MAX_BALLS", -1)
    monkeypatch.setattr(stationary_multipliers, "MAX_DECOMPOSED", 0)
    monkeypatch.setattr(stationary_multipliers, "MAX_DENSE", max_dense)
    problem = PROBLEMS[name]()
    solve(problem)
    assert certify_problem(problem).scaled_gap <= 1e-6


def test_a_sparse_problem_needs_no_dense_matrix_and_no_second_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    m, n = 3000, 1500
    rng = np.random.default_rng(0)
    columns = (np.arange(m)[:, None] // 2 + rng.integers(0, 8, (m, 3))) % n
    A = scipy.sparse.csr_array((rng.normal(size=3 * m), columns.ravel(), np.arange(0, 3 * m + 1, 3)), shape=(m, n))
    A.sum_duplicates()
    x = cp.Variable(n)
    problem = cp.Problem(
        cp.Minimize(rng.normal(size=n) @ x), [A @ x <= A @ rng.random(n) + rng.random(m), x >= 0, x <= 1]
    )
    solve(problem)
    monkeypatch.setattr(type(problem), "solve", lambda *arguments, **options: pytest.fail("a second solve"))
    certificate = certify_problem(problem)
    assert certificate.status == "bounded" and certificate.scaled_gap <= 1e-6
