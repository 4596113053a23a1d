"""Errata of Glocer 2009: chapter 2, SoftBoost (3.1), chapter 6, appendix A. What is printed fails, what is right holds.

The page is docs/errata.md; entropy-regularized and corrective programs have files of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from errata.independent_answers import (
    D0,
    ETA,
    NU,
    U,
    W,
    capped_softmax,
    edges_at_most_are_feasible,
    entropy,
    erlpboost,
    lpboost,
    maximize,
    soft_margin,
    softboost,
    softboost_dual,
    softboost_weights,
    spread,
    uniform,
)
from errata.printed_statements import slacks, zero_one_loss


@pytest.mark.parametrize(("y", "h"), [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_T1_zero_one_loss(y: int, h: int) -> None:
    printed_value, corrected = zero_one_loss(y * h)
    assert corrected == (h != y)
    assert abs(printed_value - (h != y)) == (0 if h != y else 3)


def test_T2_slacks_are_a_maximum_with_zero() -> None:
    m, best = U @ W, soft_margin(U @ W, NU)
    # max over rho and psi >= 0 of rho - sum psi / nu with m >= rho - psi.
    answer: Any = scipy.optimize.linprog(
        np.append(np.full(6, 1 / NU), -1.0),
        A_ub=np.column_stack([-np.eye(6), np.ones(6)]),
        b_ub=m,
        bounds=[*[(0, None)] * 6, (None, None)],
    )
    assert -answer.fun == pytest.approx(best, abs=1e-12)
    assert best == pytest.approx(-0.1, abs=1e-12)
    rho = np.sort(m)[2]
    printed_value, corrected = slacks(m, rho)
    assert rho - corrected.sum() / NU == pytest.approx(best, abs=1e-12)
    assert (m >= rho - corrected - 1e-15).all()
    assert rho - printed_value.sum() / NU > best + 0.5
    assert (m < rho - printed_value - 0.1).any()


def test_T3_the_objective_below_nu_one_is_no_such_identity() -> None:
    nu, m, rho = 0.8, U @ W, 0.2
    psi = slacks(m, rho)[1]
    objective = rho - psi.sum() / nu
    printed_value = np.append(m, m.sum()) + (1 - 1 / nu) * psi.sum()
    assert np.abs(printed_value - objective).min() > 0.1
    # What is concluded from it is right: the caps are vacuous, and the best rho needs no slack.
    assert lpboost(U, nu).value == pytest.approx(lpboost(U, 1).value, abs=1e-12)
    reachable = [r - slacks(m, r)[1].sum() / nu for r in np.linspace(-1, 1, 2001)]
    assert max(reachable) == pytest.approx(m.min(), abs=1e-12)


def test_T4_margins_sum_over_all_hypotheses() -> None:
    # With u^t in every term (and sum w = 1) the margins are those of the last hypothesis, whatever w is.
    printed_value, corrected = U[:, [2, 2, 2]] @ W, U @ W
    np.testing.assert_allclose(printed_value, U[:, 2])
    w = lpboost(U, NU).w
    assert soft_margin(U @ w, NU) == pytest.approx(lpboost(U, NU).value, abs=1e-12)
    assert soft_margin(U[:, [2, 2, 2]] @ w, NU) < lpboost(U, NU).value - 0.8
    assert spread(corrected - printed_value) > 0.5


def test_T5_lpboost_may_stop_at_epsilon() -> None:
    rng = np.random.default_rng(1)
    V, nu, epsilon = rng.choice([-1.0, 1.0], size=(40, 60)), 4.0, 0.1
    best = lpboost(V, nu).value
    d, columns, guarantee = uniform(40), list[int](), 1.0
    stops: dict[float, int] = {}
    while epsilon / 2 not in stops:
        columns.append(int((V.T @ d).argmax()))
        guarantee = min(guarantee, float((V.T @ d).max()))
        pool_optimum = lpboost(V[:, columns], nu)
        d = pool_optimum.d
        for accuracy in (epsilon, epsilon / 2):
            if guarantee - pool_optimum.value <= accuracy and accuracy not in stops:
                stops[accuracy] = len(columns)
                assert soft_margin(V[:, columns] @ pool_optimum.w, nu) >= best - accuracy
    assert stops[epsilon] < stops[epsilon / 2]


def slow_example(H: int, delta: float) -> np.ndarray:
    """The margin matrix on which LPBoost needs half as many rounds as there are examples (theorem 2.5)."""
    V = np.empty((2 * H, H + 1))
    for j in range(1, H + 1):
        V[:, j - 1] = -1 + (2 * j + 1) * delta
        V[H + j - 1, j - 1] = -1 + 2 * j * delta
        V[:H, 0] = 1
        if j >= 2:
            V[H + j - 2, j - 1] = 1
    V[:, H] = np.where(np.arange(2 * H) < H, -1 + delta, 1 - delta)
    return V


def test_T6_values_in_the_bottom_rows_of_figure_2_9() -> None:
    delta = 0.01
    V = np.full((9, 6), -delta)
    V[:8, :5] = slow_example(4, delta)
    V[8] = [-3 * delta] * 5 + [-2 * delta]
    values = [lpboost(V[:, :t], 1).value for t in range(1, 7)]
    corrected = [*(-1 + 2 * t * delta for t in range(1, 5)), -3 * delta, -2 * delta]
    np.testing.assert_allclose(values, corrected, atol=1e-12)
    assert max(abs(value + 3 * delta) for value in values[:5]) == pytest.approx(0.95)


def test_T7_lpboost_minimizes_the_largest_of_the_negative_margins() -> None:
    best = lpboost(U, 1)
    assert max(-U @ best.w) == pytest.approx(-best.value, abs=1e-12)
    # The smallest of them is least at a hypothesis with a margin of 1: its worst margin is -1.
    w = np.eye(3)[0]
    assert min(-U @ w) == -1
    assert min(-U @ best.w) > -0.7
    assert max(-U @ w) == 1


def test_T8_softboost_dual_without_sum_of_weights() -> None:
    for excess, primal, restricted in ((0.05, 0.1566530301, 0.0926750562), (0.01, 0.3442177725, 0.1326750562)):
        gamma = lpboost(U, NU).value + excess
        # The primal by a method that knows no dual.
        answer: Any = scipy.optimize.minimize(
            lambda d: entropy(d, D0),
            lpboost(U, NU).d.clip(1e-3),
            jac=lambda d: np.log(d / D0) + 1,
            bounds=[(1e-9, 1 / NU)] * 6,
            constraints=[
                {"type": "eq", "fun": lambda d: d.sum() - 1},
                {"type": "ineq", "fun": lambda d, gamma=gamma: gamma - U.T @ d, "jac": lambda d: -U.T},
            ],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert answer.fun == pytest.approx(primal, abs=1e-7)

        def dual(w: np.ndarray, gamma: float = gamma) -> tuple[float, np.ndarray]:
            return softboost_dual(U, w, NU, gamma, D0)

        value, w = maximize(dual, 3, total=None)
        assert value == pytest.approx(primal, abs=1e-9)
        assert w.sum() > 3
        assert maximize(dual, 3)[0] == pytest.approx(restricted, abs=1e-8)


def test_T8_the_constraint_costs_half_a_nat() -> None:
    V = np.random.default_rng(0).uniform(-1, 1, size=(12, 4))
    gamma = lpboost(V, 1).value + 0.005
    value, _ = maximize(lambda w: softboost_dual(V, w, 1, gamma, uniform(12)), 4, total=None)
    restricted, _ = maximize(lambda w: softboost_dual(V, w, 1, gamma, uniform(12)), 4)
    assert value - restricted > 0.5


def test_T9_softboost_has_no_eta() -> None:
    d, w = softboost_weights(U, NU, lpboost(U, NU).value + 0.05, D0)
    free = d < 1 / NU - 1e-9
    logs, m = np.log(d / D0), U @ w
    assert spread((logs + m)[free]) < 1e-6
    for eta in (0.5, 2.0, ETA):
        assert spread((logs / eta + m)[free]) > 0.3
        assert spread((logs + eta * m)[free]) > 0.3


def test_T10_the_uniform_distribution_need_not_be_feasible() -> None:
    run_gamma = lpboost(U, NU).value - 0.01
    assert (U.T @ uniform(6)).max() > run_gamma + 0.1
    assert not edges_at_most_are_feasible(U, NU, run_gamma)
    assert edges_at_most_are_feasible(U, NU, run_gamma + 0.02)
    # (4.6) and (4.12) ask for x.d = 0, which a positive x forbids.
    x = np.array([0.1, 0.5, 0.9, 0.4])
    assert soft_margin(x, 2) == pytest.approx(0.25)
    assert not edges_at_most_are_feasible(x[:, np.newaxis], 2, 0.0)
    assert edges_at_most_are_feasible(x[:, np.newaxis], 2, 0.25 + 1e-9)


def softboost_example() -> np.ndarray:
    return np.random.default_rng(3).choice([-1.0, 1.0], size=(20, 15))


def test_T11_softboost_ends_with_an_infeasible_problem() -> None:
    V, nu, epsilon = softboost_example(), 3.0, 0.1
    run = softboost(V, nu, epsilon)
    assert not edges_at_most_are_feasible(V[:, run.columns], nu, run.gamma)
    # Its dual, of which the output is said to be the solution, is unbounded along the weights of the linear program.
    pool_optimum = lpboost(V[:, run.columns], nu)
    rising = [
        softboost_dual(V[:, run.columns], scale * pool_optimum.w, nu, run.gamma, uniform(20))[0]
        for scale in (1e2, 1e3, 1e4)
    ]
    assert np.diff(rising).min() > 1
    # The weights of the linear program are within epsilon; so are w / sum w once the dual exceeds the largest entropy.
    best = lpboost(V, nu).value
    assert soft_margin(V[:, run.columns] @ pool_optimum.w, nu) >= best - epsilon
    # So are w / sum w where the dual value exceeds the largest entropy, here by raising one weight at a time.
    epsilon, largest = 0.2, np.log(20 / nu)
    w, gamma, guarantee, dual = np.zeros(15), 1.0, 1.0, 0.0
    for _ in range(int(2 * largest / epsilon**2) + 1):
        edges = V.T @ erlpboost(V @ w, nu, 1.0, uniform(20))[1]
        guarantee = min(guarantee, float(edges.max()))
        gamma = guarantee - epsilon
        w[edges.argmax()] += edges.max() - gamma
        previous_dual, (dual, _) = dual, softboost_dual(V, w, nu, gamma, uniform(20))
        assert dual >= previous_dual + epsilon**2 / 2 - 1e-12
        if dual > largest:
            break
    assert dual > largest
    assert soft_margin(V @ w / w.sum(), nu) > guarantee - epsilon >= best - epsilon


def test_T12_softboost_calls_the_oracle_once_at_nu_equal_to_N() -> None:
    V, epsilon = softboost_example(), 0.1
    run = softboost(V, 20.0, epsilon)
    assert len(run.columns) == 1
    assert np.ceil(2 / epsilon**2 * np.log(20 / 20)) == 0
    # The sum of the proof has its last term at d^(T-1): there is no d^T.
    run = softboost(V, 3.0, epsilon)
    T = len(run.columns)
    assert len(run.distributions) == T
    assert not edges_at_most_are_feasible(V[:, run.columns], 3.0, run.gamma)
    potentials = np.array([entropy(d, uniform(20)) for d in run.distributions])
    assert T >= 4
    assert (np.diff(potentials) >= epsilon**2 / 2 - 1e-9).all()
    assert (T - 1) * epsilon**2 / 2 <= potentials[-1] <= np.log(20 / 3)


def test_T13_totalboost_projects_the_first_distribution() -> None:
    """The projection of the last distribution, as printed, gives another d, which is farther from d0."""
    V, epsilon, d0 = np.random.default_rng(21).uniform(-1, 1, size=(8, 30)), 0.05, uniform(8)
    d, columns, guarantee, worst = d0, list[int](), 1.0, 0.0
    for _ in range(5):
        columns.append(int((V.T @ d).argmax()))
        guarantee = min(guarantee, float((V.T @ d).max()))
        pool_margins, gamma = V[:, columns], guarantee - epsilon
        from_last, _ = softboost_weights(pool_margins, 1, gamma, d)
        from_first, _ = softboost_weights(pool_margins, 1, gamma, d0)
        for feasible in (from_last, from_first):
            assert (pool_margins.T @ feasible).max() <= gamma + 1e-6
        assert entropy(from_last, d0) >= entropy(from_first, d0) - 1e-7
        # Pythagoras, on which the bound of the iterations rests.
        assert entropy(from_first, d0) >= entropy(d, d0) + entropy(from_first, d) - 1e-5
        worst = max(worst, float(np.abs(from_last - from_first).max()))
        d = from_first
    assert worst > 0.02


def test_T46_complementary_slackness_of_inequalities() -> None:
    # min x^2 / 2 - x subject to (1, -1) x <= (3, 3): the optimum 1 has A x < b, multipliers 0.
    A, b = np.array([[1.0], [-1.0]]), np.array([3.0, 3.0])
    answer: Any = scipy.optimize.minimize(
        lambda x: float(x[0] ** 2 / 2 - x[0]),
        [0.0],
        jac=lambda x: x - 1,
        constraints={"type": "ineq", "fun": lambda x: b - A @ x, "jac": lambda x: -A},
        method="SLSQP",
    )
    x, multipliers = answer.x, np.zeros(2)
    np.testing.assert_allclose(x - 1 + A.T @ multipliers, 0, atol=1e-9)
    assert (A @ x <= b).all()
    assert np.abs(A @ x - b).min() > 1
    np.testing.assert_array_equal(multipliers * (A @ x - b), 0)


def test_T48_adaboost_updates_with_the_hypothesis_just_found() -> None:
    V = np.random.default_rng(4).choice([-1.0, 1.0], size=(9, 12))
    d_before, previous = uniform(9), None
    for _ in range(4):
        q = int((V.T @ d_before).argmax())
        step = np.arctanh(V[:, q] @ d_before)
        corrected = d_before * np.exp(-step * V[:, q])
        corrected /= corrected.sum()
        assert V[:, q] @ corrected == pytest.approx(0, abs=1e-12)
        if previous is not None:
            # The step and the hypothesis of the round before, as printed, leave an edge.
            last_step, last = previous
            printed_value = d_before * np.exp(-last_step * V[:, last])
            assert abs(V[:, q] @ printed_value / printed_value.sum()) > 0.05
        d_before, previous = corrected, (step, q)


def long_servedio(gamma: float) -> np.ndarray:
    """Margins of the two coordinates on the points of Long and Servedio: one large, two penalizers, one puller."""
    return np.array([[1.0, 0.0], [gamma, -gamma], [gamma, -gamma], [gamma, 5 * gamma]])


def best_weights(V: np.ndarray, nu: float) -> np.ndarray:
    """All w (first of two weights) on a grid that maximize the soft margin."""
    grid = np.linspace(0, 1, 1201)
    values = np.array([soft_margin(V @ np.array([w, 1 - w]), nu) for w in grid])
    return grid[values >= values.max() - 1e-12]


@pytest.mark.thorough
def test_T50_caps_help_against_symmetric_noise_but_not_a_single_flip() -> None:
    gamma = 0.1
    clean = long_servedio(gamma)
    assert (clean @ np.array([1.0, 0.0]) >= gamma).all()
    flipped = clean * np.array([[-1.0], [1], [1], [1]])
    for nu in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0):
        weights = best_weights(flipped, nu)
        assert (weights < 0.5).all()  # both penalizers have negative margins
        assert weights.min() == pytest.approx(gamma / (1 + 2 * gamma) if nu <= 2 else 0, abs=1e-3)
        for eta in (2.0, 20.0, 200.0):
            grid = np.linspace(0, 1, 201)
            values = [erlpboost(flipped @ np.array([w, 1 - w]), nu, eta, uniform(4))[0] for w in grid]
            assert grid[np.argmax(values)] < 0.5
    # Every point with nine right labels and one wrong: some cap gives weights that are right on all clean points.
    noisy = np.vstack([clean] * 9 + [-clean])
    repaired = [nu for nu in range(1, 41) if (best_weights(noisy, nu) > 0.5).all()]
    assert repaired
    assert 1 not in repaired


def test_the_helpers_that_errata_are_measured_with() -> None:
    """Against root finding on random inputs, and the ten digits known for the reference instance."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        a, nu = 3 * rng.normal(size=8), rng.choice([1, 2, 3, rng.uniform(1, 7.5)])
        log_cap = -np.log(nu)
        theta: Any = scipy.optimize.brentq(lambda x, a=a, b=log_cap: np.exp(np.minimum(a + x, b)).sum() - 1, -50, 50)
        np.testing.assert_allclose(capped_softmax(a, nu), np.exp(np.minimum(a + theta, log_cap)), atol=1e-9)
    value, d = erlpboost(U @ W, NU, ETA, D0)
    assert value == pytest.approx(0.0124809954, abs=1e-10)
    np.testing.assert_allclose(U.T @ d, [-0.4268856488, 0.5898572573, -0.1472305093], atol=1e-9)
