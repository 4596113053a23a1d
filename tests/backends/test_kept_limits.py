"""Backends that print, hang, hold Python's lock, allocate or lie: no limit is escaped, and nothing is left behind."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.problems import Fake, noisy_stumps, reference_erlpboost, reference_lpboost, rough

from boostopt import Outcome, Solution, Verdict, benchmark, boost, compare, get_backend, get_formulation, list_backends
from boostopt.backends.base import Backend, Deadline, Task
from boostopt.backends.classical.sqp import SequentialQuadratic
from boostopt.backends.cvxpy.solver_options import SOLVERS, SolverSpec
from boostopt.backends.isolation import isolated_backend, worker_pool
from boostopt.backends.isolation.isolated_backend import MAX_OUTPUT_LENGTH, isolate_backend
from boostopt.backends.isolation.output_tail import MAX_TAIL_BYTES, OutputTail
from boostopt.backends.isolation.worker_pool import WorkerProcess, close_idle_processes, idle_process_id
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import GivenMargins
from boostopt.programs.program import Program

FAULTS = ("hang", "hold", "flood", "allocate")
LIMIT = 1.0

SLACK = 30.0
"""Seconds that a busy machine may add: a solver that escapes its limit would take an hour."""


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The temporary folder stays empty, and no process is there at the end."""
    close_idle_processes()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []
    close_idle_processes()
    assert idle_process_id() is None


