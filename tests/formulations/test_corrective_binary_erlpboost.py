"""Corrective Binary ERLPBoost: Corrective ERLPBoost's tests with the binary entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import TIGHT, assert_problems_agree, bind, random_program, within_caps
from support.problems import REFERENCE_D0, REFERENCE_ETA, REFERENCE_NU, REFERENCE_U, slow_soft_margin

from boostopt import Outcome, Program, get_formulation


def corrective(U: object, **parameters: object) -> Program:
    return bind("corrective_binary_erlpboost", U, **parameters)


def reference(segment: bool) -> Program:
    U = np.column_stack([REFERENCE_U[:, :2].mean(axis=1), REFERENCE_U[:, 2]])
    return corrective(U, nu=REFERENCE_NU, eta=REFERENCE_ETA, d0=REFERENCE_D0, segment=segment)


def two_columns(seed: int, segment: bool) -> Program:
    """Return a mixture and a hypothesis with equal edges at the reference: the printed program is feasible."""
    one, rng = random_program(seed), np.random.default_rng(seed)
    N = len(one.U)
    v, u = 0.5 * rng.uniform(-1, 1, (2, N))
    d0 = within_caps(one)
    counts = np.ones(N) if one.c is None else one.c
    inside = counts / counts.sum() if d0 is None else d0
    U = np.column_stack([v, u - inside @ (u - v)])
    return corrective(U, nu=one.nu, eta=one.eta, c=one.c, d0=d0, segment=segment)


def test_structure_by_hand() -> None:
    """N = 3, nu = 2, eta = 3, c = (1, 2, 1), nu d0 / c = (2/5, 3/5, 2/5), v = (1, -1/2, 1), u = (-1, 1, 0).

    Primal  as Corrective ERLPBoost's, with sum (u - d) ln((u - d) / (u - d0)) added, u = (1/2, 1, 1/2), without cap
    Dual    max -(1/6) [ ln(3/5 + 2/5 exp(-3 (1 - 2 w_u + beta))) + 2 ln(2/5 + 3/5 exp(-3 (-1/2 + 3/2 w_u + beta)))
                + ln(3/5 + 2/5 exp(-3 (1 - w_u + beta))) ] - beta      s.t.  0 <= w_u <= 1; printed w_u free
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    d, d0, u = np.array([0.25, 0.5, 0.25]), np.array([0.2, 0.6, 0.2]), np.array([0.5, 1.0, 0.5])
    entropy = sum(d * np.log(d / d0)) + sum((u - d) * np.log((u - d) / (u - d0)))
    terms = (
        math.log(0.6 + 0.4 * math.exp(-3 * (1 - 1.5 + 0.2)))
        + 2 * math.log(0.4 + 0.6 * math.exp(-3 * (-0.5 + 1.125 + 0.2)))
        + math.log(0.6 + 0.4 * math.exp(-3 * (1 - 0.75 + 0.2)))
    )
    for segment, of_primal, of_dual in (
        (True, ["w_v", "w_u", "beta"], ["gamma", "w >= 0"]),
        (False, ["w_v", "beta"], ["gamma"]),
    ):
        program = corrective(U, nu=2, eta=3, c=[1, 2, 1], d0=d0, segment=segment)
        primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
        assert [c.label for c in primal.constraints] == of_primal
        assert [c.label for c in dual.constraints] == of_dual
        primal.var_dict["d"].value = d
        if segment:
            primal.var_dict["gamma"].value = 0.4
        assert primal.objective.value == pytest.approx((0.4 if segment else -0.25 + 0.5) + entropy / 3)
        dual.var_dict["w"].value, dual.var_dict["beta"].value = np.array([0.25, 0.75]), 0.2
        assert dual.objective.value == pytest.approx(-terms / 6 - 0.2)


@pytest.mark.parametrize("segment", (True, False))
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int, segment: bool) -> None:
    assert_problems_agree(two_columns(seed, segment))


@pytest.mark.parametrize("segment", (True, False))
def test_the_dual_is_a_line_search(segment: bool) -> None:
    for seed in range(6):
        program = two_columns(seed, segment)

        def minus_dual(w_u: float, program: Program = program) -> float:
            m = program.margins.margins(np.array([1 - w_u, w_u]))
            return program.regularizer.conjugate_at(-m).value

        bounds = (0.0, 1.0) if segment else (-50.0, 50.0)
        minimum: Any = scipy.optimize.minimize_scalar(
            minus_dual, bounds=bounds, method="bounded", options={"xatol": 1e-10}
        )
        best = max(-minimum.fun, *(-minus_dual(end) for end in (0.0, 1.0)))
        certificate = program.solve("cvxpy:clarabel", tol=1e-10).certificate
        assert certificate.upper >= best - 1e-12
        assert best == pytest.approx(certificate.lower, abs=1e-9)


