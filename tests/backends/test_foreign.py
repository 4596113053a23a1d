"""An error of foreign code is a failed attempt; an error of the user's signals is not."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import typechecker
from support.problems import LEAVING, Fake, Panic, Unprintable, reference_erlpboost, reference_lpboost, rough

from boostopt import Outcome, Program, Verdict, compare, get_backend, list_backends
from boostopt.backends.base import Attempt, Capability, Task
from boostopt.backends.classical.quadratic_programs import SOLVERS, QuadraticSolver
from boostopt.backends.external_exceptions import ExternalError, call_external, raise_caught_interrupt
from boostopt.backends.isolation.isolated_backend import isolate_backend
from boostopt.errors import SolverNotFound

WORDS = {
    "leave": "SystemExit: 3",
    "interrupt": "KeyboardInterrupt: ",
    "panic": "Panic: index out of bounds",
    "stop": "GeneratorExit: ",
    "unprintable": "Unprintable: it cannot be printed",
    "surrogate": "ValueError: \\ud800 and \\x1b[2J",
}


@pytest.fixture(autouse=True)
def handlers_stay() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == handlers


@pytest.mark.parametrize("action", LEAVING)
def test_any_exception_of_a_backend_is_a_failed_attempt(action: str) -> None:
    for backend in (Fake("leaving", action=action), isolate_backend(Fake("leaving", action=action))):
        solution = reference_lpboost().solve(backend)
        assert (solution.outcome, solution.solver_status) == (Outcome.FAILED, "raised")
        assert solution.attempts[0].error == WORDS[action]
    rows = compare(reference_lpboost(), [Fake("leaving", action=action), "interior"]).rows
    assert [row.result for row in rows] == ["failed", "reached"]
    assert rows[0].error == WORDS[action]


def test_attempts_before_an_error_are_kept() -> None:
    solution = reference_lpboost().solve(rough("rough", action="leave"))
    assert [a.status for a in solution.attempts] == ["fine", "raised"]
    assert solution.verdict is Verdict.CLAIMED


class Confused(Fake):
    """A backend that leaves when it is asked what it takes."""

    def takes(self, program: Program) -> Capability:
        raise LEAVING[self.action]


@pytest.mark.parametrize("action", LEAVING)
def test_any_exception_of_takes_is_the_reason(action: str) -> None:
    row = compare(reference_lpboost(), [Confused("confused", action=action)]).rows[0]
    assert row.result == "not run"
    assert row.reason.startswith("confused ") and row.reason.endswith(f": {WORDS[action]}")


class Vague(Fake):
    """A backend whose `takes` ends without a value, or with one that is neither a capability nor a truth value."""

    def takes(self, program: Program) -> Any:
        return {"nothing": None, "word": "yes", "number": 1}[self.action]


@pytest.mark.parametrize(("action", "value"), [("nothing", "None"), ("word", "'yes'"), ("number", "1")])
def test_takes_without_an_answer_is_a_refusal_that_names_the_value(action: str, value: str) -> None:
    with typechecker.unchecked():
        row = compare(reference_lpboost(), [Vague("vague", action=action)]).rows[0]
        with pytest.raises(
            SolverNotFound, match=rf"takes\(\) of vague returned {value} where .*Capability.*Use \w+, or"
        ):
            reference_lpboost().solve(Vague("vague", action=action))
    assert row.result == "not run" and f"returned {value}" in row.reason


def test_a_ladder_goes_on_after_a_rung_that_panics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clarabel is written in Rust, whose panics are no Exceptions in Python."""
    from cvxpy.reductions.solvers.solving_chain import SolvingChain

    solve, panics = SolvingChain.solve_via_data, [Panic("unwrapped"), Unprintable()]

    def panicking(*arguments: Any, **named: Any) -> Any:
        if panics:
            raise panics.pop(0)
        return solve(*arguments, **named)

    monkeypatch.setattr(SolvingChain, "solve_via_data", panicking)
    solution = reference_erlpboost().solve("cvxpy:clarabel", tol=1e-6)
    assert [a.status for a in solution.attempts[:2]] == ["raised", "raised"]
    assert solution.attempts[0].error == "Panic: unwrapped"
    assert solution.verdict is Verdict.BOUNDED


