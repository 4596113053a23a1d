"""The options of a run, as one record for Python and the command line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any

import numpy.typing as npt

from boostopt._utils.validation import (
    check_choice,
    check_flag,
    check_flag_or_function,
    check_instance,
    check_integer,
    check_number,
    check_numbers,
    check_optional,
    check_path,
    check_seconds,
)
from boostopt.boosting.boosting_problem import CORRECTIVE_STEPS
from boostopt.boosting.run.combined_hypothesis import AT_ZERO
from boostopt.boosting.run.run import AtZero, Run
from boostopt.boosting.run.trace import TraceRow
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.stopping_rules import Schedule
from boostopt.errors import OptionError, did_you_mean, format_names
from boostopt.oracles.base import HypothesisClass
from boostopt.oracles.matrix_oracle import EDGE_DOMAIN
from boostopt.programs.formulation import Formulation


@dataclass(frozen=True, kw_only=True)
class BoostOptions:
    """The options of a run. Pass the record to `boost` as `options`, or each option by its name.

    Attributes
    ----------
    max_rounds, time_limit
        The limits on the number of updates, at least 1, and on the time in seconds; None for no limit. Each call makes
        at least one round in any time, unless `max_rounds` or a rule ends the run.
    guarantee
        An edge that every answer of the oracle is known to reach; the oracle's own guarantee by default.
    columns_per_round
        The number of hypotheses that the oracle returns in a round, at least 1. Histogram Newton uses at least 16.
    schedule
        The accuracy of the solves; by default loose while the run is far from its end.
    stabilization
        The stabilization of a totally corrective run, which also keeps its programs small; none by default.
    corrective
        The step of update="mlpboost": "line_search" by default, or "step", "pairwise", "blended_pairwise".
    start
        An earlier run over the same examples and class, with any formulation and parameters. The new run begins with
        its hypotheses and weights, and with its upper bound over the class as the new problem has it; histogram Newton
        begins from its own runs only, and with both bounds if the objective is the same. If there is a checkpoint,
        start has no effect.
    final_weights
        "program", "lp" or "scaled"; the formulation sets the default.
    history
        Whether the run stores the weights of every round for `run.at`. The default is True, except for corrective runs
        that may be long.
    nus
        The values of nu (counts) for which the trace also shows the soft margin.
    test
        The test set (X, y), on which every round is tested.
    patience
        The run ends after this number of rounds without a smaller test error, at least 1; None for no such rule. It
        needs `test`.
    at_zero
        The prediction where f(x) = 0, for the test error of the trace: see `Run.predict`.
    checkpoint
        The file in which the run is stored while it continues. If the file exists, the run continues from it.
    checkpoint_rounds, checkpoint_seconds
        The number of rounds between two checkpoints, and the time in seconds after which one is written in any case; by
        default a minute, or more if writing is slow, and a second for histogram Newton.
    progress
        Whether a line on stderr shows bounds, gap and rate; or a function that is called with every row of the trace.

    Raises
    ------
    OptionError
        An option is out of its range.
    """

    max_rounds: int | None = None
    time_limit: float | None = None
    guarantee: float | None = None
    columns_per_round: int = 1
    schedule: Schedule = field(default_factory=Schedule)
    stabilization: Stabilization = field(default_factory=Stabilization)
    corrective: str | None = None
    start: Run | None = None
    final_weights: str | None = None
    history: bool | None = None
    nus: Sequence[float] = ()
    test: tuple[Any, npt.ArrayLike] | None = None
    patience: int | None = None
    at_zero: AtZero = "majority"
    checkpoint: str | PathLike[str] | None = None
    checkpoint_rounds: int = 20
    checkpoint_seconds: float | None = None
    progress: bool | Callable[[TraceRow], None] = False

    def __post_init__(self) -> None:
        """Check and convert each option."""
        checked: dict[str, Any] = {
            "max_rounds": check_optional(check_integer, "max_rounds", self.max_rounds, 1, "None, or a whole number"),
            "time_limit": check_seconds("time_limit", self.time_limit),
            "guarantee": check_optional(check_number, "guarantee", self.guarantee, *EDGE_DOMAIN),
            "columns_per_round": check_integer("columns_per_round", self.columns_per_round, 1),
            "schedule": check_optional(
                check_instance, "schedule", self.schedule, Schedule, *_expected_class("a Schedule")
            )
            or Schedule(),
            "stabilization": check_optional(
                check_instance, "stabilization", self.stabilization, Stabilization, *_expected_class("a Stabilization")
            )
            or Stabilization(),
            "corrective": check_optional(check_choice, "corrective", self.corrective, CORRECTIVE_STEPS),
            "start": check_optional(check_instance, "start", self.start, Run, "a run of boost", "Pass the run itself."),
            "history": check_optional(check_flag, "history", self.history),
            "nus": check_numbers("nus", self.nus, "positive counts of examples", lambda nu: 0.0 < nu < math.inf),
            "patience": check_optional(check_integer, "patience", self.patience, 1, "None, or a whole number"),
            "at_zero": check_choice("at_zero", self.at_zero, AT_ZERO),
            "checkpoint": check_optional(check_path, "checkpoint", self.checkpoint),
            "checkpoint_rounds": check_integer("checkpoint_rounds", self.checkpoint_rounds, 1),
            "checkpoint_seconds": check_seconds("checkpoint_seconds", self.checkpoint_seconds),
            "progress": check_flag_or_function("progress", self.progress),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.patience is not None and self.test is None:
            raise OptionError(
                f"patience needs test examples; got patience={self.patience} and no test. Pass test=(X, y)."
            )


@dataclass(frozen=True, eq=False)
class BoostRequest:
    """The arguments of a run.

    Attributes
    ----------
    formulation
        The formulation.
    oracle
        The examples and the class of hypotheses.
    epsilon
        The accuracy, as the user passes it.
    parameters
        The parameters of the formulation by name.
    options
        The options.
    """

    formulation: Formulation[Any]
    oracle: HypothesisClass
    epsilon: float | None
    parameters: Mapping[str, Any]
    options: BoostOptions


OPTIONS = tuple(field.name for field in fields(BoostOptions))
"""The names of the options of a run."""


def read_options(name: str, options: object) -> BoostOptions:
    """Return checked options; the defaults for None."""
    if options is None:
        return BoostOptions()
    return check_instance(name, options, BoostOptions, *_expected_class("a BoostOptions"))


def _expected_class(description: str) -> tuple[str, str]:
    """Return the description of the class of an option, such as "a Schedule", and the advice for its error message."""
    return description, f"Make one with boostopt.boosting.{description.split()[-1]}(...), or leave it out."


def check_keywords(
    function: str, keywords: Iterable[str], function_keywords: Iterable[str], formulation: Formulation[Any]
) -> None:
    """Raise OptionError for a keyword that is neither one of the function nor a parameter of the formulation."""
    names, parameters = sorted(function_keywords), sorted(formulation.parameters)
    for name in keywords:
        if name not in names and name not in parameters:
            raise OptionError(
                f"unknown keyword {name!r} of {function}.{did_you_mean(name, [*names, *parameters])} Known: its own "
                f"{format_names(names)}; of {formulation.name} {format_names(parameters) or 'none'}."
            )
