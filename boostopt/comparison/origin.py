"""The origin of a comparison: command, date, data, versions, and what was left out of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

from boostopt.arguments import instance
from boostopt.comparison.fields import Text, TextsByName, pairs
from boostopt.comparison.machine import boostopt_version

PACKAGES = ("numpy", "scipy", "cvxpy")
"""Packages whose versions matter besides those of the solvers, which stand with every run."""


@dataclass(frozen=True)
class Origin:
    """The circumstances of a comparison, as far as its caller says.

    Attributes
    ----------
    command
        The command line, "" for none.
    date
        When it was begun, "" where nobody said.
    data
        Name or path of the data set, or of the folder of data sets.
    versions
        Versions by package.
    skipped
        What was to be solved and is no program, each with the reason.
    """

    command: Text = ""
    date: Text = ""
    data: Text = ""
    versions: TextsByName = field(default_factory=dict[str, str])
    skipped: Annotated[tuple[tuple[str, str], ...], pairs] = ()

    @classmethod
    def here(
        cls, command: str = "", date: str = "", data: str = "", skipped: tuple[tuple[str, str], ...] = ()
    ) -> Origin:
        """Return the origin of what is made in this process, with the versions that are installed."""
        return cls(command, date, data, {"boostopt": boostopt_version(), **_installed()}, skipped)

    def record(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "skipped": [list(pair) for pair in self.skipped]}


def check_origin(origin: object) -> Origin:
    """Return how something came about, or raise OptionError for what does not say that."""
    return instance("origin", origin, Origin, "an Origin, or None", "Leave it out for the versions that are installed.")


def _installed() -> dict[str, str]:
    """The versions of the packages that are there."""
    versions: dict[str, str] = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
