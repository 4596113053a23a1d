"""Finished runs in a file of JSON lines: what is there is not run again, and a power cut loses one line at most."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from boostopt.backends.profiles import CERTIFIED
from boostopt.comparison.records import plain
from boostopt.comparison.rows import FINISHED, Row, read_row
from boostopt.errors import DataError, needed
from boostopt.files import replace_file, written

KIND = "boostopt benchmark"
FORMAT = 1

PROGRAMS, DESCRIBED = "programs", "described"
"""Fields of the first line that are by label: the digests of the programs, and what they are."""

WHERE_SET = ("options", "threads", "warm_up")
"""Fields of the first line that are there where they are not as usual."""

Key = tuple[str, str, str, str, float, int, str, str]


class Ledger:
    """A file of runs, or none.

    Its first line says of what comparison it is, which programs by label among it. Programs may be added, or be missing
    this time: what is finished of the others stays. A last line without an end was being written when the process
    ended, and is dropped. A file that is refused is left as it is.

    Parameters
    ----------
    path
        The file, made if it is not there; None keeps nothing.
    about
        What makes runs comparable: programs, time limit, isolation, machine.
    boostopt
        The version of the package: runs of another one are run again.
    any_version
        Whether runs of other versions count as well.
    aside
        What else the first line says, for readers: nothing is compared with it. What of it is by label grows with the
        programs.

    Raises
    ------
    DataError
        The file is of another comparison or no such file at all, or cannot be read or written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        about: Mapping[str, Any],
        boostopt: str,
        aside: Mapping[str, Any] | None = None,
        any_version: bool = False,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._boostopt, self._any_version = boostopt, any_version
        self.finished: dict[Key, Row] = {}
        if self._path is None:
            return
        head = {"kind": KIND, "format": FORMAT, **plain(about)}
        try:
            written(self._path)
            with _locked(self._path) as file:
                content = file.read()
                if content:
                    self._go_on(content, head, plain(aside or {}))
                else:
                    _append(file, {**(aside or {}), **head})
        except OSError as failure:
            raise DataError(f"{path} cannot be read and written: {failure}. Name another file.") from failure

    def key(
        self, program: str, digest: str, backend: str, version: str, tol: float, repeat: int, asked: str = CERTIFIED
    ) -> Key:
        """Return what makes a run the same as another; equal programs under two labels are measured twice."""
        return program, digest, backend, version, tol, repeat, asked, self._boostopt

    @staticmethod
    def key_of(row: Row, boostopt: str) -> Key:
        """Return the key of a run that a version of boostopt made."""
        asked = row.profile or CERTIFIED
        return row.program, row.digest, row.backend, row.version, row.tol, row.repeat, asked, boostopt

    def write(self, row: Row) -> None:
        """Append a run; it is on the disk when this returns.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        if self._path is None:
            return
        try:
            with _locked(self._path) as file:
                _append(file, {"boostopt": self._boostopt, **row.document()})
        except OSError as failure:
            raise DataError(f"{self._path} cannot be written: {failure}. Free the disk and resume.") from failure

    def _go_on(self, content: bytes, head: Mapping[str, Any], aside: Mapping[str, Any]) -> None:
        """Remember the runs of a file, and bring its end and its first line up to date once all of it is good."""
        path = needed(self._path, "the file of a ledger that goes on")
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.decode(errors="replace").splitlines()
        if not lines:
            raise DataError(
                f"expected a file of finished runs; {self._path} has no line that is whole. Name another file."
            )
        there = self._checked(lines[0], head)
        for number, line in enumerate(lines[1:], 2):
            self._take(number, line)
        if set(head.get(PROGRAMS, ())) - set(there.get(PROGRAMS, ())):
            first, rest = _line(_grown(there, {**aside, **head})), whole.partition(b"\n")[2]
            replace_file(path, lambda file: file.write(first + rest))
        elif len(whole) < len(content):
            os.truncate(path, len(whole))

    def _checked(self, line: str, head: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the first line says, if it is of this comparison."""
        there = parsed(line)
        if there is None or there.get("kind") != KIND:
            raise DataError(f"expected a file of finished runs; {self._path} is another file. Name a new one.")
        for name in [*head, *(name for name in WHERE_SET if name in there and name not in head)]:
            before, value = there.get(name), head.get(name)
            if before == value:
                continue
            if not isinstance(before, dict) or not isinstance(value, dict):
                raise self._other(name, before, value)
            there_too, here_too = _mapping(before), _mapping(value)
            # Programs may come and go; of all else, every name counts.
            both = there_too.keys() & here_too.keys() if name == PROGRAMS else there_too.keys() | here_too.keys()
            if not both:
                raise self._other(name, sorted(there_too), sorted(here_too))
            for key in sorted(both):
                if there_too.get(key) != here_too.get(key):
                    raise self._other(f"{name}, {key!r},", there_too.get(key), here_too.get(key))
        return there

    def _other(self, name: str, there: Any, here: Any) -> DataError:
        """Return the error for a file of another comparison."""
        return DataError(
            f"expected a file of this comparison; {self._path} is of another one: its {name} is {_short(there)}, here "
            f"it is {_short(here)}. Name another file."
        )

    def _take(self, number: int, line: str) -> None:
        """Remember a finished run."""
        version, row = finished_run(self._path, number, line)
        self.finished[self.key_of(row, self._boostopt if self._any_version else version)] = row


def finished_run(path: Path | None, number: int, line: str) -> tuple[str, Row]:
    """Return a finished run out of a line, and the version of boostopt that made it.

    Raises
    ------
    DataError
        The line is no finished run.
    """
    content = parsed(line)
    try:
        if content is None:
            raise ValueError("no JSON")
        version = content.pop("boostopt", None)
        if not isinstance(version, str):
            raise ValueError("its boostopt is no text")
        return version, read_row(content, FINISHED)
    except (TypeError, ValueError) as failure:
        raise DataError(
            f"{path}, line {number}: expected a finished run; it is none ({failure}). "
            "Delete the line, or name another file."
        ) from None


def parsed(line: str) -> dict[str, Any] | None:
    """Return the object of a line; None for anything else."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError, OverflowError):
        return None
    return content if isinstance(content, dict) else None


@contextmanager
def _locked(path: Path) -> Generator[IO[bytes]]:
    """Open a file, made if it is not there, that no other ledger reads or writes meanwhile.

    Two that begin at once would both find it empty, and write two first lines.
    """
    while True:
        with path.open("a+b") as file:
            _lock(file)
            # Whoever had it before may have put another file in its place.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                file.seek(0)
                yield file
                return


def _lock(file: IO[bytes]) -> None:
    """Wait until no other process has the file, where the system and the disk know locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
    except OSError as failure:
        if failure.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise


def _append(file: IO[bytes], document: Mapping[str, Any]) -> None:
    """Write an object as the last line; it is on the disk when this returns."""
    file.write(_line(document))
    file.flush()
    os.fsync(file.fileno())


def _line(document: Mapping[str, Any]) -> bytes:
    """Return an object as a line."""
    return json.dumps(plain(document), allow_nan=False).encode() + b"\n"


def _grown(there: Mapping[str, Any], here: Mapping[str, Any]) -> dict[str, Any]:
    """Return a first line with the programs of both, what is said here before what is said there."""
    by_label = {name: {**_mapping(there.get(name)), **_mapping(here.get(name))} for name in (PROGRAMS, DESCRIBED)}
    return {**there, **here, **by_label}


def _mapping(value: Any) -> dict[str, Any]:
    """Return an object with names; an empty one for anything else."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
