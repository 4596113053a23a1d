"""The features as hypotheses: the best one is found, and no edge of the class is above the bound."""

from __future__ import annotations

import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from boostopt import ProblemError
from boostopt.oracles import DecisionStumps, Feature, Query, RawFeatures

FORMS = {
    "dense": np.asarray,
    "Fortran order": np.asfortranarray,
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_array,
    "coo matrix": scipy.sparse.coo_matrix,
}


def twin(X: np.ndarray, y: np.ndarray, d: np.ndarray, reflexive: bool) -> list[tuple[float, Feature, list[float]]]:
    """Edge, feature and margins of the whole class, in the order in which ties are broken: loops and math.fsum."""
    rows: list[tuple[float, Feature, list[float]]] = []
    for j in range(X.shape[1]):
        largest = max(abs(float(x)) for x in X[:, j])
        scale = largest if largest > 1.0 else 1.0
        for sign in (1, -1) if reflexive else (1,):
            u = [int(label) * sign * float(x) / scale for x, label in zip(X[:, j], y, strict=True)]
            edge = math.fsum(a * b for a, b in zip(u, d, strict=True))
            if largest > 0:
                rows.append((edge, Feature(j, scale, sign, X.shape[1]), u))
    return rows


def best(X: Any, y: Any, d: Any, count: int = 1, **options: Any) -> Any:
    return RawFeatures(X, y, **options).best(Query(np.asarray(d, dtype=float), count))


def noisy(N: int = 300, features: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of many kinds: large, small, whole, mostly zero, zero; labels; weights that sum to 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, features))
    X[:, 1] = rng.integers(-1, 2, N)
    X[:, 2] *= rng.random(N) < 0.1
    X[:, 3] = 0.0
    X[:, 4] *= 1e200
    X[:, 5] /= 10
    return X, rng.choice([-1, 1], N), rng.dirichlet(np.ones(N))


@st.composite
def examples(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    N, features = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    # Powers of two and whole weights: the twin's sums are exact, so that its ties are ties.
    X = draw(arrays(np.float64, (N, features), elements=st.sampled_from([-4.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0])))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=N, max_size=N).filter(lambda labels: len(set(labels)) == 2))
    d = draw(st.lists(st.integers(0, 9), min_size=N, max_size=N))
    return X, np.array(y), np.array(d, dtype=float)


@pytest.mark.thorough
@settings(deadline=None, max_examples=300)
@given(example=examples(), form=st.sampled_from(sorted(FORMS)), reflexive=st.booleans())
def test_the_answer_is_that_of_the_slow_twin_ties_included(
    example: tuple[np.ndarray, np.ndarray, np.ndarray], form: str, reflexive: bool
) -> None:
    X, y, d = example
    answer = best(FORMS[form](X), y, d, reflexive=reflexive)
    (column,) = answer.columns
    entries = twin(X, y, d, reflexive)
    if not entries:
        assert (column.hypothesis, column.edge, answer.edge_bound) == (Feature(0, 1.0, 1, X.shape[1]), 0.0, 0.0)
        assert not column.margins.any()
        return
    edge, feature, margins = max(entries, key=lambda entry: entry[0])  # the first of equal ones
    assert column.hypothesis == feature
    assert column.edge == edge
    assert column.margins.tolist() == margins
    assert (column.margins.dtype == np.int8) == all(u == round(u) for u in margins)
    assert not np.signbit(column.margins[column.margins == 0]).any()
    assert edge <= answer.edge_bound <= edge + 1e-12 * max(1.0, d.sum())


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_edge_of_the_class_is_above_the_bound_and_the_bound_is_tight(seed: int, reflexive: bool, form: str) -> None:
    X, y, d = noisy(seed=seed)
    edges = [edge for edge, _, _ in twin(X, y, d, reflexive)]
    answer = best(FORMS[form](X), y, d, reflexive=reflexive)
    assert max(edges) <= answer.edge_bound <= max(edges) + 1e-12
    assert abs(answer.columns[0].edge - max(edges)) <= 1e-15
    assert answer.columns[0].edge <= answer.edge_bound


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_weights_and_features_of_any_size_find_the_same_feature(scale: float) -> None:
    X, y, d = noisy()
    expected, answer = best(X, y, d), best(X, y, d * scale)
    assert answer.columns[0].hypothesis == expected.columns[0].hypothesis
    assert answer.columns[0].edge == pytest.approx(expected.columns[0].edge * scale, rel=1e-14)
    huge = best(X[:, :3] / np.abs(X[:, :3]).max(axis=0) * np.finfo(float).max, y, d)
    assert huge.columns[0].edge == pytest.approx(best(X[:, :3], y, d).columns[0].edge, rel=1e-12)


