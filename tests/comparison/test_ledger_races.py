"""Two ledgers on one new file: one first line, whoever comes first."""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from boostopt import DataError
from boostopt.comparison.results_log import FILE_KIND, FORMAT, ResultsLog

HEAD = {"kind": FILE_KIND, "format": FORMAT, "programs": {"a": "1"}}


def made_while_another_begins(path: Path, first: Mapping[str, object]) -> DataError | None:
    """Begin a ledger on a file that another process has just created but not written."""
    failures: list[DataError] = []

    def begin() -> None:
        try:
            ResultsLog(path, {"programs": {"a": "1"}}, "1.0")
        except DataError as failure:
            failures.append(failure)

    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join(0.5)  # it waits, or has written a line of its own by now
        file.write(json.dumps(first).encode() + b"\n")
    thread.join(60)
    return failures[0] if failures else None


@pytest.mark.thorough
def test_the_second_of_two_ledgers_finds_the_line_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    assert made_while_another_begins(path, HEAD) is None
    assert path.read_text().splitlines() == [json.dumps(HEAD)]


def test_the_second_of_two_comparisons_is_refused(tmp_path: Path) -> None:
    path, other_header = tmp_path / "ledger.jsonl", {**HEAD, "programs": {"a": "2"}}
    failure = made_while_another_begins(path, other_header)
    assert failure is not None and "programs, 'a'" in str(failure)
    assert path.read_text().splitlines() == [json.dumps(other_header)]


def test_many_ledgers_at_once_write_one_first_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    threads = [
        threading.Thread(target=ResultsLog, args=(path, {"programs": {str(k): "1", "a": "1"}}, "1.0")) for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (line,) = path.read_text().splitlines()
    assert set(json.loads(line)["programs"]) == {*map(str, range(8)), "a"}  # none is lost where they grow it


@pytest.mark.parametrize("errno", ["ENOLCK", "EOPNOTSUPP"])
def test_a_disk_without_locks_will_do(tmp_path: Path, errno: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno as known

    def fails(*_: object) -> None:
        raise OSError(getattr(known, errno), "no locks here")

    monkeypatch.setattr(fcntl, "flock", fails)
    ResultsLog(tmp_path / "ledger.jsonl", {"programs": {"a": "1"}}, "1.0")
    assert (tmp_path / "ledger.jsonl").read_bytes().count(b"\n") == 1
