"""Checks of users' features, of which each must be real numbers, and in data frames without missing values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils.validation import validate_data

from boostopt._utils.array_types import Array
from boostopt._utils.validation import check_in_memory, check_unmasked
from boostopt.errors import ProblemError, reason_of, short_repr
from boostopt.estimators.label_checks import require_labels, require_targets
from boostopt.oracles.feature_validation import (
    COMPLEX_ADVICE,
    COMPLEX_EXAMPLE,
    TIME_EXAMPLE,
    checked_features,
    is_missing,
    non_numeric_entry,
    replacement_example,
)

LOSSY_TYPES = (np.datetime64, np.timedelta64, np.complexfloating)
"""Types of objects that NumPy converts to other numbers without an error."""

MAX_NAMED_COLUMNS = 3
"""Number of columns with missing values, or of further columns without numbers, that a message lists by name."""

IMPUTER_ADVICE = "Replace them, such as by scikit-learn's SimpleImputer(add_indicator=True)."
"""The advice about missing values."""


def validated_features(estimator: Any, X: Any, accept_sparse: str | bool = "csr") -> Any:
    """Return the features of a fitted estimator as finite float64, an array or compressed rows.

    Raises
    ------
    ValueError
        X is not a matrix of finite real numbers with the features of the fit, and their names if it has any.
    TypeError
        An entry is a mapping, or the matrix is sparse and the estimator does not take it.
    """
    require_numeric_features(X)
    options: Any = {"dtype": np.float64, "accept_sparse": accept_sparse, "ensure_all_finite": False}
    features: Any = validate_data(estimator, X, reset=False, **options)
    return checked_features(features, names=list(getattr(estimator, "feature_names_in_", ())))


def validated_examples(
    estimator: Any, X: Any, y: Any, accept_sparse: str | bool = "csr", y_numeric: bool = False
) -> tuple[Any, npt.NDArray[Any]]:
    """Return features as in `validated_features` and labels or targets; set the number and the names of the features.

    Raises
    ------
    ValueError
        X is not a matrix of finite real numbers, or y does not have a label or a target for each row.
    TypeError
        As in `validated_features`.
    """
    require_numeric_features(X)
    options: Any = {"dtype": np.float64, "accept_sparse": accept_sparse, "ensure_all_finite": False}
    if y_numeric:
        options["y_numeric"] = True
        require_targets(y)
    else:
        require_labels(y)
    features: Any
    labels: Any
    features, labels = validate_data(estimator, X, y, **options)
    return checked_features(features, names=list(getattr(estimator, "feature_names_in_", ()))), labels


def require_numeric_features(X: Any) -> None:
    """Raise ProblemError if X has entries that are no real numbers, or has missing values.

    The message names the columns. Checks of the shape are left to scikit-learn. A Dask collection is refused, because
    scikit-learn would load it as a whole.

    Parameters
    ----------
    X
        Features: a data frame of pandas or polars, a table of pyarrow, an array, a sparse matrix or a list of rows.
    """
    check_in_memory("X", X)
    columns = _columns(X)
    if columns is not None:
        _check_columns(X, columns)
    elif not scipy.sparse.issparse(X):
        _require_numbers(X)


def _columns(X: Any) -> Iterator[tuple[Any, Any]] | None:
    """Return the names and the columns of a data frame or a table; None if X is neither."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return ((name, np.asarray(X.column(j))) for j, name in enumerate(X.column_names))
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    return ((name, X.iloc[:, j] if hasattr(X, "iloc") else X[name]) for j, name in enumerate(X.columns))


