"""The augmented Lagrangian: its gradient, its multipliers, its stages, and certified answers."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from support.entropy_programs import ENTROPIES, bound
from support.problems import (
    REFERENCE_D0,
    REFERENCE_ETA,
    REFERENCE_NU,
    REFERENCE_U,
    draw,
    noisy_stumps,
    reference_erlpboost,
)

import boostopt
from boostopt import Program, get_backend, get_formulation
from boostopt.backends.base import Deadline, Task, WarmStart
from boostopt.backends.classical.augmented_lagrangian import AugmentedLagrangian, corrective_start
from boostopt.backends.classical.augmented_lagrangian_forms import (
    DualForm,
    DualInWBeta,
    DualInWPsi,
    Lagrangian,
    ReducedDual,
    dual_forms,
    row_multipliers,
)
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.edge_bound_indicators import BoundedEdges, FixedEdges
from boostopt.functions.edge_functions.largest_edge import AbsoluteEdge, MaximumEdge
from boostopt.functions.edge_functions.linear_edges import LinearEdges
from boostopt.functions.edge_functions.squared_edges import SquaredEdges, SquaredPositiveEdges
from boostopt.functions.edge_functions.tied_edges import TiedEdges
from boostopt.functions.regularizers.binary_entropy import BinaryEntropy, LogarithmicLoss
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.rows.margin_matrix import MarginMatrix

pytestmark = pytest.mark.every(2)

NAME = "augmented_lagrangian"
U = MarginMatrix(REFERENCE_U)
ENTROPY = RelativeEntropy.capped(np.ones(6), REFERENCE_NU, REFERENCE_ETA, REFERENCE_D0)
BINARY = BinaryEntropy(np.full(6, 1 / REFERENCE_NU), REFERENCE_ETA, REFERENCE_D0)


def dual_off_center(F: RelativeEntropy | BinaryEntropy) -> ReducedDual:
    """The form in w alone, three times less steep and off its center."""
    dual = ReducedDual(F)
    dual.steps, dual.center = 3.0, np.linspace(-0.3, 0.2, F.N)
    return dual


DUALS: dict[str, DualForm] = {
    "psi": DualInWPsi(ENTROPY),
    "beta": DualInWBeta(ENTROPY),
    "binary, beta": DualInWBeta(BINARY),
    "w": ReducedDual(ENTROPY),
    "stage": dual_off_center(ENTROPY),
    "binary, stage": dual_off_center(BINARY),
    "logarithmic loss": ReducedDual(LogarithmicLoss.from_multiplicities(np.ones(6), 3.0)),
}
EDGES: dict[str, EdgeFunction] = {
    "maximum": MaximumEdge(),
    "absolute": AbsoluteEdge(),
    "bounded": BoundedEdges(0.1),
    "fixed": FixedEdges(0.1),
    "linear": LinearEdges(0.3),
    "tied": TiedEdges(),
    "squared": SquaredEdges(),
    "squared positive": SquaredPositiveEdges(),
}


def lagrangian(dual: DualForm, G: EdgeFunction, mu: float = 0.2) -> Lagrangian:
    margins = MarginMatrix(REFERENCE_U[:, :2]) if isinstance(G, TiedEdges) else U
    epigraph = G.epigraph(margins.t)
    assert epigraph is not None
    return Lagrangian(margins, epigraph, dual, np.linspace(-0.4, 0.3, len(epigraph.g)), mu)


def somewhere(L: Lagrangian, seed: int) -> np.ndarray:
    """A random point within the bounds."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.05, 0.9, size=len(L.G.b) + len(L.dual.initial_y))


@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("form", DUALS)
def test_gradient_is_that_of_differences(form: str, edges: str) -> None:
    L = lagrangian(DUALS[form], EDGES[edges])
    for seed in range(3):
        z = somewhere(L, seed)
        _, gradient = L(z)
        for k in range(len(z)):
            step = 1e-6 * np.eye(len(z))[k]
            slope = (L(z + step)[0] - L(z - step)[0]) / 2e-6
            assert gradient[k] == pytest.approx(slope, abs=2e-8)


