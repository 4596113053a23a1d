"""Intervals of one program overlap whatever is certified; `benchmarks/attacks.py` tries tens of thousands."""

from __future__ import annotations

import pytest
from support.false_answers_of_programs import attack_pair, attack_run, pair_names

pytestmark = pytest.mark.filterwarnings("ignore:pnorm with p", "ignore:Solution may be inaccurate")


@pytest.mark.parametrize("name", ["hinge+l2_squared", "soft_margin+simplex"])
def test_false_answers_of_a_pair_prove_nothing_false(name: str) -> None:
    counts, reasons = attack_pair(name, 3)
    assert not reasons
    assert counts["certificates"] == counts["finite"] == 21


@pytest.mark.thorough
@pytest.mark.parametrize("name", pair_names())
def test_false_answers_of_each_pair_prove_nothing_false(name: str) -> None:
    for seed in range(2):
        counts, reasons = attack_pair(name, seed)
        assert not reasons
        assert counts["certificates"] > 20


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("seed", range(10))
def test_runs_by_solvers_that_lie_bound_the_optimum_of_the_class(seed: int) -> None:
    counts, reasons = attack_run(seed)
    assert not reasons
    assert counts["runs"] > 0
