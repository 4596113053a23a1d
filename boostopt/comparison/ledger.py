"""Finished runs in a file of JSON lines: what is there is not run again, and a power cut loses one line at most."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boostopt.comparison.records import plain
from boostopt.comparison.scores import Run
from boostopt.errors import DataError

KIND = "boostopt benchmark"
FORMAT = 1

Key = tuple[str, str, str, float, int, str]


class Ledger:
    """A file of runs, or none.

    Its first line says of what comparison it is. A last line without an end was being written when the process ended,
    and is dropped.

    Parameters
    ----------
    path
        The file, made if it is not there; None keeps nothing.
    about
        What makes runs comparable: programs, time limit, isolation, machine.
    boostopt
        The version of the package: runs of another one are run again.

    Raises
    ------
    DataError
        The file is of another comparison or no such file at all, or cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, about: Mapping[str, Any], boostopt: str) -> None:
        self._path = None if path is None else Path(path)
        self._boostopt = boostopt
        self.finished: dict[Key, Run] = {}
        if self._path is None:
            return
        head = {"kind": KIND, "format": FORMAT, **plain(about)}
        try:
            lines = self._whole_lines()
            if not lines:
                self._append(head)
                return
        except OSError as failure:
            raise DataError(f"{path} cannot be read and written: {failure}. Name another file.") from failure
        self._check(lines[0], head)
        for number, line in enumerate(lines[1:], 2):
            self._take(number, line)

    def key(self, digest: str, backend: str, version: str, tol: float, repeat: int) -> Key:
        """Return what makes a run the same as another."""
        return digest, backend, version, tol, repeat, self._boostopt

    def write(self, run: Run) -> None:
        """Append a run; it is on the disk when this returns.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        if self._path is None:
            return
        fields = {name: getattr(run, name) for name in Run.__dataclass_fields__}
        try:
            self._append({"boostopt": self._boostopt, **fields})
        except OSError as failure:
            raise DataError(f"{self._path} cannot be written: {failure}. Free the disk and resume.") from failure

    def _whole_lines(self) -> list[str]:
        """Return the lines of the file, cut off after the last whole one."""
        assert self._path is not None
        if not self._path.exists():
            return []
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            if not whole:
                raise DataError(
                    f"expected a file of finished runs; {self._path} has no line that is whole. Name another file."
                )
            os.truncate(self._path, len(whole))
        return whole.decode(errors="replace").splitlines()

    def _append(self, document: Mapping[str, Any]) -> None:
        assert self._path is not None
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain(document), allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _check(self, line: str, head: Mapping[str, Any]) -> None:
        """Raise unless the file is of this comparison."""
        there = _parsed(line)
        if there is None or there.get("kind") != KIND:
            raise DataError(f"expected a file of finished runs; {self._path} is another file. Name a new one.")
        for name, value in head.items():
            if there.get(name) != value:
                raise DataError(
                    f"expected a file of this comparison; {self._path} is of another one: its {name} is "
                    f"{_short(there.get(name))}, here it is {_short(value)}. Name another file."
                )

    def _take(self, number: int, line: str) -> None:
        """Remember a finished run."""
        fields = _parsed(line)
        try:
            if fields is None:
                raise ValueError("no JSON")
            version = fields.pop("boostopt")
            run = Run(**fields)
        except (KeyError, TypeError, ValueError) as failure:
            raise DataError(
                f"{self._path}, line {number}: expected a finished run; it is none ({failure}). "
                "Delete the line, or name another file."
            ) from None
        self.finished[run.digest, run.backend, run.version, run.tol, run.repeat, version] = run


def _parsed(line: str) -> dict[str, Any] | None:
    """Return the object of a line; None for anything else."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
