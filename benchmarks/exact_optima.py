"""Exact optima of linear programs in files: status, value, and processor seconds against solves by HiGHS.

python benchmarks/exact_optima.py FOLDER... [--solves 100] measures each file that `load_problem` reads as a linear
program, from the smallest file to the largest, and prints the table and the medians. Each program is solved exactly
with its floats and with its decimals, and then by HiGHS so many times, in one process. The seconds of `exact_optimum`
contain all of its solves by HiGHS; those of the check are `is_proved` alone.

python benchmarks/exact_optima.py --store docs --page docs/instances_of_others.md FOLDER... keeps the measurement of
each file as it is finished, continues a run that was killed or whose --budget has ended, and writes the table into the
page. Without a folder, the page is written from what is kept.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import highspy
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.evidence.experiment import Results
from benchmarks.evidence.store import Journal, keep, load
from benchmarks.pages import replace_between, row
from boostopt import ConicProgram, exact_optimum, load_problem
from boostopt._utils.environment import environment_info, source_version
from boostopt._utils.files import file_suffix
from boostopt.conic_programs.readers.load_problem import ENDINGS

T = TypeVar("T")

NAME = "exact_optima"
"""Name of the file of kept measurements."""

N_SOLVES = 100
"""Number of solves by HiGHS."""

MAX_SOLVE_SECONDS = 10.0
"""Processor seconds after which no further solve is begun; those of all solves are then in proportion."""

MEANINGS = "binary", "decimal"
"""The readings of a file: its floats, and their shortest decimals."""

BEGIN, END = "<!-- exact optima -->", "<!-- end of exact optima -->"


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a call, and its processor seconds."""
    start = time.process_time()
    return function(), time.process_time() - start


def highs_model(program: ConicProgram) -> Any:
    """Return a linear program as a model of HiGHS."""
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = program.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = program.c, program.lower, program.upper
    model.row_lower_, model.row_upper_, model.offset_ = program.row_lower, program.row_upper, program.offset
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = program.A.indptr, program.A.indices
    model.a_matrix_.value_ = np.asarray(program.A.data, dtype=np.float64)
    return model


def solve_by_highs(model: Any, n_solves: int) -> tuple[float, int]:
    """Solve a model so many times, each time anew; return the last value, and how many solves were made in time."""
    value, start = float("nan"), time.process_time()
    for k in range(n_solves):
        if time.process_time() - start > MAX_SOLVE_SECONDS:
            return value, k
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        solver.run()
        value = solver.getInfo().objective_function_value
    return value, n_solves


def measure(path: Path, n_solves: int) -> dict[str, Any] | None:
    """Return the measurements of a file; None if it is no linear program.

    They are the numbers of rows and columns, what is proved of both readings with the seconds of the exact optimum and
    of its check, the value that HiGHS reports, and the number and the seconds of its solves.
    """
    program = load_problem(path)
    if not program.is_linear:
        return None
    result: dict[str, Any] = {"rows": program.shape[0], "columns": program.shape[1]}
    for numbers in MEANINGS:
        optimum, seconds = timed(lambda numbers=numbers: exact_optimum(program, numbers))
        is_proved, check_seconds = timed(optimum.is_proved)
        assert is_proved, path
        value = None if optimum.value is None else f"{float(optimum.value):.10e}"
        result[numbers] = {"status": optimum.status, "value": value, "seconds": seconds, "check_seconds": check_seconds}
        if value is None:
            result[numbers]["sentence"] = optimum.in_words()
    (value, count), seconds = timed(lambda: solve_by_highs(highs_model(program), n_solves))
    return {**result, "highs": f"{value:.10e}", "n_solves": n_solves, "n_timed": count, "solve_seconds": seconds}


def seconds_of_solves(result: dict[str, Any]) -> float:
    """Return the processor seconds of all solves by HiGHS, in proportion to those that were timed."""
    return float(result["solve_seconds"] * result["n_solves"] / result["n_timed"])


