"""The interface of atom rules: values and minorants of an atom, as intervals that include all rounding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.minorants.interval_sums import total


class AtomRule(ABC):
    """The rule of an atom phi with m entries. Its arguments are vectors, flattened in Fortran order."""

    sign: int
    """1 if phi is convex, -1 if it is concave, 0 if it is linear."""

    shift: float = 0.0
    """A number s >= 0 such that sign phi(u) + s |u|^2 is proved to be convex."""

    @abstractmethod
    def values(self, arguments: Sequence[Interval]) -> Interval:
        """Return intervals of phi, shape (m,), over all arguments in their intervals.

        If an argument may lie outside the domain, the upper end of a convex phi is inf, and the lower end of a concave
        phi is -inf.
        """

    @abstractmethod
    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        """Return multipliers of the arguments and an offset: a minorant of <mu, phi(u)>.

        For every mu in its interval, the intervals of the result contain multipliers of a minorant whose offset is at
        least the offset of the result. mu has the sign of phi.

        Parameters
        ----------
        points
            The arguments at the tangent point, any floats; nan if unknown.
        mu
            Intervals of the multipliers, shape (m,).
        raw
            Multipliers from a solver, shape (k, m), for atoms with kinks. None stands for a subgradient at the point.

        Returns
        -------
        The multipliers of each argument, and the offset; None if phi has no slope at the point.
        """


class Columnwise(AtomRule):
    """An atom that maps each column of a matrix of shape (k, m) to one number."""

    k: int

    def columns(self, x: Interval) -> Interval:
        """Return the columns of an argument."""
        return Interval(x.lower.reshape((self.k, -1), order="F"), x.upper.reshape((self.k, -1), order="F"))

    @staticmethod
    def flatten(x: Interval) -> Interval:
        """Return columns as a vector."""
        shape = np.broadcast_shapes(np.shape(x.lower), np.shape(x.upper))
        return Interval(*(np.broadcast_to(end, shape).ravel(order="F") for end in (x.lower, x.upper)))


class Entrywise(AtomRule):
    """A smooth function of one number, applied to each entry."""

    domain_low: ClassVar[float] = -np.inf
    """Lower end of the domain; slopes exist above it."""

    @abstractmethod
    def slopes(self, points: Float[Array, " m"]) -> Interval:
        """Return intervals of the derivative at floats."""

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v = points[0]
        if not (v > self.domain_low).all() or not np.isfinite(v).all():
            return None
        slopes, values = self.slopes(v), self.values([exact_interval(v)])
        ends = (slopes.lower, slopes.upper, values.lower, values.upper)
        # Entries with multiplier 0 may have any slope.
        if not all((np.isfinite(end) | ((mu.lower == 0.0) & (mu.upper == 0.0))).all() for end in ends):
            return None
        return [mu * slopes], lower_bound(mu, self.intercepts(v, values, slopes))

    def intercepts(self, v: Float[Array, " m"], values: Interval, slopes: Interval) -> Interval:
        """Return phi(v) - phi'(v) v."""
        return values + -(slopes * exact_interval(v))


def lower_bound(mu: Interval, x: Interval) -> float:
    """Return a lower bound of <mu, x>."""
    return float(total(mu * x).lower)
