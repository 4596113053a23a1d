"""Maximizers of <y, x> - f(x) on a box: inversion of the increasing derivative f' by a safeguarded Newton method.

All rows are solved at once. If f' is infinite at 0, it is similar to a logarithm. So the steps are taken in ln x or, if
f' is infinite at both ends of the box, in ln x / (u - x). For entropies one such step is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.functions.formulas.compilation import ArrayFunction

MAX_STEPS = 100
"""Maximum number of steps, Newton steps and bisections together, of the weights and of the multiplier."""

MAX_SLOW_STEPS = 6
"""Number of steps after which a step longer than half of the step before is replaced by a bisection."""

STEP_RTOL = 1e-8
"""Relative length of a step after which the next step would change the last digits only."""

MAX_SLOPE = 1e300
"""Absolute value that replaces an infinite slope."""

BOUNDARY_FRACTION = 1e-150
"""Distance to an end with an infinite slope, as a fraction of the box."""


@dataclass(frozen=True, eq=False)
class MonotoneDerivative:
    """An increasing derivative f' between two ends, for n rows.

    Attributes
    ----------
    slope, second_derivative
        f' and f''.
    low, high
        The ends, shape (n,): inside the box by a tiny distance where f' is infinite at an end of the box.
    at_low, at_high
        The slopes at these ends.
    box
        The ends of the box, shape (n,).
    is_singular_at
        Whether f' or f'' is infinite at 0, and whether f' is infinite at the upper bound of the box.
    """

    slope: ArrayFunction
    second_derivative: ArrayFunction
    low: np.ndarray
    high: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray
    box: tuple[np.ndarray, np.ndarray]
    is_singular_at: tuple[bool, bool]

    @classmethod
    def on_box(
        cls, slope: ArrayFunction, second_derivative: ArrayFunction, low: np.ndarray, high: np.ndarray
    ) -> MonotoneDerivative:
        """Return the derivative with the ends and the singularities of a box."""
        ends = slope(low), slope(high)
        is_infinite = ~(np.isfinite(ends[0]) & np.isfinite(second_derivative(low))), ~np.isfinite(ends[1])
        inner_low = np.where(
            is_infinite[0], np.maximum(low + BOUNDARY_FRACTION * (high - low), np.nextafter(low, high)), low
        )
        inner_high = np.where(is_infinite[1], np.nextafter(high, low), high)
        slopes = slope(inner_low), slope(inner_high)
        starts_at_zero = not low.any()
        is_singular = starts_at_zero and bool(is_infinite[0].any()), bool(is_infinite[1].any())
        return cls(slope, second_derivative, inner_low, inner_high, *slopes, (low, high), is_singular)

    def inverse(self, y: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return the points with slope y; an end of the interval in rows without such a point."""
        low, high = self.low, self.high
        outside = (y <= self.at_low) | (y >= self.at_high)
        x = last = 0.5 * (low + high) if start is None else np.clip(start, low, high)
        for k in range(MAX_STEPS):
            residual = y - self.slope(x)
            low, high = np.where(residual >= 0, x, low), np.where(residual <= 0, x, high)
            step = self._unclipped_step(x, residual)
            is_inside, length, ulps = (step > low) & (step < high), np.abs(step - x), 4.0 * np.spacing(np.abs(x))
            is_accurate = (
                (length <= np.maximum(STEP_RTOL * self._step_scale(x), ulps)) | (residual == 0) | (high - low <= ulps)
            )
            is_slow = k >= MAX_SLOW_STEPS and length > 0.5 * np.abs(x - last)
            new = np.where(is_accurate | (is_inside & ~np.asarray(is_slow)), step, self._split_point(low, high))
            last, x = x, np.where((residual == 0) | ~np.isfinite(new), x, np.minimum(np.maximum(new, low), high))
            if (is_accurate | outside).all():
                break
        return np.where(y >= self.at_high, self.high, np.where(y <= self.at_low, self.low, x))

    def solve_simplex_multiplier(self, z: np.ndarray, sum_tol: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return beta, and points with the slopes z - beta whose sums are at most 1 and at least 1.

        Both points are the same if the sum is 1 up to `sum_tol`. They differ if the sum jumps, on a linear piece of f.
        """
        centre = np.clip(self.high / self.high.sum(), self.low, self.high)
        # For the largest z - f'(centre), no weight exceeds the centre; for the smallest, none is less.
        levels = z - np.nan_to_num(np.clip(self.slope(centre), -MAX_SLOPE, MAX_SLOPE))
        # One rounding beyond these levels, a weight on a flat piece of the slope is at an end of the piece.
        ulp = 4.0 * float(np.spacing(max(np.abs(z).max(), np.abs(levels).max())))
        low, high = float(levels.min()) - ulp, float(levels.max()) + ulp
        x_at_high, x_at_low = self.inverse(z - high), self.inverse(z - low)
        beta, x = 0.5 * (low + high), centre
        for k in range(MAX_STEPS):
            x = self.inverse(z - beta, x)
            x_sum = float(x.sum())
            low, x_at_low, high, x_at_high = (beta, x, high, x_at_high) if x_sum > 1.0 else (low, x_at_low, beta, x)
            if abs(x_sum - 1.0) <= sum_tol:
                return beta, x, x
            beta = self._newton_multiplier(beta, x, x_sum)
            if not low < beta < high:
                beta = self._bisect_multiplier(z, (low, high), (x_at_high, x_at_low), k % 2 == 1)
                if np.isnan(beta):
                    break
        return high, x_at_high, x_at_low

    def _bisect_multiplier(
        self, z: np.ndarray, ends: tuple[float, float], solutions: tuple[np.ndarray, np.ndarray], jump: bool
    ) -> float:
        """Return a beta between the ends: next to a jump of the sum if `jump`, else the middle; nan if there is none.

        The sum jumps where z - beta is the slope of a linear piece. The piece is the one with the largest change of a
        weight.
        """
        ulp, (low, high) = 2.0 * float(np.spacing(np.abs(z).max() + max(abs(end) for end in ends))), ends
        if high - low <= 3.0 * ulp:
            return np.nan
        if jump:
            n = int(np.argmax(solutions[1] - solutions[0]))
            level = float((z - self.slope(0.5 * (solutions[0] + solutions[1])))[n])
            candidates = [beta for beta in (level - ulp, level + ulp) if low < beta < high]
            if candidates:
                return candidates[0]
        return 0.5 * (low + high)

    def tangent_points(self, y: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return the points whose tangents of f bound f*(y) best: the maximizers, up to rounding.

        Near an infinite slope at the upper bound, slopes of neighbouring floats differ much. A tangent left of the
        maximizer is less loose than a tangent right of the maximizer.
        """
        x = self.inverse(y, start)
        if not self.is_singular_at[1]:
            return x
        middle = 0.5 * (self.box[0] + self.box[1])
        return np.where((x > middle) & (self.slope(x) > y), x - 2.0 * np.spacing(np.abs(x)), x)

    def newton_step(self, x: np.ndarray, slope_change: np.ndarray) -> np.ndarray:
        """Return x after a Newton step that changes the slope by about `slope_change`; x if it is not finite."""
        step = self._unclipped_step(x, slope_change)
        return np.where(np.isfinite(step), np.clip(step, self.low, self.high), x)

    def _newton_multiplier(self, beta: float, x: np.ndarray, total: float) -> float:
        """Return beta after a Newton step for ln sum x = 0, which is exact if the weights are exponentials."""
        with np.errstate(all="ignore"):
            inside = (x > self.low) & (x < self.high)
            inverse_curvature_sum = float(np.where(inside, 1.0 / self.second_derivative(x), 0.0).sum())
        return (
            beta + total * float(np.log(total)) / inverse_curvature_sum
            if inverse_curvature_sum > 0.0 and total > 0.0
            else np.nan
        )

    def _step_scale(self, x: np.ndarray) -> Any:
        """Return the scale of steps: the distance to the nearest singular end, else the width of the interval."""
        if self.is_singular_at == (False, False):
            return self.high - self.low
        to_low, to_high = (
            (x if self.is_singular_at[0] else np.inf),
            (self.high - x if self.is_singular_at[1] else np.inf),
        )
        return np.minimum(to_low, to_high)

    def _unclipped_step(self, x: np.ndarray, slope_change: np.ndarray) -> np.ndarray:
        """Return x after a Newton step, which may leave the interval."""
        with np.errstate(all="ignore"):
            step = slope_change / self.second_derivative(x)
            if self.is_singular_at == (True, True):
                upper_distance = self.high - x
                odds = (upper_distance / x) * np.exp(-step * self.high / (x * upper_distance))
                return self.high / (1.0 + odds)
            return x * np.exp(step / x) if self.is_singular_at[0] else x + step

    def _split_point(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the points at which intervals are halved; geometric means if the slope is infinite at 0."""
        even: Any = 0.5 * (low + high)
        return np.where(high > 4.0 * low, np.sqrt(low) * np.sqrt(high), even) if self.is_singular_at[0] else even
