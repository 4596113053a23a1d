"""The atlas's solves: stored compressed, read again, and counted."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from boostopt._utils.files import write_atomically
from boostopt.comparison.documents import load_results
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.solve_results import intersect_intervals
from boostopt.errors import DataError

KINDS = ("asked", "certified")
"""Solves by a profile, each form by itself; attempts until a gap is certified."""


MOST_BYTES = 5_000_000
"""The largest size of a stored file, in bytes."""


@dataclass(frozen=True)
class Solves:
    """Finished solves of the atlas.

    Attributes
    ----------
    by_profile, certified
        One solve each by a profile in one form; attempts in several forms until a gap is certified.
    versions
        Of boostopt, with which they were made.
    environment
        On what.
    """

    by_profile: tuple[SolveRecord, ...]
    certified: tuple[SolveRecord, ...]
    versions: tuple[str, ...]
    machine: Mapping[str, Any]

    @cached_property
    def rows(self) -> tuple[SolveRecord, ...]:
        """All of them that ran."""
        return tuple(row for row in (*self.by_profile, *self.certified) if row.ran)

    @property
    def programs(self) -> list[str]:
        """The labels of the programs, in order."""
        return list(dict.fromkeys(row.program for row in self.rows))

    @property
    def contradicted(self) -> list[str]:
        """The programs whose intervals have no point in common: there boostopt would be wrong."""
        proved = {
            label: intersect_intervals(row for row in self.rows if row.program == label) for label in self.programs
        }
        return [label for label, (lower, upper) in proved.items() if lower > upper]


def file_of(keep: Path, kind: str, label: str) -> Path:
    """Return the file of a program's finished solves of a kind."""
    return keep / kind / f"{label.replace(' ', '_')}.jsonl"


def store(keep: Path, path: Path, labels: Iterable[str]) -> None:
    """Store the finished solves of programs in a compressed archive, each with the same owner and date.

    Of programs that are not finished the solves of some backends are missing: means over the others would not be over
    the same programs.
    """
    files = sorted(file_of(keep, kind, label) for label in labels for kind in KINDS)
    if not files:
        raise DataError(f"expected finished solves in {keep}; there are none. Run the atlas for a while first.")

    def anonymous(about: tarfile.TarInfo) -> tarfile.TarInfo:
        about.uid = about.gid = about.mtime = 0
        about.uname = about.gname = ""
        return about

    def write(out: Any) -> None:
        with tarfile.open(fileobj=out, mode="w:xz", preset=9) as archive:
            for file in files:
                archive.add(file, str(file.relative_to(keep)), filter=anonymous)

    write_atomically(path, write)


def unpack(path: Path, folder: Path) -> None:
    """Write the files of an archive of finished solves, to go on from them."""
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")


def read(path: Path) -> Solves:
    """Read an archive of finished solves."""
    rows: dict[str, list[SolveRecord]] = {kind: [] for kind in KINDS}
    versions, machine = dict[str, None](), dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        unpack(path, Path(folder))
        for kind in KINDS:
            for file in sorted(Path(folder, kind).glob("*.jsonl")):
                file_results = load_results(file)
                rows[kind] += file_results.runs
                versions |= dict.fromkeys(file_results.boostopt.split(", "))
                machine = dict(file_results.environment)
    return Solves(tuple(rows["asked"]), tuple(rows["certified"]), tuple(versions), machine)


def solver_of(row: SolveRecord) -> str:
    """Return the solver without its form: "cvxpy:scs"."""
    return ":".join(row.backend.split(":")[:2]) if row.backend.startswith("cvxpy:") else row.backend


def form_of(row: SolveRecord) -> str:
    """Return the form that a solver was pinned to, "" for none."""
    return ":".join(row.backend.split(":")[2:]) if row.backend.startswith("cvxpy:") else ""


def formulation_of(row: SolveRecord) -> str:
    """Return the formulation of a row's program."""
    return row.program.partition(" on ")[0]


def case_of(row: SolveRecord) -> str:
    """Return the margins of a row's program."""
    return row.program.partition(" on ")[2]


def best_forms(rows: Iterable[SolveRecord]) -> list[SolveRecord]:
    """Return of each program, solver and profile the best form: the earliest that reached 1e-6, else the narrowest."""
    best: dict[tuple[str, str, str | None], SolveRecord] = {}
    for row in rows:
        key = row.program, solver_of(row), row.profile
        if key not in best or _rank(row) < _rank(best[key]):
            best[key] = row
    return list(best.values())


GOOD = 1e-6
"""The certified gap from which on an answer counts as good."""


def _rank(row: SolveRecord) -> tuple[bool, float]:
    good = row.scaled_gap <= GOOD
    return not good, row.seconds if good else row.scaled_gap
