"""The regression trees of LightGBM, XGBoost and HistGradientBoostingClassifier as members of an ensemble.

Each library adds the leaves of its trees, so a tree is a hypothesis of the size of its largest leaf. Trees of these
libraries do not predict one by one. `TreeValues` therefore evaluates all trees of a model at once, with the reading of
missing values and categories of the library itself.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.ensembles.member_hypotheses import MemberInput
from boostopt.errors import ProblemError
from boostopt.oracles.learners.classifier_hypotheses import class_name

LEAF_VALUES, TREE_HEAD, TREES_END = "leaf_value=", "Tree=", "end of trees"
"""The marks of leaves, of the first line of a tree, and of the end of all trees, in the text of a LightGBM model."""


def is_lightgbm(model: Any) -> bool:
    """Return whether a model is LightGBM's classifier, without importing it."""
    return type(model).__module__.startswith("lightgbm") and hasattr(type(model), "booster_")


def is_xgboost(model: Any) -> bool:
    """Return whether a model is XGBoost's classifier, without importing it."""
    return type(model).__module__.startswith("xgboost") and hasattr(type(model), "get_booster")


@dataclass(frozen=True, eq=False)
class TreeValues(ABC):
    """The trees of one class of a fitted model, with the values of their leaves.

    Attributes
    ----------
    model
        The fitted classifier.
    k
        The index of the class whose scores the trees add up to.
    """

    model: Any
    k: int

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features that the model was fitted to, None without names."""
        return getattr(self.model, "feature_names_in_", None)

    @property
    def n_classes(self) -> int:
        """The number of sums of trees: 1 for two classes."""
        classes = len(self.model.classes_)
        return 1 if classes == 2 else classes

    @abstractmethod
    def read_leaves(self) -> Sequence[Float[Array, " leaves"]]:
        """Return the values of the leaves of each tree of the class, as the model adds them."""

    @abstractmethod
    def initial_score(self) -> float:
        """Return the score that the model begins with."""

    @abstractmethod
    def values(self, X: Any) -> Float[Array, "n t"]:
        """Return the leaf of each row in each tree."""

    @cached_property
    def leaves(self) -> Sequence[Float[Array, " leaves"]]:
        """The values of the leaves of each tree of the class."""
        return self.read_leaves()

    @cached_property
    def scales(self) -> Float[Array, " t"]:
        """The largest absolute leaf of each tree."""
        return np.array([float(np.abs(leaves).max()) for leaves in self.leaves])


class LightGBMTrees(TreeValues):
    """The trees of LightGBM's classifier. The first tree contains the constant."""

    @property
    def n_iterations(self) -> int:
        """The number of iterations with which the model predicts."""
        best = self.model.best_iteration_
        return int(best) if best and best > 0 else int(self.model.booster_.current_iteration())

    def read_leaves(self) -> Sequence[Float[Array, " leaves"]]:
        _, trees, _ = split_lightgbm_text(self.model.booster_.model_to_string(num_iteration=self.n_iterations))
        if any("is_linear=1" in tree.splitlines() for tree in trees):
            raise ProblemError(
                f"the trees of {class_name(self.model)} must have numbers as leaves; got linear leaves, whose values "
                "have no bound. Fit it with linear_tree=False."
            )
        lines = [next(line for line in tree.splitlines() if line.startswith(LEAF_VALUES)) for tree in trees]
        values = [np.array(line.removeprefix(LEAF_VALUES).split(), dtype=np.float64) for line in lines]
        return values[self.k :: self.n_classes]

    def initial_score(self) -> float:
        return 0.0

    def values(self, X: Any) -> Float[Array, "n t"]:
        numbers = np.asarray(self.model.predict(X, pred_leaf=True, num_iteration=self.n_iterations))
        numbers = numbers.reshape(len(numbers), -1)[:, self.k :: self.n_classes]
        return np.column_stack([leaves[numbers[:, q]] for q, leaves in enumerate(self.leaves)])


