"""Regularizers from a CVXPY expression: F(d) = f(d) + I[d in C_nu] + I[h(d) <= 0], or the least over further variables.

Such a regularizer needs an expression, a capped simplex and one strictly feasible point. A numerical supremum is at
most F* and proves nothing. A valid bound needs no supremum: F*(z) is minus the optimum of a convex problem, which weak
duality bounds from below for any multipliers and any tangents of the atoms (`partial_minimum`). If you know closed
forms, override `conjugate_at` and `gaps` in a subclass: this is faster, and nothing else changes.

Both bounds of a certificate include the rounding: F is bounded at an exactly feasible point, and minorants are computed
in balls.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import call_user_function, cp, required_cones
from boostopt._utils.immutable_arrays import as_immutable
from boostopt._utils.validation import check_array, check_callable, positive_parameter, read_fields
from boostopt.errors import ProblemError, attach_user_function, short_repr
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.formulas.intervals import Interval, allowance
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, exact_caps, read_domain
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.programs.cvxpy_functions.convex_inequalities import (
    Inequalities,
    can_be_violated,
    inequality_expression,
    is_open_inequality,
)
from boostopt.programs.cvxpy_functions.cvxpy_description import (
    MIX_FRACTIONS,
    Description,
    check_constraints,
    check_no_parameters,
    read_description,
    with_exact_atoms,
)
from boostopt.programs.cvxpy_functions.partial_minimum import PartialMinimum
from boostopt.programs.cvxpy_functions.point_slopes import PointSlopes, describe_linear_form
from boostopt.programs.cvxpy_functions.value_cache import RecentValues

CLOSED_FORM_RTOL = 1e-12
"""Relative distance of a tangent bound to a closed form above which a better choice of multipliers is searched."""

POOR_GAP = 1e-6
"""Relative gap of a conjugate above which tangents at its maximizer are tried too: solvers fail at extreme scales."""

INTERIOR_POINT_TOL = 1e-9
"""Largest violation of the capped simplex by the inner point."""

INTERIOR_MIX_FRACTIONS = (0.0, 1e-12, 1e-9, 1e-6)
"""Fractions of the inner point that are mixed in, in turn, until a subgradient exists."""

TINY = float(np.finfo(np.float64).tiny)
"""The violation of a constraint that is not proved to hold, where none is seen in floats."""


def _unconstrained(d: Any) -> Sequence[Any]:
    return ()


@dataclass(frozen=True)
class _StartBound(ConjugatePoint):
    """A bound of F*(z) by tangents at a given point.

    Attributes
    ----------
    is_tight
        Whether it is nearly F*(z).
    """

    is_tight: bool


@dataclass(frozen=True, eq=False)
class CvxpyRegularizer(Regularizer):
    """A convex function f on the capped simplex, possibly with further convex constraints, from a CVXPY expression.

    Parameters
    ----------
    domain
        The capped simplex C_nu.
    f
        The function that describes F. It takes an affine expression d of shape (N,) and returns a convex scalar, a
        CVXPY expression g. Or it returns a pair (g, constraints): then F(d) is the minimum of g over all further CVXPY
        variables in it, subject to the constraints, which may be inequalities, equations and cones.
    inside
        A strictly feasible point, shape (N,): it lies in C_nu, h(inside) < 0, and f is finite and not infinitely steep
        there. With further variables, the inequalities need slack for some values of these, and equations must hold.
    constraints
        The function that returns further constraints on d, CVXPY inequalities h(d) <= 0 with convex h, or equations;
        by default, there are none.
    objective_scale
        The natural size of 1 / F, positive, such as eta for an entropy. Solvers may get objective_scale * objective.

    Raises
    ------
    ProblemError
        f is not a scalar, or not convex by CVXPY's rules, or uses an atom whose rounding cannot be bounded; or a
        constraint is not convex; or `inside` is not strictly feasible; or no values of the further variables are
        proved feasible there, for example because equations depend on each other.
    """

    domain: CappedSimplex
    f: Callable[[Any], Any]
    inside: ExampleVector
    constraints: Callable[[Any], Sequence[Any]] = _unconstrained
    objective_scale: float = 1.0  # pyright: ignore[reportIncompatibleMethodOverride]

    has_closed_form_conjugate = False

    _description: Description = field(init=False, repr=False)
    _inequalities: Inequalities | None = field(init=False, repr=False)
    _minimum: PartialMinimum = field(init=False, repr=False)
    _conjugates: RecentValues[ConjugatePoint] = field(
        default_factory=RecentValues[ConjugatePoint], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self._check_fields()
        d = cp.Variable(len(self.domain.c), name="d")
        description = read_description("f", self.f, d)
        constraints = self._constraints_on(d)
        check_constraints("constraints", constraints)
        check_no_parameters("constraints", constraints)
        constraints = [with_exact_atoms(constraint) for constraint in constraints]
        description = replace(description, constraints=[*description.constraints, *constraints])
        self._check_expression(description.expression)
        object.__setattr__(self, "_description", description)
        self._check_point_in_simplex()
        natural = self._natural_constraints(description) if description.is_of_inequalities else []
        description = replace(description, constraints=[*description.constraints, *natural])
        inequalities = Inequalities(description) if description.is_of_inequalities else None
        object.__setattr__(self, "_inequalities", inequalities)
        max_h = -np.inf if inequalities is None else inequalities.largest(self.inside)
        if not max_h < 0.0:
            raise ProblemError(
                f"inside must satisfy every constraint strictly; the worst has h(inside) = {max_h:.3g}. Pass a point "
                "with h < 0: projections onto the domain mix weights with this point."
            )
        try:
            minimum = PartialMinimum("f", description, np.zeros(self.N), self._caps, True, self.inside)
        except ProblemError as error:
            raise attach_user_function(error, self.f) from None
        object.__setattr__(self, "_minimum", minimum)

    def _check_expression(self, f: Any) -> None:
        """Check that the expression of f is a convex scalar."""
        if f.size != 1:
            message = f"f must be a scalar expression; got the shape {f.shape}. Sum it over the examples."
            raise attach_user_function(ProblemError(message), self.f)
        if not f.is_convex():
            message = (
                f"f must be convex by the rules of disciplined convex programming; CVXPY finds {f.curvature} in "
                f"{textwrap.shorten(str(f), 120)}. Write it with atoms that CVXPY recognizes as convex: power, "
                "rel_entr, quad_form, log_sum_exp, ..."
            )
            raise attach_user_function(ProblemError(message), self.f)

    def _natural_constraints(self, description: Description) -> list[Any]:
        """Return the constraints of the natural domains of f and h that weights of the capped simplex may violate.

        CVXPY may evaluate f outside its natural domain: 1 / x is negative for x < 0.
        """
        parts = [description.expression, *(inequality_expression(item) for item in description.constraints)]
        domains = [constraint for part in parts for constraint in part.domain if is_open_inequality(constraint)]
        center = CappedSimplexIndicator(self.domain).weight_scale
        return [item for item in domains if can_be_violated(inequality_expression(item), description.variable, center)]

    def _check_fields(self) -> None:
        """Check the types of the fields. The results of the functions are checked when they are called."""
        read_fields(self, domain=read_domain, objective_scale=positive_parameter)
        for name in ("f", "constraints"):
            check_callable(name, getattr(self, name), "a function of d", ProblemError)
        inside = check_array("inside", self.inside)
        if inside.shape != (self.N,) or inside.dtype.kind not in "biuf" or not np.isfinite(inside).all():
            raise ProblemError(
                f"inside must be {self.N} finite numbers; got shape {inside.shape} of {inside.dtype}. Pass a point "
                "with one weight for each example: often c / sum c."
            )
        object.__setattr__(self, "inside", inside.astype(np.float64))

    def _constraints_on(self, d: Any) -> Sequence[Any]:
        """Return the further constraints on d, as CVXPY inequalities."""
        constraints = call_user_function("constraints", self.constraints, d, "a list of CVXPY inequalities")
        if not isinstance(constraints, list | tuple):
            raise ProblemError(
                f"constraints must return a list of CVXPY inequalities of d; got "
                f"{short_repr(constraints)}. Return a list, [] for no constraints."
            )
        return constraints

    def _check_point_in_simplex(self) -> None:
        """Check that `inside` lies in the capped simplex."""
        violation = max(CappedSimplexIndicator(self.domain).residuals(self.inside).values())
        if violation > INTERIOR_POINT_TOL:
            raise ProblemError(
                f"inside must lie in the capped simplex; its distance is {violation:.3g}. Pass c / sum c, which lies "
                "in it."
            )

    @cached_property
    def _caps(self) -> Interval:
        return exact_caps(self.domain, self.domain.upper)

    def _required_cones(self) -> frozenset[str]:
        description = self._description
        sides = CappedSimplexIndicator(self.domain).cvxpy_value(description.variable)[1]
        return required_cones(cp.Problem(cp.Minimize(description.expression), [*description.constraints, *sides]))

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    @property
    def N(self) -> int:
        return len(self.domain.c)

    @property
    def description(self) -> Description:
        """F without the capped simplex: an expression of d, and perhaps of further variables, with its constraints."""
        return self._description

    @property
    def value_bound(self) -> float:
        """The value of a constant F; nan (unknown) for any other F, because no rule gives the maximum of a convex F."""
        if self._minimum.has_further_variables or not self._description.expression.is_affine():
            return np.nan
        return np.nan if self._minimum.slopes_at(self.inside).gradient().any() else self.value(self.inside)

    @property
    def soft_margin_caps(self) -> ExampleVector | None:
        return self.domain.upper if self.value_bound == 0.0 and self._minimum.is_unconstrained else None

    @cached_property
    def magnitude(self) -> float:
        """The size of F at `inside`, and for a subclass with closed forms also the size of its slopes there.

        The rounding of closed forms is not bounded step by step. The bounds of this class include their rounding.
        """
        size = 1.0 + abs(self.value(self.inside))
        slopes = None if self._is_proved else self._minimum.subgradient(self.inside)
        return size if slopes is None else size + float(np.abs(slopes).max())

    @property
    def weight_scale(self) -> ExampleVector:
        return np.where(self.inside > 0, self.inside, 1.0 / self.N)

    def value(self, d: ExampleVector) -> float:
        """Return an upper bound of F at an exactly feasible point near d; inf if none is proved."""
        return self._minimum.upper_bound(d)

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        bound = self._minimum.upper_bound(d)
        # The value of a subclass in closed form may be less than the proved bound.
        return allowance(self.value(d), bound) if np.isfinite(bound) else np.inf

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        return 0.0 if self._is_proved else super().conjugate_slack(point, unit)

    @property
    def _is_proved(self) -> bool:
        """True if `conjugate_at` is the method of this class, whose bounds include their rounding."""
        return type(self).conjugate_at is CvxpyRegularizer.conjugate_at

    def conjugate_bound(self, z: ExampleVector, point: ConjugatePoint) -> float:
        if self._is_proved:
            return point.value
        # The value of a closed form proves nothing. Its maximizer is a point at which tangents are tight, and they are
        # a proof.
        proof = self._bound_from(z, point.d)
        if proof is not None and proof.value <= point.value + CLOSED_FORM_RTOL * (1.0 + abs(point.value)):
            return proof.value
        bound = self._bound_by_solver(z).value
        return bound if proof is None else min(bound, proof.value)

    def support(self, z: ExampleVector) -> float:
        return CappedSimplexIndicator(self.domain).support(z)

    def room(self, d: ExampleVector) -> ExampleVector:
        return CappedSimplexIndicator(self.domain).room(d) if self._minimum.is_unconstrained else np.zeros(self.N)

    def residuals(self, d: ExampleVector) -> dict[str, float]:
        residuals = CappedSimplexIndicator(self.domain).residuals(d)
        if self._minimum.is_unconstrained:
            return residuals
        name = "F finite" if self._inequalities is None else "h(d) <= 0"
        if max(residuals.values()) <= INTERIOR_POINT_TOL and np.isfinite(self._minimum.upper_bound(d)):
            return {**residuals, name: 0.0}  # near the boundary, only a proof counts
        if self._inequalities is None:
            return {**residuals, name: max(self._minimum.distance(d), TINY)}
        max_h = self._inequalities.largest(d) if np.isfinite(d).all() else np.inf
        return {**residuals, name: np.inf if np.isnan(max_h) else max(TINY, max_h)}

    def project(self, d: ExampleVector | None) -> ExampleVector:
        """Return the entropic projection onto C_nu, mixed with the inner point until the constraints provably hold."""
        point = self.inside if d is None else self.domain.repair(d, self.weight_scale)
        point = self.domain.renormalize(point)
        if self._minimum.is_unconstrained or np.isfinite(self._minimum.upper_bound(point)):
            return point
        if self._inequalities is None:
            return self._minimum.feasible_near(point, self.domain.renormalize)
        return self._mix_with_inside(point, self._inequalities)

    def _mix_with_inside(self, d: ExampleVector, inequalities: Inequalities) -> ExampleVector:
        """Return a point of C_nu mixed with the inner point until every constraint provably holds."""
        h, h_inside = inequalities.values(d), inequalities.values(self.inside)
        with np.errstate(all="ignore"):
            min_fraction = float((h[h > 0] / (h[h > 0] - h_inside[h > 0])).max(initial=0.0))
        min_fraction = min_fraction if np.isfinite(min_fraction) else 0.0
        for extra_fraction in (0.0, *MIX_FRACTIONS):
            fraction = min(min_fraction + extra_fraction, 1.0)
            candidate = self.domain.renormalize((1.0 - fraction) * d + fraction * self.inside)
            if np.isfinite(self._minimum.upper_bound(candidate)):
                return candidate
        return self.domain.renormalize(self.inside)

    def maximizer(self, z: ExampleVector) -> ExampleVector:
        """Return a point near argmax <z, d> - F(d), by a solver; the inner point if the solver fails."""
        return self.project(self._minimum.maximize(z).x)

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        """Return the bound of F*(z) by weak duality: by tangents at `start` if these are good, else with a solver."""
        point = None if start is None else self._bound_from(z, start)
        if point is not None and point.is_tight:
            return point
        best = self._conjugates.compute(z, lambda: self._bound_by_solver(z))
        if point is not None:
            best = min(best, point, key=lambda point: point.value)
        gap = math.fsum([best.value, self.value(best.d), *(-z * best.d).tolist()])
        if gap > POOR_GAP * max(1.0, abs(best.value)) and (tangent_bound := self._bound_from(z, best.d)) is not None:
            return min(best, tangent_bound, key=lambda point: point.value)
        return best

    def _bound_from(self, z: ExampleVector, start: ExampleVector) -> _StartBound | None:
        """Return the bound of F*(z) by tangents at a point; None if there are none, or if constraints need a solver."""
        if not self._minimum.is_unconstrained:
            return None
        slopes = self._minimum.subgradient(start)
        if slopes is None:
            return None
        cap = CappedSimplexIndicator(self.domain).conjugate_at(z - slopes)
        bound, is_tight = self._minimum.bound_from(z, start, float(cap.multipliers["beta"]))
        return _StartBound(bound, self.project(start), cap.multipliers, is_tight)

    def _bound_by_solver(self, z: ExampleVector) -> ConjugatePoint:
        """Return the bound of F*(z) by the multipliers of a solver. Its arrays are read-only, as it is stored."""
        maximizer = self._minimum.maximize(z)
        d = as_immutable(self.project(maximizer.x))
        value = self._minimum.conjugate_bound(z, maximizer, d)
        multipliers = {
            "beta": maximizer.sum_multiplier,
            "psi": as_immutable(maximizer.upper_multipliers),
            "lambda": as_immutable(np.maximum(maximizer.problem.inequalities.duals, 0.0)),
        }
        return ConjugatePoint(value, d, multipliers)

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        if not self._is_proved:
            raise ProblemError(
                f"a subclass of CvxpyRegularizer with a conjugate_at of its own must have gaps of its own; got "
                f"{type(self).__name__} without. Define gaps(d, z, point), or leave out conjugate_at."
            )
        gap = max(math.fsum([self.value(d), point.value, *(-z * d).tolist()]), 0.0)
        return gap * self.inside / self.inside.sum()

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        lower, upper, minimum = np.zeros(self.N), self.domain.upper, self._minimum
        if minimum.has_further_variables:
            slopes = minimum.subgradient(d)
            gradient = np.zeros(self.N) if slopes is None else slopes
            return StationarityConditions(gradient, lower, upper, np.zeros((self.N, 0)))
        point = (1.0 - min_relative_weight) * d + min_relative_weight * self.inside
        slopes = self._slopes_near(point)
        kinks = slopes.kink_gradients()  # at a kink, the slope may change in both directions
        normals = [*kinks, *(-row for row in kinks)]
        if self._inequalities is not None:
            is_active = self._inequalities.values(d) >= min_relative_weight * self._inequalities.values(self.inside)
            normals = [*slopes.normals()[is_active], *normals]
        return StationarityConditions(slopes.gradient(), lower, upper, np.reshape(normals, (-1, self.N)).T)

    def _slopes_near(self, d: ExampleVector) -> PointSlopes:
        """Return the slopes at d, or at d mixed with the inner point until there are any."""
        for fraction in INTERIOR_MIX_FRACTIONS:
            slopes = self._minimum.slopes_at((1.0 - fraction) * d + fraction * self.inside)
            if slopes.is_finite:
                return slopes
        return self._minimum.slopes_at(self.inside)

    def describe_kinks(self, d: ExampleVector) -> Sequence[str]:
        rows = [] if self._minimum.has_further_variables else self._slopes_near(d).kink_gradients()
        return [describe_linear_form("d", row) for row in rows]

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        # The expressions of the constructor: arrays that the user's functions refer to may have changed since.
        f, constraints = self._description.with_argument(d)
        return f, [*CappedSimplexIndicator(self.domain).cvxpy_value(d)[1], *constraints]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("a regularizer from a CVXPY expression has no conjugate in closed form. Use the primal.")
