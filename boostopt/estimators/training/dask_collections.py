"""Classifiers and collections of Dask's: fitted where the rows are, and predicting there, with a plain local model."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.estimators.training.binary_fit import FitSettings
from boostopt.estimators.training.one_vs_rest import checkpoint_paths

UNSUPPORTED_PARAMETERS: dict[str, Any] = {
    "class_weight": None,
    "warm_start": False,
    "backend": "auto",
    "early_stopping": False,
    "probability": False,
}
"""Parameters of the classifier that rows on a cluster do not know, with what they must be."""


@dataclass(frozen=True, eq=False)
class DistributedFit:
    """A fit to rows on a cluster.

    Attributes
    ----------
    runs
        The run of two classes, or of each class against the rest.
    classes
        The labels, ascending, shape (classes,).
    shares
        The share of each class in the weights, of them all.
    features
        Number of features.
    names
        Their names, where all are texts; None of an array.
    """

    runs: tuple[Run, ...]
    classes: npt.NDArray[Any]
    shares: tuple[float, ...]
    features: int
    names: npt.NDArray[Any] | None


def fit_distributed(plan: FitSettings, unsupported_values: dict[str, Any], X: Any, y: Any, c: Any) -> DistributedFit:
    """Boost rows on a cluster.

    Parameters
    ----------
    plan, given
        The parameters of the classifier, checked; and those of `UNSUPPORTED_PARAMETERS`.
    X, y, c
        Features, labels and multiplicities: as `BinnedStumps` takes them, but labels of any kind.

    Raises
    ------
    OptionError
        A parameter has no meaning for rows on a cluster.
    ProblemError
        X, y or c are no examples on a cluster.
    """
    from boostopt.rows.dask_rows import indicator, split_label_columns, unique_labels

    for name, default in UNSUPPORTED_PARAMETERS.items():
        if not (unsupported_values[name] is default or unsupported_values[name] == default):
            raise OptionError(
                f"{name} must keep its default for rows on a cluster; got {short_repr(unsupported_values[name])}. Leave it out."
            )
    if not (isinstance(plan.base, str) and plan.base == "binned"):
        raise OptionError(
            f'on a cluster, base must be "binned" (stumps at few thresholds); got {short_repr(plan.base)}. Set '
            'base="binned".'
        )
    features, y, c, names = split_label_columns(X, y, c)
    classes: npt.NDArray[Any] = unique_labels(y)
    check_classification_targets(classes)
    if len(classes) < 2:
        raise ProblemError(
            f"the examples must have at least two classes; got {len(classes)} class. Add examples of another class."
        )
    told = classes[1:] if len(classes) == 2 else classes
    made: Sequence[tuple[Run, float]] = [
        plan.fit_binary_distributed(features, indicator(y, label), c, file, label)
        for label, file in zip(told, checkpoint_paths(plan.checkpoint, len(told)), strict=True)
    ]
    shares = tuple(share for _, share in made)
    shares = (1.0 - shares[0], *shares) if len(shares) == 1 else shares
    return DistributedFit(tuple(run for run, _ in made), classes, shares, int(features.shape[1]), names)


def predict_lazily(
    model: Any, method: str, X: Any, columns: npt.NDArray[Any] | None, sample_output: npt.NDArray[Any]
) -> Any:
    """Return what a method of a classifier says of a collection, lazily: as a collection of the same kind.

    Parameters
    ----------
    model
        The classifier, of which what belongs to its runs is left behind.
    method
        "predict" or "decision_function".
    X
        Features: a `dask.array`, or a `dask.dataframe`.
    columns
        The labels whose values stand side by side; None for one value a row.
    sample_output
        Some such values.
    """
    from boostopt.rows.dask_rows import map_rows

    if X.shape[1] != model.n_features_in_:
        raise ProblemError(
            f"X must have the {model.n_features_in_} features that the classifier was fitted to; got {X.shape[1]}. "
            "Select these columns of X."
        )
    return map_rows(X, getattr(without_runs(model), method), columns, sample_output)


def without_runs(model: Any) -> Any:
    """Return a classifier that predicts like another one, without what belongs to the runs of that."""
    light = copy(model)
    vars(light).pop("runs_", None)
    light._scorers = tuple(replace(scorer, certificate=None) for scorer in model._scorers)
    return light
