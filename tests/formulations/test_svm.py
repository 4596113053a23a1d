"""The support vector machine: the page against the package, scikit-learn's, and QP_REG-AdaBoost with both signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import assert_forms_have, certificate_of_backends
from support.problems import REFERENCE_U, noisy_stumps

from boostopt import ProblemError, Program, get_formulation


def svm(U: object, **parameters: object) -> Program:
    return get_formulation("svm").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def draw(rng: np.random.Generator) -> Program:
    shape = int(rng.integers(2, 60)), int(rng.integers(1, 8))
    U = rng.choice([-1.0, 1.0], shape) if rng.random() < 0.5 else rng.uniform(-1, 1, shape)
    return svm(U, C=np.exp(rng.uniform(-4, 2)), c=rng.uniform(0.3, 3, shape[0]) if rng.random() < 0.5 else None)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, C = 0.8, c = (1, 2, 1).

    Primal  min -d1 - d2 - d3 + ((d1 - d2/2 + d3)^2 + (-d1 + d2)^2) / 4   s.t.  0 <= d <= (0.8, 1.6, 0.8)
    Dual    max -(w1^2 + w2^2 + 0.8 (psi1 + 2 psi2 + psi3))
            s.t.  w1 - w2 >= 1 - psi1,  -w1/2 + w2 >= 1 - psi2,  w1 >= 1 - psi3,  psi >= 0
    """
    program = svm([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]], C=0.8, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["psi", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "psi >= 0"]
    primal.var_dict["d"].value = [1.0, 0.5, 1.5]
    assert primal.objective.value == pytest.approx(-3.0 + ((1 - 0.25 + 1.5) ** 2 + 0.25) / 4)
    np.testing.assert_allclose(primal.constraints[0].residual, [0.2, 0.0, 0.7])
    dual.var_dict["w"].value, dual.var_dict["psi"].value = [0.2, -0.1], [0.3, 0.5, 0.0]
    assert dual.objective.value == pytest.approx(-(0.05 + 0.8 * 1.3))
    np.testing.assert_allclose(dual.constraints[0].residual, [1 - 0.3 - 0.3, 1 - 0.5 + 0.2, 1 - 0.2])


@pytest.mark.parametrize("seed", range(12))
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    certificate = certificate_of_backends(program, {"cvxpy:clarabel": 1e-8, "cvxpy:scs": 1e-6})
    assert_forms_have(program, pytest.approx(certificate.upper, rel=1e-6))


@pytest.mark.parametrize("seed", range(8))
def test_kkt_system_of_the_page(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    solution = program.solve("cvxpy:clarabel", tol=1e-10)
    caps, m = program.parameters.C * program.examples.c, program.margins.margins(solution.w)
    psi = np.asarray(solution.multipliers["psi"])
    np.testing.assert_allclose(psi, np.maximum(1 - m, 0), atol=1e-12)
    np.testing.assert_allclose(solution.w, program.margins.edges(solution.d) / 2, atol=1e-3)
    np.testing.assert_allclose(psi * (caps - solution.d), 0, atol=1e-6)
    np.testing.assert_allclose(np.maximum(m - 1, 0) * solution.d, 0, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_svm_is_scikit_learns_linear_machine_without_a_bias(seed: int) -> None:
    """(1/2) ||w||^2 + (C/2) sum c psi there, multiplicities being sample weights."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(seed)
    y, c = rng.choice([-1, 1], 60), rng.uniform(0.5, 2.0, 60)
    U = np.clip(rng.uniform(-1, 1, (60, 4)) + 0.1, -1, 1)
    theirs: Any = LinearSVC(C=0.3, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=200_000, random_state=0)
    w = theirs.fit(y[:, np.newaxis] * U, y, sample_weight=c).coef_[0]
    program = svm(U, C=0.6, c=c)
    solution = program.solve("cvxpy:clarabel", tol=1e-10)
    np.testing.assert_allclose(solution.w, w, atol=1e-4)
    assert program.certify(solution.d, w).scaled_gap <= 1e-7


@pytest.mark.parametrize("seed", range(5))
def test_the_svm_is_qp_reg_adaboost_over_the_hypotheses_and_their_negatives(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    U, c, C = program.margins.to_array(), program.examples.c, program.parameters.C
    theirs = get_formulation("qp_reg_adaboost").bind(np.column_stack([U, -U]), C=C, c=c)
    one, solution = program.solve("cvxpy:clarabel", tol=1e-9), theirs.solve("cvxpy:clarabel", tol=1e-9)
    assert one.certificate.overlaps(solution.certificate)
    plus, minus = np.split(solution.w, 2)
    np.testing.assert_allclose(one.w, plus - minus, atol=1e-3)
    assert program.certify(solution.d, plus - minus).scaled_gap <= 1e-8


def test_a_sign_is_turned_for_free() -> None:
    signs = np.array([1.0, -1.0, -1.0])
    one = svm(REFERENCE_U, C=0.4).solve("cvxpy:clarabel", tol=1e-10)
    solution = svm(REFERENCE_U * signs, C=0.4).solve("cvxpy:clarabel", tol=1e-10)
    assert one.certificate.overlaps(solution.certificate)
    np.testing.assert_allclose(one.w, signs * solution.w, atol=1e-4)


def test_a_small_price_leaves_every_slack_in_use() -> None:
    """Then d = C c and w = C Uᵀc / 2 in closed form, the value -C sum c + (C^2 / 4) ||Uᵀc||^2."""
    c, C = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0]), 1e-3
    certificate = svm(REFERENCE_U, C=C, c=c).certify(w=0.5 * C * REFERENCE_U.T @ c)
    assert certificate.gap <= 1e-15
    assert certificate.contains(-C * 6.5 + 0.25 * C**2 * float(((REFERENCE_U.T @ c) ** 2).sum()))


def test_at_a_thousand_examples() -> None:
    program = svm(noisy_stumps(1000, 20), C=0.1)
    for backend in ("cvxpy:clarabel", "cvxpy:scs"):
        assert program.solve(backend, tol=1e-8).certificate.scaled_gap <= 1e-8


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = svm(REFERENCE_U, C=0.3, c=c).solve("cvxpy:clarabel", tol=1e-11)
    copies = svm(np.repeat(REFERENCE_U, c, axis=0), C=0.3).solve("cvxpy:clarabel", tol=1e-11)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(merged.w, copies.w, atol=1e-5)


def test_the_price_is_positive() -> None:
    with pytest.raises(ProblemError, match=r"^C\b.*1e-100.*\b0\b"):
        svm(REFERENCE_U, C=0.0)
