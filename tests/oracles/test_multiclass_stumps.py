"""Stumps for several classes: the search is exact over all thresholds and votes, and runs predict labels."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import boostopt
from boostopt import OptionError, ProblemError, boost, reweight
from boostopt.boosting import Run, certify_limits
from boostopt.checks import check_oracle
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import (
    DecisionStumps,
    LimitedClass,
    MulticlassStump,
    MulticlassStumps,
    Query,
    Stump,
    equal_mean_margins,
)
from boostopt.oracles.hypothesis_serialization import shipped_from_state, to_state

LABELS = np.array(["cat", "dog", "fox", "hen"])


def examples(n: int, K: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of few values; labels, each of which occurs; multiplicities, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, features)).astype(float)
    y = LABELS[np.concatenate([np.arange(K), rng.integers(0, K, n - K)])]
    c = rng.integers(0, 3, n).astype(float)
    c[:K] = 1.0
    return X, y, c


def all_margins(X: np.ndarray, y: np.ndarray, votes: Sequence[int] = (-1, 1)) -> np.ndarray:
    """Return the margins of the pairs for all stumps and all votes, one hypothesis a row, without the oracle."""
    labels = sorted(set(y.tolist()))
    codes = [labels.index(label) for label in y.tolist()]
    sides = list(itertools.product(votes, repeat=len(labels)))
    splits = [np.ones(len(X), dtype=bool)]
    splits += [X[:, j] > t for j in range(X.shape[1]) for t in np.unique(X[:, j])[:-1]]
    rows = set[tuple[float, ...]]()
    for is_above, upper, lower in itertools.product(splits, sides, sides):
        h = [upper if is_upper else lower for is_upper in is_above]
        rows.add(
            tuple((h[n][code] - h[n][k]) / 2 for n, code in enumerate(codes) for k in range(len(labels)) if k != code)
        )
    return np.array(sorted(rows))


def best_soft_margin(U: np.ndarray, c: np.ndarray, nu: float) -> float:
    """Return max r - c . xi / nu over U w + xi >= r, w in the simplex and xi >= 0, by HiGHS."""
    N, t = U.shape
    answer = scipy.optimize.linprog(
        np.concatenate([np.zeros(t), c / nu, [-1.0]]),
        A_ub=np.hstack([-U, -np.eye(N), np.ones((N, 1))]),
        b_ub=np.zeros(N),
        A_eq=np.concatenate([np.ones(t), np.zeros(N + 1)])[np.newaxis],
        b_eq=[1.0],
        bounds=[(0, None)] * (t + N) + [(None, None)],
    )
    assert answer.success
    return -float(answer.fun)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_stump_is_the_best_of_all_and_no_edge_is_above_the_bound(seed: int) -> None:
    rng, K = np.random.default_rng(100 + seed), 2 + seed % 3
    X, y, _ = examples(6, K, 1 if K == 4 else 2, seed)
    oracle = MulticlassStumps(X, y)
    d = rng.normal(size=oracle.N) * (rng.random(oracle.N) < 0.8) * 10.0 ** rng.integers(-3, 3)
    size = float(np.abs(d).sum())
    answer = oracle.best(Query(d, 4))
    # Votes of 0 are in the comparison: they add nothing to the best edge.
    largest = float((all_margins(X, y, (-1, 1) if K == 4 else (-1, 0, 1)) @ d).max())
    assert answer.edge_bound is not None
    assert largest <= answer.edge_bound + 1e-16 * size and answer.edge_bound <= largest + 1e-13 * size
    assert answer.columns[0].edge == pytest.approx(largest, abs=1e-13 * size)
    edges = [column.edge for column in answer.columns]
    assert edges == sorted(edges, reverse=True)
    assert len({column.margins.tobytes() for column in answer.columns}) == len(edges)
    for column in answer.columns:
        h = column.hypothesis(X)
        codes = {label: k for k, label in enumerate(oracle.class_labels)}
        class_codes = np.array([codes[label] for label in y[oracle.pair_examples]])
        pairs = oracle.pair_examples
        assert column.margins.dtype == np.int8
        assert (column.margins == (h[pairs, class_codes] - h[pairs, oracle.pair_classes]) / 2).all()
        assert (oracle.margins_of(column.hypothesis) == column.margins).all()
        assert column.margins @ d == pytest.approx(column.edge, abs=1e-13 * size)


def intervals_contain_the_best_value(seeds: range) -> None:
    """Assert that class intervals contain the best soft margin over all columns of the class."""
    for seed in seeds:
        K = 2 + seed % 2
        X, y, c = examples(5, K, 1 + seed % 2, seed)
        oracle = MulticlassStumps(X, y, c)
        has_weight = c > 0
        U = all_margins(X[has_weight], y[has_weight]).T
        assert U.shape[0] == oracle.N
        total = oracle.total
        nu = float(np.random.default_rng(seed).uniform(1.0, 0.9 * total))
        best = best_soft_margin(U, np.repeat(c[has_weight], K - 1), nu)
        for name in ("lpboost", "erlpboost", "softboost"):
            certificate = boost(name, oracle, nu=nu, epsilon=0.05).class_certificate
            assert certificate.lower - 1e-9 <= best <= certificate.upper + 1e-9, (seed, name)
            assert certificate.gap <= 0.0500001


def test_class_intervals_contain_the_best_soft_margin() -> None:
    intervals_contain_the_best_value(range(1, 2))


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(5))
def test_class_intervals_contain_the_best_soft_margin_on_500_instances(part: int) -> None:
    intervals_contain_the_best_value(range(100 + 100 * part, 200 + 100 * part))


def clouds(seed: int = 0, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping clouds of points, with the label of each."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    return rng.normal(size=(n, 3)) + np.array([[0, 0, 0], [2, 2, 0], [0, 2, 2]])[codes], LABELS[codes]


def test_a_run_predicts_labels_and_its_files_hold(tmp_path: Path) -> None:
    X, y = clouds()
    Z, z = clouds(1)
    oracle = MulticlassStumps(X, y)
    run = boost("erlpboost", oracle, nu=0.2 * oracle.N, epsilon=0.05, test=(Z, z))
    f, labels = run.decision_function(Z), run.predict(Z)
    assert run.class_labels == ("cat", "dog", "fox") and f.shape == (150, 3) and np.abs(f).max() <= 1.0
    assert (np.array(run.class_labels)[f.argmax(axis=1)] == labels)[np.ptp(f, axis=1) > 0.01].mean() > 0.99
    assert (labels == z).mean() > 0.75
    assert run.trace[-1].test_error == pytest.approx(float((labels != z).mean()))
    margins = np.array([oracle.margins_of(h) for h in run.hypotheses], dtype=float).T @ run.w
    is_right = np.array([m.min() > 1e-9 for m in margins.reshape(150, 2)])
    assert (run.predict(X)[is_right] == y[is_right]).all() and is_right.mean() > 0.8
    run.save(tmp_path / "run.npz")
    for copy in (Run.load(tmp_path / "run.npz"), pickle.loads(pickle.dumps(run))):
        assert (copy.decision_function(Z) == f).all() and (copy.predict(Z) == labels).all()
        assert copy.verify_class(MulticlassStumps(X, y)).upper == run.class_certificate.upper
    path = tmp_path / "proof.json"
    run.save_certificate(path, oracle)
    assert boostopt.verify(path, MulticlassStumps(X, y))
    document = json.loads(path.read_text())
    assert not boostopt.verify(path, MulticlassStumps(X + 1.0, y)) and not boostopt.verify(path, MulticlassStumps(X, z))
    stump = document["data"]["hypotheses"][0]
    stump["upper_votes"] = [-vote for vote in stump["upper_votes"]]
    (tmp_path / "forged.json").write_text(json.dumps(document))
    assert not boostopt.verify(tmp_path / "forged.json", oracle)


def test_a_run_continues_from_its_checkpoint(tmp_path: Path) -> None:
    X, y = clouds(n=24)
    options: dict[str, Any] = {"nu": 10.0, "epsilon": 0.05, "checkpoint": tmp_path / "run.npz"}
    whole = boost("erlpboost", MulticlassStumps(X, y), nu=10.0, epsilon=0.05)
    boost("erlpboost", MulticlassStumps(X, y), **options, max_rounds=3)
    resumed = boost("erlpboost", MulticlassStumps(X, y), **options)
    assert resumed.hypotheses == whole.hypotheses and (resumed.w == whole.w).all()


def test_two_classes_are_stumps_with_the_margins_of_examples() -> None:
    X, y, _ = examples(9, 2, 2, 3)
    oracle, stumps = MulticlassStumps(X, y), DecisionStumps(X, np.where(y == "dog", 1, -1))
    assert oracle.N == 9 and check_oracle(MulticlassStumps).passed
    d = np.random.default_rng(0).dirichlet(np.ones(9))
    edge, reference = oracle.best(Query(d)).columns[0].edge, stumps.best(Query(d)).columns[0]
    assert isinstance(reference.hypothesis, Stump)
    votes = (-reference.hypothesis.sign, reference.hypothesis.sign)
    shifted_stump = MulticlassStump(
        reference.hypothesis.feature, reference.hypothesis.threshold, votes, votes[::-1], ("cat", "dog"), 2
    )
    assert (oracle.margins_of(shifted_stump) == reference.margins).all() and edge >= reference.edge


def test_rows_that_do_not_count_are_left_out_and_sparse_rows_are_the_same() -> None:
    X, y, c = examples(12, 3, 3, 5)
    oracle, twin = MulticlassStumps(X, y, c), MulticlassStumps(X[c > 0], y[c > 0], c[c > 0])
    assert oracle.digest == twin.digest and (oracle.c == twin.c).all()
    assert (oracle.pair_examples == np.flatnonzero(c > 0)[twin.pair_examples]).all()
    sparse = MulticlassStumps(scipy.sparse.csr_array(X), y, c)
    d = np.random.default_rng(0).dirichlet(np.ones(oracle.N))
    answers = [o.best(Query(d)) for o in (oracle, twin, sparse)]
    assert answers[0].edge_bound == answers[1].edge_bound == answers[2].edge_bound
    assert (sparse.margins_of(answers[0].columns[0].hypothesis) == answers[0].columns[0].margins).all()
    for changed in (MulticlassStumps(X, y, c + 1), MulticlassStumps(X, np.char.upper(y), c)):
        assert changed.digest != oracle.digest


def test_without_a_feature_that_varies_the_class_has_the_constants() -> None:
    y = LABELS[[0, 1, 1, 2]]
    oracle = MulticlassStumps(np.ones((4, 2)), y)
    run = boost("lpboost", oracle, nu=4.0)
    U = all_margins(np.ones((4, 2)), y).T
    best = best_soft_margin(U, np.ones(8), 4.0)
    assert run.class_certificate.lower - 1e-9 <= best <= run.class_certificate.upper + 1e-9
    answer = oracle.best(Query(np.repeat([0.1, 0.3, 0.3, 0.3], 2) / 2, 3))
    assert str(answer.columns[0].hypothesis) == "always dog" and len(answer.columns) == 1


def test_labels_are_numbers_or_texts() -> None:
    X = np.arange(4.0)[:, np.newaxis]
    for y in ([0, 1, 2, 2], [0.5, 1.5, 2.5, 2.5], np.array(["a", "b", "c", "c"], dtype=object), [True, False] * 2):
        run = boost("lpboost", MulticlassStumps(X, y), nu=1.0)
        assert (run.predict(X) == np.asarray(y)).mean() >= 0.5 and set(run.predict(X)) <= set(np.asarray(y))
    for y, message in (
        ([0.0, np.nan, 1.0, 2.0], r"\bfinite numbers or texts\b.*\bnan\b"),
        (np.array(["a", 1, None, "b"], dtype=object), r"\bone type\b.*\bNone\b"),
        (["a"] * 4, r"\btwo or more classes\b.*\bone class\b"),
        ([0, 1, 2], r"\bone label for each row\b"),
        (np.zeros((4, 1)), r"\bone label for each row\b"),
    ):
        with pytest.raises(ProblemError, match=message):
            MulticlassStumps(X, y)


def test_the_first_class_is_predicted_among_equal_ones() -> None:
    X, y = np.arange(3.0)[:, np.newaxis], LABELS[:3]
    run = boost("lpboost", MulticlassStumps(X, y), nu=1.0)
    tied = np.flatnonzero(np.ptp(run.decision_function(X), axis=1) < 1e-10)
    assert (run.predict(X)[tied] == "cat").all()
    with pytest.raises(OptionError, match=r"\bat_zero\b.*'positive'.*\bLeave it out\b"):
        run.predict(X, at_zero="positive")


def test_limits_of_margins_are_those_of_pairs() -> None:
    X, y = clouds(n=30)
    oracle = MulticlassStumps(X, y)
    groups = (np.arange(30) % 2 == 0)[oracle.pair_examples]
    limited = LimitedClass(oracle, equal_mean_margins(groups, 0.01))
    assert limited.class_labels == ("cat", "dog", "fox")
    run = boost("erlpboost", limited, nu=20.0, epsilon=0.1)
    answer = certify_limits(run)
    margins = np.array([oracle.margins_of(h) for h in run.hypotheses], dtype=float).T @ answer.w
    assert abs(float(margins[groups].mean() - margins[~groups].mean())) <= 0.01 + 1e-9
    assert set(run.predict(X)) <= set(LABELS[:3])


def test_other_hypotheses_and_uses_for_two_classes_are_refused() -> None:
    X, y = clouds(n=40)
    oracle = MulticlassStumps(X, y)
    stump = MulticlassStump(0, 0.5, (1, -1, -1), (-1, 1, 1), ("cat", "dog", "fox"), 3)
    for hypothesis in (
        Stump(0, 0.5, 1, 3),
        MulticlassStump(0, 0.5, (1, -1), (-1, 1), ("cat", "dog"), 3),
        MulticlassStump(0, 0.5, (1, -1, -1), (-1, 1, 1), ("cat", "dog", "fox"), 4),
    ):
        with pytest.raises(ProblemError, match=r"\bexpected a hypothesis of\b"):
            oracle.margins_of(hypothesis)
    with pytest.raises(ProblemError, match=r"\bclasses -1 and 1\b.*\beach of several\b.*\bboost\b"):
        reweight([stump], X, np.where(y == "cat", 1, -1), "lpboost", nu=5.0)
    with pytest.raises(OptionError, match=r"\bbase\b.*\bclasses -1 and 1\b.*\bboost\b"):
        MarginBoostClassifier(base=MulticlassStumps, nu=0.2).fit(X, y)
    with pytest.raises(OptionError, match=r"\btest must hold features\b"):
        boost("lpboost", oracle, nu=5.0, test=(X[:, :2], y))
    with pytest.raises(ProblemError, match=r"\b3 features\b"):
        stump(X[:, :2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature": 3}, r"\bfeature 3 of 3\b"),
        ({"threshold": math.nan}, r"\bnan\b"),
        ({"upper_votes": (1, 0, -1)}, r"\bvotes -1 and 1\b"),
        ({"lower_votes": (1, -1)}, r"\bvotes -1 and 1\b.*\beach class\b"),
        ({"classes": ("a", "a", "b")}, r"\bdifferent labels\b"),
        ({"classes": ("a", None, "b")}, r"\bnumbers or texts\b"),
        ({"classes": ("a",), "upper_votes": (1,), "lower_votes": (1,)}, r"\btwo or more\b"),
    ],
)
def test_a_stump_has_a_vote_for_each_class(changes: dict[str, Any], message: str) -> None:
    sound: dict[str, Any] = {"feature": 0, "threshold": 0.5, "features": 3, "classes": ("a", "b", "c")}
    sound |= {"upper_votes": (1, 1, -1), "lower_votes": (-1, -1, 1)}
    with pytest.raises(ProblemError, match=message):
        MulticlassStump(**(sound | changes))


def test_words_signs_and_states() -> None:
    stump = MulticlassStump(1, 2.5, (-1, 1, 1), (-1, -1, -1), ("cat", "dog", "fox"), 2)
    assert stump.in_words(["age", "size"]) == "size > 2.5: dog or fox, otherwise no class"
    assert str(MulticlassStump(0, -math.inf, (1, -1), (1, -1), (0, 1), 1)) == "always 0"
    form, sign = stump.signed_form()
    X = np.array([[0.0, 1.0], [0.0, 3.0]])
    assert sign == -1 and (form(X) == -stump(X)).all() and form.signed_form() == (form, 1)
    assert (stump(X) == [[-1, -1, -1], [-1, 1, 1]]).all()
    again = shipped_from_state(json.loads(json.dumps(to_state(stump))))
    assert again == stump and hash(again) == hash(stump)


def test_members_are_all_stumps_of_a_small_class() -> None:
    X, y, _ = examples(8, 3, 2, 1)
    members = MulticlassStumps(X, y).members()
    assert members is not None
    margins = {tuple(MulticlassStumps(X, y).margins_of(h).tolist()) for h in members}
    assert margins == {tuple(row) for row in all_margins(X, y).tolist()}
    assert MulticlassStumps(*clouds()).members() is None


def test_labels_that_no_float_holds_are_predicted_as_they_are() -> None:
    X, labels = np.arange(6.0)[:, None], np.array([2**63 + 10, 2**62 + 1, 2**62 + 3] * 2, dtype=np.uint64)
    run = boost("lpboost", MulticlassStumps(X, labels), nu=2, test=(X, labels))
    predicted = run.predict(X).tolist()
    assert set(predicted) <= set(labels.tolist())
    assert run.trace[-1].test_error == np.mean([p != y for p, y in zip(predicted, labels.tolist(), strict=True)])


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [([2**53, 2**53 + 1, 0.5], object), (["a", "a\0", "b"], object), ([0.5, 1.5, 2.0], np.longdouble)],
)
def test_labels_that_numpy_would_change_are_refused(labels: list[Any], dtype: Any) -> None:
    y = np.array(labels, dtype=dtype)
    with pytest.raises(ProblemError, match=r"^y must hold labels"):
        MulticlassStumps(np.arange(3.0)[:, None], y)
