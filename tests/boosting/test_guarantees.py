"""Guarantees of the totally corrective algorithms, on random classes against scipy's linear programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from random_classes import (
    EPSILON,
    LP,
    ORACLES,
    ROUNDING,
    SEEDS,
    RandomClass,
    assert_bounds,
    assert_stopped,
    draw_class,
    row,
)

from boostopt import boost, get_formulation
from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.boosting.run.run import Run
from boostopt.boosting.stopping_rules import Schedule
from boostopt.functions.edge_functions.edge_bound_indicators import BoundedEdges
from boostopt.programs.program import Program

TIGHT = Schedule(share=0.0, shift=0.0, loosest=1e-10, finest=1e-10)
"""Every program solved to a scaled gap of 1e-10."""

SOLVER_TOL = 1e-5
"""The error of d(w) in the optimal distribution's value after such a solve: the root of its gap, as a step of d."""

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


def intervals(
    run: Run, random_class: RandomClass, entropy: Callable[[np.ndarray], float]
) -> tuple[np.ndarray, np.ndarray]:
    """D(w) and P(d(w)) of all rounds by sums of products; round 0 has the hypothesis that is always wrong."""
    lower, upper = [-1.0], [-1.0]
    for k in range(1, run.rounds + 1):
        earlier_run, value = run.at_round(k), float(run.trace[k - 1].value)
        U = earlier_run.program.margins.to_array()
        assert value == pytest.approx(float(earlier_run.d @ (U @ earlier_run.w)) + entropy(earlier_run.d), abs=1e-9)
        lower.append(value)
        upper.append(float((U.T @ earlier_run.d).max()) + entropy(earlier_run.d))
    return np.array(lower), np.array(upper)


# SoftBoost


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["softboost", "binary_softboost"])
def test_theorem_3_2_softboost(name: str, choose: str, seed: int) -> None:
    """The optimum rises by epsilon^2 / 2 a round, so that floor(2 C / epsilon^2) + 1 hypotheses are enough."""
    random_class = draw_class(seed)
    C = random_class.entropy_range if name == "softboost" else random_class.binary_range
    run = boost(
        name, random_class.oracle(choose), nu=random_class.nu, epsilon=EPSILON, rules=("infeasible",), schedule=TIGHT
    )
    assert run.reason.startswith("infeasible")
    assert run.rounds == len(run.hypotheses) <= bound_of_softboost(C) == run.iteration_bound
    assert_stopped(random_class, run, choose)
    assert run.at_round(run.rounds).certificate.infeasible
    # The optimum after a round is at least D there, which the distribution attains; its entropy is no less for it.
    entropy = random_class.entropy if name == "softboost" else random_class.binary_entropy
    entropies = np.array([0.0, *(entropy(run.at_round(k).d) for k in range(1, run.rounds))])
    duals = np.array([0.0, *row(run.trace, "value")[:-1]])
    assert (np.diff(duals) >= EPSILON**2 / 2 - SOLVER_TOL).all()
    assert (np.diff(entropies) >= EPSILON**2 / 2 - SOLVER_TOL).all()
    assert np.abs(entropies - duals).max() <= SOLVER_TOL
    assert duals.max() <= C + ROUNDING


@pytest.mark.every(2)
@every_class
@both_oracles
def test_theorem_3_2_totalboost(choose: str, seed: int) -> None:
    random_class = draw_class(seed).hard
    run = boost("totalboost", random_class.oracle(choose), epsilon=EPSILON, rules=("infeasible",), schedule=TIGHT)
    C = math.log(random_class.total / float(random_class.c.min()))
    assert run.rounds <= bound_of_softboost(C)
    assert_stopped(random_class, run, choose)


@pytest.mark.thorough_cases("softboost-weakest-0", "binary_softboost-weakest-0")
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["softboost", "binary_softboost"])
def test_theorem_b_one_coordinate_a_round_is_enough(name: str, choose: str, seed: int) -> None:
    """However inexact: D rises by epsilon^2 / 2 a round until w proves that the program is infeasible."""
    random_class = draw_class(seed)
    C = random_class.entropy_range if name == "softboost" else random_class.binary_range
    run = boost(
        name, random_class.oracle(choose), nu=random_class.nu, epsilon=EPSILON, rules=("infeasible",), backend=OneStep()
    )
    assert run.reason.startswith("infeasible")
    assert run.rounds <= bound_of_softboost(C)
    assert_stopped(random_class, run, choose)
    gamma = row(run.trace, "smallest_edge") - EPSILON
    entropy = random_class.entropy if name == "softboost" else random_class.binary_entropy
    duals = [0.0]
    for k in range(1, run.rounds):
        earlier_run = run.at_round(k)
        m = earlier_run.program.margins.to_array() @ earlier_run.w
        duals.append(entropy(earlier_run.d) + float(earlier_run.d @ m) - gamma[k - 1] * float(earlier_run.w.sum()))
        assert duals[-1] == pytest.approx(float(run.trace[k - 1].value), abs=1e-9)
    assert (np.diff(duals) >= EPSILON**2 / 2 - ROUNDING).all()
    assert max(duals) <= C + ROUNDING
    # No linear program: w over its sum has a soft margin above the smallest edge less epsilon.
    assert random_class.soft_margin(run.w, run.program.margins.to_array()) > gamma[-1]


