"""A conic program as equations, rows with bounds, and groups of equal cones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.conic_programs.conic_program import ConeConstraint, ConeKind, ConicProgram
from boostopt.problem_certificates.arithmetic.balls import Enclosure
from boostopt.problem_certificates.arithmetic.sparse_float_forms import entry_rows, product

MAX_SMALL_ENTRIES = 10_000
"""Number of entries, zeros included, up to which a matrix is dense."""


@dataclass(frozen=True, eq=False)
class ConeGroup:
    """Constraints of one kind and size: the rows of G x + h are k cones, one after the other.

    Attributes
    ----------
    kind, size, exponent
        As of `ConeConstraint`; size is the number of rows of each.
    G
        Compressed rows, shape (k * size, n).
    h
        Shape (k * size,).
    names
        The name of each, in words.
    positions
        The number of each among the constraints of the program.
    """

    kind: ConeKind
    size: int
    exponent: float
    G: Any
    h: Float[Array, " rows"]
    names: Sequence[str]
    positions: Sequence[int]

    @property
    def count(self) -> int:
        """Number of cones."""
        return len(self.names)

    def values(self, x: Enclosure) -> Enclosure:
        """Return an enclosure of G x + h."""
        return product(self.G, None, x, (self.h, np.zeros(len(self.h))))


@dataclass(frozen=True, eq=False)
class ConeForm:
    """min <c, x> + <x, P x> / 2 + offset over E x = e, row_lower <= R x <= row_upper, lower <= x <= upper and cones.

    Attributes
    ----------
    n
        Number of variables.
    E, R
        Compressed rows.
    e, row_lower, row_upper, c, lower, upper, P, offset
        The numbers. P is None for a linear objective.
    groups
        The cones.
    equation_names, row_names, column_names
        Names in words, for reasons.
    """

    n: int
    c: Float[Array, " n"]
    P: Any
    offset: float
    E: Any
    e: Float[Array, " p"]
    R: Any
    row_lower: Float[Array, " m"]
    row_upper: Float[Array, " m"]
    lower: Float[Array, " n"]
    upper: Float[Array, " n"]
    groups: Sequence[ConeGroup]
    equation_names: Sequence[str]
    row_names: Sequence[str]
    column_names: Sequence[str]

    @cached_property
    def is_fixed(self) -> Bool[Array, " n"]:
        """Flags of the variables with equal bounds."""
        return self.lower == self.upper

    @cached_property
    def cost_scale(self) -> float:
        """The largest absolute value of a cost, but not below 1e-8."""
        return max(1e-8, float(np.abs(self.c).max(initial=0.0)))

    @cached_property
    def E_transposed(self) -> Any:
        """The transposed equations, in compressed rows."""
        return scipy.sparse.csr_array(self.E.T)

    @cached_property
    def E_columns(self) -> Any:
        """The equations in compressed columns."""
        return self.E.tocsc()

    @cached_property
    def R_transposed(self) -> Any:
        """The transposed rows, in compressed rows."""
        return scipy.sparse.csr_array(self.R.T)

    @cached_property
    def G_transposed(self) -> Sequence[Any]:
        """The transposed rows of each group, in compressed rows."""
        return [scipy.sparse.csr_array(group.G.T) for group in self.groups]

    @cached_property
    def all_rows(self) -> Any:
        """The equations, rows and rows of the groups, in compressed rows."""
        return joined_rows([self.E, self.R, *(group.G for group in self.groups)], self.n)

    @cached_property
    def all_transposed(self) -> Any:
        """The transposed equations, rows and rows of the groups side by side, in compressed rows."""
        return self.all_rows.T.tocsr()

    @cached_property
    def bound_signs(self) -> Float[Array, " n"]:
        """1 for variables with a finite lower bound, -1 for others: signs of the multipliers of bounds."""
        return np.where(np.isfinite(self.lower), 1.0, -1.0)

    @cached_property
    def has_one_bound(self) -> Bool[Array, " n"]:
        """Flags of the variables with one finite bound."""
        return np.isfinite(self.lower) ^ np.isfinite(self.upper)

    @cached_property
    def dual_equations(self) -> Any:
        """The equations of reduced costs in y, rows, cones, multipliers of bounds, and w, in compressed rows.

        There are no multipliers of bounds if no variable has one finite bound, and no w for a linear objective.
        """
        n, has_one_bound = self.n, bool(self.has_one_bound.any())
        if self.P is None and not has_one_bound:
            return self.all_transposed
        blocks = [self.all_rows]
        if has_one_bound:
            blocks.append(scipy.sparse.csr_array((self.bound_signs, np.arange(n), np.arange(n + 1)), shape=(n, n)))
        if self.P is not None:
            blocks.append(-self.P)  # P is symmetric
        return joined_rows(blocks, n).T.tocsr()

    @cached_property
    def E_norms(self) -> Float[Array, " p"]:
        """The 2-norms of the equations."""
        return row_norms(self.E)

    @cached_property
    def R_norms(self) -> Float[Array, " m"]:
        """The 2-norms of the rows."""
        return row_norms(self.R)

    @cached_property
    def curvature_sizes(self) -> Float[Array, " n"]:
        """The sums of the absolute values in the rows of P; 0 for a linear objective."""
        return np.zeros(self.n) if self.P is None else np.asarray(abs(self.P) @ np.ones(self.n))


def cone_form(program: ConicProgram) -> ConeForm:
    """Return the form of a program to be minimized."""
    rows: Any = program.A.tocsr()
    n = program.shape[1]
    is_equation, is_row = equations_and_rows(program)
    P = program.P
    return ConeForm(
        n,
        program.c,
        None if P is None else scipy.sparse.csr_array((P.data, P.indices, P.indptr), shape=P.shape),  # P is symmetric
        program.offset,
        rows_of(rows, is_equation),
        program.row_lower[is_equation],
        rows_of(rows, is_row),
        program.row_lower[is_row],
        program.row_upper[is_row],
        program.lower,
        program.upper,
        _groups(program.cones, n),
        Names("row", program.row_names, np.flatnonzero(is_equation)),
        Names("row", program.row_names, np.flatnonzero(is_row)),
        Names("column", program.column_names, np.arange(n)),
    )


def equations_and_rows(program: ConicProgram) -> tuple[Bool[Array, " rows"], Bool[Array, " rows"]]:
    """Return which rows of a program are the equations of its form, and which are its other rows with a finite side."""
    is_equation = program.row_lower == program.row_upper
    return is_equation, ~is_equation & (np.isfinite(program.row_lower) | np.isfinite(program.row_upper))


class Names(Sequence[str]):
    """The names of rows or columns in words, each made when it is read: programs have many, and reasons few.

    Parameters
    ----------
    word
        What they name.
    names
        The names; empty if none has one.
    places
        The number of each among all rows or columns, which is the name of those without one.
    """

    def __init__(self, word: str, names: Sequence[str], places: Int[Array, " k"]) -> None:
        self._word, self._names, self._places = word, names, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        place = int(self._places[i])
        return f"{self._word} {(self._names and self._names[place]) or place}"


def _groups(cones: Sequence[ConeConstraint], n: int) -> list[ConeGroup]:
    members = dict[tuple[ConeKind, int, float], list[tuple[int, ConeConstraint]]]()
    for k, cone in enumerate(cones):
        exponent = cone.exponent if cone.kind == "power" else 0.0
        members.setdefault((cone.kind, len(cone.b), exponent), []).append((k, cone))
    return [
        ConeGroup(
            kind,
            size,
            exponent,
            joined_rows([cone.A for _, cone in pairs], n),
            np.concatenate([cone.b for _, cone in pairs]),
            [f"cone {cone.name or k}" for k, cone in pairs],
            [k for k, _ in pairs],
        )
        for (kind, size, exponent), pairs in members.items()
    ]


@dataclass(frozen=True, eq=False)
class SlackElimination:
    """A form without slack variables: free ones without costs that stand in one equation and alone in a row of a cone.

    Such a variable is x_j = a (e_i - <A_i, x>) with a = 1 or -1, which takes its place in the row of the cone. All
    numbers of the smaller form are exact, and its feasible points and dual points are those of the form.

    Attributes
    ----------
    whole, form
        The form, and the smaller one; the same if there are no slack variables.
    columns, equations
        The slack variables, and their equations, shape (k,).
    values, sides
        The matrix of -a A_i by the variables that are left, and a e_i, shape (k,).
    cone_rows, factors
        The group and the row in it of each, shape (2, k), and -a times its entry there, shape (k,).
    """

    whole: ConeForm
    form: ConeForm
    columns: Int[Array, " k"]
    equations: Int[Array, " k"]
    values: Any
    sides: Float[Array, " k"]
    cone_rows: Int[Array, "2 k"]
    factors: Float[Array, " k"]

    def point(self, x: Enclosure) -> Enclosure:
        """Return the point of the form at a point of the smaller one."""
        if not self.columns.size:
            return x
        slacks = product(self.values, None, x, (self.sides, np.zeros(len(self.sides))))
        mids, radii = (self._joint(rest, part) for rest, part in zip(x, slacks, strict=True))
        return mids, radii

    def nearest_point(self, x: Float[Array, " m"]) -> Float[Array, " n"]:
        """Return the point of the form, rounded, at a point of the smaller one."""
        return self._joint(x, np.asarray(self.values @ x) + self.sides) if self.columns.size else x

    def direction(self, x: Float[Array, " m"]) -> Float[Array, " n"]:
        """Return the direction of the form, rounded, for one of the smaller one."""
        return self._joint(x, np.asarray(self.values @ x)) if self.columns.size else x

    def equation_multipliers(self, y: Float[Array, " p"], cones: Sequence[Float[Array, " _"]]) -> Float[Array, " q"]:
        """Return the multipliers of the equations for those of the smaller form: the costs of slack variables are 0."""
        if not self.columns.size:
            return y
        result = np.zeros(len(self.whole.e))
        for k, z in enumerate(cones):
            is_used = self.cone_rows[0] == k
            result[self.equations[is_used]] = self.factors[is_used] * z[self.cone_rows[1, is_used]]
        return result

    def entries_without_slacks(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return the entries of a point of the form that are variables of the smaller one."""
        return np.delete(x, self.columns)

    def _joint(self, rest: Array, slacks: Array) -> Float[Array, " n"]:
        result = np.zeros(self.whole.n)
        is_kept = np.ones(self.whole.n, dtype=bool)
        is_kept[self.columns] = False
        result[is_kept], result[self.columns] = rest, slacks
        return result


