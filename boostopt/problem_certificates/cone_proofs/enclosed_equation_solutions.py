"""Enclosures of a solution of linear equations near a point, as far as each unknown may change."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from flint import fmpq, fmpq_mat, fmpz

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.conic_programs.exact.rationals import to_fraction
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.error_free_transformations import (
    LARGEST_EXACT_FACTOR,
    SMALLEST_EXACT_PRODUCT,
    product_error,
    sum_error,
)
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT
from boostopt.problem_certificates.arithmetic.balls import Enclosure, pivots
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import MIN_SIZE, SparseSystem
from boostopt.problem_certificates.arithmetic.sparse_float_forms import absolute
from boostopt.problem_certificates.arithmetic.triangular_rows import TriangularRows
from boostopt.problem_certificates.cone_proofs.cone_form import (
    columns_of,
    dense,
    row_norms,
    rows_of,
    scaled_rows,
    small_or_sparse,
)

LAPACK: Any = scipy.linalg.lapack
"""SciPy's factorizations, which have no annotations."""

N_REFINEMENTS = 5
"""Maximum number of corrections in floating point."""

SMALL_CHANGE = 1e-14
"""A correction of this size, over that by which unknowns may change, is not corrected again."""

ROUNDED_RESIDUAL = 2.0**-48
"""Residual of a rounded solution, over the sum of the sizes of its terms."""

MAX_PIVOT_CHANGE = 1e-3
"""Change of a pivot, over that by which it may change, up to which the other unknowns stay as they are."""

MAX_DENSE_COLUMNS = 10
"""Largest number of unknowns that stay as they are because they are in too many rows."""

MIN_DENSE_COUNT = 50
"""Number of rows above which an unknown may be in too many."""

DENSE_FRACTION = 0.25
"""Fraction of the products of two coefficients in a column above which the column is dense."""

MAX_PRODUCT_COUNT = 200_000
"""Number of these products up to which dense columns are used where nothing is proved without them."""

MIN_SUMMED_ENTRIES = 200
"""Number of entries from which residuals are sums of arrays: for small matrices, `math.fsum` takes less time."""

MIN_EXPONENT = -1000
"""Smallest power of two at which numbers are split."""

MAX_DENSE_ROWS = 3000
"""Number of rows up to which dependent ones are looked for."""

MAX_REMAINDER_ROWS = 2000
"""Number of rows up to which those are looked for that are nearly combinations of others."""

MIN_PIVOTS = (1e-11, 1e-8)
"""The squared distances, tried in turn, of a scaled row from the others below which it counts as dependent."""

N_WEIGHT_STEPS = 3
"""Number of solves for weights: the second and the third remove the rounding errors of those before."""

MAX_DENOMINATORS = (5040, 200_000)
"""Largest denominators, tried in turn, of the weights in a combination of rows."""

MAX_EXACT_ROWS = 150
"""Number of rows of a combination whose weights are computed in fractions."""

MAX_WHOLE_BITS = 40
"""Bits up to which the entries of a matrix are multiplied with weights as whole numbers of the machine."""

MAX_TERMS = 2000
"""Number of rows of a combination whose products of residues sum up in 64 bits."""

MODULUS = 2**26
"""Number above the primes of residues."""

MIN_WEIGHT = 1e-9
"""Weights of combinations below this are read as 0."""


def enclose_solution(
    A: Any, b: Float[Array, " m"], point: Float[Array, " n"], sizes: Float[Array, " n"], is_refined: bool = True
) -> Enclosure | None:
    """Return an enclosure of a solution of A x = b near a point; None if none is proved.

    Rows without open unknowns must hold exactly. The other rows must be independent: `independent_equations`.

    Parameters
    ----------
    A
        Compressed rows, exact.
    b
        Right sides, exact.
    point
        Its entries of size 0 stay as they are.
    sizes
        By how much each unknown may change; the solution is the nearest one in this scale.
    is_refined
        Whether corrections make residuals tiny: they may not where sizes are as different as near cones.
    """
    return EquationSystem(A, b, sizes, is_refined).enclose(point)


