"""Arrays and sparse matrices as a caller passes them: without masked entries, with indices that lie in their shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt.errors import BoostoptError, ProblemError


def check_unmasked(name: str, values: Any) -> None:
    """Raise ProblemError for masked entries: without its mask an array holds numbers that nobody meant."""
    if not np.ma.is_masked(values):
        return
    masked = np.argwhere(np.ma.getmaskarray(values))
    first = ", ".join(map(str, masked[0].tolist()))
    raise ProblemError(
        f"{name} must have no masked entries; got {len(masked)}, the first at ({first}). "
        f"Drop what is masked, or say what stands there: {name}.filled(...)."
    )


def as_array(name: str, values: Any, error: type[BoostoptError] = ProblemError) -> Array:
    """Return values as an array without masked entries, whatever their kind and their shape."""
    check_unmasked(name, values)
    try:
        return np.asarray(values)
    except ValueError:
        raise error(f"{name} must be an array; got rows of unequal length. Make them equally long.") from None


def real_numbers(name: str, values: Any, expected: str, advice: str, fits: Callable[[tuple[int, ...]], bool]) -> Array:
    """Return real numbers of a shape that fits, as float64; ProblemError for anything else."""
    array = as_array(name, values)
    if array.dtype.kind not in "biuf" or not fits(array.shape):
        raise ProblemError(f"{name} must be {expected}; got shape {array.shape} of {array.dtype}. {advice}")
    with np.errstate(over="ignore"):  # what only a longer float can hold is infinite
        return array.astype(np.float64)


def finite_weights(name: str, values: Any, N: int | None = None) -> Array:
    """Return one finite number for each of N examples, or of any number of them, as float64; else ProblemError."""
    return _weights(name, values, N, "finite", np.isfinite)


def non_negative_weights(name: str, values: Any, N: int | None = None) -> Array:
    """Return one finite number of at least 0 for each example, as float64; ProblemError for anything else."""
    return _weights(name, values, N, "finite and non-negative", lambda array: np.isfinite(array) & (array >= 0.0))


def positive_weights(name: str, values: Any, N: int | None = None) -> Array:
    """Return one finite positive number for each of one or more examples, as float64; else ProblemError."""
    weights = _weights(name, values, N, "finite and positive", lambda array: np.isfinite(array) & (array > 0.0))
    if not len(weights):
        raise ProblemError(
            f"{name} must be positive numbers of shape (N,), N >= 1; got none. Pass one for each example."
        )
    return weights


def _weights(name: str, values: Any, N: int | None, expected: str, holds: Callable[[Array], Any]) -> Array:
    """Return one number for each example that satisfies a condition."""
    shape = "(N,)" if N is None else f"({N},)"

    def fits(shape: tuple[int, ...]) -> bool:
        return len(shape) == 1 and N in (None, *shape)

    array = real_numbers(name, values, f"real numbers of shape {shape}", "Pass such an array.", fits)
    bad = ~holds(array)
    if bad.any():
        n = int(np.argmax(bad))
        raise ProblemError(f"{name} must be {expected}; got {array[n]:.6g} at {n}. Correct it.")
    return array


def compressed_rows(name: str, matrix: Any) -> Any:
    """Return a sparse matrix as compressed rows, each entry once, whose indices lie in it.

    Parameters
    ----------
    name
        What it is called.
    matrix
        A scipy sparse matrix; as it is where it is so already.

    Raises
    ------
    ProblemError
        An index lies outside: SciPy would read and write beyond its arrays.
    """
    try:
        if matrix.format == "coo":
            matrix = scipy.sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)
        elif matrix.ndim == 2 and hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # before it is converted
        rows: Any = scipy.sparse.csr_array(matrix)
        if rows.ndim == 2:
            rows.check_format(full_check=True)
    except ValueError as failure:
        raise ProblemError(
            f"{name} must be a sparse matrix with indices in its shape: {failure}. Make it anew."
        ) from failure
    if rows.ndim != 2:
        return rows
    if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max:
        # scikit-learn takes no wider ones; digests too are then equal
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    if not rows.has_canonical_format:
        whole = rows.dtype.kind in "biu"  # sums of small ones may leave their type
        rows = rows.astype(np.result_type(rows.dtype, np.int64) if whole else rows.dtype, copy=True)
        with np.errstate(over="ignore", invalid="ignore"):  # a sum that is infinite is refused as one
            rows.sum_duplicates()
    return rows


@runtime_checkable
class Collection(Protocol):
    """A collection of Dask's, as far as types tell it from an array."""

    def __dask_graph__(self) -> Any:
        """Return what it is computed by."""


def is_collection(X: Any) -> bool:
    """Return whether X is a collection of Dask's; Dask need not be there to tell."""
    return type(X).__module__.partition(".")[0] == "dask"
