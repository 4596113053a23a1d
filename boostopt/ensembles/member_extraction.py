"""The members and weights of fitted ensembles, for each type of ensemble that boostopt supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, HypothesisVector, Int
from boostopt._utils.validation import check_choice
from boostopt.boosting.run.run import Run
from boostopt.ensembles.boosted_tree_members import LibraryTree, is_lightgbm, is_xgboost, library_trees
from boostopt.ensembles.member_hypotheses import (
    BinaryVoter,
    ConstantVoter,
    MemberHypothesis,
    OneVsRestVoter,
    ScaledTree,
    call_without_name_warnings,
    validate_values,
)
from boostopt.ensembles.members import Members
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.estimators.prediction import BoostedClassifier
from boostopt.estimators.training.one_vs_rest import positive_class_index
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.learners.classifier_hypotheses import VALUE_METHODS, class_name

SUPPORTED_ENSEMBLES = (
    "AdaBoostClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier, "
    "ExtraTreesClassifier, BaggingClassifier, VotingClassifier, LGBMClassifier, XGBClassifier, a "
    "MarginBoostClassifier, a pipeline that ends in one of them, a Run, or a list of fitted classifiers"
)
"""The supported types of ensembles, in words."""


@dataclass(frozen=True, eq=False)
class PositiveClass:
    """The class of an ensemble that the members separate from the others.

    Attributes
    ----------
    classes
        The labels of the ensemble, ascending, shape (K,).
    index
        The index of the positive class; the second one of two classes.
    """

    classes: Array
    index: int

    @property
    def labels(self) -> Array | None:
        """The negative and the positive label of two classes; None with more classes, where y holds -1 and 1."""
        return self.classes if len(self.classes) == 2 else None

    def binary_voter(self, model: Any, labels_are_codes: bool, features: Int[Array, " n"] | None = None) -> BinaryVoter:
        """Return a fitted classifier of these labels, or of their indices, as a classifier of -1 and 1."""
        labels = range(len(self.classes)) if labels_are_codes else self.classes
        if len(labels) == 2:
            return BinaryVoter(model, (labels[0], labels[1]), features)
        return OneVsRestVoter(model, (None, labels[self.index]), features)


def members_of(
    ensemble: Any, values: str | None = None, weights: npt.ArrayLike | None = None, label: Any = None
) -> Members:
    """Return the members of a fitted ensemble as hypotheses, with the ensemble's own weights.

    Parameters
    ----------
    ensemble
        A fitted ensemble of two classes: scikit-learn's AdaBoostClassifier, GradientBoostingClassifier,
        HistGradientBoostingClassifier, RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier or
        VotingClassifier; LightGBM's LGBMClassifier; XGBoost's XGBClassifier; a `MarginBoostClassifier`; a pipeline that
        ends in one; a `Run`; a list of fitted classifiers of the same two labels, or of hypotheses.
    values
        The method that gives the values h(x) of a classifier: "predict" (-1 or 1, the default), "predict_proba"
        (2p - 1) or "decision_function" (clipped to [-1, 1]). Leave it out for gradient boosting and runs, whose members
        have their own values. For a regression tree of gradient boosting, h(x) is its share of the decision function
        divided by its largest absolute leaf, and its weight is this leaf times the learning rate. The initial constant
        is a member too.
    weights
        The weights of the classifiers in a list, shape (t,), 1 by default. A member with a negative weight enters as
        its negation.
    label
        The class for which h(x) = 1, if the ensemble has more than two classes. The members separate it from the rest,
        they then have no labels, and y holds -1 and 1.

    Raises
    ------
    ProblemError
        The ensemble is of another kind, is not fitted, does not have two classes, has no member, or has weights that
        are not finite; or its members cannot be evaluated one by one.
    OptionError
        The values are unknown; or values or weights are passed although the ensemble has its own; or the label is none
        of the ensemble's classes.
    """
    if values is not None:
        values = check_choice("kind of values", values, VALUE_METHODS)
    if isinstance(ensemble, list | tuple):
        return _members_of_list(list(cast(Sequence[Any], ensemble)), values, weights, label)
    if weights is not None:
        raise OptionError(
            f"weights must belong to a list of classifiers; {class_name(ensemble)} has its own weights. Leave out "
            "weights, or pass a list."
        )
    if isinstance(ensemble, Run):
        return _members_of_hypotheses(ensemble.hypotheses, values, ensemble.w)
    names = getattr(ensemble, "feature_names_in_", None)
    if isinstance(ensemble, BoostedClassifier) and hasattr(ensemble, "classes_"):
        positive_class = _positive_class(ensemble, label)
        hypotheses, w = ensemble.weighted_hypotheses(ensemble.classes_[positive_class.index])
        members = _members_of_hypotheses(hypotheses, values, w)
        return replace(members, labels=positive_class.labels, feature_names=names)
    from sklearn.pipeline import Pipeline

    if isinstance(ensemble, Pipeline):
        last = members_of(ensemble[-1], values, label=label)
        return last if len(ensemble) == 1 else replace(last, feature_names=names, preprocessing=ensemble[:-1])
    make = _extractor(ensemble)
    positive_class = _positive_class(ensemble, label)
    return replace(make(ensemble, values, positive_class), feature_names=names, source=ensemble)


def is_supported_ensemble(model: Any) -> bool:
    """Return whether `members_of` supports the type of a model, fitted or not."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        return is_supported_ensemble(model[-1])
    is_supported = isinstance(model, Run | list | tuple) or hasattr(type(model), "run_")
    return is_supported or _find_extractor(model) is not None


