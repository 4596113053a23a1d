"""All decision stumps: the best one is found, ties are broken as stated, no edge of the class is above the bound."""

from __future__ import annotations

import math
import pickle
import re
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer

from boostopt import ProblemError, get_formulation, stump_matrix
from boostopt.oracles import DecisionStumps, Query, Stump
from boostopt.oracles.labelled_examples import check_examples
from boostopt.oracles.stumps import presorted_features

FORMS = {
    "dense": np.asarray,
    "Fortran order": np.asfortranarray,
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_array,
    "coo matrix": scipy.sparse.coo_matrix,
}


def twin(X: np.ndarray, y: np.ndarray, d: np.ndarray, reflexive: bool) -> list[tuple[float, Stump, list[int]]]:
    """Edge, stump and margins of the whole class, in the order in which ties are broken: loops and math.fsum."""
    stumps: list[tuple[float, Stump, list[int]]] = []
    count = X.shape[1]
    for j in range(count):
        column = [float(value) for value in X[:, j]]
        values = sorted(set(column))
        for low, high in pairwise(values):
            threshold = low / 2 + high / 2
            threshold = threshold if threshold < high else low
            for sign in (1, -1) if reflexive else (1,):
                u = [int(label) * (sign if x > threshold else -sign) for x, label in zip(column, y, strict=True)]
                stumps.append(
                    (math.fsum(a * b for a, b in zip(u, d, strict=True)), Stump(j, threshold, sign, count), u)
                )
    return stumps


def best(X: Any, y: Any, d: Any, count: int = 1, **options: Any) -> Any:
    return DecisionStumps(X, y, **options).best(Query(np.asarray(d, dtype=float), count))


def noisy(N: int = 300, features: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of many kinds: continuous, few values, mostly zero, constant; labels; weights that sum to 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, features))
    X[:, 1] = rng.integers(-2, 3, N)
    X[:, 2] *= rng.random(N) < 0.1
    X[:, 3] = 0.0
    return X, rng.choice([-1, 1], N), rng.dirichlet(np.ones(N))


@st.composite
def examples(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    N, features = draw(st.integers(2, 8)), draw(st.integers(1, 3))
    elements = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.0, 0.5, 1.0, 3.0])
    X = draw(arrays(np.float64, (N, features), elements=elements))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=N, max_size=N).filter(lambda labels: len(set(labels)) == 2))
    # Whole numbers: the twin's sums are exact, so that its ties are ties.
    d = draw(st.lists(st.integers(0, 9), min_size=N, max_size=N))
    return X, np.array(y), np.array(d, dtype=float)


@pytest.mark.thorough
@settings(deadline=None, max_examples=300)
@given(example=examples(), form=st.sampled_from(sorted(FORMS)), reflexive=st.booleans())
def test_the_answer_is_that_of_the_slow_twin_ties_included(
    example: tuple[np.ndarray, np.ndarray, np.ndarray], form: str, reflexive: bool
) -> None:
    X, y, d = example
    stumps = twin(X, y, d, reflexive)
    answer = best(FORMS[form](X), y, d, reflexive=reflexive)
    if not stumps:
        assert answer.columns[0].hypothesis.threshold == -math.inf
        return
    edge, stump, margins = max(stumps, key=lambda entry: entry[0])  # the first of equal ones
    (column,) = answer.columns
    assert column.hypothesis == stump
    assert column.edge == edge
    assert column.margins.dtype == np.int8
    assert column.margins.tolist() == margins
    assert edge <= answer.edge_bound <= edge + 1e-12


@pytest.mark.thorough_cases("0-True")
@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_edge_of_the_class_is_above_the_bound_and_the_bound_is_tight(seed: int, reflexive: bool) -> None:
    X, y, d = noisy(seed=seed)
    edges = [edge for edge, _, _ in twin(X, y, d, reflexive)]
    answer = best(X, y, d, reflexive=reflexive)
    assert max(edges) <= answer.edge_bound <= max(edges) + 1e-12
    assert abs(answer.columns[0].edge - math.fsum(answer.columns[0].margins * d)) <= 1e-16
    assert answer.columns[0].edge <= answer.edge_bound


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e300])
def test_weights_of_any_size_find_the_same_stump(scale: float) -> None:
    X, y, _ = noisy()
    d = np.random.default_rng(1).integers(0, 5, 300).astype(float)
    expected, answer = best(X, y, d), best(X, y, d * scale)
    assert answer.columns[0].hypothesis == expected.columns[0].hypothesis
    assert answer.columns[0].edge == pytest.approx(
        expected.columns[0].edge * scale, rel=1e-3 if scale == 1e-320 else 1e-15
    )
    assert answer.columns[0].edge <= answer.edge_bound


