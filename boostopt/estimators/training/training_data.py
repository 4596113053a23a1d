"""Training examples of classifiers: labels, multiplicities, per-example parameters, merging of equal examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from boostopt._utils.array_types import Array, ExampleVector, Float, Int
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.oracles import BinnedStumps, DecisionStumps, Oracle
from boostopt.oracles.labelled_examples import check_weights
from boostopt.programs.parameters import LARGEST, SMALLEST
from boostopt.rows.binned_rows import has_exact_sums
from boostopt.rows.row_block import MAX_MULTIPLICITY

MAX_COPIES = 1_000_000
"""Largest sum of whole weights that count as copies of their rows in cross-validation."""

MAX_WEIGHT_RATIO = 1e99
"""Largest quotient of two weights: if the smallest is scaled to 1, the largest is still a valid multiplicity."""

BALANCED = "balanced"
"""The class weights that give each class the same total."""

Values = Mapping[str, Array]
"""Parameters of a formulation with one value for each example, by name, each of shape (N,)."""


def no_values() -> dict[str, Any]:
    """Return a mapping without parameters."""
    return {}


@dataclass(frozen=True, eq=False)
class WeightedExamples:
    """The examples with positive weight.

    Attributes
    ----------
    X
        Features, shape (N, features).
    codes
        The index of each example's class, shape (N,).
    c
        Multiplicities, shape (N,), positive.
    classes
        The labels, ascending, shape (classes,).
    copies
        The number of rows that each example stands for, shape (N,), at least 1. A row of weight k stands for k rows if
        all weights are whole numbers and their sum is at most `MAX_COPIES`, and for one row otherwise. Class weights do
        not change it.
    values
        Per-example parameters, each of shape (N,).
    class_factors
        The class weights that c contains, shape (classes,); None if there are none.
    whole_factor
        The number that c is multiplied by to become whole; None if c is whole already, or no such number is known.
    """

    X: Any
    codes: Int[Array, " N"]
    c: ExampleVector
    classes: npt.NDArray[Any]
    copies: Int[Array, " N"]
    values: Values = field(default_factory=no_values)
    class_factors: Array | None = None
    whole_factor: float | None = None

    @property
    def whole_c(self) -> ExampleVector:
        """The multiplicities as whole numbers in the same proportions; c itself if no such numbers are known."""
        return self.c if self.whole_factor is None else np.rint(self.c * self.whole_factor)

    def class_shares(self) -> list[list[float]]:
        """Return the weight fractions of the classes, and if there are class weights also those without them."""
        totals = np.bincount(self.codes, self.whole_c)
        sums = [totals] if self.class_factors is None else [totals, totals / self.class_factors]
        return [(class_sums / class_sums.sum()).tolist() for class_sums in sums]

    def take(self, rows: Int[Array, " n"]) -> WeightedExamples:
        """Return the examples of some rows, with their multiplicities and parameters."""
        values = {name: value[rows] for name, value in self.values.items()}
        return replace(
            self, X=self.X[rows], codes=self.codes[rows], c=self.c[rows], copies=self.copies[rows], values=values
        )

    def take_copies(self, copies: Int[Array, " N"]) -> WeightedExamples:
        """Return some of the copies of each example, each with an equal share of the weight of the example.

        Parameters
        ----------
        copies
            The number of copies of each example, shape (N,), from 0 to `self.copies`.
        """
        rows = np.flatnonzero(copies)
        c = self.c[rows] * (copies[rows] / self.copies[rows])
        return replace(self.take(rows), c=c, copies=copies[rows])

    def merged(self, codes: Int[Array, " N"] | None = None) -> WeightedExamples:
        """Return the different examples in a canonical order, each with its total weight.

        So neither the order of the examples matters, nor whether an example occurs twice or has the weight 2, down to
        the last digit. Examples with equal features and codes but unequal per-example parameters are different.

        Parameters
        ----------
        codes
            Other class indices for the returned examples, shape (N,).
        """
        examples = self if codes is None else replace(self, codes=codes)
        examples = examples if scipy.sparse.issparse(self.X) else replace(examples, X=self.X + 0.0)  # -0 becomes 0
        order, first = _sorted_by_equality(examples.X, examples.codes, examples.values)
        c, copies = (np.add.reduceat(values[order], first) for values in (self.c, self.copies))
        return replace(examples.take(order[first]), c=c, copies=copies)

    def with_class_weight(self, class_weight: Any) -> WeightedExamples:
        """Return the examples with multiplicities times class weights: a mapping from labels, "balanced" or None.

        Raises
        ------
        OptionError
            The class weights are invalid.
        ProblemError
            The products differ so much that computations with them would overflow or vanish.
        """
        factors = class_weight_factors(class_weight, self.classes, self.codes, self.c)
        class_factors = None if class_weight is None else factors
        whole_factor = _whole_factor(self.codes, self.c) if isinstance(class_weight, str) else None
        c = _multiply_weights(self.c, factors[self.codes])
        return replace(self, c=c, class_factors=class_factors, whole_factor=whole_factor)


@dataclass(frozen=True, eq=False)
class OracleCache:
    """The examples and the oracles of binary problems, for several fits that differ in nu only.

    Oracles of stumps are kept, because they have no state. Other oracles are made again for each fit.
    """

    _examples: dict[int, WeightedExamples] = field(default_factory=dict)
    _oracles: dict[tuple[int, float], Oracle] = field(default_factory=dict)

    def examples(self, k: int, make_examples: Callable[[], WeightedExamples]) -> WeightedExamples:
        """Return the examples of class k against the rest, which are made at the first call."""
        if k not in self._examples:
            self._examples[k] = make_examples()
        return self._examples[k]

    def oracle(self, k: int, c: ExampleVector, make: Callable[[], Oracle]) -> Oracle:
        """Return an oracle over the examples of class k, made only if none with these multiplicities is kept.

        Parameters
        ----------
        k
            The index of the positive class.
        c
            The multiplicities, shape (N,): those of the examples times a number.
        make
            Returns a new oracle.
        """
        key = (k, float(c[0]))
        if key in self._oracles:
            return self._oracles[key]
        oracle = make()
        if type(oracle) in (DecisionStumps, BinnedStumps):  # a subclass may have a state
            self._oracles[key] = oracle
        return oracle


def merge_examples(
    X: Any, labels: npt.NDArray[Any], sample_weight: Any, values: Values | None = None
) -> WeightedExamples:
    """Return the examples of positive weight, in their order.

    Parameters
    ----------
    X, labels, sample_weight
        Features: a float64 array, or compressed rows in canonical format without explicit zeros. Labels, and weights or
        None.
    values
        Per-example parameters, one value for each row of X.

    Raises
    ------
    ProblemError
        The weights are not valid, or there is only one class.
    """
    check_classification_targets(labels)
    return weighted_examples(X, labels, sample_weight, values)


def weighted_examples(
    X: Any, labels: npt.NDArray[Any], sample_weight: Any, values: Values | None = None
) -> WeightedExamples:
    """Return the examples of positive weight, in their order, with labels or numbers as in `merge_examples`.

    Raises
    ------
    ProblemError
        The weights are not valid, or all labels are equal.
    """
    weights = _validate_sample_weight(sample_weight, len(labels))
    counting = slice(None) if (weights > 0).all() else weights > 0
    classes, codes = _encode_labels(labels[counting])
    selected = {name: value[counting] for name, value in (values or {}).items()}
    return WeightedExamples(X[counting], codes, weights[counting], classes, _copies(weights[counting]), selected)


def _copies(weights: ExampleVector) -> Int[Array, " N"]:
    """Return the number of rows that each row of positive weight stands for."""
    are_counts = bool((weights == np.floor(weights)).all()) and weights.sum() <= max(MAX_COPIES, len(weights))
    return weights.astype(np.int64) if are_counts else np.ones(len(weights), dtype=np.int64)


def _validate_sample_weight(sample_weight: Any, N: int) -> ExampleVector:
    """Return sample weights, 1 by default.

    Raises
    ------
    ProblemError
        The weights are not N numbers of at least 0, or all are 0, or products with a weight would overflow.
    """
    weights = check_weights(sample_weight, N, "sample_weight")
    positive = weights[weights > 0]
    if not (positive.min() >= SMALLEST and positive.max() <= LARGEST):
        raise ProblemError(
            f"sample_weight must be 0 or lie in [{SMALLEST:g}, {LARGEST:g}]; got weights from {positive.min():.6g} to "
            f"{positive.max():.6g}. Scale the weights; if nu is a share, it does not depend on their scale."
        )
    return weights


def _encode_labels(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int[Array, " N"]]:
    """Return the classes of the examples of positive weight, ascending, and the index of each example's class.

    Raises
    ------
    ProblemError
        There is only one class.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ProblemError(
            "the examples with a positive weight must have at least two classes; got 1 class, "
            f"{short_repr(classes.tolist()[0])}. Add examples of another class."
        )
    return classes, codes


