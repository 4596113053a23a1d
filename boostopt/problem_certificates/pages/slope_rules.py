"""Rules of slopes as TeX, one for each atom: the weight of its value becomes a weight of its argument.

An affine atom with the matrix A turns the weight w into Aᵀw, and a smooth atom multiplies w by its derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt.problem_certificates.pages.atom_formulas import is_scalar
from boostopt.problem_certificates.pages.tex_formulas import (
    ENTRYWISE,
    IDENTITY,
    ONES,
    ONES_MATRIX,
    PRODUCT,
    SIMPLE,
    Formula,
    entrywise_product,
    in_brackets,
    inner_product,
    is_column,
    is_number,
    number_formula,
    operator_formula,
    product,
)


@dataclass(frozen=True)
class Weight:
    """The weight of an expression in the Lagrangian, of the shape of the expression.

    Attributes
    ----------
    number
        The numbers in it.
    formula
        The rest; None for 1.
    """

    number: float
    formula: Formula | None = None

    @property
    def sign(self) -> int:
        """The sign of the number."""
        return -1 if self.number < 0 else 1

    @property
    def size(self) -> Formula:
        """The weight without its sign."""
        number = number_formula(abs(self.number))
        return number if self.formula is None else product(number, self.formula)

    def scale(self, number: float) -> Weight:
        """Return a multiple."""
        return replace(self, number=self.number * number)

    def multiply(self, factor: Formula, is_array: bool) -> Weight:
        """Return the product with a number, or entry by entry with an array."""
        if self.formula is None or (is_array and self.formula in (ONES, ONES_MATRIX)):
            return replace(self, formula=factor)
        if factor in (ONES, ONES_MATRIX):
            return self
        return replace(
            self, formula=entrywise_product(self.formula, factor) if is_array else product(factor, self.formula)
        )

    def multiply_from_left(self, first_side: Formula) -> Weight:
        """Return the product of a matrix or a row and the weight."""
        return replace(self, formula=first_side if self.formula is None else product(first_side, self.formula))

    def multiply_from_right(self, second_side: Formula) -> Weight:
        """Return the product of the weight and a matrix or a row."""
        return replace(self, formula=second_side if self.formula is None else product(self.formula, second_side))


Parts = list[tuple[Any, Weight]]
"""Expressions with their weights."""

FormulaOf = Callable[[Any], Formula]
"""The formula of an expression."""


def is_affine(expression: Any) -> bool:
    """Return whether an expression is affine."""
    return bool(expression.is_affine())


def is_smooth(expression: Any) -> bool:
    """Return whether an expression is affine, or a sum or an affine image of smooth atoms of affine arguments."""
    if is_affine(expression):
        return True
    name = type(expression).__name__
    if name in DERIVATIVES:
        is_square = name not in ("Power", "PowerApprox") or _exponent(expression) == 2
        return (
            is_affine(expression.args[0])
            and is_square
            and (name != "quad_over_lin" or expression.args[1].is_constant())
        )
    is_linear = name in AFFINE_SLOPES or name in ("AddExpression", "NegExpression")
    return is_linear and all(is_smooth(argument) for argument in expression.args)


def sum_parts(name: str, expression: Any, weight: Weight) -> Parts | None:
    """Return the terms of a sum, a negative or a multiple by a number; None for other atoms."""
    if name == "NegExpression":
        return [(expression.args[0], weight.scale(-1))]
    if name == "AddExpression" and all(argument.shape == expression.shape for argument in expression.args):
        return [(argument, weight) for argument in expression.args]
    if name in ("multiply", "MulExpression"):
        for factor, rest in (expression.args, expression.args[::-1]):
            number = _number_of(factor)
            if number is not None and rest.shape == expression.shape:
                return [(rest, weight.scale(number))]
    if name == "DivExpression" and (number := _number_of(expression.args[1])):
        return [(expression.args[0], weight.scale(1 / number))]
    return None


def _number_of(expression: Any) -> float | None:
    """Return the number that a constant without parameters is; None for others."""
    if not is_scalar(expression) or not expression.is_constant() or expression.parameters():
        return None
    value = np.asarray(expression.value).ravel()
    return float(value[0]) if value.size and np.isrealobj(value) else None


def _sum_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the weight of all entries of a sum."""
    argument = expression.args[0]
    axis = getattr(expression, "axis", None)
    if is_number(argument):
        return [(argument, weight)]
    if axis is None and type(argument).__name__ == "multiply":  # the inner product with data
        for factor, rest in (argument.args, argument.args[::-1]):
            if factor.is_constant() and not is_scalar(factor) and rest.shape == argument.shape == factor.shape:
                return [(rest, weight.multiply_from_right(formula(factor)))]
    if is_column(argument) and is_number(expression):
        return [(argument, weight if weight.formula == ONES else weight.multiply_from_right(ONES))]
    if argument.ndim != 2 or getattr(expression, "keepdims", False):
        return None
    if axis is None:
        return [(argument, weight.multiply_from_right(ONES_MATRIX))]
    is_rows = axis in (1, -1)
    factor = weight.formula or ONES
    first_side, second_side = (factor, ONES) if is_rows else (ONES, factor)
    return [(argument, replace(weight, formula=product(first_side, second_side.transpose)))]


