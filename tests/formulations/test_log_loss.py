"""The logarithmic loss: the page against the package, its conjugate, and logistic regression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_forms_have, certificate_of_backends
from support.problems import REFERENCE_M, REFERENCE_U, REFERENCE_W, noisy_stumps

from boostopt import ProblemError, Program, get_formulation


def log_loss(U: object, **parameters: object) -> Program:
    return get_formulation("log_loss").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def draw(rng: np.random.Generator, two_sided: bool) -> Program:
    shape = int(rng.integers(2, 60)), int(rng.integers(1, 8))
    U = rng.choice([-1.0, 1.0], shape) if rng.random() < 0.5 else rng.uniform(-1, 1, shape)
    c = rng.uniform(0.3, 3, shape[0]) if rng.random() < 0.5 else None
    return log_loss(U, eta=np.exp(rng.uniform(-2, 4)), c=c, two_sided=two_sided)


def slow_loss(U: np.ndarray, eta: float, c: np.ndarray) -> float:
    """The smallest loss (1/eta) sum c ln(1 + exp(-eta m)) over the simplex, by SciPy."""
    t = U.shape[1]
    best = math.inf
    for start in (np.full(t, 1 / t), *np.eye(t)):
        answer: Any = scipy.optimize.minimize(
            lambda w: float(c @ np.logaddexp(0, -eta * (U @ w))) / eta,
            start,
            jac=lambda w: -U.T @ (c / (1 + np.exp(eta * (U @ w)))),
            bounds=[(0, 1)] * t,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(t)},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        best = min(best, float(answer.fun))
    return best


def test_structure_by_hand() -> None:
    """N = 3, t = 2, eta = 3, c = (1, 2, 1).

    Primal  min gamma + (1/3) [d1 ln 2 d1 + (1 - d1) ln 2 (1 - d1) + d2 ln d2 + (2 - d2) ln(2 - d2) + ...]
            s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma
    Dual    max -(1/3) [ln((1 + exp(-3 (w1 - w2))) / 2) + 2 ln((1 + exp(3 (w1/2 - w2))) / 2) + ln((1 + exp(-3 w1)) / 2)]
            s.t.  w1 + w2 = 1,  w >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = log_loss(U, eta=3.0, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w"]
    assert [c.label for c in dual.constraints] == ["gamma", "w >= 0"]
    d = np.array([0.2, 1.5, 0.3])
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, 0.4
    entropy = (
        0.2 * math.log(0.4) + 0.8 * math.log(1.6) + 1.5 * math.log(1.5) + 0.5 * math.log(0.5)
        + 0.3 * math.log(0.6) + 0.7 * math.log(1.4)
    )  # fmt: skip
    assert primal.objective.value == pytest.approx(0.4 + entropy / 3)
    np.testing.assert_allclose(primal.constraints[0].residual, [0.0, 1.3 - 0.4], atol=1e-15)
    dual.var_dict["w"].value = [0.25, 0.75]
    loss = (
        math.log((1 + math.exp(1.5)) / 2)
        + 2 * math.log((1 + math.exp(-1.875)) / 2)
        + math.log((1 + math.exp(-0.75)) / 2)
    )
    assert dual.objective.value == pytest.approx(-loss / 3)

    two_sided = log_loss(U, two_sided=True)
    assert [c.label for c in two_sided.cvxpy("primal", "literal").constraints] == ["w+", "w-"]
    assert [c.label for c in two_sided.cvxpy("dual", "literal").constraints] == ["gamma"]


@pytest.mark.parametrize("two_sided", (False, True))
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int, two_sided: bool) -> None:
    program = draw(np.random.default_rng(seed), two_sided)
    certificate = certificate_of_backends(program, {"cvxpy:clarabel": 1e-8, "cvxpy:scs": 1e-6})
    assert_forms_have(
        program, pytest.approx(certificate.upper, rel=1e-6, abs=1e-6), tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
    )


