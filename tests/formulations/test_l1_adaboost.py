"""The l1 program: the page against the package, numbers known in advance, and LP_REG-AdaBoost in another scaling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_forms_have, certificate_of_backends
from support.problems import REFERENCE_U, noisy_stumps

from boostopt import ProblemError, Program, get_formulation


def l1(U: object, **parameters: object) -> Program:
    return get_formulation("l1_adaboost").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def draw(rng: np.random.Generator) -> Program:
    shape = int(rng.integers(2, 60)), int(rng.integers(1, 8))
    U = rng.choice([-1.0, 1.0], shape) if rng.random() < 0.5 else rng.uniform(-1, 1, shape)
    return l1(U, C=np.exp(rng.uniform(-4, 2)), c=rng.uniform(0.3, 3, shape[0]) if rng.random() < 0.5 else None)


def slow_objective(program: Program) -> float:
    """The printed minimum, sum b + C sum c xi, by SciPy's linear program."""
    U, c, C = program.margins.to_array(), program.examples.c, program.parameters.C
    N, t = U.shape
    answer: Any = scipy.optimize.linprog(
        np.concatenate([np.ones(t), C * c]), A_ub=np.column_stack([-U, -np.eye(N)]), b_ub=-np.ones(N)
    )
    return float(answer.fun)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, C = 0.8, c = (1, 2, 1).

    Primal  min -d1 - d2 - d3   s.t.  d1 - d2/2 + d3 <= 1,  -d1 + d2 <= 1,  0 <= d <= (0.8, 1.6, 0.8)
    Dual    max -(w1 + w2 + 0.8 (psi1 + 2 psi2 + psi3))
            s.t.  w1 - w2 >= 1 - psi1,  -w1/2 + w2 >= 1 - psi2,  w1 >= 1 - psi3,  w, psi >= 0
    """
    program = l1([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]], C=0.8, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "psi", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "w >= 0", "psi >= 0"]
    primal.var_dict["d"].value = [1.0, 2.5, 1.5]
    assert primal.objective.value == -5.0
    np.testing.assert_allclose(primal.constraints[0].residual, [1 - 1.25 + 1.5 - 1, -1 + 2.5 - 1])
    np.testing.assert_allclose(primal.constraints[1].residual, [0.2, 0.9, 0.7])
    dual.var_dict["w"].value, dual.var_dict["psi"].value = [0.2, 0.1], [0.3, 0.5, 0.0]
    assert dual.objective.value == pytest.approx(-(0.3 + 0.8 * 1.3))
    np.testing.assert_allclose(dual.constraints[0].residual, [1 - 0.3 - 0.1, 1 - 0.5, 1 - 0.2])


@pytest.mark.parametrize("seed", range(12))
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    certificate = certificate_of_backends(program, {"cvxpy:highs": 1e-9, "cvxpy:clarabel": 1e-8, "cvxpy:scs": 1e-6})
    assert -certificate.upper == pytest.approx(slow_objective(program), rel=1e-8)
    assert_forms_have(program, pytest.approx(certificate.upper, rel=1e-7))


def test_reference_numbers() -> None:
    certificate = l1(REFERENCE_U, C=2.0).solve("cvxpy:highs", tol=1e-12).certificate
    assert certificate.scaled_gap <= 1e-12
    assert certificate.contains(-9.0)


@pytest.mark.parametrize("seed", range(8))
def test_kkt_system_of_the_page(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    solution = program.solve("cvxpy:highs", tol=1e-12)
    caps, w = program.parameters.C * program.examples.c, solution.w
    d, m, e = solution.d, program.margins.margins(solution.w), program.margins.edges(solution.d)
    psi, zeta = np.asarray(solution.multipliers["psi"]), np.asarray(solution.multipliers["zeta"])
    np.testing.assert_allclose(psi, np.maximum(1 - m, 0), atol=1e-12)
    np.testing.assert_allclose(zeta, np.maximum(m - 1, 0), atol=1e-12)
    assert e.max() <= 1.0
    np.testing.assert_allclose(w * (1 - e), 0, atol=1e-9)
    np.testing.assert_allclose(psi * (caps - d), 0, atol=1e-9)
    np.testing.assert_allclose(zeta * d, 0, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_l1_adaboost_is_lp_reg_adaboost_in_another_scaling(seed: int) -> None:
    """W / sum w and d / s are optimal at the price C / s, where the value is 1 / s, s = sum d."""
    rng = np.random.default_rng(seed)
    U, c = np.clip(rng.uniform(-1, 1, (40, 5)) + 0.2, -1, 1), rng.uniform(0.5, 2, 40)
    program = l1(U, C=0.2, c=c)
    solution = program.solve("cvxpy:highs", tol=1e-12)
    s = float(solution.d.sum())
    theirs = get_formulation("lp_reg_adaboost").bind(U, C=0.2 / s, c=c)
    certificate = theirs.certify(solution.d / s, solution.w / solution.w.sum())
    assert certificate.gap <= 1e-9
    assert certificate.upper == pytest.approx(1 / s, abs=1e-9)
    assert certificate.kkt.worst <= 1e-9


def test_a_price_above_the_sum_of_the_weights_is_lp_adaboost() -> None:
    U = np.clip(np.random.default_rng(1).uniform(-1, 1, (20, 8)) + 0.6, -1, 1)
    solution = l1(U, C=1e3).solve("cvxpy:highs", tol=1e-12)
    s = float(solution.d.sum())
    assert s < 1e3
    hard = get_formulation("lp_adaboost").bind(U).certify(solution.d / s, solution.w / solution.w.sum())
    assert hard.gap <= 1e-9
    assert hard.upper == pytest.approx(1 / s, abs=1e-9)


def test_no_hypothesis_is_used_until_an_edge_of_the_heaviest_weights_exceeds_1() -> None:
    best = float(REFERENCE_U.sum(axis=0).max())
    for C, used in ((0.99 / best, False), (1.01 / best, True)):
        solution = l1(REFERENCE_U, C=C).solve("cvxpy:highs", tol=1e-12)
        assert solution.w.any() == used
        assert solution.certificate.contains(-6 * C) != used


def test_the_weights_are_made_feasible_without_scaling_them_all() -> None:
    """Scaling 1000 weights below the rounding of an edge, 1e-9, would cost 1e-9 of the objective."""
    program = l1(noisy_stumps(1000, 10), C=1.0)
    certificate = program.solve("cvxpy:highs", tol=1e-10).certificate
    assert certificate.scaled_gap <= 1e-10
    assert program.margins.edges(certificate.d).max() <= 1.0


def test_any_weights_are_made_feasible() -> None:
    rng = np.random.default_rng(0)
    program = l1(REFERENCE_U, C=2.0)
    for _ in range(50):
        certificate = program.certify(rng.normal(scale=3, size=6), rng.normal(scale=3, size=3))
        assert certificate.contains(-9.0)
        assert program.margins.edges(certificate.d).max() <= 1.0
        assert ((certificate.d >= 0) & (certificate.d <= 2.0)).all()


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c, U = np.array([1, 3, 1, 2, 1, 1]), np.random.default_rng(4).uniform(-1, 1, (6, 3))
    merged = l1(U, C=1.5, c=c).solve("cvxpy:highs", tol=1e-12)
    copies = l1(np.repeat(U, c, axis=0), C=1.5).solve("cvxpy:highs", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(merged.w, copies.w, atol=1e-9)


def test_the_price_is_positive() -> None:
    with pytest.raises(ProblemError, match=r"^C\b.*1e-100.*\b0\b"):
        l1(REFERENCE_U, C=0.0)
