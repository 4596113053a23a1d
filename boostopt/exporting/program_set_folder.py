"""The folder of a set: its index, and whether the set can be continued in it.

A set overwrites only its own files. It accepts a folder that is empty. It also accepts a folder whose index lists the
same programs, if every other file in it belongs to them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from boostopt._utils.files import leftover_temporary_files, write_atomically
from boostopt._utils.json_values import to_json_text
from boostopt._utils.validation import invalid_value_error
from boostopt.errors import DataError, format_names

INDEX_FILE = "index.json"
"""The name of the file that describes all others."""

SET_FORMAT = "boostopt set 1"
"""The kind of file that an index states."""

SET_README = (
    "Each file in cbf and mps states the primal of a program, min F(d) + G(U'd). Its head says which variables are d, "
    "and which constraints have the multipliers w.",
    "The optimum lies between lower and upper, whatever a solver says. Both are null if the program is infeasible.",
    "To judge an answer, run the command certify in this folder. ANSWER is a file with d, w or both.",
    "To prove the interval again without a solver, run the command verify in this folder.",
)
"""The explanation for readers who have only the folder."""


@dataclass(frozen=True)
class SetFolder:
    """The folder that a set is written to.

    Attributes
    ----------
    path
        The path of the folder.
    settings
        The settings that all programs of the set share, as the index states them.
    """

    path: Path
    settings: Mapping[str, Any]

    def opened(self, digests: Mapping[str, str], files: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Create the folder if necessary, and return the entries of the finished programs in its index.

        Parameters
        ----------
        digests
            The digests of the programs of the set, by label.
        files
            The files that the set will have, as the index names them.

        Raises
        ------
        DataError
            The folder cannot be created, or holds files that do not belong to this set.
        """
        planned = {INDEX_FILE, *files}
        try:
            self.path.mkdir(exist_ok=True)
            for name in planned:
                for leftover in leftover_temporary_files(self.path / name):
                    leftover.unlink()
            present = {path.relative_to(self.path).as_posix() for path in _list_files(self.path)}
            if any(self.path.iterdir()):
                return self._resume(digests, present, planned)
        except OSError as failure:
            reason = "it is no folder" if isinstance(failure, FileExistsError) else failure.strerror or failure
            raise DataError(
                f"expected a folder that a set can be written to; {self.path} cannot be: {reason}. Name another folder."
            ) from None
        return {}

    def write_index(self, entries: Iterable[Mapping[str, Any]], complete: bool) -> dict[str, Any]:
        """Rewrite the index, and return its content."""
        document = {**self.settings, "about": SET_README, "complete": complete, "programs": list(entries)}
        text = to_json_text(document) + "\n"
        write_atomically(self.path / INDEX_FILE, lambda file: file.write(text.encode()))
        return json.loads(text)

    def file_entry(self, name: str) -> dict[str, Any]:
        """Return the entry of a file in the index."""
        return {"path": name, "bytes": (self.path / name).stat().st_size, "sha256": sha256(self.path / name)}

    def _resume(self, digests: Mapping[str, str], present: set[str], planned: set[str]) -> dict[str, dict[str, Any]]:
        """Return the entries of the index, after checking that the index and the folder belong to this set."""
        if INDEX_FILE not in present:
            contents = format_names(sorted(present)[:3]) or "other folders"
            raise self._foreign_folder_error(f"it holds {contents} and no {INDEX_FILE} of a set")
        try:
            index = json.loads((self.path / INDEX_FILE).read_text("utf-8"))
            index_settings = {name: index[name] for name in self.settings}
            entries = {str(entry["label"]): entry for entry in index["programs"]}
            digests_in_index = {label: str(entry["program"]) for label, entry in entries.items()}
            digest_by_file = {
                file["path"]: file["sha256"] for entry in entries.values() for file in file_entries(entry)
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._foreign_folder_error(f"its {INDEX_FILE} is not one of a set") from None
        differences = [
            f"{name} {index_settings[name]!r}" for name, value in self.settings.items() if index_settings[name] != value
        ]
        if differences:
            raise self._foreign_folder_error(f"its set has {', '.join(differences)}")
        changed_labels = [label for label, digest in digests_in_index.items() if digests.get(label) != digest]
        if changed_labels:
            raise self._foreign_folder_error(f"its set has another {changed_labels[0]!r}")
        foreign_files = sorted((present | set(digest_by_file)) - planned)
        if foreign_files:
            raise self._foreign_folder_error(f"it holds {foreign_files[0]}, which is not of the set")
        changed_files = [
            name for name, digest in digest_by_file.items() if name in present and sha256(self.path / name) != digest
        ]
        if changed_files:
            raise self._foreign_folder_error(f"{changed_files[0]} is not as it was written")
        return {
            label: entry
            for label, entry in entries.items()
            if {file["path"] for file in file_entries(entry)} <= present
        }

    def _foreign_folder_error(self, reason: str) -> DataError:
        return DataError(
            f"expected an empty folder, or one with a part of this very set, in {self.path}; {reason}. "
            "Name another folder, or remove this one."
        )


def validate_folder_path(folder: Any) -> Path:
    """Return the path of a folder, which need not exist."""
    if not isinstance(folder, str | PathLike) or not str(folder).strip("\0") or "\0" in str(folder):
        raise invalid_value_error("folder", "the path of a folder", folder, 'Pass one such as "programs".')
    return Path(folder)


def file_entries(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of the files of a program, including its instance."""
    yield from entry["files"].values()


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder except folders."""
    yield from (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
