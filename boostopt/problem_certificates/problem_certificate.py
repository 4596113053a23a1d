"""Certified intervals of the optimal values of convex CVXPY problems, and of conic programs.

`certify_problem` takes a problem as it is, with the values and duals that a solver left in it, and proves an interval
that contains its optimum. It believes no status, no solver, no canonicalization and no analysis of curvature: all that
it claims is computed in balls (`balls`), or in floats with bounds of their errors (`sparse_float_forms`), from the
meaning of CVXPY's objects. docs/any_problem.md has the theorems.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.cvxpy_tools import cp, solve_quietly
from boostopt._utils.formatting import format_interval
from boostopt._utils.immutable_arrays import as_immutable
from boostopt._utils.validation import check_flag, check_instance, check_number, check_tolerance, is_real_number
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.optimality_check import has_crossed_bounds
from boostopt.errors import (
    OptionError,
    ProblemError,
    SolverNotFound,
    format_names,
    format_names_truncated,
    reason_on_one_line,
    short_repr,
)
from boostopt.problem_certificates.arithmetic.balls import Ball, ball, midpoints, round_up, working_precision
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.cone_proofs.clarabel_answers import solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form, slack_elimination
from boostopt.problem_certificates.cone_proofs.cone_form_interval import (
    MAX_DIGITS,
    MAX_GAP,
    FormCertifier,
    FormInterval,
    interval_with_remainders,
)
from boostopt.problem_certificates.cone_proofs.conic_program_proof import (
    ProgramProof,
    lifted_interval,
    program_proof,
    smaller_answer,
)
from boostopt.problem_certificates.cone_proofs.exact_interval import basis_interval, exact_interval, near_interval
from boostopt.problem_certificates.faces.domain_constraints import with_domains
from boostopt.problem_certificates.faces.implied_equations import (
    with_affine_pieces,
    with_implied_equations,
    with_null_vectors,
)
from boostopt.problem_certificates.feasible_point import FeasiblePoint, FeasiblePointSearch
from boostopt.problem_certificates.leaf_values import has_usable_value, value_of
from boostopt.problem_certificates.minorants.auxiliary_solves import points_without_slack, solved_again
from boostopt.problem_certificates.minorants.minorant_search import (
    POOR_GAP,
    ProblemInterval,
    bound_below,
    bound_below_by_tangents,
    bound_domains_below,
    bound_face_below,
    is_proved_infeasible,
    scaled_gap,
)
from boostopt.problem_certificates.minorants.no_optimum_causes import no_optimum_cause
from boostopt.problem_certificates.problem_kinds import check_kind, non_convex_part, relaxed_problem
from boostopt.problem_certificates.problem_reader import ReadProblem, read_problem, read_variables
from boostopt.problem_certificates.unbounded_rays import has_unbounded_ray

SOLVERS = ("CLARABEL", "SCS", "HIGHS", "OSQP", "ECOS")
"""Solvers that `solver="auto"` tries in turn, where they are installed."""

MAX_FACIAL_REDUCTIONS = 3
"""Number of times that equations replace semidefinite matrices without interior."""

MAX_DECIMAL_DIGITS = 100_000_000
"""Number of binary digits up to which the exact optimum of a program of decimals is computed: about a minute."""

MAX_ROUNDING = 1e-12
"""Relative distance of a point from an exactly feasible one from which a reason states it."""

MAX_USUAL_GAP = 1e-4
"""Scaled gap that answers of solvers with default options prove."""

WIDE_ANSWER = 'the answer in the problem proves no narrower interval: solve more accurately, or pass solver="auto"'
"""The reason for a larger gap, where no solver was called."""

CONTRADICTORY_FACES = "constraints that no point satisfies with slack imply equations that contradict each other"
"""The reason for a proof of infeasibility by such equations."""

MIN_DISTANCE = 1e-3
"""Relative distance of an answer from the feasible point from which tangents at this point are tried, too."""


@dataclass(frozen=True)
class ProblemAnswer:
    """The answer of a solver that a certificate was computed from, so that it can be saved.

    Attributes
    ----------
    problem
        The problem as it was read.
    x
        The point at which tangents are taken.
    feasible
        The feasible point; None if none is proved.
    """

    problem: ReadProblem
    x: Float[Array, " n"]
    feasible: FeasiblePoint | None


@dataclass(frozen=True, eq=False, repr=False)
class ProblemCertificate:
    """An interval that is proved to contain the optimal value of a CVXPY problem or of a conic program.

    Attributes
    ----------
    lower, upper
        The interval. For an infeasible problem both are inf if it minimizes, -inf if it maximizes; for an unbounded
        problem both are -inf if it minimizes, inf if it maximizes.
    status
        "bounded": both bounds are finite. "infeasible", "unbounded": this is proved. "open": none of these is proved.
    value
        The value that the problem reported before; None if it reported none.
    point
        The value of each variable at a feasible point, rounded to floats; None if none is proved. An exactly feasible
        point lies within the rounding. In large problems with quotients, whose coefficients are rounded, `reasons` may
        state a larger distance.
    box
        Lower and upper bounds of each variable that contain all optimal points. They may be infinite.
    reasons
        The reasons for which the interval is not finite, and the assumptions, in words.
    right_side_change
        By how much right sides of affine constraints were moved, at most `tolerance`; 0 if they were not. If they were,
        `upper`, `point` and `box` are of the moved problem; `lower` holds for all right sides within that distance.
    answers
        The answers of the solvers, which `save` needs.
    program_proof
        The proof of a conic program, which `save` needs; None for a CVXPY problem.
    """

    lower: float
    upper: float
    status: str
    value: float | None
    point: Mapping[Any, Array] | None
    box: Mapping[Any, tuple[Array, Array]]
    reasons: Sequence[str] = ()
    right_side_change: float = 0.0
    answers: Sequence[ProblemAnswer] = ()
    program_proof: ProgramProof | None = None

    @property
    def is_decided(self) -> bool:
        """True if it is proved that there is no optimum: the problem is infeasible or unbounded."""
        return self.status in ("infeasible", "unbounded")

    @property
    def gap(self) -> float:
        """Upper minus lower; 0 if both are the same infinity."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def scaled_gap(self) -> float:
        """The gap over max(1, |lower|, |upper|)."""
        return scaled_gap(self.lower, self.upper)

    @property
    def violation(self) -> float:
        """The distance of the reported value from the interval, over max(1, |value|); 0 if no value was reported."""
        if self.value is None or self.lower <= self.value <= self.upper:
            return 0.0
        distance = max(self.lower - self.value, self.value - self.upper)
        return distance / max(1.0, abs(self.value)) if math.isfinite(self.value) else math.inf

    @property
    def words(self) -> str:
        """The result in words."""
        if self.is_decided:
            return f"proved {self.status}"
        return format_interval(self.lower, self.upper)

    def save(
        self,
        path: str | PathLike[str],
        origin: Mapping[str, Any] | None = None,
        data: str | PathLike[str] | None = None,
    ) -> None:
        """Save the problem with all its data, and the proof, so that others can verify it without CVXPY and solvers.

        `boostopt.verification.verify` checks the file. The proof in it is made anew, in fractions and without bounds of
        other steps, so the interval in the file is another one, often narrower.

        Parameters
        ----------
        path
            The file. It is written under another name first and then renamed.
        origin
            Information for readers of the file: names with texts and numbers.
        data
            A file of its own for the problem, in the folder of `path` or below. Then the certificate holds the relative
            path of this file and its digest. Several certificates of one problem may share it. By default, the
            certificate holds the problem.

        Raises
        ------
        ProblemError
            The checker of files has no rule for an atom or a coefficient of the problem, or no proof of this interval
            was found that needs no box; or, for a conic program, none in fractions. The message names what is missing,
            and no file is written. Or `data` is a file with other content, or lies in another folder.
        DataError
            The file cannot be written.
        """
        if self.program_proof is not None:
            from boostopt.verification.conic_files.conic_writer import save_conic_certificate

            save_conic_certificate(self, path, origin, data)
            return
        from boostopt.verification.problem_certificate_writer import save_problem_certificate

        save_problem_certificate(self, path, origin, data)

    def __repr__(self) -> str:
        return f"ProblemCertificate(lower={self.lower}, upper={self.upper}, gap={self.gap:.2e}, status={self.status!r})"


