"""Solving: statuses are hearsay, failures are results, the certificate decides."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from support.problems import (
    DEFAULT_BACKENDS,
    Fake,
    attempt,
    noisy_stumps,
    reference_erlpboost,
    reference_lpboost,
    right,
    rough,
)

import boostopt.solving.automatic_backend_order
import boostopt.solving.solve
from boostopt import (
    OptionError,
    Outcome,
    Program,
    SolverFailed,
    SolverNotFound,
    Verdict,
    get_backend,
    get_formulation,
    solve,
)
from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.backends.cvxpy import cvxpy_backend
from boostopt.backends.cvxpy.cvxpy_backend import CvxpyBackend
from boostopt.backends.cvxpy.solver_options import DENSITY_RATED, DUAL, SCALED


def optimum() -> tuple[np.ndarray, np.ndarray]:
    solution = reference_lpboost().solve("cvxpy:highs", tol=1e-12)
    return solution.d, solution.w


def test_a_solver_that_lies_is_not_believed() -> None:
    solution = reference_lpboost().solve(rough())
    assert solution.outcome is Outcome.SOLVED
    assert solution.verdict is Verdict.CLAIMED
    assert solution.certificate.lower <= 0.0037735849 <= solution.certificate.upper
    assert solution.certificate.gap > 0.1


def test_a_right_answer_is_bounded_whatever_the_status_says() -> None:
    solution = reference_lpboost().solve(right(status="failed miserably", claims=False))
    assert solution.verdict is Verdict.BOUNDED
    assert solution.solver_status == "failed miserably"


def test_an_unclaimed_poor_answer_has_no_verdict() -> None:
    solution = reference_lpboost().solve(Fake(script=(attempt(np.eye(6)[0], [1, 0, 0], claims=False),)))
    assert (solution.outcome, solution.verdict) == (Outcome.STOPPED, Verdict.NONE)
    assert solution.outcome_key == "stopped" and solution.raise_if_failed() is solution


def test_checked_is_the_raw_answer_within_the_conditions() -> None:
    """Both sums of gaps just within tol, their total above it: the interval is too wide, the conditions hold."""
    program = reference_erlpboost()
    best = program.solve("cvxpy:clarabel", tol=1e-13)
    for step in np.geomspace(1e-6, 1e-1, 400):
        w = best.w + step * np.array([1, -1, 0])
        certificate = program.certify(best.d, w)
        tol = certificate.kkt.worst * 1.0001
        if certificate.scaled_gap > tol:
            assert program.solve(Fake(script=(attempt(best.d, w),)), tol=tol).verdict is Verdict.CHECKED
            return
    pytest.fail("no answer whose interval is wider than its worst residual")


def test_no_answer_is_an_outcome_and_not_an_exception() -> None:
    silent = Fake(script=(Attempt("fake", {}, "crashed", False, error="ValueError: no"),))
    solution = reference_lpboost().solve(silent)
    assert solution.outcome is Outcome.FAILED
    assert solution.verdict is Verdict.NONE
    assert solution.certificate.lower <= 0.0037735849 <= solution.certificate.upper
    assert solution.best is None
    with pytest.raises(SolverFailed, match=r"\bfrom fake; got none \(fake: ValueError: no\)\. Try\b.*\bbackend\b"):
        solution.raise_if_failed()
    assert reference_lpboost().solve("cvxpy:highs").raise_if_failed().outcome is Outcome.SOLVED


def test_attempts_stop_when_the_interval_is_narrow_enough() -> None:
    d, w = optimum()
    times = {"solve": 0.25}
    poor = attempt(np.eye(6)[0], [1, 0, 0], times=times)
    solution = reference_lpboost().solve(Fake(script=(poor, attempt(d, w, times=times), poor)))
    assert len(solution.attempts) == 2
    assert solution.best is solution.attempts[1]
    assert solution.times["solve"] == 0.5
    assert solution.times["certify"] > 0
    assert solution.times["total"] >= solution.times["certify"]


def test_both_ends_are_kept_from_different_attempts() -> None:
    d, w = optimum()
    solution = reference_lpboost().solve(Fake(script=(attempt(d, [1, 0, 0]), attempt(np.eye(6)[1], w))))
    assert solution.verdict is Verdict.BOUNDED
    # Nobody gave that pair, so the conditions are those of one of the answers as it came.
    assert solution.certificate.kkt.worst > 0.1


def test_auto_falls_back_until_the_certificate_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    liar, honest = rough("liar"), CvxpyBackend("HIGHS")
    monkeypatch.setattr(boostopt.solving.solve, "automatic_backends", lambda program, start: [liar, honest])
    solution = solve(reference_lpboost())
    assert solution.path == ("liar", "cvxpy:highs")
    assert solution.backend == "cvxpy:highs"
    assert solution.verdict is Verdict.BOUNDED


def test_auto_takes_a_backend_that_can() -> None:
    assert reference_lpboost().solve().path == ("highs",)
    larger = get_formulation("lpboost").bind(noisy_stumps(2000, 40), nu=200)
    assert larger.solve().path == ("interior",)
    assert larger.solve(start=larger.solve("highs")).path == ("highs",)
    assert reference_erlpboost().solve().path == ("interior",)
    assert get_formulation("norm_ball").example_program().solve(tol=1e-6).path == ("cvxpy:clarabel",)


class Confused(Fake):
    """A backend that fails when it is asked what it takes."""

    def takes(self, program: Program) -> Capability:
        raise RuntimeError("ask me another")


def test_auto_goes_past_a_backend_that_fails_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(name: str) -> Backend:
        return Confused() if name in ("highs", "confused") else get_backend(name)

    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "get_backend", opened)
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "list_backends", lambda: ["confused", "interior"])
    assert reference_lpboost().solve().path == ("interior",)
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "AUTO_ORDER", ())
    with pytest.raises(SolverNotFound, match=r"\blinear\b.*\bsecond_order\b.*\bclarabel\b"):
        get_formulation("norm_ball").example_program().solve()


def test_auto_alone_is_not_the_name_of_a_backend() -> None:
    with pytest.raises(OptionError, match=r"'auto'.*\bbackend=\"auto\""):
        get_backend("auto")


@pytest.mark.parametrize("name", DEFAULT_BACKENDS)
def test_the_raw_attempt_is_kept(name: str) -> None:
    solution = reference_lpboost().solve(name)
    assert solution.backend == name
    assert solution.version
    best = solution.best
    assert best is not None
    assert best.d is not None
    assert best.w is not None
    assert best.options
    assert best.statistics
    assert best.form.split("/")[0] in ("primal", "dual")
    assert set(best.times) == {"build", "canonicalize", "solve", "recover"}
    assert solution.iterations is not None
    assert solution.solver_status.endswith("(optimal)")


@pytest.mark.thorough
def test_the_iterate_of_a_failed_solve_is_kept() -> None:
    """Clarabel ends this form with a numerical error; CVXPY would raise and drop the iterate."""
    program = get_formulation("lpboost").bind(noisy_stumps(5000, 50), nu=500)
    options = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    failed = CvxpyBackend("CLARABEL")._attempt(program, DUAL, lambda: options)  # pyright: ignore[reportPrivateUsage]
    assert failed.status.startswith("NumericalError")
    assert not failed.claims
    assert failed.d is not None
    assert failed.w is not None
    certificate = program.certify(failed.d, failed.w)
    assert certificate.contains(0.0)  # stumps and their negations balance out


@pytest.mark.parametrize("solver", ("CLARABEL", "SCS"))
def test_an_iteration_limit_leaves_an_iterate(solver: str) -> None:
    option = {"CLARABEL": {"max_iter": 3}, "SCS": {"max_iters": 3}}[solver]
    program = reference_erlpboost()
    stopped = CvxpyBackend(solver)._attempt(program, DENSITY_RATED, lambda: option)  # pyright: ignore[reportPrivateUsage]
    assert stopped.has_iterate
    assert not stopped.claims
    assert program.certify(stopped.d, stopped.w).contains(0.0924628832)


def test_an_answer_to_another_program_names_the_backend() -> None:
    solution = reference_lpboost().solve(Fake(script=(attempt([1.0, 0.0]),)))
    assert solution.outcome is Outcome.FAILED
    with pytest.raises(SolverFailed, match=r"\bfake: .*\(2,\).* d\b.*\b6\b"):
        solution.raise_if_failed()


def test_an_answer_of_nothing_but_nan_is_none() -> None:
    solution = reference_lpboost().solve(Fake(script=(attempt([np.nan] * 6, [np.inf] * 3),)))
    assert solution.outcome is Outcome.FAILED
    assert solution.verdict is Verdict.NONE


def test_an_option_that_a_solver_refuses_is_an_attempt_that_says_so() -> None:
    refused = CvxpyBackend("CLARABEL")._attempt(reference_lpboost(), SCALED, lambda: {"nonsense": 1})  # pyright: ignore[reportPrivateUsage]
    assert refused.status == "raised"
    assert refused.error is not None
    assert "nonsense" in refused.error
    assert not refused.has_iterate


@pytest.mark.thorough
def test_a_time_limit_is_passed_on_and_no_attempt_starts_after_it() -> None:
    program = get_formulation("erlpboost").bind(noisy_stumps(600, 30), nu=60, eta=460)
    assert CvxpyBackend("SCS").keeps_limit(program)
    solution = program.solve("cvxpy:scs", tol=1e-15, time_limit=0.2)
    assert all(0 < a.options["time_limit_secs"] <= 0.2 for a in solution.attempts)
    assert len(solution.attempts) < 4
    assert solution.certificate.lower <= solution.certificate.upper


def test_ctrl_c_that_a_solver_takes_for_itself_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """SCS ends with a status of its own when it is interrupted; the next attempt must not start."""
    monkeypatch.setattr(CvxpyBackend, "_status", lambda self, raw, translated: "interrupted")
    with pytest.raises(KeyboardInterrupt):
        reference_erlpboost().solve("cvxpy:scs")


def test_a_backend_that_cannot_is_refused_before_any_work() -> None:
    with pytest.raises(SolverNotFound, match=r'\bcvxpy:highs\b.*\bexponential\b.*\bUse interior, or "auto"'):
        reference_erlpboost().solve("cvxpy:highs")


@pytest.mark.thorough
def test_a_refusal_by_highs_loads_no_other_solver() -> None:
    code = (
        "import sys\n"
        "import boostopt\n"
        "try:\n    boostopt.get_formulation('erlpboost').example_program().solve('highs')\n"
        "except boostopt.SolverNotFound as error:\n    print(error)\n"
        "print(*sorted({'cvxpy', 'clarabel', 'scs'} & set(sys.modules)))"
    )
    refusal, modules = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert re.search(r'\bexponential cones\b.*\bUse interior, or "auto"', refusal)
    assert modules == ""


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"backend": "isolated:auto"}, OptionError, "'isolated:auto'.*isolate=True"),
        ({"backend": "isolated:nonsense"}, OptionError, "'nonsense'"),
        ({"backend": "cvxpy:clarabell"}, OptionError, "'cvxpy:clarabell'.*'cvxpy:clarabel'"),
        ({"backend": "nonsense"}, OptionError, "'nonsense'.*augmented_lagrangian.*auto"),
        ({"backend": "cvxpy:mosek"}, SolverNotFound, r"\bMOSEK\b.*\bcvxpy:clarabel\b"),
        ({"tol": 0.0}, OptionError, r"^tol\b.*\(0, 1\).*\b0\.0\b"),
        ({"tol": float("nan")}, OptionError, r"^tol\b.*\(0, 1\).*\bnan\b"),
        ({"time_limit": 0.0}, OptionError, r"^time_limit\b.*\b0\.0\b"),
    ],
    ids=("isolated auto", "isolated", "misspelt", "unknown", "missing", "zero tol", "nan tol", "zero limit"),
)
def test_bad_arguments_are_refused(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        reference_lpboost().solve(**arguments)  # pyright: ignore[reportArgumentType]


class Endless(Fake):
    """A backend that always has one more attempt."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        while True:
            yield attempt(status="again")