@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_dense_and_sparse_features_give_one_answer(form: str, reflexive: bool) -> None:
    X, y, d = noisy()
    expected = best(X, y, d, 4, reflexive=reflexive)
    answer = best(FORMS[form](X), y, d, 4, reflexive=reflexive)
    assert [c.hypothesis for c in answer.columns] == [c.hypothesis for c in expected.columns]
    for one, reference in zip(answer.columns, expected.columns, strict=True):
        np.testing.assert_array_equal(one.margins, reference.margins)
        assert one.margins.dtype == reference.margins.dtype
    assert answer.edge_bound == pytest.approx(expected.edge_bound, abs=1e-14)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_, np.float32])
def test_whole_features_have_margins_in_one_byte(dtype: type[np.generic]) -> None:
    rng = np.random.default_rng(3)
    X, y, d = rng.integers(0, 2, (50, 4)), rng.choice([-1, 1], 50), rng.dirichlet(np.ones(50))
    for form in (np.asarray, scipy.sparse.csr_array):
        (column,) = best(form(X.astype(dtype)), y, d).columns
        assert column.margins.dtype == np.int8
        assert column.hypothesis == best(X, y, d).columns[0].hypothesis


@pytest.mark.parametrize("form", FORMS)
def test_on_the_training_examples_every_hypothesis_is_its_column(form: str) -> None:
    X, y, _ = noisy()
    oracle, feature_numbers = RawFeatures(FORMS[form](X), y), set[int]()
    rng = np.random.default_rng(5)
    for _ in range(10):
        columns = oracle.best(Query(rng.dirichlet(np.ones(300)), 5)).columns
        for column in columns:
            np.testing.assert_array_equal(y * column.hypothesis(FORMS[form](X)), column.margins)
            np.testing.assert_array_equal(y * column.hypothesis(X), column.margins)
            feature_numbers.add(column.hypothesis.feature)  # pyright: ignore[reportAttributeAccessIssue]
    assert feature_numbers == {0, 1, 2, 4, 5}


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_scale_is_that_of_the_examples_that_count_and_others_are_clipped(form: str) -> None:
    X, y = np.array([[1.0], [-4.0], [9.0], [0.0]]), [1, -1, 1, -1]
    oracle = RawFeatures(FORMS[form](X), y, c=[1.0, 3.0, 0.0, 1.0])
    assert (oracle.N, oracle.c.tolist(), oracle.y.tolist()) == (3, [1.0, 3.0, 1.0], [1, -1, -1])
    (column,) = oracle.best(Query(np.full(3, 1 / 3))).columns
    assert column.hypothesis == Feature(0, 4.0, 1, 1)
    assert column.margins.tolist() == [0.25, 1.0, 0.0]
    assert column.hypothesis(FORMS[form](X)).tolist() == [0.25, -1.0, 1.0, 0.0]
    assert Feature(0, 1.0, -1, 1)(np.array([[0.5], [-8.0]])).tolist() == [-0.5, 1.0]


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_zero_feature_is_not_returned_where_others_are_worse(form: str) -> None:
    X, y = np.array([[0.0, 1.0], [0.0, 0.0]]), [-1, 1]
    answer = best(FORMS[form](X), y, [0.5, 0.5], 2, reflexive=False)
    (column,) = answer.columns
    assert (column.hypothesis, column.edge) == (Feature(1, 1.0, 1, 2), -0.5)
    assert -0.5 <= answer.edge_bound <= -0.5 + 1e-14


