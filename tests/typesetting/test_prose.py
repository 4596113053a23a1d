"""Formulas in the prose of the pages are found without marks, and nothing else is taken for one."""

from __future__ import annotations

import re
from typing import Any

import pytest

import boostopt
from boostopt.typesetting import latex, parse_page, typeset_prose
from boostopt.typesetting.formula_recognition import display_to_markdown
from boostopt.typesetting.symbols import STANDARD

FORMULAS = {
    "Multipliers are named after the colon; e = Uᵀd, m = Uw.": ["e = Uᵀd", "m = Uw"],
    "the step of algorithm 4.1 is clip(x . d(v) / 2, 0, 1), and w >= 0.": ["clip(x . d(v) / 2, 0, 1)", "w >= 0"],
    "d proportional to d0 exp(-(b/2) u - penalty).": ["d", "d0 exp(-(b/2) u - penalty)"],
    "The source minimizes ln sum_n exp(-m_n) over v >= 0 (printed: 1/2).": ["ln sum_n exp(-m_n)", "v >= 0", "1/2"],
    "A copy of an example in psi >= 0, as the sum of c is; C is a price.": ["psi >= 0", "c", "C"],
    "alpha goes to inf; u in {-1, +1}, and for u in [-1, 1] it is a root.": [
        "alpha",
        "inf",
        "u in {-1, +1}",
        "u in [-1, 1]",
    ],
    "The soft margin P_LP of LPBoost at gamma = P_LP.": ["P_LP", "gamma = P_LP"],
    "Here 1 / C a bound of the fraction, a y + b / 2 a conjugate.": ["1 / C", "a y + b / 2"],
    "the largest of |d_n| and ||w||_1 <= 1, inside [0, 1]": ["|d_n|", "||w||_1 <= 1", "[0, 1]"],
}

NO_FORMULAS = [
    "Rudin, Daubechies and Schapire's steps, (3.16) and (4.12), theorem 3.10 of 2004.",
    "In colboost 0.1.5 the 1-norm is bounded, see T38 (printed: a maximum), i.e. the sum.",
    "Two-sided, e.g. a row with 10 examples; LP_REG-AdaBoost has one.",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_found_and_parted_by_punctuation(text: str) -> None:
    formulas = re.findall(r"\\$|\$([^$]+)\$", typeset_prose(text))
    assert formulas == [latex(formula) for formula in FORMULAS[text]]


@pytest.mark.parametrize("text", NO_FORMULAS)
def test_prose_stays_prose(text: str) -> None:
    assert "$" not in typeset_prose(text)


def test_prose_keeps_code_and_escapes_markup() -> None:
    assert typeset_prose("With `segment` and keep_faultless=False, w is *free* at $5.") == (
        r"With `segment` and `keep_faultless=False`, $w$ is \*free\* at \$5."
    )


def test_prose_without_a_translation_stays_as_typed() -> None:
    assert typeset_prose("The value w_ is open, and (w too.") == r"The value $w$\_ is open, and ($w$ too."
    assert display_to_markdown("    a table of words") is None and display_to_markdown("    w = (2") is None


@pytest.mark.parametrize("name", boostopt.list_formulations())
def test_no_relation_of_a_page_is_left_in_its_prose(name: str) -> None:
    """Relations, sums and powers are formulas wherever they stand."""
    page = parse_page(boostopt.get_formulation(name).text)
    for text in page.prose:
        display = display_to_markdown(text) if text[:1].isspace() else None
        outside = re.sub(r"\$[^$]+\$|`[^`]+`", "", typeset_prose(text)) if display is None else ""
        assert not re.search(r"[<>=^]|\bsum_|\\_[a-z]\b|Uᵀ", outside), outside


def test_powers_of_ten_have_either_sign() -> None:
    assert latex("[1e-100, 1e+100]") == "[10^{-100}, 10^{100}]" and latex("2.5e+3") == r"2.5 \cdot 10^{3}"


def test_meanings_of_symbols_have_formulas() -> None:
    assert typeset_prose(STANDARD["e"]) == r"edges of the hypotheses, $e = U^{\top} d$"
    assert "$\\frac{c}{\\nu}$" in typeset_prose(STANDARD["nu"])


def test_intervals_negative_numbers_and_powers_of_ten_are_formulas() -> None:
    assert typeset_prose("in (0, 1), in [0, 1) or 1e-9, near -1; 3 of 4 (and 2, 3)") == (
        r"in $(0, 1)$, in $[0, 1)$ or $10^{-9}$, near $-1$; 3 of 4 (and 2, 3)"
    )
    assert typeset_prose("Shen and Li 2010b, 32 (12), (7) to (13)") == "Shen and Li 2010b, 32 (12), (7) to (13)"


def test_a_capital_in_the_middle_of_a_sentence_is_a_symbol() -> None:
    assert typeset_prose("A bound. Where A has 1: A cap (A rule), and A is small.") == (
        "A bound. Where $A$ has 1: A cap (A rule), and $A$ is small."
    )


def test_notebooks_show_the_formulas_in_meanings() -> None:
    page: Any = boostopt.get_formulation("lpboost")
    latex_page = page._repr_latex_() or ""
    assert r"share the weight: each gets at most }\frac{c}{\nu} \\" in latex_page
    assert r"e & \text{edges of the hypotheses, }e = U^{\top} d \\" in latex_page
    assert r"\textbf{KKT} \\[1ex]" in latex_page and r"w_{q} (\gamma - e_{q}) = 0" in latex_page
    assert "Uᵀ" not in latex_page and "c / nu" not in latex_page


def test_code_on_the_pages_is_code() -> None:
    """Between backticks is what one types in Python; formulas need no marks."""
    texts = [boostopt.get_formulation(name).text for name in boostopt.list_formulations()]
    spans = {
        span for text in texts for paragraph in parse_page(text).prose for span in re.findall("`([^`]*)`", paragraph)
    }
    assert spans == {"segment", "two_sided", "logistic+l1_ball", 'update="total"'}
    typeset = [typeset_prose(paragraph) for text in texts for paragraph in parse_page(text).prose]
    assert {span for text in typeset for span in re.findall("`([^`]*)`", text)} == {*spans, "keep_faultless=False"}
