"""Unnormalized ERLPBoost: ERLPBoost's optimum, and a dual that is a lower bound at any beta."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import TIGHT, assert_problems_agree, bind, random_program
from support.problems import REFERENCE_D0, REFERENCE_ETA, REFERENCE_NU, REFERENCE_U, REFERENCE_W

from boostopt import Program, get_formulation


def unnormalized(U: object, **parameters: object) -> Program:
    return bind("unnormalized_erlpboost", U, **parameters)


def reference(eta: float = REFERENCE_ETA) -> Program:
    return unnormalized(REFERENCE_U, nu=REFERENCE_NU, eta=eta, d0=REFERENCE_D0)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, nu = 2, eta = 3, c = (1, 2, 1), d0 = (1/4, 1/2, 1/4).

    Primal  min gamma + (1/3) sum (d ln(d / d0) - d + d0)   s.t. as ERLPBoost's
    Dual    max (1/3) [ (1 - exp(-3 (w1 - w2 + psi1 + beta))) / 4 + (1 - exp(-3 (-w1/2 + w2 + psi2 + beta))) / 2
                + (1 - exp(-3 (w1 + psi3 + beta))) / 4 ] - (psi1 + 2 psi2 + psi3) / 2 - beta
            s.t.  w1 + w2 = 1,  w, psi >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = unnormalized(U, nu=2, eta=3, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta", "psi"]
    assert [c.label for c in dual.constraints] == ["gamma", "w >= 0", "psi >= 0"]

    d, gamma, d0 = np.array([0.2, 0.5, 0.1]), 0.4, np.array([0.25, 0.5, 0.25])  # the sum is not 1
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    assert primal.objective.value == pytest.approx(gamma + sum(d * np.log(d / d0) - d + d0) / 3)

    dual.var_dict["w"].value, dual.var_dict["psi"].value, dual.var_dict["beta"].value = [0.25, 0.75], [0.6, 0.1, 0], 0.2
    terms = (
        0.25 * (1 - math.exp(-3 * (0.25 - 0.75 + 0.6 + 0.2)))
        + 0.5 * (1 - math.exp(-3 * (-0.125 + 0.75 + 0.1 + 0.2)))
        + 0.25 * (1 - math.exp(-3 * (0.25 + 0.0 + 0.2)))
    )
    assert dual.objective.value == pytest.approx(terms / 3 - (0.6 + 2 * 0.1) / 2 - 0.2)


@pytest.mark.parametrize("two_sided", (False, True))
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int, two_sided: bool) -> None:
    one = random_program(seed)
    program = unnormalized(one.U, nu=one.nu, eta=one.eta, c=one.c, d0=one.d0, two_sided=two_sided)
    assert_problems_agree(program, tol=3e-9)


def test_reference_numbers() -> None:
    """ERLPBoost's, the beta of the KKT system among them: here it is the dual's own variable."""
    program = reference()
    assert program.certify(w=REFERENCE_W).lower == pytest.approx(0.0124809954, abs=1e-10)
    dual = program.cvxpy("dual", "literal")
    dual.var_dict["w"].value = REFERENCE_W
    dual.var_dict["psi"].value = [0, 0, 0, 0, 0.1069903338, 0]
    dual.var_dict["beta"].value = -0.0552771290
    assert dual.objective.value == pytest.approx(0.0124809954, abs=1e-10)
    solution = program.solve("cvxpy:clarabel", tol=1e-12)
    assert solution.certificate.lower == pytest.approx(0.0924628832, abs=1e-9)
    assert solution.certificate.upper == pytest.approx(0.0924628832, abs=1e-9)
    np.testing.assert_allclose(solution.w, [0.3703617116, 0.4491978337, 0.1804404547], atol=1e-6)


def test_the_multipliers_of_the_literal_primal_are_the_derived_ones() -> None:
    """Beta included, whose entropy is the unnormalised one here."""
    program = reference()
    solution, primal = program.solve("cvxpy:clarabel", tol=1e-12), program.cvxpy("primal", "literal")
    primal.solve("CLARABEL", **TIGHT)
    options = {c.label: c.dual_value for c in primal.constraints}
    np.testing.assert_allclose(options["w"], solution.w, atol=1e-5)
    np.testing.assert_allclose(options["psi"], solution.multipliers["psi"], atol=1e-5)
    assert options["beta"] == pytest.approx(float(solution.multipliers["beta"]), abs=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_kkt_system_of_the_page(seed: int) -> None:
    one = random_program(seed)
    program = unnormalized(one.U, nu=one.nu, eta=one.eta, c=one.c, d0=one.d0)
    solution = program.solve("cvxpy:clarabel", tol=1e-9)
    m, d0, caps = program.margins.margins(solution.w), program.examples.d0, program.examples.c / one.nu
    beta, psi = float(solution.multipliers["beta"]), np.asarray(solution.multipliers["psi"])
    # d is a function of w and of these multipliers: no sum is divided by.
    d = d0 * np.exp(-one.eta * (m + psi + beta))
    support = d0 > 0
    assert d.sum() == pytest.approx(1, abs=1e-9)
    assert (d[support] <= caps[support] * (1 + 1e-9)).all()
    np.testing.assert_allclose(psi * (caps - d), 0, atol=1e-9)
    edges = program.margins.edges(solution.d)
    np.testing.assert_allclose(solution.w * (edges.max() - edges), 0, atol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_any_answer_has_the_same_certificate_as_erlpboosts(seed: int) -> None:
    rng, one = np.random.default_rng(seed), random_program(seed)
    rest = {"nu": one.nu, "eta": one.eta, "c": one.c, "d0": one.d0}
    program, bound_program = unnormalized(one.U, **rest), bind("erlpboost", one.U, **rest)
    for _ in range(5):
        d, w = rng.normal(size=len(one.U)), rng.normal(size=one.U.shape[1])
        mine, certificate = program.certify(d=d, w=w), bound_program.certify(d=d, w=w)
        assert (mine.lower, mine.upper, mine.gap) == (certificate.lower, certificate.upper, certificate.gap)


def test_every_beta_gives_a_lower_bound() -> None:
    """And the best of them is ERLPBoost's dual value, which is the logarithm of a sum."""
    program = reference()
    dual = program.cvxpy("dual", "literal")
    dual.var_dict["w"].value, dual.var_dict["psi"].value = REFERENCE_W, np.zeros(6)
    sum_of_weights = float(REFERENCE_D0 @ np.exp(-REFERENCE_ETA * (REFERENCE_U @ REFERENCE_W)))
    value = -math.log(sum_of_weights) / REFERENCE_ETA
    best = math.log(sum_of_weights) / REFERENCE_ETA
    for beta in np.linspace(best - 0.5, best + 0.5, 21):
        dual.var_dict["beta"].value = beta
        assert dual.objective.value <= value + 1e-12
    dual.var_dict["beta"].value = best
    assert dual.objective.value == pytest.approx(value, abs=1e-12)


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged_program = unnormalized(REFERENCE_U, nu=3.7, eta=4, c=c, d0=REFERENCE_D0)
    copied_program = unnormalized(np.repeat(REFERENCE_U, c, axis=0), nu=3.7, eta=4, d0=np.repeat(REFERENCE_D0 / c, c))
    merged, copies = (
        merged_program.solve("cvxpy:clarabel", tol=1e-12),
        copied_program.solve("cvxpy:clarabel", tol=1e-12),
    )
    assert merged.certificate.lower == pytest.approx(copies.certificate.lower, abs=1e-10)
    assert merged.certificate.upper == pytest.approx(copies.certificate.upper, abs=1e-10)


def test_canonical_eta_and_the_iteration_bound_are_erlpboosts() -> None:
    program, erlpboost_program = (
        bind(name, REFERENCE_U, nu=2, epsilon=0.05, d0=REFERENCE_D0) for name in ("unnormalized_erlpboost", "erlpboost")
    )
    assert program.parameters == erlpboost_program.parameters
    bounds = [
        get_formulation(name).boosting.iteration_bound(program) for name in ("unnormalized_erlpboost", "erlpboost")
    ]
    assert bounds[0] == bounds[1] == pytest.approx(16 * program.parameters.eta / 0.05)