def certify_problem(
    problem: Any,
    bounds: Mapping[Any, tuple[Any, Any]] | None = None,
    goal: float = 1e-8,
    solver: str | None = None,
    tolerance: float = 0.0,
    relaxation: bool = False,
) -> ProblemCertificate:
    """Prove an interval that contains the optimal value of a convex CVXPY problem or of a conic program.

    The values and duals that a solver left in the problem decide how narrow the interval is. Nothing that they hold can
    make it wrong.

    Parameters
    ----------
    problem
        The `cvxpy.Problem`, solved by any solver; or a `ConicProgram`, which is solved by Clarabel and certified from
        its sparse data. Then `bounds` must be None, `tolerance` 0 and `solver` None, "auto" or "CLARABEL"; the point
        and the box of the result have the key "x". If its numbers mean decimals, it must have no cones, and its
        interval is that of the exact optimum.
    bounds
        Lower and upper bounds of variables, {x: (low, high)}. They become constraints of the problem.
    goal
        The scaled gap at which the search for better multipliers ends.
    solver
        A solver of CVXPY that solves the problem again if it has no values or the gap is above the goal. "auto" tries
        several, whose values stay in the problem. It also certifies a conic program of boostopt's own with the same
        optimum, if the gap is above 1e-6 and the problem has one.
    tolerance
        By how much right sides of affine constraints may be moved if equalities depend on each other up to rounding.
        The result states how much they were.
    relaxation
        Whether to certify the continuous relaxation of a problem with boolean or integer variables. It is solved anew.

    Returns
    -------
    ProblemCertificate

    Raises
    ------
    ProblemError
        The argument is neither a CVXPY problem nor a conic program; it has an atom or a constraint without a rule,
        integer or complex variables,
        or data that are missing or not finite; or it was not solved and no solver is given.
    OptionError
        Another argument is invalid.
    SolverNotFound
        The solver is not installed.
    """
    goal = check_tolerance("goal", goal)
    tolerance = check_number(
        "tolerance", tolerance, "lie in [0, 1)", lambda x: 0 <= x < 1, "Pass 0, or a number such as 1e-12."
    )
    relaxation = check_flag("relaxation", relaxation)
    if isinstance(problem, ConicProgram):
        _check_program_options(bounds, solver, tolerance)
        return _certify_program(problem, goal)
    check_instance(
        "problem",
        problem,
        cp.Problem,
        "a cvxpy.Problem",
        "Pass cp.Problem(objective, constraints), or call certify of a program of boostopt.",
        ProblemError,
    )
    check_kind(problem)
    if bounds is not None:
        check_instance(
            "bounds",
            bounds,
            Mapping,
            "pairs of bounds by variable",
            "Pass a mapping such as {x: (0, 10)}.",
            ProblemError,
        )
    solvers = _solvers(solver, problem)
    if relaxation and problem.is_mixed_integer():
        relaxed, originals = relaxed_problem(problem)
        copies = {variable.id: copy for copy, variable in originals.items()}
        certificate = certify_problem(
            relaxed,
            {copies.get(getattr(variable, "id", None), variable): pair for variable, pair in (bounds or {}).items()},
            goal,
            solver or "auto",
            tolerance,
        )
        return replace(
            certificate,
            value=None,
            point=None
            if certificate.point is None
            else {originals[copy]: value for copy, value in certificate.point.items()},
            box={originals[copy]: pair for copy, pair in certificate.box.items()},
            reasons=("boolean and integer variables are read as continuous ones", *certificate.reasons),
        )
    if problem.is_mixed_integer():
        read_variables(problem)  # which refuses them
    if not solvers and problem.status is None:
        _check_values(problem)
    value = None if problem.value is None or not is_real_number(problem.value) else float(problem.value)
    with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
        result: ProblemCertificate | None = None
        if problem.status is not None or all(value_of(variable) is not None for variable in problem.variables()):
            result = _certify_values(problem, bounds, goal, tolerance, solver == "auto")
        for name in solvers:
            if result is not None and (result.scaled_gap <= goal or result.is_decided):
                break
            failure = _solve(problem, name)
            has_relaxation = solver == "auto" and result is None
            following = _certify_values(problem, bounds, goal, tolerance, has_relaxation, result)
            if failure:
                following = replace(following, reasons=[*following.reasons, failure])
            result = following if result is None else _intersection(result, following)
    if result is None:  # no variables: nothing needs a solver
        raise ProblemError("expected a problem with values; got none. Call problem.solve() first.")
    return replace(result, value=value, reasons=(*_doubts(problem, result, goal, not solvers), *result.reasons))


