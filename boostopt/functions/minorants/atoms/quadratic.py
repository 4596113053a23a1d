"""Sums of squares over a number, and quadratic forms with matrices that are proved to be semidefinite."""

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
"""Maximum number of shifts that are tried to make a matrix positive definite, each four times the previous one."""


class SquaresOverNumber(Columnwise):
    """The sum of x^2 over y, for each column of x. Homogeneous."""

    sign = 1

    def __init__(self, k: int) -> None:
        self.k = k

    def values(self, arguments: Sequence[Interval]) -> Interval:
        y = arguments[1]
        quotients = column_sums(_squares(self.columns(arguments[0]))) * reciprocal(y)
        low, high = np.maximum(np.where(y.upper > 0.0, quotients.lower, -np.inf), 0.0), quotients.upper
        return Interval(low, np.where(y.lower > 0.0, high, np.inf))

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v, y = points[0].reshape((self.k, -1), order="F"), points[1]
        if not ((y > 0.0) & np.isfinite(y)).all() or not np.isfinite(v).all():
            return None
        ratio = exact_interval(v) * _broadcast_rows(reciprocal(exact_interval(y)), v.shape)
        slopes = self.flatten(_broadcast_rows(mu, v.shape) * ratio * exact_interval(np.full(v.shape, 2.0)))
        y_slopes = mu * -column_sums(_squares(ratio))
        if (v == 0.0).all():
            y_slopes = exact_interval(np.zeros(len(y_slopes.lower)))
        return [slopes, y_slopes], 0.0


def _squares(x: Interval) -> Interval:
    """Return x^2 for intervals x."""
    sizes = x.absolute
    return sizes * sizes


def _broadcast_rows(x: Interval, shape: tuple[int, ...]) -> Interval:
    """Return intervals, broadcast to a shape."""
    return Interval(np.broadcast_to(x.lower, shape), np.broadcast_to(x.upper, shape))


class QuadraticForm(AtomRule):
    """x'Px for a constant positive or negative semidefinite matrix P.

    Parameters
    ----------
    P
        The matrix, shape (n, n), as intervals.

    Attributes
    ----------
    sign
        The sign, 1 or -1, for which sign P + shift I is proved to be positive semidefinite; 0 if there is none.
    shift
        A small number, at least 0; 0 for a matrix that is definite enough.
    """

    def __init__(self, P: Interval) -> None:
        with np.errstate(all="ignore"):
            center = np.where(P.lower == P.upper, P.lower, 0.5 * P.lower + 0.5 * P.upper)
            self.P: Float[Array, "n n"] = 0.5 * (center + center.T)
            # The radii of the entries of the symmetric part.
            spread = np.maximum(P.upper - center, center - P.lower)
            spread = 0.5 * (spread + spread.T) + np.where(center == center.T, 0.0, 2.0 * UNIT * np.abs(self.P))
        self.spread: Float[Array, "n n"] | None = None if not spread.any() else spread * INFLATION
        self.sign: int = 0
        self.shift: float = np.inf
        for sign in (1, -1):
            shift = _semidefinite_shift(sign * self.P) if np.isfinite(self.P).all() else np.inf
            if np.isfinite(shift):
                spread_norm = 0.0 if self.spread is None else float(np.linalg.norm(self.spread)) * INFLATION
                self.sign, self.shift = sign, (shift + spread_norm) * INFLATION
                break

    def values(self, arguments: Sequence[Interval]) -> Interval:
        (x,) = arguments
        n = len(x.lower)
        with np.errstate(all="ignore"):
            center = 0.5 * x.lower + 0.5 * x.upper
            radius = np.maximum(x.upper - center, center - x.lower) * INFLATION
            sizes, absolutes = np.abs(center), np.abs(self.P)
            P_center, size_products = self.P @ center, absolutes @ sizes
            value = float(center @ P_center)
            error = 2.0 * float(np.abs(P_center) @ radius) + float(radius @ (absolutes @ radius))
            error += float(gamma(2.0 * n + 4.0)) * float((sizes + 2.0 * radius) @ size_products) + n * n * SMALLEST
            if self.spread is not None:
                error += float(size(x) @ (self.spread @ size(x)))
        enclosure = interval(np.array([value]), np.array([value]), np.array([error]))
        if self.sign > 0 and self.shift == 0.0:
            return Interval(np.maximum(enclosure.lower, 0.0), enclosure.upper)
        return enclosure

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        (v,) = points
        if self.sign == 0 or not np.isfinite(v).all():
            return None
        n = len(v)
        with np.errstate(all="ignore"):
            Pv, size_products = self.P @ v, np.abs(self.P) @ np.abs(v)
            error = float(gamma(n + 2.0)) * size_products + n * SMALLEST
            if self.spread is not None:
                error = error + self.spread @ np.abs(v)
        slopes = interval(Pv, Pv, error)
        offset = -(self.values([exact_interval(v)]) * mu)
        gradient = slopes * exact_interval(np.full(n, 2.0))
        return [_broadcast_rows(mu, v.shape) * gradient], float(offset.lower[0])


def _semidefinite_shift(P: Float[Array, "n n"]) -> float:
    """Return s >= 0 for which P + s I is proved to be positive semidefinite; inf if P is far from semidefinite.

    If the Cholesky factorization of P in floats succeeds, P + c I is positive semidefinite, where c is the trace times
    gamma / (1 - gamma) [Rump 2006, lemma 2.4 of Verification of positive definiteness].
    """
    n = len(P)
    trace = float(np.trace(P))
    if trace < 0.0 or ((np.diag(P) < 0.0).any() and trace <= 0.0):
        return np.inf
    factorization_error = 2.0 * float(gamma(n + 3.0)) * trace * INFLATION + n * n * 4.0 * SMALLEST
    if not P.any():
        return 0.0
    if _has_cholesky_factor(P - np.diag(np.full(n, 2.0 * factorization_error))):
        return 0.0
    if trace <= 0.0:
        return np.inf
    shift = factorization_error
    for _ in range(MAX_SHIFTS):
        if shift > 1e-6 * trace:
            return np.inf
        # The diagonal is rounded once more, and the trace is larger.
        if _has_cholesky_factor(P + np.diag(np.full(n, shift))):
            return (2.0 * shift + 2.0 * factorization_error * (1.0 + n * shift / trace)) * INFLATION
        shift *= 4.0
    return np.inf


def _has_cholesky_factor(P: Float[Array, "n n"]) -> bool:
    """Return whether the Cholesky factorization succeeds in floats."""
    try:
        return bool(np.isfinite(np.linalg.cholesky(P)).all())
    except np.linalg.LinAlgError:
        return False
