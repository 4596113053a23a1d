"""nu="auto": what is tried, what is chosen, copies, several classes, files, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from support.command_lines import run as invoke

from boostopt import verify
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators.training.nu_selection import NU_FRACTIONS, NuScores

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).round(2)
y = np.where((X[:, 0] + X[:, 1] > 0) ^ (RNG.random(80) < 0.2), "yes", "no")
ROUGH: dict[str, Any] = {"epsilon": 0.2}


def test_the_scores_are_those_of_fits_by_hand_and_the_last_fit_has_the_best_nu() -> None:
    model: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, y)
    share = min(np.mean(y == "yes"), np.mean(y == "no"))
    np.testing.assert_allclose(model.nus_, 2.0 * share * np.array(NU_FRACTIONS))
    # By hand: the folds are those of the examples in the classifier's own order.
    from boostopt.estimators.training.training_data import merge_examples

    merged = merge_examples(X, y, None).merged()
    assert isinstance(model.run_, HistogramRun)  # each run is one by itself
    for nu, score in zip(model.nus_[::2], model.nu_scores_[::2], strict=True):
        right = 0.0
        for training_rows, validation_rows in StratifiedKFold(5, shuffle=True, random_state=0).split(
            merged.X, merged.codes
        ):
            one = MarginBoostClassifier(nu=float(nu), **ROUGH).fit(merged.X[training_rows], merged.codes[training_rows])
            right += (one.predict(merged.X[validation_rows]) == merged.codes[validation_rows]).sum()
        assert score == pytest.approx(right / 80)
    best = MarginBoostClassifier(nu=model.nu_, **ROUGH).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), best.decision_function(X))
    assert model.get_params()["nu"] == "auto"


def test_the_largest_nu_of_equal_scores_is_chosen() -> None:
    assert NuScores(np.array([0.1, 0.2, 0.4]), np.array([0.8, 0.8, 0.7])).best_nu == 0.2


@pytest.mark.thorough
def test_a_weight_is_a_number_of_copies_here_too() -> None:
    weights = RNG.integers(0, 3, 80)
    weighted: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, y, sample_weight=weights)
    copied: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_array_equal(weighted.nu_scores_, copied.nu_scores_)
    np.testing.assert_array_equal(weighted.decision_function(X), copied.decision_function(X))


@pytest.mark.thorough
def test_one_nu_for_several_classes_is_chosen_up_to_the_smallest_share() -> None:
    several = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=80), [-0.8, 0.8])
    model: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, several)
    assert model.nus_[-1] == pytest.approx(np.bincount(several).min() / 80)
    assert len(model.runs_) == 3 and model.nu_ in model.nus_


@pytest.mark.thorough
def test_steps_begin_where_those_of_the_next_nu_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    from boostopt.estimators.training.binary_fit import FitSettings

    begun, run = list[bool](), FitSettings.fit_binary

    def fit_and_record(self: FitSettings, examples: Any, k: int, start: Any, *more: Any) -> Any:
        begun.append(start is not None)
        return run(self, examples, k, start, *more)

    monkeypatch.setattr(FitSettings, "fit_binary", fit_and_record)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    MarginBoostClassifier(nu="auto", base=tree, max_iter=5, epsilon=0.3).fit(X[:30], y[:30])
    assert begun == [*([False] + [True] * (len(NU_FRACTIONS) - 1)) * 5, False]


@pytest.mark.thorough
def test_the_proof_is_that_of_the_chosen_nu(tmp_path: Path) -> None:
    model = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, y)
    model.save_certificate(tmp_path / "proof.json", X, y)
    assert verify(tmp_path / "proof.json", MarginBoostClassifier(nu="auto").class_of(X, y))
    model.save(tmp_path / "model.npz")
    assert MarginBoostClassifier.load(tmp_path / "model.npz").nu == "auto"


def test_formulations_without_nu_and_too_few_examples_are_refused() -> None:
    with pytest.raises(OptionError, match=r"\bnu='auto'.*\bsvm\b"):
        MarginBoostClassifier("svm", nu="auto", parameters={"C": 1.0}).fit(X, y)
    with pytest.raises(ProblemError, match=r'\bnu="auto".*\bclass with one\b'):
        MarginBoostClassifier(nu="auto").fit(X, np.arange(80) == 0)
    with pytest.raises(OptionError, match=r"""\bnu\b.*"auto".*'best'"""):
        MarginBoostClassifier(nu="best").fit(X, y)


@pytest.mark.thorough
def test_the_command_chooses_and_says_what(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=X, y=(y == "yes").astype(int))
    out = str(tmp_path / "m.npz")
    done = invoke(
        "fit", "--data", str(tmp_path / "data.npz"), "--out", out, "--nu", "auto", "--epsilon", "0.2", "--json"
    )
    model: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, y)
    assert done.exit_code == 0 and f'"nu": {model.nu_}' in done.stdout
    refused = invoke("fit", "--data", str(tmp_path / "data.npz"), "--out", out, "--nu", "much")
    assert refused.exit_code == 2 and re.search(r"--nu\b.*\bauto\b.*'much'", refused.stderr)


def test_the_page_and_the_docstring_name_the_shares() -> None:
    first, last = ", ".join(f"{share:g}" for share in NU_FRACTIONS[:-1]), NU_FRACTIONS[-1]
    named = f"{first} and {last:g} times"
    page = Path(__file__).parents[2] / "docs" / "classifiers.md"
    assert named in page.read_text() and named in " ".join(str(MarginBoostClassifier.__doc__).split())
