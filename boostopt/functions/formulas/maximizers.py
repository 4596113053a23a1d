"""Where an increasing slope has given values: Newton's method between two ends, all rows at once.

An infinite slope at 0 bends as a logarithm does; there the steps are taken in ln x, and in ln x / (u - x) where the
slope is infinite at both ends: for entropies one step is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.functions.formulas.compilation import ArrayFunction

MAX_STEPS = 100
"""Newton steps or halvings, of the weights and of their multiplier."""

MAX_SLOW_STEPS = 6
"""Steps after which each must be at most half as long as the one before, or the interval is halved."""

STEP_RTOL = 1e-8
"""Relative size of a step after which the next one changes nothing but the last digits."""

MAX_SLOPE = 1e300
"""Size at which an infinite slope is cut."""

BOUNDARY_FRACTION = 1e-150
"""Share of the box at which 0 is kept away from an infinite slope."""


@dataclass(frozen=True, eq=False)
class MonotoneDerivative:
    """An increasing slope f' between two ends, in every row.

    Attributes
    ----------
    slope, bend
        f' and f''.
    low, high
        The ends, shape (n,): where f' is infinite at an end of the box, a little within.
    at_low, at_high
        The slopes there.
    box
        The ends of the box themselves.
    infinite_at
        Whether f' or f'' is infinite at 0, and whether f' is at the upper end of the box.
    """

    slope: ArrayFunction
    second_derivative: ArrayFunction
    low: np.ndarray
    high: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray
    box: tuple[np.ndarray, np.ndarray]
    infinite_at: tuple[bool, bool]

    @classmethod
    def on_box(cls, slope: ArrayFunction, bend: ArrayFunction, low: np.ndarray, high: np.ndarray) -> MonotoneDerivative:
        """Return a slope on a box."""
        ends = slope(low), slope(high)
        infinite = ~(np.isfinite(ends[0]) & np.isfinite(bend(low))), ~np.isfinite(ends[1])
        inner_low = np.where(
            infinite[0], np.maximum(low + BOUNDARY_FRACTION * (high - low), np.nextafter(low, high)), low
        )
        inner_high = np.where(infinite[1], np.nextafter(high, low), high)
        at = slope(inner_low), slope(inner_high)
        from_zero = not low.any()
        singular = from_zero and bool(infinite[0].any()), bool(infinite[1].any())
        return cls(slope, bend, inner_low, inner_high, *at, (low, high), singular)

    def inverse(self, y: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return where the slope is y, the end that is nearer to it where it is nowhere."""
        low, high = self.low, self.high
        outside = (y <= self.at_low) | (y >= self.at_high)
        x = last = 0.5 * (low + high) if start is None else np.clip(start, low, high)
        for k in range(MAX_STEPS):
            rest = y - self.slope(x)
            low, high = np.where(rest >= 0, x, low), np.where(rest <= 0, x, high)
            step = self._step(x, rest)
            inside, length, ulps = (step > low) & (step < high), np.abs(step - x), 4.0 * np.spacing(np.abs(x))
            near = (length <= np.maximum(STEP_RTOL * self._scale(x), ulps)) | (rest == 0) | (high - low <= ulps)
            slow = k >= MAX_SLOW_STEPS and length > 0.5 * np.abs(x - last)
            new = np.where(near | (inside & ~np.asarray(slow)), step, self._middle(low, high))
            last, x = x, np.where((rest == 0) | ~np.isfinite(new), x, np.clip(new, low, high))
            if (near | outside).all():
                break
        return np.where(y >= self.at_high, self.high, np.where(y <= self.at_low, self.low, x))

    def solve_simplex_multiplier(self, z: np.ndarray, within: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return beta, and where the slopes are z - beta, with sums of at most 1 and of at least 1.

        Both are one point where the sum is 1 within that; at a jump, on a linear piece, they are not.
        """
        centre = np.clip(self.high / self.high.sum(), self.low, self.high)
        # At the largest of z - f'(centre) no weight is above the centre, at the smallest none below.
        levels = z - np.nan_to_num(np.clip(self.slope(centre), -MAX_SLOPE, MAX_SLOPE))
        # A rounding further out, a weight on a flat piece of the slope is at the end of that piece.
        ulp = 4.0 * float(np.spacing(max(np.abs(z).max(), np.abs(levels).max())))
        low, high = float(levels.min()) - ulp, float(levels.max()) + ulp
        below, above = self.inverse(z - high), self.inverse(z - low)
        beta, x = 0.5 * (low + high), centre
        for k in range(MAX_STEPS):
            x = self.inverse(z - beta, x)
            total = float(x.sum())
            low, above, high, below = (beta, x, high, below) if total > 1.0 else (low, above, beta, x)
            if abs(total - 1.0) <= within:
                return beta, x, x
            beta = self._newton_multiplier(beta, x, total)
            if not low < beta < high:
                beta = self._bisect_multiplier(z, (low, high), (below, above), k % 2 == 1)
                if np.isnan(beta):
                    break
        return high, below, above

    def _bisect_multiplier(
        self, z: np.ndarray, ends: tuple[float, float], at: tuple[np.ndarray, np.ndarray], jump: bool
    ) -> float:
        """Return a beta between two: beside a jump of the sum if one is looked for, else the middle; nan for none.

        The sum jumps where z - beta is the slope of a linear piece: the one on which a weight moves most.
        """
        ulp, (low, high) = 2.0 * float(np.spacing(np.abs(z).max() + max(abs(end) for end in ends))), ends
        if high - low <= 3.0 * ulp:
            return np.nan
        if jump:
            most = int(np.argmax(at[1] - at[0]))
            level = float((z - self.slope(0.5 * (at[0] + at[1])))[most])
            beside = [beta for beta in (level - ulp, level + ulp) if low < beta < high]
            if beside:
                return beside[0]
        return 0.5 * (low + high)

    def tangent_points(self, y: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return where tangents of f bound f*(y) best: the maximizers, as near as floats come to them.

        Near an infinite slope floats are far apart: from the left a tangent loses little there, from the right much.
        """
        x = self.inverse(y, start)
        if not self.infinite_at[1]:
            return x
        middle = 0.5 * (self.box[0] + self.box[1])
        return np.where((x > middle) & (self.slope(x) > y), x - 2.0 * np.spacing(np.abs(x)), x)

    def stepped(self, x: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return where Newton's step leads by which the slope changes by about so much; x where it leads nowhere."""
        step = self._step(x, rest)
        return np.where(np.isfinite(step), np.clip(step, self.low, self.high), x)

    def _newton_multiplier(self, beta: float, x: np.ndarray, total: float) -> float:
        """Return Newton's next beta for ln sum x = 0, exact where the weights are exponentials."""
        with np.errstate(all="ignore"):
            inside = (x > self.low) & (x < self.high)
            moving = float(np.where(inside, 1.0 / self.second_derivative(x), 0.0).sum())
        return beta + total * float(np.log(total)) / moving if moving > 0.0 and total > 0.0 else np.nan

    def _scale(self, x: np.ndarray) -> Any:
        """Return what steps are compared to: how far the nearest end is at which something is infinite."""
        if self.infinite_at == (False, False):
            return self.high - self.low
        to_low, to_high = (x if self.infinite_at[0] else np.inf), (self.high - x if self.infinite_at[1] else np.inf)
        return np.minimum(to_low, to_high)

    def _step(self, x: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return where Newton's step leads."""
        with np.errstate(all="ignore"):
            step = rest / self.second_derivative(x)
            if self.infinite_at == (True, True):
                above = self.high - x
                odds = (above / x) * np.exp(-step * self.high / (x * above))
                return self.high / (1.0 + odds)
            return x * np.exp(step / x) if self.infinite_at[0] else x + step

    def _middle(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return where an interval is halved: by its sizes where the slope is infinite at 0."""
        even: Any = 0.5 * (low + high)
        return np.where(high > 4.0 * low, np.sqrt(low) * np.sqrt(high), even) if self.infinite_at[0] else even
