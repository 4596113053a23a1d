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
from boostopt.verification.trusted_kernel.conjugates import EdgeTerms, SeparableTerm, Vector, power
from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import UNDERFLOW_ERROR, ZERO_THRESHOLD, NumberType

MAX_BOX_FRACTION = 1.0 - 1e-15
"""Share of the box up to which tangents are taken: within its end, whatever its rounding."""

MAX_INTEGER_POWER = 64
"""Whole powers up to which factors are multiplied."""


@dataclass(frozen=True)
class ParsedFormula:
    """A formula with what its names stand for.

    Attributes
    ----------
    expression
        The formula.
    arrays
        Parameters that are arrays, by name.
    """

    expression: Expression
    arrays: Mapping[str, np.ndarray]

    @classmethod
    def parse(cls, text: str, parameters: Mapping[str, Any], variable: str = "d") -> ParsedFormula:
        """Return the formula of a text, in a weight d or in an edge e; Rejected where it is none."""
        arrays = {name: value for name, value in parameters.items() if isinstance(value, np.ndarray)}
        numbers = {name: value for name, value in parameters.items() if name not in arrays}
        names = ("d", "d0", "c", "u") if variable == "d" else ()
        if set(parameters) & {*names, variable}:
            reject(f"the parameters of a formula must not be called {', '.join([*names, variable])}")
        try:
            return cls(parse_formula(text, numbers, names, [*arrays, variable], variable), arrays)
        except FormulaError as fault:
            reject(f"its formula cannot be read: {fault}"[:400])

    def separable_term(self, A: NumberType, u: Vector, c: np.ndarray, d0: np.ndarray) -> SeparableTerm:
        """Return the sum over the examples on [0, u] on the simplex; Rejected where it is not proved to be convex."""
        live = A.upper(u) > ZERO_THRESHOLD
        ones, nothing = np.ones(len(c)), A.to_vector(np.zeros(len(c)))
        given = {"c": c, "d0": d0, **self.arrays}
        floats = {name: np.where(live, value, 1.0) for name, value in given.items() if self.expression.depends_on(name)}
        caps = A.where(live, u, A.to_vector(ones))
        formula = self._prove_convex(floats, A.lower(caps), A.upper(caps))
        names = {"u": caps, **{name: A.to_vector(value) for name, value in floats.items()}}
        computed = FormulaEvaluator(A, names)
        ends = Compiler("d", {**floats, "u": A.lower(caps) * MAX_BOX_FRACTION})
        slope, bend = ends.function(formula.slope), ends.function(formula.curvature)
        between = MonotoneDerivative.on_box(slope, bend, np.zeros(len(c)), A.lower(caps) * MAX_BOX_FRACTION)

        def values(d: Vector) -> Vector:
            return A.where(
                live,
                computed.with_value(A.where(live, d, A.to_vector(0.5 * A.lower(caps)))).evaluate_sum(formula.value),
                nothing,
            )

        def conjugates(y: Vector) -> Vector:
            middle = np.clip(0.5 * A.lower(y) + 0.5 * A.upper(y), -1e300, 1e300)
            x = between.tangent_points(middle)
            x = A.to_vector(np.clip(x, BOUNDARY_FRACTION * A.lower(caps), A.lower(caps) * MAX_BOX_FRACTION))
            at = computed.with_value(x)
            excess = y - at.evaluate_sum(formula.slope)
            room = A.positive(excess) * (caps - x) + A.positive(-excess) * x
            return A.where(live, y * x - at.evaluate_sum(formula.value) + room, nothing)

        return SeparableTerm(nothing, u, True, values, conjugates)

    def edge_function(self, A: NumberType, t: int) -> EdgeTerms:
        """Return the sum over t edges on [-1, 1]; Rejected where it is not proved to be convex there."""
        ones = np.ones(t)
        try:
            formula = prove_convex(
                self.expression,
                BoxFamily("e", -ones[:1], ones[:1], {}, (constant_expression(-1), constant_expression(1))),
            )
        except FormulaError as fault:
            reject(f"its formula of the edges is not allowed: {fault}"[:400])
        floats = Compiler("e", {})
        between = MonotoneDerivative.on_box(
            floats.function(formula.slope), floats.function(formula.curvature), -ones, ones
        )

        def conjugate(w: Vector) -> Any:
            middle = np.clip(0.5 * A.lower(w) + 0.5 * A.upper(w), -1e300, 1e300)
            x = A.to_vector(np.clip(between.tangent_points(middle), -1.0, 1.0))
            at, end = FormulaEvaluator(A, {"e": x}, "e"), A.to_vector(ones)
            excess = w - at.evaluate_sum(formula.slope)
            room = A.positive(excess) * (end - x) + A.positive(-excess) * (x + end)
            return A.total(w * x - at.evaluate_sum(formula.value) + room)

        return EdgeTerms(
            lambda e: A.total(FormulaEvaluator(A, {"e": e}, "e").evaluate_sum(formula.value)), conjugate, "signed"
        )

    def _prove_convex(self, floats: Mapping[str, np.ndarray], low: np.ndarray, high: np.ndarray) -> ConvexFormula:
        """Return the formula with its derivatives; Rejected where it is not proved to be convex on every box."""
        kinds = np.unique(np.column_stack([low, high, *floats.values()]), axis=0).T
        names = {name: exact_interval(column) for name, column in zip(floats, kinds[2:], strict=True)}
        names["u"] = Interval(kinds[0], kinds[1])
        ends = Expression(()), power_expression(Factor("name", name="u"))
        try:
            return prove_convex(self.expression, BoxFamily("d", np.zeros(kinds.shape[1]), kinds[1], names, ends))
        except FormulaError as fault:
            reject(f"its formula is not allowed: {fault}"[:400])


