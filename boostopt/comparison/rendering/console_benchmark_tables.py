"""Tables of a benchmark on the console: backends against tolerances, for each program and over all programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from boostopt.comparison.failures import failure_texts
from boostopt.comparison.rendering.console_tables import fold_backend_name, widest_fitting, wrap_footnote
from boostopt.comparison.rendering.result_sentences import (
    contradiction_advice,
    refuted_values,
    summarize_program,
    trivial_bounds,
)
from boostopt.comparison.rendering.score_sentences import (
    EMPTY_CELL,
    BenchmarkCell,
    failure_reasons,
    fastest_backends_text,
    gap_request_text,
    mean_cells,
    measurement_text,
    score_cells,
)
from boostopt.comparison.rendering.solver_claim_sentences import forms_text
from boostopt.comparison.scores import SHIFT_SECONDS
from boostopt.comparison.solve_results import SolveResults

RESULT_STYLES = {"reached": "green", "failed": "red", "not run": "dim"}
"""Styles of rich, by result."""

Cells = Mapping[tuple[str, float], BenchmarkCell]
"""Cells by backend and tolerance."""


@dataclass(frozen=True)
class BenchmarkTable:
    """The tables of a benchmark for consoles of rich.

    Each program has a table with the known bounds of its optimum and remarks; a last table has the means over all
    programs. Below them are the reasons of failures and omissions, and the environment. A narrow terminal gets a line
    for each backend and tolerance instead of a column for each tolerance.
    """

    results: SolveResults

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        results, contradictory = self.results, self.results.contradictory_programs
        requests = {tol: gap_request_text(results.runs, tol) for tol in results.settings.target_gaps}
        for label in results.programs:
            scores, runs = [score for score in results.scores if score.program == label], results.runs_of(label)
            yield Text(label, "bold")
            yield _widest_table(console, options, score_cells(scores), requests)
            for backends, reason in failure_reasons(scores):
                yield wrap_footnote(f"{backends}: {reason}", "dim", options)
            if label not in contradictory:
                yield wrap_footnote(summarize_program(runs).words, "", options)
                remarks = trivial_bounds(runs, results.equal_weight_bounds(label), results.is_soft_margin_bound(label))
                for remark in (*refuted_values(runs), *remarks):
                    yield wrap_footnote(remark.words, "yellow", options)
        if len(results.programs) > 1:
            yield Text(f"All programs: geometric means of the medians, shifted by {SHIFT_SECONDS:g} s", "bold")
            yield _widest_table(console, options, mean_cells(results.means), requests)
        for backend, text in failure_texts(results.failures):
            yield wrap_footnote(f"{backend}: {text}", "", options)
        for text, style in self._footnotes(contradictory, requests):
            yield wrap_footnote(text, style, options)
        for text in filter(None, (forms_text(results.runs), measurement_text(results))):
            yield wrap_footnote(text, "dim", options)

    def _footnotes(self, contradictory: Sequence[str], requests: Mapping[float, str]) -> Iterator[tuple[str, str]]:
        """Yield the contradictions, or else the fastest backends and the omitted programs; each text with its style."""
        for label in contradictory:
            yield (
                f"The intervals of {label} contradict each other. {contradiction_advice(self.results.runs)}",
                "bold red",
            )
        if contradictory:
            return
        for tol in requests:
            yield fastest_backends_text(self.results.means, tol), "bold"
        for item, reason in self.results.provenance.skipped:
            yield f"{item}: left out. {reason}", "yellow"


def _widest_table(console: Console, options: ConsoleOptions, cells: Cells, requests: Mapping[float, str]) -> Table:
    """Return the widest layout that fits the console."""
    layouts = [
        _wide_table(cells, requests),
        _wide_table(cells, requests, folding=True),
        _narrow_table(cells, requests),
    ]
    return widest_fitting(console, options, layouts)


def _wide_table(cells: Cells, requests: Mapping[float, str], folding: bool = False) -> Table:
    """Return a table with a column for each tolerance: time and ratio, and the remark below them."""
    tolerances = list(dict.fromkeys(tol for _, tol in cells))
    table = Table()
    table.add_column("backend", no_wrap=True)
    for tol in tolerances:
        table.add_column(requests[tol], no_wrap=True)
    for backend in dict.fromkeys(backend for backend, _ in cells):
        texts = [_cell_text(cells.get((backend, tol), EMPTY_CELL)) for tol in tolerances]
        table.add_row(fold_backend_name(backend) if folding else Text(backend), *texts)
    return table


def _narrow_table(cells: Cells, requests: Mapping[float, str]) -> Table:
    """Return a table with a line for each backend and tolerance."""
    table = Table()
    table.add_column("backend", no_wrap=True)
    table.add_column("request", no_wrap=True)
    table.add_column("seconds", overflow="fold")
    previous_backend = ""
    for (backend, tol), cell in cells.items():
        name = fold_backend_name(backend) if backend != previous_backend else ""
        table.add_row(name, requests[tol], _cell_text(cell))
        previous_backend = backend
    return table


def _cell_text(cell: BenchmarkCell) -> Text:
    """Return the time and the ratio, in the style of the result, and the remark below them."""
    first = f"{cell.time} {cell.ratio}".strip()
    return Text.assemble((first, RESULT_STYLES[cell.result]), *([(f"\n{cell.remark}", "dim")] if cell.remark else []))
