"""QP_REG-AdaBoost: the page against the package, and numbers known in advance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_forms_have, certificate_of_backends
from support.problems import REFERENCE_U, noisy_stumps

from boostopt import ProblemError, Program, get_formulation


def qp_reg(U: object, **parameters: object) -> Program:
    return get_formulation("qp_reg_adaboost").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def draw(rng: np.random.Generator) -> Program:
    shape = int(rng.integers(2, 60)), int(rng.integers(1, 8))
    U = rng.choice([-1.0, 1.0], shape) if rng.random() < 0.5 else rng.uniform(-1, 1, shape)
    return qp_reg(U, C=np.exp(rng.uniform(-4, 2)), c=rng.uniform(0.3, 3, shape[0]) if rng.random() < 0.5 else None)


def slow_value(program: Program) -> float:
    """The primal over its box by SciPy: no conjugate, no cone."""
    U, caps = program.margins.to_array(), program.parameters.C * program.examples.c

    def value(d: np.ndarray) -> tuple[float, np.ndarray]:
        e = np.maximum(U.T @ d, 0.0)
        return float(0.25 * e @ e - d.sum()), 0.5 * U @ e - 1.0

    answer: Any = scipy.optimize.minimize(
        value,
        caps / 2,
        jac=True,
        bounds=[(0.0, cap) for cap in caps],
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    )
    return float(answer.fun)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, C = 0.8, c = (1, 2, 1).

    Primal  min -d1 - d2 - d3 + ([d1 - d2/2 + d3]_+^2 + [-d1 + d2]_+^2) / 4   s.t.  0 <= d <= (0.8, 1.6, 0.8)
    Dual    max -(w1^2 + w2^2 + 0.8 (psi1 + 2 psi2 + psi3))
            s.t.  w1 - w2 >= 1 - psi1,  -w1/2 + w2 >= 1 - psi2,  w1 >= 1 - psi3,  w, psi >= 0
    """
    program = qp_reg([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]], C=0.8, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["psi", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "w >= 0", "psi >= 0"]
    primal.var_dict["d"].value = [1.0, 0.5, 1.5]
    assert primal.objective.value == pytest.approx(-3.0 + (1 - 0.25 + 1.5) ** 2 / 4)
    np.testing.assert_allclose(primal.constraints[0].residual, [0.2, 0.0, 0.7])
    dual.var_dict["w"].value, dual.var_dict["psi"].value = [0.2, 0.1], [0.3, 0.5, 0.0]
    assert dual.objective.value == pytest.approx(-(0.05 + 0.8 * 1.3))
    np.testing.assert_allclose(dual.constraints[0].residual, [1 - 0.3 - 0.1, 1 - 0.5, 1 - 0.2])


@pytest.mark.parametrize("seed", range(12))
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    certificate = certificate_of_backends(program, {"cvxpy:clarabel": 1e-8, "cvxpy:scs": 1e-6})
    assert certificate.upper == pytest.approx(slow_value(program), rel=1e-7)
    assert_forms_have(program, pytest.approx(certificate.upper, rel=1e-6))


def test_reference_numbers() -> None:
    """The printed objective is 2.215 at b = (0.25, 0.35, 0)."""
    program = qp_reg(REFERENCE_U, C=0.4)
    assert program.certify(w=[0.25, 0.35, 0]).lower == pytest.approx(-2.215, abs=1e-12)
    solution = program.solve("cvxpy:clarabel", tol=1e-11)
    assert solution.certificate.contains(-2.215)
    assert solution.certificate.scaled_gap <= 1e-11
    np.testing.assert_allclose(solution.w, [0.25, 0.35, 0], atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_kkt_system_of_the_page(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    solution = program.solve("cvxpy:clarabel", tol=1e-10)
    caps, m = program.parameters.C * program.examples.c, program.margins.margins(solution.w)
    psi = np.asarray(solution.multipliers["psi"])
    np.testing.assert_allclose(psi, np.maximum(1 - m, 0), atol=1e-12)
    np.testing.assert_allclose(solution.w, np.maximum(program.margins.edges(solution.d), 0) / 2, atol=1e-3)
    np.testing.assert_allclose(psi * (caps - solution.d), 0, atol=1e-6)
    np.testing.assert_allclose(np.maximum(m - 1, 0) * solution.d, 0, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_of_the_edges_is_the_distance_from_the_weights_that_they_ask_for(seed: int) -> None:
    """P(d) - D(w) at w = max(0, e) / 2 is blamed on examples alone."""
    program = draw(np.random.default_rng(seed))
    d = program.solve("cvxpy:clarabel", tol=1e-6).d
    certificate = program.certify(d, np.maximum(program.margins.edges(d), 0.0) / 2)
    assert certificate.hypothesis_gaps.sum() <= 1e-12 * max(1.0, abs(certificate.upper)) or certificate.d_is == "d(w)"
    assert certificate.scaled_gap <= 1e-3


def test_at_a_thousand_examples() -> None:
    program = qp_reg(noisy_stumps(1000, 20), C=0.1)
    for backend in ("cvxpy:clarabel", "cvxpy:scs"):
        assert program.solve(backend, tol=1e-8).certificate.scaled_gap <= 1e-8


def test_a_copy_of_a_hypothesis_shares_its_weight() -> None:
    """Two columns of weight w / 2 cost half of one of weight w: the norm is not that of the 1-norm programs."""
    once = qp_reg(REFERENCE_U, C=0.4).solve("cvxpy:clarabel", tol=1e-10)
    twice = qp_reg(REFERENCE_U[:, [0, 0, 1, 2]], C=0.4).solve("cvxpy:clarabel", tol=1e-10)
    np.testing.assert_allclose(twice.w[0], twice.w[1], atol=1e-4)
    assert twice.certificate.lower > once.certificate.upper


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = qp_reg(REFERENCE_U, C=0.3, c=c).solve("cvxpy:clarabel", tol=1e-11)
    copies = qp_reg(np.repeat(REFERENCE_U, c, axis=0), C=0.3).solve("cvxpy:clarabel", tol=1e-11)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(merged.w, copies.w, atol=1e-5)


def test_the_price_is_positive() -> None:
    with pytest.raises(ProblemError, match=r"^C\b.*1e-100.* -1\b"):
        qp_reg(REFERENCE_U, C=-1.0)
