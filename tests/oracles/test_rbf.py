"""RBF networks: their gradients, the erratum of the paper, what each step does, and examples of all kinds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from boostopt.errors import OptionError, ProblemError
from boostopt.instances import banana
from boostopt.oracles.rbf.conjugate_gradients import conjugate_gradients
from boostopt.oracles.rbf.kmeans import kmeans
from boostopt.oracles.rbf.network_error import ReducedError
from boostopt.oracles.rbf.network_fitting import fit_rbf
from boostopt.oracles.rbf.radial_basis_network import RBFNetwork

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 3))
Y = RNG.normal(size=(60, 2))
S = RNG.exponential(size=60)
CENTRES = RNG.uniform(-1, 1, size=(7, 3))
LOG_WIDTHS = RNG.normal(size=7) / 4 - 0.5

FIVE_POINT = 1e-3
"""Step of the differences: their error is of its fourth power."""


def bananas(*arguments: Any, **options: Any) -> Any:
    """The data, not typed: X and y of a data set may be missing, these are not."""
    return banana(*arguments, **options)


def design(centres: np.ndarray, log_widths: np.ndarray) -> np.ndarray:
    """g_k(x_n), one number at a time."""
    bumps = list(zip(centres, np.exp(log_widths), strict=True))
    return np.array([[math.exp(-((x - mu) @ (x - mu)) / (2 * sigma**2)) for mu, sigma in bumps] for x in X])


def best_weights(K: np.ndarray, ridge: float) -> np.ndarray:
    """The output weights by least squares of [sqrt(S) K; sqrt(ridge) I], as the paper's program but for the squares."""
    stacked = np.vstack([np.sqrt(S)[:, np.newaxis] * K, math.sqrt(ridge) * np.eye(K.shape[1])])
    targets = np.vstack([np.sqrt(S)[:, np.newaxis] * Y, np.zeros((K.shape[1], 2))])
    return np.linalg.lstsq(stacked, targets, rcond=None)[0]


def error(K: np.ndarray, w: np.ndarray, lambda_: float) -> float:
    """(26) of the paper with weights."""
    return float(0.5 * (S[:, np.newaxis] * (Y - K @ w) ** 2).sum() + lambda_ / (2 * S.sum()) * (w**2).sum())


