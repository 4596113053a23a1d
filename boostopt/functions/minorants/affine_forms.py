"""Affine CVXPY expressions as matrices that act on the variable and on other atoms, with bounds of their rounding.

The matrices of nested affine atoms are multiplied out once. So 1e13 (sum d - 1) has one row, and the coefficients of
this row do not depend on d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.minorants.interval_sums import Coefficients, exact_sum, interval, reciprocal

STRUCTURAL = frozenset(
    {
        "reshape", "index", "special_index", "transpose", "Promote", "broadcast_to", "Hstack", "Vstack", "Concatenate",
        "diag_vec", "diag_mat", "upper_tri", "conj", "real", "nonneg_wrap", "nonpos_wrap", "psd_wrap", "nsd_wrap",
        "symmetric_wrap", "hermitian_wrap",
    }
)  # fmt: skip
"""Affine atoms that only arrange the entries of their arguments."""

AFFINE = STRUCTURAL | {
    "AddExpression", "NegExpression", "multiply", "DivExpression", "MulExpression", "Sum", "Trace", "kron", "conv",
    "convolve",
}  # fmt: skip
"""Affine atoms whose matrices are multiplied out."""


@dataclass(frozen=True, eq=False)
class AffineForm:
    """The map sum_k A_k x_k + b of nodes x_k, which are arrays flattened in Fortran order.

    Attributes
    ----------
    terms
        The matrices A_k by the numbers of the nodes.
    offset
        b, shape (m,).
    """

    terms: Mapping[int, Coefficients]
    offset: Interval

    @property
    def m(self) -> int:
        """The number of entries of the form."""
        return len(self.offset.lower)

    @property
    def is_constant(self) -> bool:
        """Whether the form depends on no node."""
        return not self.terms

    def values(self, nodes: Mapping[int, Interval]) -> Interval:
        """Return intervals of the form for intervals of the nodes."""
        values = self.offset
        for node, matrix in self.terms.items():
            values = add_intervals(values, matrix @ nodes[node])
        return values

    def left_multiply(self, matrix: Coefficients) -> AffineForm:
        """Return the product of a matrix and this form."""
        terms = {node: matrix.product(A) for node, A in self.terms.items()}
        return AffineForm(terms, matrix @ self.offset)

    def reduce_coefficients(self, node: int) -> AffineForm:
        """Return a form with smaller coefficients that is equal if the entries of the node sum to 1.

        If the coefficients of a row lie within a factor of 2, the smallest one moves to the offset. The differences to
        it are exact [Sterbenz 1974].
        """
        A = self.terms.get(node)
        if A is None:
            return self
        dense = np.flatnonzero(A.lengths == A.shape[1])
        shifted_rows, offset, data = list[int](), self.offset, A.values.data.copy()
        shift = np.zeros(self.m)
        for row in dense:
            entries = data[A.values.indptr[row] : A.values.indptr[row + 1]]
            if len(entries) and (entries.min() > 0.0 or entries.max() < 0.0):
                sizes = np.abs(entries)
                if sizes.max() <= 2.0 * sizes.min():
                    shift[row] = entries[np.argmin(sizes)]
                    entries -= shift[row]
                    shifted_rows.append(int(row))
        if not shifted_rows:
            return self
        offset = add_intervals(offset, exact_interval(shift))
        # `eliminate_zeros` works in place, and other matrices may share the indices.
        values = scipy.sparse.csr_array((data, A.values.indices, A.values.indptr), shape=A.shape, copy=True)
        if A.is_exact:
            values.eliminate_zeros()
        terms = {**self.terms, node: Coefficients(values, A.radius)}
        if A.is_exact and values.nnz == 0:
            del terms[node]
        return AffineForm(terms, offset)


def add_intervals(x: Interval, y: Interval) -> Interval:
    """Return x + y; without rounding if one of them is 0."""
    if not (x.lower.any() or x.upper.any()):
        return y
    if not (y.lower.any() or y.upper.any()):
        return x
    return exact_sum(x, y)


def constant_form(values: Any) -> AffineForm:
    """Return a form without nodes."""
    array = values.toarray() if scipy.sparse.issparse(values) else np.asarray(values)
    flat = np.ravel(array, order="F")
    low = flat.astype(np.float64)
    if flat.dtype.kind in "iu" and (np.abs(low) > 2.0**53).any():
        return AffineForm({}, interval(low, low))
    return AffineForm({}, exact_interval(low))


def apply_affine_atom(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the form of an affine atom from the forms of its arguments."""
    name = type(expression).__name__
    if name in STRUCTURAL:
        return arrange_entries(expression, arguments)
    if name == "AddExpression":
        shapes = [argument.shape for argument in expression.args]
        return add_forms(
            [broadcast_form(form, shape, expression.shape) for form, shape in zip(arguments, shapes, strict=True)]
        )
    if name == "NegExpression":
        return arguments[0].left_multiply(Coefficients.from_diagonal(exact_interval(np.full(arguments[0].m, -1.0))))
    if name == "Sum":
        places = column_entries(expression)
        k, m = places.shape
        return arguments[0].left_multiply(
            _indicator_matrix(places.ravel(order="F"), np.repeat(np.arange(m), k), m, arguments[0].m)
        )
    if name == "Trace":
        n = expression.args[0].shape[0]
        return arguments[0].left_multiply(_indicator_matrix(np.arange(n) * (n + 1), np.zeros(n, int), 1, n * n))
    if name in ("multiply", "DivExpression"):
        return _elementwise_product(expression, arguments)
    if name == "MulExpression":
        if expression.args[0].ndim == 0 or expression.args[1].ndim == 0:
            return _elementwise_product(expression, arguments)
        return _matrix_product(expression, arguments)
    return _kronecker_or_convolution(expression, arguments)


