"""Dask collections in classifiers: distributed fits, and lazy predictions by a plain local model."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from boostopt._utils.formatting import format_count
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.estimators.training.binary_fit import FitSettings
from boostopt.estimators.training.one_vs_rest import checkpoint_paths, positive_class_index
from boostopt.oracles.binned_class import BinnedClass

UNSUPPORTED_PARAMETERS: dict[str, Any] = {
    "class_weight": None,
    "warm_start": False,
    "backend": "auto",
    "early_stopping": False,
    "probability": False,
}
"""Parameters of the classifier that distributed rows do not support, with the values that they must have."""


@dataclass(frozen=True, eq=False)
class DistributedFit:
    """The result of a fit to distributed rows.

    Attributes
    ----------
    runs
        The run of two classes, or one run for each class against the rest.
    oracles
        The class of hypotheses of each run, over the rows on the cluster.
    classes
        The labels, ascending, shape (classes,).
    shares
        The weight fraction of each class, shape (classes,).
    features
        The number of features.
    names
        The names of the features if all are strings; None for an array.
    """

    runs: tuple[Run, ...]
    oracles: tuple[BinnedClass, ...]
    classes: npt.NDArray[Any]
    shares: tuple[float, ...]
    features: int
    names: npt.NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class DistributedExamples:
    """Checked examples on a cluster.

    Attributes
    ----------
    features, y, c
        Features, labels and multiplicities, or None.
    classes, names
        As in `DistributedFit`.
    """

    features: Any
    y: Any
    c: Any
    classes: npt.NDArray[Any]
    names: npt.NDArray[Any] | None

    @classmethod
    def checked(
        cls, settings: FitSettings, unsupported_values: dict[str, Any], X: Any, y: Any, c: Any
    ) -> DistributedExamples:
        """Return examples for settings that distributed rows support; arguments and errors are those of the fit."""
        from boostopt.rows.dask_rows import split_label_columns, unique_labels

        for name, default in UNSUPPORTED_PARAMETERS.items():
            if not (unsupported_values[name] is default or unsupported_values[name] == default):
                raise OptionError(
                    f"{name} must keep its default for rows on a cluster; got "
                    f"{short_repr(unsupported_values[name])}. Leave it out."
                )
        if not (isinstance(settings.base, str) and settings.base == "binned"):
            raise OptionError(
                f'on a cluster, base must be "binned" (stumps at few thresholds); got {short_repr(settings.base)}. Set '
                'base="binned".'
            )
        features, y, c, names = split_label_columns(X, y, c)
        classes: npt.NDArray[Any] = unique_labels(y)
        check_classification_targets(classes)
        if len(classes) < 2:
            raise ProblemError(
                f"the examples must have at least two classes; got {len(classes)} class. Add examples of another class."
            )
        return cls(features, y, c, classes, names)

    def is_of_class(self, label: Any) -> Any:
        """Return 1 for the examples of a class and 0 for the others, lazily if the labels are lazy."""
        from boostopt.rows.dask_rows import indicator

        return indicator(self.y, label)


def fit_distributed(
    settings: FitSettings, unsupported_values: dict[str, Any], X: Any, y: Any, c: Any
) -> DistributedFit:
    """Boost rows on a cluster.

    Parameters
    ----------
    settings
        The checked settings of the fit.
    unsupported_values
        The values of the parameters in `UNSUPPORTED_PARAMETERS` by name.
    X, y, c
        Features, labels and multiplicities: as `BinnedStumps` takes them, but labels of any type.

    Raises
    ------
    OptionError
        A parameter is not supported for distributed rows.
    ProblemError
        X, y or c are not valid distributed examples.
    """
    examples = DistributedExamples.checked(settings, unsupported_values, X, y, c)
    classes = examples.classes
    positive_labels = classes[1:] if len(classes) == 2 else classes
    results = [
        settings.fit_binary_distributed(
            examples.features, examples.is_of_class(label), examples.c, file, label, len(classes) > 2
        )
        for label, file in zip(
            positive_labels, checkpoint_paths(settings.checkpoint, len(positive_labels)), strict=True
        )
    ]
    shares = tuple(fit.positive_fraction for fit in results)
    shares = (1.0 - shares[0], *shares) if len(shares) == 1 else shares
    runs, oracles = tuple(fit.run for fit in results), tuple(fit.oracle for fit in results)
    return DistributedFit(runs, oracles, classes, shares, int(examples.features.shape[1]), examples.names)


def distributed_class_of(
    settings: FitSettings, unsupported_values: dict[str, Any], X: Any, y: Any, c: Any, label: Any
) -> BinnedClass:
    """Return the class of hypotheses of a fit to rows on a cluster, without fitting.

    Parameters and errors are those of `fit_distributed`.

    Parameters
    ----------
    label
        With more than two classes, the class that the run separates from the rest.
    """
    examples = DistributedExamples.checked(settings, unsupported_values, X, y, c)
    positive = examples.classes[positive_class_index(examples.classes, label)]
    return settings.distributed_class(examples.features, examples.is_of_class(positive), examples.c)


def predict_lazily(
    model: Any, method: str, X: Any, columns: npt.NDArray[Any] | None, sample_output: npt.NDArray[Any]
) -> Any:
    """Return the lazy result of a classifier's method for a collection, as a collection of the same type.

    Parameters
    ----------
    model
        The classifier. The task holds a copy without its runs.
    method
        "predict" or "decision_function".
    X
        Features: a `dask.array`, or a `dask.dataframe`.
    columns
        The labels of the columns of the result; None for one value a row.
    sample_output
        Example values of the result.
    """
    from boostopt.rows.dask_rows import map_rows

    if X.shape[1] != model.n_features_in_:
        raise ProblemError(
            f"X must have the {format_count(model.n_features_in_, 'feature')} that the classifier was fitted "
            f"to; got {X.shape[1]}. "
            "Select these columns of X."
        )
    return map_rows(X, getattr(without_runs(model), method), columns, sample_output)


def without_runs(model: Any) -> Any:
    """Return a copy of a classifier that predicts alike, without the attributes of its runs."""
    light_model = copy(model)
    vars(light_model).pop("runs_", None)
    light_model._scorers = tuple(replace(scorer, certificate=None) for scorer in model._scorers)
    return light_model