def test_without_any_weight_all_edges_are_0_and_the_first_stump_wins() -> None:
    X, y, d = noisy()
    answer = best(X, y, 0 * d)
    assert answer.columns[0].hypothesis == twin(X, y, d, True)[0][1]
    assert answer.columns[0].edge == 0.0
    assert 0.0 < answer.edge_bound < 1e-12


@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_dense_and_sparse_features_give_one_answer(form: str, reflexive: bool) -> None:
    X, y, d = noisy()
    expected = best(X, y, d, 4, reflexive=reflexive)
    answer = best(FORMS[form](X), y, d, 4, reflexive=reflexive)
    assert [c.hypothesis for c in answer.columns] == [c.hypothesis for c in expected.columns]
    assert [c.edge for c in answer.columns] == [c.edge for c in expected.columns]
    assert answer.edge_bound == expected.edge_bound


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_, np.float32])
def test_integers_booleans_and_single_precision_are_features_too(dtype: type[np.generic]) -> None:
    rng = np.random.default_rng(3)
    X, y, d = rng.integers(0, 2, (50, 4)), rng.choice([-1, 1], 50), rng.dirichlet(np.ones(50))
    for form in (np.asarray, scipy.sparse.csr_array):
        assert best(form(X.astype(dtype)), y, d).columns[0].hypothesis == best(X, y, d).columns[0].hypothesis


