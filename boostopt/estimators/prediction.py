"""The prediction methods of classifiers, from the attributes that a fit or a file has set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from boostopt._utils.array_types import Array, Float, HypothesisVector, is_dask_collection
from boostopt._utils.validation import check_integer, check_optional
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.run.combined_hypothesis import predicted_classes, weighted_vote
from boostopt.boosting.run.run import Run
from boostopt.data.source_examples import numbered_features
from boostopt.errors import OptionError
from boostopt.estimators.binary_model import BinaryModel, describe_weights, stack_columns
from boostopt.estimators.feature_importances import feature_importances
from boostopt.estimators.fitted_attributes import fitted_attribute
from boostopt.estimators.numeric_columns import validated_features
from boostopt.estimators.training.dask_collections import predict_lazily
from boostopt.estimators.training.one_vs_rest import positive_class_index
from boostopt.oracles import Hypothesis, MatrixColumn, evaluate

NU_SCORES = (
    'A fit with nu="auto" sets it, and a file of save does not hold it. Read it after such a fit, or pickle the '
    "classifier."
)
"""The reason why a classifier may have no scores of nu."""


class BoostedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that predicts by weighted hypotheses, with separate hypotheses for each of more than two classes."""

    classes_: npt.NDArray[Any]
    runs_: tuple[Run, ...] = fitted_attribute(
        "A file or a pickle holds no runs. Pickle a fit with store_training=True, or save each run: run.save(path)."
    )
    margins_: Any = fitted_attribute(
        "A file, a pickle or a fit to rows on a cluster holds no margins of the training examples. Pickle a fit with "
        "store_training=True, or multiply decision_function(X) by the labels -1 and 1."
    )
    diagnosis_: Any = fitted_attribute(
        "A file of save does not hold it. Read it after the fit, or pickle the classifier."
    )
    nus_: Any = fitted_attribute(NU_SCORES)
    nu_scores_: Any = fitted_attribute(NU_SCORES)
    validation_score_: Any = fitted_attribute(
        "A fit with early_stopping=True sets it, and a file of save does not hold it. Read it after such a fit, or "
        "pickle the classifier."
    )
    sigmoids_: Any = fitted_attribute("A fit with probability=True sets it. Fit the classifier again.")
    _scorers: tuple[BinaryModel, ...]

    def decision_function(self, X: Any) -> Any:
        """Return f(x) in [-1, 1]: shape (n,), positive for the second of two classes; with more, shape (n, classes).

        For a `dask.array` or a `dask.dataframe`, the result is a lazy collection of the same kind.
        """
        if is_dask_collection(X):
            check_is_fitted(self)
            columns = self.classes_ if len(self.classes_) > 2 else None
            sample_output = np.zeros(1 if columns is None else (1, len(columns)))
            return predict_lazily(self, "decision_function", X, columns, sample_output)
        return self._decision_values(self._validate_features(X))

    def predict(self, X: Any) -> Any:
        """Return the label of each row of X, shape (n,).

        With two classes, the sign of f(x) decides; where f(x) = 0, the label is that of the class with more training
        examples. With more than two classes, the class with the largest f(x) decides. For a `dask.array` or a
        `dask.dataframe`, the result is a collection of the same kind.
        """
        if is_dask_collection(X):
            check_is_fitted(self)
            return predict_lazily(self, "predict", X, None, self.classes_)
        return self._predict_labels(self.decision_function(X))

    def staged_decision_function(self, X: Any) -> Iterator[Float[Array, " n *classes"]]:
        """Yield the decision function after each round; runs that have ended keep their last stage.

        If a further fit needed no round, the only stage is the classifier itself.

        Raises
        ------
        OptionError
            There are no weights of earlier rounds: the formulation is corrective and `max_iter` is above 1000, or the
            classifier was loaded from a file, or from a pickle without `store_training`.
        """
        features = self._validate_features(X)
        if not hasattr(self, "runs_"):
            raise OptionError(
                "stages need the runs of a fit; this one came from a file or a pickle, which holds the last "
                "weights only. Fit it with store_training=True, or save the run: run_.save(path)."
            )
        return staged_decision_function(self.runs_, features)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the predicted labels after each round: see `staged_decision_function`."""
        return map(self._predict_labels, self.staged_decision_function(X))

    @property
    def run_(self) -> Run:
        """The run, with two classes."""
        check_is_fitted(self)
        if not hasattr(self, "runs_"):
            raise AttributeError(
                "run_ is the run of a fit; this one came from a file or a pickle, which holds no run. Fit it "
                "with store_training=True, or save the run: run_.save(path)."
            )
        if len(self.classes_) > 2:
            raise AttributeError(
                f"run_ needs two classes; there are {len(self.classes_)}. Use runs_, which has one run for each class."
            )
        return self.runs_[0]

    @property
    def certificate_(self) -> ClassCertificate | list[ClassCertificate]:
        """The interval of the best soft margin or value over the class; a list with more than two classes."""
        check_is_fitted(self)
        certificates = [scorer.certificate for scorer in self._scorers if scorer.certificate is not None]
        if len(certificates) < len(self._scorers):
            raise AttributeError(
                f"certificate_ needs a bound over the whole class of hypotheses; {self._scorers[0].formulation} has no "
                "such bound. Use the certificate of a run, which is about the collected hypotheses."
            )
        return certificates[0] if len(certificates) == 1 else certificates

    @property
    def oracle_(self) -> str:
        """The class of hypotheses in words; with more than two classes, the class of the first run."""
        check_is_fitted(self)
        return self._scorers[0].oracle

    @property
    def feature_importances_(self) -> Float[Array, " features"]:
        """The share of each feature in the spread of the votes, shape (features,); with more classes, the mean.

        The spread of a feature is the standard deviation, over the training examples with their weights, of the sum of
        the votes that use this feature alone. So constants do not count, opposite hypotheses cancel, and a hypothesis
        that has the same value on nearly all examples counts little. For model files of earlier versions, the shares
        are those of the weights |w| after opposite hypotheses have cancelled. The base must be stumps, features, or a
        classifier with feature_importances_ or coef_, which divide the spread of its votes.
        """
        check_is_fitted(self)
        features: Any = vars(self)["n_features_in_"]
        return feature_importances(self._scorers, features)

    def in_words(self, max_hypotheses: int | None = 10) -> list[str]:
        """Return the hypotheses with the largest weights in words, each after its weight, features by their names.

        The weights are those in f: a hypothesis and its negation share one weight, and so do all constants. A
        hypothesis votes for the second of two classes if its words are true, and for the first otherwise. With more
        than two classes, each line begins with the label of a class: the hypothesis votes for or against this class.

        Parameters
        ----------
        max_hypotheses
            The number of hypotheses of each class, at least 1; None for all with a weight.
        """
        check_is_fitted(self)
        max_hypotheses = check_optional(check_integer, "max_hypotheses", max_hypotheses, 1)
        attributes: Any = vars(self)
        numbers = numbered_features(attributes["n_features_in_"], attributes.get("zero_based_"))
        names = list(attributes.get("feature_names_in_", numbers))
        lines = list[str]()
        for label, scorer in zip(self.classes_[-len(self._scorers) :].tolist(), self._scorers, strict=True):
            prefix = f"{label!r}: " if len(self._scorers) > 1 else ""
            lines += [
                f"{prefix}{line}" for line in describe_weights(scorer.hypotheses, scorer.w, names, max_hypotheses)
            ]
        return lines

    def weighted_hypotheses(self, label: Any = None) -> tuple[Sequence[Hypothesis], HypothesisVector]:
        """Return the t hypotheses, and their weights, shape (t,): f is their weighted sum over the sum of the |w|.

        Parameters
        ----------
        label
            With more than two classes, the class that the hypotheses separate from the rest.

        Raises
        ------
        OptionError
            There are more than two classes and no label, or the label is none of the classes.
        """
        check_is_fitted(self)
        index = positive_class_index(self.classes_, label)
        scorer = self._scorers[0 if len(self._scorers) == 1 else index]
        return scorer.hypotheses, scorer.w

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _validate_features(self, X: Any) -> Any:
        """Return checked features."""
        check_is_fitted(self)
        return validated_features(self, X)

    def _decision_values(self, features: Any) -> Float[Array, " n *classes"]:
        """Return the decision function of checked features."""
        return stack_columns(scorer.decision_function(features) for scorer in self._scorers)

    def _predict_labels(self, f: Float[Array, " n *classes"]) -> npt.NDArray[Any]:
        """Return the labels of values of the decision function."""
        if f.ndim == 2:
            return self.classes_[f.argmax(axis=1)]
        return self.classes_[(predicted_classes(f, "majority", self._scorers[0].majority) > 0).astype(np.int64)]


def staged_decision_function(runs: Sequence[Run], X: Any) -> Iterator[Float[Array, " n *classes"]]:
    """Yield the decision function after each round; runs that have ended keep their last stage.

    Raises
    ------
    OptionError
        A run does not store the weights of its rounds.
    """
    stage: list[Any] = [None] * len(runs)
    for values in zip_longest(*(_run_stages(run, X) for run in runs)):
        stage = [previous if value is None else value for previous, value in zip(stage, values, strict=True)]
        yield stack_columns(stage)


def _run_stages(run: Run, X: Any) -> Iterator[Float[Array, " n"]]:
    """Yield f(x) for each row of X after each round; the last one has the final weights.

    Each hypothesis is evaluated once.
    """
    history = run.record.history
    if not history.is_enabled:
        raise OptionError(
            "stages need the weights of every round; a corrective run with a max_iter above 1000 does not store them. "
            "Set max_iter to at most 1000."
        )
    H = np.column_stack(list(evaluate(run.hypotheses, X)))
    columns = [MatrixColumn(q) for q in range(H.shape[1])]
    for iterate in history.rounds[:-1]:
        yield weighted_vote(columns[: iterate.t], iterate.w.full, H)
    yield run.decision_function(X)