def _check_program_options(bounds: object, solver: object, tolerance: float) -> None:
    """Refuse options that conic programs do not have.

    Raises
    ------
    OptionError
        An option has another value than those that a program takes.
    """
    for name, value, is_allowed, advice in (
        ("bounds", bounds, bounds is None, "State them as lower and upper of the program."),
        ("solver", solver, solver in (None, "auto", "CLARABEL"), 'Pass "CLARABEL", or program.to_cvxpy().'),
        ("tolerance", tolerance, tolerance == 0, "Pass 0, or program.to_cvxpy()."),
    ):
        if not is_allowed:
            raise OptionError(
                f"{name} of a ConicProgram must be left as it is by default; got {short_repr(value)}. {advice}"
            )


def _certify_program(program: ConicProgram, goal: float) -> ProblemCertificate:
    """Return the certificate of a conic program."""
    with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
        interval, proof = _proved_interval(program, goal)
    if interval.lower > interval.upper:
        raise ProblemError(
            f"expected lower <= upper; got {interval.lower} > {interval.upper}. This is a bug: please report it."
        )
    lower, upper = (interval.lower, interval.upper) if not program.is_maximized else (-interval.upper, -interval.lower)
    reasons = [*interval.reasons]
    if not interval.status and interval.x is None:
        reasons.append(f"no feasible point is proved: {interval.upper_reason}")
    if not interval.status and interval.lower == -math.inf:
        reasons.append(f"no dual bound is proved: {interval.lower_reason}")
    if not interval.status and reasons and interval.exact_reason:
        reasons.append(f"no exact optimum is proved: {interval.exact_reason}")
    is_bounded = math.isfinite(lower) and math.isfinite(upper)
    return ProblemCertificate(
        lower + 0.0,
        upper + 0.0,
        interval.status or ("bounded" if is_bounded else "open"),
        None,
        None if interval.x is None else {"x": as_immutable(interval.x[0])},
        {"x": (program.lower, program.upper)},
        tuple(reasons),
        program_proof=proof,
    )


