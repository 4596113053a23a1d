"""Codes by a grid of cells: an entry costs one look-up and one comparison if its cell has at most one threshold.

One monotone function of floats maps entries and thresholds to cells. So a threshold in a lower cell lies below the
entry, whatever the rounding, and a threshold in a higher cell lies above. Only the thresholds in the cell of the entry
are compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, Int, UInt

MIN_GRID_ROWS = 2_000
"""Smallest number of rows for which the construction of a grid of cells is worth its time."""

MAX_COMPARISONS = 16
"""Largest number of thresholds that are compared with all entries, one after another; a grid is faster for more."""

CELLS_PER_THRESHOLD = (8, 64)
"""Numbers of cells per threshold that a grid may have; the second one is for thresholds that crowd in places."""

MAX_CELLS = 1 << 18
"""Largest number of cells of a grid: larger tables do not stay in the cache."""

FEW_CROWDED = 0.01
"""Fraction of thresholds in crowded cells below which a grid is good enough."""

MAX_CROWDED = 0.4
"""Fraction of thresholds in crowded cells up to which a grid is faster than a binary search."""


@dataclass(frozen=True)
class CellMap:
    """A monotone function of floats to cells of equal width, on the scale of numbers or of their magnitudes.

    Attributes
    ----------
    origin, cells_per_unit, n_cells
        The cell of x is floor((s(x) - origin) cells_per_unit) + 1, at least 0 and below n_cells, in floats.
    least_magnitude
        None if s(x) = x. Otherwise s(x) = sign(x) max(b(|x|) - b(least_magnitude), 0), where b(x) is the binary
        representation of a float, as an integer: about a multiple of log2 x.
    """

    origin: float
    cells_per_unit: float
    n_cells: int
    least_magnitude: float | None

    @classmethod
    def from_range(
        cls, lowest: float, highest: float, n_cells: int, least_magnitude: float | None = None
    ) -> CellMap | None:
        """Return the map whose inner cells divide the range between two numbers; None if floats have no such width."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            origin, end = _scale(np.array([lowest, highest]), least_magnitude)
            cells_per_unit = float((n_cells - 2) / (end - origin))
        return cls(float(origin), cells_per_unit, n_cells, least_magnitude) if 0.0 < cells_per_unit < np.inf else None

    def cells(self, x: Float[Array, " n"]) -> Int[Array, " n"]:
        """Return the cells of finite numbers. Each operation is monotone in floats, so the cells are."""
        with np.errstate(over="ignore", under="ignore"):
            place = _scale(x, self.least_magnitude) - self.origin
            place *= self.cells_per_unit
        np.maximum(place, -1.0, out=place)
        np.minimum(place, self.n_cells - 2.0, out=place)
        place += 1.0
        return place.astype(np.intp)


def _scale(x: Float[Array, " n"], least_magnitude: float | None) -> Float[Array, " n"]:
    if least_magnitude is None:
        return x
    magnitudes = np.abs(x).view(np.int64).astype(np.float64)
    magnitudes -= float(np.float64(least_magnitude).view(np.int64))
    np.maximum(magnitudes, 0.0, out=magnitudes)
    return np.copysign(magnitudes, x, out=magnitudes)


@dataclass(frozen=True, eq=False)
class CellGrid:
    """The thresholds of one feature, in cells.

    Attributes
    ----------
    thresholds
        The thresholds, ascending.
    cell_map
        The cell of each number.
    n_lower
        The number of thresholds in lower cells, for each cell.
    first_threshold
        The first threshold of each cell, infinite if the cell has none.
    is_crowded
        Whether a cell has more than one threshold.
    crowded_fraction
        Fraction of the thresholds in crowded cells: about that of the entries, if thresholds are quantiles.
    """

    thresholds: Float[Array, " thresholds"]
    cell_map: CellMap
    n_lower: UInt[Array, " cells"]
    first_threshold: Float[Array, " cells"]
    is_crowded: Bool[Array, " cells"]
    crowded_fraction: float

    @classmethod
    def from_map(cls, thresholds: Float[Array, " thresholds"], dtype: np.dtype[Any], cell_map: CellMap) -> CellGrid:
        """Return the grid of thresholds in the cells of a map, for codes of a type."""
        cells = cell_map.cells(thresholds)
        counts = np.bincount(cells, minlength=cell_map.n_cells)
        first_threshold = np.full(cell_map.n_cells, np.inf)
        first_threshold[cells[::-1]] = thresholds[::-1]
        n_lower, is_crowded = (np.cumsum(counts) - counts).astype(dtype), counts > 1
        return cls(thresholds, cell_map, n_lower, first_threshold, is_crowded, float(is_crowded[cells].mean()))

    def encode(self, x: Float[Array, " rows"], codes: UInt[Array, " rows"]) -> None:
        """Write the number of thresholds below each finite entry."""
        cells = self.cell_map.cells(x)
        np.take(self.n_lower, cells, out=codes, mode="clip")
        codes += np.greater(x, np.take(self.first_threshold, cells, mode="clip"))
        if self.crowded_fraction:
            rows = np.flatnonzero(np.take(self.is_crowded, cells, mode="clip"))
            if len(rows):
                codes[rows] = np.searchsorted(self.thresholds, x[rows], side="left")


class FeatureEncoder:
    """The encoder of one feature: comparisons with few thresholds, a grid of cells if one fits, else a binary search.

    Parameters
    ----------
    thresholds
        Thresholds, ascending.
    dtype
        The type of the codes.
    n_rows
        Number of rows: a feature of few rows is encoded by a binary search.
    """

    thresholds: Float[Array, " thresholds"]
    grid: CellGrid | None

    def __init__(self, thresholds: Float[Array, " thresholds"], dtype: np.dtype[Any], n_rows: int) -> None:
        self.thresholds = thresholds
        self._is_compared = n_rows >= MIN_GRID_ROWS and len(thresholds) <= MAX_COMPARISONS
        has_grid = n_rows >= MIN_GRID_ROWS and not self._is_compared
        self.grid = _grid_with_fewest_crowded(thresholds, dtype) if has_grid else None

    def encode(self, x: Float[Array, " rows"], codes: UInt[Array, " rows"]) -> None:
        """Write the number of thresholds below each finite entry."""
        if self._is_compared:
            codes[:] = 0
            for threshold in self.thresholds.tolist():
                codes += np.greater(x, threshold).view(np.uint8)
        elif self.grid is None:
            codes[:] = np.searchsorted(self.thresholds, x, side="left")
        else:
            self.grid.encode(x, codes)


def _grid_with_fewest_crowded(thresholds: Float[Array, " thresholds"], dtype: np.dtype[Any]) -> CellGrid | None:
    """Return the first grid with few crowded cells, or the one with the fewest; None if a binary search is faster."""
    magnitudes = np.abs(thresholds[thresholds != 0])
    best: CellGrid | None = None
    for cells_per_threshold in CELLS_PER_THRESHOLD:
        n_cells = min(MAX_CELLS, 1 << (cells_per_threshold * len(thresholds) - 1).bit_length())
        for least_magnitude in (None, float(magnitudes.min())):
            cell_map = CellMap.from_range(float(thresholds[0]), float(thresholds[-1]), n_cells, least_magnitude)
            if cell_map is None:
                continue
            grid = CellGrid.from_map(thresholds, dtype, cell_map)
            if best is None or grid.crowded_fraction < best.crowded_fraction:
                best = grid
            if grid.crowded_fraction <= FEW_CROWDED:
                return grid
    return best if best is not None and best.crowded_fraction <= MAX_CROWDED else None
