"""Certificate files of programs over a class whose value is no soft margin: losses with 1-norms of the weights."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import OptionError, Run, boost, combine, get_formulation, verify
from boostopt.oracles import DecisionStumps, GivenMargins
from boostopt.verification.trusted_kernel.edge_terms import bound_over_class
from boostopt.verification.trusted_kernel.number_types import FloatBalls

RNG = np.random.default_rng(4)
X = RNG.normal(size=(24, 3))
y = np.where(X[:, 0] + 0.5 * RNG.normal(size=24) > 0, 1, -1)
STUMPS = DecisionStumps(X, y)
LOSSES = ("hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", "exponential")
NUMBERS = {"C": 1.0, "mu": 0.7, "eta": 1.0, "l1": 0.8, "r": 0.6}


def formulation_and_parameters(name: str) -> tuple[Any, dict[str, Any]]:
    formulation: Any = get_formulation(name)
    return formulation, {key: value for key, value in NUMBERS.items() if key in formulation.parameters}


@cache
def run_over_stumps(name: str) -> Run:
    formulation, parameters = formulation_and_parameters(name)
    return boost(formulation, STUMPS, epsilon=1e-3, max_rounds=60, **parameters)


@pytest.mark.thorough_cases(*(f"{loss}+{penalty}" for loss in LOSSES[1:] for penalty in ("l1", "l1_ball")))
@pytest.mark.parametrize(
    "name",
    [
        *(f"{loss}+{penalty}" for loss in LOSSES for penalty in ("l1", "l1_ball")),
        *("hinge+signed_l1", "logistic+signed_l1_ball", "l1_adaboost", "logitboost_cg"),
    ],
)
def test_a_file_has_the_interval_of_the_run(name: str, tmp_path: Path) -> None:
    run, file = run_over_stumps(name), tmp_path / "class.json"
    run.save_certificate(file, STUMPS)
    verification, certificate = verify(file, DecisionStumps(X, y)), run.class_certificate
    assert verification and "both bounds of the best value of the program" in verification.reason
    assert verification.claimed == pytest.approx((certificate.lower, certificate.upper), abs=1e-9)
    assert verification.lower <= verification.upper and verification.quantity == "value of the program"


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["hinge+l1", "squared_hinge+signed_l1", "logistic+l1_ball", "l1_adaboost"])
def test_intervals_contain_the_optimum_over_all_columns(name: str, seed: int, tmp_path: Path) -> None:
    formulation, parameters = formulation_and_parameters(name)
    U = np.random.default_rng(seed).choice([-1.0, 1.0], (9, 7))
    oracle = GivenMargins(U, reflexive=True)
    run = boost(formulation, oracle, epsilon=1e-5, max_rounds=60, **parameters)
    run.save_certificate(tmp_path / "class.json", oracle)
    verification = verify(tmp_path / "class.json", oracle)
    optimum = formulation.bind(np.hstack([U, -U]), **parameters).solve(tol=1e-9).certificate
    assert verification and verification.claimed[0] <= optimum.upper and optimum.lower <= verification.claimed[1]


FORGERIES: dict[str, Any] = {
    "a higher lower bound": lambda x: x["claim"].update(lower=x["claim"]["lower"] + 1e-9),
    "a lower upper bound": lambda x: x["claim"].update(upper=x["claim"]["upper"] - 1e-9),
    "a soft margin": lambda x: x["claim"].update(what="soft margin"),
    "edges above the level": lambda x: x["arrays"].update(d=[1.0 * (d > 0.5) for d in x["arrays"]["d"]]),
    "no distribution": lambda x: x["arrays"].update(d=[0.0] * len(x["arrays"]["d"])),
    "doubled weights": lambda x: x["arrays"].update(w=[2.0 * w for w in x["arrays"]["w"]]),
    "another price in G": lambda x: x["G"].update(gamma=5.0),
    "another price": lambda x: (x["formulation"]["parameters"].update(l1=5.0), x["G"].update(gamma=5.0)),
    "weights of both signs": lambda x: x.update(G={"kind": "1-norm", "signed": True, "l1": 0.8}),
    "the largest edge": lambda x: x.update(G={"kind": "maximum"}),
    "a ball": lambda x: x.update(G={"kind": "ball", "signed": True, "p": 1.0, "r": 0.8}),
    "a squared penalty": lambda x: x.update(G={"kind": "squared"}),
    "another loss": lambda x: x["formulation"].update(name="squared_hinge+l1"),
    "a hypothesis less": lambda x: x["data"]["hypotheses"].pop(),
    "a program": lambda x: x.update(subject="program"),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_forged_files_are_rejected(case: str, tmp_path: Path) -> None:
    file = tmp_path / "class.json"
    run_over_stumps("hinge+l1").save_certificate(file, STUMPS)
    document = json.loads(file.read_text())
    FORGERIES[case](document)
    file.write_text(json.dumps(document))
    verification = verify(file, STUMPS)
    assert not verification and len(verification.reason) > 20


def test_signed_weights_need_a_class_with_negations(tmp_path: Path) -> None:
    """The edges of upward stumps alone are within the level, and those of their negations are not."""
    file, upward = tmp_path / "class.json", DecisionStumps(X, y, reflexive=False)
    run_over_stumps("hinge+signed_l1").save_certificate(file, STUMPS)
    document = json.loads(file.read_text())
    assert document["G"]["signed"] and verify(file, STUMPS)
    document["data"] |= {"digest": upward.digest, "oracle": str(upward)}
    file.write_text(json.dumps(document))
    assert "negations" in verify(file, upward).reason


def test_penalties_that_the_largest_edge_does_not_bound_have_no_file(tmp_path: Path) -> None:
    run = boost(combine("hinge", "l2_squared"), STUMPS, C=1.0, l2=1.0, epsilon=0.01, max_rounds=10)
    with pytest.raises(OptionError, match=r"\blargest edge\b"):
        run.save_certificate(tmp_path / "class.json", STUMPS)


def test_bounds_of_edge_functions_over_a_class_are_upper_bounds() -> None:
    A = FloatBalls()

    def bound(largest: float, **G: Any) -> float | None:
        value = bound_over_class(A, G, A.to_number(largest))
        return None if value is None else float(A.upper(value))

    assert bound(0.5, kind="bounded", gamma=0.5) is not None and bound(0.5000001, kind="bounded", gamma=0.5) is None
    assert bound(0.8000001, kind="1-norm", l1=0.8, signed=True) is None
    ball = bound(0.5, kind="ball", p=1.0, r=3.0, signed=True)
    assert ball is not None and 1.5 <= ball <= 1.5 + 1e-14
    assert bound(0.5, kind="ball", p=2.0, r=3.0, signed=True) is None and bound(0.5, kind="squared") is None
    negative = bound(-0.5, kind="ball", p=1.0, r=3.0, signed=False)
    assert negative is not None and 0.0 <= negative <= 1e-14
