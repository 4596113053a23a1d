"""Edge functions known by a CVXPY expression alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from support.reference_formulas import assert_edge_gap, assert_weights_are_repaired, optimum, program
from support.speeds import many

from boostopt import ProblemError
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.edge_functions.squared_edges import SquaredPositiveEdges
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "smooth maximum": lambda e: cp.log_sum_exp(20 * e) / 20,
    "maximum": lambda e: cp.max(e),
    "squares": lambda e: 0.25 * cp.sum_squares(cp.pos(e)),
    "two largest": lambda e: cp.sum_largest(e, 2) / 2,
    "constant": lambda e: 0.0,
    "linear": lambda e: 0.5 * cp.sum(e),
}


def conjugate(name: str, w: np.ndarray) -> float:
    """A solver's max <w, e> - G(e) over the box."""
    e = cp.Variable(len(w))
    return optimum(cp.Problem(cp.Maximize(w @ e - FUNCTIONS[name](e)), [cp.norm_inf(e) <= 1]))


@pytest.mark.every(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_tangent_bounds_the_conjugate_wherever_it_is_taken(name: str) -> None:
    rng = np.random.default_rng(0)
    G = CvxpyEdges(FUNCTIONS[name])
    for _ in range(many(5, 1)):
        w = rng.normal(size=4) * rng.choice([0.2, 2.0])
        best = conjugate(name, w)
        for e in (np.round(rng.uniform(-1, 1, 4), 1), np.zeros(4), np.ones(4)):
            assert G.conjugate(w, e) >= best - 1e-7
            assert_edge_gap(G, e, w, float((cp.Constant(0.0) + FUNCTIONS[name](cp.Constant(e))).value))
        assert best - 1e-7 <= G.conjugate(w)


@pytest.mark.every(2)
@pytest.mark.thorough_cases("smooth maximum")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bound_is_tight_at_a_subgradient(name: str) -> None:
    rng = np.random.default_rng(1)
    G = CvxpyEdges(FUNCTIONS[name])
    for _ in range(5):
        e = rng.uniform(-1, 1, 4)
        w = G.subgradient(e)
        assert 0.0 <= G.gaps(e, w).sum() <= 1e-14  # the rounding of the tangent
        assert G.conjugate(w, e) == pytest.approx(conjugate(name, w), abs=1e-6)
        for other_e in rng.uniform(-1, 1, (20, 4)):  # it is a subgradient
            assert G.value(other_e) >= G.value(e) + w @ (other_e - e) - 1e-12


@pytest.mark.parametrize(("name", "exact"), [("maximum", MaximumEdge()), ("squares", SquaredPositiveEdges())])
def test_a_described_edge_function_is_its_closed_form(name: str, exact: MaximumEdge | SquaredPositiveEdges) -> None:
    """Both have the same optimum. The certificate needs only d, because w is a subgradient there."""
    rng = np.random.default_rng(2)
    U, F = rng.uniform(-1, 1, (25, 4)), CappedSimplexIndicator(CappedSimplex(np.ones(25), 5.0))
    closed_certificate = program(U, F, exact).solve("cvxpy:clarabel", tol=1e-8).certificate
    mine = program(U, F, CvxpyEdges(FUNCTIONS[name]))
    assert mine.available_sides == ("primal",)
    certificate = mine.certify(d=closed_certificate.d)
    assert certificate.lower <= closed_certificate.upper
    assert certificate.upper == pytest.approx(closed_certificate.upper, abs=1e-12)
    if name == "squares":
        assert certificate.gap < 1e-6
    for _ in range(many(5, 1)):
        noise = mine.certify(d=rng.dirichlet(np.ones(25)), w=rng.normal(size=4))
        assert noise.lower <= closed_certificate.upper
        assert noise.upper >= closed_certificate.lower


def test_any_junk_is_repaired() -> None:
    assert_weights_are_repaired(CvxpyEdges(FUNCTIONS["maximum"]), 5)


def test_the_cones_are_read_from_the_expression() -> None:
    assert CvxpyEdges(FUNCTIONS["maximum"]).cones == {"linear"}
    assert CvxpyEdges(FUNCTIONS["smooth maximum"]).cones == {"linear", "exponential"}
    assert CvxpyEdges(FUNCTIONS["squares"]).cones == {"linear", "quadratic"}


NOT_CONVEX = (
    r"^an edge function must be a convex scalar expression; got shape \(.*\), (CONCAVE|AFFINE): .*\. "
    r"Write it with atoms that CVXPY recognizes as convex\.$"
)


@pytest.mark.parametrize("G", [lambda e: -cp.sum_squares(e), lambda e: e, lambda e: cp.sqrt(e[0] + 2)])
def test_nonconvex_and_vector_expressions_are_refused(G: Callable[[Any], Any]) -> None:
    with pytest.raises(ProblemError, match=NOT_CONVEX):
        CvxpyEdges(G).value(np.zeros(3))


@pytest.mark.parametrize("G", [lambda e: cp.norm_inf(e), lambda e: cp.max(cp.abs(e))])
def test_a_norm_has_a_subgradient_also_where_cvxpy_knows_none(G: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(CvxpyEdges(G).subgradient(np.array([0.1, -0.5])), [0.0, -1.0])


def test_the_largest_eigenvalue_of_a_diagonal_is_the_maximum() -> None:
    G, e = CvxpyEdges(lambda e: cp.lambda_max(cp.diag(e))), np.array([0.25, -0.5, 0.125])
    assert 0.25 <= G.value(e) <= 0.25 + 1e-12
    assert 0.0 <= G.conjugate(np.array([0.5, 0.25, 0.25])) <= 1e-8


def test_the_conjugate_has_no_model() -> None:
    with pytest.raises(ProblemError, match=r"\bconjugate\b.*\bprimal\b"):
        CvxpyEdges(FUNCTIONS["maximum"]).cvxpy_conjugate(cp.Variable(2))


def test_functions_wrongly_declared_convex_are_noticed() -> None:
    G = CvxpyEdges(lambda e: cp.quad_form(e, cp.psd_wrap(np.diag([1.0, -2.0, 1.0]))))
    with pytest.raises(ProblemError, match=r"\bquadratic\b.*\bsemidefinite\b"):
        G.conjugate(np.zeros(3), np.array([0.1, 0.2, 0.3]))