class EquationSystem:
    """Equations A x = b with one factorization for the solutions near several points.

    Parameters
    ----------
    A, b, sizes, is_refined
        As of `enclose_solution`.
    """

    def __init__(self, A: Any, b: Float[Array, " m"], sizes: Float[Array, " n"], is_refined: bool = True) -> None:
        self._A, self._b, self._is_refined = A, b, is_refined
        self._is_finite = bool(np.isfinite(sizes).all())
        self._sizes = np.where(sizes >= MIN_SIZE, sizes, 0.0)
        counts = _open_counts(A, self._sizes > 0)
        rows, self._closed = np.flatnonzero(counts > 0), np.flatnonzero(counts == 0)
        self._part, self._sides = (A, b) if len(rows) == len(b) else (A[rows], b[rows])

    @cached_property
    def _triangular(self) -> TriangularRows:
        return TriangularRows(self._part, self._sizes)

    @cached_property
    def _system(self) -> tuple[SparseSystem, Float[Array, " n"]]:
        """The system of all unknowns that change, with their sizes."""
        thinner = _without_dense_columns(self._part, self._sizes)
        if thinner is not None:
            system = SparseSystem(self._part, thinner, is_refined=self._is_refined)
            if system.sigma > 0:
                return system, thinner
            if _product_count(self._part, self._sizes) > MAX_PRODUCT_COUNT:
                return system, self._sizes
        return SparseSystem(self._part, self._sizes, is_refined=self._is_refined), self._sizes

    @property
    def is_independent(self) -> bool:
        """True if the rows with open unknowns are proved to be independent."""
        if not self._is_finite:
            return False
        return not len(self._sides) or self._triangular.is_complete or self._system[0].sigma > 0

    def enclose(self, point: Float[Array, " n"]) -> Enclosure | None:
        """Return an enclosure of a solution near a point; None if none is proved."""
        if not (self.is_independent and np.isfinite(point).all()):
            return None
        if self._closed.size and not _hold_exactly(self._A[self._closed], self._b[self._closed], point):
            return None
        if not len(self._sides):
            return point, np.zeros(len(point))
        return self._enclosure_by_pivots(point) or self._enclosure_by_all_unknowns(point)

    def with_new_pivots(self, point: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return a point whose pivots solve the equations to working precision; the point itself if rows have none."""
        if not self._triangular.is_complete or not len(self._sides):
            return point
        residual, _ = accurate_residual(self._part, self._sides, [point])
        return point + self._triangular.correction(residual)

    def _enclosure_by_pivots(self, point: Float[Array, " n"]) -> Enclosure | None:
        """Return an enclosure of a solution that differs from a rounded one in pivots; None if none is proved."""
        if not self._triangular.is_complete:
            return None
        residual, errors = accurate_residual(self._part, self._sides, [point])
        limits = absolute(self._part) @ np.abs(point) + np.abs(self._sides)
        if not (np.abs(residual) <= ROUNDED_RESIDUAL * limits).all():
            return None
        radii = self._triangular.radii(np.abs(residual) + errors)
        return (point, radii) if (radii <= MAX_PIVOT_CHANGE * self._sizes).all() else None

    def _enclosure_by_all_unknowns(self, point: Float[Array, " n"]) -> Enclosure | None:
        system, sizes = self._system
        if not system.sigma > 0:
            return None
        part, sides, is_open = self._part, self._sides, sizes > 0
        x = point.copy()
        step, previous = np.zeros(len(x)), np.inf
        for k in range(N_REFINEMENTS + 1):
            residual = long_residual(part, sides, x) if self._is_refined else accurate_residual(part, sides, [x])[0]
            step = system.correction(residual)
            with np.errstate(all="ignore"):
                change = float(np.max(np.abs(step[is_open]) / sizes[is_open], initial=0.0))
            if not np.isfinite(step).all():
                return None
            if k == N_REFINEMENTS or not SMALL_CHANGE < change < 0.5 * previous:
                break  # the last step stays a part of its own
            x, previous = x + step, change
        if self._is_refined:
            total = x + step
            x, step = total, sum_error(x, step, total)  # the same sum
        residual, errors = accurate_residual(part, sides, [x, step])
        radii = system.radii(np.abs(residual) + errors)
        radii = np.where(is_open, (np.abs(step) + radii) * INFLATION, 0.0)
        return (x, radii) if np.isfinite(radii).all() else None


def _column_counts(A: Any, sizes: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return the number of rows with each unknown whose size is positive."""
    is_used = (A.data != 0) & (sizes > 0)[A.indices]
    return np.bincount(A.indices[is_used], minlength=len(sizes)).astype(float)


def _product_count(A: Any, sizes: Float[Array, " n"]) -> float:
    """Return the number of products of two coefficients in a column."""
    return float((_column_counts(A, sizes) ** 2).sum())


def are_dense(counts: Float[Array, " n"]) -> Bool[Array, " n"]:
    """Return which columns have most of the products of two coefficients, by the numbers of their coefficients."""
    total = float((counts**2).sum())
    is_dense = np.zeros(len(counts), dtype=bool)
    for j in np.argsort(-counts)[:MAX_DENSE_COLUMNS].tolist():
        if not (counts[j] > MIN_DENSE_COUNT and counts[j] ** 2 > DENSE_FRACTION * total):
            break
        is_dense[j] = True
        total -= counts[j] ** 2
    return is_dense


def _without_dense_columns(A: Any, sizes: Float[Array, " n"]) -> Float[Array, " n"] | None:
    """Return the sizes with 0 for unknowns that most products of rows contain; None without such unknowns.

    A solution may keep an unknown as it is. A Aᵀ then has far fewer entries.
    """
    is_dense = are_dense(_column_counts(A, sizes))
    result = np.where(is_dense, 0.0, sizes)
    return result if is_dense.any() and (_open_counts(A, result > 0) > 0).all() else None


def _open_counts(A: Any, is_open: Any) -> Any:
    """Return the number of open unknowns in each row of a matrix in compressed rows."""
    is_used = (A.data != 0) & is_open[A.indices]
    return np.bincount(np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))[is_used], minlength=A.shape[0])


