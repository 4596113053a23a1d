"""Faults that were found in re-weighting: labels, small multiplicities, weights that are 0, messages."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensemble_examples import NU, SIGNS, X, Y, best_soft_margin
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostopt import boost, certify_model
from boostopt.ensembles import members_of, reweight, reweight_one_vs_rest
from boostopt.ensembles.thinning import drop_small_weights
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps, MatrixColumn

RUN = boost("lpboost", DecisionStumps(X, SIGNS), nu=NU, epsilon=0.1)


@pytest.mark.thorough
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1), ("no", "yes"), (False, True), (2.5, 7.0)], ids=str)
@pytest.mark.parametrize("as_list", [False, True], ids=["run", "hypotheses"])
def test_hypotheses_take_and_return_any_two_labels(labels: tuple[Any, Any], as_list: bool) -> None:
    y = np.array(labels)[(SIGNS > 0).astype(int)]
    result = reweight(list(RUN.hypotheses) if as_list else RUN, X, y, "lpboost", nu=NU)
    plain = reweight(RUN, X, SIGNS, "lpboost", nu=NU)
    assert result.soft_margin == plain.soft_margin
    assert result.predict(X).tolist() == [labels[int(sign > 0)] for sign in plain.predict(X)]
    assert set(result.thinned(2).predict(X).tolist()) <= set(labels)


@pytest.mark.thorough
def test_a_classifier_is_its_run_with_its_labels() -> None:
    model: Any = MarginBoostClassifier(nu=10, epsilon=0.1).fit(X, Y)
    result = reweight(model, X, Y, "lpboost", nu=NU)
    assert result.soft_margin_before == pytest.approx(model.certificate_.lower, abs=1e-9)
    assert result.soft_margin >= result.soft_margin_before and set(result.predict(X)) == {"no", "yes"}
    pipeline: Any = make_pipeline(StandardScaler(), MarginBoostClassifier(nu=10, epsilon=0.1)).fit(X, Y)
    members = members_of(pipeline)
    h = np.column_stack([hypothesis(members.rows(X)) for hypothesis in members.hypotheses])
    np.testing.assert_allclose(h @ members.weights, pipeline.decision_function(X), atol=1e-12)


def test_a_classifier_from_a_file_or_a_pickle_is_the_fitted_one(tmp_path: Path) -> None:
    """New weights and certificates need the hypotheses and weights of a classifier, and not its run."""
    model: Any = MarginBoostClassifier(nu=10, epsilon=0.1).fit(X, Y)
    model.save(tmp_path / "model.npz")
    of_fit = reweight(model, X, Y, "lpboost", nu=NU)
    gap = certify_model(model, X, Y).gap
    for restored in (MarginBoostClassifier.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        result = reweight(restored, X, Y, "lpboost", nu=NU)
        assert result.soft_margin == of_fit.soft_margin and result.soft_margin_before == of_fit.soft_margin_before
        assert certify_model(restored, X, Y).gap == gap
    few = pickle.loads(pickle.dumps(THREE))
    parts = reweight_one_vs_rest(few, X, np.arange(len(Y)) % 3, "lpboost", nu=NU).parts
    of_fit_parts = reweight_one_vs_rest(THREE, X, np.arange(len(Y)) % 3, "lpboost", nu=NU).parts
    assert [part.soft_margin for part in parts] == [part.soft_margin for part in of_fit_parts]
    with pytest.raises(OptionError, match=r"label must be one of the classes \[0, 1, 2\]"):
        few.weighted_hypotheses()


def test_small_multiplicities_have_caps_that_do_not_bind() -> None:
    H, y, weights = np.array([[1.0, 1.0], [1.0, -0.6], [0.2, 1.0], [-1.0, -1.0]]), np.array([1, 1, 1, -1]), [0.4] * 4
    result = reweight([MatrixColumn(0), MatrixColumn(1)], H, y, "l1_adaboost", C=1e3, sample_weight=weights)
    hard = best_soft_margin(y[:, np.newaxis] * H, 0.4, np.array(weights))
    assert result.nu == pytest.approx(0.4)
    assert result.soft_margin == pytest.approx(1 / result.solution.d.sum(), abs=1e-7) == pytest.approx(hard, abs=1e-7)


def test_nothing_is_kept_of_weights_that_are_all_0() -> None:
    H = np.array([[1, 1], [1, -1], [-1, 1], [1, 1], [1, -1], [-1, 1]])
    y = np.array([1, 1, 1, -1, -1, -1])
    result = reweight([MatrixColumn(0), MatrixColumn(1)], H, y, "erlpboost", nu=2.0, eta=1.0, two_sided=True)
    np.testing.assert_allclose(result.w, 0.0, atol=1e-9)
    result = replace(result, w=np.zeros(2))  # a solver leaves rounding, each kernel of BLAS its own
    few = result.thinned(1)
    assert len(few.members) == few.n_nonzero_weights == 0
    assert not few.decision_function(H).any() and not few.margins.any() and few.predict(H).shape == (6,)
    assert few.soft_margin == pytest.approx(0.0, abs=1e-9) and few.loss == result.loss
    assert len(few.thinned(1).members) == 0 and "0 of 0 members" in repr(few)


@pytest.mark.parametrize(
    ("w", "spare", "expected"),
    [
        ([0.5, 0.3, 0.2], 0.3, [0.625, 0.375, 0.0]),
        ([0.5, -0.3, 0.2], 0.3, [0.625, -0.375, 0.0]),
        ([0.25, 0.25, 0.0], 0.1, [0.25, 0.25, 0.0]),
        ([0.0, 0.0], 0.3, [0.0, 0.0]),
    ],
)
def test_thinned_weights_keep_their_sum(w: list[float], spare: float, expected: list[float]) -> None:
    np.testing.assert_allclose(drop_small_weights(np.array(w), spare), expected, atol=1e-15)


@pytest.mark.parametrize("tol", [0.3, 1e-9])
def test_weights_sum_to_1_at_any_tolerance(tol: float) -> None:
    assert np.abs(reweight(RUN, X, Y, "erlpboost", nu=NU, eta=1.0, tol=tol).w).sum() == pytest.approx(1.0)


FOREST = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y)
THREE = MarginBoostClassifier(epsilon=0.5).fit(X, np.arange(len(Y)) % 3)


@pytest.mark.parametrize(
    ("ensemble", "features", "y", "facts"),
    [
        (FOREST, X[:, :2], Y, r"^member 0: DecisionTreeClassifier\.predict .*\bX\b.* 2 .* 4 "),
        (FOREST, X[:0], Y, r"\bX\b.*\(0, 4\)"),
        (FOREST, X[:0], Y[:0], r"\by\b.*\bN >= 1\b.*\(0,\)"),
        (RUN, X, np.arange(len(Y)) % 3, r"\by\b.* -1 .* 0, 1, 2\b"),
        (RUN, X, np.where(SIGNS > 0, np.nan, 1.0), r"\by\b.* -1 .*\bnan\b"),
        (RUN, X, np.array(["a", None], dtype=object)[(SIGNS > 0).astype(int)], r"\by\b.*\btype\b.*'NoneType'"),
        (THREE, X, Y, r"\bMarginBoostClassifier\b.*\[0, 1, 2\].*\breweight_one_vs_rest\b"),
        (MarginBoostClassifier(), X, Y, r"\bMarginBoostClassifier,.*\bMarginBoostClassifier\(\)"),
    ],
    ids=["features", "no rows", "no labels", "three labels", "nan", "types", "three classes", "not fitted"],
)
def test_unsupported_ensembles_are_refused(ensemble: Any, features: Any, y: Any, facts: str) -> None:
    with pytest.raises(ProblemError, match=facts):
        reweight(ensemble, features, y, "lpboost", nu=NU)


def test_examples_without_rows_are_not_classified() -> None:
    with pytest.raises(ProblemError, match=r"\bX\b.*\(0,"):
        reweight(FOREST, X, Y, "lpboost", nu=NU).predict(X[:0])
