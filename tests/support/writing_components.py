"""Pieces of users that write to every array they come across."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix

COSTLY = frozenset({"cones", "latex", "T", "real", "imag", "flat", "base", "data", "text"})
"""Attributes that are no arrays of a program, or take long."""

DEPTH = 8


def arrays_of(thing: Any, depth: int = DEPTH, visited: dict[int, Any] | None = None) -> Iterator[np.ndarray]:
    """Yield every array that can be reached from an object by public names, and the arrays that these are views of."""
    visited = {} if visited is None else visited
    if id(thing) in visited or depth == 0:
        return
    visited[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        while isinstance(thing, np.ndarray):
            yield thing
            thing = thing.base
        return
    if scipy.sparse.issparse(thing):
        yield from (getattr(thing, name) for name in ("data", "indices", "indptr") if hasattr(thing, name))
        return
    for part in _parts(thing):
        yield from arrays_of(part, depth - 1, visited)


def _parts(thing: Any) -> list[Any]:
    if isinstance(thing, str | bytes | int | float | type):
        return []
    if isinstance(thing, Mapping):
        return [*thing.values()]
    if isinstance(thing, list | tuple | set | frozenset):
        return [*thing]
    if not type(thing).__module__.startswith(("boostopt", "test", "vandals", "__main__")) or callable(thing):
        return []
    parts = [value for name, value in getattr(thing, "__dict__", {}).items() if not name.startswith("_")]
    for name in dir(type(thing)):
        if not name.startswith("_") and name not in COSTLY and isinstance(_static(type(thing), name), property):
            with contextlib.suppress(Exception):
                parts.append(getattr(thing, name))
    if isinstance(thing, MarginMatrix):
        parts += [thing.to_array(), thing.to_cvxpy_constant(), thing.arrays(), *(block for _, block in thing.blocks())]
    if isinstance(thing, Regularizer):
        parts += [thing.pointwise(), thing.project(None), thing.conjugate_at(np.zeros(thing.N))]
    if isinstance(thing, Program):
        G, t = thing.edge_function, thing.margins.t
        parts += [G.domain(t), G.epigraph(t)]
    return parts


def _static(cls: type[Any], name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def ravage(*things: Any) -> int:
    """Write to every array that can be reached, after setting its flag where that is allowed; return how many."""
    count = 0
    for array in arrays_of(things):
        count += 1
        with contextlib.suppress(ValueError):
            array.setflags(write=True)
        with contextlib.suppress(ValueError, TypeError):
            array[...] = 1 if array.dtype.kind in "biu" else 0.75
    return count


class Vandal(Backend):
    """A backend that asks another one, and writes to all that it gets and gives."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return f"vandal:{self.inner.name}"

    @property
    def version(self) -> str:
        return "1"

    def takes(self, program: Program) -> Capability:
        able = self.inner.takes(program)
        ravage(program)
        return able

    def keeps_limit(self, program: Program) -> bool:
        ravage(program)
        return True

    def attempts(self, task: Task) -> Iterator[Attempt]:
        ravage(task)
        for attempt in self.inner.attempts(task):
            d, w = (None if array is None else np.array(array) for array in (attempt.d, attempt.w))
            ravage(task, task.certify(d, w), attempt)
            yield replace(attempt, d=d, w=w)
            ravage(task, attempt, d, w)


class Careless(Vandal):
    """A backend that scales U in place, as if it were its own."""

    @property
    def name(self) -> str:
        return "careless"

    def takes(self, program: Program) -> Capability:
        return self.inner.takes(program)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        scaled = task.program.margins.to_array()
        scaled *= 2.0
        yield from self.inner.attempts(task)


def state_of(*arrays: Any) -> list[bytes]:
    """Return the numbers of arrays, dense or sparse, bit for bit."""
    return [np.asarray(a.toarray() if scipy.sparse.issparse(a) else a).tobytes() for a in arrays]
