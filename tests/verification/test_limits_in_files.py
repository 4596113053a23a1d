"""Certificate files of runs whose hypothesis weights have limits: intervals by enumeration, and forged files."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from boostopt import ProblemError, boost, verify
from boostopt.boosting import certify_limits
from boostopt.oracles import Budget, DecisionStumps, GivenMargins, LimitedClass, MarginLimit, equal_mean_margins
from boostopt.verification import subject
from boostopt.verification.trusted_kernel.stated_limits import keeps_limits

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 3))
y = np.where(X[:, 0] + 0.4 * X[:, 1] + 0.5 * RNG.normal(size=30) > 0, 1, -1)
COSTS = np.array([1.0, 0.4, 0.1])
FURTHER_FORMULATIONS: dict[str, dict[str, Any]] = {
    "erlpboost": {"nu": 8.0, "eta": 100.0},
    "binary_erlpboost": {"nu": 8.0, "eta": 100.0},
    "adaboost_cg": {},
    "log_loss": {"max_rounds": 40},
}


def limited(limit: float = 0.3) -> LimitedClass:
    return LimitedClass(DecisionStumps(X, y), [Budget(COSTS, limit), *equal_mean_margins(X[:, 2] > 0, 0.1)])


@cache
def limited_document() -> str:
    """The text of the file of a run over `limited()`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "class.json"
        boost("lpboost", limited(), nu=8.0, epsilon=1e-4).save_certificate(file, limited())
        return file.read_text()


def verdict(document: Any, tmp_path: Path, oracle: Any = None, **arguments: Any) -> Any:
    file = tmp_path / "changed.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return verify(file, limited() if oracle is None else oracle, **arguments)


@pytest.mark.thorough_cases("erlpboost", "binary_erlpboost", "adaboost_cg", "log_loss")
@pytest.mark.parametrize("name", ["lpboost", *FURTHER_FORMULATIONS])
def test_a_file_has_the_interval_within_the_limits(name: str, tmp_path: Path) -> None:
    parameters = FURTHER_FORMULATIONS.get(name, {"nu": 8.0})
    run = boost(name, limited(), epsilon=1e-4, **parameters)
    run.save_certificate(tmp_path / "class.json", limited())
    verification, interval = verify(tmp_path / "class.json", limited()), certify_limits(run).interval
    assert verification and "of weights that keep the limits" in verification.reason
    assert "not checked" not in verification.reason and verification.quantity == interval.quantity
    assert verification.claimed == pytest.approx((interval.lower, interval.upper), abs=1e-10)
    assert verification.lower <= verification.upper and subject(tmp_path / "class.json") == "class"