def long_residual(A: Any, b: Float[Array, " m"], x: Float[Array, " n"]) -> Float[Array, " m"]:
    """Return b - A x, summed up in the longest floats of the machine. Each row must store an entry."""
    products = A.data.astype(np.longdouble) * x[A.indices]
    with np.errstate(all="ignore"):
        return (b - np.add.reduceat(products, A.indptr[:-1])).astype(np.float64)


def exact_residual(A: Any, b: Float[Array, " m"], parts: Sequence[Float[Array, " n"]]) -> Enclosure:
    """Return b - A x for x the sum of some vectors, rounded once, with bounds of the errors."""
    pairs = _exact_terms(A, parts)
    if pairs is None:
        return np.zeros(len(b)), np.full(len(b), np.inf)
    pieces = [piece for pair in pairs for piece in pair]
    negative = (-np.stack(pieces, axis=1)).ravel()
    is_used = negative != 0
    pointers = np.concatenate([[0], np.cumsum(is_used)])[A.indptr * len(pieces)].tolist()
    terms, rows = negative[is_used].tolist(), zip(b.tolist(), pointers[:-1], pointers[1:], strict=True)
    sums = np.array([math.fsum([side, *terms[start:end]]) if end > start else side for side, start, end in rows])
    # Partial products may underflow.
    counts = len(parts) * np.diff(A.indptr)
    return sums, UNIT * np.abs(sums) + (16.0 * counts + 2.0) * SMALLEST


def _exact_terms(
    A: Any, parts: Sequence[Float[Array, " n"]]
) -> list[tuple[Float[Array, " k"], Float[Array, " k"]]] | None:
    """Return the products of the entries of A with each vector, and their errors; None if an error is not known."""
    pairs = list[Any]()
    for x in parts:
        values = x[A.indices]
        with np.errstate(all="ignore"):
            products = A.data * values
            errors = product_error(A.data, values, products)
        is_exact = max(np.abs(A.data).max(initial=0.0), np.abs(values).max(initial=0.0)) < LARGEST_EXACT_FACTOR
        if not is_exact or not np.isfinite(errors).all():
            return None
        pairs.append((products, errors))
    return pairs


