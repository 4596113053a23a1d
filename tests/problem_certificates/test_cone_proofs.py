"""Intervals of conic programs from their sparse data: known optima, exact optima, and answers that lie."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.speeds import many

from boostopt import ConicProgram, ProblemError, certify_problem, exact_optimum, explain_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.conic_programs.exact.work_limit import TooMuchWorkError, work_limit
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer, solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, cone_form
from boostopt.problem_certificates.cone_proofs.cone_membership import is_semidefinite, smallest_eigenvalue_bound
from boostopt.problem_certificates.cone_proofs.exact_interval import exact_interval
from boostopt.problem_certificates.cone_proofs.form_certificate import FormCertifier, FormInterval

INF = np.inf


def program(c: Any, A: Any, row_lower: Any, row_upper: Any, lower: Any, upper: Any, **others: Any) -> ConicProgram:
    """Return a program of arrays of numbers."""
    c, row_lower, row_upper, lower, upper = (
        np.asarray(values, dtype=float) for values in (c, row_lower, row_upper, lower, upper)
    )
    matrix = scipy.sparse.csc_array(np.asarray(A, dtype=float).reshape(len(row_lower), len(c)))
    return ConicProgram(matrix, c, row_lower, row_upper, lower, upper, **others)


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
    moved = replace(consistent, row_lower=np.array(sides), row_upper=np.array(sides))
    assert certify_problem(moved).status == "infeasible"
    curved = replace(moved, P=scipy.sparse.eye_array(3, format="csc"))
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


def test_what_needs_an_expression_tree_refuses_a_program_and_says_what_to_pass(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"program\.to_cvxpy\(\)"):
        explain_problem(quadratic_program())
    with pytest.raises(ProblemError, match=r"program\.to_cvxpy\(\)"):
        certify_problem(program([1], [[1]], [-INF], [INF], [2], [1])).save(tmp_path / "certificate.json")


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
