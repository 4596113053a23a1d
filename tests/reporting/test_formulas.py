"""The pages' problems as MathML: every formulation's, well-formed, with nothing of LaTeX left in it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from boostopt import get_formulation, list_formulations
from boostopt.reporting.mathml import (
    MAX_PROSE_LENGTH,
    FormulationMarkup,
    formulation_markup,
    latex_to_mathml,
    prose_markup,
    symbol_markup,
)
from boostopt.typesetting import parse_page


def tree(formula: str) -> ElementTree.Element:
    return ElementTree.fromstring(latex_to_mathml(formula))


def letters(formula: str) -> str:
    return "".join(tree(formula).itertext()).replace("\N{NO-BREAK SPACE}", " ")


def page_markup(name: str) -> FormulationMarkup:
    page = get_formulation(name)
    markup = formulation_markup(page.text, {key: parameter.meaning for key, parameter in page.parameters.items()})
    assert markup is not None
    return markup


@pytest.mark.every(2)
@pytest.mark.parametrize("name", list_formulations())
def test_every_formula_of_every_page_is_mathml(name: str) -> None:
    page, text = page_markup(name), parse_page(get_formulation(name).text)
    assert [problem.name for problem in page.problems[:2]] == [text.primal.name, text.dual.name]
    problems = [part for p in page.problems for part in (p.opening, p.objective, *(c for c, _ in p.constraints))]
    multipliers = [m for p in page.problems for _, m in p.constraints if m is not None]
    formulas = [*problems, *multipliers, *(row for block in page.statements for row in block.rows)]
    # Two openings more than there are expressions, and one expression for each variable less.
    assert len(formulas) >= len(text.expressions) - sum(len(p.variables) for p in (text.primal, text.dual))
    words = [page.summary, page.sources, *(meaning for _, meaning in page.symbols)]
    formulas += [formula for text in words for formula in re.findall("<math.*?</math>", text)]
    for formula in [*formulas, *(name for name, _ in page.symbols)]:
        root = ElementTree.fromstring(formula)
        assert root.tag == "math" and "".join(root.itertext()).strip()
        for element in root.iter():
            assert element.tag in MATHML, element.tag
            assert not set("\\&$") & set(element.text or "")


MATHML = set("math mrow mi mo mn mtext mspace msub msup msubsup mfrac munder mover munderover msqrt".split())
"""Elements of MathML Core that formulas are made of."""


def test_the_primal_of_the_entropy_by_hand() -> None:
    primal = page_markup("erlpboost").problems[0]
    assert "".join(ElementTree.fromstring(primal.opening).itertext()) == "mind,\N{GREEK SMALL LETTER GAMMA}"
    assert ElementTree.fromstring(primal.opening).find(".//munder") is not None
    constraints = ["".join(ElementTree.fromstring(c).itertext()) for c, _ in primal.constraints]
    assert constraints[0] == "U\N{DOWN TACK}d\N{LESS-THAN OR EQUAL TO}\N{GREEK SMALL LETTER GAMMA}"
    assert ["".join(ElementTree.fromstring(m).itertext()) for _, m in primal.constraints if m] == ["w", "β", "ψ"]


def test_notation_beyond_latex2mathml_is_translated() -> None:
    # Bars are fences, so that a script is the norm's and not the bar's.
    norm = tree(r"\lVert d \rVert_{p}").find(".//msub")
    assert norm is not None and "".join(norm[0].itertext()) == "‖d‖" and norm[1].text != "‖"
    assert [mo.get("fence") for mo in tree(r"\lvert x \rvert").iter("mo")] == ["true", "true"]
    # There is room before a function, and around a colon.
    assert tree(r"d_{n} \ln x").find(".//mspace") is not None
    assert tree(r"x : y").find(".//mspace") is not None
    assert tree(r"- \ln x").find(".//mspace") is None


def test_signs_before_one_number_are_prefixes_and_infinity_is_a_symbol() -> None:
    signs = tree(r"x \in [-1, 1], \beta = - \rho, a - b, (c) - d").iter("mo")
    forms = [sign.get("form") for sign in signs if sign.text == "\N{MINUS SIGN}"]
    assert forms == ["prefix", "prefix", None, None]
    assert [element.tag for element in tree(r"\eta = \infty").iter() if element.text == "\N{INFINITY}"] == ["mi"]


def test_text_in_a_formula_stays_text() -> None:
    markup = latex_to_mathml(r"\text{<script>alert(1)</script> & x} < y")
    assert "<script>" not in markup
    assert letters(r"\text{<script>alert(1)</script> & x} < y") == "<script>alert(1)</script> & x<y"


def test_names_that_are_no_symbols_stay_names() -> None:
    assert symbol_markup("two_sided") == "two_sided" and symbol_markup("<b>") == "&lt;b&gt;"
    assert "".join(ElementTree.fromstring(symbol_markup("nu")).itertext()) == "\N{GREEK SMALL LETTER NU}"


def test_formulas_in_prose_are_mathml_and_the_rest_is_escaped() -> None:
    markup = prose_markup("edges of the hypotheses, e = Uᵀd, with `segment` & <script>alert(1)</script>")
    words, formula, rest = re.split("(<math.*?</math>)", markup, maxsplit=1)
    assert words == "edges of the hypotheses, "
    assert 'display="inline"' in formula
    assert "".join(ElementTree.fromstring(formula).itertext()) == "e=U\N{DOWN TACK}d"
    assert rest.startswith(", with <code>segment</code> &amp; ") and "<script" not in rest
    assert dict(page_markup("lpboost").symbols)[symbol_markup("nu")] == prose_markup(
        get_formulation("lpboost").parameters["nu"].meaning
    )


@pytest.mark.parametrize("text", ["(" * 5000 + "x" + ")" * 5000, "x <= 1 " * MAX_PROSE_LENGTH])
def test_prose_that_is_too_deep_or_too_long_stays_as_it_was_typed(text: str) -> None:
    assert prose_markup(text) == text.replace("<", "&lt;")


@pytest.mark.parametrize(
    "page", ["", "No problems.", "Title: a.\n\nPrimal  x", "Title: a.\n\nPrimal   min_d  (" + "(" * 5000, "\nPrimal"]
)
def test_other_names_than_formulations_have_no_markup(page: str) -> None:
    assert formulation_markup(page, {}) is None
