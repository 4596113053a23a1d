"""AdaBoost's step: the page against the package, the classic reweighting, and the dynamics of its cycles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import assert_step_agrees, bind_column
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import Outcome, ProblemError, Program, get_formulation


def adaboost(u: object, **parameters: object) -> Program:
    return bind_column("adaboost", u, **parameters)


def test_structure_by_hand() -> None:
    """N = 3, u = (1, -1, 1/2), d0 = (1/4, 1/2, 1/4).

    Primal  min sum d ln(d / d0)   s.t.  d1 - d2 + d3/2 = 0,  d1 + d2 + d3 = 1
    Dual    max -ln[ exp(-alpha) / 4 + exp(alpha) / 2 + exp(-alpha/2) / 4 ]
    """
    program = adaboost([1.0, -1.0, 0.5], c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta"]
    assert dual.constraints == []
    d, d0 = np.array([0.2, 0.5, 0.3]), np.array([0.25, 0.5, 0.25])
    primal.var_dict["d"].value = d
    assert primal.objective.value == pytest.approx(sum(d * np.log(d / d0)))
    assert primal.constraints[0].residual == pytest.approx(abs(0.2 - 0.5 + 0.15))
    dual.var_dict["w"].value = [0.3]
    assert dual.objective.value == pytest.approx(
        -math.log(0.25 * math.exp(-0.3) + 0.5 * math.exp(0.3) + 0.25 * math.exp(-0.15))
    )


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = adaboost(rng.uniform(-1, 1, 40), d0=rng.dirichlet(np.ones(40)))
    assert_step_agrees(program)


def test_reference_numbers() -> None:
    solution = adaboost(REFERENCE_U[:, 0], d0=REFERENCE_D0).solve("interior", tol=5e-13)
    assert solution.w[0] == pytest.approx(0.2374138452, abs=1e-9)
    assert solution.certificate.lower == pytest.approx(0.0178774738, abs=1e-10)
    assert solution.certificate.upper == pytest.approx(0.0178774738, abs=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_the_answer_is_the_classic_reweighting(seed: int) -> None:
    """From the error epsilon: alpha = (1/2) ln((1 - epsilon) / epsilon), weights times exp(-alpha) where right."""
    rng = np.random.default_rng(seed)
    u, d0 = rng.choice([-1.0, 1.0], 25), rng.dirichlet(np.ones(25))
    epsilon = float(d0[u < 0].sum())
    alpha = 0.5 * math.log((1 - epsilon) / epsilon)
    d = d0 * np.where(u > 0, math.exp(-alpha), math.exp(alpha))
    d /= d.sum()
    program = adaboost(u, d0=d0)
    certificate = program.certify(d, [alpha])
    assert certificate.gap <= 1e-12
    assert certificate.kkt.worst <= 1e-13
    assert certificate.contains(-math.log(2 * math.sqrt(epsilon * (1 - epsilon))))
    np.testing.assert_allclose(certificate.d, d, rtol=1e-10)
    np.testing.assert_allclose(d, d0 / (1 + u * (u @ d0)), rtol=1e-12)
    assert d[u < 0].sum() == pytest.approx(0.5, abs=1e-14)


@pytest.mark.thorough
def test_the_edges_of_the_three_by_three_game_cycle_at_the_golden_ratio() -> None:
    """The best hypothesis each round, whatever the start: all edges come to (sqrt(5) - 1) / 2."""
    U, d, steps = np.ones((3, 3)) - 2 * np.eye(3), np.array([0.5, 0.3, 0.2]), np.zeros(3)
    edges = list[float]()
    for _ in range(60):
        q = int(np.argmax(U.T @ d))
        edges.append(float(U[:, q] @ d))
        certificate = adaboost(U[:, q], d0=d).certify(w=[math.atanh(edges[-1])])
        assert certificate.gap <= 1e-11
        d, steps[q] = certificate.d, steps[q] + math.atanh(edges[-1])
    np.testing.assert_allclose(edges[-9:], (math.sqrt(5) - 1) / 2, atol=1e-9)
    a, b = (3 - math.sqrt(5)) / 4, (math.sqrt(5) - 1) / 4
    np.testing.assert_allclose(np.sort(d), [a, b, 0.5], atol=1e-9)
    np.testing.assert_allclose((U @ steps / steps.sum()).min(), 1 / 3, atol=1e-1)


@pytest.mark.parametrize("sign", (1.0, -1.0))
@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
def test_a_hypothesis_that_is_always_right_or_always_wrong_has_no_step(sign: float, backend: str) -> None:
    solution = adaboost(sign * np.array([1.0, 0.5, 0.25, -1.0]), d0=[0.5, 0.3, 0.2, 0.0]).solve(backend)
    assert solution.outcome is Outcome.INFEASIBLE
    assert solution.certificate.excess == pytest.approx(0.25, abs=1e-12)
    assert np.sign(solution.w[0]) == sign


def test_a_hypothesis_without_an_edge_moves_nothing() -> None:
    certificate = adaboost([1, -1, 1, -1], d0=[0.3, 0.4, 0.2, 0.1]).certify()
    np.testing.assert_allclose(certificate.d, [0.3, 0.4, 0.2, 0.1], rtol=1e-14)
    assert certificate.gap <= 1e-12


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = adaboost(REFERENCE_U[:, 0], c=c).solve("cvxpy:clarabel", tol=1e-12)
    copies = adaboost(np.repeat(REFERENCE_U[:, 0], c)).solve("cvxpy:clarabel", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(merged.w, copies.w, atol=1e-5)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-6)


def test_the_step_takes_one_column_and_no_parameter_of_its_own() -> None:
    page = get_formulation("adaboost")
    assert list(page.parameters) == ["keep_faultless"]  # of how a run ends
    with pytest.raises(ProblemError, match=r"\b1 column\b.*\b3\b"):
        page.bind(REFERENCE_U)
