"""Errata of Glocer 2009, chapter 4: gradients, corrective algorithms, projections. The page is docs/errata.md."""

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
    slope,
    soft_margin,
    spread,
    uniform,
)
from errata.printed_statements import binary_gradients, bisection, bracket, erlpboost_gradients, projection, weight_sum

import boostopt


def dual(w: np.ndarray) -> tuple[float, np.ndarray]:
    """ERLPBoost's dual value on the reference instance, and its gradient."""
    value, d = erlpboost(U @ w, NU, ETA, D0)
    return value, U.T @ d


def test_T28_signs_of_the_augmented_lagrangian() -> None:
    """The constraint c = sum w - 1 with multiplier lam and penalty 1 / (2 mu)."""
    best, w_best = maximize(dual, 3)
    lam_best = -float(dual(w_best)[1].max())

    def corrected(w: np.ndarray, lam: float, mu: float) -> tuple[float, np.ndarray]:
        value, gradient = dual(w)
        c = w.sum() - 1
        return value + lam * c - c**2 / (2 * mu), gradient + lam - c / mu  # maximized

    for lam in (lam_best + 0.5, lam_best - 0.5):
        w = maximize(lambda w, lam=lam: corrected(w, lam, 1e-3), 3, total=None)[1]
        assert (w.sum() - 1) / (1e-3 * (lam - lam_best)) == pytest.approx(1, abs=0.02)
    lam = 0.0
    for _ in range(30):
        w = maximize(lambda w, lam=lam: corrected(w, lam, 0.1), 3, total=None)[1]
        lam -= (w.sum() - 1) / 0.1
    assert lam == pytest.approx(lam_best, abs=1e-5)
    assert dual(w)[0] == pytest.approx(best, abs=1e-5)
    # Minimized as printed, Theta + lam c + c^2 / (2 mu) prefers single hypotheses to the optimum: c is 0 at both.
    assert min(dual(e)[0] for e in np.eye(3)) < best - 0.2


def test_T29_gradients_of_erlpboost() -> None:
    psi = np.array([0.1, 0.0, 0.3, 0.0, 0.2, 0.05])

    def value(w: np.ndarray, psi: np.ndarray) -> float:
        return -float(np.log(np.sum(D0 * np.exp(-ETA * (U @ w + psi))))) / ETA - psi.sum() / NU

    printed_value, corrected = erlpboost_gradients(U, W, psi, NU, ETA, D0)
    by_w, by_psi = slope(lambda w: value(w, psi), W), slope(lambda psi: value(W, psi), psi)
    np.testing.assert_allclose(corrected[0], by_w, atol=1e-8)
    np.testing.assert_allclose(corrected[1], by_psi, atol=1e-8)
    assert np.abs(printed_value[0] - by_w).max() > 1.2
    np.testing.assert_allclose(printed_value[1] - by_psi, 1 / NU, atol=1e-8)


def test_T30_gradients_of_the_binary_program() -> None:
    for beta in (0.3, binary_beta(U @ W, NU, ETA, D0)):
        printed_value, corrected = binary_gradients(U, W, beta, NU, ETA, D0)
        by_w = slope(lambda w, beta=beta: binary_value(U @ w, beta, NU, ETA, D0), W)
        by_beta = slope(lambda b: binary_value(U @ W, b[0], NU, ETA, D0), np.array([beta]))[0]
        np.testing.assert_allclose(corrected[0], by_w, atol=1e-8)
        assert corrected[1] == pytest.approx(by_beta, abs=1e-8)
        assert np.abs(printed_value[0] - by_w).max() > 0.15
        # A single term without the 1: positive where the derivative is negative or 0.
        assert np.abs(printed_value[1] - by_beta).max() > 0.25
        assert by_beta <= 1e-9 < printed_value[1].min()


def test_T31_the_start_value_rescales_all_earlier_weights() -> None:
    for last in (0.2, 0.7):
        corrected, printed_value = np.append((1 - last) * W, last), np.append(W, last)
        assert corrected.sum() == pytest.approx(1)
        assert printed_value.sum() == pytest.approx(1 + last)


