"""Properties of all boosters: certificates of the class against linear programming, files, checkpoints, options."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boosting.random_classes import LP, RandomClass, draw_class

from boostopt import DataError, OptionError, ProblemError, boost, list_formulations, verify
from boostopt.boosting import BoostOptions, Stabilization, path
from boostopt.boosting.boosters import BOOSTERS, Booster, outside
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.reweighting import Reweighting, certified_nu
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import UpdateContext
from boostopt.oracles import DecisionStumps
from boostopt.verification import save_class

pytestmark = pytest.mark.every(2)

Boost = Callable[..., Run]

CASES: tuple[tuple[str, Boost, dict[str, Any]], ...] = (
    ("AdaBoost_REG", partial(boost, "adaboost_reg"), {"C": 20.0}),
    ("AdaBoost_REG", partial(boost, "adaboost_reg"), {"C": 300.0, "p": 2}),
    ("SmoothBoost", partial(boost, "smoothboost"), {"kappa": 0.3, "gamma": 0.02}),
    ("BrownBoost", partial(boost, "brownboost"), {"kappa": 0.1}),
    ("MadaBoost", partial(boost, "madaboost"), {}),
    ("nu_Arc", partial(boost, "nu_arc"), {"nu": 6.0}),
)

each_booster = pytest.mark.parametrize(
    ("name", "boosted", "keywords"), CASES, ids=[f"{name} {keywords}" for name, _, keywords in CASES]
)
COMPARED_COLUMNS = ("round", "hypotheses", "edge", "smallest_edge", "soft_margin", "value", "active")


@each_booster
@pytest.mark.parametrize("seed", [0, 2, 3])
@pytest.mark.parametrize("nu", [1.0, 9.5])
def test_no_certificate_of_the_class_contradicts_linear_programming(
    name: str, boosted: Boost, keywords: dict[str, Any], seed: int, nu: float
) -> None:
    random_class: RandomClass = draw_class(seed)
    oracle = random_class.oracle("best")
    run = boosted(oracle, **{**keywords, "nu": nu}, max_rounds=25)
    optimum = random_class.optimum_of(random_class.U, nu)
    certificate = run.class_certificate
    assert certificate.lower - LP <= optimum <= certificate.upper + LP
    assert (np.asarray(run.trace["upper"]) >= optimum - LP).all()
    assert certificate.lower == pytest.approx(
        RandomClass(random_class.U, random_class.c, nu).soft_margin(run.w, run.program.margins.to_array()), abs=1e-8
    )
    queries = np.array(oracle.d[: run.rounds])
    n_uncapped = int(np.count_nonzero((queries > random_class.c / nu * (1 + 1e-12)).any(axis=1)))
    assert outside(run) == n_uncapped
    assert re.findall(r"(\d+) of (\d+) rounds", run.reason) == (
        [(str(n_uncapped), str(run.rounds))] if n_uncapped else []
    )
    if n_uncapped < run.rounds:
        assert certificate.d is not None
        assert (certificate.d <= random_class.c / nu * (1 + 1e-12)).all()


def test_the_names_of_files_are_no_formulations() -> None:
    assert not set(BOOSTERS) & set(list_formulations())


def stumps() -> DecisionStumps:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    return DecisionStumps(X, np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1))


@each_booster
def test_a_run_is_loaded_as_it_was_saved(name: str, boosted: Boost, keywords: dict[str, Any], tmp_path: Path) -> None:
    oracle = stumps()
    run = boosted(oracle, **keywords, max_rounds=12, nus=[3.0])
    run.save(tmp_path / "run.npz")
    loaded = Run.load(tmp_path / "run.npz")
    assert loaded.record.problem.formulation.name == name
    assert loaded.reason == run.reason
    np.testing.assert_array_equal(loaded.w, run.w)
    np.testing.assert_array_equal(loaded.d, run.d)
    assert loaded.record.state.memory.keys() == run.record.state.memory.keys()
    for key, value in run.record.state.memory.items():
        np.testing.assert_array_equal(loaded.record.state.memory[key], value)
    assert loaded.class_certificate.upper == run.class_certificate.upper
    assert loaded.verify_class(oracle).upper == pytest.approx(run.class_certificate.upper, abs=1e-12)
    np.testing.assert_array_equal(loaded.at_round(3).d, run.at_round(3).d)


@each_booster
def test_a_run_that_is_resumed_goes_the_same_way(
    name: str, boosted: Boost, keywords: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "run.npz"
    through = boosted(stumps(), **keywords, max_rounds=15)
    boosted(stumps(), **keywords, max_rounds=6, checkpoint=file, checkpoint_rounds=2)
    resumed = boosted(stumps(), **keywords, max_rounds=15, checkpoint=file, checkpoint_rounds=4)
    np.testing.assert_array_equal(resumed.record.state.w, through.record.state.w)
    np.testing.assert_array_equal(resumed.d, through.d)
    assert resumed.reason == through.reason
    for column in COMPARED_COLUMNS:
        np.testing.assert_array_equal(resumed.trace[column], through.trace[column])
    # The bound in the file was not believed: the oracle was asked for it once more.
    np.testing.assert_allclose(resumed.trace["upper"], through.trace["upper"], rtol=1e-14)


def test_a_checkpoint_of_other_parameters_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    boost("adaboost_reg", stumps(), C=2.0, max_rounds=3, checkpoint=file)
    with pytest.raises(DataError, match="parameters"):
        boost("adaboost_reg", stumps(), C=3.0, max_rounds=3, checkpoint=file)
    with pytest.raises(DataError, match=r"AdaBoost_REG.*MadaBoost"):
        boost("madaboost", stumps(), max_rounds=3, checkpoint=file)


@each_booster
def test_runs_are_classifiers_with_a_trace_and_test_examples(
    name: str, boosted: Boost, keywords: dict[str, Any]
) -> None:
    oracle = stumps()
    X = np.random.default_rng(8).normal(size=(30, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1)
    run = boosted(oracle, **keywords, max_rounds=8, test=(X, y), nus=[2.0])
    assert run.trace["test_error"][-1] == pytest.approx(np.mean(run.predict(X) != y))
    assert len(run.trace["soft_margin[nu=2]"]) == run.rounds
    assert run.w.sum() == pytest.approx(1.0)
    assert name in repr(run)


def test_the_direct_rule_ends_a_run_where_it_is_asked_for() -> None:
    random_class = draw_class(0)
    optimum = random_class.optimum_of(random_class.U, 1.0)
    run = boost("madaboost", random_class.oracle("best"), epsilon=0.2, max_rounds=500)
    assert run.stop_reason is StopReason.DIRECT and "epsilon = 0.2" in run.reason
    assert run.class_certificate.gap <= 0.2 + 1e-9
    assert run.class_certificate.lower >= optimum - 0.2 - LP
    longer_run = boost("madaboost", random_class.oracle("best"), max_rounds=run.rounds + 3)
    assert longer_run.rounds == run.rounds + 3


@each_booster
def test_options_are_checked(name: str, boosted: Boost, keywords: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="max_round"):
        boosted(stumps(), **keywords, max_round=3)
    with pytest.raises(OptionError, match="final_weights"):
        boosted(stumps(), **keywords, max_rounds=3, final_weights="best")


def test_the_page_has_every_booster() -> None:
    page = (Path(__file__).parents[3] / "docs/boosters.md").read_text(encoding="utf-8")
    for name in BOOSTERS:
        assert f"\n## {name}\n" in page


@each_booster
def test_boost_reaches_it_by_its_name(name: str, boosted: Boost, keywords: dict[str, Any]) -> None:
    named = boost(name.upper(), stumps(), **keywords, max_rounds=9)
    run = boost(BOOSTERS[name], stumps(), **keywords, max_rounds=9)
    np.testing.assert_array_equal(named.w, run.w)
    np.testing.assert_array_equal(named.d, run.d)
    assert named.reason == run.reason
    assert named.class_certificate.upper == run.class_certificate.upper
    assert named.record.problem.update == "reweighting"


def test_the_options_of_boost_are_those_of_a_booster() -> None:
    options = BoostOptions(max_rounds=5, columns_per_round=2, nus=[2.0])
    run = boost("madaboost", stumps(), options=options)
    assert run.rounds == 5
    assert len(run.trace["soft_margin[nu=2]"]) == 5
    assert len(run.hypotheses) > 5  # two in a round, the better one with the step
    with pytest.raises(OptionError, match=r"MadaBoost.*\bstart\b.*checkpoint"):
        boost("madaboost", stumps(), max_rounds=5, start=run)
    with pytest.raises(OptionError, match=r"stabilization.*MadaBoost.*'reweighting'"):
        boost("madaboost", stumps(), max_rounds=5, stabilization=Stabilization(inner=0.5))
    with pytest.raises(OptionError, match=r"\bpath\b.*MadaBoost"):
        path("madaboost", stumps(), nu=[2.0, 3.0], max_rounds=5)
    with pytest.raises(OptionError, match=r"MadaBoost.*'reweighting'.*update='total'"):
        boost("madaboost", stumps(), max_rounds=5, update="total")
    with pytest.raises(OptionError, match=r"lpboost.*'total'.*update='reweighting'"):
        boost("lpboost", stumps(), nu=3.0, update="reweighting")


def test_a_booster_of_the_users_own_is_one_page() -> None:
    class Halving(Reweighting):
        def step(self, context: UpdateContext) -> State:
            return self.went(context, 0.5, lambda m: -m)

    @dataclass(frozen=True, kw_only=True)
    class Numbers:
        nu: float = certified_nu()

    class HalfSteps(Booster):
        name = "half_steps"
        Parameters = Numbers

        def reweighting(self, problem: Problem) -> Reweighting:
            return Halving(problem)

    random_class = draw_class(2)
    run = boost(HalfSteps(), random_class.oracle("best"), nu=9.5, max_rounds=12)
    optimum = random_class.optimum_of(random_class.U, 9.5)
    assert run.class_certificate.lower - LP <= optimum <= run.class_certificate.upper + LP
    assert (run.record.state.w % 0.5 == 0.0).all()


def test_influence_is_the_mean_of_the_weights_that_an_example_has_had() -> None:
    run = boost("adaboost_reg", stumps(), C=20.0, max_rounds=10)
    c, steps, old_w = run.record.problem.examples.c, [], np.zeros(len(run.w))
    sums = np.zeros(len(c))
    d = c / c.sum()
    for number in range(1, 11):
        now = run.at_round(number)
        w = np.concatenate([now.w, np.zeros(len(run.w) - len(now.w))])
        steps.append(w.sum() - old_w.sum())
        sums += steps[-1] * d / c
        old_w, d = w, now.d
    np.testing.assert_allclose(run.influence, sums / sum(steps), rtol=1e-9)
    assert c @ run.influence == pytest.approx(1.0)
    with pytest.raises(OptionError, match=r"influence.*AdaBoost_REG.*MadaBoost"):
        _ = boost("madaboost", stumps(), max_rounds=3).influence


@each_booster
def test_the_certificate_is_verified_from_a_file(
    name: str, boosted: Boost, keywords: dict[str, Any], tmp_path: Path
) -> None:
    oracle = stumps()
    run = boosted(oracle, **keywords, max_rounds=12)
    save_class(run, oracle, tmp_path / "class.json")
    verdict = verify(tmp_path / "class.json", oracle)
    assert verdict, verdict.reason
    assert verdict.formulation == name


def test_a_guarantee_takes_nothing_of_what_smoothboost_needs() -> None:
    rng = np.random.default_rng(0)
    oracle = DecisionStumps(rng.normal(size=(200, 1)), rng.choice([-1, 1], size=200))
    run = boost("smoothboost", oracle, kappa=0.1, gamma=0.4, guarantee=-1.0)
    assert run.stop_reason is StopReason.GUARANTEE_BROKEN and " 0.8," in run.reason
    assert run.rounds <= run.iteration_bound


@pytest.mark.thorough
def test_an_epsilon_ends_smoothboost_by_what_is_certified_and_not_by_what_is_taken_for_granted() -> None:
    run = boost("smoothboost", stumps(), kappa=0.3, gamma=0.02, epsilon=0.05)
    assert not run.reason.startswith("direct") or run.class_certificate.gap <= 0.05 + 1e-9
    assert run.trace["smallest_edge"][0] == run.trace["edge"][0]


def test_numbers_at_the_ends_of_their_domains_are_no_tracebacks() -> None:
    assert boost("smoothboost", stumps(), kappa=0.1, gamma=1e-300, max_rounds=3).rounds == 3
    for kappa in (1e-300, 0.99999999999):
        with pytest.raises(ProblemError, match=rf"\bkappa\b.*\[1e-6, 600\].*\b{kappa:g}\b"):
            boost("brownboost", stumps(), kappa=kappa, max_rounds=2)
    with pytest.raises(OptionError, match=r"time=None.*kappa=None"):
        boost("brownboost", stumps(), max_rounds=2)
    with pytest.raises(OptionError, match=r"\brun\b.*booster.*lpboost"):
        outside(boost("lpboost", stumps(), nu=3.0, max_rounds=2))
