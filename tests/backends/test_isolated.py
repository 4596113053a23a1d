"""Solvers in a process of their own: what they do there is an attempt in words here, and nothing else happens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.problems import Fake, attempt, bent, noisy_stumps, reference_erlpboost, reference_lpboost, right, rough

from boostopt import Outcome, Program, Verdict, compare, get_backend, get_formulation
from boostopt.backends.base import Attempt, Backend, Capability, Deadline, Task, WarmStart
from boostopt.backends.guarded_backend import sanitize_attempt
from boostopt.backends.isolation.isolated_backend import IsolatedBackend, RemoteState, isolate_backend
from boostopt.backends.isolation.worker_pool import WorkerDied, WorkerProcess, close_idle_processes, idle_process_id

TSALLIS = Path(__file__).parents[1] / "prototypes" / "tsallis.py"


@pytest.fixture(autouse=True, scope="module")
def no_process_is_left() -> Iterator[None]:
    yield
    close_idle_processes()
    assert idle_process_id() is None


def task(program: Program, seconds: float | None = None, start: WarmStart | None = None) -> Task:
    return Task(program, 1e-8, Deadline.after(seconds), start)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# The same as in this process


@pytest.mark.thorough
def test_an_isolated_solver_gives_the_certificate_that_it_gives_here() -> None:
    isolated = reference_erlpboost().solve("isolated:cvxpy:clarabel")
    direct = reference_erlpboost().solve("cvxpy:clarabel")
    assert (isolated.backend, isolated.version, isolated.solver_status) == (
        "isolated:cvxpy:clarabel",
        direct.version,
        direct.solver_status,
    )
    assert (isolated.certificate.lower, isolated.certificate.upper) == (
        direct.certificate.lower,
        direct.certificate.upper,
    )
    assert [a.form for a in isolated.attempts] == [a.form for a in direct.attempts]
    assert isolated.attempts[0].options.keys() == direct.attempts[0].options.keys()


def test_one_process_serves_one_solve_after_the_other_and_other_programs() -> None:
    pids = list[int | None]()
    for program in (reference_lpboost(), reference_lpboost(), reference_erlpboost()):
        assert program.solve("isolated:cvxpy:scs", 1e-4).verdict is Verdict.BOUNDED
        pids.append(idle_process_id())
    assert pids[0] is not None and len(set(pids)) == 1


def test_attempts_come_one_by_one_and_none_is_made_that_is_not_asked_for() -> None:
    script = (rough().script[0], right().script[0])
    attempts = isolate_backend(Fake("fake", script, action="abort")).attempts(task(reference_lpboost()))
    first = next(attempts)
    assert first.d is not None
    np.testing.assert_array_equal(first.d, np.eye(6)[0])
    attempts.close()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    pid = idle_process_id()
    assert pid is not None and alive(pid)  # it was stopped before it could abort


def test_an_isolated_backend_has_the_programs_and_version_of_the_backend() -> None:
    wrapped = isolate_backend(get_backend("cvxpy:highs"))
    assert wrapped.version == get_backend("cvxpy:highs").version
    assert wrapped.takes(reference_lpboost())
    assert not wrapped.takes(reference_erlpboost())
    assert isolate_backend(wrapped) is wrapped
    assert isinstance(get_backend("isolated:cvxpy:highs"), IsolatedBackend)


# What goes wrong there


def failed_attempt(backend: Backend, seconds: float | None = None, grace: float = 0.5) -> Attempt:
    """The last attempt of a solve that has no answer, with the verdict that nothing is known."""
    solution = reference_lpboost().solve(isolate_backend(backend, grace), time_limit=seconds)
    assert (solution.outcome, solution.verdict) == (Outcome.FAILED, Verdict.NONE)
    assert solution.certificate.lower <= 2 / 530 <= solution.certificate.upper
    return solution.attempts[-1]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_is_an_attempt_with_the_signal_and_the_last_words() -> None:
    crash = failed_attempt(Fake("crashing", action="abort"))
    assert (crash.status, crash.claims) == ("crashed", False)
    last = "double free or corruption (out)"
    assert crash.statistics["printed"] == last
    assert re.search(rf'\bcrashing\b.*\bSIGABRT\b.*\b134\b.*"{re.escape(last)}"', crash.error or "")
    assert reference_lpboost().solve("isolated:cvxpy:highs").verdict is Verdict.BOUNDED


@pytest.mark.thorough
def test_an_exit_is_a_crash_too() -> None:
    attempt_record = failed_attempt(Fake("leaving", action="exit"))
    assert attempt_record.status == "crashed"
    assert re.search(r"\bleaving\b.*\b3$", attempt_record.error or "")


@pytest.mark.thorough
def test_attempts_before_a_crash_are_kept() -> None:
    solution = reference_lpboost().solve(isolate_backend(rough("rough", action="abort")))
    assert [a.status for a in solution.attempts] == ["fine", "crashed"]
    assert solution.best is solution.attempts[0]
    assert solution.verdict is Verdict.CLAIMED


@pytest.mark.thorough
def test_an_answer_that_suffices_is_taken_before_the_crash() -> None:
    solution = reference_lpboost().solve(isolate_backend(right("right", action="abort")))
    assert (len(solution.attempts), solution.verdict) == (1, Verdict.BOUNDED)


@pytest.mark.thorough
def test_a_backend_that_hangs_is_killed_when_limit_and_grace_are_over() -> None:
    fake = Fake("hanging", action="hang")
    assert isolate_backend(fake).prepare(reference_lpboost())
    pid, began = idle_process_id(), time.perf_counter()
    hung = failed_attempt(fake, seconds=0.5, grace=0.5)
    assert 0.9 < time.perf_counter() - began < 10
    assert hung.status.startswith("killed after ")
    assert re.search(r"\bhanging\b.*\b0\.5 s\b", hung.error or "")
    assert pid is not None and not alive(pid)


@pytest.mark.parametrize(
    "fake, error",
    [
        (Fake("nan", (attempt([np.nan] * 6, [np.inf] * 3, claims=False),)), r"\bno finite\b"),
        (Fake("text", ("nothing",)), "'nothing'.* attempt"),
        (Fake("raising", action="raise"), r"^RuntimeError: [a-z ]* again$"),
        (Fake("long", (attempt([0.1] * 7, claims=False),)), r"\(7,\).* d\b.*\b6\b"),
        (Fake("object", (bent(attempt(claims=False), d="d"),)), r"\bstr\b.* d\b"),
    ],
    ids=lambda value: value.name if isinstance(value, Fake) else "",
)
def test_garbage_is_an_attempt_in_words(fake: Fake, error: str) -> None:
    assert re.search(error, failed_attempt(fake).error or "")


class Bare(Backend):
    """The common base of the backends below."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def version(self) -> str:
        return "1"

    def takes(self, program: Program) -> Capability:
        return Capability(True)