def slack_elimination(form: ConeForm) -> SlackElimination:
    """Return the form without its slack variables, if no equations are left; else the form itself.

    Forms with a quadratic objective or with semidefinite cones keep their slack variables. So do those with other
    equations: fewer ones are not solved faster where they depend on each other.
    """
    is_linear = form.P is None and all(group.kind != "semidefinite" for group in form.groups)
    slacks = _slacks(form) if is_linear else np.zeros((4, 0), dtype=int)
    columns, equations, places, rows = slacks[:, : slacks.shape[1] if slacks.shape[1] == len(form.e) else 0]
    if not columns.size:
        empty = scipy.sparse.csr_array((0, form.n))
        return SlackElimination(form, form, columns, equations, empty, np.zeros(0), slacks[2:, :0], np.zeros(0))
    is_kept = np.ones(form.n, dtype=bool)
    is_kept[columns] = False
    by_columns = form.E_columns
    coefficients = by_columns.data[by_columns.indptr[columns]]
    values: Any = _multiples(columns_of(form.E, is_kept)[equations], -coefficients)
    sides = coefficients * form.e[equations]
    factors, groups = np.zeros(len(columns)), list[ConeGroup]()
    for k, group in enumerate(form.groups):
        members = np.flatnonzero(places == k)
        entries = group.G.data[group.G.indptr[rows[members]]]
        factors[members] = -coefficients[members] * entries
        order, h = np.arange(len(group.h)), group.h.copy()
        order[rows[members]] = len(h) + np.arange(len(members))
        h[rows[members]] += entries * sides[members]
        blocks = [columns_of(group.G, is_kept), _multiples(values[members], entries)]
        G = joined_rows(blocks, blocks[0].shape[1])
        groups.append(replace(group, G=G[order], h=h))
    smaller = _without_equations(form, is_kept, groups)
    return SlackElimination(form, smaller, columns, equations, values, sides, slacks[2:], factors)


