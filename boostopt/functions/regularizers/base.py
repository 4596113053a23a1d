"""The interface of regularizers F: convex functions of the example weights with a conjugate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.functions.convex_function import ConvexFunction
from boostopt.functions.formulas.intervals import Interval
from boostopt.functions.regularizer_statements import Statement


@dataclass(frozen=True)
class ConjugatePoint:
    """The conjugate F* at one point z, with a maximizer and the multipliers of the constraints of the domain.

    Attributes
    ----------
    value
        F*(z) = max_d <z, d> - F(d), or a larger number. It is never smaller, because -value is a lower bound.
    d
        A maximizer, shape (N,), in the domain of F.
    multipliers
        The multipliers of the constraints of F's domain by their names in the papers, for instance beta and psi.
    slack
        The rounding allowance of `value`, if it is computed with the value; inf if no finite number is a bound. 0 if
        `magnitude` bounds the rounding.
    """

    value: float
    d: ExampleVector
    multipliers: Mapping[str, float | ExampleVector]
    slack: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True)
class StationarityConditions:
    """The conditions under which d maximizes <z, d> - F(d), as linear equations in the multipliers.

    z = slopes + beta + psi - zeta + normals @ nu, with beta only on the simplex, psi >= 0 where d is at `upper`,
    zeta >= 0 where d is at `lower`, and nu >= 0.

    Attributes
    ----------
    gradient
        The gradient of the smooth part of F at d, shape (N,).
    lower, upper
        The ends of the box, shape (N,).
    normals
        The gradients of further constraints or of norms that are active at d, shape (N, k).
    required_inner_product
        The value that <d, z - slopes - beta> must have in addition; None for no such condition.
    """

    gradient: ExampleVector
    lower: ExampleVector
    upper: ExampleVector
    normals: Float[Array, "N k"]
    required_inner_product: float | None = None


BOX_BOUND_TOL = 1e-9
"""Distance to an end of the box, as a fraction of its upper bound, up to which a weight counts as at the end."""

JUMP_SEARCH_SEGMENTS, JUMP_SEARCH_BISECTIONS = 8, 35
"""Number of segments of the box in the search for a jump of a derivative, and number of bisections of each segment,
which reach intervals of 4e-12 of the box."""

JUMP_TOL = 1e-6
"""Smallest increase of a derivative on such an interval that counts as a jump, relative to 1 plus the absolute
derivatives at the ends of the segment."""


@dataclass(frozen=True)
class Pointwise:
    """A regularizer as a sum over the examples, F(d) = sum f_n(d_n) on lower <= d <= upper, for second-order methods.

    Attributes
    ----------
    lower, upper
        The ends of the box, shape (N,).
    derivatives, curvatures
        The functions that return f_n'(d_n) and f_n''(d_n) for d inside the box, shape (N,).
    on_simplex
        Whether the weights must sum to 1.
    """

    lower: ExampleVector
    upper: ExampleVector
    derivatives: Callable[[ExampleVector], ExampleVector]
    curvatures: Callable[[ExampleVector], ExampleVector]
    on_simplex: bool

    def inverse_curvatures_inside_box(self, d: ExampleVector) -> ExampleVector:
        """Return 1 / f_n''(d_n) for the weights inside the box, and 0 for the weights at its ends."""
        is_inside = (d > self.lower + BOX_BOUND_TOL * self.upper) & (d < self.upper * (1.0 - BOX_BOUND_TOL))
        if not is_inside.any():
            return np.zeros(len(d))
        return np.where(is_inside, 1.0 / self.curvatures(np.where(is_inside, d, 0.5 * (self.lower + self.upper))), 0.0)

    def find_derivative_jump(self) -> tuple[int, float, float] | None:
        """Return the example, the weight and the size of a jump of some f_n'; None if the search finds no jump.

        A continuous derivative hardly increases on a tiny interval. So the search bisects intervals and continues in
        the half with the larger increase.
        """
        width = self.upper - self.lower
        for segment in range(JUMP_SEARCH_SEGMENTS):
            low, high = (self.lower + (0.01 + 0.98 * (segment + k) / JUMP_SEARCH_SEGMENTS) * width for k in (0, 1))
            at_low, at_high = self.derivatives(low), self.derivatives(high)
            scale = 1.0 + (np.abs(at_low) + np.abs(at_high))
            for _ in range(JUMP_SEARCH_BISECTIONS):
                middle = 0.5 * (low + high)
                at_middle = self.derivatives(middle)
                in_left_half = at_middle - at_low > at_high - at_middle
                low, at_low = np.where(in_left_half, low, middle), np.where(in_left_half, at_low, at_middle)
                high, at_high = np.where(in_left_half, middle, high), np.where(in_left_half, at_middle, at_high)
            increase = np.where(width > 0, at_high - at_low, 0.0)
            n = int(np.argmax(increase / scale))
            if increase[n] > JUMP_TOL * scale[n]:
                return n, float(high[n]), float(increase[n])
        return None


@runtime_checkable
class Enclosures(Protocol):
    """A sum over the examples with intervals that enclose its values and slopes, shape (N,)."""

    @property
    def upper(self) -> Interval:
        """The intervals that contain the exact caps."""
        ...

    def values(self, d: Interval) -> Interval:
        """Return intervals of f_n over a box of weights."""
        ...

    def slopes(self, d: Interval) -> Interval:
        """Return intervals of f_n' over a box of weights."""
        ...