Maker = Callable[[Any, str | None, PositiveClass], Members]


def _extractor(ensemble: Any) -> Maker:
    """Return the function that extracts the members of an ensemble of this type."""
    if make := _find_extractor(ensemble):
        return make
    raise ProblemError(
        f"expected a fitted ensemble: {SUPPORTED_ENSEMBLES}; got {short_repr(ensemble)}. Pass single "
        "classifiers as a list."
    )


def _find_extractor(ensemble: Any) -> Maker | None:
    """Return the function that extracts the members of an ensemble of this type; None for an unsupported type."""
    from sklearn import ensemble as kinds

    averages = kinds.RandomForestClassifier, kinds.ExtraTreesClassifier, kinds.BaggingClassifier
    makers: Sequence[tuple[type[Any] | tuple[type[Any], ...], Maker]] = (
        (kinds.AdaBoostClassifier, _members_of_adaboost),
        (kinds.GradientBoostingClassifier, _members_of_gradient_boosting),
        (averages, _members_of_average),
        (kinds.VotingClassifier, _members_of_voting),
        (kinds.HistGradientBoostingClassifier, _members_of_library),
    )
    if is_lightgbm(ensemble) or is_xgboost(ensemble):
        return _members_of_library
    return next((make for kind, make in makers if isinstance(ensemble, kind)), None)


def class_labels(ensemble: Any) -> Array:
    """Return the labels of a fitted ensemble, ascending, shape (K,).

    Raises
    ------
    ProblemError
        The ensemble is not fitted, or has no labels, as a run or a list of hypotheses.
    """
    from sklearn.pipeline import Pipeline

    if isinstance(ensemble, Pipeline):
        return class_labels(ensemble[-1])
    if isinstance(ensemble, list | tuple):
        models = list(cast(Sequence[Any], ensemble))
        return np.unique(np.concatenate([_member_labels(model) for model in models])) if models else np.array([0, 1])
    classes = getattr(ensemble, "classes_", None)
    if classes is None and isinstance(ensemble, Run):
        raise ProblemError(
            "an ensemble must know the labels of its classes; a run has none, only -1 and 1. Pass the run to "
            "`reweight`, or the classifier that was fitted."
        )
    if classes is None:
        raise ProblemError(
            f"an ensemble and its members must be fitted; {class_name(ensemble)} has no classes. Call fit(X, y) first."
        )
    if isinstance(classes, list):  # of several outputs
        raise ProblemError(
            f"an ensemble must separate classes of one output; {class_name(ensemble)} has "
            f"{len(cast(list[Any], classes))} outputs. Fit one ensemble for each output."
        )
    return np.asarray(classes)


def _positive_class(ensemble: Any, label: Any) -> PositiveClass:
    """Return the positive class of an ensemble by its label; without a label, the ensemble must have two classes."""
    classes = class_labels(ensemble)
    if label is None and classes.shape != (2,):
        labels = str(np.asarray(classes, dtype=object).tolist())[:100]
        raise ProblemError(
            f"an ensemble must separate two classes; {class_name(ensemble)} was fitted to {labels}. With more than two "
            "classes, call reweight_one_vs_rest, or members_of with label=."
        )
    return PositiveClass(classes, positive_class_index(classes, label))


def _members_of_adaboost(ensemble: Any, values: str | None, positive_class: PositiveClass) -> Members:
    models = list(ensemble.estimators_)
    # There is room for all requested rounds: a run may have ended before.
    weights = np.asarray(ensemble.estimator_weights_)[: len(models)]
    return Members.from_weights(
        _member_hypotheses(models, values, positive_class, labels_are_codes=False), weights, positive_class.labels
    )


def _members_of_average(ensemble: Any, values: str | None, positive_class: PositiveClass) -> Members:
    models = list(
        ensemble.estimators_
    )  # fitted to class indices; in bagging, each estimator is fitted to its own subset of the features
    features = getattr(ensemble, "estimators_features_", None)
    hypotheses = _member_hypotheses(models, values, positive_class, labels_are_codes=True, features=features)
    return Members.from_weights(hypotheses, np.ones(len(models)), positive_class.labels)


def _members_of_voting(ensemble: Any, values: str | None, positive_class: PositiveClass) -> Members:
    models = list(ensemble.estimators_)  # fitted to class indices, without the dropped estimators
    votes = [1.0] * len(ensemble.estimators) if ensemble.weights is None else list(ensemble.weights)
    weights = [w for w, (_, model) in zip(votes, ensemble.estimators, strict=True) if not isinstance(model, str)]
    return Members.from_weights(
        _member_hypotheses(models, values, positive_class, labels_are_codes=True), weights, positive_class.labels
    )


