"""Kernels, and their columns as hypotheses: h(x) = sign * K(x, z) / scale for an example z."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.json_values import parse_integer, parse_real, read_entries, read_integer, read_number, read_text
from boostopt.errors import OptionError, ProblemError, unknown_name
from boostopt.oracles.base import StateDict
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix
from boostopt.oracles.weight_scaling import MACHINE_EPSILON

KERNELS = ("linear", "polynomial", "rbf")

EXACT_INTEGER_LIMIT = 2.0**53
"""Whole numbers below this are added without rounding, so that they cancel without loss."""

LARGEST_DEGREE = 1000
"""Largest degree of a polynomial kernel: each power costs a product over the examples, and files may name any."""


@dataclass(frozen=True)
class Kernel:
    """A kernel K(x, z): "linear" x·z, "polynomial" (gamma x·z + coef0)^degree, "rbf" exp(-gamma |x - z|²).

    Parameters that a kernel does not have are gamma = 1, degree = 1 and coef0 = 0. With these values, the linear
    kernel is the polynomial one.

    Raises
    ------
    OptionError
        The name is unknown, gamma is not positive and finite, the degree is not in 1 to 1000, or coef0 is infinite.
    """

    name: str
    gamma: float = 1.0
    degree: int = 1
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise unknown_name("kernel", self.name, KERNELS)
        if not 0 < self.gamma < math.inf:
            raise OptionError(f"gamma must be positive and finite; got {self.gamma}. Pass such a number.")
        if not 1 <= self.degree <= LARGEST_DEGREE:
            raise OptionError(
                f"the degree must be a whole number from 1 to {LARGEST_DEGREE}; got {self.degree}. Pass such a number."
            )
        if not math.isfinite(self.coef0):
            raise OptionError(f"coef0 must be finite; got {self.coef0}. Pass such a number.")

    def __str__(self) -> str:
        if self.name == "rbf":
            return f"rbf kernel, gamma {self.gamma:g}"
        if self.name == "polynomial":
            return f"polynomial kernel, degree {self.degree}, gamma {self.gamma:g}, coef0 {self.coef0:g}"
        return "linear kernel"

    def block(self, X: Any, Z: Float[Array, "k features"]) -> Float[Array, "n k"]:
        """Return K(x, z) for the rows of X, dense or CSR, and of Z."""
        products: Any = X @ Z.T
        if self.name == "rbf":
            distances = np.maximum(squared_norms(X)[:, np.newaxis] + squared_norms(Z) - 2 * products, 0)
            return np.exp(-self.gamma * distances)
        return self._from_products(products)

    def _from_products(self, products: Array) -> Array:
        """Return K(x, z) from <x, z>, for a kernel that is a function of <x, z>."""
        if self.name == "linear":
            return products
        base = self.gamma * products + self.coef0
        value = base.copy()
        for _ in range(self.degree - 1):  # takes a third of the time of a power
            value *= base
        return value

    def cancellation_error(
        self, X: Any, Z: Float[Array, "k features"], values: Float[Array, "n k"]
    ) -> Float[Array, " k"]:
        """Bound the rounding error of `values`, K(x, z) for the rows of X and Z, relative to the largest for each z.

        For kernels that are functions of <x, z>, the bound follows from (b + error)^degree, for a base b that may have
        cancelled.
        """
        products: Any = abs(X) @ np.abs(Z).T
        sizes = self.gamma * products + abs(self.coef0)
        entries = X.data if scipy.sparse.issparse(X) else X
        if float(sizes.max()) < EXACT_INTEGER_LIMIT and not any(
            np.any(x % 1.0) for x in (entries, Z, self.gamma, self.coef0)
        ):
            return np.full(len(Z), self.degree * MACHINE_EPSILON)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # a column of zeros has lost all digits
            bases, errors = np.abs(values) ** (1.0 / self.degree), MACHINE_EPSILON * (max_row_nonzeros(X) + 4) * sizes
            largest = bases.max(axis=0)
            shares = ((bases + errors) / largest) ** (self.degree - 1) * (self.degree * errors / largest)
        return np.where(np.isnan(shares), np.inf, shares).max(axis=0)

    def column(self, X: Any, z: Float[Array, " features"]) -> Float[Array, " n"]:
        """Return K(x, z) for the rows of X."""
        if self.name == "rbf" and not scipy.sparse.issparse(X):
            difference = X - z  # accurate even if the features are far from 0, where the products of `block` cancel
            return np.exp(-self.gamma * squared_norms(difference))
        if self.name != "rbf" and not scipy.sparse.issparse(X):
            # Row by row: the rounding of a matrix product depends on how many rows there are.
            return self._from_products(np.einsum("nj,j->n", X, z))
        return self.block(X, z[np.newaxis])[:, 0]

    def bound(self, norms: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return a bound on |K(x, z)| by Cauchy and Schwarz, for z of these norms and x of the largest one."""
        if self.name == "rbf":
            return np.ones(len(norms))
        return (self.gamma * norms * norms.max() + abs(self.coef0)) ** self.degree

    def rounding_bound(self, norms: Float[Array, " k"], features: int) -> Float[Array, " k"]:
        """Return a bound on the rounding error of K(x, z) for the same x and z, in machine epsilons."""
        if self.name == "rbf":
            return 4 + (features + 8) * self.gamma * (norms + norms.max()) ** 2
        return self.degree * (features + 4) * self.bound(norms)


