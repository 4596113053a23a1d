"""Options of comparisons and benchmarks other than programs, backends and accuracies."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from boostopt._utils.validation import (
    check_choice,
    check_flag,
    check_flag_or_function,
    check_instance,
    check_integer,
    check_names,
    check_optional,
    check_path,
    check_seconds,
    check_seed,
)
from boostopt.comparison.provenance import Provenance, validate_provenance
from boostopt.comparison.solve_record import SolveRecord
from boostopt.errors import unknown_name

WARM_UP_MODES = ("program", "smallest", "none")
"""Choices of solves that are not counted; the first is the default."""

THREADS_ADVICE = "Pass how many threads each solve may have, or None."
"""Advice in the message about an invalid number of threads."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The keyword options of `compare`, which documents them."""

    forms: Sequence[str] | None = None
    isolate: bool = False
    threads: int | None = None
    origin: Provenance | None = None

    def __post_init__(self) -> None:
        """Convert each option to its type; raise OptionError for an invalid one."""
        for name, value in self._validated_fields().items():
            object.__setattr__(self, name, value)

    def _validated_fields(self) -> dict[str, Any]:
        """Return the converted options by name."""
        return {
            "forms": check_optional(check_names, "forms", self.forms),
            "isolate": check_flag("isolate", self.isolate),
            "threads": None
            if self.threads is None
            else check_integer("threads", self.threads, 1, advice=THREADS_ADVICE),
            "origin": None if self.origin is None else validate_provenance(self.origin),
        }


class ProblemCompareKeywords(TypedDict, total=False):
    """The keywords of `compare` for CVXPY problems, for type checkers."""

    isolate: bool
    threads: int | None
    origin: Provenance | None


class CompareKeywords(ProblemCompareKeywords, total=False):
    """The keywords of `compare` for programs, for type checkers."""

    forms: str | Sequence[str] | None


class ProblemBenchmarkKeywords(ProblemCompareKeywords, total=False):
    """The keywords of `benchmark` for CVXPY problems, for type checkers."""

    time_limit: float | None
    resume: str | os.PathLike[str] | None
    budget: float | None
    any_version: bool
    warm_up: str
    random_state: int
    progress: bool | Callable[[int, int, SolveRecord], None]
    solver_options: Mapping[str, Mapping[str, Any]] | None


class BenchmarkKeywords(ProblemBenchmarkKeywords, total=False):
    """The keywords of `benchmark` for programs, for type checkers."""

    forms: str | Sequence[str] | None


def compare_options(keywords: Mapping[str, Any]) -> CompareOptions:
    """Return the options of a comparison from keywords."""
    _validate_keywords("compare", keywords, CompareOptions)
    return CompareOptions(**keywords)


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(CompareOptions):
    """The options of a benchmark. Pass the whole record to `benchmark` as `options`, or single fields by name.

    Attributes
    ----------
    time_limit
        Seconds for each solve; None for no limit. Solvers that may exceed the limit are run as with `isolate`.
    forms, isolate, threads
        As in `compare`.
    resume
        The results log: a file of JSON lines to which every finished run is appended. If the file already contains a
        run of the same program, options and versions, the run is not repeated.
    budget
        Seconds after which no further run starts. The remaining runs are "not run: no time left", and a later call can
        resume them.
    any_version
        Whether finished runs of other versions of boostopt count as well; each run names its version.
    warm_up
        The first solve of each backend in each process, which is not counted: of each "program"; of the "smallest"
        program of its formulation, which costs almost nothing and loads the same libraries; or "none".
    random_state
        Seed of the order of the solves.
    progress
        Whether stderr shows the progress: one line with the estimated remaining time on a terminal, at most one line a
        second in a file. Or a function: it is called after each run with the number of finished runs, the number of
        all runs, and the record of the run.
    origin
        The provenance to record: command, date, data. By default only the installed versions are recorded.
    solver_options
        Solver options for each backend by its name, as `options` of `compare`.

    Raises
    ------
    OptionError
        An option is out of range.
    """

    time_limit: float | None = None
    resume: str | os.PathLike[str] | None = None
    budget: float | None = None
    any_version: bool = False
    warm_up: str = WARM_UP_MODES[0]
    random_state: int = 0
    progress: bool | Callable[[int, int, SolveRecord], None] = False
    solver_options: Mapping[str, Mapping[str, Any]] | None = None

    def _validated_fields(self) -> dict[str, Any]:
        return {
            **super()._validated_fields(),
            "time_limit": check_seconds("time_limit", self.time_limit),
            "resume": check_optional(check_path, "resume", self.resume),
            "budget": check_seconds("budget", self.budget),
            "any_version": check_flag("any_version", self.any_version),
            "warm_up": check_choice("warm-up", self.warm_up, WARM_UP_MODES),
            "random_state": check_seed("random_state", self.random_state),
            "progress": check_flag_or_function("progress", self.progress),
        }


def benchmark_options(options: object, keywords: Mapping[str, Any]) -> BenchmarkOptions:
    """Return the record of options, with its fields replaced by the keywords."""
    _validate_keywords("benchmark", keywords, BenchmarkOptions)
    record = BenchmarkOptions() if options is None else options
    advice = "Make one with boostopt.comparison.BenchmarkOptions(...), or leave it out."
    return replace(check_instance("options", record, BenchmarkOptions, "a BenchmarkOptions", advice), **keywords)


def _validate_keywords(function: str, keywords: Mapping[str, Any], record: type[Any]) -> None:
    """Raise OptionError for a keyword that is no field of a record."""
    names = tuple(field.name for field in fields(record))
    for name in keywords.keys() - names:
        raise unknown_name(f"option of {function}", name, names)
