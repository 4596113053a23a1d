"""Bounds of the rounding errors of sums and products of doubles [Higham 2002, chapter 3], and floats near fractions."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.numerics.error_free_transformations import (
    LARGEST_EXACT_FACTOR,
    SMALLEST_EXACT_PRODUCT,
    product_error,
)

UNIT = 2.0**-53
"""The unit roundoff: the largest relative error of one operation."""

INFLATION = 1.0 + 2.0**-20
"""Factor of a computed error bound that covers the rounding of the bound itself."""


def gamma(length: Any) -> Any:
    """Bound the relative error of a sum of `length` rounded products, in any order of summation."""
    return np.minimum(length, 1e15) * UNIT / (1.0 - np.minimum(length * UNIT, 0.5))


def is_exact_product(x: Float[Array, ...], y: Float[Array, ...], product: Float[Array, ...]) -> Any:
    """Return whether products of floats are exact; False for sizes at which the errors of products are not exact."""
    with np.errstate(all="ignore"):
        error = product_error(x, y, product)
        factor = np.maximum(np.abs(x), np.abs(y))
        is_known = (factor < LARGEST_EXACT_FACTOR) & (np.abs(product) > SMALLEST_EXACT_PRODUCT)
    return (is_known & (error == 0.0)) | (x == 0.0) | (y == 0.0)


def nearest_float(value: Fraction) -> float:
    """Return the nearest float; the largest one for larger numbers."""
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def float_below(value: Fraction) -> float:
    """Return the largest float that is not above a fraction; -inf if there is no finite one."""
    nearest = nearest_float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
