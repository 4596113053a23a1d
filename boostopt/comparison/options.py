"""The options of a comparison and of a benchmark that are not about what is measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from boostopt.arguments import (
    choice,
    file_path,
    flag,
    flag_or_function,
    instance,
    names,
    optional,
    seconds,
    seed,
    whole,
)
from boostopt.comparison.origin import Origin, check_origin
from boostopt.comparison.rows import Row
from boostopt.errors import unknown_name

WARM_UPS = ("program", "smallest", "none")
"""The solves that are not counted, the first where nothing is said."""

THREADS = "Pass how many threads each solve may have, or None."


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The keywords of `compare`, which says what they are."""

    forms: Sequence[str] | None = None
    isolate: bool = False
    threads: int | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        """Read each option as what it should be."""
        for name, value in self._read().items():
            object.__setattr__(self, name, value)

    def _read(self) -> dict[str, Any]:
        return {
            "forms": optional(names, "forms", self.forms),
            "isolate": flag("isolate", self.isolate),
            "threads": None if self.threads is None else whole("threads", self.threads, 1, advice=THREADS),
            "origin": None if self.origin is None else check_origin(self.origin),
        }


def compare_options(keywords: Mapping[str, Any]) -> CompareOptions:
    """Return the options of a comparison by their names."""
    _check_names("compare", keywords, CompareOptions)
    return CompareOptions(**keywords)


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(CompareOptions):
    """The options of a benchmark. `benchmark` takes them whole, as `options`, or one by one by their names.

    Attributes
    ----------
    time_limit
        Seconds for each solve; None for no limit. Solvers that may run past it are run as with `isolate`.
    forms, isolate, threads
        As in `compare`.
    resume
        A file of JSON lines to which every finished run is appended; runs of the same program, options and versions
        that stand in it are not run again.
    budget
        Seconds after which no run is begun; those left are "not run: no time left", and a later call can resume them.
    any_version
        Whether finished runs of other versions of boostopt count as well; they say which.
    warm_up
        The solve that is not counted, made before by each backend in each process: of each "program", of the "smallest"
        one of its formulation, which loads what is loaded with the first solve but costs nothing, or "none".
    random_state
        Seed of the order.
    progress
        Whether stderr shows how it is getting on: a terminal one line, with about how long it will take, a file a line
        a second at most. Or what to call after each run with how many are done, how many there are, and the run.
    origin
        What is to be said of how it came about; by default the versions that are installed.
    solver_options
        Options of solvers by the names of backends, as `options` of `compare`.

    Raises
    ------
    OptionError
        An option is out of its range.
    """

    time_limit: float | None = None
    resume: str | os.PathLike[str] | None = None
    budget: float | None = None
    any_version: bool = False
    warm_up: str = WARM_UPS[0]
    random_state: int = 0
    progress: bool | Callable[[int, int, Row], None] = False
    solver_options: Mapping[str, Mapping[str, Any]] | None = None

    def _read(self) -> dict[str, Any]:
        return {
            **super()._read(),
            "time_limit": seconds("time_limit", self.time_limit),
            "resume": optional(file_path, "resume", self.resume),
            "budget": seconds("budget", self.budget),
            "any_version": flag("any_version", self.any_version),
            "warm_up": choice("warm-up", self.warm_up, WARM_UPS),
            "random_state": seed("random_state", self.random_state),
            "progress": flag_or_function("progress", self.progress),
        }


def benchmark_options(options: object, keywords: Mapping[str, Any]) -> BenchmarkOptions:
    """Return the options that were given whole, with those that were given by their names."""
    _check_names("benchmark", keywords, BenchmarkOptions)
    whole = BenchmarkOptions() if options is None else options
    advice = "Make one with boostopt.comparison.BenchmarkOptions(...), or leave it out."
    return replace(instance("options", whole, BenchmarkOptions, "a BenchmarkOptions", advice), **keywords)


def _check_names(function: str, keywords: Mapping[str, Any], record: type[Any]) -> None:
    """Raise OptionError for a keyword that is no field of a record."""
    known = tuple(field.name for field in fields(record))
    for name in keywords.keys() - known:
        raise unknown_name(f"option of {function}", name, known)
