"""Runs, checkpoints, models and ledgers with edits that no checksum shows: an error in words, or a thing that works."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from plain_stumps import PlainStumps
from support.file_edits import edit_description, edited_content, false_content, packed, unpacked
from support.problems import reference_lpboost
from support.speeds import many

from boostopt import BoostoptError, DataError, boost
from boostopt.boosting.run.run import Run
from boostopt.comparison import benchmark
from boostopt.comparison.documents import load_results as load_document
from boostopt.comparison.results_log import ResultsLog
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps, GivenMargins

pytestmark = pytest.mark.every(2)

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 2)).round(2)
y = np.where(X[:, 0] + rng.normal(size=12) > 0, 1, -1)
SPARSE = scipy.sparse.csr_array(np.where(rng.random((12, 6)) < 0.5, 0.0, rng.choice([-1.0, 0.5, 1.0], (12, 6))))


def stumps() -> DecisionStumps:
    return PlainStumps(X, y)


RUNS: dict[str, Callable[..., Run]] = {
    "lpboost": lambda **more: boost("lpboost", stumps(), nu=3, epsilon=0.05, max_rounds=6, **more),
    "erlpboost": lambda **more: boost("erlpboost", stumps(), nu=3, epsilon=0.3, max_rounds=6, nus=(2.0, 4.0), **more),
    "corrective": lambda **more: boost("corrective_erlpboost", stumps(), nu=3, epsilon=0.3, max_rounds=6, **more),
    "sparse": lambda **more: boost("lpboost", GivenMargins(SPARSE), nu=3, epsilon=0.05, max_rounds=6, **more),
    "projection": lambda **more: boost("adaboost", stumps(), epsilon=0.3, max_rounds=6, **more),
}


def use_run(run: Run) -> None:
    """Everything that may be asked of a run that was loaded."""
    assert str(run) and run.iteration_bound >= 0 and run.rules
    assert run.trace.to_dict() and vars(type(run.trace))["_repr_html_"](run.trace)
    assert run.program.margins.digest() and str(run.certificate)
    if run.record.problem.objective is not None:
        str(run.class_certificate)
    if run.record.pool.t:
        features = X if run.record.pool.hypotheses[0].kind == "stump" else SPARSE.toarray()
        run.predict(features)
    if run.record.history.rounds:
        assert str(run.at_round(1).certificate) and run.at_round(len(run.record.history.rounds)).d.ndim == 1


def count_outcomes(
    edits: Iterable[tuple[bytes, str]], path: Path, use: Callable[[Path], object], is_strict: bool = False
) -> dict[str, int]:
    """Count the outcomes of edited contents of a file: each is used, or refused in words.

    Strictly, a refusal is one line that names the file, and no warning of NumPy is issued.
    """
    counts = {"used": 0, "refused": 0}
    for number, (content, description) in enumerate(edits):
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error" if is_strict else "ignore", RuntimeWarning)
                use(path)
            counts["used"] += 1
        except BoostoptError as refusal:
            counts["refused"] += 1
            words = str(refusal)
            assert not is_strict or (path.name in words and "\n" not in words), (number, description, words)
        except Exception as failure:
            raise AssertionError(f"edit {number} of {path.name}, {description}: {failure!r}") from failure
    return counts


def outcomes(path: Path, count: int, seed: int, use: Callable[[Path], object]) -> dict[str, int]:
    """Count the outcomes of so many edited copies of a file."""
    draws = np.random.default_rng(seed)
    edits = (edited_content(path, draws) for _ in range(count))
    return count_outcomes(edits, path.with_name(f"edited{path.suffix}"), use)


@pytest.mark.thorough
@pytest.mark.parametrize("name", RUNS)
def test_an_edited_run_is_refused_or_works(name: str, tmp_path: Path) -> None:
    RUNS[name]().save(tmp_path / "run.npz")
    counts = outcomes(tmp_path / "run.npz", 30, 1, lambda path: use_run(Run.load(path)))
    assert min(counts.values()) > 0, counts


@pytest.mark.thorough_cases("lpboost", "corrective")
@pytest.mark.parametrize("name", RUNS)
def test_an_edited_checkpoint_is_refused_or_gone_on_from(name: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    RUNS[name](checkpoint=path)
    counts = outcomes(path, 15, 2, lambda checkpoint: use_run(RUNS[name](checkpoint=checkpoint)))
    assert min(counts.values()) > 0, counts


def false_copies(files: Sequence[Path], count: int) -> Iterator[tuple[bytes, str]]:
    """Yield so many contents with a lie, each with its description."""
    draws = np.random.default_rng(5)
    for _ in range(count):
        file, neighbour = (files[k] for k in draws.integers(len(files), size=2))
        content, description = false_content(file, neighbour, draws)
        yield content, f"{file.name}, {description}"


@pytest.mark.thorough
def test_lies_in_runs_are_refused_or_work(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.npz" for name in RUNS]
    for name, file in zip(RUNS, files, strict=True):
        RUNS[name]().save(file)

    def use(path: Path) -> None:
        run = Run.load(path)
        assert str(run.certificate) and run.trace.to_dict()
        for bound in (run.certificate.lower, run.certificate.upper):
            assert not np.isnan(bound)

    counts = count_outcomes(false_copies(files, many(1500, 100)), tmp_path / "false.npz", use, is_strict=True)
    assert min(counts.values()) > 10, counts


@pytest.mark.thorough
def test_lies_in_models_are_refused_or_work(tmp_path: Path) -> None:
    options: tuple[dict[str, Any], ...] = ({}, {"base": "tree2"}, {"base": "kernel"}, {"probability": True})
    files = [tmp_path / f"model{k}.npz" for k in range(len(options))]
    for file, option in zip(files, options, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            MarginBoostClassifier("lpboost", 0.5, 0.3, **option).fit(X, y).save(file)
        remove_digest(file)
    counts = count_outcomes(false_copies(files, many(3500, 100)), tmp_path / "false.npz", use_model, is_strict=True)
    assert min(counts.values()) > 10, counts


def remove_digest(path: Path) -> None:
    """Make a file of version 0.1.0, which no digest protects: each lie meets the checks of its key."""
    description, arrays = unpacked(path)
    del description["digest"]
    path.write_bytes(packed(description, arrays))


def use_model(path: Path) -> None:
    """Everything that may be asked of a classifier that was loaded."""
    model = MarginBoostClassifier.load(path)
    model.predict(np.zeros((2, vars(model)["n_features_in_"])))
    assert str(model.certificate_) and str(model.oracle_) and repr(model)


@pytest.mark.thorough
def test_an_edited_model_is_refused_or_works(tmp_path: Path) -> None:
    MarginBoostClassifier("lpboost", 0.5, 0.3).fit(X, y).save(tmp_path / "model.npz")
    remove_digest(tmp_path / "model.npz")
    counts = outcomes(tmp_path / "model.npz", 150, 3, use_model)
    assert min(counts.values()) > 10, counts


def test_an_edited_ledger_is_refused_or_gone_on_with(tmp_path: Path) -> None:
    path, edited_path = tmp_path / "ledger.jsonl", tmp_path / "other.jsonl"
    benchmark({"a": reference_lpboost()}, ["highs", "interior"], (1e-6,), 1, resume=path)
    lines, draws, refused = path.read_text().splitlines(), np.random.default_rng(4), 0
    head = json.loads(lines[0])
    about = {name: head[name] for name in head if name not in ("kind", "format", "described", "origin")}
    count = many(200, 40)
    for number in range(count):
        documents = [json.loads(line) for line in lines]
        description = edit_description(documents[draws.integers(len(documents))], draws)
        edited_path.write_text("".join(json.dumps(document) + "\n" for document in documents))
        for tried in (load_document, lambda path: ResultsLog(path, about, "1.0")):
            try:
                tried(edited_path)
            except BoostoptError:
                refused += 1
            except Exception as failure:
                raise AssertionError(f"edit {number}, {description}: {type(failure).__name__}") from failure
    assert count / 4 < refused < 2 * count


# Found so, each by its name


def edit_of(tmp_path: Path, edit: Callable[[Any, dict[str, np.ndarray]], None]) -> Path:
    """A saved run of LPBoost with an edit."""
    RUNS["lpboost"]().save(tmp_path / "run.npz")
    about, arrays = unpacked(tmp_path / "run.npz")
    edit(about, arrays)
    path = tmp_path / "edited.npz"
    path.write_bytes(packed(about, arrays))
    return path


def test_a_run_without_examples_is_refused(tmp_path: Path) -> None:
    def empty(about: Any, arrays: dict[str, np.ndarray]) -> None:
        name = about["c"]["array"]
        arrays[name] = arrays[name][:0]

    with pytest.raises(DataError, match=r"edited\.npz.*\bc\b.*\(0,\)"):
        Run.load(edit_of(tmp_path, empty))


@pytest.mark.parametrize("column", ["upper", "soft_margin", "round", "backend", "soft_margins"])
def test_a_trace_with_a_column_of_another_kind_is_refused(tmp_path: Path, column: str) -> None:
    def replace_column(about: Any, arrays: dict[str, np.ndarray]) -> None:
        name = about["trace"][column]["array"]
        arrays[name] = np.full(len(arrays[name]), 1j if column == "backend" else "x")

    came = "complex128" if column == "backend" else "<U1"
    with pytest.raises(DataError, match=rf"\b{column}\b.* {came} .*\(1,\)"):
        Run.load(edit_of(tmp_path, replace_column))


@pytest.mark.parametrize(("part", "facts"), [("sizes", "a round .*size"), ("at", "exceed"), ("counts", "counts")])
def test_rounds_whose_weights_do_not_fit_are_refused(tmp_path: Path, part: str, facts: str) -> None:
    def grown(about: Any, arrays: dict[str, np.ndarray]) -> None:
        name = about["history"]["rounds"]["w"][part]["array"]
        arrays[name] = arrays[name] + 100

    with pytest.raises(DataError, match=facts):
        Run.load(edit_of(tmp_path, grown))


@pytest.mark.parametrize(
    ("name", "value", "facts"),
    [
        ("majority", 0, "majority must be -1 or 1; got 0"),
        ("reason", None, "reason must be a text; got None"),
        ("oracle", 1, "oracle must be a text; got 1"),
        ("guarantee", "x", "guarantee must be a finite number; got 'x'"),
        ("guarantee", float("nan"), "guarantee must be a finite number; got nan"),
    ],
)
def test_a_record_that_says_something_else_is_refused(tmp_path: Path, name: str, value: Any, facts: str) -> None:
    with pytest.raises(DataError, match=rf"edited\.npz.*\b{facts}\)"):
        Run.load(edit_of(tmp_path, lambda about, arrays: about.update({name: value})))


@pytest.mark.parametrize("value", [float("inf"), [0.5], "x"], ids=str)
def test_a_start_that_is_none_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(DataError, match=r"edited\.npz.*\bstart\b.*finite"):
        Run.load(edit_of(tmp_path, lambda about, arrays: about["start"].update(d=value)))


@pytest.mark.parametrize("place", ["formulation", "backend of the start"])
def test_a_run_whose_names_are_paths_is_refused_and_no_file_is_executed(place: str, tmp_path: Path) -> None:
    module, trace = tmp_path / "other.py", tmp_path / "executed"
    module.write_text(f"from pathlib import Path\nPath({str(trace)!r}).touch()\n")

    def name_file(about: Any, arrays: dict[str, np.ndarray]) -> None:
        if place == "formulation":
            about["formulation"] = str(module)
        else:
            about["start"] |= {"backend": str(module), "state": {"d": about["start"]["d"]}}

    with pytest.raises(DataError, match=r"edited\.npz.*\b(Python file|no name)\b"):
        Run.load(edit_of(tmp_path, name_file))
    assert not trace.exists()


def test_a_state_without_weights_has_no_soft_margin_above_0(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    RUNS["corrective"](checkpoint=path)
    description, arrays = unpacked(path)
    arrays |= {"zero_w": np.zeros(0), "zero_m": np.zeros(len(y))}
    description["state"] |= {"w": {"array": "zero_w"}, "m": {"array": "zero_m"}, "soft_margin": 0.95, "answer": None}
    path.write_bytes(packed(description, arrays))
    with pytest.raises(DataError, match=r"state\.soft_margin must be at most 0 without weights; got 0\.95\)\. Make"):
        RUNS["corrective"](checkpoint=path)
