"""Several classes: each against the rest is `reweight` of the members as they vote on it; the largest f decides."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from boostopt.ensembles import OneVsRestReweighted, reweight, reweight_one_vs_rest
from boostopt.ensembles.member_extraction import members_of
from boostopt.errors import MarginWarning, OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).round(2)
Y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + X[:, 1] + 0.3 * RNG.normal(size=120), [-0.8, 0.8])]
CLASSES = ["high", "low", "middle"]
NU = 12
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)

ENSEMBLES: dict[str, Any] = {
    "adaboost": AdaBoostClassifier(TREE, n_estimators=6, random_state=0),
    "forest": RandomForestClassifier(12, max_depth=3, random_state=0),
    "bagging": BaggingClassifier(TREE, 8, max_features=2, random_state=0),
    "voting": VotingClassifier([("tree", TREE), ("linear", LogisticRegression()), ("none", "drop")], weights=[2, 1, 5]),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(8, max_depth=3, random_state=1)),
}
for ensemble_model in ENSEMBLES.values():
    ensemble_model.fit(X, Y)
FOREST = ENSEMBLES["forest"]


@pytest.mark.parametrize("name", ENSEMBLES)
def test_each_class_is_reweighted_by_the_votes_for_it(name: str) -> None:
    result = reweight_one_vs_rest(ENSEMBLES[name], X, Y, "lpboost", nu=NU)
    assert result.classes.tolist() == CLASSES and len(result.parts) == 3
    f = result.decision_function(X)
    for k, (label, part) in enumerate(zip(CLASSES, result.parts, strict=True)):
        signs = np.where(label == Y, 1, -1)
        np.testing.assert_array_equal(part.signs, signs)
        np.testing.assert_allclose(part.margins, signs * f[:, k], atol=1e-12)
        by_hand = np.sort(part.margins)[:NU].mean()
        assert part.soft_margin == pytest.approx(by_hand, abs=1e-9)
        best = part.soft_margin_certificate
        assert best.gap <= 1e-8 and best.lower - 1e-8 <= part.soft_margin <= best.upper + 1e-8
        assert part.soft_margin >= part.soft_margin_before - 1e-9
    np.testing.assert_array_equal(result.predict(X), np.array(CLASSES)[f.argmax(axis=1)])
    assert result.score(X, Y) == (result.predict(X) == Y).mean()
    assert result.loss == max(part.loss for part in result.parts)


def test_members_vote_by_what_they_predict_themselves() -> None:
    predictions = FOREST.estimators_[3].predict(X)  # the numbers of the classes
    for k, label in enumerate(CLASSES):
        members = members_of(FOREST, label=label)
        assert members.labels is None
        np.testing.assert_array_equal(members.hypotheses[3](X), np.where(predictions == k, 1.0, -1.0))
        soft = members_of(FOREST, "predict_proba", label=label)
        f = np.mean([h(X) for h in soft.hypotheses], axis=0)
        np.testing.assert_allclose(f, 2.0 * FOREST.predict_proba(X)[:, k] - 1.0, atol=1e-12)


@pytest.mark.parametrize("values", ["predict", "predict_proba"])
def test_each_member_is_asked_once_for_all_classes(values: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, ask = list[Any](), getattr(DecisionTreeClassifier, values)

    def counted(self: Any, X: Any, *more: Any) -> Any:
        queries.append(self)
        return ask(self, X, *more)

    monkeypatch.setattr(DecisionTreeClassifier, values, counted)
    result = reweight_one_vs_rest(FOREST, X, Y, "lpboost", nu=NU, values=values)
    queried_members = [model for model in queries if model in FOREST.estimators_]
    assert len(queried_members) == len(FOREST.estimators_)
    for label, part in zip(CLASSES, result.parts, strict=True):
        signs = np.where(label == Y, 1, -1).astype(np.int8)
        margins_of_class = members_of(FOREST, values, label=label).margins(X, signs, np.arange(len(Y)))
        np.testing.assert_array_equal(part.U.to_array(), margins_of_class.to_array())


def test_members_of_a_list_need_not_know_all_classes() -> None:
    few = DecisionTreeClassifier(random_state=0).fit(X[Y != "low"], Y[Y != "low"])
    models = [few, *(DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, Y) for d in (1, 2, 3))]
    result = reweight_one_vs_rest(models, X, Y, "lpboost", nu=NU, values="predict_proba", weights=[1, 1, 2, 2])
    assert result.classes.tolist() == CLASSES
    never = members_of(models, "predict_proba", label="low").hypotheses[0]
    np.testing.assert_array_equal(never(X), np.full(len(X), -1.0))


def test_gradient_boosting_has_trees_of_its_own_for_each_class() -> None:
    ensemble: Any = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, Y)
    raw = ensemble.decision_function(X)
    for k, label in enumerate(CLASSES):
        members = members_of(ensemble, label=label)
        f = sum(w * h(X) for w, h in zip(members.weights, members.hypotheses, strict=True))
        np.testing.assert_allclose(f / np.abs(f).max(), raw[:, k] / np.abs(raw[:, k]).max(), atol=1e-9)
    assert reweight_one_vs_rest(ensemble, X, Y, "erlpboost", nu=NU, eta=100.0).score(X, Y) > 0.9


def test_own_classifiers_are_thinned_saved_and_predict_the_same(tmp_path: Path) -> None:
    model: Any = MarginBoostClassifier(epsilon=0.2, nu=0.1).fit(X, Y)
    thinned = reweight_one_vs_rest(model, X, Y, "lpboost", nu=NU).thinned(8)
    assert all(n_members <= 8 for n_members in thinned.n_nonzero_weights) and thinned.loss < 0.3
    thinned.save(tmp_path / "few.npz")
    loaded: Any = MarginBoostClassifier.load(tmp_path / "few.npz")
    np.testing.assert_array_equal(loaded.decision_function(X), thinned.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), thinned.predict(X))
    assert [c.lower for c in loaded.certificate_] == [part.soft_margin for part in thinned.parts]
    with pytest.raises(OptionError, match=r"\bDecisionTreeClassifier 0\b.*\bpickle\b"):
        reweight_one_vs_rest(FOREST, X, Y, "lpboost", nu=NU).save(tmp_path / "forest.npz")
    assert not (tmp_path / "forest.npz").exists()


def html(reweighted: Any) -> str:
    return reweighted._repr_html_()


def test_the_result_is_pickled_and_describes_itself() -> None:
    result = reweight_one_vs_rest(FOREST, X, Y, "lpboost", nu=NU)
    again: OneVsRestReweighted = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.predict(X), result.predict(X))
    assert repr(result).startswith("OneVsRestReweighted(lpboost; 'high': ") and "'middle': " in repr(result)
    assert all(label in html(result) for label in CLASSES)


def test_copies_are_multiplicities() -> None:
    counts = RNG.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), counts)
    weighted = reweight_one_vs_rest(FOREST, X, Y, "lpboost", nu=NU, sample_weight=counts)
    copied = reweight_one_vs_rest(FOREST, X[copies], Y[copies], "lpboost", nu=NU)
    for weighted_part, copied_part in zip(weighted.parts, copied.parts, strict=True):
        assert weighted_part.soft_margin == pytest.approx(copied_part.soft_margin, abs=1e-7)


def test_a_class_that_may_be_given_up_is_named() -> None:
    with pytest.warns(MarginWarning, match=r"\bnu = 110 .* 0\.25 .*\(classes 'high', 'low', 'middle'"):
        reweight_one_vs_rest(FOREST, X, RNG.permutation(Y), "lpboost", nu=110)


@pytest.mark.parametrize(
    ("ensemble", "y", "facts"),
    [
        (FOREST, np.where(Y == "low", "high", Y), r"\by\b.*\['high', 'low', 'middle'\].*\bno \['low'\]"),
        (FOREST, np.where(Y == "low", "other", Y), r"\by\b.*\['high', 'low', 'middle'\].*\['other'\]"),
        (FOREST, np.stack([Y, Y]), r"\by\b.*\(2, 120\)"),
        (RandomForestClassifier(3).fit(X, Y == "low"), Y == "low", r"\[False, True\].*\breweight\b"),
        (RandomForestClassifier(3), Y, r"\bRandomForestClassifier\b.*\bfit\(X, y\)"),
        (
            MarginBoostClassifier(epsilon=0.5).fit(X, Y == "low").run_,
            Y,
            r"^(?!.*\bfit\().*\brun\b.*-1 and 1\b.*\breweight\b",
        ),
    ],
    ids=["missing", "another", "matrix", "two classes", "not fitted", "run"],
)
def test_ensembles_with_other_classes_are_refused(ensemble: Any, y: Any, facts: str) -> None:
    with pytest.raises(ProblemError, match=facts):
        reweight_one_vs_rest(ensemble, X, y, "lpboost", nu=NU)


def test_other_errors_are_those_of_reweight() -> None:
    with pytest.raises(ProblemError, match=r"\bRandomForestClassifier\b.*\breweight_one_vs_rest\b"):
        reweight(FOREST, X, Y, "lpboost", nu=NU)
    with pytest.raises(OptionError, match=r"\blabel\b.*\['high', 'low', 'middle'\].*'none'"):
        members_of(FOREST, label="none")
    with pytest.raises(ProblemError, match=r'\bmember 0\b.*"decision_function".*"predict".*"predict_proba"'):
        models = [LogisticRegression().fit(X, Y), LogisticRegression(C=0.1).fit(X, Y)]
        reweight_one_vs_rest(models, X, Y, "lpboost", nu=NU, values="decision_function")
