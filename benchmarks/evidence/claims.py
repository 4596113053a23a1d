"""The claims of the papers: a line for each one, with the decision by results or by a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.evidence.experiment import Decision, Experiment, Results
from benchmarks.evidence.proved import CORRECTED, FAILS, HOLDS, PROVED
from benchmarks.evidence.sentences import PAPERS, SENTENCES, Sentence

REPRODUCES, IN_PART, DOES_NOT = "reproduces", "reproduces in part", "does not reproduce"
OPEN = "not decided yet"
VERDICTS = (REPRODUCES, IN_PART, DOES_NOT, HOLDS, CORRECTED, FAILS)
"""The verdicts, in the order of the summary."""

PART = ", so far"
"""The addition to a verdict from a part of an experiment's units."""

HEADER = (
    "| place | print says | tested here | verdict | ours | printed | command |\n"
    "| :-- | :-- | :-- | :-- | :-- | :-- | :-- |"
)

ABOUT = """\
Lines for each claim, with what print says at its place, in a sentence of ours, and what is tested here. What an
experiment decides is decided by the stored results of its units, by a comparison that stands beside the experiment,
each time these pages are made. Seven rules:

- What print shows with one random draw, which is lost, reproduces where it holds with more than half of our draws. A
  theorem reproduces where it holds in all.
- Sets are no draws. A claim about several sets is decided on each of them, and all counts stand in its line; it
  reproduces in part where it holds on some of the sets. Classes, entropies, $\\eta$ and $\\nu$ are no draws either:
  on a set a claim holds where it does in all cases that print speaks of, or in more than half where print says
  *mostly*. Counts of sets in a printed table are those of its cells: a claim about two of its columns holds on a set
  where our means have the order of the printed ones. By chance they have it on half of the sets, and the claim
  reproduces in part where it holds on more.
- A case is open where a run was cut off by a limit below that of print: it took its seconds at least, and its error
  may be another one. Open cases are counted apart, and a set with open cases and without an exception is not decided.
  Where the rounds that are left out were taken without certificates, rounds and errors are theirs; their seconds are
  those of the rounds before, in proportion.
- A column of printed figures reproduces where no more of them miss ours than chance explains. A mean misses by over
  two standard errors in one of twenty cases: so two of ten sets may miss, and two of thirteen. One draw misses the
  range of ten others in two of eleven.
- A claim is counted once, also where several lines have its sets, its solvers or a test: where some hold and others do
  not it reproduces in part, and a test that proves or refutes it decides.
- Where print leaves something open, a set is decided in each reading of it, as a set of its own: whether the features
  of german and diabetes were scaled, and what f = 0 counts as in figures 5.1 to 5.9. What holds in one reading alone
  reproduces in part. Corrective algorithms and figures 5.28 and 5.29 were run without scaling alone.
- A claim keeps its line and its verdict where print says more than what holds here. What holds of it is a line among
  the *weaker statements* below, which are not counted.

What is proved, or is refuted by an instance, has a test that holds the verdict. Printed numbers are those of the
papers' tables and texts. Statements that are misprinted are in the [errata](../errata.md), with what is right;
[all sentences](sentences.md) of the papers that state a result are in a list, each with its lines or the reason for
none."""


WHY_OPEN = (
    "our runs there have a part of the rounds of print, and errors may change with the others. The search for the best "
    "parameters with all rounds of print takes some thirty hours of a core."
)
"""The reason for which claims are open."""


@dataclass(frozen=True)
class Line:
    """A line of the page.

    Attributes
    ----------
    sentence
        What print says.
    cells
        What is tested, the verdict, our figure, the printed one and the command.
    is_weaker
        Whether less is tested than print says.
    by_set
        Whether the claim holds on each set, for a claim that is decided set by set.
    """

    sentence: Sentence
    cells: tuple[str, str, str, str, str]
    is_weaker: bool = False
    by_set: Mapping[str, bool] = field(default_factory=dict[str, bool])

    @property
    def verdict(self) -> str:
        """The verdict without its addition."""
        return self.cells[1].removesuffix(PART)

    @property
    def row(self) -> str:
        """The line in Markdown."""
        return f"| {' | '.join(map(_cell, (self.sentence.place, self.sentence.says, *self.cells)))} |"


def lines_of(experiments: Sequence[Experiment], results: Mapping[str, Results]) -> list[Line]:
    """Return all lines, those that experiments decide first."""
    return [*_measured(experiments, results), *_proved()]


def claims_page(experiments: Sequence[Experiment], results: Mapping[str, Results]) -> str:
    """Return the page, the papers one after another."""
    lines = lines_of(experiments, results)
    printed_lines, weaker_lines = ([line for line in lines if line.is_weaker == weaker] for weaker in (False, True))
    verdicts = joint_verdicts(printed_lines)
    n_decided = sum(verdict != OPEN for verdict in verdicts.values())
    n_so_far = len({line.sentence.key for line in printed_lines if line.cells[1].endswith(PART)})
    partly = f", {n_so_far} of them from a part of the units so far" if n_so_far else ""
    parts = [
        f"# What reproduces and what does not\n\n{ABOUT}\n\n"
        f"Of {len(verdicts)} claims {n_decided} are decided{partly}.{_open_words(printed_lines)}\n\n"
        f"{_counts(verdicts)}"
    ]
    if by_set := _counts_by_set(printed_lines):
        parts.append(by_set)
    for paper in PAPERS.values():
        rows = [line.row for line in printed_lines if line.sentence.paper == paper]
        if rows:
            parts.append("\n".join([f"## {paper}\n", HEADER, *rows]))
    if weaker_lines:
        parts.append(
            "\n".join([
                "## Weaker statements\n\nWhat holds where the printed claim does not; its own line is above.\n",
                HEADER,
                *(line.row for line in weaker_lines),
            ])
        )  # fmt: skip
    return "\n\n".join(parts) + "\n"


