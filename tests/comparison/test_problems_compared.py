"""CVXPY problems compared: every solver gets a copy, and its answer is judged by the same certificate."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import Comparison, OptionError, ProblemError, benchmark, compare, get_formulation
from boostopt.backends.cvxpy.solver_options import SOLVERS
from boostopt.comparison import ConeSolver, FunctionSolver
from boostopt.comparison.documents import load_results
from boostopt.programs.user_cvxpy_problem import ConvexProblem
from boostopt.reporting import to_html

PRIMAL, DUAL = "primal feasibility", "dual feasibility"


def bounded(sense: type = cp.Minimize) -> Any:
    """Min x' x - 2 x over x <= 1/2 in the plane, with optimum -3/2 at (1/2, 1/2); or max of the opposite."""
    x = cp.Variable(2, name="x")
    objective = cp.sum_squares(x) - 2 * cp.sum(x)
    constraints: list[Any] = [x <= 0.5]
    return cp.Problem(sense(objective if sense is cp.Minimize else -objective), constraints)


def infeasible() -> Any:
    y = cp.Variable(2, name="y")
    constraints: list[Any] = [y <= 1, cp.sum(y) >= 3]
    return cp.Problem(cp.Maximize(cp.sum(y)), constraints)


def unbounded() -> Any:
    y = cp.Variable(2, name="y")
    return cp.Problem(cp.Maximize(cp.sum(y)), [y >= 1])


def exact(problem: Any) -> None:
    """The optimal answer to `bounded`, which the function leaves in the problem."""
    problem.variables()[0].value = [0.5, 0.5]
    problem.constraints[0].save_dual_value(np.ones(2))


def zeros(problem: Any) -> dict[Any, Any]:
    return {variable: np.zeros(variable.shape) for variable in problem.variables()}


def clarabel(problem: Any) -> float:
    return problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10)


@cache
def comparison() -> Comparison:
    return compare(bounded(), ["clarabel", exact, zeros])


# The judged values


def test_rows_hold_the_interval_the_reported_value_and_the_residuals() -> None:
    first, right, zeros_row = comparison().rows
    assert [row.backend for row in comparison().rows] == ["clarabel", "exact", "zeros"]
    assert first.lower <= -1.5 <= first.upper and first.has_target_gap and first.claims
    assert first.claimed_value == pytest.approx(-1.5, abs=1e-7)
    assert right.has_target_gap and right.claimed_value == -1.5 and right.residuals is not None
    assert set(right.residuals) == {PRIMAL, DUAL, "complementarity", "stationarity"}
    assert max(right.residuals.values()) <= 1e-12
    assert not zeros_row.has_target_gap and zeros_row.failure == "claims" and zeros_row.claimed_value == 0.0
    assert (
        zeros_row.residuals is not None
        and math.isinf(zeros_row.residuals[DUAL])
        and zeros_row.lower <= -1.5 <= zeros_row.upper
    )
    assert comparison().overlap and comparison().has_target_gap


def test_a_reported_value_is_judged_by_the_intervals_of_all_solvers() -> None:
    (row,) = compare(bounded(), zeros).rows
    assert row.upper >= 0.0  # its own interval does not refute it
    assert "Refuted" not in str(compare(bounded(), zeros))
    assert re.search(r"\bRefuted: zeros\b.*\b0\b.*\b1\.5e\+00\b", str(comparison()))


def test_the_problem_keeps_its_values_and_solvers_see_none() -> None:
    problem, observations = bounded(), list[Any]()
    x = problem.variables()[0]
    x.value = [3.0, 4.0]
    problem.constraints[0].save_dual_value(np.array([5.0, 6.0]))

    def look(copy: Any) -> None:
        observations.append((copy.variables()[0].value, copy.constraints[0].dual_value, copy.status, copy is problem))
        exact(copy)

    compare(problem, [exact, look])
    assert observations == [(None, None, None, False)]
    assert np.array_equal(x.value, [3.0, 4.0]) and problem.constraints[0].dual_value.tolist() == [5.0, 6.0]
    assert problem.status is None


def test_parameters_count_with_their_present_values() -> None:
    x, bound = cp.Variable(name="x"), cp.Parameter(value=2.0, nonneg=True)
    problem = cp.Problem(cp.Minimize(x), [x >= bound])
    first = ConvexProblem.from_cvxpy(problem)
    bound.value = 3.0
    assert compare(first, clarabel).interval == pytest.approx((2.0, 2.0), abs=1e-6)
    assert compare(problem, clarabel).interval == pytest.approx((3.0, 3.0), abs=1e-6)
    assert first.digest != ConvexProblem.from_cvxpy(problem).digest