@dataclass(frozen=True)
class FormulaEvaluator:
    """Formulas in a number type, the names being vectors of it."""

    A: NumberType
    names: Mapping[str, Vector]
    variable: str = "d"

    def with_value(self, d: Vector) -> FormulaEvaluator:
        """Return the same with a weight."""
        return replace(self, names={**self.names, self.variable: d})

    def evaluate_sum(self, of: Expression) -> Vector:
        """Return the value of a sum."""
        made = self.names[self.variable] * self.A.to_number(0.0)
        for term in of.terms:
            made = made + self._evaluate_term(term)
        return made

    def _evaluate_term(self, term: Monomial) -> Vector:
        made = self._to_number(term.coefficient)
        shared = _log_and_matching_power(term, self.variable)
        if shared is None:
            for base, exponent in term.factors:
                made = self._evaluate_base_power(base, exponent) * made
            return made
        # X^p log(X^k r) is k X^p log X + X^p log r, also where X is 0.
        (log, _), (X, p) = shared
        (product,) = log.arguments[0].terms
        k = next(exponent for base, exponent in product.factors if base == X)
        rest = Expression((Monomial(product.coefficient, tuple(pair for pair in product.factors if pair[0] != X)),))
        own = self._evaluate_x_log_x(self._evaluate_base(X), p) * self._to_number(k) + self._evaluate_base_power(
            X, p
        ) * self._evaluate_log(rest)
        for base, exponent in term.factors:
            if base not in (log, X):
                made = self._evaluate_base_power(base, exponent) * made
        return own * made

    def _evaluate_x_log_x(self, x: Vector, p: Fraction) -> Vector:
        """Return x^p log x for p > 0; where x may be 0, its range up to the end of x."""
        A, sure = self.A, self.A.lower(x) > 0
        safe = A.where(sure, x, A.to_vector(np.ones(len(sure))))
        high, exponent = np.where(sure, 1.0, np.maximum(A.upper(x), 0.0)), float(p)
        top = np.where(high > math.exp(-1.0 / exponent), 1.0 / (math.e * exponent), 0.0)
        with np.errstate(all="ignore"):
            end = np.where(high > ZERO_THRESHOLD, high**exponent * np.abs(np.log(high)), 0.0)
        range_ = np.where(high > ZERO_THRESHOLD, 1.001 * np.maximum(top, end), 0.0)
        return A.where(
            sure, self._evaluate_power(safe, p) * A.log(safe), A.interval_around_zero(np.where(sure, 0.0, range_))
        )

    def _evaluate_base_power(self, base: Factor, exponent: Fraction) -> Vector:
        return self._evaluate_power(self._evaluate_base(base), exponent)

    def _evaluate_power(self, x: Vector, exponent: Fraction) -> Vector:
        """Return a power: products of up to so many factors, or by logarithms where nothing is negative."""
        A = self.A
        if exponent < 0:
            return A.to_number(1.0) / self._evaluate_power(x, -exponent)
        if exponent.denominator == 1 and exponent <= MAX_INTEGER_POWER:
            made = x
            for _ in range(int(exponent) - 1):
                made = made * x
            return made
        return power(A, x, self._to_number(exponent))

    def _evaluate_base(self, base: Factor) -> Vector:
        A, nothing = self.A, self.names[self.variable] * self.A.to_number(0.0)
        if base.kind in ("name", "real"):
            return self.names[base.name]
        if base.kind == "number":
            return nothing + self._to_number(base.number)
        if base.kind == "log":
            return self._evaluate_log(base.arguments[0])
        inner = self.evaluate_sum(base.arguments[0])
        if base.kind == "sum":
            return inner
        if base.kind == "exp":
            return A.exp(inner)
        if base.kind == "positive":
            return A.positive(inner)
        if base.kind in ("huber", "clip"):
            at = self.evaluate_sum(base.arguments[1])
            beyond, below = A.positive(inner - at), A.positive(-inner - at)
            return inner * inner - beyond * beyond - below * below if base.kind == "huber" else inner - beyond + below
        return reject(f"{base.kind!r} is not allowed in the value or the slope of a formula")

    def _evaluate_log(self, of: Expression) -> Vector:
        """Return a logarithm, that of a product of positive quantities factor by factor."""
        A, product = self.A, of.single_term
        ones = A.to_vector(np.ones(len(A.lower(self.names[self.variable]))))
        if product is None or product.coefficient <= 0 or not all(base.is_positive for base, _ in product.factors):
            return A.log(self.evaluate_sum(of))
        made = A.log(ones * self._to_number(product.coefficient))
        for base, exponent in product.factors:
            made = made + A.log(self._evaluate_base(base)) * self._to_number(exponent)
        return made

    def _to_number(self, number: Fraction) -> Any:
        """Return a rational number: floats that sum to it, and what they miss."""
        A, made = self.A, self.A.to_number(0.0)
        for _ in range(4):
            near = float(number)
            made, number = made + A.to_number(near), number - Fraction(near)
            if not number:
                return made
        return made + A.total(A.interval_around_zero(np.array([1.001 * abs(float(number)) + UNDERFLOW_ERROR])))


def _log_and_matching_power(
    term: Monomial, variable: str
) -> tuple[tuple[Factor, Fraction], tuple[Factor, Fraction]] | None:
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
