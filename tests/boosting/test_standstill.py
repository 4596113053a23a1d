"""A run whose solver fails is not said to have converged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boostopt import boost
from boostopt.boosting.column_generation import stagnation_reason
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import GivenMargins


def test_a_program_that_no_solver_raises_is_told_from_one_that_need_not_rise() -> None:
    run = boost("lpboost", GivenMargins(np.eye(4) * 2 - 1), nu=2, epsilon=0.05)
    problem, state, fine = run.record.problem, run.record.state, run.record.state.certificate
    assert fine is not None
    rough = replace(state, certificate=replace(fine, upper=fine.lower + 0.3))
    assert stagnation_reason(problem, state) == StopReason.CONVERGED
    assert StopReason.from_text(stagnation_reason(problem, rough)) is StopReason.SOLVER_STUCK
    assert stagnation_reason(problem, rough).endswith(" 0.3")
    assert stagnation_reason(replace(problem, epsilon=0.5), rough) == StopReason.CONVERGED
    # At the limit of what edges may be there is no upper bound, and where a step was made there is no certificate.
    assert stagnation_reason(problem, replace(state, certificate=replace(fine, upper=np.inf))) == StopReason.CONVERGED
    assert stagnation_reason(problem, replace(state, certificate=None)) == StopReason.CONVERGED
