"""Arc-gv's step: the page against the package, its closed form, and the order of the steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import assert_step_agrees, assert_step_by_hand, bind_column
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import ProblemError, Program


def step(rule: str, u: object, **parameters: object) -> Program:
    return bind_column(rule, u, **parameters)


def smooth_margin(U: np.ndarray, steps: np.ndarray) -> float:
    return -math.log(np.exp(-U @ steps).sum()) / float(steps.sum())


def test_structure_by_hand() -> None:
    """Mu = 0.3."""
    assert_step_by_hand(step("arc_gv", [1.0, -1.0, 1.0], minimum_margin=0.3, c=[1, 2, 1]), 0.3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = step(
        "arc_gv", rng.uniform(-1, 1, 40), d0=rng.dirichlet(np.ones(40)), minimum_margin=rng.uniform(-0.3, 0.5)
    )
    assert_step_agrees(program)


@pytest.mark.parametrize("mu", (-0.4, 0.0, 0.25, 0.7))
def test_closed_form_of_the_step(mu: float) -> None:
    rng = np.random.default_rng(1)
    u, d0 = rng.choice([-1.0, 1.0], 30), rng.dirichlet(np.ones(30))
    program = step("arc_gv", u, d0=d0, minimum_margin=mu)
    certificate = program.certify(w=[math.atanh(u @ d0) - math.atanh(max(mu, 0.0))])
    assert certificate.gap <= 1e-11
    assert u @ certificate.d == pytest.approx(max(mu, 0.0), abs=1e-13)


def test_without_a_positive_margin_it_is_adaboost() -> None:
    ours = step("arc_gv", REFERENCE_U[:, 0], d0=REFERENCE_D0, minimum_margin=-0.2)
    theirs = step("adaboost", REFERENCE_U[:, 0], d0=REFERENCE_D0)
    assert ours.edge_function == theirs.edge_function
    assert ours.certify(w=[0.2]).lower == theirs.certify(w=[0.2]).lower


@pytest.mark.thorough
def test_a_run_approaches_the_largest_margin_and_its_steps_are_the_shortest() -> None:
    """The game of three has the largest margin 1/3."""
    U, d, steps = np.ones((3, 3)) - 2 * np.eye(3), np.array([0.5, 0.3, 0.2]), np.zeros(3)
    for k in range(150):
        q = int(np.argmax(U.T @ d))
        u, r = U[:, q], float(U[:, q] @ d)
        mu = float((U @ steps).min() / steps.sum()) if steps.any() else -1.0
        smooth = smooth_margin(U, steps) if steps.any() else -math.inf
        assert smooth < mu or not steps.any()
        targets = {"arc_gv": max(mu, 0.0), "approximate_coordinate_ascent": max(smooth, 0.0), "adaboost": 0.0}
        alphas = [math.atanh(r) - math.atanh(target) for target in targets.values()]
        assert 0 < alphas[0] <= alphas[1] <= alphas[2]
        certificates = [step("arc_gv", u, d0=d, minimum_margin=mu).certify(w=alphas[:1])]
        if k % 10 == 0:
            longer_steps = (
                step("approximate_coordinate_ascent", u, d0=d, smooth_margin=smooth).certify(w=alphas[1:2]),
                step("adaboost", u, d0=d).certify(w=alphas[2:]),
            )
            certificates.extend(longer_steps)
        assert max(certificate.gap for certificate in certificates) <= 1e-10
        d, steps[q] = certificates[0].d, steps[q] + alphas[0]
    assert 0.3 < (U @ steps).min() / steps.sum() < 1 / 3


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = step("arc_gv", REFERENCE_U[:, 0], c=c, minimum_margin=0.1).solve("cvxpy:clarabel", tol=1e-12)
    copies = step("arc_gv", np.repeat(REFERENCE_U[:, 0], c), minimum_margin=0.1).solve("cvxpy:clarabel", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-6)


def test_the_minimum_margin_is_one() -> None:
    with pytest.raises(ProblemError, match=r"^minimum_margin\b.*\[-1, 1\].*\b2\b"):
        step("arc_gv", REFERENCE_U[:, 0], minimum_margin=2.0)
