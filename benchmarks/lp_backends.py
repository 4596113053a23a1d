"""LPBoost on breast_cancer with each solver of linear programs: equal values, other rounds and distributions.

Prints the table of docs/boosting.md: rounds, hypotheses with weight, and how far the distributions are from those with
the first backend, after a number of rounds and at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

import numpy as np

from boostopt import boost, load_dataset
from boostopt.boosting import ClassCertificate
from boostopt.oracles import DecisionStumps

BACKENDS = ("highs:dual", "highs:primal", "highs:ipm", "interior", "cvxpy:clarabel")
SHARE = 0.1
EARLY = (5, 20, 40)
"""Rounds after which distributions are compared."""


@dataclass(frozen=True)
class Line:
    """The result of boosting with one backend.

    Attributes
    ----------
    backend
        Its name.
    rounds, active
        Rounds, and hypotheses with weight at the end.
    early, final
        Distances |d - d'|_1 from the first backend's distribution after the rounds `EARLY`, and at the end.
    w
        The distance |w - w'|_1 of the final weights, hypothesis by hypothesis.
    certificate
        The certificate over the class.
    """

    backend: str
    rounds: int
    active: int
    early: tuple[float, ...]
    final: float
    w: float
    certificate: ClassCertificate


def measure(epsilon: float = 1e-4, backends: Sequence[str] = BACKENDS) -> list[Line]:
    """Boost once with each backend."""
    data = load_dataset("breast_cancer")
    assert data.y is not None
    oracle = DecisionStumps(data.X, data.y)
    runs = {
        name: boost("lpboost", oracle, nu=SHARE * oracle.N, epsilon=epsilon, backend=name, history=True)
        for name in backends
    }
    first, lines = runs[backends[0]], list[Line]()
    first_weights = dict(zip(first.hypotheses, first.w, strict=True))
    for name, run in runs.items():
        weights = dict(zip(run.hypotheses, run.w, strict=True))
        of_both = [weights.get(h, 0.0) - first_weights.get(h, 0.0) for h in {*weights, *first_weights}]
        early = tuple(
            float(np.abs(run.at_round(k).d - first.at_round(k).d).sum())
            for k in EARLY
            if k <= min(run.rounds, first.rounds)
        )
        final = float(np.abs(run.d - first.d).sum())
        w = float(np.abs(of_both).sum())
        lines.append(Line(name, run.rounds, int(np.count_nonzero(run.w)), early, final, w, run.class_certificate))
    return lines


def main() -> None:
    after = " | ".join(f"after {k}" for k in EARLY)
    print(f"| backend | rounds | with weight | lower | upper | {after} | at the end | w |")
    print(f"|{'---|' * (7 + len(EARLY))}")
    for line in measure():
        bounds = (f"{line.certificate.lower:.9f}", f"{line.certificate.upper:.9f}")
        distances = (f"{x:.2f}" for x in (*line.early, line.final, line.w))
        print(f"| `{line.backend}` | {line.rounds} | {line.active} | {' | '.join((*bounds, *distances))} |")


if __name__ == "__main__":
    main()
