"""LP_REG-AdaBoost: the page against the package, LPBoost in other words, and the price of a slack."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_forms_have, certificate_of_backends
from support.problems import REFERENCE_U, draw

from boostopt import ProblemError, Program, get_formulation


def lp_reg(U: object, **parameters: object) -> Program:
    return get_formulation("lp_reg_adaboost").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def test_structure_by_hand() -> None:
    """N = 3, t = 2, C = 1/2, c = (1, 2, 1).

    Primal  min gamma   s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma,  d1 + d2 + d3 = 1,
                              0 <= d <= (1/2, 1, 1/2)
    Dual    max rho - (psi1 + 2 psi2 + psi3) / 2
            s.t.  w1 - w2 >= rho - psi1,  -w1/2 + w2 >= rho - psi2,  w1 >= rho - psi3,  w1 + w2 = 1,  w, psi >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = lp_reg(U, C=0.5, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta", "psi", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "gamma", "w >= 0", "psi >= 0"]
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = [0.7, 1.5, 0.9], 0.0
    np.testing.assert_allclose(primal.constraints[2].residual, [0.2, 0.5, 0.4])
    np.testing.assert_allclose(primal.constraints[0].residual, [0.7 - 0.75 + 0.9, -0.7 + 1.5])
    dual.var_dict["w"].value, dual.var_dict["rho"].value = [0.25, 0.75], 0.6
    dual.var_dict["psi"].value = [0.5, 0.1, 0.2]
    assert dual.objective.value == pytest.approx(0.6 - (0.5 + 0.2 + 0.2) / 2)
    np.testing.assert_allclose(dual.constraints[0].residual, [0.6 - 0.5 + 0.5, 0.0, 0.6 - 0.2 - 0.25])

    two_sided = lp_reg(U, C=0.5, two_sided=True)
    assert [c.label for c in two_sided.cvxpy("primal", "literal").constraints] == ["w+", "w-", "beta", "psi", "d >= 0"]
    assert [c.label for c in two_sided.cvxpy("dual", "literal").constraints] == ["d", "gamma", "psi >= 0"]


@pytest.mark.parametrize("two_sided", (False, True))
@pytest.mark.parametrize("seed", range(8))
def test_literal_derived_and_certified_values_agree_and_are_lpboosts(seed: int, two_sided: bool) -> None:
    sample = draw(np.random.default_rng(seed), largest_N=60, largest_t=8)
    program = lp_reg(sample.U, C=1 / sample.nu, c=sample.c, two_sided=two_sided)
    certificate = certificate_of_backends(program, {"cvxpy:highs": 1e-9, "cvxpy:clarabel": 1e-8, "cvxpy:scs": 1e-6})
    assert_forms_have(program, pytest.approx(certificate.upper, abs=1e-7))
    columns = np.column_stack([sample.U, -sample.U]) if two_sided else sample.U
    theirs = get_formulation("lpboost").bind(columns, nu=sample.nu, c=sample.c).solve("cvxpy:highs", tol=1e-9)
    assert certificate.upper == pytest.approx(theirs.certificate.upper, abs=1e-8)


def test_reference_numbers() -> None:
    solution = lp_reg(REFERENCE_U, C=0.4).solve("cvxpy:highs", tol=1e-12)
    assert solution.certificate.lower == pytest.approx(0.0037735849, abs=1e-9)
    assert solution.certificate.upper == pytest.approx(0.0037735849, abs=1e-9)
    np.testing.assert_allclose(solution.w, [0.3207547170, 0.3773584906, 0.3018867925], atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_kkt_system_and_the_bound_of_the_margin_errors(seed: int) -> None:
    sample = draw(np.random.default_rng(seed), largest_N=60, largest_t=8)
    program = lp_reg(sample.U, C=1 / sample.nu, c=sample.c)
    solution = program.solve("cvxpy:highs", tol=1e-12)
    c, C = program.examples.c, program.parameters.C
    m, e = program.margins.margins(solution.w), program.margins.edges(solution.d)
    rho, psi = -float(solution.multipliers["beta"]), np.asarray(solution.multipliers["psi"])
    np.testing.assert_allclose(psi, np.maximum(rho - m, 0), atol=1e-12)
    np.testing.assert_allclose(psi * (C * c - solution.d), 0, atol=1e-10)
    np.testing.assert_allclose(np.maximum(m - rho, 0) * solution.d, 0, atol=1e-10)
    np.testing.assert_allclose(solution.w * (e.max() - e), 0, atol=1e-10)
    assert c[m < rho - 1e-9].sum() <= 1 / C * (1 + 1e-9)


def test_at_the_largest_price_it_is_lp_adaboost() -> None:
    ours = lp_reg(REFERENCE_U, C=1.0).solve("cvxpy:highs", tol=1e-12)
    theirs = get_formulation("lp_adaboost").bind(REFERENCE_U).solve("cvxpy:highs", tol=1e-12)
    assert ours.certificate.overlaps(theirs.certificate)
    np.testing.assert_allclose(ours.w, theirs.w, atol=1e-10)


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c, U = np.array([1, 3, 1, 2, 1, 1]), np.random.default_rng(4).uniform(-1, 1, (6, 3))
    merged = lp_reg(U, C=1 / 3.7, c=c).solve("cvxpy:highs", tol=1e-12)
    copies = lp_reg(np.repeat(U, c, axis=0), C=1 / 3.7).solve("cvxpy:highs", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(merged.w, copies.w, atol=1e-9)


@pytest.mark.parametrize("C", (1 / 6, 1 / 3, 1 / 49, 0.1, 1.0))
def test_every_price_from_the_smallest_to_the_largest_is_taken(C: float) -> None:
    """1 / (1 / C) need not be C: both bounds count also where rounding has moved them."""
    N = round(1 / C)
    program = lp_reg(np.ones((N, 1)), C=C)
    assert program.regularizer.project(None).sum() == pytest.approx(1.0, abs=1e-14)
    assert program.certify().contains(1.0)


@pytest.mark.parametrize("C", (0.0, -1.0, 0.16, 1.01, np.inf, np.nan))
def test_prices_without_an_answer_are_refused(C: float) -> None:
    with pytest.raises(ProblemError, match=rf"^C\b.*\[1 / sum of c, 1\].* {C:g}\b"):
        lp_reg(REFERENCE_U, C=C)
