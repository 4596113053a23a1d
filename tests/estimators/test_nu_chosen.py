"""nu="auto": what is tried, what is chosen, copies, several classes, files, and what is refused."""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from support.command_lines import run as invoke
from support.speeds import many

from benchmarks.hard_tables import N_REPEATED, N_TABLES, score_table
from boostopt import verify
from boostopt.boosting.histogram_newton import histogram_run
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators.training.binary_fit import SCORING_NAMES
from boostopt.estimators.training.nu_by_cross_validation import (
    FOLD_EPSILON,
    FOLD_SCORES,
    MAX_FOLDS,
    NU_FRACTIONS,
    HeldOutFold,
    NuScores,
    finer_nus,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).round(2)
y = np.where((X[:, 0] + X[:, 1] > 0) ^ (RNG.random(80) < 0.2), "yes", "no")
ROUGH: dict[str, Any] = {"epsilon": 0.2}


def test_the_scores_are_those_of_fits_by_hand_and_the_last_fit_has_the_best_nu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, y)
    share = min(np.mean(y == "yes"), np.mean(y == "no"))
    coarse = 2.0 * share * np.array(NU_FRACTIONS)
    positions = np.searchsorted(model.nus_, coarse * (1.0 - 1e-12))
    np.testing.assert_allclose(model.nus_[positions], coarse)
    best = coarse[model.nu_scores_[positions].argmax()]
    assert {round(nu * nu / best / coarse[0], 9) for nu in set(model.nus_) - set(model.nus_[positions])} <= {
        round(ratio, 9) for ratio in np.array(NU_FRACTIONS) / NU_FRACTIONS[0]
    }
    assert len(model.nus_) in (4, 5)
    # By hand: the folds are those of the examples in the classifier's own order, and a fit continues from that of the
    # next larger nu that was tried before, and not to a smaller gap.
    from boostopt.estimators.training.training_data import merge_examples

    merged = merge_examples(X, y, None).merged()
    assert isinstance(model.run_, HistogramRun)
    right, first = np.zeros(len(model.nus_)), np.isin(np.arange(len(model.nus_)), positions)
    order = [*np.flatnonzero(first)[::-1].tolist(), *np.flatnonzero(~first)[::-1].tolist()][: many(5, 3)]
    monkeypatch.setattr(histogram_run, "GAP_HALVINGS", 0)
    for training_rows, validation_rows in StratifiedKFold(MAX_FOLDS, shuffle=True, random_state=0).split(
        merged.X, merged.codes
    ):
        models = dict[int, Any]()
        for k in order:
            larger = min((j for j in models if j > k), default=None)
            one: Any = MarginBoostClassifier(warm_start=True, **ROUGH) if larger is None else copy(models[larger])
            one.set_params(nu=float(model.nus_[k])).fit(merged.X[training_rows], merged.codes[training_rows])
            assert isinstance(one.run_, HistogramRun)
            right[k] += (one.predict(merged.X[validation_rows]) == merged.codes[validation_rows]).sum()
            models[k] = one
    monkeypatch.undo()
    np.testing.assert_allclose(model.nu_scores_[order], right[order] / 80)
    best = MarginBoostClassifier(nu=model.nu_, **ROUGH).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), best.decision_function(X))
    assert model.get_params()["nu"] == "auto"


def test_the_smallest_nu_within_one_standard_error_of_the_best_score_is_chosen() -> None:
    nus, weights = np.array([0.1, 0.2, 0.4]), np.ones(4)
    equal = np.full((4, 3), 0.8)
    assert NuScores(nus, equal, weights).best_nu == 0.1
    # All folds agree on the difference: it is no chance.
    ordered = np.array([[0.5], [0.6], [0.7], [0.8]]) + np.array([0.0, 0.01, 0.02])
    assert NuScores(nus, ordered, weights).best_nu == 0.4
    # The folds disagree about the first two values, and agree that the third is better than the first.
    mixed = np.array([[0.5, 0.7, 0.69], [0.5, 0.6, 0.62], [0.5, 0.7, 0.69], [0.5, 0.6, 0.61]])
    assert NuScores(nus, mixed, weights).best_nu == 0.2
    # A fold counts with its weight.
    np.testing.assert_allclose(NuScores(nus, mixed, np.array([1.0, 0.0, 0.0, 1.0])).scores, [0.5, 0.65, 0.65])


