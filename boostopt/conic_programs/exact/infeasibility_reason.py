"""The reason why a linear program is infeasible, in words: which rows exclude each other, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN
from fractions import Fraction

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.optimality_check import dual_terms
from boostopt.conic_programs.exact.rational_arrays import fraction_array, zero_array
from boostopt.conic_programs.exact.rationals import leading_digits

ROUNDING_SHARE = 1e-9
"""Largest contradiction, relative to the largest side, that rounding of decimals to floats may explain."""

MAX_NAMED_ROWS = 3
"""Number of rows of a proof of infeasibility that sentences name."""


def min_side_change(program: ConicProgram, y: Sequence[Fraction] | None) -> Fraction | None:
    """Return a number below which no sum of changes of sides and bounds makes a point feasible.

    Parameters
    ----------
    program
        The program.
    y
        Multipliers of the rows that prove that it is infeasible, shape (m,). Crossed bounds need none.

    Returns
    -------
    The number; None if neither crossed bounds nor y prove that the program is infeasible.
    """
    crossed = _crossed_bounds(program)
    if crossed is not None:
        return program.to_fraction(crossed[1]) - program.to_fraction(crossed[2])
    terms = _farkas_terms(program, y)
    excess = sum((coefficient * limit for coefficient, limit in terms), Fraction(0))
    # A change of a limit by h changes the excess by at most the largest coefficient times h.
    return excess / max(abs(coefficient) for coefficient, _ in terms) if excess > 0 else None


def contradiction_in_words(program: ConicProgram, y: Sequence[Fraction] | None) -> str:
    """Return in a sentence which rows or bounds exclude each other; see `min_side_change`."""
    crossed = _crossed_bounds(program)
    if crossed is not None:
        name, lower, upper = crossed
        return f"The lower bound {lower!r} of {name} is above the upper bound {upper!r}."
    change = min_side_change(program, y)
    if change is None or y is None:
        return "Its multipliers prove nothing."
    names = [_name(program.row_names, "row", i) for i, multiplier in enumerate(y) if multiplier]
    more = f" and {len(names) - MAX_NAMED_ROWS:,} more" if len(names) > MAX_NAMED_ROWS else ""
    sentence = (
        f"No point satisfies {', '.join(names[:MAX_NAMED_ROWS])}{more} within the bounds of the variables: before one "
        f"does, sides and bounds must change by {leading_digits(change, ROUND_DOWN)} or more in sum."
    )
    terms = _farkas_terms(program, y)
    if program.numbers == "decimal" or change > ROUNDING_SHARE * max(abs(limit) for _, limit in terms):
        return sentence
    return (
        f"{sentence} So small a contradiction may come from decimals that were rounded to floats: "
        'exact_optimum(program, numbers="decimal") takes the numbers as decimals.'
    )


def _farkas_terms(program: ConicProgram, y: Sequence[Fraction] | None) -> list[tuple[Fraction, Fraction]]:
    """Return the coefficients and limits whose products y sums up; [] if it cannot."""
    m, n = program.shape
    return [] if y is None or len(y) != m else dual_terms(program, fraction_array(y), zero_array(n)) or []


def _crossed_bounds(program: ConicProgram) -> tuple[str, float, float] | None:
    """Return the name of the first row or variable whose lower bound is above the upper one, with these, or None."""
    for kind, names, lower, upper in (
        ("row", program.row_names, program.row_lower, program.row_upper),
        ("variable", program.column_names, program.lower, program.upper),
    ):
        crossed = (lower > upper).nonzero()[0].tolist()
        if crossed:
            return _name(names, kind, crossed[0]), float(lower[crossed[0]]), float(upper[crossed[0]])
    return None


def _name(names: Sequence[str], kind: str, k: int) -> str:
    """Return the name of a row or a variable, or its number where the file has no names."""
    return names[k] if names else f"{kind} {k}"
