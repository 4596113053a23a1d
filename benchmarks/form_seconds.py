"""Processor seconds of each solver behind CVXPY in each form: the measurement that decides the first form of a solver.

    python benchmarks/form_seconds.py --keep build/form_seconds --store benchmarks/form_seconds.json

The command solves the standard programs on small margins, `CASES`, in all forms, the forms and repeats in shuffled
order, and stores the processor seconds of the cheapest request that proves a gap of 1e-6. You can stop the command and
run it again at any time: it does not repeat the solves in the folder of --keep. The file has the programs that are
finished. Then it prints, for each solver, the
median over the programs of the seconds of a form, divided by those of the fastest form.
`tests/backends/test_first_forms.py` holds that the schedule of each solver begins with the form of the least median.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

# One thread a process, before NumPy is loaded; the processes of the solvers inherit it.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
if __name__ == "__main__":
    os.environ.update(dict.fromkeys(THREADS, "1"))
sys.path[:0] = [str(Path(__file__).parents[1])]

from boostopt import precision
from boostopt._utils.environment import environment_info, source_version
from boostopt.backends import get_backend
from boostopt.backends.base import package_version
from boostopt.backends.cvxpy import solver_options
from boostopt.backends.cvxpy.cvxpy_backend import LINEAR_CONES
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.work_precision.precision_points import cheapest_point
from boostopt.errors import SolverNotFound
from boostopt.instances.standard import standard_programs
from boostopt.programs.program import Program

STORE = Path(__file__).with_suffix(".json")
"""The stored measurement."""

SOLVERS = ("clarabel", "scs", "ecos", "osqp", "highs", "scipy", "piqp", "proxqp", "qoco", "cvxopt", "daqp", "glpk")
"""The open solvers behind CVXPY that take continuous programs."""

FORMS = "primal", "density", "dual", "rated", "density-rated", "dual-rated"
"""The last three have the objective times eta. Only programs with an entropy have them."""

CASES = ("random_tiny", "cancer_10", "degenerate")
"""The margins of the standard programs that belong to the measurement: at most 30,000 entries each."""

GAP = 1e-6
"""The certified gap to reach."""

REQUESTS = (1e-6, 1e-8)
"""The requests; the cheaper one of those that prove the gap counts."""

REPEATS, LIMIT = 2, 5.0
"""Solves of each request; the time limit of a solve in seconds. A form that does not reach the gap has no seconds."""

PLAIN_FORMS = {"rated": "primal", "density-rated": "density", "dual-rated": "dual"}
"""Forms that are equal to a form without a factor, on programs whose objective has none."""

KINDS = ("linear", "other")
"""Linear programs, and all others: a solver has a schedule for each."""

Seconds = Mapping[str, Mapping[str, float | None]]
"""Processor seconds by program and form; None for a form that does not reach the gap."""


def is_taken(name: str, program: Program) -> bool:
    """Return whether a solver is installed and takes a program."""
    try:
        return bool(get_backend(name).takes(program))
    except SolverNotFound:
        return False


def has_factor(program: Program) -> bool:
    """Return whether the factor of the objective differs from 1, as with entropies."""
    return program.regularizer.objective_scale != 1.0


def measure(
    program: Program, label: str, log: Path, budget: float
) -> tuple[dict[str, dict[str, float | None]], float] | None:
    """Return what each solver and form takes on a program, and how much repeats differ.

    Returns
    -------
    tuple
        None if the budget did not suffice for all solves. Median processor seconds by solver and form, None where the
        gap is not reached; and the median over the solves of the difference of two repeats, over their mean.
    """
    solvers = [f"cvxpy:{solver}" for solver in SOLVERS if is_taken(f"cvxpy:{solver}", program)]
    forms = FORMS if has_factor(program) else [form for form in FORMS if form not in PLAIN_FORMS]
    result = precision(
        {label: program},
        solvers,
        REQUESTS,
        REPEATS,
        forms=forms,
        isolate=True,
        time_limit=LIMIT,
        warm_up="smallest",
        resume=log,
        budget=budget,
        any_version=True,
    )
    if any(run.reason == "no time left" for run in result.runs):
        return None
    seconds = {solver.removeprefix("cvxpy:"): dict[str, float | None]() for solver in solvers}
    for backend in result.backends:
        _, solver, form = backend.split(":")
        point = cheapest_point(result.line(label, backend), GAP)
        seconds[solver][form] = None if point is None or point.cpu_seconds is None else round(point.cpu_seconds, 5)
    return seconds, median(repeat_differences(result.runs))


def repeat_differences(runs: Iterable[SolveRecord]) -> list[float]:
    """Return the largest less the smallest processor seconds of the repeats of each solve, over their mean."""
    repeats: dict[tuple[str, str, float], list[float]] = {}
    for run in runs:
        if run.cpu_seconds is not None:
            repeats.setdefault((run.program, run.backend, run.tol), []).append(run.cpu_seconds)
    return [(max(group) - min(group)) / fmean(group) for group in repeats.values() if len(group) > 1]


def noise(document: Mapping[str, Any]) -> float:
    """Return the median over the programs of the difference of repeats: forms that differ by less are equally fast."""
    return median(entry["repeat_difference"] for entry in document["programs"].values())


def load_seconds(document: Mapping[str, Any], kind: str) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the seconds of all programs of a kind by solver, program and form, from a stored measurement."""
    by_solver: dict[str, dict[str, dict[str, float | None]]] = {}
    for label, entry in document["programs"].items():
        if entry["kind"] == kind:
            for solver, forms in entry["cpu_seconds"].items():
                by_solver.setdefault(solver, {})[label] = forms
    return by_solver


