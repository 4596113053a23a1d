"""What looks at the rows have reached: both ends with what proves them, where the run stands, and a line about each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.boosting.histogram_newton.evaluator import Iterate
from boostopt.objectives.upper_bound import UpperBound
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split


@dataclass(frozen=True)
class EvaluationRecord:
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
class ExactBounds(ImmutableArrays):
    """Both ends of the certificate so far, with what proves them.

    Attributes
    ----------
    lower, W, total
        The best soft margin from below, its weights, and the sum of the program's.
    upper_witness
        The best upper end; None before the first.
    """

    lower: Fraction = Fraction(-2)
    integer_weights: Int[Array, " t"] | None = None
    weight_sum: float = 1.0
    upper_witness: UpperBound | None = None

    @property
    def upper(self) -> float:
        """The upper end rounded upwards, inf without any."""
        return math.inf if self.upper_witness is None else -float_below(-self.upper_witness.value)

    @property
    def gap(self) -> float:
        """The difference of the rounded ends; inf without any."""
        return self.upper - float_below(self.lower)

    def with_lower(self, seen: Iterate) -> ExactBounds:
        """Return the ends with the soft margin of weights, if it is a better one."""
        if seen.lower_bound <= self.lower or seen.integer_weights.sum() != MARGIN_SCALE:
            return self
        return replace(self, lower=seen.lower_bound, integer_weights=seen.integer_weights, weight_sum=seen.weight_sum)

    def with_upper(self, proof: UpperBound) -> ExactBounds:
        """Return the ends with another proof, if it is a better one."""
        return (
            replace(self, upper_witness=proof)
            if self.upper_witness is None or proof.value < self.upper_witness.value
            else self
        )


@dataclass(frozen=True, eq=False)
class SolverState(ImmutableArrays):
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
class Snapshot:
    """What looks at all rows have reached: from here they go on, and nothing is as long as the rows.

    Attributes
    ----------
    pool
        The hypotheses collected.
    state
        What is looked at next.
    bounds
        The certificate so far.
    log
        The looks so far, those at samples included.
    weights_by_iteration
        The weights of the program at each look at all rows so far.
    """

    pool: Sequence[Split]
    state: SolverState
    bounds: ExactBounds
    log: Sequence[EvaluationRecord]
    weights_by_iteration: Sequence[Float[Array, " _"]]


def float_below(x: Fraction) -> float:
    """Return the largest float64 that is not above a rational number."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)