def arrange_entries(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the form of an atom that only arranges entries. Entries that are no argument's are 0."""
    next_label, labels = 1, list[Array]()
    for argument in expression.args:
        labels.append(np.arange(next_label, next_label + argument.size, dtype=float).reshape(argument.shape, order="F"))
        next_label += argument.size
    arranged = expression.numeric(labels)
    flat = np.ravel(arranged.toarray() if scipy.sparse.issparse(arranged) else np.asarray(arranged), order="F")
    places, start_label, parts = np.rint(flat).astype(int), 1, list[AffineForm]()
    for form in arguments:
        rows = np.flatnonzero((places >= start_label) & (places < start_label + form.m))
        if len(rows):
            parts.append(form.left_multiply(_indicator_matrix(places[rows] - start_label, rows, len(places), form.m)))
        start_label += form.m
    return add_forms(parts) if parts else constant_form(np.zeros(len(places)))


def broadcast_form(form: AffineForm, shape: tuple[int, ...], target_shape: tuple[int, ...]) -> AffineForm:
    """Return a form, broadcast from one shape to another."""
    if shape == target_shape:
        return form
    entries = np.broadcast_to(np.arange(form.m).reshape(shape, order="F"), target_shape).ravel(order="F")
    return form.left_multiply(Coefficients.selection(entries, form.m))


def column_entries(atom: Any) -> Array:
    """Return the entries of the argument of an atom along an axis, shape (k, m): a column for each result."""
    shape, axis = atom.args[0].shape, getattr(atom, "axis", None)  # older geometric means have no axis
    entries = np.arange(atom.args[0].size).reshape(shape, order="F")
    if axis is None:
        return entries.reshape((-1, 1), order="F")
    axes = np.atleast_1d(axis)
    reordered = np.moveaxis(entries, axes, range(len(axes)))
    return reordered.reshape((int(np.prod([shape[a] for a in axes])), -1), order="F")


def _indicator_matrix(columns: Array, rows: Array, m: int, k: int) -> Coefficients:
    """Return the matrix of shape (m, k) with ones at these rows and columns and zeros elsewhere."""
    values = scipy.sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(m, k))
    values.sort_indices()
    return Coefficients(values)


def add_forms(forms: Sequence[AffineForm]) -> AffineForm:
    """Return the sum of forms with the same number of entries."""
    terms, offset = dict[int, Coefficients](), forms[0].offset
    for form in forms[1:]:
        offset = add_intervals(offset, form.offset)
    for node in dict.fromkeys(node for form in forms for node in form.terms):
        parts = [form.terms[node] for form in forms if node in form.terms]
        terms[node] = parts[0] if len(parts) == 1 else _add_matrices(parts)
    return AffineForm(terms, offset)


def _add_matrices(parts: Sequence[Coefficients]) -> Coefficients:
    """Return the sum of matrices of the same shape."""
    m = parts[0].shape[0]
    stacked = scipy.sparse.csr_array(scipy.sparse.vstack([part.values for part in parts]))
    radius = None
    if not all(part.is_exact for part in parts):
        radius = np.concatenate([np.zeros(part.values.nnz) if part.radius is None else part.radius for part in parts])
    rows, columns = np.tile(np.arange(m), len(parts)), np.arange(m * len(parts))
    return _indicator_matrix(columns, rows, m, m * len(parts)).product(Coefficients(stacked, radius))