def _promote_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the sum of the weights."""
    if weight.formula is None or weight.formula == ONES:
        return [(expression.args[0], Weight(weight.number * expression.size))]
    if is_column(expression):
        return [(expression.args[0], weight.multiply_from_left(ONES.transpose))]
    if expression.ndim == 2:
        return [(expression.args[0], replace(weight, formula=product(ONES.transpose, weight.formula, ONES)))]
    return None


def _product_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the weight of the factor that is not constant, entry by entry."""
    first, second = expression.args
    factor, rest = (first, second) if first.is_constant() else (second, first)
    if not factor.is_constant() or rest.shape != expression.shape:
        return None
    result = weight.multiply(formula(factor), not is_scalar(factor))
    if type(rest).__name__ == "Promote" and not is_scalar(factor) and weight.formula is not None:
        total = inner_product(weight.formula, formula(factor), factor)  # a multiple of data
        return [(rest.args[0], replace(weight, formula=total))]
    return [(rest, result)]


def _matrix_product_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return Aᵀw of A x, and W Bᵀ of X B."""
    first_side, second_side = expression.args
    if is_number(first_side) or is_number(second_side):
        return _product_slope(expression, weight, formula)
    if max(first_side.ndim, second_side.ndim) > 2 or (not first_side.is_constant() and not second_side.is_constant()):
        return None
    if first_side.is_constant():
        factor = formula(first_side)
        if first_side.ndim == 1:
            result = (
                weight.multiply_from_right(factor)
                if second_side.ndim == 1
                else replace(weight, formula=_outer(factor, weight))
            )
            return [(second_side, result)]
        return [(second_side, weight.multiply_from_left(factor.transpose))]
    factor = formula(second_side)
    if first_side.ndim == 1:
        return [
            (
                first_side,
                weight.multiply_from_right(factor) if second_side.ndim == 1 else weight.multiply_from_left(factor),
            )
        ]
    return [(first_side, weight.multiply_from_right(factor.transpose))]


def _outer(factor: Formula, weight: Weight) -> Formula:
    """Return the product of a column and the transposed weight."""
    return product(factor, (weight.formula or ONES).transpose)


def _quotient_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the weight divided by a constant."""
    numerator, denominator = expression.args
    if not denominator.is_constant() or numerator.shape != expression.shape:
        return None
    bottom = formula(denominator)
    factor = weight.formula or Formula("1")
    if is_scalar(denominator):
        return [(numerator, replace(weight, formula=Formula(rf"\frac{{{factor.text}}}{{{bottom.text}}}", PRODUCT)))]
    top = factor.enclose(PRODUCT)
    return [(numerator, replace(weight, formula=Formula(rf"{top} \oslash {bottom.enclose(SIMPLE)}", ENTRYWISE)))]


def _transpose_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the transposed weight; that of a symmetric matrix is the weight, up to its normal cone."""
    if expression.ndim > 2:
        return None
    if expression.ndim < 2 or weight.formula is None or expression.args[0].is_symmetric():
        return [(expression.args[0], weight)]
    return [(expression.args[0], replace(weight, formula=weight.formula.transpose))]


def _trace_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return a multiple of the identity."""
    return [(expression.args[0], weight.multiply_from_right(IDENTITY))] if expression.args[0].ndim == 2 else None


