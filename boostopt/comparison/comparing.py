"""Solve one program by several backends and hold the certified intervals against each other."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend
from boostopt.certificate import Certificate
from boostopt.errors import OptionError, SolverNotFound
from boostopt.program import Program
from boostopt.solving import PHASES, Solution, check_limits, check_program, solve
from boostopt.words import html_table

TEXT_WIDTH = 120
"""Columns of a comparison as text."""


@dataclass(frozen=True)
class Row:
    """What came of one backend.

    Attributes
    ----------
    backend, version
        Its name, and the version of its solver.
    solution
        Its answer; None where it cannot take the program.
    reason
        Why it cannot.
    reached
        Whether its certified gap is within the tolerance.
    """

    backend: str
    version: str
    solution: Solution | None
    reason: str
    reached: bool

    def record(self) -> dict[str, Any]:
        """Return the row as plain values; None for what there is not."""
        s = self.solution
        c = s.certificate if s else None
        best = s.best if s else None
        return {
            "backend": self.backend,
            "version": self.version,
            "able": s is not None,
            "reason": self.reason,
            "outcome": s.outcome.name.lower() if s else None,
            "verdict": s.verdict.name.lower() if s else None,
            "reached": self.reached,
            **_bounds(c),
            "kkt_worst": c.kkt.worst if c else None,
            "solver_status": s.solver_status if s else None,
            "form": best.form if best else None,
            "options": dict(best.options) if best else None,
            "attempts": len(s.attempts) if s else 0,
            "iterations": s.iterations if s else None,
            "seconds": s.times["total"] if s else None,
            **{f"seconds_{phase}": s.times[phase] if s else None for phase in PHASES},
        }


@dataclass(frozen=True)
class Comparison:
    """Rows in the order in which the backends were named."""

    program: Program
    tol: float
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        """Return the table as it is printed on the command line."""
        from rich.console import Console

        from boostopt.comparison.tables import ComparisonTable

        console = Console(width=TEXT_WIDTH, highlight=False, color_system=None, force_jupyter=False)
        with console.capture() as capture:
            console.print(ComparisonTable(self))
        return capture.get()

    def _repr_html_(self) -> str:
        rows = list[tuple[object, ...]]()
        for row in self.rows:
            if row.solution is None:
                rows.append((row.backend, "unable", row.reason, "", "", ""))
                continue
            s, c = row.solution, row.solution.certificate
            verdict = s.verdict.name.lower()
            rows.append((row.backend, verdict, c.words, f"{c.gap:.1e}", s.times["total"], s.solver_status))
        header = ("backend", "verdict", "certified about the optimum", "gap", "seconds", "the solver says")
        return html_table(self.program.headline, rows, header)

    @property
    def reached(self) -> bool:
        """Whether some backend's certified gap is within the tolerance."""
        return any(row.reached for row in self.rows)

    @property
    def interval(self) -> tuple[float, float]:
        """The intersection of all certified intervals: what is known about the optimum, whoever proved it."""
        certificates = [row.solution.certificate for row in self.rows if row.solution]
        return (
            max((c.lower for c in certificates), default=-math.inf),
            min((c.upper for c in certificates), default=math.inf),
        )

    @property
    def overlap(self) -> bool:
        """Whether all certified intervals have a point in common; if not, boostopt is wrong."""
        lower, upper = self.interval
        return bool(lower <= upper)

    def clashes(self, row: Row) -> list[str]:
        """Return the backends whose interval does not overlap with that of a row."""
        if row.solution is None:
            return []
        mine = row.solution.certificate
        others = [(other.backend, other.solution) for other in self.rows if other is not row]
        return [name for name, solution in others if solution and not mine.overlaps(solution.certificate)]

    def facts(self) -> dict[str, Any]:
        """Return what was solved: formulation, parameters, sizes, digest of U."""
        return _facts(self.program, self.tol)

    def to_json(self) -> str:
        """Return facts and rows as JSON; what is not finite is null."""
        lower, upper = self.interval
        document = {
            **self.facts(),
            "reached": self.reached,
            "overlap": self.overlap,
            "lower": lower,
            "upper": upper,
            "rows": [row.record() for row in self.rows],
        }
        return _json(document)

    def to_csv(self) -> str:
        """Return the rows as CSV with a header; options as JSON in their cell."""
        records = [_plain(row.record()) for row in self.rows]
        out = io.StringIO()
        writer = csv.DictWriter(out, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            options = record["options"]
            writer.writerow({**record, "options": "" if options is None else json.dumps(options)})
        return out.getvalue()


def certificate_json(program: Program, certificate: Certificate, tol: float) -> str:
    """Return what a certificate proves as JSON; what is not finite is null."""
    document = {
        **_facts(program, tol),
        "reached": certificate.scaled_gap <= tol,
        **_bounds(certificate),
        "d_is": certificate.d_is,
        "kkt": dict(certificate.kkt.residuals),
        "example_gaps": certificate.example_gaps,
        "hypothesis_gaps": certificate.hypothesis_gaps,
    }
    return _json(document)


def _bounds(certificate: Certificate | None) -> dict[str, Any]:
    """What a certificate proves, as the fields of a record; None for no certificate."""
    fields = ("lower", "upper", "gap", "scaled_gap", "relative_gap", "infeasible", "excess")
    return {name: getattr(certificate, name) if certificate else None for name in fields}


def _facts(program: Program, tol: float) -> dict[str, Any]:
    """What was solved."""
    return {
        "formulation": program.formulation.name,
        "parameters": asdict(program.parameters),
        "examples": program.margins.N,
        "examples_with_multiplicity": program.examples.total,
        "hypotheses": program.margins.t,
        "digest": program.margins.digest(),
        "tol": tol,
    }


def compare(
    program: Program,
    backends: str | Backend | Sequence[str | Backend] | None = None,
    tol: float = 1e-8,
    time_limit: float | None = None,
    progress: Callable[[str, Row | None], None] = lambda backend, row: None,
) -> Comparison:
    """Solve a program by several backends, one after another.

    Parameters
    ----------
    program
        What to solve.
    backends
        Names or backends, each once; all that `list_backends()` gives by default. One that cannot take the program,
        or is not installed, gets a row with the reason.
    tol
        Scaled gap wanted of each, in (0, 1).
    time_limit
        Seconds for each backend; None for no limit.
    progress
        Called with a backend's name and None before it starts, with its row after it has ended.

    Raises
    ------
    OptionError
        A backend of unknown name, none or one twice, or a tolerance or time limit out of range.
    """
    check_program(program)
    one = isinstance(backends, str | Backend)
    wanted = list_backends() if backends is None else [backends] if one else list(backends)
    names = [backend if isinstance(backend, str) else backend.name for backend in wanted]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"expected one or more different backends; got {', '.join(names) or 'none'}.")
    check_limits(tol, time_limit)  # before any work, also where no backend can take the program
    opened = [_opened(backend) for backend in wanted]
    rows = list[Row]()
    for name, backend in zip(names, opened, strict=True):
        progress(name, None)
        rows.append(_row(program, name, backend, tol, time_limit))
        progress(name, rows[-1])
    return Comparison(program, tol, tuple(rows))


def _opened(which: str | Backend) -> str | Backend | SolverNotFound:
    """Return the backend, "auto" as it is, or why the backend is not there."""
    if which == "auto":
        return which
    try:
        return get_backend(which)
    except SolverNotFound as missing:
        return missing


def _row(
    program: Program, name: str, backend: str | Backend | SolverNotFound, tol: float, time_limit: float | None
) -> Row:
    """Solve by one backend, if it can."""
    if isinstance(backend, SolverNotFound):
        return Row(name, "", None, str(backend), False)
    if isinstance(backend, Backend):
        able = backend.takes(program.cones)
        if not able:
            return Row(name, backend.version, None, able.reason, False)
    try:
        solution = solve(program, backend, tol, time_limit)
    except SolverNotFound as missing:  # "auto", where nothing that is installed takes the program
        return Row(name, "", None, str(missing), False)
    return Row(name, solution.version, solution, "", bool(solution.certificate.scaled_gap <= tol))


def _json(document: Mapping[str, Any]) -> str:
    """Write a document as JSON."""
    return json.dumps(_plain(document), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, all the way down: nan and infinities as None, strange objects by their name."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
