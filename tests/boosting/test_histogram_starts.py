"""Runs of histogram Newton that begin from an earlier one: fewer evaluations, the same optimum, bounds of their own."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.run import Run
from boostopt.errors import require_not_none
from boostopt.oracles import DecisionStumps

EPSILON = 0.01
FORMULATIONS = ("erlpboost", "lpboost", "binary_erlpboost")


def stumps(seed: int, N: int = 300) -> DecisionStumps:
    """Return stumps on noisy examples with whole weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5)).round(2)
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=N) > 0, 1, -1)
    return DecisionStumps(X, y, c=rng.integers(1, 3, N).astype(float))


def run_of(oracle: DecisionStumps, nu: float, formulation: str = "erlpboost", **options: Any) -> HistogramRun:
    """Return a run of histogram Newton with nu as a share."""
    keywords: dict[str, Any] = {"epsilon": EPSILON, **options}
    run = boost(formulation, oracle, nu=nu * oracle.c.sum(), **keywords)
    assert isinstance(run, HistogramRun)
    return run


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("earlier", FORMULATIONS)
def test_a_run_that_begins_with_another_proves_the_same_optimum_in_fewer_evaluations(
    formulation: str, earlier: str
) -> None:
    saved = 0
    for seed in range(3):
        oracle = stumps(seed)
        start = run_of(oracle, 0.4, earlier)
        cold, warm = run_of(oracle, 0.3, formulation), run_of(oracle, 0.3, formulation, start=start)
        one, second = cold.class_certificate, warm.class_certificate
        assert max(one.lower, second.lower) <= min(one.upper, second.upper) and second.gap <= EPSILON
        assert warm.rounds > 0 and warm.hypotheses[: len(start.hypotheses)] == start.hypotheses
        verified = warm.verify_class(stumps(seed))
        assert (verified.lower, verified.upper) == (second.lower, second.upper)
        saved += cold.rounds - warm.rounds
    assert saved > 0


def test_a_run_with_a_smaller_epsilon_or_another_objective_continues_too() -> None:
    oracle = stumps(1)
    start = run_of(oracle, 0.3, epsilon=0.05)
    cold, fine = run_of(oracle, 0.3, epsilon=0.002), run_of(oracle, 0.3, epsilon=0.002, start=start)
    assert fine.class_certificate.gap <= 0.002 and fine.rounds < cold.rounds
    loss, plain = (boost("log_loss", oracle, eta=5.0, epsilon=1.0, start=run) for run in (start, None))
    assert isinstance(loss, HistogramRun) and isinstance(plain, HistogramRun)
    intervals = [run.class_certificate for run in (loss, plain)]
    assert max(c.lower for c in intervals) <= min(c.upper for c in intervals)
    back = run_of(oracle, 0.3, start=loss)
    assert back.class_certificate.gap <= EPSILON


@pytest.mark.parametrize("epsilon", [0.1, 0.02, 0.002])
def test_a_run_with_another_epsilon_has_the_bounds_of_its_start_from_the_first_evaluation_on(epsilon: float) -> None:
    for seed in (0, 1, 2):
        oracle = stumps(seed)
        start = run_of(oracle, 0.3, epsilon=0.05)
        first, proof = run_of(oracle, 0.3, epsilon=epsilon, start=start, max_rounds=1), start.class_certificate
        limited, verified = first.class_certificate, first.verify_class(stumps(seed))
        assert proof.lower <= limited.lower <= limited.upper <= proof.upper
        assert (verified.lower, verified.upper) == (limited.lower, limited.upper)
        assert first.trace["soft_margin"].tolist() in ([], [limited.lower])
        # The bounds of another objective say nothing about this one.
        other_nu = run_of(oracle, 0.29, start=start, max_rounds=1)
        assert not other_nu.has_proofs_for(start._objective)  # pyright: ignore[reportPrivateUsage]


