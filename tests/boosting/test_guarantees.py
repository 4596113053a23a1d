"""What theory promises of the totally corrective algorithms, on random classes against scipy's linear programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from random_classes import EPSILON, LP, ORACLES, ROUNDING, SEEDS, RandomClass, assert_bounds, assert_stopped, drawn, row

from boostopt import boost, get_formulation
from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.boosting.rules import Schedule
from boostopt.boosting.run.run import Run
from boostopt.functions.edge_functions.bounded import BoundedEdges
from boostopt.programs.program import Program

TIGHT = Schedule(share=0.0, shift=0.0, loosest=1e-10, finest=1e-10)
"""Every program solved to a scaled gap of 1e-10."""

SOLVED = 1e-5
"""What d(w) may miss of the optimal distribution's value after such a solve: the root of its gap, as a step of d."""

ENTROPIES = ("erlpboost", "unnormalized_erlpboost", "binary_erlpboost")

every_class = pytest.mark.parametrize("seed", SEEDS)
both_oracles = pytest.mark.parametrize("choose", ORACLES)


@dataclass(frozen=True)
class OneStep(Backend):
    """The least that theorem B asks of an update: the violated edge's weight raised by what it lies above gamma."""

    @property
    def name(self) -> str:
        return "one step"

    @property
    def version(self) -> str:
        return "1"

    def takes(self, program: Program) -> Capability:
        return Capability(isinstance(program.edge_function, BoundedEdges))

    def attempts(self, task: Task) -> Iterator[Attempt]:
        program, U = task.program, task.program.margins.to_array()
        assert isinstance(program.edge_function, BoundedEdges)
        w = np.zeros(U.shape[1])
        if task.start is not None and task.start.w is not None:
            w[: len(task.start.w)] = task.start.w
        excess = U.T @ program.regularizer.conjugate_at(-U @ w).d - program.edge_function.gamma
        q = int(excess.argmax())
        w[q] += excess[q]
        yield Attempt(form="dual", options={}, status="one step made", claims=True, w=w)


def bound_of_softboost(entropy_range: float) -> int:
    """floor(2 C / epsilon^2) + 1."""
    return math.floor(2.0 * entropy_range / EPSILON**2 + ROUNDING) + 1


def intervals(run: Run, of: RandomClass, entropy: Callable[[np.ndarray], float]) -> tuple[np.ndarray, np.ndarray]:
    """D(w) and P(d(w)) of all rounds by sums of products; round 0 has the hypothesis that is always wrong."""
    lower, upper = [-1.0], [-1.0]
    for k in range(1, run.rounds + 1):
        at, value = run.at_round(k), float(run.trace[k - 1].value)
        U = at.program.margins.to_array()
        assert value == pytest.approx(float(at.d @ (U @ at.w)) + entropy(at.d), abs=1e-9)
        lower.append(value)
        upper.append(float((U.T @ at.d).max()) + entropy(at.d))
    return np.array(lower), np.array(upper)


# SoftBoost


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["softboost", "binary_softboost"])
def test_theorem_3_2_softboost(name: str, choose: str, seed: int) -> None:
    """The optimum rises by epsilon^2 / 2 a round, so that floor(2 C / epsilon^2) + 1 hypotheses are enough."""
    of = drawn(seed)
    C = of.entropy_range if name == "softboost" else of.binary_range
    run = boost(name, of.oracle(choose), nu=of.nu, epsilon=EPSILON, rules=("infeasible",), schedule=TIGHT)
    assert run.reason.startswith("infeasible")
    assert run.rounds == len(run.hypotheses) <= bound_of_softboost(C) == run.iteration_bound
    assert_stopped(of, run, choose)
    assert run.at_round(run.rounds).certificate.infeasible
    # The optimum after a round is at least D there, which the distribution attains; its entropy is no less for it.
    entropy = of.entropy if name == "softboost" else of.binary_entropy
    entropies = np.array([0.0, *(entropy(run.at_round(k).d) for k in range(1, run.rounds))])
    duals = np.array([0.0, *row(run.trace, "value")[:-1]])
    assert (np.diff(duals) >= EPSILON**2 / 2 - SOLVED).all()
    assert (np.diff(entropies) >= EPSILON**2 / 2 - SOLVED).all()
    assert np.abs(entropies - duals).max() <= SOLVED
    assert duals.max() <= C + ROUNDING


