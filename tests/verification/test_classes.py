"""Certificates of runs over a whole class, verified with an oracle made anew."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import OptionError, Run, boost, load_dataset
from boostopt.oracles import DecisionStumps, GivenMargins
from boostopt.verification import class_certificate_files as classes
from boostopt.verification import save_class, verify

pytestmark = pytest.mark.every(2)


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    loaded = load_dataset("breast_cancer")
    return np.asarray(loaded.X)[:200, :8], np.asarray(loaded.y)[:200]


@cache
def run(name: str) -> Run:
    options: dict[str, Any] = {"nu": 40.0, "epsilon": 0.05, "update": "total"}
    if name == "adaboost":
        options = {"max_rounds": 12}
    return boost(name, DecisionStumps(*data()), **options)


@pytest.mark.thorough_cases("erlpboost", "softboost")
@pytest.mark.parametrize("name", ["erlpboost", "lpboost", "softboost", "binary_erlpboost", "adaboost"])
def test_a_class_is_verified_by_asking_its_oracle_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / "class.json"
    save_class(run(name), DecisionStumps(*data()), path)
    verification = verify(path, DecisionStumps(*data()))
    assert verification, verification
    certificate = run(name).class_certificate
    lower, upper = verification.claimed
    # The file's lower bound is summed over the hypotheses with weight alone: the last bits may differ.
    assert lower <= certificate.lower + 1e-13 and certificate.upper <= upper
    assert certificate.lower - lower < 1e-10 and upper - certificate.upper < 1e-10


def test_a_class_is_verified_with_weights_of_both_signs(tmp_path: Path) -> None:
    path = tmp_path / "class.json"
    oracle = DecisionStumps(*data())
    boosted_run = boost("md_boost", oracle, D=10.0, epsilon=0.1)
    assert boosted_run.class_certificate.d is not None and boosted_run.class_certificate.d.min() < 0.0
    save_class(boosted_run, oracle, path)
    verification = verify(path, DecisionStumps(*data()))
    assert verification, verification
    assert verification.claimed[1] - boosted_run.class_certificate.upper < 1e-10


def verdict_on_change(tmp_path: Path, change: Any) -> Any:
    path = tmp_path / "class.json"
    save_class(run("erlpboost"), DecisionStumps(*data()), path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return verify(path, DecisionStumps(*data()))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("case", "change"),
    [
        ("a higher lower bound", lambda content: content["claim"].update(lower=content["claim"]["lower"] + 1e-9)),
        ("a lower upper bound", lambda content: content["claim"].update(upper=content["claim"]["upper"] - 1e-9)),
        ("another d", lambda content: content["arrays"].update(d=content["arrays"]["d"][::-1])),
        ("another w", lambda content: content["arrays"].update(w=content["arrays"]["w"][::-1])),
        ("another threshold", lambda content: content["data"]["hypotheses"][0].update(threshold=0.123)),
        ("another kind", lambda content: content["data"]["hypotheses"][0].update(kind="feature", scale=1.0)),
        ("no kind", lambda content: content["data"]["hypotheses"][0].pop("kind")),
        ("a feature that is not there", lambda content: content["data"]["hypotheses"][0].update(feature=10**9)),
        ("no object", lambda content: content["data"]["hypotheses"].__setitem__(0, 3)),
        ("a hypothesis less", lambda content: content["data"]["hypotheses"].pop()),
        ("another class", lambda content: content["data"].update(digest="0" * 64)),
        (
            "another nu",
            lambda content: (content["formulation"]["parameters"].update(nu=50.0), content["F"].update(nu=50.0)),
        ),
        ("a program's", lambda content: content.update(subject="program")),
    ],
)
def test_class_files_with_a_wrong_part_are_rejected(case: str, change: Any, tmp_path: Path) -> None:
    verification = verdict_on_change(tmp_path, change)
    assert not verification, case
    assert len(verification.reason) > 20


def test_other_oracles_and_data_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "class.json"
    save_class(run("erlpboost"), DecisionStumps(*data()), path)
    X, y = data()
    narrow_oracle = DecisionStumps(X[:, :7], y)
    assert str(narrow_oracle) in verify(path, narrow_oracle).reason
    assert "oracle" in verify(path, np.ones((3, 2))).reason
    with pytest.raises(OptionError, match=r"\bclass\b.*\bexact=True\b"):
        verify(path, DecisionStumps(*data()), exact=True)


def test_constant_hypotheses_are_in_the_file(tmp_path: Path) -> None:
    """If no feature varies, they are the class; their thresholds are infinite."""
    path, X, y = tmp_path / "class.json", np.ones((5, 2)), np.array([1, 1, 1, -1, -1])
    boosted_run = boost("lpboost", DecisionStumps(X, y), nu=2.0)
    save_class(boosted_run, DecisionStumps(X, y), path)
    assert json.loads(path.read_text())["data"]["hypotheses"][0]["threshold"] == "-inf"
    verification = verify(path, DecisionStumps(X, y))
    assert verification and "not checked" not in verification.reason


def test_an_upper_end_that_nothing_proves_again_is_not_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "class.json"
    monkeypatch.setattr(classes, "_recomputed_upper_bound", lambda *_: math.nan)  # pyright: ignore[reportUnknownLambdaType]
    save_class(run("erlpboost"), DecisionStumps(*data()), path)
    verification = verify(path, DecisionStumps(*data()))
    assert verification and verification.claimed[1] == math.inf


def test_margins_are_passed_where_the_file_cannot_tell_them(tmp_path: Path) -> None:
    path, U = tmp_path / "class.json", np.random.default_rng(0).choice([-1.0, 1.0], (50, 9))
    oracle = GivenMargins(U)
    boosted_run = boost("erlpboost", oracle, nu=10.0, epsilon=0.05)
    save_class(boosted_run, oracle, path)
    assert verify(path, GivenMargins(U))
    for change in ({"q": 9}, {"sign": -1}):
        document = json.loads(path.read_text())
        document["data"]["hypotheses"][0].update(change)
        (tmp_path / "changed.json").write_text(json.dumps(document))
        reason = verify(tmp_path / "changed.json", GivenMargins(U)).reason
        assert "hypothesis" in reason and f"of {oracle};" in reason
    document = json.loads(path.read_text())
    document["data"]["hypotheses"] = []
    path.write_text(json.dumps(document))
    assert "U=" in verify(path, GivenMargins(U)).reason
    used = np.flatnonzero(boosted_run.w)
    margins = boosted_run.program.margins.take_columns(used)
    assert verify(path, GivenMargins(U), U=margins)
    assert not verify(path, GivenMargins(U), U=-margins.to_array())
