"""A backend whose faults become attempts, which report exceptions and invalid values. The solve continues."""

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
from boostopt.backends.external_exceptions import MAX_ERROR_LENGTH, ExternalError, call_external
from boostopt.backends.isolation.processor_time import with_cpu_seconds
from boostopt.programs.program import Program

BACKEND_PHASES = ("build", "canonicalize", "solve", "recover")
"""Phases whose times a backend may report."""


@dataclass(frozen=True)
class GuardedBackend(BackendWrapper):
    """A backend that runs another one and catches its exceptions."""

    def takes(self, program: Program) -> Capability:
        try:
            return call_external(lambda: _capability(self.name, self.inner.takes(program)))
        except ExternalError as failure:
            return Capability(False, f"{self.name} fails when it is asked: {write_in_words(self.name, str(failure))}")

    def keeps_limit(self, program: Program) -> bool:
        try:
            return call_external(lambda: bool(self.inner.keeps_limit(program)))
        except ExternalError:  # Without an answer, the backend promises nothing.
            return False

    def attempts(self, task: Task) -> Iterator[Attempt]:
        return with_cpu_seconds(self._guarded_attempts(task))

    def _guarded_attempts(self, task: Task) -> Iterator[Attempt]:
        start_time = time.perf_counter()
        try:
            run = call_external(lambda: iter(self.inner.attempts(task)))
            while (attempt := call_external(lambda: _next(run, task.program))) is not None:
                # Without times of phases, all time counts as solve.
                yield attempt if attempt.times else replace(attempt, times=solve_time_since(start_time))
                start_time = time.perf_counter()
        except ExternalError as failure:
            error = write_in_words(f"the backend {self.name}", str(failure))
            yield Attempt("", {}, "raised", False, times=solve_time_since(start_time), error=error)


def _capability(name: str, answer: Any) -> Capability:
    """Return the result of `takes`, converted to a `Capability` if it is a Boolean; a refusal for other values."""
    if isinstance(answer, Capability):
        return answer
    if isinstance(answer, bool | np.bool_):
        return Capability(bool(answer))
    return Capability(
        False, f"takes() of {name} returned {repr(answer)[:60]} where a Capability, True or False was expected"
    )


def _next(run: Iterator[Any], program: Program) -> Attempt | None:
    """Return the next attempt; None after the last one."""
    for attempt in run:
        return sanitize_attempt(attempt, program)
    return None


def sanitize_attempt(attempt: Any, program: Program) -> Attempt:
    """Return an attempt that can be certified and reported, from any value that a backend yields.

    An iterate that is not an array of real numbers of the right shape becomes None, and the error reports this. The
    certificate measures the quality of iterates.
    """
    if not isinstance(attempt, Attempt):
        error = f"yielded {attempt!r} where an attempt was expected"
        return Attempt("", {}, "garbage", False, error=error[:MAX_ERROR_LENGTH])
    N, t = program.margins.shape
    untyped: Any = attempt  # The fields may have any type.
    (d, d_fault), (w, w_fault) = _check_iterate("d", untyped.d, N), _check_iterate("w", untyped.w, t)
    faults = [fault for fault in (d_fault, w_fault) if fault]
    times = _mapping(untyped.times)
    checked = replace(
        attempt,
        form=str(untyped.form),
        status=str(untyped.status),
        claims=bool(untyped.claims),
        d=d,
        w=w,
        options=_mapping(untyped.options),
        statistics=_mapping(untyped.statistics),
        iterations=int(untyped.iterations) if isinstance(untyped.iterations, int | np.integer) else None,
        error=None if untyped.error is None else str(untyped.error),
        claimed_gap=_check_claimed_gap(untyped.claimed_gap),
        is_continuation=bool(untyped.is_continuation),
        times={phase: float(times[phase]) for phase in BACKEND_PHASES if isinstance(times.get(phase), int | float)},
    )
    if not checked.has_iterate and (d is not None or w is not None):
        faults.append("left no finite number")
    error = checked.error or ""
    new_faults = [fault for fault in faults if fault not in error]  # Attempts of worker processes were checked before.
    return replace(checked, error="; ".join([*([error] if error else []), *new_faults])) if new_faults else checked


def solve_time_since(start_time: float) -> dict[str, float]:
    """Return the time since `start_time`, as the time of a solver without an answer."""
    return {"solve": time.perf_counter() - start_time}


def _check_claimed_gap(gap: Any) -> float | None:
    """Return the gap that a solver claims; None if it is invalid."""
    return float(gap) if isinstance(gap, int | float | np.number) and 0.0 <= gap < math.inf else None


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping; an empty one for other values."""
    return value if isinstance(value, Mapping) else {}


def _check_iterate(name: str, array: Any, length: int) -> tuple[Array | None, str]:
    """Return an iterate in float64, or None, and its fault in words, or ""."""
    if array is None:
        return None, ""
    if not isinstance(array, np.ndarray):
        return None, f"left {type(array).__name__} for {name} where an array was expected"
    if array.dtype.kind not in "iuf" or array.shape != (length,):
        expected = f"{length} real numbers were expected"
        return None, f"left shape {array.shape} of {array.dtype} for {name} where {expected}"
    with np.errstate(all="ignore"):  # Numbers beyond float64 become infinite.
        return np.asarray(array, np.float64), ""
