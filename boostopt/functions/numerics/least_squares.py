"""Least squares with a matrix that is a pair of functions [Fong and Saunders, LSMR, SIAM J. Sci. Comput. 33 (2011)]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse.linalg

from boostopt._utils.array_types import Array, Float

LINALG: Any = scipy.sparse.linalg
"""SciPy's operators, whose annotations do not have their arguments."""


def least_squares(
    multiply: Callable[[Float[Array, " n"]], Float[Array, " m"]],
    multiply_transpose: Callable[[Float[Array, " m"]], Float[Array, " n"]],
    target: Float[Array, " m"],
    n: int,
    n_iterations: int,
    **options: float,
) -> Float[Array, " n"]:
    """Return about the x of least norm that minimizes |A x - b|, by LSMR.

    Parameters
    ----------
    multiply, multiply_transpose
        A x, and Aᵀ y.
    target
        b.
    n
        The number of unknowns.
    n_iterations
        The maximum number of iterations.
    options
        The tolerances of SciPy's `lsmr` by name.
    """
    operator = LINALG.LinearOperator(
        (len(target), n),
        matvec=lambda x: multiply(x.ravel()),
        rmatvec=lambda y: multiply_transpose(y.ravel()),
        dtype=float,
    )
    return LINALG.lsmr(operator, target, maxiter=n_iterations, **options)[0]
