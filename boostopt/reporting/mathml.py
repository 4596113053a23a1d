"""The problems of a page as MathML: plain notation becomes LaTeX, and LaTeX becomes MathML, statement by statement.

Each statement is a formula of its own, and HTML does the layout. So a narrow screen can put statements below each
other, which a single formula cannot do.
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
from boostopt.typesetting.prose_math import ProsePart, split_prose

MAX_PROSE_LENGTH = 10_000
"""The most characters of a paragraph that is searched for formulas."""


@dataclass(frozen=True)
class ProblemMarkup:
    """An optimization problem: its opening words, its objective, and its constraints with their multipliers or None."""

    name: Markup
    opening: Markup
    objective: Markup
    constraints: tuple[tuple[Markup, Markup | None], ...]


@dataclass(frozen=True)
class StatementsMarkup:
    """Statements that hold together, under a name."""

    name: Markup
    rows: tuple[Markup, ...]


@dataclass(frozen=True)
class FormulationMarkup:
    """The text of a formulation's page, with formulas as MathML.

    Attributes
    ----------
    summary, sources
        The purpose of the program, and its references.
    problems
        Primal and dual, and further problems that the page states.
    statements
        The optimality conditions and further blocks.
    symbols
        Symbols with their meanings.
    """

    summary: Markup
    sources: Markup
    problems: tuple[ProblemMarkup, ...]
    statements: tuple[StatementsMarkup, ...]
    symbols: tuple[tuple[Markup, Markup], ...]


def formulation_markup(page: str, meanings: Mapping[str, str]) -> FormulationMarkup | None:
    """Return the content of a page; None if it states no problems, or not in the notation of the pages.

    Parameters
    ----------
    page
        The docstring of the page.
    meanings
        Meanings of its parameters by name.
    """
    if "\nPrimal" not in page:
        return None
    try:
        text = parse_page(page)
        return _formulation_markup(text, meanings)
    except (OptionError, RecursionError):  # the user's own page or an edited file: its words are shown instead
        return None


def symbol_markup(name: str) -> Markup:
    """Return a symbol by its typed name; the name itself if it is no symbol of the papers."""
    return latex_to_mathml(latex(name)) if name in STANDARD else Markup.escape(name)


def prose_markup(text: str) -> Markup:
    """Return a paragraph in the notation of the pages as HTML, with formulas as MathML and with marked code.

    A paragraph of a file can be anything. If it is very long or nested very deeply, it is shown as it was typed.
    """
    try:
        parts = list(split_prose(text)) if len(text) <= MAX_PROSE_LENGTH else [ProsePart(text, "words")]
    except RecursionError:
        parts = [ProsePart(text, "words")]
    return Markup("").join(
        latex_to_mathml(part.text, "inline")
        if part.kind == "formula"
        else Markup("<code>{}</code>").format(part.text.strip("`"))
        if part.kind == "code"
        else Markup.escape(part.text)
        for part in parts
    )


def latex_to_mathml(formula: str, display: Literal["block", "inline"] = "block") -> Markup:
    r"""Translate LaTeX for math mode to MathML.

    latex2mathml takes the bars `\lvert` and `\rvert` for relations unless they are `\left` and `\right`. It also leaves
    no space before a function, nor around a colon.
    """
    fenced = re.sub(r"(?<!\\left)\\l([vV])ert(?![a-zA-Z])", r"\\left\\l\1ert", formula)
    fenced = re.sub(r"(?<!\\right)\\r([vV])ert(?![a-zA-Z])", r"\\right\\r\1ert", fenced)
    fenced = re.sub(r"(?<=[\w})\]]) (?=\\(?:ln|exp|max|min|operatorname)\b)", r" \\, ", fenced)
    fenced = fenced.replace(" : ", r" \; : \; ")
    # In a block, limits stand below max and sum.
    root = convert_to_element(fenced, display=display)
    root.attrib.pop("xmlns", None)  # HTML needs no namespace for MathML
    for element in root.iter():
        # latex2mathml writes characters as entities. They are resolved here, but escaped text must stay text.
        element.text = unescape(element.text) if element.text else element.text
    for element in root.iter():
        _fix_signs(element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _fix_signs(row: ElementTree.Element) -> None:
    """Make infinity a symbol, and make a sign after another sign a prefix, which has no space on both sides."""
    before = None
    for element in row:
        if element.tag == "mo" and element.text == "\N{INFINITY}":
            element.tag = "mi"
        alone = before is None or (before.tag == "mo" and before.text not in (")", "]", "}", "|"))
        if alone and element.tag == "mo" and element.text in ("+", "-", "\N{MINUS SIGN}"):
            element.set("form", "prefix")
        before = element


def _formulation_markup(text: PageText, meanings: Mapping[str, str]) -> FormulationMarkup:
    further = [block for block in text.further if isinstance(block, PrintedProblem)]
    statements = [block for block in (text.kkt, *text.further) if isinstance(block, Statements)]
    return FormulationMarkup(
        prose_markup(text.summary[:1].upper() + text.summary[1:]),
        prose_markup(text.sources),
        tuple(_problem_markup(block) for block in (text.primal, text.dual, *further)),
        tuple(
            StatementsMarkup(prose_markup(block.name), tuple(_formula_markup(row) for row in block.expressions))
            for block in statements
        ),
        tuple((_formula_markup(name), prose_markup(meaning)) for name, meaning in symbol_table(text, meanings)),
    )


def _problem_markup(problem: PrintedProblem) -> ProblemMarkup:
    over = ", ".join(map(latex, problem.variables))
    return ProblemMarkup(
        prose_markup(problem.name),
        latex_to_mathml(rf"\underset{{{over}}}{{\{problem.sense}}}"),
        _formula_markup(problem.objective),
        tuple(
            (_formula_markup(constraint), None if multiplier is None else _formula_markup(multiplier))
            for constraint, multiplier in problem.constraints
        ),
    )


def _formula_markup(expression: str) -> Markup:
    return latex_to_mathml(latex(expression))
