"""Errata of Raetsch, Onoda, Mueller 2001 (soft margins for AdaBoost). The page is docs/errata.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from errata.independent_answers import lpboost, slope, soft_margin, uniform


def line_search(f: Any) -> float:
    answer: Any = scipy.optimize.minimize_scalar(f, bounds=(0, 20), method="bounded", options={"xatol": 1e-12})
    return float(answer.x)


@dataclass(frozen=True)
class Step:
    """One step of ATA: the weights before it, u = y h, the weighted error and the coefficient b_t."""

    w: np.ndarray
    u: np.ndarray
    error: float
    b: float


def ata(V: np.ndarray, phi: float, steps: int) -> Iterator[Step]:
    """AdaBoost-type algorithm with the hypothesis of the least weighted error in every step."""
    w = uniform(len(V))
    for _ in range(steps):
        u = V[:, (V.T @ w).argmax()]
        error = float(w[u < 0].sum())
        b = float(np.log(phi * (1 - error) / (error * (1 - phi))))
        yield Step(w, u, error, b)
        w = w * np.exp(-b * (u > 0))
        w /= w.sum()


def example(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(15, 25))


def test_R1_half_the_margin_stands_in_the_exponent() -> None:
    phi = 0.4
    for s in ata(example(), phi, 4):

        def functional(b: float, factor: float, s: Step = s) -> float:
            return float(s.w @ np.exp(-factor * b * s.u + b * (0.5 - phi)))

        assert line_search(lambda b: functional(b, 0.5)) == pytest.approx(s.b, abs=1e-6)
        assert abs(line_search(lambda b: functional(b, 1.0)) - s.b) > 0.15
        # The weights that follow, exp(-factor rho), are those of the algorithm for the half only.
        after = [s.w * np.exp(-factor * s.b * s.u) for factor in (0.5, 1.0)]
        half, whole = (q / q.sum() for q in after)
        step = s.w * np.exp(-s.b * (s.u > 0))
        np.testing.assert_allclose(half, step / step.sum(), atol=1e-14)
        assert np.abs(whole - half).max() > 0.01


def test_R2_the_last_hypothesis_has_error_phi_afterwards() -> None:
    for phi in (0.5, 0.4, 0.3):
        *_, s, following = ata(example(), phi, 3)
        error = following.w[s.u < 0].sum()
        assert error == pytest.approx(phi, abs=1e-12)
        assert abs(error - 0.5) == pytest.approx(0.5 - phi, abs=1e-12)


def test_R3_the_margin_as_a_limit_of_the_functional() -> None:
    V, phi, rng = example(), 0.4, np.random.default_rng(1)
    c = rng.dirichlet(np.ones(25))
    margin = float((V @ c).min())
    size = 1e5
    log_G = float(np.logaddexp.reduce(-0.5 * size * (V @ c) + size * (0.5 - phi)))
    assert -2 / size * log_G + 1 - 2 * phi == pytest.approx(margin, abs=1e-4)
    assert abs(-log_G / size - margin) > 0.05


@dataclass(frozen=True)
class Regularized:
    """State of AdaBoost_REG: sums of b_r y h_r, of b_r w_r and of b_r, and the weights that follow."""

    S: np.ndarray
    A: np.ndarray
    B: float
    w: np.ndarray

    def after(self, u: np.ndarray, b: float, C: float, p: int) -> Regularized:
        S, A, B = self.S + b * u, self.A + b * self.w, self.B + b
        soft = -(S + C * B * (A / B) ** p) / 2
        return Regularized(S, A, B, np.exp(soft - np.logaddexp.reduce(soft)))


def start(N: int) -> Regularized:
    return Regularized(np.zeros(N), np.zeros(N), 0.0, uniform(N))


def proportional(q: np.ndarray) -> np.ndarray:
    return q / q.sum()


def test_R4_weights_of_the_linear_regularizer() -> None:
    V, C, state = example(), 30.0, start(15)
    for q, b in ((0, 0.7), (3, 0.4), (8, 1.1)):
        u, new = V[:, q], state.after(V[:, q], b, C, 1)
        corrected = state.w * np.exp(b * (u < 0) - C / 2 * b * state.w)
        printed_value = state.w * np.exp(b * (u < 0) - C * new.A)  # zeta^t |b^t| is the accumulated sum
        np.testing.assert_allclose(proportional(corrected), new.w, atol=1e-15)
        if state.B > 0:
            assert np.abs(proportional(printed_value) - new.w).max() > 0.004
        state = new


def test_R5_weights_of_the_quadratic_regularizer() -> None:
    V, C, state = example(), 200.0, start(15).after(example()[:, 2], 0.5, 200.0, 2)
    for q, b in ((0, 0.7), (3, 0.4), (8, 1.1)):
        u, new = V[:, q], state.after(V[:, q], b, C, 2)
        increment = new.B * (new.A / new.B) ** 2 - state.B * (state.A / state.B) ** 2
        corrected, printed_value = (state.w * np.exp(b * (u < 0) - factor * C * increment) for factor in (0.5, 1.0))
        np.testing.assert_allclose(proportional(corrected), new.w, atol=1e-15)
        assert np.abs(proportional(printed_value) - new.w).max() > 0.004
        state = new


def line(state: Regularized, u: np.ndarray, C: float, p: int, b: np.ndarray) -> np.ndarray:
    """The logarithm of G_Reg along the coefficient b of the next hypothesis."""
    grid = b[:, np.newaxis]
    B = state.B + grid
    return np.logaddexp.reduce(-0.5 * (state.S + grid * u + C * B * ((state.A + grid * state.w) / B) ** p), axis=1)


def test_R6_the_line_search_may_have_no_minimum_or_two() -> None:
    b = np.linspace(1e-3, 12, 2401)
    # The first derivative is negative at 0 (or no step would be made); for p = 1 the second is positive.
    V = example()
    state = start(15).after(V[:, 0], 0.6, 5.0, 1)
    u = V[:, (V.T @ state.w).argmax()]
    values = np.exp(line(state, u, 5.0, 1, b))
    assert values[1] < values[0]
    assert np.diff(values, 2).min() > 0
    assert 0 < values.argmin() < 2400
    # p = 1 with C w_t >= 1 on all misclassified examples: it falls for ever.
    values = line(state, u, 1.5 / state.w[u < 0].min(), 1, b)
    assert np.diff(values).max() < 0
    # p = 2, four examples, C = 100, the first hypothesis again in the third step.
    one, two = np.array([-1.0, 1, 1, 1]), np.array([1.0, -1, 1, 1])
    state = start(4).after(one, np.log(3), 100.0, 2).after(two, 3.0, 100.0, 2)
    values = line(state, one, 100.0, 2, b)
    minima = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])) + 1
    np.testing.assert_allclose(b[minima], [0.36, 7.02], atol=0.02)
    assert values[minima[1]] < values[minima[0]] - 1
    assert values[minima[0] : minima[1]].max() > values[minima[0]] + 0.09


def test_R7_one_constraint_for_every_example() -> None:
    V, C = np.random.default_rng(0).uniform(-1, 1, size=(15, 6)), 10.0
    T = 6

    def program(rows: np.ndarray) -> tuple[float, np.ndarray]:
        answer: Any = scipy.optimize.linprog(
            np.append(np.ones(T), np.full(len(rows), C)),
            A_ub=-np.column_stack([rows, np.eye(len(rows))]),
            b_ub=-np.ones(len(rows)),
        )
        return float(answer.fun), answer.x[:T]

    value, _ = program(V)
    printed_value, b = program(V[:T])
    assert len(V) > T
    assert value > printed_value + 100
    assert float((V[:T] @ b).min()) == pytest.approx(1)
    assert float((V @ b).min()) < -4


def test_R8_the_penalty_is_shared_by_the_examples() -> None:
    # Ten examples, thirty hypotheses that err on the same four.
    right = np.repeat([1.0, -1.0], [6, 4])
    V, C = right[:, np.newaxis] * np.random.default_rng(3).uniform(0.5, 1, size=(10, 30)), 5.0
    for nu, holds in ((10 / C, True), (30 / C, False)):  # C / l and C / T for each slack
        w = lpboost(V, nu).w
        m = V @ w
        rho = np.sort(m)[int(np.ceil(nu)) - 1]
        answer = soft_margin(m, nu)
        assert answer == pytest.approx(rho - np.maximum(rho - m, 0).sum() / nu)
        fraction = (m < rho - 1e-9).mean()
        assert (fraction <= 1 / C) == holds


def test_R9_note_8_maximizes_and_expands_one_over_s() -> None:
    for S in (1.1, 1.01, 0.99):
        assert abs(1 / S - (2 - S)) <= 1.2 * (S - 1) ** 2
        assert abs(1 / S - S) > 1.9 * abs(S - 1)
    # The equivalence of (22), with penalty C for each slack, and LP_REG is exact.
    V = np.random.default_rng(5).uniform(-1, 1, size=(12, 20))
    for C in (0.6, 1.5, 5.0):
        answer: Any = scipy.optimize.linprog(
            np.append(np.ones(20), np.full(12, C)), A_ub=-np.column_stack([V, np.eye(12)]), b_ub=-np.ones(12)
        )
        b, s = answer.x[:20], float(-answer.ineqlin.marginals.sum())
        assert b.sum() > 0.1
        optimum = lpboost(V, s / C)
        assert optimum.value == pytest.approx(1 / s, abs=1e-9)
        assert soft_margin(V @ b / b.sum(), s / C) == pytest.approx(1 / s, abs=1e-9)
        # Minimized as printed, margin plus slack is 0 whatever the weights are.
        nothing: Any = scipy.optimize.linprog(
            np.concatenate([np.zeros(20), [1.0], np.full(12, C)]),
            A_ub=np.column_stack([-V, np.ones(12), -np.eye(12)]),
            b_ub=np.zeros(12),
            A_eq=np.append(np.ones(20), np.zeros(13))[np.newaxis],
            b_eq=[1.0],
        )
        assert nothing.fun == pytest.approx(0, abs=1e-12)
        assert optimum.value > 0.05


@dataclass(frozen=True)
class Net:
    """A net of Gaussians on the line, with the error (26): half the squared residuals, lambda / (2 l) |w|^2."""

    x: np.ndarray
    y: np.ndarray
    penalty: float

    def design(self, mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        return np.exp(-((self.x[:, np.newaxis] - mu) ** 2) / (2 * sigma**2))

    def weights(self, mu: np.ndarray, sigma: np.ndarray, factor: float) -> np.ndarray:
        K = self.design(mu, sigma)
        return np.linalg.solve(K.T @ K + factor * self.penalty / len(self.x) * np.eye(len(mu)), K.T @ self.y)

    def error(self, w: np.ndarray, mu: np.ndarray, sigma: np.ndarray) -> float:
        residual = self.y - self.design(mu, sigma) @ w
        return float(residual @ residual) / 2 + self.penalty / (2 * len(self.x)) * float(w @ w)

    def gradients(self, w: np.ndarray, mu: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The formulas (27) and (28)."""
        K, away = self.design(mu, sigma), self.x[:, np.newaxis] - mu
        common = (K @ w - self.y)[:, np.newaxis] * K * w
        return (common * away / sigma**2).sum(axis=0), (common * away**2 / sigma**3).sum(axis=0)


