"""Losses and penalties written by hand, as CVXPY has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import Certificate, Program

NUMBERS = {"C": 0.3, "mu": 0.5, "nu": 4.0, "alpha": 0.3, "r": 1.7, "l1": 0.4, "l2": 0.6}
"""Values of all parameters."""

SOLVERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("CLARABEL", {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}),
    ("SCS", {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 1_000_000}),
)
"""The solvers of the problems; the first one that reports an optimum counts."""

Expression = Any
huber: Any = cp.huber
"""The type of `cp.huber` says that the threshold is an integer, which is wrong."""

BY_HAND: Mapping[str, Callable[[Expression, np.ndarray], Expression]] = {
    "hinge": lambda m, c: NUMBERS["C"] * (c @ cp.pos(1 - m)),
    "squared_hinge": lambda m, c: NUMBERS["C"] * (c @ cp.square(cp.pos(1 - m))),
    "smoothed_hinge": lambda m, c: NUMBERS["C"] / (2 * NUMBERS["mu"]) * (c @ huber(cp.pos(1 - m), NUMBERS["mu"])),
    "modified_huber": lambda m, c: NUMBERS["C"] * (c @ cp.huber(cp.pos(1 - m), 2)),
    "logistic": lambda m, c: NUMBERS["C"] * (c @ cp.logistic(-m)),
    "exponential": lambda m, c: NUMBERS["C"] * (c @ cp.exp(-m)),
    "soft_margin": lambda m, c: -smallest_mean(m, c, NUMBERS["nu"]),
    "cvar": lambda m, c: -smallest_mean(m, c, NUMBERS["alpha"] * c.sum()),
}
"""The losses, written by hand."""


def smallest_mean(m: Expression, c: np.ndarray, nu: float) -> Expression:
    """The mean of the nu smallest margins, counted with multiplicity."""
    rho = cp.Variable()
    return rho - c @ cp.pos(rho - m) / nu


def penalized(w: Any, penalty: str, signed: bool) -> tuple[Expression, list[Any]]:
    """The penalty of weights and its conditions, written by hand."""
    r, l1, l2 = NUMBERS["r"], NUMBERS["l1"], NUMBERS["l2"]
    value, conditions = {
        "simplex": (0.0, [cp.sum(w) == 1]),
        "l1_ball": (0.0, [cp.norm1(w) <= r]),
        "l1": (l1 * cp.norm1(w), []),
        "l2_squared": (l2 / 2 * cp.sum_squares(w), []),
        "l2_ball": (0.0, [cp.norm2(w) <= r]),
        "elastic_net": (l1 * cp.norm1(w) + l2 / 2 * cp.sum_squares(w), []),
        "linf_ball": (0.0, [cp.norm_inf(w) <= r]),
    }[penalty]
    return value, [*conditions, *([] if signed else [w >= 0])]


def optimum(problem: Any) -> float:
    """The value that the first solver finds which says that it has; else what one says that it nearly has.

    Clarabel gives up at times, and at the apex of a norm both do: the value is compared as narrowly all the same.
    """
    nearly = []
    for solver, options in SOLVERS:
        try:
            problem.solve(solver, **options)
        except cp.SolverError:
            continue
        if problem.status == cp.OPTIMAL:
            return float(problem.solution.opt_val)
        nearly.append(float(problem.solution.opt_val))
    return nearly[0]


def assert_agreed(program: Program, by_hand: float) -> Certificate:
    """Both sides and the value by hand agree within the certified interval, which is narrow; return its certificate."""
    certificate = program.solve(tol=1e-9).certificate
    scale = max(1.0, abs(certificate.lower))
    assert certificate.gap <= 1e-7 * scale
    for side in ("primal", "dual"):
        assert optimum(program.cvxpy(side, "derived")) == pytest.approx(certificate.lower, abs=1e-7 * scale), side
    assert certificate.lower - 1e-7 * scale <= by_hand <= certificate.upper + 1e-7 * scale
    return certificate
