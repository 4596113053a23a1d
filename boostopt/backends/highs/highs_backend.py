"""HiGHS, called directly, for linear programs: "highs", and one algorithm alone as "highs:dual", ":primal", ":ipm".

One model is kept for a whole run of boosting. New hypotheses are appended to it, costs and bounds are changed in place,
and the simplex method continues from its last basis. A program that is not related to the last one gets a new model.
A `ModelHandle` passes the model from one solve to the next. Only the basis carries over: no file holds the rest of
HiGHS's state (factors, edge weights, scales), so a resumed run could otherwise take another path among equal optima.
Computing the rest again costs about a tenth of a run.

Measured on LPs of boosting (N = 60 to 20000, t = 50 to 800, signs and reals, nu = 0.02 N to 0.7 N). From a cold start,
the dual simplex method in d-space is the fastest one, or nearly so, everywhere. The costs of d are all equal, and HiGHS
perturbs them. From a warm start with few pivots left, it takes as many pivots again to repair the optimum of the
perturbed program. There, the perturbation is made smaller than the dual tolerance. Without any perturbation, the method
can stall or cycle (seen). Hence there is a small one, and a limit on iterations, after which the next attempt of
the schedule takes over. With more than twice as many hypotheses as examples, w-space with the primal simplex method
from a warm start is faster by a tenth or a fifth.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import (
    MAX_ENTRIES_WITHIN_LIMIT,
    Attempt,
    Backend,
    Capability,
    Deadline,
    Task,
    describe_cones,
    package_version,
)
from boostopt.backends.highs.incremental_model import SPACES, HighsModel, HighsRejected
from boostopt.backends.highs.linear_program import LinearProgram, not_linear_reason
from boostopt.backends.highs.warm_start_basis import Basis
from boostopt.errors import SolverNotFound, unknown_name
from boostopt.programs.program import Program

DUAL, PRIMAL, INTERIOR = "dual simplex", "primal simplex", "interior point"
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "highs": (DUAL, PRIMAL, INTERIOR),
    "highs:dual": (DUAL,),
    "highs:primal": (PRIMAL,),
    "highs:ipm": (INTERIOR,),
}
"""The names of the backends, with the algorithms that each may use."""

SIMPLEX_STRATEGY_CODES = {DUAL: 1, PRIMAL: 4}
"""HiGHS's numbers for its simplex methods."""

PERTURBATION_PER_TOLERANCE = 1e5
"""Perturbation of the costs over the dual tolerance, in units of HiGHS's 5e-7: a twentieth of the tolerance."""

FINEST, COARSEST = 1e-10, 1e-7
"""The tolerances that HiGHS takes, and its default."""

ITERATIONS_PER_ROW, EXTRA_ROWS = 100, 10
"""Simplex iterations allowed for each row, and extra rows that are counted: 10 a row are usual, 40 have been seen."""

W_SPACE_ROW_RATIO = 2
"""Number of rows over the edges for each example beyond which w-space is faster."""

WARM_ALGORITHM = {"d": DUAL, "w": PRIMAL}
"""The simplex method for which a basis stays feasible when hypotheses join or the box changes, by space."""


@dataclass(frozen=True)
class AttemptSettings:
    """A way to solve a linear program: space, algorithm, and whether the costs get HiGHS's own perturbation."""

    space: str
    algorithm: str
    perturbed: bool = False


ALL_SETTINGS = tuple(
    AttemptSettings(space, algorithm, perturbed)
    for space in sorted(SPACES)
    for algorithm in (DUAL, PRIMAL, INTERIOR)
    for perturbed in (False, True)
)
"""All rungs, in the order in which they are stored."""


@dataclass(frozen=True, eq=False)
class ModelHandle:
    """The model and the basis from which a run of boosting continues.

    Attributes
    ----------
    model, version
        The model, and the number of its changes so far: another solve may have changed it since. The model is None if
        the last algorithm left no basis.
    failed
        The rungs that have failed in this run of boosting.
    """

    model: HighsModel | None
    version: int
    failed: frozenset[AttemptSettings]

    def __reduce__(self) -> Any:
        """Pickle and copy the handle as None, because a model exists in this process only."""
        return _no_handle, ()

    def model_for(self, lp: LinearProgram, rung: AttemptSettings) -> HighsModel | None:
        """Return the model, changed to a related program; None if it is stale, of another space, or unrelated."""
        model = self.model
        if model is None or model.version != self.version or model.space != rung.space or rung.algorithm == INTERIOR:
            return None
        try:
            return model if model.update_to(lp) and model.reset_keeping_basis() else None
        except HighsRejected:  # a new model will refuse the same, in an attempt
            return None

    def to_stored(self) -> StoredState:
        """Return the part of the handle that can leave the process."""
        model = self.model
        return StoredState(
            None if model is None or model.version != self.version else Basis.from_model(model), self.failed
        )


