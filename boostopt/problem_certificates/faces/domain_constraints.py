"""Constraints that the domains of atoms imply: u >= 0 of a logarithm, a semidefinite X of a log-determinant.

No point is feasible if they exclude each other, or the constraints of the problem. An auxiliary problem without the
objective does not know the domains of its atoms, and an atom without a multiplier has no minorant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.arithmetic.affine_forms import sum_of_forms
from boostopt.problem_certificates.arithmetic.balls import ONE, ball
from boostopt.problem_certificates.atoms.symmetric_matrices import SquareMatrixFunction
from boostopt.problem_certificates.faces.implied_equations import Entry, affine_expression, with_affine_rows
from boostopt.problem_certificates.problem_reader import MatrixConstraint, ReadProblem

Place = tuple[int, int, int]
"""The positions of an atom, of one of its groups, and of an argument in the group."""


@dataclass(frozen=True)
class ProblemWithDomains:
    """A problem with constraints that the domains of its atoms imply as its last inequalities and matrices.

    Attributes
    ----------
    read
        The problem.
    rows
        The argument that each of the inequalities bounds, and its limit.
    matrices
        The atom and the group of each of the matrices.
    """

    read: ReadProblem
    rows: Sequence[tuple[Place, float]]
    matrices: Sequence[tuple[int, int]]


def with_domains(problem: ReadProblem) -> ProblemWithDomains | None:
    """Return a problem with what the domains of its atoms imply for affine arguments; None if they imply nothing."""
    rows, entries = list[tuple[Place, float]](), list[Entry]()
    for place, limit, (row, offset) in _limited_arguments(problem):
        rows.append((place, limit))
        entries.append(({k: -value for k, value in row.items()}, ball(limit) - offset))
    matrices, places = list[MatrixConstraint](), list[tuple[int, int]]()
    for index, node in enumerate(problem.nodes):
        function = node.function
        if not (isinstance(function, SquareMatrixFunction) and function.has_semidefinite_domain):
            continue
        if not node.arguments.is_affine(problem.n):
            continue
        n, form = function.n, node.arguments.form()
        for k, group in enumerate(node.members.tolist()):
            square = form.selected(group, (n, n))
            symmetric = sum_of_forms([square, square.transposed()], (n, n)).scaled([ONE / 2] * (n * n))
            block = symmetric.block(problem.n_values)
            expression = cp.reshape(affine_expression(problem, block), (n, n), order="C")
            matrices.append(MatrixConstraint(n, block, None, expression >> 0, expression))
            places.append((index, k))
    if not (entries or matrices):
        return None
    inequalities = problem.inequalities
    if entries:
        form = problem.objective.form().of_entries(entries, (len(entries),))
        inequalities = with_affine_rows(problem, inequalities, [form], lambda expression: expression <= 0)
    read = replace(problem, inequalities=inequalities, matrices=[*problem.matrices, *matrices])
    return ProblemWithDomains(read, rows, places)


def _limited_arguments(problem: ReadProblem) -> Iterator[tuple[Place, float, Entry]]:
    """Yield affine arguments with a limit that is no bound of an unknown."""
    for index, node in enumerate(problem.nodes):
        limits = node.function.domain_limits(node.members.shape[1])
        if not limits or not len(node.members):
            continue
        arguments, offsets = node.arguments.rows, node.arguments.offsets
        for k, group in enumerate(node.members.tolist()):
            for i, limit in limits.items():
                row, offset = arguments[group[i]], offsets[group[i]]
                if max(row, default=problem.n) >= problem.n:
                    continue
                (j, value), *further_terms = row.items()
                if further_terms or not (value == 1 and offset == 0 and problem.lower[j] >= limit):
                    yield (index, k, i), limit, (row, offset)
