"""Guarantees of the linear programs, and of AdaBoost and its relatives, on random classes."""

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
    RandomClass,
    RecordingMargins,
    assert_bounds,
    assert_stopped,
    draw_class,
    row,
    separable,
)
from scipy.special import logsumexp

from boostopt import boost
from boostopt.boosting.run.run import Run
from boostopt.oracles import GivenMargins

pytestmark = pytest.mark.every(2)

every_class = pytest.mark.parametrize("seed", SEEDS)
both_oracles = pytest.mark.parametrize("choose", ORACLES)

MARGIN_TOL = 1e-7
"""The difference to scipy's optimum that an LP solved to the default scaled gap of 1e-8 may have."""


# The linear programs


@pytest.mark.thorough_cases("weakest-0")
@every_class
@both_oracles
def test_lpboost_bounds_are_monotone_and_close(choose: str, seed: int) -> None:
    """P_LP^t rises to within epsilon of the smallest edge, which falls; each is scipy's optimum."""
    random_class, epsilon = draw_class(seed), 0.05
    oracle = random_class.oracle(choose)
    run = boost("lpboost", oracle, nu=random_class.nu, epsilon=epsilon)
    U, value = run.program.margins.to_array(), row(run.trace, "value")
    optima = np.array([random_class.optimum_of(U[:, :k]) for k in row(run.trace, "hypotheses").astype(int)])
    np.testing.assert_allclose(value, optima, atol=MARGIN_TOL)
    assert (np.diff(optima) >= -LP).all()
    assert (np.diff(value) >= -LP).all()
    assert (np.diff(row(run.trace, "smallest_edge")) <= 0.0).all()
    # A guarantee that is known in advance counts as an edge; the last row has what the last answer said as well.
    guarantee = 1.0 if oracle.guarantee is None else oracle.guarantee
    edges = np.minimum(np.minimum.accumulate(oracle.edges), guarantee)[: run.rounds]
    np.testing.assert_allclose(row(run.trace, "smallest_edge")[:-1], edges[:-1], atol=ROUNDING)
    assert_stopped(random_class, run, choose, epsilon)
    assert_bounds(random_class, run)
    if choose == "best":
        assert optima[-1] == pytest.approx(random_class.optimum, abs=epsilon)


@pytest.mark.parametrize("rules", [["optimum"], ["direct"]])
def test_lpboost_stops_after_one_round_where_nu_is_the_number_of_examples(rules: list[str]) -> None:
    """Only the uniform distribution has these caps, so that the first hypothesis is the best and the value its edge."""
    U = np.random.default_rng(3).uniform(-1.0, 1.0, (12, 9))
    run = boost("lpboost", GivenMargins(U), nu=12.0, epsilon=1e-6, rules=rules)
    assert run.rounds == 1
    assert row(run.trace, "value")[-1] == pytest.approx(U.mean(axis=0).max(), abs=MARGIN_TOL)
    # With a smaller nu it takes more: nothing else ends this run.
    assert boost("lpboost", GivenMargins(U), nu=2.0, epsilon=1e-6, rules=rules).rounds > 1


@pytest.mark.every(2)
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["lpboost", "lp_adaboost", "lp_reg_adaboost"])
def test_the_nu_property_of_the_linear_programs(name: str, choose: str, seed: int) -> None:
    """#{m < rho} <= nu <= #{m <= rho}, examples counted with multiplicity, rho the one of the certificate."""
    random_class = draw_class(seed).hard if name == "lp_adaboost" else draw_class(seed)
    parameters: dict[str, Any] = {
        "lpboost": {"nu": random_class.nu},
        "lp_reg_adaboost": {"C": 1.0 / random_class.nu},
    }.get(name, {})
    run = boost(name, random_class.oracle(choose), epsilon=EPSILON, **parameters)
    assert_stopped(random_class, run, choose)
    assert_bounds(random_class, run)
    U = run.program.margins.to_array()
    m, rho, optimum = U @ run.w, -float(np.asarray(run.certificate.multipliers["beta"])), random_class.optimum_of(U)
    assert random_class.c[m < rho - MARGIN_TOL].sum() <= random_class.nu + ROUNDING
    assert random_class.c[m <= rho + MARGIN_TOL].sum() >= random_class.nu - ROUNDING
    assert rho - float(random_class.c @ np.maximum(rho - m, 0.0)) / random_class.nu == pytest.approx(
        optimum, abs=MARGIN_TOL
    )
    # Every bound of the program over the hypotheses collected, in every round.
    for k in range(1, run.rounds + 1):
        earlier_run = run.at_round(k)
        optimum = random_class.optimum_of(earlier_run.program.margins.to_array())
        assert earlier_run.certificate.lower - LP <= optimum <= earlier_run.certificate.upper + LP


# AdaBoost and its relatives

ROUNDS = 80


