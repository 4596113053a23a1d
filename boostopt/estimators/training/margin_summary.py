"""The results of a fit that its warnings depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from boostopt.boosting.objectives.soft_margin import SOFT_MARGIN
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL

MOSTLY_ZERO_FRACTION = 0.5
"""Share of examples with f(x) = 0 from which on a warning is issued."""

NU_LIMIT_BINARY, NU_LIMIT_MULTICLASS = 2.0, 1.0
"""Largest nu without a warning, as a multiple of the weight fraction of the smaller class."""


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

    @property
    def is_unproved(self) -> bool:
        """True if the soft margin is not proved to exceed the baseline by more than the tolerance."""
        bounds = self.soft_margin_bounds
        return bounds is not None and bounds[0] <= self.baseline + max(self.tolerance, ZERO_TOL)

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
