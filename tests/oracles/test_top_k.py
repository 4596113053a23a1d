"""Tests of the selection of the largest values."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt.oracles.top_k import are_extremes_of_ranges, places_of_copies


@pytest.mark.parametrize("has_minima", [False, True])
@pytest.mark.parametrize("size", [6, 7, 11, 12, 25])
def test_a_group_of_many_values_keeps_the_first_extremes_of_each_range(size: int, has_minima: bool) -> None:
    values = np.concatenate([np.zeros(3), np.random.default_rng(size).integers(-5, 5, size), np.zeros(1)])
    are_extremes = are_extremes_of_ranges(values, np.array([0, 3, 3 + size]), 6, has_minima)
    length, expected = -(-size // 6), {0, 1, 2, 3 + size}
    for k in range(3, 3 + size, length):
        part = values[k : min(k + length, 3 + size)].tolist()
        expected |= {k + part.index(max(part)), k + part.index(min(part) if has_minima else max(part))}
    assert np.flatnonzero(are_extremes).tolist() == sorted(expected)


def test_copies_are_groups_with_the_values_of_an_earlier_one() -> None:
    values = np.array([3, 5, 3, 5, 5, 3, 3, 5, 3])
    places = list(places_of_copies(values, np.array([0, 2, 4, 6, 8])))
    assert places == [slice(2, 4), slice(6, 8)]
