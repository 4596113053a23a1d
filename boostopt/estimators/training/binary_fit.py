"""The fit of one binary problem: the checked settings of a classifier, and the run with these settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import (
    check_choice,
    check_instance,
    check_integer,
    check_number,
    check_optional,
    check_path,
    check_positive,
    check_seconds,
    invalid_value_error,
)
from boostopt.backends.base import Backend, Deadline
from boostopt.boosting.boost_function import boost
from boostopt.boosting.boost_options import BoostOptions, BoostRequest
from boostopt.boosting.booster_names import booster_hint
from boostopt.boosting.boosting_problem import Problem, round_parameters
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.method_selection import histogram_inputs, is_default
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.stabilization import RECOMMENDED_COLUMNS, RECOMMENDED_STABILIZATION
from boostopt.errors import OptionError, ProblemError, unknown_name
from boostopt.estimators.training.baseline_and_nu_warnings import (
    RANKING_ADVICE,
    SMALL_SOFT_MARGIN,
    Recommendations,
    margin_findings,
)
from boostopt.estimators.training.diagnosis import Diagnosis, Finding
from boostopt.estimators.training.hypothesis_classes import (
    make_distributed_class,
    make_oracle,
    validate_serializable,
)
from boostopt.estimators.training.intercept_hypotheses import ClassWithConstants, OracleWithConstants
from boostopt.estimators.training.margin_summary import Contradiction, MarginSummary
from boostopt.estimators.training.training_data import OracleCache, Values, WeightedExamples
from boostopt.estimators.training.validation_set import ValidationSet
from boostopt.functions.numerics.capped_softmax import CAP_SUM_TOL
from boostopt.oracles import Oracle
from boostopt.oracles.base import HypothesisClass, require_oracle
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.weight_scaling import MACHINE_EPSILON
from boostopt.programs.boosting_spec import FinalWeights, UpdateKind, parse_choice
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import LARGEST, POSITIVE, SMALLEST, check_per_example_array, scaling_advice

AUTO = "auto"
"""The value of `nu` that chooses nu by cross-validation."""

MARGIN = "margin"
"""The value of `nu` that chooses nu by the proved soft margin."""

NU_CHOICES = {
    MARGIN: 'nu="margin" found no clear soft margin at a smaller share',
    AUTO: 'nu="auto" found no better {} at a smaller share',
}
"""Sentences of the diagnosis about a large nu that the fit chose; the second with the name of the score."""

NU_DIGITS = 3
"""Significant digits of a chosen nu, and of limits of nu, in texts."""

SCORING_NAMES = ("accuracy", "balanced_accuracy", "roc_auc", "average_precision", "neg_log_loss")
"""The scores by which the cross-validation compares values of nu, by scikit-learn's names; the first is the default."""

RANKING_SCORE = "roc_auc"
"""The score for models that rank examples."""

CLEAR_MARGIN = 0.3
"""A soft margin of the first share above which `nu="margin"` tries the smallest next: few of the labels are noise."""

LAST_MARGIN_FACTOR = 2.0
"""The search ends at a proved soft margin below this multiple of the one that must be proved: a smaller share proves
less, and its fit takes longer."""

CLASSIFIER_PARAMETERS = ("nu", "eta", "epsilon")
"""Parameters of formulations that are also parameters of the classifier."""

LIMIT_WARNINGS = (
    (StopReason.ROUND_LIMIT, "max_iter", "the limit of max_iter = {} rounds was reached"),
    (StopReason.TIME_LIMIT, "time_limit", "the limit of time_limit = {:g} seconds was reached"),
)
"""The limits of runs: the stop reason, the parameter that sets the limit, and the text of the warning."""


class DistributedBinaryFit(NamedTuple):
    """The run of one class against the rest on a cluster.

    Attributes
    ----------
    run
        The run.
    oracle
        The class of hypotheses, over the rows on the cluster.
    positive_fraction
        The weight fraction of the positive class, in (0, 1).
    """

    run: Run
    oracle: BinnedClass
    positive_fraction: float


