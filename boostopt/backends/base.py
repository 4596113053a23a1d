"""The contract of a backend: whether it can take a program, and attempts to solve it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from boostopt.backends.profiles import Profile
from boostopt.certificates.certificate import Certificate
from boostopt.programs.program import Program
from boostopt.shapes import Array, Float

CONES = {
    "linear": "linear constraints",
    "second_order": "second-order cones",
    "quadratic": "a quadratic objective",
    "exponential": "exponential cones",
    "power": "power cones",
    "semidefinite": "semidefinite cones",
    "interior": "a formula that no rule turns into atoms of CVXPY, which only interior takes",
}
"""Needs of a regularizer or an edge function that a solver must meet, each with its name in a sentence."""

QUICK = 100_000
"""Entries of a margin matrix up to which solvers called directly, told a time limit, keep it.

Measured at limits of 1 s and 8 s: 0.1 s past them at 100,000 entries; 1 to 4 s at 1,000,000, 9 s at 8,000,000.
"""

NEEDS_CLOSED_SUM = "needs a regularizer that is a sum over the examples in closed form (Separable)"
"""The refusal of backends that take apart the sum."""


@dataclass(frozen=True)
class Capability:
    """Whether a backend can take a program, and if not why, in a sentence."""

    able: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.able


def needs_in_words(cones: Collection[str]) -> list[str]:
    """Return the names of cones in a sentence."""
    return [CONES.get(cone, f"{cone!r} (unknown to boostopt)") for cone in sorted(cones)]


def takes_rows(name: str, program: Program, rows: str = "linear rows and a quadratic") -> Capability:
    """Return whether F is a sum over the examples and G is made of rows, as a backend of that name needs them."""
    if program.regularizer.pointwise() is None:
        return Capability(False, f"{name} {NEEDS_CLOSED_SUM}")
    if program.edge_function.epigraph(program.margins.t) is None:
        return Capability(False, f"{name} needs an edge function made of {rows}")
    return Capability(True)


@cache
def version_of(package: str) -> str:
    """Return the version of a distribution, "" if it is not installed; it takes longer to find than a small solve."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Attempt:
    """One run of a solver on one form of a program, as raw as it came.

    Attributes
    ----------
    form
        Which problem was handed over, in which scaling.
    options
        The options that were sent.
    status
        The solver's own words.
    claims
        Whether those words claim an optimum.
    d, w
        The iterate, shapes (N,) and (t,), also after a failure if the solver left one; None where it did not.
    iterations
        As the solver counts them; None where it does not say.
    statistics
        What else the solver reports.
    times
        Seconds by phase: build, canonicalize, solve, recover.
    error
        What the solver or the modelling layer raised, if it did.
    claimed_gap
        The solver's own gap between its primal and dual values p and q, |p - q| / max(1, |p|, |q|): hearsay. None where
        it does not say.
    state
        What the same backend may start from when it is given a related program; None for nothing.
    """

    form: str
    options: Mapping[str, Any]
    status: str
    claims: bool
    d: Float[Array, " N"] | None = None
    w: Float[Array, " t"] | None = None
    iterations: int | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    times: Mapping[str, float] = field(default_factory=dict[str, float])
    error: str | None = None
    claimed_gap: float | None = None
    state: Any = field(default=None, repr=False)

    @property
    def answered(self) -> bool:
        """Whether there is an iterate to certify: at least one finite number."""
        return any(array is not None and bool(np.isfinite(array).any()) for array in (self.d, self.w))


LEAST_LIMIT = 1e-3
"""Seconds that a solve which is begun is given."""


@dataclass(frozen=True)
class Deadline:
    """A point in time; attempts after it are not started, and solvers are told what is left.

    Attributes
    ----------
    at
        When it is, None for never.
    allowed
        How many seconds it was away at first.
    """

    at: float | None
    allowed: float | None = None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline `seconds` from now, or none."""
        return cls(None if seconds is None else time.perf_counter() + seconds, seconds)

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None for no deadline."""
        return None if self.at is None else max(self.at - time.perf_counter(), 0.0)

    @property
    def time_limit(self) -> float | None:
        """The limit that is left for a solve, which is never 0."""
        return None if self.left is None else max(self.left, LEAST_LIMIT)

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return self.left == 0.0


@dataclass(frozen=True)
class WarmStart:
    """An answer to a related program, of any quality, where a solver may begin.

    Attributes
    ----------
    d, w
        Weights, shapes (N,) and at most (t,): hypotheses that have joined since have no weight yet. None if unknown.
    backend, state
        The backend that was there before, and what it left to go on from.
    """

    d: Float[Array, " N"] | None = None
    w: Float[Array, " k"] | None = None
    backend: str = ""
    state: Any = None

    def weights(self, t: int) -> Float[Array, " t"] | None:
        """Return w with 0 for the hypotheses that have joined since, None if it is unknown."""
        return None if self.w is None else np.append(self.w, np.zeros(t - len(self.w)))