def test_several_columns_are_the_best_features() -> None:
    X, y, d = noisy()
    ranked = sorted(twin(X, y, d, True), key=lambda entry: -entry[0])[:5]
    for count in range(1, 8):
        columns = best(X, y, d, count).columns
        assert [column.hypothesis for column in columns] == [feature for _, feature, _ in ranked[:count]]


def test_equal_and_opposite_features_are_answered_once_by_the_lowest() -> None:
    X, y, d = noisy()
    column = X[:, [0]]
    copies = np.hstack([0 * column, column, -column, 2 * column, 0 * column, column])
    for form in (np.asarray, scipy.sparse.csr_array):
        rows = best(form(copies), y, d, 6).columns
        assert [column.hypothesis.feature for column in rows] == [1]  # twice the feature has twice the scale


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_lowest_feature_comes_first_among_edges_equal_up_to_rounding(form: str) -> None:
    X = FORMS[form](np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]))
    d = [0.1, 0.2, 0.3, 0.6, 0.0]  # 0.1 + 0.2 + 0.3 is 0.6000000000000001
    columns = best(X, [1, 1, 1, 1, -1], d, 2).columns
    assert [column.hypothesis.feature for column in columns] == [0, 1]


@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [False, True, True, False], [0.0, 1.0, 1.0, 0.0]])
def test_labels_0_and_1_are_minus_1_and_1(labels: list[float]) -> None:
    X = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
    column = best(X, np.array(labels), np.full(4, 0.25)).columns[0]
    assert (column.hypothesis, column.edge) == (Feature(0, 1.0, 1, 2), 1.0)


def test_an_explicit_nan_in_a_sparse_matrix_is_an_error_with_its_place() -> None:
    X = scipy.sparse.csr_array(([1.0, np.nan], ([0, 2], [1, 3])), shape=(4, 5))
    with pytest.raises(ProblemError, match=r"^X\b.*\bnan\b.* 2,.* 3\."):
        RawFeatures(X, [-1, 1, 1, -1])


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_weights_that_are_not_finite_are_an_error(bad: float) -> None:
    X, y, d = noisy()
    d[7] = bad
    with pytest.raises(ProblemError, match=r"\bd\b.* 300 .*\(300,\)"):
        best(X, y, d)


def test_features_say_what_they_are() -> None:
    assert str(Feature(3, 1.0, 1, 30)) == "feature 3"
    assert str(Feature(3, 12.5, -1, 30)) == "-feature 3 / 12.5"
    X, y, _ = noisy()
    assert re.search(r"\b6\b.*\bboth\b", str(RawFeatures(X, y)))
    assert re.search(r"\b6\b.*\bone\b", str(RawFeatures(X, y, reflexive=False)))


@pytest.mark.parametrize(
    ("feature", "scale", "sign"),
    [(-1, 1.0, 1), (2, 1.0, 1), (0, 0.0, 1), (0, math.inf, 1), (0, math.nan, 1), (0, 1.0, 2)],
)
def test_invalid_features_are_errors(feature: int, scale: float, sign: int) -> None:
    with pytest.raises(ProblemError, match=rf"\bfeature {feature} of 2,.* {scale},.* {sign}\."):
        Feature(feature, scale, sign, 2)


def test_the_digest_tells_examples_classes_and_directions_apart() -> None:
    X, y, _ = noisy()
    digest = RawFeatures(X, y).digest
    assert RawFeatures(X.copy(), (y + 1) // 2).digest == digest
    variants = {RawFeatures(X, -y).digest, RawFeatures(X, y, reflexive=False).digest, DecisionStumps(X, y).digest}
    assert len(variants | {digest}) == 4


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_pickled_oracle_answers_the_same(form: str) -> None:
    X, y, d = noisy()
    oracle = RawFeatures(FORMS[form](X), y)
    again = pickle.loads(pickle.dumps(oracle))
    assert again.digest == oracle.digest
    assert again.best(Query(d)).columns[0].hypothesis == oracle.best(Query(d)).columns[0].hypothesis


def test_neither_examples_nor_weights_are_changed() -> None:
    X, y, d = noisy()
    copies = X.copy(), y.copy(), d.copy()
    best(X, y, d, 3)
    for now, copy in zip((X, y, d), copies, strict=True):
        np.testing.assert_array_equal(now, copy)
