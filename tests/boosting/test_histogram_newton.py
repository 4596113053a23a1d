"""Histogram Newton: both bounds hold in exact arithmetic, whatever the row blocks and the order of the rows are."""

from __future__ import annotations

import hashlib
import pickle
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from plain_stumps import PlainStumps

from boostopt import Run, boost, verify
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    PowerDivergence,
    RelativeEntropy,
    Tilted,
    parameter,
    prototype,
)
from boostopt.backends.base import Deadline
from boostopt.boosting.boost_options import BoostOptions, BoostRequest
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.histogram_newton import dual_evaluator as histogram_evaluator
from boostopt.boosting.histogram_newton import histogram_run, method_selection, newton_solver
from boostopt.boosting.histogram_newton.dual_evaluator import DualEvaluator, Iterate
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.method_selection import continuation_options, reduced_problem
from boostopt.boosting.histogram_newton.newton_solver import HistogramNewton, integer_weights
from boostopt.boosting.histogram_newton.solver_state import EvaluationRecord
from boostopt.boosting.histogram_newton.stump_curvature import StumpCurvature
from boostopt.boosting.objectives.exact_objective import ExactSoftMargin
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.updates import newton_update as newton
from boostopt.errors import OptionError, ProblemError, require_not_none
from boostopt.functions.numerics.rounding_errors import float_below
from boostopt.oracles import BinnedStumps, DecisionStumps
from boostopt.rows.binned_rows import BinnedRows, LocalRows
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, MarginGrid
from boostopt.rows.row_block import Split

pytestmark = pytest.mark.every(2)

FORMULATIONS = ("erlpboost", "lpboost", "binary_erlpboost", "corrective_erlpboost")


