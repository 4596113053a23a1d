"""Newton steps: right derivatives, never behind a corrective step, intervals that overlap those of other updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_stumps import PlainStumps

from boostopt import OptionError, Run, boost, load_dataset
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    PowerDivergence,
    RelativeEntropy,
    formula,
    parameter,
    prototype,
)
from boostopt.boosting.updates import newton_update as newton
from boostopt.boosting.updates.newton_update import MEMORY_LEVEL, Newton
from boostopt.oracles import Answer, BinnedStumps, DecisionStumps, GivenMargins, Oracle, Query
from boostopt.rows.margin_matrix import MarginMatrix

pytestmark = pytest.mark.every(2)

NEWTON: dict[str, Any] = {"update": "newton", "columns_per_round": 4}


def noisy(seed: int, N: int = 200, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five features, one of them constant, labels by two of them, multiplicities."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 5)), int(rng.integers(0, 3)))
    X[:, -1] = 1.0
    y = np.where(X[:, 0] + X[:, 1] + noise * rng.normal(size=N) > 0, 1, -1)
    return X, y, rng.integers(1, 4, N).astype(float)


def stumps(seed: int = 0, N: int = 200, noise: float = 1.0) -> Oracle:
    X, y, c = noisy(seed, N, noise)
    return PlainStumps(X, y, c=c if seed % 2 else None)


def ranges(run: Run) -> tuple[float, float]:
    assert run.class_certificate is not None
    return run.class_certificate.lower, run.class_certificate.upper


@pytest.mark.thorough_cases("1-binary_erlpboost")
@pytest.mark.parametrize("name", ["erlpboost", "binary_erlpboost", "corrective_erlpboost"])
@pytest.mark.parametrize("seed", range(6))
def test_intervals_over_the_class_overlap_those_of_the_papers_update(name: str, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    oracle = stumps(seed, int(rng.integers(20, 300)), noise=float(rng.choice([0.1, 1.0, 3.0])))
    how: dict[str, Any] = {"nu": float(rng.uniform(0.1, 0.5)) * oracle.c.sum(), "epsilon": 0.02}
    run = boost(name, oracle, **how, **NEWTON)
    other_run = boost("erlpboost", oracle, **how)
    (low, high), (its_low, its_high) = ranges(run), ranges(other_run)
    assert high - low <= 0.02 and max(low, its_low) <= min(high, its_high)
    assert run.verify_class(oracle).gap <= 0.02 + 1e-9
    assert run.rounds < run.iteration_bound
    eta = run.program.parameters.eta
    levels = int(np.log2(2.0 * eta))
    printed_bound = 16.0 * eta / 0.02
    assert run.iteration_bound == pytest.approx(7.0 / 3.0 * printed_bound + levels, rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda c: RelativeEntropy(CappedSimplex(c, 12.0), 20.0, c / c.sum()),
        lambda c: PowerDivergence(CappedSimplex(c, 12.0), 2.0, 5.0),
        lambda c: formula("d*log(d/d0)/eta", CappedSimplex(c, 12.0), eta=8.0),
    ],
    ids=["relative entropy", "chi-square", "formula"],
)
def test_the_curvature_is_the_difference_of_slopes(make: Callable[[np.ndarray], Any]) -> None:
    rng = np.random.default_rng(0)
    F, U, w = make(np.ones(40)), MarginMatrix(rng.uniform(-1, 1, (40, 6))), rng.dirichlet(np.ones(6))

    def slopes(w: np.ndarray) -> np.ndarray:
        return U.edges(F.conjugate_at(-U.margins(w)).d)

    H = newton.negative_hessian(F, U, F.conjugate_at(-U.margins(w)).d)
    step = 1e-6
    differences = [(slopes(w - step * v) - slopes(w + step * v)) / (2 * step) for v in np.eye(6)]
    assert np.allclose(H, np.array(differences), rtol=1e-4, atol=1e-6 * float(np.abs(H).max()))


@pytest.mark.parametrize("seed", range(3))
def test_every_move_is_at_least_as_good_as_a_corrective_step_of_its_level(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    combined, levels = Newton.combined, list[float]()

    def check_step(self: Newton, move: Any) -> Any:
        after = combined(self, move)
        F = self.regularizer_at(int(after.memory[MEMORY_LEVEL]))
        _, m = newton.short_step_weights(F, move, F.conjugate_at(-move.state.m))
        D, minimum = -F.conjugate_at(-after.m).value, -F.conjugate_at(-m).value
        assert D >= minimum - 1e-12 and minimum >= -F.conjugate_at(-move.state.m).value - 1e-12
        levels.append(float(after.memory[MEMORY_LEVEL]))
        return after

    monkeypatch.setattr(Newton, "combined", check_step)
    oracle = stumps(seed, noise=2.0)
    boost("erlpboost", oracle, nu=0.2 * oracle.c.sum(), epsilon=0.01, **NEWTON)
    assert len(levels) > 3 and levels[0] >= 5.0 and (np.diff(levels) <= 0).all()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_lpboost_takes_the_entropy_of_its_accuracy_and_so_its_bound_of_rounds(seed: int) -> None:
    oracle = stumps(seed)
    how: dict[str, Any] = {"nu": 0.3 * oracle.c.sum(), "epsilon": 0.02}
    run, twin = boost("lpboost", oracle, **how, **NEWTON), boost("erlpboost", oracle, **how, **NEWTON)
    other_run = boost("lpboost", oracle, **how)
    assert run.rounds <= run.iteration_bound == twin.iteration_bound and other_run.iteration_bound == np.inf
    (low, high), (its_low, its_high) = ranges(run), ranges(other_run)
    assert high - low <= 0.02 and max(low, its_low) <= min(high, its_high)
    assert run.record.state.dual_objective == pytest.approx(run.record.state.soft_margin, abs=1e-12)


def test_a_page_that_names_no_smooth_twin_has_no_entropy_to_take() -> None:
    formulation = prototype(
        "plain",
        lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)),
        nu=parameter("the least number of examples", COUNT),
    )
    with pytest.raises(OptionError, match=r"update='newton'.*\bplain\b.*convex.*update=.total"):
        boost(formulation, stumps(0), nu=40, **NEWTON)


def test_without_newtons_step_the_corrective_one_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def useless(F: Any, U: MarginMatrix, w: Any, m: Any, point: Any, tolerance: float) -> Any:
        at_random = np.random.default_rng(len(w)).dirichlet(np.ones(len(w)))
        return at_random, U.margins(at_random)

    monkeypatch.setattr(newton, "newton_step", useless)
    oracle = stumps(2)
    run = boost("erlpboost", oracle, nu=60, epsilon=0.3, **NEWTON)
    assert run.class_certificate is not None and run.class_certificate.gap <= 0.3
    assert run.rounds < run.iteration_bound


def test_a_level_whose_program_is_solved_is_left_though_the_gap_stays() -> None:
    # An oracle that knows no bound: from the highest level on, only the gaps of its programs say where to go.
    class Silent(DecisionStumps):
        def best(self, query: Query) -> Answer:
            return replace(super().best(query), edge_bound=None)

    X, y, _ = noisy(1)
    run = boost("erlpboost", Silent(X, y), nu=60, epsilon=0.05, max_rounds=300, **NEWTON)
    assert run.record.state.bounds.upper == np.inf and run.record.problem.max_level >= 5
    assert run.record.state.memory[MEMORY_LEVEL] <= 1.0 and run.rounds < 300


@pytest.mark.thorough
def test_a_page_without_eta_has_one_level() -> None:
    formulation = prototype(
        "even",
        lambda p, examples: PowerDivergence(CappedSimplex(examples.c, p.nu), 2.0, p.strength),
        nu=parameter("the least number of examples", COUNT),
        strength=parameter("the inverse strength", POSITIVE),
    )
    oracle = stumps(0)
    run = boost(formulation, oracle, nu=40, strength=200.0, epsilon=0.05, max_rounds=200, **NEWTON)
    total = boost(formulation, oracle, nu=40, strength=200.0, epsilon=0.05)
    assert run.record.state.memory[MEMORY_LEVEL] == 0.0
    assert max(ranges(run)[0], ranges(total)[0]) <= min(ranges(run)[1], ranges(total)[1])
    assert ranges(run)[1] - ranges(run)[0] <= 0.05


def test_a_run_goes_on_from_its_checkpoint_to_the_last_bit(tmp_path: Path) -> None:
    oracle = stumps(3, noise=2.0)
    how: dict[str, Any] = {"nu": 0.2 * oracle.c.sum(), "epsilon": 0.01, **NEWTON}
    whole = boost("erlpboost", oracle, **how)
    boost("erlpboost", oracle, **how, max_rounds=6, checkpoint=tmp_path / "run.npz")
    resumed = boost("erlpboost", oracle, **how, checkpoint=tmp_path / "run.npz")
    assert np.array_equal(resumed.w, whole.w) and np.array_equal(resumed.d, whole.d)
    assert resumed.rounds == whole.rounds and resumed.reason == whole.reason


@pytest.mark.thorough
def test_the_known_optimum_of_breast_cancer_lies_in_the_interval() -> None:
    data = load_dataset("breast_cancer")
    assert data.y is not None
    for oracle in (PlainStumps(data.X, data.y), BinnedStumps(data.X, data.y, bins=65_536)):
        run = boost("erlpboost", oracle, nu=0.1 * oracle.N, epsilon=0.001, update="newton", columns_per_round=8)
        low, high = ranges(run)
        assert low - 5e-7 <= 0.169879 <= high + 5e-7 and high - low <= 0.001


@pytest.mark.parametrize(
    ("name", "options", "facts"),
    [
        ("lpboost", {"nu": 3, "two_sided": True}, "two_sided"),
        ("softboost", {"nu": 3}, "histogram Newton"),
        ("erlpboost", {"nu": 3, "two_sided": True}, "two_sided"),
        ("adaboost", {}, r"'projection'.*update='newton'"),
    ],
    ids=["lpboost", "softboost", "erlpboost", "adaboost"],
)
def test_newton_update_without_a_meaning_is_refused(name: str, options: dict[str, Any], facts: str) -> None:
    U = np.array([[1, -1], [-1, 1], [1, 1], [1, -1]])
    with pytest.raises(OptionError, match=rf"\b{name}\b.*{facts}"):
        boost(name, GivenMargins(U, reflexive=True), update="newton", **options)


def test_a_step_of_rounding_alone_ends_no_run() -> None:
    a, b = [-1.63, 1.63, 0.11, -0.617], [-0.1, 0.1, -0.29, -2.7]
    oracle = DecisionStumps(np.array([a, a, b, b] * 4 + [[-0.53, 0.53, -0.125, 0.0546]]), [1, -1] * 8 + [1])
    run = boost("binary_erlpboost", oracle, nu=12.786070081836618, epsilon=0.002, update="newton", nus=[12.8])
    assert run.class_certificate.gap <= 0.002
    assert "failed" not in run.reason


def test_with_half_of_the_entropy_margins_halve() -> None:
    # Margins of a hypothesis and its negation. The optimum is 0, so the same d has half of the margin 1/2 of w.
    w, slopes = np.array([0.75, 0.25]), np.zeros(2)
    H = np.array([[1.0, -1.0], [-1.0, 1.0]])
    target = newton.newton_target(w, slopes, 0.0, lambda part: H[np.ix_(part, part)], ratio=2.0)
    np.testing.assert_allclose(target, [0.625, 0.375], rtol=1e-9)


@pytest.mark.parametrize(
    ("binned", "settings", "words"),
    [
        (False, {}, r"support 2 given columns.*\. Make BinnedStumps, or use update=\"total\""),
        (True, {"rules": ["direct"]}, r"support rules=\['direct'\]\. Use update=\"total\""),
        (True, {"epsilon": 1e-7}, r"support softboost with epsilon=1e-07\. Use update=\"total\""),
    ],
)
def test_newton_of_bounded_edges_names_what_prevents_histogram_newton(
    binned: bool, settings: dict[str, Any], words: str
) -> None:
    features = np.random.default_rng(0).normal(size=(20, 2))
    oracle = BinnedStumps(features, np.where(features[:, 0] > 0, 1, -1)) if binned else GivenMargins(np.tanh(features))
    arguments: dict[str, Any] = {"update": "newton", "nu": 4, "epsilon": 0.2, **settings}
    with pytest.raises(OptionError, match=words):
        boost("softboost", oracle, **arguments)
