"""Exact solutions of sparse systems: digits from a factorization in floats, fractions from the digits, and a check.

Each step solves with the float factors, rounds to whole numbers, and computes the exact residual, which keeps a bounded
size. So each step gives a fixed number of binary digits of the solution. Fractions with a common denominator follow
from them. They are the solution if the system holds exactly, which is checked.

References
----------
Wan 2006, "An algorithm to solve integer linear systems exactly using numerical methods", Journal of Symbolic
Computation 41.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from flint import fmpq

from boostopt.conic_programs.exact.fraction_digits import common_fractions
from boostopt.conic_programs.exact.work_limit import count_work

Triple = tuple[int, int, fmpq]
"""Row, column and entry."""

DIGITS_OF_A_STEP = (44, 36, 26, 14)
"""Numbers of binary digits of a step that are tried: fewer where the factors are less accurate."""

MAX_RESIDUAL_BITS = 60
"""Largest length of a residual, above that of the right side, with which a step still gains its digits."""

MAX_DIGITS = 400_000
"""Largest number of digits of a solution."""

MAX_FLOAT_BITS = 1000
"""Largest length of a whole number that is converted to a float."""

FIRST_DIGITS = 256
"""Number of digits after which fractions are tried for the first time; later after each growth by a quarter."""


@dataclass(frozen=True, eq=False)
class SparseSystem:
    """B z = b with whole numbers, as triples, for any number of right sides.

    Attributes
    ----------
    size
        Number of rows and columns.
    rows, columns
        Places of the entries, sorted by rows.
    entries
        Whole numbers of any size, as objects.
    row_scales
        Whole numbers by which the rows were multiplied.
    """

    size: int
    rows: Any
    columns: Any
    entries: Any
    row_scales: Sequence[int]

    def products(self, z: Any) -> Any:
        """Return B z for whole numbers z."""
        products = np.zeros(self.size, dtype=object)
        if len(self.rows):
            starts = np.flatnonzero(np.concatenate([[True], np.diff(self.rows) != 0]))
            products[self.rows[starts]] = np.add.reduceat(self.entries * z[self.columns], starts)
        return products


def system_of_whole_numbers(size: int, triples: Sequence[Triple]) -> SparseSystem:
    """Return the system whose rows are multiplied by their common denominators."""
    scales = [1] * size
    for i, _, entry in triples:
        scales[i] = math.lcm(scales[i], int(entry.q))
    ordered = sorted(triples)
    entries = np.empty(len(ordered), dtype=object)
    entries[:] = [int(entry.p) * (scales[i] // int(entry.q)) for i, _, entry in ordered]
    return SparseSystem(
        size=size,
        rows=np.array([i for i, _, _ in ordered], dtype=np.int64),
        columns=np.array([j for _, j, _ in ordered], dtype=np.int64),
        entries=entries,
        row_scales=scales,
    )


class FloatFactors:
    """Factors of a scaled matrix in floats. Nothing that they return is believed.

    Raises
    ------
    ArithmeticError
        The matrix is singular in floats, or its numbers are outside their range.
    """

    def __init__(self, system: SparseSystem) -> None:
        self._row_exponents = _exponents(system.rows, system.entries, system.size)
        exponents = self._row_exponents[system.rows]
        if exponents.max(initial=0) <= MAX_FLOAT_BITS:
            scaled = np.ldexp(system.entries.astype(float), -exponents)
        else:
            pairs = zip(system.entries.tolist(), exponents.tolist(), strict=True)
            scaled = np.array([math.ldexp(*_mantissa(entry, exponent)) for entry, exponent in pairs], dtype=float)
        matrix: Any = scipy.sparse.csc_array((scaled, (system.rows, system.columns)), shape=(system.size, system.size))
        largest: Any = abs(matrix).max(axis=0).toarray().ravel()
        exponents = np.frexp(np.where(largest > 0.0, largest, 1.0))[1]
        # A power of two above the range of floats would be infinite.
        self._column_exponents = np.where(largest > 0.0, np.maximum(exponents, -MAX_FLOAT_BITS), 0)
        matrix = matrix @ scipy.sparse.diags_array(np.ldexp(1.0, -self._column_exponents))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                self._factors: Any = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(matrix))
            except (RuntimeError, Warning) as failure:
                raise ArithmeticError("the matrix is singular in floats") from failure

    def solve(self, residual: Any, shift: int) -> Any:
        """Return an approximation of 2^shift times the solution, rounded to whole numbers."""
        exponent = _length(residual)
        if exponent > MAX_FLOAT_BITS:
            residual, shift = residual >> (exponent - MAX_FLOAT_BITS), shift + exponent - MAX_FLOAT_BITS
            exponent = MAX_FLOAT_BITS
        right_side = np.ldexp(residual.astype(float), -self._row_exponents - exponent)
        solution = self._factors.solve(right_side)
        if not np.isfinite(solution).all():
            raise ArithmeticError("the solution in floats is not finite")
        return _whole_numbers(solution, exponent + shift - self._column_exponents)


def solve_whole_numbers(
    system: SparseSystem, factors: FloatFactors, right_side: Sequence[fmpq], n_digits: int | None = None
) -> list[fmpq] | None:
    """Return z with B z = b exactly; None where the factors are too inaccurate, or the digits too many.

    With a number of binary digits, z is only about so accurate, in proportion to its size, and this is not proved.
    """
    scaled = [value * scale for value, scale in zip(right_side, system.row_scales, strict=True)]
    denominator = math.lcm(*(int(value.q) for value in scaled)) if scaled else 1
    b = np.empty(system.size, dtype=object)
    b[:] = [int(value.p) * (denominator // int(value.q)) for value in scaled]
    if not any(b):
        return [fmpq(0)] * system.size
    for shift in DIGITS_OF_A_STEP:
        solution = _solution_by_digits(system, factors, b, shift, n_digits)
        if solution is not None:
            numerators, divisor = solution
            return [fmpq(numerator, divisor * denominator) for numerator in numerators]
    return None


def _solution_by_digits(
    system: SparseSystem, factors: FloatFactors, b: Any, shift: int, limit: int | None
) -> tuple[list[Any], Any] | None:
    """Return numerators and a common denominator; the digits themselves where there is a limit of their number."""
    residual, digits, parts, n_digits, next_try = b, np.zeros(system.size, dtype=object), [], 0, FIRST_DIGITS
    max_bits = _length(b) + MAX_RESIDUAL_BITS
    while n_digits < MAX_DIGITS:
        try:
            parts.append(factors.solve(residual, shift))
        except (ArithmeticError, OverflowError):
            return None
        residual = residual * 2**shift - system.products(parts[-1])
        n_digits += shift
        count_work(shift * system.size)
        is_exact = not residual.any()
        if not is_exact and _length(residual) > max_bits:
            return None
        if limit is not None and n_digits >= limit:
            return list(digits * 2 ** (shift * len(parts)) + _sum_of_parts(parts, shift)), 2**n_digits
        if is_exact or (limit is None and n_digits >= next_try):
            digits = digits * 2 ** (shift * len(parts)) + _sum_of_parts(parts, shift)
            parts, next_try = [], n_digits + n_digits // 4
            fractions = (list(digits), 2**n_digits) if is_exact else common_fractions(list(digits), n_digits)
            if fractions is not None and _is_solution(system, *fractions, b):
                return fractions
    return None


def _sum_of_parts(parts: Sequence[Any], shift: int) -> Any:
    """Return the sum of the parts, each times 2^shift for each later one."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    first, last = _sum_of_parts(parts[:middle], shift), _sum_of_parts(parts[middle:], shift)
    return first * 2 ** (shift * (len(parts) - middle)) + last


