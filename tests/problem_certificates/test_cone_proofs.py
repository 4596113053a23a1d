"""Intervals of conic programs from their sparse data: known optima, exact optima, and answers that lie."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.speeds import many

from boostopt import ConicProgram, OptionError, ProblemError, certify_problem, exact_optimum, explain_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.conic_programs.exact import basis_refinement
from boostopt.conic_programs.exact import exact_optimum as exact_optimum_module
from boostopt.conic_programs.exact.highs_simplex import EquationProgram, SimplexBasis
from boostopt.conic_programs.exact.work_limit import TooMuchWorkError, work_limit
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.cone_proofs import cone_form_interval, conic_program_proof
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ActiveBounds, ConicAnswer, solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, cone_form
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormCertifier, FormInterval
from boostopt.problem_certificates.cone_proofs.cone_membership import is_semidefinite, smallest_eigenvalue_bound
from boostopt.problem_certificates.cone_proofs.conic_kkt_residuals import program_conditions
from boostopt.problem_certificates.cone_proofs.dual_bound import MultiplierChange, dual_bound, multipliers_of
from boostopt.problem_certificates.cone_proofs.exact_interval import exact_interval, near_interval
from boostopt.problem_certificates.cone_proofs.primal_bound import PointFailure, ProvedPoint, proved_point
from boostopt.problem_certificates.cone_proofs.semidefiniteness_proofs import semidefinite_shifts
from boostopt.problem_certificates.problem_explanation import explain_program

INF = np.inf


def program(c: Any, A: Any, row_lower: Any, row_upper: Any, lower: Any, upper: Any, **options: Any) -> ConicProgram:
    """Return a program of arrays of numbers."""
    c, row_lower, row_upper, lower, upper = (
        np.asarray(values, dtype=float) for values in (c, row_lower, row_upper, lower, upper)
    )
    matrix = scipy.sparse.csc_array(np.asarray(A, dtype=float).reshape(len(row_lower), len(c)))
    return ConicProgram(matrix, c, row_lower, row_upper, lower, upper, **options)


def random_linear_program(seed: int) -> ConicProgram:
    """Return a linear program with equations, rows and bounds of all kinds, in small whole numbers."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 6)), int(rng.integers(2, 9))
    A = rng.integers(-3, 4, (m, n)).astype(float)
    x = rng.integers(0, 4, n).astype(float)
    slack = rng.integers(0, 3, m) * rng.integers(0, 2, m)
    row_upper = A @ x + slack
    row_lower = np.where(slack == 0, row_upper, np.where(rng.random(m) < 0.5, -INF, row_upper - slack - 1))
    lower = np.where(rng.random(n) < 0.8, 0.0, -INF)
    upper = np.where(rng.random(n) < 0.3, 5.0, INF)
    return program(rng.integers(-2, 6, n), A, row_lower, row_upper, lower, upper)


def interval_of(form: ConeForm, answer: ConicAnswer | None = None) -> FormInterval:
    with working_precision(), np.errstate(all="ignore"):
        return FormCertifier(form, 1e-8).run(answer)


@pytest.mark.parametrize("seed", range(40))
def test_intervals_of_linear_programs_contain_the_exact_optimum(seed: int) -> None:
    lp = random_linear_program(seed)
    certificate, exact = certify_problem(lp), exact_optimum(lp)
    if exact.status == "optimal":
        assert exact.value is not None
        assert certificate.lower <= exact.value <= certificate.upper
        assert not certificate.is_decided
        assert certificate.scaled_gap <= 1e-8
    else:
        assert certificate.status == exact.status


@pytest.mark.thorough
def test_linear_programs_are_certified_closely() -> None:
    count, narrow = 0, 0
    for seed in range(40):
        lp = random_linear_program(seed)
        if exact_optimum(lp).status == "optimal":
            count += 1
            narrow += certify_problem(lp).scaled_gap <= 1e-6
    assert narrow >= 0.9 * count, (narrow, count)


def quadratic_program() -> ConicProgram:
    """Return problem 76 of Hock and Schittkowski, whose optimum is -4.681818..."""
    P = np.array([[2.0, 0, -1, 0], [0, 1, 0, 0], [-1, 0, 2, 1], [0, 0, 1, 1]])
    rows = [[1, 2, 1, 1], [3, 1, 2, -1], [0, 1, 4, 0]]
    return program(
        [-1, -3, 1, -1], rows, [-INF, -INF, 1.5], [5, 4, INF], np.zeros(4), np.full(4, INF), P=scipy.sparse.csc_array(P)
    )


def test_a_quadratic_program_is_certified_at_its_known_optimum() -> None:
    certificate = certify_problem(quadratic_program())
    assert certificate.lower <= -103 / 22 <= certificate.upper
    assert certificate.scaled_gap <= 1e-7
    assert certificate.status == "bounded"
    assert certificate.point is not None
    assert (np.asarray(certificate.point["x"]) >= 0).all()


