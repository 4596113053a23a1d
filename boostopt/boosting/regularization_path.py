"""Regularization paths: boosting at many values of a parameter, where each run starts from its neighbour."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.formatting import format_count, format_interval, html_table
from boostopt._utils.immutable_arrays import writes_named
from boostopt._utils.result_data_frames import data_frame
from boostopt._utils.validation import check_array, check_function, check_optional, invalid_value_error
from boostopt.boosting.boost_function import BOOST_KEYWORDS, boost, schedule_of, select_examples
from boostopt.boosting.boost_options import check_keywords, read_options
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem, rows_left_out
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.limited_formulation import with_limits
from boostopt.boosting.reweighting import Booster
from boostopt.boosting.run.interrupts import Interrupts
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import OptionError, format_names
from boostopt.oracles.base import Hypothesis, HypothesisClass, check_oracle, require_oracle
from boostopt.programs.formulation import Formulation

DECREASING_PARAMETERS = ("nu",)
"""The parameters whose smaller values need more hypotheses; a path begins with the largest value."""


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """The runs of a path.

    Attributes
    ----------
    parameter
        The name of the parameter that varies.
    values
        The values of the parameter in the given order, shape (k,).
    runs
        The run of each value.
    seconds
        The time of each run in seconds, shape (k,).
    """

    parameter: str
    values: Float[Array, " k"]
    runs: tuple[Run, ...]
    seconds: Float[Array, " k"]

    @property
    def certificates(self) -> tuple[ClassCertificate, ...]:
        """The certificate of each run over the class.

        Raises
        ------
        OptionError
            The formulation has no soft margin.
        """
        return tuple(run.class_certificate for run in self.runs)

    @property
    def soft_margin(self) -> Float[Array, " k"]:
        """The certified soft margin of each run."""
        return np.array([certificate.lower for certificate in self.certificates])

    @property
    def lower(self) -> Float[Array, " k"]:
        """The lower bounds of the certificates, which are the soft margins."""
        return self.soft_margin

    @property
    def upper(self) -> Float[Array, " k"]:
        """The upper bounds of the certificates, which no weights over the class can exceed; inf if there is none."""
        return np.array([certificate.upper for certificate in self.certificates])

    @property
    def active(self) -> Int[Array, " k"]:
        """The number of hypotheses with a weight in each run, shape (k,)."""
        return np.array([np.count_nonzero(run.w) for run in self.runs])

    @property
    def rounds(self) -> Int[Array, " k"]:
        """The number of rounds of each run, shape (k,)."""
        return np.array([run.rounds for run in self.runs])

    @property
    def weights(self) -> Float[Array, "k t"]:
        """The weights of all hypotheses of the path: a row for each value, columns in the order of `hypotheses`."""
        w = np.zeros((len(self.runs), len(self._longest.w)))
        for row, run in zip(w, self.runs, strict=True):
            row[: len(run.w)] = run.w
        return w

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        """All hypotheses that the path collected; each run has the first ones of them."""
        return self._longest.hypotheses

    @property
    def _longest(self) -> Run:
        """The run with the most hypotheses, which was made last."""
        return max(self.runs, key=lambda run: len(run.w))

    def to_dataframe(self) -> Any:
        """Return a row for each value: the interval, the rounds, hypotheses and seconds, and why the run ended.

        If there is no soft margin over a class, the interval is that over the collected hypotheses.

        Raises
        ------
        OptionError
            pandas is not installed.
        """
        certificates = self._certificates
        return data_frame(
            {
                self.parameter: self.values.tolist(),
                "lower": [certificate.lower for certificate in certificates],
                "upper": [certificate.upper for certificate in certificates],
                "gap": [certificate.gap for certificate in certificates],
                "rounds": self.rounds.tolist(),
                "hypotheses": [len(run.w) for run in self.runs],
                "active": self.active.tolist(),
                "seconds": self.seconds.tolist(),
                "reason": [run.reason for run in self.runs],
            }
        )

    @property
    def _certificates(self) -> Sequence[ClassCertificate | Certificate]:
        """The certificate of each run, over the class if there is a soft margin."""
        has_objective = self.runs[0].record.problem.objective is not None
        return self.certificates if has_objective else tuple(run.certificate for run in self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[tuple[float, Run]]:
        """Iterate over the values with their runs."""
        return zip(self.values.tolist(), self.runs, strict=True)

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        values = f"{format_count(len(self), 'value')} of {self.parameter} from {low:g} to {high:g}"
        return f"RegularizationPath({values}, {format_count(int(self.rounds.sum()), 'round')})"

    def _repr_html_(self) -> str:
        has_objective = self.runs[0].record.problem.objective is not None
        rows = [
            [value, run.rounds, np.count_nonzero(run.w), format_interval(certificate.lower, certificate.upper)]
            for (value, run), certificate in zip(self, self._certificates, strict=True)
        ]
        measures = sorted({run.record.problem.measure for run in self.runs})
        header = f"{' or '.join(measures)} over the class" if has_objective else "over the hypotheses collected"
        return html_table(repr(self), rows, (self.parameter, "rounds", "hypotheses", header))


def path(
    formulation: Any,
    oracle: HypothesisClass,
    *,
    on_run: Callable[[float, Run], None] | None = None,
    **options: Any,
) -> RegularizationPath:
    """Boost at many values of a parameter; each run starts with the hypotheses and weights of its neighbour.

    For any order of the values, the path goes from the largest nu to the smallest, where the problem is the easiest,
    and from the smallest value of any other parameter to the largest. Every run has its own certificate, which does
    not depend on the other runs.

    Parameters
    ----------
    formulation, oracle
        As in `boost`.
    on_run
        A function that is called with each value and its run, when the run ends.
    **options
        Options and parameters of each run, as in `boost`, without start and checkpoint. One parameter of the
        formulation, such as nu, eta or C, has a list of values, shape (k,). As in `boost`, the values of nu are
        counts. The other parameters are single numbers, or functions of the round.

    Returns
    -------
    The path, with its runs in the order of the values. After an interrupt (Ctrl-C), it has the values reached so far.

    Raises
    ------
    OptionError
        No parameter or more than one has several values; or an option is unknown, or belongs to single runs.
    ProblemError
        A value is out of its domain, or the oracle returns something that is not a column.
    """
    check_oracle(oracle)
    on_run = check_optional(check_function, "each", on_run)
    formulation_object = resolve_formulation(formulation)
    check_keywords("path", options, BOOST_KEYWORDS, formulation_object)
    d0, example_parameters = select_examples(
        formulation_object,
        oracle,
        options.get("d0"),
        {name: options[name] for name in formulation_object.example_parameters & options.keys()},
    )
    options = {**options, **example_parameters, **({} if d0 is None else {"d0": d0})}
    name, values, fixed_parameters = _path_values(formulation_object, options)
    record = read_options("options", options.get("options"))
    for single in ("start", "checkpoint"):
        if single in options or getattr(record, single) is not None:
            raise OptionError(
                f"{single} must be that of a single run; got it for a path of {len(values)} runs. Leave it out."
            )
    if isinstance(formulation_object, Booster):
        raise OptionError(
            f"a path needs runs that can begin from another run; {formulation_object.name} sets its distribution from "
            "all of its own rounds. Boost at each value separately."
        )
    oracle = require_oracle(oracle, "a path, whose runs begin from each other")
    schedule = schedule_of(formulation_object, oracle, fixed_parameters, options.get("backend", "auto"), record)
    first_values, limited_object = schedule.values(1, None), with_limits(formulation_object, oracle)
    for value in values.tolist():  # before the first run, because a wrong value would lose the earlier runs
        parameters = {**fixed_parameters, **first_values, name: value}
        with rows_left_out(formulation_object, oracle.N, oracle.n_rows):
            Problem.create(limited_object, oracle.c, d0, options.get("epsilon"), options.get("update"), parameters)
    order = np.argsort(-values if name in DECREASING_PARAMETERS else values, kind="stable").tolist()
    runs: dict[int, Run] = {}
    seconds = np.zeros(len(values))
    earlier = None
    with Interrupts() as interrupts:  # each run handles interrupts itself; this context handles those between two runs
        try:
            for k in order:
                start_time = time.perf_counter()
                arguments: dict[str, Any] = {**options, name: float(values[k])}
                # The first run also uses column generation, because the other runs start from its end.
                arguments["update"] = options.get("update") or formulation_object.boosting.update
                earlier = boost(formulation, oracle, start=earlier, **arguments)
                runs[k], seconds[k] = earlier, time.perf_counter() - start_time
                if on_run is not None:
                    with writes_named("each"):
                        on_run(float(values[k]), earlier)
                if earlier.stop_reason is StopReason.INTERRUPTED or interrupts.requested:
                    break
        except KeyboardInterrupt:
            if not runs:
                raise
    indices = sorted(runs)
    return RegularizationPath(name, values[indices], tuple(runs[k] for k in indices), seconds[indices])


def _path_values(
    formulation: Formulation[Any], options: Mapping[str, Any]
) -> tuple[str, Float[Array, " k"], dict[str, Any]]:
    """Return the name and the values of the parameter with several values, and the other parameters."""
    parameters = {name: options[name] for name in formulation.parameters if name in options}
    numbers = [
        name
        for name, field in formulation.parameters.items()
        if field.domain.kind == "number" and name not in BOOST_KEYWORDS
    ]
    arrays: dict[str, Any] = {}
    for name in numbers:
        if parameters.get(name) is None or callable(parameters[name]):
            continue
        array = check_array(name, parameters[name], OptionError)
        if array.size and array.dtype.kind not in "iuf":
            raise invalid_value_error(name, "a list of numbers, or one", parameters[name], "Pass such a list.")
        arrays[name] = array
    several = [name for name, values in arrays.items() if values.ndim == 1]
    if len(several) != 1 or any(values.ndim > 1 for values in arrays.values()):
        shapes = ", ".join(f"{name} of shape {values.shape}" for name, values in arrays.items()) or "none"
        raise OptionError(
            f"expected several values of one parameter of {formulation.name} "
            f"({format_names(numbers) or 'it has none'}); got {shapes}. Pass a list for one of them."
        )
    name = several[0]
    if not len(arrays[name]):
        raise OptionError(f"a path needs at least one value of {name}; got none. Pass a list of them.")
    return name, arrays[name].astype(np.float64), {key: value for key, value in parameters.items() if key != name}
