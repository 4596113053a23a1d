"""The oracle whose hypotheses are the features themselves: exact, with one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float, is_dask_collection
from boostopt._utils.json_values import read_integer, read_number
from boostopt._utils.validation import check_flag
from boostopt.errors import ProblemError
from boostopt.oracles.base import Answer, Column, Hypothesis, Query, StateDict, compact_margins
from boostopt.oracles.distributed.cluster_classes import DistributedClass, DistributedEncoder, Placeable, subclass_error
from boostopt.oracles.distributed.sign_columns import encode_signs, sign_rows
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix
from boostopt.oracles.labelled_examples import ExamplesOracle, check_examples
from boostopt.oracles.top_k import top_k
from boostopt.oracles.weight_scaling import MACHINE_EPSILON, scaled_weights, unscaled_upper_bound
from boostopt.rows.row_block import Split


@dataclass(frozen=True)
class Feature(FeatureHypothesis):
    """The hypothesis h(x) = sign * x[feature] / scale, clipped to [-1, 1].

    Attributes
    ----------
    feature
        The feature, from 0.
    scale
        The positive number that h is divided by.
    sign
        1 or -1.
    features
        Number of features of x.

    Raises
    ------
    ProblemError
        There is no such feature, the sign is neither 1 nor -1, the scale is not a positive number.
    """

    kind: ClassVar[str] = "feature"

    feature: int
    scale: float
    sign: int
    features: int

    def __post_init__(self) -> None:
        if not 0 <= self.feature < self.features or self.sign not in (-1, 1) or not 0 < self.scale < math.inf:
            raise ProblemError(
                f"a feature is one from 0 to features - 1 with a positive scale and the sign 1 or -1; got feature "
                f"{self.feature} of {self.features}, scale {self.scale}, sign {self.sign}. Correct that one."
            )

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        values = features.column(self.feature, self.features)
        with np.errstate(over="ignore"):  # a scale below 1 may cause overflow, which is clipped as well
            return self.sign * np.clip(values / self.scale, -1.0, 1.0)

    def __str__(self) -> str:
        return self._words(f"feature {self.feature}")

    def in_words(self, names: Sequence[str]) -> str:
        return self._words(str(names[self.feature]))

    def signed_form(self) -> tuple[Feature, int]:
        return replace(self, sign=1), self.sign

    def _words(self, feature: str) -> str:
        scaled = f" / {self.scale:.6g}" if self.scale != 1.0 else ""
        return f"{'-' if self.sign == -1 else ''}{feature}{scaled}"

    def state(self) -> StateDict:
        return {"feature": self.feature, "scale": self.scale, "sign": self.sign, "features": self.features}

    @classmethod
    def restored(cls, state: StateDict) -> Feature:
        return cls(
            read_integer(state, "feature"),
            read_number(state, "scale"),
            read_integer(state, "sign"),
            read_integer(state, "features"),
        )


class RawFeatures(ExamplesOracle, Placeable):
    """The features as hypotheses, exactly.

    The scale of a feature is 1 if the feature lies in [-1, 1] on the examples that count, otherwise its largest
    absolute value there. On other examples, the feature is clipped. Features that are 0 on all these examples do not
    belong to the class. If all features are, the class is h = 0.

    Among features whose edges equal the largest up to rounding, the lowest comes first. The others follow by their
    edges, equal ones from the lowest feature on, with the sign 1 if the edge is 0. If several columns are wanted, the
    oracle returns different features, and each column once.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array, or a scipy sparse matrix, which is never made dense. A
        `dask.array` or a `dask.dataframe` of only -1 and 1 stays on the cluster of the default client, see
        `DistributedFeatures`.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1; both must occur. On a cluster, pass them as for `BinnedStumps`.
    c
        Multiplicities, shape (N,), non-negative, 1 by default. Examples with 0 are left out. On a cluster, pass them as
        for `BinnedStumps`.
    reflexive
        Whether the negated features belong to the class as well.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, labels are invalid or of one class only, or a multiplicity
        is negative.
    """

    def __init__(self, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None, reflexive: bool = True) -> None:
        self.reflexive: bool = check_flag("reflexive", reflexive)
        if is_dask_collection(X):
            raise subclass_error(self, RawFeatures)
        self._examples = check_examples(X, y, c)
        features = self._examples.X
        sparse = scipy.sparse.issparse(features)
        self._features: int = features.shape[1]
        lowest, highest = features.min(axis=0), features.max(axis=0)
        if sparse:
            lowest, highest = lowest.toarray().ravel(), highest.toarray().ravel()
        largest: Float[Array, " features"] = np.maximum(highest, -lowest)
        self._scales = np.maximum(largest, 1.0)
        self._nonzero_features = np.flatnonzero(largest > 0)
        # One row for each feature: each edge is then a sum over a row, and each column is contiguous.
        self._transposed = scipy.sparse.csr_array(features.T) if sparse else None

    def __str__(self) -> str:
        return _describe_features(self._features, self.reflexive)

    def best(self, query: Query) -> Answer:
        """Return the features with the largest edges.

        The error of a sum of N products is at most about N eps / 2 times the sum of their sizes, in any order of
        summation (Higham 2002, section 3.1). The sizes sum to at most sum_n d_n. The divisions by the scale, in the
        edge and in the margins, add eps / 2 each. `edge_bound` exceeds the largest computed edge
        by (N + 4) eps sum_n d_n, which is twice as much.

        Raises
        ------
        ProblemError
            The weights do not have shape (N,), or they are not finite.
        """
        weights, exponent = scaled_weights(query.d, self.N)
        if len(self._nonzero_features) == 0:
            return Answer((self._column(0, 1, weights, exponent),), 0.0)
        s = weights * self.y
        rounding = (self.N + 4) * MACHINE_EPSILON * float(np.abs(s).sum())
        product = self._examples.X.T @ s if self._transposed is None else self._transposed @ s
        edges = (product / self._scales)[self._nonzero_features]
        sizes = np.abs(edges) if self.reflexive else edges
        top = float(sizes.max())
        columns: list[Column] = []
        for k in top_k(np.where(sizes >= top - 2 * rounding, top, sizes), query.count):
            sign = -1 if self.reflexive and edges[k] < 0 else 1
            column = self._column(int(self._nonzero_features[k]), sign, weights, exponent)
            if not any(np.array_equal(column.margins, previous.margins) for previous in columns):
                columns.append(column)
        return Answer(tuple(columns), unscaled_upper_bound(math.nextafter(top + rounding, math.inf), exponent))

    def _contains(self, hypothesis: Hypothesis, h: ExampleVector) -> bool:
        return (
            isinstance(hypothesis, Feature)
            and (len(self._nonzero_features) == 0 or hypothesis.feature in self._nonzero_features)
            and hypothesis.scale == float(self._scales[hypothesis.feature])
            and (self.reflexive or hypothesis.sign == 1)
        )

    def _column(self, feature: int, sign: int, weights: ExampleVector, exponent: int) -> Column:
        """Return a feature with its margins y_n h(x_n), and its edge, recomputed from them under scaled weights."""
        hypothesis = Feature(feature, float(self._scales[feature]), sign, self._features)
        margins = self._values(feature) / hypothesis.scale
        margins *= sign * self.y
        margins += 0.0  # -0 becomes 0
        return Column(hypothesis, compact_margins(margins), math.ldexp(float(margins @ weights), exponent))

    def _values(self, feature: int) -> ExampleVector:
        """Return a copy of one feature of the examples."""
        if self._transposed is None:
            return np.array(self._examples.X[:, feature])
        values = np.zeros(self.N)
        entries = slice(self._transposed.indptr[feature], self._transposed.indptr[feature + 1])
        values[self._transposed.indices[entries]] = self._transposed.data[entries]
        return values


class DistributedFeatures(DistributedClass, local=RawFeatures):
    """`RawFeatures` of a Dask collection of -1 and 1: codes stay with the workers of the default client.

    The class supports data passes only. A run by histogram Newton equals a run over the same rows in memory, to
    the last bit.

    Parameters
    ----------
    X, y, c, reflexive
        As in `RawFeatures`.

    Raises
    ------
    ProblemError
        There is no client; X contains features other than -1 and 1, or has chunks of unknown sizes; y or c do not match
        X; labels are invalid; or multiplicities are not whole numbers.
    OptionError
        Dask is not installed.
    """

    def __init__(self, X: Any, y: Any, c: Any = None, reflexive: bool = True) -> None:
        self.reflexive: bool = check_flag("reflexive", reflexive)
        encoder = DistributedEncoder(X, y, c)
        encoder.count()
        self._features = encoder.blocks.features
        self._set_rows(sign_rows(encoder, self._features, encode_signs, "X"), encoder.balance)

    def __str__(self) -> str:
        return _describe_features(self._features, self.reflexive)

    def hypothesis_of(self, split: Split) -> Feature:
        return Feature(split.feature, 1.0, split.sign, self._features)

    def check_features(self, X: Any) -> None:
        """Raise ProblemError unless X has the same number of features, all finite."""
        (X if isinstance(X, FeatureMatrix) else FeatureMatrix(X)).checked(self._features)


def _describe_features(features: int, reflexive: bool) -> str:
    """Describe the class of the features themselves."""
    words = "1 feature as it is" if features == 1 else f"{features} features as they are"
    return f"{words}, {'both directions' if reflexive else 'one direction'}"
