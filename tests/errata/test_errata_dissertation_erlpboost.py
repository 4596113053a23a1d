"""Errata of Glocer 2009, sections 3.2 and 3.3: ERLPBoost and Binary ERLPBoost. The page is docs/errata.md."""

from __future__ import annotations

from functools import cache
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
    binary,
    binary_beta,
    binary_entropy,
    binary_value,
    binary_weights,
    capped_softmax,
    corrective_erlpboost,
    entropy,
    erlpboost,
    lpboost,
    maximize,
    soft_margin,
    spread,
    uniform,
)
from errata.printed_statements import unnormalized_dual
from support.speeds import many

import boostopt


def slack_of_cap(m: np.ndarray, d: np.ndarray, eta: float) -> tuple[float, np.ndarray]:
    """The multipliers beta (of the unnormalized entropy) and psi of the reference instance at d = d(w)."""
    free = d < 1 / NU - 1e-9
    beta = float(np.mean((-np.log(d / D0) / eta - m)[free]))
    return beta, np.where(free, 0.0, -m - beta - np.log(1 / (NU * D0)) / eta)


def test_T14_the_dual_value_before_the_first_hypothesis_is_minus_one() -> None:
    V, d0, eta, epsilon = np.full((6, 1), -0.8), uniform(6), 10.0, 0.1
    by_formula = -np.log(np.sum(d0 * np.exp(-eta * np.zeros(6)))) / eta
    assert by_formula == pytest.approx(0, abs=1e-15)
    first_primal, optimum = float(V[:, 0] @ d0), erlpboost(V[:, 0], 1, eta, d0)[0]
    # 0 is no lower bound, and the criterion would hold before there is a hypothesis.
    assert optimum == pytest.approx(-0.8)
    assert by_formula > optimum + 0.7
    assert first_primal - by_formula <= epsilon / 2
    assert -1 <= optimum
    assert first_primal - (-1) > epsilon / 2