def _check_columns(X: Any, columns: Iterator[tuple[Any, Any]]) -> None:
    """Raise ProblemError unless a data frame has columns of different names, with numbers and no missing values."""
    faults, incomplete, names = dict[str, tuple[str, str]](), list[str](), set[Any]()
    for name, column in columns:
        if name in names:
            raise ProblemError(
                f"X must have columns of different names; got two columns {short_repr(name)}. Rename or drop one of "
                "them."
            )
        names.add(name)
        if (fault := _numeric_fault(column)) is not None:
            faults[short_repr(name)] = fault
        elif _has_missing_values(column):
            incomplete.append(short_repr(name))
    if not names:
        raise ProblemError(
            f"X must have at least one column; got a data frame of {len(X)} rows without columns. Pass the features."
        )
    if faults:
        first, *rest = faults
        value, example = faults[first]
        more = f", and no numbers in the {_name_columns(rest)} either" if rest else ""
        raise ProblemError(
            f"X must have columns of numbers; got {value} in the column {first}{more}. Encode the column as numbers, "
            f"such as {example}, or drop it."
        )
    if incomplete:
        raise ProblemError(
            f"X must have no missing values; got NaN in the {_name_columns(incomplete)}. {IMPUTER_ADVICE}"
        )


def _name_columns(names: list[str]) -> str:
    """Return the first names after the word column or columns, with the number of the others."""
    more = f" and {len(names) - MAX_NAMED_COLUMNS} more" if len(names) > MAX_NAMED_COLUMNS else ""
    return f"column{'s' if len(names) > 1 else ''} {', '.join(names[:MAX_NAMED_COLUMNS])}{more}"


def _has_missing_values(column: Any) -> bool:
    """Return whether a column of numbers has entries without a value."""
    if hasattr(column, "isna"):
        return bool(column.isna().any())
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "fO" and bool(np.isnan(column.astype(np.float64)).any())
    return bool(column.null_count() or (column.dtype.is_float() and column.is_nan().any()))


def _numeric_fault(column: Any) -> tuple[str, str] | None:
    """Return a value or the type of a column that is not of real numbers, and an example of numbers in its place."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return None
    if kind in "mMc":
        return str(column.dtype), COMPLEX_EXAMPLE if kind == "c" else TIME_EXAMPLE
    if _as_float64(np.asarray(column)) is not None:
        return None
    for value in column:
        if (example := replacement_example(value)) is not None:
            return short_repr(value), example
    return None


def _as_float64(values: Array) -> Array | None:
    """Return an array of real numbers, objects or texts as float64; None if an entry states no number."""
    if values.dtype.kind not in "biufOUS":
        return None
    if values.dtype.kind == "O" and any(issubclass(kind, LOSSY_TYPES) for kind in set(map(type, values.flat))):
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _require_numbers(X: Any) -> None:
    """Raise ProblemError if an array or a list of rows has masked entries, or entries that are no real numbers."""
    check_unmasked("X", X)
    try:
        array = np.asarray(X)
    except ValueError as failure:
        raise ProblemError(
            f"X must have one row of features for each example: {reason_of(failure)}. Make the rows equally long."
        ) from failure
    kind = array.dtype.kind
    if kind == "c":
        raise ProblemError(f"Complex data not supported: X must hold real numbers; got {array.dtype}. {COMPLEX_ADVICE}")
    if kind in "mMV":
        example = TIME_EXAMPLE if kind in "mM" else "one column of an array for each field"
        raise ProblemError(
            f"X must be an array of numbers; got entries of the type {array.dtype}. Encode them as numbers, such as "
            f"{example}."
        )
    if kind in "biuf" or array.ndim != 2:
        return
    if (numbers := _as_float64(array)) is not None and not np.isnan(numbers).any():
        return
    if any(isinstance(value, Mapping) for value in array.flat):  # scikit-learn asks for its own error
        return
    if (fault := non_numeric_entry(array)) is not None:
        raise ProblemError(
            f"X must be an array of numbers; got {fault[0]}. Encode the feature as numbers, such as {fault[1]}, or "
            "drop it."
        )
    for (n, j), value in np.ndenumerate(array):
        if is_missing(value):
            raise ProblemError(f"X must have no missing values; got {value} at row {n}, feature {j}. {IMPUTER_ADVICE}")
