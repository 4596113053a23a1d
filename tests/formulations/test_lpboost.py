"""LPBoost: the page against the package, the papers' identities, and numbers known in advance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from agreement import assert_forms_have, assert_problems_agree, random_program
from support.problems import REFERENCE_M, REFERENCE_U, REFERENCE_W, draw, independent_bracket, reference_lpboost

from boostopt import Program, get_formulation


def lpboost(U: object, **parameters: object) -> Program:
    return get_formulation("lpboost").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def test_structure_by_hand() -> None:
    """N = 3, t = 2, nu = 2, c = (1, 2, 1).

    Primal  min gamma   s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma,  d1 + d2 + d3 = 1,
                              0 <= d <= (1/2, 1, 1/2)
    Dual    max rho - (psi1 + 2 psi2 + psi3) / 2
            s.t.  w1 - w2 >= rho - psi1,  -w1/2 + w2 >= rho - psi2,  w1 >= rho - psi3,  w1 + w2 = 1,  w, psi >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = lpboost(U, nu=2, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta", "psi", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "gamma", "w >= 0", "psi >= 0"]

    d, gamma = np.array([0.2, 0.5, 0.3]), 0.4
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    residual = {
        c.label: np.atleast_1d(c.residual if c.label == "beta" else -c.args[1].value + c.args[0].value)
        for c in primal.constraints
    }
    np.testing.assert_allclose(residual["w"], [0.2 - 0.25 + 0.3 - gamma, -0.2 + 0.5 - gamma], atol=1e-15)
    np.testing.assert_allclose(residual["psi"], d - [0.5, 1.0, 0.5], atol=1e-15)
    assert primal.objective.value == gamma

    w, rho, psi = np.array([0.25, 0.75]), 0.1, np.array([0.6, 0.0, 0.0])
    dual.var_dict["w"].value, dual.var_dict["rho"].value, dual.var_dict["psi"].value = w, rho, psi
    assert dual.objective.value == pytest.approx(rho - (psi[0] + 2 * psi[1] + psi[2]) / 2)
    margin = dual.constraints[0]
    np.testing.assert_allclose(
        margin.args[0].value - margin.args[1].value,  # rho - psi - U w, as CVXPY stores a >=
        rho - psi - np.array([0.25 - 0.75, -0.125 + 0.75, 0.25]),
        atol=1e-15,
    )


def test_two_sided_structure_by_hand() -> None:
    """The program with edges and weights of either sign.

    Primal  min gamma   s.t.  |d1 - d2/2 + d3| <= gamma,  |-d1 + d2| <= gamma  and the rest as before
    Dual    max rho - (psi1 + 2 psi2 + psi3) / 2   s.t.  |w1| + |w2| <= 1  and the rest as before, w free in sign
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = lpboost(U, nu=2, c=[1, 2, 1], two_sided=True)
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w+", "w-", "beta", "psi", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "gamma", "psi >= 0"]
    d, gamma = np.array([0.5, 0.2, 0.3]), 0.4
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    upper_residuals, lower_residuals = (c.args[0].value - c.args[1].value for c in primal.constraints[:2])
    np.testing.assert_allclose(upper_residuals, [0.5 - 0.1 + 0.3 - gamma, -0.5 + 0.2 - gamma], atol=1e-15)
    np.testing.assert_allclose(lower_residuals, [-0.5 + 0.1 - 0.3 - gamma, 0.5 - 0.2 - gamma], atol=1e-15)
    dual.var_dict["w"].value = [-0.25, 0.5]
    ball = dual.constraints[1]
    assert ball.args[0].value - ball.args[1].value == pytest.approx(0.75 - 1)


@pytest.mark.parametrize("seed", range(20))
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    program = draw(np.random.default_rng(seed), largest_N=60, largest_t=8).bind("lpboost")
    certificate = program.solve("cvxpy:highs", tol=1e-9).certificate
    assert_forms_have(program, pytest.approx(certificate.upper, abs=1e-7))


@pytest.mark.parametrize("seed", range(10))
def test_literal_derived_and_certified_values_agree_two_sided(seed: int) -> None:
    one = random_program(seed)
    program = lpboost(one.U, nu=one.nu, c=one.c, two_sided=True)
    assert_problems_agree(program)
    assert program.solve("cvxpy:highs", tol=1e-9).certificate.scaled_gap <= 1e-9


def test_reference_numbers() -> None:
    program = reference_lpboost()
    np.testing.assert_allclose(program.margins.margins(REFERENCE_W), REFERENCE_M, atol=1e-15)
    assert program.certify(w=REFERENCE_W).lower == pytest.approx(-0.1, abs=1e-9)
    solution = program.solve("cvxpy:highs", tol=1e-12)
    assert solution.certificate.lower == pytest.approx(0.0037735849, abs=1e-9)
    assert solution.certificate.upper == pytest.approx(0.0037735849, abs=1e-9)
    np.testing.assert_allclose(solution.w, [0.3207547170, 0.3773584906, 0.3018867925], atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_kkt_system_of_the_page(seed: int) -> None:
    program = draw(np.random.default_rng(seed), largest_N=60, largest_t=8).bind("lpboost")
    solution = program.solve("cvxpy:highs", tol=1e-12)
    d, w, caps = solution.d, solution.w, program.examples.c / program.parameters.nu
    m, e = program.margins.margins(w), program.margins.edges(d)
    rho, psi = -float(solution.multipliers["beta"]), solution.multipliers["psi"]
    np.testing.assert_allclose(psi, np.maximum(rho - m, 0), atol=1e-12)
    assert solution.multipliers["gamma"] == pytest.approx(e.max())
    np.testing.assert_allclose(w * (e.max() - e), 0, atol=1e-10)
    np.testing.assert_allclose(psi * (caps - d), 0, atol=1e-10)
    np.testing.assert_allclose(np.maximum(m - rho, 0) * d, 0, atol=1e-10)
    # The nu-property: at most nu examples below rho, at least nu not above it.
    c, nu = program.examples.c, program.parameters.nu
    assert c[m < rho - 1e-9].sum() <= nu * (1 + 1e-9)
    assert c[m <= rho + 1e-9].sum() >= nu * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_two_sided_is_the_class_closed_under_negation(seed: int) -> None:
    one = random_program(seed)
    two_sided = lpboost(one.U, nu=one.nu, c=one.c, two_sided=True)
    closed = lpboost(np.column_stack([one.U, -one.U]), nu=one.nu, c=one.c)
    solution, closed_solution = (program.solve("cvxpy:highs", tol=1e-12) for program in (two_sided, closed))
    assert solution.certificate.overlaps(closed_solution.certificate)
    assert solution.certificate.upper >= 0
    # The weights of the pairs taken together prove the same margin, and the edges hold on both sides.
    t = one.U.shape[1]
    assert two_sided.certify(w=closed_solution.w[:t] - closed_solution.w[t:]).lower == pytest.approx(
        closed_solution.certificate.lower, abs=1e-11
    )
    e = np.abs(two_sided.margins.edges(solution.d))
    np.testing.assert_allclose(np.abs(solution.w) * (e.max() - e), 0, atol=1e-10)
    assert (solution.w * two_sided.margins.edges(solution.d) >= -1e-10).all()


def test_the_sign_of_a_hypothesis_does_not_matter_two_sided() -> None:
    signs = np.array([1, -1, -1])
    one = lpboost(REFERENCE_U, nu=2.5, two_sided=True).solve("cvxpy:highs", tol=1e-12)
    solution = lpboost(REFERENCE_U * signs, nu=2.5, two_sided=True).solve("cvxpy:highs", tol=1e-12)
    assert one.certificate.overlaps(solution.certificate)
    np.testing.assert_allclose(one.w, signs * solution.w, atol=1e-9)


def test_a_pivot_is_the_value() -> None:
    """An entry that is largest in its row and smallest in its column: d and w sit on it."""
    U = np.array([[0.3, 0.2, 0.1], [0.9, -0.4, 0.5], [0.8, 0.6, -0.7]])
    solution = lpboost(U, nu=1).solve("cvxpy:highs", tol=1e-12)
    assert solution.certificate.upper == pytest.approx(0.3, abs=1e-12)
    np.testing.assert_allclose(solution.d, [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(solution.w, [1, 0, 0], atol=1e-12)


def test_hard_margin_is_the_smallest_margin() -> None:
    program = lpboost(REFERENCE_U, nu=1)
    solution = program.solve("cvxpy:highs", tol=1e-12)
    assert (REFERENCE_U @ solution.w).min() == pytest.approx(solution.certificate.upper, abs=1e-12)


def test_at_nu_equal_N_the_best_single_hypothesis_is_optimal() -> None:
    solution = lpboost(REFERENCE_U, nu=6).solve("cvxpy:highs", tol=1e-12)
    np.testing.assert_allclose(solution.d, 1 / 6)
    assert solution.certificate.upper == pytest.approx(REFERENCE_U.mean(axis=0).max(), abs=1e-12)


@pytest.mark.parametrize("backend", ("cvxpy:highs", "cvxpy:clarabel"))
def test_k_copies_of_an_example_are_multiplicity_k(backend: str) -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    U = np.random.default_rng(4).uniform(-1, 1, (6, 3))  # in general position: d and w are unique
    merged = lpboost(U, nu=3.7, c=c).solve(backend, tol=1e-13)
    copies = lpboost(np.repeat(U, c, axis=0), nu=3.7).solve(backend, tol=1e-13)
    assert merged.certificate.upper == pytest.approx(copies.certificate.upper, abs=1e-9)
    assert merged.certificate.lower == pytest.approx(copies.certificate.lower, abs=1e-9)
    np.testing.assert_allclose(merged.w, copies.w, atol=1e-9)
    # How copies share their weight is not determined, their sum is.
    np.testing.assert_allclose(merged.d, np.add.reduceat(copies.d, np.cumsum(c) - c), atol=1e-9)


def test_permuting_examples_permutes_the_answer() -> None:
    order = np.array([3, 1, 5, 0, 2, 4])
    one = reference_lpboost().solve("cvxpy:highs", tol=1e-12)
    solution = lpboost(REFERENCE_U[order], nu=2.5).solve("cvxpy:highs", tol=1e-12)
    np.testing.assert_allclose(solution.d, one.d[order], atol=1e-9)
    np.testing.assert_allclose(solution.w, one.w, atol=1e-9)


def test_the_value_grows_with_columns_and_with_nu() -> None:
    rng = np.random.default_rng(2)
    U = rng.uniform(-1, 1, size=(30, 6))
    by_columns = [lpboost(U[:, :k], nu=5).solve("cvxpy:highs").certificate for k in range(1, 7)]
    by_nu = [lpboost(U, nu=nu).solve("cvxpy:highs").certificate for nu in (1, 2.5, 7, 15, 30)]
    for values in (by_columns, by_nu):
        assert all(later.upper >= earlier.lower for earlier, later in itertools.pairwise(values))


def test_the_independent_lp_agrees() -> None:
    for seed in range(10):
        program = draw(np.random.default_rng(100 + seed)).bind("lpboost")
        low, high = independent_bracket(program)
        certificate = program.solve().certificate
        assert certificate.lower <= high
        assert certificate.upper >= low


def test_lpboost_has_no_iteration_bound() -> None:
    program = reference_lpboost()
    assert get_formulation("lpboost").boosting.iteration_bound(program) == np.inf
