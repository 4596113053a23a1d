"""Stumps chosen by boosting: as AdaBoost chooses them by hand, each threshold once, and no trivial optimum."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt import OptionError, ProblemError, boosted_stump_matrix, get_formulation, stump_matrix
from boostopt.oracles.stumps import boosted_stumps


def noisy(N: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels by the first of three features, a share of them flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    return X, np.where((X[:, 0] > 0.0) ^ (rng.random(N) < share), 1, -1)


def test_first_columns_have_the_largest_edges_under_the_weights_of_adaboost() -> None:
    """The reference is the definition over all stumps in both directions. Each feature has one that agrees with y."""
    X, y = noisy(30, 0.0)
    y = np.where(X.sum(axis=1) > 0.0, 1, -1)
    U = boosted_stump_matrix(X, y, 6, random_state=3)
    all_U = stump_matrix(X, y, 10_000)
    d = np.random.default_rng(3).exponential(size=30)
    for q in range(6):
        edges = d @ all_U
        is_chosen = (all_U[:, :, np.newaxis] == U[:, np.newaxis, :q]).all(axis=0).any(axis=1)
        assert d @ U[:, q] == pytest.approx(edges[~is_chosen].max())
        edge = d @ U[:, q] / d.sum()
        d = d * np.exp(-np.arctanh(edge) * U[:, q])


def test_no_column_is_another_or_its_negation() -> None:
    X, y = noisy(50, 0.3)
    U = boosted_stump_matrix(X, y, 40)
    products = np.abs(U.T.astype(int) @ U)
    assert U.shape == (50, 40) and set(np.unique(U)) == {-1, 1}
    assert (products[~np.eye(40, dtype=bool)] < 50).all()


def test_equal_seeds_give_equal_columns_and_more_columns_begin_with_fewer() -> None:
    X, y = noisy(50, 0.3)
    U = boosted_stump_matrix(X, y, 10, 5)
    np.testing.assert_array_equal(U, boosted_stump_matrix(X, y, 10, np.random.default_rng(5)))
    np.testing.assert_array_equal(U[:, :4], boosted_stump_matrix(X, y, 4, 5))
    assert not np.array_equal(U, boosted_stump_matrix(X, y, 10, 6))


def test_the_optimum_of_lpboost_is_not_what_equal_weights_prove() -> None:
    X, y = noisy(100, 0.3)
    equal = np.full(20, 1 / 20)
    for U, is_trivial in ((stump_matrix(X, y, 20), True), (boosted_stump_matrix(X, y, 20), False)):
        program = get_formulation("lpboost").bind(U, nu=20)
        optimum = program.solve("highs").certificate
        assert (optimum.upper - program.certify(w=equal).lower < 1e-6) == is_trivial


def test_examples_without_multiplicity_have_margins_and_no_say() -> None:
    X, y = noisy(40, 0.3)
    c = np.where(np.arange(40) < 30, 2.0, 0.0)
    U = boosted_stump_matrix(X, y, 5, c=c)
    np.testing.assert_array_equal(U[:30], boosted_stump_matrix(X[:30], y[:30], 5, c=c[:30]))
    assert U.shape == (40, 5)


def test_further_stumps_are_drawn_where_boosting_finds_none() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    assert boosted_stump_matrix(X, y, 10).shape == (4, 3)  # there are three thresholds
    U = boosted_stump_matrix([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], [-1, -1, 1], 5)
    np.testing.assert_array_equal(U, [[1], [1], [-1]])


def test_a_sample_replaces_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosted_stumps, "MAX_ROWS", 20)
    X, y = noisy(100, 0.1)
    U = boosted_stump_matrix(X, y, 5)
    assert U.shape == (100, 5) and U[:, 0].mean() > 0.5


def test_wrong_arguments_are_refused() -> None:
    X, y = noisy(10, 0.3)
    with pytest.raises(OptionError, match=r"^t\b.* 1;.* 0\."):
        boosted_stump_matrix(X, y, 0)
    with pytest.raises(ProblemError, match=r"\bclasses\b.*\b10\b"):
        boosted_stump_matrix(X, np.ones(10), 3)
    with pytest.raises(ProblemError, match=r"\bc\b.*\b10\b.*\(9,\)"):
        boosted_stump_matrix(X, y, 3, c=np.ones(9))
