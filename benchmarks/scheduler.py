"""The overhead of a data pass on a cluster: python benchmarks/scheduler.py [--workers 10 100 300 1000].

The workers have few rows, and the messages have the size that they have with many rows: 28 features of 256 codes. All
workers share one process, and communicate by sockets as on a cluster. The driver and the scheduler share the process of
the benchmark, which reports its processor seconds. The wall time includes the work of all simulated workers, which a
cluster does in parallel.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import multiprocessing
import os
import pickle
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from statistics import median
from typing import Any

import numpy as np
from dask import config
from distributed import Client, LocalCluster, Worker, wait

from boostopt.rows.binned_rows import sum_of
from boostopt.rows.dask_rows import DaskRows
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, MarginGrid
from boostopt.rows.row_block import RowBlock, Split

FEATURES, CODES, HYPOTHESES, ROWS = 28, 256, 100, 64
REPEATS = 3
WORKERS = (10, 100, 300, 1000)

# Each worker would watch the whole process else.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}


class Counted(DaskRows):
    """Rows on a cluster that note how long pickled tasks and answers are, and what merging takes."""

    def __init__(self, *arguments: Any) -> None:
        self.sent, self.answered = defaultdict[str, int](int), defaultdict[str, int](int)
        self.merging = 0.0
        super().__init__(*arguments)

    def _submit(self, name: str, task: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
        self._name = name
        self.sent[name] = len(pickle.dumps(task))
        return super()._submit(name, task, *sequences)

    def _gather(self, futures: list[Any]) -> list[Any]:
        answers = super()._gather(futures)
        self.answered[self._name] = len(pickle.dumps(answers[0]))
        began = time.perf_counter()
        sum_of(answers)
        self.merging = time.perf_counter() - began
        return answers


async def serve(address: str, number: int, folder: str, stop: Any) -> None:
    """Be so many workers until it is time to stop."""
    async with AsyncExitStack() as open_ones:
        workers = [
            Worker(address, nthreads=1, name=k, memory_limit=0, dashboard=False, local_directory=folder)
            for k in range(number)
        ]
        for k in range(0, number, 50):
            await asyncio.gather(*map(open_ones.enter_async_context, workers[k : k + 50]))
        while not stop.is_set():
            await asyncio.sleep(0.5)


def workers_of(address: str, number: int, folder: str, stop: Any) -> None:
    """Run workers in this process."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with config.set(QUIET):
        asyncio.run(serve(address, number, folder, stop))


def part(k: int) -> RowBlock:
    """Return the rows of a worker."""
    rng = np.random.default_rng(k)
    codes = rng.integers(0, CODES, (FEATURES, ROWS), dtype=np.uint8)
    return RowBlock(codes, rng.choice(np.array([-1, 1], np.int8), ROWS))


def data_passes(rows: DaskRows) -> dict[str, Callable[[], Any]]:
    """Return the data passes of an evaluation, by name."""
    rng = np.random.default_rng(0)
    splits = [Split(k % FEATURES, int(rng.integers(0, CODES - 1)), 1) for k in range(HYPOTHESES)]
    W = np.full(HYPOTHESES, MARGIN_SCALE // HYPOTHESES)
    law, curved = rng.integers(0, 1 << 20, N_BINS + 2), rng.integers(0, 1 << 8, N_BINS + 2)
    margins = rows.margins(splits, W)
    wait(margins)
    return {
        "margins": lambda: wait(rows.margins(splits, W)),
        "counts": lambda: rows.histogram(margins, MarginGrid.full()),
        "edges": lambda: rows.class_edges(margins, MarginGrid.full(), law),
        "curvature": lambda: rows.gram(margins, MarginGrid.full(), curved, splits),
    }


def measured(number: int) -> list[str]:
    """Return rows of the table for a number of workers."""
    context = multiprocessing.get_context("spawn")
    stop, folder = context.Event(), tempfile.mkdtemp()
    how: dict[str, Any] = {"n_workers": 0, "processes": False, "protocol": "tcp://", "dashboard_address": ":0"}
    with config.set(QUIET), LocalCluster(host="127.0.0.1", **how) as cluster, Client(cluster) as open_one:
        client: Any = open_one  # typed as all that it may be, asynchronous clients included
        side = context.Process(target=workers_of, args=(client.scheduler.address, number, folder, stop))
        side.start()
        try:
            began = time.perf_counter()
            client.wait_for_workers(number, timeout=600)
            started = time.perf_counter() - began
            addresses = list(client.nthreads())
            parts = [client.submit(part, k, workers=[address]) for k, address in enumerate(addresses)]
            cuts = [np.arange(CODES - 1.0)] * FEATURES
            binned = BinnedFeatures.from_codes(np.empty((FEATURES, 0), np.uint8), cuts)
            rows = Counted(client, parts, [ROWS] * number, ROWS * number, binned)
            lines = [_line(number, name, ask, rows) for name, ask in data_passes(rows).items()]
            print(f"<!-- {number} workers took {started:.0f} s to start; {len(rows.shards)} shards -->", flush=True)
        finally:
            stop.set()
            side.join(60)
            if side.is_alive():
                side.kill()
    return lines


def _line(number: int, name: str, ask: Callable[[], Any], rows: Counted) -> str:
    """Make a data pass some times, and return a row of the table."""
    seconds, ours = list[float](), list[float]()
    rows.merging = 0.0
    for _ in range(REPEATS):
        began, initial = time.perf_counter(), time.process_time()
        ask()
        seconds.append(time.perf_counter() - began)
        ours.append(time.process_time() - initial)
    kernel = {"margins": "scores", "edges": "sums", "curvature": "gram"}.get(name, name)
    cells = (
        number,
        name,
        f"{median(seconds):.3f}",
        f"{median(ours):.3f}",
        f"{1e3 * median(ours) / number:.1f}",
        f"{rows.merging:.3f}",
        f"{rows.sent[kernel]:,}",
        f"{rows.answered[kernel]:,}",
        f"{1e-6 * number * rows.answered[kernel]:.1f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


HEADER = (
    "| workers | data pass | by the clock, s | driver and scheduler, s | ms a worker | merging, s | bytes to each "
    "| bytes from each | MB to the driver |\n| --: | --- | --: | --: | --: | --: | --: | --: | --: |"
)


def main() -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="how many are simulated")
    print(f"{FEATURES} features of {CODES} codes, {HYPOTHESES} hypotheses, {os.cpu_count()} cores\n\n{HEADER}")
    for number in options.parse_args().workers:
        for line in measured(number):
            print(line, flush=True)


if __name__ == "__main__":
    main()
