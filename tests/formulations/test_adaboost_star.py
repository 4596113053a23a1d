"""AdaBoost*'s step: the page against the package, its closed form, and the bound of its rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import assert_step_agrees, assert_step_by_hand, bind_column
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import Outcome, ProblemError, Program, get_formulation


def star(u: object, **parameters: object) -> Program:
    return bind_column("adaboost_star", u, **parameters)


def bound(program: Program) -> float:
    return get_formulation("adaboost_star").boosting.iteration_bound(program)


def test_structure_by_hand() -> None:
    """Smallest edge 0.4, accuracy 0.1."""
    assert_step_by_hand(star([1.0, -1.0, 1.0], smallest_edge=0.4, accuracy=0.1, c=[1, 2, 1]), 0.3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = star(
        rng.uniform(-1, 1, 40), d0=rng.dirichlet(np.ones(40)), smallest_edge=rng.uniform(0, 0.5), accuracy=0.1
    )
    assert_step_agrees(program)


@pytest.mark.parametrize("edge", (0.05, 0.3, 0.8))
def test_closed_form_of_the_step(edge: float) -> None:
    rng = np.random.default_rng(1)
    u, d0 = rng.choice([-1.0, 1.0], 30), rng.dirichlet(np.ones(30))
    certificate = star(u, d0=d0, smallest_edge=edge, accuracy=0.1).certify(
        w=[math.atanh(u @ d0) - math.atanh(edge - 0.1)]
    )
    assert certificate.gap <= 1e-11
    assert u @ certificate.d == pytest.approx(edge - 0.1, abs=1e-13)


@pytest.mark.thorough
@pytest.mark.parametrize("c", (None, np.array([2.0, 1.0, 0.5, 1.0, 3.0, 1.0, 1.0, 1.0])))
def test_the_margin_is_within_the_accuracy_after_the_bound(c: np.ndarray | None) -> None:
    rng = np.random.default_rng(2)
    U, accuracy = np.where(rng.random((8, 12)) < 0.6, 1.0, -1.0), 0.2
    counts = np.ones(8) if c is None else c
    d, steps, smallest, max_rounds = counts / counts.sum(), np.zeros(12), 1.0, 0
    first = star(U[:, 0], c=c, smallest_edge=1.0, accuracy=accuracy)
    max_rounds = math.ceil(bound(first))
    assert bound(first) == pytest.approx(2 * math.log(8.0 if c is None else 10.5 / 0.5) / accuracy**2)
    for _ in range(max_rounds):
        q = int(np.argmax(U.T @ d))
        r = float(U[:, q] @ d)
        smallest = min(smallest, r)
        alpha = math.atanh(r) - math.atanh(smallest - accuracy)
        assert alpha > 0
        certificate = star(U[:, q], d0=d, c=c, smallest_edge=smallest, accuracy=accuracy).certify(w=[alpha])
        assert certificate.gap <= 1e-9
        assert certificate.lower >= accuracy**2 / 2 - 1e-9  # Pinsker's inequality: the progress of a round
        d, steps[q] = certificate.d, steps[q] + alpha
    best = get_formulation("lp_adaboost").bind(U).solve("cvxpy:highs").certificate
    margin = float((U @ steps).min() / steps.sum())
    assert best.lower - accuracy <= smallest - accuracy <= margin <= best.upper + 1e-12


def test_a_smallest_edge_equal_to_the_accuracy_is_adaboost() -> None:
    ours = star(REFERENCE_U[:, 0], d0=REFERENCE_D0, smallest_edge=0.25, accuracy=0.25)
    theirs = get_formulation("adaboost").bind(REFERENCE_U[:, :1], d0=REFERENCE_D0)
    assert ours.edge_function == theirs.edge_function


def test_a_target_below_every_margin_of_the_hypothesis_is_infeasible() -> None:
    solution = star([0.5, -0.1, 0.3], smallest_edge=0.1, accuracy=0.5).solve("cvxpy:clarabel")
    assert solution.outcome is Outcome.INFEASIBLE
    assert solution.certificate.excess == pytest.approx(0.3, abs=1e-12)


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    options = {"smallest_edge": 0.2, "accuracy": 0.1}
    merged = star(REFERENCE_U[:, 0], c=c, **options).solve("cvxpy:clarabel", tol=1e-12)
    copies = star(np.repeat(REFERENCE_U[:, 0], c), **options).solve("cvxpy:clarabel", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-6)


def test_both_parameters_are_needed_and_checked() -> None:
    with pytest.raises(ProblemError, match="accuracy="):
        star(REFERENCE_U[:, 0], smallest_edge=0.1)
    with pytest.raises(ProblemError, match=r"^accuracy\b.*1e-100.*\b0\b"):
        star(REFERENCE_U[:, 0], smallest_edge=0.1, accuracy=0.0)
