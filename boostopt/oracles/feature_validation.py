"""Features for predictions, checked once for all hypotheses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from functools import cached_property
from numbers import Complex, Real
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.formatting import format_count
from boostopt._utils.immutable_arrays import immutable_copy, writes_named
from boostopt._utils.validation import check_csr, check_in_memory, check_instance, check_list, check_unmasked
from boostopt.errors import ProblemError, reason_of, short_repr
from boostopt.oracles.base import Hypothesis

COMPLEX_ADVICE = "Pass X.real, or the real and the imaginary parts as columns."
"""The advice about complex numbers."""

COMPLEX_EXAMPLE = "one column of real parts and one of imaginary parts"
"""An example of numbers in the place of complex ones."""

TIME_EXAMPLE = "days after a first date"
"""An example of numbers in the place of times."""


class FeatureMatrix:
    """Features for predictions, checked on first use, and only once.

    Attributes
    ----------
    raw
        X as passed, shape (n, features).
    """

    def __init__(self, X: Any) -> None:
        check_in_memory("X", X)
        self.raw = X

    @cached_property
    def n(self) -> int:
        """Number of examples."""
        shape = getattr(self.raw, "shape", None)
        try:
            return int(shape[0]) if shape else len(self.raw)
        except TypeError as failure:
            raise ProblemError(
                f"X must have one row for each example; got {short_repr(self.raw)}: {reason_of(failure)}. Pass a "
                "matrix."
            ) from failure

    def checked(self, count: int) -> Any:
        """Return the features as float64, an array or a CSR array without explicit zeros, shape (n, count).

        Raises
        ------
        ProblemError
            The number of features is not `count`, or an entry is not a finite number.
        """
        if self._checked.shape[1] != count:
            raise ProblemError(
                f"X must have the {format_count(count, 'feature')} that {'was' if count == 1 else 'were'} learned "
                f"from; got shape {self._checked.shape}. Pass those features."
            )
        return self._checked

    def checked_for_users(self, count: int) -> Any:
        """Return the same features as an immutable copy, for a user's code, which may write."""
        self.checked(count)
        return self._checked_copy

    def column(self, feature: int, count: int) -> Float[Array, " n"]:
        """Return one of `count` features; all of them are checked."""
        self.checked(count)
        return _column(self._checked_columns, feature)

    def raw_column(self, q: int) -> Array | None:
        """Return column q of X without checking any entries; None if X has no such column."""
        columns = self._raw_columns
        return _column(columns, q) if columns.ndim == 2 and q < columns.shape[1] else None

    @cached_property
    def immutable(self) -> Any:
        """A copy of X for users' hypotheses, which may write; X itself if it is no array."""
        return immutable_copy(self.raw)

    @cached_property
    def _checked(self) -> Any:
        return checked_features(self.raw)

    @cached_property
    def _checked_copy(self) -> Any:
        return immutable_copy(self._checked)

    @cached_property
    def _checked_columns(self) -> Any:
        """The same features by columns: in compressed rows, each column would cost a pass over all rows."""
        return _column_format(self._checked)

    @cached_property
    def _raw_columns(self) -> Any:
        return _column_format(self.raw)


class FeatureHypothesis(Hypothesis):
    """A hypothesis that is evaluated on checked features, so that many of them check X once."""

    def __call__(self, X: Any) -> Float[Array, "n ..."]:
        return self.values_on(FeatureMatrix(X))

    @abstractmethod
    def values_on(self, features: FeatureMatrix) -> Float[Array, "n ..."]:
        """Return h(x) in [-1, 1] for each example, or for each example and each class, shape (n, K).

        Raises
        ------
        ProblemError
            The number of features is different, or an entry is not a finite number.
        """


def evaluate(hypotheses: Iterable[Hypothesis], X: Any) -> Iterator[Float[Array, "n ..."]]:
    """Yield h(x) for each row of X, hypothesis by hypothesis; X is checked once for all hypotheses of boostopt.

    Parameters
    ----------
    hypotheses
        Hypotheses of any kinds. Your own hypotheses are called with X as passed.
    X
        Features, shape (n, features), in a form that the hypotheses take, or `FeatureMatrix`.

    Raises
    ------
    ProblemError
        A hypothesis does not take X, or one of your own does not return one finite number for each row.
    """
    features = X if isinstance(X, FeatureMatrix) else FeatureMatrix(X)
    for hypothesis in check_list("hypotheses", hypotheses, "hypotheses"):
        advice = "Pass hypotheses, such as run.hypotheses."
        check_instance("hypotheses", hypothesis, Hypothesis, "hypotheses", advice, ProblemError)
        if isinstance(hypothesis, FeatureHypothesis):
            yield hypothesis.values_on(features)
        else:
            yield _user_values(hypothesis, features)


def _user_values(hypothesis: Hypothesis, features: FeatureMatrix) -> Float[Array, " n"]:
    """Return the values of a user's hypothesis, checked."""
    with writes_named(f"the hypothesis {hypothesis}"):
        h = np.asarray(hypothesis(features.immutable))
    if h.shape != (features.n,) or h.dtype.kind not in "iuf" or not np.isfinite(h).all():
        raise ProblemError(
            f"a hypothesis must return one finite number for each of {features.n} rows; {hypothesis} returned shape "
            f"{h.shape} of {h.dtype}. Correct it."
        )
    return h.astype(np.float64, copy=False)


