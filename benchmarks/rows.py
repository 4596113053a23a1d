"""The time and memory of the oracles of stumps, to make and to query: python benchmarks/rows.py [N features].

Each in a process of its own; seconds of the processor, memory beyond the data.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt.oracles import BinnedStumps, DecisionStumps, Query

KINDS: dict[str, Callable[..., Any]] = {
    "DecisionStumps": DecisionStumps,
    "BinnedStumps": BinnedStumps,
    "BinnedStumps, bins=65536": lambda X, y: BinnedStumps(X, y, bins=65_536),
    "BinnedStumps, codes in a file": lambda X, y: BinnedStumps(X, y, codes="build/codes.npy"),
}
HEADER = (
    "| what | construction, s | MB | query, s | with 9 of 10 weights 0 | MB |\n| --- | --: | --: | --: | --: | --: |"
)


def measured(kind: str, N: int, features: int) -> str:
    """Return a row of the table."""
    rng = np.random.default_rng(0)
    X, d = rng.normal(size=(N, features)), rng.random(N) / N
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0, 1, -1)
    few, initial_peak = np.where(rng.random(N) < 0.1, d, 0.0), _peak()
    with limit_blas_threads():
        start = time.process_time()
        oracle = KINDS[kind](X, y)
        seconds, megabytes = time.process_time() - start, _peak() - initial_peak
        query_seconds, sparse_seconds = min(_query_seconds(oracle, d) for _ in range(3)), _query_seconds(oracle, few)
        peak = _peak() - initial_peak
        cells = f"{seconds:.2f} | {megabytes:.0f} | {query_seconds:.3f} | {sparse_seconds:.3f} | {peak:.0f}"
        return f"| {kind} | {cells} |"


def _query_seconds(oracle: Any, d: np.ndarray) -> float:
    start = time.process_time()
    oracle.best(Query(d))
    return time.process_time() - start


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    N, features = sys.argv[1:] or ("1000000", "20")
    print(f"N = {N}, {features} features, all values different\n\n{HEADER}")
    for kind in KINDS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measured, (kind, int(N), int(features))), flush=True)
