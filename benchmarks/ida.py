"""The IDA sets: test errors and certified gaps of seven boosters over the same RBF networks, by one command.

    python benchmarks/ida.py --resume build/ida.jsonl --table docs/ida.md

You can stop the command and run it again at any time. It does not repeat the units in the file. It reads the sets from
../shared/data/ida, beside the repository, or from --data.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.metadata import version
from pathlib import Path

# One thread a process, before NumPy is loaded: the cores are for the processes.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from benchmarks.ida_data import names, rows_of
from benchmarks.ida_methods import Options
from benchmarks.ida_table import write_page
from benchmarks.ida_work import Work
from boostopt._utils.environment import environment_info
from boostopt.errors import BoostoptError

DATA = Path(__file__).parents[2] / "shared" / "data" / "ida"
PACKAGES = ("scipy", "scikit-learn", "highspy")


def options() -> argparse.Namespace:
    """Return the command line's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--resume", type=Path, required=True, help="the file of finished units, created if missing")
    parser.add_argument("--table", type=Path, help="the page whose tables are written")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the sets")
    parser.add_argument("--sets", help="some of the sets, separated by commas (default: all)")
    parser.add_argument("--splits", type=int, default=10, help="splits of each kind at most (default: 10)")
    parser.add_argument("--rounds", type=int, default=Options.rounds, help=f"rounds (default: {Options.rounds})")
    parser.add_argument("--folds", type=int, default=Options.folds, help=f"folds (default: {Options.folds})")
    parser.add_argument("--epsilon", type=float, default=Options.epsilon, help=f"accuracy ({Options.epsilon:g})")
    parser.add_argument("--processes", type=int, default=2, help="units at the same time (default: 2)")
    parser.add_argument("--budget", type=float, default=2700.0, help="seconds after which no unit begins (2700)")
    parser.add_argument("--any-version", action="store_true", help="take finished units of other versions as well")
    return parser.parse_args()


def main() -> int:
    """Run the missing units and write the tables; return 1 if the budget did not suffice."""
    arguments = options()
    try:
        sets = names(arguments.data) if arguments.sets is None else arguments.sets.split(",")
        rows = rows_of(arguments.data, sets, arguments.splits)
        run_options = Options(rounds=arguments.rounds, folds=arguments.folds, epsilon=arguments.epsilon)
        work = Work.load(arguments.data, rows, run_options, arguments.resume, arguments.any_version)
        work.run(arguments.processes, arguments.budget)
        if arguments.table is not None:
            write_page(arguments.table, work, environment_info() | {name: version(name) for name in PACKAGES})
    except BoostoptError as failure:
        print(failure, file=sys.stderr)
        return 2
    missing = sum(row.splits - len(work.splits(row)) for row in rows)
    words = f"{missing} splits are missing: run the command again." if missing else "All splits are finished."
    print(words, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
