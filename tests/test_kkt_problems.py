"""Problems made from a point and multipliers, and degenerate ones: no certificate of them is false."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.kkt_problems import degenerate_problems, judge, random_problems

SHARES = {
    "not attained": 0.9,
    "one point": 0.85,
    "face": 0.85,
    "falls slowly": 0.75,
    "no point by 1e-9": 1.0,
    "points by 1e-6": 1.0,
}
"""The least share of each group that is not open."""


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 5))])
def test_certificates_of_random_problems_contain_the_optimum(seed: int) -> None:
    verdicts = [judge(item, False) for item in random_problems(4 if seed == 0 else 30, np.random.default_rng(seed))]
    assert all(verdict in ("closed", "wide") for verdict, _ in verdicts), verdicts


@pytest.mark.thorough
@pytest.mark.parametrize(("group", "share"), [*SHARES.items()])
def test_most_degenerate_problems_are_proved_and_none_falsely(group: str, share: float) -> None:
    verdicts = [judge(item, False) for name, item in degenerate_problems() if name == group]
    assert all(verdict in ("closed", "wide", "open") for verdict, _ in verdicts), verdicts
    assert sum(verdict != "open" for verdict, _ in verdicts) >= share * len(verdicts)
