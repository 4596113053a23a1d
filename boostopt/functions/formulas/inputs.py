"""Formulas as they are passed: a text or an expression of SymPy, and parameters by name.

A formula of a regularizer has a reference distribution d0 too, and must obey the law of copies.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
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
from boostopt.functions.formulas.latex import latex
from boostopt.functions.formulas.parsing import parse_formula

RESERVED = {"d", "d0", "c", "u", "e", "log", "exp", "sqrt", "max", "min", "huber"}
"""Names that a parameter cannot have."""

INTERIOR_CONE = "interior"
"""What a formula needs for which CVXPY has no atoms."""

MULTIPLICITY_TOL = 1e-9
"""Relative agreement of f of k copies with k times f."""

SHARES = (0.137, 0.411, 0.73, 0.94)
"""Places in the box at which copies are counted."""


def formula_text(formula: object) -> str:
    """Return a formula as text: a text as it is, an expression of SymPy printed with all digits.

    Raises
    ------
    ProblemError
        It is neither.
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
    digits = {each: sympy.Symbol(repr(float(each))) for each in floats.atoms(sympy.Float)}
    return str(floats.xreplace(digits)).replace("Max(", "max(").replace("Min(", "min(")


def read_text(text: object) -> str:
    """Return the text of a formula; ProblemError for anything else."""
    if not isinstance(text, str):
        raise ProblemError(f"a formula must be a text; got {short_repr(text)}. Pass it in quotes.")
    return text


def formula_latex(text: str) -> str:
    """Return a text that the grammar knows as LaTeX.

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
    """Return no parameters, which nobody can change."""
    return MappingProxyType({})


def check_parameter_names(parameters: object) -> None:
    """Raise ProblemError unless they are values by names that are free for parameters."""
    expected, advice = "values of parameters by their names", 'Pass a mapping such as {"eta": 2.0}.'
    for name in check_instance("parameters", parameters, Mapping, expected, advice, ProblemError):
        check_name(name)


def check_name(name: object) -> None:
    """Refuse a parameter that has the name of something else."""
    if not isinstance(name, str) or name in RESERVED or not name.isidentifier() or keyword.iskeyword(name):
        raise ProblemError(f"a parameter must have a name of its own; got {short_repr(name)}. Call it otherwise.")


def check_number_parameters(parameters: Mapping[str, object]) -> dict[str, float]:
    """Return parameters that are numbers."""
    check_parameter_names(parameters)
    return {name: check_number(name, value, error=ProblemError) for name, value in parameters.items()}


def check_parameters(parameters: Mapping[str, object], N: int) -> dict[str, float | Array]:
    """Return the parameters: finite floats, or finite arrays of one number for each example."""
    check_parameter_names(parameters)
    read = dict[str, float | Array]()
    for name, value in parameters.items():
        if is_real_number(value):
            read[name] = check_number(name, value, error=ProblemError)
            continue
        expected = f"a finite number, or {N} of them, shape (N,)"
        array = check_real_array(name, value, expected, "Pass such a parameter.", lambda shape: shape == (N,))
        if not np.isfinite(array).all():
            raise ProblemError(f"{name} must be {expected}; it is not finite. Pass such a parameter.")
        read[name] = array
    return read


def check_reference(d0: object, c: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return the reference distribution, c / sum c where none is given."""
    if d0 is None:
        return c / c.sum()
    read = non_negative_weights("d0", d0, len(c))
    if abs(float(read.sum()) - 1.0) > 1e-8:
        raise ProblemError(f"d0 must have the sum 1; got {float(read.sum()):.10g}. Divide it by its sum.")
    return read


def parse_regularizer_formula(text: object, parameters: Mapping[str, float | Array]) -> Expression:
    """Return the formula of one weight.

    Raises
    ------
    ProblemError
        It is no formula in d, d0, c, u and the parameters.
    """
    text = read_text(text)
    numbers = {name: value for name, value in parameters.items() if isinstance(value, float)}
    arrays = {name for name, value in parameters.items() if isinstance(value, np.ndarray)}
    try:
        return parse_formula(text, numbers, ("d", "d0", "c", "u"), arrays)
    except FormulaError as fault:
        raise ProblemError(f"the formula {short_repr(text)} cannot be read: {reason_of(fault)}.") from fault


def multiplicity_error(
    text: str, read: Expression, names: Mapping[str, Any], upper: Float[Array, " n"], c: Float[Array, " n"]
) -> str:
    """Return why an example with c_n = k does not count as k copies, "" where it does or where every c_n is 1.

    k copies with a k-th of the weight each have k f(d / k): f(k d; k d0, k c, k u) must be k f(d; d0, c, u).
    """
    if (c == 1.0).all():
        return ""
    own, positive = Compiler("d", {**names, "c": c, "u": upper}), ("d", "d0", "c", "u")
    for copies in ("2", "3", "1/c"):  # the last one leaves one of each
        k = parse_formula(copies, {}, positive)
        several = own.function(substitute(read, {name: k * parse_formula(name, {}, positive) for name in positive}))
        count = own.function(k)(upper)
        for share in SHARES:
            d = share * upper
            apart = np.abs(several(d) - count * own.function(read)(d))
            size = MULTIPLICITY_TOL * (count * own.compile_absolute_terms(read)(d) + 1e-300)
            if not (apart <= size).all():
                return (
                    f"the formula {text!r} must count an example with c = k as k copies, f(k d; k d0, k c) = "
                    "k f(d; d0, c); it does not. Write c * f(d / c) for f(d): d**2/c and not d**2."
                )
    return ""
