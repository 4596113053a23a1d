"""Histogram runs in files: a run continued from a file equals the run without a break, and no content is trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import Run, boost
from boostopt._utils.files import read_npz, write_plain_npz
from boostopt.boosting.histogram_newton import newton_solver
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.histogram_run_file import StoredHistogramRun
from boostopt.boosting.objectives.class_upper_bound import check_hypotheses
from boostopt.boosting.run.run_file import HISTOGRAM_KIND, KIND, META, run_kind
from boostopt.boosting.run.trace import TraceRow
from boostopt.errors import DataError, OptionError, ProblemError, require_not_none
from boostopt.oracles import BinnedStumps, DecisionStumps
from boostopt.oracles.distributed.oracle_without_rows import OracleWithoutRows
from boostopt.rows.row_block import Split

pytestmark = pytest.mark.every(2)

FORMULATIONS = ("erlpboost", "lpboost", "binary_erlpboost", "softboost", "totalboost")

TIMES = ("oracle_seconds", "update_seconds", "seconds")


class Killed(BaseException):
    """An error that ends a run at once, as a signal that kills its process would."""


def examples(seed: int, N: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 5)), 2)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=N) > 0, 1, -1)
    return X, y


def histogram_run_of(X: np.ndarray, y: np.ndarray, formulation: str = "erlpboost", **how: Any) -> HistogramRun:
    how = {"nu": 0.2 * len(y), "epsilon": 0.02, **how}
    if formulation == "totalboost":
        del how["nu"]
    run = boost(formulation, BinnedStumps(X, y, bins=65_536), **how)
    assert isinstance(run, HistogramRun)
    return run


def differences(one: HistogramRun, reference: HistogramRun) -> list[str]:
    """Return the parts of two runs that differ in any bit; seconds left out."""
    bounds, other_bounds = one.stored_run.snapshot.bounds, reference.stored_run.snapshot.bounds
    assert bounds.upper_witness is not None and other_bounds.upper_witness is not None
    is_same = {
        "w": np.array_equal(one.w, reference.w),
        "hypotheses": list(one.hypotheses) == list(reference.hypotheses),
        "reason": one.reason == reference.reason,
        "lower": bounds.lower == other_bounds.lower,
        "upper": bounds.upper_witness.value == other_bounds.upper_witness.value,
        "d": np.array_equal(one.distribution(), reference.distribution()),
        "history": all(np.array_equal(one.at_round(k + 1).w, reference.at_round(k + 1).w) for k in range(one.rounds)),
        **{
            name: np.array_equal(one.trace[name], reference.trace[name], equal_nan=name != "backend")
            for name in one.trace.columns
            if name not in TIMES
        },
    }
    return [name for name, holds in is_same.items() if not holds]


def kill_after(number: int) -> Callable[[TraceRow], None]:
    def progress(row: TraceRow) -> None:
        if row.round == number:
            raise Killed

    return progress


@pytest.mark.thorough_cases("erlpboost-0")
@pytest.mark.parametrize(
    ("formulation", "seed"),
    [
        ("erlpboost", 0),
        ("softboost", 0),
        *(pytest.param(page, k, marks=pytest.mark.thorough) for page in FORMULATIONS for k in range(1, 4)),
    ],
)
def test_a_run_in_parts_and_one_killed_after_every_evaluation_are_the_run_in_one_go(
    formulation: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newton_solver, "SAMPLE_SIZES", (100,))
    monkeypatch.setattr(newton_solver, "MIN_ROWS_PER_SAMPLED_ROW", 2)
    X, y = examples(seed)
    whole, parts = histogram_run_of(X, y, formulation), tmp_path / "parts.npz"
    for max_rounds in (1, 2, 4, None):
        run = histogram_run_of(X, y, formulation, checkpoint=parts, max_rounds=max_rounds)
    assert differences(run, whole) == []
    assert differences(histogram_run_of(X, y, formulation, checkpoint=parts), whole) == []
    checkpoint = tmp_path / "killed.npz"
    for number in range(1, whole.rounds + 1):
        with pytest.raises(Killed):
            histogram_run_of(X, y, formulation, checkpoint=checkpoint, checkpoint_rounds=1, progress=kill_after(number))
    assert differences(histogram_run_of(X, y, formulation, checkpoint=checkpoint), whole) == []
    assert run_kind(checkpoint) == run_kind(parts) == HISTOGRAM_KIND


@pytest.mark.parametrize("formulation", ["erlpboost", "softboost"])
def test_calls_whose_time_is_over_before_an_evaluation_come_to_the_end(formulation: str, tmp_path: Path) -> None:
    X, y = examples(5, 60)
    whole, checkpoint = histogram_run_of(X, y, formulation), tmp_path / "run.npz"
    for number in range(1, whole.rounds):
        assert histogram_run_of(X, y, formulation, checkpoint=checkpoint, time_limit=1e-9).rounds == number
        assert len(StoredHistogramRun.load(checkpoint).snapshot.weights_by_iteration) == number
    assert differences(histogram_run_of(X, y, formulation, checkpoint=checkpoint, time_limit=1e-9), whole) == []


@pytest.mark.thorough
@pytest.mark.every(3)
@pytest.mark.parametrize("formulation", ["erlpboost", "softboost", "totalboost"])
def test_a_run_goes_on_from_whatever_it_has_stored(
    formulation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = examples(5, 60)
    whole, save, files = histogram_run_of(X, y, formulation, epsilon=0.05), StoredHistogramRun.save, list[Path]()

    def save_copies(run: StoredHistogramRun, path: Path) -> None:
        save(run, path)
        files.append(tmp_path / f"{len(files)}.npz")
        save(run, files[-1])

    with monkeypatch.context() as patch:
        patch.setattr(StoredHistogramRun, "save", save_copies)
        histogram_run_of(X, y, formulation, epsilon=0.05, checkpoint=tmp_path / "run.npz", checkpoint_seconds=1e-9)
    assert len(files) > whole.rounds
    for file in files:
        assert differences(histogram_run_of(X, y, formulation, epsilon=0.05, checkpoint=file), whole) == []


def test_a_class_that_the_file_calls_another_is_the_oracles(tmp_path: Path) -> None:
    """A class without negations has smaller edges: its upper bound is none of the class with them."""
    X, y = examples(4)
    path, run = tmp_path / "run.npz", boost("erlpboost", BinnedStumps(X, y, reflexive=False), nu=80.0, epsilon=0.02)
    assert isinstance(run, HistogramRun)
    words, file_run = str(BinnedStumps(X, y)), run.stored_run
    detached = OracleWithoutRows(words, file_run.oracle.N, file_run.oracle.total, file_run.oracle.majority, False)
    replace(file_run, oracle=detached).save(path)
    with pytest.raises(OptionError, match="the bounds"):
        Run.load(path).verify_class(BinnedStumps(X, y))
    with pytest.raises(DataError, match="other examples"):
        boost("erlpboost", BinnedStumps(X, y), nu=80.0, epsilon=0.02, checkpoint=path)


@pytest.mark.thorough
def test_a_start_of_ones_own_takes_the_place_of_no_checkpoint(tmp_path: Path) -> None:
    X, y = examples(1)
    histogram_run_of(X, y, checkpoint=tmp_path / "run.npz")
    content, start = (tmp_path / "run.npz").read_bytes(), histogram_run_of(*examples(2), formulation="lpboost")
    with pytest.raises(DataError, match="other examples"):
        histogram_run_of(*examples(2), start=start, checkpoint=tmp_path / "run.npz")
    assert (tmp_path / "run.npz").read_bytes() == content


KILLED = """
import os, signal, sys
import numpy as np
from boostopt import boost
from boostopt.oracles import BinnedStumps

