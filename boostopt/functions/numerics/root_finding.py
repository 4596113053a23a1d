"""Roots of increasing functions of one number: brackets that end, and Brent's method between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

ROOT_RTOL = 1e-15
"""Relative accuracy of the roots; no bound depends on it."""

MAX_BRACKET_DISTANCE = 1e18
"""End of the search for a root."""


def bracket_root(
    f: Callable[[float], float], start: float, farthest: float = MAX_BRACKET_DISTANCE
) -> tuple[float, float]:
    """Return low < high with f(low) <= 0 <= f(high), f increasing; up to `farthest` away, where the search ends."""
    low = high = start
    step = 1.0
    while f(low) > 0.0 and start - low < farthest:
        low, high, step = max(low - step, start - farthest), low, 2.0 * step
    step = 1.0
    while f(high) < 0.0 and high - start < farthest:
        low, high, step = high, min(high + step, start + farthest), 2.0 * step
    return low, high


def find_root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of f between low and high, or the end that is nearer to one."""
    at_low, at_high = f(low), f(high)
    if at_low >= 0.0 or at_high <= 0.0:
        return low if at_low >= 0.0 else high
    x: Any = brentq(f, low, high, xtol=ROOT_RTOL * max(abs(low), abs(high), 1e-285), rtol=np.float64(4 * ROOT_RTOL))
    return float(x)
