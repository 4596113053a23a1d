"""The two bounds of a certificate are numbers or infinite: nan passes every comparison that looks for a mistake."""

from __future__ import annotations

import math

from boostopt.errors import ProblemError


def as_bound(value: float, unknown: float) -> float:
    """Return a number that was computed as a bound; `unknown`, an infinite one, where it is nan, which says nothing."""
    return unknown if math.isnan(value) else float(value)


def check_bounds(lower: float, upper: float, *further: float) -> None:
    """Refuse bounds that are no numbers.

    Raises
    ------
    ProblemError
        One of them is nan.
    """
    if any(math.isnan(number) for number in (lower, upper, *further)):
        numbers = ", ".join(repr(float(number)) for number in (lower, upper, *further))
        raise ProblemError(
            f"the bounds of a certificate must be numbers, -inf or inf; got {numbers}. Pass -inf or inf for a bound "
            "that is not known."
        )
