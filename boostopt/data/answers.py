"""Answers computed elsewhere, from files: arrays, tables, and solution files that use the names of an exported program.

In text a weight is a line "d_7 0.25" or "w_2 0.5", counted from 1, as `boostopt.exporting` names columns and rows. In
the solution files of HiGHS, the weights of one side are values of columns, and the weights of the other side are
multipliers of rows. Either the columns are named d_n and the rows w_q, or the other way round.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boostopt.arguments import file_path
from boostopt.data.tables import SEPARATORS, is_number, number_columns, read_table, to_number
from boostopt.errors import DataError
from boostopt.files import kind, read_bytes, read_npz
from boostopt.shapes import Array, Float

TEXTS = (".sol", ".txt")
"""Endings of text files with a name and a value on each line."""

WEIGHT = re.compile(r"([dw])_(\d{1,12})")
"""The name of a weight; the limit on its digits exceeds every file that can be read."""

NAMED = 6
"""The most names that a message lists when a file holds something else."""

Entry = tuple[int, str, str]
"""Number of a line, a name and the text of its value."""


@dataclass(frozen=True)
class Answer:
    """An answer computed elsewhere.

    Attributes
    ----------
    d, w
        Example weights and hypothesis weights, finite; None if the file does not hold them.
    unread
        Names of the other arrays of an npz file.
    """

    d: Any = None
    w: Any = None
    unread: tuple[str, ...] = ()


def load_answer(source: str) -> Answer:
    """Load an answer computed elsewhere: the arrays d, w or both.

    Parameters
    ----------
    source
        ".npz" with arrays d and/or w; ".csv" (".tsv") with columns d and/or w (the shorter one left blank at its end);
        or ".sol" or ".txt" with a name d_n or w_q and its value on each line. The last are solution files of HiGHS, in
        raw or pretty style, or plain text, where lines without such a name are skipped.

    Raises
    ------
    DataError
        The file does not exist or is unreadable; it holds neither d nor w, or an entry that is not finite; or it names
        weights twice or with gaps.
    """
    path = file_path("source", source, DataError)
    if not os.path.isfile(source):
        raise DataError(f"expected the file of an answer; there is no file {source!r}. Check the path.")
    if kind(path) == ".npz":
        arrays = read_npz(path)
        held, weights = list(arrays), {name: arrays[name] for name in ("d", "w") if name in arrays}
        unread = tuple(sorted(set(arrays) - set(weights)))
    elif kind(path) in SEPARATORS:
        held, rows = read_table(path)
        weights = number_columns(path, held, rows, [name for name in ("d", "w") if name in held])
        unread = ()
    elif kind(path) in TEXTS:
        entries = _entries(source, _text(path).splitlines())
        held, weights = _summary(entries), _weights(source, entries)
        unread = ()
    else:
        raise DataError(f"expected an answer as .npz, .csv, .sol or .txt; got {source!r}. Save it as one of these.")
    if not weights:
        raise DataError(f"{source} must hold d, w or both; it holds {', '.join(held) or 'nothing'}.")
    for name, values in weights.items():
        _check_finite(source, name, values)
    return Answer(**weights, unread=unread)


def _check_finite(source: str, name: str, values: Any) -> None:
    """Refuse an entry that is not finite: `certify` would replace it, and certify another answer than the saved one."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    at = np.argwhere(~np.isfinite(values))
    first = ", ".join(map(str, at[0].tolist()))
    raise DataError(
        f"{source}: {name} must be finite; got {values[tuple(at[0])]} at ({first}), {len(at)} such entries. "
        "Leave the array out if there is no such answer; program.certify counts such entries as 0."
    )


def _text(path: Path) -> str:
    """Return a file as text."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise DataError(f"{path} is not text in UTF-8: {failure}. Save arrays with np.savez.") from None
    if "\0" in text:
        raise DataError(f"{path} is not text: it has bytes that are 0. Save arrays with np.savez.")
    if not text.strip():
        raise DataError(f"{path} is empty. Expected lines with a name, d_1 or w_1, and its value.")
    return text


def _entries(source: str, lines: list[str]) -> list[Entry]:
    """Return names and values in any of the three forms; from HiGHS's files only those of weights."""
    parts = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    tokens = [part for _, part in parts]
    if ["#", "Primal", "solution", "values"] in tokens:
        return list(_raw(source, parts))
    if len(tokens) > 1 and tokens[0] == ["Columns"] and tokens[1][0] == "Index":
        return list(_pretty(source, parts))
    return list(_plain(source, parts))


