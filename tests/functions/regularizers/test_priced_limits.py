"""The prices of limits beside a regularizer: all checks, and the conjugate as the excess over the limits."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.authoring import (
    CappedSimplex,
    CappedSimplexIndicator,
    ConjugatePoint,
    CvxpyRegularizer,
    Hinge,
    Regularizer,
    RelativeEntropy,
)
from boostopt.checks import check_regularizer
from boostopt.functions.regularizers.priced_limits import PricedLimits

C = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
BASES: dict[str, Regularizer] = {
    "cap": CappedSimplexIndicator(CappedSimplex(C, 3.0)),
    "entropy": RelativeEntropy.capped(C, 3.0, 4.0, C / C.sum()),
    "hinge": Hinge(C, 0.7),
}


@pytest.mark.thorough_cases("entropy", "hinge")
@pytest.mark.parametrize("name", BASES)
def test_regularizers_with_limits_pass_all_checks(name: str) -> None:
    check_regularizer(PricedLimits(BASES[name], np.array([-0.1, 0.3]), 7.0)).raise_if_failed()


@pytest.mark.parametrize("name", BASES)
def test_the_conjugate_is_that_of_the_base_and_the_excess_times_the_price(name: str) -> None:
    rng, base = np.random.default_rng(4), BASES[name]
    F = PricedLimits(base, np.array([-0.1, 0.3]), 7.0)
    for scale in (1e-6, 1.0, 1e6):
        z = scale * rng.normal(size=F.N)
        point, plain = F.conjugate_at(z), base.conjugate_at(z[: base.N])
        exact = Fraction(plain.value) + 7 * sum(
            max(Fraction(y) - Fraction(b), Fraction(0)) for y, b in zip(z[base.N :].tolist(), [-0.1, 0.3], strict=True)
        )
        assert Fraction(F.conjugate_bound(z, point)) + Fraction(point.slack) >= exact
        assert point.value == pytest.approx(float(exact), rel=1e-14)
        np.testing.assert_array_equal(point.d[base.N :], np.where(z[base.N :] > [-0.1, 0.3], 7.0, 0.0))
        assert (F.gaps(point.d, z, point)[base.N :] == 0.0).all()


def test_a_described_base_has_limits_too() -> None:
    base = CvxpyRegularizer(CappedSimplex(C, 3.0), cp.sum_squares, C / C.sum())
    F, z = PricedLimits(base, np.array([0.2]), 3.0), np.linspace(-1.0, 1.0, 6)
    point = F.conjugate_at(z)
    assert point.value == pytest.approx(base.conjugate_at(z[:5]).value + 3.0 * 0.8)
    assert F.value(F.project(np.full(6, np.nan))) < np.inf
    assert not F.has_closed_form_conjugate


def test_foreign_points_and_no_prices_are_refused() -> None:
    F, z = PricedLimits(BASES["cap"], np.array([0.2]), 3.0), np.zeros(6)
    with pytest.raises(ProblemError, match=r"\bconjugate_at\b.*\bCall\b"):
        F.gaps(z, z, ConjugatePoint(0.0, z, {}))
    with pytest.raises(ProblemError, match=r"\bmax_price\b"):
        PricedLimits(BASES["cap"], np.array([0.2]), 0.0)