def test_a_backend_that_never_ends_ends_with_the_time() -> None:
    began = time.process_time()
    solution = reference_lpboost().solve(Endless(), time_limit=0.2)
    assert solution.outcome is Outcome.FAILED
    assert solution.times["total"] >= 0.2
    assert time.process_time() - began < 5.0


def of_gap(called: str, gap: float, calls: list[object]) -> Fake:
    """A backend with one answer whose scaled gap is about that, on the reference LPBoost; it notes that it is asked."""
    d, w = optimum()
    return Fake(called=called, script=(attempt(d, w + gap * np.array([1.0, -1.0, 0.0])),), queries=(calls,))


def the_backends_are(monkeypatch: pytest.MonkeyPatch, *backends: Backend) -> None:
    """Let these be installed, and nothing else."""
    backends_by_name = {backend.name: backend for backend in backends}
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "AUTO_ORDER", ())
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "_preferred_names", lambda program, start: [])
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "list_backends", lambda: list(backends_by_name))
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "get_backend", lambda name: backends_by_name[name])


def test_auto_stops_after_two_certified_gaps_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {name: list[object]() for name in "abcdef"}
    gaps = {"a": 1e-2, "b": 1e-4, "c": 1e-3, "d": 1.1e-4, "e": 1e-4, "f": 1e-12}
    the_backends_are(monkeypatch, *(of_gap(name, gap, calls[name]) for name, gap in gaps.items()))
    solution = solve(reference_lpboost())
    assert solution.path == ("a", "b", "c", "d")
    assert [len(calls[name]) for name in "abcdef"] == [1, 1, 1, 1, 0, 0]
    assert solution.backend == "b"


