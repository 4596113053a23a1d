"""The interface of a backend: it states whether it supports a program, and yields attempts to solve the program."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt._utils.immutable_arrays import ImmutableArrays, immutable_value
from boostopt._utils.validation import check_optional, check_real_array, check_string, read_fields
from boostopt.backends.accuracy_profiles import Profile
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.functions.regularizers.separable import Separable
from boostopt.programs.program import Program

CONES = {
    "linear": "linear constraints",
    "second_order": "second-order cones",
    "quadratic": "a quadratic objective",
    "exponential": "exponential cones",
    "power": "power cones",
    "semidefinite": "semidefinite cones",
    "interior": "a formula that no rule turns into atoms of CVXPY, which only interior takes",
}
"""Cones and other features that F or G may require from a solver, with names for sentences."""

MAX_ENTRIES_WITHIN_LIMIT = 100_000
"""Number of entries of a margin matrix up to which direct calls of solvers keep a time limit.

Measured at limits of 1 s and 8 s. Solvers exceed them by 0.1 s at 100,000 entries, by 1 to 4 s at 1,000,000, and by
9 s at 8,000,000.
"""

NEEDS_SEPARABLE_REASON = "needs a regularizer that is a sum over the examples in closed form (Separable)"
"""Reason of backends that need the terms of F one by one."""


@dataclass(frozen=True)
class Capability:
    """The answer whether a backend supports a program, with the reason in a sentence if it does not."""

    supported: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.supported


def describe_cones(cones: Collection[str]) -> list[str]:
    """Return the names of cones in a sentence."""
    return [CONES.get(cone, f"{cone!r} (unknown to boostopt)") for cone in sorted(cones)]


def describe_derivative_jump(whose: str, n: int, weight: float, size: float) -> str:
    """Describe the jump of a slope, and advise how to define a regularizer with a kink."""
    return (
        f"the slope of {whose} (derivatives) jumps by {size:.3g} at weight {weight:.6g} of example {n}. Delete "
        "Separable and the closed forms: a CvxpyRegularizer may have kinks"
    )


def check_epigraph_support(name: str, program: Program, rows: str = "linear rows and a quadratic") -> Capability:
    """Return whether F is a sum over the examples and G is made of rows, as the backend `name` requires."""
    F = program.regularizer
    if F.pointwise() is None:
        return Capability(False, f"{name} {NEEDS_SEPARABLE_REASON}")
    is_user_class = not type(F).__module__.startswith("boostopt.")
    if is_user_class and isinstance(F, Separable) and F.derivative_jump is not None:
        return Capability(
            False,
            f"{name} needs slopes that do not jump; {describe_derivative_jump(type(F).__name__, *F.derivative_jump)}",
        )
    if program.edge_function.epigraph(program.margins.t) is None:
        return Capability(False, f"{name} needs an edge function made of {rows}")
    return Capability(True)


@cache
def package_version(package: str) -> str:
    """Return the version of a distribution, "" if not installed; cached, because the search is slower than a solve."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Attempt(ImmutableArrays):
    """A run of a solver on one form of a program. No field is checked.

    Attributes
    ----------
    form
        The problem of the solver, and its scaling.
    options
        The options of the solver.
    status
        The status as the solver reports it.
    claims
        Whether the status claims an optimum.
    d, w
        The iterate, shapes (N,) and (t,), also after a failure; None if there is no iterate.
    iterations
        The number of iterations as the solver counts them, from the beginning of its run; None if it does not report
        it.
    statistics
        Further numbers and texts that the solver reports.
    times
        Seconds by phase: build, canonicalize, solve, recover. If empty, all of the time counts as solve.
    error
        The exception of the solver or of the modelling layer in words; None if there is none.
    claimed_gap
        The gap |p - q| / max(1, |p|, |q|) between the primal and dual values p and q that the solver reports, not
        checked. None if the solver reports no gap.
    state
        A state from which the same backend can start on a related program; None if there is none.
    is_continuation
        Whether the attempt continues the run of the attempt before, as between checkpoints of one run. The last
        attempt of such a run counts all its iterations. The first attempt of a backend begins a run in any case.
    """

    form: str
    options: Mapping[str, Any]
    status: str
    claims: bool
    d: ExampleVector | None = None
    w: HypothesisVector | None = None
    iterations: int | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    times: Mapping[str, float] = field(default_factory=dict[str, float])
    error: str | None = None
    claimed_gap: float | None = None
    state: Any = field(default=None, repr=False)
    is_continuation: bool = False

    @property
    def has_iterate(self) -> bool:
        """True if there is an iterate to certify: at least one finite number."""
        return any(array is not None and bool(np.isfinite(array).any()) for array in (self.d, self.w))


