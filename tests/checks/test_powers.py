"""CVXPY replaces exponents by ratios, and bounds of F* are tight near the optimum only: no page is blamed for either.

The pages state an entropy of Renyi. A page whose printed problem is wrong is still caught.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import check_formulation
from boostopt.authoring import (
    COUNT,
    FRACTION,
    POSITIVE,
    Array,
    CappedSimplex,
    CvxpyRegularizer,
    Float,
    parameter,
    prototype,
)
from boostopt.checks import formulation_checks as pages
from boostopt.checks.references.cvxpy_references import problem_with_exact_exponents
from boostopt.programs.formulation import Formulation

PARAMETERS = {
    "nu": parameter("the least number of examples", COUNT),
    "q": parameter("the order", FRACTION, 0.5),
    "eta": parameter("the inverse strength", POSITIVE),
}


@pytest.fixture
def one_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "N_INSTANCES", 1)


def renyi(d: Any, a: Float[Array, " N"], q: float, eta: float, **options: Any) -> Any:
    """Return the divergence of Renyi from a as CVXPY has it."""
    return -cp.log(cp.sum(cp.multiply(a ** (1 - q), cp.power(d, q, **options)))) / ((1 - q) * eta)


def page(**options: Any) -> Formulation[Any]:
    def regularizer(p: Any, examples: Any) -> CvxpyRegularizer:
        a = examples.c / examples.total
        domain = CappedSimplex(examples.c, p.nu)
        return CvxpyRegularizer(domain, lambda d: renyi(d, a, p.q, p.eta, **options), inside=a)

    return prototype("renyi", regularizer, **PARAMETERS)


def printed_page(slip: float, label: str) -> Formulation[Any]:
    """Return the page with a literal primal. A slip of the order or another label makes the primal wrong."""

    def primal(self: Any, U: Float[Array, "N t"], p: Any, examples: Any) -> Any:
        d: Any = cp.Variable(len(U), name="d")
        gamma: Any = cp.Variable(name="gamma")
        a = examples.c / examples.total
        total: Any = cp.sum(d) == 1
        constraints: list[Any] = [
            (U.T @ d <= gamma).set_label("w" if label == "w" else "edges"),
            total.set_label("beta"),
            (d <= examples.c / p.nu).set_label("psi"),
            (d >= 0).set_label("zeta"),
            (2.0 * U.T @ d <= 2.0 * gamma + 1e-3).set_label("slack" if label == "w" else "w"),
        ]
        return cp.Problem(cp.Minimize(gamma + renyi(d, a, p.q + slip, p.eta)), constraints)

    formulation = page()
    formulation.__class__ = type("Printed", (type(formulation),), {"primal": primal})
    return formulation


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"approx": False}], ids=["approximated", "exact"])
def test_no_page_is_blamed_for_the_accuracy_of_an_answer(options: dict[str, Any]) -> None:
    check_formulation(page(**options)).raise_if_failed()


@pytest.mark.thorough
@pytest.mark.usefixtures("one_instance")
def test_a_printed_primal_with_the_same_powers_passes() -> None:
    check_formulation(printed_page(0.0, "w")).raise_if_failed()


@pytest.mark.thorough
@pytest.mark.usefixtures("one_instance")
def test_a_small_slip_of_the_order_is_caught() -> None:
    report = check_formulation(printed_page(1e-3, "w"), q=0.8, eta=0.5)
    assert "literal-primal" in {check.name for check in report.failures}, str(report)


@pytest.mark.thorough
@pytest.mark.usefixtures("one_instance")
def test_a_label_at_another_constraint_is_caught() -> None:
    report = check_formulation(printed_page(0.0, "slack"))
    assert "multiplier-w" in {check.name for check in report.failures}, str(report)


def sum_of_powers(x: Any) -> Any:
    return cp.sum(cp.power(x, np.pi))


def power_norm(x: Any) -> Any:
    p: Any = 2.7183
    return cp.pnorm(x, p)


@pytest.mark.parametrize("make", [sum_of_powers, power_norm])
def test_exponents_are_those_that_were_written(make: Any) -> None:
    x: Any = cp.Variable(4, name="x")
    one: Any = cp.sum(x) == 1
    problem = cp.Problem(cp.Minimize(make(x)), [one.set_label("sum"), (make(2 * x) <= 9.0).set_label("cap")])
    exact = problem_with_exact_exponents(problem)
    assert [constraint.label for constraint in exact.constraints] == ["sum", "cap"]
    assert exact.variables() == [x]
    assert not any(kind.__name__.endswith("Approx") for kind in exact.atoms())
    assert any(kind.__name__.endswith("Approx") for kind in problem.atoms())
