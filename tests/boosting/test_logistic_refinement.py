"""Refined weights have a smaller logistic loss, and their soft margin is proved to be within epsilon of the best."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_info, threadpool_limits

from boostopt import boost
from boostopt.backends.base import Deadline
from boostopt.boosting.histogram_newton import histogram_run as histogram_run_module
from boostopt.boosting.histogram_newton import logistic_refinement
from boostopt.boosting.histogram_newton.histogram_run import MIN_FURTHER_ROUNDS, HistogramRun
from boostopt.boosting.histogram_newton.logistic_refinement import (
    MAX_NEW_COLUMNS,
    PENALTY,
    SHARE_BITS,
    logistic_weights,
)
from boostopt.boosting.objectives.exact_objective import ExactSoftMargin
from boostopt.boosting.run.interrupts import Interrupts
from boostopt.errors import require_not_none
from boostopt.functions.numerics.rounding_errors import float_below
from boostopt.oracles import DecisionStumps
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split

EPSILON = 0.02


def noisy_stumps(seed: int, N: int = 150) -> DecisionStumps:
    """Return stumps on examples with wrong labels and whole weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4)).round(1)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0, 1, -1)
    return DecisionStumps(X, y, c=rng.integers(1, 4, N).astype(float))


def histogram_run(oracle: DecisionStumps, nu: float = 0.5) -> HistogramRun:
    """Return a run of histogram Newton with nu as a share."""
    run = boost("erlpboost", oracle, nu=nu * oracle.c.sum(), epsilon=EPSILON)
    assert isinstance(run, HistogramRun) and run.class_certificate.gap <= EPSILON
    return run


def margins(run: HistogramRun, oracle: DecisionStumps) -> np.ndarray:
    """Return the margins of the hypotheses, which are -1 and 1, shape (N, t)."""
    columns = [require_not_none(oracle.margins_of(hypothesis), "margins") for hypothesis in run.hypotheses]
    return np.column_stack(columns)


def exact_soft_margin(run: HistogramRun, oracle: DecisionStumps, nu: float) -> Fraction:
    """Return the mean of the nu smallest margins of the weights, in rational numbers."""
    W = np.rint(run.w * MARGIN_SCALE).astype(np.int64)
    m = margins(run, oracle).astype(np.int64) @ W
    remaining, total = Fraction(nu * float(oracle.c.sum())), Fraction(0)
    number = remaining
    for n in np.argsort(m, kind="stable").tolist():
        part = min(Fraction(float(oracle.c[n])), remaining)
        total, remaining = total + part * int(m[n]), remaining - part
    return total / (number * MARGIN_SCALE)


def penalized_loss(w: np.ndarray, U: np.ndarray, c: np.ndarray) -> float:
    """Return the mean logistic loss with its penalty."""
    return float(c @ np.logaddexp(0.0, -U @ w) / c.sum() + PENALTY * w.sum())


@pytest.mark.parametrize("seed", range(3))
def test_the_logistic_weights_are_those_of_another_solver(seed: int) -> None:
    oracle = noisy_stumps(seed)
    run = histogram_run(oracle)
    rows = oracle.binned_rows
    assert rows is not None
    w, U = logistic_weights(rows, run.stored_run.snapshot.pool), margins(run, oracle)
    assert (w >= 0).all() and w.any()
    reference = minimize(penalized_loss, w, (U, oracle.c), bounds=[(0, None)] * len(w), method="L-BFGS-B")
    assert penalized_loss(w, U, oracle.c) <= reference.fun + 1e-4


def all_stumps(oracle: DecisionStumps) -> list[Split]:
    """Return both directions of all stumps, the constant ones included."""
    rows = require_not_none(oracle.binned_rows, "rows")
    return [rows.split(threshold, sign) for threshold in range(rows.n_thresholds) for sign in (-1, 1)]


