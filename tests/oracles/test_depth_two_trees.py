"""Trees of depth two: the search is exact over all trees, and the bound holds for all of them."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import boostopt
from boostopt import OptionError, ProblemError
from boostopt.boosting import ClassCertificate
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import BinnedStumps, DepthTwoTree, DepthTwoTrees, Query, Stump
from boostopt.oracles.hypothesis_serialization import shipped_from_state, to_state
from boostopt.oracles.trees import depth_two_tree_oracle


def examples(N: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of few values, one of them constant; labels; weights, some of them 0 and some negative."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (N, 4)).astype(float)
    X[:, 2] = 7.0
    d = rng.normal(size=N) * (rng.random(N) < 0.8)
    return X, rng.choice([-1, 1], N), d / np.abs(d).sum()


def all_trees(X: np.ndarray) -> list[DepthTwoTree]:
    """Return the trees at all thresholds between values."""
    features = X.shape[1]
    cuts = [(j, float(t)) for j in range(features) for t in np.unique(X[:, j])[:-1] + 0.5]
    stumps = [Stump(j, t, sign, features) for j, t in [(0, -math.inf), *cuts] for sign in (1, -1)]
    return [DepthTwoTree(j, t, *sides) for j, t in cuts for sides in itertools.product(stumps, stumps)]


@pytest.mark.parametrize("seed", range(4))
def test_the_best_tree_is_the_best_of_all_and_no_edge_is_above_the_bound(seed: int) -> None:
    X, y, d = examples(seed=seed)
    answer = DepthTwoTrees(X, y).best(Query(d, 3))
    largest = max(float((tree(X) * y) @ d) for tree in all_trees(X))
    assert answer.edge_bound is not None
    assert largest <= answer.edge_bound <= largest + 1e-13
    assert answer.columns[0].edge == pytest.approx(largest, abs=1e-13)
    edges = [column.edge for column in answer.columns]
    assert edges == sorted(edges, reverse=True) and len(edges) == 3
    for column in answer.columns:
        assert column.margins @ d == pytest.approx(column.edge, abs=1e-13)
        assert (column.hypothesis(X) * y == column.margins).all()
    roots = {column.hypothesis.feature for column in answer.columns}  # type: ignore[attr-defined]
    assert len(roots) == 3


def test_the_class_contains_stumps_interactions_and_negations() -> None:
    X, y, d = examples()
    trees, stumps = DepthTwoTrees(X, y), BinnedStumps(X, y)
    bounds = [float(oracle.best(Query(weights)).edge_bound or 0) for oracle in (trees, stumps) for weights in (d, -d)]
    assert bounds[0] == bounds[1] >= bounds[2] == bounds[3]
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(300, 3))
    interaction = np.sign(Z[:, 0] * Z[:, 1])
    edges = [
        oracle(Z, interaction).best(Query(np.full(300, 1 / 300))).columns[0].edge
        for oracle in (DepthTwoTrees, BinnedStumps)
    ]
    assert edges[0] > 0.9 and edges[1] < 0.3


def test_thresholds_are_those_of_binned_stumps_and_sparse_rows_are_the_same() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3)) * (rng.random((200, 3)) < 0.5)
    y, d = rng.choice([-1, 1], 200), rng.dirichlet(np.ones(200))
    trees, stumps = DepthTwoTrees(X, y, bins=5), BinnedStumps(X, y, bins=5)
    assert "depth two on 3 features, at most 4 thresholds of each" in str(trees)
    sparse = DepthTwoTrees(scipy.sparse.csr_array(X), y, bins=5)
    assert sparse.digest == trees.digest != stumps.digest
    for column in trees.best(Query(d, 8, diverse=False)).columns:
        tree: Any = column.hypothesis
        for j, threshold in (
            (tree.feature, tree.threshold),
            *((s.feature, s.threshold) for s in (tree.upper_stump, tree.lower_stump)),
        ):
            assert threshold == -math.inf or threshold in stumps.binned.thresholds_by_feature[j]
        assert (sparse.margins_of(tree) == column.margins).all()


def test_other_hypotheses_are_refused() -> None:
    X, y, _ = examples()
    oracle, leaf = DepthTwoTrees(X, y), Stump(0, -math.inf, 1, 4)
    for tree in (
        leaf,
        DepthTwoTree(0, 0.25, leaf, leaf),
        DepthTwoTree(0, 0.5, Stump(1, 0.25, 1, 4), leaf),
        DepthTwoTree(0, 0.5, Stump(0, -math.inf, 1, 3), Stump(0, -math.inf, 1, 3)),
    ):
        with pytest.raises(ProblemError, match=r"\bexpected a hypothesis of\b"):
            oracle.margins_of(tree)
    for threshold, stump in ((math.inf, leaf), (math.nan, leaf), (0.5, Stump(0, 0.5, 1, 3))):
        with pytest.raises(ProblemError, match=r"\ba tree has\b.*\bCorrect\b"):
            DepthTwoTree(0, threshold, stump, leaf)


def test_what_the_search_cannot_do_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = examples()
    with pytest.raises(OptionError, match=r"\breflexive must be True\b.*\bFalse\b.*\bBinnedStumps\b"):
        DepthTwoTrees(X, y, reflexive=False)
    monkeypatch.setattr(depth_two_tree_oracle, "MAX_PAIR_ENTRIES", 9 * 40 - 1)
    with pytest.raises(ProblemError, match=r"\b40 rows and 3 features\b.*\bSelect features\b"):
        DepthTwoTrees(X, y)


def test_words_signs_and_states() -> None:
    leaf = Stump(0, -math.inf, 1, 3)
    tree = DepthTwoTree(1, 2.5, Stump(0, 1.5, -1, 3), leaf)
    assert tree.in_words(["age", "income", "height"]) == "income > 2.5 or income <= 2.5 and age <= 1.5"
    assert str(DepthTwoTree(1, 2.5, Stump(0, -math.inf, -1, 3), Stump(0, -math.inf, -1, 3))) == "always -1"
    negation = DepthTwoTree(1, 2.5, Stump(0, 1.5, 1, 3), Stump(0, -math.inf, -1, 3))
    assert negation.signed_form() == (tree, -1) and tree.signed_form() == (tree, 1)
    assert shipped_from_state(to_state(tree)) == tree


def test_a_classifier_learns_an_interaction_and_its_certificate_and_files_hold(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(400) < 0.1)
    model = MarginBoostClassifier(base="tree2", base_options={"bins": 8}, nu=0.4, epsilon=0.05).fit(X[:200], y[:200])
    certificate = model.certificate_
    assert isinstance(certificate, ClassCertificate)
    assert model.score(X[200:], y[200:]) > 0.8 and certificate.gap <= 0.05
    model.save_certificate(tmp_path / "proof.json", X[:200], y[:200])
    assert boostopt.verify(tmp_path / "proof.json", model.class_of(X[:200], y[:200]))
    model.save(tmp_path / "model.npz")
    for copy in (MarginBoostClassifier.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        assert (copy.decision_function(X) == model.decision_function(X)).all()
    assert " and feature" in model.in_words(1)[0]
    with pytest.raises(AttributeError, match=r"\bDepthTwoTree uses several\b"):
        _ = model.feature_importances_


def test_the_text_of_a_tree_takes_no_memory_for_the_other_features() -> None:
    features = 2**62
    tree = DepthTwoTree(0, 0.5, Stump(2**61, 0.25, 1, features), Stump(0, -math.inf, 1, features))
    assert str(tree) == f"feature 0 > 0.5 or feature 0 <= 0.5 and feature {2**61} > 0.25"
