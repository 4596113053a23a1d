"""MPS: linear and convex quadratic programs.

HiGHS has a writer of its own, but it keeps only 15 digits, too few to restore the same program. The numbers here are
the shortest decimals that read back as the same floats.

The format is free MPS, with the section QUADOBJ for the lower triangle of P in (1/2) <x, P x>. A constant of the
objective stands in RHS with its sign changed, as HiGHS, CPLEX and Gurobi read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.errors import OptionError
from boostopt.exporting.conic_form import ConicSide, conic_program
from boostopt.exporting.file_format import FileFormat, FileWriter
from boostopt.exporting.file_header import header_lines, write_lines
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program

OBJECTIVE_ROW = "objective"
"""Name of the row of the objective."""


def prepare_mps(program: Program, side: Side) -> FileWriter:
    """Return the writer of a side of a program.

    Raises
    ------
    OptionError
        The program needs other cones than linear ones, or the dual cannot be derived.
    """
    conic = conic_program(program, side, quadratic=True)
    if not conic.cones.is_linear:
        raise OptionError(
            f"MPS holds linear and quadratic programs; {program.formulation.name} needs "
            f"{' and '.join(sorted(program.cones - {'linear', 'quadratic'}))} cones. Write a path that ends in .cbf."
        )
    name = program.formulation.name.replace(" ", "_")
    return lambda file: write_mps(conic, name, header_lines(program, conic), file)


FORMAT = FileFormat(ending=".mps", scope="linear, quadratic", prepare=prepare_mps)


def write_mps(conic: ConicSide, name: str, comments: Iterable[str], file: IO[bytes]) -> None:
    """Write a program whose cones are linear."""
    write_lines(file, _mps_lines(conic, _extract_bounds(conic), name, comments))


@dataclass(frozen=True, eq=False)
class _VariableBounds:
    """The bounds of the variables, and the rows that remain to be written."""

    lower: Float[Array, " n"]
    upper: Float[Array, " n"]
    remaining: Bool[Array, " rows"]


def _extract_bounds(conic: ConicSide) -> _VariableBounds:
    """Turn inequalities on a single variable with coefficient 1 or -1 into bounds, which rounds nothing."""
    A: Any = scipy.sparse.csr_array(conic.A)
    rows, n = A.shape
    single = (np.diff(A.indptr) == 1) & (np.arange(rows) >= conic.cones.zero)
    single_rows = np.flatnonzero(single)
    column, coefficient = A.indices[A.indptr[single_rows]], A.data[A.indptr[single_rows]]
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for sign, bounds, tighten in ((1.0, upper, np.minimum), (-1.0, lower, np.maximum)):
        has_sign = coefficient == sign
        tighten.at(bounds, column[has_sign], sign * conic.b[single_rows[has_sign]])
    # Crossing bounds stay rows: a reader might refuse them as bounds, but a solver should report infeasibility.
    crossed = lower > upper
    lower[crossed], upper[crossed] = -np.inf, np.inf
    lower, upper = lower + 0.0, upper + 0.0  # not -0.0
    remaining = np.ones(rows, dtype=bool)
    remaining[single_rows[(np.abs(coefficient) == 1.0) & ~crossed[column]]] = False
    return _VariableBounds(lower, upper, remaining)


def _mps_lines(conic: ConicSide, bounds: _VariableBounds, name: str, comments: Iterable[str]) -> Iterator[str]:
    columns, rows = _names_of_variables_and_rows(conic, bounds.remaining)
    yield from (f"* {line}" for line in comments)
    yield f"NAME {name}"
    yield "ROWS"
    yield f" N {OBJECTIVE_ROW}"
    remaining = np.flatnonzero(bounds.remaining)
    yield from (f" {'E' if i < conic.cones.zero else 'L'} {rows[i]}" for i in remaining.tolist())
    yield "COLUMNS"
    yield from _column_lines(conic, bounds.remaining, columns, rows)
    yield "RHS"
    if conic.offset:
        yield f" RHS {OBJECTIVE_ROW} {-conic.offset!r}"
    b = conic.b.tolist()
    yield from (f" RHS {rows[i]} {b[i]!r}" for i in remaining.tolist() if b[i])
    yield "BOUNDS"
    for column, lower, upper in zip(columns, bounds.lower.tolist(), bounds.upper.tolist(), strict=True):
        yield from _bound_lines(column, lower, upper)
    P: Any = scipy.sparse.coo_array(scipy.sparse.tril(conic.P))
    P.eliminate_zeros()
    if P.nnz:
        yield "QUADOBJ"
        entries = zip(P.col.tolist(), P.row.tolist(), P.data.tolist(), strict=True)
        yield from (f" {columns[j]} {columns[i]} {value!r}" for j, i, value in sorted(entries))
    yield "ENDATA"


def _column_lines(
    conic: ConicSide, remaining: Bool[Array, " rows"], columns: list[str], rows: list[str]
) -> Iterator[str]:
    """Yield the entries column by column; every column has at least one, because readers need it to know the column."""
    A, q = conic.A, conic.q.tolist()
    for j, column in enumerate(columns):
        part = slice(A.indptr[j], A.indptr[j + 1])
        entries = [(i, v) for i, v in zip(A.indices[part].tolist(), A.data[part].tolist(), strict=True) if remaining[i]]
        if q[j] or not entries:
            yield f" {column} {OBJECTIVE_ROW} {q[j]!r}"
        yield from (f" {column} {rows[i]} {value!r}" for i, value in entries)


def _names_of_variables_and_rows(conic: ConicSide, remaining: Bool[Array, " rows"]) -> tuple[list[str], list[str]]:
    """Return the names of columns and rows: those that carry weights are d_n or w_q, counted from 1."""
    first_letter, linked_letter, multiplier_letter = ("d", "e", "w") if conic.side == "primal" else ("w", "m", "d")
    n, k = len(conic.q), len(conic.b)
    columns = [
        *_numbered_names(first_letter, conic.n_own),
        *_numbered_names(linked_letter, conic.n_linked),
        *_numbered_names("x", n - conic.n_own - conic.n_linked),
    ]
    numbers: Int[Array, " rows"] = np.cumsum(remaining) - conic.n_linked
    return columns, [
        *_numbered_names(multiplier_letter, conic.n_linked),
        *(f"r_{i}" for i in numbers[conic.n_linked : k].tolist()),
    ]


def _numbered_names(letter: str, count: int) -> list[str]:
    return [f"{letter}_{i}" for i in range(1, count + 1)]


def _bound_lines(column: str, lower: float, upper: float) -> Iterator[str]:
    """Yield the bounds of a variable: both of them wherever the defaults of readers differ."""
    if lower == upper:
        yield f" FX BOUND {column} {lower!r}"
    elif lower == -np.inf and upper == np.inf:
        yield f" FR BOUND {column}"
    else:
        yield f" MI BOUND {column}" if lower == -np.inf else f" LO BOUND {column} {lower!r}"
        if upper < np.inf:
            yield f" UP BOUND {column} {upper!r}"
