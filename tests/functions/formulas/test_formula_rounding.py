"""The rounding errors of a formula are counted at the numbers that were used, and no certificate holds nan."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
import typechecker
from support import random_formulas as drawn_formulas
from support.random_formulas import DIGITS, Exact, in_all_digits
from support.reference_formulas import program

from boostopt import ProblemError
from boostopt.authoring import (
    BoundedEdges,
    CappedSimplex,
    EdgeFunction,
    Examples,
    FormulaRegularizer,
    MaximumEdge,
    Regularizer,
    Squares,
    Tilted,
    edge_formula,
    formula,
)
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.ensembles.model_certification.model_certificate import ModelCertificate
from boostopt.functions.edge_functions.intercept import InterceptEdges
from boostopt.functions.formulas.differentiation import differentiate
from boostopt.functions.formulas.intervals import Interval, enclose, exact_interval
from boostopt.functions.formulas.parsing import parse_formula

STEEP = "d*log(d/u)+(u-d)*log((u-d)/u)"
"""Infinitely steep at both bounds, of which one is the only point where nu = N."""

Q = 0.749069957789613
CANCELLING = "10*(d-m)**2 + 1.8e11*max(d-0.7,0)**3*max(0.8-d,0)**3*((d-q)**2-(d**2-2*q*d+q**2))"


def certified(F: Regularizer, U: Any, d: Any, G: EdgeFunction | None = None) -> Certificate:
    return program(np.asarray(U, dtype=float), F, MaximumEdge() if G is None else G).certify(d=np.asarray(d))


def test_an_infinitely_steep_end_beside_a_bound_of_the_edges() -> None:
    F = formula(STEEP, CappedSimplex(np.ones(3), 3.0))
    bound = BoundedEdges(-0.6233333333333332)
    certificate = certified(F, [[-0.91], [-0.76], [-0.2]], [1 / 3] * 3, bound)
    assert certificate.lower <= 0.0 <= certificate.upper
    assert certificate.lower >= -1e-11


@pytest.mark.parametrize("nu", [10.0, 10.0 * (1.0 - 1e-13)])
def test_an_infinitely_steep_end_where_there_is_one_point_only(nu: float) -> None:
    U = np.random.default_rng(0).uniform(-1, 1, (10, 2))
    certificate = certified(formula(STEEP, CappedSimplex(np.ones(10), nu)), U, np.full(10, 0.1))
    room = 10.0 / nu - 1.0  # by how much each weight may move, as a share
    with mpmath.workdps(DIGITS):
        at_caps = max(mpmath.fsum(mpmath.mpf(float(x)) for x in column) for column in U.T) / 10
        assert certificate.lower <= at_caps and at_caps - 100.0 * room <= certificate.upper
    assert certificate.gap <= 1e-9
    assert abs(certificate.multipliers["beta"]) <= 100.0  # type: ignore[arg-type]


def test_a_factor_that_underflows_beside_one_that_overflows() -> None:
    F = formula("-a**2*d**400*log(0.5-d)", CappedSimplex(np.ones(10), 10.0), a=np.full(10, 1e200))
    certificate = certified(F, np.zeros((10, 1)), np.full(10, 0.1))
    optimum = -10.0 * math.log(0.4)  # d = 0.1 is the only point: a^2 d^400 is 1
    assert optimum == pytest.approx(9.163, abs=5e-4)
    # 0.1 and 1e200 are rounded in the file of the program: their powers are 1 to 400 roundings.
    assert certificate.lower <= optimum + 1e-12 and optimum - 1e-12 <= certificate.upper
    assert certificate.gap <= 1e-9


def test_rounding_between_the_places_at_which_it_was_sampled() -> None:
    certificate = certified(cancelling(), np.zeros((2, 1)), [Q, 1.0 - Q])
    assert certificate.lower <= 0.0 <= certificate.upper
    assert certificate.gap <= 1e-8


@pytest.mark.parametrize("text", ["d0**2/d/eta", "d0**3/d**2/eta", "d0*log(d0/d)/eta"])
def test_a_pole_at_zero_makes_no_slack_where_no_weight_is(text: str) -> None:
    U = np.random.default_rng(0).uniform(-1, 1, (12, 3))
    F = formula(text, CappedSimplex(np.ones(12), 4.0), eta=5.0)
    certificate = program(U, F, MaximumEdge()).solve("interior", tol=1e-9).certificate
    assert certificate.slack <= 1e-13
    assert certificate.gap <= 1e-8


@cache
def cancelling() -> FormulaRegularizer:
    """Return a formula with terms that cancel where no grid of places shows it: it is 10 (d - m)^2."""
    return formula(CANCELLING, CappedSimplex(np.ones(2), 1.0), q=Q, m=np.array([Q, 1.0 - Q]))


def pieces(name: str) -> Regularizer:
    """Return a regularizer of which a formula that cancels is a part."""
    F = cancelling()
    if name == "tilted":
        return Tilted(F, np.array([0.25, -0.5]))
    return F + Squares(np.ones(2), 0.5) if name == "sum" else F + formula("d**2/4", CappedSimplex(np.ones(2), 1.0))


@pytest.mark.parametrize(
    "name", ["tilted", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("sum", "two formulas"))]
)
def test_the_rounding_of_a_part_is_that_of_the_whole(name: str) -> None:
    certificate = certified(pieces(name), np.zeros((2, 1)), [Q, 1.0 - Q])
    with mpmath.workdps(DIGITS):
        q = mpmath.mpf(Q)
        parts = (q, 1 - q)
        rest = q / 4 - (1 - q) / 2 if name == "tilted" else sum(x**2 for x in parts) / 4
        # The least of 10 (d - m)^2 + rest at d_1 = q + s, d_2 = 1 - d_1: a square of s.
        slope, bend = (mpmath.mpf(3) / 4, 0) if name == "tilted" else ((2 * q - 1) / 2, 1)
        optimum = rest - slope**2 / (2 * (40 + bend))
        assert certificate.lower <= optimum <= certificate.upper
    assert 1e-11 <= certificate.slack <= 1e-8


def test_edges_by_a_formula_count_what_the_edges_lose() -> None:
    """Next to a pole the rounding of an edge matters more than the rounding of a term."""
    G = edge_formula("-log(1 - e)")
    U = np.full((3, 1), 1.0 - 1e-12)
    F = formula("d**2", CappedSimplex(np.ones(3), 1.0))
    certificate = certified(F, U, np.full(3, 1 / 3), G)
    with mpmath.workdps(DIGITS):
        upper = mpmath.mpf(1) / 3 - mpmath.log(1 - mpmath.mpf(float(U[0, 0])))
        assert certificate.lower <= upper <= certificate.upper
    assert 1e-4 <= certificate.slack <= 1.0
    intercept_edges = InterceptEdges(G)
    e, w = np.array([0.0, float(U[0, 0])]), np.array([0.0, 1.0])
    assert intercept_edges.value_slack(e, w, 1.0, 1e-15) == G.value_slack(e[1:], w[1:], 1.0, 1e-15) > 1e-4
    assert intercept_edges.conjugate_slack(e, w, 1.0, 1e-15) == G.conjugate_slack(e[1:], w[1:], 1.0, 1e-15)


def test_the_increase_of_a_formula_of_the_edges_is_that_of_no_line() -> None:
    G = edge_formula("e**2")
    increase = G.increase_bound(np.zeros(2), np.full(2, 0.5))
    assert 0.5 <= increase <= 0.5 + 1e-12


def test_certificate_next_to_a_pole_has_infinite_bounds() -> None:
    F = formula("-log(u - d)", CappedSimplex(np.ones(3), 3.0))
    certificate = certified(F, np.zeros((3, 1)), np.full(3, 1 / 3))
    assert certificate.upper == np.inf and not math.isnan(certificate.lower) and certificate.gap == np.inf
    G = edge_formula("1/(1 - e)**3")
    certificate = certified(formula("d**2", CappedSimplex(np.ones(3), 1.0)), np.ones((3, 1)), np.full(3, 1 / 3), G)
    assert certificate.upper == np.inf and not math.isnan(certificate.lower)


class _Unknown(Squares):
    """Squares whose value and conjugate are nan."""

    on_simplex = True

    def values(self, d: np.ndarray) -> np.ndarray:
        return np.full(self.N, np.nan)

    def conjugate_terms(self, y: np.ndarray) -> np.ndarray:
        return np.full(self.N, np.nan)


def test_nan_becomes_an_infinite_bound() -> None:
    F = _Unknown(np.ones(3), 1.0) + formula("0*d", CappedSimplex(np.ones(3), 1.0))
    certificate = certified(F, np.eye(3), np.full(3, 1 / 3))
    assert (certificate.lower, certificate.upper, certificate.gap) == (-np.inf, np.inf, np.inf)
    goal = SoftMarginObjective(_Unknown(np.ones(3), 1.0), MaximumEdge(), Examples(np.ones(3), np.full(3, 1 / 3)))
    assert goal.upper_bound(np.full(3, 1 / 3), 0.5) == np.inf


def test_bounds_over_a_class_count_the_rounding_of_a_formula() -> None:
    goal = SoftMarginObjective(cancelling(), MaximumEdge(), Examples(np.ones(2), np.full(2, 0.5)))
    assert goal.upper_bound(np.array([Q, 1.0 - Q]), 0.0) >= 0.0


@pytest.mark.parametrize("name", ["lower", "upper", "slack"])
def test_no_certificate_holds_nan(name: str) -> None:
    certificate = certified(formula("d**2", CappedSimplex(np.ones(2), 1.0)), np.eye(2), np.full(2, 0.5))
    with pytest.raises(ProblemError, match="nan"):
        replace(certificate, **{name: np.nan})


@pytest.mark.parametrize("bounds", [(np.nan, 1.0), (0.0, np.nan)])
def test_no_certificate_of_a_class_or_a_model_holds_nan(bounds: tuple[float, float]) -> None:
    with pytest.raises(ProblemError, match="nan"):
        ClassCertificate(*bounds, None, "stumps")
    of_model: Any = ModelCertificate
    with typechecker.unchecked(), pytest.raises(ProblemError, match="nan"):
        of_model("a loss", 1.0, 0.0, *bounds, None, None)


ENCLOSED = (
    "d*log(d/a) - d",
    "(1 - d)*log(1 - d)",
    "d**400*a**600",
    "-a**2*d**3*log(a/d)",
    "exp(d*900)*exp(-900)/a",
    "(d - 1/2)**3",
    "huber(d - 1/2, 1/4)",
    "max(d - 1/2, 0)**1.5",
    "1/(2 - d)**2 + d**(1/3)",
    "log(1 + exp(d)*a)",
)


@pytest.mark.parametrize("text", ENCLOSED)
def test_intervals_contain_all_values_and_are_narrow(text: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, 20), 10.0 ** rng.uniform(-300, 0, 20), 1.0 - 10.0 ** rng.uniform(-16, 0, 20)])
    a = 10.0 ** rng.uniform(-3, 3, len(x))
    read = parse_formula(text, {}, ("d", "a"))
    wide = Interval(np.maximum(x - 1e-9 * x, 0.0), np.minimum(x + 1e-9 * x, 1.0))
    enclosures = [
        enclose(read, {"d": d, "a": exact_interval(a)}, nonnegative_sums(read)) for d in (exact_interval(x), wide)
    ]
    with mpmath.workdps(DIGITS):
        for n in range(len(x)):
            names = {"a": mpmath.mpf(float(a[n])), "d": mpmath.mpf(float(x[n])), "mpf": mpmath.mpf}
            exact = in_all_digits(text, names)
            for interval in enclosures:
                assert interval.lower[n] <= exact <= interval.upper[n]
            assert enclosures[0].upper[n] - enclosures[0].lower[n] <= 1e-11 * max(abs(float(exact)), 1e-3)


def nonnegative_sums(read: Any) -> frozenset[str]:
    """Return the sums that are not negative on [0, 1]: 1 - d and 2 - d."""
    sums = {base.arguments[0] for term in read.terms for base, _ in term.factors if base.kind == "sum"}
    return frozenset(term.key for term in sums if parse_formula("1 - d", {}, ("d", "a")).key == term.key)


def test_x_log_x_is_enclosed_where_x_may_be_zero() -> None:
    x = Interval(np.array([0.0, 0.0, 0.1, 0.5]), np.array([1e-15, 1.0, 0.9, 2.0]))
    enclosure = x.times_log(Fraction(1))
    assert np.allclose(
        enclosure.lower, [1e-15 * math.log(1e-15), -1 / math.e, -1 / math.e, 0.5 * math.log(0.5)], rtol=1e-9
    )
    assert np.allclose(enclosure.upper, [0.0, 0.0, 0.9 * math.log(0.9), 2.0 * math.log(2.0)], rtol=1e-9, atol=1e-300)


def test_a_logarithm_of_a_square_may_have_a_negative_factor() -> None:
    read = parse_formula("(d - 10)*log((d - 10)**2)", {}, ("d",))
    enclosure = enclose(read, {"d": Interval(np.array([0.0]), np.array([11.0]))})
    for x in (0.0, 9.0, 9.75, 10.25, 11.0):
        assert enclosure.lower[0] <= (x - 10.0) * math.log((x - 10.0) ** 2) <= enclosure.upper[0]


def test_the_curvature_of_a_huber_function_is_known_off_its_thresholds() -> None:
    x, wide = np.array([-3.0, -0.5, -0.2, 0.0, 0.2, 0.5, 3.0]), 0.05
    curvature = differentiate(differentiate(parse_formula("huber(d, 1/2)", {}, ("d",))))
    enclosure = enclose(curvature, {"d": Interval(x - wide, x + wide)})
    np.testing.assert_allclose(enclosure.lower, [0.0, 0.0, 2.0, 2.0, 2.0, 0.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(enclosure.upper, [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0], rtol=1e-15, atol=1e-300)
    assert (enclosure.lower <= [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0]).all() and (enclosure.upper[1:-1] >= 2.0).all()


def test_feasible_weights_are_in_the_box_that_bounds_them() -> None:
    """The caps are c / nu, not their floats: three floats of a third sum to less than 1."""
    with mpmath.workdps(DIGITS):
        for nu in (3.0, 2.5, 1.0):
            F = formula(STEEP, CappedSimplex(np.ones(3), nu))
            d = np.full(3, 1 / 3)
            exact = Exact(F)
            exact_d, *_ = exact.feasible(d)
            assert mpmath.fsum(exact_d) == 1 and F.value(d) + F.value_slack(d, 1e-15) >= exact.value(exact_d)


def test_weights_next_to_a_vertex_are_not_moved_onto_the_vertex() -> None:
    """There h / d^3 is infinite: the weight of 1 makes up for what the sum misses."""
    with mpmath.workdps(DIGITS):
        d = np.array([7.071067811865476e-76, 1.0])
        F = formula("h/d**3", CappedSimplex(np.ones(2), 1.0), h=1.1910005834087404e-21)
        exact = Exact(F)
        values = [exact.value(point) for point in exact.feasible(d)]
        assert min(values) <= F.value(d) + F.value_slack(d, 1e-15) < mpmath.inf
        assert all(mpmath.fsum(point) == 1 for point in exact.feasible(d))


def test_hard_formulas_prove_no_false_bound() -> None:
    outcome = drawn_formulas.run(3, 0)
    assert not outcome.false and outcome.counts["certified"] > 0


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("seed", range(1, 11))
def test_hundreds_of_hard_formulas_prove_no_false_bound(seed: int) -> None:
    outcome = drawn_formulas.run(50, seed, per_program=4)
    assert not outcome.false
    assert outcome.counts["certified"] > 100


def test_the_only_point_of_a_box_is_worth_its_value_in_all_digits() -> None:
    """All weights are 1/5, which no float and no number of a hundred digits is."""
    domain, d0 = CappedSimplex(np.ones(5), 5.0), np.array([0.02, 0.31, 0.13, 0.15, 0.39])
    F = formula("d0**2/d + d*log(d/u) + (u - d)*log((u - d)/u)", domain, d0)
    certificate = program(np.zeros((5, 1)), F, MaximumEdge()).certify()
    with mpmath.workdps(DIGITS):
        exact = Exact(F)
        for d in (certificate.d, np.full(5, 0.2), np.nextafter(np.full(5, 0.2), [0, 0, 1, 1, 1])):
            for point in exact.feasible(d):
                assert all(0 <= x <= u for x, u in zip(point, exact.u, strict=True))
                assert certificate.lower <= exact.value(point) <= certificate.upper
