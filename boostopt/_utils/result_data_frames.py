"""Results as pandas data frames, and LaTeX tables that pandas writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from boostopt.errors import OptionError


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