# ERLPBoost


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ENTROPIES, ids=["3.7, 3.8, 3.10", "3.14", "3.19, 3.21"])
def test_lemmas_3_7_3_8_3_14_3_19_and_theorems_3_10_3_21(name: str, choose: str, seed: int) -> None:
    """Exact solves: the progress of every round, and 16 eta / epsilon hypotheses at most by the rule of the paper."""
    random_class = draw_class(seed)
    C = random_class.binary_range if "binary" in name else random_class.entropy_range
    eta, oracle = max(2.0 / EPSILON * C, 0.5), random_class.oracle(choose)

    def entropy(d: np.ndarray) -> float:
        return (random_class.binary_entropy(d) if "binary" in name else random_class.entropy(d)) / eta

    run = boost(name, oracle, nu=random_class.nu, epsilon=EPSILON, rules=("simple",), schedule=TIGHT)
    assert run.reason.startswith("simple")
    assert len(run.hypotheses) <= run.rounds <= 16.0 * eta / EPSILON
    assert run.iteration_bound == pytest.approx(16.0 * eta / EPSILON, rel=1e-12)
    assert_stopped(random_class, run, choose)
    lower, upper = intervals(run, random_class, entropy)
    assert (upper - lower <= SOLVER_TOL).all()
    assert (np.diff(lower) >= -1e-9).all()
    # P^t at the distribution that hypothesis t was chosen with, from the margins and the entropy alone.
    collected_U, primal = np.empty((len(random_class.c), 0)), list[float]()
    for u, d in zip(oracle.u[: run.rounds], oracle.d[: run.rounds], strict=True):
        collected_U = np.column_stack([collected_U, u])
        primal.append(float((collected_U.T @ d).max()) + entropy(d))
    rises, slack = lower[1:] - upper[:-1], np.diff(upper) - np.diff(lower) + 2.0 * (upper - lower)[:-1]
    steps = np.maximum(np.array(primal) - upper[:-1], 0.0)
    assert (rises >= steps**2 / (8.0 * eta) - slack - ROUNDING).all()
    deltas = np.maximum(np.minimum.accumulate(primal) - upper[:-1], 0.0)
    assert deltas[0] <= 2.0 + ROUNDING
    assert (rises >= deltas**2 / (8.0 * eta) - slack - ROUNDING).all()
    assert (deltas[1:] <= deltas[:-1] - deltas[:-1] ** 2 / (8.0 * eta) + slack[:-1] + ROUNDING).all()
    # The entropy costs between 0 and C / eta of what scipy's program has.
    for k in {1, run.rounds // 2, run.rounds} - {0}:
        optimum = random_class.optimum_of(collected_U[:, :k])
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
    random_class, eta = draw_class(seed), 1.0
    oracle = random_class.oracle(choose)
    schedule = TIGHT if rule == "simple" else Schedule()
    options: dict[str, Any] = {"nu": random_class.nu, "eta": eta, "epsilon": 0.05, "schedule": schedule}
    run = boost(name, oracle, rules=[rule], history=False, **options)
    assert run.reason.startswith(f"{rule}: ") and "promises nothing" in run.reason
    assert run.iteration_bound == math.inf and run.rounds <= 16.0 * eta / 0.05
    # The trace has the rule's delta, from the margins and the entropy alone.
    entropy = random_class.binary_entropy if "binary" in name else random_class.entropy
    collected_U, primal = np.empty((len(random_class.c), 0)), list[float]()
    for u, d in zip(oracle.u, oracle.d, strict=True):
        collected_U = np.column_stack([collected_U, u])
        primal.append(float((collected_U.T @ d).max()) + entropy(d) / eta)
    # The last answer, to which no update belongs, is in the last row; a run that ends by its update asks no more.
    smallest = np.minimum.accumulate(primal)
    expected = np.append(smallest[: run.rounds - 1], smallest[-1])
    assert run.trace["smallest_primal"] == pytest.approx(expected, abs=1e-9)
    assert run.trace["delta"] == pytest.approx(expected - run.trace["value"], abs=1e-9)
    if rule == "practical":
        assert run.trace["delta"][-1] <= 0.025
    if choose == "best":
        formulation = get_formulation("binary_erlpboost" if "binary" in name else "erlpboost")
        best = (
            formulation.bind(random_class.U, c=random_class.c, nu=random_class.nu, eta=eta).solve(tol=1e-8).certificate
        )
        assert run.trace["value"][-1] >= best.lower - 0.025 - 1e-6


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["softboost", "totalboost", "binary_softboost", *ENTROPIES])
def test_every_run_stops_at_what_the_oracle_guarantees(name: str, choose: str, seed: int) -> None:
    """By its own rules and its own, loose solves; no bound ever passes scipy's optimum, and D never falls."""
    random_class = draw_class(seed).hard if name == "totalboost" else draw_class(seed)
    run = boost(
        name, random_class.oracle(choose), epsilon=EPSILON, nu=None if name == "totalboost" else random_class.nu
    )
    assert_stopped(random_class, run, choose)
    assert_bounds(random_class, run)
    value = row(run.trace, "value")
    assert (np.diff(value[np.isfinite(value)]) >= -1e-8).all()
