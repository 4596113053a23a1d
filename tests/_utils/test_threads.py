"""BLAS has one thread while boostopt multiplies, and what it had before as soon as nobody does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from support.problems import noisy_stumps, reference_erlpboost
from threadpoolctl import threadpool_info, threadpool_limits

import boostopt
from boostopt._utils.blas_threads import ThreadLimiter, limit_blas_threads, max_threads, thread_limit
from boostopt._utils.environment import THREAD_VARIABLES
from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.backends.isolation.worker_pool import close_idle_processes
from boostopt.comparison import benchmark
from boostopt.comparison.documents import load_results
from boostopt.estimators import MarginBoostClassifier, RBFNetworkClassifier, margin_boost
from boostopt.oracles.rbf import network_fitting

N_THREADS = 3
"""Threads that the tests give BLAS: whatever the machine has, it is another number than one."""


def blas() -> list[int]:
    """Return the numbers of threads of the BLAS libraries that can have more than one thread."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return [library["num_threads"] for library in libraries if library.get("threading_layer") != "disabled"]


@contextmanager
def several_blas_threads() -> Generator[None]:
    """Give BLAS several threads, and check that it has as many at the end."""
    with limit_blas_threads():  # the libraries are loaded
        pass
    with threadpool_limits(N_THREADS, user_api="blas"):
        assert set(blas()) == {N_THREADS}
        yield
        assert set(blas()) == {N_THREADS}


def test_nested_contexts_are_one() -> None:
    with several_blas_threads():
        with limit_blas_threads():
            with limit_blas_threads():
                assert set(blas()) == {1}
            assert set(blas()) == {1}
        with pytest.raises(KeyError), limit_blas_threads():
            raise KeyError


@dataclass
class Library:
    """A library that notes what is set."""

    threads: int
    sets: list[int] = field(default_factory=list[int])

    def get_num_threads(self) -> int:
        return self.threads

    def set_num_threads(self, num_threads: int) -> None:
        self.threads = num_threads
        self.sets.append(num_threads)


def test_only_the_first_one_in_and_the_last_one_out_change_anything() -> None:
    several, single_threaded = Library(4), Library(1)
    limit = ThreadLimiter(lambda: [several, single_threaded])
    first = limit.enter()
    with ThreadPoolExecutor(1) as second_thread:
        second = second_thread.submit(limit.enter).result()
        limit.leave(first)
        assert several.threads == 1
        again = limit.enter()
        limit.leave(second)
        assert several.threads == 1
        limit.leave(again)
    assert several.sets == [1, 4]
    assert single_threaded.sets == []
    # The limiter reads the number each time, because a user may have changed it.
    several.threads = 2
    limit.leave(limit.enter())
    assert several.sets == [1, 4, 1, 2]


@dataclass
class OfEachThread:
    """A library that has a number of threads for each thread of Python."""

    numbers: dict[int, int] = field(default_factory=dict[int, int])

    def get_num_threads(self) -> int:
        return self.numbers.get(threading.get_ident(), 4)

    def set_num_threads(self, num_threads: int) -> None:
        self.numbers[threading.get_ident()] = num_threads


def test_a_number_of_its_own_each_thread_lowers_and_restores_itself() -> None:
    library = OfEachThread()
    limit = ThreadLimiter(lambda: [library])
    with ThreadPoolExecutor(1) as second_thread:
        first = limit.enter()
        second = second_thread.submit(limit.enter).result()
        assert library.get_num_threads() == second_thread.submit(library.get_num_threads).result() == 1
        limit.leave(first)
        assert library.get_num_threads() == 4
        assert second_thread.submit(library.get_num_threads).result() == 1
        second_thread.submit(limit.leave, second).result()
        assert second_thread.submit(library.get_num_threads).result() == 4


class Controlled(Library):
    """A library that obeys the first thread that sets it, until that one gives up the control."""

    controlling: int | None = None

    def set_num_threads(self, num_threads: int) -> None:
        self.controlling = self.controlling or threading.get_ident()
        if self.controlling == threading.get_ident():
            super().set_num_threads(num_threads)

    def clear_controlling_thread(self, force: bool = False) -> None:
        if force or self.controlling == threading.get_ident():
            self.controlling = None


