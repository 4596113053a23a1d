"""Units are done in processes of their own, journaled as they are finished, and kept when nothing is left to begin."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.evidence.experiment import Experiment, Parameters, Results, key
from benchmarks.evidence.store import Journal, keep, load
from benchmarks.ida_work import end_with_parent
from boostopt._utils.environment import environment_info, source_version
from boostopt._utils.json_values import plain


@dataclass(frozen=True, eq=False)
class Work:
    """The units of some experiments, with those that are finished.

    Attributes
    ----------
    experiments
        In the order in which they are begun.
    results_folder
        The folder of finished units.
    journals
        The folder of the units that are not in the results folder yet.
    quick
        Whether units are of reduced size.
    results
        Of each experiment.
    """

    experiments: Sequence[Experiment]
    results_folder: Path
    journals: Path
    quick: bool
    results: dict[str, Results]

    @classmethod
    def load(
        cls, experiments: Sequence[Experiment], results_folder: Path, journals: Path, quick: bool, again: bool
    ) -> Work:
        """Open what is finished; with `again` what is kept is made anew, and so is what was made from other data."""
        results = dict[str, Results]()
        for experiment in experiments:
            lines = [] if again else load(results_folder, experiment.name).lines
            lines += Journal(journals, experiment.name).lines()
            # Where the data are not there nothing can be made anew.
            valid_lines = [line for line in lines if experiment.missing or line["data"] == experiment.digest]
            if len(valid_lines) < len(lines):
                print(
                    f"{experiment.name}: {len(lines) - len(valid_lines)} units were made from other data.",
                    file=sys.stderr,
                )
            results[experiment.name] = Results(valid_lines)
        return cls(experiments, results_folder, journals, quick, results)

    def open(self) -> Iterator[tuple[Experiment, Parameters]]:
        """Yield the units that are not finished and can be done now."""
        for experiment in self.experiments:
            if experiment.missing:
                continue
            done = self.results[experiment.name]
            for parameters in experiment.units(self.quick, done):
                if parameters not in done:
                    yield experiment, parameters

    def run(self, processes: int, budget: float) -> int:
        """Do what is open; begin nothing after `budget` seconds; return how many units are left."""
        for experiment in self.experiments:
            if experiment.missing:
                print(f"{experiment.name} is left out: {', '.join(experiment.missing)} missing.", file=sys.stderr)
        end = time.monotonic() + budget
        under_way = dict[Future[dict[str, Any]], tuple[Experiment, Parameters]]()
        context = get_context("spawn")
        with ProcessPoolExecutor(processes, context, initializer=end_with_parent, max_tasks_per_child=8) as pool:
            while True:
                busy = {(experiment.name, key(parameters)) for experiment, parameters in under_way.values()}
                waiting = ((e, p) for e, p in self.open() if (e.name, key(p)) not in busy)
                while len(under_way) < processes and time.monotonic() < end and (job := next(waiting, None)):
                    experiment, parameters = job
                    under_way[pool.submit(done, experiment.work, parameters, experiment.digest)] = job
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    experiment, parameters = under_way.pop(future)
                    line = future.result()
                    Journal(self.journals, experiment.name).write(line)
                    self.results[experiment.name].add(line)
                    print(f"{experiment.name} {key(parameters)}: {line['seconds']:.1f} s", file=sys.stderr, flush=True)
        self.keep()
        return sum(1 for _ in self.open())

    def keep(self) -> None:
        """Keep what is finished, and end the journals."""
        for experiment in self.experiments:
            if len(self.results[experiment.name]):
                keep(self.results_folder, experiment.name, self.results[experiment.name])
                Journal(self.journals, experiment.name).end()


def done(work: Callable[..., Mapping[str, Any]], parameters: Parameters, digest: str) -> dict[str, Any]:
    """Do a unit of an experiment and return its line, which has the digest of the data."""
    began, busy = time.perf_counter(), time.process_time()
    result = work(**parameters)
    line = {
        "parameters": parameters,
        "result": result,
        "seconds": round(time.perf_counter() - began, 3),
        "cpu": round(time.process_time() - busy, 3),
        "version": source_version(),
        "data": digest,
        "processor": environment_info()["cpu"],
    }
    # As a file has it: no page depends on whether the units were run or read.
    return json.loads(json.dumps(plain(line), sort_keys=True))
