"""The results of a fit that its warnings depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, Float
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
    """

    rows: tuple[int, int]
    labels: tuple[str, str]
    share: float

    def __str__(self) -> str:
        return (
            f"rows {self.rows[0]} and {self.rows[1]} are equal and have the labels {self.labels[0]} and "
            f"{self.labels[1]}: no hypotheses tell them apart. Such pairs have {100 * self.share:.3g} % of the weights"
        )


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
    is_positive = examples.classes[examples.codes] == positive
    groups = equal_row_groups(examples.X)
    pairs = np.minimum(np.bincount(groups, examples.c * is_positive), np.bincount(groups, examples.c * ~is_positive))
    if not pairs.any():
        return None
    row = examples.X[[int((groups == pairs.argmax()).argmax())]]
    stack: Any = scipy.sparse.vstack if scipy.sparse.issparse(X) else np.vstack
    groups = equal_row_groups(stack([X, row], **({"format": "csr"} if scipy.sparse.issparse(X) else {})))
    equal = np.flatnonzero((groups[:-1] == groups[-1]) & (True if weights is None else weights > 0))
    of_class = labels[equal] == positive
    first, second = sorted((int(equal[of_class][0]), int(equal[~of_class][0])))
    first_label, second_label = labels[[first, second]].tolist()
    words = short_repr(first_label), short_repr(second_label)
    return Contradiction((first, second), words, 2.0 * float(pairs.sum() / examples.c.sum()))


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
