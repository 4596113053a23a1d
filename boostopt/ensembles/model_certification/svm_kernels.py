"""Support vector machines with a kernel: K = Phi Phi' by a pivoted Cholesky factor, with a bound of its error.

Let R = K - Phi Phi', and let rho be its largest absolute row sum. Every quadratic <d, Y R Y d> is at most rho ||d||_2^2
in absolute value. R a changes a value of the decision function by at most its row sum times max |a|. The optimum over
the true kernel lies within (rho/2) sum_n (C c_n)^2 of the optimum over the factor.

Sources: Cortes and Vapnik 1995; Fine and Scheinberg 2001 for the factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.spatial

from boostopt._utils.array_types import Array, ExampleVector, Float, Int8
from boostopt.errors import ProblemError, reason_of
from boostopt.oracles.learners.classifier_hypotheses import class_name
from boostopt.programs.loss_penalty_formulation import combine
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix

FACTOR_TOL = 1e-13
"""The share of the trace of the kernel that may remain when the factor is complete."""

BLOCK_ROWS = 512
"""Number of rows of the kernel that are compared with the factor at a time."""

ROUNDING_TOLERANCE = 1e-9
"""The share of the largest entry up to which a remainder counts as rounding."""

MAX_KERNEL_EXAMPLES = 20_000
"""The most examples for which a kernel is held as a matrix."""


@dataclass(frozen=True, eq=False)
class KernelFactor:
    """A kernel matrix by its factor.

    Attributes
    ----------
    Phi
        Shape (N, r).
    row_sums
        Numbers not below sum_k |K_nk - (Phi Phi')_nk|, shape (N,), rounding included.
    """

    Phi: Float[Array, "N r"]
    row_sums: ExampleVector

    @property
    def max_row_sum(self) -> float:
        """The largest row sum."""
        return float(self.row_sums.max())


@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """A computed kernel over a training set.

    Attributes
    ----------
    K
        Shape (N, N).
    rounding
        A bound of the error of each entry of a row, shape (N,).
    """

    K: Float[Array, "N N"]
    rounding: ExampleVector


def pivoted_cholesky(
    K: Float[Array, "N N"], entry_error: ExampleVector | float = 0.0, tol: float = FACTOR_TOL
) -> KernelFactor:
    """Factor K = Phi Phi' + R, with the largest remaining diagonal entry as pivot, until it is tol of the trace.

    Parameters
    ----------
    K
        Symmetric and positive semidefinite, shape (N, N).
    entry_error
        A bound of the error of each entry of a row, which counts as part of R.
    tol
        The share of the trace that may remain, positive.

    Raises
    ------
    ProblemError
        K is not positive semidefinite, so that the error would not be rounding.
    """
    N = len(K)
    residual_diagonal = K.diagonal().astype(np.float64).copy()
    trace = float(residual_diagonal.sum())
    columns = np.empty((N, 0))
    room = 0
    r = 0
    while r < N and float(residual_diagonal.sum()) > tol * trace:
        p = int(np.argmax(residual_diagonal))
        if residual_diagonal[p] <= 0.0:
            break
        if r == room:
            room = min(max(2 * room, 64), N)
            columns = np.concatenate([columns, np.empty((N, room - columns.shape[1]))], axis=1)
        column = (K[:, p] - columns[:, :r] @ columns[p, :r]) / np.sqrt(residual_diagonal[p])
        columns[:, r] = column
        residual_diagonal = np.maximum(residual_diagonal - column**2, 0.0)
        residual_diagonal[p] = 0.0
        r += 1
    Phi = np.ascontiguousarray(columns[:, :r])
    rounding = (r + 4) * float(np.finfo(np.float64).eps) * float(K.diagonal().max(initial=0.0))
    largest, sums, column_sums = 0.0, list[Array](), np.zeros(N)
    for k in range(0, N, BLOCK_ROWS):
        missed = np.abs(K[k : k + BLOCK_ROWS] - Phi[k : k + BLOCK_ROWS] @ Phi.T)
        largest = max(largest, float(missed.max()))
        sums.append(missed.sum(axis=1))
        column_sums += missed.sum(axis=0)
    # No entry of a positive semidefinite matrix exceeds its largest diagonal entry.
    if largest > float(residual_diagonal.max(initial=0.0)) + ROUNDING_TOLERANCE * float(np.abs(K).max(initial=0.0)):
        raise ProblemError(
            f"the kernel must be positive semidefinite; what is left beside its factor has an entry of {largest:.3g}. "
            "Its support vector machine is no convex program. Fit the model with a positive semidefinite kernel."
        )
    # A given matrix may be symmetric only up to rounding; the larger of both sums bounds the rows and the columns.
    row_sums = np.maximum(np.concatenate(sums), column_sums) * (1.0 + 1e-12) + N * (rounding + entry_error)
    return KernelFactor(Phi, row_sums)


def kernel_matrix(svc: Any, X: Any) -> KernelMatrix:
    """Return the kernel of a fitted SVC over its training set.

    Squared distances are sums of squared differences, because |x|^2 - 2 x'z + |z|^2 cancels if features are far from 0.

    Raises
    ------
    ProblemError
        There are too many examples to hold the kernel; the kernel is a sigmoid, which is not positive semidefinite; or
        a kernel function of the user fails, or does not return a matrix of N x N finite numbers.
    """
    N = X.shape[0]
    if N > MAX_KERNEL_EXAMPLES:
        raise ProblemError(
            f"a kernel is held as a matrix of N x N numbers, for N up to {MAX_KERNEL_EXAMPLES}; got {N}. Pass "
            "fewer examples, or a "
            "linear model."
        )
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are refused below
        K, rounding = _kernel_entries(svc, X)
    finite = bool(np.isfinite(K).all() and np.isfinite(rounding).all())
    if K.shape != (N, N) or not finite:
        raise ProblemError(
            f"the kernel of {class_name(svc)} must be a matrix of {N} x {N} finite numbers over the training set; got "
            f"shape {K.shape}{'' if finite else ', not all finite'}. Pass the training set, scale it, or mend the "
            "kernel."
        )
    return KernelMatrix(K, rounding)


def _kernel_entries(svc: Any, X: Any) -> tuple[Float[Array, ...], ExampleVector]:
    """Return the unchecked kernel of all pairs of rows, and a bound of the rounding in each row."""
    N, features = X.shape
    exact = np.zeros(N)  # a given kernel is exact
    if svc.kernel == "precomputed":
        return np.asarray(X, dtype=np.float64), exact
    if callable(svc.kernel):
        try:
            return np.array(svc.kernel(X, X), dtype=np.float64), exact
        except Exception as failure:
            raise ProblemError(
                f"the kernel of {class_name(svc)} must take the training set; it raises {type(failure).__name__}: "
                f"{reason_of(failure)}. Pass X as it was fitted, dense or sparse."
            ) from failure
    unit = (features + 8) * float(np.finfo(np.float64).eps)
    if svc.kernel == "rbf":
        dense = X.toarray() if scipy.sparse.issparse(X) else X
        K = np.exp(-_kernel_gamma(svc, X) * scipy.spatial.distance.cdist(dense, dense, "sqeuclidean"))
        return K, np.full(N, unit)  # x exp(-x) is below 1
    if svc.kernel not in ("linear", "poly"):
        raise ProblemError(
            f"the kernel of {class_name(svc)} must be linear, rbf, poly, precomputed or a function; got "
            f"{svc.kernel!r}. "
            "A sigmoid is not positive semidefinite. Fit the model with one of these."
        )
    products = X @ X.T
    products = products.toarray() if scipy.sparse.issparse(products) else products
    squares = X.multiply(X).sum(axis=1) if scipy.sparse.issparse(X) else (X * X).sum(axis=1)
    lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    sizes = lengths * float(lengths.max(initial=0.0))
    if svc.kernel == "linear":
        return products, unit * sizes
    gamma, degree, coef0 = _kernel_gamma(svc, X), svc.degree, float(svc.coef0)
    return (gamma * products + coef0) ** degree, degree * unit * (gamma * sizes + abs(coef0)) ** degree


def _kernel_gamma(svc: Any, X: Any) -> float:
    """Return gamma as a number: "scale" is 1 / (features x variance of X), "auto" is 1 / features."""
    features = X.shape[1]
    if svc.gamma == "auto":
        return 1.0 / features
    if svc.gamma != "scale":
        return float(svc.gamma)
    variance = float(X.multiply(X).mean() - X.mean() ** 2) if scipy.sparse.issparse(X) else float(X.var())
    return 1.0 / (features * variance) if variance > 0 else 1.0


def svm_program(factored: KernelFactor, y: Int8[Array, " N"], c: ExampleVector, C: float) -> tuple[Program, float]:
    """Return the program of a support vector machine with a bias over the columns of a factor, and their scale S."""
    S = float(np.abs(factored.Phi).max(initial=0.0)) or 1.0
    U = np.concatenate([y[:, np.newaxis], (factored.Phi / S) * y[:, np.newaxis]], axis=1).clip(-1.0, 1.0)
    formulation = combine("hinge", "l2_squared", signed=True, intercept=True)
    return formulation.bind(MarginMatrix.of_private(U), c=c, C=C, l2=1.0 / S**2), S
