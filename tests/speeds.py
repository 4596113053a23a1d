"""Two speeds. `make test` tries everything at small sizes; `make test-all` with all seeds, instances and slow tests.

Slow tests are marked `thorough`; of tests that take a `seed` the fast suite runs the first two.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("BOOSTOPT_TESTS") == "all"
"""Whether everything is run."""

SEEDS = 2
"""Of so many seeds each, in the fast suite."""


def many(thorough: int, fast: int) -> int:
    """Return how many instances a test draws."""
    return thorough if THOROUGH else fast
