"""Certificate files of runs with a described F and limits on the weights: optima of all columns, and forged files."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from support.class_attacks import GROUPED

from boostopt import boost, verify
from boostopt.boosting import certify_limits
from boostopt.oracles import Budget, DecisionStumps, GivenMargins, LimitedClass, MarginLimit

RNG = np.random.default_rng(5)
X = RNG.normal(size=(16, 3))
Y = np.where(X[:, 0] + 0.4 * X[:, 1] + 0.5 * RNG.normal(size=16) > 0, 1, -1)
GROUPS = np.sign(X[:, 2])
PARAMETERS: dict[str, Any] = {"nu": 5.0, "eta": 4.0, "groups": GROUPS, "epsilon": 1e-3, "max_rounds": 30}
STUMPS = DecisionStumps(X, Y)

Document = dict[str, Any]
"""The object of a file."""


def limited(budget: float = 0.3) -> LimitedClass:
    limits = [Budget(np.array([1.0, 0.4, 0.1]), budget), MarginLimit(np.linspace(-1.0, 1.0, 16) / 16, 0.2)]
    return LimitedClass(STUMPS, limits)


def text_of_run(oracle: Any) -> str:
    """Return the file of a run over a class."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "class.json"
        boost(GROUPED, oracle, **PARAMETERS).save_certificate(file, oracle)
        return file.read_text(encoding="utf-8")


@cache
def limited_text() -> str:
    return text_of_run(limited())


@cache
def free_text() -> str:
    """The file of a run without limits, whose weights have a larger value."""
    return text_of_run(STUMPS)


def verdict(document: Document, tmp_path: Path, oracle: Any = None, **arguments: Any) -> Any:
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return verify(file, limited() if oracle is None else oracle, formulation=GROUPED, **arguments)