def test_T15_the_criterion_takes_each_primal_value_at_its_own_round() -> None:
    V, epsilon = np.random.default_rng(5).choice([-1.0, 1.0], size=(24, 40)), 0.2
    eta = 2 / epsilon * np.log(24)
    rounds = corrective_erlpboost(V, 1, epsilon, eta)
    d0 = uniform(24)
    round_values = [float(V[:, r.column] @ r.d) + entropy(r.d, d0) / eta for r in rounds]
    for k, last in enumerate(rounds):
        assert last.smallest_primal <= min(round_values[: k + 1]) + 1e-12
    pool = sorted({int(rounds[0].w.argmax()), *(r.column for r in rounds)})
    # The last problem's primal value at the last distribution, as printed, does not depend on q and is larger.
    larger = [float((V[:, pool].T @ r.d).max()) + entropy(r.d, d0) / eta - r.smallest_primal for r in rounds]
    assert max(larger[len(rounds) // 2 :]) > 0.05


def test_T16_the_entropy_is_bounded_on_the_capped_simplex_only() -> None:
    N, nu, rng = 12, 4, np.random.default_rng(0)
    assert entropy(np.eye(N)[0], uniform(N)) == pytest.approx(np.log(N))
    assert np.log(N) > np.log(N / nu) + 1.3
    for _ in range(200):
        d = boostopt.project_capped_simplex(rng.dirichlet(np.full(N, 0.1)) + 1e-12, nu)
        assert entropy(d, uniform(N)) <= np.log(N / nu) + 1e-12
    assert entropy(np.repeat([1 / nu, 0], [nu, N - nu]), uniform(N)) == pytest.approx(np.log(N / nu))


def test_T17_slack_of_the_cap_enters_with_a_plus() -> None:
    m = U @ W
    value, d = erlpboost(m, NU, ETA, D0)
    _, psi = slack_of_cap(m, d, ETA)
    assert psi[4] == pytest.approx(0.1069903338, abs=1e-9)
    corrected, printed_value = (D0 * np.exp(-ETA * (m + sign * psi)) for sign in (1, -1))
    np.testing.assert_allclose(corrected / corrected.sum(), d, atol=1e-12)
    assert -np.log(corrected.sum()) / ETA - psi.sum() / NU == pytest.approx(value, abs=1e-12)
    assert (printed_value / printed_value.sum()).max() > 1 / NU + 0.2


def test_T18_the_exponential_that_is_bounded_by_its_chord() -> None:
    for eta, alpha in ((0.5, 0.1), (4.0, 0.05), (30.0, 0.5)):
        x = np.linspace(-2, 2, 401)
        low, high = np.exp(2 * eta * alpha), np.exp(-2 * eta * alpha)
        chord = (2 - x) / 4 * low + (2 + x) / 4 * high
        assert (np.exp(-eta * alpha * x) <= chord * (1 + 1e-12)).all()
        assert np.exp(2) > chord[-1] + 6


def test_T19_progress_is_measured_between_two_optima() -> None:
    V = np.random.default_rng(2).choice([-1.0, 1.0], size=(16, 20))
    d0, epsilon = uniform(16), 0.1
    eta = 2 / epsilon * np.log(16)
    columns, value, d, excess = [0], *erlpboost(V[:, 0], 1, eta, d0), 0.0
    smallest = float(V[:, 0] @ d0)
    for _ in range(many(5, 2)):
        columns.append(int((V.T @ d).argmax()))
        pool_margins = V[:, columns]
        at_last = float((pool_margins.T @ d).max()) + entropy(d, d0) / eta
        smallest = min(smallest, at_last)
        new, w = maximize(
            lambda w, pool_margins=pool_margins: (lambda a: (a[0], pool_margins.T @ a[1]))(
                erlpboost(pool_margins @ w, 1, eta, d0)
            ),
            len(columns),
        )
        # Lemma 3.7 bounds the progress of the optimum. The printed left side is no progress.
        assert new - value >= (at_last - value) ** 2 / (8 * eta) - 1e-9
        assert new - value >= (smallest - value) ** 2 / (8 * eta) - 1e-9
        excess = max(excess, (at_last - value) - (new - value))
        value, d = erlpboost(pool_margins @ w, 1, eta, d0)
    assert excess > 0.5


def test_T20_the_first_difference_may_be_two() -> None:
    d0, epsilon = uniform(5), 0.2
    first = float(np.ones(5) @ d0) - (-1)
    assert first == 2
    eta = 2 / epsilon * np.log(5)
    delta, rounds = first, 1
    while delta > epsilon / 2:
        delta, rounds = delta - delta**2 / (8 * eta), rounds + 1
    assert rounds <= 16 * eta / epsilon


@cache
def subsets(count: int) -> np.ndarray:
    """Return subsets of 10 of 80 points as rows of 0 and 1. Any two subsets share at most 5 points."""
    rng = np.random.default_rng(0)
    subset_rows, n_rows = np.zeros((count, 80), dtype=np.float32), 0
    while n_rows < count:
        batch = np.zeros((256, 80), dtype=np.float32)
        np.put_along_axis(batch, rng.random((256, 80)).argsort(axis=1)[:, :10], 1, axis=1)
        fits = np.triu(batch @ batch.T, 1).max(axis=0) <= 5
        fits &= (batch @ subset_rows[:n_rows].T).max(axis=1, initial=0) <= 5
        new = batch[fits][: count - n_rows]
        subset_rows[n_rows : n_rows + len(new)] = new
        n_rows += len(new)
    return subset_rows


@pytest.mark.thorough
@pytest.mark.parametrize("is_binary", [False, True], ids=["theorem 3.12", "theorem 3.23"])
def test_T21_approximate_distributions_can_stall_beyond_the_printed_bound(is_binary: bool) -> None:
    """8171 rounds with distributions of accuracy epsilon / 4 make no progress and never meet the criterion."""
    N, epsilon, more = 160, 0.2, 8170
    eta, d0 = 2 / epsilon * np.log(N), uniform(N)
    point_subsets = subsets(more)
    first = np.repeat([0.0, 1.0], 80)
    value, d = binary(first, 1, eta, d0) if is_binary else erlpboost(first, 1, eta, d0)

    # The inaccurate distribution of a round is uniform on one subset; the oracle answers +1 on it, -1 elsewhere.
    approximate = np.repeat([0.1, 0.0], [10, 150])
    regularizer = (binary_entropy(approximate, d0, 1) if is_binary else entropy(approximate, d0)) / eta
    for rows in np.array_split(point_subsets, 16):
        common = rows @ point_subsets.T
        edges = (2 * common - 10) / 10  # of every hypothesis under the distribution of every round
        assert (edges == 1).sum() == len(rows)  # the oracle's answer is the best, and new
        edges[edges == 1] = 0
        assert edges.max() <= 0  # earlier hypotheses: at most the first one's 0
    assert regularizer - value <= epsilon / 4

    # The optimum stays at the first hypothesis: the others have smaller edges at its distribution.
    assert ((2 * point_subsets - 1) @ d[:80] - d[80:].sum()).max() < float(first @ d) - 0.5
    # Primal values at the approximate distributions: 0.5 at the start, over 1 afterwards.
    assert min(float(first @ d0), 1 + regularizer) - value > epsilon / 2
    assert 1 + more > 64 / epsilon**2 * np.log(N) > 8120


def test_T21_exact_distributions_and_rough_updates_keep_the_bound() -> None:
    """One corrective step a round is enough if the oracle is asked with d(w)."""
    epsilon = 0.2
    V = np.column_stack([np.repeat([0.0, 1.0], 80), np.vstack([2 * subsets(200).T - 1, np.full((80, 200), -1)])])
    sample = np.random.default_rng(1).choice([-1.0, 1.0], size=(40, 60))
    for M, nu in ((V, 1.0), (sample, 1.0), (sample, 5.0)):
        eta = 2 / epsilon * np.log(len(M) / nu)
        rounds = corrective_erlpboost(M, nu, epsilon, eta)
        assert len(rounds) <= 16 * eta / epsilon
        assert soft_margin(M @ rounds[-1].w, nu) >= lpboost(M, nu).value - epsilon


def test_T22_dual_of_the_unnormalized_program() -> None:
    m = U @ W
    value, d = erlpboost(m, NU, ETA, D0)
    beta, psi = slack_of_cap(m, d, ETA)
    assert beta == pytest.approx(-0.0552771290, abs=1e-9)
    printed_value, corrected = unnormalized_dual(m, psi, beta, NU, ETA, D0)
    assert corrected == pytest.approx(value, abs=1e-12)
    assert value - printed_value.max() > 0.15

    # With sum w = q the value exceeds the optimum of the primal it should bound.
    def dual(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, d = erlpboost(U @ w, NU, ETA, D0)
        return value, U.T @ d

    assert maximize(dual, 3)[0] == pytest.approx(0.0924628832, abs=1e-8)
    assert maximize(dual, 3, total=3)[0] > 0.0924628832 + 0.01


def test_T23_the_entropy_must_be_half_of_epsilon() -> None:
    """With all of epsilon (half the eta) a legal run stops 1.3 epsilon below what the oracle guarantees."""
    N, epsilon, d0 = 2001, 0.1, uniform(2001)
    largest = binary_entropy(np.eye(N)[0], d0, 1)
    for eta, entropy_range in ((largest / epsilon, epsilon), (2 * largest / epsilon, epsilon / 2)):
        assert binary_entropy(np.eye(N)[0], d0, 1) / eta == pytest.approx(entropy_range)
        # The class: the constant 0, which guarantees g = 0, and u with edge 0 at the start, fetched first.
        u = np.full(N, -0.5 * epsilon)
        u[0] -= 0.8 * epsilon
        u[1001:] = -u[:1001].sum() / 1000
        value, d = binary(u, 1, eta, d0)
        assert u @ d < 0  # the constant is the best answer in round 2
        smallest = min(float(u @ d0), 0 + binary_entropy(d, d0, 1) / eta)
        short = 0 - soft_margin(u, 1)
        assert short == pytest.approx(1.3 * epsilon)
        stops = smallest - value <= epsilon / 2
        assert stops == (entropy_range == epsilon)


def test_T24_the_binary_criterion_needs_beta() -> None:
    m = U @ W
    value, d = binary(m, NU, ETA, D0)
    assert value == pytest.approx(0.0671751405, abs=1e-10)
    assert float(d @ m) + binary_entropy(d, D0, NU) / ETA == pytest.approx(value, abs=1e-10)
    # (3.26) has no psi to put in its place; without beta the bound is too low.
    assert value - binary_value(m, 0.0, NU, ETA, D0) > 0.01


def test_T25_the_cap_of_the_binary_program_is_never_active() -> None:
    for seed in range(20):
        w = np.random.default_rng(seed).dirichlet(np.ones(3))
        m = U @ w
        for eta in (1.0, ETA, 20.0):
            d = binary(m, NU, eta, D0)[1]
            assert 0 < d.min()
            assert d.max() < 1 / NU
            # Stationary on every row, without any psi.
            logit = np.log(d / D0) - np.log1p(-NU * d) + np.log1p(-NU * D0)
            assert spread(logit / eta + m) < 1e-8
    assert (np.abs(erlpboost(U @ W, NU, 20.0, D0)[1] - 1 / NU) < 1e-12).sum() == 2  # where the sums of psi do exist


def test_T26_the_exponent_of_lemma_3_19_holds_beta() -> None:
    m = U @ W
    beta = binary_beta(m, NU, ETA, D0)
    assert beta == pytest.approx(-0.1347606967, abs=1e-10)
    corrected, printed_value = (
        D0 * np.exp(-ETA * (m + b)) / (1 - NU * D0 + NU * D0 * np.exp(-ETA * (m + b))) for b in (beta, 0)
    )
    np.testing.assert_allclose(corrected, binary_weights(m, beta, NU, ETA, D0), atol=1e-14)
    assert corrected.sum() == pytest.approx(1, abs=1e-12)
    assert printed_value.sum() < 0.8


def test_T27_the_binary_entropy_exceeds_the_relative_entropy() -> None:
    N, nu, epsilon = 30, 3, 0.1
    vertex = np.repeat([1 / nu, 0], [nu, N - nu])
    largest = binary_entropy(vertex, uniform(N), nu)
    r = nu / N
    assert largest == pytest.approx(N / nu * (-r * np.log(r) - (1 - r) * np.log(1 - r)))
    assert largest == pytest.approx(3.2508, abs=1e-4)
    printed_value = max(2 / epsilon * np.log(N / nu), 0.5)
    assert largest / printed_value > 0.7 * epsilon
    for corrected in (2 / epsilon * (np.log(N / nu) + 1), 2 / epsilon * largest):
        assert largest / corrected <= epsilon / 2 * (1 + 1e-12)
    rng = np.random.default_rng(0)
    for _ in range(100):
        d = capped_softmax(3 * rng.normal(size=N), nu)
        assert binary_entropy(d, uniform(N), nu) <= largest + 1e-12


def test_T47_weights_from_the_active_set_of_an_exact_d_only() -> None:
    rng = np.random.default_rng(0)
    V, eta = rng.uniform(-1, 1, size=(10, 3)), 40.0
    w_true = np.array([0.2, 0.5, 0.3])
    d = erlpboost(V @ w_true, 1, eta, uniform(10))[1]

    def solve(columns: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, float, int]:
        """Least squares for (Uw)_n + beta = -ln(d_n / d0_n) / eta and sum w = 1: w, residual, rank."""
        t = columns.shape[1]
        A = np.vstack([np.column_stack([columns, np.ones(10)]), np.append(np.ones(t), 0)])
        b = np.append(-np.log(d * 10) / eta, 1.0)
        answer: Any = np.linalg.lstsq(A, b)
        return answer[0][:t], float(np.abs(A @ answer[0] - b).max()), int(answer[2])

    w, residual, _ = solve(V, d)
    np.testing.assert_allclose(w, w_true, atol=1e-9)
    assert residual < 1e-9
    # A d that is right to nine digits of its largest entry has no exact solution, and its smallest entries none at all.
    assert d.min() < 1e-12
    w, residual, _ = solve(V, d + 1e-9 * rng.random(10))
    assert residual > 0.01
    assert np.abs(w - w_true).max() > 0.01
    # Dependent columns leave a family of solutions.
    twice = np.column_stack([V, V[:, 0]])
    assert solve(twice, d)[2] == 4
    twice_w = solve(twice, d)[0]
    np.testing.assert_allclose(twice_w, [0.1, 0.5, 0.3, 0.1], atol=1e-9)
    np.testing.assert_allclose(twice @ twice_w, V @ w_true, atol=1e-9)


def test_T49_curvature_concentrates_as_eta_grows() -> None:
    V, eta_values = np.array([[1.0, -1.0], [-1.0, 1.0]]), (1.0, 10.0, 100.0)

    def curvature(alpha: float, eta: float) -> float:
        step = 1e-3 / eta
        a, b, c = (
            erlpboost(V @ np.array([alpha + k * step, 1 - alpha - k * step]), 1, eta, uniform(2))[0] for k in (-1, 0, 1)
        )
        return (a - 2 * b + c) / step**2

    at_kink, off_kink = ([curvature(alpha, eta) for eta in eta_values] for alpha in (0.5, 0.75))
    np.testing.assert_allclose(at_kink, [-4 * eta for eta in eta_values], rtol=1e-4)
    np.testing.assert_allclose(off_kink, [-4 * eta / np.cosh(eta / 2) ** 2 for eta in eta_values], atol=1e-3)
    assert abs(off_kink[-1]) < 1e-3
    assert off_kink[0] < -3


def test_the_binary_helper_agrees_with_a_primal_method() -> None:
    """The dual helper that the binary errata are measured with, against a minimization over d."""
    answer: Any = scipy.optimize.minimize(
        lambda d: float(d @ (U @ W)) + binary_entropy(d, D0, NU) / ETA,
        uniform(6),
        bounds=[(1e-9, 1 / NU - 1e-9)] * 6,
        constraints={"type": "eq", "fun": lambda d: d.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert answer.fun == pytest.approx(binary(U @ W, NU, ETA, D0)[0], abs=1e-8)
