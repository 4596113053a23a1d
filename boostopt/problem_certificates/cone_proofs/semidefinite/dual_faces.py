"""Faces of the dual cones that contain all multipliers of a program whose dual has no interior.

If F = G d is positive semidefinite for a direction d with <c, d> = 0, then each multiplier Z of the dual, which has
Gᵀ Z = c, satisfies <F, Z> = 0, so that Z F = 0 [Borwein and Wolkowicz 1981]. The proof does not need d. It adds the
equations Z q = 0 for some vectors q of whole numbers to those of the dual, and a solution of all of them with
Z + sum q qᵀ positive definite is positive semidefinite: Z maps the span of these q to 0, and the span of their
orthogonal vectors to itself. A poor choice of q costs a bound, never its truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.problem_certificates.arithmetic.balls import Enclosure
from boostopt.problem_certificates.arithmetic.sparse_float_forms import summed_enclosure
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup, columns_of
from boostopt.problem_certificates.cone_proofs.cone_membership import centre
from boostopt.problem_certificates.cone_proofs.semidefinite.newton_matrices import dense_if_dense
from boostopt.problem_certificates.cone_proofs.semidefinite.semidefinite_answers import semidefinite_answers

LAPACK: Any = scipy.linalg.lapack
"""SciPy's factorizations, which have no annotations."""

DIRECTION_GOAL = 1e-10
"""Gap up to which a direction is computed."""

MIN_TRACE = 1e-3
"""Smallest trace, relative to the largest one, of the variable that the trace of a direction determines."""

MAX_DEPTH = 1e-6
"""Largest multiple of the identity below the multipliers of a dual that may have no interior."""

MIN_EIGENVALUE = 1e-6
"""Relative size of an eigenvalue of G d above which its vector counts."""

MAX_DENOMINATORS = (6, 100)
"""Largest denominators of the entries of null vectors, which are tried in turn."""

MAX_FRACTION_ERROR = 1e-6
"""Largest distance of an entry from a fraction of a small denominator."""

MAX_SCALE = 2**20
"""Largest common denominator of a vector."""

MIN_PIVOT = 1e-10
"""Relative squared distance of a column from the others below which it counts as dependent."""

MAX_EXPONENT = 1023
"""Largest exponent of a float that is a power of two."""


@dataclass(frozen=True, eq=False)
class DualFace:
    """Whole-number vectors that multipliers map to 0.

    Attributes
    ----------
    null_vectors
        For each group and each of its cones, a matrix whose columns are the vectors; shape (order, r).
    pivots
        The rows of each of these matrices that are a multiple of the identity.
    is_zero_row
        The rows of the form whose multipliers are 0.
    """

    null_vectors: list[list[Float[Array, "_ _"]]]
    pivots: list[list[Int[Array, " _"]]]
    is_zero_row: Bool[Array, " m"]

    @property
    def is_exact(self) -> bool:
        """True if all vectors are whole numbers with exact products, and the pivots are as they are described."""
        pairs = zip(chain(*self.null_vectors), chain(*self.pivots), strict=True)
        return all(_is_whole_basis(Q, pivots) for Q, pivots in pairs)

    def equations(self, k: int) -> Any:
        """Return the coefficients of the equations (Z + Zᵀ) q = 0 of a group, in compressed rows."""
        rows, columns, data, n_rows = list[Array](), list[Array](), list[Array](), 0
        start = 0
        for Q, pivots in zip(self.null_vectors[k], self.pivots[k], strict=True):
            order, rank = Q.shape
            for j in range(rank):
                support = np.flatnonzero(Q[:, j])
                # That an earlier vector is mapped to 0 implies the entries of its pivot.
                lines = np.setdiff1d(np.arange(order), pivots[:j])
                places = np.repeat(n_rows + np.arange(len(lines)), len(support))
                for entries in (
                    lines[:, None] * order + support,
                    support * order + lines[:, None],
                ):
                    rows.append(places)
                    columns.append(start + entries.ravel())
                    data.append(np.tile(Q[support, j], len(lines)))
                n_rows += len(lines)
            start += order**2
        if not rows:
            return scipy.sparse.csr_array((0, start))
        entries = (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)))
        return scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(n_rows, start)))

    def completed(self, k: int, z: Enclosure) -> Enclosure:
        """Return an enclosure of Z plus positive multiples of q qᵀ, which is semidefinite only if Z is."""
        if not any(Q.shape[1] for Q in self.null_vectors[k]):
            return z
        parts, start = list[Array](), 0
        for Q in self.null_vectors[k]:
            order, rank = Q.shape
            # A multiplier that maps all vectors to 0 is 0: its entries are those of rounding.
            size = 1.0 if rank == order else np.trace(z[0][start : start + order**2].reshape(order, order)) / order
            start += order**2
            products = Q @ Q.T  # whole numbers below 2^53
            largest = float(np.abs(products).max(initial=1.0)) or 1.0
            exponent = math.frexp(max(float(size), 1e-200) / largest)[1] if math.isfinite(size) else 0
            power = math.ldexp(1.0, min(exponent, MAX_EXPONENT))
            parts.append((products * power).ravel())
        completion = np.concatenate(parts)
        return summed_enclosure(z, (completion, np.zeros(len(completion))))


