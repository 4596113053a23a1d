"""The page of theorems and the tests agree."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "theorems.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    defined = {
        name
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > 40
    assert named <= defined


def test_every_theorem_is_proved_and_held_by_a_test() -> None:
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:-2]:
        statements = len(re.findall(r"^\*\*Theorem", section, re.MULTILINE))
        assert statements > 0
        assert len(re.findall(r"^\*Proof", section, re.MULTILINE)) >= statements, section[:60]
        assert "*Held by*" in section, section[:60]
