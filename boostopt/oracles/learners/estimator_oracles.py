"""Oracles that fit scikit-learn's classifiers: heuristic, because no fit proves that its edge is the largest."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Int8
from boostopt._utils.immutable_arrays import writes_named
from boostopt._utils.json_values import parse_count
from boostopt._utils.validation import check_choice, check_flag, check_integer, check_optional
from boostopt._utils.validation import check_seed as read_seed
from boostopt.errors import ProblemError, short_repr
from boostopt.oracles.base import Answer, Column, Query, StateDict, compact_margins
from boostopt.oracles.labelled_examples import ExamplesOracle, check_examples
from boostopt.oracles.learners.classifier_hypotheses import VALUE_METHODS, Fitted, class_name, hypothesis_values
from boostopt.oracles.weight_scaling import as_distribution

MAX_DRAWS = 20
"""Largest number of samples that are drawn until one has both classes."""


class EstimatorOracle(ExamplesOracle):
    """The base of oracles that fit a classifier in each call; they differ in `_fit`."""

    reflexive: bool

    def __init__(
        self, estimator: Any, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None, values: str, reflexive: bool, seed: int
    ) -> None:
        from sklearn.base import clone

        values, reflexive = check_choice("kind of values", values, VALUE_METHODS), check_flag("reflexive", reflexive)
        seed = read_seed("random_state", seed)
        self._examples = check_examples(X, y, c)
        try:
            self._estimator: Any = clone(estimator)
        except TypeError as failure:
            raise ProblemError(
                f"the estimator must be an object of scikit-learn's kind; got {short_repr(estimator)}. "
                "Pass an instance, such as DecisionTreeClassifier(max_depth=1)."
            ) from failure
        if not hasattr(self._estimator, values):
            raise ProblemError(
                f"the estimator must have the method {values}; {class_name(estimator)} has none. "
                f"Pass another one of values: {', '.join(VALUE_METHODS)}."
            )
        self._values, self.reflexive, self._seed, self._calls = values, reflexive, seed, 0

    def best(self, query: Query) -> Answer:
        """Fit a classifier and return it, or its negation if this has the larger edge and belongs to the class.

        Raises
        ------
        ProblemError
            The weights are not a distribution, or the classifier does not return one value in [-1, 1] for each example.
        """
        d, y = as_distribution(query.d, self.y)
        # The generator of a call is made from the call's number, so only this number is saved.
        rng = np.random.default_rng([self._seed, self._calls])
        with writes_named(f"the learner {class_name(self._estimator)}"):
            model = self._fit(self._clone(rng), d, y, rng)
        if not hasattr(model, self._values):
            raise ProblemError(
                f"{class_name(self._estimator)}.fit must return self, with the method {self._values}; got {model!r}. "
                "End it with return self."
            )
        with writes_named(f"the learner {class_name(self._estimator)}"):
            h = hypothesis_values(model, self._values, self._examples.X)
        edge = float((self.y * h) @ query.d)
        sign = -1 if self.reflexive and edge < 0 else 1
        on_training, features = compact_margins(sign * h), self._examples.X.shape[1]
        hypothesis = Fitted(self._calls, sign, class_name(model), self._values, features, on_training, model)
        self._calls += 1
        return Answer((Column(hypothesis, self.y * on_training, sign * edge),), None)

    @abstractmethod
    def _fit(self, model: Any, d: ExampleVector, y: Int8[Array, " N"], rng: np.random.Generator) -> Any:
        """Return the classifier fitted to a distribution d over the examples with labels y."""

    def _clone(self, rng: np.random.Generator) -> Any:
        """Return an unfitted classifier with its random states drawn."""
        from sklearn.base import clone

        model: Any = clone(self._estimator)
        random_states = {
            name: int(rng.integers(2**31)) for name in sorted(model.get_params()) if _is_random_state(name)
        }
        return model.set_params(**random_states)

    @property
    def digest(self) -> str:
        # All other parameters are objects, whose text may contain a memory address.
        plain = {
            name: value
            for name, value in sorted(self._estimator.get_params().items())
            if not _is_random_state(name) and isinstance(value, (str, int, float, type(None)))
        }
        parts = f"{self._examples.digest} {type(self).__name__} {class_name(self._estimator)} {plain!r}"
        return hashlib.sha256(f"{parts} {self._values} {self.reflexive}".encode()).hexdigest()

    def state(self) -> StateDict:
        return {"calls": self._calls}

    def restore(self, state: StateDict) -> None:
        self._calls = parse_count(state["calls"], "calls")


class Estimators(EstimatorOracle):
    """Classifiers fitted to the weighted examples. Heuristic: there is no bound for the class.

    Parameters
    ----------
    estimator
        A classifier of scikit-learn's kind whose fit takes `sample_weight`. Each call fits a clone of it to the labels
        -1 and 1 with the weights N d / sum(d). Examples of weight 0 are left out unless a class would vanish.
    X
        Features, shape (N, features), finite: an array or a scipy sparse matrix.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1.
    c
        Multiplicities of the examples, shape (N,), non-negative; examples with 0 are left out.
    values
        The method that gives h(x): "predict" gives -1 or 1; "decision_function" is clipped to [-1, 1], so that h is -1
        or 1 beyond the margin of a classifier; "predict_proba" gives 2p - 1 with the probability p of class 1.
    reflexive
        Whether the negations belong to the class. If so, the oracle negates a classifier with a negative edge.
    random_state
        Seed of the values of the estimator's random_state, a new one in each call. By default, it is the estimator's
        own random_state if this is a whole number, otherwise 0. So repeated runs are equal.

    Raises
    ------
    ProblemError
        X, y or c are invalid; the estimator is not a classifier, takes no weights, or lacks the method `values`.
    OptionError
        `values` is unknown, or the seed is negative.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        values: str = "predict",
        reflexive: bool = True,
        random_state: int | None = None,
    ) -> None:
        from sklearn.utils.validation import has_fit_parameter

        estimator_seed = getattr(estimator, "random_state", None)
        seed = random_state if random_state is not None else estimator_seed if isinstance(estimator_seed, int) else 0
        super().__init__(estimator, X, y, c, values, reflexive, seed)
        if not has_fit_parameter(self._estimator, "sample_weight"):
            raise ProblemError(
                f"the estimator's fit must take sample_weight; that of {class_name(estimator)} does not. "
                "Use Resampled, which fits it to samples drawn by the weights."
            )

    def _fit(self, model: Any, d: ExampleVector, y: Int8[Array, " N"], rng: np.random.Generator) -> Any:
        rows = np.flatnonzero(d)
        if not _has_both_classes(y[rows]):
            rows = np.arange(self.N)
        X = self._examples.X if len(rows) == self.N else self._examples.X[rows]
        return model.fit(X, y[rows].astype(np.int64), sample_weight=self.N * d[rows])

    def __str__(self) -> str:
        return f"{class_name(self._estimator)} fitted to the weights{', and negations' if self.reflexive else ''}"