def test_the_grid_is_finer_beside_the_highest_score() -> None:
    nus, weights = np.array([0.1, 0.4, 0.9]), np.ones(3)
    lowest, middle, highest = (NuScores(nus, np.tile(np.eye(3)[k], (3, 1)), weights) for k in range(3))
    np.testing.assert_allclose(finer_nus(lowest), [0.2])
    np.testing.assert_allclose(finer_nus(middle), [0.2, 0.6])
    np.testing.assert_allclose(finer_nus(highest), [0.6])
    assert not len(finer_nus(NuScores(np.array([0.1]), np.ones((3, 1)), weights)))
    both = lowest.with_scores(np.array([0.2, 0.05]), np.array([[0.7, 0.6]] * 3))
    np.testing.assert_allclose(both.nus, [0.05, 0.1, 0.2, 0.4, 0.9])
    np.testing.assert_allclose(both.scores, [0.6, 1.0, 0.7, 0.0, 0.0])


@pytest.mark.thorough
def test_folds_have_no_fine_epsilon_but_the_last_fit_has() -> None:
    models: list[Any] = [MarginBoostClassifier(nu="auto", epsilon=epsilon) for epsilon in (0.005, FOLD_EPSILON, 0.1)]
    fine, coarse, coarser = (model.fit(X, y) for model in models)
    np.testing.assert_array_equal(fine.nu_scores_, coarse.nu_scores_)
    assert not np.array_equal(coarser.nu_scores_, coarse.nu_scores_)
    assert fine.certificate_.gap <= 0.005


@pytest.mark.thorough
def test_no_share_is_smaller_than_one_row() -> None:
    labels = np.where(np.arange(80) < 4, "rare", "common")
    model: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, labels)
    assert model.nus_[0] == pytest.approx(1 / 80) and len(set(model.nus_)) == len(model.nus_)


def test_a_pattern_with_both_labels_is_scored_as_cross_validation_scores_it() -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2, (2000, 3))
    labels = np.where(rng.random(2000) < 0.3, 1 - patterns[:, 0], patterns[:, 0])
    model: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(patterns, labels)
    np.testing.assert_allclose(model.nu_scores_, (labels == patterns[:, 0]).mean())


@pytest.mark.thorough
@pytest.mark.parametrize("k", range(N_TABLES))
def test_the_scores_are_those_of_cross_validation_up_to_chance(k: int) -> None:
    features, labels = score_table(k)
    assert (len(np.unique(features, axis=0)) < len(features)) == (k < N_REPEATED)
    model: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(features, labels)
    splits = StratifiedKFold(MAX_FOLDS, shuffle=True, random_state=1)
    for nu, score in zip(model.nus_, model.nu_scores_, strict=True):
        scores = cross_val_score(MarginBoostClassifier(nu=float(nu), **ROUGH), features, labels, cv=splits)
        # Two sums of 150 rows, each right or wrong, over different folds: three standard deviations of the difference.
        assert abs(scores.mean() - score) <= 3.0 * np.sqrt(2.0 * score * (1.0 - score) / len(labels))


