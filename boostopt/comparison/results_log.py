"""Finished runs in a file of JSON lines: no run in it is repeated, and a power cut loses at most one line."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from boostopt._utils.files import resolve_target, write_atomically
from boostopt._utils.json_values import plain
from boostopt.backends.profiles import CERTIFIED_MODE
from boostopt.comparison.solve_record import FINISHED_RESULTS, SolveRecord, parse_record
from boostopt.errors import DataError, reason_of, require_not_none

FILE_KIND = "boostopt benchmark"
FORMAT = 1

PROGRAMS, DESCRIBED = "programs", "described"
"""Fields of the first line that are keyed by label: the digests and the descriptions of the programs."""

OPTIONAL_HEADER_FIELDS = ("options", "threads", "warm_up")
"""Fields that the first line has only if they differ from their defaults."""

RecordKey = tuple[str, str, str, str, float, int, str, str]


class ResultsLog:
    """A file of runs, or none.

    The first line describes the comparison, including its programs by label. Programs may be added, or be missing this
    time: the finished runs of the others stay. An incomplete last line was being written when the process ended, and is
    dropped. A refused file is left unchanged.

    Parameters
    ----------
    path
        The file, created if it does not exist; None keeps nothing.
    header
        The facts that make runs comparable: programs, time limit, isolation, machine.
    boostopt
        The version of the package: runs of another version are run again.
    any_version
        Whether runs of other versions count as well.
    header_extras
        Further content of the first line, for readers; nothing is compared with it. Its fields that are keyed by label
        grow with the programs.

    Raises
    ------
    DataError
        The file belongs to another comparison, is no file of finished runs, or cannot be read or written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        header: Mapping[str, Any],
        boostopt: str,
        header_extras: Mapping[str, Any] | None = None,
        any_version: bool = False,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._boostopt, self._any_version = boostopt, any_version
        self.finished_records: dict[RecordKey, SolveRecord] = {}
        if self._path is None:
            return
        head = {"kind": FILE_KIND, "format": FORMAT, **plain(header)}
        try:
            resolve_target(self._path)
            with _open_locked(self._path) as file:
                content = file.read()
                if content:
                    self._load(content, head, plain(header_extras or {}))
                else:
                    _append_line(file, {**(header_extras or {}), **head})
        except OSError as failure:
            raise DataError(f"{path} cannot be read and written: {reason_of(failure)}. Name another file.") from failure

    def key(
        self,
        program: str,
        digest: str,
        backend: str,
        version: str,
        tol: float,
        repeat: int,
        asked: str = CERTIFIED_MODE,
    ) -> RecordKey:
        """Return the key that identifies a run; equal programs under two labels have different keys."""
        return program, digest, backend, version, tol, repeat, asked, self._boostopt

    @staticmethod
    def key_of_record(row: SolveRecord, boostopt: str) -> RecordKey:
        """Return the key of a run made by a version of boostopt."""
        asked = row.profile or CERTIFIED_MODE
        return row.program, row.digest, row.backend, row.version, row.tol, row.repeat, asked, boostopt

    def append(self, row: SolveRecord) -> None:
        """Append a run. It is on the disk when the method returns.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        if self._path is None:
            return
        try:
            with _open_locked(self._path) as file:
                _append_line(file, {"boostopt": self._boostopt, **row.to_file_entry()})
        except OSError as failure:
            raise DataError(
                f"{self._path} cannot be written: {reason_of(failure)}. Free the disk and resume."
            ) from failure

    def _load(self, content: bytes, head: Mapping[str, Any], header_extras: Mapping[str, Any]) -> None:
        """Remember the runs of a file. If the whole file is valid, repair its end and update its first line."""
        path = require_not_none(self._path, "the file of a ledger that goes on")
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.decode(errors="replace").splitlines()
        if not lines:
            raise DataError(
                f"expected a file of finished runs; {self._path} has no line that is whole. Name another file."
            )
        there = self._validate_header(lines[0], head)
        for number, line in enumerate(lines[1:], 2):
            self._add_record(number, line)
        if set(head.get(PROGRAMS, ())) - set(there.get(PROGRAMS, ())):
            first, rest = _json_line(_merge_headers(there, {**header_extras, **head})), whole.partition(b"\n")[2]
            write_atomically(path, lambda file: file.write(first + rest))
        elif len(whole) < len(content):
            os.truncate(path, len(whole))

    def _validate_header(self, line: str, head: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of the first line, if it belongs to this comparison."""
        there = parse_json_object(line)
        if there is None or there.get("kind") != FILE_KIND:
            raise DataError(f"expected a file of finished runs; {self._path} is another file. Name a new one.")
        for name in [*head, *(name for name in OPTIONAL_HEADER_FIELDS if name in there and name not in head)]:
            before, value = there.get(name), head.get(name)
            if before == value:
                continue
            if not isinstance(before, dict) or not isinstance(value, dict):
                raise self._mismatch_error(name, before, value)
            there_too, here_too = _mapping_or_empty(before), _mapping_or_empty(value)
            # Programs may come and go; every other field must agree.
            both = there_too.keys() & here_too.keys() if name == PROGRAMS else there_too.keys() | here_too.keys()
            if not both:
                raise self._mismatch_error(name, sorted(there_too), sorted(here_too))
            for key in sorted(both):
                if there_too.get(key) != here_too.get(key):
                    raise self._mismatch_error(f"{name}, {key!r},", there_too.get(key), here_too.get(key))
        return there

    def _mismatch_error(self, name: str, there: Any, here: Any) -> DataError:
        """Return the error for a file that belongs to another comparison."""
        return DataError(
            f"expected a file of this comparison; {self._path} is of another one: "
            f"its {name} is {_shorten_json(there)}, here it is {_shorten_json(here)}. Name another file."
        )

    def _add_record(self, number: int, line: str) -> None:
        """Remember a finished run."""
        version, row = parse_record_line(self._path, number, line)
        self.finished_records[self.key_of_record(row, self._boostopt if self._any_version else version)] = row


