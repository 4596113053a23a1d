"""The weights of a query, scaled so that sums over them neither overflow nor underflow."""

from __future__ import annotations

import math

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, Int8
from boostopt.errors import ProblemError

MACHINE_EPSILON = float(np.finfo(np.float64).eps)
"""Twice the unit roundoff."""

MAX_WEIGHT_SUM = float(np.finfo(np.float64).max) / 4
"""The largest sum of absolute weights: edges and bounds of edges then do not overflow."""


def check_weights(d: Float[Array, " weights"], N: int) -> float:
    """Return the sum of |d_n|.

    Raises
    ------
    ProblemError
        There is not one weight for each of the N examples that count, a weight is not finite, or the sum overflows.
    """
    if d.shape != (N,) or not np.isfinite(d).all():
        raise ProblemError(
            f"the weights d must be {N} finite numbers, one for each example that counts; got shape {d.shape}"
            f"{'' if np.isfinite(d).all() else ' with others'}. Leave out the examples of multiplicity 0."
        )
    with np.errstate(over="ignore"):  # refused below
        total = float(np.abs(d).sum())
    if total > MAX_WEIGHT_SUM:
        raise ProblemError(
            f"the weights d must sum to at most {MAX_WEIGHT_SUM:.6g}; got {total:.6g}. Divide them by their largest."
        )
    return total


def scaled_weights(d: Float[Array, " weights"], N: int) -> tuple[ExampleVector, int]:
    """Return (s, k) with s_n = 2^-k d_n and the absolute values of s summing to a number in [1/2, 1).

    The scaling by a power of two is exact. The edges under d are 2^k times those under s. If all weights are 0, s is 0
    and k is 0.

    Raises
    ------
    ProblemError
        As `check_weights`.
    """
    check_weights(d, N)
    # Two steps: after the first, the sum of subnormal numbers is accurate enough for the scale.
    largest = math.frexp(float(np.abs(d).max(initial=0.0)))[1]
    s = np.ldexp(d.astype(np.float64, copy=False), -largest)
    total = math.frexp(float(np.abs(s).sum()))[1]
    return np.ldexp(s, -total), largest + total


def as_distribution(d: Float[Array, " weights"], y: Int8[Array, " N"]) -> tuple[ExampleVector, Int8[Array, " N"]]:
    """Return |d| over its sum, and the labels, negated where weights are negative, for learners.

    A weight -d_n of the label y_n is a weight d_n of the label -y_n; no edge changes.

    Raises
    ------
    ProblemError
        As `check_weights`; or all weights are 0.
    """
    s, _ = scaled_weights(d, len(y))
    if not s.any():
        raise ProblemError("the weights d of a fit must not be all 0. Pass a distribution.")
    size = np.abs(s)
    return size / size.sum(), np.where(s < 0, -y, y).astype(np.int8)


def unscaled_upper_bound(bound: float, exponent: int) -> float:
    """Return an upper bound of 2^exponent times a number, even if the product is subnormal and rounded."""
    return math.nextafter(math.ldexp(bound, exponent), math.inf)