def test_auto_stops_where_all_that_is_left_is_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {name: list[object]() for name in "abc"}
    gaps = {"a": 1e-13, "b": 0.0, "c": 0.0}
    the_backends_are(monkeypatch, *(of_gap(name, gap, calls[name]) for name, gap in gaps.items()))
    solution = solve(reference_lpboost(), tol=1e-300)
    assert solution.path == ("a", "b")
    assert not calls["c"]
    assert (
        solution.verdict is not Verdict.BOUNDED and 0.0 < solution.certificate.gap <= 2.1 * solution.certificate.slack
    )


def test_answers_that_agree_within_one_backend_are_no_second_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    d, w = optimum()
    rough_one = attempt(d, w + 1e-4 * np.array([1.0, -1.0, 0.0]))
    silent = Fake(called="silent", script=(Attempt("fake", {}, "crashed", False),))
    last = Fake(called="last", script=(rough_one, rough_one, attempt(d, w)))
    the_backends_are(monkeypatch, silent, last)
    solution = solve(reference_lpboost())
    assert solution.path == ("silent", "last")
    assert solution.verdict is Verdict.BOUNDED
    # No answer is no gap either.
    the_backends_are(monkeypatch, silent, replace(silent, called="mute"), last)
    assert solve(reference_lpboost()).path == ("silent", "mute", "last")


