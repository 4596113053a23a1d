"""Free MPS with the section QUADOBJ: numbers are the shortest decimals that are read as the same floats."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.readers.mps_reader import range_end
from boostopt.conic_programs.writers.refusals import refusal
from boostopt.errors import OptionError, ProblemError

CONTENTS = "linear and quadratic programs whose rows have bounds"


def mps_lines(program: ConicProgram) -> Iterator[str]:
    """Yield the lines of a file.

    Raises
    ------
    OptionError
        The program has rows in cones, a row without bounds or with bounds whose difference floats do not state, or
        names that the format does not hold.
    """
    if program.cones:
        raise refusal("MPS", CONTENTS, "rows in cones")
    m, n = program.shape
    columns = _names(program.column_names, "column", n)
    rows = _names(program.row_names, "row", m)
    objective = "objective"
    while objective in rows:
        objective += "_"
    kinds, right_sides, ranges = _row_data(program)
    sign = -1.0 if program.is_maximized else 1.0
    yield f"NAME {'_'.join(program.name.split())}".rstrip()
    if program.is_maximized:
        yield from ("OBJSENSE", " MAX")
    yield from ("ROWS", f" N {objective}")
    yield from (f" {kind} {row}" for kind, row in zip(kinds, rows, strict=True))
    yield "COLUMNS"
    A, costs = program.A, (sign * program.c).tolist()
    for j, column in enumerate(columns):
        part = slice(A.indptr[j], A.indptr[j + 1])
        if costs[j] or part.start == part.stop:
            yield f" {column} {objective} {costs[j]!r}"
        for i, entry in zip(A.indices[part].tolist(), A.data[part].tolist(), strict=True):
            yield f" {column} {rows[i]} {entry!r}"
    yield "RHS"
    if program.offset:
        yield f" RHS {objective} {-sign * program.offset!r}"
    yield from (f" RHS {row} {number!r}" for row, number in zip(rows, right_sides, strict=True) if number)
    if any(number is not None for number in ranges):
        yield "RANGES"
    yield from (f" RANGE {row} {number!r}" for row, number in zip(rows, ranges, strict=True) if number is not None)
    yield "BOUNDS"
    for column, lower, upper in zip(columns, program.lower.tolist(), program.upper.tolist(), strict=True):
        yield from _bound_lines(column, lower, upper)
    if program.P is not None:
        yield "QUADOBJ"
        P: Any = scipy.sparse.coo_array(scipy.sparse.tril(program.P))
        for j, i, entry in sorted(zip(P.col.tolist(), P.row.tolist(), (sign * P.data).tolist(), strict=True)):
            yield f" {columns[j]} {columns[i]} {entry!r}"
    yield "ENDATA"


def _names(names: Any, kind: str, count: int) -> list[str]:
    if not names:
        return [f"{kind}_{k + 1}" for k in range(count)]
    if len(set(names)) < count or any(not name or len(name.split()) != 1 or name.split()[0] != name for name in names):
        raise OptionError(
            f"names of MPS must differ from each other and have no spaces; got others as {kind}_names. Rename them, or "
            "write a path that ends in .npz."
        )
    return list(names)


def _row_data(program: ConicProgram) -> tuple[list[str], list[float], list[float | None]]:
    """Return the type, the right side and the range of each row."""
    kinds, right_sides, ranges = list[str](), list[float](), list[float | None]()
    for i, (lower, upper) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        width = None
        if lower == upper:
            kind, right_side = "E", lower
        elif np.isfinite(lower) and np.isfinite(upper):
            kind, right_side, width = _range(lower, upper)
            if width is None:
                raise refusal("MPS", CONTENTS, f"row {i} from {lower!r} to {upper!r}, whose width is no float above 0")
        elif np.isfinite(lower):
            kind, right_side = "G", lower
        elif np.isfinite(upper):
            kind, right_side = "L", upper
        else:
            raise refusal("MPS", CONTENTS, f"row {i} without bounds")
        kinds.append(kind)
        right_sides.append(right_side)
        ranges.append(width)
    return kinds, right_sides, ranges


def _range(lower: float, upper: float) -> tuple[str, float, float | None]:
    """Return the type, the right side and the width of a row with two bounds; no width if none is read as these two."""
    difference = Fraction(repr(upper)) - Fraction(repr(lower))
    if 0 < difference <= sys.float_info.max:
        width = float(difference)
        with contextlib.suppress(ProblemError):
            if range_end(lower, width) == upper:
                return "G", lower, width
            if range_end(upper, -width) == lower:
                return "L", upper, width
    return "G", lower, None


def _bound_lines(column: str, lower: float, upper: float) -> Iterator[str]:
    if lower == upper:
        yield f" FX BOUND {column} {lower!r}"
        return
    if lower == -np.inf and upper == np.inf:
        yield f" FR BOUND {column}"
        return
    if lower == -np.inf:
        yield f" MI BOUND {column}"
    elif lower != 0.0 or upper < 0.0:
        yield f" LO BOUND {column} {lower!r}"
    if upper < np.inf:
        yield f" UP BOUND {column} {upper!r}"