@dataclass(frozen=True, eq=False)
class Task:
    """A program, and the accuracy and time that a backend is given for it.

    Attributes
    ----------
    program
        What to solve.
    tol
        Scaled gap wanted.
    deadline
        When to stop.
    start
        Where to begin, None for anywhere.
    judge
        What certifies an iterate where the program stands for a larger one; `program.certify` by default.
    profile
        How the solver is asked for one solve that it ends by itself; None for attempts until the gap is `tol`.
    options
        The user's options by the solver's names: they come before all others.
    """

    program: Program
    tol: float
    deadline: Deadline
    start: WarmStart | None = None
    judge: Callable[[Any, Any], Certificate] | None = None
    profile: Profile | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _judged: list[tuple[Any, Any, Certificate]] = field(default_factory=list[tuple[Any, Any, Certificate]])

    def certify(self, d: Float[Array, " N"] | None = None, w: Float[Array, " t"] | None = None) -> Certificate:
        """Return what an iterate proves; of the last one it is remembered, so that nothing is certified twice."""
        if not self._judged or self._judged[0][0] is not d or self._judged[0][1] is not w:
            certify = self.judge or self.program.certify
            self._judged[:] = [(d, w, certify(d, w))]
        return self._judged[0][2]

    def gap(self, d: Float[Array, " N"] | None = None, w: Float[Array, " t"] | None = None) -> float:
        """Return the scaled gap that an iterate proves."""
        return self.certify(d, w).scaled_gap


class Backend(ABC):
    """A way to solve programs. It knows a Program, not which algorithm it is, and judges no answer."""

    foreign: ClassVar[bool] = True
    """Whether code runs that is not boostopt's own, and may take the process with it."""

    incremental: ClassVar[bool] = False
    """Whether it is made for programs that grow, and goes on from its own state: equal examples are not merged then."""

    @property
    def automatic(self) -> bool:
        """Whether "auto" may ask it: it was made for programs of this kind, and obeys a tolerance and a time limit."""
        return True

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that users call it by."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Version of the solver, "" if not installed."""

    @abstractmethod
    def takes(self, program: Program) -> Capability:
        """Return whether a program can be taken; asked before any work, so it must be cheap."""

    def takes_profile(self, profile: Profile) -> Capability:
        """Return whether the solver can be asked in this way: it must have an estimate of its own to stop by."""
        return Capability(False, f"{self.name} stops by the certificate alone, and has no accuracy to be asked for")

    @property
    def option_names(self) -> Collection[str] | None:
        """Names of the options that users may pass to the solver; None where the solver itself knows them alone."""
        return ()

    def keeps_limit(self, program: Program) -> bool:
        """Return whether attempts at a program end by themselves within a tenth, or 0.1 s, of any time limit.

        Where there is a limit all others are made in a process of their own, which is killed then.
        """
        return not self.foreign

    @abstractmethod
    def attempts(self, task: Task) -> Iterator[Attempt]:
        """Yield one attempt after another at `task.program`, the most promising first.

        The caller certifies each and stops when the interval is narrow enough; `task.gap(d, w)` tells a solver that
        iterates how far it is. A solver that fails is an attempt with its status, never an exception. The iterates of
        an attempt must not be written to once it is yielded.
        """

    def packed(self, state: Any) -> Mapping[str, Array] | None:
        """Return what an attempt left to go on from as arrays, for files; None where nothing of it can be stored.

        The states themselves may live in this process only. From `unpacked(packed(state))` the next solve begins where
        it would from the state, in every process: a run that is resumed is then the run in one go, to the last bit.
        """
        return None

    def unpacked(self, arrays: Mapping[str, Array]) -> Any:
        """Return the state that `packed` gave as arrays, for `WarmStart.state`; None where they hold none of it.

        What it is a state of is not in it: a state of another program is a poor start, or none.
        """
        return None


@dataclass(frozen=True)
class Wrapper(Backend):
    """Another backend, run in a way of its own: its name and version are those of the other."""

    inner: Backend

    @property
    def automatic(self) -> bool:
        return self.inner.automatic

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def version(self) -> str:
        return self.inner.version

    def takes_profile(self, profile: Profile) -> Capability:
        return self.inner.takes_profile(profile)

    @property
    def option_names(self) -> Collection[str] | None:
        return self.inner.option_names

    def keeps_limit(self, program: Program) -> bool:
        return self.inner.keeps_limit(program)

    def packed(self, state: Any) -> Mapping[str, Array] | None:
        return self.inner.packed(state)

    def unpacked(self, arrays: Mapping[str, Array]) -> Any:
        return self.inner.unpacked(arrays)