def differences(function: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """The gradient by differences of five points."""
    gradient = np.empty(len(x))
    for i, step in enumerate(FIVE_POINT * np.eye(len(x))):
        short, far = function(x + step) - function(x - step), function(x + 2 * step) - function(x - 2 * step)
        gradient[i] = (8 * short - far) / (12 * FIVE_POINT)
    return gradient


def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x[: CENTRES.size].reshape(CENTRES.shape), x[CENTRES.size :]


PACKED = np.concatenate([CENTRES.ravel(), LOG_WIDTHS])


@pytest.mark.parametrize("lambda_", [1e-6, 1.0, 300.0])
def test_error_and_output_weights_are_those_of_least_squares(lambda_: float) -> None:
    evaluation = ReducedError(X, Y, S, lambda_).evaluate(CENTRES, LOG_WIDTHS)
    K = design(CENTRES, LOG_WIDTHS)
    w = best_weights(K, lambda_ / S.sum())
    np.testing.assert_allclose(evaluation.output_weights, w, rtol=1e-9, atol=1e-9 * np.abs(w).max())
    assert evaluation.error == pytest.approx(error(K, w, lambda_), rel=1e-12)


@pytest.mark.parametrize("lambda_", [1e-6, 1.0, 300.0])
def test_gradients_are_those_of_differences(lambda_: float) -> None:
    problem = ReducedError(X, Y, S, lambda_)
    evaluation = problem.evaluate(CENTRES, LOG_WIDTHS)
    gradient = np.concatenate([evaluation.by_centres.ravel(), evaluation.by_log_widths])
    slow = differences(lambda x: problem.evaluate(*split(x)).error, PACKED)
    assert np.abs(gradient - slow).max() <= 1e-6 * np.abs(gradient).max()


@pytest.mark.thorough
def test_the_printed_factor_of_the_regularisation_gives_no_gradient() -> None:
    """With 2 lambda / N in (29), w is not best for (26), and (27) and (28) leave out how it changes."""
    lambda_ = 300.0

    def along(x: np.ndarray, factor: float) -> tuple[float, np.ndarray]:
        """(26) with the w of a regularisation by factor * lambda / N, and (27), (28) there."""
        centres, log_widths = split(x)
        K = design(centres, log_widths)
        w = best_weights(K, factor * lambda_ / S.sum())
        pull = (S[:, np.newaxis] * (K @ w - Y)) @ w.T * K / np.exp(2 * log_widths)
        distances = X[:, np.newaxis] - centres
        by_centres = np.einsum("nk,nkj->kj", pull, distances)
        by_log_widths = np.einsum("nk,nkj->k", pull, distances**2)
        return error(K, w, lambda_), np.concatenate([by_centres.ravel(), by_log_widths])

    ratios = {}
    for factor in (1.0, 2.0):
        gradient = along(PACKED, factor)[1]
        slow = differences(lambda x, factor=factor: along(x, factor)[0], PACKED)
        ratios[factor] = np.abs(gradient - slow).max() / np.abs(slow).max()
    assert ratios[1.0] < 1e-8
    assert ratios[2.0] > 0.1
    # The computed value is the value by hand.
    evaluation = ReducedError(X, Y, S, lambda_).evaluate(CENTRES, LOG_WIDTHS)
    computed = np.concatenate([evaluation.by_centres.ravel(), evaluation.by_log_widths])
    np.testing.assert_allclose(computed, along(PACKED, 1.0)[1], atol=1e-9)


def test_centres_that_coincide_are_solved_by_least_squares() -> None:
    """With so small a regularisation the equations are singular in floating point; the sum of equal bumps is not."""
    twice = np.vstack([CENTRES, CENTRES[:2]]), np.concatenate([LOG_WIDTHS, LOG_WIDTHS[:2]])
    once = ReducedError(X, Y, S, 1e-10).evaluate(CENTRES, LOG_WIDTHS)
    evaluation = ReducedError(X, Y, S, 1e-10).evaluate(*twice)
    assert evaluation.error == pytest.approx(once.error, rel=1e-10)
    w = evaluation.output_weights
    np.testing.assert_allclose(np.vstack([w[:2] + w[-2:], w[2:-2]]), once.output_weights, rtol=1e-7)


def test_a_centre_far_from_everything_has_no_weight_and_changes_nothing() -> None:
    far = np.vstack([CENTRES, np.full((1, 3), 100.0)]), np.append(LOG_WIDTHS, -1.0)
    once = ReducedError(X, Y, S, 1e-6).evaluate(CENTRES, LOG_WIDTHS)
    evaluation = ReducedError(X, Y, S, 1e-6).evaluate(*far)
    assert evaluation.error == pytest.approx(once.error, rel=1e-12)
    np.testing.assert_array_equal(evaluation.output_weights[-1], 0)
    np.testing.assert_array_equal(evaluation.by_centres[-1], 0)
    assert evaluation.by_log_widths[-1] == 0


def test_the_error_falls_in_each_step_of_a_fit() -> None:
    data = bananas(300, noise=0.1)
    s = RNG.dirichlet(np.ones(300)) * 300
    errors = []
    for iterations in range(11):
        network = fit_rbf(data.X, data.y, s, K=20, iterations=iterations, random_state=3)
        residual = float(s @ (data.y - network.value(data.X)) ** 2) / 2
        errors.append(residual + 1e-6 / 600 * float(network.output_weights @ network.output_weights))
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.85 * errors[0]


def test_a_fit_is_the_network_of_its_reduced_error() -> None:
    data = bananas(200, noise=0.1)
    network = fit_rbf(data.X, data.y, K=10)
    problem = ReducedError(data.X, data.y[:, np.newaxis].astype(float), np.ones(200), 1e-6)
    evaluation = problem.evaluate(network.centres, np.log(network.widths))
    assert evaluation.error == pytest.approx(((data.y - network.value(data.X)) ** 2).sum() / 2, rel=1e-8)
    np.testing.assert_allclose(network.output_weights, evaluation.output_weights[:, 0], rtol=1e-5)


def test_bananas_are_told_apart() -> None:
    """Two arcs with a spread of 0.15: a network comes near to what a thousand examples show to be possible."""
    unseen = bananas(4000, random_state=1)
    for start in (None, 0, 1):
        network = fit_rbf(*data_of(bananas(300)), K=20, random_state=start)
        assert (np.sign(network.value(unseen.X)) == unseen.y).mean() > 0.97
    # A tenth of the labels wrong: as good on right ones, nearly.
    network = fit_rbf(*data_of(bananas(300, noise=0.1)), K=20)
    assert (np.sign(network.value(unseen.X)) == unseen.y).mean() > 0.93


def data_of(data: Any) -> tuple[Any, Any]:
    return data.X, data.y


def test_several_outputs_are_fitted_at_once_and_equal_ones_alike() -> None:
    data = bananas(100)
    y = np.column_stack([data.y, data.y, -data.y]).astype(float)
    network = fit_rbf(data.X, y, K=5)
    f = network.value(data.X)
    assert network.output_weights.shape == (5, 3) and f.shape == (100, 3)
    np.testing.assert_allclose(f[:, 0], f[:, 1], atol=1e-10)
    np.testing.assert_allclose(f[:, 0], -f[:, 2], atol=1e-10)
    # The error is three times that of one output, so the path is that of one output.
    one = fit_rbf(data.X, data.y, K=5, iterations=0)
    np.testing.assert_allclose(fit_rbf(data.X, y, K=5, iterations=0).value(data.X)[:, 0], one.value(data.X), atol=1e-10)


@pytest.mark.parametrize("power", [-900, -100, 100, 900, 1010])
def test_a_power_of_two_as_scale_changes_no_digit(power: int) -> None:
    data = bananas(100, noise=0.1)
    network = fit_rbf(data.X, data.y, K=10)
    scaled = fit_rbf(np.ldexp(data.X, power), data.y, K=10)
    np.testing.assert_array_equal(scaled.output_weights, network.output_weights)
    np.testing.assert_array_equal(scaled.value(np.ldexp(data.X, power)), network.value(data.X))


def test_features_far_from_0_lose_only_what_they_have_lost() -> None:
    data = bananas(100, noise=0.1)
    shifted_X = data.X + 2.0**20
    centred_X = shifted_X - 2.0**20  # exact
    np.testing.assert_allclose(
        fit_rbf(shifted_X, data.y, K=10).value(shifted_X), fit_rbf(centred_X, data.y, K=10).value(centred_X), atol=1e-6
    )


def test_examples_that_do_not_count_are_as_if_not_there() -> None:
    data = bananas(100, noise=0.1)
    s = np.ones(100)
    s[40:] = 0
    without = fit_rbf(data.X[:40], data.y[:40], K=8)
    np.testing.assert_array_equal(fit_rbf(data.X, data.y, s, K=8).value(data.X), without.value(data.X))


def test_more_centres_than_points_are_as_many_as_points() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    network = fit_rbf(np.repeat(points, 5, axis=0), np.repeat([1.0, -1.0, 1.0], 5), K=20)
    assert network.K == 3
    np.testing.assert_allclose(network.value(points), [1, -1, 1], atol=1e-6)


def test_without_features_that_differ_the_answer_is_the_mean() -> None:
    y = np.array([1.0, 1.0, 1.0, -1.0])
    network = fit_rbf(np.full((4, 2), 7.0), y, K=5)
    assert network.K == 1
    np.testing.assert_allclose(network.value(np.full((1, 2), 7.0)), [0.5], atol=1e-6)
    weighted = fit_rbf(np.full((4, 2), 7.0), y, np.array([1.0, 0.0, 0.0, 3.0]), K=5)
    np.testing.assert_allclose(weighted.value(np.full((1, 2), 7.0)), [-0.5], atol=1e-6)


@pytest.mark.parametrize("total", [1e-100, 1.0, 1e200])
def test_weights_of_any_size_give_finite_networks(total: float) -> None:
    data = bananas(100, noise=0.1)
    s = RNG.exponential(size=100) ** 10
    assert np.isfinite(fit_rbf(data.X, data.y, s / s.sum() * total, K=10).value(data.X)).all()


@pytest.mark.parametrize("outlier", [1e3, 1e10, 1e300])
def test_an_outlier_does_no_harm_to_finiteness(outlier: float) -> None:
    data = bananas(100)
    far = np.vstack([data.X, [[outlier, -outlier]]])
    network = fit_rbf(far, np.append(data.y, 1), K=10)
    assert np.isfinite(network.value(far)).all()
    assert network.value(far)[-1] > 0.9


def test_values_beyond_everything_are_0() -> None:
    network = fit_rbf(*data_of(bananas(100)), K=5)
    np.testing.assert_array_equal(network.value(np.array([[1.7e308, -1.7e308], [-1e200, 0.0]])), 0)


def test_equal_seeds_give_equal_networks_and_others_do_not() -> None:
    data = bananas(100, noise=0.1)
    fits = [fit_rbf(data.X, data.y, K=10, random_state=seed).value(data.X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_kmeans_of_separate_clusters_finds_their_weighted_means() -> None:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    points = np.repeat(corners, 10, axis=0) + 0.01 * RNG.normal(size=(30, 2))
    s = RNG.uniform(1, 2, size=30)
    means = [np.average(points[k : k + 10], axis=0, weights=s[k : k + 10]) for k in (0, 10, 20)]
    for rng in (None, np.random.default_rng(0)):
        centres = kmeans(points, s, 3, rng)
        nearest = centres[((centres[:, np.newaxis] - corners) ** 2).sum(axis=2).argmin(axis=0)]
        np.testing.assert_allclose(nearest, means, atol=1e-14)


def test_conjugate_gradients_minimise_a_quadratic_in_as_many_steps_as_variables() -> None:
    """Exact line searches need n steps. These line searches end at a tenth of the slope."""
    root = RNG.normal(size=(6, 6))
    H, minimiser = root @ root.T + np.eye(6), RNG.normal(size=6)
    descent = conjugate_gradients(
        lambda x: (0.5 * float((x - minimiser) @ H @ (x - minimiser)), H @ (x - minimiser)), np.zeros(6), 40, 10.0
    )
    assert len(descent.values) <= 41
    assert (np.diff(descent.values) <= 0).all()
    np.testing.assert_allclose(descent.x, minimiser, atol=1e-6)


def test_conjugate_gradients_keep_within_reach_and_away_from_what_is_not_finite() -> None:
    def wall(x: np.ndarray) -> tuple[float, np.ndarray]:
        """X - ln(1 - x) up to 1, not finite beyond: falls to the left without end."""
        return (math.nan, np.full(1, math.nan)) if x[0] >= 1 else (float(-x[0] - math.log(1 - x[0])), -1 + 1 / (1 - x))

    descent = conjugate_gradients(wall, np.array([0.9]), 10, 5.0)
    assert abs(descent.x[0]) < 1e-3
    falling = conjugate_gradients(lambda x: (float(x[0]), np.ones(1)), np.zeros(1), 3, 2.0)
    assert falling.values == (0.0, -2.0, -4.0, -6.0)


def test_conjugate_gradients_stop_at_a_minimum() -> None:
    descent = conjugate_gradients(lambda x: (float(x @ x), 2 * x), np.zeros(3), 10, 1.0)
    assert descent.values == (0.0,)


def test_a_network_is_checked() -> None:
    one = np.ones(1)
    with pytest.raises(ProblemError, match=r"\(K, features\).*\(1, 2\), \(2,\), \(1,\)"):
        RBFNetwork(np.ones((1, 2)), np.ones(2), one)
    for width in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ProblemError, match=rf"\bcentres\b.*\bwidths; .* {width:g},"):
            RBFNetwork(np.ones((1, 2)), np.array([width]), one)
    with pytest.raises(ProblemError, match=r"\bcentres\b.*\bwidths; .* 1,"):
        RBFNetwork(np.full((1, 2), math.inf), one, one)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"K": 0}, r"^K\b.* 1;.* 0\."),
        ({"iterations": -1}, r"^iterations\b.* 0;.* -1\."),
        ({"lambda_": 0.0}, r"^lambda_ .*\bpositive\b.* 0\.0\."),
        ({"lambda_": math.nan}, r"^lambda_\b.*\bpositive\b.*\bnan\."),
    ],
    ids=["no centres", "steps below 0", "no penalty", "nan"],
)
def test_options_out_of_range_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        fit_rbf(X, S, **options)


def test_examples_that_are_none_are_errors() -> None:
    with pytest.raises(ProblemError, match=r"\bfinite\b.*\bX\b.*\by\b"):
        fit_rbf(np.where(X > 0.9, np.nan, X), S)
    for weights in (np.zeros(60), -S, np.full(60, 1e308), np.full(60, math.nan)):
        with pytest.raises(ProblemError, match=rf"\bweights\b.*\bfinite\b.* {re.escape(f'{weights.min():.6g}')} "):
            fit_rbf(X, S, weights)
    with pytest.raises(ProblemError, match=r"\bweights\b.* 6e-199\."):
        fit_rbf(X, S, np.full(60, 1e-200))
    with pytest.raises(ProblemError, match=r"\(N, features\).*\(60, 0\)"):
        fit_rbf(X[:, :0], S)
    with pytest.raises(ProblemError, match=r"\(60, 3\), \(59,\).*\(60,\)"):
        fit_rbf(X, S[1:])
    with pytest.raises(ProblemError, match=r"\(60, 3\), \(60, 2\).*\(59,\)"):
        fit_rbf(X, Y, S[1:])
