"""Number types with rigorous rounding errors, in which bounds are recomputed.

The formulas of a pair (F, G) are written once, over vectors of any `NumberType`. `FloatBalls` computes with float64 and
a bound of the error of each number, which holds for any order of the operations: a running error analysis [Higham 2002,
section 3.3]. Exact types are in `exact_numbers`. This module needs NumPy only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

OPERATION_ERROR = 2.3e-16
"""A little more than twice the unit roundoff: the relative error of one operation and of its error bound."""

ELEMENTARY_FUNCTION_ERROR = 4.0 * OPERATION_ERROR
"""Relative error of a logarithm or an exponential: four units in the last place."""

UNDERFLOW_ERROR = 1e-300
"""The absolute error of an operation that underflows."""

ZERO_THRESHOLD = 1e-290
"""Weights below this count as 0: a smaller ball is the rounding error of an exact 0."""

BLOCK_ROWS = 500
"""The number of rows whose products NumPy sums; the sums of blocks are added exactly."""


class NumberType(ABC):
    """The operations of a number type that the formulas need; a vector is a value of `to_vector`."""

    exact: bool = False
    """True if proofs must hold for the exact numbers, so that a sum of 1 has no tolerance."""

    def precision_context(self) -> AbstractContextManager[Any]:
        """Return the context manager of computations with this type."""
        return nullcontext()

    @abstractmethod
    def to_vector(self, x: np.ndarray) -> Any:
        """Return floats as numbers of this type, exactly."""

    @abstractmethod
    def to_number(self, x: float) -> Any:
        """Return one float as a number, exactly."""

    @abstractmethod
    def log(self, x: Any) -> Any:
        """Return the logarithm of a vector of positive numbers."""

    @abstractmethod
    def exp(self, x: Any) -> Any:
        """Return the exponential of a vector."""

    @abstractmethod
    def positive(self, x: Any) -> Any:
        """Return max(x, 0), entry by entry."""

    def absolute(self, x: Any) -> Any:
        """Return |x|, entry by entry."""
        return self.positive(x) + self.positive(-x)

    @abstractmethod
    def interval_around_zero(self, radius: np.ndarray) -> Any:
        """Return unknown numbers in [-radius, radius]; they are exact if the radius is 0."""

    @abstractmethod
    def stack(self, numbers: Sequence[Any]) -> Any:
        """Return numbers as a vector."""

    @abstractmethod
    def select(self, mask: np.ndarray, x: Any, y: Any) -> Any:
        """Return the entries of x where the mask is set, and the entries of y elsewhere."""

    @abstractmethod
    def total(self, x: Any) -> Any:
        """Return the sum of a vector."""

    @abstractmethod
    def largest(self, x: Any) -> Any:
        """Return the largest entry of a vector."""

    @abstractmethod
    def edges(self, U: Any, d: Any) -> Any:
        """Return U'd."""

    @abstractmethod
    def margins(self, U: Any, w: Any) -> Any:
        """Return U w."""

    @abstractmethod
    def capped_difference(self, c: np.ndarray, nu: float, d0: np.ndarray) -> Any:
        """Return c - nu d0, computed exactly and rounded once, because the terms cancel near a cap."""

    @abstractmethod
    def is_certainly_nonnegative(self, x: Any) -> bool:
        """Return whether a number is certainly at least 0."""

    @abstractmethod
    def lower(self, x: Any) -> Any:
        """Return floats that are lower bounds of x."""

    @abstractmethod
    def upper(self, x: Any) -> Any:
        """Return floats that are upper bounds of x."""


@dataclass(frozen=True, eq=False)
class Ball:
    """Numbers within a distance `rad` of `mid`: two arrays of one shape, or two floats."""

    mid: Any
    rad: Any

    __array_ufunc__ = None  # Ball.__rmul__ computes array * ball

    @classmethod
    def with_rounding(cls, mid: Any, rad: Any, errors: float = OPERATION_ERROR, tiny: float = UNDERFLOW_ERROR) -> Ball:
        """Return the ball of a computed number, with its rounding error added to the radius."""
        return cls(mid, rad * (1.0 + 8.0 * OPERATION_ERROR) + errors * np.abs(mid) + tiny)

    def __getitem__(self, index: Any) -> Ball:
        return Ball(self.mid[index], self.rad[index])

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    def __add__(self, y: Any) -> Ball:
        y = _to_ball(y)
        return Ball.with_rounding(self.mid + y.mid, self.rad + y.rad, tiny=0.0)  # sums do not underflow

    def __sub__(self, y: Any) -> Ball:
        return self + -_to_ball(y)

    def __mul__(self, y: Any) -> Ball:
        y = _to_ball(y)
        # One product for both terms of self.rad, because inf * 0 would be nan.
        rad = np.abs(self.mid) * y.rad + self.rad * (np.abs(y.mid) + y.rad)
        return Ball.with_rounding(self.mid * y.mid, rad)

    def __truediv__(self, y: Any) -> Ball:
        y = _to_ball(y)
        distance = np.abs(y.mid) - y.rad
        is_nonzero = distance > 0
        quotient = self.mid / np.where(is_nonzero, y.mid, 1.0)
        rad = (self.rad + np.abs(quotient) * y.rad) / np.where(is_nonzero, distance, 1.0)
        # The rounding error of the quotient is multiplied by |mid| / distance.
        errors = OPERATION_ERROR * np.abs(quotient) * np.abs(y.mid) / np.where(is_nonzero, distance, 1.0)
        return Ball.with_rounding(quotient, np.where(is_nonzero, rad + errors, np.inf))

    def __radd__(self, y: Any) -> Ball:
        return self + y

    def __rmul__(self, y: Any) -> Ball:
        return self * y

    def __rsub__(self, y: Any) -> Ball:
        return _to_ball(y) - self

    def __rtruediv__(self, y: Any) -> Ball:
        return _to_ball(y) / self


