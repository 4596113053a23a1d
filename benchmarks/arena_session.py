"""A session of the arena: all solves of all entrants, measured at one commit, kept on the disk, and continued."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.arena_problems import VERSION, ArenaProblem
from boostopt import precision
from boostopt._utils.environment import environment_info, source_version
from boostopt._utils.files import write_atomically
from boostopt._utils.json_values import to_json_text
from boostopt._utils.user_modules import is_place_in_file
from boostopt.backends.cvxpy.cvxpy_backend import NAME_PREFIX
from boostopt.backends.cvxpy.solver_options import FORMS
from boostopt.comparison.results_log import parse_json_object
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.work_precision.precision_points import SOLVER_PHASES
from boostopt.errors import DataError, OptionError

SET_FILE = Path(__file__).with_name("arena_set.json")
"""The digests of the problems of the version."""

REQUESTS = (1e-3, 1e-5, 1e-7, 1e-9)
"""Default requests."""

SESSION_FILE = "session.json"
"""The file of a kept session that has its settings."""

TOO_LATE = "no time left"
"""The reason of a solve that the budget did not allow."""

GROUPS = {"programs": ("boosting",), "problems": ("cvxpy", "files")}
"""Families that are solved together, by the name of their results log."""

SolveKey = tuple[str, str, float, int]
"""Problem, backend, request and repeat."""


@dataclass(frozen=True, kw_only=True)
class SessionSettings:
    """The requests, repeats, limit and forms of a session.

    Attributes
    ----------
    requests, repeats, time_limit
        The requests, each solved so many times; the limit of a solve in seconds.
    forms
        Names of forms of the programs, beside its own choice, in which each solver behind CVXPY enters too.
    """

    requests: Sequence[float] = REQUESTS
    repeats: int = 3
    time_limit: float = 30.0
    forms: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {
            "requests": list(self.requests),
            "repeats": self.repeats,
            "time_limit": self.time_limit,
            "forms": list(self.forms),
        }


def frozen_digests() -> dict[str, str]:
    """Return the digests of the problems of the version by name, from the file of the set."""
    content = json.loads(SET_FILE.read_text(encoding="utf-8"))
    if content["arena"] != VERSION:
        raise DataError(
            f"expected version {VERSION} of the set in {SET_FILE}; it has {content['arena']}. Run --freeze."
        )
    return content["problems"]


def check_digests(digests: Mapping[str, str], source: str) -> None:
    """Raise DataError if the digest of a problem is not that of the version."""
    expected = frozen_digests()
    for name, digest in digests.items():
        if expected.get(name) != digest:
            raise DataError(
                f"expected problem {name!r} of version {VERSION} of the arena; {source} has another one. Results on it "
                "cannot be compared: use the version of boostopt that made it, or run it again."
            )


def solver_of_form(entrant: str) -> str | None:
    """Return the name of the solver of an entrant that is pinned to a form, as cvxpy:scs of cvxpy:scs:dual."""
    solver, _, form = entrant.rpartition(":")
    return solver if form in FORMS and solver.startswith(NAME_PREFIX) else None


def takes_family(entrant: str, family: str) -> bool:
    """Return whether an entrant is for problems of a family: backends for programs, functions for CVXPY problems."""
    if is_place_in_file(entrant):
        return family != "boosting"
    return family == "boosting" or (entrant.startswith(NAME_PREFIX) and solver_of_form(entrant) is None)


def label_of(entrant: str) -> str:
    """Return the name of an entrant in results: that of a file without its folder."""
    return Path(entrant).name if ".py" in entrant else entrant


def entrants_with_forms(entrants: Sequence[str], forms: Sequence[str]) -> list[str]:
    """Return the entrants, and each solver behind CVXPY pinned to each of the forms.

    Raises
    ------
    OptionError
        There is no form of a name.
    """
    for form in forms:
        if form not in FORMS:
            raise OptionError(f"expected forms among {', '.join(FORMS)}; got {form!r}. Name one of them.")
    pinned = [
        f"{name}:{form}"
        for name in entrants
        if name.startswith(NAME_PREFIX) and solver_of_form(name) is None
        for form in forms
    ]
    return list(dict.fromkeys([*entrants, *pinned]))


def file_digest(entrant: str) -> str:
    """Return the SHA-256 digest of the file of an entrant; "" for a backend of boostopt.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    if ".py" not in entrant:
        return ""
    path = Path(entrant.rpartition(":")[0] if is_place_in_file(entrant) else entrant)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as failure:
        raise DataError(f"expected the file of an entrant; {path} cannot be read: {failure}. Name another.") from None


