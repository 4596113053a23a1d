"""BrownBoost: the mean potential stays kappa, the training error ends at kappa or below."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from boosting.random_classes import LP, draw_class
from scipy.special import erf, erfinv

from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import GivenMargins


def time_left(run: Run) -> float:
    return cast(float, run.record.state.memory["s"])


def potential(run: Run, counts: np.ndarray, c: float) -> float:
    """The mean of 1 - erf((r + s) / sqrt c)."""
    z = (run.record.state.m + time_left(run)) / np.sqrt(c)
    return float(counts @ (1 - erf(z)) / counts.sum())


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("kappa", [0.05, 0.3, 0.6])
def test_the_mean_potential_stays_kappa_and_the_training_error_ends_below(seed: int, kappa: float) -> None:
    random_class, c = draw_class(seed), float(erfinv(1 - kappa)) ** 2
    remaining_times: list[float] = []
    for rounds in (1, 2, 3, 5, 10, 1000):
        run = boost("brownboost", random_class.oracle("best"), kappa=kappa, max_rounds=rounds)
        remaining_times.append(time_left(run))
        assert abs(potential(run, random_class.c, c) - kappa) <= 1e-9
    assert (np.diff(remaining_times) <= 0).all()
    assert remaining_times[0] < c
    if remaining_times[-1] == 0.0:
        assert run.stop_reason is StopReason.TIME_USED
        assert random_class.c[run.record.state.m <= 0].sum() / random_class.c.sum() <= kappa + 1e-9


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_the_time_is_up_where_the_class_is_good_enough(seed: int) -> None:
    random_class = draw_class(seed)
    run = boost("brownboost", random_class.oracle("best"), kappa=0.6, max_rounds=5000)
    assert time_left(run) == 0.0
    assert random_class.c[run.record.state.m <= 0].sum() / random_class.c.sum() <= 0.6 + 1e-9


@pytest.mark.parametrize("seed", [0, 1])
def test_both_equations_hold_after_each_round_but_the_last(seed: int) -> None:
    random_class, c = draw_class(seed), 2.0
    for rounds in (1, 2, 6):
        oracle = random_class.oracle("best")
        run = boost("brownboost", oracle, time=c, max_rounds=rounds)
        s, r = time_left(run), run.record.state.m
        assert s > 0.0
        weights = random_class.c * np.exp(-((r + s) ** 2) / c)
        newest = oracle.u[rounds - 1]
        assert abs(newest @ weights / weights.sum()) < 1e-9
        np.testing.assert_allclose(run.d, weights / weights.sum(), rtol=1e-9)


def test_kappa_and_c_are_two_names_of_one_number() -> None:
    random_class = draw_class(0)
    by_kappa = boost("brownboost", random_class.oracle("best"), kappa=0.2, max_rounds=4)
    by_c = boost("brownboost", random_class.oracle("best"), time=float(erfinv(0.8)) ** 2, max_rounds=4)
    np.testing.assert_allclose(by_kappa.w, by_c.w, rtol=1e-9)
    parameters: dict[str, float]
    for parameters, came in (({}, "time=None, kappa=None"), ({"time": 1.0, "kappa": 0.1}, r"time=1\.0, kappa=0\.1")):
        options: Any = {**parameters, "max_rounds": 2}
        with pytest.raises(OptionError, match=came):
            boost("brownboost", random_class.oracle("best"), **options)
    with pytest.raises(ProblemError, match=r"\bkappa\b.*\(0, 1\).*\b1\.5\b"):
        boost("brownboost", random_class.oracle("best"), kappa=1.5, max_rounds=2)
    with pytest.raises(ProblemError, match=r"\btime\b.*\[1e-6, 600\].*\b10000\b"):
        boost("brownboost", random_class.oracle("best"), time=1e4, max_rounds=2)


def test_a_hypothesis_that_is_right_everywhere_uses_the_time_up_at_once() -> None:
    U = np.full((7, 1), 0.5)
    run = boost("brownboost", GivenMargins(U), kappa=0.1, max_rounds=9)
    assert run.rounds == 1
    assert time_left(run) == 0.0
    assert potential(run, np.ones(7), float(erfinv(0.9)) ** 2) == pytest.approx(0.1, abs=1e-9)


def test_hypotheses_that_abstain_are_taken() -> None:
    rng = np.random.default_rng(4)
    U = rng.choice([-1.0, 0.0, 1.0], size=(40, 30), p=[0.2, 0.4, 0.4])
    run = boost("brownboost", GivenMargins(U), kappa=0.2, max_rounds=300)
    assert abs(potential(run, np.ones(40), float(erfinv(0.8)) ** 2) - 0.2) <= 1e-9


@pytest.mark.parametrize("c", [1e-6, 30.0, 600.0])
def test_extreme_times_are_within_reach(c: float) -> None:
    random_class = draw_class(0)
    run = boost("brownboost", random_class.oracle("best"), time=c, max_rounds=20)
    assert np.isfinite(run.record.state.m).all()
    assert 0.0 <= time_left(run) < c
    assert run.d.sum() == pytest.approx(1.0, abs=1e-12)
    assert run.class_certificate.upper >= random_class.optimum_of(random_class.U, 1.0) - LP
