"""Some finished units are done again, by chance, and compared with what is stored: `--recheck SHARE`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import key
from benchmarks.evidence.running import Work, done
from benchmarks.ida_work import end_with_parent

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""Numbers this close are the same: pages print no more digits, and another order of sums makes other last ones."""


@dataclass(eq=False)
class Rechecked:
    """The results of the units of an experiment that were repeated.

    Attributes
    ----------
    unit_count, seconds
        The number of its units, and their time, in seconds of a core.
    again, stored_seconds, now
        The number of repeated units, and their time when they were stored and now, in seconds of a core.
    differences
        For each unit with another result, its parameters and the first place with the stored and the new value.
    """

    unit_count: int
    seconds: float
    again: int = 0
    stored_seconds: float = 0.0
    now: float = 0.0
    differences: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def whole(self) -> float:
        """Seconds of a core that all units would take now, at the ratio of those done again."""
        return self.seconds * (self.now / self.stored_seconds if self.stored_seconds else 1.0)


def recheck(work: Work, share: float, random_state: int, processes: int) -> Iterator[tuple[str, Rechecked]]:
    """Do a share of the finished units again, at least one an experiment; nothing is stored.

    Parameters
    ----------
    work
        Whose units these are; an experiment whose data are missing is left out.
    share
        In (0, 1].
    random_state
        Draws the units.
    processes
        How many are done at the same time; with 0 they are done one by one in this process.

    Yields
    ------
    The name of an experiment and what came of it, when its last unit is done.
    """
    generator = np.random.default_rng(random_state)
    with _executor(processes) as pool:
        for experiment in work.experiments:
            results = work.results[experiment.name]
            if experiment.missing or not len(results):
                continue
            lines = results.lines
            sample = generator.choice(len(lines), max(1, math.ceil(share * len(lines))), replace=False)
            result = Rechecked(len(lines), results.seconds)
            jobs = {
                pool.submit(done, experiment.work, lines[k]["parameters"], experiment.digest): lines[k] for k in sample
            }
            for future in as_completed(jobs):
                old_line, now = jobs[future], future.result()
                result.again += 1
                result.stored_seconds += old_line["cpu"]
                result.now += now["cpu"]
                if difference := next(differences(old_line["result"], now["result"]), None):
                    result.differences[key(old_line["parameters"])] = difference
            yield experiment.name, result


def _executor(processes: int) -> Executor:
    """Return what does units: so many new processes, or a thread of this one."""
    if processes:
        return ProcessPoolExecutor(processes, get_context("spawn"), initializer=end_with_parent)
    return ThreadPoolExecutor(1)


def differences(old: Any, now: Any, place: str = "result") -> Iterator[str]:
    """Yield the places in which two results differ, with what stands there; seconds may differ."""
    if isinstance(old, Mapping) and isinstance(now, Mapping) and old.keys() == now.keys():
        for name in old:
            if name != "seconds":
                yield from differences(old[name], now[name], f"{place}.{name}")
    elif isinstance(old, list) and isinstance(now, list) and len(old) == len(now):
        for k, (one, new_item) in enumerate(zip(old, now, strict=True)):
            yield from differences(one, new_item, f"{place}[{k}]")
    elif isinstance(old, float) and isinstance(now, float):
        if not math.isclose(old, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"{place}: {old!r} is stored, {now!r} came"
    elif old != now:
        yield f"{place}: {_short(old)} is stored, {_short(now)} came"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