@dataclass(frozen=True, eq=False)
class FitSettings:
    """The settings of a fit: the parameters of the classifier by their names, as plain Python values.

    Attributes
    ----------
    formulation
        The formulation.
    seed
        The seed of random choices, at least 0; None for the oracle's default seed.
    needs_refinement
        Whether runs get the weights of a smaller logistic loss: see `refine`.
    needs_smaller_gap
        Whether runs continue to a smaller gap before that. Scores of folds are as good without, in less time.
    """

    formulation: Formulation[Any]
    nu: float | str
    epsilon: float
    eta: float | None
    parameters: Mapping[str, Any]
    base: Any
    base_options: Mapping[str, Any]
    reflexive: bool
    intercept: bool
    final_weights: str | None
    backend: str | Backend
    max_iter: int | None
    time_limit: float | None
    n_jobs: int | None
    checkpoint: Path | None
    early_stopping: bool
    validation_fraction: float | None
    n_iter_no_change: int
    probability: bool
    scoring: str
    store_training: bool
    verbose: bool | Callable[..., Any]
    seed: int | None
    needs_refinement: bool = True
    needs_smaller_gap: bool = True

    def __post_init__(self) -> None:
        if self.chooses_nu and "nu" not in self.formulation.parameters:
            raise OptionError(
                f"nu='{AUTO}' needs a formulation with the parameter nu; {self.formulation.name} does not have "
                "it. Search the parameters of the formulation by GridSearchCV."
            )
        has_no_limit = self.max_iter is None and self.time_limit is None
        if has_no_limit and self.formulation.boosting.update is UpdateKind.PROJECTION:
            raise OptionError(
                f"{self.formulation.name} needs a limit, because its stopping rule may never hold; got "
                "max_iter=None and time_limit=None. Pass one of them."
            )
        for name in self.parameters:
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

    @classmethod
    def from_parameters(
        cls, formulation: Formulation[Any], seed: int | None, parameters: Mapping[str, Any]
    ) -> FitSettings:
        """Check the parameters of a classifier, one by one and together.

        Parameters
        ----------
        formulation, seed
            The formulation, and the seed of random choices.
        parameters
            The parameters by name, of any types: at least those of `PARAMETER_CHECKS`.

        Raises
        ------
        OptionError
            A parameter has the wrong type, or is out of its range.
        ProblemError
            A required parameter of the formulation is missing.
        """
        values = {name: check(name, parameters[name]) for name, check in PARAMETER_CHECKS.items()}
        return cls(formulation=formulation, seed=seed, **values)

    @property
    def chooses_nu(self) -> bool:
        """True if the fit chooses nu by cross-validation."""
        return self.nu == AUTO

    @property
    def needs_number(self) -> bool:
        """True if nu is not yet a number."""
        return isinstance(self.nu, str)

    def is_proved(self, run: Run, difference: float = 0.0) -> bool:
        """Return whether a run proves a value above that of f = 0, or has no value that could be proved.

        With a difference, the value must be larger than that of f = 0 by more than it.
        """
        problem = run.problem
        objective = None if problem.is_additive else problem.objective
        tolerance = max(difference, self.margin_tolerance)
        return objective is None or run.class_certificate.lower > objective.min_regularizer + tolerance

    @property
    def margin_tolerance(self) -> float:
        """The difference from the soft margin of f = 0 up to which a soft margin counts as equal to it."""
        return max(min(self.epsilon, SMALL_SOFT_MARGIN), ZERO_TOL)

    def _validate_required_parameters(self) -> None:
        """Raise ProblemError for a required parameter that neither `parameters` nor the classifier sets."""
        names = {name for name, value in self.parameters.items() if value is not None}
        names |= {*CLASSIFIER_PARAMETERS, *round_parameters(self.formulation, self.epsilon)}
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
        advice = (
            "Pass the values of these rows; in cross-validation pass them to fit as {0}=..., which splits them too."
        )
        named_values = {
            name: value for name, value in self.parameters.items() if name in self.formulation.example_parameters
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
        self, examples: WeightedExamples, k: int, is_stored: bool = False, cache: OracleCache | None = None
    ) -> tuple[Oracle, dict[str, Any]]:
        """Return the oracle over the examples, and the parameters of the formulation.

        Parameters
        ----------
        examples, k
            As in `fit_binary`.
        is_stored
            Whether a checkpoint stores the run. The hypotheses must then be plain numbers.
        cache
            The oracles of fits to the same examples with other values of nu, or None.
        """
        cache = OracleCache() if cache is None else cache
        examples = cache.examples(k, partial(self._binary_examples, examples, k))
        c, parameters = self.scale_weights(examples)
        signs = np.where(examples.codes == 1, 1, -1).astype(np.int8)
        arguments = self.base, self.base_options, self.reflexive, self.seed, examples.X, signs, c
        oracle = cache.oracle(k, c, partial(make_oracle, *arguments))
        if is_stored:
            validate_serializable(oracle)
        if self.intercept and not callable(self.base):
            oracle = OracleWithConstants(oracle, examples.X.shape[1], self.epsilon)
        return oracle, {**parameters, **examples.values}

    def _binary_examples(self, examples: WeightedExamples, k: int) -> WeightedExamples:
        """Return the examples with the code 1 for class k, and 0 for the rest."""
        codes = (examples.codes == k).astype(np.int64)
        if np.array_equal(codes, examples.codes):
            return examples  # of two classes, merged already
        return examples.merged(codes) if self.formulation.is_symmetric else replace(examples, codes=codes)

    def fit_binary(
        self,
        examples: WeightedExamples,
        k: int,
        warm_start_run: Run | None,
        checkpoint_path: Any,
        label: Any = None,
        validation_set: ValidationSet | None = None,
        cache: OracleCache | None = None,
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
        cache
            The oracles of fits to the same examples with other values of nu, or None.
        """
        oracle, parameters = self.oracle_and_parameters(examples, k, checkpoint_path is not None, cache)
        deadline = Deadline.after(self.time_limit)
        run = self._boost(oracle, parameters, warm_start_run, checkpoint_path, label, validation_set)
        return self.refine(run, deadline, len(examples.classes) > 2)

    def distributed_class(self, X: Any, y: Any, c: Any) -> BinnedClass:
        """Return the class of hypotheses over rows on a cluster, given as in `fit_binary_distributed`."""
        oracle = make_distributed_class(self.base, self.base_options, self.reflexive, self.seed, X, y, c)
        return ClassWithConstants(oracle, int(X.shape[1])) if self.intercept else oracle

    def fit_binary_distributed(
        self, X: Any, y: Any, c: Any, checkpoint_path: Any, label: Any, is_multiclass: bool
    ) -> DistributedBinaryFit:
        """Boost rows on a cluster.

        Parameters
        ----------
        X, y, c
            Features, labels 0 and 1, and multiplicities or None, as `BinnedStumps` takes them.
        checkpoint_path, label
            As in `fit_binary`.
        is_multiclass
            Whether there are more than two classes.
        """
        oracle = self.distributed_class(X, y, c)
        parameters = self._formulation_parameters(oracle.total, oracle.N)
        deadline = Deadline.after(self.time_limit)
        run = self.refine(self._boost(oracle, parameters, None, checkpoint_path, label), deadline, is_multiclass)
        return DistributedBinaryFit(run, oracle, (oracle.total + oracle.balance) / (2.0 * oracle.total))

    def _boost(
        self,
        oracle: HypothesisClass,
        parameters: dict[str, Any],
        warm_start_run: Run | None,
        checkpoint_path: Any,
        label: Any,
        validation_set: ValidationSet | None = None,
    ) -> Run:
        """Boost an oracle with the parameters of the formulation, and return the run."""
        options = BoostOptions(
            max_rounds=self.max_iter,
            time_limit=self.time_limit,
            final_weights=self.final_weights,
            progress=partial(self.verbose, label) if callable(self.verbose) else self.verbose,
            checkpoint=checkpoint_path,
            start=None if warm_start_run is None else _require_same_problem(warm_start_run, oracle),
            test=None if validation_set is None else validation_set.with_signs(label),
            patience=None if validation_set is None else self.n_iter_no_change,
        )
        if self.formulation.boosting.update is UpdateKind.TOTAL and not (
            is_default(self.formulation, oracle, self.epsilon, self.backend)
            and histogram_inputs(BoostRequest(self.formulation, oracle, self.epsilon, parameters, options))
        ):
            options = replace(options, columns_per_round=RECOMMENDED_COLUMNS, stabilization=RECOMMENDED_STABILIZATION)
            if isinstance(options.start, HistogramRun) and options.start.aggregates_only:
                options = replace(options, start=None)  # other updates need the margins
        if self.formulation.boosting.update is UpdateKind.REWEIGHTING:
            self._validate_booster(require_oracle(oracle, "multiplicities"), parameters, warm_start_run)
        run = boost(self.formulation, oracle, epsilon=self.epsilon, backend=self.backend, options=options, **parameters)
        if run.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        return run

    def _validate_booster(self, oracle: Oracle, parameters: dict[str, Any], warm_start_run: Run | None) -> None:
        """Raise OptionError for a parameter that a booster without a program does not support."""
        if warm_start_run is not None:
            raise OptionError(
                f"{self.formulation.name} sets its distribution from all of its rounds, so it cannot "
                "continue another fit; got warm_start=True. Set warm_start=False, or pass a checkpoint."
            )
        problem = Problem.create(self.formulation, oracle.c, None, self.epsilon, None, parameters)
        if problem.needs_limit and self.max_iter is None and self.time_limit is None:
            raise OptionError(
                f"{self.formulation.name} needs a limit, because it may never stop; got max_iter=None and "
                "time_limit=None. Pass one of them."
            )

    def is_refinable(self, run: Run) -> bool:
        """Return whether `refine` finds better weights if no soft margin is proved: those near f = 0."""
        return self.reflexive and isinstance(run, HistogramRun) and run.class_certificate.gap <= self.epsilon

    def refine(self, run: Run, deadline: Deadline, is_multiclass: bool) -> Run:
        """Return a run of histogram Newton with the weights of a smaller logistic loss within epsilon.

        Runs of other updates and of trials stay as they are. The margins that the search of nu asks for stay proved.
        If none is proved for two classes, the votes of the run follow noise, and the weights are near f = 0 instead.
        With more classes, the largest f decides, and such small f would give up a class.
        """
        if not (self.needs_refinement and isinstance(run, HistogramRun)):
            return run
        if (objective := run.problem.objective) is None:
            return run
        margins = self.margin_tolerance, LAST_MARGIN_FACTOR * self.margin_tolerance, CLEAR_MARGIN
        proved = [margin for margin in margins if self.is_proved(run, margin)]
        min_soft_margin = objective.min_regularizer + max(proved, default=self.margin_tolerance)
        max_rounds = self.max_iter if self.needs_smaller_gap else run.rounds
        return run.with_smaller_loss(min_soft_margin, not is_multiclass, deadline, max_rounds)

    def diagnose(
        self,
        runs: Sequence[Run],
        classes: Sequence[Any],
        shares: Sequence[float],
        zero_fractions: Sequence[float] | None = None,
        recalls: Sequence[float] = (),
        predicted_labels: Sequence[Any] = (),
        findings: Sequence[Finding] = (),
        nu_parameter: object = None,
        find_contradiction: Callable[[Any], Contradiction | None] = lambda label: None,
    ) -> Diagnosis:
        """Return the diagnosis of a fit: findings about soft margins and nu, after other findings.

        Parameters
        ----------
        runs
            The run of two classes, or one run for each class against the rest.
        classes, shares
            The labels, and the weight fraction of each class.
        zero_fractions
            The share of the examples with f(x) = 0 in each run; None if it is unknown.
        recalls
            The share of the examples of each class that are predicted correctly; () if it is unknown. It is not
            reported if a limit ended a run.
        predicted_labels
            The different labels that are predicted for the examples; () if they are unknown.
        findings
            The other findings.
        nu_parameter
            The parameter nu of the classifier, if it differs from the nu of these settings: the name of a choice.
        find_contradiction
            Returns equal rows with different labels, for a class against the others; asked where nothing is proved.
        """
        is_multiclass = len(runs) > 1
        indices = range(len(classes)) if is_multiclass else [1]
        zero_fractions = zero_fractions or [math.nan] * len(runs)
        summaries = [
            self._margin_summary(
                run,
                repr(classes[k]),
                (shares[k], math.fsum([*shares[:k], *shares[k + 1 :]])),
                f"not {classes[k]!r}" if is_multiclass else repr(classes[0]),
                is_multiclass,
                zero_fraction,
            )
            for run, k, zero_fraction in zip(runs, indices, zero_fractions, strict=True)
        ]
        summaries = [
            replace(summary, contradiction=find_contradiction(classes[k])) if summary.is_unproved else summary
            for summary, k in zip(summaries, indices, strict=True)
        ]
        total = runs[0].problem.examples.total
        is_count, nu_name = isinstance(self.nu, int), nu_parameter if isinstance(nu_parameter, str) else None
        recommendations = Recommendations(
            format_nu=lambda nu: f"nu = {self.nu if nu_name is None else float(f'{self.nu:.{NU_DIGITS}g}')}",
            format_nu_limit=lambda nu: str(max(math.floor(nu * total), 1)) if is_count else _format_share(nu),
            format_nu_bound=lambda nu: (
                str(math.floor(nu * total * (1.0 + ZERO_TOL))) if is_count else _format_share(nu, ROUND_CEILING)
            ),
            narrow_interval=self._interval_advice(runs),
            better_hypotheses="use another base with better hypotheses"
            if "nu" in self.formulation.parameters
            else f"set other parameters of {self.formulation.name}, or use another base with better hypotheses",
            balance_classes=f"give {'all' if is_multiclass else 'both'} classes the same weight with "
            'class_weight="balanced"',
            choice_of_nu="" if nu_name is None else NU_CHOICES[nu_name].format(self.scoring),
            rank=self._ways_to_rank(nu_name),
        )
        constant_prediction = repr(predicted_labels[0]) if len(predicted_labels) == 1 else ""
        is_cut_short = any(finding.category is ConvergenceWarning for finding in findings)
        has_recalls = bool(recalls) and not is_cut_short  # a model that a limit ended says little about its classes
        named_recalls = dict(zip(map(repr, classes), recalls, strict=True)) if has_recalls else None
        margins = margin_findings(summaries, runs[0].oracle, constant_prediction, recommendations, named_recalls)
        return Diagnosis((*findings, *margins), tuple(summaries))

    def _ways_to_rank(self, nu_name: str | None) -> list[str]:
        """Return the ways to a model that ranks examples, other than these settings with the choice of nu."""
        is_so_chosen = (nu_name, self.scoring) == (AUTO, RANKING_SCORE)
        may_choose = "nu" in self.formulation.parameters and not is_so_chosen
        return [
            *([f'choose nu for a ranking with nu="{AUTO}" and scoring="{RANKING_SCORE}"'] if may_choose else []),
            *([] if f'"{self.formulation.name}"' in RANKING_ADVICE else [RANKING_ADVICE]),
        ]

    def _interval_advice(self, runs: Sequence[Run]) -> str:
        """Return advice that narrows the interval: first to raise a limit that stopped a run, else to lower epsilon."""
        for reason, option in (
            *((reason, option) for reason, option, _ in LIMIT_WARNINGS),
            (StopReason.NO_SMALLER_TEST_ERROR, "n_iter_no_change"),
        ):
            if any(run.stop_reason is reason for run in runs):
                return f"raise {option}, which narrows the interval"
        return f"lower epsilon = {self.epsilon:g}, which narrows the interval"

    def _margin_summary(
        self, run: Run, label: str, shares: tuple[float, float], rest: str, is_multiclass: bool, zero_fraction: float
    ) -> MarginSummary:
        """Return the summary of a run for the margin warnings.

        Parameters
        ----------
        run
            The run.
        label, shares
            The positive label in words, and the weight fractions of its class and of the other classes: 1 minus a
            fraction may be rounded to 0.
        rest
            The other classes in words.
        is_multiclass
            Whether the run is one of several one-vs-rest problems.
        zero_fraction
            The share of the examples with f(x) = 0; nan if it is unknown.
        """
        problem = run.problem
        # Boosters that add fixed steps continue to epsilon and max_iter, whatever the soft margin.
        objective = None if problem.is_additive else problem.objective
        nu = objective.nu if objective is not None and "nu" in self.formulation.parameters else None
        bounds = None if objective is None else (run.class_certificate.lower, run.class_certificate.upper)
        return MarginSummary(
            label=label if is_multiclass else "",
            majority_name=rest if shares[0] <= 0.5 else label,
            minority_fraction=min(shares),
            nu=None if nu is None else nu / problem.examples.total,
            soft_margin_bounds=bounds,
            baseline=0.0 if objective is None else objective.min_regularizer,
            zero_fraction=zero_fraction,
            tolerance=self.margin_tolerance,
            measure=problem.measure,
        )

    def _formulation_parameters(self, total: float, N: int, rounding_error: float = 0.0) -> dict[str, Any]:
        """Return the parameters of the formulation, with nu as a count.

        Parameters with one value for each example belong to the examples and are left out.

        Parameters
        ----------
        total, N
            The sum of the weights, and their number.
        rounding_error
            The relative rounding error of the sum, up to which a count may exceed it.

        Raises
        ------
        OptionError
            The nu is a count above the sum of the weights.
        """
        values = {
            name: value for name, value in self.parameters.items() if name not in self.formulation.example_parameters
        }
        if self.eta is not None and "eta" in self.formulation.parameters:
            values["eta"] = self.eta
        if "nu" not in self.formulation.parameters:
            return values
        if isinstance(self.nu, int) and self.nu > total * (1.0 + rounding_error):
            raise OptionError(
                f"nu must be at most the sum of the weights, {total:.10g}; got {format_count(self.nu, 'example')}. "
                f"Pass fewer, or a share such as 0.1.{scaling_advice(total, N)}"
            )
        return {**values, "nu": float(self.nu) if isinstance(self.nu, int) else max(float(self.nu) * total, 1.0)}

    def scale_weights(self, examples: WeightedExamples) -> tuple[ExampleVector, dict[str, Any]]:
        """Return the multiplicities, and the parameters of the formulation without per-example values, nu as a count.

        If nu is a share, balanced weights become whole numbers, which histogram Newton needs; and if it is a share of
        less than one example, weights are scaled so that each is at least 1.
        """
        c = examples.c
        total = float(c.sum())
        # The error of a sum of N numbers is at most N units in the last place of the sum.
        values = self._formulation_parameters(total, len(c), max(CAP_SUM_TOL, len(c) * MACHINE_EPSILON))
        if "nu" not in values or (isinstance(self.nu, int) and self.nu < total):
            return c, values
        share = 1.0 if isinstance(self.nu, int) else float(self.nu)
        # If nu is a share, scaling c does not change the caps c / nu. With c >= 1, a share of less than one example
        # gives caps of at least 1, which never bind, like the caps of one example. Scaling by a power of 2 is exact.
        # Other terms of F may change.
        c = c if self.formulation.needs_all_examples else examples.whole_c
        if (smallest := float(c.min())) < 1.0 and share * float(c.sum()) < 1.0:
            c = np.ldexp(c, 1 - math.frexp(smallest)[1])
        return c, {**values, "nu": max(share * float(c.sum()), 1.0)}


def _require_same_problem(warm_start_run: Run, hypotheses: HypothesisClass) -> Run:
    """Return an earlier run; raise OptionError unless it has the examples and the hypothesis class of an oracle."""
    oracle = require_oracle(hypotheses, "a digest")
    if not warm_start_run.is_over(oracle):
        raise OptionError(
            "warm_start continues the last fit, so it needs the same examples, weights, base, reflexive and intercept; "
            f"the last fit had {warm_start_run.N} different examples and {warm_start_run.oracle}, "
            f"and this fit has {oracle.N} and {oracle}. If these agree, labels, weights or class_weight differ. Fit a "
            "clone, or set warm_start=False."
        )
    return warm_start_run


def check_boolean(name: str, value: object) -> bool:
    """Return a Boolean; numbers are refused, as scikit-learn refuses them."""
    return bool(check_instance(name, value, (bool, np.bool_), "True or False", "Pass one of the two."))


def _check_nu(name: str, value: object) -> float | str:
    """Return a share of the weights as a float, a number of examples as an int, "margin" or "auto"."""
    expected = (
        "a float in (0, 1], a share of the sum of the weights, or a whole number of examples, at least 1, or "
        f'"{MARGIN}", or "{AUTO}"'
    )
    if isinstance(value, str) and value in (MARGIN, AUTO):
        return value
    return check_share_or_count(name, value, expected, lambda share: 0.0 < share <= 1.0)


def _check_eta(name: str, value: object) -> float:
    """Return a number that formulations accept as positive."""
    return check_number(name, value, f"None, or a number in {POSITIVE.text}", lambda eta: SMALLEST <= eta <= LARGEST)


def _check_validation_fraction(name: str, value: object) -> float:
    """Return a share of the examples as a float, or a number of them as an int."""
    expected = "None, or a float in (0, 1), a share of the examples, or a whole number of them, at least 1"
    return check_share_or_count(name, value, expected, lambda share: 0.0 < share < 1.0)


def check_share_or_count(name: str, value: object, expected: str, is_share: Callable[[float], bool]) -> float:
    """Return a whole number of at least 1 as an int, and a share as a float."""
    if isinstance(value, Integral):
        return int(check_number(name, value, expected, lambda count: count >= 1.0))
    return check_number(name, value, expected, is_share)


def _check_mapping(name: str, value: object) -> Mapping[str, Any]:
    """Return a mapping from names to values, an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise invalid_value_error(name, "a mapping from names to values, or None", value, "Pass such a mapping.")
    return value


def _check_backend(name: str, value: object) -> str | Backend:
    """Return the name of a backend, or a backend."""
    return check_instance(name, value, (str, Backend), "the name of a backend, or a backend", "Pass one of the two.")


def _check_job_count(name: str, value: object) -> int:
    """Return a number of processes as in joblib, where negative numbers count from the number of processors."""
    expected = "None, or a whole number other than 0"
    count = check_integer(name, value, expected=expected)
    if count == 0:
        raise invalid_value_error(name, expected, value, "Pass such a number.")
    return count


def _check_checkpoint(name: str, value: object) -> Path:
    """Return the path of a checkpoint, which is not empty."""
    if value == "":
        raise invalid_value_error(name, "the path of a file, or None", value, "Pass such a path.")
    return check_path(name, value)


def _format_share(share: float, rounding: str = ROUND_FLOOR) -> str:
    """Return a positive share as a text of at most `NU_DIGITS` digits, rounded down by default."""
    exact_text = f"{share:.12g}"  # 0.7 as a binary number lies below 0.7
    return f"{float(Context(NU_DIGITS, rounding).create_decimal(exact_text)):g}"


def _check_verbose(name: str, value: object) -> bool | Callable[..., Any]:
    """Return a flag, or a function of a label and a row of a trace; numbers are levels of verbosity."""
    if callable(value) and not isinstance(value, type):
        return value
    expected = "True, False, or a function of a label and a row of a trace"
    return bool(check_instance(name, value, (bool, int, np.bool_), expected, "Pass such a value."))


def _any_value(name: str, value: Any) -> Any:
    """Return a value of any type."""
    return value


PARAMETER_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "nu": _check_nu,
    "epsilon": check_positive,
    "eta": partial(check_optional, _check_eta),
    "parameters": _check_mapping,
    "base": _any_value,  # `make_oracle` checks it
    "base_options": _check_mapping,
    "reflexive": check_boolean,
    "intercept": check_boolean,
    "final_weights": partial(check_optional, partial(parse_choice, FinalWeights)),
    "backend": _check_backend,
    "max_iter": partial(check_optional, partial(check_integer, minimum=1, expected="None, or a whole number")),
    "time_limit": check_seconds,
    "n_jobs": partial(check_optional, _check_job_count),
    "checkpoint": partial(check_optional, _check_checkpoint),
    "early_stopping": check_boolean,
    "validation_fraction": partial(check_optional, _check_validation_fraction),
    "n_iter_no_change": partial(check_integer, minimum=1),
    "probability": check_boolean,
    "scoring": partial(check_choice, names=SCORING_NAMES),
    "store_training": check_boolean,
    "verbose": _check_verbose,
}
"""The check of each parameter of the classifier that a fit of two classes depends on."""
