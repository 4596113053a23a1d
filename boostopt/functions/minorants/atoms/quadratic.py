"""Squares: sums of squares over a number, and quadratic forms whose matrices are proved to be semidefinite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import SMALLEST, Interval, exact_interval
from boostopt.functions.minorants.atoms.base import AtomRule, Columnwise
from boostopt.functions.minorants.interval_sums import (
    INFLATION,
    UNIT,
    column_sums,
    gamma,
    interval,
    reciprocal,
    size,
)

MAX_SHIFTS = 40
"""Tries to make a matrix positive definite, each with four times the shift."""


class SquaresOverNumber(Columnwise):
    """sum of x^2 over y, for each column of x; homogeneous."""

    sign = 1

    def __init__(self, k: int) -> None:
        self.k = k

    def values(self, arguments: Sequence[Interval]) -> Interval:
        y = arguments[1]
        made = column_sums(_squares(self.columns(arguments[0]))) * reciprocal(y)
        low, high = np.maximum(np.where(y.upper > 0.0, made.lower, -np.inf), 0.0), made.upper
        return Interval(low, np.where(y.lower > 0.0, high, np.inf))

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v, y = points[0].reshape((self.k, -1), order="F"), points[1]
        if not ((y > 0.0) & np.isfinite(y)).all() or not np.isfinite(v).all():
            return None
        ratio = exact_interval(v) * _broadcast_rows(reciprocal(exact_interval(y)), v.shape)
        slopes = self.flatten(_broadcast_rows(mu, v.shape) * ratio * exact_interval(np.full(v.shape, 2.0)))
        of_y = mu * -column_sums(_squares(ratio))
        if (v == 0.0).all():
            of_y = exact_interval(np.zeros(len(of_y.lower)))
        return [slopes, of_y], 0.0


def _squares(x: Interval) -> Interval:
    sizes = x.absolute
    return sizes * sizes


def _broadcast_rows(x: Interval, shape: tuple[int, ...]) -> Interval:
    return Interval(np.broadcast_to(x.lower, shape), np.broadcast_to(x.upper, shape))


class QuadraticForm(AtomRule):
    """x'Px for a constant matrix with a sign.

    Parameters
    ----------
    P
        The matrix, shape (n, n), up to its rounding.

    Attributes
    ----------
    sign
        1 where sign P plus a small multiple of the unit matrix is proved to be positive semidefinite, -1 likewise; 0
        where neither is.
    shift
        That multiple: 0 for a matrix that is definite enough.
    """

    def __init__(self, P: Interval) -> None:
        with np.errstate(all="ignore"):
            center = np.where(P.lower == P.upper, P.lower, 0.5 * P.lower + 0.5 * P.upper)
            self.P: Float[Array, "n n"] = 0.5 * (center + center.T)
            # By how much an entry of the symmetric part may be off.
            spread = np.maximum(P.upper - center, center - P.lower)
            spread = 0.5 * (spread + spread.T) + np.where(center == center.T, 0.0, 2.0 * UNIT * np.abs(self.P))
        self.spread: Float[Array, "n n"] | None = None if not spread.any() else spread * INFLATION
        self.sign: int = 0
        self.shift: float = np.inf
        for sign in (1, -1):
            shift = _semidefinite_shift(sign * self.P) if np.isfinite(self.P).all() else np.inf
            if np.isfinite(shift):
                of_spread = 0.0 if self.spread is None else float(np.linalg.norm(self.spread)) * INFLATION
                self.sign, self.shift = sign, (shift + of_spread) * INFLATION
                break

    def values(self, arguments: Sequence[Interval]) -> Interval:
        (x,) = arguments
        n = len(x.lower)
        with np.errstate(all="ignore"):
            m = 0.5 * x.lower + 0.5 * x.upper
            r = np.maximum(x.upper - m, m - x.lower) * INFLATION
            sizes, absolutes = np.abs(m), np.abs(self.P)
            Pm, spread = self.P @ m, absolutes @ sizes
            value = float(m @ Pm)
            lost = 2.0 * float(np.abs(Pm) @ r) + float(r @ (absolutes @ r))
            lost += float(gamma(2.0 * n + 4.0)) * float((sizes + 2.0 * r) @ spread) + n * n * SMALLEST
            if self.spread is not None:
                lost += float(size(x) @ (self.spread @ size(x)))
        made = interval(np.array([value]), np.array([value]), np.array([lost]))
        if self.sign > 0 and self.shift == 0.0:
            return Interval(np.maximum(made.lower, 0.0), made.upper)
        return made

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        (v,) = points
        if self.sign == 0 or not np.isfinite(v).all():
            return None
        n = len(v)
        with np.errstate(all="ignore"):
            Pv, sizes = self.P @ v, np.abs(self.P) @ np.abs(v)
            lost = float(gamma(n + 2.0)) * sizes + n * SMALLEST
            if self.spread is not None:
                lost = lost + self.spread @ np.abs(v)
        slopes = interval(Pv, Pv, lost)
        offset = -(self.values([exact_interval(v)]) * mu)
        twice = slopes * exact_interval(np.full(n, 2.0))
        return [_broadcast_rows(mu, v.shape) * twice], float(offset.lower[0])


def _semidefinite_shift(P: Float[Array, "n n"]) -> float:
    """Return s >= 0 for which P + s I is proved to be positive semidefinite, inf where P is far from it.

    A Cholesky factorization in floats that ends proves it of the matrix plus c I, where c = gamma / (1 - gamma) times
    the trace bounds what it loses [Rump 2006, lemma 2.4 of Verification of positive definiteness].
    """
    n = len(P)
    trace = float(np.trace(P))
    if trace < 0.0 or ((np.diag(P) < 0.0).any() and trace <= 0.0):
        return np.inf
    lost = 2.0 * float(gamma(n + 3.0)) * trace * INFLATION + n * n * 4.0 * SMALLEST
    if not P.any():
        return 0.0
    if _has_cholesky_factor(P - np.diag(np.full(n, 2.0 * lost))):
        return 0.0
    if trace <= 0.0:
        return np.inf
    added = lost
    for _ in range(MAX_SHIFTS):
        if added > 1e-6 * trace:
            return np.inf
        # The diagonal is rounded once more, and the trace has grown.
        if _has_cholesky_factor(P + np.diag(np.full(n, added))):
            return (2.0 * added + 2.0 * lost * (1.0 + n * added / trace)) * INFLATION
        added *= 4.0
    return np.inf


def _has_cholesky_factor(P: Float[Array, "n n"]) -> bool:
    try:
        return bool(np.isfinite(np.linalg.cholesky(P)).all())
    except np.linalg.LinAlgError:
        return False
