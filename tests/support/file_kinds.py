"""A small file of every kind that boostopt writes, and the keys in it, for the test that holds them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

from boostopt import benchmark, boost, compare, get_formulation, precision
from boostopt.backends import get_backend
from boostopt.backends.base import Deadline, Task
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.run_file import ArrayExtractor
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import BinnedStumps, DecisionStumps, GivenMargins, KernelColumns, RawFeatures, RBFNetworks
from boostopt.oracles.base import Query
from boostopt.oracles.hypothesis_serialization import to_state
from boostopt.oracles.learners.classifier_hypotheses import Fitted
from boostopt.verification import save

N = 24


def examples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(N, 2)), 1)
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=N) > 0, 1, -1)


SOLVERS_OWN = ("options", "statistics", "threads", "versions")
"""Keys below which names are not boostopt's: those of solvers, of the environment and of packages."""

ORDER = re.compile(r"-?[0-9]+$")
"""The order of magnitude at the end of the name of an iterate's part."""


def keys(value: Any, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all keys in plain values; `[]` stands for the entries of a list."""
    if isinstance(value, Mapping) and set(value) != {"array"}:
        for key, inner in value.items():
            name = ORDER.sub("", key) if prefix.endswith("start.state.") else key
            yield f"{prefix}{name}"
            if name not in SOLVERS_OWN:
                yield from keys(inner, f"{prefix}{name}.")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{prefix.removesuffix('.')}[].")


def keys_of(path: Path) -> set[str]:
    """Return the keys of a file: of its description where it is an npz, of all lines where it has several."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return set(keys(json.loads(arrays["meta"].tobytes().decode())))
    text = path.read_text()
    return {
        key
        for part in (map(json.loads, text.splitlines()) if path.suffix == ".jsonl" else [json.loads(text)])
        for key in keys(part)
    }


def program(name: str = "lpboost", **numbers: Any) -> Any:
    U = np.round(np.random.default_rng(3).uniform(-1, 1, (12, 3)), 2)
    return get_formulation(name).bind(U, **numbers or {"nu": 2.0})


def write_run(path: Path) -> None:
    boost("erlpboost", DecisionStumps(*examples()), nu=4.0, epsilon=0.1, max_rounds=3, history=True).save(path)


def write_checkpoint(path: Path) -> None:
    boost("lpboost", DecisionStumps(*examples()), nu=4.0, max_rounds=3, checkpoint=path, backend="interior")


def write_booster(path: Path) -> None:
    X, y = examples()
    boost("adaboost_reg", DecisionStumps(X, y), C=2.0, p=1, reach=1.0, max_rounds=3).save(path)


def histogram_run() -> tuple[HistogramRun, BinnedStumps]:
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(400, 3)), 2)
    oracle = BinnedStumps(X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=400) > 0, 1, -1), bins=256)
    run = boost("erlpboost", oracle, nu=80.0, epsilon=0.1)
    assert isinstance(run, HistogramRun)
    return run, oracle


def write_histogram_run(path: Path) -> None:
    histogram_run()[0].stored_run.save(path)


def write_model(path: Path) -> None:
    MarginBoostClassifier(nu=0.2, epsilon=0.1).fit(*examples()).save(path)


def write_certificate_of_model(path: Path) -> None:
    X, y = examples()
    MarginBoostClassifier(nu=0.2, epsilon=0.1).fit(X, y).save_certificate(path, X, y)


def write_certificate_of_class(path: Path) -> None:
    X, y = examples()
    oracle = DecisionStumps(X, y, c=np.linspace(0.3, 1.7, N))
    boost("lpboost", oracle, nu=4.0, max_rounds=3).save_certificate(path, oracle)


def write_certificate_of_histogram_run(path: Path) -> None:
    run, oracle = histogram_run()
    run.save_certificate(path, oracle)


def write_certificate(path: Path) -> None:
    bound = program("erlpboost", nu=3.0, eta=7.0)
    save((bound, bound.solve(tol=1e-6).certificate), path)


def write_certificate_of_infeasibility(path: Path) -> None:
    bound = program("softboost", nu=8.0, gamma=-0.9)
    save((bound, bound.solve().certificate), path)


def write_comparison(path: Path) -> None:
    path.write_text(compare(program(), ["interior", "highs"]).to_json())


def write_comparison_of_problem(path: Path) -> None:
    x = cp.Variable()
    constraints: list[Any] = [x >= 1.0]
    path.write_text(compare(cp.Problem(cp.Minimize(x), constraints), ["clarabel"]).to_json())


def write_benchmark(path: Path) -> None:
    path.write_text(benchmark({"small": program()}, ["highs"], [1e-4, 1e-17], repeats=1).to_json())


def write_work_precision(path: Path) -> None:
    path.write_text(precision({"small": program()}, ["highs"], [1e-2, 1e-4]).to_json())


def write_ledger(path: Path) -> None:
    benchmark({"small": program()}, ["highs"], [1e-4], repeats=1, resume=path)


def write_hypotheses(path: Path) -> None:
    """Write the state of a hypothesis of every kind."""
    X, y = examples()
    oracles = (
        DecisionStumps(X, y),
        RawFeatures(np.clip(X / 4, -1, 1), y),
        KernelColumns(X, y, kernel="rbf", gamma=0.5),
        RBFNetworks(X, y),
        GivenMargins(y[:, None] * np.sign(X + 0.01)),
    )
    d = np.full(N, 1.0 / N)
    states = [to_state(oracle.best(Query(d, 1)).columns[0].hypothesis) for oracle in oracles]
    states.append(to_state(Fitted(0, 1, "a tree", "predict", 2, np.zeros(N), None)))
    path.write_text(json.dumps({state["kind"]: ArrayExtractor().extract(state) for state in states}))


def write_state_of_highs(path: Path) -> None:
    """Write the state from which the next solve of a linear program starts."""
    attempt = list(get_backend("highs").attempts(Task(program(), 1e-6, Deadline.after(60.0))))[-1]
    path.write_text(json.dumps(dict.fromkeys(get_backend("highs").packed(attempt.state) or ())))


WRITERS: dict[str, Callable[[Path], None]] = {
    "run.npz": write_run,
    "checkpoint.npz": write_checkpoint,
    "booster.npz": write_booster,
    "looks.npz": write_histogram_run,
    "model.npz": write_model,
    "certificate.json": write_certificate,
    "infeasible.json": write_certificate_of_infeasibility,
    "class.json": write_certificate_of_class,
    "model.json": write_certificate_of_model,
    "looks.json": write_certificate_of_histogram_run,
    "comparison.json": write_comparison,
    "comparison_of_problem.json": write_comparison_of_problem,
    "benchmark.json": write_benchmark,
    "precision.json": write_work_precision,
    "ledger.jsonl": write_ledger,
    "hypotheses.json": write_hypotheses,
    "highs.json": write_state_of_highs,
}
"""Functions that write a file of each kind."""
