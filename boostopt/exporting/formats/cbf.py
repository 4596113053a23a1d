"""CBF, the Conic Benchmark Format, version 3: programs with second-order, exponential and power cones.

All variables are free; row i of CON says that g_i = <a_i, x> + b_i lies in a cone. The exponential cone of the format,
x_0 >= x_1 exp(x_2 / x_1), swaps the first and the last entry of the cone used here (and in CVXPY, Clarabel, SCS).

References
----------
Friberg 2016, "CBLIB 2014: a benchmark library for conic mixed-integer and continuous optimization", Mathematical
Programming Computation 8; the format as of version 3, with exponential and power cones: https://cblib.zib.de.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Int
from boostopt.exporting.conic_form import ConeDimensions, ConicSide, conic_program
from boostopt.exporting.file_format import FileFormat, FileWriter
from boostopt.exporting.file_header import header_lines, write_lines
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program

CBF_VERSION = 3
"""The first version of the format with exponential and power cones."""


def prepare_cbf(program: Program, side: Side) -> FileWriter:
    """Return the writer of a side of a program.

    Raises
    ------
    OptionError
        The program cannot be stated with cones, or the dual cannot be derived.
    """
    conic = conic_program(program, side, quadratic=False)
    return lambda file: write_cbf(conic, header_lines(program, conic), file)


FORMAT = FileFormat(ending=".cbf", scope="cones", prepare=prepare_cbf)


def write_cbf(conic: ConicSide, comments: Iterable[str], file: IO[bytes]) -> None:
    """Write a program without a quadratic objective."""
    write_lines(file, _cbf_lines(conic, comments))


def _cbf_lines(conic: ConicSide, comments: Iterable[str]) -> Iterator[str]:
    yield from (f"# {line}" for line in comments)
    yield from ("", "VER", str(CBF_VERSION), "")
    exponents = sorted(set(conic.cones.power))
    if exponents:
        yield from ("POWCONES", f"{len(exponents)} {2 * len(exponents)}")
        for exponent in exponents:
            yield from ("2", repr(exponent), repr(1.0 - exponent))
        yield ""
    n, cones = len(conic.q), list(_cone_lines(conic.cones, exponents))
    yield from ("OBJSENSE", "MIN", "", "VAR", f"{n} 1", f"F {n}", "")
    yield from ("CON", f"{len(conic.b)} {len(cones)}", *cones, "")
    costs = np.flatnonzero(conic.q)
    yield from _section_lines(
        "OBJACOORD", (f"{j} {value!r}" for j, value in _indexed_values(costs, conic.q)), len(costs)
    )
    if conic.offset:
        yield from ("OBJBCOORD", repr(conic.offset), "")
    # g = b - Ax lies in K; for equations g = Ax - b, so that the link has the right signs.
    sign, order = np.where(np.arange(len(conic.b)) < conic.cones.zero, 1.0, -1.0), _row_order(conic.cones)
    A: Any = (scipy.sparse.diags_array(sign) @ conic.A).tocsr()[order].tocoo()
    entries = zip(A.row.tolist(), A.col.tolist(), A.data.tolist(), strict=True)
    yield from _section_lines("ACOORD", (f"{i} {j} {value!r}" for i, j, value in entries), A.nnz)
    b = (-sign * conic.b)[order]
    constants = np.flatnonzero(b)
    yield from _section_lines(
        "BCOORD", (f"{i} {value!r}" for i, value in _indexed_values(constants, b)), len(constants)
    )


def _section_lines(keyword: str, lines: Iterable[str], count: int) -> Iterator[str]:
    """Yield a section that begins with the number of its lines, or nothing if it has no lines."""
    if count:
        yield from (keyword, str(count), *lines, "")


def _indexed_values(indices: Array, values: Array) -> Iterator[tuple[int, float]]:
    return zip(indices.tolist(), values[indices].tolist(), strict=True)


def _cone_lines(cones: ConeDimensions, exponents: list[float]) -> Iterator[str]:
    """Yield the cones of the rows in their order."""
    if cones.zero:
        yield f"L= {cones.zero}"
    if cones.nonnegative:
        yield f"L+ {cones.nonnegative}"
    yield from (f"Q {size}" for size in cones.second_order)
    yield from ["EXP 3"] * cones.exponential
    yield from (f"@{exponents.index(exponent)}:POW 3" for exponent in cones.power)


def _row_order(cones: ConeDimensions) -> Int[Array, " rows"]:
    """Return the rows in the format's order: those of each exponential cone reversed."""
    zero, nonnegative, second_order, exponential, _ = cones.row_counts
    order = np.arange(sum(cones.row_counts))
    indices = slice(zero + nonnegative + second_order, zero + nonnegative + second_order + exponential)
    order[indices] = order[indices].reshape(-1, 3)[:, ::-1].ravel()
    return order
