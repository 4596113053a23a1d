"""Limits on the hypothesis weights in the certificate of a class: their right sides, their prices, weights within them.

A limit i bounds sum_q w_q a_i(h_q) <= b_i. Prices p >= 0 prove for all weights w of sum 1 within the limits and every d
in the domain of F0

    -F0*(-Uw) <= F0(d) + <b, p> + max_h (<d, u_h> - <p, a(h)>),

and the oracle of the verifier bounds the maximum. The weights of the file must keep the limits in fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.json_parsing import (
    parse_list,
    parse_number,
    parse_object_with_keys,
    reject,
)

LIMITED_SUBJECT = "class with limits"
"""The subject of the certificate of a class whose weights have limits."""

RIGHT_SIDES, PRICES = "right sides", "prices"
"""The names of the part of the limits."""


@dataclass(frozen=True, eq=False)
class StatedLimits:
    """The limits of a file.

    Attributes
    ----------
    right_sides
        The right sides b, shape (k,).
    prices
        The prices p of the proof of the upper bound, non-negative, shape (k,); 0 without an upper bound.
    """

    right_sides: np.ndarray
    prices: np.ndarray

    def to_json(self) -> dict[str, list[float]]:
        """Return the limits as a file states them."""
        return {RIGHT_SIDES: self.right_sides.tolist(), PRICES: self.prices.tolist()}


def parse_limits(value: Any) -> StatedLimits:
    """Return the limits that a file states; Rejected if they are not one right side and one price each."""
    statement = parse_object_with_keys(value, {RIGHT_SIDES, PRICES}, "limits")
    right_sides, prices = (
        np.array([parse_number(x, f"the {name}") for x in parse_list(statement[name], f"the {name}")], dtype=np.float64)
        for name in (RIGHT_SIDES, PRICES)
    )
    if not 0 < len(right_sides) == len(prices):
        reject(
            f"limits must have one right side and one price each, at least one; it states {len(right_sides)} and "
            f"{len(prices)}"
        )
    if prices.min() < 0.0:
        reject(f"prices of limits must be non-negative; the smallest is {float(prices.min())!r}")
    return StatedLimits(right_sides, prices)


def split_limits(top: Mapping[str, Any]) -> tuple[dict[str, Any], StatedLimits | None]:
    """Return the object of a file as that of a class without limits, and the limits; None if the file states none."""
    content = dict(top)
    if content.get("subject") != LIMITED_SUBJECT:
        return content, None
    if "limits" not in content:
        reject("the certificate of a class with limits must state limits")
    limits = parse_limits(content.pop("limits"))
    return {**content, "subject": "class"}, limits


def keeps_limits(A: np.ndarray, b: np.ndarray, errors: np.ndarray, w: np.ndarray) -> bool:
    """Return whether <a_i, w> <= b_i sum w holds in fractions for each limit, whatever the errors of a_i are.

    Parameters
    ----------
    A
        The coefficients of the limits, shape (k, t).
    b
        The right sides, shape (k,).
    errors
        Bounds of the rounding errors of the entries of each row of A, shape (k,).
    w
        Weights, shape (t,). Negative ones, and weights that are all 0, keep no limits.
    """
    return bool(np.isfinite(w).all()) and fractions_keep_limits(A, b, errors, [Fraction(x) for x in w.tolist()])


def fractions_keep_limits(A: np.ndarray, b: np.ndarray, errors: np.ndarray, w: Sequence[Fraction]) -> bool:
    """Return the same as `keeps_limits` for weights that are fractions."""
    if not np.isfinite(A).all() or min(w) < 0 or not any(w):
        return False
    used = [q for q, weight in enumerate(w) if weight]
    for row, side, error in zip(A[:, used].tolist(), b.tolist(), errors.tolist(), strict=True):
        largest = Fraction(side) - Fraction(error)
        if sum((w[q] * (Fraction(a) - largest) for q, a in zip(used, row, strict=True)), Fraction(0)) > 0:
            return False
    return True
