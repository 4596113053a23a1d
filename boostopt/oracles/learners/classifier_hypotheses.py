"""Fitted classifiers as hypotheses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float, Num
from boostopt._utils.formatting import format_count
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.json_values import read_integer, read_text
from boostopt.errors import ProblemError, short_repr, unknown_name
from boostopt.oracles.base import StateDict
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix

VALUE_METHODS = ("predict", "decision_function", "predict_proba")

PROBABILITY_ROUNDING = 1e-6
"""Allowed excess of a probability over [0, 1]: some estimators compute in single precision."""


@dataclass(frozen=True)
class Fitted(ImmutableArrays, FeatureHypothesis):
    """A fitted classifier as a hypothesis.

    Two of them are equal if they are the same fit, by number and description, with the same sign. Files store the
    values on the training examples, but not the classifier. So a restored hypothesis cannot predict, but a pickled one
    can.

    Attributes
    ----------
    number
        The number of this fit among those of its oracle, from 0.
    sign
        1, or -1 for the negation.
    description
        The name of the classifier.
    values
        The method that gives h: "predict" -1 or 1, "decision_function" cut to [-1, 1], "predict_proba" 2p - 1.
    features
        Number of features.
    training_values
        h(x_n) on the training examples that count, sign included, shape (N,).
    estimator
        The fitted classifier; None if it was not saved.

    Raises
    ------
    ProblemError
        The number is negative, there is no feature, the sign is neither 1 nor -1, or a value lies outside [-1, 1].
    OptionError
        `values` is unknown.
    """

    kind: ClassVar[str] = "fitted"

    number: int
    sign: int
    description: str
    values: str
    features: int = field(compare=False)
    training_values: Num[Array, " N"] = field(compare=False, repr=False)
    estimator: Any = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values not in VALUE_METHODS:
            raise unknown_name("kind of values", self.values, VALUE_METHODS)
        if self.number < 0 or self.sign not in (-1, 1) or self.features < 1:
            raise ProblemError(
                "a fitted hypothesis has a number from 0, the sign 1 or -1 and at least one feature; got number "
                f"{self.number}, sign {self.sign}, {format_count(self.features, 'feature')}. Correct that one."
            )
        if not (np.abs(self.training_values) <= 1).all():
            raise ProblemError(
                "a fitted hypothesis has a value in [-1, 1] on each training example; got one of size "
                f"{np.abs(self.training_values).max():.6g}. Correct it."
            )

    @property
    def is_evaluable(self) -> bool:
        return self.estimator is not None

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        """Return h(x) in [-1, 1] for each example.

        Raises
        ------
        ProblemError
            X has a different number of features, the classifier was not saved, or it returns other values.
        """
        X = features.checked_for_users(self.features)
        if self.estimator is None:
            raise ProblemError(
                f"{self} was restored from a file, and classifiers are not saved: only its values on the training "
                "examples are known. Fit again, or pickle the run."
            )
        return self.sign * hypothesis_values(self.estimator, self.values, X)

    def __str__(self) -> str:
        return f"{'-' if self.sign < 0 else ''}{self.description} {self.number}"

    def state(self) -> StateDict:
        return {
            "number": self.number,
            "sign": self.sign,
            "description": self.description,
            "values": self.values,
            "features": self.features,
            "on_training": self.training_values,
        }

    @classmethod
    def restored(cls, state: StateDict) -> Fitted:
        description, values = read_text(state, "description"), read_text(state, "values")
        on_training = np.asarray(state["on_training"])
        if on_training.ndim != 1 or on_training.dtype.kind not in "iuf":
            raise ProblemError(
                "a fitted hypothesis has a number on each training example; got shape "
                f"{on_training.shape} of {on_training.dtype}. Correct them."
            )
        number, sign, features = (
            read_integer(state, "number"),
            read_integer(state, "sign"),
            read_integer(state, "features"),
        )
        return cls(number, sign, description, values, features, on_training, None)


def hypothesis_values(model: Any, values: str, X: Any, label: str = "") -> Float[Array, " n"]:
    """Return h(x) in [-1, 1] of a fitted classifier, checked; errors use a label, or the name of its class.

    Raises
    ------
    ProblemError
        The classifier does not return one finite value for each example, or returns labels other than -1 and 1, or
        probabilities outside [0, 1].
    """
    n, label = X.shape[0], label or class_name(model)
    name = f"{label}.{values}"
    raw = np.asarray(getattr(model, values)(X))
    expected = (n, 2) if values == "predict_proba" else (n,)
    if raw.shape != expected:
        raise ProblemError(
            f"{name} must return shape {expected}, for {format_count(n, 'example')} of two classes; got {raw.shape}. "
            "Pass a classifier that keeps to scikit-learn's conventions."
        )
    if raw.dtype.kind not in "iuf" or not np.isfinite(raw).all():
        invalid = raw[~np.isfinite(raw)][0] if raw.dtype.kind == "f" else raw.flat[0]
        raise ProblemError(
            f"{name} must return finite numbers; got {short_repr(invalid)}. Look at what it was fitted to."
        )
    raw = raw.astype(np.float64)
    if values == "decision_function":
        return np.clip(raw, -1, 1)
    if values == "predict":
        if not np.isin(raw, (-1, 1)).all():
            raise ProblemError(
                f"{name} must return the labels it was given, -1 and 1; got {np.unique(raw)[:5].tolist()}. "
                'Pass a classifier, or values="decision_function" where it has one.'
            )
        return raw
    classes = np.asarray(getattr(model, "classes_", ()))
    if not np.array_equal(classes, (-1, 1)):
        raise ProblemError(
            f"{label} must know the classes [-1, 1] that it was fitted to; got {short_repr(classes.tolist())}. Pass a "
            "classifier that keeps its labels in classes_."
        )
    p = raw[:, 1]
    if p.min() < -PROBABILITY_ROUNDING or p.max() > 1 + PROBABILITY_ROUNDING:
        raise ProblemError(
            f"{name} must return probabilities in [0, 1]; got {p.min():.6g} to {p.max():.6g}: the values would leave "
            "[-1, 1]. Pass another one of values."
        )
    return np.clip(2 * p - 1, -1, 1)


def class_name(estimator: Any) -> str:
    """Return the name of an estimator's class."""
    return type(estimator).__name__
