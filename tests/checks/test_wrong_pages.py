"""A catalogue of wrong pages, one mistake each: every one is caught, by the check that should.

Most are misprints of the papers, put back into pages that are right.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
import pytest

from boostopt.authoring import (
    AbsoluteEdge,
    CappedSimplex,
    CappedSimplexIndicator,
    ConjugatePoint,
    Formulation,
    RelativeEntropy,
    maximize,
    minimize,
)
from boostopt.checks import CheckReport, check_formulation
from boostopt.checks.formulation_checks import COPIES_MESSAGE, FORMULATION_CHECKS
from boostopt.formulations.binary_erlpboost import BinaryERLPBoost
from boostopt.formulations.entropy_projection import EntropyProjection
from boostopt.formulations.erlpboost import ERLPBoost
from boostopt.formulations.l1_adaboost import L1AdaBoost
from boostopt.formulations.lpboost import LPBoost
from boostopt.formulations.norm_ball import NormBallBoost
from boostopt.formulations.qp_reg_adaboost import QPRegAdaBoost
from boostopt.formulations.softboost import SoftBoost
from boostopt.formulations.unnormalized_erlpboost import UnnormalizedERLPBoost

Page = TypeVar("Page", bound=type[Formulation[Any]])
CATALOGUE = list[tuple[type[Formulation[Any]], tuple[str, ...], dict[str, Any]]]()


def caught_by(*names: str, **parameters: Any) -> Callable[[Page], Page]:
    """Enter a page into the catalogue, with the checks that must fail and parameters that are kept."""

    def enter(page: Page) -> Page:
        CATALOGUE.append((page, names, parameters))
        return page

    return enter


def simplex_dual(U: Any, objective: Callable[[Any, Any], Any], further: Any = None) -> Any:
    """A dual in w of the simplex and psi >= 0, or what is further said of them."""
    N, t = U.shape
    w, psi = cp.Variable(t, name="w"), cp.Variable(N, name="psi")
    constraints = {"gamma": cp.sum(w) == 1, "w >= 0": w >= 0, "psi >= 0": psi >= 0}
    return maximize(objective(w, psi), subject_to=constraints | (further(w, psi) if further else {}))


# Misprints: the dual function at random w.


@caught_by("strong-duality", "literal-dual", "printed-dual-at-w")
class SoftBoostWithSumOne(SoftBoost):
    """Glocer 2009, lemma 3.1: the dual with sum w = 1."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().dual(U, p, examples)
        w = next(variable for variable in right.variables() if variable.name() == "w")
        sum_one: Any = cp.sum(w) == 1
        return cp.Problem(right.objective, [*right.constraints, sum_one.set_label("gamma")])


@caught_by("strong-duality", "printed-dual-at-w", two_sided=False)
class PsiWithTheWrongSign(ERLPBoost):
    """Glocer 2009, after (3.16): exp(-eta (sum u w - psi)) for + psi."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        return simplex_dual(
            U,
            lambda w, psi: (
                -(1 / p.eta) * cp.log_sum_exp(np.log(examples.d0) - p.eta * (U @ w - psi)) - (examples.c / p.nu) @ psi
            ),
        )


@caught_by("strong-duality", "printed-dual-at-w", two_sided=False)
class OneOverEtaMissing(ERLPBoost):
    """The logarithm without 1 / eta."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        return simplex_dual(
            U,
            lambda w, psi: -cp.log_sum_exp(np.log(examples.d0) - p.eta * (U @ w + psi)) - (examples.c / p.nu) @ psi,
        )


