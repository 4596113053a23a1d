"""Faults that were found in the classifier: ends, ranges of weights, messages."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from boostopt.boosting.run.stop_reason import StopReason
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).round(3)
y = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * RNG.normal(size=60) > 0).astype(int)


def fitted(sample_weight: Any = None, X: Any = X, y: Any = y, **parameters: Any) -> Any:
    return MarginBoostClassifier(**parameters).fit(X, y, sample_weight=sample_weight)


@pytest.mark.thorough
def test_a_run_that_ends_far_from_epsilon_is_warned_of() -> None:
    reason = StopReason.SOLVER_STUCK
    with pytest.warns(ConvergenceWarning, match="epsilon"):
        model = fitted(nu=0.1, epsilon=1e-9)
    assert re.search(rf"\({reason}.*\bepsilon = 1e-09\b.*\[.*\].*\bepsilon\.$", str(model.diagnosis_), re.MULTILINE)
    assert model.certificate_.gap > 1e-9
    with pytest.warns(ConvergenceWarning, match="epsilon"):
        model = fitted(nu=0.1, eta=1e-9)
    assert re.search(r"\bepsilon = 0\.01\b.*\beta\.$", str(model.diagnosis_), re.MULTILINE)
    assert model.run_.stop_reason is StopReason.CONVERGED and "regularizer" in model.run_.reason
    assert model.certificate_.gap > 0.5


@pytest.mark.thorough_cases("norm_penalty", "norm_ball", "svm")
@pytest.mark.parametrize("formulation", ["lpboost", "softboost", "norm_penalty", "norm_ball", "svm"])
def test_runs_that_end_by_their_rules_are_not_warned_of(formulation: str) -> None:
    parameters = {"norm_penalty": {"r": 0.3}, "norm_ball": {"r": 0.3}, "svm": {"C": 1.0}}.get(formulation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(formulation=formulation, epsilon=0.05, parameters=parameters)
    assert model.n_iter_ > 1


def test_all_examples_are_a_count_whatever_the_rounding_of_their_weights() -> None:
    few, labels = X[:10], np.arange(10) > 2
    weights = np.where(labels, 10 / 14, 10 / 6)
    assert weights.sum() < 10.0
    balanced, share = (fitted(X=few, y=labels, nu=nu, class_weight="balanced") for nu in (10, 1.0))
    np.testing.assert_array_equal(balanced.decision_function(few), share.decision_function(few))
    for N in (49, 60):
        one = fitted(np.full(N, 1 / N), X[:N], y[:N], nu=1, epsilon=0.05)
        # With nu the sum of the weights all are at their cap: the best hypothesis is that of least error.
        assert one.certificate_.lower == pytest.approx(np.mean(one.margins_))
    with pytest.raises(OptionError, match=r"\bnu\b.* 60\b.* 61\b"):
        fitted(nu=61)


def test_a_warm_start_that_needs_no_round_has_no_iteration_and_one_stage() -> None:
    model = fitted(epsilon=0.1, warm_start=True)
    again = model.set_params(epsilon=0.3).fit(X, y)
    assert again.n_iter_ == 0 and again.certificate_.gap <= 0.3
    (stage,) = again.staged_predict(X)
    np.testing.assert_array_equal(stage, again.predict(X))


class Series:
    """Numbers that compare one by one and have no truth value, as those of pandas do."""

    def __eq__(self, operand: object) -> Any:
        return np.array([True, False])

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "Series"


class ReturnsNone(DecisionTreeClassifier):
    """A classifier whose fit forgets to return itself."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().fit(X, y, sample_weight)


def one_argument(X: Any) -> Any:
    return DecisionStumps(X, X[:, 0] > 0)