@pytest.mark.every(5)
@pytest.mark.parametrize("seed", range(10))
def test_intervals_of_files_contain_the_optimum_of_all_columns(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    N, t, nu, share = 12, 9, 4.0, 0.1 + 0.4 * rng.random()
    U, costs, slopes = rng.choice([-1.0, 1.0], (N, t)), rng.random(t), rng.normal(size=N)
    slopes /= 1.01 * np.abs(slopes).sum()
    costs[0] = 0.0
    oracle = LimitedClass(GivenMargins(U), [Budget(costs, share), MarginLimit(slopes, 0.4)])
    A, b = np.vstack([costs, slopes @ U]), np.array([share, 0.4])
    answer = linprog(
        np.r_[np.zeros(t), -1.0, np.full(N, 1.0 / nu)],
        A_ub=np.vstack([np.hstack([-U, np.ones((N, 1)), -np.eye(N)]), np.hstack([A, np.zeros((2, 1 + N))])]),
        b_ub=np.r_[np.zeros(N), b],
        A_eq=[np.r_[np.ones(t), np.zeros(1 + N)]],
        b_eq=[1.0],
        bounds=[(0, None)] * t + [(None, None)] + [(0, None)] * N,
    )
    boost("lpboost", oracle, nu=nu, epsilon=1e-6).save_certificate(tmp_path / "class.json", oracle)
    verification = verify(tmp_path / "class.json", oracle)
    assert verification and verification.claimed[1] - verification.claimed[0] <= 1e-5
    assert verification.claimed[0] - 1e-9 <= -answer.fun <= verification.claimed[1] + 1e-9


Document = dict[str, Any]
"""The object of a file."""


def state(document: Document, part: str, **values: Any) -> None:
    """Change values of a part."""
    document[part] |= values


def scale(document: Document, part: str, name: str, factor: float) -> None:
    """Multiply the numbers of a list."""
    document[part][name] = [factor * value for value in document[part][name]]


def turn(document: Document, name: str) -> None:
    """Turn the order of an array around."""
    document["arrays"][name] = document["arrays"][name][::-1]


def vote_for_one(document: Document, feature: int) -> None:
    """Give all weight to the hypothesis of a feature whose mean margins of the two groups differ most."""
    margins = [mean_difference(h) if h["feature"] == feature else 0.0 for h in document["data"]["hypotheses"]]
    document["arrays"]["w"] = np.eye(len(margins))[int(np.argmax(margins))].tolist()


def mean_difference(h: dict[str, Any]) -> float:
    """The absolute difference of the mean margins of a stump in the two groups."""
    margins = y * h["sign"] * np.where(X[:, h["feature"]] > h["threshold"], 1.0, -1.0)
    return abs(margins[X[:, 2] > 0].mean() - margins[X[:, 2] <= 0].mean())


def drop_limit(document: Document) -> None:
    """Leave out the first limit."""
    for values in document["limits"].values():
        values.pop(0)


def negate_one(document: Document) -> None:
    """Give one weight a negative sign, and another one the difference."""
    w = document["arrays"]["w"]
    w[1] += 2.0 * w[0]
    w[0] = -w[0]


def count_limits(document: Document) -> None:
    """State the limits as examples of a class without limits."""
    k = len(document.pop("limits")["prices"])
    document["subject"] = "class"
    document["data"]["N"] += k
    document["arrays"]["d"] += [0.0] * k


def rename(document: Document) -> None:
    """Call all stumps those of the cheapest feature."""
    for hypothesis in document["data"]["hypotheses"]:
        hypothesis["feature"] = 2


FORGERIES: dict[str, Callable[[Document], Any]] = {
    "a higher lower bound": lambda x: state(x, "claim", lower=x["claim"]["lower"] + 1e-9),
    "a lower upper bound": lambda x: state(x, "claim", upper=x["claim"]["upper"] - 1e-9),
    "another value": lambda x: state(x, "claim", what="value of the program"),
    "a tighter limit": lambda x: scale(x, "limits", "right sides", 0.5),
    "a looser limit": lambda x: scale(x, "limits", "right sides", 2.0),
    "no prices": lambda x: scale(x, "limits", "prices", 0.0),
    "doubled prices": lambda x: scale(x, "limits", "prices", 2.0),
    "negative prices": lambda x: scale(x, "limits", "prices", -1.0),
    "endless prices": lambda x: x["limits"].update(prices=["inf"] * 3),
    "one price too many": lambda x: x["limits"]["prices"].append(0.0),
    "no limit": lambda x: x.update(limits={"right sides": [], "prices": []}),
    "one limit less": drop_limit,
    "limits left out": lambda x: x.pop("limits"),
    "limits of a class without": lambda x: x.update(subject="class"),
    "limits of a program": lambda x: x.update(subject="program"),
    "limits as examples": count_limits,
    "a class without limits": lambda x: (x.update(subject="class"), x.pop("limits")),
    "votes above the budget": lambda x: (vote_for_one(x, 0), state(x, "claim", lower="-inf")),
    "votes of unequal means": lambda x: (vote_for_one(x, 2), state(x, "claim", lower="-inf")),
    "the weights turned around": lambda x: turn(x, "w"),
    "doubled weights": lambda x: scale(x, "arrays", "w", 2.0),
    "no weights": lambda x: scale(x, "arrays", "w", 0.0),
    "a negative weight": negate_one,
    "another distribution": lambda x: turn(x, "d"),
    "cheaper names of hypotheses": rename,
    "a feature counted from the end": lambda x: x["data"]["hypotheses"][0].update(feature=-1),
    "a feature that is not there": lambda x: x["data"]["hypotheses"][0].update(feature=3, features=4),
    "a hypothesis less": lambda x: x["data"]["hypotheses"].pop(),
    "a smaller nu": lambda x: (x["formulation"]["parameters"].update(nu=7.0), x["F"].update(nu=7.0)),
    "another class": lambda x: state(x, "data", digest=limited(0.2).digest),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_forged_files_are_rejected(case: str, tmp_path: Path) -> None:
    document = json.loads(limited_document())
    FORGERIES[case](document)
    verification = verdict(document, tmp_path)
    assert not verification and len(verification.reason) > 20


def test_reasons_name_the_limits(tmp_path: Path) -> None:
    for case, words in (
        ("votes of unequal means", "its weights are not proved to keep the limits of the class"),
        ("votes above the budget", "its weights are not proved to keep the limits of the class"),
        ("a class without limits", "the file states no limits of the weights"),
        ("a tighter limit", "the file states other right sides of the limits than the oracle has"),
        ("negative prices", "prices of limits must be non-negative"),
    ):
        document = json.loads(limited_document())
        FORGERIES[case](document)
        assert words in verdict(document, tmp_path).reason, case


def test_a_file_without_limits_proves_nothing_about_a_limited_class(tmp_path: Path) -> None:
    """The weights of a run without limits have a larger soft margin, and its digest is that of the limited class."""
    stumps, file = DecisionStumps(X, y), tmp_path / "free.json"
    boost("lpboost", stumps, nu=8.0, epsilon=1e-4).save_certificate(file, stumps)
    document, honest = json.loads(file.read_text()), json.loads(limited_document())
    assert document["claim"]["lower"] > honest["claim"]["upper"] + 0.01
    assert verdict(document, tmp_path, stumps)
    document["data"] |= {name: honest["data"][name] for name in ("oracle", "digest")}
    assert "no limits" in verdict(document, tmp_path).reason
    document |= {"subject": honest["subject"], "limits": honest["limits"]}
    assert "keep the limits" in verdict(document, tmp_path).reason
    document["limits"]["prices"] = [0.0] * 3
    assert "keep the limits" in verdict(document, tmp_path).reason


def test_a_file_with_limits_proves_nothing_about_the_class_without(tmp_path: Path) -> None:
    stumps, document = DecisionStumps(X, y), json.loads(limited_document())
    document["data"] |= {"digest": stumps.digest, "oracle": str(stumps)}
    assert "pass a LimitedClass" in verdict(document, tmp_path, stumps).reason
    limits = document.pop("limits")
    document["subject"] = "class"
    # Without the prices, the same weights of the examples prove a larger bound.
    assert max(limits["prices"]) > 0.0
    assert "the proved bound is" in verdict(document, tmp_path, stumps).reason


def test_margins_are_passed_with_the_rows_of_the_limits(tmp_path: Path) -> None:
    run, document = boost("lpboost", limited(), nu=8.0, epsilon=1e-4), json.loads(limited_document())
    w = certify_limits(run).w
    assert w is not None
    U = np.asarray(run.record.pool.margins.take_columns(np.flatnonzero(w)).to_array())
    document["data"]["hypotheses"] = []
    assert "pass them as U=" in verdict(document, tmp_path).reason
    accepted = verdict(document, tmp_path, U=U)
    assert accepted and "belong to the class was not checked" in accepted.reason
    assert "rows of examples" in verdict(document, tmp_path, U=U[:-3]).reason
    assert "nor whether they belong to the groups whose costs U= states" in accepted.reason
    for limit, values in ((0, -0.2), (0, U[-3] - 1e-12), (1, 0.0), (2, U[-1] - 1e-9)):
        changed = U.copy()
        changed[30 + limit] = values
        assert "the rows of the limits in U= are not" in verdict(document, tmp_path, U=changed).reason
    assert not verdict(document, tmp_path, U=np.vstack([U[:-3], 0.0 * U[-3:] - 1.0]))


def test_rows_of_limits_that_no_weights_need_prove_nothing(tmp_path: Path) -> None:
    """Rows of zeros keep every limit: the best weights of the class without limits were accepted with them."""
    stumps, file = DecisionStumps(X, y), tmp_path / "free.json"
    run = boost("lpboost", stumps, nu=8.0, epsilon=1e-4)
    run.save_certificate(file, stumps)
    document, honest = json.loads(file.read_text()), json.loads(limited_document())
    U = run.record.pool.margins.take_columns(np.flatnonzero(run.w)).to_array()
    document["data"] |= {name: honest["data"][name] for name in ("oracle", "digest")}
    document |= {"subject": honest["subject"], "limits": {**honest["limits"], "prices": [0.0] * 3}}
    assert document["claim"]["lower"] > honest["claim"]["upper"] + 0.01
    verification = verdict(document, tmp_path, U=np.vstack([U, np.zeros((3, U.shape[1]))]))
    assert "the rows of the limits in U= are not" in verification.reason


def test_hypotheses_that_the_class_knows_belong_to_their_own_groups(tmp_path: Path) -> None:
    """Stumps of a group with costs, passed as those of a group without, keep every limit."""
    rng = np.random.default_rng(0)
    features = np.round(rng.normal(size=(40, 3)), 1)
    labels = np.where(features[:, 0] + features[:, 1] + 0.5 * rng.normal(size=40) > 0, 1, -1)
    stumps, honest_file, file = DecisionStumps(features, labels), tmp_path / "honest.json", tmp_path / "free.json"
    oracle = LimitedClass(stumps, Budget(np.array([1.0, 1.0, 0.0]), limit=0.1))
    boost("lpboost", oracle, nu=10.0, epsilon=1e-4).save_certificate(honest_file, oracle)
    run = boost("lpboost", stumps, nu=10.0, epsilon=1e-4)
    run.save_certificate(file, stumps)
    document, honest = json.loads(file.read_text()), json.loads(honest_file.read_text())
    document["data"] |= {name: honest["data"][name] for name in ("oracle", "digest")}
    document |= {"subject": honest["subject"], "limits": {**honest["limits"], "prices": [0.0]}}
    assert document["claim"]["lower"] > honest["claim"]["upper"] + 0.1
    U = run.record.pool.margins.take_columns(np.flatnonzero(run.w)).to_array()
    verification = verdict(document, tmp_path, oracle, U=np.vstack([U, np.zeros((1, U.shape[1]))]))
    assert "other coefficients in the limits of the oracle than U= states" in verification.reason


def test_a_run_without_weights_within_the_limits_has_no_file(tmp_path: Path) -> None:
    oracle = LimitedClass(GivenMargins([[1.0, -1.0], [1.0, 1.0]]), Budget(np.array([0.5, 0.7]), 0.4))
    run = boost("lpboost", oracle, nu=1.0)
    with pytest.raises(ProblemError, match=r"\bkeep the limits\b.*\bcertify_limits\b"):
        run.save_certificate(tmp_path / "class.json", oracle)
    assert not (tmp_path / "class.json").exists()


def test_limits_are_kept_in_fractions() -> None:
    A, b, w, no_error = np.array([[0.1, 0.3]]), np.array([0.2]), np.array([0.5, 0.5]), np.zeros(1)
    assert 0.5 * 0.1 + 0.5 * 0.3 == 0.2
    # The floats nearest to 0.1 and 0.3 have a mean that differs from the float nearest to 0.2.
    mean = (Fraction(0.1) + Fraction(0.3)) / 2
    assert mean != Fraction(0.2)
    assert keeps_limits(A, b, no_error, w) == (mean < Fraction(0.2))
    assert keeps_limits(-A, -b, no_error, w) == (mean > Fraction(0.2))
    assert keeps_limits(A, b + 1e-9, np.array([0.9e-9]), w) and not keeps_limits(A, b + 1e-9, np.array([1.1e-9]), w)


@pytest.mark.parametrize("w", [[-0.5, 1.5], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_weights_that_are_no_shares_keep_no_limits(w: list[float]) -> None:
    assert not keeps_limits(np.array([[-1.0, -1.0]]), np.array([0.5]), np.zeros(1), np.array(w))
