"""Progress of a comparison, in lines on the standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from boostopt.arguments import flag_or_function
from boostopt.comparison.rows import Row


def called(progress: object, otherwise: Callable[..., None]) -> Callable[..., Any]:
    """Return what is called: the user's own function, one that says it on the standard error, or one that is silent."""
    read = flag_or_function("progress", progress)
    if isinstance(read, bool):
        return otherwise if read else _silent
    return read


def of_backend(backend: str, row: Row | None) -> None:
    """Say what is running and what came of it; the reasons stand in the result."""
    if row is None:
        _say(f"{backend} ...")
    elif not row.ran:
        _say(f"{backend}: not run")
    else:
        _say(f"{backend}: {row.verdict}, gap {row.gap:.1e}, {row.seconds:.2f} s")


def of_solves(done: int, total: int, run: Row) -> None:
    """Say how many solves are done and what came of the last one."""
    came = f"reached in {run.seconds:.2f} s" if run.reached else run.result
    _say(f"[{done}/{total}] {run.backend} to {run.tol:g}: {came}")


def _say(line: str) -> None:
    """Write a line, where there is a standard error to write to."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr.write(f"{line}\n")


def _silent(*arguments: object) -> None:
    """Say nothing."""
