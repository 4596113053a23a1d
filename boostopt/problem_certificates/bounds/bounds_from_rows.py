"""Rows with bounds of their values: what they prove of the unknowns, and the unknowns of them.

Rows of small problems compute in balls, one after the other. Those of large ones compute in floats, all at once, and
count their rounding: each end is moved outward by a bound of the errors of what it was computed from.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT, gamma
from boostopt.problem_certificates.arithmetic.affine_forms import Row, RowBlock
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, ball, round_down, round_up
from boostopt.problem_certificates.arithmetic.sparse_float_forms import FloatRowBlock, entry_counts
from boostopt.problem_certificates.atoms.base import Bounds, intersection

MIN_IMPROVEMENT = 0.1
"""Fraction of the width of finite bounds by which another bound must be tighter to count."""

CHUNK_SIZE = 200_000
"""Number of coefficients that are used at once."""


@dataclass
class BoundedRow:
    """A row with bounds of its value.

    Attributes
    ----------
    row, offset
        The coefficients and the constant.
    bounds
        Lower and upper bound of <row, z> + offset.
    """

    row: Row
    offset: Ball
    bounds: Bounds


class Box:
    """Lower and upper bounds of unknowns, which become tighter.

    Attributes
    ----------
    lower, upper
        The bounds, shape (k,).
    is_empty
        Whether two bounds contradict each other.
    """

    lower: Array
    upper: Array
    is_empty: bool

    def __init__(self, lower: Float[Array, " k"], upper: Float[Array, " k"]) -> None:
        self.lower, self.upper = lower, upper
        # No number is as large as an infinite lower bound.
        self.is_empty = bool(((lower > upper) | (lower == math.inf) | (upper == -math.inf)).any())

    def tighten(self, k: int, low: float, high: float) -> bool:
        """Take new bounds of an unknown if they are tighter; return whether they are much tighter."""
        old_low, old_high = float(self.lower[k]), float(self.upper[k])
        width = old_high - old_low
        self.lower[k], self.upper[k] = max(old_low, low), min(old_high, high)
        if self.lower[k] > self.upper[k]:
            self.is_empty = True
        gain = max(low - old_low, old_high - high)
        return gain > MIN_IMPROVEMENT * width if math.isfinite(width) else gain == math.inf

    def tighten_all(self, low: Float[Array, " k"], high: Float[Array, " k"]) -> bool:
        """Take new bounds of all unknowns where they are tighter; return whether one is much tighter."""
        with np.errstate(all="ignore"):
            width = self.upper - self.lower
            gain = np.fmax(low - self.lower, self.upper - high)
            is_much = np.where(np.isfinite(width), gain > MIN_IMPROVEMENT * width, gain == np.inf)
        self.lower, self.upper = np.fmax(self.lower, low), np.fmin(self.upper, high)
        self.is_empty |= bool((self.lower > self.upper).any())
        return bool(is_much.any())

    def row_bounds(self, row: Row, offset: Ball) -> Bounds:
        """Return the bounds of a row over the present bounds."""
        low, high = self._end(row, offset, 1), self._end(row, offset, -1)
        return (
            round_down(low) if low is not None else -math.inf,
            round_up(high) if high is not None else math.inf,
        )

    def smallest_term(self, coefficient: Ball, k: int, sign: int) -> Ball | None:
        """Return the smallest sign * coefficient * z_k; None if it is not bounded."""
        signed = coefficient if sign > 0 else -coefficient
        if signed > 0:
            end = float(self.lower[k])
        elif signed < 0:
            end = float(self.upper[k])
        else:
            low, high = float(self.lower[k]), float(self.upper[k])
            if not (math.isfinite(low) and math.isfinite(high)):
                return None
            return (signed * ball(low)).min(signed * ball(high))
        return signed * ball(end) if math.isfinite(end) else None

    def _end(self, row: Row, offset: Ball, sign: int) -> Ball | None:
        """Return the lower bound of a row for sign = 1, the upper bound for -1; None if it is infinite."""
        total = sign * offset
        for k, coefficient in row.items():
            term = self.smallest_term(coefficient, k, sign)
            if term is None:
                return None
            total = total + term
        return sign * total


class RowBounds(ABC):
    """Rows, and bounds of their values.

    Attributes
    ----------
    bounds
        The bounds of each row. They may be replaced.
    """

    bounds: list[Bounds]

    @abstractmethod
    def improve(self, box: Box) -> None:
        """Tighten the bounds of the rows by those of the unknowns."""

    @abstractmethod
    def use(self, box: Box) -> bool:
        """Tighten the bounds of the unknowns by those of the rows; return whether one is much tighter."""

    @abstractmethod
    def is_violated(self) -> bool:
        """Return whether a row without unknowns certainly violates its bounds."""

    @abstractmethod
    def items(self) -> Iterator[BoundedRow]:
        """Yield the rows with their bounds."""

    def __len__(self) -> int:
        return len(self.bounds)


class BallRowBounds(RowBounds):
    """Rows whose coefficients are balls.

    Parameters
    ----------
    rows, offsets
        The rows.
    bounds
        The bounds of each.
    """

    def __init__(self, rows: Sequence[Row], offsets: Sequence[Ball], bounds: Sequence[Bounds]) -> None:
        self.bounds: list[Bounds] = list(bounds)
        self._pairs = list(zip(rows, offsets, strict=True))

    def improve(self, box: Box) -> None:
        self.bounds = [
            intersection(bounds, box.row_bounds(row, offset))
            for (row, offset), bounds in zip(self._pairs, self.bounds, strict=True)
        ]

    def use(self, box: Box) -> bool:
        improved = False
        for (row, offset), (low, high) in zip(self._pairs, self.bounds, strict=True):
            if math.isfinite(high):
                improved |= _use_side(box, row, offset - ball(high), 1)
            if math.isfinite(low):
                improved |= _use_side(box, row, offset - ball(low), -1)
            if low > high:
                box.is_empty = True
        return improved

    def is_violated(self) -> bool:
        return any(
            (math.isfinite(low) and offset < ball(low)) or (math.isfinite(high) and offset > ball(high))
            for (row, offset), (low, high) in zip(self._pairs, self.bounds, strict=True)
            if not row
        )

    def items(self) -> Iterator[BoundedRow]:
        for (row, offset), bounds in zip(self._pairs, self.bounds, strict=True):
            yield BoundedRow(row, offset, bounds)


def _use_side(box: Box, row: Row, offset: Ball, sign: int) -> bool:
    """Improve bounds by sign (<row, z> + offset) <= 0."""
    terms: dict[int, Ball] = {}
    missing: int | None = None
    for k, coefficient in row.items():
        end = box.smallest_term(coefficient, k, sign)
        if end is None:
            if missing is not None:
                return False
            missing = k
        else:
            terms[k] = end
    if not row:
        return False
    total = sign * offset + sum(terms.values(), ZERO)
    improved = False
    for k in row if missing is None else (missing,):
        coefficient = sign * row[k]
        if not (coefficient > 0 or coefficient < 0):
            continue
        # Only an unbounded side, or one that may become much tighter, is worth a division.
        bound = -(total - terms.get(k, ZERO)) / coefficient
        if coefficient > 0:
            improved |= box.tighten(k, -math.inf, round_up(bound))
        else:
            improved |= box.tighten(k, round_down(bound), math.inf)
    return improved


class FloatRowBounds(RowBounds):
    """Rows whose coefficients are floats with radii.

    Parameters
    ----------
    block
        The rows.
    bounds
        The bounds of each.
    """

    def __init__(self, block: FloatRowBlock, bounds: Sequence[Bounds]) -> None:
        self.bounds: list[Bounds] = list(bounds)
        self._block = block
        pointers = block.floats.indptr
        marks = np.searchsorted(pointers, np.arange(CHUNK_SIZE, pointers[-1] + 1, CHUNK_SIZE))
        starts = np.unique(np.concatenate([[0], marks, [len(block)]])).tolist()
        self._parts = [slice(start, stop) for start, stop in itertools.pairwise(starts)]

    def improve(self, box: Box) -> None:
        if not self.bounds:
            return
        low, high = (np.array(side, dtype=float) for side in zip(*self.bounds, strict=True))
        for part in self._parts:
            for sign, ends, choose in ((1.0, low, np.fmax), (-1.0, high, np.fmin)):
                terms = _Terms(self._block, part, box, sign)
                ends[part] = choose(ends[part], sign * terms.row_ends())
        self.bounds = list(zip(low.tolist(), high.tolist(), strict=True))

    def use(self, box: Box) -> bool:
        improved = False
        if not self.bounds:
            return False
        low, high = (np.array(side, dtype=float) for side in zip(*self.bounds, strict=True))
        box.is_empty |= bool((low > high).any())
        for part in self._parts:
            for sign, ends in ((1.0, high), (-1.0, -low)):
                if np.isfinite(ends[part]).any():
                    improved |= _Terms(self._block, part, box, sign).use(box, ends[part])
        return improved

    def is_violated(self) -> bool:
        if not self.bounds:
            return False
        low, high = (np.array(side, dtype=float) for side in zip(*self.bounds, strict=True))
        block = self._block
        is_constant = entry_counts(block.floats) == 0
        if block.radius is not None:
            is_constant &= entry_counts(block.radius) == 0
        first = np.nextafter(block.float_offsets - block.float_offset_radii, -np.inf)
        last = np.nextafter(block.float_offsets + block.float_offset_radii, np.inf)
        is_exact = block.float_offset_radii == 0
        first, last = (np.where(is_exact, block.float_offsets, end) for end in (first, last))
        return bool((is_constant & ((first > high) | (last < low))).any())

    def items(self) -> Iterator[BoundedRow]:
        for row, offset, bounds in zip(self._block.rows, self._block.offsets, self.bounds, strict=True):
            yield BoundedRow(row, offset, bounds)


class _Terms:
    """The smallest values of the terms of sign * (A z + b) over a box, in some rows.

    Parameters
    ----------
    block
        All rows.
    part
        The rows to be used.
    box
        The bounds of z.
    sign
        1 or -1.
    """

    def __init__(self, block: FloatRowBlock, part: slice, box: Box, sign: float) -> None:
        matrix = block.floats
        pointers = matrix.indptr[part.start : part.stop + 1]
        entries = slice(int(pointers[0]), int(pointers[-1]))
        self.columns = matrix.indices[entries]
        self.coefficients = sign * matrix.data[entries]
        self.counts = np.diff(pointers)
        self.places = np.repeat(np.arange(len(self.counts)), self.counts)
        self.radii = block.aligned_radii[entries] if block.radius is not None else np.zeros(len(self.columns))
        self.offsets = sign * block.float_offsets[part]
        n_rows = len(self.counts)
        lower, upper = box.lower[self.columns], box.upper[self.columns]
        with np.errstate(all="ignore"):
            terms = self.coefficients * np.where(self.coefficients > 0, lower, upper)
            sizes = np.maximum(np.abs(lower), np.abs(upper))
            spread = np.where(self.radii > 0, self.radii * sizes, 0.0)
            self.is_infinite = ~(np.isfinite(terms) & np.isfinite(spread))
            self.terms = np.where(self.is_infinite, 0.0, terms)
            spread = np.where(self.is_infinite, 0.0, spread)
            self.n_infinite = self._sums(self.is_infinite)
            self.sums = self._sums(self.terms)
            self.sizes = self._sums(np.abs(self.terms)) + np.abs(self.offsets)
            extra = self._sums(spread) + block.float_offset_radii[part]
            if block.stray_radius is not None:
                all_sizes = np.maximum(np.abs(box.lower), np.abs(box.upper))
                stray = np.asarray(block.stray_radius[part] @ np.where(np.isfinite(all_sizes), all_sizes, 0.0))
                extra = extra + stray + 4 * SMALLEST * (stray > 0)
                self.n_infinite = self.n_infinite + 2 * np.asarray(block.stray_radius[part] @ ~np.isfinite(all_sizes))
            counts = self.counts + 4.0
            self.errors = (2.0 * gamma(counts) * self.sizes + extra) * INFLATION + 8.0 * counts * SMALLEST
        self.n_rows = n_rows

    def row_ends(self) -> Float[Array, " m"]:
        """Return floats that the rows are not below."""
        with np.errstate(all="ignore"):
            ends = np.nextafter(self.sums + self.offsets - self.errors, -np.inf)
        return np.where((self.n_infinite == 0) & np.isfinite(ends), ends, -np.inf)

    def use(self, box: Box, limits: Float[Array, " m"]) -> bool:
        """Tighten bounds of z by the upper bounds of the rows; return whether one is much tighter."""
        sizes = np.abs(self.coefficients)
        # The sum of the other terms is known if none of them is infinite.
        is_known = np.isfinite(limits)[self.places] & (self.n_infinite[self.places] == self.is_infinite)
        selected = np.flatnonzero(is_known & (sizes > self.radii))
        if not len(selected):
            return False
        places, radii = self.places[selected], self.radii[selected]
        with np.errstate(all="ignore"):
            ends = limits - self.offsets
            rest = self.sums[places] - self.terms[selected]
            # Each of the three differences has a rounding of its own.
            errors = self.errors + 4 * UNIT * (np.abs(limits) + self.sizes)
            room = ends[places] - rest + errors[places] * INFLATION
            room = np.nextafter(np.nextafter(room, np.inf), np.inf)
            smallest, largest = sizes[selected], sizes[selected]
            if radii.any():
                smallest = np.where(radii > 0, np.nextafter(smallest - radii, 0.0), smallest)
                largest = np.where(radii > 0, np.nextafter(largest + radii, np.inf), largest)
            bounds = np.nextafter(room / np.where(room >= 0, smallest, largest), np.inf)
        bounds = np.where(np.isnan(bounds), np.inf, bounds)
        low, high = np.full(len(box.lower), -np.inf), np.full(len(box.upper), np.inf)
        is_upper = self.coefficients[selected] > 0
        columns = self.columns[selected]
        np.minimum.at(high, columns[is_upper], bounds[is_upper])
        np.maximum.at(low, columns[~is_upper], -bounds[~is_upper])
        return box.tighten_all(low, high)

    def _sums(self, values: Array) -> Float[Array, " m"]:
        """Return the sums of each row."""
        sums = np.bincount(self.places, weights=values, minlength=len(self.counts))
        return sums.astype(np.float64, copy=False)  # without entries, NumPy returns whole numbers


def bounded_rows(block: RowBlock, bounds: Sequence[Bounds]) -> RowBounds:
    """Return rows with bounds."""
    if isinstance(block, FloatRowBlock):
        return FloatRowBounds(block, bounds)
    return BallRowBounds(block.rows, block.offsets, bounds)
