"""Solves of programs by backends: the settings of the measurement, and the intervals that all solves prove together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from boostopt._utils.files import Keys
from boostopt.comparison.json_schema import Count, Flag, Fractions, Seconds, Texts
from boostopt.comparison.solve_record import SolveRecord


@dataclass(frozen=True)
class BenchmarkSettings:
    """The settings of a benchmark.

    Attributes
    ----------
    target_gaps
        The scaled gaps asked for, each in a solve of its own.
    repeats
        Measured solves of each cell. Before them, each backend solves each program once without being counted.
    time_limit
        Seconds for each solve; None for no limit.
    isolate
        Whether each backend ran in a process of its own.
    seed
        Seed of the order of the solves.
    profile_names
        Names of the profiles by which the solvers were asked; empty if gaps were to be reached.
    threads
        Threads of each solve; None if the caller did not set them.
    """

    target_gaps: Fractions
    repeats: Count
    time_limit: Seconds | None
    isolate: Flag
    seed: Count
    profile_names: Texts = ()
    threads: Count | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "profile_names", tuple(self.profile_names))

    def record(self) -> dict[str, Any]:
        """Return the settings as plain values; profiles and threads only if they are set."""
        return {
            name: value for name, value in SETTINGS.to_file(self).items() if name not in ("asked", "threads") or value
        }


SETTINGS = Keys(
    BenchmarkSettings,
    {
        "profiles": "target_gaps",
        "repeats": "repeats",
        "time_limit": "time_limit",
        "isolate": "isolate",
        "seed": "seed",
        "asked": "profile_names",
        "threads": "threads",
    },
)
"""Keys of the settings."""


def intersect_intervals(runs: Iterable[SolveRecord]) -> tuple[float, float]:
    """Return the intersection of all certified intervals; if it is empty, its ends are out of order."""
    ran = [run for run in runs if run.ran]
    return max((run.lower for run in ran), default=-math.inf), min((run.upper for run in ran), default=math.inf)


def conflicting_backends(run: SolveRecord, runs: Iterable[SolveRecord]) -> list[str]:
    """Return the backends whose interval does not overlap with that of a run."""
    if not run.ran:
        return []
    others = [other for other in runs if other is not run and other.ran]
    return list(dict.fromkeys(other.backend for other in others if run.lower > other.upper or other.lower > run.upper))
