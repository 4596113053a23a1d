"""Formulas that a file states: read anew, differentiated, proved convex on every box, and computed with all digits.

The file holds the text and the numbers, no derivative. By convexity, for ANY x in the box [0, u],

    f*(y) <= y x - f(x) + max(y - f'(x), 0) (u - x) + max(f'(x) - y, 0) x,

so that the x, which floats find, need not be right. Only NumPy and the standard library are imported here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.functions.formulas.compilation import Compiler
from boostopt.functions.formulas.convexity import BoxFamily, ConvexFormula, prove_convex
from boostopt.functions.formulas.expressions import (
    Expression,
    Factor,
    Factors,
    FormulaError,
    Monomial,
    constant_expression,
    power_expression,
)
from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.formulas.maximizers import BOUNDARY_FRACTION as BOUNDARY_FRACTION
from boostopt.functions.formulas.maximizers import MonotoneDerivative
from boostopt.functions.formulas.parsing import parse_formula
from boostopt.verification.trusted_kernel.conjugates import Box, Edge, Vector, power
from boostopt.verification.trusted_kernel.json_parsing import fail
from boostopt.verification.trusted_kernel.number_types import TINY, ZERO, Numbers

WITHIN = 1.0 - 1e-15
"""Share of the box up to which tangents are taken: within its end, whatever its rounding."""

WHOLE = 64
"""Whole powers up to which factors are multiplied."""


@dataclass(frozen=True)
class StatedFormula:
    """A formula with what its names stand for.

    Attributes
    ----------
    read
        The formula.
    arrays
        Parameters that are arrays, by name.
    """

    read: Expression
    arrays: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, text: str, parameters: Mapping[str, Any], variable: str = "d") -> StatedFormula:
        """Return the formula of a text, in a weight d or in an edge e; Rejected where it is none."""
        arrays = {name: value for name, value in parameters.items() if isinstance(value, np.ndarray)}
        numbers = {name: value for name, value in parameters.items() if name not in arrays}
        names = ("d", "d0", "c", "u") if variable == "d" else ()
        if set(parameters) & {*names, variable}:
            fail(f"the parameters of a formula must not be called {', '.join([*names, variable])}")
        try:
            return cls(parse_formula(text, numbers, names, [*arrays, variable], variable), arrays)
        except FormulaError as fault:
            fail(f"its formula cannot be read: {fault}"[:400])

    def box(self, A: Numbers, u: Vector, c: np.ndarray, d0: np.ndarray) -> Box:
        """Return the sum over the examples on [0, u] on the simplex; Rejected where it is not proved to be convex."""
        live = A.high(u) > ZERO
        ones, nothing = np.ones(len(c)), A.vector(np.zeros(len(c)))
        given = {"c": c, "d0": d0, **self.arrays}
        floats = {name: np.where(live, value, 1.0) for name, value in given.items() if self.read.depends_on(name)}
        caps = A.choose(live, u, A.vector(ones))
        formula = self._convex(floats, A.low(caps), A.high(caps))
        names = {"u": caps, **{name: A.vector(value) for name, value in floats.items()}}
        computed = Computed(A, names)
        ends = Compiler("d", {**floats, "u": A.low(caps) * WITHIN})
        slope, bend = ends.function(formula.slope), ends.function(formula.curvature)
        between = MonotoneDerivative.on_box(slope, bend, np.zeros(len(c)), A.low(caps) * WITHIN)

        def values(d: Vector) -> Vector:
            return A.choose(
                live, computed.at(A.choose(live, d, A.vector(0.5 * A.low(caps)))).sum(formula.value), nothing
            )

        def conjugates(y: Vector) -> Vector:
            middle = np.clip(0.5 * A.low(y) + 0.5 * A.high(y), -1e300, 1e300)
            x = between.tangent_points(middle)
            x = A.vector(np.clip(x, BOUNDARY_FRACTION * A.low(caps), A.low(caps) * WITHIN))
            at = computed.at(x)
            excess = y - at.sum(formula.slope)
            room = A.positive(excess) * (caps - x) + A.positive(-excess) * x
            return A.choose(live, y * x - at.sum(formula.value) + room, nothing)

        return Box(nothing, u, True, values, conjugates)

    def edge(self, A: Numbers, t: int) -> Edge:
        """Return the sum over t edges on [-1, 1]; Rejected where it is not proved to be convex there."""
        ones = np.ones(t)
        try:
            formula = prove_convex(
                self.read, BoxFamily("e", -ones[:1], ones[:1], {}, (constant_expression(-1), constant_expression(1)))
            )
        except FormulaError as fault:
            fail(f"its formula of the edges is not allowed: {fault}"[:400])
        floats = Compiler("e", {})
        between = MonotoneDerivative.on_box(
            floats.function(formula.slope), floats.function(formula.curvature), -ones, ones
        )

        def conjugate(w: Vector) -> Any:
            middle = np.clip(0.5 * A.low(w) + 0.5 * A.high(w), -1e300, 1e300)
            x = A.vector(np.clip(between.tangent_points(middle), -1.0, 1.0))
            at, end = Computed(A, {"e": x}, "e"), A.vector(ones)
            excess = w - at.sum(formula.slope)
            room = A.positive(excess) * (end - x) + A.positive(-excess) * (x + end)
            return A.total(w * x - at.sum(formula.value) + room)

        return Edge(lambda e: A.total(Computed(A, {"e": e}, "e").sum(formula.value)), conjugate, "signed")

    def _convex(self, floats: Mapping[str, np.ndarray], low: np.ndarray, high: np.ndarray) -> ConvexFormula:
        """Return the formula with its derivatives; Rejected where it is not proved to be convex on every box."""
        kinds = np.unique(np.column_stack([low, high, *floats.values()]), axis=0).T
        names = {name: exact_interval(column) for name, column in zip(floats, kinds[2:], strict=True)}
        names["u"] = Interval(kinds[0], kinds[1])
        ends = Expression(()), power_expression(Factor("name", name="u"))
        try:
            return prove_convex(self.read, BoxFamily("d", np.zeros(kinds.shape[1]), kinds[1], names, ends))
        except FormulaError as fault:
            fail(f"its formula is not allowed: {fault}"[:400])


@dataclass(frozen=True)
class Computed:
    """Formulas in a number type, the names being vectors of it."""

    A: Numbers
    names: Mapping[str, Vector]
    variable: str = "d"

    def at(self, d: Vector) -> Computed:
        """Return the same with a weight."""
        return replace(self, names={**self.names, self.variable: d})

    def sum(self, of: Expression) -> Vector:
        """Return the value of a sum."""
        made = self.names[self.variable] * self.A.number(0.0)
        for term in of.terms:
            made = made + self._term(term)
        return made

    def _term(self, term: Monomial) -> Vector:
        made = self._rational(term.coefficient)
        shared = _shared(term, self.variable)
        if shared is None:
            for base, exponent in term.factors:
                made = self._power(base, exponent) * made
            return made
        # X^p log(X^k r) is k X^p log X + X^p log r, also where X is 0.
        (log, _), (X, p) = shared
        (product,) = log.arguments[0].terms
        k = next(exponent for base, exponent in product.factors if base == X)
        rest = Expression((Monomial(product.coefficient, tuple(pair for pair in product.factors if pair[0] != X)),))
        own = self._self_log(self._base(X), p) * self._rational(k) + self._power(X, p) * self._log(rest)
        for base, exponent in term.factors:
            if base not in (log, X):
                made = self._power(base, exponent) * made
        return own * made

    def _self_log(self, x: Vector, p: Fraction) -> Vector:
        """Return x^p log x for p > 0; where x may be 0, its range up to the end of x."""
        A, sure = self.A, self.A.low(x) > 0
        safe = A.choose(sure, x, A.vector(np.ones(len(sure))))
        high, exponent = np.where(sure, 1.0, np.maximum(A.high(x), 0.0)), float(p)
        top = np.where(high > math.exp(-1.0 / exponent), 1.0 / (math.e * exponent), 0.0)
        with np.errstate(all="ignore"):
            end = np.where(high > ZERO, high**exponent * np.abs(np.log(high)), 0.0)
        range_ = np.where(high > ZERO, 1.001 * np.maximum(top, end), 0.0)
        return A.choose(sure, self._raised(safe, p) * A.log(safe), A.within(np.where(sure, 0.0, range_)))

    def _power(self, base: Factor, exponent: Fraction) -> Vector:
        return self._raised(self._base(base), exponent)

    def _raised(self, x: Vector, exponent: Fraction) -> Vector:
        """Return a power: products of up to so many factors, or by logarithms where nothing is negative."""
        A = self.A
        if exponent < 0:
            return A.number(1.0) / self._raised(x, -exponent)
        if exponent.denominator == 1 and exponent <= WHOLE:
            made = x
            for _ in range(int(exponent) - 1):
                made = made * x
            return made
        return power(A, x, self._rational(exponent))

    def _base(self, base: Factor) -> Vector:
        A, nothing = self.A, self.names[self.variable] * self.A.number(0.0)
        if base.kind in ("name", "real"):
            return self.names[base.name]
        if base.kind == "number":
            return nothing + self._rational(base.number)
        if base.kind == "log":
            return self._log(base.arguments[0])
        inner = self.sum(base.arguments[0])
        if base.kind == "sum":
            return inner
        if base.kind == "exp":
            return A.exp(inner)
        if base.kind == "positive":
            return A.positive(inner)
        if base.kind in ("huber", "clip"):
            at = self.sum(base.arguments[1])
            beyond, below = A.positive(inner - at), A.positive(-inner - at)
            return inner * inner - beyond * beyond - below * below if base.kind == "huber" else inner - beyond + below
        return fail(f"{base.kind!r} is not allowed in the value or the slope of a formula")

    def _log(self, of: Expression) -> Vector:
        """Return a logarithm, that of a product of positive quantities factor by factor."""
        A, product = self.A, of.single_term
        ones = A.vector(np.ones(len(A.low(self.names[self.variable]))))
        if product is None or product.coefficient <= 0 or not all(base.is_positive for base, _ in product.factors):
            return A.log(self.sum(of))
        made = A.log(ones * self._rational(product.coefficient))
        for base, exponent in product.factors:
            made = made + A.log(self._base(base)) * self._rational(exponent)
        return made

    def _rational(self, number: Fraction) -> Any:
        """Return a rational number: floats that sum to it, and what they miss."""
        A, made = self.A, self.A.number(0.0)
        for _ in range(4):
            near = float(number)
            made, number = made + A.number(near), number - Fraction(near)
            if not number:
                return made
        return made + A.total(A.within(np.array([1.001 * abs(float(number)) + TINY])))


def _shared(term: Monomial, variable: str) -> tuple[tuple[Factor, Fraction], tuple[Factor, Fraction]] | None:
    """Return a logarithm of a product and a power in front of it whose base is one of the factors; None for none."""
    positive: Factors = tuple(pair for pair in term.factors if pair[0].kind != "log" and pair[1] > 0)
    for base, exponent in term.factors:
        product = base.arguments[0].single_term if base.kind == "log" and exponent == 1 else None
        if product is None or product.coefficient <= 0:
            continue
        for X, p in positive:
            if X.depends_on(variable) and any(inner == X for inner, _ in product.factors):
                return (base, exponent), (X, p)
    return None