def test_a_quadratic_form_that_is_not_convex_is_said_to_be_so() -> None:
    P = scipy.sparse.csc_array(np.array([[1.0, 0.0], [0.0, -1e-3]]))
    boxed = program([0, 0], [[1, 1]], [1], [1], [-1, -1], [3, 3], P=P)
    certificate = certify_problem(boxed)
    grid = np.linspace(-1, 2, 3001)
    values = (grid**2 - 1e-3 * (1 - grid) ** 2) / 2
    assert certificate.lower <= values.min() + 1e-9
    assert math.isfinite(certificate.lower)
    assert any("not to be convex" in reason for reason in certificate.reasons)
    free = replace(boxed, lower=np.full(2, -INF), upper=np.full(2, INF))
    assert certify_problem(free).lower == -INF


def test_infeasible_and_unbounded_programs_are_proved() -> None:
    infeasible = program([1, 1], [[1, 1], [1, -1]], [3, 0], [INF, 0], [0, 0], [1, 1])
    assert certify_problem(infeasible).status == "infeasible"
    assert certify_problem(replace(infeasible, is_maximized=True)).lower == -INF
    unbounded = program([-1, 0], [[1, -1]], [0], [0], [0, 0], [INF, INF])
    assert certify_problem(unbounded).status == "unbounded"
    crossed = program([1], [[1]], [-INF], [INF], [2], [1])
    assert certify_problem(crossed).status == "infeasible"


def test_dependent_equations_are_used_only_if_they_are_consistent() -> None:
    rows = [[1, 1, 0], [0, 1, 1], [1, 2, 1]]
    consistent = program([1, 2, 3], rows, [1, 1, 2], [1, 1, 2], np.zeros(3), np.full(3, INF))
    certificate = certify_problem(consistent)
    assert certificate.lower <= 2 <= certificate.upper
    assert certificate.scaled_gap <= 1e-6
    sides = [1, 1, 2 + 2e-16 * 2]
    changed = replace(consistent, row_lower=np.array(sides), row_upper=np.array(sides))
    assert certify_problem(changed).status == "infeasible"
    curved = replace(changed, P=scipy.sparse.eye_array(3, format="csc"))
    assert certify_problem(curved).status == "infeasible"
    assert certify_problem(replace(consistent, P=curved.P)).status == "bounded"


def test_exact_optima_are_rounded_outward() -> None:
    third = program([1], [[3]], [1], [1], [-INF], [INF])
    for is_maximized, optimum in ((False, Fraction(1, 3)), (True, -Fraction(1, 3))):
        interval = exact_interval(replace(third, is_maximized=is_maximized), INF, has_point=False)
        assert Fraction(interval.lower) < Fraction(1, 3) < Fraction(interval.upper)
        assert np.nextafter(interval.lower, INF) == interval.upper
        assert interval.x is not None
        assert abs(Fraction(float(interval.x[0][0])) - Fraction(1, 3)) <= Fraction(float(interval.x[1][0]))
        certificate = certify_problem(replace(third, is_maximized=is_maximized))
        assert certificate.lower < optimum < certificate.upper
    whole = exact_interval(program([1], [[3]], [6], [6], [0], [INF]), INF, has_point=True)
    assert whole.lower == whole.upper == 2
    assert whole.x is not None
    assert whole.x[1].tolist() == [0.0]


def test_an_exact_optimum_that_is_no_float_has_an_infinite_end() -> None:
    huge = exact_interval(program([1e200], [[1e-200]], [1], [INF], [-INF], [INF]), INF, has_point=False)
    assert (huge.lower, huge.upper) == (np.finfo(float).max, INF)
    negative = exact_interval(program([-1e200], [[1e-200]], [-INF], [1], [-INF], [INF]), INF, has_point=False)
    assert (negative.lower, negative.upper) == (-INF, -np.finfo(float).max)


def test_exact_optima_that_need_too_many_digits_leave_the_interval_to_other_proofs() -> None:
    lp = random_linear_program(0)
    interval = exact_interval(lp, 0, has_point=False)
    assert (interval.lower, interval.upper, interval.status, interval.x) == (-INF, INF, "", None)
    assert "fewer digits" in interval.exact_reason
    with work_limit(0), pytest.raises(TooMuchWorkError, match="Call exact_optimum"):
        exact_optimum(lp)
    assert exact_optimum(lp).is_proved()


def test_a_quadratic_program_has_an_exact_point_where_its_optimum_needs_too_many_digits() -> None:
    whole = exact_interval(quadratic_program(), INF, has_point=False)
    assert whole.lower <= -103 / 22 <= whole.upper
    upper = min(
        (exact_interval(quadratic_program(), digits, has_point=False) for digits in (1, 10, 100, 1000)),
        key=lambda interval: interval.lower,
    )
    assert upper.lower == -INF
    assert upper.upper >= -103 / 22


