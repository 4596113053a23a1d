"""Coordinate ascent: the page against the package, its closed form, and the step against a search for the maximum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_step_agrees, assert_step_by_hand, bind_column
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import ProblemError, Program, get_formulation
from boostopt.authoring import BoostingState, Examples


def ascent(u: object, **parameters: object) -> Program:
    return bind_column("coordinate_ascent", u, **parameters)


def progress(U: np.ndarray, steps: np.ndarray, u: np.ndarray, c: np.ndarray | None = None) -> BoostingState:
    counts = np.ones(len(U)) if c is None else c
    return BoostingState(1, 1.0, 0.01, Examples(counts, counts / counts.sum()), float(steps.sum()), U @ steps, u)


def rho_of(progress: BoostingState) -> float:
    return get_formulation("coordinate_ascent").boosting.next_parameters(progress)["next_smooth_margin"]


def smooth_margin(m: np.ndarray, total: float, c: np.ndarray | None = None) -> float:
    return -math.log(((np.ones(len(m)) if c is None else c) * np.exp(-m)).sum()) / total


def test_structure_by_hand() -> None:
    """G = 0.3 after the step."""
    assert_step_by_hand(ascent([1.0, -1.0, 1.0], next_smooth_margin=0.3, c=[1, 2, 1]), 0.3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rho = rng.uniform(-0.2, 0.5)
    program = ascent(rng.uniform(-1, 1, 40), d0=rng.dirichlet(np.ones(40)), next_smooth_margin=rho)
    assert_step_agrees(program)


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