def accurate_residual(A: Any, b: Float[Array, " m"], parts: Sequence[Float[Array, " n"]]) -> Enclosure:
    """Return b - A x nearly as `exact_residual` does, for many entries in arrays. Each row must store an entry.

    Numbers are split at powers of two, so that the sums of the upper parts are exact in any order [Rump, Ogita, Oishi
    2008, section 3].
    """
    pairs = _exact_terms(A, parts) if A.nnz >= MIN_SUMMED_ENTRIES else None
    if pairs is None:
        return exact_residual(A, b, parts)
    starts, counts = A.indptr[:-1], np.diff(A.indptr)
    n_terms = 2.0 * len(parts) * counts
    bits = (int(n_terms.max()) + 2).bit_length()

    def exponents_of(terms: Array) -> Array:
        largest = np.maximum.reduceat(np.abs(terms), starts)
        return np.where(largest > 0, np.maximum(np.frexp(largest)[1], MIN_EXPONENT), MIN_EXPONENT) + bits

    def upper_parts(terms: Array, scales: Array) -> Array:
        results = scales + terms
        results -= scales
        return results

    (products, errors), *further_pairs = pairs
    exponents = exponents_of(products)
    lower_exponents = exponents - 53 + bits
    for terms, _ in further_pairs:
        lower_exponents = np.maximum(lower_exponents, exponents_of(terms))
    upper = upper_parts(products, np.repeat(np.ldexp(1.0, exponents), counts))
    remainders, lower = [products - upper, errors, *chain(*further_pairs)], np.zeros(A.nnz)
    scales = np.repeat(np.ldexp(1.0, lower_exponents), counts)
    for terms in remainders:
        part = upper_parts(terms, scales)
        lower += part
        terms -= part
    total, middle, last = (np.add.reduceat(terms, starts) for terms in (upper, lower, sum(remainders)))
    first = b - total
    second = first - middle
    rest = sum_error(b, -total, first) + sum_error(first, -middle, second)
    result = second + (rest - last)
    # The remainders have at most u times the lower powers of two.
    rounding = np.abs(rest) + np.abs(last) + n_terms**2 * np.ldexp(UNIT, lower_exponents)
    bounds = UNIT * (np.abs(result) + 2.0 * rounding) * INFLATION
    return result, bounds + (8.0 * n_terms + 8.0) * SMALLEST  # partial products may underflow


def independent_equations(
    A: Any, b: Float[Array, " m"], point: Float[Array, " n"], sizes: Float[Array, " n"], are_dependent: bool = False
) -> Int[Array, " k"] | None:
    """Return rows of A x = b that are proved to imply all others; None if this is not proved.

    Unknowns of size 0 stay at the point. With `are_dependent`, no proof is tried that all rows are independent.
    """
    if not (np.isfinite(point).all() and np.isfinite(sizes).all()):
        return None
    is_open = sizes >= MIN_SIZE
    counts = _open_counts(A, is_open)
    rows, closed = np.flatnonzero(counts > 0), np.flatnonzero(counts == 0)
    if closed.size and not _hold_exactly(A[closed], b[closed], point):
        return None
    if not rows.size:
        return rows
    if not are_dependent and EquationSystem(A[rows], b[rows], np.where(is_open, sizes, 0.0)).is_independent:
        return rows
    if len(rows) > MAX_DENSE_ROWS:
        return None
    sides = [Fraction(value) for value in b[rows].tolist()]
    part, count = rows_of(A, counts > 0), len(rows)
    if not is_open.all():
        if point[~is_open].any():
            fixed = np.where(is_open, 0.0, point)
            sides = [side - total for side, total in zip(sides, products_in_fractions(part, fixed), strict=True)]
        part = columns_of(part, is_open)
    for min_pivot in MIN_PIVOTS:
        independent = _numerically_independent(part, sizes[is_open], min_pivot)
        dependent = np.delete(np.arange(len(rows)), independent)
        # A smaller set than one that failed is tried.
        if 0 < len(independent) < count and _are_combinations(part, sizes[is_open], sides, independent, dependent):
            return rows[independent]
        count = len(independent)
    return None


