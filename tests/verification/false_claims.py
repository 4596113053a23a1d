"""False claims of every kind, for the exact verification: intervals that do not contain the optimum, wrong outcomes.

As a script: `python tests/verification/false_claims.py 1000`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from support.certificate_files import CASES, document, judged


def nearby_weights(values: list[float], rng: np.random.Generator) -> list[float]:
    """Return weights near some weights, with the same sum: they prove something else."""
    x = np.array(values)
    if rng.random() < 0.3:
        return values
    weights = np.maximum(x * np.exp(float(rng.choice([1e-14, 1e-9, 1e-3, 1.0])) * rng.normal(size=len(x))), 0.0)
    total = float(weights.sum())
    return (weights * (float(x.sum()) / total)).tolist() if total > 0 else values


def false_claim(case: str, rng: np.random.Generator, truth: tuple[float, float]) -> Any:
    """Return a document whose claim is false."""
    file_document = document(case)
    if case == "infeasible":
        file_document["claim"]["excess"] *= 1 + float(10.0 ** rng.uniform(-12, 3))
        file_document["arrays"]["w"] = nearby_weights(file_document["arrays"]["w"], rng)
        # The largest excess over all directions may be larger than the one proved: none is larger than 2.
        file_document["claim"]["excess"] = max(file_document["claim"]["excess"], 2.5)
        return file_document
    if case == "bounded" and rng.random() < 0.3:
        file_document["claim"] = {"outcome": "infeasible", "excess": float(10.0 ** rng.uniform(-15, 0))}
        del file_document["arrays"]["d"]
        file_document["arrays"]["w"] = nearby_weights(file_document["arrays"]["w"], rng)
        file_document["proof"]["beta"] = float(rng.normal())
        return file_document
    lower, upper = truth
    excess = float(10.0 ** rng.uniform(-14, 0)) * max(1.0, abs(lower))
    if rng.random() < 0.5:
        file_document["claim"] |= {"lower": float(np.nextafter(upper + excess, np.inf)), "upper": 1e6}
    else:
        file_document["claim"] |= {"lower": -1e6, "upper": float(np.nextafter(lower - excess, -np.inf))}
    for name in ("d", "w", "s"):
        if name in file_document["arrays"]:
            file_document["arrays"][name] = nearby_weights(file_document["arrays"][name], rng)
    if rng.random() < 0.3:
        file_document["proof"]["beta"] += float(rng.normal()) * float(10.0 ** rng.uniform(-12, 1))
    return file_document


def judge_false_claims(times: int, seed: int, folder: Path) -> Counter[str]:
    """Judge a number of false claims exactly. A proved claim raises an AssertionError."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    truths = dict[str, tuple[float, float]]()
    for case in CASES:
        honest = judged(document(case), case, folder, exact=True)
        assert honest.verdict == "proved", (case, honest)
        truths[case] = honest.lower, honest.upper
    for k in range(times):
        case = CASES[k % len(CASES)]
        false_document = false_claim(case, rng, truths[case])
        verification = judged(false_document, case, folder, exact=True)
        assert not verification.accepted, false_document
        counts["claims" if "claims" in verification.reason else "other"] += 1
    return counts


if __name__ == "__main__":
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        print(judge_false_claims(int(sys.argv[1]), 0, Path(temporary)), f"{time.perf_counter() - started:.0f} s")  # noqa: T201
