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

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.balls import ball
from boostopt.problem_certificates.faces.implied_equations import (
    principal_part,
    proposed_null_vectors,
    with_affine_rows,
)
from boostopt.problem_certificates.feasible_point import Promotions, max_slack_point
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.verification.problem_kernel.implied_equation_checks import implied_rows
from boostopt.verification.problem_kernel.problem_schema import ImpliedEquations, Multipliers, Problem, Rows
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
        for item, rows in self.implications:
            numbers = multipliers.equalities[start : start + len(rows)]
            start += len(rows)
            if any(numbers):
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
        if item.constraint != "matrix":
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
    for x in points:
        values = np.append(x, np.zeros(read.n_values - read.n))
        for _, vector in proposed_null_vectors(read.matrices[place], values):
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
