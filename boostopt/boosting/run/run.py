"""A run of boosting: the classifier, its certificates and its history."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt._utils.formatting import format_count, format_interval, html_table
from boostopt._utils.immutable_arrays import as_immutable
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import check_stored_margins
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.limited_formulation import LimitedWeights
from boostopt.boosting.objectives.soft_margin import FEASIBILITY_TOL, SoftMarginObjective
from boostopt.boosting.run.combined_hypothesis import (
    AtZero,
    class_labels_of,
    leading_labels,
    predicted_classes,
    target_scale_of,
    weighted_vote,
)
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_file import load, run_kind, save, warn_of_change
from boostopt.boosting.run.run_state import MEMORY_PAST_WEIGHT, OracleBounds
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import Trace
from boostopt.boosting.run.weight_history import Round
from boostopt.boosting.stopping_rules import RULES
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import OptionError, short_repr
from boostopt.oracles.base import Hypothesis, HypothesisClass, Oracle, Query, check_oracle, require_oracle
from boostopt.programs.boosting_spec import FinalWeights, parse_choice
from boostopt.programs.program import Program
from boostopt.solving.solve import solve

FILE_READERS: dict[str, Callable[[str | PathLike[str], Any], Run]] = {}
"""The readers of files of other kinds of runs, by kind; the modules of these runs register them."""

LP_TOL = 1e-9
"""The target gap of the final linear program."""


class DifferentExamples(OptionError):
    """An oracle has other examples than the run, or another class."""


class Run:
    """A run of boosting.

    Attributes
    ----------
    w
        The weights of the hypotheses, shape (t,), of the kind `final_weights`.
    final_weights
        The kind of `w`, a `FinalWeights`: "program", "lp" or "scaled".
    loaded
        Whether the run was read from a file.
    """

    w: Any
    final_weights: FinalWeights
    loaded: bool

    def __init__(
        self, record: RunData, w: HypothesisVector, final_weights: FinalWeights | str, loaded: bool = False
    ) -> None:
        self._record, self.w, self.loaded = record, as_immutable(w), loaded
        self.final_weights = FinalWeights(final_weights)

    def __reduce__(self) -> Any:
        """Return the constructor arguments for pickle, without cached results."""
        return Run, (self.record, self.w, self.final_weights, self.loaded)

    @property
    def record(self) -> RunData:
        """All data of the run."""
        return self._record

    @classmethod
    def from_data(cls, record: RunData, final_weights: str | None, loaded: bool = False) -> Run:
        """Return a run with its final weights."""
        kind = final_weights_of(record.problem, final_weights)
        return cls(record, _final_weights(record, kind), kind, loaded)

    @property
    def problem(self) -> Problem:
        """The problem of the run."""
        return self.record.problem

    @property
    def N(self) -> int:
        """The number of examples."""
        return self.record.pool.N

    @property
    def oracle(self) -> str:
        """The class of hypotheses, in words."""
        return self.record.oracle

    @property
    def majority(self) -> int:
        """The class of more examples, 1 or -1."""
        return self.record.majority

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        """The collected hypotheses, in the order in which the oracle returned them."""
        return self.record.pool.hypotheses

    @property
    def d(self) -> ExampleVector:
        """The last distribution, shape (N,): the next query to the oracle."""
        return self.record.state.d

    @property
    def rounds(self) -> int:
        """The number of updates; the number of hypotheses may be smaller."""
        return self.record.state.round

    @property
    def iteration_bound(self) -> float:
        """The theoretical number of hypotheses after which the soft margin is within epsilon; inf if there is none."""
        return self.problem.iteration_bound

    @property
    def influence(self) -> ExampleVector:
        """The influence mu of AdaBoost_REG, shape (N,): the mean weight of a copy of each example over the steps.

        The influences satisfy c . mu = 1. A large mu_n means that example n is hard to classify; it may be noise.

        Raises
        ------
        OptionError
            The run belongs to another algorithm, or no step was made.

        References
        ----------
        Raetsch, Onoda, Mueller 2001, between (14) and (15).
        """
        past = self.record.state.memory.get(MEMORY_PAST_WEIGHT)
        if past is None:
            raise OptionError(
                f"influence needs a run of AdaBoost_REG with at least one step; got {self!r}. Use d, the last weights."
            )
        # In every round the weights of all copies sum to 1, so that c . A is the sum of the steps.
        A = np.asarray(past, dtype=np.float64)
        return A / float(self.record.problem.examples.c @ A)

    @property
    def reason(self) -> str:
        """The reason why the run stopped, in words."""
        return self.record.reason

    @property
    def stop_reason(self) -> StopReason:
        """The reason as a member of the enumeration, whatever its details."""
        return StopReason.from_text(self.reason)

    @property
    def rules(self) -> Mapping[str, str]:
        """The stopping rules of the formulation, each with its obstacle or doubt in words; "" if it has neither."""
        problem = self.problem
        rules = [RULES[name] for name in problem.rules]
        return {rule.name: rule.why_inapplicable(problem) or rule.caveat(problem) for rule in rules}

    @property
    def trace(self) -> Trace:
        """The rounds as a table."""
        return self.record.trace

    @cached_property
    def program(self) -> Program:
        """The program over the collected hypotheses; if the algorithm has none, the program of the soft margin."""
        record, problem = self.record, self.record.problem
        if self.final_weights is not FinalWeights.PROGRAM and problem.objective is not None:
            return problem.objective.program(record.pool.margins)
        U = record.pool.margins
        return problem.program(U, record.state.before_last_answer.progress(problem, U.column(U.t - 1)))

    @cached_property
    def certificate(self) -> Certificate:
        """The interval of `program`, over the collected hypotheses, that the final weights prove."""
        state = self.record.state
        certificate = state.certificate
        if self.final_weights is FinalWeights.PROGRAM and certificate is not None and len(certificate.w) == len(self.w):
            return certificate
        d = state.bounds.d if certificate is None or certificate.infeasible else certificate.d
        return self.program.certify(d, self.w)

    @cached_property
    def class_certificate(self) -> ClassCertificate:
        """The interval of the best value over the class; the lower bound is the value of the final weights.

        The value is the soft margin if F, without the term that only smooths it, is the indicator of a set of
        distributions, such as a cap. Otherwise the value contains the terms of F, and `what` names it.

        For a loaded run, only `lower` is computed again; `upper` is the recorded value (see `verify_class`).

        Raises
        ------
        OptionError
            The program has no soft margin: its value is a sum over the hypotheses.
        """
        return self._class_certificate(self.record.state.bounds, self.loaded and self.record.state.bounds.d is not None)

    def verify_class(self, oracle: HypothesisClass) -> ClassCertificate:
        """Return the certificate over the class with a new upper bound, by one query to the oracle.

        The method does not trust a file: it makes the distribution of the proof feasible, and the oracle computes the
        largest edge of its class, and the margins of the hypotheses. Only margins of classifiers that the file does not
        hold are those of the file. Use it to prove the upper bound of a loaded run again. The state of the oracle does
        not change.

        Parameters
        ----------
        oracle
            The oracle of the run, or a new oracle for the same examples and the same class.

        Raises
        ------
        OptionError
            The oracle has other examples, another class or other limits; or the program has no soft margin.
        DataError
            The margins in the file of a loaded run are not those of its hypotheses.
        """
        check_oracle(oracle)
        oracle, record = require_oracle(oracle, "the best hypothesis under given weights"), self.record
        formulation = record.problem.formulation
        if oracle.digest != record.digest:
            limits = ", with the same limits: LimitedClass(oracle, limits)"
            raise DifferentExamples(
                f"the oracle must have the examples and the class of the run, {record.oracle} with digest "
                f"{record.digest[:12]}; got {oracle} with {oracle.digest[:12]}. Make it from the same "
                f"data{limits if isinstance(formulation, LimitedWeights) else ''}."
            )
        if isinstance(formulation, LimitedWeights) and not formulation.has_limits_of(oracle):
            raise OptionError(
                "expected the limits of the class in the run; its right sides, their errors or its price are other "
                "numbers. The file of the run was changed: make the run again."
            )
        if self.loaded:
            check_stored_margins(record.pool, oracle)
        return self._class_certificate(recomputed_bounds(record.state.bounds, record.problem, oracle), False)

    def _class_certificate(self, bounds: OracleBounds, recorded: bool) -> ClassCertificate:
        """Return the certificate over the class that follows from the bounds of the oracle."""
        record, objective = self.record, self.record.problem.objective
        if not record.problem.has_class_bound:
            raise OptionError(
                f"a certificate over the class needs a soft margin; {record.problem.formulation.name} has none, and "
                "its value over a class does not follow from the largest edge. Use run.certificate, which is of the "
                "collected hypotheses, or the penalty l1, l1_ball or simplex: the largest edge bounds their values."
            )
        measure = record.problem.measure
        if objective is None:
            lower = self.certificate.lower
            return ClassCertificate(lower, bounds.upper, bounds.d, record.oracle, recorded, measure)
        program, w = objective.program(record.pool.margins), _normalized(self.w, objective)
        # Without a closed form of F0*, the bound is a tangent, which is best at a distribution near d(w).
        tangents = (bounds.d,) if objective.F0.has_closed_form_conjugate else (bounds.d, record.state.d)
        lower = max(program.certify(d, w).lower for d in tangents)
        return ClassCertificate(lower, bounds.upper, bounds.d, record.oracle, recorded, measure)

    def is_over(self, oracle: Oracle) -> bool:
        """Return whether the run is over the examples and the class of an oracle."""
        return self.record.digest == oracle.digest

    @property
    def class_labels(self) -> tuple[Any, ...] | None:
        """The labels of the classes if the hypotheses have a value for each class; None for the classes -1 and 1."""
        return class_labels_of(self.hypotheses)

    @property
    def target_scale(self) -> tuple[float, float] | None:
        """(m, r) if the run predicts the number m + r f(x); None if it predicts a class."""
        return target_scale_of(self.hypotheses)

    def decision_function(self, X: Any) -> Float[Array, "n ..."]:
        """Return f(x) = sum_q w_q h_q(x) / sum |w| in [-1, 1] for each row of X.

        If the hypotheses have a value for each of K classes, the shape is (n, K), with the classes of `class_labels`.
        """
        return weighted_vote(self.hypotheses, self.w, X)

    def predict(self, X: Any, at_zero: AtZero = "majority") -> Array:
        """Return the class of each row of X, shape (n,): -1 or 1 as int8, or one of `class_labels`; or a number.

        With `target_scale` (m, r), the predictions are the numbers m + r f(x).

        Parameters
        ----------
        X
            Features, in the form that the hypotheses take.
        at_zero
            The prediction where f(x) = 0, up to rounding: by default, the class of more training examples. With a class
            that is closed under negation, LPBoost may return half of h minus half of h, which is 0 on most of a test
            set. Among several of `class_labels` with the largest f, the first one is predicted.

        Raises
        ------
        OptionError
            `at_zero` is unknown, or not the default although the classes are not -1 and 1.
        """
        f, labels, scale = self.decision_function(X), self.class_labels, self.target_scale
        if labels is None and scale is None:
            return predicted_classes(f, at_zero, self.majority)
        if at_zero != "majority":
            predictions = "numbers" if labels is None else f"the classes {short_repr(labels)}"
            raise OptionError(
                f"at_zero decides between the classes -1 and 1; got {at_zero!r} for a run that predicts {predictions}. "
                "Leave it out: among equal classes, the first one is predicted."
            )
        if scale is not None:
            return scale[0] + scale[1] * f
        return leading_labels(f, labels or ())

    def at_round(self, k: int) -> Round:
        """Return the state of the run after k rounds.

        Raises
        ------
        OptionError
            There is no such round, or the run did not store the weights of its rounds.
        """
        return self.record.history.round_after(self.record.problem, self.record.pool, k)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the run without pickle; for estimators of other libraries, the file holds their columns only."""
        save(self.record, path, (self.w, self.final_weights))

    def save_certificate(
        self, path: str | PathLike[str], oracle: HypothesisClass, provenance: Mapping[str, Any] | None = None
    ) -> None:
        """Save the certificate of the best soft margin, or other value, over the class of an oracle, with its proof.

        Parameters
        ----------
        path
            The file, JSON text. `boostopt.verify` checks it with an oracle over the same examples.
        oracle
            The oracle of the run, or an equal one. It gets one query.
        provenance
            Information about the run for readers of the file. `boostopt verify` finds the columns of a table by the
            names in `provenance["features"]`.

        Raises
        ------
        OptionError
            The oracle has other examples or another class; or the largest edge bounds no value of the program.
        ProblemError
            F or G has neither closed forms nor a description; or no proof in fractions was found for a description.
        DataError
            The file cannot be written.
        """
        from boostopt.verification.class_certificate_files import save_class

        save_class(self, oracle, path, provenance)

    @classmethod
    def load(cls, path: str | PathLike[str], formulation: Any = None) -> Run:
        """Return a saved run. If the formulation is your own, pass it, or the path of its file.

        If the run has limits on the weights, pass the formulation without them: the file holds the limits. A
        UserWarning says if the file of the formulation has changed since. Import the file that defines your own
        hypotheses before you load a run with them.

        Raises
        ------
        DataError
            The file does not exist, is not a saved run, was written by another version, or is damaged.
        OptionError
            The formulation that is passed is unknown.
        """
        formulation = None if formulation is None else resolve_formulation(formulation)
        if (kind := run_kind(path)) in FILE_READERS:
            return FILE_READERS[kind](path, formulation)
        record, final = load(path, formulation)
        warn_of_change(record.problem.formulation, record.formulation_digest)
        return Run.from_data(record, None, loaded=True) if final is None else Run(record, *final, loaded=True)

    def __repr__(self) -> str:
        return (
            f"Run({self.problem.formulation.name}: {format_count(self.rounds, 'round')}, "
            f"{format_count(len(self.w), 'hypothesis', 'hypotheses')}, "
            f"{np.count_nonzero(self.w)} with weight; {self.reason})"
        )

    def _repr_html_(self) -> str:
        over_class = str(self.class_certificate) if self.problem.has_class_bound else "no bound"
        last = self.trace[-1].soft_margin if len(self.trace) else math.nan
        rows = [
            ("stopped", self.reason),
            ("rounds", f"{self.rounds}; theory allows {self.iteration_bound:g} hypotheses"),
            ("hypotheses", f"{len(self.w)}, {np.count_nonzero(self.w)} with weight"),
            *([] if self.problem.objective is None else [(self.problem.measure, last)]),
            ("over the class", over_class),
            *self._pool_interval_rows(),
        ]
        return html_table(self._headline, rows)

    @property
    def _headline(self) -> str:
        """A line that names the program."""
        return self.program.headline

    def _pool_interval_rows(self) -> list[tuple[str, Any]]:
        """Return the row of the HTML table with the interval over the collected hypotheses."""
        certificate = self.certificate
        return [
            (
                "over the collected hypotheses",
                "infeasible" if certificate.infeasible else format_interval(certificate.lower, certificate.upper),
            )
        ]


