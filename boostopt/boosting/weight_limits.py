"""The certificate of a run whose hypothesis weights have limits.

The optimum of a program with priced limits is at least the largest value of weights within the limits, so that its
upper bound over a class bounds this value, too. Weights within the limits prove the lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from boostopt._utils.array_types import Array, Float, HypothesisVector
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.validation import check_instance
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.limited_formulation import LimitedWeights
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.priced_limits import PricedLimits
from boostopt.programs.program import Examples

MAX_SLACK, MIN_SLACK = 0.05, 1e-9
"""The largest slack of a limit that weights inside are chosen for, and the smallest that counts."""

MIX_EXCESS, MIX_ROUNDING = 1e-6, 1e-13
"""The relative and the absolute excess of the share of weights with slack, so that rounding stays within limits."""


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
        projection = G.project(point)
        return projection is not None and _keeps_limits(A, b, projection, row_errors)

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