@dataclass(frozen=True, eq=False)
class StoredState:
    """A handle without its model: the start of a run that continues in another process."""

    basis: Basis | None
    failed: frozenset[AttemptSettings]

    def model_for(self, lp: LinearProgram, rung: AttemptSettings) -> HighsModel | None:
        """Return a new model at the basis, None if there is none for this space and program."""
        basis = self.basis
        if basis is None or basis.space != rung.space or rung.algorithm == INTERIOR:
            return None
        return basis.build_model(lp)

    def to_stored(self) -> StoredState:
        """Return it unchanged."""
        return self

    def packed(self) -> dict[str, Array]:
        """Return it as arrays."""
        failed = sorted(ALL_SETTINGS.index(rung) for rung in self.failed)
        return {"failed": np.array(failed, dtype=np.int8), **(self.basis.packed() if self.basis else {})}

    @classmethod
    def unpacked(cls, arrays: Mapping[str, Array]) -> StoredState | None:
        """Return the value that `packed` has stored, None if the arrays do not hold it."""
        if "failed" not in arrays:
            return None
        failed = frozenset(ALL_SETTINGS[int(k)] for k in arrays["failed"] if 0 <= k < len(ALL_SETTINGS))
        return cls(Basis.unpacked(arrays), failed)


def _no_handle() -> None:
    """Return the value of a handle in another process."""


def installed_names() -> list[str]:
    """Return the name of the backend that chooses its algorithm itself, if highspy is installed."""
    return ["highs"] if find_spec("highspy") else []


def open_highs(name: str) -> Backend:
    """Return the backend of that name.

    Raises
    ------
    OptionError
        There is no such variant.
    SolverNotFound
        highspy is not installed.
    """
    if name not in ALGORITHMS:
        raise unknown_name("backend", name, ALGORITHMS)
    if not installed_names():
        raise SolverNotFound("expected an installed solver; highspy is not found. Install it: pip install highspy.")
    return HighsBackend(name)


@dataclass(frozen=True)
class HighsBackend(Backend):
    """HiGHS, with all its algorithms or with one."""

    variant: str = "highs"

    continues_from_state: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.variant

    @property
    def version(self) -> str:
        return package_version("highspy")

    def takes(self, program: Program) -> Capability:
        unsupported = program.cones - {"linear"}
        if unsupported:
            needs = " and ".join(describe_cones(unsupported))
            return Capability(False, f"HiGHS is used for linear programs only; the program needs {needs}")
        reason = not_linear_reason(program)
        return Capability(not reason, f"HiGHS cannot be given the program directly: {reason}" if reason else "")

    def keeps_limit(self, program: Program) -> bool:
        N, t = program.margins.shape
        return N * t <= MAX_ENTRIES_WITHIN_LIMIT

    def attempts(self, task: Task) -> Iterator[Attempt]:
        began = time.perf_counter()
        lp, allowed = LinearProgram.from_program(task.program), ALGORITHMS[self.variant]
        state = task.start.state if task.start else None
        handle = state if isinstance(state, ModelHandle | StoredState) else None
        failed = handle.failed if handle else frozenset[AttemptSettings]()
        schedule = [settings for settings in attempt_schedule(lp) if settings.algorithm in allowed]
        schedule.sort(key=lambda settings: settings in failed)
        steps: list[tuple[AttemptSettings, HighsModel | None]] = [(settings, None) for settings in schedule]
        model = handle.model_for(lp, schedule[0]) if handle else None
        if model is not None:
            natural = AttemptSettings(model.space, WARM_ALGORITHM[model.space])
            fits = natural.algorithm in allowed and natural not in failed
            steps.insert(0, (natural if fits else schedule[0], model))
        accuracy = min(max(0.1 * task.tol, FINEST), COARSEST)
        if task.profile is not None:
            accuracy = max(task.profile.accuracy or COARSEST, FINEST)
        for settings, warm_model in steps:
            if task.deadline.passed:
                return
            attempt = _attempt(lp, settings, accuracy, task.deadline, began, failed, warm_model, task.options)
            yield attempt
            if task.profile is not None:
                return
            certificate = task.certify(attempt.d, attempt.w) if attempt.claims and attempt.has_iterate else None
            if certificate is not None and certificate.gap <= 4.0 * certificate.slack:
                return  # the rest is rounding, which no other algorithm reduces
            failed |= {settings}
            accuracy, began = FINEST, time.perf_counter()

    def supports_profile(self, profile: Profile) -> Capability:
        return Capability(True)

    @property
    def option_names(self) -> Collection[str] | None:
        import highspy

        return [name for name in dir(highspy.HighsOptions()) if not name.startswith("_")]

    def packed(self, state: Any) -> Mapping[str, Array] | None:
        return state.to_stored().packed() if isinstance(state, ModelHandle | StoredState) else None

    def deserialize_state(self, arrays: Mapping[str, Array]) -> Any:
        return StoredState.unpacked(arrays)


