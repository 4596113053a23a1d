"""Histogram Newton with bounded edges: weights are the formulation's, bounds are exact, steps keep their promise."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_stumps import PlainStumps
from test_histogram_newton import binned_stumps, class_bounds, column, noisy_examples, recomputed_bounds

from boostopt import Run, boost, get_formulation, solve, verify
from boostopt.backends.base import Deadline
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.histogram_newton import newton_solver
from boostopt.boosting.histogram_newton.bounded_edge_solver import BoundedEdgeNewton
from boostopt.boosting.histogram_newton.dual_evaluator import DualEvaluator, Evaluation
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.method_selection import reduced_problem
from boostopt.boosting.histogram_newton.newton_solver import integer_weights
from boostopt.boosting.objectives.exact_objective import ExactSoftMargin
from boostopt.errors import OptionError, require_not_none
from boostopt.oracles import BinnedStumps, DecisionStumps

pytestmark = pytest.mark.every(2)

FORMULATIONS = ("softboost", "binary_softboost", "totalboost")
TWINS = {"softboost": "erlpboost", "binary_softboost": "binary_erlpboost"}


def settings_of(formulation: str, nu: float) -> dict[str, Any]:
    return {} if formulation == "totalboost" else {"nu": nu}


def histogram_run_of(
    oracle: BinnedStumps | DecisionStumps, formulation: str, nu: float, epsilon: float = 0.02, **how: Any
) -> HistogramRun:
    run = boost(formulation, oracle, epsilon=epsilon, **settings_of(formulation, nu), **how)
    assert isinstance(run, HistogramRun)
    return run


def bounded_edge_newton(
    kind: type[BoundedEdgeNewton], formulation: str, oracle: BinnedStumps, nu: float, epsilon: float, max_rounds: int
) -> Any:
    problem, objective = require_not_none(
        reduced_problem(resolve_formulation(formulation), oracle, epsilon, settings_of(formulation, nu)), "a problem"
    )
    rows, options = require_not_none(oracle.binned_rows, "rows"), BoostOptions(max_rounds=max_rounds)
    return kind(problem, rows, objective, True, options, lambda record: None)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("total", [0.01, 1.0, 30.0, 1000.0])
def test_the_weight_function_is_that_of_the_formulation_and_of_the_largest_edge_with_less_entropy(
    formulation: str, total: float
) -> None:
    oracle = binned_stumps(1)
    nu, rows = 0.3 * oracle.c.sum(), require_not_none(oracle.binned_rows, "rows")
    problem, objective = require_not_none(
        reduced_problem(resolve_formulation(formulation), oracle, 0.01, settings_of(formulation, nu)), "a problem"
    )
    assert objective == ExactSoftMargin(Fraction(1.0 if formulation == "totalboost" else nu), rows.n_examples)
    evaluator = DualEvaluator(problem, rows, objective)
    splits = [rows.split(i, 1) for i in np.linspace(0, rows.n_thresholds - 1, 6).astype(int).tolist()]
    W = integer_weights(np.random.default_rng(0).dirichlet(np.ones(6)))
    iterate = evaluator.iterate(splits, W, total)
    weight_function = evaluator.weight_function(iterate, 0)
    d = (
        rows.weights(iterate.margins, weight_function.grid, weight_function.integer_weights)
        / weight_function.normalizer
    )
    m = np.stack([column(oracle, oracle.hypothesis_of(split)) for split in splits], axis=1) @ np.ldexp(W, -30)
    F = Problem.create(resolve_formulation(formulation), oracle.c, None, 0.01, "newton", settings_of(formulation, nu)).F
    conjugate = F.conjugate_at(-total * m)
    assert np.abs(d - conjugate.d).sum() <= 0.03 and weight_function.dual_objective == pytest.approx(
        -conjugate.value, abs=1e-3
    )
    if formulation in TWINS:
        p: dict[str, Any] = {"nu": nu, "eta": total, "epsilon": 0.01}
        twin = get_formulation(TWINS[formulation]).bind(m[:, np.newaxis], c=oracle.c, **p).regularizer.conjugate_at(-m)
        assert twin.d == pytest.approx(conjugate.d, abs=1e-9) and total * twin.value == pytest.approx(
            conjugate.value, abs=1e-8
        )


class FixedEdgeBound(BoundedEdgeNewton):
    """Histogram Newton for the program of one edge bound."""

    fixed_bound = 0.0

    def _bisect_edge_bound(self) -> bool:
        self._edge_bound = self.fixed_bound
        return False


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_program_of_one_bound_has_the_optimum_that_a_solver_finds(
    formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = binned_stumps(1, 60)
    nu = 0.3 * oracle.c.sum()
    gamma = class_bounds(histogram_run_of(oracle, formulation, nu))[1] + 0.05
    monkeypatch.setattr(FixedEdgeBound, "fixed_bound", gamma)
    newton = bounded_edge_newton(FixedEdgeBound, formulation, oracle, nu, 1e-5, 60)
    newton.run(Deadline.after(None))
    rows = require_not_none(oracle.binned_rows, "rows")
    U = np.stack([column(oracle, oracle.hypothesis_of(rows.split(i, 1))) for i in range(rows.n_thresholds)], axis=1)
    twin = get_formulation(formulation).bind(
        np.hstack([U, -U]).astype(float), c=oracle.c, gamma=gamma, epsilon=1e-5, **settings_of(formulation, nu)
    )
    optimum = solve(twin, "interior", 1e-8).certificate
    assert max(record.value for record in newton.log[1:]) == pytest.approx(optimum.lower, abs=1e-4)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(5))
def test_both_ends_hold_where_edges_are_bounded(formulation: str, seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    N, noise = int(rng.integers(20, 200)), float(rng.choice([0.0, 0.1, 1.0, 3.0]))
    oracle, (X, y, _) = binned_stumps(seed, N, noise), noisy_examples(seed, N, noise)
    nu = (1.0, oracle.c.sum(), float(rng.uniform(1.0, oracle.c.sum())))[min(seed, 2)]
    run = histogram_run_of(oracle, formulation, nu)
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02
    assert float(lower) - low < 1e-15 and high - float(upper) < 1e-15
    other_run = boost(
        "lpboost", PlainStumps(X, y, oracle.c), nu=1.0 if formulation == "totalboost" else nu, epsilon=0.01
    )
    assert (
        max(low, class_bounds(other_run)[0]) <= min(high, class_bounds(other_run)[1])
        and run.rounds <= run.iteration_bound < np.inf
    )


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_intervals_overlap_those_of_the_papers_update(formulation: str) -> None:
    X, y, c = noisy_examples(2)
    oracle, nu = DecisionStumps(X, y, c), 0.3 * c.sum()
    run, other_run = (
        histogram_run_of(oracle, formulation, nu, 0.1),
        boost(formulation, oracle, epsilon=0.1, update="total", **settings_of(formulation, nu)),
    )
    assert type(other_run) is Run and max(class_bounds(run)[0], class_bounds(other_run)[0]) <= min(
        class_bounds(run)[1], class_bounds(other_run)[1]
    )


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_step_raises_d_below_the_bound_as_much_as_theory_promises(
    formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, increases, bounds = BoundedEdgeNewton._step, list[float](), list[float]()  # pyright: ignore[reportPrivateUsage]

    def checked_step(self: BoundedEdgeNewton, evaluator: DualEvaluator, evaluation: Evaluation) -> Any:
        iterate, value = step(self, evaluator, evaluation)
        old_objective = self._dual_objective(evaluation.iterate, evaluation.weight_function.dual_objective)  # pyright: ignore[reportPrivateUsage]
        a = float(self._gradient(evaluation).max())  # pyright: ignore[reportPrivateUsage]
        if iterate is not None and len(iterate.integer_weights):
            # But for the width of buckets.
            assert value - old_objective >= 0.5 * a * a - 1e-5 * max(1.0, iterate.weight_sum)
            assert value == self._dual_objective(iterate, evaluator.weight_function(iterate, 0).dual_objective)  # pyright: ignore[reportPrivateUsage]
            increases.append(value - old_objective)
        bounds.append(self._edge_bound)  # pyright: ignore[reportPrivateUsage]
        return iterate, value

    monkeypatch.setattr(BoundedEdgeNewton, "_step", checked_step)
    histogram_run_of(binned_stumps(1), formulation, 60.0, 0.005)
    assert len(increases) > 3 and max(increases) > 1e-2
    assert any(b > a for a, b in pairwise(bounds))


def test_a_stage_may_begin_from_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedEdgeNewton, "_dual_objective_at_zero", np.inf)
    oracle = binned_stumps(1)
    run = histogram_run_of(oracle, "softboost", 60.0)
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02
    assert sum(record.hypotheses == 0 for record in run.evaluations) > 2


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_run_below_a_bound_is_a_run_like_any_other(formulation: str, tmp_path: Path) -> None:
    oracle = binned_stumps(1)
    run = histogram_run_of(oracle, formulation, 60.0)
    low, high = class_bounds(run)
    X, _, _ = noisy_examples(1)
    m = np.stack([column(oracle, h) for h in run.hypotheses], axis=1) @ run.w
    assert run.w.sum() == pytest.approx(1.0) and run.decision_function(X) * oracle.y == pytest.approx(m, abs=1e-12)
    assert run.final_weights == "scaled" and run.record.state.w == pytest.approx(run.record.state.weight_sum * run.w)
    assert run.record.state.soft_margin == pytest.approx(low, abs=1e-12)
    assert run.record.state.d == pytest.approx(
        run.problem.conjugate_at_margins(run.record.state.weight_sum * m).d, abs=1e-12
    )
    assert run.certificate.lower <= low + 1e-12 <= run.certificate.upper + 1e-9
    again = run.verify_class(oracle)
    assert again.lower == pytest.approx(low, abs=1e-12) and again.upper == pytest.approx(high, abs=1e-12)
    run.save(tmp_path / "run")
    for loaded_run in (Run.load(tmp_path / "run"), pickle.loads(pickle.dumps(run))):
        assert np.array_equal(loaded_run.w, run.w) and loaded_run.class_certificate.upper == high
    run.save_certificate(tmp_path / "proof.json", oracle)
    assert verify(tmp_path / "proof.json", oracle).accepted
    for k in (1, run.rounds):
        earlier_run = run.at_round(k)
        assert earlier_run.certificate.infeasible or earlier_run.certificate.lower <= earlier_run.certificate.upper
    # The page's own bound: what no distribution is below.
    assert high - 0.02 <= low


def test_without_rows_newton_steps_below_a_bound_are_refused() -> None:
    X, y, _ = noisy_examples(2)
    with pytest.raises(OptionError, match=r"\bsoftboost\b.*\bhistogram Newton\b"):
        boost("softboost", PlainStumps(X, y), nu=60.0, update="newton")
    assert type(boost("softboost", PlainStumps(X, y), nu=60.0, epsilon=0.2)) is Run


@pytest.mark.thorough
@pytest.mark.parametrize("update", [None, "newton"])
def test_run_below_a_bound_with_exhausted_whole_numbers_continues_by_the_update_of_its_page(
    update: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newton_solver, "MAX_ITERATIONS_PER_GAP_DECREASE", 0)
    monkeypatch.setattr(newton_solver, "MIN_GAP_DECREASE", 0.5)
    run = boost("softboost", binned_stumps(1), nu=60.0, epsilon=0.02, update=update)
    assert type(run) is Run and run.class_certificate.gap <= 0.02 and run.problem.update == "total"


@pytest.mark.thorough
def test_samples_choose_the_starting_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton_solver, "SAMPLE_SIZES", (50, 200))
    monkeypatch.setattr(newton_solver, "MIN_ROWS_PER_SAMPLED_ROW", 2)
    for formulation in FORMULATIONS:
        oracle = binned_stumps(1, 600)
        run = histogram_run_of(oracle, formulation, 200.0, 0.01)
        (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
        assert sorted({record.rows for record in run.evaluations}) == [50, 200, 600]
        assert low <= lower and upper <= high and high - low <= 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_random_sets_hold_exactly_where_edges_are_bounded(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    N, noise = int(np.exp(rng.uniform(3, 6))), float(rng.choice([0.0, 0.1, 1.0, 3.0, 30.0]))
    oracle, formulation = binned_stumps(seed, N, noise), FORMULATIONS[seed % 3]
    run = histogram_run_of(oracle, formulation, max(1.0, float(rng.uniform(0.02, 1.0)) * oracle.c.sum()))
    (low, high), (lower, upper) = class_bounds(run), recomputed_bounds(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02 and run.rounds <= run.iteration_bound


@pytest.mark.parametrize("formulation", ["softboost", "binary_softboost", "totalboost", "erlpboost"])
@pytest.mark.parametrize("copies", [1, 50])
def test_a_class_that_is_wrong_everywhere_has_a_soft_margin_of_minus_one(formulation: str, copies: int) -> None:
    X, y = np.repeat([[0.0], [1.0]], copies, axis=0), np.repeat([1, -1], copies)
    capped: dict[str, Any] = {} if formulation == "totalboost" else {"nu": 1.0}
    run = boost(formulation, DecisionStumps(X, y, reflexive=False), epsilon=0.05, **capped)
    assert isinstance(run, HistogramRun) and run.w.sum() == 1.0
    assert run.class_certificate.lower == run.class_certificate.upper == -1.0