def table(results: Results) -> str:
    """Return a row for each file, from the cheapest solves to the dearest, and the medians.

    Seconds of solves that were not all timed have the word "about".
    """
    pairs = sorted(results, key=lambda pair: seconds_of_solves(pair[1]))
    counts = sorted({result["n_solves"] for _, result in pairs})
    heads = ["file", "rows", "columns", "HiGHS", "floats", "decimals", "floats, s", "decimals, s", "checks, s"]
    lines = [row([*heads, f"{' or '.join(map(str, counts))} solves, s"]), "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for parameters, result in pairs:
        optima = [result[numbers] for numbers in MEANINGS]
        seconds = [*(optimum["seconds"] for optimum in optima), sum(optimum["check_seconds"] for optimum in optima)]
        about = "" if result["n_timed"] == result["n_solves"] else "about "
        cells = [parameters["file"], str(result["rows"]), str(result["columns"]), result["highs"]]
        cells += [optimum["value"] or optimum["status"] for optimum in optima]
        lines.append(row([*cells, *(f"{s:.3f}" for s in seconds), f"{about}{seconds_of_solves(result):.2f}"]))
    return "\n".join([*lines, "", *_medians([result for _, result in pairs])])


def _medians(measurements: Sequence[dict[str, Any]]) -> list[str]:
    lines = list[str]()
    for numbers in MEANINGS:
        seconds = [result[numbers]["seconds"] for result in measurements]
        solves = [seconds_of_solves(result) for result in measurements]
        ratios = [first / second for first, second in zip(seconds, solves, strict=True)]
        lines.append(
            f"- Exact optima of the {'floats' if numbers == 'binary' else 'decimals'}: median {_short(seconds)} s, "
            f"that of the solves by HiGHS {_short(solves)} s; the median of the ratios is {_short(ratios)}, the "
            f"largest {max(ratios):.2f}, and {sum(ratio > 1 for ratio in ratios)} of {len(ratios)} are above 1."
        )
    return lines


def _short(values: Sequence[float]) -> str:
    """Return the median of numbers in three digits."""
    return f"{statistics.median(values):.3g}"


def files_of(folders: Sequence[Path]) -> list[Path]:
    """Return the files of programs in some folders, from the smallest to the largest."""
    paths = [path for folder in folders for path in folder.iterdir() if file_suffix(path) in ENDINGS]
    return sorted(paths, key=lambda path: (path.stat().st_size, str(path)))


def work(options: Any, results: Results) -> None:
    """Measure the files that are left, print a line of each, and keep the results."""
    machine = {"version": source_version(), "processor": environment_info()["cpu"]}
    journal = Journal(options.journal, NAME) if options.store is not None else None
    for line in [] if journal is None else journal.lines():
        results.add(line)
    end = time.monotonic() + options.budget
    for path in files_of(options.folder):
        parameters = {"file": f"{path.parent.name}/{path.name}"}
        if time.monotonic() > end or parameters in results:
            continue
        result = measure(path, options.solves)
        if result is None:
            continue
        line = {"parameters": parameters, "result": result, **machine}
        results.add(line)
        if journal is not None:
            journal.write(line)
        exact = ", ".join(f"{numbers} {result[numbers]['seconds']:.3f} s" for numbers in MEANINGS)
        print(f"{parameters['file']}: {exact}, {options.solves} solves {seconds_of_solves(result):.2f} s", flush=True)
    if journal is not None and options.store is not None:
        keep(options.store, NAME, results)
        journal.end()


def print_optima(arguments: Sequence[str] | None = None) -> None:
    """Print the table and the medians, for the words of the command line.

    Raises
    ------
    SystemExit
        There is no linear program in the folders, and none is kept.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="*", help="folders of files of programs")
    parser.add_argument("--solves", type=int, default=N_SOLVES, help="number of solves by HiGHS")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no file is begun")
    parser.add_argument("--store", type=Path, help="folder of the kept measurements; without it, nothing is kept")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / NAME, help="folder of unfinished work")
    parser.add_argument("--page", type=Path, help="page into which the table is written")
    options = parser.parse_args(arguments)
    results = Results() if options.store is None else load(options.store, NAME)
    work(options, results)
    if not len(results):
        folders = ", ".join(map(str, options.folder)) or "no folder"
        raise SystemExit(f"expected files of linear programs in {folders}; got none. Name another folder.")
    text = table(results)
    print(text)
    for parameters, result in results:
        for numbers in MEANINGS:
            if "sentence" in result[numbers]:
                print(f"{parameters['file']}: {result[numbers]['sentence']}")
    if options.page is not None:
        replace_between(options.page, BEGIN, END, text)


if __name__ == "__main__":
    print_optima()
