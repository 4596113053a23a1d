"""Sums of products of powers with rational coefficients and exponents.

A base is a name, a logarithm, an exponential, a sum, a positive part, the step at which one begins, a Huber function or
a number whose power is irrational. Sums within products are kept as they are: (d - d0)^2 stays free of cancellation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

MAX_TERMS = 400
"""Terms of one sum; a text that makes more is refused."""

MAX_DEPTH = 12
"""Sums within sums; a text that nests more is refused."""

MAX_EXACT_POWER = 64
"""Power up to which a rational number is raised exactly."""

MAX_INTEGER_BITS = 4096
"""Bits of a numerator or a denominator."""

MAX_BINARY_EXPONENT = 990
"""Power of 2 that the size of a number, or its reciprocal, must not exceed: floats end at 1022."""

TOO_LONG_REASON = "its numbers have too many digits, or are too large or too small"

ZERO, ONE = Fraction(0), Fraction(1)


NONSMOOTH_ALTERNATIVE = "DescribedRegularizer, or DescribedEdges for edges"
"""What takes functions that no formula can be."""


class FormulaError(ValueError):
    """A formula cannot be read, or is not what it must be, for a reason in words."""


@dataclass(frozen=True)
class Factor:
    """What is raised to a power.

    Attributes
    ----------
    kind
        "name" for a positive quantity, "real" for one of any sign, "number", "log", "exp", "sum", "positive", "huber";
        of derivatives "step", "clip" (to [-M, M]) and "inside" (1 where that changes nothing, 0 elsewhere).
    name
        The name of a quantity.
    constant_value
        The number.
    arguments
        The argument; for "huber", "clip" and "inside" the argument and M, where the linear parts begin.
    """

    kind: str
    name: str = ""
    number: Fraction = ZERO
    arguments: tuple[Expression, ...] = ()

    @cached_property
    def key(self) -> str:
        """A text that tells bases apart and puts them in order."""
        inside = ",".join(part.key for part in self.arguments)
        return f"{self.kind}:{self.name}:{self.number}({inside})"

    @cached_property
    def depth(self) -> int:
        """How many sums are nested in it."""
        return 1 + max((part.depth for part in self.arguments), default=0)

    def depends_on(self, name: str) -> bool:
        """Whether a name occurs in it."""
        return self.name == name or any(part.depends_on(name) for part in self.arguments)

    @property
    def is_positive(self) -> bool:
        """Whether it is positive whatever the names stand for."""
        return self.kind in ("name", "exp") or (self.kind == "number" and self.number > 0)


Factors = tuple[tuple[Factor, Fraction], ...]
"""Bases with their exponents, in order."""


@dataclass(frozen=True)
class Monomial:
    """A rational number times a product of powers."""

    coefficient: Fraction
    factors: Factors

    @cached_property
    def key(self) -> str:
        """A text that tells products of powers apart, whatever their coefficients."""
        return "*".join(f"{base.key}^{power}" for base, power in self.factors)

    def depends_on(self, name: str) -> bool:
        """Whether a name occurs in it."""
        return any(base.depends_on(name) for base, _ in self.factors)

    def split_by_dependence(self, name: str) -> tuple[Monomial, Factors]:
        """Return the part without a name, and the factors with it."""
        own = tuple(pair for pair in self.factors if not pair[0].depends_on(name))
        return Monomial(self.coefficient, own), tuple(pair for pair in self.factors if pair[0].depends_on(name))


@dataclass(frozen=True)
class Expression:
    """A sum of terms, no two alike, in order."""

    terms: tuple[Monomial, ...]

    @cached_property
    def key(self) -> str:
        """A text that tells sums apart."""
        return "+".join(f"{term.coefficient}*{term.key}" for term in self.terms)

    @cached_property
    def depth(self) -> int:
        """How many sums are nested in it."""
        return max((base.depth for term in self.terms for base, _ in term.factors), default=0)

    @property
    def constant_value(self) -> Fraction | None:
        """The rational number that it is, None where it is none."""
        if not self.terms:
            return ZERO
        return self.single_term.coefficient if self.single_term is not None and not self.single_term.factors else None

    @property
    def single_term(self) -> Monomial | None:
        """The one term that it has, None where it has none or several."""
        return self.terms[0] if len(self.terms) == 1 else None

    def depends_on(self, name: str) -> bool:
        """Whether a name occurs in it."""
        return any(term.depends_on(name) for term in self.terms)

    def __add__(self, other: Expression) -> Expression:
        return collect_terms((*self.terms, *other.terms))

    def __neg__(self) -> Expression:
        return self.scaled(-ONE)

    def __sub__(self, other: Expression) -> Expression:
        return self + -other

    def __mul__(self, other: Expression) -> Expression:
        for a, b in ((self, other), (other, self)):
            if a.constant_value is not None:
                return b.scaled(a.constant_value)
        return collect_terms([multiply_terms(_as_term(self), _as_term(other))])

    def scaled(self, number: Fraction) -> Expression:
        """Return it times a rational number."""
        return collect_terms(Monomial(term.coefficient * number, term.factors) for term in self.terms)

    def power(self, exponent: Fraction) -> Expression:
        """Return it to a rational power."""
        number = self.constant_value
        if exponent == ZERO:
            return constant_expression(1)
        if number is not None:
            return collect_terms([_rational_power(number, exponent)])
        term = _as_term(self)
        whole = exponent.denominator == 1
        if not whole and not (term.coefficient > 0 and all(_is_nonnegative(base) for base, _ in term.factors)):
            return power_expression(Factor("sum", arguments=(self,)), exponent)
        raised = Monomial(ONE, tuple((base, power * exponent) for base, power in term.factors))
        return collect_terms([multiply_terms(_rational_power(term.coefficient, exponent), raised)])


def constant_expression(number: Fraction | int) -> Expression:
    """Return a rational number as a sum."""
    return collect_terms([Monomial(Fraction(number), ())])


def power_expression(base: Factor, exponent: Fraction = ONE) -> Expression:
    """Return a power of a base as a sum."""
    return collect_terms([Monomial(ONE, ((base, exponent),))])


def function_expression(kind: str, *inner: Expression) -> Expression:
    """Return a function of sums, by its kind."""
    number = inner[0].constant_value
    if (kind, number) in (("log", ONE), ("exp", ZERO)):
        return constant_expression(0 if kind == "log" else 1)
    return power_expression(Factor(kind, arguments=inner))


def collect_terms(terms: Iterable[Monomial]) -> Expression:
    """Return a sum with like terms collected, sums that stand alone in a term opened.

    Raises
    ------
    FormulaError
        It is larger than anything that is written by hand.
    """
    collected = dict[str, Monomial]()
    for term in _flatten(terms):
        like = collected.get(term.key)
        number = term.coefficient + (like.coefficient if like else ZERO)
        digits = number.numerator.bit_length(), number.denominator.bit_length()
        if max(digits) > MAX_INTEGER_BITS or (number and abs(digits[0] - digits[1]) > MAX_BINARY_EXPONENT):
            raise FormulaError(TOO_LONG_REASON)
        collected[term.key] = Monomial(number, term.factors)
    made = Expression(tuple(collected[key] for key in sorted(collected) if collected[key].coefficient))
    if len(made.terms) > MAX_TERMS or made.depth > MAX_DEPTH:
        raise FormulaError("it is too long: write it with fewer terms")
    return made


def _flatten(terms: Iterable[Monomial]) -> Iterable[Monomial]:
    """Yield terms; of one that is a number times a plain sum, those of the sum."""
    for term in terms:
        if len(term.factors) == 1 and term.factors[0][0].kind == "sum" and term.factors[0][1] == ONE:
            inner = term.factors[0][0].arguments[0]
            yield from (Monomial(term.coefficient * each.coefficient, each.factors) for each in inner.terms)
        else:
            yield term


def _as_term(of: Expression) -> Monomial:
    """Return a sum as one term: a sum of several as a base, its first coefficient of size 1."""
    if of.single_term is not None:
        return of.single_term
    content = abs(of.terms[0].coefficient)
    return Monomial(content, ((Factor("sum", arguments=(of.scaled(1 / content),)), ONE),))


def multiply_terms(a: Monomial, b: Monomial) -> Monomial:
    """Return the product of two terms, powers of one base collected; the exponentials are one."""
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
    made = sorted((pair for pair in powers.values() if pair[1]), key=lambda pair: pair[0].key)
    return Monomial(a.coefficient * b.coefficient, tuple(made))


def _rational_power(number: Fraction, exponent: Fraction) -> Monomial:
    """Return a power of a number, as a base where it is not rational."""
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
    """Whether a power of its power is the power of the product of both, also where it is not whole."""
    return base.is_positive or base.kind == "positive"


def iterate_powers(of: Expression) -> Iterable[tuple[Factor, Fraction]]:
    """Yield every power in a sum, those within others first."""
    for term in of.terms:
        for base, power in term.factors:
            for part in base.arguments:
                yield from iterate_powers(part)
            yield base, power