def noisy_examples(seed: int, N: int = 200, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five features, one of them constant, labels by two of them, multiplicities."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 5)), int(rng.integers(0, 3)))
    X[:, -1] = 1.0
    y = np.where(X[:, 0] + X[:, 1] + noise * rng.normal(size=N) > 0, 1, -1)
    y[:2] = (-1, 1)
    return X, y, rng.integers(1, 4, N).astype(float)


def binned_stumps(seed: int = 0, N: int = 200, noise: float = 1.0, **how: Any) -> BinnedStumps:
    X, y, c = noisy_examples(seed, N, noise)
    return BinnedStumps(X, y, c=c if seed % 2 else None, bins=65_536, **how)


def histogram_run_of(
    oracle: BinnedStumps, formulation: Any = "erlpboost", epsilon: float = 0.02, **how: Any
) -> HistogramRun:
    nu = how.pop("nu", 0.3 * oracle.c.sum())
    run = boost(formulation, oracle, nu=nu, epsilon=epsilon, update="newton", **how)
    assert isinstance(run, HistogramRun)
    return run


def column(oracle: BinnedStumps, hypothesis: Any) -> np.ndarray:
    return require_not_none(oracle.margins_of(hypothesis), "margins").astype(np.int64)


def recomputed_bounds(run: HistogramRun, oracle: BinnedStumps) -> tuple[Fraction, Fraction]:
    """Both bounds, anew, by Python's whole numbers: all stumps are tried, margins sorted."""
    W = [int(x) for x in np.ldexp(run.w, 30)]
    assert sum(W) == MARGIN_SCALE and min(W) >= 0
    U = np.stack([column(oracle, h) for h in run.hypotheses], axis=1).astype(object)
    c = [int(x) for x in oracle.c]
    nu = Fraction(getattr(run.problem.template.parameters, "nu", 1.0))
    M = U @ np.array(W, dtype=object)
    remaining, total = nu, Fraction(0)
    for k in sorted(range(len(M)), key=lambda k: M[k]):
        count = min(remaining, Fraction(c[k]))
        total, remaining = total + count * M[k], remaining - count
    # d as the proof has it, whole numbers over their sum.
    proof = require_not_none(run.stored_run.snapshot.bounds.upper_witness, "a proof")
    rows = require_not_none(oracle.binned_rows, "rows")
    q = rows.weights(rows.margins(proof.columns, proof.hypothesis_weights), proof.grid, proof.integer_weights)
    Q = sum(int(x) for x in q)
    assert Q == proof.normalizer and all(nu * int(x) <= multiplicity * Q for x, multiplicity in zip(q, c, strict=True))
    stumps = [rows.split(i, 1) for i in range(rows.n_thresholds)]
    edges = [abs(int(q @ column(oracle, oracle.hypothesis_of(split)))) for split in stumps]
    return total / nu / MARGIN_SCALE, Fraction(max(edges), Q)


def class_bounds(run: Run) -> tuple[float, float]:
    return run.class_certificate.lower, run.class_certificate.upper


@pytest.mark.untyped
@pytest.mark.parametrize("formulation", [*FORMULATIONS, "log_loss"])
def test_the_certificate_over_the_class_takes_no_memory_for_the_rows(formulation: str) -> None:
    N = 20_000
    options: Any = {"eta": 4.0, "epsilon": 0.01 * N} if formulation == "log_loss" else {"nu": 0.3 * N, "epsilon": 0.1}
    run = boost(formulation, binned_stumps(2, N), update="newton", **options)
    assert isinstance(run, HistogramRun)
    tracemalloc.start()
    quantity = run.class_certificate.quantity
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < N
    assert quantity == run.problem.measure


@pytest.mark.thorough_cases("1-erlpboost")
@pytest.mark.every(4)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(6))
def test_both_ends_hold_exactly_and_overlap_those_of_the_papers_update(formulation: str, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    N, noise = int(rng.integers(20, 300)), float(rng.choice([0.1, 1.0, 3.0]))
    oracle, (X, y, _) = binned_stumps(seed, N, noise), noisy_examples(seed, N, noise)
    nu = float(rng.uniform(0.1, 0.5)) * oracle.c.sum()
    run = histogram_run_of(oracle, formulation, nu=nu)
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02
    # Both bounds are what they are, but for the last rounding to float64.
    assert float(lower) - low < 1e-15 and high - float(upper) < 1e-15
    other_run = boost("erlpboost", DecisionStumps(X, y, c=oracle.c), nu=nu, epsilon=0.02, update="total")
    its_low, its_high = class_bounds(other_run)
    assert max(low, its_low) <= min(high, its_high)
    assert run.rounds <= run.iteration_bound


def run_digest(problem: Problem, rows: BinnedRows) -> str:
    """Return the SHA-256 digest of the result of a run of histogram Newton."""
    objective = ExactSoftMargin(Fraction(300), rows.n_examples)
    newton_solver = HistogramNewton(problem, rows, objective, True, BoostOptions(), lambda record: None)
    newton_solver.run(Deadline.after(None))
    bounds = newton_solver.bounds
    content = (
        bounds.lower,
        require_not_none(bounds.upper_witness, "a proof").value,
        newton_solver.splits,
        require_not_none(bounds.integer_weights, "weights").tolist(),
    )
    return hashlib.sha256(repr(content).encode()).hexdigest()


@pytest.mark.thorough
def test_nothing_depends_on_cuts_order_or_where_the_codes_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, c = noisy_examples(3, 1000)
    oracle = BinnedStumps(X, y, c=c)
    problem = Problem.create(resolve_formulation("erlpboost"), oracle.c, None, 0.05, "newton", {"nu": 300.0})
    one = run_digest(problem, require_not_none(oracle.binned_rows, "rows"))
    for parts in (2, 8, 200):
        assert run_digest(problem, BinnedRows.from_binned(oracle.binned, oracle.y, oracle.c, parts)) == one
    memory_mapped = BinnedStumps(X, y, c=c, codes=tmp_path / "codes.npy")
    assert (
        isinstance(memory_mapped.binned.codes, np.memmap)
        and run_digest(problem, require_not_none(memory_mapped.binned_rows, "rows")) == one
    )
    order = np.random.default_rng(0).permutation(1000)
    permuted = BinnedStumps(X[order], y[order], c=c[order])
    assert run_digest(problem, require_not_none(permuted.binned_rows, "rows")) == one
    copied = np.repeat(np.arange(1000), c.astype(int))
    copies = BinnedStumps(X[copied], y[copied])
    assert run_digest(replace_examples(problem, copies), require_not_none(copies.binned_rows, "rows")) == one
    # With samples before, any cut is the same still.
    monkeypatch.setattr(newton_solver, "SAMPLE_SIZES", (100, 400))
    monkeypatch.setattr(newton_solver, "MIN_ROWS_PER_SAMPLED_ROW", 2)
    sampled = run_digest(problem, require_not_none(oracle.binned_rows, "rows"))
    assert sampled != one
    for parts in (3, 100):
        assert run_digest(problem, BinnedRows.from_binned(oracle.binned, oracle.y, oracle.c, parts)) == sampled


def replace_examples(problem: Problem, oracle: BinnedStumps) -> Problem:
    return Problem.create(problem.formulation, oracle.c, None, problem.epsilon, "newton", {"nu": 300.0})


@pytest.mark.parametrize("epsilon", [0.3, 0.01, 1e-3, 1e-4])
def test_samples_choose_the_starting_point_and_nothing_else(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = binned_stumps(1, 600)
    monkeypatch.setattr(newton_solver, "SAMPLE_SIZES", (50, 200))
    monkeypatch.setattr(newton_solver, "MIN_ROWS_PER_SAMPLED_ROW", 2)
    run = histogram_run_of(oracle, epsilon=epsilon)
    sizes = [record.rows for record in run.evaluations]
    assert sorted(set(sizes)) == [50, 200, 600] and sizes == sorted(sizes)
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= epsilon
    assert len(run.trace) == run.rounds <= sizes.count(600)
    assert run.trace[-1].upper == pytest.approx(high) and run.trace[-1].soft_margin == pytest.approx(low, abs=2**-13)


@pytest.mark.parametrize("formulation", ["erlpboost", "binary_erlpboost"])
@pytest.mark.parametrize("step", [1, 3, 10])
def test_the_curvature_is_that_of_d_on_the_evaluated_rows(formulation: str, step: int) -> None:
    """The negative Hessian gives minus the second difference of D, whichever part of the rows is evaluated."""
    N = 20_000
    oracle = binned_stumps(0, N)
    request = BoostRequest(resolve_formulation(formulation), oracle, 0.5, {"nu": 0.5 * N}, BoostOptions())
    inputs = method_selection.histogram_inputs(request)
    problem, objective, _, rows = require_not_none(inputs, "the inputs of histogram Newton")
    evaluator = DualEvaluator(problem, rows.stride(step), objective)
    splits = [Split(j, evaluator.rows.n_codes[j] // 2, 1) for j in range(3)]
    w, direction = np.array([0.4, 0.33, 0.27]), np.array([0.05, -0.03, -0.02])

    def value(w: np.ndarray) -> float:
        return evaluator.weight_function(evaluator.iterate(splits, integer_weights(w)), 0).dual_objective

    iterate = evaluator.iterate(splits, integer_weights(w))
    weight_function = evaluator.weight_function(iterate, 0)
    curvature = direction @ evaluator.negative_hessian(iterate, weight_function, splits) @ direction
    assert curvature == pytest.approx(2.0 * value(w) - value(w + direction) - value(w - direction), rel=0.05)
    # A spread below the width of buckets is none.
    assert direction @ evaluator.negative_hessian(iterate, weight_function, splits, 1e-9) @ direction == curvature


@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_the_curvature_of_a_sample_is_near_that_of_all_rows(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    N = 20_000
    oracle = binned_stumps(1, N)  # with multiplicities
    request = BoostRequest(resolve_formulation("erlpboost"), oracle, 0.5, {"nu": 0.5 * N}, BoostOptions())
    problem, objective, _, rows = require_not_none(method_selection.histogram_inputs(request), "the inputs")
    splits, W = [Split(j, rows.n_codes[j] // 2, 1) for j in range(3)], integer_weights(np.array([0.4, 0.33, 0.27]))

    def negative_hessian(min_curved_rows: int) -> np.ndarray:
        monkeypatch.setattr(histogram_evaluator, "MIN_CURVED_ROWS", min_curved_rows)
        evaluator = DualEvaluator(problem, rows, objective)
        iterate = evaluator.iterate(splits, W)
        return evaluator.negative_hessian(iterate, evaluator.weight_function(iterate, 0), splits, spread)

    strides, stride = list[int](), LocalRows.stride

    def stride_and_record(self: LocalRows, step: int) -> LocalRows:
        strides.append(step)
        return stride(self, step)

    monkeypatch.setattr(LocalRows, "stride", stride_and_record)
    exact = negative_hessian(N)
    assert not strides
    sampled = negative_hessian(1_000)
    assert strides and strides[0] >= 4
    assert 0.0 < np.linalg.norm(sampled - exact, 2) < 0.1 * np.linalg.norm(exact, 2)


@pytest.mark.parametrize("formulation", ["erlpboost", "log_loss"])
def test_runs_with_an_operator_are_certified_and_equal(formulation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram_evaluator, "MIN_OPERATOR_COLUMNS", 4)
    monkeypatch.setattr(histogram_evaluator, "sums_over_cells_are_faster", lambda *sizes, is_small: True)
    operators, create = list[StumpCurvature](), StumpCurvature

    def create_and_record(*arguments: Any) -> StumpCurvature:
        operators.append(create(*arguments))
        return operators[-1]

    monkeypatch.setattr(histogram_evaluator, "StumpCurvature", create_and_record)
    epsilon = 0.01 if formulation == "erlpboost" else 1.0
    parameters: dict[str, Any] = {"nu": 900.0} if formulation == "erlpboost" else {}
    runs, divide = list[HistogramRun](), BinnedRows.from_binned
    for parts in (1, 7):
        split_rows: Any = partial(divide, parts=parts)
        monkeypatch.setattr(BinnedRows, "from_binned", staticmethod(split_rows))
        run = boost(formulation, binned_stumps(1, 3_000), epsilon=epsilon, update="newton", **parameters)
        assert isinstance(run, HistogramRun) and run.class_certificate.gap <= epsilon
        runs.append(run)
    assert len(operators) >= 4 and len(operators) % 2 == 0
    assert class_bounds(runs[0]) == class_bounds(runs[1]) and np.array_equal(runs[0].w, runs[1].w)
    if formulation == "erlpboost":
        (low, high), (lower, upper) = class_bounds(runs[0]), recomputed_bounds(runs[0], binned_stumps(1, 3_000))
        assert low <= lower and upper <= high


@pytest.mark.parametrize(
    ("n_columns", "share", "needed_rows", "surplus", "step"),
    [
        *((2, 0.2, 2_000, surplus, step) for surplus, step in ((0.9, 1), (2.9, 2), (3.1, 3), (5.0, 4), (6.1, 6))),
        *(
            (n_columns, share, rows, surplus, step)
            for n_columns, share, rows in ((100, 0.4, 3_000), (151, 0.2, 4_530), (151, 0.4, 8_000), (151, 0.5, 9_060))
            for surplus, step in ((1.9, 1), (2.1, 2))
        ),
    ],
)
def test_the_sample_for_the_curvature_has_enough_rows_for_the_columns(
    n_columns: int, share: float, needed_rows: int, surplus: float, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram_evaluator, "MAX_CURVED_SHARE", share)
    evaluator, _ = evaluator_and_iterate(20_000, 0.5)
    n_curved = surplus * needed_rows * evaluator.rows.n_examples / evaluator.rows.n_rows
    sample = evaluator._curvature_rows(n_curved, n_columns)  # pyright: ignore[reportPrivateUsage]
    assert sample.n_rows == -(-20_000 // step)


@pytest.mark.parametrize("N", [N_BINS, N_BINS + 1])
def test_bins_are_wide_where_rows_are_more_than_bins(N: int) -> None:
    evaluator, iterate = evaluator_and_iterate(N, 0.003)
    grid, unit = evaluator.weight_function(iterate, 0).grid, evaluator.strong_convexity(0)
    transition = evaluator.weight_function_of(iterate.histogram, 0, 1.0).transition
    assert iterate.histogram.grid.bin_width > 0.02 * unit
    assert 0.0025 * unit < grid.bin_width <= 0.005 * unit if N > N_BINS else grid == MarginGrid.covering(*transition)


@pytest.mark.parametrize("formulation", ["erlpboost", "binary_erlpboost"])
def test_the_bound_of_d_at_a_lower_level_is_an_upper_one_and_near(formulation: str) -> None:
    evaluator, iterate = evaluator_and_iterate(20_000, 0.003, formulation)
    for level in (2, 4):
        weight_function = evaluator.weight_function(iterate, level)
        assert evaluator.dual_objective(weight_function, level) == weight_function.dual_objective
        assert evaluator.dual_objective_bound(weight_function, level) == pytest.approx(weight_function.dual_objective)
        value, bound = evaluator.dual_objective(weight_function, 0), evaluator.dual_objective_bound(weight_function, 0)
        assert value < bound < weight_function.dual_objective - 0.1 * (weight_function.dual_objective - value)


def evaluator_and_iterate(N: int, epsilon: float, formulation: str = "erlpboost") -> tuple[DualEvaluator, Iterate]:
    """Return the evaluator of a formulation over binned stumps, and three of them with weights."""
    request = BoostRequest(
        resolve_formulation(formulation), binned_stumps(0, N), epsilon, {"nu": 0.5 * N}, BoostOptions()
    )
    problem, objective, _, rows = require_not_none(method_selection.histogram_inputs(request), "the inputs")
    splits, W = [Split(j, rows.n_codes[j] // 2, 1) for j in range(3)], integer_weights(np.array([0.4, 0.33, 0.27]))
    evaluator = DualEvaluator(problem, rows, objective)
    return evaluator, evaluator.iterate(splits, W)


@pytest.mark.parametrize("parts", [1, 7])
def test_runs_with_a_sampled_curvature_are_certified_and_equal(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram_evaluator, "MIN_CURVED_ROWS", 50)
    monkeypatch.setattr(histogram_evaluator, "CURVED_ROWS_PER_COLUMN", 10)
    monkeypatch.setattr(histogram_evaluator, "MIN_CURVED_ROWS_PER_COLUMN", 10)
    oracle = binned_stumps(1, 3_000)
    whole = histogram_run_of(oracle, epsilon=0.01)
    divide: Any = BinnedRows.from_binned
    monkeypatch.setattr(BinnedRows, "from_binned", staticmethod(lambda *rows: divide(*rows, parts=parts)))
    run = histogram_run_of(binned_stumps(1, 3_000), epsilon=0.01)
    assert class_bounds(run) == class_bounds(whole) and np.array_equal(run.w, whole.w)
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.01


@pytest.mark.thorough
def test_more_hypotheses_than_features_join_from_ranges_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, new_splits = binned_stumps(1), list[list[Split]]()
    add_columns = HistogramNewton._add_columns  # pyright: ignore[reportPrivateUsage]

    def add_and_record(self: HistogramNewton, evaluation: Any) -> bool:
        n_old = len(self.splits)
        has_new = add_columns(self, evaluation)
        new_splits.append(self.splits[n_old:])
        return has_new

    monkeypatch.setattr(HistogramNewton, "_add_columns", add_and_record)
    run = histogram_run_of(oracle, epsilon=1e-3)
    features = len(oracle.binned.varying_features)
    assert any(len(splits) > features for splits in new_splits) and sum(map(len, new_splits)) == len(run.hypotheses)
    rows = require_not_none(oracle.binned_rows, "rows")
    for k, splits in enumerate(new_splits):
        old = [rows.threshold_of(s) for earlier in new_splits[:k] for s in earlier]
        starts, count = {*rows.starts.tolist(), *old}, max(newton_solver.MIN_COLUMNS, int(0.15 * len(old)))
        if len(starts) < count:  # few ranges are divided
            starts |= {i * rows.n_thresholds // count for i in range(count)}
        ranges_of = [sum(start <= rows.threshold_of(s) for start in starts) for s in splits]
        assert len(set(ranges_of)) == len(splits)


@pytest.mark.thorough
def test_a_step_that_gains_less_than_it_promised_widens_the_curvature(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a sharp program spreads come and go, and a checkpoint holds them."""
    changes, adapt = list[tuple[float, float, float]](), HistogramNewton._adapt_spread  # pyright: ignore[reportPrivateUsage]

    def adapt_and_record(self: HistogramNewton, gain: float, min_spread: float) -> None:
        old_spread = self._spread  # pyright: ignore[reportPrivateUsage]
        adapt(self, gain, min_spread)
        changes.append((gain, old_spread, self._spread))  # pyright: ignore[reportPrivateUsage]
        assert self._spread == 0.0 or 0.25 * min_spread <= self._spread <= 1.0  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(HistogramNewton, "_adapt_spread", adapt_and_record)
    run = boost("erlpboost", binned_stumps(3, 3000, 0.0), nu=30.0, epsilon=0.002, update="newton")
    poor = [(old_spread, new_spread) for gain, old_spread, new_spread in changes if gain < newton_solver.POOR_GAIN]
    fine = [(old_spread, new_spread) for gain, old_spread, new_spread in changes if gain > newton_solver.GOOD_GAIN]
    assert poor and all(new_spread > old_spread or new_spread == 1.0 for old_spread, new_spread in poor)
    assert fine and all(new_spread < old_spread or new_spread == old_spread == 0.0 for old_spread, new_spread in fine)
    assert run.class_certificate.gap <= 0.002


def test_a_histogram_run_is_a_run_like_any_other(tmp_path: Path) -> None:
    oracle = binned_stumps(1)
    run = histogram_run_of(oracle)
    X, _, _ = noisy_examples(1)
    f = run.decision_function(X)
    m = np.stack([column(oracle, h) for h in run.hypotheses], axis=1) @ run.w
    assert f * oracle.y == pytest.approx(m, abs=1e-12) and set(run.predict(X)) <= {-1, 1}
    assert run.record.state.m == pytest.approx(m, abs=1e-12) and run.d.sum() == pytest.approx(1.0)
    low, high = class_bounds(run)
    again = run.verify_class(oracle)
    assert again.lower == pytest.approx(low, abs=1e-12) and again.upper == pytest.approx(high, abs=1e-12)
    assert again.lower <= low + 1e-15 and again.upper >= high - 1e-15
    assert (
        run.certificate.lower <= run.record.state.dual_objective + 1e-9
        and run.certificate.upper >= run.certificate.lower
    )
    run.save(tmp_path / "run")
    for loaded_run in (
        Run.load(tmp_path / "run"),
        HistogramRun.load(tmp_path / "run"),
        pickle.loads(pickle.dumps(run)),
    ):
        assert (
            np.array_equal(loaded_run.w, run.w)
            and loaded_run.reason == run.reason
            and len(loaded_run.trace) == run.rounds
        )
        assert loaded_run.class_certificate.upper == high and list(loaded_run.hypotheses) == list(run.hypotheses)
    run.save_certificate(tmp_path / "proof.json", oracle)
    assert verify(tmp_path / "proof.json", oracle).accepted
    assert "HistogramRun(" not in repr(run) and "certified" in repr(run)
    assert str(run.class_certificate) in run._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_a_run_ends_at_limits_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = binned_stumps(0)
    rows = list[Any]()
    one = histogram_run_of(oracle, epsilon=1e-4, max_rounds=3, progress=rows.append)
    assert one.rounds == 3 and one.reason == StopReason.ROUND_LIMIT and len(rows) == 3
    (low, high), (lower, upper) = class_bounds(one), recomputed_bounds(one, oracle)
    assert low <= lower and upper <= high
    late = histogram_run_of(oracle, epsilon=1e-4, time_limit=1e-9)
    assert late.reason == StopReason.TIME_LIMIT and late.rounds == 1
    evaluate = HistogramNewton._evaluate  # pyright: ignore[reportPrivateUsage]

    def evaluate_and_interrupt(self: HistogramNewton, *how: Any) -> Any:
        evaluation = evaluate(self, *how)
        if self.n_iterations == 2:
            import signal

            signal.raise_signal(signal.SIGINT)
        return evaluation

    monkeypatch.setattr(HistogramNewton, "_evaluate", evaluate_and_interrupt)
    interrupted_run = histogram_run_of(oracle, epsilon=1e-4)
    assert interrupted_run.reason == StopReason.INTERRUPTED and interrupted_run.rounds == 2


def test_without_newtons_step_the_corrective_one_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def useless(H: np.ndarray, g: np.ndarray, used: np.ndarray) -> np.ndarray:
        return np.random.default_rng(len(g)).dirichlet(np.ones(len(g)))

    monkeypatch.setattr(newton, "simplex_maximizer", useless)
    run = histogram_run_of(binned_stumps(2), epsilon=0.3)
    low, high = class_bounds(run)
    assert high - low <= 0.3 and run.rounds <= run.iteration_bound


@pytest.mark.parametrize("seed", range(3))
def test_every_step_raises_d_at_least_as_much_as_theory_promises(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    step, increases = HistogramNewton._step, list[float]()  # pyright: ignore[reportPrivateUsage]

    def checked_step(self: HistogramNewton, evaluator: Any, evaluation: Any) -> Any:
        iterate, value = step(self, evaluator, evaluation)
        if iterate is not None and len(evaluation.iterate.integer_weights):
            eta = self.problem.template.parameters.eta * 0.5**evaluation.level
            edges = self.edges(evaluation)  # pyright: ignore[reportPrivateUsage]
            w = np.concatenate([evaluation.w, np.zeros(len(edges) - len(evaluation.w))])
            slope = float(edges.max() - edges @ w)
            increase = (
                evaluator.weight_function(iterate, evaluation.level).dual_objective
                - evaluation.weight_function.dual_objective
            )
            # s^2 / 8 eta, but for the width of buckets.
            assert increase >= min(slope**2 / (8.0 * eta), 0.5 * slope) - 1e-5
            increases.append(increase)
        return iterate, value

    monkeypatch.setattr(HistogramNewton, "_step", checked_step)
    histogram_run_of(binned_stumps(seed), epsilon=0.01)
    assert len(increases) > 3 and max(increases) > 1e-3


@pytest.mark.parametrize(
    "how",
    [
        {"nus": (50.0,)},
        {"rules": "direct"},
        {"d0": np.random.default_rng(0).dirichlet(np.ones(200))},
        {"eta": 5.0, "max_rounds": 20},
        {"epsilon": 1e-6, "max_rounds": 20},
    ],
    ids=lambda how: next(iter(how)),
)
def test_options_that_histogram_newton_does_not_support_use_floating_point(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"nu": 100.0, "epsilon": 0.05, **how}
    run = boost("erlpboost", binned_stumps(1), update="newton", **options)
    assert type(run) is Run and run.class_certificate.lower <= run.class_certificate.upper


def test_run_with_exhausted_whole_numbers_continues_in_floating_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton_solver, "MAX_ITERATIONS_PER_GAP_DECREASE", 0)
    oracle = binned_stumps(6398, 26, 0.0)
    how: dict[str, Any] = {"nu": 1.0145286969499367, "epsilon": 0.001, "update": "newton"}
    run = boost("lpboost", oracle, **how)
    assert type(run) is Run and run.class_certificate.gap <= 0.001 and run.reason.startswith("direct")
    ended = boost("lpboost", oracle, time_limit=1e-9, **how)
    assert isinstance(ended, HistogramRun)
    monkeypatch.setattr(histogram_run, "MAX_MARGIN_ENTRIES", 0)
    coarse = histogram_run_of(oracle, "lpboost", epsilon=0.001, nu=how["nu"])
    (low, high), (lower, upper) = class_bounds(coarse), recomputed_bounds(coarse, oracle)
    assert coarse.reason == StopReason.WHOLE_NUMBERS_EXHAUSTED and low <= lower and upper <= high
    assert high - low > 0.001 and max(low, class_bounds(run)[0]) <= min(high, class_bounds(run)[1])
    first_round = boost("lpboost", oracle, start=coarse, max_rounds=1, nu=how["nu"], epsilon=0.001, update="total")
    assert class_bounds(first_round)[1] <= high + 1e-13
    monkeypatch.setattr(histogram_run, "MAX_MARGIN_ENTRIES", oracle.N * len(coarse.hypotheses))
    limited_run = boost("lpboost", oracle, max_rounds=coarse.rounds + 1, **how)
    assert type(limited_run) is Run and limited_run.rounds == 1
    assert class_bounds(limited_run)[1] <= high + 1e-13
    limited = continuation_options(coarse, BoostOptions(max_rounds=coarse.rounds + 7, time_limit=1000.0))
    assert (
        limited.max_rounds == 7
        and 0 < require_not_none(limited.time_limit, "seconds") < 1000.0
        and limited.start is coarse
    )


def test_other_oracles_and_multiplicities_are_asked() -> None:
    class Silent(BinnedStumps):
        """Another class of hypotheses, for all that is known."""

    X, y, c = noisy_examples(0)
    assert Silent(X, y).binned_rows is None and BinnedStumps(X, y, c=0.5 * c).binned_rows is None
    assert BinnedStumps(X[:, -1:], y).binned_rows is None
    for oracle in (Silent(X, y), PlainStumps(X, y), BinnedStumps(X, y, c=0.5 * c), BinnedStumps(X[:, -1:], y)):
        assert type(boost("erlpboost", oracle, nu=60.0, update="newton", epsilon=0.3)) is Run


def test_one_direction_is_another_class() -> None:
    X, y, _ = noisy_examples(0)
    one, both = BinnedStumps(X, -y, reflexive=False), BinnedStumps(X, -y)
    run, other_run = histogram_run_of(one), histogram_run_of(both)
    assert all(h.sign == 1 for h in run.hypotheses) and class_bounds(run)[1] < class_bounds(other_run)[0]  # pyright: ignore[reportAttributeAccessIssue]
    papers = boost("erlpboost", DecisionStumps(X, -y, reflexive=False), nu=60.0, epsilon=0.02, update="total")
    assert max(class_bounds(run)[0], class_bounds(papers)[0]) <= min(class_bounds(run)[1], class_bounds(papers)[1])


def test_a_page_without_eta_has_one_level() -> None:
    formulation = prototype(
        "even",
        lambda p, examples: PowerDivergence(CappedSimplex(examples.c, p.nu), 2.0, p.strength),
        nu=parameter("the least number of examples", COUNT),
        strength=parameter("the inverse strength", POSITIVE),
    )
    oracle = binned_stumps(1)
    run = histogram_run_of(oracle, formulation, strength=200.0, epsilon=0.05)
    assert {record.level for record in run.evaluations} == {0}
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.05


@pytest.mark.parametrize("w", [[1.0], [0.5, 0.5], [1e-12, 1.0, 0.0], [1 / 3] * 3, [0.1] * 7], ids=str)
def test_weights_become_whole_numbers_of_the_right_sum(w: list[float]) -> None:
    W = integer_weights(np.array(w))
    assert W.sum() == MARGIN_SCALE and W.min() >= 0
    assert np.abs(W / MARGIN_SCALE - np.array(w) / sum(w)).max() <= 1 / MARGIN_SCALE


def test_ends_are_rounded_outwards() -> None:
    third = Fraction(1, 3)
    assert Fraction(float_below(third)) < third < Fraction(-float_below(-third)) and float_below(Fraction(1, 2)) == 0.5


def test_records_describe_each_evaluation() -> None:
    run = histogram_run_of(binned_stumps(1), epsilon=0.005)
    lines: list[EvaluationRecord] = list(run.evaluations)
    assert all(line.upper >= line.lower and line.hypotheses >= line.active for line in lines)
    levels = [line.level for line in lines]
    assert levels == sorted(levels, reverse=True) and levels[0] == run.problem.max_level and levels[-1] <= 2
    assert [line.seconds for line in lines] == sorted(line.seconds for line in lines)
    assert replace(lines[0], rows=200) == lines[0]


def hard_problem(kind: str, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Problems that are hard each in a way of its own: features, labels, nu as a share."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 20))
    z = X[:, 0] + 0.7 * np.tanh(2 * X[:, 1]) + 0.5 * np.abs(X[:, 2]) + 0.4 * X[:, 3] * X[:, 4]
    y = np.where(z > 0.2, 1, -1)
    rare = np.where(z > np.quantile(z, 0.98), 1, -1) * np.where(rng.random(n) < 0.01, -1, 1)
    weights = rng.random(10)
    linear = X[:, :10] @ weights
    has_distance = np.abs(linear) > 0.8
    bits = rng.integers(0, 2, (n, 12)).astype(float)
    bit_labels = np.where(bits @ rng.random(12) + 0.3 * rng.normal(size=n) > 3, 1, -1)
    return {
        "low noise": (X, y, 0.1),
        "low noise, few": (X, y, 0.02),
        "linear": (X[:, :10], np.where(linear > 0, 1, -1), 0.1),
        "linear, apart": (X[has_distance][:, :10], np.where(linear > 0, 1, -1)[has_distance], 0.01),
        "imbalance": (X, rare, 0.1),
        "binary": (bits, bit_labels, 0.3),
        "noise": (X, rng.choice([-1, 1], n), 0.3),
        "one feature": (X, np.where(X[:, 1] > 0, 1, -1), 0.1),
    }[kind]


HARD = ("low noise", "low noise, few", "linear", "linear, apart", "imbalance", "binary", "noise", "one feature")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", HARD)
def test_hard_problems_are_certified(kind: str) -> None:
    X, y, share = hard_problem(kind, 20_000)
    oracle = BinnedStumps(X, y)
    run = histogram_run_of(oracle, epsilon=0.01, nu=share * len(y))
    low, high = class_bounds(run)
    assert high - low <= 0.01 and len(run.evaluations) <= 150
    again = run.verify_class(oracle)
    assert again.lower == pytest.approx(low, abs=1e-9) and again.upper == pytest.approx(high, abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_random_sets_hold_exactly_and_overlap(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    N, noise = int(np.exp(rng.uniform(3, 7))), float(rng.choice([0.0, 0.1, 1.0, 3.0, 30.0]))
    oracle, (X, y, _) = binned_stumps(seed, N, noise), noisy_examples(seed, N, noise)
    nu = float(rng.uniform(0.02, 1.0)) * oracle.c.sum()
    run = histogram_run_of(oracle, "erlpboost", nu=max(nu, 1.0))
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02
    other_run = boost("erlpboost", DecisionStumps(X, y, c=oracle.c), nu=max(nu, 1.0), epsilon=0.02, update="total")
    its_low, its_high = class_bounds(other_run)
    assert max(low, its_low) <= min(high, its_high)


def test_a_page_that_tells_examples_apart_is_done_in_floating_point() -> None:
    oracle = binned_stumps(1)
    costs = np.random.default_rng(0).uniform(0.0, 0.1, oracle.N)

    def regularizer(p: Any, examples: Any) -> Any:
        return Tilted(RelativeEntropy.capped(examples.c, p.nu, p.eta, examples.d0), costs)

    formulation = prototype(
        "costs", regularizer, nu=parameter("the least number of examples", COUNT), eta=parameter("of it", POSITIVE)
    )
    run = boost(formulation, oracle, nu=60.0, eta=300.0, epsilon=0.05, update="newton", max_rounds=30)
    assert type(run) is Run and run.class_certificate.lower <= run.class_certificate.upper
    with pytest.raises(ProblemError, match=r"^nu\b.*\b403\b.*\b5000\b"):
        boost("erlpboost", oracle, nu=5000.0, update="newton")


@pytest.mark.parametrize("formulation", [*FORMULATIONS, "corrective_binary_erlpboost"])
@pytest.mark.parametrize("seed", range(8))
def test_two_examples_cost_what_all_cost(formulation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = rng.integers(1, 1 + (seed % 3) * 5 + 1, int(rng.integers(2, 300))).astype(float)
    nu = (1.0, c.sum(), float(rng.uniform(1.0, c.sum())))[min(seed, 2)]
    epsilon, y = float(rng.choice([0.3, 0.01, 1e-3])), np.where(np.arange(len(c)) % 2, 1, -1)
    oracle = BinnedStumps(np.arange(float(len(c)))[:, np.newaxis], y, c)
    full_problem = Problem.create(resolve_formulation(formulation), c, None, epsilon, "newton", {"nu": nu})
    two, objective = require_not_none(
        reduced_problem(resolve_formulation(formulation), oracle, epsilon, {"nu": nu}), "a problem"
    )
    assert (
        objective == ExactSoftMargin(Fraction(nu), int(oracle.total))
        and two.max_level == full_problem.max_level
        and two.affordable
        and full_problem.affordable
    )
    assert two.strong_convexity == pytest.approx(full_problem.strong_convexity, rel=1e-12)
    assert two.iteration_bound == pytest.approx(full_problem.iteration_bound, rel=1e-12)


def test_margins_at_both_ends_at_once_are_no_lower_end_but_minus_one() -> None:
    # 2^30 and -2^30 with buckets of one margin each: their difference does not fit into 32 bits.
    X, y = np.repeat([[0.0], [1.0]], 3, axis=0), np.array([-1, -1, 1, 1, 1, -1])
    run = histogram_run_of(BinnedStumps(X, y), nu=1.0, max_rounds=1)
    assert run.class_certificate.lower == -1.0 and len(run.w) == 1


STUMPS = {"all": DecisionStumps, "binned": lambda X, y, c: BinnedStumps(X, y, c, bins=65_536)}


@pytest.mark.thorough_cases("all-erlpboost", "binned-erlpboost")
@pytest.mark.every(3)
@pytest.mark.parametrize("formulation", FORMULATIONS[:3])
@pytest.mark.parametrize("kind", ["all", "binned", "sparse"])
def test_histogram_newton_is_the_default_of_boost_where_it_is_supported(formulation: str, kind: str) -> None:
    X, y, c = noisy_examples(2)
    X[np.abs(X) < 1.0] = 0.0
    nu = 0.3 * c.sum()
    oracle = DecisionStumps(scipy.sparse.csr_array(X), y, c) if kind == "sparse" else STUMPS[kind](X, y, c)
    run = boost(formulation, oracle, nu=nu, epsilon=0.02)
    assert isinstance(run, HistogramRun) and run.problem.update == "newton"
    low, high = class_bounds(run)
    other_run = boost(formulation, oracle, nu=nu, epsilon=0.02, update="total")
    assert type(other_run) is Run and max(low, class_bounds(other_run)[0]) <= min(high, class_bounds(other_run)[1])
    again = run.verify_class(oracle)
    assert again.lower == pytest.approx(low, abs=1e-12) and again.upper == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize(
    "how", [{"backend": "interior"}, {"update": "total"}, {"rules": "direct"}, {"stabilization": Stabilization(0.5)}]
)
def test_boost_with_an_option_of_steps_runs_by_steps(how: dict[str, Any]) -> None:
    X, y, _ = noisy_examples(2)
    assert type(boost("erlpboost", DecisionStumps(X, y), nu=60.0, epsilon=0.2, **how)) is Run


def test_stumps_that_take_more_room_as_codes_are_asked() -> None:
    X, y, c = noisy_examples(2)
    wide = scipy.sparse.csr_array(np.hstack([X[:, :2] * (np.abs(X[:, :2]) > 2.0), np.zeros((200, 3000))]))
    assert DecisionStumps(wide, y).binned_rows is None and DecisionStumps(X, y, 0.5 * c).binned_rows is None
    many = np.arange(70_000.0)[:, np.newaxis]
    assert DecisionStumps(many, np.where(many[:, 0] > 9, 1, -1)).binned_rows is None


@pytest.mark.thorough
def test_every_round_is_kept_as_w_alone() -> None:
    oracle = binned_stumps(1)
    run = histogram_run_of(oracle, epsilon=0.005)
    U = np.stack([column(oracle, h) for h in run.hypotheses], axis=1)
    for k in (1, run.rounds // 2, run.rounds):
        earlier_run = run.at_round(k)
        m = U[:, : len(earlier_run.w)] @ earlier_run.w
        assert earlier_run.hypotheses == list(run.hypotheses)[
            : len(earlier_run.w)
        ] and earlier_run.w.sum() == pytest.approx(1.0)
        assert earlier_run.d == pytest.approx(run.problem.conjugate_at_margins(m).d, abs=1e-12)
        assert earlier_run.certificate.lower <= earlier_run.certificate.upper
    assert max(run.class_certificate.lower, run.trace[-1].soft_margin) == run.class_certificate.lower
    with pytest.raises(OptionError, match="1 to"):
        run.at_round(run.rounds + 1)
    with pytest.raises(OptionError, match=r"\bhistory=True\b"):
        histogram_run_of(oracle, history=False).at_round(1)


def test_constants_are_one_more_feature() -> None:
    oracle = binned_stumps(4)
    rows = require_not_none(oracle.binned_rows, "rows")
    more = rows.with_constant_feature(5)
    splits = [rows.split(i, 1) for i in (0, 3, rows.n_thresholds - 1)]
    constant = more.split(rows.n_thresholds, -1)
    W = np.array([MARGIN_SCALE // 4, MARGIN_SCALE // 4, MARGIN_SCALE // 4, MARGIN_SCALE // 4])
    margins = more.margins([*splits, constant], W)
    expected = rows.margins(splits, W[:3])[0] - W[3] * oracle.y
    assert (
        np.array_equal(margins[0], expected)
        and more.threshold_of(constant) == rows.n_thresholds == more.n_thresholds - 1
    )
    grid, table = MarginGrid.full(), np.random.default_rng(0).integers(0, 100, N_BINS + 2)
    edges = more.class_edges(margins, grid, table)
    q = rows.weights(margins, grid, table)
    assert np.array_equal(edges[:-1], rows.class_edges(margins, grid, table)) and edges[-1] == q @ oracle.y
    sample = more.stride(7)
    assert sample.n_rows == len(oracle.y[::7]) and sample.split(rows.n_thresholds, 1) == more.split(
        rows.n_thresholds, 1
    )


CAPS: dict[str, Any] = {
    "smallest": lambda p, c: p.k * float(c.min()),
    "largest": lambda p, c: 10.0 * float(c.max()),
    "length": lambda p, c: 0.02 * p.k * len(c),
    "mean": lambda p, c: p.k * float(c.mean()),
    "root": lambda p, c: float(np.sqrt(c @ c)),
}


@pytest.mark.thorough_cases("3-root", "3-length")
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("rounds", [3, pytest.param(None, marks=pytest.mark.thorough)])
def test_a_cap_that_is_made_of_other_things_than_the_sum_of_c_is_that_of_all_examples(
    cap: str, rounds: int | None
) -> None:
    formulation = prototype(
        f"cap of {cap}",
        lambda p, examples: RelativeEntropy.capped(
            examples.c, min(max(CAPS[cap](p, examples.c), 1.0), examples.total), p.eta, examples.d0
        ),
        k=parameter("of it", POSITIVE),
        eta=parameter("the inverse strength", POSITIVE),
    )
    oracle = binned_stumps(1)
    how: dict[str, Any] = {"k": 20.0, "eta": 300.0, "epsilon": 0.05}
    low, high = class_bounds(boost(formulation, oracle, max_rounds=rounds, **how))
    its_low, its_high = class_bounds(boost(formulation, oracle, update="total", **how))
    assert max(low, its_low) <= min(high, its_high)


def test_a_certificate_is_stored_with_its_distribution() -> None:
    run = histogram_run_of(binned_stumps(1))
    loaded = pickle.loads(pickle.dumps(run.class_certificate))
    assert (loaded.lower, loaded.upper, loaded.oracle) == (*class_bounds(run), run.oracle)
    assert np.array_equal(loaded.d, require_not_none(run.class_certificate.d, "d"))
    both = pickle.loads(pickle.dumps((run, run.class_certificate)))
    assert np.array_equal(both[0].w, run.w) and np.array_equal(both[1].d, loaded.d)


@pytest.mark.thorough
def test_an_eta_far_above_that_of_theory_is_for_steps() -> None:
    oracle = binned_stumps(0)
    run = boost("erlpboost", oracle, nu=60.0, epsilon=0.05, eta=1e5)
    assert type(run) is Run and run.class_certificate.gap <= 0.05 and run.problem.update == "total"


def test_default_run_with_exhausted_whole_numbers_continues_by_the_update_of_its_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(method_selection, "FEW_EXAMPLES", 0)
    monkeypatch.setattr(newton_solver, "MAX_ITERATIONS_PER_GAP_DECREASE", 0)
    run = boost("lpboost", binned_stumps(6302, 26, 0.0), nu=1.0145286969499367, epsilon=0.001)
    assert type(run) is Run and run.class_certificate.gap <= 0.001 and run.problem.update == "total"


@pytest.mark.thorough
def test_few_examples_and_a_fine_accuracy_are_for_steps() -> None:
    assert type(boost("erlpboost", binned_stumps(0), nu=60.0, epsilon=0.00025)) is Run
    assert isinstance(boost("erlpboost", binned_stumps(0), nu=60.0, epsilon=0.00025, update="newton"), HistogramRun)
    assert isinstance(boost("erlpboost", binned_stumps(0, 1000), nu=300.0, epsilon=0.00025), HistogramRun)


@pytest.mark.parametrize("time", [1, 2, 4])
def test_an_evaluation_that_fails_ends_the_run_and_loses_nothing(time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, edges, count = binned_stumps(1), LocalRows.class_edges, [0]

    def failing(self: LocalRows, *how: Any) -> Any:
        count[0] += 1
        if count[0] == time:
            raise OSError("gone")
        return edges(self, *how)

    monkeypatch.setattr(LocalRows, "class_edges", failing)
    if time <= 2:  # the first one is of no weights yet
        with pytest.raises(OSError, match=r"^gone$"):
            histogram_run_of(oracle)
        return
    with pytest.warns(RuntimeWarning, match=r"\b2\b.*OSError: gone"):
        run = histogram_run_of(oracle)
    assert run.stop_reason is StopReason.FAILED_AFTER_PASSES and run.rounds == 2
    assert run.reason.endswith("OSError: gone")
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert lower - Fraction(2, 2**14) < Fraction(low) <= lower and float(upper) == pytest.approx(high, abs=1e-15)


def test_a_run_near_the_optimum_0_passes_over_the_rows_less_often_than_there_are_levels() -> None:
    rng = np.random.default_rng(0)
    X = np.clip(np.rint(rng.standard_normal((2000, 4))), -1.0, 1.0)
    y = np.where(X[:, 0] + X[:, 1] + np.abs(X[:, 2]) + rng.standard_normal(2000) > 1.0, 1, -1)
    run = boost("erlpboost", BinnedStumps(X, y), nu=600.0, epsilon=0.001, update="newton")
    assert isinstance(run, HistogramRun) and run.class_certificate.gap <= 0.001
    # Newton steps at each level take 27 evaluations from level 12 on.
    assert run.evaluations[0].level == 12 and len(run.evaluations) <= 10


def test_a_run_with_most_weights_at_the_cap_ends_with_much_entropy() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 6))
    score = X[:, 0] + X[:, 1] + np.abs(X[:, 2]) + rng.standard_normal(2000)
    y = np.where(score > np.quantile(score, 0.95), 1, -1)
    run = boost("erlpboost", BinnedStumps(X, y, bins=64), nu=200.0, epsilon=0.003, update="newton")
    assert isinstance(run, HistogramRun) and run.class_certificate.gap <= 0.003
    # With levels that follow the gap, 37 evaluations end at level 1.
    assert run.evaluations[-1].level == 4 and len(run.evaluations) <= 25


@pytest.mark.parametrize("copies", [30, 1000])
def test_copies_of_all_examples_take_no_further_pass(copies: int) -> None:
    X, y, _ = noisy_examples(4, 400, 1.0)
    once, often = (
        boost("erlpboost", BinnedStumps(X, y, c=np.full(len(y), c)), nu=0.2 * c * len(y), epsilon=0.01, update="newton")
        for c in (1, copies)
    )
    assert isinstance(once, HistogramRun) and isinstance(often, HistogramRun)
    assert often.rounds == once.rounds
    assert often.class_certificate.upper == pytest.approx(once.class_certificate.upper, abs=1e-6)


@pytest.mark.thorough_cases("lpboost", "binary_erlpboost")
@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost", "binary_erlpboost"])
def test_few_examples_with_many_copies_end_no_run_by_an_error(formulation: str) -> None:
    for seed in (9, 2, 5):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([20, 50, 150]))
        X = rng.normal(size=(n, 1))
        y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1, -1)
        oracle = BinnedStumps(X, y, c=np.where(rng.random(n) < 0.1, 10**6, 1))
        run = boost(formulation, oracle, nu=1.0, epsilon=0.03, update="newton")
        assert "failed" not in run.reason and run.class_certificate.gap <= 0.03


def test_bounded_edges_of_few_examples_are_those_of_data_passes_by_default() -> None:
    # Updates in floating point lower the bound by epsilon a round: 1,579 rounds.
    run = boost("softboost", BinnedStumps(np.arange(4.0)[:, None], np.array([1, -1, 1, -1])), nu=2, epsilon=1e-4)
    assert isinstance(run, HistogramRun) and run.class_certificate.gap <= 1e-4 and run.rounds <= 20


@pytest.mark.thorough
def test_more_hypotheses_than_a_tenth_of_the_rows_keep_more_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 20))
    y = np.where(X[:, 0] + X[:, 1] + 5.0 * rng.standard_normal(8000) > 0, 1, -1)
    oracle = BinnedStumps(X, y)
    few = histogram_run_of(oracle, nu=4800.0, epsilon=0.003)
    assert len(few.w) > 300 and few.class_certificate.gap <= 0.003
    monkeypatch.setattr(newton_solver, "CURVED_ROWS_PER_WEIGHT", 0)
    monkeypatch.setattr(newton_solver, "MANY_CURVED_ROWS", 0)
    many = histogram_run_of(oracle, nu=4800.0, epsilon=0.003)
    assert few.evaluations[-1].level > many.evaluations[-1].level and few.rounds < many.rounds


@pytest.mark.parametrize("n_features", [1, 2, 20])
def test_as_many_hypotheses_join_whatever_the_number_of_features(n_features: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, n_features)), np.where(rng.random(300) < 0.5, 1, -1)
    run = boost("erlpboost", BinnedStumps(X, y), nu=90.0, epsilon=0.02, update="newton", max_rounds=1)
    assert isinstance(run, HistogramRun) and 8 <= len(run.w) <= newton_solver.MIN_COLUMNS
    # The first step weighs several of them: that of the best one has an edge of its own for all examples.
    assert np.count_nonzero(run.w) > 1


def test_few_rows_take_fewer_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    oracles = [binned_stumps(seed, 300) for seed in range(3)]
    few = [histogram_run_of(oracle, epsilon=0.003) for oracle in oracles]
    monkeypatch.setattr(newton_solver, "MANY_CURVED_ROWS", 0)
    monkeypatch.setattr(newton_solver, "CURVED_ROWS_PER_WEIGHT", 0)
    many = [histogram_run_of(oracle, epsilon=0.003) for oracle in oracles]
    assert sum(len(run.evaluations) for run in few) < 0.9 * sum(len(run.evaluations) for run in many)
    for a, b in zip(map(class_bounds, few), map(class_bounds, many), strict=True):
        assert max(a[0], b[0]) <= min(a[1], b[1])


def test_predicted_edges_save_most_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 8))
    oracle = BinnedStumps(X, np.where(X[:, 0] + 3.0 * rng.standard_normal(6_000) > 0.0, 1, -1))
    predicted = histogram_run_of(oracle, epsilon=0.003, nu=3_000.0)
    monkeypatch.setattr(newton_solver, "MIN_PREDICTED_ROWS", 10**9)
    largest = histogram_run_of(oracle, epsilon=0.003, nu=3_000.0)
    assert predicted.rounds < 0.4 * largest.rounds and len(predicted.w) < len(largest.w)
    a, b = class_bounds(predicted), class_bounds(largest)
    assert max(a[0], b[0]) <= min(a[1], b[1])


def test_stumps_with_a_small_excess_join_at_the_last_level_and_save_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 5))
    oracle = BinnedStumps(X, np.where(X[:, 0] + 2.0 * rng.standard_normal(6_000) > 0.0, 1, -1))
    small = histogram_run_of(oracle, epsilon=0.002, nu=3_000.0)
    monkeypatch.setattr(newton_solver, "MIN_EXCESS_OF_GAP", np.inf)
    large = histogram_run_of(oracle, epsilon=0.002, nu=3_000.0)
    assert small.rounds < 0.85 * large.rounds
    a, b = class_bounds(small), class_bounds(large)
    assert max(a[0], b[0]) <= min(a[1], b[1])


def test_copies_of_a_feature_add_few_hypotheses() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6_000, 1)), np.where(rng.random(6_000) < 0.3, 1, -1)
    one, copies = (
        histogram_run_of(BinnedStumps(np.repeat(X, count, axis=1), y), epsilon=0.005, nu=1_800.0) for count in (1, 8)
    )
    assert len(copies.w) < 1.5 * len(one.w)
    a, b = class_bounds(one), class_bounds(copies)
    assert max(a[0], b[0]) <= min(a[1], b[1])