def dual_faces(form: ConeForm, direction: Float[Array, " n"]) -> Iterator[DualFace]:
    """Yield faces whose vectors of small whole numbers span nearly the range of G d; none if no such vectors do.

    Parameters
    ----------
    form
        A form that `has_semidefinite_answer`.
    direction
        The direction d, as of `recession_direction`.
    """
    bases = _range_bases(form, direction)
    is_zero_row = form.R @ direction
    is_zero_row = np.abs(is_zero_row) > MIN_EIGENVALUE * max(1.0, float(np.abs(is_zero_row).max(initial=0.0)))
    if not is_zero_row.any() and not any(basis.shape[1] for part in bases for basis in part):
        return
    for denominator in MAX_DENOMINATORS:
        vectors, pivots = list[list[Array]](), list[list[Array]]()
        for part in bases:
            pairs = [_whole_basis(basis, denominator) for basis in part]
            if any(pair is None for pair in pairs):
                break
            vectors.append([pair[0] for pair in pairs if pair is not None])
            pivots.append([pair[1] for pair in pairs if pair is not None])
        else:
            yield DualFace(vectors, pivots, is_zero_row)


def singular_cones(form: ConeForm, direction: Float[Array, " n"]) -> list[str]:
    """Return the names of the cones with G d != 0, up to rounding: all their multipliers are singular."""
    bases = _range_bases(form, direction)
    return [
        name
        for group, part in zip(form.groups, bases, strict=True)
        for name, basis in zip(group.names, part, strict=True)
        if basis.shape[1]
    ]


def _range_bases(form: ConeForm, direction: Float[Array, " n"]) -> list[list[Float[Array, "_ _"]]]:
    results = list[list[Array]]()
    for group in form.groups:
        order = math.isqrt(group.size)
        matrices = np.asarray(group.G @ direction).reshape(group.count, order, order)
        results.append([_range_basis(X) for X in matrices])
    return results


