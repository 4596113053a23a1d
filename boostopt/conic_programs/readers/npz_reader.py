"""npz archives of programs in sparse numeric data, as `save_problem` writes them.

A matrix M is stated by its rows: `M_data` (floats), `M_columns` and `M_starts` (whole numbers), where row i has the
entries from `M_starts[i]` to `M_starts[i + 1]`. The archive has

    layout                                      the text "boostopt conic program 1"
    n                                           the number of variables
    A, c, row_lower, row_upper, lower, upper    as of `ConicProgram`; infinite bounds are infinite floats
    offset, is_maximized, numbers, name         scalars
    column_names, row_names                     texts, or no entries
    P                                           where the objective is quadratic
    cone_A, cone_b                              all rows in cones, one cone after the other, and with the cones
    cone_kinds, cone_sizes                      their kinds, and the numbers of their rows
    cone_exponents, cone_names                  the exponents of power cones, and names
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.files import check_members
from boostopt.conic_programs.conic_program import ConeConstraint, ConicProgram
from boostopt.errors import DataError, reason_of

LAYOUT = "boostopt conic program 1"

VECTORS = ("c", "row_lower", "row_upper", "lower", "upper")
KEYS = {"layout", "n", *VECTORS, "offset", "is_maximized", "numbers", "name", "column_names", "row_names"}
CONE_KEYS = {"cone_b", "cone_kinds", "cone_sizes", "cone_exponents", "cone_names"}


def read_program_archive(path: Path, content: bytes) -> ConicProgram:
    """Return the program of an archive.

    Raises
    ------
    DataError
        The content is no archive of plain arrays, or its arrays are not as the layout states.
    """
    try:
        check_members(path, io.BytesIO(content))
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except DataError:
        raise
    except Exception as failure:  # zipfile and NumPy raise nearly anything on a damaged file
        raise DataError(
            f"{path}: expected an npz archive of plain arrays; NumPy says: {reason_of(failure)}. Take it anew."
        ) from failure
    if "layout" not in arrays or str(arrays["layout"]) != LAYOUT:
        raise DataError(
            f"{path}: expected an archive with the layout {LAYOUT!r}; got {', '.join(sorted(arrays)) or 'no arrays'}. "
            "Write it with boostopt.save_problem."
        )
    try:
        return _program(arrays)
    except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as failure:
        raise DataError(
            f"{path}: expected the arrays of {LAYOUT!r}; got others: {reason_of(failure)}. Write it with "
            "boostopt.save_problem."
        ) from failure


def _program(arrays: Mapping[str, Any]) -> ConicProgram:
    has_cones, has_quadratic = (any(key.startswith(prefix) for key in arrays) for prefix in ("cone_", "P_"))
    expected = KEYS | _keys_of_matrix("A") | (_keys_of_matrix("P") if has_quadratic else set())
    expected |= CONE_KEYS | _keys_of_matrix("cone_A") if has_cones else set()
    if expected != set(arrays):
        raise ValueError(f"absent or too many: {', '.join(sorted(expected ^ set(arrays)))}")
    n = int(_typed(arrays, "n", "iu").item())
    if arrays["c"].shape != (n,):
        raise ValueError(f"c must have {n} numbers; got shape {arrays['c'].shape}")
    is_maximized = _typed(arrays, "is_maximized", "b").item()
    return ConicProgram(
        A=_matrix(arrays, "A", n),
        **{key: _typed(arrays, key, "f") for key in VECTORS},
        P=_matrix(arrays, "P", n) if has_quadratic else None,
        cones=tuple(_cones(arrays, n)) if has_cones else (),
        offset=_typed(arrays, "offset", "f").item(),
        is_maximized=is_maximized,
        numbers=_typed(arrays, "numbers", "U").item(),
        name=_typed(arrays, "name", "U").item(),
        column_names=tuple(_typed(arrays, "column_names", "U").tolist()),
        row_names=tuple(_typed(arrays, "row_names", "U").tolist()),
    )


def _keys_of_matrix(name: str) -> set[str]:
    return {f"{name}_{part}" for part in ("data", "columns", "starts")}


def _cones(arrays: Mapping[str, Any], n: int) -> Iterator[ConeConstraint]:
    A, b = _matrix(arrays, "cone_A", n), _typed(arrays, "cone_b", "f")
    sizes = _typed(arrays, "cone_sizes", "iu").tolist()
    if min(sizes, default=0) < 0 or sum(sizes) != A.shape[0] or b.shape != (A.shape[0],):
        raise ValueError("the sizes of the cones do not agree with their rows")
    kinds, names = (_typed(arrays, key, "U").tolist() for key in ("cone_kinds", "cone_names"))
    exponents, start = _typed(arrays, "cone_exponents", "f").tolist(), 0
    for kind, size, exponent, name in zip(kinds, sizes, exponents, names, strict=True):
        part = slice(start, start + size)
        yield ConeConstraint(kind, A[part], b[part], exponent, name)
        start += size


def _matrix(arrays: Mapping[str, Any], name: str, n: int) -> Any:
    data, columns = _typed(arrays, f"{name}_data", "f"), _typed(arrays, f"{name}_columns", "iu")
    starts = _typed(arrays, f"{name}_starts", "iu")
    if starts.ndim != 1 or not len(starts) or starts[-1] != len(data):
        raise ValueError(f"{name}_starts must end with the number of entries")
    matrix: Any = scipy.sparse.csr_array((data, columns, starts), shape=(len(starts) - 1, n))
    matrix.check_format(full_check=True)
    if not matrix.has_canonical_format:
        raise ValueError(f"{name}_columns has an entry twice, or out of order")
    return matrix


def _typed(arrays: Mapping[str, Any], name: str, kinds: str) -> Any:
    if arrays[name].dtype.kind not in kinds or (kinds == "f" and arrays[name].dtype.itemsize > 8):
        raise TypeError(f"{name} has the type {arrays[name].dtype}")
    return arrays[name]
