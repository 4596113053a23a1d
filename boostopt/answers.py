"""Answers computed elsewhere, from files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boostopt.errors import DataError
from boostopt.files import kind, number_column, read_npz, read_table


@dataclass(frozen=True)
class Answer:
    """An answer computed elsewhere.

    Attributes
    ----------
    d, w
        Example weights and hypothesis weights, finite; None for what the file does not hold.
    unread
        Names of the arrays of an npz file that are neither.
    """

    d: Any = None
    w: Any = None
    unread: tuple[str, ...] = ()


def load_answer(source: str) -> Answer:
    """Load an answer computed elsewhere: the arrays d, w or both.

    Parameters
    ----------
    source
        ".npz" with arrays d and/or w, or ".csv" with columns d and/or w (the shorter one left blank at its end).

    Raises
    ------
    DataError
        The file is not there, is unreadable, holds neither, or holds an entry that is not finite.
    """
    path = Path(source)
    if not os.path.isfile(source):
        raise DataError(f"expected the file of an answer; there is no file {source!r}. Check the path.")
    if kind(path) == ".npz":
        arrays = read_npz(path)
        held, found = list(arrays), {name: arrays[name] for name in ("d", "w") if name in arrays}
        unread = tuple(sorted(set(arrays) - set(found)))
    elif kind(path) == ".csv":
        held, rows = read_table(path)
        found = {name: number_column(path, held, rows, name) for name in ("d", "w") if name in held}
        unread = ()
    else:
        raise DataError(f"expected an answer as .npz or .csv; got {source!r}.")
    if not found:
        raise DataError(f"{source} must hold d, w or both; it holds {', '.join(held) or 'nothing'}.")
    for name, values in found.items():
        _check_finite(source, name, values)
    return Answer(**found, unread=unread)


def _check_finite(source: str, name: str, values: Any) -> None:
    """Refuse an entry that is no finite number: who saved it has no answer, and would be certified another one."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    at = np.argwhere(~np.isfinite(values))
    first = ", ".join(map(str, at[0].tolist()))
    raise DataError(
        f"{source}: {name} must be finite; got {values[tuple(at[0])]} at ({first}), {len(at)} such entries. "
        "Leave the array out if there is no such answer; program.certify counts such entries as 0."
    )
