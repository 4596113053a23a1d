"""RBF networks with adaptive centres, as a classifier with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_positive
from boostopt.estimators.numeric_columns import validated_examples, validated_features
from boostopt.estimators.training.training_data import merge_examples
from boostopt.oracles.rbf.network_fitting import LAMBDA_ADVICE, RBFSettings, fit_rbf
from boostopt.oracles.rbf.radial_basis_network import RBFNetwork


@dataclass(eq=False, repr=False)
class RBFNetworkClassifier(ClassifierMixin, BaseEstimator):
    """A classifier by an RBF network: the fit determines centres, widths and output weights together.

    The fit minimizes the squared error to the targets -1 and 1. With more than two classes, each class has an
    output, with the target 1 on its examples and -1 on the others. All outputs share the centres. Equal examples are
    merged first.

    Parameters
    ----------
    K
        The number of centres, at least 1. It is reduced to the number of different examples if that is smaller.
    iterations
        The largest number of steps of conjugate gradients, at least 0.
    ridge
        The regularization of the output weights w, positive: lambda in the term lambda / (2N) |w|² of the error.
    random_state
        The seed of the first centres, as in scikit-learn; None for a start without random numbers.

    Attributes
    ----------
    classes_
        The labels, ascending, shape (classes,).
    network_
        The fitted `RBFNetwork`. It has one output for two classes, and one output for each class with more.
    n_features_in_
        The number of features.
    feature_names_in_
        The names of the features, if X had any.

    References
    ----------
    Raetsch, Onoda, Mueller 2001, appendix D.
    """

    # Any, and not int and float: scikit-learn sets parameters to any value, and fit checks them.
    K: Any = 20
    iterations: Any = 10
    ridge: Any = 1e-6
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RBFNetworkClassifier:
        """Fit the network.

        Parameters
        ----------
        X
            Features, shape (N, features), finite and dense. All features share one width, so scale them first.
        y
            Labels, shape (N,), at least two different ones.
        sample_weight
            Multiplicities, non-negative, shape (N,), 1 by default: see `boostopt.estimators`.

        Raises
        ------
        ValueError
            X, y or the weights are not valid examples, or a parameter is out of its range.
        """
        settings = RBFSettings(self.K, self.iterations, check_positive("ridge", self.ridge, advice=LAMBDA_ADVICE))
        features, labels = validated_examples(self, X, y, accept_sparse=False)
        examples = merge_examples(features, labels, sample_weight).merged()
        self.classes_: npt.NDArray[Any] = examples.classes
        codes = examples.codes
        # Two classes need one output, because the output of the other class would be the negation.
        is_positive = codes == 1 if len(self.classes_) == 2 else codes[:, np.newaxis] == np.arange(len(self.classes_))
        targets = np.where(is_positive, 1.0, -1.0)
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        self.network_: RBFNetwork = fit_rbf(examples.X, targets, examples.c, settings, seed)
        return self

    def decision_function(self, X: Any) -> Float[Array, " n *classes"]:
        """Return the outputs of the network: shape (n,), positive for the second of two classes; else (n, classes)."""
        check_is_fitted(self)
        return self.network_.value(validated_features(self, X, accept_sparse=False))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label with the largest output for each row of X, shape (n,)."""
        outputs = self.decision_function(X)
        return self.classes_[outputs.argmax(axis=1) if outputs.ndim == 2 else (outputs > 0).astype(np.int64)]
