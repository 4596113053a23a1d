"""Sums of products of powers with rational coefficients and exponents.

A base is a name, a logarithm, an exponential, a sum, a positive part, a step function, a Huber function, or a number
whose power is irrational. Sums within products are not multiplied out, so that (d - d0)^2 stays free of cancellation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

MAX_TERMS = 400
"""Maximum number of terms of one sum; a formula with more terms is rejected."""

MAX_DEPTH = 12
"""Maximum depth of sums within sums; a formula with deeper sums is rejected."""

MAX_EXACT_POWER = 64
"""Largest absolute value of an exponent for which a power of a rational number is computed exactly."""

MAX_INTEGER_BITS = 4096
"""Maximum number of bits of a numerator or a denominator."""

MAX_BINARY_EXPONENT = 990
"""Largest binary exponent of a number and of its reciprocal. Floats end at 1022."""

TOO_LONG_REASON = "its numbers have too many digits, or are too large or too small"
"""The reason for which such a formula is rejected."""

ZERO, ONE = Fraction(0), Fraction(1)


NONSMOOTH_ALTERNATIVE = "CvxpyRegularizer, or CvxpyEdges for edges"
"""The classes for functions that no formula expresses, in messages."""


class FormulaError(ValueError):
    """Error of a formula that cannot be parsed or that violates a requirement; its message is the reason."""


@dataclass(frozen=True)
class Factor:
    """A base of a power.

    Attributes
    ----------
    kind
        "name" for a positive quantity, "real" for one of any sign, "number", "log", "exp", "sum", "positive", "huber";
        of derivatives also "step", "clip" (to [-M, M]) and "inside" (1 if clipping changes nothing, otherwise 0).
    name
        The name of a quantity.
    number
        The rational number of a base of kind "number".
    arguments
        The argument; for "huber", "clip" and "inside" the argument and M, beyond which the Huber function is linear.
    """

    kind: str
    name: str = ""
    number: Fraction = ZERO
    arguments: tuple[Expression, ...] = ()

    @cached_property
    def key(self) -> str:
        """A text that identifies the base and determines its position among the factors."""
        inside = ",".join(part.key for part in self.arguments)
        return f"{self.kind}:{self.name}:{self.number}({inside})"

    @cached_property
    def depth(self) -> int:
        """The depth of nested sums."""
        return 1 + max((part.depth for part in self.arguments), default=0)

    def depends_on(self, name: str) -> bool:
        """Return whether a name occurs."""
        return self.name == name or any(part.depends_on(name) for part in self.arguments)

    @property
    def is_positive(self) -> bool:
        """True if the base is positive for all values of the names."""
        return self.kind in ("name", "exp") or (self.kind == "number" and self.number > 0)


Factors = tuple[tuple[Factor, Fraction], ...]
"""Bases with their exponents, sorted by the keys of the bases."""


@dataclass(frozen=True)
class Monomial:
    """A rational number times a product of powers."""

    coefficient: Fraction
    factors: Factors

    @cached_property
    def key(self) -> str:
        """A text that identifies the product of powers, without its coefficient."""
        return "*".join(f"{base.key}^{power}" for base, power in self.factors)

    def depends_on(self, name: str) -> bool:
        """Return whether a name occurs."""
        return any(base.depends_on(name) for base, _ in self.factors)

    def split_by_dependence(self, name: str) -> tuple[Monomial, Factors]:
        """Return the monomial of the factors without a name, and the factors with this name."""
        constant_factors = tuple(pair for pair in self.factors if not pair[0].depends_on(name))
        return Monomial(self.coefficient, constant_factors), tuple(
            pair for pair in self.factors if pair[0].depends_on(name)
        )


@dataclass(frozen=True)
class Expression:
    """A sum of terms with different products of powers, sorted by their keys."""

    terms: tuple[Monomial, ...]

    @cached_property
    def key(self) -> str:
        """A text that identifies the sum."""
        return "+".join(f"{term.coefficient}*{term.key}" for term in self.terms)

    @cached_property
    def depth(self) -> int:
        """The depth of nested sums."""
        return max((base.depth for term in self.terms for base, _ in term.factors), default=0)

    @property
    def constant_value(self) -> Fraction | None:
        """The value of a constant expression, a rational number; None if the expression is not constant."""
        if not self.terms:
            return ZERO
        return self.single_term.coefficient if self.single_term is not None and not self.single_term.factors else None

    @property
    def single_term(self) -> Monomial | None:
        """The only term; None for no term or several terms."""
        return self.terms[0] if len(self.terms) == 1 else None

    def depends_on(self, name: str) -> bool:
        """Return whether a name occurs."""
        return any(term.depends_on(name) for term in self.terms)

    def __add__(self, addend: Expression) -> Expression:
        return collect_terms((*self.terms, *addend.terms))

    def __neg__(self) -> Expression:
        return self.scaled(-ONE)

    def __sub__(self, subtrahend: Expression) -> Expression:
        return self + -subtrahend

    def __mul__(self, factor: Expression) -> Expression:
        for a, b in ((self, factor), (factor, self)):
            if a.constant_value is not None:
                return b.scaled(a.constant_value)
        return collect_terms([multiply_terms(_as_term(self), _as_term(factor))])

    def scaled(self, number: Fraction) -> Expression:
        """Return the product with a rational number."""
        return collect_terms(Monomial(term.coefficient * number, term.factors) for term in self.terms)

    def power(self, exponent: Fraction) -> Expression:
        """Return a rational power of the expression."""
        number = self.constant_value
        if exponent == ZERO:
            return constant_expression(1)
        if number is not None:
            return collect_terms([_rational_power(number, exponent)])
        term = _as_term(self)
        is_integer = exponent.denominator == 1
        if not is_integer and not (term.coefficient > 0 and all(_is_nonnegative(base) for base, _ in term.factors)):
            return power_expression(Factor("sum", arguments=(self,)), exponent)
        powers = Monomial(ONE, tuple((base, power * exponent) for base, power in term.factors))
        return collect_terms([multiply_terms(_rational_power(term.coefficient, exponent), powers)])


def constant_expression(number: Fraction | int) -> Expression:
    """Return the expression of a rational number."""
    return collect_terms([Monomial(Fraction(number), ())])


def power_expression(base: Factor, exponent: Fraction = ONE) -> Expression:
    """Return the expression of a power of a base."""
    return collect_terms([Monomial(ONE, ((base, exponent),))])


def function_expression(kind: str, *inner: Expression) -> Expression:
    """Return the expression of a function of expressions, given its kind."""
    number = inner[0].constant_value
    if (kind, number) in (("log", ONE), ("exp", ZERO)):
        return constant_expression(0 if kind == "log" else 1)
    return power_expression(Factor(kind, arguments=inner))


def collect_terms(terms: Iterable[Monomial]) -> Expression:
    """Return the sum of terms, with like terms collected and sums within the sum flattened.

    Raises
    ------
    FormulaError
        The sum has too many terms, is nested too deeply, or has too long numbers.
    """
    terms_by_key = dict[str, Monomial]()
    for term in _flatten(terms):
        equal_term = terms_by_key.get(term.key)
        number = term.coefficient + (equal_term.coefficient if equal_term else ZERO)
        digits = number.numerator.bit_length(), number.denominator.bit_length()
        if max(digits) > MAX_INTEGER_BITS or (number and abs(digits[0] - digits[1]) > MAX_BINARY_EXPONENT):
            raise FormulaError(TOO_LONG_REASON)
        terms_by_key[term.key] = Monomial(number, term.factors)
    result = Expression(tuple(terms_by_key[key] for key in sorted(terms_by_key) if terms_by_key[key].coefficient))
    if len(result.terms) > MAX_TERMS or result.depth > MAX_DEPTH:
        raise FormulaError("it is too long: write it with fewer terms")
    return result


def _flatten(terms: Iterable[Monomial]) -> Iterable[Monomial]:
    """Yield terms, and the terms of the sum in place of a term that is a number times a plain sum."""
    for term in terms:
        if len(term.factors) == 1 and term.factors[0][0].kind == "sum" and term.factors[0][1] == ONE:
            inner = term.factors[0][0].arguments[0]
            yield from (
                Monomial(term.coefficient * inner_term.coefficient, inner_term.factors) for inner_term in inner.terms
            )
        else:
            yield term


def _as_term(expression: Expression) -> Monomial:
    """Return an expression as one term. Several terms become a base "sum" whose first coefficient is 1 or -1."""
    if expression.single_term is not None:
        return expression.single_term
    content = abs(expression.terms[0].coefficient)
    return Monomial(content, ((Factor("sum", arguments=(expression.scaled(1 / content),)), ONE),))


def multiply_terms(a: Monomial, b: Monomial) -> Monomial:
    """Return the product of two terms, with powers of equal bases and exponentials combined."""
    powers, exponent = dict[str, tuple[Factor, Fraction]](), Expression(())
    for base, power in (*a.factors, *b.factors):
        if base.kind == "exp":
            exponent = exponent + base.arguments[0].scaled(power)
        elif base.kind in ("step", "inside"):
            powers[base.key] = base, ONE
        else:
            powers[base.key] = base, power + powers.get(base.key, (base, ZERO))[1]
    if exponent.terms:
        powers["exp"] = Factor("exp", arguments=(exponent,)), ONE
    factors = sorted((pair for pair in powers.values() if pair[1]), key=lambda pair: pair[0].key)
    return Monomial(a.coefficient * b.coefficient, tuple(factors))


def _rational_power(number: Fraction, exponent: Fraction) -> Monomial:
    """Return a power of a rational number; an irrational power becomes a factor of kind "number"."""
    if number == ONE:
        return Monomial(ONE, ())
    if number == ZERO and exponent > 0:
        return Monomial(ZERO, ())
    if number == ZERO or (number < 0 and exponent.denominator != 1):
        raise FormulaError(f"{number} to the power {exponent} is no number")
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    if abs(exponent) * abs(number.numerator.bit_length() - number.denominator.bit_length()) > MAX_BINARY_EXPONENT:
        raise FormulaError(TOO_LONG_REASON)
    if exponent.denominator == 1 and abs(exponent) <= MAX_EXACT_POWER and abs(exponent) * bits <= MAX_INTEGER_BITS:
        return Monomial(number ** int(exponent), ())
    return Monomial(ONE, ((Factor("number", number=number), exponent),))


def _is_nonnegative(base: Factor) -> bool:
    """Return whether (base^p)^q = base^(p q) also for q that are not integers."""
    return base.is_positive or base.kind == "positive"


def iterate_powers(expression: Expression) -> Iterable[tuple[Factor, Fraction]]:
    """Yield every power in an expression; powers within a base come before the base."""
    for term in expression.terms:
        for base, power in term.factors:
            for part in base.arguments:
                yield from iterate_powers(part)
            yield base, power