MIN_TIME_LIMIT = 1e-3
"""Shortest time limit of a solve, in seconds."""


@dataclass(frozen=True)
class Deadline:
    """A point in time. No attempt starts after it, and solvers receive the remaining seconds.

    Attributes
    ----------
    end_time
        The time on the clock `time.perf_counter`, None for never.
    allowed
        The seconds from the creation of the object to the deadline.
    """

    end_time: float | None
    allowed: float | None = None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline `seconds` from now, or none."""
        return cls(None if seconds is None else time.perf_counter() + seconds, seconds)

    @property
    def remaining(self) -> float | None:
        """Seconds left, at least 0; None for no deadline."""
        return None if self.end_time is None else max(self.end_time - time.perf_counter(), 0.0)

    @property
    def time_limit(self) -> float | None:
        """The time limit of a solve that starts now, never 0; None for no deadline."""
        return None if self.remaining is None else max(self.remaining, MIN_TIME_LIMIT)

    @property
    def passed(self) -> bool:
        """True if no time is left."""
        return self.remaining == 0.0

    def postponed(self, seconds: float) -> Deadline:
        """Return the deadline some seconds later, with the same allowed seconds."""
        return self if self.end_time is None else Deadline(self.end_time + seconds, self.allowed)


def _iterate(name: str, values: Any) -> Float[Array, " n"]:
    """Return the weights of an answer of any quality, after a check of their shape."""
    expected, advice = "a vector of weights", "Pass those of an earlier answer, or None."
    return check_real_array(name, values, expected, advice, lambda shape: len(shape) == 1)


@dataclass(frozen=True)
class WarmStart(ImmutableArrays):
    """An answer to a related program, of any quality, from which a solver may start.

    Attributes
    ----------
    d, w
        Weights, shapes (N,) and at most (t,), because newer hypotheses have no weight. None if unknown.
    backend, state
        The backend that returned the answer, and the state of its attempt.
    """

    d: ExampleVector | None = None
    w: Float[Array, " k"] | None = None
    backend: str = ""
    state: Any = None

    def __post_init__(self) -> None:
        read_fields(
            self, d=partial(check_optional, _iterate), w=partial(check_optional, _iterate), backend=check_string
        )
        super().__post_init__()

    def weights(self, t: int) -> HypothesisVector | None:
        """Return w with 0 for newer hypotheses; None if w is unknown."""
        return None if self.w is None else np.append(self.w, np.zeros(t - len(self.w)))


@dataclass(frozen=True, eq=False)
class Task:
    """A program, with the accuracy and the time that a backend gets for it.

    Attributes
    ----------
    program
        The program to solve.
    tol
        The target gap.
    deadline
        The time at which to stop.
    start
        The warm start; None if there is none.
    certify_override
        A function that certifies an iterate if the program stands for a larger one; `program.certify` by default.
    profile
        The profile of a single solve that the solver ends by itself; None for attempts until the gap is `tol`.
    options
        The user's options by the solver's names; they override all others.
    """

    program: Program
    tol: float
    deadline: Deadline
    start: WarmStart | None = None
    certify_override: Callable[[Any, Any], Certificate] | None = None
    profile: Profile | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _certificate_cache: list[tuple[Any, Any, Certificate]] = field(default_factory=list[tuple[Any, Any, Certificate]])

    def certify(self, d: ExampleVector | None = None, w: HypothesisVector | None = None) -> Certificate:
        """Return the certificate of an iterate; the last certificate is cached."""
        if not self._certificate_cache or not (
            _equal_iterates(self._certificate_cache[0][0], d) and _equal_iterates(self._certificate_cache[0][1], w)
        ):
            certify = self.certify_override or self.program.certify
            certificate = certify(d, w)
            self._certificate_cache[:] = [(immutable_value(d), immutable_value(w), certificate)]
        return self._certificate_cache[0][2]

    def gap(self, d: ExampleVector | None = None, w: HypothesisVector | None = None) -> float:
        """Return the scaled gap that an iterate proves."""
        return self.certify(d, w).scaled_gap


def _equal_iterates(first: Any, second: Any) -> bool:
    """Return whether two iterates are equal; a backend may change its iterate in place."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return first is None and second is None


