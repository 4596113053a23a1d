"""Separable regularizers: sums over the examples, F(d) = sum f_n(d_n) on a box, with or without I[sum d = 1].

A subclass defines f, f', the box, and the argmax of y x - f(x) over the box. The base class derives the multiplier beta
of sum d = 1, the multipliers of the box, the conjugate and the gaps. The multiplier splits the conjugate into one
problem for each example: F*(z) = min_beta beta + sum_n f_n*(z_n - beta). Any beta gives an upper bound on F*(z), hence
a valid lower bound of the dual. With y = z - beta, the maximizers satisfy f'(d) + beta + psi - zeta = z, where psi >= 0
belongs to the upper bound of the box and zeta >= 0 to the lower bound. Without the simplex there is no beta.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_instance, check_list
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.formulas.conjugate_maximizers import BOUNDARY_FRACTION
from boostopt.functions.formulas.formula_and_conjugate_bounds import MIN_END_DISTANCE
from boostopt.functions.formulas.intervals import Interval, allowance, exact_interval
from boostopt.functions.numerics.root_finding import solve_simplex_multiplier
from boostopt.functions.regularizers.base import (
    ConjugatePoint,
    Enclosures,
    Pointwise,
    Regularizer,
    StationarityConditions,
)
from boostopt.functions.regularizers.capped_simplex import (
    WEIGHT_SUM_TOL,
    CappedSimplex,
    feasible_box,
    renormalize_in_box,
)

FINITE_DIFFERENCE_STEP = 1e-5
"""Step of a numerical second derivative, as a fraction of the distance to the nearer end of the box."""

MAX_SLOPE = 1e150
"""Absolute value that replaces an infinite slope. Any slope gives a valid bound."""

SUM_ROUNDING_FACTOR = 1.0 + 1e-9
"""Covers the rounding of a sum of non-negative numbers, each computed to a few ulps, and of the caps."""

MAX_BISECTIONS = 64
"""Number of steps of a bisection of the non-negative doubles: one step for each bit."""


class Separable(Regularizer):
    """A sum of convex functions f_n of one weight each, on [lower, upper] and, if `on_simplex`, the simplex."""

    def __add__(self, term: Separable) -> Separable:
        """Return the sum, on the intersection of the domains.

        Raises
        ------
        ProblemError
            The second term is not Separable.
        """
        expected = "a sum over the examples in closed form (Separable)"
        check_instance(
            "the second term", term, Separable, expected, "Write both as one CVXPY expression.", ProblemError
        )
        return SeparableSum((self, term))

    @property
    def lower(self) -> ExampleVector:
        """The lower bound of the box, shape (N,), 0 by default."""
        return np.zeros(self.N)

    @property
    @abstractmethod
    def upper(self) -> ExampleVector:
        """The upper bound of the box, shape (N,)."""

    @abstractmethod
    def values(self, d: ExampleVector) -> ExampleVector:
        """Return f_n(d_n)."""

    @abstractmethod
    def derivatives(self, d: ExampleVector) -> ExampleVector:
        """Return f_n'(d_n); it may be -inf, as for entropies at 0."""

    @abstractmethod
    def maximizers(self, y: ExampleVector) -> ExampleVector:
        """Return the argmax over x in the box of y_n x - f_n(x), shape (N,), a nondecreasing function of y_n."""

    @property
    def enclosures(self) -> Enclosures | None:
        """The functions that enclose values and slopes; None for closed forms, whose rounding `magnitude` bounds."""
        return None

    def _value_intervals(self, d: ExampleVector) -> Interval:
        """Return f_n(d_n) as intervals. Values of closed forms are taken as exact."""
        return exact_interval(self.values(d)) if self.enclosures is None else self.enclosures.values(exact_interval(d))

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        """Return f_n''(d_n) for d inside the box; by default from differences of f'.

        Newton steps use it. No bound depends on it.
        """
        step = FINITE_DIFFERENCE_STEP * np.minimum(d - self.lower, self.upper - d)
        derivative_change = self.derivatives(d + step) - self.derivatives(d - step)
        return np.divide(np.maximum(derivative_change, 0.0), 2.0 * step, out=np.zeros(self.N), where=step > 0)

    def magnitude_within(self, upper: ExampleVector, on_simplex: bool) -> float:
        """Return `magnitude` on a part of the domain: weights up to `upper`, on the simplex or not.

        The default is `magnitude` on the whole domain.
        """
        return self.magnitude

    @property
    def soft_margin_caps(self) -> ExampleVector | None:
        return self.upper if self.is_indicator and not self.lower.any() else None

    def pointwise(self) -> Pointwise | None:
        return Pointwise(self.lower, self.upper, self.derivatives, self.curvatures, self.on_simplex)

    @cached_property
    def derivative_jump(self) -> tuple[int, float, float] | None:
        """The example, the weight and the size of a jump of some f_n'; None if the search finds no jump."""
        terms = self.pointwise()
        return None if terms is None else terms.find_derivative_jump()

    def conjugate_terms(self, y: ExampleVector) -> ExampleVector:
        """Return f_n*(y_n)."""
        x = self.maximizers(y)
        return y * x - self.values(x)

    def young_gaps(self, d: ExampleVector, y: ExampleVector) -> ExampleVector:
        """Return f_n(d_n) + f_n*(y_n) - y_n d_n >= 0.

        Each term is the Bregman distance of d_n to the maximizer plus the multipliers of the box times their slacks.
        """
        x = self.maximizers(y)
        psi, zeta = self._box_multipliers(y)
        at_d = self.values(d)
        with np.errstate(invalid="ignore"):
            # y - psi + zeta is f'(x). It is finite also if x has underflowed to an end at which f' is infinite.
            bregman = at_d - self.values(x) - (y - psi + zeta) * (d - x)
        # A barrier is infinite at the cap. Then the gap is infinite too, even if x has been rounded to the cap.
        bregman = np.where((at_d == np.inf) | np.isnan(bregman), np.inf, bregman)
        return np.maximum(bregman, 0.0) + psi * (self.upper - d) + zeta * (d - self.lower)

    def solve_simplex_multiplier(self, z: ExampleVector) -> tuple[float, ExampleVector]:
        """Return (beta, d) with d a maximizer at z - beta and sum d = 1."""
        box = self.lower, self.upper
        beta, x_at_high, x_at_low = solve_simplex_multiplier(self._maximizers_between, z, box, WEIGHT_SUM_TOL)
        return beta, interpolate_to_sum_one(x_at_high, x_at_low)

    def _maximizers_between(self, y: ExampleVector, low: ExampleVector, high: ExampleVector) -> ExampleVector:
        """Return the maximizers at y, which must lie between low and high; closed forms need no bounds."""
        return self.maximizers(y)

    @property
    def mass(self) -> float:
        return 1.0 if self.on_simplex else float(np.maximum(np.abs(self.lower), np.abs(self.upper)).sum())

    def _sum_of_sizes(self, d: ExampleVector) -> float:
        """Return an upper bound of the sum of the absolute weights d, shape (N,)."""
        return float(np.abs(d).sum()) * SUM_ROUNDING_FACTOR

    def _sum_of_maximizers(self, z: ExampleVector, shift: float) -> float:
        """Return an upper bound of the sum of the maximizers at all points within `shift` of z, shape (N,).

        It holds for non-negative weights without the simplex, whose maximizers do not decrease in z.
        """
        return self._sum_of_sizes(self.maximizers(z + shift))

    def value(self, d: ExampleVector) -> float:
        return float(self.values(d).sum())

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        beta, d = self.solve_simplex_multiplier(z) if self.on_simplex else (0.0, None)
        y = z - beta
        psi, zeta = self._box_multipliers(y)
        value = beta + float(self.conjugate_terms(y).sum())
        if d is None:
            return ConjugatePoint(value, self.maximizers(y), {"psi": psi, "zeta": zeta})
        return ConjugatePoint(
            value, renormalize_in_box(d, self.lower, self.upper), {"beta": beta, "psi": psi, "zeta": zeta}
        )

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        return self.young_gaps(d, z - point.multipliers.get("beta", 0.0))

    def support(self, z: ExampleVector) -> float:
        lower, upper = self.lower, self.upper
        if not self.on_simplex:
            return float(np.maximum(lower * z, upper * z).sum())
        order, width, remaining_mass = np.argsort(-z), upper - lower, max(1.0 - float(lower.sum()), 0.0)
        # For any beta, <d - lower, z - beta> is at most the sum of width [z - beta]_+. The cumulative sum, which is
        # less accurate, only chooses beta, and pairwise summation gives the value.
        last = int(np.searchsorted(np.cumsum(width[order]), remaining_mass))
        beta = float(z[order[min(last, len(z) - 1)]])
        return beta * remaining_mass + float((lower * z + width * np.maximum(z - beta, 0.0)).sum())

    def room(self, d: ExampleVector) -> ExampleVector:
        return np.maximum(np.minimum(d - self.lower, self.upper - d), 0.0)

    def increase_bound(self, d: ExampleVector, share: ExampleVector) -> float:
        # The bound of the base class by convexity, for one weight at a time.
        room, values = self.room(d), self._value_intervals(d)
        ends = (self._value_intervals(np.clip(d + step, self.lower, self.upper)).upper for step in (room, -room))
        increase = float((share * np.maximum(np.maximum(*ends) - values.lower, 0.0)).sum())
        return np.inf if np.isnan(increase) else increase

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        lower, upper = self.lower, self.upper
        clipped = np.clip(d, lower + min_relative_weight * (upper - lower), upper)
        return StationarityConditions(self.derivatives(clipped), lower, upper, np.zeros((self.N, 0)))

    def residuals(self, d: ExampleVector) -> dict[str, float]:
        finite = bool(np.isfinite(d).all())
        with np.errstate(over="ignore", invalid="ignore"):  # a sum that overflows is an infinite violation
            violations = {
                "d >= lower": max(0.0, float((self.lower - d).max())),
                "d <= upper": max(0.0, float((d - self.upper).max())),
                **({"sum d = 1": abs(float(d.sum()) - 1.0)} if self.on_simplex else {}),
            }
        return violations if finite else dict.fromkeys(violations, np.inf)

    def _box_multipliers(self, y: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        """Return the multipliers of d <= upper and d >= lower: the excess of y over the slopes at these ends."""
        psi = np.maximum(y - self.derivatives(self.upper), 0.0)
        zeta = np.maximum(self.derivatives(self.lower) - y, 0.0)
        return psi, zeta


def interpolate_to_sum_one(lower_d: ExampleVector, upper_d: ExampleVector) -> ExampleVector:
    """Return the convex combination with sum 1 of two maximizers, one with a sum below 1 and one with a sum above 1."""
    difference = float(upper_d.sum() - lower_d.sum())
    fraction = (1.0 - float(lower_d.sum())) / difference if difference > 0 else 1.0
    return lower_d + min(max(fraction, 0.0), 1.0) * (upper_d - lower_d)


def _increase_in_box(term: Separable, d: ExampleVector, box: Interval) -> float:
    """Return the increase of a convex sum from d to the worst point of a box around d, which is at ends of the box."""
    largest = np.maximum(term.values(box.lower), term.values(box.upper))
    return float(np.maximum(largest - term.values(d), 0.0).sum())


@dataclass(frozen=True)
class SeparableSum(Separable):
    """The sum of separable regularizers on the intersection of their boxes, on the simplex if one of them is.

    Bisection on f' finds the maximizers for all examples at once. The conjugate for CVXPY is the infimal convolution of
    the conjugates of the terms: (F_1 + F_2)*(z) = min over s of F_1*(z - s) + F_2*(s).

    Parameters
    ----------
    terms
        Regularizers of the same number of examples, with lower bounds of 0.

    Raises
    ------
    ProblemError
        There is no term, or the terms have different N, or a lower bound is not 0.
    """

    terms: tuple[Separable, ...]

    def __post_init__(self) -> None:
        expected = "sums over the examples in closed form (Separable)"
        advice = "Pass terms such as CappedSimplexIndicator(domain) and Squares(c, mu)."
        terms = check_list("terms", self.terms, expected, advice)
        for term in terms:
            check_instance("terms", term, Separable, expected, advice, ProblemError)
        object.__setattr__(self, "terms", tuple(terms))
        sizes = {term.N for term in self.terms}
        if len(sizes) != 1:
            raise ProblemError(
                f"terms must be regularizers of the same examples; got N = {sorted(sizes) or 'no term'}. Pass terms "
                "with the same N."
            )
        if any(np.any(term.lower != 0) for term in self.terms):
            raise ProblemError(
                "terms must be regularizers of non-negative weights; got a lower bound that is not 0. Pass other terms."
            )

    def _required_cones(self) -> frozenset[str]:
        return frozenset[str]().union(*(term.cones for term in self.terms))

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    @computed_attribute
    def on_simplex(self) -> bool:
        return any(term.on_simplex for term in self.terms)

    @property
    def N(self) -> int:
        return self.terms[0].N

    @property
    def strong_convexity(self) -> float:
        return sum(term.strong_convexity for term in self.terms)

    @property
    def unsmoothed(self) -> Regularizer:
        unsmoothed = tuple(cast(Separable, term.unsmoothed) for term in self.terms)
        is_unchanged = all(F0 is F for F0, F in zip(unsmoothed, self.terms, strict=True))
        return self if is_unchanged else SeparableSum(unsmoothed)

    @property
    def price(self) -> float:
        # Each term that smooths has a price, which does not depend on the other terms.
        return sum(term.price for term in self.terms)

    @cached_property
    def upper(self) -> ExampleVector:
        return np.min([term.upper for term in self.terms], axis=0)

    @property
    def value_bound(self) -> float:
        return sum(term.value_bound for term in self.terms)

    @property
    def magnitude(self) -> float:
        # A term may be large outside the domains of the other terms.
        return sum(term.magnitude_within(self.upper, self.on_simplex) for term in self.terms)

    @cached_property
    def _term_enclosures(self) -> list[Enclosures]:
        """The enclosures of the terms that have enclosures."""
        return [enclosures for term in self.terms if (enclosures := term.enclosures) is not None]

    @cached_property
    def _closed_form_terms(self) -> list[Separable]:
        """The terms in closed form."""
        return [term for term in self.terms if term.enclosures is None]

    def _value_intervals(self, d: ExampleVector) -> Interval:
        intervals = [term._value_intervals(d) for term in self.terms]
        return sum(intervals[1:], start=intervals[0])

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        if not self._term_enclosures:
            return super().value_slack(d, unit)
        box, values = feasible_box(d, self._exact_upper), np.array([term.values(d) for term in self.terms])
        total = sum(
            (enclosures.values(box) for enclosures in self._term_enclosures), start=exact_interval(np.zeros(self.N))
        ).total()
        enclosed_value = sum(term.value(d) for term in self.terms if term.enclosures is not None)
        closed_form_slack = sum(
            term.value_slack(d, unit) + _increase_in_box(term, d, box) for term in self._closed_form_terms
        )
        return allowance(enclosed_value, total.upper) + closed_form_slack + unit * float(np.abs(values).sum())

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        return point.slack + sum(term.conjugate_slack(point, unit) for term in self._closed_form_terms)

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        point = super().conjugate_at(z, start)
        if not self._term_enclosures:
            return point
        # Affine minorants of each term: tangents and, for closed forms of f*, s d - f*(s) with any slope s.
        beta, upper = float(point.multipliers["beta"]), self._exact_upper
        y = exact_interval(z) + exact_interval(np.array(-beta))
        x = np.clip(self.maximizers(z - beta), BOUNDARY_FRACTION * upper.lower, upper.lower * (1.0 - MIN_END_DISTANCE))
        slope, constant, points = exact_interval(np.zeros(self.N)), exact_interval(np.zeros(self.N)), exact_interval(x)
        for enclosures in self._term_enclosures:
            derivatives = enclosures.slopes(points)
            slope, constant = slope + derivatives, constant + (derivatives * points + -enclosures.values(points))
        for term in self._closed_form_terms:
            derivatives = np.clip(term.derivatives(x), -MAX_SLOPE, MAX_SLOPE)
            slope, constant = (
                slope + exact_interval(derivatives),
                constant + exact_interval(term.conjugate_terms(derivatives)),
            )
        excess = y + -slope
        end_terms = excess.positive() * (upper + -points) + (-excess).positive() * points
        bounds = (excess * points + constant + end_terms).total() + exact_interval(beta)
        value = float(bounds.middle if bounds.is_finite else bounds.upper)
        return replace(point, value=value, slack=allowance(value, float(bounds.upper)))

    @cached_property
    def _exact_upper(self) -> Interval:
        """The intervals that contain the exact caps."""
        closed_form_caps = [Interval.round_outward(term.upper, term.upper, 0.0) for term in self._closed_form_terms]
        caps = [enclosures.upper for enclosures in self._term_enclosures] + closed_form_caps
        return Interval(np.min([cap.lower for cap in caps], axis=0), np.min([cap.upper for cap in caps], axis=0))

    @property
    def weight_scale(self) -> ExampleVector:
        return self.terms[0].weight_scale

    @property
    def objective_scale(self) -> float:
        return min(term.objective_scale for term in self.terms)

    def values(self, d: ExampleVector) -> ExampleVector:
        return np.sum([term.values(d) for term in self.terms], axis=0)

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return np.sum([term.derivatives(d) for term in self.terms], axis=0)

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return np.sum([term.curvatures(d) for term in self.terms], axis=0)

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return self._maximizers_between(y, np.zeros(self.N), self.upper)

    def _maximizers_between(self, y: ExampleVector, low: ExampleVector, high: ExampleVector) -> ExampleVector:
        """Return the maximizers at y, if they lie between low and high, by bisection of all weights."""
        # Non-negative doubles have the order of their bits, so that bisection of the bits also finds tiny weights fast.
        a, b = low.view(np.int64), high.view(np.int64)
        at_high = self.derivatives(high) <= y
        for _ in range(MAX_BISECTIONS):
            middle = a + (b - a) // 2
            if np.all((middle == a) | at_high):
                break
            is_above = self.derivatives(middle.view(np.float64)) > y
            a, b = np.where(is_above, a, middle), np.where(is_above, middle, b)
        # If y is less than the slope at 0, the bisection ends at 0, where `a` started.
        return np.where(at_high, high, a.view(np.float64))

    def project(self, d: ExampleVector | None) -> ExampleVector:
        if d is None:
            return self.conjugate_at(np.zeros(self.N)).d
        if not self.on_simplex:
            return np.clip(np.where(np.isfinite(d), d, 0.0), 0.0, self.upper)
        return CappedSimplex(self.upper, 1.0).repair(d, self.weight_scale)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        values, constraints = zip(*(term.cvxpy_value(d) for term in self.terms), strict=True)
        return sum(values), [constraint for group in constraints for constraint in group]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        variables = [cp.Variable(self.N) for _ in self.terms[1:]]
        arguments = [z - sum(variables), *variables]
        conjugates = [term.cvxpy_conjugate(s) for term, s in zip(self.terms, arguments, strict=True)]
        values, constraints = zip(*conjugates, strict=True)
        return sum(values), [constraint for group in constraints for constraint in group]
