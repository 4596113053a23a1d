"""Tables of work and precision: the cheapest requests and all solves, on the console, for papers and as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from boostopt._utils.formatting import html_table
from boostopt.comparison.benchmark import GAPS
from boostopt.comparison.rendering.console_tables import fold_backend_name, widest_fitting, wrap_footnote
from boostopt.comparison.rendering.paper_tables import PaperTable, format_power_of_ten
from boostopt.comparison.rendering.result_sentences import contradiction_advice, summarize_program
from boostopt.comparison.rendering.score_sentences import conditions_text, format_median_seconds
from boostopt.comparison.rendering.solver_claim_sentences import STOPPING_TEST_TEXT, ratio_cell, stopping_test_sentences
from boostopt.comparison.work_precision.precision_lines import PrecisionLines
from boostopt.comparison.work_precision.precision_points import CheapestRequest, PrecisionPoint

POINT_HEADER = (
    *("solver", "form", "request", "sent", "certified gap", "claimed gap", "residual", "own test", "iterations"),
    *("solver seconds", "total seconds", "CPU seconds", "certificate seconds", "status"),
)
"""The heads of the table of all solves."""

N_TEXT_COLUMNS = 2
"""The number of columns of texts at the beginning of that table."""

MIN_STATUS_WIDTH = 16
"""The smallest width of the column of statuses, in letters."""

CHEAPEST_NAMES = ("request", "iterations", "solver s", "total s")
"""The heads of the columns for each gap."""

SECONDS_TEXT = (
    "Solver s: seconds in the solver with its setup. Total s: also the model, CVXPY's canonical form and the reading "
    "of the answer. Neither has the certificate, which proves each gap once."
)
"""The meaning of the seconds."""


def cheapest_caption(results: PrecisionLines) -> str:
    """Return what the table of the cheapest requests shows, and what was asked."""
    repeats = results.settings.repeats
    solves = "one solve" if repeats == 1 else f"medians of {repeats} solves"
    requests = ", ".join(map(format_power_of_ten, results.requests))
    return (
        "The cheapest request by which each solver proves a gap over max(1, |optimum|): the fewest iterations, or "
        f"seconds if it does not count them; {solves}. Asked: {requests} as the value of all tolerances of the solver. "
        f"A solver that stops by the certificate alone made one solve, with checkpoints. {SECONDS_TEXT}"
    )


def request_text(point: PrecisionPoint) -> str:
    """Return the request of a point, or the number of the checkpoint."""
    return format_power_of_ten(point.request) if point.checkpoint is None else f"checkpoint {point.checkpoint + 1}"


def row_name(results: PrecisionLines, entry: CheapestRequest, form: str) -> str:
    """Return the name of a row: the program if there are several, the solver, and the form that it got."""
    program = f"{entry.program}: " if len(results.programs) > 1 else ""
    return f"{program}{entry.backend}{f', {form}' if form else ''}"


def table_gaps(results: PrecisionLines) -> tuple[float, ...]:
    """Return the default gaps of tables, without those finer than every request that no answer proves either.

    Nobody asked for these, so that an empty column would look like a failure of the solvers.
    """
    finest = min(results.requests)
    gaps = tuple(
        gap for gap in GAPS if gap >= finest or any(entry.point is not None for entry in results.cheapest(gap))
    )
    return gaps or GAPS[:1]


def cheapest_rows(results: PrecisionLines, gaps: Sequence[float]) -> list[tuple[str, tuple[CheapestRequest, ...]]]:
    """Return the name of each row, and its cheapest request for each gap."""
    rows = list[tuple[str, tuple[CheapestRequest, ...]]]()
    for entries in zip(*(results.cheapest(gap) for gap in gaps), strict=True):
        points = results.line(entries[0].program, entries[0].backend)
        forms = dict.fromkeys(point.form for point in points if point.form)
        rows.append((row_name(results, entries[0], next(iter(forms)) if len(forms) == 1 else ""), entries))
    return rows


def cheapest_cells(entry: CheapestRequest) -> tuple[str, ...]:
    """Return the request, the iterations and the seconds; no cell has text if no request reaches the gap."""
    point = entry.point
    if point is None:
        return ("", "", "not reached", "") if "proves" in entry.reason else ("", "", "not run", "")
    return (
        request_text(point),
        "-" if point.iterations is None else str(point.iterations),
        format_median_seconds(point.solver_seconds),
        format_median_seconds(point.seconds),
    )


def point_cells(point: PrecisionPoint) -> tuple[str, ...]:
    """Return the cells of a point in the table of all solves."""
    certificate = point.phases.get("certify")
    return (
        point.backend,
        point.form,
        request_text(point),
        "" if point.sent_accuracy is None else f"{point.sent_accuracy:.0e}",
        _gap_cell(point.scaled_gap),
        _gap_cell(point.claimed_gap),
        _gap_cell(point.residual),
        ratio_cell(point.stopping_test_ratio),
        "-" if point.iterations is None else str(point.iterations),
        format_median_seconds(point.solver_seconds),
        format_median_seconds(point.seconds),
        "-" if point.cpu_seconds is None else format_median_seconds(point.cpu_seconds),
        "-" if certificate is None else format_median_seconds(certificate),
        point.status,
    )


def _gap_cell(gap: float | None) -> str:
    """Return a gap with two digits; "-" for none."""
    return "-" if gap is None or not math.isfinite(gap) else f"{gap:.1e}" if gap else "0"


def paper_table(results: PrecisionLines) -> PaperTable:
    """Return solvers against gaps: the cheapest request, iterations and seconds; the fewest seconds are bold."""
    gaps = table_gaps(results)
    rows = cheapest_rows(results, gaps)
    groups = [f"gap {format_power_of_ten(gap)}" for gap in gaps]
    n = len(CHEAPEST_NAMES)
    fastest = _fastest(results, rows)
    return PaperTable(
        (("", "solver"), *((group, name) for group in groups for name in CHEAPEST_NAMES)),
        tuple((name, *(cell for entry in entries for cell in cheapest_cells(entry))) for name, entries in rows),
        frozenset({0}),
        frozenset((i, 1 + k * n + 2) for i, k in fastest),
        f"{_headline(results)}{cheapest_caption(results)} Bold: the fewest seconds.",
        tuple(_notes(results, rows)),
    )


def _headline(results: PrecisionLines) -> str:
    """Return the label of the only program as a sentence; "" for several."""
    return f"{next(iter(results.programs))}. " if len(results.programs) == 1 else ""


def _fastest(
    results: PrecisionLines, rows: Sequence[tuple[str, tuple[CheapestRequest, ...]]]
) -> frozenset[tuple[int, int]]:
    """Return the rows and the gaps of the fewest seconds of each program; none if intervals contradict each other."""
    if not results.overlap:
        return frozenset()
    fewest: dict[tuple[str, float], float] = {}
    for _, entries in rows:
        for entry in entries:
            if entry.point is not None:
                key = entry.program, entry.gap
                fewest[key] = min(fewest.get(key, math.inf), entry.point.solver_seconds)
    return frozenset(
        (i, k)
        for i, (_, entries) in enumerate(rows)
        for k, entry in enumerate(entries)
        if entry.point is not None and entry.point.solver_seconds == fewest[entry.program, entry.gap]
    )


def _notes(results: PrecisionLines, rows: Iterable[tuple[str, tuple[CheapestRequest, ...]]]) -> Iterator[str]:
    """Yield contradictions, the reason of each gap that is not reached, and the conditions of the solves."""
    for label in results.contradictory_programs:
        yield f"The intervals of {label} contradict each other. {contradiction_advice(results.runs)}"
    for name, entries in rows:
        if missing := [entry for entry in entries if entry.point is None]:
            gaps = ", ".join(format_power_of_ten(entry.gap) for entry in missing)
            yield f"{name}, gap {gaps}: {missing[0].reason.removesuffix('.')}."
    yield conditions_text(results)


@dataclass(frozen=True)
class PrecisionTable:
    """The tables of work and precision for consoles of rich.

    The first table has the cheapest request of each solver for each gap. Each program then has a table of all solves.
    """

    results: PrecisionLines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        results = self.results
        rows = cheapest_rows(results, table_gaps(results))
        yield Text("The cheapest request for each certified gap", "bold")
        folded_rows = [(name.replace(", ", ",\n"), entries) for name, entries in rows]
        layouts = [_wide_cheapest_table(rows), _wide_cheapest_table(folded_rows), _narrow_cheapest_table(rows)]
        yield widest_fitting(console, options, layouts)
        for note in _notes(results, rows):
            yield wrap_footnote(note, "dim", options)
        for label in results.programs:
            yield wrap_footnote(label, "bold", options)
            points = [point for point in results.points if point.program == label]
            columns = (range(len(POINT_HEADER)), (*range(13),), (0, *range(2, 11)), (0, 2, 4, 8, 9), (0, 2, 4, 9))
            yield widest_fitting(console, options, [_point_table(points, subset) for subset in columns])
            yield wrap_footnote(summarize_program(results.runs_of(label)).words, "", options)
            for sentence in stopping_test_sentences(results.runs_of(label)):
                yield wrap_footnote(sentence, "yellow", options)
        yield wrap_footnote(f"{cheapest_caption(results)} {STOPPING_TEST_TEXT}", "dim", options)


def _wide_cheapest_table(rows: Sequence[tuple[str, tuple[CheapestRequest, ...]]]) -> Table:
    """Return a table with a column for each gap."""
    table = Table()
    table.add_column("solver", no_wrap=True)
    for entry in rows[0][1] if rows else ():
        table.add_column(f"gap {format_power_of_ten(entry.gap)}", no_wrap=True)
    for name, entries in rows:
        table.add_row(name, *(_cheapest_text(entry) for entry in entries))
    return table


def _narrow_cheapest_table(rows: Sequence[tuple[str, tuple[CheapestRequest, ...]]]) -> Table:
    """Return a table with a line for each solver and gap."""
    table = Table()
    for name in ("solver", "gap", "cheapest"):
        table.add_column(name, overflow="fold")
    for name, entries in rows:
        for k, entry in enumerate(entries):
            table.add_row("" if k else fold_backend_name(name), format_power_of_ten(entry.gap), _cheapest_text(entry))
    return table


def _cheapest_text(entry: CheapestRequest) -> Text:
    """Return the request with the seconds in the solver, and below them the iterations and the seconds in all."""
    request, iterations, seconds, total = cheapest_cells(entry)
    if entry.point is None:
        return Text(seconds, "red" if entry.reason != "not run" else "dim")
    steps = "" if iterations == "-" else f"{iterations} iterations, "
    return Text.assemble((f"{request}: {seconds} s", "green"), (f"\n{steps}total {total} s", "dim"))


def _point_table(points: Sequence[PrecisionPoint], columns: Sequence[int]) -> Table:
    """Return the table of all solves with some of the columns."""
    table = Table()
    for j in columns:
        is_status = j == len(POINT_HEADER) - 1
        table.add_column(
            POINT_HEADER[j].replace(" ", "\n"),
            justify="left" if j < N_TEXT_COLUMNS or is_status else "right",
            no_wrap=not is_status,
            min_width=MIN_STATUS_WIDTH if is_status else None,
        )
    previous = ""
    for point in points:
        cells = point_cells(point)
        name, previous = ("" if point.backend == previous else point.backend), point.backend
        table.add_row(*(name if j == 0 else cells[j] for j in columns))
    return table


def html_tables(results: PrecisionLines) -> str:
    """Return the table of the cheapest requests and those of all solves as HTML."""
    gaps = table_gaps(results)
    rows = cheapest_rows(results, gaps)
    names = [f"gap {format_power_of_ten(gap)}: {name}" for gap in gaps for name in CHEAPEST_NAMES]
    cells = [(name, *(cell for entry in entries for cell in cheapest_cells(entry))) for name, entries in rows]
    title = f"{_headline(results)}{cheapest_caption(results)}"
    tables = [html_table(title, cells, ("solver", *names))]
    for label in results.programs:
        points = [point_cells(point) for point in results.points if point.program == label]
        sentences = stopping_test_sentences(results.runs_of(label))
        title = " ".join([f"{label}: all solves. {STOPPING_TEST_TEXT}", *sentences])
        tables.append(html_table(title, points, POINT_HEADER))
    return "".join(tables)
