"""Few members: the loss is proved whatever was chosen, and the choice is a good one."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from ensemble_examples import ENSEMBLES, NU, SIGNS, N, X, Y, Z, best_soft_margin, fresh, soft_margin
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from boostopt import OptionError
from boostopt.ensembles import Reweighted, reweight
from boostopt.ensembles.reweighting_result import PROGRAM_WEIGHTS
from boostopt.ensembles.thinning import drop_small_weights

FOREST = fresh(ENSEMBLES["forest"]).set_params(n_estimators=20).fit(X, Y)
BOOSTING = fresh(ENSEMBLES["gradient boosting"]).fit(X, Y)


def forest(**parameters: Any) -> Reweighted:
    return reweight(FOREST, X, Y, "lpboost", values="predict_proba", nu=NU, **parameters)


@pytest.mark.every(3)
@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("ensemble", [FOREST, BOOSTING], ids=["forest", "boosting"])
def test_the_loss_is_true_against_another_solver(ensemble: Any, k: int) -> None:
    result = reweight(ensemble, X, Y, "lpboost", nu=NU)
    few = result.thinned(k)
    assert len(few.members) == few.n_nonzero_weights <= k
    optimum = best_soft_margin(result.U.to_array(), NU)
    of_few = soft_margin(SIGNS * few.decision_function(X), 10)
    assert few.loss >= optimum - of_few - 1e-12
    assert few.loss == pytest.approx(optimum - of_few, abs=1e-8)
    # The weights of the few are the best that they can have.
    assert of_few == pytest.approx(best_soft_margin(few.U.to_array(), NU), abs=1e-8)


@pytest.mark.thorough_cases("2")
@pytest.mark.parametrize("k", [1, 2])
def test_few_members_are_chosen_nearly_as_well_as_by_trying_all_choices(k: int) -> None:
    result = reweight(BOOSTING, X, Y, "lpboost", nu=NU)
    U = result.U.to_array()[:, :10]
    members = list(result.members[:10])
    few = reweight(members, X, SIGNS, "lpboost", nu=NU).thinned(k)
    best = max(best_soft_margin(U[:, list(columns)], NU) for columns in combinations(range(10), k))
    worst = best_soft_margin(U, NU) - best
    assert few.soft_margin <= best + 1e-9
    assert few.loss <= 1.1 * worst + 1e-8


def test_members_of_the_few_are_those_of_the_ensemble() -> None:
    result = forest()
    few = result.thinned(4)
    assert [result.members[q] for q in few.numbers] == list(few.members)
    assert (few.own_weights == result.own_weights[few.numbers]).all()
    assert (few.U.to_array() == result.U.to_array()[:, few.numbers]).all()
    assert few.soft_margin_certificate is result.soft_margin_certificate
    assert few.soft_margin_before == result.soft_margin_before
    assert few.weights_source.endswith(f" largest soft margin over {few.n_nonzero_weights} of 20 members")
    assert SIGNS * few.decision_function(X) == pytest.approx(few.margins, abs=1e-12)
    assert set(few.predict(Z)) <= {"no", "yes"}
    assert few.solution.program.margins.t >= few.n_nonzero_weights


def test_nothing_is_lost_where_no_member_has_to_go() -> None:
    result = forest()
    for k in (result.n_nonzero_weights, result.n_nonzero_weights + 1, 1000):
        thinned = result.thinned(k)
        assert thinned.loss == result.loss and thinned.n_nonzero_weights == result.n_nonzero_weights == len(
            thinned.members
        )
        assert (thinned.decision_function(Z) == result.decision_function(Z)).all()
        assert thinned.weights_source == PROGRAM_WEIGHTS and thinned.solution is result.solution


def test_few_may_be_thinned_again() -> None:
    result = forest()
    few = result.thinned(6)
    fewer = few.thinned(3)
    assert fewer.n_nonzero_weights <= 3 and set(fewer.numbers) <= set(few.numbers)
    assert fewer.loss >= few.loss - 1e-12
    assert [result.members[q] for q in fewer.numbers] == list(fewer.members)


@pytest.mark.every(2)
@pytest.mark.thorough_cases("norm_penalty")
@pytest.mark.parametrize("name", ["erlpboost", "qp_reg_adaboost", "svm", "norm_penalty", "log_loss", "l1_adaboost"])
def test_the_loss_of_any_formulation_is_about_its_soft_margin(name: str) -> None:
    parameters_by_name: dict[str, Any] = {"erlpboost": {"nu": NU}, "norm_penalty": {"r": 0.3}, "log_loss": {}}
    models = list(FOREST.estimators_[:8])
    result = reweight(models, X, SIGNS > 0, name, values="predict_proba", **parameters_by_name.get(name, {"C": 0.2}))
    few = result.thinned(3)
    assert few.n_nonzero_weights <= 3 and few.loss >= 0.0
    best = result.goal.program(result.U).solve("cvxpy:clarabel", tol=1e-6).certificate
    of_few = result.goal.soft_margin(few.margins, float(np.abs(few.w).sum()))
    assert best.lower - of_few <= few.loss <= best.upper - of_few + 1e-6


def test_negations_may_be_among_the_few() -> None:
    rng = np.random.default_rng(3)
    models = [DecisionTreeClassifier(max_depth=1).fit(rng.normal(size=(N, 4)), Y) for _ in range(12)]
    result = reweight(models, X, Y, "lpboost", nu=40.0, reflexive=True)
    assert result.n_nonzero_weights > 5
    few = result.thinned(5)
    U = result.U.to_array()
    optimum = max(best_soft_margin(np.hstack([U, -U]), 40.0), 0.0)
    assert (result.w < 0).any() and few.n_nonzero_weights <= 5
    assert few.loss >= optimum - soft_margin(few.margins, 40) - 1e-12
    assert few.loss <= optimum + 1e-8


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3", None])
def test_k_must_be_a_whole_number_of_members(k: Any) -> None:
    with pytest.raises(OptionError, match=rf"\bk\b.* 1\b.* {re.escape(repr(k))}"):
        forest().thinned(k)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.floats(0, 0.5))
def test_trimmed_weights_miss_at_most_what_is_spared(w: list[float], spare: float) -> None:
    weights = np.array(w)
    trimmed = drop_small_weights(weights, spare)
    support, total = trimmed != 0, np.abs(weights).sum()
    assert np.abs(weights[~support]).sum() <= spare * total * (1 + 1e-12)
    rounding = (len(w) + 2) * np.finfo(float).eps * total + 1e-300  # of the sums and of the weights that are scaled
    assert np.abs(weights - trimmed).sum() <= 2 * spare * total + rounding
    np.testing.assert_allclose(np.abs(trimmed).sum(), total, rtol=1e-12, atol=1e-300)
    # The others keep their proportions.
    scale = total / np.abs(weights[support]).sum() if support.any() else 1.0
    np.testing.assert_allclose(trimmed, np.where(support, scale * weights, 0.0), rtol=1e-12, atol=1e-300)
    assert trimmed.any() or not weights.any()