@caught_by("strong-duality", "printed-dual-at-w", two_sided=False)
class SumMisplaced(UnnormalizedERLPBoost):
    """Glocer 2009, (3.19): (1/eta)(-sum d0 exp(...) + d0_n) for (1/eta) sum (d0_n - d0_n exp(...))."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        beta = cp.Variable(name="beta")
        return simplex_dual(
            U,
            lambda w, psi: (
                (1 / p.eta) * (examples.d0[0] - cp.sum(cp.exp(np.log(examples.d0) - p.eta * (U @ w + psi + beta))))
                - (examples.c / p.nu) @ psi
                - beta
            ),
        )


@caught_by("strong-duality", "printed-dual-at-w", two_sided=False)
class BinaryDualWithoutTheOne(BinaryERLPBoost):
    """ln(p exp(y)) for ln(1 - p + p exp(y))."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        beta = cp.Variable(name="beta")
        caps = examples.c / p.nu
        odds = np.log(examples.d0 / caps)
        return simplex_dual(
            U, lambda w, psi: -(1 / p.eta) * caps @ (odds - p.eta * (U @ w + beta)) - beta - cp.sum(psi)
        )


@caught_by("strong-duality", "printed-dual-at-w")
class PriceOverTheNumberOfExamples(L1AdaBoost):
    """Raetsch, Onoda, Mueller 2001, figures 12 and 14: C / T for the price of one example."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        return super().dual(U, replace(p, C=p.C / examples.N), examples)


@caught_by("strong-duality", "printed-dual-at-w", two_sided=False)
class PsiWithMinForMax(LPBoost):
    """Glocer 2009, before (2.2): psi = min(0, rho - m), which makes psi <= 0."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        rho = cp.Variable(name="rho")
        return simplex_dual(
            U,
            lambda w, psi: rho - (examples.c / p.nu) @ psi,
            lambda w, psi: {"psi >= 0": psi <= 0, "d": U @ w >= rho - psi},
        )


@caught_by("printed-dual-at-w", two_sided=False, p=3.0, eta=np.inf, r=0.6)
class NormWithPForQ(NormBallBoost):
    """The norm in the dual is the dual norm."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        rho = cp.Variable(name="rho")
        return simplex_dual(
            U,
            lambda w, s: rho - p.r * cp.pnorm(cp.multiply(examples.c ** (1 / 3), s), 3),
            lambda w, s: {"d": U @ w >= rho - s},
        )


@caught_by("literal-primal", "strong-duality")
class HalfTheSquares(QPRegAdaBoost):
    """1/2 for 1/4 of the squared edges; this page labels no constraint with w."""

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        d = cp.Variable(examples.N, name="d")
        objective = -cp.sum(d) + 0.5 * cp.sum_squares(cp.pos(U.T @ d))
        return minimize(objective, subject_to={"psi": d <= p.C * examples.c, "d >= 0": d >= 0})


@caught_by("printed-dual-at-w", two_sided=False)
class RightAtTheOptimumOnly(LPBoost):
    """Strong duality holds, but the problem is not the dual: only a comparison at other w shows the mistake."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().dual(U, p, examples)
        right.solve("CLARABEL")
        w = next(variable for variable in right.variables() if variable.name() == "w")
        distance = cp.sum_squares(w - w.value)
        return cp.Problem(cp.Maximize(right.objective.expr - distance), right.constraints)


# The primal, F and G.


@caught_by("literal-primal", "strong-duality")
class CapWithoutMultiplicities(LPBoost):
    """The same cap for every example in the primal."""

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        return super().primal(U, p, replace(examples, c=np.full(examples.N, examples.total / examples.N)))


@caught_by("copies")
class MultiplicitiesIgnored(LPBoost):
    """Everything agrees with everything else, and copies of an example still count for nothing."""

    def regularizer(self, p: Any, examples: Any) -> CappedSimplexIndicator:
        return CappedSimplexIndicator(CappedSimplex(np.ones(examples.N), min(p.nu, examples.N)))

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        return super().primal(U, replace(p, nu=min(p.nu, examples.N)), replace(examples, c=np.ones(examples.N)))

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        return super().dual(U, replace(p, nu=min(p.nu, examples.N)), replace(examples, c=np.ones(examples.N)))


@caught_by("permutation", "literal-primal", "closed-dual-at-w")
class ReferenceByPosition(ERLPBoost):
    """d0 by the order of the examples."""

    def regularizer(self, p: Any, examples: Any) -> RelativeEntropy:
        d0 = np.arange(1.0, examples.N + 1.0)
        return RelativeEntropy.capped(examples.c, p.nu, p.eta, d0 / d0.sum())


