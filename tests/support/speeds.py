"""Two speeds. `make test` tries everything at small sizes; `make test-all` with all seeds, instances and slow tests.

Slow tests are marked `thorough`, slow cases of a test `thorough_cases(...)` by their identifiers. Of tests that take a
`seed` the fast suite runs the first two, and of those marked `every(n)` every n-th case, from that
of number k with `every(n, k)`: tests of one family leave different cases out. It also runs those of
`fast_cases(...)`, which alone reach lines of the package. The thorough suite is too long for every commit: `make
test-part` runs a thirtieth of it, and another with every commit.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("BOOSTOPT_TESTS") == "all"
"""True if the thorough tests run too."""

PART, PARTS = (int(n) for n in os.environ.get("BOOSTOPT_PART", "0/1").split("/"))
"""The part of the tests that is run, and the number of parts; parts are counted beyond their number."""

SEEDS = 2
"""The number of seeds of each test in the fast suite."""

CPU_SECONDS = 0.3
"""Processor time above which a case of the fast suite is named at the end of a run."""


def many(thorough: int, fast: int) -> int:
    """Return how many instances a test draws."""
    return thorough if THOROUGH else fast
