"""`boostopt fit`: fit a classifier to a table, and write the classifier into a file."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from boostopt._utils.formatting import escape_unprintable, format_count, format_interval
from boostopt._utils.json_values import to_json_text
from boostopt._utils.user_modules import is_python_file_path
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import DEFAULT_EPSILON, round_parameters
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.progress_line import PlainProgress
from boostopt.boosting.run.trace import TraceRow
from boostopt.cli.application import command, console
from boostopt.cli.cluster_data import BINNED, cluster_connection, reject_distributed, validate_binned
from boostopt.cli.option_groups import ParameterOptions, TableOptions
from boostopt.cli.option_parsing import (
    parse_class_weight,
    parse_classifier_nu,
    parse_options,
    validate_required_parameters,
)
from boostopt.cli.option_types import (
    NUMBER,
    WHOLE_NUMBER,
    Accuracy,
    ClassWeight,
    Cluster,
    Eta,
    NuOfFit,
    Set,
    Solver,
)
from boostopt.cli.oracle_options import validate_oracle_options
from boostopt.cli.run_output import (
    JSON_FORMAT,
    NPZ_FORMAT,
    gap_text,
    is_successful,
    validate_output_paths,
    validate_requested_results,
    validate_suffix,
    within_epsilon,
)
from boostopt.data.datasets import LabelledTable
from boostopt.errors import BoostoptError, DataError, OptionError, reason_of, unknown_name
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import default_formulation_name

MAX_SHOWN_FEATURES = 5
"""Number of features that the table shows."""

DEFAULT_ITERATIONS = 1000
"""Largest number of rounds, as that of the classifier."""

SERIALIZABLE_CLASSES = ("stump", "binned", "tree2", "feature", "kernel", "rbf")
"""Classes of hypotheses that a file can hold as plain numbers."""

SKLEARN_CLASSES = ("tree", "estimator")
"""Classes of hypotheses that scikit-learn fits, by their names in `boostopt boost`."""


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions:
    """The parameters of the classifier that have an option: the fields have the names of the parameters.

    The exceptions are `set`, which becomes `parameters`, and `option`, which becomes `base_options`.
    """

    formulation: Annotated[
        str | None, typer.Option(help="Formulation to boost; the default is that of MarginBoostClassifier.")
    ] = None
    nu: NuOfFit = "margin"
    epsilon: Accuracy = None
    eta: Eta = None
    set: Set = None
    base: Annotated[
        str | None,
        typer.Option(
            help="Class of hypotheses: stump (the default), binned (that on a cluster), tree2 (all trees of depth "
            "two), feature, kernel, rbf or the file of an oracle."
        ),
    ] = None
    option: Annotated[
        list[str] | None, typer.Option(help="An option of that class, as name=value: kernel=rbf, gamma=0.5, K=10, ...")
    ] = None
    max_iter: Annotated[int, typer.Option(**WHOLE_NUMBER, help="Largest number of rounds.")] = DEFAULT_ITERATIONS
    time_limit: Annotated[
        float | None, typer.Option(**NUMBER, help="Time limit of boosting in seconds, over all classes.")
    ] = None
    backend: Solver = "auto"
    random_state: Annotated[int | None, typer.Option(**WHOLE_NUMBER, help="Seed of random hypotheses.")] = None
    class_weight: ClassWeight = None
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop when held-out examples are predicted no better.")
    ] = False
    validation_fraction: Annotated[
        float, typer.Option(**NUMBER, help="Share of the examples that early stopping holds out.")
    ] = 0.1
    n_iter_no_change: Annotated[
        int, typer.Option(**WHOLE_NUMBER, help="Rounds without a smaller error on these after which it stops.")
    ] = 10
    probability: Annotated[
        bool, typer.Option("--probability", help="Learn probabilities from held-out folds: six further fits.")
    ] = False
    scoring: Annotated[
        str,
        typer.Option(
            help="Score by which --nu auto compares values: accuracy, balanced_accuracy, roc_auc, average_precision or "
            "neg_log_loss."
        ),
    ] = "accuracy"
    checkpoint: Annotated[
        str | None, typer.Option(help="File that stores the fit at intervals, and from which it continues.")
    ] = None

    def make_classifier(self, base: str) -> tuple[Any, Formulation[Any]]:
        """Return the unfitted classifier without class weights, which need the labels, and the formulation.

        Parameters
        ----------
        base
            The class of hypotheses, by name or as the file of an oracle.

        Raises
        ------
        OptionError
            The formulation needs a parameter that no option sets, an option sets a parameter twice, or the class of
            hypotheses does not have an option.
        """
        from boostopt.estimators import MarginBoostClassifier

        name = default_formulation_name() if self.formulation is None else self.formulation
        formulation, epsilon = resolve_formulation(name), DEFAULT_EPSILON if self.epsilon is None else self.epsilon
        values = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("set", "option", "class_weight")
        }
        classifier = MarginBoostClassifier(
            **{
                **values,
                "formulation": name,
                "nu": parse_classifier_nu(self.nu),
                "epsilon": epsilon,
                "base": base,
                "parameters": self._further_parameters(formulation, epsilon) or None,
                "base_options": self.base_options or None,
                "verbose": True if sys.stderr.isatty() else _ProgressPrinter(formulation),
            }
        )
        return classifier, formulation

    @property
    def base_options(self) -> dict[str, Any]:
        """The options of the class of hypotheses by name."""
        return parse_options(self.option, "--option")

    def _further_parameters(self, formulation: Formulation[Any], epsilon: float) -> dict[str, Any]:
        """Return the parameters of the formulation that `--set` sets."""
        settings = ParameterOptions(set=self.set).parse_parameters(formulation, 1.0, 1)
        parameters = {name: value for name, value in settings.items() if value is not None}
        for name in ("nu", "eta", "epsilon"):
            if name in parameters:
                raise OptionError(f"--set is for further parameters; got {name}. Pass --{name} {parameters[name]:g}.")
        named = {"nu": self.nu, "eta": self.eta, "epsilon": epsilon}
        validate_required_parameters(formulation, {**parameters, **named}, round_parameters(formulation, epsilon))
        return parameters


@command("fit")
def fit_command(
    data: Annotated[
        str,
        typer.Option(
            help="breast_cancer, digits, iris, wine, or a file: .csv, .tsv, svmlight, .npz with X and y, .parquet, a "
            "folder of these or a pattern in quotes."
        ),
    ],
    out: Annotated[str, typer.Option(help="The model file to write.")],
    *,
    source: TableOptions,
    classifier: ClassifierOptions,
    certificate: Annotated[
        str | None,
        typer.Option(help="Save the proof over the class into this file, for `boostopt verify --classifier`."),
    ] = None,
    cluster: Cluster = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Fit a classifier to a table and write it into a file of plain numbers, for `boostopt predict`.

    There may be two or more classes, numbers or words. Exit status 0: the soft margin is proved to be within epsilon of
    the best possible, or another condition of `boostopt boost` for status 0 holds; 1: neither is the case, but the
    model is written all the same; 130: Ctrl-C, and only the checkpoint is written.

    Example: boostopt fit --data breast_cancer --out model.npz --epsilon 0.1
    """
    with stdout_to_stderr():
        base = classifier.base
        if cluster is not None:
            validate_binned(base, classifier.base_options, "--base")
            reject_distributed(
                zero_based=source.zero_based,
                class_weight=classifier.class_weight,
                certificate=certificate,
                early_stopping=classifier.early_stopping or None,
                probability=classifier.probability or None,
            )
        if classifier.early_stopping and certificate is not None:
            raise OptionError(
                "--certificate proves a run on all examples of the file, and --early-stopping holds some of them out; "
                "got both. Leave one of them out, or use model.save_certificate in Python."
            )
        base = base or ("stump" if cluster is None else BINNED)
        _validate_base(base)
        validate_output_paths(data, out, classifier.checkpoint, certificate)
        validate_suffix("--out", out, NPZ_FORMAT)
        validate_suffix("--certificate", certificate, JSON_FORMAT)
        model, formulation = classifier.make_classifier(base)
        validate_oracle_options(base, classifier.base_options, "--base")
        _validate_certificate_option(formulation, certificate)
        if cluster is None:
            table = source.load_table(data)
            _require_single_run(certificate, table)
            model.set_params(class_weight=parse_class_weight(classifier.class_weight, table.labels))
            summary = _fit_in_memory(model, table)
            if table.zero_based is not None:
                model.zero_based_ = table.zero_based
            elif summary.features:
                # Keep the names even without a data frame, because predictions find their columns by them.
                model.feature_names_in_ = np.array(summary.features, dtype=object)
            model.save(out)
            if certificate is not None:
                model.save_certificate(certificate, table.X, table.labels, table.c)
        else:
            with cluster_connection(cluster):
                summary = _fit_on_cluster(model, data, source)
                model.save(out)
    record = _fit_to_json(model, summary)
    record |= {"model": out, "bytes": os.path.getsize(out), "certificate": certificate}
    if json:
        typer.echo(to_json_text(record))
    else:
        console().print(_fit_table(record, list(map(gap_text, model.runs_))))
    return 0 if record["reached"] else 1


