"""Fractions from their binary digits: the simplest one near a number, and a common denominator of many."""

from __future__ import annotations

from collections.abc import Sequence

N_UNCERTAIN_DIGITS = 64
"""Number of the last digits that need not be right."""

MAX_FACTOR, FACTOR_STEP = 251, 97
"""Factors of the numbers in a sum are at most the first one, a prime; those of neighbours differ by the second one."""


def common_fractions(digits: Sequence[int], n_digits: int) -> tuple[list[int], int] | None:
    """Return numerators and a common denominator of numbers close to digits / 2^n_digits.

    None where a denominator of about half as many digits is not enough.
    """
    power, half = 1 << n_digits, 1 << (n_digits - 1)
    largest = max((abs(number).bit_length() for number in digits), default=0)
    slack = N_UNCERTAIN_DIGITS + max(0, largest - n_digits)
    max_bits = (n_digits - slack) // 2 - 8
    if max_bits < 1:
        return None
    # A sum with different factors nearly always has the common denominator of all.
    total = sum((1 + k * FACTOR_STEP % MAX_FACTOR) * number for k, number in enumerate(digits))
    more = (MAX_FACTOR * len(digits)).bit_length()
    denominator = simplest_denominator(total % power, power, 1 << (slack + more), 1 << max_bits)
    if denominator is None:
        return None
    for number in digits:
        distance = (number * denominator + half) % power - half
        if abs(distance) > denominator << slack:
            factor = simplest_denominator(distance % power, power, denominator << slack, 1 << max_bits)
            denominator *= factor or 0
            if factor is None or denominator.bit_length() > max_bits:
                return None
    return [(number * denominator + half) >> n_digits for number in digits], denominator


def simplest_denominator(number: int, power: int, tolerance: int, max_denominator: int) -> int | None:
    """Return the denominator q of the first convergent p / q of number / power with abs(q number - p power) <= q tol.

    None where it is larger than the maximum.
    """
    previous_remainder, remainder, previous, denominator = power, number, 0, 1
    while remainder > denominator * tolerance:
        quotient, next_remainder = divmod(previous_remainder, remainder)
        previous_remainder, remainder = remainder, next_remainder
        previous, denominator = denominator, quotient * denominator + previous
        if denominator > max_denominator:
            return None
    return denominator
