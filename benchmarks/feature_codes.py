"""Seconds of coding features, beside the dataset of LightGBM: python benchmarks/feature_codes.py [ROWS].

Ten kinds of features, 20 features each, 255 bins, one thread. Processor seconds, the least of three; both take turns in
one process. Needs `pip install lightgbm`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from boostopt.oracles import BinnedStumps

FEATURES, BINS, REPEATS = 20, 255, 3


def kinds_of_features(n: int) -> dict[str, np.ndarray]:
    """Return examples of each kind of features."""
    rng = np.random.default_rng(0)
    shape = (n, FEATURES)
    normal, scales = rng.standard_normal(shape), rng.random(shape) < 0.5
    return {
        "normal": normal,
        "normal, float32": normal.astype(np.float32),
        "normal, float16": normal.astype(np.float16),
        "large offset": 1e6 + normal,
        "Cauchy": rng.standard_cauchy(shape),
        "lognormal": np.exp(5 * normal),
        "two scales": np.where(scales, 1e-3, 1e3) * normal,
        "40 values": rng.integers(0, 40, shape).astype(float),
        "uint8": rng.integers(0, 256, shape).astype(np.uint8),
        "65,536 values": rng.integers(0, 65_536, shape).astype(float),
    }


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(n: int) -> None:
    lightgbm: Any = import_module("lightgbm")
    y = np.random.default_rng(1).choice([-1, 1], n)
    options = {"max_bin": BINS, "num_threads": 1, "verbose": -1}
    print(f"{n} rows, {FEATURES} features: seconds, and their ratio")
    for kind, X in kinds_of_features(n).items():
        boostopt_seconds, lightgbm_seconds = [], []
        for _ in range(REPEATS):
            boostopt_seconds.append(processor_seconds(lambda X=X: BinnedStumps(X, y, bins=BINS)))
            labels = (y + 1) / 2
            dataset = lightgbm.Dataset(X.astype(np.float32) if X.dtype == np.float16 else X, labels, params=options)
            lightgbm_seconds.append(processor_seconds(dataset.construct))
        first, second = min(boostopt_seconds), min(lightgbm_seconds)
        print(f"{kind:16s} {first:7.3f} {second:7.3f} {first / second:5.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300_000)
