"""A benchmark for people: backends against tolerances, program by program and over all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from boostopt.comparison.benchmarks import Benchmark
from boostopt.comparison.scores import SHIFT_SECONDS, Mean, Score
from boostopt.comparison.tables import fitting, folded

STYLES = {"reached": "green", "failed": "red", "not run": "dim"}


@dataclass(frozen=True)
class BenchmarkTable:
    """A table for each program and one over all, below them why what failed or was not run, and the machine.

    A narrow terminal gets a line for each backend and tolerance instead of a column for each tolerance.
    """

    benchmark: Benchmark

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        b = self.benchmark
        for label in b.programs:
            of_program = [score for score in b.scores if score.program == label]
            rows = [(s.backend, s.tol, _time_of(s), _ratio(s.ratio), _spread(s), STYLES[s.result]) for s in of_program]
            yield Text(label, "bold")
            yield fitting(console, options, [_matrix(rows), _matrix(rows, folding=True), _list(rows)])
            yield from _reasons(of_program)
        if len(b.programs) > 1:
            yield Text(f"All programs: geometric means of the medians, shifted by {SHIFT_SECONDS:g} s", "bold")
            rows = [(m.backend, m.tol, _mean_of(m), _ratio(m.ratio), _counts(m), _style(m)) for m in b.means]
            yield fitting(console, options, [_matrix(rows), _matrix(rows, folding=True), _list(rows)])
        yield from self._conclusions()
        yield Text(self._made_with(), "dim")

    def _conclusions(self) -> Iterator[Text]:
        b = self.benchmark
        for label in b.contradicted:
            yield Text(
                f"The intervals of {label} contradict each other. Whatever the solvers did, that is a bug in boostopt: "
                "please report it with the data.",
                "bold red",
            )
        if b.contradicted:
            return
        for tol in b.settings.profiles:
            first = [m for m in b.means if m.tol == tol and m.ratio == 1.0 and not m.at_least]
            best = ", ".join(m.backend for m in first) or "nobody on all programs"
            yield Text(f"Fastest to a certified gap of {tol:g}: {best}.", "bold")

    def _made_with(self) -> str:
        b = self.benchmark
        settings, machine = b.settings, b.machine
        limit = "no time limit" if settings.time_limit is None else f"{settings.time_limit:g} s for a solve"
        threads = ", ".join(f"{name}={value}" for name, value in machine["threads"].items()) or "not limited"
        return (
            f"Seconds are medians of {settings.repeats}, quartiles below them; x1 is the fastest. Solves in shuffled "
            f"order (seed {settings.seed}), {limit}, "
            f"{'each backend in a process of its own' if settings.isolate else 'in this process'}. "
            f"boostopt {b.boostopt}, NumPy {machine['numpy']}, {machine['blas']}, Python {machine['python']}, "
            f"{machine['cpu']}, {machine['cores']} cores, threads {threads}."
        )


Line = tuple[str, float, str, str, str, str]
"""Backend, tolerance, time, ratio, a remark, style."""


def _matrix(rows: Sequence[Line], folding: bool = False) -> Table:
    """A column for each tolerance: time and ratio, the remark below."""
    tolerances = list(dict.fromkeys(row[1] for row in rows))
    table = Table()
    table.add_column("backend", no_wrap=True)
    for tol in tolerances:
        table.add_column(f"gap {tol:g}", no_wrap=True)
    for backend in dict.fromkeys(row[0] for row in rows):
        cells = {row[1]: row for row in rows if row[0] == backend}
        table.add_row(folded(backend) if folding else Text(backend), *(_cell(*cells[tol][2:]) for tol in tolerances))
    return table


def _list(rows: Sequence[Line]) -> Table:
    """A line for each backend and tolerance."""
    table = Table()
    table.add_column("backend", no_wrap=True)
    table.add_column("gap", no_wrap=True)
    table.add_column("seconds", overflow="fold")
    before = ""
    for backend, tol, *rest in rows:
        table.add_row(folded(backend) if backend != before else "", f"{tol:g}", _cell(*rest))
        before = backend
    return table


def _cell(time: str, ratio: str, remark: str, style: str) -> Text:
    first = f"{time} {ratio}".strip()
    return Text.assemble((first, style), *([(f"\n{remark}", "dim")] if remark else []))


def _time_of(score: Score) -> str:
    return _seconds(score.median) if score.result == "reached" else score.result


def _spread(score: Score) -> str:
    """The quartiles, or how far it came."""
    missing = f"{score.runs} of {score.wanted} runs" if 0 < score.runs < score.wanted else ""
    if score.result == "failed":
        return f"{score.reached} of {score.runs}, gap {score.gap:.1e}"
    if score.result == "not run" or score.runs == 1:
        return missing
    quartiles = "-".join(_seconds(seconds) for seconds in score.quartiles)
    return f"{quartiles}, {missing}" if missing else quartiles


def _mean_of(mean: Mean) -> str:
    if math.isfinite(mean.seconds):
        return f"{'>= ' if mean.at_least else ''}{_seconds(mean.seconds)}"
    return "failed" if mean.failed else "not run"


def _counts(mean: Mean) -> str:
    """On how many programs not."""
    count = mean.reached + mean.failed + mean.not_run
    parts = [f"failed on {mean.failed}"] if mean.failed else []
    parts += [f"not run on {mean.not_run}"] if mean.not_run else []
    return f"{', '.join(parts)} of {count}" if parts else ""


def _style(mean: Mean) -> str:
    return STYLES["failed" if mean.failed else "not run" if mean.not_run else "reached"]


def _seconds(seconds: float) -> str:
    """Two digits: repeats agree in no more."""
    return f"{seconds:.2g}" if seconds < 99.5 else f"{seconds:.0f}"


def _ratio(ratio: float) -> str:
    return f"x{_seconds(ratio)}" if math.isfinite(ratio) else ""


def _reasons(of_program: Sequence[Score]) -> Iterator[Text]:
    """Why a backend was not run, or failed at the first gap that it did not reach; a reason of several stands once."""
    told: dict[tuple[str, str], str] = {}
    for score in of_program:
        if score.result != "reached":
            at = "" if score.result == "not run" else f" at {score.tol:g}"
            told.setdefault((score.backend, score.result), f"{score.result}{at}. {score.reason.removesuffix('.')}.")
    for words in dict.fromkeys(told.values()):
        yield Text(f"{', '.join(backend for (backend, _), its in told.items() if its == words)}: {words}", "dim")
