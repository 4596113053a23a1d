"""Tests of refined points: cones keep the slack that an answer states, and dependent equations need no second solve."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.cone_proofs import cone_form_interval
from boostopt.problem_certificates.cone_proofs.clarabel_answers import solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form
from boostopt.problem_certificates.cone_proofs.cone_membership import distances
from boostopt.problem_certificates.cone_proofs.cone_metrics import are_small_second_order
from boostopt.problem_certificates.cone_proofs.primal_bound import refined_point

INF = math.inf


def flows(n: int, has_twin: bool = False) -> ConicProgram:
    """Return min t_1 + ... + t_n over abs((2 f_i, t_i - 1)) <= t_i + 1, which is f_i^2 <= t_i, and equations f_i = 1.

    They are f_i = 1 for each fourth i, and f_i = f_(i - 1) for the others. The optimum is n. With `has_twin`, the sum
    of all equations is one more of them.
    """
    unit = np.eye(2 * n)
    cones = tuple(
        ConeConstraint(
            "second_order",
            scipy.sparse.csr_array(np.stack([unit[n + i], 2 * unit[i], unit[n + i]])),
            np.array([1.0, 0.0, -1.0]),
        )
        for i in range(n)
    )
    sides = (np.arange(n) % 4 == 0).astype(float)
    rows: Any = unit[:n] - np.where(sides[:, None] == 0, np.roll(unit[:n], 1, axis=0), 0.0)
    if has_twin:
        rows, sides = np.concatenate([rows, [rows.sum(axis=0)]]), np.append(sides, sides.sum())
    c, free = np.concatenate([np.zeros(n), np.ones(n)]), np.full(2 * n, INF)
    return ConicProgram(scipy.sparse.csr_array(rows), c, sides, sides, -free, free, cones=cones)


@pytest.mark.parametrize("max_entries", [0, 10_000])
def test_refined_points_have_slack_where_answers_have_none(max_entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostopt.problem_certificates.cone_proofs.cone_form.MAX_SMALL_ENTRIES", max_entries)
    form = cone_form(flows(8))
    (group,) = form.groups
    answer = solve_form(form)
    assert answer.slacks is not None and (distances(group, answer.slacks[0]) > 0).all()
    answer = replace(answer, x=answer.x - np.repeat([0.0, 1e-9], 8))
    assert (distances(group, group.G @ answer.x + group.h) < 0).all()
    x = refined_point(form, answer)
    assert x is not None
    assert np.abs(form.E @ x - form.e).max() <= 1e-12
    assert (distances(group, group.G @ x + group.h) > 1e-13).all()
    assert float(form.c @ x) == pytest.approx(8.0, rel=1e-7)


def test_slacks_that_are_not_known_or_impossible_give_no_point() -> None:
    form = cone_form(flows(3))
    answer = solve_form(form)
    assert refined_point(form, replace(answer, slacks=None)) is None
    assert refined_point(form, replace(answer, slacks=[np.full(9, np.nan)])) is None
    closed = replace(form, E=scipy.sparse.csr_array(np.eye(6)), e=np.zeros(6))  # t = f = 0 has no slack
    assert refined_point(closed, answer) is None


def test_cones_with_many_rows_and_exponential_cones_are_not_refined() -> None:
    form = cone_form(flows(3))
    (group,) = form.groups
    assert are_small_second_order(form.groups) and not are_small_second_order([])
    large = replace(group, size=31, G=scipy.sparse.csr_array((31, 6)), h=np.zeros(31), names=["cone"], positions=[0])
    assert not are_small_second_order([group, large])
    assert not are_small_second_order([replace(group, kind="exponential")])


@pytest.mark.parametrize("has_twin", [False, True])
@pytest.mark.parametrize("n", [4, 60])
def test_one_solve_proves_both_ends(has_twin: bool, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    solves = list[bool]()

    def solve(*arguments: Any) -> Any:
        solves.append(True)
        return solve_form(*arguments)

    monkeypatch.setattr(cone_form_interval, "solve_form", solve)
    certificate = certify_problem(flows(n, has_twin))
    assert certificate.lower <= n <= certificate.upper
    assert certificate.scaled_gap <= 1e-8
    assert solves == [True]


@pytest.mark.parametrize("change", [1.0, -1.0, 1e-3, np.nan, INF])
def test_false_slacks_never_exclude_the_optimum(change: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def lie(form: Any, *arguments: Any) -> Any:
        answer = solve_form(form, *arguments)
        assert answer.slacks is not None
        return replace(answer, slacks=[s + change * (np.arange(len(s)) % 3 - 1) for s in answer.slacks])

    monkeypatch.setattr(cone_form_interval, "solve_form", lie)
    certificate = certify_problem(flows(5, has_twin=True))
    assert certificate.lower <= 5.0 <= certificate.upper


def test_rows_and_bounds_keep_slack() -> None:
    """The optimum 5 / 4 has t_1 = 1 at the bound of f_1, and f_1 + f_2 = 3 / 2 at the side of a row."""
    program = flows(2)
    row = scipy.sparse.csr_array(np.array([[1.0, 1.0, 0.0, 0.0]]))
    lower = np.array([1.0, -INF, -INF, -INF])
    bounded = replace(program, A=row, row_lower=np.array([1.5]), row_upper=np.array([INF]), lower=lower)
    form = cone_form(bounded)
    x = refined_point(form, solve_form(form))
    assert x is not None and x[0] > 1.0 and x[0] + x[1] > 1.5
    certificate = certify_problem(bounded)
    assert certificate.lower <= 1.25 <= certificate.upper
    assert certificate.scaled_gap <= 1e-8