@pytest.mark.parametrize("chunk", [1, 7, 400])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_sorting_by_chunks_changes_nothing(chunk: int, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = FORMS[form](noisy()[0])
    whole = presorted_features.presort(check_examples(X, noisy()[1]).X)
    monkeypatch.setattr(presorted_features, "SORT_CHUNK", chunk)
    parts = presorted_features.presort(check_examples(X, noisy()[1]).X)
    for name in ("examples", "first", "last", "is_below", "thresholds", "varying_features", "first_threshold"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_the_class_is_that_of_which_stump_matrix_draws() -> None:
    X, y, d = noisy(60)
    U = stump_matrix(X, y, 10_000)
    e = U.T @ d
    assert best(X, y, d).columns[0].edge == pytest.approx(e.max(), abs=1e-15)
    assert best(X, y, d, reflexive=False).columns[0].edge == pytest.approx(e[::2].max(), abs=1e-15)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(
    "values",
    [
        (np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0)),
        (-np.nextafter(1.0, 2.0), -1.0),
        (-5e-324, 0.0, 5e-324, 1e-323),
        (np.nextafter(np.finfo(float).max, 0.0), np.finfo(float).max),
        (-np.finfo(float).max, np.finfo(float).max),
    ],
    ids=["around 1", "below 0", "subnormal", "at the end", "farther apart than the largest float"],
)
def test_every_threshold_splits_its_neighbours_also_where_no_float_lies_between(
    values: tuple[float, ...], form: str
) -> None:
    X = FORMS[form](np.array(values)[:, np.newaxis])
    for k in range(1, len(values)):
        y = np.where(np.arange(len(values)) >= k, 1, -1)
        (column,) = best(X, y, np.ones(len(values))).columns
        assert column.margins.tolist() == [1] * len(values)
        np.testing.assert_array_equal(column.hypothesis(X), y)


@pytest.mark.parametrize("form", FORMS)
def test_on_the_training_examples_every_hypothesis_is_its_column(form: str) -> None:
    X, y, _ = noisy()
    oracle = DecisionStumps(FORMS[form](X), y)
    rng = np.random.default_rng(5)
    for _ in range(20):
        for column in oracle.best(Query(rng.dirichlet(np.ones(300)), 5)).columns:
            np.testing.assert_array_equal(y * column.hypothesis(FORMS[form](X)), column.margins)
            np.testing.assert_array_equal(y * column.hypothesis(X), column.margins)


def test_examples_of_multiplicity_0_make_no_threshold() -> None:
    X, y = np.array([[0.0], [4.0], [9.0], [1.0]]), [-1, 1, -1, 1]
    oracle = DecisionStumps(X, y, c=[1.0, 2.0, 0.0, 0.0])
    (column,) = oracle.best(Query(np.array([0.5, 0.5]), 3)).columns
    assert column.hypothesis == Stump(0, 2.0, 1, 1)  # 0.5 with the last row, and others with the third
    assert oracle.N == 2
    assert oracle.c.tolist() == [1.0, 2.0]
    assert oracle.y.tolist() == [-1, 1]


@pytest.mark.thorough
def test_several_columns_are_the_best_of_each_of_the_best_features() -> None:
    X, y, d = noisy()
    best_edges = [max(edge for edge, stump, _ in twin(X, y, d, True) if stump.feature == j) for j in (0, 1, 2, 4, 5)]
    order = [(0, 1, 2, 4, 5)[k] for k in np.argsort(-np.array(best_edges), kind="stable")]
    for count in range(1, 6):
        columns = best(X, y, d, count).columns
        assert [column.hypothesis.feature for column in columns] == order[:count]
        assert [column.edge for column in columns] == pytest.approx(sorted(best_edges, reverse=True)[:count], abs=1e-15)


def test_more_columns_than_features_are_the_best_stumps_whatever_their_features() -> None:
    X, y, d = noisy()
    edges = sorted({round(edge, 12) for edge, _, _ in twin(X, y, d, True)}, reverse=True)
    columns = best(X, y, d, 12).columns
    assert len(columns) > 6
    assert len({column.margins.tobytes() for column in columns}) == len(columns)
    column_edges = [round(column.edge, 12) for column in columns]
    assert column_edges == sorted(column_edges, reverse=True)
    assert set(column_edges) == set(edges[: len(set(column_edges))])


def test_equal_and_opposite_features_are_answered_once_by_the_lowest() -> None:
    # In floating point the sums of equal features differ in the last place, by where they stand.
    X, y, d = noisy()
    for column in (X[:, [0]], X[:, [4]]):
        copies = np.hstack([column, -column, 2 * column, column**3, np.zeros_like(column), column])
        for form in (np.asarray, scipy.sparse.csr_array):
            (only,) = best(form(copies), y, d, 5).columns
            assert only.hypothesis.feature == 0


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("reflexive, sign", [(True, -1), (False, 1)])
def test_best_stump_of_constant_features_is_the_constant_hypothesis(form: str, reflexive: bool, sign: int) -> None:
    X, y, d = np.column_stack([np.full(4, 3.5), np.zeros(4)]), [-1, 1, 1, -1], [0.4, 0.1, 0.2, 0.3]
    answer = best(FORMS[form](X), y, d, 5, reflexive=reflexive)
    (column,) = answer.columns
    assert column.margins.tolist() == [sign * label for label in y]
    assert column.edge == pytest.approx(-0.4 * sign, abs=1e-16)
    assert column.edge <= answer.edge_bound <= column.edge + 1e-15
    assert column.hypothesis(X).tolist() == [sign] * 4
    assert str(column.hypothesis) == f"always {sign:+d}"


def test_a_constant_feature_beside_others_has_no_stump() -> None:
    # All weight on one class: the constant hypothesis would have edge 1.
    X, y = np.array([[7.0, 0.0], [7.0, 1.0], [7.0, 0.0]]), [1, 1, -1]
    assert best(X, y, [0.5, 0.5, 0.0]).columns[0].edge == 0.0


@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [False, True, True, False], [0.0, 1.0, 1.0, 0.0]])
def test_labels_0_and_1_are_minus_1_and_1(labels: list[float]) -> None:
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [0.5, 0.0]])
    oracle = DecisionStumps(X, np.array(labels))
    assert oracle.y.tolist() == [-1, 1, 1, -1]
    column = oracle.best(Query(np.full(4, 0.25))).columns[0]
    assert (column.hypothesis, column.edge) == (Stump(0, 0.75, 1, 2), 1.0)


@pytest.mark.thorough
def test_the_optimum_over_the_class_on_breast_cancer_is_the_known_one() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    oracle, formulation = DecisionStumps(X, y), get_formulation("lpboost")
    columns: list[np.ndarray] = []
    d, lower, upper = np.full(oracle.N, 1 / oracle.N), -1.0, 1.0
    while upper - lower > 1e-7:
        answer = oracle.best(Query(d))
        assert answer.edge_bound is not None
        upper = min(upper, answer.edge_bound)
        columns.append(answer.columns[0].margins)
        assert len(columns) <= 200
        solution = formulation.bind(np.array(columns).T, nu=0.1 * oracle.N).solve("highs")
        d, lower = solution.d, solution.certificate.lower
    assert lower <= 0.169879 + 5e-7
    assert upper >= 0.169879 - 5e-7