def checked_features(X: Any, row_offset: int = 0, names: Sequence[Any] = ()) -> Any:
    """Return X as a float64 array, or as a CSR array without explicit zeros, of finite numbers.

    Parameters
    ----------
    X
        Features, shape (n, features).
    row_offset
        Number of rows before X if X is a block of rows; messages count from the first row of all.
    names
        Names of the features, for messages; () for numbers.

    Raises
    ------
    ProblemError
        X is not a matrix of real numbers, is empty, or contains a NaN or an infinity.
    """
    features = numeric_features(X, row_offset)
    sparse = scipy.sparse.issparse(features)
    entries: Any = features.data if sparse else features
    if np.isfinite(entries).all():
        return features
    if sparse:
        coordinates = features.tocoo()
        position = int(np.flatnonzero(~np.isfinite(coordinates.data))[0])
        n, j, value = coordinates.row[position], coordinates.col[position], coordinates.data[position]
    else:
        n, j = np.argwhere(~np.isfinite(features))[0]
        value = features[n, j]
    place = f"row {n + row_offset}, {_feature_label(names, int(j))}"
    raise ProblemError(f"X must be finite, without NaN; got {value} at {place}. Impute or drop it.")


def _feature_label(names: Sequence[Any], j: int) -> str:
    """Return a feature as messages name it."""
    return f"column {short_repr(names[j])}" if j < len(names) else f"feature {j}"


def is_missing(value: Any) -> bool:
    """Return whether an entry has no value: None, or NA or NaT of pandas. A NaN is a number."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def replacement_example(value: Any) -> str | None:
    """Return an example of numbers in the place of an entry; None if the entry states a real number, or is missing."""
    if is_missing(value):
        return None
    if isinstance(value, Complex) and not isinstance(value, Real):
        return COMPLEX_EXAMPLE
    if isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64):
        return TIME_EXAMPLE
    if isinstance(value, list | tuple | set | Mapping | np.ndarray):
        return "one column for each of its entries"
    try:
        float(value)  # also of a text that states a number, as NumPy reads it
    except OverflowError:
        return "its logarithm"
    except (TypeError, ValueError):
        return "by scikit-learn's OneHotEncoder"
    return None


def non_numeric_entry(array: Array, row_offset: int = 0) -> tuple[str, str] | None:
    """Return the first entry of a matrix that is no real number, with its place; and an example of numbers for it."""
    for n, row in enumerate(array):
        for j, value in enumerate(row):
            if (example := replacement_example(value)) is not None:
                return f"{short_repr(value)} at row {n + row_offset}, feature {j}", example
    return None


def numeric_features(X: Any, row_offset: int = 0) -> Any:
    """Return X as a float64 array, or as a CSR array without explicit zeros, of numbers that need not be finite.

    Raises
    ------
    ProblemError
        X is not a matrix of real numbers, or is empty.
    """
    check_in_memory("X", X)
    check_unmasked("X", X)
    features: Any = _compressed(X) if scipy.sparse.issparse(X) else _float64(X, row_offset)
    if features.ndim != 2 or 0 in features.shape:
        raise ProblemError(
            f"X must have shape (N, features), not empty; got {features.shape}. Pass a row for each example."
        )
    return features


def _float64(X: Any, row_offset: int) -> Array:
    """Return an array of real numbers as float64."""
    try:
        array = np.asarray(X)
    except ValueError as failure:
        raise ProblemError(
            f"X must be an array of numbers: {reason_of(failure)}; got {short_repr(X)}. Pass rows of equal length."
        ) from failure
    advice = COMPLEX_ADVICE if array.dtype.kind == "c" else ""
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its entries are {array.dtype}")
        with np.errstate(over="ignore"):  # longer floats may overflow; infinities are refused later
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as failure:
        fault = non_numeric_entry(array, row_offset) if array.ndim == 2 else None
        got, example = fault or (short_repr(X), "by scikit-learn's OneHotEncoder")
        raise ProblemError(
            f"X must be an array of numbers: {reason_of(failure)}; got {got}. "
            f"{advice or f'Encode the feature as numbers, such as {example}, or drop it.'}"
        ) from failure


def _compressed(X: Any) -> Any:
    """Return a sparse matrix of real numbers as float64 compressed rows: sorted, without duplicates and zeros."""
    if X.dtype.kind not in "biuf":
        advice = COMPLEX_ADVICE if X.dtype.kind == "c" else "Convert it: X.astype(float)."
        raise ProblemError(f"X must be a matrix of real numbers; got {X.dtype}. {advice}")
    features = check_csr("X", X).astype(np.float64, copy=False)
    if features.ndim == 2 and (features.data == 0).any():
        features = features.copy()
        features.eliminate_zeros()
    return features


def _column_format(X: Any) -> Any:
    """Return a sparse X by columns, and any other X as an array."""
    if scipy.sparse.issparse(X):
        rows = check_csr("X", X)
        return rows.tocsc() if rows.ndim == 2 else rows
    try:
        return np.asarray(X)
    except ValueError as failure:
        raise ProblemError(f"X must be a matrix: {reason_of(failure)}. Fill up its rows.") from failure


def _column(X: Any, j: int) -> Array:
    """Return a column of an array or of a matrix of compressed columns."""
    return X[:, [j]].toarray()[:, 0] if scipy.sparse.issparse(X) else X[:, j]
