"""Tables of a comparison and of a certificate on the console."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from boostopt._utils.formatting import format_count
from boostopt.backends.accuracy_profiles import is_named_profile
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.comparison.rendering.result_sentences import (
    answering_backend_text,
    best_form_text,
    claimed_value_text,
    format_seconds,
    gap_text,
    is_problem,
    iterations_text,
    phase_seconds_text,
    proved_interval_text,
    relative_width,
    residuals_text,
    summarize_comparison,
    worst_residual_text,
)
from boostopt.comparison.rendering.solver_claim_sentences import stopping_test_text
from boostopt.comparison.solve_record import AUTO, SolveRecord
from boostopt.comparison.solve_results import conflicting_backends, refutation
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program
from boostopt.solving.explanation import D_SOURCE_DESCRIPTIONS

VERDICT_STYLES = {"bounded": "green", "checked": "cyan", "claimed": "yellow", "none": "red", "not run": "dim"}
"""Styles of rich, by verdict."""

CONCLUSION_STYLES = {"known": "bold", "good": "", "warning": "yellow", "wrong": "bold red"}
"""Styles of rich, by kind of conclusion."""

MAX_GAP_TERMS = 5
"""Number of examples, and of hypotheses, that a certificate names as causes of its gap."""

OPTIONAL_PARAMETER_NOTE = "[ ]: a parameter that may be left out."
"""Explanation of the brackets around names of parameters."""


def parameter_signature(formulation: Formulation[Any]) -> str:
    """Return the parameters of a formulation in a line, optional parameters in brackets."""
    return ", ".join(name if parameter.required else f"[{name}]" for name, parameter in formulation.parameters.items())


@dataclass(frozen=True)
class ComparisonTable:
    """The table of a comparison for consoles of rich: verdicts and intervals, one row for each backend.

    Below the table are the status and the details of each solver, and the conclusions from all rows. A narrow terminal
    gets fewer columns; the content of the missing columns is below the table.
    """

    headline: str
    rows: Sequence[SolveRecord]
    equal_weights: Sequence[float | None]
    is_soft_margin_bound: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = (11, 7) if is_problem(self.rows) else (9, 5)
        layouts = [self._table(count, halves) for count in columns for halves in (False, True)]
        layouts.append(self._table(5, interval=False))
        table = widest_fitting(console, options, layouts)
        yield wrap_footnote(self.headline, "bold", options)
        yield table
        for row in self.rows:
            yield wrap_footnote(_record_details(self.rows, row, with_interval=table is layouts[-1]), "dim", options)
        for conclusion in summarize_comparison(self.rows, self.equal_weights, self.is_soft_margin_bound):
            yield wrap_footnote(conclusion.words, CONCLUSION_STYLES[conclusion.kind], options)

    def _table(self, columns: int, halves: bool = False, interval: bool = True) -> Table:
        """Return the table of the most important columns; `halves` puts the bounds of an interval on two lines."""
        table = Table()
        table.add_column("backend", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        if interval:
            heading = ("certified", "interval of", "the optimum")
            table.add_column(("\n" if halves else " ").join(heading), no_wrap=True)
        table.add_column("gap", justify="right", no_wrap=True)
        table.add_column("seconds", justify="right", no_wrap=True)
        if is_problem(self.rows) and columns > 5:
            table.add_column("reported\nvalue", justify="right", no_wrap=True)
            table.add_column("largest\nresidual", justify="right", no_wrap=True)
        if columns > 7:
            table.add_column("relative\ngap", justify="right", no_wrap=True)
            table.add_column("overlaps", justify="center", no_wrap=is_problem(self.rows))
            table.add_column("request", justify="right", no_wrap=True)
            table.add_column("iterations", justify="right", no_wrap=True)
        for row in self.rows:
            name, verdict, *rest = _record_cells(self.rows, row, halves)[: len(table.columns) + (not interval)]
            table.add_row(
                *([name, verdict, *rest] if interval else [fold_backend_name(row.backend), verdict, *rest[1:]])
            )
        return table


def widest_fitting(console: Console, options: ConsoleOptions, layouts: Sequence[Table]) -> Table:
    """Return the first layout that shows all its text, or else the last layout."""

    def fits(table: Table) -> bool:
        lines = list(Segment.split_lines(console.render(table, options)))
        is_cut = any("\N{HORIZONTAL ELLIPSIS}" in segment.text for line in lines for segment in line)
        return not is_cut and max(map(Segment.get_line_length, lines)) <= options.max_width

    return next((table for table in layouts[:-1] if fits(table)), layouts[-1])


def fold_backend_name(name: str) -> Text:
    """Return the name of a backend over several lines."""
    return Text(name.replace(":", ":\n"))


def two_line_interval(interval: str) -> str:
    """Return an interval with its bounds on two lines."""
    return interval.replace(", ", ",\n")


def wrap_footnote(words: str, style: str, options: ConsoleOptions) -> Text:
    """Break a text below a table into lines, but never between a number and its unit."""
    text = re.sub("(?<=[0-9]) (?=[a-z])", "\N{NO-BREAK SPACE}", words)  # rich would break a line at a plain space
    lines = textwrap.wrap(text, options.max_width, break_long_words=False, break_on_hyphens=False)
    return Text("\n".join(lines).replace("\N{NO-BREAK SPACE}", " "), style)


def certificate_table(program: Program, certificate: Certificate, tol: float) -> RenderableType:
    """Return the interval, the residuals of the unchanged answer, and the largest terms of the gap."""
    table = Table(title=Text(program.headline, "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    is_narrow = certificate.scaled_gap <= tol
    table.add_row("optimum certified in", Text(certificate.words))
    relative_gap = f"relative {certificate.relative_gap:.2e}, " if np.isfinite(certificate.relative_gap) else ""
    table.add_row("gap", f"{certificate.gap:.2e}  ({relative_gap}slack included)")
    table.add_row(f"as narrow as {tol:g}", Text("yes" if is_narrow else "no", style="green" if is_narrow else "red"))
    if not certificate.infeasible:
        table.add_row(
            "upper bound proved by",
            D_SOURCE_DESCRIPTIONS[certificate.d_is] if np.isfinite(certificate.upper) else "nothing",
        )
    for condition, residual in certificate.kkt.residuals.items():
        words = f"{residual:.2e}" if np.isfinite(residual) else "not given or not finite"
        table.add_row(Text(f"violates {condition} by"), words)
    table.add_row("examples to blame", _largest_gap_terms(certificate.example_gaps))
    table.add_row("hypotheses to blame", _largest_gap_terms(certificate.hypothesis_gaps))
    return table


def _record_cells(rows: Sequence[SolveRecord], row: SolveRecord, halves: bool) -> list[RenderableType]:
    """Return the cells of a row; texts of solvers are `Text`, because rich reads brackets in a string as markup."""
    if not row.ran:
        return [Text(row.backend), Text("not run", VERDICT_STYLES["not run"])]
    verdict, conflicts = row.verdict or "", conflicting_backends(row, rows)
    answering_backend = f"\n-> {row.answered_by}" if row.backend == AUTO else ""
    return [
        Text(row.backend + answering_backend),
        Text(verdict, VERDICT_STYLES[verdict]),
        Text(two_line_interval(proved_interval_text(row)) if halves else proved_interval_text(row)),
        gap_text(row),
        format_seconds(row),
        *(_problem_cells(row, rows) if is_problem(rows) else ()),
        relative_width(row),
        Text(f"NO: {', '.join(conflicts)}", "bold red")
        if conflicts
        else Text("yes", "green")
        if row.answered
        else Text("-"),
        request_text(row),
        iterations_text(row),
    ]


def _problem_cells(row: SolveRecord, rows: Sequence[SolveRecord]) -> tuple[RenderableType, ...]:
    """Return the cells that only rows of a CVXPY problem have."""
    text = claimed_value_text(row, rows).replace(" (", "\n(")
    return Text(text, "bold red" if refutation(row, rows) else ""), worst_residual_text(row)


def request_text(row: SolveRecord) -> str:
    """Return the accuracy among the solver's options, or else the requested gap; after the profile, if there is one."""
    if not is_named_profile(row.profile):
        return f"{row.tol if row.finest_accuracy is None else row.finest_accuracy:.0e}"
    return f"{row.profile}" if row.finest_accuracy is None else f"{row.profile}, {row.finest_accuracy:.0e}"


