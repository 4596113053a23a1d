"""Probabilities of classes, learned by scikit-learn from what a classifier says of examples that were held out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from boostopt.errors import MarginWarning
from boostopt.shapes import Array, Float

FOLDS = 5
"""On whose held-out parts the sigmoid is fitted."""

ALONE: dict[str, Any] = {"probability": False, "checkpoint": None, "verbose": False, "warm_start": False}
"""What classifiers that are fitted for the sigmoid alone are without."""


def calibrated(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return a classifier with probabilities: a sigmoid of f, fitted to the held-out parts of five folds.

    Parameters
    ----------
    model
        A fitted classifier; one like it, fitted to all examples once more, is what the sigmoid belongs to.
    X, y, sample_weight
        What it was fitted to.

    Raises
    ------
    ValueError
        A class has fewer examples than there are folds, in scikit-learn's words.
    """
    alike: Any = clone(model)
    alike.set_params(**ALONE, nu=model.nu_)
    how: Any = {"method": "sigmoid", "cv": FOLDS, "ensemble": False}  # its annotations are wrong about the last
    search: Any = CalibratedClassifierCV(alike, **how)
    with warnings.catch_warnings():
        # The fit itself has said them.
        warnings.simplefilter("ignore", MarginWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return search.fit(X, y, sample_weight=sample_weight)


def _has_probabilities(model: Any) -> bool:
    """Return whether there are probabilities, or will be after a fit."""
    if not model.probability:
        raise AttributeError(
            "there is no predict_proba: f is a margin and no probability. Fit with probability=True, which learns them "
            "from held-out examples."
        )
    if hasattr(model, "classes_") and not hasattr(model, "calibrated_"):
        raise AttributeError(
            "there is no predict_proba: probability was set after the fit, or the classifier was loaded from a file, "
            "which holds what decides and no probabilities. Fit it."
        )
    return True


class WithProbabilities:
    """A classifier that has probabilities where they were asked for."""

    probability: Any
    calibrated_: Any

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Float[Array, "n classes"]:
        """Return the probability of each class for each row of X, shape (n, classes), in the order of `classes_`.

        There is none unless the classifier was fitted with probability=True. `predict` goes by f, and may differ where
        the probabilities are near each other.
        """
        check_is_fitted(self)
        checked: Any = self
        return self.calibrated_.predict_proba(checked._checked(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Float[Array, "n classes"]:
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))
