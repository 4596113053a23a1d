"""Drawn data: labels follow their rule, the noise is the number of labels it says, seeds repeat."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from boostopt import Dataset, ProblemError
from boostopt.instances import banana, hypercube, softboost_synthetic


def content(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    assert data.X is not None
    assert data.y is not None
    return data.X, data.y


def majority(X: np.ndarray, coordinates: list[int]) -> np.ndarray:
    """Return the majority by counting the ones of each row."""
    return np.array([1 if sum(row[j] == 1 for j in coordinates) > len(coordinates) / 2 else -1 for row in X])


def hidden(data: Dataset) -> list[int]:
    """The relevant coordinates that the name lists."""
    match = re.fullmatch(r"majority of coordinates ([\d, ]+) of \d+, label noise [\d.]+", data.name)
    assert match is not None
    return [int(number) for number in match[1].split(", ")]


@pytest.mark.parametrize(("N", "dimension", "relevant"), [(200, 100, 5), (50, 7, 7), (1, 1, 1), (301, 20, 3)])
def test_the_label_on_the_hypercube_is_the_majority_of_the_first_coordinates(
    N: int, dimension: int, relevant: int
) -> None:
    data = hypercube(N, dimension, 3, relevant=relevant)
    X, y = content(data)
    assert X.shape == (N, dimension)
    assert set(np.unique(X)) <= {-1.0, 1.0}
    assert y.dtype == np.int8
    np.testing.assert_array_equal(y, majority(X, list(range(relevant))))
    assert hidden(data) == list(range(relevant))


def test_the_hypercube_has_100_dimensions_five_of_them_relevant_and_no_noise_by_default() -> None:
    X, y = content(hypercube(400))
    assert X.shape == (400, 100)
    np.testing.assert_array_equal(y, majority(X, [0, 1, 2, 3, 4]))


@pytest.mark.parametrize(("N", "noise"), [(200, 0.1), (1000, 0.25), (7, 0.49), (30, 0.0), (3, 0.1)])
def test_exactly_the_rounded_fraction_of_labels_is_wrong(N: int, noise: float) -> None:
    cube = hypercube(N, noise=noise)
    X, y = content(cube)
    assert (y != majority(X, hidden(cube))).sum() == round(noise * N)
    _, y = content(softboost_synthetic(N, noise=noise))
    assert (y != np.where(np.arange(N) < (N + 1) // 2, 1, -1)).sum() == round(noise * N)
    points, right = content(banana(N))
    noisy_points, y = content(banana(N, noise))
    np.testing.assert_array_equal(points, noisy_points)
    assert (y != right).sum() == round(noise * N)


def test_the_wrong_labels_are_drawn_among_all_examples() -> None:
    flip_counts = np.zeros(20)
    for seed in range(200):
        X, y = content(hypercube(20, 5, seed, noise=0.25))
        flip_counts += y != majority(X, [0, 1, 2, 3, 4])
    # 50 expected at each place, standard deviation 6.1
    assert flip_counts.min() > 25
    assert flip_counts.max() < 75


def test_points_of_the_hypercube_are_uniform() -> None:
    X, _ = content(hypercube(4000, 10))
    # Means have standard deviation 0.016; so have correlations.
    assert np.abs(X.mean(axis=0)).max() < 0.08
    assert np.abs(X.T @ X / 4000 - np.eye(10)).max() < 0.08


def test_the_first_features_of_the_synthetic_data_tell_the_classes_apart() -> None:
    X, y = content(softboost_synthetic(4000, 1, noise=0.0))
    assert X.shape == (4000, 100)
    assert X.min() >= 0
    assert X.max() <= 1
    mean_differences = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    # A shift of 1/2 divided by 3/2; standard errors are at most 0.01.
    np.testing.assert_allclose(mean_differences[:10], 1 / 3, atol=0.04)
    np.testing.assert_allclose(mean_differences[10:], 0, atol=0.04)
    accuracies = [(np.sign(X[:, j] - 0.5) == y).mean() for j in range(100)]
    assert max(accuracies) < 0.8
    assert ((X[:, :10].mean(axis=1) > 0.5) == (y == 1)).mean() > 0.95


def test_the_arcs_of_the_banana_reach_into_each_other() -> None:
    X, y = content(banana(501, spread=1e-9))
    assert (y == 1).sum() == 251
    first, second = X[y == 1], np.array([1, 0.5]) - X[y == -1]
    for points in (first, second):
        np.testing.assert_allclose(np.hypot(points[:, 0], points[:, 1]), 1, atol=1e-7)
        assert points[:, 1].min() > -1e-7
        assert points[:, 0].min() < -0.9
        assert points[:, 0].max() > 0.9


def test_the_points_of_the_banana_spread_about_their_arcs() -> None:
    on_arc, _ = content(banana(2000, spread=1e-12))
    away, _ = content(banana(2000, spread=0.3))
    # Standard errors are 0.0067 and 0.0047.
    np.testing.assert_allclose((away - on_arc).mean(axis=0), 0, atol=0.035)
    np.testing.assert_allclose((away - on_arc).std(axis=0), 0.3, atol=0.025)


def test_input_noise_moves_points_and_turns_no_label_over() -> None:
    """The paper's noise: uniform, of mean 0 and the variance that is given, in both coordinates."""
    N, variance = 4000, 0.16
    points, right = content(banana(N, random_state=3))
    noisy_points, y = content(banana(N, random_state=3, input_noise=variance))
    np.testing.assert_array_equal(y, right)
    shifts = noisy_points - points
    assert np.abs(shifts).max() <= np.sqrt(3 * variance) < np.abs(shifts).max() + 0.01
    # Standard errors of the mean and of the variance are 0.0063 and 0.0023.
    np.testing.assert_allclose(shifts.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(shifts.var(axis=0), variance, atol=0.012)
    assert abs(np.corrcoef(shifts.T)[0, 1]) < 0.08
    assert np.histogram(shifts, bins=8)[0].min() > 0.9 * 2 * N / 8


def test_both_kinds_of_noise_are_apart() -> None:
    both = banana(60, 0.1, 4, input_noise=0.09)
    X, y = content(both)
    np.testing.assert_array_equal(X, content(banana(60, 0.0, 4, input_noise=0.09))[0])
    np.testing.assert_array_equal(y, content(banana(60, 0.1, 4))[1])
    assert re.fullmatch(r"banana\b.*\b0\.1\b.*\b0\.09", both.name)


def synthetic_in_ten(N: int, seed: int | np.random.Generator) -> Dataset:
    return softboost_synthetic(N, seed, dimension=12)


def cube_in_ten(N: int, seed: int | np.random.Generator) -> Dataset:
    return hypercube(N, 12, seed, noise=0.1)


def noisy_banana(N: int, seed: int | np.random.Generator) -> Dataset:
    return banana(N, 0.16, seed)


@pytest.mark.parametrize("draw", [synthetic_in_ten, cube_in_ten, noisy_banana])
def test_equal_seeds_give_equal_data_and_others_do_not(draw: Callable[..., Dataset]) -> None:
    X, y = content(draw(40, 5))
    for seed in (5, np.random.default_rng(5)):
        again, labels = content(draw(40, seed))
        np.testing.assert_array_equal(X, again)
        np.testing.assert_array_equal(y, labels)
    assert not np.array_equal(X, content(draw(40, 6))[0])


@pytest.mark.parametrize(
    "data", [banana(60, 0.09), hypercube(60, noise=0.1), softboost_synthetic(60)], ids=lambda d: d.name
)
def test_stumps_can_be_drawn_on_them(data: Dataset) -> None:
    U = data.margin_matrix(t=10, random_state=0)
    assert U.shape == (60, 10)
    np.testing.assert_array_equal(U[:, 0], -U[:, 1])


@pytest.mark.parametrize(
    ("make", "name", "limit", "came"),
    [
        (lambda: hypercube(0), "N", "1", "0"),
        (lambda: hypercube(10, relevant=4), "relevant", "odd", "4"),
        (lambda: hypercube(10, relevant=-1), "relevant", "1", "-1"),
        (lambda: hypercube(10, 3), "dimension", "5", "3"),
        (lambda: hypercube(10, noise=0.5), "noise", "1/2", "0.5"),
        (lambda: softboost_synthetic(10, -3), "random_state", "0", "-3"),
        (lambda: softboost_synthetic(10, noise=-0.1), "noise", "1/2", "-0.1"),
        (lambda: softboost_synthetic(1), "N", "2", "1"),
        (lambda: softboost_synthetic(10, dimension=5), "dimension", "10", "5"),
        (lambda: banana(1), "N", "2", "1"),
        (lambda: banana(10, float("nan")), "noise", "1/2", "nan"),
        (lambda: banana(10, input_noise=-0.1), "input_noise", "100", "-0.1"),
        (lambda: banana(10, spread=0.0), "spread", "10", "0.0"),
    ],
)
def test_bad_arguments_are_refused(make: object, name: str, limit: str, came: str) -> None:
    assert callable(make)
    with pytest.raises(ProblemError, match=rf"^{name}\b.*\b{re.escape(limit)}\b.* {re.escape(came)}\b"):
        make()