# Ctrl-C


class Pressed(Fake):
    """A backend while which somebody presses Ctrl-C; it may swallow that, or make something else of it."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        try:
            signal.raise_signal(getattr(signal, self.reason or "SIGINT"))
        except BaseException as interrupt:
            if self.action == "swallow":
                pass
            elif self.action == "translate":
                raise RuntimeError("the solver has failed") from interrupt
            else:
                raise
        yield from rough().script

    def takes(self, program: Program) -> Capability:
        return Capability(True)


@pytest.mark.parametrize("action", ["", "swallow", "translate"])
def test_ctrl_c_of_the_user_passes(action: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        reference_lpboost().solve(Pressed("pressed", action=action))
    with pytest.raises(KeyboardInterrupt):
        compare(reference_lpboost(), [Pressed("pressed", action=action), "interior"])


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGALRM"])
def test_handlers_of_other_signals_may_raise(name: str) -> None:
    def handler(number: int, frame: object) -> None:
        raise SystemExit("ended")

    number = getattr(signal, name)
    old_handler = signal.signal(number, handler)
    try:
        with pytest.raises(SystemExit, match=r"^ended$"):
            reference_lpboost().solve(Pressed("pressed", reason=name))
    finally:
        signal.signal(number, old_handler)


def test_solve_with_ignored_interrupts_continues() -> None:
    old_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert reference_lpboost().solve(Pressed("pressed")).verdict is Verdict.CLAIMED
    finally:
        signal.signal(signal.SIGINT, old_handler)


def test_a_handler_that_only_notes_ctrl_c_is_asked_and_nothing_ends() -> None:
    signals = list[int]()
    old_handler = signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    try:
        assert reference_lpboost().solve(Pressed("pressed")).verdict is Verdict.CLAIMED
    finally:
        signal.signal(signal.SIGINT, old_handler)
    assert signals == [signal.SIGINT]


def test_an_interrupt_whose_sender_cannot_be_told_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """If something other than Python handles Ctrl-C, a KeyboardInterrupt may be the user's."""

    def interrupting() -> None:
        raise KeyboardInterrupt

    with pytest.raises(ExternalError, match="KeyboardInterrupt"):
        call_external(interrupting)
    getsignal = signal.getsignal
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGINT else getsignal(number))
    with pytest.raises(KeyboardInterrupt):
        call_external(interrupting)
    monkeypatch.undo()


def test_an_interrupt_that_a_solver_took_for_itself_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_caught_interrupt("Solved")
    with pytest.raises(KeyboardInterrupt):
        raise_caught_interrupt("interrupted")
    if "sqp:osqp" in list_backends():
        solver = SOLVERS["osqp"]

        def interrupt_solve(*arguments: Any) -> Any:
            return replace(solver.solve(*arguments), status="interrupted")

        monkeypatch.setitem(SOLVERS, "osqp", QuadraticSolver("osqp", "osqp", interrupt_solve))
        with pytest.raises(KeyboardInterrupt):
            reference_erlpboost().solve(get_backend("sqp:osqp"))


class Silent(Fake):
    """A backend that states no phases."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        for _ in range(2):
            time.sleep(0.05)
            yield Attempt("w", {}, "fine", True, w=np.array([1.0, 0.0, 0.0]))


class Timed(Silent):
    """A backend that states one."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        for attempt in super().attempts(task):
            yield replace(attempt, times={"build": 0.01})


def test_the_time_of_a_backend_without_phases_is_that_of_a_solver() -> None:
    for backend in (Silent("silent"), isolate_backend(Silent("silent"))):
        times = reference_lpboost().solve(backend).times
        assert 0.1 <= times["solve"] <= times["total"]
    (row,) = compare(reference_lpboost(), [Silent("silent")]).rows
    assert row.seconds_solve is not None and 0.1 <= row.seconds_solve <= row.seconds
    assert reference_lpboost().solve(Timed("timed")).times["solve"] == 0.0
