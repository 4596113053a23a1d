"""Intervals of functions with kinks, and what they cost: python benchmarks/kinks.py [N t tol].

Prints for each function and solver the certified scaled gap, the seconds, and the share of them that one certificate
takes.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from support.kinked_functions import KINKED, kinked_program

SOLVERS = ("cvxpy:clarabel", "cvxpy:scs", "cvxpy:highs")


def main(N: int, t: int, tol: float) -> None:
    print(f"N = {N}, t = {t}, asked for {tol:g}")
    for name in KINKED:
        for backend in SOLVERS:
            program = kinked_program(name, N, t)
            if backend == "cvxpy:highs" and program.cones - {"linear"}:
                continue
            start = time.perf_counter()
            with warnings.catch_warnings(action="ignore"):
                solution = program.solve(backend, tol=tol, time_limit=60.0)
            seconds = time.perf_counter() - start
            start = time.perf_counter()
            program.certify(solution.certificate.d, solution.certificate.w)
            share = (time.perf_counter() - start) / seconds
            print(
                f"{name:28s} {backend:15s} {solution.certificate.scaled_gap:8.1e} {seconds:7.2f} s {share:5.0%}",
                flush=True,
            )


if __name__ == "__main__":
    N, t, tol = sys.argv[1:] or ("300", "15", "1e-6")
    main(int(N), int(t), float(tol))
