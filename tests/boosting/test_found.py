"""Faults that were found by trying hard, one test for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_stumps import PlainStumps
from support.speeds import many

from boostopt import OptionError, boost, get_formulation, path
from boostopt.boosting import Stabilization
from boostopt.oracles import GivenMargins, KernelColumns, Query


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("norm_ball", {"r": 0.8, "p": 2.0}),
        ("norm_penalty", {"r": 1.0, "p": 2.0}),
        ("norm_penalty", {"r": 1.0, "p": 1.5}),
        ("norm_penalty", {"r": 1.0, "p": np.inf}),
    ],
)
def test_examples_without_reference_weight_do_not_count_in_the_soft_margin(
    name: str, parameters: dict[str, Any]
) -> None:
    U = np.array([[1.0, 0.2], [0.8, 1.0], [-1.0, -1.0]])
    common: dict[str, Any] = {"eta": 1000.0, "epsilon": 0.1, "max_rounds": 60, **parameters}
    run = boost(name, GivenMargins(U), d0=[0.5, 0.5, 0.0], **common)
    without = boost(name, GivenMargins(U[:2]), d0=[0.5, 0.5], **common)
    assert run.reason.startswith("direct")
    assert run.class_certificate.lower == pytest.approx(without.class_certificate.lower, abs=1e-7)
    assert run.class_certificate.gap <= 0.1 + 1e-9


def test_weights_in_the_ball_are_not_scaled_beyond_what_the_rule_has_seen() -> None:
    oracle = GivenMargins(np.array([[1.0], [-1.0], [0.5]]), reflexive=True)
    run = boost("erlpboost", oracle, two_sided=True, nu=1.0, eta=20.0, epsilon=0.3, final_weights="scaled")
    assert run.reason.startswith("direct")
    assert run.class_certificate.gap <= 0.3 + 1e-9


def test_the_first_move_of_a_pair_without_signs() -> None:
    oracle = GivenMargins(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), reflexive=True)
    run = boost("erlpboost", oracle, nu=2.0, two_sided=True, update="program", max_rounds=20)
    assert run.class_certificate.gap <= 0.01


@pytest.mark.thorough
def test_an_edge_is_rounded_by_the_sum_of_the_weights() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.choice([-1, -0.5, 0, 0.5, 1.0], (12, 1)), rng.choice([-1, 1], 12)
    y[:2] = 1, -1
    run = boost("svm", PlainStumps(X, y), C=1e9, max_rounds=15)
    assert run.reason.startswith("converged")


def test_polishing_never_lowers_the_program() -> None:
    oracle = GivenMargins(np.array([[-1.0], [0.0], [-0.5], [-1.0]]), reflexive=True)
    d0 = [0.5591230701504416, 0.44087692984955834, 0, 0]
    run = boost(
        "binary_erlpboost", oracle, nu=1.000000001, eta=10.0, two_sided=True, epsilon=1e-6, d0=d0, max_rounds=40
    )
    assert (np.diff(run.trace["value"]) >= -1e-15).all()
    assert run.certificate.gap <= 1e-12
    np.testing.assert_array_equal(run.certificate.w, run.w)


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_kernel_columns_do_not_depend_on_how_many_rows_are_looked_at(kernel: str) -> None:
    for seed in range(many(20, 4)):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(4, 9)) * 40, np.array([1, -1, 1, -1])
        oracle = KernelColumns(X, y, kernel=kernel, c=np.array([1, 2, 2, 0.0]))
        run = boost("lpboost", oracle, nu=1.0, max_rounds=4)
        for q, hypothesis in enumerate(run.hypotheses):
            u = run.record.pool.margins.column(q)
            np.testing.assert_array_equal((hypothesis(X) * y)[:3], u)
            np.testing.assert_array_equal(hypothesis(X[:3]) * y[:3], u)


@pytest.mark.thorough
def test_a_program_off_the_simplex_may_be_worth_less_than_minus_one() -> None:
    run = boost("log_loss", GivenMargins(-np.ones((3, 1))), eta=10.0)
    assert run.certificate.gap <= 1e-6
    assert run.certificate.upper < -2.0
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    run = boost("log_loss", PlainStumps(X, y), eta=20.0)
    assert run.reason.startswith("direct")
    assert len(run.w) > 3
    assert run.class_certificate.gap <= 0.01 + 1e-9


def test_a_stabilized_run_asks_with_the_newest_distribution_where_edges_are_bounded() -> None:
    U = np.array([[-1, 1], [0.5, -1], [0.75, 1], [-1, -0.75]])
    oracle = GivenMargins(U, reflexive=True)
    first = boost("adaboost", oracle, max_rounds=1)
    run = boost("softboost", oracle, nu=1.0, epsilon=0.02, start=first, stabilization=Stabilization(inner=0.9))
    assert run.class_certificate.lower <= 0.0 <= run.class_certificate.upper
    assert run.class_certificate.gap <= 0.02 + 1e-9


def test_a_projection_takes_no_negative_weights_over() -> None:
    U = np.array([[1, 1, 1], [1, 1, 1], [1, -1, -1], [-1, -1, 1.0]])
    oracle = GivenMargins(U, reflexive=True)
    first = boost("lp_adaboost", oracle, two_sided=True, columns_per_round=5, epsilon=0.1)
    run = boost("arc_gv", oracle, start=first, max_rounds=1)
    assert (run.w >= 0).all()
    m = run.record.pool.margins.margins(run.w)
    assert abs(run.class_certificate.lower - m.min() / run.w.sum()) <= 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("formulation", ["svm", "qp_reg_adaboost"])
def test_squares_over_stumps_reach_the_optimum_of_the_class(formulation: str) -> None:
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(30, 2)), 1)
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=30) > 0, 1, -1)
    columns = PlainStumps(X, y, reflexive=formulation != "svm").best(Query(np.full(30, 1 / 30), 1000)).columns
    both = np.stack([column.margins for column in columns], axis=1)
    distinct = np.unique(both * both[0], axis=1)  # each part of the examples once, whichever its sign
    U = distinct if formulation == "svm" else np.hstack([distinct, -distinct])
    whole = get_formulation(formulation).bind(U, C=1.0).solve(tol=1e-9).certificate
    run = boost(formulation, PlainStumps(X, y), C=1.0, epsilon=1e-9)
    assert run.certificate.lower <= whole.upper
    assert run.certificate.upper >= whole.lower - 1e-4


def test_edges_without_a_sign_need_a_class_closed_under_negation() -> None:
    oracle = GivenMargins(np.array([[1, 1], [1, -1], [-1, -1], [-1, -1.0]]))
    with pytest.raises(OptionError, match=r"\bsvm\b.*\breflexive=True\b"):
        boost("svm", oracle, C=1.0)
    run = boost("svm", GivenMargins(np.array([[1, 1], [1, -1], [-1, -1], [-1, -1.0]]), reflexive=True), C=1.0)
    assert abs(run.certificate.upper - -3.0) <= 1e-6


def test_the_bound_on_rounds_is_at_least_one() -> None:
    run = boost("softboost", GivenMargins(np.array([[1.0, -1.0], [-1.0, 1.0]])), nu=2.0)
    assert run.iteration_bound == 1.0


@pytest.mark.parametrize(
    ("values", "came"),
    [(["a"], r"\['a'\]"), ([1j], r"\[1j\]"), ([[1], [2, 3]], "unequal"), ([True], r"\[True\]")],
    ids=["a text", "a complex number", "unequal rows", "a truth value"],
)
def test_values_of_a_path_are_numbers(values: Any, came: str) -> None:
    with pytest.raises(OptionError, match=rf"^nu\b.*{came}"):
        path("erlpboost", GivenMargins(np.eye(3)), nu=values)


@pytest.mark.parametrize("seed", range(6))
def test_the_certified_soft_margin_is_that_of_the_weights_returned(seed: int) -> None:
    rng = np.random.default_rng(seed)
    oracle = GivenMargins(rng.uniform(-1, 1, (6, 4)), reflexive=True)
    first = boost("erlpboost", oracle, nu=2.0, epsilon=0.1)
    options: dict[str, Any] = {"nu": 2.0, "epsilon": 0.1, "segment": False, "update": "program", "max_rounds": 6}
    run = boost("corrective_erlpboost", oracle, start=first, **options)
    assert (run.w >= 0).all()
    m = np.sort(run.record.pool.margins.margins(run.w) / run.w.sum())
    assert abs(run.class_certificate.lower - m[:2].mean()) <= 1e-9
