"""Looks below a bound of the edges: the law is the page's, both ends are exact, and moves are what theory asks for."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_stumps import Asked
from test_looks import binned, column, noisy, proved, ranges

from boostopt import Run, boost, get_formulation, solve, verify
from boostopt.backends.base import Deadline
from boostopt.boosting.histogram_newton import solver as looks
from boostopt.boosting.histogram_newton.bounded_edges import BoundedEdgeNewton
from boostopt.boosting.histogram_newton.evaluator import DualEvaluator, Evaluation
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.selection import reduced_problem
from boostopt.boosting.histogram_newton.solver import integer_weights
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.registry import resolve_formulation
from boostopt.errors import OptionError, require_not_none
from boostopt.objectives.exact import ExactSoftMargin
from boostopt.oracles import BinnedStumps, DecisionStumps

pytestmark = pytest.mark.every(2)

PAGES = ("softboost", "binary_softboost", "totalboost")
TWINS = {"softboost": "erlpboost", "binary_softboost": "binary_erlpboost"}


def settings_of(page: str, nu: float) -> dict[str, Any]:
    return {} if page == "totalboost" else {"nu": nu}


def looked(
    oracle: BinnedStumps | DecisionStumps, page: str, nu: float, epsilon: float = 0.02, **how: Any
) -> HistogramRun:
    run = boost(page, oracle, epsilon=epsilon, **settings_of(page, nu), **how)
    assert isinstance(run, HistogramRun)
    return run


def looking_at(
    kind: type[BoundedEdgeNewton], page: str, oracle: BinnedStumps, nu: float, epsilon: float, most: int
) -> Any:
    problem, aim = require_not_none(
        reduced_problem(resolve_formulation(page), oracle, epsilon, settings_of(page, nu)), "a problem"
    )
    rows, options = require_not_none(oracle.binned_rows, "rows"), BoostOptions(max_rounds=most)
    return kind(problem, rows, aim, True, options, Deadline.after(None), lambda glance: None)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("total", [0.01, 1.0, 30.0, 1000.0])
def test_the_law_is_that_of_the_page_and_of_the_largest_edge_with_less_entropy(page: str, total: float) -> None:
    oracle = binned(1)
    nu, rows = 0.3 * oracle.c.sum(), require_not_none(oracle.binned_rows, "rows")
    problem, aim = require_not_none(
        reduced_problem(resolve_formulation(page), oracle, 0.01, settings_of(page, nu)), "a problem"
    )
    assert aim == ExactSoftMargin(Fraction(1.0 if page == "totalboost" else nu), rows.n_examples)
    asked = DualEvaluator(problem, rows, aim)
    splits = [rows.split(i, 1) for i in np.linspace(0, rows.n_thresholds - 1, 6).astype(int).tolist()]
    W = integer_weights(np.random.default_rng(0).dirichlet(np.ones(6)))
    seen = asked.iterate(splits, W, total)
    law = asked.weight_function(seen, 0)
    d = rows.weights(seen.margins, law.grid, law.integer_weights) / law.normalizer
    m = np.stack([column(oracle, oracle.hypothesis_of(split)) for split in splits], axis=1) @ np.ldexp(W, -30)
    F = Problem.create(resolve_formulation(page), oracle.c, None, 0.01, "newton", settings_of(page, nu)).F
    at = F.conjugate_at(-total * m)
    assert np.abs(d - at.d).sum() <= 0.03 and law.dual_objective == pytest.approx(-at.value, abs=1e-3)
    if page in TWINS:
        p: dict[str, Any] = {"nu": nu, "eta": total, "epsilon": 0.01}
        twin = get_formulation(TWINS[page]).bind(m[:, np.newaxis], c=oracle.c, **p).regularizer.conjugate_at(-m)
        assert twin.d == pytest.approx(at.d, abs=1e-9) and total * twin.value == pytest.approx(at.value, abs=1e-8)


class Held(BoundedEdgeNewton):
    """Looks for the program of one bound of the edges."""

    held = 0.0

    def _bisect_edge_bound(self) -> bool:
        self._edge_bound = self.held
        return False


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("page", PAGES)
def test_the_program_of_one_bound_has_the_optimum_that_a_solver_finds(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = binned(1, 60)
    nu = 0.3 * oracle.c.sum()
    gamma = ranges(looked(oracle, page, nu))[1] + 0.05
    monkeypatch.setattr(Held, "held", gamma)
    looking = looking_at(Held, page, oracle, nu, 1e-5, 60)
    looking.run()
    rows = require_not_none(oracle.binned_rows, "rows")
    U = np.stack([column(oracle, oracle.hypothesis_of(rows.split(i, 1))) for i in range(rows.n_thresholds)], axis=1)
    twin = get_formulation(page).bind(
        np.hstack([U, -U]).astype(float), c=oracle.c, gamma=gamma, epsilon=1e-5, **settings_of(page, nu)
    )
    optimum = solve(twin, "interior", 1e-8).certificate
    assert max(glance.value for glance in looking.log[1:]) == pytest.approx(optimum.lower, abs=1e-4)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("seed", range(5))
def test_both_ends_hold_where_edges_are_bounded(page: str, seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    N, noise = int(rng.integers(20, 200)), float(rng.choice([0.0, 0.1, 1.0, 3.0]))
    oracle, (X, y, _) = binned(seed, N, noise), noisy(seed, N, noise)
    nu = (1.0, oracle.c.sum(), float(rng.uniform(1.0, oracle.c.sum())))[min(seed, 2)]
    run = looked(oracle, page, nu)
    (low, high), (lower, upper) = ranges(run), proved(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02
    assert float(lower) - low < 1e-15 and high - float(upper) < 1e-15
    other = boost("lpboost", Asked(X, y, oracle.c), nu=1.0 if page == "totalboost" else nu, epsilon=0.01)
    assert max(low, ranges(other)[0]) <= min(high, ranges(other)[1]) and run.rounds <= run.iteration_bound < np.inf


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("page", PAGES)
def test_looks_overlap_the_papers_update(page: str) -> None:
    X, y, c = noisy(2)
    oracle, nu = DecisionStumps(X, y, c), 0.3 * c.sum()
    run, other = (
        looked(oracle, page, nu, 0.1),
        boost(page, oracle, epsilon=0.1, update="total", **settings_of(page, nu)),
    )
    assert type(other) is Run and max(ranges(run)[0], ranges(other)[0]) <= min(ranges(run)[1], ranges(other)[1])


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("page", PAGES)
def test_every_move_raises_d_below_the_bound_as_much_as_theory_promises(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, moves, bounds = BoundedEdgeNewton._step, list[float](), list[float]()  # pyright: ignore[reportPrivateUsage]

    def checked(self: BoundedEdgeNewton, asked: DualEvaluator, look: Evaluation) -> Any:
        seen, value = moved(self, asked, look)
        before = self._dual_objective(look.iterate, look.weight_function)  # pyright: ignore[reportPrivateUsage]
        a = float(self._gradient(look).max())  # pyright: ignore[reportPrivateUsage]
        if seen is not None and len(seen.integer_weights):
            # But for the width of buckets.
            assert value - before >= 0.5 * a * a - 1e-5 * max(1.0, seen.weight_sum)
            assert value == self._dual_objective(seen, asked.weight_function(seen, 0))  # pyright: ignore[reportPrivateUsage]
            moves.append(value - before)
        bounds.append(self._edge_bound)  # pyright: ignore[reportPrivateUsage]
        return seen, value

    monkeypatch.setattr(BoundedEdgeNewton, "_step", checked)
    looked(binned(1), page, 60.0, 0.005)
    assert len(moves) > 3 and max(moves) > 1e-2
    assert any(b > a for a, b in pairwise(bounds))


def test_a_stage_may_begin_from_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedEdgeNewton, "_dual_objective_at_zero", np.inf)
    oracle = binned(1)
    run = looked(oracle, "softboost", 60.0)
    (low, high), (lower, upper) = ranges(run), proved(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02
    assert sum(glance.hypotheses == 0 for glance in run.evaluations) > 2


@pytest.mark.thorough_cases("totalboost")
@pytest.mark.parametrize("page", PAGES)
def test_a_run_below_a_bound_is_a_run_like_any_other(page: str, tmp_path: Path) -> None:
    oracle = binned(1)
    run = looked(oracle, page, 60.0)
    low, high = ranges(run)
    X, _, _ = noisy(1)
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
    for other in (Run.load(tmp_path / "run"), pickle.loads(pickle.dumps(run))):
        assert np.array_equal(other.w, run.w) and other.class_certificate.upper == high
    run.save_certificate(tmp_path / "proof.json", oracle)
    assert verify(tmp_path / "proof.json", oracle).accepted
    for k in (1, run.rounds):
        then = run.at_round(k)
        assert then.certificate.infeasible or then.certificate.lower <= then.certificate.upper
    # The page's own bound: what no distribution is below.
    assert high - 0.02 <= low


def test_without_rows_newton_steps_below_a_bound_are_refused() -> None:
    X, y, _ = noisy(2)
    with pytest.raises(OptionError, match=r"\bsoftboost\b.*\bhistogram Newton\b"):
        boost("softboost", Asked(X, y), nu=60.0, update="newton")
    assert type(boost("softboost", Asked(X, y), nu=60.0, epsilon=0.2)) is Run


@pytest.mark.thorough
@pytest.mark.parametrize("update", [None, "newton"])
def test_where_whole_numbers_tell_no_more_the_pages_own_steps_go_on(
    update: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "MAX_ITERATIONS_PER_GAP_DECREASE", 0)
    run = boost("softboost", binned(1), nu=60.0, epsilon=0.02, update=update)
    assert type(run) is Run and run.class_certificate.gap <= 0.02 and run.problem.update == "total"


@pytest.mark.thorough
def test_samples_say_where_looks_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "SAMPLE_SIZES", (50, 200))
    monkeypatch.setattr(looks, "MIN_ROWS_PER_SAMPLED_ROW", 2)
    for page in PAGES:
        oracle = binned(1, 600)
        run = looked(oracle, page, 200.0, 0.01)
        (low, high), (lower, upper) = ranges(run), proved(run, oracle)
        assert sorted({glance.rows for glance in run.evaluations}) == [50, 200, 600]
        assert low <= lower and upper <= high and high - low <= 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_random_sets_hold_exactly_where_edges_are_bounded(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    N, noise = int(np.exp(rng.uniform(3, 6))), float(rng.choice([0.0, 0.1, 1.0, 3.0, 30.0]))
    oracle, page = binned(seed, N, noise), PAGES[seed % 3]
    run = looked(oracle, page, max(1.0, float(rng.uniform(0.02, 1.0)) * oracle.c.sum()))
    (low, high), (lower, upper) = ranges(run), proved(run, oracle)
    assert low <= lower and upper <= high and high - low <= 0.02 and run.rounds <= run.iteration_bound


@pytest.mark.parametrize("page", ["softboost", "binary_softboost", "totalboost", "erlpboost"])
@pytest.mark.parametrize("copies", [1, 50])
def test_a_class_that_is_wrong_everywhere_has_a_soft_margin_of_minus_one(page: str, copies: int) -> None:
    X, y = np.repeat([[0.0], [1.0]], copies, axis=0), np.repeat([1, -1], copies)
    capped: dict[str, Any] = {} if page == "totalboost" else {"nu": 1.0}
    run = boost(page, DecisionStumps(X, y, reflexive=False), epsilon=0.05, **capped)
    assert isinstance(run, HistogramRun) and run.w.sum() == 1.0
    assert run.class_certificate.lower == run.class_certificate.upper == -1.0
