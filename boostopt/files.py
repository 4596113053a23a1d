"""Files: reading CSV with a header, npz of plain arrays, compressed text; writing so that a file is whole or not there.

Whatever is wrong with a file becomes a DataError that says so; nothing is ever unpickled.
"""

from __future__ import annotations

import bz2
import csv
import glob
import gzip
import io
import lzma
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from boostopt.errors import DataError
from boostopt.shapes import Array, Float

_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": lambda path: gzip.open(path, "rb"),
    ".bz2": lambda path: bz2.open(path, "rb"),
    ".xz": lambda path: lzma.open(path, "rb"),
}
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)

TOKEN = 4
"""Random bytes in the name of a file that is being written."""


def written(path: str | os.PathLike[str]) -> Path:
    """Return the file that is written to at a path: where it is a link, what it leads to.

    Raises
    ------
    DataError
        What is there is no regular file: a folder, a pipe, a device, or a link that leads in a circle.
    """
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if os.path.lexists(target) and not target.is_file():
        what = "it is a directory" if target.is_dir() else "what is there is no regular file"
        raise DataError(f"{path} cannot be written: {what}. Choose another place.")
    return target


def same_place(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths stand for one file, be it there yet or not."""
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def replace_file(target: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name and rename it, so that it is whole at any moment; links are followed.

    Raises
    ------
    DataError
        The file cannot be written, or what is there is no regular file.
    """
    target = written(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(TOKEN)}.partial")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as failure:
        reason = failure.strerror or failure  # the whole text names the temporary file, which nobody knows
        raise DataError(f"{target} cannot be written: {reason}. Choose another place.") from failure
    finally:
        with suppress(OSError):
            temporary.unlink()


def half_written(target: Path) -> Iterator[Path]:
    """Return what `replace_file` left half written to a path where its process was killed."""
    target = written(target)
    return target.parent.glob(f".{glob.escape(target.name)}.{'?' * 2 * TOKEN}.partial")


def read_npz(path: Path) -> dict[str, Any]:
    """Return all arrays of an npz file; never unpickles."""
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not an npz file, or it is truncated. Save named arrays with np.savez.")
    try:
        # Opened here, for NumPy leaves a file open that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            # What is in the archive and no array comes as bytes.
            return {name: a for name in archive.files if isinstance(a := archive[name], np.ndarray)}
    except Exception as failure:  # zipfile and NumPy raise nearly anything on a damaged file
        raise DataError(f"{path} is not a readable npz file of plain arrays: {failure}.") from failure


def read_bytes(path: Path) -> bytes:
    """Return the decompressed bytes of a file."""
    try:
        with _OPENERS.get(path.suffix.lower(), lambda p: p.open("rb"))(path) as file:
            return file.read()
    except _UNREADABLE as failure:
        raise DataError(f"{path} cannot be read, it may be truncated: {failure}.") from failure


def kind(path: Path) -> str:
    """Return the suffix in lower case, without that of the compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in _OPENERS else suffix


def read_table(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return header and rows of a CSV file with their lines, all rows as long as the header."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise DataError(f"{path} is not CSV text in UTF-8: {failure}.") from failure
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if row]
    except csv.Error as failure:
        raise DataError(
            f"{path}, line {reader.line_num}: this is not CSV text: {failure}. Check the quotes."
            + other_separator(text.partition("\n")[0].split(","))
        ) from failure
    if not lines:
        raise DataError(f"{path} is empty. Expected a header line and rows of numbers.")
    header = [name.strip() for name in lines[0][1]]
    for line, row in lines[1:]:
        if len(row) != len(header):
            raise DataError(
                f"{path}, line {line}: expected {len(header)} cells as in the header, got {len(row)}."
                + other_separator(lines[0][1])
            )
    return header, lines[1:]


def other_separator(header: list[str]) -> str:
    """Return what to do where something else than commas separates the cells of a header; "" where it does not."""
    for name, sign in (("semicolons", ";"), ("tabs", "\t")):
        if sum(cell.count(sign) for cell in header) > len(header) - 1:
            return f" Cells must be separated by commas; the header has {name}. Save the file with commas."
    return ""


def place(path: Path, header: list[str], name: str) -> int:
    """Return the place of a column that is there, and once."""
    if header.count(name) > 1:
        raise DataError(f"{path} has {header.count(name)} columns {name!r}. Keep the one that is meant.")
    return header.index(name)


def number_column(path: Path, header: list[str], rows: list[tuple[int, list[str]]], name: str) -> Float[Array, " n"]:
    """Return a column of numbers up to its blank end."""
    at = place(path, header, name)
    cells = [row[at] for _, row in rows]
    while cells and not cells[-1].strip():
        cells.pop()
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as failure:
        raise DataError(f"{path}: column {name!r} must hold numbers; {failure}.") from None
