"""Boosters that state no program as classifiers: the run of `boost`, files, certificates, classes, the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import run as invoke

from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("adaboost_reg", {"C": 20.0}),
    ("smoothboost", {"kappa": 0.3, "gamma": 0.1}),
    ("brownboost", {"kappa": 0.1}),
    ("madaboost", {}),
    ("nu_arc", {}),
)
ROUNDS = 60

each_booster = pytest.mark.parametrize(("name", "parameters"), CASES, ids=[name for name, _ in CASES])


def examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1)


def test_every_booster_is_tried() -> None:
    assert {name for name, _ in CASES} == set(BOOSTERS_BY_NAME)


@pytest.mark.thorough_cases("adaboost_reg", "brownboost")
@each_booster
def test_the_classifier_is_the_run_of_boost(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    X, y = examples()
    model = MarginBoostClassifier(name, parameters=parameters or None, max_iter=ROUNDS).fit(X, y)
    run = boost(name, DecisionStumps(X, y), epsilon=0.01, nu=6.0, max_rounds=ROUNDS, **parameters)
    (fitted_run,) = model.runs_
    # The classifier sorts its examples: sums differ by rounding.
    np.testing.assert_allclose(np.sort(fitted_run.w), np.sort(run.w), rtol=1e-9)
    assert fitted_run.reason == run.reason
    assert fitted_run.class_certificate.lower == pytest.approx(run.class_certificate.lower, abs=1e-12)
    assert fitted_run.class_certificate.upper == pytest.approx(run.class_certificate.upper, abs=1e-12)
    assert model.score(X, y) > 0.7
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(MarginBoostClassifier.load(tmp_path / "model.npz").predict(X), model.predict(X))


def test_several_classes_are_told_apart_by_a_booster() -> None:
    X, _ = examples()
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MarginBoostClassifier("madaboost", max_iter=20).fit(X, labels)
    assert model.score(X, labels) > 0.9


def test_options_that_a_booster_lacks_are_refused() -> None:
    X, y = examples()
    with pytest.raises(ProblemError, match=r'\bSmoothBoost\b.*\bkappa\b.*\{"kappa": \.\.\.\}'):
        MarginBoostClassifier("smoothboost").fit(X, y)
    with pytest.raises(OptionError, match=r"\bMadaBoost\b.*\bwarm_start=True\b"):
        MarginBoostClassifier("madaboost", max_iter=5, warm_start=True).fit(X, y).fit(X, y)
    with pytest.raises(OptionError, match=r"\bMadaBoost\b.*\bmax_iter=None\b.*\btime_limit=None\b"):
        MarginBoostClassifier("madaboost", max_iter=None).fit(X, y)


@pytest.mark.thorough
def test_the_command_fits_one_and_the_file_predicts(tmp_path: Path) -> None:
    X, y = examples()
    np.savez(tmp_path / "data.npz", X=X, y=y)
    data, out = ("--data", str(tmp_path / "data.npz")), str(tmp_path / "model.npz")
    done = invoke(
        "fit", *data, "--out", out, "--formulation", "smoothboost", "--set", "kappa=0.3", "--set", "gamma=0.02"
    )
    assert done.exit_code == 0 and " NOT " not in done.stdout
    assert invoke("predict", out, *data).exit_code == 0
