"""Solves for which a run asks the first backend alone: at its end, and if a gap is all rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostopt import boost
from boostopt.boosting.updates import totally_corrective_update as updates
from boostopt.oracles import GivenMargins
from boostopt.programs.program import Program
from boostopt.solving.solution import Solution
from boostopt.solving.solve import solve


@pytest.fixture
def solutions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Solution]]:
    """The backends that are asked, and what they answer."""
    answers = list[tuple[str, Solution]]()

    def record_solve(program: Program, backend: str, *arguments: Any, **more: Any) -> Solution:
        answers.append((backend, solve(program, backend, *arguments, **more)))
        return answers[-1][1]

    monkeypatch.setattr(updates, "solve", record_solve)
    return answers


def test_one_backend_alone_polishes_the_end(solutions: list[tuple[str, Solution]]) -> None:
    oracle = GivenMargins(np.random.default_rng(0).choice([-1.0, 1.0], (60, 30)))
    run = boost("erlpboost", oracle, nu=9.0, epsilon=0.1, update="total")
    (first_backend, _), (last, polished) = solutions[-2:]
    assert first_backend == "auto"
    assert last == updates.FIRST and polished.tol == updates.POLISH_GAP
    assert run.certificate.scaled_gap <= updates.POLISH_GAP


def test_others_are_not_asked_for_a_gap_that_is_all_rounding(solutions: list[tuple[str, Solution]]) -> None:
    # An entropy over so small an eta has a rounding of 4e-8, above what the last round asks for.
    oracle = GivenMargins(np.random.default_rng(0).choice([-1.0, 1.0], (60, 10)))
    run = boost("binary_erlpboost", oracle, nu=6.0, eta=1e-5, epsilon=1e-7, update="total", rules=["practical"])
    assert run.reason.startswith("practical")
    assert min(solution.tol for _, solution in solutions) < 2.0 * run.certificate.slack
    assert {solution.path for _, solution in solutions} == {(updates.FIRST,)}