@caught_by("closed-dual-at-w", "literal-primal", two_sided=False)
class TwoSidedByMistake(LPBoost):
    """The largest absolute edge where the largest is printed."""

    def edge_function(self, p: Any) -> Any:
        return AbsoluteEdge()


class _LooseEntropy(RelativeEntropy):
    def conjugate_at(self, z: Any, start: Any = None) -> ConjugatePoint:
        point = super().conjugate_at(z)
        return replace(point, value=point.value + 0.01)


@caught_by("F: conjugate", "F: maximizer", "closed-dual-at-w", two_sided=False)
class WrongRegularizer(ERLPBoost):
    """The mistake is in F, and its checks find it."""

    def regularizer(self, p: Any, examples: Any) -> RelativeEntropy:
        return _LooseEntropy.capped(examples.c, p.nu, p.eta, examples.d0)


class _FarEdges(AbsoluteEdge):
    def value(self, e: Any) -> float:
        return super().value(e) + 0.01


@caught_by("G: subgradient", "G: cvxpy-value", "certificate", two_sided=True)
class WrongEdgeFunction(LPBoost):
    """The mistake is in G."""

    def edge_function(self, p: Any) -> Any:
        return _FarEdges()

    def regularizer(self, p: Any, examples: Any) -> CappedSimplexIndicator:
        return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))


# Labels and senses.


@caught_by("multiplier-w", "printed-dual-at-w", "closed-dual-at-w")
class LabelWithTheWrongSign(EntropyProjection):
    """The multiplier of rho - edges = 0 is minus w."""

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().primal(U, p, examples)
        constraints = [(p.rho == c.args[0]).set_label("w") if c.label == "w" else c for c in right.constraints]
        return cp.Problem(
            right.objective, [(0 == p.rho - c.args[1]).set_label("w") if c.label == "w" else c for c in constraints]
        )


@caught_by("multiplier-w", "printed-dual-at-w", two_sided=False)
class LabelOfAnotherConstraint(LPBoost):
    """w and psi exchanged."""

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().primal(U, p, examples)
        swapped = {"w": "psi", "psi": "w"}
        for constraint in right.constraints:
            constraint.set_label(swapped.get(constraint.label, constraint.label))
        return right


@caught_by("multiplier-d", two_sided=False)
class LabelDOfAnotherConstraint(LPBoost):
    """d and psi >= 0 exchanged."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().dual(U, p, examples)
        swapped = {"d": "psi >= 0", "psi >= 0": "d"}
        for constraint in right.constraints:
            constraint.set_label(swapped.get(constraint.label, constraint.label))
        return right


@caught_by("labels")
class NoLabel(LPBoost):
    """A constraint without a label."""

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().primal(U, p, examples)
        return cp.Problem(right.objective, [*right.constraints, cp.Variable() == 0])


@caught_by("labels")
class LabelTwice(LPBoost):
    """One label for all."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().dual(U, p, examples)
        for constraint in right.constraints:
            constraint.set_label("gamma")
        return right


