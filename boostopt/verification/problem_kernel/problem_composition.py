"""Programs min F(d) + G(Uᵀd) whose F and G are stated as problems: one problem in all unknowns, for a matrix U.

F is the optimal value of a problem in d and further variables, and G that of a problem in the edges e and others. The
composed problem has the unknowns of F, then those of G, and then the values of the atoms in the same order. Its
equalities are those of F, those of G, and e_j = sum_n U_nj d_n for each j. So its optimum is that of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.verification.problem_kernel.problem_schema import (
    MAX_UNKNOWNS,
    Problem,
    Rows,
    parse_problem,
    parse_short_list,
)
from boostopt.verification.problem_kernel.rationals_and_balls import ZERO
from boostopt.verification.trusted_kernel.json_parsing import parse_index, parse_object_with_keys, reject

PART_KEYS = {"argument", "problem"}
"""The names of F, and of G."""


@dataclass(frozen=True)
class DescribedPart:
    """F or G: the optimal value of a problem, as a function of some of its unknowns.

    Attributes
    ----------
    problem
        The problem, to be minimized.
    positions
        The position among the unknowns of each entry of the argument, d or e.
    """

    problem: Problem
    positions: Sequence[int]


def parse_described_part(value: Any, size: int, name: str) -> DescribedPart:
    """Return F or G as a file states it, a function of `size` numbers; Rejected if it is not of this form."""
    item = parse_object_with_keys(value, PART_KEYS, name)
    problem = parse_problem(item["problem"])
    if problem.sign != 1:
        reject(f"{name} must be the smallest value of a problem, which minimizes; it maximizes")
    variables = item["problem"]["variables"]
    argument = variables[parse_index(item["argument"], len(variables), f"the argument of {name}")]
    positions = [parse_index(k, problem.n, "positions") for k in parse_short_list(argument["positions"], "positions")]
    if len(positions) != size or len(set(positions)) != size:
        reject(f"the argument of {name} must have {size:,} different entries; it has {len(set(positions)):,}")
    return DescribedPart(problem, positions)


def composed_problem(F: DescribedPart, G: DescribedPart, U: np.ndarray) -> Problem:
    """Return the problem of a program.

    Parameters
    ----------
    F, G
        Both functions.
    U
        The margin matrix, shape (N, t): finite float64 numbers.
    """
    n_F, n_G, m_F = F.problem.n, G.problem.n, F.problem.n_unknowns - F.problem.n
    if F.problem.n_unknowns + G.problem.n_unknowns > MAX_UNKNOWNS:
        reject(f"there may be at most {MAX_UNKNOWNS:,} unknowns")

    def place_of_F(k: int) -> int:
        return k if k < n_F else k + n_G

    def place_of_G(k: int) -> int:
        return k + n_F if k < n_G else k + n_F + m_F

    pairs = [(F.problem, place_of_F), (G.problem, place_of_G)]
    edges = [{i: Fraction(value) for i, value in enumerate(column) if value} for column in U.T.tolist()]
    links = [
        {n_F + e: Fraction(1), **{F.positions[i]: -value for i, value in column.items()}}
        for e, column in zip(G.positions, edges, strict=True)
    ]
    lower, upper = list(G.problem.lower), list(G.problem.upper)
    for e, column in zip(G.positions, edges, strict=True):
        reach = _reach(F, column)
        if reach is not None:
            low, high = lower[e], upper[e]
            lower[e] = -reach if low is None else max(low, -reach)
            upper[e] = reach if high is None else min(high, reach)
    equalities = _all_rows([_at_places(problem.equalities, place) for problem, place in pairs])
    objectives = [_at_places(problem.objective, place) for problem, place in pairs]
    return Problem(
        sign=1,
        lower=[*F.problem.lower, *lower],
        upper=[*F.problem.upper, *upper],
        nodes=[
            replace(node, arguments=_at_places(node.arguments, place), start=place(node.start))
            for problem, place in pairs
            for node in problem.nodes
        ],
        objective=Rows(
            [{**objectives[0].rows[0], **objectives[1].rows[0]}], [objectives[0].offsets[0] + objectives[1].offsets[0]]
        ),
        inequalities=_all_rows([_at_places(problem.inequalities, place) for problem, place in pairs]),
        equalities=Rows([*equalities.rows, *links], [*equalities.offsets, *([ZERO] * len(links))]),
        matrices=[(size, _at_places(entries, place)) for problem, place in pairs for size, entries in problem.matrices],
    )


def _reach(F: DescribedPart, column: Mapping[int, Fraction]) -> Fraction | None:
    """Return the largest size of an edge by the bounds of d; None if d is not bounded."""
    result = ZERO
    for i, value in column.items():
        lower, upper = F.problem.lower[F.positions[i]], F.problem.upper[F.positions[i]]
        if lower is None or upper is None:
            return None
        result += abs(value) * max(abs(lower), abs(upper))
    return result


def _at_places(rows: Rows, place: Callable[[int], int]) -> Rows:
    """Return affine functions of unknowns at other positions."""
    return Rows([{place(k): value for k, value in row.items()} for row in rows.rows], rows.offsets)


def _all_rows(blocks: Sequence[Rows]) -> Rows:
    """Return the affine functions of all blocks."""
    return Rows(
        [row for block in blocks for row in block.rows], [offset for block in blocks for offset in block.offsets]
    )
