"""The weights that an oracle is asked with, scaled so that sums over them neither overflow nor vanish."""

from __future__ import annotations

import math

import numpy as np

from boostopt.oracles.given import total_weight
from boostopt.shapes import Array, Float, Int8


def scaled_signed_weights(d: Float[Array, " weights"], y: Int8[Array, " N"]) -> tuple[Float[Array, " N"], int]:
    """Return (s, k) with s_n = 2^-k y_n d_n and the absolute values of s summing to a number in [1/2, 1).

    The scaling by a power of two is exact. Edges under s times 2^k are those under d. Where all weights are 0, s is 0
    and k is 0.

    Raises
    ------
    ProblemError
        There is not one weight for each example, or one is no finite number.
    """
    largest = math.frexp(float(np.abs(d).max(initial=0.0)))[1]
    s = np.ldexp(d, -largest)  # below 1: their sum is finite however large they are
    total = math.frexp(total_weight(s, len(y)))[1]
    return np.ldexp(s * y, -total), largest + total