@caught_by("senses")
class DualMinimized(LPBoost):
    """Minus the dual, to be minimized."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        right = super().dual(U, p, examples)
        return cp.Problem(cp.Minimize(-right.objective.expr), right.constraints)


@caught_by("printed-dual-at-w", two_sided=False)
class DualWithoutW(LPBoost):
    """The weights have another name."""

    def dual(self, U: Any, p: Any, examples: Any) -> Any:
        rho, weights = cp.Variable(name="rho"), cp.Variable(U.shape[1], name="weights")
        margins = U @ weights - rho
        return maximize(
            rho - (examples.c / p.nu) @ cp.pos(-margins),
            subject_to={"gamma": cp.sum(weights) == 1, "w >= 0": weights >= 0},
        )


@caught_by("printed-dual-at-w", "closed-dual-at-w", two_sided=False)
class NoEdgesToBeFound(LPBoost):
    """Neither a label w nor a product of d with columns of U."""

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        d = cp.Variable(examples.N, name="d")
        edges = cp.vstack([cp.sum(cp.multiply(column, d)) for column in U.T])
        return minimize(
            cp.max(edges), subject_to={"beta": cp.sum(d) == 1, "psi": d <= examples.c / p.nu, "d >= 0": d >= 0}
        )


# Exceptions.


@caught_by("strong-duality", "literal-primal", "printed-dual-at-w")
class NotWritten(LPBoost):
    """A page in the making."""

    def primal(self, U: Any, p: Any, examples: Any) -> Any:
        raise NotImplementedError("the primal is not written yet")


@caught_by("binds")
class CannotBeBound(LPBoost):
    """A page that raises what is no answer."""

    def regularizer(self, p: Any, examples: Any) -> CappedSimplexIndicator:
        raise KeyError("nu")


@functools.cache
def report_on_page(page: type[Formulation[Any]]) -> CheckReport:
    """Check a page on two instances, enough for gross mistakes; F and G only where the mistake is theirs."""
    names, parameters = next((names, parameters) for kind, names, parameters in CATALOGUE if kind is page)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("boostopt.checks.formulation_checks.N_INSTANCES", 2)
        for side, registry in (("F", "REGULARIZER_CHECKS"), ("G", "EDGE_CHECKS")):
            if not any(name.startswith(f"{side}: ") for name in names):
                patch.setattr(f"boostopt.checks.formulation_checks.{registry}", {})
        return check_formulation(page(), **parameters)


@pytest.mark.thorough_cases(
    "SoftBoostWithSumOne-", "BinaryDualWithoutTheOne-", "HalfTheSquares-", "ReferenceByPosition-", "LabelTwice-"
)
@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("page", "names"), [entry[:2] for entry in CATALOGUE], ids=lambda value: getattr(value, "__name__", "")
)
def test_the_wrong_ones_are_caught_by_the_check_that_should(
    page: type[Formulation[Any]], names: tuple[str, ...]
) -> None:
    page_report = report_on_page(page)
    assert {check.name for check in page_report.failures} >= set(names)
    for name in names:
        assert not page_report[name].worst <= page_report[name].tolerance
        assert page_report[name].words


@pytest.mark.thorough
def test_only_other_weights_show_a_dual_that_is_right_at_the_optimum_only() -> None:
    assert {check.name for check in report_on_page(RightAtTheOptimumOnly).failures} == {"printed-dual-at-w"}


@pytest.mark.thorough
def test_only_copies_show_multiplicities_that_are_ignored() -> None:
    (copies,) = report_on_page(MultiplicitiesIgnored).failures
    assert copies.name == "copies"
    assert COPIES_MESSAGE in copies.words


def test_every_check_finds_a_mistake_of_the_catalogue() -> None:
    assert {name for _, names, _ in CATALOGUE for name in names} >= {*FORMULATION_CHECKS, "binds"}


@pytest.mark.thorough
def test_words_say_what_is_missing_and_where_it_was_raised() -> None:
    words = report_on_page(NotWritten)["literal-primal"].words
    assert re.match(r"test_wrong_pages\.py:\d+ in NotWritten\.primal .*\bNotImplementedError\b", words)
    assert "KeyError" in report_on_page(CannotBeBound)["binds"].words
    assert re.search(r'"w" .*\bt = 3\b.* rho, weights$', report_on_page(DualWithoutW)["printed-dual-at-w"].words)
    assert "U.T @ d" in report_on_page(NoEdgesToBeFound)["printed-dual-at-w"].words


@pytest.mark.thorough
def test_words_say_in_which_instance_and_at_which_weights() -> None:
    check = report_on_page(PsiWithTheWrongSign)["printed-dual-at-w"]
    words = check.words
    printed_value, mechanical_value, *_ = map(float, re.findall(r"-?\d+\.\d+", words))
    assert abs(printed_value - mechanical_value) == pytest.approx(check.worst, rel=1e-6)
    assert "at w = [" in words
    assert "instance = (MarginMatrix(N=" in words