def corrective_gain(d0: np.ndarray, u: np.ndarray, v: np.ndarray, eta: float, misprinted: bool) -> tuple[float, float]:
    """Return the gain of one corrective step from margins v towards u, and the guaranteed gain."""
    start_value, d = erlpboost(v, 1, eta, d0)
    x = u - v
    s, norm = float(x @ d), float(np.abs(x).max())
    alpha = float(np.clip(s / (eta * (norm if misprinted else norm**2)), 0, 1))
    return erlpboost(v + alpha * x, 1, eta, d0)[0] - start_value, max(s, 0.0) ** 2 / (8 * eta)


def test_T32_the_step_divides_by_the_squared_norm() -> None:
    eta, v = 2.0, np.array([-1.0, 1.0])
    lean = eta * (1 - 0.005)
    d0 = np.exp([-lean, lean]) / np.exp([-lean, lean]).sum()
    printed_value, guaranteed = corrective_gain(d0, -v, v, eta, misprinted=True)
    assert guaranteed > 2e-5
    assert abs(printed_value) < 2e-4 * guaranteed
    corrected, guaranteed = corrective_gain(d0, -v, v, eta, misprinted=False)
    assert corrected >= guaranteed * (1 - 1e-9)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        u, v = rng.uniform(-1, 1, size=(2, 7))
        gain, guaranteed = corrective_gain(rng.dirichlet(np.ones(7)), u, v, rng.uniform(0.5, 20), misprinted=False)
        assert gain >= guaranteed - 1e-12


def test_T33_the_criterion_takes_the_largest_edge_not_the_mixture() -> None:
    V, epsilon, d0 = 1 - 2 * np.eye(3), 0.1, uniform(3)
    eta = 2 / epsilon * np.log(3)
    assert lpboost(V, 1).value == pytest.approx(1 / 3)
    # Round 2 as printed: the hypothesis is added, and the mixture's own value is compared with its dual.
    first = np.eye(3)[0]
    d = erlpboost(V @ first, 1, eta, d0)[1]
    x = V[:, 1] - V @ first
    alpha = float(x @ d) / (eta * float(np.abs(x).max()) ** 2)
    w = (1 - alpha) * first + alpha * np.eye(3)[1]
    mixture = float((V @ w) @ d) + entropy(d, d0) / eta
    assert mixture - erlpboost(V @ w, 1, eta, d0)[0] <= epsilon / 2
    assert 1 / 3 - soft_margin(V @ w, 1) > 1.2
    # With the largest edge the run goes on until it is accurate.
    rounds = corrective_erlpboost(V, 1, epsilon, eta)
    assert 10 < len(rounds) <= 16 * eta / epsilon
    assert soft_margin(V @ rounds[-1].w, 1) >= 1 / 3 - epsilon


def test_T34_the_first_weights_are_one_not_zero() -> None:
    eta, d0 = 5.0, uniform(4)
    u = np.full(4, -0.8)
    # From w = 0 the step is clipped to 0; the value claimed as a lower bound is 0, the optimum of the class -0.8.
    value, d = erlpboost(np.zeros(4), 1, eta, d0)
    assert value == pytest.approx(0, abs=1e-12)
    assert np.clip(float(u @ d) / (eta * 0.8**2), 0, 1) == 0
    assert lpboost(u[:, np.newaxis], 1).value == pytest.approx(-0.8)
    assert erlpboost(u, 1, eta, d0)[0] == pytest.approx(-0.8)
    # Where steps are taken, the sum of the weights stays below 1.
    V, total, m = np.random.default_rng(0).uniform(-1, 1, size=(6, 9)), 0.0, np.zeros(6)
    for _ in range(30):
        d = erlpboost(m, 1, 20.0, uniform(6))[1]
        x = V[:, (V.T @ d).argmax()] - m
        alpha = float(np.clip(x @ d / (20 * np.abs(x).max() ** 2), 0, 1))
        total, m = (1 - alpha) * total + alpha, m + alpha * x
    assert total < 0.95


