"""Solves of programs by backends, and all that follows from them: intervals, scores, means, failures, exports.

`SolveResults` is the result of `compare` (one program, each backend once) and of `benchmark` (shuffled, repeated). It
contains plain values only, so that a result from a file equals the result that was written.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from boostopt._utils.files import Keys
from boostopt._utils.formatting import render_text
from boostopt._utils.json_values import Count, Flag, Texts, plain
from boostopt._utils.result_data_frames import data_frame
from boostopt._utils.validation import check_optional, check_string
from boostopt.comparison.failures import Failure, failures_by_backend
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.result_field_parsers import Fractions, Seconds
from boostopt.comparison.scores import MeanScore, ProgramScore, average_scores, score_programs
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.data.csv_tables import records_to_csv

MIN_REFUTED_DISTANCE = 1e-6
"""Distance over max(1, |value|) from which a reported value is refuted, unless the target gap is wider."""


@dataclass(frozen=True)
class BenchmarkSettings:
    """The settings of a benchmark.

    Attributes
    ----------
    target_gaps
        The requested scaled gaps, each in a solve of its own.
    repeats
        Measured solves of each cell. Before them, each backend solves each program once without being counted.
    time_limit
        Seconds for each solve; None for no limit.
    isolate
        Whether each backend ran in a process of its own.
    seed
        Seed of the order of the solves.
    profile_names
        Names of the requested profiles; empty if gaps were to be reached.
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
        """Convert the names to a tuple, so that settings from a file equal those that were written."""
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


@dataclass(frozen=True, repr=False)
class SolveResults(ABC):
    """All solves of some programs by some backends.

    Attributes
    ----------
    programs
        The programs by label: facts, digest, and under "about" the description that `describe_program` returns.
    settings
        The settings of the measurement.
    environment, boostopt
        The processor, libraries and threads; the version of this package.
    runs
        One solve for each program, backend, tolerance and repeat.
    provenance
        The command, the date, the data and the versions.
    file
        The path of the file from which the results were read, "" for none.
    """

    programs: Mapping[str, Mapping[str, Any]]
    settings: BenchmarkSettings
    environment: Mapping[str, Any]
    boostopt: str
    runs: tuple[SolveRecord, ...]
    provenance: Provenance = field(default_factory=Provenance)
    file: str = field(default="", compare=False)

    DEFAULT_LABEL: ClassVar[str]
    """The label of the table in LaTeX."""

    def __str__(self) -> str:
        """Return the tables as the command line prints them."""
        return render_text(self.table())

    def __repr__(self) -> str:
        return str(self)

    @abstractmethod
    def table(self) -> Any:
        """Return the tables for consoles of rich."""

    def runs_of(self, label: str) -> list[SolveRecord]:
        """Return the solves of a program."""
        return [run for run in self.runs if run.program == label]

    def equal_weight_bounds(self, label: str) -> Sequence[float | None]:
        """Return the bounds that equal weights prove for a program; empty in files that do not have them."""
        return self.programs[label].get("about", {}).get("equal_weights", ())

    def is_soft_margin_bound(self, label: str) -> bool:
        """Return whether the optimum of a program bounds all soft margins; False in files that do not say so."""
        return bool(self.programs[label].get("about", {}).get("is_soft_margin_bound"))

    @property
    def contradictory_programs(self) -> list[str]:
        """The programs whose intervals have no point in common. If there are any, boostopt is wrong."""
        bounds = {label: intersect_intervals(self.runs_of(label)) for label in self.programs}
        return [label for label, (lower, upper) in bounds.items() if lower > upper]

    @property
    def overlap(self) -> bool:
        """True if the certified intervals of each program have a point in common; if not, boostopt is wrong."""
        return not self.contradictory_programs

    @property
    def has_target_gap(self) -> bool:
        """True if for every program some backend reached the smallest requested gap."""
        finest = min(self.settings.target_gaps)
        programs = {score.program for score in self.scores if score.result == Result.REACHED and score.tol == finest}
        return programs == set(self.programs)

    @cached_property
    def scores(self) -> tuple[ProgramScore, ...]:
        """The score of each program, backend and tolerance: whether the tolerance was reached, and in what time."""
        return score_programs(self.runs)

    @cached_property
    def means(self) -> tuple[MeanScore, ...]:
        """The mean of each backend and tolerance over all programs."""
        return average_scores(self.scores, self.settings.time_limit)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """The failures of each backend by kind, with an example in the solver's own words."""
        return failures_by_backend(self.runs)

    def to_csv(self) -> str:
        """Return one line for each solve as CSV, with a header; lists and mappings are JSON in their cells."""
        return records_to_csv([plain(record) for record in self._records()])

    def to_dataframe(self) -> Any:
        """Return one line for each solve as a data frame of pandas.

        Raises
        ------
        OptionError
            pandas is not installed.
        """
        return data_frame(self._records())

    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        """Return the table in LaTeX, with booktabs.

        Parameters
        ----------
        caption
            Replaces the default caption, which names the program or says what the seconds are.
        label
            The label for references to the table; by default "tab:comparison" or "tab:benchmark".

        Raises
        ------
        OptionError
            pandas or Jinja is not installed.
        """
        label = self.DEFAULT_LABEL if label is None else check_string("label", label)
        return self._paper_table().to_latex(label, check_optional(check_string, "caption", caption))

    def to_markdown(self) -> str:
        """Return the table of `to_latex` in Markdown."""
        return self._paper_table().to_markdown()

    @abstractmethod
    def _paper_table(self) -> Any:
        """Return the table for papers."""

    @abstractmethod
    def _records(self) -> list[dict[str, Any]]:
        """Return each solve as plain values by name."""


@dataclass(frozen=True, repr=False)
class MeasuredSolves(SolveResults):
    """Solves of several programs: what all measurements have in common."""

    def interval(self, program: str) -> tuple[float, float]:
        """Return the intersection of all certified intervals of a program, which contains the optimum."""
        return intersect_intervals(self.runs_of(program))

    def _programs_with_bounds(self) -> dict[str, dict[str, Any]]:
        """Return the facts of each program by its label, with the ends of its interval."""
        bounds = {label: self.interval(label) for label in self.programs}
        return {
            label: {**facts, "lower": bounds[label][0], "upper": bounds[label][1]}
            for label, facts in self.programs.items()
        }


def intersect_intervals(runs: Iterable[SolveRecord]) -> tuple[float, float]:
    """Return the intersection of all certified intervals; if it is empty, the lower bound is above the upper bound."""
    ran = [run for run in runs if run.ran]
    return max((run.lower for run in ran), default=-math.inf), min((run.upper for run in ran), default=math.inf)


def refutation(run: SolveRecord, runs: Iterable[SolveRecord]) -> float:
    """Return how far the optimum that a solver reports is from the intersection of all intervals, over max(1, |value|).

    Returns
    -------
    The distance if the value is refuted, else 0; inf if it is proved that there is no optimum.
    """
    if run.claimed_value is None:
        return 0.0
    lower, upper = intersect_intervals(runs)
    distance = max(lower - run.claimed_value, run.claimed_value - upper) / max(1.0, abs(run.claimed_value))
    return distance if distance > max(run.tol, MIN_REFUTED_DISTANCE) else 0.0


def conflicting_backends(run: SolveRecord, runs: Iterable[SolveRecord]) -> list[str]:
    """Return the backends whose interval does not overlap with the interval of a run."""
    if not run.ran:
        return []
    rivals = [rival for rival in runs if rival is not run and rival.ran]
    return list(dict.fromkeys(rival.backend for rival in rivals if run.lower > rival.upper or rival.lower > run.upper))
