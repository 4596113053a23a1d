"""Regularizers from a CVXPY expression: F(d) = f(d) + I[d in C_nu] + I[h(d) <= 0].

Such a regularizer needs an expression, a capped simplex and one strictly feasible point. A numerical supremum is at
most F* and proves nothing. A valid bound needs no supremum. For ANY affine minorants <g, d> + a <= f(d) and
<p, d> + b <= <lambda, h(d)>, lambda >= 0,

    F*(z) <= max over d in C_nu of <z - g - p, d>  -  a - b.

Tangents at d' are such minorants. They are tight if d' is a maximizer of <z, d> - F(d), so that the d of the solver is
a good choice. At a kink there are many tangents, and `minorants.families` chooses one. If you know closed forms,
override `conjugate_at` and `gaps` in a subclass: this is faster, and nothing else changes.

A description with further variables, equations, cones or eigenvalues has no such tangents. `partial_minimum` bounds it
as the optimal value of a problem.

Both bounds of a certificate include the rounding: F is enclosed over a box that contains an exactly feasible point, and
the coefficients of a minorant are intervals (`minorants.expression_graph`).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.cvxpy_tools import (
    call_user_function,
    check_variables,
    cp,
    required_cones,
    solve_approximately,
    substitute_variable,
    with_exact_exponents,
)
from boostopt._utils.validation import check_array, check_callable, positive_parameter, read_fields
from boostopt.descriptions.description import Description, check_constraints, read_description
from boostopt.descriptions.inequalities import (
    INTERIOR_MIX_FRACTIONS,
    Inequalities,
    can_be_violated,
    holds_by_sign,
    inequality_expression,
)
from boostopt.descriptions.partial_minimum import PartialMinimum
from boostopt.errors import ProblemError, attach_user_function, require_not_none, short_repr
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.formulas.intervals import Interval, allowance
from boostopt.functions.minorants.expression_graph import AffineMinorant, Graph
from boostopt.functions.minorants.expression_trees import ExpressionNode, build_tree
from boostopt.functions.minorants.families import MinorantFamily, Multipliers
from boostopt.functions.minorants.interval_sums import middle
from boostopt.functions.minorants.linearization import Linearization, describe_linear_form
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import (
    CappedSimplex,
    exact_caps,
    feasible_box,
    read_domain,
    support_bound,
)
from boostopt.functions.regularizers.indicators import CappedSimplexIndicator

MAX_REFINEMENT_STEPS = 5
"""Maximum number of Newton steps of the tangent point. The steps end if the bound does not improve."""

CLOSED_FORM_RTOL = 1e-12
"""Relative distance of a tangent bound to a closed form above which a better choice of multipliers is searched."""

FINITE_DIFFERENCE_STEP = 1e-6
"""Relative step of the finite differences that approximate the curvature."""

INTERIOR_POINT_TOL = 1e-9
"""Largest violation of the capped simplex by the inner point."""

MIX_FRACTIONS = (1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0)
"""Additional fractions of the inner point, tried in turn until every constraint provably holds."""


def _unconstrained(d: Any) -> Sequence[Any]:
    return ()


@dataclass(frozen=True)
class _ConjugateBound(ConjugatePoint):
    """A bound of F* from affine minorants of f and h.

    Attributes
    ----------
    tangent_point
        The point d' of the minorants, shape (N,).
    choices
        The multipliers of h and of the kinks; None for the tangent of f alone.
    minorant
        The sum of the minorants.
    reduced_argument
        z minus the gradient of the minorant, shape (N,).
    """

    tangent_point: ExampleVector
    choices: Multipliers | None
    minorant: AffineMinorant
    reduced_argument: ExampleVector


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

    _d: Any = field(init=False, repr=False)
    _f: Any = field(init=False, repr=False)
    _constraints: list[Any] = field(init=False, repr=False)
    _tree: ExpressionNode = field(init=False, repr=False)
    _graph: Graph = field(init=False, repr=False)
    _inequalities: Inequalities = field(init=False, repr=False)
    _domain_inequalities: Inequalities = field(init=False, repr=False)
    _minimum: PartialMinimum = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check_fields()
        d = cp.Variable(len(self.domain.c), name="d")
        description = read_description("f", self.f, d)
        constraints = self._constraints_on(d)
        check_constraints("constraints", constraints)
        constraints = [with_exact_exponents(constraint) for constraint in constraints]
        description = replace(description, constraints=[*description.constraints, *constraints])
        f = description.expression
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
        object.__setattr__(self, "_d", d)
        object.__setattr__(self, "_f", f)
        if description.needs_problem:
            self._become_optimal_value(description)
            return
        constraints = [*description.constraints]
        inequalities = [inequality_expression(constraint) for constraint in constraints]
        for h in inequalities:
            check_variables("constraints", h, d)
        # CVXPY may evaluate f outside its natural domain: 1 / x is negative for x < 0.
        domains = [constraint for h in (f, *inequalities) for constraint in h.domain]
        natural = [inequality_expression(constraint) for constraint in domains if not holds_by_sign(constraint)]
        natural = [h for h in natural if can_be_violated(h, d, CappedSimplexIndicator(self.domain).weight_scale)]
        object.__setattr__(self, "_constraints", constraints)
        object.__setattr__(self, "_tree", build_tree(f, d))
        object.__setattr__(self, "_inequalities", Inequalities([*inequalities, *natural], d, self.inside))
        object.__setattr__(self, "_domain_inequalities", Inequalities(natural, d, self.inside))
        box = Interval(np.zeros(self.N), self._caps.upper)
        try:
            graph = Graph([f, *self._inequalities.expressions], d, box, on_simplex=True)
        except ProblemError as error:
            raise attach_user_function(error, self.f) from None
        object.__setattr__(self, "_graph", graph)
        self._check_inside()

    def _become_optimal_value(self, description: Description) -> None:
        """Make this a regularizer whose bounds come from the problem of a description as a whole.

        Raises
        ------
        ProblemError
            This is of a subclass with closed forms; or as in `PartialMinimum`.
        """
        if type(self) is not CvxpyRegularizer:
            raise ProblemError(
                f"{type(self).__name__} must be described by an expression of d alone, with inequalities and without "
                "eigenvalues; got another description. Use CvxpyRegularizer itself, without closed forms."
            )
        object.__setattr__(self, "__class__", OptimalValueRegularizer)
        self._check_point_in_simplex()
        try:
            minimum = PartialMinimum("f", description, np.zeros(self.N), self._caps, True, self.inside)
        except ProblemError as error:
            raise attach_user_function(error, self.f) from None
        object.__setattr__(self, "_minimum", minimum)

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

    def _check_inside(self) -> None:
        """Check that `inside` is strictly feasible, and that f is finite and has a subgradient there."""
        self._check_point_in_simplex()
        inside = self.inside
        value, max_h = self._proved_bounds(inside)
        if max_h >= 0.0:
            raise ProblemError(
                f"inside must satisfy every constraint strictly; the worst has h(inside) = {max_h:.3g}. Pass a point "
                "with h < 0: projections onto the domain mix weights with this point."
            )
        if not np.isfinite(value) or self._graph.minorant(inside, self._multipliers(None)) is None:
            raise ProblemError("f must be finite and have a subgradient at inside; it has none. Pass another point.")

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

    @computed_attribute
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        inequalities = [
            *(h <= 0 for h in self._inequalities.expressions),
            *CappedSimplexIndicator(self.domain).cvxpy_value(self._d)[1],
        ]
        return required_cones(cp.Problem(cp.Minimize(self._f), inequalities))

    @property
    def N(self) -> int:
        return len(self.domain.c)

    @property
    def description(self) -> Description:
        """F without the capped simplex: an expression of d, with its further constraints."""
        return Description(self._d, self._f, self._constraints)

    @property
    def value_bound(self) -> float:
        """The value of a constant f; nan (unknown) for any other f, because no rule gives the maximum of a convex f."""
        if not self._f.is_affine():
            return np.nan
        f = require_not_none(self._linearize_at(self.inside), "a slope of f inside of its domain")
        return np.nan if f.gradient_bound(np.ones(1)).any() else self.value(self.inside)

    @property
    def soft_margin_caps(self) -> ExampleVector | None:
        return self.domain.upper if self.value_bound == 0.0 and not self._inequalities else None

    @cached_property
    def magnitude(self) -> float:
        """The size of f at `inside`, and for a subclass with closed forms also the size of the gradient of f there.

        The rounding of closed forms is not bounded step by step. The bounds of this class include their rounding.
        """
        size = 1.0 + abs(self.value(self.inside))
        if self._is_proved:
            return size
        f = require_not_none(self._linearize_at(self.inside), "a slope of f inside of its domain")
        return size + float(f.gradient_bound(np.ones(1)).max())

    @property
    def weight_scale(self) -> ExampleVector:
        return np.where(self.inside > 0, self.inside, 1.0 / self.N)

    def value(self, d: ExampleVector) -> float:
        """Return an upper bound of f at an exactly feasible point near d; inf outside the natural domain of f and h."""
        return self._proved_bounds(d)[0] if (self._domain_inequalities.values(d) <= 0.0).all() else np.inf

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        value, max_h = self._proved_bounds(d)
        # The value of a subclass in closed form may be less than the proved bound.
        return allowance(self.value(d), value) if max_h <= 0.0 else np.inf

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        return 0.0 if self._is_proved else super().conjugate_slack(point, unit)

    @property
    def _is_proved(self) -> bool:
        """Whether `conjugate_at` is the method of this class, whose bounds include their rounding."""
        return type(self).conjugate_at is CvxpyRegularizer.conjugate_at

    def conjugate_bound(self, z: ExampleVector, point: ConjugatePoint) -> float:
        if self._is_proved and isinstance(point, _ConjugateBound):
            return point.value
        # The value of a closed form proves nothing. Its maximizer is a point at which a minorant is tight, and the
        # minorant is a proof.
        tangent_bound = self._bound_from_minorant(point.d, None, z)
        is_loose = tangent_bound.value > point.value + CLOSED_FORM_RTOL * (1.0 + abs(point.value))
        return self._tightest_bound_at(point.d, z, tangent_bound).value if is_loose else tangent_bound.value

    def _proved_bounds(self, d: ExampleVector) -> tuple[float, float]:
        """Return upper bounds of f and of the largest h at an exactly feasible point of C_nu near d."""
        f, *h = self._graph.values(feasible_box(np.where(np.isfinite(d), d, 0.0), self._caps))
        return float(f.upper[0]), max((float(entries.upper.max()) for entries in h), default=-np.inf)

    def support(self, z: ExampleVector) -> float:
        return CappedSimplexIndicator(self.domain).support(z)

    def room(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(self.N) if self._inequalities else CappedSimplexIndicator(self.domain).room(d)

    def residuals(self, d: ExampleVector) -> dict[str, float]:
        residuals = CappedSimplexIndicator(self.domain).residuals(d)
        if not self._inequalities:
            return residuals
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is an infinite violation
            max_h = float(self._inequalities.values(d).max()) if np.isfinite(d).all() else np.inf
        if max(residuals.values()) <= INTERIOR_POINT_TOL:
            max_h = self._proved_bounds(d)[1]  # near the boundary, only a proof counts
        return {**residuals, "h(d) <= 0": np.inf if np.isnan(max_h) else max(0.0, max_h)}

    def project(self, d: ExampleVector | None) -> ExampleVector:
        """Return the entropic projection onto C_nu, mixed with the inner point until the constraints hold."""
        if d is None:
            return self.domain.renormalize(self.inside)
        return self._mix_with_inside(self.domain.repair(d, self.weight_scale))

    def _mix_with_inside(self, d: ExampleVector) -> ExampleVector:
        """Return a point of C_nu mixed with the inner point until every constraint provably holds."""
        if not self._inequalities or self._proved_bounds(d)[1] <= 0.0:
            return d
        h, h_inside = self._inequalities.values(d), self._inequalities.values(self.inside)
        with np.errstate(all="ignore"):
            min_fraction = float((h[h > 0] / (h[h > 0] - h_inside[h > 0])).max(initial=0.0))
        min_fraction = min_fraction if np.isfinite(min_fraction) else 0.0
        for extra_fraction in (0.0, *MIX_FRACTIONS):
            fraction = min(min_fraction + extra_fraction, 1.0)
            candidate = self.domain.renormalize((1.0 - fraction) * d + fraction * self.inside)
            if self._proved_bounds(candidate)[1] <= 0.0:
                return candidate
        return self.domain.renormalize(self.inside)

    def maximizer(self, z: ExampleVector) -> ExampleVector:
        """Return a point near argmax <z, d> - F(d), by Clarabel; the inner point if the solver fails."""
        value, constraints = self.cvxpy_value(self._d)
        is_solved = solve_approximately(cp.Problem(cp.Maximize(z @ self._d - value), constraints))
        return self.project(self._d.value if is_solved else None)

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        best = self._refine_bound(self._tightest_bound_at(self.maximizer(z) if start is None else start, z), z)
        # A tangent at the boundary of the domain may be too steep for a useful bound; the tangent at `inside` is not.
        inside_bound = self._bound_from_minorant(self.inside, best.choices, z)
        return min(best, inside_bound, key=lambda bound: bound.value)

    def _tightest_bound_at(
        self, d: ExampleVector, z: ExampleVector, tangent_bound: _ConjugateBound | None = None
    ) -> _ConjugateBound:
        """Return the smallest bound of F*(z) by a minorant at d."""
        tangent_bound = tangent_bound or self._bound_from_minorant(d, None, z)
        if not self._inequalities and not self._tree.has_kinks:
            return tangent_bound
        point = tangent_bound.tangent_point
        f = self._linearize_at(point)
        minorants = None if f is None else MinorantFamily(f, self._inequalities.linearize_at(point))
        choices = minorants and minorants.best_multipliers(lambda g, alpha: self._bound_expression(z, g, alpha))
        if choices is None:
            return tangent_bound
        return min(tangent_bound, self._bound_from_minorant(d, choices, z), key=lambda bound: bound.value)

    def _bound_expression(self, z: ExampleVector, g: Any, alpha: Any) -> tuple[Any, list[Any]]:
        """Return the bound by a minorant as a CVXPY expression, with its constraints."""
        value, constraints = CappedSimplexIndicator(self.domain).cvxpy_conjugate(z - g)
        return value - alpha, constraints

    def _bound_from_minorant(self, d: ExampleVector, choices: Multipliers | None, z: ExampleVector) -> _ConjugateBound:
        """Return the bound by a minorant at d, or near d if none exists at d; without choices, by the tangent of f."""
        point, minorant = self._minorant_at(d, choices)
        # Because weights are not negative, the lower ends of the slopes give the largest maximum.
        y = np.nextafter(z - minorant.gradient.lower, np.inf)
        cap = CappedSimplexIndicator(self.domain).conjugate_at(y)
        value = support_bound(y, float(cap.multipliers["beta"]), self._caps) - minorant.offset
        multipliers = {**cap.multipliers, "lambda": np.concatenate([*self._multipliers(choices)[1:], np.zeros(0)])}
        return _ConjugateBound(
            np.nextafter(value, np.inf), self.project(point), multipliers, point, choices, minorant, y
        )

    def _multipliers(self, choices: Multipliers | None) -> list[Float[Array, " k"]]:
        """Return the multipliers of f and of the constraints."""
        if choices is None:
            return [np.ones(1), *(np.zeros(h.size) for h in self._inequalities.expressions)]
        weights = [np.ravel(weight) for weight in choices.weights]
        return [np.ones(1), *(np.where(np.isfinite(weight), np.maximum(weight, 0.0), 0.0) for weight in weights)]

    def _linearize_at(self, d: ExampleVector) -> Linearization | None:
        """Return the linearization of f at d; None if f has no subgradient at d."""
        self._d.value = d
        return self._tree.linearize()

    def _minorant_at(
        self, d: ExampleVector, choices: Multipliers | None = None, min_fraction: float = 0.0
    ) -> tuple[ExampleVector, AffineMinorant]:
        """Return d' and a minorant of f and h at d': d mixed with the inner point until a minorant exists."""
        deltas = None if choices is None else choices.deltas
        for fraction in (
            min_fraction,
            *(fraction for fraction in INTERIOR_MIX_FRACTIONS if fraction > min_fraction),
            1.0,
        ):
            point = (1.0 - fraction) * d + fraction * self.inside
            if (minorant := self._graph.minorant(point, self._multipliers(choices), deltas)) is not None:
                return point, minorant
        if choices is not None:  # the chosen minorant is not finite: try the tangent
            return self._minorant_at(d, min_fraction=min_fraction)
        raise ProblemError(
            "f must have a subgradient at every point inside its domain; it has none near d. Write f with atoms that "
            "are finite and not infinitely steep inside the simplex."
        )

    def _refine_bound(self, best: _ConjugateBound, z: ExampleVector) -> _ConjugateBound:
        """Return the bound after Newton steps of the tangent point and a new choice of multipliers."""
        start = best
        for _ in range(MAX_REFINEMENT_STEPS):
            better = self._bound_from_minorant(self._newton_step(best), best.choices, z)
            if better.value >= best.value:
                break
            best = better
        if best is start or best.choices is None:
            return best
        return min(best, self._tightest_bound_at(best.tangent_point, z), key=lambda bound: bound.value)

    def _newton_step(self, bound: _ConjugateBound) -> ExampleVector:
        """Return the point after a Newton step with a diagonal Hessian by differences, as is right for a separable f.

        At a maximizer, the reduced argument equals beta for all weights strictly between their bounds. At a solver's d,
        it differs from beta by the curvature of f times the error of d, and the bound is looser by about as much. The
        multipliers at kinks do not change.
        """
        point, upper = bound.tangent_point, self.domain.upper
        shifted = point * (1.0 - FINITE_DIFFERENCE_STEP)
        is_free = (point > 0) & (point < upper * (1.0 - FINITE_DIFFERENCE_STEP)) & (shifted != point)
        deltas = None if bound.choices is None else bound.choices.deltas
        shifted_minorant = (
            self._graph.minorant(shifted, self._multipliers(bound.choices), deltas) if is_free.any() else None
        )
        if shifted_minorant is None:
            return point
        with np.errstate(divide="ignore", invalid="ignore"):
            curvature = (middle(bound.minorant.gradient) - middle(shifted_minorant.gradient)) / (point - shifted)
        is_free &= np.isfinite(curvature) & (curvature > 0)
        inverse_curvature = np.where(is_free, 1.0 / np.where(is_free, curvature, 1.0), 0.0)
        if inverse_curvature.sum() == 0.0:
            return point
        step = inverse_curvature * (
            bound.reduced_argument - float(inverse_curvature @ bound.reduced_argument) / float(inverse_curvature.sum())
        )
        return np.clip(point + step, 0.5 * point, np.maximum(point, 0.5 * (point + upper)))

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        if not isinstance(point, _ConjugateBound):
            raise ProblemError(
                f"the gaps of a regularizer from a CVXPY expression need the result of its conjugate_at; got "
                f"{type(point).__name__}. Pass conjugate_at(z)."
            )
        minorant_gap = self.value(d) - float(point.minorant.gradient.lower @ d) - point.minorant.offset
        is_positive = self.inside > 0.0
        minorant_terms = np.where(is_positive, max(minorant_gap, 0.0), 0.0) * np.where(is_positive, self.inside, 1.0)
        return CappedSimplexIndicator(self.domain).gaps(d, point.reduced_argument, point) + minorant_terms

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        point, minorant = self._minorant_at(d, min_fraction=min_relative_weight)
        active = self._inequalities.values(d) >= min_relative_weight * self._inequalities.values(self.inside)
        kink_gradients = self._kinks_at(point)  # at a kink, the slope may change in both directions
        normals = np.concatenate(
            [
                self._inequalities.normals(point)[active],
                np.reshape([*kink_gradients, *(-row for row in kink_gradients)], (-1, self.N)),
            ]
        )
        return StationarityConditions(middle(minorant.gradient), np.zeros(self.N), self.domain.upper, normals.T)

    def describe_kinks(self, d: ExampleVector) -> Sequence[str]:
        return [describe_linear_form("d", row) for row in self._kinks_at(self._minorant_at(d)[0])]

    def _kinks_at(self, d: ExampleVector) -> list[ExampleVector]:
        """Return the gradients of the arguments of f that lie on a kink at d."""
        f = self._linearize_at(d) if self._tree.has_kinks else None
        return [] if f is None else f.kink_gradients()

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        # The expressions of the constructor: arrays that the user's functions refer to may have changed since.
        f, constraints = substitute_variable([self._f, self._constraints], self._d, d)
        return f, [*CappedSimplexIndicator(self.domain).cvxpy_value(d)[1], *constraints]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("a regularizer from a CVXPY expression has no conjugate in closed form. Use the primal.")


class OptimalValueRegularizer(CvxpyRegularizer):
    """A regularizer F(d) = min over v of g(d, v) under constraints: a description that needs its problem as a whole."""

    @property
    def description(self) -> Description:
        return self._minimum.description

    @computed_attribute
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._minimum.cones

    @property
    def value_bound(self) -> float:
        """Nan, unknown: no rule gives the maximum of a convex F."""
        return np.nan

    @property
    def soft_margin_caps(self) -> ExampleVector | None:
        return None

    @cached_property
    def magnitude(self) -> float:
        """The size of F at `inside`."""
        return 1.0 + abs(self.value(self.inside))

    def value(self, d: ExampleVector) -> float:
        """Return an upper bound of F at an exactly feasible point near d; inf if none is proved."""
        return self._minimum.upper_bound(d)

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        return 0.0 if np.isfinite(self.value(d)) else np.inf

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        return 0.0

    def conjugate_bound(self, z: ExampleVector, point: ConjugatePoint) -> float:
        return point.value

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        """Return the bound of F*(z) by weak duality of the problem of the description."""
        maximizer = self._minimum.maximize(z)
        d = self.project(maximizer.x)
        value = self._minimum.conjugate_bound(z, maximizer, d)
        return ConjugatePoint(value, d, {"beta": maximizer.sum_multiplier, "psi": maximizer.upper_multipliers})

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        gap = max(math.fsum([self.value(d), point.value, *(-z * d).tolist()]), 0.0)
        return gap * self.inside / self.inside.sum()

    def room(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(self.N)

    def residuals(self, d: ExampleVector) -> dict[str, float]:
        residuals = CappedSimplexIndicator(self.domain).residuals(d)
        violation = max(residuals.values())
        if violation > INTERIOR_POINT_TOL or np.isinf(self.value(d)):
            violation = max(self._minimum.distance(d), float(np.finfo(np.float64).tiny))
        else:
            violation = 0.0
        return {**residuals, "F finite": violation}

    def project(self, d: ExampleVector | None) -> ExampleVector:
        """Return a point of the capped simplex near d at which F is proved finite; `inside` for None."""
        point = self.inside if d is None else self.domain.repair(d, self.weight_scale)
        return self._minimum.feasible_near(self.domain.renormalize(point), self.domain.renormalize)

    def maximizer(self, z: ExampleVector) -> ExampleVector:
        return self.project(self._minimum.maximize(z).x)

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        slopes = self._minimum.subgradient(d)
        gradient = np.zeros(self.N) if slopes is None else slopes
        return StationarityConditions(gradient, np.zeros(self.N), self.domain.upper, np.zeros((self.N, 0)))

    def describe_kinks(self, d: ExampleVector) -> Sequence[str]:
        return ()

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        f, constraints = self._minimum.description.with_argument(d)
        return f, [*CappedSimplexIndicator(self.domain).cvxpy_value(d)[1], *constraints]
