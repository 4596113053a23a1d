"""Hundreds of slopes without a bound are made exactly 0. The optima are known, and lies prove nothing above them."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
import scipy.sparse
from convex_problems import cp

from boostopt import ProblemCertificate, certify_problem, verify
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import SparseSystem
from boostopt.problem_certificates.arithmetic.sparse_float_forms import FloatForm
from boostopt.problem_certificates.minorants.sparse_slope_corrections import _combinations  # pyright: ignore[reportPrivateUsage]

LIES = ("none", "negated", "noise", "small noise", "neighbour", "opposite", "stale", "zero", "another order")


def free_linear_program(n: int, seed: int) -> tuple[Any, Fraction]:
    """A sparse linear program in free unknowns with whole multipliers, and its optimum."""
    rng = np.random.default_rng(seed)
    m = 2 * n
    places = (np.arange(m)[:, None] // 2 + rng.integers(0, 8, (m, 5))) % n
    places[:, 0] = np.arange(m) // 2
    values = rng.integers(1, 9, (m, 5)) * rng.choice([-1.0, 1.0], (m, 5))
    values[:, 0] = 50.0  # the first n of the pairs of rows are independent
    entries = (values.ravel(), (np.repeat(np.arange(m), 5), places.ravel()))
    A = scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(m, n)))
    multipliers = np.where(np.arange(m) % 2 == 0, rng.integers(1, 4, m), 0).astype(float)
    solution = rng.integers(-3, 4, n).astype(float)
    b = A @ solution + np.where(multipliers > 0, 0.0, rng.integers(1, 4, m))
    x, cost = cp.Variable(n), -(A.T @ multipliers)
    return cp.Problem(cp.Minimize(cost @ x), [A @ x <= b]), Fraction(float(cost @ solution))


def potentials_of_a_tree(n: int, seed: int) -> tuple[Any, Any]:
    """Losses of differences of potentials along a tree, whose level sets are unbounded, and the sum of their minima."""
    rng = np.random.default_rng(seed)
    parents = np.array([int(rng.integers(max(0, i - 5), i)) for i in range(1, n)])
    k = n - 1
    places = np.stack([np.arange(1, n), parents], axis=1).ravel()
    D = scipy.sparse.csr_array(
        scipy.sparse.coo_array((np.tile([1.0, -1.0], k), (np.repeat(np.arange(k), 2), places)), shape=(k, n))
    )
    w = rng.integers(100, 900, k) / 1024
    x = cp.Variable(n)
    with mpmath.workdps(60):
        weights = [mpmath.mpf(value) for value in w.tolist()]
        optimum = -mpmath.fsum(p * mpmath.log(p) + (1 - p) * mpmath.log(1 - p) for p in weights)
    return cp.Problem(cp.Minimize(cp.sum(cp.logistic(D @ x)) - (w @ D) @ x)), optimum


MAKERS = {"linear": free_linear_program, "potentials": potentials_of_a_tree}


def certify(problem: Any) -> ProblemCertificate:
    with warnings.catch_warnings(action="ignore"):
        return certify_problem(problem)


def contains(certificate: ProblemCertificate, optimum: Any) -> bool:
    """Return whether the interval contains the optimum: exactly a fraction, and up to 1e-50 a sum of logarithms."""
    if isinstance(optimum, Fraction):
        low = certificate.lower == -math.inf or Fraction(certificate.lower) <= optimum
        return low and (certificate.upper == math.inf or optimum <= Fraction(certificate.upper))
    with mpmath.workdps(60):
        tol = mpmath.mpf("1e-50")
        return bool(certificate.lower <= optimum + tol and optimum - tol <= certificate.upper)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("n", [120, *(pytest.param(n, marks=pytest.mark.thorough) for n in (450, 2000))])
def test_problems_without_a_box_have_narrow_intervals(kind: str, n: int) -> None:
    problem, optimum = MAKERS[kind](n, 0)
    problem.solve("CLARABEL")
    certificate = certify(problem)
    assert contains(certificate, optimum)
    assert certificate.status == "bounded"
    assert certificate.scaled_gap <= 1e-6


@pytest.mark.thorough_cases("200-linear")
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("n", [200, pytest.param(1000, marks=pytest.mark.thorough)])
def test_hundreds_of_free_unknowns_travel_in_a_file(kind: str, n: int, tmp_path: Path) -> None:
    """The file of the linear program has the exact optimum, at a vertex; the other one about the ends of the solver."""
    problem, optimum = MAKERS[kind](n, 0)
    problem.solve("CLARABEL")
    certificate = certify(problem)
    certificate.save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json")
    assert verification
    if isinstance(optimum, Fraction):
        assert verification.lower == verification.upper == optimum
    else:
        assert verification.lower >= certificate.lower - 1e-9 * abs(certificate.lower)
        assert verification.upper <= certificate.upper + 1e-9 * abs(certificate.upper)
        assert contains(replace(certificate, lower=verification.lower, upper=verification.upper), optimum)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.thorough
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("seed", range(2))
def test_lies_about_them_prove_nothing_false(kind: str, lie: str, seed: int) -> None:
    problem, optimum = MAKERS[kind](130, seed)
    problem.solve("CLARABEL")
    tell(problem, lie, kind, seed)
    assert contains(certify(problem), optimum)


def tell(problem: Any, lie: str, kind: str, seed: int) -> None:
    """Replace values and duals by wrong ones."""
    rng = np.random.default_rng(seed)
    (x,), duals = problem.variables(), [constraint.dual_variables[0] for constraint in problem.constraints]
    value, multipliers = x.value, [dual.value for dual in duals]
    if lie == "negated":
        value, multipliers = -value, [-part for part in multipliers]
    elif "noise" in lie:
        size = 1e-7 if lie == "small noise" else 1.0
        value = value + size * rng.normal(size=value.shape)
        multipliers = [part + size * rng.normal(size=part.shape) for part in multipliers]
    elif lie in ("neighbour", "stale"):
        neighbour, _ = MAKERS[kind](130, seed + 50)
        neighbour.solve("CLARABEL")
        value = neighbour.variables()[0].value
        if lie == "neighbour":
            multipliers = [constraint.dual_variables[0].value for constraint in neighbour.constraints]
    elif lie == "opposite":
        box = [x >= value - 1, x <= value + 1]
        opposite = cp.Problem(cp.Minimize(-problem.objective.args[0]) if kind == "linear" else problem.objective, box)
        opposite.solve("CLARABEL")
        value, multipliers = x.value, [-part for part in multipliers]
    elif lie == "zero":
        value, multipliers = 0 * value, [0 * part for part in multipliers]
    elif lie == "another order":
        value, multipliers = value[::-1].copy(), [part[::-1].copy() for part in multipliers]
    x.save_value(value)
    for dual, part in zip(duals, multipliers, strict=True):
        dual.save_value(part)


@pytest.mark.parametrize("excess", [1, -1])
@pytest.mark.parametrize("n", [pytest.param(n, marks=pytest.mark.thorough) for n in (120, 450)])
def test_a_sum_that_is_not_0_has_no_lower_bound(n: int, excess: int) -> None:
    """All slopes depend on each other as in a bounded neighbour, but for one entry of the objective."""
    problem, _ = potentials_of_a_tree(n, 1)
    problem.solve("CLARABEL")
    (x,) = problem.variables()
    tilted = cp.Problem(cp.Minimize(problem.objective.args[0] + excess * 2.0**-40 * x[n // 2]))
    certificate = certify(tilted)
    assert certificate.lower == -math.inf


def test_the_smallest_eigenvalue_counts_the_radii() -> None:
    rng = np.random.default_rng(0)
    for is_dense in (False, True):
        m, n = (110, 150) if is_dense else (20, 60)
        entries = np.where(rng.random((m, n)) < (1.0 if is_dense else 0.3), rng.random((m, n)), 0.0)
        A = scipy.sparse.csr_array(entries)
        for scale in (1e-6, 1e-3, 1.0):
            radius = A.copy()
            radius.data = scale * np.abs(radius.data)
            system = SparseSystem(A, np.ones(n), radius, is_rough=not is_dense)
            for sign in (-1.0, 1.0):
                changed_matrix = A.copy()
                changed_matrix.data = changed_matrix.data * (1 + sign * scale * rng.random(len(changed_matrix.data)))
                B = np.diag(system.row_scales) @ changed_matrix.toarray() @ np.diag(system.scales)
                smallest = float(np.linalg.svd(B, compute_uv=False)[-1]) ** 2
                assert system.sigma <= smallest * (1 + 1e-9) + 1e-13
            assert scale > 1e-5 or system.sigma > 0


def test_radii_of_combinations_belong_to_their_columns() -> None:
    with working_precision():
        unknowns = FloatForm.of_unknowns(np.arange(5), (5,))
        form = _combinations(unknowns, [[(3, flint.arb(1, 1e-3)), (1, flint.arb(2))]])
    np.testing.assert_array_equal(form.matrix.toarray()[0, :4], [0, 2, 0, 1])
    radius = form.radius.toarray()[0]
    assert radius[1] < 1e-12 and 1e-3 <= radius[3] < 1.1e-3


def test_sums_of_weights_at_one_place_lie_within_their_radius() -> None:
    with working_precision():
        unknowns = FloatForm.of_unknowns(np.arange(5), (5,))
        form = _combinations(unknowns, [[(0, flint.arb(1) / 10_000)] * 10_000, [(2, flint.arb(3)), (2, flint.arb(-3))]])
    radius = np.zeros((2, 5)) if form.radius is None else form.radius.toarray()
    assert abs(Fraction(float(form.matrix.toarray()[0, 0])) - 1) <= Fraction(float(radius[0, 0]))
    assert form.matrix.toarray()[1, 2] == 0.0
