"""Formulas as NumPy functions of one variable: what does not depend on it is computed once.

The logarithm of a product is the sum of logarithms, so that no quotient overflows; 0 log 0 is 0. A product of which
one factor overflows, and another may underflow, is made of logarithms too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.functions.formulas.expressions import Expression, Factor, FormulaError, Monomial

ArrayFunction = Callable[[Any], Any]
"""Takes the variable as an array, returns an array."""


@dataclass(frozen=True)
class Compiler:
    """Makes functions of formulas.

    Attributes
    ----------
    variable
        The name of the variable.
    names
        What the other names stand for: arrays of one shape, or numbers.
    """

    variable: str
    names: Mapping[str, Any]

    def function(self, of: Expression) -> ArrayFunction:
        """Return a sum as a function; what is infinite or not defined comes out as inf or nan, without a warning."""
        terms = self.compile_terms(of)

        def values(x: Any) -> Any:
            with np.errstate(all="ignore"):
                made = np.zeros(np.shape(x))
                for term in terms:
                    made = made + term(x)
                return made

        return values

    def compile_terms(self, of: Expression) -> list[ArrayFunction]:
        """Return the functions of the terms, to be called while warnings are off."""
        with np.errstate(all="ignore"):
            return [self._term(term) for term in of.terms]

    def compile_absolute_terms(self, of: Expression) -> ArrayFunction:
        """Return the sum of the sizes of the terms as a function: what is added up, and may cancel."""
        terms = self.compile_terms(of)

        def values(x: Any) -> Any:
            with np.errstate(all="ignore"):
                made = np.zeros(np.shape(x))
                for term in terms:
                    made = made + np.abs(term(x))
                return made

        return values

    def _term(self, term: Monomial) -> ArrayFunction:
        own, moving = term.split_by_dependence(self.variable)
        number = self._constant(own)
        if not moving:
            return lambda x: number
        factors = [self.compile_power(base, power) for base, power in moving]
        has_logarithm = any(base.kind == "log" for base, _ in moving)
        vanishing = [
            self.compile_factor(base) for base, power in moving if has_logarithm and base.kind != "log" and power > 0
        ]
        by_logarithms = self._by_logarithms(term)

        def value(x: Any) -> Any:
            made = number
            for factor in factors:
                made = made * factor(x)
            if not np.all(np.isfinite(made)):
                made = by_logarithms(x, made)
            for base in vanishing:
                made = np.where(base(x) == 0.0, 0.0, made)
            return made

        return value

    def _by_logarithms(self, term: Monomial) -> Callable[[Any, Any], Any]:
        """Return what replaces those numbers of a term that are no floats, where its logarithm is one."""
        parts = [(self.compile_factor(base), float(power), power.numerator % 2 == 1) for base, power in term.factors]
        sign, start = (1.0 if term.coefficient > 0 else -1.0), np.log(np.float64(abs(term.coefficient)))

        def replaced(x: Any, made: Any) -> Any:
            size, signs = np.zeros(np.shape(x)) + start, np.full(np.shape(x), sign)
            for base, power, is_odd in parts:
                value = base(x)
                size = size + power * np.log(np.abs(value))
                signs = np.where((value < 0.0) & is_odd, -signs, signs)
            return np.where(np.isfinite(made) | ~np.isfinite(size), made, signs * np.exp(size))

        return replaced

    def _constant(self, term: Monomial) -> Any:
        """Return the value of a term without the variable."""
        made = np.float64(term.coefficient)
        for base, power in term.factors:
            made = made * self.compile_power(base, power)(np.zeros(1) if base.arguments else None)
        return made

    def compile_power(self, base: Factor, power: Fraction) -> ArrayFunction:
        """Return a power of a base as a function, to be called while warnings are off."""
        function, p = self.compile_factor(base), float(power)
        if p == 1.0:
            return function
        if p == 2.0:
            return lambda x: np.square(function(x))
        if p == -1.0:
            return lambda x: 1.0 / function(x)
        if base.kind == "positive":
            return lambda x: np.where(function(x) > 0, function(x) ** p, 0.0)
        return lambda x: function(x) ** p

    def compile_factor(self, base: Factor) -> ArrayFunction:
        """Return a base as a function, to be called while warnings are off."""
        if base.kind == "number":
            return lambda x: np.float64(base.number)
        if not base.arguments:
            value = None if base.name == self.variable else self.names[base.name]
            return (lambda x: x) if value is None else (lambda x: value)
        if base.kind == "log":
            return self._logarithm(base.arguments[0])
        inner = [self.function(part) for part in base.arguments]
        return self._compile_call(base.kind, *inner)

    def _compile_call(self, kind: str, inner: ArrayFunction, at: ArrayFunction | None = None) -> ArrayFunction:
        if kind == "sum":
            return inner
        if kind == "exp":
            return lambda x: np.exp(inner(x))
        if kind == "positive":
            return lambda x: np.maximum(inner(x), 0.0)
        if kind == "step":
            return lambda x: (inner(x) > 0.0).astype(np.float64)
        if at is None or kind not in ("huber", "clip", "inside"):
            raise FormulaError(f"{kind!r} is no part of a formula")
        if kind == "inside":
            return lambda x: (np.abs(inner(x)) < at(x)).astype(np.float64)
        if kind == "clip":
            return lambda x: np.clip(inner(x), -at(x), at(x))

        def huber(x: Any) -> Any:
            size, m = np.abs(inner(x)), at(x)
            return np.where(size <= m, size**2, m * (2.0 * size - m))

        return huber

    def _logarithm(self, of: Expression) -> ArrayFunction:
        """Return a logarithm; that of a product factor by factor, whose signs cancel where the product is positive."""
        product = of.single_term
        if product is None or product.coefficient <= 0:
            whole = self.function(of)
            return lambda x: np.log(whole(x))
        own, moving = product.split_by_dependence(self.variable)
        number: Any = np.log(np.float64(own.coefficient))
        for base, power in own.factors:
            size = np.abs(self.compile_factor(base)(np.zeros(1) if base.arguments else None))
            number = number + float(power) * np.log(size)
        parts = [(float(power), self.compile_factor(base)) for base, power in moving]

        def value(x: Any) -> Any:
            made = number
            for power, base in parts:
                made = made + power * np.log(np.abs(base(x)))
            return made

        return value