def step_of(V: np.ndarray, w: np.ndarray, d: np.ndarray, column: int, eta: float) -> tuple[np.ndarray, float]:
    """The direction x = u - Vw and the clipped step along it, algorithm 4.1(b) as corrected."""
    x = V[:, column] - V @ w
    return x, float(np.clip(x @ d / (eta * np.abs(x).max() ** 2), 0, 1))


def test_T35_the_weights_that_were_tested_are_returned() -> None:
    N, t, epsilon = 12, 15, 0.3
    for seed in (2, 20, 30):
        rng = np.random.default_rng(seed)
        V, nu = rng.uniform(-1, 1, (N, t)), rng.choice([1, 2.5])
        eta = 2 / epsilon * np.log(N / nu)
        *_, previous, last = corrective_erlpboost(V, nu, epsilon, eta)
        # The weights before the step of this round satisfy the criterion, because D in it is theirs ...
        assert previous.smallest_primal - previous.dual > epsilon / 2
        assert last.smallest_primal - erlpboost(V @ last.w, nu, eta, uniform(N))[0] <= epsilon / 2
        # ... and the step gives other weights, which the criterion does not bound: their soft margin is smaller.
        _, alpha = step_of(V, last.w, last.d, last.column, eta)
        overwritten = (1 - alpha) * last.w + alpha * np.eye(t)[last.column]
        assert alpha > 0
        assert soft_margin(V @ overwritten, nu) < soft_margin(V @ last.w, nu) - 9e-4
        assert soft_margin(V @ last.w, nu) >= lpboost(V, nu).value - epsilon


def test_T36_the_projection_caps_at_one_over_nu() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        q, nu = rng.dirichlet(np.full(9, 0.3)), rng.choice([1.5, 2, 3.7, 5])
        corrected = projection(q, 1 / nu)
        np.testing.assert_allclose(corrected, boostopt.project_capped_simplex(q, nu), atol=1e-12)
        np.testing.assert_allclose(projection(q, nu), q / q.sum(), atol=1e-15)  # nothing is ever capped
    q = np.array([0.7, 0.1, 0.1, 0.1])
    assert projection(q, 2.0).max() > 0.5 + 0.19
    np.testing.assert_allclose(projection(q, 0.5), [1 / 2, 1 / 6, 1 / 6, 1 / 6])


def test_T37_beta_comes_from_weights_before_normalization() -> None:
    m = U @ W
    d = erlpboost(m, NU, ETA, D0)[1]
    free = d < 1 / NU - 1e-9
    rest = 1 - (~free).sum() / NU
    printed_value, corrected = d[free].sum() / rest, (D0 * np.exp(-ETA * m))[free].sum() / rest
    assert np.log(corrected) / ETA == pytest.approx(-0.0552771290, abs=1e-9)
    assert printed_value == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose((D0 * np.exp(-ETA * m))[free] / corrected, d[free], atol=1e-12)


def test_T38_the_quadratic_bound_of_the_step() -> None:
    looser = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        u, v = rng.uniform(-1, 1, size=(2, 8))
        eta, nu = rng.uniform(0.5, 20), rng.choice([1, 2.5])
        start_value, d = erlpboost(v, nu, eta, uniform(8))
        x = u - v
        s, norm = float(x @ d), float(np.abs(x).max())
        for alpha in np.linspace(0.05, 1, 20):
            corrected = alpha * s - eta / 2 * alpha**2 * norm**2
            printed_value, coarse = alpha * s - 2 * eta * alpha**2 * norm**2, alpha * s - 2 * eta * alpha**2
            assert erlpboost(v + alpha * x, nu, eta, uniform(8))[0] >= start_value + corrected - 1e-11
            assert corrected >= coarse - 1e-12  # (4.3)
            looser += printed_value < coarse - 0.1
        # The step of algorithm 4.1 maximizes the corrected bound; the printed one has its maximum at a quarter of it.
        step = s / (eta * norm**2)
        assert s - eta * step * norm**2 == pytest.approx(0, abs=1e-12)
        assert s - 4 * eta * (step / 4) * norm**2 == pytest.approx(0, abs=1e-12)
    assert looser > 100