class Endless(Bare):
    """Yields answers for ever, and none of them suffices."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        while True:
            time.sleep(0.02)
            yield Attempt("w", {}, "fine", True, w=np.array([1.0, 0.0, 0.0]))


def test_attempts_without_end_stop_at_the_time_limit() -> None:
    backend, program = isolate_backend(Endless()), reference_lpboost()
    assert backend.prepare(program)
    pid, began = idle_process_id(), time.perf_counter()
    came = list(islice(backend.attempts(task(program, 0.5)), 500))  # those of ten seconds
    assert 0.5 <= time.perf_counter() - began < 5.5
    assert len(came) > 1 and {a.status for a in came} == {"fine"}
    assert idle_process_id() == pid  # it was stopped, not killed


def test_a_first_attempt_within_the_grace_is_still_taken() -> None:
    backend, program = isolate_backend(Endless()), reference_lpboost()
    assert backend.prepare(program)
    assert [a.status for a in backend.attempts(task(program, 1e-9))] == ["fine"]


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="long double is float64 here")
def test_numbers_beyond_float64_become_infinite_without_a_warning() -> None:
    long = bent(attempt(claims=False), w=np.array([1, 0, np.finfo(np.longdouble).max]))
    with np.errstate(all="raise"):
        checked = sanitize_attempt(long, reference_lpboost())
    assert checked.w is not None and checked.w.dtype == np.float64
    np.testing.assert_array_equal(checked.w, [1.0, 0.0, np.inf])


def test_a_lie_is_certified_here() -> None:
    solution = reference_lpboost().solve(isolate_backend(rough()))
    assert solution.verdict is Verdict.CLAIMED
    assert solution.certificate.gap > 0.1


def test_output_of_python_and_of_c_is_kept_with_the_attempt(capfd: pytest.CaptureFixture[str]) -> None:
    solution = reference_lpboost().solve(isolate_backend(right("loud", action="print")))
    assert solution.verdict is Verdict.BOUNDED
    lines = solution.attempts[0].statistics["printed"].splitlines()
    assert sorted(lines) == ["by C to 1", "by Python to 1", "by Python to 2"]
    assert capfd.readouterr() == ("", "")


class Records:
    """A class of options that the parent must not need."""


def test_options_of_any_kind_come_back_as_plain_values() -> None:
    options: dict[str, Any] = {"a": np.float64(0.5), "b": (1, {"c": Records})}
    sent = next(iter(isolate_backend(right(options=options)).attempts(task(reference_lpboost()))))
    assert sent.options == {"a": 0.5, "b": [1, {"c": str(Records)}]}


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_in_a_process_that_others_have_used_is_tried_again_in_a_fresh_one() -> None:
    reference_lpboost().solve(isolate_backend(Damaging()))
    pid = idle_process_id()
    solution = reference_lpboost().solve(isolate_backend(Fragile()))
    assert [a.status for a in solution.attempts] == ["fine"]
    assert idle_process_id() != pid


class Damaging(Bare):
    """Leaves its process damaged."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        os.environ["DAMAGED"] = "yes"
        yield Attempt("w", {}, "fine", True, w=np.array([1.0, 0.0, 0.0]))


