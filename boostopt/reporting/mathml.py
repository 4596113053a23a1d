"""Problems of formulations as MathML: plain notation becomes LaTeX, and LaTeX becomes MathML, by statement.

Each statement is a separate formula, and HTML does the layout. A narrow screen can therefore put statements below each
other, which is impossible in a single formula.
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
from boostopt.typesetting.formula_recognition import ProsePart, split_prose

MAX_PROSE_LENGTH = 10_000
"""Largest number of characters of a paragraph that is searched for formulas."""


@dataclass(frozen=True)
class ProblemMarkup:
    """An optimization problem: sense with variables, objective, and constraints with their multipliers or None."""

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
    """The text of a formulation, with formulas as MathML.

    Attributes
    ----------
    summary, sources
        The purpose of the program, and the references.
    problems
        The primal, the dual and further problems.
    statements
        The optimality conditions and further statements.
    symbols
        Symbols with their meanings.
    """

    summary: Markup
    sources: Markup
    problems: tuple[ProblemMarkup, ...]
    statements: tuple[StatementsMarkup, ...]
    symbols: tuple[tuple[Markup, Markup], ...]


def formulation_markup(text: str, meanings: Mapping[str, str]) -> FormulationMarkup | None:
    """Return the text of a formulation as markup; None if the text states no problems in the notation of formulations.

    Parameters
    ----------
    text
        The docstring of the formulation.
    meanings
        Meanings of the parameters by name.
    """
    if "\nPrimal" not in text:
        return None
    try:
        return _formulation_markup(parse_page(text), meanings)
    except (OptionError, RecursionError):  # a user's formulation or an edited file: the report shows the plain text
        return None


def symbol_markup(name: str) -> Markup:
    """Return the symbol with a typed name; the name itself if it is no standard symbol."""
    return latex_to_mathml(latex(name)) if name in STANDARD else Markup.escape(name)


def prose_markup(text: str) -> Markup:
    """Return a paragraph in the notation of formulations as HTML, with formulas as MathML and with marked code.

    A paragraph of a file can have any content. A very long or very deeply nested paragraph stays as typed.
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

    latex2mathml reads the bars `\lvert` and `\rvert` as relations unless they are `\left` and `\right`. It also leaves
    no space before a function and around a colon.
    """
    formula_text = re.sub(r"(?<!\\left)\\l([vV])ert(?![a-zA-Z])", r"\\left\\l\1ert", formula)
    formula_text = re.sub(r"(?<!\\right)\\r([vV])ert(?![a-zA-Z])", r"\\right\\r\1ert", formula_text)
    formula_text = re.sub(r"(?<=[\w})\]]) (?=\\(?:ln|exp|max|min|operatorname)\b)", r" \\, ", formula_text)
    formula_text = formula_text.replace(" : ", r" \; : \; ")
    # In a block, limits are below max and sum.
    root = convert_to_element(formula_text, display=display)
    root.attrib.pop("xmlns", None)  # HTML needs no namespace for MathML
    for element in root.iter():
        # latex2mathml writes characters as entities, which are resolved here; escaped text must stay text.
        element.text = unescape(element.text) if element.text else element.text
    for element in root.iter():
        _fix_signs(element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _fix_signs(row: ElementTree.Element) -> None:
    """Make infinity a symbol, and make a sign after another sign a prefix, which has no space on both sides."""
    previous = None
    for element in row:
        if element.tag == "mo" and element.text == "\N{INFINITY}":
            element.tag = "mi"
        is_prefix = previous is None or (previous.tag == "mo" and previous.text not in (")", "]", "}", "|"))
        if is_prefix and element.tag == "mo" and element.text in ("+", "-", "\N{MINUS SIGN}"):
            element.set("form", "prefix")
        previous = element


def _formulation_markup(text: PageText, meanings: Mapping[str, str]) -> FormulationMarkup:
    """Return the parsed text of a formulation as markup."""
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
    """Return an optimization problem as markup."""
    variables = ", ".join(map(latex, problem.variables))
    return ProblemMarkup(
        prose_markup(problem.name),
        latex_to_mathml(rf"\underset{{{variables}}}{{\{problem.sense}}}"),
        _formula_markup(problem.objective),
        tuple(
            (_formula_markup(constraint), None if multiplier is None else _formula_markup(multiplier))
            for constraint, multiplier in problem.constraints
        ),
    )


def _formula_markup(expression: str) -> Markup:
    """Return a formula in plain notation as MathML."""
    return latex_to_mathml(latex(expression))