def test_T39_the_bound_is_from_above() -> None:
    # No multiple of (1 / epsilon^2) ln(N / nu) rounds is necessary: with a perfect hypothesis one is enough.
    V = np.column_stack([np.ones(50), np.random.default_rng(0).choice([-1.0, 1.0], size=(50, 5))])
    for epsilon in (0.1, 0.01, 0.001):
        rounds = corrective_erlpboost(V, 2, epsilon, 2 / epsilon * np.log(25))
        assert len(rounds) == 1
        assert np.log(25) / epsilon**2 > 300


def test_T40_the_binary_bound_needs_beta_optimal_again() -> None:
    N, eta, nu, d0 = 10, 5.0, 1.0, uniform(10)
    m, x, alpha = np.ones(N), np.full(N, -2.0), 0.5
    beta = binary_beta(m, nu, eta, d0)
    bound = binary_value(m, beta, nu, eta, d0) + alpha * float(x @ d0) - eta / 2 * alpha**2 * 4
    assert binary_value(m + alpha * x, beta, nu, eta, d0) < bound - 2
    for seed in range(50):
        rng = np.random.default_rng(seed)
        u, v = rng.uniform(-1, 1, size=(2, N))
        start_value, d = binary(v, 3, eta, d0)
        x = u - v
        for alpha in (0.1, 0.4, 1.0):
            bound = start_value + alpha * float(x @ d) - eta / 2 * alpha**2 * float(np.abs(x).max()) ** 2
            assert binary(v + alpha * x, 3, eta, d0)[0] >= bound - 1e-11


def test_T41_the_norm_is_that_of_the_earlier_weights() -> None:
    """Printed, the step is sought in its own norm: alpha = clip(a / (1 - alpha)^2), a the step with the earlier w."""
    rng, without, longer = np.random.default_rng(0), 0, 0
    for _ in range(100):
        V, w, eta = rng.uniform(-1, 1, (10, 6)), np.append(rng.dirichlet(np.ones(5)), 0.0), rng.uniform(0.5, 4)
        d = erlpboost(V @ w, 1, eta, uniform(10))[1]
        x, alpha = step_of(V, w, d, 5, eta)
        w_t = (1 - alpha) * w + alpha * np.eye(6)[5]
        np.testing.assert_allclose(V[:, 5] - V @ w_t, (1 - alpha) * x, atol=1e-12)
        if not 0 < alpha < 1:
            continue
        # The equation alpha (1 - alpha)^2 = a has a root below 1 for a <= 4 / 27 only, and the root is longer than a.
        roots = np.roots([1, -2, 1, -alpha])
        inside = [float(r.real) for r in roots if abs(r.imag) < 1e-9 and 0 < r.real < 1]
        assert bool(inside) == (alpha <= 4 / 27)
        without += not inside
        longer += bool(inside) and min(inside) > alpha
    assert without >= 5 and longer >= 5


def test_T42_doubling_until_the_root_is_bracketed() -> None:
    m = U @ W - 3.0  # the root is near 3, out of the first interval [-1, 1]
    assert weight_sum(m, -1.0, NU, ETA, D0) > 1
    low, high = bracket(m, NU, ETA, D0, misprinted=False)
    assert low < binary_beta(m, NU, ETA, D0) < high <= 4
    low, high = bracket(m, NU, ETA, D0, misprinted=True)
    assert low < -(2.0**59)  # the first loop never ends, the second never begins
    assert high == 1 < binary_beta(m, NU, ETA, D0)
    assert -m.max() <= binary_beta(m, NU, ETA, D0) <= -m.min()


