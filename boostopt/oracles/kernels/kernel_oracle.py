r"""Kernel columns: h_k(x) = K(x, x_k) / scale_k, one hypothesis for each training example x_k.

scale_k = max_n |K(x_n, x_k)| over the training examples, so that |h_k| <= 1 there. The hypothesis stores its scale, and
values beyond 1 on other x are cut. The edges are

    e_k = (1/scale_k) sum_n y_n d_n K(x_n, x_k).

For the linear kernel, e_k scale_k = X(X'(y d)), and no matrix of N x N entries is formed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float, Int
from boostopt._utils.validation import check_choice, check_flag, check_integer, check_number, check_positive
from boostopt.errors import ProblemError
from boostopt.oracles.base import Answer, Column, Hypothesis, Query, compact_margins
from boostopt.oracles.kernels.kernel import KERNELS, LARGEST_DEGREE, Kernel, KernelColumn, row_norms, squared_norms
from boostopt.oracles.labelled_examples import ExamplesOracle, check_examples
from boostopt.oracles.weight_scaling import MACHINE_EPSILON, scaled_weights, unscaled_upper_bound

BLOCK_BYTES = 20_000_000
"""Memory of a block of kernel values, in bytes."""

MIN_KERNEL_VALUE = 1e-280
"""The smallest allowed bound on the kernel values of an example: much smaller values lose digits to underflow."""

LARGEST_LOSS = 1e-8
"""Largest allowed error of a column by cancellation, relative to its scale: ordinary kernels lose 1e-14."""

TIE_DIGITS = 12
"""Decimals of the total weight: edges that agree in them are equal up to rounding, and the first example wins."""


class KernelColumns(ExamplesOracle):
    """The columns of a kernel matrix, scaled into [-1, 1], as a class of hypotheses.

    Exact up to the rounding of kernel values, which the bound of the edges includes. A column of pure rounding errors,
    such as that of a tiny example that is orthogonal to large ones, is refused.

    Equal examples give one hypothesis, named after the first of them. An example without nonzero features gives
    none if all its kernel values are 0 (linear, and polynomial with coef0 = 0).

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array or a scipy sparse matrix, which stays sparse.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1.
    kernel
        "linear", "polynomial" or "rbf". For the linear kernel, a call costs two products with X. For the others, it
        costs the kernel values of all examples with those of positive weight, in blocks.
    c
        Multiplicities of the examples, shape (N,), non-negative; examples with 0 are left out.
    reflexive
        Whether the negations belong to the class.
    gamma
        Polynomial and rbf: positive, 1 / (features * variance of all entries of X) by default.
    degree, coef0
        Polynomial: a whole number from 1 to 1000, and a non-negative number. With a negative one, the kernel is not
        positive semidefinite.

    Raises
    ------
    ProblemError
        X, y or c are invalid, all features are 0 and leave no hypothesis, or kernel values overflow or cancel.
    OptionError
        The kernel is unknown, or a parameter is out of its range.
    """

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        kernel: Any = "linear",
        c: npt.ArrayLike | None = None,
        reflexive: bool = True,
        gamma: Any = None,
        degree: Any = 3,
        coef0: Any = 1.0,
    ) -> None:
        # Not str and float: classifiers pass on their arguments unchecked, and they are checked here.
        gamma, degree, coef0 = _check_parameters(kernel, gamma, degree, coef0)
        self.reflexive: bool = check_flag("reflexive", reflexive)
        self._examples = examples = check_examples(X, y, c)
        if gamma is None and kernel in ("polynomial", "rbf"):
            gamma = _default_gamma(examples.X, examples.c)
        self.kernel: Kernel = _make_kernel(kernel, gamma, degree, coef0)
        self._first, self._group = _group_equal_rows(examples.X)
        self._points = examples.X if len(self._first) == examples.N else examples.X[self._first]
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused below
            if kernel == "rbf" and isinstance(self._points, np.ndarray):
                self._points = self._points - self._points.mean(axis=0)  # keeps the distances and avoids cancellation
            norms = row_norms(self._points)
            self._bound = self.kernel.bound(norms)
            self._error = self.kernel.rounding_bound(norms, examples.X.shape[1])
            # K(x_k, x_k); a linear kernel is a polynomial one, too.
            powers = (self.kernel.gamma * norms**2 + self.kernel.coef0) ** self.kernel.degree
            diagonal = np.ones(len(norms)) if kernel == "rbf" else np.abs(powers)
        if not np.isfinite(self._error).all():
            raise ProblemError(
                f"the {self.kernel} must have finite values on the examples; they overflow for rows of norm "
                f"{norms.max():.3g}. Scale the features down."
            )
        self._nonzero = self._bound > 0
        if ((self._bound < MIN_KERNEL_VALUE) & (norms > 0)).any():
            raise ProblemError(
                f"the {self.kernel} must have values of at least {MIN_KERNEL_VALUE:g} on examples that are not 0, for "
                f"digits are lost below; they vanish for rows of norm {norms[norms > 0].min():.3g}. Scale "
                "the features up."
            )
        if not self._nonzero.any():
            raise ProblemError(
                f"the {self.kernel} needs an example with a feature that is not 0; all of X is 0. Pass other features, "
                "or take a kernel that is not 0 there, such as rbf."
            )
        # Bounds of the scales. By symmetry, every computed column of the kernel increases the lower bounds.
        self._lower, self._upper = diagonal, self._bound.copy()
        self._scale_is_exact = np.full(len(norms), kernel == "rbf")
        self._compute_scales(np.array([np.argmax(norms)]))

    def best(self, query: Query) -> Answer:
        """Return the hypotheses with the largest edges, with at most one sign for each example.

        Raises
        ------
        ProblemError
            The weights are not one finite number for each example.
        """
        weights, exponent = scaled_weights(query.d, self.N)
        e = self._unscaled_edges(np.bincount(self._group, self.y * weights, len(self._first)))
        total = float(np.abs(weights).sum())
        selected, largest = self._search(np.abs(e) if self.reflexive else e, total, query.count)
        columns = [
            self._column(k, -1 if self.reflexive and e[k] < 0 else 1, weights, exponent) for k in selected.tolist()
        ]
        return Answer(tuple(columns), unscaled_upper_bound(math.nextafter(largest, math.inf), exponent))

    def _unscaled_edges(self, s: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return sum_n s_n K(x_n, x_k) for all k."""
        if self.kernel.name == "linear":
            return self._points @ (self._points.T @ s)
        support = np.flatnonzero(s)
        points, weights = self._points[support], s[support]
        e = np.empty(len(s))
        for k in self._blocks(len(support)):
            e[k] = weights @ self.kernel.block(points, self._dense_points(k))
        return e

    def _search(self, e: Float[Array, " k"], total: float, count: int) -> tuple[Int[Array, " count"], float]:
        """Return the examples with the largest edges e / scale, and a number that no edge exceeds, rounding included.

        Scales are computed only for examples that can be among the largest by their bounds.
        """
        # The rounding of e: N additions and the errors of the terms; epsilon is twice the unit roundoff.
        rounding = MACHINE_EPSILON * total * ((self.N + 10) * self._bound + self._error)
        tie, n_scales = total * 10.0**-TIE_DIGITS, count
        while True:
            lower = np.where(self._nonzero, self._lower, 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                edge_bounds = np.where(e > 0, e / lower, e / np.maximum(self._upper, lower))
                edge_bounds = np.where(lower > 0, edge_bounds + rounding / lower, np.inf)
            edge_bounds[~self._nonzero] = -np.inf
            computed = np.flatnonzero(self._nonzero & self._scale_is_exact)
            exact = e[computed] / self._lower[computed]
            last = -np.inf if len(computed) < count else np.partition(exact, -count)[-count] - tie
            candidates = np.flatnonzero(self._nonzero & ~self._scale_is_exact & (edge_bounds >= last))
            if len(candidates) == 0:
                order = np.lexsort((computed, -np.round(exact / (total or 1.0), TIE_DIGITS)))[:count]
                return computed[order], float(edge_bounds.max())
            n_scales = min(n_scales, self._block_length(len(e)))
            self._compute_scales(candidates[np.argsort(-edge_bounds[candidates], kind="stable")[:n_scales]])
            n_scales *= 2

    def _compute_scales(self, k: Int[Array, " count"]) -> None:
        """Compute the scales of some examples."""
        if self._scale_is_exact[k].all():
            return
        values = self.kernel.block(self._points, self._dense_points(k))
        sizes = np.abs(values)
        scales = sizes.max(axis=0)
        self._check_cancellation(k, values, scales)
        self._lower = np.where(self._scale_is_exact, self._lower, np.maximum(self._lower, sizes.max(axis=1)))
        self._lower[k] = self._upper[k] = np.where(scales > 0, scales, 1)
        self._scale_is_exact[k] = True

    def _check_cancellation(self, k: Int[Array, " count"], values: Float[Array, "n count"], scales: Array) -> None:
        """Raise ProblemError if columns have cancelled: their values would be rounding and not the kernel's."""
        # The norms decide first: they are enough for nearly all kernels.
        doubtful = ~(MACHINE_EPSILON * self._error[k] <= LARGEST_LOSS * scales) & self._nonzero[k]
        if not doubtful.any():
            return
        errors = self.kernel.cancellation_error(self._points, self._dense_points(k[doubtful]), values[:, doubtful])
        worst = int(np.argmax(errors))
        if errors[worst] > LARGEST_LOSS:
            row, share = self._examples.input_rows[self._first[k[doubtful][worst]]], min(float(errors[worst]), 1.0)
            raise ProblemError(
                f"the {self.kernel} must not cancel on the examples; of its values at example {row} a share of up to "
                f"{share:.1g} is rounding, for gamma x·z + coef0 cancels. Scale rows to similar norms, or raise coef0."
            )

    def _column(self, k: int, sign: int, weights: ExampleVector, exponent: int) -> Column:
        """Return the hypothesis of the k-th distinct example, with its edge under scaled weights."""
        first, X = int(self._first[k]), self._examples.X
        row: Any = X[[first]]
        z: Float[Array, " features"] = row.toarray()[0] if scipy.sparse.issparse(row) else row[0]
        values, indices = self.kernel.column(X, z), np.flatnonzero(z)
        scale = 1.0 if self.kernel.name == "rbf" else float(np.abs(values).max()) or 1.0
        number = int(self._examples.input_rows[first])
        hypothesis = KernelColumn(number, sign, self.kernel, scale, X.shape[1], indices, z[indices])
        margins = self.y * hypothesis.values_from(values)
        return Column(hypothesis, compact_margins(margins), math.ldexp(float(margins @ weights), exponent))

    def _contains(self, hypothesis: Hypothesis, h: ExampleVector) -> bool:
        if not isinstance(hypothesis, KernelColumn) or (hypothesis.sign < 0 and not self.reflexive):
            return False
        rows = np.flatnonzero(self._examples.input_rows == hypothesis.row)
        if len(rows) == 0 or not self._nonzero[self._group[rows[0]]]:
            return False
        # Equal examples give one hypothesis, named after the first of them.
        class_member: Any = self._column(int(self._group[rows[0]]), hypothesis.sign, np.zeros(self.N), 0).hypothesis
        point = np.array_equal(class_member.center, hypothesis.center)
        return point and class_member.kernel == hypothesis.kernel and class_member.scale == hypothesis.scale

    def _dense_points(self, k: Int[Array, " count"]) -> Float[Array, "count features"]:
        """Return some of the distinct examples, dense."""
        rows: Any = self._points[k]
        return rows.toarray() if scipy.sparse.issparse(rows) else rows

    def _blocks(self, n: int) -> Iterator[Int[Array, " count"]]:
        """Yield the distinct examples in groups whose kernel values with n others fit into a block."""
        step, n_points = self._block_length(n), len(self._first)
        for start in range(0, n_points, step):
            yield np.arange(start, min(start + step, n_points))

    def _block_length(self, n: int) -> int:
        """Return the number of examples that fit into a block, with their features and n kernel values for each."""
        return max(BLOCK_BYTES // (8 * max(n, self._points.shape[1])), 1)

    def __str__(self) -> str:
        negations = ", and negations" if self.reflexive else ""
        return f"columns of the {self.kernel}, on {len(self._first)} different examples{negations}"

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self._examples.digest} {self.kernel!r} {self.reflexive}".encode()).hexdigest()


def _check_parameters(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> tuple[float | None, int, float]:
    """Return gamma, degree and coef0, checked for type and range, even if the kernel does not have them."""
    check_choice("kernel", kernel, KERNELS)
    if gamma is not None:
        gamma = check_positive("gamma", gamma, "a positive number, or None for 1 / (features * variance)")
    degree = check_integer("degree", degree, None, f"a whole number from 1 to {LARGEST_DEGREE}")
    coef0 = check_number("coef0", coef0, "a finite number of at least 0", lambda number: 0.0 <= number < math.inf)
    read = Kernel("polynomial", gamma or 1.0, degree, coef0)
    return gamma, read.degree, read.coef0


def _make_kernel(name: str, gamma: float | None, degree: int, coef0: float) -> Kernel:
    """Return the kernel; parameters that it does not have get their neutral values."""
    if gamma is None or name == "linear":
        return Kernel(name)
    return Kernel(name, float(gamma)) if name == "rbf" else Kernel(name, float(gamma), degree, float(coef0))


def _default_gamma(X: Any, c: ExampleVector) -> float:
    """Return 1 / (features * variance), scikit-learn's "scale", with multiplicities; 1 if the variance is 0."""
    weights, features = c / c.sum(), X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(weights @ X.sum(axis=1)) / features
        if isinstance(X, np.ndarray):
            variance = float(weights @ np.square(X - mean).mean(axis=1))
        else:
            variance = float(weights @ squared_norms(X)) / features - mean * mean
    return 1 / (features * variance) if 0 < variance < np.inf else 1.0


def _group_equal_rows(X: Any) -> tuple[Int[Array, " k"], Int[Array, " N"]]:
    """Return the first row of each group of equal rows, in order, and the group of each row."""
    groups: dict[Any, int] = {}
    if isinstance(X, np.ndarray):
        keys: Iterator[Any] = ((row + 0.0).tobytes() for row in X)  # -0.0 becomes the plain zero
    else:
        parts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in parts)
    group = np.array([groups.setdefault(key, len(groups)) for key in keys])
    return np.unique(group, return_index=True)[1], group
