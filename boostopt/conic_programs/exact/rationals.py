"""Rational numbers of Python and of python-flint: a `Fraction` is what users see, an `fmpq` is fast."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from flint import fmpq

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import Numbers


class FloatRationals(dict[float, fmpq]):
    """The rational numbers that floats mean, each converted once: programs have few distinct numbers.

    Parameters
    ----------
    numbers
        As of `ConicProgram.numbers`.
    """

    def __init__(self, numbers: Numbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, value: float) -> fmpq:
        number = fmpq(*value.as_integer_ratio()) if self._numbers == "binary" else to_fmpq(Fraction(repr(value)))
        self[value] = number
        return number

    def array_numbers(self, values: Array) -> list[fmpq]:
        """Return the numbers of finite floats."""
        return list(map(self.__getitem__, values.tolist()))

    def bound_numbers(self, values: Array) -> list[fmpq | None]:
        """Return the numbers of bounds; None for infinite ones."""
        numbers: Any = self  # infinite bounds are no numbers
        numbers[math.inf] = numbers[-math.inf] = None
        return list(map(self.__getitem__, values.tolist()))


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