def test_any_thread_may_be_the_last_one_out() -> None:
    library = Controlled(4)
    limit = ThreadLimiter(lambda: [library])
    with ThreadPoolExecutor(1) as second_thread:
        first = limit.enter()
        second = second_thread.submit(limit.enter).result()
        limit.leave(first)
        assert library.threads == 1
        second_thread.submit(limit.leave, second).result()
    assert library.threads == 4
    assert library.controlling is None


def test_threads_that_come_and_go_never_work_with_more_and_never_leave_one() -> None:
    library = Library(4)
    limit = ThreadLimiter(lambda: [library])
    begin = threading.Barrier(8)

    def come_and_go(seed: int) -> int:
        begin.wait()
        n_violations = 0
        for depth in np.random.default_rng(seed).integers(1, 4, 300):
            inside = [limit.enter() for _ in range(depth)]
            n_violations += library.threads != 1
            for thread in inside:
                n_violations += library.threads != 1
                limit.leave(thread)
        return n_violations

    with ThreadPoolExecutor(8) as several:
        assert list(several.map(come_and_go, range(8))) == [0] * 8
    assert library.threads == 4
    assert set(library.sets) == {1, 4}


def test_programs_that_are_solved_at_the_same_time_leave_blas_as_it_was() -> None:
    programs = [
        boostopt.get_formulation("erlpboost").bind(noisy_stumps(30, 4, seed=seed), nu=6, eta=20) for seed in range(16)
    ]
    with several_blas_threads(), ThreadPoolExecutor(8) as several:
        solutions = list(several.map(boostopt.solve, programs))
        assert set(blas()) == {N_THREADS}
    assert all(solution.certificate.scaled_gap <= 1e-8 for solution in solutions)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_a_fork_leaves_the_other_threads_behind(inside: bool) -> None:
    """Another thread never leaves the limit. A child process has only the forking thread."""
    entered, done = threading.Event(), threading.Event()

    def stay() -> None:
        with limit_blas_threads():
            entered.set()
            done.wait()

    with several_blas_threads():
        stayer = threading.Thread(target=stay)
        stayer.start()
        entered.wait()
        try:
            if inside:
                with limit_blas_threads():
                    pid = fork_child(lambda: set(blas()) == {1})
            else:
                pid = fork_child(lambda: set(blas()) == {N_THREADS})
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            assert set(blas()) == {1}
        finally:
            done.set()
            stayer.join()


def fork_child(holds: Callable[[], bool]) -> int:
    """Fork a child that ends with 0 if something holds there."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if holds() else 1)
    return pid


THREAD_COUNTS = list[int]()


class Watching(Backend):
    """The interior point method, which records its number of BLAS threads."""

    name = "watching"  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    version = "1"  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def takes(self, program: boostopt.Program) -> Capability:
        return Capability(True)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        THREAD_COUNTS.extend(blas())
        yield from boostopt.get_backend("interior").attempts(task)
        THREAD_COUNTS.extend(blas())


class Learner(ClassifierMixin, BaseEstimator):
    """A stump, which records the number of BLAS threads of its fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        THREAD_COUNTS.extend(blas())
        self.classes_ = np.unique(y)
        self.tree_ = DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        return self.tree_.predict(X)


@pytest.fixture
def thread_counts() -> Iterator[list[int]]:
    """Yield the recorded numbers of threads, with several threads allowed."""
    THREAD_COUNTS.clear()
    with several_blas_threads():
        yield THREAD_COUNTS


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1, -1)


def test_a_solve_has_one_thread(thread_counts: list[int]) -> None:
    boostopt.solve(reference_erlpboost(), Watching())
    assert thread_counts and set(thread_counts) == {1}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"formulation": "erlpboost"}, id="total"),
        pytest.param({"formulation": "corrective_erlpboost"}, id="corrective"),
    ],
)
def test_a_run_has_one_thread_from_the_oracle_to_the_trace(thread_counts: list[int], how: dict[str, Any]) -> None:
    oracle = boostopt.oracles.Estimators(Learner(), *data())
    boostopt.boost(
        oracle=oracle, nu=8, epsilon=0.1, max_rounds=5, progress=lambda row: thread_counts.extend(blas()), **how
    )
    assert len(thread_counts) > 5 and set(thread_counts) == {1}


