"""Typesetting of the docstrings of formulations, as LaTeX and Markdown.

A docstring states the problems, the KKT system and remarks in a plain notation. The docstring is the only source of the
mathematics in notebooks and documentation.
"""

from boostopt.typesetting.docstring_parser import PageText, PrintedProblem, Statements, parse_page
from boostopt.typesetting.formula_recognition import typeset_prose
from boostopt.typesetting.latex_translator import latex
from boostopt.typesetting.page_rendering import (
    latex_display,
    latex_kkt,
    latex_of_formulas,
    latex_side_by_side,
    markdown_page,
)
from boostopt.typesetting.symbols import ELSEWHERE, STANDARD, symbol_table, symbols

__all__ = [
    "ELSEWHERE",
    "STANDARD",
    "PageText",
    "PrintedProblem",
    "Statements",
    "latex",
    "latex_display",
    "latex_kkt",
    "latex_of_formulas",
    "latex_side_by_side",
    "markdown_page",
    "parse_page",
    "symbol_table",
    "symbols",
    "typeset_prose",
]
