"""The members of a fitted ensemble: hypotheses with values in [-1, 1], the ensemble's weights, its labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, HypothesisVector, Int, Int8
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_array
from boostopt.boosting.column_pool import MARGIN_TOL
from boostopt.ensembles.member_hypotheses import MemberInput, NegatedHypothesis, call_without_name_warnings
from boostopt.errors import ProblemError, short_repr
from boostopt.oracles.base import Hypothesis, compact_margins
from boostopt.oracles.feature_validation import FeatureMatrix, evaluate
from boostopt.oracles.labelled_examples import as_signs
from boostopt.rows.margin_matrix import MarginMatrix


@dataclass(frozen=True, eq=False)
class Members:
    """The members of a fitted ensemble.

    Attributes
    ----------
    hypotheses
        The t members. A member with a negative weight is stored as its negation.
    weights
        The ensemble's own weights, shape (t,), non-negative, with sum 1 over all members of the ensemble.
    labels
        The negative label and the positive label, as in the user's y, shape (2,); None if the hypotheses have no
        labels.
    feature_names
        The names of the features that the ensemble was fitted to; None if the features had no names.
    preprocessing
        The earlier steps of a pipeline, which transform X before the ensemble sees it; None without such steps.
    has_boostopt_hypotheses
        Whether the hypotheses are boostopt's own, which take X as it is.
    source
        The fitted ensemble that the members come from, without the earlier steps of a pipeline; None for runs and
        lists.
    """

    hypotheses: tuple[Hypothesis, ...]
    weights: HypothesisVector
    labels: Array | None = None
    feature_names: Array | None = None
    preprocessing: Any = None
    has_boostopt_hypotheses: bool = False
    source: Any = None

    @classmethod
    def from_weights(cls, hypotheses: Sequence[Hypothesis], weights: npt.ArrayLike, labels: Array | None) -> Members:
        """Return hypotheses with weights of any sign and sum.

        Raises
        ------
        ProblemError
            There is no hypothesis, or there is not one finite weight for each, or all weights are 0.
        """
        w = check_array("weights", weights)
        if not hypotheses:
            raise ProblemError("an ensemble must have at least one member; got none. Fit it, or add members.")
        numbers = w.shape == (len(hypotheses),) and w.dtype.kind in "biuf"
        if not numbers or not np.isfinite(w).all() or not w.any():
            raise ProblemError(
                f"the weights of an ensemble must be {len(hypotheses)} finite numbers, not all 0, one for each member; "
                f"got {w.tolist() if w.size <= 5 else f'shape {w.shape} of {w.dtype}'}. Pass such weights."
            )
        sizes = np.abs(w.astype(np.float64))
        shares = sizes / sizes.max()  # the sum of huge weights must not overflow
        signed = [h if weight >= 0 else NegatedHypothesis(h) for h, weight in zip(hypotheses, w, strict=True)]
        return cls(tuple(signed), shares / shares.sum(), labels)

    @property
    def t(self) -> int:
        """The number of members."""
        return len(self.hypotheses)

    def select(self, numbers: Int[Array, " k"]) -> Members:
        """Return some of the members, with the weights that they have in the whole ensemble."""
        selected = tuple(self.hypotheses[q] for q in numbers.tolist())
        return replace(self, hypotheses=selected, weights=self.weights[numbers])

    def rows(self, X: Any) -> Any:
        """Check the names of the features, and return X transformed as the hypotheses take it.

        Raises
        ------
        ProblemError
            The names of the features differ from those at the fit, or X cannot be transformed, or X has no row.
        """
        if not self.has_boostopt_hypotheses and FeatureMatrix(X).n == 0:
            raise ProblemError(f"X must have at least one row; got {short_repr(X)}. Pass the examples.")
        columns = getattr(X, "columns", None)
        fitted = [] if self.feature_names is None else list(self.feature_names)
        if columns is not None and not has_same_names(columns, self.feature_names):
            raise ProblemError(
                f"X must have the {format_count(len(fitted), 'feature')} that the ensemble was fitted to, in "
                "their order; "
                f"got {format_count(len(columns), 'feature')}, {_difference(list(columns), fitted)}. Pass the "
                "columns of X as at the fit."
            )
        rows = X if self.preprocessing is None else call_without_name_warnings(self.preprocessing, "transform", X)
        return rows if self.has_boostopt_hypotheses else MemberInput(rows)

    def with_labels_of(self, y: npt.ArrayLike) -> Members:
        """Return the members with the two labels of y, the smaller one as the negative, if they had no labels.

        Raises
        ------
        ProblemError
            The labels of y cannot be ordered.
        """
        if self.labels is not None:
            return self
        array = check_array("y", y)
        try:
            labels = np.unique(array)
        except TypeError as unlike:
            raise ProblemError(
                f"y must hold labels of one type; got labels that cannot be compared: {unlike}. Code the labels as "
                "numbers or texts."
            ) from unlike
        # Other than two labels are refused below: the message names the labels -1 and 1 that unlabelled members expect.
        is_pair = labels.shape == (2,) and not (labels.dtype.kind in "fc" and not np.isfinite(labels).all())
        return replace(self, labels=labels) if is_pair else self

    def label_signs(self, y: npt.ArrayLike) -> Int8[Array, " N"]:
        """Return labels as -1 and 1.

        Raises
        ------
        ProblemError
            y is not a vector of the ensemble's two labels.
        """
        signs = labels_to_signs(self.labels, y)
        if signs.ndim != 1 or not len(signs):
            raise ProblemError(
                f"y must have shape (N,), with one label for each row of X and N >= 1; got shape {signs.shape}. Pass "
                "the labels of the rows."
            )
        return signs

    def margins(self, X: Any, y: Int8[Array, " N"], rows: Int[Array, " n"]) -> MarginMatrix:
        """Return U[n, q] = y_n h_q(x_n) for some rows of X, shape (n, t): int8 if all margins are whole numbers.

        Raises
        ------
        ProblemError
            X and y have different numbers of rows, or a member returns a value that is not finite or not in [-1, 1].
        """
        return MarginMatrix.of_private(np.stack(list(self.columns(self.rows(X), y, rows)), axis=1))

    def columns(self, features: Any, y: Int8[Array, " N"], rows: Int[Array, " n"]) -> Iterator[Array]:
        """Yield the margins of each member for some of the rows, as `margins` does."""
        for hypothesis, values in zip(self.hypotheses, evaluate(self.hypotheses, features), strict=True):
            if values.shape != y.shape:
                raise ProblemError(
                    f"X must have one row for each of {len(y)} labels; got {format_count(len(values), 'row')}. "
                    "Pass X and y of the "
                    "same examples."
                )
            h = values[rows]
            if not (np.abs(h) <= 1.0 + MARGIN_TOL).all():
                raise ProblemError(
                    f"a member must have values in [-1, 1]; {hypothesis} has a value of size {np.abs(h).max():.6g}. "
                    "Scale or clip its values."
                )
            yield compact_margins(y[rows] * np.clip(h, -1.0, 1.0))


def one_vs_rest_margins(
    members: Sequence[Members], X: Any, signs: Sequence[Int8[Array, " N"]], rows: Int[Array, " n"]
) -> list[MarginMatrix]:
    """Return the margins of members that separate each class from the rest: see `Members.margins`.

    The members of all classes are evaluated side by side, so that each estimator of several classes is evaluated once.
    """
    features, columns = members[0].rows(X), [list[Array]() for _ in members]
    for label_columns in zip_longest(
        *(member.columns(features, y, rows) for member, y in zip(members, signs, strict=True))
    ):
        for class_columns, column in zip(columns, label_columns, strict=True):
            if column is not None:
                class_columns.append(column)
    return [MarginMatrix.of_private(np.stack(class_columns, axis=1)) for class_columns in columns]


def labels_to_signs(labels: Array | None, y: npt.ArrayLike) -> Int8[Array, "*shape"]:
    """Return label signs -1 and 1 for labels y; without known labels, y must be signs, as for `as_signs`.

    Raises
    ------
    ProblemError
        y holds another label.
    """
    if labels is None:
        return as_signs(y)
    array = check_array("y", y)
    positive = np.asarray(array == labels[1])
    strange = ~(positive | np.asarray(array == labels[0]))
    if strange.shape == array.shape and strange.any():
        negative, larger = labels.tolist()
        raise ProblemError(
            f"y must hold the labels that the ensemble was fitted to, {negative!r} and {larger!r}; got "
            f"{array[strange].tolist()[0]!r}. Code the two classes with these labels."
        )
    return np.where(positive, 1, -1).astype(np.int8)


def has_same_names(columns: Iterable[Any], fitted: Iterable[Any] | None) -> bool:
    """Return whether the columns of a table have the names of a fit, in their order; LightGBM turns blanks into "_"."""
    if fitted is None:
        return True
    names, fitted_names = list(columns), list(fitted)
    return names == fitted_names or list(map(_without_blanks, names)) == fitted_names


def _without_blanks(name: Any) -> str:
    """Return the name of a column as LightGBM stores it."""
    return str(name).replace(" ", "_")


def _difference(names: list[Any], fitted: list[Any]) -> str:
    """Return the difference between the feature names of a table and those that an ensemble was fitted to, in words."""
    if not any(" " in str(name) for name in fitted):  # perhaps of LightGBM
        names = [_without_blanks(name) if _without_blanks(name) in fitted else name for name in names]
    missing, further = (
        [str(name) if isinstance(name, str) else name for name in first if name not in second][:3]
        for first, second in ((fitted, names), (names, fitted))
    )
    if not missing and not further:
        permuted = [name for name, fitted_name in zip(names, fitted, strict=False) if name != fitted_name][:3]
        return f"with others in the places of {permuted}" if len(names) == len(fitted) else "some of them twice"
    return " and ".join(f"{relation} {first}" for relation, first in (("without", missing), ("also", further)) if first)
