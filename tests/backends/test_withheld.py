"""Cones that a solver takes by name and is not given."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.problems import REFERENCE_U

from boostopt import Program, SolverNotFound, get_backend, get_formulation, list_backends
from boostopt.authoring import CONES, Squares
from boostopt.backends.cvxpy.cvxpy_backend import CvxpyBackend
from boostopt.backends.cvxpy.solver_options import SOLVERS, SolverSpec


def quadratic() -> Program:
    return get_formulation("qp_reg_adaboost").bind(REFERENCE_U, C=0.4)


def with_squares_and_entropy() -> Program:
    program = get_formulation("erlpboost").bind(REFERENCE_U, nu=2, eta=1)
    entropy: Any = program.regularizer
    return replace(program, regularizer=entropy + Squares(program.examples.c, 0.1))


PROGRAMS = {"quadratic": quadratic}
"""A program for each cone that is withheld from somebody."""


def test_highs_takes_linear_programs_and_no_quadratic_objective() -> None:
    highs = get_backend("cvxpy:highs")
    assert highs.takes(get_formulation("lpboost").bind(REFERENCE_U, nu=2))
    able = highs.takes(quadratic())
    assert not able
    assert able.reason.startswith("cvxpy:highs ")
    assert "quadratic objective" in able.reason
    assert SOLVERS["HIGHS"].disabled_cones["quadratic"] in able.reason


def test_missing_cones_are_named_before_withheld_ones() -> None:
    able = get_backend("cvxpy:highs").takes(with_squares_and_entropy())
    assert not able
    assert able.reason.startswith("cvxpy:highs ")
    assert "exponential cones" in able.reason
    assert SOLVERS["HIGHS"].disabled_cones["quadratic"] not in able.reason


def test_every_reason_in_the_table_names_a_cone_and_is_given() -> None:
    for solver, profile in SOLVERS.items():
        for cone, why in profile.disabled_cones.items():
            assert cone in CONES
            assert why in CvxpyBackend(solver).takes(PROGRAMS[cone]()).reason


def test_a_solver_without_a_profile_is_withheld_nothing() -> None:
    assert not SolverSpec().disabled_cones


def test_a_quadratic_program_is_refused_by_highs_and_solved_by_the_others() -> None:
    program = get_formulation("qp_reg_adaboost").bind(REFERENCE_U, C=0.4)
    why = re.escape(SOLVERS["HIGHS"].disabled_cones["quadratic"])
    with pytest.raises(SolverNotFound, match=rf"\bqp_reg_adaboost\b.*{why}.*\binterior\b"):
        program.solve("cvxpy:highs")
    solution = program.solve(tol=1e-7)
    assert solution.certificate.scaled_gap <= 1e-7
    assert "cvxpy:highs" not in solution.path
    np.testing.assert_allclose(solution.w, [0.25, 0.35, 0.0], atol=1e-3)
    able = [name for name in list_backends() if get_backend(name).takes(program)]
    assert {"cvxpy:clarabel", "cvxpy:scs"} <= set(able)