@dataclass(frozen=True)
class _FitSummary:
    """The facts about a fit other than its runs.

    Attributes
    ----------
    features
        Names of the features, () if the source has none.
    classes
        Number of examples by class.
    accuracy
        Share of the examples that are predicted correctly.
    seconds
        Duration of the fit.
    """

    features: tuple[str, ...]
    classes: dict[str, int]
    accuracy: float
    seconds: float


def _fit_in_memory(model: Any, table: LabelledTable) -> _FitSummary:
    """Fit the classifier to a table."""
    start = time.perf_counter()
    _fit_classifier(model, table.name, table.X, table.labels, table.c)
    seconds = time.perf_counter() - start
    labels: Any = table.labels
    classes = {str(label): int((labels == label).sum()) for label in model.classes_.tolist()}
    return _FitSummary(table.features, classes, float((model.predict(table.X) == labels).mean()), seconds)


def _fit_on_cluster(model: Any, data: str, source: TableOptions) -> _FitSummary:
    """Fit the classifier to parquet files on the workers of a cluster."""
    from boostopt.cli.cluster_tables import accuracy_counts
    from boostopt.estimators.training.dask_collections import without_runs

    table = source.on_cluster(data)
    start = time.perf_counter()
    _fit_classifier(model, data, table.table, table.label, table.weights)
    seconds = time.perf_counter() - start
    counts = accuracy_counts(table.table, table.features, table.label, without_runs(model).predict)
    classes = {str(name): counts[name][0] for name in model.classes_.tolist()}
    accuracy = sum(n_correct for _, n_correct in counts.values()) / sum(classes.values())
    return _FitSummary(table.features, classes, accuracy, seconds)


