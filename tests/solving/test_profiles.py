"""Profiles by name, and options of solvers: what is asked is sent and written down, and is one solve."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
import typechecker

from boostopt import OptionError, Program, SolverNotFound, get_backend, get_formulation, list_backends, solve
from boostopt.backends.accuracy_profiles import PROFILES
from boostopt.backends.cvxpy.solver_options import NO_ITERATION_COUNT_REMARK, SOLVERS
from boostopt.backends.interior.interior_backend import has_start_point
from boostopt.functions.edge_functions.base import Epigraph
from boostopt.solving.solve_request import resolve_profile

ITERATED = {"interior", "cvxpy:clarabel", "cvxpy:scs"}
"""Backends that need fewer iterations for a looser tolerance."""

VERTICES = {"highs", "cvxpy:highs", "cvxpy:scipy"}
"""Backends that go from vertex to vertex. A looser tolerance need not end them earlier."""

CAPPED = {"cvxpy:osqp"}
"""Backends whose default limit on iterations ends them before the tolerance does."""

CERTIFIED_ALONE = {"augmented_lagrangian", "sqp", "sqp:highs", "sqp:osqp"}
"""Backends without an accuracy parameter."""


@cache
def program(name: str = "lpboost", **parameters: Any) -> Program:
    rng = np.random.default_rng(5)
    U = rng.choice([-1.0, 1.0], size=(120, 25), p=[0.4, 0.6])
    return get_formulation(name).bind(U, **(parameters or {"nu": 24.0}))


def taking(program: Program) -> list[str]:
    """The backends that take a program, but for solvers whose options nobody knows."""
    names = [name for name in list_backends() if not name.startswith("cvxpy:") or solver_of(name) in SOLVERS]
    return [name for name in names if get_backend(name).takes(program)]


def solver_of(name: str) -> str:
    return name.removeprefix("cvxpy:").upper()


def test_every_backend_is_of_a_known_sort() -> None:
    classified = ITERATED | VERTICES | CAPPED | CERTIFIED_ALONE
    assert {name for name in list_backends() if name.split(":")[0] != "cvxpy"} <= classified
    assert {name for name in classified if name.startswith("cvxpy:")} >= {
        name for name in list_backends() if name.startswith("cvxpy:") and get_backend(name).auto_eligible
    } - {"cvxpy:ecos"}


@pytest.mark.every(2)
@pytest.mark.thorough_cases("lpboost-cvxpy:scs")
@pytest.mark.parametrize("name", sorted(ITERATED))
@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost"])
def test_less_asked_for_is_fewer_iterations_and_a_wider_certificate(name: str, formulation: str) -> None:
    bound = program() if formulation == "lpboost" else program("erlpboost", nu=24.0, eta=50.0)
    answers = [solve(bound, name, profile) for profile in ("low", "mid", "high")]
    iterations = [answer.iterations or 0 for answer in answers]
    gaps = [answer.certificate.gap for answer in answers]
    assert iterations == sorted(iterations) and iterations[0] < iterations[2]
    assert gaps[2] < gaps[0]
    assert all(len(answer.attempts) == 1 for answer in answers)
    best = solve(bound)
    for answer in answers:
        assert answer.certificate.lower <= best.certificate.upper
        assert best.certificate.lower <= answer.certificate.upper


@pytest.mark.every(2)
@pytest.mark.thorough_cases("cvxpy:osqp")
@pytest.mark.parametrize("name", taking(program()))
def test_requested_accuracies_are_sent_and_stand_in_the_attempt(name: str) -> None:
    solver = SOLVERS[solver_of(name)] if name.startswith("cvxpy:") else None
    for profile in PROFILES.values():
        if name in CERTIFIED_ALONE:
            with pytest.raises(SolverNotFound, match=f"'{profile.name}'; {name} "):
                solve(program(), name, profile.name)
            continue
        (attempt,) = solve(program(), name, profile.name).attempts
        sent = str(dict(attempt.options))
        if solver is not None and profile.accuracy is not None:
            accuracy = min(max(profile.accuracy, solver.min_accuracy), solver.max_accuracy)
            assert all(re.search(rf"'{option}': {accuracy}\b", sent) for option in solver.tolerances)
        elif solver is not None:
            assert attempt.options == {}
        elif profile.accuracy is not None:
            assert str(profile.accuracy) in sent


def test_a_profile_is_one_solve_also_where_equal_examples_could_be_merged() -> None:
    rows = np.random.default_rng(3).choice([-1.0, 1.0], size=(6, 3))
    bound = get_formulation("lpboost").bind(np.repeat(rows, 50, axis=0), nu=30.0)
    assert solve(bound, "cvxpy:clarabel").path[0] == "cvxpy:clarabel"
    (attempt,) = solve(bound, "cvxpy:clarabel", "high").attempts
    assert "merged" not in attempt.form


def test_certified_is_the_gap_that_solve_wants_by_default() -> None:
    assert resolve_profile("certified") is None and resolve_profile(1e-3) is None
    one, certified = solve(program(), "interior"), solve(program(), "interior", "certified")
    assert one.tol == certified.tol == 1e-8
    np.testing.assert_array_equal(one.d, certified.d)


def test_an_infeasible_program_is_found_so_by_its_own_estimate_too() -> None:
    bound = get_formulation("softboost").bind(np.ones((4, 2)), nu=1.0, gamma=0.5)
    assert solve(bound, "interior", "mid").certificate.infeasible


@pytest.mark.parametrize("isolate", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cvxpy:clarabel", {"max_iter": 3}),
        ("cvxpy:scs", {"max_iters": 7}),
        ("highs", {"simplex_iteration_limit": 2}),
        ("interior", {"max_iter": 3}),
    ],
)
def test_options_come_before_all_that_is_set_here(name: str, options: dict[str, int], isolate: bool) -> None:
    (value,) = options.values()
    for profile in ("high", 1e-8):
        answer = solve(program(), name, profile, isolate=isolate, options=options)
        assert dict(answer.attempts[0].options).items() >= options.items()
        assert answer.attempts[0].iterations == value
        assert answer.certificate.lower <= solve(program()).certificate.upper


@pytest.mark.every(2)
@pytest.mark.parametrize("name", [name for name in taking(program()) if name.startswith("cvxpy:")])
def test_the_option_for_iterations_is_one_that_the_solver_takes(name: str) -> None:
    solver = SOLVERS[solver_of(name)]
    bound = program("qp_reg_adaboost", C=0.1) if "linear programs" in solver.remark else program()
    few, all_of_them = solve(bound, name, "mid", options={solver.iterations: 2}), solve(bound, name, "mid")
    assert all(attempt.error is None for attempt in few.attempts)
    if all_of_them.iterations is None:  # the answer tells it, where the number is not handed on
        assert NO_ITERATION_COUNT_REMARK in solver.remark and few.certificate.gap > 100 * all_of_them.certificate.gap
    else:
        assert (few.iterations or 0) < all_of_them.iterations


def test_options_of_scipy_go_inside_of_its_own() -> None:
    (attempt,) = solve(program(), "cvxpy:scipy", "mid", options={"maxiter": 5}).attempts
    assert attempt.options["scipy_options"]["maxiter"] == 5


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("interior", {"maxiter": 3}, r"\binterior 'maxiter'.* 'max_iter'"),
        ("highs", {"simplex_iter_limit": 3}, r"\bhighs 'simplex_iter_limit'.* 'simplex_iter"),
        ("sqp", {"max_iter": 3}, r"\bsqp 'max_iter'.*\bnone\b"),
        ("cvxpy:clarabel", {"max_itr": 3}, r"^options\b.*\bcvxpy:clarabel\b.*\bmax_itr=3\b"),
        ("cvxpy:scs", {"max_iter": 3}, r"^options\b.*\bcvxpy:scs\b.*\bmax_iter=3\b"),
        ("cvxpy:clarabel", 3, r"^options\b.*\bNone\b.* 3\."),
        ("auto", {"max_iter": 3}, r'^backend="auto".*; \w+ options\b'),
    ],
    ids=("interior", "highs", "sqp", "clarabel", "scs", "no mapping", "auto"),
)
def test_options_that_a_solver_does_not_have_are_refused(name: str, options: Any, message: str) -> None:
    with typechecker.unchecked(), pytest.raises(OptionError, match=message):
        solve(program(), name, options=options)


def test_bad_profiles_are_refused() -> None:
    with pytest.raises(OptionError, match=r"'hihg'.* 'high'"):
        solve(program(), "interior", "hihg")
    with pytest.raises(OptionError, match=r"^backend=\"auto\".*; .* 'high'\."):
        solve(program(), tol="high")


def test_interior_takes_no_edges_that_it_has_no_start_for() -> None:
    t = 3
    A = np.concatenate([np.eye(t), np.zeros((t, t))])
    bound = np.concatenate([-np.eye(t), -np.eye(t)])

    def pieces(B: np.ndarray, g: np.ndarray) -> Epigraph:
        return Epigraph(A, B, np.zeros(2 * t), np.zeros(2 * t, dtype=bool), g, np.zeros((t, t)), np.zeros(t))

    # Sum of max(e_q, 0): two rows and a further variable for each hypothesis.
    assert has_start_point(pieces(bound, np.ones(t)))
    # Two variables in a row, one of another factor, one that costs nothing.
    assert not has_start_point(pieces(bound - np.eye(2 * t, t, k=1), np.ones(t)))
    assert not has_start_point(pieces(2.0 * bound, np.ones(t)))
    assert not has_start_point(pieces(bound, np.array([1.0, 1.0, 0.0])))
    for name in (
        "hinge+linf_ball",
        "hinge+signed_elastic_net",
        "hinge+l1_ball",
        "lpboost",
        "qp_reg_adaboost",
        "softboost",
        "svm",
        "l1_adaboost",
    ):
        rows = get_formulation(name).example_program().edge_function.epigraph(1)
        assert rows is not None and has_start_point(rows)


@pytest.mark.parametrize("value", [0, -3, 1.5, "few"])
def test_a_number_of_iterations_that_is_none_is_refused_by_the_interior_point(value: Any) -> None:
    with pytest.raises(OptionError, match=rf"\bmax_iter={re.escape(repr(value))}: .*\bmax_iter\b.* 1;"):
        solve(program(), "interior", options={"max_iter": value})


def test_a_program_is_solved_by_profile_and_with_options_too() -> None:
    answer = program().solve("interior", "low", options={"max_iter": 2})
    assert answer.iterations == 2 and answer.tol == 1e-3
