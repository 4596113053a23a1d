"""The arena: entrants solve a frozen set of problems, interleaved in one session, and each answer is certified.

    python benchmarks/arena.py --entrants interior cvxpy:clarabel mine.py mine.py:solve --keep FOLDER --to results.json

An entrant is the name of a backend, a Python file with one Backend (for the boosting programs), or FILE:NAME of a
function solve(problem, tol) of a CVXPY problem; `benchmarks/arena_entrant.py` is an example of both. Solvers behind
CVXPY take all problems. Each entrant is asked for each request, `--repeats` times, by itself in a process with one
thread, and all solves run in shuffled order. With `--forms primal dual`, each solver behind CVXPY enters in these forms
too, and the tables have its best form. The file has each solve with its wall and processor seconds, without the
certificate, and the load of the machine; the processor and the versions; and the digest of each problem.

You can stop the command and run it again at any time: it does not repeat the solves in the folder of --keep, and
refuses a folder of another commit, machine or request. No solve begins after `--budget` seconds.

    python benchmarks/arena.py --merge a.json b.json --to all.json
    python benchmarks/arena.py --verify all.json --page FOLDER/arena.md

Files merge if they are of the same version of the set; seconds of different sessions are never compared with each
other. --page writes a page with the tables and, beside it, the pictures: the profiles of each session and its work
against precision, family by family. --freeze writes the digests of a new version.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# One thread a process, before NumPy is loaded; the processes of the solvers inherit it.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
if __name__ == "__main__":
    os.environ.update(dict.fromkeys(THREADS, "1"))
sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.arena_problems import INSTANCES, VERSION, arena_problems
from benchmarks.arena_session import REQUESTS, SET_FILE, SessionSettings, check_digests, measure
from benchmarks.arena_tables import GAPS, page_lines, session_intervals, session_lines
from boostopt._utils.files import write_atomically
from boostopt._utils.json_values import to_json_text
from boostopt.errors import BoostoptError, DataError

Document = Mapping[str, Any]


def merge(documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return the sessions of several files, by name of the file, as one document.

    Raises
    ------
    DataError
        A file is of another version of the set, a problem in it is another one, two files have the same session, or
        two intervals of a problem have no point in common.
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
    check_intervals(sessions)
    return {"arena": VERSION, "sessions": sorted(sessions, key=lambda session: session["date"])}


def check_intervals(sessions: Sequence[Document]) -> None:
    """Raise DataError if the intervals of a problem, over all sessions, have no point in common."""
    for name, (lower, upper) in session_intervals({"runs": [run for one in sessions for run in one["runs"]]}).items():
        if lower > upper:
            raise DataError(
                f"expected intervals of {name!r} that have a point in common; one ends at {upper:.17g}, another begins "
                f"at {lower:.17g}. One of them is false: report the file as a fault of boostopt."
            )


def load(path: Path) -> Any:
    """Return the document in a file, which is compressed if its name ends in .gz."""
    try:
        content = path.read_bytes()
        return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError, ValueError) as failure:
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
    parser.add_argument("--repeats", type=int, default=3, help="solves of each request (3)")
    parser.add_argument("--requests", type=float, nargs="+", default=list(REQUESTS), help="values of all tolerances")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for a solve (30)")
    parser.add_argument("--forms", nargs="+", default=[], help="forms in which solvers behind CVXPY enter too")
    parser.add_argument("--keep", type=Path, help="the folder of finished solves, made if missing")
    parser.add_argument("--budget", type=float, help="seconds after which no solve begins; run it again with --keep")
    parser.add_argument("--instances", type=Path, default=INSTANCES, help="the folder of files of others")
    parser.add_argument("--to", type=Path, help="the file of the results, compressed if its name ends in .gz")
    parser.add_argument("--merge", type=Path, nargs="+", help="files to merge into --to")
    parser.add_argument("--verify", type=Path, help="a file whose version and problems are compared with the set")
    parser.add_argument("--pictures", type=Path, help="the folder of pictures of the sessions")
    parser.add_argument("--page", type=Path, help="a page of the sessions in Markdown, with the pictures beside it")
    parser.add_argument("--freeze", action="store_true", help="write the digests of a new version of the set")
    options = parser.parse_args(arguments)
    if options.to is not None:
        options.to.parent.mkdir(parents=True, exist_ok=True)  # before the session, whose results must find their place
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
            if not problems:
                raise DataError(
                    f"expected a problem whose name has {options.problems!r}; got none. Name a part of one."
                )
            document = measure(
                problems,
                options.entrants,
                SessionSettings(
                    requests=options.requests,
                    repeats=options.repeats,
                    time_limit=options.time_limit,
                    forms=options.forms,
                ),
                options.keep,
                options.budget,
                lambda text: print(text, file=sys.stderr, flush=True),
            )
        else:
            parser.error("expected --entrants, --merge, --verify or --freeze; got none of them. Name one.")
        if options.to is not None:
            text = to_json_text(document).encode()
            content = gzip.compress(text, mtime=0) if options.to.suffix == ".gz" else text
            write_atomically(options.to, lambda out: out.write(content))
    except BoostoptError as failure:
        print(failure, file=sys.stderr)
        return 2
    for session in document["sessions"]:
        print("\n".join(session_lines(session)), end="\n\n")
    folder = options.pictures if options.page is None else options.page.parent
    paths = list[Path]()
    if folder is not None:
        from benchmarks.arena_pictures import write_pictures  # loads matplotlib, which a session does not need

        paths = write_pictures(document["sessions"], folder, GAPS[-1])
    if options.page is not None:
        lines = page_lines(document["sessions"], [path.name for path in paths])
        options.page.write_text("\n".join(lines) + "\n", encoding="utf-8")
        paths.append(options.page)
    if paths:
        print("\n".join(map(str, paths)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