class Fragile(Bare):
    """Dies in a process that is damaged."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        if "DAMAGED" in os.environ:
            os.abort()
        yield Attempt("w", {}, "fine", True, w=np.array([1.0, 0.0, 0.0]))


# Warm starts


class Counting(Bare):
    """A backend whose state is how often it was called; a lock in it, so that it cannot leave its process."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        start = task.start
        came = 0 if start is None or start.backend != self.name or start.state is None else start.state[0]
        w = np.array([1.0, 0.0, 0.0]) if start is None or start.w is None else start.w
        yield Attempt("w", {}, f"call {came + 1}", False, w=w, state=(came + 1, threading.Lock()))


@pytest.mark.thorough
def test_the_state_stays_in_the_process_and_is_found_there_again() -> None:
    backend, program = isolate_backend(Counting()), reference_lpboost()
    first = program.solve(backend)
    assert isinstance(first.start.state, RemoteState)
    second = program.solve(backend, start=first)
    assert (first.solver_status, second.solver_status) == ("call 1", "call 2")
    close_idle_processes()  # a new process knows nothing of it
    assert program.solve(backend, start=second).solver_status == "call 1"


# What cannot be isolated


@pytest.mark.untyped  # checks of types wrap the class of the parameters, which pickle then does not find
@pytest.mark.thorough
def test_a_page_in_a_file_is_found_there_also_with_functions_of_its_own() -> None:
    program = get_formulation(TSALLIS).bind(noisy_stumps(40, 4), nu=5, eta=3)
    solution = program.solve("isolated:cvxpy:clarabel", 1e-6)
    assert solution.verdict is Verdict.BOUNDED
    assert isolate_backend(get_backend("cvxpy:clarabel")).prepare(program)


BACKEND_SOURCE = """
import numpy as np
from boostopt.backends.base import Attempt, Backend, Capability

class Elsewhere(Backend):
    name = "elsewhere"
    version = "1"

    def takes(self, program):
        return Capability(True)

    def attempts(self, task):
        yield Attempt("w", {}, "fine", True, w=np.array([1.0, 0.0, 0.0]))
"""


