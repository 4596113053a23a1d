"""Formulas differentiated, multiplied out, and with others in the place of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from boostopt.functions.formulas.expressions import (
    MOST_TERMS,
    ONE,
    Base,
    FormulaFault,
    Sum,
    Term,
    called,
    constant,
    of_base,
    product,
    total,
)


def derivative(of: Sum, name: str = "d") -> Sum:
    """Return the derivative in a name.

    Raises
    ------
    FormulaFault
        There is none: a step has no slope.
    """
    terms = list[Term]()
    for term in of.terms:
        for k, (base, power) in enumerate(term.factors):
            if base.has(name):
                rest = Sum((Term(term.coefficient * power, term.factors[:k] + term.factors[k + 1 :]),))
                terms.extend((rest * _derivative(base, power, name)).terms)
    return total(terms)


def _derivative(base: Base, power: Fraction, name: str) -> Sum:
    """Return base^(power - 1) times the derivative of the base."""
    lowered = of_base(base, power - 1) if power != ONE else constant(1)
    if base.kind == "name" or base.kind == "real":
        return lowered
    argument = base.inner[0]
    inner = derivative(argument, name)
    if base.kind == "log":
        return lowered * inner * argument.power(-ONE)
    if base.kind == "exp":
        return of_base(base, power) * inner
    if base.kind == "positive":
        return (called("step", argument) if power == ONE else lowered) * inner
    if base.kind == "huber":
        return lowered * called("clip", *base.inner).times(Fraction(2)) * inner
    if base.kind == "clip":
        return lowered * called("inside", *base.inner) * inner
    if base.kind in ("step", "inside"):
        raise FormulaFault("its slope jumps where a positive part begins: square it, or write huber(x, M)")
    return lowered * inner


def replaced(of: Sum, values: Mapping[str, Sum]) -> Sum:
    """Return a sum with sums in the place of names."""

    def at(base: Base, power: Fraction) -> Sum:
        if base.name in values:
            return values[base.name].power(power)
        if not base.inner:
            return of_base(base, power)
        inner = tuple(replaced(part, values) for part in base.inner)
        return (inner[0] if base.kind == "sum" else called(base.kind, *inner)).power(power)

    return _rebuilt(of, at)


def expanded(of: Sum) -> Sum:
    """Return a sum with the sums in its products multiplied out, small whole powers included."""

    def at(base: Base, power: Fraction) -> Sum:
        if base.kind != "sum" or power not in (1, 2, 3, 4):
            return of_base(base, power)
        inner = expanded(base.inner[0])
        made = inner
        for _ in range(int(power) - 1):
            made = _multiplied(made, inner)
        return made

    return _rebuilt(of, at, _multiplied)


def _rebuilt(of: Sum, at: Callable[[Base, Fraction], Sum], times: Callable[[Sum, Sum], Sum] = Sum.__mul__) -> Sum:
    """Return a sum with something in the place of each power."""
    made = list[Term]()
    for term in of.terms:
        made_of = constant(term.coefficient)
        for base, power in term.factors:
            made_of = times(made_of, at(base, power))
        made.extend(made_of.terms)
    return total(made)


def _multiplied(a: Sum, b: Sum) -> Sum:
    """Return a product, term by term."""
    if len(a.terms) * len(b.terms) > 4 * MOST_TERMS:
        raise FormulaFault("multiplied out it is too long: write it with fewer terms")
    return total(product(x, y) for x in a.terms for y in b.terms)
