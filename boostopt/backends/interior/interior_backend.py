"""The backend "interior": a primal-dual interior point method that uses the structure of the programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array
from boostopt._utils.validation import check_integer
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Attempt, Backend, Capability, Task, check_epigraph_support, package_version
from boostopt.backends.interior import central_path_serialization
from boostopt.backends.interior.interior_form import InteriorProblem
from boostopt.backends.interior.newton_steps import Iterate
from boostopt.backends.interior.predictor_corrector import Iteration, iterate
from boostopt.backends.interior.starting_points import (
    CentralPath,
    cold_start_point,
    single_row_rays,
    warm_start_point_from_answer,
    warm_start_point_from_path,
)
from boostopt.boosting_certificates.primal_dual_certifier import Certifier
from boostopt.errors import require_not_none
from boostopt.functions.edge_functions.base import Epigraph
from boostopt.programs.program import Program

MAX_ITERATIONS = 60
"""Maximum number of iterations of an attempt."""

START_MULTIPLES = (1.0, 10.0, 100.0)
"""Sizes of the complementary products at the start, as multiples of the objective's scale over N, for each attempt."""

CERTIFY_FACTOR = 30.0
"""Largest ratio of the estimated gap to the target gap at which the method computes the certificate."""

CERTIFY_PERIOD = 10
"""Period, in iterations, of certificates that test for infeasibility if edges are bounded."""

MAX_EXAMINED_ROWS = 10
"""Maximum number of single rows that are tested for a proof of infeasibility."""

ROUNDING_FRACTION = 1e-2
"""Fraction of the certified gap below which the estimated gap shows that rounding is the rest."""

CONVERGED_FRACTION = 1e-3
"""Fraction of the tolerance: after three estimates in a row below it, further iterations cannot certify the gap."""

STATUS_GAP_REACHED = "the target gap is reached"
INFEASIBLE = "infeasible, by the certificate"
STATUS_ESTIMATE_REACHED = "the estimated gap is at most the target gap"
STATUS_ROUNDING = "what is left of the gap is rounding"

MAX_ITER = "max_iter"
"""Name of the option for the maximum number of iterations of an attempt."""

DEFAULT_ACCURACY = 1e-8
"""The estimated gap at which the method stops by itself if the profile sets no accuracy."""

MAX_FLOPS_WITHIN_LIMIT = 1e9
"""Multiplications per iteration, about 0.1 s, up to which the backend keeps a time limit: it reads the clock between
iterations."""

WARM_START_ITERATIONS = 6
"""Number of iterations after which a warm start must have decreased the estimated gap."""

WARM_START_DECREASE = 0.5
"""Factor by which the estimated gap must decrease in these iterations."""