@every_class
@both_oracles
def test_theorem_3_2_totalboost(choose: str, seed: int) -> None:
    of = drawn(seed).hard
    run = boost("totalboost", of.oracle(choose), epsilon=EPSILON, rules=("infeasible",), schedule=TIGHT)
    C = math.log(of.total / float(of.c.min()))
    assert run.rounds <= bound_of_softboost(C)
    assert_stopped(of, run, choose)


@pytest.mark.thorough_cases("softboost-weakest-0", "binary_softboost-weakest-0")
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["softboost", "binary_softboost"])
def test_theorem_b_one_coordinate_a_round_is_enough(name: str, choose: str, seed: int) -> None:
    """However inexact: D rises by epsilon^2 / 2 a round until w proves that the program is infeasible."""
    of = drawn(seed)
    C = of.entropy_range if name == "softboost" else of.binary_range
    run = boost(name, of.oracle(choose), nu=of.nu, epsilon=EPSILON, rules=("infeasible",), backend=OneStep())
    assert run.reason.startswith("infeasible")
    assert run.rounds <= bound_of_softboost(C)
    assert_stopped(of, run, choose)
    gamma = row(run.trace, "smallest_edge") - EPSILON
    entropy = of.entropy if name == "softboost" else of.binary_entropy
    duals = [0.0]
    for k in range(1, run.rounds):
        at = run.at_round(k)
        m = at.program.margins.to_array() @ at.w
        duals.append(entropy(at.d) + float(at.d @ m) - gamma[k - 1] * float(at.w.sum()))
        assert duals[-1] == pytest.approx(float(run.trace[k - 1].value), abs=1e-9)
    assert (np.diff(duals) >= EPSILON**2 / 2 - ROUNDING).all()
    assert max(duals) <= C + ROUNDING
    # No linear program: w over its sum has a soft margin above the smallest edge less epsilon.
    assert of.soft_margin(run.w, run.program.margins.to_array()) > gamma[-1]


