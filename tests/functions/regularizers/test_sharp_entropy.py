"""The relative entropy where eta is so large that one unit in the last place of an argument changes the weights."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt.authoring import RelativeEntropy

STEP = 2.0**-53
"""The distance of neighbours among the floats in [1/2, 1)."""


@pytest.mark.parametrize("sign", (1.0, -1.0))
def test_exponents_are_differences_from_the_margin_at_the_quantile(sign: float) -> None:
    """Of sums with that margin the last bit would be lost, which is worth a factor e here."""
    F = RelativeEntropy.capped(np.ones(3), 1.0, 1.0 / STEP, np.full(3, 1.0 / 3.0))
    steps = np.array([0.0, 1.0, 2.0])
    point = F.conjugate_at(sign * 0.75 + steps * STEP)
    expected = np.exp(steps) / np.exp(steps).sum()
    assert np.abs(point.d - expected).max() <= 1e-12
