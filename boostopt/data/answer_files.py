"""Answers of other tools, from files: arrays, tables, and solution files with the names of an exported program.

In text, a weight is a line "d_7 0.25" or "w_2 0.5", counted from 1, as `boostopt.exporting` names columns and rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import file_suffix, lack_of, read_bytes, read_npz
from boostopt._utils.validation import check_path
from boostopt.data.csv_tables import SEPARATORS, is_number_text, parse_number, parse_number_columns, read_table
from boostopt.data.solution_file_layouts import LAYOUTS, WEIGHT_NAME_PATTERN, NamedValue, read_entries
from boostopt.data.source_examples import MAX_ENTRIES_PER_NONZERO, SMALL_ARRAY_BYTES
from boostopt.errors import DataError, reason_of

TEXT_SUFFIXES = (".sol", ".txt")
"""Endings of text files with a name and a value on each line."""

MAX_NAMED = 6
"""Largest number of names in a message about a file without d and w."""


@dataclass(frozen=True)
class ExternalAnswer:
    """An answer that another tool has computed.

    Attributes
    ----------
    d, w
        Example weights and hypothesis weights, finite; None if the file does not hold them.
    unread
        Names of the other arrays of an npz file.
    leaves_zeros_out
        Whether the file may lack weights that are 0.
    """

    d: Any = None
    w: Any = None
    unread: tuple[str, ...] = ()
    leaves_zeros_out: bool = False

    def fill(self, N: int, t: int) -> ExternalAnswer:
        """Return the answer for N examples and t hypotheses, with the weights 0 that the file leaves out."""
        if not self.leaves_zeros_out:
            return self
        return replace(self, d=_pad_with_zeros(self.d, N), w=_pad_with_zeros(self.w, t))


def _pad_with_zeros(weights: Any, length: int) -> Any:
    """Return weights padded with zeros up to a length; longer weights, or None, unchanged."""
    return None if weights is None else np.concatenate([weights, np.zeros(max(0, length - len(weights)))])


def load_answer(source: str) -> ExternalAnswer:
    """Load an answer that another tool has computed: the arrays d, w or both.

    Parameters
    ----------
    source
        ".npz" with arrays d and/or w; ".csv" (".tsv") with columns d and/or w (the shorter one left blank at its end);
        or ".sol" or ".txt" with a name d_n or w_q and its value on each line. The last are solution files of HiGHS
        (raw, pretty, sparse), CBC, CPLEX, MOSEK, SCIP, Gurobi and glpsol (-o), or plain text, where lines without such
        a name are skipped.

    Raises
    ------
    DataError
        The file does not exist or is unreadable; it has another layout; it holds neither d nor w, or an entry that is
        not finite; or it names weights twice, or with gaps that its layout does not have.
    """
    path, leaves_zeros_out = check_path("source", source, DataError), False
    if not os.path.isfile(source):
        raise DataError(f"expected the file of an answer; {lack_of(source)}")
    if file_suffix(path) == ".npz":
        arrays = read_npz(path)
        names, weights = list(arrays), {name: arrays[name] for name in ("d", "w") if name in arrays}
        unread = tuple(sorted(set(arrays) - set(weights)))
    elif file_suffix(path) in SEPARATORS:
        names, rows = read_table(path)
        weights = parse_number_columns(path, names, rows, [name for name in ("d", "w") if name in names])
        unread = ()
    elif file_suffix(path) in TEXT_SUFFIXES:
        entries, leaves_zeros_out = read_entries(source, _read_text(path))
        names, weights = _some_names(entries), _collect_weights(source, entries, leaves_zeros_out)
        unread = ()
    else:
        raise DataError(f"expected an answer as .npz, .csv, .sol or .txt; got {source!r}. Save it as one of these.")
    if not weights:
        layouts = f" {LAYOUTS}" if file_suffix(path) in TEXT_SUFFIXES else ""
        raise DataError(f"{source} must hold d, w or both; it holds {', '.join(names) or 'nothing'}.{layouts}")
    for name, values in weights.items():
        _require_finite(source, name, values)
    return ExternalAnswer(**weights, unread=unread, leaves_zeros_out=leaves_zeros_out)


def _require_finite(source: str, name: str, values: Any) -> None:
    """Raise DataError for an entry that is not finite: `certify` would replace it, and certify another answer."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    positions = np.argwhere(~np.isfinite(values))
    first = ", ".join(map(str, positions[0].tolist()))
    raise DataError(
        f"{source}: {name} must be finite; got {values[tuple(positions[0])]} at ({first}), {len(positions)} such "
        "entries. Leave the array out if there is no such answer; program.certify counts such entries as 0."
    )


def _read_text(path: Path) -> str:
    """Return a file as text."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise DataError(f"{path} is not text in UTF-8: {reason_of(failure)}. Save arrays with np.savez.") from None
    if "\0" in text:
        raise DataError(f"{path} is not text: it has bytes that are 0. Save arrays with np.savez.")
    if not text.strip():
        raise DataError(f"{path} is empty. Expected lines with a name, d_1 or w_1, and its value.")
    return text


def _some_names(entries: list[NamedValue]) -> list[str]:
    """Return some of the names in a file."""
    names = list(dict.fromkeys(name for _, name, _ in entries))
    return names if len(names) <= MAX_NAMED else [*names[:MAX_NAMED], "..."]


def _collect_weights(
    source: str, entries: Iterable[NamedValue], leaves_zeros_out: bool
) -> dict[str, Float[Array, " n"]]:
    """Return d and w; every weight of each must occur exactly once, or may be missing if it is 0."""
    letters: dict[str, dict[int, float]] = {}
    for line, name, text in entries:
        matched = WEIGHT_NAME_PATTERN.fullmatch(name)
        if matched is None:
            continue
        values = letters.setdefault(matched[1], {})
        index = int(matched[2])
        if index in values:
            raise DataError(f"{source}, line {line}: {name} is there twice. Keep the value that is meant.")
        if not is_number_text(text):
            raise DataError(f"{source}, line {line}: {name} must be a number; got {text[:40]!r}. Correct the line.")
        values[index] = parse_number(text)
    return {letter: _weight_vector(source, letter, values, leaves_zeros_out) for letter, values in letters.items()}


def _weight_vector(source: str, letter: str, values: dict[int, float], leaves_zeros_out: bool) -> Float[Array, " n"]:
    """Return the weights 1, 2, ...; none of them may be missing unless it is 0."""
    last = max(values)
    if 0 in values:
        raise DataError(f"{source}: weights are counted from 1; got {letter}_0. Name the first one {letter}_1.")
    if last > len(values) and not leaves_zeros_out:
        missing = next(index for index in range(1, last + 1) if index not in values)
        raise DataError(
            f"{source}: expected {letter}_1 to {letter}_{last}; {letter}_{missing} is missing, "
            f"{last - len(values)} in all. Have the solver write values that are 0 too."
        )
    if 8 * last > SMALL_ARRAY_BYTES and last > MAX_ENTRIES_PER_NONZERO * len(values):
        raise DataError(
            f"{source}: expected at least one of {MAX_ENTRIES_PER_NONZERO} weights; got {len(values)} up to "
            f"{letter}_{last}. Correct the largest index."
        )
    weights = np.zeros(last)
    weights[np.array(list(values)) - 1] = list(values.values())
    return weights