def parse_record_line(path: Path | None, number: int, line: str) -> tuple[str, SolveRecord]:
    """Return the finished run in a line, and the version of boostopt that made it.

    Raises
    ------
    DataError
        The line does not hold a finished run.
    """
    content = parse_json_object(line)
    try:
        if content is None:
            raise ValueError("no JSON")
        version = content.pop("boostopt", None)
        if not isinstance(version, str):
            raise ValueError("its boostopt is no text")
        return version, parse_record(content, FINISHED_RESULTS)
    except (TypeError, ValueError) as failure:
        raise DataError(
            f"{path}, line {number}: expected a finished run; it is none ({reason_of(failure)}). "
            "Delete the line, or name another file."
        ) from None


def parse_json_object(line: str) -> dict[str, Any] | None:
    """Return the JSON object in a line; None for anything else."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError, OverflowError):
        return None
    return content if isinstance(content, dict) else None


@contextmanager
def _open_locked(path: Path) -> Generator[IO[bytes]]:
    """Open a file, created if it does not exist, so that no other ledger reads or writes it meanwhile.

    Two ledgers that start at the same time would both find the file empty, and write two first lines.
    """
    while True:
        with path.open("a+b") as file:
            _lock(file)
            # The previous holder of the lock may have put another file in its place.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                file.seek(0)
                yield file
                return


def _lock(file: IO[bytes]) -> None:
    """Wait until no other process holds the file, if the system and the disk support locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
    except OSError as failure:
        if failure.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise


def _append_line(file: IO[bytes], document: Mapping[str, Any]) -> None:
    """Write an object as the last line. It is on the disk when the function returns."""
    file.write(_json_line(document))
    file.flush()
    os.fsync(file.fileno())


def _json_line(document: Mapping[str, Any]) -> bytes:
    """Return an object as a line."""
    return json.dumps(plain(document), allow_nan=False).encode() + b"\n"


def _merge_headers(there: Mapping[str, Any], here: Mapping[str, Any]) -> dict[str, Any]:
    """Return a first line with the programs of both; `here` takes precedence over `there`."""
    by_label = {
        name: {**_mapping_or_empty(there.get(name)), **_mapping_or_empty(here.get(name))}
        for name in (PROGRAMS, DESCRIBED)
    }
    return {**there, **here, **by_label}


def _mapping_or_empty(value: Any) -> dict[str, Any]:
    """Return the value if it is a JSON object; an empty object otherwise."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _shorten_json(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
