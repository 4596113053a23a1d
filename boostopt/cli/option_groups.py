"""Options that several commands share, as records: for reading data, parameters, drawn columns, classes and runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import DEFAULT_EPSILON, Problem, round_parameters
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
    RandomState,
    Reflexive,
    Set,
    SetOrFolder,
    Solver,
    TimeLimit,
    Update,
    Weights,
    ZeroBased,
)
from boostopt.cli.oracle_options import make_oracle
from boostopt.data.class_labels import to_signs
from boostopt.data.datasets import Dataset, load_dataset
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles import Oracle as ClassOracle
from boostopt.oracles.base import HypothesisClass
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program

DEFAULT_POSITIVE_LABELS = ("1", "True")
"""Labels that count as 1 without a word."""


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The way in which a data file is read: see `load_dataset`."""

    label: Label = "label"
    positive: Positive = None
    weights: Weights = None
    drop: Drop = None
    zero_based: ZeroBased = None
    missing_values: MissingValues = None

    def read_dataset(self, data: str) -> Dataset:
        """Return the data set of a file."""
        missing = split_names(self.missing_values)
        dataset = load_dataset(data, self.label, self.positive, self.weights, self.drop or (), self.zero_based, missing)
        if self.positive is not None and dataset.U is not None:
            print_error(f"warning: {data} holds U, which has no classes: --positive has no effect.")
        return dataset

    def load_dataset(self, data: str) -> Dataset:
        """Return the data set of a file; say what of it is not read, and which class counts as 1 if nobody chose."""
        dataset = self.read_dataset(data)
        warn_about_unread_arrays(data, dataset.unread)
        if self.positive is None and dataset.classes and dataset.classes[1] not in DEFAULT_POSITIVE_LABELS:
            negative, positive = dataset.classes
            print_error(f"{data}: {positive} counts as 1, {negative} as -1; --positive chooses another.")
        return dataset

    def on_cluster(self, data: str) -> ClusterTable:
        """Return the examples of parquet files on a cluster, with labels -1 and 1."""
        missing = split_names(self.missing_values)

        def known(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return to_signs(data, labels, len(labels), self.positive, missing=missing)[0]

        return ClusterTable.read(data, self.label, self.weights, self.drop or (), known, missing)


@dataclass(frozen=True, kw_only=True)
class StumpOptions:
    """The choice of hypotheses by the examples."""

    columns: Columns = DEFAULT_COLUMNS
    hypotheses: Hypotheses = DEFAULT_HYPOTHESES
    random_state: RandomState = 0

    def margin_matrix(self, dataset: Dataset) -> Any:
        """Return the margins of the hypotheses on a data set, or its own U; say if nothing is chosen."""
        if dataset.U is not None and self != StumpOptions():
            print_error(
                f"warning: {dataset.name} holds U: --columns, --hypotheses and --random-state choose nothing from it."
            )
        return dataset.margin_matrix(self.columns, self.random_state, self.hypotheses)


@dataclass(frozen=True, kw_only=True)
class ParameterOptions:
    """The parameters of a formulation as typed."""

    nu: Nu = None
    eta: Eta = None
    epsilon: Epsilon = None
    set: Set = None

    @property
    def named_parameters(self) -> dict[str, Any]:
        """The parameters with an option of their own."""
        return {"nu": self.nu, "eta": self.eta, "epsilon": self.epsilon}

    def read_dataset(self, page: Formulation[Any], total: float, N: int) -> dict[str, Any]:
        """Return the parameters by name, each given once; `total` is the sum of c over N examples."""
        pairs = [parse_setting(text, page) for text in self.set or []]
        further = dict(pairs)
        if len(further) < len(pairs):
            raise OptionError(f"--set names a parameter twice: {', '.join(self.set or [])}.")
        named = {**self.named_parameters, "nu": None if self.nu is None else parse_nu(self.nu, total, N, page)}
        for name in further:
            if named.get(name) is not None:
                raise OptionError(f"{name} is given twice, by --{name} and by --set; choose one.")
        return named | further

    def program(self, page: Formulation[Any], dataset: Dataset, draw: StumpOptions) -> Program:
        """Draw the columns and bind the formulation."""
        return self.bind(page, dataset, draw.margin_matrix(dataset))

    def bind(self, page: Formulation[Any], dataset: Dataset, U: Any) -> Program:
        """Bind the formulation to the columns U, shape (N, t), over the examples of a data set."""
        N = U.shape[0]
        parameters = self.read_dataset(page, total_multiplicity(dataset, N), N)
        validate_required_parameters(page, parameters)
        return page.bind(U, c=dataset.c, d0=dataset.d0, **parameters)


@dataclass(frozen=True, kw_only=True)
class BoostParameters(ParameterOptions):
    """The parameters of a boosted formulation: epsilon also determines when boosting stops."""

    epsilon: Accuracy = None


@dataclass(frozen=True, kw_only=True)
class ExportParameters(ParameterOptions):
    """The parameters of an exported formulation; without a formulation, the folder of the standard set."""

    set: SetOrFolder = None

    @property
    def folder(self) -> str | None:
        """The folder, if nothing else is given."""
        if self.set is None or len(self.set) != 1 or any(value is not None for value in self.named_parameters.values()):
            return None
        return self.set[0]


@dataclass(frozen=True, kw_only=True)
class HypothesisClassOptions:
    """The class of hypotheses that boosting searches."""

    oracle: Oracle = None
    option: OracleOptions = None
    reflexive: Reflexive = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of the class by name."""
        return parse_options(self.option, "--option")

    def make_oracle(self, dataset: Dataset, random_state: int) -> tuple[ClassOracle, Any]:
        """Return the oracle over a data set, and the reference distribution of the examples that count."""
        return make_oracle(dataset, self.oracle, self.options, self.reflexive, random_state)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run: the update, the backend, and limits."""

    update: Update = None
    backend: Solver = "auto"
    columns_per_round: ColumnsPerRound = 1
    max_rounds: MaxRounds = None
    time_limit: TimeLimit = None

    def to_boost_options(self, checkpoint: str | None = None) -> BoostOptions:
        """Return them as options of `boost`."""
        return BoostOptions(
            columns_per_round=self.columns_per_round,
            max_rounds=self.max_rounds,
            time_limit=self.time_limit,
            checkpoint=checkpoint,
            progress=True,
        )

    def problem(self, page: Formulation[Any], oracle: HypothesisClass, d0: Any, parameters: dict[str, Any]) -> Problem:
        """Return the formulation to boost. Errors are raised before any work, in the terms of the command."""
        values = {name: value for name, value in parameters.items() if value is not None}
        epsilon = values.pop("epsilon", None)
        # On a cluster two examples represent all others, because only their weights matter here.
        c = oracle.c if isinstance(oracle, ClassOracle) else np.full(2, oracle.total / 2)
        try:
            return Problem.create(page, c, d0, epsilon, self.update, values)
        except ProblemError:
            validate_required_parameters(
                page, {**values, "epsilon": DEFAULT_EPSILON}, round_parameters(page, DEFAULT_EPSILON)
            )
            raise