def test_a_fit_has_one_thread_also_before_and_after_its_run(
    thread_counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: tuple[tuple[Any, str], ...] = (
        (margin_boost, "merge_examples"),
        (margin_boost, "fit_classes"),
        (MarginBoostClassifier, "_decision_values"),
    )
    for place, name in steps:
        whole: Any = getattr(place, name)

        def record_threads(*arguments: Any, whole: Any = whole) -> Any:
            thread_counts.extend(blas())
            return whole(*arguments)

        monkeypatch.setattr(place, name, record_threads)
    MarginBoostClassifier(base=Learner(), epsilon=0.2, max_iter=10).fit(*data())
    assert len(thread_counts) > 5 and set(thread_counts) == {1}


def test_a_network_is_fitted_with_one_thread(thread_counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    means = network_fitting.kmeans

    def record_threads(*arguments: Any) -> Any:
        thread_counts.extend(blas())
        return means(*arguments)

    monkeypatch.setattr(network_fitting, "kmeans", record_threads)
    RBFNetworkClassifier(K=3, iterations=2).fit(*data())
    assert thread_counts and set(thread_counts) == {1}


def test_a_certificate_is_made_with_one_thread(thread_counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    edges = boostopt.MarginMatrix.edges

    def record_threads(margins: boostopt.MarginMatrix, d: np.ndarray) -> np.ndarray:
        thread_counts.extend(blas())
        return edges(margins, d)

    program = reference_erlpboost()
    monkeypatch.setattr(boostopt.MarginMatrix, "edges", record_threads)
    program.certify(np.full(6, 1 / 6))
    program.recover(np.full(6, 1 / 6))
    assert thread_counts and set(thread_counts) == {1}


def test_as_many_threads_are_left_as_are_given_and_never_more_than_there_are() -> None:
    with several_blas_threads():
        with thread_limit(2), limit_blas_threads():
            assert set(blas()) == {2}
            with thread_limit(1), limit_blas_threads():  # the outermost one counts
                assert set(blas()) == {2}
        with thread_limit(N_THREADS + 5), limit_blas_threads():
            assert set(blas()) == {N_THREADS}
        with thread_limit(None), limit_blas_threads():
            assert set(blas()) == {1}
        assert max_threads() is None


@dataclass(frozen=True)
class Counting(Backend):
    """A backend that says how many threads BLAS has where it runs."""

    @property
    def name(self) -> str:
        return "counting"

    @property
    def version(self) -> str:
        return "1"

    def takes(self, program: boostopt.Program) -> Capability:
        return Capability(True)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        yield Attempt("", {}, f"{max(blas(), default=1)} {max_threads()}", False)


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize("isolate", [False, True])
def test_rows_say_how_many_threads_their_solves_were_given(isolate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in THREAD_VARIABLES:  # a child would have them from here
        monkeypatch.delenv(variable, raising=False)
    close_idle_processes()
    with several_blas_threads():
        for threads, status in ((1, "1 1"), (2, "2 2"), (None, "1 None")):
            (row,) = boostopt.compare(reference_erlpboost(), Counting(), isolate=isolate, threads=threads).rows
            if not isolate or status != "2 2" or len(os.sched_getaffinity(0)) > 1:
                assert row.solver_status == status
            assert row.threads == threads and row.isolated == isolate
    with pytest.raises(boostopt.OptionError, match="threads"):
        boostopt.compare(reference_erlpboost(), Counting(), threads=0)


def test_a_benchmark_says_how_many_threads_its_solves_were_given(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    results = benchmark(reference_erlpboost(), "cvxpy:clarabel", 1e-3, 1, threads=1, resume=path)
    assert results.settings.threads == 1 and "threads 1 for a solve" in results.environment_text
    assert all((run.options or {})["max_threads"] == 1 for run in results.runs)
    assert load_results(path).settings.threads == 1
    with pytest.raises(boostopt.DataError, match=r"\bthreads\b.*\b1\b.*\b2\b"):
        benchmark(reference_erlpboost(), "cvxpy:clarabel", 1e-3, 1, threads=2, resume=path)
    with pytest.raises(boostopt.DataError, match="threads"):
        benchmark(reference_erlpboost(), "cvxpy:clarabel", 1e-3, 1, resume=path)
