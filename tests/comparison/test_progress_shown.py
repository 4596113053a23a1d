"""Progress of a benchmark: a line on a terminal, few lines elsewhere, and a user's own function as it was."""

from __future__ import annotations

import io
import re
import threading
from contextlib import redirect_stderr
from typing import Any

import pytest
from support.problems import Fake, reference_erlpboost, reference_lpboost, right, rough

from boostopt._utils import progress_display as live
from boostopt.backends.accuracy_profiles import CERTIFIED_MODE
from boostopt.comparison import benchmark
from boostopt.comparison.rendering import progress_output as progress
from boostopt.comparison.rendering.progress_output import BenchmarkProgress, format_duration, request_text
from boostopt.comparison.solve_record import SolveRecord


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


def solves(monkeypatch: pytest.MonkeyPatch, done: int, spent: float, **fields: Any) -> BenchmarkProgress:
    """Return the progress after some of 40 solves, which took some seconds."""
    monkeypatch.setattr(progress, "time", Clock(spent))
    return BenchmarkProgress(("p", "q", "r"), 40, done=done, start_time=0.0, **fields)


# The words


def test_it_says_which_program_which_solve_what_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    progress_after_10 = solves(monkeypatch, 10, 60.0)
    solver = "cvxpy:scs to 1e-05"
    facts = ["2 of 3", "11 of 40", solver, "3 min"]
    full = progress_after_10.line("q", solver)
    assert progress_after_10.line("q", solver, len(full)) == full
    for width, expected in ((len(full), facts), (60, facts[1:]), (40, facts[1::2]), (20, facts[1:2])):
        line = progress_after_10.line("q", solver, width)
        assert len(line) <= width and re.findall("|".join(facts), line) == expected


def test_before_the_first_solve_is_done_nobody_knows_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    line = solves(monkeypatch, 0, 5.0).line("p", "a to 0.1")
    assert re.findall(r"\d+ of \d+", line) == ["1 of 3", "1 of 40"] and line.endswith(", a to 0.1")


@pytest.mark.parametrize(("budget", "remaining"), [(None, 180.0), (100.0, 40.0), (50.0, 0.0), (1e6, 180.0)])
def test_the_time_left_is_the_mean_of_what_is_done_and_within_the_budget(
    monkeypatch: pytest.MonkeyPatch, budget: float | None, remaining: float
) -> None:
    assert solves(monkeypatch, 10, 60.0, budget=budget).remaining_seconds() == remaining


def test_times_are_rough() -> None:
    assert [format_duration(s) for s in (0.1, 42.4, 89, 91, 3599, 5399, 5400, 36000)] == [
        *("1 s", "42 s", "89 s", "2 min", "60 min", "90 min", "1.5 h", "10.0 h")
    ]


def test_a_profile_is_called_by_its_name() -> None:
    assert request_text(None, 1e-8) == request_text(CERTIFIED_MODE, 1e-8) == "to 1e-08"
    assert re.fullmatch(r"\D+ default", request_text("default", 1e-8))


# Where it is shown


def test_on_a_terminal_it_is_one_line_that_is_wiped_out(terminal: Terminal) -> None:
    thread_counts = set[int]()

    class Noting(Fake):
        def attempts(self, task: Any) -> Any:
            thread_counts.add(threading.active_count())
            return super().attempts(task)

    initial_count = threading.active_count()
    backend = Noting("right", right().script)
    programs = {"one": reference_lpboost(), "two": reference_lpboost()}
    with redirect_stderr(terminal):
        benchmark(programs, [backend], [1e-3, 1e-5], repeats=1, progress=True)
    output = terminal.getvalue()
    assert re.search(r"\b[12] of 2, \w+ 1 of 4, right \w+ (0\.001|1e-05)", output)
    assert re.search(r"\b4 of 4, right \w+ (0\.001|1e-05), \w+ 1 s\b", output)
    assert "[4/4]" not in output
    assert output.endswith("\x1b[2K") or output.rstrip().endswith("\x1b[2K")
    assert thread_counts == {initial_count}  # no thread draws while a solve is measured


def test_on_a_terminal_profiles_stand_by_their_names(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        benchmark(reference_erlpboost(), ["interior"], ["low"], repeats=1, progress=True)
    assert re.search(r"\binterior \w+ \w+ low\b", terminal.getvalue())


def test_elsewhere_it_is_a_line_a_second_the_first_and_the_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(live, "time", clock)
    benchmark_progress = BenchmarkProgress(("p",), 6)
    for seconds in (0.1, 0.3, 0.8, 0.3, 0.1, 0.1):
        clock.now += seconds
        benchmark_progress.finish_solve(
            SolveRecord(backend="a", version="", tol=1e-3, result="reached", seconds=seconds)
        )
    output = capsys.readouterr().err
    assert re.findall(r"^\[(\d)/6\] a \w+ 0\.001: reached \w+ (\d\.\d\d) s$", output, re.MULTILINE) == [
        *(("1", "0.10"), ("3", "0.80"), ("6", "0.10"))
    ]
    assert output.count("\n") == 3


def test_lines_name_the_profile_and_what_came(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark(reference_lpboost(), [rough()], [1e-3], repeats=1, progress=True)
    assert re.fullmatch(r"\[1/1\] rough \w+ 0\.001: failed\n", capsys.readouterr().err)
    benchmark(reference_lpboost(), ["interior"], "high", repeats=1, progress=True)
    assert re.fullmatch(r"\[1/1\] interior \w+ \w+ high: reached \w+ \d\.\d\d s\n", capsys.readouterr().err)


def test_a_function_of_ones_own_is_called_after_each_and_nothing_is_written(terminal: Terminal) -> None:
    came = list[tuple[int, int, str]]()
    with redirect_stderr(terminal):
        benchmark(
            reference_lpboost(),
            [right()],
            [1e-3],
            repeats=2,
            progress=lambda k, n, run: came.append((k, n, run.result)),
        )
        benchmark(reference_lpboost(), [right()], [1e-3], repeats=1)
    assert came == [(1, 2, "reached"), (2, 2, "reached")]
    assert terminal.getvalue() == ""
