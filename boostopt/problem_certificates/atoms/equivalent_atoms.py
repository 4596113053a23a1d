"""Atoms that are read as other atoms of equal value: sorted products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import ProblemError


def sorted_product(expression: Any) -> Any:
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
    "dotsort": sorted_product,
}
"""The function that returns an equal expression, by the name of an atom's class in CVXPY."""
