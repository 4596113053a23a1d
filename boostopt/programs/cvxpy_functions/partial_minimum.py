"""The partial minimum f(x) = min over v of g(x, v) subject to convex constraints, with certified bounds.

x lies in a box, and perhaps on the simplex. Two bounds are needed, and neither believes a solver.

- Values. A solver proposes v for an x. Then a point (x, v) is proved feasible in balls, for all x' of a small box that
  contains an exactly feasible one. So g on the balls is not below f(x').
- Conjugates. f*(z) = max over x of <z, x> - f(x) is minus the optimum of a convex problem in (x, v). Weak duality
  bounds this optimum from below (`certified_lower_bound`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.cvxpy_tools import clear_variable_values, cp, solve_quietly
from boostopt.errors import ProblemError
from boostopt.functions.formulas.intervals import Interval
from boostopt.functions.regularizers.capped_simplex import WEIGHT_SUM_TOL, feasible_box
from boostopt.problem_certificates.arithmetic.balls import Ball, ball, midpoints, round_up, working_precision
from boostopt.problem_certificates.atoms.multivariate_smooth import QuadraticForm
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.feasible_point import (
    ExactPoints,
    FeasiblePoint,
    FeasiblePointSearch,
    Promotions,
    max_slack_point,
)
from boostopt.problem_certificates.leaf_values import dual_vector
from boostopt.problem_certificates.minorants.lagrangian_minorant import WrongSign
from boostopt.problem_certificates.minorants.minorant_minimum import lower_bound
from boostopt.problem_certificates.minorants.minorant_search import certified_lower_bound, scaled_gap
from boostopt.problem_certificates.minorants.stationary_multipliers import float_point, float_pullback, proposed_choices
from boostopt.problem_certificates.problem_reader import ReadProblem, read_problem, with_unit_sum
from boostopt.programs.cvxpy_functions.cvxpy_description import MIX_FRACTIONS, Description
from boostopt.programs.cvxpy_functions.point_slopes import WIDTH, PointSlopes
from boostopt.programs.cvxpy_functions.value_cache import RecentValues

GOAL = 1e-13
"""Scaled gap of a conjugate at which the search for better multipliers ends."""

LEVEL_RTOL = 1e-14
"""The amount subtracted from a value of <z, x> - f(x), relative to its terms, so that it is a lower bound of f*(z): the
products are rounded, and an exactly feasible point is only near x."""

ENOUGH = 1e-8
"""Scaled gap of a conjugate above which tangents are taken at other points."""

ENOUGH_AT_START = 1e-9
"""Scaled gap of a conjugate up to which no solver is called."""

START_GOAL = 1e-11
"""Scaled gap of a conjugate at which steps from a given point end."""

N_START_STEPS = 6
"""Maximum number of steps from tangents at a given point, if no atom has kinks."""

MIN_START_NARROWING = 0.5
"""Factor by which such a step must narrow the gap, else it is the last one."""

KINK_WIDTH = 1e-6
"""Relative distance from a kink up to which a point counts as on it, where subgradients are chosen."""

N_KINK_STEPS = 12
"""Maximum number of steps that choose them."""

SOLVER_OPTIONS: Mapping[str, Mapping[str, Any]] = {"HIGHS": {"highs_options": {"simplex_strategy": 4}}}
"""Options of solvers of conjugates: few weights are between their bounds, so the primal simplex method needs few
steps."""

START_FRACTIONS = (0.0, 1e-7, 1e-5, 1e-9)
"""Fractions of the inner point in the points at which tangents are taken. Near a kink, the one point leads to good
multipliers, and the other does not."""

SNAP_TOL = 1e-8
"""Distance from a bound, relative to 1 plus the bound, up to which a further variable is moved to the bound."""

MAX_SHIFT = 1e-9
"""Largest multiple of the unit matrix, relative to the largest eigenvalue, that makes a matrix semidefinite that is so
but for rounding."""


_READING = threading.RLock()
"""The lock of copies that read their problems."""


@dataclass(frozen=True)
class Maximizer:
    """A proposal for the maximum of <z, x> - f(x).

    Attributes
    ----------
    x
        The point; None if the solver found none.
    problem
        The problem of the conjugate, with the duals of the solver.
    values
        The entries of all unknowns; those of the inner point if the solver found none.
    sum_multiplier, upper_multipliers
        The duals of sum x = 1 and of the upper bounds of the box; 0 without them.
    """

    x: Float[Array, " n"] | None
    problem: ReadProblem
    values: Float[Array, " m"]
    sum_multiplier: float
    upper_multipliers: Float[Array, " n"]


@dataclass(eq=False)
class PartialMinimum:
    """The function f(x) = min over v of g(x, v) subject to the constraints of a description.

    Parameters
    ----------
    name
        The name of the description in errors.
    description
        g and the constraints.
    lower
        The lower bounds of the box of x, shape (n,).
    upper
        Intervals that contain the exact upper bounds.
    on_simplex
        Whether x sums to 1.
    inside
        A point of the box, shape (n,), at which the constraints hold for some v.

    Raises
    ------
    ProblemError
        An atom or a constraint has no rule; a further variable is complex, integer or boolean; or the constraints are
        not proved to hold for any v at `inside`.
    """

    name: str
    description: Description
    lower: Float[Array, " n"]
    upper: Interval
    on_simplex: bool
    inside: Float[Array, " n"]

    _target: Any = field(init=False, repr=False)
    _slope: Any = field(init=False, repr=False)
    _value_problem: Any = field(init=False, repr=False)
    _conjugate_problem: Any = field(init=False, repr=False)
    _projection: Any = field(init=False, repr=False)
    _sides: list[Any] = field(init=False, repr=False)
    _outer: ReadProblem = field(init=False, repr=False)
    _inner: ReadProblem = field(init=False, repr=False)
    _free: ReadProblem = field(init=False, repr=False)
    _centered: ReadProblem = field(init=False, repr=False)
    _positions: Array = field(init=False, repr=False)
    _promotions: Promotions = field(init=False, repr=False)
    _interior: Array = field(init=False, repr=False)
    _moves_x: bool = field(init=False, repr=False)
    _bounds: RecentValues[float] = field(init=False, repr=False, default_factory=RecentValues[float])
    _subgradients: RecentValues[Array | None] = field(
        init=False, repr=False, default_factory=RecentValues["Array | None"]
    )

    def __post_init__(self) -> None:
        x, g = self.description.variable, self.description.expression
        shared = [*self.description.constraints]
        simplex: list[Any] = [cp.sum(x) == 1] if self.on_simplex else []
        self._sides = [*simplex, x <= self.upper.upper, x >= self.lower]
        self._target, self._slope = cp.Parameter(x.size), cp.Parameter(x.size)
        self._value_problem = cp.Problem(cp.Minimize(g), [x == self._target, *shared])
        self._conjugate_problem = cp.Problem(cp.Minimize(g - self._slope @ x), [*shared, *self._sides])
        self._projection = cp.Problem(cp.Minimize(cp.sum_squares(x - self._target)), [*shared, *self._sides])
        if not self.description.has_argument:
            raise ProblemError(
                f"{self.name} must depend on its argument; got {g}. Use its argument in the expression or a constraint."
            )
        with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
            whole = read_problem(cp.Problem(cp.Minimize(g), [*shared, *simplex]))
            self._free = whole.without_last_equality() if self.on_simplex else whole
            self._check_quadratic_forms()
            self._positions = next(item.positions for item in whole.variables if item.variable.id == x.id)
            lower, upper = whole.lower.copy(), whole.upper.copy()
            lower[self._positions], upper[self._positions] = self.lower, self.upper.upper
            self._outer = replace(whole, lower=lower, upper=upper)
            caps = self._outer.upper.copy()
            caps[self._positions] = self.upper.lower
            self._inner = replace(self._outer, upper=caps)
            self._centered = with_unit_sum(self._free, self._positions) if self.on_simplex else self._free
            self._find_interior()

    def __reduce__(self) -> tuple[Callable[..., PartialMinimum], tuple[Any, ...]]:
        """Return what makes a copy. The copy reads the problem again, because balls cannot be copied."""
        arguments = vars(self).get("_arguments")
        if arguments is None:
            arguments = (self.name, self.description, self.lower, self.upper, self.on_simplex, self.inside)
        return PartialMinimum.unread, arguments

    @classmethod
    def unread(cls, *arguments: Any) -> PartialMinimum:
        """Return the function of arguments of the constructor that were checked, which reads its problem when used.

        The processes of solvers get copies and use the description alone.
        """
        copy = cls.__new__(cls)
        vars(copy)["_arguments"] = arguments
        return copy

    def __getattr__(self, name: str) -> Any:
        with _READING:  # copies share the variables of their expressions, which have one value at a time
            if "_arguments" in vars(self):
                vars(self).update(vars(PartialMinimum(*vars(self)["_arguments"])))
                del vars(self)["_arguments"]
        if name not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        return vars(self)[name]

    def __deepcopy__(self, memo: dict[int, Any]) -> PartialMinimum:
        """Return a copy of the same description: CVXPY's copies of variables do not fit their expressions.

        It reads the problem at once: copies share the variables, which must not change while another thread uses them.
        """
        return PartialMinimum(*self.__reduce__()[1])

    def _check_quadratic_forms(self) -> None:
        """Refuse quadratic forms that are neither convex nor concave, also if their matrices are declared to be so.

        Raises
        ------
        ProblemError
            A matrix has an eigenvalue of the wrong sign beyond rounding.
        """
        for node in self._free.nodes:
            if isinstance(node.function, QuadraticForm) and node.function.relative_shift > MAX_SHIFT:
                raise ProblemError(
                    f"the matrix of a quadratic form in {self.name} must be positive or negative semidefinite; it "
                    "could not be proved of one declared to be so. Symmetrize the matrix, or add a multiple of the "
                    "unit matrix."
                )

    @cached_property
    def _solver(self) -> str:
        """The solver of linear problems, or of all others."""
        return "HIGHS" if self.description.is_piecewise_linear else "CLARABEL"

    @property
    def has_further_variables(self) -> bool:
        """True if f is a minimum over further variables."""
        return self._free.n > self.lower.size

    @property
    def is_unconstrained(self) -> bool:
        """True if f is an expression of x alone, without constraints but the box and the simplex."""
        return not (self.has_further_variables or self.description.constraints or self._free.matrices)

    def _find_interior(self) -> None:
        """Find values of the further variables at `inside`, and decide whether proofs move x.

        Raises
        ------
        ProblemError
            No point at `inside` is proved feasible.
        """
        if not (self.has_further_variables or len(self._free.equalities.rows) or self._free.matrices):
            self._promotions, self._moves_x, self._interior = Promotions(), False, self._entries(self.inside)
            if not (math.isfinite(self.upper_bound(self.inside)) and self.slopes_at(self.inside).is_finite):
                raise ProblemError(
                    f"{self.name} must be finite and have a subgradient at inside; it has none. Pass another point."
                )
            return
        search = FeasiblePointSearch(self._problem_at(self.inside), 0.0)
        self._promotions = search.find_interior()
        if search.interior is None:
            raise ProblemError(
                f"the constraints of {self.name} must hold at the inner point for some values of the further "
                "variables; got a point where a solver finds none. Pass another point, or correct the constraints."
            )
        self._interior = search.interior.copy()
        self._interior[self._positions] = self.inside  # a solver returns it up to its tolerance
        failure, names = "", list[str]()
        for moves_x in (False, True) if self.on_simplex else (False,):
            self._moves_x = moves_x
            exact = self._exact_points(self.inside, self._interior)
            # An equation of x alone holds at `inside`, but not at other points: proofs then move x.
            if exact.is_consistent and (moves_x or not exact.has_dependent_rows):
                point = exact.approach(self._interior, self._interior)
                if point is not None and self._is_close(point, self.inside):
                    return
                failure = failure or "an inequality has no slack, or an atom is outside its domain"
            names = exact.dependent_equalities
        if not self.on_simplex and names and not failure:
            raise ProblemError(
                f"{self.name} must be finite for all values of its argument from -1 to 1, so that its equations have "
                f"further variables; got {names} without any. State a bound of the argument as a convex penalty."
            )
        raise ProblemError(
            f"the constraints of {self.name} must be proved to hold at the inner point for some values of the further "
            f"variables; they are not: {failure or f'equations contradict others by rounding: {names}'}. Leave out "
            "equations that follow from others and from sum d = 1 with floats whose sum is not exactly the same, and "
            "pass a point with slack in the inequalities."
        )

    def _problem_at(self, x: Float[Array, " n"]) -> ReadProblem:
        """Return the problem in v at a fixed x."""
        lower, upper = self._free.lower.copy(), self._free.upper.copy()
        lower[self._positions] = upper[self._positions] = x
        return replace(self._free, lower=lower, upper=upper)

    def _box(self, x: Float[Array, " n"], radius: float) -> Mapping[int, Ball]:
        """Return balls around x that contain the exact point that is meant."""
        if self.on_simplex:
            box = feasible_box(x, self.upper)
        elif radius == 0.0:
            box = Interval(x, x)
        else:
            ends = np.nextafter(x - radius, -np.inf), np.nextafter(x + radius, np.inf)
            box = Interval(*(np.clip(end, self.lower, self.upper.upper) for end in ends))
        pairs = zip(self._positions.tolist(), box.lower.tolist(), box.upper.tolist(), strict=True)
        return {j: ball(low) if low == high else ball(low).union(ball(high)) for j, low, high in pairs}

    def _exact_points(
        self, x: Float[Array, " n"], centre: Float[Array, " m"], radius: float = 0.0, moves_x: bool | None = None
    ) -> ExactPoints:
        """Return the points that satisfy the equations exactly: at x, or near x if proofs move x."""
        if self._moves_x if moves_x is None else moves_x:
            return ExactPoints(self._inner, self._promotions, centre, 0.0, late_positions=self._positions.tolist())
        return ExactPoints(self._centered, self._promotions, centre, 0.0, self._box(x, radius))

    def _is_close(self, point: FeasiblePoint, x: Float[Array, " n"], moves_x: bool | None = None) -> bool:
        """Return whether a feasible point is as near to x as weights that count as feasible."""
        if not (self._moves_x if moves_x is None else moves_x):
            return True
        distances = [
            abs(point.x[j] - ball(value)) for j, value in zip(self._positions.tolist(), x.tolist(), strict=True)
        ]
        return round_up(sum(distances[1:], distances[0])) <= WEIGHT_SUM_TOL

    def upper_bound(self, x: Float[Array, " n"], radius: float = 0.0) -> float:
        """Return an upper bound of f at an exactly feasible point near x; inf if none is proved.

        Parameters
        ----------
        x
            The point, shape (n,).
        radius
            Off the simplex: a distance up to which the bound holds for each entry.
        """
        if not np.isfinite(x).all():
            return math.inf

        def bound() -> float:
            point = self.feasible_point(x, radius)
            return math.inf if point is None else point.upper

        return self._bounds.compute(np.append(x, radius), bound)

    def feasible_point(self, x: Float[Array, " n"], radius: float = 0.0) -> FeasiblePoint | None:
        """Return balls with a feasible point near x, by the answer of a solver, or near it; None if none is proved.

        The arguments are as in `upper_bound`, but x is finite.
        """
        values = self._values_at(x)
        with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
            if self.on_simplex and values is not None and self.is_unconstrained:
                # A point with the exact sum 1 has a tighter value than a box around x.
                point = self._exact_points(x, values, moves_x=True).check(values)
                if point is not None and self._is_close(point, x, moves_x=True):
                    return point
            if values is not None:
                snapped = self._snapped(values)
                point = self._exact_points(x, snapped, radius).check(snapped)
                if point is None and self.has_further_variables:
                    point = self._exact_points(x, values, radius).check(values)
                if point is not None and self._is_close(point, x):
                    return point
            if not self.has_further_variables:
                return None
            proposal = max_slack_point(self._problem_at(x), self._promotions)
            if proposal is None:
                return None
            interior = proposal.x.copy()
            interior[self._positions] = x
            exact = self._exact_points(x, interior, radius)
            point = exact.approach(interior if values is None else values, interior)
            return point if point is not None and self._is_close(point, x) else None

    def feasible_near(self, x: Float[Array, " n"], renormalize: Any) -> Float[Array, " n"]:
        """Return a point near x at which f has a proved bound: x itself, or mixed with the inner point.

        Parameters
        ----------
        x
            A point of the box, on the simplex up to rounding.
        renormalize
            The function that corrects the sum of a point by rounding.
        """
        if math.isfinite(self.upper_bound(x)):
            return x
        values = self._values_at(x)
        if values is None:
            projected = self._solve(self._projection, x)
            if projected is None:
                projected = self._interior
            values = self._values_at(projected[self._positions])
            values = projected if values is None else values
        with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
            values = self._snapped(values)
            for fraction in (0.0, *MIX_FRACTIONS):
                candidate = (1.0 - fraction) * values + fraction * self._interior
                candidate[self._positions] = renormalize(candidate[self._positions])
                mixed = candidate[self._positions]
                point = self._exact_points(mixed, candidate).check(candidate)
                if point is not None and self._moves_x:
                    mixed = midpoints([point.x[j] for j in self._positions.tolist()])
                if point is not None and self._is_close(point, mixed):
                    self._bounds.store(np.append(mixed, 0.0), point.upper)
                    return mixed
        return self.inside

    def distance(self, x: Float[Array, " n"]) -> float:
        """Return about how far x is from points at which f is finite, in the 1-norm; inf if a solver finds none."""
        values = self._solve(self._projection, x) if np.isfinite(x).all() else None
        return math.inf if values is None else float(np.abs(values[self._positions] - x).sum())

    def subgradient(self, x: Float[Array, " n"]) -> Float[Array, " n"] | None:
        """Return a subgradient of f at x: that of g, or about the dual of the equation for x; None without one.

        At a kink there are several, and a solver does not return the same one each time: the first one is kept.
        """
        if not self.has_further_variables:
            slopes = self.slopes_at(x)
            return slopes.gradient()[self._positions] if slopes.is_finite else None
        subgradient = self._subgradients.compute(x, lambda: self._solved_subgradient(x))
        return None if subgradient is None else subgradient.copy()

    def _solved_subgradient(self, x: Float[Array, " n"]) -> Float[Array, " n"] | None:
        """Return the subgradient by a solver."""
        if self._solve(self._value_problem, x) is None or self._value_problem.constraints[0].dual_value is None:
            return None
        slopes = -np.asarray(self._value_problem.constraints[0].dual_value, dtype=np.float64).reshape(x.size)
        return slopes if np.isfinite(slopes).all() else None

    def nearest_subgradient(self, z: Float[Array, " n"], x: Float[Array, " n"]) -> Float[Array, " n"] | None:
        """Return a subgradient of g at x near z, by steps at kinks; None if there is none.

        There are no further variables, and no constraints count.
        """
        problem = self._free.with_linear_term(self._positions, -z)
        open_sides = np.full(problem.n, -np.inf), np.full(problem.n, np.inf)
        slopes = np.full(x.size, np.nan)
        with working_precision(), np.errstate(all="ignore"):
            point = float_point(problem, self._entries(x))
            choices = proposed_choices(problem, point, open_sides, KINK_WIDTH, N_KINK_STEPS, are_multipliers_fixed=True)
            for choice in choices:
                slopes = float_pullback(problem, choice)[0][self._positions] + z
        return slopes if np.isfinite(slopes).all() else None

    def maximize(self, z: Float[Array, " n"], solver: str | None = None) -> Maximizer:
        """Return a proposal for the maximum of <z, x> - f(x), by a solver or by the usual one."""
        self._slope.value = z
        clear_variable_values(self._conjugate_problem)
        solver = solver or self._solver
        failure = solve_quietly(self._conjugate_problem, solver, **SOLVER_OPTIONS.get(solver, {}))
        with working_precision():
            values = None if failure is not None else self._outer.point_of_values()
            problem = self._outer.with_linear_term(self._positions, -z).with_present_duals()
        duals = [dual_vector(side.dual_value, side.size) for side in self._sides]
        return Maximizer(
            None if values is None else values[self._positions],
            problem,
            self._interior if values is None else values,
            float(duals[0][0]) if self.on_simplex else 0.0,
            np.maximum(duals[-2], 0.0),
        )

    def bound_from(self, z: Float[Array, " n"], start: Float[Array, " n"], sum_multiplier: float) -> tuple[float, bool]:
        """Return an upper bound of f*(z) by tangents at a point, without a solver, and whether it is nearly f*(z).

        Parameters
        ----------
        z
            The argument, shape (n,).
        start
            A point of the box, on the simplex up to rounding, where <z, x> - f(x) may be nearly largest.
        sum_multiplier
            The multiplier of sum x = 1; any number gives a bound.
        """
        level = self._level(z, start)
        problem = self._outer.with_linear_term(self._positions, -z)
        duals = np.zeros(len(problem.equalities.duals))
        duals[len(duals) - self.on_simplex :] = sum_multiplier
        problem = replace(
            problem,
            inequalities=replace(problem.inequalities, duals=np.zeros(len(problem.inequalities.duals))),
            equalities=replace(problem.equalities, duals=duals),
        )
        n_steps = 0 if any(node.function.has_kinks for node in problem.nodes) else N_START_STEPS
        bound = math.inf
        with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
            box, point = Propagation(problem), float_point(problem, self._entries(start))
            for choice in proposed_choices(problem, point, box.box, WIDTH, n_steps):
                previous_gap = scaled_gap(level, bound)
                with suppress(WrongSign):
                    bound = min(bound, -lower_bound(problem, choice, box))
                gap = scaled_gap(level, bound)
                if n_steps == 0 or gap <= START_GOAL or gap > MIN_START_NARROWING * previous_gap:
                    break
        return bound, scaled_gap(level, bound) <= ENOUGH_AT_START

    def _level(self, z: Float[Array, " n"], x: Float[Array, " n"]) -> float:
        """Return a number that is not above f*(z), near <z, x> - f(x); -inf if none is proved."""
        level = math.fsum([*(z * x).tolist(), -self.upper_bound(x)])
        return level - LEVEL_RTOL * (1.0 + abs(level) + float(np.abs(z).sum())) if math.isfinite(level) else level

    def conjugate_bound(self, z: Float[Array, " n"], maximizer: Maximizer, center: Float[Array, " n"]) -> float:
        """Return an upper bound of f*(z), by the duals of a proposal; inf if none is proved.

        Parameters
        ----------
        z
            The argument, shape (n,).
        maximizer
            The proposal for z.
        center
            A point of the box, on the simplex up to rounding, with a value of <z, x> - f(x) near the maximum. The
            search for multipliers ends when the bound is near this value.
        """
        level = self._level(z, center)
        bound = self._bound_by(maximizer, level)
        if scaled_gap(level, bound) > ENOUGH and self._solver == "HIGHS":
            # A vertex may lack multipliers that are needed to make slopes exactly 0; inner points have all of them.
            bound = min(bound, self._bound_by(self.maximize(z, "CLARABEL"), level))
        return bound

    def _bound_by(self, maximizer: Maximizer, level: float) -> float:
        """Return an upper bound of the conjugate by the duals of a proposal, with tangents at several points."""
        problem, bound = maximizer.problem, math.inf
        inside = np.clip(maximizer.values, problem.lower, problem.upper)
        for fraction in START_FRACTIONS:
            start = (1.0 - fraction) * inside + fraction * self._interior
            bound = min(bound, -certified_lower_bound(problem, start, -level, GOAL))
            if scaled_gap(level, bound) <= ENOUGH:
                break
        return bound

    def _values_at(self, x: Float[Array, " n"]) -> Float[Array, " m"] | None:
        """Return x with the v that a solver proposes, if there are further variables; None if the solver fails."""
        return self._solve(self._value_problem, x) if self.has_further_variables else self._entries(x)

    def _entries(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return x as the entries of all unknowns, if there are no further variables."""
        values = np.zeros(x.size)
        values[self._positions] = x
        return values

    def slopes_at(self, x: Float[Array, " n"]) -> PointSlopes:
        """Return the slopes of g and of the inequalities at x, if there are no further variables."""
        return PointSlopes(self._free, self._entries(x))

    def _solve(self, problem: Any, target: Float[Array, " n"]) -> Float[Array, " m"] | None:
        """Return the answer of a solver to a problem with a target, as entries of the unknowns; None if it fails."""
        self._target.value = target
        clear_variable_values(problem)
        solver = self._solver if problem is not self._projection else "CLARABEL"
        if solve_quietly(problem, solver) is not None:
            return None
        values = self._free.point_of_values()
        if values is not None and problem is self._value_problem:
            values[self._positions] = target
        return values

    def _snapped(self, values: Float[Array, " m"]) -> Float[Array, " m"]:
        """Return values with the further variables that are nearly at a bound moved to the bound."""
        result, is_further = values.copy(), np.ones(len(values), dtype=bool)
        is_further[self._positions] = False
        for bound in (self._free.lower, self._free.upper):
            is_near = is_further & np.isfinite(bound) & (np.abs(values - bound) <= SNAP_TOL * (1.0 + np.abs(bound)))
            result[is_near] = bound[is_near]
        return result
