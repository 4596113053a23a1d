"""Finished units of the IDA benchmark in a file of JSON lines: what is there is not done again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.ida_data import Unit
from boostopt._utils.json_values import plain
from boostopt.errors import DataError

KIND, FORMAT = "boostopt IDA benchmark", 1

Line = dict[str, Any]
"""The record of a finished unit: its origin, its seconds, and errors on the grids or outcomes and values."""


class Ledger:
    """A file of finished units.

    Its first line says with which options and grids they were made. A last line without an end was being written when
    the process was killed, and is dropped: at most the units under way are lost.

    Parameters
    ----------
    path
        The file, made if it is not there.
    about
        Options and grids: units made with others are not comparable.
    version
        Of boostopt: units of another one are done again; None takes those of any.

    Raises
    ------
    DataError
        The file is another one, or of other options, or damaged before its last line.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], version: str | None) -> None:
        self._path, self._version = path, version
        self._lines: dict[Unit, Line] = {}
        head = plain({"kind": KIND, "format": FORMAT, **about})
        lines = self._whole_lines()
        if not lines:
            self._append(head)
            return
        if self._parsed(1, lines[0]) != head:
            raise DataError(
                f"expected units made with these options; {path} begins with {lines[0][:120]}... Name another file."
            )
        for number, text in enumerate(lines[1:], 2):
            self._take(number, self._parsed(number, text))

    def finished(self, unit: Unit, data: str, parameters: Mapping[str, Any] | None = None) -> Line | None:
        """Return the line of a unit, if it was made from that data and with those values; else None."""
        line = self._lines.get(unit)
        if line is None or line["data"] != data or (self._version is not None and line["version"] != self._version):
            return None
        return line if parameters is None or line.get("chosen") == plain(parameters) else None

    def write(self, line: Line) -> None:
        """Append a line; it is on the disk when this returns."""
        self._append(line)
        self._lines[_unit(line)] = plain(line)

    def _whole_lines(self) -> list[str]:
        """Return the lines of the file, cut off after the last whole one."""
        if not self._path.exists():
            return []
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))
        return whole.decode(errors="replace").splitlines()

    def _append(self, document: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain(document), allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _parsed(self, number: int, text: str) -> Line:
        try:
            line = json.loads(text)
        except ValueError as failure:
            raise DataError(f"{self._path}, line {number}: expected JSON; {failure}. Name another file.") from failure
        if not isinstance(line, dict):
            raise DataError(f"{self._path}, line {number}: expected an object; got {text[:60]}. Name another file.")
        return line

    def _take(self, number: int, line: Line) -> None:
        missing = {"unit", "version", "data", "seconds", "cpu"} - set(line)
        if missing:
            raise DataError(
                f"{self._path}, line {number}: expected a finished unit; {missing} missing. Delete the line."
            )
        # An older version's unit does not displace one that counts.
        unit = _unit(line)
        if self._version in (None, line["version"]) or unit not in self._lines:
            self._lines[unit] = line


def _unit(line: Mapping[str, Any]) -> Unit:
    name, kind, split, fold = line["unit"]
    return str(name), str(kind), int(split), int(fold)