@dataclass(frozen=True)
class InteriorBackend(Backend):
    """A structured interior point method for regularizers of single weights and for polyhedral or squared edges."""

    runs_external_code: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "interior"

    @property
    def version(self) -> str:
        return package_version("boostopt")

    def takes(self, program: Program) -> Capability:
        capability = check_epigraph_support(self.name, program, "linear pieces or of squares")
        rows = program.edge_function.epigraph(program.margins.t) if capability else None
        if rows is not None and not has_start_point(rows):
            return Capability(False, f"{self.name} has no start for edges with several further variables of this kind")
        return capability

    def keeps_limit(self, program: Program) -> bool:
        N, t = program.margins.shape
        return (N + t) * t * t <= MAX_FLOPS_WITHIN_LIMIT

    def supports_profile(self, profile: Profile) -> Capability:
        return Capability(True)

    @property
    def option_names(self) -> Collection[str] | None:
        return (MAX_ITER,)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        start_time = time.perf_counter()
        problem = require_not_none(InteriorProblem.from_program(task.program), "a program that this backend takes")
        build_seconds = time.perf_counter() - start_time
        if not problem.movable.any():
            d0 = task.program.regularizer.project(None)
            G, e = task.program.edge_function, task.program.margins.edges(d0)
            w = G.subgradient(e)
            if G.domain(len(e)) is not None:
                w = next(single_row_rays(problem, problem.rows.rows(problem.fixed_edges)), problem.rows.slope)
            yield Attempt("the only point", {}, "nothing to solve", True, d0, w, 0)
            return
        state = task.start.state if task.start else None
        earlier_path = state if isinstance(state, CentralPath) and state.is_compatible(problem) else None
        for form, is_warm, make_start in self._starts(task, problem, earlier_path):
            if task.deadline.passed:
                return
            run = _InteriorRun(task, problem, is_warm_start=is_warm)
            start_time = time.perf_counter()
            with np.errstate(all="ignore"):
                run.run(make_start(), earlier_path)
            last = run.last
            yield Attempt(
                form=form,
                options=run.options,
                status=run.stop_reason,
                claims=run.stop_reason in (STATUS_GAP_REACHED, STATUS_ESTIMATE_REACHED, STATUS_ROUNDING),
                d=last.d if last else None,
                w=last.w if last else None,
                iterations=run.iterations,
                claimed_gap=last.estimate if last and run.stop_reason != INFEASIBLE else None,
                statistics={"estimate": last.estimate} if last else {},
                times={"build": build_seconds, "solve": time.perf_counter() - start_time},
                state=run.path,
            )
            if task.profile is not None:
                return
            if run.stop_reason == STATUS_ROUNDING and not run.is_warm_start:
                return  # A warm start may have diverged. From the centre, rounding may be smaller.

    def packed(self, state: Any) -> Mapping[str, Array] | None:
        return central_path_serialization.serialize_path(state) if isinstance(state, CentralPath) else None

    def deserialize_state(self, arrays: Mapping[str, Array]) -> Any:
        return central_path_serialization.deserialize_path(arrays)

    def _starts(
        self, task: Task, problem: InteriorProblem, earlier_path: CentralPath | None
    ) -> Iterator[tuple[str, bool, Callable[[], Iterate]]]:
        """Yield a name, whether the start is warm, and a function that returns the point; most promising first."""
        program, start = task.program, task.start
        if earlier_path is not None:
            yield "warm, from a central iterate", True, lambda: warm_start_point_from_path(problem, earlier_path)
        if start is not None and start.d is not None and start.w is not None:
            certificate = program.certify(start.d, start.weights(problem.U.t))
            if not certificate.infeasible and np.isfinite(certificate.scaled_gap):
                yield (
                    "warm, near an answer",
                    True,
                    lambda: warm_start_point_from_answer(problem, certificate.d, certificate.w, certificate.scaled_gap),
                )
        d0 = program.regularizer.project(None)
        for multiple in START_MULTIPLES:
            mu = multiple * problem.mass / program.margins.N
            form = "cold" if multiple == 1.0 else f"cold, products {multiple:g} times as large"
            yield form, False, lambda mu=mu: cold_start_point(problem, d0, mu)


def has_start_point(rows: Epigraph) -> bool:
    """Return whether a starting point exists: if each row has at most one variable, for squares, or without variables.

    An equation may have no variable.
    """
    variables_per_row, is_relaxing = (rows.B != 0.0).sum(axis=1), (rows.B == -1.0) | (rows.B == 0.0)
    if rows.g.any():
        lacks_variable = rows.equality & (variables_per_row == 0)
        return bool((rows.g > 0.0).all() and is_relaxing.all() and ((variables_per_row == 1) | lacks_variable).all())
    one_row_per_variable = ((rows.B != 0.0).sum(axis=0) == 1).all() and (variables_per_row <= 1).all()
    return bool((np.diag(rows.Q) > 0.0).all() and is_relaxing.all() and one_row_per_variable)


