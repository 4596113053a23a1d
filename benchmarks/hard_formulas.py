"""Hard formulas, as many as are asked for: python benchmarks/hard_formulas.py COUNT SEED.

Four certificates of each formula are held against 100 digits. A false certificate is printed at once. A hundred
formulas take about 10 seconds of the processor.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from support.random_formulas import Outcome, run

CERTIFICATES = 4


def main(count: int, seed: int) -> None:
    start, printed_lines = time.time(), list[str]()

    def report(outcome: Outcome) -> None:
        for line in outcome.false[len(printed_lines) :]:
            print(line, flush=True)
            printed_lines.append(line)
        if outcome.counts["formulas"] % 100 == 0:
            counted = {name: count for name, count in outcome.counts.items() if count}
            print(counted, "false:", len(printed_lines), f"{time.time() - start:.0f} s", flush=True)

    slacks = np.sort(run(count, seed, CERTIFICATES, report).slacks)
    quantiles = [f"{slacks[int(share * (len(slacks) - 1))]:.2e}" for share in (0.5, 0.9, 0.99)]
    print("scaled slack at 50, 90 and 99 %:", quantiles)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
