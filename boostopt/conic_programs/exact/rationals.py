"""Rational numbers of Python and of python-flint: a `Fraction` is what users see, an `fmpq` is fast."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from flint import fmpq


def to_fmpq(value: Fraction) -> fmpq:
    """Return a fraction as a number of python-flint."""
    return fmpq(value.numerator, value.denominator)


def to_fraction(value: fmpq) -> Fraction:
    """Return a number of python-flint as a fraction."""
    return Fraction(int(value.p), int(value.q))


def leading_digits(value: Fraction, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return three digits of a number, with a power of ten: it may be outside the range of floats."""
    context = Context(prec=3, rounding=rounding)
    digits = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    is_float = -307 <= digits.adjusted() <= 307 or not value
    return f"{float(digits):.3g}" if is_float else f"{digits:g}"
