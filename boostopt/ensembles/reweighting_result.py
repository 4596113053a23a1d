"""A fitted ensemble with new weights: a classifier with a certificate of its soft margin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector, Int, Int8, is_dask_collection
from boostopt._utils.formatting import format_interval, html_table
from boostopt._utils.validation import check_choice, check_integer, check_optional
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.soft_margin import SOFT_MARGIN, SoftMarginObjective
from boostopt.boosting.run.combined_hypothesis import AT_ZERO, AtZero, predicted_classes, weighted_vote
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.ensembles.members import Members
from boostopt.ensembles.reweighted_native_models import native_model
from boostopt.ensembles.thinning import SubsetSearch
from boostopt.errors import OptionError
from boostopt.estimators.binary_model import BinaryModel, describe_weights
from boostopt.estimators.margin_boost import MarginBoostClassifier
from boostopt.estimators.model_files import save
from boostopt.estimators.training.margin_summary import MarginSummary
from boostopt.oracles import Feature, KernelColumn, Stump
from boostopt.oracles.base import Hypothesis
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.solving.solution import Solution

PROGRAM_WEIGHTS = "of the program"
"""Names of the weights if the program has some."""


@dataclass(frozen=True, eq=False, repr=False)
class ReweightedBase:
    """The members of a fitted ensemble under new weights, with examples in memory or distributed.

    Attributes
    ----------
    ensemble
        The t members of this classifier.
    numbers
        The numbers of these members in the ensemble as it was fitted, shape (t,).
    w
        The new weights, shape (t,), with sum |w| = 1. If the program requires sum |w| <= 1, the sum may be smaller.
    weights_source
        The source of w, in words.
    soft_margin_before
        The certified soft margin of the ensemble's own weights.
    soft_margin
        The certified soft margin of w.
    soft_margin_certificate
        The interval of the largest soft margin over ALL members of the ensemble, thinned or not.
    majority
        The class of more examples, 1 or -1.
    """

    ensemble: Members
    numbers: Int[Array, " t"]
    w: HypothesisVector
    weights_source: str
    soft_margin_before: float
    soft_margin: float
    soft_margin_certificate: Certificate | ClassCertificate
    majority: int

    @property
    def members(self) -> tuple[Hypothesis, ...]:
        """The members as hypotheses."""
        return self.ensemble.hypotheses

    @property
    def own_weights(self) -> HypothesisVector:
        """The weights of the members in the ensemble as it was fitted, with sum 1 over all its members."""
        return self.ensemble.weights

    @property
    def n_nonzero_weights(self) -> int:
        """The number of members with a nonzero weight."""
        return int(np.count_nonzero(self.w))

    @property
    def loss(self) -> float:
        """A proved bound on the distance from the soft margin of w to the best one over all members."""
        return max(self.soft_margin_certificate.upper - self.soft_margin, 0.0)

    def decision_function(self, X: Any) -> Any:
        """Return f(x) = sum_q w_q h_q(x) / sum |w| in [-1, 1] for each row of X, shape (n,).

        Pass X in the form that the ensemble takes. For a `dask.array` or a `dask.dataframe`, the result is a lazy
        collection of the same kind.

        Raises
        ------
        ProblemError
            The members refuse X.
        """
        return self._map_blocks(X, partial(_decision_values, self.ensemble, self.w), np.zeros(1))

    def predict(self, X: Any, at_zero: AtZero = "majority") -> Any:
        """Return the label of each row of X, one of the ensemble's labels, shape (n,).

        Parameters
        ----------
        X
            Features, in the form that the ensemble takes. For a `dask.array` or a `dask.dataframe`, the labels are a
            collection of the same kind.
        at_zero
            The label where f(x) = 0: that of the class with more training examples by default, as in `Run.predict`.

        Raises
        ------
        ProblemError
            The members refuse X.
        OptionError
            at_zero is none of the three.
        """
        at_zero = check_choice("at_zero", at_zero, AT_ZERO)
        like = np.array([-1, 1], np.int8) if self.ensemble.labels is None else self.ensemble.labels
        return self._map_blocks(X, partial(_predicted_labels, self.ensemble, self.w, at_zero, self.majority), like)

    @property
    def measure(self) -> str:
        """The name of the values before and after: "soft margin", or the name of another value of the margins."""
        return SOFT_MARGIN

    @property
    def labels(self) -> list[Any]:
        """The negative label and the positive label of the examples; -1 and 1 if the members have no labels."""
        return [-1, 1] if self.ensemble.labels is None else self.ensemble.labels.tolist()

    def in_words(self, max_hypotheses: int | None = 10) -> list[str]:
        """Return the members with the largest weights in words, each after its weight, with the names of features.

        A member votes for the positive label if its words are true, and for the negative label otherwise.

        Parameters
        ----------
        max_hypotheses
            The number of members, at least 1; None for all members with a weight.
        """
        max_hypotheses = check_optional(check_integer, "max_hypotheses", max_hypotheses, 1)
        names = self.ensemble.feature_names
        feature_names = (
            [f"feature {j}" for j in range(self._features)] if names is None else [str(name) for name in names]
        )
        return describe_weights(self.members, self.w, feature_names, max_hypotheses)

    @property
    def _features(self) -> int:
        """The largest number of features that a member uses, as far as members have this number."""
        return max((h.features for h in self.members if isinstance(h, Stump | Feature | KernelColumn)), default=0)

    def margin_summary(
        self, positive: float, nu: float | None, chance: float = 0.0, zeros: float = math.nan
    ) -> MarginSummary:
        """Return the summary for the margin warnings: see `MarginSummary`; `positive` is the share of the class 1."""
        common = self.labels[int(positive > 0.5)]
        bounds = self.soft_margin, self.soft_margin_certificate.upper
        share = min(positive, 1.0 - positive)
        return MarginSummary("", repr(common), share, nu, bounds, chance, zeros, measure=self.measure)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the rows, by weight, whose label is predicted right: scikit-learn's accuracy, in [0, 1].

        Raises
        ------
        ProblemError
            The members refuse X.
        ValueError
            y or the weights do not belong to the rows, in scikit-learn's words.
        """
        return accuracy(self.predict(X), y, sample_weight)

    def _map_blocks(self, X: Any, task: Callable[[Any], Array], like: Array) -> Any:
        """Return the result of a prediction task for X, lazily for a collection."""
        if not is_dask_collection(X):
            return task(X)
        from boostopt.rows.dask_rows import map_rows

        return map_rows(X, task, None, like)

    def _summary(self, name: str) -> str:
        """Return the result in words."""
        return (
            f"{type(self).__name__}({name}: {self.n_nonzero_weights} of {len(self.w)} members with weight; weights "
            f"{self.weights_source}; {self.measure} {self.soft_margin_before:.6g} before, {self.soft_margin:.6g} now, "
            f"best of all members in {best_interval_text(self)})"
        )

    def _html_table(self, headline: str, nu: float | None, *more: tuple[str, Any]) -> str:
        """Return the result as an HTML table."""
        rows = [
            ("members", f"{len(self.w)}, {self.n_nonzero_weights} with weight"),
            ("weights", self.weights_source),
            *more,
            (self.measure, f"nu = {nu:.6g}" if nu is not None else "of the program's regularizer"),
            ("before", self.soft_margin_before),
            ("now", self.soft_margin),
            ("best over all members", best_interval_text(self)),
            ("proved loss", f"{self.loss:.2e}"),
        ]
        return html_table(headline, rows)


