"""What a run of looks is after: both ends of it, from margins in buckets, and weights of examples that prove them.

    soft margin    lower  the mean of the nu smallest margins               d_n = c_n q_n / Q, Q >= nu max q
                   upper  the largest edge of the class under d             [theorem 13]

    loss           lower  -F*(-Uw), examples at both ends of their buckets  d_n = c_n q_n / 2^20, in the box
                   upper  F(d) + the largest edge of the class under d      [theorem 15]

A loss is told in units of one example: its multiplicities are c_n / sum c.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.errors import ProblemError, require_not_none
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.binary_entropy import LogarithmicLoss
from boostopt.functions.regularizers.indicators import Cap
from boostopt.objectives.margin_histogram import Buckets, Law
from boostopt.objectives.soft_margin import EPS, Goal
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows, MarginHandle
from boostopt.rows.margin_grid import CURVATURE_SCALE, MARGIN_SCALE, N_BINS, WEIGHT_SCALE, MarginGrid

MORE = 1e-6
"""By which share weights below the cap are raised at least, where they are too few for it by rounding."""

RAISES = 100
"""How often they are raised before all are equal, which is feasible."""

STEPS = 20
"""Roundings of a term before it is summed, those of logarithms and exponentials included."""


class Aim(ABC):
    """What a run is after, of some examples.

    Attributes
    ----------
    scale
        What both ends are multiplied by to be those of the formulation: 1, or the number of examples.
    found_again
        Whether `sharp` finds every lower end again that a closer window tells: who verifies a run has only the weights.
    """

    scale: int = 1
    found_again: bool = True

    @abstractmethod
    def among(self, total: int) -> Aim:
        """Return the same of a sample of so many examples, with multiplicity, that stands for all."""

    @abstractmethod
    def examples(self, c: Float[Array, " k"]) -> Examples:
        """Return examples with these multiplicities as F is made of them."""

    @abstractmethod
    def lower(self, buckets: Buckets) -> Fraction:
        """Return a number not above what weights with such margins reach."""

    @abstractmethod
    def sharp(self, rows: BinnedRows, kept: MarginHandle) -> Fraction:
        """Return the best such number."""

    @abstractmethod
    def whole(self, share: Float[Array, " k"], found: Int[Array, " k"]) -> Int[Array, " k"]:
        """Return q from 0 to 2^20 of each bucket, from the weight of a single example there; found are the examples."""

    @abstractmethod
    def sum(self, q: Int[Array, " k"], found: Int[Array, " k"]) -> int:
        """Return Q, of which d_n = c_n q_n / Q."""

    @abstractmethod
    def cost(self, found: Int[Array, " k"], q: Int[Array, " k"]) -> Fraction:
        """Return what is added to the largest edge under d for an upper end: F(d), from above.

        Raises
        ------
        ProblemError
            d does not lie in the domain of F.
        """

    @property
    def slack(self) -> Fraction:
        """By how much an end may differ that another processor computes."""
        return Fraction(0)


@dataclass(frozen=True)
class SoftMarginAim(Aim):
    """The mean of the nu smallest margins.

    Attributes
    ----------
    nu
        The count of the cap.
    total
        Number of examples, with multiplicity.
    copies
        How many each of them stands for.
    """

    nu: Fraction
    total: int
    copies: float = 1.0

    def among(self, total: int) -> SoftMarginAim:
        return SoftMarginAim(self.nu * total / self.total, total, self.total / total)

    def examples(self, c: Float[Array, " k"]) -> Examples:
        return Examples(c * self.copies, c / c.sum())

    def lower(self, buckets: Buckets) -> Fraction:
        return buckets.soft_margin(self.nu)

    def sharp(self, rows: BinnedRows, kept: MarginHandle) -> Fraction:
        """Return the soft margin itself: the bucket in which the count is reached is cut until it holds one margin."""
        window = MarginGrid.full()
        while True:
            buckets = in_buckets(rows, kept, window)
            b = buckets.reached(self.nu)
            if b == len(buckets.found) or window.log2_bin_width == 0 or window.bin_min(b) == window.bin_max(b):
                return buckets.soft_margin(self.nu)
            window = MarginGrid.covering(window.bin_min(b) / MARGIN_SCALE, window.bin_max(b) / MARGIN_SCALE)

    def whole(self, share: Float[Array, " k"], found: Int[Array, " k"]) -> Int[Array, " k"]:
        """Return whole numbers in proportion, of which none is above 1 / nu of the sum over the examples.

        Weights below the cap are raised a little where rounding has left too few.
        """
        part = share * (WEIGHT_SCALE / float(share.max()))
        least = math.ceil(self.nu * WEIGHT_SCALE)
        for _ in range(RAISES):
            q = np.minimum(np.rint(part), WEIGHT_SCALE).astype(np.int64)
            short = self.nu * int(q.max()) - int(q @ found)
            if short <= 0:
                return q
            part = part * (1.0 + max(MORE, float(short) / least))
        return np.full(len(share), WEIGHT_SCALE, np.int64)

    def sum(self, q: Int[Array, " k"], found: Int[Array, " k"]) -> int:
        return int(q @ found)

    def cost(self, found: Int[Array, " k"], q: Int[Array, " k"]) -> Fraction:
        total, largest = self.sum(q, found), int(q.max(initial=0))
        if q.min(initial=0) < 0 or not 0 < largest <= WEIGHT_SCALE or total < self.nu * largest:
            raise ProblemError(
                "d must lie in the capped simplex, so the whole numbers of the buckets must be non-negative and sum to "
                f"at least {float(self.nu):g} times the largest, which must be positive; got {q.min(initial=0)} to "
                f"{largest} with the sum {total}. Boost again."
            )
        return Fraction(0)


@dataclass(frozen=True)
class LossAim(Aim):
    """A loss of the margins, -F*(-Uw), F being a sum over the examples on the box 0 <= d <= c.

    Attributes
    ----------
    page, parameters
        The formulation, and its parameters.
    total
        Number of examples, with multiplicity.
    """

    page: Formulation[Any]
    parameters: Any
    total: int

    found_again = False

    @property
    def scale(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.total

    def among(self, total: int) -> LossAim:
        return replace(self, total=total)

    def examples(self, c: Float[Array, " k"]) -> Examples:
        return Examples(c / self.total, c / c.sum())

    def lower(self, buckets: Buckets) -> Fraction:
        c, m = buckets.split
        F = self.made(c)
        return Fraction(-F.conjugate_at(-m).value - rounding(F))

    def sharp(self, rows: BinnedRows, kept: MarginHandle) -> Fraction:
        return self.lower(in_buckets(rows, kept, MarginGrid.full()))

    def whole(self, share: Float[Array, " k"], found: Int[Array, " k"]) -> Int[Array, " k"]:
        return np.clip(np.rint(share * (float(self.total) * WEIGHT_SCALE)), 0, WEIGHT_SCALE).astype(np.int64)

    def sum(self, q: Int[Array, " k"], found: Int[Array, " k"]) -> int:
        return WEIGHT_SCALE * self.total

    def cost(self, found: Int[Array, " k"], q: Int[Array, " k"]) -> Fraction:
        live = found > 0
        if q.min(initial=0) < 0 or q.max(initial=0) > WEIGHT_SCALE or not live.any():
            raise ProblemError(
                f"d must lie between 0 and c, so the whole numbers of the buckets must lie between 0 and {WEIGHT_SCALE}; "
                f"got {q.min(initial=0)} to {q.max(initial=0)}. Boost again."
            )
        c = found[live].astype(np.float64)
        F = self.made(c)
        return Fraction(F.value(F.upper * (q[live] / WEIGHT_SCALE)) + rounding(F))

    @property
    def slack(self) -> Fraction:
        return Fraction(2.0 * rounding(self.made(np.full(2 * N_BINS, self.total / (2.0 * N_BINS)))))

    def made(self, c: Float[Array, " k"]) -> LogarithmicLoss:
        """Return F of examples of given multiplicities, in units of one example."""
        F = self.page.regularizer(self.parameters, self.examples(c))
        return require_not_none(F if isinstance(F, LogarithmicLoss) else None, "a logarithmic loss")


def law_of(buckets: Buckets, made: Callable[[Examples], Regularizer], aim: Aim, total: float = 1.0) -> Law:
    """Return the weights of the program at some margins.

    Parameters
    ----------
    buckets
        The margins.
    made
        Returns F of some examples, a sum over these.
    aim
        What the weights are to prove.
    total
        The sum of the weights of the hypotheses, by which margins are multiplied.
    """
    live, c, m = buckets.live, buckets.c, buckets.m
    F = made(aim.examples(c))
    at = F.conjugate_at(-total * m)
    q = aim.whole(at.d / c, buckets.found[live])
    table, curved = np.zeros(N_BINS + 2, np.int64), np.zeros(N_BINS + 2, np.int64)
    table[live] = q
    r = require_not_none(F.pointwise(), "a regularizer that is a sum over the examples").freedom(at.d) / c
    largest = float(r.max())
    if largest > 0.0:
        curved[live] = np.rint(r * (CURVATURE_SCALE / largest)).astype(np.int64)
    inside, room = np.flatnonzero((q > 0) & (q < q.max())), 2.0 * buckets.window.bin_width
    if len(inside) == 0:
        inside = np.flatnonzero(q == q.max())[-1:]
    between = (max(float(m[inside[0]]) - room, -1.0), min(float(m[inside[-1]]) + room, 1.0))
    Q, cost = aim.sum(q, buckets.found[live]), aim.cost(buckets.found[live], q)
    return Law(
        buckets, table, Q, cost, -at.value, F.value(at.d), curved, largest / CURVATURE_SCALE, between, at.d / c, total
    )


def in_buckets(rows: BinnedRows, kept: MarginHandle, window: MarginGrid) -> Buckets:
    """Return margins in the buckets of a window."""
    return Buckets(window, *rows.histogram(kept, window))


def rounding(F: Regularizer) -> float:
    """Bound the rounding error of F(d), or of F* at margins in [-1, 1]: the length of its sums times their terms."""
    unit, of_margins = summation(F)
    return of_margins + unit * float(F.magnitude)


def summation(F: Regularizer) -> tuple[float, float]:
    """Return the length of the sums of F in roundings, and what margins in [-1, 1] and weights lose in them."""
    unit = (F.N + STEPS) * EPS
    return unit, float(unit * (2.0 * F.mass + 1.0))


def aim_of_goal(
    goal: Goal | None, page: Formulation[Any], parameters: Any, examples: Examples, total: float
) -> Aim | None:
    """Return what looks over so many examples are after: the mean of the smallest margins, or a loss; None for others.

    Parameters
    ----------
    goal
        What boosting is after.
    page, parameters
        The formulation, and its parameters.
    examples
        Some that stand for all.
    total
        Number of all examples, with multiplicity.
    """
    F0 = None if goal is None or not goal.signed else goal.F0
    # The buckets are of the loss as it stands there: a subclass is another one.
    if type(F0) is LogarithmicLoss and F0.statement(examples.c, examples.d0) is not None:
        aim = LossAim(page, parameters, int(total))
        # A page may make eta of the multiplicities: then it is another one in units of one example.
        return aim if aim.made(examples.c).eta == F0.eta else None
    nu = _count(goal, parameters, examples)
    return None if nu is None else SoftMarginAim(Fraction(nu), int(total))


def _count(goal: Goal | None, parameters: Any, examples: Examples) -> float | None:
    """Return nu, where the soft margin is that of the cap c / nu; None for another goal.

    Caps of 1 bind nothing: the smallest margin is that of a single example, of any of its copies.
    """
    caps = None if goal is None else goal.F0.indicator_caps
    if goal is None or caps is None or not isinstance(goal.F0, Cap):
        return None
    # Caps are rounded: nu is what they were made of, not what may be made of them.
    for nu in (getattr(parameters, "nu", None), goal.F0.domain.nu):
        if isinstance(nu, float) and np.array_equal(examples.c / nu, caps):
            return nu
    return 1.0 if caps.min() >= 1.0 and examples.c.min() >= 1.0 else None
