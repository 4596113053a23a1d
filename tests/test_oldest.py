"""The versions that `make oldest` tries: every bound of pyproject.toml, with a file of tests for every package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WITHOUT = {"arguments", "prototypes", "saved"}
"""Folders that hold no tests of their own, or those of a module that is no package."""


@pytest.fixture
def tried() -> list[str]:
    """The files of tests in the Makefile."""
    text = (ROOT / "Makefile").read_text()
    match = re.search(r"^OLDEST_TESTS := \$\(addprefix tests/,(.*?)\)$", text, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match.group(1).replace("\\\n", " ").split()


def test_every_package_has_a_file_that_is_there(tried: list[str]) -> None:
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    folders = {folder for folder in folders if not folder.startswith(("_", "test_"))}
    assert {Path(file).parts[0] for file in tried if len(Path(file).parts) > 1} == folders - WITHOUT
    assert all((ROOT / "tests" / file).is_file() for file in tried)


def test_everything_that_users_install_has_a_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounded = ("dask", "fast", "formulas", "report")
    for requirement in (
        *project["dependencies"],
        *(optional_requirement for extra in bounded for optional_requirement in extras[extra]),
    ):
        assert re.fullmatch(r"[\w-]+(\[[\w,]+\])?>=[\d.]+(,!=[\d.]+)?", requirement), requirement
