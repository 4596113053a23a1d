"""The response time of the interactive notebook to a move of a control, in wall time and in processor seconds.

Random moves of nu, eta and the gap, for each regularizer, after one that warms up. Run it on an idle machine:
`python benchmarks/interactive.py`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks" / "interactive"))

import explore  # pyright: ignore[reportMissingImports]

AIM = 0.2
"""Seconds within which the picture should follow."""

HEADER = (
    "| regularizer | solves, ms | picture, ms | move, ms | worst, ms | processor, ms | its worst, ms | within 200 ms |"
)


@dataclass(frozen=True)
class Move:
    """Seconds of one move."""

    solves: float
    picture: float
    processor: float

    @property
    def total(self) -> float:
        return self.solves + self.picture


def moves(name: str, U: Any, stage: Any, count: int) -> Iterator[Move]:
    """Move the controls and time what follows: the program, LPBoost's for the same nu, the picture."""
    rng = np.random.default_rng(0)
    for _ in range(count + 1):
        share, eta = float(rng.uniform(0.1, 0.95)), float(rng.choice(explore.ETAS))
        start, busy = time.perf_counter(), time.process_time()
        solution = explore.solved(name, U, share, eta, float(rng.choice(explore.GAPS)))
        cap = explore.solved(explore.CAP, U, share, 1.0, 1e-8)
        solve_end = time.perf_counter()
        stage.png(explore.on_three(name, share, eta), solution, cap)
        yield Move(solve_end - start, time.perf_counter() - solve_end, time.process_time() - busy)


def row(name: str, measured: list[Move]) -> str:
    """Medians, and the worst."""

    def middle(seconds: Callable[[Move], float]) -> str:
        return f"{1e3 * statistics.median(map(seconds, measured)):.0f}"

    worst, busiest = max(move.total for move in measured), max(move.processor for move in measured)
    n_fast = sum(move.total <= AIM for move in measured)
    cells = (
        name,
        middle(lambda move: move.solves),
        middle(lambda move: move.picture),
        middle(lambda move: move.total),
        f"{1e3 * worst:.0f}",
        middle(lambda move: move.processor),
        f"{1e3 * busiest:.0f}",
        f"{n_fast} of {len(measured)}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=20, help="moves of each regularizer")
    count = parser.parse_args().moves
    U = explore.margin_matrix()
    stage = explore.Stage(best=float(U.mean(axis=0).max()))
    print(HEADER, "| --- | --: | --: | --: | --: | --: | --: | --: |", sep="\n")
    all_moves = list[Move]()
    for name in explore.REGULARIZERS:
        measured = list(moves(name, U, stage, count))[1:]
        all_moves += measured
        print(row(name, measured), flush=True)
    print(row("all", all_moves))


if __name__ == "__main__":
    main()
