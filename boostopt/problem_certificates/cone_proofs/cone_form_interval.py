"""The interval of a conic program in its form: both bounds, proofs of infeasibility and of unboundedness."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.conic_programs.exact.exact_optimum import RationalProof
from boostopt.problem_certificates.arithmetic.balls import Enclosure, blended_enclosure
from boostopt.problem_certificates.cone_proofs.clarabel_answers import (
    ClarabelRows,
    ConicAnswer,
    solve_form,
    without_objective,
)
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, joined_rows, rows_of
from boostopt.problem_certificates.cone_proofs.cone_membership import centre, distances
from boostopt.problem_certificates.cone_proofs.cone_metrics import are_small_second_order, is_large
from boostopt.problem_certificates.cone_proofs.dual_bound import (
    NO_DUAL_SOLUTION,
    DualBound,
    EnclosedDualPoint,
    MultiplierChange,
    Multipliers,
    bound_between,
    constraint_slopes,
    dependent_columns,
    dual_bound,
    enclosed_dual_point,
    multipliers_of,
    reduced_costs,
)
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import (
    EquationSystem,
    equations_with_remainders,
    independent_equations,
    products_in_fractions,
)
from boostopt.problem_certificates.cone_proofs.exponential.geometric_programs import geometric_program
from boostopt.problem_certificates.cone_proofs.primal_bound import (
    NO_SOLUTION,
    PointFailure,
    ProvedPoint,
    enclosed_point,
    proved_point,
    refined_point,
    system_near,
)
from boostopt.problem_certificates.cone_proofs.refined_multipliers import refined_in_metric, refined_multipliers
from boostopt.problem_certificates.cone_proofs.semidefinite.dual_faces import (
    DualFace,
    dual_faces,
    recession_direction,
    reduced_form,
    singular_cones,
)
from boostopt.problem_certificates.cone_proofs.semidefinite.face_points import FacePoints
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_answers import (
    has_precise_answer,
    precise_answer,
)
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_bounds import precise_bound, precise_point
from boostopt.problem_certificates.cone_proofs.semidefinite.principal_relaxations import principal_relaxation
from boostopt.problem_certificates.cone_proofs.semidefinite.semidefinite_answers import (
    has_semidefinite_answer,
    semidefinite_answers,
)
from boostopt.problem_certificates.cone_proofs.semidefinite.semidefinite_forms import semidefinite_form
from boostopt.problem_certificates.cone_proofs.semidefiniteness_proofs import semidefinite_shifts

MARGINS = (0.0, 1e-10, 1e-8)
"""Relative distances from bounds that are tried in turn."""

POWERS = (0.5, 1.0)
"""Powers of the distances from bounds in which unknowns change."""

ATTEMPTS = tuple((power, margin) for power in POWERS for margin in MARGINS)
"""Pairs of these. The first one is tried alone; the others if nothing else proves an end."""

RAY_ATTEMPTS = tuple((is_snapped, margin) for is_snapped in (False, True) for margin in MARGINS)
"""Pairs for proofs of infeasibility: True if small multipliers become 0, and a margin. The first is tried alone."""

REFINED = MultiplierChange(power=0.0)
"""The rules for multipliers with nearly exact reduced costs: all of them change by about their rounding errors."""

SNAPPED = MultiplierChange(POWERS[0], is_snapped=True, finds_dependence=False)
"""The rules for multipliers of the bounds that seem active: those of the others become 0."""

PERTURBATIONS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""Relative changes of right sides and costs, with which the program is solved again for points with slack."""

FRACTIONS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)
"""Fractions of the way to a point with slack, tried in turn until one succeeds."""

SMALLEST_FRACTION = 3e-11
"""The fraction that is tried after the first one succeeds."""

SHARES = (0.5, 0.2, 0.1, 0.03, 0.01)
"""Fractions of the way from an answer to one with more slack, tried until one is not proved."""

N_BISECTIONS = 3
"""Number of fractions that are tried between the smallest one that is proved and the next one."""

MAX_TIGHT_SLACK = 1e-5
"""Relative slack of a point in the middle of the feasible set below which a constraint may have none."""

MIN_ROW_SLACK = 1e-12
"""Relative slack in the rows without which a point with equality is tried before the point as it is."""

LENGTHS = tuple(10.0**k for k in range(12))
"""Lengths of the way from a point along a direction in which the cones recede, whose matrices have the trace 1."""

MAX_GAP = 1e-6
"""Scaled gap above which an exact optimum may need many digits, and a rough answer is replaced by another one."""

MAX_WIDE_GAP = 1e-3
"""Scaled gap above which the program is solved a second time whatever the first answer is."""

MAX_DIGITS = 6_000_000
"""Number of binary digits up to which an exact optimum is computed for a wide interval: about a second."""

LAST_DIGITS = 100_000_000
"""The same where the interval stays wide after all other proofs: some seconds."""

MAX_TRIANGLE_ROWS = (600, 4000)
"""Entries of triangles of semidefinite matrices up to which Clarabel is asked after another method: if the interval is
bounded, and if it has one end."""

MAX_NEAR_SIZE = 5000
"""Number of variables up to which linear programs near a rough answer are solved: large ones take long."""

