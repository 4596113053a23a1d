"""Formulas as CVXPY expressions: a rule for each term, or none where no rule gives one that is convex.

Terms are matched as they stand and, where that fails, multiplied out: x log(x / a) is rel_entr, -log x, powers, exp x,
squares of positive parts and Huber functions have atoms of their own; what is linear is added up.
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


def to_cvxpy(of: Expression, x: Any, variable: str, names: Mapping[str, Any]) -> Any:
    """Return the sum of a formula over the entries of a CVXPY expression; None where no rule gives a convex one."""
    model = _CvxpyTranslator(import_module("cvxpy"), x, Compiler(variable, names))
    for form in (lambda: of, lambda: expand(of)):
        try:
            terms = [model.term(term) for term in form().terms]
        except FormulaError:
            continue
        made: Any = sum((model.cp.sum(term) for term in terms), start=model.cp.Constant(0.0))
        if made.is_convex():
            return made
    return None


@dataclass(frozen=True)
class _CvxpyTranslator:
    """The rules, for one vector of variables."""

    cp: Any
    x: Any
    names: Compiler

    def term(self, term: Monomial) -> Any:
        """Return a term as a vector."""
        own, moving = term.split_by_dependence(self.names.variable)
        number = np.broadcast_to(np.asarray(self._number(own)), self.x.shape)
        if not moving:
            return self.cp.Constant(number)
        if not np.isfinite(number).all():
            raise FormulaError("a coefficient is not finite")
        entropy = self._entropy(number, moving)
        if entropy is not None:
            return entropy
        if len(moving) > 1:
            raise FormulaError("no rule for this product")
        base, power = next(iter(moving))
        return self._logarithm(number, base, power) if base.kind == "log" else self._power(number, base, power)

    def _number(self, term: Monomial) -> Any:
        return self.names.function(Expression((term,)))(np.zeros(1))

    def _entropy(self, number: np.ndarray, moving: Factors) -> Any:
        """Return k X log(X^m / a) as k m rel_entr(X, r), r^m = a; None where it is none."""
        if len(moving) != 2 or any(power != ONE for _, power in moving):
            return None
        log, X = sorted((base for base, _ in moving), key=lambda base: base.kind != "log")
        product = log.arguments[0].single_term if log.kind == "log" else None
        if product is None:
            return None
        own, inner = product.split_by_dependence(self.names.variable)
        if [base for base, _ in inner] != [X]:
            return None
        m = float(next(power for _, power in inner))
        reference = np.broadcast_to(np.asarray(self._number(own)) ** (-1.0 / m), self.x.shape)
        return self.cp.multiply(number * m, self.cp.rel_entr(self._linear(power_expression(X)), reference))

    def _logarithm(self, number: np.ndarray, base: Factor, power: Fraction) -> Any:
        """Return k log(a X^m) as a constant and k m log X."""
        of = base.arguments[0]
        if power != ONE:
            raise FormulaError("no rule for powers of logarithms")
        product = of.single_term
        if product is None:
            return self.cp.multiply(number, self.cp.log(self._linear(of)))
        own, inner = product.split_by_dependence(self.names.variable)
        made = self.cp.Constant(number * np.log(self._number(own)))
        for each, exponent in inner:
            made = made + self.cp.multiply(number * float(exponent), self.cp.log(self._linear(power_expression(each))))
        return made

    def _power(self, number: np.ndarray, base: Factor, power: Fraction) -> Any:
        """Return k X^p, X linear or one of the functions that have atoms."""
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
        at = np.unique(np.asarray(self.names.function(base.arguments[1])(np.zeros(1))))
        if power != ONE or len(at) != 1:
            raise FormulaError("no rule for Huber functions of several widths, or for their powers")
        return self.cp.multiply(number, self.cp.huber(self._linear(base.arguments[0]), float(at[0])))

    def _linear(self, of: Expression) -> Any:
        """Return a linear sum: its value at 0 and its slope times the variable."""
        slope = differentiate(of, self.names.variable)
        if slope.depends_on(self.names.variable):
            raise FormulaError("no rule for what is not linear here")
        at_zero = np.broadcast_to(self.names.function(of)(np.zeros(1)), self.x.shape)
        steepness = np.broadcast_to(self.names.function(slope)(np.zeros(1)), self.x.shape)
        moved = self.cp.multiply(steepness, self.x)
        return moved + at_zero if at_zero.any() else moved