@pytest.mark.parametrize("scoring", SCORING_NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_score_is_that_of_scikit_learn(scoring: str, n_classes: int) -> None:
    rng = np.random.default_rng(5)
    folds = list[HeldOutFold]()
    for _ in range(2):
        codes, c = rng.integers(0, n_classes, 40), rng.uniform(0.5, 2.0, 40)
        f = rng.normal(size=(40, n_classes if n_classes > 2 else 1))
        f[np.arange(40), codes if n_classes > 2 else 0] += 1.0 if n_classes > 2 else 2.0 * codes - 1.0
        predicted = f.argmax(axis=1) if n_classes > 2 else (f[:, 0] > 0).astype(int)
        folds.append(HeldOutFold(codes, c, f, predicted))
    assert tuple(FOLD_SCORES) == SCORING_NAMES
    scores = FOLD_SCORES[scoring](folds)
    for fold, score in zip(folds, scores, strict=True):
        if scoring == "accuracy":
            assert score == pytest.approx(fold.c[fold.codes == fold.predicted].sum() / fold.c.sum())
        elif scoring == "balanced_accuracy":
            shares = [
                fold.c[(fold.codes == k) & (fold.predicted == k)].sum() / fold.c[fold.codes == k].sum()
                for k in range(n_classes)
            ]
            assert score == pytest.approx(np.mean(shares))
        elif scoring == "roc_auc":
            columns = range(n_classes) if n_classes > 2 else (1,)
            areas = list[float]()
            for j, k in enumerate(columns):
                inside, f = fold.codes == k, fold.f[:, j]
                pairs = fold.c[inside][:, np.newaxis] * fold.c[~inside]
                areas.append((pairs * (f[inside][:, np.newaxis] > f[~inside])).sum() / pairs.sum())
            assert score == pytest.approx(np.mean(areas))
        elif scoring == "average_precision":
            assert 0.5 < score < 1.0
        else:
            assert -np.log(n_classes) < score < 0.0


def test_the_score_by_choice_decides_the_scores_of_the_fit() -> None:
    rare = X[:, 0] > 1.0
    models: dict[str, Any] = {
        name: MarginBoostClassifier(nu="auto", scoring=name, **ROUGH).fit(X, rare) for name in ("accuracy", "roc_auc")
    }
    assert not np.allclose(models["accuracy"].nu_scores_, models["roc_auc"].nu_scores_)
    with pytest.raises(OptionError, match=r"\bscoring\b.*'f1'"):
        MarginBoostClassifier(nu="auto", scoring="f1").fit(X, y)


@pytest.mark.thorough
def test_a_balanced_rare_class_gives_more_than_one_vote() -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(400, 4))
    rare = features[:, 0] + features[:, 1] + 0.5 * rng.normal(size=400) > 2.4
    model: Any = MarginBoostClassifier(nu="auto", class_weight="balanced", **ROUGH).fit(features, rare)
    assert rare.mean() < 0.07 and len(model.run_.hypotheses) > 1 and model.nu_ < model.nus_[-1]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_of_nearly_no_weight_may_be_given_up(classes: int) -> None:
    """By weights alone, the largest nu that gives up no class is far below one row, where weights have no effect."""
    noise = RNG.permutation(np.arange(60) % classes)
    weights = {label: 1000.0 if label == 0 else 1e-4 for label in range(classes)}
    model: Any = MarginBoostClassifier(nu="auto", class_weight=weights, **ROUGH).fit(RNG.normal(size=(60, 2)), noise)
    assert model.nus_[-1] == pytest.approx(1.0 if classes == 2 else 1 / 3)
    assert (model.predict(RNG.normal(size=(60, 2))) == 0).all()


@pytest.mark.thorough
def test_a_weight_is_a_number_of_copies_here_too() -> None:
    weights = RNG.integers(0, 3, 80)
    weighted: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X, y, sample_weight=weights)
    copied: Any = MarginBoostClassifier(nu="auto", **ROUGH).fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_array_equal(weighted.nu_scores_, copied.nu_scores_)
    np.testing.assert_array_equal(weighted.decision_function(X), copied.decision_function(X))


@pytest.mark.thorough
def test_scores_do_not_depend_on_the_number_of_processes() -> None:
    several = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=80), [-0.8, 0.8])
    one, two = (MarginBoostClassifier(nu="auto", n_jobs=n_jobs, **ROUGH).fit(X, several) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.nu_scores_, two.nu_scores_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


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

    def fit_and_record(self: FitSettings, examples: Any, k: int, start: Any, *more: Any, **options: Any) -> Any:
        begun.append(start is not None)
        return run(self, examples, k, start, *more, **options)

    monkeypatch.setattr(FitSettings, "fit_binary", fit_and_record)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    model: Any = MarginBoostClassifier(nu="auto", base=tree, max_iter=5, epsilon=0.3).fit(X[:30], y[:30])
    finer = len(model.nus_) - len(NU_FRACTIONS)
    coarse_path, finer_path = [False, True, True], [False, True][:finer]
    assert 1 <= finer <= 2 and begun == [*coarse_path * MAX_FOLDS, *finer_path * MAX_FOLDS, False]


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