@dataclass(frozen=True, eq=False, repr=False)
class Reweighted(ReweightedBase):
    """The members of a fitted ensemble under new weights.

    Attributes
    ----------
    ensemble, numbers, w, weights_are, soft_margin_before, soft_margin, soft_margin_certificate, majority
        As in `ReweightedBase`. The w of the program itself is `solution.w`.
    solution
        The solved program.
    goal
        The value that the certificate bounds: the soft margin, or `goal.measure`.
    U
        The margins u_nq = y_n h_q(x_n) of the examples with a positive multiplicity, shape (N, t).
    signs
        The classes y of these examples, -1 or 1, shape (N,).
    """

    soft_margin_certificate: Certificate
    solution: Solution
    goal: SoftMarginObjective
    U: MarginMatrix
    signs: Int8[Array, " N"]

    @property
    def program(self) -> Program:
        """The program that was solved."""
        return self.solution.program

    @property
    def certificate(self) -> Certificate:
        """The interval of the program's optimum."""
        return self.solution.certificate

    @property
    def measure(self) -> str:
        return self.goal.measure

    @property
    def nu(self) -> float | None:
        """The nu of the soft margin, a count; None if the soft margin does not come from a cap."""
        return self.goal.nu

    @property
    def margins(self) -> ExampleVector:
        """The margins U w of the examples with a positive multiplicity, shape (N,)."""
        return self.U.margins(self.w)

    def training_predictions(self) -> Array:
        """Return the predicted labels of the examples with a positive multiplicity, shape (N,)."""
        classes = predicted_classes(self.margins * self.signs, AT_ZERO[0], self.majority)
        return np.array(self.labels)[(classes > 0).astype(np.intp)]

    def save(self, path: str | PathLike[str]) -> None:
        """Save the classifier to a model file of plain numbers, without pickle.

        `MarginBoostClassifier.load` and `boostopt predict` read the file. The loaded classifier makes the same
        predictions, and its `certificate_` is about all members of the ensemble.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        OptionError
            The members are fitted estimators, not plain numbers. Save such a classifier by pickle.
        DataError
            The file cannot be written.
        """
        save(as_margin_boost_classifier(self), [as_binary_model(self)], path)

    def native_model(self) -> Any:
        """Return a fitted model of the ensemble's own library with these weights, without the members of weight 0.

        Its predictions are those of this classifier, up to the rounding of the library and to ties. Its scores are f
        times the sum of the ensemble's own weights, so with its own weights the ensemble comes back. The library can
        save it and serve it. If a pipeline ends in the ensemble, the model takes what the earlier steps return.
        LightGBM, XGBoost and HistGradientBoostingClassifier multiply the leaves of their trees, and AdaBoostClassifier
        gets other weights.

        Raises
        ------
        OptionError
            The members come from another ensemble, whose library has no weights of members; or all weights are 0; or
            the library does not allow these weights.
        """
        return native_model(self.ensemble, self.numbers, self.w)

    def thinned(self, k: Any) -> Reweighted:
        """Return a classifier of at most k of the members, with a proved `loss`.

        If more than k members have a weight, the k members get the weights of their largest soft margin, for any
        formulation, because the loss is a loss of soft margin. The proof of the loss does not depend on the choice of
        the members. Otherwise only the members without a weight are left out. If all weights are 0, no member is kept
        and f is 0 everywhere.

        Parameters
        ----------
        k
            The largest number of members to keep, at least 1.

        Raises
        ------
        OptionError
            k is not a whole number of at least 1.
        SolverFailed
            No solver left an answer.
        """
        k = check_integer("k", k, 1, "a whole number of members", "Keep one or more.")
        active = np.flatnonzero(self.w)
        if len(active) <= k:
            return self._select_members(active)
        choice = SubsetSearch(self.goal, self.U, self.solution.tol).best(active, k)
        return replace(
            self._select_members(choice.columns),
            w=choice.w,
            soft_margin=choice.soft_margin,
            solution=choice.solution,
            weights_source=f"of the largest {self.measure} over {len(choice.columns)} of {len(self.w)} members",
        )

    def _select_members(self, columns: Int[Array, " k"]) -> Reweighted:
        """Return the classifier of some members with their weights."""
        return replace(
            self,
            ensemble=self.ensemble.select(columns),
            numbers=self.numbers[columns],
            w=self.w[columns],
            U=self.U.take_columns(columns),
        )

    def __repr__(self) -> str:
        return self._summary(self.program.formulation.name)

    def _repr_html_(self) -> str:
        return self._html_table(self.program.headline, self.nu, ("the program's optimum", self.certificate.words))


