"""Tables as text: CSV with a header, and the same with tabs.

A cell that a spreadsheet would run as a formula is written with an apostrophe before it, and read without the
apostrophe. Cells are converted to numbers row by row, so that the text of all cells is never in memory at once.
"""

from __future__ import annotations

import csv
import io
import json
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import MAX_UNPACKED_BYTES, file_suffix, read_bytes
from boostopt._utils.formatting import format_count
from boostopt.errors import DataError, reason_of

SEPARATORS: Mapping[str, str] = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Separators of the cells of a table, by the ending of its file."""

_SEPARATOR_NAMES: Mapping[str, str] = {",": "commas", ";": "semicolons", "\t": "tabs"}

_SPREADSHEET_FORMULA = re.compile(r"'*(\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""The beginning of a text that spreadsheets run (OWASP, CSV injection), or of a text guarded against this."""

BOOLEAN_TEXTS: Mapping[str, bool] = {
    "True": True,
    "TRUE": True,
    "true": True,
    "False": False,
    "FALSE": False,
    "false": False,
}
"""Truth values as pandas, R and most other tools write them."""

MISSING_VALUE_TEXTS = frozenset(
    ["", "#n/a n/a", *"? n/a na nan -nan none null #n/a #na <na> 1.#ind 1.#qnan -1.#ind -1.#qnan".split(" ")]
)
"""Spellings of a missing value in lower case: those of pandas.read_csv, and "?" of the UCI repository."""

CSVRows = Iterator[tuple[int, list[str]]]
"""The number of the last line and the cells, for each row."""


def parse_number(text: str) -> float:
    """Convert a text to a number.

    Raises
    ------
    ValueError
        The text is not a number. 1_000 is a name, although Python reads it as 1000.
    """
    return parse_numbers([text])[0]


def parse_numbers(texts: Sequence[str]) -> list[float]:
    """Convert texts to numbers.

    Raises
    ------
    ValueError
        One of them is not a number.
    """
    if "_" in "".join(texts):
        raise ValueError(f"could not convert string to float: {next(text for text in texts if '_' in text)!r}")
    return list(map(float, texts))


def is_number_text(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        parse_number(text)
    except ValueError:
        return False
    return True


def truth_value(text: str) -> bool | None:
    """Return the truth value that a text spells; None for other texts."""
    return BOOLEAN_TEXTS.get(text)


def guard_formula(cell: Any) -> Any:
    """Return the cell for a value: a text that a spreadsheet would run gets an apostrophe.

    `unguard_formula` removes the apostrophe. Numbers, and texts that are numbers, are no formulas and stay
    unchanged.
    """
    is_formula = isinstance(cell, str) and _SPREADSHEET_FORMULA.match(cell) and not is_number_text(cell)
    return f"'{cell}" if is_formula else cell


def unguard_formula(cell: str) -> str:
    """Return the text of a cell without the protecting apostrophe."""
    rest = cell[1:]
    return rest if cell.startswith("'") and _SPREADSHEET_FORMULA.match(rest) and not is_number_text(rest) else cell


def table_to_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV, safe to open in a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(guard_formula, header))
    writer.writerows(map(guard_formula, row) for row in rows)
    return text.getvalue()


