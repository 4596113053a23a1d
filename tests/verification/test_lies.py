"""Structured lies are refused, unless what they say is true."""

from __future__ import annotations

from pathlib import Path

import pytest
from lies import judge_lies

pytestmark = pytest.mark.filterwarnings("ignore:pnorm with p")


def test_lies_about_a_program_are_refused_or_true(tmp_path: Path) -> None:
    counts = judge_lies(20, 3, tmp_path, ("cap",))
    assert counts["accepted"] + counts["rejected"] == 20 and counts["claims"] > 2


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_many_lies_are_refused_or_true(seed: int, tmp_path: Path) -> None:
    counts = judge_lies(500, seed, tmp_path)
    assert counts["accepted"] + counts["rejected"] == 500
    assert counts["accepted"] > 5 and counts["claims"] > 50
