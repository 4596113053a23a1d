"""ERLPBoost: the page against the package, the papers' identities, and numbers known in advance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import TIGHT, assert_forms_have, assert_problems_agree, random_program
from support.problems import REFERENCE_D0, REFERENCE_U, REFERENCE_W, draw, reference_erlpboost, reference_lpboost

from boostopt import Program, get_formulation


def erlpboost(U: object, **parameters: object) -> Program:
    return get_formulation("erlpboost").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def test_structure_by_hand() -> None:
    """N = 3, t = 2, nu = 2, eta = 3, c = (1, 2, 1), d0 = (1/4, 1/2, 1/4).

    Primal  min gamma + (1/3) sum d ln(d / d0)   s.t. as LPBoost's, without d >= 0
    Dual    max -(1/3) ln[ exp(-3 (w1 - w2 + psi1)) / 4 + exp(-3 (-w1/2 + w2 + psi2)) / 2 + exp(-3 (w1 + psi3)) / 4 ]
                - (psi1 + 2 psi2 + psi3) / 2      s.t.  w1 + w2 = 1,  w, psi >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = erlpboost(U, nu=2, eta=3, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta", "psi"]
    assert [c.label for c in dual.constraints] == ["gamma", "w >= 0", "psi >= 0"]

    d, gamma, d0 = np.array([0.2, 0.5, 0.3]), 0.4, np.array([0.25, 0.5, 0.25])
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    assert primal.objective.value == pytest.approx(gamma + sum(d * np.log(d / d0)) / 3)

    w, psi = np.array([0.25, 0.75]), np.array([0.6, 0.1, 0.0])
    dual.var_dict["w"].value, dual.var_dict["psi"].value = w, psi
    inside = (
        0.25 * math.exp(-3 * (0.25 - 0.75 + 0.6))
        + 0.5 * math.exp(-3 * (-0.125 + 0.75 + 0.1))
        + 0.25 * math.exp(-3 * (0.25 + 0.0))
    )
    assert dual.objective.value == pytest.approx(-math.log(inside) / 3 - (0.6 + 2 * 0.1 + 0.0) / 2)


# Which of its tight answers Clarabel calls inaccurate is not asked here: the value is compared.
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    program = draw(np.random.default_rng(seed), largest_N=60, largest_t=8, largest_eta=80).bind("erlpboost")
    certificate = program.solve("cvxpy:clarabel", tol=1e-9).certificate
    assert_forms_have(program, pytest.approx(certificate.upper, abs=1e-7), **TIGHT)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree_two_sided(seed: int) -> None:
    one = random_program(seed)
    program = erlpboost(one.U, nu=one.nu, eta=one.eta, c=one.c, d0=one.d0, two_sided=True)
    assert [c.label for c in program.cvxpy("primal", "literal").constraints[:2]] == ["w+", "w-"]
    assert [c.label for c in program.cvxpy("dual", "literal").constraints] == ["gamma", "psi >= 0"]
    assert_problems_agree(program)


def test_reference_numbers_at_a_given_w() -> None:
    program = reference_erlpboost()
    point = program.regularizer.conjugate_at(-program.margins.margins(REFERENCE_W))
    assert -point.value == pytest.approx(0.0124809954, abs=1e-10)
    assert point.multipliers["beta"] == pytest.approx(-0.0552771290, abs=1e-10)
    np.testing.assert_allclose(
        point.d, [0.0206203551, 0.1026929851, 0.3721979671, 0.0629643966, 0.4, 0.0415242960], atol=1e-10
    )
    np.testing.assert_allclose(point.multipliers["psi"], [0, 0, 0, 0, 0.1069903338, 0], atol=1e-10)
    edges = program.margins.edges(point.d)
    np.testing.assert_allclose(edges, [-0.4268856488, 0.5898572573, -0.1472305093], atol=1e-10)
    assert program.regularizer.value(point.d) + edges.max() == pytest.approx(0.6682700018, abs=1e-10)


def test_reference_numbers_at_eta_30() -> None:
    program = reference_erlpboost(eta=30.0)
    point = program.regularizer.conjugate_at(-program.margins.margins(REFERENCE_W))
    assert -point.value == pytest.approx(-0.0797084944, abs=1e-10)
    assert point.multipliers["beta"] == pytest.approx(-0.1590379040, abs=1e-10)
    np.testing.assert_allclose(np.asarray(point.multipliers["psi"])[[2, 4]], [0.2359329980, 0.3609329980], atol=1e-10)


def test_reference_numbers_of_the_optimum() -> None:
    solution = reference_erlpboost().solve("cvxpy:clarabel", tol=1e-13)
    assert solution.certificate.lower == pytest.approx(0.0924628832, abs=1e-9)
    assert solution.certificate.upper == pytest.approx(0.0924628832, abs=1e-9)
    np.testing.assert_allclose(solution.w, [0.3703617116, 0.4491978337, 0.1804404547], atol=1e-9)
    np.testing.assert_allclose(
        solution.d,
        [0.0275758675, 0.3033213849, 0.1472222723, 0.1686491998, 0.3247516187, 0.0284796568],
        atol=1e-9,
    )


@pytest.mark.parametrize("seed", range(10))
def test_kkt_system_of_the_page(seed: int) -> None:
    program = draw(np.random.default_rng(seed), largest_N=60, largest_t=8, largest_eta=80).bind("erlpboost")
    solution = program.solve("cvxpy:clarabel", tol=1e-12)
    eta, d0, caps = program.parameters.eta, program.examples.d0, program.examples.c / program.parameters.nu
    d = program.regularizer.conjugate_at(-program.margins.margins(solution.w)).d  # d(w)
    m, support = program.margins.margins(solution.w), d0 > 0
    beta, psi = solution.multipliers["beta"], np.asarray(solution.multipliers["psi"])
    np.testing.assert_allclose(
        (np.log(d[support] / d0[support]) / eta + m[support] + psi[support] + beta), 0, atol=1e-9
    )
    np.testing.assert_allclose(psi * (caps - d), 0, atol=1e-9)
    edges = program.margins.edges(solution.d)
    np.testing.assert_allclose(solution.w * (edges.max() - edges), 0, atol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_two_sided_is_the_class_closed_under_negation(seed: int) -> None:
    one = random_program(seed)
    rest = {"nu": one.nu, "eta": one.eta, "c": one.c, "d0": one.d0}
    two_sided = erlpboost(one.U, **rest, two_sided=True)
    closed = erlpboost(np.column_stack([one.U, -one.U]), **rest)
    solution, closed_solution = (program.solve("cvxpy:clarabel", tol=1e-9) for program in (two_sided, closed))
    assert solution.certificate.overlaps(closed_solution.certificate)
    t = one.U.shape[1]
    assert two_sided.certify(w=closed_solution.w[:t] - closed_solution.w[t:]).lower == pytest.approx(
        closed_solution.certificate.lower, abs=1e-11
    )
    # Both are within sqrt(2 eta gap) of the one optimal d, in the 1-norm.
    assert np.abs(solution.d - closed_solution.d).sum() <= 2 * math.sqrt(2 * one.eta * 2e-9)
    e = np.abs(two_sided.margins.edges(solution.d))
    np.testing.assert_allclose(np.abs(solution.w) * (e.max() - e), 0, atol=1e-8)


def test_w_of_zero_is_allowed_two_sided() -> None:
    """The mixture of nothing: d is the reference's projection and the bound its entropy, 0 for one within the caps."""
    certificate = erlpboost(REFERENCE_U, nu=2, eta=4, d0=REFERENCE_D0, two_sided=True).certify(w=[0.0, 0.0, 0.0])
    np.testing.assert_allclose(certificate.d, REFERENCE_D0, atol=1e-12)
    assert certificate.lower == pytest.approx(0, abs=1e-12)
    assert certificate.upper == pytest.approx(np.abs(REFERENCE_D0 @ REFERENCE_U).max(), abs=1e-12)


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = erlpboost(REFERENCE_U, nu=3.7, eta=4, c=c, d0=REFERENCE_D0)
    copies = erlpboost(np.repeat(REFERENCE_U, c, axis=0), nu=3.7, eta=4, d0=np.repeat(REFERENCE_D0 / c, c))
    one, solution = (
        merged.solve("cvxpy:clarabel:dual-rated", tol=1e-13),
        copies.solve("cvxpy:clarabel:dual-rated", tol=1e-13),
    )
    assert one.certificate.upper == pytest.approx(solution.certificate.upper, abs=1e-9)
    assert one.certificate.lower == pytest.approx(solution.certificate.lower, abs=1e-9)
    np.testing.assert_allclose(one.w, solution.w, atol=1e-9)
    np.testing.assert_allclose(np.repeat(one.d / c, c), solution.d, atol=1e-9)


def test_the_default_reference_of_copies_is_that_of_multiplicities() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged, copies = erlpboost(REFERENCE_U, nu=3, c=c), erlpboost(np.repeat(REFERENCE_U, c, axis=0), nu=3)
    assert merged.parameters.eta == pytest.approx(copies.parameters.eta, rel=1e-14)
    assert merged.parameters.eta == pytest.approx(200 * math.log(9 / 3), rel=1e-12)
    w = [0.2, 0.5, 0.3]
    assert merged.certify(w=w).lower == pytest.approx(copies.certify(w=w).lower, abs=1e-13)


def test_merging_examples_of_unequal_density_changes_the_optimum() -> None:
    """Equal rows may be merged only where d0 / c is equal too."""
    U = np.array([[0.9, -0.4], [0.9, -0.4], [-0.7, 0.8], [0.1, 0.6]])
    uneven = erlpboost(U, nu=2.5, eta=2, d0=[0.55, 0.05, 0.3, 0.1]).solve(tol=1e-10).certificate
    merged = erlpboost(U[[0, 2, 3]], nu=2.5, eta=2, c=[2, 1, 1], d0=[0.6, 0.3, 0.1]).solve(tol=1e-10).certificate
    even = erlpboost(U, nu=2.5, eta=2, d0=[0.3, 0.3, 0.3, 0.1]).solve(tol=1e-10).certificate
    assert even.overlaps(merged)
    assert not uneven.overlaps(merged)


def test_examples_without_reference_weight_are_as_if_dropped() -> None:
    d0 = np.array([0.5, 0, 0.2, 0, 0.1, 0.2])
    support = d0 > 0
    whole = erlpboost(REFERENCE_U, nu=2, eta=4, d0=d0).solve("cvxpy:clarabel", tol=1e-12)
    dropped = erlpboost(REFERENCE_U[support], nu=2, eta=4, d0=d0[support]).solve("cvxpy:clarabel", tol=1e-12)
    assert whole.certificate.overlaps(dropped.certificate)
    np.testing.assert_allclose(whole.d[support], dropped.d, atol=1e-6)
    assert (whole.d[~support] == 0).all()


def test_large_eta_recovers_lpboost_from_above() -> None:
    """The soft margin lies between the optimum and the optimum minus the span of the entropy."""
    hard = reference_lpboost().solve("cvxpy:highs", tol=1e-12).certificate
    for eta in (1e2, 1e4, 1e6):
        program = reference_erlpboost(eta)
        certificate = program.solve(tol=1e-9).certificate
        assert hard.lower <= certificate.upper
        assert certificate.lower <= hard.upper + program.regularizer.value_bound
        assert certificate.scaled_gap <= 1e-9


def test_small_eta_leaves_the_reference_where_it_is() -> None:
    solution = erlpboost(REFERENCE_U, nu=1, eta=1e-6, d0=REFERENCE_D0).solve("cvxpy:clarabel")
    np.testing.assert_allclose(solution.d, REFERENCE_D0, atol=1e-5)


def test_canonical_eta_and_the_iteration_bound() -> None:
    program = erlpboost(np.ones((40, 2)), nu=10, epsilon=0.05)
    eta = 2 / 0.05 * math.log(40 / 10)
    assert program.parameters.eta == pytest.approx(eta, rel=1e-12)
    bound = get_formulation("erlpboost").boosting.iteration_bound(program)
    assert bound == pytest.approx(32 / 0.05**2 * math.log(40 / 10))
    # At nu = N nothing is left to regularize: eta is 1/2 and the bound 8 / epsilon.
    program = erlpboost(np.ones((40, 2)), nu=40, epsilon=0.05)
    assert program.parameters.eta == 0.5
    assert get_formulation("erlpboost").boosting.iteration_bound(program) == pytest.approx(160)


def test_an_eta_below_one_half_counts_as_one_half_in_the_bound() -> None:
    """The step to w = u gains 1/2 of the gap at least, and not its square over 8 eta, once eta is small."""
    program = erlpboost(np.ones((40, 2)), nu=40, epsilon=0.05, eta=0.01)
    bound = get_formulation("erlpboost").boosting.iteration_bound(program)
    assert bound == pytest.approx(8 / 0.05)


@pytest.mark.parametrize("name", ["erlpboost", "binary_erlpboost", "unnormalized_erlpboost"])
def test_an_eta_below_that_of_theory_bounds_no_rounds(name: str) -> None:
    page = get_formulation(name)
    theory = page.bind(np.ones((40, 2)), nu=10, epsilon=0.05).parameters.eta
    for share, bound in ((0.99, math.inf), (1.0, 16 * theory / 0.05), (2.0, 32 * theory / 0.05)):
        program = page.bind(np.ones((40, 2)), nu=10, epsilon=0.05, eta=share * theory)
        assert page.boosting.iteration_bound(program) == pytest.approx(bound)


def test_canonical_eta_uses_the_range_of_the_entropy_for_a_reference_outside_the_cap() -> None:
    d0 = np.array([0.9, 0.02, 0.02, 0.02, 0.02, 0.02])
    program = erlpboost(REFERENCE_U, nu=3, d0=d0, epsilon=0.1)
    # Largest at three of the light examples, smallest at the heavy one's cap and the others alike.
    largest, smallest = math.log(1 / 3 / 0.02), math.log(1 / 3 / 0.9) / 3 + 2 / 3 * math.log(2 / 15 / 0.02)
    assert program.parameters.eta == pytest.approx(2 / 0.1 * (largest - smallest), rel=1e-9)
