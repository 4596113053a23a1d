"""Processor seconds and memory of a solve and of its certificate, by the size of the problem.

python benchmarks/problem_sizes.py [KIND ...] [--sizes 10 30 100] prints one table. Clarabel solves each problem with
its default options in one process; a second process builds the same problem, takes the answer and certifies it. Memory
is the peak above that of the process with the problem in it.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
import scipy.sparse

from boostopt import certify_problem

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

SIZES = (10, 30, 100, 300, 1000, 3000)
"""Sizes n: columns of the data, assets, nodes, or unknowns of a transport problem."""

MAX_SECONDS = 60.0
"""Time limit of the solver: larger sizes of a kind are left out from where it does not suffice."""

MAX_SPARSE_SECONDS = 400.0
"""Time limit for the sparse linear program."""

N_NONZEROS = 1_000_000
"""Number of non-zeros of the sparse linear program."""

N_EQUALITY_NONZEROS = 100_000
"""Number of non-zeros of the linear program in equations."""

MAX_NODES = 100
"""Largest number of nodes of a maximum cut: the memory of its solve grows with the fourth power, from 1.3 GB here."""

HEADER = (
    "| problem | n | solve, s | certificate, s | ratio | solve, MB | certificate, MB | lower | upper | scaled gap |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def lasso(n: int) -> Any:
    """Least squares with a norm of n coefficients, by n / 2 + 10 dense rows."""
    A, b = regression_data(n)
    x = cp.Variable(n)
    weight = 0.2 * float(np.abs(A.T @ b).max())
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + weight * cp.norm1(x)))


def logistic(n: int) -> Any:
    """Logistic regression with a norm of n coefficients, by n / 2 + 10 dense rows."""
    A, b = regression_data(n)
    x, y = cp.Variable(n), np.where(b >= 0, 1.0, -1.0)
    weight = 0.1 * float(np.abs(A.T @ y).max())
    return cp.Problem(cp.Minimize(cp.sum(cp.logistic(cp.multiply(-y, A @ x))) + weight * cp.norm1(x)))


def regression_data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a dense matrix with n columns and a noisy response to a few of them."""
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n // 2 + 10, n))
    return A, A[:, :5] @ rng.normal(size=5) + 0.3 * rng.normal(size=len(A))


def portfolio(n: int) -> Any:
    """A portfolio of n assets with a factor model of their risk."""
    rng = np.random.default_rng(n)
    k = n // 20 + 2
    factors, deviations = rng.normal(size=(n, k)) / math.sqrt(k), 0.1 + 0.3 * rng.random(n)
    returns = 0.05 + 0.1 * np.abs(rng.normal(size=n))
    w, f = cp.Variable(n), cp.Variable(k)
    risk = cp.sum_squares(f) + cp.sum_squares(cp.multiply(deviations, w))
    return cp.Problem(cp.Maximize(returns @ w - 2 * risk), [cp.sum(w) == 1, w >= 0, f == factors.T @ w])


def maximum_cut(n: int) -> Any:
    """The semidefinite relaxation of a maximum cut of a random graph with n nodes."""
    rng = np.random.default_rng(n)
    W = np.triu(rng.random((n, n)) < min(1.0, 6 / n), 1) * rng.integers(1, 5, (n, n))
    laplacian = np.diag((W + W.T).sum(axis=1)) - W - W.T
    X = cp.Variable((n, n), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace(laplacian @ X) / 4), [cp.diag(X) == 1])


