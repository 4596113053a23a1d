"""The default nu is the smallest share at which something is proved, and never worse than a constant prediction."""

from __future__ import annotations

import shutil
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import DataError, MarginWarning, verify
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.run import Run
from boostopt.estimators import MarginBoostClassifier, margin_boost
from boostopt.estimators.training.binary_fit import LAST_MARGIN_FACTOR, FitSettings
from boostopt.estimators.training.nu_by_margin import (
    CONSTANT_FACTOR,
    FIRST_NU,
    LARGE_CLASS_MARGINS,
    LIMIT_FRACTIONS,
    nu_candidates,
)
from boostopt.estimators.training.one_vs_rest import fit_classes
from boostopt.estimators.training.training_data import merge_examples
from boostopt.oracles import Oracle

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, size=(200, 3)).astype(float)
CLEAR = X[:, 0] + X[:, 1] > 2
NOISY = CLEAR ^ (RNG.random(200) < 0.2)
ONE_STUMP = X[:, 0] > 1
RANDOM = RNG.permutation(np.arange(200) < 60)


def fitted(y: Any, rows: Any = X, **parameters: Any) -> Any:
    """Return a classifier whose fit may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginWarning)
        return MarginBoostClassifier(**parameters).fit(rows, y)


def test_candidates_end_at_the_largest_share_that_gives_no_class_up() -> None:
    shares = nu_candidates([0.7, 0.3])
    assert shares == sorted(shares) and shares[0] == FIRST_NU
    assert shares[1:] == pytest.approx([0.6 * fraction for fraction in (*LIMIT_FRACTIONS, CONSTANT_FACTOR)])
    assert max(nu_candidates([0.5, 0.5])) == 1.0
    several = nu_candidates([0.5, 0.3, 0.2])
    assert several[0] == FIRST_NU and several[-1] == pytest.approx(0.2)
    rare = nu_candidates([0.999, 0.001])
    assert rare[0] == pytest.approx(0.002) and rare[-1] == pytest.approx(0.0025)
    assert 0 < nu_candidates([1.0, 1e-50])[0] <= 2e-50
    # With class weights the larger of both limits counts.
    assert nu_candidates([1.0, 1e-7], [0.5, 0.5]) == nu_candidates([0.5, 0.5])
    assert nu_candidates([0.5, 0.5], [0.9, 0.1]) == nu_candidates([0.5, 0.5])


def test_a_class_of_little_class_weight_may_be_given_up() -> None:
    assert not fitted(NOISY, class_weight={False: 1000.0, True: 1e-4}).predict(X).any()
    balanced = fitted(NOISY, class_weight="balanced")
    assert balanced.certificate_.lower > 0.01 and 0 < balanced.predict(X).mean() < 1


def test_the_smallest_share_with_a_proved_margin_is_chosen() -> None:
    clear = fitted(CLEAR)
    assert clear.nu_ == FIRST_NU and not clear.diagnosis_.findings
    noisy = fitted(NOISY)
    assert noisy.certificate_.lower > 0.01 and noisy.nu_ > FIRST_NU
    shares = nu_candidates([1 - NOISY.mean(), NOISY.mean()])
    previous_nu = shares[shares.index(noisy.nu_) - 1]
    previous = fitted(NOISY, nu=previous_nu)
    assert previous.certificate_.lower <= 0.01 or noisy.certificate_.lower <= LAST_MARGIN_FACTOR * 0.01
    refit = fitted(NOISY, nu=noisy.nu_)
    assert (refit.decision_function(X) == noisy.decision_function(X)).all()


@pytest.mark.parametrize("y", [ONE_STUMP, CLEAR, NOISY, RANDOM])
def test_trials_share_their_oracle_and_are_few(y: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trials, oracles = list[float](), list[Oracle]()
    fit, prepare = FitSettings.fit_binary, FitSettings.oracle_and_parameters

    def fit_and_record(settings: FitSettings, *arguments: Any) -> Run:
        trials.append(float(settings.nu))
        return fit(settings, *arguments)

    def prepare_and_record(settings: FitSettings, *arguments: Any) -> Any:
        oracle, parameters = prepare(settings, *arguments)
        oracles.append(oracle._hypotheses)  # type: ignore[attr-defined]  # of the class with constants
        return oracle, parameters

    monkeypatch.setattr(FitSettings, "fit_binary", fit_and_record)
    monkeypatch.setattr(FitSettings, "oracle_and_parameters", prepare_and_record)
    model = fitted(y)
    shares = nu_candidates([1 - y.mean(), y.mean()])
    assert trials[0] == pytest.approx(min(y.mean(), 1 - y.mean())) and model.nu_ in trials
    assert len(trials) == len(set(trials)) <= 5 and set(trials) <= set(shares)
    assert len(oracles) == len(trials) and len({id(oracle) for oracle in oracles}) == 1
    if y is ONE_STUMP:  # a large margin at the first share: the smallest share is the second
        assert trials[1:] == [FIRST_NU] == [model.nu_]
    if y is RANDOM:  # nothing is proved at the first share, so no smaller one is tried
        assert min(trials) == trials[0]


def test_trees_begin_above_the_smallest_share_and_ask_for_a_larger_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    trials, fit = list[float](), FitSettings.fit_binary

    def fit_and_record(settings: FitSettings, *arguments: Any) -> Run:
        trials.append(float(settings.nu))
        return fit(settings, *arguments)

    monkeypatch.setattr(FitSettings, "fit_binary", fit_and_record)
    limit = 2 * min(CLEAR.mean(), 1 - CLEAR.mean())
    assert fitted(CLEAR, base="tree2", epsilon=0.05).nu_ == pytest.approx(LIMIT_FRACTIONS[0] * limit)
    assert trials == pytest.approx([limit / 2, LIMIT_FRACTIONS[0] * limit])
    random = fitted(RANDOM, base="tree2", epsilon=0.05)
    assert random.certificate_.lower > LARGE_CLASS_MARGINS["tree2"] or random.nu_ == max(trials)


def test_a_time_limit_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    trials, fit = list[float](), FitSettings.fit_binary

    def fit_and_wait(settings: FitSettings, *arguments: Any) -> Run:
        trials.append(float(settings.nu))
        run = fit(replace(settings, time_limit=None), *arguments)
        time.sleep(0.02)
        return run

    monkeypatch.setattr(FitSettings, "fit_binary", fit_and_wait)
    model = fitted(RANDOM, time_limit=1e-9)
    assert len(trials) == 1 and model.nu_ == trials[0]


def test_where_nothing_is_proved_the_majority_is_predicted() -> None:
    rows = np.zeros((200, 1))  # no stump tells the examples apart
    with pytest.warns(MarginWarning, match=r"^All training examples are predicted as one class\. See diagnosis_\.$"):
        model: Any = MarginBoostClassifier().fit(rows, RANDOM)
    assert model.nu_ == pytest.approx(0.6 * CONSTANT_FACTOR) and not model.predict(rows).any()
    assert model.certificate_.lower == pytest.approx(1 - 1 / CONSTANT_FACTOR, abs=0.01)
    shuffled = fitted(RANDOM)
    assert shuffled.score(X, RANDOM) >= 0.7 - 1e-12


def test_where_nothing_is_proved_votes_near_zero_are_as_good_as_the_majority() -> None:
    rng = np.random.default_rng(0)
    rows, new_rows = rng.normal(size=(1500, 3)), rng.normal(size=(1500, 3))
    random, new = rng.random(1500) < 0.3, rng.random(1500) < 0.3
    with pytest.warns(MarginWarning, match=r"^No soft margin above that of f\(x\) = 0 is proved"):
        model: Any = MarginBoostClassifier().fit(rows, random)
    assert model.nu_ == pytest.approx(random.mean())  # half of the largest share that gives up no class
    assert model.certificate_.upper <= 0.01 and -0.01 <= model.certificate_.lower and model.certificate_.gap <= 0.01
    assert verify_bounds(model, rows, random)
    assert model.score(new_rows, new) > 0.99 * (1.0 - new.mean())
    assert fitted(random, rows, reflexive=False).nu_ > 2.0 * random.mean()


def test_several_classes_share_a_nu() -> None:
    model = fitted(X[:, 0].astype(int))
    assert all(certificate.lower > 0.01 for certificate in model.certificate_) and model.nu_ <= 0.35


@pytest.mark.thorough
def test_copies_and_weights_choose_the_same_nu() -> None:
    weights = np.arange(200) % 3
    weighted = MarginBoostClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginWarning)
        weighted.fit(X, NOISY, sample_weight=weights)
    copied = fitted(np.repeat(NOISY, weights), np.repeat(X, weights, axis=0))
    assert weighted.nu_ == copied.nu_
    assert (weighted.decision_function(X) == copied.decision_function(X)).all()


@pytest.mark.thorough
def test_a_checkpoint_and_a_warm_start_keep_the_chosen_nu(tmp_path: Path) -> None:
    plain = fitted(NOISY)
    model = fitted(NOISY, checkpoint=str(tmp_path / "run.npz"))
    assert model.nu_ == plain.nu_ and (tmp_path / "run.npz").exists()
    again = fitted(NOISY, warm_start=True, epsilon=0.2)
    first_nu = again.nu_
    again.set_params(epsilon=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginWarning)
        again.fit(X, NOISY)
    assert again.nu_ == first_nu


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_with_other_limits_continues_with_the_share_of_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, short = fitted(NOISY), fitted(NOISY, max_iter=1, checkpoint=tmp_path / "run.npz")
    assert short.nu_ != plain.nu_
    with monkeypatch.context() as patch:
        patch.setattr(margin_boost, "choose_nu_by_margin", lambda *arguments: pytest.fail("there was a search"))
        full = fitted(NOISY, checkpoint=tmp_path / "run.npz")
    again = fitted(NOISY, nu=short.nu_)
    assert full.nu_ == short.nu_ and full.certificate_.gap <= 0.01
    np.testing.assert_array_equal(full.decision_function(X), again.decision_function(X))


@pytest.mark.thorough_cases("auto")
@pytest.mark.parametrize("nu", ["margin", "auto"])
def test_a_checkpoint_with_a_share_that_is_not_chosen_is_refused_with_both_shares(nu: str, tmp_path: Path) -> None:
    fitted(ONE_STUMP, nu=0.37, checkpoint=tmp_path / "run.npz")
    with pytest.raises(DataError, match=rf"parameters nu = .* with nu = 74\.0, eta = .* by nu='{nu}'"):
        fitted(ONE_STUMP, nu=nu, checkpoint=tmp_path / "run.npz")


def test_a_file_that_is_no_run_has_no_share(tmp_path: Path) -> None:
    (tmp_path / "run.npz").write_bytes(b"no run")
    with pytest.raises(DataError, match=r"run\.npz"):
        fitted(ONE_STUMP, checkpoint=tmp_path / "run.npz")
    assert (tmp_path / "run.npz").read_bytes() == b"no run"


@pytest.mark.parametrize("nu", ["margin", "auto", 0.2])
def test_a_full_disk_is_found_before_nu_is_chosen(nu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> Any:
        raise AssertionError("a run began before the disk was found to be full")

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=4096))
    for name in ("fit_classes", "choose_nu_by_margin", "cross_validate_nu"):
        monkeypatch.setattr(f"boostopt.estimators.margin_boost.{name}", fail)
    with pytest.raises(DataError, match=r"run\.npz cannot be written: .* it has 4,096\. Delete files"):
        fitted(NOISY, nu=nu, checkpoint=tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())


def test_a_formulation_without_nu_and_a_booster_are_fitted_once() -> None:
    for parameters in ({"formulation": "log_loss"}, {"formulation": "adaboost", "max_iter": 5}):
        assert fitted(CLEAR, epsilon=0.1, **parameters).nu_ == FIRST_NU
    with pytest.raises(ValueError, match='"margin", or "auto"'):
        MarginBoostClassifier(nu="most").fit(X, CLEAR)


def test_the_class_of_an_unfitted_classifier_is_that_of_a_fit_also_for_weights_with_sum_1(tmp_path: Path) -> None:
    weights = np.full(200, 1 / 200)
    model = MarginBoostClassifier(epsilon=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginWarning)
        model.fit(X, NOISY, sample_weight=weights)
    model.save_certificate(tmp_path / "proof.json", X, NOISY, weights)
    assert verify(tmp_path / "proof.json", MarginBoostClassifier().class_of(X, NOISY, weights))


@pytest.mark.parametrize("nu", ["margin", 1.0])
def test_the_rest_of_epsilon_is_spent_on_votes_that_rank_examples(nu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows, new_rows = (rng.integers(0, 8, (N, 4)).astype(float) for N in (600, 2000))
    y, new_y = (x[:, :3].sum(axis=1) + 4.0 * rng.logistic(size=len(x)) > 14.0 for x in (rows, new_rows))
    model, positive = fitted(y, rows, nu=nu), new_y[:, np.newaxis] > new_y
    run = model.run_
    assert isinstance(run, HistogramRun)
    settings = replace(model._validated_settings({}), nu=model.nu_)
    monkeypatch.setattr(FitSettings, "refine", lambda self, run, *arguments: run)
    (plain,) = fit_classes(settings, settings.examples(merge_examples(rows, y, None)), [None])
    areas = list[float]()
    for f in (plain.decision_function(new_rows), model.decision_function(new_rows)):
        differences = f[:, np.newaxis] - f
        areas.append(float(((differences > 0) + 0.5 * (differences == 0))[positive].mean()))
    assert areas[1] > areas[0] + 0.005
    assert model.certificate_.gap <= model.epsilon and model.certificate_.upper <= plain.class_certificate.upper
    for margin in (0.01, 0.02, 0.3):  # those that the search asks for
        assert settings.is_proved(run, margin) == settings.is_proved(plain, margin)
    assert verify_bounds(model, rows, y)
    assert np.array_equal(list(model.staged_decision_function(rows))[-1], model.decision_function(rows))


@pytest.mark.thorough
def test_refined_weights_do_not_depend_on_the_number_of_processes() -> None:
    models = [fitted(X.sum(axis=1) // 2.1, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert len(models[0].classes_) == 3
    assert np.array_equal(*(model.decision_function(X) for model in models))
    assert [model.nu_ for model in models] == [models[0].nu_] * 2


def verify_bounds(model: Any, rows: Any, y: Any) -> bool:
    """Return whether the oracle of the fit confirms the recorded bounds."""
    verified, certificate = model.run_.verify_class(model.class_of(rows, y)), model.certificate_
    return (verified.lower, verified.upper) == (certificate.lower, certificate.upper)
