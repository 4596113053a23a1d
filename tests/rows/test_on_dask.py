"""Rows on a Dask cluster: the same run as in this process, to the last bit, whatever becomes of the workers."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import typechecker
from dask import config
from dask.delayed import delayed
from dask.sizeof import sizeof
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin

from boostopt import Run, boost, verify
from boostopt.backends.base import Deadline
from boostopt.boosting import path
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.histogram_newton import dual_evaluator, newton_solver
from boostopt.boosting.histogram_newton.bounded_edge_solver import BoundedEdgeNewton
from boostopt.boosting.histogram_newton.newton_solver import HistogramNewton
from boostopt.boosting.objectives.exact_objective import ExactSoftMargin
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.errors import DataError, OptionError, ProblemError, require_not_none
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import BinnedStumps, Oracle, Stump
from boostopt.oracles.stumps import threshold_sketches
from boostopt.oracles.stumps.binned_stump_oracle import DistributedStumps
from boostopt.rows import dask_blocks
from boostopt.rows.binned_rows import BinnedRows, LocalRows
from boostopt.rows.dask_rows import DaskRows
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, MarginGrid
from boostopt.rows.row_block import RowBlock, Split

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("default:the cluster .* has no worker")]
"""A killed worker starts again late on a busy machine."""

# Dask types its arguments by their defaults.
from_array: Any = da.from_array

N = 1000


def noisy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A feature of many values, some of few, a constant one; labels by two of them; multiplicities, 0 included."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 5))
    X[:, 1:4] = np.round(X[:, 1:4], 1)
    X[:, -1] = 1.0
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0, 1, -1)
    return X, y, rng.integers(0, 4, N)


X, Y, C = noisy()


def frame() -> pd.DataFrame:
    columns = {f"x{j}": X[:, j] for j in range(5)}
    return pd.DataFrame({**columns, "label": Y, "copies": C})


def run_digest(
    rows: BinnedRows | None, c: np.ndarray | None = None, epsilon: float = 0.1, formulation: str = "erlpboost"
) -> str:
    """Return the SHA-256 digest of the result of a run of histogram Newton."""
    copies = np.ones(N) if c is None else c[c > 0].astype(float)
    problem = Problem.create(resolve_formulation(formulation), copies, None, epsilon, "newton", {"nu": 300.0})
    show: Callable[[Any], None] = lambda record: None  # noqa: E731
    kind = HistogramNewton if problem.edge_function.is_largest_edge else BoundedEdgeNewton
    checked_rows = require_not_none(rows, "rows")
    objective = ExactSoftMargin(Fraction(300), checked_rows.n_examples)
    newton = kind(problem, checked_rows, objective, True, BoostOptions(), show)
    newton.run(Deadline.after(None))
    bounds = newton.bounds
    content = (
        bounds.lower,
        require_not_none(bounds.upper_witness, "a proof").value,
        newton.splits,
        require_not_none(bounds.integer_weights, "weights").tolist(),
    )
    return hashlib.sha256(repr(content).encode()).hexdigest()


@contextmanager
def cluster_of(workers: int, processes: bool = False) -> Generator[tuple[Any, Any]]:
    how: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    # Workers are killed again and again: a cluster gives one up that is missing twice, so many seconds apart.
    lasting = config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with lasting, LocalCluster(n_workers=workers, processes=processes, **how) as cluster, Client(cluster) as client:
        yield client, cluster


@pytest.fixture(scope="module")
def threads() -> Iterator[Any]:
    with cluster_of(2) as (client, _):
        yield client


@pytest.fixture
def client(threads: Any) -> Iterator[Any]:
    """The default client of a test, whichever others are open."""
    with threads.as_current():
        yield threads


@pytest.fixture(scope="module")
def process_client() -> Iterator[Any]:
    with cluster_of(2, processes=True) as (client, _):
        yield client


@pytest.fixture
def processes(process_client: Any) -> Iterator[Any]:
    with process_client.as_current():
        yield process_client


def array(chunks: Any = (150, 2)) -> Any:
    return from_array(X, chunks=chunks)


def dask_stumps(*arguments: Any, **options: Any) -> DistributedStumps:
    oracle = BinnedStumps(*arguments, **options)
    assert isinstance(oracle, DistributedStumps) and isinstance(oracle.binned_rows, DaskRows)
    return oracle


def test_a_client_is_needed() -> None:
    code = (
        "import dask.array as da\n"
        "from boostopt.oracles import BinnedStumps\n"
        "try:\n    BinnedStumps(da.ones((4, 2)), da.arange(4))\n"
        "except ValueError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "distributed.Client()" in done.stdout


def test_dask_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "boostopt.rows.dask_blocks")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptionError, match=r"\bdistributed\b.*'boostopt\[dask\]'"):
        BinnedStumps(array(), Y)


def test_a_client_must_have_workers_and_stay() -> None:
    with cluster_of(0) as (client, cluster):
        with pytest.raises(ProblemError, match=r"client\.wait_for_workers\(1\)"):
            BinnedStumps(array(), Y)
        cluster.scale(1)
        client.wait_for_workers(1, timeout=30)
        rows = dask_stumps(array(), Y).binned_rows
        client.close()
        with pytest.raises(DataError, match=r"\bclient\b.*\bclosed\b"):
            rows.margins([Split(0, 3, 1)], np.array([MARGIN_SCALE]))


@pytest.mark.parametrize("workers", [1, 2, 8, 40])
def test_nothing_depends_on_how_many_workers_there_are(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    local, epsilon = BinnedStumps(X, Y, c=C), 0.1 if workers < 8 else 0.3
    with cluster_of(workers):
        oracle = dask_stumps(array((N // workers // 2, 5)), Y, c=C)
        shards = oracle.binned_rows
        assert isinstance(shards, DaskRows) and len(shards.shards) == workers
        assert (oracle.N, shards.n_rows, shards.n_examples) == (local.N, local.N, C.sum())
        assert str(oracle) == str(local) and oracle.complete == local.complete
        assert run_digest(shards, C, epsilon) == run_digest(local.binned_rows, C, epsilon)
        monkeypatch.setattr(newton_solver, "SAMPLE_SIZES", (100, 400))
        monkeypatch.setattr(newton_solver, "MIN_ROWS_PER_SAMPLED_ROW", 2)
        monkeypatch.setattr(dual_evaluator, "MIN_OPERATOR_COLUMNS", 4)
        monkeypatch.setattr(dual_evaluator, "sums_over_cells_are_faster", lambda *sizes, is_small: True)
        sampled = run_digest(local.binned_rows, C, epsilon)
        assert run_digest(shards, C, epsilon) == sampled


def test_below_a_bound_of_the_edges_nothing_depends_on_workers_either() -> None:
    local = BinnedStumps(X, Y, c=C)
    with cluster_of(3):
        oracle = dask_stumps(array((200, 5)), Y, c=C)
        assert run_digest(oracle.binned_rows, C, 0.1, "softboost") == run_digest(local.binned_rows, C, 0.1, "softboost")
        run, reference = (boost("softboost", stumps, nu=300.0, epsilon=0.1) for stumps in (oracle, local))
        assert run.reason == reference.reason and np.array_equal(run.w, reference.w)
        assert run.class_certificate.upper == reference.class_certificate.upper


def collections(folder: Path) -> Iterator[tuple[Any, ...]]:
    yield array(), Y
    yield array((130, 5)), from_array(Y, chunks=77)
    yield array(), np.where(Y > 0, 1, 0), C
    yield array(), from_array(Y > 0, chunks=N), from_array(C, chunks=50)
    table = dd.from_pandas(frame(), npartitions=7)
    yield table.drop(columns="copies"), "label"
    yield table, "label", "copies"
    features = table[[f"x{j}" for j in range(5)]]
    yield features, table["label"], table["copies"]
    for k in range(4):
        frame()[N * k // 4 : N * (k + 1) // 4].to_parquet(folder / f"{k}.parquet")
    read = dd.read_parquet(folder)
    yield read[[f"x{j}" for j in range(5)]], read["label"], read["copies"]
    filtered = table[table["x4"] > 0.0]  # all of them, which it does not know
    yield filtered.drop(columns="copies"), "label"


@pytest.mark.parametrize("bins", [20, 3000])
def test_codes_are_those_of_the_rows_in_memory(
    bins: int, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threshold_sketches, "SAMPLE_SIZE", 333)
    for arguments in collections(tmp_path):
        c = C if len(arguments) == 3 else None
        local = BinnedStumps(X, Y, c=c, bins=bins)
        oracle = dask_stumps(*arguments, bins=bins)
        part = np.concatenate([part.codes for part in sample_blocks(oracle.binned_rows, 1)], axis=1)
        assert np.array_equal(part, local.binned.codes) and part.dtype == local.binned.codes.dtype
        for i in range(len(local.binned.thresholds)):
            split = require_not_none(local.binned_rows, "rows").split(i, -1)
            assert require_not_none(oracle.binned_rows, "rows").split(i, -1) == split
            stump = oracle.hypothesis_of(split)
            assert type(pickle.loads(pickle.dumps(stump))) is Stump and stump == local.hypothesis_of(split)


def sample_blocks(rows: BinnedRows, step: int) -> Sequence[RowBlock]:
    sample = rows.stride(step)
    assert isinstance(sample, LocalRows)
    return sample.parts


def test_a_run_over_any_collection_is_that_over_arrays(client: Any, tmp_path: Path) -> None:
    digests = {
        c: run_digest(BinnedStumps(X, Y, c=C if c else None).binned_rows, C if c else None, 0.5) for c in (False, True)
    }
    for arguments in collections(tmp_path):
        c = len(arguments) == 3
        assert run_digest(dask_stumps(*arguments).binned_rows, C if c else None, 0.5) == digests[c]


def test_blocks_of_one_class_and_empty_ones_are_rows_like_others(client: Any) -> None:
    order = np.argsort(Y, kind="stable")
    c = np.where(np.arange(N) < 60, 0, 1)
    local = BinnedStumps(X[order], Y[order], c=c)
    X_sorted = da.concatenate([from_array(X[order], chunks=(50, 5)), da.empty((0, 5))])
    assert run_digest(dask_stumps(X_sorted, Y[order], c=c).binned_rows, c) == run_digest(local.binned_rows, c)
    table = frame().iloc[order].reset_index(drop=True)
    parts = dd.from_pandas(table, npartitions=9)
    few = parts[parts["copies"] > 2]
    filtered = table[table["copies"] > 2]
    one = BinnedStumps(filtered.iloc[:, :5].to_numpy(), filtered["label"].to_numpy())
    assert np.array_equal(
        sample_blocks(dask_stumps(few.drop(columns="copies"), "label").binned_rows, 1)[0].y[:9], one.y[:9]
    )


class Tasks(SchedulerPlugin):
    """Notes on which worker each task of ours was computed."""

    name = "tasks"

    def __init__(self) -> None:
        self.done = list[tuple[str, str]]()

    def transition(self, key: Any, start: str, finish: str, *arguments: Any, **options: Any) -> None:
        if (start, finish) == ("processing", "memory"):
            self.done.append((str(key), options["worker"]))


def test_a_question_is_one_task_for_each_worker() -> None:
    with cluster_of(3) as (client, cluster):
        rows = dask_stumps(array((90, 5)), Y, c=C).binned_rows
        scheduler, tasks = require_not_none(cluster.scheduler, "a scheduler"), Tasks()
        scheduler.add_plugin(tasks)
        table = np.arange(N_BINS + 2) % 257
        splits, W = [Split(0, 3, 1), Split(1, 2, -1)], np.array([MARGIN_SCALE - 5, 5])
        margins = rows.margins(splits, W)
        client.gather(margins)
        questions: dict[str, Callable[[], object]] = {
            "histogram": lambda: rows.histogram(margins, MarginGrid.full()),
            "signed_sums_by_code": lambda: rows.class_edges(margins, MarginGrid.full(), table),
            "gram": lambda: rows.gram(margins, MarginGrid.full(), table, splits),
            "cell_sums": lambda: rows.cell_sums(margins, MarginGrid.full(), table, splits),
            "weights": lambda: rows.weights(margins, MarginGrid.full(), table),
            "every": lambda: rows.stride(10),
        }
        for question in questions.values():
            question()
        client.run_on_scheduler(lambda: None)  # all transitions have been seen
        workers = set(client.nthreads())
        for name in ("margins", *questions):
            workers_used = [worker for key, worker in tasks.done if key.startswith(f"boostopt-{name}-")]
            assert len(workers_used) == 3 and set(workers_used) == workers, name
        assert len(tasks.done) == 3 * 7, Counter(key for key, _ in tasks.done)


def test_a_shard_says_how_large_it_is(client: Any) -> None:
    parts = list(sample_blocks(dask_stumps(array(), Y, c=C).binned_rows, 1))
    assert sizeof(parts) >= (C > 0).sum() * (5 + 1 + 8)  # else Dask would move it for nothing


def test_weights_stand_in_the_order_of_the_rows(client: Any) -> None:
    local, distributed = (
        require_not_none(BinnedStumps(X, Y, c=C).binned_rows, "rows"),
        dask_stumps(array((70, 5)), Y, c=C).binned_rows,
    )
    table = np.random.default_rng(0).integers(0, 1 << 20, N_BINS + 2)
    how: tuple[Any, ...] = ([Split(0, 3, 1), Split(1, 2, -1)], np.array([MARGIN_SCALE - 5, 5]))
    weights = distributed.weights(distributed.margins(*how), MarginGrid.full(), table)
    assert np.array_equal(weights, local.weights(local.margins(*how), MarginGrid.full(), table))
    for step in (1, 3, 400):
        parts = sample_blocks(distributed, step)
        assert np.array_equal(np.concatenate([part.y for part in parts]), Y[C > 0][::step])


@pytest.mark.parametrize("kernel", ["margins", "histogram", "signed_sums_by_code", "gram"])
def test_a_worker_is_killed_and_nothing_changes(kernel: str, processes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.wait_for_workers(2, timeout=30)
    oracle = dask_stumps(array((100, 5)), Y, c=C)
    submit, killed = DaskRows._submit, list[int]()  # pyright: ignore[reportPrivateUsage]

    def killing(self: DaskRows, name: str, *how: Any) -> list[Any]:
        futures = submit(self, name, *how)
        if name == kernel and not killed:
            pids: dict[str, int] = processes.run(os.getpid)
            holder = processes.who_has([self.shards[0]])[self.shards[0].key][0]
            killed.append(pids[holder])
            os.kill(killed[0], signal.SIGKILL)
        return futures

    monkeypatch.setattr(DaskRows, "_submit", killing)
    digest = run_digest(oracle.binned_rows, C)
    assert killed and digest == run_digest(BinnedStumps(X, Y, c=C).binned_rows, C)
    assert killed[0] not in processes.run(os.getpid).values()


def test_workers_leave_and_join(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, count = DaskRows._submit, Counter[str]()  # pyright: ignore[reportPrivateUsage]
    with cluster_of(3) as (client, cluster):
        oracle = dask_stumps(array((100, 5)), Y)

        def changing(self: DaskRows, name: str, *how: Any) -> list[Any]:
            count[name] += 1
            if (name, count[name]) == ("histogram", 2):
                client.retire_workers(list(client.nthreads())[:2])
                assert len(client.nthreads()) == 1
            if (name, count[name]) == ("gram", 2):
                cluster.scale(4)  # of which two have left
                client.wait_for_workers(2, timeout=30)
            return submit(self, name, *how)

        monkeypatch.setattr(DaskRows, "_submit", changing)
        assert (
            run_digest(oracle.binned_rows) == run_digest(BinnedStumps(X, Y).binned_rows)
            and min(count["histogram"], count["gram"]) > 2
        )


@pytest.mark.parametrize(("partitions", "parts"), [(200, 200), (40, 40), (1, 1)])
def test_nothing_depends_on_how_many_partitions_there_are_or_on_their_order(
    partitions: int, parts: int, client: Any
) -> None:
    local = BinnedStumps(X, Y, c=C)
    digest = run_digest(local.binned_rows, C)
    assert run_digest(BinnedRows.from_binned(local.binned, local.y, local.c, parts), C) == digest
    order = np.random.default_rng(partitions).permutation(N)
    for rows in (np.arange(N), order):
        oracle = dask_stumps(from_array(X[rows], chunks=(N // partitions, 5)), Y[rows], c=C[rows])
        assert run_digest(oracle.binned_rows, C) == digest


SCRIPT = (
    "import sys; sys.path[:0] = sys.argv[1:]\n"
    "from test_on_dask import *\n"
    "print(os.environ['MALLOC_TRIM_THRESHOLD_'], run_digest(BinnedStumps(X, Y, c=C).binned_rows, C))"
)


def test_memory_that_is_given_back_at_once_as_on_workers_changes_nothing(processes: Any) -> None:
    settings = set(processes.run(os.getenv, "MALLOC_TRIM_THRESHOLD_").values())
    assert settings == {"65536"}  # what workers run with
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", SCRIPT, *sys.path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["65536", run_digest(BinnedStumps(X, Y, c=C).binned_rows, C)]


def spilled_keys(dask_worker: Any) -> list[str]:
    """The shards and margins of a worker that are on its disk and not in its memory."""
    keys = [str(key) for key in dask_worker.data.slow if key not in dask_worker.data.fast]
    return [key for key in keys if key.startswith(("boostopt-shard", "boostopt-margins"))]


def test_codes_and_margins_that_are_spilled_to_disk_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    more = np.concatenate([X, X + 0.1 * rng.normal(size=X.shape)])
    y, submit, keys_on_disk = np.concatenate([Y, Y]), DaskRows._submit, list[str]()  # pyright: ignore[reportPrivateUsage]
    # 2000 rows of 5 codes on two workers are more than the kilobytes that each of them may keep in memory.
    full = {"distributed.worker.memory.target": 4e3 / 2**30, "distributed.worker.memory.spill": False}
    limit: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 2**30}
    with config.set(full), LocalCluster(n_workers=2, **limit) as cluster, Client(cluster) as client:

        def submit_and_record(self: DaskRows, name: str, *how: Any) -> list[Any]:
            keys_by_worker: Any = client.run(spilled_keys)
            keys_on_disk.extend(key for keys in keys_by_worker.values() for key in keys)
            return submit(self, name, *how)

        monkeypatch.setattr(DaskRows, "_submit", submit_and_record)
        digest = run_digest(dask_stumps(from_array(more, chunks=(250, 5)), y).binned_rows, np.ones(2 * N))
    assert digest == run_digest(BinnedStumps(more, y).binned_rows, np.ones(2 * N))
    shards, scores = (
        {key for key in keys_on_disk if key.startswith(f"boostopt-{name}")} for name in ("shard", "margins")
    )
    assert len(shards) == 2 and len(scores) > 2


def load_or_die(file: Path, fatal: Path) -> np.ndarray:
    """Return the content of a file; its worker dies if another file exists."""
    if fatal.exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return np.load(file)


def from_files(kind: str, folder: Path) -> tuple[Any, Any]:
    """Features and labels in four files."""
    files = [folder / f"{k}.{kind}" for k in range(4)]
    for k, file in enumerate(files):
        rows = slice(N * k // 4, N * (k + 1) // 4)
        if kind == "parquet":
            frame()[rows].drop(columns="copies").to_parquet(file)
        else:
            np.save(file, X[rows])
    if kind == "parquet":
        return dd.read_parquet(folder), "label"
    load: Any = delayed(load_or_die)
    blocks = [da.from_delayed(load(file, folder / "fatal"), (N // 4, 5), float) for file in files]
    return da.concatenate(blocks), Y


@contextmanager
def failing(client: Any, kernel: str, time: int, failure: Callable[[], object]) -> Generator[None]:
    """Let all workers be killed when a question is asked, and something fail that they need then."""
    count = Counter[str]()
    submit = DaskRows._submit  # pyright: ignore[reportPrivateUsage]

    def killing(self: DaskRows, name: str, *how: Any) -> list[Any]:
        count[name] += 1
        if (name, count[name]) == (kernel, time):
            failure()
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)
        return submit(self, name, *how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DaskRows, "_submit", killing)
        yield
        assert count[kernel] >= time


def holds(run: Any) -> None:
    """A run that has failed is that in memory so far, but for what of the soft margin buckets do not tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newton_solver, "MAX_ITERATIONS_PER_GAP_DECREASE", 10**6)
        twin = boost("erlpboost", BinnedStumps(X, Y), nu=0.4 * N, epsilon=0.02, max_rounds=run.rounds)
    certificate, reference = run.class_certificate, twin.class_certificate
    t = len(twin.w)
    assert np.array_equal(run.w[:t], twin.w) and not run.w[t:].any()
    assert list(run.hypotheses)[:t] == list(twin.hypotheses) and run.rounds == twin.rounds > 0
    assert (
        certificate.upper == reference.upper
        and reference.lower - MarginGrid.full().bin_width < certificate.lower <= reference.lower
    )
    assert len(run.trace) == run.rounds and np.array_equal(run.predict(X[:9]), twin.predict(X[:9]))
    again = pickle.loads(pickle.dumps(run))
    assert (again.reason, again.class_certificate.lower) == (run.reason, certificate.lower)


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [
        ("npy", "margins"),
        ("npy", "histogram"),
        ("npy", "signed_sums_by_code"),
        ("npy", "gram"),
        ("parquet", "signed_sums_by_code"),
    ],
)
def test_a_file_that_has_vanished_ends_the_run_with_what_it_had(
    kind: str, kernel: str, processes: Any, tmp_path: Path
) -> None:
    processes.wait_for_workers(2, timeout=30)
    oracle = dask_stumps(*from_files(kind, tmp_path))
    vanish: Callable[[], object] = lambda: [file.unlink() for file in tmp_path.iterdir()]  # noqa: E731
    with (
        failing(processes, kernel, 5, vanish),
        pytest.warns(RuntimeWarning, match="FileNotFoundError"),
    ):
        run = boost("erlpboost", oracle, nu=0.4 * N, epsilon=0.02)
    assert run.stop_reason is StopReason.FAILED_AFTER_PASSES
    facts = rf"\b{run.rounds}\b.*DataError: .*FileNotFoundError: .*'{tmp_path}/\d\.{kind}'"
    assert re.search(facts, run.reason)
    holds(run)
    with pytest.raises(DataError, match=f"FileNotFoundError: .*{kind}"):
        _ = run.class_certificate.d


