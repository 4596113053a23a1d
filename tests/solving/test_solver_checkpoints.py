"""Attempts of one run: its iterations are counted once, and nothing is claimed because the time is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from boostopt import Program, check_backend, compare, get_formulation
from boostopt.authoring import Attempt, Backend, Capability, Profile, Task

CHECKPOINTS = (10, 30, 100, 300, 1000, 3000)
PROGRAM = get_formulation("lpboost").bind([[1.0, -0.5], [-0.5, 1.0], [0.2, 0.3]], nu=2)


class Scripted(Backend):
    """A backend that yields what it is given."""

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    @property
    def version(self) -> str:
        return "1"

    def __init__(self, *attempts: Attempt) -> None:
        self.script = attempts

    def takes(self, program: Program) -> Capability:
        return Capability(True)

    def keeps_limit(self, program: Program) -> bool:
        return True

    def attempts(self, task: Task) -> Iterator[Attempt]:
        yield from self.script


def run(counts: Sequence[int | None], **more: Any) -> list[Attempt]:
    w = np.array([0.9, 0.1])
    return [Attempt("w", {}, f"{k} steps", False, w=w, iterations=k, is_continuation=True, **more) for k in counts]


def begun(attempt: Attempt) -> Attempt:
    return replace(attempt, is_continuation=False)


@pytest.mark.parametrize(
    ("attempts", "iterations"),
    [
        (run(CHECKPOINTS), 3000),
        ([begun(attempt) for attempt in run(CHECKPOINTS)], 4440),
        ([*run((10, 30)), begun(run((5,))[0]), *run((7,))], 37),
        (run((10, None, 30)), 30),
        (run((None, None)), None),
        (run((None, 4)), 4),
    ],
    ids=("one run", "six runs", "two runs", "missing count", "none counted", "missing first"),
)
def test_the_iterations_of_a_run_are_those_of_its_last_attempt(attempts: list[Attempt], iterations: int | None) -> None:
    solution = PROGRAM.solve(Scripted(*attempts), merge=False)
    assert solution.iterations == iterations
    assert len(solution.attempts) == len(solution.gaps) == len(attempts)
    assert compare(PROGRAM, [Scripted(*attempts[:-1])]).rows[0].log[0].iterations == attempts[0].iterations


def test_the_second_way_to_ask_a_backend_begins_a_run() -> None:
    """The attempts over merged examples come first, those over the examples as they are then."""
    twice = get_formulation("lpboost").bind([[1.0, -0.5], [-0.5, 1.0], [-0.5, 1.0]], nu=2)
    solution = twice.solve(Scripted(*run((10, 30))), tol=1e-9)
    assert len(solution.path) == 2
    assert solution.iterations == 30 + 10  # of the second way one attempt is taken


class Hasty(Scripted):
    """A backend that claims an optimum after the deadline."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        solution = PROGRAM.solve("highs") if task.program is PROGRAM else task.program.solve("highs")
        w = np.eye(len(solution.w))[0] if task.deadline.passed else solution.w
        yield Attempt("w", {}, "done", True, None if task.deadline.passed else solution.d, w)

    def takes(self, program: Program) -> Capability:
        return Capability(program.formulation.name == "lpboost", "LPBoost only")


@pytest.mark.thorough
def test_a_claim_at_the_deadline_is_found_by_the_check_of_backends() -> None:
    failed = [check.name for check in check_backend(Hasty()).failures]
    assert failed == ["claims"]


class Estimating(Scripted):
    """A backend that supports profiles."""

    def supports_profile(self, profile: Profile) -> Capability:
        return Capability(True)


def test_a_backend_that_supports_profiles_is_in_tables_of_equal_requests() -> None:
    rows = compare(PROGRAM, [Estimating(*run((3,))), Scripted(*run((3,)))], tol="low").rows
    assert [(row.ran, row.profile) for row in rows] == [(True, "low"), (False, "low")]
    assert "no accuracy" in rows[1].reason
