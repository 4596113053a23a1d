"""A catalogue of wrong regularizers and edge functions, one mistake each, and the checks that catch them.

Several mistakes are misprints of the papers; they are named after the equation they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import log_expit, rel_entr

from boostopt.authoring import (
    AbsoluteEdge,
    Active,
    BinaryEntropy,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    ConjugatePoint,
    CvxpyRegularizer,
    EdgeFunction,
    FixedEdges,
    Hinge,
    LinearEdges,
    MaximumEdge,
    NormBall,
    Polyhedron,
    Regularizer,
    RelativeEntropy,
    SquaredEdges,
    SquaredPositiveEdges,
    TiedEdges,
    Tilted,
)
from boostopt.checks import CheckReport, check_edge, check_regularizer

N = 8
C = np.random.default_rng(0).uniform(0.5, 2.0, N)
D0 = np.random.default_rng(1).dirichlet(np.ones(N))

MAKERS: dict[type[Regularizer], Callable[[Any], Regularizer]] = {
    RelativeEntropy: lambda kind: kind.capped(C, 3.0, 4.0, D0),
    CappedSimplexIndicator: lambda kind: kind(CappedSimplex(C, 3.0)),
    BinaryEntropy: lambda kind: kind(C / 2.0, 2.0, C / C.sum()),
    Hinge: lambda kind: kind(C, 0.7),
    NormBall: lambda kind: kind(CappedSimplexIndicator(CappedSimplex(C, float(C.min()))), C, 3.0, 0.45),
    Tilted: lambda kind: kind(RelativeEntropy.capped(C, 3.0, 4.0, D0), np.linspace(-1.0, 1.0, N)),
    CvxpyRegularizer: lambda kind: kind(CappedSimplex(C, 3.0), cp.sum_squares, C / C.sum()),
}
"""Constructors of one member of each family; a wrong one is made as the right one is."""

EDGES: dict[type[EdgeFunction], Callable[[Any], tuple[EdgeFunction, int]]] = {
    BoundedEdges: lambda kind: (kind(0.1), 3),
    FixedEdges: lambda kind: (kind(0.2), 3),
    LinearEdges: lambda kind: (kind(0.7), 3),
    TiedEdges: lambda kind: (kind(), 2),
    EdgeFunction: lambda kind: (kind(), 3),
}
"""Likewise of each family of edge functions, with the number of edges."""

Kind = TypeVar("Kind", bound=type[Any])
CATALOGUE = list[tuple[type[Any], tuple[str, ...]]]()


def caught_by(*names: str) -> Callable[[Kind], Kind]:
    """Enter a class into the catalogue, with the checks that must fail."""

    def enter(kind: Kind) -> Kind:
        CATALOGUE.append((kind, names))
        return kind

    return enter


def report(kind: type[Any]) -> CheckReport:
    if issubclass(kind, Regularizer):
        return check_regularizer(next(make for family, make in MAKERS.items() if issubclass(kind, family))(kind))
    return check_edge(*next(make for family, make in EDGES.items() if issubclass(kind, family))(kind))


# Regularizers: the conjugate and its maximizer.


@caught_by("conjugate", "maximizer")
class BetaWithTheWrongSign(RelativeEntropy):
    """F* = -beta + sum f* for beta + sum f*."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        return replace(point, value=point.value - 2.0 * float(np.asarray(point.multipliers["beta"])))


@caught_by("conjugate", "maximizer", "cvxpy-conjugate")
class ConjugateTooLargeByAConstant(RelativeEntropy):
    """The bound holds and is never tight."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        return replace(point, value=point.value + 1e-3)


@caught_by("fenchel-young", "conjugate")
class ConjugateTooSmallByAConstant(CappedSimplexIndicator):
    """A mistake of this kind makes a certificate wrong, not loose."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        return replace(point, value=point.value - 1e-3)


