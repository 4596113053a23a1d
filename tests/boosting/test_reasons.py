"""The reason for the end of a run is a member of an enumeration, whose texts are those in files; no wording decides."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import boostopt
from boostopt import boost
from boostopt.boosting.run.stop_reason import LIMITS, StopReason
from boostopt.boosting.stopping_rules import RULES, Rule, index_rules, rule_of
from boostopt.oracles import GivenMargins

STORED_TEXTS = {
    "DIRECT": "direct",
    "REGULARIZED": "regularized",
    "SIMPLE": "simple",
    "PRACTICAL": "practical",
    "OPTIMUM": "optimum",
    "BOUNDARY": "boundary",
    "INFEASIBLE": "infeasible",
    "PRICED": "priced",
    "INTERRUPTED": "interrupted by the user",
    "ROUND_LIMIT": "the limit on rounds",
    "TIME_LIMIT": "the time limit",
    "NO_SMALLER_TEST_ERROR": "no smaller test error",
    "CONVERGED": "converged: the oracle returns hypotheses that are known, and the program no longer rises",
    "SOLVER_STUCK": "the solver is stuck",
    "STEPS_STUCK": "the steps are stuck",
    "GUARANTEE_BROKEN": "the guarantee is broken",
    "CERTIFIED": "certified",
    "SAMPLE_EXHAUSTED": "the sample gives no better weights",
    "WHOLE_NUMBERS_EXHAUSTED": "converged: whole numbers give no better weights",
    "FAILED_IN_ROUND": "failed in round",
    "FAILED_AFTER_PASSES": "failed after",
    "ONE_HYPOTHESIS": "the newest hypothesis alone",
    "TIME_USED": "the time is up",
    "FEW_SMALL_MARGINS": "fewer than",
    "SMALL_MEAN_WEIGHT": "the mean weight, and with it the training error, is below",
    "OTHER": "",
}
"""The beginnings of the reasons in files."""

TEXT_DECIDES = re.compile(r"\.(reason|end) (==|!=|in|not in) |\.(reason|end)\.(startswith|partition|split)\(")
"""A reason that is compared as text."""


def test_the_texts_in_files_stay() -> None:
    assert {member.name: member.value for member in StopReason} == STORED_TEXTS
    assert set(RULES) <= set(STORED_TEXTS.values())


@pytest.mark.parametrize("member", StopReason)
def test_a_reason_is_found_whatever_its_details(member: StopReason) -> None:
    assert StopReason.from_text(member.value) is member
    if member is not StopReason.OTHER:
        assert StopReason.from_text(f"{member.value}; this promises nothing: a") is member
        labelled = StopReason.from_text(f"{member.value}: a, and b; c: d")
        assert labelled is (member if member.separator == ":" else StopReason.OTHER)
        continued = StopReason.from_text(f"{member.value} 3 of them")
        assert continued is (member if member.separator == " " else StopReason.OTHER)
        for text in (f"{member.value}ly", f"so {member.value}"):
            assert StopReason.from_text(text) is StopReason.OTHER


def test_every_rule_of_the_table_has_a_label_as_its_reason() -> None:
    assert all(StopReason.from_text(f"{name}: the details").separator == ":" for name in RULES)


@pytest.mark.parametrize("name", ["few", "", "failed after", "the time limit", "direct: a"])
def test_a_rule_without_a_label_of_its_own_cannot_be_in_the_table(name: str) -> None:
    rules = [*RULES.values(), Rule(name, "there are ten hypotheses", lambda view: len(view.state.w) >= 10)]
    with pytest.raises(ValueError, match=r"\bexpected\b.*\bStopReason\b.*\brule\b"):
        index_rules(rules)


def test_a_rule_is_found_by_its_reason() -> None:
    assert rule_of("direct: the soft margin is within epsilon = 0.1 of 0.5") is RULES["direct"]
    assert rule_of("the program is infeasible: the weights prove it") is rule_of("") is None


def test_the_reason_of_a_run_is_plain_text() -> None:
    U = np.random.default_rng(0).choice([-1.0, 1.0], (30, 12))
    run = boost("adaboost", GivenMargins(U), max_rounds=2)
    assert type(run.reason) is str and run.stop_reason in LIMITS


def test_no_module_compares_reasons_as_text() -> None:
    root = Path(boostopt.__file__).parent
    places = {
        (str(path.relative_to(root)), line.strip())
        for room in ("boosting", "cli", "estimators", "ensembles", "pictures", "reporting")
        for path in (root / room).rglob("*.py")
        for line in path.read_text().splitlines()
        if TEXT_DECIDES.search(line)
    }
    assert places == {
        # The words that a formulation states itself, and a reason without any details.
        (
            "cli/run_output.py",
            "if run.reason.startswith(problem.formulation.boosting.extra_success_reasons):",
        ),
        (
            "boosting/histogram_newton/histogram_run.py",
            "integers_exhausted = self.reason == StopReason.WHOLE_NUMBERS_EXHAUSTED",
        ),
    }
