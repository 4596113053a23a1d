"""A first state of the pairs from an approximate active set, without its dependent columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from flint import fmpq

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.quadratic.approximate_optimum import ActiveSet
from boostopt.conic_programs.exact.quadratic.complementary_program import (
    ComplementaryProgram,
    PairState,
    rational_vector,
)

REGULARIZATION = 1e-13
"""Number on the diagonal of the scaled equations, so that singular ones have factors."""

MIN_PIVOTS = (1e-8, 1e-5)
"""Pivots below are taken as signs of dependent columns; the second number is for the second attempt."""

N_SCALINGS = 8
"""Number of times that the rows and columns are scaled."""


def first_state(program: ConicProgram, pairs: ComplementaryProgram, active: ActiveSet, min_pivot: float) -> PairState:
    """Return the state of an active set without the columns whose pivots are small."""
    n = program.shape[1]
    is_active = active.is_at_lower | active.is_at_upper
    has_equation = np.concatenate([~is_active[:n], is_active[n:]])  # for x of these variables and y of these rows
    is_independent = has_equation.copy()
    is_independent[has_equation] = _large_pivots(program, has_equation, min_pivot)
    values = rational_vector(active.x.tolist())

    def value_of(k: int) -> fmpq | None:
        if is_active[k] and (k < n or is_independent[k]):
            return pairs.lower[k] if active.is_at_lower[k] else pairs.upper[k]
        return values[k] if k < n and not is_independent[k] else None

    return PairState(tuple(value_of(k) for k in range(len(is_active))))


def state_of_logicals(pairs: ComplementaryProgram) -> PairState:
    """Return the state without any column of P and A, which are independent for every program."""
    return PairState(tuple(_nearest_bound(pairs, k) if k < pairs.n else None for k in range(pairs.n + pairs.m)))


def _nearest_bound(pairs: ComplementaryProgram, k: int) -> fmpq:
    lower, upper = pairs.lower[k], pairs.upper[k]
    if lower is None:
        return fmpq(0) if upper is None else upper
    return lower


def _large_pivots(program: ConicProgram, is_kept: Array, min_pivot: float) -> Array:
    """Return which columns of the equations have large pivots, and so do not depend on earlier ones.

    The equations are symmetric. So the same rows are independent, and the part of these rows and columns is regular.
    """
    m, n = program.shape
    P = scipy.sparse.csc_array((n, n)) if program.P is None else program.P
    equations: Any = scipy.sparse.block_array([[P, program.A.T], [program.A, scipy.sparse.csc_array((m, m))]])
    places = np.flatnonzero(is_kept)
    equations = scipy.sparse.csc_array(equations.tocsr()[places][:, places])
    if not len(places):
        return np.zeros(0, dtype=bool)
    coordinates = equations.tocoo()
    rows, columns, sizes = coordinates.row, coordinates.col, np.abs(coordinates.data)
    scale = np.ones(len(places))
    for _ in range(N_SCALINGS):
        largest = np.zeros(len(places))
        np.maximum.at(largest, columns, sizes * scale[rows] * scale[columns])
        scale /= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    regularization = np.where(places < n, REGULARIZATION, -REGULARIZATION)
    entries = np.concatenate([coordinates.data * scale[rows] * scale[columns], regularization])
    order = np.arange(len(places))
    matrix: Any = scipy.sparse.coo_matrix(
        (entries, (np.concatenate([rows, order]), np.concatenate([columns, order]))), shape=equations.shape
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            factors: Any = scipy.sparse.linalg.splu(matrix.tocsc())
        except (RuntimeError, Warning):
            return np.zeros(len(places), dtype=bool)
    return (np.abs(factors.U.diagonal()) > min_pivot)[factors.perm_c]
