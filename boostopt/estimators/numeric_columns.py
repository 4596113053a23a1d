"""Checks of the columns of users' data frames, of which each must hold numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any

from boostopt.errors import ProblemError, short_repr


def require_numeric_columns(X: Any) -> None:
    """Raise ProblemError if a data frame has a column of texts or of times, with the name of the column.

    Parameters
    ----------
    X
        A data frame of pandas or polars; anything else is accepted.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    for position, name in enumerate(X.columns):
        column = X.iloc[:, position] if hasattr(X, "iloc") else X[name]
        if (fault := _numeric_fault(column)) is not None:
            is_time = getattr(column.dtype, "kind", "O") in "mM"
            advice = "such as days after a first date" if is_time else "such as by scikit-learn's OneHotEncoder"
            raise ProblemError(
                f"X must have columns of numbers; got {fault} in the column {short_repr(name)}. Encode the column as "
                f"numbers, {advice}, or drop it."
            )


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
