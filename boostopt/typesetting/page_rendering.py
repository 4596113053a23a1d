"""Renderers of a parsed formulation docstring: display mathematics for notebooks, and a documentation page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest

from boostopt.typesetting.docstring_parser import PageText, PrintedProblem, Statements, parse_page
from boostopt.typesetting.formula_recognition import display_to_markdown, escape_markdown, split_prose, typeset_prose
from boostopt.typesetting.latex_translator import latex
from boostopt.typesetting.symbols import symbol_table

SUBJECT_TO = r"\text{s.t.}"
MAX_ROW_LENGTH = 100
"""Sum of the lengths of the longest expressions of two problems, as typed, up to which they stand side by side."""


def latex_side_by_side(page: PageText) -> str:
    """Return the primal and the dual of a formulation side by side, for display math in LaTeX, MathJax and KaTeX.

    Raises
    ------
    OptionError
        An expression cannot be translated.
    """
    return _problems_array(page.primal, page.dual)


def latex_kkt(page: PageText) -> str:
    """Return the KKT system of a formulation, one statement in a row, for display math in LaTeX, MathJax and KaTeX.

    Raises
    ------
    OptionError
        An expression cannot be translated.
    """
    return _aligned_rows(page.kkt)


def markdown_page(page: PageText, meanings: Mapping[str, str]) -> str:
    """Return the documentation page of a formulation as Markdown, with display math between double dollars.

    Parameters
    ----------
    page
        The parsed docstring.
    meanings
        Meanings of symbols, as in `symbol_table`.

    Returns
    -------
    Title, summary, primal and dual (below each other if they are too wide), KKT system, further blocks, symbols, prose
    and sources.

    Raises
    ------
    OptionError
        An expression cannot be translated, or a symbol has no meaning.
    """
    parts = [
        f"# {_escape_markdown_text(page.title)}",
        typeset_prose(page.summary[:1].upper() + page.summary[1:]),
        "## Primal and dual",
        *_primal_and_dual(page),
    ]
    for block in (page.kkt, *page.further):
        parts += [
            f"## {typeset_prose(block.name)}",
            _display_math(_problems_array(block) if isinstance(block, PrintedProblem) else _aligned_rows(block)),
        ]
    rows = [f"| ${latex(symbol)}$ | {typeset_prose(meaning)} |" for symbol, meaning in symbol_table(page, meanings)]
    parts += ["## Symbols", "\n".join(["| symbol | meaning |", "|---|---|", *rows])]
    if page.prose:
        # An indented paragraph is a display. If it cannot be translated, Markdown shows it as typed.
        parts += [
            "## Remarks",
            *(
                (display_to_markdown(text) or text) if text[:1].isspace() else typeset_prose(text)
                for text in page.prose
            ),
        ]
    parts += ["## Sources", typeset_prose(page.sources)]
    return "\n\n".join(parts) + "\n"


def _primal_and_dual(page: PageText) -> list[str]:
    """Return the two problems as Markdown, side by side if they are narrow enough, else below each other."""
    problems = (page.primal, page.dual)
    if sum(max(map(len, problem.expressions)) for problem in problems) <= MAX_ROW_LENGTH:
        return [_display_math(latex_side_by_side(page))]
    return [part for problem in problems for part in (f"**{problem.name}**", _display_math(_problems_array(problem)))]


def _problems_array(*problems: PrintedProblem) -> str:
    """Return problems side by side in two columns each, a constraint a row; several problems have names above them."""
    # A name has no width, so that it does not widen the first column.
    names = [rf"\rlap{{\textbf{{{problem.name}}}}} & " for problem in problems] if len(problems) > 1 else [""]
    sides = [[*filter(None, [name]), *_problem_rows(problem)] for name, problem in zip(names, problems, strict=True)]
    rows = [" & ".join(cells) for cells in zip_longest(*sides, fillvalue=" & ")]
    columns = "l" * 2 * len(problems)
    body = " \\\\[1ex]\n".join(rows)
    return f"\\begin{{array}}{{{columns}}}\n{body}\n\\end{{array}}"


def _problem_rows(problem: PrintedProblem) -> list[str]:
    """Return a problem as rows of two cells."""
    variables = rf"_{{{', '.join(map(latex, problem.variables))}}}"
    rows = [rf"\displaystyle\{problem.sense}{variables} & {_expression_cell(problem.objective, None)}"]
    for k, (constraint, multiplier) in enumerate(problem.constraints):
        rows.append(f"{SUBJECT_TO if k == 0 else ''} & {_expression_cell(constraint, multiplier)}")
    return rows


def _expression_cell(expression: str, multiplier: str | None) -> str:
    """Return an expression, with its multiplier after a colon, and a space before the next column."""
    suffix = rf" \;:\; {latex(multiplier)}" if multiplier is not None else ""
    return rf"\displaystyle {latex(expression)}{suffix} \qquad"


def _aligned_rows(block: Statements) -> str:
    """Return statements below each other."""
    body = " \\\\[0.5ex]\n".join(f"& {latex(expression)}" for expression in block.expressions)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def _display_math(text: str) -> str:
    """Return LaTeX as a display in Markdown."""
    return f"$$\n{text}\n$$"


def _escape_markdown_text(text: str) -> str:
    """Return text for Markdown, with all characters of markup escaped except in code between backticks."""
    pieces = re.split(r"(`+[^`]+`+)", text)
    return "".join(piece if k % 2 else escape_markdown(piece) for k, piece in enumerate(pieces))


def latex_of_formulas(F: str | None, G: str | None) -> str | None:
    """Return a program whose F or G are sums of one formula, for a notebook; None if neither is.

    Parameters
    ----------
    F, G
        The term of each example and of each edge as LaTeX; None for a function that is no such sum.
    """
    if F is None and G is None:
        return None
    lines = [r"\min_{d} \quad & F(d) + G(e), \quad e = U^{\top} d"]
    if F is not None:
        lines.append(rf"& F(d) = \sum_{{n}} \left( {F} \right), \quad 0 \le d_n \le u_n, \; \textstyle\sum_n d_n = 1")
    if G is not None:
        lines.append(rf"& G(e) = \sum_{{q}} \left( {G} \right)")
    body = " \\\\[0.5ex]\n".join(lines)
    return _display_math(f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}")


def latex_display(docstring: str, meanings: Mapping[str, str]) -> str | None:
    """Return primal and dual side by side, KKT system and table of symbols, for a notebook; None without problems.

    Parameters
    ----------
    docstring
        The docstring of a formulation; the result is None if it states no `Primal`.
    meanings
        The meanings of the formulation's parameters, by name.
    """
    if "\nPrimal" not in docstring:
        return None
    page = parse_page(docstring)
    rows = [f"{latex(symbol)} & {_prose_to_latex(meaning)}" for symbol, meaning in symbol_table(page, meanings)]
    table = "\\begin{array}{ll}\n" + " \\\\\n".join(rows) + "\n\\end{array}"
    kkt = f"\\textbf{{{page.kkt.name}}} \\\\[1ex]\n{latex_kkt(page)}"
    body = " \\\\[3ex]\n".join((latex_side_by_side(page), kkt, table))
    return _display_math(f"\\begin{{array}}{{l}}\n{body}\n\\end{{array}}")


def _prose_to_latex(prose: str) -> str:
    """Return prose for math mode, with words and code as text."""
    parts = split_prose(prose)
    return "".join(
        part.text if part.kind == "formula" else rf"\text{{{_escape_latex_text(part.text)}}}" for part in parts
    )


def _escape_latex_text(words: str) -> str:
    """Return plain words for the text mode of LaTeX, without backticks and with special characters escaped."""
    return re.sub(r"([&%$#_{}])", r"\\\1", words.replace("`", "")).replace("^", r"\^{}")