def _is_solution(system: SparseSystem, numerators: list[Any], denominator: Any, b: Any) -> bool:
    z = np.empty(system.size, dtype=object)
    z[:] = numerators
    return bool((system.products(z) == b * denominator).all())


def _length(values: Any) -> int:
    return int(np.abs(values).max()).bit_length()


def _exponents(rows: Any, entries: Any, size: int) -> Any:
    exponents = np.zeros(size, dtype=np.int64)
    np.maximum.at(exponents, rows, [abs(entry).bit_length() for entry in entries])
    return exponents


def _mantissa(value: int, exponent: int) -> tuple[float, int]:
    """Return a float m and an exponent e so that m 2^e is about value / 2^exponent."""
    excess = max(0, abs(value).bit_length() - 64)
    return float(value >> excess), max(excess - exponent, -1200)


def _whole_numbers(values: Any, exponents: Any) -> Any:
    """Return values times 2^exponents, rounded to whole numbers."""
    numbers = np.empty(len(values), dtype=object)
    mantissas, powers = np.frexp(values)
    powers = np.where(values == 0.0, 0, powers + exponents)
    if powers.max(initial=0) < 63:
        numbers[:] = np.rint(np.ldexp(mantissas, powers)).astype(np.int64).tolist()
        return numbers
    whole = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    numbers[:] = [
        mantissa << power if power >= 0 else (mantissa >> -power if power > -60 else 0)
        for mantissa, power in zip(whole, (powers - 53).tolist(), strict=True)
    ]
    return numbers
