"""A run whose solver fails is not said to have converged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boostopt import get_formulation
from boostopt.boosting.driver import CONVERGED, standstill


def test_a_program_that_no_solver_raises_is_told_from_one_that_need_not_rise() -> None:
    fine = get_formulation("lpboost").bind(np.eye(4) * 2 - 1, nu=2).solve(tol=1e-9).certificate
    rough = replace(fine, upper=fine.lower + 0.3)
    assert standstill(fine, 0.05) == CONVERGED
    assert standstill(rough, 0.05).startswith("the solver is stuck")
    assert standstill(rough, 0.05).endswith("a gap of 0.3 only")
    assert standstill(rough, 0.5) == CONVERGED
    assert standstill(replace(fine, upper=np.inf), 0.05) == CONVERGED  # at the limit of what edges may be
    assert standstill(None, 0.05) == CONVERGED
