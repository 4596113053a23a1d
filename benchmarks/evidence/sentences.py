"""The sentences of the papers that state a result: a list, and a page with the lines of each or the reason for none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.evidence.experiment import printed_numbers

PAPERS = {
    "T": "Glocer 2009",
    "N": "Warmuth, Glocer and Rätsch 2007",
    "R": "Rätsch, Onoda and Müller 2001",
    "D": "Rudin, Daubechies and Schapire 2004",
    "S": "Shalev-Shwartz and Singer 2008",
}
"""The papers, by the letter that keys of sentences begin with."""


@dataclass(frozen=True)
class Sentence:
    """Sentence of a paper that states a result.

    Attributes
    ----------
    key
        Its key, which begins with the letter of the paper.
    place
        Where it stands.
    says
        What print says there, a sentence of ours.
    same_as
        The key of another sentence that says the same; "" for none.
    erratum
        The erratum that decides it, a formula that is misprinted; "" for none.
    reason
        Why no line decides it; "" where one does.
    """

    key: str
    place: str
    says: str
    same_as: str = ""
    erratum: str = ""
    reason: str = ""

    @property
    def paper(self) -> str:
        """The paper."""
        return PAPERS[self.key.partition(" ")[0]]


SENTENCES: Mapping[str, Sentence] = {row["key"]: Sentence(**row) for row in printed_numbers("sentences")}
"""All sentences, by their keys, in the order of the papers."""

ABOUT = """\
The sentences of the five papers that state a result, in words of ours, each with the lines of the
[page of claims](claims.md) that decide it, or with the reason why none does. The list holds what the notes and the
printed numbers at hand have of the papers: where a paper's text says more than these, a sentence is missing. What a
misprinted formula states is decided on the page of [errata](../errata.md)."""


def sentences_page(verdicts: Mapping[str, Sequence[str]]) -> str:
    """Return the page.

    Parameters
    ----------
    verdicts
        The verdicts of the lines of each sentence, by its key.
    """
    n_decided = sum(bool(verdicts.get(sentence.key)) for sentence in SENTENCES.values())
    n_errata, n_same, n_reasons = (
        sum(bool(getattr(sentence, name)) for sentence in SENTENCES.values())
        for name in ("erratum", "same_as", "reason")
    )
    counts = (
        f"Of {len(SENTENCES)} sentences {n_decided} have lines of their own, {n_same} say what another one says, "
        f"{n_errata} are decided by an erratum, and {n_reasons} have a reason for none."
    )
    parts = [f"# What the papers state\n\n{ABOUT}\n\n{counts}"]
    for paper in PAPERS.values():
        rows = [
            f"| {sentence.place} | {_cell(sentence.says)} | {_cell(_line(sentence, verdicts))} |"
            for sentence in SENTENCES.values()
            if sentence.paper == paper
        ]
        parts.append("\n".join([f"## {paper}\n", "| place | print says | lines |\n| :-- | :-- | :-- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _line(sentence: Sentence, verdicts: Mapping[str, Sequence[str]]) -> str:
    """Return the verdicts on a sentence, or why there are none."""
    if lines := verdicts.get(sentence.key):
        return "; ".join(lines)
    if sentence.same_as:
        rival = SENTENCES[sentence.same_as]
        return f"{'; '.join(verdicts.get(rival.key, ('not decided yet',)))}: as {rival.place} of {rival.paper}"
    return f"erratum {sentence.erratum}" if sentence.erratum else f"none: {sentence.reason}"


def _cell(text: str) -> str:
    """Return a text as it stands in a cell: a bar would end it."""
    return text.replace("|", "\\|")
