"""Corrective ERLPBoost: the line search between two columns, the program as printed, and where that is infeasible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import TIGHT, assert_problems_agree, bind, random_program
from support.problems import (
    REFERENCE_D0,
    REFERENCE_ETA,
    REFERENCE_NU,
    REFERENCE_U,
    RandomProgram,
    noisy_stumps,
    slow_soft_margin,
)

from boostopt import Outcome, ProblemError, Program, get_formulation


def corrective(U: object, **parameters: object) -> Program:
    return bind("corrective_erlpboost", U, **parameters)


def reference(segment: bool) -> Program:
    """Take for v the mixture of the first two columns in equal parts, u the third column."""
    U = np.column_stack([REFERENCE_U[:, :2].mean(axis=1), REFERENCE_U[:, 2]])
    return corrective(U, nu=REFERENCE_NU, eta=REFERENCE_ETA, d0=REFERENCE_D0, segment=segment)


def two_columns(seed: int, segment: bool) -> tuple[RandomProgram, Program]:
    """Return a mixture and a hypothesis with equal edges at the reference: the printed program is feasible."""
    one, rng = random_program(seed), np.random.default_rng(seed)
    N = len(one.U)
    v, u = 0.5 * rng.uniform(-1, 1, (2, N))
    d0 = np.full(N, 1 / N) if one.d0 is None else one.d0
    counts = np.ones(N) if one.c is None else one.c
    inside = np.where(d0 > 0, counts, 0.0) / counts[d0 > 0].sum()  # strictly below the caps unless they sum to 1
    U = np.column_stack([v, u - inside @ (u - v)])
    return one, corrective(U, nu=one.nu, eta=one.eta, c=one.c, d0=one.d0, segment=segment)


def test_structure_by_hand() -> None:
    """N = 3, nu = 2, eta = 3, c = (1, 2, 1), d0 = (1/4, 1/2, 1/4), v = (1, -1/2, 1), u = (-1, 1, 0).

    Primal  min gamma + (1/3) sum d ln(d / d0)   s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma and ERLPBoost's;
            printed  min -d1 + d2 + (1/3) sum d ln(d / d0)   s.t.  2 d1 - 3/2 d2 + d3 = 0 in place of the two
    Dual    max -(1/3) ln[ exp(-3 (1 - 2 w_u + psi1)) / 4 + exp(-3 (-1/2 + 3/2 w_u + psi2)) / 2
                + exp(-3 (1 - w_u + psi3)) / 4 ] - (psi1 + 2 psi2 + psi3) / 2
            s.t.  w_v = 1 - w_u,  0 <= w_u <= 1,  psi >= 0;   printed  w_u free
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    segment, printed_value = (corrective(U, nu=2, eta=3, c=[1, 2, 1], segment=flag) for flag in (True, False))
    primal, dual = segment.cvxpy("primal", "literal"), segment.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w_v", "w_u", "beta", "psi"]
    assert [c.label for c in dual.constraints] == ["gamma", "w >= 0", "psi >= 0"]
    d, d0 = np.array([0.2, 0.5, 0.3]), np.array([0.25, 0.5, 0.25])
    entropy = sum(d * np.log(d / d0))
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, 0.4
    assert primal.objective.value == pytest.approx(0.4 + entropy / 3)
    edges = [float(c.args[0].value - c.args[1].value) for c in primal.constraints[:2]]
    np.testing.assert_allclose(edges, [0.2 - 0.25 + 0.3 - 0.4, -0.2 + 0.5 - 0.4])

    w_u, psi = 0.75, np.array([0.6, 0.1, 0.0])
    inside = (
        0.25 * math.exp(-3 * (1 - 1.5 + 0.6))
        + 0.5 * math.exp(-3 * (-0.5 + 1.125 + 0.1))
        + 0.25 * math.exp(-3 * (1 - 0.75 + 0.0))
    )
    value = -math.log(inside) / 3 - (0.6 + 2 * 0.1 + 0.0) / 2
    dual.var_dict["w"].value, dual.var_dict["psi"].value = np.array([1 - w_u, w_u]), psi
    assert dual.objective.value == pytest.approx(value)

    primal, dual = printed_value.cvxpy("primal", "literal"), printed_value.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w_v", "beta", "psi"]
    assert [c.label for c in dual.constraints] == ["gamma", "psi >= 0"]
    primal.var_dict["d"].value = d
    assert primal.objective.value == pytest.approx(-0.2 + 0.5 + entropy / 3)
    assert primal.constraints[0].residual == pytest.approx(abs(2 * 0.2 - 1.5 * 0.5 + 0.3))
    dual.var_dict["w"].value, dual.var_dict["psi"].value = np.array([1 - w_u, w_u]), psi
    assert dual.objective.value == pytest.approx(value)