def kernel(**options: Any) -> dict[str, Any]:
    return {"base": "kernel", "base_options": options}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"class_weight": np.array([1, 2])}, r'\bclass_weight\b.*\bNone, "balanced".*\bndarray\b.*\(2,\)'),
    ({"class_weight": Series()}, r'\bclass_weight\b.*\bNone, "balanced".*\bSeries\b'),
    ({"class_weight": {0: "a", 1: 1}}, r"\bclass_weight\b.*\[1e-100, 1e\+100\].*'a' for 0\b"),
    ({"class_weight": {0: True, 1: 1}}, r"\bclass_weight\b.*\[1e-100, 1e\+100\].* True for 0\b"),
    ({"class_weight": {"0": 1, "1": 2}}, r"\bclass_weight\b.* 0, 1\b.*\bkey '0'.*\bno key 0\b"),
    ({"class_weight": {0: 1e300, 1: 1e-300}}, r"\bclass_weight\b.*\[1e-100, 1e\+100\].* 1e\+300 for 0\b"),
    ({"class_weight": {0: 1e60, 1: 1e-60}}, r"\bsample_weight\b.*\bclass_weight\b.* 1e-60 to 1e\+60\b"),
    ({"sample_weight": np.full(60, 1e308)}, r"\bsample_weight\b.*\[1e-100, 1e\+100\].* 1e\+308 to 1e\+308\b"),
    ({"sample_weight": np.full(60, 1e300)}, r"\bsample_weight\b.*\[1e-100, 1e\+100\].* 1e\+300 to 1e\+300\b"),
    ({"sample_weight": np.r_[1e-200, np.ones(59)]}, r"\bsample_weight\b.*\[1e-100, 1e\+100\].* 1e-200 to 1\b"),
    ({"sample_weight": np.r_[1e-60, np.full(59, 1e60)]}, r"\bsample_weight\b.*\bclass_weight\b.* 1e-60 to 1e\+60\b"),
    (kernel(kernel=3), r"\bkernel 3\b.*\blinear, polynomial, rbf\b"),
    (kernel(kernel=len), r"\bkernel <built-in function len>.*\blinear, polynomial, rbf\b"),
    (kernel(kernel="rbf", gamma="auto"), r"\bgamma\b.*\bNone\b.*'auto'"),
    (kernel(kernel="linear", gamma=-1), r"\bgamma\b.*\bNone\b.* -1\b"),
    (kernel(kernel="rbf", degree=2.5), r"\bdegree\b.* 1 to 1000\b.* 2\.5\b"),
    (kernel(kernel="polynomial", coef0="x"), r"\bcoef0\b.*\bfinite\b.*'x'"),
    ({"formulation": "svm", "parameters": {"C": "1"}}, r"\bC\b.*'1'"),
    ({"formulation": "svm"}, r'\bsvm\b.*\bC\b.*\{"C": \.\.\.\}'),
    ({"formulation": "adaboost_star"}, r'\badaboost_star\b.*\baccuracy\b.*\{"accuracy": \.\.\.\}'),
    ({"base": ReturnsNone()}, r"\bReturnsNone\.fit\b.*\bself\b.*\bNone\b"),
    ({"base": one_argument}, r"\bbase\b.*\(X, y, c\).*\bone_argument\b"),
    ({"base_options": {"reflexive": False}}, r"\breflexive\b.*\bin base_options\b.*\breflexive\b"),
    ({"base_options": {"c": 1}}, r"\bc\b.*\bin base_options\b.*\bsample_weight\b"),
    ({"checkpoint": ""}, r"\bcheckpoint\b.*''"),
]


@pytest.mark.parametrize(("arguments", "facts"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED])
def test_invalid_arguments_are_refused_by_name(arguments: dict[str, Any], facts: str) -> None:
    with pytest.raises((OptionError, ProblemError), match=facts):
        fitted(**arguments)


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_weights_at_the_ends_of_the_range_are_as_good_as_others(scale: float) -> None:
    model = fitted(np.full(60, scale), epsilon=0.1)
    plain = fitted(epsilon=0.1).certificate_
    assert model.certificate_.lower <= plain.upper + 1e-9 and plain.lower <= model.certificate_.upper + 1e-9


@pytest.mark.thorough
def test_class_weights_may_leave_a_class_out() -> None:
    half, both = (fitted(class_weight=weights, epsilon=0.1) for weights in ({1: 3}, {0: 1, 1: 3, "none": 2}))
    np.testing.assert_array_equal(half.decision_function(X), both.decision_function(X))


CHANGES: list[Callable[[Any], Any]] = [
    lambda model: model.fit(X, y, np.arange(60) + 1),
    lambda model: model.set_params(class_weight={1: 2}).fit(X, y),
    lambda model: model.set_params(intercept=False).fit(X, y),
    lambda model: model.set_params(reflexive=False).fit(X, y),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_warm_start_says_what_must_stay(change: Callable[[Any], Any]) -> None:
    model = fitted(epsilon=0.3, warm_start=True)
    with pytest.raises(OptionError, match=r"\bwarm_start\b.*\bbase\b.*\breflexive\b.*\bintercept\b.*\bclass_weight\b"):
        change(model)
