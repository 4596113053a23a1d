"""Multipliers of equations that constraints imply, for lower bounds that other multipliers do not prove.

A sum of squares that is at most 0, or a matrix with a zero on its diagonal, has no multipliers that prove the optimum.
The equations that such constraints imply are added to the problem, the constraints get the multiplier 0, and
multipliers of all rows are proposed as for other equations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.exact.rationals import to_fmpq, to_fraction
from boostopt.problem_certificates.arithmetic.balls import ball
from boostopt.problem_certificates.faces.exposing_matrices import exposed_spaces
from boostopt.problem_certificates.faces.implied_equations import (
    principal_part,
    proposed_null_vectors,
    vectors_of_rows,
    with_affine_rows,
)
from boostopt.problem_certificates.feasible_point import Promotions, max_slack_point
from boostopt.problem_certificates.minorants.auxiliary_solves import points_without_slack
from boostopt.problem_certificates.problem_certificate import MAX_FACIAL_REDUCTIONS
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.verification.exact_proofs.exact_multipliers import combined
from boostopt.verification.problem_kernel.implied_equation_checks import implied_rows
from boostopt.verification.problem_kernel.problem_schema import (
    ExposedFace,
    ImpliedEquations,
    Multipliers,
    Problem,
    Rows,
)
from boostopt.verification.trusted_kernel.json_parsing import Rejected

Limits = Mapping[frozenset[int], Sequence[tuple[str, int]]]
"""The kinds and the positions of affine constraints by their unknowns."""


def proposed_implications(
    read: ReadProblem, problem: Problem, x: Float[Array, " n"]
) -> list[tuple[ImpliedEquations, Rows]]:
    """Return the constraints that imply affine equations, with these, whose multipliers are still missing.

    Parameters
    ----------
    read
        The problem as it was read.
    problem
        The same problem, as the checker reads it.
    x
        A point. Null vectors of matrices are looked for there, and at a point with the largest slack.
    """
    points = [x]
    if problem.matrices and (proposal := max_slack_point(read, Promotions())) is not None:
        points.append(proposal.x)
    limits, result = _affine_constraints(problem), list[tuple[ImpliedEquations, Rows]]()
    for kind, block in (("inequality", problem.inequalities), ("equality", problem.equalities)):
        for i, row in enumerate(block.rows):
            if any(k >= problem.n for k in row):
                result += _proved_implications(problem, ImpliedEquations(kind, i, [], None, []), row, limits)
    for i, (size, entries) in enumerate(problem.matrices):
        for vector in _proposed_vectors(read, i, size, points):
            places = [j * size + k for j in range(size) for k in range(size) if vector[j] and vector[k]]
            form = {k: Fraction(1) for place in places for k in entries.rows[place]}
            result += _proved_implications(problem, ImpliedEquations("matrix", i, vector, None, []), form, limits)
    return result


def exposed_implications(
    read: ReadProblem, problem: Problem, implications: Sequence[tuple[ImpliedEquations, Rows]]
) -> list[tuple[ImpliedEquations, Rows]]:
    """Return implications, and those of exposing matrices after them; the same ones if there are none of these.

    Parameters
    ----------
    read, problem
        The problem as it was read, and as the checker reads it.
    implications
        The constraints that imply equations without exposing matrices, and these.
    """
    result = list(implications)
    for _ in range(MAX_FACIAL_REDUCTIONS):
        extended = with_implied_rows(read, problem, result)
        if not extended.read.matrices:
            break
        proposal = max_slack_point(extended.read, Promotions())
        points = points_without_slack(extended.read, None if proposal is None else proposal.x)
        items = (_exposed_item(extended, problem, x) for x in points)
        item = next((item for item in items if item is not None), None)
        if item is None:
            break
        result = list(extended.implications)
        try:
            result.append((item, implied_rows(problem, item, [rows for _, rows in result])))
        except Rejected:
            break
    return result


def _exposed_item(extended: ProblemWithEquations, problem: Problem, x: Float[Array, " n"]) -> ImpliedEquations | None:
    """Return the equations that exposing matrices imply, with faces of the matrices as they are written."""
    read = extended.read
    z = np.append(x, np.zeros(read.n_values - read.n))
    proposals = [proposed_null_vectors(item, z) if item.rows.is_affine(read.n) else [] for item in read.matrices]
    spaces = exposed_spaces(read, proposals)
    if spaces is None:
        return None
    faces, target = list[ExposedFace](), list[tuple[Fraction, Mapping[int, Fraction], Fraction]]()
    numbers = [k for k, places in enumerate(extended.places) if places]
    for k, space, (size, entries) in zip(numbers, spaces, extended.problem.matrices, strict=True):
        vectors = [vector for _, vector in space.basis]
        for first, row in zip(vectors, space.weights.tolist(), strict=True):
            for second, weight in zip(vectors, row, strict=True):
                target += [
                    (weight * a * b, entries.rows[i * size + j], entries.offsets[i * size + j])
                    for i, a in enumerate(first)
                    for j, b in enumerate(second)
                    if weight * a * b
                ]
        if vectors:
            places, order = extended.places[k], problem.matrices[k][0]
            whole = [_whole_vector(vector, places, order) for vector in vectors]
            scales = [scale for scale, _ in whole]
            weights = [
                [Fraction(value) / (a * b) for value, b in zip(row, scales, strict=True)]
                for row, a in zip(space.weights.tolist(), scales, strict=True)
            ]
            faces.append(ExposedFace(k, [vector for _, vector in whole], weights))
    equations = _multiples(extended.problem.equalities, target)
    if equations is None:
        return None
    lists = [*(row for face in faces for row in face.weights), equations]
    scale = math.lcm(*(value.denominator for values in lists for value in values))
    faces = [replace(face, weights=[[value * scale for value in row] for row in face.weights]) for face in faces]
    return ImpliedEquations("matrices", 0, [], None, [], faces, [value * scale for value in equations])


def _whole_vector(vector: Sequence[Fraction], places: Sequence[int], order: int) -> tuple[int, list[Fraction]]:
    """Return a vector of some rows of a matrix as one of all rows, times a number that makes it whole; and this."""
    scale, result = math.lcm(*(value.denominator for value in vector)), [Fraction(0)] * order
    for place, value in zip(places, vector, strict=True):
        result[place] = scale * value
    return scale, result


def _multiples(
    equations: Rows, terms: Sequence[tuple[Fraction, Mapping[int, Fraction], Fraction]]
) -> list[Fraction] | None:
    """Return multiples of equations whose sum is minus that of some terms; None if there are none.

    Parameters
    ----------
    equations
        The equations.
    terms
        Weights with rows and their offsets.
    """
    sums = combined([(weight, {**row, -1: offset}) for weight, row, offset in terms])
    columns = [{**row, -1: offset} for row, offset in zip(equations.rows, equations.offsets, strict=True)]
    keys = sorted({key for column in (*columns, sums) for key in column})
    width = len(columns) + 1
    entries = [to_fmpq(Fraction(column.get(key, 0))) for key in keys for column in (*columns, sums)]
    reduced, rank = flint.fmpq_mat(len(keys), width, entries).rref()
    result = [Fraction(0)] * len(columns)
    for i in range(rank):
        place = next(j for j in range(width) if reduced[i, j] != 0)
        if place == len(columns):
            return None
        result[place] = -to_fraction(reduced[i, len(columns)])
    return result


@dataclass(frozen=True)
class ProblemWithEquations:
    """A problem with equations that its constraints imply as its last equalities, and no longer with these constraints.

    Attributes
    ----------
    read, problem
        The problem as it was read, and as the checker reads it. Inequalities and equalities that imply equations have
        the multiplier 0. Matrices have no row for each of their null vectors.
    implications
        The constraints that imply equations, and these.
    places
        The rows of each matrix that are left.
    """

    read: ReadProblem
    problem: Problem
    implications: Sequence[tuple[ImpliedEquations, Rows]]
    places: Sequence[Sequence[int]]

    def split(self, multipliers: Multipliers, problem: Problem) -> Multipliers:
        """Return multipliers of this problem as multipliers of the problem as it is written."""
        start, implied = len(problem.equalities), list[ImpliedEquations]()
        has_chain = any(item.faces for item, _ in self.implications)  # then later items count the rows of earlier ones
        for item, rows in self.implications:
            numbers = multipliers.equalities[start : start + len(rows)]
            start += len(rows)
            if any(numbers) or has_chain:
                implied.append(replace(item, multipliers=numbers))
        remaining, matrices = iter(multipliers.matrices), list[list[Fraction]]()
        for (size, _), places in zip(problem.matrices, self.places, strict=True):
            Z = [Fraction(0)] * size**2
            if places:
                cells = [i * size + j for i in places for j in places]
                for cell, value in zip(cells, next(remaining), strict=True):
                    Z[cell] = value
            matrices.append(Z)
        equalities = multipliers.equalities[: len(problem.equalities)]
        return replace(multipliers, equalities=equalities, matrices=matrices, implied=implied)


def with_implied_rows(
    read: ReadProblem,
    problem: Problem,
    implications: Sequence[tuple[ImpliedEquations, Rows]],
    has_matrices: bool = True,
) -> ProblemWithEquations:
    """Return a problem with the equations that its constraints imply.

    Parameters
    ----------
    read, problem
        The problem as it was read, and as the checker reads it.
    implications
        The constraints that imply equations, and these.
    has_matrices
        Whether the other rows of matrices with null vectors may have multipliers.
    """
    implications, places = _independent_implications(problem, implications)
    if not has_matrices:
        places = [rest if len(rest) == size else [] for rest, (size, _) in zip(places, problem.matrices, strict=True)]
    entries = [
        ({k: ball(value) for k, value in row.items()}, ball(offset))
        for _, rows in implications
        for row, offset in zip(rows.rows, rows.offsets, strict=True)
    ]
    form = read.objective.form().of_entries(entries, (len(entries),))
    duals = {"inequality": read.inequalities.duals.copy(), "equality": read.equalities.duals.copy()}
    for item, _ in implications:
        if item.constraint in duals:
            duals[item.constraint][item.place] = 0.0
    equalities = replace(read.equalities, duals=duals["equality"])
    parts = [
        part
        for item, rest in zip(read.matrices, places, strict=True)
        if (part := item if len(rest) == item.n else principal_part(item, rest)) is not None
    ]
    matrices = [
        (len(rest), _selected_rows(block, [i * size + j for i in rest for j in rest]))
        for (size, block), rest in zip(problem.matrices, places, strict=True)
        if rest
    ]
    return ProblemWithEquations(
        replace(
            read,
            inequalities=replace(read.inequalities, duals=duals["inequality"]),
            equalities=with_affine_rows(read, equalities, [form], lambda expression: expression == 0),
            matrices=parts,
        ),
        replace(
            problem, equalities=_all_rows([problem.equalities, *(rows for _, rows in implications)]), matrices=matrices
        ),
        implications,
        places,
    )


def _independent_implications(
    problem: Problem, implications: Sequence[tuple[ImpliedEquations, Rows]]
) -> tuple[list[tuple[ImpliedEquations, Rows]], list[list[int]]]:
    """Return implications whose null vectors are independent, and the rows of each matrix that remain with them.

    With E v = 0, a row i of E with v_i other than 0 follows from the others, so that these decide.
    """
    places, result = [list(range(size)) for size, _ in problem.matrices], list[tuple[ImpliedEquations, Rows]]()
    for item, rows in implications:
        for face in item.faces:
            for j, vector in enumerate(face.vectors):
                rest = places[face.place]
                later = face.vectors[j + 1 :]
                pivots = [i for i in rest if vector[i] and not any(further[i] for further in later)]
                if pivots and not any(value for i, value in enumerate(vector) if i not in rest):
                    rest.remove(pivots[0])
        if item.constraint == "matrix":
            rest = places[item.place]
            if any(value for i, value in enumerate(item.vector) if i not in rest):
                continue
            rest.remove(next(i for i, value in enumerate(item.vector) if value))
        result.append((item, rows))
    return result, places


def _selected_rows(block: Rows, places: Sequence[int]) -> Rows:
    """Return some rows."""
    return Rows([block.rows[i] for i in places], [block.offsets[i] for i in places])


def _affine_constraints(problem: Problem) -> Limits:
    """Return the affine constraints by their unknowns."""
    result = dict[frozenset[int], list[tuple[str, int]]]()
    for kind, block in (("inequality", problem.inequalities), ("equality", problem.equalities)):
        for i, row in enumerate(block.rows):
            unknowns = frozenset(k for k, value in row.items() if value)
            if max(unknowns, default=problem.n) < problem.n:
                result.setdefault(unknowns, []).append((kind, i))
    return result


def _proved_implications(
    problem: Problem, item: ImpliedEquations, row: Mapping[int, Fraction], limits: Limits
) -> Iterator[tuple[ImpliedEquations, Rows]]:
    """Yield a constraint with the affine equations that it is proved to imply, if there are any."""
    unknowns = frozenset(k for k in row if k < problem.n)
    for limit in (None, *limits.get(unknowns, ())):
        try:
            rows = implied_rows(problem, replace(item, limit=limit))
        except Rejected:
            continue
        if all(k < problem.n for row in rows.rows for k in row):
            yield replace(item, limit=limit), rows
            return


def _proposed_vectors(read: ReadProblem, place: int, size: int, points: Sequence[Array]) -> list[list[Fraction]]:
    """Return vectors of whole numbers that may be null vectors of a matrix at every feasible point."""
    result = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    if not read.matrices[place].rows.is_affine(read.n):
        return result
    matrix, vectors = read.matrices[place], list[list[Fraction]]()
    for x in points:
        pairs = proposed_null_vectors(matrix, np.append(x, np.zeros(read.n_values - read.n)))
        vectors += [vector for _, vector in pairs if sum(map(bool, vector)) > 1]
    for vector in vectors or [vector for _, vector in vectors_of_rows(read, matrix)]:
        scale = math.lcm(*(value.denominator for value in vector))
        whole = [scale * value for value in vector]
        if whole not in result:
            result.append(whole)
    return result


def _all_rows(blocks: Sequence[Rows]) -> Rows:
    """Return the rows of all blocks."""
    return Rows(
        [row for block in blocks for row in block.rows], [offset for block in blocks for offset in block.offsets]
    )
