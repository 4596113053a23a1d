"""A regularizer that is infinite at an end of its domain has no bound of its values, and passes all the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt.authoring import COUNT, POSITIVE, Array, CappedSimplex, Float, formula, parameter, prototype
from boostopt.checks import check_formulation, check_regularizer
from boostopt.cli.templates.regularizer_class import NewName


@dataclass(frozen=True, eq=False)
class Burg(NewName):
    """Burg's entropy, -(1/eta) sum a ln(d / a), in closed form, on the domain of the template."""

    bound: float = np.inf

    @np.errstate(divide="ignore")
    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return -self.a * np.log(d / self.a) / self.eta

    @np.errstate(divide="ignore")
    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return -self.a / d / self.eta

    @np.errstate(divide="ignore")
    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.where(y < 0, np.minimum(-self.a / (self.eta * y), self.upper), self.upper)

    @property
    def value_bound(self) -> float:
        return self.bound

    @property
    def strong_convexity(self) -> float:
        return 0.0

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        beta, psi = cp.Variable(), cp.Variable(self.N, nonneg=True)
        log = self.a @ (1 + cp.log(-self.eta * (z - beta - psi)))
        return beta + self.upper @ psi - log / self.eta, []


def burg(c: np.ndarray, nu: float, eta: float, bound: float) -> Burg:
    a = c / c.sum()

    def expression(d: Any) -> Any:
        return (a @ np.log(a) - a @ cp.log(d)) / eta

    return Burg(CappedSimplex(c, nu), expression, inside=a, objective_scale=eta, eta=eta, bound=bound)


@pytest.mark.thorough
@pytest.mark.parametrize("bound", [np.inf, np.nan])
def test_no_bound_is_no_fault(bound: float) -> None:
    report = check_regularizer(burg(np.array([1.0, 2.0, 0.5, 1.0]), 2.0, 3.0, bound)).raise_if_failed()
    assert ("not known" in report["value_bound"].words) == bool(np.isnan(bound))
    assert not check_regularizer(burg(np.ones(4), 2.0, 3.0, 0.1))["value_bound"].passed


@pytest.mark.thorough
@pytest.mark.parametrize("bound", [np.inf, np.nan])
def test_a_page_without_a_bound_passes_and_its_program_is_solved(bound: float) -> None:
    page = prototype(
        "burg",
        lambda p, e: burg(e.c, p.nu, p.eta, bound),
        nu=parameter("the number of examples that share the weight", COUNT),
        eta=parameter("the inverse strength", POSITIVE),
    )
    check_formulation(page).raise_if_failed()
    U = np.random.default_rng(0).uniform(-1, 1, (40, 5))
    assert page.bind(U, nu=8.0, eta=10.0).solve(tol=1e-8).certificate.scaled_gap <= 1e-8


@pytest.mark.thorough
def test_a_barrier_that_is_infinite_at_the_caps_passes() -> None:
    def regularizer(p: Any, examples: Any) -> Any:
        return formula("-u*log(1 - d/u)/eta", domain=CappedSimplex(examples.c, p.nu), eta=p.eta)

    page = prototype("barrier", regularizer, nu=parameter("number", COUNT), eta=parameter("strength", POSITIVE))
    check_formulation(page).raise_if_failed()
    # As many examples as there are: the caps are the only weights, and the barrier is infinite there.
    check_formulation(page, nu=9.93939).raise_if_failed()


def test_gaps_at_the_cap_of_a_barrier_are_infinite() -> None:
    F = formula("-u*log(1 - d/u)", domain=CappedSimplex(np.ones(4), 2.0))
    gaps = F.young_gaps(np.array([0.5, 0.5, 0.0, 0.0]), np.array([1e20, 2.0, 3.0, 1e20]))
    np.testing.assert_array_equal(np.isinf(gaps[:2]), True)
    assert not np.isnan(gaps).any()