def median_ratios(seconds: Seconds, forms: Sequence[str]) -> dict[str, float]:
    """Return the median over the programs of the seconds of each form over those of the fastest form.

    Parameters
    ----------
    seconds
        Seconds by program and form. Programs on which no form reaches the gap do not count.
    forms
        The forms. One that does not reach the gap on a program has an infinite ratio there.
    """
    ratios: dict[str, list[float]] = {form: [] for form in forms}
    for by_form in seconds.values():
        values = {form: by_form.get(form, by_form.get(PLAIN_FORMS.get(form, form))) for form in forms}
        fastest = min((value for value in values.values() if value is not None), default=None)
        if fastest is not None:
            for form, value in values.items():
                ratios[form].append(math.inf if value is None else value / fastest)
    return {form: median(values) if values else math.inf for form, values in ratios.items()}


def candidate_forms(kind: str) -> tuple[str, ...]:
    """Return the forms that differ from each other on programs of a kind."""
    return tuple(form for form in FORMS if kind != "linear" or form not in PLAIN_FORMS)


def print_medians(document: Mapping[str, Any]) -> None:
    """Print a table for each kind of program: the median ratio of each form, the present first form in brackets."""
    print(f"Two repeats of a solve differ by {noise(document):.1%} in the median.")
    for kind in KINDS:
        forms = candidate_forms(kind)
        print(f"\n| {kind} | programs | {' | '.join(forms)} | first |\n|---|--:|{'--:|' * len(forms)}---|")
        for solver, seconds in load_seconds(document, kind).items():
            spec = solver_options.SOLVERS[solver.upper()]
            first = (spec.linear_schedule if kind == "linear" else spec.schedule)[0].form.name
            ratios = median_ratios(seconds, forms)
            cells = " | ".join(f"{ratios[form]:.2f}" for form in forms)
            print(f"| {solver} | {len(seconds)} | {cells} | {first} |")


def main() -> int:
    """Measure, store and print; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, help="the folder of finished solves; without it, nothing is measured")
    parser.add_argument("--store", type=Path, default=STORE, help="the file of the measurement")
    parser.add_argument("--budget", type=float, default=36_000.0, help="seconds after which no solve begins (36000)")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.budget
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        programs = {
            label: program for label, program in standard_programs().items() if label.partition(" on ")[2] in CASES
        }
        document: dict[str, Any] = {
            "boostopt": source_version(),
            "machine": environment_info(),
            "versions": {
                solver: package_version(solver_options.SOLVERS[solver.upper()].package or solver) for solver in SOLVERS
            },
            "settings": {"gap": GAP, "requests": REQUESTS, "repeats": REPEATS, "time_limit": LIMIT},
            "programs": {},
        }
        for label in sorted(programs, key=lambda name: (programs[name].margins.N * programs[name].margins.t, name)):
            program = programs[label]
            log = arguments.keep / f"{label.replace(' ', '_')}.jsonl"
            measurement = measure(program, label, log, max(deadline - time.monotonic(), 1e-9))
            if measurement is None:
                print(f"{label}: not finished, and left out", file=sys.stderr, flush=True)
                continue
            seconds, difference = measurement
            kind = "linear" if program.cones == LINEAR_CONES else "other"
            document["programs"][label] = {
                "kind": kind,
                "repeat_difference": round(difference, 4),
                "cpu_seconds": seconds,
            }
            arguments.store.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            print(label, file=sys.stderr, flush=True)
    print_medians(json.loads(arguments.store.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
