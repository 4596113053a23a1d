"""The optimum of an exactly linear problem in fractions, for problems whose multipliers leave slopes without a bound.

Slopes of an optimum that many points attain are 0 by exact multipliers only. Those of a basis are fractions, and a
simplex method finds the basis: see `exact_interval`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormInterval
from boostopt.problem_certificates.cone_proofs.exact_interval import basis_interval, has_floats, nearest_floats
from boostopt.problem_certificates.minorants.conic_relaxation import conic_relaxation
from boostopt.problem_certificates.problem_reader import ReadProblem

MAX_DIGITS = 6_000_000
"""Number of binary digits of exact solutions of systems up to which the optimum is computed: about a second."""


def linear_program(problem: ReadProblem) -> ConicProgram | None:
    """Return the linear program that a problem is, to be minimized; None if it is none, or a number is not exact.

    Its rows are the inequalities and then the equalities of the problem.
    """
    return conic_relaxation(problem) if is_linear(problem) else None


def is_linear(problem: ReadProblem) -> bool:
    """Return whether the objective and all constraints are affine."""
    blocks = problem.objective, problem.inequalities.rows, problem.equalities.rows
    return not problem.matrices and all(block.is_affine(problem.n) for block in blocks)


def exact_linear_interval(problem: ReadProblem) -> tuple[FormInterval, ReadProblem] | None:
    """Return the interval of an exactly linear problem, and the problem with the multipliers of its proof as duals.

    The result is None if the problem is not linear, or no exact optimum is computed in about a second.
    """
    program = linear_program(problem)
    if program is None or not program.shape[0]:
        return None
    interval = basis_interval(program, MAX_DIGITS)
    if interval.exact is None or interval.exact.y is None:
        return None
    if not has_floats(interval.exact.y):
        return interval, problem
    multipliers, count = -nearest_floats(interval.exact.y)[0], len(problem.inequalities.rows)
    inequalities = replace(problem.inequalities, duals=np.maximum(multipliers[:count], 0.0))
    equalities = replace(problem.equalities, duals=multipliers[count:])
    return interval, replace(problem, inequalities=inequalities, equalities=equalities)
