"""Examples of several classes, and the pairs of an example and another class."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float, Int
from boostopt._utils.immutable_arrays import ImmutableArrays, as_immutable, immutable_rows
from boostopt._utils.validation import check_array
from boostopt.errors import ProblemError, short_repr
from boostopt.oracles.feature_validation import checked_features
from boostopt.oracles.labelled_examples import check_multiplicities, feature_arrays

MAX_PAIRS = 1 << 31
"""The largest number of pairs of an example and another class."""


@dataclass(frozen=True, eq=False)
class MulticlassExamples(ImmutableArrays):
    """Features, classes and multiplicities of the n examples that count.

    Attributes
    ----------
    X
        Features, shape (n, features): a float64 array or a float64 CSR array without explicit zeros. Like the other
        arrays, X is an immutable copy.
    codes
        The number of the class of each example, shape (n,), from 0 to K - 1.
    c
        Multiplicities, shape (n,), positive.
    labels
        The labels of the K classes, ascending.
    input_rows
        The row of each example in the input, shape (n,); rows of multiplicity 0 are left out.
    """

    X: Any
    codes: Int[Array, " n"]
    c: ExampleVector
    labels: tuple[Any, ...]
    input_rows: Int[Array, " n"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if scipy.sparse.issparse(self.X):
            object.__setattr__(self, "X", immutable_rows(self.X))

    @property
    def n(self) -> int:
        """Number of examples that count."""
        return len(self.codes)

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @cached_property
    def rivals(self) -> Int[Array, "n rivals"]:
        """The numbers of the other classes of each example, ascending, shape (n, K - 1)."""
        numbers = np.arange(self.K - 1)
        return as_immutable(numbers + (numbers >= self.codes[:, np.newaxis]))

    def class_weights(self, s: Int[Array, " pairs"]) -> Int[Array, "n K"]:
        """Return B[n, k], with which the sum of s u over the pairs is the sum of B h / 2 over examples and classes.

        For another class k, B[n, k] is -s of the pair. For the class of the example, it is the sum over its pairs.
        """
        pair_weights = s.reshape(self.n, self.K - 1)
        B = np.empty((self.n, self.K), dtype=s.dtype)
        np.put_along_axis(B, self.rivals, -pair_weights, axis=1)
        B[np.arange(self.n), self.codes] = pair_weights.sum(axis=1)
        return B

    def pair_margins(self, h: Float[Array, "n K"]) -> Float[Array, " pairs"]:
        """Return (h(x_n, y_n) - h(x_n, k)) / 2 for each example n and each other class k, shape (n (K - 1),)."""
        own_values = np.take_along_axis(h, self.codes[:, np.newaxis], axis=1)
        margins: Float[Array, " pairs"] = 0.5 * (own_values - np.take_along_axis(h, self.rivals, axis=1)).ravel()
        return margins

    @cached_property
    def digest(self) -> str:
        """SHA-256 of features, classes and multiplicities."""
        digest = hashlib.sha256(repr((self.X.shape, self.labels)).encode())
        for part in (*feature_arrays(self.X), self.codes, self.c):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def check_multiclass_examples(X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None) -> MulticlassExamples:
    """Check examples of several classes and return those that count.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array or a scipy sparse matrix.
    y
        Labels, shape (N,): finite numbers or texts, with two or more classes among the examples that count.
    c
        Multiplicities, shape (N,), non-negative, 1 by default; examples with 0 are left out.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, labels are invalid or of one class only, a multiplicity is
        negative, or there are too many pairs.
    """
    features, labels = checked_features(X), check_class_labels(y)
    if labels.shape != features.shape[:1]:
        raise ProblemError(
            f"X must have shape (N, features) and y shape (N,); got {features.shape} and {labels.shape}. Pass one "
            "label for each row."
        )
    rows, counts = check_multiplicities(c, len(labels))
    classes, codes = np.unique(labels[rows], return_inverse=True)
    if len(classes) < 2:
        raise ProblemError(
            f"two or more classes must occur among the examples that count; got {len(rows)} such examples of one "
            "class. Pass examples of all classes."
        )
    if len(rows) * (len(classes) - 1) > MAX_PAIRS:
        raise ProblemError(
            f"the examples times the other classes must be at most {MAX_PAIRS:.2g}; got {len(rows)} examples and "
            f"{len(classes)} classes. If y holds numbers to predict, divide them into few classes."
        )
    selected = features if len(rows) == len(labels) else features[rows]
    return MulticlassExamples(selected, codes.astype(np.int64), counts, tuple(classes.tolist()), rows)


def check_class_labels(y: npt.ArrayLike) -> Array:
    """Return labels as an array of finite numbers or of texts, in the same shape.

    Raises
    ------
    ProblemError
        The labels are neither finite numbers nor texts.
    """
    given_labels = labels = check_array("y", y)
    if labels.dtype.kind == "O" and all(isinstance(label, (int, float)) for label in labels.flat):
        labels = np.asarray(labels.tolist())  # for example, a column of a table
    elif labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.flat):
        labels = labels.astype(str)
    is_float = labels.dtype.kind == "f" and labels.dtype.itemsize <= 8
    is_valid = labels.dtype.kind in "biuU" or (is_float and bool(np.isfinite(labels).all()))
    if is_valid and given_labels.dtype.kind == "O" and labels.tolist() != given_labels.tolist():
        raise ProblemError(
            "y must hold labels that NumPy stores as they are; got different labels that become equal in "
            f"{labels.dtype}, such as whole numbers above 2^53 beside decimals. Code the classes so."
        )
    if not is_valid:
        first = list(dict.fromkeys(map(short_repr, labels.ravel()[:1000].tolist())))[:5]
        raise ProblemError(
            f"y must hold labels of one type, finite numbers or texts; got {', '.join(first)} of {labels.dtype}. Code "
            "the classes so."
        )
    return labels


def label_array(labels: Sequence[Any]) -> Array:
    """Return labels as an array with the labels as they are: of objects where NumPy has no number that holds them."""
    array = np.array(labels)
    if array.tolist() == list(labels):
        return array
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects
