"""MPS: linear and convex quadratic programs.

HiGHS has a writer of its own, but it keeps only 15 digits, too few to restore the same program. The sections are
written by `conic_programs.writers.mps_writer`, with the shortest decimals that read back as the same floats. Rows and
variables that carry weights are named after them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.writers.mps_writer import mps_lines
from boostopt.errors import OptionError
from boostopt.exporting.conic_form import ConicSide, conic_program
from boostopt.exporting.file_format import FileFormat, FileWriter
from boostopt.exporting.file_header import header_lines, write_lines
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program


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
    return lambda file: write_mps(conic, program.formulation.name, header_lines(program, conic), file)


FORMAT = FileFormat(ending=".mps", scope="linear, quadratic", prepare=prepare_mps)


def write_mps(conic: ConicSide, name: str, comments: Iterable[str], file: IO[bytes]) -> None:
    """Write a program whose cones are linear."""
    lines = mps_lines(_with_bounds_of_variables(conic, name))
    write_lines(file, itertools.chain((f"* {line}" for line in comments), lines))


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


def _with_bounds_of_variables(conic: ConicSide, name: str) -> ConicProgram:
    """Return the program with names, and with bounds in place of the inequalities on a single variable."""
    bounds = _extract_bounds(conic)
    remaining = np.flatnonzero(bounds.remaining)
    right_sides = conic.b[remaining]
    lower_triangle: Any = scipy.sparse.tril(conic.P, format="csc")
    columns, rows = _names_of_variables_and_rows(conic, len(remaining))
    return ConicProgram(
        A=conic.A.tocsr()[remaining],
        c=conic.q,
        row_lower=np.where(remaining < conic.cones.zero, right_sides, -np.inf),
        row_upper=right_sides,
        lower=bounds.lower,
        upper=bounds.upper,
        P=lower_triangle + scipy.sparse.tril(lower_triangle, -1).T,
        offset=conic.offset,
        name=name,
        column_names=columns,
        row_names=rows,
    )


def _names_of_variables_and_rows(conic: ConicSide, n_rows: int) -> tuple[list[str], list[str]]:
    """Return the names of columns and rows: those that carry weights are d_n or w_q, counted from 1."""
    first_letter, linked_letter, multiplier_letter = ("d", "e", "w") if conic.side == "primal" else ("w", "m", "d")
    columns = [
        *_numbered_names(first_letter, conic.n_own),
        *_numbered_names(linked_letter, conic.n_linked),
        *_numbered_names("x", len(conic.q) - conic.n_own - conic.n_linked),
    ]
    return columns, [
        *_numbered_names(multiplier_letter, conic.n_linked),
        *_numbered_names("r", n_rows - conic.n_linked),
    ]


def _numbered_names(letter: str, count: int) -> list[str]:
    return [f"{letter}_{i}" for i in range(1, count + 1)]
