"""Examples in the columns of a table: features, weights and the class, by name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float
from boostopt.data.class_labels import is_missing, missing_label
from boostopt.data.csv_tables import (
    MISSING_VALUE_TEXTS,
    CSVRows,
    NumberBuffer,
    column_positions,
    is_number_text,
    parse_numbers,
    read_table,
    separator_advice,
    truth_value,
    unguard_formula,
)
from boostopt.data.source_examples import SourceContents
from boostopt.errors import DataError, format_names_truncated, unknown_name

DEFAULT_LABEL = "label"
"""The default column of the classes."""

INDEX_NAME_PATTERN = re.compile(r"(Unnamed: \d+)?")
"""The column name that pandas gives to an index, and the empty name of an unnamed index."""

MISSING_VALUE_ADVICE = " It is a missing value: impute it (scikit-learn's SimpleImputer), or leave the row out."
"""The advice about a missing value."""

ENCODE_ADVICE = " Encode it, or leave it out with drop=..."
"""The advice for text among numbers."""


def load_labelled_csv(
    source: str, label: str, weights: str | None, drop: Sequence[str], missing: Collection[str] | None = None
) -> SourceContents:
    """Return the contents of a table with a column of labels and, if it is named, a column of weights."""
    path = Path(source)
    header, rows = read_table(path)
    remedy = " Name it with label=..." if len(header) > 1 else " Cells must be separated by commas."
    names = feature_names(path, header, label, weights, drop, separator_advice(path, header) or remedy)
    label_position = column_positions(path, header, [label])[0]
    columns = column_positions(path, header, names if weights is None else [*names, weights])
    table, labels, lines = _parse_table(
        path, header, rows, columns, f"every column but {label!r}", ENCODE_ADVICE, label_position
    )
    for line, text in zip(lines, labels.tolist(), strict=True):
        if is_missing(text, missing):
            raise DataError(f"{path}, line {line}: {missing_label(text, label, missing)}")
    warn_about_index_column(path, names)
    if weights is None:
        return SourceContents(source, table, labels, tuple(names), has_typed_labels=False)
    return SourceContents(source, table[:, :-1].copy(), labels, tuple(names), c=table[:, -1], has_typed_labels=False)


def feature_names(
    source: str | Path,
    header: Sequence[str],
    label: str,
    weights: str | None,
    drop: Sequence[str],
    remedy: str = " Name it with label=...",
) -> list[str]:
    """Return the feature columns of a table, in their order.

    Parameters
    ----------
    source, header
        The table, and the names of its columns.
    label, weights, drop
        The column of the classes, the column of the weights, and the columns to leave out.
    remedy
        The advice if the column of the classes is missing.

    Raises
    ------
    DataError
        One of these columns is missing, or is named for two purposes.
    """
    if label not in header:
        # A user who names no column has not misspelt one: suggesting a name close to "label" would mislead.
        unknown = f"none is called {label!r}. Known: {format_names_truncated(header)}."
        words = unknown if label == DEFAULT_LABEL else unknown_name("column", label, header)
        raise DataError(f"{source} has no label column: {words}{remedy}")
    if weights is not None and weights not in header:
        raise DataError(f"{source} has no such column: {unknown_name('column', weights, header)} Correct weights=...")
    if weights == label:
        raise DataError(
            f"{source}: expected one column for the class and one for the weights; got {label!r} for both. "
            "Name two columns."
        )
    dropped = _dropped_columns(header, drop)
    unknown = next((name for name in dropped if name not in header or name in (label, weights)), None)
    if unknown is not None and unknown in (label, weights):
        role = "classes" if unknown == label else "weights"
        raise DataError(
            f"{source}: {unknown!r} is the column of the {role}, which is no feature anyway. Correct drop=..."
        )
    if unknown is not None:
        known_names = [name for name in header if name not in (label, weights)]
        raise DataError(
            f"{source} has no such column to drop: {unknown_name('column', unknown, known_names)} Correct drop=..."
        )
    left_out = {label, weights, *dropped}
    return [name for name in header if name not in left_out]


def warn_about_index_column(source: str | Path, names: Sequence[str]) -> None:
    """Warn if the name of a feature shows that it is the index of a data frame."""
    for name in filter(INDEX_NAME_PATTERN.fullmatch, names):
        warnings.warn(
            f"{source}: the column {name!r} is the index of a data frame, by its name, and is taken as a feature. "
            f'Leave it out (--drop "{name}", in Python drop=[{name!r}]), or write the file with index=False.',
            stacklevel=5,
        )


def _dropped_columns(header: Sequence[str], drop: Sequence[str]) -> list[str]:
    """Return the columns to leave out: names as in the header, or names separated by commas."""
    names: list[str] = []
    for text in map(str.strip, drop):
        names += [text] if text in header else [name.strip() for name in text.split(",") if name.strip()]
    return names


def load_named_csv(source: str, names: Sequence[str], label: str) -> SourceContents:
    """Return the named columns of a table, its labels if there are any, and the names of the other columns."""
    path = Path(source)
    header, rows = read_table(path)
    label_position = column_positions(path, header, [label])[0] if label in header and label not in names else None
    require_columns(path, names, header, separator_advice(path, header))
    columns = column_positions(path, header, names) if names else [j for j in range(len(header)) if j != label_position]
    table, labels, _ = _parse_table(path, header, rows, columns, "every feature", "", label_position)
    used_positions = {label_position, *columns}
    unread = tuple(name for j, name in enumerate(header) if j not in used_positions)
    labels = None if label_position is None else labels
    return SourceContents(source, table, labels, tuple(names), unread=unread, has_typed_labels=False)


def require_columns(source: str | Path, names: Sequence[str], header: Sequence[str], remedy: str = "") -> None:
    """Raise DataError if a feature of a model is not a column of a table."""
    columns = set(header)
    missing = [name for name in names if name not in columns]
    if missing:
        raise DataError(
            f"{source} must have the columns that the model was fitted to; it lacks {_first_names(missing)}. "
            f"It has {_first_names(header)}.{remedy}"
        )


def further_columns(names: Sequence[str]) -> str:
    """Return the words about further columns without a number, "" for none."""
    return f", and no number in {_first_names(names)} either" if names else ""


def _first_names(names: Sequence[str], max_names: int = 6) -> str:
    """Return the first few names."""
    return ", ".join(map(repr, names[:max_names])) + (
        f" and {len(names) - max_names} more" if len(names) > max_names else ""
    )


def _parse_features(cells: Sequence[str]) -> list[float]:
    """Convert cells to numbers; truth values are numbers too."""
    try:
        return parse_numbers(cells)
    except ValueError:
        return parse_numbers([_truth_as_number(cell) for cell in cells])


def _truth_as_number(cell: str) -> str:
    """Return 1 or 0 for a truth value, and any other cell unchanged."""
    truth = truth_value(cell.strip())
    return cell if truth is None else str(int(truth))


def _parse_table(
    path: Path, header: list[str], rows: CSVRows, columns: list[int], requirement: str, remedy: str, label: int | None
) -> tuple[Float[Array, "N columns"], npt.NDArray[Any], list[int]]:
    """Return columns of finite numbers, the column of the labels (empty for none), and the lines of the rows."""
    numbers, lines, labels = NumberBuffer(path, len(columns)), list[int](), list[str]()
    for line, cells in rows:
        try:
            numbers.append(_parse_features([cells[j] for j in columns]))
        except ValueError as failure:
            if isinstance(failure, DataError):
                raise
            j, *rest = (j for j in columns if not is_number_text(_truth_as_number(cells[j])))
            cell = cells[j].strip().lower()
            more = further_columns([header[k] for k in rest])
            raise DataError(
                f"{path}, line {line}: {requirement} must be a number; {failure if cell else 'there is none'} in "
                f"column {header[j]!r}{more}.{MISSING_VALUE_ADVICE if cell in MISSING_VALUE_TEXTS else remedy}"
            ) from None
        lines.append(line)
        if label is not None:
            labels.append(unguard_formula(cells[label].strip()))
    if not lines:
        raise DataError(f"{path} has a header and no rows. Check the path.")
    table = numbers.to_array()
    if not np.isfinite(table).all():
        n, k = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"{path}, line {lines[n]}: {requirement} must be finite; got {table[n, k]} in column "
            f"{header[columns[k]]!r}."
            + (MISSING_VALUE_ADVICE if np.isnan(table[n, k]) else " Correct the cell, or leave the row out.")
        )
    return table, np.array(labels, dtype=object), lines
