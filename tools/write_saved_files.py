"""Write files of every kind that this version saves: later versions must read, verify and continue them.

Run it once for a version whose files are to be kept, with the name of a new folder beside this file:

    python tools/write_saved_files.py 0.1

The folder then holds the files, the data that they are about (`data.npz`), and what was true of them when they were
written (`expected.json`). `tests/test_saved.py` looks at every such folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from boostopt import Run, benchmark, boost, compare, get_formulation, list_formulations
from boostopt._utils.files import write_plain_npz
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps, KernelColumns
from boostopt.oracles.base import Oracle
from boostopt.verification import save

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from support.random_programs import draw_program

N = 40
SETTINGS: dict[str, dict[str, Any]] = {
    "lpboost": {"nu": 4.0},
    "softboost": {"nu": 4.0, "epsilon": 0.1},
    "erlpboost": {"nu": 4.0, "epsilon": 0.1},
    "binary_erlpboost": {"nu": 4.0, "epsilon": 0.1},
    "corrective_erlpboost": {"nu": 4.0, "epsilon": 0.3, "max_rounds": 60},
    "qp_reg_adaboost": {"C": 1.0, "max_rounds": 8},
    "adaboost": {"max_rounds": 12},
    "arc_gv": {"max_rounds": 12},
}
"""The boosted formulations, with their parameters."""

BOOSTERS: dict[str, dict[str, Any]] = {
    "adaboost_reg": {"C": 2.0, "max_rounds": 8},
    "smoothboost": {"kappa": 0.3, "gamma": 0.1, "theta": 0.05, "max_rounds": 8},
    "brownboost": {"kappa": 0.2, "max_rounds": 8},
    "madaboost": {"max_rounds": 8},
    "nu_arc": {"nu": 4.0, "max_rounds": 8},
}


def examples() -> dict[str, np.ndarray]:
    """Return features with ties, labels with noise, labels of three classes, and multiplicities."""
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(N, 3)), 1)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=N) > 0, 1, -1)
    return {"X": X, "y": y, "three": 1 + (X[:, 2] > -0.4) + (X[:, 2] > 0.5), "c": rng.integers(1, 4, N).astype(float)}


def oracles(data: dict[str, np.ndarray]) -> dict[str, Oracle]:
    """Return the classes of hypotheses that the runs ask."""
    return {
        "stumps": DecisionStumps(data["X"], data["y"]),
        "weighted": DecisionStumps(data["X"], data["y"], c=data["c"]),
        "kernel": KernelColumns(data["X"], data["y"], kernel="rbf", gamma=0.5),
    }


def bounds(certificate: Any) -> list[float]:
    """Return the ends of an interval."""
    return [certificate.lower, certificate.upper]


def programs(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Save a certificate of every formulation; return the margin matrices and the intervals."""
    matrices, expected = {}, {}
    for k, name in enumerate(list_formulations()):
        program = draw_program(np.random.default_rng(100 + k), name, largest_N=25, largest_t=4, largest_eta=1e3)
        certificate = program.solve(tol=1e-6, time_limit=20).certificate
        save((program, certificate), folder / f"certificate_{name}.json")
        matrices[f"U_{name}"] = program.margins.to_array()
        expected[name] = {"infeasible": certificate.infeasible, "bounds": bounds(certificate)}
    return matrices, expected


def runs(folder: Path, classes: dict[str, Oracle]) -> dict[str, Any]:
    """Save runs, their certificates over the class and a checkpoint of each in its third round."""
    expected = {}
    for name, options in SETTINGS.items():
        for kind in ("stumps", "weighted", "kernel") if name == "lpboost" else ("stumps",):
            run = boost(name, classes[kind], **options)
            stem = f"{name}_{kind}"
            run.save(folder / f"run_{stem}.npz")
            if run.record.problem.objective is not None and kind != "kernel":
                run.save_certificate(folder / f"class_{stem}.json", classes[kind])
            if run.rounds > 3:
                early: dict[str, Any] = {**options, "max_rounds": 3}
                boost(name, classes[kind], **early, checkpoint=folder / f"checkpoint_{stem}.npz")
            expected[stem] = describe_run(run, kind, options)
    for name, options in BOOSTERS.items():
        run = boost(name, classes["stumps"], **options)
        run.save(folder / f"run_{name}_stumps.npz")
        early = {**options, "max_rounds": 3}
        boost(name, classes["stumps"], **early, checkpoint=folder / f"checkpoint_{name}_stumps.npz")
        expected[f"{name}_stumps"] = describe_run(run, "stumps", options)
    return expected


def describe_run(run: Run, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what is true of a run."""
    return {
        "oracle": kind,
        "options": options,
        "rounds": run.rounds,
        "w": run.w.tolist(),
        "bounds": bounds(run.certificate if run.record.problem.objective is None else run.class_certificate),
    }


def classifiers(folder: Path, data: dict[str, np.ndarray]) -> dict[str, Any]:
    """Save classifiers of two and of three classes, and what proves them."""
    expected = {}
    for labels, options in (
        ("y", {"nu": 0.2}),
        ("three", {"nu": 0.3}),
        ("y", {"base": "feature", "formulation": "lpboost", "nu": 0.2}),
    ):
        model = MarginBoostClassifier(**options).fit(data["X"], data[labels])
        stem = f"{labels}_{options.get('base', 'stump')}"
        model.save(folder / f"model_{stem}.npz")
        label = None if labels == "y" else 2
        model.save_certificate(folder / f"model_{stem}.json", data["X"], data[labels], label=label)
        expected[stem] = {
            "labels": labels,
            "options": options,
            "values": model.decision_function(data["X"]).tolist(),
            "predicted": model.predict(data["X"]).tolist(),
        }
    return expected


def comparisons(folder: Path) -> None:
    """Save a comparison and the ledger of a benchmark."""
    program = get_formulation("lpboost").bind(np.round(np.random.default_rng(3).uniform(-1, 1, (12, 3)), 2), nu=2)
    backends = ["interior", "highs"]
    (folder / "comparison.json").write_text(compare(program, backends).to_json())
    benchmark({"small": program}, backends, [1e-4], repeats=1, resume=folder / "ledger.jsonl")


def main(version: str) -> None:
    """Write the folder of a version."""
    folder = ROOT / "tests" / "saved" / version
    folder.mkdir()
    data = examples()
    matrices, certificates = programs(folder)
    expected = {
        "certificates": certificates,
        "runs": runs(folder, oracles(data)),
        "models": classifiers(folder, data),
    }
    comparisons(folder)
    with (folder / "data.npz").open("wb") as file:
        write_plain_npz(file, {**data, **matrices}, compressed=True)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