def test_a_wide_sparse_matrix_is_not_made_dense() -> None:
    N, features, nonzeros = 2_000, 1_000_000, 10  # 16 GB if it were
    rng = np.random.default_rng(0)
    columns = rng.integers(0, features, N * nonzeros)
    X = scipy.sparse.csr_array((rng.random(len(columns)), columns, np.arange(N + 1) * nonzeros), shape=(N, features))
    y = rng.choice([-1, 1], N)
    tracemalloc.start()
    try:
        oracle = DecisionStumps(X, y)
        column = oracle.best(Query(np.full(N, 1 / N))).columns[0]
        np.testing.assert_array_equal(y * column.hypothesis(X), column.margins)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6


def test_an_explicit_nan_in_a_sparse_matrix_is_an_error_with_its_place() -> None:
    X = scipy.sparse.csr_array(([1.0, np.nan], ([0, 2], [1, 3])), shape=(4, 5))
    with pytest.raises(ProblemError, match=r"^X\b.*\bnan\b.*\b2\b.*\b3\b"):
        DecisionStumps(X, [-1, 1, 1, -1])


def test_explicit_zeros_of_a_sparse_matrix_are_zeros() -> None:
    X, y, d = noisy()
    sparse = scipy.sparse.csr_array(X)
    sparse.data[::3] = 0.0
    assert best(sparse, y, d).columns[0].hypothesis == best(sparse.toarray(), y, d).columns[0].hypothesis


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_an_error(bad: float) -> None:
    X, y, d = noisy()
    d[7] = bad
    with pytest.raises(ProblemError, match=r"\bd\b.*\b300\b.*\(300,\)"):
        best(X, y, d)


def test_one_weight_too_many_is_an_error() -> None:
    X, y, d = noisy()
    with pytest.raises(ProblemError, match=r"\bd\b.*\b300\b.*\(301,\)"):
        best(X, y, np.append(d, 0.0))


def test_new_examples_are_split_at_the_threshold() -> None:
    X = np.array([[9.0, 0.5], [9.0, 0.75], [-9.0, np.nextafter(0.5, 1)]])
    up, down = Stump(1, 0.5, 1, 2), Stump(1, 0.5, -1, 2)
    assert up(X).tolist() == [-1.0, 1.0, 1.0]
    assert down(scipy.sparse.csc_array(X)).tolist() == [1.0, -1.0, -1.0]
    with pytest.raises(ProblemError, match=r"^X\b.*\b2\b.*\(3, 3\)"):
        up(np.zeros((3, 3)))


def test_stumps_say_what_they_are() -> None:
    assert str(Stump(3, 0.5, 1, 30)) == "feature 3 > 0.5"
    assert str(Stump(3, 0.5, -1, 30)) == "feature 3 <= 0.5"
    X, y, _ = noisy()
    assert re.search(r"\b6\b.*\bboth\b", str(DecisionStumps(X, y)))
    assert re.search(r"\b6\b.*\bone\b", str(DecisionStumps(X, y, reflexive=False)))


@pytest.mark.parametrize(("feature", "threshold", "sign"), [(-1, 0.5, 1), (2, 0.5, 1), (0, math.nan, 1), (0, 0.5, 0)])
def test_invalid_stumps_are_errors(feature: int, threshold: float, sign: int) -> None:
    with pytest.raises(ProblemError, match=rf"\bstump\b.* {feature} .* {threshold},.* {sign}\."):
        Stump(feature, threshold, sign, 2)


def test_the_digest_tells_examples_multiplicities_and_directions_apart() -> None:
    X, y, _ = noisy()
    digest = DecisionStumps(X, y).digest
    assert DecisionStumps(X.copy(), (y + 1) // 2).digest == digest
    changed = X.copy()
    changed[0, 0] += 1e-9
    variants = {
        DecisionStumps(changed, y).digest,
        DecisionStumps(X, -y).digest,
        DecisionStumps(X, y, c=np.full(300, 2.0)).digest,
        DecisionStumps(X, y, reflexive=False).digest,
    }
    assert len(variants | {digest}) == 5


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_pickled_oracle_answers_the_same(form: str) -> None:
    X, y, d = noisy()
    oracle = DecisionStumps(FORMS[form](X), y)
    again = pickle.loads(pickle.dumps(oracle))
    assert again.digest == oracle.digest
    assert again.best(Query(d)).columns[0].hypothesis == oracle.best(Query(d)).columns[0].hypothesis


def test_neither_examples_nor_weights_are_changed() -> None:
    X, y, d = noisy()
    copies = X.copy(), y.copy(), d.copy()
    best(X, y, d, 3)
    for now, copy in zip((X, y, d), copies, strict=True):
        np.testing.assert_array_equal(now, copy)