@caught_by("conjugate", "maximizer")
class ConjugateThatForgetsTheCap(RelativeEntropy):
    """The logarithm of the sum of exponentials, right for nu = 1 alone."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        uncapped = float(np.logaddexp.reduce(self.log_d0 + self.eta * z)) / self.eta
        return replace(super().conjugate_at(z), value=uncapped)


@caught_by("conjugate")
class BinaryConjugateWithoutTheOne(BinaryEntropy):
    """ln(p exp(y)) for ln(1 - p + p exp(y))."""

    def conjugate_terms(self, y: Any) -> Any:
        return self.upper * (log_expit(self.logit) + self.eta * y) / self.eta


@caught_by("conjugate", "maximizer")
class TiltWithTheWrongSign(Tilted):
    """F* at z + tilt for z - tilt."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        return self.base.conjugate_at(z + self.tilt)


@caught_by("conjugate")
class NormWithPForQ(NormBall):
    """The conjugate of the p-norm with the p-norm again."""

    @property
    def dual_exponent(self) -> float:
        return self.p


@caught_by("conjugate")
class NumericalSupremum(CvxpyRegularizer):
    """A supremum that is computed lies below F*, and -F* is then no lower bound."""

    def conjugate_at(self, z: Any, start: Any = None) -> Any:
        d = 0.9 * (self.maximizer(z) if start is None else start) + 0.1 * self.inside
        return replace(super().conjugate_at(z, start), value=float(z @ d) - self.value(d))


@caught_by("cvxpy-value", "conjugate")
class ExpressionWithoutTheEquation(CvxpyRegularizer):
    """A solver would leave the simplex. Without caps on the sum the supremum is larger too."""

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return self.f(d), [d >= 0, d <= self.domain.upper]


@caught_by("cvxpy-value")
class ExpressionThatAllowsNegativeWeights(CappedSimplexIndicator):
    """The value of negative weights is too large to be a supremum, so that only such weights themselves show it."""

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return 1e3 * cp.sum(cp.neg(d)), [cp.sum(d) == 1, d <= self.domain.upper]


@caught_by("maximizer")
class CapNuForOneOverNu(RelativeEntropy):
    """Glocer 2009, algorithm 4.2 as printed: the cap nu where 1 / nu belongs."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        weights = CappedSimplex(self.domain.c, 1.0 / self.domain.nu).repair(np.exp(self.log_d0 + self.eta * z), self.d0)
        return replace(point, d=weights)


@caught_by("maximizer", "gradient")
class EtaMissingInTheExponent(RelativeEntropy):
    """d0 exp(z) for d0 exp(eta z)."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        return replace(super().conjugate_at(z), d=super().conjugate_at(z / self.eta).d)


@caught_by("maximizer", "gradient")
class UniformMaximizer(CappedSimplexIndicator):
    """The same weights whatever z is."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        return replace(super().conjugate_at(z), d=self.project(None))


@caught_by("maximizer", "gradient")
class GradientWithUInTheDenominator(RelativeEntropy):
    """Glocer 2009, section 4.1, the gradient of ERLPBoost as printed, taken for the weights."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        q = np.exp(self.log_d0 + self.eta * z)
        return replace(point, d=q / float((np.abs(z) * q).sum() + 1e-12))