def _sorted_by_equality(X: Any, codes: Int[Array, " N"], values: Values) -> tuple[Int[Array, " N"], Int[Array, " n"]]:
    """Return an order that groups equal examples, and the position at which each group begins."""
    row_values = [codes, *(values[name] + 0.0 for name in sorted(values))]
    keys = _sparse_row_keys(X, row_values) if scipy.sparse.issparse(X) else _row_keys(X, row_values)
    order = keys.argsort(kind="stable")
    keys = keys[order]
    return order, np.concatenate([[0], 1 + np.flatnonzero(keys[1:] != keys[:-1])])


def equal_row_groups(X: Any) -> Int[Array, " N"]:
    """Return a number for each row, the same for equal rows, from 0 on."""
    rows = X if scipy.sparse.issparse(X) else X + 0.0  # -0 becomes 0
    order, first = _sorted_by_equality(rows, np.zeros(rows.shape[0], dtype=np.int64), {})
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
    return groups


def _row_keys(rows: Float[Array, "N features"], values: Sequence[Array]) -> npt.NDArray[Any]:
    """Return the bytes of each example and its values as a sort key, which needs one comparison for all features."""
    table = np.ascontiguousarray(np.column_stack([*values, rows]))
    return table.view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0]


def _sparse_row_keys(rows: Any, values: Sequence[Array]) -> npt.NDArray[Any]:
    """Return the bytes of each sparse example and its values as sort keys of different lengths."""
    codes, *parameters = values
    table = np.column_stack(parameters) if parameters else np.empty((len(codes), 0))
    row_slices = zip(codes.tolist(), table, rows.indptr[:-1], rows.indptr[1:], strict=True)
    keys = np.empty(len(codes), dtype=object)
    keys[:] = [
        b"%d:" % code + parameter_row.tobytes() + rows.indices[start:stop].tobytes() + rows.data[start:stop].tobytes()
        for code, parameter_row, start, stop in row_slices
    ]
    return keys