@pytest.mark.parametrize(("problem", "sign", "status"), [(infeasible, -1, "infeasible"), (unbounded, 1, "unbounded")])
def test_problem_without_an_optimum_is_proved_whatever_the_solver_says(
    problem: Callable[[], Any], sign: int, status: str
) -> None:
    def ones(copy: Any) -> dict[Any, Any]:
        return {copy.variables()[0]: np.ones(2)}

    result = compare(problem(), [clarabel, ones])
    confirmed, denied = result.rows
    assert confirmed.outcome == denied.outcome == status
    assert confirmed.interval == denied.interval == (sign * math.inf, sign * math.inf)
    assert (
        confirmed.has_target_gap
        and confirmed.gap == 0.0
        and confirmed.residuals == {}
        and confirmed.claimed_value is None
    )
    assert not denied.has_target_gap and denied.failure == "claims" and math.isinf(denied.scaled_gap)
    text = " ".join(str(result).split())
    assert re.search(rf"\bproblem is {status}\. [^.]*: clarabel\. [^.]*\bnot: ones\.", text)
    assert re.search(rf"\bRefuted: ones\b[^.]* 2\b[^.]*\bproblem is {status}\.", text)


def test_equalities_that_contradict_each_other_by_rounding_are_named_with_what_to_do() -> None:
    plan = cp.Variable((4, 5), nonneg=True, name="plan")
    rows, columns = np.full(4, 0.25), np.full(5, 0.2)  # the sums of the floats differ
    supply: Any = cp.sum(plan, axis=1) == rows
    demand: Any = cp.sum(plan, axis=0)
    problem = cp.Problem(cp.Minimize(cp.sum(plan[0])), [supply, demand == columns])
    result = compare(problem, "clarabel")
    assert result.rows[0].outcome == "infeasible" and "by rounding" in (result.rows[0].open_reason or "")
    assert "leave out an equality that follows from the others" in " ".join(str(result).split())
    smaller = cp.Problem(problem.objective, [supply, demand[:-1] == columns[:-1]])
    assert compare(smaller, "clarabel").rows[0].has_target_gap


def test_the_test_of_an_optimum_is_not_that_of_a_solver_that_denies_one() -> None:
    for problem in (infeasible(), unbounded()):
        result = compare(problem, ["clarabel", "scs"])
        assert result.has_target_gap and "own stopping test" not in str(result)


def test_a_wrong_denial_of_an_optimum_proves_nothing() -> None:
    def deny(copy: Any) -> None:
        copy._status = "infeasible"

    (row,) = compare(bounded(), deny).rows
    assert (row.lower, row.upper, row.outcome) == (-math.inf, math.inf, "failed")
    assert row.failure == "infeasible" and re.search(r"\binfeasible\b.*\bnot proved\b", row.open_reason or "")


def test_an_atom_without_a_rule_leaves_a_residual_and_a_reason() -> None:
    X = cp.Variable((2, 2), PSD=True, name="X")
    constraints: list[Any] = [cp.trace(X) == 1]
    problem = cp.Problem(cp.Minimize(cp.quantum_rel_entr(X, np.eye(2), quad_approx=(1, 1))), constraints)

    def outside(copy: Any) -> dict[Any, Any]:
        return {copy.variables()[0]: np.eye(2)}

    result = compare(problem, outside)
    (row,) = result.rows
    assert (row.lower, row.upper, row.has_target_gap, row.verdict) == (-math.inf, math.inf, False, "claimed")
    assert row.residuals == {PRIMAL: pytest.approx(1.0)} and row.claimed_value is not None
    assert "quantum_rel_entr" in (row.open_reason or "")
    text = " ".join(str(result).split())
    assert "no certificate: expected atoms" in text and "no proved bound" in text


def test_atoms_that_need_care_are_copied_and_others_are_refused() -> None:
    x, s, a = cp.Variable(name="x"), cp.Variable(name="s", nonneg=True), cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.perspective(cp.square(x), s) + s), [x >= 2, s >= 1])
    (row,) = compare(problem, clarabel).rows
    assert row.lower <= 4.0 <= row.upper and row.upper - row.lower <= 1e-5
    assert x.value is None
    with pytest.raises(ProblemError, match="atoms that CVXPY can copy"):
        compare(cp.Problem(cp.Minimize(cp.suppfunc(a, [cp.abs(a) <= 1])(x)), [x >= 1]), "clarabel")


