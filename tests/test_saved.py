"""Files that earlier versions wrote are read, verified and continued: `tools/write_saved_files.py` wrote them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.certificate_files import stated_examples
from write_saved_files import N, examples, oracles

from boostopt import boost, verify
from boostopt.boosting.run.run import Run
from boostopt.comparison import documents
from boostopt.estimators import MarginBoostClassifier

FOLDERS = sorted(path.parent for path in (Path(__file__).parent / "saved").glob("*/expected.json"))
ROUNDING = 1e-12
"""Difference of two computations of one interval on processors with other kernels."""

SOLVED = 1e-6
"""Difference of the weights that a program's solver finds from one start on other processors."""


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


def expected(folder: Path, kind: str) -> dict[str, Any]:
    return json.loads((folder / "expected.json").read_text())[kind]


def data(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "data.npz") as arrays:
        return dict(arrays)


def interval(run: Run) -> list[float]:
    certificate = run.certificate if run.record.problem.objective is None else run.class_certificate
    return [certificate.lower, certificate.upper]


def test_files_of_a_version_are_there() -> None:
    assert FOLDERS
    assert all(len(expected(folder, "certificates")) >= 25 for folder in FOLDERS)


def test_the_examples_are_those_of_the_files(folder: Path) -> None:
    arrays = data(folder)
    assert all(np.array_equal(arrays[name], array) for name, array in examples().items())


@pytest.mark.thorough
def test_certificates_verify(folder: Path) -> None:
    matrices = data(folder)
    for name, statement in expected(folder, "certificates").items():
        path = folder / f"certificate_{name}.json"
        verification = verify(path, matrices[f"U_{name}"], **stated_examples(path))
        assert verification, (name, verification)
        assert (verification.outcome == "infeasible") == statement["infeasible"]
        if not statement["infeasible"]:
            assert (
                verification.claimed[0] <= statement["bounds"][0] and statement["bounds"][1] <= verification.claimed[1]
            )


def test_certificates_of_classes_verify(folder: Path) -> None:
    classes, files = oracles(data(folder)), sorted(folder.glob("class_*.json"))
    assert len(files) >= 8
    for path in files:
        kind = path.stem.rsplit("_", 1)[1]
        assert verify(path, classes[kind]), path.name


@pytest.mark.thorough
def test_runs_are_read(folder: Path) -> None:
    for name, statement in expected(folder, "runs").items():
        run = Run.load(folder / f"run_{name}.npz")
        assert run.rounds == statement["rounds"] and len(run.d) == N
        assert run.w.tolist() == statement["w"]
        (lower, upper), (stored_lower, stored_upper) = interval(run), statement["bounds"]
        # Allowances for rounding have become smaller since: an interval may be narrower, never wider.
        assert stored_lower - ROUNDING <= lower <= upper <= stored_upper + ROUNDING, name


@pytest.mark.thorough
def test_checkpoints_are_continued(folder: Path, tmp_path: Path) -> None:
    classes, files = oracles(data(folder)), sorted(folder.glob("checkpoint_*.npz"))
    assert len(files) >= 14
    for path in files:
        stem = path.stem.removeprefix("checkpoint_")
        name, kind = stem.rsplit("_", 1)
        statement, copy = expected(folder, "runs")[stem], tmp_path / path.name
        shutil.copy(path, copy)
        run = boost(name, classes[kind], **statement["options"], checkpoint=copy)
        assert run.rounds >= 3 and abs(run.rounds - statement["rounds"]) <= 0.2 * statement["rounds"], name
        lower, upper = interval(run)
        assert lower <= statement["bounds"][1] + ROUNDING and statement["bounds"][0] <= upper + ROUNDING, name


def test_classifiers_predict_as_they_did_and_their_proofs_verify(folder: Path) -> None:
    arrays = data(folder)
    for name, statement in expected(folder, "models").items():
        model = MarginBoostClassifier.load(folder / f"model_{name}.npz")
        assert np.allclose(model.decision_function(arrays["X"]), statement["values"], rtol=0, atol=ROUNDING)
        assert model.predict(arrays["X"]).tolist() == statement["predicted"]
        labels, label = arrays[statement["labels"]], None if statement["labels"] == "y" else 2
        proof = MarginBoostClassifier(**statement["options"]).class_of(arrays["X"], labels, label=label)
        assert verify(folder / f"model_{name}.json", proof), name


def test_comparisons_and_ledgers_are_read(folder: Path) -> None:
    for name in ("comparison.json", "ledger.jsonl"):
        assert {run.backend for run in documents.load_results(folder / name).runs} == {"interior", "highs"}
