"""Weights as intervals that contain an exactly feasible point.

Floats that should sum to 1 miss it by some roundings, and caps c / nu are rounded. A value of F is an upper bound only
at a feasible point. So F is bounded on a small box that contains one.
"""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import UNIT, Interval, point
from boostopt.functions.minorants.interval_sums import total
from boostopt.functions.regularizers.capped_simplex import CappedSimplex


@runtime_checkable
class Enclosures(Protocol):
    """A sum over the examples whose values and slopes are known as intervals, shape (N,)."""

    @property
    def upper(self) -> Interval:
        """The exact caps."""
        ...

    def values(self, d: Interval) -> Interval:
        """Return f_n at weights in a box."""
        ...

    def slopes(self, d: Interval) -> Interval:
        """Return f_n' at weights in a box."""
        ...


def feasible_box(d: Float[Array, " N"], upper: Interval) -> Interval:
    """Return a box of weights near d that contains a point of the capped simplex, with the same sum of 1 exactly.

    One weight with room on both sides makes up for what the sum misses; where none has room, as next to the only point
    of the simplex, all of them may.

    Parameters
    ----------
    d
        Weights that are feasible up to rounding, shape (N,).
    upper
        The exact caps, shape (N,). They sum to at least 1.
    """
    x = np.clip(d, 0.0, upper.low)
    missing = math.fsum([1.0, *(-x).tolist()]) * (1.0 + UNIT)
    up, down = max(missing, 0.0), max(-missing, 0.0)
    room = np.minimum(upper.low - x - up, x - down)
    n = int(np.argmax(room))
    changed = np.arange(len(x)) == n if room[n] >= 0.0 else np.ones(len(x), dtype=bool)
    low, high = np.nextafter(x - down, -np.inf).clip(min=0.0), np.minimum(np.nextafter(x + up, np.inf), upper.high)
    return Interval(np.where(changed & (down > 0.0), low, x), np.where(changed & (up > 0.0), high, x))


def exact_caps(domain: CappedSimplex, rounded: Float[Array, " n"]) -> Interval:
    """Return intervals of caps of a capped simplex, some of `domain.upper`, which are rounded.

    The exact ones are c / nu, or c / sum c where nu is above that sum by rounding.
    """
    missing = max(1.0 - math.fsum(domain.c.tolist()) / domain.nu, 0.0)
    room = (missing + UNIT * (missing > 0.0)) * rounded
    low, high = np.nextafter(rounded - room, 0.0), np.nextafter(rounded + room, np.inf)
    return Interval(np.where(rounded == 0.0, 0.0, low), np.where(rounded == 0.0, 0.0, high))


def support_bound(y: Float[Array, " N"], beta: float, upper: Interval) -> float:
    """Return a number that <y, d> does not exceed on the capped simplex: beta + sum of caps times [y - beta]_+.

    Parameters
    ----------
    y
        The coefficients, shape (N,).
    beta
        Any number; at a multiplier of sum d = 1 the bound is the maximum.
    upper
        The exact caps, shape (N,).
    """
    if not np.isfinite(y).all() or not np.isfinite(beta):
        return np.inf
    beyond = (point(y) + point(np.full(len(y), -beta))).positive()
    live = beyond.high > 0.0
    if not live.any():
        return beta
    terms = Interval(beyond.low[live], beyond.high[live]) * Interval(upper.low[live], upper.high[live])
    return float(total(Interval(np.append(terms.low, beta), np.append(terms.high, beta))).high)
