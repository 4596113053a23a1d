"""Results as pandas data frames, LaTeX tables that pandas writes, and the columns of users' data frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Real
from typing import Any

from boostopt.errors import OptionError, ProblemError, short_repr


def data_frame(rows: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]) -> Any:
    """Return a pandas data frame from columns by name, or from records with the same fields.

    Raises
    ------
    OptionError
        pandas is not installed.
    """
    return _import_pandas("to_dataframe").DataFrame(rows)


def latex_table(
    headers: Sequence[tuple[str, ...]],
    rows: Sequence[Sequence[str]],
    bold: Collection[tuple[int, int]],
    typeset: Callable[[str], str],
    columns: str,
) -> str:
    """Return a LaTeX table with the rules of booktabs.

    Parameters
    ----------
    headers
        The head of each column, in one or several lines; equal neighbours are merged.
    rows
        The cells.
    bold
        The bold cells, by row and column.
    typeset
        Converts the text of a head or a cell to TeX.
    columns
        The column specification of LaTeX.

    Raises
    ------
    OptionError
        pandas or Jinja is not installed.
    """
    pandas = _import_pandas("to_latex")
    names = [head[0] for head in headers] if len(headers[0]) == 1 else pandas.MultiIndex.from_tuples(headers)
    frame = pandas.DataFrame([list(row) for row in rows], columns=names)
    marks = frame.copy()
    for i in range(len(rows)):
        marks.iloc[i] = ["textbf:--rwrap" if (i, j) in bold else "" for j in range(len(headers))]
    try:
        styler = frame.style
    except (ImportError, AttributeError) as missing:
        raise OptionError(
            'to_latex expected an installed jinja2; there is none. Install it: pip install "boostopt[report]".'
        ) from missing
    styler = styler.hide(axis="index").format(typeset).format_index(typeset, axis=1).apply(lambda _: marks, axis=None)
    return styler.to_latex(hrules=True, multicol_align="c", column_format=columns)


def _import_pandas(method: str) -> Any:
    """Return pandas, which a method needs."""
    try:
        import pandas as pd
    except ModuleNotFoundError as missing:
        raise OptionError(
            f"{method} expected an installed pandas; there is none. Install it: pip install pandas."
        ) from missing
    return pd


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
