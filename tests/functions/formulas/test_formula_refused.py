"""Formulas that `formula` refuses, in words, and the part of SymPy and CVXPY in it."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest
import sympy
import typechecker

from boostopt import OptionError, ProblemError, SolverNotFound, solve
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    EdgeFunction,
    MaximumEdge,
    edge_formula,
    formula,
    parameter,
    prototype,
)
from boostopt.functions.formulas.compilation import Compiler
from boostopt.functions.formulas.differentiation import differentiate
from boostopt.functions.formulas.intervals import enclose, exact_interval
from boostopt.functions.formulas.parsing import parse_formula

SIX = CappedSimplex(np.ones(6), 2.0)
UNEVEN = CappedSimplex(np.array([1.0, 2.0, 1.0, 3.0]), 2.0)


@pytest.mark.parametrize(
    ("text", "numbers", "message"),
    [
        ("d*log(d/d1)", {}, r"'d1'.* c, d, d0, u\."),
        ("sin(d)", {}, "calls 'sin'"),
        ("__import__('os')", {}, "calls '__import__'"),
        ("d.real", {}, "not part"),
        ("d +", {}, "no formula"),
        ("log(d, 2)", {}, r"\blog\b.* 1 .* 2\."),
        ("huber(d**2, 1)", {}, r"\bhuber\b[^(]*\blinear\b"),
        ("huber(d, -1)", {}, "positive M"),
        ("d**2 + huber(d - d0, u - 1)", {}, "M of a huber"),
        ("huber(d - d0, m)", {"m": np.array([0.1] * 5 + [-0.3])}, "M of a huber"),
        ("d**3 - d**2", {}, r"\bderivative\b.* -2 .* \(example 0\)"),
        ("d*log(d) + 3*sqrt(d)", {}, r"\bderivative\b.* -6\.7\d*e\+13 "),
        ("max(d, 1/10)", {}, "slope jumps"),
        ("1/(d - 1/10)", {}, r"\bpower -1\b"),
        ("log(1/10 - d)", {}, "logarithm"),
        ("max(d - 1/10, 0)**(1/2)", {}, "at least 1"),
        (7, {}, r"\bSymPy\b.* 7\."),
        ("d/eta", {"eta": np.inf}, r"^eta\b.* inf\."),
        ("d/eta", {"eta": np.ones(5)}, r"^eta\b.* 6 .*\(5,\)"),
        ("d/eta", {"eta": np.full(6, np.nan)}, r"^eta\b.*\bnot finite"),
        ("d*e", {"e": 2.0}, r"\bparameter\b.*'e'"),
        ("d*log(d/d0)", {"d0": np.ones(5) / 5}, r"^d0\b.*\(6,\).*\(5,\)"),
        ("d*log(d/d0)", {"d0": np.ones(6)}, r"^d0\b.* 1;.* 6\."),
        ("d/eta", {"eta": 1e-320}, "many digits"),
    ],
)
def test_nonconvex_formulas_are_refused_in_words(text: Any, numbers: Any, message: str) -> None:
    with typechecker.unchecked(), pytest.raises(ProblemError, match=message):
        formula(text, SIX, **numbers)


def test_a_domain_must_be_a_capped_simplex() -> None:
    vector: Any = np.ones(6)
    with typechecker.unchecked(), pytest.raises(ProblemError, match=r"^domain\b.*\bCappedSimplex\b.*\(6,\)"):
        formula("d**2", vector)


@pytest.mark.parametrize(
    "text",
    ["d**2", "-log(d)", "(d - d0)**2", "huber(d - d0, 1/10)", "d*log(d)", "c*d**2", "d**2/c*(1 + max(c - 2, 0))"],
)
def test_formulas_that_do_not_count_copies_are_refused(text: str) -> None:
    equation, advice = re.escape("f(k d; k d0, k c) = k f(d; d0, c)"), re.escape("c * f(d / c) for f(d)")
    with pytest.raises(
        ProblemError, match=rf"\bformula {re.escape(repr(text))} must\b.*\b{equation}.*\. Write {advice}"
    ):
        formula(text, UNEVEN)
    assert formula(text, SIX).N == 6


@pytest.mark.parametrize("text", ["d**2/c", "-c*log(d/c)", "d*log(d/c)", "c*huber((d - d0)/c, 1/10)", "-sqrt(d*u)"])
def test_formulas_that_count_copies_are_accepted(text: str) -> None:
    assert formula(text, UNEVEN).N == 4


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "text",
    [
        "d*log(d/d0)/eta",
        "(1 + d)**q/(d + u) + exp(-d/d0)*d",
        "log(1 + exp(d/d0))**2/eta",
        "d**d",
        "sqrt(d*d0) + (u - d)**(-1/2)",
    ],
)
def test_derivatives_are_those_of_sympy_and_lie_in_the_enclosures(text: str) -> None:
    names = {"d0": 0.2, "c": 1.0, "u": 0.5}
    parsed_formula = parse_formula(text, {"eta": 3.7, "q": 1.3}, ("d", "d0", "c", "u"))
    slope = differentiate(parsed_formula)
    d, d0, u = sympy.symbols("d d0 u", positive=True)
    names_of_sympy = {
        "d": d,
        "d0": d0,
        "u": u,
        "eta": 3.7,
        "q": 1.3,
        "log": sympy.log,
        "exp": sympy.exp,
        "sqrt": sympy.sqrt,
    }
    expression: Any = eval(text, names_of_sympy)
    for share in (0.11, 0.37, 0.62, 0.93):
        x = share * 0.5
        point = {d: x, d0: 0.2, u: 0.5}
        for k, part in enumerate((parsed_formula, slope, differentiate(slope))):
            theirs = float(sympy.diff(expression, d, k).subs(point))
            ours = float(Compiler("d", names).function(part)(np.array([x]))[0])
            assert ours == pytest.approx(theirs, rel=1e-11)
            options = {name: exact_interval(np.array([value])) for name, value in {**names, "d": x}.items()}
            inside = enclose(part, options)
            size = max(1.0, abs(theirs))
            assert inside.lower[0] - 1e-13 * size <= theirs <= inside.upper[0] + 1e-13 * size
            assert inside.upper[0] - inside.lower[0] <= 1e-11 * size


def test_wide_enclosures_hold_every_value_in_them() -> None:
    rng = np.random.default_rng(0)
    for text in ("d*log(d/d0)", "(d - d0)**3/(d + d0)", "exp(d)*(d - u)**2 - d**2", "max(d - d0, 0)**2 - huber(d, u)"):
        parsed_formula = parse_formula(text, {}, ("d", "d0", "c", "u"))
        function = Compiler("d", {"d0": np.array([0.2]), "u": np.array([0.5])}).function(parsed_formula)
        for _ in range(15):
            low, high = np.sort(rng.uniform(0.0, 0.5, 2))
            names = {"d0": exact_interval(np.array([0.2])), "u": exact_interval(np.array([0.5]))}
            wide = enclose(parsed_formula, {**names, "d": type(names["u"])(np.array([low]), np.array([high]))})
            values = function(np.linspace(max(low, 1e-300), high, 40))
            assert (values >= wide.lower - 1e-15).all() and (values <= wide.upper + 1e-15).all()


def test_a_program_of_formulas_is_its_formulas_in_a_notebook() -> None:
    def page(G: EdgeFunction) -> Any:
        return prototype(
            "mine",
            lambda p, examples: formula("d*log(d/d0)/eta + 1", CappedSimplex(examples.c, p.nu), eta=p.eta),
            lambda p: G,
            nu=parameter("the least number of examples", COUNT),
            eta=parameter("the inverse strength", POSITIVE),
        ).bind(np.ones((6, 2)), nu=2.0, eta=3.0)

    both = page(edge_formula("(e + 1)**2"))._repr_latex_()
    assert r"F(d) = \sum_{n} \left( \frac{d_n \log{\left(\frac{d_n}{d^0_n} \right)}}{\eta} + 1 \right)" in both
    assert r"G(e) = \sum_{q} \left( \left(e_q + 1\right)^{2} \right)" in both
    assert "G(e) =" not in page(MaximumEdge())._repr_latex_()


def test_expressions_of_sympy_are_taken_with_all_digits() -> None:
    d, c, eta = sympy.symbols("d c eta", positive=True)
    F = formula(d**2 / c / eta + sympy.Float(0.1234567890123456) * d, SIX, eta=3.0)
    twin = formula("d**2/c/eta + 0.1234567890123456*d", SIX, eta=3.0)
    d_uniform = np.full(6, 1 / 6)
    assert F.value(d_uniform) == twin.value(d_uniform) and F.derivatives(d_uniform)[0] == twin.derivatives(d_uniform)[0]
    hinge = formula(sympy.Max(d - sympy.Rational(1, 10), 0) ** 2, SIX)
    assert hinge.value(d_uniform) == pytest.approx(6 * (1 / 6 - 0.1) ** 2)


def test_a_formula_is_written_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    assert formula("d*log(d/d0)/eta", SIX, eta=2.0).latex == r"\frac{d_n \log{\left(\frac{d_n}{d^0_n} \right)}}{\eta}"
    reading = importlib.import_module("boostopt.functions.formulas.formula_validation")
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match="expected SymPy"):
        _ = formula("d**2", SIX).latex


def test_a_formula_without_atoms_is_for_interior_alone() -> None:
    text = "c*log(1 + exp(d/c)) + d**2/(d + d0)"
    page = prototype("no atoms", lambda p, e: formula(text, CappedSimplex(e.c, 2.0), e.d0))
    program = page.bind(np.random.default_rng(0).uniform(-1, 1, (8, 3)))
    assert "interior" in program.cones
    assert solve(program, "interior", tol=1e-9).certificate.scaled_gap <= 1e-9
    with pytest.raises(SolverNotFound, match=r"\bcvxpy:clarabel\b.*\batoms\b.*\binterior\b"):
        solve(program, "cvxpy:clarabel")
    with pytest.raises(ProblemError, match=r'\batoms\b.*"interior"'):
        program.cvxpy("primal")
