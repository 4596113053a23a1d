"""A linear program as JSON, as the checker of files reads it."""

from __future__ import annotations

from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.verification.statement_files import StatementFormat

LINEAR_FILES = StatementFormat("boostopt linear program", "program")
"""The format of files that hold the statement of a linear program alone."""


def linear_program_to_json(program: ConicProgram) -> dict[str, Any]:
    """Return the statement of a linear program; infinite bounds are texts."""
    entries: Any = program.A.tocoo()
    sign = -1.0 if program.is_maximized else 1.0
    return {
        "name": program.name,
        "sense": "maximize" if program.is_maximized else "minimize",
        "numbers": program.numbers,
        "offset": sign * program.offset + 0.0,
        "c": (sign * program.c + 0.0).tolist(),
        **{name: _sides(getattr(program, name)) for name in ("lower", "upper", "row_lower", "row_upper")},
        "rows": entries.row.tolist(),
        "columns": entries.col.tolist(),
        "values": entries.data.tolist(),
        "column_names": list(program.column_names),
        "row_names": list(program.row_names),
    }


def _sides(bounds: Array) -> list[Any]:
    """Return bounds; an infinite one is its text."""
    return [value if np.isfinite(value) else str(value) for value in bounds.tolist()]