def _multiples(matrix: Any, factors: Float[Array, " m"]) -> Any:
    """Return the rows of a matrix times 1 or -1."""
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _slacks(form: ConeForm) -> Int[Array, "4 k"]:
    """Return the slack variables, at most one of each equation, with their equations, groups and rows of these."""
    E = form.E_columns
    matrices = [form.R, *(group.G for group in form.groups)]
    counts = sum((np.bincount(matrix.indices, minlength=form.n) for matrix in matrices), np.zeros(form.n, dtype=int))
    is_slack = (form.c == 0) & ~np.isfinite(form.lower) & ~np.isfinite(form.upper)
    is_slack &= (np.diff(E.indptr) == 1) & (counts == 1)
    is_slack[is_slack] = np.abs(E.data[E.indptr[:-1][is_slack]]) == 1.0
    parts = [np.zeros((4, 0), dtype=int)]
    for k, group in enumerate(form.groups):
        rows = np.flatnonzero(np.diff(group.G.indptr) == 1)
        places = group.G.indptr[rows]
        columns = group.G.indices[places]
        is_used = is_slack[columns] & (np.abs(group.G.data[places]) == 1.0)
        rows, columns = rows[is_used], columns[is_used]
        equations = E.indices[E.indptr[columns]]
        is_used = (group.h[rows] == 0) | (form.e[equations] == 0)  # their sum is exact
        parts.append(np.stack([columns, equations, np.full(len(rows), k), rows])[:, is_used])
    joint = np.concatenate(parts, axis=1)
    return joint[:, np.unique(joint[1], return_index=True)[1]]


