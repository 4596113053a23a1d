"""What theory promises of the linear programs, and of AdaBoost and its relatives, on random classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from random_classes import (
    BIT,
    EPSILON,
    LP,
    ORACLES,
    ROUNDING,
    SEEDS,
    Noted,
    RandomClass,
    assert_bounds,
    assert_stopped,
    drawn,
    row,
    separable,
)
from scipy.special import logsumexp

from boostopt import boost
from boostopt.boosting.run.run import Run

pytestmark = pytest.mark.every(2)

every_class = pytest.mark.parametrize("seed", SEEDS)
both_oracles = pytest.mark.parametrize("choose", ORACLES)

NEAR = 1e-7
"""What an LP solved to the default scaled gap of 1e-8 may miss, seen from scipy's."""


# The linear programs


@pytest.mark.thorough_cases("weakest-0")
@every_class
@both_oracles
def test_lpboost_bounds_are_monotone_and_close(choose: str, seed: int) -> None:
    """P_LP^t rises to within epsilon of the smallest edge, which falls; each is scipy's optimum."""
    of, epsilon = drawn(seed), 0.05
    oracle = of.oracle(choose)
    run = boost("lpboost", oracle, nu=of.nu, epsilon=epsilon)
    U, value = run.program.margins.to_array(), row(run.trace, "value")
    optima = np.array([of.optimum_of(U[:, :k]) for k in row(run.trace, "hypotheses").astype(int)])
    np.testing.assert_allclose(value, optima, atol=NEAR)
    assert (np.diff(optima) >= -LP).all()
    assert (np.diff(value) >= -LP).all()
    assert (np.diff(row(run.trace, "smallest_edge")) <= 0.0).all()
    # A guarantee that is known in advance counts as an edge; the last row has what the last answer said as well.
    known = 1.0 if oracle.guarantee is None else oracle.guarantee
    edges = np.minimum(np.minimum.accumulate(oracle.edges), known)[: run.rounds]
    np.testing.assert_allclose(row(run.trace, "smallest_edge")[:-1], edges[:-1], atol=ROUNDING)
    assert_stopped(of, run, choose, epsilon)
    assert_bounds(of, run)
    if choose == "best":
        assert optima[-1] == pytest.approx(of.optimum, abs=epsilon)


@every_class
@both_oracles
@pytest.mark.parametrize("name", ["lpboost", "lp_adaboost", "lp_reg_adaboost"])
def test_the_nu_property_of_the_linear_programs(name: str, choose: str, seed: int) -> None:
    """#{m < rho} <= nu <= #{m <= rho}, examples counted with multiplicity, rho the one of the certificate."""
    of = drawn(seed).hard if name == "lp_adaboost" else drawn(seed)
    given: dict[str, Any] = {"lpboost": {"nu": of.nu}, "lp_reg_adaboost": {"C": 1.0 / of.nu}}.get(name, {})
    run = boost(name, of.oracle(choose), epsilon=EPSILON, **given)
    assert_stopped(of, run, choose)
    assert_bounds(of, run)
    U = run.program.margins.to_array()
    m, rho, optimum = U @ run.w, -float(np.asarray(run.certificate.multipliers["beta"])), of.optimum_of(U)
    assert of.c[m < rho - NEAR].sum() <= of.nu + ROUNDING
    assert of.c[m <= rho + NEAR].sum() >= of.nu - ROUNDING
    assert rho - float(of.c @ np.maximum(rho - m, 0.0)) / of.nu == pytest.approx(optimum, abs=NEAR)
    # Every bound of the program over the hypotheses collected, in every round.
    for k in range(1, run.rounds + 1):
        at = run.at_round(k)
        optimum = of.optimum_of(at.program.margins.to_array())
        assert at.certificate.lower - LP <= optimum <= at.certificate.upper + LP


# AdaBoost and its relatives

ROUNDS = 80


