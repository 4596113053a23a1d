"""The mechanical dual function: against the infimum that it stands for, cone by cone, and by hand."""

from __future__ import annotations

import re
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt.authoring import minimize
from boostopt.checks.references.dual_function import (
    conic_dual,
    dual_function,
    label_edge_constraint,
    lagrangian_problem,
)
from boostopt.checks.references.measurements import ComponentError, optimal_value

U = np.array([[1.0, -1.0], [-0.5, 1.0], [0.25, 0.5], [-1.0, 0.5]])
A = np.array([[0.5, -1.0, 0.3, 0.7], [-0.2, 0.4, 1.0, -0.6]])

OBJECTIVES = {
    "linear": lambda x: cp.max(x) + 0.5 * cp.norm1(x),
    "second order": lambda x: cp.norm2(x - 1.0) + cp.norm2(x[:2]),
    "squares": lambda x: cp.sum_squares(x - 1.0),
    "entropy": lambda x: cp.sum(cp.rel_entr(x, np.ones(4))),
    "logarithm of exponentials": lambda x: cp.log_sum_exp(x) + cp.sum(cp.exp(-x)),
    "power": lambda x: cp.sum(cp.power(cp.abs(x), 2.3, approx=False)),
    "all together, with a constant": lambda x: (
        cp.log_sum_exp(x) + cp.norm2(x) + cp.sum(cp.power(cp.abs(x), 1.7, approx=False)) + cp.sum_squares(x) + 3.0
    ),
}


def primal(objective: Any, relation: str = "<=") -> Any:
    x = cp.Variable(4)
    edges = A @ x <= 0.3 if relation == "<=" else A @ x == 0.3
    return minimize(objective(x), subject_to={"w": edges, "beta": cp.sum(x) == 1, "box": cp.abs(x) <= 5})


@pytest.mark.every(3)
@pytest.mark.parametrize("relation", ("<=", "=="))
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_dual_is_the_infimum_of_the_lagrangian(name: str, relation: str) -> None:
    """By another route: the Lagrangian itself, minimized by CVXPY."""
    problem = primal(OBJECTIVES[name], relation)
    edges = next(c for c in problem.constraints if c.label == "w")
    rest = [c for c in problem.constraints if c.label != "w"]
    for w in (np.array([0.3, 0.2]), np.array([1.5, 0.0])):
        lagrangian = cp.Problem(cp.Minimize(problem.objective.expr + w @ edges.expr), rest)
        assert dual_function(problem, w) == pytest.approx(optimal_value(lagrangian), abs=1e-6)


def test_inequalities_have_no_negative_multiplier_and_equations_have() -> None:
    w = np.array([0.3, -0.2])
    assert dual_function(primal(OBJECTIVES["squares"]), w) == -np.inf
    assert np.isfinite(dual_function(primal(OBJECTIVES["squares"], "=="), w) or np.nan)


def test_weak_duality_at_random_weights_and_strong_duality_at_the_multiplier() -> None:
    problem = primal(OBJECTIVES["all together, with a constant"])
    value = optimal_value(problem)
    assert value is not None
    multiplier = np.array(problem.constraints[0].dual_value)
    assert dual_function(problem, multiplier) == pytest.approx(value, abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(5):
        bound = dual_function(problem, rng.exponential(size=2))
        assert bound is not None and bound <= value + 1e-6


def test_a_linear_program_by_hand() -> None:
    """Min gamma, edges <= gamma, d in the simplex: L(w) = min_n (U w)_n where sum w = 1, else -inf."""
    d, gamma = cp.Variable(4), cp.Variable()
    problem = minimize(gamma, subject_to={"w": U.T @ d <= gamma, "beta": cp.sum(d) == 1, "d >= 0": d >= 0})
    w = np.array([0.25, 0.75])
    assert dual_function(problem, w) == pytest.approx((U @ w).min(), abs=1e-8)
    assert dual_function(problem, 1.1 * w) == -np.inf


def test_two_sided_constraints_make_w_the_difference() -> None:
    """Min gamma, |edges| <= gamma: L(w) = min_n (U w)_n where the 1-norm of w is at most 1."""
    d, gamma = cp.Variable(4), cp.Variable()
    problem = minimize(
        gamma,
        subject_to={"w+": U.T @ d <= gamma, "w-": -U.T @ d <= gamma, "beta": cp.sum(d) == 1, "d >= 0": d >= 0},
    )
    for w in (np.array([0.25, -0.75]), np.array([-0.2, 0.1])):
        assert dual_function(problem, w) == pytest.approx((U @ w).min(), abs=1e-8)
    assert dual_function(problem, np.array([0.8, -0.75])) == -np.inf


def test_edges_in_the_objective_are_found_where_no_constraint_has_them() -> None:
    """Min -sum d + max(0, e)^2 / 4 summed, 0 <= d <= 1: L(w) = -sum (1 - (U w)_n)_+ - ||w||^2 for w >= 0."""
    d = cp.Variable(4)
    problem = minimize(
        -cp.sum(d) + 0.25 * cp.sum_squares(cp.pos(U.T @ d)), subject_to={"psi": d <= 1, "d >= 0": d >= 0}
    )
    constraint = label_edge_constraint(problem, U)
    w = np.array([0.6, 0.4])
    expected = -np.maximum(1.0 - U @ w, 0.0).sum() - w @ w
    assert dual_function(constraint, w) == pytest.approx(expected, abs=1e-6)
    assert dual_function(constraint, np.array([0.6, -0.1])) == -np.inf


def test_edges_may_be_combined_before_they_are_used() -> None:
    """One column less another, a single column, a column from the right: all are products with columns of U."""
    d = cp.Variable(4)
    objective = cp.square((U[:, 0] - U[:, 1]) @ d) + d @ U[:, 1] + cp.sum(cp.exp(-U.T @ d))
    problem = minimize(objective, subject_to={"beta": cp.sum(d) == 1, "d >= 0": d >= 0})
    constraint, w = label_edge_constraint(problem, U), np.array([-0.3, 0.4])
    e = cp.Variable(2)
    of_edges = cp.square(e[0] - e[1]) + e[1] + cp.sum(cp.exp(-e)) - w @ e
    infimum = optimal_value(cp.Problem(cp.Minimize(of_edges)))
    assert infimum is not None
    assert dual_function(constraint, w) == pytest.approx((U @ w).min() + infimum, abs=1e-6)


def test_labelled_primals_are_taken_as_they_are() -> None:
    problem = primal(OBJECTIVES["linear"])
    assert label_edge_constraint(problem, U) is problem


@pytest.mark.parametrize("labels", (("edges",), ("w+",), ("w", "w+", "w-")))
def test_a_primal_without_edges_is_refused_in_words(labels: tuple[str, ...]) -> None:
    x = cp.Variable(4)
    problem = minimize(cp.max(x), subject_to={label: A @ x <= k for k, label in enumerate(labels)})
    with pytest.raises(ComponentError, match=rf"\bU\.T @ d\b.* {re.escape(', '.join(labels))}$"):
        label_edge_constraint(problem, U)


def test_a_constraint_of_another_size_is_refused() -> None:
    with pytest.raises(ComponentError, match=r'"w".*\b3\b'):
        lagrangian_problem(primal(OBJECTIVES["linear"]), np.ones(3))


def test_cones_without_a_known_dual_are_refused() -> None:
    X = cp.Variable((2, 2), PSD=True)
    with pytest.raises(ComponentError, match=r"\bexponential\b.*\bpower\b"):
        conic_dual(cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 1]))
