"""One-dimensional entropy projections and the exact step of coordinate ascent, against slow twins in many digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy.special import logsumexp

from boostopt import ProblemError, boost
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.functions.numerics.root_finding import find_root_by_newton
from boostopt.oracles import RawFeatures
from boostopt.programs.step_rules import adaboost_step_sizes as projections
from boostopt.programs.step_rules.adaboost_step_sizes import smooth_margin, step_to_edge, step_to_largest_smooth_margin


def edge_after(u: np.ndarray, log_d: np.ndarray, alpha: float) -> float:
    """The edge under the distribution proportional to exp(log_d - alpha u), in 50 digits."""
    with localcontext() as context:
        context.prec = 50
        weights = [
            (Decimal(float(a)) - Decimal(alpha) * Decimal(float(v))).exp() for a, v in zip(log_d, u, strict=True)
        ]
        return float(sum(Decimal(float(v)) * x for v, x in zip(u, weights, strict=True)) / sum(weights))


def tilted(u: np.ndarray, log_d: np.ndarray, alpha: float) -> np.ndarray:
    a = log_d - alpha * u
    return np.asarray(np.exp(a - float(np.asarray(logsumexp(a)))))


@pytest.mark.parametrize("seed", range(20))
def test_the_hypothesis_has_the_edge_that_was_asked_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N = int(rng.integers(2, 60))
    kinds = (
        rng.uniform(-1, 1, N),
        rng.choice([-1.0, 1.0], N),
        rng.choice([-1.0, 0.0, 1.0], N),
        rng.uniform(-1, 1, N) * 1e-6,
        np.where(rng.random(N) < 0.1, -1.0, rng.uniform(0.2, 0.3, N)),
    )
    for u in kinds:
        u[:2] = [abs(u).max(), -abs(u).max()]
        log_d = rng.normal(size=N) * rng.choice([0.1, 3.0, 40.0])
        rho = float(u.min() + (u.max() - u.min()) * rng.choice([1e-9, 0.01, 0.3, 0.5, 0.8, 1 - 1e-9]))
        alpha = step_to_edge(u, log_d, rho)
        assert abs(edge_after(u, log_d, alpha) - rho) <= 1e-12 * np.abs(u).max()


def test_closed_form_of_the_step_of_a_hypothesis_of_signs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        u, d = rng.choice([-1.0, 1.0], 30), rng.dirichlet(np.ones(30))
        rho = float(rng.uniform(-0.9, 0.9))
        expected = math.atanh(u @ d) - math.atanh(rho)
        assert step_to_edge(u, np.log(d), rho) == pytest.approx(expected, abs=1e-13)
        assert step_to_edge(u, np.log(7 * d), rho, d=5 * d) == pytest.approx(expected, abs=1e-13)


def test_the_root_is_that_of_another_method() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        u, log_d, rho = rng.uniform(-1, 1, 40), rng.normal(size=40), float(rng.uniform(-0.5, 0.5))
        twin = scipy.optimize.brentq(
            lambda alpha, u=u, log_d=log_d, rho=rho: u @ tilted(u, log_d, alpha) - rho, -1e3, 1e3, xtol=1e-14
        )
        assert step_to_edge(u, log_d, rho) == pytest.approx(twin, abs=1e-11)


def test_weights_far_apart_are_told_apart() -> None:
    """Cases in which the hypothesis errs on a weight of exp(-2000) only, or the exponents are huge."""
    assert step_to_edge(np.array([1.0, -1.0]), np.array([0.0, -2000.0]), 0.0) == 1000.0
    assert step_to_edge(np.array([1.0, -1.0]), np.array([-2000.0, 0.0]), 0.0, np.array([0.0, 1.0])) == -1000.0
    assert step_to_edge(np.array([1.0, -0.5]), np.array([0.0, -3000.0]), 0.0) == pytest.approx(
        (3000 + math.log(2)) / 1.5, rel=1e-15
    )
    u, log_d = np.array([0.9, 0.3, -0.4]), np.array([1e5, -1e5, 3e4])
    alpha = step_to_edge(u, log_d, 0.1)
    assert u @ tilted(u, log_d, alpha) == pytest.approx(0.1, abs=1e-10)


def test_at_the_ends_of_the_range_no_step_is_long_enough() -> None:
    u, log_d = np.array([-0.5, 0.25, 1.0]), np.log([0.2, 0.3, 0.5])
    assert step_to_edge(u, log_d, -0.5) == math.inf
    assert step_to_edge(u, log_d, 1.0) == -math.inf
    assert math.isfinite(step_to_edge(u, log_d, np.nextafter(1.0, 0.0)))
    signs = np.array([1.0, 1.0, -1.0])
    assert step_to_edge(signs, log_d, -1.0) == math.inf
    assert step_to_edge(signs, log_d, 1.0) == -math.inf
    assert step_to_edge(np.ones(3), log_d, 1.0) == 0.0


def test_only_live_examples_count() -> None:
    u, log_d = np.array([-0.5, 0.25, 1.0, -1.0]), np.append(np.log([0.2, 0.3, 0.5]), -np.inf)
    assert step_to_edge(u, log_d, 0.0) == step_to_edge(u[:3], log_d[:3], 0.0)
    assert step_to_edge(u, log_d, -0.5) == math.inf
    assert step_to_edge(np.array([1.0, 1.0, -1.0]), np.array([0.0, -math.inf, 0.0]), 0.5) == -math.atanh(0.5)


@pytest.mark.parametrize(
    ("u", "log_d", "rho"),
    [([0.5, 1.0], [0.0, 0.0], 0.4), ([1.0, 1.0], [0.0, -3.0], 0.0), ([-1.0, 0.5], [-math.inf, 0.0], 0.0)],
)
def test_outside_the_range_there_is_no_projection(u: list[float], log_d: list[float], rho: float) -> None:
    low = min(v for v, a in zip(u, log_d, strict=True) if a > -math.inf)
    with pytest.raises(ProblemError, match=rf"\bedge\b.*\[{low:.10g}, .*; .* {rho:g}\."):
        step_to_edge(np.array(u), np.array(log_d), rho)


def test_the_smooth_margin_lies_just_below_the_margin() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        U, steps, c = rng.uniform(-1, 1, (20, 5)), rng.exponential(size=5) * 3, rng.integers(1, 5, 20).astype(float)
        m, total = U @ steps, float(steps.sum())
        smooth = smooth_margin(m, total, np.log(c))
        assert smooth == pytest.approx(-np.log(c @ np.exp(-m)) / total, abs=1e-12)
        assert m.min() / total - np.log(c.sum()) / total <= smooth < m.min() / total
        assert smooth == pytest.approx(smooth_margin(np.repeat(m, c.astype(int)), total), abs=1e-14)
    assert smooth_margin(np.zeros(3), 0.0) == -math.inf
    assert smooth_margin(np.array([3e4, -3e4]), 3e4) == -1.0


@pytest.mark.parametrize("seed", range(30))
def test_the_exact_step_is_the_largest_smooth_margin_of_a_fine_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N = int(rng.integers(3, 40))
    U = rng.uniform(-1, 1, (N, 4)) if seed % 2 else rng.choice([-1.0, 1.0], (N, 4))
    steps, log_c = rng.exponential(size=4) * rng.choice([0.5, 5.0, 100.0]), np.log(rng.integers(1, 4, N))
    m, total, u = U @ steps, float(steps.sum()), np.where(rng.random(N) < 0.7, 1.0, -1.0)
    u[rng.integers(N)] = -1.0
    alpha = step_to_largest_smooth_margin(u, m, total, log_c)

    def G(step: float) -> float:
        return smooth_margin(m + step * u, total + step, log_c)

    if alpha == math.inf:
        grid = np.append(0.0, np.geomspace(1e-6, 200.0, 2000))
        assert (np.diff([G(step) for step in grid]) > -1e-14).all()
        assert G(1e6) == pytest.approx(-1.0, abs=1e-4)
        return
    grid = np.linspace(0, 3 * alpha + 1, 4001)
    assert max(G(step) for step in grid) <= G(alpha) + 1e-14
    a = log_c - m - alpha * u
    edge = float(u @ np.exp(a - logsumexp(a)))
    assert edge == pytest.approx(G(alpha), abs=1e-12) if alpha > 0 else edge <= G(0.0) + 1e-12


def test_exact_steps_on_the_game_of_three() -> None:
    """From equal steps lambda = (1, 1, 1): G = 1/3 - ln(3) / 3 and the edges are 1/3, above it."""
    U = np.ones((3, 3)) - 2 * np.eye(3)
    m = U @ np.ones(3)
    alpha = step_to_largest_smooth_margin(U[:, 0], m, 3.0)
    after = smooth_margin(m + alpha * U[:, 0], 3.0 + alpha)
    weights = np.exp(-m - alpha * U[:, 0])
    assert alpha > 0
    assert U[:, 0] @ weights / weights.sum() == pytest.approx(after, abs=1e-15)
    assert after > smooth_margin(m, 3.0) == pytest.approx(1 / 3 - math.log(3) / 3, abs=1e-15)


def test_a_hypothesis_that_is_no_better_than_the_mixture_gets_no_step() -> None:
    m = np.array([5.0, 5.0, 5.0])
    assert step_to_largest_smooth_margin(np.array([0.2, -1.0, 0.3]), m, 6.0) == 0.0
    assert smooth_margin(m, 6.0) > (0.2 - 1.0 + 0.3) / 3


def test_step_of_a_smooth_margin_that_rises_for_ever_is_infinite() -> None:
    m = np.array([2.0, 1.5, 1.0])
    assert step_to_largest_smooth_margin(np.ones(3), m, 3.0) == math.inf
    assert step_to_largest_smooth_margin(np.array([0.9, 1.0, 0.9]), m, 3.0) == math.inf
    # Before the first step, whenever there is an error: G rises to -1 from -inf.
    assert step_to_largest_smooth_margin(np.array([1.0, 1.0, -1.0]), np.zeros(3), 0.0) == math.inf
    assert step_to_largest_smooth_margin(np.array([1.0]), np.zeros(1), 0.0) == math.inf
    # The error is on an example that does not count.
    log_c = np.array([0.0, 0.0, -np.inf])
    assert step_to_largest_smooth_margin(np.array([1.0, 1.0, -1.0]), m, 3.0, log_c) == math.inf


def test_long_steps_do_not_overflow() -> None:
    """After steps of 1e5 in all, margins near 1 but for one example at -1e4."""
    rng = np.random.default_rng(3)
    m = rng.uniform(2e4, 9e4, 50)
    m[7] = -1e4
    u = np.where(np.arange(50) == 3, -1.0, 1.0)
    alpha = step_to_largest_smooth_margin(u, m, 1e5)
    grid = alpha + np.linspace(-1, 1, 201)
    values = [smooth_margin(m + step * u, 1e5 + step) for step in grid]
    assert max(values) <= smooth_margin(m + alpha * u, 1e5 + alpha) + 1e-16
    assert alpha == pytest.approx((m[3] + 1e4) / 2, rel=1e-3)


def counted(function: Callable[[float], tuple[float, float, float]], max_calls: int = 5000) -> Callable[[float], Any]:
    """Return a function with a limit of its calls."""
    n_calls = 0

    def once_more(x: float) -> tuple[float, float, float]:
        nonlocal n_calls
        n_calls += 1
        assert n_calls <= max_calls, "the search never ends"
        return function(x)

    return once_more


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_root_search_leaves_where_there_are_no_numbers(sign: float) -> None:
    """Beyond a point where nothing is known, or of unknown rounding: no comparison holds, and no bracket closes."""
    nothing = math.copysign(math.nan, sign)
    for function in (
        lambda x: (-1.0, -1.0, 0.0) if x > -1.0 else (nothing, nothing, nothing),
        lambda x: (-x - 1.0, -1.0, nothing),
    ):
        with pytest.raises(ProblemError, match=r"\bstep -?[01] .*\bfeatures\b"):
            find_root_by_newton(counted(function), 0.0)


def test_a_root_search_is_not_lost_in_the_rounding_of_large_numbers() -> None:
    """Newton's steps of 1 do not change a sum of 1e150, and no bracket is in sight."""

    def function(x: float) -> tuple[float, float, float]:
        return (1e150 if x < 1e134 else -1e150), -1e150, 0.0

    assert 0.0 < find_root_by_newton(counted(function), 0.0) < math.inf


