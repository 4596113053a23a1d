"""The writer of certificate files of CVXPY problems: the proof anew, in fractions, verified before it is written."""

from __future__ import annotations

import itertools
import json
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.files import write_atomically
from boostopt._utils.json_values import to_json_text
from boostopt._utils.validation import check_path
from boostopt.errors import ProblemError
from boostopt.problem_certificates.minorants.auxiliary_solves import least_violations, solved_again
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice
from boostopt.problem_certificates.minorants.minorant_search import N_STEPS, WIDTHS
from boostopt.problem_certificates.minorants.stationary_multipliers import float_point, proposed_choices
from boostopt.problem_certificates.problem_certificate import ProblemAnswer, ProblemCertificate
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.verification.exact_proofs.domain_multipliers import StatedProblemWithDomains, with_stated_domains
from boostopt.verification.exact_proofs.exact_multipliers import exact_multipliers, proposals
from boostopt.verification.exact_proofs.exact_optima import FloatAnswer, exact_optimum
from boostopt.verification.exact_proofs.exact_points import Row, proposed_points, proposed_rays
from boostopt.verification.exact_proofs.implied_multipliers import (
    ProblemWithEquations,
    exposed_implications,
    proposed_implications,
    with_implied_rows,
)
from boostopt.verification.exact_proofs.relaxed_multipliers import relaxed_multipliers
from boostopt.verification.problem_certificate_verdict import PROBLEM_FILES, verify_problem_certificate
from boostopt.verification.problem_kernel.problem_checker import (
    check_ray,
    excludes_all_points,
    lower_bound,
    upper_bound,
)
from boostopt.verification.problem_kernel.problem_schema import (
    FILE_KIND,
    FORMAT,
    ImpliedEquations,
    Multipliers,
    Problem,
    ScaledVector,
    parse_problem,
)
from boostopt.verification.problem_kernel.rationals_and_balls import (
    Number,
    ceil_float,
    floor_float,
    is_at_most,
    pair_product,
    working_precision,
)
from boostopt.verification.problem_statement import problem_to_json
from boostopt.verification.statement_files import place_beside
from boostopt.verification.trusted_kernel.certificate_schema import MAX_TEXT_BYTES
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json

INSETS = (1e-26, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7)
"""The distances by which slopes and multipliers of matrices move into their domains, tried in turn."""

ENOUGH = 1e-12
"""Relative loss of a bound at which no better proof is looked for."""

ENOUGH_OF_GAP = 0.1
"""The same, as a fraction of the gap of the certificate."""

ENOUGH_WITHOUT_EQUATIONS = 1e-9
"""Relative loss of an end up to which no multipliers of implied equations are looked for."""

MAX_LOSS = 1e-6
"""Relative loss of a bound, compared with the certificate, with which a file is written."""

MAX_QUICK_SLOPES = 1_000
"""Number of slopes of atoms above which a proof in fractions takes long: then only trials that gain lead to others."""

MIN_NARROWING = 0.9
"""Factor by which a step must narrow the loss of such a problem, else no further step of this width is tried."""

MIN_GOOD_NARROWING = 0.5
"""Factor by which a width must narrow a loss with which a file is written, else no other width is tried."""


def save_problem_certificate(
    certificate: ProblemCertificate,
    path: str | PathLike[str],
    origin: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
) -> None:
    """Save the certificate of a CVXPY problem; see `ProblemCertificate.save`."""
    target = check_path("path", path)
    problem_file = None if data is None else check_path("data", data)
    place = None if problem_file is None else place_beside(target, problem_file)
    if not certificate.answers:
        raise ProblemError(
            "a file states a CVXPY problem and answers to it; got a certificate without answers. Call "
            "certify_problem(problem)."
        )
    if certificate.right_side_change > 0:
        raise ProblemError(
            f"a file states the problem itself; got a certificate of right sides that were moved by "
            f"{certificate.right_side_change:.1e}. Leave out an equality that follows from the others up to rounding."
        )
    with working_precision(), limit_blas_threads():
        content = {**_content(certificate), "made": _metadata(origin)}
    verification = verify_problem_certificate(parse_json(json.dumps(content, allow_nan=False).encode()))
    if not verification:
        raise ProblemError(
            f"expected a file that its checker accepts; {verification.reason}. Keep the certificate in Python."
        )
    statement = content["problem"]
    if place is not None:
        content["problem"] = {"file": place, "sha256": PROBLEM_FILES.digest_of(statement)}
    text = json.dumps(content, allow_nan=False).encode()
    if max(len(text), len(PROBLEM_FILES.text_of(statement))) > MAX_TEXT_BYTES:
        raise ProblemError(
            f"a file has at most {MAX_TEXT_BYTES:,} bytes; this problem with its proof has {len(text):,}. Keep the "
            "certificate in Python."
        )
    if problem_file is not None:
        PROBLEM_FILES.write(problem_file, statement)
    write_atomically(target, lambda file: file.write(text))