@dataclass(frozen=True)
class KernelColumn(FeatureHypothesis):
    """The hypothesis sign * K(x, z) / scale for a training example z, clipped to [-1, 1].

    Two such hypotheses are equal if they have the same row, sign and kernel.

    Attributes
    ----------
    row
        The row of z among the training examples.
    sign
        1, or -1 for the negation.
    kernel
        K and its parameters.
    scale
        Largest |K(x, z)| over the training examples, positive.
    features
        Number of features.
    indices, values
        The nonzero features of z, ascending, and their values, both of shape (nonzeros,).

    Raises
    ------
    ProblemError
        The row is negative, the sign is neither 1 nor -1, the scale is not positive and finite, or z does not have this
        number of features.
    """

    kind: ClassVar[str] = "kernel"

    row: int
    sign: int
    kernel: Kernel
    scale: float = field(compare=False)
    features: int = field(compare=False)
    indices: Int[Array, " nonzeros"] = field(compare=False, repr=False)
    values: Float[Array, " nonzeros"] = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.row < 0 or self.sign not in (-1, 1) or not 0 < self.scale < math.inf:
            raise ProblemError(
                "a kernel column has a row from 0, the sign 1 or -1 and a positive scale; got row "
                f"{self.row}, sign {self.sign}, scale {self.scale}. Correct that one."
            )
        first, last = (int(self.indices[0]), int(self.indices[-1])) if len(self.indices) else (0, -1)
        is_ascending = 0 <= first and last < self.features and bool((np.diff(self.indices) > 0).all())
        if not is_ascending or self.values.shape != self.indices.shape or not np.isfinite(self.values).all():
            raise ProblemError(
                f"a kernel column of {self.features} features has ascending indices below this number, and as many "
                f"finite values; got indices {self.indices.tolist()[:5]} and values {self.values.tolist()[:5]}. "
                "Correct them."
            )

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        return self.values_from(self.kernel.column(features.checked(self.features), self.center))

    @property
    def center(self) -> Float[Array, " features"]:
        """The example z."""
        z = np.zeros(self.features)
        z[self.indices] = self.values
        return z

    def values_from(self, kernel_values: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return h(x) from K(x, z)."""
        return np.clip(self.sign * kernel_values / self.scale, -1, 1)

    def __str__(self) -> str:
        return f"{'-' if self.sign < 0 else ''}K(x, example {self.row}), {self.kernel}"

    def state(self) -> StateDict:
        return {
            "row": self.row,
            "sign": self.sign,
            "kernel": self.kernel.name,
            "gamma": self.kernel.gamma,
            "degree": self.kernel.degree,
            "coef0": self.kernel.coef0,
            "scale": self.scale,
            "features": self.features,
            "indices": self.indices,
            "values": self.values,
        }

    @classmethod
    def restored(cls, state: StateDict) -> KernelColumn:
        kernel = Kernel(
            read_text(state, "kernel"),
            read_number(state, "gamma"),
            read_integer(state, "degree"),
            read_number(state, "coef0"),
        )
        indices = np.array(read_entries(state, "indices", parse_integer), dtype=np.int64)
        values = np.array(read_entries(state, "values", parse_real), dtype=np.float64)
        if len(indices) != len(values):
            raise ProblemError(
                f"indices and values must be as many; got {len(indices)} and {len(values)}. Correct them."
            )
        row, sign, features = read_integer(state, "row"), read_integer(state, "sign"), read_integer(state, "features")
        return cls(row, sign, kernel, read_number(state, "scale"), features, indices, values)


def max_row_nonzeros(X: Any) -> int:
    """Return the largest number of nonzero terms in a product of two rows, dense or CSR."""
    return int(np.diff(X.indptr).max()) if scipy.sparse.issparse(X) else X.shape[1]


def row_norms(X: Any) -> Float[Array, " n"]:
    """Return the norms of the rows, dense or CSR, even if their squares overflow or vanish."""
    sparse = scipy.sparse.issparse(X)
    sizes: Any = abs(X).max(axis=1)
    largest = sizes.toarray().ravel() if sparse else sizes
    scales = np.where(largest > 0, largest, 1.0)
    if not sparse:
        return scales * np.sqrt(squared_norms(X / scales[:, np.newaxis]))
    scaled = scipy.sparse.csr_array((X.data / np.repeat(scales, np.diff(X.indptr)), X.indices, X.indptr), X.shape)
    return scales * np.sqrt(squared_norms(scaled))


def squared_norms(X: Any) -> Float[Array, " n"]:
    """Return the squared norms of the rows."""
    if scipy.sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("nj,nj->n", X, X)
