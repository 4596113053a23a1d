"""Every conic or linear solver that CVXPY has installed, as the backend "cvxpy:<solver>".

"cvxpy:<solver>:<form>" is the same solver pinned to one form of a program, so that you can compare forms.
"cvxpy:<solver>:<setting>" is the solver with options that its authors document, and "cvxpy:<solver>:<form>:<setting>"
both.

The backend does not trust a solver's status, good or bad. Each attempt passes on the iterate, which CVXPY would discard
after a failure, and the caller certifies it.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import takewhile
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import (
    CONES,
    Attempt,
    Backend,
    Capability,
    Deadline,
    Task,
    describe_cones,
    package_version,
)
from boostopt.backends.cvxpy.solver_options import FORMS, SOLVERS, AttemptSettings, Options, SolverSpec
from boostopt.backends.cvxpy.stopping_tests import STOPPING_TESTS
from boostopt.backends.cvxpy_problem_task import STATED_FORM, STATUS, VALUE, ProblemTask
from boostopt.backends.external_exceptions import ExternalError, call_external, raise_caught_interrupt
from boostopt.errors import SolverNotFound, unknown_name
from boostopt.programs.cvxpy_models import CvxpyModel, ModelForm, build_cvxpy_model
from boostopt.programs.program import Program
from boostopt.programs.user_cvxpy_problem import ConvexProblem, flat_answer

NAME_PREFIX = "cvxpy:"
LINEAR_CONES = frozenset({"linear"})

MAX_ENTRIES_WITHIN_LIMIT = 20_000
"""Entries of a margin matrix up to which a time limit is kept: modelling is quick, and solvers check the clock in time.