def class_weight_factors(
    class_weight: Any, classes: npt.NDArray[Any], codes: Int[Array, " N"], weights: ExampleVector
) -> Float[Array, " classes"]:
    """Return the factor of the weights of each class.

    Parameters
    ----------
    class_weight
        None for 1, a mapping from labels to positive numbers, or "balanced" for total / (classes * total of the class).
    classes, codes, weights
        The classes, and the class index and the weight of each example.

    Raises
    ------
    OptionError
        `class_weight` is none of these.
    ProblemError
        A factor is not a positive number, or a mapping leaves out a class and names an unknown label.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, Mapping):
        return _factors_from_mapping(cast(Mapping[Any, Any], class_weight), classes)
    if not (isinstance(class_weight, str) and class_weight == BALANCED):
        raise OptionError(
            f'class_weight must be None, "{BALANCED}" or a mapping from labels to weights; got '
            f"{short_repr(class_weight)}. Pass one of them."
        )
    factors: Any = compute_class_weight(class_weight, classes=classes, y=classes[codes], sample_weight=weights)
    return np.asarray(factors, dtype=np.float64)


def _whole_factor(codes: Int[Array, " N"], c: ExampleVector) -> float | None:
    """Return the number that makes balanced weights whole; None if the products or c have no exact sums.

    The balanced weight of an example is total / (classes * total of the class) times its own one. So the least common
    multiple of the totals of the classes makes it whole, after a division of all weights by their common divisor.
    """
    if not ((c == np.rint(c)).all() and c.max() < 2.0**53):
        return None
    unit = int(np.gcd.reduce(c.astype(np.int64)))
    totals = np.bincount(codes, c / unit).astype(np.int64)
    multiple = math.lcm(*totals.tolist())
    if not has_exact_sums(c / unit) or multiple // int(totals.min()) > MAX_MULTIPLICITY:
        return None
    is_exact = has_exact_sums(c / unit * (multiple // totals)[codes])
    return multiple * len(totals) / (int(totals.sum()) * unit) if is_exact else None


def _factors_from_mapping(factors: Mapping[Any, Any], classes: npt.NDArray[Any]) -> Float[Array, " classes"]:
    """Return the factors of a mapping from labels, 1 for the labels that it leaves out."""
    labels: list[Any] = classes.tolist()
    for label, value in factors.items():
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else math.nan
        if not SMALLEST <= number <= LARGEST:
            text = repr(value) if math.isnan(number) else f"{number:.6g}"
            raise ProblemError(
                f"class_weight must give each class a positive number in [{SMALLEST:g}, {LARGEST:g}]; got {text} for "
                f"{short_repr(label)}. To leave out a class, remove its examples from X and y."
            )
    missing = [label for label in labels if label not in factors]
    unknown = [key for key in factors if key not in labels]
    if missing and unknown:
        raise ProblemError(
            f"class_weight must have the labels in y as keys, {', '.join(map(repr, labels))}; got the key "
            f"{short_repr(unknown[0])}, and no key {short_repr(missing[0])}. Write the labels as in y."
        )
    return np.array([float(factors.get(label, 1.0)) for label in labels])


def _multiply_weights(c: ExampleVector, factors: ExampleVector) -> ExampleVector:
    """Return multiplicities times the factors of their classes.

    Raises
    ------
    ProblemError
        The products differ so much that computations with them would overflow or vanish.
    """
    product = c * factors  # each lies between 1e-200 and 1e200, up to the number of summands
    smallest, largest = float(product.min()), float(product.max())
    if not (smallest >= SMALLEST and largest <= LARGEST and largest <= MAX_WEIGHT_RATIO * smallest):
        raise ProblemError(
            f"sample_weight times class_weight must lie in [{SMALLEST:g}, {LARGEST:g}], the largest at most "
            f"{MAX_WEIGHT_RATIO:g} times the smallest; got {smallest:.6g} to {largest:.6g}. Use weights of "
            "more similar size."
        )
    return product
