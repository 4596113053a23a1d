"""Tables of a benchmark for people: backends against tolerances, for each program and over all programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from boostopt.comparison.rendering.console_tables import fitting, folded, foot
from boostopt.comparison.rendering.phrases import (
    BUG,
    EMPTY,
    Cell,
    Conclusion,
    cells_of_means,
    cells_of_scores,
    fastest,
    reasons,
)
from boostopt.comparison.scores import SHIFT_SECONDS, Mean, Score

STYLES = {"reached": "green", "failed": "red", "not run": "dim"}


Cells = Mapping[tuple[str, float], Cell]
"""The result of each backend at each tolerance."""


@dataclass(frozen=True)
class BenchmarkTable:
    """A table for each program, with what is known of its optimum and remarks on it, and one over all.

    Below them are the reasons of failures and omissions, and the machine.
    A narrow terminal gets a line for each backend and tolerance instead of a column for each tolerance. `asked` says
    what was asked for at each tolerance.
    """

    labels: Sequence[str]
    verdicts: Mapping[str, Conclusion]
    remarks: Mapping[str, Sequence[Conclusion]]
    scores: Sequence[Score]
    means: Sequence[Mean]
    contradicted: Sequence[str]
    asked: Mapping[float, str]
    failures: Sequence[tuple[str, str]]
    skipped: Sequence[tuple[str, str]]
    made_with: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for label in self.labels:
            of_program = [score for score in self.scores if score.program == label]
            yield Text(label, "bold")
            yield self._table(console, options, cells_of_scores(of_program))
            for backends, why in reasons(of_program):
                yield foot(f"{backends}: {why}", "dim", options)
            if label not in self.contradicted:
                yield foot(self.verdicts[label].words, "", options)
                for remark in self.remarks[label]:
                    yield foot(remark.words, "yellow", options)
        if len(self.labels) > 1:
            yield Text(f"All programs: geometric means of the medians, shifted by {SHIFT_SECONDS:g} s", "bold")
            yield self._table(console, options, cells_of_means(self.means))
        for backend, words in self.failures:
            yield foot(f"{backend}: {words}", "", options)
        for words, style in self._conclusions():
            yield foot(words, style, options)
        yield foot(self.made_with, "dim", options)

    def _table(self, console: Console, options: ConsoleOptions, cells: Cells) -> Table:
        """The widest layout that fits."""
        layouts = [_matrix(cells, self.asked), _matrix(cells, self.asked, folding=True), _list(cells, self.asked)]
        return fitting(console, options, layouts)

    def _conclusions(self) -> Iterator[tuple[str, str]]:
        for label in self.contradicted:
            yield f"The intervals of {label} contradict each other. {BUG}", "bold red"
        if self.contradicted:
            return
        for tol in self.asked:
            yield fastest(self.means, tol), "bold"
        for what, why in self.skipped:
            yield f"{what}: left out. {why}", "yellow"


def _matrix(cells: Cells, asked: Mapping[float, str], folding: bool = False) -> Table:
    """A column for each tolerance: time and ratio, and the remark below them."""
    tolerances = list(dict.fromkeys(tol for _, tol in cells))
    table = Table()
    table.add_column("backend", no_wrap=True)
    for tol in tolerances:
        table.add_column(asked[tol], no_wrap=True)
    for backend in dict.fromkeys(backend for backend, _ in cells):
        in_words = [_words(cells.get((backend, tol), EMPTY)) for tol in tolerances]
        table.add_row(folded(backend) if folding else Text(backend), *in_words)
    return table


def _list(cells: Cells, asked: Mapping[float, str]) -> Table:
    """A line for each backend and tolerance."""
    table = Table()
    table.add_column("backend", no_wrap=True)
    table.add_column("asked for", no_wrap=True)
    table.add_column("seconds", overflow="fold")
    before = ""
    for (backend, tol), cell in cells.items():
        table.add_row(folded(backend) if backend != before else "", asked[tol], _words(cell))
        before = backend
    return table


def _words(cell: Cell) -> Text:
    first = f"{cell.time} {cell.ratio}".strip()
    return Text.assemble((first, STYLES[cell.result]), *([(f"\n{cell.remark}", "dim")] if cell.remark else []))