def _metadata(origin: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the versions, and the information of the caller."""
    result: dict[str, Any] = {
        "boostopt": import_module("boostopt").__version__,
        "cvxpy": import_module("cvxpy").__version__,
        "python": platform.python_version(),
    }
    return result | json.loads(to_json_text(dict(origin or {})))


def _content(certificate: ProblemCertificate) -> dict[str, Any]:
    """Return the statement, the proof and the claim."""
    statement = problem_to_json(certificate.answers[-1].problem)
    try:
        problem = parse_problem(json.loads(json.dumps(statement)))
    except Rejected as rejected:
        raise ProblemError(f"a file cannot state this problem: {rejected}. Keep the certificate in Python.") from None
    multipliers: Multipliers | None = None
    point: ScaledVector | None = None
    ray: ScaledVector | None = None
    lower: Number | None = None
    upper: Number | None = None
    is_maximized = problem.sign < 0
    goals = (certificate.lower, certificate.upper)
    low_goal, high_goal = (-goals[1], -goals[0]) if is_maximized else goals
    if certificate.status == "infeasible":
        multipliers = _proof_of_infeasibility(certificate, problem)
    elif certificate.status == "bounded" and (optimum := _exact_optimum(certificate, problem)) is not None:
        lower, multipliers, point = optimum
        upper = lower
    else:
        if certificate.point is not None:
            upper, point = _point_of_upper_end(certificate, problem, high_goal)
        if certificate.status == "unbounded":
            ray = _proved_ray(certificate, problem)
        else:
            lower, multipliers = _multipliers_of_lower_end(certificate, problem, low_goal)
    ends = (
        None if lower is None or ray is not None else lower_end(lower),
        None if upper is None or ray is not None else 0.0 - lower_end(-upper),
    )
    low, high = ends if not is_maximized else tuple(None if end is None else 0.0 - end for end in reversed(ends))
    if certificate.status == "open" and low is None and high is None:
        raise ProblemError("a file must claim a lower or an upper bound; this certificate proves none. Pass bounds=.")
    return {
        "kind": FILE_KIND,
        "format": FORMAT,
        "problem": statement,
        "proof": {
            "multipliers": None if multipliers is None else multipliers_to_json(multipliers),
            "point": None if point is None else vector_to_json(point),
            "ray": None if ray is None else vector_to_json(ray),
        },
        "claim": {"status": certificate.status, "lower": low, "upper": high},
    }


def _exact_optimum(
    certificate: ProblemCertificate, problem: Problem
) -> tuple[Fraction, Multipliers, ScaledVector] | None:
    """Return the optimum of a small quadratic or piecewise linear problem with its proof; None if it is not found."""
    for answer in certificate.answers:
        read = answer.problem
        duals = read.inequalities.duals.tolist(), read.equalities.duals.tolist()
        optimum = exact_optimum(FloatAnswer(answer.x.tolist(), *duals), problem)
        if optimum is not None:
            return optimum
    return None


def lower_end(value: Number) -> float:
    """Return a float whose decimal text is not above a number: a claim is what its text says."""
    end = floor_float(value)
    return end + 0.0 if is_at_most(Fraction(Decimal(repr(end))), value) else math.nextafter(end, -math.inf)


def _point_of_upper_end(certificate: ProblemCertificate, problem: Problem, goal: float) -> tuple[Number, ScaledVector]:
    """Return the smallest upper bound that a point proves, also one of equations that matrices imply, and the point.

    Raises
    ------
    ProblemError
        No point proves nearly the upper bound of the certificate.
    """
    try:
        return best_point(certificate.answers, problem, goal)
    except ProblemError:
        rows = list[Row]()
        for answer in certificate.answers if problem.matrices else ():
            implications = proposed_implications(answer.problem, problem, answer.x)
            blocks = [rows for _, rows in exposed_implications(answer.problem, problem, implications)]
            rows += [pair for block in blocks for pair in zip(block.rows, block.offsets, strict=True)]
            if rows:
                break
        if not rows:
            raise
    return best_point(certificate.answers, problem, goal, rows)


def best_point(
    answers: Sequence[ProblemAnswer], problem: Problem, goal: float, equations: Sequence[Row] = ()
) -> tuple[Number, ScaledVector]:
    """Return the smallest upper bound that a point near one of some answers proves, and the point.

    Parameters
    ----------
    answers
        The answers.
    problem
        The problem as the checker reads it, to be minimized.
    goal
        The upper bound of the certificate; inf if it is not known.
    equations
        Further equations of x that the constraints imply.

    Raises
    ------
    ProblemError
        No point proves nearly the upper bound of the certificate.
    """
    best: Number | None = None
    nearest: ScaledVector | None = None
    failure = "no point satisfies the equalities exactly"
    for answer in answers:
        for point in proposed_points(answer, problem, equations):
            try:
                value = upper_bound(problem, point)
            except Rejected as rejected:
                failure = str(rejected)
                continue
            if best is None or ceil_float(value) < ceil_float(best):
                best, nearest = value, point
            if ceil_float(value) <= goal < math.inf:
                return value, point
    is_near = best is not None and not (np.isfinite(goal) and ceil_float(best) > goal + MAX_LOSS * max(1.0, abs(goal)))
    if best is None or nearest is None or not is_near:
        raise ProblemError(
            "a file must prove the upper bound by a point of fractions; none was found near the point of the "
            f"certificate: {failure}. Keep the certificate in Python."
        )
    return best, nearest


def best_multipliers(
    answers: Sequence[ProblemAnswer], problem: Problem, goal: float, gap: float
) -> tuple[Number | None, Multipliers | None]:
    """Return the largest lower bound that multipliers near some answers prove, and these; None for an infinite goal.

    Parameters
    ----------
    answers
        The answers.
    problem
        The problem as the checker reads it, to be minimized.
    goal, gap
        The lower bound and the gap of the certificate.

    Raises
    ------
    ProblemError
        No multipliers prove nearly the lower bound of the certificate.
    """
    if not np.isfinite(goal):
        return None, None
    gap = gap if np.isfinite(gap) else 0.0
    enough = goal - max(ENOUGH * max(1.0, abs(goal)), ENOUGH_OF_GAP * gap)
    best: Number | None = None
    best_choice: Multipliers | None = None
    failure = "the slopes of x cannot be made 0"
    loss, max_loss, is_costly = math.inf, MAX_LOSS * max(1.0, abs(goal)), has_many_slopes(problem)
    for answer in answers:
        for width in WIDTHS:
            previous_loss, width_loss = loss, math.inf
            candidates = _proposed_multipliers(answer, problem, 1.0, width)
            if width == WIDTHS[-1 if is_costly else 0]:
                candidates = itertools.chain(candidates, [_relaxed_multipliers(answer.problem, problem)])
            for proposed in candidates:
                previous_width_loss = width_loss
                for multipliers in proposed:
                    try:
                        value = pair_product(lower_bound(problem, multipliers), 1 / multipliers.objective)
                    except Rejected as rejected:
                        failure = str(rejected)
                        continue
                    width_loss = min(width_loss, goal - floor_float(value))
                    if best is None or floor_float(value) > floor_float(best):
                        best, best_choice, loss = value, multipliers, goal - floor_float(value)
                    if floor_float(best) >= enough:
                        return best, best_choice
                if is_costly and MIN_NARROWING * previous_width_loss < width_loss < math.inf:
                    break
            if is_costly and MIN_GOOD_NARROWING * previous_loss < loss <= max_loss:
                break
    if best is not None:
        failure = f"the best prove {floor_float(best):.10g}"
    if best is None or loss > max_loss:
        raise ProblemError(
            f"a file must prove the bound {goal:.10g} without a box that other steps prove; no multipliers were found "
            f"for this: {failure}. Pass bounds={{variable: (low, high)}} to certify_problem, or keep it in Python."
        )
    return best, best_choice


def _multipliers_of_lower_end(
    certificate: ProblemCertificate, problem: Problem, goal: float
) -> tuple[Number | None, Multipliers | None]:
    """Return the largest lower bound that multipliers prove, and these, also of equations that constraints imply.

    Raises
    ------
    ProblemError
        No multipliers prove nearly the lower bound of the certificate.
    """
    failure: ProblemError | None = None
    lower, multipliers = None, None
    try:
        lower, multipliers = best_multipliers(certificate.answers, problem, goal, certificate.gap)
        if lower is None or floor_float(lower) >= goal - ENOUGH_WITHOUT_EQUATIONS * max(1.0, abs(goal)):
            return lower, multipliers
    except ProblemError as error:
        failure = error
        # The answer may have no duals.
        solved_problems = [solved_again(answer.problem) for answer in certificate.answers[-1:]]
        answers = [ProblemAnswer(*item, certificate.answers[-1].feasible) for item in solved_problems if item]
        try:
            return best_multipliers(answers, problem, goal, certificate.gap)
        except ProblemError:
            pass
    problems = _extended_problems(certificate.answers, problem)
    if failure is not None:
        problems = itertools.chain(_problems_with_domains(certificate.answers, problem), problems)
    for answer, extended in problems:
        try:
            value, choice = best_multipliers(
                [replace(answer, problem=extended.read)], extended.problem, goal, certificate.gap
            )
        except ProblemError as error:
            failure = failure or error
            continue
        if value is not None and choice is not None and (lower is None or floor_float(value) > floor_float(lower)):
            lower, multipliers = value, extended.split(choice, problem)
    if multipliers is None and failure is not None:
        raise failure
    return lower, multipliers


def _problems_with_domains(
    answers: Sequence[ProblemAnswer], problem: Problem
) -> Iterator[tuple[ProblemAnswer, StatedProblemWithDomains]]:
    """Yield answers, and problems with what the domains of their atoms imply."""
    for answer in answers:
        extended = with_stated_domains(answer.problem, problem)
        if extended is not None:
            yield answer, extended


def _extended_problems(
    answers: Sequence[ProblemAnswer], problem: Problem
) -> Iterator[tuple[ProblemAnswer, ProblemWithEquations]]:
    """Yield answers, and problems with equations that constraints imply, and in the end exposing matrices."""
    for answer in answers:
        read = answer.problem
        implications = proposed_implications(read, problem, answer.x)
        if implications:
            yield answer, with_implied_rows(read, problem, implications)
        if any(item.constraint == "matrix" for item, _ in implications):
            yield answer, with_implied_rows(read, problem, implications, has_matrices=False)
        if problem.matrices:
            exposed = exposed_implications(read, problem, implications)
            if len(exposed) > len(implications):
                yield answer, with_implied_rows(read, problem, exposed)


def _proof_of_infeasibility(certificate: ProblemCertificate, problem: Problem) -> Multipliers:
    """Return multipliers that prove that no point is feasible, also of equations that constraints imply.

    Raises
    ------
    ProblemError
        None were found.
    """
    failure = "no multipliers were found"
    for multipliers in _multipliers_without_objective(certificate.answers, problem):
        try:
            if excludes_all_points(problem, multipliers):
                return multipliers
            failure = "their bound is not positive"
        except Rejected as rejected:
            failure = str(rejected)
    raise ProblemError(
        f"a file must prove by multipliers that no point is feasible; {failure}. Keep the certificate in Python."
    )


def _multipliers_without_objective(answers: Sequence[ProblemAnswer], problem: Problem) -> Iterator[Multipliers]:
    """Yield multipliers that may prove that no point is feasible."""
    for answer in answers:
        yield from _multipliers_of_least_violation(answer.problem, problem)
    for _, extended in _problems_with_domains(answers, problem):
        for multipliers in _multipliers_of_least_violation(extended.read, extended.problem):
            yield extended.split(multipliers, problem)
    for answer in answers:
        for has_objective in (True, False):
            multipliers = relaxed_multipliers(answer.problem, problem, has_objective)
            if multipliers is not None and multipliers.objective == 0:
                yield multipliers
    for _, extended in _extended_problems(answers, problem):
        for multipliers in _multipliers_of_least_violation(extended.read, extended.problem):
            yield extended.split(multipliers, problem)


def _multipliers_of_least_violation(read: ReadProblem, problem: Problem) -> Iterator[Multipliers]:
    """Yield multipliers without the objective near those of the least violation of the constraints."""
    widths = WIDTHS if read.nodes else WIDTHS[:1]  # distances from kinks of atoms
    for proposal in least_violations(read):
        for width in widths:
            for multipliers in _proposed_multipliers(ProblemAnswer(*proposal, None), problem, 0.0, width):
                yield from multipliers


def _proved_ray(certificate: ProblemCertificate, problem: Problem) -> ScaledVector:
    """Return a ray along which the objective falls for ever.

    Raises
    ------
    ProblemError
        None was found.
    """
    failure = "none was found"
    for answer in reversed(certificate.answers):
        for ray in proposed_rays(answer, problem):
            try:
                check_ray(problem, ray)
                return ray
            except Rejected as rejected:
                failure = str(rejected)
    raise ProblemError(f"a file must prove by a ray that the problem is unbounded; {failure}. Keep it in Python.")


def has_many_slopes(problem: Problem) -> bool:
    """Return whether atoms have so many slopes that a proof in fractions takes long."""
    return sum(len(group) for node in problem.nodes for group in node.members) > MAX_QUICK_SLOPES


def _proposed_multipliers(
    answer: ProblemAnswer, problem: Problem, weight: float, width: float
) -> Iterator[Iterator[Multipliers]]:
    """Yield multipliers near each choice for an answer, at a distance from kinks."""
    read = answer.problem

    def proposed(choice: Choice) -> Iterator[Multipliers]:
        for inset, is_snapped in proposals(problem, INSETS):
            multipliers = exact_multipliers(read, problem, choice, answer.x, inset, is_snapped)
            if multipliers is not None:
                yield multipliers

    with np.errstate(all="ignore"):  # floats only propose
        point = float_point(read, answer.x)
        for choice in proposed_choices(read, point, (read.lower, read.upper), width, N_STEPS, weight):
            yield proposed(choice)


def _relaxed_multipliers(read: ReadProblem, problem: Problem) -> Iterator[Multipliers]:
    """Yield the multipliers of the conic relaxation, if there are any."""
    multipliers = relaxed_multipliers(read, problem)
    if multipliers is not None and multipliers.objective > 0:
        yield multipliers


def multipliers_to_json(multipliers: Multipliers) -> dict[str, Any]:
    """Return multipliers, which are whole numbers, as texts."""
    result: dict[str, Any] = {
        "objective": f"{multipliers.objective.numerator:x}",
        "inequalities": _numbers_to_json(multipliers.inequalities),
        "equalities": _numbers_to_json(multipliers.equalities),
        "matrices": [_numbers_to_json(values) for values in multipliers.matrices],
        "slopes": [_numbers_to_json(values) for values in multipliers.slopes],
    }
    if multipliers.implied:
        result["implied"] = [_implied_to_json(item) for item in multipliers.implied]
    return result


def _implied_to_json(item: ImpliedEquations) -> dict[str, Any]:
    """Return equations that a constraint implies, with their multipliers."""
    if item.constraint == "matrices":
        return {
            "constraint": item.constraint,
            "faces": [
                {
                    "place": face.place,
                    "vectors": [_numbers_to_json(vector) for vector in face.vectors],
                    "weights": [_numbers_to_json(row) for row in face.weights],
                }
                for face in item.faces
            ],
            "equations": _numbers_to_json(item.equations),
            "multipliers": _numbers_to_json(item.multipliers),
        }
    return {
        "constraint": item.constraint,
        "place": item.place,
        "vector": _numbers_to_json(item.vector),
        "limit": None if item.limit is None else {"constraint": item.limit[0], "place": item.limit[1]},
        "multipliers": _numbers_to_json(item.multipliers),
    }


def _numbers_to_json(values: Sequence[Fraction]) -> list[str]:
    """Return whole numbers as texts."""
    return [f"{value.numerator:x}" for value in values]


def vector_to_json(vector: ScaledVector) -> dict[str, Any]:
    """Return fractions over one denominator as texts."""
    return {"denominator": f"{vector.denominator:x}", "numerators": [f"{value:x}" for value in vector.numerators]}
