"""The provenance of results: command, date, data, versions, and omitted programs."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

from boostopt._utils.environment import source_version
from boostopt._utils.files import Keys
from boostopt._utils.json_values import Text, TextsByName
from boostopt._utils.validation import check_instance
from boostopt.backends.base import package_version
from boostopt.comparison.result_field_parsers import parse_skipped_pairs

RECORDED_PACKAGES = ("numpy", "scipy", "cvxpy")
"""Packages whose versions are recorded; every run records the version of its solver."""


@dataclass(frozen=True)
class Provenance:
    """The provenance of results, as far as the caller states it.

    Attributes
    ----------
    command
        The command line, "" for none.
    date
        The date of the start, "" if unknown.
    data
        Name or path of the data set, or of the folder of data sets.
    versions
        Versions by package.
    skipped
        Requested items that gave no program, each with the reason.
    """

    command: Text = ""
    date: Text = ""
    data: Text = ""
    versions: TextsByName = field(default_factory=dict[str, str])
    skipped: Annotated[tuple[tuple[str, str], ...], parse_skipped_pairs] = ()

    @classmethod
    def of_this_process(
        cls, command: str = "", date: str = "", data: str = "", skipped: tuple[tuple[str, str], ...] = ()
    ) -> Provenance:
        """Return the provenance of results of this process, with the installed versions."""
        return cls(command, date, data, {"boostopt": source_version(), **_installed_versions()}, skipped)

    @classmethod
    def of_python_call(cls) -> Provenance:
        """Return the provenance of results of a call from Python: the script with its arguments, and the time of now.

        The command is "" in an interpreter or a notebook.
        """
        has_script = hasattr(sys.modules["__main__"], "__file__")
        return cls.of_this_process(shlex.join(["python", *sys.argv]) if has_script else "", current_time())

    def to_json(self) -> dict[str, Any]:
        """Return the provenance as plain values."""
        return {**ORIGIN.to_file(self), "skipped": [list(pair) for pair in self.skipped]}


ORIGIN = Keys(
    Provenance,
    {
        "command": "command",
        "date": "date",
        "data": "data",
        "versions": "versions",
        "skipped": "skipped",
    },
)
"""Keys of the provenance."""


def validate_provenance(origin: object) -> Provenance:
    """Return a provenance; raise OptionError for any other type."""
    return check_instance(
        "origin", origin, Provenance, "a Provenance, or None", "Leave it out for the versions that are installed."
    )


def current_time() -> str:
    """Return the time of now in UTC, to the second, in the form of ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _installed_versions() -> dict[str, str]:
    """Return the installed versions of `RECORDED_PACKAGES`."""
    versions = {package: package_version(package) for package in RECORDED_PACKAGES}
    return {package: version for package, version in versions.items() if version}
