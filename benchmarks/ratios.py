"""A few ratios on small programs, by the time of the process, for a test that busy cores must not disturb."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

import numpy as np
from support.problems import noisy_stumps

from benchmarks import columns, masters
from boostopt import get_formulation

CASES = {
    "erlpboost": ({"nu": 300, "eta": 460}, "dual-rated"),
    "lpboost": ({"nu": 300}, "primal"),
    "qp_reg_adaboost": ({"C": 0.1}, "primal"),
}


def measured() -> dict[str, float]:
    """Return how many times longer the rivals take, and the share of U's memory that a solve takes above it."""
    masters.CLOCK = columns.CLOCK = time.process_time
    U, ratios = noisy_stumps(3000, 60)[:, ::2], dict[str, float]()
    for name, (parameters, form) in CASES.items():
        line = masters.against(name, get_formulation(name).bind(U, **parameters), "clarabel", (form,), 1.0, repeats=3)
        ratios[name] = line.theirs / line.ours
        ratios[f"{name}, gap"] = line.gap
    for nu, of_run in columns.measure(N=500, columns=25).items():
        ratios[f"columns, {nu}"] = of_run["ratio"]
    large = np.ascontiguousarray(noisy_stumps(20_000, 200), dtype=np.float64)
    ratios["memory"] = masters.peak_bytes(get_formulation("erlpboost").bind(large, nu=2000, eta=2e4)) / large.nbytes
    return ratios


if __name__ == "__main__":
    print(json.dumps(measured()))
