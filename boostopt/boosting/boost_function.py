"""The function `boost`, which solves a program by column generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

import numpy.typing as npt

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.validation import check_array, check_list, invalid_value_error
from boostopt.backends import check_backend
from boostopt.backends.base import Backend, Deadline
from boostopt.boosting.boost_options import OPTIONS, BoostOptions, BoostRequest, check_keywords, read_options
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem, rows_left_out
from boostopt.boosting.column_generation import ColumnGeneration
from boostopt.boosting.histogram_newton.method_selection import is_default, run_histogram_newton, unsupported_request
from boostopt.boosting.objectives.limited_formulation import with_limits
from boostopt.boosting.parameter_schedules import ParameterSchedule
from boostopt.boosting.reweighting import Booster
from boostopt.boosting.run.initial_run_data import initial_record
from boostopt.boosting.run.progress_line import progress_line
from boostopt.boosting.run.round_recorder import RunRecorder
from boostopt.boosting.run.run import Run, final_weights_of
from boostopt.boosting.stopping_rules import RULES, Rule
from boostopt.boosting.updates.base import Update
from boostopt.boosting.updates.update_factory import make_update
from boostopt.errors import OptionError, unknown_name
from boostopt.oracles.base import HypothesisClass, Oracle, check_oracle
from boostopt.oracles.binned_class import BinnedClass
from boostopt.programs.boosting_spec import UpdateKind
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation, list_formulations

EXPECTED_RULES = "a rule, the name of one, or a list of them"
RULES_ADVICE = "Pass names in quotes, or rules made with boostopt.boosting.Rule(...)."


def boost(
    formulation: Any,
    oracle: HypothesisClass,
    *,
    epsilon: float | None = None,
    d0: npt.ArrayLike | None = None,
    backend: str | Backend = "auto",
    update: str | None = None,
    rules: str | Rule | Sequence[str | Rule] | None = None,
    options: BoostOptions | None = None,
    **keywords: Any,
) -> Run:
    """Add hypotheses to a program one by one until a stopping rule holds.

    Parameters
    ----------
    formulation
        A name from `list_formulations()`, the path of a formulation file, or a formulation; or a booster that states no
        program: "adaboost_reg", "smoothboost", "brownboost", "madaboost", "nu_arc", or a
        `boostopt.boosting.boosters.Booster`.
    oracle
        The examples and the class of hypotheses: see `boostopt.oracles`. Its multiplicities are the program's c. The
        examples of the program are those with a positive multiplicity, in the order of the oracle's rows.
    epsilon
        The accuracy of the soft margin for the stopping rules, positive; 0.01 by default. A booster that states no
        program has no default; without epsilon no rule stops it, and it continues to its own end.
    d0
        Reference distribution, one value for each row of the oracle or for each example that counts, with sum 1 over
        these examples; proportional to the multiplicities by default.
    backend
        The backend that solves the programs, as in `solve`.
    update
        The update of the weights. "total" solves the program over all hypotheses. "newton" makes one Newton step over
        all hypotheses; it needs the largest edge and a smooth regularizer that is a sum over the examples. With bounded
        edges, "newton" needs histogram Newton over `BinnedStumps`. "step" and "line_search" are corrective. These
        updates do not support bounded edges: "pairwise" and "blended_pairwise" move weight from one hypothesis to
        another, "program" solves over the combination so far and the newest hypothesis, and "mlpboost" makes a
        corrective step or takes LPBoost's weights if they are better. The default is "newton" if histogram Newton
        supports the run: the formulation is "total", its soft margin has a cap, the oracle is `DecisionStumps` or
        `BinnedStumps`, and histogram Newton supports the backend, the rules and the options. Otherwise the formulation
        sets the default.
    rules
        One or several stopping rules: names from `boostopt.boosting.RULES`, names of formulations (for the rules of
        these formulations), or your own rules; by default the rules of the formulation. If eta is too small, some rules
        promise nothing about the soft margin. Such a rule applies only if you pass it. It then is about the regularized
        program alone, and `run.reason` says so.
    options
        The limits, the checkpoints, the trace and further options. You can also pass each field by its name, which
        takes precedence: `boost(..., max_rounds=100)`.
    **keywords
        Fields of `BoostOptions`, and parameters of the formulation, as in `bind`, except those that the formulation
        sets in every round. A parameter with one value an example has one for each row of the oracle, or for each
        example that counts. A parameter may be a function of the number of the next round, from 1, and of the last row
        of the trace, None before the first round. Then the run ends when a rule holds and the next round has the same
        parameters, and its certificates are those of the last program.

    Returns
    -------
    The run. After an interrupt (Ctrl-C) or at a limit, it holds the rounds up to then, and `run.reason` says so.

    Raises
    ------
    OptionError
        An option is unknown or out of range, or nothing would ever stop the run; or a parameter is a function, and the
        update or an option needs one program for all rounds.
    ProblemError
        A parameter is out of its domain, or the oracle returns something that is not a column.
    DataError
        The checkpoint belongs to other data or other parameters, or is unreadable.

    References
    ----------
    Glocer 2009, algorithms 2.1, 3.1 to 3.3, 4.1, 4.3; Shalev-Shwartz and Singer 2008, figure 1; Mitsuboshi, Hatano,
    Takimoto 2022.
    """
    formulation = resolve_formulation(formulation)
    check_oracle(oracle)
    formulation = with_limits(formulation, oracle)
    check_backend(backend)
    option_keywords = {name: value for name, value in keywords.items() if name in OPTIONS}
    parameters = {name: value for name, value in keywords.items() if name not in OPTIONS and value is not None}
    check_keywords("boost", parameters, BOOST_KEYWORDS, formulation)
    options = replace(read_options("options", options), **option_keywords)
    schedule = schedule_of(formulation, oracle, parameters, backend, options)
    parameters |= schedule.values(1, None)
    d0, parameters = select_examples(formulation, oracle, d0, parameters)
    requests_newton = isinstance(update, str) and update == "newton"
    newton = requests_newton or (update is None and is_default(formulation, oracle, epsilon, backend))
    remaining_options = None
    request = BoostRequest(formulation, oracle, epsilon, parameters, options)
    if newton and rules is None and d0 is None and not schedule.functions:
        run, remaining_options = run_histogram_newton(request)
        if run is not None:
            return run
    if not isinstance(oracle, Oracle):
        unsupported = schedule.description or unsupported_request(request, backend, update, rules, d0)
        raise oracle.unsupported_error(unsupported)
    with rows_left_out(formulation, oracle.N, oracle.n_rows):
        problem = Problem.create(formulation, oracle.c, d0, epsilon, None if remaining_options else update, parameters)
        # With bounded edges, the update after histogram Newton is the one of the formulation.
        if remaining_options is not None and requests_newton and problem.edge_function.edge_bound is None:
            problem = Problem.create(formulation, oracle.c, d0, epsilon, update, parameters)
    if requests_newton and remaining_options is None and problem.edge_function.edge_bound is not None:
        unsupported = schedule.description or unsupported_request(request, backend, update, rules, d0)
        has_bins = isinstance(oracle, BinnedClass) and oracle.binned_rows is not None
        raise OptionError(
            f'update="newton" of {formulation.name}, which bounds the edges, needs histogram Newton, which does not '
            f"support {unsupported if has_bins else oracle}. {'Use' if has_bins else 'Make BinnedStumps, or use'} "
            'update="total".'
        )
    options = remaining_options or options
    if problem.edge_function.is_symmetric and not oracle.reflexive:
        remedy = ", or leave out two_sided." if problem.two_sided else "."
        raise OptionError(
            f"{formulation.name} has edges without a sign, so it needs a class that is closed under negation; the "
            f"class of this oracle is not. Make the oracle with reflexive=True{remedy}"
        )
    ends_itself = isinstance(formulation, Booster) and epsilon is None and rules is None
    stopping_rules = () if ends_itself else _applicable_rules(problem, rules)
    _check_options(problem, options)
    if schedule.functions:
        schedule.check(problem, options)
        options = replace(options, history=False)
    handed_over = remaining_options is not None and remaining_options.start is not None
    weight_update = make_update(problem, backend, options.stabilization.idle, options.corrective)
    return _run(problem, oracle, weight_update, stopping_rules, options, schedule, handed_over)


def select_examples(
    formulation: Formulation[Any], oracle: HypothesisClass, d0: npt.ArrayLike | None, parameters: Mapping[str, Any]
) -> tuple[npt.ArrayLike | None, dict[str, Any]]:
    """Return the reference distribution and the parameters of a formulation for the examples of an oracle that count.

    Arrays with one value for each row of the oracle lose the values of the rows with multiplicity 0. Functions of the
    round stay: a schedule selects their values.
    """
    values = dict(parameters)
    for name in formulation.example_parameters & values.keys():
        if values[name] is not None and not callable(values[name]):
            values[name] = oracle.select_examples(check_array(name, values[name]))
    return None if d0 is None else oracle.select_examples(check_array("d0", d0)), values


def schedule_of(
    formulation: Formulation[Any],
    oracle: HypothesisClass,
    parameters: Mapping[str, Any],
    backend: str | Backend,
    options: BoostOptions,
) -> ParameterSchedule:
    """Return the schedule of the parameters that are functions of the round, of examples that count."""
    return ParameterSchedule(
        {name: value for name, value in parameters.items() if callable(value)},
        lambda values: select_examples(formulation, oracle, None, values)[1],
        partial(make_update, backend=backend, idle=options.stabilization.idle, corrective=options.corrective),
    )


def _run(
    problem: Problem,
    oracle: Oracle,
    update: Update,
    rules: tuple[Rule, ...],
    options: BoostOptions,
    schedule: ParameterSchedule,
    handed_over: bool,
) -> Run:
    """Run column generation with an update until a rule holds or a limit is reached, and return the run."""
    final_weights = final_weights_of(problem, options.final_weights)
    oracle_state = oracle.state()
    record = initial_record(problem, oracle, options, handed_over)
    deadline = Deadline.after(options.time_limit)
    measure = problem.measure
    with (
        limit_blas_threads(),
        progress_line(options.progress, problem.formulation.name, problem.objective is None, measure) as show,
    ):
        recorder = RunRecorder.create(options, problem, oracle, record, show)
        try:
            loop = ColumnGeneration(
                problem, oracle, update, rules, options, deadline, recorder, schedule, record.state.round
            )
            return Run.from_data(loop.run(record), final_weights)
        finally:
            # Equal calls give equal runs: an oracle that counts its calls starts again.
            oracle.restore(oracle_state)


def _check_options(problem: Problem, options: BoostOptions) -> None:
    """Raise OptionError for options that do not fit a problem, or if possibly nothing ever stops the run."""
    if options.stabilization and problem.update is not UpdateKind.TOTAL:
        raise OptionError(
            f"stabilization needs a totally corrective run; the update of {problem.formulation.name} is "
            f"{problem.update!r}. Leave out stabilization."
        )
    if options.corrective is not None and problem.update is not UpdateKind.MLPBOOST:
        raise OptionError(
            f'corrective needs update="mlpboost"; the update of {problem.formulation.name} is {problem.update!r}. '
            "Leave out corrective, or pass the step as update."
        )
    if options.start is not None and isinstance(problem.formulation, Booster):
        raise OptionError(
            f"{problem.formulation.name} sets its distribution from all of its own rounds, so it cannot begin from "
            "another run; got start. Leave out start, or continue a run by its checkpoint."
        )
    if problem.needs_limit and options.max_rounds is None and options.time_limit is None:
        raise OptionError(
            f"{problem.formulation.name} needs a limit, because it may never stop; got none. Pass max_rounds or "
            "time_limit."
        )


def _applicable_rules(problem: Problem, rules: object) -> tuple[Rule, ...]:
    """Return the rules of the user, or the rules of the formulation that promise something about the soft margin."""
    if rules is not None:
        resolved = [rule for item in _as_list(rules) for rule in _resolve_rule(item)]
        for rule in resolved:
            if obstacle := rule.why_inapplicable(problem):
                raise OptionError(
                    f"the rule {rule.name!r} cannot hold for {problem.formulation.name}: {obstacle}. Leave it out."
                )
        return tuple(resolved)
    defaults = [rule for name in problem.rules for rule in _resolve_rule(name)]
    return tuple(rule for rule in defaults if not (rule.why_inapplicable(problem) or rule.caveat(problem)))


def _as_list(rules: object) -> list[str | Rule]:
    """Return a list of rules and names of rules; a single one becomes a list."""
    items = [rules] if isinstance(rules, str | Rule) else check_list("rules", rules, EXPECTED_RULES, RULES_ADVICE)
    if not all(isinstance(rule, str | Rule) for rule in items):
        raise invalid_value_error("rules", EXPECTED_RULES, rules, RULES_ADVICE)
    return items


def _resolve_rule(rule: str | Rule) -> list[Rule]:
    """Return the rules of a name: one rule, or all rules of a formulation. A rule object is returned unchanged."""
    if isinstance(rule, Rule):
        return [rule]
    if rule in RULES:
        return [RULES[rule]]
    if rule in list_formulations():
        return [RULES[name] for name in get_formulation(rule).boosting.rules]
    raise unknown_name("stopping rule", rule, RULES)


BOOST_KEYWORDS = (
    *(name for name, keyword in signature(boost).parameters.items() if keyword.kind is keyword.KEYWORD_ONLY),
    *OPTIONS,
)
"""The keywords of `boost` that are not parameters of a formulation."""
