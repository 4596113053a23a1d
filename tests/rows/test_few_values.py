"""Features of few values: codes count the values below each entry, in whatever order and blocks the values occur."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt.rows.encoding_grid import MIN_GRID_ROWS
from boostopt.rows.thresholds import MAX_COMPARED_VALUES, encode_few_values


def assert_codes_count_values(X: np.ndarray, sizes: list[int], max_values: int, probe: np.ndarray) -> None:
    """Assert that the features of at most so many values, and no others, have their values and codes."""
    codes = np.full(X.shape[::-1], 7, np.uint8 if max_values <= 256 else np.uint16)
    blocks = np.split(X, np.cumsum(sizes)[:-1])
    values = encode_few_values(probe, blocks, max_values, codes)
    distinct = [sorted(set(x.tolist())) for x in X.T]
    assert sorted(values) == [j for j, few in enumerate(distinct) if len(few) <= max_values]
    for j, few in values.items():
        assert few.tolist() == distinct[j]
        assert not np.signbit(few[few == 0.0]).any()  # -0.0 is the number 0.0
        assert np.array_equal(codes[j], np.searchsorted(distinct[j], X[:, j]))


@pytest.mark.parametrize("max_values", [3, 8, 9, 256, 4000])
@pytest.mark.parametrize("probe_size", [0, 40])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_codes_count_the_values_below(is_sorted: bool, probe_size: int, max_values: int) -> None:
    rng = np.random.default_rng(max_values)
    n = 2 * MIN_GRID_ROWS
    columns = [rng.integers(0, size, n) - size // 2 for size in (1, 2, MAX_COMPARED_VALUES, 17, max_values)]
    X = np.column_stack([*columns, np.arange(n) % (max_values + 1), rng.normal(size=n)]).astype(float)
    if is_sorted:
        X.sort(axis=0)  # in sorted rows, values occur late
    X[::3] *= np.where(X[::3] == 0.0, -1.0, 1.0)
    for sizes in ([n], [1, 1, MIN_GRID_ROWS, 17, n - MIN_GRID_ROWS - 19], [n // 5] * 5):
        assert_codes_count_values(X, sizes, max_values, X[:: n // probe_size] if probe_size else X[:0])


def test_256_values_have_codes_of_one_byte() -> None:
    x = np.random.default_rng(0).permutation(np.repeat(np.arange(257.0), 20))
    assert_codes_count_values(np.column_stack([np.minimum(x, 255), x]), [3000, len(x) - 3000], 256, np.empty((0, 2)))


def test_values_of_the_probe_are_values_of_rows() -> None:
    x = np.repeat(np.arange(40.0), 100)[:, None]
    assert_codes_count_values(x, [len(x)], 40, x[::50])


@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_feature_with_an_entry_that_is_not_finite_has_no_few_values(number: float, count: int) -> None:
    X = np.column_stack([np.arange(5000.0) % count, np.arange(5000.0) % 3])
    X[4321, 0] = number
    assert list(encode_few_values(X[:500], [X[:3000], X[3000:]], 256, np.empty((2, 5000), np.uint8))) == [1]


def test_no_rows_are_read_after_the_last_feature_of_few_values() -> None:
    X = np.arange(40.0).reshape(20, 2)
    blocks = iter([X[:10], X[10:], X])
    assert encode_few_values(X[:0], blocks, 15, np.empty((2, 20), np.uint8)) == {}
    assert len(list(blocks)) == 1