SMALL_PROGRAMS = {
    "a degenerate vertex": (
        program([-1, -1], [[1, 0], [0, 1], [1, 1], [1, -1]], [-INF] * 4, [1, 1, 2, 0], [0, 0], [INF, INF]),
        "bounded",
        Fraction(-2),
    ),
    "a third": (program([1], [[3]], [1], [INF], [-INF], [INF]), "bounded", Fraction(1, 3)),
    "equations that follow from others": (
        program([1, 1], [[1, 2], [2, 4], [3, 6]], [1, 2, 3], [1, 2, 3], [0, 0], [INF, INF]),
        "bounded",
        Fraction(1, 2),
    ),
    "a contradiction of the size of a last digit": (
        program([1], [[1], [1]], [1 + 2.0**-52, -INF], [INF, 1], [-INF], [INF]),
        "infeasible",
        None,
    ),
    "a ray": (program([-1, 0], [[1, -1]], [-INF], [1], [0, 0], [INF, INF]), "unbounded", None),
    "a ray that is nearly flat": (program([-1e-9, 0], [[1, -1]], [-INF], [1], [0, 0], [INF, INF]), "unbounded", None),
    "no rows": (program([2, -1], [], [], [], [1, 0], [INF, 3]), "bounded", Fraction(-1)),
    "a fixed variable": (program([1, 1], [[1, 1]], [3], [INF], [1, -INF], [1, INF]), "bounded", Fraction(3)),
    "no costs": (program([0, 0], [[1, 1]], [1], [1], [0, 0], [INF, INF]), "bounded", Fraction(0)),
}


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_bases_of_small_linear_programs_decide_them(name: str) -> None:
    lp, status, value = SMALL_PROGRAMS[name]
    certificate = certify_problem(lp)
    assert certificate.status == status
    if value is not None:
        assert certificate.lower <= value <= certificate.upper
        assert certificate.upper - certificate.lower <= 4e-16 * max(1, abs(value))


def test_a_program_without_variables_has_the_value_of_its_offset() -> None:
    certificate = certify_problem(program([], [], [], [], [], [], offset=0.1))
    assert certificate.lower <= 0.1 <= certificate.upper
    assert certificate.upper - certificate.lower <= 4e-17


@pytest.mark.parametrize("seed", range(15))
def test_false_bases_never_exclude_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that calls bases by chance optimal, or infeasible by a ray by chance, changes nothing but the time."""
    lp = random_linear_program(seed)
    exact, rng = exact_optimum(lp), np.random.default_rng(seed)

    def basis_by_chance(equations: EquationProgram, basis: Any = None, **options: Any) -> SimplexBasis:
        m, n = equations.A.shape
        basic = np.sort(rng.permutation(n + m)[:m]).tolist()
        at_upper = frozenset(np.flatnonzero(rng.random(n) < 0.3).tolist()) - {*basic}
        ray = rng.choice([-1.0, 0.0, 1.0, np.nan], m, p=[0.3, 0.3, 0.3, 0.1]) if rng.random() < 0.5 else None
        return SimplexBasis(tuple(basic), at_upper, ray is None, ray)

    monkeypatch.setattr(exact_optimum_module, "solve_by_simplex", basis_by_chance)
    monkeypatch.setattr(basis_refinement, "solve_by_simplex", basis_by_chance)
    for _ in range(4):
        certificate = certify_problem(lp)
        assert certificate.status in ("bounded", "open", exact.status)
        if exact.value is not None:
            assert certificate.lower <= exact.value <= certificate.upper


def random_curved_program(seed: int) -> ConicProgram:
    """Return a random program whose objective has a diagonal, a dominant, a dense or a singular curvature."""
    rng, lp = np.random.default_rng(seed), random_linear_program(seed)
    n = lp.shape[1]
    B = rng.integers(-2, 3, (n, n)).astype(float)
    diagonal, dense = np.diag(rng.integers(0, 4, n).astype(float)), B.T @ B + np.eye(n)
    dominant = np.triu(B, 1) + np.triu(B, 1).T
    dominant = dominant + np.diag(np.abs(dominant).sum(axis=1) + rng.integers(0, 2, n))
    P = (diagonal, dominant, dense, B[:1].T @ B[:1])[seed % 4]
    return replace(lp, P=scipy.sparse.csc_array(P))


@pytest.mark.parametrize("seed", range(16))
def test_curved_lower_bounds_are_below_the_exact_optimum_for_multipliers_of_any_origin(seed: int) -> None:
    qp = random_curved_program(seed)
    exact, form = exact_optimum(qp), cone_form(qp)
    shifts, is_nonconvex = semidefinite_shifts(form.P, np.isfinite(form.lower) & np.isfinite(form.upper))
    assert not is_nonconvex
    if exact.value is None:
        return
    certificate = certify_problem(qp)
    assert certificate.lower <= exact.value <= certificate.upper
    assert certificate.scaled_gap <= 1e-8
    for lie in [solve_form(form), *lies(form, seed)]:
        point = multipliers_of(lie)
        for is_snapped, power in ((False, 0.5), (False, 1.0), (True, 0.5)):
            with np.errstate(all="ignore"):
                bound = dual_bound(form, point, MultiplierChange(power, is_snapped=is_snapped), shifts)
            assert bound.lower <= exact.value


@pytest.mark.parametrize("seed", range(16))
def test_shifts_by_curvature_leave_the_quadratic_form_semidefinite(seed: int) -> None:
    P = random_curved_program(seed).P
    shifts, _ = semidefinite_shifts(scipy.sparse.csr_array(P), np.ones(P.shape[0], dtype=bool))
    assert np.isfinite(shifts).all()
    n, dense = P.shape[0], P.toarray()
    rows = [[Fraction(dense[i, j]) + (Fraction(shifts[i]) if i == j else 0) for j in range(n)] for i in range(n)]
    for k in range(n):  # elimination in fractions: no pivot is negative, and a pivot of 0 has a row of zeros
        pivot = rows[k][k]
        assert pivot >= 0
        assert pivot > 0 or not any(rows[k][k:])
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot if pivot else Fraction(0)
            rows[i] = [value - factor * pivot for value, pivot in zip(rows[i], rows[k], strict=True)]


def sparse_curvature(kind: str) -> tuple[Any, float]:
    """Return a sparse matrix of 300 rows in two blocks of other scales, and its smallest eigenvalue, or a bound."""
    n = 150
    ends = scipy.sparse.csr_array(np.eye(n - 1, n) - np.eye(n - 1, n, 1))
    chain = (ends.T @ ends) * 3.0  # (1, ..., 1) has the value 0, and no row is strictly dominant
    twice = (chain @ chain).tolil()
    if kind == "definite":
        twice.setdiag(twice.diagonal() + 1.0)
    elif kind == "negative":
        twice[0, 0] -= 1.0
    matrix = scipy.sparse.csr_array(scipy.sparse.block_diag([twice.tocsr(), 2.0**20 * twice.tocsr()], format="csr"))
    return matrix, float(np.linalg.eigvalsh(matrix.toarray())[0])


@pytest.mark.parametrize("is_bounded", [True, False])
@pytest.mark.parametrize("kind", ["singular", "definite", "negative"])
def test_shifts_of_sparse_matrices_are_small_and_leave_them_semidefinite(kind: str, is_bounded: bool) -> None:
    P, smallest = sparse_curvature(kind)
    shifts, is_nonconvex = semidefinite_shifts(P, np.full(P.shape[0], is_bounded))
    assert is_nonconvex == (kind == "negative")
    if kind == "definite":
        assert not shifts.any()
    elif kind == "negative":
        assert shifts.max() >= -smallest
    else:
        assert shifts.max() == 0 if not is_bounded else 0 < shifts[:150].max() < 1e-10
        assert np.linalg.eigvalsh(P.toarray() + np.diag(1e3 * shifts)).min() > -1e-7


def rough_flags(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list to which each solve of a certifier adds whether it is rough."""
    flags = list[bool]()

    def solve(form: ConeForm, is_second: bool = False, rows: Any = None, is_rough: bool = False) -> ConicAnswer:
        flags.append(is_rough)
        return solve_form(form, is_second, rows, is_rough)

    monkeypatch.setattr(cone_form_interval, "solve_form", solve)
    return flags


