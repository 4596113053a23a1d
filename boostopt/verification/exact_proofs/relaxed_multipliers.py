"""Multipliers of a problem from those of its conic relaxation: theorem P13 in fractions.

The multiplier of the cone of an epigraph, pulled back to the arguments of its atom, gives slopes of a minorant. So a
file needs no relaxation: its checker reads the slopes as those of any other proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.minorants.conic_relaxation import (
    conic_relaxation,
    epigraphs_of,
    violation_program,
)
from boostopt.problem_certificates.problem_certificate import certify_problem
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.verification.conic_files.conic_statement import triangle_rows
from boostopt.verification.conic_files.exact_conic_proofs import ExactMultipliers, exact_multipliers
from boostopt.verification.exact_proofs.exact_multipliers import whole_multipliers
from boostopt.verification.problem_kernel.problem_schema import Multipliers, Problem

ZERO = Fraction(0)

GOAL = 1e-10
"""Gap of the relaxation up to which it is certified: saving loses what its multipliers lack."""

Values = Sequence[Fraction]


def relaxed_multipliers(read: ReadProblem, problem: Problem, has_objective: bool = True) -> Multipliers | None:
    """Return multipliers of a problem, or of its infeasibility, by its conic relaxation; None if none are found.

    Parameters
    ----------
    read
        The problem as it was read.
    problem
        The same problem, as the checker reads it.
    has_objective
        Whether those of the objective are looked for first, or those of the least violation.
    """
    with working_precision():
        program = conic_relaxation(read)
    if program is None:
        return None
    program = program if has_objective else violation_program(program)
    certificate = certify_problem(program, goal=GOAL)
    proof = certificate.program_proof
    if proof is None or certificate.status == "unbounded":
        return None
    has_costs, exact, optimum = certificate.status != "infeasible", None, proof.exact
    if optimum is not None and optimum.y is not None:
        exact = ExactMultipliers(optimum.y, [], [])
    elif proof.multipliers is not None:
        exact = exact_multipliers(program, proof.multipliers, has_costs)
    if exact is None:
        return None
    return multipliers_of_relaxation(read, problem, program, exact, has_objective and has_costs)


def multipliers_of_relaxation(
    read: ReadProblem, problem: Problem, program: ConicProgram, exact: ExactMultipliers, has_objective: bool
) -> Multipliers:
    """Return the multipliers of a problem that those of its conic relaxation stand for, as whole numbers.

    Parameters
    ----------
    read, problem
        The problem as it was read, and as the checker reads it.
    program
        Its `conic_relaxation`.
    exact
        The multipliers of the relaxation.
    has_objective
        Whether they are multipliers of the objective, and not of a proof of infeasibility.
    """
    counts = len(problem.inequalities), len(problem.equalities)
    rows = [-value for value in exact.y]
    inequalities, equalities = rows[: counts[0]], rows[counts[0] : sum(counts)]
    further_rows = iter(exact.y[sum(counts) :])
    cones = _symmetric_multipliers(program, exact.z)
    matrices = [next(cones) for _ in problem.matrices]
    slopes, epigraphs = list[list[Fraction]](), epigraphs_of(read) or ()
    for node, source, epigraph in zip(problem.nodes, read.nodes, epigraphs, strict=True):
        m, k = source.members.shape
        numbers = [[ZERO] * k for _ in range(m)]
        for cone in epigraph:
            columns: Any = scipy.sparse.csr_array(cone.A[:, :k])
            for group in numbers:
                Z = [next(further_rows) for _ in range(columns.shape[0])] if cone.kind is None else next(cones)
                for i, multiplier in enumerate(Z):
                    part = slice(columns.indptr[i], columns.indptr[i + 1])
                    for j, factor in zip(columns.indices[part].tolist(), columns.data[part].tolist(), strict=True):
                        group[j] -= multiplier * Fraction(factor)
        # The last argument is left out where it is a constant divisor. An atom without cones may have more arguments.
        pairs = zip(numbers, node.members, strict=True)
        slopes.append([value for group, members in pairs for value in (group + [ZERO] * len(members))[: len(members)]])
    return whole_multipliers(Fraction(has_objective), inequalities, equalities, matrices, slopes)


def _symmetric_multipliers(program: ConicProgram, z: Sequence[Values]) -> Iterator[list[Fraction]]:
    """Yield the multiplier of each cone for all of its rows."""
    for cone, values in zip(program.cones, z, strict=False):
        if cone.kind != "semidefinite":
            yield list(values)
            continue
        order = math.isqrt(len(cone.b))
        entries: Mapping[int, Fraction] = dict(zip(triangle_rows(cone).tolist(), values, strict=True))
        places = np.arange(order**2).reshape(order, order)
        yield [entries[place] for place in np.maximum(places, places.T).ravel().tolist()]
