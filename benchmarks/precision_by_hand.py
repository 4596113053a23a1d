"""Requests to solvers by `boostopt.precision`, against the same requests in a script that does not load boostopt.

python benchmarks/precision_by_hand.py [SOLVER ...] asks each solver for 1e-1 to 1e-10 on three programs of boosting: a
linear one, a quadratic one, and one with a relative entropy. A process of its own, which loads CVXPY and no boostopt,
asks for the same by `problem.solve(solver, tolerance=request)`. The tables have, for each certified gap, the cheapest
request, and iterations and seconds of both. Then the number of requests at which iterations agree is printed; the exit
status is 1 if some differ. The solver "interior" is boostopt's own: it gets the programs themselves, and has no script.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any

import cvxpy as cp
import numpy as np

REQUESTS = tuple(float(f"1e-{k}") for k in range(1, 11))
"""The requests."""

GAPS = (1e-3, 1e-6, 1e-9)
"""The certified gaps of the tables."""

N_REPEATS = 1
"""Number of solves of each request."""

N, T, NU, ETA = 80, 10, 16.0, 50.0
"""Examples, hypotheses and parameters of the programs."""

TOLERANCES: Mapping[str, tuple[str, ...]] = {
    "scs": ("eps_abs", "eps_rel"),
    "clarabel": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "ecos": ("abstol", "reltol", "feastol"),
    "piqp": ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
    "osqp": ("eps_abs", "eps_rel"),
    "highs": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
}
"""The tolerances of each solver, as its documentation names them."""

RANGES: Mapping[str, tuple[float, float]] = {"highs": (1e-10, 1.0)}
"""The tolerances that a solver accepts, if it refuses others."""

HAND_FLAG = "--hand"
"""The argument of the process that asks by hand."""

Answer = tuple[int | None, float]
"""Iterations and seconds of a solve."""


def margins() -> np.ndarray:
    """Return the margins of random signs that are right in two of three cases, shape (N, T)."""
    rng = np.random.default_rng(0)
    return np.where(rng.random((N, T)) < 0.62, 1.0, -1.0) * rng.choice([1.0, 0.5], size=(N, T))


def linear() -> Any:
    """Return the primal of LPBoost."""
    d, gamma = cp.Variable(N), cp.Variable()
    constraints: list[Any] = [margins().T @ d <= gamma, cp.sum(d) == 1, d <= 1 / NU, d >= 0]
    return cp.Problem(cp.Minimize(gamma), constraints)


def quadratic() -> Any:
    """Return the primal of QRLP-Boost."""
    d, gamma = cp.Variable(N), cp.Variable()
    square = N * cp.sum_squares(d - 1 / N) / (2 * ETA)
    constraints: list[Any] = [margins().T @ d <= gamma, cp.sum(d) == 1, d <= 1 / NU, d >= 0]
    return cp.Problem(cp.Minimize(gamma + square), constraints)


def entropy() -> Any:
    """Return the primal of ERLPBoost."""
    d, gamma = cp.Variable(N), cp.Variable()
    divergence = cp.sum(cp.rel_entr(d, np.full(N, 1 / N))) / ETA
    constraints: list[Any] = [margins().T @ d <= gamma, cp.sum(d) == 1, d <= 1 / NU]
    return cp.Problem(cp.Minimize(gamma + divergence), constraints)


PROBLEMS: Mapping[str, Callable[[], Any]] = {"linear": linear, "quadratic": quadratic, "entropy": entropy}
"""The problems by name."""

FORMULATIONS: Mapping[str, tuple[str, dict[str, float]]] = {
    "linear": ("lpboost", {"nu": NU}),
    "quadratic": ("qrlp_boost", {"nu": NU, "eta": ETA}),
    "entropy": ("erlpboost", {"nu": NU, "eta": ETA}),
}
"""The formulation of each problem, with its parameters."""


def solve_by_hand(make: Callable[[], Any], solver: str, request: float) -> Answer | None:
    """Return iterations and seconds of a request; None if the solver does not take the problem."""
    low, high = RANGES.get(solver, (0.0, 1.0))
    options: dict[str, Any] = dict.fromkeys(TOLERANCES[solver], min(max(request, low), high))
    problem, start = make(), time.perf_counter()
    try:
        with warnings.catch_warnings(action="ignore"):
            problem.solve(solver.upper(), **options)
    except cp.SolverError as refusal:
        if "cannot" in str(refusal) or "not installed" in str(refusal):
            return None
    seconds = time.perf_counter() - start
    return (None if problem.solver_stats is None else problem.solver_stats.num_iters), seconds


def print_hand_answers(solvers: list[str]) -> None:
    """Print the answers by problem, solver and request as JSON, without boostopt in the process."""
    answers = {
        f"{name} {solver} {request:g}": [solve_by_hand(make, solver, request) for _ in range(N_REPEATS)]
        for name, make in PROBLEMS.items()
        for solver in solvers
        for request in REQUESTS
    }
    if "boostopt" in sys.modules:
        raise RuntimeError("expected a process without boostopt; got one with it. Remove the import.")
    print(json.dumps(answers))


def hand_answers(solvers: list[str]) -> dict[str, tuple[int | None, float] | None]:
    """Return the iterations and the median seconds of each request, asked in a process without boostopt."""
    command = [sys.executable, __file__, HAND_FLAG, *solvers]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    answers = dict[str, tuple[int | None, float] | None]()
    for key, repeats in json.loads(output.splitlines()[-1]).items():
        ran = [answer for answer in repeats if answer is not None]
        answers[key] = (ran[0][0], median(seconds for _, seconds in ran)) if ran else None
    return answers


def measured(solvers: list[str]) -> dict[str, Any]:
    """Return the work and precision of each kind of solver: those of CVXPY on the problems, and `interior`."""
    from boostopt import get_formulation, precision

    results = dict[str, Any]()
    named = [solver for solver in solvers if solver in TOLERANCES]
    if named:
        problems = {name: make() for name, make in PROBLEMS.items()}
        results["cvxpy"] = precision(problems, named, REQUESTS, N_REPEATS)
    if "interior" in solvers:
        programs = {
            name: get_formulation(formulation).bind(margins(), **parameters)
            for name, (formulation, parameters) in FORMULATIONS.items()
        }
        results["interior"] = precision(programs, "interior", REQUESTS, N_REPEATS)
    return results


def main(solvers: list[str]) -> int:
    """Print the tables, and return the exit status."""
    by_hand, results = hand_answers([name for name in solvers if name in TOLERANCES]), measured(solvers)
    n_equal, differences = 0, list[str]()
    for result in results.values():
        for point in result.points:
            hand = by_hand.get(f"{point.program} {point.backend} {point.request:g}")
            if hand is None:
                continue
            n_equal += hand[0] == point.iterations
            if hand[0] != point.iterations:
                differences.append(
                    f"{point.program}, {point.backend}, {point.request:g}: {point.iterations} iterations, by hand "
                    f"{hand[0]}"
                )
    print("| program | solver | gap | request | proved | iterations | by hand | seconds | by hand |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for result in results.values():
        for program in result.programs:
            for backend in result.backends:
                for gap in GAPS:
                    print(_row(result, program, backend, gap, by_hand))
    print(f"\n{n_equal} requests took equally many iterations by hand, {len(differences)} did not.")
    print("\n".join(differences))
    return 1 if differences else 0


def _row(result: Any, program: str, backend: str, gap: float, by_hand: Mapping[str, Any]) -> str:
    """Return a row of the table."""
    (entry,) = (entry for entry in result.cheapest(gap) if (entry.program, entry.backend) == (program, backend))
    if entry.point is None:
        return f"| {program} | {backend} | {gap:g} | {entry.reason[:60]} | | | | | |"
    point = entry.point
    hand = by_hand.get(f"{program} {backend} {point.request:g}")
    iterations, seconds = ("", "") if hand is None else (hand[0], f"{hand[1]:.4f}")
    return (
        f"| {program} | {backend} | {gap:g} | {point.request:g} | {point.scaled_gap:.1e} | {point.iterations} | "
        f"{iterations} | {point.seconds:.4f} | {seconds} |"
    )


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != HAND_FLAG] or [*TOLERANCES, "interior"]
    run = partial(print_hand_answers, names) if HAND_FLAG in sys.argv else partial(main, names)
    sys.exit(run() or 0)
