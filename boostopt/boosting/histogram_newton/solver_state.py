"""What looks at the rows have reached: both ends with what proves them, where the run stands, and a line about each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.boosting.histogram_newton.evaluator import Seen
from boostopt.objectives.upper_bound import UpperBound
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split


@dataclass(frozen=True)
class Glance:
    """A line about a look.

    Attributes
    ----------
    rows
        How many were looked at.
    hypotheses, active
        Those collected, and those with a weight.
    level
        That of the program: its eta is 2^-level of the problem's.
    edge
        The largest edge of the class under d(w).
    value
        D(w) of that program.
    lower, upper
        The best soft margin, and what no weights over the class exceed: of these rows, so far.
    edges_seconds, seconds
        Of the pass for the edges; and since the start.
    """

    rows: int
    hypotheses: int
    active: int
    level: int
    edge: float
    value: float
    lower: float
    upper: float
    edges_seconds: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Ends(ImmutableArrays):
    """Both ends of the certificate so far, with what proves them.

    Attributes
    ----------
    lower, W, total
        The best soft margin from below, its weights, and the sum of the program's.
    proof
        The best upper end; None before the first.
    """

    lower: Fraction = Fraction(-2)
    W: Int[Array, " t"] | None = None
    total: float = 1.0
    proof: UpperBound | None = None

    @property
    def upper(self) -> float:
        """The upper end rounded upwards, inf without any."""
        return math.inf if self.proof is None else -below(-self.proof.value)

    @property
    def gap(self) -> float:
        """The difference of the rounded ends; inf without any."""
        return self.upper - below(self.lower)

    def risen(self, seen: Seen) -> Ends:
        """Return the ends with the soft margin of weights, if it is a better one."""
        if seen.lower <= self.lower or seen.W.sum() != MARGIN_SCALE:
            return self
        return replace(self, lower=seen.lower, W=seen.W, total=seen.total)

    def lowered(self, proof: UpperBound) -> Ends:
        """Return the ends with another proof, if it is a better one."""
        return replace(self, proof=proof) if self.proof is None or proof.value < self.proof.value else self


@dataclass(frozen=True, eq=False)
class Stand(ImmutableArrays):
    """Where looks at some rows stand: what is looked at next, and how it has gone.

    Attributes
    ----------
    W, level, total
        The weights of the hypotheses collected, the level of the program, and the sum of its weights.
    count
        Looks so far.
    waited
        Looks in a row in which D has not risen as far as values tell.
    least, nearer
        The gap over the class when it last fell by a tenth, and at which look that was.
    gamma, stage
        Where edges are bounded, the bound, and the gap over the class when that was last free to rise.
    spread
        How far the margins of examples are expected to move by a step, for the curvature.
    """

    W: Int[Array, " t"]
    level: int
    total: float = 1.0
    count: int = 0
    waited: int = 0
    least: float = math.inf
    nearer: int = 0
    gamma: float = 1.0
    stage: float = math.inf
    spread: float = 0.0


@dataclass(frozen=True, eq=False)
class Reached:
    """What looks at all rows have reached: from here they go on, and nothing is as long as the rows.

    Attributes
    ----------
    splits
        The hypotheses collected.
    stand
        What is looked at next.
    ends
        The certificate so far.
    glances
        The looks so far, those at samples included.
    kept
        The weights of the program at each look at all rows so far.
    """

    splits: Sequence[Split]
    stand: Stand
    ends: Ends
    glances: Sequence[Glance]
    kept: Sequence[Float[Array, " _"]]


def below(x: Fraction) -> float:
    """Return the largest float64 that is not above a rational number."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)
