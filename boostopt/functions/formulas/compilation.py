"""Compilation of formulas to NumPy functions of one variable. Factors without the variable are computed once.

The logarithm of a product is computed as a sum of logarithms, so that no quotient overflows; 0 log 0 is 0. If a factor
of a product overflows, while another may underflow, the product is also computed by logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.functions.formulas.expressions import Expression, Factor, FormulaError, Monomial

ArrayFunction = Callable[[Any], Any]
"""A function of the variable, an array, that returns an array of the same shape."""


@dataclass(frozen=True)
class Compiler:
    """A compiler of formulas to functions of one variable.

    Attributes
    ----------
    variable
        The name of the variable.
    names
        The values of the other names: arrays of one shape, or numbers.
    """

    variable: str
    names: Mapping[str, Any]

    def function(self, expression: Expression) -> ArrayFunction:
        """Return an expression as a function. Infinite and undefined values are inf and nan, without a warning."""
        inner = self._compile_sum(expression)

        def values(x: Any) -> Any:
            with np.errstate(all="ignore"):
                return inner(x)

        return values

    def _compile_sum(self, expression: Expression) -> ArrayFunction:
        """Return the sum of the terms as a function. Call it with the warnings of NumPy off."""
        terms = self.compile_terms(expression)

        def values(x: Any) -> Any:
            total = np.zeros(np.shape(x))
            for term in terms:
                total = total + term(x)
            return total

        return values

    def compile_terms(self, expression: Expression) -> list[ArrayFunction]:
        """Return the functions of the terms. Call them with the warnings of NumPy off."""
        with np.errstate(all="ignore"):
            return [self._compile_term(term) for term in expression.terms]

    def compile_absolute_terms(self, expression: Expression) -> ArrayFunction:
        """Return the sum of the absolute values of the terms as a function: the scale of rounding if terms cancel."""
        terms = self.compile_terms(expression)

        def values(x: Any) -> Any:
            with np.errstate(all="ignore"):
                total = np.zeros(np.shape(x))
                for term in terms:
                    total = total + np.abs(term(x))
                return total

        return values

    def _compile_term(self, term: Monomial) -> ArrayFunction:
        """Return a term as a function; entries that are not finite are computed again by logarithms."""
        constant_factors, variable_factors = term.split_by_dependence(self.variable)
        number = self._constant_value(constant_factors)
        if not variable_factors:
            return lambda x: number
        factors = [self.compile_power(base, power) for base, power in variable_factors]
        has_logarithm = any(base.kind == "log" for base, _ in variable_factors)
        vanishing = [
            self.compile_factor(base)
            for base, power in variable_factors
            if has_logarithm and base.kind != "log" and power > 0
        ]
        by_logarithms = self._compile_by_logarithms(term)

        def value(x: Any) -> Any:
            product = number
            for factor in factors:
                product = product * factor(x)
            if not np.isfinite(product).all():
                product = by_logarithms(x, product)
            for base in vanishing:
                product = np.where(base(x) == 0.0, 0.0, product)
            return product

        return value

    def _compile_by_logarithms(self, term: Monomial) -> Callable[[Any, Any], Any]:
        """Return a function that replaces entries of a term that are not finite, if their logarithms are."""
        parts = [(self.compile_factor(base), float(power), power.numerator % 2 == 1) for base, power in term.factors]
        sign, start = (1.0 if term.coefficient > 0 else -1.0), np.log(np.float64(abs(term.coefficient)))

        def replacement(x: Any, product: Any) -> Any:
            size, signs = np.zeros(np.shape(x)) + start, np.full(np.shape(x), sign)
            for base, power, is_odd in parts:
                value = base(x)
                size = size + power * np.log(np.abs(value))
                signs = np.where((value < 0.0) & is_odd, -signs, signs)
            return np.where(np.isfinite(product) | ~np.isfinite(size), product, signs * np.exp(size))

        return replacement

    def _constant_value(self, term: Monomial) -> Any:
        """Return the value of a term without the variable."""
        product = np.float64(term.coefficient)
        for base, power in term.factors:
            product = product * self.compile_power(base, power)(np.zeros(1) if base.arguments else None)
        return product

    def compile_power(self, base: Factor, power: Fraction) -> ArrayFunction:
        """Return a power of a base as a function. Call it with the warnings of NumPy off."""
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
        """Return a base as a function. Call it with the warnings of NumPy off."""
        if base.kind == "number":
            return lambda x: np.float64(base.number)
        if not base.arguments:
            value = None if base.name == self.variable else self.names[base.name]
            return (lambda x: x) if value is None else (lambda x: value)
        if base.kind == "log":
            return self._compile_logarithm(base.arguments[0])
        inner = [self._compile_sum(part) for part in base.arguments]
        return self._compile_call(base.kind, *inner)

    def _compile_call(self, kind: str, inner: ArrayFunction, bound: ArrayFunction | None = None) -> ArrayFunction:
        """Return a function of the argument and, for "huber", "clip" and "inside", of M."""
        if kind == "sum":
            return inner
        if kind == "exp":
            return lambda x: np.exp(inner(x))
        if kind == "positive":
            return lambda x: np.maximum(inner(x), 0.0)
        if kind == "step":
            return lambda x: (inner(x) > 0.0).astype(np.float64)
        if bound is None or kind not in ("huber", "clip", "inside"):
            raise FormulaError(f"{kind!r} is no part of a formula")
        if kind == "inside":
            return lambda x: (np.abs(inner(x)) < bound(x)).astype(np.float64)
        if kind == "clip":
            return lambda x: np.clip(inner(x), -bound(x), bound(x))

        def huber(x: Any) -> Any:
            size, m = np.abs(inner(x)), bound(x)
            return np.where(size <= m, size**2, m * (2.0 * size - m))

        return huber

    def _compile_logarithm(self, expression: Expression) -> ArrayFunction:
        """Return a logarithm as a function. For a product, it is the sum of the logarithms of the absolute factors."""
        product = expression.single_term
        if product is None or product.coefficient <= 0:
            whole = self._compile_sum(expression)
            return lambda x: np.log(whole(x))
        constant_factors, variable_factors = product.split_by_dependence(self.variable)
        number: Any = np.log(np.float64(constant_factors.coefficient))
        for base, power in constant_factors.factors:
            size = np.abs(self.compile_factor(base)(np.zeros(1) if base.arguments else None))
            number = number + float(power) * np.log(size)
        parts = [(float(power), self.compile_factor(base)) for base, power in variable_factors]

        def value(x: Any) -> Any:
            total = number
            for power, base in parts:
                total = total + power * np.log(np.abs(base(x)))
            return total

        return value