def net() -> tuple[Net, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 30)
    return Net(x, np.sign(np.sin(2 * x) + 0.3 * rng.normal(size=30)), 6.0), np.array([-1.0, 0.2, 1.3]), np.full(3, 0.7)


def test_R10_weights_of_the_net() -> None:
    model, mu, sigma = net()
    printed_value, corrected = model.weights(mu, sigma, 2), model.weights(mu, sigma, 1)
    np.testing.assert_allclose(slope(lambda w: model.error(w, mu, sigma), corrected), 0, atol=1e-7)
    assert np.abs(slope(lambda w: model.error(w, mu, sigma), printed_value)).max() > 0.1
    # Only then are (27) and (28) the gradients of the error with its best weights.
    for factor, right in ((1, True), (2, False)):
        reduced = slope(lambda mu, k=factor: model.error(model.weights(mu, sigma, k), mu, sigma), mu)
        exact = model.gradients(model.weights(mu, sigma, factor), mu, sigma)[0]
        assert (np.abs(reduced - exact).max() < 1e-6) == right


def test_R11_which_gradient_is_which() -> None:
    model, mu, sigma = net()
    w = model.weights(mu, sigma, 1)
    by_27, by_28 = model.gradients(w, mu, sigma)
    by_mu = slope(lambda mu: model.error(w, mu, sigma), mu)
    by_sigma = slope(lambda sigma: model.error(w, mu, sigma), sigma)
    np.testing.assert_allclose(by_27, by_mu, atol=1e-7)
    np.testing.assert_allclose(by_28, by_sigma, atol=1e-7)
    assert np.abs(by_28 - by_mu).max() > 0.3


