"""MadaBoost: weights that never rise above their first values, and what follows for d and for the training error."""

from __future__ import annotations

import numpy as np
import pytest
from boosting.random_classes import LP, draw_class

from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.boosters import outside
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import GivenMargins

SEEDS = [0, 1, 2, 3, 5]


@pytest.mark.parametrize("seed", SEEDS)
def test_d_is_bounded_relative_to_the_first_one_by_the_training_error(seed: int) -> None:
    random_class = draw_class(seed)
    oracle = random_class.oracle("best")
    run = boost("madaboost", oracle, max_rounds=40)
    assert run.rounds > 5
    for k in range(1, run.rounds):
        m = run.program.margins.take_columns(np.arange(len(run.at_round(k).w))).margins(run.at_round(k).w)
        weights = random_class.d0 * np.minimum(1.0, np.exp(-m))
        np.testing.assert_allclose(oracle.d[k], weights / weights.sum(), rtol=1e-10)
        error = random_class.d0[m <= 0].sum()
        assert weights.sum() >= error
        assert (oracle.d[k] <= random_class.d0 / max(error, 1e-300) * (1 + 1e-12)).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kappa", [0.2, 0.4])
def test_a_run_ends_below_the_target_training_error_and_bounds_the_class_at_kappa_N(seed: int, kappa: float) -> None:
    random_class = draw_class(seed)
    oracle = random_class.oracle("best")
    run = boost("madaboost", oracle, kappa=kappa, max_rounds=3000)
    assert run.stop_reason is StopReason.SMALL_MEAN_WEIGHT
    assert random_class.d0[run.program.margins.margins(run.w) <= 0].sum() < kappa
    assert (np.array(oracle.d) <= random_class.c / (kappa * random_class.total) * (1 + 1e-14)).all()
    assert outside(run) == 0
    optimum = random_class.optimum_of(random_class.U, kappa * random_class.total)
    assert run.class_certificate.lower - LP <= optimum <= run.class_certificate.upper + LP


def test_the_first_step_is_adaboosts_and_while_all_margins_are_positive_so_are_the_weights() -> None:
    random_class = draw_class(0)
    first, twin = (boost(name, random_class.oracle("best"), max_rounds=1) for name in ("madaboost", "adaboost"))
    np.testing.assert_allclose(first.record.state.w, twin.record.state.w, rtol=1e-12)
    is_wrong = first.record.state.m <= 0
    assert is_wrong.any()
    # What is wrong keeps its first weight; AdaBoost raises it.
    ratio = (twin.d / first.d) / (twin.d / first.d)[~is_wrong].mean()
    np.testing.assert_allclose(ratio[~is_wrong], 1.0, rtol=1e-10)
    np.testing.assert_allclose(ratio[is_wrong], np.exp(first.record.state.w[0]), rtol=1e-10)


def test_without_an_end_of_its_own_it_needs_a_limit_and_kappa_a_share() -> None:
    oracle = GivenMargins(draw_class(0).U)
    with pytest.raises(OptionError, match=r"MadaBoost.*max_rounds.*time_limit"):
        boost("madaboost", oracle)
    with pytest.raises(ProblemError, match=r"\bkappa\b.*\[0, 1\).*\b1\b"):
        boost("madaboost", oracle, kappa=1.0, max_rounds=2)