def test_values_of_sparse_variables_are_read() -> None:
    D = cp.Variable((2, 2), diag=True, name="D")
    (row,) = compare(cp.Problem(cp.Minimize(cp.trace(D)), [cp.diag(D) >= 1]), clarabel).rows
    assert row.has_target_gap and row.interval == pytest.approx((2.0, 2.0), abs=1e-6)


def test_seconds_are_without_those_of_the_certificate() -> None:
    row = comparison().rows[0]
    parts = [row.seconds_build, row.seconds_canonicalize, row.seconds_solve, row.seconds_recover]
    assert row.seconds == pytest.approx(sum(part for part in parts if part is not None))
    assert row.seconds_certify is not None and row.seconds_certify > 0.0
    assert row.seconds_to(1e-8) == row.seconds


# Solvers


def test_a_function_of_cone_data_gets_the_standard_form_and_its_answer_is_read() -> None:
    forms = list[Any]()

    def solve(data: dict[str, Any]) -> tuple[Any, Any]:
        import scs

        forms.append(data)
        matrices = {name: data[name] for name in ("A", "b", "c", "P") if name in data}
        answer = scs.SCS(matrices, data["cones"], verbose=False, eps_abs=1e-10, eps_rel=1e-10).solve()
        return answer["x"], answer["y"]

    for sense, optimum in ((cp.Minimize, -1.5), (cp.Maximize, 1.5)):
        (row,) = compare(bounded(sense), ConeSolver(solve, "mine")).rows
        assert row.backend == "mine" and row.has_target_gap and row.claimed_value == pytest.approx(optimum)
        assert row.residuals is not None and max(row.residuals.values()) <= 1e-8
    assert forms[0]["cones"]["l"] == 2 and forms[0]["A"].shape[0] == len(forms[0]["b"])


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda problem: 1 / 0, "ZeroDivisionError"),
        (lambda problem: "three", r"got str\. Leave the values"),
        (lambda problem: {problem.variables()[0]: np.ones(3)}, "expected 2 numbers for x; got 3"),
        (lambda problem: {cp.Variable(name="x"): 1.0}, r"which is a copy; got 'x'\. .*problem\.variables\(\)"),
        (lambda problem: None, None),
    ],
    ids=("raises", "text", "size", "stranger", "nothing"),
)
def test_a_function_that_fails_is_a_row(function: Callable[[Any], Any], error: str | None) -> None:
    (row,) = compare(bounded(), FunctionSolver(function, "mine")).rows
    assert not row.has_target_gap and row.outcome == "failed" and (row.lower, row.upper) == (-math.inf, math.inf)
    assert row.open_reason == "the solver left no values"
    if error is None:
        assert row.error is None and row.solver_status == "no answer"
    else:
        with pytest.raises(AssertionError, match=error):
            raise AssertionError(row.error)


@pytest.mark.parametrize("answer", [None, (np.ones(2),), (np.ones(3), np.ones(2)), [np.ones(2), np.ones(2)]])
def test_a_cone_answer_of_another_shape_is_an_error(answer: Any) -> None:
    x = cp.Variable(2)
    (row,) = compare(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]), ConeSolver(lambda data: answer, "mine")).rows
    assert re.search(r"\bx and y\b.*\(2,\).*\(2,\)", row.error or "")


def test_profiles_are_sent_in_the_terms_of_the_solver() -> None:
    low, high = (compare(bounded(), "scs", tol=profile).rows[0] for profile in ("low", "high"))
    assert low.options == {"eps_abs": 1e-3, "eps_rel": 1e-3} and high.options == {"eps_abs": 1e-9, "eps_rel": 1e-9}
    assert low.profile == "low" and low.attempts == 1 and low.tol == 1e-3


def test_attempts_are_finer_until_the_gap_is_certified() -> None:
    accuracies = [setting.accuracy for setting in SOLVERS["SCS"].settings_for_problem(False)]
    assert accuracies == sorted(accuracies, reverse=True) and len(set(accuracies)) == len(accuracies) > 1
    (row,) = compare(bounded(), "scs", tol=1e-13, options={"scs": {"max_iters": 2}}).rows
    assert row.attempts == len(accuracies) and not row.has_target_gap
    assert [attempt.form for attempt in row.log] == ["as stated"] * len(accuracies)


