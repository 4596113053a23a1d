"""Nine named functions, each as one formula, equal their classes and what is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.named_formulas import TWINS, formula_of

from boostopt import check_formulation, check_regularizer
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    Formulation,
    RelativeEntropy,
    Squares,
    formula,
    parameter,
    prototype,
)
from boostopt.functions.regularizers.user_defined.formula_regularizer import FormulaRegularizer
from boostopt.programs.program import Program
from boostopt.verification import save, verify

pytestmark = pytest.mark.every(2)

N, T, NU = 60, 6, 8.0
QUICK = ("relative entropy", "Fermi-Dirac", "Huber")
TWIN_CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in TWINS]
EQUAL = 1e-9


def random_data(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return margins, multiplicities, a reference distribution well below the caps, and eta."""
    rng = np.random.default_rng(seed)
    c, d0 = rng.uniform(0.5, 2.0, N), rng.dirichlet(np.full(N, 20.0))
    d0 = np.minimum(d0, 0.9 * c / NU)
    return np.round(rng.uniform(-1, 1, (N, T)), 3), c, d0 / d0.sum(), float(rng.choice([3.0, 30.0, 300.0]))


def bound(name: str, by_formula: bool, seed: int = 0) -> Program:
    U, c, d0, eta = random_data(seed)
    make: Any = (lambda p, e: formula_of(name, e.c, NU, eta, e.d0)) if by_formula else None
    make = make or (lambda p, e: TWINS[name][0](e.c, NU, eta, e.d0))
    return prototype(name, make).bind(U, c=c, d0=d0)


@pytest.mark.thorough_cases("squares")
@pytest.mark.parametrize("name", TWINS)
def test_a_formula_equals_its_twin(name: str) -> None:
    for seed in range(2):
        _, c, d0, eta = random_data(seed)
        rng = np.random.default_rng(seed)
        F: Any = formula_of(name, c, NU, eta, d0)
        twin: Any = TWINS[name][0](c, NU, eta, d0)
        for _ in range(3):
            d = twin.project(rng.dirichlet(np.ones(N)))
            z = rng.normal(size=N)
            assert F.value(d) == pytest.approx(twin.value(d), abs=EQUAL)
            point, conjugate_point = F.conjugate_at(z), twin.conjugate_at(z)
            assert point.value == pytest.approx(conjugate_point.value, abs=EQUAL)
            # A maximizer attains the conjugate: F(d) + F*(z) = <z, d>.
            assert F.value(point.d) + point.value - float(z @ point.d) == pytest.approx(0.0, abs=EQUAL)
            inner = 0.5 * (d + c / c.sum())
            bends = F.curvatures(inner)
            assert np.allclose(bends, twin.curvatures(inner), rtol=1e-9)
            slopes = F.derivatives(inner) - twin.derivatives(inner)
            assert np.allclose(slopes, slopes.mean(), atol=1e-9)  # on the simplex a constant slope is nothing


@pytest.mark.parametrize("name", TWIN_CASES)
def test_the_certified_optimum_is_that_of_the_twin_and_the_file_verifies(name: str, tmp_path: Path) -> None:
    program = bound(name, True)
    solution = program.solve("interior", tol=1e-9)
    certificate, twin = solution.certificate, bound(name, False).solve("interior", tol=1e-9).certificate
    assert certificate.scaled_gap <= 1e-9
    assert certificate.lower <= twin.upper + EQUAL and twin.lower <= certificate.upper + EQUAL
    if twin.gap <= EQUAL:
        assert certificate.upper == pytest.approx(twin.upper, abs=2 * EQUAL)
    path = tmp_path / "certificate.json"
    save(solution, path)
    page = program.formulation
    rough = verify(path, program, formulation=page)
    fine = verify(path, program, formulation=page, exact=True)
    assert rough and fine and fine.verdict == "proved"
    assert rough.lower <= fine.lower <= fine.upper <= rough.upper


