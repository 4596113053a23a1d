"""Programs that others have made: what solvers claim of them, what is proved of them, and what is published.

python benchmarks/program_files.py [--collections netlib sdplib] [--budget 3600] [--page docs/instances_of_others.md]
does what is left of each file, from the smallest file to the largest, and keeps the results in
docs/instances_of_others.json.gz. A run that is killed loses the step under way. --again certify does the certificates
anew, and --pages-only writes the page from the kept results.

python benchmarks/program_files.py --show maros_meszaros/QPTEST.mat OSQP solves one file by one solver and prints its
claim beside the proved interval.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.evidence.experiment import Results
from benchmarks.evidence.store import Journal, keep, load
from benchmarks.pages import replace_between
from benchmarks.program_file_page import (
    BEGIN,
    END,
    describe_claim,
    describe_truth,
    is_refuted,
    published_optimum,
    tables,
    truths,
)
from benchmarks.program_file_steps import KINDS, MAX_CERTIFICATES, SOLVERS, Result, StepProcess, Steps, next_step
from boostopt._utils.environment import environment_info, source_version
from boostopt._utils.json_values import plain

INSTANCES = ROOT.parent / "shared" / "instances"
"""The folder of the files; one folder in it for each collection."""

COLLECTIONS = ("netlib", "netlib_infeasible", "maros_meszaros", "cblib_exp", "cblib_socp", "sdplib")

NAME = "instances_of_others"
"""Name of the page, and of the file of kept results."""

MAX_SECONDS = {"load": 10.0, "solve": 5.0, "certify": 10.0, "exact": 10.0}
"""Processor seconds of a step, by kind."""

MAX_MEMORY = 8.0
"""Limit of the address space of a process, in GB."""


def list_files(folder: Path, collections: Sequence[str] = COLLECTIONS) -> list[str]:
    """Return the files as collection/name, from the smallest to the largest."""
    paths = [path for name in collections for path in (folder / name).glob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in sorted(paths, key=lambda path: (path.stat().st_size, str(path)))]


def steps_of(results: Results, file: str) -> dict[str, Result]:
    """Return the results of the steps of a file, by step."""
    return {parameters["step"]: result for parameters, result in results.select(file=file)}


def run(
    files: Sequence[str],
    folder: Path,
    results: Results,
    journal: Journal,
    limits: Mapping[str, float],
    kinds: Sequence[str] = KINDS,
    max_certificates: int = MAX_CERTIFICATES,
    budget: float = float("inf"),
) -> Iterator[tuple[str, str, Result]]:
    """Do the steps that are left, add them to the results and the journal, and yield each.

    Parameters
    ----------
    files
        Names below the folder, in the order of the work.
    limits
        Processor seconds of a step, by kind.
    kinds
        Kinds of steps that are done.
    max_certificates
        Largest number of certificates of a file.
    budget
        Seconds after which no step is begun.
    """
    end = time.monotonic() + budget
    machine = {"version": source_version(), "processor": environment_info()["cpu"]}
    for file in files:
        process = StepProcess(folder / file, MAX_MEMORY)
        try:
            while (
                step := next_step(steps_of(results, file), kinds, max_certificates)
            ) is not None and time.monotonic() < end:
                result = process.do(step, limits[step.split()[0]])
                line = {"parameters": {"file": file, "step": step}, "result": result, **machine}
                journal.write(line)
                results.add(json.loads(json.dumps(plain(line))))
                yield file, step, result
        finally:
            process.end()


def without(results: Results, kinds: Sequence[str], files: Sequence[str]) -> Results:
    """Return the results without the steps of some kinds of some files."""
    return Results(
        line
        for line in results.lines
        if line["parameters"]["step"].split()[0] not in kinds or line["parameters"]["file"] not in files
    )


def is_due_again(line: Mapping[str, Any], limits: Mapping[str, float]) -> bool:
    """Return whether a step exceeded a limit that is shorter than that of its kind."""
    return line["result"].get("exceeded", math.inf) < limits[line["parameters"]["step"].split()[0]]


def show(folder: Path, file: str, solver: str, results: Results) -> bool:
    """Print the claim of a solver, made anew, beside what is proved; return whether the claim is refuted.

    The kept results have the proof; where they have none, the answer of the solver is certified.
    """
    steps = Steps(folder / file)
    claim = steps.do(f"solve {solver}")
    done = {**steps_of(results, file), "load": steps.do("load")}
    if not any(step.startswith(("certify", "exact")) for step in done):
        done[f"certify {solver}"] = steps.do(f"certify {solver}")
    print(f"{file}: {solver} claims {describe_claim(claim)}")
    for truth in truths(done):
        print(f"proved: {describe_truth(truth)}")
    published = published_optimum(file)
    print(f"published: {published or 'no optimum'}")
    refuted = is_refuted(claim, truths(done))
    print("the claim is refuted" if refuted else "the claim is not refuted")
    return refuted


def main(arguments: list[str] | None = None) -> int:
    """Do what is left and write the page; return 2 where the files are absent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=INSTANCES, help="folder of the collections")
    parser.add_argument("--collections", nargs="+", choices=COLLECTIONS, default=COLLECTIONS)
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which nothing is begun")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, help="kinds of steps")
    parser.add_argument("--certificates", type=int, default=MAX_CERTIFICATES, help="largest number for each file")
    parser.add_argument("--again", nargs="+", choices=KINDS, default=(), help="kinds of steps done anew")
    parser.add_argument("--limit", type=float, help="processor seconds of each step")
    parser.add_argument("--store", type=Path, default=ROOT / "docs", help="folder of the kept results")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / NAME, help="folder of unfinished work")
    parser.add_argument("--page", type=Path, help="page into which the tables are written")
    parser.add_argument("--pages-only", action="store_true", help="do nothing else")
    parser.add_argument("--show", nargs=2, metavar=("FILE", "SOLVER"), help="one claim beside its proof")
    options = parser.parse_args(arguments)
    results = load(options.store, NAME)
    if not options.pages_only and not options.folder.exists():
        print(f"expected the collections in {options.folder}; there is no such folder. Pass --folder.", file=sys.stderr)
        return 2
    if options.show:
        file, solver = options.show
        if solver not in SOLVERS or not (options.folder / file).exists():
            print(f"expected a file of {options.folder} and one of {', '.join(SOLVERS)}.", file=sys.stderr)
            return 2
        return int(show(options.folder, file, solver, results))
    if not options.pages_only:
        work(options, results)
        results = load(options.store, NAME)
    if options.page is not None:
        replace_between(options.page, BEGIN, END, tables(results))
    return 0


def work(options: Any, results: Results) -> None:
    """Do the steps that are left and keep their results.

    A step that exceeded a shorter limit is done anew. With --again, kept steps are dropped when their file is begun, so
    that no result is lost where the budget ends before.
    """
    journal = Journal(options.journal, NAME)
    lines = journal.lines()
    files = list_files(options.folder, options.collections)
    renewed = {line["parameters"]["file"] for line in lines}
    results = without(results, options.again, sorted(renewed))
    for line in lines:
        results.add(line)
    limits: dict[str, float] = dict(MAX_SECONDS)
    if options.limit is not None:
        limits = dict.fromkeys(limits, float(options.limit))
    results = Results(line for line in results.lines if not is_due_again(line, limits))
    end = time.monotonic() + options.budget
    for file in files:
        remaining_seconds = end - time.monotonic()
        if remaining_seconds <= 0:
            break
        if options.again and file not in renewed:
            results = without(results, options.again, [file])
        for name, step, result in run(
            [file], options.folder, results, journal, limits, options.only, options.certificates, remaining_seconds
        ):
            print(f"{name}, {step}: {json.dumps(plain(result))}", flush=True)
    keep(options.store, NAME, results)
    journal.end()


if __name__ == "__main__":
    sys.exit(main())
