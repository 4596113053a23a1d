"""The certifier: (d, w) made feasible, whatever they hold, and the gap between primal and dual summed term by term."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.immutable_arrays import as_immutable
from boostopt.certificates.bound_checks import as_bound
from boostopt.certificates.certificate import KKT, Certificate
from boostopt.certificates.feasibility import is_in_domain, restore_feasibility
from boostopt.errors import ProblemError, short_repr
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer
from boostopt.rows.margin_matrix import Margins

MASS_TOL = 1e-9
"""By how much the weights may sum to more than 1 where an edge function is known on [-1, 1] only."""


LARGEST = Fraction(np.finfo(np.float64).max)
"""The largest float."""


@dataclass(frozen=True, eq=False)
class Certifier:
    """Certificates of one d with any w for min F(d) + G(Uᵀd): what depends on d alone is computed once, so is each w.

    A missing or meaningless w is replaced by the best answer to d (for the maximum edge: the best single
    hypothesis), a missing d by d(w).

    Attributes
    ----------
    U, F, G
        The program.
    d
        Example weights as they were given, None for none.
    """

    U: Margins
    F: Regularizer
    G: EdgeFunction
    d: Float[Array, " N"] | None = None
    _cache: dict[bytes | None, Certificate] = field(default_factory=dict[bytes | None, Certificate], init=False)

    def __post_init__(self) -> None:
        if not self.G.exact and self.F.mass > 1.0 + MASS_TOL:
            raise ProblemError(
                "a described edge function needs edges in [-1, 1]; the weights of this regularizer sum to "
                f"{self.F.mass:.6g}. Use it with weights on the simplex."
            )

    @cached_property
    def feasible_d(self) -> Float[Array, " N"]:
        """The given d made feasible; itself where it is."""
        d = self.d
        return (
            d if d is not None and is_in_domain(self.F, d, self._domain_residuals) else as_immutable(self.F.project(d))
        )

    @cached_property
    def edges(self) -> Float[Array, " t"]:
        """Edges of the repaired d."""
        return as_immutable(self.U.edges(self.feasible_d))

    @cached_property
    def for_feasible_d(self) -> Certifier:
        """The certifier of the repaired d: this one where another repair changes nothing."""
        again = replace(self, d=self.feasible_d)
        return self if np.array_equal(again.feasible_d, self.feasible_d) else again

    def certify(self, w: Float[Array, " t"] | None = None) -> Certificate:
        """Return what d proves with these hypothesis weights, as they were given."""
        key = None if w is None else w.tobytes()
        if key not in self._cache:
            certificate = self._certificate(w)
            self.U.check_unchanged()
            self.F.check_outer_arrays()
            self.G.check_outer_arrays()
            self._cache[key] = certificate
        return self._cache[key]

    def proves_infeasible(self, w: Float[Array, " t"]) -> bool:
        """Whether these hypothesis weights prove alone that there is no feasible d; far cheaper than a certificate."""
        return self._infeasibility_proof(self._feasible_w(w), w) is not None

    def _feasible_w(self, w: Float[Array, " t"] | None) -> Float[Array, " t"]:
        """Return w made feasible, or the best answer to d where there is none, or none near it."""
        near = None if w is None else self.G.project(w) if self.d is None else self.G.near(w, self.edges)
        return as_immutable(self.G.subgradient(self.edges) if near is None else near)

    def _certificate(self, w: Float[Array, " t"] | None) -> Certificate:
        U, F, G, d = self.U, self.F, self.G, self.d
        v = self._feasible_w(w)
        proof = self._infeasibility_proof(v, w)
        if proof is not None:
            return proof
        m = U.margins(v)
        at = F.conjugate_at(-m, None if d is None else self.feasible_d)
        d_of_w = as_immutable(at.d)
        answer = self._candidate_near(d_of_w, U.edges(d_of_w), "d(w)")
        best, other = sorted((answer, self._candidate_from_d), key=lambda candidate: candidate.value)
        above = self._value_slack(best, v)
        if above == np.inf:
            best, above = other, self._value_slack(other, v)
        below = self._conjugate_slack(at, best.e, v)
        # An end whose rounding has no bound is infinite. It says nothing of the other end.
        slack = max((side for side in (below, above) if side < np.inf), default=0.0)
        # The conditions are judged on what was given, not on what it was replaced by.
        raw_gaps = F.gaps(self.feasible_d, -m, at), G.gaps(self.edges, v)
        gaps = raw_gaps if best.d is self.feasible_d else (F.gaps(best.d, -m, at), G.gaps(best.e, v))
        certificate = Certificate(
            lower=_below(-F.conjugate_bound(-m, at), -G.conjugate(v, best.e), -max(slack, below)),
            upper=-_below(-best.value, -max(slack, above)),
            slack=slack,
            d=best.d,
            w=v,
            d_is=best.origin,
            example_gaps=gaps[0],
            hypothesis_gaps=gaps[1],
            multipliers={"w": v, **at.multipliers, **G.multipliers(best.e)},
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
        """The candidate of the given d."""
        meaningful = self.d is not None and bool((np.isfinite(self.d) & (self.d > 0)).any())
        return self._candidate_near(self.feasible_d, self.edges, "repaired" if meaningful else "start")

    def _candidate_near(self, d: Float[Array, " N"], e: Float[Array, " t"], origin: str) -> _PrimalCandidate:
        """Return the candidate near d, whose edges are e."""
        met, cost = restore_feasibility(self.U, self.F, self.G, d)
        met, e = as_immutable(met), as_immutable(e if met is d else self.U.edges(met))
        value = -_below(-self.F.value(met), -self.G.value(e)) if np.isfinite(cost) else np.inf
        return _PrimalCandidate(met, e, cost, value, origin)

    def _infeasibility_proof(self, v: Float[Array, " t"], w: Float[Array, " t"] | None) -> Certificate | None:
        """Return a proof that no d in the domain of F has its edges in that of G, if a ray made of v is one."""
        U, F, G = self.U, self.F, self.G
        for ray in G.rays(v):
            m = U.margins(ray)
            sizes = F.magnitude + G.magnitude(np.zeros(U.t), ray, F.mass)
            slack = self._shared_slack(ray) + float(self._unit * sizes)
            excess = -F.support(-m) - G.support(ray) - slack
            if excess > 0:
                none = np.zeros(U.N), np.zeros(U.t)
                return Certificate(
                    lower=np.inf,
                    upper=np.inf,
                    slack=slack,
                    d=F.conjugate_at(-m).d,
                    w=ray,
                    d_is="d(w)",
                    example_gaps=none[0],
                    hypothesis_gaps=none[1],
                    multipliers={"w": ray},
                    kkt=self._kkt(w, *none),
                    value_bound=F.value_bound,
                    excess=excess,
                )
        return None

    @cached_property
    def _unit(self) -> float:
        """The length of the longest sums, in roundings.

        Those are the margins (t terms), the edges (a block of rows) and those of F (pairwise, shorter); 10 covers the
        elementary functions. One machine epsilon a step: twice the unit roundoff.
        """
        return (self.U.summation_length + self.U.t + 10) * float(np.finfo(np.float64).eps)

    def _shared_slack(self, w: Float[Array, " t"]) -> float:
        """Bound what margins and edges lose to rounding."""
        # A page of one's own may state sizes as numbers of NumPy's.
        return float(self._unit * self.F.mass * (1.0 + np.abs(w).sum()))

    def _conjugate_slack(self, at: ConjugatePoint, e: Float[Array, " t"], w: Float[Array, " t"]) -> float:
        """Bound what the lower end loses to rounding; inf where nothing does."""
        own = self.F.conjugate_slack(at, self._unit) + self.G.conjugate_slack(e, w, self.F.mass, self._unit)
        return as_bound(self._shared_slack(w) + own, np.inf)

    def _value_slack(self, best: _PrimalCandidate, w: Float[Array, " t"]) -> float:
        """Bound what the upper end loses to rounding, and to the way to an exactly feasible point; inf as above."""
        own = self.F.value_slack(best.d, self._unit) + self.G.value_slack(best.e, w, self.F.mass, self._unit)
        return as_bound(self._shared_slack(w) + own + (best.cost if np.isfinite(best.cost) else 0.0), np.inf)

    def _kkt(
        self, w: Float[Array, " t"] | None, example_gaps: Float[Array, " N"], hypothesis_gaps: Float[Array, " t"]
    ) -> KKT:
        """Return the residuals of the raw pair; a missing side fails all its conditions."""
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
        """By how much the raw d leaves the domain of F."""
        return self.F.residuals(np.full(self.F.N, np.nan) if self.d is None else self.d)

    @cached_property
    def _d_residuals(self) -> dict[str, float]:
        """By how much the raw d leaves the domain of F, and its edges that of G, where it has one."""
        d, allowed, of_d = self.d, self.G.domain(self.U.t), self._domain_residuals
        if allowed is None:
            return of_d
        if d is None or not np.isfinite(d).all():
            return {**of_d, "edges allowed": np.inf}
        with np.errstate(over="ignore", invalid="ignore"):
            image = allowed.image(self.U.edges(d))
            beyond = float(np.maximum(image - allowed.high, allowed.low - image).max())
        return {**of_d, "edges allowed": max(0.0, beyond) if np.isfinite(beyond) else np.inf}


def _below(*terms: float) -> float:
    """Return the sum of numbers rounded down, -inf where it has no finite bound."""
    if not all(map(math.isfinite, terms)):
        return -math.inf if any(math.isnan(term) or term == -math.inf for term in terms) else math.inf
    exact = sum(map(Fraction, terms), Fraction(0))
    if abs(exact) > LARGEST:
        return -math.inf if exact < 0 else float(LARGEST)
    rounded = float(exact)
    return rounded if rounded <= exact else math.nextafter(rounded, -math.inf)


@dataclass(frozen=True)
class _PrimalCandidate:
    """Weights moved into the domains of F and G as far as they could be, and the primal value that they prove."""

    d: Float[Array, " N"]
    e: Float[Array, " t"]
    cost: float
    value: float
    origin: str
