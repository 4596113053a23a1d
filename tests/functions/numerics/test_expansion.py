"""Expansion of values of some examples to all."""

from __future__ import annotations

import numpy as np

from boostopt.functions.numerics.support_expansion import expand


def test_values_stand_where_the_mask_holds_and_0_elsewhere() -> None:
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(expand(np.array([3.0, -1.0]), mask), [3.0, 0.0, -1.0, 0.0])
    np.testing.assert_array_equal(expand(np.zeros(0), ~np.ones(2, dtype=bool)), [0.0, 0.0])
    values = np.array([1.0, 2.0])
    assert expand(values, np.ones(2, dtype=bool)) is values
