"""How good and how fast: noisy stump matrices, one label in ten flipped, nu = 0.1 N. Prints a Markdown table.

Seconds depend on the machine; read the gaps and the ratios. Each solve runs once after a warm-up of the libraries, each
certificate 20 times (median).
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from problems import noisy_stumps, reference_erlpboost, reference_lpboost

from boostopt import Program, Solution, get_formulation

BACKENDS = ("cvxpy:clarabel", "cvxpy:scs", "cvxpy:highs")
SIZES = ((1000, 30), (5000, 50))
ETAS = (46.0, 460.0, 2e4)
TIME_LIMIT = 30.0
RELATIVE_GAP = 1e-6
HEADER = (
    "| formulation | N | t | eta | backend | verdict | gap | relative gap | attempts | the solver says"
    " | seconds | certify, ms | of the seconds |"
)


def certify_seconds(solution: Solution) -> float:
    """Median time of certifying the raw answer once."""
    best, program = solution.best, solution.program
    times = list[float]()
    for _ in range(20):
        start = time.perf_counter()
        program.certify(best.d if best else None, best.w if best else None)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(program: Program, backend: str, tol: float) -> str:
    solution = program.solve(backend, tol=tol, time_limit=TIME_LIMIT)
    certificate, p = solution.certificate, program.parameters
    certify = certify_seconds(solution)
    cells = (
        program.formulation.name,
        program.margins.N,
        program.margins.t,
        f"{p.eta:g}" if hasattr(p, "eta") else "",
        backend,
        solution.verdict.name.lower(),
        f"{certificate.gap:.1e}",
        f"{certificate.relative_gap:.1e}" if max(abs(certificate.upper), certificate.span) > 1e-9 else "optimum is 0",
        len(solution.attempts),
        solution.solver_status,
        f"{solution.times['total']:.2f}",
        f"{1e3 * certify:.2f}",
        f"{certify / solution.times['total']:.2%}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    for program in (reference_lpboost(), reference_erlpboost()):
        program.solve("cvxpy:clarabel")
    packages = [f"{name} {version(name)}" for name in ("numpy", "scipy", "cvxpy", "clarabel", "scs", "highspy")]
    print(f"Python {platform.python_version()}, {platform.machine()}, {', '.join(packages)}\n")
    print(f"{HEADER}\n{'|---' * (HEADER.count('|') - 1)}|")
    for N, t in SIZES:
        U = noisy_stumps(N, t)
        for eta in ETAS:
            program = get_formulation("erlpboost").bind(U, nu=0.1 * N, eta=eta)
            for backend in BACKENDS[:2]:
                print(row(program, backend, RELATIVE_GAP * program.regularizer.span), flush=True)
        # Every stump beside its negation: the optimum is 0. One of each pair: it is not.
        for columns in (U, noisy_stumps(N, 2 * t)[:, ::2]):
            for backend in BACKENDS:
                print(row(get_formulation("lpboost").bind(columns, nu=0.1 * N), backend, 1e-8), flush=True)


if __name__ == "__main__":
    main()