def test_solvers_that_do_not_take_the_problem_or_are_missing_say_so() -> None:
    X = cp.Variable((2, 2), PSD=True)
    comparison = compare(cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 1]), ["highs", "MOSEK", "cvxpy:clarabel"])
    unable, missing, able = comparison.rows
    assert (unable.result, missing.result, able.result) == ("not run", "not run", "reached")
    assert "HIGHS cannot solve this problem" in unable.reason and "MOSEK" in missing.reason
    assert [row.backend for row in comparison.rows] == ["highs", "mosek", "clarabel"]


# Files, tables, reports


def test_a_comparison_comes_back_from_its_file(tmp_path: Path) -> None:
    for k, result in enumerate((comparison(), compare(infeasible(), [clarabel, zeros]))):
        path = tmp_path / f"{k}.json"
        path.write_text(result.to_json())
        loaded = load_results(path)
        assert loaded.runs == result.runs and str(loaded) == str(result)
        top = json.loads(result.to_json())
        assert top["sense"] in ("minimize", "maximize") and top["variables"] == 2 and top["constraints"] in (2, 3)
        assert not {"formulation", "parameters", "examples", "hypotheses"} & set(top)


def test_files_of_programs_have_no_fields_of_problems() -> None:
    program = get_formulation("lpboost").bind([[1.0, -1.0], [-1.0, 1.0]], nu=1)
    (row,) = json.loads(compare(program, "interior").to_json())["rows"]
    assert not {"residuals", "claimed_value", "open_reason", "optimum_sign"} & set(row)


def has_words_of_boosting(text: str) -> bool:
    return any(word in text for word in ("xample", "hypothes", "ormulation", "edges"))


def test_the_tables_show_what_is_reported_and_nothing_of_boosting() -> None:
    for text in (str(comparison()), comparison()._repr_html_()):  # pyright: ignore[reportPrivateUsage]
        assert "residual" in text and "refuted" in text.lower() and not has_words_of_boosting(text)


@pytest.mark.thorough
def test_the_report_and_papers_show_the_problem_and_nothing_of_boosting() -> None:
    for text in (comparison().to_latex(), comparison().to_markdown()):
        assert "residual" in text and "refuted" in text and not has_words_of_boosting(text)
    page = to_html(comparison())
    assert "Problem: minimize over 2 variables, 2 constraints" in page and "x &lt;= 0.5" in page
    assert "0 (refuted)" in page and not has_words_of_boosting(page)
    benchmarked = benchmark({"narrow": bounded(), "wide": bounded(cp.Maximize)}, [exact, zeros], 1e-6, 1)
    page = to_html(benchmarked)
    assert "2 problems, 2 backends" in page and "Refuted: zeros reports the value 0" in page


def test_a_benchmark_resumes(tmp_path: Path) -> None:
    calls, log = list[int](), tmp_path / "runs.jsonl"

    def count(problem: Any) -> None:
        calls.append(1)
        exact(problem)

    problems = {"narrow": bounded(), "wide": bounded(cp.Maximize)}
    settings: dict[str, Any] = {"profiles": [1e-3, 1e-6], "repeats": 1, "warm_up": "none", "resume": log}
    first = benchmark(problems, [count, clarabel], **settings)
    assert len(calls) == 4 and first.has_target_gap and len(first.runs) == 8
    again = benchmark(problems, [count, clarabel], **settings)
    assert len(calls) == 4 and again.runs == first.runs
    assert first.interval("wide") == pytest.approx((1.5, 1.5), abs=1e-6)
    assert "narrow" in str(load_results(log))
    assert json.loads(first.to_json())["programs"]["wide"]["sense"] == "maximize"


