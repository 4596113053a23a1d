"""Options that several commands share, as records: files, columns, parameters, hypothesis classes and runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import DEFAULT_EPSILON, Problem, round_parameters
from boostopt.cli.application import print_error, warn_about_unread_arrays
from boostopt.cli.cluster_data import ClusterTable
from boostopt.cli.option_parsing import (
    parse_nu,
    parse_options,
    parse_setting,
    split_names,
    total_multiplicity,
    validate_required_parameters,
)
from boostopt.cli.option_types import (
    DEFAULT_COLUMNS,
    DEFAULT_HYPOTHESES,
    Accuracy,
    Columns,
    ColumnsPerRound,
    Drop,
    Epsilon,
    Eta,
    Hypotheses,
    Label,
    MaxRounds,
    MissingValues,
    Nu,
    Oracle,
    OracleOptions,
    Positive,
    PrintsCsv,
    PrintsJson,
    RandomState,
    Reflexive,
    Seed,
    Set,
    SetOrFolder,
    Solver,
    TimeLimit,
    Update,
    Weights,
    ZeroBased,
)
from boostopt.cli.oracle_options import make_oracle
from boostopt.data.class_labels import infer_label_type, to_signs
from boostopt.data.datasets import Dataset, LabelledTable, load_dataset, load_table
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles import Oracle as ClassOracle
from boostopt.oracles.base import HypothesisClass
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program

DEFAULT_POSITIVE_LABELS = ("1", "True")
"""Labels that count as 1 without a message."""


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """The options by which examples and labels are read from a file or a cluster."""

    label: Label = "label"
    weights: Weights = None
    drop: Drop = None
    zero_based: ZeroBased = None
    missing_values: MissingValues = None

    @property
    def missing(self) -> list[str] | None:
        """The spellings of a missing label; None for the default."""
        return split_names(self.missing_values)

    def read_cluster_table(
        self, data: str, convert_labels: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    ) -> ClusterTable:
        """Return the table of parquet files on a cluster, with converted labels."""
        return ClusterTable.read(data, self.label, self.weights, self.drop or (), convert_labels, self.missing)


@dataclass(frozen=True, kw_only=True)
class FileOptions(SourceOptions):
    """The options by which a data file of two classes is read: see `load_dataset`."""

    positive: Positive = None

    def read_dataset(self, data: str) -> Dataset:
        """Return the data set of a file; warn if an option has no effect."""
        dataset = load_dataset(
            data, self.label, self.positive, self.weights, self.drop or (), self.zero_based, self.missing
        )
        if self.positive is not None and dataset.U is not None:
            print_error(f"warning: {data} holds U, which has no classes: --positive has no effect.")
        return dataset

    def load_dataset(self, data: str) -> Dataset:
        """Return the data set of a file; report unread arrays, and the label that counts as 1 if no option sets it."""
        dataset = self.read_dataset(data)
        warn_about_unread_arrays(data, dataset.unread)
        if self.positive is None and dataset.classes and dataset.classes[1] not in DEFAULT_POSITIVE_LABELS:
            negative, positive = dataset.classes
            print_error(f"{data}: {positive} counts as 1, {negative} as -1; --positive chooses another.")
        return dataset

    def on_cluster(self, data: str) -> ClusterTable:
        """Return the examples of parquet files on a cluster, with labels -1 and 1."""
        return self.read_cluster_table(
            data, lambda labels: to_signs(data, labels, len(labels), self.positive, missing=self.missing)[0]
        )


@dataclass(frozen=True, kw_only=True)
class TableOptions(SourceOptions):
    """The options by which a table of examples with two or more classes is read: see `load_table`."""

    def load_table(self, data: str) -> LabelledTable:
        """Return the table of a file; report unread arrays."""
        table = load_table(data, self.label, self.weights, self.drop or (), self.zero_based, self.missing)
        warn_about_unread_arrays(data, table.unread)
        return table

    def on_cluster(self, data: str) -> ClusterTable:
        """Return the table of parquet files on a cluster."""
        return self.read_cluster_table(
            data, lambda labels: infer_label_type(data, labels, len(labels), missing=self.missing)
        )


@dataclass(frozen=True, kw_only=True)
class StumpOptions:
    """The options by which stumps become the columns of a program."""

    columns: Columns = DEFAULT_COLUMNS
    hypotheses: Hypotheses = DEFAULT_HYPOTHESES
    random_state: RandomState = 0

    def margin_matrix(self, dataset: Dataset) -> Any:
        """Return the margins of stumps on a data set, or its U; warn if it has U and an option has no effect."""
        if dataset.U is not None and self != StumpOptions():
            print_error(
                f"warning: {dataset.name} holds U: --columns, --hypotheses and --random-state choose nothing from it."
            )
        return dataset.margin_matrix(self.columns, self.random_state, self.hypotheses)


@dataclass(frozen=True, kw_only=True)
class ParameterOptions:
    """The parameters of a formulation, as the user types them."""

    nu: Nu = None
    eta: Eta = None
    epsilon: Epsilon = None
    set: Set = None

    @property
    def named_parameters(self) -> dict[str, Any]:
        """The parameters that have an option."""
        return {"nu": self.nu, "eta": self.eta, "epsilon": self.epsilon}

    def parse_parameters(self, formulation: Formulation[Any], total: float, N: int) -> dict[str, Any]:
        """Return the parameters by name, None for a missing one; `total` is the sum of c over N examples.

        Raises
        ------
        OptionError
            A parameter is set twice, the formulation does not have it, or its text is no number.
        """
        pairs = [parse_setting(text, formulation) for text in self.set or []]
        settings = dict(pairs)
        if len(settings) < len(pairs):
            raise OptionError(f"--set names a parameter twice: {', '.join(self.set or [])}. Name it once.")
        named = {**self.named_parameters, "nu": None if self.nu is None else parse_nu(self.nu, total, N, formulation)}
        for name in settings:
            if named.get(name) is not None:
                raise OptionError(f"{name} is set twice, by --{name} and by --set; choose one.")
        return named | settings

    def program(self, formulation: Formulation[Any], dataset: Dataset, draw: StumpOptions) -> Program:
        """Return the program of a formulation over a data set with the columns of `draw`."""
        return self.bind(formulation, dataset, draw.margin_matrix(dataset))

    def bind(self, formulation: Formulation[Any], dataset: Dataset, U: Any) -> Program:
        """Return the program of a formulation over the columns U, shape (N, t), of a data set."""
        N = U.shape[0]
        parameters = self.parse_parameters(formulation, total_multiplicity(dataset, N), N)
        validate_required_parameters(formulation, parameters)
        return formulation.bind(U, c=dataset.c, d0=dataset.d0, **parameters)


@dataclass(frozen=True, kw_only=True)
class BoostParameters(ParameterOptions):
    """The parameters of a formulation to boost: epsilon is also the accuracy at which boosting stops."""

    epsilon: Accuracy = None


@dataclass(frozen=True, kw_only=True)
class ExportParameters(ParameterOptions):
    """The parameters of a formulation to export; without a formulation, `--set` is the folder of the standard set."""

    set: SetOrFolder = None

    @property
    def folder(self) -> str | None:
        """The folder of the standard set; None if other parameters are set too."""
        if self.set is None or len(self.set) != 1 or any(value is not None for value in self.named_parameters.values()):
            return None
        return self.set[0]


@dataclass(frozen=True)
class BindingOptions:
    """The options that turn a formulation and data into a program.

    Attributes
    ----------
    files
        The options by which files are read; `label`, `weights` and `drop` apply to CSV and parquet files.
    parameters
        The parameters; of several formulations, each parameter applies to those that have it.
    draw
        The options by which stumps become columns.
    """

    files: FileOptions
    parameters: ParameterOptions
    draw: StumpOptions

    def program(self, formulation: Formulation[Any], dataset: Dataset) -> Program:
        """Return the program of a formulation over a data set."""
        return self.parameters.program(formulation, dataset, self.draw)


@dataclass(frozen=True)
class ExportBinding(BindingOptions):
    """The options that turn a formulation and data into a program to export."""

    parameters: ExportParameters


@dataclass(frozen=True, kw_only=True)
class HypothesisClassOptions:
    """The options of the hypothesis class that boosting searches."""

    oracle: Oracle = None
    option: OracleOptions = None
    reflexive: Reflexive = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of the class by name."""
        return parse_options(self.option, "--option")

    def make_oracle(self, dataset: Dataset, random_state: int) -> tuple[ClassOracle, Any]:
        """Return the oracle over a data set, and the reference distribution of examples with positive multiplicity."""
        return make_oracle(dataset, self.oracle, self.options, self.reflexive, random_state)


