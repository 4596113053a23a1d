"""Balls of a p-norm that touch the simplex in a single point up to rounding: the excess of the radius, and its effect.

If the radius exceeds the smallest norm of a distribution by a relative x, the intersection of the ball and the simplex
has a size of about sqrt(x). The rounding of a double, 1e-16, makes a size of 1e-8. So the radius and the norm are
compared with more digits, and the conjugate includes a bound for the points besides the one of smallest norm.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np

from boostopt._utils.array_types import Array, Float

DECIMAL_DIGITS = 60
"""Number of decimal digits with which the radius and the smallest norm are compared."""


def relative_radius_excess(r: float, c: Float[Array, " n"], p: float) -> float:
    """Return r / T^(1/p - 1) - 1, accurate in all digits.

    T is the sum of c, and T^(1/p - 1) is the smallest p-norm of a distribution.
    """
    total = math.fsum(c)
    rounding = math.fsum([*c.tolist(), -total])
    with decimal.localcontext(prec=DECIMAL_DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        T = Decimal(total) + Decimal(rounding)
        return float(Decimal(r) * T ** (1 - 1 / Decimal(p)) - 1)


def inner_product_bound(center: Float[Array, " n"], y: Float[Array, " n"], relative_excess: float, p: float) -> float:
    """Bound <d - center, y> over the distributions d whose p-norm is at most (1 + x) times the p-norm of the center.

    Let a = d / center, and let E be the average with the weights of the center. Then E a = 1 and E a^p <= (1 + x)^p. So
    E phi(a) <= D for phi(a) = a^p - 1 - p (a - 1) >= 0 and D = (1 + x)^p - 1. For any l > 0, E (a - 1) y is at most
    l (D + E phi*(y / l)), where phi*(s) = (p - 1) ((1 + s/p)^q - 1 - q s/p) and 1/p + 1/q = 1.

    Parameters
    ----------
    center
        The distribution of smallest norm, shape (n,), positive.
    y
        The coefficients, shape (n,).
    relative_excess
        The number x, positive.
    p
        The exponent of the norm, 1 < p < inf.
    """
    y = y - float((center * y).sum())
    size = float(np.abs(y).max())
    if size == 0.0:
        return 0.0
    q, y, D = p / (p - 1.0), y / size, float(np.expm1(p * np.log1p(relative_excess)))
    # The best l if phi* is a parabola, as for small s; but not so small that phi* is far from its parabola.
    parabola_scale = float(np.sqrt((center * y**2).sum() / (2.0 * p * (p - 1.0) * D)))
    scale = max(parabola_scale, 2.0 * q / p)
    x = y / (p * scale)
    conjugate = (p - 1.0) * np.maximum(np.expm1(q * np.log1p(x)) - q * x, 0.0)
    bound = scale * (D + float((center * conjugate).sum()))
    return size * max(min(bound, float(y.max())), 0.0)