def _numerically_independent(A: Any, sizes: Float[Array, " n"], min_pivot: float) -> Int[Array, " k"]:
    """Return rows that are independent by a Cholesky factorization with pivots."""
    scaled = _scaled_columns(A, sizes)
    scaled = small_or_sparse(scaled_rows(scaled, 1 / np.maximum(row_norms(scaled), 1e-300)))
    gram = dense(scaled @ scaled.T)
    _, order, rank, status = LAPACK.dpstrf(gram, tol=min_pivot)
    return np.sort(order[:rank] - 1) if status >= 0 else np.zeros(0, dtype=int)


def _scaled_columns(A: Any, sizes: Float[Array, " n"]) -> Any:
    """Return a matrix in compressed rows whose columns are multiplied by some numbers."""
    scaled = copy.copy(A)
    scaled.data = A.data * sizes[A.indices]
    return scaled


def _are_combinations(
    A: Any,
    sizes: Float[Array, " n"],
    sides: list[Fraction],
    independent: Int[Array, " k"],
    dependent: Int[Array, " d"],
) -> bool:
    """Return whether rows with their right sides are proved to be combinations of independent ones, in fractions.

    The sizes of the unknowns only serve to propose the weights.
    """
    weights = _float_weights(_scaled_columns(A, sizes), independent, dependent)
    if weights is None:
        return False
    whole = _whole_entries(A)
    for k, i in enumerate(dependent.tolist()):
        support = _support(weights[:, k])
        if not any(
            _is_combination(A, whole, sides, i, _fraction_terms(weights[:, k], independent, limit))
            for limit in MAX_DENOMINATORS
        ) and not _is_combination(A, whole, sides, i, _exact_weights(A, independent[support], i)):
            return False
    return True


def _float_weights(
    scaled: Any, independent: Int[Array, " k"], dependent: Int[Array, " d"]
) -> Float[Array, "k d"] | None:
    """Return nearly the weights with which independent rows sum up to dependent ones; None if they overflow."""
    scaled = small_or_sparse(scaled)
    basis = scaled[independent]
    gram = dense(basis @ basis.T)
    scales = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    targets = dense(scaled[dependent].T)
    if not (np.isfinite(gram).all() and np.isfinite(targets).all()):
        return None  # squares of coefficients overflow
    try:
        factor = scipy.linalg.cho_factor(gram * np.outer(scales, scales))
    except (np.linalg.LinAlgError, scipy.linalg.LinAlgError):
        return None
    weights = np.zeros((len(independent), len(dependent)))
    for _ in range(N_WEIGHT_STEPS):
        rest = np.asarray(basis @ (targets - np.asarray(basis.T @ weights)))
        if not np.isfinite(rest).all():
            return None
        weights = weights + scales[:, None] * scipy.linalg.cho_solve(factor, scales[:, None] * rest)
    return weights


def _support(weights: Float[Array, " k"]) -> Int[Array, " s"]:
    """Return the places of the weights that are not read as 0."""
    return np.flatnonzero(np.abs(weights) > MIN_WEIGHT * np.abs(weights).max(initial=0.0))


def _fraction_terms(weights: Float[Array, " k"], rows: Int[Array, " k"], limit: int) -> list[tuple[int, Fraction]]:
    """Return the rows with weights, and fractions near these whose denominators are at most a limit."""
    support = _support(weights)
    values = weights[support]
    is_whole = bool((np.abs(values - np.rint(values)) <= MIN_WEIGHT).all())
    fractions = [Fraction(round(v)) if is_whole else Fraction(v).limit_denominator(limit) for v in values.tolist()]
    return list(zip(rows[support].tolist(), fractions, strict=True))