def _record_details(rows: Sequence[SolveRecord], row: SolveRecord, with_interval: bool = False) -> str:
    """Return the status, the form of the best answer, the errors and the seconds by phase, in a line."""
    if not row.ran:
        return f"{row.backend}: not run. {row.reason.removesuffix('.')}."
    conflicts = conflicting_backends(row, rows)
    output = (row.solver_output or "").strip().splitlines()
    attempts = f" in {row.attempts} attempts" if row.attempts > 1 else ""
    parts = [
        f'{row.backend} says "{row.solver_status}"',
        *([f"certified: {proved_interval_text(row)}"] if with_interval else []),
        *filter(None, [answering_backend_text(row)]),
        *([] if is_problem(rows) else [best_form_text(row)]),
        *filter(None, [stopping_test_text(row), row.error, row.open_reason]),
        *([f"residuals: {residuals_text(row)}"] if row.residuals else []),
        *([f'{format_count(len(output), "line")} printed, the last "{output[-1].strip()}"'] if output else []),
        *([] if row.iterations is None else [f"{format_count(row.iterations, 'iteration')}{attempts}"]),
        phase_seconds_text(row),
        *([f"contradicts {', '.join(conflicts)}"] if conflicts else []),
    ]
    return "; ".join(parts)


def _largest_gap_terms(gaps: Any) -> str:
    """Return the largest terms of a gap with their indices."""
    largest = np.argsort(-gaps)[:MAX_GAP_TERMS]
    return ", ".join(f"{int(k)}: {gaps[k]:.1e}" for k in largest if gaps[k] > 0) or "none"