class Regularizer(ConvexFunction):
    """A closed convex function F of the example weights d, shape (N,), with a bounded domain.

    The constraints on the weights are those of the domain of F. See `ConvexFunction` for the members that F has in
    common with an edge function.
    """

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})

    on_simplex: bool = True
    """True if the weights sum to 1 in the domain of F."""

    signed: bool = False
    """True if weights may be negative."""

    @property
    @abstractmethod
    def N(self) -> int:
        """The number of examples."""

    @property
    def soft_margin_caps(self) -> ExampleVector | None:
        """The largest weights, if F is the indicator of a cap: -F*(-Uw) is then the mean of the smallest margins.

        None for any other F.
        """
        return None

    @property
    def mass(self) -> float:
        """A bound on the sum of |d_n| over the domain: 1 on the simplex."""
        return 1.0

    @property
    def strong_convexity(self) -> float:
        """A modulus of strong convexity in the 1-norm: 1 / eta for an entropy on the simplex, 0 if none is known.

        If the modulus is positive, the maximizer d(w) at z = -Uw is unique, and the improvement of a step of w can be
        bounded in advance.
        """
        return 0.0

    @property
    def unsmoothed(self) -> Regularizer:
        """The regularizer F0, which is F without the term that only smooths: boosting maximizes -F0*(-Uw).

        F0 has the domain of F, except that a weight that the smoothing term fixes may be free in F0. If F has no such
        term, F0 is F itself, the same object.
        """
        return self

    @property
    def is_indicator(self) -> bool:
        """True if F is 0 on its domain and the domain is a set of distributions.

        Then -F*(-Uw) is a soft margin: the smallest average of the margins over these distributions. For the capped
        simplex, it is the mean of the nu smallest margins. For any other F, -F*(-Uw) includes terms of F.
        """
        # The largest value is at most 0, and the smallest value, at the minimizer, is 0.
        if not self.on_simplex or self.signed:
            return False
        return bool(self.value_bound == 0.0 and self.value(self.project(None)) == 0.0)

    @property
    @abstractmethod
    def value_bound(self) -> float:
        """A bound on the largest value of F on its domain: C_Delta / eta for an entropy, 0 for an indicator.

        inf if F is unbounded, such as -ln d; nan if no bound is known.
        """

    @property
    def price(self) -> float:
        """A bound on the loss of soft margin by the smoothing term: the range of this term on the domain.

        The term is never negative. If F has no other term, the smallest value of the term is the smallest value of F.
        Without a smoothing term, the price is 0.
        """
        if self.unsmoothed is self:
            return 0.0
        unsmoothed_bound = self.unsmoothed.value_bound
        min_value = 0.0 if unsmoothed_bound > 0.0 else self.value(self.project(None))
        return self.value_bound - unsmoothed_bound - min_value

    def smoothing_within(self, epsilon: float) -> bool:
        """Return whether the price is at most epsilon / 2.

        Then a gap of epsilon / 2 bounds the distance to the largest soft margin by epsilon.
        """
        return bool(self.price <= 0.5 * epsilon * (1.0 + 1e-9))

    @property
    @abstractmethod
    def magnitude(self) -> float:
        """The largest absolute size of the terms in the sums of F and F*, without the margins.

        The default rounding allowances are proportional to it. A subclass may override `value_slack` and
        `conjugate_slack` instead.
        """

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        """Return the rounding allowance: F(d) plus the allowance is at least F at an exactly feasible point near d.

        Parameters
        ----------
        d
            Weights in the domain, up to rounding.
        unit
            Machine epsilon times the longest chain of additions.

        Returns
        -------
        unit times `value_size(d)` by default. A regularizer that bounds its rounding otherwise returns this bound, and
        inf if no finite number is a bound.
        """
        return unit * float(self.value_size(d))

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        """Return the rounding allowance: `point.value` plus the allowance is at least the exact F* at the same z."""
        return unit * float(self.conjugate_size(point.d, point.multipliers))

    def value_size(self, d: ExampleVector) -> float:
        """Return the size of the terms in the sum of F(d), by default the largest size, `magnitude`.

        Where the domain is far larger than the weights of an answer, the size at d keeps the rounding allowance in
        proportion to the answer.
        """
        return float(self.magnitude)

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        """Return the size of the terms in the sum of F*(z), given its maximizer d and the multipliers of the domain.

        The default is the largest size, `magnitude`.
        """
        return float(self.magnitude)

    def mass_of(self, d: ExampleVector) -> float:
        """Return an upper bound of the sum of the absolute weights d, shape (N,): of the sizes of the terms of an edge.

        The bound is `mass` by default. Where the domain is far larger than the weights of an answer, a bound at d keeps
        the rounding allowance of the edges in proportion to the answer.
        """
        return float(self.mass)

    def conjugate_mass(self, z: ExampleVector, shift: float) -> float:
        """Return an upper bound of the sum of the absolute maximizers at all points within `shift` of z, shape (N,).

        The maximizers are the slopes of F*. So F* increases by at most `shift` times this bound if no entry of z
        changes by more than `shift`. The bound is `mass` by default.
        """
        return float(self.mass)

    @property
    @abstractmethod
    def weight_scale(self) -> ExampleVector:
        """The natural size of each weight, positive if the weight may be positive. Solvers may get d / weight_scale."""

    @property
    def objective_scale(self) -> float:
        """The natural size of 1 / F: eta for an entropy, 1 for an indicator. Solvers may get this multiple of F + G."""
        return 1.0

    @abstractmethod
    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        """Return F*(z) with a maximizer and multipliers.

        Functions without a closed form can use `start`, a point of the domain that may be close to a maximizer.
        """

    def conjugate_bound(self, z: ExampleVector, point: ConjugatePoint) -> float:
        """Return an upper bound of F*(z), given `point = conjugate_at(z)`; by default the value of `point`."""
        return point.value

    @abstractmethod
    def room(self, d: ExampleVector) -> ExampleVector:
        """Return the distance to the boundary: how far all weights may change at once, up and down, within the domain.

        On the simplex the changes must sum to 0. Return zeros if the distances are not known.
        """

    @abstractmethod
    def project(self, d: ExampleVector | None) -> ExampleVector:
        """Return a point of the domain near d, for any numbers d; the minimizer of F for None."""

    @abstractmethod
    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        """Return the N non-negative terms that sum to F(d) + F*(z) - <d, z>, given `point = conjugate_at(z)`."""

    def increase_bound(self, d: ExampleVector, share: ExampleVector) -> float:
        """Return a bound on F(d') - F(d) over all d' of the domain with |d'_n - d_n| <= share_n room_n, share < 1.

        The default uses convexity: d' divides the segment from d to some point of the domain, and its fraction of the
        length is at most the largest share.
        """
        increase = float(share.max()) * max(self.value_bound - self.value(d), 0.0)
        return increase if np.isfinite(increase) else np.inf

    @abstractmethod
    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        """Return the stationarity conditions at d, with derivatives at weights that are not too small.

        Parameters
        ----------
        d
            The weights, shape (N,).
        min_relative_weight
            The smallest weight, as a fraction of the upper bound of the box, at which derivatives are evaluated. At
            smaller weights, the derivative of an entropy is the noise of a solver.
        """

    def pointwise(self) -> Pointwise | None:
        """Return F as a sum of functions of one weight each; None if F is not such a sum."""
        return None

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        """Return F in the form of a certificate file; None if a file cannot state it.

        Parameters
        ----------
        c
            The multiplicities in the file, shape (N,).
        d0
            The reference distribution in the file, shape (N,).
        nus
            Candidates for nu. If c / nu gives the caps for one of them, the file states the caps by this nu.
        """
        return None
