"""Histogram Newton on problems that are hard for it: python benchmarks/hard_histogram_newton.py.

Each problem has twenty thousand rows and is solved to two accuracies. The labels have little or no noise, few examples
have weight, the classes have 2 and 98 per cent of the rows, the features have two values, one feature determines the
label, or the labels are random (then the best soft margin is near 0). The table shows wall time and all evaluations,
those on samples included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from histogram_newton import examples

from boostopt import boost
from boostopt.oracles import BinnedStumps

ROWS, ACCURACIES = 20_000, (0.01, 0.001)


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """Yield a name, features, labels, and nu as a share of the rows."""
    rng = np.random.default_rng(5)
    X, y = examples(0, ROWS)
    score = X[:, 21] + 0.5 * X[:, 22] + np.abs(X[:, 3])
    clean = np.where(score > np.median(score), 1, -1)
    yield "no noise, nu = 0.1 N", X, clean, 0.1
    yield "no noise, nu = 0.02 N", X, clean, 0.02
    linear, weights = rng.normal(size=(ROWS, 10)), rng.random(10)
    side = linear @ weights
    yield "linear, nu = 0.1 N", linear, np.where(side > 0, 1, -1), 0.1
    has_distance = np.abs(side) > 0.8
    yield "linear with a gap, nu = 0.01 N", linear[has_distance], np.where(side > 0, 1, -1)[has_distance], 0.01
    rare = np.where(X[:, 21] > np.quantile(X[:, 21], 0.98), 1, -1)
    yield "two of a hundred", X, np.where(rng.random(ROWS) < 0.01, -rare, rare), 0.1
    bits = rng.integers(0, 2, (ROWS, 12)).astype(float)
    votes = bits @ rng.random(12) + 0.3 * rng.normal(size=ROWS)
    yield "features of two values", bits, np.where(votes > np.median(votes), 1, -1), 0.3
    yield "labels by chance", X, rng.choice([-1, 1], ROWS), 0.3
    yield "one feature says all", X, np.where(X[:, 1] > 0, 1, -1), 0.1
    yield "as in the big runs", X, y, 0.1


if __name__ == "__main__":
    print(
        "| problem | epsilon | evaluations | hypotheses | seconds | interval over the class |\n"
        "|---|--:|--:|--:|--:|---|"
    )
    for name, X, y, share in problems():
        oracle = BinnedStumps(X, y)
        for epsilon in ACCURACIES:
            start = time.perf_counter()
            run = boost("erlpboost", oracle, nu=share * len(y), epsilon=epsilon)
            seconds, certificate = time.perf_counter() - start, run.class_certificate
            interval = (
                f"[{certificate.lower:.7f}, {certificate.upper:.7f}]{'' if certificate.gap <= epsilon else ' SHORT'}"
            )
            count = len(run.evaluations)  # pyright: ignore[reportAttributeAccessIssue]
            print(f"| {name} | {epsilon} | {count} | {len(run.w)} | {seconds:.2f} | {interval} |", flush=True)
