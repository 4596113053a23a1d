"""Translation of formulas to convex CVXPY expressions, term by term.

Each term is matched with a rule, first in the form in which it was written, then multiplied out. The term x log(x / a)
becomes rel_entr. Logarithms, powers, exponentials, squares of positive parts and Huber functions have atoms of their
own. Linear terms are added. The translation fails if no rule gives a convex expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from boostopt.functions.formulas.compilation import Compiler
from boostopt.functions.formulas.differentiation import differentiate, expand
from boostopt.functions.formulas.expressions import (
    ONE,
    Expression,
    Factor,
    Factors,
    FormulaError,
    Monomial,
    power_expression,
)


def to_cvxpy(expression: Expression, x: Any, variable: str, names: Mapping[str, Any]) -> Any:
    """Return the sum of a formula over the entries of a CVXPY expression x; None if no rule gives a convex one."""
    model = _CvxpyTranslator(import_module("cvxpy"), x, Compiler(variable, names))
    for form in (lambda: expression, lambda: expand(expression)):
        try:
            terms = [model.term(term) for term in form().terms]
        except FormulaError:
            continue
        total: Any = sum((model.cp.sum(term) for term in terms), start=model.cp.Constant(0.0))
        if total.is_convex():
            return total
    return None


@dataclass(frozen=True)
class _CvxpyTranslator:
    """The rules for one vector of variables.

    Attributes
    ----------
    cp
        The module of CVXPY.
    x
        The expression in place of the variable.
    compiler
        The compiler of the coefficients.
    """

    cp: Any
    x: Any
    compiler: Compiler

    def term(self, term: Monomial) -> Any:
        """Return a term as a CVXPY expression of the shape of x."""
        constant_factors, variable_factors = term.split_by_dependence(self.compiler.variable)
        number = np.broadcast_to(np.asarray(self._constant_value(constant_factors)), self.x.shape)
        if not variable_factors:
            return self.cp.Constant(number)
        if not np.isfinite(number).all():
            raise FormulaError("a coefficient is not finite")
        entropy = self._entropy(number, variable_factors)
        if entropy is not None:
            return entropy
        if len(variable_factors) > 1:
            raise FormulaError("no rule for this product")
        base, power = next(iter(variable_factors))
        return self._logarithm(number, base, power) if base.kind == "log" else self._power(number, base, power)

    def _constant_value(self, term: Monomial) -> Any:
        return self.compiler.function(Expression((term,)))(np.zeros(1))

    def _entropy(self, number: np.ndarray, variable_factors: Factors) -> Any:
        """Return k X log(X^m / a) as k m rel_entr(X, r) with r^m = a; None for other products."""
        if len(variable_factors) != 2 or any(power != ONE for _, power in variable_factors):
            return None
        log, X = sorted((base for base, _ in variable_factors), key=lambda base: base.kind != "log")
        product = log.arguments[0].single_term if log.kind == "log" else None
        if product is None:
            return None
        constant_factors, inner = product.split_by_dependence(self.compiler.variable)
        if [base for base, _ in inner] != [X]:
            return None
        m = float(next(power for _, power in inner))
        reference = np.broadcast_to(np.asarray(self._constant_value(constant_factors)) ** (-1.0 / m), self.x.shape)
        return self.cp.multiply(number * m, self.cp.rel_entr(self._linear(power_expression(X)), reference))

    def _logarithm(self, number: np.ndarray, base: Factor, power: Fraction) -> Any:
        """Return k log(a X^m) as a constant and k m log X."""
        argument = base.arguments[0]
        if power != ONE:
            raise FormulaError("no rule for powers of logarithms")
        product = argument.single_term
        if product is None:
            return self.cp.multiply(number, self.cp.log(self._linear(argument)))
        constant_factors, inner = product.split_by_dependence(self.compiler.variable)
        total = self.cp.Constant(number * np.log(self._constant_value(constant_factors)))
        for factor, exponent in inner:
            total = total + self.cp.multiply(
                number * float(exponent), self.cp.log(self._linear(power_expression(factor)))
            )
        return total

    def _power(self, number: np.ndarray, base: Factor, power: Fraction) -> Any:
        """Return k X^p for a linear X or a function with an atom."""
        cp, p = self.cp, float(power)
        if base.kind == "exp":
            return cp.multiply(number, cp.exp(self._linear(base.arguments[0])))
        if base.kind == "huber":
            return self._huber(number, base, power)
        inner = (
            cp.pos(self._linear(base.arguments[0])) if base.kind == "positive" else self._linear(power_expression(base))
        )
        if p == 1.0:
            return cp.multiply(number, inner)
        return cp.multiply(number, cp.square(inner) if p == 2.0 else cp.power(inner, p, approx=False))

    def _huber(self, number: np.ndarray, base: Factor, power: Fraction) -> Any:
        M = np.unique(np.asarray(self.compiler.function(base.arguments[1])(np.zeros(1))))
        if power != ONE or len(M) != 1:
            raise FormulaError("no rule for Huber functions of several widths, or for their powers")
        return self.cp.multiply(number, self.cp.huber(self._linear(base.arguments[0]), float(M[0])))

    def _linear(self, expression: Expression) -> Any:
        """Return a linear expression, from its value at 0 and its slope."""
        slope = differentiate(expression, self.compiler.variable)
        if slope.depends_on(self.compiler.variable):
            raise FormulaError("no rule for what is not linear here")
        at_zero = np.broadcast_to(self.compiler.function(expression)(np.zeros(1)), self.x.shape)
        slope_values = np.broadcast_to(self.compiler.function(slope)(np.zeros(1)), self.x.shape)
        product = self.cp.multiply(slope_values, self.x)
        return product + at_zero if at_zero.any() else product
