"""The options of a run: whole or one by one, and rules of one's own."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields
from inspect import signature

import numpy as np
import pytest
import typechecker
from plain_stumps import PlainStumps
from support.problems import noisy_stumps

from boostopt import OptionError, boost, path
from boostopt.boosting import BoostOptions, Rule, Schedule, Stabilization
from boostopt.oracles import GivenMargins

ORACLE = GivenMargins(noisy_stumps(60, 40, seed=3))


def test_options_given_whole_are_those_given_one_by_one() -> None:
    options = BoostOptions(max_rounds=7, columns_per_round=2, stabilization=Stabilization(inner=0.5))
    whole = boost("lpboost", ORACLE, nu=6, options=options)
    single = boost("lpboost", ORACLE, nu=6, max_rounds=7, columns_per_round=2, stabilization=Stabilization(inner=0.5))
    assert whole.rounds == single.rounds == 7
    np.testing.assert_array_equal(whole.w, single.w)


def test_keywords_override_the_options_record() -> None:
    run = boost("lpboost", ORACLE, nu=6, options=BoostOptions(max_rounds=7, history=True), max_rounds=4)
    assert run.rounds == 4
    assert len(run.at_round(2).w) == 2


def test_a_path_takes_them_too_but_none_that_is_of_one_run() -> None:
    several = path("lpboost", ORACLE, nu=[12.0, 6.0], options=BoostOptions(max_rounds=5))
    assert max(several.rounds) <= 5
    with pytest.raises(OptionError, match=r"^checkpoint\b.*\b2\b"):
        path("lpboost", ORACLE, nu=[12.0, 6.0], options=BoostOptions(checkpoint="run.npz"))


def test_options_are_read_when_they_are_made_and_do_not_change() -> None:
    with typechecker.unchecked(), pytest.raises(OptionError, match=r"^columns_per_round\b.*\b1\b.*\b1\.5\b"):
        BoostOptions(columns_per_round=1.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(FrozenInstanceError):
        BoostOptions().max_rounds = 3  # pyright: ignore[reportAttributeAccessIssue]
    with typechecker.unchecked(), pytest.raises(OptionError) as refused:
        boost("lpboost", ORACLE, nu=6, options=Schedule())  # pyright: ignore[reportArgumentType]
    assert re.search(r"^options\b.*\bBoostOptions\b.*\bSchedule\(", str(refused.value))


def test_boost_has_few_parameters_of_its_own_and_each_other_one_is_an_option() -> None:
    names = [
        name for name, parameter in signature(boost).parameters.items() if parameter.kind is not parameter.VAR_KEYWORD
    ]
    assert len(names) <= 8
    assert not {field.name for field in fields(BoostOptions)} & set(names)


def test_a_rule_of_ones_own_ends_a_run() -> None:
    few = Rule("few", "three at {epsilon}", lambda view: len(view.state.w) >= 3)
    run = boost("lpboost", ORACLE, nu=6, epsilon=1e-9, rules=few)
    assert run.reason == f"few: {few.condition.format(epsilon=1e-9)}"
    assert len(run.w) == 3
    either = boost("lpboost", ORACLE, nu=6, epsilon=1e-9, rules=[few, "direct"])
    assert either.reason == run.reason


def test_a_rule_of_ones_own_that_cannot_hold_is_refused() -> None:
    never = Rule("never", "it never holds", lambda view: False, lambda problem: "hopeless")
    with pytest.raises(OptionError, match=r"'never'.*\blpboost\b.*\bhopeless\b"):
        boost("lpboost", ORACLE, nu=6, rules=[never])
    with typechecker.unchecked(), pytest.raises(OptionError, match=r"^rules\b.*\[3\].*\bRule\("):
        boost("lpboost", ORACLE, nu=6, rules=[3])  # pyright: ignore[reportArgumentType]


def test_test_examples_that_hypotheses_cannot_be_evaluated_on_are_refused_before_the_first_round() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 3] + X[:, 1] > 0, 1, -1)
    for invalid, came in ((X[:, :2], r"\b4\b.*\(60, 2\)"), (X * np.nan, r"\bnan\b")):
        with pytest.raises(OptionError, match=rf"^test\b.*\bX\b.*{came}"):
            boost("erlpboost", PlainStumps(X, y), nu=6, epsilon=0.1, test=(invalid, y))
