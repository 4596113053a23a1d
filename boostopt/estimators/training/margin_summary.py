"""The results of a fit that its warnings depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int, Int8
from boostopt.boosting.objectives.soft_margin import SOFT_MARGIN
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.errors import short_repr
from boostopt.estimators.training.training_data import WeightedExamples, equal_row_groups

MOSTLY_ZERO_FRACTION = 0.5
"""Share of examples with f(x) = 0 from which on a warning is issued."""

NU_LIMIT_BINARY, NU_LIMIT_MULTICLASS = 2.0, 1.0
"""Largest nu without a warning, as a multiple of the weight fraction of the smaller class."""


@dataclass(frozen=True)
class Contradiction:
    """Equal rows with different labels, in the problem of one class against the others.

    Let a(x) and b(x) be the weights of the class and of the others in the examples with the features x. The margins of
    f on both have opposite signs, so that examples of the weight 2 min(a, b) have margins with the mean 0. If nu is at
    most the sum of these weights over all x, the mean of the nu smallest margins is at most 0, for any f.

    Attributes
    ----------
    rows
        Two equal rows with different labels, as indices.
    labels
        Their labels, in words.
    share
        The sum of 2 min(a, b) over all x, as a share of the weights.
    is_of_votes
        Whether the rows are equal in the votes of all members of an ensemble, not in the features.
    """

    rows: tuple[int, int]
    labels: tuple[str, str]
    share: float
    is_of_votes: bool = False

    def __str__(self) -> str:
        first, second = self.rows
        have = f"the labels {self.labels[0]} and {self.labels[1]}"
        likeness = "get the same votes of all members, but have" if self.is_of_votes else "are equal and have"
        result = "no weights tell them apart" if self.is_of_votes else "no hypotheses tell them apart"
        share = f"Such pairs have {100 * self.share:.3g} % of the weights"
        return f"rows {first} and {second} {likeness} {have}: {result}. {share}"

    @property
    def remedy(self) -> str:
        """The way out."""
        means = "use an ensemble whose members" if self.is_of_votes else "add features that"
        return f"{means} tell these rows apart, or correct their labels"


def find_contradiction(
    X: Any,
    labels: npt.NDArray[Any],
    weights: Float[Array, " rows"] | None,
    examples: WeightedExamples,
    positive: Any,
) -> Contradiction | None:
    """Return the contradiction of a class against the others; None if there are no such rows.

    Parameters
    ----------
    X, labels, weights
        All rows in their order, as the fit checks them, with their labels and weights; None for equal weights.
    examples
        The training examples, which are some of the rows.
    positive
        The label of the class.
    """
    example, share = _contradictory_example(
        equal_row_groups(examples.X), examples.classes[examples.codes] == positive, examples.c
    )
    if not share:
        return None
    equal = _rows_equal_to(X, examples.X[[example]])
    equal = equal if weights is None else equal[weights[equal] > 0]
    pair = _first_of_both(equal, labels[equal] == positive)
    return Contradiction(pair, _labels_in_words(labels, pair), share)


def find_contradictory_votes(
    votes: Float[Array, "N members"],
    signs: Int8[Array, " N"],
    c: Float[Array, " N"],
    rows: Int[Array, " N"],
    labels: npt.NDArray[Any],
) -> Contradiction | None:
    """Return rows with the same votes of all members and different signs; None if there are none.

    Parameters
    ----------
    votes, signs, c
        The votes of the members on the examples, and the class of each example as -1 or 1, with its weight.
    rows, labels
        The row of each example in the input, and the labels of all rows of the input.
    """
    groups = equal_row_groups(votes)
    example, share = _contradictory_example(groups, signs > 0, c)
    if not share:
        return None
    equal = np.flatnonzero(groups == groups[example])
    pair = _first_of_both(rows[equal], signs[equal] > 0)
    return Contradiction(pair, _labels_in_words(labels, pair), share, is_of_votes=True)


def _contradictory_example(
    groups: Int[Array, " N"], is_positive: Bool[Array, " N"], c: Float[Array, " N"]
) -> tuple[int, float]:
    """Return an example of the group with the most contradictory weight, and the contradictory share of all weights."""
    pairs = np.minimum(np.bincount(groups, c * is_positive), np.bincount(groups, c * ~is_positive))
    return int((groups == pairs.argmax()).argmax()), 2.0 * float(pairs.sum() / c.sum())


def _first_of_both(rows: Int[Array, " k"], is_positive: Bool[Array, " k"]) -> tuple[int, int]:
    """Return the first row of either class, the smaller index first."""
    first, second = sorted((int(rows[is_positive][0]), int(rows[~is_positive][0])))
    return first, second


def _labels_in_words(labels: npt.NDArray[Any], pair: tuple[int, int]) -> tuple[str, str]:
    """Return the labels of two rows as messages show them."""
    first, second = labels[list(pair)].tolist()
    return short_repr(first), short_repr(second)


def _rows_equal_to(X: Any, row: Any) -> Int[Array, " k"]:
    """Return the indices of the rows that equal a row, which is a matrix of one row in the same format."""
    if not scipy.sparse.issparse(X):
        rows = np.arange(len(X))
        for j, value in enumerate(row[0].tolist()):
            rows = rows[X[rows, j] == value]
        return rows
    rows = np.flatnonzero(np.diff(X.indptr) == row.nnz)
    shape, similar = (len(rows), -1), X[rows]
    is_equal = (similar.indices.reshape(shape) == row.indices) & (similar.data.reshape(shape) == row.data)
    return rows[is_equal.all(axis=1)]


@dataclass(frozen=True)
class MarginSummary:
    """The results of one binary problem that the warnings depend on.

    Attributes
    ----------
    label
        The positive class of a one-vs-rest problem; "" for two classes.
    majority_name
        The larger class, in words.
    minority_fraction
        The weight fraction of the smaller class, in (0, 1/2].
    nu
        The share of the weights over whose smallest margins the soft margin is the mean; None if there is no nu.
    soft_margin_bounds
        The soft margin of the classifier, and the upper bound over the class of hypotheses; None if the program does
        not maximize a soft margin.
    baseline
        The soft margin of f = 0.
    zero_fraction
        The share of the examples with f(x) = 0; nan if it is unknown.
    tolerance
        The difference from the baseline up to which a soft margin counts as equal to it.
    measure
        The name of the bounded value: "soft margin", or another one.
    contradiction
        Equal rows with different labels; None if there are none, or if they are unknown.
    """

    label: str
    majority_name: str
    minority_fraction: float
    nu: float | None
    soft_margin_bounds: tuple[float, float] | None
    baseline: float = 0.0
    zero_fraction: float = math.nan
    tolerance: float = 0.0
    measure: str = SOFT_MARGIN
    contradiction: Contradiction | None = None

    @property
    def is_unproved(self) -> bool:
        """True if the soft margin is not proved to exceed the baseline by more than the tolerance."""
        bounds = self.soft_margin_bounds
        return bounds is not None and bounds[0] <= self.baseline + max(self.tolerance, ZERO_TOL)

    @property
    def is_ruled_out(self) -> bool:
        """True if no weights of the class have a soft margin above the baseline by more than the tolerance."""
        bounds = self.soft_margin_bounds
        return bounds is not None and bounds[1] <= self.baseline + max(self.tolerance, ZERO_TOL)

    @property
    def has_only_contradictions(self) -> bool:
        """True if equal rows with different labels alone rule out a soft margin above 0, whatever the hypotheses."""
        return self.contradiction is not None and (self.nu or 1.0) <= self.contradiction.share * (1.0 + ZERO_TOL)

    @property
    def is_mostly_zero(self) -> bool:
        """True if f(x) = 0 on most examples."""
        return self.zero_fraction >= MOSTLY_ZERO_FRACTION

    @property
    def constant_prediction_margin(self) -> float:
        """The soft margin of the constant prediction of the larger class."""
        if self.nu is None or self.nu < self.minority_fraction:
            return -1.0
        return 1.0 - 2.0 * self.minority_fraction / self.nu

    @property
    def nu_limit(self) -> float:
        """The largest nu for which the smaller class cannot be sacrificed."""
        return (NU_LIMIT_MULTICLASS if self.label else NU_LIMIT_BINARY) * self.minority_fraction

    @property
    def may_sacrifice_minority(self) -> bool:
        """True if nu exceeds its limit, and the soft margin does not exclude that the smaller class is sacrificed."""
        if self.nu is None or self.nu <= self.nu_limit * (1.0 + ZERO_TOL):
            return False
        bounds = self.soft_margin_bounds
        return bounds is None or bounds[0] <= 1.0 - self.minority_fraction / self.nu
