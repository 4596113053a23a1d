"""The certificate: a feasible pair (d, w) and the interval of the optimum that it proves (see `primal_dual_certifier`).

For feasible d and w the optimum of `min F(d) + G(Uᵀd)` lies between the dual value D(w) = -F*(-Uw) - G*(w) and the
primal value P(d), and their difference is a sum of non-negative terms,

    P(d) - D(w) = sum of [F(d) + F*(-Uw) + <d, Uw>] over examples + [G(e) + G*(w) - <w, e>] over hypotheses,

So the gap needs no solver, no status and no multiplier, and it is never computed by subtraction. If G bounds the edges,
the program may be infeasible. A certificate of the same kind proves this: hypothesis weights with a larger soft margin
than the bound allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, HypothesisVector
from boostopt._utils.formatting import format_interval, html_table
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.boosting_certificates.nan_checks import check_bounds

WIDE_GAP = 1e-8
"""The scaled gap above which a report names the share of rounding."""


@dataclass(frozen=True)
class KKT:
    """The violations of the optimality conditions by the original answer.

    Attributes
    ----------
    residuals
        One non-negative number for each condition. The residuals of the constraints on d and on w are those of the raw
        arrays. The sums of the example gaps (d is optimal for w) and of the hypothesis gaps (w is optimal for d) are
        those of the pair
        after feasibility restoration. inf for a part that was missing or not finite.
    """

    residuals: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest residual; inf if none was measured."""
        return float(np.max(list(self.residuals.values()))) if self.residuals else np.inf

    def holds_within(self, tol: float) -> bool:
        """Return whether every condition holds within tol."""
        return self.worst <= tol


