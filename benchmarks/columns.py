"""LPBoost, one column after another: HiGHS that lives through the run against CVXPY and HiGHS rebuilt each round.

The columns are those that LPBoost itself asks for: each round the stump of a pool, negations included, with the largest
edge under the weights that the incremental backend has found. The rival then solves the same programs, each from
nothing. Both are asked for the same certified gap and are given all examples, equal ones too; seconds are those of
whole solves, modelling and certificate included. Read the ratios: both ran in turns on the same machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

import numpy as np
from support.problems import noisy_stumps

from boostopt import Solution, get_backend, get_formulation, solve
from boostopt.rows.margin_matrix import MarginMatrix

CLOCK = time.perf_counter
"""The clock. A test on busy cores uses the time of the process instead."""

INCREMENTAL, REBUILT = "highs", "cvxpy:highs"
SHARES = (0.1, 0.3)
POOL = 4000
TOL = 1e-8


def measure(N: int = 2000, columns: int = 100, rival_every: int = 1, seed: int = 1) -> dict[str, Any]:
    """Return for each nu the seconds of both, their ratio, and the largest certified gap of either.

    Parameters
    ----------
    N, columns
        Examples, and columns that join one by one.
    rival_every
        The rival solves every so many rounds only, and its seconds are multiplied by as much.
    seed
        Of the data and the pool.
    """
    pool = noisy_stumps(N, POOL, seed)
    lpboost = get_formulation("lpboost")
    lpboost.bind(pool[:, :2], nu=1).solve(REBUILT)  # the libraries are loaded
    lpboost.bind(pool[:, :2], nu=1).solve(INCREMENTAL)
    return {f"nu = {share:g} N": _run(pool, share * N, columns, rival_every) for share in SHARES}


def _run(pool: np.ndarray, nu: float, columns: int, rival_every: int) -> dict[str, Any]:
    lpboost, edges = get_formulation("lpboost"), pool.sum(axis=0, dtype=np.int64)
    margins, answer = MarginMatrix(pool[:, [int(np.argmax(edges))]]), None
    seconds, gaps = {INCREMENTAL: 0.0, REBUILT: 0.0}, {INCREMENTAL: 0.0, REBUILT: 0.0}
    backends, iterations = {name: get_backend(name) for name in seconds}, 0

    def timed(backend: str, start: Solution | None) -> tuple[Solution, float]:
        began = CLOCK()
        solution = solve(lpboost.bind(margins, nu=nu), backends[backend], tol=TOL, start=start, merge=False)
        gaps[backend] = max(gaps[backend], solution.certificate.scaled_gap)
        return solution, CLOCK() - began

    for t in range(1, columns + 1):
        answer, spent = timed(INCREMENTAL, answer)
        seconds[INCREMENTAL] += spent
        iterations += answer.iterations or 0
        if t % rival_every == 0:
            rival, spent = timed(REBUILT, None)
            seconds[REBUILT] += spent * rival_every
            assert rival.certificate.overlaps(answer.certificate)
        margins = margins.append(pool[:, int(np.argmax(pool.T @ answer.d))])
    return {
        "incremental_seconds": seconds[INCREMENTAL],
        "rebuilt_seconds": seconds[REBUILT],
        "ratio": seconds[REBUILT] / seconds[INCREMENTAL],
        "incremental_iterations": iterations,
        "incremental_worst_gap": gaps[INCREMENTAL],
        "rebuilt_worst_gap": gaps[REBUILT],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--N", type=int, default=2000)
    options.add_argument("--columns", type=int, default=100)
    options.add_argument("--rival-every", type=int, default=1)
    print(json.dumps(measure(**vars(options.parse_args())), indent=2))


if __name__ == "__main__":
    main()
