"""The regressor: its interval holds the least mean of the largest residuals, and weights count as copies."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator
from support.regression_programs import all_values, smallest_tube_loss

from boostopt import MarginWarning, OptionError, verify
from boostopt.authoring import COUNT, CappedSimplex, CappedSimplexIndicator, formula, parameter, prototype
from boostopt.estimators import MarginBoostRegressor
from boostopt.estimators.binary_model import combine_opposites
from boostopt.oracles import RegressionStump

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * RNG.normal(size=60)


@pytest.mark.parametrize("formulation", ["erlpboost", "lpboost", "softboost"])
@pytest.mark.parametrize("seed", range(20))
def test_the_interval_holds_the_least_mean_of_all_votes(seed: int, formulation: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 20))
    features = rng.integers(0, 5, (n, 2)) / 4.0 if seed % 2 else rng.normal(size=(n, 2))
    targets = features[:, 0] * 10.0 ** rng.integers(-3, 4) + rng.normal(size=n)
    c = rng.integers(1, 4, n).astype(float)
    share, radius = float(rng.uniform(0.2, 1.0)), float(rng.uniform(0.3, 3.0))
    model = MarginBoostRegressor(formulation, nu=share, radius=radius, epsilon=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features, targets, c)
    nu, interval = max(share * c.sum(), 1.0), model.interval_
    scale = model.residual_scale_
    exact = smallest_tube_loss(all_values(features), targets, c, nu, model.target_scale_)
    assert interval.nu == nu
    assert interval.lower - 1e-9 * scale <= exact <= interval.upper + 1e-9 * scale
    residuals = np.repeat(np.abs(model.predict(features) - targets), c.astype(int))
    largest = np.sort(residuals)[::-1]
    whole, rest = int(nu), nu - int(nu)
    mean = (largest[:whole].sum() + (rest * largest[whole] if rest else 0.0)) / nu
    assert exact - 1e-9 * scale <= mean <= interval.upper + 1e-9 * scale


def test_weights_are_copies_and_the_order_does_not_matter() -> None:
    c = RNG.integers(0, 3, len(Y)).astype(float)
    first = MarginBoostRegressor(epsilon=0.05).fit(X, Y, c)
    rows = RNG.permutation(np.repeat(np.arange(len(Y)), c.astype(int)))
    copies = MarginBoostRegressor(epsilon=0.05).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(first.predict(X), copies.predict(X))
    halves = MarginBoostRegressor(epsilon=0.05).fit(X, Y, c * 2.0**-9)
    np.testing.assert_allclose(halves.predict(X), first.predict(X), rtol=1e-9)
    sparse = MarginBoostRegressor(epsilon=0.05).fit(scipy.sparse.csr_array(X), Y, c)
    np.testing.assert_allclose(sparse.predict(scipy.sparse.csr_array(X)), first.predict(X), rtol=1e-9)


def test_predictions_need_no_examples_and_certificates_are_verified(tmp_path: Path) -> None:
    model = MarginBoostRegressor(epsilon=0.05, nu=0.5).fit(X, Y)
    model.save_certificate(tmp_path / "proof.json", X, Y)
    assert verify(tmp_path / "proof.json", model.class_of(X, Y))
    assert not verify(tmp_path / "proof.json", model.class_of(X, -Y))
    for rows, targets in ((X[1:], Y[1:]), (X, -Y)):
        with pytest.raises(OptionError, match=r"\bsave_certificate\b.*\bPass X, y and sample_weight as to fit\b"):
            model.save_certificate(tmp_path / "other.json", rows, targets)
    assert str(model.interval_).startswith("the least mean of the 30 largest absolute residuals lies in [")
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.interval_ == model.interval_ and len(pickle.dumps(model)) < 40_000
    with pytest.raises(OptionError, match="without the run"):
        loaded.save_certificate(tmp_path / "proof.json", X, Y)
    unfitted: Any = clone(model)
    assert unfitted.get_params() == model.get_params()


def test_a_search_chooses_the_radius() -> None:
    search = GridSearchCV(MarginBoostRegressor(epsilon=0.1), {"radius": [0.01, 2.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"radius": 2.0} and search.best_score_ > 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"formulation": "cg_boost"}, "parameter nu"),
        ({"formulation": "adaboost"}, "parameter nu"),
        ({"formulation": "corrective_erlpboost"}, "over all hypotheses"),
        ({"nu": 1.5}, r"\(0, 1\]"),
        ({"nu": 100}, "at most the sum of the weights"),
        ({"nu": 0}, "at least 1"),
        ({"radius": 0.0}, "radius"),
        ({"radius": "2"}, "radius"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"max_iter": 0}, "max_iter"),
        ({"parameters": {"nu": 3}}, "other than nu"),
        ({"parameters": {"width": 3}}, "width"),
        ({"parameters": {"d0": np.ones(120) / 120}}, "d0"),
        ({"parameters": {"start": None}}, "start"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MarginBoostRegressor(**settings).fit(X, Y)


def first_half(c: Any) -> Any:
    return np.where(np.arange(len(c)) < len(c) // 2, 0.3, 1.0)


def one_side(c: Any) -> Any:
    return np.where(np.arange(len(c)) % 2, 1e-9, 1.0)


@pytest.mark.parametrize("offset", [1e6, 1.7e9, 1e12, -1e12])
def test_targets_with_an_offset_have_their_mean_below_the_upper_end(offset: float) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(20, 2))
        targets = offset + features[:, 0] + rng.normal(size=20)
        model = MarginBoostRegressor("lpboost", nu=5, epsilon=1e-6).fit(features, targets)
        mean = np.sort(np.abs(model.predict(features) - targets))[-5:].mean()
        assert model.interval_.lower <= mean <= model.interval_.upper


def test_shares_and_counts_are_of_the_weights_that_are_passed() -> None:
    intervals = [
        MarginBoostRegressor(nu=0.1, epsilon=0.02).fit(X, Y, np.full(60, weight)).interval_
        for weight in (1.0, 1.0 / 60, 0.99 / 60, 2.0**-20)
    ]
    for interval, weight in zip(intervals, (1.0, 1.0 / 60, 0.99 / 60, 2.0**-20), strict=True):
        assert (interval.lower, interval.upper) == pytest.approx((intervals[0].lower, intervals[0].upper), abs=1e-6)
        assert interval.nu == pytest.approx(6.0 * weight)
    with pytest.raises(ValueError, match="at most the sum of the weights"):
        MarginBoostRegressor(nu=30).fit(X, Y, np.full(60, 0.01))
    whole = MarginBoostRegressor(nu=6, epsilon=0.1).fit(X, Y, np.full(60, 0.1))
    assert whole.interval_.nu == pytest.approx(6.0)


def test_programs_with_another_value_are_refused() -> None:
    nu = parameter("the number of examples", COUNT)
    pages = [
        prototype("costly", lambda p, x: formula("(d - d0)**2/d0", CappedSimplex(x.c, p.nu), x.d0), nu=nu),
        prototype("half", lambda p, x: CappedSimplexIndicator(CappedSimplex(x.c, p.nu / 2)), nu=nu),
        # Caps of some rows that are smaller than c / nu, so that the smallest quotient c / cap is nu.
        prototype("uneven", lambda p, x: CappedSimplexIndicator(CappedSimplex(x.c * first_half(x.c), p.nu)), nu=nu),
        prototype("one side", lambda p, x: CappedSimplexIndicator(CappedSimplex(x.c * one_side(x.c), p.nu)), nu=nu),
    ]
    for page in pages:
        with pytest.raises(OptionError, match="mean of the nu smallest margins"):
            MarginBoostRegressor(page, nu=20).fit(X, Y)


def test_equal_targets_and_a_limit_are_said() -> None:
    with pytest.raises(ValueError, match="different numbers; got 60 samples with the target 1"):
        MarginBoostRegressor().fit(X, np.ones(len(Y)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for limit in (2, 3):
            MarginBoostRegressor(max_iter=limit, epsilon=1e-4).fit(X, Y)
    (text,) = {str(entry.message) for entry in caught}
    assert text == "Boosting ended before the gap fell below epsilon. See interval_."
    details = [vars(entry.message)["details"] for entry in caught if entry.category is ConvergenceWarning]
    assert len(set(details)) == 2 and all("max_iter" in words and "least mean" in words for words in details)


def test_words_and_importances_are_those_of_the_prediction() -> None:
    pandas = pytest.importorskip("pandas")
    names = ["mean area", "age in years", "no use"]
    table = pandas.DataFrame(X, columns=names)
    model = MarginBoostRegressor(epsilon=0.03).fit(table, Y, np.repeat([1.0, 3.0], len(Y) // 2))
    prediction = np.full(len(Y), model.target_scale_[0])
    for line in model.in_words(None):
        size, words = line.split(" ", 1)
        if words.startswith("always"):
            values = np.full(len(Y), float(words.removeprefix("always")))
        else:
            name, rest = words.split(" > ")
            threshold, signs = rest.split(": ")
            upper, lower = (float(sign) for sign in signs.split(", otherwise "))
            values = np.where(X[:, names.index(name)] > float(threshold), upper, lower)
        prediction += float(size) * values
    np.testing.assert_allclose(prediction, model.predict(table), atol=2e-3 * np.ptp(Y))
    assert len(model.in_words(3)) == 3 and model.in_words(3) == model.in_words(None)[:3]
    total = float(np.abs(model.weights_).sum())
    parts = np.zeros((3, len(Y)))
    for stump, weight in zip(model.hypotheses_, model.weights_, strict=True):
        parts[stump.feature] += weight / total * stump(X)
    c = np.repeat([1.0, 3.0], len(Y) // 2)
    means = np.average(parts, axis=1, weights=c)
    spreads = np.sqrt(np.average((parts - means[:, np.newaxis]) ** 2, axis=1, weights=c))
    np.testing.assert_allclose(model.feature_importances_, spreads / spreads.sum(), rtol=1e-9)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.in_words() == model.in_words() and (loaded.feature_importances_ == model.feature_importances_).all()


def test_opposite_stumps_that_predict_numbers_share_one_weight() -> None:
    one, opposite = RegressionStump(1, 0.5, 1, -1, 2.0, 3.0, 2), RegressionStump(1, 0.5, -1, 1, 2.0, 3.0, 2)
    level, drop = RegressionStump(1, -np.inf, -1, -1, 2.0, 3.0, 2), RegressionStump(0, -np.inf, 1, -1, 2.0, 3.0, 2)
    assert combine_opposites([one, opposite, level], np.array([0.5, 0.2, 0.3])) == [(one, 0.3), (level, 0.3)]
    assert combine_opposites([level, drop], np.array([0.5, 0.5])) == []


@pytest.mark.thorough
@pytest.mark.untyped
def test_scikit_learns_checks_pass() -> None:
    results = check_estimator(MarginBoostRegressor(), on_skip=None, on_fail=None)
    failures = {result["check_name"] for result in results if result["status"] != "passed"}
    assert len(results) > 50 and failures <= {"check_array_api_input", "check_sample_weights_pandas_series"}


@pytest.mark.parametrize(
    ("settings", "advice"),
    [({"radius": 1e4}, r"\b0\.01, which is 2\d\d in the units of y\b"), ({"radius": 1e-6}, r"Raise radius = 1e-06\b")],
)
def test_a_constant_prediction_is_said_with_what_to_change(settings: dict[str, Any], advice: str) -> None:
    with pytest.warns(MarginWarning, match="One number is predicted") as caught:
        model = MarginBoostRegressor(**settings).fit(X, Y)
    (warning,) = [vars(entry.message)["details"] for entry in caught if entry.category is MarginWarning]
    assert np.ptp(model.predict(X)) == 0.0 and re.search(advice, warning)


def test_the_run_of_a_copy_is_missed_in_words() -> None:
    copied = pickle.loads(pickle.dumps(MarginBoostRegressor(epsilon=0.2).fit(X, Y)))
    with pytest.raises(AttributeError, match=r"no run_\. A pickle or a copy holds no run\b.*run_\.save"):
        _ = copied.run_
