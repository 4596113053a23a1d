"""Faults that were found by trying hard, one test for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostopt import boost
from boostopt.oracles import DecisionStumps, GivenMargins, KernelColumns


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


def test_an_edge_is_rounded_by_the_sum_of_the_weights() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.choice([-1, -0.5, 0, 0.5, 1.0], (12, 1)), rng.choice([-1, 1], 12)
    y[:2] = 1, -1
    run = boost("svm", DecisionStumps(X, y, reflexive=False), C=1e9, max_rounds=15)
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
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(4, 9)) * 40, np.array([1, -1, 1, -1])
        oracle = KernelColumns(X, y, kernel=kernel, c=np.array([1, 2, 2, 0.0]))
        run = boost("lpboost", oracle, nu=1.0, max_rounds=4)
        for q, hypothesis in enumerate(run.hypotheses):
            u = run.record.collected.margins.column(q)
            np.testing.assert_array_equal((hypothesis(X) * y)[:3], u)
            np.testing.assert_array_equal(hypothesis(X[:3]) * y[:3], u)
