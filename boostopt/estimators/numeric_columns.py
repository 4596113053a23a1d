"""Checks of the columns of users' data frames, of which each must hold numbers, without missing values."""

from __future__ import annotations

from numbers import Real
from typing import Any

from boostopt.errors import ProblemError, short_repr

MAX_NAMED_COLUMNS = 3
"""Number of columns with missing values that a message lists by name."""


def require_numeric_columns(X: Any) -> None:
    """Raise ProblemError if a data frame has a column of texts or of times, or missing values, with names of columns.

    Parameters
    ----------
    X
        A data frame of pandas or polars; anything else is accepted.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    incomplete = list[str]()
    for position, name in enumerate(X.columns):
        column = X.iloc[:, position] if hasattr(X, "iloc") else X[name]
        if (fault := _numeric_fault(column)) is not None:
            is_time = getattr(column.dtype, "kind", "O") in "mM"
            advice = "such as days after a first date" if is_time else "such as by scikit-learn's OneHotEncoder"
            raise ProblemError(
                f"X must have columns of numbers; got {fault} in the column {short_repr(name)}. Encode the column as "
                f"numbers, {advice}, or drop it."
            )
        if _has_missing_values(column):
            incomplete.append(short_repr(name))
    if incomplete:
        more = f" and {len(incomplete) - MAX_NAMED_COLUMNS} more" if len(incomplete) > MAX_NAMED_COLUMNS else ""
        noun = "column" if len(incomplete) == 1 else "columns"
        raise ProblemError(
            f"X must have no missing values; got NaN in the {noun} {', '.join(incomplete[:MAX_NAMED_COLUMNS])}{more}. "
            "Replace them, such as by scikit-learn's SimpleImputer(add_indicator=True)."
        )


def _has_missing_values(column: Any) -> bool:
    """Return whether a column of numbers has entries without a value."""
    if hasattr(column, "isna"):
        return bool(column.isna().any())
    return bool(column.null_count() or (column.dtype.is_float() and column.is_nan().any()))


def _numeric_fault(column: Any) -> str | None:
    """Return what a column holds other than numbers, None if all its entries are numbers or missing."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return None
    if kind in "mM":
        return str(column.dtype)
    for value in column:
        if value is None or isinstance(value, Real) or type(value).__name__ == "NAType":
            continue
        try:
            float(value)  # a text that states a number, as NumPy reads it
        except (TypeError, ValueError):
            return short_repr(value)
    return None