def test_a_file_that_vanishes_before_the_first_evaluation_is_an_error(processes: Any, tmp_path: Path) -> None:
    processes.wait_for_workers(2, timeout=30)
    oracle = dask_stumps(*from_files("npy", tmp_path))
    vanish: Callable[[], object] = lambda: [file.unlink() for file in tmp_path.iterdir()]  # noqa: E731
    with failing(processes, "histogram", 1, vanish), pytest.raises(DataError, match=rf"'{tmp_path}/\d\.npy'"):
        boost("erlpboost", oracle, nu=0.4 * N, epsilon=0.02)


def labels_from_files(folder: Path) -> Any:
    """Labels in four files."""
    files = [folder / f"y{k}.npy" for k in range(4)]
    for k, file in enumerate(files):
        np.save(file, Y[N * k // 4 : N * (k + 1) // 4])
    load: Any = delayed(load_or_die)
    return da.concatenate([da.from_delayed(load(file, folder / "fatal"), (N // 4,), int) for file in files])


@pytest.mark.parametrize("fit", [BinnedStumps, MarginBoostClassifier(base="binned", nu=0.4).fit])
@pytest.mark.parametrize("name", ["2.npy", "y2.npy", "2.parquet"])
def test_a_file_that_is_missing_while_rows_are_coded_is_named(
    name: str, fit: Callable[..., Any], client: Any, tmp_path: Path
) -> None:
    features, labels = from_files(name.partition(".")[2], tmp_path)
    if name.startswith("y"):
        labels = labels_from_files(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=rf"FileNotFoundError: .*'{tmp_path}/{name}'.*make the oracle anew"):
        fit(features, labels)


def test_an_error_of_a_task_that_makes_rows_has_its_words(client: Any) -> None:
    def raise_failure(block: np.ndarray) -> np.ndarray:
        raise RuntimeError("the store is closed")

    with pytest.raises(DataError, match="RuntimeError: the store is closed"):
        BinnedStumps(array().map_blocks(raise_failure, dtype=float, meta=np.zeros((0, 0))), Y)


@pytest.mark.parametrize("returns", [False, True])
def test_a_run_without_workers_warns_and_ends_at_its_limit(returns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    submit, count = DaskRows._submit, Counter[str]()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(dask_blocks, "WORKER_CHECK_SECONDS", 0.2)
    with cluster_of(1) as (client, cluster):

        def retiring(self: DaskRows, name: str, *how: Any) -> list[Any]:
            count[name] += 1
            if (name, count[name]) == ("histogram", 5):
                cluster.scale(0)
                while client.nthreads():
                    time.sleep(0.05)
            return submit(self, name, *how)

        def start_worker(message: Warning | str, *location: Any, **more: Any) -> None:
            messages.append(str(message))
            if returns:
                cluster.scale(1)

        messages = list[str]()
        oracle = dask_stumps(array(), Y)
        monkeypatch.setattr(DaskRows, "_submit", retiring)
        monkeypatch.setattr(warnings, "showwarning", start_worker)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", start_worker)
            run = boost("erlpboost", oracle, nu=0.4 * N, epsilon=0.02, time_limit=600.0 if returns else 5.0)
    assert re.search(r"\bno worker\b.* until the time limit\b", messages[0])
    if returns:
        assert run.stop_reason is StopReason.CERTIFIED and len(messages) == 1
    else:
        assert run.stop_reason is StopReason.FAILED_AFTER_PASSES
        assert re.search(r"DataError: .*\bhas none at the time limit\b", run.reason)
        holds(run)


def test_rows_that_are_lost_when_the_run_has_ended_cost_the_width_of_a_bucket(processes: Any, tmp_path: Path) -> None:
    processes.wait_for_workers(2, timeout=30)
    oracle, margin = dask_stumps(*from_files("npy", tmp_path)), ExactSoftMargin.best_lower_bound

    def losing(*arguments: Any) -> Any:
        for file in tmp_path.iterdir():
            file.unlink()
        for pid in processes.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        return margin(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExactSoftMargin, "best_lower_bound", losing)
        with pytest.warns(RuntimeWarning, match="failed after"):
            run = boost("erlpboost", oracle, nu=0.4 * N, epsilon=0.02)
    assert run.reason.startswith("certified: ") and "; failed after" in run.reason
    assert run.class_certificate.gap <= 0.02
    holds(run)


def test_rows_of_which_workers_die_end_the_run_with_what_it_had(tmp_path: Path) -> None:
    with config.set({"distributed.scheduler.allowed-failures": 1}), cluster_of(2, processes=True) as (client, _):
        oracle = dask_stumps(*from_files("npy", tmp_path))
        with (
            failing(client, "signed_sums_by_code", 4, (tmp_path / "fatal").touch),
            pytest.warns(RuntimeWarning, match="more memory"),
        ):
            run = boost("erlpboost", oracle, nu=0.4 * N, epsilon=0.02)
    assert re.search(r"DataError: .*\bKilledWorker: ", run.reason)
    holds(run)


def test_a_cluster_that_is_closed_ends_the_run_with_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, count = DaskRows._submit, Counter[str]()  # pyright: ignore[reportPrivateUsage]
    with cluster_of(2) as (_, cluster):
        oracle = dask_stumps(array(), Y)

        def closing(self: DaskRows, name: str, *how: Any) -> list[Any]:
            count[name] += 1
            if (name, count[name]) == ("signed_sums_by_code", 4):
                cluster.close()
            return submit(self, name, *how)

        monkeypatch.setattr(DaskRows, "_submit", closing)
        with pytest.warns(RuntimeWarning, match=r"\bevaluations\b.*DataError: "):
            run = boost("erlpboost", oracle, nu=0.4 * N, epsilon=0.02)
    assert run.stop_reason is StopReason.FAILED_AFTER_PASSES
    holds(run)


def test_lost_margins_are_computed_again() -> None:
    with cluster_of(2) as (client, _):
        rows = dask_stumps(array((100, 5)), Y).binned_rows
        margins = rows.margins([Split(0, 3, 1)], np.array([MARGIN_SCALE]))
        counts = rows.histogram(margins, MarginGrid.full())
        client.gather(margins)
        lost_worker = next(iter(client.nthreads()))

        async def remove(dask_scheduler: Any) -> None:
            await dask_scheduler.remove_worker(lost_worker, stimulus_id="gone")

        client.run_on_scheduler(remove)
        assert len(client.nthreads()) == 1
        assert np.array_equal(rows.histogram(margins, MarginGrid.full()), counts)


def bad() -> dict[str, tuple[Callable[[], Any], str]]:
    table = dd.from_pandas(frame(), npartitions=4)
    other_table = dd.from_pandas(frame().iloc[:500], npartitions=2)
    features = table[["x0", "x1"]]
    spoiled = X.copy()
    spoiled[777, 3] = np.inf
    unknown = array()[array()[:, 0] > -9.0]
    return {
        "chunks": (lambda: BinnedStumps(unknown, Y), r"X\b.*\(nan, 5\).*X\.compute_chunk_sizes"),
        "length": (lambda: BinnedStumps(array(), Y[:-1]), r"\by\b.*\(1000, 5\).*\(999,\)"),
        "unknown y": (lambda: BinnedStumps(array(), unknown[:, 0]), r"\by\b.*\(1000, 5\).*\(nan,\)"),
        "no y": (lambda: BinnedStumps(array(), None), r"\by\b.*\(1000, 5\).*\bNone\b"),
        "no label": (lambda: BinnedStumps(features, None), r"^y\b.*\bX\b.*\bNone\b.*x0, x1"),
        "no column": (lambda: BinnedStumps(features, "label"), r"^y\b.*\bX\b.*'label'.*x0, x1"),
        "array beside a frame": (lambda: BinnedStumps(features, Y), r"^y\b.*\bX\b.*\bndarray\b.*x0, x1"),
        "series beside an array": (lambda: BinnedStumps(array(), table["label"]), "to_dask_array"),
        "another frame": (lambda: BinnedStumps(features, other_table["label"]), r"\by\b.*-1 and 1\b"),
        "one axis": (lambda: BinnedStumps(array()[:, 0], Y), r"\bX\b.*\(1000,\)"),
        "a bag": (lambda: BinnedStumps(array().to_delayed()[0, 0], Y), r"\bX\b.*dask\.array.*dask\.dataframe.*Delayed"),
        "a series": (lambda: BinnedStumps(table["x0"], table["label"]), r"\bX\b.*dask\.dataframe.*\bSeries\b"),
        "one class": (lambda: BinnedStumps(array(), np.ones(N)), r"classes.*\b1000\b.*\. Pass\b"),
        "labels": (lambda: BinnedStumps(array(), X[:, 0]), r"\by\b.*-1 and 1\b.*\b0 and 1\b"),
        "labels of two kinds": (
            lambda: BinnedStumps(
                array((500, 5)), from_array(np.where(np.arange(N) < 500, Y, (Y + 1) // 2), chunks=500)
            ),
            r"\by\b.*-1, 0, 1\b",
        ),
        "infinity": (lambda: BinnedStumps(from_array(spoiled, chunks=60), Y), r"\bX\b.*\binf\b.*\b777\b.*\b3\b"),
        "text": (lambda: BinnedStumps(array().astype(str), Y), r"\bX\b.*\barray\b.*\bnumbers\b"),
        "shares": (lambda: BinnedStumps(array(), Y, c=C + 0.5), r"\bc\b.*\b1048576\b.*\d\.5\b"),
        "copies": (lambda: BinnedStumps(array(), Y, c=np.where(C, 1, 2**20 + 1)), r"\bc\b.*\b1048577\b"),
        "negative copies": (lambda: BinnedStumps(array(), Y, c=C - 1), r"\bc\b.*\b1048576\b.*-1\b"),
        "constant": (lambda: BinnedStumps(array()[:, 4:], Y), r"feature\b.*\b1\b"),
    }


@pytest.mark.parametrize("case", list(bad()))
def test_invalid_collections_are_refused_with_a_reason(case: str, client: Any) -> None:
    make, message = bad()[case]
    with typechecker.unchecked(), pytest.raises(ProblemError, match=message):
        make()


def test_sums_that_could_be_rounded_are_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threshold_sketches, "MAX_EXAMPLES", N - 1)
    facts = rf"^expected at most {N - 1} examples, with multiplicity; got {N}\. Take a part of them\.$"
    with pytest.raises(ProblemError, match=facts):
        BinnedStumps(array(), Y)


class Mine(BinnedStumps):
    """Another class of hypotheses, for all that is known."""


@pytest.mark.parametrize(
    ("make", "error", "facts"),
    [
        (lambda: BinnedStumps(array(), Y, codes="codes.npy"), OptionError, r"codes='codes\.npy'"),
        (lambda: BinnedStumps(array(), Y, bins=1), OptionError, r"^bins\b.*\b1\b"),
        (lambda: Mine(array(), Y), ProblemError, r"\bBinnedStumps\b.*\bMine\b"),
    ],
    ids=["codes", "bins", "class"],
)
def test_options_are_refused(make: Callable[[], Any], error: type[Exception], facts: str, client: Any) -> None:
    with pytest.raises(error, match=facts):
        make()


def test_questions_whose_answers_are_as_long_as_the_rows_are_refused(client: Any) -> None:
    oracle = dask_stumps(array(), Y)
    assert not isinstance(oracle, Oracle)
    for call in (
        lambda: boost("lpboost", oracle, nu=0.3 * N, update="total"),
        lambda: boost("adaboost", oracle, max_rounds=3),
        lambda: path("lpboost", oracle, nu=[0.3 * N, 0.2 * N]),
    ):
        with pytest.raises(ProblemError, match=r"\bdata passes\b.*X\.compute\(\)"):
            call()
    oracle.check_features(X)


@pytest.mark.parametrize(
    ("formulation", "arguments", "request_text"),
    [
        ("lpboost", {"update": "total"}, 'update="total"'),
        ("erlpboost", {"update": "step"}, 'update="step"'),
        ("erlpboost", {"backend": "highs"}, 'backend="highs"'),
        ("erlpboost", {"rules": "lpboost"}, "rules='lpboost'"),
        ("erlpboost", {"d0": np.full(N, 1 / N)}, f"d0=ndarray of shape ({N},)"),
        ("erlpboost", {"final_weights": "average"}, "final_weights='average'"),
        ("erlpboost", {"epsilon": 1e-7}, "erlpboost with epsilon=1e-07"),
        ("adaboost_cg", {"max_rounds": 2}, "adaboost_cg"),
    ],
)
def test_a_refusal_on_a_cluster_names_the_argument(
    formulation: str, arguments: dict[str, Any], request_text: str, client: Any
) -> None:
    values: dict[str, Any] = arguments if formulation == "adaboost_cg" else {"nu": 0.3 * N, **arguments}
    with pytest.raises(ProblemError, match=rf"\bdata passes\b.*\brequest for {re.escape(request_text)}"):
        boost(formulation, dask_stumps(array(), Y), **values)


@pytest.mark.parametrize("formulation", ["erlpboost", "lpboost"])
def test_boost_on_a_cluster_is_boost_in_memory(formulation: str, client: Any) -> None:
    distributed, local = dask_stumps(array(), Y), BinnedStumps(X, Y)
    run, twin = (boost(formulation, oracle, nu=0.4 * N, epsilon=0.02) for oracle in (distributed, local))
    assert np.array_equal(run.w, twin.w) and list(run.hypotheses) == list(twin.hypotheses)
    certificate, reference = run.class_certificate, twin.class_certificate
    assert (certificate.lower, certificate.upper, certificate.oracle) == (
        reference.lower,
        reference.upper,
        reference.oracle,
    )
    assert certificate.d is not None and reference.d is not None and np.array_equal(certificate.d, reference.d)
    assert (run.majority, run.rounds, run.iteration_bound) == (twin.majority, twin.rounds, twin.iteration_bound)
    assert repr(run) == repr(twin) and f"N = {N}" in run._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert np.array_equal(run.predict(X[:9]), twin.predict(X[:9]))
    with pytest.raises(ProblemError, match=r"\bdata passes\b.*X\.compute\(\)"):
        boost(formulation, distributed, nu=0.4 * N, epsilon=0.02, update="total")
    with pytest.raises(ProblemError, match=r"^nu\b.*\b1000\b.*\b2000\b"):
        boost(formulation, distributed, nu=2.0 * N)
    with_constants = distributed.binned_rows.with_constant_feature(X.shape[1])
    W, constant = np.array([2**30]), with_constants.split(with_constants.n_thresholds - 1, 1)
    window, table = MarginGrid.full(), np.ones(N_BINS + 2, np.int64)
    edges = with_constants.class_edges(with_constants.margins([constant], W), window, table)
    assert edges[-1] == Y.sum() and with_constants.stride(7).has_constant_feature


def test_a_loss_on_a_cluster_is_that_in_memory(client: Any) -> None:
    run, twin = (
        boost("log_loss", oracle, eta=10.0, epsilon=1e-3 * N)
        for oracle in (dask_stumps(array(), Y), BinnedStumps(X, Y))
    )
    certificate, reference = run.class_certificate, twin.class_certificate
    assert np.array_equal(run.w, twin.w) and (certificate.lower, certificate.upper) == (
        reference.lower,
        reference.upper,
    )
    assert certificate.d is not None and reference.d is not None and np.array_equal(certificate.d, reference.d)


def test_run_on_a_cluster_with_exhausted_whole_numbers_ends(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton_solver, "MAX_ITERATIONS_PER_GAP_DECREASE", 1)
    run = boost("erlpboost", dask_stumps(array(), Y), nu=0.4 * N, epsilon=1e-5)
    assert run.reason == StopReason.WHOLE_NUMBERS_EXHAUSTED and run.class_certificate.gap > 1e-5


class Killed(BaseException):
    """An error that ends a run at once, as a signal that kills the driver would."""


def raise_killed(row: Any) -> None:
    if row.round == 2:
        raise Killed


@pytest.mark.parametrize("formulation", ["erlpboost", "softboost"])
def test_a_driver_that_is_killed_goes_on_and_its_files_are_those_of_memory(
    formulation: str, client: Any, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"nu": 0.3 * N, "epsilon": 0.02}
    file, local = tmp_path / "check.npz", BinnedStumps(X, Y, bins=20)
    with pytest.raises(Killed):
        boost(
            formulation,
            dask_stumps(array(), Y, bins=20),
            checkpoint=file,
            checkpoint_rounds=1,
            progress=raise_killed,
            **how,
        )
    distributed = dask_stumps(array((70, 5)), Y, bins=20)
    run, whole = boost(formulation, distributed, checkpoint=file, **how), boost(formulation, local, **how)
    assert run.rounds == whole.rounds > 2 and list(run.hypotheses) == list(whole.hypotheses)
    assert np.array_equal(run.w, whole.w) and str(run.class_certificate) == str(whole.class_certificate)
    run.save(tmp_path / "run.npz")
    loaded = Run.load(tmp_path / "run.npz")
    assert np.array_equal(loaded.decision_function(X), whole.decision_function(X))
    run.save_certificate(tmp_path / "proof.json", distributed)
    for oracle in (local, distributed):
        recomputed = loaded.verify_class(oracle)
        assert (recomputed.lower, recomputed.upper) == (whole.class_certificate.lower, whole.class_certificate.upper)
        assert verify(tmp_path / "proof.json", oracle).verdict == "proved"
    with pytest.raises(OptionError, match=r"\boracle\b.*\b1000\b"):
        loaded.verify_class(dask_stumps(array(), -Y, bins=20))
