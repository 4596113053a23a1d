"""A conic program whose optimum is not above that of a problem: values of atoms have cones in place of equations.

Where the multipliers of semidefinite matrices have no interior, minorants prove poor bounds or none. `FormCertifier`
proves good ones, by faces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool
from boostopt.conic_programs.conic_program import ConeConstraint, ConeKind, ConicProgram
from boostopt.problem_certificates.arithmetic.affine_forms import RowBlock
from boostopt.problem_certificates.arithmetic.balls import enclosures
from boostopt.problem_certificates.arithmetic.sparse_float_forms import FloatRowBlock, with_width
from boostopt.problem_certificates.atoms.base import EpigraphCone
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form, joined_rows
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormCertifier, FormInterval
from boostopt.problem_certificates.problem_reader import AtomNode, ReadProblem

MAX_CONE_ROWS = 20_000
"""Number of rows of matrices and epigraphs up to which a problem is relaxed."""

VIOLATION_GOAL = 1e-8
"""Gap up to which the least violation of a relaxation is certified."""

MIN_ENTRY = 1e-300
"""Smallest absolute value of a coefficient that is not 0: halves of smaller ones may be rounded."""


def relaxation_interval(problem: ReadProblem, goal: float) -> FormInterval | None:
    """Return the interval of the conic relaxation of a problem; None if it has none."""
    program = conic_relaxation(problem)
    return None if program is None else FormCertifier(cone_form(program), goal).run()


def is_relaxation_infeasible(problem: ReadProblem) -> bool:
    """Return whether the conic relaxation of a problem is proved to have no point: the least violation is positive."""
    program = conic_relaxation(problem)
    return program is not None and FormCertifier(cone_form(violation_program(program)), VIOLATION_GOAL).run().lower > 0


def violation_program(program: ConicProgram) -> ConicProgram:
    """Return the program of the least number t >= -1 whose multiple of a central point moves all cones of a program.

    A program without a point has a positive optimum here, or an optimum of 0 that is not attained. The last unknown is
    t, and the multipliers of rows and cones are those of the program without its objective.
    """
    n = program.shape[1]

    def shift_cone(cone: ConeConstraint) -> ConeConstraint:
        is_matrix = cone.kind == "semidefinite"
        centre = np.eye(math.isqrt(len(cone.b))).ravel() if is_matrix else np.eye(1, len(cone.b)).ravel()
        return replace(cone, A=scipy.sparse.hstack([cone.A, centre[:, None]], format="csr"))

    return replace(
        program,
        A=with_width(program.A.tocsr(), n + 1),
        c=np.append(np.zeros(n), 1.0),
        lower=np.append(program.lower, -1.0),
        upper=np.append(program.upper, np.inf),
        cones=tuple(map(shift_cone, program.cones)),
        offset=0.0,
    )


def conic_relaxation(problem: ReadProblem) -> ConicProgram | None:
    """Return a conic program, to be minimized, that each feasible point of a problem satisfies with its values.

    Its unknowns are those of the problem, the values of the atoms, and further ones of the epigraphs. Its rows are the
    inequalities, the equalities, and rows of epigraphs. Atoms that count nowhere need no cones. The result is None if a
    number is no float, another atom has no epigraph in cones, bounds are crossed, or there are too many rows.
    """
    epigraphs = epigraphs_of(problem)
    is_empty = (problem.lower > problem.upper) | (problem.lower == np.inf) | (problem.upper == -np.inf)
    if epigraphs is None or is_empty.any():
        return None
    inequalities, equalities = problem.inequalities.rows, problem.equalities.rows
    matrices = [matrix.rows for matrix in problem.matrices]
    arguments = [node.arguments for node, epigraph in zip(problem.nodes, epigraphs, strict=True) if epigraph]
    if not all(map(_is_exact, [problem.objective, inequalities, equalities, *matrices, *arguments])):
        return None
    n, n_rows, further_rows, cone_rows = problem.n_values, 0, list[Any](), list[tuple[ConeKind, int, Any]]()
    for block in matrices:
        cone_rows.append(("semidefinite", len(block), _with_offsets(block)))
        n_rows += len(block)
    for node, epigraph in zip(problem.nodes, epigraphs, strict=True):
        for cone in epigraph:
            n_rows += len(node.members) * cone.A.shape[0]
            rows = _epigraph_rows(node, cone, n) if n_rows <= MAX_CONE_ROWS else None
            if rows is None:
                return None
            if cone.kind is None:
                further_rows.append(rows)
            else:
                cone_rows.append((cone.kind, cone.A.shape[0], rows))
        if epigraph:
            n += len(node.members) * (epigraph[0].A.shape[1] - node.members.shape[1] - 1)
    if n_rows > MAX_CONE_ROWS:
        return None
    rows = joined_rows([_with_offsets(inequalities), _with_offsets(equalities), *further_rows], 1 + n)
    sides, counts = -rows[:, [0]].toarray().ravel(), (len(inequalities), len(equalities))
    is_upper, is_lower = np.arange(len(sides)) < sum(counts), np.arange(len(sides)) >= counts[0]
    no_bounds = np.full(n - problem.n, np.inf)
    return ConicProgram(
        A=rows[:, 1:],
        c=with_width(problem.objective.floats, n).toarray().ravel(),
        row_lower=np.where(is_lower, sides, -np.inf),
        row_upper=np.where(is_upper, sides, np.inf),
        lower=np.concatenate([problem.lower, -no_bounds]),
        upper=np.concatenate([problem.upper, no_bounds]),
        cones=tuple(cone for kind, size, rows in cone_rows for cone in _cones(kind, size, with_width(rows, 1 + n))),
        offset=float(problem.objective.float_offsets[0]),
    )


def epigraphs_of(problem: ReadProblem) -> list[Sequence[EpigraphCone]] | None:
    """Return the cones of each atom; None if an atom has none. An atom whose values count nowhere needs none."""
    blocks = [problem.objective, problem.inequalities.rows, problem.equalities.rows]
    blocks += [matrix.rows for matrix in problem.matrices]
    is_used, result = _are_used(blocks, problem.n_values), list[Sequence[EpigraphCone]]()
    for node in reversed(problem.nodes):
        count, arity = node.members.shape
        epigraph, counts = node.function.epigraph(arity), is_used[node.start : node.start + count].any()
        if counts and not epigraph:
            return None
        if not counts and not _is_exact(node.arguments):
            epigraph = ()  # its rows have no floats
        result.append(epigraph)
        if epigraph:
            is_used |= _are_used([node.arguments], problem.n_values)
    return result[::-1]


def _are_used(blocks: Sequence[RowBlock], n: int) -> Bool[Array, " n"]:
    """Return which unknowns have a factor other than 0 in a row."""
    result = np.zeros(n, dtype=bool)
    for block in blocks:
        result[block.floats.indices[block.floats.data != 0]] = True
    return result


def _is_exact(block: RowBlock) -> bool:
    """Return whether all numbers of rows are floats."""
    if isinstance(block, FloatRowBlock):
        return (block.radius is None or not block.radius.data.any()) and not block.float_offset_radii.any()
    numbers: Sequence[Any] = [*block.coefficients, *block.offsets]
    return all(number.is_exact() for number in numbers) and not enclosures(numbers)[1].any()


def _with_offsets(block: RowBlock) -> Any:
    """Return the offsets of rows beside their coefficients, in compressed rows."""
    return scipy.sparse.hstack([block.float_offsets[:, None], block.floats], format="csr")


def _epigraph_rows(node: AtomNode, cone: EpigraphCone, n: int) -> Any | None:
    """Return the rows of a cone for each group, over unknowns to which those of the cone are added after the first n.

    The result is None if the rows are no floats.
    """
    m, k = node.members.shape
    groups = scipy.sparse.eye_array(m, format="csr")
    arguments: Any = _with_offsets(node.arguments)[node.members.ravel()]
    rows = _exact_product(scipy.sparse.kron(groups, cone.A[:, :k], "csr"), arguments)
    if rows is None:
        return None
    shape = rows.shape
    value, further = (scipy.sparse.kron(groups, part) for part in (cone.A[:, k : k + 1], cone.A[:, k + 1 :]))
    gaps = (scipy.sparse.csr_array((shape[0], width)) for width in (1 + node.start, n - node.start - m))
    unknowns: Any = scipy.sparse.hstack([next(gaps), value, next(gaps), further], format="csr")
    return with_width(rows, unknowns.shape[1]) + unknowns


def _exact_product(factors: Any, rows: Any) -> Any | None:
    """Return the product of powers of 2 and rows, both in compressed rows; None if a number in it may be rounded."""
    sizes = np.abs(rows.data)
    if ((sizes > 0) & (sizes < MIN_ENTRY)).any():
        return None
    place = np.arange(factors.nnz) - np.repeat(factors.indptr[:-1], np.diff(factors.indptr))
    total: Any = scipy.sparse.csr_array((factors.shape[0], rows.shape[1]))
    for number in range(int(place.max(initial=-1)) + 1):
        data = np.where(place == number, factors.data, 0.0)
        term = scipy.sparse.csr_array((data, factors.indices, factors.indptr), factors.shape) @ rows
        following = total + term
        change = following - total
        error = (total - (following - change)) + (term - change)  # of the sum: Knuth 1998, section 4.2.2, theorem B
        if error.data.any():
            return None
        total = following
    return total


def _cones(kind: ConeKind, size: int, rows: Any) -> list[ConeConstraint]:
    """Return cones of so many rows each."""
    return [
        ConeConstraint(kind, rows[first : first + size, 1:], rows[first : first + size, [0]].toarray().ravel())
        for first in range(0, rows.shape[0], size)
    ]
