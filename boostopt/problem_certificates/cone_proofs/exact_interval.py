"""The interval of a program without cones from its exact optimum, a fraction that is rounded outward."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.exact_check import objective
from boostopt.conic_programs.exact.exact_optimum import ExactOptimum, exact_optimum
from boostopt.conic_programs.exact.work_limit import work_limit
from boostopt.errors import ProblemError, SolverFailed, reason_on_one_line
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import UNIT, float_below, nearest_float
from boostopt.problem_certificates.arithmetic.balls import Enclosure
from boostopt.problem_certificates.cone_proofs.form_certificate import FormInterval

POINT_FACTOR = 5
"""An exact point may need so many times as many digits as an exact optimum: there is no other way to find one."""

REASON_LENGTH = 200
"""Length of the reason why there is no exact optimum."""


def exact_interval(program: ConicProgram, max_digits: float, has_point: bool) -> FormInterval:
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
    """
    program = replace(program, is_maximized=False)
    interval = FormInterval()
    try:
        if program.P is not None and not has_point:
            with work_limit(POINT_FACTOR * max_digits):
                linear = exact_optimum(replace(program, P=None, c=np.zeros(program.shape[1])))
            if linear.is_proved():
                _use_optimum(interval, linear, program)
        if not interval.status:
            with work_limit(max_digits):
                optimum = exact_optimum(program)
            if optimum.is_proved():
                _use_optimum(interval, optimum, program)
            else:
                interval.exact_reason = "its conditions do not hold"
    except (SolverFailed, ProblemError) as failure:
        interval.exact_reason = reason_on_one_line(failure, REASON_LENGTH)
    return interval


def _use_optimum(interval: FormInterval, optimum: ExactOptimum, program: ConicProgram) -> None:
    """Use the optimum of the program, or of one with the same feasible set."""
    if optimum.status == "infeasible":
        interval.lower = interval.upper = math.inf
        interval.status, interval.exact = "infeasible", optimum
        return
    if optimum.x is not None and max(map(abs, optimum.x), default=0) <= sys.float_info.max:
        interval.upper, interval.x = -float_below(-objective(program, optimum.x)), nearest_floats(optimum.x)
    if optimum.program is not program:
        return
    interval.exact = optimum
    if optimum.status == "unbounded":
        interval.lower = interval.upper = -math.inf
        interval.status = "unbounded"
    elif optimum.value is not None:
        interval.lower, interval.upper = float_below(optimum.value), -float_below(-optimum.value)


def nearest_floats(values: tuple[Fraction, ...]) -> Enclosure:
    """Return the floats nearest to fractions, with bounds of the errors."""
    mids: Float[Array, " n"] = np.array([nearest_float(value) for value in values])
    is_exact = np.array([Fraction(mid) == value for mid, value in zip(mids.tolist(), values, strict=True)], dtype=bool)
    return mids, np.where(is_exact, 0.0, UNIT * np.abs(mids) + SMALLEST)
