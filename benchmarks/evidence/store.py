"""Finished units on the disk: a journal while they are made, one compressed file an experiment when they are kept."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.evidence.experiment import Results
from boostopt._utils.files import write_atomically
from boostopt._utils.json_values import plain
from boostopt.errors import DataError

FORMAT = 1


def load(folder: Path, name: str) -> Results:
    """Return the units of an experiment that are kept; none where there is no file.

    Raises
    ------
    DataError
        The file is damaged, or of another format.
    """
    path = _store_path(folder, name)
    if not path.exists():
        return Results()
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError) as failure:
        raise DataError(
            f"{path}: expected the finished units of {name}; {failure}. Take it from the history."
        ) from failure
    if content.get("format") != FORMAT or content.get("experiment") != name:
        raise DataError(f"{path}: expected units of {name} in format {FORMAT}; got others. Take it from the history.")
    return Results(content["units"])


def keep(folder: Path, name: str, results: Results) -> None:
    """Write the units of an experiment; equal units are equal files."""
    text = json.dumps({"experiment": name, "format": FORMAT, "units": results.lines}, sort_keys=True, allow_nan=False)
    folder.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    write_atomically(_store_path(folder, name), lambda file: file.write(packed))


class Journal:
    """Units as they are finished, a line each: a run that is killed loses none but those under way.

    A last line without an end was being written then, and is dropped.
    """

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{name}.jsonl"

    def lines(self) -> list[dict[str, Any]]:
        """Return the units that it holds."""
        if not self._path.exists():
            return []
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))
        return [json.loads(line) for line in whole.decode().splitlines()]

    def write(self, line: Mapping[str, Any]) -> None:
        """Append a unit; it is on the disk when this returns."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain(line), allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def end(self) -> None:
        """Remove it: its units are kept elsewhere."""
        self._path.unlink(missing_ok=True)


def _store_path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json.gz"