class Backend(ABC):
    """A way to solve programs. It sees a `Program` but not the name of its algorithm, and it certifies no answer."""

    runs_external_code: ClassVar[bool] = True
    """True if the backend runs external code, which may crash the process."""

    continues_from_state: ClassVar[bool] = False
    """True if the backend continues from its state on growing programs; equal examples are then not merged."""

    @property
    def auto_eligible(self) -> bool:
        """True if "auto" may choose the backend: it suits such programs and keeps a tolerance and a time limit."""
        return True

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which users choose the backend."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Version of the solver, "" if not installed."""

    @abstractmethod
    def takes(self, program: Program) -> Capability:
        """Return whether the backend can take a program. It is called before any work, so it must be cheap."""

    def supports_profile(self, profile: Profile) -> Capability:
        """Return whether the solver supports a profile, for which it must have its own stopping rule."""
        return Capability(False, f"{self.name} stops by the certificate alone, and has no accuracy to be asked for")

    @property
    def option_names(self) -> Collection[str] | None:
        """Names of the options that users may pass to the solver; None if only the solver itself knows them."""
        return ()

    def keeps_limit(self, program: Program) -> bool:
        """Return whether attempts at a program keep any time limit within a tenth of it, or 0.1 s.

        With a limit, attempts of other backends run in a worker process, which is killed at the limit.
        """
        return not self.runs_external_code

    @abstractmethod
    def attempts(self, task: Task) -> Iterator[Attempt]:
        """Yield one attempt after another at `task.program`, the most promising first.

        The caller certifies each attempt and stops when the gap is at most the tolerance. An iterative solver can ask
        `task.gap(d, w)` for its scaled gap. With a profile, `task.profile`, it makes one run and ends the run by its
        own estimate of the gap. It may yield checkpoints of a run, each a continuation of the one before. If a solver
        fails, yield an attempt with its status and raise no exception. All arrays of the task are read-only: copy an
        array before you write to it. An attempt copies your arrays.
        """

    def packed(self, state: Any) -> Mapping[str, Array] | None:
        """Return the state of an attempt as arrays, for files; None if the state cannot be stored.

        A state itself may be valid in this process only. In every process, the next solve starts from
        `deserialize_state(packed(state))` as it would from the state. So a resumed run equals an uninterrupted one,
        to the last bit.
        """
        return None

    def deserialize_state(self, arrays: Mapping[str, Array]) -> Any:
        """Return the state that `packed` has stored in arrays, for `WarmStart.state`; None if they hold no state.

        The arrays do not name their program. The state of another program is a poor start, or none.
        """
        return None


@dataclass(frozen=True)
class BackendWrapper(Backend):
    """A backend that runs another one in a different way, under the name and version of the inner backend."""

    inner: Backend

    @property
    def auto_eligible(self) -> bool:
        return self.inner.auto_eligible

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def version(self) -> str:
        return self.inner.version

    def supports_profile(self, profile: Profile) -> Capability:
        return self.inner.supports_profile(profile)

    @property
    def option_names(self) -> Collection[str] | None:
        return self.inner.option_names

    def keeps_limit(self, program: Program) -> bool:
        return self.inner.keeps_limit(program)

    def packed(self, state: Any) -> Mapping[str, Array] | None:
        return self.inner.packed(state)

    def deserialize_state(self, arrays: Mapping[str, Array]) -> Any:
        return self.inner.deserialize_state(arrays)
