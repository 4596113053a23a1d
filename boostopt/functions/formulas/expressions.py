"""Sums of products of powers with rational coefficients and exponents.

A base is a name, a logarithm, an exponential, a sum, a positive part, the step at which one begins, a Huber function or
a number whose power is irrational. Sums within products are kept as they are: (d - d0)^2 stays free of cancellation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

MOST_TERMS = 400
"""Terms of one sum; a text that makes more is refused."""

DEEPEST = 12
"""Sums within sums; a text that nests more is refused."""

LARGEST_POWER = 64
"""Power up to which a rational number is raised exactly."""

LONGEST = 4096
"""Bits of a numerator or a denominator."""

LARGEST = 990
"""Power of 2 that the size of a number, or its reciprocal, must not exceed: floats end at 1022."""

TOO_LONG = "its numbers have too many digits, or are too large or too small"

ZERO, ONE = Fraction(0), Fraction(1)


KINKED = "DescribedRegularizer, or DescribedEdges for edges"
"""What takes functions that no formula can be."""


class FormulaFault(ValueError):
    """A formula cannot be read, or is not what it must be, for a reason in words."""


@dataclass(frozen=True)
class Base:
    """What is raised to a power.

    Attributes
    ----------
    kind
        "name" for a positive quantity, "real" for one of any sign, "number", "log", "exp", "sum", "positive", "huber";
        of derivatives "step", "clip" (to [-M, M]) and "inside" (1 where that changes nothing, 0 elsewhere).
    name
        The name of a quantity.
    number
        The number.
    inner
        The argument; for "huber", "clip" and "inside" the argument and M, where the linear parts begin.
    """

    kind: str
    name: str = ""
    number: Fraction = ZERO
    inner: tuple[Sum, ...] = ()

    @cached_property
    def key(self) -> str:
        """A text that tells bases apart and puts them in order."""
        inside = ",".join(part.key for part in self.inner)
        return f"{self.kind}:{self.name}:{self.number}({inside})"

    @cached_property
    def depth(self) -> int:
        """How many sums are nested in it."""
        return 1 + max((part.depth for part in self.inner), default=0)

    def has(self, name: str) -> bool:
        """Whether a name occurs in it."""
        return self.name == name or any(part.has(name) for part in self.inner)

    @property
    def is_positive(self) -> bool:
        """Whether it is positive whatever the names stand for."""
        return self.kind in ("name", "exp") or (self.kind == "number" and self.number > 0)


Factors = tuple[tuple[Base, Fraction], ...]
"""Bases with their exponents, in order."""


@dataclass(frozen=True)
class Term:
    """A rational number times a product of powers."""

    coefficient: Fraction
    factors: Factors

    @cached_property
    def key(self) -> str:
        """A text that tells products of powers apart, whatever their coefficients."""
        return "*".join(f"{base.key}^{power}" for base, power in self.factors)

    def has(self, name: str) -> bool:
        """Whether a name occurs in it."""
        return any(base.has(name) for base, _ in self.factors)

    def power_of(self, name: str) -> Fraction:
        """Return the exponent of a name by itself."""
        return next((power for base, power in self.factors if base.name == name), ZERO)

    def split(self, name: str) -> tuple[Term, Factors]:
        """Return the part without a name, and the factors with it."""
        own = tuple(pair for pair in self.factors if not pair[0].has(name))
        return Term(self.coefficient, own), tuple(pair for pair in self.factors if pair[0].has(name))


@dataclass(frozen=True)
class Sum:
    """A sum of terms, no two alike, in order."""

    terms: tuple[Term, ...]

    @cached_property
    def key(self) -> str:
        """A text that tells sums apart."""
        return "+".join(f"{term.coefficient}*{term.key}" for term in self.terms)

    @cached_property
    def depth(self) -> int:
        """How many sums are nested in it."""
        return max((base.depth for term in self.terms for base, _ in term.factors), default=0)

    @property
    def number(self) -> Fraction | None:
        """The rational number that it is, None where it is none."""
        if not self.terms:
            return ZERO
        return self.single.coefficient if self.single is not None and not self.single.factors else None

    @property
    def single(self) -> Term | None:
        """The one term that it has, None where it has none or several."""
        return self.terms[0] if len(self.terms) == 1 else None

    def has(self, name: str) -> bool:
        """Whether a name occurs in it."""
        return any(term.has(name) for term in self.terms)

    def __add__(self, other: Sum) -> Sum:
        return total((*self.terms, *other.terms))

    def __neg__(self) -> Sum:
        return self.times(-ONE)

    def __sub__(self, other: Sum) -> Sum:
        return self + -other

    def __mul__(self, other: Sum) -> Sum:
        for a, b in ((self, other), (other, self)):
            if a.number is not None:
                return b.times(a.number)
        return total([product(_as_term(self), _as_term(other))])

    def times(self, number: Fraction) -> Sum:
        """Return it times a rational number."""
        return total(Term(term.coefficient * number, term.factors) for term in self.terms)

    def power(self, exponent: Fraction) -> Sum:
        """Return it to a rational power."""
        number = self.number
        if exponent == ZERO:
            return constant(1)
        if number is not None:
            return total([_number(number, exponent)])
        term = _as_term(self)
        whole = exponent.denominator == 1
        if not whole and not (term.coefficient > 0 and all(_distributes(base) for base, _ in term.factors)):
            return of_base(Base("sum", inner=(self,)), exponent)
        raised = Term(ONE, tuple((base, power * exponent) for base, power in term.factors))
        return total([product(_number(term.coefficient, exponent), raised)])


def constant(number: Fraction | int) -> Sum:
    """Return a rational number as a sum."""
    return total([Term(Fraction(number), ())])


def of_base(base: Base, exponent: Fraction = ONE) -> Sum:
    """Return a power of a base as a sum."""
    return total([Term(ONE, ((base, exponent),))])


def called(kind: str, *inner: Sum) -> Sum:
    """Return a function of sums, by its kind."""
    number = inner[0].number
    if (kind, number) in (("log", ONE), ("exp", ZERO)):
        return constant(0 if kind == "log" else 1)
    return of_base(Base(kind, inner=inner))


def total(terms: Iterable[Term]) -> Sum:
    """Return a sum with like terms collected, sums that stand alone in a term opened.

    Raises
    ------
    FormulaFault
        It is larger than anything that is written by hand.
    """
    collected = dict[str, Term]()
    for term in _opened(terms):
        like = collected.get(term.key)
        number = term.coefficient + (like.coefficient if like else ZERO)
        digits = number.numerator.bit_length(), number.denominator.bit_length()
        if max(digits) > LONGEST or (number and abs(digits[0] - digits[1]) > LARGEST):
            raise FormulaFault(TOO_LONG)
        collected[term.key] = Term(number, term.factors)
    made = Sum(tuple(collected[key] for key in sorted(collected) if collected[key].coefficient))
    if len(made.terms) > MOST_TERMS or made.depth > DEEPEST:
        raise FormulaFault("it is too long: write it with fewer terms")
    return made


def _opened(terms: Iterable[Term]) -> Iterable[Term]:
    """Yield terms; of one that is a number times a plain sum, those of the sum."""
    for term in terms:
        if len(term.factors) == 1 and term.factors[0][0].kind == "sum" and term.factors[0][1] == ONE:
            inner = term.factors[0][0].inner[0]
            yield from (Term(term.coefficient * each.coefficient, each.factors) for each in inner.terms)
        else:
            yield term


def _as_term(of: Sum) -> Term:
    """Return a sum as one term: a sum of several as a base, its first coefficient of size 1."""
    if of.single is not None:
        return of.single
    content = abs(of.terms[0].coefficient)
    return Term(content, ((Base("sum", inner=(of.times(1 / content),)), ONE),))


def product(a: Term, b: Term) -> Term:
    """Return the product of two terms, powers of one base collected; the exponentials are one."""
    powers, exponent = dict[str, tuple[Base, Fraction]](), Sum(())
    for base, power in (*a.factors, *b.factors):
        if base.kind == "exp":
            exponent = exponent + base.inner[0].times(power)
        elif base.kind in ("step", "inside"):
            powers[base.key] = base, ONE
        else:
            powers[base.key] = base, power + powers.get(base.key, (base, ZERO))[1]
    if exponent.terms:
        powers["exp"] = Base("exp", inner=(exponent,)), ONE
    made = sorted((pair for pair in powers.values() if pair[1]), key=lambda pair: pair[0].key)
    return Term(a.coefficient * b.coefficient, tuple(made))


def _number(number: Fraction, exponent: Fraction) -> Term:
    """Return a power of a number, as a base where it is not rational."""
    if number == ONE:
        return Term(ONE, ())
    if number == ZERO and exponent > 0:
        return Term(ZERO, ())
    if number == ZERO or (number < 0 and exponent.denominator != 1):
        raise FormulaFault(f"{number} to the power {exponent} is no number")
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    if abs(exponent) * abs(number.numerator.bit_length() - number.denominator.bit_length()) > LARGEST:
        raise FormulaFault(TOO_LONG)
    if exponent.denominator == 1 and abs(exponent) <= LARGEST_POWER and abs(exponent) * bits <= LONGEST:
        return Term(number ** int(exponent), ())
    return Term(ONE, ((Base("number", number=number), exponent),))


def _distributes(base: Base) -> bool:
    """Whether a power of its power is the power of the product of both, also where it is not whole."""
    return base.is_positive or base.kind == "positive"


def bases(of: Sum) -> Iterable[tuple[Base, Fraction]]:
    """Yield every power in a sum, those within others first."""
    for term in of.terms:
        for base, power in term.factors:
            for part in base.inner:
                yield from bases(part)
            yield base, power
