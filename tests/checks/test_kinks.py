"""A closed form whose slope jumps is found by the check, refused by backends that need slopes, and solved by others."""

from __future__ import annotations

import re
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from boostopt import solve
from boostopt.authoring import COUNT, POSITIVE, Array, CappedSimplex, Float, formula, parameter, prototype
from boostopt.backends import get_backend
from boostopt.checks import check_regularizer
from boostopt.cli.templates.regularizer_class import NewName
from boostopt.functions.regularizers.base import Regularizer

C = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0])


@dataclass(frozen=True, eq=False)
class Distance(NewName):
    """The sum of |d - a| / eta, stated as if it had slopes."""

    has_closed_form_conjugate = False

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.abs(d - self.a) / self.eta

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.sign(d - self.a) / self.eta

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.where(self.eta * y > 1, self.upper, np.where(self.eta * y < -1, 0.0, self.a))

    @property
    def strong_convexity(self) -> float:
        return 0.0


def distance(c: Float[Array, " N"], nu: float, eta: float) -> Distance:
    a = c / c.sum()
    return Distance(CappedSimplex(c, nu), lambda d: cp.norm1(d - a) / eta, inside=a, eta=eta)


PAGE = prototype(
    "distance",
    lambda p, examples: distance(examples.c, p.nu, p.eta),
    nu=parameter("number", COUNT),
    eta=parameter("strength", POSITIVE),
)


def test_the_check_says_where_the_slope_jumps() -> None:
    check = check_regularizer(distance(C, 2.0, 3.0))["curvature"]
    assert not check.passed
    assert re.search(r"\bDistance \(derivatives\)\D* 0\.667 .*\bCvxpyRegularizer\b", check.words)


def test_backends_that_need_slopes_refuse_it_and_another_one_solves_it() -> None:
    U = np.random.default_rng(0).uniform(-1.0, 1.0, (len(C), 3))
    program = PAGE.bind(U, c=C, nu=3.0, eta=2.0)
    for name in ("interior", "sqp:highs"):
        capability = get_backend(name).takes(program)
        assert not capability
        assert re.search(r"\bDistance \(derivatives\)\D* 1 ", capability.reason)
    solution = solve(program)
    assert solution.backend.startswith("cvxpy")
    assert solution.certificate.scaled_gap <= 1e-6


@pytest.mark.parametrize(
    "F",
    [
        NewName(CappedSimplex(C, 2.0), lambda d: cp.sum_squares(d), inside=C / C.sum(), eta=1e-3),
        formula("d*log(d/d0)/0.001", domain=CappedSimplex(C, 2.0)),
        formula("c*huber((d - d0)/c, 0.00001)*1000", domain=CappedSimplex(C, 2.0)),
        formula("c*(d/c)**1.1", domain=CappedSimplex(C, 2.0)),
        formula("c/(1.000001 - d/u)", domain=CappedSimplex(C, 2.0)),
    ],
    ids=["squares", "entropy", "huber", "power", "barrier"],
)
def test_a_steep_slope_is_no_jump(F: Regularizer) -> None:
    terms = F.pointwise()
    assert terms is not None
    assert terms.find_derivative_jump() is None