def run_record(run: SolveRecord, entrant: str, load: float | None) -> dict[str, Any]:
    """Return a solve as plain values."""
    phases = [run.phases.get(phase) for phase in SOLVER_PHASES]
    return {
        "problem": run.program,
        "entrant": entrant,
        "version": run.solver_version,
        "request": run.tol,
        "repeat": run.repeat,
        "form": run.form,
        "relative_gap": run.relative_gap if math.isfinite(run.relative_gap) else None,
        "lower": run.lower if math.isfinite(run.lower) else None,
        "upper": run.upper if math.isfinite(run.upper) else None,
        "denies_optimum": run.infeasible or run.optimum_sign is not None,
        "claims": run.claims,
        "stopping_test_ratio": run.stopping_test_ratio,
        "iterations": run.iterations,
        "wall_seconds": math.fsum(seconds or 0.0 for seconds in phases),
        "solver_seconds": run.seconds_solve,
        "cpu_seconds": run.cpu_seconds,
        "load": load,
        "status": run.reason if not run.ran else run.error or run.solver_status or "",
        "ran": run.ran,
    }


def solve_key(content: Mapping[str, Any]) -> SolveKey:
    """Return the key of a solve from a line of a log."""
    return content["program"], content["backend"], content["tol"], content["repeat"]


def log_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects in the whole lines of a file; none if there is no file."""
    if not path.is_file():
        return []
    content = path.read_bytes()
    lines = content[: content.rfind(b"\n") + 1].decode(errors="replace").splitlines()
    return [entry for line in lines if (entry := parse_json_object(line)) is not None]


@dataclass
class LoadLog:
    """The load of the machine at the end of each solve, over the last minute: a function that shows the progress.

    A continued session reads the loads of its earlier parts. A solve whose load was not written before the session
    ended has none.

    Attributes
    ----------
    folder, group
        The folder of a kept session, or None; the name of the results log.
    progress
        A function that is called with a line after each solve.
    loads
        Loads by solve.
    """

    folder: Path | None
    group: str
    progress: Callable[[str], None]
    loads: dict[SolveKey, float] = field(default_factory=dict)
    _earlier: frozenset[SolveKey] = frozenset()

    def __post_init__(self) -> None:
        if self.folder is not None:
            lines = log_lines(self._path(self.folder))
            self.loads.update({solve_key(line): line["load"] for line in lines})
            text = "".join(json.dumps(line) + "\n" for line in lines).encode()
            write_atomically(self._path(self.folder), lambda out: out.write(text))  # without an incomplete line
            solves = [line for line in log_lines(self.folder / f"{self.group}.jsonl") if "repeat" in line]
            self._earlier = frozenset(solve_key(line) for line in solves)

    def _path(self, folder: Path) -> Path:
        """Return the file of the loads."""
        return folder / f"{self.group}_loads.jsonl"

    def __call__(self, n_done: int, n_all: int, run: SolveRecord) -> None:
        """Record the load at the end of a solve, and show the progress."""
        key = run.program, run.backend, run.tol, run.repeat
        if not run.ran or key in self._earlier:
            return
        self.loads[key] = round(os.getloadavg()[0], 2)
        if self.folder is not None:
            line = {"program": key[0], "backend": key[1], "tol": key[2], "repeat": key[3], "load": self.loads[key]}
            with self._path(self.folder).open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
        self.progress(f"{n_done} of {n_all}: {run.backend} on {run.program} at {run.tol:g}")


def start_times(keep: Path | None, facts: Mapping[str, Any]) -> list[str]:
    """Return the times at which a session began and was continued, the last of which is now.

    Raises
    ------
    DataError
        The folder has a session of another commit, machine, set or request.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if keep is None:
        return [now]
    keep.mkdir(parents=True, exist_ok=True)
    path, starts = keep / SESSION_FILE, list[str]()
    if path.is_file():
        content = json.loads(path.read_text(encoding="utf-8"))
        for name, value in facts.items():
            if content.get(name) != value:
                raise DataError(
                    f"expected the session of {keep}; its {name} is {content.get(name)}, here it is {value}. "
                    "Name another folder, or continue with what began it."
                )
        starts = content["starts"]
    starts.append(now)
    text = to_json_text({**facts, "starts": starts}).encode()
    write_atomically(path, lambda out: out.write(text))
    return starts


