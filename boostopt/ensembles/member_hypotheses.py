"""The estimators of an ensemble as hypotheses: relabelled to -1 and 1, scaled into [-1, 1], negated."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.immutable_arrays import immutable_copy, writes_named
from boostopt._utils.json_values import read_integer, read_text
from boostopt.errors import OptionError, ProblemError, reason_of
from boostopt.oracles.base import Hypothesis, StateDict
from boostopt.oracles.feature_validation import FeatureMatrix, checked_features
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state, to_state
from boostopt.oracles.learners.classifier_hypotheses import class_name, hypothesis_values


class MemberInput:
    """Examples in the form that the estimators of an ensemble take, with or without feature names.

    Attributes
    ----------
    X
        The user's X: an array, a sparse matrix, a table with named columns, or a list. Arrays and compressed rows are
        read-only copies.
    """

    def __init__(self, X: Any) -> None:
        self.X = immutable_copy(X)
        self._last: tuple[Any, str, Array] | None = None

    @cached_property
    def shape(self) -> tuple[int]:
        """The number of examples, as (n,)."""
        return (FeatureMatrix(self.X).n,)

    @cached_property
    def without_feature_names(self) -> Any:
        """X without the names of the features; sparse matrices as compressed rows, which can be sliced."""
        if scipy.sparse.issparse(self.X):
            return scipy.sparse.csr_array(self.X)
        return np.asarray(self.X) if hasattr(self.X, "columns") else self.X

    @cached_property
    def finite_features(self) -> Any:
        """X as finite numbers: a single tree accepts NaN, although the ensemble refuses it."""
        return checked_features(self.without_feature_names)

    def input_for(self, model: Any, features: Int[Array, " k"] | None) -> Any:
        """Return X in the form of a model that was fitted to some of the features, or to all of them (None)."""
        named = getattr(model, "feature_names_in_", None) is not None
        X = self.X if named else self.without_feature_names
        if features is None:
            return X
        return (X if scipy.sparse.issparse(X) else np.asarray(X))[:, features]

    def cached_output(self, model: Any, method: str, features: Int[Array, " k"] | None) -> Array:
        """Return a method's result for these examples; the last result is cached, for models of several classes."""
        if self._last is None or self._last[0] is not model or self._last[1] != method:
            self._last = (
                model,
                method,
                np.asarray(call_without_name_warnings(model, method, self.input_for(model, features))),
            )
        return self._last[2]


def call_without_name_warnings(model: Any, method: str, X: Any) -> Any:
    """Return the result of a method of a fitted scikit-learn object.

    Raises
    ------
    ProblemError
        The object has no such method, or refuses X.
    """
    if not hasattr(model, method):
        raise ProblemError(f"{class_name(model)} must have the method {method}; it does not. Pass other values.")
    with warnings.catch_warnings():
        # Otherwise every member would warn. Users who pass an array know that the array has no names.
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        try:
            with writes_named(f"the model {class_name(model)}"):
                return getattr(model, method)(X)
        except ProblemError:
            raise
        except (ValueError, TypeError) as failure:
            raise ProblemError(
                f"{class_name(model)}.{method} does not take X: {reason_of(failure)}. Pass X in the form that the "
                "ensemble was fitted to."
            ) from failure


@dataclass(frozen=True, eq=False)
class BinaryVoter:
    """A classifier of two arbitrary labels as a classifier with the labels -1 and 1.

    Attributes
    ----------
    model
        The fitted classifier. It may have only one of the labels, because its sample may contain only one class.
    labels
        The negative and the positive label of the classifier.
    features
        The indices of the features that the classifier was fitted to, None for all.
    """

    model: Any
    labels: tuple[Any, Any]
    features: Int[Array, " k"] | None = None

    classes_: ClassVar[tuple[int, int]] = (-1, 1)

    def predict(self, rows: MemberInput) -> Array:
        """Return -1 or 1 for each example."""
        raw = self._model_output("predict", rows)
        positive = np.asarray(raw == self.labels[1])
        strange = ~(positive | np.asarray(raw == self.labels[0]))
        if strange.any():
            labels = np.asarray(self.labels).tolist()
            raise ProblemError(
                f"{class_name(self.model)}.predict must return one of the labels {labels[0]!r} and {labels[1]!r}; got "
                f"{raw[strange].tolist()[0]!r}. Pass classifiers that were fitted to the same two labels."
            )
        return np.where(positive, 1.0, -1.0)

    def predict_proba(self, rows: MemberInput) -> Array:
        """Return the probabilities of -1 and of 1 for each example, shape (n, 2)."""
        raw, classes = self._model_output("predict_proba", rows), self._classes
        if raw.ndim != 2 or raw.shape[1] != len(classes):
            return raw  # refused by its shape
        p = np.zeros((len(raw), 2), raw.dtype)
        for column, label in enumerate(self.labels):
            if label in classes:
                p[:, column] = raw[:, classes.index(label)]
        return p

    def decision_function(self, rows: MemberInput) -> Array:
        """Return a number for each example that is positive for 1."""
        classes = self._classes
        if len(classes) != 2:
            raise ProblemError(
                'values="decision_function" needs members that were fitted to two classes; '
                f"{class_name(self.model)} was "
                f'fitted to {classes}. Pass values="predict".'
            )
        raw = self._model_output("decision_function", rows)
        return raw if classes[1] == self.labels[1] else -raw

    @property
    def _classes(self) -> list[Any]:
        return np.asarray(self.model.classes_).tolist()

    def _model_output(self, method: str, rows: MemberInput) -> Array:
        return rows.cached_output(self.model, method, self.features)


