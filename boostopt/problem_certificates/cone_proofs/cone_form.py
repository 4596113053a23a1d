"""A conic program as equations, rows with bounds, and groups of equal cones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.conic_programs.conic_program import ConeConstraint, ConeKind, ConicProgram
from boostopt.problem_certificates.arithmetic.balls import Enclosure
from boostopt.problem_certificates.arithmetic.sparse_float_forms import entry_rows, product


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
    def R_transposed(self) -> Any:
        """The transposed rows, in compressed rows."""
        return scipy.sparse.csr_array(self.R.T)

    @cached_property
    def G_transposed(self) -> Sequence[Any]:
        """The transposed rows of each group, in compressed rows."""
        return [scipy.sparse.csr_array(group.G.T) for group in self.groups]


def cone_form(program: ConicProgram) -> ConeForm:
    """Return the form of a program to be minimized."""
    rows: Any = scipy.sparse.csr_array(program.A)
    n = program.shape[1]
    is_equation, is_row = equations_and_rows(program)
    row_names = _names("row", len(is_row), program.row_names)
    P = program.P
    return ConeForm(
        n,
        program.c,
        None if P is None else scipy.sparse.csr_array(P),
        program.offset,
        rows[is_equation],
        program.row_lower[is_equation],
        rows[is_row],
        program.row_lower[is_row],
        program.row_upper[is_row],
        program.lower,
        program.upper,
        _groups(program.cones, n),
        [row_names[i] for i in np.flatnonzero(is_equation).tolist()],
        [row_names[i] for i in np.flatnonzero(is_row).tolist()],
        _names("column", n, program.column_names),
    )


def equations_and_rows(program: ConicProgram) -> tuple[Bool[Array, " rows"], Bool[Array, " rows"]]:
    """Return which rows of a program are the equations of its form, and which are its other rows with a finite side."""
    is_equation = program.row_lower == program.row_upper
    return is_equation, ~is_equation & (np.isfinite(program.row_lower) | np.isfinite(program.row_upper))


def _names(word: str, count: int, names: Sequence[str]) -> list[str]:
    """Return the names of rows or columns in words; numbers for those without a name."""
    return [f"{word} {name or k}" for k, name in enumerate(names)] if names else [f"{word} {k}" for k in range(count)]


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
            scipy.sparse.vstack([cone.A for _, cone in pairs], format="csr"),
            np.concatenate([cone.b for _, cone in pairs]),
            [f"cone {cone.name or k}" for k, cone in pairs],
            [k for k, _ in pairs],
        )
        for (kind, size, exponent), pairs in members.items()
    ]


def row_norms(matrix: Any) -> Float[Array, " m"]:
    """Return the 2-norms of the rows of a matrix in compressed rows."""
    with np.errstate(over="ignore"):
        squares = matrix.data * matrix.data
    return np.sqrt(np.bincount(entry_rows(matrix), squares, matrix.shape[0]))


def columns_of(matrix: Any, columns: Int[Array, " k"] | Bool[Array, " n"]) -> Any:
    """Return some columns of a matrix in compressed rows."""
    return scipy.sparse.csr_array(scipy.sparse.csc_array(matrix)[:, columns])