def measure(
    problems: Mapping[str, ArenaProblem],
    entrants: Sequence[str],
    settings: SessionSettings | None = None,
    keep: Path | None = None,
    budget: float | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Return the document of one session: all entrants on all problems, in shuffled order.

    Parameters
    ----------
    problems
        The problems by name.
    entrants
        Names of backends, Python files, and places FILE:NAME.
    settings
        The requests, repeats, time limit and forms.
    keep
        The folder of finished solves, which is made if missing: the same call repeats none of them. None for none.
    budget
        Seconds after which no solve begins.
    progress
        A function that is called with a line after each solve.

    Raises
    ------
    DataError
        A problem is not that of the version, the folder has another session, or solves are left when the budget ends.
    OptionError
        There is no entrant or form of a name.
    """
    settings = SessionSettings() if settings is None else settings
    digests = {name: problem.digest for name, problem in problems.items()}
    check_digests(digests, "benchmarks/arena_problems.py")
    entrants = entrants_with_forms(entrants, settings.forms)
    facts = {
        "arena": VERSION,
        "boostopt": source_version(),
        "machine": environment_info(),
        "settings": settings.to_json(),
        "entrants": {label_of(entrant): file_digest(entrant) for entrant in entrants},
        "problems": digests,
    }
    starts, runs, n_left = start_times(keep, facts), list[dict[str, Any]](), 0
    deadline = math.inf if budget is None else time.monotonic() + budget
    for group, families in GROUPS.items():
        statements = {name: problem.make() for name, problem in problems.items() if problem.family in families}
        names = [entrant for entrant in entrants if takes_family(entrant, families[0])]
        if not statements or not names:
            continue
        labels = [label_of(name) for name in names]
        if families[0] != "boosting":
            names = [name.removeprefix(NAME_PREFIX) for name in names]
        load_log = LoadLog(keep, group, progress)
        result = precision(
            statements,
            names,
            settings.requests,
            settings.repeats,
            isolate=True,
            threads=1,
            time_limit=settings.time_limit,
            warm_up="smallest",
            resume=None if keep is None else keep / f"{group}.jsonl",
            budget=None if budget is None else max(deadline - time.monotonic(), 1e-9),
            progress=load_log,
        )
        label_by_backend = dict(zip(result.backends, labels, strict=True))
        for run in result.runs:
            load = load_log.loads.get((run.program, run.backend, run.tol, run.repeat))
            runs.append(run_record(run, label_by_backend[run.backend], load))
        n_left += sum(run.reason == TOO_LATE for run in result.runs)
    if n_left:
        folder = "Without a folder to keep them, the others are lost" if keep is None else f"{keep} has the others"
        raise DataError(
            f"expected all {len(runs)} solves within {budget:g} seconds; {n_left} are left. {folder}: run the same "
            "command again with --keep."
        )
    document = {name: value for name, value in facts.items() if name != "arena"}
    return {"arena": VERSION, "sessions": [{"date": starts[0], "starts": starts, **document, "runs": runs}]}
