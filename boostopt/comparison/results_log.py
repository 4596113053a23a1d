"""Results logs: files of JSON lines from which a benchmark resumes.

The first line describes the benchmark, and each further line is a finished run. A run in the file is not repeated, and
a power failure loses at most one line.
"""

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
from boostopt.backends.accuracy_profiles import CERTIFIED_MODE
from boostopt.comparison.solve_record import FINISHED_RESULTS, SolveRecord, parse_record
from boostopt.errors import DataError, reason_of, require_not_none

FILE_KIND = "boostopt benchmark"
"""Value of "kind" in the first line."""

FORMAT = 1
"""Version of the file format."""

PROGRAMS, DESCRIBED = "programs", "described"
"""Fields of the first line with an entry for each label: the digests and the descriptions of the programs."""

ACCURACIES = "accuracies"
"""Value of "asked_by" in the first line if the solvers were asked for accuracies, in single solves."""

OPTIONAL_HEADER_FIELDS = ("options", "threads", "warm_up")
"""Fields that the first line has only if they differ from their defaults."""

RecordKey = tuple[str, str, str, str, float, int, str, str]
"""Program, digest, backend, version of the solver, gap, repeat, profile, version of boostopt."""


class ResultsLog:
    """A results log, or none.

    The first line describes the benchmark, including the programs by label. A later benchmark may add programs or leave
    programs out; the finished runs of all programs stay in the file. An incomplete last line was being written when the
    process ended, and is dropped. A refused file is left unchanged.

    Parameters
    ----------
    path
        The file, created if it does not exist; None for no file.
    header
        The facts that make runs comparable: programs, time limit, isolation, environment.
    boostopt
        The version of the package. Runs of another version are run again.
    header_extras
        Further content of the first line, for readers; it may differ from the file. Fields with an entry for each label
        grow with the programs.
    any_version
        Whether runs of other versions count as well.

    Attributes
    ----------
    finished_records
        The finished runs by key.

    Raises
    ------
    DataError
        The file belongs to another benchmark, is no results log, or cannot be read or written.
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
        expected_header = {"kind": FILE_KIND, "format": FORMAT, **plain(header)}
        try:
            resolve_target(self._path)
            with _open_locked(self._path) as file:
                content = file.read()
                if content:
                    self._load(content, expected_header, plain(header_extras or {}))
                else:
                    _append_line(file, {**(header_extras or {}), **expected_header})
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
        profile: str = CERTIFIED_MODE,
    ) -> RecordKey:
        """Return the key that identifies a run; equal programs under two labels have different keys."""
        return program, digest, backend, version, tol, repeat, profile, self._boostopt

    @staticmethod
    def key_of_record(row: SolveRecord, boostopt: str) -> RecordKey:
        """Return the key of a run of a version of boostopt."""
        profile = row.profile or CERTIFIED_MODE
        return row.program, row.digest, row.backend, row.version, row.tol, row.repeat, profile, boostopt

    def append(self, row: SolveRecord) -> None:
        """Append a run. The run is on the disk when the method returns.

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

    def _load(self, content: bytes, header: Mapping[str, Any], header_extras: Mapping[str, Any]) -> None:
        """Read the runs of a file. If the file is valid, drop an incomplete last line and update the first line."""
        path = require_not_none(self._path, "the file of a results log")
        complete = content[: content.rfind(b"\n") + 1]
        lines = complete.decode(errors="replace").splitlines()
        if not lines:
            raise DataError(f"expected a file of finished runs; {self._path} has no whole line. Name another file.")
        file_header = self._validate_header(lines[0], header)
        for number, line in enumerate(lines[1:], 2):
            self._add_record(number, line)
        if set(header.get(PROGRAMS, ())) - set(file_header.get(PROGRAMS, ())):
            first_line = _json_line(_merge_headers(file_header, {**header_extras, **header}))
            other_lines = complete.partition(b"\n")[2]
            write_atomically(path, lambda file: file.write(first_line + other_lines))
        elif len(complete) < len(content):
            os.truncate(path, len(complete))

    def _validate_header(self, line: str, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of the first line; raise DataError if the line belongs to another benchmark."""
        file_header = parse_json_object(line)
        if file_header is None or file_header.get("kind") != FILE_KIND:
            raise DataError(f"expected a file of finished runs; {self._path} is another file. Name a new one.")
        optional = [name for name in OPTIONAL_HEADER_FIELDS if name in file_header and name not in header]
        for name in [*header, *optional]:
            file_value, value = file_header.get(name), header.get(name)
            if file_value == value:
                continue
            if not isinstance(file_value, dict) or not isinstance(value, dict):
                raise self._mismatch_error(name, file_value, value)
            file_entries, entries = _mapping_or_empty(file_value), _mapping_or_empty(value)
            # Programs may be added or missing; every other field must agree.
            keys = file_entries.keys() & entries.keys() if name == PROGRAMS else file_entries.keys() | entries.keys()
            if not keys:
                raise self._mismatch_error(name, sorted(file_entries), sorted(entries))
            for key in sorted(keys):
                if file_entries.get(key) != entries.get(key):
                    raise self._mismatch_error(f"{name}, {key!r},", file_entries.get(key), entries.get(key))
        return file_header

    def _mismatch_error(self, name: str, file_value: Any, value: Any) -> DataError:
        """Return the error for a file that belongs to another benchmark."""
        return DataError(
            f"expected a file of this comparison; {self._path} is of another one: "
            f"its {name} is {_shorten_json(file_value)}, here it is {_shorten_json(value)}. Name another file."
        )

    def _add_record(self, number: int, line: str) -> None:
        """Add the finished run in a line."""
        version, row = parse_record_line(self._path, number, line)
        self.finished_records[self.key_of_record(row, self._boostopt if self._any_version else version)] = row


def parse_record_line(path: Path | None, number: int, line: str) -> tuple[str, SolveRecord]:
    """Return the finished run in a line, and the version of boostopt that wrote it.

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
    """Open a file, created if it does not exist, so that no other results log reads or writes it meanwhile.

    Two results logs that start at the same time would both find the file empty, and write two first lines.
    """
    while True:
        with path.open("a+b") as file:
            _lock(file)
            # The previous holder of the lock may have replaced the file.
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
    """Write an object as the last line. The line is on the disk when the function returns."""
    file.write(_json_line(document))
    file.flush()
    os.fsync(file.fileno())


def _json_line(document: Mapping[str, Any]) -> bytes:
    """Return an object as a line."""
    return json.dumps(plain(document), allow_nan=False).encode() + b"\n"


def _merge_headers(file_header: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
    """Return a header with the programs of the file and of a benchmark; other fields come from the benchmark."""
    by_label = {
        name: {**_mapping_or_empty(file_header.get(name)), **_mapping_or_empty(header.get(name))}
        for name in (PROGRAMS, DESCRIBED)
    }
    return {**file_header, **header, **by_label}


def _mapping_or_empty(value: Any) -> dict[str, Any]:
    """Return the value if it is a JSON object; an empty object otherwise."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _shorten_json(value: Any) -> str:
    """Return a value as JSON of at most 120 letters."""
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
