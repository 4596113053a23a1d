"""`boostopt predict`: predict the labels of new examples by a model file."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from boostopt._utils.files import write_atomically
from boostopt._utils.user_modules import load_single_class
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.cli.application import command, print_error
from boostopt.cli.cluster_data import cluster_connection, predict_on_cluster, reject_distributed
from boostopt.cli.option_types import Label, PredictingCluster, ZeroBased
from boostopt.cli.run_output import validate_output_paths, validate_suffix
from boostopt.data.class_labels import match_classes
from boostopt.data.csv_tables import table_to_csv
from boostopt.data.datasets import LabelledTable, load_features
from boostopt.data.source_forms import has_indices
from boostopt.errors import DataError, OptionError, format_names
from boostopt.oracles import Oracle

MAX_NAMED_COLUMNS = 6
"""Number of columns that a warning names."""


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The columns of the predictions beside the class."""

    scores: Annotated[bool, typer.Option("--scores", help="Add the values of the decision function.")] = False
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probability of each class; needs `fit --probability`.")
    ] = False


@command("predict")
def predict_command(
    model: Annotated[str, typer.Argument(help="File that `boostopt fit` wrote.")],
    data: Annotated[
        str,
        typer.Option(
            help="breast_cancer, digits, iris, wine, or a file: .csv, .tsv, svmlight, .npz with X, .parquet, a folder "
            "of these or a pattern in quotes."
        ),
    ],
    label: Label = "label",
    zero_based: ZeroBased = None,
    out: Annotated[str | None, typer.Option(help="Write the predictions into this file and not to the output.")] = None,
    base: Annotated[
        str | None, typer.Option(help="File of the oracle, if the model was fitted to your own hypotheses.")
    ] = None,
    *,
    columns: ColumnOptions,
    cluster: PredictingCluster = None,
) -> None:
    """Predict the class of each row, as CSV with the header "prediction".

    The command finds columns in any order by the names that the model was fitted to; others are left out with a
    warning. The indices of svmlight text begin as those of the data that the model was fitted to. A label that a
    spreadsheet would run as a formula gets an apostrophe before it. If the data contain the classes, the command prints
    the accuracy on the standard error. --scores adds a column score_CLASS for each class, or for the second one of two
    classes: f(x) in [-1, 1], positive for that class. --probabilities adds a column probability_CLASS for each class.
    With --cluster, --out is a folder of parquet files with these columns.

    Example: boostopt fit --data iris --out model.npz --epsilon 0.1; boostopt predict model.npz --data iris --scores
    """
    with stdout_to_stderr():
        validate_output_paths(data, out if cluster is None else None)
        if out is not None and Path(out).exists() and Path(model).exists() and Path(out).samefile(model):
            raise OptionError(f"the predictions would replace the model; got {out!r} for both. Name another file.")
        validate_suffix("--out", out if cluster is None else None, ("CSV", ".csv", ".txt"))
        if Path(model).is_file() and not zipfile.is_zipfile(model):
            raise DataError(
                f"expected a model file, as `boostopt fit` writes it; {model!r} is none, or it is truncated. "
                "Pass that file, or fit the model anew."
            )
        if base is not None:  # loading the file registers its hypotheses
            load_single_class(base, Oracle, "an oracle")
        from boostopt.estimators import MarginBoostClassifier

        fitted = MarginBoostClassifier.load(model)
        names = [str(name) for name in getattr(fitted, "feature_names_in_", ())]
        count: Any = vars(fitted)["n_features_in_"]
        if columns.probabilities and not hasattr(fitted, "predict_proba"):
            raise OptionError(
                f"--probabilities needs a model that has learned them; {model} has not. Fit it anew with "
                "`boostopt fit --probability`."
            )
        build_columns = partial(_prediction_columns, options=columns)
        _check_indices(model, vars(fitted).get("zero_based_"), zero_based)
        if cluster is not None:
            reject_distributed(zero_based=zero_based)
            _predict_on_cluster(cluster, fitted, data, names, count, label, build_columns, out)
            return
        indices = zero_based
        if zero_based is None and has_indices(data):
            indices = vars(fitted).get("zero_based_")
        table = load_features(data, names, count, label, indices)
        _warn_about_unused_columns(data, table.unread)
        with warnings.catch_warnings():
            # The columns were selected by name, but the array has no names.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            results = build_columns(fitted, table.X)
    text = table_to_csv(list(results), zip(*(column.tolist() for column in results.values()), strict=True))
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(Path(out), lambda file: file.write(text.encode()))
        typer.echo(f"saved: {out}", err=True)
    _report_accuracy(table, fitted.classes_.tolist(), results["prediction"].tolist())