def _raw(source: str, parts: list[tuple[int, list[str]]]) -> Iterator[Entry]:
    """Yield the values of columns and the multipliers of rows in HiGHS's raw style, where "#" opens each part."""
    multipliers, block = False, ""
    for number, part in parts:
        if part[:2] == ["#", "Basis"]:
            return
        if part[0] == "#":
            multipliers = multipliers or part[1:2] == ["Dual"]
            block = part[1] if len(part) == 3 else ""
        elif block == ("Rows" if multipliers else "Columns"):
            yield _entry(source, number, part)
        elif not multipliers and part == ["None"]:
            raise DataError(f"{source}, line {number}: expected a solution; the solver found none. Look at its log.")


def _pretty(source: str, parts: list[tuple[int, list[str]]]) -> Iterator[Entry]:
    """Yield the same in HiGHS's pretty style: index, status (or none), bounds, value, multiplier (or none), name."""
    block = ""
    for number, part in parts:
        if part[0] in ("Columns", "Rows"):
            block = part[0]
        elif block and part[0].isdigit() and WEIGHT.fullmatch(part[-1]):
            numbers = part[2:] if part[1].isalpha() and not is_number(part[1]) else part[1:]
            if block == "Rows" and len(numbers) == 4:  # lower, upper, value, name: no multiplier
                continue
            if len(numbers) not in (4, 5):
                raise DataError(
                    f"{source}, line {number}: expected lower, upper, primal, dual and name; got {' '.join(part)!r}. "
                    "Have HiGHS write its raw style."
                )
            yield number, numbers[-1], numbers[3 if block == "Rows" else 2]
        elif part[0] in ("Model", "Objective"):
            block = ""


def _plain(source: str, parts: list[tuple[int, list[str]]]) -> Iterator[Entry]:
    """Yield the name at the beginning of each line with its value; a line without a weight or number is a heading."""
    for number, part in parts:
        named = [token for token in part if token != "="] or part
        if WEIGHT.fullmatch(named[0]):
            yield _entry(source, number, named)
        elif len(named) > 1 and is_number(named[1]):
            yield number, named[0], named[1]


def _entry(source: str, number: int, part: list[str]) -> Entry:
    """Return a name with its value, which must not be missing."""
    if len(part) < 2:
        raise DataError(f"{source}, line {number}: expected a name and its value; got {part[0][:80]!r}.")
    return number, part[0], part[1]


def _summary(entries: list[Entry]) -> list[str]:
    """Return some of the names in a file."""
    names = list(dict.fromkeys(name for _, name, _ in entries))
    return names if len(names) <= NAMED else [*names[:NAMED], "..."]


def _weights(source: str, entries: Iterable[Entry]) -> dict[str, Float[Array, " n"]]:
    """Return d and w; every weight of each must occur exactly once."""
    letters: dict[str, dict[int, float]] = {}
    for line, name, text in entries:
        matched = WEIGHT.fullmatch(name)
        if matched is None:
            continue
        values = letters.setdefault(matched[1], {})
        index = int(matched[2])
        if index in values:
            raise DataError(f"{source}, line {line}: {name} is there twice. Keep the value that is meant.")
        if not is_number(text):
            raise DataError(f"{source}, line {line}: {name} must be a number; got {text[:40]!r}.")
        values[index] = to_number(text)
    return {letter: _in_order(source, letter, values) for letter, values in letters.items()}


def _in_order(source: str, letter: str, values: dict[int, float]) -> Float[Array, " n"]:
    """Return the weights 1, 2, ..., none of which may be missing."""
    last = max(values)
    if 0 in values:
        raise DataError(f"{source}: weights are counted from 1; got {letter}_0. Name the first one {letter}_1.")
    if last > len(values):
        missing = next(index for index in range(1, last + 1) if index not in values)
        raise DataError(
            f"{source}: expected {letter}_1 to {letter}_{last}; {letter}_{missing} is missing, "
            f"{last - len(values)} in all. Have the solver write values that are 0 too."
        )
    return np.array([values[index] for index in range(1, last + 1)])