def after(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The smallest margin of the normalized steps after every round, and ||lambda||_1."""
    margins, totals = list[float](), list[float]()
    for k in range(1, run.rounds + 1):
        earlier_run = run.at_round(k)
        total = float(earlier_run.w.sum())
        margins.append(float((earlier_run.program.margins.to_array() @ earlier_run.w).min()) / total)
        totals.append(total)
    return np.array(margins), np.array(totals)


def largest_share(random_class: RandomClass) -> float:
    """N in the bounds, for d0 = c / sum c: one over the smallest weight of the reference distribution."""
    return random_class.total / float(random_class.c.min())


@every_class
@both_oracles
def test_adaboost_star_reaches_the_best_margin_less_its_accuracy(choose: str, seed: int) -> None:
    """Margin >= min_q r_q - nu >= rho - nu after 2 ln N / nu^2 rounds, whatever nu was named."""
    random_class, accuracy = draw_class(seed).hard, 0.4
    enough = math.ceil(2.0 * math.log(largest_share(random_class)) / accuracy**2)
    oracle = random_class.oracle(choose)
    run = boost("adaboost_star", oracle, accuracy=accuracy, epsilon=EPSILON, rules=(), max_rounds=enough)
    assert run.iteration_bound <= enough == run.rounds
    margins, _ = after(run)
    guarantee = random_class.optimum - (BIT if choose == "weakest" else LP)
    smallest = min(guarantee, oracle.edges[:enough].min())
    assert margins[-1] >= smallest - accuracy - ROUNDING
    assert smallest >= guarantee - ROUNDING
    assert margins[-1] <= random_class.optimum + LP
    assert_bounds(random_class, run)


@pytest.mark.parametrize("seed", SEEDS)
@both_oracles
def test_adaboost_reaches_half_of_the_best_margin(choose: str, seed: int) -> None:
    """The margin is at least Upsilon(rho) - ln N / ||lambda||_1 in every round, Upsilon(rho) >= rho / 2, u = +-1."""
    random_class = separable(seed, signs=True)
    rho = random_class.optimum - (BIT if choose == "weakest" else LP)
    assert rho > 0.05
    run = boost("adaboost", random_class.oracle(choose), epsilon=EPSILON, rules=(), max_rounds=ROUNDS)
    assert run.rounds == ROUNDS
    limit = -math.log(1.0 - rho**2) / math.log((1.0 + rho) / (1.0 - rho))
    assert limit >= rho / 2.0
    margins, totals = after(run)
    assert (totals >= np.arange(1, ROUNDS + 1) * math.atanh(rho) - 1e-9).all()
    smallest_rate = math.log(largest_share(random_class)) / totals
    assert (margins >= limit - smallest_rate - 1e-9).all()
    assert margins[-1] >= rho / 2.0 - smallest_rate[-1] > 0.0
    assert_bounds(random_class, run)


@pytest.mark.thorough
@every_class
@both_oracles
@pytest.mark.parametrize("name", ["arc_gv", "approximate_coordinate_ascent", "coordinate_ascent"])
def test_the_smooth_margin_rises_once_it_is_positive(name: str, choose: str, seed: int) -> None:
    random_class = separable(seed)
    run = boost(name, random_class.oracle(choose), epsilon=EPSILON, rules=(), max_rounds=ROUNDS)
    margins, totals = after(run)
    smooth = np.empty(run.rounds)
    for k in range(1, run.rounds + 1):
        earlier_run = run.at_round(k)
        m = earlier_run.program.margins.to_array() @ earlier_run.w
        smooth[k - 1] = -float(np.asarray(logsumexp(-m, b=random_class.c))) / totals[k - 1]
    positive = np.flatnonzero(smooth > 0.0)
    assert len(positive) >= 10
    assert (np.diff(smooth[positive[0] :]) >= -ROUNDING).all()
    assert (smooth <= margins - np.log(random_class.c.min()) / totals + ROUNDING).all()
    assert (smooth >= margins - math.log(random_class.total) / totals - ROUNDING).all()
    assert (margins <= random_class.optimum + LP).all()
    assert_bounds(random_class, run)


def errors(oracle: RecordingMargins, rounds: int) -> np.ndarray:
    """The weighted errors of the hypotheses when they came, for u = +-1."""
    return (1.0 - oracle.edges[:rounds]) / 2.0


@every_class
@both_oracles
def test_theorem_3_and_corollary_4_of_ata(choose: str, seed: int) -> None:
    """(5) for every T and theta; (6) as it is after T rounds, less the ln N / ||lambda||_1 that fades, u = +-1."""
    random_class = separable(seed, signs=True)
    oracle, phi = random_class.oracle(choose), (1.0 - (random_class.optimum - BIT) / 2.0) / 2.0
    run = boost("ata", oracle, phi=phi, epsilon=EPSILON, rules=(), max_rounds=ROUNDS)
    T = run.rounds
    assert T == ROUNDS
    eps = errors(oracle, T)
    assert (eps < phi).all()
    odds, total = phi / (1.0 - phi), largest_share(random_class)
    margins, totals = after(run)
    thetas = np.linspace(-1.0, 1.0, 41)
    for k in range(1, T + 1):
        earlier_run = run.at_round(k)
        f = earlier_run.program.margins.to_array() @ earlier_run.w / totals[k - 1]
        share = np.array([random_class.c[f <= theta - ROUNDING].sum() for theta in thetas]) / random_class.total
        logs = 0.5 * ((1.0 - thetas) * np.log(eps[:k]).sum() + (1.0 + thetas) * np.log1p(-eps[:k]).sum())
        log_factor = np.log(odds ** ((1.0 + thetas) / 2.0) + odds ** (-(1.0 - thetas) / 2.0))
        assert (share <= np.exp(np.minimum(k * log_factor + logs, 0.0)) + ROUNDING).all()
        # After the step the newest hypothesis errs by phi.
        assert (1.0 - float(oracle.u[k - 1] @ earlier_run.d)) / 2.0 == pytest.approx(phi, abs=1e-10)
    worst = np.maximum.accumulate(eps)
    A, B = np.log(phi / worst), np.log((1.0 - phi) / (1.0 - worst))
    assert (margins >= (A + B) / (A - B) - math.log(total) / totals - 1e-9).all()
    assert margins[-1] <= random_class.optimum + LP
    assert_bounds(random_class, run)


@pytest.mark.parametrize("phi", [0.3, 0.4, 0.45])
def test_ata_comes_to_the_margin_of_its_errors_and_of_phi(phi: float) -> None:
    """(6) falls to 1 - 2 phi as the largest error comes to phi: so a run with errors below phi has this margin."""
    errors_near = phi - np.array([1e-1, 1e-2, 1e-4, 1e-6])
    A, B = np.log(phi / errors_near), np.log((1.0 - phi) / (1.0 - errors_near))
    bounds = (A + B) / (A - B)
    assert (np.diff(bounds) < 0).all()
    assert bounds[-1] == pytest.approx(1.0 - 2.0 * phi, abs=1e-5)
    assert (bounds > 1.0 - 2.0 * phi).all()
    N = 12
    U = np.ones((N, N)) - 2.0 * np.eye(N)  # the best margin is 5/6, above every 1 - 2 phi here
    run = boost("ata", GivenMargins(U), phi=phi, epsilon=EPSILON, rules=(), max_rounds=60)
    margins, totals = after(run)
    assert len(margins) == 60
    assert (margins >= 1.0 - 2.0 * phi - math.log(N) / totals - 1e-9).all()
    assert margins[-1] > 1.0 - 2.0 * phi - 0.1


@pytest.mark.every(2)
@pytest.mark.parametrize("phi", [0.2, 0.35, 0.5, 0.65, 0.8])
@pytest.mark.parametrize("choose", ORACLES)
def test_lemma_2_of_ata_for_any_phi(phi: float, choose: str) -> None:
    """Errors of at most phi - Delta give each step of b = 2 lambda at least the length of an error of phi - Delta."""
    N = 16
    U = np.ones((N, N)) - 2.0 * np.eye(N)  # the best margin is 7/8
    random_class = RandomClass(U, np.ones(N), 1.0)
    oracle = random_class.oracle(choose)
    run = boost("ata", oracle, phi=phi, epsilon=EPSILON, rules=(), max_rounds=50)
    _, totals = after(run)
    assert len(totals) == 50
    worst = float(errors(oracle, 50).max())
    Delta = phi - worst
    assert Delta > 0.0
    slope = math.log(phi * (1.0 - phi + Delta) / ((phi - Delta) * (1.0 - phi)))
    rounds = np.arange(1, 51)
    assert slope > Delta / phi
    assert (2.0 * totals >= slope * rounds * (1.0 - 1e-12)).all()
    # The bound is that of the round with the largest error.
    assert np.diff(2.0 * totals, prepend=0.0).min() == pytest.approx(slope, rel=1e-9)


def test_the_column_that_raises_the_program_most_may_be_none() -> None:
    """After the first column neither of two others raises the optimum, and both together do: the first has no edge."""
    delta = 0.01
    U = np.array([[-1.0 + delta, 1.0, -1.0], [-1.0 + delta, -1.0, 1.0]])
    optimum = {
        columns: RandomClass(U[:, columns], np.ones(2), 1.0).optimum for columns in ((0,), (0, 1), (0, 2), (0, 1, 2))
    }
    assert optimum[0,] == pytest.approx(delta - 1.0, abs=LP)
    assert optimum[0, 1] == pytest.approx(optimum[0,], abs=LP)
    assert optimum[0, 2] == pytest.approx(optimum[0,], abs=LP)
    assert optimum[0, 1, 2] == pytest.approx(0.0, abs=LP)
    # The largest edge is no such rule: LPBoost goes on.
    run = boost("lpboost", GivenMargins(U), nu=1.0, epsilon=1e-6)
    assert run.class_certificate.lower == pytest.approx(0.0, abs=1e-6)
