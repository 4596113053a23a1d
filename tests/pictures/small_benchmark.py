"""A benchmark of four programs, two gaps and three backends, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostopt.comparison import Benchmark
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.solve_results import BenchmarkSettings

TIMES: dict[tuple[str, str], Sequence[float | str]] = {
    # seconds on the programs a, b, c, d, or why there are none
    ("fast", "1e-3"): (1.0, 1.0, 2.0, 8.0),
    ("slow", "1e-3"): (2.0, 4.0, 2.0, 1.0),
    ("linear", "1e-3"): (0.5, "not run", "not run", "not run"),
    ("fast", "1e-6"): (1.0, 1.0, "failed", "failed"),
    ("slow", "1e-6"): (3.0, 3.0, 3.0, "failed"),
    ("linear", "1e-6"): ("failed", "not run", "not run", "not run"),
}


def run_of(program: str, backend: str, tol: float, came: float | str) -> SolveRecord:
    result = came if isinstance(came, str) else "reached"
    numbers: dict[str, Any] = {} if isinstance(came, str) else {"seconds": came, "scaled_gap": tol / 2}
    return SolveRecord(
        program=program, digest="0" * 64, backend=backend, version="1", tol=tol, result=result, **numbers
    )


def measured() -> Benchmark:
    runs = [
        run_of(program, backend, float(tol), came)
        for (backend, tol), times in TIMES.items()
        for program, came in zip("abcd", times, strict=True)
    ]
    settings = BenchmarkSettings((1e-3, 1e-6), 1, None, False, 0)
    return Benchmark({name: {} for name in "abcd"}, settings, {}, "0", tuple(runs))
