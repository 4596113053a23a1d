"""The problems of a page as MathML: its plain notation becomes LaTeX, and that MathML, statement by statement.

Each statement is a formula of its own and the layout is HTML's, so that a narrow screen can put things below each
other, which no formula does by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from typing import Literal
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from markupsafe import Markup

from boostopt.errors import OptionError
from boostopt.typesetting import STANDARD, PageText, PrintedProblem, Statements, latex, parse_page, symbol_table
from boostopt.typesetting.prose import Part, parts_of_prose

LONGEST = 10_000
"""Characters of the longest paragraph in which formulas are looked for."""


@dataclass(frozen=True)
class ProblemShown:
    """An optimization problem: what opens it, its objective, and its constraints with their multipliers, or None."""

    name: Markup
    opening: Markup
    objective: Markup
    constraints: tuple[tuple[Markup, Markup | None], ...]


@dataclass(frozen=True)
class StatementsShown:
    """Statements that all hold, under a name."""

    name: Markup
    rows: tuple[Markup, ...]


@dataclass(frozen=True)
class PageShown:
    """The text of a formulation's page, its formulas as MathML.

    Attributes
    ----------
    summary, sources
        What the program finds, and where it is stated.
    problems
        Primal and dual, and what else the page states as a problem.
    statements
        The conditions of optimality and further blocks.
    symbols
        Symbols with their meanings.
    """

    summary: Markup
    sources: Markup
    problems: tuple[ProblemShown, ...]
    statements: tuple[StatementsShown, ...]
    symbols: tuple[tuple[Markup, Markup], ...]


def shown(page: str, meanings: Mapping[str, str]) -> PageShown | None:
    """Return what a page says; None where it states no problems, or not in the notation of the pages.

    Parameters
    ----------
    page
        Its docstring.
    meanings
        Meanings of its parameters by name.
    """
    if "\nPrimal" not in page:
        return None
    try:
        text = parse_page(page)
        return _shown(text, meanings)
    except (OptionError, RecursionError):  # a page of one's own, or a file that was edited: its words are shown instead
        return None


def symbol(name: str) -> Markup:
    """Return a symbol by the name that is typed; the name itself where it is no symbol of the papers."""
    return mathml(latex(name)) if name in STANDARD else Markup.escape(name)


def prose(text: str) -> Markup:
    """Return a paragraph in the notation of the pages as HTML: its formulas are MathML, its code is marked.

    A paragraph of a file can be anything. If it is very long or nested very deeply, it is shown as it was typed.
    """
    try:
        parts = list(parts_of_prose(text)) if len(text) <= LONGEST else [Part(text, "words")]
    except RecursionError:
        parts = [Part(text, "words")]
    return Markup("").join(
        mathml(part.text, "inline")
        if part.kind == "formula"
        else Markup("<code>{}</code>").format(part.text.strip("`"))
        if part.kind == "code"
        else Markup.escape(part.text)
        for part in parts
    )


def mathml(formula: str, display: Literal["block", "inline"] = "block") -> Markup:
    r"""Translate LaTeX for math mode to MathML.

    Bars come as `\lvert` and `\rvert`, which latex2mathml takes for relations unless they are `\left` and `\right`; and
    it leaves no room before a function, nor around a colon.
    """
    fenced = re.sub(r"(?<!\\left)\\l([vV])ert(?![a-zA-Z])", r"\\left\\l\1ert", formula)
    fenced = re.sub(r"(?<!\\right)\\r([vV])ert(?![a-zA-Z])", r"\\right\\r\1ert", fenced)
    fenced = re.sub(r"(?<=[\w})\]]) (?=\\(?:ln|exp|max|min|operatorname)\b)", r" \\, ", fenced)
    fenced = fenced.replace(" : ", r" \; : \; ")
    # In a block, limits stand below max and sum.
    root = convert_to_element(fenced, display=display)
    root.attrib.pop("xmlns", None)  # HTML knows its MathML without
    for element in root.iter():
        # It writes characters as their entities; escaped text must stay text, so that they are resolved here.
        element.text = unescape(element.text) if element.text else element.text
    for element in root.iter():
        _mark_signs(element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _mark_signs(row: ElementTree.Element) -> None:
    """Make infinity a symbol, and a sign that follows another sign a prefix: operators stand apart from both sides."""
    before = None
    for element in row:
        if element.tag == "mo" and element.text == "\N{INFINITY}":
            element.tag = "mi"
        alone = before is None or (before.tag == "mo" and before.text not in (")", "]", "}", "|"))
        if alone and element.tag == "mo" and element.text in ("+", "-", "\N{MINUS SIGN}"):
            element.set("form", "prefix")
        before = element


def _shown(text: PageText, meanings: Mapping[str, str]) -> PageShown:
    further = [block for block in text.further if isinstance(block, PrintedProblem)]
    statements = [block for block in (text.kkt, *text.further) if isinstance(block, Statements)]
    return PageShown(
        prose(text.summary[:1].upper() + text.summary[1:]),
        prose(text.sources),
        tuple(_problem(block) for block in (text.primal, text.dual, *further)),
        tuple(
            StatementsShown(prose(block.name), tuple(_formula(row) for row in block.expressions))
            for block in statements
        ),
        tuple((_formula(name), prose(meaning)) for name, meaning in symbol_table(text, meanings)),
    )


def _problem(problem: PrintedProblem) -> ProblemShown:
    over = ", ".join(map(latex, problem.variables))
    return ProblemShown(
        prose(problem.name),
        mathml(rf"\underset{{{over}}}{{\{problem.sense}}}"),
        _formula(problem.objective),
        tuple(
            (_formula(constraint), None if multiplier is None else _formula(multiplier))
            for constraint, multiplier in problem.constraints
        ),
    )


def _formula(expression: str) -> Markup:
    return mathml(latex(expression))
