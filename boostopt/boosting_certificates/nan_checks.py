"""Checks of the bounds of a certificate for nan, which passes every comparison that looks for a mistake."""

from __future__ import annotations

import math

from boostopt.errors import ProblemError


def as_bound(value: float, unknown: float) -> float:
    """Return a computed bound as a float; if the bound is nan, return `unknown`, an infinite bound."""
    return unknown if math.isnan(value) else float(value)


def check_bounds(lower: float, upper: float, *further: float) -> None:
    """Raise for bounds that are nan.

    Raises
    ------
    ProblemError
        A bound is nan.
    """
    if any(math.isnan(number) for number in (lower, upper, *further)):
        numbers = ", ".join(repr(float(number)) for number in (lower, upper, *further))
        raise ProblemError(
            f"the bounds of a certificate must be numbers, -inf or inf; got {numbers}. Pass -inf or inf for a bound "
            "that is not known."
        )
