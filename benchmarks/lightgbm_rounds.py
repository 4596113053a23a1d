"""Certified runs beside rounds of LightGBM: python benchmarks/lightgbm_rounds.py [ROWS ...] [--epsilon E ...].

Eleven kinds of examples with 20 features, 255 bins, one thread. Each row of the table is measured in a process of its
own: coding beside LightGBM's dataset, then a run until its gap is epsilon beside ten rounds of LightGBM with stumps on
the same examples. Seconds are processor seconds. The memory is the largest of the process while it codes and boosts,
libraries and features included (Linux). Without LightGBM, its columns are empty: `pip install lightgbm`.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from boostopt import boost
from boostopt.oracles import BinnedStumps

FEATURES, BINS, ROUNDS = 20, 255, 10
HEADER = (
    "| examples | N | epsilon | coding, s | / dataset | run, s | / round | passes, samples | hypotheses | gap | MB |\n"
    "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
)


@dataclass(frozen=True)
class Kind:
    """A kind of examples.

    Attributes
    ----------
    features
        The features of normal numbers, shape (N, FEATURES).
    noise
        The standard deviation of the noise in the score. The score is the sum of three of the normal numbers.
    nu
        nu as a share of N.
    positives
        The share of the examples with label 1.
    """

    features: Callable[[np.ndarray], np.ndarray]
    noise: float = 1.0
    nu: float = 0.3
    positives: float = 0.5


def quantile_codes(levels: int, dtype: type, normal: np.ndarray) -> np.ndarray:
    """Return numbers from 0 to levels - 1 that increase with normal numbers, all about equally often."""
    ranks = 0.5 * (1.0 + np.tanh(0.8 * normal))  # near the distribution function, and fast
    return np.minimum(levels * ranks, levels - 1).astype(dtype)


def duplicates(normal: np.ndarray) -> np.ndarray:
    """Return few different examples: each number is -1, 0 or 1, and features from the fifth on are 0."""
    X = np.clip(np.rint(normal), -1.0, 1.0)
    X[:, 4:] = 0.0
    return X


def with_constants(normal: np.ndarray) -> np.ndarray:
    """Return features of which three quarters are constant."""
    X = normal.copy()
    X[:, 5:] = 1.0
    return X


KINDS: Mapping[str, Kind] = {
    "strong signal": Kind(np.copy, noise=0.3),
    "weak signal": Kind(np.copy, noise=5.0, nu=0.6),
    "optimum near 0": Kind(np.copy, noise=2.0, nu=0.1),
    "duplicates": Kind(duplicates),
    "1 % positives": Kind(np.copy, positives=0.01, nu=0.02),
    "constants": Kind(with_constants),
    "65,536 values": Kind(partial(quantile_codes, 65_536, np.float64)),
    "float16": Kind(lambda normal: normal.astype(np.float16)),
    "Booleans": Kind(lambda normal: normal > 0.0),
    "uint8": Kind(partial(quantile_codes, 256, np.uint8)),
    "Cauchy": Kind(lambda normal: normal / np.roll(normal, 1, axis=0)),
}


def examples(kind: Kind, N: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels -1 and 1 of a kind."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((N, FEATURES))
    score = normal[:, 0] + normal[:, 1] + np.abs(normal[:, 2]) + kind.noise * rng.standard_normal(N)
    return kind.features(normal), np.where(score > np.quantile(score, 1.0 - kind.positives), 1, -1)


def processor_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of some work, and its result.

    Python's collector visits the objects of all libraries first, which takes 0.05 to 0.1 s: otherwise the visit is due
    within some work or other, whatever its allocations.
    """
    gc.collect()
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def lightgbm_seconds(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the processor seconds of LightGBM's dataset, and of one of ten rounds with stumps."""
    lightgbm: Any = import_module("lightgbm")
    options = {"objective": "binary", "num_leaves": 2, "max_bin": BINS, "num_threads": 1, "verbose": -1}
    numbers = X.astype(np.float32) if X.dtype.itemsize <= 2 and X.dtype.kind in "bf" else X
    dataset = lightgbm.Dataset(numbers, (y + 1) / 2, params=options)
    dataset_seconds, _ = processor_seconds(dataset.construct)
    rounds_seconds, _ = processor_seconds(lambda: lightgbm.train(options, dataset, ROUNDS))
    return dataset_seconds, rounds_seconds / ROUNDS


def measure(name: str, N: int, epsilon: float) -> str:
    """Return a row of the table."""
    kind = KINDS[name]
    X, y = examples(kind, N)
    has_lightgbm = find_spec("lightgbm") is not None
    dataset_seconds, round_seconds = lightgbm_seconds(X, y) if has_lightgbm else (np.nan, np.nan)
    boost("erlpboost", BinnedStumps(*examples(kind, 500)), nu=150.0, epsilon=0.1, update="newton")  # loads all modules
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    coding_seconds, oracle = processor_seconds(lambda: BinnedStumps(X, y, bins=BINS))
    seconds, run = processor_seconds(
        lambda: boost("erlpboost", oracle, nu=kind.nu * N, epsilon=epsilon, update="newton")
    )
    ratios = (coding_seconds / dataset_seconds, seconds / round_seconds)
    row = (
        name,
        N,
        f"{epsilon:g}",
        f"{coding_seconds:.3f}",
        f"{ratios[0]:.2f}" if has_lightgbm else "",
        f"{seconds:.2f}",
        f"{ratios[1]:.1f}" if has_lightgbm else "",
        f"{run.rounds}, {len(run.evaluations) - run.rounds}",
        len(run.w),
        f"{run.class_certificate.gap:.2g}",
        f"{_peak_megabytes():.0f}",
    )
    return f"| {' | '.join(map(str, row))} |"


def _peak_megabytes() -> float:
    """Return the peak of the memory since the last reset, in megabytes."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return float(status["VmHWM"].split()[0]) / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one row after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=int, default=[100_000, 1_000_000, 4_000_000], help="numbers of rows")
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.01, 0.001], help="gaps of the runs")
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        default=list(KINDS),
        metavar="KIND",
        help="; ".join(KINDS).replace("%", "%%"),
    )
    options = parser.parse_args(arguments)
    if find_spec("lightgbm") is None:
        print("LightGBM is not installed, so its columns are empty: pip install lightgbm.\n")
    print(
        f"{FEATURES} features, {BINS} bins, one thread; a round is one of {ROUNDS} of LightGBM with stumps\n\n{HEADER}"
    )
    for name in options.kinds:
        for N in options.rows:
            for epsilon in options.epsilon:
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print(pool.apply(measure, (name, N, epsilon)), flush=True)


if __name__ == "__main__":
    main()
