"""Certificates of any pair (d, w): both are made feasible, and the duality gap is summed term by term."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt._utils.immutable_arrays import as_immutable
from boostopt.boosting_certificates.certificate import KKT, Certificate
from boostopt.boosting_certificates.feasibility_restoration import is_in_domain, restore_feasibility
from boostopt.boosting_certificates.nan_checks import as_bound
from boostopt.errors import ProblemError, short_repr
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer
from boostopt.rows.margin_matrix import MarginMatrix

MASS_TOL = 1e-9
"""The largest violation of sum d <= 1 for an edge function that is defined on [-1, 1] only."""


MAX_FLOAT = Fraction(np.finfo(np.float64).max)
"""The largest finite float64."""


@dataclass(frozen=True, eq=False)
class Certifier:
    """The certifier of one d with any w for min F(d) + G(Uᵀd).

    Values that depend on d alone are computed once, and certificates once for each w. A w that is missing or not finite
    is replaced by the best response to d (for the maximum edge: the best single hypothesis), a missing d by d(w).

    Attributes
    ----------
    U, F, G
        The program.
    d
        Raw example weights, shape (N,); None if there are none.
    """

    U: MarginMatrix
    F: Regularizer
    G: EdgeFunction
    d: ExampleVector | None = None
    _cache: dict[bytes | None, Certificate] = field(default_factory=dict[bytes | None, Certificate], init=False)

    def __post_init__(self) -> None:
        if not self.G.has_closed_form_conjugate and self.F.mass > 1.0 + MASS_TOL:
            raise ProblemError(
                "a described edge function needs edges in [-1, 1]; the weights of this regularizer sum to "
                f"{self.F.mass:.6g}. Use it with weights on the simplex."
            )

    @cached_property
    def feasible_d(self) -> ExampleVector:
        """The projection of d onto the domain of F; d itself if d lies in this domain."""
        d = self.d
        return (
            d if d is not None and is_in_domain(self.F, d, self._domain_residuals) else as_immutable(self.F.project(d))
        )

    @cached_property
    def edges(self) -> HypothesisVector:
        """The edges of `feasible_d`, shape (t,)."""
        return as_immutable(self.U.edges(self.feasible_d))

    @cached_property
    def for_feasible_d(self) -> Certifier:
        """The certifier of `feasible_d`; this certifier if a second projection changes nothing."""
        certifier = replace(self, d=self.feasible_d)
        return self if np.array_equal(certifier.feasible_d, self.feasible_d) else certifier

    def certify(self, w: HypothesisVector | None = None) -> Certificate:
        """Return the certificate of d and raw hypothesis weights w, shape (t,); None for w if there are none."""
        key = None if w is None else w.tobytes()
        if key not in self._cache:
            certificate = self._certificate(w)
            self.U.check_unchanged()
            self.F.check_outer_arrays()
            self.G.check_outer_arrays()
            self._cache[key] = certificate
        return self._cache[key]

    def proves_infeasible(self, w: HypothesisVector) -> bool:
        """Return whether w proves that no d is feasible; this is much cheaper than a certificate."""
        return self._infeasibility_proof(self._feasible_w(w), w) is not None

    def _feasible_w(self, w: HypothesisVector | None) -> HypothesisVector:
        """Return a feasible point near w; the best response to d if w is None or no such point is known."""
        feasible_w = (
            None if w is None else self.G.project(w) if self.d is None else self.G.project_for_edges(w, self.edges)
        )
        return as_immutable(self.G.subgradient(self.edges) if feasible_w is None else feasible_w)

    def _certificate(self, w: HypothesisVector | None) -> Certificate:
        U, F, G, d = self.U, self.F, self.G, self.d
        v = self._feasible_w(w)
        infeasible = self._infeasibility_proof(v, w)
        if infeasible is not None:
            return infeasible
        m = U.margins(v)
        conjugate = F.conjugate_at(-m, None if d is None else self.feasible_d)
        d_of_w = as_immutable(conjugate.d)
        candidate_from_w = self._candidate_near(d_of_w, U.edges(d_of_w), "d(w)")
        best, second = sorted((candidate_from_w, self._candidate_from_d), key=lambda candidate: candidate.value)
        value_slack = self._value_slack(best, v)
        if value_slack == np.inf:
            best, value_slack = second, self._value_slack(second, v)
        conjugate_slack = self._conjugate_slack(conjugate, m, best, v)
        # A bound with unbounded rounding errors is infinite. The other bound may still be finite.
        slack = max((slack for slack in (conjugate_slack, value_slack) if slack < np.inf), default=0.0)
        # The residuals belong to the raw pair, not to its replacement.
        raw_gaps = F.gaps(self.feasible_d, -m, conjugate), G.gaps(self.edges, v)
        gaps = raw_gaps if best.d is self.feasible_d else (F.gaps(best.d, -m, conjugate), G.gaps(best.e, v))
        certificate = Certificate(
            lower=_round_sum_down(
                -F.conjugate_bound(-m, conjugate), -G.conjugate(v, best.e), -max(slack, conjugate_slack)
            ),
            upper=-_round_sum_down(-best.value, -max(slack, value_slack)),
            slack=slack,
            d=best.d,
            w=v,
            d_is=best.origin,
            example_gaps=gaps[0],
            hypothesis_gaps=gaps[1],
            multipliers={"w": v, **conjugate.multipliers, **G.multipliers(best.e)},
            kkt=self._kkt(w, *raw_gaps),
            value_bound=F.value_bound,
        )
        if certificate.lower > certificate.upper:
            raise ProblemError(
                f"lower must be at most upper; got lower = {short_repr(certificate.lower)} > upper = "
                f"{short_repr(certificate.upper)}, so F or G contradicts its conjugate. Run "
                "check_regularizer and check_edge. If F and G are boostopt's own, please report this bug."
            )
        return certificate

    @cached_property
    def _candidate_from_d(self) -> _PrimalCandidate:
        """The primal candidate from the raw d."""
        has_positive_weight = self.d is not None and bool((np.isfinite(self.d) & (self.d > 0)).any())
        return self._candidate_near(self.feasible_d, self.edges, "repaired" if has_positive_weight else "start")

    def _candidate_near(self, d: ExampleVector, e: HypothesisVector, origin: str) -> _PrimalCandidate:
        """Return the primal candidate near d, which has the edges e."""
        restored, cost = restore_feasibility(self.U, self.F, self.G, d)
        restored, e = as_immutable(restored), as_immutable(e if restored is d else self.U.edges(restored))
        value = -_round_sum_down(-self.F.value(restored), -self.G.value(e)) if np.isfinite(cost) else np.inf
        return _PrimalCandidate(restored, e, cost, value, origin)

    def _infeasibility_proof(self, v: HypothesisVector, w: HypothesisVector | None) -> Certificate | None:
        """Return a proof that no d in the domain of F has edges in the domain of G, if a ray from v is a proof."""
        U, F, G = self.U, self.F, self.G
        for ray in G.candidate_rays(v):
            m = U.margins(ray)
            sizes = F.magnitude + G.magnitude(np.zeros(U.t), ray, F.mass)
            slack = self._shared_slack(ray, F.mass) + float(self._rounding_unit * sizes)
            excess = -F.support(-m) - G.support(ray) - slack
            if excess > 0:
                no_gaps = np.zeros(U.N), np.zeros(U.t)
                return Certificate(
                    lower=np.inf,
                    upper=np.inf,
                    slack=slack,
                    d=F.conjugate_at(-m).d,
                    w=ray,
                    d_is="d(w)",
                    example_gaps=no_gaps[0],
                    hypothesis_gaps=no_gaps[1],
                    multipliers={"w": ray},
                    kkt=self._kkt(w, *no_gaps),
                    value_bound=F.value_bound,
                    excess=excess,
                )
        return None

    @cached_property
    def _rounding_unit(self) -> float:
        """The relative rounding error of the longest sums.

        The longest sums are the margins (t terms) and the edges (a block of rows); the sums of F are pairwise and
        shorter. The 10 covers the elementary functions. Each step counts one machine epsilon, twice the unit roundoff.
        """
        return (self.U.max_summands + self.U.t + 10) * float(np.finfo(np.float64).eps)

    def _shared_slack(self, w: HypothesisVector, mass: float) -> float:
        """Bound the effect of the rounding of margins and edges, for example weights whose sizes sum to `mass`."""
        # A user's formulation may return NumPy numbers.
        return float(self._rounding_unit * mass * (1.0 + np.abs(w).sum()))

    def _conjugate_slack(
        self, conjugate: ConjugatePoint, m: ExampleVector, best: _PrimalCandidate, w: HypothesisVector
    ) -> float:
        """Bound the rounding error of the lower bound, with the margins m of w; inf if there is no bound."""
        margin_error = self._shared_slack(w, 1.0)
        shared_slack = self._shared_slack(w, self.F.conjugate_mass(-m, margin_error))
        function_slack = self.F.conjugate_slack(conjugate, self._rounding_unit) + self.G.conjugate_slack(
            best.e, w, self.F.mass_of(best.d), self._rounding_unit
        )
        return as_bound(shared_slack + function_slack, np.inf)

    def _value_slack(self, best: _PrimalCandidate, w: HypothesisVector) -> float:
        """Bound the rounding error of the upper bound plus the cost of exact feasibility; inf if there is no bound."""
        mass = self.F.mass_of(best.d)
        function_slack = self.F.value_slack(best.d, self._rounding_unit) + self.G.value_slack(
            best.e, w, mass, self._rounding_unit
        )
        cost = best.cost if np.isfinite(best.cost) else 0.0
        return as_bound(self._shared_slack(w, mass) + function_slack + cost, np.inf)

    def _kkt(self, w: HypothesisVector | None, example_gaps: ExampleVector, hypothesis_gaps: HypothesisVector) -> KKT:
        """Return the residuals of the raw pair; a missing side violates all its conditions."""
        complete = self.d is not None and w is not None
        return KKT(
            {
                **self._d_residuals,
                **self.G.residuals(np.full(self.U.t, np.nan) if w is None else w),
                "d optimal for w": float(example_gaps.sum()) if complete else np.inf,
                "w optimal for d": float(hypothesis_gaps.sum()) if complete else np.inf,
            }
        )

    @cached_property
    def _domain_residuals(self) -> dict[str, float]:
        """The violations of the domain of F by the raw d."""
        return self.F.residuals(np.full(self.F.N, np.nan) if self.d is None else self.d)

    @cached_property
    def _d_residuals(self) -> dict[str, float]:
        """The violations of the domain of F by the raw d, and of the domain of G by its edges."""
        d, domain, residuals = self.d, self.G.domain(self.U.t), self._domain_residuals
        if domain is None:
            return residuals
        if d is None or not np.isfinite(d).all():
            return {**residuals, "edges allowed": np.inf}
        with np.errstate(over="ignore", invalid="ignore"):
            values = domain.image(self.U.edges(d))
            violation = float(np.maximum(values - domain.high, domain.low - values).max())
        return {**residuals, "edges allowed": max(0.0, violation) if np.isfinite(violation) else np.inf}


def _round_sum_down(*terms: float) -> float:
    """Return the sum of numbers rounded down; -inf if no finite lower bound is known."""
    if not all(map(math.isfinite, terms)):
        return -math.inf if any(math.isnan(term) or term == -math.inf for term in terms) else math.inf
    total = sum(map(Fraction, terms), Fraction(0))
    if abs(total) > MAX_FLOAT:
        return -math.inf if total < 0 else float(MAX_FLOAT)
    nearest = float(total)
    return nearest if nearest <= total else math.nextafter(nearest, -math.inf)


@dataclass(frozen=True)
class _PrimalCandidate:
    """Example weights after feasibility restoration, with edges e, cost, primal value and origin (see `d_is`)."""

    d: ExampleVector
    e: HypothesisVector
    cost: float
    value: float
    origin: str
