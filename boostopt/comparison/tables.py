"""Tables for people: a comparison, a certificate, formulations against backends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from boostopt.backends.base import Backend, Capability
from boostopt.backends.isolated import PREFIX
from boostopt.certificate import Certificate
from boostopt.comparison.comparing import Comparison
from boostopt.comparison.rows import AUTO, Row
from boostopt.explanation import PROOFS
from boostopt.formulation import Formulation
from boostopt.program import Program
from boostopt.solution import PHASES
from boostopt.words import interval

STYLES = {"bounded": "green", "checked": "cyan", "claimed": "yellow", "none": "red", "not run": "dim"}
BLAMED = 5


@dataclass(frozen=True)
class ComparisonTable:
    """The rows with verdicts and intervals, below them each solver's own words and what follows from all together.

    A narrow terminal gets fewer columns; what they would hold stands below.
    """

    comparison: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layouts = [self._table(7), self._table(5), self._table(5, interval=False)]
        table = fitting(console, options, layouts)
        yield Text(self.comparison.program.headline, "bold")
        yield table
        for row in self.comparison.rows:
            yield _details(self.comparison, row, with_interval=table is layouts[-1])
        yield from _conclusions(self.comparison)

    def _table(self, columns: int, interval: bool = True) -> Table:
        """The first columns, the most important ones."""
        table = Table()
        table.add_column("backend", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        if interval:
            table.add_column("certified interval of the optimum", overflow="fold", min_width=16)
        table.add_column("gap", justify="right", no_wrap=True)
        table.add_column("seconds", justify="right", no_wrap=True)
        if columns > 5:
            table.add_column("overlaps", justify="center")
            table.add_column("iterations", justify="right", no_wrap=True)
        for row in self.comparison.rows:
            name, verdict, *rest = _cells(self.comparison, row)[:columns]
            table.add_row(*([name, verdict, *rest] if interval else [folded(row.backend), verdict, *rest[1:]]))
        return table


def fitting(console: Console, options: ConsoleOptions, layouts: Sequence[Table]) -> Table:
    """Return the first layout in which nothing is cut off, the last one if there is none."""

    def fits(table: Table) -> bool:
        lines = list(Segment.split_lines(console.render(table, options)))
        cut = any("\N{HORIZONTAL ELLIPSIS}" in segment.text for line in lines for segment in line)
        return not cut and max(map(Segment.get_line_length, lines)) <= options.max_width

    return next((table for table in layouts[:-1] if fits(table)), layouts[-1])


def folded(name: str) -> Text:
    """Return the name of a backend over several lines."""
    return Text(name.replace(":", ":\n"))


def certificate_table(program: Program, certificate: Certificate, tol: float) -> RenderableType:
    """Return the interval, the residuals of the answer as it came, and who is to blame for the gap."""
    table = Table(title=Text(program.headline, "bold"), title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    narrow = certificate.scaled_gap <= tol
    table.add_row("optimum certified in", Text(certificate.words))
    table.add_row("gap", f"{certificate.gap:.2e}  (relative {certificate.relative_gap:.2e}, slack included)")
    table.add_row(f"as narrow as {tol:g}", Text("yes" if narrow else "no", style="green" if narrow else "red"))
    if not certificate.infeasible:
        table.add_row("upper end proved by", PROOFS[certificate.d_is] if np.isfinite(certificate.upper) else "nothing")
    for condition, residual in certificate.kkt.residuals.items():
        words = f"{residual:.2e}" if np.isfinite(residual) else "not given or not finite"
        table.add_row(Text(f"violates {condition} by"), words)
    table.add_row("examples to blame", _blamed(certificate.example_gaps))
    table.add_row("hypotheses to blame", _blamed(certificate.hypothesis_gaps))
    return table


def support_table(
    formulations: Iterable[Formulation[Any]], support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]
) -> RenderableType:
    """Return formulations against backends, which have letters: yes, or the number of the reason below why not."""
    table = Table(title="formulations x backends", title_justify="left", title_style="bold", padding=(0, 0))
    table.add_column("formulation", no_wrap=True)
    table.add_column("parameters", no_wrap=True)
    letters = [chr(ord("A") + k) if k < 26 else str(k) for k in range(len(backends))]
    for letter in letters:
        table.add_column(Text(letter), justify="center", min_width=4)
    reasons = list[str]()
    for formulation in formulations:
        cells = list[RenderableType]()
        for backend in backends:
            able = support[formulation.name][backend.name]
            if not able and able.reason not in reasons:
                reasons.append(able.reason)
            cells.append(Text("yes", "green") if able else Text(f"({reasons.index(able.reason) + 1})", "red"))
        names = ", ".join(name if p.required else f"[{name}]" for name, p in formulation.parameters.items())
        table.add_row(Text(formulation.name), Text(names), *cells)
    legend = [Text(f"{letter}  {b.name} {b.version}") for letter, b in zip(letters, backends, strict=True)]
    return Group(table, *legend, Text(), *(Text(f"({k + 1}) {reason}") for k, reason in enumerate(reasons)))


def _cells(comparison: Comparison, row: Row) -> list[RenderableType]:
    """The cells of a row; `Text` where the words are not ours, for rich reads brackets in a string as its markup."""
    if row.solution is None:
        return [Text(row.backend), Text("not run", STYLES["not run"]), Text(row.reason, "dim"), "", "", "", ""]
    solution, certificate = row.solution, row.solution.certificate
    verdict = solution.verdict.name.lower()
    clashes = comparison.clashes(row)
    by = f"\n-> {row.answered_by}" if row.backend == AUTO else ""
    return [
        Text(row.backend + by),
        Text(verdict, STYLES[verdict]),
        Text(certificate.words),
        f"{certificate.gap:.1e}",
        f"{solution.times['total']:.3f}",
        Text(f"NO: {', '.join(clashes)}", "bold red") if clashes else Text("yes", "green"),
        "-" if solution.iterations is None else str(solution.iterations),
    ]


def _details(comparison: Comparison, row: Row, with_interval: bool = False) -> Text:
    """What a solver says, the form of its best answer, what went wrong, and where the time went, in a line."""
    if row.solution is None:
        return Text(f"{row.backend}: not run. {row.reason.removesuffix('.')}.", "dim")
    solution = row.solution
    form = f"best of {len(solution.attempts)}: {solution.best.form}" if solution.best else "no answer"
    clashes = comparison.clashes(row)
    tried = [name.removeprefix(PREFIX) for name in solution.path]
    printed = row.printed.strip().splitlines()
    parts = [
        f'{row.backend} says "{solution.solver_status}"',
        *([f"certified: {solution.certificate.words}"] if with_interval else []),
        *([f"answered by {row.answered_by}, tried {', '.join(tried)}"] if row.backend == AUTO else []),
        form,
        *([row.error] if row.error else []),
        *([f'{len(printed)} lines printed, the last "{printed[-1].strip()}"'] if printed else []),
        *([] if solution.iterations is None else [f"{solution.iterations} iterations"]),
        ", ".join(f"{phase} {solution.times[phase]:.3f} s" for phase in PHASES),
        *([f"contradicts {', '.join(clashes)}"] if clashes else []),
    ]
    return Text("; ".join(parts), "dim")


def _conclusions(comparison: Comparison) -> list[RenderableType]:
    if all(row.solution is None for row in comparison.rows):
        return [Text("No backend named can take this program.", "bold red")]
    if not comparison.overlap:
        return [
            Text(
                "The intervals contradict each other. Whatever the solvers did, that is a bug in boostopt: "
                "please report it with the data.",
                "bold red",
            )
        ]
    lower, upper = comparison.interval
    together = "the program is infeasible" if lower == np.inf else f"the optimum lies in {interval(lower, upper)}"
    lines: list[RenderableType] = [Text(f"All together: {together}.", "bold")]
    able = [row for row in comparison.rows if row.solution]
    reached = [row for row in able if row.reached and row.solution]
    if reached:
        fastest = min(reached, key=lambda row: row.solution.times["total"] if row.solution else np.inf)
        lines.append(Text(f"Certified to {comparison.tol:g}: {', '.join(row.backend for row in reached)}."))
        lines.append(Text(f"Fastest of them in this one run: {fastest.backend}."))
    if lower < upper == np.inf:
        lines.append(Text("No d near the answers has edges that are allowed: the program is at its limit.", "yellow"))
    short = [row.backend for row in able if not row.reached]
    if short:
        lines.append(Text(f"Not as narrow as {comparison.tol:g}: {', '.join(short)}.", "yellow"))
    return lines


def _blamed(gaps: Any) -> str:
    """The largest terms of a gap with their index."""
    worst = np.argsort(-gaps)[:BLAMED]
    return ", ".join(f"{int(k)}: {gaps[k]:.1e}" for k in worst if gaps[k] > 0) or "none"
