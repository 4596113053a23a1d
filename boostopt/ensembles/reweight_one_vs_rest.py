"""Ensembles of more than two classes with new weights: one program for each class against the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float, is_dask_collection
from boostopt._utils.formatting import html_table
from boostopt._utils.validation import check_array
from boostopt.backends.base import Backend
from boostopt.ensembles.member_extraction import class_labels, members_of
from boostopt.ensembles.members import one_vs_rest_margins
from boostopt.ensembles.reweight import ReweightArguments, ReweightOptions
from boostopt.ensembles.reweighting_result import (
    Reweighted,
    accuracy,
    as_binary_model,
    as_margin_boost_classifier,
    best_interval_text,
)
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators.model_files import save
from boostopt.estimators.training.baseline_and_nu_warnings import warn_about_member_weights
from boostopt.estimators.training.margin_summary import MarginSummary
from boostopt.oracles.labelled_examples import check_multiplicities


@dataclass(frozen=True, eq=False, repr=False)
class OneVsRestReweighted:
    """The members of a fitted ensemble of several classes, with new weights for each class against the rest.

    Attributes
    ----------
    classes
        The labels, ascending, shape (K,).
    parts
        The weights and certificates of each class against the rest, in the order of `classes`; y = 1 for the class.
    """

    classes: Array
    parts: tuple[Reweighted, ...]

    @property
    def n_nonzero_weights(self) -> tuple[int, ...]:
        """The number of members with a nonzero weight, for each class."""
        return tuple(part.n_nonzero_weights for part in self.parts)

    @property
    def loss(self) -> float:
        """The largest proved bound, over the classes, on the distance of a soft margin from the best one."""
        return max(part.loss for part in self.parts)

    def decision_function(self, X: Any) -> Float[Array, "n K"]:
        """Return f(x) in [-1, 1] for each row of X and each class against the rest, shape (n, K).

        Raises
        ------
        ProblemError
            The members refuse X.
        """
        return np.column_stack([part.decision_function(X) for part in self.parts])

    def predict(self, X: Any) -> Array:
        """Return the label with the largest f(x) for each row of X, shape (n,); in a tie, the first such label.

        Raises
        ------
        ProblemError
            The members refuse X.
        """
        return self.classes[self.decision_function(X).argmax(axis=1)]

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

    def thinned(self, k: int) -> OneVsRestReweighted:
        """Return a classifier of at most k members for each class, with a proved `loss`: see `Reweighted.thinned`.

        Raises
        ------
        OptionError
            k is not a whole number of at least 1.
        SolverFailed
            No solver left an answer.
        """
        return replace(self, parts=tuple(part.thinned(k) for part in self.parts))

    def save(self, path: str | PathLike[str]) -> None:
        """Save the classifier to a model file of plain numbers, without pickle: see `Reweighted.save`.

        Raises
        ------
        OptionError
            The members are fitted estimators, not plain numbers. Save such a classifier by pickle.
        DataError
            The file cannot be written.
        """
        model = as_margin_boost_classifier(self.parts[0])
        model.classes_ = self.classes
        save(model, [as_binary_model(part) for part in self.parts], path)

    def __repr__(self) -> str:
        summaries = "; ".join(f"{label!r}: {words}" for label, words in self._class_summaries)
        return f"{type(self).__name__}({self._formulation_name}; {summaries})"

    def _repr_html_(self) -> str:
        return html_table(
            self._formulation_name, [(f"{label} against the rest", words) for label, words in self._class_summaries]
        )

    @property
    def _class_summaries(self) -> list[tuple[Any, str]]:
        """A summary of the result for each class, in words, after the label."""
        words = (
            f"{part.n_nonzero_weights} of {len(part.w)} members, {part.measure} {part.soft_margin_before:.6g} before, "
            f"{part.soft_margin:.6g} now, best in {best_interval_text(part)}"
            for part in self.parts
        )
        return list(zip(self.classes.tolist(), words, strict=True))

    @property
    def _formulation_name(self) -> str:
        return self.parts[0].program.formulation.name


def reweight_one_vs_rest(
    ensemble: Any,
    X: Any,
    y: npt.ArrayLike,
    formulation: Any,
    *,
    sample_weight: npt.ArrayLike | None = None,
    backend: str | Backend = "auto",
    d0: npt.ArrayLike | None = None,
    options: ReweightOptions | None = None,
    **keywords: Any,
) -> OneVsRestReweighted:
    """Give the members of an ensemble of several classes the weights of one program for each class against the rest.

    For each class, a member has h(x) = 1 where it predicts the class, and h(x) = -1 elsewhere. With
    values="predict_proba", h(x) = 2p - 1, where p is its probability of the class. Gradient boosting and
    `MarginBoostClassifier` have other members for each class. Each program is that of `reweight`. The classifier
    predicts the class with the largest f.

    Parameters
    ----------
    ensemble
        A fitted ensemble of more than two classes: see `members_of`.
    X
        Features in the form that the ensemble takes, N rows in memory.
    y
        Labels, shape (N,). Each label of the ensemble must occur.
    formulation, sample_weight, backend, d0, options, **keywords
        As in `reweight`, the same for all classes. If nu is more than the sum of the weights of a class, the new
        weights may give up this class.

    Warns
    -----
    MarginWarning
        As in `reweight`, with the classes named.

    Raises
    ------
    ProblemError
        As in `reweight`; or a class of the ensemble does not occur in y; or the ensemble has no classes (a run).
    OptionError
        As in `reweight`; or X is on a cluster.
    SolverFailed
        No solver left an answer.

    References
    ----------
    Rifkin, Klautau 2004, "In defense of one-vs-all classification", for the reduction.
    """
    arguments = ReweightArguments.parse(formulation, sample_weight, backend, d0, options, keywords)
    if is_dask_collection(X):
        raise OptionError(
            "reweight_one_vs_rest needs rows in memory; got rows on a cluster. Compute X and y, or call "
            "reweight for each class with y == class."
        )
    classes = class_labels(ensemble)
    if len(classes) <= 2:
        raise ProblemError(f"reweight_one_vs_rest needs more than two classes; got {classes.tolist()}. Call reweight.")
    labels = _validate_labels(check_array("y", y), classes)
    results, summaries = list[Reweighted](), list[MarginSummary]()
    members = [
        members_of(ensemble, arguments.options.values, arguments.options.weights, label) for label in classes.tolist()
    ]
    signs = [np.where(np.asarray(labels == label), 1, -1).astype(np.int8) for label in classes.tolist()]
    rows, _ = check_multiplicities(arguments.sample_weight, len(labels))
    Us = one_vs_rest_margins(members, X, signs, rows)
    for label, label_members, y_of, U in zip(classes.tolist(), members, signs, Us, strict=True):
        part, summary = arguments.solve_binary(label_members, X, labels, y_of, U)
        results.append(part)
        summaries.append(replace(summary, label=repr(label), majority_name="of the rest"))
    result = OneVsRestReweighted(classes, tuple(results))
    predicted = np.unique(np.column_stack([part.margins * part.signs for part in results]).argmax(axis=1)).tolist()
    constant_label = repr(classes.tolist()[predicted[0]]) if len(predicted) == 1 else ""
    warn_about_member_weights(summaries, results[0].goal.examples.total, constant_label, stacklevel=2)
    return result


def _validate_labels(y: Array, classes: Array) -> Array:
    """Check that labels are labels of the ensemble, and that each label of the ensemble occurs."""
    class_labels, present = classes.tolist(), set(y.ravel().tolist())
    strange = [label for label in present if label not in class_labels]
    missing = [label for label in class_labels if label not in present]
    if y.ndim != 1 or strange or missing:
        difference = f"shape {y.shape}" if y.ndim != 1 else f"also {strange[:3]}" if strange else f"no {missing[:3]}"
        raise ProblemError(
            f"y must hold the labels {str(class_labels)[:100]}, one for each row of X and each at least once; "
            f"got {difference}. "
            "Pass examples of every class that the ensemble was fitted to."
        )
    return y
