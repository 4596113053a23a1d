"""The tables of the IDA benchmark, written between two markers of a page."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.ida_data import SEEDED, Rows
from benchmarks.ida_ledger import Line
from benchmarks.ida_methods import GRIDS, METHODS
from benchmarks.ida_printed import SOFTBOOST, printed_figures
from benchmarks.ida_work import Chosen, Work
from benchmarks.pages import replace_between
from benchmarks.pages import row as table_row

BEGIN, END = "<!-- made by benchmarks/ida.py: begin -->", "<!-- made by benchmarks/ida.py: end -->"

TITLES: Mapping[str, str] = {"stumps": "stumps (scikit-learn)"}
CERTIFIED = ("AdaBoost", "AdaBoost_REG", "LP_REG", "QP_REG", "LPBoost", "SoftBoost", "ERLPBoost")
NONE = ""


def write_page(page: Path, work: Work, made_on: Mapping[str, Any]) -> None:
    """Put the tables between the markers of a page, replacing what is there.

    Raises
    ------
    DataError
        The page has not both markers, in this order.
    """
    replace_between(page, BEGIN, END, tables(work, made_on))


def tables(work: Work, made_on: Mapping[str, Any]) -> str:
    """Return the tables as Markdown: errors, certified gaps, networks and parameters, and what it took."""
    finished = [(row, work.splits(row), work.choose_parameters(row)) for row in work.rows]
    rows = [(row, splits, parameters) for row, splits, parameters in finished if splits and parameters is not None]
    if not rows:
        return "No split is finished."
    parts = [
        "## Test error",
        "\n".join(_errors(rows)),
        "## Certified gaps",
        "\n".join(_gaps(rows)),
        "## Networks and chosen parameters",
        "\n".join(_parameters(rows, work)),
        "## What it took",
        _took(work, rows, made_on),
    ]
    return "\n\n".join(parts)


Finished = Sequence[tuple[Rows, list[Line], Chosen]]


def _errors(rows: Finished) -> Iterator[str]:
    """Percent, mean ± standard deviation over the splits; below each set what is printed."""
    yield from _head(["set", "splits", *(TITLES.get(name, name) for name in METHODS)])
    last = ""
    for row, splits, _ in rows:
        if last and row.name != last:
            yield _print_row(last)
        last = row.name
        cells = [_spread([100.0 * line["outcomes"][name]["error"] for line in splits]) for name in METHODS]
        yield table_row([row.name, _splits(row, splits), *cells])
    yield _print_row(last)


def _print_row(name: str) -> str:
    figures = printed_figures(name)
    marks = {method: " ‡" if method in SOFTBOOST else "" for method in METHODS}
    cells = [f"*{figures[m][0]:.1f} ± {figures[m][1]:.1f}{marks[m]}*" if m in figures else NONE for m in METHODS]
    return table_row(["*in print †*", "", *cells])


def _gaps(rows: Finished) -> Iterator[str]:
    """The largest over the splits."""
    yield from _head(["set", "splits", *CERTIFIED])
    for row, splits, _ in rows:
        cells = [_gap(max(line["outcomes"][name]["gap"] for line in splits)) for name in CERTIFIED]
        yield table_row([row.name, _splits(row, splits), *cells])


def _parameters(rows: Finished, work: Work) -> Iterator[str]:
    """Networks, values, and seconds of a core for all units of a row."""
    names = [f"{method}: {', '.join(axes)}" for method, axes in GRIDS.items()]
    yield from _head(["set", "splits", "networks: least, median, most", *names, "processor time, s"])
    for row, splits, parameters in rows:
        t = sorted(line["outcomes"]["networks"] for line in splits)
        values = [", ".join(f"{value:g}" for value in parameters[method]) for method in GRIDS]
        seconds = sum(line["cpu"] for line in [*splits, *(work.folds(row) or [])])
        networks = f"{t[0]}, {statistics.median_low(t)}, {t[-1]}"
        yield table_row([row.name, _splits(row, splits), networks, *values, f"{seconds:.0f}"])


def _took(work: Work, rows: Finished, made_on: Mapping[str, Any]) -> str:
    """Return seconds by the clock and of a core, options, versions and machine in words."""
    lines = [line for row, splits, _ in rows for line in [*splits, *(work.folds(row) or [])]]
    seconds, cpu = (sum(line[name] for line in lines) for name in ("seconds", "cpu"))
    options = work.options
    versions = ", ".join(sorted({line["version"] for line in lines}))
    return (
        f"{len(lines)} units took {cpu:.0f} s of processor time, the longest {max(line['cpu'] for line in lines):.1f} "
        f"s. This is {cpu / 120:.0f} minutes for two processes with a core each. With other work on the machine, it "
        f"took {seconds / 120:.0f} minutes of wall-clock time. "
        f"Networks: {options.rounds} rounds, K = {options.K}, {options.iterations} steps of conjugate gradients, "
        f"lambda = {options.lambda_:g}. Boosting: epsilon = {options.epsilon:g}. boostopt {versions}; "
        f"{', '.join(f'{name} {value}' for name, value in made_on.items())}."
    )


def _splits(row: Rows, splits: Sequence[Line]) -> str:
    """Return how many splits there are, of which kind, and how many are missing."""
    count = f"{len(splits)}" if len(splits) == row.splits else f"{len(splits)} of {row.splits}"
    kind = "seeded (*)" if row.kind == SEEDED else "published" if row.certain else "published (?)"
    return f"{count} {kind}"


def _spread(values: Sequence[float]) -> str:
    mean = f"{statistics.fmean(values):.1f}"
    return f"{mean} ± {statistics.stdev(values):.1f}" if len(values) > 1 else mean


def _gap(gap: float) -> str:
    return f"{gap:.0e}" if gap < 1e-4 else f"{gap:.4f}"


def _head(cells: Sequence[str]) -> list[str]:
    return [table_row(cells), f"|{'---|' * len(cells)}"]