def test_coordinate_ascent_ends_on_features_that_are_too_many_times_each_other(monkeypatch: Any) -> None:
    huge = 1.7e308
    X = np.array(
        [
            [-1.0, -huge, huge, 1.0],
            [-huge, -1.0, 1e154, -huge],
            [1e154, 1e154, huge, huge],
            [-1e154, -huge, -huge, -1e154],
            [huge, huge, huge, -huge],
        ]
    )
    oracle = RawFeatures(X, np.array([1, -1, 1, -1, 1]))
    monkeypatch.setattr(
        projections, "find_root_by_newton", lambda function, x: find_root_by_newton(counted(function), x)
    )
    run = boost("coordinate_ascent", oracle, max_rounds=30)
    assert not run.reason.startswith("failed")
    assert np.isfinite(run.w).all() and np.isfinite(run.record.state.m).all()


def test_a_step_longer_than_any_float_is_not_taken() -> None:
    """Margins of 1e-308: the step overflows, and infinite times 0 is no number."""
    rng = np.random.default_rng(4)
    N, features = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    y = rng.choice([-1, 1], N)
    y[:2] = 1, -1
    sizes = rng.choice([1.7e308, 1.0, 1e-3, 1e300, 1e-300], (N, features))
    X = sizes * np.where(rng.random((N, features)) < 0.8, 1, -1) * y[:, None]
    run = boost("adaboost", RawFeatures(X, y), max_rounds=20)
    assert run.stop_reason is StopReason.OTHER
    assert "overflows" in run.reason
    assert np.isfinite(run.w).all() and run.class_certificate.lower <= run.class_certificate.upper