# Refused


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (lambda x: cp.Problem(cp.Minimize(-cp.sum_squares(x))), r"convex by CVXPY's rules .*got 'minimize -.*atoms"),
        (
            lambda x: cp.Problem(cp.Minimize(cp.Variable(boolean=True, name="b"))),
            "variables must be continuous; got b,",
        ),
        (
            lambda x: cp.Problem(cp.Minimize(cp.abs(cp.Variable(complex=True, name="z")))),
            "variables must be real; got z,",
        ),
        (lambda x: cp.Problem(cp.Minimize(cp.Parameter(name="p") * x)), "must have values; got p"),
        (lambda x: cp.Problem(cp.Minimize(3)), "with variables; got constants alone"),
    ],
    ids=("not convex", "integer", "complex", "parameter", "constant"),
)
def test_problems_that_cannot_be_compared_are_refused(problem: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        compare(problem(cp.Variable(name="x")), "clarabel")


def test_bad_arguments_are_refused() -> None:
    program = get_formulation("lpboost").bind([[1.0, -1.0], [-1.0, 1.0]], nu=1)
    with pytest.raises(OptionError, match=r"\bcvxpy\.Problem; got int\b"):
        compare(3)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(OptionError, match=r"got list\. Call benchmark for several"):
        compare([bounded(), bounded()])  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(OptionError, match="got both"):
        benchmark([bounded(), program])
    with pytest.raises(OptionError, match="expected no forms"):
        compare(bounded(), "clarabel", forms="dual")
    with pytest.raises(OptionError, match="without a form"):
        compare(bounded(), "cvxpy:clarabel:dual")
    with pytest.raises(OptionError, match=r"'cvxpy:clarabell'.*'cvxpy:clarabel'"):
        compare(bounded(), "clarabell")
    with pytest.raises(OptionError, match=r"\bsolvers of CVXPY\b.* got 3\."):
        compare(bounded(), [3])  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(OptionError, match="different solvers; got exact, exact"):
        compare(bounded(), [exact, exact])
    with pytest.raises(OptionError, match=r"\bcvxpy:scs\b.*\bgot max_itres=3\b"):
        compare(bounded(), "scs", options={"scs": {"max_itres": 3}})
    with pytest.raises(OptionError, match="solver with options 'scs'"):
        compare(bounded(), "clarabel", options={"scs": {}})


# Processes of their own


@pytest.mark.thorough
def test_a_crash_and_a_hang_are_rows() -> None:
    def crash(problem: Any) -> None:
        import os

        os._exit(3)

    def hang(problem: Any) -> None:
        import sys
        import time

        sys.stdout.write("still here")
        sys.stdout.flush()
        time.sleep(60)

    crashed, hung, right = compare(bounded(), [crash, hang, "clarabel"], time_limit=2.0, isolate=True).rows
    assert crashed.failure == "crashed" and "exit code 3" in (crashed.error or "")
    assert hung.failure == "killed" and hung.solver_output == "still here" and hung.seconds < 10.0
    assert crashed.cpu_seconds is None and hung.cpu_seconds is None and (right.cpu_seconds or 0.0) > 0.0
    assert right.has_target_gap and right.isolated and right.lower <= -1.5 <= right.upper


@pytest.mark.thorough
def test_values_from_a_process_belong_to_their_variables() -> None:
    """The numbers of variables in a fresh process begin anew, and must not be taken for those of this one."""
    first, second, share = cp.Variable(name="first"), cp.Variable(2, name="second"), cp.Parameter(value=4.0)
    objective = cp.norm1(second - np.array([1.0, 2.0])) + cp.square(first - share)
    constraints: list[Any] = [first <= 3, cp.sum(second) >= 3]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    local, isolated = (compare(problem, ["clarabel", "scs"], isolate=isolate) for isolate in (False, True))
    for row, isolated_row in zip(local.rows, isolated.rows, strict=True):
        assert isolated_row.isolated and isolated_row.residuals == pytest.approx(row.residuals, abs=1e-6)
        assert isolated_row.interval == pytest.approx((1.0, 1.0), abs=1e-6)


def test_the_certified_point_of_a_row_is_feasible_and_proves_an_end() -> None:
    x, Y = cp.Variable(2, name="x"), cp.Variable((2, 2), name="Y", symmetric=True)
    constraints: list[Any] = [Y >> np.eye(2), x >= 0.5, cp.sum(x) == 2]
    problem = cp.Problem(cp.Maximize(-cp.sum_squares(x - 3) - cp.trace(Y)), constraints)
    row = compare(problem, "clarabel").rows[0]
    assert row.point is not None and [value.shape for value in row.point] == [v.shape for v in problem.variables()]
    for variable, value in zip(problem.variables(), row.point, strict=True):
        variable.value = value
    assert all(constraint.violation().max() <= 1e-12 for constraint in constraints)
    assert problem.objective.value == pytest.approx(row.lower, rel=1e-12)
    assert "point" not in row.to_file_entry()
    infeasible = compare(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, x <= 0]), "clarabel").rows[0]
    assert infeasible.point is None
