"""State of a histogram Newton run: exact bounds with their witnesses, the solver state, and a log of evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.boosting.histogram_newton.dual_evaluator import Iterate
from boostopt.boosting.objectives.class_upper_bound import UpperBound
from boostopt.functions.numerics.rounding_errors import float_below
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split


@dataclass(frozen=True)
class EvaluationRecord:
    """The log entry of an evaluation.

    Attributes
    ----------
    rows
        The number of rows.
    hypotheses, active
        The numbers of hypotheses in the pool, and of those with a positive weight.
    level
        The smoothing level: eta of the program is 2^-level times eta of the problem.
    edge
        The largest edge of the class under d(w).
    value
        D(w) of the program.
    lower, upper
        The best lower and upper bound over the class so far, on these rows.
    edges_seconds, seconds
        The seconds of the data pass for the edges, and since the start.
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
    """The bounds of the certificate so far, with their witnesses.

    Attributes
    ----------
    lower, integer_weights, weight_sum
        The best lower bound of the soft margin, its weights, and the sum of the weights of the program.
    upper_witness
        The best upper bound; None before the first.
    """

    lower: Fraction = Fraction(-2)
    integer_weights: Int[Array, " t"] | None = None
    weight_sum: float = 1.0
    upper_witness: UpperBound | None = None

    @cached_property
    def upper(self) -> float:
        """The upper bound, rounded up; inf before the first."""
        return math.inf if self.upper_witness is None else -float_below(-self.upper_witness.value)

    @cached_property
    def gap(self) -> float:
        """The difference of the rounded bounds; inf before the first."""
        return self.upper - float_below(self.lower)

    def with_lower(self, iterate: Iterate) -> ExactBounds:
        """Return the bounds with the lower bound of an iterate, if this is better."""
        if iterate.lower_bound <= self.lower or iterate.integer_weights.sum() != MARGIN_SCALE:
            return self
        return replace(
            self, lower=iterate.lower_bound, integer_weights=iterate.integer_weights, weight_sum=iterate.weight_sum
        )

    def is_improved_by(self, upper: Fraction) -> bool:
        """Return whether another upper bound is better."""
        return self.upper_witness is None or upper < self.upper_witness.value


@dataclass(frozen=True, eq=False)
class SolverState(ImmutableArrays):
    """The state of the solver before its next evaluation on some rows.

    Attributes
    ----------
    W, level, total
        The integer weights of the columns, the smoothing level, and the sum of the weights of the program.
    n_iterations
        The number of evaluations so far.
    stalled_iterations
        The number of evaluations in a row without a significant increase of D.
    least, nearer
        The gap over the class when it last fell by a tenth, and the number of that evaluation.
    gamma, stage
        The bound of the edges, and the gap over the class when this bound was last free to increase.
    spread
        The expected change of margins in a step, for the curvature.
    """

    integer_weights: Int[Array, " t"]
    level: int
    weight_sum: float = 1.0
    n_iterations: int = 0
    stalled_iterations: int = 0
    reference_gap: float = math.inf
    reference_iteration: int = 0
    edge_bound: float = 1.0
    gap_at_last_increase: float = math.inf
    spread: float = 0.0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The snapshot from which a run continues; no part is as long as the rows.

    Attributes
    ----------
    pool
        The columns.
    state
        The state of the solver.
    bounds
        The bounds so far.
    log
        The records of all evaluations so far, samples included.
    weights_by_iteration
        The weights of the program at each evaluation on all rows so far.
    """

    pool: Sequence[Split]
    state: SolverState
    bounds: ExactBounds
    log: Sequence[EvaluationRecord]
    weights_by_iteration: Sequence[Float[Array, " _"]]
