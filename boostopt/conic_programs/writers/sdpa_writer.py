"""SDPA's sparse format: a linear objective over free variables, rows with a lower bound, semidefinite constraints."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.writers.refusals import refusal

FORMAT_NAME = "SDPA's sparse format"
CONTENTS = "minima over free variables, rows with a lower bound, and semidefinite constraints"


def sdpa_lines(program: ConicProgram) -> Iterator[str]:
    """Yield the lines of a file; the linear rows are the last block.

    Raises
    ------
    OptionError
        The format does not hold the program.
    """
    m, n = program.shape
    parts = {
        "a quadratic objective": program.P is not None,
        "a maximum": program.is_maximized,
        "a constant in the objective": program.offset != 0.0,
        "bounds of variables": bool(np.isfinite(np.concatenate([program.lower, program.upper])).any()),
        "rows without a lower bound": not np.isfinite(program.row_lower).all(),
        "rows with an upper bound": bool(np.isfinite(program.row_upper).any()),
        "cones of other kinds": any(cone.kind != "semidefinite" for cone in program.cones),
        "no constraints or no variables": n == 0 or (m == 0 and not program.cones),
    }
    for part, is_present in parts.items():
        if is_present:
            raise refusal(FORMAT_NAME, CONTENTS, part)
    sizes = [math.isqrt(len(cone.b)) for cone in program.cones] + ([-m] if m else [])
    yield from (str(n), str(len(sizes)), " ".join(map(str, sizes)), " ".join(map(repr, program.c.tolist())))
    for block, (cone, size) in enumerate(zip(program.cones, sizes, strict=False), start=1):
        constants = ((0, row, -number) for row, number in enumerate(cone.b.tolist()) if number)
        for k, row, entry in sorted([*constants, *_entries(cone.A)]):
            j, i = divmod(row, size)
            if i <= j:
                yield f"{k} {block} {i + 1} {j + 1} {entry!r}"
    if m:
        constants = ((0, row, number) for row, number in enumerate(program.row_lower.tolist()) if number)
        for k, row, entry in sorted([*constants, *_entries(program.A)]):
            yield f"{k} {len(sizes)} {row + 1} {row + 1} {entry!r}"


def _entries(matrix: Any) -> list[tuple[int, int, float]]:
    """Return the number of the variable, the row and the number of each entry."""
    entries = matrix.tocoo()
    return list(zip((entries.col + 1).tolist(), entries.row.tolist(), entries.data.tolist(), strict=True))
