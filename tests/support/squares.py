"""Work on an experiment of squares. The processes of its units import this file, and no library of the tests."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.evidence.experiment import Experiment, Parameters, Results
from benchmarks.evidence.running import Work

SEEDS = 6


def units(quick: bool, done: Results) -> Iterator[Parameters]:
    """Yield seeds; what sums them up appears when they are finished."""
    yield from ({"seed": seed} for seed in range(2 if quick else SEEDS))
    if len(done.select(part="sum")) or len(done) >= (2 if quick else SEEDS):
        yield {"part": "sum", "values": [result["value"] for _, result in done if "value" in result]}


def squared(seed: int | None = None, part: str = "", values: list[int] | None = None) -> Mapping[str, Any]:
    """Return a square, or the sum of some."""
    time.sleep(0.05)
    return {"sum": sum(values)} if values is not None else {"value": (seed or 0) ** 2}


def write_sum(results: Results, folder: Path) -> str:
    """Return the sum."""
    return f"The sum is {results.select(part='sum')[0][1]['sum']}."


SQUARES = Experiment("squares", "Squares", "Nobody, table 0", "dynamics", units, squared, write_sum)


def work(folder: Path, again: bool = False) -> Work:
    return Work.load([SQUARES], folder / "kept", folder / "journals", quick=False, again=again)
