"""Solutions of sparse equations in fractions, near a point, by changes of few unknowns that may change most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse
from flint import fmpq

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.exact.dixon_lifting import ExactSystem, SingularSystemError
from boostopt.conic_programs.exact.highs_simplex import EquationProgram, solve_by_simplex
from boostopt.conic_programs.exact.rationals import to_fmpq, to_fraction
from boostopt.conic_programs.exact.work_limit import TooMuchWorkError, work_limit

POWERS = (0.5, 0.0)
"""Powers of the sizes of unknowns that weigh their changes, tried in turn: HiGHS reads small coefficients as 0."""

MIN_SIZE = 1e-10
"""Smallest size, relative to the largest one, that counts."""

MAX_WORK_DIGITS = 200_000_000
"""Number of binary digits of solutions that are computed: about a minute."""

ToFraction = Callable[[float], Fraction]


def solution_near(
    A: Any, sides: Sequence[Fraction], start: Sequence[Fraction], sizes: Float[Array, " n"], to_fraction_of: ToFraction
) -> list[Fraction] | None:
    """Return a solution of A x = b in fractions near a start; None if none is computed.

    Parameters
    ----------
    A
        Sparse, shape (m, n).
    sides
        The right sides b.
    start
        The point.
    sizes
        By about how much each unknown may change; 0 if it may not.
    to_fraction_of
        The rational number that an entry of A means.
    """
    rows: Any = scipy.sparse.csr_array(A)
    residual = [side - value for side, value in zip(sides, exact_products(rows, start, to_fraction_of), strict=True)]
    if not any(residual):
        return list(start)
    unknowns = np.flatnonzero(sizes > 0)
    if not unknowns.size:
        return None
    part: Any = scipy.sparse.csc_array(scipy.sparse.csc_array(rows)[:, unknowns])
    for power in POWERS:
        try:
            with work_limit(MAX_WORK_DIGITS):
                changes = _changes(part, residual, sizes[unknowns] ** power, to_fraction_of)
        except (SingularSystemError, TooMuchWorkError):
            continue
        solution = list(start)
        for place, change in changes.items():
            solution[int(unknowns[place])] += change
        if list(sides) == exact_products(rows, solution, to_fraction_of):
            return solution
    return None


def _changes(
    A: Any, residual: Sequence[Fraction], sizes: Float[Array, " k"], to_fraction_of: ToFraction
) -> dict[int, Fraction]:
    """Return the changes of unknowns that remove a residual, as far as rows are independent in floats.

    Raises
    ------
    SingularSystemError
        The part of A that changes is singular.
    TooMuchWorkError
        The changes have too many digits.
    """
    chosen_rows, columns = _square_part(A, sizes)
    position = {i: k for k, i in enumerate(chosen_rows)}
    entries = list[dict[int, fmpq]]()
    for j in columns:
        part = slice(A.indptr[j], A.indptr[j + 1])
        pairs = zip(A.indices[part].tolist(), A.data[part].tolist(), strict=True)
        entries.append({position[i]: to_fmpq(to_fraction_of(value)) for i, value in pairs if i in position})
    changes = ExactSystem(entries).solve([to_fmpq(residual[i]) for i in chosen_rows])
    return dict(zip(columns, map(to_fraction, changes), strict=True))


def _square_part(A: Any, sizes: Float[Array, " k"]) -> tuple[list[int], list[int]]:
    """Return independent rows and as many columns, which together make a nonsingular matrix.

    They are a basis of the smallest change, in the scale of the sizes, that moves the rows at random: all rows that are
    independent move, and columns with large entries are preferred.

    Raises
    ------
    SingularSystemError
        There is no basis.
    """
    m, k = A.shape
    scales = np.maximum(sizes / sizes.max(initial=0.0), MIN_SIZE)
    scaled: Any = scipy.sparse.csr_array(A @ scipy.sparse.diags_array(scales))
    norms = np.asarray(abs(scaled).max(axis=1).toarray()).ravel() if scaled.nnz else np.zeros(m)
    scaled = scipy.sparse.csc_array(scipy.sparse.diags_array(1 / np.where(norms > 0, norms, 1.0)) @ scaled)
    rng = np.random.default_rng(0)
    side = scaled @ (rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.0, k))
    both: Any = scipy.sparse.csc_array(scipy.sparse.hstack([scaled, -scaled]))
    program = EquationProgram(both, side, np.ones(2 * k), np.zeros(2 * k), np.full(2 * k, np.inf))
    basis = solve_by_simplex(program)
    if basis is None:
        raise SingularSystemError("HiGHS ends without a basis")
    columns = sorted({j % k for j in basis.basic if j < 2 * k})
    rows = sorted({*range(m)} - {j - 2 * k for j in basis.basic if j >= 2 * k})
    if len(rows) != len(columns):
        raise SingularSystemError("the basis has a column twice")
    return rows, columns


def exact_products(A: Any, x: Sequence[Fraction], to_fraction_of: ToFraction) -> list[Fraction]:
    """Return A x in fractions, for a matrix in compressed rows."""
    results = list[Fraction]()
    for i in range(A.shape[0]):
        part = slice(A.indptr[i], A.indptr[i + 1])
        pairs = zip(A.indices[part].tolist(), A.data[part].tolist(), strict=True)
        results.append(sum((to_fraction_of(value) * x[j] for j, value in pairs if x[j]), Fraction(0)))
    return results
