"""Steps between two hypotheses and MLPBoost: feasible, never behind a line search, within theory's rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import typechecker
from plain_stumps import PlainStumps
from random_classes import LP, ROUNDING, RandomClass, RecordingMargins, draw_class, row
from support.speeds import many

from boostopt import OptionError, boost, instances
from boostopt.boosting.boosting_problem import CORRECTIVE_STEPS
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import UpdateContext
from boostopt.boosting.updates.convex_combination_update import LineSearch, ShortStep
from boostopt.boosting.updates.mlpboost_update import MLPBoost
from boostopt.boosting.updates.pairwise_update import Vertex, WeightTransfer
from boostopt.boosting.updates.update_factory import CORRECTIVE_UPDATES
from boostopt.oracles import GivenMargins

pytestmark = pytest.mark.every(2)

COARSE = 0.5
"""The accuracy of runs by steps alone, which are long."""

PAIRS = ("pairwise", "blended_pairwise")

WAYS: dict[str, dict[str, Any]] = {
    **{name: {"update": name} for name in PAIRS},
    **{f"mlpboost, {name}": {"update": "mlpboost", "corrective": name} for name in CORRECTIVE_STEPS},
}
"""The updates of this page by a name."""

every_way = pytest.mark.parametrize("how", WAYS)


def small_class(seed: int) -> RandomClass:
    """A class of a few hypotheses on a few examples: signs or real margins, any nu, multiplicities in every third."""
    rng = np.random.default_rng([22, seed])
    N, t = int(rng.integers(5, 25)), int(rng.integers(4, 25))
    U = rng.choice([-1.0, 1.0], (N, t)) if seed % 2 else rng.uniform(-1.0, 1.0, (N, t))
    c = rng.choice([0.5, 1.0, 2.5], N) if seed % 3 == 0 else np.ones(N)
    return RandomClass(U, c, float(rng.uniform(max(1.0, c.max()), 0.6 * c.sum())))


def gaining(run: Run, oracle: RecordingMargins, random_class: RandomClass) -> None:
    """D rises in every round, by s^2 / (8 eta) or more: sums over the examples, but for D as the run had it."""
    eta, T = run.program.parameters.eta, run.rounds
    value = np.array([-1.0, *row(run.trace, "value")])
    costs = np.array([random_class.entropy(d) / eta for d in oracle.d[:T]])
    slopes = oracle.edges[:T] + costs - value[:-1]
    gains = np.diff(value)
    assert (gains >= -ROUNDING).all()
    assert (gains >= np.maximum(slopes, 0.0) ** 2 / (8.0 * eta) - ROUNDING).all()
    deltas = np.minimum.accumulate(oracle.edges[:T] + costs) - value[:-1]
    assert (deltas[1:] <= deltas[:-1] - deltas[:-1] ** 2 / (8.0 * eta) + ROUNDING).all()


@every_way
def test_theorem_c_bounds_the_rounds_on_many_random_classes(how: str) -> None:
    for seed in range(many(25, 3)):
        random_class = small_class(seed)
        oracle = RecordingMargins(
            random_class.U, c=random_class.c, choose=("best", "random")[seed % 5 == 0], random_state=seed
        )
        run = boost(
            "erlpboost",
            oracle,
            nu=random_class.nu,
            epsilon=COARSE,
            rules=("regularized",),
            max_rounds=2000,
            **WAYS[how],
        )
        # An answer that is no better than the mixture ends a run of a random oracle.
        assert run.reason.startswith("regularized") or seed % 5 == 0
        eta = max(2.0 / COARSE * random_class.entropy_range, 0.5)
        assert run.rounds <= run.iteration_bound == pytest.approx(16.0 * eta / COARSE, rel=1e-12)
        gaining(run, oracle, random_class)
        assert (
            run.class_certificate.lower <= random_class.optimum + LP
            and run.class_certificate.upper >= random_class.optimum - LP
        )


@every_way
def test_the_hard_instance_takes_no_half_of_its_examples(how: str) -> None:
    """LPBoost collects N / 2 hypotheses there and more, whatever solves."""
    N, epsilon = 400, 0.1
    hard = instances.iteration_lower_bound(N)
    oracle = RecordingMargins(hard.U)
    run = boost("erlpboost", oracle, nu=1.0, epsilon=epsilon, **WAYS[how])
    assert run.rounds < 0.3 * N and run.rounds <= run.iteration_bound
    assert len(run.hypotheses) == 2 and run.class_certificate.gap <= epsilon
    gaining(run, oracle, RandomClass(hard.U, np.ones(N), 1.0))


@pytest.mark.thorough
def test_lpboost_does_take_them() -> None:
    assert boost("lpboost", GivenMargins(instances.iteration_lower_bound(100).U), nu=1, epsilon=0.1).rounds > 50


@pytest.mark.thorough_cases("0-pairwise", "1-pairwise")
@pytest.mark.every(3)
@every_way
@pytest.mark.parametrize("seed", range(4))
def test_weights_stay_in_the_simplex(how: str, seed: int) -> None:
    random_class = draw_class(seed)
    run = boost(
        "erlpboost",
        random_class.oracle("best"),
        nu=random_class.nu,
        epsilon=0.1,
        max_rounds=300,
        history=True,
        **WAYS[how],
    )
    for k in range(1, run.rounds + 1):
        w = run.at_round(k).w
        assert w.min() >= 0.0 and w.sum() == pytest.approx(1.0, abs=1e-12)
    U, last = run.program.margins.to_array(), run.record.state
    np.testing.assert_allclose(last.m, U @ last.w, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("update", PAIRS)
def test_weight_goes_from_the_worst_that_is_held_as_far_as_d_rises(
    update: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried, emptied, carries, rounds = WeightTransfer.transfer, 0, 0, 0

    def check_transfer(self: WeightTransfer, move: UpdateContext, source: Vertex, target: Vertex) -> State:
        nonlocal emptied, carries, rounds
        after, w, U = carried(self, move, source, target), move.weights, move.pool.margins.to_array()
        edges = move.state.d @ U
        assert source.weights @ w == source.fraction > 0.0 and source.edge == pytest.approx(
            edges[w > 0.0].min(), abs=1e-12
        )
        best = edges[move.newest] if update == "pairwise" else edges[w > 0.0].max()
        assert target.edge == pytest.approx(best, abs=1e-12)
        x, slope, eta = (
            target.margins - source.margins,
            target.edge - source.edge,
            1.0 / self.problem.F.strong_convexity,
        )
        closed = min(slope / eta / max(float(np.abs(x).max()) ** 2, 1e-300), source.fraction)
        weights = np.append(np.linspace(0.0, 1.0, 33) * source.fraction, closed)
        s = float((move.newest_margins - move.state.m) @ move.state.d)
        assert slope >= s - 1e-12
        D = [
            -self.problem.conjugate_at_margins(U @ (w + alpha * (target.weights - source.weights))).value
            for alpha in weights
        ]
        mixed = LineSearch(self.problem).combined(move).dual_objective
        assert after.dual_objective >= max(*D, mixed, ShortStep(self.problem).combined(move).dual_objective) - 1e-10
        rounds += 1
        carries += after.dual_objective > mixed
        emptied += after.dual_objective > mixed and float(after.w @ source.weights) == 0.0
        # Unless there is less weight to take, that alone is as good as theory asks for: theorem C.
        if closed < source.fraction:
            assert D[-1] - D[0] >= max(s, 0.0) ** 2 / (8.0 * eta) - 1e-12
        return after

    monkeypatch.setattr(WeightTransfer, "transfer", check_transfer)
    random_class = draw_class(1)
    boost("erlpboost", random_class.oracle("best"), nu=random_class.nu, epsilon=0.05, max_rounds=150, update=update)
    assert 20 < carries <= rounds and emptied > 0


@pytest.mark.thorough
@pytest.mark.parametrize("step", CORRECTIVE_STEPS)
def test_the_better_of_both_weights_is_kept(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random_class, choices, states, solved_at = draw_class(3), list[str](), list[State](), list[int]()
    update, lpboost_state = MLPBoost.__call__, MLPBoost.lpboost_state

    def update_and_record(self: MLPBoost, move: UpdateContext) -> State:
        states.append(lpboost_state(self, move))
        solved_at.append(move.pool.t)
        return states[-1]

    def check_update(self: MLPBoost, move: UpdateContext) -> State:
        programs = len(states)
        after, stepped, weighed = update(self, move), self.step(move), states[-1]
        assert isinstance(self.step, CORRECTIVE_UPDATES[step])
        # Weights of the same hypotheses are looked at once: D has not fallen since.
        new = len(states) > programs
        assert (
            after.dual_objective
            == (max(stepped.dual_objective, weighed.dual_objective) if new else stepped.dual_objective)
            >= weighed.dual_objective - LP
        )
        U = move.pool.margins.to_array()
        for state in (after, stepped, weighed):
            assert state.dual_objective == pytest.approx(-self.problem.F.conjugate_at(-(U @ state.w)).value, abs=1e-12)
        # The linear program of the hypotheses collected: its weights reach the optimum that scipy knows.
        best = random_class.optimum_of(U)
        assert random_class.soft_margin(weighed.w, U) >= best - 2.0 * move.tol - LP
        # So nothing falls behind LPBoost by more than the entropy may cost: theorem C.
        price = random_class.entropy_range / self.problem.template.parameters.eta
        assert random_class.soft_margin(after.w, U) >= best - price - 2.0 * move.tol - LP
        assert (after.backend != "") == (new and weighed.dual_objective > stepped.dual_objective)
        choices.append(after.backend)
        return after

    monkeypatch.setattr(MLPBoost, "__call__", check_update)
    monkeypatch.setattr(MLPBoost, "lpboost_state", update_and_record)
    run = boost(
        "erlpboost", random_class.oracle("best"), nu=random_class.nu, epsilon=0.02, update="mlpboost", corrective=step
    )
    assert run.reason.startswith("direct") and list(run.trace["backend"]) == choices
    assert "" in choices and set(choices) != {""}
    assert solved_at == list(dict.fromkeys(run.trace["hypotheses"]))  # one program for each hypothesis that came


@pytest.mark.thorough_cases(
    "0-erlpboost-pairwise",
    "0-erlpboost-mlpboost, pairwise",
    "0-binary_erlpboost-mlpboost, step",
    "0-corrective_erlpboost-pairwise",
    "0-corrective_erlpboost-mlpboost, pairwise",
    "1-binary_erlpboost-pairwise",
    "1-binary_erlpboost-mlpboost, pairwise",
    "1-corrective_erlpboost-mlpboost, step",
)
@pytest.mark.every(4)
@every_way
@pytest.mark.parametrize("name", ["erlpboost", "binary_erlpboost", "corrective_erlpboost"])
@pytest.mark.parametrize("seed", range(3))
def test_intervals_over_the_class_overlap_those_of_the_papers_update(name: str, how: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    N = int(rng.integers(40, 120))
    X = np.round(rng.normal(size=(N, 4)), 1)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0, 1, -1)
    oracle = PlainStumps(X, y, c=rng.integers(1, 4, N).astype(float) if seed % 2 else None)
    options: dict[str, Any] = {"nu": 0.3 * oracle.c.sum(), "epsilon": 0.1}
    run = boost(name, oracle, **options, **WAYS[how])
    other_run = boost("erlpboost", oracle, update="total", **options)
    ours, theirs = run.class_certificate, other_run.class_certificate
    assert ours.gap <= 0.1 and max(ours.lower, theirs.lower) <= min(ours.upper, theirs.upper)
    assert run.verify_class(oracle).gap <= 0.1 + 1e-9


@pytest.mark.thorough_cases("False-pairwise", "False-mlpboost, pairwise")
@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["pairwise", "blended_pairwise", "mlpboost, line_search", "mlpboost, pairwise"])
@pytest.mark.parametrize("begun", [False, True])
def test_two_sided_weights_stay_in_the_ball(how: str, begun: bool) -> None:
    """Weight that no hypothesis has can be carried, too; and from a run whose weights have either sign."""
    rng = np.random.default_rng(7)
    oracle = GivenMargins(rng.uniform(-1.0, 1.0, (30, 20)), reflexive=True)
    options: dict[str, Any] = {"p": 2.0, "r": 0.5, "eta": 60.0, "two_sided": True, "epsilon": 0.1}
    total = boost("norm_ball", oracle, update="total", columns_per_round=4, **options)
    start = boost("lp_adaboost", oracle, two_sided=True, columns_per_round=5, epsilon=0.1) if begun else None
    run = boost("norm_ball", oracle, start=start, max_rounds=3000, history=True, **options, **WAYS[how])
    assert run.reason.startswith("direct")
    for k in range(1, run.rounds + 1):
        assert float(np.abs(run.at_round(k).w).sum()) <= 1.0 + 1e-12
    assert (np.diff(row(run.trace, "value")) >= -ROUNDING).all()
    ours, theirs = run.class_certificate, total.class_certificate
    assert max(ours.lower, theirs.lower) <= min(ours.upper, theirs.upper)


@pytest.mark.thorough
def test_several_columns_a_round_are_weighed_and_those_of_an_earlier_run() -> None:
    random_class = draw_class(5)
    options: dict[str, Any] = {"nu": random_class.nu, "epsilon": 0.02, "update": "mlpboost"}
    one, three = (boost("erlpboost", random_class.oracle("best"), columns_per_round=n, **options) for n in (1, 3))
    assert max(one.class_certificate.gap, three.class_certificate.gap) <= 0.02
    options["epsilon"] = 0.01
    again = boost("erlpboost", random_class.oracle("best"), start=one, **options)
    assert again.hypotheses[: len(one.hypotheses)] == one.hypotheses and again.class_certificate.gap <= 0.01


@pytest.mark.thorough
def test_any_backend_of_linear_programs_will_do() -> None:
    random_class = draw_class(4)
    runs = [
        boost(
            "erlpboost",
            random_class.oracle("best"),
            nu=random_class.nu,
            epsilon=0.05,
            update="mlpboost",
            backend=backend,
        )
        for backend in ("highs", "interior", "cvxpy:clarabel")
    ]
    for run in runs:
        assert run.class_certificate.gap <= 0.05
        assert run.class_certificate.lower <= random_class.optimum + LP <= run.class_certificate.upper + 2.0 * LP


def test_the_step_is_an_option_of_mlpboost_alone() -> None:
    oracle = GivenMargins(np.random.default_rng(0).uniform(-1, 1, (12, 8)))
    assert tuple(CORRECTIVE_UPDATES) == CORRECTIVE_STEPS
    for update in ("step", "total", None):
        with pytest.raises(OptionError, match=r'\bcorrective\b.*update="mlpboost".*\berlpboost\b'):
            boost("erlpboost", oracle, nu=3, update=update, corrective="step")
    with typechecker.unchecked(), pytest.raises(OptionError, match=r"\bcorrective\b.*'stp'.*'step'"):
        boost("erlpboost", oracle, nu=3, update="mlpboost", corrective="stp")
    with pytest.raises(OptionError, match=r"update='mlpboost'.*\blpboost\b.*convex"):
        boost("lpboost", oracle, nu=3, update="mlpboost")