class _InteriorRun:
    """The iterations from one start, until the target gap is certified or no progress is possible."""

    def __init__(self, task: Task, problem: InteriorProblem, is_warm_start: bool) -> None:
        self.task, self.problem, self.is_warm_start = task, problem, is_warm_start
        self.max_iterations = check_integer(MAX_ITER, task.options.get(MAX_ITER, MAX_ITERATIONS), 1)
        profile = task.profile
        self.accuracy = None if profile is None else DEFAULT_ACCURACY if profile.accuracy is None else profile.accuracy
        self.last: Iteration | None = None
        self.path: CentralPath | None = None
        self.iterations = self.converged_iterations = 0
        self.stop_reason = "the iterates overflowed"

    @property
    def options(self) -> dict[str, Any]:
        """The options of the attempt, as reported."""
        accuracy = {} if self.accuracy is None else {"accuracy": self.accuracy}
        return {MAX_ITER: self.max_iterations, **accuracy}

    def run(self, point: Iterate, earlier_path: CentralPath | None) -> None:
        """Iterate; store the last iterate and the central path."""
        first_estimate = np.inf
        for k, iteration in enumerate(iterate(self.problem, point)):
            if self.path is None:
                self.path, first_estimate = CentralPath.continuing(earlier_path, iteration.estimate), iteration.estimate
            self.last, self.path, self.iterations = (
                iteration,
                self.path.with_iterate(iteration.estimate, iteration.size, iteration.point),
                k,
            )
            final_status = (
                self._certified_status(iteration, k)
                if self.accuracy is None
                else self._estimated_status(iteration, k, self.accuracy)
            )
            reason = final_status or self._stop_reason(iteration, k, first_estimate)
            if reason:
                self.stop_reason = reason
                return

    def _certified_status(self, iteration: Iteration, k: int) -> str:
        """Return the status if the certificate ends the run, otherwise "". If it cannot end the run, compute none."""
        checks_infeasibility = self.problem.may_be_infeasible and k % CERTIFY_PERIOD == CERTIFY_PERIOD - 1
        if iteration.estimate > CERTIFY_FACTOR * self.task.tol and not checks_infeasibility and k < self.max_iterations:
            return ""
        certificate = self.task.certify(iteration.d, iteration.w)
        if certificate.infeasible or (
            checks_infeasibility and certificate.upper == np.inf and self._single_row_proves_infeasible(iteration)
        ):
            return INFEASIBLE
        if certificate.scaled_gap <= self.task.tol:
            return STATUS_GAP_REACHED
        is_rounding = 4.0 * certificate.slack >= certificate.gap
        return (
            STATUS_ROUNDING
            if is_rounding and iteration.estimate * iteration.size <= ROUNDING_FRACTION * certificate.gap
            else ""
        )

    def _estimated_status(self, iteration: Iteration, k: int, accuracy: float) -> str:
        """Return the status if the estimated gap ends the run; the certificate only detects infeasibility."""
        if iteration.estimate <= accuracy:
            return STATUS_ESTIMATE_REACHED
        if not (self.problem.may_be_infeasible and k % CERTIFY_PERIOD == CERTIFY_PERIOD - 1):
            return ""
        certificate = self.task.certify(iteration.d, iteration.w)
        return (
            INFEASIBLE
            if certificate.infeasible or (certificate.upper == np.inf and self._single_row_proves_infeasible(iteration))
            else ""
        )

    def _single_row_proves_infeasible(self, iteration: Iteration) -> bool:
        """Return whether a single row proves that no d is feasible. Iterates with tiny numbers cannot show this."""
        program = self.task.program
        certifier = Certifier(program.margins, program.regularizer, program.edge_function, iteration.d)
        images = self.problem.rows.rows(program.margins.edges(iteration.d))
        for w in islice(single_row_rays(self.problem, images), MAX_EXAMINED_ROWS):
            if certifier.proves_infeasible(w) and self.task.certify(iteration.d, w).infeasible:
                self.last = replace(iteration, w=w)
                return True
        return False

    def _stop_reason(self, iteration: Iteration, k: int, first_estimate: float) -> str:
        """Return a reason to stop; "" if there is none."""
        if k >= self.max_iterations:
            return "too many iterations"
        if self.task.deadline.passed:
            return "no time left"
        self.converged_iterations = (
            self.converged_iterations + 1 if iteration.estimate < CONVERGED_FRACTION * self.task.tol else 0
        )
        if self.converged_iterations > 2:
            return "converged as far as the arithmetic goes"
        stalled = k >= WARM_START_ITERATIONS and iteration.estimate > WARM_START_DECREASE * first_estimate
        return "a warm start that leads nowhere" if self.is_warm_start and stalled else ""