def recomputed_bounds(bounds: OracleBounds, problem: Problem, oracle: Oracle) -> OracleBounds:
    """Return the bounds with a new bound of the class, by one query; the state of the oracle does not change."""
    without_upper = replace(bounds, upper=math.inf, d=None)
    if bounds.d is None or not problem.has_class_bound:
        return without_upper
    d, oracle_state = problem.class_pair[0].project(bounds.d), oracle.state()
    if float(np.abs(d - bounds.d).sum()) <= FEASIBILITY_TOL:
        d = bounds.d
    try:
        largest = oracle.best(Query(d, 1, lambda u: 0.0)).edge_bound
    finally:
        oracle.restore(oracle_state)
    return without_upper if largest is None else without_upper.with_upper(*problem.class_upper_bound(d, largest))


def final_weights_of(problem: Problem, name: str | None) -> FinalWeights:
    """Return the kind of the final weights: `name`, or by default the kind of the formulation.

    Raises
    ------
    OptionError
        The kind is unknown, or it is "lp" and the formulation has no soft margin.
    """
    spec = problem.formulation.boosting
    kind = spec.final_weights if name is None else parse_choice(FinalWeights, "final_weights", name)
    if kind is FinalWeights.LP and problem.objective is None:
        raise OptionError(
            f"final_weights need a formulation with a soft margin; {problem.formulation.name} has none. Leave out "
            "final_weights."
        )
    return kind


def _normalized(w: HypothesisVector, objective: SoftMarginObjective) -> HypothesisVector:
    """Return weights with sum 1; unchanged if |w| may be below 1, because scaling would change the objective."""
    total = float(np.abs(w).sum())
    return w / total if total > 0 and objective.nonnegative_weights else w


def _final_weights(record: RunData, kind: FinalWeights) -> HypothesisVector:
    """Return the final weights of a kind."""
    w, objective = record.state.padded_weights(record.pool.t), record.problem.objective
    if objective is None:
        return w
    if objective.nonnegative_weights and float(w.min(initial=0.0)) < 0.0:
        # The program as printed may leave the simplex, but the certificate is about weights in the simplex.
        projection = objective.G.project(w)
        w = np.zeros(len(w)) if projection is None else projection
    # Zero weights do not lie in the simplex: there was no step, or no step with an improvement.
    if kind is FinalWeights.LP or (objective.nonnegative_weights and not w.any()):
        return solve(objective.program(record.pool.margins), tol=LP_TOL).raise_if_failed().w
    return w if kind is FinalWeights.PROGRAM else _normalized(w, objective)