class Resampled(EstimatorOracle):
    """Classifiers fitted to samples drawn by the weights, for learners that take no weights. Heuristic.

    Parameters
    ----------
    estimator
        A classifier of scikit-learn's kind. Each call fits a clone of it, to the labels -1 and 1.
    X, y, c, values, reflexive
        As for Estimators.
    size
        Number of examples drawn in each call, with replacement, at least 2; N by default. A sample of one class is
        drawn again.
    random_state
        Seed of the samples, and of the values of the estimator's random_state.

    Raises
    ------
    ProblemError
        X, y or c are invalid; the estimator is not a classifier, or lacks the method `values`.
    OptionError
        `values` is unknown, the size is below 2, or the seed is negative.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        size: int | None = None,
        random_state: int = 0,
        values: str = "predict",
        reflexive: bool = True,
    ) -> None:
        super().__init__(estimator, X, y, c, values, reflexive, random_state)
        words = 2, "a whole number of examples, one of each class,", "Pass two or more."
        self._size = check_optional(check_integer, "size", size, *words) or self.N

    def _fit(self, model: Any, d: ExampleVector, y: Int8[Array, " N"], rng: np.random.Generator) -> Any:
        for _ in range(MAX_DRAWS):
            rows = rng.choice(self.N, self._size, p=d)
            if _has_both_classes(y[rows]):
                return model.fit(self._examples.X[rows], y[rows].astype(np.int64))
        shares = d[y > 0].sum()
        raise ProblemError(
            f"a sample must hold both classes; {MAX_DRAWS} samples of {self._size} examples held one. The weights "
            f"of class 1 sum to {shares:.3g} of 1. Pass a larger size, or a learner that takes sample weights to "
            "Estimators."
        )

    def __str__(self) -> str:
        negations = ", and negations" if self.reflexive else ""
        return f"{class_name(self._estimator)} fitted to {self._size} examples drawn by the weights{negations}"


def _has_both_classes(y: Int8[Array, " n"]) -> bool:
    """Return whether both classes occur."""
    return bool((y > 0).any() and (y < 0).any())


def _is_random_state(parameter: str) -> bool:
    """Return whether a parameter is the seed of an estimator or of a part of it."""
    return parameter == "random_state" or parameter.endswith("__random_state")