def _diagonal_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the diagonal matrix of a weight, or the diagonal of a weight."""
    if expression.get_data() not in (None, [0]):
        return None
    return [(expression.args[0], replace(weight, formula=operator_formula("diag", [weight.formula or ONES])))]


def _unchanged_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the weight, of atoms that change nothing."""
    argument = expression.args[0]
    is_same = argument.shape == expression.shape or (argument.size == 1 == expression.size)
    return [(argument, weight)] if is_same else None


AFFINE_SLOPES: dict[str, Callable[[Any, Weight, FormulaOf], Parts | None]] = {
    "Sum": _sum_slope,
    "Promote": _promote_slope,
    "multiply": _product_slope,
    "MulExpression": _matrix_product_slope,
    "DivExpression": _quotient_slope,
    "transpose": _transpose_slope,
    "Trace": _trace_slope,
    "diag_vec": _diagonal_slope,
    "diag_mat": _diagonal_slope,
    **dict.fromkeys("reshape psd_wrap nsd_wrap symmetric_wrap nonneg_wrap nonpos_wrap".split(), _unchanged_slope),
}
"""The weight of the argument of an affine atom; None where the rule does not apply."""


def _entrywise(derivative: Callable[[Formula, str], Formula]) -> Callable[[Any, Weight, FormulaOf], Parts | None]:
    """Return the rule of a smooth function of numbers by its derivative, which takes the sign before exponents."""

    def rule(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
        argument = expression.args[0]
        sign = "" if is_number(argument) else r"\circ "
        return [(argument, weight.multiply(derivative(formula(argument), sign), not is_number(argument)))]

    return rule


def _squares_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return twice the argument over the number of a sum of squares."""
    argument, number = expression.args
    value = _number_of(number)
    if not value or getattr(expression, "axis", None) is not None:
        return None
    inner = formula(argument)
    doubled = weight.scale(2 / value)
    return [
        (argument, doubled.multiply(inner, False) if weight.formula is None else doubled.multiply_from_right(inner))
    ]


def _quadratic_form_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return 2 P x."""
    x, P = expression.args
    if not P.is_constant() or (P.parameters() and not P.is_symmetric()):
        return None
    slope = product(formula(P), formula(x))
    doubled = weight.scale(2)
    return [(x, replace(doubled, formula=slope if weight.formula is None else product(weight.formula, slope)))]


def _exponent(expression: Any) -> float | None:
    """Return the exponent of a power; None for a parameter."""
    exponent = expression.get_data()[0]
    return None if getattr(exponent, "parameters", list)() else float(getattr(exponent, "value", exponent))


def _square_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return 2 x of a square; other powers have a domain with a boundary, or no gradient at 0."""
    if _exponent(expression) != 2:
        return None
    argument = expression.args[0]
    return [(argument, weight.scale(2).multiply(formula(argument), not is_number(argument)))]


def _inverse_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return the inverse, the gradient of log det."""
    inverse = formula(expression.args[0]).power("-1")
    return [(expression.args[0], weight.multiply_from_right(inverse))]


def _softmax_slope(expression: Any, weight: Weight, formula: FormulaOf) -> Parts | None:
    """Return exponentials over their sum, the gradient of log sum exp."""
    if getattr(expression, "axis", None) is not None:
        return None
    argument = expression.args[0]
    return [(argument, weight.multiply_from_right(operator_formula("softmax", [formula(argument)])))]


DERIVATIVES: dict[str, Callable[[Any, Weight, FormulaOf], Parts | None]] = {
    "exp": _entrywise(lambda u, sign: Formula(rf"\exp{in_brackets(u.text)}")),
    "log": _entrywise(lambda u, sign: u.power(f"{sign}-1")),
    "logistic": _entrywise(lambda u, sign: operator_formula("sigmoid", [u])),
    "quad_over_lin": _squares_slope,
    "QuadForm": _quadratic_form_slope,
    "Power": _square_slope,
    "PowerApprox": _square_slope,
    "log_det": _inverse_slope,
    "log_sum_exp": _softmax_slope,
}
"""The weight of the argument of a smooth atom; None where it has no gradient of this form."""
