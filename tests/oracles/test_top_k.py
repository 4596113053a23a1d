"""Tests of the selection of the largest values."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt.oracles.top_k import are_largest_of_ranges


@pytest.mark.parametrize("by_size", [False, True])
@pytest.mark.parametrize("size", [6, 7, 11, 12])
def test_a_group_of_many_values_keeps_the_first_largest_of_each_range(size: int, by_size: bool) -> None:
    values = np.concatenate([np.zeros(3), np.random.default_rng(size).integers(-5, 5, size), np.zeros(1)])
    are_largest = are_largest_of_ranges(values, np.array([0, 3, 3 + size]), 6, by_size)
    length, sizes = 1 if size == 6 else 2, np.abs(values) if by_size else values
    expected = [k + int(sizes[k : min(k + length, 3 + size)].argmax()) for k in range(3, 3 + size, length)]
    assert np.flatnonzero(are_largest).tolist() == [0, 1, 2, *expected, 3 + size]
