"""A benchmark for people: backends against tolerances, program by program and over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from boostopt.comparison.scores import SHIFT_SECONDS, Mean, Score
from boostopt.comparison.tables import fitting, folded, foot
from boostopt.comparison.wording import (
    BUG,
    counts,
    fastest,
    mean_of,
    ratio,
    reasons,
    result_of,
    spread,
    time_of,
)

STYLES = {"reached": "green", "failed": "red", "not run": "dim"}


@dataclass(frozen=True)
class BenchmarkTable:
    """A table for each program and one over all, below them why what failed or was not run, and the machine.

    A narrow terminal gets a line for each backend and tolerance instead of a column for each tolerance.
    """

    labels: Sequence[str]
    scores: Sequence[Score]
    means: Sequence[Mean]
    contradicted: Sequence[str]
    profiles: Sequence[float]
    skipped: Sequence[tuple[str, str]]
    made_with: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for label in self.labels:
            of_program = [score for score in self.scores if score.program == label]
            rows = [(s.backend, s.tol, time_of(s), ratio(s.ratio), spread(s), STYLES[s.result]) for s in of_program]
            yield Text(label, "bold")
            yield fitting(console, options, [_matrix(rows), _matrix(rows, folding=True), _list(rows)])
            for backends, why in reasons(of_program):
                yield foot(f"{backends}: {why}", "dim", options)
        if len(self.labels) > 1:
            yield Text(f"All programs: geometric means of the medians, shifted by {SHIFT_SECONDS:g} s", "bold")
            rows = [(m.backend, m.tol, mean_of(m), ratio(m.ratio), counts(m), STYLES[result_of(m)]) for m in self.means]
            yield fitting(console, options, [_matrix(rows), _matrix(rows, folding=True), _list(rows)])
        for words, style in self._conclusions():
            yield foot(words, style, options)
        yield foot(self.made_with, "dim", options)

    def _conclusions(self) -> Iterator[tuple[str, str]]:
        for label in self.contradicted:
            yield f"The intervals of {label} contradict each other. {BUG}", "bold red"
        if self.contradicted:
            return
        for tol in self.profiles:
            yield fastest(self.means, tol), "bold"
        for what, why in self.skipped:
            yield f"{what}: left out. {why}", "yellow"


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
