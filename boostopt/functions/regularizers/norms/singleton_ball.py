"""A ball of a p-norm that touches the simplex but for rounding: by how much, and what that allows.

A relative difference x between the radius and the smallest norm of a distribution leaves a part of the simplex of size
sqrt(x): the rounding of a double, 1e-16, is worth 1e-8. So the two are compared with more digits, and what the radius
allows beyond the one point is bounded and counted.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np

from boostopt._utils.array_types import Array, Float

DECIMAL_DIGITS = 60
"""Decimal digits of the comparison."""


def relative_radius_excess(r: float, c: Float[Array, " n"], p: float) -> float:
    """Return r / T^(1/p - 1) - 1 with all its digits, T the sum of c: the smallest p-norm of a distribution."""
    total = math.fsum(c)
    missing = math.fsum([*c.tolist(), -total])
    with decimal.localcontext(prec=DECIMAL_DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        T = Decimal(total) + Decimal(missing)
        return float(Decimal(r) * T ** (1 - 1 / Decimal(p)) - 1)


def inner_product_bound(center: Float[Array, " n"], y: Float[Array, " n"], relative_excess: float, p: float) -> float:
    """Bound <d - center, y> over the distributions d of p-norm at most (1 + beyond) times that of the center.

    With a = d / center and averages E over the center, E a = 1 and E a^p <= (1 + beyond)^p. That is E phi(a) <= D for
    phi(a) = a^p - 1 - p (a - 1) >= 0 and D = (1 + beyond)^p - 1, so that E (a - 1) y is at most
    l (D + E phi*(y / l)) for any l > 0, where phi*(s) = (p - 1) ((1 + s/p)^q - 1 - q s/p) and 1/p + 1/q = 1.
    """
    y = y - float((center * y).sum())
    size = float(np.abs(y).max())
    if size == 0.0:
        return 0.0
    q, y, D = p / (p - 1.0), y / size, float(np.expm1(p * np.log1p(relative_excess)))
    # The best l for small s, but none so small that the power leaves its parabola.
    best = float(np.sqrt((center * y**2).sum() / (2.0 * p * (p - 1.0) * D)))
    scale = max(best, 2.0 * q / p)
    x = y / (p * scale)
    conjugate = (p - 1.0) * np.maximum(np.expm1(q * np.log1p(x)) - q * x, 0.0)
    bound = scale * (D + float((center * conjugate).sum()))
    return size * max(min(bound, float(y.max())), 0.0)
