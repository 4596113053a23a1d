"""Formulas that a file states: parsed, differentiated, proved convex on every box, and evaluated in a number type.

The file contains the text and the numbers, but no derivative. By convexity, for ANY x in the box [0, u],

    f*(y) <= y x - f(x) + max(y - f'(x), 0) (u - x) + max(f'(x) - y, 0) x.

So the bound holds although x is computed in floats. The module imports only NumPy, the standard library and the formula
parser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.functions.formulas.compilation import Compiler
from boostopt.functions.formulas.conjugate_maximizers import BOUNDARY_FRACTION as BOUNDARY_FRACTION
from boostopt.functions.formulas.conjugate_maximizers import MonotoneDerivative
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
from boostopt.functions.formulas.parsing import parse_formula
from boostopt.verification.trusted_kernel.conjugates import SeparableTerm, Vector, power
from boostopt.verification.trusted_kernel.edge_terms import EdgeTerms
from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import UNDERFLOW_ERROR, ZERO_THRESHOLD, NumberType

MAX_BOX_FRACTION = 1.0 - 1e-15
"""Largest tangent point as a fraction of the box: it lies inside, whatever the rounding of the upper bound."""

MAX_INTEGER_POWER = 64
"""Largest integer power that is computed by multiplication."""


@dataclass(frozen=True)
class ParsedFormula:
    """A formula with the values of its parameters.

    Attributes
    ----------
    expression
        The formula, with the values of parameters that are numbers.
    arrays
        The values of parameters that are arrays, by name.
    """

    expression: Expression
    arrays: Mapping[str, np.ndarray]

    @classmethod
    def parse(cls, text: str, parameters: Mapping[str, Any], variable: str = "d") -> ParsedFormula:
        """Return the formula of a text, in a weight d or in an edge e; Rejected if the text is no formula."""
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
        """Return the sum over the examples, on [0, u] and the simplex; Rejected if convexity cannot be proved."""
        in_support = A.upper(u) > ZERO_THRESHOLD
        ones, zeros = np.ones(len(c)), A.to_vector(np.zeros(len(c)))
        values_by_name = {"c": c, "d0": d0, **self.arrays}
        floats = {
            name: np.where(in_support, value, 1.0)
            for name, value in values_by_name.items()
            if self.expression.depends_on(name)
        }
        caps = A.select(in_support, u, A.to_vector(ones))
        formula = self._prove_convex(floats, A.lower(caps), A.upper(caps))
        names = {"u": caps, **{name: A.to_vector(value) for name, value in floats.items()}}
        evaluator = FormulaEvaluator(A, names)
        ends = Compiler("d", {**floats, "u": A.lower(caps) * MAX_BOX_FRACTION})
        slope, curvature = ends.function(formula.slope), ends.function(formula.curvature)
        derivative = MonotoneDerivative.on_box(slope, curvature, np.zeros(len(c)), A.lower(caps) * MAX_BOX_FRACTION)

        def values(d: Vector) -> Vector:
            return A.select(
                in_support,
                evaluator.with_value(A.select(in_support, d, A.to_vector(0.5 * A.lower(caps)))).evaluate_sum(
                    formula.value
                ),
                zeros,
            )

        def conjugates(y: Vector) -> Vector:
            middle = np.clip(0.5 * A.lower(y) + 0.5 * A.upper(y), -1e300, 1e300)
            x = derivative.tangent_points(middle)
            x = A.to_vector(np.clip(x, BOUNDARY_FRACTION * A.lower(caps), A.lower(caps) * MAX_BOX_FRACTION))
            tangent = evaluator.with_value(x)
            excess = y - tangent.evaluate_sum(formula.slope)
            distance_cost = A.positive(excess) * (caps - x) + A.positive(-excess) * x
            return A.select(in_support, y * x - tangent.evaluate_sum(formula.value) + distance_cost, zeros)

        return SeparableTerm(zeros, u, True, values, conjugates)

    def edge_function(self, A: NumberType, t: int) -> EdgeTerms:
        """Return the sum over t edges on [-1, 1]; Rejected if convexity cannot be proved there."""
        ones = np.ones(t)
        try:
            formula = prove_convex(
                self.expression,
                BoxFamily("e", -ones[:1], ones[:1], {}, (constant_expression(-1), constant_expression(1))),
            )
        except FormulaError as fault:
            reject(f"its formula of the edges is not allowed: {fault}"[:400])
        floats = Compiler("e", {})
        derivative = MonotoneDerivative.on_box(
            floats.function(formula.slope), floats.function(formula.curvature), -ones, ones
        )

        def conjugate(w: Vector) -> Any:
            middle = np.clip(0.5 * A.lower(w) + 0.5 * A.upper(w), -1e300, 1e300)
            x = A.to_vector(np.clip(derivative.tangent_points(middle), -1.0, 1.0))
            tangent, end = FormulaEvaluator(A, {"e": x}, "e"), A.to_vector(ones)
            excess = w - tangent.evaluate_sum(formula.slope)
            distance_cost = A.positive(excess) * (end - x) + A.positive(-excess) * (x + end)
            return A.total(w * x - tangent.evaluate_sum(formula.value) + distance_cost)

        return EdgeTerms(
            lambda e: A.total(FormulaEvaluator(A, {"e": e}, "e").evaluate_sum(formula.value)), conjugate, "signed"
        )

    def _prove_convex(self, floats: Mapping[str, np.ndarray], low: np.ndarray, high: np.ndarray) -> ConvexFormula:
        """Return the formula with its derivatives; Rejected if convexity cannot be proved on every box."""
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
    """The evaluation of formulas in a number type.

    Attributes
    ----------
    A
        The number type.
    names
        The values of the names, vectors of this type.
    variable
        The variable, "d" or "e".
    """

    A: NumberType
    names: Mapping[str, Vector]
    variable: str = "d"

    def with_value(self, d: Vector) -> FormulaEvaluator:
        """Return an evaluator with another value of the variable."""
        return replace(self, names={**self.names, self.variable: d})

    def evaluate_sum(self, expression: Expression) -> Vector:
        """Return the value of a sum."""
        result = self.names[self.variable] * self.A.to_number(0.0)
        for term in expression.terms:
            result = result + self._evaluate_term(term)
        return result

    def _evaluate_term(self, term: Monomial) -> Vector:
        """Return the value of a product; its logarithm is combined with a power of the same base."""
        product = self._to_number(term.coefficient)
        shared = _log_and_matching_power(term, self.variable)
        if shared is None:
            for base, exponent in term.factors:
                product = self._evaluate_base_power(base, exponent) * product
            return product
        # X^p log(X^k r) is k X^p log X + X^p log r, also where X is 0.
        (log, _), (X, p) = shared
        (argument,) = log.arguments[0].terms
        k = next(exponent for base, exponent in argument.factors if base == X)
        rest = Expression((Monomial(argument.coefficient, tuple(pair for pair in argument.factors if pair[0] != X)),))
        log_term = self._evaluate_x_log_x(self._evaluate_base(X), p) * self._to_number(k) + self._evaluate_base_power(
            X, p
        ) * self._evaluate_log(rest)
        for base, exponent in term.factors:
            if base not in (log, X):
                product = self._evaluate_base_power(base, exponent) * product
        return log_term * product

    def _evaluate_x_log_x(self, x: Vector, p: Fraction) -> Vector:
        """Return x^p log x for p > 0; if x may be 0, the range of the function up to the upper bound of x."""
        A, sure = self.A, self.A.lower(x) > 0
        safe = A.select(sure, x, A.to_vector(np.ones(len(sure))))
        high, exponent = np.where(sure, 1.0, np.maximum(A.upper(x), 0.0)), float(p)
        top = np.where(high > math.exp(-1.0 / exponent), 1.0 / (math.e * exponent), 0.0)
        with np.errstate(all="ignore"):
            end = np.where(high > ZERO_THRESHOLD, high**exponent * np.abs(np.log(high)), 0.0)
        range_ = np.where(high > ZERO_THRESHOLD, 1.001 * np.maximum(top, end), 0.0)
        return A.select(
            sure, self._evaluate_power(safe, p) * A.log(safe), A.interval_around_zero(np.where(sure, 0.0, range_))
        )

    def _evaluate_base_power(self, base: Factor, exponent: Fraction) -> Vector:
        """Return a power of a factor."""
        return self._evaluate_power(self._evaluate_base(base), exponent)

    def _evaluate_power(self, x: Vector, exponent: Fraction) -> Vector:
        """Return a power: by multiplication up to `MAX_INTEGER_POWER`, otherwise by logarithms of x >= 0."""
        A = self.A
        if exponent < 0:
            return A.to_number(1.0) / self._evaluate_power(x, -exponent)
        if exponent.denominator == 1 and exponent <= MAX_INTEGER_POWER:
            result = x
            for _ in range(int(exponent) - 1):
                result = result * x
            return result
        return power(A, x, self._to_number(exponent))

    def _evaluate_base(self, base: Factor) -> Vector:
        """Return the value of a factor."""
        A, zeros = self.A, self.names[self.variable] * self.A.to_number(0.0)
        if base.kind in ("name", "real"):
            return self.names[base.name]
        if base.kind == "number":
            return zeros + self._to_number(base.number)
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
            limit = self.evaluate_sum(base.arguments[1])
            upper, lower = A.positive(inner - limit), A.positive(-inner - limit)  # what exceeds the limits
            return inner * inner - upper * upper - lower * lower if base.kind == "huber" else inner - upper + lower
        return reject(f"{base.kind!r} is not allowed in the value or the slope of a formula")

    def _evaluate_log(self, argument: Expression) -> Vector:
        """Return a logarithm; the logarithm of a product of positive factors is the sum of their logarithms."""
        A, product = self.A, argument.single_term
        ones = A.to_vector(np.ones(len(A.lower(self.names[self.variable]))))
        if product is None or product.coefficient <= 0 or not all(base.is_positive for base, _ in product.factors):
            return A.log(self.evaluate_sum(argument))
        result = A.log(ones * self._to_number(product.coefficient))
        for base, exponent in product.factors:
            result = result + A.log(self._evaluate_base(base)) * self._to_number(exponent)
        return result

    def _to_number(self, number: Fraction) -> Any:
        """Return a rational number as a sum of floats, with a bound on the remainder."""
        A, result = self.A, self.A.to_number(0.0)
        for _ in range(4):
            nearest = float(number)
            result, number = result + A.to_number(nearest), number - Fraction(nearest)
            if not number:
                return result
        return result + A.total(A.interval_around_zero(np.array([1.001 * abs(float(number)) + UNDERFLOW_ERROR])))


def _log_and_matching_power(
    term: Monomial, variable: str
) -> tuple[tuple[Factor, Fraction], tuple[Factor, Fraction]] | None:
    """Return the logarithm of a product, and a power whose base is one of its factors; None without such a pair."""
    positive: Factors = tuple(pair for pair in term.factors if pair[0].kind != "log" and pair[1] > 0)
    for base, exponent in term.factors:
        product = base.arguments[0].single_term if base.kind == "log" and exponent == 1 else None
        if product is None or product.coefficient <= 0:
            continue
        for X, p in positive:
            if X.depends_on(variable) and any(inner == X for inner, _ in product.factors):
                return (base, exponent), (X, p)
    return None