@pytest.fixture
def killed_pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of the processes that were killed before their answer."""
    pids, kill = list[int](), WorkerProcess.kill

    def record_kill(process: WorkerProcess) -> None:
        if process.pending_replies and process.pid not in pids:
            pids.append(process.pid)
        kill(process)

    monkeypatch.setattr(WorkerProcess, "kill", record_kill)
    return pids


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def run_within(seconds: float, work: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    result = work()
    assert time.perf_counter() - began < seconds + SLACK
    return result


# Everywhere


@pytest.mark.thorough
@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_solve_ends_at_its_limit(fault: str, isolate: bool, killed_pids: list[int]) -> None:
    backend, program = Fake(fault, action=fault), reference_lpboost()
    assert isolate_backend(backend).prepare(program)
    pid = idle_process_id()
    solution: Solution = run_within(LIMIT, lambda: program.solve(backend, time_limit=LIMIT, isolate=isolate))
    assert (solution.outcome, solution.verdict, solution.path) == (Outcome.FAILED, Verdict.NONE, (fault,))
    assert solution.attempts[-1].status.startswith("killed after ")
    assert re.search(rf"\b{fault}\b.*\b{LIMIT:g} s\b", solution.attempts[-1].error or "")
    assert killed_pids == [pid] and is_gone(killed_pids[0])
    assert solution.certificate.lower <= 2 / 530 <= solution.certificate.upper


@pytest.mark.thorough
def test_a_comparison_ends_at_its_limits(killed_pids: list[int]) -> None:
    backends = [*(Fake(fault, action=fault) for fault in FAULTS), rough("lies"), "interior"]
    result = run_within(4 * LIMIT, lambda: compare(reference_lpboost(), backends, time_limit=LIMIT))
    assert [row.result for row in result.rows] == [*["failed"] * 5, "reached"]
    assert [row.isolated for row in result.rows] == [*[True] * 4, False, False]
    assert all(row.backend in row.error and "was killed" in row.error for row in result.rows[:4])
    assert result.rows[4].solution is not None and result.rows[4].solution.verdict is Verdict.CLAIMED
    assert result.overlap and result.has_target_gap
    assert len(killed_pids) == 4 and all(map(is_gone, killed_pids))
    assert idle_process_id() is None


@pytest.mark.thorough
def test_a_benchmark_ends_at_its_limits(killed_pids: list[int]) -> None:
    backends = [Fake(fault, action=fault) for fault in ("hold", "flood")]
    result = run_within(
        4 * LIMIT, lambda: benchmark(reference_lpboost(), backends, [1e-3], repeats=1, time_limit=LIMIT)
    )
    assert [run.result for run in result.runs] == ["failed", "failed"]
    assert all("was killed" in run.reason and run.isolated for run in result.runs)
    assert len(killed_pids) == 4 and all(map(is_gone, killed_pids))  # each was tried once before it was measured
    assert idle_process_id() is None


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ["hold", "flood"])
def test_boosting_ends_at_its_limit(fault: str, killed_pids: list[int]) -> None:
    oracle, backend = GivenMargins(noisy_stumps(40, 8)), Fake(fault, action=fault)
    assert isolate_backend(backend).prepare(reference_lpboost())
    run = run_within(LIMIT, lambda: boost("lpboost", oracle, nu=4, backend=backend, time_limit=LIMIT))
    assert (run.reason, run.rounds) == (StopReason.TIME_LIMIT, 1)
    assert len(killed_pids) == 1 and is_gone(killed_pids[0])


@pytest.mark.thorough
def test_endless_output_fills_neither_memory_nor_disk() -> None:
    backend, program = Fake("flood", action="flood"), reference_lpboost()
    assert isolate_backend(backend).prepare(program)
    attempt = program.solve(backend, time_limit=LIMIT).attempts[-1]
    output = attempt.statistics["printed"]
    assert 0 < len(output) <= MAX_OUTPUT_LENGTH and "still here" in output
    assert 'it printed "' in (attempt.error or "")


def test_the_end_of_the_output_is_kept_without_marks() -> None:
    read, write = os.pipe()
    tail = OutputTail(open(read, "rb", buffering=0), b"<mark>")
    with open(write, "wb", buffering=0) as stream:
        stream.write(b"begin<ma")
        stream.write(b"rk>")
        assert tail.take(1) == "begin"
        for _ in range(100):
            stream.write(b"x" * 50_000)
        stream.write(b"end<mark>")
        text = tail.take(2)
        assert len(text) == MAX_TAIL_BYTES and text.endswith("xend")
        stream.write(b"last")
    assert tail.take(3) == "last"
    tail.join()


# Which run in a process of their own


@pytest.mark.thorough
def test_backends_that_keep_a_limit_need_no_worker_process(killed_pids: list[int]) -> None:
    small, large = reference_erlpboost(), get_formulation("erlpboost").bind(noisy_stumps(4000, 30), nu=400, eta=10)
    for name in list_backends():
        backend = get_backend(name)
        assert backend.keeps_limit(small), name
        has_process = name in (
            "interior",
            "augmented_lagrangian",
            "sqp:highs",
        )  # the last has a process of its own anyway
        assert backend.keeps_limit(large) == has_process, name
        assert isolate_backend(backend).keeps_limit(large)
    assert not SolverSpec().has_time_limit and not SOLVERS["ECOS"].has_time_limit  # no option, no promise
    assert all(SOLVERS[name].has_time_limit for name in ("CLARABEL", "SCS", "HIGHS", "OSQP", "SCIPY"))
    assert small.solve("cvxpy:clarabel", tol=1e-6, time_limit=30).verdict is Verdict.BOUNDED
    assert idle_process_id() is None
    solution = large.solve("cvxpy:clarabel", tol=1e-3, time_limit=60)
    assert (solution.backend, solution.path) == ("cvxpy:clarabel", ("cvxpy:clarabel",))
    assert solution.verdict is Verdict.BOUNDED
    assert idle_process_id() is not None and killed_pids == []


class Silly(Fake):
    """A backend that does not know its own clock."""

    def keeps_limit(self, program: Program) -> bool:
        raise RuntimeError("which limit?")


@pytest.mark.thorough
def test_backend_that_raises_about_its_limit_runs_in_a_worker_process() -> None:
    row = compare(reference_lpboost(), [Silly("silly", rough().script)], time_limit=60).rows[0]
    assert row.isolated and row.solution is not None and row.solution.verdict is Verdict.CLAIMED


def test_backend_that_cannot_be_pickled_runs_in_this_process_with_a_warning() -> None:
    class Local(Fake):
        """A backend that waits for itself."""

        lock = threading.Lock()

        def keeps_limit(self, program: Program) -> bool:
            return False

    local = Local("local", rough().script)
    with pytest.warns(RuntimeWarning, match=r"\blocal\b.*\blimit\b.*\bmodule\b"):
        solution = reference_lpboost().solve(local, time_limit=60)
    assert solution.verdict is Verdict.CLAIMED
    assert re.match(r"no: .*\blocal\b", solution.attempts[0].statistics["isolated"])
    with pytest.warns(RuntimeWarning, match=r"\blocal\b.*\blimit\b"):
        row = compare(reference_lpboost(), [local], time_limit=60).rows[0]
    assert (row.result, row.isolated) == ("failed", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reference_lpboost().solve(local).verdict is Verdict.CLAIMED


@pytest.mark.thorough
@pytest.mark.parametrize("isolate", [False, True])
def test_the_limit_of_a_solve_begins_when_its_process_is_ready(isolate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 2.0
    monkeypatch.setattr(worker_pool, "WORKER_CODE", f"import time; time.sleep({seconds}){worker_pool.WORKER_CODE}")
    backend: Backend = Silly("silly", rough().script)
    backend = isolate_backend(backend) if isolate else backend
    start_time = time.perf_counter()
    solution = reference_lpboost().solve(backend, time_limit=seconds / 2)
    assert time.perf_counter() - start_time > seconds
    assert [a.status for a in solution.attempts] == ["fine"]


@pytest.mark.thorough
def test_a_process_that_hangs_while_it_starts_is_ready_for_the_next_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_code = f"import time; time.sleep(3){worker_pool.WORKER_CODE}"
    backend, program = Silly("silly", rough().script), reference_lpboost()
    with monkeypatch.context() as patch:
        patch.setattr(worker_pool, "WORKER_CODE", slow_code)
        patch.setattr(isolated_backend, "START_SECONDS", 0.1)
        first = program.solve(backend, time_limit=0.1)
    assert [a.status for a in first.attempts] == ["not started"]
    assert re.search(r"\b0\.1 s\b", first.attempts[0].error or "")
    pid = idle_process_id()
    assert pid is not None
    second = program.solve(backend, time_limit=100)
    assert [a.status for a in second.attempts] == ["fine"]
    assert idle_process_id() == pid


# Ends


STARTED = """
import sys
sys.path.insert(0, {tests!r})
from support.problems import Fake, reference_lpboost
from boostopt.backends.isolation.isolated_backend import isolate_backend
from boostopt.backends.isolation.worker_pool import idle_process_id

