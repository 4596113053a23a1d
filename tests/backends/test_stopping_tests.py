"""The stopping tests of solvers, computed again from their answers: the residuals that they report, and by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import noisy_stumps, reference_erlpboost, reference_lpboost

from boostopt import Program, compare, get_formulation
from boostopt.backends.cvxpy.solver_options import FORMS, SOLVERS
from boostopt.backends.cvxpy.stopping_tests import (
    DUAL,
    GAP,
    PRIMAL,
    RATIO_KEYS,
    STOPPING_TESTS,
    clarabel_residuals,
    ecos_residuals,
    highs_residuals,
    osqp_residuals,
    piqp_residuals,
    scs_residuals,
)
from boostopt.comparison.rendering.result_sentences import summarize_comparison
from boostopt.comparison.rendering.solver_claim_sentences import stopping_test_sentences
from boostopt.programs.cvxpy_models import build_cvxpy_model

ONE = sp.csc_matrix([[-1.0]])
"""The row of x >= 1, as -x <= -1."""


def quadratic() -> Program:
    return get_formulation("qrlp_boost").bind(noisy_stumps(60, 8), nu=12.0, eta=30.0)


def data_and_answer(solver: str, program: Program, form: str, **options: Any) -> tuple[dict[str, Any], Any]:
    """Return the data that CVXPY passes to a solver, and its raw answer."""
    model = build_cvxpy_model(program.margins, program.regularizer, program.edge_function, FORMS[form])
    data, chain, _ = model.problem.get_problem_data(solver, solver_opts={})
    return data, chain.solve_via_data(model.problem, data, False, False, options)


def reported(solver: str, raw: Any) -> dict[str, float]:
    """Return the residuals that a solver reports of its answer."""
    if solver == "SCS":
        return {PRIMAL: raw["info"]["res_pri"], DUAL: raw["info"]["res_dual"], GAP: abs(raw["info"]["gap"])}
    if solver == "OSQP":
        return {PRIMAL: raw.info.prim_res, DUAL: raw.info.dual_res, GAP: abs(raw.info.duality_gap)}
    return {PRIMAL: raw.info.primal_res, DUAL: raw.info.dual_res, GAP: raw.info.duality_gap}


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("solver", ["SCS", "OSQP", "PIQP"])
def test_residuals_are_those_that_the_solver_reports(solver: str, form: str) -> None:
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    test = STOPPING_TESTS[solver]
    # Three digits fewer than default, so that no residual is rounding.
    options = {name: 1e-3 for name in test.tolerances} | ({"polishing": False} if solver == "OSQP" else {})
    data, raw = data_and_answer(solver, quadratic(), form, **options)
    residuals = test.residuals(data, raw, dict.fromkeys(test.tolerances, 1e-3))
    assert residuals is not None and residuals.keys() == {PRIMAL, DUAL, GAP}
    scale = max(residual.value for residual in residuals.values())
    for part, value in reported(solver, raw).items():
        # OSQP has a z of its own between the bounds, and so at least as large a primal residual.
        if (solver, part) == ("OSQP", PRIMAL):
            assert residuals[part].value <= value * (1 + 1e-6)
        else:
            assert residuals[part].value == pytest.approx(value, rel=1e-5, abs=1e-9 * scale)
    assert all(residual.value <= residual.limit for residual in residuals.values())


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_relative_residuals_of_clarabel_are_those_that_it_reports(form: str) -> None:
    tolerances = dict.fromkeys(STOPPING_TESTS["CLARABEL"].tolerances, 1e-3)
    data, raw = data_and_answer("CLARABEL", reference_erlpboost(), form, **tolerances)
    residuals = clarabel_residuals(data, raw, tolerances)
    assert residuals is not None
    relative = [1e-3 * residuals[part].value / residuals[part].limit for part in (PRIMAL, DUAL)]
    assert relative == [pytest.approx(raw.r_prim, rel=1e-4), pytest.approx(raw.r_dual, rel=1e-4)]
    assert residuals[GAP].value == pytest.approx(abs(raw.obj_val - raw.obj_val_dual), rel=1e-6)


def test_scs_by_hand() -> None:
    # Of min x over x >= 1: x = 1/2, y = 2, s = 0. |Ax + s - b| = 1/2, |A'y + c| = 1, |c'x + b'y| = 3/2.
    data = {"A": ONE, "b": np.array([-1.0]), "c": np.array([1.0])}
    raw = {"x": np.array([0.5]), "y": np.array([2.0]), "s": np.array([0.0])}
    residuals = scs_residuals(data, raw, {"eps_abs": 0.1, "eps_rel": 0.01})
    assert residuals is not None
    assert [residual.value for residual in residuals.values()] == [0.5, 1.0, 1.5]
    assert [residual.limit for residual in residuals.values()] == pytest.approx([0.11, 0.12, 0.12])


def test_clarabel_by_hand() -> None:
    data = {"A": ONE, "b": np.array([-1.0]), "c": np.array([1.0])}
    raw = SimpleNamespace(x=[0.5], z=[2.0], s=[0.0])
    residuals = clarabel_residuals(data, raw, {"tol_feas": 0.1, "tol_gap_abs": 0.3, "tol_gap_rel": 0.5})
    assert residuals is not None
    assert [residual.value for residual in residuals.values()] == [0.5, 1.0, 1.5]  # the objectives are 1/2 and 2
    assert [residual.limit for residual in residuals.values()] == pytest.approx([0.1 * 1.5, 0.1 * 3.5, 0.5])


def test_ecos_by_hand() -> None:
    data = {"A": None, "b": None, "G": ONE, "h": np.array([-1.0]), "c": np.array([1.0])}
    raw = {"x": np.array([0.5]), "y": np.zeros(0), "z": np.array([2.0]), "s": np.array([0.25])}
    residuals = ecos_residuals(data, raw, {"feastol": 0.1, "abstol": 0.3, "reltol": 0.4})
    assert residuals is not None
    # The gap s z is 1/2, over the dual value 2.
    assert [residual.value for residual in residuals.values()] == [0.75, 1.0, 0.5]
    assert [residual.limit for residual in residuals.values()] == pytest.approx([0.175, 0.3, 0.8])


def test_ecos_counts_the_worse_of_equations_and_rows() -> None:
    one = np.array([1.0])
    data = {"A": sp.csc_matrix([[1.0]]), "b": 3.0 * one, "G": ONE, "h": -one, "c": one}
    raw = {"x": one, "y": one, "z": one, "s": 0.0 * one}
    residuals = ecos_residuals(data, raw, {"feastol": 0.1, "abstol": 0.1, "reltol": 0.1})
    assert residuals is not None and residuals[PRIMAL].value == 2.0
    assert residuals[PRIMAL].limit == pytest.approx(0.1 * (3.0 + 1.0))


def test_osqp_by_hand() -> None:
    # min x' x / 2 - x over x <= 1/4: x = 1/2 and y = 1, for which Px + q + A'y = 1/2 and the gap is 1/4 - 1/2 + 1/4.
    data = {"P": sp.csc_matrix([[1.0]]), "q": np.array([-1.0]), "Ax": sp.csc_matrix([[1.0]])}
    data |= {"l": np.array([-np.inf]), "u": np.array([0.25])}
    raw = SimpleNamespace(x=[0.5], y=[1.0], info=SimpleNamespace(duality_gap=0.0))
    residuals = osqp_residuals(data, raw, {"eps_abs": 0.1, "eps_rel": 0.1})
    assert residuals is not None
    assert [residual.value for residual in residuals.values()] == [0.25, 0.5, 0.0]
    assert [residual.limit for residual in residuals.values()] == pytest.approx([0.15, 0.2, 0.15])
    raw = SimpleNamespace(x=[0.5], y=[-1.0], info=SimpleNamespace())  # an old version, which tests no gap
    parts = osqp_residuals(data, raw, {"eps_abs": 0.1, "eps_rel": 0.1})
    assert parts is not None and parts.keys() == {PRIMAL, DUAL}


def test_piqp_counts_bounds_of_variables() -> None:
    # min x over 1 <= x: x = 1/2 and the multiplier 2 of the bound.
    empty, no_rows = np.zeros(0), sp.csc_matrix((0, 1))
    data = {"P": sp.csc_matrix((1, 1)), "q": np.array([1.0]), "A": no_rows, "b": empty, "F": no_rows, "G": empty}
    data |= {"lower_bounds": np.array([1.0]), "upper_bounds": np.array([np.inf])}
    names = {"x": [0.5], "y": empty, "z_u": empty, "s_u": empty, "z_bl": [2.0], "z_bu": [0.0]}
    raw = SimpleNamespace(**names, s_bl=[0.0], s_bu=[1e30])
    tolerances = dict(eps_abs=0.1, eps_rel=0.01, eps_duality_gap_abs=0.2, eps_duality_gap_rel=0.3)
    residuals = piqp_residuals(data, raw, tolerances)
    assert residuals is not None
    assert [residual.value for residual in residuals.values()] == [0.5, 1.0, 1.5]
    assert [residual.limit for residual in residuals.values()] == pytest.approx([0.1, 0.1, 0.6])


def test_highs_by_hand() -> None:
    # min x - y over 0 <= x, y <= 1, x + y <= 3/2. At (-1/4, 2) with the multiplier 1/2 of the row, of the wrong sign.
    data = {"c": np.array([1.0, -1.0]), "Ax": sp.csc_matrix([[1.0, 1.0]])}
    data |= {"l": np.array([-np.inf]), "u": np.array([1.5])}
    data |= {"lower_bounds": np.zeros(2), "upper_bounds": np.ones(2)}
    raw = {"solution": SimpleNamespace(col_value=[-0.25, 2.0], row_dual=[0.5])}
    tolerances = {"primal_feasibility_tolerance": 0.5, "dual_feasibility_tolerance": 0.25}
    residuals = highs_residuals(data, raw, tolerances)
    assert residuals is not None
    assert [(residual.value, residual.limit) for residual in residuals.values()] == [(1.0, 0.5), (0.5, 0.25)]


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_answers_of_highs_keep_its_test(form: str) -> None:
    data, raw = data_and_answer("HIGHS", reference_lpboost(), form)
    residuals = highs_residuals(data, raw, STOPPING_TESTS["HIGHS"].tolerances)
    assert residuals is not None and residuals.keys() == {PRIMAL, DUAL}
    assert all(residual.value <= 1e-9 for residual in residuals.values())


def test_ratios_follow_the_tolerances_that_were_sent() -> None:
    test = STOPPING_TESTS["SCS"]
    data, raw = data_and_answer("SCS", reference_erlpboost(), "primal", eps_abs=1e-3, eps_rel=1e-3)
    sent, coarse = (test.ratios(data, raw, {"eps_abs": e, "eps_rel": e, "max_iters": 9}) for e in (1e-3, 1e-2))
    assert sent.keys() == set(RATIO_KEYS.values()) and max(sent.values()) <= 1.0
    assert all(coarse[key] == pytest.approx(sent[key] / 10) for key in sent)
    assert test.ratios(data, raw, {}) == pytest.approx({key: 100 * ratio for key, ratio in sent.items()})


def test_an_answer_that_is_not_finite_has_no_residuals() -> None:
    data = {"A": ONE, "b": np.array([-1.0]), "c": np.array([1.0])}
    raw = {"x": np.array([np.nan]), "y": np.array([2.0]), "s": np.array([0.0])}
    assert STOPPING_TESTS["SCS"].ratios(data, raw, {}) == {}
    assert STOPPING_TESTS["SCS"].ratios(data, {"x": None, "y": None, "s": None}, {}) == {}


def test_a_quadratic_form_may_be_given_by_its_upper_triangle() -> None:
    P = sp.csc_matrix([[2.0, 1.0], [1.0, 3.0]])
    data = {"A": sp.csc_matrix((1, 2)), "b": np.zeros(1), "c": np.zeros(2)}
    raw = {"x": np.array([1.0, -2.0]), "y": np.zeros(1), "s": np.zeros(1)}
    whole, upper = (
        scs_residuals({**data, "P": form}, raw, {"eps_abs": 1.0, "eps_rel": 0.0}) for form in (P, sp.triu(P))
    )
    assert whole == upper and whole is not None and whole[DUAL].value == 5.0


def test_the_tolerances_are_those_that_a_request_sets() -> None:
    assert all(test.tolerances.keys() == set(SOLVERS[solver].tolerances) for solver, test in STOPPING_TESTS.items())


def test_a_kept_test_is_told_apart_from_a_proved_gap() -> None:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(150, 20))
    U = np.where(rng.random(signs.shape) < 0.3, 1.0, signs)
    program = get_formulation("erlpboost").bind(U, nu=15.0, eta=2000.0)
    result = compare(program, ["interior", "cvxpy:scs:density"], "default")
    interior, scs = result.rows
    assert interior.stopping_test is None and scs.stopping_test is not None
    assert scs.stopping_test.keys() == {PRIMAL, DUAL, GAP} and scs.stopping_test_ratio is not None
    assert scs.claims and scs.stopping_test_ratio <= 1.0 and scs.scaled_gap > 3e-5  # CVXPY asks SCS for 1e-5
    words = " ".join(conclusion.words for conclusion in summarize_comparison(result.rows))
    assert "at its default accuracy and keeps its own stopping test" in words
    assert f"proves a gap of {scs.scaled_gap:.1e}" in words


def test_a_test_that_is_not_kept_is_said_to_be_so() -> None:
    (row,) = compare(reference_erlpboost(), "cvxpy:scs", 1e-3).rows
    missed = replace(row, stopping_test={PRIMAL: 0.5, DUAL: 31.0}, result="failed", scaled_gap=2e-3)
    (sentence,) = stopping_test_sentences([row, missed])
    assert "does not keep its own stopping test" in sentence and "31 times the limit" in sentence
    assert "proves a gap of 2.0e-03" in sentence
    assert stopping_test_sentences([row, replace(missed, stopping_test=None)]) == []
