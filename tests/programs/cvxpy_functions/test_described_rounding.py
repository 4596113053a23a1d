"""Descriptions that are steep, cancel or underflow: no interval misses the optimum.

On exact weights, which sum to 1, all functions in `ZERO` are 0: so the optimum is that of LPBoost.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from support.random_expressions import Count, check_description, check_program
from support.reference_formulas import program
from support.speeds import many

from boostopt import Certificate, ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.edge_functions.linear_edges import LinearEdges
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.functions.regularizers.separable import Separable
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer

N = 64  # 1/64 is a float: the inner point has the sum 1, also in floats, and no slack measured there sees the slopes
COLUMN = np.where(np.arange(N) < 20, -1.0, 1.0)
DOMAIN = CappedSimplex(np.ones(N), 20.0)
OPTIMUM = -1.0  # twenty examples have the edge -1, and may share all weight
STEEP = 1e13
ONES = np.ones(N)
SPARSE = scipy.sparse.csr_array(np.ones((1, N)))

ZERO: dict[str, Callable[[Any], Any]] = {
    "square": lambda d: cp.square(STEEP * (cp.sum(d) - 1)),
    "square of a mean": lambda d: cp.square(STEEP * (cp.mean(d) * N - 1)),
    "square of a product": lambda d: cp.square(STEEP * (ONES @ d - 1)),
    "square of a sparse product": lambda d: cp.sum_squares(STEEP * (SPARSE @ d - 1)),
    "square of parts": lambda d: cp.square(STEEP * (cp.sum(d[:3]) + cp.sum(d[3:]) - 1)),
    "square of the last sum": lambda d: cp.square(STEEP * (cp.cumsum(d)[-1] - 1)),
    "size": lambda d: STEEP * cp.abs(cp.sum(d) - 1),
    "positive part": lambda d: cp.pos(STEEP * (cp.sum(d) - 1)),
    "power": lambda d: cp.power(cp.pos(STEEP * (cp.sum(d) - 1)), 1.5),
    "norms": lambda d: cp.norm(STEEP * (cp.hstack([cp.sum(d), ONES @ d]) - 1), 2),
    "largest": lambda d: cp.max(STEEP * (cp.hstack([cp.sum(d), 2 * cp.sum(d) - 1]) - 1)),
    "exponential": lambda d: cp.exp(STEEP * (cp.sum(d) - 1)) - 1,
    "logistic": lambda d: cp.logistic(STEEP * (cp.sum(d) - 1)) - np.log(2.0),
    "huber": lambda d: cp.huber(STEEP * (cp.sum(d) - 1)),
    "quadratic form": lambda d: cp.quad_form(STEEP * (cp.hstack([cp.sum(d), ONES @ d]) - 1), np.eye(2)),
    "entropy of a sum": lambda d: STEEP * cp.rel_entr(cp.sum(d), 1.0),
    "logarithm": lambda d: -STEEP * cp.log(cp.sum(d)),
    "inverse": lambda d: STEEP * (cp.inv_pos(cp.sum(d)) - 1),
    "squares over a number": lambda d: STEEP * (cp.quad_over_lin(cp.sum(d), cp.sum(d)) - 1),
    "constants": lambda d: cp.square((STEEP * cp.sum(d) + 1e20) - 1e20 - STEEP),
    "kept by a tiny factor": lambda d: 1e-300 * cp.square(1e150 * (cp.sum(d) - 1)),
}
"""The slopes of most of them are 1e13, and floats that sum to 1 miss it by 1e-16."""


def regularizer(f: Callable[[Any], Any], constraints: Any = lambda d: ()) -> CvxpyRegularizer:
    return CvxpyRegularizer(DOMAIN, f, np.full(N, 1 / N), constraints)


def certificates(F: Regularizer, G: EdgeFunction | None = None, max_points: int = 9) -> list[Certificate]:
    """Return certificates of bad weights, of good weights and without weights."""
    rng = np.random.default_rng(0)
    pair = program(COLUMN[:, None], F, G or MaximumEdge())
    best = np.where(COLUMN < 0, 1 / 20, 0.0)
    near_best, far = best + 1e-12 * rng.normal(size=N), rng.dirichlet(np.ones(N), 4)
    points = [best, np.full(N, 1 / N), *far, None, near_best]
    # Near the optimum the lower bound of floats was too large by 8e-6.
    points.append(np.random.default_rng(10).dirichlet(np.ones(N)))
    return [pair.certify(d=d, w=np.ones(1)) for d in points[::-1][:max_points]]


def assert_contain(certificate_list: list[Certificate], value: float) -> None:
    for certificate in certificate_list:
        assert certificate.lower <= value <= certificate.upper
        assert not np.isnan([certificate.gap, certificate.slack]).any()


def test_a_steep_square_does_not_move_the_optimum_of_lpboost() -> None:
    certificate = certificates(regularizer(ZERO["square"]))
    assert_contain(certificate, OPTIMUM)
    assert certificate[-1].gap < 1e-12  # the sum of exact weights is 1, whatever its float is


@pytest.mark.every(6)
@pytest.mark.parametrize("name", ZERO)
def test_terms_that_are_zero_on_exact_weights_do_not_change_the_optimum(name: str) -> None:
    assert_contain(certificates(regularizer(ZERO[name]), max_points=many(9, 2)), OPTIMUM)


def test_a_tilted_description_counts_its_rounding() -> None:
    assert_contain(certificates(Tilted(regularizer(ZERO["square"]), np.full(N, 0.5))), OPTIMUM + 0.5)


def test_a_steep_constraint_holds_where_the_upper_end_is_proved() -> None:
    first = (np.arange(N) < 20).astype(float)
    F = regularizer(lambda d: 0.0, lambda d: [STEEP * (cp.sum(d) - 1) <= 1.0, first @ d <= 0.75])
    # At most 3/4 have the edge -1.
    computed_certificates = certificates(F)
    assert_contain(computed_certificates, -0.5)
    for certificate in computed_certificates:
        assert sum(map(Fraction, certificate.d[:20].tolist()), Fraction(0)) <= Fraction(0.75)


def test_constants_that_cancel_lose_what_they_lose() -> None:
    """(<a, d> + 1e16) - 1e16 has lost all digits below 1 in floats."""
    a = np.linspace(0.0, 1.0, N)
    G = LinearEdges(0.0)
    F = regularizer(lambda d: (a @ d + 1e16) - 1e16)
    # The weight is on the twenty smallest of a: their mean.
    computed_certificates = certificates(F, G, 3)
    assert_contain(computed_certificates, float(a[:20].mean()))
    assert max(certificate.lower for certificate in computed_certificates) > -10.0


@pytest.mark.parametrize("scale", (1e-300, 1e-150, 1e140))
def test_underflow_and_overflow_end_in_true_or_infinite_ends(scale: float) -> None:
    a = np.linspace(0.5, 1.5, N)
    F = regularizer(lambda d: cp.sum_squares(scale * cp.multiply(a, d)))
    with np.errstate(all="ignore"):
        computed_certificates = certificates(F, LinearEdges(0.0), many(3, 2))
    # sum a^2 d^2 is smallest for d in proportion to 1 / a^2.
    d = [1 / Fraction(x) ** 2 for x in a.tolist()]
    total = sum(d, Fraction(0))
    minimum = sum(((Fraction(x) * y / total) ** 2 for x, y in zip(a.tolist(), d, strict=True)), Fraction(0))
    value = float(Fraction(scale) ** 2 * minimum) if scale < 1e100 else np.inf
    if np.isfinite(value):
        assert_contain(computed_certificates, value)
    assert not any(np.isnan([certificate.lower, certificate.upper]).any() for certificate in computed_certificates)


def test_a_single_point_has_the_value_of_that_point() -> None:
    c = np.array([0.1] * 10)
    domain = CappedSimplex(c, float(c.sum()))
    F = CvxpyRegularizer(domain, lambda d: -cp.sum(cp.log(d)), c / c.sum())
    certificate = program(np.zeros((10, 1)), F, MaximumEdge()).certify(d=c, w=np.ones(1))
    assert certificate.lower <= 10 * np.log(10.0) <= certificate.upper
    assert certificate.gap < 1e-12


def test_a_described_edge_function_counts_the_rounding_of_edges() -> None:
    """At d = 1/3 the edges are 1/6 exactly, but not in floats."""
    U = np.array([[1.0], [-0.25], [-0.25]])
    domain = CappedSimplex(np.ones(3), 3.0)
    steep = 1e13
    G = CvxpyEdges(lambda e: steep * cp.abs(e[0] * 6 - 1))
    for d in (np.full(3, 1 / 3), None):
        certificate = program(U, CappedSimplexIndicator(domain), G).certify(d=d, w=np.zeros(1))
        assert certificate.lower <= 0.0 <= certificate.upper


class _Fast(Separable, CvxpyRegularizer):
    """Squares with a closed form that an author got wrong in the tenth digit."""

    has_closed_form_conjugate = True

    @property
    def upper(self) -> Any:
        return self.domain.upper

    def values(self, d: Any) -> Any:
        return 0.5 * d**2 * (1.0 - 1e-10)

    def derivatives(self, d: Any) -> Any:
        return d

    def maximizers(self, y: Any) -> Any:
        return np.clip(y, 0.0, self.upper)

    def conjugate_terms(self, y: Any) -> Any:
        return super().conjugate_terms(y) - 1e-9


def test_closed_forms_beside_a_description_propose_and_the_description_proves() -> None:
    F = _Fast(DOMAIN, lambda d: 0.5 * cp.sum_squares(d), np.full(N, 1 / N))
    certificate = certificates(F, LinearEdges(0.0))
    assert_contain(certificate, 0.5 / N)
    assert certificate[-2].gap < 1e-7


def test_a_matrix_that_is_only_declared_to_be_semidefinite_is_refused() -> None:
    Q = np.diag([1.0] * (N - 1) + [-1e-4])
    with pytest.raises(ProblemError, match=r"\bmatrix\b.*\bsemidefinite\b"):
        regularizer(lambda d: cp.quad_form(d, cp.psd_wrap(Q)))


def test_a_matrix_that_is_semidefinite_but_for_rounding_is_taken() -> None:
    B = np.random.default_rng(3).normal(size=(N, 2))
    Q = 0.5 * (B @ B.T + (B @ B.T).T)
    F = regularizer(lambda d: cp.quad_form(d, cp.psd_wrap(Q)))
    computed_certificates = certificates(F, LinearEdges(0.0), 3)
    d = list(map(Fraction, computed_certificates[0].d.tolist()))
    rows = [sum((Fraction(q) * x for q, x in zip(row, d, strict=True)), Fraction(0)) for row in Q.tolist()]
    value = sum((x * y for x, y in zip(d, rows, strict=True)), Fraction(0)) / sum(d, Fraction(0)) ** 2
    assert all(certificate.lower <= value for certificate in computed_certificates)


def test_sparse_constants_of_the_caller_stay_as_they_are() -> None:
    A = scipy.sparse.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 2]), np.array([0, 3])), shape=(1, N))
    regularizer(lambda d: cp.sum_squares(A @ d - 1))
    assert A.nnz == 3
    np.testing.assert_array_equal(A.data, [1.0, 0.0, 2.0])


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_a_random_description_says_nothing_false(seed: int) -> None:
    count = Count()
    check_description(seed, count)
    assert not count.false


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_a_random_program_has_no_false_bound(seed: int) -> None:
    count = Count()
    check_program(seed, count)
    assert not count.false


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("block", range(40))
def test_many_random_descriptions_say_nothing_false(block: int) -> None:
    count = Count()
    for seed in range(1000 + 8 * block, 1008 + 8 * block):
        check_description(seed, count)
        check_program(seed, count)
    assert count.descriptions > 8
    assert not count.false