def _validate_base(base: str) -> None:
    """Raise OptionError, before the fit, for a class of hypotheses that a model file cannot hold."""
    if base in SERIALIZABLE_CLASSES or is_python_file_path(base):
        return
    if base in SKLEARN_CLASSES:
        raise OptionError(
            f"a model file holds hypotheses as plain numbers: {', '.join(SERIALIZABLE_CLASSES)}; got {base!r}, "
            "classifiers of scikit-learn that only pickle can store. Use another base, boost trees by "
            "`boostopt boost --oracle tree`, or pass a tree in Python: "
            "MarginBoostClassifier(base=DecisionTreeClassifier(max_depth=3))."
        )
    raise unknown_name("base", base, SERIALIZABLE_CLASSES)


def _validate_certificate_option(formulation: Formulation[Any], certificate: str | None) -> None:
    """Raise an error for a certificate that a file cannot state, whatever the data."""
    if certificate is not None:
        validate_requested_results(formulation.example_program(), _class_objective(formulation)[0], certificate)


def _class_objective(formulation: Formulation[Any]) -> tuple[SoftMarginObjective | None, str]:
    """Return the soft margin that a formulation has over a class, whatever the data, and the name of its value."""
    program = formulation.example_program()
    objective = SoftMarginObjective.from_pair(program.regularizer, program.edge_function, program.examples)
    return objective, SoftMarginObjective.name_of(objective)


def _require_single_run(certificate: str | None, table: LabelledTable) -> None:
    """Raise OptionError for a certificate of more than one run."""
    classes = len(np.unique(np.asarray(table.labels)))
    if certificate is not None and classes > 2:
        raise OptionError(
            f"--certificate proves one run, of two classes; got {classes} classes. In Python, "
            "model.save_certificate(path, X, y, label=LABEL) saves the proof of each class."
        )


class _ProgressPrinter:
    """Progress as lines on the standard error, with the class that is separated from the rest, and the trial of nu."""

    def __init__(self, formulation: Formulation[Any]) -> None:
        objective, self._value_name = _class_objective(formulation)
        self._shows_program = objective is None
        self._lines: dict[Any, PlainProgress] = {}
        self._trials = Counter[Any]()

    def __call__(self, label: Any, row: TraceRow) -> None:
        if row.round == 1 or label not in self._lines:
            self._trials[label] += 1
            trial = f", trial {self._trials[label]} of nu" if self._trials[label] > 1 else ""
            title = f"class {escape_unprintable(str(label))}{trial}"
            self._lines[label] = PlainProgress(title, self._shows_program, self._value_name)
        self._lines[label](row)


def _fit_classifier(model: Any, name: str, X: Any, y: Any, c: Any) -> None:
    """Fit the classifier; treat an exception of scikit-learn as any other error."""
    try:
        model.fit(X, y, c)
    except BoostoptError:
        raise
    except ValueError as failure:  # for example, labels that are not classes
        raise DataError(f"{name}: {reason_of(str(failure).splitlines()[0])}.") from failure
    except KeyboardInterrupt:
        paths = [path for path in _checkpoint_paths(model) if os.path.exists(path)]
        if paths:
            typer.echo(f"{paths[0]} has the fit as it was stored last: the same command continues.", err=True)
        raise