def equations_with_remainders(A: Any, b: Float[Array, " m"]) -> tuple[Any, Float[Array, " k"], Any] | None:
    """Return equations with the solutions of A x = b, none of which is nearly a combination of others.

    An equation that is one is replaced by its exact difference from the combination, times a number. It is left out if
    nothing remains.

    Returns
    -------
    tuple or None
        The matrix, the right sides, and the matrix whose product with A is nearly the first one. None if no equation is
        nearly a combination, or a number of a difference is no float.
    """
    core = np.flatnonzero(~TriangularRows(A, np.ones(A.shape[1])).has_pivot)
    if not 0 < len(core) <= MAX_REMAINDER_ROWS:
        return None
    part, sides = A[core], [Fraction(value) for value in b[core].tolist()]
    independent = _numerically_independent(part, np.ones(A.shape[1]), MIN_PIVOTS[0])
    dependent = np.delete(np.arange(len(core)), independent)
    weights = _float_weights(part, independent, dependent) if len(independent) and len(dependent) else None
    if weights is None:
        return None
    matrix, right_sides = A.tolil(), b.copy()
    changes: Any = scipy.sparse.eye_array(len(b), format="lil")
    is_used = np.ones(len(b), dtype=bool)
    for k, i in enumerate(dependent.tolist()):
        terms = [(i, Fraction(1)), *_minus(_fraction_terms(weights[:, k], independent, MAX_DENOMINATORS[0]))]
        columns = _weighted_sum(part, terms)
        rest = {j: value for j, value in columns.items() if value}
        side = sum((weight * sides[row] for row, weight in terms), Fraction(0))
        if not rest and side:
            return None  # no point solves the equations
        is_used[core[i]] = bool(rest)
        scale = Fraction(math.lcm(*(weight.denominator for _, weight in terms)))
        largest = max((abs(value) for value in rest.values()), default=Fraction(1)) * scale
        scale *= Fraction(2) ** (largest.denominator.bit_length() - largest.numerator.bit_length())
        numbers = {j: _exact_float(value * scale) for j, value in rest.items()}
        right_side, factors = _exact_float(side * scale), [_nearest_float(weight * scale) for _, weight in terms]
        if right_side is None or None in numbers.values() or not np.isfinite(factors).all():
            return None
        matrix[core[i]] = 0.0
        for j, value in numbers.items():
            matrix[core[i], j] = value
        for (row, _), factor in zip(terms, factors, strict=True):
            changes[core[i], core[row]] = factor
        right_sides[core[i]] = right_side
    return (
        rows_of(scipy.sparse.csr_array(matrix), is_used),
        right_sides[is_used],
        rows_of(scipy.sparse.csr_array(changes), is_used),
    )