def recession_direction(form: ConeForm) -> Float[Array, " n"] | None:
    """Return nearly a d with G d in the cones, <c, d> = 0 and trace 1; None if there seems to be none.

    It minimizes <c, d>. The multipliers of this program say how much of the identity fits below a multiplier.
    """
    one_sided = np.isfinite(form.row_lower).astype(float) - np.isfinite(form.row_upper).astype(float)
    traces = form.R_transposed @ one_sided
    for group, G_transposed in zip(form.groups, form.G_transposed, strict=True):
        traces = traces + G_transposed @ centre(group)
    # The variable that the trace determines joins all others: one with few entries keeps the matrices sparse.
    n_entries = sum((np.diff(matrix.tocsc().indptr) for matrix in (form.R, *(group.G for group in form.groups))), 0)
    is_large = np.abs(traces) >= MIN_TRACE * np.abs(traces).max(initial=0.0)
    j = int(np.argmin(np.where(is_large, n_entries, np.inf)))
    if not abs(traces[j]) > 0 or np.isfinite(form.lower).any() or np.isfinite(form.upper).any():
        return None
    rest = np.delete(np.arange(form.n), j)
    ratios = traces[rest] / traces[j]

    def projected(matrix: Any) -> tuple[Any, Array]:
        """Return the matrix of the other variables, and the constants, if the trace is 1."""
        last = columns_of(matrix, np.array([j]))
        change: Any = last @ scipy.sparse.csr_array(ratios[None, :])
        return scipy.sparse.csr_array(columns_of(matrix, rest) - change), last.toarray().ravel() / traces[j]

    R, row_offsets = projected(form.R)
    groups = [replace(group, G=G, h=h) for group in form.groups for G, h in [projected(group.G)]]
    with np.errstate(all="ignore"):
        row_lower = np.where(np.isfinite(form.row_lower), 0.0, -np.inf) - row_offsets
        row_upper = np.where(np.isfinite(form.row_upper), 0.0, np.inf) - row_offsets
    changed = replace(
        form,
        n=form.n - 1,
        c=form.c[rest] - form.c[j] * ratios,
        offset=form.c[j] / traces[j],
        E=columns_of(form.E, rest),
        R=R,
        row_lower=row_lower,
        row_upper=row_upper,
        lower=form.lower[rest],
        upper=form.upper[rest],
        groups=groups,
        column_names=[form.column_names[k] for k in rest.tolist()],
    )
    answer = next(semidefinite_answers(changed, DIRECTION_GOAL), None)
    if answer is None or not answer.is_finite:
        return None
    if changed.c @ answer.x + changed.offset > MAX_DEPTH * form.cost_scale:
        return None
    result = np.zeros(form.n)
    result[rest] = answer.x
    result[j] = (1 - traces[rest] @ answer.x) / traces[j]
    return result


def _range_basis(X: Float[Array, "n n"]) -> Float[Array, "n r"]:
    """Return orthonormal vectors that span the range of a matrix of trace at most 1, up to small eigenvalues."""
    values, vectors = np.linalg.eigh((X + X.T) / 2)
    return vectors[:, values > MIN_EIGENVALUE]


def _whole_basis(basis: Float[Array, "n r"], denominator: int) -> tuple[Array, Array] | None:
    """Return whole numbers whose columns nearly span a space, and their rows that are a multiple of the identity.

    It is None if the entries are not near fractions of a small denominator, or the products would not be exact.
    """
    order, rank = basis.shape
    if rank == 0:
        return np.zeros((order, 0)), np.zeros(0, dtype=int)
    factors: Any = scipy.linalg.qr(basis.T, pivoting=True, mode="r")
    pivots = np.sort(np.asarray(factors[1])[:rank])
    entries = np.linalg.solve(basis[pivots].T, basis.T).T
    whole = np.zeros(entries.shape)
    for j in range(rank):
        fractions = [Fraction(value).limit_denominator(denominator) for value in entries[:, j].tolist()]
        scale = math.lcm(*(fraction.denominator for fraction in fractions))
        error = np.abs(entries[:, j] - np.array([float(part) for part in fractions])).max()
        if not (error <= MAX_FRACTION_ERROR and scale <= MAX_SCALE):
            return None
        whole[:, j] = [float(fraction * scale) for fraction in fractions]
    return (whole, pivots) if _is_whole_basis(whole, pivots) else None


def _is_whole_basis(Q: Float[Array, "n r"], pivots: Int[Array, " r"]) -> bool:
    """Return whether products of vectors are exact, and some of their rows are a positive diagonal matrix.

    Otherwise the equations that a face omits would not follow from the others.
    """
    if not np.array_equal(Q, np.round(Q)) or not float((np.abs(Q) @ np.abs(Q).T).max(initial=0.0)) < 2.0**52:
        return False
    block = Q[pivots]
    is_square = len(pivots) == Q.shape[1] == len(np.unique(pivots))
    return is_square and bool((np.diag(block) > 0).all() and np.count_nonzero(block) == len(block))


