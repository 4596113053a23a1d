"""The backends of "auto": which are tried, and in which order for a program of a given size."""

from __future__ import annotations

from collections.abc import Iterator

from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend, WarmStart
from boostopt.backends.guarded_backend import GuardedBackend
from boostopt.errors import OptionError, SolverNotFound
from boostopt.programs.program import Program

AUTO_ORDER = ("interior", "highs", "cvxpy:clarabel", "cvxpy:scs")
"""Backends that "auto" tries first, in this order, if they support the program."""

LINEAR_CONES = frozenset({"linear"})

WIDE_RATIO = 10
"""Hypotheses per example above which "auto" tries the interior point method last: it factors a t x t matrix."""

WIDE_MIN_HYPOTHESES = 1000
"""Hypotheses up to which "auto" tries the interior point method first in any case.

Measured with N = 50: LPBoost at t = 3000 takes 7 s, with HiGHS 0.1 s; ERLPBoost takes 9 s, with Clarabel 1.4 s. With
N = 200 and t = 1500, ERLPBoost takes 1.7 s, with Clarabel 4.4 s.
"""

SMALL_LP_ENTRIES = 40_000
"""Entries of the margin matrix up to which "auto" tries HiGHS first on linear programs.

Measured against the interior point method: 4 ms against 9 ms at N = 500, t = 20; 29 ms against 20 ms at N = 2000,
t = 50; 1.7 s against 0.8 s at N = 20000, t = 100.
"""


def automatic_backends(program: Program, start: WarmStart | None = None) -> Iterator[Backend]:
    """Yield the installed backends that support a program, in the order of "auto".

    The backends are opened one at a time, so that a solver that is not needed is not imported.

    Raises
    ------
    SolverNotFound
        No installed backend supports the program.
    """
    supported, preferred = False, _preferred_names(program, start)
    for name in preferred:
        try:
            backend = get_backend(name)
        except (SolverNotFound, OptionError):  # not installed, or an object of the user that has no name here
            continue
        if GuardedBackend(backend).takes(program):
            supported = True
            yield backend
    for name in list_backends():
        if name in preferred:
            continue
        backend = get_backend(name)
        if backend.auto_eligible and GuardedBackend(backend).takes(program):
            supported = True
            yield backend
    if not supported:
        raise SolverNotFound(
            f"no installed backend supports {', '.join(sorted(program.cones))} constraints. Install clarabel or scs, "
            "or name a backend."
        )


def _preferred_names(program: Program, start: WarmStart | None) -> list[str]:
    """Return the backends to try first: the one whose state can be continued, then by the size of the program."""
    N, t = program.margins.shape
    names = list[str]()
    if start is not None and start.state is not None:
        names.append(start.backend)
    # Without the simplex, the interior point method has no good start among a hundred thousand examples.
    small_or_unnormalized = N * t <= SMALL_LP_ENTRIES or not program.regularizer.on_simplex
    if program.cones == LINEAR_CONES and small_or_unnormalized:
        names.append("highs")
    is_wide = t > max(WIDE_MIN_HYPOTHESES, WIDE_RATIO * N)
    names += (*AUTO_ORDER[1:], *AUTO_ORDER[:1]) if is_wide else AUTO_ORDER
    return list(dict.fromkeys(names))
