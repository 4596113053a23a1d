"""Expansion of values of some examples, those that may have weight, to an array over all examples."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float


def expand(values: Float[Array, " n"], mask: Bool[Array, " N"]) -> ExampleVector:
    """Return an array with the values where the mask holds and 0 elsewhere; the values if it holds everywhere."""
    if len(values) == len(mask):
        return values
    full = np.zeros(len(mask))
    full[mask] = values
    return full
