"""A backend whose faults become attempts: they report exceptions and invalid values, and the solve continues."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt._utils.immutable_arrays import write_in_words
from boostopt.backends.base import Attempt, BackendWrapper, Capability, Task
from boostopt.backends.isolation.external_calls import MAX_ERROR_LENGTH, ExternalError, call_external
from boostopt.programs.program import Program

BACKEND_PHASES = ("build", "canonicalize", "solve", "recover")
"""Phases whose times a backend may report."""


@dataclass(frozen=True)
class GuardedBackend(BackendWrapper):
    """A backend that runs another one and catches its exceptions."""

    def takes(self, program: Program) -> Capability:
        try:
            return call_external(lambda: _capability(self.inner.takes(program)))
        except ExternalError as failure:
            return Capability(False, f"{self.name} fails when it is asked: {write_in_words(self.name, str(failure))}")

    def keeps_limit(self, program: Program) -> bool:
        try:
            return call_external(lambda: bool(self.inner.keeps_limit(program)))
        except ExternalError:  # it has not promised to keep the limit
            return False

    def attempts(self, task: Task) -> Iterator[Attempt]:
        began = time.perf_counter()
        try:
            run = call_external(lambda: iter(self.inner.attempts(task)))
            while (attempt := call_external(lambda: _next(run, task.program))) is not None:
                # The time of a backend that states no phases is the time of a solver.
                yield attempt if attempt.times else replace(attempt, times=solve_time_since(began))
                began = time.perf_counter()
        except ExternalError as failure:
            error = write_in_words(f"the backend {self.name}", str(failure))
            yield Attempt("", {}, "raised", False, times=solve_time_since(began), error=error)


def _capability(able: Any) -> Capability:
    """Return the answer of a backend's `takes`; any value but a `Capability` counts as yes or no."""
    return able if isinstance(able, Capability) else Capability(bool(able))


def _next(run: Iterator[Any], program: Program) -> Attempt | None:
    """Return the next attempt, None after the last one."""
    for attempt in run:
        return sanitize_attempt(attempt, program)
    return None


def sanitize_attempt(attempt: Any, program: Program) -> Attempt:
    """Return an attempt that can be certified and reported, whatever the backend has yielded.

    An iterate that is not an array of real numbers of the right shape is left out, and the error says so. The
    certificate judges its quality.
    """
    if not isinstance(attempt, Attempt):
        error = f"yielded {attempt!r} where an attempt was expected"
        return Attempt("", {}, "garbage", False, error=error[:MAX_ERROR_LENGTH])
    N, t = program.margins.shape
    foreign: Any = attempt  # the fields of foreign records may hold anything
    (d, d_fault), (w, w_fault) = _check_iterate("d", foreign.d, N), _check_iterate("w", foreign.w, t)
    faults = [fault for fault in (d_fault, w_fault) if fault]
    timed = _mapping(foreign.times)
    checked = replace(
        attempt,
        form=str(foreign.form),
        status=str(foreign.status),
        claims=bool(foreign.claims),
        d=d,
        w=w,
        options=_mapping(foreign.options),
        statistics=_mapping(foreign.statistics),
        iterations=int(foreign.iterations) if isinstance(foreign.iterations, int | np.integer) else None,
        error=None if foreign.error is None else str(foreign.error),
        claimed_gap=_check_claimed_gap(foreign.claimed_gap),
        is_continuation=bool(foreign.is_continuation),
        times={phase: float(timed[phase]) for phase in BACKEND_PHASES if isinstance(timed.get(phase), int | float)},
    )
    if not checked.has_iterate and (d is not None or w is not None):
        faults.append("left no finite number")
    error = checked.error or ""
    new = [fault for fault in faults if fault not in error]  # an attempt from another process has been checked before
    return replace(checked, error="; ".join([*([error] if error else []), *new])) if new else checked


def solve_time_since(began: float) -> dict[str, float]:
    """Return the time since `began`, as the time of a solver that left no answer."""
    return {"solve": time.perf_counter() - began}


def _check_claimed_gap(gap: Any) -> float | None:
    """Return the gap that a solver claims, None if it is invalid."""
    return float(gap) if isinstance(gap, int | float | np.number) and 0.0 <= gap < math.inf else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _check_iterate(name: str, array: Any, length: int) -> tuple[Array | None, str]:
    """Return an iterate in float64, None if it has a fault, and the fault in words, "" for none."""
    if array is None:
        return None, ""
    if not isinstance(array, np.ndarray):
        return None, f"left {type(array).__name__} for {name} where an array was expected"
    if array.dtype.kind not in "iuf" or array.shape != (length,):
        expected = f"{length} real numbers were expected"
        return None, f"left shape {array.shape} of {array.dtype} for {name} where {expected}"
    with np.errstate(all="ignore"):  # numbers beyond float64 become infinite, and the certificate judges them
        return np.asarray(array, np.float64), ""
