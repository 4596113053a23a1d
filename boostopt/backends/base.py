"""What the package asks of a backend: can it take this program, and attempts to solve it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boostopt.program import Program
from boostopt.shapes import Array, Float

CONES = {
    "linear": "linear constraints",
    "second_order": "second-order cones",
    "quadratic": "a quadratic objective",
    "exponential": "exponential cones",
    "power": "power cones",
    "semidefinite": "semidefinite cones",
}
"""What a regularizer or an edge function may need of a solver, with its name in a sentence."""


@dataclass(frozen=True)
class Capability:
    """Whether a backend can take a program, and if not why, in a sentence."""

    able: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.able


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

    @property
    def answered(self) -> bool:
        """Whether there is an iterate to certify: at least one finite number."""
        return any(array is not None and bool(np.isfinite(array).any()) for array in (self.d, self.w))


@dataclass(frozen=True)
class Deadline:
    """A point in time; attempts after it are not started, and solvers are told what is left."""

    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline `seconds` from now, or none."""
        return cls(None if seconds is None else time.perf_counter() + seconds)

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None for no deadline."""
        return None if self.at is None else max(self.at - time.perf_counter(), 0.0)

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return self.left == 0.0


class Backend(ABC):
    """A way to solve programs. It knows a Program, not which algorithm it is, and judges no answer."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How users call it."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Version of the solver, "" if not installed."""

    @abstractmethod
    def takes(self, cones: frozenset[str]) -> Capability:
        """Return whether programs with these cones can be taken; asked before any work."""

    @abstractmethod
    def attempts(self, program: Program, tol: float, deadline: Deadline) -> Iterator[Attempt]:
        """Yield one attempt after another, the most promising first.

        The caller certifies each and stops when the interval is narrow enough; `tol` is the gap it wants. A solver
        that fails is an attempt with its status, never an exception.
        """
