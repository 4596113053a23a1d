"""The interface of an atom: what certificates need of it, whatever its arguments are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.minorants.interval_sums import total


class AtomRule(ABC):
    """An atom phi of m entries, of arguments that are given as vectors in the order of Fortran."""

    sign: int
    """1 where phi is convex, -1 where it is concave, 0 where it is linear."""

    shift: float = 0.0
    """A number s >= 0 for which sign phi(u) + s |u|^2 is proved to be convex."""

    @abstractmethod
    def values(self, arguments: Sequence[Interval]) -> Interval:
        """Return intervals of phi, shape (m,), over all arguments that lie in theirs.

        An upper end is inf where an argument may leave the domain of a convex phi, a lower end -inf where it may leave
        that of a concave one.
        """

    @abstractmethod
    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        """Return multipliers of the arguments and an offset, for multipliers mu of the entries.

        Some numbers within the multipliers' intervals, with an offset that is at least the one returned, are a minorant
        of <mu, phi(u)>, for every number mu within its interval. mu has the sign of phi.

        Parameters
        ----------
        points
            The arguments at the tangent point, any floats; nan where none is known.
        mu
            Intervals of the multipliers, shape (m,).
        raw
            Multipliers proposed by a solver, for atoms with kinks; None for those that are attained at the point.

        Returns
        -------
        The multipliers of each argument, and the offset; None where phi has no slope at the point.
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
    """Slopes exist right of this end of the domain."""

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
        # What has multiplier 0 may be as steep as it likes.
        if not all((np.isfinite(end) | ((mu.lower == 0.0) & (mu.upper == 0.0))).all() for end in ends):
            return None
        return [mu * slopes], lower_bound(mu, self.intercepts(v, values, slopes))

    def intercepts(self, v: Float[Array, " m"], values: Interval, slopes: Interval) -> Interval:
        """Return phi(v) - phi'(v) v."""
        return values + -(slopes * exact_interval(v))


def lower_bound(mu: Interval, x: Interval) -> float:
    """Return a number that <mu, x> does not fall below."""
    return float(total(mu * x).lower)