def margins_of(splits: list[Split], oracle: DecisionStumps) -> np.ndarray:
    """Return the margins of stumps by data passes, shape (N, t)."""
    rows = require_not_none(oracle.binned_rows, "rows")
    one = np.array([MARGIN_SCALE])
    columns = [
        np.concatenate([np.asarray(part) for part in rows.margins([split], one)]) / MARGIN_SCALE for split in splits
    ]
    return np.column_stack(columns)


@pytest.mark.thorough
def test_few_columns_of_many_take_part_in_a_step_and_the_loss_is_the_least_over_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    oracle = DecisionStumps(X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=300) > 0, 1, -1))
    pool, sizes, solve = all_stumps(oracle), list[tuple[int, int]](), logistic_refinement.capped_sum_maximizer

    def solve_and_record(H: np.ndarray, g: np.ndarray, max_sum: float, guess: np.ndarray) -> np.ndarray:
        sizes.append((len(g), int(guess.sum())))
        return solve(H, g, max_sum, guess)

    monkeypatch.setattr(logistic_refinement, "capped_sum_maximizer", solve_and_record)
    w = logistic_weights(require_not_none(oracle.binned_rows, "rows"), pool)
    assert len(pool) > 2000 and sizes and all(size <= used + MAX_NEW_COLUMNS for size, used in sizes)
    U = margins_of(pool, oracle)
    slopes = U.T @ expit(-U @ w) / len(U) - PENALTY
    reference = minimize(
        lambda v: (
            penalized_loss(v, U, oracle.c),
            PENALTY - U.T @ expit(-U @ v) / len(U),
        ),
        w,
        jac=True,
        bounds=[(0, None)] * len(w),
        method="L-BFGS-B",
    )
    assert slopes.max() < 0.01 and penalized_loss(w, U, oracle.c) <= reference.fun + 2e-4


