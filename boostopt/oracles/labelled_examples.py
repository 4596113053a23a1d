"""The examples of an oracle: features, labels and multiplicities, checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float, Int, Int8, Num
from boostopt._utils.immutable_arrays import ImmutableArrays, as_immutable, immutable_rows
from boostopt._utils.validation import check_array, check_in_memory, check_unmasked, has_dates
from boostopt.errors import ProblemError, reason_of, short_repr
from boostopt.oracles.base import Hypothesis, Oracle
from boostopt.oracles.feature_validation import FeatureMatrix, checked_features, evaluate


@dataclass(frozen=True, eq=False)
class LabelledExamples(ImmutableArrays):
    """Features, labels and multiplicities of the examples that count.

    Attributes
    ----------
    X
        Features, shape (N, features): a float64 array or a float64 CSR array without explicit zeros. Like the other
        arrays, X is an immutable copy.
    y
        Labels -1 and 1, shape (N,).
    c
        Multiplicities, shape (N,), positive.
    input_rows
        The row of each example in the input, shape (N,); rows of multiplicity 0 are left out.
    n_rows
        Number of rows of the input.
    """

    X: Any
    y: Int8[Array, " N"]
    c: ExampleVector
    input_rows: Int[Array, " N"]
    n_rows: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if scipy.sparse.issparse(self.X):
            object.__setattr__(self, "X", immutable_rows(self.X))

    @property
    def N(self) -> int:
        """Number of examples that count."""
        return len(self.y)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of features, labels and multiplicities."""
        digest = hashlib.sha256(repr(self.X.shape).encode())
        for part in (*feature_arrays(self.X), self.y, self.c):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def feature_arrays(X: Any) -> list[Array]:
    """Return the arrays of features for a digest: those of compressed rows, or the array without negative zeros."""
    return [X.data, X.indices, X.indptr] if scipy.sparse.issparse(X) else [X + 0.0]


def check_examples(X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None) -> LabelledExamples:
    """Check examples and return those that count.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array or a scipy sparse matrix.
    y
        Labels, shape (N,): -1 and 1, 0 and 1, or False and True; the larger one is class 1. Both must occur.
    c
        Multiplicities, shape (N,), non-negative, 1 by default; examples with 0 are left out.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, labels are invalid or of one class only, or a multiplicity
        is negative.
    """
    features, labels = check_features_and_labels(X, y)
    rows, counts = check_multiplicities(c, len(labels))
    n_rows, labels = len(labels), labels[rows]
    check_classes(labels)
    return LabelledExamples(features if len(rows) == n_rows else features[rows], labels, counts, rows, n_rows)


def select_counting(values: Num[Array, " rows"], rows: Int[Array, " N"], n_rows: int) -> Num[Array, " selected"]:
    """Return values of the rows that count, from values of all rows; values of another shape unchanged."""
    return values[rows] if values.shape == (n_rows,) else values


def check_classes(labels: Int8[Array, " N"]) -> None:
    """Raise ProblemError unless both classes occur among the labels of the examples that count."""
    if (labels == labels[0]).all():
        raise ProblemError(
            f"both classes must occur among the examples that count; got {len(labels)} such examples of one class. "
            "Pass examples of both classes."
        )


def check_labels(shape: tuple[int, ...], labels: Int8[Array, "*shape"]) -> None:
    """Raise ProblemError unless features of this shape have one label for each row."""
    if labels.shape != shape[:1]:
        raise ProblemError(
            f"X must have shape (N, features) and y shape (N,); got {shape} and {labels.shape}. Pass one label for "
            "each row."
        )


def check_features_and_labels(X: Any, y: npt.ArrayLike) -> tuple[Any, Int8[Array, " N"]]:
    """Return features as float64, dense or CSR, and labels as -1 and 1, one for each row."""
    features, labels = checked_features(X), as_signs(y)
    check_labels(features.shape, labels)
    return features, labels


def check_multiplicities(
    c: npt.ArrayLike | None, N: int, name: str = "the multiplicities c"
) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
    """Return the rows that count among N examples, and their multiplicities.

    Parameters
    ----------
    c
        Multiplicities, shape (N,), non-negative; None for 1 throughout.
    N
        Number of examples in the input.
    name
        Name of the multiplicities in error messages.

    Raises
    ------
    ProblemError
        c are not such numbers, all of them are 0, or their sum overflows.
    """
    counts = check_weights(c, N, name)
    with np.errstate(over="ignore"):  # refused here
        if counts.sum() == np.inf:
            raise _weights_error(name, N, counts)
    rows = np.flatnonzero(counts > 0)
    return rows, as_immutable(counts[rows])


