"""Coordinate ascent: the page against the package, its closed form, and the step against a search for the maximum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import ProblemError, Program, get_formulation
from boostopt.authoring import BoostingState, Examples

AGREES = 1e-6
"""Clarabel ends up to 2e-7 from the optimum of a log-sum-exp over one column, whatever is asked of it."""


def ascent(u: object, **parameters: object) -> Program:
    page = get_formulation("coordinate_ascent")
    return page.bind(np.asarray(u)[:, np.newaxis], **parameters)  # pyright: ignore[reportArgumentType]


def progress(U: np.ndarray, steps: np.ndarray, u: np.ndarray, c: np.ndarray | None = None) -> BoostingState:
    counts = np.ones(len(U)) if c is None else c
    return BoostingState(1, 1.0, 0.01, Examples(counts, counts / counts.sum()), float(steps.sum()), U @ steps, u)


def rho_of(progress: BoostingState) -> float:
    return get_formulation("coordinate_ascent").boosting.next_parameters(progress)["next_smooth_margin"]


def smooth_margin(m: np.ndarray, total: float, c: np.ndarray | None = None) -> float:
    return -math.log(((np.ones(len(m)) if c is None else c) * np.exp(-m)).sum()) / total


def test_structure_by_hand() -> None:
    """N = 3, u = (1, -1, 1), d0 = (1/4, 1/2, 1/4), G = 0.3 after the step.

    Primal  min sum d ln(d / d0)   s.t.  d1 - d2 + d3 = 0.3,  d1 + d2 + d3 = 1
    Dual    max -ln[ exp(-alpha) / 2 + exp(alpha) / 2 ] - 0.3 alpha
    """
    program = ascent([1.0, -1.0, 1.0], next_smooth_margin=0.3, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta"]
    primal.var_dict["d"].value = [0.2, 0.5, 0.3]
    assert primal.constraints[0].residual == pytest.approx(0.3)
    dual.var_dict["w"].value = [0.3]
    assert dual.objective.value == pytest.approx(-math.log(math.cosh(0.3)) - 0.09)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rho = rng.uniform(-0.2, 0.5)
    program = ascent(rng.uniform(-1, 1, 40), d0=rng.dirichlet(np.ones(40)), next_smooth_margin=rho)
    certificates = [program.solve(backend, tol=1e-9).certificate for backend in ("cvxpy:clarabel", "cvxpy:scs")]
    assert max(certificate.scaled_gap for certificate in certificates) <= 1e-9
    assert certificates[0].overlaps(certificates[1])
    for side in ("primal", "dual"):
        for form in ("derived", "literal"):
            problem = program.cvxpy(side, form)
            problem.solve("CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
            assert problem.solution.opt_val == pytest.approx(certificates[0].upper, abs=AGREES)


@pytest.mark.parametrize("rho", (-0.1, 0.0, 0.25, 0.7))
def test_closed_form_of_the_step(rho: float) -> None:
    rng = np.random.default_rng(1)
    u, d0 = rng.choice([-1.0, 1.0], 30), rng.dirichlet(np.ones(30))
    certificate = ascent(u, d0=d0, next_smooth_margin=rho).certify(w=[math.atanh(u @ d0) - math.atanh(rho)])
    assert certificate.gap <= 1e-11
    assert u @ certificate.d == pytest.approx(rho, abs=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_the_step_of_the_program_is_where_the_smooth_margin_is_largest(seed: int) -> None:
    """A bounded search of SciPy gives the same step, with multiplicities, for signs and for real values."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.1, 1, (30, 12)) if seed % 2 else np.ones((30, 12))
    U = np.where(rng.random((30, 12)) < 0.8, confidence, -confidence)
    c, steps, q = rng.integers(1, 4, 30).astype(float), np.zeros(12), 11
    steps[:11] = scipy.optimize.minimize(
        lambda s: np.log(c @ np.exp(-U[:, :11] @ s)), np.ones(11), bounds=[(0, 3)] * 11
    ).x
    m, total, u = U @ steps, float(steps.sum()), U[:, q]
    current_margin = smooth_margin(m, total, c)
    assert current_margin > 0
    weights = c * np.exp(-m)
    assert u @ weights / weights.sum() > current_margin
    maximum: Any = scipy.optimize.minimize_scalar(
        lambda alpha: -smooth_margin(m + alpha * u, total + alpha, c), bounds=(0, 20), options={"xatol": 1e-10}
    )
    rho = rho_of(progress(U, steps, u, c))
    assert rho == pytest.approx(-maximum.fun, abs=1e-12)
    program = ascent(u, c=c, d0=weights / weights.sum(), next_smooth_margin=rho)
    alpha = float(program.solve("interior", tol=1e-13).w[0])
    assert alpha == pytest.approx(maximum.x, abs=1e-5)
    assert smooth_margin(m + alpha * u, total + alpha, c) == pytest.approx(rho, abs=1e-12)
    # Shorter than the step of the approximate ascent, whose rho is the smooth margin before it.
    assert current_margin < rho < u @ weights / weights.sum()


