"""AdaBoost_REG: AdaBoost at C = 0, its functional's sums against its recursion, the line search against a grid."""

from __future__ import annotations

import numpy as np
import pytest
from boosting.random_classes import draw_class

from boostopt import ProblemError, boost
from boostopt.boosting.boosters.adaboost_reg import MAX_BLOCK_ENTRIES, RegularizedFunctional, line_search
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import DecisionStumps, GivenMargins

ROUNDING = 1e-12


def stumps(N: int = 150) -> DecisionStumps:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 6))
    return DecisionStumps(X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N) > 0, 1, -1))


def steps(run: Run) -> list[tuple[int, float]]:
    """The hypothesis and the step b of each round."""
    step_list: list[tuple[int, float]] = []
    old_w = np.zeros(len(run.hypotheses))
    for k in range(1, run.rounds + 1):
        w = np.append(run.at_round(k).w, np.zeros(len(old_w) - len(run.at_round(k).w)))
        changes = np.flatnonzero(w != old_w)
        assert len(changes) == 1
        step_list.append((int(changes[0]), float((w - old_w)[changes[0]])))
        old_w = w
    return step_list


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_without_C_it_is_adaboost(p: int, seed: int) -> None:
    random_class = draw_class(seed)
    run = boost("adaboost_reg", random_class.oracle("best"), C=0.0, p=p, max_rounds=30)
    twin = boost("adaboost", random_class.oracle("best"), max_rounds=30)
    assert run.rounds == twin.rounds == 30
    for k in range(1, 31):
        np.testing.assert_allclose(run.at_round(k).w / 2, twin.at_round(k).w, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(run.at_round(k).d, twin.at_round(k).d, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(run.w, twin.w, rtol=0, atol=ROUNDING)
    assert run.class_certificate.lower == pytest.approx(twin.class_certificate.lower, abs=ROUNDING)


@pytest.mark.parametrize("p", [1, 2])
def test_a_large_C_keeps_the_distribution_nearly_uniform(p: int) -> None:
    oracle, N = stumps(), 150
    spread: list[float] = []
    for C in (10.0 * N**p, 1000.0 * N**p):
        run = boost("adaboost_reg", oracle, C=C, p=p, max_rounds=25)
        assert run.rounds == 25
        spread.append(max(float(np.abs(run.at_round(k).d * N - 1).max()) for k in range(1, 26)))
    assert spread[0] < 0.3
    assert spread[1] < 0.01
    plain_run = boost("adaboost", oracle, max_rounds=25)
    assert np.abs(plain_run.d * N - 1).max() > 2.0


@pytest.mark.parametrize(("p", "C"), [(1, 10.0), (1, 60.0), (2, 60.0), (2, 3000.0)])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_sums_agree_with_the_recursion_as_corrected(p: int, C: float, seed: int) -> None:
    """w_(t+1) proportional to w_t exp(-b u / 2 - (C/2) (zeta_t B_t - zeta_(t-1) B_(t-1))), round by round."""
    random_class = draw_class(seed)
    run = boost("adaboost_reg", random_class.oracle("best"), C=C, p=p, max_rounds=25)
    assert run.rounds >= 5
    U = run.program.margins.to_array()
    w, past, total, penalty = random_class.d0.copy(), np.zeros(len(random_class.U)), 0.0, np.zeros(len(random_class.U))
    for k, (q, b) in enumerate(steps(run), start=1):
        past, total = past + b * w, total + b
        grown = (past / total) ** p * total
        w = w * np.exp(-b * U[:, q] / 2 - C / 2 * (grown - penalty))
        w, penalty = w / w.sum(), grown
        np.testing.assert_allclose(w, run.at_round(k).d, rtol=1e-9, atol=1e-15)


def test_the_recursion_for_p_1_adds_half_of_C_b_w() -> None:
    """(18) corrected: w_(t+1) proportional to w_t exp(b I - (C/2) b w_t), I = 1 where h_t is wrong."""
    random_class, C = draw_class(0), 20.0
    run = boost("adaboost_reg", random_class.oracle("best"), C=C, max_rounds=15)
    U, w = run.program.margins.to_array(), random_class.d0.copy()
    for k, (q, b) in enumerate(steps(run), start=1):
        w = w * np.exp(b * (U[:, q] < 0) - C / 2 * b * w)
        w /= w.sum()
        np.testing.assert_allclose(w, run.at_round(k).d, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("p", [1, 2])
def test_an_example_of_multiplicity_2_counts_as_two(p: int) -> None:
    U = draw_class(0).U
    c = np.where(np.arange(len(U)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(U, c.astype(int), axis=0)
    run = boost("adaboost_reg", GivenMargins(U, c=c), C=30.0, p=p, max_rounds=12)
    copies = boost("adaboost_reg", GivenMargins(twice), C=30.0, p=p, max_rounds=12)
    np.testing.assert_allclose(run.w, copies.w, rtol=1e-9, atol=ROUNDING)
    np.testing.assert_allclose(np.repeat(run.d / c, c.astype(int)), copies.d, rtol=1e-9, atol=ROUNDING)


def functional(rng: np.random.Generator, C: float, p: float, B: float) -> RegularizedFunctional:
    """A random state: sums of past rounds, a hypothesis of positive edge, and the weights that belong to the sums."""
    N = 12
    S = rng.normal(size=N) if B else np.zeros(N)
    u = np.where(rng.random(N) < 0.65, 1.0, -1.0)
    A = B * rng.dirichlet(np.ones(N)) if B else np.zeros(N)
    w = np.exp(-0.5 * (S + C * (A**p / B ** (p - 1) if B else 0.0)))
    return RegularizedFunctional(np.zeros(N), S, A, B, u, w / w.sum(), C, p)


def dense(G: RegularizedFunctional, end: float) -> float:
    """The smallest ln G on a dense grid, every term written out."""
    smallest = np.inf
    for b in np.linspace(0.0, end, 20001).tolist():
        past = (G.A + b * G.w) ** G.p / (G.B + b) ** (G.p - 1) if G.B + b > 0 else np.zeros(len(G.A))
        smallest = min(smallest, float(np.log(np.exp(-0.5 * (G.S + b * G.u + G.C * past)).sum())))
    return smallest


@pytest.mark.thorough
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("B", [0.0, 4.0])
def test_the_line_search_finds_what_a_dense_grid_finds(p: float, B: float) -> None:
    rng, stepped, cut = np.random.default_rng(7), 0, 0
    for C in (0.0, 3.0, 10.0, 100.0, 1000.0) * 3:
        G = functional(rng, C, p, B)
        b = line_search(G, reach=1.0)
        if (G.limit_rates >= 0).all():
            # G falls for ever: no rho~ moves by more than 1.
            assert np.abs(G.rho(b) - G.rho(0.0)).max() <= 1.0 + ROUNDING
            cut += 1
            continue
        stepped += b > 0
        assert G.log_value(b) <= dense(G, max(4.0 * b, 20.0)) + ROUNDING
        assert b == 0.0 or abs(G.slope(b)) < 1e-9
    assert stepped >= 4
    assert cut >= 1 or B > 0


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("B", [0.0, 4.0])
def test_slopes_at_many_steps_are_those_at_each(p: float, B: float) -> None:
    G, grid = functional(np.random.default_rng(3), 30.0, p, B), np.linspace(0.0, 20.0, 3000)
    assert grid.size * G.u.size > MAX_BLOCK_ENTRIES  # not all at once
    slopes = G.slopes(grid)
    np.testing.assert_allclose(slopes, [G.slope(b) for b in grid.tolist()], rtol=1e-12)
    differences = [G.log_value(b + 1e-6) - G.log_value(b - 1e-6) for b in grid[1::50].tolist()]
    np.testing.assert_allclose(slopes[1::50], np.array(differences) / 1e-6, atol=1e-6)


@pytest.mark.thorough
def test_the_line_search_takes_the_best_of_several_minima_for_p_2() -> None:
    """Random states in which the slope changes from falling to rising more than once."""
    rng, several = np.random.default_rng(0), 0
    for _ in range(120):
        G = functional(rng, float(10 ** rng.uniform(0.5, 3.0)), 2.0, float(10 ** rng.uniform(-1.0, 1.5)))
        if (G.limit_rates >= 0).all():
            continue
        b = line_search(G, reach=1.0)
        grid = np.linspace(0.0, max(3.0 * b, 30.0), 150)
        signs = np.array([G.slope(x) for x in grid.tolist()]) >= 0
        if np.count_nonzero(signs[1:] & ~signs[:-1]) + bool(signs[0]) > 1:
            several += 1
            assert G.log_value(b) <= min(G.log_value(x) for x in grid.tolist()) + ROUNDING
    assert several >= 3


def test_a_hypothesis_that_is_right_everywhere_ends_the_run() -> None:
    U = np.column_stack([np.where(np.arange(6) < 4, 1.0, -1.0), np.full(6, 0.5)])
    run = boost("adaboost_reg", GivenMargins(U, choose=[0, 1]), C=2.0, max_rounds=10)
    assert run.rounds == 2
    assert run.stop_reason is StopReason.ONE_HYPOTHESIS and " 0.5" in run.reason
    assert run.class_certificate.lower == pytest.approx(0.5, abs=1e-9)


def test_parameters_out_of_their_domains_are_refused() -> None:
    oracle = GivenMargins(draw_class(0).U)
    with pytest.raises(ProblemError, match=r"\bp\b.*\{1, 2\}.*\b3\b"):
        boost("adaboost_reg", oracle, C=1.0, p=3, max_rounds=2)
    with pytest.raises(ProblemError, match=r"\bC\b.*\[0, .*-1\b"):
        boost("adaboost_reg", oracle, C=-1.0, max_rounds=2)
