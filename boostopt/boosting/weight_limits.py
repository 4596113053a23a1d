"""Programs whose hypothesis weights have limits: the formulation over examples and limits, and its certificate.

The limits of a `LimitedClass` are rows of U, and their prices are weights beside d: `PricedLimits` adds them to F. The
program maximizes V(w) - P sum_i [<a_i, w> - b_i]_+ over the simplex, where V(w) = -F*(-Uw) and P is the largest price.
Its optimum is at least the largest V(w) within the limits, so that its upper bound over a class bounds this value, too.
Weights within the limits prove the lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from boostopt._utils.array_types import Array, Float, HypothesisVector
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.validation import check_instance
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.priced_limits import PricedLimits
from boostopt.oracles.limited_class import LimitedClass
from boostopt.programs.boosting_spec import BoostingSpec, UpdateKind
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import Parameter
from boostopt.programs.program import Examples, Program
from boostopt.rows.margin_matrix import MarginMatrix

MAX_SLACK, MIN_SLACK = 0.05, 1e-9
"""The largest slack of a limit that weights inside are chosen for, and the smallest that counts."""

MIX_EXCESS, MIX_ROUNDING = 1e-6, 1e-13
"""The relative and the absolute excess of the share of weights with slack, so that rounding stays within limits."""


class LimitedWeights(Formulation[Any]):
    """A formulation with limits on the hypothesis weights, whose last rows of U are limits.

    Parameters
    ----------
    base
        The formulation of the examples. Its G is the largest edge.
    right_sides
        The right sides of the limits, shape (k,).
    row_errors
        Bounds of the rounding errors of the entries of each limit, shape (k,).
    max_price
        The price of a unit above a limit.

    Raises
    ------
    OptionError
        The formulation is not solved as a program over all hypotheses.
    """

    name: ClassVar[str] = "limited_weights"

    def __init__(
        self,
        base: Formulation[Any],
        right_sides: Float[Array, " k"],
        row_errors: Float[Array, " k"],
        max_price: float,
    ) -> None:
        self.base: Formulation[Any] = base
        self.right_sides, self.row_errors, self.max_price = right_sides, row_errors, max_price
        if base.boosting.update is not UpdateKind.TOTAL or base.columns is not None:
            raise OptionError(
                f"limits on the weights need a formulation that is solved over all hypotheses, such as lpboost; "
                f"{base.name} is not. Choose another formulation, or leave out the limits."
            )
        self.source_file = base.source_file
        self.boosting: BoostingSpec = BoostingSpec(  # pyright: ignore[reportIncompatibleVariableOverride]
            rules=("direct",), next_parameters=base.boosting.next_parameters
        )

    def _base_title(self) -> str:
        return f"{self.base.title or self.base.name} with limits on the weights"

    def _base_parameters(self) -> type[Any]:
        return self.base.Parameters

    def _base_uses_reference(self) -> bool:
        return self.base.uses_reference

    title: ClassVar[str] = computed_attribute(_base_title)
    Parameters: ClassVar[type[Any]] = computed_attribute(_base_parameters)
    uses_reference: ClassVar[bool] = computed_attribute(_base_uses_reference)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return LimitedWeights, (self.base, self.right_sides, self.row_errors, self.max_price)

    @property
    def text(self) -> str:
        return self.base.text

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return self.base.parameters

    def examples_of(self, examples: Examples) -> Examples:
        """Return the examples without the rows of the limits."""
        n = examples.N - len(self.right_sides)
        return Examples(examples.c[:n], examples.d0[:n])

    def fill_parameters(self, p: Any, examples: Examples) -> Any:
        return self.base.fill_parameters(p, self.examples_of(examples))

    def regularizer(self, p: Any, examples: Examples) -> PricedLimits:
        F = self.base.regularizer(p, self.examples_of(examples))
        return PricedLimits(F, self.right_sides, self.max_price)

    def edge_function(self, p: Any) -> EdgeFunction:
        return self.base.edge_function(p)

    def bind(
        self,
        U: Any,
        *,
        c: npt.ArrayLike | None = None,
        d0: npt.ArrayLike | None = None,
        **parameters: Any,
    ) -> Program:
        """Bind the formulation to a margin matrix whose last rows are those of the limits.

        The arguments are as in `Formulation.bind`. c and d0 may leave out the limits, and arrays with one value for
        each example do so.

        Raises
        ------
        OptionError
            G is not the largest edge with its sign.
        """
        margins, k = MarginMatrix(U), len(self.right_sides)
        n = margins.N - k
        counts = None if c is None else np.asarray(c)[:n]
        reference = None if d0 is None else np.asarray(d0)[:n]
        inner = self.base.bind(margins.take_rows(np.arange(n)), c=counts, d0=reference, **parameters)
        G = inner.edge_function
        if not G.is_largest_edge or G.is_symmetric:
            raise OptionError(
                f"limits on the weights need the largest edge with its sign; {self.base.name} with these parameters "
                "has another edge function. Choose another formulation, or leave out two_sided."
            )
        examples = Examples(
            np.concatenate([inner.examples.c, np.ones(k)]), np.concatenate([inner.examples.d0, np.zeros(k)])
        )
        F = PricedLimits(inner.regularizer, self.right_sides, self.max_price)
        return Program(self, inner.parameters, examples, margins, F, G)


def with_limits(formulation: Formulation[Any], oracle: object) -> Formulation[Any]:
    """Return a formulation over the examples of an oracle, with the limits of a `LimitedClass`.

    The limits are those of the oracle: those of a formulation with limits are replaced.

    Raises
    ------
    OptionError
        The formulation has limits, and the oracle has none.
    """
    if isinstance(oracle, LimitedClass):
        base = formulation.base if isinstance(formulation, LimitedWeights) else formulation
        return LimitedWeights(base, oracle.right_sides, oracle.row_errors, oracle.max_price)
    if isinstance(formulation, LimitedWeights):
        raise OptionError(
            f"expected a LimitedClass for a formulation with limits; got {oracle!r:.100}. Pass the formulation "
            "without limits, which is its attribute base, or LimitedClass(oracle, limits)."
        )
    return formulation


@dataclass(frozen=True, eq=False)
class LimitCertificate(ImmutableArrays):
    """Weights that keep the limits of a run, and the interval of the best such weights over the class.

    Attributes
    ----------
    interval
        The certificate over the class. `lower` is the value of `w`, -inf without weights that keep the limits.
    w
        The weights of the hypotheses of the run, shape (t,), with the sum 1; None if none were found that are proved to
        keep the limits.
    values
        The left sides of the limits at w, or at the weights of the run if w is None, shape (k,).
    right_sides
        The right sides of the limits, shape (k,).
    """

    interval: ClassCertificate
    w: HypothesisVector | None
    values: Float[Array, " k"]
    right_sides: Float[Array, " k"]

    def __str__(self) -> str:
        if self.w is None:
            return f"no collected weights are proved to keep the limits; {self.interval}"
        return f"with weights that keep the limits, {self.interval}"


def certify_limits(run: Run) -> LimitCertificate:
    """Return weights that keep the limits of a run over a `LimitedClass`, and the interval of the best such weights.

    The weights of the run may exceed limits by the accuracy of a solver. They are mixed with collected weights that
    have slack in all limits. No weights over the class that keep the limits have a value above the interval.

    Parameters
    ----------
    run
        A run of `boost` over a `LimitedClass`.

    Raises
    ------
    OptionError
        The run has no limits.
    """
    check_instance("run", run, Run, "a run of boost over a LimitedClass", "Pass what boost returned.")
    problem, pool = run.problem, run.record.pool
    formulation, objective = problem.formulation, problem.objective
    if not isinstance(formulation, LimitedWeights) or objective is None or not isinstance(objective.F0, PricedLimits):
        raise OptionError(
            f"certify_limits needs a run over a LimitedClass; got a run over {run.oracle}. Use its class_certificate."
        )
    k, b = len(formulation.right_sides), formulation.right_sides
    U = pool.margins.take_rows(np.arange(pool.N - k))
    A = -np.vstack([pool.margins.column(q)[pool.N - k :] for q in range(pool.t)]).T
    total = float(run.w.sum())
    start = run.w / total if total > 0.0 else np.full(pool.t, 1.0 / pool.t)
    w = _within_limits(A, b, start, formulation.row_errors, objective.G)
    over_class, without_limits = run.class_certificate, objective_without_limits(objective)
    lower = -math.inf
    if w is not None:
        program = without_limits.program(U)
        d = None if over_class.d is None else over_class.d[: U.N]
        certificate = program.certify(d, w)
        w, lower = certificate.w, certificate.lower
        if not _keeps_limits(A, b, w, formulation.row_errors):
            raise ProblemError(
                "the certified weights must keep the limits that the proposed ones keep; they do not. Please report "
                "this bug."
            )
    interval = replace(over_class, lower=lower, quantity=without_limits.measure)
    return LimitCertificate(interval, w, A @ (start if w is None else w), b)


def objective_without_limits(objective: SoftMarginObjective) -> SoftMarginObjective:
    """Return the value of the weights without limits, over the examples alone."""
    F0, examples = objective.F0, objective.examples
    if not isinstance(F0, PricedLimits):
        return objective
    n = F0.n_examples
    return replace(objective, F0=F0.base, examples=Examples(examples.c[:n], examples.d0[:n]))


def _keeps_limits(
    A: Float[Array, "k t"], b: Float[Array, " k"], w: HypothesisVector, row_errors: Float[Array, " k"]
) -> bool:
    """Return whether non-negative weights keep <a_i, w> <= b_i sum w, in fractions, whatever the errors of a_i are."""
    if not (np.isfinite(w).all() and w.min() >= 0.0 and w.any()):
        return False
    present = np.flatnonzero(w)
    weights = [Fraction(x) for x in w[present].tolist()]
    for row, limit, error in zip(A[:, present].tolist(), b.tolist(), row_errors.tolist(), strict=True):
        side = Fraction(limit) - Fraction(error)
        if sum((x * (Fraction(a) - side) for x, a in zip(weights, row, strict=True)), Fraction(0)) > 0:
            return False
    return True


def _within_limits(
    A: Float[Array, "k t"],
    b: Float[Array, " k"],
    w: HypothesisVector,
    row_errors: Float[Array, " k"],
    G: EdgeFunction,
) -> HypothesisVector | None:
    """Return weights near w whose projection onto the simplex keeps the limits; None if none were found."""

    def is_within(point: HypothesisVector) -> bool:
        # A certificate is about the projection, which changes weights by rounding.
        projected = G.project(point)
        return projected is not None and _keeps_limits(A, b, projected, row_errors)

    w = np.maximum(w, 0.0)
    w = w / w.sum()
    if is_within(w):
        return w
    (k, t), ones = A.shape, np.ones((1, len(w)))
    # Slack in each limit that can have some, up to MAX_SLACK, so that no limit has it at the cost of others.
    answer = linprog(
        np.append(np.zeros(t), -np.ones(k)),
        A_ub=np.hstack([A, np.eye(k)]),
        b_ub=b - row_errors,
        A_eq=np.hstack([ones, np.zeros((1, k))]),
        b_eq=[1.0],
        bounds=[(0.0, None)] * t + [(0.0, MAX_SLACK)] * k,
        method="highs",
    )
    if answer.x is None:
        return None
    # Limits without slack hold if the hypotheses that cost more than the limit have no weight.
    has_slack = answer.x[t:] > MIN_SLACK
    is_cheap = (A[~has_slack] <= (b - row_errors)[~has_slack, np.newaxis]).all(axis=0)
    inner, start = np.where(is_cheap, np.maximum(answer.x[:t], 0.0), 0.0), np.where(is_cheap, w, 0.0)
    if not inner.any():
        return None
    inner = inner / inner.sum()
    start = start / start.sum() if start.any() else inner
    excess, slack = np.maximum(A @ start - b + row_errors, 0.0), np.maximum(b - row_errors - A @ inner, MIN_SLACK)
    fraction = float(np.where(has_slack, excess / (excess + slack), 0.0).max())
    points = [(1.0 - share) * start + share * inner for share in (fraction * (1.0 + MIX_EXCESS) + MIX_ROUNDING, 1.0)]
    return next((point for point in points if is_within(point)), None)