def after(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The smallest margin of the normalized steps after every round, and ||lambda||_1."""
    margins, totals = list[float](), list[float]()
    for k in range(1, run.rounds + 1):
        at = run.at_round(k)
        total = float(at.w.sum())
        margins.append(float((at.program.margins.to_array() @ at.w).min()) / total)
        totals.append(total)
    return np.array(margins), np.array(totals)


def largest_share(of: RandomClass) -> float:
    """N in the bounds, for d0 = c / sum c: one over the smallest weight of the reference distribution."""
    return of.total / float(of.c.min())


@every_class
@both_oracles
def test_adaboost_star_reaches_the_best_margin_less_its_accuracy(choose: str, seed: int) -> None:
    """Margin >= min_q r_q - nu >= rho - nu after 2 ln N / nu^2 rounds, whatever nu was named."""
    of, accuracy = drawn(seed).hard, 0.4
    enough = math.ceil(2.0 * math.log(largest_share(of)) / accuracy**2)
    oracle = of.oracle(choose)
    run = boost("adaboost_star", oracle, accuracy=accuracy, epsilon=EPSILON, rules=(), max_rounds=enough)
    assert run.iteration_bound <= enough == run.rounds
    margins, _ = after(run)
    guarantee = of.optimum - (BIT if choose == "weakest" else LP)
    smallest = min(guarantee, oracle.edges[:enough].min())
    assert margins[-1] >= smallest - accuracy - ROUNDING
    assert smallest >= guarantee - ROUNDING
    assert margins[-1] <= of.optimum + LP
    assert_bounds(of, run)


@pytest.mark.parametrize("seed", SEEDS)
@both_oracles
def test_adaboost_reaches_half_of_the_best_margin(choose: str, seed: int) -> None:
    """The margin is at least Upsilon(rho) - ln N / ||lambda||_1 in every round, Upsilon(rho) >= rho / 2, u = +-1."""
    of = separable(seed, signs=True)
    rho = of.optimum - (BIT if choose == "weakest" else LP)
    assert rho > 0.05
    run = boost("adaboost", of.oracle(choose), epsilon=EPSILON, rules=(), max_rounds=ROUNDS)
    assert run.rounds == ROUNDS
    limit = -math.log(1.0 - rho**2) / math.log((1.0 + rho) / (1.0 - rho))
    assert limit >= rho / 2.0
    margins, totals = after(run)
    assert (totals >= np.arange(1, ROUNDS + 1) * math.atanh(rho) - 1e-9).all()
    left = math.log(largest_share(of)) / totals
    assert (margins >= limit - left - 1e-9).all()
    assert margins[-1] >= rho / 2.0 - left[-1] > 0.0
    assert_bounds(of, run)


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["arc_gv", "approximate_coordinate_ascent", "coordinate_ascent"])
def test_the_smooth_margin_rises_once_it_is_positive(name: str, choose: str, seed: int) -> None:
    of = separable(seed)
    run = boost(name, of.oracle(choose), epsilon=EPSILON, rules=(), max_rounds=ROUNDS)
    margins, totals = after(run)
    smooth = np.empty(run.rounds)
    for k in range(1, run.rounds + 1):
        at = run.at_round(k)
        m = at.program.margins.to_array() @ at.w
        smooth[k - 1] = -float(np.asarray(logsumexp(-m, b=of.c))) / totals[k - 1]
    positive = np.flatnonzero(smooth > 0.0)
    assert len(positive) >= 10
    assert (np.diff(smooth[positive[0] :]) >= -ROUNDING).all()
    assert (smooth <= margins - np.log(of.c.min()) / totals + ROUNDING).all()
    assert (smooth >= margins - math.log(of.total) / totals - ROUNDING).all()
    assert (margins <= of.optimum + LP).all()
    assert_bounds(of, run)


def errors(oracle: Noted, rounds: int) -> np.ndarray:
    """The weighted errors of the hypotheses when they came, for u = +-1."""
    return (1.0 - oracle.edges[:rounds]) / 2.0


@every_class
@both_oracles
def test_theorem_3_and_corollary_4_of_ata(choose: str, seed: int) -> None:
    """(5) for every T and theta; (6) as it is after T rounds, less the ln N / ||lambda||_1 that fades, u = +-1."""
    of = separable(seed, signs=True)
    oracle, phi = of.oracle(choose), (1.0 - (of.optimum - BIT) / 2.0) / 2.0
    run = boost("ata", oracle, phi=phi, epsilon=EPSILON, rules=(), max_rounds=ROUNDS)
    T = run.rounds
    assert T == ROUNDS
    eps = errors(oracle, T)
    assert (eps < phi).all()
    odds, total = phi / (1.0 - phi), largest_share(of)
    margins, totals = after(run)
    thetas = np.linspace(-1.0, 1.0, 41)
    for k in range(1, T + 1):
        at = run.at_round(k)
        f = at.program.margins.to_array() @ at.w / totals[k - 1]
        share = np.array([of.c[f <= theta - ROUNDING].sum() for theta in thetas]) / of.total
        logs = 0.5 * ((1.0 - thetas) * np.log(eps[:k]).sum() + (1.0 + thetas) * np.log1p(-eps[:k]).sum())
        log_factor = np.log(odds ** ((1.0 + thetas) / 2.0) + odds ** (-(1.0 - thetas) / 2.0))
        assert (share <= np.exp(np.minimum(k * log_factor + logs, 0.0)) + ROUNDING).all()
        # After the step the newest hypothesis errs by phi.
        assert (1.0 - float(oracle.u[k - 1] @ at.d)) / 2.0 == pytest.approx(phi, abs=1e-10)
    worst = np.maximum.accumulate(eps)
    A, B = np.log(phi / worst), np.log((1.0 - phi) / (1.0 - worst))
    assert (margins >= (A + B) / (A - B) - math.log(total) / totals - 1e-9).all()
    assert margins[-1] <= of.optimum + LP
    assert_bounds(of, run)
