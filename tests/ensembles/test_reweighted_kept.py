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
def found() -> Any:
    return reweight(MarginBoostClassifier(epsilon=0.2).fit(X, y), X, y, "lpboost", nu=12)


def test_the_score_is_the_share_that_is_right(found: Any) -> None:
    right = found.predict(X) == y
    weights = RNG.integers(0, 4, 60)
    assert found.score(X, y) == pytest.approx(right.mean()) and 0.7 < right.mean() < 1.0
    assert found.score(X, y, weights) == pytest.approx(np.average(right, weights=weights))


@pytest.mark.thorough_cases("thinned")
@pytest.mark.parametrize("few", [False, True], ids=["whole", "thinned"])
def test_a_model_file_predicts_the_same(found: Any, few: bool, tmp_path: Path) -> None:
    kept = found.thinned(3) if few else found
    kept.save(tmp_path / "model.npz")
    loaded: Any = MarginBoostClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(X), kept.predict(X))
    np.testing.assert_array_equal(loaded.decision_function(X), kept.decision_function(X))
    best = kept.soft_margin_certificate
    assert loaded.certificate_.lower == kept.soft_margin and loaded.certificate_.upper == max(
        best.upper, kept.soft_margin
    )
    assert loaded.oracle_.startswith(f"{len(kept.w)} members")
    np.savez(tmp_path / "new.npz", X=X)
    done = invoke("predict", tmp_path / "model.npz", "--data", tmp_path / "new.npz")
    assert [int(line.split(",")[0]) for line in done.stdout.split()[1:]] == kept.predict(X).tolist()


def test_estimators_are_kept_by_pickle_alone(tmp_path: Path) -> None:
    ensemble = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    found = reweight(ensemble, X, y, "lpboost", nu=20)
    with pytest.raises(OptionError, match=r"\bDecisionTreeClassifier 0\b.*\bpickle\b"):
        found.save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert repr(again) == repr(found) and again.score(X, y) == found.score(X, y)


def test_a_value_that_is_no_soft_margin_keeps_its_name(tmp_path: Path) -> None:
    """A penalty of the norm of the example weights is a term of F: its values hold it."""
    penalized = reweight(MarginBoostClassifier(epsilon=0.3).fit(X, y), X, y, "norm_penalty", r=0.3)
    assert penalized.goal.measure == "value of the program" and "; value of the program " in repr(penalized)
    assert "soft margin" not in repr(penalized)
    penalized.save(tmp_path / "model.npz")
    loaded: Any = MarginBoostClassifier.load(tmp_path / "model.npz")
    assert loaded.certificate_.quantity == "value of the program"
