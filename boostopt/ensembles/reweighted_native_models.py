"""Models of other libraries with new weights: the members keep their splits, and their leaves or weights change."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from boostopt._utils.array_types import HypothesisVector, Int
from boostopt.ensembles.boosted_tree_members import (
    LEAF_VALUES,
    TREE_HEAD,
    HistogramTrees,
    LightGBMTrees,
    TreeValues,
    XGBoostTrees,
    library_trees,
    split_lightgbm_text,
)
from boostopt.ensembles.member_hypotheses import NegatedHypothesis
from boostopt.ensembles.members import Members
from boostopt.errors import OptionError
from boostopt.oracles.learners.classifier_hypotheses import class_name

SUPPORTED_LIBRARIES = (
    "LGBMClassifier, XGBClassifier, HistGradientBoostingClassifier and AdaBoostClassifier of two classes"
)
"""The models that take new weights, in words."""


def native_model(members: Members, numbers: Int[Any, " t"], w: HypothesisVector) -> Any:
    """Return a model of the library of an ensemble, with new weights of its members and without those of weight 0.

    Parameters
    ----------
    members
        The t members, with the weights that they have in the whole ensemble.
    numbers
        The numbers of these members in the ensemble, shape (t,).
    w
        Their new weights, shape (t,).

    Raises
    ------
    OptionError
        The ensemble is of another kind, or its library does not allow these weights.
    """
    from sklearn.ensemble import AdaBoostClassifier

    source = members.source
    if not w.any():
        raise OptionError("a native model needs a member with a weight; all weights are 0. Raise nu.")
    active, w = np.flatnonzero(w), w / np.abs(w).sum()
    if isinstance(source, AdaBoostClassifier):
        return _adaboost_with_weights(source, numbers[active], w[active], members.select(active))
    trees = None if source is None else library_trees(source, 0)
    if trees is None or trees.n_classes > 1:
        if source is None:
            kind, advice = "members of a run, a MarginBoostClassifier or a list", "`save` for stumps and features, or "
        else:
            kind, advice = class_name(source), ""
        raise OptionError(
            f"a native model must be one of {SUPPORTED_LIBRARIES}; got {kind}. Use `predict` of the "
            f"result, and {advice}pickle to store it."
        )
    # A member is a tree over its largest leaf, so a tree with the new weight is the tree times w / (its own weight).
    factors = np.zeros(len(trees.leaves) + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors[numbers[active]] = np.where(members.weights[active] > 0, w[active] / members.weights[active], 0.0)
    return _writer(trees)(trees, factors[: len(trees.leaves)], float(factors[len(trees.leaves)]))


Writer = Callable[[Any, HypothesisVector, float], Any]


def _writer(trees: TreeValues) -> Writer:
    """Return the function that writes the trees of a library, times factors."""
    writers: dict[type[TreeValues], Writer] = {
        LightGBMTrees: _lightgbm_with_factors,
        XGBoostTrees: _xgboost_with_factors,
        HistogramTrees: _histogram_with_factors,
    }
    return writers[type(trees)]


def _adaboost_with_weights(source: Any, numbers: Int[Any, " k"], w: HypothesisVector, members: Members) -> Any:
    signed = np.where([isinstance(h, NegatedHypothesis) for h in members.hypotheses], -w, w)
    if (signed < 0).any():
        raise OptionError(
            "AdaBoostClassifier divides by the sum of its weights, so none may be negative; got one of "
            f"{signed.min():.6g}. Pass reflexive=False."
        )
    model = copy.copy(source)
    model.estimators_ = [source.estimators_[number] for number in numbers.tolist()]
    model.estimator_weights_ = signed
    model.estimator_errors_ = np.asarray(source.estimator_errors_)[numbers]
    return model


def _histogram_with_factors(trees: HistogramTrees, factors: HypothesisVector, constant: float) -> Any:
    model, predictors = copy.copy(trees.model), list[Any]()
    for tree, factor in zip(trees.predictors, factors.tolist(), strict=True):
        if factor != 0.0:
            scaled = copy.deepcopy(tree)
            scaled.nodes["value"] *= factor
            predictors.append([scaled])
    model._predictors = predictors
    model._baseline_prediction = np.asarray(trees.model._baseline_prediction) * constant
    return model


def _lightgbm_with_factors(trees: LightGBMTrees, factors: HypothesisVector, constant: float) -> Any:
    source = trees.model
    head, texts, rest = split_lightgbm_text(source.booster_.model_to_string(num_iteration=trees.n_iterations))
    if "average_output" in head.splitlines():
        raise OptionError('a native LightGBM model must be a sum of trees; got boosting_type="rf", a mean of trees.')
    # Without the sizes of the texts, LightGBM reads the trees one after another.
    lines = [line for line in head.splitlines() if not line.startswith("tree_sizes=")]
    scaled = [
        _scaled_lightgbm_tree(text, factor) for text, factor in zip(texts, factors.tolist(), strict=True) if factor
    ]
    body = "".join(f"\n{TREE_HEAD}{number}\n{text}" for number, text in enumerate(scaled))
    model = copy.copy(source)
    model._Booster = import_module("lightgbm").Booster(model_str="\n".join(lines) + "\n" + body + rest)
    model._best_iteration = -1
    model._n_estimators = len(scaled)
    return model


def _scaled_lightgbm_tree(text: str, factor: float) -> str:
    """Return the text of a tree without its number, with leaves times a factor."""
    lines = text.splitlines()[1:]
    for position, line in enumerate(lines):
        name, mark, numbers = line.partition("=")
        if f"{name}{mark}" == LEAF_VALUES or name == "internal_value":
            lines[position] = f"{name}=" + " ".join(repr(factor * float(number)) for number in numbers.split())
        elif name == "shrinkage":
            lines[position] = f"{name}={factor * float(numbers)!r}"
    return "\n".join([*lines, ""])


def _xgboost_with_factors(trees: XGBoostTrees, factors: HypothesisVector, constant: float) -> Any:
    model = trees.model
    document = json.loads(bytes(model.get_booster().save_raw("json")))
    forest = document["learner"]["gradient_booster"]["model"]
    active = np.flatnonzero(factors)
    if not len(active):
        raise OptionError("a native XGBoost model needs a tree with a weight; only the constant has one. Raise nu.")
    # XGBoost adds its constant as it is, so the first tree holds the change.
    shifts = [(constant - 1.0) * trees.initial_score(), *[0.0] * (len(active) - 1)]
    scaled = [forest["trees"][number] for number in trees.tree_numbers[active].tolist()]
    for number, (tree, factor, shift) in enumerate(zip(scaled, factors[active].tolist(), shifts, strict=True)):
        leaves = np.asarray(tree["left_children"]) == -1
        values = np.where(leaves, factor * np.asarray(tree["split_conditions"]) + shift, tree["split_conditions"])
        tree["split_conditions"], tree["id"] = values.tolist(), number
        tree["base_weights"] = (factor * np.asarray(tree["base_weights"]) + shift).tolist()
    forest["trees"], forest["tree_info"] = scaled, [0] * len(scaled)
    forest["iteration_indptr"] = list(range(len(scaled) + 1))
    forest["gbtree_model_param"] |= {"num_trees": str(len(scaled)), "num_parallel_tree": "1"}
    attributes: dict[str, Any] = document["learner"].get("attributes", {})
    for name in ("best_iteration", "best_score"):
        attributes.pop(name, None)
    copied = type(model)(**model.get_params())
    copied.load_model(bytearray(json.dumps(document).encode()))
    return copied