def test_solve_without_an_upper_bound_has_equal_lower_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No distribution has only edges of at most 0.2. The answers prove a lower bound, but not the infeasibility."""
    program = get_formulation("totalboost").bind([[1.0, -0.5], [-0.5, 1.0], [0.8, 0.9]], gamma=0.2)
    calls = {name: list[object]() for name in "abc"}
    w = np.array([0.9, 0.1])
    answers = (Fake(called=name, script=(attempt(None, w),), queries=(calls[name],)) for name in "abc")
    the_backends_are(monkeypatch, *answers)
    solution = solve(program)
    assert solution.certificate.upper == np.inf and np.isfinite(solution.certificate.lower)
    assert solution.path == ("a", "b")
    assert not calls["c"]


def test_auto_asks_no_solver_that_was_not_made_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """CVXPY may have solvers for integers, with a licence or without a tolerance."""
    odd = ["GLPK_MI", "CBC", "SCIP", "ECOS_BB", "MOSEK", "GUROBI", "CPLEX", "XPRESS", "DAQP", "DIFFCP"]
    assert not any(CvxpyBackend(solver).auto_eligible for solver in odd)
    assert all(CvxpyBackend(solver).auto_eligible for solver in ("CLARABEL", "SCS", "HIGHS", "OSQP", "SCIPY"))
    monkeypatch.setattr(cvxpy_backend, "_installed_solvers", lambda: [*odd, "SCIPY"])
    monkeypatch.setattr(cvxpy_backend, "_supported_cones", lambda solver: frozenset({"linear"}))
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "_preferred_names", lambda program, start: [])
    ordered = boostopt.solving.automatic_backend_order.automatic_backends(reference_lpboost())
    names = [backend.name for backend in ordered]
    assert [name for name in names if name.startswith("cvxpy:")] == ["cvxpy:scipy"]
    assert set(boostopt.list_backends()) >= {"cvxpy:glpk_mi", "cvxpy:mosek"}
    assert get_backend("cvxpy:glpk_mi").takes(reference_lpboost())


def test_a_start_may_have_fewer_hypotheses_than_the_program_but_not_more() -> None:
    U = noisy_stumps(20, 4)
    few, many = (get_formulation("lpboost").bind(U[:, :t], nu=3) for t in (2, 4))
    assert many.solve("highs", start=few.solve("highs")).certificate.scaled_gap <= 1e-8
    with pytest.raises(OptionError, match=r"^start\b.*\b2 hypotheses\b.*\(4,\)"):
        few.solve("highs", start=many.solve("highs"))


def test_a_backend_without_the_cones_of_an_entropy_is_offered_the_soft_margin_alone() -> None:
    program = reference_erlpboost()
    with pytest.raises(SolverNotFound, match=r'\bexponential cones\b.* Or keep highs with the formulation "lpboost",'):
        program.solve("highs")
    formulation = get_formulation("lpboost")
    assert formulation.bind(program.margins, nu=program.parameters.nu).solve("highs").certificate.gap < 1e-6
    with pytest.raises(SolverNotFound, match=r"\bhighs\b|\bHiGHS\b") as refused:
        get_formulation("norm_ball").example_program().solve("highs")
    assert "Or keep" not in str(refused.value)
