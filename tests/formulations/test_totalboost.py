"""TotalBoost: SoftBoost at nu = 1, where the cap says nothing, and what it does with multiplicities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import assert_problems_agree, best_edge, bind, random_program
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import OptionError, Outcome, Program, get_formulation


def totalboost(U: object, **parameters: object) -> Program:
    return bind("totalboost", U, **parameters)


def hard_margin(U: np.ndarray) -> float:
    return best_edge(U, np.ones(len(U)))


def test_structure_by_hand() -> None:
    """N = 3, t = 2, gamma = 0.3, c = (1, 2, 1), d0 = (1/4, 1/2, 1/4).

    Primal  min sum d ln(d / d0)   s.t.  d1 - d2/2 + d3 <= 0.3,  -d1 + d2 <= 0.3,  d1 + d2 + d3 = 1  (and d <= 1)
    Dual    max -ln[ exp(-(w1 - w2)) / 4 + exp(-(-w1/2 + w2)) / 2 + exp(-w1) / 4 ] - 0.3 (w1 + w2)   s.t.  w >= 0
            (psi = 0, at the price of 1 each)
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = totalboost(U, gamma=0.3, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta", "psi"]
    cap = primal.constraints[2]
    np.testing.assert_array_equal(cap.args[1].value, [1, 1, 1])
    dual.var_dict["w"].value, dual.var_dict["psi"].value = [0.5, 1.5], [0, 0, 0]
    inside = 0.25 * math.exp(1.0) + 0.5 * math.exp(0.25 - 1.5) + 0.25 * math.exp(-0.5)
    assert dual.objective.value == pytest.approx(-math.log(inside) - 0.3 * 2.0)
    dual.var_dict["psi"].value = [0, 0.5, 0]
    assert dual.objective.value < -math.log(inside) - 0.3 * 2.0


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    one = random_program(seed)
    support = np.ones(len(one.U), dtype=bool) if one.d0 is None else one.d0 > 0
    gamma = min(1.0, hard_margin(one.U[support]) + 0.05)
    assert_problems_agree(totalboost(one.U, gamma=gamma, c=one.c, d0=one.d0))


@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
def test_totalboost_is_softboost_at_nu_1(backend: str) -> None:
    gamma = hard_margin(REFERENCE_U) + 0.05
    one = totalboost(REFERENCE_U, gamma=gamma, d0=REFERENCE_D0)
    program = bind("softboost", REFERENCE_U, nu=1, gamma=gamma, d0=REFERENCE_D0)
    total, soft = one.solve(backend, tol=1e-8), program.solve(backend, tol=1e-8)
    assert total.certificate.overlaps(soft.certificate)
    assert max(total.certificate.scaled_gap, soft.certificate.scaled_gap) <= 1e-8
    assert one.certify(w=soft.w).lower == soft.certificate.lower


def test_the_bound_is_the_exponential_potential_of_w() -> None:
    rng, gamma = np.random.default_rng(0), hard_margin(REFERENCE_U) + 0.05
    program = totalboost(REFERENCE_U, gamma=gamma, d0=REFERENCE_D0)
    for _ in range(20):
        w = rng.uniform(0, 3, 3)
        potential = float(REFERENCE_D0 @ np.exp(-(REFERENCE_U @ w)))
        assert program.certify(w=w).lower == pytest.approx(-math.log(potential) - gamma * w.sum(), abs=1e-12)


def test_kkt_system_of_the_page() -> None:
    gamma = hard_margin(REFERENCE_U) + 0.05
    program = totalboost(REFERENCE_U, gamma=gamma, d0=REFERENCE_D0)
    solution = program.solve("cvxpy:clarabel", tol=1e-12)
    m = REFERENCE_U @ solution.w
    d = REFERENCE_D0 * np.exp(-m) / float(REFERENCE_D0 @ np.exp(-m))
    np.testing.assert_allclose(solution.d, d, atol=1e-5)
    assert solution.multipliers["beta"] == pytest.approx(math.log(float(REFERENCE_D0 @ np.exp(-m))), abs=1e-12)
    assert (solution.d @ REFERENCE_U <= gamma).all()
    np.testing.assert_allclose(solution.w * (gamma - solution.d @ REFERENCE_U), 0, atol=1e-10)


def test_above_the_hard_margin_there_is_an_answer_and_below_there_is_none() -> None:
    best = hard_margin(REFERENCE_U)
    for by in (1e-2, 1e-5):
        assert totalboost(REFERENCE_U, gamma=best + by).solve("cvxpy:clarabel").certificate.scaled_gap <= 1e-8
        solution = totalboost(REFERENCE_U, gamma=best - by).solve("cvxpy:clarabel")
        assert solution.outcome is Outcome.INFEASIBLE
        # The smallest margin of w is the proof.
        assert float((REFERENCE_U @ solution.w).min()) - (best - by) == pytest.approx(
            solution.certificate.excess, abs=1e-11
        )


def test_totalboost_projects_the_reference_and_not_the_last_distribution() -> None:
    """The second hypothesis makes the first one superfluous: what the last d has of it would stay for ever."""
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 20))
    U = np.column_stack([0.6 * x + 0.4 * y, 0.8 * x + 0.2])
    last = totalboost(U[:, :1], gamma=-0.1).solve("cvxpy:clarabel", tol=1e-10)
    solution = totalboost(U, gamma=-0.1).solve("cvxpy:clarabel", tol=1e-10)
    assert last.w[0] > 0.8
    assert solution.w[0] < 1e-8
    second_solution = totalboost(U[:, 1:], gamma=-0.1).solve("cvxpy:clarabel", tol=1e-10)
    np.testing.assert_allclose(solution.d, second_solution.d, atol=1e-5)
    from_last = totalboost(U, gamma=-0.1, d0=last.d).solve("cvxpy:clarabel", tol=1e-10)
    assert np.abs(from_last.d - solution.d).max() > 0.02


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    gamma = hard_margin(REFERENCE_U) + 0.05
    one = totalboost(REFERENCE_U, gamma=gamma, c=c).solve("cvxpy:clarabel", tol=1e-12)
    solution = totalboost(np.repeat(REFERENCE_U, c, axis=0), gamma=gamma).solve("cvxpy:clarabel", tol=1e-12)
    assert one.certificate.lower == pytest.approx(solution.certificate.lower, abs=1e-10)
    assert one.certificate.upper == pytest.approx(solution.certificate.upper, abs=1e-10)
    np.testing.assert_allclose(np.repeat(one.d / c, c), solution.d, atol=1e-6)


def test_small_multiplicities_are_no_caps() -> None:
    """All c = 0.1 is all c = 1: nu = 1 would allow no weight above 0.1."""
    gamma = hard_margin(REFERENCE_U) + 0.05
    light, whole = (totalboost(REFERENCE_U, gamma=gamma, c=np.full(6, c)) for c in (0.1, 1.0))
    one, solution = light.solve("cvxpy:clarabel", tol=1e-10), whole.solve("cvxpy:clarabel", tol=1e-10)
    assert one.certificate.overlaps(solution.certificate)
    assert one.d.max() > 0.1


def test_the_iteration_bound() -> None:
    program = totalboost(np.ones((40, 2)), gamma=1.0, epsilon=0.05)
    bound = get_formulation("totalboost").boosting.iteration_bound(program)
    assert bound == math.floor(2 / 0.05**2 * math.log(40)) + 1


def test_totalboost_has_no_nu() -> None:
    with pytest.raises(OptionError, match="nu"):
        totalboost(REFERENCE_U, gamma=0.1, nu=2)
