"""Many random descriptions against a hundred digits: what is false, what has no bound, what is refused.

    python benchmarks/descriptions.py --seed 0 --seconds 600

Each seed draws one description for values and conjugates and one program for certificates.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from support.random_expressions import Count, check_description, check_program


def run(seed: int, seconds: float, tangents: int) -> dict[str, Count]:
    """Return the counts of graphs, at so many tangent points, and of programs after some seconds."""
    counts, start = {"descriptions": Count(), "programs": Count()}, time.monotonic()
    while time.monotonic() - start < seconds:
        check_description(seed, counts["descriptions"], tangents)
        check_program(seed, counts["programs"])
        seed += 1
    return counts


def main() -> None:
    """Run, and print the counts and what was false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--tangents", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, count in run(options.seed, options.seconds, options.tangents).items():
        tried = f"{count.descriptions} descriptions, {count.statements} statements, {len(count.false or [])} false"
        print(f"{name}: {tried}, {count.open_ends} without a bound, {count.refused} refused")
        for fault in (count.false or [])[:20]:
            print("  ", fault)


if __name__ == "__main__":
    main()
