"""Tables of a benchmark for people: backends against tolerances, for each program and over all programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from boostopt.comparison.rendering.console_tables import fold_backend_name, widest_fitting, wrap_footnote
from boostopt.comparison.rendering.phrases import (
    CONTRADICTION_ADVICE,
    EMPTY_CELL,
    BenchmarkCell,
    Conclusion,
    failure_reasons,
    fastest_backends_text,
    mean_cells,
    score_cells,
)
from boostopt.comparison.scores import SHIFT_SECONDS, MeanScore, ProgramScore

RESULT_STYLES = {"reached": "green", "failed": "red", "not run": "dim"}


Cells = Mapping[tuple[str, float], BenchmarkCell]
"""The result of each backend at each tolerance."""


@dataclass(frozen=True)
class BenchmarkTable:
    """A table for each program, with what is known of its optimum and remarks on it, and one over all.

    Below them are the reasons of failures and omissions, and the machine.
    A narrow terminal gets a line for each backend and tolerance instead of a column for each tolerance.
    `request_texts` describes the request at each tolerance.
    """

    labels: Sequence[str]
    conclusions: Mapping[str, Conclusion]
    remarks: Mapping[str, Sequence[Conclusion]]
    scores: Sequence[ProgramScore]
    means: Sequence[MeanScore]
    contradictory_programs: Sequence[str]
    request_texts: Mapping[float, str]
    failures: Sequence[tuple[str, str]]
    skipped: Sequence[tuple[str, str]]
    environment_text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for label in self.labels:
            of_program = [score for score in self.scores if score.program == label]
            yield Text(label, "bold")
            yield self._table(console, options, score_cells(of_program))
            for backends, why in failure_reasons(of_program):
                yield wrap_footnote(f"{backends}: {why}", "dim", options)
            if label not in self.contradictory_programs:
                yield wrap_footnote(self.conclusions[label].words, "", options)
                for remark in self.remarks[label]:
                    yield wrap_footnote(remark.words, "yellow", options)
        if len(self.labels) > 1:
            yield Text(f"All programs: geometric means of the medians, shifted by {SHIFT_SECONDS:g} s", "bold")
            yield self._table(console, options, mean_cells(self.means))
        for backend, words in self.failures:
            yield wrap_footnote(f"{backend}: {words}", "", options)
        for words, style in self._footnotes():
            yield wrap_footnote(words, style, options)
        yield wrap_footnote(self.environment_text, "dim", options)

    def _table(self, console: Console, options: ConsoleOptions, cells: Cells) -> Table:
        """The widest layout that fits."""
        layouts = [
            _wide_table(cells, self.request_texts),
            _wide_table(cells, self.request_texts, folding=True),
            _narrow_table(cells, self.request_texts),
        ]
        return widest_fitting(console, options, layouts)

    def _footnotes(self) -> Iterator[tuple[str, str]]:
        for label in self.contradictory_programs:
            yield f"The intervals of {label} contradict each other. {CONTRADICTION_ADVICE}", "bold red"
        if self.contradictory_programs:
            return
        for tol in self.request_texts:
            yield fastest_backends_text(self.means, tol), "bold"
        for what, why in self.skipped:
            yield f"{what}: left out. {why}", "yellow"


def _wide_table(cells: Cells, asked: Mapping[float, str], folding: bool = False) -> Table:
    """A column for each tolerance: time and ratio, and the remark below them."""
    tolerances = list(dict.fromkeys(tol for _, tol in cells))
    table = Table()
    table.add_column("backend", no_wrap=True)
    for tol in tolerances:
        table.add_column(asked[tol], no_wrap=True)
    for backend in dict.fromkeys(backend for backend, _ in cells):
        in_words = [_cell_text(cells.get((backend, tol), EMPTY_CELL)) for tol in tolerances]
        table.add_row(fold_backend_name(backend) if folding else Text(backend), *in_words)
    return table


def _narrow_table(cells: Cells, asked: Mapping[float, str]) -> Table:
    """A line for each backend and tolerance."""
    table = Table()
    table.add_column("backend", no_wrap=True)
    table.add_column("asked for", no_wrap=True)
    table.add_column("seconds", overflow="fold")
    before = ""
    for (backend, tol), cell in cells.items():
        table.add_row(fold_backend_name(backend) if backend != before else "", asked[tol], _cell_text(cell))
        before = backend
    return table


def _cell_text(cell: BenchmarkCell) -> Text:
    first = f"{cell.time} {cell.ratio}".strip()
    return Text.assemble((first, RESULT_STYLES[cell.result]), *([(f"\n{cell.remark}", "dim")] if cell.remark else []))