# ERLPBoost


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ENTROPIES, ids=["3.7, 3.8, 3.10", "3.14", "3.19, 3.21"])
def test_lemmas_3_7_3_8_3_14_3_19_and_theorems_3_10_3_21(name: str, choose: str, seed: int) -> None:
    """Exact solves: the progress of every round, and 16 eta / epsilon hypotheses at most by the rule of the paper."""
    of = drawn(seed)
    C = of.binary_range if "binary" in name else of.entropy_range
    eta, oracle = max(2.0 / EPSILON * C, 0.5), of.oracle(choose)

    def entropy(d: np.ndarray) -> float:
        return (of.binary_entropy(d) if "binary" in name else of.entropy(d)) / eta

    run = boost(name, oracle, nu=of.nu, epsilon=EPSILON, rules=("simple",), schedule=TIGHT)
    assert run.reason.startswith("simple")
    assert len(run.hypotheses) <= run.rounds <= 16.0 * eta / EPSILON
    assert run.iteration_bound == pytest.approx(16.0 * eta / EPSILON, rel=1e-12)
    assert_stopped(of, run, choose)
    lower, upper = intervals(run, of, entropy)
    assert (upper - lower <= SOLVED).all()
    assert (np.diff(lower) >= -1e-9).all()
    # P^t at the distribution that hypothesis t was chosen with, from the margins and the entropy alone.
    seen, primal = np.empty((len(of.c), 0)), list[float]()
    for u, d in zip(oracle.u[: run.rounds], oracle.d[: run.rounds], strict=True):
        seen = np.column_stack([seen, u])
        primal.append(float((seen.T @ d).max()) + entropy(d))
    rises, slack = lower[1:] - upper[:-1], np.diff(upper) - np.diff(lower) + 2.0 * (upper - lower)[:-1]
    steps = np.maximum(np.array(primal) - upper[:-1], 0.0)
    assert (rises >= steps**2 / (8.0 * eta) - slack - ROUNDING).all()
    deltas = np.maximum(np.minimum.accumulate(primal) - upper[:-1], 0.0)
    assert deltas[0] <= 2.0 + ROUNDING
    assert (rises >= deltas**2 / (8.0 * eta) - slack - ROUNDING).all()
    assert (deltas[1:] <= deltas[:-1] - deltas[:-1] ** 2 / (8.0 * eta) + slack[:-1] + ROUNDING).all()
    # The entropy costs between 0 and C / eta of what scipy's program has.
    for k in {1, run.rounds // 2, run.rounds} - {0}:
        optimum = of.optimum_of(seen[:, :k])
        assert lower[k] <= optimum + C / eta + LP
        assert upper[k] >= optimum - LP


@pytest.mark.thorough
@pytest.mark.parametrize("seed", SEEDS[:2])
@both_oracles
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *itertools.product(("erlpboost", "binary_erlpboost"), ("regularized", "simple", "practical")),
        *itertools.product(("corrective_erlpboost", "corrective_binary_erlpboost"), ("regularized", "practical")),
    ],
)
def test_below_the_eta_of_theory_the_printed_rules_bound_the_regularized_program(
    name: str, rule: str, choose: str, seed: int
) -> None:
    """Figures 5.7 to 5.12 and 5.19 to 5.27 of the dissertation: delta~ <= epsilon / 2 for every eta."""
    of, eta = drawn(seed), 1.0
    oracle = of.oracle(choose)
    schedule = TIGHT if rule == "simple" else Schedule()
    options: dict[str, Any] = {"nu": of.nu, "eta": eta, "epsilon": 0.05, "schedule": schedule}
    run = boost(name, oracle, rules=[rule], history=False, **options)
    assert run.reason.startswith(f"{rule}: ") and "promises nothing" in run.reason
    assert run.iteration_bound == math.inf and run.rounds <= 16.0 * eta / 0.05
    # The trace has the rule's delta, from the margins and the entropy alone.
    entropy = of.binary_entropy if "binary" in name else of.entropy
    seen, primal = np.empty((len(of.c), 0)), list[float]()
    for u, d in zip(oracle.u, oracle.d, strict=True):
        seen = np.column_stack([seen, u])
        primal.append(float((seen.T @ d).max()) + entropy(d) / eta)
    # The last answer, to which no update belongs, is in the last row; a run that ends by its update asks no more.
    smallest = np.minimum.accumulate(primal)
    expected = np.append(smallest[: run.rounds - 1], smallest[-1])
    assert run.trace["smallest_primal"] == pytest.approx(expected, abs=1e-9)
    assert run.trace["delta"] == pytest.approx(expected - run.trace["value"], abs=1e-9)
    if rule == "practical":
        assert run.trace["delta"][-1] <= 0.025
    if choose == "best":
        page = get_formulation("binary_erlpboost" if "binary" in name else "erlpboost")
        best = page.bind(of.U, c=of.c, nu=of.nu, eta=eta).solve(tol=1e-8).certificate
        assert run.trace["value"][-1] >= best.lower - 0.025 - 1e-6


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["softboost", "totalboost", "binary_softboost", *ENTROPIES])
def test_every_run_stops_at_what_the_oracle_guarantees(name: str, choose: str, seed: int) -> None:
    """By its own rules and its own, loose solves; no bound ever passes scipy's optimum, and D never falls."""
    of = drawn(seed).hard if name == "totalboost" else drawn(seed)
    run = boost(name, of.oracle(choose), epsilon=EPSILON, nu=None if name == "totalboost" else of.nu)
    assert_stopped(of, run, choose)
    assert_bounds(of, run)
    value = row(run.trace, "value")
    assert (np.diff(value[np.isfinite(value)]) >= -1e-8).all()
