"""CBF, the Conic Benchmark Format, version 3: programs with second-order, exponential and power cones.

All variables are free. The rows that link both parts of a program are equations and come first, so that their
multipliers have the signs of the header. `conic_programs.writers.cbf_writer` writes the sections.

References
----------
Friberg 2016, "CBLIB 2014: a benchmark library for conic mixed-integer and continuous optimization", Mathematical
Programming Computation 8; the format as of version 3, with exponential and power cones: https://cblib.zib.de.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import scipy.sparse

from boostopt.conic_programs.conic_program import ConeConstraint, ConeKind, ConicProgram
from boostopt.conic_programs.writers.cbf_writer import cbf_lines
from boostopt.exporting.conic_form import ConeDimensions, ConicSide, conic_program
from boostopt.exporting.file_format import FileFormat, FileWriter
from boostopt.exporting.file_header import header_lines, write_lines
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program


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
    lines = cbf_lines(_with_free_variables(conic))
    write_lines(file, itertools.chain((f"# {line}" for line in comments), [""], lines))


def _with_free_variables(conic: ConicSide) -> ConicProgram:
    """Return the program with each inequality as b - Ax >= 0, the cone L+ of the format."""
    n, n_linear = len(conic.q), conic.cones.zero + conic.cones.nonnegative
    is_equation = np.arange(n_linear) < conic.cones.zero
    sign = np.where(is_equation, 1.0, -1.0)
    rows: Any = conic.A.tocsr()
    right_sides = sign * conic.b[:n_linear]
    return ConicProgram(
        A=scipy.sparse.diags_array(sign) @ rows[:n_linear] if n_linear else rows[:0],
        c=conic.q,
        row_lower=right_sides,
        row_upper=np.where(is_equation, right_sides, np.inf),
        lower=np.full(n, -np.inf),
        upper=np.full(n, np.inf),
        cones=tuple(
            ConeConstraint(kind, -rows[part], conic.b[part], exponent)
            for kind, part, exponent in _cone_parts(conic.cones)
        ),
        offset=conic.offset,
    )


def _cone_parts(cones: ConeDimensions) -> Iterator[tuple[ConeKind, slice, float]]:
    """Yield the kind, the rows and the exponent of each cone that is not linear, in the order of the rows."""
    kinds = list[tuple[ConeKind, int, float]]()
    kinds.extend(("second_order", size, 0.5) for size in cones.second_order)
    kinds.extend(("exponential", 3, 0.5) for _ in range(cones.exponential))
    kinds.extend(("power", 3, exponent) for exponent in cones.power)
    start = cones.zero + cones.nonnegative
    for kind, size, exponent in kinds:
        yield kind, slice(start, start + size), exponent
        start += size