@pytest.mark.thorough
@pytest.mark.parametrize("name", TWINS)
def test_cvxpy_solves_what_the_formula_says(name: str) -> None:
    program = bound(name, True)
    solution = program.solve("cvxpy:clarabel", tol=1e-6)
    assert solution.certificate.scaled_gap <= 1e-6
    by_interior = program.solve("interior", tol=1e-9).certificate
    assert solution.certificate.lower <= by_interior.upper and by_interior.lower <= solution.certificate.upper


@pytest.mark.thorough
@pytest.mark.parametrize("name", TWINS)
def test_formulas_pass_the_checks_of_regularizers(name: str) -> None:
    rng = np.random.default_rng(1)
    c, d0 = rng.uniform(0.5, 2.0, 8), rng.dirichlet(np.full(8, 20.0))
    check_regularizer(formula_of(name, c, 2.0, 3.0, d0)).raise_if_failed()


def entropic(text: str) -> Formulation[Any]:
    return prototype(
        "a formula",
        lambda p, e: formula(text, CappedSimplex(e.c, p.nu), e.d0, eta=p.eta),
        nu=parameter("the least number of examples that share the weight", COUNT),
        eta=parameter("the inverse strength", POSITIVE),
    )


@pytest.mark.thorough
def test_a_page_with_a_formula_passes_the_checks_of_formulations() -> None:
    check_formulation(entropic("d*log(d/d0)/eta")).raise_if_failed()


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["c*sqrt(1 + (d/c)**2)/eta", "d*log(1 + d/c)/eta"])
def test_formulas_without_a_cvxpy_expression_pass_the_other_checks(text: str) -> None:
    report = check_formulation(entropic(text)).raise_if_failed()
    unasked = {name for name in ("F: conjugate", "F: cones", "senses") if "no expression" in report[name].words}
    assert unasked == {"F: conjugate", "F: cones", "senses"}
    words = report["certificate"].words
    assert words.startswith("3 ") and "no expression" in words
    assert not check_regularizer(_Doubled(text, CappedSimplex(np.ones(6), 2.0), None, {"eta": 3.0})).passed


class _Doubled(FormulaRegularizer):
    """A formula whose values are not those of its slopes."""

    def values(self, d: np.ndarray) -> np.ndarray:
        return 2.0 * super().values(d)


@pytest.mark.parametrize("text", ["max(d - d0, 0)**2", "max(d - d0, 0)**1.5", "max(d - 2*d0, 0)**2", "2*d"])
def test_flat_pieces_have_their_ends_for_maximizers(text: str) -> None:
    """If every slope is 0 at one multiplier, any distribution on the flat pieces is the minimizer."""
    N = 6
    F = formula(text, CappedSimplex(np.ones(N), 2.0))
    point = F.conjugate_at(np.zeros(N))
    assert abs(point.d.sum() - 1.0) < 1e-12 and (point.d >= 0).all() and (point.d <= 0.5).all()
    assert abs(F.value(point.d) + point.value) <= 1e-12
    U = np.random.default_rng(0).uniform(-1, 1, (N, 3))
    certificate = prototype("flat", lambda p, e: F).bind(U).solve("interior", tol=1e-6).certificate
    assert certificate.scaled_gap <= 1e-6  # the curvature of x**1.5 is infinite at 0: 2e-7 is what is reached


@pytest.mark.thorough
def test_powers_of_largest_parts_pass_the_checks() -> None:
    check_regularizer(formula("max(d - d0, 0)**1.5", CappedSimplex(np.ones(6), 2.0))).raise_if_failed()


def test_equal_examples_are_merged_and_copies_count() -> None:
    rng = np.random.default_rng(0)
    U = rng.choice([-1.0, 1.0], (400, 3))
    page = entropic("(d - d0)**2/d0/eta")
    plain = page.bind(U, nu=20.0, eta=5.0)
    merged = plain.solve("interior", tol=1e-9)
    assert merged.best is not None and "groups of equal examples" in merged.best.statistics
    rows, counts = np.unique(U, axis=0, return_counts=True)
    grouped = page.bind(rows, c=counts.astype(float), nu=20.0, eta=5.0).solve("interior", tol=1e-9)
    assert grouped.certificate.upper == pytest.approx(merged.certificate.upper, abs=1e-9)


