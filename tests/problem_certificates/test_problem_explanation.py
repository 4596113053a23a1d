"""KKT conditions of CVXPY problems: residuals by hand, signs of multipliers, and answers of solvers."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest
from convex_problems import PROBLEMS, cp

from boostopt import ProblemError, ProblemExplanation, certify_problem, explain_problem
from boostopt.problem_certificates.kkt_residuals import measure_conditions
from boostopt.problem_certificates.minorants import stationary_multipliers

SAMPLE = ("lasso", "svm", "markowitz", "network flow", "robust linear", "largest eigenvalue", "quad_form of low rank")
"""Problems of the fast suite."""

UNDETERMINED = {
    "entropic boosting": {"stationarity"},
    "kl projection": {"stationarity"},
    "long power cones": {"stationarity"},
    "power cones": {"stationarity"},
}
"""Conditions that the noise of the solver decides: slopes of an entropy at weights near 0, and of a geometric mean at
the apex of a cone."""


def residuals(explanation: ProblemExplanation) -> dict[str, float]:
    """Return the largest residual of each kind."""
    result: dict[str, float] = {}
    for condition in explanation.conditions:
        result[condition.kind] = max(result.get(condition.kind, 0.0), condition.residual)
    return result


def bounded_line(value: float, multiplier: float, sense: type = cp.Minimize) -> Any:
    """Return min x, or max -x, with x >= 1, at a value of x and a multiplier of the constraint."""
    x = cp.Variable(name="x")
    problem = cp.Problem(sense(x if sense is cp.Minimize else -x), [x >= 1])
    x.value = value
    problem.constraints[0].save_dual_value(np.array(multiplier))
    return problem


@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
@pytest.mark.parametrize(
    ("value", "multiplier", "expected"),
    [
        (1.0, 1.0, (0.0, 0.0, 0.0, 0.0)),
        (0.5, 1.0, (0.5, 0.0, 0.5, 0.0)),
        (1.5, 1.0, (0.0, 0.0, 0.5, 0.0)),
        (1.0, 0.25, (0.0, 0.0, 0.0, 0.75)),
        (1.0, -1.0, (0.0, 1.0, 0.0, 2.0)),
    ],
)
def test_explain_problem_of_a_line_gives_residuals_by_hand(
    value: float, multiplier: float, expected: tuple[float, ...], sense: type
) -> None:
    explanation = explain_problem(bounded_line(value, multiplier, sense))
    kinds = ("primal feasibility", "dual feasibility", "complementarity", "stationarity")
    residual_values = residuals(explanation)
    assert tuple(residual_values[kind] for kind in kinds) == pytest.approx(expected, abs=1e-12)
    assert {condition.kind for condition in explanation.violated} == {
        kind for kind, residual in zip(kinds, expected, strict=True) if residual
    }


def test_explain_problem_multiplier_of_an_equality_belongs_to_left_minus_right() -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) == 2])
    x.value = np.ones(2)
    for nu, residual in ((-2.0, 0.0), (2.0, 4.0)):
        problem.constraints[0].save_dual_value(np.array(nu))
        assert residuals(explain_problem(problem))["stationarity"] == pytest.approx(residual, abs=1e-12)


@pytest.mark.parametrize(("value", "residual"), [(2.0, 0.0), (2.5, 0.5), (0.0, 2.0), (-1.0, 5.0)])
def test_explain_problem_at_and_beside_a_kink_takes_the_smallest_subgradient(value: float, residual: float) -> None:
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(cp.square(x - 3) / 2 + cp.abs(x)))  # slope x - 3 + sign(x)
    x.value = value
    residual_values = residuals(explain_problem(problem))
    assert residual_values["stationarity"] == pytest.approx(residual, abs=1e-9)


def test_explain_problem_near_a_kink_says_that_the_subgradient_is_of_another_point() -> None:
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(cp.square(x - 0.5) / 2 + cp.abs(x)))  # the minimizer is 0, with the subgradient .5
    x.value = 0.0
    assert not explain_problem(problem).violated
    x.value = 1e-2
    assert {condition.kind for condition in explain_problem(problem).violated} == {"stationarity"}


def test_explain_problem_of_equal_eigenvalues_takes_the_best_subgradient() -> None:
    X = cp.Variable((2, 2), symmetric=True, name="X")
    for objective in (cp.lambda_max(X), cp.lambda_sum_largest(X, 1), cp.sigma_max(X)):
        problem = cp.Problem(cp.Minimize(objective), [cp.trace(X) == 2])
        X.value = np.eye(2)  # both eigenvalues are 1: I / 2 is a subgradient, and the multiplier is -1/2
        problem.constraints[0].save_dual_value(np.array(-0.5))
        assert not explain_problem(problem, tolerance=1e-6).violated


def test_explain_problem_of_a_semidefinite_program_gives_residuals_by_hand() -> None:
    X = cp.Variable((2, 2), symmetric=True, name="X")
    problem = cp.Problem(cp.Minimize(cp.trace(np.diag([1.0, 2.0]) @ X)), [cp.trace(X) == 1, X >> 0])
    X.value = np.diag([1.0, 0.0])
    problem.constraints[0].save_dual_value(np.array(-1.0))
    problem.constraints[1].save_dual_value(np.diag([0.0, 1.0]))
    assert not explain_problem(problem, tolerance=1e-12).violated
    problem.constraints[1].save_dual_value(np.diag([0.0, -1.0]))  # the other sign
    residual_values = residuals(explain_problem(problem))
    assert residual_values["dual feasibility"] == pytest.approx(1.0)
    X.value = np.diag([1.5, -0.5])
    assert residuals(explain_problem(problem))["primal feasibility"] == pytest.approx(0.5)


def test_explain_problem_names_the_worst_entry_and_the_constraint() -> None:
    x = cp.Variable((2, 3), name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, x <= 5])
    problem.solve(solver="CLARABEL")
    value = np.zeros((2, 3))
    value[1, 2] = -0.25
    x.value = value
    worst = next(condition for condition in explain_problem(problem).conditions if not condition.holds)
    assert worst.subject.startswith("[0] ") and worst.worst == "entry [1, 2]" and worst.residual == 0.25


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.thorough) for name in PROBLEMS]
)
def test_explain_problem_of_a_good_answer_holds(name: str) -> None:
    problem = PROBLEMS[name]()
    with warnings.catch_warnings(action="ignore"):  # that an answer may be inaccurate
        problem.solve("CLARABEL")
    violated = {condition.kind for condition in explain_problem(problem, tolerance=2e-4).violated}
    assert violated <= UNDETERMINED.get(name, set())


@pytest.mark.parametrize("name", ["lasso", "markowitz", "network flow"])
def test_explain_problem_of_a_moved_answer_fails(name: str) -> None:
    problem = PROBLEMS[name]()
    problem.solve("CLARABEL")
    explanation = explain_problem(problem)
    x = problem.variables()[0]
    x.save_value(np.asarray(x.value) + 0.1)
    assert len(explain_problem(problem).violated) > len(explanation.violated)


def test_explain_problem_without_multipliers_says_so() -> None:
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [x >= 1, x == 1])
    x.value = 1.0
    explanation = explain_problem(problem)
    missing = [condition for condition in explanation.conditions if math.isinf(condition.residual)]
    assert [condition.kind for condition in missing] == ["dual feasibility", "dual feasibility"]
    assert "no multiplier" in str(explanation) and not any(condition.holds for condition in missing)


def test_explain_problem_without_values_is_refused() -> None:
    x = cp.Variable()
    with pytest.raises(ProblemError, match="value"):
        explain_problem(cp.Problem(cp.Minimize(x), [x >= 1]))


def test_explain_problem_outside_a_domain_has_no_finite_residual() -> None:
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x - cp.log(x)), [x <= 3])
    x.value = -1.0
    problem.constraints[0].save_dual_value(np.array(0.0))
    explanation = explain_problem(problem)
    assert {condition.kind for condition in explanation.violated} >= {"stationarity"}
    assert not any(math.isnan(condition.residual) for condition in explanation.conditions)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("cone", "point"),
    [
        (lambda x, y, z: cp.PowCone3D(x, y, z, 0.3), (-1e-10, 1e-9, 0.0)),
        (lambda x, y, z: cp.PowConeND(cp.hstack([x, y]), z, np.array([0.25, 0.75])), (2.0, -1e-10, 0.0)),
        (lambda x, y, z: cp.ExpCone(x, y, z), (-1e-10, -1e-10, -1e-10)),
        (lambda x, y, z: cp.quad_over_lin(z, x) <= y, (-1e-10, 1.0, 1e-10)),
        (lambda x, y, z: cp.von_neumann_entr(cp.diag(cp.hstack([x, y]))) >= z, (-1e-10, 1.0, -1e-9)),
        (lambda x, y, z: cp.harmonic_mean(cp.hstack([x, y])) >= z, (-1e-10, 1.0, 0.0)),
    ],
)
def test_explain_problem_just_outside_a_domain_gives_the_distance(cone: Any, point: tuple[float, ...]) -> None:
    x, y, z = cp.Variable(), cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [cone(x, y, z)])
    for variable, value in zip((x, y, z), point, strict=True):
        variable.value = value
    conditions = [
        condition for condition in explain_problem(problem).conditions if condition.kind == "primal feasibility"
    ]
    distance = next(condition for condition in conditions if condition.statement == "arguments in the domain")
    assert distance.residual == pytest.approx(1e-10) and all(condition.holds for condition in conditions)
    x.value, y.value = -0.5, -0.5
    conditions = [
        condition for condition in explain_problem(problem).conditions if condition.kind == "primal feasibility"
    ]
    assert max(condition.residual for condition in conditions) == pytest.approx(0.5, abs=1e-6)


def test_an_explanation_is_shown_as_text_and_as_html() -> None:
    explanation = explain_problem(bounded_line(0.5, 1.0))
    text = str(explanation)
    assert re.search(r"primal feasibility\n  \[0\] .*5\.0e-01 of the constraint.*FAILS", text)
    assert text.endswith(explanation.conclusion) and "2 of 4" in explanation.conclusion
    html = vars(type(explanation))["_repr_html_"](explanation)
    assert html.startswith("<table>") and html.count("FAILS") == 2


def test_names_of_several_lines_and_control_sequences_stay_in_one_line() -> None:
    x, name = cp.Variable(name="x\n\x1b[31m<b>"), "first\n\x1b[31m<b>"
    problem = cp.Problem(cp.Minimize(cp.square(x)), [(x >= 1).set_label(name)])
    problem.solve(solver="CLARABEL")
    explanation = explain_problem(problem)
    assert str(explanation).count("\n") == 8 and "\x1b" not in str(explanation)
    assert r"[0] first\n\x1b[31m<b>" in str(explanation)
    html = explanation._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<b>" not in html and "\x1b" not in html and "&lt;b&gt;" in html


def test_explain_problem_of_many_constraints_prints_those_that_fail_and_counts_the_others() -> None:
    x = cp.Variable(30, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x[k] >= k for k in range(30)])
    problem.solve(solver="CLARABEL")
    x.value = np.asarray(x.value) - np.where(np.arange(30) == 7, 0.5, 0.0)
    lines = str(explain_problem(problem)).splitlines()
    assert "[7] x[7] >= 7.0" in "".join(lines[1:3]) and lines[3] == "  and 28 more that hold"
    assert sum("FAILS" in line for line in lines) == 2  # feasibility and complementarity
    assert len(lines) < 20


def test_explain_problem_keeps_the_order_of_the_constraints_and_adds_relative_residuals() -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(1e3 * cp.sum_squares(x)), [cp.sum(x) == 2, x <= 3, x[0] - x[1] == 0, x >= 0])
    problem.solve(solver="CLARABEL")
    x.value = [1.0, 1.001]
    explanation = explain_problem(problem)
    for kind in ("primal feasibility", "dual feasibility"):
        subjects = [condition.subject for condition in explanation.conditions if condition.kind == kind]
        assert [subject[:3] for subject in subjects] == ["[0]", "[1]", "[2]", "[3]"]
    (slope,) = [condition for condition in explanation.conditions if condition.kind == "stationarity"]
    assert slope.residual == pytest.approx(2.0, rel=1e-3) and slope.scale > 1e3
    assert f"2.0e+00 objective / x, relative {slope.residual / slope.scale:.1e}" in str(explanation)
    assert "0.0e+00 of the constraint  " in str(explanation)


def test_explain_problem_leaves_numbers_out_of_names() -> None:
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.abs(np.array([0.123456, 1.23456, -2.5]) @ x) <= 3])
    problem.solve(solver="CLARABEL")
    assert explain_problem(problem).conditions[0].subject == "[0] abs([...] @ x) <= 3.0"


def test_explain_problem_says_once_that_a_problem_is_infeasible() -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum(x) >= 1, x <= 0])
    x.value = np.zeros(2)
    assert re.search(
        r"\bresiduals\b.*\binfeasible \(no point satisfies all of .*\)\.$", explain_problem(problem).conclusion
    )


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: cp.sum(x) <= 1, "[0] sum(x) <= 1.0"),
        (lambda x: (cp.sum(x) <= 1).set_label("budget"), "[0] budget"),
        (lambda x: cp.sum_squares(x) <= 1, "[0] sum_squares(x) <= 1.0"),
        (lambda x: x - 2 <= 1, "[0] x - 2.0 <= 1.0"),
        (lambda x: x <= np.linspace(0, 1, 9)[:2], "[0] x <= [0. 0.125]"),
        (lambda x: cp.norm(x, 2) <= 1, "[0] norm(x, 2) <= 1.0"),
    ],
)
def test_explain_problem_names_constraints_as_they_were_written(make: Any, name: str) -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [make(x)])
    x.value = np.zeros(2)
    assert explain_problem(problem).conditions[0].subject == name


@pytest.mark.parametrize("norm", [cp.norm_inf, cp.norm1, cp.norm])
def test_explain_problem_at_the_kink_of_a_norm_holds(norm: Any) -> None:
    target, x = np.array([0.1, -0.05, 0.02, 0.0]), cp.Variable(4, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - target) + 5 * norm(x)))
    problem.solve(solver="CLARABEL")
    for value in (x.value, np.array([1e-9, -1e-10, 0.0, 3e-10]), np.zeros(4)):
        x.value = value
        explanation = explain_problem(problem)
        assert not explanation.violated and explanation.certificate.scaled_gap < 1e-6
        assert residuals(explanation)["stationarity"] < 1e-7
    x.value = np.array([0.1, 0.0, 0.0, 0.0])  # not on the kink
    assert explain_problem(problem).violated


def test_steps_of_subgradients_that_narrow_no_slope_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, X = np.random.default_rng(4), cp.Variable((6, 5), name="X")
    M, mask = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5)), (rng.random((6, 5)) < 0.6).astype(float)
    problem = cp.Problem(cp.Minimize(cp.normNuc(X)), [cp.multiply(mask, X - M) == 0])
    problem.solve(solver="CLARABEL")
    counts, shortest_step = [0], stationary_multipliers._shortest_step  # pyright: ignore[reportPrivateUsage]

    def count(*arguments: Any) -> Any:
        counts[0] += 1
        return shortest_step(*arguments)

    certificate = certify_problem(problem)
    monkeypatch.setattr(stationary_multipliers, "_shortest_step", count)
    conditions = measure_conditions(certificate, 1e-4)
    assert all(condition.holds for condition in conditions)
    assert 1 <= counts[0] <= 12  # 36, if all steps of all widths are made


@pytest.mark.parametrize("multiplier", [0.0, 1e-12])
def test_a_multiplier_near_0_does_not_hide_the_subgradient_at_a_kink(multiplier: float) -> None:
    x = cp.Variable(2)
    constraints = [-1e-3 * x[0] <= 0, x[1] <= 0.3]
    problem = cp.Problem(cp.Minimize(cp.norm_inf(np.array([[0.0, -1.0]]) @ x)), constraints)
    x.value = [15.0, 4.65e-9]
    constraints[0].save_dual_value(np.array(multiplier))
    constraints[1].save_dual_value(np.array(0.0))
    assert all(condition.holds for condition in explain_problem(problem).conditions)


def test_variables_whose_values_are_too_large_are_named() -> None:
    x = cp.Variable(2, name="load")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    problem.solve()
    x.value = [1e200, 1.0]
    with pytest.raises(ProblemError, match=r"\bnone for load\b"):
        explain_problem(problem)