def test_a_file_has_the_interval_within_the_limits(tmp_path: Path) -> None:
    interval = certify_limits(boost(GROUPED, limited(), **PARAMETERS)).interval
    verification = verdict(json.loads(limited_text()), tmp_path)
    assert verification and "of weights that keep the limits" in verification.reason
    assert "not checked" not in verification.reason and verification.quantity == interval.quantity
    assert verification.claimed == pytest.approx((interval.lower, interval.upper), abs=1e-7)
    assert interval.upper < json.loads(free_text())["claim"]["lower"] - 0.01


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 12))])
def test_intervals_of_files_contain_the_optimum_of_all_columns(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    N, t, nu, eta, share = 10, 7, 4.0, 4.0, 0.1 + 0.4 * rng.random()
    U, costs, slopes = rng.choice([-1.0, 1.0], (N, t)), rng.random(t), rng.normal(size=N)
    slopes /= 1.01 * np.abs(slopes).sum()
    costs[0] = 0.0
    groups = np.where(np.arange(N) < 5, 1.0, -1.0)
    oracle = LimitedClass(GivenMargins(U), [Budget(costs, share), MarginLimit(slopes, 0.4)])
    run = boost(GROUPED, oracle, nu=nu, eta=eta, groups=groups, epsilon=1e-4, max_rounds=20)
    run.save_certificate(tmp_path / "class.json", oracle)
    verification = verify(tmp_path / "class.json", oracle, formulation=GROUPED)
    # The dual of the program within the limits, by CVXPY alone.
    d, p = cp.Variable(N, nonneg=True), cp.Variable(2, nonneg=True)
    A, b = np.vstack([costs, slopes @ U]), np.array([share, 0.4])
    value: Any = (cp.norm(d[:5], 2) + cp.norm(d[5:], 2)) / eta + b @ p + cp.max(U.T @ d - A.T @ p)
    constraints: list[Any] = [cp.sum(d) == 1.0, d <= 1.0 / nu]
    optimum: Any = cp.Problem(cp.Minimize(value), constraints).solve(solver=cp.CLARABEL)
    assert verification and verification.claimed[0] - 1e-7 <= optimum <= verification.claimed[1] + 1e-7
    assert verification.claimed[1] - verification.claimed[0] <= 1e-3


def move_weight(document: Document) -> None:
    """Exchange the multipliers of the edges of the first and of the last hypothesis."""
    values = document["proof"]["multipliers"]["equalities"]
    first = len(values) - document["data"]["t"]
    values[first], values[-1] = values[-1], values[first]


def scale(document: Document, name: str, factor: float) -> None:
    """Multiply the numbers of the limits."""
    document["limits"][name] = [factor * value for value in document["limits"][name]]


def take_free_proof(document: Document) -> None:
    """Take hypotheses, multipliers and the lower bound of the run without limits."""
    free = json.loads(free_text())
    document["proof"]["multipliers"] = free["proof"]["multipliers"]
    document["claim"]["lower"] = free["claim"]["lower"]
    document["G"] = free["G"]
    document["data"] |= {name: free["data"][name] for name in ("hypotheses", "t", "U")}


def take_free_point(document: Document) -> None:
    """Take the point of the run without limits, without prices."""
    document["proof"]["point"] = json.loads(free_text())["proof"]["point"]
    scale(document, "prices", 0.0)


def drop_limit(document: Document) -> None:
    """Leave out the first limit."""
    for values in document["limits"].values():
        values.pop(0)


FORGERIES: dict[str, Callable[[Document], Any]] = {
    "a higher lower bound": lambda x: x["claim"].update(lower=x["claim"]["lower"] + 1e-6),
    "a lower upper bound": lambda x: x["claim"].update(upper=x["claim"]["upper"] - 1e-6),
    "another value": lambda x: x["claim"].update(what="best soft margin"),
    "a tighter limit": lambda x: scale(x, "right sides", 0.5),
    "a looser limit": lambda x: scale(x, "right sides", 2.0),
    "no prices": lambda x: scale(x, "prices", 0.0),
    "negative prices": lambda x: scale(x, "prices", -1.0),
    "prices without end": lambda x: x["limits"].update(prices=["inf"] * 2),
    "one limit less": drop_limit,
    "limits left out": lambda x: x.pop("limits"),
    "no limit": lambda x: x.update(limits={"right sides": [], "prices": []}),
    "a further name": lambda x: x["limits"].update(errors=[0.0, 0.0]),
    "weights of other hypotheses": move_weight,
    "the proof of a run without limits": take_free_proof,
    "the point of a run without limits": take_free_point,
    "another class": lambda x: x["data"].update(digest=limited(0.2).digest),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_forged_files_are_rejected(case: str, tmp_path: Path) -> None:
    document = json.loads(limited_text())
    FORGERIES[case](document)
    verification = verdict(document, tmp_path)
    assert not verification and len(verification.reason) > 20


def test_the_proof_of_a_run_without_limits_is_rejected_for_its_weights(tmp_path: Path) -> None:
    document = json.loads(limited_text())
    take_free_proof(document)
    assert "not proved to keep the limits" in verdict(document, tmp_path).reason
    free = json.loads(free_text())
    assert verdict(free, tmp_path, STUMPS)
    assert "no limits" in verdict({**free, "data": {**free["data"], "digest": limited().digest}}, tmp_path).reason
    assert "pass a LimitedClass" in verdict(json.loads(limited_text()), tmp_path, STUMPS).reason


def test_margins_are_passed_with_the_rows_of_the_limits(tmp_path: Path) -> None:
    run, document = boost(GROUPED, limited(), **PARAMETERS), json.loads(limited_text())
    w = certify_limits(run).w
    assert w is not None
    U = np.asarray(run.record.pool.margins.take_columns(np.flatnonzero(w)).to_array())
    accepted = verdict(document, tmp_path, U=U)
    assert accepted and "was not checked" in accepted.reason
    assert "rows of examples" in verdict(document, tmp_path, U=U[:-2]).reason
    changed = U.copy()
    changed[-1] = 0.0
    assert "the rows of the limits in U= are not" in verdict(document, tmp_path, U=changed).reason