@dataclass(frozen=True, repr=False)
class Certificate(ImmutableArrays):
    """An interval that contains the optimum, with the feasible pair that proves it.

    Attributes
    ----------
    lower, upper
        The bounds of the interval: the dual value of w and the primal value of d, widened by `slack`; lower <= upper.
    slack
        A bound on the rounding error of either finite bound.
    d, w
        The feasible pair: d of shape (N,), w of shape (t,). If `upper` is inf, no d with feasible edges was found near
        the answer; then d lies in the domain of F only.
    d_is
        The source of d: "d(w)", where the supremum in F*(-Uw) is attained; "repaired", d after
        feasibility restoration; or "start", the minimizer of F, if no d was given or it had no finite positive number.
    example_gaps, hypothesis_gaps
        The non-negative terms of the gap, shapes (N,) and (t,). They show which examples and hypotheses cause the gap.
    multipliers
        The multipliers of the constraints, derived from w and d alone.
    kkt
        The residuals of the optimality conditions for the original answer.
    value_bound
        C_Delta / eta, the largest value of the regularizer.
    excess
        A positive number if the program is infeasible, otherwise 0. For every d in the domain of F, <d, U w> exceeds
        the largest value in the domain of G by at least this number. The optimum and both bounds are then inf.

    Raises
    ------
    ProblemError
        A bound, the slack or the excess is nan: an unknown bound is infinite.
    """

    lower: float
    upper: float
    slack: float
    d: ExampleVector
    w: HypothesisVector
    d_is: str
    example_gaps: ExampleVector
    hypothesis_gaps: HypothesisVector
    multipliers: Mapping[str, float | Array]
    kkt: KKT
    value_bound: float
    excess: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self.lower, self.upper, self.slack, self.excess)

    @property
    def infeasible(self) -> bool:
        """True if it is proved that no d satisfies the constraints."""
        return self.excess > 0.0

    @cached_property
    def gap(self) -> float:
        """The upper bound minus the lower bound, from its terms and the slack of both bounds; never negative.

        The gap is 0 for a proof of infeasibility, and inf if one bound is infinite.
        """
        if self.infeasible:
            return 0.0
        if not np.isfinite([self.lower, self.upper]).all():
            return np.inf
        # A restored d may have a slightly larger value than its terms. A term that is nan is ignored.
        return float(np.fmax(self.gap_terms, self.upper - self.lower))

    @property
    def gap_terms(self) -> float:
        """The sum of the terms of the gap and of the slack of both bounds."""
        return float(self.example_gaps.sum() + self.hypothesis_gaps.sum()) + 2.0 * self.slack

    @property
    def is_mostly_rounding(self) -> bool:
        """True if the slack of both bounds is more than half of a gap above `WIDE_GAP` times the scale."""
        return WIDE_GAP * self.scale < self.gap < 4.0 * self.slack

    def __repr__(self) -> str:
        if self.infeasible:
            return f"Certificate(infeasible, excess={self.excess:.2e})"
        rounding = f", rounding={2.0 * self.slack:.2e}" if self.is_mostly_rounding else ""
        ends = f"lower={self.lower!r}, upper={self.upper!r}, gap={self.gap:.2e}"
        return f"Certificate({ends}{rounding}, d_is={self.d_is!r})"

    def save(self, path: str | PathLike[str], program: Any) -> None:
        """Save the certificate with its proof. `boostopt.verify` checks the file anywhere, without a solver.

        Parameters
        ----------
        path
            The file, JSON text. If its vectors have more than 50,000 numbers in all, they go into a second file with
            ".npz" added to the name.
        program
            The certified program. The certificate alone does not contain its data.

        Raises
        ------
        ProblemError
            The certificate belongs to another program; or F or G has neither a closed form nor a description.
        DataError
            The file cannot be written.
        """
        from boostopt.verification.certificate_writer import save

        save((program, self), path)

    @property
    def words(self) -> str:
        """The optimum in words: an interval rounded outward, or "infeasible" with the excess."""
        return (
            f"infeasible, proved by {self.excess:.3g}" if self.infeasible else format_interval(self.lower, self.upper)
        )

    def _repr_html_(self) -> str:
        if self.infeasible:
            return html_table("Certificate", [("optimum", "infeasible"), ("proved by an excess of", self.excess)])
        largest_terms = int(self.example_gaps.argmax()), int(self.hypothesis_gaps.argmax())
        rows = [
            ("the optimum lies in", format_interval(self.lower, self.upper)),
            ("gap", f"{self.gap:.2e}"),
            ("of it from examples", f"{float(self.example_gaps.sum()):.2e}, most from example {largest_terms[0]}"),
            (
                "of it from hypotheses",
                f"{float(self.hypothesis_gaps.sum()):.2e}, most from hypothesis {largest_terms[1]}",
            ),
            ("of it rounding", f"{2.0 * self.slack:.2e}"),
            ("upper bound proved by", self.d_is),
            *((f"violates {name} by", residual) for name, residual in self.kkt.residuals.items()),
        ]
        return html_table("Certificate", rows)

    @property
    def scale(self) -> float:
        """max(1, |lower|, |upper|): a gap of `tol` times this is within `tol`."""
        return max(1.0, abs(self.lower), abs(self.upper))

    @property
    def scaled_gap(self) -> float:
        """The gap over `scale`, which is compared with `tol` everywhere."""
        return self.gap / self.scale if np.isfinite(self.gap) else self.gap

    @property
    def relative_gap(self) -> float:
        """The gap over the size of the optimum, max(|lower|, |upper|); inf if this is 0 and the gap is not."""
        size = max(abs(self.lower), abs(self.upper))
        return self.gap / size if np.isfinite(self.gap) and 0.0 < self.gap and size > 0.0 else self.gap

    def contains(self, value: float) -> bool:
        """Return whether the optimum can have this value."""
        return self.lower <= value <= self.upper

    def overlaps(self, certificate: Certificate) -> bool:
        """Return whether both intervals can hold for the same program; if not, boostopt has a bug."""
        return self.lower <= certificate.upper and certificate.lower <= self.upper
