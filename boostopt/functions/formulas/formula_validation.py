"""Validation of the formulas and parameters that users pass.

A formula is a text or a SymPy expression. Its parameters are passed by name. A formula of a regularizer also has a
reference distribution d0, and an example with multiplicity k must count as k copies.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.validation import (
    check_instance,
    check_number,
    check_real_array,
    is_real_number,
    non_negative_weights,
)
from boostopt.errors import OptionError, ProblemError, reason_of, short_repr
from boostopt.functions.formulas.compilation import Compiler
from boostopt.functions.formulas.differentiation import substitute
from boostopt.functions.formulas.expressions import Expression, FormulaError
from boostopt.functions.formulas.parsing import parse_formula
from boostopt.functions.formulas.sympy_latex import latex

RESERVED = {"d", "d0", "c", "u", "e", "log", "exp", "sqrt", "max", "min", "huber"}
"""Names that a parameter cannot have."""

INTERIOR_CONE = "interior"
"""The requirement of a formula without CVXPY atoms: only the interior-point solvers of boostopt support it."""

MULTIPLICITY_TOL = 1e-9
"""Relative tolerance of the comparison of f for multiplicity k with k times f."""

TEST_FRACTIONS = (0.137, 0.411, 0.73, 0.94)
"""Points of the comparison, as fractions of the cap."""


def formula_text(formula: object) -> str:
    """Return a formula as a text. A text is unchanged; a SymPy expression is printed with all digits.

    Raises
    ------
    ProblemError
        The formula is neither a text nor a SymPy expression.
    """
    if isinstance(formula, str):
        return formula
    if not hasattr(formula, "free_symbols"):
        raise ProblemError(
            f"a formula must be a text or an expression of SymPy; got {short_repr(formula)}. Pass one such as "
            '"d*log(d/d0)/eta".'
        )
    sympy = import_module("sympy")
    floats: Any = formula
    digits = {number: sympy.Symbol(repr(float(number))) for number in floats.atoms(sympy.Float)}
    return str(floats.xreplace(digits)).replace("Max(", "max(").replace("Min(", "min(")


def read_text(text: object) -> str:
    """Return the text of a formula; raise ProblemError for anything else."""
    if not isinstance(text, str):
        raise ProblemError(f"a formula must be a text; got {short_repr(text)}. Pass it in quotes.")
    return text


def formula_latex(text: str) -> str:
    """Return the LaTeX of a formula, a text of the grammar.

    Raises
    ------
    OptionError
        SymPy is not installed.
    """
    if find_spec("sympy") is None:
        raise OptionError(
            "expected SymPy, which writes formulas as LaTeX; it is not installed. Install it: pip install "
            '"boostopt[formulas]".'
        )
    return latex(text)


def empty_parameters() -> Mapping[str, Any]:
    """Return an empty immutable mapping."""
    return MappingProxyType({})


def check_parameter_names(parameters: object) -> None:
    """Raise ProblemError unless the parameters are a mapping from allowed names to values."""
    expected, advice = "values of parameters by their names", 'Pass a mapping such as {"eta": 2.0}.'
    for name in check_instance("parameters", parameters, Mapping, expected, advice, ProblemError):
        check_parameter_name(name)


def check_parameter_name(name: object) -> None:
    """Raise ProblemError for a name that is reserved or not an identifier."""
    if not isinstance(name, str) or name in RESERVED or not name.isidentifier() or keyword.iskeyword(name):
        raise ProblemError(f"a parameter must have a name of its own; got {short_repr(name)}. Call it otherwise.")


def check_number_parameters(parameters: Mapping[str, object]) -> dict[str, float]:
    """Return parameters that must be numbers, as floats."""
    check_parameter_names(parameters)
    return {name: check_number(name, value, error=ProblemError) for name, value in parameters.items()}


def check_parameters(parameters: Mapping[str, object], N: int) -> dict[str, float | Array]:
    """Return the parameters as finite floats or finite arrays of shape (N,)."""
    check_parameter_names(parameters)
    checked = dict[str, float | Array]()
    for name, value in parameters.items():
        if is_real_number(value):
            checked[name] = check_number(name, value, error=ProblemError)
            continue
        expected = f"a finite number, or {N} of them, shape (N,)"
        array = check_real_array(name, value, expected, "Pass such a parameter.", lambda shape: shape == (N,))
        if not np.isfinite(array).all():
            raise ProblemError(f"{name} must be {expected}; it is not finite. Pass such a parameter.")
        checked[name] = array
    return checked


def check_reference(d0: object, c: ExampleVector) -> ExampleVector:
    """Return the reference distribution; c / sum c for None."""
    if d0 is None:
        return c / c.sum()
    reference = non_negative_weights("d0", d0, len(c))
    if abs(float(reference.sum()) - 1.0) > 1e-8:
        raise ProblemError(f"d0 must have the sum 1; got {float(reference.sum()):.10g}. Divide it by its sum.")
    return reference


def parse_regularizer_formula(text: object, parameters: Mapping[str, float | Array]) -> Expression:
    """Parse the formula of one weight.

    Raises
    ------
    ProblemError
        The text is not a formula in d, d0, c, u and the parameters.
    """
    text = read_text(text)
    numbers = {name: value for name, value in parameters.items() if isinstance(value, float)}
    arrays = {name for name, value in parameters.items() if isinstance(value, np.ndarray)}
    try:
        return parse_formula(text, numbers, ("d", "d0", "c", "u"), arrays)
    except FormulaError as fault:
        raise ProblemError(f"the formula {short_repr(text)} cannot be read: {reason_of(fault)}. Correct it.") from fault


def multiplicity_error(
    text: str, read: Expression, names: Mapping[str, Any], upper: Float[Array, " n"], c: Float[Array, " n"]
) -> str:
    """Return why an example with c_n = k does not count as k copies; "" if it does or if every c_n is 1.

    k copies with one k-th of the weight each have the value k f(d / k). So f(k d; k d0, k c, k u) must be
    k f(d; d0, c, u).
    """
    if (c == 1.0).all():
        return ""
    compiler, positive = Compiler("d", {**names, "c": c, "u": upper}), ("d", "d0", "c", "u")
    for copies in ("2", "3", "1/c"):  # the last multiple gives multiplicity 1
        k = parse_formula(copies, {}, positive)
        several = compiler.function(
            substitute(read, {name: k * parse_formula(name, {}, positive) for name in positive})
        )
        count = compiler.function(k)(upper)
        for fraction in TEST_FRACTIONS:
            d = fraction * upper
            differences = np.abs(several(d) - count * compiler.function(read)(d))
            tolerance = MULTIPLICITY_TOL * (count * compiler.compile_absolute_terms(read)(d) + 1e-300)
            if not (differences <= tolerance).all():
                return (
                    f"the formula {text!r} must count an example with c = k as k copies, f(k d; k d0, k c) = "
                    "k f(d; d0, c); it does not. Write c * f(d / c) for f(d): d**2/c and not d**2."
                )
    return ""
