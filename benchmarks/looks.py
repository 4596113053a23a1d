"""Boosting by looks at many rows: python benchmarks/looks.py [N epsilon ...].

Made-up examples of 28 features, some of few values, some of heavy tails, seven that tell of the label; three of a
hundred labels are wrong. Each run in a process of its own; seconds by the clock, and the most memory that the process
had while it boosted, libraries and codes included (Linux).
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
    "| N | epsilon | coded, s | boosted, s | looks at all rows, at samples | hypotheses | MB "
    "| interval over the class |\n| --: | --: | --: | --: | --: | --: | --: | --- |"
)


def examples(part: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a part, the same whatever else is made."""
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


def made(N: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features, mapped, and the labels."""
    WHERE.mkdir(exist_ok=True)
    file = WHERE / f"looks-{N}.npy"
    X = np.lib.format.open_memmap(file, "w+", np.float32, (N, FEATURES))
    y = np.empty(N, np.int8)
    for part, i in enumerate(range(0, N, ROWS)):
        X[i : i + ROWS], y[i : i + ROWS] = examples(part, min(ROWS, N - i))
    X.flush()
    return np.load(file, mmap_mode="r"), y


def measured(N: int, epsilon: float, share: float) -> str:
    """Return a row of the table."""
    X, y = made(N)
    began = time.perf_counter()
    oracle = BinnedStumps(X, y)
    del X
    coded = time.perf_counter() - began
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    began = time.perf_counter()
    run = boost("erlpboost", oracle, nu=share * N, epsilon=epsilon, update="newton")
    seconds, proof = time.perf_counter() - began, run.class_certificate
    sampled = len(run.evaluations) - run.rounds  # pyright: ignore[reportAttributeAccessIssue]
    ends = f"[{proof.lower:.7f}, {proof.upper:.7f}]"
    row = (
        N,
        epsilon,
        f"{coded:.1f}",
        f"{seconds:.2f}",
        f"{run.rounds}, {sampled}",
        len(run.w),
        f"{_peak():.0f}",
        ends,
    )
    return f"| {' | '.join(map(str, row))} |"


def _peak() -> float:
    """Return the most megabytes that were in the memory since the peak was set back."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return float(status["VmHWM"].split()[0]) / 1024


if __name__ == "__main__":
    given = sys.argv[1:]
    runs = RUNS if not given else tuple(zip(given[::2], given[1::2], strict=True))
    print(f"{FEATURES} features, nu = N / 2\n\n{HEADER}")
    for N, epsilon in runs:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measured, (int(N), float(epsilon), 0.5)), flush=True)
