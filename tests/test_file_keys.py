"""The keys in files of every kind stay as `saved/keys.json` states them: no renaming in the code changes a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.file_kinds import WRITERS, keys_of

STATED: dict[str, list[str]] = json.loads((Path(__file__).parent / "saved" / "keys.json").read_text())


def test_the_keys_of_every_kind_are_stated() -> None:
    assert STATED.keys() == WRITERS.keys() and all(STATED.values())


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_has_the_keys_that_are_stated(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    assert sorted(keys_of(tmp_path / name)) == STATED[name]