MAX_FACE_ROWS = 1000
"""Number of equations of the face of an answer up to which dependent ones are found: others take too long."""

MAX_SMALL_SIZE = 1500
"""Number of variables and equations up to which a narrow interval is replaced by an exact optimum."""

MAX_FEW_DIGITS = 1_000_000
"""The same for an interval that is narrower than `MAX_GAP`: a fraction of a second."""

INFEASIBLE = ("PrimalInfeasible", "AlmostPrimalInfeasible")
UNBOUNDED = ("DualInfeasible", "AlmostDualInfeasible")
DOUBTFUL = (*INFEASIBLE, *UNBOUNDED, "NumericalError", "MaxIterations")
"""Statuses after which the program is solved again with less accuracy."""


@dataclass
class FormInterval:
    """The interval of the minimum of a form, and the proofs found.

    Attributes
    ----------
    lower, upper
        The interval.
    status
        "infeasible" or "unbounded" if this is proved; else "".
    x
        A feasible point; None if none is proved.
    exact_x
        This point in fractions, where floats do not hold enough of its digits; else None.
    exact_reason
        The reason for which the exact optimum is not proved.
    reasons
        The reasons for which an end is infinite.
    multipliers
        The midpoints of those that prove the lower bound, or that no point is feasible.
    ray
        The midpoint of the direction that proves that the program is unbounded.
    exact
        The exact optimum that proves both bounds, or the status.
    """

    lower: float = -math.inf
    upper: float = math.inf
    status: str = ""
    x: Enclosure | None = None
    exact_x: Sequence[Fraction] | None = None
    upper_reason: str = ""
    lower_reason: str = ""
    exact_reason: str = ""
    reasons: list[str] = field(default_factory=list[str])
    multipliers: Multipliers | None = None
    ray: Float[Array, " n"] | None = None
    exact: RationalProof | None = None

    @property
    def scaled_gap(self) -> float:
        """The gap over max(1, |lower|, |upper|)."""
        gap = self.upper - self.lower
        return gap / max(1.0, abs(self.lower), abs(self.upper)) if math.isfinite(gap) else math.inf

    def intersect(self, further_interval: FormInterval) -> None:
        """Use what another proof of the same minimum proves."""
        self.status = self.status or further_interval.status
        if further_interval.lower > self.lower:
            self.lower, self.multipliers = further_interval.lower, further_interval.multipliers
        if further_interval.upper <= self.upper:
            self.upper, self.x = further_interval.upper, further_interval.x
            self.exact_x = further_interval.exact_x
        self.ray = further_interval.ray if self.ray is None else self.ray
        self.exact_reason = further_interval.exact_reason
        self.exact = further_interval.exact or self.exact

    def use_point(self, result: ProvedPoint | PointFailure) -> bool:
        """Use a point if it is better; return whether it is proved."""
        if isinstance(result, PointFailure):
            self.upper_reason = self.upper_reason or result.reason
            return False
        if result.upper < self.upper:
            self.upper, self.x, self.exact_x = result.upper, result.x, result.exact_x
        return True

    def use_bound(self, bound: DualBound) -> bool:
        """Use a lower bound if it is better; return whether it is finite."""
        if bound.lower > self.lower:
            self.lower, self.multipliers = bound.lower, bound.point
        return bound.lower > -math.inf


ExactProof = Callable[[float, bool, ConicAnswer | None], FormInterval]
"""Returns the interval that the exact optimum proves; the arguments are those of `exact_interval`."""


