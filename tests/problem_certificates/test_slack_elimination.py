"""Tests of forms without slack variables: points and multipliers of the smaller form are those of the whole one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.cone_proofs.clarabel_answers import solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form, slack_elimination
from boostopt.problem_certificates.cone_proofs.dual_bound import multipliers_of, reduced_costs
from boostopt.verification import verify

INF = np.inf


def program_with_slacks(
    values: Any, constants: Any, c: Any, sign: float = -1.0, kind: Any = "exponential", **changes: Any
) -> ConicProgram:
    """Return min <c, x> over s = values x + constants in cones, with the variables (x, s) and |x| <= 4."""
    values, constants = np.array(values, dtype=float), np.array(constants, dtype=float)
    (m, n), size = values.shape, 3
    cones = tuple(
        ConeConstraint(kind, np.hstack([np.zeros((size, n)), np.eye(m)[k : k + size]]), np.zeros(size))
        for k in range(0, m, size)
    )
    equations, sides = sign * np.hstack([-values, np.eye(m)]), sign * constants
    rows = np.hstack([np.eye(n), np.zeros((n, m))])
    program = ConicProgram(
        scipy.sparse.csc_array(np.vstack([equations, rows])),
        np.concatenate([np.array(c, dtype=float), np.zeros(m)]),
        np.concatenate([sides, np.full(n, -4.0)]),
        np.concatenate([sides, np.full(n, 4.0)]),
        np.full(n + m, -INF),
        np.full(n + m, INF),
        cones=cones,
    )
    return replace(program, **changes)


def logarithm(sign: float = -1.0, **changes: Any) -> ConicProgram:
    """Return min x + 2 y over exp(-x) <= y, in slack variables: x + 2 exp(-x) has its minimum at log(2)."""
    return program_with_slacks([[-1, 0], [0, 0], [0, 1]], [0, 1, 0], [1, 2], sign, **changes)


OPTIMUM = 1 - math.log(0.5)
"""The minimum of x + 2 exp(-x), at x = log(2)."""


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_points_and_multipliers_of_the_smaller_form_are_those_of_the_whole_one(sign: float) -> None:
    whole = cone_form(logarithm(sign))
    elimination = slack_elimination(whole)
    smaller = elimination.form
    assert (smaller.n, len(smaller.e), whole.n, len(whole.e)) == (2, 0, 5, 3)
    x = np.array([0.7, 0.51])
    mids, radii = elimination.point((x, np.full(2, 1e-9)))
    for row, side in zip(whole.E.toarray().tolist(), whole.e.tolist(), strict=True):
        total = sum((Fraction(a) * Fraction(b) for a, b in zip(row, mids.tolist(), strict=True)), Fraction(0))
        assert abs(total - Fraction(side)) <= Fraction(float(np.abs(row) @ radii))
    assert np.array_equal(elimination.nearest_point(x), mids)
    for small, large in zip(smaller.groups, whole.groups, strict=True):
        assert np.array_equal(small.G @ x + small.h, large.G @ mids + large.h)
    point = multipliers_of(solve_form(smaller))
    y = elimination.equation_multipliers(point.y, point.cones)
    costs = reduced_costs(whole, replace(point, y=y, w=mids))
    assert np.array_equal(costs[elimination.columns], np.zeros(3))
    assert elimination.entries_without_slacks(costs) == pytest.approx(reduced_costs(smaller, point), abs=1e-12)
    direction = elimination.direction(np.array([1.0, 3.0]))
    assert np.array_equal(whole.E @ direction, np.zeros(3))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_certificates_with_slack_variables_are_saved_and_verified(sign: float, tmp_path: Path) -> None:
    program = logarithm(sign)
    certificate = certify_problem(program)
    assert certificate.lower <= OPTIMUM <= certificate.upper and certificate.scaled_gap <= 1e-8
    assert certificate.point is not None
    x = np.asarray(certificate.point["x"])
    assert program.A @ x == pytest.approx(np.clip(program.A @ x, program.row_lower, program.row_upper), abs=1e-12)
    proof = certificate.program_proof
    assert proof is not None and proof.multipliers is not None and proof.answer is not None
    assert len(proof.multipliers.y) == program.shape[0] and len(proof.answer.x) == program.shape[1]
    path = tmp_path / "certificate.json"
    certificate.save(path)
    verification = verify(path)
    assert verification.lower <= OPTIMUM <= verification.upper


@pytest.mark.parametrize("seed", range(8))
def test_intervals_with_and_without_slack_variables_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = "exponential" if seed % 2 else "second_order"
    values, constants = rng.integers(-2, 3, (6, 3)).astype(float), rng.integers(-2, 3, 6).astype(float)
    constants[[0, 3]], constants[[2, 5]] = (9, 9) if kind == "second_order" else (-9, -9), (1, 1)
    if kind == "exponential":
        values[[1, 4]], constants[[1, 2, 4, 5]] = 0, [1, 9, 1, 9]
    program = program_with_slacks(values, constants, rng.integers(-2, 3, 3), kind=kind)
    form = cone_form(program)
    elimination = slack_elimination(form)
    assert elimination.form.n == 3
    direct = ConicProgram(
        scipy.sparse.csc_array(np.eye(3)),
        program.c[:3],
        np.full(3, -4.0),
        np.full(3, 4.0),
        np.full(3, -INF),
        np.full(3, INF),
        cones=tuple(ConeConstraint(kind, values[k : k + 3], constants[k : k + 3]) for k in (0, 3)),
    )
    first, second = certify_problem(program), certify_problem(direct)
    assert first.status == second.status == "bounded"
    assert max(first.lower, second.lower) <= min(first.upper, second.upper)
    assert max(first.scaled_gap, second.scaled_gap) <= 1e-7


def test_infeasible_and_unbounded_programs_with_slack_variables_are_decided(tmp_path: Path) -> None:
    empty = program_with_slacks([[1, 0], [0, 0], [0, 0]], [9, 1, 1], [1, 0])  # exp(x + 9) <= 1 and x >= -4
    unbounded = program_with_slacks([[1, 0], [0, 0], [0, 1]], [0, 1, 0], [0, -1])
    unbounded = replace(unbounded, row_lower=np.r_[unbounded.row_lower[:3], -INF, -INF])
    unbounded = replace(unbounded, row_upper=np.r_[unbounded.row_upper[:3], 4.0, INF])
    for program, status in ((empty, "infeasible"), (unbounded, "unbounded")):
        assert slack_elimination(cone_form(program)).columns.size == 3
        certificate = certify_problem(program)
        assert certificate.status == status
        path = tmp_path / f"{status}.json"
        certificate.save(path)
        assert verify(path).outcome == status


def changed(**changes: Any) -> ConicProgram:
    return replace(logarithm(), **changes)


def with_entry(row: int, column: int, value: float) -> Any:
    A = scipy.sparse.lil_array(logarithm().A)
    A[row, column] = value
    return scipy.sparse.csc_array(A)


KEPT: dict[str, ConicProgram] = {
    "a cost": changed(c=np.array([1.0, 2.0, 0.0, 0.0, 0.5])),
    "a bound": changed(lower=np.array([-INF, -INF, -INF, -INF, 0.0])),
    "a coefficient of 2": changed(A=with_entry(0, 2, -2.0)),
    "a second equation": changed(A=with_entry(1, 2, 1.0)),
    "a row with bounds": changed(A=with_entry(3, 2, 1.0)),
    "two variables in a row of the cone": changed(
        cones=(
            ConeConstraint("exponential", np.array([[0.0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]), np.zeros(3)),
        )
    ),
    "a factor of 3 in the cone": changed(
        cones=(
            ConeConstraint("exponential", np.array([[0.0, 0, 3, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]), np.zeros(3)),
        )
    ),
    "a variable in two cones": changed(cones=(*logarithm().cones, *logarithm().cones)),
    "constants in the cone and in the equation": changed(
        cones=(replace(logarithm().cones[0], b=np.array([0.0, 0.1, 0.0])),)
    ),
    "a quadratic objective": changed(P=scipy.sparse.csc_array(np.diag([1.0, 0, 0, 0, 0]))),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_variables_are_kept(name: str) -> None:
    form = cone_form(KEPT[name])
    elimination = slack_elimination(form)
    assert elimination.form is form and not elimination.columns.size
    x = np.arange(5.0)
    assert elimination.point((x, x))[0] is x and elimination.direction(x) is x and elimination.nearest_point(x) is x
    certificate = certify_problem(KEPT[name])
    assert certificate.status in ("bounded", "open", "infeasible") and certificate.lower <= certificate.upper
