"""Intervals over small classes hold the optimum over all hypotheses, which are listed without the oracles."""

from __future__ import annotations

import pytest
from support.class_attacks import ATTACKS, attack_class


@pytest.mark.parametrize("seed", range(30))
def test_intervals_over_the_class_hold_the_optimum_of_the_list(seed: int) -> None:
    for k in range(len(ATTACKS)):
        assert not attack_class(len(ATTACKS) * seed + k)[1]
