"""Shared parts of the tests of several pages: random programs, and the four problems against the certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from support.problems import RandomProgram, draw

from boostopt import Certificate, Program, get_formulation
from boostopt.functions.regularizers.capped_simplex import CappedSimplex

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
AGREEMENT_TOL = 3e-7
"""Clarabel ends some literal duals before its tolerance: up to 1.2e-7 from the certified value was measured."""

LOG_SUM_EXP_TOL = 1e-6
"""Clarabel ends up to 2e-7 from the optimum of a log-sum-exp over one column, whatever is asked of it."""


def bind(name: str, U: object, **parameters: object) -> Program:
    return get_formulation(name).bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def bind_column(name: str, u: object, **parameters: object) -> Program:
    """Return the program of one column."""
    return bind(name, np.asarray(u)[:, np.newaxis], **parameters)


def random_program(seed: int, smallest_N: int = 8, smallest_t: int = 1) -> RandomProgram:
    """Return the data of a random program of moderate size and strength.

    References with weights of 1e-9 are excluded: on their entropy primals Clarabel stops 2 percent off the optimum.
    """
    rng = np.random.default_rng(seed)
    while True:
        one = draw(rng, largest_N=50, largest_t=6, largest_eta=80)
        moderate = one.d0 is None or one.d0[one.d0 > 0].min() > 1e-6
        if one.U.shape[0] >= smallest_N and one.U.shape[1] >= smallest_t and moderate:
            return one


def within_caps(one: RandomProgram) -> np.ndarray | None:
    """Return the reference distribution after a repair that puts it below the caps."""
    if one.d0 is None:
        return None
    counts = np.ones(len(one.d0)) if one.c is None else one.c
    return CappedSimplex(np.where(one.d0 > 0, counts, 0.0), one.nu).repair(one.d0, one.d0)


def assert_problems_agree(program: Program, tol: float = 1e-9) -> None:
    """Check that the derived and the literal problems have the certified value."""
    certificate = program.solve("cvxpy:clarabel", tol=tol).certificate
    assert certificate.scaled_gap <= tol
    assert_forms_have(program, pytest.approx(certificate.upper, abs=AGREEMENT_TOL), **TIGHT)


def assert_forms_have(program: Program, value: object, **options: float) -> None:
    """Check that Clarabel finds this value for the derived and the literal problem of both sides."""
    for side in ("primal", "dual"):
        for form in ("derived", "literal"):
            problem = program.cvxpy(side, form)
            problem.solve("CLARABEL", **options)
            # The value of an entropy at a solver's d may be inf (d_n = -1e-13), but the value of the solver is not.
            assert problem.solution.opt_val == value, (side, form)


def certificate_of_backends(program: Program, gaps: Mapping[str, float]) -> Certificate:
    """Return the certificate of the first backend.

    Check that each backend reaches its scaled gap, and that its interval overlaps with the first.
    """
    certificates = {backend: program.solve(backend, tol=gap).certificate for backend, gap in gaps.items()}
    first = next(iter(certificates.values()))
    for backend, certificate in certificates.items():
        assert certificate.scaled_gap <= gaps[backend], backend
        assert first.overlaps(certificate), backend
    return first


def assert_step_agrees(program: Program) -> None:
    """Check that two backends and both problems of a step have the same value."""
    certificate = certificate_of_backends(program, {"cvxpy:clarabel": 1e-9, "cvxpy:scs": 1e-9})
    assert_forms_have(program, pytest.approx(certificate.upper, abs=LOG_SUM_EXP_TOL), **TIGHT)


def assert_step_by_hand(program: Program, edge: float) -> None:
    """Check the problems of a step to an edge by hand: N = 3, u = (1, -1, 1), d0 = (1/4, 1/2, 1/4).

    Primal  min sum d ln(d / d0)   s.t.  d1 - d2 + d3 = edge,  d1 + d2 + d3 = 1
    Dual    max -ln[ exp(-alpha) / 2 + exp(alpha) / 2 ] - edge alpha
    """
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [constraint.label for constraint in primal.constraints] == ["w", "beta"]
    primal.var_dict["d"].value = [0.2, 0.5, 0.3]
    assert primal.constraints[0].residual == pytest.approx(edge)
    dual.var_dict["w"].value = [0.3]
    assert dual.objective.value == pytest.approx(-math.log(math.cosh(0.3)) - 0.3 * edge)


def best_edge(U: np.ndarray, caps: np.ndarray) -> float:
    """The smallest maximum edge over distributions below the caps, by scipy: the soft margin that can be reached."""
    N, t = U.shape
    answer: Any = scipy.optimize.linprog(
        np.append(np.zeros(N), 1.0),
        A_ub=np.column_stack([U.T, -np.ones(t)]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*((0, cap) for cap in caps), (None, None)],
    )
    return float(answer.fun)
