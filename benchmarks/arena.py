"""The arena: entrants solve a frozen set of problems, interleaved in one session, and each answer is certified.

    python benchmarks/arena.py --entrants interior cvxpy:clarabel mine.py mine.py:solve --to results.json

An entrant is the name of a backend, a Python file with one Backend (for the boosting programs), or FILE:NAME of a
function solve(problem, tol) of a CVXPY problem; `benchmarks/arena_entrant.py` is an example of both. Solvers behind
CVXPY take all problems. Each entrant is asked for each request, `--repeats` times, by itself in a process with one
thread, and all solves run in shuffled order. The file has each solve with its wall and processor seconds, without the
certificate, and the load of the machine; the processor and the versions; and the digest of each problem.

    python benchmarks/arena.py --merge a.json b.json --to all.json
    python benchmarks/arena.py --verify all.json

Files merge if they are of the same version of the set; seconds of different sessions are never compared with each
other. --pictures FOLDER draws the profiles of each session and its work against precision, family by family. --freeze
writes the digests of a new version.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

# One thread a process, before NumPy is loaded; the processes of the solvers inherit it.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
if __name__ == "__main__":
    os.environ.update(dict.fromkeys(THREADS, "1"))
sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.arena_problems import INSTANCES, VERSION, ArenaProblem, arena_problems
from boostopt import precision
from boostopt._utils.environment import environment_info, source_version
from boostopt._utils.files import write_atomically
from boostopt._utils.json_values import to_json_text
from boostopt._utils.user_modules import is_place_in_file
from boostopt.backends.cvxpy.cvxpy_backend import NAME_PREFIX
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.work_precision.precision_points import SOLVER_PHASES
from boostopt.errors import BoostoptError, DataError

SET_FILE = Path(__file__).with_name("arena_set.json")
"""The digests of the problems of the version."""

REQUESTS = (1e-3, 1e-5, 1e-7, 1e-9)
"""Default requests."""

GAPS = (1e-3, 1e-6)
"""The relative gaps of the tables, over |optimum|."""

SHIFT = 0.01
"""Shift of the geometric means, in seconds."""

Document = Mapping[str, Any]


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


def takes_family(entrant: str, family: str) -> bool:
    """Return whether an entrant is for problems of a family: backends for programs, functions for CVXPY problems."""
    if is_place_in_file(entrant):
        return family != "boosting"
    return family == "boosting" or entrant.startswith(NAME_PREFIX)


def label_of(entrant: str) -> str:
    """Return the name of an entrant in results: that of a file without its folder."""
    return Path(entrant).name if ".py" in entrant else entrant


def run_record(run: SolveRecord, entrant: str, load: float) -> dict[str, Any]:
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
        "claims": run.claims,
        "stopping_test_ratio": run.stopping_test_ratio,
        "iterations": run.iterations,
        "wall_seconds": math.fsum(seconds or 0.0 for seconds in phases),
        "cpu_seconds": run.cpu_seconds,
        "load": round(load, 2),
        "status": run.reason if not run.ran else run.error or run.solver_status or "",
        "ran": run.ran,
    }


def record_load(
    loads: dict[tuple[str, str, float, int], float],
    progress: Callable[[str], None],
    n_done: int,
    n_all: int,
    run: SolveRecord,
) -> None:
    """Record the load of the machine at the end of a solve, and show the progress."""
    loads[run.program, run.backend, run.tol, run.repeat] = os.getloadavg()[0]
    progress(f"{n_done} of {n_all}: {run.backend} on {run.program} at {run.tol:g}")


def measure(
    problems: Mapping[str, ArenaProblem],
    entrants: Sequence[str],
    requests: Sequence[float] = REQUESTS,
    repeats: int = 3,
    time_limit: float = 30.0,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Return the document of one session: all entrants on all problems, in shuffled order.

    Parameters
    ----------
    problems
        The problems by name.
    entrants
        Names of backends, Python files, and places FILE:NAME.
    requests, repeats, time_limit
        The requests, each solved so many times; the limit of a solve in seconds.
    progress
        A function that is called with a line after each solve.
    """
    digests = {name: problem.digest for name, problem in problems.items()}
    check_digests(digests, "benchmarks/arena_problems.py")
    started, runs = datetime.now(UTC), list[dict[str, Any]]()
    for family_group in (("boosting",), ("cvxpy", "files")):
        statements = {name: problem.make() for name, problem in problems.items() if problem.family in family_group}
        names = [entrant for entrant in entrants if takes_family(entrant, family_group[0])]
        if not statements or not names:
            continue
        labels = [label_of(name) for name in names]
        if family_group[0] != "boosting":
            names = [name.removeprefix(NAME_PREFIX) for name in names]
        loads: dict[tuple[str, str, float, int], float] = {}
        result = precision(
            statements,
            names,
            requests,
            repeats,
            isolate=True,
            threads=1,
            time_limit=time_limit,
            warm_up="smallest",
            progress=partial(record_load, loads, progress),
        )
        label_by_backend = dict(zip(result.backends, labels, strict=True))
        for run in result.runs:
            load = loads.get((run.program, run.backend, run.tol, run.repeat), math.nan)
            runs.append(run_record(run, label_by_backend[run.backend], load))
    session = {
        "date": started.isoformat(timespec="seconds"),
        "boostopt": source_version(),
        "machine": environment_info(),
        "settings": {"requests": list(requests), "repeats": repeats, "time_limit": time_limit},
        "problems": digests,
        "runs": runs,
    }
    return {"arena": VERSION, "sessions": [session]}