@dataclass(frozen=True, kw_only=True)
class SeededClassOptions(HypothesisClassOptions):
    """The options of the hypothesis class that boosting searches, with the seed of random hypotheses."""

    random_state: Seed = 0

    def make_seeded_oracle(self, dataset: Dataset) -> tuple[ClassOracle, Any]:
        """Return the oracle over a data set, and the reference distribution of examples with positive multiplicity."""
        return self.make_oracle(dataset, self.random_state)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run: the update, the backend, and limits."""

    update: Update = None
    backend: Solver = "auto"
    columns_per_round: ColumnsPerRound = 1
    max_rounds: MaxRounds = None
    time_limit: TimeLimit = None

    def to_boost_options(self, checkpoint: str | None = None) -> BoostOptions:
        """Return the options of `boost`, with progress on the standard error."""
        return BoostOptions(
            columns_per_round=self.columns_per_round,
            max_rounds=self.max_rounds,
            time_limit=self.time_limit,
            checkpoint=checkpoint,
            progress=True,
        )

    def problem(
        self, formulation: Formulation[Any], oracle: HypothesisClass, d0: Any, parameters: dict[str, Any]
    ) -> Problem:
        """Return the problem of a run; errors about parameters are raised before any work and name options."""
        values = {name: value for name, value in parameters.items() if value is not None}
        epsilon = values.pop("epsilon", None)
        # Only the sum of c matters here, so two examples represent the rows of a cluster.
        c = oracle.c if isinstance(oracle, ClassOracle) else np.full(2, oracle.total / 2)
        try:
            return Problem.create(formulation, c, d0, epsilon, self.update, values)
        except ProblemError:
            validate_required_parameters(
                formulation, {**values, "epsilon": DEFAULT_EPSILON}, round_parameters(formulation, DEFAULT_EPSILON)
            )
            raise


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """The format in which a command prints a table of results.

    Raises
    ------
    OptionError
        Both formats are requested.
    """

    json: PrintsJson = False
    csv: PrintsCsv = False

    def __post_init__(self) -> None:
        if self.json and self.csv:
            raise OptionError("--json and --csv exclude each other; choose one.")
