"""Codes by cells are those of a binary search, whatever the thresholds and the entries."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt.rows.encoding_grid import MAX_COMPARISONS, MIN_GRID_ROWS, CellMap, FeatureEncoder
from boostopt.rows.thresholds import quantile_thresholds

LARGEST, SMALLEST = np.finfo(float).max, float(np.nextafter(0.0, 1.0))
EXTREME = np.array([-LARGEST, -1.0, -SMALLEST, -0.0, 0.0, SMALLEST, np.finfo(float).tiny, 1.0, LARGEST])


def random_numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers of one of the kinds that crowd, lie far apart, repeat, or leave the range of floats when subtracted."""
    kind = int(rng.integers(8))
    x = rng.standard_normal(n)
    kinds = [x, np.round(x, 1), np.exp(20 * x), np.tan(x) ** 3, 1e9 + 1e-6 * x, x * 10.0 ** rng.integers(-320, 308, n)]
    kinds += [1.0 + 2.0**-52 * rng.integers(0, 500, n), np.where(rng.random(n) < 0.5, 1e-9 * x, x)]
    return np.clip(kinds[kind], -LARGEST, LARGEST)


def search(thresholds: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.array([int((thresholds < value).sum()) for value in x])


@pytest.mark.parametrize("seed", range(40))
def test_codes_count_the_thresholds_below_each_entry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    thresholds = np.unique(random_numbers(rng, int(rng.integers(1, 300))))
    neighbours = [np.nextafter(thresholds, -np.inf), thresholds, np.nextafter(thresholds, np.inf)]
    x = np.clip(np.concatenate([EXTREME, *neighbours, random_numbers(rng, 100)]), -LARGEST, LARGEST)
    codes = np.empty(len(x), np.uint16)
    FeatureEncoder(thresholds, codes.dtype, MIN_GRID_ROWS).encode(x, codes)
    assert codes.tolist() == search(thresholds, x).tolist()


@pytest.mark.parametrize("power", [1, 3, 25])
def test_quantiles_of_ordinary_and_of_heavy_tails_have_a_grid(power: int) -> None:
    x = np.random.default_rng(0).standard_normal(5_000) ** power
    encoder = FeatureEncoder(quantile_thresholds(x, np.ones(5_000), 256), np.dtype(np.uint8), 5_000)
    assert encoder.grid is not None and encoder.grid.crowded_fraction < 0.02


def test_few_rows_and_few_thresholds_have_no_grid() -> None:
    thresholds = np.arange(100.0)
    assert FeatureEncoder(thresholds, np.dtype(np.uint8), MIN_GRID_ROWS - 1).grid is None
    assert FeatureEncoder(thresholds[:MAX_COMPARISONS], np.dtype(np.uint8), MIN_GRID_ROWS).grid is None


def test_crowded_thresholds_have_no_grid() -> None:
    thresholds = np.concatenate([[-1e300], 1.0 + 2.0**-52 * np.arange(50), [1e300]])
    assert FeatureEncoder(thresholds, np.dtype(np.uint8), MIN_GRID_ROWS).grid is None


def test_a_range_beyond_floats_has_no_cells() -> None:
    assert CellMap.from_range(-LARGEST, LARGEST, 64) is None
    assert CellMap.from_range(1.0, 1.0, 64) is None
    assert CellMap.from_range(-LARGEST, LARGEST, 64, least_magnitude=1.0) is not None