@dataclass(frozen=True, eq=False)
class OneVsRestVoter(BinaryVoter):
    """A classifier of more than two classes as a classifier of one class, 1, against the rest, -1.

    Attributes
    ----------
    model, features
        As in `BinaryVoter`.
    labels
        None, and the label of the positive class in the classifier.
    """

    def predict(self, rows: MemberInput) -> Array:
        """Return 1 for each example that the classifier assigns to the positive class, -1 for the others."""
        return np.where(np.asarray(self._model_output("predict", rows) == self.labels[1]), 1.0, -1.0)

    def predict_proba(self, rows: MemberInput) -> Array:
        """Return the probabilities of the rest and of the positive class for each example, shape (n, 2)."""
        raw, classes = self._model_output("predict_proba", rows), self._classes
        if raw.ndim != 2 or raw.shape[1] != len(classes):
            return raw  # refused by its shape
        p = raw[:, classes.index(self.labels[1])] if self.labels[1] in classes else np.zeros(len(raw), raw.dtype)
        return np.column_stack([1.0 - p, p])

    def decision_function(self, rows: MemberInput) -> Array:
        """Raise ProblemError: the values of several classes have no common scale."""
        raise ProblemError(
            'values="decision_function" needs members that were fitted to two classes; '
            f'{class_name(self.model)} was fitted to {self._classes}. Pass values="predict" or "predict_proba".'
        )


@dataclass(frozen=True, eq=False)
class ScaledTree:
    """A regression tree divided by its largest absolute leaf: its values lie in [-1, 1] for every example.

    Attributes
    ----------
    tree
        The fitted tree.
    """

    tree: Any

    @cached_property
    def scale(self) -> float:
        """The largest absolute value of a leaf."""
        nodes = self.tree.tree_
        return float(np.abs(nodes.value[nodes.children_left == nodes.children_right]).max())

    def decision_function(self, rows: MemberInput) -> Array:
        """Return the value of each example's leaf, divided by the largest absolute value; 0 if all leaves are 0."""
        values = np.asarray(call_without_name_warnings(self.tree, "predict", rows.finite_features))
        return values / self.scale if self.scale > 0 else values


@dataclass(frozen=True, eq=False)
class ConstantVoter:
    """The same class for every example.

    Attributes
    ----------
    sign
        1 or -1.
    """

    sign: int

    def decision_function(self, rows: MemberInput) -> Array:
        """Return the sign for each example."""
        return np.full(rows.shape, float(self.sign))


@dataclass(frozen=True)
class MemberHypothesis(Hypothesis):
    """An estimator of a fitted ensemble as a hypothesis.

    Two such hypotheses are equal if they have the same number, description and values. The estimator is not part of the
    saved state: a restored hypothesis cannot predict. (A pickled one can.)

    Attributes
    ----------
    number
        The index of the member in the ensemble, from 0.
    description
        The type of the estimator in a word.
    values
        The method that gives h: see `boostopt.oracles.Fitted`.
    model
        The estimator that predicts: `BinaryVoter`, `ScaledTree` or `ConstantVoter`; None if it was not saved.
    """

    kind: ClassVar[str] = "member"

    number: int
    description: str
    values: str
    model: Any = field(compare=False, repr=False)

    def __call__(self, X: Any) -> Float[Array, " n"]:
        """Return h(x) in [-1, 1] for each row of X, which has the form that the ensemble passes to its members.

        Raises
        ------
        ProblemError
            The estimator was not saved, refuses X, or does not return one value in [-1, 1] for each example.
        """
        if self.model is None:
            raise ProblemError(f"{self} was restored without its estimator, so it cannot predict. Save it by pickle.")
        rows = X if isinstance(X, MemberInput) else MemberInput(X)
        try:
            return hypothesis_values(self.model, self.values, rows, self.description)
        except ProblemError as fault:
            description = "" if self.description in str(fault) else f", {self.description}"
            raise ProblemError(f"member {self.number}{description}: {fault}") from fault

    def __str__(self) -> str:
        return f"{self.description} {self.number}"

    def state(self) -> StateDict:
        return {"number": self.number, "description": self.description, "values": self.values}

    @classmethod
    def restored(cls, state: StateDict) -> MemberHypothesis:
        return cls(read_integer(state, "number"), read_text(state, "description"), read_text(state, "values"), None)


@dataclass(frozen=True)
class NegatedHypothesis(Hypothesis):
    """The negation of a hypothesis.

    Attributes
    ----------
    hypothesis
        The hypothesis that is negated.
    """

    kind: ClassVar[str] = "negation"

    hypothesis: Hypothesis

    def __call__(self, X: Any) -> Float[Array, " n"]:
        """Return -h(x) for each row of X, in the form that the hypothesis takes."""
        return -self.hypothesis(X)

    def signed_form(self) -> tuple[Hypothesis, int]:
        hypothesis, sign = self.hypothesis.signed_form()
        return hypothesis, -sign

    def __str__(self) -> str:
        return f"-({self.hypothesis})"

    def state(self) -> StateDict:
        return {"of": to_state(self.hypothesis)}

    @classmethod
    def restored(cls, state: StateDict) -> NegatedHypothesis:
        return cls(hypothesis_from_state(state["of"]))


def validate_values(values: str | None, natural_values: str, kind: str) -> None:
    """Raise OptionError if values are passed for members that have their own values."""
    if values is not None and values != natural_values:
        raise OptionError(
            f"the members of {kind} have their own values, namely what they add to its decision function; "
            f"got values={values!r}. Leave out values."
        )