def test_a_rough_answer_is_enough_where_it_proves_a_narrow_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimum of min (x^2 + y^2) / 2 - 2 x over x + y = 1, x, y >= 0 is -3/2, at (1, 0)."""
    flags = rough_flags(monkeypatch)
    qp = program([-2, 0], [[1, 1]], [1], [1], [0, 0], [INF, INF], P=scipy.sparse.eye_array(2, format="csc"))
    certificate = certify_problem(qp)
    assert certificate.lower <= -1.5 <= certificate.upper
    assert certificate.scaled_gap <= 1e-9
    assert flags == [True]


def test_a_fine_answer_follows_a_rough_one_that_proves_a_wide_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = rough_flags(monkeypatch)
    qp = program([-2, 0], [[1, 1]], [1], [1], [0, 0], [INF, INF], P=scipy.sparse.eye_array(2, format="csc"))
    certificate = certify_problem(qp, goal=1e-16)
    assert certificate.lower <= -1.5 <= certificate.upper
    assert flags[:2] == [True, False]
    flags.clear()
    FormCertifier(cone_form(replace(qp, P=None)), 1e-8).run()
    assert True not in flags  # linear programs have no rough answers


@pytest.mark.parametrize("seed", range(12))
def test_tangents_at_points_of_any_origin_prove_true_ends(seed: int) -> None:
    qp = random_curved_program(seed)
    exact, form = exact_optimum(qp), cone_form(qp)
    n_points = n_bounds = 0
    for lie in [solve_form(form), *lies(form, seed)]:
        interval = near_interval(qp, INF, lie, has_point=False, has_bound=False)
        assert not interval.status
        if exact.value is not None:
            assert interval.lower <= exact.value <= interval.upper
            n_points, n_bounds = n_points + (interval.upper < INF), n_bounds + (interval.lower > -INF)
        elif exact.status == "infeasible":
            assert interval.x is None
        bound = near_interval(qp, INF, lie, has_point=True, has_bound=False)
        assert exact.value is None or bound.lower <= exact.value
        assert bound.x is None
    assert exact.value is None or (n_points and n_bounds)


def test_tangents_of_an_objective_with_the_least_negative_curvature_prove_no_lower_end() -> None:
    """The matrix of 1, 1 and 1 - 2^-53 has the determinant -2^-53: the objective falls along (1, -1)."""
    P = scipy.sparse.csc_array(np.array([[1.0, 1.0], [1.0, 1 - 2.0**-53]]))
    qp = program([0, 0], [[1, 0], [0, 1]], [-2, -2], [2, 2], [-INF, -INF], [INF, INF], P=P)
    interval = near_interval(qp, INF, solve_form(cone_form(qp)), has_point=False, has_bound=False)
    assert interval.lower == -INF
    flat = replace(qp, P=scipy.sparse.csc_array(np.ones((2, 2))))
    assert near_interval(flat, INF, solve_form(cone_form(flat)), has_point=False, has_bound=False).lower > -1e-6


def test_tangents_that_need_too_many_digits_leave_both_ends_open() -> None:
    qp = quadratic_program()
    interval = near_interval(qp, 0, solve_form(cone_form(qp)), has_point=False, has_bound=False)
    assert (interval.lower, interval.upper, interval.x) == (-INF, INF, None)


def test_false_active_bounds_never_exclude_the_optimum() -> None:
    qp = quadratic_program()
    answer, rng = solve_form(cone_form(qp)), np.random.default_rng(0)
    for _ in range(8):
        flags = [rng.random(count) < 0.4 for count in (4, 4, 3, 3)]
        interval = exact_interval(qp, INF, True, replace(answer, active=ActiveBounds(*flags)))
        assert interval.lower <= -103 / 22 <= interval.upper


def lies(form: ConeForm, seed: int) -> list[ConicAnswer]:
    """Return answers that are wrong in the ways of real mistakes: other problems, signs, rows, scales and noise."""
    rng = np.random.default_rng(seed)
    answer = solve_form(form)
    opposite = solve_form(replace(form, c=-form.c))

    def changed(map_: Any) -> ConicAnswer:
        return ConicAnswer(map_(answer.x), map_(answer.y), map_(answer.rows), [map_(z) for z in answer.cones], "Solved")

    def noise(size: float) -> Any:
        return lambda values: values + size * rng.normal(size=len(values))

    return [
        opposite,
        replace(opposite, y=-opposite.y, rows=-opposite.rows, cones=[-z for z in opposite.cones]),
        replace(answer, x=opposite.x),
        changed(lambda values: -values),
        changed(lambda values: 2 * values),
        changed(lambda values: values[::-1].copy()),
        changed(lambda values: np.roll(values, 1)),
        changed(np.zeros_like),
        changed(noise(1e-6)),
        changed(noise(1e-2)),
        changed(noise(10.0)),
        changed(lambda values: 1e9 * values),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_answers_that_lie_never_exclude_the_exact_optimum(seed: int) -> None:
    lp = random_linear_program(seed)
    exact, form = exact_optimum(lp), cone_form(lp)
    for lie in lies(form, seed):
        interval = interval_of(form, lie)
        assert interval.status in ("", exact.status)
        if exact.status == "optimal":
            assert exact.value is not None
            assert interval.lower <= exact.value <= interval.upper


def test_lies_about_a_quadratic_program_never_exclude_its_optimum() -> None:
    form = cone_form(quadratic_program())
    for lie in list(lies(form, 0))[:: many(1, 2)]:
        interval = interval_of(form, lie)
        assert interval.lower <= -103 / 22 <= interval.upper
        assert not interval.status


def disk_program() -> ConicProgram:
    """Return max x + y over the unit disk, whose optimum is sqrt 2."""
    disk = ConeConstraint("second_order", scipy.sparse.csr_array(np.array([[0.0, 0], [1, 0], [0, 1]])), np.eye(3)[0])
    free = np.full(2, INF)
    return ConicProgram(scipy.sparse.csc_array((0, 2)), -np.ones(2), free[:0], free[:0], -free, free, cones=(disk,))


def entropy_program() -> ConicProgram:
    """Return min z over exp(x) <= z, x >= 1, whose optimum is e."""
    A = np.array([[1.0, 0], [0, 0], [0, 1]])
    cone = ConeConstraint("exponential", scipy.sparse.csr_array(A), np.array([0.0, 1, 0]))
    return program([0, 1], np.zeros((0, 2)), [], [], [1, -INF], [INF, INF], cones=(cone,))


def power_program() -> ConicProgram:
    """Return max z over x^(1/4) y^(3/4) >= z, x + 3 y = 4, whose optimum is 1."""
    cone = ConeConstraint("power", scipy.sparse.csr_array(np.eye(3)), np.zeros(3), exponent=0.25)
    return program([0, 0, -1], [[1, 3, 0]], [4], [4], [-INF] * 3, [INF] * 3, cones=(cone,))


def eigenvalue_program() -> ConicProgram:
    """Return max t such that [[2, 1], [1, 2]] - t I is semidefinite, whose optimum is 1."""
    cone = ConeConstraint(
        "semidefinite", scipy.sparse.csr_array(-np.eye(2).reshape(4, 1)), np.array([2.0, 1.0, 1.0, 2.0])
    )
    return program([-1], np.zeros((0, 1)), [], [], [-INF], [INF], cones=(cone,))


CONE_PROGRAMS = {
    "disk": (disk_program, -math.sqrt(2)),
    "entropy": (entropy_program, math.e),
    "power": (power_program, -1.0),
    "eigenvalue": (eigenvalue_program, -1.0),
}


@pytest.mark.parametrize("name", CONE_PROGRAMS)
def test_programs_with_cones_are_certified_at_their_known_optima(name: str) -> None:
    build, optimum = CONE_PROGRAMS[name]
    certificate = certify_problem(build())
    assert certificate.lower <= optimum * (1 + 1e-15)
    assert certificate.upper >= optimum * (1 - 1e-15)
    assert certificate.scaled_gap <= 1e-6


def test_a_row_whose_multiplier_must_be_zero_does_not_hinder_the_lower_end() -> None:
    # The posynomial 1 / u + 1 / v <= 1 in logarithms; the equations of x_0 and x_1 leave row 1 no other multiplier.
    rows = np.zeros((4, 9))
    rows[0, [0, 1, 2, 3]] = 1, 1, -1, -1
    rows[1, [0, 1, 2, 6]] = -1, -1, -1, -1
    rows[2, [5, 8]] = 1, 1
    rows[3, 0] = 2
    cones = tuple(
        ConeConstraint("exponential", scipy.sparse.csr_array(np.eye(9)[[first, first + 1, first + 2]]), np.zeros(3))
        for first in (3, 6)
    )
    lower, upper = np.full(9, -INF), np.full(9, INF)
    lower[[4, 7]] = upper[[4, 7]] = 1
    certificate = certify_problem(
        program(np.eye(9)[2], rows, [0, 0, -INF, -INF], [0, 0, 1, -math.log(2)], lower, upper, cones=cones)
    )
    assert certificate.lower <= math.log(2) + 1e-15
    assert certificate.upper >= math.log(2) - 1e-15
    assert certificate.scaled_gap <= 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize("name", CONE_PROGRAMS)
def test_lies_about_cones_never_exclude_the_optimum(name: str) -> None:
    build, optimum = CONE_PROGRAMS[name]
    form = cone_form(build())
    for lie in lies(form, 1):
        interval = interval_of(form, lie)
        assert interval.lower - 1e-14 <= optimum <= interval.upper + 1e-14
        assert not interval.status


def test_options_that_programs_do_not_have_are_refused() -> None:
    from boostopt.errors import OptionError

    with pytest.raises(OptionError, match="bounds of a ConicProgram"):
        certify_problem(quadratic_program(), bounds={})
    with pytest.raises(OptionError, match="solver of a ConicProgram"):
        certify_problem(quadratic_program(), solver="SCS")
    with pytest.raises(OptionError, match="tolerance of a ConicProgram"):
        certify_problem(quadratic_program(), tolerance=1e-9)


@pytest.mark.parametrize(("coefficient", "side"), [(1e-170, 5.0), (1e41, 5e41)])
@pytest.mark.parametrize("is_alone", [False, True])
def test_rows_of_tiny_or_huge_coefficients_never_give_a_false_bound(
    coefficient: float, side: float, is_alone: bool
) -> None:
    # x + y = 1, or x = 1, and t y >= b: the optimum is 1, whatever the multiplier of the second row is.
    first = [1.0, 0.0] if is_alone else [1.0, 1.0]
    form = cone_form(program(first, [first, [0, coefficient]], [1, side], [1, INF], [-INF, -INF], [INF, INF]))
    answer = ConicAnswer(np.array([0.0, 1.0]), np.ones(1), np.array([1.0]), [], "Solved")
    assert interval_of(form, answer).lower <= 1


def test_a_point_whose_matrix_overflows_is_refused() -> None:
    cone = ConeConstraint(
        "semidefinite", scipy.sparse.csr_array(-4 * np.eye(2).reshape(4, 1)), np.array([8.0, 4.0, 4.0, 8.0])
    )
    form = cone_form(replace(eigenvalue_program(), cones=(cone,)))
    interval = interval_of(form, replace(solve_form(form), x=np.array([1.7e308])))
    assert interval.lower <= -1 <= interval.upper


def test_entries_in_one_triangle_count_for_the_symmetric_part() -> None:
    matrix = np.array([[1.0, 5.0], [0.0, 0.0]])  # the symmetric part has a negative eigenvalue
    assert not is_semidefinite(matrix, np.zeros((2, 2)))
    assert not is_semidefinite(matrix.T, np.zeros((2, 2)))
    assert smallest_eigenvalue_bound(np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]])) < 0


def test_conditions_of_a_program_have_the_names_of_its_rows_and_columns() -> None:
    cone = ConeConstraint("second_order", np.array([[0.0], [1.0]]), np.array([2.0, 0.0]), name="disk")
    third = program([1], [[3], [1]], [1, -INF], [1, 5], [-INF], [INF], cones=(cone,), row_names=["three", "cap"])
    explanation = explain_problem(third)
    assert not explanation.violated and "All KKT conditions hold" in explanation.conclusion
    assert {condition.subject for condition in explanation.conditions} == {
        "row three",
        "row cap",
        "cone disk",
        "column 0",
    }
    assert explanation.certificate.lower <= 1 / 3 <= explanation.certificate.upper
    assert not explain_problem(quadratic_program()).violated
    infeasible = replace(third, row_upper=np.array([1.0, 0.0]))
    with pytest.raises(ProblemError, match="infeasible"):
        explain_problem(infeasible)


@pytest.mark.parametrize("name", ["linear", "quadratic", "disk"])
def test_explanations_measure_the_certified_answer_without_another_solve(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = program([1], [[3], [1]], [1, -INF], [1, 5], [-INF], [INF])
    target = {"linear": third, "quadratic": quadratic_program(), "disk": disk_program()}[name]
    certificate = certify_problem(target)

    def refuse(*_: Any) -> ConicAnswer:
        raise AssertionError("the program was solved again")

    monkeypatch.setattr(conic_program_proof, "solve_form", refuse)
    explanation = explain_program(target, certificate, 1e-6)
    assert not explanation.violated and explanation.certificate is certificate
    proof = certificate.program_proof
    assert proof is not None and (proof.answer is None) == (name == "linear")


@pytest.mark.parametrize("copies", [1, 2])
def test_a_point_of_a_face_is_found_among_equations_that_follow_from_others(copies: int) -> None:
    """At the answer x = (0, 1, 1), the rows fix x_1 and x_2, which are free; a row stated twice follows from itself."""
    A = [[1.0, 1.0, 0.0]] * copies + [[0.0, 0.0, 3.0]]
    sides = [1.0] * copies + [3.0]
    form = cone_form(program([1, 1, 1], A, sides, sides, [0, -INF, -INF], [INF, INF, INF]))
    point = np.array([0.0, 1.0 + 1e-9, 1.0])
    result = proved_point(form, point, 0.0)
    assert isinstance(result, PointFailure) == (copies == 2)
    result = proved_point(form, point, 0.0, finds_dependence=True)
    assert isinstance(result, ProvedPoint if copies == 2 else PointFailure)
    if isinstance(result, ProvedPoint):
        assert 2 <= result.upper <= 2 + 1e-9


@pytest.mark.parametrize(
    ("changes", "kind", "worst"),
    [
        ({"x": [0.0, 0.0, 0.0, 0.0]}, "primal feasibility", "row 2"),
        ({"x": [-1.0, 2.0, 1.0, 0.5]}, "primal feasibility", "column 0"),
        ({"rows": [1.0, 0.0, 0.0]}, "dual feasibility", "row 0"),
        ({"rows": [-1.0, -1.0, 1.0]}, "complementarity", "row 1"),
        ({"rows": [0.0, 0.0, 9.0]}, "stationarity", "column 2"),
    ],
)
def test_each_condition_of_a_program_is_measured(changes: dict[str, list[float]], kind: str, worst: str) -> None:
    """Problem 76 of Hock and Schittkowski, with x or multipliers of rows that violate one kind of condition."""
    form = cone_form(quadratic_program())
    answer = solve_form(form)
    assert all(item.residuals.max() <= 1e-6 * item.scale for item in program_conditions(form, answer))
    lie = replace(answer, **{name: np.array(values) for name, values in changes.items()})
    residuals = {
        item.names[int(np.argmax(item.residuals))]: float(item.residuals.max())
        for item in program_conditions(form, lie)
        if item.kind == kind and item.residuals.max() > 0.1
    }
    assert worst in residuals


def test_dependent_rows_whose_squares_overflow_are_not_combined() -> None:
    size = 1e190
    rows = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [2.0, 3.0, 1.0]]) * size
    sides = [size, size, 2 * size]
    conic = program([1, 2, 3], rows, sides, sides, [-INF] * 3, [INF] * 3)
    assert FormCertifier(cone_form(conic), 1e-8).run().status == ""
    assert certify_problem(conic).status == "unbounded"  # along (1, -1, 1), in fractions


@pytest.mark.parametrize("size", [1e12, 1e-12])
def test_dependent_equations_of_a_dual_are_found_at_all_scales(size: float) -> None:
    # c = (1, 2, 3) is the second row, so the optimum is 1; the third reduced cost follows from the others.
    rows = [[size, size, 2 * size], [1, 2, 3]]
    certificate = certify_problem(program([1, 2, 3], rows, [size, 1], [size, 1], [-INF] * 3, [INF] * 3))
    assert certificate.lower <= 1 <= certificate.upper
    assert certificate.scaled_gap <= 1e-9


def test_numbers_that_mean_decimals_have_the_interval_of_the_exact_optimum() -> None:
    tenth = program([1], [[0.1]], [0.3], [INF], [-INF], [INF], numbers="decimal")
    assert (certify_problem(tenth).lower, certify_problem(tenth).upper) == (3.0, 3.0)
    assert certify_problem(replace(tenth, numbers="binary")).lower < 3.0
    curved = certify_problem(replace(tenth, P=np.array([[0.2]]), is_maximized=True))
    assert curved.lower <= Fraction(-39, 10) <= curved.upper
    assert curved.scaled_gap < 1e-15
    rows = [[1.0, 2.0], [3.0, 6.0]]
    dependent = program([1, 1], rows, [0.1, 0.3], [0.1, 0.3], [0, 0], [INF, INF], numbers="decimal")
    assert certify_problem(dependent).lower <= Fraction(1, 20) <= certify_problem(dependent).upper < 0.0501
    assert certify_problem(replace(dependent, numbers="binary")).status == "infeasible"
    cone = ConeConstraint("second_order", np.array([[1.0]]), np.array([0.0]))
    with pytest.raises(OptionError, match="binary"):
        certify_problem(replace(tenth, cones=(cone,)))


def extreme_quadratic(
    P: Any, c: Any, lower: Any = -INF, upper: Any = INF, is_maximized: bool = False, A: Any = None, rows: Any = None
) -> ConicProgram:
    """A quadratic program of one or a few variables, with numbers of extreme sizes."""
    n = len(c)
    sides = ([-INF], [INF]) if rows is None else rows
    return ConicProgram(
        c=np.array(c, dtype=float),
        A=scipy.sparse.csr_array(np.zeros((1, n)) if A is None else np.array(A, dtype=float)),
        row_lower=np.array(sides[0], dtype=float),
        row_upper=np.array(sides[1], dtype=float),
        lower=np.broadcast_to(np.array(lower, dtype=float), n),
        upper=np.broadcast_to(np.array(upper, dtype=float), n),
        P=scipy.sparse.csr_array(np.array(P, dtype=float)),
        is_maximized=is_maximized,
    )


@pytest.mark.parametrize(
    ("program", "optimum"),
    [
        (extreme_quadratic([[1e-300]], [1e-170]), -5e-41),
        (extreme_quadratic([[2e-300, 0], [0, 1e-300]], [1e-301, 1e-300]), -5.025e-301),
        (extreme_quadratic([[4.450147717014403e-308]], [0.0], lower=-2.0), 0.0),
        (extreme_quadratic([[1.82e-158]], [1.07e-224], is_maximized=True), 3.145e-291),
        (extreme_quadratic([[-1e308]], [0.0], lower=0.0, upper=1e-162), -5e-17),
        (extreme_quadratic([[-1e300]], [0.0], lower=0.0, upper=1e-170), -5e-41),
    ],
    ids=["tiny curvature", "two tiny ones", "subnormal curvature", "maximum", "steep concave", "concave"],
)
def test_losses_that_underflow_count(program: ConicProgram, optimum: float) -> None:
    """The optima are rounded to a few digits: nothing but underflow moves a bound from -5e-41 to -1e-320."""
    certificate = certify_problem(program)
    room = 1e-3 * abs(optimum)
    if program.is_maximized:
        assert certificate.upper >= optimum - room
    assert certificate.lower <= optimum + room and certificate.upper >= optimum - room


def test_a_lie_does_not_profit_from_a_product_that_overflows() -> None:
    program = extreme_quadratic([[2, 0], [0, 1e308]], [-2, 1e154])
    answer = ConicAnswer(np.array([1.0, 0.0]), np.zeros(0), np.zeros(0), [], "Solved")
    assert FormCertifier(cone_form(program), 1e-9).run(answer).lower <= -1.5


@pytest.mark.parametrize(
    "program",
    [
        extreme_quadratic([[1e201]], [-1.0], lower=4e297, upper=4e297),
        extreme_quadratic(
            [[3, 0], [0, 2]],
            [3, 1],
            lower=[3, 0],
            A=[[0, 1.4929131304222982e245], [-3, 367175719936.27185]],
            rows=([1e-170, 0], [INF, INF]),
        ),
        extreme_quadratic(
            [
                [3.7114e-320, 7.673e-321, 1.281e-320],
                [7.673e-321, 1.3557e-320, -7.71e-321],
                [1.281e-320, -7.71e-321, 4.6215e-320],
            ],
            [0.27, 0.80, -0.056],
            upper=1.0,
        ),
    ],
    ids=["slopes overflow", "activities overflow", "points overflow"],
)
def test_numbers_that_overflow_leave_an_interval(program: ConicProgram) -> None:
    certificate = certify_problem(program)
    assert certificate.lower <= certificate.upper


@pytest.mark.parametrize("exponent", [16, 60, 500, 1000])
def test_small_diagonal_entries_count_as_much_as_large_ones(exponent: int) -> None:
    large, small = 2.0**exponent, 2.0**-exponent
    for factor, is_proved in ((2.0, True), (1 + 1e-12, True), (1.0, False), (1 - 1e-12, False), (-1.0, False)):
        matrix = np.array([[large, 1.0], [1.0, factor * small]])
        assert is_semidefinite(matrix, np.zeros((2, 2))) == is_proved
        assert is_semidefinite(matrix[::-1, ::-1], np.zeros((2, 2))) == is_proved
    matrix = np.array([[large, 1.0], [1.0, 2 * small]])
    assert is_semidefinite(matrix, np.diag([0.0, small / 4]))
    assert not is_semidefinite(matrix, np.diag([0.0, 1.5 * small]))
    assert not is_semidefinite(matrix, np.diag([0.0, np.inf]))
    assert not is_semidefinite(np.array([[large, 1.0], [np.nan, 2 * small]]), np.zeros((2, 2)))
