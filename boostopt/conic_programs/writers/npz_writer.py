"""npz archives of programs in sparse numeric data, which hold every attribute; `npz_reader` states the layout."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.files import write_npz
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.readers.npz_reader import LAYOUT
from boostopt.errors import OptionError


def archive_content(program: ConicProgram) -> bytes:
    """Return the content of a file.

    Raises
    ------
    OptionError
        NumPy would read a name as another one.
    """
    cones, n = program.cones, program.shape[1]
    texts = (program.name, *program.column_names, *program.row_names, *(cone.name for cone in cones))
    if any(text.endswith("\0") for text in texts):
        raise OptionError("names in npz archives must not end with the character 0; got one that does. Rename it.")
    cone_rows: Any = scipy.sparse.vstack([scipy.sparse.csr_array((0, n)), *(cone.A for cone in cones)], format="csr")
    arrays: dict[str, Any] = {
        "layout": np.array(LAYOUT),
        "n": np.array(n),
        **_matrix_arrays("A", scipy.sparse.csr_array(program.A)),
        **{key: getattr(program, key) for key in ("c", "row_lower", "row_upper", "lower", "upper")},
        "offset": np.array(program.offset),
        "is_maximized": np.array(program.is_maximized),
        "numbers": np.array(program.numbers),
        "name": np.array(program.name),
        "column_names": np.array(program.column_names, dtype=str),
        "row_names": np.array(program.row_names, dtype=str),
    }
    if program.P is not None:
        arrays |= _matrix_arrays("P", scipy.sparse.csr_array(program.P))
    if cones:
        arrays |= {
            **_matrix_arrays("cone_A", cone_rows),
            "cone_b": np.concatenate([cone.b for cone in cones]),
            "cone_kinds": np.array([cone.kind for cone in cones]),
            "cone_sizes": np.array([len(cone.b) for cone in cones]),
            "cone_exponents": np.array([cone.exponent for cone in cones]),
            "cone_names": np.array([cone.name for cone in cones], dtype=str),
        }
    stream = io.BytesIO()
    write_npz(stream, arrays)
    return stream.getvalue()


def _matrix_arrays(name: str, matrix: Any) -> dict[str, Any]:
    return {
        f"{name}_data": matrix.data,
        f"{name}_columns": matrix.indices.astype(np.int64),
        f"{name}_starts": matrix.indptr.astype(np.int64),
    }