def test_R12_normalizers_of_appendix_a() -> None:
    phi = 0.5
    steps = list(ata(example(), phi, 5))
    pi, total = [uniform(15)], [1.0]
    for s in steps:
        pi.append(pi[-1] * np.exp(-s.b * (s.u > 0)))
        total.append(float(pi[-1].sum()))
    for t, s in enumerate(steps, start=1):
        Z = float(s.w @ np.exp(-s.b * (s.u > 0)))
        assert Z == pytest.approx(total[t] / total[t - 1], abs=1e-14)
        np.testing.assert_allclose(pi[t - 1], s.w * total[t - 1], atol=1e-15)
        if t > 1:
            assert abs(total[t] * total[t - 1] - Z) > 0.2
            assert np.abs(steps[t - 2].w * total[t - 1] / pi[t - 1] - 1).max() > 0.3


def test_R13_exponents_of_appendix_b_hold_theta() -> None:
    phi, theta = 0.4, 0.15
    ratio = phi / (1 - phi)
    bound = 1.0
    votes, size = np.zeros(15), 0.0
    for s in ata(example(), phi, 8):
        factor = np.exp(theta * s.b / 2) * float(s.w @ np.exp(-s.b * s.u / 2))

        def product(a: float, e: float, s: Step = s) -> float:
            powers = s.error ** (1 - e) * (1 - s.error) ** (1 + e)
            return (ratio ** ((1 + a) / 2) + ratio ** (-(1 - a) / 2)) * powers**0.5

        assert product(theta, theta) == pytest.approx(factor, abs=1e-13)
        for a, e in ((phi, phi), (phi, theta), (theta, phi)):
            assert abs(product(a, e) - factor) > 0.005
        bound *= product(theta, theta)
        votes, size = votes + s.b * s.u, size + s.b
        assert (votes / size <= theta).mean() <= bound + 1e-12


def test_R15_breimans_edge_is_another_quantity() -> None:
    V, c = example(), np.random.default_rng(0).dirichlet(np.ones(25))
    error_votes = (V < 0) @ c
    np.testing.assert_allclose(error_votes, (1 - V @ c) / 2, atol=1e-14)
    assert error_votes.shape == (15,) != (V.T @ uniform(15)).shape


def test_R16_the_derivative_is_negative_the_ratio_right() -> None:
    V, b = example(), np.random.default_rng(0).uniform(0, 1, 25)
    rho = V @ b
    gradient = slope(lambda rho: float(np.exp(-rho / 2).sum()), rho)
    assert (gradient < 0).all()
    np.testing.assert_allclose(gradient / gradient.sum(), proportional(np.exp(-rho / 2)), atol=1e-9)
