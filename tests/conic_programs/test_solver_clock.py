"""Tests of the seconds of solvers apart from those of a proof."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.solver_clock import count_answers, solver_call, solver_clock

TIME = 0.01


def work(seconds: float = TIME) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_clock_runs_during_calls_of_solvers_alone() -> None:
    with solver_call():
        work(0.001)  # there is no clock
    with solver_clock() as clock:
        work()
        assert clock.seconds == 0
        with solver_call():
            work()
            with solver_call():
                work()
        assert 2 * TIME <= clock.seconds < 3 * TIME


def test_a_call_that_fails_is_counted_and_the_clock_goes_on() -> None:
    with solver_clock() as clock:
        with pytest.raises(ValueError, match="none"), solver_call():
            work()
            raise ValueError("none")
        first = clock.seconds
        assert first >= TIME
        with solver_call():
            work()
        assert clock.seconds >= first + TIME


def test_answers_are_counted_and_what_is_done_between_them_is_not() -> None:
    def answers() -> Iterator[int | None]:
        for answer in (1, None, 3):
            work()
            yield answer

    with solver_clock() as clock:
        results = list[int | None]()
        for answer in count_answers(answers()):
            results.append(answer)
            work(5 * TIME)
    assert results == [1, None, 3]
    assert 3 * TIME <= clock.seconds < 6 * TIME


@pytest.mark.parametrize("P", [None, np.eye(2)])
def test_the_seconds_of_a_certificate_contain_those_of_its_solves(P: np.ndarray | None) -> None:
    program = ConicProgram(np.ones((1, 2)), np.ones(2), np.ones(1), np.ones(1), np.zeros(2), np.full(2, np.inf), P)
    with solver_clock() as clock:
        begin = time.process_time()
        certify_problem(program)
        seconds = time.process_time() - begin
    assert 0 < clock.seconds < seconds