def _proved_interval(program: ConicProgram, goal: float) -> tuple[FormInterval, ProgramProof]:
    """Return the interval of a conic program to be minimized, and its proof."""
    if program.numbers == "decimal":
        interval = _decimal_interval(program)
        return interval, program_proof(program, interval)
    first = None
    if program.is_linear and not has_crossed_bounds(program):
        first = basis_interval(program, MAX_DIGITS)
        if first.status or first.scaled_gap <= goal:
            return first, program_proof(program, first)
    prove_exactly = None if program.cones else partial(exact_interval, program)
    prove_near = None if program.P is None or program.cones else partial(near_interval, program)
    elimination = slack_elimination(cone_form(program))
    certifier = FormCertifier(elimination.form, goal, prove_exactly, first, prove_near)
    interval = certifier.run()
    is_solved = certifier.answer is not None and certifier.answer.status == "Solved"
    limit = MAX_GAP if is_solved else goal
    if elimination.columns.size and not interval.status and interval.scaled_gap > limit:
        # Clarabel is more accurate for one form of a program than for the other one, and it is not known for which.
        interval = certifier.run(smaller_answer(elimination, solve_form(elimination.whole)))
    if interval.x is None and not interval.status and program.cones:
        interval.intersect(interval_with_remainders(elimination.form, goal))
    interval = lifted_interval(elimination, interval)
    return interval, program_proof(program, interval, certifier, elimination)