def test_a_start_without_its_rows_gives_the_same_run_and_proves_nothing() -> None:
    oracle = stumps(2)
    start = run_of(oracle, 0.4)
    without_rows = pickle.loads(pickle.dumps(start.without_rows()))
    one, second = (run_of(oracle, 0.3, start=run) for run in (start, without_rows))
    np.testing.assert_array_equal(one.w, second.w)
    assert one.class_certificate.upper == second.class_certificate.upper
    # Its bounds are hearsay, so a run of the same problem has an evaluation.
    stored_run, bounds = start.stored_run, start.stored_run.snapshot.bounds
    bounds = replace(bounds, lower=require_not_none(bounds.upper_witness, "a proof").value)
    forged = replace(stored_run, snapshot=replace(stored_run.snapshot, bounds=bounds))
    again = run_of(oracle, 0.4, start=HistogramRun(forged, forged.oracle, None))
    assert again.rounds >= 1 and again.class_certificate.lower <= start.class_certificate.upper
    assert again.verify_class(stumps(2)).gap <= EPSILON


def test_a_run_of_a_solved_problem_needs_no_evaluation_and_has_the_same_bounds_and_weights() -> None:
    oracle = stumps(3)
    start = run_of(oracle, 0.3).with_smaller_loss(-1.0)
    for epsilon in (EPSILON, 0.1):
        again = run_of(oracle, 0.3, start=start, epsilon=epsilon)
        assert again.rounds == len(again.trace) == 0 and again.reason.startswith("certified")
        np.testing.assert_array_equal(again.w, start.w)
        assert again.class_certificate.lower == start.class_certificate.lower
        assert again.class_certificate.upper == start.class_certificate.upper
        assert again.with_smaller_loss(-1.0) is again
        assert again.verify_class(stumps(3)).gap <= EPSILON
        assert type(pickle.loads(pickle.dumps(again))) is Run and "certified" in again._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert run_of(oracle, 0.3, start=start, epsilon=0.002).rounds > 0


def test_runs_over_other_examples_or_another_class_are_no_starts() -> None:
    oracle, start = stumps(4), run_of(stumps(5), 0.3)
    with pytest.raises(OptionError, match=r"^start\b.*\bdigest\b"):
        run_of(oracle, 0.3, start=start)
    with pytest.raises(ProblemError, match="without its rows"):
        run_of(oracle, 0.3, start=start.without_rows())


@pytest.mark.thorough
def test_runs_with_bounded_edges_begin_from_others_by_programs_over_the_hypotheses() -> None:
    oracle = stumps(4)
    start, bounded = run_of(oracle, 0.4), run_of(oracle, 0.4, "softboost")
    nu = 0.3 * oracle.c.sum()
    for formulation, earlier in (("softboost", start), ("softboost", bounded), ("erlpboost", bounded)):
        run = boost(formulation, oracle, nu=nu, epsilon=EPSILON, start=earlier)
        assert type(run) is Run and run.class_certificate.gap <= EPSILON + 1e-9


def test_the_logistic_weights_of_a_start_save_newton_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from boostopt.boosting.histogram_newton import logistic_refinement

    oracle, steps, solve = stumps(6), [0], logistic_refinement.capped_sum_maximizer

    def solve_and_count(*arguments: Any) -> np.ndarray:
        steps[-1] += 1
        return solve(*arguments)

    start = run_of(oracle, 0.4).with_smaller_loss(-1.0)
    cold, warm = run_of(oracle, 0.3), run_of(oracle, 0.3, start=start)
    monkeypatch.setattr(logistic_refinement, "capped_sum_maximizer", solve_and_count)
    rows, pool = oracle.binned_rows, warm.stored_run.snapshot.pool
    assert rows is not None and cold.loss_weights is None and warm.loss_weights is not None
    weights = list[np.ndarray]()
    for first in (None, warm.loss_weights):
        steps.append(0)
        weights.append(logistic_refinement.logistic_weights(rows, pool, first))
    assert steps[2] < steps[1]
    U = np.column_stack([require_not_none(oracle.margins_of(h), "margins") for h in warm.hypotheses])
    losses = [oracle.c @ np.logaddexp(0.0, -U @ w) / oracle.c.sum() + 0.01 * w.sum() for w in weights]
    assert losses[1] <= losses[0] + 1e-4