def verdicts_by_sentence(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return the verdicts of all lines of each sentence, in words, by its key."""
    verdicts = dict[str, list[str]]()
    for line in lines:
        addition = ", a weaker statement" if line.is_weaker else ""
        verdicts.setdefault(line.sentence.key, []).append(f"{line.cells[1]}{addition}")
    return verdicts


def joint_verdicts(lines: Sequence[Line]) -> dict[str, str]:
    """Return the verdict on each sentence from all its lines, by its key.

    A test that proves or refutes a sentence decides it. Where measured lines differ, and one of them reproduces at
    least in part, the sentence reproduces in part.
    """
    verdicts_by_key = dict[str, list[str]]()
    for line in lines:
        verdicts_by_key.setdefault(line.sentence.key, []).append(line.verdict)
    return {key: _joint_verdict(verdicts) for key, verdicts in verdicts_by_key.items()}


def _joint_verdict(verdicts: Sequence[str]) -> str:
    """Return the verdict on a sentence whose lines have these."""
    for verdict in (FAILS, CORRECTED, HOLDS):
        if verdict in verdicts:
            return verdict
    if len(set(verdicts)) == 1:
        return verdicts[0]
    if REPRODUCES in verdicts or IN_PART in verdicts:
        return IN_PART
    return DOES_NOT


def _open_words(lines: Sequence[Line]) -> str:
    """Return which claims the stored runs leave open, with the reason; "" where none is."""
    places = list(dict.fromkeys(line.sentence.place for line in lines if line.verdict == OPEN and line.cells[2]))
    return f" Open are those of {', '.join(places)}: {WHY_OPEN}" if places else ""


def _counts(verdicts: Mapping[str, str]) -> str:
    """Return the verdicts on the sentences of each paper, counted."""
    rows = list[str]()
    for paper in PAPERS.values():
        counts = Counter(verdict for key, verdict in verdicts.items() if SENTENCES[key].paper == paper)
        if counts:
            rows.append(f"| {paper} | {' | '.join(str(counts[verdict] or '') for verdict in VERDICTS)} |")
    return "\n".join([f"| paper | {' | '.join(VERDICTS)} |", f"| :-- {'| --: ' * len(VERDICTS)}|", *rows])


def _counts_by_set(lines: Sequence[Line]) -> str:
    """Return on how many claims that are decided set by set each set is as print says; "" where there are none."""
    rows = list[str]()
    for paper in PAPERS.values():
        decided = _outcomes_by_set(line for line in lines if line.sentence.paper == paper)
        for name in dict.fromkeys(name for by_set in decided for name in by_set):
            outcomes = [by_set[name] for by_set in decided if name in by_set]
            rows.append(f"| {paper} | {name} | {sum(outcomes)} | {len(outcomes) - sum(outcomes)} |")
    if not rows:
        return ""
    return "\n".join(
        [
            "Claims that are decided set by set:\n",
            "| paper | set | holds | does not |\n| :-- | :-- | --: | --: |",
            *rows,
        ]
    )


def _outcomes_by_set(lines: Iterable[Line]) -> list[dict[str, bool]]:
    """Return for each sentence that is decided set by set whether all its lines hold on each set."""
    outcomes = dict[str, dict[str, bool]]()
    for line in lines:
        of_sentence = outcomes.setdefault(line.sentence.key, {})
        for reading, is_true in line.by_set.items():
            name = reading.partition(" (")[0]
            of_sentence[name] = of_sentence.get(name, True) and is_true
    return list(outcomes.values())


def _cell(text: str) -> str:
    """Return a text as it stands in a cell: a bar would end it."""
    return text.replace("|", "\\|")


def _verdict(decision: Decision) -> str:
    if decision.holds:
        return REPRODUCES
    if decision.is_partial:
        return IN_PART
    return OPEN if decision.holds is None else DOES_NOT


def _measured(experiments: Sequence[Experiment], results: Mapping[str, Results]) -> Iterator[Line]:
    """Yield the claims that experiments decide."""
    for experiment in experiments:
        units = results[experiment.name]
        is_part = any(parameters not in units for parameters in experiment.units(False, units))
        for claim in experiment.claims:
            decision = claim.decide(units) if len(units) else None
            command = f"`--only {experiment.name}`"
            if decision is None:
                cells = (claim.says, OPEN, "", "", command)
                yield Line(SENTENCES[claim.sentence], cells, claim.is_weaker)
                continue
            verdict = f"{_verdict(decision)}{PART if is_part and decision.holds is not None else ''}"
            cells = (claim.says, verdict, decision.ours, decision.printed_figure, command)
            yield Line(SENTENCES[claim.sentence], cells, claim.is_weaker, decision.by_set)


def _proved() -> Iterator[Line]:
    """Yield the claims that tests decide."""
    for claim in PROVED:
        command = f"`{claim.test.split('::')[1]}`"
        cells = (claim.says, claim.verdict, claim.ours, claim.printed_figure, command)
        yield Line(SENTENCES[claim.sentence], cells, claim.is_weaker)
