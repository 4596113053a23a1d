"""Checks of arguments: numbers, flags, names, paths, objects of a class, arrays.

A check returns a plain Python value: a NumPy number, or an array without dimensions, becomes a float or an int. A
check of an array returns an array without masked entries, or a sparse matrix whose indices lie in its shape. Any
other value raises an error, always in the same form: the expected value, the value passed, and advice.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from boostopt._utils.array_types import Array, is_dask_collection
from boostopt.errors import BoostoptError, OptionError, ProblemError, reason_of, short_repr, unknown_name

T = TypeVar("T")
Name = TypeVar("Name", bound=str)
ErrorClass = type[BoostoptError]

DEFAULT_ADVICE = "Pass such a number."

MAX_INT = 2**63 - 1
"""The largest accepted whole number: int64 holds no larger one, and no count reaches it."""


def invalid_value_error(
    name: str, expected: str, value: object, advice: str, error: ErrorClass = OptionError
) -> BoostoptError:
    """Return the error for a value that is not as expected, or does not "lie" in the expected range."""
    return error(
        f"{name} must {'' if expected.startswith('lie ') else 'be '}{expected}; got {short_repr(value)}. {advice}"
    )


def is_real_number(value: object) -> bool:
    """Return whether a value is a real number and no flag."""
    return isinstance(_to_python_scalar(value), Real | Decimal) and not isinstance(_to_python_scalar(value), bool)


def check_number(
    name: str,
    value: object,
    expected: str = "a finite number",
    is_valid: Callable[[float], bool] = math.isfinite,
    advice: str = DEFAULT_ADVICE,
    error: ErrorClass = OptionError,
) -> float:
    """Return a real number that satisfies a condition, as a float."""
    plain: Any = _to_python_scalar(value)
    if is_real_number(plain):
        try:
            if is_valid(float(plain)):
                return float(plain)
        except (OverflowError, ValueError):  # an int that exceeds all floats, a signalling Decimal
            pass
    raise invalid_value_error(name, expected, value, advice, error)


def check_positive(
    name: str,
    value: object,
    expected: str = "a positive number",
    advice: str = DEFAULT_ADVICE,
    error: ErrorClass = OptionError,
) -> float:
    """Return a positive finite number, as a float."""
    return check_number(name, value, expected, lambda x: 0.0 < x < math.inf, advice, error)


def check_integer(
    name: str,
    value: object,
    minimum: int | None = None,
    expected: str = "a whole number",
    advice: str = DEFAULT_ADVICE,
    error: ErrorClass = OptionError,
) -> int:
    """Return a whole number of at least `minimum`; floats are refused, even 1e4."""
    plain: Any = _to_python_scalar(value)
    if is_real_number(plain) and isinstance(plain, Integral):
        if (-MAX_INT if minimum is None else minimum) <= int(plain) <= MAX_INT:
            return int(plain)
    elif isinstance(plain, float) and plain.is_integer():
        advice = f"Write {int(plain)}."
    raise invalid_value_error(
        name, expected if minimum is None else f"{expected} of at least {minimum}", value, advice, error
    )


def check_tolerance(name: str, value: object) -> float:
    """Return a target gap: the scaled gap that a solver must reach, in (0, 1)."""
    advice = "It is the gap over max(1, |lower|, |upper|): pass a number such as 1e-8."
    return check_number(name, value, "lie in (0, 1)", lambda gap: 0.0 < gap < 1.0, advice)


def check_seconds(name: str, value: object) -> float | None:
    """Return a number of seconds, None for no limit."""
    expected = "a positive number of seconds or None"
    if value is None:
        return None
    return check_number(name, value, expected, lambda x: x > 0.0, "Pass a number of seconds, such as 60.")


def check_seed(name: str, value: object) -> int:
    """Return the seed of a random generator."""
    return check_integer(name, value, 0, "a seed, a whole number", "Pass a seed such as 0.")


def generator(name: str, value: object) -> np.random.Generator:
    """Return a random generator: the argument itself, one with a seed, or one without a seed for None."""
    if value is None or isinstance(value, np.random.Generator):
        return np.random.default_rng(value)
    return np.random.default_rng(check_seed(name, value))


def check_flag(name: str, value: object, advice: str = "Pass one of the two.", error: ErrorClass = OptionError) -> bool:
    """Return a flag; 0 and 1 are flags too."""
    plain: Any = _to_python_scalar(value)
    if not isinstance(plain, bool) and not (is_real_number(plain) and plain in (0, 1)):
        raise invalid_value_error(name, "True or False", value, advice, error)
    return bool(plain)


def check_choice(kind: str, value: object, names: Collection[Name]) -> Name:
    """Return a value that is one of the names."""
    if not isinstance(value, str) or value not in names:
        raise unknown_name(kind, value, names)
    return cast(Name, value)


def check_string(name: str, value: object, expected: str = "a text") -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise invalid_value_error(name, expected, value, "Pass it in quotes.")
    return value


def check_names(name: str, value: object) -> tuple[str, ...]:
    """Return names; one name is a list of one."""
    if isinstance(value, str):
        return (value,)
    entries = _as_list(value)
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        raise invalid_value_error(name, "a name or a list of names", value, "Pass names in quotes.")
    return tuple(entries)


def check_list(name: str, value: object, expected: str, advice: str = "Pass a list of them.") -> list[Any]:
    """Return the entries of a list or another iterable."""
    entries = _as_list(value)
    if entries is None:
        raise invalid_value_error(name, expected, value, advice)
    return entries


def check_numbers(
    name: str,
    value: object,
    expected: str = "finite numbers",
    is_valid: Callable[[float], bool] = math.isfinite,
    advice: str = "Pass a list of such numbers.",
) -> tuple[float, ...]:
    """Return numbers that satisfy a condition; one number is a list of one."""
    entries = [value] if is_real_number(value) else _as_list(value)
    if entries is None:
        raise invalid_value_error(name, expected, value, advice)
    return tuple(check_number(name, entry, expected, is_valid, advice) for entry in entries)


def check_instance(
    name: str,
    value: object,
    kind: type[T] | tuple[type[T], ...],
    expected: str,
    advice: str,
    error: ErrorClass = OptionError,
) -> T:
    """Return an object of a class."""
    if not isinstance(value, kind):
        raise invalid_value_error(name, expected, value, advice, error)
    return value


def check_function(name: str, value: object) -> Callable[..., Any]:
    """Return a callable that is no class: the class of an argument is not one of its values."""
    if not callable(value) or isinstance(value, type):
        raise invalid_value_error(name, "a function", value, "Pass a function.")
    return value


def check_callable(name: str, value: object, expected: str, error: ErrorClass = OptionError) -> Callable[..., Any]:
    """Return a callable: a function, or a class, which makes objects."""
    if not callable(value):
        raise invalid_value_error(name, expected, value, "Pass a function.", error)
    return value


def check_flag_or_function(name: str, value: object) -> bool | Callable[..., Any]:
    """Return a flag, or a function."""
    if callable(value) and not isinstance(value, type):
        return value
    try:
        return check_flag(name, value)
    except OptionError:
        raise invalid_value_error(name, "True, False or a function", value, "Pass True for a line on stderr.") from None


def read_fields(record: object, **readers: Callable[[str, Any], Any]) -> None:
    """Replace fields of a frozen record by the results of their readers, in this order."""
    for name, reader in readers.items():
        object.__setattr__(record, name, reader(name, getattr(record, name)))


def real_parameter(name: str, value: object) -> float:
    """Return a finite number that is a parameter of a problem."""
    return check_number(name, value, error=ProblemError)


def positive_parameter(name: str, value: object) -> float:
    """Return a positive number that is a parameter of a problem."""
    return check_positive(name, value, error=ProblemError)


def flag_parameter(name: str, value: object) -> bool:
    """Return a flag that is a parameter of a problem."""
    return check_flag(name, value, error=ProblemError)


def check_optional(read: Callable[..., T], name: str, value: object, *more: Any) -> T | None:
    """Return the result of a check, None for None."""
    return None if value is None else read(name, value, *more)


def check_path(name: str, value: object, error: ErrorClass = OptionError) -> Path:
    """Return the path of a file, which need not exist."""
    if isinstance(value, str | PathLike) and isinstance(os.fspath(value), str):
        return Path(os.fspath(value))
    raise invalid_value_error(name, "the path of a file", value, 'Pass a path such as "results.json".', error)


def check_unmasked(name: str, values: Any) -> None:
    """Raise ProblemError for masked entries: without its mask, an array holds meaningless numbers."""
    if not np.ma.is_masked(values):
        return
    masked = np.argwhere(np.ma.getmaskarray(values))
    first = ", ".join(map(str, masked[0].tolist()))
    raise ProblemError(
        f"{name} must have no masked entries; got {len(masked)}, the first at ({first}). "
        f"Drop the masked entries, or replace them by numbers: {name}.filled(...)."
    )


def check_in_memory(name: str, values: Any) -> None:
    """Raise ProblemError for a Dask collection, which this process would load as a whole."""
    if is_dask_collection(values):
        raise ProblemError(
            f"{name} must be in the memory of this process; got a Dask collection, {short_repr(values)}. Load it by "
            f"{name}.compute() if it fits. The rows of BinnedStumps, RawFeatures, GivenMargins, reweight and "
            'MarginBoostClassifier(base="binned") may stay on a cluster.'
        )


def check_array(name: str, values: Any, error: type[BoostoptError] = ProblemError) -> Array:
    """Return values as an array in memory without masked entries, of any type and shape."""
    if type(values) is np.ndarray:
        return values
    check_in_memory(name, values)
    check_unmasked(name, values)
    try:
        return np.asarray(values)
    except ValueError:
        raise error(f"{name} must be an array; got rows of unequal length. Make them equally long.") from None


def has_dates(array: Array) -> bool:
    """Return whether an array has dates or durations of NumPy, which NumPy would convert to numbers."""
    if array.dtype.kind == "O":
        return any(isinstance(entry, np.datetime64 | np.timedelta64) for entry in array.ravel())
    return array.dtype.kind in "mM"


def check_real_array(
    name: str, values: Any, expected: str, advice: str, is_valid_shape: Callable[[tuple[int, ...]], bool]
) -> Array:
    """Return real numbers of a valid shape, as float64; ProblemError for anything else."""
    array = check_array(name, values)
    if array.dtype.kind not in "biuf" or not is_valid_shape(array.shape):
        raise ProblemError(f"{name} must be {expected}; got shape {array.shape} of {array.dtype}. {advice}")
    if array.dtype == np.float64:
        return array.astype(np.float64)
    with np.errstate(over="ignore"):  # numbers of longer floats become infinite
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


def check_csr(name: str, matrix: Any) -> Any:
    """Return a sparse matrix as compressed rows without duplicates, with indices in its shape.

    Parameters
    ----------
    name
        The name of the matrix in messages.
    matrix
        A scipy sparse matrix; returned unchanged if it has this form already.

    Raises
    ------
    ProblemError
        An index lies outside the shape: SciPy would read and write beyond its arrays.
    """
    import scipy.sparse

    try:
        if matrix.format == "coo":
            matrix = scipy.sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)
        elif matrix.ndim == 2 and hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # before the conversion
        rows: Any = scipy.sparse.csr_array(matrix)
        if rows.ndim == 2:
            rows.check_format(full_check=True)
    except ValueError as failure:
        raise ProblemError(
            f"{name} must be a sparse matrix with indices in its shape: {reason_of(failure)}. Make it anew."
        ) from failure
    if rows.ndim != 2:
        return rows
    if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max:
        # scikit-learn accepts no wider indices; equal matrices get equal digests
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    if not rows.has_canonical_format:
        integers = rows.dtype.kind in "biu"  # sums of small integers may exceed their type
        rows = rows.astype(np.result_type(rows.dtype, np.int64) if integers else rows.dtype, copy=True)
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite sum is refused later
            rows.sum_duplicates()
    return rows


def _to_python_scalar(value: object) -> object:
    """Return a NumPy number as a Python number."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value


def _as_list(value: object) -> list[Any] | None:
    """Return the entries of a list, a one-dimensional array or another iterable; None for other values."""
    if isinstance(value, str | bytes | Mapping | type) or not isinstance(value, Iterable):
        return None
    return None if len(getattr(value, "shape", (1,))) != 1 else list(value)


def _weights(name: str, values: Any, N: int | None, expected: str, holds: Callable[[Array], Any]) -> Array:
    """Return one number for each example, all satisfying a condition."""
    shape = "(N,)" if N is None else f"({N},)"

    def fits(shape: tuple[int, ...]) -> bool:
        return len(shape) == 1 and N in (None, *shape)

    array = check_real_array(name, values, f"real numbers of shape {shape}", "Pass such an array.", fits)
    is_valid = holds(array)
    if not is_valid.all():
        n = int(np.argmin(is_valid))
        raise ProblemError(f"{name} must be {expected}; got {array[n]:.6g} at {n}. Correct it.")
    return array