def _nearest_float(value: Fraction) -> float:
    """Return the float next to a fraction, infinite for one above all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _exact_float(value: Fraction) -> float | None:
    """Return a fraction as a float; None if it is none."""
    number = _nearest_float(value)
    return number if math.isfinite(number) and Fraction(number) == value else None


def _minus(terms: Sequence[tuple[int, Fraction]]) -> list[tuple[int, Fraction]]:
    return [(row, -weight) for row, weight in terms]


def _weighted_sum(A: Any, terms: Sequence[tuple[int, Fraction]]) -> dict[int, Fraction]:
    """Return the sum of rows with weights, by columns."""
    columns = dict[int, Fraction]()
    for row, weight in terms:
        part = slice(A.indptr[row], A.indptr[row + 1])
        for j, value in zip(A.indices[part].tolist(), A.data[part].tolist(), strict=True):
            columns[j] = columns.get(j, Fraction(0)) + weight * Fraction(value)
    return columns


def _is_combination(A: Any, whole: Any, sides: list[Fraction], i: int, terms: Sequence[tuple[int, Fraction]]) -> bool:
    """Return whether row i with its right side is exactly the sum of others with weights.

    `whole` is the result of `_whole_entries`.
    """
    if whole is not None and len(terms) < MAX_TERMS:
        scale = math.lcm(*(weight.denominator for _, weight in terms))
        weights = [weight.numerator * (scale // weight.denominator) for _, weight in terms]
        is_zero = _is_zero(whole[np.array([*(row for row, _ in terms), i])], [*weights, -scale])
        return is_zero and sides[i] == sum((weight * sides[row] for row, weight in terms), Fraction(0))
    if sides[i] != sum((weight * sides[row] for row, weight in terms), Fraction(0)):
        return False
    return not any(_weighted_sum(A, [*terms, (i, Fraction(-1))]).values())


def _is_zero(rows: Any, weights: list[int]) -> bool:
    """Return whether the sum of rows of whole numbers of 64 bits with whole weights is 0.

    It is if it is a multiple of some primes whose product is larger than its entries can be.
    """
    limit = sum(map(abs, weights)) * int(np.abs(rows.data).max(initial=1))
    columns, modulus, prime = rows.T.tocsr(), 1, MODULUS
    entries = columns.data
    while modulus <= limit:
        prime -= 1
        while not fmpz(prime).is_prime():
            prime -= 1
        columns.data = entries % prime
        if (columns @ np.array([weight % prime for weight in weights]) % prime).any():
            return False
        modulus *= prime
    return True


def _whole_entries(A: Any) -> Any:
    """Return the matrix times a power of two, in whole numbers of 64 bits; None if its entries need more bits."""
    mantissas, exponents = np.frexp(A.data)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    is_used = whole != 0
    if not is_used.any():
        return None
    # The lowest bit that is set says how far each number may be shifted.
    shifts = np.where(is_used, np.frexp((whole & -whole).astype(float))[1] - 1, 0)
    lowest = exponents - 53 + shifts
    power = int(lowest[is_used].min())
    if int(exponents[is_used].max()) - power > MAX_WHOLE_BITS:
        return None
    result = A.copy()
    result.data = np.where(is_used, (whole >> shifts) << np.maximum(lowest - power, 0), 0)
    return result


def _exact_weights(A: Any, rows: Int[Array, " k"], i: int) -> list[tuple[int, Fraction]]:
    """Return weights in fractions with which rows sum up to row i in some columns; none if this costs too much."""
    if not 0 < len(rows) <= MAX_EXACT_ROWS:
        return []
    block = np.asarray(A[rows].toarray())
    norms = np.maximum(np.abs(block).max(axis=1), 1e-300)
    columns = pivots(block / norms[:, None])[1][: len(rows)]
    if len(columns) < len(rows):
        return []
    target = np.asarray(A[[i]].toarray())[0, columns]
    ratios = [value.as_integer_ratio() for value in block[:, columns].T.ravel().tolist()]
    sides = [value.as_integer_ratio() for value in target.tolist()]
    size = len(rows)
    matrix = fmpq_mat(size, size, [fmpq(*pair) for pair in ratios])
    try:
        solution = matrix.solve(fmpq_mat(size, 1, [fmpq(*pair) for pair in sides]))
    except ZeroDivisionError:  # singular
        return []
    weights = [to_fraction(solution[k, 0]) for k in range(size)]
    return list(zip(rows.tolist(), weights, strict=True))


def _hold_exactly(A: Any, b: Float[Array, " m"], point: Float[Array, " n"]) -> bool:
    """Return whether a point satisfies equations exactly."""
    residual, errors = exact_residual(A, b, [point])
    if (np.abs(residual) > errors).any():
        return False
    values = point[A.indices]
    is_exact = (np.abs(A.data * values) >= SMALLEST_EXACT_PRODUCT) | (A.data == 0) | (values == 0)
    if is_exact.all() and np.isfinite(errors).all():
        return not residual.any()  # exact sums, rounded once
    return all(total == Fraction(side) for total, side in zip(products_in_fractions(A, point), b.tolist(), strict=True))


def products_in_fractions(A: Any, x: Float[Array, " n"]) -> list[Fraction]:
    """Return A x in fractions."""
    results = list[Fraction]()
    for i in range(A.shape[0]):
        part = slice(A.indptr[i], A.indptr[i + 1])
        terms = zip(A.data[part].tolist(), x[A.indices[part]].tolist(), strict=True)
        results.append(sum((Fraction(a) * Fraction(value) for a, value in terms if a and value), Fraction(0)))
    return results
