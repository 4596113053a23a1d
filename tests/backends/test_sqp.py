"""Sequential quadratic programming: its model, its steps, and certified answers."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.entropy_programs import ENTROPIES, bound
from support.problems import REFERENCE_D0, REFERENCE_U, draw, noisy_stumps, reference_erlpboost, reference_lpboost
from support.speeds import many

import boostopt
from boostopt import Program, get_backend, get_formulation
from boostopt.backends.base import Deadline, Task
from boostopt.backends.classical.quadratic_programs import SOLVERS, QuadraticAnswer, QuadraticProgram, Solver
from boostopt.backends.classical.sqp import QuadraticModel, SequentialQuadratic, open_sqp
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.binary_entropy import BinaryEntropy
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy

pytestmark = pytest.mark.every(2)

IN_PROCESS = [name for name, solver in SOLVERS.items() if not solver.may_kill_process]


def model(program: Program, d: np.ndarray) -> QuadraticModel:
    F, G = program.regularizer.pointwise(), program.edge_function.epigraph(program.margins.t)
    assert F is not None
    assert G is not None
    columns = scipy.sparse.csr_array(program.margins.to_array()).T
    A: Any = columns if G.A is None else scipy.sparse.csr_array(G.A) @ columns
    return QuadraticModel(F, G, A, program.margins.margins(G.slope), d)


@pytest.mark.parametrize("solver", SOLVERS)
def test_quadratic_program_with_a_known_answer(solver: str) -> None:
    """Minimize x + y + x^2 / 2 with x + y >= 1 (as -x - y <= -1), y <= 0.25, x = z: x = 0.75, multiplier 1.75."""
    program = QuadraticProgram(
        P=scipy.sparse.csc_array(np.diag([1.0, 0.0, 0.0])),
        q=np.array([1.0, 1.0, 0.0]),
        A=scipy.sparse.csc_array(np.array([[-1.0, -1.0, 0.0], [1.0, 0.0, -1.0]])),
        low=np.array([-np.inf, 0.0]),
        high=np.array([-1.0, 0.0]),
        lower=np.full(3, -np.inf),
        upper=np.array([np.inf, 0.25, np.inf]),
    )
    answer = SOLVERS[solver].solve(program, 1e-8, 10.0)
    np.testing.assert_allclose(answer.x, [0.75, 0.25, 0.75], atol=1e-5)
    np.testing.assert_allclose(answer.y, [1.75, 0.0], atol=1e-5)


@pytest.mark.parametrize(
    "F",
    [
        RelativeEntropy.capped(np.ones(6), 2.5, 4.0, REFERENCE_D0),
        BinaryEntropy(np.full(6, 1 / 2.5), 4.0, REFERENCE_D0),
    ],
    ids=["relative", "binary"],
)
def test_model_agrees_with_the_regularizer_to_the_second_order(F: Regularizer) -> None:
    """Halving the step divides the error by 8."""
    program = replace(reference_erlpboost(), regularizer=F)
    d, towards = np.full(6, 1 / 6), F.project(np.array([0.3, 0.1, 0.1, 0.2, 0.2, 0.1]))
    of_step = model(program, d).program

    def error(share: float) -> float:
        step = share * (towards - d)
        x = np.append(step / model(program, d).scale, 0.0)
        predicted = float(of_step.q @ x + 0.5 * x @ (of_step.P @ x))
        return F.value(d + step) - F.value(d) - predicted

    assert error(0.02) / error(0.01) == pytest.approx(8, rel=0.1)
    # In the variables of the program the quadratic of an entropy is the identity.
    np.testing.assert_allclose(of_step.P.toarray(), np.diag([1.0] * 6 + [0.0]), atol=1e-12)


def test_constraints_of_the_model_are_those_of_the_program() -> None:
    """At the variables of any d' they say Uᵀd' <= gamma, sum d' = 1, 0 <= d' <= cap."""
    program, rng = reference_erlpboost(), np.random.default_rng(0)
    d = rng.dirichlet(np.ones(6))
    of_step, scale = model(program, d).program, model(program, d).scale
    point, gamma = rng.uniform(size=6), 0.3
    x = np.append((point - d) / scale, gamma)
    rows = np.concatenate([REFERENCE_U.T @ point - gamma, [point.sum() - 1]])
    np.testing.assert_allclose(of_step.A @ x - of_step.high, rows, atol=1e-13)
    np.testing.assert_allclose((of_step.lower[:6] - x[:6]) * scale, -point, atol=1e-13)
    np.testing.assert_allclose((of_step.upper[:6] - x[:6]) * scale, 1 / 2.5 - point, atol=1e-13)
    assert of_step.low[:3].tolist() == [-np.inf] * 3
    assert of_step.low[3] == of_step.high[3]


@pytest.mark.parametrize("solver", IN_PROCESS)
@pytest.mark.parametrize("name", ("svm", "qp_reg_adaboost", "l1_adaboost", "lpboost"))
def test_one_step_on_a_quadratic_program_is_exact(name: str, solver: str) -> None:
    program = bound(name, REFERENCE_U, **({"nu": 2.5} if name == "lpboost" else {"C": 0.7}))
    solution = program.solve(SequentialQuadratic(solver), tol=1e-7)
    assert solution.certificate.scaled_gap <= 1e-7
    assert solution.iterations == 1


def test_a_step_from_the_optimum_stays_there_and_finds_the_multipliers() -> None:
    program = reference_erlpboost()
    best = program.solve("cvxpy:clarabel", tol=1e-10)
    of_step = model(program, program.example_weights(best.w))
    answer = SOLVERS["clarabel"].solve(of_step.program, 1e-10, None)
    d, w = of_step.weights_from(answer)
    np.testing.assert_allclose(d, best.d, atol=1e-5)
    np.testing.assert_allclose(w, best.w, atol=1e-5)
    assert answer.x[-1] == pytest.approx(float(program.margins.edges(best.d).max()), abs=1e-5)  # gamma


CASES: dict[str, tuple[Program, float | None]] = {
    "reference LPBoost": (reference_lpboost(), 0.0037735849056603774),
    "reference ERLPBoost": (reference_erlpboost(), 0.0924628832),
    **ENTROPIES,
    "sparse": (bound("erlpboost", scipy.sparse.csr_array(np.sign(REFERENCE_U)), nu=2.5, eta=10), None),
    "edges just below a bound": (bound("softboost", REFERENCE_U, nu=2.5, gamma=0.005), None),
}


def check(solution: boostopt.Solution, tol: float, value: float | None) -> None:
    assert solution.certificate.scaled_gap <= tol
    assert solution.best is not None
    assert solution.best.claims
    if value is not None:
        assert solution.certificate.lower - 1e-10 <= value <= solution.certificate.upper + 1e-10


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES)
def test_certified_answer_overlaps_that_of_an_interior_point(case: str) -> None:
    program, value = CASES[case]
    solution = program.solve("sqp", tol=1e-8, time_limit=30)
    check(solution, 1e-8, value)
    assert solution.certificate.overlaps(program.solve("cvxpy:clarabel", tol=1e-8, time_limit=20).certificate)


@pytest.mark.parametrize("case", CASES)
def test_certified_answer_through_a_first_order_method(case: str) -> None:
    program, value = CASES[case]
    check(program.solve("sqp:osqp", tol=1e-6, time_limit=30), 1e-6, value)


@pytest.mark.parametrize("case", ("reference ERLPBoost", "reference LPBoost", "binary", "noise", "two-sided"))
def test_certified_answer_through_an_active_set_method(case: str) -> None:
    program, value = CASES[case]
    check(program.solve("sqp:highs", tol=1e-6, time_limit=60), 1e-6, value)


@pytest.mark.parametrize("name", ("erlpboost", "binary_erlpboost", "lpboost"))
def test_random_programs_up_to_steep_ones(name: str) -> None:
    rng = np.random.default_rng(9)
    for _ in range(many(12, 2)):
        sample = draw(rng, largest_N=100, largest_t=12, largest_eta=1e7)
        try:
            program = sample.bind(name)
        except boostopt.ProblemError:  # the binary entropy needs d0 within the caps
            continue
        certificate = program.solve("sqp", tol=1e-8, time_limit=20).certificate
        assert certificate.scaled_gap <= 1e-8
        assert certificate.overlaps(program.solve("cvxpy:clarabel", tol=1e-5, time_limit=5).certificate)


@pytest.mark.parametrize("solver", IN_PROCESS)
def test_infeasible_programs_are_proved_infeasible(solver: str) -> None:
    program = bound("softboost", REFERENCE_U, nu=2.5, gamma=-0.2)
    solution = program.solve(SequentialQuadratic(solver), time_limit=20)
    assert solution.outcome is boostopt.Outcome.INFEASIBLE


def test_a_start_saves_steps() -> None:
    program = bound("erlpboost", noisy_stumps(300, 12), nu=30, eta=460)
    cold = program.solve("sqp", tol=1e-8)
    warm = bound("erlpboost", noisy_stumps(300, 12), nu=30, eta=500).solve("sqp", tol=1e-8, start=cold)
    assert cold.iterations is not None
    assert warm.iterations is not None
    assert warm.certificate.scaled_gap <= 1e-8
    assert warm.iterations < cold.iterations


@pytest.mark.thorough
def test_a_deadline_is_kept_and_said() -> None:
    program = bound("erlpboost", noisy_stumps(3000, 40), nu=300, eta=460)
    began = time.process_time()
    solution = program.solve("sqp", tol=1e-12, time_limit=0.3)
    assert time.process_time() - began < 3.0
    # A busy machine lets the worker process answer too late: it is killed, and the status says so.
    assert any(word in solution.solver_status for word in ("limit", "killed"))
    assert solution.verdict is boostopt.Verdict.NONE
    assert np.isfinite(solution.certificate.gap)


def test_an_unreachable_gap_is_not_claimed() -> None:
    solution = reference_erlpboost().solve("sqp", tol=1e-15, time_limit=20)
    assert solution.certificate.scaled_gap > 1e-15
    assert solution.best is not None
    assert not solution.best.claims
    assert "no progress" in solution.solver_status


def test_second_attempt_of_sqp_is_closer() -> None:
    program = bound("erlpboost", noisy_stumps(300, 12), nu=30, eta=100)
    gap = program.solve("sqp", tol=1e-3).certificate.scaled_gap
    task = Task(program, 1.5 * gap, Deadline(None))
    first, second = SequentialQuadratic().attempts(task)
    assert task.gap(first.d, first.w) == pytest.approx(gap, rel=0.1)  # those that are equal were merged
    assert second.claims
    assert task.gap(second.d, second.w) <= 0.15 * gap


def crash(program: QuadraticProgram, accuracy: float, seconds: float | None) -> QuadraticAnswer:
    raise RuntimeError("crashed")


def nothing(program: QuadraticProgram, accuracy: float, seconds: float | None) -> QuadraticAnswer:
    return QuadraticAnswer(np.full(len(program.q), np.nan), np.full(len(program.low), np.nan), "Solved")


def lie(program: QuadraticProgram, accuracy: float, seconds: float | None) -> QuadraticAnswer:
    rng = np.random.default_rng(0)
    return QuadraticAnswer(rng.normal(size=len(program.q)), 1e9 * rng.normal(size=len(program.low)), "Solved")


@pytest.mark.parametrize(("solver", "words"), [(crash, "crashed"), (nothing, "failed: Solved")])
def test_a_solver_that_leaves_nothing_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, solver: Solver, words: str
) -> None:
    monkeypatch.setitem(SOLVERS, "clarabel", replace(SOLVERS["clarabel"], solve=solver))
    solution = reference_erlpboost().solve("sqp", time_limit=10)
    assert words in solution.solver_status
    assert solution.outcome is boostopt.Outcome.FAILED
    assert solution.certificate.lower <= 0.0924628832 <= solution.certificate.upper


def test_a_solver_that_lies_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOLVERS, "clarabel", replace(SOLVERS["clarabel"], solve=lie))
    solution = reference_erlpboost().solve("sqp", time_limit=10)
    assert "no progress" in solution.solver_status
    assert solution.verdict is boostopt.Verdict.NONE
    assert solution.certificate.lower <= 0.0924628832 <= solution.certificate.upper


def test_highs_runs_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it would raise."""
    monkeypatch.setitem(SOLVERS, "highs", replace(SOLVERS["highs"], solve=crash))
    assert reference_erlpboost().solve("sqp:highs", tol=1e-6, time_limit=60).certificate.scaled_gap <= 1e-6
    solution = reference_erlpboost().solve(SequentialQuadratic("highs", in_this_process=True), time_limit=10)
    assert "crashed" in solution.solver_status


def test_names() -> None:
    assert get_backend("sqp").name == get_backend("sqp:clarabel").name == "sqp"
    assert get_backend("sqp:osqp").name == "sqp:osqp"
    assert {"sqp", "sqp:osqp", "sqp:highs"} <= set(boostopt.list_backends())
    assert get_backend("sqp").version.startswith("clarabel ")
    for name in ("sqp:osqpp", "sqp:", "sqpx"):
        with pytest.raises(boostopt.OptionError, match="unknown backend"):
            get_backend(name)


def test_a_solver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOLVERS, "osqp", replace(SOLVERS["osqp"], module="no_such_module", package="no-such-package"))
    with pytest.raises(boostopt.SolverNotFound, match=r"\bosqp\b.*\bno-such-package\b.*\bsqp:highs\b"):
        open_sqp("sqp:osqp")
    assert "sqp:osqp" not in boostopt.list_backends()
    assert SequentialQuadratic("osqp").version == ""


def test_reasons_why_not() -> None:
    assert "Separable" in get_backend("sqp").takes(get_formulation("norm_ball").example_program()).reason
    assert get_backend("sqp").takes(get_formulation("qp_reg_adaboost").example_program())
