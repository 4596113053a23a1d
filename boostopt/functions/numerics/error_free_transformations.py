"""Error-free transformations of doubles: halves of a number, and the rounding errors of products and sums.

The error of a rounded product or sum of two doubles is itself a double, and a few operations compute it exactly. This
holds unless numbers overflow or partial products underflow; see `SMALLEST_EXACT_PRODUCT` [Dekker 1971; Knuth 1969].
"""

from __future__ import annotations

from boostopt._utils.array_types import Array, Float

DEKKER_FACTOR = 2.0**27 + 1.0
"""Factor that splits a double into two halves of 26 bits."""

LARGEST_EXACT_FACTOR = 1e140
"""Absolute value below which neither the halves of a factor nor the products of two factors overflow."""

SMALLEST_EXACT_PRODUCT = 1e-250
"""Smallest absolute value of a product whose four partial products cannot underflow."""


def split_doubles(x: Float[Array, ...]) -> tuple[Float[Array, ...], Float[Array, ...]]:
    """Return two numbers of 26 bits that sum to x. Products of such halves are exact."""
    scaled = DEKKER_FACTOR * x
    high = scaled - (scaled - x)
    return high, x - high


def product_error(x: Float[Array, ...], y: Float[Array, ...], product: Float[Array, ...]) -> Float[Array, ...]:
    """Return x y - product for the rounded product of x and y."""
    (x_high, x_low), (y_high, y_low) = split_doubles(x), split_doubles(y)
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def sum_error(x: Float[Array, ...], y: Float[Array, ...], total: Float[Array, ...]) -> Float[Array, ...]:
    """Return x + y - total for the rounded sum of x and y."""
    y_part = total - x
    return (x - (total - y_part)) + (y - y_part)
