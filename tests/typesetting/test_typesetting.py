"""The pages' notation in LaTeX, and the docstrings of the pages as structure, display mathematics and Markdown."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import boostopt
from boostopt import OptionError, get_formulation, list_formulations
from boostopt.typesetting import (
    ELSEWHERE,
    STANDARD,
    PageText,
    PrintedProblem,
    Statements,
    latex,
    latex_kkt,
    latex_side_by_side,
    markdown_page,
    parse_page,
    symbol_table,
    symbols,
)
from boostopt.typesetting.formula_recognition import display_to_markdown
from boostopt.typesetting.page_rendering import MAX_ROW_LENGTH

PAIRS = [
    # the objectives and constraints of the papers
    (
        "gamma + (1/eta) sum_n d_n ln(d_n / d0_n)",
        r"\gamma + \frac{1}{\eta} \sum_{n} d_{n} \ln\left(\frac{d_{n}}{d_{n}^{0}}\right)",
    ),
    (
        "-(1/eta) ln sum_n d0_n exp(-eta ((U w)_n + psi_n))",
        r"-\frac{1}{\eta} \ln \sum_{n} d_{n}^{0} \exp\left(-\eta \left((U w)_{n} + \psi_{n}\right)\right)",
    ),
    ("-(1/(eta nu)) sum_n c_n", r"-\frac{1}{\eta \nu} \sum_{n} c_{n}"),
    ("Uᵀd <= gamma", r"U^{\top} d \le \gamma"),
    ("0 <= d <= c / nu", r"0 \le d \le \frac{c}{\nu}"),
    ("sum d = 1", r"\sum d = 1"),
    ("w_q (gamma - e_q) = 0", r"w_{q} (\gamma - e_{q}) = 0"),
    ("psi_n (c_n / nu - d_n) = 0", r"\psi_{n} \left(\frac{c_{n}}{\nu} - d_{n}\right) = 0"),
    ("psi_n = max(0, rho - m_n)", r"\psi_{n} = \max(0, \rho - m_{n})"),
    ("m_n > rho  =>  d_n = 0", r"m_{n} > \rho \Rightarrow d_{n} = 0"),
    (
        "d_n = (c_n / nu) sigmoid(logit(nu d0_n / c_n) - eta (m_n + beta))",
        r"d_{n} = \frac{c_{n}}{\nu} \operatorname{sigmoid}\left(\operatorname{logit}\left(\frac{\nu d_{n}^{0}}{c_{n}}"
        r"\right) - \eta (m_{n} + \beta)\right)",
    ),
    ("(1/4) ||[Uᵀd]_+||^2", r"\frac{1}{4} \left\lVert [U^{\top} d]_{+} \right\rVert^{2}"),
    ("||d||_p <= r", r"\lVert d \rVert_{p} \le r"),
    ("||v||_inf", r"\lVert v \rVert_{\infty}"),
    ("|e_q|", r"\lvert e_{q} \rvert"),
    ("[x]_+", r"[x]_{+}"),
    ("<d, U w>", r"\langle d, U w \rangle"),
    ("F(d) + F*(-Uw) + <d, Uw>", r"F(d) + F^{*}(-U w) + \langle d, U w \rangle"),
    ("u_q . d^(t-1) = rho", r"u_{q} \cdot d^{t - 1} = \rho"),
    # fractions
    ("16 eta / epsilon", r"\frac{16 \eta}{\epsilon}"),
    ("q_n / sum_k q_k", r"\frac{q_{n}}{\sum_{k} q_{k}}"),
    ("2 (c_n - d_n) / c_n", r"\frac{2 (c_{n} - d_{n})}{c_{n}}"),
    ("(a - b) / (a + b)", r"\frac{a - b}{a + b}"),
    ("a / b / c", r"\frac{\frac{a}{b}}{c}"),
    ("sum_n d_n / 2", r"\sum_{n} \frac{d_{n}}{2}"),
    ("2 (1/2)", r"2 \left(\frac{1}{2}\right)"),
    ("(a / b)^2", r"\left(\frac{a}{b}\right)^{2}"),
    ("f(a / b)", r"f\left(\frac{a}{b}\right)"),
    ("x^{q/p} + x^(1/2)", r"x^{q / p} + x^{1 / 2}"),
    ("2 ln(N / nu) / epsilon^2", r"\frac{2 \ln\left(\frac{N}{\nu}\right)}{\epsilon^{2}}"),
    ("c_n / (1 + exp(eta m_n))", r"\frac{c_{n}}{1 + \exp(\eta m_{n})}"),
    ("sqrt(x / y)", r"\sqrt{\frac{x}{y}}"),
    # scripts
    ("d0 + d0_n", r"d^{0} + d_{n}^{0}"),
    ("d0_n^2", r"(d_{n}^{0})^{2}"),
    ("d^{t-1}_n", r"d_{n}^{t - 1}"),
    ("U^T d + U'd", r"U^{\top} d + U^{\top} d"),
    ("w* >= 0", r"w^{*} \ge 0"),
    ("a*b + 2*(c)", r"a \cdot b + 2 \cdot (c)"),
    ("C_nu + C_Delta", r"C_{\nu} + C_{\Delta}"),
    ("m_(k) + e_max + U_nq", r"m_{(k)} + e_{\max} + U_{n q}"),
    ("x_n_t + x1", r"x_{n, t} + x_{1}"),
    ("sum_{n in K} d_n + sum_{n=1}^N c_n", r"\sum_{n \in K} d_{n} + \sum_{n = 1}^{N} c_{n}"),
    ("gamma_hat_t - epsilon + hat rho", r"\hat{\gamma}_{t} - \epsilon + \hat{\rho}"),
    ("x^-1 + y^+", r"x^{-1} + y^{+}"),
    # functions, brackets, numbers
    ("max{0, 1 - m_n}", r"\max\{ 0, 1 - m_{n} \}"),
    ("max_q |e_q| <= inf_d F(d)", r"\max_{q} \lvert e_{q} \rvert \le \inf_{d} F(d)"),
    ("argmin_d F", r"\arg\min_{d} F"),
    ("artanh r - artanh rho", r"\operatorname{artanh} r - \operatorname{artanh} \rho"),
    ("AvgMin_nu(m)", r"\operatorname{AvgMin}_{\nu}(m)"),
    ("I[d in C_nu]", r"I[d \in C_{\nu}]"),
    ("x in [0, 1) or y in {-1, +1}", r"x \in [0, 1) \text{ or } y \in \{ -1, + 1 \}"),
    ("1e-8 <= 2.5e3 + .5", r"10^{-8} \le 2.5 \cdot 10^{3} + .5"),
    ("1e-8^2", r"(10^{-8})^{2}"),
    ("|x| |y| + ||x|| ||y||", r"\lvert x \rvert \lvert y \rvert + \lVert x \rVert \lVert y \rVert"),
    ("a < b", "a < b"),
    ("a<b", "a < b"),
    ("\u03c1 \u2265 0, \u2016w\u2016_1", r"\rho \ge 0, \lVert w \rVert_{1}"),
    # words
    ("w in the simplex", r"w \text{ in the simplex}"),
    ("alpha free in sign", r"\alpha \text{ free in sign}"),
    ("d_n = 0 where d0_n = 0", r"d_{n} = 0 \text{ where } d_{n}^{0} = 0"),
    ("s = r times a subgradient of ||d||_p", r"s = r \text{ times a subgradient of } \lVert d \rVert_{p}"),
    ("a non-negative w, otherwise eta-gamma", r"a \text{ non-negative } w, \text{ otherwise } \eta - \gamma"),
    ("min_q r_q - accuracy", r"\min_{q} r_{q} - \text{accuracy}"),
    ("r / accuracy^2 + penalty_n", r"\frac{r}{\text{accuracy}^{2}} + \operatorname{penalty}_{n}"),
    ("for eta = inf   s_n = 0,  n = 1, ..., N", r"\text{for } \eta = \infty \quad s_{n} = 0, \quad n = 1, \dots, N"),
]


@pytest.mark.parametrize(("expression", "expected"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_expressions_in_latex(expression: str, expected: str) -> None:
    assert latex(expression) == expected


UNTRANSLATED = [
    ("d_n & w", r"'&'.*U\+0026.*\b4\b"),
    ("d \\le 1", r"U\+005C.*\b2\b"),
    ("d⁰", r"'⁰'.*U\+2070.*\b1\b"),
    ("", "empty"),
    ("  ", "empty"),
    ("(a + b]", r"'\)'.*'\('.*\b0\b.*'\]'.*\b6\b"),
    ("a + b)", r"\bword\b.*'\)'.*\b5\b"),
    ("||d|_p", r"'_'.*\b4\b"),
    ("||d||_p + ||d", r"'\|\|'.*\b10\b.*\bend\b"),
    ("<d, w", r"'>'.*'<'.*\b0\b.*\bend\b"),
    ("exp()", r"\bafter\b.*'\('.*\b3\b.*'\)'.*\b4\b"),
    ("c /", r"\bdenominator\b.*\bend\b"),
    ("c / <= 1", r"\bdenominator\b.*'<='.*\b4\b"),
    ("/ nu", r"'/'.*\b0\b"),
    ("ln / 2", r"\boperator\b.*'/'.*\b3\b"),
    ("d_", r"\bscript\b.*\bend\b"),
    ("d_ = 1", r"\bscript\b.*'='.*\b3\b"),
    ("d^", r"\bscript\b.*\bend\b"),
    ("^2", r"'\^'.*\b0\b"),
    ("hat", r"\baccent\b.*\bend\b"),
]
"""Expressions, and the fact by which their refusals differ: what was missing, what came, and where."""


@pytest.mark.parametrize(("expression", "fact"), UNTRANSLATED, ids=[repr(refused[0]) for refused in UNTRANSLATED])
def test_latex_of_an_unsupported_expression_is_refused_with_its_place(expression: str, fact: str) -> None:
    with pytest.raises(OptionError, match=fact):
        latex(expression)


def test_a_refusal_says_what_was_expected_what_came_and_what_to_do() -> None:
    message = "expected ')' for the '(' at position 2; got the end of 'ln(d_n'. Correct the expression there."
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        latex("ln(d_n")


ATOMS = {"d_n": "d_{n}", "psi_n": r"\psi_{n}", "d0": "d^{0}", "eta": r"\eta", "C_nu": r"C_{\nu}", "73": "73"}
EXPRESSIONS = st.recursive(
    st.sampled_from(sorted(ATOMS)),
    lambda inner: st.one_of(
        inner.map("({})".format),
        inner.map("ln({})".format),
        inner.map("||({})||_p".format),
        inner.map("[{}]_+".format),
        inner.map("<w, {}>".format),
        inner.map("x^{{{}}}".format),
        inner.map("sum_q {}".format),
        inner.map("{} where it counts".format),
        st.tuples(inner, inner).map("({0[0]}) / ({0[1]})".format),
        st.tuples(inner, inner).map("{0[0]} + {0[1]} <= 0".format),
        st.tuples(inner, inner).map("{0[0]} ({0[1]})".format),
    ),
    max_leaves=8,
)


def assert_well_formed(text: str) -> None:
    """Check that braces are balanced, and that every growing bracket has a closing one."""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert text.count(r"\left") - text.count(r"\leftarrow") == text.count(r"\right")
    for opening, closing in (("langle", "rangle"), ("lVert", "rVert"), ("lvert", "rvert")):
        assert text.count(f"\\{opening}") == text.count(f"\\{closing}")


@pytest.mark.thorough
@given(EXPRESSIONS)
def test_nothing_is_lost_in_translation(expression: str) -> None:
    text = latex(expression)
    assert_well_formed(text)
    for plain, translated in ATOMS.items():
        assert text.count(translated) == len(re.findall(rf"(?<![\w]){plain}(?!\w)", expression))
    for plain, translated in ((r"ln\(", r"\ln"), ("sum_q", r"\sum_{q}"), (r"(?<!_)\+ ", "+ "), ("<=", r"\le ")):
        assert text.count(translated) == len(re.findall(plain, expression))
    assert text.count(r"\frac") + text.count(" / ") == expression.count("/")  # without a bar in scripts
    assert text.count("where it counts") == expression.count("where it counts")


@given(st.text(alphabet="dwUn q_0129.,:;+-*/^(){}[]|<>=ᵀ'aeinltx&", max_size=25))
def test_any_text_is_translated_or_refused(text: str) -> None:
    try:
        translated = latex(text)
    except OptionError:
        return
    assert_well_formed(translated)
    assert [c for c in translated if c.isdigit()] == [c for c in text if c.isdigit()] or "d0" in text or "e" in text


PAGE = """Short: a page for the tests.

    Primal   min_d   sum d   s.t.  Uᵀd <= 1 : w,   d >= 0,
             d_n = max(0, 1,
                       2) where d0_n = 0 : zeta

    Dual (reduced)
        max_{w, rho}  rho
                      - (1/nu) sum_n c_n,   w free   with rho = 2
    Printed  max_w  w_q
             s.t.  w in the simplex

             max_{w}  3 w   for nu = 1

    Loss     r_n = 1

    KKT      d_n = 0
             w_q = 1, m_n
             >= 0,  e_q <= 1;
             max_q e_q = gamma.

    Symbols  zeta : the multiplier,
             of one kind,   kappa : not there

    Prose of *two*
    lines.

        a display_of  its own

    Sources: nowhere, (1) and
    somewhere.
    """


def test_the_layout_may_vary() -> None:
    page = parse_page(PAGE)
    assert page == PageText(
        title="Short",
        summary="a page for the tests.",
        primal=PrintedProblem(
            name="Primal",
            sense="min",
            variables=("d",),
            objective="sum d",
            constraints=(
                ("Uᵀd <= 1", "w"),
                ("d >= 0", None),
                ("d_n = max(0, 1, 2) where d0_n = 0", "zeta"),
            ),
        ),
        dual=PrintedProblem(
            name="Dual (reduced)",
            sense="max",
            variables=("w", "rho"),
            objective="rho - (1/nu) sum_n c_n",
            constraints=(("w free", None), ("with rho = 2", None)),
        ),
        kkt=Statements("KKT", ("d_n = 0", "w_q = 1, m_n >= 0", "e_q <= 1", "max_q e_q = gamma")),
        further=(
            PrintedProblem("Printed", "max", ("w",), "w_q", (("w in the simplex", None),)),
            PrintedProblem("Printed (for nu = 1)", "max", ("w",), "3 w   for nu = 1", ()),
            Statements("Loss", ("r_n = 1",)),
        ),
        symbols=(("zeta", "the multiplier, of one kind"), ("kappa", "not there")),
        prose=("Prose of *two*\nlines.", "    a display_of  its own"),
        sources="nowhere, (1) and somewhere.",
    )


GOOD = "T: s.\n\nPrimal   min_d   d\n\nDual     max_w   w\n\nKKT      d = 0\n\nProse.\n\nSources: none."


MALFORMED = {
    "no title": ("T: s.", "Untitled.", r"Title:.*'Untitled\.'"),
    "nothing": (GOOD, "", r"Title:.*''"),
    "no primal": ("Primal   min_d   d\n\n", "", r"'Primal'.*\bT\b.*\bDual, KKT\b"),
    "no dual": ("Dual ", "Duel ", r"'Dual'.*\bT\b.*\bPrimal, Duel, KKT\b"),
    "no conditions": ("KKT      d = 0", "KKT conditions hold.", r"'KKT'.*\bT\b.*\bPrimal, Dual\b"),
    "empty conditions": ("KKT      d = 0", "KKT      ,", r"\bstatements\b.*'KKT'.*\bT\b.*\bnone\b"),
    "no variables": ("min_d   d", "min   d", r"'Primal'.*\bT\b.*min_.*max_.*'min d'"),
    "no objective": ("max_w   w", "max_w   s.t.  w = 1", r"\bobjective\b.*'Dual'.*\bT\b.*\bnone\b"),
    "no constraints": ("max_w   w", "max_w   w   s.t.", r"\bstatements\b.*'Dual: s\.t\.'.*\bT\b.*\bnone\b"),
    "not indented": ("max_w   w", "max_w   w\ns.t.  w = 1", r"'Dual'.*\bindented\b.*'s\.t\.  w = 1'"),
    "block twice": ("KKT  ", "Dual   min_d  d\n\nKKT  ", r"\bT\b.*\bPrimal, Dual, Dual, KKT\b"),
    "no sources": ("Sources: none.", "Source none.", r"'Sources: \.\.\.'.*\bT\b"),
    "no meanings": ("Prose.", "Symbols  usual", r"'Symbols'.*\bT\b.*'usual'"),
}
"""Replacements, and the fact by which the refusals differ."""


@pytest.mark.parametrize(("old", "new", "fact"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_docstrings_are_refused(old: str, new: str, fact: str) -> None:
    assert parse_page(GOOD).kkt.expressions == ("d = 0",)
    assert old in GOOD
    with pytest.raises(OptionError, match=fact):
        parse_page(GOOD.replace(old, new))


def test_prose_that_starts_like_a_block_is_prose() -> None:
    for prose in ("Dual and primal agree.", "KKT holds, and\n    more.", "Note: this\nis all.", "Two-sided it is."):
        assert parse_page(GOOD.replace("Prose.", prose)).prose == (prose,)


def docstring(name: str) -> str:
    """The docstring of the file that states a formulation."""
    return sys.modules[type(get_formulation(name)).__module__].__doc__ or ""


def meanings(name: str) -> dict[str, str]:
    return {parameter.name: parameter.meaning for parameter in get_formulation(name).parameters.values()}


def test_the_page_of_erlpboost_is_read() -> None:
    page = parse_page(docstring("erlpboost"))
    assert page.title == "ERLPBoost"
    assert page.summary.startswith("LPBoost with a relative entropy")
    assert page.primal == PrintedProblem(
        name="Primal",
        sense="min",
        variables=("d", "gamma"),
        objective="gamma + (1/eta) sum_n d_n ln(d_n / d0_n)",
        constraints=(("Uᵀd <= gamma", "w"), ("sum d = 1", "beta"), ("d <= c / nu", "psi")),
    )
    assert page.dual.variables == ("w", "psi")
    assert page.dual.constraints == (("sum w = 1", "gamma"), ("w >= 0", None), ("psi >= 0", None))
    assert page.kkt.expressions[1:] == ("psi_n (c_n / nu - d_n) = 0", "w_q (gamma - e_q) = 0")
    assert re.match(r"Multipliers\b.*\bcolon\b", page.prose[0])
    assert page.sources.startswith("Warmuth, Glocer")


def test_the_page_of_lpboost_is_read() -> None:
    page = parse_page(docstring("lpboost"))
    assert page.dual.objective == "rho - (1/nu) sum_n c_n psi_n"
    assert page.dual.constraints[0] == ("U w >= rho - psi", "d")
    assert page.kkt.expressions == (
        "w_q (gamma - e_q) = 0",
        "psi_n (c_n / nu - d_n) = 0",
        "psi_n = max(0, rho - m_n)",
        "m_n > rho => d_n = 0",
        "m_n < rho => d_n = c_n / nu",
    )


def test_primal_and_dual_stand_side_by_side() -> None:
    page = parse_page(docstring("lp_adaboost"))
    assert latex_side_by_side(page).splitlines() == [
        r"\begin{array}{llll}",
        r"\rlap{\textbf{Primal}} &  & \rlap{\textbf{Dual}} &  \\[1ex]",
        r"\displaystyle\min_{d, \gamma} & \displaystyle \gamma \qquad & "
        r"\displaystyle\max_{w, \rho} & \displaystyle \rho \qquad \\[1ex]",
        r"\text{s.t.} & \displaystyle U^{\top} d \le \gamma \;:\; w \qquad & "
        r"\text{s.t.} & \displaystyle U w \ge \rho \;:\; d \qquad \\[1ex]",
        r" & \displaystyle \sum d = 1 \;:\; \beta \qquad &  & \displaystyle \sum w = 1 \;:\; \gamma \qquad \\[1ex]",
        r" & \displaystyle d \ge 0 \qquad &  & \displaystyle w \ge 0 \qquad",
        r"\end{array}",
    ]
    assert latex_kkt(page).splitlines() == [
        r"\begin{aligned}",
        r"& w_{q} (\gamma - e_{q}) = 0 \\[0.5ex]",
        r"& d_{n} (m_{n} - \rho) = 0",
        r"\end{aligned}",
    ]


def test_the_shorter_problem_is_filled_up() -> None:
    rows = latex_side_by_side(parse_page(PAGE)).splitlines()[1:-1]
    assert [row.count("&") for row in rows] == [3] * 5
    assert rows[-1].endswith(r"\text{ where } d_{n}^{0} = 0 \;:\; \zeta \qquad &  & ")


def test_symbols_are_found_with_their_indices() -> None:
    assert symbols("gamma + (1/eta) sum_n d_n ln(d_n / d0_n)") == ["gamma", "eta", "n", "d", "d0"]
    assert symbols("d in C_nu, e_q = inf, e^{-x}, Uᵀd") == ["d", "C_nu", "e", "q", "x", "U"]
    assert symbols("||d||_p + ||s||_q + s_q", {"||.||_q"}) == ["d", "p", "s", "||.||_q", "q"]
    assert symbols("the penalty_n of accuracy") == ["n"]
    assert symbols("the penalty_n of accuracy", {"penalty", "accuracy"}) == ["penalty", "n", "accuracy"]
    assert symbols("s = r times a subgradient") == ["s", "r"]


def test_meanings_come_from_the_caller_then_the_page_then_the_table() -> None:
    page = parse_page(PAGE)
    table = dict(symbol_table(page, {"rho": "mine"}))
    assert table["rho"] == "mine"
    assert table["zeta"] == "the multiplier, of one kind"
    assert table["d"] == STANDARD["d"]
    assert "kappa" not in table
    assert dict(symbol_table(page, {"zeta": "mine"}))["zeta"] == "mine"
    # r_n is no edge r_q: r has its own meaning; an index known with its base yields to a base that is explained.
    binary = parse_page(GOOD.replace("d = 0", "p_n = K"))
    assert dict(symbol_table(binary, {})) == {s: STANDARD[s] for s in ("d", "w", "p_n")} | {"K": ELSEWHERE}
    assert dict(symbol_table(binary, {"p": "mine"}))["p"] == "mine"


@pytest.mark.thorough
def test_the_table_has_the_symbols_of_the_conventions() -> None:
    conventions = (Path(boostopt.__file__).parents[1] / "docs" / "conventions.md").read_text()
    rows = re.findall(r"^\| (?:\$(\S+)\$ \| )?`?(\w+)`? (?:= \S+ |\(N,\) )?\|", conventions, re.MULTILINE)
    for symbol, name in rows:
        assert not symbol or symbol == re.sub("[{}]", "", latex(name))
    names = [name for _, name in rows if name not in ("symbol", "name", "programs", *list_formulations())]
    assert {"U", "d", "e", "d0", "nu", "beta", "zeta"} <= set(names)
    assert {"d", "d0", "nu"} <= {name for symbol, name in rows if symbol}
    assert set(names) <= set(STANDARD)


def test_the_page_as_markdown() -> None:
    page = parse_page(PAGE)
    text = markdown_page(page, {"nu": "a | b"})
    assert text.startswith("# Short\n\nA page for the tests.\n\n## Primal and dual\n\n$$\n" + latex_side_by_side(page))
    assert f"\n\n## KKT\n\n$$\n{latex_kkt(page)}\n$$\n\n" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Short",
        *("## Primal and dual", "## KKT", "## Printed", r"## Printed (for $\nu = 1$)", "## Loss"),
        *("## Symbols", "## Remarks", "## Sources"),
    ]
    assert "| $\\nu$ | a \\| b |" in text
    assert "\n\nProse of \\*two\\* lines.\n\n    a display_of  its own\n\n## Sources\n\nnowhere, (1) and" in text


@pytest.mark.parametrize("name", list_formulations())
def test_every_page_is_read_and_typeset(name: str) -> None:
    page = parse_page(docstring(name))
    for expression in page.expressions:
        assert_well_formed(latex(expression))
    assert page.primal.sense == "min"
    assert page.dual.sense == "max"
    assert page.kkt.expressions
    table = symbol_table(page, meanings(name))
    assert {"d", "n"} <= {symbol for symbol, _ in table}
    assert len(dict(table)) == len(table)
    for typeset in (latex_side_by_side(page), latex_kkt(page)):
        assert_well_formed(typeset)
        assert not re.search(r"\n\s*\n|\$", typeset)


def is_shown(paragraph: str, lines: list[str]) -> bool:
    """Return whether a paragraph is in some lines word for word; parts of it may be formulas."""
    typed = " ".join(paragraph.replace("`", "").split())
    return any(re.fullmatch(".+?".join(map(re.escape, line.split("FORMULA"))), typed) for line in lines)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", list_formulations())
def test_markdown_shows_the_prose_as_it_was_typed(name: str) -> None:
    page = parse_page(docstring(name))
    text = markdown_page(page, meanings(name))
    displayed = re.sub(r"(?s)\$\$.*?\$\$", "DISPLAY", text)
    tokens = MarkdownIt().enable("table").parse(re.sub(r"(?<!\\)\$[^$\n]+\$", "FORMULA", displayed))
    lines = ["".join(part.content for part in token.children or []) for token in tokens if token.type == "inline"]
    for paragraph in (page.title, page.sources, *(p for p in page.prose if not p[:1].isspace())):
        assert is_shown(paragraph, lines), paragraph
    stacked = "**Primal**" in text
    displays = sum(1 for p in page.prose if p[:1].isspace() and display_to_markdown(p))
    assert lines.count("DISPLAY") == 2 + stacked + len(page.further) + displays
    widths = [max(map(len, problem.expressions)) for problem in (page.primal, page.dual)]
    assert stacked == (sum(widths) > MAX_ROW_LENGTH)
    for _, meaning in symbol_table(page, meanings(name)):
        assert is_shown(meaning, lines), meaning
