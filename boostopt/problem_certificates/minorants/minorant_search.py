"""The search for a good lower bound: which choices of multipliers are tried, in which boxes, until the gap is small.

Each bound is one that `lower_bound` proves. The order of the choices decides how narrow the interval is, not its truth.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt.errors import format_names
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.bounds.bounds_from_minorants import CoordinateBounds
from boostopt.problem_certificates.faces.domain_constraints import with_domains
from boostopt.problem_certificates.faces.implied_equations import with_null_vectors
from boostopt.problem_certificates.feasible_point import Promotions, max_slack_point
from boostopt.problem_certificates.minorants.auxiliary_solves import least_violations, optimum_by_solver, solved_again
from boostopt.problem_certificates.minorants.conic_relaxation import is_relaxation_infeasible, relaxation_interval
from boostopt.problem_certificates.minorants.exact_linear_optimum import exact_linear_interval, is_linear
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice, WrongSign
from boostopt.problem_certificates.minorants.minorant_minimum import lower_bound
from boostopt.problem_certificates.minorants.multipliers_by_convex_program import program_choice
from boostopt.problem_certificates.minorants.single_unknown_rows import SingleUnknownRows
from boostopt.problem_certificates.minorants.stationary_multipliers import (
    FloatPoint,
    float_point,
    group_arguments,
    improved_choices,
    initial_choice,
    proposed_choices,
)
from boostopt.problem_certificates.problem_reader import ReadProblem

WIDTHS = (1e-5, 1e-7, 1e-3, 1e-4, 1e-2)
"""Relative distances from kinks that are tried in turn."""

N_STEPS = 12
"""Number of steps for each of them."""

N_CHEAP_STEPS = 2
"""Number of them that leave out expensive directions, where the interval stays poor otherwise."""

MIN_NARROWING = 0.9
"""Factor by which one of these distances must narrow the gap of a large problem, else no other is tried."""

MIN_GOOD_NARROWING = 0.5
"""Factor by which it must narrow a gap that is not poor."""

POOR_GAP = 1e-6
"""Scaled gap from which bounds of single unknowns are computed, if they are infinite."""

MAX_LOWER_FRACTION = 0.1
"""Fraction of a poor gap up to which it counts as that of the upper bound."""

SMALL_GAP = 1e-8
"""Scaled gap that only steps that narrow it are to improve. Above it, a program chooses the multipliers."""

MAX_COSTLY_GAP = 1e-4
"""The same, where each step needs a large system."""

MAX_QUICK_COEFFICIENTS = 200_000
"""Number of coefficients of arguments of atoms from which a program chooses slopes at kinks before steps do."""

N_QUICK_STEPS = 2
"""Number of steps before this program where largest entries have most coefficients: these steps often suffice."""

KINK_DISTANCE = 1e-4
"""Distance of arguments from a kink, relative to the largest one of an atom, from which it counts as a kink."""

PROGRAM_WIDTH = 1e-7
"""The distance for the tangents that this program does not choose."""

MAX_NAMED = 3
"""Number of unknowns that a reason names."""


def scaled_gap(lower: float, upper: float) -> float:
    """Return the gap of an interval over max(1, |lower|, |upper|); 0 if both bounds are the same infinity."""
    if lower == upper:
        return 0.0
    gap = upper - lower
    return gap / max(1.0, abs(lower), abs(upper)) if math.isfinite(gap) else math.inf


@dataclass
class ProblemInterval:
    """The interval of the problem that is minimized, while it grows narrower."""

    lower: float = -math.inf
    upper: float = math.inf
    status: str = ""
    reasons: list[str] = field(default_factory=list[str])
    optimum: float | None = None
    """The optimum by one more solve, which only says what is not worth trying: inf if unknown, None before it."""
    multipliers: ReadProblem | None = None
    """The problem with other multipliers than those of the solver, if these prove the lower bound."""
    has_relaxation: bool = False
    """True if the conic relaxation may be tried: the interval is not that of the answer alone then."""
    relaxed_x: Float[Array, " n"] | None = None
    """A feasible point of the conic relaxation."""

    @property
    def scaled_gap(self) -> float:
        """The gap over max(1, |lower|, |upper|)."""
        return scaled_gap(self.lower, self.upper)

    def is_lower_end_near(self, read: ReadProblem) -> bool:
        """Return whether a poor gap seems to be that of the upper bound, so that better minorants are not worth trying.

        A solver then solves the problem again. A wrong answer makes the interval wider than it could be, but not wrong.
        """
        if read.is_large or not POOR_GAP < self.scaled_gap < math.inf:
            return False
        if self.optimum is None:
            self.optimum = optimum_by_solver(read)
        return self.lower >= self.optimum - MAX_LOWER_FRACTION * (self.upper - self.lower)


def certified_lower_bound(read: ReadProblem, x: Float[Array, " n"], upper: float, goal: float) -> float:
    """Return a number that is not above the optimum of a problem, by the duals that it was read with.

    Parameters
    ----------
    read
        The problem, to be minimized.
    x
        The point at which tangents are taken.
    upper
        A number that is not below the optimum; inf if none is known.
    goal
        The scaled gap at which the search for better multipliers ends.
    """
    with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
        # No solver is asked for the optimum: the objective may have linear terms that its CVXPY expression lacks.
        interval, box = ProblemInterval(upper=upper, optimum=math.inf), Propagation(read, upper)
        box.run()
        bound_below(read, interval, box, x, goal, 0.0)
    return interval.lower


def bound_below(
    read: ReadProblem,
    interval: ProblemInterval,
    box: Propagation,
    x: Float[Array, " n"],
    goal: float,
    change: float,
) -> None:
    """Raise the lower bound of an interval by minorants.

    Bounds of single unknowns take up to two solves each. They are computed only if the bound is poor without them.
    """
    interval.lower = max(interval.lower, box.row_bounds(read.objective.rows[0], read.objective.offsets[0])[0])
    point = float_point(read, x)
    open_sides = 0
    failure = _use_minorants(read, interval, box, point, goal, change, is_first=True)
    if interval.scaled_gap > max(goal, POOR_GAP) and interval.has_relaxation and change == 0:
        _use_relaxation(read, interval, goal)
    if interval.scaled_gap > max(goal, POOR_GAP) and not box.is_bounded and not interval.is_lower_end_near(read):
        open_sides = CoordinateBounds(read, box, interval.upper, change).run()
        interval.lower = max(interval.lower, box.row_bounds(read.objective.rows[0], read.objective.offsets[0])[0])
        failure = _use_minorants(read, interval, box, point, goal, change)
    if math.isfinite(interval.lower):
        return
    if failure:
        interval.reasons.append(failure)
    elif not open_sides:
        interval.reasons.append('no multipliers were found that bound the objective: pass solver="auto" for others')
    if open_sides:
        lower, upper = box.box
        entries = np.flatnonzero(~(np.isfinite(lower) & np.isfinite(upper))).tolist()
        names = [read.describe(j) for j in entries[:MAX_NAMED]]
        more = f" and {len(entries) - MAX_NAMED} more" if len(entries) > MAX_NAMED else ""
        interval.reasons.append(
            f"no finite bounds are proved for {format_names(names)}{more}: pass bounds={{variable: (low, high)}}"
        )


def bound_below_by_tangents(
    read: ReadProblem,
    interval: ProblemInterval,
    box: Propagation,
    x: Float[Array, " n"],
    goal: float,
    change: float,
) -> None:
    """Raise the lower bound of an interval by minorants near another point."""
    _use_minorants(read, interval, box, float_point(read, x), goal, change)


def bound_face_below(read: ReadProblem, interval: ProblemInterval, goal: float, change: float) -> None:
    """Raise the lower bound of an interval by equations that matrices without slack imply."""
    proposal = max_slack_point(read, Promotions())
    faces = read if proposal is None else with_null_vectors(read, proposal.x)
    if proposal is None or faces is read:
        return
    faces, x = solved_again(faces) or (faces, proposal.x)
    box = Propagation(faces, interval.upper, change)
    box.run()
    bound_below(faces, interval, box, x, goal, change)


def bound_domains_below(read: ReadProblem, interval: ProblemInterval, goal: float, change: float) -> None:
    """Give an interval a lower bound by the domains of atoms, which those without a multiplier do not count."""
    blocks = [read.objective, read.inequalities.rows, read.equalities.rows, *(item.rows for item in read.matrices)]
    blocks += [node.arguments for node in read.nodes]
    used = set[int]().union(*(block.form().used_unknowns(read.n) for block in blocks))
    is_idle = any(used.isdisjoint(range(node.outputs.start, node.outputs.stop)) for node in read.nodes)
    domains = with_domains(read) if is_idle else None
    proposal = None if domains is None else solved_again(domains.read)
    if proposal is None:
        return
    extended, x = proposal
    box = Propagation(extended, interval.upper, change)
    box.run()
    reasons, interval.reasons = interval.reasons, []
    bound_below(extended, interval, box, x, goal, change)
    if not math.isfinite(interval.lower):
        interval.reasons = reasons


def _use_relaxation(read: ReadProblem, interval: ProblemInterval, goal: float) -> None:
    """Raise the lower bound of an interval by that of the conic relaxation, whose point may be better, too."""
    interval.has_relaxation = False
    relaxed = relaxation_interval(read, goal)
    if relaxed is not None:
        interval.lower = max(interval.lower, relaxed.lower)
        interval.relaxed_x = None if relaxed.x is None else relaxed.x[0][: read.n]


def _use_minorants(
    read: ReadProblem,
    interval: ProblemInterval,
    box: Propagation,
    point: FloatPoint,
    goal: float,
    change: float,
    is_first: bool = False,
) -> str:
    """Raise the lower bound of an interval by minorants within a box; return why one proved nothing, or "".

    The first time, where the multipliers of a linear problem prove no bound, the exact optimum is looked for, and a
    large problem without one waits for bounds of single unknowns.
    """
    failure = ""
    bound_rows, is_linear_problem = SingleUnknownRows(read, box), is_linear(read)
    if is_linear_problem:  # elsewhere, steps to good tangents change these multipliers, too
        read = bound_rows.without_duals(read)

    def use_choice(choice: Choice) -> str:
        return _use_choice(read, interval, box, bound_rows.without_multipliers(choice), change)

    def use_program() -> None:
        """Use the multipliers and the slopes at kinks that a program chooses, and steps from them."""
        proposal = program_choice(read, initial_choice(read, point, PROGRAM_WIDTH), box)
        if proposal is None:
            return
        use_choice(proposal)
        if has_slow_steps and interval.scaled_gap <= SMALL_GAP:
            return
        for choice in improved_choices(read, proposal, point, box.box, WIDTHS[0], N_STEPS):
            use_choice(choice)

    n_coefficients = sum(node.arguments.floats.nnz for node in read.nodes)
    is_near_kink = cache(lambda: _is_near_kink(read, point))
    has_slow_steps = n_coefficients > MAX_QUICK_COEFFICIENTS and is_near_kink()
    has_program = False
    if has_slow_steps:
        extremes = [node for node in read.nodes if node.function.is_of_largest_entries]
        has_extremes = 2 * sum(node.arguments.floats.nnz for node in extremes) > n_coefficients
        n_steps = N_QUICK_STEPS if has_extremes else 0
        for choice in islice(proposed_choices(read, point, box.box, WIDTHS[0], n_steps), 1 + n_steps):
            failure = use_choice(choice) or failure
            if interval.scaled_gap <= goal:
                return failure
        if interval.scaled_gap > max(goal, POOR_GAP):
            use_program()
            has_program = True
        if interval.scaled_gap <= SMALL_GAP:
            return failure
    for width in WIDTHS:
        previous_gap = interval.scaled_gap
        for choice in proposed_choices(read, point, box.box, width, N_STEPS):
            gap = interval.scaled_gap
            if gap <= goal:
                return failure
            failure = use_choice(choice) or failure
            if is_first and interval.lower == -math.inf and change == 0 and is_linear_problem:
                is_first = False
                if _use_linear_optimum(read, interval) or read.is_large:
                    return failure
            # Without a box, each choice of a large problem needs a system whose solution makes slopes 0.
            is_costly = read.is_large and not box.is_bounded
            if gap <= (MAX_COSTLY_GAP if is_costly else SMALL_GAP) and interval.scaled_gap > MIN_GOOD_NARROWING * gap:
                break
        if interval.is_lower_end_near(read):
            return failure
        gap = interval.scaled_gap
        if width == WIDTHS[0] and not has_program and gap > goal:
            if gap > POOR_GAP or (gap > SMALL_GAP and is_near_kink()):
                use_program()
        is_good = interval.scaled_gap <= POOR_GAP
        factor = MIN_GOOD_NARROWING if is_good else MIN_NARROWING
        if (is_good or read.is_large) and interval.scaled_gap > factor * previous_gap:
            break
    if read.is_large or not POOR_GAP < interval.scaled_gap < math.inf or interval.is_lower_end_near(read):
        return failure
    for width in WIDTHS:
        for choice in proposed_choices(read, point, box.box, width, N_STEPS, n_cheap_steps=N_CHEAP_STEPS):
            use_choice(choice)
        if interval.scaled_gap <= POOR_GAP:
            break
    return failure


def _use_linear_optimum(read: ReadProblem, interval: ProblemInterval) -> bool:
    """Use the exact optimum of a linear problem; return whether there is one.

    Multipliers of an optimum that many points attain leave slopes without a bound that only exact ones make 0.
    """
    result = exact_linear_interval(read)
    if result is None:
        return False
    exact, interval.multipliers = result
    interval.lower = max(interval.lower, exact.lower)
    return interval.lower > -math.inf


def _is_near_kink(read: ReadProblem, point: FloatPoint) -> bool:
    """Return whether arguments of an atom are next to a kink: only there, a program has slopes to choose."""
    for node in read.nodes:
        if not node.function.has_kinks or not len(node.members):
            continue
        u = group_arguments(node, point)
        units = u / (KINK_DISTANCE * np.maximum(np.abs(u).max(axis=1, keepdims=True), 1e-300))
        # Numbers next to each other are equal after one of both roundings.
        if any(node.function.is_on_kink(np.floor(units + shift)).any() for shift in (0.5, 0.0)):
            return True
    return False


def _use_choice(read: ReadProblem, interval: ProblemInterval, box: Propagation, choice: Choice, change: float) -> str:
    """Raise the lower bound of an interval by the minorant of a choice; return why the choice has none, or ""."""
    try:
        interval.lower = max(interval.lower, lower_bound(read, choice, box, change))
    except WrongSign as sign:
        return f"{sign} has a multiplier of the wrong sign: the problem may not be convex there"
    return ""


def is_proved_infeasible(read: ReadProblem, box: Propagation, tolerance: float, has_relaxation: bool = False) -> bool:
    """Return whether no point is feasible: weak duality without the objective, by the duals of the least violation.

    Where this proves nothing, domains of atoms count as constraints. Their duals may be noise, which costs more.
    """
    domains = with_domains(read)
    reads = [read] if domains is None else [read, domains.read]
    for copied, x in itertools.chain.from_iterable(map(least_violations, reads)):
        point = float_point(copied, x)
        for width in WIDTHS[:3]:
            for choice in proposed_choices(copied, point, box.box, width, N_STEPS, objective_weight=0.0):
                try:
                    if lower_bound(copied, choice, box, tolerance) > 0:
                        return True
                except WrongSign:
                    continue
    return has_relaxation and tolerance == 0 and bool(read.matrices) and is_relaxation_infeasible(read)