@pytest.mark.parametrize("segment", (True, False))
def test_kkt_system_of_the_page(segment: bool) -> None:
    program = reference(segment)
    solution, cap = program.solve("cvxpy:clarabel", tol=1e-12), 1 / REFERENCE_NU
    v, u = program.margins.to_array().T
    w_v, w_u = solution.w
    m = w_v * v + w_u * u
    d, beta = program.regularizer.conjugate_at(-m).d, float(solution.multipliers["beta"])
    slope = np.log(d / REFERENCE_D0) - np.log((cap - d) / (cap - REFERENCE_D0))
    np.testing.assert_allclose(slope / REFERENCE_ETA + m + beta, 0, atol=1e-10)
    gamma = max(v @ solution.d, u @ solution.d)
    np.testing.assert_allclose([w_v * (gamma - v @ solution.d), w_u * (gamma - u @ solution.d)], 0, atol=1e-10)


@pytest.mark.parametrize("segment", (True, False))
def test_the_multipliers_of_the_literal_primal_are_the_derived_ones(segment: bool) -> None:
    program = reference(segment)
    primal, solution = program.cvxpy("primal", "literal"), program.solve("cvxpy:clarabel", tol=1e-12)
    primal.solve("CLARABEL", **TIGHT)
    options = {c.label: c.dual_value for c in primal.constraints}
    assert options["w_v"] == pytest.approx(solution.w[0], abs=1e-5)
    assert options["beta"] == pytest.approx(float(solution.multipliers["beta"]), abs=1e-5)


def test_the_step_is_binary_erlpboost_on_two_columns() -> None:
    U = reference(True).margins.to_array()
    program = bind("binary_erlpboost", U, nu=REFERENCE_NU, eta=REFERENCE_ETA, d0=REFERENCE_D0)
    one, program = reference(True).solve("cvxpy:clarabel", tol=1e-12), program.solve("cvxpy:clarabel", tol=1e-12)
    assert one.certificate.overlaps(program.certificate)
    np.testing.assert_allclose(one.w, program.w, atol=1e-6)


@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
def test_the_printed_program_is_infeasible_where_the_difference_has_a_soft_margin(backend: str) -> None:
    rng = np.random.default_rng(5)
    v = rng.uniform(-0.5, 0.2, 30)
    U = np.column_stack([v, np.append(v[:-4] + 0.3, v[-4:] - 0.5)])
    x = U[:, 1] - U[:, 0]
    assert max(slow_soft_margin(sign * x, np.ones(30), 8.0) for sign in (1, -1)) < 0
    feasible = corrective(U, nu=8, eta=1, segment=False).solve(backend)
    assert feasible.outcome is Outcome.SOLVED
    assert feasible.certificate.scaled_gap <= 1e-8
    assert feasible.w[1] > 1
    infeasible = corrective(U, nu=16, eta=1, segment=False).solve(backend)
    assert infeasible.outcome is Outcome.INFEASIBLE
    assert infeasible.certificate.excess == pytest.approx(slow_soft_margin(x, np.ones(30), 16.0), abs=1e-11)
    assert corrective(U, nu=16, eta=1).solve(backend).certificate.scaled_gap <= 1e-8


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c, d0 = np.array([1, 3, 1, 2, 1, 1]), np.array([0.1, 0.3, 0.1, 0.25, 0.15, 0.1])
    U = reference(True).margins.to_array()
    for segment in (True, False):
        merged = corrective(U, nu=3.7, eta=4, c=c, d0=d0, segment=segment)
        copies = corrective(np.repeat(U, c, axis=0), nu=3.7, eta=4, d0=np.repeat(d0 / c, c), segment=segment)
        one, solution = merged.solve("cvxpy:clarabel", tol=1e-12), copies.solve("cvxpy:clarabel", tol=1e-12)
        assert one.certificate.lower == pytest.approx(solution.certificate.lower, abs=1e-10)
        assert one.certificate.upper == pytest.approx(solution.certificate.upper, abs=1e-10)
        np.testing.assert_allclose(one.w, solution.w, atol=1e-6)


def test_canonical_eta_and_the_iteration_bound() -> None:
    page = get_formulation("corrective_binary_erlpboost")
    program = corrective(np.ones((30, 2)), nu=3, epsilon=0.05)
    largest = 30 / 3 * (-0.1 * math.log(0.1) - 0.9 * math.log(0.9))
    assert program.parameters.eta == pytest.approx(2 / 0.05 * largest, rel=1e-12)
    assert page.boosting.iteration_bound(program) == pytest.approx(32 / 0.05**2 * largest)
    printed_value = corrective(np.ones((30, 2)), nu=3, epsilon=0.05, segment=False)
    assert page.boosting.iteration_bound(printed_value) == math.inf