def _without_equations(form: ConeForm, is_kept: Bool[Array, " n"], groups: Sequence[ConeGroup]) -> ConeForm:
    """Return a form with some of its variables, no equations and other groups."""
    return replace(
        form,
        n=int(is_kept.sum()),
        c=form.c[is_kept],
        E=scipy.sparse.csr_array((0, int(is_kept.sum()))),
        e=form.e[:0],
        R=columns_of(form.R, is_kept),
        lower=form.lower[is_kept],
        upper=form.upper[is_kept],
        groups=groups,
        equation_names=[],
        column_names=[name for name, flag in zip(form.column_names, is_kept.tolist(), strict=True) if flag],
    )


def joined_rows(matrices: Sequence[Any], n: int) -> Any:
    """Return matrices of n columns one below the other, in compressed rows: SciPy takes longer for small ones."""
    pointers = [matrix.indptr for matrix in matrices]
    steps = np.diff(np.concatenate(pointers))
    is_in_one = np.ones(len(steps), dtype=bool)
    is_in_one[np.cumsum([len(part) for part in pointers])[:-1] - 1] = False
    data = np.concatenate([matrix.data for matrix in matrices])
    indices = np.concatenate([matrix.indices for matrix in matrices])
    entries = data, indices, np.concatenate([[0], np.cumsum(steps[is_in_one])])
    return scipy.sparse.csr_array(entries, shape=(len(entries[2]) - 1, n))


def row_norms(matrix: Any) -> Float[Array, " m"]:
    """Return the 2-norms of the rows of a matrix in compressed rows."""
    with np.errstate(over="ignore"):
        squares = matrix.data * matrix.data
    return np.sqrt(np.bincount(entry_rows(matrix), squares, matrix.shape[0]))


def scaled_rows(matrix: Any, weights: Float[Array, " m"]) -> Any:
    """Return diag(weights) A for compressed rows."""
    if not matrix.nnz:
        return matrix
    data = matrix.data * np.repeat(weights, np.diff(matrix.indptr))
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def small_or_sparse(matrix: Any) -> Any:
    """Return a small sparse matrix as a dense one, and others as they are: products of small ones take SciPy longer."""
    return matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= MAX_SMALL_ENTRIES else matrix


def dense(matrix: Any) -> Float[Array, "m n"]:
    """Return a dense or sparse matrix as a dense one."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def rows_of(matrix: Any, rows: Bool[Array, " m"]) -> Any:
    """Return some rows of a matrix in compressed rows."""
    if rows.all():
        return matrix
    counts = np.diff(matrix.indptr)
    is_used, pointers = np.repeat(rows, counts), np.concatenate([[0], np.cumsum(counts[rows])])
    entries = matrix.data[is_used], matrix.indices[is_used], pointers
    return scipy.sparse.csr_array(entries, shape=(len(pointers) - 1, matrix.shape[1]))


def columns_of(matrix: Any, columns: Int[Array, " k"] | Bool[Array, " n"]) -> Any:
    """Return some columns of a matrix in compressed rows, in their order."""
    if columns.dtype != bool:
        return scipy.sparse.csr_array(scipy.sparse.csc_array(matrix)[:, columns])
    is_used = columns[matrix.indices]
    pointers = np.concatenate([[0], np.cumsum(is_used)])[matrix.indptr]
    numbers = np.cumsum(columns) - 1
    entries = matrix.data[is_used], numbers[matrix.indices[is_used]], pointers
    return scipy.sparse.csr_array(entries, shape=(matrix.shape[0], int(columns.sum())))