def _elementwise_product(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return an elementwise product or quotient with one constant factor."""
    first, second = (
        broadcast_form(form, argument.shape, expression.shape)
        for form, argument in zip(arguments, expression.args, strict=True)
    )
    if type(expression).__name__ == "DivExpression":
        if first.is_constant and second.is_constant:
            is_exact_divisor = (second.offset.lower == second.offset.upper) & (second.offset.lower != 0.0)
            with np.errstate(all="ignore"):
                ends = [a / b for a in _ends(first.offset) for b in _ends(second.offset)]
            quotient = Interval.round_outward(np.min(ends, axis=0), np.max(ends, axis=0))
            product = first.offset * reciprocal(second.offset)
            return AffineForm(
                {},
                Interval(
                    np.where(is_exact_divisor, quotient.lower, product.lower),
                    np.where(is_exact_divisor, quotient.upper, product.upper),
                ),
            )
        second = AffineForm({}, _exact_reciprocal(second.offset))
    if first.is_constant and second.is_constant:
        return AffineForm({}, first.offset * second.offset)
    factors, form = (first, second) if first.is_constant else (second, first)
    return form.left_multiply(Coefficients.from_diagonal(factors.offset))


def _ends(x: Interval) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Return both ends of intervals."""
    return x.lower, x.upper


def _exact_reciprocal(x: Interval) -> Interval:
    """Return 1 / x; without rounding for powers of two."""
    enclosure = reciprocal(x)
    with np.errstate(all="ignore"):
        is_exact = (x.lower == x.upper) & (np.frexp(np.abs(x.lower))[0] == 0.5) & (np.abs(x.lower) > 1e-300)
        inverse = 1.0 / x.lower
    return Interval(np.where(is_exact, inverse, enclosure.lower), np.where(is_exact, inverse, enclosure.upper))


def constant_matrix(expression: Any, form: AffineForm) -> Coefficients:
    """Return the matrix of a constant expression. A vector becomes a matrix of one row."""
    shape = expression.shape if expression.ndim == 2 else (1, expression.size)
    if isinstance(expression, cp.Constant) and scipy.sparse.issparse(expression.value):
        copy = scipy.sparse.csr_array(expression.value, dtype=np.float64, copy=True)
        values = scipy.sparse.csr_array(copy.reshape(shape))
        values.sum_duplicates()
        values.eliminate_zeros()
        return Coefficients(values)
    low, high = (np.reshape(end, shape, order="F") for end in _ends(form.offset))
    return Coefficients.from_interval(Interval(low, high))


def _matrix_product(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the product of a constant matrix and a form.

    In Fortran order, the matrix of B X is the Kronecker product of I and B, and that of X B is the one of B' and I.
    """
    first, second = expression.args
    if arguments[0].is_constant:
        count = 1 if second.ndim == 1 else second.shape[1]
        return arguments[1].left_multiply(_kronecker(constant_matrix(first, arguments[0]), count, unit_first=True))
    matrix = constant_matrix(second, arguments[1])  # a row, if it is a vector
    matrix = matrix if second.ndim == 1 else matrix.transposed
    return arguments[0].left_multiply(_kronecker(matrix, 1 if first.ndim == 1 else first.shape[0], unit_first=False))


def _kronecker(matrix: Coefficients, count: int, unit_first: bool) -> Coefficients:
    """Return the Kronecker product with a unit matrix of size `count`, before or after the matrix."""
    if count == 1:
        return matrix
    unit = scipy.sparse.eye_array(count, format="csr")

    def product(values: Any) -> Any:
        factors = (unit, values) if unit_first else (values, unit)
        kronecker = scipy.sparse.csr_array(scipy.sparse.kron(*factors, format="csr"))
        kronecker.sort_indices()
        return kronecker

    if matrix.radius is None:
        return Coefficients(product(matrix.values))
    radii = scipy.sparse.csr_array((matrix.radius, matrix.values.indices, matrix.values.indptr), shape=matrix.shape)
    return Coefficients(product(matrix.values), product(radii).data)


def _kronecker_or_convolution(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return a Kronecker product or a convolution with one constant factor."""
    constant_index = 0 if arguments[0].is_constant else 1
    factor, form = arguments[constant_index], arguments[1 - constant_index]
    if type(expression).__name__ == "kron":
        labels = [np.arange(float(a.size)).reshape(a.shape, order="F") for a in expression.args]
        ones = [np.ones(a.shape) for a in expression.args]
        index_pairs = np.kron(labels[0], ones[1]), np.kron(ones[0], labels[1])
        entry_indices = [np.rint(np.ravel(part, order="F")).astype(int) for part in index_pairs]
        rows = np.arange(len(entry_indices[0]))
        factor_entries, columns = entry_indices[constant_index], entry_indices[1 - constant_index]
    else:
        factor_rows, form_rows = np.meshgrid(np.arange(factor.m), np.arange(form.m), indexing="ij")
        rows, factor_entries, columns = (factor_rows + form_rows).ravel(), factor_rows.ravel(), form_rows.ravel()
    # Every pair of entries occurs once, so that the coefficients are entries of the constant factor.
    entries = Interval(factor.offset.lower[factor_entries], factor.offset.upper[factor_entries])
    order = np.lexsort((columns, rows))
    m = expression.size
    diagonal = Coefficients.from_diagonal(Interval(entries.lower[order], entries.upper[order]))
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
    values = scipy.sparse.csr_array((diagonal.values.data, columns[order], ends), shape=(m, form.m))
    return form.left_multiply(Coefficients(values, diagonal.radius))