def records_to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as CSV; missing fields are empty, and lists and objects are JSON in their cells."""
    header = list(dict.fromkeys(name for record in records for name in record))
    return table_to_csv(header, ([_cell(record.get(name)) for name in header] for record in records))


def read_table(path: Path) -> tuple[list[str], CSVRows]:
    """Return the header of a table, and an iterator of its rows, all as long as the header.

    Raises
    ------
    DataError
        The file cannot be read, is not such text, or is empty. Errors in a row are raised when the row is read.
    """
    content = read_bytes(path)
    try:
        content.decode()
    except UnicodeDecodeError as failure:
        raise DataError(f"{path} is not CSV text in UTF-8: {reason_of(failure)}. Save it as UTF-8.") from failure
    separator = SEPARATORS.get(file_suffix(path), ",")
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    lines = _csv_rows(path, csv.reader(text, strict=True, delimiter=separator), content)
    _, cells = next(lines, (0, []))
    if not cells:
        raise DataError(f"{path} is empty. Expected a header line and rows of numbers.")
    return [unguard_formula(name.strip()) for name in cells], _require_equal_length(path, lines, cells)


def _cell(value: Any) -> Any:
    """Return a plain value as the text of a cell."""
    return json.dumps(value) if isinstance(value, dict | list) else value


def _csv_rows(path: Path, reader: Any, content: bytes) -> CSVRows:
    """Yield the rows that are not blank."""
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as failure:
        first = content.partition(b"\n")[0].decode(errors="replace")
        raise DataError(
            f"{path}, line {reader.line_num}: this is not CSV text: {reason_of(failure)}. Check the quotes."
            + separator_advice(path, first.split(SEPARATORS.get(file_suffix(path), ",")))
        ) from failure


def _require_equal_length(path: Path, lines: CSVRows, header: list[str]) -> CSVRows:
    """Yield the rows, which must be as long as the header."""
    for line, row in lines:
        if len(row) != len(header):
            raise DataError(
                f"{path}, line {line}: expected {format_count(len(header), 'cell')} as in the header, got {len(row)}."
                + separator_advice(path, header)
            )
        yield line, row


def separator_advice(path: Path, header: Sequence[str]) -> str:
    """Return the advice if a wrong character separates the cells of a header; "" otherwise."""
    separator = SEPARATORS.get(file_suffix(path), ",")
    for other_separator, name in _SEPARATOR_NAMES.items():
        if other_separator != separator and sum(cell.count(other_separator) for cell in header) > len(header) - 1:
            advice = f"Save the file with {_SEPARATOR_NAMES[separator]}"
            renamed = next(
                (f", or name it {suffix}" for suffix, candidate in SEPARATORS.items() if candidate == other_separator),
                "",
            )
            return (
                f" Cells must be separated by {_SEPARATOR_NAMES[separator]}; the header has {name}. {advice}{renamed}."
            )
    return ""


def column_positions(path: Path, header: list[str], names: Sequence[str]) -> list[int]:
    """Return the positions of the named columns, each of which must occur once.

    Raises
    ------
    DataError
        One of them occurs more than once.
    """
    positions = dict(zip(header, range(len(header)), strict=True))
    if len(positions) < len(header):
        count = Counter(header)
        for name in names:
            if count[name] > 1:
                raise DataError(f"{path} has {count[name]} columns {name!r}. Keep the one that is meant.")
    return [positions[name] for name in names]


class NumberBuffer:
    """Rows of numbers, collected one by one."""

    def __init__(self, path: Path, columns: int) -> None:
        self._path, self._columns = path, columns
        self._entries, self._rows = array("d"), 0

    def append(self, row: list[float]) -> None:
        """Append a row.

        Raises
        ------
        DataError
            The numbers take more than `MAX_UNPACKED_BYTES` bytes.
        """
        self._entries.extend(row)
        self._rows += 1
        if self._entries.itemsize * len(self._entries) > MAX_UNPACKED_BYTES:
            raise DataError(
                f"{self._path} must have at most {MAX_UNPACKED_BYTES:,} bytes as an array of numbers; {self._rows} "
                f"rows of {self._columns} columns have more. Leave out rows or columns, or save the arrays with "
                "np.savez."
            )

    def to_array(self) -> Float[Array, "N columns"]:
        """Return all rows, shape (N, columns)."""
        entries = np.frombuffer(self._entries) if self._entries else np.empty(0)
        return entries.reshape(self._rows, self._columns)


def parse_number_columns(
    path: Path, header: list[str], rows: CSVRows, names: Sequence[str]
) -> dict[str, Float[Array, " n"]]:
    """Return columns of numbers, each up to its blank end.

    Raises
    ------
    DataError
        A column occurs twice, or has a cell that is not a number.
    """
    positions = column_positions(path, header, names)
    cells: dict[str, list[str]] = {name: [] for name in names}
    for _, row in rows:
        for name, j in zip(names, positions, strict=True):
            cells[name].append(row[j])
    return {name: _parse_column(path, name, column) for name, column in cells.items()}


def _parse_column(path: Path, name: str, cells: list[str]) -> Float[Array, " n"]:
    """Return the numbers of a column up to its blank end."""
    while cells and not cells[-1].strip():
        cells.pop()
    try:
        return np.array([parse_number(cell) for cell in cells])
    except ValueError as failure:
        raise DataError(f"{path}: column {name!r} must hold numbers; {reason_of(failure)}.") from None
