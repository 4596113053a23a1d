"""Slow and obviously right answers by SciPy alone: what printed and corrected statements are measured against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
from scipy.special import expit, logit, xlogy

# Rows are examples, columns hypotheses; optima of the programs on it are known to ten digits.
U = np.array([[1, 0.5, -1], [0.5, -1, 1], [-1, 1, 0.5], [1, -0.5, 0.25], [-0.5, 0.75, -1], [0.25, 1, -0.75]])
D0 = np.array([0.1, 0.15, 0.2, 0.25, 0.2, 0.1])
NU, ETA = 2.5, 4.0
W = np.array([0.5, 0.3, 0.2])


def uniform(N: int) -> np.ndarray:
    return np.full(N, 1 / N)


def spread(x: np.ndarray) -> float:
    """Largest minus smallest entry: 0 where a stationarity condition holds with one free constant."""
    return float(x.max() - x.min())


def slope(f: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Gradient by central differences."""
    x = np.asarray(x, dtype=float)
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))])


def maximize(
    f: Callable[[np.ndarray], tuple[float, np.ndarray]], t: int, total: float | None = 1.0, largest: float | None = None
) -> tuple[float, np.ndarray]:
    """Maximize a concave f, given with its gradient, over w >= 0 with a given sum (None: any sum)."""
    starts = [np.full(t, 1 / t)] if total is None else [np.full(t, total / t), *(total * np.eye(t))]
    answers: list[Any] = []
    for start in starts:
        answers.append(
            scipy.optimize.minimize(
                lambda w: (-f(w)[0], -f(w)[1]),
                start,
                jac=True,
                bounds=[(0, largest)] * t,
                method="L-BFGS-B" if total is None else "SLSQP",
                constraints=() if total is None else {"type": "eq", "fun": lambda w: w.sum() - total},
                options={"maxiter": 2000, "ftol": 1e-16} | ({"gtol": 1e-11} if total is None else {}),
            )
        )
    best = min(answers, key=lambda answer: answer.fun)
    return -float(best.fun), best.x


# The soft margin linear program.


def soft_margin(m: np.ndarray, nu: float) -> float:
    """The average of the nu smallest margins, the last one counted by its fraction."""
    counted = np.clip(nu - np.arange(len(m)), 0, 1)
    return float(counted @ np.sort(m)) / nu


@dataclass(frozen=True)
class Optimum:
    """Value, example weights and hypothesis weights of a program."""

    value: float
    d: np.ndarray
    w: np.ndarray


def lpboost(V: np.ndarray, nu: float) -> Optimum:
    """Minimize the largest edge over the capped simplex, by linear programming."""
    N, t = V.shape
    answer: Any = scipy.optimize.linprog(
        np.append(np.zeros(N), 1.0),
        A_ub=np.column_stack([V.T, -np.ones(t)]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*[(0, 1 / nu)] * N, (None, None)],
    )
    return Optimum(float(answer.fun), answer.x[:N], -answer.ineqlin.marginals)


def edges_at_most_are_feasible(V: np.ndarray, nu: float, gamma: float) -> bool:
    """Return whether some d of the capped simplex has all its edges at most gamma."""
    N, _ = V.shape
    answer: Any = scipy.optimize.linprog(
        np.zeros(N), A_ub=V.T, b_ub=np.full(V.shape[1], gamma), A_eq=np.ones((1, N)), b_eq=[1.0], bounds=(0, 1 / nu)
    )
    assert answer.status in (0, 2), answer.message
    return answer.status == 0


# Entropies and the weights they give.


def entropy(d: np.ndarray, d0: np.ndarray) -> float:
    """Delta(d, d0)."""
    return float(np.sum(xlogy(d, d) - xlogy(d, d0)))


def binary_entropy(d: np.ndarray, d0: np.ndarray, nu: float) -> float:
    """Delta_{2,nu}(d, d0)."""
    rest, rest0 = 1 / nu - d, 1 / nu - d0
    return entropy(d, d0) + float(np.sum(xlogy(rest, rest) - xlogy(rest, rest0)))


def capped_softmax(a: np.ndarray, nu: float) -> np.ndarray:
    """Return min(1/nu, theta exp(a)) with sum 1: as few entries are at the cap as possible."""
    s = np.sort(a)[::-1]
    remaining = nu - np.arange(np.ceil(nu))
    theta = np.log(remaining / nu) - np.logaddexp.accumulate(s[::-1])[::-1][: len(remaining)]
    is_below_cap = s[: len(remaining)] + theta <= -np.log(nu) + 1e-13
    return np.exp(np.minimum(a + theta[is_below_cap.argmax()], -np.log(nu)))


