"""Losses without a steepest slope, beyond the slope at which a program makes them linear."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt.functions.regularizers.loss_conjugates import Exponential, Logistic, LossConjugate, QuadraticHinge

C = np.array([1.0, 2.5, 0.5])


@pytest.mark.parametrize("far", [-3.0, 0.5, 10.0, 40.0])
def test_the_conjugate_and_what_is_beyond_it_are_the_loss(far: float) -> None:
    y = far + np.array([0.0, 0.3, -0.2])
    squared, exponential = QuadraticHinge(C, 2.0, 0.5, None), Exponential(C, 2.0)
    for F, loss in ((squared, np.maximum(0.0, 1.0 + y) ** 2), (exponential, np.exp(y))):
        assert isinstance(F, LossConjugate)
        conjugate = F.maximizers(y) * y - F.values(F.maximizers(y))
        np.testing.assert_allclose(conjugate + F.linearization_excess(y), 2.0 * C * loss, rtol=1e-12, atol=1e-12)


def test_losses_with_a_steepest_slope_have_nothing_beyond() -> None:
    y = np.full(3, 100.0)
    assert not QuadraticHinge(C, 2.0, 0.5, 4.0).linearization_excess(y).any()
    assert not hasattr(Logistic.priced(C, 1.0), "beyond")