def test_lagrangian_is_the_papers_with_its_signs_corrected() -> None:
    """-Theta(w, psi) - lambda c + c^2 / (2 mu) with (3.11) written out, lambda = -estimate."""
    L = lagrangian(DualInWPsi(ENTROPY), MaximumEdge(), mu=0.05)
    z = somewhere(L, 4)
    w, psi = z[:3], z[3:] / REFERENCE_ETA
    total = np.sum(REFERENCE_D0 * np.exp(-REFERENCE_ETA * (REFERENCE_U @ w + psi)))
    theta = -np.log(total) / REFERENCE_ETA - psi.sum() / REFERENCE_NU
    c, multiplier = w.sum() - 1, -L.estimate[0]
    assert L(z)[0] == pytest.approx(-theta - multiplier * c + c**2 / (2 * 0.05), abs=1e-13)
    assert L.first_order_estimate(w)[0] == pytest.approx(-(multiplier - c / 0.05), abs=1e-13)
    assert L.violation(w) == pytest.approx(abs(c), abs=1e-14)


def test_forms_agree_where_the_further_variables_are_optimal() -> None:
    """F*(-m) is the least value over psi, and over beta; no other psi or beta gives less."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        m = U.margins(rng.dirichlet(np.ones(3)))
        conjugate = ENTROPY.conjugate_at(-m)
        psi, beta = (
            np.asarray(conjugate.multipliers["psi"]),
            np.array([float(np.asarray(conjugate.multipliers["beta"]))]),
        )
        for dual, best in ((DualInWPsi(ENTROPY), psi), (DualInWBeta(ENTROPY), beta)):
            evaluation = dual.evaluate(m, best)
            assert evaluation.value == pytest.approx(conjugate.value, abs=1e-13)
            np.testing.assert_allclose(evaluation.d, conjugate.d, atol=1e-13)
            neighbour = np.maximum(best + rng.normal(size=len(best)), dual.lower_y)
            assert dual.evaluate(m, neighbour).value > conjugate.value


def test_a_stage_is_the_conjugate_of_a_regularizer_with_a_bregman_distance() -> None:
    """F + (s - 1) (F - <center, .>): Fenchel and Young's inequality, with equality at the weights of the stage."""
    dual, rng = dual_off_center(ENTROPY), np.random.default_rng(6)
    for _ in range(20):
        m = rng.uniform(-1, 1, size=6)
        conjugate = dual.evaluate(m, np.zeros(0))
        for d, min_difference in ((conjugate.d, 0.0), (ENTROPY.project(rng.dirichlet(np.ones(6))), 1e-6)):
            F = ENTROPY.value(d) + (dual.steps - 1) * (ENTROPY.value(d) - float(dual.center @ d))
            excess = F + conjugate.value + float(m @ d)
            assert excess >= min_difference if min_difference else excess == pytest.approx(0, abs=1e-12)


def test_stages_leave_the_optimum_where_it_is() -> None:
    program = reference_erlpboost()
    solution = program.solve("cvxpy:clarabel", tol=1e-9)
    m = program.margins.margins(solution.w)
    dual = ReducedDual(program.regularizer)
    dual.steps, dual.center = 50.0, -m
    np.testing.assert_allclose(dual.evaluate(m, np.zeros(0)).d, program.example_weights(solution.w), atol=1e-12)
    dual.start_next_stage(m)
    np.testing.assert_allclose(dual.center, -m, atol=1e-14)
    assert dual.steps == 25.0