def transport(n: int) -> Any:
    """A transport of whole amounts with about n unknowns."""
    rng = np.random.default_rng(n)
    p = max(math.isqrt(n), 2)
    q = max(n // p, 2)
    supply, demand = rng.integers(1, 10, p).astype(float) * q, np.full(q, 0.0)
    demand += np.bincount(rng.integers(0, q, int(supply.sum()) - q), minlength=q) + 1.0
    X = cp.Variable((p, q), nonneg=True)
    cost = cp.sum(cp.multiply(rng.random((p, q)), X))
    return cp.Problem(cp.Minimize(cost), [cp.sum(X, axis=1) == supply, cp.sum(X, axis=0) == demand])


def sparse_linear_program(n: int) -> Any:
    """A linear program with n non-zeros in 50 entries a row, which lie within 100 columns."""
    rng = np.random.default_rng(0)
    m = n // 50
    columns = m // 2
    places = (np.arange(m)[:, None] * columns // m + rng.integers(0, 100, (m, 50))) % columns
    A = scipy.sparse.csr_array((rng.normal(size=m * 50), places.ravel(), np.arange(m + 1) * 50), shape=(m, columns))
    A.sum_duplicates()
    b = A @ rng.random(columns) + rng.random(m)
    x = cp.Variable(columns)
    return cp.Problem(cp.Minimize(rng.normal(size=columns) @ x), [A @ x <= b, x >= 0, x <= 1])


def sparse_equalities(n: int) -> Any:
    """A linear program in equations with n non-zeros in 5 entries a column, which lie within 20 rows."""
    rng = np.random.default_rng(0)
    columns, m = n // 5, n // 20
    places = (np.arange(columns)[:, None] * m // columns + rng.integers(0, 20, (columns, 5))) % m
    values = rng.integers(1, 5, columns * 5).astype(float)
    entries = (values, (places.ravel(), np.repeat(np.arange(columns), 5)))
    A = scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(m, columns)))
    x = cp.Variable(columns)
    b = A @ rng.integers(0, 3, columns).astype(float)
    return cp.Problem(cp.Minimize(rng.random(columns) @ x), [A @ x == b, x >= 0])


KINDS: dict[str, Callable[[int], Any]] = {
    "lasso": lasso,
    "logistic": logistic,
    "portfolio": portfolio,
    "maximum cut": maximum_cut,
    "transport": transport,
    "sparse linear program": sparse_linear_program,
    "sparse equalities": sparse_equalities,
}


@dataclass(frozen=True)
class Answer:
    """A solve: processor seconds, peak memory in MB, values of the variables and duals of the constraints."""

    seconds: float
    megabytes: float
    status: str
    values: list[Any]
    duals: list[list[Any]]


def solve(kind: str, n: int) -> Answer:
    """Solve a problem by Clarabel's default options."""
    warm_up()
    problem = KINDS[kind](n)
    initial_peak, start = peak(), time.process_time()
    with warnings.catch_warnings(action="ignore"):
        problem.solve("CLARABEL", time_limit=MAX_SPARSE_SECONDS if kind.startswith("sparse") else MAX_SECONDS)
    return Answer(
        time.process_time() - start,
        peak() - initial_peak,
        str(problem.status),
        [variable.value for variable in problem.variables()],
        [[dual.value for dual in constraint.dual_variables] for constraint in problem.constraints],
    )


def certify(kind: str, n: int, answer: Answer) -> tuple[float, float, float, float, float]:
    """Return processor seconds, peak memory in MB, both bounds and the scaled gap of a certificate."""
    warm_up()
    problem = KINDS[kind](n)
    for variable, value in zip(problem.variables(), answer.values, strict=True):
        variable.save_value(value)
    for constraint, values in zip(problem.constraints, answer.duals, strict=True):
        for dual, value in zip(constraint.dual_variables, values, strict=True):
            dual.save_value(value)
    initial_peak, start = peak(), time.process_time()
    certificate = certify_problem(problem)
    seconds = time.process_time() - start
    return seconds, peak() - initial_peak, certificate.lower, certificate.upper, certificate.scaled_gap


def warm_up() -> None:
    """Solve and certify a small problem, so that what a process does once is not counted."""
    problem = lasso(10)
    problem.solve("CLARABEL")
    certify_problem(problem)


def peak() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a result that is computed in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def print_rows(kind: str, sizes: list[int]) -> None:
    """Print the rows of one kind, up to the size that the solver does not solve in time."""
    if kind == "sparse linear program":
        sizes = [N_NONZEROS]
    elif kind == "sparse equalities":
        sizes = [N_EQUALITY_NONZEROS]
    elif kind == "maximum cut":
        sizes = [n for n in sizes if n <= MAX_NODES]
    for n in sizes:
        answer = run_alone(solve, kind, n)
        if answer.status != "optimal":
            print(f"| {kind} | {n} | {answer.seconds:.1f} ({answer.status}) | | | {answer.megabytes:.0f} | | | | |")
            return
        seconds, megabytes, lower, upper, gap = run_alone(certify, kind, n, answer)
        print(
            f"| {kind} | {n} | {answer.seconds:.2f} | {seconds:.2f} | {seconds / answer.seconds:.1f} | "
            f"{answer.megabytes:.0f} | {megabytes:.0f} | {lower:.10g} | {upper:.10g} | {gap:.1e} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    options = parser.parse_args()
    print(HEADER)
    for kind in options.kinds:
        print_rows(kind, options.sizes)
