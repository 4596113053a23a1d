"""The ends of AdaBoost and ATA: with a hypothesis that has no error, and with one that errs too much."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import GivenMargins

NAMES: list[tuple[str, dict[str, Any]]] = [("adaboost", {}), ("ata", {"phi": 0.4})]


def perfect_in_the_third_round() -> GivenMargins:
    """Two hypotheses that err, then one that does not."""
    return GivenMargins(np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [1, 1, 1]]), choose=[0, 1, 2])


@pytest.mark.parametrize(("name", "arguments"), NAMES)
def test_a_hypothesis_without_error_is_the_classifier_or_left_out_as_printed(
    name: str, arguments: dict[str, Any]
) -> None:
    ours = boost(name, perfect_in_the_third_round(), max_rounds=9, rules=(), **arguments)
    assert ours.w.tolist() == [0.0, 0.0, 1.0] and ours.rounds == 3
    assert ours.stop_reason is StopReason.ONE_HYPOTHESIS
    printed_run = boost(name, perfect_in_the_third_round(), max_rounds=9, rules=(), keep_faultless=False, **arguments)
    earlier_run = boost(name, perfect_in_the_third_round(), max_rounds=2, rules=(), **arguments)
    assert printed_run.stop_reason is StopReason.OTHER and printed_run.reason.endswith("left out")
    assert printed_run.rounds == earlier_run.rounds == 2 and printed_run.w[2] == 0.0
    assert np.array_equal(printed_run.w[:2], earlier_run.w) and earlier_run.w.all()


@pytest.mark.parametrize(("name", "arguments"), NAMES)
def test_the_first_hypothesis_is_never_left_out(name: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    oracle = GivenMargins(np.array([[1, 1], [1, -1], [1, 1]]))
    path = tmp_path / "run.npz"
    for _ in range(2):
        run = boost(name, oracle, max_rounds=9, rules=(), keep_faultless=False, checkpoint=path, **arguments)
        assert run.w.tolist() == [1.0] and run.rounds == 1
        assert "the first" in run.reason


def oracle_of_error(error: float) -> GivenMargins:
    """One hypothesis with that share of errors, by multiplicities."""
    return GivenMargins(np.array([[1], [-1]]), c=[1.0 - error, error])


@pytest.mark.parametrize("phi", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("Delta", [1e-9, 0.05])
def test_ata_ends_where_the_error_is_not_below_phi_less_delta(phi: float, Delta: float) -> None:
    for error, stays in ((phi - 2 * Delta, True), (phi - 0.5 * Delta, False), (phi + Delta, False)):
        run = boost("ata", oracle_of_error(error), phi=phi, Delta=Delta, max_rounds=1, rules=())
        assert run.rounds == (1 if stays else 0)
        if stays:
            step = run.record.state.weight_sum
            assert step == pytest.approx(0.5 * math.log(phi * (1 - error) / (error * (1 - phi))), rel=1e-5)
        else:
            assert "its target" in run.reason
            assert run.w.tolist() == [1.0]  # the largest soft margin over what there is


def test_ata_makes_no_round_whose_step_is_next_to_nothing() -> None:
    rng = np.random.default_rng(3)
    U = rng.choice([-1, 1], (40, 30), p=[0.35, 0.65])
    run = boost("ata", GivenMargins(U), phi=0.3, max_rounds=3000, rules=(), history=True)
    steps = np.array([np.abs(run.at_round(k).w).sum() for k in range(1, run.rounds + 1)])
    assert run.rounds < 3000 and (np.diff(steps, prepend=0.0) > 1e-9).all()
    assert "target 0.4 " in run.reason and " 2e-09," in run.reason


def test_other_values_of_these_options_are_refused() -> None:
    with pytest.raises(ProblemError, match=r"Delta .*\[0, 1\)"):
        boost("ata", oracle_of_error(0.2), phi=0.3, Delta=1.0, max_rounds=1)
    with pytest.raises(ProblemError, match="keep_faultless"):
        boost("adaboost", oracle_of_error(0.2), keep_faultless="no", max_rounds=1)
    with pytest.raises(OptionError, match=r"'Delta'.*\badaboost\b.*keep_faultless"):
        boost("adaboost", oracle_of_error(0.2), Delta=0.1, max_rounds=1)