def minimizer(L: Lagrangian, z: np.ndarray) -> np.ndarray:
    bounds = [(low, None) for low in [*np.zeros(len(L.G.b)), *L.dual.lower_y]]
    options = {"ftol": 0, "gtol": 1e-11, "maxcor": 30}
    return minimize(L, z, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x


def test_violation_estimates_the_error_of_the_multiplier() -> None:
    """At the minimizer c is mu (lambda - lambda*) up to the first order, lambda* = -gamma."""
    program = reference_erlpboost()
    gamma = float(np.max(program.margins.edges(program.solve("cvxpy:clarabel", tol=1e-10).d)))
    for guess in (gamma + 0.4, gamma - 0.4):
        L = replace(lagrangian(DualInWPsi(ENTROPY), MaximumEdge(), mu=1e-3), estimate=np.array([guess]))
        z = minimizer(L, np.concatenate([np.full(3, 1 / 3), np.zeros(6)]))
        c = float(L.split(z)[0].sum() - 1)
        assert c / (1e-3 * (-guess + gamma)) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("form", ("psi", "beta", "w"))
def test_first_order_estimates_converge_to_the_multipliers(form: str) -> None:
    """With mu fixed: lambda to -gamma, v to w, psi to the multipliers of the caps, linearly."""
    program = reference_erlpboost()
    solution = program.solve("cvxpy:clarabel", tol=1e-10)
    gamma = float(np.max(program.margins.edges(solution.d)))
    now = lagrangian(DUALS[form], MaximumEdge(), mu=0.05)
    z, errors = np.concatenate([np.full(3, 1 / 3), now.dual.initial_y]), list[float]()
    for _ in range(10):
        z = minimizer(now, z)
        now = replace(now, estimate=now.first_order_estimate(now.split(z)[0]))
        errors.append(abs(float(now.estimate[0]) - gamma))
    assert errors[0] > 1e-4
    assert errors[-1] < 1e-6  # the interval of 1e-10 pins gamma down no better
    assert errors[3] < 0.5 * errors[1]
    np.testing.assert_allclose(now.split(z)[0], solution.w, atol=1e-5)
    if form == "psi":
        psi = now.split(z)[1]
        np.testing.assert_allclose(psi, np.asarray(solution.multipliers["psi"]), atol=1e-5)


def test_start_is_one_corrective_step() -> None:
    """The earlier weights are rescaled by 1 - alpha, and the dual gains what smoothness promises."""
    program = reference_erlpboost()
    for w in (np.array([1.0]), np.array([0.5, 0.5]), np.array([0.2, 0.5, 0.3])):
        task = Task(program, 1e-8, Deadline(None), WarmStart(w=w))
        old = np.append(w, np.zeros(3 - len(w)))
        new = corrective_start(task)
        d = program.example_weights(old)
        e = program.margins.edges(d)
        u = np.eye(3)[np.argmax(e)]
        x = program.margins.margins(u - old)
        slope = float(x @ d)
        alpha = min(max(slope / (REFERENCE_ETA * float(np.abs(x).max()) ** 2), 0), 1)
        np.testing.assert_allclose(new, (1 - alpha) * old + alpha * u, atol=1e-14)
        gain = [-program.regularizer.conjugate_at(-program.margins.margins(v)).value for v in (old, new)]
        assert gain[1] - gain[0] >= slope**2 / (8 * REFERENCE_ETA) - 1e-14


def test_rows_have_multipliers_that_give_the_weights() -> None:
    rng = np.random.default_rng(7)
    for name, G in EDGES.items():
        t = 2 if name == "tied" else 3
        epigraph, w = G.epigraph(t), G.project(rng.dirichlet(np.ones(t)))
        assert epigraph is not None
        assert w is not None
        v = row_multipliers(epigraph, w)
        assert np.all(epigraph.equality | (v >= 0))
        np.testing.assert_allclose(epigraph.weights(v) + epigraph.slope, w, atol=1e-14)


CASES: dict[str, tuple[Program, float | None]] = {
    "reference": (reference_erlpboost(), 0.0924628832),
    **ENTROPIES,
    "unnormalized": (bound("unnormalized_erlpboost", REFERENCE_U, nu=2.5, eta=20), None),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES)
def test_certified_answer_overlaps_that_of_an_interior_point(case: str) -> None:
    program, value = CASES[case]
    solution = program.solve(NAME, tol=1e-7, time_limit=30)
    assert solution.certificate.scaled_gap <= 1e-7
    assert solution.best is not None
    assert solution.best.claims
    assert solution.certificate.overlaps(program.solve("cvxpy:clarabel", tol=1e-8, time_limit=20).certificate)
    if value is not None:
        assert solution.certificate.lower - 1e-10 <= value <= solution.certificate.upper + 1e-10


@pytest.mark.thorough
@pytest.mark.parametrize("name", ("erlpboost", "binary_erlpboost", "unnormalized_erlpboost"))
def test_random_programs_up_to_steep_ones(name: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(12):
        sample = draw(rng, largest_N=100, largest_t=12, largest_eta=1e7)
        try:
            program = sample.bind(name)
        except boostopt.ProblemError:  # the binary entropy needs d0 within the caps
            continue
        certificate = program.solve(NAME, tol=1e-6, time_limit=20).certificate
        assert certificate.scaled_gap <= 1e-6
        assert certificate.overlaps(program.solve("cvxpy:clarabel", tol=1e-5, time_limit=5).certificate)


def test_infeasible_programs_are_proved_infeasible() -> None:
    program = bound("softboost", REFERENCE_U, nu=2.5, gamma=-0.2)
    assert program.solve(NAME, time_limit=20).outcome is boostopt.Outcome.INFEASIBLE


@pytest.mark.thorough
def test_forms_are_tried_in_order() -> None:
    program = reference_erlpboost()
    assert [dual.form for dual in dual_forms(program.regularizer)] == ["dual in w, psi", "dual in w"]
    assert [dual.form for dual in dual_forms(BINARY)] == ["dual in w, beta", "dual in w"]
    assert [dual.form for dual in dual_forms(LogarithmicLoss.from_multiplicities(np.ones(2), 1.0))] == ["dual in w"]
    steep = bound("erlpboost", noisy_stumps(200, 40), nu=40, eta=1e6).solve(NAME, tol=1e-7)
    assert [attempt.form for attempt in steep.attempts] == ["dual in w, psi", "dual in w"]
    assert "evaluation limit" in steep.attempts[0].status
    assert not steep.attempts[0].claims


@pytest.mark.parametrize("name", ("erlpboost", "log_loss"))
def test_second_attempt_of_the_augmented_lagrangian_is_closer_in_the_same_form(name: str) -> None:
    program = bound(name, REFERENCE_U, eta=5, **({"nu": 2.5} if name == "erlpboost" else {}))
    task = Task(program, 1e-3, Deadline(None))
    first, second = AugmentedLagrangian().attempts(task)
    assert first.form == second.form
    assert first.claims and second.claims
    assert task.gap(first.d, first.w) <= 1e-3
    assert task.gap(second.d, second.w) <= 1e-4


def test_a_start_saves_evaluations() -> None:
    program = bound("erlpboost", noisy_stumps(300, 12), nu=30, eta=100)
    cold = program.solve(NAME, tol=1e-7)
    warm = program.solve(NAME, tol=1e-6, start=cold)
    assert warm.iterations is not None
    assert cold.iterations is not None
    assert warm.certificate.scaled_gap <= 1e-6
    assert warm.iterations < cold.iterations


def test_a_deadline_is_kept_and_said() -> None:
    program = bound("erlpboost", noisy_stumps(4000, 60), nu=400, eta=1e4)
    began = time.process_time()
    solution = program.solve(NAME, tol=1e-12, time_limit=0.05)
    assert time.process_time() - began < 2.0
    assert any(word in solution.solver_status for word in ("time limit", "killed"))
    assert solution.verdict is boostopt.Verdict.NONE
    assert np.isfinite(solution.certificate.gap)


@pytest.mark.thorough
def test_an_unreachable_gap_is_not_claimed() -> None:
    solution = reference_erlpboost().solve(NAME, tol=1e-15, time_limit=20)
    assert solution.certificate.scaled_gap > 1e-15
    assert solution.best is not None
    assert not solution.best.claims
    assert "violation" in solution.solver_status


def test_reasons_why_not() -> None:
    backend = get_backend(NAME)
    assert isinstance(backend, AugmentedLagrangian)
    assert backend.name == NAME in boostopt.list_backends()
    with pytest.raises(boostopt.OptionError, match=f"'{NAME}:x'"):
        get_backend(f"{NAME}:x")
    assert "kinks" in backend.takes(bound("lpboost", REFERENCE_U, nu=2)).reason
    assert "Separable" in backend.takes(get_formulation("norm_ball").example_program()).reason
