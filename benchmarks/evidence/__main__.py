"""The papers' experiments: python benchmarks/evidence [--only NAME,...] [--quick].

It can be stopped and called again at any time: finished units are not done again. Those at reduced size are kept apart.
With --recheck .03 three percent of what is kept are done again, compared, and nothing is stored.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

# One thread a process, before NumPy is loaded: the cores are for the processes.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.evidence.all import EXPERIMENTS
from benchmarks.evidence.dissertation_runs import FOLDER
from benchmarks.evidence.pages import write_evidence
from benchmarks.evidence.recheck import recheck
from benchmarks.evidence.running import Work
from boostopt.errors import BoostoptError


def options() -> argparse.Namespace:
    """Return the command line's."""
    parser = argparse.ArgumentParser(prog="evidence", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="some experiments, with commas between them; all by default")
    parser.add_argument("--part", default="0/1", help="K/N: every N-th experiment from the one of number K mod N")
    parser.add_argument("--list", action="store_true", help="say which there are, and how many of their units are open")
    parser.add_argument("--quick", action="store_true", help="every experiment at reduced size, kept apart")
    parser.add_argument("--again", action="store_true", help="make anew what is kept")
    parser.add_argument("--recheck", type=share, help="do this share of what is kept again, by chance, and compare")
    parser.add_argument("--random-state", type=int, default=0, help="draws what is done again (default: 0)")
    parser.add_argument("--processes", type=int, default=2, help="units at the same time (default: 2)")
    parser.add_argument("--budget", type=float, default=43_200.0, help="seconds after which no unit begins (43200)")
    parser.add_argument("--sets", type=Path, help="a folder with news20*, real-sim* and astro-ph* in svmlight format")
    parser.add_argument("--pages", type=Path, help="a folder that the pages are written into")
    return parser.parse_args()


def share(text: str) -> float:
    """Return a share, in (0, 1]."""
    value = float(text)
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"expected a share in (0, 1]; got {text}")
    return value


def rechecked(work: Work, share: float, random_state: int, processes: int) -> int:
    """Say of each experiment what came of the units done again; 1 if some came to something else."""
    stored_seconds = whole = 0.0
    n_different = 0
    for name, recheck_result in recheck(work, share, random_state, processes):
        n_same = recheck_result.again - len(recheck_result.differences)
        print(
            f"{name}: {recheck_result.again} of {recheck_result.unit_count} units again, {n_same} the same; "
            f"{recheck_result.now:.1f} s of a core, ",
            end="",
        )
        print(f"{recheck_result.stored_seconds:.1f} s when they were stored", flush=True)
        for parameters, difference in recheck_result.differences.items():
            print(f"  {parameters}\n    {difference}")
        stored_seconds, whole, n_different = (
            stored_seconds + recheck_result.seconds,
            whole + recheck_result.whole,
            n_different + len(recheck_result.differences),
        )
    print(
        f"All units took {stored_seconds / 3600:.2f} hours of a core; "
        f"at the ratio of those done again, {whole / 3600:.2f} now."
    )
    return 1 if n_different else 0


def main() -> int:
    """Do what is open, keep it, write the pages; 1 if the budget did not suffice."""
    arguments = options()
    if arguments.sets is not None:
        os.environ[FOLDER] = str(arguments.sets.resolve())  # processes that do units have it from here
    only_names = None if arguments.only is None else arguments.only.split(",")
    unknown = set(only_names or ()) - {experiment.name for experiment in EXPERIMENTS}
    if unknown:
        names = ", ".join(experiment.name for experiment in EXPERIMENTS)
        print(f"expected names of experiments; got {', '.join(sorted(unknown))}. There are {names}.", file=sys.stderr)
        return 2
    part, parts = map(int, arguments.part.split("/"))
    selected = [e for e in EXPERIMENTS if only_names is None or e.name in only_names]
    experiments = selected[part % parts :: parts]
    folder = ROOT / "build" / "evidence-quick" if arguments.quick else ROOT / "docs" / "evidence"
    journals = ROOT / "build" / ("evidence-quick-journals" if arguments.quick else "evidence-journals")
    try:
        work = Work.load(experiments, folder, journals, arguments.quick, arguments.again)
        if arguments.list:
            for experiment in experiments:
                n_open = sum(1 for e, _ in work.open() if e is experiment)
                print(
                    f"{experiment.name}: {len(work.results[experiment.name])} finished, {n_open} open. "
                    f"{experiment.title}"
                )
            return 0
        if arguments.recheck is not None:
            return rechecked(work, arguments.recheck, arguments.random_state, arguments.processes)
        n_open = work.run(arguments.processes, arguments.budget)
        if arguments.pages is not None:
            for name, text in write_evidence(arguments.pages, experiments, work.results).items():
                (arguments.pages / f"{name}.md").write_text(text, encoding="utf-8")
    except BoostoptError as failure:
        print(failure, file=sys.stderr)
        return 2
    print(f"{n_open} units are open: call it again." if n_open else "All units are finished.", file=sys.stderr)
    return 1 if n_open else 0


if __name__ == "__main__":
    sys.exit(main())
