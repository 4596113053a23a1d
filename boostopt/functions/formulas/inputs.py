"""Formulas as they are passed: a text or an expression of SymPy, and parameters by name."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from boostopt._utils.validation import instance, number
from boostopt.errors import OptionError, ProblemError, shown
from boostopt.functions.formulas.latex import latex

RESERVED = {"d", "d0", "c", "u", "e", "log", "exp", "sqrt", "max", "min", "huber"}
"""Names that a parameter cannot have."""


INTERIOR_ONLY = "interior"
"""What a formula needs for which CVXPY has no atoms."""


def no_parameters() -> Mapping[str, Any]:
    """Return no parameters, which nobody can change."""
    return MappingProxyType({})


def text_of(formula: object) -> str:
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
            f"a formula must be a text or an expression of SymPy; got {shown(formula)}. Pass one such as "
            '"d*log(d/d0)/eta".'
        )
    sympy = import_module("sympy")
    floats: Any = formula
    digits = {each: sympy.Symbol(repr(float(each))) for each in floats.atoms(sympy.Float)}
    return str(floats.xreplace(digits)).replace("Max(", "max(").replace("Min(", "min(")


def check_name(name: object) -> None:
    """Refuse a parameter that has the name of something else."""
    if not isinstance(name, str) or name in RESERVED or not name.isidentifier() or keyword.iskeyword(name):
        raise ProblemError(f"a parameter must have a name of its own; got {shown(name)}. Call it otherwise.")


def read_text(text: object) -> str:
    """Return the text of a formula; ProblemError for anything else."""
    if not isinstance(text, str):
        raise ProblemError(f"a formula must be a text; got {shown(text)}. Pass it in quotes.")
    return text


def check_parameters(parameters: object) -> None:
    """Raise ProblemError unless they are values by names that are free for parameters."""
    expected, advice = "values of parameters by their names", 'Pass a mapping such as {"eta": 2.0}.'
    for name in instance("parameters", parameters, Mapping, expected, advice, ProblemError):
        check_name(name)


def as_numbers(parameters: Mapping[str, object]) -> dict[str, float]:
    """Return parameters that are numbers."""
    check_parameters(parameters)
    return {name: number(name, value, error=ProblemError) for name, value in parameters.items()}


def latex_of(text: str) -> str:
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
