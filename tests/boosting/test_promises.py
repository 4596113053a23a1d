"""The claims of a run at its end are true: promises that were false once, each with the numbers that showed it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostopt import boost, get_formulation
from boostopt.boosting import Stabilization
from boostopt.oracles import GivenMargins


def whole(name: str, U: np.ndarray, **parameters: Any) -> float:
    """The least that the program over all columns is worth."""
    return get_formulation(name).bind(U, **parameters).solve(tol=1e-9).certificate.lower


def test_below_a_bound_of_the_edges_priced_is_about_epsilon_itself_and_not_a_share_of_gamma() -> None:
    U = np.array([[0.001, 0.00100999]])
    run = boost("l1_adaboost", GivenMargins(U, choose=[0]), C=1e4, epsilon=0.01)
    assert whole("l1_adaboost", U, C=1e4) <= run.record.state.dual_objective + 0.01


@pytest.mark.parametrize("stabilization", [Stabilization(), Stabilization(inner=0.4)], ids=["plain", "smoothed"])
@pytest.mark.parametrize("name", ["l1_adaboost", "qp_reg_adaboost"])
@pytest.mark.parametrize("seed", range(6))
def test_no_hypothesis_changes_the_value_by_more_than_priced_says(
    name: str, seed: int, stabilization: Stabilization
) -> None:
    rng = np.random.default_rng(seed)
    U = rng.uniform(-1, 1, (8, 6)) * 10.0 ** rng.uniform(-2, 0)
    run = boost(name, GivenMargins(U), C=float(10.0 ** rng.uniform(-1, 2)), epsilon=0.1, stabilization=stabilization)
    assert run.reason.startswith(("priced", "converged"))
    parameters = {"C": run.record.problem.template.parameters.C}
    if run.reason.startswith("priced") and name == "l1_adaboost":  # all hypotheses at once, not one by one
        assert whole(name, U, **parameters) <= run.record.state.dual_objective + 0.1 + 1e-6
    margins = np.asarray(run.record.pool.margins.to_cvxpy_constant())
    for u in U.T:
        if not (margins.T == u).all(axis=1).any():  # a class has each hypothesis once
            changed = whole(name, np.column_stack([margins, u]), **parameters) - run.record.state.dual_objective
            assert changed <= 0.1 + 1e-6


FAULTLESS_WITH_SMALL_MARGINS = np.array(
    [[-0.24, 0.97, 0.02], [0.69, 0.34, 0.4], [0.59, -0.15, 0.72], [0.97, -0.57, 0.81]]
)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("adaboost", {}),
        ("ata", {"phi": 0.5}),
        ("arc_gv", {}),
        ("adaboost_star", {"accuracy": 0.5}),
        ("coordinate_ascent", {}),
        ("approximate_coordinate_ascent", {}),
    ],
)
@pytest.mark.parametrize("seed", range(8))
def test_a_faultless_hypothesis_is_not_returned_alone_where_the_classifier_before_was_better(
    name: str, arguments: dict[str, Any], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    U = FAULTLESS_WITH_SMALL_MARGINS if seed == 0 else rng.uniform(-1, 1, (4, 3))
    U[:, 2] = np.abs(U[:, 2]) if seed else U[:, 2]
    run = boost(name, GivenMargins(U), max_rounds=50, **arguments)
    margins = run.trace["soft_margin"]
    if "faultless" in run.reason or "on every example" in run.reason:
        assert margins[-1] >= margins[-2] if len(margins) > 1 else margins[-1] > 0.0
    if seed == 0 and name == "adaboost":
        assert run.class_certificate.lower == pytest.approx(0.2343, abs=1e-4)
        assert "left out" in run.reason


def test_no_weights_are_worth_the_least_penalty_where_hypotheses_count_without_their_sign() -> None:
    oracle = GivenMargins(np.zeros((4, 2)), reflexive=True)
    options: dict[str, Any] = {"r": 1.0, "two_sided": True, "eta": 100.0, "epsilon": 0.01}
    run = boost("norm_penalty", oracle, update="step", **options)
    assert run.trace["soft_margin"][-1] == pytest.approx(0.5)
    assert run.reason.startswith("direct")


@pytest.mark.parametrize(
    ("u", "rho"), [(0.0, -5e-324), (5e-324, 0.0), (5e-324, -5e-324), (0.0, 1e-310), (-5e-324, 0.0)]
)
def test_a_constant_column_beside_its_equation_has_no_upper_end(u: float, rho: float) -> None:
    certificate = get_formulation("entropy_projection").bind(np.full((4, 1), u), rho=rho).certify(w=[1.0])
    assert certificate.upper == np.inf


def test_a_constant_column_on_its_equation_has_one() -> None:
    for u in (0.0, 5e-324, 0.3):
        assert get_formulation("entropy_projection").bind(np.full((4, 1), u), rho=u).certify(w=[1.0]).upper < 1.0
