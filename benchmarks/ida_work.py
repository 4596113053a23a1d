"""The work of the IDA benchmark and its order: one unit is a fold of a split, or a split.

The folds of a split's training part give the errors on the grids; parameters are chosen as in Raetsch, Onoda and
Mueller 2001, section 5.1, from smaller grids and in one stage for its two: the best by cross-validation of each of the
first five splits, then their median. The test parts are used when nothing is left to choose.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from multiprocessing import connection, get_context, parent_process
from os import _exit
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from benchmarks.ida_data import WHOLE, Rows, Unit, digest, part_of
from benchmarks.ida_ledger import Ledger, Line
from benchmarks.ida_methods import GRIDS, Options, Values, errors_on_grids, outcomes, points
from boostopt._utils.environment import source_version

Chosen = dict[str, Values]


@dataclass(frozen=True)
class Job:
    """A unit, with all that a process needs to do it.

    Attributes
    ----------
    folder
        The folder of the data sets.
    unit
        The unit of work to do.
    options
        The options of the measurement.
    parameters
        For a split: the values that the folds have chosen.
    stamp
        The origin that the line names: the version of boostopt and the digest of the data.
    """

    folder: Path
    unit: Unit
    options: Options
    parameters: Chosen | None
    stamp: Mapping[str, str]

    def done(self) -> Line:
        """Do it and return its line."""
        began, busy = time.perf_counter(), time.process_time()
        part = part_of(self.folder, self.unit, self.options.folds)
        if self.parameters is None:
            measurement: dict[str, Any] = {"errors": errors_on_grids(part, self.options)}
        else:
            measurement = {"chosen": self.parameters, "outcomes": outcomes(part, self.options, self.parameters)}
        took = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - busy}
        return {"unit": self.unit, **self.stamp, **measurement, **took}


@dataclass(frozen=True, eq=False)
class Work:
    """All that is to be done, and what of it is done.

    Attributes
    ----------
    folder
        The folder of the data sets.
    rows
        Sets and kinds of splits, in their order.
    options
        The options of the measurement.
    ledger
        The finished units.
    version
        Of boostopt, for new lines.
    digests
        Of the data, by set.
    """

    folder: Path
    rows: Sequence[Rows]
    options: Options
    ledger: Ledger
    version: str
    digests: Mapping[str, str]

    @classmethod
    def load(cls, folder: Path, rows: Sequence[Rows], options: Options, resume: Path, any_version: bool) -> Work:
        """Open the file of finished units."""
        version = source_version()
        ledger = Ledger(resume, {"options": asdict(options), "grids": GRIDS}, None if any_version else version)
        return cls(folder, rows, options, ledger, version, {row.name: digest(folder, row.name) for row in rows})

    def line(self, unit: Unit, parameters: Chosen | None = None) -> Line | None:
        """Return the line of a unit if it is finished."""
        return self.ledger.finished(unit, self.digests[unit[0]], parameters)

    def folds(self, row: Rows) -> list[Line] | None:
        """Return the lines of all folds of a row; None while one is missing."""
        units = [unit for unit in row.units(self.options.selecting, self.options.folds) if unit[3] != WHOLE]
        lines = [self.line(unit) for unit in units]
        finished = [line for line in lines if line is not None]
        return finished if len(finished) == len(units) else None

    def choose_parameters(self, row: Rows) -> Chosen | None:
        """Return the values that the folds of a row choose; None while one is missing."""
        lines = self.folds(row)
        return None if lines is None else selected(lines)

    def splits(self, row: Rows) -> list[Line]:
        """Return the lines of the splits of a row that are finished with the values that are chosen now."""
        parameters = self.choose_parameters(row)
        if parameters is None:
            return []
        lines = [self.line((row.name, row.kind, split, WHOLE), parameters) for split in range(row.splits)]
        return [line for line in lines if line is not None]

    def open(self) -> Iterator[Job]:
        """Yield what is not finished and can be done now."""
        for row in self.rows:
            parameters = self.choose_parameters(row)
            stamp = {"version": self.version, "data": self.digests[row.name]}
            for unit in row.units(self.options.selecting, self.options.folds):
                values = parameters if unit[3] == WHOLE else None
                possible = unit[3] != WHOLE or parameters is not None
                if possible and self.line(unit, values) is None:
                    yield Job(self.folder, unit, self.options, values, stamp)

    def run(self, processes: int, budget: float) -> None:
        """Do what is open in processes of their own; begin nothing after `budget` seconds."""
        end = time.monotonic() + budget
        under_way = dict[Future[Line], Unit]()
        with ProcessPoolExecutor(processes, get_context("spawn"), initializer=end_with_parent) as executor:
            while True:
                busy = set(under_way.values())
                waiting = (job for job in self.open() if job.unit not in busy)
                while len(under_way) < processes and time.monotonic() < end and (job := next(waiting, None)):
                    under_way[executor.submit(job.done)] = job.unit
                if not under_way:
                    return
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    line = future.result()
                    del under_way[future]
                    self.ledger.write(line)
                    print(_format_line(line), file=sys.stderr, flush=True)


def selected(lines: Sequence[Mapping[str, Any]]) -> Chosen:
    """Return for each method and axis the median over the splits of the values with the smallest mean error.

    Of equally good points the first, the most regularized, is taken; of an even number of splits the lower median of
    the positions in the grid.
    """
    splits = sorted({line["unit"][2] for line in lines})
    parameters = Chosen()
    for method, axes in GRIDS.items():
        best = list[tuple[int, ...]]()
        for split in splits:
            errors = np.mean([line["errors"][method] for line in lines if line["unit"][2] == split], axis=0)
            assert len(errors) == len(points(method))
            # Equal errors are equal whatever the order in which they were summed.
            errors = np.round(errors, 12)
            shape = tuple(len(values) for values in axes.values())
            best.append(tuple(int(k) for k in np.unravel_index(int(np.argmin(errors)), shape)))
        middle = [sorted(positions)[(len(splits) - 1) // 2] for positions in zip(*best, strict=True)]
        parameters[method] = tuple(values[k] for values, k in zip(axes.values(), middle, strict=True))
    return parameters


def end_with_parent() -> None:
    """End this process when its parent is gone: a killed run leaves nothing behind."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        _exit(1)

    Thread(target=watch, daemon=True).start()


def _format_line(line: Line) -> str:
    """Return what is reported of a finished unit."""
    name, kind, split, fold = line["unit"]
    unit_text = f"split {split + 1}" if fold == WHOLE else f"split {split + 1}, fold {fold + 1}"
    return f"{name} ({kind}), {unit_text}: {line['seconds']:.1f} s ({line['cpu']:.1f} s of a core)"
