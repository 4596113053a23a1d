"""Attacks on certificates, as many as are asked for, as a Markdown table.

    python benchmarks/attacks.py --pairs 1040 --runs 1000 --classes 2000 --forgeries 10000 --seed 0

- pairs: programs of all pairs of a loss and a penalty, each with about twenty false answers;
- runs: boosting over all columns of a matrix, also by solvers that lie or write to the arrays;
- classes: runs over small classes, whose intervals are compared with the optimum over all hypotheses, listed;
- forgeries: files of certificates that state something else than was proved.

Formulas and descriptions have commands of their own: `hard_formulas.py` and `descriptions.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from support.class_attacks import attack_class
from support.false_answers_of_programs import attack_pair, attack_run, pair_names
from verification.lies import judge_lies

BATCH = 100
"""Forgeries of one seed."""

Attack = Callable[[int], tuple[Counter[str], list[str]]]


def pairs(number: int) -> tuple[Counter[str], list[str]]:
    """Attack a program of the next pair."""
    names = pair_names()
    return attack_pair(names[number % len(names)], number // len(names))


def forgeries(number: int) -> tuple[Counter[str], list[str]]:
    """Have a batch of forged files verified; what is accepted must be true."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return judge_lies(BATCH, number, Path(folder)), []
        except AssertionError as error:
            return Counter(), [f"seed {number}: {error}"]


ATTACKS: Mapping[str, Attack] = {
    "pairs": pairs,
    "runs": attack_run,
    "classes": attack_class,
    "forgeries": forgeries,
}
"""The attacks by the name of their option, in the order of the table."""


def attack(name: str, attack_one: Attack, numbers: range) -> tuple[Counter[str], int]:
    """Attack so often, print what is false at once, and return the counts."""
    counts, false, start = Counter[str](), 0, time.process_time()
    for k, number in enumerate(numbers, 1):
        counted, reasons = attack_one(number)
        counts += counted
        false += len(reasons)
        for reason in reasons:
            print(f"{name}: {reason}", file=sys.stderr, flush=True)
        if k % 100 == 0:
            print(f"{name}: {k}, {dict(counts)}, {time.process_time() - start:.0f} CPU s", file=sys.stderr, flush=True)
    return counts, false


def main() -> None:
    """Run the attacks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ATTACKS:
        parser.add_argument(f"--{name}", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0, help="number of the first attack")
    options = parser.parse_args()
    print("| attack | programs or batches | counted | false |\n|---|---|---|---|")
    for name, attack_one in ATTACKS.items():
        count = getattr(options, name) // (BATCH if name == "forgeries" else 1)
        if count:
            counts, false = attack(name, attack_one, range(options.seed, options.seed + count))
            text = ", ".join(f"{value:,} {key}" for key, value in sorted(counts.items()))
            print(f"| {name} | {count:,} | {text} | {false} |", flush=True)


if __name__ == "__main__":
    main()
