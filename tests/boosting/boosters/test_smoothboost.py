"""SmoothBoost keeps what its paper promises: smooth weights, few small margins, a bound of the rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from boosting.random_classes import LP, RandomClass, RecordingMargins, draw_class

from boostopt import OptionError, boost
from boostopt.boosting.boosters import outside
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason

KAPPA = 0.3


@dataclass(frozen=True, eq=False)
class Weak:
    """A random class with the gamma that linear programming says it has within the caps of kappa N."""

    random_class: RandomClass
    choose: str

    @property
    def nu(self) -> float:
        return KAPPA * self.random_class.total

    @property
    def gamma(self) -> float:
        return (self.random_class.optimum_of(self.random_class.U, self.nu) - 1e-6) / 2

    def oracle(self) -> RecordingMargins:
        guarantee = {"guarantee": 2 * self.gamma} if self.choose == "weakest" else {}
        return RecordingMargins(self.random_class.U, c=self.random_class.c, choose=self.choose, **guarantee)

    def run(self, oracle: RecordingMargins | None = None, theta: float | None = None, **limits: int) -> Run:
        return boost(
            "smoothboost",
            self.oracle() if oracle is None else oracle,
            kappa=KAPPA,
            gamma=self.gamma,
            theta=theta,
            max_rounds=limits.get("max_rounds"),
        )


every_class = pytest.mark.parametrize("seed", [0, 2, 3, 7])
both = pytest.mark.parametrize("choose", ["best", "weakest"])


@every_class
@both
def test_the_guarantees_hold(seed: int, choose: str) -> None:
    weak = Weak(draw_class(seed), choose)
    c, gamma, oracle = weak.random_class.c, weak.gamma, weak.oracle()
    assert gamma > 0.02
    run = weak.run(oracle)
    theta = gamma / (2 + gamma)

    assert (np.array(oracle.d) <= c / weak.nu * (1 + 1e-15)).all()
    assert outside(run) == 0
    assert run.rounds <= run.iteration_bound == pytest.approx(2 / (KAPPA * gamma**2 * math.sqrt(1 - gamma)))
    assert run.stop_reason is StopReason.FEW_SMALL_MARGINS
    margins = run.program.margins.margins(run.w)
    assert c[margins <= theta].sum() < weak.nu
    assert run.record.state.w.sum() == run.rounds
    assert (run.record.state.w == np.round(run.record.state.w)).all()

    optimum, certificate = weak.random_class.optimum_of(weak.random_class.U, weak.nu), run.class_certificate
    assert certificate.lower - LP <= optimum <= certificate.upper + LP
    assert -1.0 < certificate.lower < certificate.upper < 1.0


def test_the_weights_are_the_papers() -> None:
    """The d of each round by the recursion of figure 1, N <- N + u - theta."""
    weak = Weak(draw_class(1), "best")
    oracle, gamma = weak.oracle(), weak.gamma
    run = weak.run(oracle)
    theta, ahead = gamma / (2 + gamma), np.zeros(len(weak.random_class.U))
    for k in range(run.rounds):
        weights = np.array([1.0 if x < 0 else (1 - gamma) ** (x / 2) for x in ahead])
        assert weights.mean() >= KAPPA
        np.testing.assert_allclose(oracle.d[k], weights / weights.sum(), rtol=1e-10)
        ahead = ahead + oracle.u[k] - theta
    assert np.mean([1.0 if x < 0 else (1 - gamma) ** (x / 2) for x in ahead]) < KAPPA


def test_an_edge_below_2_gamma_ends_the_run() -> None:
    random_class = draw_class(0)
    optimum = random_class.optimum_of(random_class.U, KAPPA * random_class.total)
    run = boost("smoothboost", random_class.oracle("best"), kappa=KAPPA, gamma=0.49)
    assert run.stop_reason is StopReason.GUARANTEE_BROKEN and " 0.98," in run.reason
    assert optimum - LP <= run.class_certificate.upper < 0.98


def test_theta_is_at_most_gamma_and_a_larger_one_than_the_papers_needs_a_limit() -> None:
    weak = Weak(draw_class(0), "best")
    with pytest.raises(OptionError, match=r"^theta\b.* at most gamma = 0\.1; got 0\.2\. Lower\b"):
        boost("smoothboost", weak.oracle(), kappa=KAPPA, gamma=0.1, theta=0.2)
    with pytest.raises(OptionError, match=r"SmoothBoost.*max_rounds.*time_limit"):
        weak.run(theta=weak.gamma)
    run = weak.run(theta=weak.gamma, max_rounds=2000)
    assert run.stop_reason is StopReason.FEW_SMALL_MARGINS
    margins = run.program.margins.margins(run.w)
    assert np.count_nonzero(margins <= weak.gamma) < weak.nu


def test_the_soft_margin_at_a_nu_whose_caps_d_leaves_is_not_bounded_by_it() -> None:
    weak = Weak(draw_class(1), "best")
    random_class, nu = weak.random_class, 0.9 * weak.random_class.total
    run = boost("smoothboost", weak.oracle(), kappa=KAPPA, gamma=weak.gamma, nu=nu)
    assert 0 < outside(run) < run.rounds
    assert f"nu = {nu:g}, in {outside(run)} of {run.rounds} rounds" in run.reason
    optimum = random_class.optimum_of(random_class.U, nu)
    assert run.trace["smallest_edge"][-1] < optimum - 1e-3  # taken for a bound, this would be a false one
    assert run.class_certificate.lower - LP <= optimum <= run.class_certificate.upper + LP
