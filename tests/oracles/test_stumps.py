"""Decision stumps: the draw is what it says, and the margins are y h(x)."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.speeds import many

from boostopt import OptionError, ProblemError, stump_matrix
from boostopt.oracles import DecisionStumps

X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 1.0], [2.0, 5.0, 0.0], [3.0, 5.0, 0.0]])
"""Three thresholds in the first feature, none in the second, one in the third: four stumps."""
y = np.array([1, -1, 1, -1])


def every_stump(features: np.ndarray) -> list[tuple[int, ...]]:
    """All h of h(x) = 1 where a feature is above one of its values but the largest, else -1: loops only, sorted."""
    stumps: list[tuple[int, ...]] = []
    for j in range(features.shape[1]):
        column = [float(value) for value in features[:, j]]
        for threshold in sorted(set(column))[:-1]:
            stumps.append(tuple(1 if value > threshold else -1 for value in column))
    return sorted(stumps)


def hypotheses(U: np.ndarray, labels: np.ndarray) -> list[tuple[int, ...]]:
    """The columns of h, example by example from y_n h(x_n)."""
    return [tuple(int(U[n, q]) * int(labels[n]) for n in range(U.shape[0])) for q in range(U.shape[1])]


def noisy(N: int = 60, features: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return rng.normal(size=(N, features)), rng.choice([-1, 1], size=N)


@settings(deadline=None, max_examples=many(60, 12))
@given(
    features=arrays(
        np.float64, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.integers(-3, 3).map(float)
    ),
    signs=st.lists(st.sampled_from([-1, 1]), min_size=7, max_size=7),
    seed=st.integers(0, 5),
)
def test_asked_for_all_it_draws_every_stump_once_and_its_negation(
    features: np.ndarray, signs: list[int], seed: int
) -> None:
    labels = np.array(signs[: len(features)])
    h = hypotheses(stump_matrix(features, labels, 1000, seed), labels)
    expected = every_stump(features) or [(1,) * len(features)]
    assert sorted(h[0::2]) == expected
    assert h[1::2] == [tuple(-value for value in up) for up in h[0::2]]


@pytest.mark.parametrize("t", [1, 2, 7, 30])
def test_a_draw_holds_different_stumps_of_the_class_next_to_their_negations(t: int) -> None:
    features, labels = noisy()
    U = stump_matrix(features, labels, t, 3)
    assert U.shape == (60, t)
    assert U.dtype == np.int8
    h = hypotheses(U, labels)
    stumps = h[0::2]
    assert Counter(stumps) <= Counter(every_stump(features))  # none oftener than it is there: without replacement
    assert h[1::2] == [tuple(-value for value in up) for up in stumps][: t // 2]


def test_equal_seeds_give_equal_matrices_and_others_do_not() -> None:
    features, labels = noisy()
    first = stump_matrix(features, labels, 10, 5)
    np.testing.assert_array_equal(first, stump_matrix(features, labels, 10, 5))
    np.testing.assert_array_equal(first, stump_matrix(features, labels, 10, np.random.default_rng(5)))
    assert not np.array_equal(first, stump_matrix(features, labels, 10, 6))


def test_the_seed_is_0_unless_given() -> None:
    features, labels = noisy()
    np.testing.assert_array_equal(stump_matrix(features, labels, 10), stump_matrix(features, labels, 10, 0))


def test_a_generator_goes_on_where_it_stood() -> None:
    features, labels = noisy()
    rng = np.random.default_rng(5)
    assert not np.array_equal(stump_matrix(features, labels, 10, rng), stump_matrix(features, labels, 10, rng))


def test_more_columns_of_one_seed_begin_with_the_fewer() -> None:
    features, labels = noisy()
    np.testing.assert_array_equal(
        stump_matrix(features, labels, 20, 1)[:, :9],
        stump_matrix(features, labels, 9, 1),
    )


def test_columns_are_at_most_stumps_and_negations() -> None:
    assert stump_matrix(X, y, 8).shape == (4, 8)
    assert stump_matrix(X, y, 9).shape == (4, 8)
    assert stump_matrix(X, y, 10_000).shape == (4, 8)


def test_a_constant_feature_is_never_drawn() -> None:
    # Its only "stumps" are the constant hypotheses.
    for seed in range(20):
        h = hypotheses(stump_matrix(X, y, 8, seed), y)
        assert all(len(set(values)) == 2 for values in h)


@pytest.mark.parametrize("t, expected", [(1, [1]), (2, [1, -1]), (5, [1, -1])])
def test_best_stump_of_constant_features_is_the_constant_hypothesis(t: int, expected: list[int]) -> None:
    U = stump_matrix(np.full((4, 2), 3.5), y, t)
    assert hypotheses(U, y) == [(sign,) * 4 for sign in expected]


def test_one_example_has_constant_features_too() -> None:
    np.testing.assert_array_equal(stump_matrix([[1.0, 2.0]], [-1], 2), [[-1, 1]])


def test_features_are_drawn_with_equal_chance_however_many_thresholds_they_have() -> None:
    # 0.5 of 200 draws, give or take four standard deviations; by thresholds it would be one draw in 100.
    features = np.column_stack([np.arange(100.0), np.arange(100) >= 37])
    labels = np.ones(100, dtype=int)
    binary = tuple(1 if value else -1 for value in features[:, 1])
    share = [hypotheses(stump_matrix(features, labels, 1, seed), labels)[0] == binary for seed in range(200)]
    assert 72 <= sum(share) <= 128


def test_every_threshold_of_a_feature_may_be_the_first() -> None:
    # The chance that one of nine is missed in 200 draws is below 1e-9.
    features, labels = np.arange(10.0)[:, np.newaxis], np.ones(10, dtype=int)
    first = {hypotheses(stump_matrix(features, labels, 1, seed), labels)[0] for seed in range(200)}
    assert sorted(first) == every_stump(features)


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
def test_every_threshold_splits_its_neighbours_also_where_no_float_lies_between(values: tuple[float, ...]) -> None:
    features = np.array(values)[:, np.newaxis]
    labels = np.ones(len(values), dtype=int)
    h = hypotheses(stump_matrix(features, labels, 100), labels)
    assert sorted(h[0::2]) == every_stump(features)
    assert len(h) == 2 * (len(values) - 1)


def test_integers_booleans_and_lists_are_features_too() -> None:
    expected = stump_matrix(np.array([[0.0], [1.0], [1.0]]), np.array([1, -1, 1]), 2)
    np.testing.assert_array_equal(expected, stump_matrix([[0], [1], [1]], [1, -1, 1], 2))
    np.testing.assert_array_equal(expected, stump_matrix(np.array([[False], [True], [True]]), [1.0, -1.0, 1.0], 2))


def test_neither_features_nor_labels_are_changed() -> None:
    features, labels = noisy()
    copies = features.copy(), labels.copy()
    stump_matrix(features, labels, 10)
    np.testing.assert_array_equal(features, copies[0])
    np.testing.assert_array_equal(labels, copies[1])


@pytest.mark.parametrize(
    ("features", "labels", "came"),
    [
        (np.zeros(4), y, r"; \w+ \(4,\)\."),
        (np.zeros((4, 0)), y, r"; \w+ \(4, 0\)\."),
        (np.zeros((0, 2)), np.zeros(0), r"; \w+ \(0, 2\)\."),
        (X, y[:3], r"\by\b.*\(4, 3\).*\(3,\)\."),
        (X, y[:, np.newaxis], r"\by\b.*\(4, 3\).*\(4, 1\)\."),
        (X, 1, r"\by\b.*\(4, 3\).*\(\)\."),
    ],
    ids=["vector", "no features", "no examples", "fewer labels", "labels in a column", "one label"],
)
def test_wrong_shapes_are_an_error(features: np.ndarray, labels: np.ndarray, came: str) -> None:
    with pytest.raises(ProblemError, match=rf"^X\b.*{came}"):
        stump_matrix(features, labels, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_feature_that_is_not_finite_is_an_error_with_its_place(value: float) -> None:
    features = X.copy()
    features[2, 1] = value
    with pytest.raises(ProblemError, match=rf"^X\b.* {value} .* 2,.* 1\."):
        stump_matrix(features, y, 2)


@pytest.mark.parametrize(
    "features, reason",
    [([["a"], ["b"]], "<U1"), ([[1.0, 2.0], [3.0]], "inhomogeneous"), ([[{}], [1]], "'dict'")],
    ids=["text", "ragged", "objects"],
)
def test_features_that_are_no_numbers_are_an_error(features: list[list[object]], reason: str) -> None:
    with pytest.raises(ProblemError, match=rf"^X\b.*: .*{reason}.*;"):
        stump_matrix(features, [1, -1], 2)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "labels, facts",
    [
        ([0, 1, -1, 1], "0, 1, -1"),
        ([1, -1, np.nan, 1], "1.0, -1.0, nan"),
        ([2, 1, 1, 1], "2, 1"),
        (list("abab"), "'a', 'b'"),
    ],
    ids=["three", "nan", "others", "text"],
)
def test_labels_that_are_no_two_classes_are_refused_in_a_sentence(labels: list[float], facts: str) -> None:
    """The message states the expected values, those that came and the advice."""
    with pytest.raises(ProblemError, match=rf"^y must\b.* -1 and 1, .* 0 and 1; got {re.escape(facts)}\. Code\b"):
        stump_matrix(X, labels, 2)


def test_labels_are_those_that_the_oracle_takes() -> None:
    signs = stump_matrix(X, y, 4)
    for labels in (np.asarray(y) > 0, np.where(np.asarray(y) > 0, 1, 0)):
        np.testing.assert_array_equal(stump_matrix(X, labels, 4), signs)
        assert DecisionStumps(X, labels).digest == DecisionStumps(X, y).digest


@pytest.mark.parametrize("t", [0, -3])
def test_fewer_than_one_column_is_an_error(t: int) -> None:
    with pytest.raises(OptionError, match=rf"^t\b.* 1;.* {t}\."):
        stump_matrix(X, y, t)


def test_a_negative_seed_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"^random_state\b.* 0;.* -1\."):
        stump_matrix(X, y, 2, -1)
