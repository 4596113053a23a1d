"""The classifier by what it must equal: `boost` by hand, copies, separate problems, linear programs."""

from __future__ import annotations

import math
import os
import pickle
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linprog
from sklearn import set_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from boostopt import Run, boost, stump_matrix
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.stabilization import RECOMMENDED_COLUMNS, RECOMMENDED_STABILIZATION
from boostopt.errors import DataError, OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators.training.baseline_and_nu_warnings import SMALL_SOFT_MARGIN
from boostopt.estimators.training.binary_fit import CLEAR_MARGIN, LAST_MARGIN_FACTOR, FitSettings
from boostopt.estimators.training.training_data import merge_examples
from boostopt.oracles import DecisionStumps, KernelColumns, Oracle, Query, RawFeatures, RBFNetworks
from boostopt.oracles.base import Answer


def random_examples(N: int = 60, features: int = 4, seed: int = 0) -> Any:
    """Noisy examples of two classes, 0 and 1, no two alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, features)).round(3)
    return X, (X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=N) > 0).astype(int)


def wine() -> Any:
    return load_wine(return_X_y=True)


X, y = random_examples()
WINE, CULTIVAR = wine()


def fitted(X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Any:
    """A fitted classifier, not typed."""
    return MarginBoostClassifier(**parameters).fit(X, y, sample_weight=sample_weight)


def in_order(X: Any, y: Any) -> Any:
    """The examples in the order in which the classifier takes them."""
    rows = np.column_stack([y, X])
    order = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0].argsort()
    return X[order], y[order]


STEPS: dict[str, Any] = {"backend": "interior"}


@pytest.mark.thorough
@pytest.mark.parametrize("nu", [0.2, 12], ids=["share", "count"])
@pytest.mark.parametrize("how", [{}, STEPS], ids=["looks", "steps"])
def test_two_classes_are_boost_by_hand(nu: float, how: dict[str, Any]) -> None:
    model = fitted(X, y, nu=nu, intercept=False, **how)
    total: dict[str, Any] = (
        {**how, "columns_per_round": RECOMMENDED_COLUMNS, "stabilization": RECOMMENDED_STABILIZATION} if how else {}
    )
    oracle = DecisionStumps(*in_order(X, y))
    run = boost("erlpboost", oracle, nu=12, epsilon=0.01, **total)
    if isinstance(run, HistogramRun):
        lower = run.class_certificate.lower
        margins = (SMALL_SOFT_MARGIN, LAST_MARGIN_FACTOR * SMALL_SOFT_MARGIN, CLEAR_MARGIN)
        run = run.with_smaller_loss(max(margin for margin in margins if lower > margin))
    np.testing.assert_array_equal(model.decision_function(X), run.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), (run.predict(X) + 1) // 2)
    assert model.certificate_.lower == run.class_certificate.lower
    assert model.certificate_.upper == run.class_certificate.upper
    assert model.n_iter_ == run.rounds == model.run_.rounds
    assert model.oracle_ == str(oracle)
    np.testing.assert_array_equal(model.margins_, (2 * y - 1) * run.decision_function(X))
    assert np.sort(model.margins_)[:12].mean() == pytest.approx(run.class_certificate.lower, abs=1e-9)


@pytest.mark.thorough
def test_the_certificate_holds_the_optimum_of_the_linear_program_over_the_whole_class() -> None:
    signs = 2 * y - 1
    U = np.column_stack([stump_matrix(X, signs, t=10**6), signs, -signs])
    N, t = U.shape
    # max rho - sum psi / nu   s.t.  Uw + psi >= rho, w in the simplex, psi >= 0
    rows = np.hstack([-U, -np.eye(N), np.ones((N, 1))])
    cost = np.concatenate([np.zeros(t), np.full(N, 1 / 6), [-1.0]])
    one = np.concatenate([np.ones(t), np.zeros(N + 1)])[np.newaxis]
    bounds = [(0, None)] * (t + N) + [(None, None)]
    optimum = -linprog(cost, rows, np.zeros(N), one, [1.0], bounds).fun
    for formulation in ("erlpboost", "lpboost", "softboost"):
        certificate = fitted(X, y, formulation=formulation, nu=6, epsilon=0.005).certificate_
        assert certificate.lower - 1e-9 <= optimum <= certificate.upper + 1e-9
        assert certificate.gap <= 0.005


@pytest.mark.thorough
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"class_weight": "balanced"},
        {"class_weight": {0: 0.3, 1: 1.7}, "nu": 0.3},
        {"base": "kernel", "base_options": {"kernel": "rbf"}, "epsilon": 0.05},
        {"base": "rbf", "base_options": {"K": 3}, "random_state": 3, "max_iter": 5, "formulation": "adaboost"},
        {"base": DecisionTreeClassifier(max_depth=2), "epsilon": 0.1},
    ],
    ids=str,
)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_weight_is_a_number_of_copies_to_the_last_digit(parameters: dict[str, Any], sparse: bool) -> None:
    rng = np.random.default_rng(1)
    features = np.where(np.abs(X) < 0.3, 0.0, X)
    weights = rng.integers(0, 4, size=len(y))
    order = rng.permutation(int(weights.sum()))
    copies, labels = features.repeat(weights, axis=0)[order], y.repeat(weights)[order]
    make: Any = scipy.sparse.csr_array if sparse else np.asarray
    weighted = fitted(make(features), y, weights, **parameters)
    copied = fitted(make(copies), labels, **parameters)
    np.testing.assert_array_equal(weighted.decision_function(features), copied.decision_function(features))
    np.testing.assert_array_equal(weighted.margins_.repeat(weights)[order], copied.margins_)


def test_weights_of_a_small_sum_are_as_good_as_large_ones() -> None:
    plain, share = fitted(X, y, epsilon=0.1), fitted(X, y, np.full(len(y), 2.0**-9), epsilon=0.1)
    np.testing.assert_array_equal(plain.decision_function(X), share.decision_function(X))
    # A tenth of four examples is less than one example, so the margin is hard.
    few = fitted(X[:4], [0, 0, 1, 1], nu=0.1, formulation="lpboost")
    assert few.certificate_.lower == pytest.approx(1.0, abs=1e-9)


@pytest.mark.thorough
def test_labels_are_names() -> None:
    named = fitted(X, np.where(y == 1, "yes", "no"), epsilon=0.1)
    assert list(named.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(named.decision_function(X), fitted(X, y, epsilon=0.1).decision_function(X))
    np.testing.assert_array_equal(named.predict(X) == "yes", named.decision_function(X) > 0)
    renamed = fitted(X, np.where(y == 1, "a", "b"), epsilon=0.1)
    assert renamed.certificate_.lower == pytest.approx(named.certificate_.lower, abs=0.1)


@pytest.mark.thorough
def test_more_classes_are_problems_of_two_each() -> None:
    names = np.array(["barolo", "grignolino", "barbera"])[CULTIVAR]
    model = fitted(WINE, names, epsilon=0.2)
    f = model.decision_function(WINE)
    assert f.shape == model.margins_.shape == (178, 3) and np.abs(f).max() <= 1.0
    for k, name in enumerate(model.classes_):
        binary_model = fitted(WINE, names == name, epsilon=0.2)
        np.testing.assert_array_equal(f[:, k], binary_model.decision_function(WINE))
        np.testing.assert_array_equal(model.margins_[:, k], np.where(names == name, 1, -1) * f[:, k])
        assert model.certificate_[k].lower == binary_model.certificate_.lower
    np.testing.assert_array_equal(model.predict(WINE), model.classes_[f.argmax(axis=1)])
    assert model.n_iter_ == max(run.rounds for run in model.runs_)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(AttributeError, match=r"\brun_ .* 3\b"):
        model.run_  # noqa: B018
    two = fitted(WINE, names, epsilon=0.2, n_jobs=2)
    np.testing.assert_array_equal(two.decision_function(WINE), f)
    assert not any(certificate.recorded for certificate in two.certificate_)


@pytest.mark.thorough
def test_stages_end_with_the_classifier_and_begin_with_a_hypothesis() -> None:
    model = fitted(X, y, formulation="lpboost")
    values, labels = list(model.staged_decision_function(X)), list(model.staged_predict(X))
    assert len(values) == len(labels) == model.n_iter_
    np.testing.assert_array_equal(values[-1], model.decision_function(X))
    np.testing.assert_array_equal(labels[-1], model.predict(X))
    np.testing.assert_array_equal(values[0], model.run_.at_round(1).decision_function(X))
    np.testing.assert_array_equal(values[4], model.run_.at_round(5).decision_function(X))
    several = fitted(WINE, CULTIVAR, epsilon=0.1)
    stages = list(several.staged_decision_function(WINE))
    assert len(stages) == several.n_iter_ and all(stage.shape == (178, 3) for stage in stages)
    np.testing.assert_array_equal(stages[-1], several.decision_function(WINE))
    long = fitted(X, y, formulation="corrective_erlpboost", max_iter=None, epsilon=0.3)
    with pytest.raises(OptionError, match=r"\bstages\b.*\bmax_iter\b.* 1000\b"):
        list(long.staged_predict(X))


@pytest.mark.thorough
def test_a_time_limit_ends_the_fit_and_says_what_is_proved() -> None:
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        short = MarginBoostClassifier(epsilon=1e-6, time_limit=1e-9).fit(X, y)
    # The first trial has taken all the time: half of the largest share that gives up no class.
    assert short.nu_ == pytest.approx(min(np.mean(y), 1 - np.mean(y)))
    assert re.search(r"\btime_limit = 1e-09\b.*\bsoft margin\b.*\[.*\]", str(short.diagnosis_))
    assert (short.run_.reason, short.n_iter_) == (StopReason.TIME_LIMIT, 1)
    assert fitted(X, y, time_limit=1000).n_iter_ == fitted(X, y).n_iter_
    endless = fitted(X, y, formulation="adaboost", max_iter=None, time_limit=0.05)
    assert endless.run_.reason == StopReason.TIME_LIMIT


def test_the_time_limit_is_shared_by_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    time_limits, run = list[Any](), FitSettings.fit_binary

    def fit_and_record(self: FitSettings, *arguments: Any) -> Run:
        time_limits.append(self.time_limit)
        return run(self, *arguments)

    monkeypatch.setattr(FitSettings, "fit_binary", fit_and_record)
    fitted(WINE, CULTIVAR, epsilon=0.4, time_limit=3000)
    fitted(X, y, epsilon=0.4, time_limit=3000, nu=0.1)
    assert time_limits[-1] == 3000
    np.testing.assert_allclose(time_limits[:3], 1000, atol=100)


@pytest.mark.thorough
def test_importances_are_shares_of_the_spreads() -> None:
    model = fitted(X, y)
    votes = np.zeros((4, len(y)))
    for hypothesis, w in zip(model.run_.hypotheses, model.run_.w, strict=True):
        if np.isfinite(hypothesis.threshold):
            votes[hypothesis.feature] += w * hypothesis(X)
    by_hand = votes.std(axis=1)
    np.testing.assert_allclose(model.feature_importances_, by_hand / by_hand.sum(), rtol=1e-9)
    for base in ("feature", DecisionTreeClassifier(max_depth=2), LogisticRegression()):
        shares = fitted(X, X[:, 0] > 0, base=base, epsilon=0.1).feature_importances_
        assert shares.shape == (4,) and shares.sum() == pytest.approx(1.0) and shares.argmax() == 0
    with pytest.raises(AttributeError, match=r"\bRBFHypothesis\b"):
        fitted(X, y, base="rbf", epsilon=0.3).feature_importances_  # noqa: B018
    with pytest.raises(AttributeError, match=r"\bKNeighborsClassifier\b"):
        fitted(X, y, base=KNeighborsClassifier(9), epsilon=0.3).feature_importances_  # noqa: B018


@pytest.mark.thorough
def test_further_fits_go_on_from_the_last_one() -> None:
    model = fitted(X, y, warm_start=True, epsilon=0.1)
    old_hypotheses = list(model.run_.hypotheses)
    again = model.set_params(epsilon=0.002, nu=0.25).fit(X, y)
    cold = fitted(X, y, epsilon=0.002, nu=0.25)
    assert list(again.run_.hypotheses)[: len(old_hypotheses)] == old_hypotheses
    assert again.n_iter_ < cold.n_iter_ and again.certificate_.gap <= 0.002
    assert again.certificate_.lower <= cold.certificate_.upper and cold.certificate_.lower <= again.certificate_.upper
    np.testing.assert_array_equal(list(again.staged_predict(X))[-1], again.predict(X))
    with pytest.raises(OptionError, match=r"\bwarm_start\b.* 60 .* 50 "):
        model.fit(X[:50], y[:50])
    with pytest.raises(OptionError, match=r"\[0, 1\].*\[0, 5\]"):
        model.fit(X, 5 * y)


def test_a_further_fit_by_histogram_newton_has_a_smaller_logistic_loss_too() -> None:
    model = fitted(X, y, warm_start=True, nu=0.4, epsilon=0.1)
    first, again = model.run_, model.set_params(nu=0.3, epsilon=0.03).fit(X, y)
    plain = boost("erlpboost", model.class_of(X, y), nu=0.3 * 60, epsilon=0.03, start=first)
    assert isinstance(again.run_, HistogramRun)
    assert again.run_.hypotheses[: len(plain.hypotheses)] == plain.hypotheses  # it continues to a smaller gap
    assert again.certificate_.upper <= plain.class_certificate.upper and again.certificate_.gap <= 0.03
    margins = [(2 * y - 1) * run.decision_function(X) for run in (again, plain)]
    losses = [min(np.logaddexp(0.0, -s * m).mean() for s in np.linspace(0.1, 20.0, 100)) for m in margins]
    assert losses[0] < losses[1] and again.certificate_.lower < plain.class_certificate.lower
    # Nothing is left to do, so nothing changes.
    f, third = again.decision_function(X), model.fit(X, y)
    assert third.n_iter_ == 0
    np.testing.assert_array_equal(third.decision_function(X), f)


def test_evaluations_of_a_line_search_count_as_rounds() -> None:
    """A further fit ended after 9 rounds, and the limit was 7."""
    rng = np.random.default_rng(4)
    features = rng.normal(size=(1500, 5))
    labels = features[:, :3].sum(axis=1) + rng.normal(size=1500) > 0
    model = fitted(features, labels, warm_start=True, nu=0.5, epsilon=0.002)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.set_params(max_iter=7, epsilon=0.0004).fit(features, labels)
    assert model.n_iter_ <= 7


@pytest.mark.thorough
def test_a_fit_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = fitted(WINE, CULTIVAR, nu=0.1, max_iter=4, epsilon=0.05, checkpoint=tmp_path / "wine")
    words = str(model.diagnosis_)
    assert re.search(r"\bmax_iter = 4\b.* 3 of 3 .*\b0\b.*\b1\b.*\b2\b.*\[.*\]", words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wine.0", "wine.1", "wine.2"]
    first = [Run.load(tmp_path / f"wine.{k}") for k in range(3)]
    resumed = fitted(WINE, CULTIVAR, nu=0.1, epsilon=0.05, checkpoint=str(tmp_path / "wine"))
    for first_run, after, certificate in zip(first, resumed.runs_, resumed.certificate_, strict=True):
        # A run is stored before its last evaluation, which is repeated.
        assert list(after.hypotheses[: len(first_run.w)]) == list(first_run.hypotheses) and first_run.rounds == 3
        assert certificate.gap <= 0.05
    with pytest.raises(DataError, match=r"\bcheckpoint\b.*\bwine\.0\b"):
        fitted(WINE, CULTIVAR, epsilon=0.05, checkpoint=tmp_path / "wine", nu=0.3)
    with pytest.raises(OptionError, match=r"\bcheckpoint\b.*\bDecisionTreeClassifier\b"):
        fitted(X, y, base=DecisionTreeClassifier(max_depth=1), checkpoint=tmp_path / "trees")


class Interrupting(Oracle):
    """Stumps that the user interrupts in the third call."""

    def __init__(self, *examples: Any) -> None:
        self.stumps, self.calls = DecisionStumps(*examples), 0

    @property
    def N(self) -> int:
        return self.stumps.N

    @property
    def y(self) -> Any:
        return self.stumps.y

    @property
    def digest(self) -> str:
        return self.stumps.digest

    def __str__(self) -> str:
        return str(self.stumps)

    def best(self, query: Query) -> Answer:
        self.calls += 1
        if self.calls == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return self.stumps.best(query)


@pytest.mark.thorough
def test_an_interrupt_ends_the_fit_and_leaves_the_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fitted(X, y, base=Interrupting, checkpoint=tmp_path / "run")
    resumed = fitted(X, y, base=DecisionStumps, checkpoint=tmp_path / "run")
    assert resumed.n_iter_ > 2 and resumed.certificate_.gap <= 0.01


def test_the_limit_on_rounds_is_warned_of_with_what_is_proved() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        diagnosis = fitted(X, y, max_iter=3, nu=0.1).diagnosis_
    assert re.search(r"\bmax_iter = 3\b.*\bstumps\b.*\[.*\].*\bepsilon = 0\.01\b", str(diagnosis))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        diagnosis = fitted(X, y, max_iter=1, formulation="svm", parameters={"C": 1.0}).diagnosis_
    assert re.search(r"\bmax_iter = 1\b.*\boptimum\b.*\bcollected\b.*\[", str(diagnosis))
    assert fitted(X, y, max_iter=3, formulation="adaboost").n_iter_ == 3  # there rounds are the only end


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("formulation", "parameters"),
    [
        ("lpboost", None),
        ("softboost", None),
        ("totalboost", None),
        ("binary_erlpboost", None),
        ("unnormalized_erlpboost", None),
        ("corrective_erlpboost", None),
        ("log_loss", {"eta": 2.0}),
        ("norm_ball", {"r": 0.3}),
        ("norm_penalty", {"r": 0.3}),
        ("l1_adaboost", {"C": 0.1}),
        ("svm", {"C": 0.1}),
        ("lp_reg_adaboost", {"C": 0.1}),
        ("adaboost", None),
        ("arc_gv", None),
        ("ata", {"phi": 0.3}),
        ("adaboost_star", {"accuracy": 0.1}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_formulation_classifies(formulation: str, parameters: Any) -> None:
    settings = {"eta": parameters.pop("eta")} if parameters and "eta" in parameters else {}
    model = fitted(X, y, formulation=formulation, parameters=parameters, max_iter=40, epsilon=0.1, nu=0.2, **settings)
    assert model.score(X, y) >= 0.75
    assert np.abs(model.decision_function(X)).max() <= 1.0
    assert model.run_.record.problem.formulation.name == formulation
    assert hasattr(model, "certificate_") == (formulation != "svm")


@pytest.mark.thorough
def test_bases_are_the_oracles_of_their_names() -> None:
    signs = 2 * y - 1
    for base, oracle in {
        "stump": DecisionStumps(X, signs),
        "feature": RawFeatures(X, signs, reflexive=True),
        "kernel": KernelColumns(X, signs, reflexive=True),
        "rbf": RBFNetworks(X, signs, reflexive=True),
    }.items():
        assert re.fullmatch(rf"{re.escape(str(oracle))}.*\bconstants", fitted(X, y, base=base, epsilon=0.2).oracle_)
    options: Any = {"kernel": "rbf", "gamma": 0.5}
    radial = fitted(X, y, base="kernel", base_options=options, reflexive=False, epsilon=0.2, intercept=False)
    assert radial.oracle_ == str(KernelColumns(X, signs, reflexive=False, **options))
    tree, neighbours = DecisionTreeClassifier(max_depth=1), KNeighborsClassifier(9)
    assert fitted(X, y, base=tree, epsilon=0.2, intercept=False).oracle_.startswith("DecisionTreeClassifier ")
    assert re.match(r"KNeighborsClassifier .* 60 ", fitted(X, y, base=neighbours, epsilon=0.3).oracle_)
    one_way = fitted(X, y, base=lambda X, y, c: DecisionStumps(X, y, c, reflexive=False))
    assert one_way.oracle_ == str(DecisionStumps(X, signs, reflexive=False))
    drawn_twice = [fitted(X, y, base="rbf", random_state=5, epsilon=0.2).decision_function(X) for _ in range(2)]
    np.testing.assert_array_equal(*drawn_twice)


def test_constants_are_members_of_the_class() -> None:
    # All points on one side of 0: no feature as it is separates them, a feature and a constant do.
    Z = np.concatenate([np.linspace(0.1, 0.3, 20), np.linspace(0.5, 0.9, 20)])[:, np.newaxis]
    of_two = np.repeat([0, 1], 20)
    assert fitted(Z, of_two, base="feature", formulation="lpboost", nu=1).score(Z, of_two) == 1.0
    assert fitted(Z, of_two, base="feature", formulation="lpboost", nu=1, intercept=False).score(Z, of_two) == 0.5


@pytest.mark.parametrize("base", ["stump", "tree2", "feature", "kernel", "rbf"])
@pytest.mark.parametrize("majority", [0, 1])
def test_constant_features_give_the_majority(base: str, majority: int) -> None:
    Z = np.full((30, 2), 3.0)
    labels = np.where(np.arange(30) < 20, majority, 1 - majority)
    assert (fitted(Z, labels, base=base).predict(Z) == majority).all()
    model = fitted(Z, labels, base=base, nu=0.1)
    assert (model.predict(Z) == majority).all()
    assert np.abs(model.decision_function(Z)).max() <= 0.01  # the soft margin is 0: half of h, half of -h
    assert model.certificate_.lower == pytest.approx(0.0, abs=0.01)


@pytest.mark.thorough
def test_a_class_may_have_one_example() -> None:
    single_label = np.zeros(len(y), dtype=int)
    single_label[7] = 1
    model = fitted(X, single_label, nu=1)
    assert model.score(X, single_label) == 1.0 and model.certificate_.lower > 0
    three = y.copy()
    three[7] = 2
    assert fitted(X, three, nu=1).predict(X)[7] == 2


@pytest.mark.thorough
def test_examples_without_weight_are_gone_but_have_margins() -> None:
    weights = np.r_[np.zeros(10), np.ones(50)]
    model, without = fitted(X, y, weights), fitted(X[10:], y[10:])
    np.testing.assert_array_equal(model.margins_, (2 * y - 1) * without.decision_function(X))
    third = np.where(np.arange(len(y)) < 10, 2, y)
    dropped = fitted(X, third, weights)
    assert list(dropped.classes_) == [0, 1]
    assert np.isnan(dropped.margins_[:10]).all() and np.isfinite(dropped.margins_[10:]).all()


@pytest.mark.thorough
def test_class_weights_multiply() -> None:
    weighed = fitted(X, y, class_weight={0: 3, 1: 1}, epsilon=0.1)
    np.testing.assert_array_equal(
        weighed.decision_function(X), fitted(X, y, np.where(y, 1, 3), epsilon=0.1).decision_function(X)
    )
    # Balanced weights are whole numbers in these proportions.
    counts = np.bincount(y)
    balanced = fitted(X, y, class_weight="balanced", epsilon=0.1)
    whole_weights = (counts[::-1] // math.gcd(*counts.tolist()))[y]
    np.testing.assert_array_equal(
        balanced.decision_function(X), fitted(X, y, whole_weights, epsilon=0.1).decision_function(X)
    )
    steps = fitted(X, y, (len(y) / (2 * counts))[y], epsilon=0.1)
    assert balanced.certificate_.lower <= steps.certificate_.upper
    assert steps.certificate_.lower <= balanced.certificate_.upper


def test_balanced_weights_become_whole_numbers_for_histogram_newton() -> None:
    features, labels = np.arange(5.0)[:, np.newaxis], np.array([0, 1, 2, 0, 1])
    balanced = merge_examples(features, labels, np.array([1, 2, 5, 2, 2])).with_class_weight("balanced")
    # The classes have the totals 3, 4 and 5, whose least common multiple is 60.
    np.testing.assert_array_equal(balanced.whole_c, [20, 30, 60, 40, 30])
    scaled = merge_examples(features, labels, 2.0**20 * np.array([1, 2, 5, 2, 2])).with_class_weight("balanced")
    np.testing.assert_array_equal(scaled.whole_c, balanced.whole_c)
    for weights in ([1, 2, 5, 2, 2.5], [1, 2**20 - 1, 2**19 - 1, 2, 2**20]):  # no whole weights; products too large
        balanced = merge_examples(features, labels, np.array(weights)).with_class_weight("balanced")
        np.testing.assert_array_equal(balanced.whole_c, balanced.c)
    assert isinstance(fitted(X, y, class_weight="balanced", epsilon=0.1).run_, HistogramRun)


@pytest.mark.thorough
def test_the_classifier_is_pickled_and_cloned() -> None:
    model = fitted(X, y, base=DecisionTreeClassifier(max_depth=2), epsilon=0.1)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
    assert back.certificate_.lower == model.certificate_.lower
    copy: Any = clone(model.set_params(base__max_depth=3))
    assert copy.base.max_depth == 3 and not hasattr(copy, "runs_")
    assert MarginBoostClassifier().get_params()["formulation"] == "erlpboost"
    assert repr(MarginBoostClassifier(nu=3)) == "MarginBoostClassifier(nu=3)"


@pytest.mark.thorough
def test_tables_and_text_are_taken() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = fitted(table, pandas.Series(np.where(y, "up", "down")))
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(model.predict(table) == "up", fitted(X, y).predict(X) == 1)
    rng = np.random.default_rng(0)
    words = scipy.sparse.random_array((80, 500), density=0.02, format="coo", rng=rng)
    labels = (words.sum(axis=1) > np.median(words.sum(axis=1))).astype(int)
    for base in ("stump", "feature", "kernel"):
        sparse = fitted(words, labels, base=base, epsilon=0.1)
        dense = fitted(words.toarray(), labels, base=base, epsilon=0.1)
        assert sparse.certificate_.lower <= dense.certificate_.upper + 1e-9
        assert dense.certificate_.lower <= sparse.certificate_.upper + 1e-9
        assert sparse.predict(words).shape == (80,)


@pytest.mark.thorough
def test_the_classifier_works_in_pipelines_searches_and_ensembles() -> None:
    cancer: Any = load_breast_cancer()
    pipeline = make_pipeline(StandardScaler(), MarginBoostClassifier(epsilon=0.1))
    grid = {"marginboostclassifier__nu": [0.1, 0.3], "marginboostclassifier__epsilon": np.array([0.5, 0.2])}
    search = GridSearchCV(pipeline, grid, cv=3).fit(cancer.data, cancer.target)
    assert search.best_score_ > 0.93
    fine = make_pipeline(StandardScaler(), MarginBoostClassifier(epsilon=0.03))
    assert cross_val_score(fine, WINE, CULTIVAR, cv=3).mean() > 0.9
    probabilities: Any = CalibratedClassifierCV(MarginBoostClassifier(epsilon=0.1), cv=2).fit(X, y).predict_proba(X)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert not hasattr(MarginBoostClassifier(), "predict_proba")


@pytest.mark.thorough
def test_weights_are_routed() -> None:
    weights = np.arange(len(y)) % 3
    set_config(enable_metadata_routing=True)
    try:
        inner: Any = MarginBoostClassifier(epsilon=0.1)
        inner.set_fit_request(sample_weight=True)
        inner.set_score_request(sample_weight=True)
        scaler: Any = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, inner).fit(X, y, sample_weight=weights)
        voting: Any = VotingClassifier([("a", inner)]).fit(X, y, sample_weight=weights)
        searched = GridSearchCV(inner, {"nu": [0.2]}, cv=2).fit(X, y, sample_weight=weights)
    finally:
        set_config(enable_metadata_routing=False)
    direct = fitted(StandardScaler().fit_transform(X), y, weights, epsilon=0.1)
    np.testing.assert_array_equal(
        routed[-1].decision_function(StandardScaler().fit_transform(X)), direct.margins_ * (2 * y - 1)
    )
    np.testing.assert_array_equal(voting.predict(X), fitted(X, y, weights, epsilon=0.1).predict(X))
    expected = fitted(X, y, weights, epsilon=0.1, nu=0.2)
    np.testing.assert_array_equal(searched.best_estimator_.margins_, expected.margins_)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"nu": 0.0}, r"\bnu\b.*\(0, 1\].* 0\.0\b"),
    ({"nu": True}, r"\bnu\b.*\(0, 1\].* True\b"),
    ({"nu": 0}, r"\bnu\b.*\(0, 1\].* 0\b"),
    ({"nu": 61}, r"\bnu\b.* 60\b.* 61\b"),
    ({"nu": np.nan}, r"\bnu\b.*\(0, 1\].* nan\b"),
    ({"epsilon": 0}, r"\bepsilon\b.* 0\b"),
    ({"epsilon": "small"}, r"\bepsilon\b.*'small'"),
    ({"eta": "large"}, r"\beta\b.*\bNone\b.*'large'"),
    ({"eta": -1.0}, r"\beta\b.*\[1e-100, 1e\+100\].* -1\b"),
    ({"base": "stumps"}, r"\bbase\b.*'stumps'.*'stump'"),
    ({"base": DecisionTreeClassifier}, r"\bbase\b.*\bstump, binned, tree2, feature, kernel, rbf\b.*<class '"),
    ({"base": 3}, r"\bbase\b.*\bstump, binned, tree2, feature, kernel, rbf\b.* 3\b"),
    ({"base": lambda X, y, c: DecisionStumps(X[20:], y[20:])}, r"\bbase\b.* 60 .*\bDecisionStumps\b.* 40\b"),
    ({"base": lambda X, y, c: 3, "base_options": {"K": 2}}, r"\bbase_options\b.*\bK\b.*\bfunctools\.partial\b"),
    ({"base_options": {"K": 2}}, r"\bDecisionStumps\b.*'K'"),
    ({"base": "rbf", "base_options": {"k": 2}}, r"\bRBFNetworks\b.*'k'.*'K'"),
    ({"base_options": 2}, r"\bbase_options\b.*\bmapping\b.* 2\b"),
    ({"parameters": 2}, r"\bparameters\b.*\bmapping\b.* 2\b"),
    ({"parameters": {"nu": 2}}, r"\bnu\b.*\bin parameters\b"),
    ({"parameters": {"C": 2}}, r"\berlpboost\b.*'C'.*\btwo_sided\b"),
    ({"formulation": "erlpbost"}, r"\bformulation\b.*'erlpbost'.*'erlpboost'"),
    ({"formulation": "l1_adaboost"}, r"\bl1_adaboost\b.*\bC\b"),
    *(
        ({"time_limit": bad}, rf"\btime_limit\b.*\bpositive\b.*\bNone\b.* {re.escape(repr(bad))}")
        for bad in (0, -1.0, "x", True)
    ),
    ({"formulation": "adaboost", "max_iter": None}, r"\badaboost\b.*\bmax_iter=None\b.*\btime_limit=None\b"),
    ({"reflexive": 1}, r"\breflexive\b.* 1\b"),
    ({"intercept": "yes"}, r"\bintercept\b.*'yes'"),
    ({"final_weights": 1}, r"\bfinal_weights\b.* 1\b"),
    ({"final_weights": "best"}, r"\bfinal_weights\b.*'best'.*\bscaled\b"),
    ({"backend": 1}, r"\bbackend\b.* 1\b"),
    ({"backend": "simplex"}, r"\bbackend\b.*'simplex'.*\binterior\b"),
    ({"max_iter": 0}, r"\bmax_iter\b.* 1\b.* 0\b"),
    ({"max_iter": 2.5}, r"\bmax_iter\b.* 1\b.* 2\.5\b"),
    ({"n_jobs": 0}, r"\bn_jobs\b.* 0\b.* 0\b"),
    ({"warm_start": 1}, r"\bwarm_start\b.* 1\b"),
    ({"checkpoint": 1}, r"\bcheckpoint\b.* 1\b"),
    ({"checkpoint": "/nowhere/run"}, r"\bfolder\b.*'/nowhere/run'"),
    ({"random_state": "seed"}, r"'seed'.*\bRandomState\b"),
    ({"class_weight": "even"}, r"""\bclass_weight\b.*\bNone, "balanced".*'even'"""),
    ({"class_weight": {0: 0, 1: 1}}, r"\bclass_weight\b.*\[1e-100, 1e\+100\].* 0 for 0\b"),
    ({"class_weight": {0: 1, 1: -2}}, r"\bclass_weight\b.*\[1e-100, 1e\+100\].* -2 for 1\b"),
    ({"class_weight": {5: 1}}, r"\bclass_weight\b.* 0, 1\b.*\bkey 5\b.*\bno key 0\b"),
]


@pytest.mark.parametrize(("parameters", "facts"), BAD, ids=[" ".join(parameters) for parameters, _ in BAD])
def test_invalid_parameters_are_refused_by_name(parameters: dict[str, Any], facts: str) -> None:
    model = MarginBoostClassifier(**parameters)
    with pytest.raises(ValueError, match=facts):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_refusal_says_what_was_expected_what_came_and_what_to_do() -> None:
    with pytest.raises(OptionError, match=r"^nu must be at most\b.* 60; got 61 examples\. Pass\b.* 0\.1\.$"):
        fitted(X, y, nu=61)


def test_examples_that_are_none_are_named() -> None:
    with pytest.raises(ProblemError, match=r"\bclasses\b.* 1\b"):
        fitted(X, y, y)
    with pytest.raises(ProblemError, match=r"\bsample_weight\b.* 60 .* -1\b"):
        fitted(X, y, -np.ones(60))
    with pytest.raises(ValueError, match="NaN"):
        fitted(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match=r"\bcontinuous\b"):
        fitted(X, X[:, 0])
    with pytest.raises(ProblemError, match=r"\blinear\b.*\bX\b.* 0\b"):
        fitted(np.zeros((60, 2)), y, base="kernel")
    with pytest.raises(ValueError, match=r"\bX\b.* 2 .*\bMarginBoostClassifier\b.* 4 "):
        fitted(X, y).predict(X[:, :2])
