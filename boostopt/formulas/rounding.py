"""How much a formula may lose to rounding: first-order bounds of the error, in units of one rounding.

A sum of huge numbers within a logarithm or a power loses more than its result shows: 1e8 log(1 + d^2 / 1e8) is about
d^2, and loses 1e8 roundings. What is inside is followed outwards [Higham 2002, section 3.3].
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.formulas.algebra import Base, FormulaFault, Sum, Term
from boostopt.formulas.compiled import Compiler, Function

UNIT = 2.0**-52
"""One rounding: an error may be so large that its square counts."""


class Rounding:
    """Bounds of what the functions of a compiler lose."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler

    def lost(self, of: Sum) -> Function:
        """Return the error of a sum as a function, at least the sum of the sizes of its terms."""

        def values(x: Any) -> Any:
            with np.errstate(all="ignore"):
                return self._sum(of, x)[1]

        return values

    def _sum(self, of: Sum, x: Any) -> tuple[Any, Any]:
        """Return (value, error) of a sum."""
        value, error = np.zeros(np.shape(x)), np.zeros(np.shape(x))
        for term in of.terms:
            v, e = self._term(term, x)
            value, error = value + v, error + e + np.abs(v)
        return value, error

    def _term(self, term: Term, x: Any) -> tuple[Any, Any]:
        value: Any = np.float64(term.coefficient)
        error = np.zeros(np.shape(x))
        for base, power in term.factors:
            v, e = self._power(base, power, x)
            # 0 log 0 is 0, and so is what it loses.
            error = np.nan_to_num(np.abs(value) * e, nan=0.0, posinf=np.inf) + np.abs(v) * error + np.abs(value * v)
            value = np.where((value == 0.0) | (v == 0.0), 0.0, value * v)
        return value, error

    def _power(self, base: Base, power: Fraction, x: Any) -> tuple[Any, Any]:
        value, error = self._base(base, x)
        p = float(power)
        if p == 1.0:
            return value, error
        raised = self.compiler.power(base, power)(x)
        size, off = np.abs(value), UNIT * error
        # The slope is steepest at the end of what the base may be: its larger one for p > 1, its smaller one below.
        worst = size + off if p > 1.0 else np.maximum(size - off, 0.0)
        lost = abs(p) * worst ** (p - 1.0) * error
        if 0.0 < p < 1.0:  # near 0 it is steep, but |x^p - y^p| is at most |x - y|^p
            lost = np.fmin(lost, off**p / UNIT)
        return raised, np.where(error == 0.0, 0.0, lost) + np.abs(raised)

    def _base(self, base: Base, x: Any) -> tuple[Any, Any]:
        if not base.inner:
            value = self.compiler.base(base)(x)
            return value, np.abs(value) if base.kind == "number" else np.zeros(np.shape(x))
        if base.kind == "log":
            return self._logarithm(base.inner[0], x)
        inner, error = self._sum(base.inner[0], x)
        if base.kind == "sum":
            return inner, error
        value = self.compiler.base(base)(x)
        if base.kind == "exp":
            return value, np.exp(inner + UNIT * error) * error + value
        if base.kind in ("positive", "step"):
            return value, error
        at, of_at = self._sum(base.inner[1], x)
        if base.kind == "clip":
            return value, error + of_at + np.abs(value)
        if base.kind == "huber":
            return value, 2.0 * (np.minimum(np.abs(inner), at) + UNIT * error) * error + 2.0 * np.abs(
                inner
            ) * of_at + value
        raise FormulaFault(f"{base.kind!r} is no part of the value or the slope of a formula")

    def _logarithm(self, of: Sum, x: Any) -> tuple[Any, Any]:
        """Return (value, error) of a logarithm; that of a product is taken factor by factor."""
        value = self.compiler.base(Base("log", inner=(of,)))(x)
        product = of.single
        if product is None or product.coefficient <= 0:
            inner, error = self._sum(of, x)
            return value, self._relative(inner, error) + np.abs(value)
        lost: Any = np.abs(np.log(float(product.coefficient)))
        for base, power in product.factors:
            inner, error = self._base(base, x)
            lost = lost + abs(float(power)) * (self._relative(inner, error) + 2.0 * np.abs(np.log(np.abs(inner))))
        return value, np.nan_to_num(lost, nan=0.0, posinf=np.inf) + np.abs(value)

    def _relative(self, value: Any, error: Any) -> Any:
        """Return an error over what is left of the value where it is as wrong as that; inf where nothing is."""
        left = np.abs(value) - UNIT * error
        return np.where(error == 0.0, 0.0, np.where(left > 0.0, error / np.where(left > 0.0, left, 1.0), np.inf))