class XGBoostTrees(TreeValues):
    """The trees of XGBoost's classifier, with leaves in single precision."""

    @cached_property
    def tree_numbers(self) -> Int[Array, " t"]:
        """The numbers of the trees of the class, among all trees with which the model predicts."""
        booster = self.model.get_booster()
        learner = json.loads(booster.save_config())["learner"]["gradient_booster"]
        if learner["name"] != "gbtree":
            raise ProblemError(
                f"{class_name(self.model)} must be a sum of trees; got the booster {learner['name']!r}. Fit it with "
                'booster="gbtree".'
            )
        parallel = int(learner["gbtree_model_param"]["num_parallel_tree"])
        numbers = np.arange(self._n_iterations * parallel * self.n_classes)
        return numbers[numbers // parallel % self.n_classes == self.k]

    @property
    def _n_iterations(self) -> int:
        """The number of iterations with which the model predicts."""
        booster = self.model.get_booster()
        best = booster.attr("best_iteration")
        return int(booster.num_boosted_rounds()) if best is None else int(best) + 1

    def read_leaves(self) -> Sequence[Float[Array, " leaves"]]:
        texts = self.model.get_booster().get_dump(dump_format="json")
        return [_leaves_by_node(json.loads(texts[number])) for number in self.tree_numbers.tolist()]

    def initial_score(self) -> float:
        booster = self.model.get_booster()
        types = booster.feature_types
        row = import_module("xgboost").DMatrix(
            np.zeros((1, self.model.n_features_in_)),
            feature_names=booster.feature_names,
            feature_types=types,
            enable_categorical=types is not None,
        )
        sums: Any = booster.predict(row, output_margin=True, iteration_range=(0, self._n_iterations))
        nodes = booster.predict(row, pred_leaf=True, iteration_range=(0, self._n_iterations))
        return float(np.ravel(sums)[self.k]) - float(self._values_of_nodes(nodes).sum())

    def values(self, X: Any) -> Float[Array, "n t"]:
        return self._values_of_nodes(self.model.apply(X, iteration_range=(0, self._n_iterations)))

    def _values_of_nodes(self, nodes: Any) -> Float[Array, "n t"]:
        """Return the leaves at the nodes of all trees that rows reach, shape (n, trees) or more dimensions."""
        numbers = np.asarray(nodes).reshape(len(nodes), -1).astype(np.int64)[:, self.tree_numbers]
        return np.column_stack([leaves[numbers[:, q]] for q, leaves in enumerate(self.leaves)])


class HistogramTrees(TreeValues):
    """The trees of scikit-learn's HistGradientBoostingClassifier.

    The difference of two staged scores is a leaf up to rounding, so the nearest leaf replaces it.
    """

    @property
    def predictors(self) -> Sequence[Any]:
        """scikit-learn's trees of the class."""
        return [iteration[self.k] for iteration in self.model._predictors]

    def read_leaves(self) -> Sequence[Float[Array, " leaves"]]:
        return [np.unique(tree.nodes["value"][tree.nodes["is_leaf"] == 1]) for tree in self.predictors]

    def initial_score(self) -> float:
        return float(np.ravel(self.model._baseline_prediction)[self.k])

    def values(self, X: Any) -> Float[Array, "n t"]:
        staged = [np.asarray(f).reshape(len(f), -1)[:, self.k] for f in self.model.staged_decision_function(X)]
        previous, columns = np.full(len(staged[0]), self.initial_score()), list[Array]()
        for f, leaves in zip(staged, self.leaves, strict=True):
            borders = 0.5 * (leaves[:-1] + leaves[1:])
            columns.append(leaves[np.searchsorted(borders, f - previous)])
            previous = f
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class LibraryTree:
    """A tree of a gradient boosting library divided by its largest absolute leaf: its values lie in [-1, 1].

    Attributes
    ----------
    trees
        All trees of the model.
    number
        The number of this tree, from 0.
    """

    trees: TreeValues
    number: int

    @property
    def scale(self) -> float:
        """The largest absolute value of a leaf."""
        return float(self.trees.scales[self.number])

    def decision_function(self, rows: MemberInput) -> Array:
        """Return the value of each example's leaf, divided by the largest absolute value; 0 if all leaves are 0."""
        values = rows.cached_output(self.trees, "values", None)[:, self.number]
        return values / self.scale if self.scale > 0 else values


def library_trees(model: Any, k: int) -> TreeValues | None:
    """Return the trees of a fitted classifier of a gradient boosting library; None for other models.

    Parameters
    ----------
    model
        A fitted classifier of LightGBM or XGBoost, or a HistGradientBoostingClassifier.
    k
        The index of the class whose scores the trees add up to; 0 for two classes.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    if is_lightgbm(model):
        return LightGBMTrees(model, k)
    if is_xgboost(model):
        return XGBoostTrees(model, k)
    return HistogramTrees(model, k) if isinstance(model, HistGradientBoostingClassifier) else None


def split_lightgbm_text(text: str) -> tuple[str, list[str], str]:
    """Return the head, the trees and the rest of the text of a LightGBM model."""
    body, end, rest = text.partition(f"\n{TREES_END}")
    head, *trees = body.split(f"\n{TREE_HEAD}")
    return head, trees, end + rest


def _leaves_by_node(tree: dict[str, Any]) -> Float[Array, " nodes"]:
    """Return the leaves of a tree of XGBoost's JSON text by the number of their node, 0 at other nodes."""
    leaves, stack = dict[int, float](), [tree]
    while stack:
        node = stack.pop()
        if "leaf" in node:
            leaves[int(node["nodeid"])] = float(np.float32(node["leaf"]))
        else:
            stack += node["children"]
    values = np.zeros(max(leaves) + 1)
    values[list(leaves)] = list(leaves.values())
    return values
