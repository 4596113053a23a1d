"""Atoms that are read as other atoms of equal value: sorted products, and means with one weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Int
from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import ProblemError
from boostopt.problem_certificates.affine_atoms import axis_groups
from boostopt.problem_certificates.balls import Ball, ball


def weighted_groups(expression: Any) -> tuple[Int[Array, "m k"], list[Ball]]:
    """Return the entries that the means of a `geo_mean` read, as by `axis_groups`, and their weights, of sum 1.

    Entries of weight 0 are left out: they may have any sign.

    Raises
    ------
    ProblemError
        Different weights belong to the entries of more than one axis.
    """
    groups = axis_groups(expression)
    powers = [ball(power) for power in expression.p]
    axes = getattr(expression, "axis", None)
    count = expression.args[0].ndim if axes is None else np.size(axes)
    if len(powers) != groups.shape[1]:  # CVXPY stores positive weights only, and which entries have one
        has_weight = np.asarray(vars(expression)["_keep"], dtype=bool)
    else:
        has_weight = np.ones(len(powers), dtype=bool)
    if count > 1 and not (has_weight.all() and all(power == powers[0] for power in powers)):
        raise ProblemError(
            "geo_mean with different weights must have a vector as its argument; got more axes, which CVXPY's "
            "documentation and its code take in different orders. Pass vec of the argument."
        )
    total = sum(powers[1:], powers[0])
    return groups[:, has_weight], [power / total for power in powers]


def _single_mean(expression: Any) -> Any:
    """Return the entries themselves for a `geo_mean` with one positive weight: CVXPY lets them be negative."""
    groups, weights = weighted_groups(expression)
    return cp.vec(expression.args[0], order="C")[groups[:, 0]] if len(weights) == 1 else None


def _sorted_product(expression: Any) -> Any:
    """Return a `dotsort` by sums of largest entries: sum of w_k (S_k - S_(k-1)) over falling weights w.

    Each S_k is convex, and its coefficient w_k - w_(k+1) is exact and not negative.

    Raises
    ------
    ProblemError
        The weights are no numbers.
    """
    x, w = expression.args
    if type(w) not in (cp.Constant, cp.Parameter):
        raise ProblemError("the weights of dotsort must be numbers; got an expression. Compute them first.")
    if w.value is None:
        raise ProblemError(f"parameters must have values; got {w.name()} without one. Set {w.name()}.value.")
    values = np.ravel(w.value.toarray() if hasattr(w.value, "toarray") else np.asarray(w.value, dtype=float))
    weights = np.sort(np.append(values, np.zeros(x.size - len(values))))[::-1].tolist()
    result, previous = cp.Constant(0.0), cp.Constant(0.0)
    for k, weight in enumerate(weights, start=1):
        if k < len(weights) and weight == weights[k]:
            continue
        following = cp.sum_largest(x, k) if k < len(weights) else cp.sum(x)
        result = result + weight * (following - previous)
        previous = following
    return result


EXPANSIONS: dict[str, Callable[[Any], Any]] = {
    "dotsort": _sorted_product,
    "GeoMean": _single_mean,
    "GeoMeanApprox": _single_mean,
}
"""The function that returns an equal expression, or None, by the name of an atom's class in CVXPY."""


def expansion_of(expression: Any) -> Any:
    """Return the expression as which an atom is read; None if it is read as it is."""
    expand = EXPANSIONS.get(type(expression).__name__)
    return None if expand is None else expand(expression)
