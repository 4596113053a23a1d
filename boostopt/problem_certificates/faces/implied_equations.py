"""Equations that inequalities imply: constraints that no point satisfies with slack, although they are not equations.

A function without negative values is at most 0 only where it is 0. So |x - a| <= 0, or a sum of squares or a norm that
is at most 0, means that its arguments are 0. A positive semidefinite matrix with an entry 0 on its diagonal is 0 in
this row. With the equations in place of such constraints, a point that satisfies all of them can be proved, and there
are multipliers, which the constraints as they are written need not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.arithmetic.affine_forms import AffineForm, Row, RowBlock, combination, concatenated
from boostopt.problem_certificates.arithmetic.balls import ONE, ZERO, Ball, ball, exact_fraction
from boostopt.problem_certificates.atoms.symmetric_matrices import symmetric
from boostopt.problem_certificates.faces.exposing_matrices import PivotVector, exposed_vectors, simple_basis
from boostopt.problem_certificates.problem_reader import MatrixConstraint, ReadProblem, ScalarConstraints

Entry = tuple[Row, Ball]
"""A row with its offset."""

MAX_PIECES = 64
"""Maximum number of affine inequalities in place of one."""


MAX_NULL_EIGENVALUE = 1e-3
"""Eigenvalue of a semidefinite matrix, relative to the largest, up to which its vector may be a null vector."""


def with_implied_equations(problem: ReadProblem) -> ReadProblem:
    """Return a problem with the same feasible points, in which equations replace constraints that imply them.

    The equations have no multipliers of the solver. Atoms stay, so that points must lie in their domains.
    """
    implied, facts = list[AffineForm](), RowFacts(problem)
    inequalities = _rows_without_zero_atoms(problem, problem.inequalities, facts, False, implied)
    equalities = _rows_without_zero_atoms(problem, problem.equalities, facts, True, implied)
    matrices = [rest for item in problem.matrices if (rest := _without_zero_rows(item, facts, implied)) is not None]
    if not implied:
        return problem
    inequalities = sorted(set(inequalities) - facts.needless_rows)
    remaining = selected_rows(problem, problem.equalities, equalities)
    return replace(
        problem,
        inequalities=selected_rows(problem, problem.inequalities, inequalities),
        equalities=with_affine_rows(problem, remaining, implied, lambda expression: expression == 0),
        matrices=matrices,
    )


def with_null_vectors(problem: ReadProblem, x: Float[Array, " n"]) -> ReadProblem:
    """Return a problem with the same feasible points, in which equations say that semidefinite matrices are singular.

    Parameters
    ----------
    problem
        The problem.
    x
        A point whose matrices have about the null spaces that those of all feasible points have in common.
    """
    implied, facts = list[AffineForm](), RowFacts(problem)
    z = np.append(x, np.zeros(problem.n_values - problem.n))
    is_affine = [item.rows.is_affine(problem.n) for item in problem.matrices]
    proposals = [
        proposed_null_vectors(item, z) if flag else [] for item, flag in zip(problem.matrices, is_affine, strict=True)
    ]
    exposed = exposed_vectors(problem, proposals)
    matrices = [
        _without_null_vectors(problem, item, facts, implied, *vectors) if flag else item
        for item, flag, *vectors in zip(problem.matrices, is_affine, proposals, exposed, strict=True)
    ]
    if not implied:
        return problem
    selected = sorted(set(range(len(problem.inequalities.rows))) - facts.needless_rows)
    return replace(
        problem,
        inequalities=selected_rows(problem, problem.inequalities, selected),
        equalities=with_affine_rows(problem, problem.equalities, implied, lambda expression: expression == 0),
        matrices=[item for item in matrices if item is not None],
    )


def with_affine_pieces(problem: ReadProblem) -> ReadProblem:
    """Return a problem with the same feasible points, whose inequalities of absolute values and extremes are affine.

    Affine inequalities without slack can be treated as equations. The new ones have no multipliers. If there are none,
    the same problem is returned.
    """
    constraints = problem.inequalities
    block, selected, pieces = constraints.rows, list[int](), list[AffineForm]()
    offsets, has_atoms = block.offsets, _has_later_unknowns(block, problem.n)
    for i in range(len(block)):
        entries = _affine_pieces(problem, block.rows[i], offsets[i]) if has_atoms[i] else None
        if entries is None:
            selected.append(i)
        else:
            pieces.append(block.form().of_entries(entries, (len(entries),)))
    if not pieces:
        return problem
    rest = selected_rows(problem, constraints, selected)
    return replace(problem, inequalities=with_affine_rows(problem, rest, pieces, lambda expression: expression <= 0))


def with_affine_rows(
    problem: ReadProblem,
    constraints: ScalarConstraints,
    forms: Sequence[AffineForm],
    constrain: Callable[[Any], Any],
) -> ScalarConstraints:
    """Return constraints with further affine rows without multipliers; `constrain` states them in CVXPY."""
    added = concatenated(forms).block(problem.n_values)
    expression = affine_expression(problem, added)
    return ScalarConstraints(
        concatenated([constraints.rows.form(), *forms]).block(problem.n_values),
        np.concatenate([constraints.duals, np.zeros(len(added))]),
        [*constraints.sources, constrain(expression)],
        [*constraints.expressions, expression],
    )


def selected_rows(problem: ReadProblem, constraints: ScalarConstraints, selected: Sequence[int]) -> ScalarConstraints:
    """Return some rows of constraints, in rising order."""
    if len(selected) == len(constraints.rows):
        return constraints
    sources, expressions = list[Any](), list[Any]()
    for source, expression, rows in constraints.segments():
        places = [i - rows.start for i in selected if rows.start <= i < rows.stop]
        if places:
            sources.append(source)
            is_whole = len(places) == expression.size
            expressions.append(expression if is_whole else cp.vec(expression, order="C")[places])
    block = constraints.rows.form().selected(selected, (len(selected),)).block(problem.n_values)
    return ScalarConstraints(block, constraints.duals[list(selected)], sources, expressions)


def affine_expression(problem: ReadProblem, rows: RowBlock) -> Any:
    """Return affine rows of x as an expression of the variables, with the nearest floats as coefficients."""
    total: Any = cp.Constant(rows.float_offsets)
    for variable in problem.variables:
        first = {j: k for k, j in reversed(list(enumerate(variable.positions.tolist()))) if j >= 0}
        if first:
            coefficients = rows.floats[:, list(first)]
            total = total + coefficients @ cp.vec(variable.variable, order="C")[list(first.values())]
    return total


def _rows_without_zero_atoms(
    problem: ReadProblem,
    constraints: ScalarConstraints,
    facts: RowFacts,
    are_equalities: bool,
    implied: list[AffineForm],
) -> list[int]:
    """Return the rows that do not imply equations by their atoms, and add the equations of the others to a list."""
    block, selected = constraints.rows, list[int]()
    offsets, has_atoms = block.offsets, _has_later_unknowns(block, problem.n)
    for i in range(len(block)):
        forms = _zero_forms(problem, block.rows[i], offsets[i], facts, are_equalities) if has_atoms[i] else None
        if forms is None:
            selected.append(i)
        else:
            implied += forms
    return selected


def _has_later_unknowns(block: RowBlock, n: int) -> Array:
    """Return whether each row stores coefficients of values of atoms."""
    return np.diff(np.concatenate([[0], np.cumsum(block.floats.indices >= n)])[block.floats.indptr]) > 0


def _zero_forms(
    problem: ReadProblem, row: Row, offset: Ball, facts: RowFacts, is_equality: bool
) -> list[AffineForm] | None:
    """Return affine forms that are all 0 where a row is at most 0, or is 0; None if there are none.

    The row is a sum of atoms that are not negative, and of an affine part that is known not to be negative.
    """
    atoms = {k: value for k, value in row.items() if k >= problem.n}
    affine_part = {k: value for k, value in row.items() if k < problem.n}
    signs = {1 if value > 0 else -1 if value < 0 else 0 for value in atoms.values()}
    has_affine_part = bool(affine_part) or not offset == 0
    if not (signs == {1} or (is_equality and signs == {-1} and not has_affine_part)):
        return None
    result = list[AffineForm]()
    for k in atoms:
        form = _zero_form(problem, k)
        if form is None:
            return None
        result.append(form)
    if not has_affine_part or facts.is_zero(affine_part, offset):
        return result
    negated: Row = {k: -value for k, value in affine_part.items()}
    if not facts.is_at_most_zero(negated, -offset):
        return None
    return [*result, result[0].of_entries([(affine_part, offset)], (1,))]


def _zero_form(problem: ReadProblem, z: int) -> AffineForm | None:
    """Return the affine form that is 0 exactly where the value of an atom is; None if there is none."""
    index, group = problem.group_of(z)
    node = problem.nodes[index]
    members = node.members[group].tolist()
    combinations = node.function.zero_rows(len(members))
    if combinations is None:
        return None
    rows, offsets = node.arguments.rows, node.arguments.offsets
    entries = [
        combination((weight, rows[members[i]], offsets[members[i]]) for i, weight in pairs) for pairs in combinations
    ]
    if any(max(row, default=-1) >= problem.n for row, _ in entries):
        return None
    return node.arguments.form().of_entries(entries, (len(entries),))


def _affine_pieces(problem: ReadProblem, row: Row, offset: Ball) -> list[Entry] | None:
    """Return affine entries whose largest one is a combination of atoms; None if it has no such pieces, or too many."""
    entries: list[Entry] = [({k: value for k, value in row.items() if k < problem.n}, offset)]
    for k, value in row.items():
        if k < problem.n:
            continue
        index, group = problem.group_of(k)
        node = problem.nodes[index]
        members = node.members[group].tolist()
        pieces = node.function.affine_pieces(len(members)) if node.function.sign * value > 0 else None
        rows, offsets = node.arguments.rows, node.arguments.offsets
        if pieces is None or len(pieces) * len(entries) > MAX_PIECES:
            return None
        if any(max(rows[i], default=-1) >= problem.n for i in members):
            return None
        entries = [
            combination(
                [(ONE, *entry), *((value * weight, rows[members[i]], offsets[members[i]]) for i, weight in piece)]
            )
            for entry in entries
            for piece in pieces
        ]
    return entries


class RowFacts:
    """Facts about affine rows, from the bounds and the affine constraints of a problem as they are written.

    Attributes
    ----------
    needless_rows
        The inequalities that said that a row is at most 0. They follow from the equations that this implies.
    """

    needless_rows: set[int]

    def __init__(self, problem: ReadProblem) -> None:
        self._problem = problem
        self.needless_rows = set[int]()

    def is_zero(self, row: Row, offset: Ball) -> bool:
        """Return whether an equation says that a row is 0, or the row is 0 everywhere."""
        row = _without_zeros(row)
        if not row:
            return bool(offset == 0)
        if len(row) == 1 and offset == 0:
            j = min(row)
            if j < self._problem.n and self._problem.lower[j] == self._problem.upper[j] == 0:
                return True
        return _direction(row, offset, False) in self._equations

    def is_at_most_zero(self, row: Row, offset: Ball) -> bool:
        """Return whether a bound or an inequality says that a row is at most 0."""
        row = _without_zeros(row)
        if not row or max(row) >= self._problem.n:
            return False
        places = self._limits.get(_direction(row, offset, True), [])
        self.needless_rows.update(places)
        (j, value), *further_terms = row.items()
        bound = self._problem.upper[j] if value > 0 else -self._problem.lower[j] if value < 0 else np.inf
        return bool(places) or bool(not further_terms and offset == 0 and bound == 0)

    @cached_property
    def _equations(self) -> set[Any]:
        rows = self._problem.equalities.rows
        return {_direction(row, offset, False) for row, offset in zip(rows.rows, rows.offsets, strict=True)}

    @cached_property
    def _limits(self) -> dict[Any, list[int]]:
        result, rows = dict[Any, list[int]](), self._problem.inequalities.rows
        for i, (row, offset) in enumerate(zip(rows.rows, rows.offsets, strict=True)):
            result.setdefault(_direction(row, offset, True), []).append(i)
        return result


def _without_zero_rows(
    constraint: MatrixConstraint, facts: RowFacts, implied: list[AffineForm]
) -> MatrixConstraint | None:
    """Return a semidefinite constraint without rows whose diagonal entry is 0, and add their equations to a list."""
    n, block = constraint.n, constraint.rows
    rows, offsets, form = block.rows, block.offsets, block.form()
    removed, places = set[int](), list[int]()
    for i in range(0, n * n, n + 1):
        if facts.is_zero(rows[i], offsets[i]):
            removed.add(i // (n + 1))
        elif facts.is_at_most_zero(rows[i], offsets[i]):
            removed.add(i // (n + 1))
            places.append(i)
    if not removed:
        return constraint
    for i in removed:
        pairs = [i * n + j for j in range(n) if j != i and not (j in removed and j < i)]
        places += [place for place in pairs if rows[place] or not offsets[place] == 0]
    if places:
        implied.append(form.selected(places, (len(places),)))
    return principal_part(constraint, [i for i in range(n) if i not in removed])


def principal_part(constraint: MatrixConstraint, rest: list[int]) -> MatrixConstraint | None:
    """Return some rows and columns of a semidefinite constraint; None without any."""
    if not rest:
        return None
    n, block = constraint.n, constraint.rows
    selected = [i * n + j for i in rest for j in rest]
    return MatrixConstraint(
        len(rest),
        block.form().selected(selected, (len(selected),)).block(block.n_unknowns),
        None if constraint.dual is None else constraint.dual[np.ix_(rest, rest)],
        constraint.source,
        constraint.expression[rest][:, rest],
    )


def _without_null_vectors(
    problem: ReadProblem,
    constraint: MatrixConstraint,
    facts: RowFacts,
    implied: list[AffineForm],
    proposals: Sequence[PivotVector],
    exposed: Sequence[PivotVector],
) -> MatrixConstraint | None:
    """Return a semidefinite constraint E without a row for each v with vᵀ E v = 0, and add the equations E v = 0.

    With Ev = 0, the other rows and columns are semidefinite exactly where E is: the entries of the vectors in the rows
    that are left out must be a regular matrix, here a triangular one. The vectors are simple fractions near the null
    space of E at a point, those of constraints whose coefficients are v_i v_j, or exposed ones.
    """
    n, rows, offsets = constraint.n, constraint.rows.rows, constraint.rows.offsets
    removed = set[int]()
    vectors = [*vectors_of_rows(problem, constraint), *proposals]
    n_unproved = len(vectors)
    for number, (pivot, vector) in enumerate([*vectors, *exposed]):
        if vector[pivot] == 0 or any(vector[i] != 0 for i in removed):
            continue
        scale = math.lcm(*(_odd_part(value.denominator) for value in vector))  # so that coefficients are exact
        weights = [(j, ball(scale * value)) for j, value in enumerate(vector) if value != 0]
        products = [
            combination((weight, rows[i * n + j], offsets[i * n + j]) for j, weight in weights) for i in range(n)
        ]
        row, offset = combination((weight, *products[j]) for j, weight in weights)
        if number < n_unproved and not (facts.is_zero(row, offset) or facts.is_at_most_zero(row, offset)):
            continue
        removed.add(pivot)
        entries: list[Entry] = [(_without_zeros(row), b) for row, b in products]
        entries = [(row, offset) for row, offset in entries if row or not offset == 0]
        if entries:
            implied.append(constraint.rows.form().of_entries(entries, (len(entries),)))
    return principal_part(constraint, [i for i in range(n) if i not in removed]) if removed else constraint


def _odd_part(number: int) -> int:
    """Return the largest odd divisor of a positive number."""
    return number // (number & -number)


def vectors_of_rows(problem: ReadProblem, constraint: MatrixConstraint) -> list[tuple[int, list[Fraction]]]:
    """Return a v for each affine row whose coefficients may be those of vᵀ E v, with a position of a large entry."""
    n, rows = constraint.n, constraint.rows.rows
    places = dict[int, tuple[int, int]]()
    for i in range(n):
        for j in range(i, n):
            if len(rows[i * n + j]) != 1 or min(rows[i * n + j]) in places:
                return []  # the entries of E are not different unknowns
            places[min(rows[i * n + j])] = i, j
    result = list[tuple[int, list[Fraction]]]()
    for row in (row for block in (problem.equalities.rows, problem.inequalities.rows) for row in block.rows):
        row = _without_zeros(row)
        if not row or not places.keys() >= row.keys():
            continue
        products = dict[tuple[int, int], Ball]()  # v_i v_j, or their negatives
        for k, value in row.items():
            i, j = places[k]
            products[i, j] = products[j, i] = value / rows[i * n + j][k] / (1 if i == j else 2)
        position = max(range(n), key=lambda i: abs(float(products.get((i, i), ZERO).mid())))
        square = abs(products.get((position, position), ZERO))
        if square > 0:
            column = [float((products.get((i, position), ZERO) / square.sqrt()).mid()) for i in range(n)]
            if all(map(math.isfinite, column)):
                result.append((position, [Fraction(value) for value in column]))
    return result


def proposed_null_vectors(constraint: MatrixConstraint, z: Array) -> list[tuple[int, list[Fraction]]]:
    """Return a basis of simple vectors near the null space of E, each 1 at a position where all others are 0.

    A vector that is not near simple fractions is left out.
    """
    eigenvalues, vectors = np.linalg.eigh(symmetric(constraint.rows.float_values(z), constraint.n))
    basis = vectors[:, eigenvalues <= MAX_NULL_EIGENVALUE * max(float(np.abs(eigenvalues).max(initial=0.0)), 1e-300)].T
    return simple_basis(basis)


def _without_zeros(row: Row) -> Row:
    """Return a row without the coefficients that are stored although they are exactly 0."""
    return {k: value for k, value in row.items() if not value == 0}


def _direction(row: Row, offset: Ball, is_signed: bool) -> Any:
    """Return a key that rows share exactly if they are multiples of each other, positive ones if it is signed."""
    row = _without_zeros(row)
    if not row or not all(value.is_exact() for value in (*row.values(), offset)):
        return object()  # no other row has this key
    scale = exact_fraction(row[min(row)])
    scale = abs(scale) if is_signed else scale
    entries = [*((k, row[k]) for k in sorted(row)), (-1, offset)]
    return tuple((k, str(exact_fraction(value) / scale)) for k, value in entries)
