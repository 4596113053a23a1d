"""Regularizers and edge functions as minima over further variables: transport, sorted norms, eigenvalues, fairness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

from boostopt.authoring import COUNT, CappedSimplex, CvxpyRegularizer, parameter, prototype

N = 8
UNIFORM = np.full(N, 1 / N)
SIMPLEX = CappedSimplex(np.ones(N), 1.0)
CAPPED = CappedSimplex(np.ones(N), 3.0)
RNG = np.random.default_rng(0)
MATRICES = [(B + B.T) / 2 for B in RNG.normal(size=(N, 3, 3))]
RECTANGLES = list(RNG.normal(size=(N, 3, 2)))
WEIGHTS = np.array([9, 7, 7, 4, 3, 2, 1, 1]) / 16
A = RNG.normal(size=(2, 5))
BOUND = 0.1
COLUMN = RNG.uniform(0, 1, N)


def transport(d: Any) -> tuple[Any, list[Any]]:
    """The cost of moving d to the uniform distribution, 1 for each unit that moves; the last equation follows."""
    T = cp.Variable((N, N), nonneg=True)
    rows: Any = cp.sum(T, axis=1)
    columns: Any = cp.sum(T, axis=0)
    return cp.sum(T) - cp.trace(T), [rows == d, columns[:-1] == UNIFORM[:-1]]


def sorted_norm(d: Any) -> tuple[Any, list[Any]]:
    """The sum of lambda_k |x|_(k) of x = d - 1/N: a sum over k of (lambda_k - lambda_{k+1}) (k s_k + sum_n Y_kn)."""
    steps = WEIGHTS - np.append(WEIGHTS[1:], 0)
    s, Y = cp.Variable((N, 1)), cp.Variable((N, N), nonneg=True)
    heights = Y + s @ np.ones((1, N))
    x = np.ones((N, 1)) @ cp.reshape(d - UNIFORM, (1, N), order="C")
    return steps @ (cp.multiply(np.arange(1, N + 1), s[:, 0]) + cp.sum(Y, axis=1)), [heights >= x, heights >= -x]


def cone_and_equation(d: Any) -> tuple[Any, list[Any]]:
    v = cp.Variable(2)
    bounds: list[Any] = [cp.SOC(0.3 + v[1], d - UNIFORM), COLUMN @ d == float(COLUMN.mean()), v[0] >= d[0] - d[1]]
    return cp.sum_squares(v) + v[0], bounds


def largest_eigenvalue(d: Any) -> Any:
    return cp.lambda_max(sum(d[n] * MATRICES[n] for n in range(N)))


def nuclear_norm(d: Any) -> Any:
    return cp.norm(sum(d[n] * RECTANGLES[n] for n in range(N)), "nuc")


DESCRIPTIONS: dict[str, Callable[[Any], Any]] = {
    "transport": transport,
    "sorted norm": sorted_norm,
    "cone and equation": cone_and_equation,
    "largest eigenvalue": largest_eigenvalue,
    "nuclear norm": nuclear_norm,
}


def fairness(e: Any) -> tuple[Any, list[Any]]:
    """The maximum of <w, e> over weights of the simplex with |A w| <= BOUND, as its dual program."""
    y, gamma = cp.Variable((2, len(A)), nonneg=True), cp.Variable()
    return gamma + BOUND * cp.sum(y), [e - A[:, : e.size].T @ (y[0] - y[1]) <= gamma]


def make_program(f: Callable[[Any], Any], margins: np.ndarray) -> Any:
    def regularizer(p: Any, examples: Any) -> CvxpyRegularizer:
        return CvxpyRegularizer(CappedSimplex(examples.c, p.nu), f, examples.c / examples.total)

    return prototype("mine", regularizer, nu=parameter("the number of examples", COUNT)).bind(margins, nu=3)
