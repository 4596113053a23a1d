"""Weights that nobody means to pass: every oracle answers with a true bound, or says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from boostopt import OptionError, ProblemError
from boostopt.oracles import DecisionStumps, GivenMargins, KernelColumns, Oracle, Query, RawFeatures
from boostopt.oracles.weight_scaling import MAX_WEIGHT_SUM, check_weights, scaled_weights

RNG = np.random.default_rng(4)
N = 12
X = RNG.normal(size=(N, 3))
y = np.where(np.arange(N) % 2, 1, -1)

ORACLES: dict[str, Callable[[], Oracle]] = {
    "stumps": lambda: DecisionStumps(X, y),
    "raw": lambda: RawFeatures(X, y),
    "linear": lambda: KernelColumns(X, y),
    "polynomial": lambda: KernelColumns(X, y, "polynomial"),
    "rbf": lambda: KernelColumns(X, y, "rbf"),
    "given": lambda: GivenMargins(np.clip(X, -1, 1), reflexive=True),
}
WEIGHTS: dict[str, Any] = {
    "all 0": np.zeros(N),
    "one positive": np.eye(N)[3],
    "one negative by rounding": np.where(np.arange(N) == 2, -1e-18, 1 / N),
    "negative": np.full(N, -1 / N),
    "huge": np.full(N, 1e306),
    "subnormal": np.arange(N) * 5e-324,
    "small": np.linspace(1e-310, 3e-310, N),
    "far apart": np.where(np.arange(N) == 0, 1e300, 5e-324),
    "single precision": np.full(N, 1 / N, dtype=np.float32),
    "every second": np.repeat(np.arange(N) / 66, 2)[::2],
}


@pytest.mark.every(3)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("count", [1, 10**6])
def test_edges_are_those_of_the_columns_and_none_is_above_the_bound(kind: str, weights: str, count: int) -> None:
    d, oracle = WEIGHTS[weights], ORACLES[kind]()
    size = float(np.abs(d).sum())
    for _ in range(3):  # nothing is remembered from call to call
        answer = oracle.best(Query(d, count))
        assert answer.edge_bound is not None
        assert answer.edge_bound <= size * (1 + 1e-9) + 5e-324 or size == 0
        assert 1 <= len(answer.columns) <= count
        for column in answer.columns:
            edge = sum(Fraction(float(u)) * Fraction(float(x)) for u, x in zip(column.margins, d, strict=True))
            assert abs(column.edge - edge) <= 1e-14 * size + 5e-324
            assert edge <= answer.edge_bound
            assert column.edge <= answer.edge_bound


def test_the_scale_is_a_power_of_two_and_exact() -> None:
    for d in WEIGHTS.values():
        s, exponent = scaled_weights(d, N)
        assert d.any() == (0.5 <= np.abs(s).sum() <= 1.0)
        if weights_keep_their_digits(d):
            np.testing.assert_array_equal(np.ldexp(s, exponent), d)


def weights_keep_their_digits(d: Any) -> bool:
    """Return whether no weight is so much smaller than the largest that it vanishes beside it."""
    return not d.any() or float(np.abs(d[d != 0]).min()) > 1e-300 * float(np.abs(d).max())


def test_the_total_is_the_sum_of_sizes() -> None:
    assert check_weights(np.array([0.5, -0.25]), 2) == 0.75
    assert check_weights(np.full(4, MAX_WEIGHT_SUM / 4), 4) == MAX_WEIGHT_SUM


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize(
    ("d", "message"),
    [
        (np.full(N, 1e308), r"\bd\b.* 4\.49423e\+307;.* inf\."),
        (np.full(N, MAX_WEIGHT_SUM / 11), r"\bd\b.* 4\.49423e\+307;.* 4\.9\d*e\+307\."),
        (np.full(N, np.nan), rf"\bd\b.* {N} .*\({N},\)"),
        (np.where(np.arange(N) == 1, np.inf, 0.0), rf"\bd\b.* {N} .*\({N},\)"),
        (np.ones(N - 1), rf"\bd\b.* {N} .*\({N - 1},\)"),
    ],
    ids=["overflow", "a large sum", "nan", "inf", "one fewer"],
)
def test_weights_without_edges_are_an_error(kind: str, d: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        ORACLES[kind]().best(Query(d))


@pytest.mark.parametrize("count", [0, -3])
def test_fewer_columns_than_one_cannot_be_asked_for(count: int) -> None:
    with pytest.raises(OptionError, match=rf"^count\b.* 1;.* {count}\."):
        Query(np.ones(N), count)


@pytest.mark.parametrize("scale", [np.finfo(float).max / 4, 1e300, 1e-100, 5e-324])
@pytest.mark.parametrize("kind", [DecisionStumps, RawFeatures])
def test_features_of_any_size_have_margins_and_a_bound(kind: Any, scale: float) -> None:
    features = np.where(X > 0, 1.0, -1.0) * scale
    answer = kind(features, y).best(Query(np.full(N, 1 / N), 3))
    for column in answer.columns:
        np.testing.assert_array_equal(y * column.hypothesis(features), column.margins)
        assert math.fsum(column.margins / N) <= answer.edge_bound
