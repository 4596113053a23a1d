"""Compiled loops: the whole numbers of NumPy's loops, and none of them where numba is absent or rows are few."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import cpu_count

from boostopt import boost
from boostopt._utils.blas_threads import thread_limit
from boostopt.boosting.histogram_newton import dual_evaluator
from boostopt.errors import OptionError
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import BinnedStumps
from boostopt.rows import block_sums, gram_matrices, loop_selection
from boostopt.rows.block_sums import histogram, margins, signed_sums_by_code
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.rows.gram_matrices import cell_sums, gram
from boostopt.rows.loop_selection import (
    MIN_THREAD_ENTRIES,
    THREADS_VARIABLE,
    VARIABLE,
    core_count,
    limit_loop_threads,
    map_ranges,
    thread_count,
    uses_compiled_loops,
)
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, WEIGHT_SCALE, MarginGrid
from boostopt.rows.row_block import MAX_MULTIPLICITY, RowBlock, Split

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="needs numba, of the extra fast")

N_CODES = {0: 6, 1: 6, 2: 6, 3: 2}


@pytest.fixture(autouse=True)
def no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(loop_selection.ReadEntries, "count", 0)


def both(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what some work returns by the loops of NumPy, and by compiled ones."""
    results = list[Any]()
    for setting in ("0", "1"):
        monkeypatch.setenv(VARIABLE, setting)
        results.append(work())
    return results[0], results[1]


def rows_of(n: int, wide: bool, copied: bool) -> RowBlock:
    """Three features, the third stored with gaps, and a constant one that is not stored; the largest multiplicities."""
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 6, (3, 2 * n)).astype(np.uint16 if wide else np.uint8)
    c = np.where(rng.random(n) < 0.5, MAX_MULTIPLICITY, rng.integers(1, 9, n)) if copied else None
    return RowBlock(
        [codes[0, :n], codes[1, :n], codes[2, ::2]], rng.choice([-1, 1], n).astype(np.int8), c
    ).with_constant()


