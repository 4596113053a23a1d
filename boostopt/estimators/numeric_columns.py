"""Checks of the columns of users' tables, of which each must hold real numbers, without missing values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from numbers import Complex, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.validation import check_in_memory
from boostopt.errors import ProblemError, short_repr

MAX_NAMED_COLUMNS = 3
"""Number of columns with missing values that a message lists by name."""

COMPLEX_EXAMPLE = "one column of real parts and one of imaginary parts"
CATEGORY_EXAMPLE = "by scikit-learn's OneHotEncoder"
TIME_EXAMPLE = "days after a first date"
"""Examples of numbers in the place of complex ones, of texts and of times."""


@dataclass(frozen=True)
class ColumnFault:
    """A fault of a column of a data frame.

    Attributes
    ----------
    value
        The type of the column, or one of its values.
    example
        An example of numbers in its place.
    """

    value: str
    example: str


def require_numeric_columns(X: Any) -> None:
    """Raise ProblemError if a data frame has no columns, one of texts, times or complex numbers, or missing values.

    The message names the columns. Of an array, columns with texts or dates are named by their numbers, as `in_words`
    names features. A Dask collection is refused, because scikit-learn would load it as a whole.

    Parameters
    ----------
    X
        A data frame of pandas or polars, or an array; anything else in memory is accepted.
    """
    check_in_memory("X", X)
    if isinstance(X, np.ndarray):
        _require_numeric_array(X)
        return
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    if len(X.columns) == 0:
        raise ProblemError(
            f"X must have at least one column; got a data frame of {len(X)} rows without columns. Pass the features."
        )
    incomplete = list[str]()
    for position, name in enumerate(X.columns):
        column = X.iloc[:, position] if hasattr(X, "iloc") else X[name]
        if (fault := _numeric_fault(column)) is not None:
            raise _column_error(fault, short_repr(name))
        if _has_missing_values(column):
            incomplete.append(short_repr(name))
    if incomplete:
        more = f" and {len(incomplete) - MAX_NAMED_COLUMNS} more" if len(incomplete) > MAX_NAMED_COLUMNS else ""
        noun = "column" if len(incomplete) == 1 else "columns"
        raise ProblemError(
            f"X must have no missing values; got NaN in the {noun} {', '.join(incomplete[:MAX_NAMED_COLUMNS])}{more}. "
            "Replace them, such as by scikit-learn's SimpleImputer(add_indicator=True)."
        )


def _require_numeric_array(X: npt.NDArray[Any]) -> None:
    """Raise ProblemError if a column of an array of objects or texts has a date, or a text that states no number."""
    for position, values in enumerate(X.T if X.ndim == 2 and X.dtype.kind in "OSU" else ()):
        if (word := next((value for value in values if _is_text_or_date(value)), None)) is not None:
            example = TIME_EXAMPLE if isinstance(word, date) else CATEGORY_EXAMPLE
            raise _column_error(ColumnFault(short_repr(word), example), str(position))


def _column_error(fault: ColumnFault, name: str) -> ProblemError:
    """Return the error of a column with a fault."""
    return ProblemError(
        f"X must have columns of numbers; got {fault.value} in the column {name}. Encode the column as numbers, such "
        f"as {fault.example}, or drop it."
    )


def _is_text_or_date(value: Any) -> bool:
    """Return whether a value is a date, or a text that states no number."""
    if not isinstance(value, str | bytes):
        return isinstance(value, date)
    try:
        float(value)
    except ValueError:
        return True
    return False


def _has_missing_values(column: Any) -> bool:
    """Return whether a column of numbers has entries without a value."""
    if hasattr(column, "isna"):
        return bool(column.isna().any())
    return bool(column.null_count() or (column.dtype.is_float() and column.is_nan().any()))


def _numeric_fault(column: Any) -> ColumnFault | None:
    """Return the fault of a column, None if all its entries are real numbers or missing."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return None
    if kind in "mMc":
        return ColumnFault(str(column.dtype), COMPLEX_EXAMPLE if kind == "c" else TIME_EXAMPLE)
    for value in column:
        if value is None or isinstance(value, Real) or type(value).__name__ == "NAType":
            continue
        if isinstance(value, Complex):
            return ColumnFault(short_repr(value), COMPLEX_EXAMPLE)
        try:
            float(value)  # a text that states a number, as NumPy reads it
        except (TypeError, ValueError):
            return ColumnFault(short_repr(value), CATEGORY_EXAMPLE)
    return None
