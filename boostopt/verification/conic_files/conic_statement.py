"""A conic program as JSON, as the checker of files reads it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.conic_programs.conic_program import ConeConstraint, ConicProgram
from boostopt.verification.linear_files.linear_statement import linear_program_to_json
from boostopt.verification.statement_files import StatementFormat

CONIC_FILES = StatementFormat("boostopt conic program", "program")
"""The format of files that hold the statement of a conic program alone."""


def conic_program_to_json(program: ConicProgram) -> dict[str, Any]:
    """Return the statement of a program; of symmetric matrices it has one triangle."""
    sign = -1.0 if program.is_maximized else 1.0
    return {
        **linear_program_to_json(program),
        "P": None if program.P is None else _entries_to_json(sign * scipy.sparse.triu(program.P, format="coo")),
        "cones": [_cone_to_json(cone) for cone in program.cones],
    }


def triangle_rows(cone: ConeConstraint) -> np.ndarray:
    """Return the rows of a constraint that a file states: of a matrix those (i, j) with i <= j, column by column."""
    if cone.kind != "semidefinite":
        return np.arange(len(cone.b))
    order = math.isqrt(len(cone.b))
    return np.concatenate([np.arange(j + 1) + j * order for j in range(order)])


def _cone_to_json(cone: ConeConstraint) -> dict[str, Any]:
    rows = triangle_rows(cone)
    return {
        "kind": cone.kind,
        "exponent": cone.exponent if cone.kind == "power" else 0.5,
        **_entries_to_json(cone.A[rows].tocoo()),
        "b": cone.b[rows].tolist(),
        "name": cone.name,
    }


def _entries_to_json(matrix: Any) -> dict[str, Any]:
    """Return the entries of a matrix with their places."""
    return {"rows": matrix.row.tolist(), "columns": matrix.col.tolist(), "values": matrix.data.tolist()}
