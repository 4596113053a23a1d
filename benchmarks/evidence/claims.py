"""The claims of the papers: a line for each one, with the decision by results or by a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.evidence.experiment import Experiment, Results
from benchmarks.evidence.proved import PROVED

PAPERS = {
    "dissertation": "Glocer 2009",
    "dissertation_pictures": "Glocer 2009",
    "softboost": "Warmuth, Glocer and Rätsch 2007",
    "soft_margins": "Rätsch, Onoda and Müller 2001",
    "soft_margins_table": "Rätsch, Onoda and Müller 2001",
    "dynamics": "Rudin, Daubechies and Schapire 2004",
    "equivalence": "Shalev-Shwartz and Singer 2008",
}
"""The paper of each page."""

VERDICTS = {True: "reproduces", False: "does not reproduce"}
PART = ", so far"
"""The addition to a verdict from a part of an experiment's units."""

HEADER = "| place | claim | verdict | ours | printed | command |\n| :-- | :-- | :-- | :-- | :-- | :-- |"

ABOUT = """\
One line for each claim. What an experiment decides is decided by the stored results of its units, by a comparison that
stands beside the experiment, each time these pages are made. What print shows with one random draw, which is lost,
reproduces where it holds with more than half of our draws; a theorem, where it holds in all; a column of printed means,
where no more of them miss ours by over two standard errors than chance explains: one of seven sets, two of ten. What is
proved, or is refuted by an instance, has a test that holds the verdict. Printed numbers are those of the papers' tables
and texts.
Statements that are misprinted are in the [errata](../errata.md), with what is right."""


@dataclass(frozen=True)
class Line:
    """A line of the page.

    Attributes
    ----------
    paper
        Whose claim it is.
    cells
        Place, claim, verdict, our figure, the printed one and the command.
    decided
        Whether the verdict is known.
    """

    paper: str
    cells: tuple[str, str, str, str, str, str]
    decided: bool


def claims_page(experiments: Sequence[Experiment], results: Mapping[str, Results]) -> str:
    """Return the page, the papers one after another."""
    lines = [*_measured(experiments, results), *_proved()]
    decided = sum(line.decided for line in lines)
    so_far = sum(line.cells[2].endswith(PART) for line in lines)
    partly = f", {so_far} of them from a part of the units so far" if so_far else ""
    parts = [f"# What reproduces and what does not\n\n{ABOUT}\n\nOf {len(lines)} claims {decided} are decided{partly}."]
    for paper in dict.fromkeys(PAPERS.values()):
        rows = [f"| {' | '.join(map(_cell, line.cells))} |" for line in lines if line.paper == paper]
        if rows:
            parts.append("\n".join([f"## {paper}\n", HEADER, *rows]))
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Return a text as it stands in a cell: a bar would end it."""
    return text.replace("|", "\\|")


def _measured(experiments: Sequence[Experiment], results: Mapping[str, Results]) -> Iterator[Line]:
    """Yield the claims that experiments decide."""
    for experiment in experiments:
        units = results[experiment.name]
        part = any(parameters not in units for parameters in experiment.units(False, units))
        for claim in experiment.claims:
            decision = claim.decide(units) if len(units) else None
            verdict = "not decided yet" if decision is None else f"{VERDICTS[decision.holds]}{PART if part else ''}"
            ours, printed_value = ("", "") if decision is None else (decision.ours, decision.printed_figure)
            command = f"`--only {experiment.name}`"
            cells = (claim.place, claim.says, verdict, ours, printed_value, command)
            yield Line(PAPERS[experiment.page], cells, decision is not None)


def _proved() -> Iterator[Line]:
    """Yield the claims that tests decide."""
    for claim in PROVED:
        cells = (
            claim.place,
            claim.says,
            claim.verdict,
            claim.ours,
            claim.printed_figure,
            f"`{claim.test.split('::')[1]}`",
        )
        yield Line(claim.paper, cells, True)