@dataclass(frozen=True, eq=False)
class ReducedForm:
    """A form whose cones are those of a face, nearly, and whose variables are independent.

    Attributes
    ----------
    form
        The form; its numbers are rounded.
    face
        The face.
    bases
        For each cone of the original form, orthonormal vectors that span the space of its matrices in the face.
    columns
        The numbers of its variables in the original form.
    images
        The rows and the matrices of the form, one below the other, for all variables of the original form; sparse.
    gram
        The products of its columns.
    """

    form: ConeForm
    face: DualFace
    bases: list[list[Float[Array, "_ _"]]]
    columns: Int[Array, " reduced"]
    images: Any
    gram: Float[Array, "n n"]

    def lifted(self, original: ConeForm, rows: Array, cones: list[Array]) -> tuple[Array, list[Array]]:
        """Return the multipliers of the original form that those of this one stand for."""
        all_rows = np.zeros(len(original.row_lower))
        all_rows[~self.face.is_zero_row] = rows
        remaining = iter(cones)
        results = list[Array]()
        for group, bases in zip(original.groups, self.bases, strict=True):
            order, parts = math.isqrt(group.size), list[Array]()
            for V in bases:
                size = V.shape[1]
                W = next(remaining).reshape(size, size) if size else np.zeros((0, 0))
                parts.append((V @ W @ V.T).ravel() if size else np.zeros(order**2))
            results.append(np.concatenate(parts))
        return all_rows, results


def reduced_form(form: ConeForm, face: DualFace) -> ReducedForm:
    """Return the form with the matrices Vᵀ (G x + h) V, for V orthogonal to the vectors of a face."""
    bases, groups = list[list[Array]](), list[ConeGroup]()
    for group, vectors in zip(form.groups, face.null_vectors, strict=True):
        order = math.isqrt(group.size)
        bases.append([scipy.linalg.null_space(Q.T) if Q.shape[1] else np.eye(order) for Q in vectors])
        for k, V in enumerate(bases[-1]):
            size = V.shape[1]
            if size == 0:
                continue
            part = slice(k * group.size, (k + 1) * group.size)
            columns: Any = scipy.sparse.csc_array(group.G[part])
            used = np.flatnonzero(np.diff(columns.indptr))
            dense = columns[:, used].toarray().T.reshape(-1, order, order)
            images = (V.T @ dense @ V).reshape(len(used), size**2).T
            G = np.zeros((size**2, form.n))
            G[:, used] = np.where(np.abs(images) > 1e-14 * np.abs(images).max(initial=0.0), images, 0.0)
            h = (V.T @ group.h[part].reshape(order, order) @ V).ravel()
            names, positions = [group.names[k]], [group.positions[k]]
            groups.append(ConeGroup("semidefinite", size**2, 0.0, scipy.sparse.csr_array(G), h, names, positions))
    R = form.R[~face.is_zero_row]
    images: Any = scipy.sparse.vstack([R, *(group.G for group in groups)], format="csc")
    factor = dense_if_dense(images)
    products: Any = factor.T @ factor
    gram = products if isinstance(factor, np.ndarray) else np.asarray(products.toarray())
    columns = _independent_columns(gram)
    reduced = replace(
        form,
        n=len(columns),
        c=form.c[columns],
        E=columns_of(form.E, columns),
        R=columns_of(R, columns),
        row_lower=form.row_lower[~face.is_zero_row],
        row_upper=form.row_upper[~face.is_zero_row],
        row_names=[name for name, flag in zip(form.row_names, face.is_zero_row.tolist(), strict=True) if not flag],
        lower=form.lower[columns],
        upper=form.upper[columns],
        groups=[replace(group, G=columns_of(group.G, columns)) for group in groups],
        column_names=[form.column_names[j] for j in columns.tolist()],
    )
    return ReducedForm(reduced, face, bases, columns, images, gram)


def _independent_columns(gram: Float[Array, "n n"]) -> Int[Array, " k"]:
    """Return columns that are independent by a Cholesky factorization with pivots of their products."""
    scales = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    _, order, rank, status = LAPACK.dpstrf(gram * np.outer(scales, scales), tol=MIN_PIVOT)
    return np.sort(order[:rank] - 1) if status >= 0 else np.arange(gram.shape[0])
