"""The certificate: any pair (d, w), made feasible, and the interval of the optimum that it proves.

For feasible d and w the optimum of `min F(d) + G(Uᵀd)` lies between the dual value D(w) = -F*(-Uw) - G*(w) and the
primal value P(d), and their difference is a sum of non-negative terms,

    P(d) - D(w) = sum of [F(d) + F*(-Uw) + <d, Uw>] over examples + [G(e) + G*(w) - <w, e>] over hypotheses,

so it needs no solver, no status and no multiplier to be known, and it is never formed by subtraction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt.edges.base import EdgeFunction
from boostopt.margins import Margins
from boostopt.regularizers.base import Regularizer
from boostopt.shapes import Array, Float


@dataclass(frozen=True)
class KKT:
    """By how much an answer as it was given violates the conditions of optimality.

    Attributes
    ----------
    residuals
        One non-negative number for each condition: the constraints on d and on w, measured on the raw arrays, then
        the sums of the example gaps (d is optimal for w) and of the hypothesis gaps (w is optimal for d), measured
        on the raw pair made feasible. inf for a part that was missing or not finite.
    """

    residuals: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest residual."""
        return float(np.max(list(self.residuals.values())))

    def holds(self, tol: float) -> bool:
        """Whether every condition holds within tol."""
        return self.worst <= tol


@dataclass(frozen=True, repr=False)
class Certificate:
    """An interval that contains the optimum, with the feasible pair that proves it.

    Attributes
    ----------
    lower, upper
        Ends of the interval: dual value of w, primal value of d, widened by `slack`; lower <= upper.
    slack
        Bound of the rounding error of either end.
    d, w
        The feasible pair: d of shape (N,), w of shape (t,).
    d_is
        Where d came from: "d(w)", the maximizer of F* at the margins of w, or "repaired", the given d made feasible.
    example_gaps, hypothesis_gaps
        The non-negative terms of the gap, shapes (N,) and (t,): who is to blame.
    multipliers
        Multipliers of the constraints, derived from w and d alone.
    kkt
        Residuals of the optimality conditions for the answer as it was given.
    span
        C_Delta / eta, the largest value of the regularizer: the scale of `relative_gap`.
    """

    lower: float
    upper: float
    slack: float
    d: Float[Array, " N"]
    w: Float[Array, " t"]
    d_is: str
    example_gaps: Float[Array, " N"]
    hypothesis_gaps: Float[Array, " t"]
    multipliers: Mapping[str, float | Array]
    kkt: KKT
    span: float

    @cached_property
    def gap(self) -> float:
        """Width of the interval, from the terms of the gap and the slack of both ends; never negative."""
        return float(self.example_gaps.sum() + self.hypothesis_gaps.sum()) + 2.0 * self.slack

    def __repr__(self) -> str:
        return f"Certificate(lower={self.lower!r}, upper={self.upper!r}, gap={self.gap:.2e}, d_is={self.d_is!r})"

    @property
    def scaled_gap(self) -> float:
        """The gap over max(1, |lower|, |upper|): what `tol` means everywhere."""
        if not np.isfinite([self.lower, self.upper, self.gap]).all():
            return np.inf
        return self.gap / max(1.0, abs(self.lower), abs(self.upper))

    @property
    def relative_gap(self) -> float:
        """The gap over max(|upper|, C_Delta / eta): small objectives count in full; inf where that scale is 0."""
        scale = max(abs(self.upper), self.span)
        return self.gap / scale if scale > 0 else np.inf

    def contains(self, value: float) -> bool:
        """Whether a value of the objective is possible as the optimum."""
        return self.lower <= value <= self.upper

    def overlaps(self, other: Certificate) -> bool:
        """Whether both intervals can hold for one program; if not, boostopt is wrong."""
        return self.lower <= other.upper and other.lower <= self.upper


def certify(
    U: Margins,
    F: Regularizer,
    G: EdgeFunction,
    d: Float[Array, " N"] | None = None,
    w: Float[Array, " t"] | None = None,
) -> Certificate:
    """Make (d, w) feasible, whatever they hold, and return the interval that they prove for min F(d) + G(Uᵀd).

    A missing or meaningless w is replaced by the best answer to d (for the maximum edge: the best single
    hypothesis), a missing d by d(w).
    """
    repaired = F.project(d)
    feasible_w = None if w is None else G.project(w)
    edges = U.edges(repaired)
    v = G.subgradient(edges) if feasible_w is None else feasible_w
    m = U.margins(v)
    at = F.conjugate_at(-m)
    slack = _rounding_slack(U, F, m)

    answer_edges = U.edges(at.d)
    values = (F.value(at.d) + G.value(answer_edges), F.value(repaired) + G.value(edges))
    answers = values[0] <= values[1]
    best, e = (at.d, answer_edges) if answers else (repaired, edges)
    example_gaps, hypothesis_gaps = F.gaps(best, -m, at), G.gaps(e, v)

    raw_gaps = (F.gaps(repaired, -m, at), G.gaps(edges, v)) if answers else (example_gaps, hypothesis_gaps)
    return Certificate(
        lower=-at.value - G.conjugate(v) - slack,
        upper=min(values) + slack,
        slack=slack,
        d=best,
        w=v,
        d_is="d(w)" if answers else "repaired",
        example_gaps=example_gaps,
        hypothesis_gaps=hypothesis_gaps,
        multipliers={"w": v, **at.multipliers, **G.multipliers(e)},
        kkt=KKT(_residuals(F, G, d, w, *raw_gaps)),
        span=F.span,
    )


def _rounding_slack(U: Margins, F: Regularizer, m: Float[Array, " N"]) -> float:
    """Bound the rounding error of a bound: the length of its sums times the size of its terms.

    The longest sums are the margins (t terms), the edges (a block of rows) and those of F (pairwise, shorter);
    10 covers the elementary functions. One machine epsilon a step: twice the unit roundoff.
    """
    size = 1.0 + float(np.abs(m).max()) + F.magnitude
    return (U.summation_length + U.t + 10) * float(np.finfo(np.float64).eps) * size


def _residuals(
    F: Regularizer,
    G: EdgeFunction,
    d: Float[Array, " N"] | None,
    w: Float[Array, " t"] | None,
    example_gaps: Float[Array, " N"],
    hypothesis_gaps: Float[Array, " t"],
) -> dict[str, float]:
    """Residuals of the raw pair; a missing side fails all its conditions."""
    of_d = F.residuals(np.full(F.N, np.nan) if d is None else d)
    of_w = G.residuals(np.full(len(hypothesis_gaps), np.nan) if w is None else w)
    complete = d is not None and w is not None
    return {
        **of_d,
        **of_w,
        "d optimal for w": float(example_gaps.sum()) if complete else np.inf,
        "w optimal for d": float(hypothesis_gaps.sum()) if complete else np.inf,
    }
