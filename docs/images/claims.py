"""The table and the picture that the README begins with: what solvers claim about one program, and what is true.

The program is ERLPBoost's on 569 examples and 100 decision stumps, written twice in plain CVXPY, as its papers print
its primal and its dual, and once for SciPy. Every solver runs as it comes. `python docs/images/claims.py` prints the
table and draws claims.png.
"""

from __future__ import annotations

import math
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

from boostopt import Certificate, get_formulation, load_dataset

NU, ETA = 57.0, 1e4


@dataclass(frozen=True)
class Answer:
    """The answer of a solver: its status, value, d and w."""

    solver: str
    says: str
    value: float
    d: Any = None
    w: Any = None


def primal(U: Any) -> tuple[cp.Problem, Callable[[], tuple[Any, Any]]]:
    """State the primal, as it is printed: its value, and where d and w are afterwards."""
    N = U.shape[0]
    d, gamma = cp.Variable(N), cp.Variable()
    entropy = cp.sum(cp.rel_entr(d, np.full(N, 1.0 / N)))
    edges = U.T @ d <= gamma
    problem = cp.Problem(cp.Minimize(gamma + entropy / ETA), [edges, cp.sum(d) == 1, d <= 1.0 / NU, d >= 0])
    return problem, lambda: (d.value, edges.dual_value)


def dual(U: Any) -> tuple[cp.Problem, Callable[[], tuple[Any, Any]]]:
    """State the dual, likewise."""
    N, t = U.shape
    w, psi = cp.Variable(t), cp.Variable(N)
    soft_minimum = -cp.log_sum_exp(-ETA * (U @ w + psi) - math.log(N)) / ETA
    rows = [w >= 0, cp.sum(w) == 1, psi >= 0]
    return cp.Problem(cp.Maximize(soft_minimum - cp.sum(psi) / NU), rows), lambda: (None, w.value)


def by_cvxpy(U: Any) -> Iterator[Answer]:
    """Yield what solvers of CVXPY say."""
    requests = (("Clarabel", "primal", primal), ("SCS", "primal", primal), ("Clarabel", "dual", dual))
    for solver, form, state in requests:
        problem, answer = state(U)
        name = f"CVXPY, {solver}, {form}"
        try:
            problem.solve(solver=solver.upper())
        except cp.SolverError:
            yield Answer(name, "failed", math.nan)
        else:
            yield Answer(name, str(problem.status), float(problem.value), *answer())  # pyright: ignore[reportArgumentType]


def by_scipy(U: Any) -> Answer:
    """Return what SciPy's SLSQP says about the primal."""
    N, t = U.shape

    def value(x: Any) -> float:
        d = np.maximum(x[:-1], 1e-300)
        return float(x[-1] + d @ np.log(N * d) / ETA)

    def slope(x: Any) -> Any:
        return np.append((np.log(N * np.maximum(x[:-1], 1e-300)) + 1.0) / ETA, 1.0)

    sums = {"type": "eq", "fun": lambda x: x[:-1].sum() - 1.0, "jac": lambda x: np.append(np.ones(N), 0.0)}
    rows = np.hstack([-U.T, np.ones((t, 1))])
    edges = {"type": "ineq", "fun": lambda x: rows @ x, "jac": lambda x: rows}
    begin = np.append(np.full(N, 1.0 / N), 1.0)
    box = [(0.0, 1.0 / NU)] * N + [(None, None)]
    result: Any = minimize(value, begin, jac=slope, bounds=box, constraints=[sums, edges], method="SLSQP")
    return Answer(
        "SciPy, SLSQP", "success" if result.success else str(result.message), float(result.fun), result.x[:-1]
    )


def format_value(value: float) -> str:
    """Return a value in words of a table."""
    return "none" if math.isnan(value) else "inf" if math.isinf(value) else f"{value:.6f}"


def draw(rows: list[tuple[Answer, Certificate | None]], best: Certificate) -> Figure:
    """Draw intervals that are proved as bars, values that are claimed as diamonds, the optimum as a line."""
    figure = Figure((8.4, 3.1), layout="constrained")
    axis = figure.subplots()
    ends = [end for _, c in rows if c is not None for end in (c.lower, c.upper)] + [a.value for a, _ in rows]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = min(ends), max(ends)
    margin = 0.06 * (high - low)
    axis.axvline(0.5 * (best.lower + best.upper), color="0.6", linewidth=1.2, zorder=0)
    for place, (answer, c) in enumerate(rows):
        if c is not None:
            axis.plot([c.lower, c.upper], [place, place], color="#0072b2", linewidth=5, solid_capstyle="butt")
            axis.plot([c.lower, c.upper], [place, place], "|", color="#0072b2", markersize=13, markeredgewidth=2)
        if math.isinf(answer.value):
            axis.plot(high + 2 * margin, place, marker=">", color="#d55e00", markersize=10, clip_on=False)
            axis.text(high + 2.6 * margin, place, "inf", va="center", color="#d55e00")
        elif math.isnan(answer.value):
            axis.text(high + 1.6 * margin, place, "no value", va="center", color="#d55e00")
        else:
            axis.plot(answer.value, place, marker="D", color="#d55e00", markersize=8)
    axis.set_yticks(range(len(rows)), [f"{answer.solver}: {answer.says}" for answer, _ in rows])
    axis.invert_yaxis()
    axis.set_xlim(low - margin, high + 5 * margin)
    axis.set_xlabel("value of the program")
    axis.plot([], [], color="#0072b2", linewidth=5, label="proved from the solver's answer")
    axis.plot([], [], "D", color="#d55e00", label="claimed by the solver")
    axis.plot([], [], color="0.6", label="the optimum")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def main() -> None:
    """Solve, print and draw."""
    warnings.simplefilter("ignore")  # solvers warn of what the table says
    U = load_dataset("breast_cancer").margin_matrix(t=100, random_state=0)
    program = get_formulation("erlpboost").bind(U, nu=NU, eta=ETA)
    solution = program.solve("interior", tol=1e-9)
    best = solution.certificate
    answers = [*by_cvxpy(np.asarray(U, dtype=float)), by_scipy(np.asarray(U, dtype=float))]
    answers.append(Answer("boostopt, interior", "certified", float(best.upper), solution.d, solution.w))
    rows = [(a, program.certify(a.d, a.w) if a.d is not None or a.w is not None else None) for a in answers]
    print("| solver | it says | value it reports | what its answer proves | off by at most |\n|---|---|---|---|--:|")
    for answer, c in rows:
        proved = "nothing" if c is None else f"[{c.lower:.6f}, {c.upper:.6f}]"
        error = "" if c is None else f"{100.0 * (c.upper - c.lower) / best.upper:.2g} %"
        print(f"| {answer.solver} | {answer.says} | {format_value(answer.value)} | {proved} | {error} |", flush=True)
    print(f"\nThe optimum lies in [{best.lower:.12f}, {best.upper:.12f}].")
    draw(rows, best).savefig(Path(__file__).parent / "claims.png", dpi=120)


if __name__ == "__main__":
    main()