def _members_of_gradient_boosting(ensemble: Any, values: str | None, positive_class: PositiveClass) -> Members:
    validate_values(values, "decision_function", class_name(ensemble))
    if ensemble.init not in (None, "zero"):
        raise ProblemError(
            "gradient boosting must start from a constant, because its initial guess becomes a member with bounded "
            f'values; got init={ensemble.init!r}. Fit it with init=None or "zero".'
        )
    k = 0 if positive_class.labels is not None else positive_class.index
    trees = [ScaledTree(tree) for tree in ensemble.estimators_[:, k]]
    scales = [tree.scale for tree in trees]
    first = 0.0 if ensemble.init is not None else _initial_value(ensemble, k)
    models: list[Any] = [*trees, *([] if ensemble.init is not None else [ConstantVoter(1 if first >= 0 else -1)])]
    names = [*(class_name(tree.tree) for tree in trees), "constant"]
    hypotheses = [MemberHypothesis(q, names[q], "decision_function", model) for q, model in enumerate(models)]
    weights: HypothesisVector = np.array([*(ensemble.learning_rate * scale for scale in scales), abs(first)])
    return Members.from_weights(hypotheses, weights[: len(models)], positive_class.labels)


def _members_of_library(ensemble: Any, values: str | None, positive_class: PositiveClass) -> Members:
    validate_values(values, "decision_function", class_name(ensemble))
    trees = library_trees(ensemble, 0 if positive_class.labels is not None else positive_class.index)
    if trees is None:
        raise ProblemError(
            f"expected a classifier of a gradient boosting library; got {class_name(ensemble)}. Pass such a one."
        )
    models: list[Any] = [LibraryTree(trees, q) for q in range(len(trees.leaves))]
    names, weights = [f"{class_name(ensemble)} tree"] * len(models), trees.scales
    if (first := trees.initial_score()) != 0.0:
        models.append(ConstantVoter(1 if first > 0 else -1))
        names, weights = [*names, "constant"], np.append(weights, abs(first))
    hypotheses = [MemberHypothesis(q, names[q], "decision_function", model) for q, model in enumerate(models)]
    return Members.from_weights(hypotheses, weights, positive_class.labels)


def _initial_value(ensemble: Any, k: int) -> float:
    """Return the initial constant of gradient boosting: its decision function without the trees of column k."""
    X = np.zeros((1, ensemble.n_features_in_))
    value = float(call_without_name_warnings(ensemble, "decision_function", X).ravel()[k])
    return value - ensemble.learning_rate * sum(float(tree.predict(X)[0]) for tree in ensemble.estimators_[:, k])


def _members_of_list(models: list[Any], values: str | None, weights: npt.ArrayLike | None, label: Any) -> Members:
    list_weights = np.ones(len(models)) if weights is None else weights
    if models and all(isinstance(model, Hypothesis) for model in models):
        return _members_of_hypotheses(models, values, list_weights)
    classes = class_labels(models)
    if classes.shape != (2,) and label is None:
        raise ProblemError(
            f"the classifiers of a list must have the same two labels; got {len(classes)}: "
            f"{str(classes.tolist())[:100]}. Fit them to the same y, or call reweight_one_vs_rest."
        )
    positive_class = PositiveClass(classes, positive_class_index(classes, label))
    return Members.from_weights(
        _member_hypotheses(models, values, positive_class, labels_are_codes=False), list_weights, positive_class.labels
    )


def _member_labels(model: Any) -> Array:
    """Return all labels of the classifiers in a list; a bootstrap sample may contain only some of them."""
    if not hasattr(model, "predict"):
        raise ProblemError(
            f"a list must hold fitted classifiers only, or hypotheses only; got {short_repr(model)}. Remove it."
        )
    return class_labels(model)


def _member_hypotheses(
    models: Sequence[Any],
    values: str | None,
    positive_class: PositiveClass,
    labels_are_codes: bool,
    features: Sequence[Any] | None = None,
) -> list[MemberHypothesis]:
    """Return the fitted classifiers of an ensemble as hypotheses; `labels_are_codes` if they predict class indices."""
    subsets: Sequence[Any] = [None] * len(models) if features is None else features
    return [
        MemberHypothesis(
            q,
            class_name(model),
            values or VALUE_METHODS[0],
            positive_class.binary_voter(model, labels_are_codes, subset),
        )
        for q, (model, subset) in enumerate(zip(models, subsets, strict=True))
    ]


def _members_of_hypotheses(hypotheses: Sequence[Hypothesis], values: str | None, weights: npt.ArrayLike) -> Members:
    if values is not None:
        raise OptionError(f"hypotheses have their own values; got values={values!r}. Leave out values.")
    if stranger := next((h for h in hypotheses if h.class_labels is not None or h.target_scale is not None), None):
        kind = "numbers" if stranger.class_labels is None else "each of several classes"
        raise ProblemError(
            f"members must have values for the classes -1 and 1; got {stranger}, with values for {kind}. Run boost "
            "with its oracle, which finds new weights."
        )
    return replace(Members.from_weights(list(hypotheses), weights, None), has_boostopt_hypotheses=True)