@pytest.mark.parametrize("segment", (True, False))
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int, segment: bool) -> None:
    _, program = two_columns(seed, segment)
    assert_problems_agree(program)


@pytest.mark.parametrize("segment", (True, False))
@pytest.mark.parametrize("seed", range(10))
def test_the_dual_is_a_line_search(seed: int, segment: bool) -> None:
    """One bounded search of SciPy on the dual of ERLPBoost along v + w_u (u - v) attains the optimum."""
    one, program = two_columns(seed, segment)
    erlpboost = bind("erlpboost", program.margins.to_array(), nu=one.nu, eta=one.eta, c=one.c, d0=one.d0)

    def minus_dual(w_u: float) -> float:
        return erlpboost.regularizer.conjugate_at(-program.margins.margins(np.array([1 - w_u, w_u]))).value

    bounds = (0.0, 1.0) if segment else (-50.0, 50.0)
    minimum: Any = scipy.optimize.minimize_scalar(minus_dual, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    best = max(-minimum.fun, *(-minus_dual(end) for end in (0.0, 1.0)))
    certificate = program.solve("cvxpy:clarabel", tol=1e-10).certificate
    assert certificate.scaled_gap <= 1e-10
    assert certificate.upper >= best - 1e-12
    assert best == pytest.approx(certificate.lower, abs=1e-9)


@pytest.mark.parametrize("segment", (True, False))
def test_kkt_system_of_the_page(segment: bool) -> None:
    program = reference(segment)
    solution = program.solve("cvxpy:clarabel", tol=1e-12)
    v, u = program.margins.to_array().T
    w_v, w_u = solution.w
    assert w_v + w_u == pytest.approx(1, abs=1e-15)
    m, d = w_v * v + w_u * u, program.regularizer.conjugate_at(-(w_v * v + w_u * u)).d
    beta, psi = float(solution.multipliers["beta"]), np.asarray(solution.multipliers["psi"])
    np.testing.assert_allclose(np.log(d / REFERENCE_D0) / REFERENCE_ETA + m + psi + beta, 0, atol=1e-10)
    np.testing.assert_allclose(psi * (1 / REFERENCE_NU - d), 0, atol=1e-10)
    gamma = max(v @ solution.d, u @ solution.d)
    np.testing.assert_allclose([w_v * (gamma - v @ solution.d), w_u * (gamma - u @ solution.d)], 0, atol=1e-10)


@pytest.mark.parametrize("segment", (True, False))
def test_the_multipliers_of_the_literal_primal_are_w(segment: bool) -> None:
    program = reference(segment)
    primal = program.cvxpy("primal", "literal")
    primal.solve("CLARABEL", **TIGHT)
    options = {c.label: c.dual_value for c in primal.constraints}
    w_v, w_u = program.solve("cvxpy:clarabel", tol=1e-12).w
    assert options["w_v"] == pytest.approx(w_v, abs=1e-5)
    if segment:
        assert options["w_u"] == pytest.approx(w_u, abs=1e-5)


def test_the_step_is_erlpboost_on_two_columns() -> None:
    U = reference(True).margins.to_array()
    one = reference(True).solve("cvxpy:clarabel", tol=1e-12)
    solution = bind("erlpboost", U, nu=REFERENCE_NU, eta=REFERENCE_ETA, d0=REFERENCE_D0).solve(
        "cvxpy:clarabel", tol=1e-12
    )
    assert one.certificate.overlaps(solution.certificate)
    np.testing.assert_allclose(one.w, solution.w, atol=1e-6)


def far_beyond() -> np.ndarray:
    """A new hypothesis that is better than the mixture nearly everywhere: equal edges need more than all of it."""
    rng = np.random.default_rng(5)
    v = rng.uniform(-0.5, 0.2, 30)
    return np.column_stack([v, np.append(v[:-4] + 0.3, v[-4:] - 0.5)])


def test_w_of_the_printed_program_may_leave_the_simplex() -> None:
    """The printed optimum is then larger than the optimum over mixtures: it belongs to no mixture."""
    free, restricted = (corrective(far_beyond(), nu=4, eta=1, segment=segment) for segment in (False, True))
    printed_value, segment = (program.solve("cvxpy:clarabel", tol=1e-10) for program in (free, restricted))
    assert printed_value.w[1] > 1.5
    assert printed_value.w.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(segment.w, [0, 1], atol=1e-8)
    assert printed_value.certificate.lower > segment.certificate.upper + 0.01
    e = free.margins.edges(printed_value.d)
    assert e[0] == pytest.approx(e[1], abs=1e-13)


@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
def test_the_printed_program_is_infeasible_where_the_difference_has_a_soft_margin(backend: str) -> None:
    """Either u - v has one or v - u: no d has equal edges. With the segment there is always an answer."""
    nu = 8.0
    for order in (slice(None), slice(None, None, -1)):
        U = far_beyond()[:, order]
        x = U[:, 1] - U[:, 0]
        soft_margin = max(slow_soft_margin(sign * x, np.ones(30), nu) for sign in (1, -1))
        assert soft_margin < 0
        feasible = corrective(U, nu=nu, eta=1, segment=False).solve(backend)
        assert feasible.outcome is Outcome.SOLVED
        soft_margin = max(slow_soft_margin(sign * x, np.ones(30), 16.0) for sign in (1, -1))
        assert soft_margin > 0
        infeasible = corrective(U, nu=16, eta=1, segment=False).solve(backend)
        assert infeasible.outcome is Outcome.INFEASIBLE
        assert infeasible.certificate.excess == pytest.approx(soft_margin, abs=1e-11)
        np.testing.assert_allclose(np.abs(infeasible.w), 1)
        assert infeasible.w.sum() == 0
        solution = corrective(U, nu=16, eta=1).solve(backend)
        assert solution.certificate.scaled_gap <= 1e-8


def test_a_round_gains_at_least_what_the_step_of_the_algorithm_gains() -> None:
    """The exact search against s^2 / (8 eta), and the soft margin that the rounds lead to."""
    U, nu, epsilon = noisy_stumps(80, 30).astype(np.float64), 8.0, 0.2
    erlpboost = bind("erlpboost", U, nu=nu, epsilon=epsilon)
    eta = erlpboost.parameters.eta
    first = int((U.T @ np.full(80, 1 / 80)).argmax())
    v, w = U[:, first], np.eye(30)[first]
    for _ in range(40):
        point = erlpboost.regularizer.conjugate_at(-v)
        e = U.T @ point.d
        q = int(e.argmax())
        s = float(e[q] - v @ point.d)
        if s <= epsilon / 2:
            break
        solution = corrective(np.column_stack([v, U[:, q]]), nu=nu, eta=eta).solve("cvxpy:clarabel", tol=1e-9)
        assert solution.certificate.lower >= -point.value + s**2 / (8 * eta)
        v, w = (
            U @ (solution.w[0] * w + solution.w[1] * np.eye(30)[q]),
            solution.w[0] * w + solution.w[1] * np.eye(30)[q],
        )
    certificate = erlpboost.certify(w=w)
    assert certificate.gap <= epsilon / 2
    best = bind("lpboost", U, nu=nu).solve("cvxpy:highs").certificate
    assert slow_soft_margin(v, np.ones(80), nu) >= best.lower - epsilon


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    U = reference(True).margins.to_array()
    for segment in (True, False):
        merged = corrective(U, nu=3.7, eta=4, c=c, d0=REFERENCE_D0, segment=segment)
        d0 = np.repeat(REFERENCE_D0 / c, c)
        copies = corrective(np.repeat(U, c, axis=0), nu=3.7, eta=4, d0=d0, segment=segment)
        one, solution = merged.solve("cvxpy:clarabel", tol=1e-12), copies.solve("cvxpy:clarabel", tol=1e-12)
        assert one.certificate.lower == pytest.approx(solution.certificate.lower, abs=1e-10)
        assert one.certificate.upper == pytest.approx(solution.certificate.upper, abs=1e-10)
        np.testing.assert_allclose(one.w, solution.w, atol=1e-6)


def test_two_columns_canonical_eta_and_the_iteration_bound() -> None:
    page = get_formulation("corrective_erlpboost")
    program = corrective(np.ones((40, 2)), nu=10, epsilon=0.05)
    assert program.parameters.eta == pytest.approx(2 / 0.05 * math.log(40 / 10), rel=1e-12)
    assert page.boosting.iteration_bound(program) == pytest.approx(32 / 0.05**2 * math.log(4))
    printed_value = corrective(np.ones((40, 2)), nu=10, epsilon=0.05, segment=False)
    assert page.boosting.iteration_bound(printed_value) == math.inf
    with pytest.raises(ProblemError, match=r"\b2 columns\b.*\b3\b"):
        corrective(REFERENCE_U, nu=2)
