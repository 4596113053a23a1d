"""Re-weighted ensembles are scored and kept: by model files where the members are plain numbers, else by pickle."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from support.command_lines import run as invoke

from boostopt import reweight
from boostopt.errors import OptionError
from boostopt.estimators import MarginBoostClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(2)
y = np.where(X[:, 0] + X[:, 1] + 0.3 * RNG.normal(size=60) > 0, 5, 2)


@pytest.fixture(scope="module")
def reweighted() -> Any:
    return reweight(MarginBoostClassifier(epsilon=0.2).fit(X, y), X, y, "lpboost", nu=12)


def test_the_score_is_the_share_that_is_right(reweighted: Any) -> None:
    right = reweighted.predict(X) == y
    weights = RNG.integers(0, 4, 60)
    assert reweighted.score(X, y) == pytest.approx(right.mean()) and 0.7 < right.mean() < 1.0
    assert reweighted.score(X, y, weights) == pytest.approx(np.average(right, weights=weights))


@pytest.mark.thorough_cases("thinned")
@pytest.mark.parametrize("few", [False, True], ids=["whole", "thinned"])
def test_a_model_file_predicts_the_same(reweighted: Any, few: bool, tmp_path: Path) -> None:
    saved_ensemble = reweighted.thinned(3) if few else reweighted
    saved_ensemble.save(tmp_path / "model.npz")
    loaded: Any = MarginBoostClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(X), saved_ensemble.predict(X))
    np.testing.assert_array_equal(loaded.decision_function(X), saved_ensemble.decision_function(X))
    best = saved_ensemble.soft_margin_certificate
    assert loaded.certificate_.lower == saved_ensemble.soft_margin and loaded.certificate_.upper == max(
        best.upper, saved_ensemble.soft_margin
    )
    assert loaded.oracle_.startswith(f"{len(saved_ensemble.w)} members")
    np.savez(tmp_path / "new.npz", X=X)
    done = invoke("predict", tmp_path / "model.npz", "--data", tmp_path / "new.npz")
    assert [int(line.split(",")[0]) for line in done.stdout.split()[1:]] == saved_ensemble.predict(X).tolist()


def test_estimators_are_kept_by_pickle_alone(tmp_path: Path) -> None:
    ensemble = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    forest = reweight(ensemble, X, y, "lpboost", nu=20)
    with pytest.raises(OptionError, match=r"\bDecisionTreeClassifier 0\b.*\bpickle\b"):
        forest.save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))
    assert repr(again) == repr(forest) and again.score(X, y) == forest.score(X, y)


def test_a_value_that_is_no_soft_margin_keeps_its_name(tmp_path: Path) -> None:
    """A penalty of the norm of the example weights is a term of F: its values hold it."""
    penalized = reweight(MarginBoostClassifier(epsilon=0.3).fit(X, y), X, y, "norm_penalty", r=0.3)
    assert penalized.goal.measure == "value of the program" and "; value of the program " in repr(penalized)
    assert "soft margin" not in repr(penalized)
    penalized.save(tmp_path / "model.npz")
    loaded: Any = MarginBoostClassifier.load(tmp_path / "model.npz")
    assert loaded.certificate_.quantity == "value of the program"
