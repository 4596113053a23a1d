"""Processor seconds of certificates of the small problems of the tests: the share within time limits, and the ratio.

python benchmarks/certificate_seconds.py [SOLVER ...] solves each problem of tests/problem_certificates by each solver
with its default options, three times, and certifies each answer. The least seconds count: the first solve loads code.
"""

from __future__ import annotations

import runpy
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from boostopt import certify_problem

SUITE = Path(__file__).parents[1] / "tests" / "problem_certificates" / "convex_problems.py"
"""The file with the problems by name."""

LIMITS = (1.0, 2.0, 5.0)
"""Time limits in seconds."""

N_REPEATS = 3
"""Number of solves and certificates of each problem."""


def measured_seconds(make: Any, solver: str) -> tuple[float, float, float] | None:
    """Return the seconds of a solve and of its certificate, and the scaled gap; None if the solver does not take it."""
    solves, certificates, gap = list[float](), list[float](), np.inf
    for _ in range(N_REPEATS):
        problem, start = make(), time.process_time()
        try:
            with warnings.catch_warnings(action="ignore"):
                problem.solve(solver)
        except Exception as refusal:  # noqa: BLE001 - CVXPY and solvers raise nearly anything
            print(f"{solver}: {type(refusal).__name__}", file=sys.stderr)
            return None
        middle = time.process_time()
        gap = certify_problem(problem).scaled_gap
        solves.append(middle - start)
        certificates.append(time.process_time() - middle)
    return min(solves), min(certificates), gap


def print_table(solvers: list[str]) -> None:
    """Print a row for each solver."""
    problems = runpy.run_path(str(SUITE))["PROBLEMS"]
    measured_seconds(problems["lasso"], "CLARABEL")  # loads code
    heads = " | ".join(f"within {limit:g} s" for limit in LIMITS)
    print(f"| solver | certificates | {heads} | longest, s | ratio, median | ratio, largest | |")
    print("|---|" + "--:|" * (len(LIMITS) + 4) + "---|")
    for solver in solvers:
        results = {name: measured_seconds(make, solver) for name, make in problems.items()}
        rows = {name: result for name, result in results.items() if result is not None}
        seconds = np.array([certificate for _, certificate, _ in rows.values()])
        ratios = {name: certificate / solve for name, (solve, certificate, _) in rows.items()}
        worst = max(ratios, key=lambda name: ratios[name])
        shares = " | ".join(f"{100 * np.mean(seconds <= limit):.1f} %" for limit in LIMITS)
        middle = float(np.median(list(ratios.values())))
        figures = f"{seconds.max():.2f} | {middle:.2f} | {ratios[worst]:.1f}"
        print(f"| {solver} | {len(rows)} | {shares} | {figures} | {worst} |", flush=True)


if __name__ == "__main__":
    print_table(sys.argv[1:] or ["CLARABEL", "SCS", "OSQP"])
