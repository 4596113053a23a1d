"""Sums and images of floats with bounds of their errors, for the minorants of large problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flint
import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import INFLATION, gamma
from boostopt.problem_certificates.arithmetic.balls import NOT_A_NUMBER, Ball, Enclosure, enclosures
from boostopt.problem_certificates.arithmetic.sparse_float_forms import finite_enclosure


def enclosed_images(function: Callable[[Ball], Ball], values: Float[Array, " m"]) -> Enclosure:
    """Return the images of exact floats, each computed as a ball."""
    return enclosures([function(flint.arb(value)) for value in values.tolist()])


def total_ball(x: Enclosure) -> Ball:
    """Return a ball that contains the sum of all entries; nan if it has no bound."""
    mids, radii = x
    if not (np.isfinite(mids).all() and np.isfinite(radii).all()):
        return NOT_A_NUMBER
    try:
        total, radius = math.fsum(mids.tolist()), math.fsum(radii.tolist())
    except OverflowError:
        return NOT_A_NUMBER
    if len(mids) > 1:  # both sums are rounded once
        radius = (radius + math.ulp(total)) * INFLATION
    return flint.arb(total, radius) if radius else flint.arb(total)


def scattered_sums(places: Int[Array, " m"], x: Enclosure, count: int) -> Enclosure:
    """Return the sums of the entries with each place, for places below `count`."""
    mids, radii = x
    with np.errstate(all="ignore"):
        sums, errors = np.bincount(places, mids, count), np.bincount(places, radii, count)
        counts = np.bincount(places, minlength=count)
        if (counts > 1).any():
            rounding = gamma(counts) * np.bincount(places, np.abs(mids), count) + counts * SMALLEST
            errors = np.where(counts > 1, (errors + rounding) * INFLATION, errors)
    return finite_enclosure(sums, errors)


def sum_of_squares(rows: Float[Array, "m k"]) -> Enclosure:
    """Return the sum of squares of each row."""
    k = rows.shape[1]
    with np.errstate(all="ignore"):
        result = np.einsum("mk,mk->m", rows, rows)
        return finite_enclosure(result, (gamma(k + 1.0) * result + (k + 1) * SMALLEST) * INFLATION)


def side_by_side(*columns: Enclosure) -> tuple[Any, Any]:
    """Return enclosures of m numbers each as the columns of one of shape (m, k)."""
    return np.stack([mids for mids, _ in columns], axis=1), np.stack([radii for _, radii in columns], axis=1)
