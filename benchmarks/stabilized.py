"""The effect of stabilization, several columns a round and warm starts: rounds and seconds with and without them.

Medians and ratios over breast_cancer and the sets of ../shared/data/ida, beside the repository; where they are not
there only the first is measured, and that is said. Decision stumps of both directions, nu = 0.1 N, epsilon = 0.01; a
path has 20 values of nu from 0.05 N to 0.5 N.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from boostopt import boost, load_dataset, path
from boostopt.boosting import RegularizationPath, Run, Stabilization
from boostopt.oracles import DecisionStumps

IDA = Path(__file__).parents[2] / "shared" / "data" / "ida"
SETS = ("heart", "image", "german", "diabetis", "waveform", "ringnorm")
MOST_ROWS = 500
"""Rows of a set that are taken at most."""

FORMULATIONS = ("lpboost", "erlpboost")
VALUES = 20
SHARE = 0.30
"""The largest intended cost of a path, as a share of single runs."""

LONGEST = 300.0
"""Seconds after which a run is ended; it then counts for no ratio."""

PLAIN, SINGLE = "plain", "20 single runs"
SETTINGS: dict[str, tuple[Stabilization, int]] = {
    PLAIN: (Stabilization(), 1),
    "in-out 0.5": (Stabilization(inner=0.5), 1),
    "in-out 0.85": (Stabilization(inner=0.85), 1),
    "idle leave": (Stabilization(idle=0.1), 1),
    "3 columns": (Stabilization(), 3),
    "10 columns": (Stabilization(), 10),
    "in-out 0.85, 3 columns": (Stabilization(inner=0.85), 3),
}


@dataclass(frozen=True)
class Line:
    """A run, or a path.

    Attributes
    ----------
    formulation, data, how
        The formulation, the data, and the method of the run.
    rounds, hypotheses
        Updates, and hypotheses collected.
    seconds
        Of the processor, in `boost` or in `path`.
    gap
        The largest that is certified over the class.
    ended
        Whether a rule ended it, and not the time limit.
    """

    formulation: str
    data: str
    how: str
    rounds: int
    hypotheses: int
    seconds: float
    gap: float
    ended: bool


def sets(quick: bool) -> Iterator[tuple[str, DecisionStumps]]:
    """Yield the sets, those beside the repository where they are there."""
    data = load_dataset("breast_cancer")
    assert data.y is not None
    yield "breast_cancer", DecisionStumps(data.X, data.y)
    if not IDA.is_dir():
        print(f"left out: {', '.join(SETS)}, for {IDA.parent.name}/{IDA.name} is not beside the repository")
        return
    for name in SETS[:1] if quick else SETS:
        with np.load(IDA / f"{name}.npz") as arrays:
            yield name, DecisionStumps(arrays["X"][:MOST_ROWS], arrays["y"][:MOST_ROWS])


def timed(formulation: str, data: str, how: str, calls: Sequence[Callable[[], Run | RegularizationPath]]) -> Line:
    """Return the line of some runs or paths."""
    began = time.process_time()
    outcomes = [call() for call in calls]
    seconds = time.process_time() - began
    runs = [run for one in outcomes for run in (one.runs if isinstance(one, RegularizationPath) else (one,))]
    gap = max(run.class_certificate.gap for run in runs)
    ended = all(run.reason != "the time limit" for run in runs)
    rounds, hypotheses = sum(run.rounds for run in runs), max(len(run.w) for run in runs)
    return Line(formulation, data, how, rounds, hypotheses, seconds, gap, ended)


def single(formulation: str, quick: bool) -> Iterator[Line]:
    """Run a formulation in every way on every set."""
    for data, oracle in sets(quick):
        for how, (stabilization, columns) in SETTINGS.items():
            run = partial(
                boost,
                formulation,
                oracle,
                nu=0.1 * oracle.N,
                epsilon=0.01,
                time_limit=LONGEST,
                stabilization=stabilization,
                columns_per_round=columns,
            )
            yield timed(formulation, data, how, [run])


def paths(formulation: str, quick: bool) -> Iterator[Line]:
    """Run a formulation along a path, and at each of its values by itself."""
    for data, oracle in sets(quick):
        nus = np.linspace(0.05, 0.5, VALUES) * oracle.N
        single_runs = [partial(boost, formulation, oracle, nu=float(nu)) for nu in nus]
        yield timed(formulation, data, SINGLE, single_runs)
        yield timed(formulation, data, "a path", [partial(path, formulation, oracle, nu=nus)])


def format_lines(lines: list[Line], rival: str) -> str:
    """Return a table of lines, with ratios to the plain way on the same set."""
    plain = {(line.formulation, line.data): line for line in lines if line.how == rival}
    rows = [
        "| | set | way | rounds | hypotheses | seconds | of the rounds | of the seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        base = plain[line.formulation, line.data]
        rounds, seconds = line.rounds / base.rounds, line.seconds / base.seconds
        ratios = (f"{rounds:.2f}", f"{seconds:.2f}") if base.ended and line.ended else ("-", "-")
        count = f"{line.rounds}{'' if line.ended else ' (not ended)'}"
        cells = (line.formulation, line.data, line.how, count, line.hypotheses, f"{line.seconds:.2f}", *ratios)
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def medians(lines: list[Line], rival: str) -> str:
    """Return the medians of the ratios over the sets."""
    plain = {(line.formulation, line.data): line for line in lines if line.how == rival}
    rows = [
        "| | way | sets | median of the rounds | median of the seconds | largest of the seconds |",
        "|---|---|---|---|---|---|",
    ]
    for formulation, how in dict.fromkeys((line.formulation, line.how) for line in lines):
        pairs = [
            (line, plain[formulation, line.data])
            for line in lines
            if (line.formulation, line.how) == (formulation, how) and line.ended and plain[formulation, line.data].ended
        ]
        rounds = [line.rounds / base.rounds for line, base in pairs] or [math.nan]
        seconds = [line.seconds / base.seconds for line, base in pairs] or [math.nan]
        figures = (f"{statistics.median(rounds):.2f}", f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}")
        rows.append(f"| {formulation} | {how} | {len(pairs)} | {' | '.join(figures)} |")
    return "\n".join(rows)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two sets only")
    options.add_argument("--json", type=Path, help="where the figures go as JSON")
    arguments = options.parse_args()
    all_lines = list[Line]()
    for formulation in FORMULATIONS:
        for rival, lines in ((PLAIN, single), (SINGLE, paths)):
            measured_lines = list(lines(formulation, arguments.quick))
            print(f"{format_lines(measured_lines, rival)}\n\n{medians(measured_lines, rival)}\n", flush=True)
            all_lines += measured_lines
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(line) for line in all_lines], indent=2))


if __name__ == "__main__":
    main()
