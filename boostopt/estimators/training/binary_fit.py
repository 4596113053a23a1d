"""The fit of one binary problem: checked settings of a classifier, and the run that they determine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import MAX_INT, is_real_number
from boostopt.backends.base import Backend
from boostopt.boosting.api import boost
from boostopt.boosting.histogram_newton.selection import histogram_inputs, is_default
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem, round_parameters
from boostopt.boosting.registry import booster_hint
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.stabilization import RECOMMENDED_COLUMNS, RECOMMENDED_STABILIZATION
from boostopt.errors import OptionError, ProblemError, short_repr, unknown_name
from boostopt.estimators.training.constant_hypotheses import ClassWithConstants, OracleWithConstants
from boostopt.estimators.training.hypothesis_classes import make_distributed_class, make_oracle, validate_serializable
from boostopt.estimators.training.margin_warnings import (
    SMALL_SOFT_MARGIN,
    MarginSummary,
    Recommendations,
    warn_about_margins,
)
from boostopt.estimators.training.training_data import Values, WeightedExamples
from boostopt.estimators.training.validation_set import ValidationSet
from boostopt.functions.numerics.capped_softmax import CAP_SUM_TOL
from boostopt.oracles import Oracle
from boostopt.oracles.base import HypothesisClass, require_oracle
from boostopt.oracles.weight_scaling import MACHINE_EPSILON
from boostopt.programs.boosting_spec import UpdateKind
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import check_per_example_array, scaling_advice

CLASSIFIER_PARAMETERS = ("nu", "eta", "epsilon")
"""Parameters of formulations that are also parameters of the classifier."""

LIMIT_WARNINGS = (
    (StopReason.ROUND_LIMIT, "max_iter", "the limit of max_iter = {} rounds was reached"),
    (StopReason.TIME_LIMIT, "time_limit", "the limit of time_limit = {:g} seconds was reached"),
)
"""The limits at which runs end: the reason, the parameter that sets the limit, and the text of the warning."""


@dataclass(frozen=True, eq=False)
class FitSettings:
    """The settings of a fit: the parameters of the classifier by their names, checked.

    Attributes
    ----------
    formulation
        The formulation.
    seed
        The seed of random choices, at least 0; None for the oracle's default seed.

    Raises
    ------
    OptionError
        A parameter has the wrong type, or is out of its range.
    """

    formulation: Formulation[Any]
    nu: Any
    epsilon: Any
    eta: Any
    parameters: Any
    base: Any
    base_options: Any
    reflexive: Any
    intercept: Any
    final_weights: Any
    backend: Any
    max_iter: Any
    time_limit: Any
    n_jobs: Any
    checkpoint: Any
    early_stopping: Any
    validation_fraction: Any
    n_iter_no_change: Any
    probability: Any
    verbose: Any
    seed: int | None

    def __post_init__(self) -> None:
        nu, rounds, seconds, jobs = self.nu, self.max_iter, self.time_limit, self.n_jobs
        file, verbose = self.checkpoint, self.verbose
        fraction, patience = self.validation_fraction, self.n_iter_no_change
        expected = (
            (
                "nu",
                self.chooses_nu or (is_bounded_number(nu) and (nu >= 1 if is_integer(nu) else 0 < nu <= 1)),
                "a float in (0, 1], a share of the sum of the weights, or a whole number of examples, at least 1, or "
                '"auto"',
            ),
            ("epsilon", is_bounded_number(self.epsilon) and 0 < self.epsilon < math.inf, "a positive number"),
            (
                "eta",
                self.eta is None or is_bounded_number(self.eta),
                "a positive number, or None for the theoretical value",
            ),
            ("parameters", _is_name_mapping(self.parameters), "a mapping from names to values, or None"),
            ("base_options", _is_name_mapping(self.base_options), "a mapping from names to values, or None"),
            ("reflexive", isinstance(self.reflexive, bool | np.bool_), "True or False"),
            ("intercept", isinstance(self.intercept, bool | np.bool_), "True or False"),
            ("final_weights", self.final_weights is None or isinstance(self.final_weights, str), "a string, or None"),
            ("backend", isinstance(self.backend, str | Backend), "the name of a backend, or one"),
            (
                "max_iter",
                rounds is None or (is_integer(rounds) and rounds >= 1),
                "a whole number of at least 1, or None",
            ),
            (
                "time_limit",
                seconds is None or (is_bounded_number(seconds) and seconds > 0),
                "a positive number of seconds, or None",
            ),
            ("n_jobs", jobs is None or (is_integer(jobs) and jobs != 0), "a whole number other than 0, or None"),
            ("early_stopping", isinstance(self.early_stopping, bool | np.bool_), "True or False"),
            ("probability", isinstance(self.probability, bool | np.bool_), "True or False"),
            (
                "validation_fraction",
                fraction is None
                or (is_bounded_number(fraction) and (fraction >= 1 if is_integer(fraction) else 0 < fraction < 1)),
                "a float in (0, 1), a share of the examples, or a whole number of them, or None",
            ),
            ("n_iter_no_change", is_integer(patience) and patience >= 1, "a whole number of at least 1"),
            ("checkpoint", file is None or (isinstance(file, str | PathLike) and file != ""), "a path, or None"),
            (
                "verbose",
                isinstance(verbose, bool | int | np.bool_) or (callable(verbose) and not isinstance(verbose, type)),
                "True, False, or a function of a label and a row of a trace",
            ),
        )
        for name, holds, words in expected:
            if not holds:
                raise OptionError(f"{name} must be {words}; got {short_repr(getattr(self, name))}. Pass such a value.")
        if self.chooses_nu and "nu" not in self.formulation.parameters:
            raise OptionError(
                f"nu='auto' needs a formulation with the parameter nu; {self.formulation.name} does not have "
                "it. Search "
                "its own parameters, by GridSearchCV."
            )
        if rounds is None and seconds is None and self.formulation.boosting.update is UpdateKind.PROJECTION:
            raise OptionError(
                f"{self.formulation.name} needs a limit, because its stopping rule may never hold; got "
                "max_iter=None and "
                "time_limit=None. Pass one of them."
            )
        for name in self.parameters or {}:
            if name in CLASSIFIER_PARAMETERS:
                raise OptionError(f"{name} is a parameter of the classifier; got it in parameters. Set {name} itself.")
            if name not in self.formulation.parameters:
                raise unknown_name(
                    f"parameter of {self.formulation.name}",
                    name,
                    set(self.formulation.parameters) - set(CLASSIFIER_PARAMETERS),
                )
        if self.formulation.columns is not None and (advice := booster_hint(self.formulation)):
            raise OptionError(
                f"{self.formulation.name} states one update, not a program over all hypotheses.{advice} Set "
                "formulation to it."
            )
        self._validate_required_parameters()

    @property
    def chooses_nu(self) -> bool:
        """Whether the fit chooses nu by cross-validation."""
        return isinstance(self.nu, str) and self.nu == "auto"

    def _validate_required_parameters(self) -> None:
        """Raise ProblemError for a required parameter that neither `parameters` nor the classifier sets."""
        names = {name for name, value in (self.parameters or {}).items() if value is not None}
        names |= {*CLASSIFIER_PARAMETERS, *round_parameters(self.formulation, float(self.epsilon))}
        for name, parameter in self.formulation.parameters.items():
            if parameter.required and name not in names:
                raise ProblemError(
                    f"{self.formulation.name} needs {name}, {parameter.meaning}, in {parameter.domain.text}; got none. "
                    f'Pass parameters={{"{name}": ...}}.'
                )

    def values_of(self, N: int) -> Values:
        """Return the parameters that have one value for each of N examples.

        Raises
        ------
        ProblemError
            A parameter is not an array of N valid numbers.
        """
        advice = "Pass those of these rows; in cross-validation pass them to fit as {0}=..., to be split with the rows."
        named_values = {
            name: value
            for name, value in (self.parameters or {}).items()
            if name in self.formulation.example_parameters
        }
        return {
            name: check_per_example_array(name, values, N, "row of X", advice.format(name))
            for name, values in named_values.items()
            if values is not None
        }

    def examples(self, examples: WeightedExamples) -> WeightedExamples:
        """Return the examples that the program needs: merged examples, or the examples as they are.

        Merging equal examples preserves the program only if the program is symmetric in the examples.
        """
        return examples.merged() if self.formulation.is_symmetric else examples

    def oracle_and_parameters(
        self, examples: WeightedExamples, k: int, is_stored: bool = False
    ) -> tuple[Oracle, dict[str, Any]]:
        """Return the oracle over the examples, and the parameters of the formulation.

        Parameters
        ----------
        examples, k
            As in `fit_binary`.
        is_stored
            Whether a checkpoint stores the run. The hypotheses must then be plain numbers.
        """
        codes = (examples.codes == k).astype(np.int64)
        examples = examples.merged(codes) if self.formulation.is_symmetric else replace(examples, codes=codes)
        c, parameters = self.bound(examples.c)
        signs = np.where(examples.codes == 1, 1, -1).astype(np.int8)
        oracle = make_oracle(self.base, self.base_options, bool(self.reflexive), self.seed, examples.X, signs, c)
        if is_stored:
            validate_serializable(oracle)
        if self.intercept and not callable(self.base):
            oracle = OracleWithConstants(oracle, examples.X.shape[1], float(self.epsilon))
        return oracle, {**parameters, **examples.values}

    def fit_binary(
        self,
        examples: WeightedExamples,
        k: int,
        warm_start_run: Run | None,
        checkpoint_path: Any,
        label: Any = None,
        validation_set: ValidationSet | None = None,
    ) -> Run:
        """Boost one class against the rest, and return the run.

        Parameters
        ----------
        examples
            The examples, as `examples` returns them.
        k
            The index of the positive class.
        warm_start_run
            An earlier run over the same examples and class that the fit continues, or None.
        checkpoint_path
            The file in which the run is stored while it continues, or None.
        label
            The positive label, for the lines of progress.
        validation_set
            The examples for early stopping, or None.
        """
        oracle, parameters = self.oracle_and_parameters(examples, k, checkpoint_path is not None)
        return self._boost(oracle, parameters, warm_start_run, checkpoint_path, label, validation_set)

    def fit_binary_distributed(self, X: Any, y: Any, c: Any, checkpoint_path: Any, label: Any) -> tuple[Run, float]:
        """Boost rows on a cluster; return the run, and the weight fraction of the positive class.

        Parameters
        ----------
        X, y, c
            Features, labels 0 and 1, and multiplicities or None, as `BinnedStumps` takes them.
        file, label
            As in `fit_binary`.
        """
        oracle = make_distributed_class(self.base, self.base_options, bool(self.reflexive), self.seed, X, y, c)
        if self.intercept:
            oracle = ClassWithConstants(oracle, int(X.shape[1]))
        share = (oracle.total + oracle.balance) / (2.0 * oracle.total)
        return self._boost(
            oracle, self._formulation_parameters(oracle.total, oracle.N), None, checkpoint_path, label
        ), share

    def _boost(
        self,
        oracle: HypothesisClass,
        parameters: dict[str, Any],
        warm_start_run: Run | None,
        checkpoint_path: Any,
        label: Any,
        validation_set: ValidationSet | None = None,
    ) -> Run:
        shown_rows: Any = partial(self.verbose, label) if callable(self.verbose) else bool(self.verbose)
        options = BoostOptions(
            max_rounds=None if self.max_iter is None else int(self.max_iter),
            time_limit=None if self.time_limit is None else float(self.time_limit),
            final_weights=self.final_weights,
            progress=shown_rows,
            checkpoint=checkpoint_path,
            start=None if warm_start_run is None else _require_same_problem(warm_start_run, oracle),
            test=None if validation_set is None else validation_set.with_signs(label),
            patience=None if validation_set is None else int(self.n_iter_no_change),
        )
        epsilon = float(self.epsilon)
        uses_histogram_newton = is_default(self.formulation, oracle, epsilon, self.backend)
        if self.formulation.boosting.update is UpdateKind.TOTAL and not (
            uses_histogram_newton and histogram_inputs(self.formulation, oracle, epsilon, parameters, options)
        ):
            options = replace(options, columns_per_round=RECOMMENDED_COLUMNS, stabilization=RECOMMENDED_STABILIZATION)
        if self.formulation.boosting.update is UpdateKind.REWEIGHTING:
            self._validate_booster(require_oracle(oracle, "multiplicities"), parameters, warm_start_run)
        run = boost(
            self.formulation,
            oracle,
            epsilon=epsilon,
            backend=self.backend,
            options=options,
            **parameters,
        )
        if run.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        return run

    def _validate_booster(self, oracle: Oracle, parameters: dict[str, Any], warm_start_run: Run | None) -> None:
        """Raise OptionError for a parameter that a booster without a program does not support."""
        if warm_start_run is not None:
            raise OptionError(
                f"{self.formulation.name} sets its distribution from all of its own rounds, so it cannot "
                "continue another "
                "fit; got warm_start=True. Set warm_start=False, or pass a checkpoint."
            )
        endless = Problem.create(self.formulation, oracle.c, None, float(self.epsilon), None, parameters).needs_limit
        if endless and self.max_iter is None and self.time_limit is None:
            raise OptionError(
                f"{self.formulation.name} needs a limit, because it may never stop; got max_iter=None and "
                "time_limit=None. "
                "Pass one of them."
            )

    def warn_about_margins(
        self,
        runs: Sequence[Run],
        classes: Sequence[Any],
        shares: Sequence[float],
        zeros: Sequence[float] | None = None,
        predicted: Sequence[Any] = (),
    ) -> None:
        """Warn if a soft margin is not proved to exceed the baseline, or if a nu lets the model give up a class.

        Parameters
        ----------
        runs
            The run of two classes, or one run for each class against the rest.
        classes, shares
            The labels, and the weight fraction of each class.
        zero_fraction
            The share of the examples with f(x) = 0 in each run; None if it is unknown.
        predicted
            The different labels that are predicted for the examples; () if they are unknown.
        """
        several = len(runs) > 1
        labelled_fractions = [(classes[k], shares[k]) for k in (range(len(classes)) if several else [1])]
        judged = [
            self._margin_summary(
                run, repr(label), share, f"not {label!r}" if several else repr(classes[0]), several, zero
            )
            for run, (label, share), zero in zip(runs, labelled_fractions, zeros or [math.nan] * len(runs), strict=True)
        ]
        total = runs[0].problem.examples.total
        count = is_integer(self.nu)
        advice = Recommendations(
            format_nu=lambda nu: f"nu = {self.nu if count else float(self.nu)}",
            format_nu_limit=lambda nu: (
                str(max(math.floor(nu * total), 1)) if count else f"{math.floor(1000.0 * nu) / 1000.0:g}"
            ),
            narrow_interval=self._interval_advice(runs),
            better_hypotheses="use another base with better hypotheses"
            if "nu" in self.formulation.parameters
            else f"set other parameters of {self.formulation.name}, or use another base with better hypotheses",
            balance_classes='give both classes the same weight with class_weight="balanced"',
        )
        always = repr(predicted[0]) if len(predicted) == 1 else ""
        warn_about_margins(judged, runs[0].oracle, always, advice, stacklevel=3)

    def _interval_advice(self, runs: Sequence[Run]) -> str:
        """Return the advice that narrows the interval: raise the limits that ended the runs first."""
        for end, option in (
            *((end, option) for end, option, _ in LIMIT_WARNINGS),
            (StopReason.NO_SMALLER_TEST_ERROR, "n_iter_no_change"),
        ):
            if any(run.stop_reason is end for run in runs):
                return f"raise {option}, which narrows the interval"
        return f"lower epsilon = {self.epsilon:g}, which narrows the interval"

    def _margin_summary(
        self, run: Run, label: str, share: float, rest: str, several: bool, zeros: float
    ) -> MarginSummary:
        """Return the summary of a run for the margin warnings."""
        problem = run.problem
        goal = (
            None if problem.is_additive else problem.objective
        )  # boosters that add fixed steps continue to epsilon and max_iter, whatever the soft margin
        nu = goal.nu if goal is not None and "nu" in self.formulation.parameters else None
        return MarginSummary(
            label=label if several else "",
            majority_name=rest if share <= 0.5 else label,
            minority_fraction=min(share, 1.0 - share),
            nu=None if nu is None else nu / problem.examples.total,
            soft_margin_bounds=None if goal is None else (run.class_certificate.lower, run.class_certificate.upper),
            baseline=0.0 if goal is None else goal.min_regularizer,
            zero_fraction=zeros,
            tolerance=min(float(self.epsilon), SMALL_SOFT_MARGIN),
            measure=problem.measure,
        )

    def _formulation_parameters(self, total: float, N: int, rounding_error: float = 0.0) -> dict[str, Any]:
        """Return the parameters of the formulation, with nu as a count of N weights; the sum of the weights is rounded.

        Parameters with one value for each example belong to the examples and are left out.
        """
        values = {
            name: value
            for name, value in (self.parameters or {}).items()
            if name not in self.formulation.example_parameters
        }
        if self.eta is not None and "eta" in self.formulation.parameters:
            values["eta"] = float(self.eta)
        if "nu" not in self.formulation.parameters:
            return values
        if is_integer(self.nu) and self.nu > total * (1.0 + rounding_error):
            raise OptionError(
                f"nu must be at most the sum of the weights, {total:.10g}; got {self.nu} examples. "
                f"Pass fewer, or a share such as 0.1.{scaling_advice(total, N)}"
            )
        return {**values, "nu": float(self.nu) if is_integer(self.nu) else max(float(self.nu) * total, 1.0)}

    def bound(self, c: Float[Array, " N"]) -> tuple[Float[Array, " N"], dict[str, Any]]:
        """Return the multiplicities and the parameters of the formulation, with nu as a count."""
        total = float(c.sum())
        # The error of a sum of N numbers is at most N units in the last place of the sum.
        values = self._formulation_parameters(total, len(c), max(CAP_SUM_TOL, len(c) * MACHINE_EPSILON))
        if "nu" not in values or (is_integer(self.nu) and self.nu < total):
            return c, values
        share = 1.0 if is_integer(self.nu) else float(self.nu)
        # The caps c / nu of a share do not change if c is scaled. With c >= 1, a share of less than one example gives
        # caps of at least 1, as void as those of one example. A power of 2 scales exactly. Other terms of F may change.
        if (smallest := float(c.min())) < 1.0 and share * total < 1.0:
            c = np.ldexp(c, 1 - math.frexp(smallest)[1])
        return c, {**values, "nu": max(share * float(c.sum()), 1.0)}


def _require_same_problem(warm_start_run: Run, hypotheses: HypothesisClass) -> Run:
    """Return an earlier run if it belongs to the examples and the hypothesis class of an oracle, else None."""
    oracle = require_oracle(hypotheses, "a digest")
    if warm_start_run.record.digest != oracle.digest:
        raise OptionError(
            "warm_start continues the last fit, so it needs the same examples, weights, base, reflexive and intercept; "
            f"the last fit had {warm_start_run.record.pool.N} different examples and "
            f"{warm_start_run.record.oracle}, and this fit "
            f"has {oracle.N} and {oracle}. If these agree, labels, weights or class_weight differ. Fit a clone, or set "
            "warm_start=False."
        )
    return warm_start_run


def is_bounded_number(value: Any) -> bool:
    """Return whether a value is a number and not a Boolean."""
    return is_real_number(value) and bool(abs(value) <= MAX_INT)


def is_integer(value: Any) -> bool:
    """Return whether a value is a whole number and not a Boolean."""
    return is_bounded_number(value) and isinstance(value, Integral)


def _is_name_mapping(value: Any) -> bool:
    """Return whether a value is None or a mapping from names."""
    return value is None or (isinstance(value, Mapping) and all(isinstance(name, str) for name in value))
