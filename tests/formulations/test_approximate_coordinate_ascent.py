"""Approximate coordinate ascent: the page against the package, its closed form, and the ascent of the smooth margin."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from agreement import assert_step_agrees, assert_step_by_hand, bind_column
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import ProblemError, Program, get_formulation


def ascent(u: object, **parameters: object) -> Program:
    return bind_column("approximate_coordinate_ascent", u, **parameters)


def test_structure_by_hand() -> None:
    """G = 0.3."""
    assert_step_by_hand(ascent([1.0, -1.0, 1.0], smooth_margin=0.3, c=[1, 2, 1]), 0.3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = ascent(rng.uniform(-1, 1, 40), d0=rng.dirichlet(np.ones(40)), smooth_margin=rng.uniform(-3, 0.5))
    assert_step_agrees(program)


@pytest.mark.parametrize("smooth", (-math.inf, -7.0, 0.0, 0.25, 0.7))
def test_closed_form_of_the_step(smooth: float) -> None:
    rng = np.random.default_rng(1)
    u, d0 = rng.choice([-1.0, 1.0], 30), rng.dirichlet(np.ones(30))
    certificate = ascent(u, d0=d0, smooth_margin=smooth).certify(w=[math.atanh(u @ d0) - math.atanh(max(smooth, 0.0))])
    assert certificate.gap <= 1e-11
    assert u @ certificate.d == pytest.approx(max(smooth, 0.0), abs=1e-13)


@pytest.mark.thorough
def test_the_smooth_margin_ascends_once_it_is_positive() -> None:
    """On random hypotheses; the distribution of each round is that of the steps, so the answers can be chained."""
    rng = np.random.default_rng(3)
    U = np.where(rng.random((30, 40)) < 0.65, 1.0, -1.0)
    d, steps, values = np.full(30, 1 / 30), np.zeros(40), [-math.inf]
    for _ in range(120):
        q = int(np.argmax(U.T @ d))
        alpha = math.atanh(U[:, q] @ d) - math.atanh(max(values[-1], 0.0))
        certificate = ascent(U[:, q], d0=d, smooth_margin=values[-1]).certify(w=[alpha])
        assert certificate.gap <= 1e-10
        d, steps[q] = certificate.d, steps[q] + alpha
        np.testing.assert_allclose(d, np.exp(-U @ steps) / np.exp(-U @ steps).sum(), rtol=1e-9)
        values.append(-math.log(np.exp(-U @ steps).sum()) / float(steps.sum()))
        mu = float((U @ steps).min() / steps.sum())
        assert mu - math.log(30) / steps.sum() <= values[-1] < mu
    positive = [value for value in values if value > 0]
    assert len(positive) > 50
    assert all(later > earlier for earlier, later in itertools.pairwise(positive))


def test_before_the_smooth_margin_is_positive_it_is_adaboost() -> None:
    ours = ascent(REFERENCE_U[:, 0], d0=REFERENCE_D0, smooth_margin=-math.inf)
    theirs = get_formulation("adaboost").bind(REFERENCE_U[:, :1], d0=REFERENCE_D0)
    assert ours.edge_function == theirs.edge_function
    assert ours.certify(w=[0.2]).lower == theirs.certify(w=[0.2]).lower


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = ascent(REFERENCE_U[:, 0], c=c, smooth_margin=0.1).solve("cvxpy:clarabel", tol=1e-12)
    copies = ascent(np.repeat(REFERENCE_U[:, 0], c), smooth_margin=0.1).solve("cvxpy:clarabel", tol=1e-12)
    assert merged.certificate.overlaps(copies.certificate)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-6)


def test_the_smooth_margin_is_at_most_one_and_a_number() -> None:
    for smooth_margin in (1.2, math.nan):
        with pytest.raises(ProblemError, match=rf"^smooth_margin\b.*\[-inf, 1\].*\b{smooth_margin}\b"):
            ascent(REFERENCE_U[:, 0], smooth_margin=smooth_margin)