Measured with SCS at a limit of 1 s. SCS exceeds it by half a second at 100,000 entries, and by 44 s at 1,000,000.
"""


MAX_TENS = 3
"""Largest number of tens by which a request is tightened at once."""

MIN_NARROWING = 0.5
"""Factor of the gap that a tightened request must reach; otherwise another one does not help."""

MAX_ITERATION_RATIO, MIN_MAX_ITERATIONS = 5, 1_000
"""Limit of the iterations of a tightened request: a multiple of those of the request before, and its smallest value."""

MAX_SCALARS_WITHIN_LIMIT = 2_000
"""Scalar variables and constraints of a CVXPY problem up to which a time limit is kept: modelling is quick."""


def installed_names() -> list[str]:
    """Return the names of the backends, one for each solver that CVXPY finds and that takes linear programs."""
    return [NAME_PREFIX + solver.lower() for solver in _installed_solvers() if "linear" in _supported_cones(solver)]


def open_solver(name: str) -> Backend:
    """Return the backend "cvxpy:<solver>", "cvxpy:<solver>:<form>", pinned to one form, or one with a named setting.

    Raises
    ------
    OptionError
        CVXPY knows no such solver, or there is no such form or setting.
    SolverNotFound
        CVXPY knows it, but it is not installed.
    """
    first, *parts = name.removeprefix(NAME_PREFIX).lower().split(":")
    solver = first.upper()
    settings = SOLVERS.get(solver, SolverSpec()).named_settings
    form = FORMS[parts.pop(0)] if parts and parts[0] in FORMS else None
    setting = parts.pop(0) if parts and parts[0] in settings else ""
    if parts:
        kind = "form or setting" if settings else "form"
        raise unknown_name(kind, ":".join(parts), [*FORMS, *settings])
    if solver in _installed_solvers():
        return CvxpyBackend(solver, form, setting)
    from cvxpy.reductions.solvers import defines

    if solver in {*defines.SOLVER_MAP_CONIC, *defines.SOLVER_MAP_QP}:
        raise SolverNotFound(
            f"expected an installed solver; CVXPY supports {solver} but does not find it. "
            f"Install it, or use one of {', '.join(installed_names())}."
        )
    raise unknown_name("backend", name, installed_names())


@dataclass(frozen=True)
class CvxpyBackend(Backend):
    """A solver behind CVXPY.

    Attributes
    ----------
    solver
        CVXPY's name for it.
    form
        The only form of a program that the solver gets; None for the forms of its schedule.
    setting
        The name of options that the authors of the solver document, "" for none. Options of the user override them.
    """

    solver: str
    form: ModelForm | None = None
    setting: str = ""

    @property
    def name(self) -> str:
        forms = [name for name, form in FORMS.items() if form == self.form]
        return ":".join(filter(None, [NAME_PREFIX + self.solver.lower(), *forms, self.setting]))

    def with_form(self, form: str) -> Backend:
        """Return the same solver, pinned to one form by its name.

        Raises
        ------
        OptionError
            There is no such form.
        """
        if form not in FORMS:
            raise unknown_name("form", form, FORMS)
        return replace(self, form=FORMS[form])

    @property
    def solver_spec(self) -> SolverSpec:
        """The solver's options, statuses and attempts."""
        return SOLVERS.get(self.solver, SolverSpec())

    @property
    def auto_eligible(self) -> bool:
        # The others are for mixed-integer programs, need a licence, or take no tolerance or time limit.
        return self.solver_spec.automatic

    @property
    def version(self) -> str:
        return package_version(self.solver_spec.package or self.solver.lower())

    def takes(self, program: Program) -> Capability:
        cones = program.cones
        missing = describe_cones(cones - _supported_cones(self.solver))
        if missing:
            return Capability(False, f"{self.name} does not take {' and '.join(missing)}, which the program needs")
        withheld = [f"{CONES[cone]}: {why}" for cone, why in self.solver_spec.disabled_cones.items() if cone in cones]
        if withheld:
            return Capability(False, f"{self.name} is not given {' nor '.join(withheld)}")
        if self.form is not None and self.form.side not in program.available_sides:
            return Capability(False, f"the program has no derived {self.form.side} for the form of {self.name}")
        return Capability(True)

    def keeps_limit(self, program: Program) -> bool:
        N, t = program.margins.shape
        return self.solver_spec.has_time_limit and N * t <= MAX_ENTRIES_WITHIN_LIMIT

    def supports_profile(self, profile: Profile) -> Capability:
        if profile.accuracy is None or self.solver_spec.tolerances:
            return Capability(True)
        return Capability(False, f"no option for the accuracy of {self.solver} is known: ask it by its default")

    @property
    def option_names(self) -> Collection[str] | None:
        return self.solver_spec.names or None

    def attempts(self, task: Task) -> Iterator[Attempt]:
        task = replace(task, options=self._with_setting(task.options))
        solver, program, deadline = self.solver_spec, task.program, task.deadline
        linear = program.cones == LINEAR_CONES
        schedule = solver.linear_schedule if linear else solver.schedule
        settings = schedule if self.form is None else (solver.settings_for_form(self.form, linear),)
        settings = [setting for setting in settings if setting.form.side in program.available_sides]
        # The options are made when the solver starts, because modelling uses part of the time limit.
        if task.profile is not None:
            accuracy = task.profile.accuracy
            yield self._attempt(
                program,
                settings[0].form,
                lambda: solver.options_for_profile(accuracy, deadline.remaining, task.options),
            )
            return
        if solver.has_coarse_requests:
            first = list(takewhile(lambda setting: setting.form == settings[0].form, settings))
            yield from self._tightened_attempts(task, first)
            settings = settings[len(first) :]
        for setting in settings:
            if deadline.passed:
                return
            yield self._scheduled_attempt(task, setting)

    def _with_setting(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the named setting and of the user, whose options override the others."""
        return {**(self.solver_spec.named_settings[self.setting] if self.setting else {}), **options}

    def _scheduled_attempt(self, task: Task, setting: AttemptSettings) -> Attempt:
        """Make an attempt of the schedule."""
        return self._attempt(
            task.program,
            setting.form,
            lambda: self.solver_spec.options_for_attempt(setting, task.tol, task.deadline.remaining, task.options),
        )

    def _tightened_attempts(self, task: Task, settings: Sequence[AttemptSettings]) -> Iterator[Attempt]:
        """Yield attempts in one form, first at the target gap, then at requests that are tens smaller.

        There is another attempt only while it may help: the solver has reached its tolerance, and the last step has
        narrowed the gap or has changed nothing. Requests that are coarser than the first one of the schedule always go
        on to it: at a few iterations a gap says little.

        Parameters
        ----------
        task
            The task.
        settings
            The attempts of the schedule in this form, the coarsest first. They limit requests and iterations.
        """
        spec, previous, previous_gap = self.solver_spec, None, np.inf
        smallest = min(spec.accuracy_of(setting, task.tol) for setting in settings)
        usual_request = spec.accuracy_of(settings[0], task.tol)
        request = max(task.tol, usual_request)
        while not task.deadline.passed:
            limits = next((s for s in settings if spec.accuracy_of(s, task.tol) <= request), settings[-1]).extra_options
            if previous is not None and previous.iterations is not None and spec.iterations in limits:
                max_iterations = max(MAX_ITERATION_RATIO * previous.iterations, MIN_MAX_ITERATIONS)
                limits = {**limits, spec.iterations: min(limits[spec.iterations], max_iterations)}
            choose = partial(self._request_options, task, request, limits)
            attempt = self._attempt(task.program, settings[0].form, choose)
            yield attempt
            gap = task.gap(attempt.d, attempt.w) if attempt.has_iterate else np.inf
            if not attempt.claims and previous is None and len(settings) > 1:
                yield self._scheduled_attempt(task, settings[-1])  # which has more iterations
                return
            is_same_run = (
                previous is not None and attempt.iterations is not None and attempt.iterations == previous.iterations
            )
            may_help = is_same_run or request > usual_request or gap <= MIN_NARROWING * previous_gap
            if request <= smallest or not attempt.claims or not may_help:
                return
            tens = math.ceil(math.log10(gap / task.tol)) if math.isfinite(gap) else MAX_TENS
            request = max(float(f"{request / 10.0 ** min(max(tens, 1), MAX_TENS):.12g}"), smallest)
            previous, previous_gap = attempt, gap

    def _request_options(self, task: Task, request: float, limits: Mapping[str, Any]) -> Options:
        """Return the options of an attempt at a request."""
        return self.solver_spec.options_for_request(request, limits, task.deadline.remaining, task.options)

    def attempts_at_problem(self, task: ProblemTask) -> Iterator[Attempt]:
        """Yield attempts at a CVXPY problem, each on a copy of its own, in finer and finer accuracies."""
        is_linear, spent = task.problem.problem.is_lp(), 0.0
        for choose_options in self._problem_requests(task, is_linear):
            if task.seconds is not None and spent >= task.seconds:
                return
            # The time in which the caller certifies an attempt does not count.
            deadline, clock = Deadline.after(None if task.seconds is None else task.seconds - spent), PhaseTimer()
            fresh = task.problem.copy()
            clock.lap("build")
            model = CvxpyModel(fresh, partial(flat_solution, fresh), 1.0, is_original=True)
            yield self._run(model, STATED_FORM, partial(choose_options, deadline), clock)
            spent += sum(clock.times.values())

    def keeps_limit_on_problem(self, problem: ConvexProblem) -> bool:
        """Return whether attempts at a CVXPY problem keep any time limit within a tenth of it, or 0.1 s."""
        return self.solver_spec.has_time_limit and problem.size <= MAX_SCALARS_WITHIN_LIMIT

    def _problem_requests(self, task: ProblemTask, is_linear: bool) -> list[Callable[[Deadline], Options]]:
        """Return, for each attempt at a CVXPY problem, a function of the deadline that returns its options."""
        spec, tol, users = self.solver_spec, task.tol, self._with_setting(task.options)
        if task.profile is not None:
            accuracy = task.profile.accuracy
            return [lambda deadline: spec.options_for_profile(accuracy, deadline.remaining, users)]
        settings = spec.settings_for_problem(is_linear)
        requests = [(spec.accuracy_of(setting, tol), setting.extra_options) for setting in settings]
        if spec.has_coarse_requests and tol > requests[0][0]:
            requests.insert(0, (tol, settings[0].extra_options))
        return [
            lambda deadline, request=request: spec.options_for_request(*request, deadline.remaining, users)
            for request in requests
        ]

    def _attempt(self, program: Program, form: ModelForm, choose: Callable[[], Options]) -> Attempt:
        """Run the solver once. An exception of the solver or of CVXPY becomes the error of the attempt."""
        clock = PhaseTimer()
        derived = build_cvxpy_model(program.margins, program.regularizer, program.edge_function, form)
        clock.lap("build")
        return self._run(derived, form.name, choose, clock)

    def _run(self, derived: CvxpyModel, form: str, choose: Callable[[], Options], clock: PhaseTimer) -> Attempt:
        """Run the solver once on a model."""
        options: Options = {}
        try:
            # solver_opts={} is required: without it CVXPY's Clarabel interface cannot read its own answer.
            data, chain, inverse = call_external(lambda: derived.problem.get_problem_data(self.solver, solver_opts={}))
            clock.lap("canonicalize")
            options = choose()
            # A copy, because CVXPY's interfaces remove options from the dictionary that they get.
            sent = copy.deepcopy(options)
            raw = call_external(
                lambda: chain.solve_via_data(derived.problem, data, warm_start=False, verbose=False, solver_opts=sent)
            )
        except ExternalError as failure:
            clock.lap("solve")
            return Attempt(form, options, "raised", False, times=clock.times, error=str(failure))
        clock.lap("solve")
        raise_caught_interrupt(self._status(raw, ""))
        try:
            attempt = call_external(lambda: self._read(derived, chain, inverse, raw, form, options, clock))
        except ExternalError as failure:  # an answer that CVXPY cannot read
            clock.lap("recover")
            status = self._status(raw, "unreadable")
            return Attempt(form, options, status, False, times=clock.times, error=str(failure))
        return replace(attempt, statistics={**attempt.statistics, **self._stopping_test_ratios(data, raw, options)})

    def _stopping_test_ratios(self, data: Mapping[str, Any], raw: Any, options: Options) -> dict[str, float]:
        """Return the residuals of an answer over what the solver's own test allows; empty if its test is not known."""
        test = STOPPING_TESTS.get(self.solver)
        return {} if test is None else test.ratios(data, raw, options)

    def _read(
        self,
        derived: CvxpyModel,
        chain: Any,
        inverse: Any,
        raw: Any,
        form: str,
        options: Options,
        clock: PhaseTimer,
    ) -> Attempt:
        solution = chain.invert(raw, inverse)
        iterate = solution if solution.primal_vars else _invert_failed_answer(chain, raw, inverse)
        d, w = derived.recover_weights(iterate.primal_vars or {}, iterate.dual_vars or {})
        clock.lap("recover")
        iterations = solution.attr.get("num_iters")
        report = _numeric_fields(raw) | _numeric_fields(solution.attr.get("extra_stats"))
        return Attempt(
            form=form,
            options=options,
            status=self._status(raw, solution.status),
            claims=solution.status == "optimal",
            d=d,
            w=w,
            iterations=None if iterations is None else int(iterations),
            claimed_gap=self.solver_spec.claimed_gap(report, derived.objective_factor),
            statistics=report | ({VALUE: solution.opt_val, STATUS: solution.status} if derived.is_original else {}),
            times=clock.times,
        )

    def _status(self, raw: Any, translated: str) -> str:
        texts = self.solver_spec.status
        return f"{texts(raw)} ({translated})" if texts else translated


class PhaseTimer:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.times[phase] = now - self._last
        self._last = now


def flat_solution(
    problem: Any, primal: Mapping[int, Any], dual: Mapping[int, Any]
) -> tuple[Float[Array, " n"] | None, Float[Array, " m"] | None]:
    """Store the answer of a solver, by CVXPY's ids, in a problem, and return it as flat arrays."""
    for variable in problem.variables():
        variable.save_value(primal.get(variable.id))
    for constraint in problem.constraints:
        if constraint.id in dual:
            constraint.save_dual_value(dual[constraint.id])
    return flat_answer(problem)


def _invert_failed_answer(chain: Any, raw: Any, inverse: Any) -> Any:
    """Return CVXPY's reading of a failed answer as if the answer had succeeded: the iterate is worth certifying.

    CVXPY drops the iterate if a status counts as a failure. A copy of its interface, in which no status does, keeps the
    iterate. If the solver left none, this reading fails, and the failed answer remains.
    """
    solver = copy.copy(chain.reductions[-1])
    solver.STATUS_MAP = dict.fromkeys(solver.STATUS_MAP, "optimal_inaccurate")
    lenient = copy.copy(chain)
    lenient.reductions = [*chain.reductions[:-1], solver]
    try:
        return lenient.invert(raw, inverse)
    except (AttributeError, KeyError, TypeError, ValueError):  # no arrays in this answer
        return chain.invert(raw, inverse)


@cache
def _installed_solvers() -> list[str]:
    """Names of the solvers that CVXPY finds."""
    return list(cp.installed_solvers())


@cache
def _supported_cones(solver: str) -> frozenset[str]:
    """Return the cones that a solver takes, from CVXPY's (private) table of interfaces."""
    from cvxpy.reductions.solvers import defines

    conic = defines.SOLVER_MAP_CONIC.get(solver)
    supported = set(conic.SUPPORTED_CONSTRAINTS) if conic is not None else set[Any]()
    takes = {
        "linear": cp.NonNeg in supported or solver in defines.SOLVER_MAP_QP,
        "second_order": cp.SOC in supported,
        "quadratic": cp.SOC in supported or solver in defines.SOLVER_MAP_QP,
        "exponential": cp.ExpCone in supported,
        "power": cp.PowCone3D in supported,
        "semidefinite": any(cone.__name__ in ("PSD", "SvecPSD") for cone in supported),  # CVXPY 1.9 has the second
    }
    return frozenset(cone for cone, is_supported in takes.items() if is_supported)


def _numeric_fields(source: Any) -> dict[str, float]:
    """Return the numbers among the public fields of a solver's report, a record of any kind."""
    if source is None:
        return {}
    if isinstance(source, Mapping):
        fields: dict[str, Any] = dict(source)
    else:
        fields = {name: getattr(source, name) for name in dir(source) if not name.startswith("_")}
    info = fields.pop("info", None)
    return {name: float(value) for name, value in fields.items() if _is_number(value)} | _numeric_fields(info)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