@pytest.mark.parametrize("copies", [1, 10**6])
@pytest.mark.parametrize("kind", ["separable", "two values", "few examples", "opposite labels", "one positive"])
def test_weights_of_extreme_examples_are_finite_and_have_a_smaller_loss(kind: str, copies: int) -> None:
    rng = np.random.default_rng(0)
    N = 2 if kind == "few examples" else 60
    X = np.tile([[0.0], [1.0]], (N // 2, 2)) if kind == "two values" else rng.normal(size=(N, 2))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    if kind in ("two values", "few examples", "one positive"):
        y = np.where(np.arange(N) < 1, 1, -1)
    features, labels = (np.tile(X, (2, 1)), np.append(y, -y)) if kind == "opposite labels" else (X, y)
    c = np.where(rng.random(len(labels)) < 0.3, copies, 1).astype(float)
    oracle = DecisionStumps(features, labels, c=c)
    rows, pool = require_not_none(oracle.binned_rows, "rows"), all_stumps(oracle)
    for columns in (pool, pool[:1], pool[-2:], pool[:2]):  # two columns are opposite
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            w = logistic_weights(rows, columns)
        U = margins_of(columns, oracle)
        assert np.isfinite(w).all() and (w >= 0.0).all() and w.sum() <= np.log(2.0) / PENALTY
        loss, slopes = penalized_loss(w, U, c), U.T @ (c * expit(-U @ w)) / c.sum() - PENALTY
        at_zero = U.T @ c / (2.0 * c.sum()) - PENALTY
        assert loss < np.log(2.0) if at_zero.max() > 1e-3 else loss <= np.log(2.0) + 1e-9
        assert slopes.max() < 0.01


def test_no_curvature_and_equal_slopes_end_no_refinement() -> None:
    guess = np.zeros(3, bool)
    for slope in (-1.0, 0.0, 1.0):
        z = logistic_refinement.capped_sum_maximizer(np.zeros((3, 3)), np.full(3, slope), 5.0, guess)
        assert np.isfinite(z).all() and (z >= 0.0).all() and z.sum() <= 5.0 + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_both_bounds_hold_for_the_refined_weights_and_the_share_is_the_largest(seed: int) -> None:
    oracle = noisy_stumps(seed)
    run = histogram_run(oracle)
    refined = run.with_smaller_loss(-1.0, max_rounds=run.rounds)
    assert (refined.w != run.w).any() and refined.w.sum() == 1.0 and refined.rounds == run.rounds
    soft_margin, certificate = exact_soft_margin(refined, oracle, 0.5), refined.class_certificate
    assert certificate.lower == float_below(soft_margin) < run.class_certificate.lower
    assert certificate.upper == run.class_certificate.upper and certificate.gap <= EPSILON
    verified = refined.verify_class(oracle)
    assert (verified.lower, verified.upper) == (certificate.lower, certificate.upper)
    # One more step towards the logistic weights is not within epsilon.
    rows = oracle.binned_rows
    assert rows is not None
    w = logistic_weights(rows, run.stored_run.snapshot.pool)
    direction = w / w.sum() - run.w
    share = float((refined.w - run.w) @ direction / (direction @ direction))
    assert refined.w == pytest.approx(run.w + share * direction, abs=1e-8) and 0.0 < share < 1.0
    further = run.w + (share + 2.0**-SHARE_BITS) * direction
    tail = np.sort(np.repeat(margins(run, oracle) @ further, oracle.c.astype(int)))
    n = int(oracle.c.sum())
    soft_margin_beyond = (tail[: n // 2].sum() + (n % 2) / 2 * tail[n // 2]) / (n / 2)
    assert certificate.upper - soft_margin_beyond > EPSILON
    U, scales = margins(run, oracle), np.linspace(0.1, 20.0, 100)
    losses = [min(penalized_loss(s * v, U, oracle.c) for s in scales) for v in (run.w, refined.w)]
    assert losses[1] < losses[0]


def test_regula_falsi_finds_the_share_in_fewer_trials_than_bisection(monkeypatch: pytest.MonkeyPatch) -> None:
    shares, best = list[int](), ExactSoftMargin.best_lower_bound

    def best_and_count(self: ExactSoftMargin, *arguments: Any) -> Fraction:
        shares[-1] += 1
        return best(self, *arguments)

    runs = [histogram_run(noisy_stumps(seed)) for seed in range(3)]
    monkeypatch.setattr(ExactSoftMargin, "best_lower_bound", best_and_count)
    for run in runs:
        shares.append(0)
        run.with_smaller_loss(-1.0)
    assert max(shares) <= 8 < SHARE_BITS


def test_a_proved_soft_margin_stays_proved() -> None:
    oracle = noisy_stumps(0)
    run = histogram_run(oracle)
    threshold = run.class_certificate.lower - 0.001
    assert run.with_smaller_loss(-1.0).class_certificate.lower < threshold
    assert threshold < run.with_smaller_loss(threshold).class_certificate.lower < run.class_certificate.lower


@pytest.mark.parametrize("seed", range(3))
def test_the_run_continues_to_a_quarter_of_epsilon_so_more_is_left_for_the_loss(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle, gaps = noisy_stumps(seed), list[float]()
    run, refine = histogram_run(oracle), histogram_run_module.refined_bounds

    def refine_and_record(*arguments: Any) -> Any:
        gaps.append(arguments[3].gap)
        return refine(*arguments)

    monkeypatch.setattr(histogram_run_module, "refined_bounds", refine_and_record)
    short, refined = (run.with_smaller_loss(-1.0, max_rounds=rounds) for rounds in (run.rounds, None))
    assert gaps[0] == run.class_certificate.gap > EPSILON / 4 >= gaps[1]
    assert refined.rounds > run.rounds and len(refined.trace) == refined.rounds
    assert refined.class_certificate.gap <= EPSILON and refined.class_certificate.upper <= run.class_certificate.upper
    assert refined.class_certificate.lower == float_below(exact_soft_margin(refined, oracle, 0.5))
    verified = refined.verify_class(oracle)
    assert (verified.lower, verified.upper) == (refined.class_certificate.lower, refined.class_certificate.upper)
    scales = np.linspace(0.1, 20.0, 200)
    losses = [min(penalized_loss(s * r.w, margins(r, oracle), oracle.c) for s in scales) for r in (short, refined)]
    assert losses[1] < losses[0]
    stopped = run.with_smaller_loss(-1.0, deadline=Deadline.after(0.0))
    assert stopped.rounds == run.rounds and (stopped.w == short.w).all()
    monkeypatch.setattr(histogram_run_module, "is_sampled", lambda rows: True)  # many rows
    assert run.with_smaller_loss(-1.0).rounds == run.rounds


def test_the_run_continues_for_a_few_rounds_by_one_thread_and_not_below_the_least_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    oracle, threads = noisy_stumps(0), list[int]()
    run, refine = histogram_run(oracle), histogram_run_module.refined_bounds

    def refine_and_count(*arguments: Any) -> Any:
        threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return refine(*arguments)

    monkeypatch.setattr(histogram_run_module, "refined_bounds", refine_and_count)
    with threadpool_limits(2, "blas"):
        rounds = run.with_smaller_loss(0.01).rounds
    assert threads and set(threads) == {1}
    assert run.rounds < rounds <= run.rounds + max(MIN_FURTHER_ROUNDS, run.rounds // 2)
    monkeypatch.setattr(histogram_run_module, "MIN_FURTHER_ROUNDS", 1)
    monkeypatch.setattr(histogram_run_module, "FURTHER_ROUNDS", 0.0)
    assert run.with_smaller_loss(0.01).rounds == run.rounds + 1
    monkeypatch.setattr(histogram_run_module, "MIN_CONTINUED_GAP", EPSILON)
    assert run.with_smaller_loss(0.01).rounds == run.rounds


def test_an_interrupt_ends_the_continued_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = histogram_run(noisy_stumps(0))
    monkeypatch.setattr(Interrupts, "__enter__", lambda self: vars(self).update(requested=True) or self)
    with pytest.raises(KeyboardInterrupt):
        run.with_smaller_loss(-1.0)


@pytest.mark.thorough
def test_where_no_soft_margin_is_proved_the_votes_are_near_zero_and_those_of_the_logistic_weights() -> None:
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(300, 4)), np.ones(300)
    signs = np.where(X[:, 0] + 4.0 * rng.normal(size=300) > 0.0, 1, -1)
    oracle = DecisionStumps(X, signs, c=c)
    run = boost("erlpboost", oracle, nu=30, epsilon=0.1)
    assert isinstance(run, HistogramRun) and run.class_certificate.upper <= 0.1
    rows, refined = oracle.binned_rows, run.with_smaller_loss(0.1, True)
    assert rows is not None
    certificate = refined.class_certificate
    assert certificate.gap <= 0.1 and certificate.lower == float_below(exact_soft_margin(refined, oracle, 0.1))
    w = logistic_weights(rows, refined.stored_run.snapshot.pool)
    f, logistic = (margins(refined, oracle) @ v for v in (refined.w, w / w.sum()))
    share = float(f @ logistic / (logistic @ logistic))
    assert f == pytest.approx(share * logistic, abs=1e-5) and 0.0 < share < 1.0
    at_proof = run.with_smaller_loss(-1.0, True)  # a proved soft margin keeps the weights of the run
    assert (at_proof.w == run.with_smaller_loss(-1.0).w).all()
    assert refined.rounds == run.rounds < at_proof.rounds  # a smaller gap would not change the votes
    assert (at_proof.w[: len(refined.w)] != refined.w).any()


def test_runs_with_a_large_gap_another_objective_or_no_rows_stay_as_they_are() -> None:
    oracle = noisy_stumps(0)
    run = histogram_run(oracle)
    short = boost("erlpboost", oracle, nu=0.5 * oracle.c.sum(), epsilon=EPSILON, max_rounds=2)
    assert isinstance(short, HistogramRun) and short.class_certificate.gap > EPSILON
    loss = boost("log_loss", oracle, eta=5.0, epsilon=1.0)
    assert isinstance(loss, HistogramRun)
    without_rows = HistogramRun(run.stored_run, run.stored_run.oracle, None)
    for unchanged in (short, loss, without_rows):
        assert unchanged.with_smaller_loss(-1.0) is unchanged
