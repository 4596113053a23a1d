"""The cost of the default number of BLAS threads in wall time: against one thread, alone and beside two busy processes.

Every figure is of a process of its own, taken in turns, so that what else the machine does falls on both sides.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

BUSY = 2
"""Processes that do nothing but keep a core each."""

REPEATS = 3

MOST = 2.0
"""The default may take so many times the seconds of one thread."""

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

QUICK = ("erlpboost 3000 x 540", "classifier 1000 x 12")
WORKS = ("erlpboost 3000 x 540", "erlpboost 30000 x 200", "erlpboost 5000 x 1500", "classifier 3000 x 12")

HEADER = "| work | beside | default, s | one thread, s | ratio | meant to be | met |"


@dataclass(frozen=True)
class Line:
    """A row of the table: medians of seconds by the clock."""

    work: str
    neighbours: str
    default: float
    one: float
    ratio: float
    target: str
    is_met: bool


def lines(quick: bool) -> Iterator[Line]:
    """Measure one row after another."""
    for work in QUICK if quick else WORKS:
        for busy in (0, BUSY):
            yield line(work, busy)


def line(work: str, busy: int) -> Line:
    """Measure a piece of work with the default and with one thread in turns."""
    free = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    single = {**free, **dict.fromkeys(VARIABLES, "1")}
    seconds: tuple[list[float], list[float]] = [], []
    with busy_processes(busy):
        for _ in range(REPEATS):
            for environment, samples in zip((free, single), seconds, strict=True):
                command = [sys.executable, __file__, work]
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
                samples.append(float(done.stdout))
    default, one = (statistics.median(samples) for samples in seconds)
    neighbours = f"{busy} busy processes" if busy else "nothing"
    return Line(work, neighbours, default, one, default / one, f"<= {MOST:g}", default <= MOST * one)


@contextmanager
def busy_processes(count: int) -> Generator[None]:
    """Keep cores busy meanwhile."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def prepared(work: str) -> Callable[[], object]:
    """Return a piece of work, all but what is timed done."""
    import numpy as np

    import boostopt
    from boostopt.estimators import MarginBoostClassifier

    kind, N, _, columns = work.split()
    rng = np.random.default_rng(0)
    if kind == "erlpboost":
        signs = rng.integers(0, 2, (int(N), int(columns)), dtype=np.int8)
        program = boostopt.get_formulation("erlpboost").bind(2 * signs - 1, nu=int(N) / 10, eta=1000.0)
        return lambda: program.solve("interior")
    X = rng.normal(size=(int(N), int(columns)))
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=int(N)) > 0, 1, -1)
    return lambda: MarginBoostClassifier().fit(X, y)


def row(line: Line) -> str:
    """Return a row of the table."""
    numbers = (f"{line.default:.3g}", f"{line.one:.3g}", f"{line.ratio:.2f}")
    return f"| {' | '.join((line.work, line.neighbours, *numbers, line.target, 'yes' if line.is_met else 'no'))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", help='such as "erlpboost 3000 x 540"')
    run = prepared(parser.parse_args().work)
    began = time.perf_counter()
    run()
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main()
