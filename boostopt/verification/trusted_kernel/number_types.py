"""Numbers that know their rounding: the arithmetic in which bounds are recomputed.

The formulas of a pair (F, G) are written once, over vectors of any number type that `NumberType` describes. `FloatBalls`
computes with float64 and carries beside every number a bound of its error, whatever the order of the operations was:
a running error analysis [Higham 2002, section 3.3]. Exact types are in `exact`. Nothing but NumPy is needed here.
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
"""Twice the unit roundoff, and a little: what one operation loses, and the rounding of its own bound."""

ELEMENTARY_FUNCTION_ERROR = 4.0 * OPERATION_ERROR
"""Relative error of a logarithm or an exponential: four units in the last place."""

UNDERFLOW_ERROR = 1e-300
"""The loss where numbers are smaller than the smallest normal one."""

ZERO_THRESHOLD = 1e-290
"""Weights below it count as 0: what a ball says to be smaller is the rounding of an exact 0."""

BLOCK_ROWS = 500
"""Rows whose products are summed by NumPy; the sums of the blocks are added exactly."""


class NumberType(ABC):
    """The operations that the formulas need of a number type; a vector is whatever `to_vector` returns."""

    exact: bool = False
    """Whether what is proved must hold for the numbers as they stand, no sum being 1 but for rounding."""

    def precision_context(self) -> AbstractContextManager[Any]:
        """Return what must be entered while numbers of this type are computed with."""
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
        """Return numbers of which only is known that they lie in [-radius, radius]; exact where the radius is 0."""

    @abstractmethod
    def stack(self, numbers: Sequence[Any]) -> Any:
        """Return numbers as a vector."""

    @abstractmethod
    def where(self, where: np.ndarray, these: Any, those: Any) -> Any:
        """Return these where the mask is set, those elsewhere."""

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
        """Return c - nu d0 with all its digits: near a cap the two cancel."""

    @abstractmethod
    def is_certainly_nonnegative(self, x: Any) -> bool:
        """Whether one number is certainly at least 0."""

    @abstractmethod
    def lower(self, x: Any) -> Any:
        """Return floats that are certainly not above x."""

    @abstractmethod
    def upper(self, x: Any) -> Any:
        """Return floats that are certainly not below x."""


@dataclass(frozen=True, eq=False)
class Ball:
    """Numbers of which is known that they lie within `rad` of `mid`: arrays of one shape, or two floats."""

    mid: Any
    rad: Any

    __array_ufunc__ = None  # array * ball is a ball's business

    @classmethod
    def rounded(cls, mid: Any, rad: Any, lost: float = OPERATION_ERROR, tiny: float = UNDERFLOW_ERROR) -> Ball:
        """Return what an operation gave, with what it has lost."""
        return cls(mid, rad * (1.0 + 8.0 * OPERATION_ERROR) + lost * np.abs(mid) + tiny)

    def __getitem__(self, at: Any) -> Ball:
        return Ball(self.mid[at], self.rad[at])

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    def __add__(self, other: Any) -> Ball:
        other = _to_ball(other)
        return Ball.rounded(self.mid + other.mid, self.rad + other.rad, tiny=0.0)  # sums do not underflow

    def __sub__(self, other: Any) -> Ball:
        return self + -_to_ball(other)

    def __mul__(self, other: Any) -> Ball:
        other = _to_ball(other)
        # One product for both terms of self.rad: where nothing is known, inf * 0 would be NaN.
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad)
        return Ball.rounded(self.mid * other.mid, rad)

    def __truediv__(self, other: Any) -> Ball:
        other = _to_ball(other)
        distance = np.abs(other.mid) - other.rad
        away = distance > 0
        quotient = self.mid / np.where(away, other.mid, 1.0)
        rad = (self.rad + np.abs(quotient) * other.rad) / np.where(away, distance, 1.0)
        # The quotient's own rounding is multiplied by |mid| / distance.
        lost = OPERATION_ERROR * np.abs(quotient) * np.abs(other.mid) / np.where(away, distance, 1.0)
        return Ball.rounded(quotient, np.where(away, rad + lost, np.inf))

    def __radd__(self, other: Any) -> Ball:
        return self + other

    def __rmul__(self, other: Any) -> Ball:
        return self * other

    def __rsub__(self, other: Any) -> Ball:
        return _to_ball(other) - self

    def __rtruediv__(self, other: Any) -> Ball:
        return _to_ball(other) / self


def _to_ball(x: Any) -> Ball:
    """Return a ball as it is, floats as balls without a radius."""
    return x if isinstance(x, Ball) else Ball(x, np.zeros(np.shape(x)))


class FloatBalls(NumberType):
    """float64 with a running bound of its error."""

    def to_vector(self, x: np.ndarray) -> Any:
        return _to_ball(np.asarray(x, dtype=np.float64))

    def to_number(self, x: float) -> Any:
        return Ball(float(x), 0.0)

    def log(self, x: Any) -> Any:
        # Widened by what it has lost itself: near 1 the logarithm of 1 - share is steep.
        share = np.where(x.mid > x.rad, x.rad / np.where(x.mid > 0, x.mid, 1.0) * (1.0 + 2.0 * OPERATION_ERROR), 1.0)
        logarithm = np.log(np.where(x.mid > 0, x.mid, 1.0))
        return Ball.rounded(logarithm, np.where(share < 1.0, -np.log1p(-share), np.inf), ELEMENTARY_FUNCTION_ERROR)

    def exp(self, x: Any) -> Any:
        exponential = np.exp(x.mid)
        # Where the middle underflows, its multiple says nothing of the upper end.
        rad = np.where(exponential > UNDERFLOW_ERROR, exponential * np.expm1(x.rad), np.exp(self.upper(x)))
        return Ball.rounded(exponential, rad, ELEMENTARY_FUNCTION_ERROR)

    def positive(self, x: Any) -> Any:
        return Ball(np.maximum(x.mid, 0.0), x.rad)

    def interval_around_zero(self, radius: np.ndarray) -> Any:
        return Ball(np.zeros_like(radius), radius)

    def where(self, where: np.ndarray, these: Any, those: Any) -> Any:
        these, those = _to_ball(these), _to_ball(those)
        return Ball(np.where(where, these.mid, those.mid), np.where(where, these.rad, those.rad))

    def total(self, x: Any) -> Any:
        if not (np.isfinite(x.mid).all() and np.isfinite(x.rad).all()):
            return Ball(0.0, math.inf)
        try:
            return Ball.rounded(math.fsum(x.mid.tolist()), math.fsum(x.rad.tolist()), tiny=0.0)
        except OverflowError:
            return Ball(0.0, math.inf)

    def largest(self, x: Any) -> Any:
        return Ball(float(x.mid.max()), float(x.rad.max()))

    def edges(self, U: Any, d: Any) -> Any:
        """Return U'd: the products of a block of n rows lose at most n roundings."""
        size = np.abs(d.mid)
        sums, lost = list[np.ndarray](), list[np.ndarray]()
        for start in range(0, U.shape[0], BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            block = dense_rows(U, rows)
            sums.append(block.T @ d.mid[rows])
            lost.append(np.abs(block).T @ (d.rad[rows] + (len(block) + 2) * OPERATION_ERROR * size[rows]))
        mids, rads = np.array(sums), np.array(lost)
        rads = (
            rads * (1.0 + (BLOCK_ROWS + 2) * OPERATION_ERROR) + UNDERFLOW_ERROR
        )  # sums themselves, of products that may underflow
        return self.stack([self.total(Ball(mids[:, q], rads[:, q])) for q in range(mids.shape[1])])

    def margins(self, U: Any, w: Any) -> Any:
        N, t = U.shape
        m, lost, each = np.empty(N), np.empty(N), w.rad + (t + 2) * OPERATION_ERROR * np.abs(w.mid)
        for start in range(0, N, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            block = dense_rows(U, rows)
            m[rows], lost[rows] = block @ w.mid, np.abs(block) @ each
        # The sizes are sums of t roundings themselves.
        return Ball.rounded(m, lost * (1.0 + (t + 2) * OPERATION_ERROR))

    def stack(self, numbers: Sequence[Any]) -> Any:
        return Ball(np.array([x.mid for x in numbers]), np.array([x.rad for x in numbers]))

    def capped_difference(self, c: np.ndarray, nu: float, d0: np.ndarray) -> Any:
        exact = [float(Fraction(a) - Fraction(nu) * Fraction(b)) for a, b in zip(c.tolist(), d0.tolist(), strict=True)]
        return Ball.rounded(np.array(exact), np.zeros(len(c)))

    def is_certainly_nonnegative(self, x: Any) -> bool:
        return bool(x.mid >= x.rad)

    def lower(self, x: Any) -> Any:
        return np.nextafter(x.mid - x.rad, -np.inf)

    def upper(self, x: Any) -> Any:
        return np.nextafter(x.mid + x.rad, np.inf)


def dense_rows(U: Any, rows: slice) -> np.ndarray:
    """Return rows of a matrix as float64; sparse ones know `toarray`."""
    block = U[rows]
    return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)