def _checkpoint_paths(model: Any) -> list[str]:
    """Return the files that a checkpoint may have been written to."""
    return [] if model.checkpoint is None else [model.checkpoint, f"{model.checkpoint}.0"]


def _fit_to_json(model: Any, summary: _FitSummary) -> dict[str, Any]:
    """Return the fit as plain values."""
    classes: list[Any] = model.classes_.tolist()
    certificates: list[Any] = [None] * len(model.runs_)
    if model.runs_[0].problem.has_class_bound:
        certificates = [run.class_certificate for run in model.runs_]
    positive_labels = classes[1:] if len(classes) == 2 else classes
    record: dict[str, Any] = {
        "formulation": model.runs_[0].problem.formulation.name,
        "oracle": model.oracle_,
        "nu": model.nu_ if "nu" in model.runs_[0].problem.formulation.parameters else None,
        "nu_by_cross_validation": hasattr(model, "nus_"),
        "epsilon": model.epsilon,
        "reached": all(map(is_successful, model.runs_)),
        "examples": sum(summary.classes.values()),
        "features": model.n_features_in_,
        "classes": summary.classes,
        "runs": [
            {
                "class": label,
                "what": certificate and certificate.quantity,
                "lower": certificate and certificate.lower,
                "upper": certificate and certificate.upper,
                "gap": certificate and certificate.gap,
                "within_epsilon": within_epsilon(run),
                "rounds": run.rounds,
                "hypotheses": int(np.count_nonzero(run.w)),
                "reason": run.reason,
            }
            for label, run, certificate in zip(positive_labels, model.runs_, certificates, strict=True)
        ],
    }
    record["feature_importances"] = record["held_out_accuracy"] = None
    if model.base in ("stump", "binned", "feature"):
        names = summary.features or [f"feature {j}" for j in range(model.n_features_in_)]
        importances = model.feature_importances_
        order = np.argsort(-importances, kind="stable").tolist()
        record["feature_importances"] = {names[j]: float(importances[j]) for j in order if importances[j] > 0}
    record["largest_weights"] = model.in_words(MAX_SHOWN_FEATURES)
    if model.early_stopping:
        scores = model.validation_score_ if len(model.runs_) > 1 else [model.validation_score_]
        record["held_out_accuracy"] = [float(score[-1]) for score in scores]
    return {**record, "training_accuracy": summary.accuracy, "seconds": summary.seconds}


def _fit_table(record: dict[str, Any], gaps: list[Text]) -> Table:
    """Return the fit as tables for people."""
    title = f"{record['formulation']}: {record['examples']} examples, {format_count(record['features'], 'feature')}"
    table = Table(title=Text(title, "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(
        "classes", Text(escape_unprintable(", ".join(f"{name} ({n})" for name, n in record["classes"].items())))
    )
    table.add_row("hypotheses", Text(record["oracle"]))
    if record["nu"] is not None:
        table.add_row("nu", f"{record['nu']:g}{', by cross-validation' if record['nu_by_cross_validation'] else ''}")
    for run, gap in zip(record["runs"], gaps, strict=True):
        class_label = escape_unprintable(f" of {run['class']}") if len(gaps) > 1 else ""
        bounds = "no bound of it is known" if run["lower"] is None else format_interval(run["lower"], run["upper"])
        table.add_row(Text(f"best possible {run['what'] or 'value'}{class_label}"), Text(bounds))
        table.add_row("gap", gap)
        hypotheses = format_count(run["hypotheses"], "hypothesis", "hypotheses")
        table.add_row("boosting", f"{format_count(run['rounds'], 'round')}, {hypotheses} with a weight")
    if record["held_out_accuracy"] is not None:
        table.add_row("accuracy, all examples", f"{record['training_accuracy']:.2%}")
        table.add_row("accuracy, held out", ", ".join(f"{share:.2%}" for share in record["held_out_accuracy"]))
    else:
        table.add_row("training accuracy", f"{record['training_accuracy']:.2%}")
    table.add_row("largest weights", Text("\n".join(map(escape_unprintable, record["largest_weights"]))))
    importances = list((record["feature_importances"] or {}).items())[:MAX_SHOWN_FEATURES]
    if importances:
        lines = [f"{share:.3f}  {escape_unprintable(name)}" for name, share in importances]
        table.add_row("features", Text("\n".join(lines)))
    table.add_row("seconds", f"{record['seconds']:.2f}")
    table.add_row("model", Text(f"{record['model']}, {record['bytes']:,} bytes"))
    if record["certificate"] is not None:
        table.add_row("certificate", Text(escape_unprintable(record["certificate"])))
    return table