@needs_numba
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("threads", [2, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 3))])
def test_all_sums_are_those_of_numpy(
    threads: int, share: float, copied: bool, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, rng = rows_of(20_011, wide, copied), np.random.default_rng(1)
    monkeypatch.setattr(loop_selection, "thread_count", lambda n_entries: threads)
    monkeypatch.setattr(gram_matrices, "sums_over_cells_are_faster", lambda *sizes, is_compiled=False: True)
    monkeypatch.setattr(block_sums, "COMPILED_BLOCK_ROWS", 6_000)
    monkeypatch.setattr(gram_matrices, "MAX_STORED_CELLS", 1)
    monkeypatch.setattr(gram_matrices, "MAX_INT32_EXAMPLES", 17_000 if wide else 21_000)
    tables = {
        j: rng.integers(-MARGIN_SCALE // 4, MARGIN_SCALE // 4 + 1, size).astype(np.int32) for j, size in N_CODES.items()
    }
    (M, compiled_M) = both(monkeypatch, lambda: margins(rows, tables))
    assert np.array_equal(M, compiled_M) and M.dtype == compiled_M.dtype
    M[:2] = -MARGIN_SCALE, MARGIN_SCALE
    weights = rng.integers(0, WEIGHT_SCALE + 1, N_BINS + 2) * (rng.random(N_BINS + 2) < share)
    splits = [*(Split(j, code, (-1) ** code) for j in (2, 0) for code in range(5)), Split(3, 0, 1), Split(1, 2, 1)]
    for grid in (MarginGrid.full(), MarginGrid.covering(-0.01, 0.3), MarginGrid.covering(1.0 - 1e-9, 1.0)):
        for result, compiled in (
            both(monkeypatch, lambda grid=grid: histogram(rows, M, grid)),
            both(monkeypatch, lambda grid=grid: signed_sums_by_code(rows, M, grid, weights, N_CODES)),
            both(monkeypatch, lambda grid=grid: [gram(rows, M, grid, np.minimum(weights, 256), splits)]),
            both(monkeypatch, lambda grid=grid: [gram(rows, M, grid, np.minimum(weights, 256), splits[:1])]),
            both(monkeypatch, lambda grid=grid: cell_sums(rows, M, grid, np.minimum(weights, 256), splits, rows.total)),
        ):
            assert len(result) == len(compiled)
            for a, b in zip(result, compiled, strict=True):
                assert np.array_equal(a, b) and a.dtype == b.dtype


@needs_numba
@pytest.mark.parametrize("copies", [None, MAX_MULTIPLICITY])
def test_gram_matrices_of_hundreds_of_cells_are_those_of_products(
    copies: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, N = np.random.default_rng(5), 1_500
    codes = rng.integers(0, 600, (4, N)).astype(np.uint16)
    y, c = rng.choice([-1, 1], N).astype(np.int8), None if copies is None else np.full(N, copies)
    rows, M = RowBlock(codes, y, c), rng.integers(-MARGIN_SCALE, MARGIN_SCALE, N).astype(np.int32)
    code_of_split = [*rng.choice(599, 290, replace=False), 0, 598]
    splits = [Split(k % 50 // 49, int(code), (-1) ** k) for k, code in enumerate(code_of_split)]
    splits += [Split(3, 5, 1), Split(2, 5, 1), *splits[:2], Split(2, 598, -1)]
    table = rng.integers(1, 257, N_BINS + 2)
    grams = list[Any]()
    for way in (lambda *sizes, is_compiled=False: False, lambda *sizes, is_compiled=False: True):
        monkeypatch.setattr(gram_matrices, "sums_over_cells_are_faster", way)
        grams += both(monkeypatch, lambda: gram(rows, M, MarginGrid.full(), table, splits))
    assert np.bincount([split.feature for split in splits]).tolist() == [289, 5, 2, 1]
    assert all(np.array_equal(grams[0], matrix) for matrix in grams[1:])


@needs_numba
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_sums_of_an_oracle_are_those_of_numpy_also_beyond_64_bits(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    for dtype in (np.uint8, np.uint16):
        features = BinnedFeatures.from_codes(rng.integers(0, 9, (3, 17_000)).astype(dtype), [np.arange(8.0)] * 3)
        s = rng.integers(-(2**62), 2**62, 17_000) * (rng.random(17_000) < share)
        edges, compiled_edges = both(monkeypatch, lambda features=features, s=s: features.threshold_edges(s))
        assert np.array_equal(edges, compiled_edges) and edges.any()


@needs_numba
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_code_without_a_sum_is_an_error(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    rows = RowBlock(np.array([[0, 1, 5, 1]], np.uint8), np.ones(4, np.int8))
    table = np.ones(N_BINS + 2, np.int64)
    M = np.array([0, 0, 0, MARGIN_SCALE], np.int32)
    table[-1] = table[MarginGrid.full().bin_index(M, np.empty_like(M))[3]] = 1 if share == 1.0 else 0
    with pytest.raises(IndexError, match=r"^codes must be below .* Encode the rows again"):
        signed_sums_by_code(rows, M, MarginGrid.full(), table, {0: 2})


@needs_numba
@pytest.mark.parametrize("formulation", ["erlpboost", pytest.param("lpboost", marks=pytest.mark.thorough)])
def test_a_run_is_equal_to_the_last_bit(formulation: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dual_evaluator, "MIN_OPERATOR_COLUMNS", 20)
    monkeypatch.setattr(dual_evaluator, "sums_over_cells_are_faster", lambda *sizes, is_small: True)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3_000, 5))
    y = np.where(X[:, :3].sum(axis=1) + rng.standard_normal(3_000) > 0, 1, -1)

    def facts(**options: Any) -> list[Any]:
        oracle = BinnedStumps(X, y, bins=40, codes=tmp_path / "codes.npy")
        run = boost(formulation, oracle, nu=1_200.0, epsilon=0.02, **options)
        bounds = run.class_certificate.lower, run.class_certificate.upper
        return [bounds, list(map(str, run.hypotheses)), run.w.tobytes(), run.d.tobytes()]

    for update in ("newton", "total"):
        (expected, compiled) = both(monkeypatch, lambda update=update: facts(update=update))
        assert expected == compiled


@needs_numba
def test_numba_is_loaded_after_many_entries_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_selection, "MIN_ENTRIES", 1_000)
    assert not uses_compiled_loops(1_000)
    assert uses_compiled_loops(1) and uses_compiled_loops(0)
    monkeypatch.setenv(VARIABLE, "0")
    assert not uses_compiled_loops(10**9)


@needs_numba
@pytest.mark.thorough
def test_a_small_run_does_not_load_numba() -> None:
    code = (
        "import sys, numpy as np\nfrom boostopt import boost\nfrom boostopt.oracles import BinnedStumps\n"
        "X = np.random.default_rng(0).standard_normal((2000, 3))\n"
        "boost('erlpboost', BinnedStumps(X, np.where(X[:, 0] > 0.1, 1, -1)), nu=100, epsilon=0.1)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@needs_numba
@pytest.mark.thorough
def test_loops_are_compiled_where_no_folder_can_be_written() -> None:
    # A folder that cannot be made is that of nobody's results, also for a user who may write everywhere.
    code = (
        "import os\nos.environ['NUMBA_CACHE_DIR'] = os.devnull + '/x'\n"
        "import numpy as np\nfrom boostopt.rows.compiled_loops import add_votes\n"
        "votes = np.zeros(2, np.int32)\n"
        "add_votes(votes, np.array([0, 9], np.uint8), np.array([5, 7], np.int32))\nprint(*votes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["5", "7"]


def test_threads_are_those_of_the_setting_and_of_the_limit_of_a_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "3")
    assert [thread_count(k * MIN_THREAD_ENTRIES) for k in (0, 1, 2, 3, 9)] == [1, 1, 2, 3, 3]
    with thread_limit(2):
        assert thread_count(1 << 40) == 2
    with thread_limit(9):
        assert thread_count(1 << 40) == 3
    for setting in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv(THREADS_VARIABLE, setting)
        with pytest.raises(OptionError, match=r"BOOSTOPT_THREADS must be a whole number from 1 on; got .* Remove"):
            thread_count(1)


@pytest.mark.parametrize(
    ("n_cores", "openmp", "n_threads"),
    [(1, None, 1), (2, None, 2), (8, None, 2), (8, "1", 1), (8, "16", 2), (8, "2,1", 2), (8, "0", 2), (2, "", 2)],
)
def test_two_threads_are_the_default_where_the_process_may_have_them(
    n_cores: int, openmp: str | None, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    monkeypatch.setattr(loop_selection, "core_count", lambda: n_cores)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if openmp is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    assert thread_count(1 << 40) == n_threads
    assert thread_count(MIN_THREAD_ENTRIES) == 1


def test_a_limit_of_loops_replaces_the_default_within_the_cores_and_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(loop_selection, "core_count", lambda: 8)
    for limit, n_threads in ((None, 2), (1, 1), (2, 2), (5, 5), (9, 8)):
        with limit_loop_threads(limit):
            assert thread_count(1 << 40) == n_threads and thread_count(MIN_THREAD_ENTRIES) == 1
            with limit_loop_threads(None), thread_limit(1):
                assert thread_count(1 << 40) == 1
            assert thread_count(1 << 40) == n_threads
    with limit_loop_threads(5):
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        assert thread_count(1 << 40) == 3
        monkeypatch.setenv(THREADS_VARIABLE, "4")
        assert thread_count(1 << 40) == 4
        with limit_loop_threads(1):
            assert thread_count(1 << 40) == 1
    monkeypatch.delenv(THREADS_VARIABLE)
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert thread_count(1 << 40) == 2


@needs_numba
@pytest.mark.parametrize("base", ["stump", "binned"])
def test_no_number_of_jobs_changes_a_bit_of_a_fit(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(loop_selection, "core_count", lambda: 8)
    monkeypatch.setattr(loop_selection, "MIN_THREAD_ENTRIES", 64)
    counts, count = set[int](), loop_selection.thread_count

    def count_and_record(n_entries: int) -> int:
        counts.add(count(n_entries))
        return count(n_entries)

    monkeypatch.setattr(loop_selection, "thread_count", count_and_record)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(400) > 0
    models = list[Any]()
    for n_jobs, n_threads in ((1, 1), (None, 2), (2, 2), (5, 5), (-1, cpu_count())):
        counts.clear()
        models.append(MarginBoostClassifier(base=base, nu=0.3, n_jobs=n_jobs, epsilon=0.05).fit(X, y))
        assert max(counts) == min(n_threads, 8)
        np.testing.assert_array_equal(models[-1].decision_function(X), models[0].decision_function(X))
        assert models[-1].certificate_.lower == models[0].certificate_.lower
        assert models[-1].certificate_.upper == models[0].certificate_.upper


@needs_numba
@pytest.mark.thorough
def test_a_process_of_joblib_has_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    from joblib import Parallel, delayed

    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    n_processes = max(2, core_count())
    counts = Parallel(n_jobs=n_processes)(delayed(thread_count)(1 << 40) for _ in range(2))
    assert counts == [1, 1]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_ranges_divide_the_rows_and_errors_of_any_range_are_raised(
    n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at(last: int, start: int, end: int) -> None:
        if end == last:
            raise IndexError(f"the range from {start}")

    monkeypatch.setattr(loop_selection, "thread_count", lambda n_entries: n_threads)
    ranges = map_ranges(lambda start, end: range(start, end), 10, 10)
    assert [row for rows in ranges for row in rows] == list(range(10)) and len(ranges) == n_threads
    for rows in ranges:
        with pytest.raises(IndexError, match=f"the range from {rows.start}"):
            map_ranges(partial(fail_at, rows.stop), 10, 10)


def test_without_numba_loops_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    loop_selection.numba_failure.cache_clear()
    monkeypatch.setattr(loop_selection, "find_spec", lambda name: None)
    try:
        assert not uses_compiled_loops(1 << 40)
        monkeypatch.setenv(VARIABLE, "1")
        with pytest.raises(OptionError, match=r"is 1, which expects numba; it is not installed\. .*boostopt\[fast\]"):
            uses_compiled_loops(1)
    finally:
        loop_selection.numba_failure.cache_clear()


def test_a_numba_that_does_not_load_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def import_module(name: str) -> None:
        raise ImportError("Numba needs NumPy 2.3 or less. Got NumPy 9.9.")

    loop_selection.numba_failure.cache_clear()
    monkeypatch.setattr(loop_selection, "find_spec", lambda name: True)
    monkeypatch.setattr(loop_selection, "import_module", import_module)
    try:
        with pytest.warns(RuntimeWarning, match=r"^expected .* to load; .*Got NumPy 9\.9.* Install"):
            assert not uses_compiled_loops(1 << 40)
        assert not uses_compiled_loops(1 << 40)
    finally:
        loop_selection.numba_failure.cache_clear()


@pytest.mark.parametrize("setting", ["2", "no", " "])
def test_a_setting_is_0_or_1(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, setting)
    with pytest.raises(OptionError, match=r"^the environment variable BOOSTOPT_COMPILED must be 0 or 1; got .* Remove"):
        uses_compiled_loops(1)
