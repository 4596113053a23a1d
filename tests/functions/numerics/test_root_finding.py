"""Roots by the methods of Brent and of Newton, and multipliers of the constraint sum d = 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from boostopt.functions.numerics.root_finding import (
    bracket_root,
    find_root,
    find_root_by_newton,
    solve_simplex_multiplier,
)


def test_the_root_lies_in_its_bracket() -> None:
    for root in (-1e12, -3.0, 0.0, 1e-9, 7e8):
        low, high = bracket_root(lambda x, root=root: x - root, 0.0)
        assert low <= root <= high
        assert find_root(lambda x, root=root: math.atan(x - root), low, high) == pytest.approx(
            root, rel=1e-14, abs=1e-14
        )


def test_a_function_without_a_root_has_the_nearer_end() -> None:
    assert find_root(lambda x: x + 5.0, 0.0, 1.0) == 0.0
    assert find_root(lambda x: x - 5.0, 0.0, 1.0) == 1.0
    _, high = bracket_root(lambda x: -1.0, 0.0, 100.0)
    assert high == 100.0


def test_newtons_method_has_the_root_of_brents_method_with_fewer_evaluations() -> None:
    """Differences of two sums of exponentials, as for the step to an edge: hence the second method."""
    rng = np.random.default_rng(5)
    counts = {"newton": 0, "brent": 0}
    for _ in range(50):
        gains, losses, weight = rng.uniform(0.1, 1.0, 9), rng.uniform(0.1, 1.0, 9), rng.normal(0.0, 20.0)

        def excess(x: float, gains: Any = gains, losses: Any = losses, weight: float = weight) -> float:
            counts["brent"] += 1
            larger: Any = logsumexp(losses * x)
            smaller: Any = logsumexp(-gains * x)
            return float(larger - smaller) + weight

        def falling(x: float, gains: Any = gains, losses: Any = losses, excess: Any = excess) -> Any:
            counts["newton"] += 1
            counts["brent"] -= 1
            slope = float(softmax(losses * x) @ losses) + float(softmax(-gains * x) @ gains)
            value = excess(x)
            return -value, -slope, 1e-15 * (1.0 + abs(value))

        root = find_root_by_newton(falling, 0.0)
        assert find_root(excess, *bracket_root(excess, 0.0)) == pytest.approx(root, rel=1e-12, abs=1e-12)
    assert counts["newton"] < 0.6 * counts["brent"]


@pytest.mark.parametrize("seed", range(5))
def test_the_multiplier_of_clipped_weights_is_that_of_sorting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, cap = rng.normal(size=40) * 10.0 ** rng.uniform(-2, 2), 0.13
    box = np.zeros(40), np.full(40, cap)
    beta, lower_weights, upper_weights = solve_simplex_multiplier(
        lambda y, low, high: np.clip(y, 0.0, cap), z, box, 1e-12
    )
    # The sum is linear between the ends z and z - cap of the pieces.
    ends = np.sort(np.concatenate([z, z - cap]))
    sums = np.array([np.clip(z - end, 0.0, cap).sum() for end in ends])
    expected = float(np.interp(-1.0, -sums, ends))
    assert beta == pytest.approx(expected, abs=1e-13 * max(1.0, np.abs(z).max()))
    assert lower_weights.sum() <= 1.0 + 1e-12
    assert upper_weights.sum() >= 1.0 - 1e-12


def test_a_jump_of_the_sum_has_maximizers_on_both_sides() -> None:
    """Linear terms: weights are at an end of the box, and only a convex combination sums to 1."""
    z, box = np.array([3.0, 2.0, 2.0, 0.0]), (np.zeros(4), np.full(4, 0.6))
    beta, d_above, d_below = solve_simplex_multiplier(lambda y, low, high: np.where(y > 0.0, 0.6, 0.0), z, box, 1e-12)
    assert beta == pytest.approx(2.0, abs=1e-14)
    np.testing.assert_array_equal(d_above, [0.6, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(d_below, [0.6, 0.6, 0.6, 0.0])


@pytest.mark.parametrize("xtol", [None, 1e-3, 1e-9])
def test_a_root_is_as_near_as_is_asked_for(xtol: float | None) -> None:
    calls: list[float] = []

    def f(x: float) -> float:
        calls.append(x)
        return x**3 - 2.0

    root = find_root(f, 0.0, 3.0, xtol)
    assert abs(root - 2.0 ** (1 / 3)) <= (4e-15 if xtol is None else xtol + 1e-15)
    assert len(calls) <= {None: 20, 1e-3: 12, 1e-9: 16}[xtol]


@pytest.mark.parametrize("xtol", [None, 1e-3])
def test_an_end_is_the_root_where_the_signs_agree(xtol: float | None) -> None:
    assert find_root(lambda x: x + 1e-16, 0.0, 1.0, xtol) == 0.0
    assert find_root(lambda x: x - 1.0, -1.0, 0.5, xtol) == 0.5