def _decimal_interval(program: ConicProgram) -> FormInterval:
    """Return the interval of a program whose numbers mean decimals: the exact optimum alone reads them so.

    Raises
    ------
    OptionError
        The program has cones.
    """
    if program.cones:
        raise OptionError(
            "certify_problem reads the numbers of a ConicProgram with cones as their floats; got one with "
            'numbers="decimal". Pass dataclasses.replace(program, numbers="binary").'
        )
    return exact_interval(program, MAX_DECIMAL_DIGITS, has_point=False)


def _check_values(problem: Any) -> None:
    """Raise ProblemError if a variable has no value.

    Raises
    ------
    ProblemError
        A variable has none; the message says if CVXPY cannot solve the problem.
    """
    names = [variable.name() for variable in problem.variables() if value_of(variable) is None]
    if not names:
        return
    part = non_convex_part(problem)
    advice = (
        f"CVXPY does not solve it, because {part} is not convex by its rules (DCP): write this with convex atoms."
        if part
        else 'Call problem.solve() first, or pass solver="auto".'
    )
    raise ProblemError(f"expected a problem with values; got none for {format_names_truncated(names)}. {advice}")


def _doubts(problem: Any, certificate: ProblemCertificate, goal: float, is_answer_alone: bool) -> list[str]:
    """Return why an interval may be wide or open: parts that are not convex, values that are no numbers, an answer."""
    if certificate.is_decided:
        return []
    part = non_convex_part(problem) if certificate.scaled_gap > goal else ""
    doubts = [f"{part} is not convex by CVXPY's rules (DCP): write it with convex atoms"] if part else []
    names = [variable.name() for variable in problem.variables() if not has_usable_value(variable)]
    if names and not part:
        doubts.append(
            f"no value of finite numbers of its shape was in {format_names_truncated(names)}, so that the interval may "
            "be wide: call problem.solve()"
        )
    is_wide = MAX_USUAL_GAP < certificate.scaled_gap < math.inf
    if is_answer_alone and is_wide and not doubts and not certificate.reasons:
        doubts.append(WIDE_ANSWER)
    return doubts


def cause_of(certificate: ProblemCertificate) -> str:
    """Return what makes the problem of a certificate infeasible or unbounded, in words; "" if it is not found."""
    if not (certificate.is_decided and certificate.answers):
        return ""
    return no_optimum_cause(certificate.answers[-1].problem, certificate.status)


def assert_certified(problem: Any, gap: float = 1e-6) -> ProblemCertificate:
    """Assert that the answer in a CVXPY problem is proved good, for test suites.

    Parameters
    ----------
    problem
        The problem, solved by any solver.
    gap
        The scaled gap that the interval may have, and the relative distance from it that the reported value may have.

    Returns
    -------
    ProblemCertificate

    Raises
    ------
    AssertionError
        The interval is wider, the reported value lies outside, or the problem is proved infeasible or unbounded.
    """
    gap = check_tolerance("gap", gap)
    certificate = certify_problem(problem, goal=min(gap, 1e-8))
    reasons = [text for text in (cause_of(certificate), *certificate.reasons) if text not in ("", WIDE_ANSWER)]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    if certificate.is_decided:
        raise AssertionError(
            f"expected an optimum that is certified to {gap:g}; the problem is proved {certificate.status}{why}. "
            "Correct the problem, or compare certify_problem(problem).status if this is what you expect"
        )
    if certificate.violation > gap:
        distance, cause = f"which is off by {certificate.violation:.2e}", "values, parameters or data were changed"
        if not math.isfinite(certificate.violation):
            distance, cause = "which is not finite", "values of variables lie outside the domain of an atom"
            if re.search("infeasible|unbounded", str(problem.status)):
                distance, cause = f"for it is {problem.status} by its status", "the data are badly scaled"
        raise AssertionError(
            f"expected a value in {certificate.words}; the problem reports {certificate.value:.10g}, {distance}. Solve "
            f"again, to a higher accuracy: {cause}, or the solver is wrong"
        )
    if not certificate.scaled_gap <= gap:
        advice = "Change what is named there" if reasons else "Solve to a higher accuracy"
        raise AssertionError(
            f"expected an optimum that is certified to {gap:g}; proved {certificate.words}, a scaled "
            f"gap of {certificate.scaled_gap:.2e}{why}. {advice}; explain_problem(problem) shows what fails"
        )
    return certificate


