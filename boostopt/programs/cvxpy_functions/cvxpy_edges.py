"""Edge functions from a CVXPY expression.

The edges of weights on the simplex lie in [-1, 1], so that only the values of G on this box matter. Then

    G*(w) = max over |e| <= 1 of <w, e> - G(e),

minus the optimum of a convex problem, which weak duality bounds from below (`partial_minimum`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt._utils.cvxpy_tools import cp, required_cones
from boostopt._utils.validation import check_callable
from boostopt.errors import ProblemError, attach_user_function
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import EdgeFunction, clip_to_finite, nonnegative_residuals
from boostopt.functions.formulas.intervals import Interval, allowance
from boostopt.programs.cvxpy_functions.cvxpy_description import Description, read_description
from boostopt.programs.cvxpy_functions.partial_minimum import PartialMinimum
from boostopt.programs.cvxpy_functions.point_slopes import describe_linear_form
from boostopt.programs.cvxpy_functions.value_cache import RecentValues

MAX_GAP = 1e-6
"""G(e) + G*(w) - <w, e>, over max(1, |G(e)|), above which w counts as far from the subgradients at e."""


@dataclass(frozen=True, eq=False)
class CvxpyEdges(EdgeFunction):
    """A convex function of the edges, finite on [-1, 1]^t, from its CVXPY expression.

    Use it with regularizers whose weights sum to at most 1.

    Parameters
    ----------
    G
        The function that describes G. It takes an affine expression of shape (t,) and returns a convex scalar, or a
        pair (scalar, constraints) whose further variables G is the minimum over, as in `CvxpyRegularizer`.

    Raises
    ------
    ProblemError
        On first use with t edges: the expression is not a scalar, or not convex by CVXPY's rules, or has an atom whose
        rounding cannot be bounded.
    """

    G: Callable[[Any], Any]

    has_closed_form_conjugate = False

    def __post_init__(self) -> None:
        check_callable("G", self.G, "a function of the edges", ProblemError)

    _minima: dict[int, PartialMinimum] = field(default_factory=dict[int, PartialMinimum], init=False, repr=False)

    _conjugates: RecentValues[float] = field(default_factory=RecentValues[float], init=False, repr=False)

    def _required_cones(self) -> frozenset[str]:
        description = self._description(2)
        e = description.variable
        constraints = [*description.constraints, e <= 1, e >= -1]
        return required_cones(cp.Problem(cp.Minimize(description.expression), constraints))

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    def settle(self, t: int) -> None:
        self._minimum(t)

    def description(self, t: int) -> Description:
        """Return G for t edges as an expression of the edges, with its constraints."""
        return self._minimum(t).description

    def value(self, e: HypothesisVector) -> float:
        """Return an upper bound of G(e) that includes the rounding."""
        return self._upper_bound(e, 0.0)

    def value_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        # Twice the rounding error of an edge: the other half covers the distance to an exactly feasible d.
        return allowance(self.value(e), self._upper_bound(e, 2.0 * unit * mass))

    def conjugate_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        return 0.0

    def _upper_bound(self, e: HypothesisVector, radius: float) -> float:
        """Return an upper bound of G at edges within a radius of e and in [-1, 1], which contains exact edges."""
        return self._minimum(len(e)).upper_bound(np.clip(e, -1.0, 1.0), radius)

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return self._conjugates.compute(w, lambda: self._conjugate_bound(w, start))

    def _conjugate_bound(self, w: HypothesisVector, start: HypothesisVector | None) -> float:
        """Return an upper bound of G*(w), by tangents at a point if they are good, else with a solver."""
        minimum, bound = self._minimum(len(w)), math.inf
        if start is not None and minimum.is_unconstrained:
            bound, is_tight = minimum.bound_from(w, np.clip(start, -1.0, 1.0), 0.0)
            if is_tight:
                return bound
        maximizer = minimum.maximize(w)
        center = np.zeros(len(w)) if maximizer.x is None else np.clip(maximizer.x, -1.0, 1.0)
        return min(bound, minimum.conjugate_bound(w, maximizer, center))

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        slopes = self._minimum(len(e)).subgradient(np.clip(e, -1.0, 1.0))
        return np.zeros(len(e)) if slopes is None else slopes

    def describe_kinks(self, e: HypothesisVector) -> Sequence[str]:
        minimum = self._minimum(len(e))
        rows = [] if minimum.has_further_variables else minimum.slopes_at(np.clip(e, -1.0, 1.0)).kink_gradients()
        return [describe_linear_form("e", row) for row in rows]

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return clip_to_finite(w)

    def project_for_edges(self, w: HypothesisVector, e: HypothesisVector) -> HypothesisVector | None:
        """Return w, or a subgradient at e near w if w is far from all of them: then its bound is better."""
        point, minimum, e = clip_to_finite(w), self._minimum(len(e)), np.clip(e, -1.0, 1.0)
        if not minimum.is_unconstrained:
            return point
        value = self.value(e)
        gap = math.fsum([value, self.conjugate(point, e), *(-point * e).tolist()])
        if gap <= MAX_GAP * max(1.0, abs(value)):
            return point
        subgradient = minimum.nearest_subgradient(point, e)
        return point if subgradient is None else subgradient

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        return nonnegative_residuals(w, {"w finite": 0.0})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        gap = max(math.fsum([self.value(e), self.conjugate(w, e), *(-w * e).tolist()]), 0.0)
        return np.full(len(e), gap / len(e))

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return self._minimum(e.size).description.with_argument(e)

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("the conjugate of a described edge function is not known in closed form. Use the primal.")

    def _description(self, t: int) -> Description:
        """Return the description of G for t edges."""
        description = read_description("the edge function", self.G, cp.Variable(t, name="e"))
        G = description.expression
        if G.size != 1 or not G.is_convex():
            raise ProblemError(
                f"an edge function must be a convex scalar expression; got shape {G.shape}, {G.curvature}: {G}. "
                "Write it with atoms that CVXPY recognizes as convex."
            )
        return description

    def _minimum(self, t: int) -> PartialMinimum:
        """Return G for t edges, read once."""
        if t not in self._minima:
            description, ends = self._description(t), np.ones(t)
            try:
                minimum = PartialMinimum(
                    "the edge function", description, -ends, Interval(ends, ends), False, 0.0 * ends
                )
            except ProblemError as error:
                raise attach_user_function(error, self.G) from None
            self._minima[t] = minimum
        return self._minima[t]
