"""Operations on formulas: differentiation, substitution and expansion of products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from boostopt.functions.formulas.expressions import (
    MAX_TERMS,
    ONE,
    Expression,
    Factor,
    FormulaError,
    Monomial,
    collect_terms,
    constant_expression,
    function_expression,
    multiply_terms,
    power_expression,
)


def differentiate(expression: Expression, name: str = "d") -> Expression:
    """Return the derivative with respect to a name.

    Raises
    ------
    FormulaError
        The expression has a step, which has no derivative.
    """
    terms = list[Monomial]()
    for term in expression.terms:
        for k, (base, power) in enumerate(term.factors):
            if base.depends_on(name):
                rest = Expression((Monomial(term.coefficient * power, term.factors[:k] + term.factors[k + 1 :]),))
                terms.extend((rest * _derivative(base, power, name)).terms)
    return collect_terms(terms)


def _derivative(base: Factor, power: Fraction, name: str) -> Expression:
    """Return base^(power - 1) times the derivative of the base."""
    lowered = power_expression(base, power - 1) if power != ONE else constant_expression(1)
    if base.kind == "name" or base.kind == "real":
        return lowered
    argument = base.arguments[0]
    inner = differentiate(argument, name)
    if base.kind == "log":
        return lowered * inner * argument.power(-ONE)
    if base.kind == "exp":
        return power_expression(base, power) * inner
    if base.kind == "positive":
        return (function_expression("step", argument) if power == ONE else lowered) * inner
    if base.kind == "huber":
        return lowered * function_expression("clip", *base.arguments).scaled(Fraction(2)) * inner
    if base.kind == "clip":
        return lowered * function_expression("inside", *base.arguments) * inner
    if base.kind in ("step", "inside"):
        raise FormulaError("its slope jumps where a positive part begins: square it, or write huber(x, M)")
    return lowered * inner


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return an expression with expressions in place of names."""

    def replacement(base: Factor, power: Fraction) -> Expression:
        if base.name in values:
            return values[base.name].power(power)
        if not base.arguments:
            return power_expression(base, power)
        inner = tuple(substitute(part, values) for part in base.arguments)
        return (inner[0] if base.kind == "sum" else function_expression(base.kind, *inner)).power(power)

    return _map_powers(expression, replacement)


def expand(expression: Expression) -> Expression:
    """Return an expression with products of sums multiplied out, and powers 2, 3 and 4 of sums too."""

    def replacement(base: Factor, power: Fraction) -> Expression:
        if base.kind != "sum" or power not in (1, 2, 3, 4):
            return power_expression(base, power)
        inner = expand(base.arguments[0])
        product = inner
        for _ in range(int(power) - 1):
            product = _multiply_out(product, inner)
        return product

    return _map_powers(expression, replacement, _multiply_out)


def _map_powers(
    expression: Expression,
    replacement: Callable[[Factor, Fraction], Expression],
    multiply: Callable[[Expression, Expression], Expression] = Expression.__mul__,
) -> Expression:
    """Return an expression with each power replaced by an expression."""
    terms = list[Monomial]()
    for term in expression.terms:
        product = constant_expression(term.coefficient)
        for base, power in term.factors:
            product = multiply(product, replacement(base, power))
        terms.extend(product.terms)
    return collect_terms(terms)


def _multiply_out(a: Expression, b: Expression) -> Expression:
    """Return a product of two sums, multiplied out."""
    if len(a.terms) * len(b.terms) > 4 * MAX_TERMS:
        raise FormulaError("multiplied out it is too long: write it with fewer terms")
    return collect_terms(multiply_terms(x, y) for x in a.terms for y in b.terms)
