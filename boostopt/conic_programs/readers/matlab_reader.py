"""MATLAB files of LPnetlib (linear programs) and of qpbenchmark (quadratic programs)."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.readers.matlab_elements import check_elements
from boostopt.conic_programs.readers.numbered_lines import MAX_UNLISTED
from boostopt.errors import BoostoptError, DataError, reason_of

INFINITY = 1e20
"""Bounds of at least this size are infinite in both collections."""

LINEAR_KEYS = ("A", "b", "c", "lo", "hi", "z0")
QUADRATIC_KEYS = ("P", "q", "r", "A", "l", "u")


def read_matlab(path: Path, content: bytes) -> ConicProgram:
    """Return the program of a MATLAB 5 file.

    Raises
    ------
    DataError
        SciPy cannot read the file, or the arrays of neither collection are in it.
    """
    import scipy.io

    try:
        check_elements(content)
        variables = scipy.io.loadmat(io.BytesIO(content), spmatrix=False)
    except Exception as failure:  # SciPy raises errors of many types for damaged files
        # Older versions of SciPy read no sparse matrices of the other byte order.
        advice = "Upgrade SciPy." if "does not support dtype" in str(failure) else "Take it anew."
        raise DataError(f"{path}: expected a MATLAB 5 file; SciPy says: {reason_of(failure)}. {advice}") from failure
    arrays = _flat(variables)
    try:
        if all(key in arrays for key in LINEAR_KEYS):
            return _linear_program(path, arrays)
        if all(key in arrays for key in QUADRATIC_KEYS):
            return _quadratic_program(path, arrays)
    except (BoostoptError, ValueError, TypeError, IndexError, OverflowError, MemoryError) as failure:
        raise DataError(
            f"{path}: expected real arrays that agree; got others: {reason_of(failure)}. Correct the arrays."
        ) from failure
    names = ", ".join(sorted(key for key in arrays if not key.startswith("__")))
    raise DataError(
        f"{path}: expected the arrays {', '.join(LINEAR_KEYS)} of LPnetlib or {', '.join(QUADRATIC_KEYS)} of "
        f"qpbenchmark; got {names or 'none'}. Save them by these names."
    )


def _flat(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays by name, also those in the structures `Problem` and `aux`."""
    arrays = dict(variables)
    for structure in ("Problem", "aux"):
        record = arrays.get(structure)
        if record is not None and record.dtype.names:
            arrays |= {name: record[0, 0][name] for name in record.dtype.names}
    return arrays


def _linear_program(path: Path, arrays: Mapping[str, Any]) -> ConicProgram:
    b = _vector(arrays["b"])
    return ConicProgram(
        A=_matrix(arrays["A"]),
        c=_vector(arrays["c"]),
        row_lower=b,
        row_upper=b,
        lower=_with_infinity(_vector(arrays["lo"])),
        upper=_with_infinity(_vector(arrays["hi"])),
        offset=_vector(arrays["z0"]).item(),
        name=path.stem,
    )


def _quadratic_program(path: Path, arrays: Mapping[str, Any]) -> ConicProgram:
    """Return the program; its last n rows are the bounds of the variables."""
    A: Any = _matrix(arrays["A"]).tocsr()
    c, lower, upper = _vector(arrays["q"]), _vector(arrays["l"]), _vector(arrays["u"])
    n, m = len(c), A.shape[0] - len(c)
    if m < 0 or (A[m:] - scipy.sparse.identity(n)).nnz:
        raise DataError(f"{path}: expected the identity as the last {n} rows of A; got others. Append the bounds.")
    lower, upper = _with_infinity(lower), _with_infinity(upper)
    return ConicProgram(
        A=scipy.sparse.csc_array(A[:m]),
        c=c,
        row_lower=lower[:m],
        row_upper=upper[:m],
        lower=lower[m:],
        upper=upper[m:],
        P=_matrix(arrays["P"]),
        offset=_vector(arrays["r"]).item(),
        name=path.stem,
    )


def _matrix(values: Any) -> Any:
    if not scipy.sparse.issparse(values):
        return scipy.sparse.csc_array(_real(values))
    sparse: Any = values
    if max(sparse.shape) > MAX_UNLISTED:
        raise ValueError(f"a sparse array of shape {sparse.shape}; at most {MAX_UNLISTED:,} rows and columns are read")
    sparse.data = _real(sparse.data)
    if hasattr(sparse, "check_format"):  # triples, which older SciPy returns, are checked when they are made
        sparse.check_format(full_check=True)  # SciPy's conversions write out of bounds for indices of a damaged file
    return scipy.sparse.csc_array(sparse)


def _vector(values: Any) -> Array:
    if not scipy.sparse.issparse(values):
        return _real(values).ravel()
    sparse: Any = _matrix(values)
    if math.prod(sparse.shape) > MAX_UNLISTED:
        raise ValueError(f"a matrix of shape {sparse.shape} in place of a vector")
    return _real(sparse.toarray()).ravel()


def _real(values: Any) -> Array:
    """Return floats in the machine's byte order; raise TypeError for texts, cells and complex numbers."""
    array: Array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"numbers that are not real, of type {array.dtype}")
    floats = array.astype(np.float64)
    has_long_integers = array.dtype.kind in "iu" and array.dtype.itemsize > 4
    if has_long_integers and any(int(a) != int(b) for a, b in zip(array.flat, floats.flat, strict=True)):
        raise ValueError("whole numbers that no float is equal to")
    return floats


def _with_infinity(bounds: Array) -> Array:
    return np.where(np.abs(bounds) >= INFINITY, np.copysign(np.inf, bounds), bounds)
