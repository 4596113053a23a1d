"""nu-Arc: soft margins against linear programming, the best slacks, arc-gv at the hard margin, and ends of runs."""

from __future__ import annotations

import numpy as np
import pytest
from boosting.random_classes import LP, RandomClass, draw_class

from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.boosters import outside
from boostopt.oracles import GivenMargins


@pytest.mark.thorough_cases("1", "3", "4", "6", "7", "8", "9")
@pytest.mark.parametrize("seed", range(10))
def test_the_soft_margin_comes_near_the_optimum_from_both_sides(seed: int) -> None:
    random_class = draw_class(seed)
    nu = 0.2 * random_class.total
    optimum = random_class.optimum_of(random_class.U, nu)
    run = boost("nu_arc", random_class.oracle("best"), nu=nu, max_rounds=300)
    assert outside(run) == 0
    assert optimum - 0.02 <= run.class_certificate.lower <= optimum + LP
    assert optimum - LP <= run.class_certificate.upper <= optimum + 0.02


@pytest.mark.parametrize("seed", range(2))
def test_an_outlier_is_given_up_and_costs_arc_gv_the_soft_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    U = rng.choice([-1.0, 1.0], p=[0.25, 0.75], size=(40, 30))
    U[0] = -U[1]  # no weights have a positive margin on both
    flipped = RandomClass(U, np.ones(40), 8.0)
    run = boost("nu_arc", GivenMargins(U), nu=8.0, max_rounds=120)
    twin = boost("arc_gv", GivenMargins(U), max_rounds=120)
    lower, hard = (flipped.soft_margin(r.w, r.program.margins.to_array()) for r in (run, twin))
    assert flipped.optimum - 0.02 <= lower <= flipped.optimum + LP
    assert hard < lower - 0.01
    assert run.record.state.m[0] < 0.0 or run.record.state.m[1] < 0.0


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_d_and_the_slacks_are_those_of_the_largest_functional(seed: int) -> None:
    random_class = draw_class(seed)
    nu, c = 0.4 * random_class.total, random_class.c
    oracle = random_class.oracle("best")
    run = boost("nu_arc", oracle, nu=nu, max_rounds=30)
    rng = np.random.default_rng(seed)
    n_capped = 0
    for k in (1, 5, 29):
        w = run.at_round(k).w
        m = run.program.margins.take_columns(np.arange(len(w))).margins(w)
        d, caps = oracle.d[k], c / nu
        assert d.sum() == pytest.approx(1.0, abs=1e-14) and (d <= caps * (1 + 1e-12)).all()
        is_capped = d >= caps * (1 - 1e-9)
        n_capped += int(is_capped.sum())
        log_theta = (np.log(d / c) + m)[~is_capped]
        np.testing.assert_allclose(log_theta, log_theta[0], atol=1e-9)
        psi = np.where(is_capped, np.maximum(0.0, np.log(nu) + log_theta[0] - m), 0.0)

        def functional(psi: np.ndarray, m: np.ndarray = m) -> float:
            return float(-np.log(c @ np.exp(-(m + psi))) - c @ psi / nu)

        for scale in (1e-3, 0.1, 1.0):
            changed_psi = np.maximum(0.0, psi + scale * rng.normal(size=len(c)))
            assert functional(changed_psi) <= functional(psi) + 1e-10
        # Over the sum of the steps, the functional is the soft margin up to the logarithm of the count.
        total = float(w.sum())
        best = random_class.optimum_of((m / total)[:, np.newaxis], nu)
        log_count = float(np.log(c.sum()))
        assert best - log_count / total <= functional(psi) / total <= best - np.log(nu) / total + 1e-12
    assert n_capped > 0


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_at_the_hard_margin_the_run_is_that_of_arc_gv(seed: int) -> None:
    random_class = draw_class(seed).hard
    run = boost("nu_arc", random_class.oracle("best"), nu=random_class.nu, max_rounds=100)
    twin = boost("arc_gv", random_class.oracle("best"), max_rounds=100)
    np.testing.assert_allclose(run.record.state.w, twin.record.state.w, rtol=1e-9)
    np.testing.assert_allclose(run.d, twin.d, rtol=1e-7, atol=1e-300)


def test_slacks_from_the_quantile_of_the_margins_leave_d_uniform() -> None:
    rng = np.random.default_rng(1)
    U, nu = rng.choice([-1.0, 1.0], p=[0.35, 0.65], size=(40, 30)), 10.0
    random_class = RandomClass(U, np.ones(40), nu)
    best = int(U.mean(axis=0).argmax())
    assert 0 < np.count_nonzero(U[:, best] < 0) < nu
    threshold = np.sort(U[:, best])[int(nu) - 1]
    weights = np.exp(-np.maximum(U[:, best], threshold))
    assert np.ptp(weights) == 0.0  # so the oracle returns the same hypothesis
    assert random_class.optimum_of(U[:, [best]]) < random_class.optimum - 0.5
    run = boost("nu_arc", GivenMargins(U), nu=nu, max_rounds=300)
    assert run.class_certificate.lower > random_class.optimum - 0.02


def test_a_run_ends_when_the_largest_edge_is_the_soft_margin() -> None:
    U = np.array([[1.0, 0.5], [1.0, -0.5], [1.0, 0.25]])
    run = boost("nu_arc", GivenMargins(U), nu=1.5, max_rounds=20)
    assert run.rounds == 1 and "no larger edge than the soft margin" in run.reason
    assert run.class_certificate.lower == pytest.approx(1.0) and run.class_certificate.upper == pytest.approx(1.0)
    everybody = draw_class(1)
    run = boost("nu_arc", everybody.oracle("best"), nu=float(everybody.total), max_rounds=20)
    assert run.class_certificate.gap <= 1e-12 and run.rounds <= 2


def test_real_margins_that_are_all_positive_are_no_end() -> None:
    rng = np.random.default_rng(4)
    U = rng.uniform(0.02, 1.0, size=(40, 25))
    run = boost("nu_arc", GivenMargins(U), nu=8.0, max_rounds=300)
    optimum = RandomClass(U, np.ones(40), 8.0).optimum
    assert len(run.hypotheses) > 3
    assert optimum - 0.01 <= run.class_certificate.lower <= optimum + LP
    assert optimum - LP <= run.class_certificate.upper <= optimum + 0.01


@pytest.mark.thorough
def test_weights_that_underflow_are_no_end() -> None:
    rng = np.random.default_rng(9)
    U = rng.choice([-1.0, 1.0], p=[0.02, 0.98], size=(300, 12))
    run = boost("nu_arc", GivenMargins(U), nu=6.0, max_rounds=500)
    assert run.rounds == 500 or "no larger edge" in run.reason
    assert run.class_certificate.gap < 0.02


def test_nu_is_needed_and_in_its_domain() -> None:
    oracle = GivenMargins(draw_class(0).U)
    with pytest.raises((OptionError, ProblemError), match=r"\bnu\b"):
        boost("nu_arc", oracle, max_rounds=2)
    with pytest.raises(ProblemError, match=r"\bnu\b.*1e\+06|\bnu\b.*1000000"):
        boost("nu_arc", oracle, nu=1e6, max_rounds=2)
    with pytest.raises(OptionError, match=r"nu_Arc.*max_rounds.*time_limit"):
        boost("nu_arc", oracle, nu=3.0)