@pytest.mark.thorough
def test_a_run_ascends_faster_than_the_approximate_one_in_every_step() -> None:
    """On the game of three, whose largest margin is 1/3, from AdaBoost's steps until G is positive."""
    U, d, steps, values = np.ones((3, 3)) - 2 * np.eye(3), np.full(3, 1 / 3), np.zeros(3), [-math.inf]
    for _ in range(200):
        q = int(np.argmax(U.T @ d))
        u, r, m, total = U[:, q], float(U[:, q] @ d), U @ steps, float(steps.sum())
        rho = rho_of(progress(U, steps, u))
        alpha = math.atanh(r) - math.atanh(rho)
        certificate = ascent(u, d0=d, next_smooth_margin=rho).certify(w=[alpha])
        assert certificate.gap <= 1e-10
        if values[-1] <= 0:
            assert rho == 0
        else:
            approximate = math.atanh(r) - math.atanh(values[-1])
            assert 0 < alpha < approximate
            assert rho == pytest.approx(smooth_margin(m + alpha * u, total + alpha), abs=1e-12)
            assert rho > smooth_margin(m + approximate * u, total + approximate)
            assert rho > values[-1]
        d, steps[q] = certificate.d, steps[q] + alpha
        values.append(smooth_margin(U @ steps, float(steps.sum())))
    assert sum(value > 0 for value in values) > 150
    assert 1 / 3 - 0.05 < values[-1] < 1 / 3


def test_without_a_positive_smooth_margin_it_is_adaboost() -> None:
    assert rho_of(progress(REFERENCE_U, np.zeros(REFERENCE_U.shape[1]), REFERENCE_U[:, 0])) == 0.0
    ours = ascent(REFERENCE_U[:, 0], d0=REFERENCE_D0, next_smooth_margin=0.0)
    theirs = get_formulation("adaboost").bind(REFERENCE_U[:, :1], d0=REFERENCE_D0)
    assert ours.edge_function == theirs.edge_function
    assert ours.certify(w=[0.2]).lower == theirs.certify(w=[0.2]).lower


def test_without_an_ascent_there_is_no_step_and_without_an_end_the_limit() -> None:
    U, steps = np.ones((3, 3)) - 2 * np.eye(3), np.full(3, 5.0)
    context = progress(U, steps, np.array([0.1, 0.2, -1.0]))
    assert context.smooth_margin > 0
    assert rho_of(context) == pytest.approx((0.1 + 0.2 - 1.0) / 3, abs=1e-15)
    assert rho_of(progress(U, steps, np.array([0.9, 1.0, 0.8]))) == 0.8


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = ascent(REFERENCE_U[:, 0], c=c, next_smooth_margin=0.1).solve("cvxpy:clarabel", tol=1e-12)
    copies = ascent(np.repeat(REFERENCE_U[:, 0], c), next_smooth_margin=0.1).solve("cvxpy:clarabel", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-6)


def test_the_next_smooth_margin_is_a_margin() -> None:
    for rho in (1.2, -math.inf, math.nan):
        with pytest.raises(ProblemError, match=rf"^next_smooth_margin\b.*\[-1, 1\].* {rho}\b"):
            ascent(REFERENCE_U[:, 0], next_smooth_margin=rho)