X, y = (np.load(path) for path in sys.argv[1:3])
def progress(row):
    if row.round == 3:
        os.kill(os.getpid(), signal.SIGKILL)
boost("erlpboost", BinnedStumps(X, y, bins=65_536), nu=0.2 * len(y), epsilon=0.02, checkpoint=sys.argv[3],
      checkpoint_rounds=1, progress=progress)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_driver_that_is_killed_goes_on_where_it_stood(tmp_path: Path) -> None:
    X, y = examples(7)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    files = [str(tmp_path / name) for name in ("X.npy", "y.npy", "run.npz")]
    assert subprocess.run([sys.executable, "-c", KILLED, *files], check=False).returncode == -9
    rounds = list[int]()
    run = histogram_run_of(X, y, checkpoint=files[2], progress=lambda row: rounds.append(row.round))
    assert rounds[0] == 3 and differences(run, histogram_run_of(X, y)) == []


def test_a_checkpoint_has_nothing_as_long_as_the_rows(tmp_path: Path) -> None:
    X, y = examples(0, 40_000)
    histogram_run_of(X, y, checkpoint=tmp_path / "run.npz", checkpoint_rounds=1)
    assert (tmp_path / "run.npz").stat().st_size < 40_000
    assert max(len(array) for array in read_npz(tmp_path / "run.npz").values() if array.ndim) < 40_000


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"y": -1}, "other examples"),
        ({"nu": 100.0}, r"parameters nu = 100\.0\b.* with nu = 80\.0\b"),
        ({"formulation": "binary_erlpboost"}, r"\berlpboost\b.*\bbinary_erlpboost\b"),
        ({"update": "total"}, f"'{HISTOGRAM_KIND}'"),
        ({"rows": 399}, r"\b399\b.*\b400\b"),
        ({"columns": 4}, r"\b4 features\b.*\b5 features\b"),
    ],
    ids=["y", "nu", "page", "update", "rows", "columns"],
)
def test_a_checkpoint_of_another_run_is_refused_and_stays(change: dict[str, Any], facts: str, tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "run.npz", examples(1)
    histogram_run_of(X, y, checkpoint=path, max_rounds=5)
    content = path.read_bytes()
    how: dict[str, Any] = {"nu": 80.0, "y": 1, "rows": 400, "columns": 5, **change}
    rows, columns, y = how.pop("rows"), how.pop("columns"), y * how.pop("y")
    with pytest.raises(DataError, match=facts):
        histogram_run_of(X[:rows, :columns], y[:rows], checkpoint=path, **how)
    assert path.read_bytes() == content


@pytest.mark.thorough
def test_a_run_goes_on_as_it_was_begun(tmp_path: Path) -> None:
    X, y = examples(2)
    by_steps = boost("erlpboost", DecisionStumps(X, y), nu=80.0, checkpoint=tmp_path / "run.npz", update="total")
    again = boost("erlpboost", DecisionStumps(X, y), nu=80.0, checkpoint=tmp_path / "run.npz")
    assert run_kind(tmp_path / "run.npz") == KIND and not isinstance(again, HistogramRun)
    assert again.rounds == by_steps.rounds and np.array_equal(again.w, by_steps.w)


def kill_in_steps(number: int) -> Callable[[TraceRow], None]:
    rounds = list[int]()

    def progress(row: TraceRow) -> None:
        """Counts begin anew where steps go on."""
        if rounds and row.round <= rounds[-1]:
            rounds.append(0)
        rounds.append(row.round)
        if 0 in rounds and row.round == number:
            raise Killed

    return progress


@pytest.mark.thorough_cases("erlpboost-None")
@pytest.mark.parametrize(
    ("formulation", "update"),
    [
        ("erlpboost", None),
        pytest.param("softboost", None, marks=pytest.mark.thorough),
        pytest.param("erlpboost", "newton", marks=pytest.mark.thorough),
        pytest.param("softboost", "newton", marks=pytest.mark.thorough),
    ],
)
def test_a_stalled_histogram_run_continues_by_steps_in_the_same_file(
    formulation: str, update: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newton_solver, "MAX_ITERATIONS_PER_GAP_DECREASE", 0)
    X, y = examples(3)
    path = tmp_path / "run.npz"
    how: dict[str, Any] = {"nu": 80.0, "epsilon": 0.01, "checkpoint_rounds": 1, "update": update}
    whole = boost(formulation, BinnedStumps(X, y), **how)
    with pytest.raises(Killed):
        boost(formulation, BinnedStumps(X, y), **how, checkpoint=path, progress=kill_in_steps(2))
    assert run_kind(path) == KIND and whole.class_certificate.gap <= 0.01
    for _ in range(2):
        again = boost(formulation, BinnedStumps(X, y), **how, checkpoint=path)
        assert again.rounds == whole.rounds and np.array_equal(again.w, whole.w)


def stored_run(tmp_path: Path) -> tuple[Path, HistogramRun, BinnedStumps]:
    X, y = examples(4)
    run, path = histogram_run_of(X, y), tmp_path / "run.npz"
    run.stored_run.save(path)
    return path, run, BinnedStumps(X, y, bins=65_536)


def test_a_stored_run_predicts_and_is_proved_anew_by_the_oracle(tmp_path: Path) -> None:
    path, run, oracle = stored_run(tmp_path)
    loaded = Run.load(path)
    X, _ = examples(9)
    assert isinstance(loaded, HistogramRun) and loaded.loaded and loaded.class_certificate.recorded
    assert np.array_equal(loaded.decision_function(X), run.decision_function(X))
    assert loaded.reason == run.reason and loaded.trace.to_dict().keys() == run.trace.to_dict().keys()
    recomputed, certificate = loaded.verify_class(oracle), run.class_certificate
    assert (recomputed.lower, recomputed.upper, recomputed.recorded) == (certificate.lower, certificate.upper, False)
    assert recomputed.d is not None and certificate.d is not None and np.array_equal(recomputed.d, certificate.d)
    for ask in (lambda: loaded.d, lambda: loaded.certificate, lambda: loaded.class_certificate.d):
        with pytest.raises(ProblemError, match=r"\brows\b.*\bverify_class\b"):
            ask()
    with pytest.raises(OptionError, match=r"\boracle\b.*\b400\b.*\bfeature\b"):
        loaded.verify_class(BinnedStumps(*examples(5), bins=65_536))
    loaded.save(tmp_path / "again.npz")
    again = Run.load(tmp_path / "again.npz")
    assert np.array_equal(again.w, run.w) and again.class_certificate.upper == certificate.upper


def set_in(about: dict[str, Any], arrays: dict[str, Any], name: str, value: Any) -> None:
    section, _, key = name.rpartition(" ")
    content = about[section] if section else about
    old = content[key]
    if isinstance(old, dict) and "array" in old:
        arrays[old["array"]] = value(arrays[old["array"]])
    else:
        content[key] = value(old)


def cleared_half(table: np.ndarray) -> np.ndarray:
    """The lower half of the buckets that hold weight lose it."""
    return np.where(np.cumsum(table > 0) <= np.count_nonzero(table) // 2, 0, table)


FORGED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("lower", lambda old: ["1", "2"], r"\b0\.5\b|interval"),
    ("proof upper", lambda old: ["1", "1"], "and 1, but"),
    ("proof total", lambda old: 2 * old, "the bounds"),
    ("proof total", lambda old: 2**70, r"proof\.total must be a count; got 1180591620717411303424\b"),
    ("proof total", lambda old: 0, r"proof\.total must be positive; got 0\b"),
    ("oracle N", lambda old: 2**70, r"oracle\.N must be a count; got 1180591620717411303424\b"),
    ("oracle total", lambda old: float("inf"), r"oracle\.total must be a finite number; got inf\b"),
    ("sizes", lambda old: old - 2**62, r"\bsizes must be counts with the sum \d+\b"),
    ("proof table", cleared_half, "the bounds|simplex"),
    ("proof table", lambda old: old * 0, "simplex"),
    ("proof table", lambda old: old[1:], r"proof\.table\b.* 16386 .* 16385\b"),
    ("proof shift", lambda old: 99, "window"),
    ("W", lambda old: old // 2, r"2\^30"),
    ("W", lambda old: old[::-1].copy(), "the bounds"),
    ("W", lambda old: old * 3, r"\bW\b.* at most 2\^30; got the sum 3221225472\b"),
    ("splits", lambda old: old + np.array([0, 9999, 0]), r"class.*\bcontain\b.*\bfeature\b"),
    ("splits", lambda old: old[1:], "splits"),
    ("glances", lambda old: old[:-1], r"weights.*\bevaluations\b"),
    ("epsilon", lambda old: "x", r"\bepsilon\b.*'x'"),
    ("W", lambda old: old + 2**62, "whole numbers"),
    ("lower", lambda old: ["1", "0"], "fraction"),
    ("lower", lambda old: ["-3", "1"], "interval"),
    ("proof upper", lambda old: ["1", "-1"], "fraction"),
    ("proof upper", lambda old: ["2", "1"], "interval"),
    ("sum", lambda old: -1.0, r"\bsum\b.*positive"),
    ("sum", lambda old: 0.0, r"\bsum\b.*positive"),
    ("stand W", lambda old: old * 0 + 1, r"2\^30 or 0"),
    ("stand W", lambda old: old + 2**62, "whole numbers"),
    ("stand total", lambda old: -1.0, r"stand\.total must lie in .* got -1\b"),
    ("stand total", lambda old: 2**400, r"stand\.total must lie in .* got 2\.58225e\+120\b"),
    ("stand level", lambda old: "a", "a count"),
    ("stand count", lambda old: True, "a count"),
    ("stand gamma", lambda old: float("nan"), "stand.gamma must be a finite number; got nan"),
    ("stand level", lambda old: 10**6, r"stand\.level must lie in \[0, 1000\]; got 1e\+06\b"),
    ("stand least", lambda old: None, "stand.least must be a number; got None"),
    ("glances", lambda old: [[*old[0][:2], -1, *old[0][3:]], *old[1:]], "a count"),
    ("glances", lambda old: [["x", *old[0][1:]], *old[1:]], "a count"),
    ("c", lambda old: old * 0 + 1, r"\bnu\b.*\b80\b"),
]
"""A part of a stored run, what becomes of it, and the fact that the refusal names."""


@pytest.mark.every(8)
@pytest.mark.parametrize(
    ("name", "value", "facts"), FORGED, ids=[f"{name}-{number}" for number, (name, *_) in enumerate(FORGED)]
)
def test_nothing_in_a_stored_run_is_believed(name: str, value: Any, facts: str, tmp_path: Path) -> None:
    path, _, oracle = stored_run(tmp_path)
    arrays = read_npz(path)
    about = json.loads(arrays[META].tobytes().decode())
    set_in(about, arrays, name, value)
    arrays[META] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        write_plain_npz(file, arrays)
    with pytest.raises((DataError, OptionError, ProblemError), match=facts) as error:
        Run.load(path).verify_class(oracle)
    assert ".. " not in str(error.value)


def test_a_run_without_an_evaluation_is_no_run_yet(tmp_path: Path) -> None:
    X, y = examples(6)
    with pytest.raises(Killed):
        histogram_run_of(X, y, checkpoint=tmp_path / "run.npz", checkpoint_seconds=1e-9, progress=kill_after(1))
    assert StoredHistogramRun.load(tmp_path / "run.npz").snapshot.bounds.integer_weights is None
    with pytest.raises(DataError, match="without an evaluation"):
        Run.load(tmp_path / "run.npz")


def test_splits_off_the_thresholds_of_their_feature_are_refused() -> None:
    oracle = BinnedStumps(*examples(0, N=40))
    rows = require_not_none(oracle.binned_rows, "rows")
    feature, n_codes = next(iter(rows.n_codes.items()))
    last = Split(feature, n_codes - 2, -1)
    check_hypotheses(oracle, rows, [last], [oracle.hypothesis_of(last)])
    outer_splits = [Split(feature, code, 1) for code in (-1, n_codes - 1, n_codes)]
    for split in (*outer_splits, Split(99, 0, 1), last._replace(sign=0)):
        with pytest.raises(ValueError, match=r"\bclass\b.*\bnot contain\b"):
            check_hypotheses(oracle, rows, [split], [oracle.hypothesis_of(last)])
    with pytest.raises(ValueError, match=r"\bclass has\b.*\bin place of\b"):
        check_hypotheses(oracle, rows, [last], [oracle.hypothesis_of(last._replace(sign=1))])
