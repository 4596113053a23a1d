"""Seconds of `interior` with a formula over those with the class that it equals, N = 5000, t = 50.

The solves are interleaved and the medians compared: on a busy machine only the quotient says something.

    python benchmarks/formulas.py [--repeats 9]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

import numpy as np
from support.named_formulas import TWINS, formula_of

from boostopt.authoring import prototype

N, T, NU, ETA = 5000, 50, 500.0, 1000.0


def margins() -> np.ndarray:
    """Hypotheses of different strengths, and a tenth of the examples with the wrong label."""
    rng = np.random.default_rng(0)
    right = rng.random((N, T)) < rng.uniform(0.55, 0.75, T)
    return np.where(right, 1.0, -1.0) * np.where(rng.random((N, 1)) < 0.1, -1.0, 1.0)


def quotient(name: str, repeats: int) -> tuple[float, float, float]:
    """Return the median seconds by hand and by formula, and how far the certified optima are apart."""
    U, d0 = margins(), np.random.default_rng(1).dirichlet(np.full(N, 20.0))
    regularizer = TWINS[name][0]
    programs = [
        prototype("by hand", lambda p, e: regularizer(e.c, NU, ETA, e.d0)).bind(U, d0=d0),
        prototype("formula", lambda p, e: formula_of(name, e.c, NU, ETA, e.d0)).bind(U, d0=d0),
    ]
    seconds: tuple[list[float], list[float]] = ([], [])
    uppers = [0.0, 0.0]
    for _ in range(repeats):
        for k, program in enumerate(programs):
            began = time.perf_counter()
            uppers[k] = program.solve("interior", tol=1e-8).certificate.upper
            seconds[k].append(time.perf_counter() - began)
    return statistics.median(seconds[0]), statistics.median(seconds[1]), abs(uppers[0] - uppers[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    print(f"{'formula':18} {'by hand':>9} {'formula':>9} {'quotient':>9} {'apart':>9}")
    for name in TWINS:
        by_hand, formula, difference = quotient(name, repeats)
        print(f"{name:18} {by_hand:9.4f} {formula:9.4f} {formula / by_hand:9.2f} {difference:9.1e}")


if __name__ == "__main__":
    main()
