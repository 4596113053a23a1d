"""The interval of a program without cones from its exact optimum, a fraction that is rounded outward."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.exact_optimum import RationalProof, basic_values, prove_at_basis, prove_in_rationals
from boostopt.conic_programs.exact.optimality_check import (
    curved_products,
    dual_bound,
    gradient,
    is_feasible,
    is_proof,
    objective,
)
from boostopt.conic_programs.exact.quadratic.approximate_optimum import ActiveSet
from boostopt.conic_programs.exact.quadratic.negative_curvature import is_convex
from boostopt.conic_programs.exact.quadratic.quadratic_optimum import check_convexity
from boostopt.conic_programs.exact.rational_arrays import RationalArray, rational_array
from boostopt.conic_programs.exact.work_limit import TooMuchWorkError, work_limit
from boostopt.errors import ProblemError, SolverFailed, reason_on_one_line
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import UNIT, float_below
from boostopt.problem_certificates.arithmetic.balls import Enclosure
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ActiveBounds, ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import equations_and_rows
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormInterval
from boostopt.problem_certificates.cone_proofs.dual_bound import Multipliers

POINT_FACTOR = 5
"""An exact point may need so many times as many digits as an exact optimum: there is no other way to find one."""

MAX_DISTANCE = 1e-6
"""Relative distance of an exactly feasible point from that of an answer."""

REASON_LENGTH = 200
"""Length of the reason why there is no exact optimum."""


def basis_interval(program: ConicProgram, max_digits: float) -> FormInterval:
    """Return the interval that the basis of a linear program proves which HiGHS calls optimal, as `exact_interval`."""
    interval = FormInterval()
    try:
        with work_limit(max_digits):
            proof = prove_at_basis(program)
        if proof is not None:
            _use_proof(interval, proof, program)
    except SolverFailed as failure:
        interval.exact_reason = reason_on_one_line(failure, REASON_LENGTH)
    return interval


def near_interval(
    program: ConicProgram, max_digits: float, answer: ConicAnswer, has_point: bool, has_bound: bool
) -> FormInterval:
    """Return an interval from two linear programs with the tangent of the objective at the point of an answer.

    The upper end is the objective at a vertex of the feasible set within small distances of the answer. The lower end
    is the minimum of the tangent over the whole feasible set.

    Parameters
    ----------
    program
        A quadratic program. Without a proof that its objective is convex, the lower end is left out.
    max_digits
        As of `exact_interval`.
    answer
        The answer.
    has_point, has_bound
        Whether an end is known and is left out.
    """
    interval = FormInterval()
    x = np.clip(answer.x, program.lower, program.upper)
    w = rational_array(x, program.numbers)
    costs = gradient(program, w)
    with np.errstate(all="ignore"):
        slopes = program.c if program.P is None else program.c + program.P @ x
    if not np.isfinite(slopes).all():
        return interval
    tangent = replace(program, P=None, c=slopes)
    try:
        if not has_point:
            distances = MAX_DISTANCE * np.maximum(1.0, np.abs(x))
            lower, upper = np.maximum(program.lower, x - distances), np.minimum(program.upper, x + distances)
            with work_limit(max_digits):
                values = basic_values(replace(tangent, lower=lower, upper=upper), costs)
            if values is None or not is_feasible(program, values[0]):
                return interval
            _use_point(interval, values[0], program)
        if not has_bound and is_convex(program):
            with work_limit(max_digits):
                values = basic_values(tangent, costs)
            bound = None if values is None else dual_bound(program, values[1], costs)
            if values is not None and bound is not None:
                curvature = curved_products(program, w).inner_product(w) / 2
                interval.lower = float_below(bound - curvature + program.to_fraction(program.offset))
                interval.multipliers = _multipliers(program, values[1], x) if has_floats(values[1]) else None
    except TooMuchWorkError:  # the end is left to other proofs
        return interval
    return interval


def exact_interval(
    program: ConicProgram, max_digits: float, has_point: bool, answer: ConicAnswer | None = None
) -> FormInterval:
    """Return the interval of the minimum that the exact optimum proves, from the program's numbers in fractions.

    It is the whole line, with a reason, if no exact optimum is computed or its conditions do not hold.

    Parameters
    ----------
    program
        A program without cones. Its numbers mean what `ConicProgram.numbers` says.
    max_digits
        Number of binary digits of exact solutions of systems up to which the exact optimum is computed.
    has_point
        Whether a feasible point is known. If not, an exact one of a quadratic program is computed first: this is cheap.
    answer
        An answer that is near the optimum of a quadratic program; None to solve it.
    """
    interval = FormInterval()
    try:
        if program.P is not None and not has_point:
            linear = replace(program, P=None, c=np.zeros(program.shape[1]))
            with work_limit(POINT_FACTOR * max_digits):
                proof = prove_in_rationals(linear)
            if is_proof(linear, proof.status, proof.x, proof.y, proof.ray):
                _use_feasibility(interval, proof, program)
        if not interval.status:
            check_convexity(program)
            active = None if answer is None or answer.active is None else _active_set(program, answer.x, answer.active)
            with work_limit(max_digits):
                proof = prove_in_rationals(program, active)
            if is_proof(program, proof.status, proof.x, proof.y, proof.ray, has_convex_objective=True):
                _use_proof(interval, proof, program)
            else:
                interval.exact_reason = "its conditions do not hold"
    except (SolverFailed, ProblemError) as failure:
        interval.exact_reason = reason_on_one_line(failure, REASON_LENGTH)
    return interval


def _multipliers(program: ConicProgram, y: RationalArray, w: Float[Array, " n"]) -> Multipliers:
    """Return multipliers of the rows and the point of the tangent by the equations and rows of the form."""
    mids, _ = nearest_floats(y)
    is_equation, is_row = equations_and_rows(program)
    return Multipliers(mids[is_equation], mids[is_row], [], w)


def _active_set(program: ConicProgram, x: Float[Array, " n"], active: ActiveBounds) -> ActiveSet:
    """Return the active set of an answer to the form of a program, whose rows are those of `cone_form`."""
    is_equation, is_row = equations_and_rows(program)
    at_row_lower, at_row_upper = is_equation.copy(), is_equation.copy()
    at_row_lower[is_row], at_row_upper[is_row] = active.row_lower, active.row_upper
    return ActiveSet(
        np.clip(x, program.lower, program.upper),
        np.concatenate([active.lower, at_row_lower]),
        np.concatenate([active.upper, at_row_upper]),
    )


def _use_proof(interval: FormInterval, proof: RationalProof, program: ConicProgram) -> None:
    """Use a proof of the program whose conditions hold."""
    interval.exact = proof
    if proof.status == "optimal" and proof.x is not None:
        interval.lower = _use_point(interval, proof.x, program)
        return
    _use_feasibility(interval, proof, program)
    if proof.status == "unbounded":
        interval.lower = interval.upper = -math.inf
        interval.status = "unbounded"


def _use_feasibility(interval: FormInterval, proof: RationalProof, program: ConicProgram) -> None:
    """Use that a point is feasible, or that none is; this holds for all programs with the same feasible set."""
    if proof.status == "infeasible":
        interval.lower = interval.upper = math.inf
        interval.status, interval.exact = "infeasible", proof
    elif proof.x is not None:
        _use_point(interval, proof.x, program)


def _use_point(interval: FormInterval, x: RationalArray, program: ConicProgram) -> float:
    """Use a feasible point, if its numbers are in the range of floats; return the objective there, rounded down."""
    value = objective(program, x)
    if has_floats(x):
        interval.upper, interval.x = -float_below(-value), nearest_floats(x)
    return float_below(value)


def has_floats(values: RationalArray) -> bool:
    """Return whether no number is above the largest float."""
    return max(map(abs, values.numerators), default=0) <= int(sys.float_info.max) * values.denominator


def nearest_floats(values: RationalArray) -> Enclosure:
    """Return the floats nearest to rational numbers, with bounds of the errors."""
    places, denominator = np.flatnonzero(values.numerators), values.denominator
    numerators = values.numerators[places].tolist()
    mids, radii = np.zeros(len(values)), np.zeros(len(values))
    nearest = np.array([number / denominator for number in numerators], dtype=float)
    pairs = zip(nearest.tolist(), numerators, strict=True)
    is_exact = np.array([mid.is_integer() and int(mid) * denominator == number for mid, number in pairs], dtype=bool)
    mids[places], radii[places] = nearest, np.where(is_exact, 0.0, UNIT * np.abs(nearest) + SMALLEST)
    return mids, radii