def _to_ball(x: Any) -> Ball:
    """Return a ball unchanged, and floats as balls of radius 0."""
    return x if isinstance(x, Ball) else Ball(x, np.zeros(np.shape(x)))


class FloatBalls(NumberType):
    """float64 numbers with a running error bound."""

    def to_vector(self, x: np.ndarray) -> Any:
        return _to_ball(np.asarray(x, dtype=np.float64))

    def to_number(self, x: float) -> Any:
        return Ball(float(x), 0.0)

    def log(self, x: Any) -> Any:
        # The relative error includes its own rounding, because the logarithm of 1 - relative_error is steep near 1.
        relative_error = np.where(
            x.mid > x.rad, x.rad / np.where(x.mid > 0, x.mid, 1.0) * (1.0 + 2.0 * OPERATION_ERROR), 1.0
        )
        logarithm = np.log(np.where(x.mid > 0, x.mid, 1.0))
        return Ball.with_rounding(
            logarithm, np.where(relative_error < 1.0, -np.log1p(-relative_error), np.inf), ELEMENTARY_FUNCTION_ERROR
        )

    def exp(self, x: Any) -> Any:
        exponential = np.exp(x.mid)
        # If the midpoint underflows, its multiple is no bound.
        rad = np.where(exponential > UNDERFLOW_ERROR, exponential * np.expm1(x.rad), np.exp(self.upper(x)))
        return Ball.with_rounding(exponential, rad, ELEMENTARY_FUNCTION_ERROR)

    def positive(self, x: Any) -> Any:
        return Ball(np.maximum(x.mid, 0.0), x.rad)

    def interval_around_zero(self, radius: np.ndarray) -> Any:
        return Ball(np.zeros_like(radius), radius)

    def select(self, mask: np.ndarray, x: Any, y: Any) -> Any:
        x, y = _to_ball(x), _to_ball(y)
        return Ball(np.where(mask, x.mid, y.mid), np.where(mask, x.rad, y.rad))

    def total(self, x: Any) -> Any:
        if not (np.isfinite(x.mid).all() and np.isfinite(x.rad).all()):
            return Ball(0.0, math.inf)
        try:
            return Ball.with_rounding(math.fsum(x.mid.tolist()), math.fsum(x.rad.tolist()), tiny=0.0)
        except OverflowError:
            return Ball(0.0, math.inf)

    def largest(self, x: Any) -> Any:
        return Ball(float(x.mid.max()), float(x.rad.max()))

    def edges(self, U: Any, d: Any) -> Any:
        """Return U'd: a sum over a block of n rows has at most n rounding errors."""
        size = np.abs(d.mid)
        sums, errors = list[np.ndarray](), list[np.ndarray]()
        for start in range(0, U.shape[0], BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            block = dense_rows(U, rows)
            sums.append(block.T @ d.mid[rows])
            errors.append(np.abs(block).T @ (d.rad[rows] + (len(block) + 2) * OPERATION_ERROR * size[rows]))
        mids, rads = np.array(sums), np.array(errors)
        rads = (
            rads * (1.0 + (BLOCK_ROWS + 2) * OPERATION_ERROR) + UNDERFLOW_ERROR
        )  # the error bounds are rounded sums, and products may underflow
        return self.stack([self.total(Ball(mids[:, q], rads[:, q])) for q in range(mids.shape[1])])

    def margins(self, U: Any, w: Any) -> Any:
        N, t = U.shape
        m, errors, entry_errors = np.empty(N), np.empty(N), w.rad + (t + 2) * OPERATION_ERROR * np.abs(w.mid)
        for start in range(0, N, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            block = dense_rows(U, rows)
            m[rows], errors[rows] = block @ w.mid, np.abs(block) @ entry_errors
        # The error bounds are sums with t rounding errors.
        return Ball.with_rounding(m, errors * (1.0 + (t + 2) * OPERATION_ERROR))

    def stack(self, numbers: Sequence[Any]) -> Any:
        return Ball(np.array([x.mid for x in numbers]), np.array([x.rad for x in numbers]))

    def capped_difference(self, c: np.ndarray, nu: float, d0: np.ndarray) -> Any:
        exact = [float(Fraction(a) - Fraction(nu) * Fraction(b)) for a, b in zip(c.tolist(), d0.tolist(), strict=True)]
        return Ball.with_rounding(np.array(exact), np.zeros(len(c)))

    def is_certainly_nonnegative(self, x: Any) -> bool:
        return bool(x.mid >= x.rad)

    def lower(self, x: Any) -> Any:
        return np.nextafter(x.mid - x.rad, -np.inf)

    def upper(self, x: Any) -> Any:
        return np.nextafter(x.mid + x.rad, np.inf)


def dense_rows(U: Any, rows: slice) -> np.ndarray:
    """Return rows of a dense or sparse matrix as a dense float64 array."""
    block = U[rows]
    return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)