def attempt_schedule(lp: LinearProgram) -> list[AttemptSettings]:
    """Return the rungs for a linear program from a cold start, the most promising first."""
    first_space, second_space = ("w", "d") if lp.rows > W_SPACE_ROW_RATIO * lp.N else ("d", "w")
    simplex = [
        AttemptSettings(space, *method)
        for space in (first_space, second_space)
        for method in ((DUAL, True), (PRIMAL, False))
    ]
    return [*simplex, AttemptSettings(first_space, INTERIOR), AttemptSettings(second_space, INTERIOR)]


def _attempt(
    lp: LinearProgram,
    rung: AttemptSettings,
    accuracy: float,
    deadline: Deadline,
    began: float,
    failed: frozenset[AttemptSettings],
    hot: HighsModel | None,
    users: Mapping[str, Any] | None = None,
) -> Attempt:
    """Run HiGHS once, from a stored model that already contains this program, or from a new model."""
    form = f"{rung.space}-space, {'hot' if hot else 'cold'} {rung.algorithm}"
    form = f"{form}, perturbed" if rung.perturbed else form
    options: dict[str, Any] = {}
    times: dict[str, float] = {}
    try:
        model = hot or SPACES[rung.space](lp)
        times["build"] = time.perf_counter() - began
        options = {**_options(rung, accuracy, lp, deadline), **(users or {})}
        model.set(**{**options, "time_limit": model.seconds + options["time_limit"]})
        start = time.perf_counter()
        run = model.run()
        times["solve"] = time.perf_counter() - start
        start = time.perf_counter()
        d, w = model.read_answer()
        times["recover"] = time.perf_counter() - start
    except HighsRejected as refusal:
        return Attempt(form, options, "refused", False, times=times, error=str(refusal))
    # The interior point method leaves no basis for the next solve.
    state = ModelHandle(None if rung.algorithm == INTERIOR else model, model.version, failed)
    return Attempt(
        form, options, run.status, run.optimal, d, w, run.iterations, run.statistics, times=times, state=state
    )


def _options(rung: AttemptSettings, accuracy: float, lp: LinearProgram, deadline: Deadline) -> dict[str, Any]:
    """Return all options that any rung sets, so that they overwrite those of an earlier run of the model."""
    remaining = deadline.remaining
    interior = rung.algorithm == INTERIOR
    return {
        "solver": "ipm" if interior else "simplex",
        "run_crossover": "off",
        "presolve": "on" if interior else "off",  # a presolved program has another basis
        "simplex_strategy": SIMPLEX_STRATEGY_CODES.get(rung.algorithm, SIMPLEX_STRATEGY_CODES[DUAL]),
        "simplex_iteration_limit": ITERATIONS_PER_ROW * (EXTRA_ROWS + min(lp.rows, lp.N)),
        "dual_simplex_cost_perturbation_multiplier": 1.0 if rung.perturbed else PERTURBATION_PER_TOLERANCE * accuracy,
        "primal_feasibility_tolerance": accuracy,
        "dual_feasibility_tolerance": accuracy,
        "ipm_optimality_tolerance": accuracy,
        "time_limit": np.inf if remaining is None else remaining,
    }
