"""npz: the data of a program, for `load_dataset` and for everybody who has NumPy."""

from __future__ import annotations

import dataclasses
from typing import IO, Any

import numpy as np
import scipy.sparse

from boostopt._utils.files import write_npz
from boostopt.data.source_examples import MAX_DENSE_BYTES
from boostopt.errors import DataError
from boostopt.exporting.file_format import FileFormat, FileWriter
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix


def prepare_instance(program: Program, side: Side) -> FileWriter:
    """Return the writer of the instance of a program, which has no side.

    Raises
    ------
    DataError
        U is sparse, and too large as a dense array.
    """
    arrays = instance_arrays(program)
    return lambda file: write_instance(arrays, file)


FORMAT = FileFormat(ending=".npz", scope="instance", is_instance=True, prepare=prepare_instance)


def instance_arrays(program: Program) -> dict[str, Any]:
    """Return U as a dense array, c, d0 if it is not proportional to c, and parameters of each example by name.

    Raises
    ------
    DataError
        U is sparse, and too large as a dense array.
    """
    c, d0, p = program.examples.c, program.examples.d0, program.parameters
    values = {field.name: getattr(p, field.name) for field in dataclasses.fields(p)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    # A d0 that follows from c is not stored: dividing it by its sum once more might change the last bit.
    reference = {} if np.array_equal(d0, c / c.sum()) else {"d0": d0}
    return {**arrays, "U": _dense_array(program.margins), "c": c, **reference}


def _dense_array(margins: MarginMatrix) -> Any:
    """Return the numbers as they are stored, dense."""
    arrays = margins.arrays()
    if "dense" in arrays:
        return arrays["dense"]
    size = margins.N * margins.t * arrays["data"].itemsize
    if size > MAX_DENSE_BYTES:
        raise DataError(
            f"expected a margin matrix of at most {MAX_DENSE_BYTES} bytes as a dense array, for that is what "
            f"instances are read "
            f"from; this sparse one has shape {margins.shape}, {size} bytes. Export the program (.mps, .cbf), or "
            "save the sparse matrix with scipy.sparse.save_npz."
        )
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return scipy.sparse.csr_array(parts, shape=margins.shape).toarray()


def write_instance(arrays: dict[str, Any], file: IO[bytes]) -> None:
    """Write arrays so that equal arrays make equal files."""
    write_npz(file, arrays)