def erlpboost(m: np.ndarray, nu: float, eta: float, d0: np.ndarray) -> tuple[float, np.ndarray]:
    """The dual value of ERLPBoost at margins m, and the weights that attain it; eta = 1 is SoftBoost's."""
    d = capped_softmax(np.log(d0) - eta * m, nu)
    return float(d @ m) + entropy(d, d0) / eta, d


def binary_value(m: np.ndarray, beta: float, nu: float, eta: float, d0: np.ndarray) -> float:
    """The dual value (3.26) of Binary ERLPBoost at margins m and beta."""
    logs = np.logaddexp(np.log1p(-nu * d0), np.log(nu * d0) - eta * (m + beta))
    return -float(logs.sum()) / (eta * nu) - beta


def binary_weights(m: np.ndarray, beta: float, nu: float, eta: float, d0: np.ndarray) -> np.ndarray:
    """The weights (3.27) of Binary ERLPBoost."""
    return expit(logit(nu * d0) - eta * (m + beta)) / nu


def binary_beta(m: np.ndarray, nu: float, eta: float, d0: np.ndarray) -> float:
    """The beta at which the weights sum to 1."""
    beta: Any = scipy.optimize.brentq(
        lambda b: binary_weights(m, b, nu, eta, d0).sum() - 1, -m.max() - 1e-9, -m.min() + 1e-9, xtol=1e-15
    )
    return float(beta)


def binary(m: np.ndarray, nu: float, eta: float, d0: np.ndarray) -> tuple[float, np.ndarray]:
    """The dual value of Binary ERLPBoost at margins m, beta optimal, and the weights."""
    beta = binary_beta(m, nu, eta, d0)
    return binary_value(m, beta, nu, eta, d0), binary_weights(m, beta, nu, eta, d0)


# Runs of algorithms, as corrected.


def softboost_dual(V: np.ndarray, w: np.ndarray, nu: float, gamma: float, d0: np.ndarray) -> tuple[float, np.ndarray]:
    """The dual value of SoftBoost and its gradient U'd - gamma."""
    value, d = erlpboost(V @ w, nu, 1.0, d0)
    return value - gamma * float(w.sum()), V.T @ d - gamma


def softboost_weights(V: np.ndarray, nu: float, gamma: float, d0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The d nearest to d0 with edges at most gamma, and the w of its dual."""
    _, w = maximize(lambda w: softboost_dual(V, w, nu, gamma, d0), V.shape[1], total=None, largest=200.0)
    return erlpboost(V @ w, nu, 1.0, d0)[1], w


@dataclass(frozen=True)
class SoftBoostRun:
    """The columns fetched, the distributions they were fetched for, and the last bound of the edges."""

    columns: list[int]
    distributions: list[np.ndarray]
    guarantee: float
    gamma: float


def softboost(V: np.ndarray, nu: float, epsilon: float) -> SoftBoostRun:
    """Run SoftBoost with the oracle of the largest edge. Each round projects the uniform distribution."""
    d0 = uniform(len(V))
    columns: list[int] = []
    distributions, guarantee = [d0], 1.0
    while True:
        edges = V.T @ distributions[-1]
        columns.append(int(edges.argmax()))
        guarantee = min(guarantee, float(edges.max()))
        gamma = guarantee - epsilon
        pool_margins = V[:, columns]
        if not edges_at_most_are_feasible(pool_margins, nu, gamma):
            return SoftBoostRun(columns, distributions, guarantee, gamma)
        distributions.append(softboost_weights(pool_margins, nu, gamma, d0)[0])


@dataclass(frozen=True)
class Round:
    """One round of ERLPBoost: what the oracle was asked and said, and the bounds before the update."""

    d: np.ndarray
    column: int
    w: np.ndarray
    dual: float
    smallest_primal: float


def corrective_erlpboost(V: np.ndarray, nu: float, epsilon: float, eta: float) -> list[Round]:
    """Corrective ERLPBoost with the oracle of the largest edge, after its first hypothesis; the last round stops."""
    N, t = V.shape
    d0 = uniform(N)
    start = int((V.T @ d0).argmax())
    w, smallest = np.eye(t)[start], float(V[:, start] @ d0)
    rounds: list[Round] = []
    while True:
        dual, d = erlpboost(V @ w, nu, eta, d0)
        column = int((V.T @ d).argmax())
        smallest = min(smallest, float(V[:, column] @ d) + entropy(d, d0) / eta)
        rounds.append(Round(d, column, w, dual, smallest))
        if smallest - dual <= epsilon / 2:
            return rounds
        x = V[:, column] - V @ w
        alpha = float(np.clip(x @ d / (eta * np.abs(x).max() ** 2), 0, 1))
        w = (1 - alpha) * w + alpha * np.eye(t)[column]
