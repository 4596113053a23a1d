"""Binary SoftBoost: the page against the package, its link to Binary ERLPBoost, and infeasibility."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_problems_agree, best_edge, bind, random_program, within_caps
from support.problems import REFERENCE_D0, REFERENCE_NU, REFERENCE_U, slow_soft_margin

from boostopt import Outcome, ProblemError, Program, get_formulation


def binary_softboost(U: object, **parameters: object) -> Program:
    return bind("binary_softboost", U, **parameters)


P_LP = best_edge(REFERENCE_U, np.full(6, 1 / REFERENCE_NU))


def reference(gamma: float) -> Program:
    return binary_softboost(REFERENCE_U, nu=REFERENCE_NU, gamma=gamma, d0=REFERENCE_D0)


def slow_entropy(d: np.ndarray, d0: np.ndarray, caps: np.ndarray) -> float:
    """The binary relative entropy, as it is printed."""
    return float(sum(d * np.log(d / d0) + (caps - d) * np.log((caps - d) / (caps - d0))))


def test_structure_by_hand() -> None:
    """N = 3, t = 2, nu = 2, gamma = 0.3, c = (1, 2, 1), d0 = (1/4, 1/2, 1/4), so that nu d0 / c = 1/2.

    Primal  min sum d ln(d / d0) + (u - d) ln((u - d) / (u - d0)), u = (1/2, 1, 1/2)
            s.t.  d1 - d2/2 + d3 <= 0.3,  -d1 + d2 <= 0.3,  d1 + d2 + d3 = 1
    Dual    max -(1/2) [ ln((1 + exp(-(w1 - w2 + beta))) / 2) + 2 ln((1 + exp(-(-w1/2 + w2 + beta))) / 2)
                + ln((1 + exp(-(w1 + beta))) / 2) ] - beta - 0.3 (w1 + w2)   s.t.  w >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = binary_softboost(U, nu=2, gamma=0.3, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta"]
    assert [c.label for c in dual.constraints] == ["w >= 0"]
    d, d0, caps = np.array([0.2, 0.5, 0.3]), np.array([0.25, 0.5, 0.25]), np.array([0.5, 1.0, 0.5])
    primal.var_dict["d"].value = d
    assert primal.objective.value == pytest.approx(slow_entropy(d, d0, caps))
    dual.var_dict["w"].value, dual.var_dict["beta"].value = [0.5, 1.5], 0.2
    terms = [
        math.log((1 + math.exp(-(0.5 - 1.5 + 0.2))) / 2),
        2 * math.log((1 + math.exp(-(-0.25 + 1.5 + 0.2))) / 2),
        math.log((1 + math.exp(-(0.5 + 0.2))) / 2),
    ]
    assert dual.objective.value == pytest.approx(-sum(terms) / 2 - 0.2 - 0.3 * 2.0)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    """The bound lies between the reference's edge and the best one, so that weights at their ends may stay."""
    one = random_program(seed)
    d0 = within_caps(one)
    program = binary_softboost(one.U, nu=one.nu, gamma=1.0, c=one.c, d0=d0)
    free = float((program.examples.d0 @ one.U).max())
    counts = program.examples.c / one.nu
    fixed = ~program.regularizer.movable  # pyright: ignore[reportAttributeAccessIssue]
    lowest = best_edge(one.U, counts) if not fixed.any() else free
    gamma = min(1.0, 0.5 * (lowest + free) + 1e-3)
    assert_problems_agree(binary_softboost(one.U, nu=one.nu, gamma=gamma, c=one.c, d0=d0))


def test_the_optimum_agrees_with_a_smooth_minimization() -> None:
    """No part of boostopt: sequential quadratic programming on the primal as printed."""
    caps, gamma = np.full(6, 1 / REFERENCE_NU), P_LP + 0.05
    answer: Any = scipy.optimize.minimize(
        slow_entropy,
        REFERENCE_D0,
        args=(REFERENCE_D0, caps),
        bounds=[(1e-9, cap - 1e-9) for cap in caps],
        constraints=[
            {"type": "eq", "fun": lambda d: d.sum() - 1},
            {"type": "ineq", "fun": lambda d: gamma - REFERENCE_U.T @ d},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    solution = reference(gamma).solve("cvxpy:clarabel", tol=1e-11)
    assert solution.certificate.scaled_gap <= 1e-11
    assert solution.certificate.upper == pytest.approx(answer.fun, abs=1e-8)
    np.testing.assert_allclose(solution.d, answer.x, atol=1e-5)


def test_kkt_system_of_the_page() -> None:
    gamma = P_LP + 0.05
    solution, u = reference(gamma).solve("cvxpy:clarabel", tol=1e-12), 1 / REFERENCE_NU
    d = reference(gamma).regularizer.conjugate_at(-(REFERENCE_U @ solution.w)).d  # d(w)
    slope = np.log(d / REFERENCE_D0) - np.log((u - d) / (u - REFERENCE_D0))
    np.testing.assert_allclose(slope + REFERENCE_U @ solution.w + solution.multipliers["beta"], 0, atol=1e-9)
    edges = solution.d @ REFERENCE_U
    assert (edges <= gamma).all()
    np.testing.assert_allclose(solution.w * (gamma - edges), 0, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_binary_softboost_is_binary_erlpboost_with_the_sum_of_w_for_eta(seed: int) -> None:
    rng, one = np.random.default_rng(seed), random_program(seed)
    kappa, gamma = float(np.exp(rng.uniform(-1, 4))), float(rng.uniform(-1, 1))
    w, d0 = rng.dirichlet(np.ones(one.U.shape[1])), within_caps(one)
    erlpboost = bind("binary_erlpboost", one.U, nu=one.nu, eta=kappa, c=one.c, d0=d0)
    program = binary_softboost(one.U, nu=one.nu, gamma=gamma, c=one.c, d0=d0)
    m = program.margins.margins(kappa * w)
    value = -program.regularizer.conjugate_at(-m).value - program.edge_function.conjugate(kappa * w)
    expected = kappa * (-erlpboost.regularizer.conjugate_at(-m / kappa).value - gamma)
    assert value == pytest.approx(expected, abs=1e-12 * (1 + kappa) * (1 + one.nu))


@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
def test_below_the_soft_margin_it_is_infeasible_and_w_proves_it(backend: str) -> None:
    for by in (0.1, 1e-3):
        solution = reference(P_LP - by).solve(backend)
        assert solution.outcome is Outcome.INFEASIBLE
        margin = slow_soft_margin(REFERENCE_U @ solution.w, np.ones(6), REFERENCE_NU)
        assert solution.w.sum() == pytest.approx(1)
        assert margin - (P_LP - by) == pytest.approx(solution.certificate.excess, abs=1e-11)
        assert 0 < solution.certificate.excess <= by + 1e-9


def test_just_above_the_soft_margin_it_is_solved() -> None:
    for by in (1e-2, 1e-4, 1e-6):
        assert reference(P_LP + by).solve("cvxpy:clarabel").certificate.scaled_gap <= 1e-8


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    d0 = np.array([0.1, 0.3, 0.1, 0.25, 0.15, 0.1])
    merged = binary_softboost(REFERENCE_U, nu=3.7, gamma=0.1, c=c, d0=d0)
    copies = binary_softboost(np.repeat(REFERENCE_U, c, axis=0), nu=3.7, gamma=0.1, d0=np.repeat(d0 / c, c))
    one, solution = merged.solve("cvxpy:clarabel", tol=1e-12), copies.solve("cvxpy:clarabel", tol=1e-12)
    assert one.certificate.lower == pytest.approx(solution.certificate.lower, abs=1e-10)
    assert one.certificate.upper == pytest.approx(solution.certificate.upper, abs=1e-10)
    np.testing.assert_allclose(np.repeat(one.d / c, c), solution.d, atol=1e-6)


def test_at_nu_equal_N_the_reference_is_the_only_distribution() -> None:
    edge = float(REFERENCE_U.mean(axis=0).max())
    solution = binary_softboost(REFERENCE_U, nu=6, gamma=edge + 1e-6).solve("cvxpy:clarabel")
    assert solution.certificate.upper == pytest.approx(0, abs=1e-9)
    assert solution.certificate.scaled_gap <= 1e-8
    second_solution = binary_softboost(REFERENCE_U, nu=6, gamma=edge - 1e-6).solve("cvxpy:clarabel")
    assert second_solution.outcome is Outcome.INFEASIBLE


def test_the_iteration_bound() -> None:
    program = binary_softboost(np.ones((40, 2)), nu=10, gamma=1.0, epsilon=0.05)
    bound = get_formulation("binary_softboost").boosting.iteration_bound(program)
    entropy = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
    assert bound == math.floor(2 / 0.05**2 * 40 / 10 * entropy) + 1


def test_a_reference_above_the_caps_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"d0 <= c / nu\b.*0\.25 > 0\.2\b"):
        binary_softboost(REFERENCE_U, nu=5, gamma=0.1, d0=REFERENCE_D0)
