"""True is no number: each 0 and 1 of a file is replaced by false and true, which Python takes for equal."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from support.file_edits import packed, places, unpacked

from boostopt import DataError, boost, certify_problem, verify
from boostopt.boosting.run.run import Run
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import BinnedStumps, DecisionStumps, GivenMargins, MulticlassStumps, Stump
from boostopt.oracles.hypothesis_serialization import shipped_from_state

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2)).round(1)
Y = np.where(X.sum(axis=1) > 0, 1, -1)
ORACLES: dict[str, Callable[[], Any]] = {
    "stumps": lambda: DecisionStumps(X, Y),
    "binned": lambda: BinnedStumps(X, Y),
    "given": lambda: GivenMargins(np.sign(RNG.normal(size=(20, 4)))),
    "multiclass": lambda: MulticlassStumps(X, np.arange(20) % 3),
}
FREE = ("made", "parameters", "given")
"""The parts of a file that may hold any plain values, which a fit checks."""


def flagged(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield copies of a document with a Boolean in the place of one number, and the name of the place.

    Of each list, the first two entries are replaced.
    """
    for number, (inside, key) in enumerate(places(document)):
        is_late = isinstance(inside, list) and key > 1
        if not is_late and type(inside[key]) in (int, float) and inside[key] in (0, 1):
            edited = copy.deepcopy(document)
            edited_inside, _ = list(places(edited))[number]
            edited_inside[key] = bool(inside[key])
            yield f"{key} of {str(inside)[:60]}", edited


@pytest.mark.thorough
@pytest.mark.parametrize("name", ORACLES)
def test_certificates_and_runs_of_a_class_are_refused(name: str, tmp_path: Path) -> None:
    oracle = ORACLES[name]()
    run = boost("erlpboost", oracle, nu=4, epsilon=0.2)
    run.save_certificate(tmp_path / "proof.json", oracle)
    document = json.loads((tmp_path / "proof.json").read_text())
    count = 0
    for place, edited in flagged({key: value for key, value in document.items() if key != "made"}):
        (tmp_path / "edited.json").write_text(json.dumps({**edited, "made": document["made"]}))
        assert not verify(tmp_path / "edited.json", oracle), place
        count += 1
    run.save(tmp_path / "run.npz")
    description, arrays = unpacked(tmp_path / "run.npz")
    for place, edited in flagged({key: value for key, value in description.items() if key not in FREE}):
        (tmp_path / "edited.npz").write_bytes(packed({**description, **edited}, arrays))
        with pytest.raises(DataError):
            pytest.fail(f"{place}: {Run.load(tmp_path / 'edited.npz')}")
        count += 1
    assert count > 10


@pytest.mark.thorough
def test_models_and_certificates_of_problems_are_refused(tmp_path: Path) -> None:
    MarginBoostClassifier(epsilon=0.2).fit(X, Y > 0).save(tmp_path / "model.npz")
    description, arrays = unpacked(tmp_path / "model.npz")
    for place, edited in flagged({key: value for key, value in description.items() if key not in FREE}):
        (tmp_path / "edited.npz").write_bytes(packed({**description, **edited}, arrays))
        with pytest.raises(DataError):
            pytest.fail(f"{place}: {MarginBoostClassifier.load(tmp_path / 'edited.npz')}")
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + cp.norm1(x)), [cp.Zero(cp.sum(x) - 1)])
    problem.solve()
    certify_problem(problem).save(tmp_path / "proof.json")
    document = json.loads((tmp_path / "proof.json").read_text())
    for place, edited in flagged({key: value for key, value in document.items() if key != "made"}):
        (tmp_path / "edited.json").write_text(json.dumps({**edited, "made": document["made"]}))
        assert not verify(tmp_path / "edited.json", problem), place
        assert not verify(tmp_path / "edited.json"), place


@pytest.mark.parametrize("change", [{"feature": True}, {"sign": True}, {"threshold": False}, {"features": True}])
def test_a_stump_has_no_flag_and_no_text_as_a_number(change: dict[str, Any]) -> None:
    state = {"kind": "stump", "feature": 0, "threshold": 0.5, "sign": 1, "features": 1}
    assert shipped_from_state(state) == Stump(0, 0.5, 1, 1)
    assert shipped_from_state({**state, "threshold": "-inf"}) == Stump(0, -np.inf, 1, 1)
    for edited in ({**state, **change}, {**state, "threshold": "0.5"}):
        with pytest.raises(DataError, match=r"must be a (whole )?number"):
            shipped_from_state(edited)
