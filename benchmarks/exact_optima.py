"""Exact optima of linear programs in files: status, value, and processor seconds against solves by HiGHS.

python benchmarks/exact_optima.py FOLDER [--solves 100] prints a row for each file that `load_problem` reads as a linear
program, from the smallest file to the largest, and the medians. Each program is solved with its floats and with its
decimals. The seconds of `exact_optimum` contain all of its solves by HiGHS; those of the check are `is_proved` alone.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import highspy
import numpy as np

from boostopt import ConicProgram, ExactOptimum, exact_optimum, load_problem
from boostopt._utils.files import file_suffix
from boostopt.conic_programs.conic_program import Numbers
from boostopt.conic_programs.readers.load_problem import ENDINGS

T = TypeVar("T")

N_SOLVES = 100
"""Number of solves by HiGHS."""

HEADER = (
    "| file | rows | columns | HiGHS | floats | decimals | floats, s | decimals, s | checks, s | {} solves, s |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass(frozen=True)
class Line:
    """The measurements of one program.

    Attributes
    ----------
    name
        The name of the file.
    shape
        Rows and columns.
    highs_value
        The value that HiGHS reports.
    optima
        The exact optima of the floats and of the decimals.
    seconds
        Processor seconds of both.
    check_seconds
        Processor seconds of both checks.
    solve_seconds
        Processor seconds of all solves by HiGHS.
    """

    name: str
    shape: tuple[int, int]
    highs_value: float
    optima: tuple[ExactOptimum, ExactOptimum]
    seconds: tuple[float, float]
    check_seconds: float
    solve_seconds: float

    def row(self) -> str:
        """Return the row of the table."""
        cells = [self.name, *map(str, self.shape), f"{self.highs_value:.10e}"]
        cells += [
            optimum.status if optimum.value is None else f"{float(optimum.value):.10e}" for optimum in self.optima
        ]
        cells += [f"{seconds:.2f}" for seconds in (*self.seconds, self.check_seconds, self.solve_seconds)]
        return f"| {' | '.join(cells)} |"


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


def solve_by_highs(model: Any, n_solves: int) -> float:
    """Solve a model so many times, each time anew; return the last value."""
    value = float("nan")
    for _ in range(n_solves):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        solver.run()
        value = solver.getInfo().objective_function_value
    return value


def measure(path: Path, n_solves: int) -> Line | None:
    """Return the measurements of a file; None if it is no linear program."""
    program = load_problem(path)
    if not program.is_linear:
        return None
    value, solve_seconds = timed(lambda: solve_by_highs(highs_model(program), n_solves))
    meanings: tuple[Numbers, Numbers] = "binary", "decimal"
    (floats, float_seconds), (decimals, decimal_seconds) = (
        timed(lambda numbers=numbers: exact_optimum(program, numbers)) for numbers in meanings
    )
    checks, check_seconds = timed(lambda: [optimum.is_proved() for optimum in (floats, decimals)])
    assert all(checks), path
    name, seconds = path.name.partition(".")[0], (float_seconds, decimal_seconds)
    return Line(name, program.shape, value, (floats, decimals), seconds, check_seconds, solve_seconds)


def print_optima(arguments: Sequence[str] | None = None) -> None:
    """Print the table and the medians, for the words of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--solves", type=int, default=N_SOLVES)
    options = parser.parse_args(arguments)
    print(HEADER.format(options.solves))
    lines = list[Line]()
    for path in sorted(options.folder.iterdir(), key=lambda path: path.stat().st_size):
        line = measure(path, options.solves) if file_suffix(path) in ENDINGS else None
        if line is not None:
            lines.append(line)
            print(line.row(), flush=True)
    if not lines:
        raise SystemExit(f"expected files of linear programs in {options.folder}; got none. Name another folder.")
    for k, numbers in enumerate(("floats", "decimals")):
        seconds = [line.seconds[k] for line in lines]
        ratios = [line.seconds[k] / line.solve_seconds for line in lines]
        print(
            f"{numbers}: median {statistics.median(seconds):.3f} s, largest {max(seconds):.1f} s; over "
            f"{options.solves} solves by HiGHS: median {statistics.median(ratios):.3f}, largest {max(ratios):.2f}, "
            f"above 1 for {sum(ratio > 1 for ratio in ratios)} of {len(lines)}"
        )
    for line in lines:
        for optimum in line.optima:
            if optimum.value is None:
                print(f"{line.name}: {optimum.in_words()}")


if __name__ == "__main__":
    print_optima()