def test_T43_bisection_halves_the_interval_and_looks_for_one() -> None:
    m = U @ W - 3.0
    interval = (2.0, 4.0)
    beta, stopped = bisection(m, NU, ETA, D0, interval, misprinted=False)
    assert stopped
    assert beta == pytest.approx(binary_beta(m, NU, ETA, D0), abs=1e-7)
    first, _ = bisection(m, NU, ETA, D0, interval, misprinted=True, patience=1)
    assert first == 5  # out of the interval
    misprinted_beta, stopped = bisection(m, NU, ETA, D0, interval, misprinted=True)
    assert not stopped
    assert misprinted_beta == pytest.approx(6)
    # And |s| <= tau does not hold at the root, where s = 1.
    assert weight_sum(m, beta, NU, ETA, D0) == pytest.approx(1, abs=1e-8)


def test_T44_lemma_4_2_on_an_optimum() -> None:
    v, u, d0 = U[:, :2] @ np.array([0.4, 0.6]), U[:, 2], D0
    answer: Any = scipy.optimize.minimize_scalar(
        lambda a: -binary(v + a * (u - v), NU, ETA, d0)[0], bounds=(-3, 4), method="bounded", options={"xatol": 1e-11}
    )
    last = float(answer.x)
    d = binary(v + last * (u - v), NU, ETA, d0)[1]
    assert (u - v) @ d == pytest.approx(0, abs=1e-7)
    logit = np.log(d / d0) - np.log1p(-NU * d) + np.log1p(-NU * d0)
    assert spread(logit / ETA + last * u + (1 - last) * v) < 1e-7  # no psi
    assert spread(logit / ETA + last * u - (1 - last) * v) > 0.5
    corrected, printed_value = (np.append(scale * np.array([0.4, 0.6]), last) for scale in (1 - last, last))
    np.testing.assert_allclose(U @ corrected, v + last * (u - v), atol=1e-12)
    assert np.abs(U @ printed_value - (v + last * (u - v))).max() > 0.05


def test_T45_the_last_weight_is_free_or_the_larger_edge_counts() -> None:
    rng = np.random.default_rng(4)
    v, u = rng.uniform(-1, 1, size=(2, 8))
    x, eta, nu, d0 = u - v, 5.0, 2.0, uniform(8)

    def best(low: float, high: float) -> tuple[float, float]:
        answer: Any = scipy.optimize.minimize_scalar(
            lambda a: -erlpboost(v + a * x, nu, eta, d0)[0],
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-11},
        )
        return -answer.fun, answer.x

    def primal(equal: bool) -> float:
        # Over d and the bound of the edges; the edges are equal in (4.6) and at most that bound in the repair.
        kind = "eq" if equal else "ineq"
        answer: Any = scipy.optimize.minimize(
            lambda y: y[8] + entropy(y[:8], d0) / eta,
            np.append(d0, 1.0),
            bounds=[*[(1e-9, 1 / nu)] * 8, (-1, 1)],
            constraints=[
                {"type": "eq", "fun": lambda y: y[:8].sum() - 1},
                {"type": kind, "fun": lambda y: y[8] - u @ y[:8]},
                {"type": kind, "fun": lambda y: y[8] - v @ y[:8]},
            ],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert answer.success, answer.message
        return float(answer.fun)

    free, maximizer = best(-5, 6)
    assert maximizer > 1.3
    clipped, _ = best(0, 1)
    assert primal(equal=True) == pytest.approx(free, abs=1e-6)
    assert free > clipped + 0.03
    assert primal(equal=False) == pytest.approx(clipped, abs=1e-6)


def test_weights_of_the_helpers_are_those_of_the_page() -> None:
    """The two expressions of the binary weights, and a capped projection against the softmax, agree."""
    d = binary_weights(U @ W, 0.1, NU, ETA, D0)
    q = D0 * np.exp(-ETA * (U @ W + 0.1))
    np.testing.assert_allclose(d, q / (1 - NU * D0 + NU * q), atol=1e-14)
    np.testing.assert_allclose(projection(q, 1 / NU), capped_softmax(np.log(q), NU), atol=1e-14)
    assert binary_entropy(D0, D0, NU) == pytest.approx(0, abs=1e-14)
