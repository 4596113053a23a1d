"""Histogram Newton over many rows: python benchmarks/histogram_newton.py [N epsilon ...].

The random examples have 28 features. Some features have few values, some have heavy tails, and seven depend on the
label. Three of a hundred labels are wrong. Each run has its own process. The table shows processor seconds, and the
largest memory of the process while it boosts, libraries and codes included (Linux).
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from pathlib import Path

import numpy as np

from boostopt import boost
from boostopt.oracles import BinnedStumps

FEATURES, ROWS = 28, 1_000_000
WHERE = Path("build")
RUNS = (("1000000", "0.01"), ("1000000", "0.001"), ("10000000", "0.003"))
HEADER = (
    "| N | epsilon | encoding, s | boosting, s | evaluations on all rows, on samples | hypotheses | MB "
    "| interval over the class |\n| --: | --: | --: | --: | --: | --: | --: | --- |"
)


def examples(part: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a part. They depend on the part and its rows only."""
    rng = np.random.default_rng([0, part])
    X = rng.standard_normal((rows, FEATURES), dtype=np.float32)
    z = X[:, :21].copy()
    X[:, 0:21:5] = np.abs(z[:, 0:21:5]) ** 1.5
    X[:, (8, 12)] = np.clip(np.floor(np.abs(z[:, (8, 12)]) * 1.5), 0, 2)
    score = 0.9 * z[:, 1] + 0.7 * np.tanh(2 * z[:, 2]) + 0.5 * np.abs(z[:, 3]) + 0.6 * (z[:, 4] > 0.5)
    score += (
        0.4 * z[:, 6] * z[:, 7] + 0.3 * np.sin(3 * z[:, 9]) + 0.5 * X[:, 8] + 0.35 * z[:, 10] * np.abs(z[:, 11]) - 0.9
    )
    for j in range(7):
        X[:, 21 + j] = score + (1.2 + 0.4 * j) * X[:, 21 + j]
    y = np.where(score + 0.15 * rng.standard_normal(rows) > 0.2, 1, -1).astype(np.int8)
    return X, np.where(rng.random(rows) < 0.03, -y, y).astype(np.int8)


def store_examples(N: int) -> tuple[np.ndarray, np.ndarray]:
    """Write the features to a file; return them, memory-mapped, and the labels."""
    WHERE.mkdir(exist_ok=True)
    file = WHERE / f"histogram-newton-{N}.npy"
    X = np.lib.format.open_memmap(file, "w+", np.float32, (N, FEATURES))
    y = np.empty(N, np.int8)
    for part, i in enumerate(range(0, N, ROWS)):
        X[i : i + ROWS], y[i : i + ROWS] = examples(part, min(ROWS, N - i))
    X.flush()
    return np.load(file, mmap_mode="r"), y


def measure(N: int, epsilon: float, share: float) -> str:
    """Return a row of the table."""
    X, y = store_examples(N)
    start = time.process_time()
    oracle = BinnedStumps(X, y)
    del X
    encoding_seconds = time.process_time() - start
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    start = time.process_time()
    run = boost("erlpboost", oracle, nu=share * N, epsilon=epsilon, update="newton")
    seconds, certificate = time.process_time() - start, run.class_certificate
    n_sampled = len(run.evaluations) - run.rounds  # pyright: ignore[reportAttributeAccessIssue]
    interval = f"[{certificate.lower:.7f}, {certificate.upper:.7f}]"
    row = (
        N,
        epsilon,
        f"{encoding_seconds:.1f}",
        f"{seconds:.2f}",
        f"{run.rounds}, {n_sampled}",
        len(run.w),
        f"{_peak_megabytes():.0f}",
        interval,
    )
    return f"| {' | '.join(map(str, row))} |"


def _peak_megabytes() -> float:
    """Return the peak of the memory since the last reset, in megabytes."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return float(status["VmHWM"].split()[0]) / 1024


if __name__ == "__main__":
    arguments = sys.argv[1:]
    runs = RUNS if not arguments else tuple(zip(arguments[::2], arguments[1::2], strict=True))
    print(f"{FEATURES} features, nu = N / 2\n\n{HEADER}")
    for N, epsilon in runs:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measure, (int(N), float(epsilon), 0.5)), flush=True)
