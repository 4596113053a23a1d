"""Stumps that predict numbers: margins are residuals, the search is exact, and intervals hold for the whole class."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.regression_programs import all_values, smallest_tube_loss

import boostopt
from boostopt import OptionError, ProblemError, boost, reweight
from boostopt.boosting import Run
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import LimitedClass, MarginLimit, Query, RegressionStump, RegressionStumps, Stump
from boostopt.oracles.hypothesis_serialization import shipped_from_state, to_state


def examples(n: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of few values, targets, and multiplicities, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, features)).astype(float)
    c = rng.integers(0, 3, n).astype(float)
    c[:2] = 1.0
    return X, rng.normal(size=n) * 10.0 ** rng.integers(-3, 4) + rng.normal(), c


@pytest.mark.parametrize("seed", range(8))
def test_the_best_stump_is_the_best_of_all_and_no_edge_is_above_the_bound(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    X, y, _ = examples(9, 2, seed)
    oracle = RegressionStumps(X, y, radius=(0.3, 2.0, 50.0)[seed % 3])
    d = rng.normal(size=oracle.N) * (rng.random(oracle.N) < 0.8) * 10.0 ** rng.integers(-3, 3)
    size, (m, r), R = float(np.abs(d).sum()), oracle.target_scale, oracle.residual_scale
    answer = oracle.best(Query(d, 3))
    margins = np.clip((r * all_values(X) - (y - m)[:, np.newaxis]) / R, -1.0, 1.0)
    # Exact sums, since the bound is above the exact edges of these margins.
    weights = [Fraction(a) - Fraction(b) for a, b in zip(d[::2].tolist(), d[1::2].tolist(), strict=True)]
    edges = [sum(s * Fraction(u) for s, u in zip(weights, column, strict=True)) for column in margins.T.tolist()]
    assert answer.edge_bound is not None
    assert max(edges) <= Fraction(answer.edge_bound) <= max(edges) + Fraction(1e-13 * size)
    assert answer.columns[0].edge == pytest.approx(float(max(edges)), abs=1e-13 * size)
    assert len({column.margins.tobytes() for column in answer.columns}) == len(answer.columns)
    for column in answer.columns:
        predictions = m + r * column.hypothesis(X)
        assert column.margins[::2] * R == pytest.approx(predictions - y, abs=1e-14 * R + 1e-15)
        assert (column.margins[1::2] == -column.margins[::2]).all()
        assert (oracle.margins_of(column.hypothesis) == column.margins).all()
        assert column.margins @ d == pytest.approx(column.edge, abs=1e-13 * size)


def intervals_contain_the_least_loss(seeds: range) -> None:
    """Assert that class intervals contain the least mean of the nu largest residuals over all columns of the class."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y, c = examples(7, 1 + seed % 2, seed)
        oracle = RegressionStumps(X, y, c, radius=float(rng.uniform(0.2, 5.0)))
        counts, total = c[c > 0], float(c.sum())
        nu, R = total if seed % 4 == 0 else float(rng.uniform(1.0, total)), oracle.residual_scale
        min_loss = smallest_tube_loss(all_values(X[c > 0]), y[c > 0], counts, nu, oracle.target_scale)
        for name in ("lpboost", "erlpboost", "softboost"):
            run = boost(name, oracle, nu=nu, epsilon=0.05)
            certificate = run.class_certificate
            assert -R * (certificate.upper + 1e-9) <= min_loss <= -R * (certificate.lower - 1e-9), (seed, name)
            assert certificate.gap <= 0.0500001
            residuals = np.abs(run.predict(X[c > 0]) - y[c > 0])
            loss = min(e + counts @ np.maximum(residuals - e, 0) / nu for e in (0.0, *residuals.tolist()))
            assert loss == pytest.approx(-R * certificate.lower, abs=1e-7 * R), (seed, name)


def test_class_intervals_contain_the_least_loss() -> None:
    intervals_contain_the_least_loss(range(1, 2))


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(5))
def test_class_intervals_contain_the_least_loss_on_500_instances(part: int) -> None:
    intervals_contain_the_least_loss(range(100 + 100 * part, 200 + 100 * part))


