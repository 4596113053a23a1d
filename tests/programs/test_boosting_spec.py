"""The rules of boosting that a formulation states in one record."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import typechecker

from boostopt import OptionError, ProblemError, boost, get_formulation, list_formulations
from boostopt.authoring import BoostingSpec
from boostopt.boosting.boosting_problem import Problem
from boostopt.formulations.erlpboost import ERLPBoost
from boostopt.formulations.lpboost import LPBoost
from boostopt.oracles import GivenMargins
from boostopt.programs.boosting_spec import FinalWeights, UpdateKind

U = np.random.default_rng(0).uniform(-1.0, 1.0, (12, 8))

PAGE = """
from boostopt.formulations.erlpboost import ERLPBoost


class Old(ERLPBoost):
    name = "old"
    needs_all_examples = False
"""


def test_strings_are_converted_and_equal_their_members() -> None:
    spec = BoostingSpec(update="step", final_weights="lp", rules="direct")
    assert spec.update is UpdateKind.STEP and spec.final_weights is FinalWeights.LP and spec.rules == ("direct",)
    assert spec.update == "step" and repr(spec.update) == "'step'" and f"{spec.final_weights}" == "lp"
    assert pickle.loads(pickle.dumps(spec.update)) is UpdateKind.STEP
    assert replace(spec, final_weights="scaled").update is UpdateKind.STEP


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("update", "totl", r"update 'totl'.*\btotal\b.*\bline_search\b"),
        ("update", None, r"update None.*\bprojection\b"),
        ("final_weights", "mean", r"final_weights 'mean'.*\blp, program, scaled\b"),
        ("rules", 3, r"\brules\b.*\b3\b"),
        ("iteration_bound", 16.0, r"\biteration_bound\b.*\bfunction\b.*\b16\.0\b"),
        ("next_parameters", {"gamma": 1.0}, r"\bnext_parameters\b.*\bfunction\b"),
    ],
)
def test_a_wrong_field_is_refused(field: str, value: Any, message: str) -> None:
    options: Any = {field: value}
    with typechecker.unchecked(), pytest.raises(OptionError, match=message):
        BoostingSpec(**options)


def test_a_spec_is_frozen_and_its_defaults_promise_nothing() -> None:
    spec: Any = BoostingSpec()
    with pytest.raises(FrozenInstanceError):
        spec.update = UpdateKind.STEP
    program = get_formulation("lpboost").bind(U, nu=2)
    assert spec.iteration_bound(program) == math.inf and spec.guaranteed_edge(program.parameters) is None
    assert spec.min_edge_excess(program.parameters) == 0.0 and spec.keeps_perfect_hypothesis(program.parameters)


def test_no_formulation_states_more_than_four_rules() -> None:
    default = BoostingSpec()
    for name in list_formulations():
        spec = get_formulation(name).boosting
        rules = [field.name for field in fields(spec) if getattr(spec, field.name) != getattr(default, field.name)]
        assert len(rules) <= 4, f"{name} states {rules}: are these rules independent?"


@pytest.mark.parametrize(
    ("member", "advice"),
    [
        ('stopping_rules = ("direct",)', r"rules=\.\.\."),
        ('update = "step"', r"update=\.\.\."),
        ('final_weights = "scaled"', r"final_weights=\.\.\."),
        ("def iteration_bound(self, p, examples): return 3.0", r"iteration_bound=lambda program: \.\.\."),
        ("def next_parameters(self, progress): return {}", r"next_parameters=lambda progress: \.\.\."),
    ],
)
def test_a_file_of_the_old_form_is_refused_with_the_new_one(tmp_path: Path, member: str, advice: str) -> None:
    page = tmp_path / "old.py"
    page.write_text(f"{PAGE}    {member}\n")
    with pytest.raises(OptionError, match=rf"old\.py.*\bOld\b.*boosting = BoostingSpec\({advice}\).*authoring"):
        get_formulation(page)
    page.write_text(PAGE)
    assert get_formulation(page).boosting is ERLPBoost.boosting


def test_rules_of_another_type_are_refused() -> None:
    with pytest.raises(ProblemError, match=r"boosting of Wrong\b.*BoostingSpec.*'step'.*Write boosting ="):
        type("Wrong", (ERLPBoost,), {"boosting": "step"})


def test_functions_of_a_new_spec_withdraw_the_symmetry_and_another_smoothing_the_sum() -> None:
    class Ruled(LPBoost):
        boosting: ClassVar[BoostingSpec] = replace(LPBoost.boosting, rules=("direct",))

    class Stepped(LPBoost):
        boosting: ClassVar[BoostingSpec] = replace(LPBoost.boosting, next_parameters=lambda progress: {})

    class Smoothed(LPBoost):
        boosting: ClassVar[BoostingSpec] = replace(LPBoost.boosting, smoothed_formulation="norm_ball")

    assert Ruled.is_symmetric and not Ruled.needs_all_examples
    assert not Stepped.is_symmetric and not Stepped.needs_all_examples
    assert Smoothed.is_symmetric and Smoothed.needs_all_examples


def test_a_problem_and_a_run_have_members() -> None:
    problem = Problem.create(get_formulation("erlpboost"), np.ones(12), None, 0.1, "line_search", {"nu": 3.0})
    assert problem.update is UpdateKind.LINE_SEARCH
    assert pickle.loads(pickle.dumps(problem)).update is UpdateKind.LINE_SEARCH
    run = boost("softboost", GivenMargins(U), nu=3.0, epsilon=0.2, update="total", final_weights="lp")
    assert run.final_weights is FinalWeights.LP and pickle.loads(pickle.dumps(run)).final_weights is FinalWeights.LP