def _solvers(solver: object, problem: Any) -> list[str]:
    """Return the solvers to call. HiGHS 1.15 may cycle, or end the process, on quadratic programs of bad scales.

    Raises
    ------
    SolverNotFound
        The solver is not installed.
    """
    if solver is None:
        return []
    installed = list(cp.installed_solvers())
    if solver == "auto":
        is_linear = problem.objective.expr.is_affine()
        return [name for name in SOLVERS if name in installed and (name != "HIGHS" or is_linear)]
    if not isinstance(solver, str) or solver.upper() not in installed:
        raise SolverNotFound(
            f'expected a solver of CVXPY that is installed, or "auto"; got {short_repr(solver)}. Installed: '
            f"{format_names(installed)}. Pass one of these names."
        )
    return [solver.upper()]


def _solve(problem: Any, solver: str) -> str:
    """Solve a problem; return what failed, "" if nothing did."""
    failure = solve_quietly(problem, solver)
    return "" if failure is None else f"{solver} failed: {reason_on_one_line(failure, 200)}"


def _intersection(first: ProblemCertificate, second: ProblemCertificate) -> ProblemCertificate:
    """Return what two certificates of one problem prove together."""
    second = replace(second, answers=(*first.answers, *second.answers))
    if first.is_decided:
        return first
    if second.is_decided or first.right_side_change != second.right_side_change:
        return second if second.scaled_gap <= first.scaled_gap else first
    lower, upper = max(first.lower, second.lower), min(first.upper, second.upper)
    best = second if second.scaled_gap <= first.scaled_gap else first
    is_bounded = math.isfinite(lower) and math.isfinite(upper)
    return replace(
        best,
        lower=lower,
        upper=upper,
        status="bounded" if is_bounded else "open",
        reasons=() if is_bounded and best.status == "open" else best.reasons,
    )