def test_formulas_add_up_with_other_pieces() -> None:
    _, c, d0, eta = random_data(0)
    domain = CappedSimplex(c, NU)
    both = formula("d*log(d/d0)/eta", domain, d0, eta=eta) + Squares(c, 2.0)
    one = formula("d*log(d/d0)/eta + d**2/c", domain, d0, eta=eta)
    z = np.random.default_rng(0).normal(size=N)
    assert both.conjugate_at(z).value == pytest.approx(one.conjugate_at(z).value, abs=EQUAL)


def test_moduli_and_bounds_are_those_of_entropies() -> None:
    _, c, d0, eta = random_data(0)
    F, twin = formula_of("relative entropy", c, NU, eta, d0), RelativeEntropy.capped(c, NU, eta, d0)
    assert F.strong_convexity == pytest.approx(1.0 / eta, rel=1e-9) and F.strong_convexity <= 1.0 / eta
    assert F.value_bound == pytest.approx(twin.value_bound, rel=1e-12)
    assert F.unsmoothed is F and F.objective_scale == pytest.approx(eta)
    assert isinstance(
        formula("d*log(d/d0)/eta", F.domain, d0, is_smoothing=True, eta=eta).unsmoothed, CappedSimplexIndicator
    )
    assert formula_of("chi-square", c, NU, eta, d0).strong_convexity == pytest.approx(2.0 / eta, rel=1e-9)
    assert np.isnan(formula_of("log-barrier", c, NU, eta, d0).value_bound)


@pytest.mark.thorough_cases("0.001")
@pytest.mark.parametrize("eta", [1e-3, pytest.param(1e6, marks=pytest.mark.thorough)])
def test_nothing_overflows_at_a_hundred_thousand_examples(eta: float) -> None:
    rng = np.random.default_rng(0)
    d0 = rng.dirichlet(np.full(100_000, 0.3))
    d0 = np.maximum(d0, 1e-300)
    domain = CappedSimplex(np.ones(100_000), 50.0)
    F, twin = formula("d*log(d/d0)/eta", domain, d0, eta=eta), RelativeEntropy.capped(domain.c, 50.0, eta, d0)
    z = rng.uniform(-1, 1, 100_000)
    point, conjugate_point = F.conjugate_at(z), twin.conjugate_at(z)
    assert point.value == pytest.approx(conjugate_point.value, abs=1e-9) and np.isfinite(point.d).all()
    assert point.value >= conjugate_point.value - 1e-12 / min(eta, 1.0)


def test_an_example_without_reference_weight_has_none() -> None:
    d0 = np.array([0.5, 0.0, 0.25, 0.25])
    F = formula("d*log(d/d0)", CappedSimplex(np.ones(4), 2.0), d0)
    twin = RelativeEntropy.capped(np.ones(4), 2.0, 1.0, d0)
    z = np.array([0.3, 5.0, -1.0, 0.2])
    assert F.conjugate_at(z).d[1] == 0.0
    assert F.conjugate_at(z).value == pytest.approx(twin.conjugate_at(z).value, abs=1e-12)


def test_a_huber_function_within_its_bounds_is_as_convex_as_a_square() -> None:
    """All weights are within 1 of 1/4: f'' is 2, and not between 0 and 2."""
    domain = CappedSimplex(np.ones(4), 2.0)
    huber, square = formula("huber(d - 1/4, 1)", domain), formula("(d - 1/4)**2", domain)
    assert huber.strong_convexity == pytest.approx(square.strong_convexity, rel=1e-12)
    assert huber.strong_convexity > 0.0