def check_weights(c: npt.ArrayLike | None, N: int, name: str) -> Float[Array, " N"]:
    """Return N finite numbers of at least 0, not all 0; 1 throughout for None.

    Raises
    ------
    ProblemError
        c are not such numbers.
    """
    check_in_memory("c", c)
    check_unmasked("c", c)
    try:
        array = np.ones(N) if c is None else np.asarray(c)
        if array.dtype.kind not in "biufO" or has_dates(array):
            raise TypeError(f"they are {'dates' if array.dtype.kind == 'O' else array.dtype}")
        counts = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as failure:
        raise ProblemError(
            f"{name} must be {N} numbers: {reason_of(failure)}; got {short_repr(c)}. Pass one for each row."
        ) from failure
    if counts.shape != (N,) or not ((counts >= 0) & (counts < np.inf)).all() or not counts.any():
        raise _weights_error(name, N, counts)
    return counts


def _weights_error(name: str, N: int, counts: Float[Array, ...]) -> ProblemError:
    """Return the error about numbers that are no weights; it names the first row whose number is none."""
    with np.errstate(over="ignore"):
        total = counts.sum()
    is_weight = (counts >= 0) & (counts < np.inf)
    is_named = counts.ndim == 1 and not is_weight.all()
    row = f" Row {is_weight.argmin()} has {counts[is_weight.argmin()]:.6g}." if is_named else ""
    return ProblemError(
        f"{name} must be {N} finite numbers of at least 0, not all zero; got shape {counts.shape}, smallest "
        f"{counts.min(initial=np.inf):.6g}, sum {total:.6g}.{row} Pass how often each row "
        "counts."
    )


def as_signs(y: npt.ArrayLike) -> Int8[Array, "*shape"]:
    """Return labels as -1 and 1, in the same shape."""
    labels = check_array("y", y)
    if labels.dtype.kind == "O" and all(isinstance(label, (int, float)) for label in labels.flat):
        labels = np.asarray(labels.tolist())  # for example, a column of a table
    numbers = labels if labels.dtype.kind in "biuf" else np.full(labels.shape, np.nan)
    n_negative, n_zero, n_positive = (int(np.count_nonzero(numbers == value)) for value in (-1, 0, 1))
    if n_positive + max(n_negative, n_zero) < labels.size:
        first = list(dict.fromkeys(map(short_repr, labels.ravel()[:1000].tolist())))[:5]
        raise ProblemError(f"y must hold -1 and 1, or 0 and 1; got {', '.join(first)}. Code the two classes so.")
    return as_immutable(np.asarray(2 * (labels == 1).astype(np.int8) - 1))


class ExamplesOracle(Oracle):
    """An oracle with features and labels, `self._examples`."""

    _examples: LabelledExamples

    @property
    def N(self) -> int:
        return self._examples.N

    @property
    def c(self) -> ExampleVector:
        return self._examples.c

    @property
    def y(self) -> Int8[Array, " N"]:
        return self._examples.y

    @property
    def n_rows(self) -> int:
        return self._examples.n_rows

    def select_examples(self, values: Num[Array, " rows"]) -> Num[Array, " selected"]:
        return select_counting(values, self._examples.input_rows, self._examples.n_rows)

    def check_features(self, X: Any) -> None:
        """Raise ProblemError unless X has the number of features of the examples, all finite."""
        features = X if isinstance(X, FeatureMatrix) else FeatureMatrix(X)
        features.checked(self._examples.X.shape[1])

    def margins_of(self, hypothesis: Hypothesis) -> Num[Array, " N"] | None:
        """Return y_n h(x_n).

        Raises
        ------
        ProblemError
            The class has no such hypothesis, as far as the oracle can tell.
        """
        h = next(evaluate((hypothesis,), self._checked_features))
        if not self._contains(hypothesis, h):
            raise ProblemError(f"expected a hypothesis of {self}; got {hypothesis}. Pass the oracle of its class.")
        return self._examples.y * h

    @cached_property
    def _checked_features(self) -> FeatureMatrix:
        """The features, checked once for all hypotheses."""
        return FeatureMatrix(self._examples.X)

    def _contains(self, hypothesis: Hypothesis, h: ExampleVector) -> bool:
        """Return whether a hypothesis with these values on the examples is in the class, True if in doubt."""
        return True

    @property
    def digest(self) -> str:
        parts = f"{type(self).__name__} reflexive={self.reflexive} {self._examples.digest}"
        return hashlib.sha256(parts.encode()).hexdigest()