def curve(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points, and a sum of functions of two of their features with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, 3 + np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def test_a_run_predicts_numbers_and_its_files_hold(tmp_path: Path) -> None:
    X, y = curve()
    oracle = RegressionStumps(X, y)
    run = boost("erlpboost", oracle, nu=10.0, epsilon=0.1)
    assert run.target_scale == oracle.target_scale and run.class_labels is None
    predictions, f = run.predict(X), run.decision_function(X)
    assert predictions == pytest.approx(oracle.target_scale[0] + oracle.target_scale[1] * f)
    assert np.abs(predictions - y).mean() < 0.5 * np.abs(y - np.median(y)).mean()
    run.save(tmp_path / "run.npz")
    for copy in (Run.load(tmp_path / "run.npz"), pickle.loads(pickle.dumps(run))):
        assert (copy.predict(X) == predictions).all()
        assert copy.verify_class(RegressionStumps(X, y)).upper == run.class_certificate.upper
    run.save_certificate(tmp_path / "proof.json", oracle)
    assert boostopt.verify(tmp_path / "proof.json", RegressionStumps(X, y))
    for changed_oracle in (
        RegressionStumps(X, y + 1.0),
        RegressionStumps(X + 1.0, y),
        RegressionStumps(X, y, radius=3.0),
    ):
        assert not boostopt.verify(tmp_path / "proof.json", changed_oracle)
    document = json.loads((tmp_path / "proof.json").read_text())
    stump = document["data"]["hypotheses"][0]
    stump["upper_sign"] = -stump["upper_sign"]
    (tmp_path / "forged.json").write_text(json.dumps(document))
    assert not boostopt.verify(tmp_path / "forged.json", oracle)


def test_rows_that_do_not_count_are_left_out_and_sparse_rows_are_the_same() -> None:
    X, y, c = examples(12, 3, 5)
    oracle, twin = RegressionStumps(X, y, c), RegressionStumps(X[c > 0], y[c > 0], c[c > 0])
    assert oracle.digest == twin.digest and (oracle.c == twin.c).all()
    assert (oracle.pair_examples == np.flatnonzero(c > 0)[twin.pair_examples]).all()
    sparse = RegressionStumps(scipy.sparse.csr_array(X), y, c)
    d = np.random.default_rng(0).dirichlet(np.ones(oracle.N))
    answers = [o.best(Query(d)) for o in (oracle, twin, sparse)]
    assert answers[0].edge_bound == answers[1].edge_bound == answers[2].edge_bound
    for changed in (RegressionStumps(X, y, c + 1), RegressionStumps(X, 2 * y, c), RegressionStumps(2 * X, y, c)):
        assert changed.digest != oracle.digest


def test_without_a_feature_that_varies_the_class_has_the_constants() -> None:
    y = np.array([0.0, 1.0, 5.0, 6.0, 10.0])  # the median is 5, with residuals 5, 4, 0, 1 and 5
    run = boost("lpboost", RegressionStumps(np.ones((5, 2)), y), nu=5.0, epsilon=1e-6)
    assert np.abs(run.predict(np.ones((5, 2))) - y).mean() == pytest.approx(3.0, abs=1e-4)
    assert {str(h) for h in run.hypotheses} == {"always +1", "always -1"}


def test_limits_have_a_slope_for_each_row() -> None:
    X, y = curve(20)
    oracle = RegressionStumps(X, y)
    slopes = np.where(np.arange(oracle.N) % 2 == 0, 1.0, 0.0) / 20
    limited = LimitedClass(oracle, MarginLimit(slopes, 0.0))  # predictions are on average at most the targets
    assert limited.target_scale == oracle.target_scale
    run = boost("lpboost", limited, nu=10.0, epsilon=0.05)
    assert float((run.predict(X) - y).mean()) <= 0.05 * oracle.residual_scale


def test_other_hypotheses_and_uses_for_classes_are_refused() -> None:
    X, y = curve(20)
    oracle = RegressionStumps(X, y)
    stump = RegressionStump(0, 0.5, 1, -1, *oracle.target_scale, 3)
    for hypothesis in (
        Stump(0, 0.5, 1, 3),
        RegressionStump(0, 0.5, 1, -1, oracle.target_scale[0], 1.0, 3),
        RegressionStump(0, 0.5, 1, -1, *oracle.target_scale, 4),
    ):
        with pytest.raises(ProblemError, match=r"\bexpected a hypothesis of\b"):
            oracle.margins_of(hypothesis)
    with pytest.raises(ProblemError, match=r"\bclasses -1 and 1\b.*\bnumbers\b.*\bboost\b"):
        reweight([stump], X, np.where(y > 3, 1, -1), "lpboost", nu=5.0)
    with pytest.raises(OptionError, match=r"\bbase\b.*\bclasses -1 and 1\b.*\bboost\b"):
        MarginBoostClassifier(base=RegressionStumps, nu=0.2).fit(X, y > 3)
    with pytest.raises(OptionError, match=r"\btest\b.*\bpredicts numbers\b.*\brun\.predict\b"):
        boost("lpboost", oracle, nu=5.0, test=(X, y))
    run = boost("lpboost", oracle, nu=5.0, max_rounds=2)
    with pytest.raises(OptionError, match=r"\bat_zero\b.*'negative'.*\bpredicts numbers\b"):
        run.predict(X, at_zero="negative")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y": np.zeros(4)}, ProblemError, r"\bdifferent numbers\b"),
        ({"y": [0.0, 1.0, np.nan, 2.0]}, ProblemError, r"\bfinite\b|\bdifferent numbers\b"),
        ({"y": [0.0, 1.0, 2.0, 1e200]}, ProblemError, r"\b1e\+150\b"),
        ({"y": [0.0, 1.0, 2.0]}, ProblemError, r"\bone number for each of the 4 rows\b"),
        ({"y": ["a", "b", "c", "d"]}, ProblemError, r"\bone number for each of the 4 rows\b"),
        ({"radius": 0.0}, OptionError, r"\bradius\b.*\bpositive\b"),
        ({"radius": 1e7}, OptionError, r"\bradius must be at most 1e\+06\b"),
        ({"radius": 1e-200}, ProblemError, r"\bradius of at least 1e-150\b"),
    ],
)
def test_targets_and_radius_have_a_range(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    sound: dict[str, Any] = {"X": np.arange(4.0)[:, np.newaxis], "y": np.arange(4.0)}
    with pytest.raises(error, match=message):
        RegressionStumps(**(sound | arguments))


def test_words_and_states() -> None:
    stump = RegressionStump(1, 2.5, 1, -1, 3.0, 2.0, 2)
    assert stump.in_words(["age", "size"]) == "size > 2.5: +1, otherwise -1"
    assert str(RegressionStump(0, -math.inf, -1, -1, 3.0, 2.0, 1)) == "always -1"
    again = shipped_from_state(json.loads(json.dumps(to_state(stump))))
    assert again == stump and hash(again) == hash(stump)