def _check_indices(path: str, model_zero_based: bool | None, zero_based: bool | None) -> None:
    """Raise OptionError if the first index of the data and of the training examples differ; None if it is unknown."""
    if None not in (model_zero_based, zero_based) and model_zero_based != zero_based:
        flags = ("--zero-based", "--one-based")
        model_option, data_option = flags if model_zero_based else flags[::-1]
        raise OptionError(
            f"expected {model_option}, as in the data that {path} was fitted to; got {data_option}. Leave it out, "
            f"write the indices anew, or fit the model with {data_option}."
        )


def _predict_on_cluster(
    cluster: str,
    model: Any,
    data: str,
    names: list[str],
    count: int,
    label: str,
    predict_columns: Callable[[Any, Any], dict[str, npt.NDArray[Any]]],
    out: str | None,
) -> None:
    """Write predictions into a folder of parquet files on the workers of a cluster."""
    from boostopt.estimators.training.dask_collections import without_runs

    if out is None:
        raise OptionError("on a cluster predictions go into a folder of parquet files; got none. Pass --out FOLDER.")
    light = without_runs(model)
    vars(light).pop("feature_names_in_", None)  # the columns are already selected by name
    with cluster_connection(cluster):
        unread = predict_on_cluster(data, names, count, label, partial(_predict_finite, predict_columns, light), out)
    _warn_about_unused_columns(data, unread)
    typer.echo(f"saved: {out}", err=True)


def _predict_finite(
    predict_columns: Callable[[Any, Any], dict[str, npt.NDArray[Any]]], model: Any, X: Any
) -> dict[str, npt.NDArray[Any]]:
    """Return the requested predictions for rows whose numbers are not checked yet."""
    if not np.isfinite(X).all():
        j = int(np.argwhere(~np.isfinite(X))[0, 1])
        raise DataError(f"every feature must be finite; feature {j} is not. Impute it, or leave the rows out.")
    return predict_columns(model, X)


def _prediction_columns(model: Any, X: Any, options: ColumnOptions) -> dict[str, npt.NDArray[Any]]:
    """Return predictions, values of the decision function and probabilities, by their column names in files."""
    classes = model.classes_.tolist()
    columns_by_name = {"prediction": model.predict(X)}
    if options.scores:
        f = model.decision_function(X)
        columns = f.reshape(len(f), -1).T  # with two classes, one column for the second class
        columns_by_name |= {
            f"score_{label}": column for label, column in zip(classes[-len(columns) :], columns, strict=True)
        }
    if options.probabilities:
        columns = model.predict_proba(X).T
        columns_by_name |= {f"probability_{label}": column for label, column in zip(classes, columns, strict=True)}
    return columns_by_name


def _warn_about_unused_columns(source: str, unread: tuple[str, ...]) -> None:
    """Warn about the columns that the model does not use."""
    if unread:
        remainder = f" and {len(unread) - MAX_NAMED_COLUMNS} more" if len(unread) > MAX_NAMED_COLUMNS else ""
        listing = format_names(unread[:MAX_NAMED_COLUMNS]) + remainder
        print_error(f"warning: {source} has columns that the model was not fitted to, left out: {listing}.")


def _report_accuracy(table: LabelledTable, classes: list[Any], predictions: list[Any]) -> None:
    """Print the share of correct predictions if the data contain labels, which may be spelt as those of the model."""
    if table.labels is None:
        return
    labels = match_classes(table.name, table.labels, classes)
    labelled = [(label, prediction) for label, prediction in zip(labels, predictions, strict=True) if label is not None]
    if not labelled:
        return
    unknown = sorted({str(label) for label, _ in labelled if label not in classes})
    if unknown:
        print_error(
            f"warning: the model has no class {', '.join(unknown[:MAX_NAMED_COLUMNS])}: these rows count as wrong."
        )
    if missing := len(labels) - len(labelled):
        print_error(
            f"warning: {table.name} has {missing} of {len(labels)} rows without a label: these rows do not count."
        )
    n_correct = sum(label == prediction for label, prediction in labelled)
    typer.echo(f"accuracy {n_correct / len(labelled):.4f}: {n_correct} of {len(labelled)} rows are right", err=True)