def merge(documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return the sessions of several files, by name of the file, as one document.

    Raises
    ------
    DataError
        A file is of another version of the set, a problem in it is another one, or two files have the same session.
    """
    sessions = list[Any]()
    for source, document in documents.items():
        if document.get("arena") != VERSION:
            raise DataError(
                f"expected results of version {VERSION} of the arena; {source} has version {document.get('arena')}. "
                "Merge files of one version."
            )
        for session in document["sessions"]:
            check_digests(session["problems"], source)
            if session in sessions:
                raise DataError(
                    f"expected each session once; that of {session['date']} in {source} came before. Name it once."
                )
            sessions.append(session)
    return {"arena": VERSION, "sessions": sorted(sessions, key=lambda session: session["date"])}


def cheapest_solves(session: Document, gap: float) -> dict[tuple[str, str], dict[str, float] | None]:
    """Return, by problem and entrant, the cheapest request each of whose repeats proves a relative gap; None for none.

    Returns
    -------
    dict
        Median wall and processor seconds, the spread of the wall seconds (largest less smallest, over the median), and
        the request.
    """
    groups: dict[tuple[str, str], dict[float, list[Any]]] = {}
    for run in session["runs"]:
        if run["ran"]:
            groups.setdefault((run["problem"], run["entrant"]), {}).setdefault(run["request"], []).append(run)
    cheapest: dict[tuple[str, str], dict[str, float] | None] = {}
    for key, by_request in groups.items():
        candidates = list[dict[str, float]]()
        for request, runs in by_request.items():
            if all(run["relative_gap"] is not None and run["relative_gap"] <= gap for run in runs):
                wall = [run["wall_seconds"] for run in runs]
                cpu = [run["cpu_seconds"] for run in runs if run["cpu_seconds"] is not None]
                candidates.append(
                    {
                        "wall": median(wall),
                        "cpu": median(cpu) if cpu else math.nan,
                        "spread": (max(wall) - min(wall)) / max(median(wall), 1e-9),
                        "request": request,
                    }
                )
        cheapest[key] = min(candidates, key=lambda candidate: candidate["wall"], default=None)
    return cheapest


def shifted_mean(seconds: Iterable[float]) -> float:
    """Return the geometric mean of seconds, shifted by `SHIFT`."""
    logarithms = [math.log(value + SHIFT) for value in seconds]
    return math.exp(math.fsum(logarithms) / len(logarithms)) - SHIFT if logarithms else math.nan


def session_lines(session: Document) -> list[str]:
    """Return the table of a session as lines of Markdown: what each entrant reached, and what that cost."""
    machine, settings = session["machine"], session["settings"]
    loads = [run["load"] for run in session["runs"] if run["ran"] and run["load"] is not None]
    load_text = f"load {median(loads):.1f} (at most {max(loads):.1f})" if loads else "nothing ran"
    lines = [
        f"Session of {session['date']}: boostopt {session['boostopt']}, {machine['cpu']}, {machine['cores']} cores, "
        f"{load_text}.",
        f"Requests {', '.join(f'{request:g}' for request in settings['requests'])}, {settings['repeats']} repeats, "
        f"{settings['time_limit']:g} s for a solve. Seconds: geometric means, shifted by {SHIFT:g} s, of the medians "
        "of the cheapest request, without the certificate, over the common problems: those on which all entrants that "
        "take the same problems reach the gap. Spread: the median of the largest less the smallest wall seconds, over "
        "the median of the repeats.",
        "",
        "| entrant | problems | relative gap | reached | common | wall s | CPU s | spread |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for gap in GAPS:
        cheapest = cheapest_solves(session, gap)
        counts = {
            entrant: frozenset(problem for problem, winner in cheapest if winner == entrant)
            for entrant in dict.fromkeys(entrant for _, entrant in cheapest)
        }
        for entrant, problems in counts.items():
            rivals = [rival for rival, names_of_rival in counts.items() if names_of_rival == problems]
            common = [name for name in problems if all(cheapest[name, rival] is not None for rival in rivals)]
            solves = [solve for name in sorted(common) if (solve := cheapest[name, entrant]) is not None]
            n_reached = sum(cheapest[name, entrant] is not None for name in problems)
            spread = f"{median(solve['spread'] for solve in solves):.0%}" if solves else "-"
            lines.append(
                f"| {entrant} | {len(problems)} | {gap:g} | {n_reached} | {len(common)} | "
                f"{shifted_mean(solve['wall'] for solve in solves):.3g} | "
                f"{shifted_mean(solve['cpu'] for solve in solves):.3g} | {spread} |"
            )
    return lines


def load(path: Path) -> Any:
    """Return the document in a file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise DataError(
            f"expected a file of results of the arena; {path} cannot be read: {failure}. Name another."
        ) from failure


def freeze() -> None:
    """Write the digests of the set, with the files of others that are there.

    Raises
    ------
    DataError
        The file has other digests of this version.
    """
    digests = {name: problem.digest for name, problem in arena_problems(INSTANCES).items()}
    if SET_FILE.is_file() and (content := json.loads(SET_FILE.read_text(encoding="utf-8")))["arena"] == VERSION:
        changed = [name for name, digest in content["problems"].items() if digests.get(name, digest) != digest]
        if changed:
            raise DataError(f"expected the problems of version {VERSION}; {changed[0]!r} is another. Raise `VERSION`.")
        digests = {**content["problems"], **digests}
    SET_FILE.write_text(json.dumps({"arena": VERSION, "problems": digests}, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, merge or verify; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entrants", nargs="+", help="names of backends, files, and places FILE:NAME")
    parser.add_argument("--problems", default="", help="only problems whose name contains this text")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--requests", type=float, nargs="+", default=list(REQUESTS))
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for a solve")
    parser.add_argument("--instances", type=Path, default=INSTANCES, help="the folder of files of others")
    parser.add_argument("--to", type=Path, help="the file of the results")
    parser.add_argument("--merge", type=Path, nargs="+", help="files to merge into --to")
    parser.add_argument("--verify", type=Path, help="a file whose version and problems are compared with the set")
    parser.add_argument("--pictures", type=Path, help="the folder of pictures of the sessions")
    parser.add_argument("--freeze", action="store_true", help="write the digests of a new version of the set")
    options = parser.parse_args(arguments)
    try:
        if options.freeze:
            freeze()
            return 0
        if options.verify is not None:
            document = merge({str(options.verify): load(options.verify)})
        elif options.merge is not None:
            document = merge({str(path): load(path) for path in options.merge})
        elif options.entrants:
            problems = {
                name: problem for name, problem in arena_problems(options.instances).items() if options.problems in name
            }
            document = measure(
                problems,
                options.entrants,
                options.requests,
                options.repeats,
                options.time_limit,
                lambda text: print(text, file=sys.stderr, flush=True),
            )
        else:
            parser.error("expected --entrants, --merge, --verify or --freeze; got none of them. Name one.")
    except BoostoptError as failure:
        print(failure, file=sys.stderr)
        return 2
    if options.to is not None:
        text = to_json_text(document).encode()
        write_atomically(options.to, lambda out: out.write(text))
    for session in document["sessions"]:
        print("\n".join(session_lines(session)), end="\n\n")
    if options.pictures is not None:
        from benchmarks.arena_pictures import write_pictures  # loads matplotlib, which a session does not need

        print("\n".join(str(path) for path in write_pictures(document["sessions"], options.pictures, GAPS[-1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
