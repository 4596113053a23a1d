"""The oracle of decision stumps that predict numbers, exact over all thresholds, with residuals as margins."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Float, Int
from boostopt._utils.formatting import format_count
from boostopt._utils.immutable_arrays import as_immutable, immutable_copy
from boostopt._utils.validation import check_positive, check_real_array
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle, Query
from boostopt.oracles.feature_validation import FeatureMatrix, checked_features
from boostopt.oracles.labelled_examples import check_multiplicities, feature_arrays
from boostopt.oracles.regression.regression_stump import RegressionStump
from boostopt.oracles.stumps.presorted_features import PresortedFeatures, presort
from boostopt.oracles.stumps.stump_search import features_of_thresholds, order_of_thresholds
from boostopt.oracles.weight_scaling import MACHINE_EPSILON, scaled_weights, unscaled_upper_bound

WEIGHT_BITS = 61
"""Bits to which weights with a sum in [1/2, 1) are rounded: sums over both signs then stay below 2^63."""

MAX_TARGET, MAX_RADIUS = 1e150, 1e6
"""The largest size of a target, and the largest radius in half ranges of the targets."""

MIN_RADIUS = 1e-150
"""The smallest radius, and the smallest half range of the targets: their products with weights do not underflow."""


class RegressionStumps(Oracle):
    """Decision stumps that predict numbers, exactly; margins are the residuals of both signs.

    A hypothesis has a value h(x) = -1 or 1 on each side of a threshold of one feature. A vote f predicts the number
    p(x) = m + r f(x), where the centre m is the middle of the targets and r the radius of the predictions. Each example
    has two rows, with the margins (p(x_n) - y_n) / R and (y_n - p(x_n)) / R, where R is r plus half the range of the
    targets. So minus R times the mean of the nu smallest margins is the mean of the nu largest absolute residuals, for
    nu up to the number of examples. With nu = sum of c it is the mean absolute residual. With smaller nu it is the
    smallest value of e + (1 / nu) sum_n c_n max(|y_n - p(x_n)| - e, 0) over e, the loss of nu support vector
    regression: residuals within a tube cost nothing, and the width e of the tube is optimal.

    The class contains every threshold of every feature, with each sign on each side, and both constants. The weights
    of a vote sum to 1, so that f is an additive function whose variation is bounded: `radius` is the parameter of this
    regularization. Use formulations whose weights sum to 1, such as LPBoost; for others, margins are no residuals of
    the predictions. The class is not closed under negation, since a prediction has no negation with the same targets.
    A query takes one pass over the sorted features. Ties, sparse features and several columns are treated as in
    `DecisionStumps`. Runs predict numbers: `run.predict(X)`.

    Parameters
    ----------
    X
        Features, shape (n, features), finite: an array, or a scipy sparse matrix, which is never made dense.
    y
        Targets, shape (n,), numbers of size at most 1e150; two or more must be different.
    c
        Multiplicities, shape (n,), non-negative, 1 by default. Examples with 0 are left out before thresholds are made.
    radius
        r in half ranges of the targets, from 0 to 1e6, positive.

    Attributes
    ----------
    pair_examples
        The row of X of each row, shape (N,): two for each example that counts, the margin of p - y first.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, all targets are equal or one is too large, or a multiplicity
        is negative.
    OptionError
        The radius is not positive, or too large.

    References
    ----------
    Raetsch, Demiriz, Bennett 2002, with the same linear program over ensembles for regression.
    """

    def __init__(self, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None, radius: float = 2.0) -> None:
        features = checked_features(X)
        targets = check_real_array(
            "y",
            y,
            f"one number for each of the {features.shape[0]} rows of X",
            "Pass the targets.",
            lambda shape: shape == features.shape[:1],
        )
        size = check_positive("radius", radius)
        if size > MAX_RADIUS:
            raise OptionError(f"radius must be at most {MAX_RADIUS:g} half ranges; got {size:g}. Pass a smaller one.")
        rows, self._c = check_multiplicities(c, len(targets))
        t = targets[rows]
        low, high = float(t.min()), float(t.max())
        if not -MAX_TARGET <= low < high <= MAX_TARGET or 0.5 * (high - low) * min(size, 1.0) < MIN_RADIUS:
            raise ProblemError(
                f"the targets y of the examples that count must be different numbers of size at most {MAX_TARGET:g}, "
                f"with a radius of at least {MIN_RADIUS:g}; got numbers from {low:.6g} to {high:.6g} and the radius "
                f"{size:g} in half ranges. Scale the targets; equal ones need no fit."
            )
        self._X: Any = immutable_copy(features if len(rows) == len(targets) else features[rows])
        self._rows: Int[Array, " n"] = as_immutable(rows)
        self._features: int = self._X.shape[1]
        self._sorted: PresortedFeatures = presort(self._X)
        self._centre: float = low + 0.5 * (high - low)
        self._targets: ExampleVector = as_immutable(t - self._centre)
        half_range = float(np.abs(self._targets).max())
        self._radius: float = size * half_range
        self._scale: float = math.nextafter(self._radius + half_range, math.inf)

    def __str__(self) -> str:
        return f"decision stumps on {format_count(self._features, 'feature')} for numbers, radius {self._radius:.6g}"

    @property
    def N(self) -> int:
        """Number of rows, two for each example that counts."""
        return 2 * len(self._c)

    @property
    def c(self) -> ExampleVector:
        return np.repeat(self._c, 2)

    @property
    def y(self) -> None:
        return None

    @property
    def target_scale(self) -> tuple[float, float]:
        return self._centre, self._radius

    @property
    def residual_scale(self) -> float:
        """R: a margin is a residual of either sign divided by R."""
        return self._scale

    @property
    def pair_examples(self) -> Int[Array, " N"]:
        """The row of X of each row."""
        return np.repeat(self._rows, 2)

    def check_features(self, X: Any) -> None:
        """Raise ProblemError unless X has the number of features of the examples, all finite."""
        (X if isinstance(X, FeatureMatrix) else FeatureMatrix(X)).checked(self._features)

    def best(self, query: Query) -> Answer:
        """Return the stumps with the largest edges.

        The edge is (r sum_n s_n h(x_n) - sum_n s_n (y_n - m)) / R, with the difference s_n of the weights of both rows
        of an example. The first sum is exact for weights rounded to multiples of a unit, at most 2^-60 sum_n d_n. The
        margins, the second sum and the quotient are rounded by less than 8 eps sum_n d_n in total. `edge_bound` lies
        above the largest edge by these errors.

        Raises
        ------
        ProblemError
            The weights do not have shape (N,), or they are not finite.
        """
        weights, exponent = scaled_weights(query.d, self.N)
        integers = np.rint(np.ldexp(weights, WEIGHT_BITS)).astype(np.int64)
        s = integers[::2] - integers[1::2]
        total, thresholds = int(s.sum()), self._sorted.thresholds
        # A side of a threshold with the sum A adds |A|; with T = A + A' and E = A - A', |A| + |A'| = max(|T|, |E|).
        differences = self._sorted.threshold_edges(s) if len(thresholds) else np.zeros(1, dtype=np.int64)
        sums = np.maximum(np.abs(differences), abs(total))
        target_sum = math.fsum((s * self._targets).tolist())
        columns, unit = list[Column](), exponent - WEIGHT_BITS
        for i in order_of_thresholds(self._sorted, sums, query):
            stump = self._stump_at(i, int(differences[i]), total)
            margins = self.margins_of(stump)
            if not any(np.array_equal(margins, column.margins) for column in columns):
                edge = (self._radius * float(sums[i]) - target_sum) / self._scale
                columns.append(Column(stump, margins, math.ldexp(edge, unit)))
            if len(columns) == query.count:
                break
        largest = (self._radius * float(sums.max()) - target_sum) / self._scale
        size = float(np.abs(integers).sum(dtype=np.float64))
        rounding = self.N // 2 + 1 + 8.0 * MACHINE_EPSILON * size
        return Answer(tuple(columns), unscaled_upper_bound(math.nextafter(largest + rounding, math.inf), unit))

    def _stump_at(self, i: int, difference: int, total: int) -> RegressionStump:
        """Return the best stump at a threshold: its signs are those of the sums of both sides, 1 for a sum of 0."""
        scale = (self._centre, self._radius, self._features)
        upper_sign, lower_sign = -1 if total + difference < 0 else 1, -1 if total - difference < 0 else 1
        if upper_sign == lower_sign or len(self._sorted.thresholds) == 0:
            return RegressionStump(0, -math.inf, upper_sign, upper_sign, *scale)
        feature = int(features_of_thresholds(self._sorted, [i])[0])
        return RegressionStump(feature, float(self._sorted.thresholds[i]), upper_sign, lower_sign, *scale)

    def margins_of(self, hypothesis: Hypothesis) -> Float[Array, " N"]:
        """Return the margins of both signs. A threshold that splits the examples equals one of the class.

        Raises
        ------
        ProblemError
            The class has no such hypothesis: it is no stump for these predictions and this number of features.
        """
        if (
            not isinstance(hypothesis, RegressionStump)
            or hypothesis.target_scale != self.target_scale
            or hypothesis.features != self._features
        ):
            raise ProblemError(f"expected a hypothesis of {self}; got {hypothesis}. Pass the oracle of its class.")
        residuals = self._radius * hypothesis(self._X) - self._targets
        margins: Float[Array, " N"] = np.repeat(residuals / self._scale, 2)
        margins[1::2] *= -1.0
        return np.clip(margins, -1.0, 1.0)

    @property
    def digest(self) -> str:
        digest = hashlib.sha256(f"{type(self).__name__} {self._X.shape} {self._centre!r} {self._radius!r}".encode())
        for part in (*feature_arrays(self._X), self._targets, self._c):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()