@pytest.mark.thorough
def test_a_backend_in_a_file_that_no_name_finds_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BACKEND_SOURCE)
    spec = spec_from_file_location("named_otherwise", tmp_path / "mine.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["named_otherwise"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        assert isolate_backend(module.Elsewhere()).prepare(reference_lpboost())
    finally:
        del sys.modules["named_otherwise"]


def unsent() -> Fake:
    """A backend with a right answer that no pickle takes."""
    return Fake("local", right().script, queries=(Notes(),))


class Notes(list[Any]):
    """Notes behind a lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_a_backend_that_cannot_be_sent_is_not_run_and_says_what_to_do() -> None:
    backend = isolate_backend(unsent())
    reason = backend.prepare(reference_lpboost()).reason
    assert re.search(r"\bbackend local\b.*: TypeError: .*_thread\.lock\b.*\. State\b.*\bmodule\b.*\bfile\.$", reason)
    solution = reference_lpboost().solve(backend)
    assert (solution.outcome, solution.solver_status) == (Outcome.FAILED, "not isolated")
    assert solution.attempts[0].error == reason


def test_backend_that_cannot_be_isolated_runs_in_this_process_on_request() -> None:
    solution = reference_lpboost().solve(isolate_backend(unsent(), fall_back=True))
    assert solution.verdict is Verdict.BOUNDED
    assert re.match(r"no: .*\blocal\b.*\bTypeError: ", solution.attempts[0].statistics["isolated"])


def test_a_program_that_cannot_be_sent_says_so() -> None:
    lock, program = threading.Lock(), reference_lpboost()
    program.examples.__dict__["lock"] = lock
    reason = isolate_backend(get_backend("cvxpy:highs")).prepare(program).reason
    assert re.search(r"\bprogram of lpboost\b.*\bTypeError: ", reason)


SCRIPT = """
import os
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from boostopt import Verdict, get_backend
from boostopt.authoring import (
    COUNT, CappedSimplex, CvxpyRegularizer, Formulation, MaximumEdge, parameter, prototype
)
from boostopt.backends.base import Attempt, Backend, Capability
from boostopt.backends.isolation.isolated_backend import isolate_backend
from boostopt.backends.isolation.worker_pool import idle_process_id

print("running")
HALVES = np.array([0.5, 0.5])

class Square(CvxpyRegularizer):
    def __init__(self, p, examples):
        super().__init__(CappedSimplex(examples.c, p.nu), lambda d: cp.sum_squares(d - HALVES), inside=HALVES)

class Page(Formulation):
    name = "page"

    @dataclass(frozen=True)
    class Parameters:
        nu: float = parameter("a number", COUNT)

    def regularizer(self, p, examples):
        return Square(p, examples)

    def edge_function(self, p):
        return MaximumEdge()

class Mine(Backend):
    name = "mine"
    version = "1"

    def takes(self, program):
        return Capability(isinstance(program.regularizer, Square))

    def attempts(self, task):
        yield Attempt("w", {}, f"in {os.getpid()}", True, d=HALVES)

short = prototype("short", lambda p, examples: Square(p, examples), nu=parameter("a number", COUNT))
for page in (Page(), short, prototype("nameless", lambda p, examples: Square(p, examples), nu=parameter("nu", COUNT))):
    program = page.bind([[1.0, 0.5], [-1.0, 0.5]], nu=1)
    for backend in (Mine(), get_backend("cvxpy:clarabel")):
        solution = program.solve(isolate_backend(backend), tol=1e-6)
        print(page.name, solution.verdict.name, solution.solver_status == f"in {idle_process_id()}")
"""


@pytest.mark.thorough
def test_a_script_is_not_run_again_and_what_it_defines_runs_isolated(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.splitlines() == [
        "running",
        *[f"{page} BOUNDED {mine}" for page in ("page", "short", "nameless") for mine in (True, False)],
    ]
    assert done.stderr == ""


# Processes


INTERRUPTED = """
import sys
sys.path.insert(0, {tests!r})
from support.problems import Fake, reference_lpboost
from boostopt.backends.isolation.isolated_backend import isolate_backend
from boostopt.backends.isolation.worker_pool import idle_process_id

backend = isolate_backend(Fake("hanging", action="hang"))
assert backend.prepare(reference_lpboost())
print(idle_process_id(), flush=True)
reference_lpboost().solve(backend)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_the_child_ends_with_its_parent_and_with_ctrl_c(end: signal.Signals) -> None:
    code = INTERRUPTED.format(tests=str(Path(__file__).parents[1]))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        assert parent.stdout is not None and parent.stderr is not None
        child = int(parent.stdout.readline())
        time.sleep(0.3)
        parent.send_signal(end)
        error = parent.stderr.read().decode()
        parent.wait(timeout=30)
    assert ("KeyboardInterrupt" in error) == (end is signal.SIGINT)
    deadline = time.perf_counter() + 10
    while alive(child) and time.perf_counter() < deadline:
        time.sleep(0.05)
    assert not alive(child)


EXIT_SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from support.problems import reference_lpboost
from boostopt import get_backend
from boostopt.backends.base import Deadline, Task
from boostopt.backends.isolation.isolated_backend import isolate_backend
from boostopt.backends.isolation.worker_pool import acquire

program = reference_lpboost()
attempts = isolate_backend(get_backend("cvxpy:highs")).attempts(Task(program, 1e-8, Deadline(None)))
assert next(attempts).has_iterate
other = acquire()
import tempfile
print(tempfile.gettempdir(), other.pid)
"""


@pytest.mark.thorough
def test_a_script_ends_without_a_warning_whatever_is_under_way(tmp_path: Path) -> None:
    """One process is in the middle of a solve, one has been taken; nothing is left of them afterwards."""
    code = EXIT_SCRIPT.format(tests=str(Path(__file__).parents[1]))
    environment = {**os.environ, "TMPDIR": str(tmp_path), "TEMP": str(tmp_path), "TMP": str(tmp_path)}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment)
    folder, pid = done.stdout.rsplit(maxsplit=1)
    assert (done.returncode, done.stderr, Path(folder)) == (0, "", tmp_path)
    assert not alive(int(pid))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_a_process_that_is_gone_is_replaced() -> None:
    assert isolate_backend(get_backend("cvxpy:highs")).prepare(reference_lpboost())
    pid = idle_process_id()
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    while idle_process_id() is not None:
        time.sleep(0.01)
    assert reference_lpboost().solve("isolated:cvxpy:highs").verdict is Verdict.BOUNDED


@pytest.mark.thorough
def test_two_at_a_time_have_two_processes() -> None:
    program = reference_lpboost()
    one, two = (isolate_backend(rough(name)).attempts(task(program)) for name in ("one", "two"))
    assert (next(one).status, next(two).status) == ("fine", "fine")
    assert (list(one), list(two)) == ([], [])


@pytest.mark.thorough
def test_a_process_says_how_it_ended_whenever_it_is_asked() -> None:
    process = WorkerProcess()
    process.kill()
    with pytest.raises(WorkerDied, match="SIGKILL"):
        process.request(("stop",), 1.0)


@pytest.mark.thorough
def test_in_a_comparison_every_fault_is_a_row_and_the_next_backend_runs() -> None:
    faults = [Fake("aborts", action="abort"), Fake("hangs", action="hang"), rough("lies"), Fake("none", reason="never")]
    comparison = compare(
        reference_lpboost(), [*faults, right("loud", action="print"), "cvxpy:clarabel"], time_limit=2.0, isolate=True
    )
    assert [row.result for row in comparison.rows] == ["failed", "failed", "failed", "not run", "reached", "reached"]
    assert [row.backend for row in comparison.rows][-1] == "cvxpy:clarabel"
    assert all(row.isolated for row in comparison.rows)
    assert comparison.overlap and comparison.has_target_gap
    records = [row.record() for row in comparison.rows]
    assert "SIGABRT" in records[0]["error"] and "was killed" in records[1]["error"]
    assert "by C to 1" in records[4]["printed"]
    assert records[5]["answered_by"] == "cvxpy:clarabel"
    assert idle_process_id() is None
