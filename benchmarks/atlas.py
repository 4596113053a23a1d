"""The atlas: every open solver that is installed solves the standard set of programs in all forms, by one command.

    python benchmarks/atlas.py --keep build/atlas --store docs/atlas.tar.xz --page docs/atlas.md

You can stop the command and run it again at any time. It does not repeat the solves in the folder of --keep. If there
is no such folder, it continues from the archive of --store. The set contains stumps of three IDA sets. The command
reads these sets from ../shared/data/ida, beside the repository, or from --data.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

# One thread a process, before NumPy is loaded; the processes of the solvers inherit it.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
if __name__ == "__main__":
    os.environ.update(dict.fromkeys(THREADS, "1"))
sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from benchmarks.atlas_page import LIMIT, write_page
from benchmarks.atlas_solves import KINDS, file_of, store, unpack
from boostopt import benchmark
from boostopt.backends import get_backend
from boostopt.errors import BoostoptError, SolverNotFound
from boostopt.instances.standard import standard_programs
from boostopt.programs.program import Program

DATA = Path(__file__).parents[2] / "shared" / "data" / "ida"

OWN = ("interior", "highs", "highs:ipm", "augmented_lagrangian", "sqp")
SOLVERS = (*("clarabel", "scs", "ecos", "osqp", "highs", "scipy", "piqp", "proxqp", "qoco", "cvxopt", "daqp", "glpk"),)
"""The open solvers behind CVXPY that take continuous programs. MPAX is left out: with a request of 1e-9 and one thread,
it does not end an LP of 100 x 10 within the limit. GLOP and PDLP cannot be loaded beside HiGHS."""

PROFILES = ("default", "high")
GAPS = (1e-3, 1e-6, 1e-9)
FEW_GAPS = (1e-6,)
FORMS = "primal", "density", "dual", "rated", "density-rated", "dual-rated"
"""The last three have the objective times eta. Only programs with an entropy have them."""

SMALL, LARGE = 10_000, 150_000
"""Entries of margins up to which entropies have all forms, and from which on there are fewer forms and gaps."""


def options() -> argparse.Namespace:
    """Return the command line's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="the folder of finished solves, created if missing")
    parser.add_argument("--store", type=Path, required=True, help="the archive in which they are stored")
    parser.add_argument("--page", type=Path, help="the page whose tables are written")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the IDA sets")
    parser.add_argument("--reverse", action="store_true", help="begin with the largest: for a second process")
    parser.add_argument("--budget", type=float, default=36_000.0, help="seconds after which no solve begins (36000)")
    return parser.parse_args()


def main() -> int:
    """Run the missing solves, store them and write the page; return 1 if the budget did not suffice."""
    arguments = options()
    try:
        programs = standard_programs(arguments.data)
        if arguments.store.is_file() and not arguments.keep.exists():
            unpack(arguments.store, arguments.keep)
        for kind in KINDS:
            (arguments.keep / kind).mkdir(parents=True, exist_ok=True)
        deadline, missing = time.monotonic() + arguments.budget, dict[str, int]()
        by_size = sorted(programs, key=lambda label: entries(programs[label]))
        for label in reversed(by_size) if arguments.reverse else by_size:  # also those of one size in another order
            missing[label] = finish(label, programs[label], arguments.keep, deadline)
        store(arguments.keep, arguments.store, [label for label, count in missing.items() if not count])
        if arguments.page is not None:
            write_page(arguments.page, arguments.store)
    except BoostoptError as failure:
        print(failure, file=sys.stderr)
        return 2
    n_missing = sum(missing.values())
    print(
        f"{n_missing} solves are missing: run the command again." if n_missing else "No solve is missing.",
        file=sys.stderr,
    )
    return 1 if n_missing else 0


def entries(program: Program) -> int:
    """Return the number of margins of a program."""
    return program.margins.N * program.margins.t


def forms(program: Program) -> Sequence[str]:
    """Return the forms in which a program is handed over."""
    size = entries(program)
    if "exponential" not in program.cones:
        return ("primal", "density", "dual") if size <= LARGE else ("primal",)
    if size <= SMALL:
        return FORMS
    return ("primal", "density", "dual-rated") if size <= LARGE else ("primal", "dual-rated")


def finish(label: str, program: Program, keep: Path, deadline: float) -> int:
    """Run the missing solves of a program as long as there is time; return how many are still missing."""
    backends = [name for name in (*OWN, *(f"cvxpy:{solver}" for solver in SOLVERS)) if takes(name, program)]
    missing = 0
    gaps = FEW_GAPS if entries(program) > LARGE else GAPS
    for kind, target, pinned in zip(KINDS, (PROFILES, gaps), (forms(program), None), strict=True):
        done = benchmark(
            {label: program},
            backends,
            target,
            repeats=1,
            time_limit=LIMIT,
            forms=pinned,
            isolate=True,
            resume=file_of(keep, kind, label),
            any_version=True,
            warm_up="smallest",
            budget=max(deadline - time.monotonic(), 1e-9),
            progress=True,
        )
        missing += sum(run.reason == "no time left" for run in done.runs)
    return missing


def takes(name: str, program: Program) -> bool:
    """Return whether a solver is installed and takes a program."""
    try:
        return bool(get_backend(name).takes(program))
    except SolverNotFound:
        return False


if __name__ == "__main__":
    sys.exit(main())
