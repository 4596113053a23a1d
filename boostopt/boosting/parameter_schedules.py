"""Schedules of parameters: values that are functions of the round and of the trace so far.

After a change, the run continues with the collected hypotheses and their weights. Bounds of the program are those of
the new one, and the oracle bounds the class again: the certificate of the run is that of its last program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import ADDITIVE_UPDATES, Problem
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.trace import TraceRow
from boostopt.boosting.updates.base import Update
from boostopt.errors import OptionError, ProblemError, format_names, short_repr
from boostopt.programs.boosting_spec import UpdateKind

ParameterFunction = Callable[[int, TraceRow | None], Any]
"""A parameter as a function of the number of the next round, from 1, and of the last row of the trace, None first."""


@dataclass(frozen=True, eq=False)
class ParameterSchedule:
    """Parameters that change from round to round.

    Attributes
    ----------
    functions
        The functions of the parameters, by name.
    select
        Function that returns parameters for the examples that count.
    make_update
        Function that returns the update of a problem.
    """

    functions: Mapping[str, ParameterFunction]
    select: Callable[[Mapping[str, Any]], dict[str, Any]]
    make_update: Callable[[Problem], Update]

    def __post_init__(self) -> None:
        """Raise OptionError for a function that does not take two arguments."""
        for name, function in self.functions.items():
            try:
                signature(function).bind(1, None)
            except (TypeError, ValueError):
                raise OptionError(
                    f"{name} must be a value, or a function of the round and the last row of the trace; got "
                    f"{short_repr(function)}. Pass one such as lambda number, row: 10.0 * number."
                ) from None

    @property
    def description(self) -> str:
        """The parameters in words, for messages; "" without any."""
        return f"{format_names(self.functions)} as a function of the round" if self.functions else ""

    def values(self, number: int, row: TraceRow | None) -> dict[str, Any]:
        """Return the values of a round.

        Raises
        ------
        ProblemError
            A function returns None.
        """
        values = {name: function(number, row) for name, function in self.functions.items()}
        for name, value in values.items():
            if value is None or callable(value):
                raise ProblemError(
                    f"{name} must have a value in each round; for round {number}, got {short_repr(value)} from its "
                    "function. Return a number, also if the row of the trace is None."
                )
        return self.select(values)

    def next_problem(self, record: RunData) -> Problem | None:
        """Return the problem of the next round; None if it is that of the last round."""
        present = vars(record.problem.template.parameters)
        values = self.values(record.state.round + 1, record.trace[-1])
        if all(np.array_equal(value, present[name]) for name, value in values.items()):
            return None
        return record.problem.with_parameters(values)

    def check(self, problem: Problem, options: BoostOptions) -> None:
        """Raise OptionError if a run with these options supports no schedule."""
        if problem.update in (*ADDITIVE_UPDATES, UpdateKind.NEWTON):
            raise OptionError(
                f"a parameter may be a function of the round if the update is corrective or solves programs; got "
                f"{self.description}, and the update of {problem.formulation.name} is {problem.update!r}. Pass a "
                'value, or update="total" if the formulation has it.'
            )
        for option in ("checkpoint", "history"):
            if getattr(options, option):
                raise OptionError(
                    f"{option} needs one program for all rounds; got {self.description}. Leave out {option}, or pass a "
                    "value."
                )