def _certify_values(
    problem: Any,
    bounds: Mapping[Any, Any] | None,
    goal: float,
    tolerance: float,
    has_relaxation: bool,
    earlier: ProblemCertificate | None = None,
) -> ProblemCertificate:
    """Return the certificate by the values and duals that a problem has, and by a conic relaxation if this may be.

    The lower bound of an earlier certificate, for the problem to be minimized, saves the work of proving another one.
    """
    original = read_problem(problem, bounds)
    read = with_implied_equations(original)
    interval = ProblemInterval(has_relaxation=has_relaxation)
    if earlier is not None and tolerance == 0:
        interval.lower = earlier.lower if read.sign > 0 else -earlier.upper
    x = read.point_of_values()
    search = FeasiblePointSearch(read, tolerance)
    feasible = search.run(x)
    for _ in range(MAX_FACIAL_REDUCTIONS):
        if feasible is not None or search.is_contradictory or not read.matrices:
            break
        faces = read
        for interior in points_without_slack(read, search.interior):
            faces = with_null_vectors(read, interior)
            if faces is not read:
                break
        if faces is read:
            break
        read, x = solved_again(faces) or (faces, x)
        search = FeasiblePointSearch(read, tolerance)
        feasible = search.run(x)
    if feasible is None and not search.is_contradictory and (pieces := with_affine_pieces(read)) is not read:
        search = FeasiblePointSearch(pieces, tolerance)
        feasible = search.run(x)
    if feasible is None and not search.is_contradictory and (domains := with_domains(read)) is not None:
        # Limits of domains are constraints that count as equations, too, where no point has slack.
        search_in_domains = FeasiblePointSearch(with_implied_equations(domains.read), tolerance)
        feasible = search_in_domains.run(x) or search_in_domains.simple_point(x)
    feasible = feasible or search.simple_point(x)
    change = 0.0 if feasible is None else feasible.right_side_change
    interval.upper = math.inf if feasible is None else feasible.upper
    box = Propagation(read, interval.upper, change)
    box.run()
    if feasible is None:
        is_decided = search.is_contradictory or box.is_empty
        if is_decided or is_proved_infeasible(read, box, tolerance, has_relaxation):
            interval.lower, interval.status = math.inf, "infeasible"
            if search.is_contradictory:
                interval.reasons.append(search.reason if read is original else CONTRADICTORY_FACES)
        else:
            interval.reasons.append(search.reason)
    elif box.is_empty:
        raise ProblemError(
            "expected bounds that contain the feasible point; got none. This is a bug: please report it."
        )
    start = _start(read, x, feasible, search)
    if not interval.status:
        bound_below(read, interval, box, start, goal, change)
        if feasible is not None and _is_far(start, feasible) and POOR_GAP < interval.scaled_gap < math.inf:
            bound_below_by_tangents(read, interval, box, midpoints(feasible.x), goal, change)
        if interval.relaxed_x is not None:
            point = FeasiblePointSearch(read, tolerance).run(interval.relaxed_x)
            if point is not None and point.upper < interval.upper:
                feasible, interval.upper = point, point.upper
        if feasible is not None and read.matrices and interval.scaled_gap > POOR_GAP:
            bound_face_below(read, interval, goal, change)
        if feasible is not None and not math.isfinite(interval.lower):
            if has_unbounded_ray(read, midpoints(feasible.x)):
                interval.upper, interval.status, interval.reasons = -math.inf, "unbounded", []
            else:
                bound_domains_below(read, interval, goal, change)
        if interval.lower == math.inf:  # by the exact optimum of a linear problem, which has no feasible point
            interval.status, interval.reasons = "infeasible", []
    if not interval.status:
        is_bounded = math.isfinite(interval.lower) and math.isfinite(interval.upper)
        interval.status = "bounded" if is_bounded else "open"
    if interval.lower > interval.upper:
        raise ProblemError(
            f"expected lower <= upper; got {interval.lower} > {interval.upper}. This is a bug: please report it."
        )
    distance = 0.0 if feasible is None else _relative_distance(feasible.x)
    if distance > MAX_ROUNDING:
        interval.reasons.append(
            f"a feasible point lies within {distance:.1e} of the point, relative to its entries: quotients of large "
            "problems are rounded"
        )
    if change > 0:
        interval.reasons.append(f"right sides of affine constraints were moved by at most {change:.1e}")
    lower, upper = (interval.lower, interval.upper) if read.sign > 0 else (-interval.upper, -interval.lower)
    lower, upper = lower + 0.0, upper + 0.0  # no -0.0
    low, high = (np.array(side) for side in box.box)
    return ProblemCertificate(
        lower,
        upper,
        interval.status,
        None,
        None
        if feasible is None
        else {item.variable: as_immutable(item.values(midpoints(feasible.x))) for item in read.variables},
        {item.variable: (as_immutable(item.values(low)), as_immutable(item.values(high))) for item in read.variables},
        tuple(interval.reasons),
        change,
        (ProblemAnswer(original if read is not original else interval.multipliers or original, start, feasible),),
    )


def _is_far(start: Float[Array, " n"], feasible: FeasiblePoint) -> bool:
    """Return whether a point is so far from a feasible one that tangents there are others."""
    x = midpoints(feasible.x)
    return bool(np.abs(start - x).max(initial=0.0) > MIN_DISTANCE * np.abs(x).max(initial=1.0))


def _relative_distance(x: Sequence[Ball]) -> float:
    """Return a bound of the distances of numbers from the midpoints of their balls, over max(1, |midpoint|)."""
    mids = midpoints(x)
    distances = [round_up(abs(value - ball(mid))) for value, mid in zip(x, mids.tolist(), strict=True)]
    return float(np.max(np.array(distances) / np.maximum(1.0, np.abs(mids)), initial=0.0))


def _start(
    read: ReadProblem, x: Array | None, feasible: FeasiblePoint | None, search: FeasiblePointSearch
) -> Float[Array, " n"]:
    """Return the point at which tangents are taken."""
    if x is not None:
        return x
    if feasible is not None:
        return midpoints(feasible.x)
    return np.zeros(read.n) if search.interior is None else search.interior