@pytest.mark.parametrize("eta", (0.1, 1.0, 7.0, 1e6))
def test_the_conjugate_is_the_logarithmic_loss_of_the_margins(eta: float) -> None:
    c = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    program = log_loss(REFERENCE_U, eta=eta, c=c)
    point = program.regularizer.conjugate_at(-program.margins.margins(REFERENCE_W))
    assert point.value == pytest.approx(float(c @ (np.logaddexp(0, -eta * REFERENCE_M) - math.log(2))) / eta, rel=1e-13)
    np.testing.assert_allclose(point.d, c * 0.5 * (1 - np.tanh(eta * REFERENCE_M / 2)), rtol=1e-9, atol=1e-15)
    assert program.certify(w=REFERENCE_W).lower == pytest.approx(-point.value, abs=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_loss_is_what_a_smooth_minimization_finds(seed: int) -> None:
    program = draw(np.random.default_rng(seed), False)
    U, c, eta = program.margins.to_array(), program.examples.c, program.parameters.eta
    certificate = program.solve("cvxpy:clarabel", tol=1e-8).certificate
    loss = float(c.sum()) * math.log(2) / eta - certificate.lower
    assert loss == pytest.approx(slow_loss(U, eta, c), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("two_sided", (False, True))
@pytest.mark.parametrize("seed", range(5))
def test_kkt_system_of_the_page(seed: int, two_sided: bool) -> None:
    program = draw(np.random.default_rng(seed), two_sided)
    solution = program.solve("cvxpy:clarabel", tol=1e-9)
    c, eta = program.examples.c, program.parameters.eta
    m, e = program.margins.margins(solution.w), program.margins.edges(solution.d)
    np.testing.assert_allclose(program.regularizer.conjugate_at(-m).d, c / (1 + np.exp(eta * m)), rtol=1e-9)
    gamma = float(np.abs(e).max() if two_sided else e.max())
    assert solution.multipliers["gamma"] == pytest.approx(gamma)
    np.testing.assert_allclose(np.abs(solution.w) * (gamma - np.sign(solution.w) * e), 0, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_two_sided_is_the_simplex_over_the_hypotheses_and_their_negatives(seed: int) -> None:
    program = draw(np.random.default_rng(seed), True)
    U, c, eta = program.margins.to_array(), program.examples.c, program.parameters.eta
    both = log_loss(np.column_stack([U, -U]), eta=eta, c=c)
    one, solution = program.solve("cvxpy:clarabel", tol=1e-8), both.solve("cvxpy:clarabel", tol=1e-8)
    assert one.certificate.overlaps(solution.certificate)
    plus, minus = np.split(solution.w, 2)
    assert program.certify(solution.d, plus - minus).scaled_gap <= 1e-6


def test_small_and_large_eta() -> None:
    """Linear at 0, half the margin on average; the hinge without a margin at infinity."""
    half = float((REFERENCE_U.sum(axis=0) / 2).max())
    assert log_loss(REFERENCE_U, eta=1e-6).solve("cvxpy:clarabel").certificate.lower == pytest.approx(half, abs=1e-5)
    certificate = log_loss(REFERENCE_U, eta=1e5).certify(w=REFERENCE_W)
    assert certificate.lower == pytest.approx(-float(np.maximum(-REFERENCE_M, 0).sum()), abs=1e-4)


def test_at_a_thousand_examples() -> None:
    program = log_loss(noisy_stumps(1000, 20), eta=10.0)
    assert program.solve("cvxpy:clarabel", tol=1e-8).certificate.scaled_gap <= 1e-8
    assert program.solve("cvxpy:scs", tol=1e-6).certificate.scaled_gap <= 1e-6


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = log_loss(REFERENCE_U, eta=4.0, c=c).solve("cvxpy:clarabel", tol=1e-10)
    copies = log_loss(np.repeat(REFERENCE_U, c, axis=0), eta=4.0).solve("cvxpy:clarabel", tol=1e-10)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(merged.w, copies.w, atol=1e-5)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-5)


def test_eta_is_one_unless_it_is_given_and_positive() -> None:
    assert log_loss(REFERENCE_U).parameters.eta == 1.0
    with pytest.raises(ProblemError, match=r"^eta\b.*1e-100.*\b0\b"):
        log_loss(REFERENCE_U, eta=0.0)
