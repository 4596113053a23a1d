"""Fractions from their binary digits: the simplest one near a number, and a common denominator of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpz, fmpz_mat

N_UNCERTAIN_DIGITS = 64
"""Number of the last digits that need not be right."""

MAX_FACTOR, FACTOR_STEP = 251, 97
"""Factors of the numbers in a sum are at most the first one, a prime; those of neighbours differ by the second one."""


def common_fractions(digits: Sequence[int], n_digits: int) -> tuple[list[fmpz], fmpz] | None:
    """Return numerators and a common denominator of numbers close to digits / 2^n_digits.

    None where a denominator of about half as many digits is not enough.
    """
    power, half = fmpz(1) << n_digits, fmpz(1) << (n_digits - 1)
    largest = max((abs(number).bit_length() for number in digits), default=0)
    slack = N_UNCERTAIN_DIGITS + max(0, largest - n_digits)
    max_bits = (n_digits - slack) // 2 - 8
    if max_bits < 1:
        return None
    # A sum with different factors nearly always has the common denominator of all.
    total = sum((1 + k * FACTOR_STEP % MAX_FACTOR) * number for k, number in enumerate(digits))
    more = (MAX_FACTOR * len(digits)).bit_length()
    denominator = simplest_denominator(total % (1 << n_digits), n_digits, slack + more, max_bits)
    if denominator is None:
        return None
    last = power - 1
    numbers = [fmpz(number) for number in digits]
    for number in numbers:
        distance = ((number * denominator + half) & last) - half
        if abs(distance) > denominator << slack:
            factor = simplest_denominator(distance % power, n_digits, slack + denominator.bit_length(), max_bits)
            denominator *= factor or 0
            if factor is None or denominator.bit_length() > max_bits:
                return None
    return [(number * denominator + half) >> n_digits for number in numbers], denominator


def simplest_denominator(number: int | fmpz, n_digits: int, slack: int, max_bits: int) -> fmpz | None:
    """Return the denominator q of the simplest fraction p / q near number / 2^n_digits.

    The distance of q number from p 2^n_digits is at most about q 2^slack. None where q has more than max_bits digits.
    q comes from the shortest vector of the lattice of (q 2^slack, q number - p 2^n_digits), which has two dimensions.
    """
    rows = [[fmpz(1) << slack, fmpz(number)], [fmpz(0), fmpz(1) << n_digits]]
    first: Any = fmpz_mat(rows).lll()
    denominator = abs(first[0, 0]) >> slack
    if denominator == 0 or denominator.bit_length() > max_bits or abs(first[0, 1]) > denominator << slack:
        return None
    return denominator