@caught_by("maximizer", "gradient")
class GradientWithOneCommonDenominator(BinaryEntropy):
    """Glocer 2009, section 4.1, the gradient of Binary ERLPBoost as printed, taken for the weights."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        p = self.d0 / self.upper
        odds = p * np.exp(np.clip(self.eta * (z - float(np.asarray(point.multipliers["beta"]))), None, 600.0))
        return replace(point, d=self.upper * odds / float((1.0 - p + odds).sum()))


@caught_by("finite")
class ExponentialThatOverflows(RelativeEntropy):
    """The naive formula of log(sum(exp(eta z))) overflows."""

    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        naive = float(np.log(np.exp(self.eta * z).sum()))
        return point if np.isfinite(naive) else replace(point, value=naive)


# Regularizers: the value and the gaps.


@caught_by("cvxpy-value", "maximizer")
class ValueWithoutOneOverEta(RelativeEntropy):
    """The entropy itself."""

    def value(self, d: Any) -> float:
        return self.eta * super().value(d)


@caught_by("cvxpy-value", "conjugate")
class EntropyWithoutTheReference(RelativeEntropy):
    """Relative to the uniform distribution, in the model alone."""

    def cvxpy_value(self, d: Any) -> Any:
        return cp.sum(cp.rel_entr(d, np.full(self.N, 1.0 / self.N))) / self.eta, super().cvxpy_value(d)[1]


@caught_by("convexity", "cvxpy-value")
class NotConvex(CappedSimplexIndicator):
    """Minus the sum of squares."""

    def values(self, d: Any) -> Any:
        return -(d**2)

    def cvxpy_value(self, d: Any) -> Any:
        return -cp.sum_squares(d), super().cvxpy_value(d)[1]


@caught_by("cvxpy-value")
class NotConvexByTheRulesOfCvxpy(CappedSimplexIndicator):
    """The sum of squares again, written so that CVXPY does not see it."""

    def values(self, d: Any) -> Any:
        return d**2

    def cvxpy_value(self, d: Any) -> Any:
        return cp.sum(cp.multiply(d, d)), super().cvxpy_value(d)[1]


@caught_by("gaps")
class GapsWithTheWrongSign(RelativeEntropy):
    """Minus the distance."""

    def young_gaps(self, d: Any, y: Any) -> Any:
        return -super().young_gaps(d, y)


@caught_by("gaps")
class GapsWithoutTheSlackOfTheCap(RelativeEntropy):
    """The distance to the capped maximizer alone."""

    def young_gaps(self, d: Any, y: Any) -> Any:
        x = self.maximizers(y)
        return (rel_entr(d, x) - d + x) / self.eta


@caught_by("gaps")
class PsiWithMinForMax(CappedSimplexIndicator):
    """Glocer 2009, before (2.2), as printed: psi = min(0, rho - m)."""

    def _box_multipliers(self, y: Any) -> Any:
        return np.minimum(y, 0.0), np.maximum(-y, 0.0)


@caught_by("slope")
class SlopeWithoutOneOverEta(RelativeEntropy):
    """ln(d / d0) + 1 for a slope of (1/eta) d ln(d / d0)."""

    def derivatives(self, d: Any) -> Any:
        return self.eta * super().derivatives(d)


@caught_by("argmax")
class MaximizersOfMinusY(BinaryEntropy):
    """The argmax of -y x - f(x)."""

    def maximizers(self, y: Any) -> Any:
        return super().maximizers(-y)


@caught_by("curvature")
class CurvatureOfTheSquareRoot(BinaryEntropy):
    """A second derivative that forgets a factor."""

    def curvatures(self, d: Any) -> Any:
        return 0.5 * super().curvatures(d)


@caught_by("strong_convexity")
class ModulusTwiceTooLarge(RelativeEntropy):
    """The entropy's modulus in the 1-norm is 1 / eta."""

    @property
    def strong_convexity(self) -> float:
        return 2.0 * super().strong_convexity


@caught_by("stationarity")
class SlopesWithTheWrongSign(RelativeEntropy):
    """The conditions of a maximum with minus the slope."""

    def stationarity(self, d: Any, min_relative_weight: float) -> Any:
        right = super().stationarity(d, min_relative_weight)
        return replace(right, gradient=-right.gradient)


@caught_by("minimizer")
class StartAtTheUniformDistribution(RelativeEntropy):
    """A regularizer whose minimizer is d0."""

    def project(self, d: Any) -> Any:
        return self.domain.repair(C / C.sum() if d is None else d, self.d0)


# Regularizers: the domain.


@caught_by("domain")
class MissesTheSimplex(CappedSimplexIndicator):
    """Caps that sum to 1/2."""

    @property
    def upper(self) -> Any:
        return np.full(self.N, 0.5 / self.N)


