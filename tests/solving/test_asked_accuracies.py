"""A solver does what the profile requests: asked for more it takes more iterations and comes nearer, or it is marked.

Over every solver that is installed; `make solvers` runs it in an environment with all the open ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from boostopt import Program, get_backend, get_formulation, list_backends
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Attempt, Deadline, Task
from boostopt.backends.cvxpy.solver_options import SOLVERS

TARGET_GAPS = (1e-2, 1e-4, 1e-6, 1e-8)
PARAMETERS = {
    "lpboost": {"nu": 24.0},
    "qp_reg_adaboost": {"C": 0.1},
    "erlpboost": {"nu": 24.0, "eta": 50.0},
    "norm_ball": {"r": 0.2},
}

UNLICENSED = {"cvxpy:gurobi", "cvxpy:mosek", "cvxpy:mpax"}
"""Backends that need a licence or minutes, and run on request only."""


@cache
def program(name: str) -> Program:
    U = np.random.default_rng(5).choice([-1.0, 1.0], size=(120, 25), p=[0.4, 0.6])
    return get_formulation(name).bind(U, **PARAMETERS[name])


def row_of(name: str) -> str:
    """The name of a solver in the table."""
    return name.removeprefix("cvxpy:").upper()


def cases(remarked: bool) -> list[tuple[str, str]]:
    """Solvers with the programs that they take, with or without a remark in the table."""
    named = [name for name in list_backends() if name.startswith("cvxpy:") and name not in UNLICENSED]
    supported = [name for name in named if row_of(name) in SOLVERS]
    additional = [] if remarked else ["interior"]
    selected = [name for name in supported if bool(SOLVERS[row_of(name)].remark) == remarked]
    return [
        (name, formulation)
        for name in [*additional, *selected]
        for formulation in PARAMETERS
        if get_backend(name).takes(program(formulation))
    ]


@cache
def answers(name: str, formulation: str) -> Sequence[tuple[Attempt, float]]:
    """The only attempt and its certified gap at each accuracy."""
    backend, results = get_backend(name), list[tuple[Attempt, float]]()
    for accuracy in TARGET_GAPS:
        task = Task(program(formulation), accuracy, Deadline.after(30.0), profile=Profile("asked", accuracy))
        (attempt,) = backend.attempts(task)
        results.append((attempt, program(formulation).certify(attempt.d, attempt.w).scaled_gap))
    return results


@pytest.mark.every(2)
@pytest.mark.parametrize(("name", "formulation"), cases(remarked=False))
def test_more_asked_for_is_more_iterations_and_a_narrower_certificate(name: str, formulation: str) -> None:
    iterations = [attempt.iterations or 0 for attempt, _ in answers(name, formulation)]
    gaps = [gap for _, gap in answers(name, formulation)]
    assert iterations == sorted(iterations) and 0 < iterations[0] < iterations[-1]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] <= 1e-6


@pytest.mark.parametrize(("name", "formulation"), cases(remarked=True))
def test_remarks_of_the_table_are_true(name: str, formulation: str) -> None:
    remark = SOLVERS[row_of(name)].remark
    counted = [attempt.iterations for attempt, _ in answers(name, formulation)]
    gaps = [gap for _, gap in answers(name, formulation)]
    if "from vertex to vertex" in remark:
        assert all(gap <= target for target, gap in list(zip(TARGET_GAPS, gaps, strict=True))[1:])
    if "does not hand on" in remark:
        assert counted == [None] * len(TARGET_GAPS)
        assert gaps == sorted(gaps, reverse=True) or max(gaps) <= min(TARGET_GAPS)
    if "ends at 10,000 iterations" in remark:
        assert max(count or 0 for count in counted) <= 10_000
    if "calls linear programs infeasible" in remark and formulation == "lpboost":
        assert "infeasible" in {attempt.status for attempt, _ in answers(name, formulation)}
    assert min(gaps) <= 1e-4 or "infeasible" in remark


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_the_table_is_whole(name: str) -> None:
    solver = SOLVERS[name]
    assert solver.tolerances and solver.iterations
    assert bool(solver.gap_field) <= bool(solver.objective_fields) and len(solver.objective_fields) <= 2
