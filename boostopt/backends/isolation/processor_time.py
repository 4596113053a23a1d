"""The processor time of attempts, measured in the process that makes them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from boostopt.backends.base import Attempt

CPU_SECONDS = "cpu_seconds"
"""A statistic of an attempt: the processor time of all threads of the process during the attempt, in seconds.

It is None if the process ended before it could tell its time.
"""


def with_cpu_seconds(attempts: Iterator[Attempt]) -> Iterator[Attempt]:
    """Yield attempts with the processor time of each; the time that the caller takes between two does not count.

    An attempt of another process has its time from there.
    """
    start_time = time.process_time()
    for attempt in attempts:
        spent = time.process_time() - start_time
        yield replace(attempt, statistics={CPU_SECONDS: spent, **attempt.statistics})
        start_time = time.process_time()
