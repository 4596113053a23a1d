"""Tests of refined multipliers: rows that make the system of a large program dense keep their multipliers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.cone_proofs import refined_multipliers as module
from boostopt.problem_certificates.cone_proofs.clarabel_answers import solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form
from boostopt.problem_certificates.cone_proofs.dual_bound import multipliers_of, reduced_costs
from boostopt.problem_certificates.cone_proofs.refined_multipliers import refined_multipliers

INF = np.inf


def logarithms(n: int) -> ConicProgram:
    """Return min -(t_1 + ... + t_n) over exp(t_i) <= x_i and x_1 + ... + x_n <= 1; the optimum is n log(n)."""
    unit = np.eye(2 * n)
    cones = tuple(
        ConeConstraint(
            "exponential",
            scipy.sparse.csc_array(np.stack([unit[i], np.zeros(2 * n), unit[n + i]])),
            np.array([0.0, 1.0, 0.0]),
        )
        for i in range(n)
    )
    row = np.concatenate([np.zeros(n), np.ones(n)])[None, :]
    c = np.concatenate([-np.ones(n), np.zeros(n)])
    free = np.full(2 * n, INF)
    return ConicProgram(scipy.sparse.csc_array(row), c, np.array([-INF]), np.ones(1), -free, free, cones=cones)


def test_the_row_of_a_large_program_that_makes_its_system_dense_keeps_its_multiplier() -> None:
    form = cone_form(logarithms(460))
    point = multipliers_of(solve_form(form))
    refined = refined_multipliers(form, point)
    assert refined is not None and np.array_equal(refined.rows, point.rows)
    assert np.abs(reduced_costs(form, refined)).max() <= 1e-12 * abs(point.rows[0])


def test_the_multipliers_of_a_small_program_all_change(monkeypatch: pytest.MonkeyPatch) -> None:
    form = cone_form(logarithms(60))
    point = multipliers_of(solve_form(form))
    refined = refined_multipliers(form, point)
    assert refined is not None and not np.array_equal(refined.rows, point.rows)
    monkeypatch.setattr(module, "MAX_PRODUCT_COUNT", 0)
    refined = refined_multipliers(form, point)
    assert refined is not None and np.array_equal(refined.rows, point.rows)


def test_a_dense_row_stays_in_the_system_if_it_alone_contains_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PRODUCT_COUNT", 0)
    form = cone_form(logarithms(60))
    weights = module.without_dense_rows(form, np.ones(0), np.ones(1))
    assert weights[1].tolist() == [0.0]
    G = form.groups[0].G.copy()
    G.indices = np.where(G.indices == 60, 61, G.indices)  # the row alone contains variable 60
    changed = replace(form, groups=[replace(form.groups[0], G=G)])
    weights = module.without_dense_rows(changed, np.ones(0), np.ones(1))
    assert weights[1].tolist() == [1.0]


@pytest.mark.parametrize("n", [60, 460])
def test_programs_with_a_dense_row_are_certified(n: int) -> None:
    certificate = certify_problem(logarithms(n))
    assert certificate.lower <= n * math.log(n) <= certificate.upper and certificate.scaled_gap <= 1e-7


def test_a_small_program_whose_variables_have_two_bounds_needs_no_equations() -> None:
    program = logarithms(2)
    boxed = replace(program, lower=np.full(4, -5.0), upper=np.full(4, 5.0))
    certificate = certify_problem(boxed)
    assert certificate.lower <= 2 * math.log(2) <= certificate.upper and certificate.scaled_gap <= 1e-7
