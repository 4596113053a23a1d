"""ATA's step: the page against the package, and the step and the functional of the paper."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_step_agrees, assert_step_by_hand, bind_column
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import Outcome, ProblemError, Program, get_formulation


def ata(u: object, **parameters: object) -> Program:
    return bind_column("ata", u, **parameters)


def test_structure_by_hand() -> None:
    """Phi = 0.4, so that rho = 0.2."""
    assert_step_by_hand(ata([1.0, -1.0, 1.0], phi=0.4, c=[1, 2, 1]), 0.2)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = ata(rng.uniform(-1, 1, 40), d0=rng.dirichlet(np.ones(40)), phi=rng.uniform(0.3, 0.6))
    assert_step_agrees(program)


@pytest.mark.parametrize("seed", range(10))
def test_half_the_step_of_the_paper_is_optimal(seed: int) -> None:
    """B = ln(phi (1 - epsilon) / (epsilon (1 - phi))), and afterwards the hypothesis errs by phi."""
    rng = np.random.default_rng(seed)
    u, d0, phi = rng.choice([-1.0, 1.0], 30), rng.dirichlet(np.ones(30)), float(rng.uniform(0.1, 0.9))
    epsilon = float(d0[u < 0].sum())
    b = math.log(phi * (1 - epsilon) / (epsilon * (1 - phi)))
    certificate = ata(u, d0=d0, phi=phi).certify(w=[b / 2])
    assert certificate.gap <= 1e-11
    next_d = d0 * np.exp(-b * (u > 0))
    np.testing.assert_allclose(certificate.d, next_d / next_d.sum(), rtol=1e-10)
    assert certificate.d[u < 0].sum() == pytest.approx(phi, abs=1e-12)


def test_the_step_minimizes_the_functional_with_the_half_and_not_the_printed_one() -> None:
    rng = np.random.default_rng(4)
    u, f, phi = rng.choice([-1.0, 1.0], 30), rng.normal(size=30), 0.3
    u[:20] = 1.0  # a weighted error below phi: the step is positive

    def functional(b: float, half: float) -> float:
        return float(np.exp(-half * (f + b * u) + (1.0 + b) * (0.5 - phi)).sum())

    for half, agrees in ((0.5, True), (1.0, False)):
        d0 = np.exp(-half * f) / np.exp(-half * f).sum()
        minimum: Any = scipy.optimize.minimize_scalar(functional, args=(half,), bounds=(0, 20), method="bounded")
        step = ata(u, d0=d0, phi=phi).solve("cvxpy:clarabel", tol=1e-11).w[0]
        assert step > 0.1
        assert (abs(minimum.x - 2 * step) <= 1e-4) == agrees


def test_phi_one_half_is_adaboost() -> None:
    ours = ata(REFERENCE_U[:, 0], d0=REFERENCE_D0, phi=0.5)
    theirs = get_formulation("adaboost").bind(REFERENCE_U[:, :1], d0=REFERENCE_D0)
    assert ours.edge_function == theirs.edge_function
    assert ours.certify(w=[0.2]).lower == theirs.certify(w=[0.2]).lower


def test_an_error_that_the_hypothesis_cannot_have_is_infeasible() -> None:
    """It is right everywhere up to a margin of 0.3: no distribution has the edge 1 - 2 phi = 0.2."""
    solution = ata([1.0, 0.3, 0.6], phi=0.4).solve("cvxpy:clarabel")
    assert solution.outcome is Outcome.INFEASIBLE
    assert solution.certificate.excess == pytest.approx(0.1, abs=1e-12)


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = ata(REFERENCE_U[:, 0], c=c, phi=0.4).solve("cvxpy:clarabel", tol=1e-12)
    copies = ata(np.repeat(REFERENCE_U[:, 0], c), phi=0.4).solve("cvxpy:clarabel", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-6)


def test_phi_is_a_fraction() -> None:
    with pytest.raises(ProblemError, match=r"^phi\b.*\(0, 1\).*\b1\b"):
        ata(REFERENCE_U[:, 0], phi=1.0)
