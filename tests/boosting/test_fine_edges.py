"""Accuracies so small that the value of a program says little of its edges: eta is in the millions."""

from __future__ import annotations

import io
import lzma
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import boost, get_formulation
from boostopt.boosting.column_generation import stagnation_reason
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import GivenMargins, RawFeatures

GERMAN = Path(__file__).parents[3] / "shared" / "data" / "libsvm" / "german.numer.svm.xz"


def counts(seed: int) -> RawFeatures:
    """Counts of very different sizes, as in tables of customers; hardly any of them helps."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.gamma(1.0, 1.0, (200, 12)) * rng.choice([1, 10, 50], 12))
    y = np.where(rng.random(200) < 0.5 + 0.2 * np.sign(X[:, 0] - X[:, 0].mean()), 1, -1)
    return RawFeatures(X, y)


def assert_within(run: Run, epsilon: float) -> None:
    assert run.reason.startswith("direct")
    assert run.class_certificate.gap <= epsilon
    assert run.record.problem.F.strong_convexity < 1e-5


@pytest.mark.thorough_cases("binary_erlpboost-1.0-1e-06-0", "unnormalized_erlpboost-1.0-1e-07-1")
@pytest.mark.parametrize(
    ("name", "nu", "epsilon", "seed"),
    [
        ("erlpboost", 1.0, 1e-5, 0),
        ("erlpboost", 1.0, 1e-5, 1),
        ("erlpboost", 20.0, 1e-5, 1),
        ("erlpboost", 20.0, 1e-6, 2),
        ("binary_erlpboost", 1.0, 1e-6, 0),
        ("unnormalized_erlpboost", 1.0, 1e-7, 1),
    ],
)
def test_the_gap_over_the_class_comes_below_a_tiny_epsilon(name: str, nu: float, epsilon: float, seed: int) -> None:
    assert_within(boost(name, counts(seed), nu=nu, epsilon=epsilon), epsilon)


@pytest.mark.thorough
@pytest.mark.skipif(not GERMAN.exists(), reason="german.numer is not beside the repository: ../shared/data/libsvm")
@pytest.mark.parametrize("nu", [1.0, 60.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_german_credits_as_they_are(seed: int, nu: float) -> None:
    from sklearn.datasets import load_svmlight_file

    loaded: Any = load_svmlight_file(io.BytesIO(lzma.decompress(GERMAN.read_bytes())))
    X, y = loaded[0].toarray(), loaded[1]
    rows = np.random.default_rng(seed).permutation(len(y))[:700]
    assert_within(boost("erlpboost", RawFeatures(X[rows], y[rows]), nu=nu, epsilon=1e-5), 1e-5)


def test_reason_of_a_gap_below_rounding_has_its_numbers() -> None:
    """At eta = 1e13 margins are known to 1e-16 and their exponents to 1e-3: no solver finds the edges."""
    run = boost("erlpboost", counts(0), nu=1.0, epsilon=1e-12, max_rounds=200)
    assert run.class_certificate.gap > 1e-12
    assert run.stop_reason is StopReason.SOLVER_STUCK and "epsilon / 2 is 5e-13" in run.reason


def test_a_run_is_not_said_to_have_converged_while_its_bounds_are_apart() -> None:
    epsilon = 1e-5
    run = boost("erlpboost", counts(0), nu=1.0, epsilon=epsilon)
    problem, state = run.record.problem, run.record.state
    certificate = state.certificate
    assert certificate is not None
    wide_state = replace(state, bounds=replace(state.bounds, smallest_value=state.dual_objective + 0.6 * epsilon))
    words = stagnation_reason(problem, wide_state)
    assert StopReason.from_text(words) is StopReason.SOLVER_STUCK
    assert " 6e-06 apart" in words and "epsilon / 2 is 5e-06" in words
    distance = math.sqrt(2.0 * certificate.gap / problem.F.strong_convexity)
    assert words.endswith(f" {distance:.2g}")
    narrow_state = replace(state, bounds=replace(state.bounds, smallest_value=state.dual_objective + 0.4 * epsilon))
    assert stagnation_reason(problem, narrow_state) == StopReason.CONVERGED


def test_corrective_steps_that_rounding_hides_have_not_converged() -> None:
    """The gain of a step, s^2 / (8 eta), is below rounding long before s is below epsilon."""
    oracle = GivenMargins(np.random.default_rng(2).uniform(-1, 1, (10, 4)))
    run = boost("corrective_erlpboost", oracle, nu=2.0, epsilon=1e-9, max_rounds=300, update="line_search")
    assert run.class_certificate.gap > 1e-4
    assert run.stop_reason is StopReason.STEPS_STUCK and "epsilon / 2 is 5e-10" in run.reason


@pytest.mark.parametrize("seed", range(5))
def test_a_line_search_loses_nothing_of_the_step_where_steps_are_tiny(seed: int) -> None:
    """At eta = 1e9 a weight that is right to 1e-9 is wrong by more than the closed step."""
    oracle = GivenMargins(np.random.default_rng(seed).uniform(-1, 1, (10, 4)))
    options: dict[str, Any] = {"nu": 2.0, "eta": 1e9, "epsilon": 1e-9}
    start = boost("corrective_erlpboost", oracle, max_rounds=20, update="line_search", **options)
    step, search = (
        boost("corrective_erlpboost", oracle, max_rounds=1, update=how, start=start, **options)
        for how in ("step", "line_search")
    )
    D = [
        run.record.problem.dual_objective(run.record.problem.conjugate_at_margins(run.record.state.m), run.w)
        for run in (step, search)
    ]
    assert D[1] >= D[0] - 1e-16


def test_below_the_theoretical_eta_a_run_may_converge_far_from_the_best_soft_margin() -> None:
    """Its own program over the class is solved, and that is what converged says."""
    U = np.random.default_rng(2).choice([-1.0, 1.0], (30, 12))
    run = boost("erlpboost", GivenMargins(U), nu=3.0, eta=2.0, epsilon=1e-3)
    assert run.stop_reason is StopReason.CONVERGED and "promises nothing" in run.reason
    assert run.class_certificate.gap > 1e-3
    whole = get_formulation("erlpboost").bind(U, nu=3.0, eta=2.0).solve(tol=1e-9).certificate
    assert whole.upper - run.record.state.dual_objective <= 5e-4