backend = isolate_backend(Fake("holding", action="hold"))
assert backend.prepare(reference_lpboost())
print(idle_process_id(), flush=True)
reference_lpboost().solve(backend)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no kernel ends a process with its parent")
@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM"])
def test_a_solver_that_holds_the_lock_ends_with_its_parent(end: str) -> None:
    code = STARTED.format(tests=str(Path(__file__).parents[1]))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(0.3)
        parent.send_signal(getattr(signal, end))
        parent.wait(timeout=30)
    deadline = time.perf_counter() + SLACK
    while not is_gone(child) and time.perf_counter() < deadline:
        time.sleep(0.02)
    assert is_gone(child)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no kernel ends a process with its parent")
def test_a_process_whose_parent_was_gone_before_it_could_ask_ends_at_once() -> None:
    # No process has this number.
    code = "from boostopt.backends.isolation.worker_main_loop import run_worker; run_worker(1 << 22, b'mark')"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe) as started:
        assert started.wait(timeout=100) == 0  # its standard input is open, by which it could live
        assert started.stdout is not None and started.stderr is not None
        assert (started.stdout.read(), started.stderr.read()) == (b"", b"")


@pytest.mark.thorough
@pytest.mark.parametrize("cut", [0, -100])
def test_a_process_ends_when_requests_do_also_within_one(cut: int) -> None:
    code = f"from boostopt.backends.isolation.worker_main_loop import run_worker; run_worker({os.getpid()}, b'mark')"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe) as started:
        out, error = started.communicate(pickle.dumps(("load_program", b"0" * 1000))[:cut], timeout=100)
    assert (started.returncode, out, error) == (0, b"", b"")


@pytest.mark.thorough
def test_a_process_outlives_the_thread_that_needed_it() -> None:
    program = reference_lpboost()
    thread = threading.Thread(target=lambda: program.solve(isolate_backend(rough())))
    thread.start()
    thread.join()
    pid = idle_process_id()
    time.sleep(0.2)
    assert pid is not None and idle_process_id() == pid
    assert program.solve(isolate_backend(rough())).verdict is Verdict.CLAIMED


# A quadratic program in which HiGHS cycles


def test_a_solver_that_cycles_ends_without_a_limit() -> None:
    formulation = get_formulation("log_loss")
    program = formulation.bind([[0.5, 1], [0.5, -1], [0.5, 0.5]], c=[28793389, 34770009, 2748783], eta=1)
    backend = SequentialQuadratic("highs", in_this_process=True)
    attempt = next(iter(backend.attempts(Task(program, 1e-12, Deadline(None)))))
    assert "Iteration limit reached" in attempt.status


def test_a_solver_that_hangs_has_a_limit_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = list[tuple[float, float]]()
    spy = Fake("spy", rough().script, queries=(notes,))
    monkeypatch.setattr("boostopt.backends.classical.sqp.isolate_backend", lambda backend: spy)
    reference_lpboost().solve("sqp:highs")
    reference_lpboost().solve("sqp:highs", time_limit=5.0)
    assert 5.0 < notes[0][1] <= 600.0 and notes[1][1] <= 5.0
