"""Class probabilities, calibrated by scikit-learn on the decision function of held-out examples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from boostopt._utils.array_types import Array, Float
from boostopt.errors import MarginWarning, ProblemError

CALIBRATION_FOLDS = 5
"""Number of folds; the sigmoid is fitted to the held-out parts of all folds."""

CALIBRATION_OVERRIDES: dict[str, Any] = {
    "probability": False,
    "checkpoint": None,
    "verbose": False,
    "warm_start": False,
}
"""Parameters of the classifiers that are fitted only for the sigmoid."""


def fit_sigmoids(model: Any, X: Any, y: Any, sample_weight: Any, values: Mapping[str, Any]) -> Float[Array, "k 2"]:
    """Return a and b of the sigmoids 1 / (1 + exp(a f + b)) that fit f on the held-out parts of five folds.

    There is one sigmoid for the second of two classes, or one for each class against the rest.

    Parameters
    ----------
    model
        A fitted classifier. Classifiers with the same parameters are fitted to four folds each.
    X, y, sample_weight
        The examples that the model was fitted to.
    values
        Parameters of the formulation with one value an example, by name.

    Raises
    ------
    ProblemError
        A class has fewer examples than there are folds.
    """
    labels, codes, counts = np.unique(np.asarray(y), return_inverse=True, return_counts=True)
    if counts.min() < CALIBRATION_FOLDS:
        raise ProblemError(
            f"probability=True learns from {CALIBRATION_FOLDS} folds, so each class needs at least "
            f"{CALIBRATION_FOLDS} examples; got {counts.min()} of {labels.tolist()[counts.argmin()]!r}. "
            "Add examples, or leave probability out."
        )
    fold_model: Any = clone(model)
    fold_model.set_params(**CALIBRATION_OVERRIDES, nu=model.nu_)
    if isinstance(model.class_weight, Mapping):  # scikit-learn numbers the labels before it fits to folds
        numbered = enumerate(labels.tolist())
        weights = {code: model.class_weight[label] for code, label in numbered if label in model.class_weight}
        fold_model.set_params(class_weight=weights)
    if values and model.parameters:  # the folds get parts of the values
        fold_model.set_params(
            parameters={name: value for name, value in model.parameters.items() if name not in values}
        )
    options: Any = {
        "method": "sigmoid",
        "cv": CALIBRATION_FOLDS,
        "ensemble": False,
    }  # scikit-learn's annotations are wrong about the last option
    search: Any = CalibratedClassifierCV(fold_model, **options)
    with warnings.catch_warnings():
        # The fit of the model has already issued these warnings.
        warnings.simplefilter("ignore", MarginWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, codes, sample_weight=sample_weight, **values)
    calibrators: Any = search.calibrated_classifiers_[0].calibrators
    return np.array([[calibrator.a_, calibrator.b_] for calibrator in calibrators])


def sigmoid_probabilities(sigmoids: Float[Array, "k 2"], f: Any) -> Float[Array, "n classes"]:
    """Return the probability of each class for values of the decision function, as `CalibratedClassifierCV` does.

    With more than two classes the values of the sigmoids are divided by their sum, and are equal if all are 0.
    """
    a, b = sigmoids.T
    p = expit(-(a * f.reshape(len(f), -1) + b))
    if p.shape[1] == 1:
        return np.hstack([1.0 - p, p])
    total = p.sum(axis=1, keepdims=True)
    return np.divide(p, total, out=np.full_like(p, 1.0 / p.shape[1]), where=total > 0.0)


def _has_probabilities(model: Any) -> bool:
    """Return whether the classifier has probabilities, or will have them after a fit; raise AttributeError if not."""
    if not model.probability:
        raise AttributeError(
            "there is no predict_proba: f is a margin, not a probability. Fit with probability=True to learn "
            "probabilities from held-out examples."
        )
    if hasattr(model, "classes_") and not hasattr(model, "sigmoids_"):
        raise AttributeError("there is no predict_proba: probability was set after the fit. Fit the classifier again.")
    return True


class ProbabilityMixin:
    """The probability methods of a classifier, available with `probability=True`."""

    probability: Any
    sigmoids_: Float[Array, "k 2"]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Float[Array, "n classes"]:
        """Return the probability of each class for each row of X, shape (n, classes), in the order of `classes_`.

        The method exists only if the classifier was fitted with probability=True. `predict` uses f, so its label may
        differ from the most probable one if two probabilities are close.
        """
        check_is_fitted(self)
        model: Any = self
        return sigmoid_probabilities(self.sigmoids_, model.decision_function(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Float[Array, "n classes"]:
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))