def best_interval_text(result: ReweightedBase) -> str:
    """Return the interval of the largest soft margin, or of another value, over all members."""
    best = result.soft_margin_certificate
    return format_interval(best.lower, best.upper)


def accuracy(predicted: Any, y: Any, sample_weight: Any) -> float:
    """Return scikit-learn's accuracy of predicted labels; collections are computed first."""
    from sklearn.metrics import accuracy_score

    predicted, y, sample_weight = (
        array.compute() if is_dask_collection(array) else array for array in (predicted, y, sample_weight)
    )
    return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def _decision_values(members: Members, w: HypothesisVector, X: Any) -> Float[Array, " n"]:
    return weighted_vote(members.hypotheses, w, members.rows(X))


def _predicted_labels(members: Members, w: HypothesisVector, at_zero: AtZero, majority: int, X: Any) -> Array:
    classes = predicted_classes(_decision_values(members, w, X), at_zero, majority)
    return classes if members.labels is None else members.labels[(classes > 0).astype(np.intp)]


def as_binary_model(result: Reweighted) -> BinaryModel:
    """Return the binary model that a classifier predicts with."""
    best, lower = result.soft_margin_certificate, result.soft_margin
    members = f"{len(result.w)} members of an ensemble"
    proof = ClassCertificate(lower, max(best.upper, lower), best.d, members, quantity=result.measure)
    return BinaryModel(
        formulation=result.program.formulation.name,
        oracle=proof.oracle,
        hypotheses=result.members,
        w=result.w,
        majority=result.majority,
        rounds=0,
        reason=f"weights {result.weights_source}",
        certificate=proof,
    )


def as_margin_boost_classifier(result: Reweighted) -> MarginBoostClassifier:
    """Return a classifier without runs."""
    features = {h.features for h in result.members if isinstance(h, Stump | Feature | KernelColumn)}
    if not result.ensemble.has_boostopt_hypotheses or len(features) != 1:
        raise OptionError(
            "a model file holds hypotheses as plain numbers, stumps, features or kernel columns; got members "
            f"such as {result.members[0]}. Save this object by pickle, for your own use."
        )
    model = MarginBoostClassifier(nu=0.1 if result.nu is None else min(result.nu / result.goal.examples.total, 1.0))
    model.classes_, model.n_features_in_, model.n_iter_ = np.array(result.labels), features.pop(), 0
    if result.ensemble.feature_names is not None:
        model.feature_names_in_ = result.ensemble.feature_names
    return model
