"""Exponents that are no ratio of small integers: CVXPY replaces them, and nothing that is proved may depend on that.

The sums of powers below have maximizers x in the interior for y = p x^(p - 1), so that their conjugates there are
(p - 1) sum x^p.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt._utils.cvxpy_tools import with_exact_exponents
from boostopt.authoring import CappedSimplex, CvxpyEdges, CvxpyRegularizer

P = 1.374975
"""CVXPY takes 11/8 for it."""

ROUNDING = 1e-14
D = np.array([0.2, 0.3, 0.5])
DOMAIN = CappedSimplex(np.ones(3), 1.0)


def powers(x: Any) -> Any:
    return cp.sum(cp.power(x, P))


def test_cvxpy_replaces_the_exponent() -> None:
    assert powers(cp.Variable(3)).args[0].approx_error > 1e-5


def test_no_bound_of_a_described_conjugate_falls_below_it() -> None:
    F = CvxpyRegularizer(DOMAIN, powers, inside=np.full(3, 1.0 / 3.0))
    conjugate, z = (P - 1.0) * float((D**P).sum()), P * D ** (P - 1.0)
    point = F.conjugate_at(z, D)
    for _ in range(3):  # each begins where the last one ended, nearer to the end that the slopes show
        assert abs(point.value - conjugate) <= ROUNDING
        point = F.conjugate_at(z, point.d)


def test_a_solver_is_given_the_function_that_is_certified() -> None:
    F = CvxpyRegularizer(DOMAIN, powers, np.full(3, 1.0 / 3.0), lambda d: [cp.sum(cp.power(d, P)) <= 0.9])
    G = CvxpyEdges(lambda e: powers(cp.abs(e)))
    value, constraints = F.cvxpy_value(cp.Variable(3))
    for part in (value, *constraints, G.cvxpy_value(cp.Variable(3))[0]):
        assert not any(kind.__name__.endswith("Approx") for kind in part.atoms())
    assert {"power"} <= F.cones & G.cones


@pytest.mark.parametrize("e", (D, -D), ids=("positive", "negative"))
def test_the_slope_of_an_edge_function_is_that_of_its_values(e: np.ndarray) -> None:
    G = CvxpyEdges(lambda e: powers(cp.abs(e)))
    slope = P * np.abs(e) ** (P - 1.0) * np.sign(e)
    assert np.abs(G.subgradient(e) - slope).max() <= ROUNDING
    assert abs(G.conjugate(slope, e) - (P - 1.0) * float((D**P).sum())) <= ROUNDING


def test_the_slope_of_a_constraint_is_that_of_its_values() -> None:
    F = CvxpyRegularizer(DOMAIN, cp.sum_squares, np.full(3, 1.0 / 3.0), lambda d: [powers(d) <= powers_at(D)])
    normals = F.stationarity(D, 1e-9).normals
    assert normals.shape == (3, 1)
    assert np.abs(normals[:, 0] - P * D ** (P - 1.0)).max() <= 1e-8  # within the floor; the ratio misses by 2e-5


def powers_at(x: np.ndarray) -> float:
    return float((x**P).sum())


def test_labels_are_kept_and_what_has_its_exponents_is_left_alone() -> None:
    x = cp.Variable(3)
    labelled: Any = powers(x) <= 1.0
    assert with_exact_exponents(labelled.set_label("cap")).label == "cap"
    whole = cp.sum(cp.power(x, 1.5))
    assert with_exact_exponents(whole) is whole