class FormCertifier:
    """The search for the interval of a form.

    Parameters
    ----------
    form
        The form.
    goal
        The scaled gap at which the search ends.
    prove_exactly
        As `exact_interval`; None for programs with cones, which have no exact optimum.
    first
        The interval that was proved before; None if nothing was.
    prove_near
        As `near_interval`; None for programs that are not quadratic.

    Attributes
    ----------
    answer
        The last answer that was used; None if none was needed.
    """

    def __init__(
        self,
        form: ConeForm,
        goal: float,
        prove_exactly: ExactProof | None = None,
        first: FormInterval | None = None,
        prove_near: Callable[[float, ConicAnswer, bool, bool], FormInterval] | None = None,
    ) -> None:
        self.form = form
        self.goal = goal
        self.prove_exactly = prove_exactly
        self.prove_near = prove_near
        self.interval = FormInterval() if first is None else first
        self.answer: ConicAnswer | None = None
        self.reduced = form
        self.dependent: Bool[Array, " n"] | None = None
        self._is_upper_good = self._is_lower_good = self._is_second = self._has_long_fractions = False
        self._has_dual_solution = self._has_reduced_form = False
        self._rows: ClarabelRows | None = None
        self.shifts: Float[Array, " n"] | None = None
        if form.P is not None:
            self.shifts, is_nonconvex = semidefinite_shifts(form.P, np.isfinite(form.lower) & np.isfinite(form.upper))
            if is_nonconvex:
                self.prove_exactly = None
                self.interval.reasons.append("the quadratic form of the objective is proved not to be convex")

    def run(self, answer: ConicAnswer | None = None) -> FormInterval:
        """Return the interval by an answer, and by further solves if it is wide."""
        interval = self.interval
        if self._has_crossed_bounds():
            interval.lower = interval.upper = math.inf
            interval.status = "infeasible"
            return interval
        if answer is None and has_semidefinite_answer(self.form):
            self._use_semidefinite_answers()
            if self._needs_no_second_method():
                return interval
        if answer is None and (self._is_good_by_geometric_program() or self._is_good_by_rough_answer()):
            return interval
        self._is_upper_good = self._is_lower_good = False
        self.answer = first = self._solve(self.form) if answer is None else answer
        plain = None
        if first.status in INFEASIBLE and self._prove_infeasible(first, RAY_ATTEMPTS[:1]):
            return interval
        if self.prove_exactly is not None:
            if first.is_finite and first.status not in DOUBTFUL:
                plain = self._use_plainly(first)
            if self._is_good_by_exact_optimum(self.prove_exactly, None if plain is None else first):
                return interval
        if first.status in INFEASIBLE and self._prove_infeasible(first, RAY_ATTEMPTS[1:]):
            return interval
        if first.status not in DOUBTFUL or answer is not None:
            self._use_answer(first, plain)
        limit = MAX_WIDE_GAP if first.status == "Solved" else MAX_GAP
        if answer is None and (first.status in DOUBTFUL or interval.scaled_gap > limit):
            second = self._solve(self.form, is_second=True)
            self.answer = first = first if second.status in DOUBTFUL else second
            self._is_upper_good = self._is_lower_good = False
            self._is_second = True
            self._use_answer(first)
        if interval.x is None and not interval.status and first.status not in INFEASIBLE:
            self._prove_infeasible(self._solve(without_objective(self.form)))
        if interval.x is not None and not math.isfinite(interval.lower) and first.status in UNBOUNDED:
            self._prove_unbounded(first.x)
        if self.prove_exactly is not None and not interval.status and interval.scaled_gap > MAX_GAP:
            self._use_long_fractions(self.prove_exactly, None if first.status in DOUBTFUL else first)
        if answer is None and not interval.status and interval.scaled_gap > MAX_GAP:
            self._use_dual_faces_of_semidefinite_form()
        return interval

    def _is_good_by_geometric_program(self) -> bool:
        """Use the answer to a geometric program; return whether the interval needs no more."""
        program = geometric_program(self.form)
        answer = None if program is None else program.answer(self.goal)
        if answer is None:
            return False
        self.answer, point = answer, multipliers_of(answer)
        changes = REFINED, MultiplierChange(POWERS[0], is_snapped=True)
        has_point = self._has_point(answer.x, ATTEMPTS[:1])
        return has_point and any(self._use_bound(point, change) for change in changes) and self._is_close()

    def _solve(self, form: ConeForm, is_second: bool = False, is_rough: bool = False) -> ConicAnswer:
        """Return the answer of Clarabel to the form, or to one with other finite numbers."""
        self._rows = self._rows or ClarabelRows(self.form)
        return solve_form(form, is_second, self._rows, is_rough)

    def _is_good_by_rough_answer(self) -> bool:
        """Use a rough answer to a quadratic program; return whether the interval needs no finer one."""
        if self.form.P is None or self.form.groups:
            return False
        self.answer = answer = self._solve(self.form, is_rough=True)
        if answer.status in DOUBTFUL or not answer.is_finite:
            return False
        has_point, has_bound = self._use_plainly(answer)
        is_small = answer.status == "Solved" and self.form.n <= MAX_NEAR_SIZE
        if self.prove_near is not None and is_small and not (has_point and has_bound):
            interval = self.prove_near(MAX_DIGITS, answer, has_point, has_bound)
            self.interval.intersect(interval)
            if interval.x is None and interval.lower == -math.inf:
                self.prove_near = None  # a finer answer would not change this
        return self.interval.scaled_gap <= self.goal / 10

    def _use_long_fractions(self, prove_exactly: ExactProof, answer: ConicAnswer | None) -> None:
        """Use the exact optimum with the largest number of digits, once."""
        if not self._has_long_fractions:
            self._has_long_fractions = True
            self.interval.intersect(prove_exactly(LAST_DIGITS, self.interval.x is not None, answer))

    def _needs_no_second_method(self) -> bool:
        """Return whether the interval is narrow, or Clarabel would need long for an interval with an end."""
        interval = self.interval
        n_ends = int(interval.lower > -math.inf) + int(interval.upper < math.inf)
        n_rows = sum(group.count * group.size for group in self.form.groups) / 2
        return interval.scaled_gap <= MAX_GAP or (n_ends > 0 and n_rows > MAX_TRIANGLE_ROWS[2 - n_ends])

    def _use_semidefinite_answers(self) -> None:
        """Use points and multipliers of an interior-point method: the most accurate ones that are proved."""
        nearest = inner_point = inner_bound = None
        for answer in semidefinite_answers(self.form, self.goal / 10):
            if not answer.is_finite:
                continue
            nearest = nearest or answer
            if inner_point is None and self._has_point(answer.x, ATTEMPTS[:1]):
                inner_point = answer
            if inner_bound is None and self._use_bound(multipliers_of(answer), REFINED):
                inner_bound = answer
            self.answer = answer
            if inner_point is not None and inner_bound is not None:
                break
        if nearest is not None and self.interval.scaled_gap > self.goal:
            self._use_points_between(nearest, inner_point, inner_bound)
        has_bound = inner_bound is not None
        if self.interval.scaled_gap > MAX_GAP and has_precise_answer(self.form):
            has_bound = self._use_precise_answer() or has_bound
        direction = None if has_bound else recession_direction(self.form)
        if direction is None or any(self._use_dual_face(face, direction) for face in dual_faces(self.form, direction)):
            return
        names = ", ".join(singular_cones(self.form, direction))
        self.interval.lower_reason = f"the dual seems to have no interior: all multipliers of {names} seem singular"

    def _use_points_between(
        self, nearest: ConicAnswer, inner_point: ConicAnswer | None, inner_bound: ConicAnswer | None
    ) -> None:
        """Use points and multipliers between the most accurate answer and those that are proved, with more slack."""
        if inner_point is not None and inner_point is not nearest:
            start, step = nearest.x, inner_point.x - nearest.x
            use_shares(lambda share: self._has_point(start + share * step, ATTEMPTS[:1]), self._is_close)
        if inner_bound is not None and inner_bound is not nearest:
            first, last = multipliers_of(nearest), multipliers_of(inner_bound)
            use_shares(lambda share: self._use_bound(first.blend(last, share), REFINED), self._is_close)

    def _use_precise_answer(self) -> bool:
        """Use a point and multipliers with more digits than floats have; return whether a bound is proved."""
        answer = precise_answer(self.form, self.goal / 10)
        if answer is None:
            return False
        self.interval.use_point(precise_point(self.form, answer))
        if self.interval.use_bound(precise_bound(self.form, answer)):
            return True
        relaxation = principal_relaxation(self.form, answer)
        answer = None if relaxation is None else precise_answer(relaxation.form, self.goal / 10)
        if relaxation is None or answer is None:
            return False
        bound = precise_bound(relaxation.form, answer)
        if bound.point is not None:
            bound = replace(bound, point=relaxation.multipliers(self.form, bound.point))
        return self.interval.use_bound(bound)

    def _use_dual_face(self, face: DualFace, direction: Float[Array, " n"]) -> bool:
        """Use multipliers in a face of the dual cones, and points for them; return whether a bound is proved."""
        reduced = reduced_form(self.form, face)
        points, nearest, has_bound = None, None, False
        for answer in semidefinite_answers(reduced.form, self.goal / 10):
            if not answer.is_finite:
                continue
            nearest = nearest or answer
            if not has_bound:
                rows, cones = reduced.lifted(self.form, answer.rows, answer.cones)
                point = Multipliers(np.zeros(0), rows, cones, np.zeros(self.form.n))
                bound = dual_bound(self.form, point, REFINED, self.shifts, face=face)
                if bound.point is not None:
                    bound = replace(bound, point=replace(bound.point, face=face))
                has_bound = self.interval.use_bound(bound)
            if has_bound:
                points = points or FacePoints(self.form, reduced, direction)
                if self.interval.scaled_gap <= self.goal:
                    break
                if self.interval.use_point(points.point(answer)):
                    self._use_face_points_between(points, nearest, answer)
                    break
        return has_bound

    def _use_dual_faces_of_semidefinite_form(self) -> None:
        """Use faces of the dual cones of a form with equations, bounds or second-order cones.

        Points lie far away along the direction that proposes a face.
        """
        related = None if has_semidefinite_answer(self.form) else semidefinite_form(self.form)
        direction = None if related is None else related.recession_direction()
        if related is None or direction is None:
            return
        for face in dual_faces(related.form, direction):
            reduced, exact_face = reduced_form(related.form, face), related.face(face)
            has_bound = has_point = False
            for answer in semidefinite_answers(reduced.form, self.goal / 10):
                if not has_bound and answer.is_finite:
                    point = related.multipliers(*reduced.lifted(related.form, answer.rows, answer.cones))
                    bound = dual_bound(self.form, point, REFINED, self.shifts, face=exact_face)
                    if bound.point is not None:
                        bound = replace(bound, point=replace(bound.point, face=exact_face))
                    has_bound = self.interval.use_bound(bound)
                if not has_point and answer.is_finite:
                    start = np.zeros(related.form.n)
                    start[reduced.columns] = answer.x
                    points = [related.start + related.basis @ (start + length * direction) for length in LENGTHS]
                    has_point = any([self._has_point(x, ATTEMPTS[:1]) for x in points])
            if has_bound:
                return

    def _use_face_points_between(self, points: FacePoints, nearest: ConicAnswer, inner_point: ConicAnswer) -> None:
        """Use points of a face between the most accurate answer and one whose point is proved."""
        step = inner_point.x - nearest.x

        def attempt(share: float) -> bool:
            return self.interval.use_point(points.point(replace(nearest, x=nearest.x + share * step)))

        use_shares(attempt, lambda: self.interval.scaled_gap <= self.goal / 10)

    def _use_plainly(self, answer: ConicAnswer) -> tuple[bool, bool]:
        """Use a point and multipliers as they are, or else in the face of the constraints that hold with equality.

        Returns
        -------
        tuple
            Whether a point and a bound are proved.
        """
        form, point = self.form, multipliers_of(answer)
        values = form.R @ answer.x
        attempts = [lambda: self._has_point(answer.x, ATTEMPTS[:1]), lambda: self._has_point_of_face(answer)]
        margins = MIN_ROW_SLACK * np.maximum(1.0, np.abs(values)) if len(form.e) else 0.0
        if ((values - margins < form.row_lower) | (values + margins > form.row_upper)).any():
            attempts.reverse()
        has_point = any(attempt() for attempt in attempts)
        has_bound = self._use_bound(point, SNAPPED)
        if not (has_bound and self._is_near_lower(point, self.goal / 10)):
            has_bound = self._has_bound(point, ATTEMPTS[:1]) or has_bound
        return has_point, has_bound

    def _has_point_of_face(self, answer: ConicAnswer) -> bool:
        """Use a point with equality where the multiplier is larger than the slack."""
        face = face_of(self.form, answer, reduced_costs(self.form, multipliers_of(answer)))
        start = np.where(face.is_fixed, face.lower, answer.x)
        result = proved_point(face, start, 0.0, power=POWERS[0])
        if isinstance(result, PointFailure) and result.reason == NO_SOLUTION and len(face.e) <= MAX_FACE_ROWS:
            result = proved_point(face, start, 0.0, power=POWERS[0], finds_dependence=True)
        return self.interval.use_point(result)

    def _is_good_by_exact_optimum(self, prove_exactly: ExactProof, answer: ConicAnswer | None) -> bool:
        """Use the exact optimum if the interval is wide, unless this has failed; return whether it needs no more."""
        interval = self.interval
        if self.prove_near is not None and answer is not None:
            has_point = interval.x is not None and self._is_near_upper(answer.x, self.goal / 10)
            has_bound = self._is_near_lower(multipliers_of(answer), self.goal / 10)
            if not (has_point and has_bound):
                interval.intersect(self.prove_near(MAX_DIGITS, answer, has_point, has_bound))
        is_wide, is_small = interval.scaled_gap > MAX_GAP, self.form.n + len(self.form.e) <= MAX_SMALL_SIZE
        if self.form.P is None and not math.isfinite(interval.scaled_gap):
            self._use_long_fractions(prove_exactly, answer)
        elif not interval.exact_reason and (is_wide or (interval.scaled_gap > self.goal and is_small)):
            limit = MAX_DIGITS if is_wide else MAX_FEW_DIGITS
            interval.intersect(prove_exactly(limit, interval.x is not None, answer))
        return bool(interval.status) or interval.scaled_gap <= self.goal

    def _use_answer(self, first: ConicAnswer, plain: tuple[bool, bool] | None = None) -> None:
        """Use a point and multipliers, and points and multipliers with slack if the interval is wide.

        Parameters
        ----------
        first
            The answer.
        plain
            The result of `_use_plainly` for this answer; None if it was not called.
        """
        interval = self.interval
        if not first.is_finite:
            return
        point = multipliers_of(first)
        if plain is None:
            has_point = self._has_refined_point(first) or self._has_point(first.x, ATTEMPTS[:1])
        else:
            has_point = plain[0]
        self._is_upper_good = has_point and self._is_near_upper(first.x)
        if interval.scaled_gap > self.goal and not self._is_upper_good:
            self._use_face(first.x)
        if interval.scaled_gap > MAX_GAP and not self._is_near_upper(first.x, max(self.goal, MAX_GAP)):
            self._use_dependent_equations(first.x)
        self._use_multipliers(point, None if plain is None else plain[1])
        if interval.scaled_gap > self.goal and not self._is_lower_good:
            any(self._use_perturbed(point, perturbation) for perturbation in PERTURBATIONS)
        if interval.scaled_gap > MAX_GAP and not self._is_near_lower(point):
            self._has_bound(point, ATTEMPTS[1:])
            any(self._use_bound(point, MultiplierChange(power, is_snapped=True)) for power in POWERS)

    def _is_close(self) -> bool:
        return self.interval.scaled_gap <= self.goal

    def _has_crossed_bounds(self) -> bool:
        form = self.form
        return bool((form.lower > form.upper).any() or (form.row_lower > form.row_upper).any())

    def _use_dependent_equations(self, x: Float[Array, " n"]) -> None:
        """Use a point with other distances from its bounds, and without equations that follow from others."""
        if not self._has_point(x, ATTEMPTS[1:]):
            if not self._has_reduced_form:
                self.reduced, self._has_reduced_form = without_dependent_equations(self.form), True
            if self.reduced is self.form or not self._has_point(x, ATTEMPTS):
                return
        self._is_upper_good = self._is_near_upper(x)

    def _is_near_upper(self, x: Float[Array, " n"], goal: float | None = None) -> bool:
        """Return whether the upper end is near the objective at a point; the goal of the search is the default."""
        value = objective_value(self.form, x)
        limit = self.goal if goal is None else goal
        return self.interval.upper - value <= limit * max(1.0, abs(value)) / 2

    def _has_point(self, x: Float[Array, " n"], attempts: Sequence[tuple[float, float]]) -> bool:
        return any(
            self.interval.use_point(proved_point(self.reduced, x, margin, power=power)) for power, margin in attempts
        )

    def _has_refined_point(self, answer: ConicAnswer) -> bool:
        """Use a point with the slacks that an answer states in the cones; return whether it is proved."""
        if not are_small_second_order(self.form.groups) or answer.slacks is None:
            return False
        sizes = np.where(self.form.is_fixed, 0.0, np.maximum(1.0, np.abs(answer.x)))
        system = EquationSystem(self.reduced.E, self.reduced.e, sizes, is_refined=False)
        if not system.is_independent and not self._has_reduced_form:
            self.reduced, self._has_reduced_form = without_dependent_equations(self.form, are_dependent=True), True
            system = EquationSystem(self.reduced.E, self.reduced.e, sizes, is_refined=False)
        x = refined_point(self.reduced, answer) if system.is_independent else None
        enclosure = None if x is None else system.enclose(system.with_new_pivots(x))
        return enclosure is not None and self.interval.use_point(enclosed_point(self.reduced, enclosure))

    def _use_multipliers(self, point: Multipliers, is_proved: bool | None) -> None:
        """Use multipliers with refined reduced costs, as they are, and without equations that follow from others.

        Those of semidefinite and large cones are used as they are first, because a metric of these cones takes long.
        `is_proved` says whether they prove a bound as they are; None if this was not tried.
        """

        def is_plain_good() -> bool:
            return self._has_bound(point, ATTEMPTS[:1]) if is_proved is None else is_proved

        def is_refined_good() -> bool:
            refined = refined_multipliers(self.form, point) if self.form.groups else None
            if refined is None or not self._use_bound(refined, REFINED):
                return False
            # Multipliers nearby, with the same costs, prove no more.
            self._is_lower_good = has_cheap_metric and self.form.P is None
            return True

        has_cheap_metric = not any(group.kind == "semidefinite" or is_large(group) for group in self.form.groups)
        attempts = [is_refined_good, is_plain_good] if has_cheap_metric else [is_plain_good, is_refined_good]
        if not any(attempt() for attempt in attempts):
            if self._has_dual_solution:  # then no equation of a column without bounds follows from others
                return
            self.dependent = dependent_columns(self.form)
            if self.dependent is None or not self.dependent.any() or not self._has_bound(point, ATTEMPTS):
                return
        self._is_lower_good = self._is_lower_good or self._is_near_lower(point)

    def _is_near_lower(self, point: Multipliers, goal: float | None = None) -> bool:
        """Return whether the lower end is near the objective at a point; the goal of the search is the default."""
        value = objective_value(self.form, point.w)
        limit = self.goal if goal is None else goal
        return value - self.interval.lower <= limit * max(1.0, abs(value)) / 2

    def _has_bound(self, point: Multipliers, attempts: Sequence[tuple[float, float]]) -> bool:
        return any(self._use_bound(point, MultiplierChange(power, margin)) for power, margin in attempts)

    def _use_bound(self, point: Multipliers, change: MultiplierChange) -> bool:
        bound = dual_bound(self.form, point, change, self.shifts, self.dependent)
        if self.dependent is None and not change.is_snapped:
            self._has_dual_solution = self._has_dual_solution or bound.reason != NO_DUAL_SOLUTION
        self.interval.lower_reason = self.interval.lower_reason or bound.reason
        return self.interval.use_bound(bound)

    def _use_face(self, x: Float[Array, " n"]) -> None:
        """Use points between one and a point with slack, in the face that contains all feasible points."""
        central = self._solve(without_objective(self.form), self._is_second)
        if not central.is_finite:
            return
        face = face_of(self.form, central, -constraint_slopes(self.form, multipliers_of(central)))
        middle = np.where(face.is_fixed, face.lower, central.x)
        system = system_near(face, middle)
        # Then no equation of the form follows from others, because the face has them all.
        self._has_reduced_form = self._has_reduced_form or system.is_independent
        if not system.is_independent:
            sizes = np.where(face.is_fixed, 0.0, np.maximum(1.0, np.abs(central.x)))
            rows = independent_equations(face.E, face.e, middle, sizes)
            if rows is None:
                self.interval.use_point(PointFailure("equations depend on each other, at least up to rounding"))
                return
            face = replace(face, E=face.E[rows], e=face.e[rows])
            system = system_near(face, middle)
        ends = system.enclose(np.where(face.is_fixed, face.lower, x)), system.enclose(middle)

        def attempt(fraction: float) -> bool:
            if ends[0] is None or ends[1] is None:
                return False
            return self.interval.use_point(enclosed_point(face, blended_enclosure(ends[0], ends[1], fraction)))

        least_fraction(attempt, self._is_close)

    def _use_perturbed(self, point: Multipliers, size: float) -> bool:
        """Use multipliers between some and those of the program with costs that leave slack in the dual cones.

        Returns
        -------
        bool
            Whether a bound is proved.
        """
        changed, shift = perturbed(self.form, size)
        answer = self._solve(changed)
        if not answer.is_finite:
            return False
        far = multipliers_of(answer)
        cones = [z + part for z, part in zip(far.cones, shift.cones, strict=True)]
        far = Multipliers(far.y, far.rows + shift.rows, cones, far.w)

        if self.form.groups and self.form.P is None:
            return self._use_segment(point, far)

        def attempt(fraction: float) -> bool:
            blend = point.blend(far, fraction)
            groups = zip(self.form.groups, blend.cones, strict=True)
            if not all((distances(group, z, is_dual=True) > 0).all() for group, z in groups):
                return False
            refined = refined_multipliers(self.form, blend) if self.form.groups else None
            if refined is None:
                return self._use_bound(blend, MultiplierChange(POWERS[0]))
            return self._use_bound(refined, REFINED)

        return least_fraction(attempt, self._is_close)

    def _use_segment(self, point: Multipliers, interior: Multipliers) -> bool:
        """Use multipliers between some and others that lie deep in the dual cones; return whether a bound is proved.

        The equations of reduced costs are solved at both ends only.
        """
        ends = list[EnclosedDualPoint]()
        for end in refined_in_metric(self.form, interior, [point, interior]) or (point, interior):
            enclosed = enclosed_dual_point(self.form, end, REFINED, self.dependent)
            if enclosed is None:
                return False
            ends.append(enclosed)

        def attempt(fraction: float) -> bool:
            return self.interval.use_bound(bound_between(self.form, ends[0], ends[1], fraction))

        return least_fraction(attempt, self._is_close)

    def _prove_infeasible(self, answer: ConicAnswer, attempts: Sequence[tuple[bool, float]] = RAY_ATTEMPTS) -> bool:
        """Prove that no point is feasible, by multipliers that give a positive bound for costs of 0."""
        if not answer.is_finite:
            return False
        form = without_objective(self.form)
        point = multipliers_of(answer)
        size = max((float(np.abs(part).max(initial=0.0)) for part in (point.y, point.rows, *point.cones)), default=0.0)
        if size > 0:
            point = Multipliers(
                point.y / size, point.rows / size, [z / size for z in point.cones], np.zeros(self.form.n)
            )
        for is_snapped, margin in attempts:
            bound = dual_bound(form, point, MultiplierChange(margin=margin, is_snapped=is_snapped), None)
            if bound.lower > 0:
                self.interval.multipliers = bound.point
                self.interval.lower = self.interval.upper = math.inf
                self.interval.status = "infeasible"
                return True
        return False

    def _prove_unbounded(self, direction: Float[Array, " n"]) -> None:
        """Prove that the objective decreases without end along a direction from the feasible point."""
        size = float(np.abs(direction).max(initial=0.0))
        if not size > 0 or self.form.P is not None:
            return
        cone = recession_form(self.form)
        for margin in MARGINS:
            result = proved_point(cone, direction / size, margin)
            if isinstance(result, ProvedPoint) and result.upper < 0:
                self.interval.lower = self.interval.upper = -math.inf
                self.interval.status = "unbounded"
                self.interval.ray = result.x[0]
                return