@caught_by("domain")
class KeepsWhatIsNotFinite(CappedSimplexIndicator):
    """Projects what is finite."""

    def project(self, d: Any) -> Any:
        return super().project(d) if d is None or np.isfinite(d).all() else d


@caught_by("domain")
class ProjectsOntoTheSimplexAlone(RelativeEntropy):
    """Without the caps."""

    def project(self, d: Any) -> Any:
        return CappedSimplex(self.domain.c, float(C.min())).repair(self.d0 if d is None else d, self.d0)


@caught_by("residuals")
class BlindToTheCap(CappedSimplexIndicator):
    """No residual for d <= upper."""

    def residuals(self, d: Any) -> dict[str, float]:
        return {name: value for name, value in super().residuals(d).items() if name != "d <= upper"}


@caught_by("residuals")
class NoResidualsOfNan(CappedSimplexIndicator):
    """Nothing is wrong with nan."""

    def residuals(self, d: Any) -> dict[str, float]:
        return {name: 0.0 if np.isnan(d).any() else value for name, value in super().residuals(d).items()}


@caught_by("value_bound")
class HalfTheSpan(RelativeEntropy):
    """A bound of the values that is exceeded."""

    @property
    def value_bound(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 0.5 * super().value_bound


@caught_by("unsmoothed")
class CapsOfHalfTheWeight(RelativeEntropy):
    """A soft margin over twice as many examples: its caps are half as large."""

    @property
    def unsmoothed(self) -> Regularizer:
        return CappedSimplexIndicator(replace(self.domain, nu=2.0 * self.domain.nu))


@caught_by("unsmoothed")
class CapsOfTwiceTheWeight(RelativeEntropy):
    """A soft margin over half as many examples: its caps are twice as large."""

    @property
    def unsmoothed(self) -> Regularizer:
        return CappedSimplexIndicator(replace(self.domain, nu=0.5 * self.domain.nu))


@caught_by("support")
class SupportBelowTheMaximum(CappedSimplexIndicator):
    """A support below the maximum, which would prove feasible programs infeasible."""

    def support(self, z: Any) -> float:
        return super().support(z) - 1e-3


@caught_by("mass")
class HalfTheMass(Hinge):
    """A mass that is exceeded."""

    @property
    def mass(self) -> float:
        return 0.5 * super().mass


@caught_by("room")
class RoomUpwardsOnly(CappedSimplexIndicator):
    """Room up to the cap, not down to 0."""

    def room(self, d: Any) -> Any:
        return self.upper - d


# Regularizers: what the solvers get.


@caught_by("cvxpy-conjugate")
class PsiWithTheWrongSign(CappedSimplexIndicator):
    """beta - <u, psi> for beta + <u, psi>: unbounded."""

    def cvxpy_conjugate(self, z: Any) -> Any:
        beta, psi = cp.Variable(), cp.Variable(self.N, nonneg=True)
        return beta - self.upper @ psi, [psi >= z - beta]


@caught_by("cvxpy-conjugate")
class PriceOverTheNumberOfExamples(Hinge):
    """Raetsch, Onoda, Mueller 2001, figures 12 and 14: the price of a slack divided by a number."""

    def cvxpy_conjugate(self, z: Any) -> Any:
        return (self.upper / self.N) @ cp.pos(1 + z), []


@caught_by("cones")
class ConesNotDeclared(RelativeEntropy):
    """An entropy that says it is linear."""

    cones = frozenset({"linear"})


@caught_by("sizes")
class UnitOfZero(CappedSimplexIndicator):
    """Nothing can be divided by it."""

    @property
    def weight_scale(self) -> Any:
        return np.zeros(self.N)


# Edge functions.


@caught_by("residuals")
class ConjugateWithoutTheSimplex(MaximumEdge):
    """Weights w >= 0 of any sum."""

    def project(self, w: Any) -> Any:
        return np.where(np.isfinite(w), w, 0.0).clip(0.0, 1e9)

    def residuals(self, w: Any) -> dict[str, float]:
        return {"w >= 0": super().residuals(w)["w >= 0"]}


@caught_by("cvxpy-conjugate")
class DualWithoutTheSimplex(MaximumEdge):
    """The same in the model of G*."""

    def cvxpy_conjugate(self, w: Any) -> Any:
        return cp.Constant(0.0), [w >= 0]


@caught_by("cvxpy-conjugate")
class DualOfABoundWithTheSimplex(BoundedEdges):
    """Glocer 2009, lemma 3.1 as printed: SoftBoost's dual with sum w = 1."""

    def cvxpy_conjugate(self, w: Any) -> Any:
        return self.gamma * cp.sum(w), [w >= 0, cp.sum(w) == 1]


@caught_by("residuals")
class BoundWithTheSimplex(BoundedEdges):
    """The same in the closed forms."""

    def project(self, w: Any) -> Any:
        return MaximumEdge().project(w)

    def residuals(self, w: Any) -> dict[str, float]:
        return MaximumEdge().residuals(w)


@caught_by("conjugate")
class HalfTheSquares(SquaredPositiveEdges):
    """1/2 for 1/4, in the value and in the model of it."""

    def value(self, e: Any) -> float:
        return 2.0 * super().value(e)

    def cvxpy_value(self, e: Any) -> Any:
        return 2.0 * super().cvxpy_value(e)[0], []


@caught_by("conjugate", "fenchel-young")
class QuarterOfTheSquaredWeights(SquaredEdges):
    """A quarter in G and in G*."""

    def conjugate(self, w: Any, start: Any = None) -> float:
        return 0.25 * super().conjugate(w)


@caught_by("subgradient")
class SubgradientNotHalved(SquaredEdges):
    """e for e / 2."""

    def subgradient(self, e: Any) -> Any:
        return np.array(e)


@caught_by("active")
class ActiveAtTheSmallestEdges(MaximumEdge):
    """Complementary slackness turned around."""

    def active(self, e: Any, tol: float) -> Active:
        return replace(super().active(e, tol), directions=np.eye(len(e))[:, e <= e.min() + tol])


@caught_by("active")
class ActiveWithoutTheOffset(SquaredEdges):
    """w = 0 where it is e / 2."""

    def active(self, e: Any, tol: float) -> Active:
        return replace(super().active(e, tol), offset=np.zeros(len(e)))


@caught_by("gaps")
class GapsWithoutTheMissingSum(AbsoluteEdge):
    """Nothing for what the 1-norm of w leaves of 1."""

    def gaps(self, e: Any, w: Any) -> Any:
        return np.abs(w) * (self.value(e) - np.sign(w) * e)


@caught_by("domain")
class SupportWithTheWrongSign(FixedEdges):
    """-rho sum of the ray."""

    def support(self, ray: Any) -> float:
        return -super().support(ray)


@caught_by("domain")
class TiedEdgesWithoutADomain(TiedEdges):
    """Any two edges."""

    def domain(self, t: int) -> Polyhedron | None:
        return None


@caught_by("convexity")
class SmallestEdge(MaximumEdge):
    """The minimum, which is concave."""

    def value(self, e: Any) -> float:
        return float(e.min())


@caught_by("project")
class ProjectsOntoThePositiveWeights(MaximumEdge):
    """The sum stays what it was."""

    def project(self, w: Any) -> Any:
        return np.where(np.isfinite(w), w, 0.0).clip(0.0, 1e9)


@caught_by("cvxpy-value", "fenchel-young")
class SlopeMissing(LinearEdges):
    """The sum of the edges."""

    def value(self, e: Any) -> float:
        return float(e.sum())


@caught_by("cones")
class SquaresNotDeclared(SquaredEdges):
    """Squares that say they are linear."""

    cones = frozenset({"linear"})


@caught_by("sizes")
class MagnitudeThatIsNotANumber(SquaredEdges):
    """No rounding can be bounded with it."""

    def magnitude(self, e: Any, w: Any, mass: float) -> float:
        return np.nan


@pytest.mark.thorough_cases("RelativeEntropy", "CvxpyRegularizer")
@pytest.mark.every(3)
@pytest.mark.parametrize("kind", [*MAKERS, *list(EDGES)[:-1], MaximumEdge, AbsoluteEdge])
def test_the_right_ones_pass(kind: type[Any]) -> None:
    report(kind).raise_if_failed()


@pytest.mark.thorough_cases(
    "BetaWithTheWrongSign-",
    "BinaryConjugateWithoutTheOne-",
    "CapNuForOneOverNu-",
    "GradientWithOneCommonDenominator-",
    "ModulusTwiceTooLarge-",
    "HalfTheSpan-",
    "ConesNotDeclared-",
)
@pytest.mark.every(8)
@pytest.mark.parametrize(("kind", "names"), CATALOGUE, ids=lambda value: getattr(value, "__name__", ""))
def test_the_wrong_ones_are_caught_by_the_check_that_should(kind: type[Any], names: tuple[str, ...]) -> None:
    check_report = report(kind)
    failed = {check.name for check in check_report.failures}
    assert failed >= set(names)
    for name in names:
        check = check_report[name]
        assert not check.worst <= check.tolerance
        assert check.words


def test_the_catalogue_is_as_long_as_it_is_said_to_be() -> None:
    assert len(CATALOGUE) >= 40
    regularizer_checks = {name for kind, names in CATALOGUE for name in names if issubclass(kind, Regularizer)}
    edge_checks = {name for kind, names in CATALOGUE for name in names if issubclass(kind, EdgeFunction)}
    from boostopt.checks.edge_checks import EDGE_CHECKS
    from boostopt.checks.regularizer_checks import REGULARIZER_CHECKS

    # There is no check that no mistake of the catalogue needs.
    assert regularizer_checks == set(REGULARIZER_CHECKS)
    assert edge_checks == set(EDGE_CHECKS)


def test_a_piece_that_raises_is_a_failed_check_in_words() -> None:
    class Raises(MaximumEdge):
        def gaps(self, e: Any, w: Any) -> Any:
            raise ZeroDivisionError("no gaps today")

    check_report = check_edge(Raises())
    assert [check.name for check in check_report.failures] == ["gaps"]
    words = r"test_wrong_pieces\.py:\d+ in Raises\.gaps \w+ ZeroDivisionError: no gaps today"
    assert re.fullmatch(words, check_report["gaps"].words)


@pytest.mark.thorough
def test_nonconvex_pieces_are_refused_in_words() -> None:
    assert re.search(r"\bconvex\b.*\bCVXPY\b.*\bconcave\b", report(NotConvex)["cvxpy-value"].words)
    assert "simplex" in report(MissesTheSimplex)["domain"].words


@pytest.mark.every(4)
@pytest.mark.parametrize("answer", (None, np.zeros((N, 1)), np.array(["a"] * N)), ids=("none", "column", "words"))
@pytest.mark.parametrize(
    "method", ("value", "project", "gaps", "residuals", "room", "support", "weight_scale", "cvxpy_value")
)
def test_an_answer_of_another_kind_is_a_failed_check_and_no_exception(method: str, answer: Any) -> None:
    faulty_class = type(
        "Wrong", (Hinge,), {method: property(lambda self: answer) if method == "weight_scale" else lambda *_: answer}
    )
    check_report = report(faulty_class)
    assert not check_report.passed
    assert all(check.words for check in check_report)


@pytest.mark.every(3)
@pytest.mark.parametrize("answer", (None, np.zeros((3, 1))), ids=("none", "column"))
@pytest.mark.parametrize("method", ("value", "conjugate", "subgradient", "gaps", "residuals", "active", "cvxpy_value"))
def test_likewise_of_an_edge_function(method: str, answer: Any) -> None:
    check_report = report(type("Wrong", (SquaredEdges,), {method: lambda *_: answer}))
    assert not check_report.passed
    assert all(check.words for check in check_report)