def interval_with_remainders(form: ConeForm, goal: float) -> FormInterval:
    """Return the interval of a form whose equations are nearly combinations of others, by what remains of these.

    Solvers do not see the remainders, which a proof may not neglect. Nothing is proved if there are no such equations.
    """
    equations = equations_with_remainders(form.E, form.e)
    if equations is None:
        return FormInterval()
    E, e, changes = equations
    interval = FormCertifier(replace(form, E=E, e=e), goal).run()
    point = interval.multipliers
    if point is not None:
        exact_y = products_in_fractions(scipy.sparse.csr_array(changes.T), point.y)  # floats lose what cancels in them
        interval.multipliers = replace(point, y=np.asarray(changes.T @ point.y), exact_y=exact_y)
    return interval


def recession_form(form: ConeForm) -> ConeForm:
    """Return the form whose feasible points are the directions along which feasible points stay feasible."""

    def zero_or_infinite(values: Array) -> Array:
        return np.where(np.isfinite(values), 0.0, values)

    return replace(
        form,
        P=None,
        offset=0.0,
        e=np.zeros(len(form.e)),
        row_lower=zero_or_infinite(form.row_lower),
        row_upper=zero_or_infinite(form.row_upper),
        lower=zero_or_infinite(form.lower),
        upper=zero_or_infinite(form.upper),
        groups=[replace(group, h=np.zeros(len(group.h))) for group in form.groups],
    )


def perturbed(form: ConeForm, size: float) -> tuple[ConeForm, Multipliers]:
    """Return a form with less slack and other costs, and what its multipliers get more to fit the costs of the form."""

    def inner(low: Array, high: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            step = size * np.maximum(1.0, np.minimum(np.abs(low), np.abs(high)))
            step = np.where(np.isfinite(high - low), np.minimum(step, (high - low) / 4), step)
            return np.where(np.isfinite(low), low + step, low), np.where(np.isfinite(high), high - step, high)

    scale = form.cost_scale
    lower, upper = inner(form.lower, form.upper)
    row_lower, row_upper = inner(form.row_lower, form.row_upper)
    one_sided_rows = np.isfinite(form.row_lower).astype(float) - np.isfinite(form.row_upper).astype(float)
    rows = size * scale * one_sided_rows / np.maximum(form.R_norms, 1e-12)
    one_sided = np.isfinite(form.lower).astype(float) - np.isfinite(form.upper).astype(float)
    c = form.c - size * scale * one_sided - form.R_transposed @ rows
    groups, cones = list[Any](), list[Any]()
    for group, G_transposed in zip(form.groups, form.G_transposed, strict=True):
        middle = centre(group)
        limits = np.maximum(1.0, np.abs(group.h.reshape(group.count, -1)).max(axis=1))
        groups.append(replace(group, h=group.h - size * np.repeat(limits, group.size) * middle))
        cones.append(size * scale * middle)
        c = c - G_transposed @ cones[-1]
    changed = replace(
        form,
        c=np.asarray(c),
        lower=lower,
        upper=upper,
        row_lower=row_lower,
        row_upper=row_upper,
        groups=groups,
    )
    return changed, Multipliers(np.zeros(len(form.e)), rows, cones, np.zeros(form.n))


def objective_value(form: ConeForm, x: Float[Array, " n"]) -> float:
    """Return the objective in floating point."""
    value = float(form.c @ x) + form.offset
    return value if form.P is None else value + float(x @ (form.P @ x)) / 2


def least_fraction(attempt: Callable[[float], bool], is_enough: Callable[[], bool]) -> bool:
    """Call an attempt with rising fractions until one succeeds, and then with one between the last two.

    Fractions above one that succeeds do so too, but are no better: points on a segment whose end is deep in a convex
    set are deep in it from some fraction on. So the whole way is tried second, and no part of it if it fails. It is
    not tried if the first fraction succeeds.

    Returns
    -------
    bool
        Whether an attempt succeeds.
    """
    if attempt(FRACTIONS[0]):
        if not is_enough():
            attempt(SMALLEST_FRACTION)
        return True
    if not attempt(FRACTIONS[-1]):
        return False
    steps = pairwise(FRACTIONS)
    previous, fraction = next(pair for pair in steps if pair[1] == FRACTIONS[-1] or attempt(pair[1]))
    if not is_enough():
        attempt(math.sqrt(previous * fraction))
    return True


def use_shares(attempt: Callable[[float], bool], is_enough: Callable[[], bool]) -> None:
    """Call an attempt with `SHARES` until one fails, and then with some between the last two."""
    smallest, failed_share = 1.0, 0.0
    shares = iter(SHARES)
    while not failed_share and not is_enough() and (share := next(shares, None)) is not None:
        smallest, failed_share = (share, 0.0) if attempt(share) else (smallest, share)
    for _ in range(N_BISECTIONS if failed_share else 0):
        if is_enough():
            return
        share = math.sqrt(smallest * failed_share)
        smallest, failed_share = (share, failed_share) if attempt(share) else (smallest, share)


def without_dependent_equations(form: ConeForm, are_dependent: bool = False) -> ConeForm:
    """Return the form without equations that are proved to follow from others; itself if none are.

    With `are_dependent`, no proof is tried that all are independent.
    """
    sizes = np.where(form.is_fixed, 0.0, 1.0)
    point = np.where(form.is_fixed, form.lower, 0.0)
    rows = independent_equations(form.E, form.e, point, sizes, are_dependent)
    return form if rows is None or len(rows) == len(form.e) else replace(form, E=form.E[rows], e=form.e[rows])


def face_of(form: ConeForm, answer: ConicAnswer, costs: Float[Array, " n"]) -> ConeForm:
    """Return a form whose bounds and rows without slack are equations.

    Parameters
    ----------
    form
        The form. Its feasible set contains that of the result.
    answer
        An answer: the multiplier of a constraint without slack is larger than its slack.
    costs
        The reduced costs of the answer, which are the multipliers of the bounds.
    """
    values = form.R @ answer.x
    with np.errstate(all="ignore"):
        is_low = _is_tight(answer.x - form.lower, costs, form.lower)
        is_high = _is_tight(form.upper - answer.x, -costs, form.upper)
        is_row_low = _is_tight(values - form.row_lower, answer.rows, form.row_lower)
        is_row_high = _is_tight(form.row_upper - values, -answer.rows, form.row_upper)
    is_row = is_row_low | is_row_high
    lower, upper = np.where(is_high, form.upper, form.lower), np.where(is_low & ~is_high, form.lower, form.upper)
    if not is_row.any():
        return replace(form, lower=lower, upper=upper) if is_low.any() or is_high.any() else form
    sides = np.where(is_row_low, form.row_lower, form.row_upper)[is_row]
    return replace(
        form,
        lower=lower,
        upper=upper,
        E=joined_rows([form.E, rows_of(form.R, is_row)], form.n),
        e=np.concatenate([form.e, sides]),
        R=rows_of(form.R, ~is_row),
        row_lower=form.row_lower[~is_row],
        row_upper=form.row_upper[~is_row],
        row_names=[name for name, flag in zip(form.row_names, is_row.tolist(), strict=True) if not flag],
    )


def _is_tight(slack: Array, multipliers: Array, limits: Array) -> Array:
    return np.isfinite(limits) & (slack < MAX_TIGHT_SLACK * np.maximum(1.0, np.abs(limits))) & (multipliers > slack)
