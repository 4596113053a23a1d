"""The writer of checkpoints, with the schedule that runs by column generation and by histogram Newton share."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike

from boostopt.boosting.boost_options import BoostOptions
from boostopt.errors import DataError, reason_of

MAX_WRITING_SHARE = 0.05
"""The largest share of the time of a run that checkpoints take which no option asks for."""


@dataclass(eq=False)
class CheckpointWriter:
    """A writer of the checkpoints of one run.

    Attributes
    ----------
    options
        The options of the run, with the path of the checkpoint and its intervals.
    max_seconds
        The longest time between two checkpoints, in seconds, if the options have none or a longer one, and if writing
        takes a small share of this time; None for no limit.
    last_time
        The time of the last checkpoint, or of the start, by `time.perf_counter`.
    writing_seconds
        The seconds of the last writing.
    failure_text
        The reason why the last checkpoint was not written; "" if it was.
    """

    options: BoostOptions
    max_seconds: float | None = None
    last_time: float = field(default_factory=time.perf_counter)
    writing_seconds: float = 0.0
    failure_text: str = ""

    def is_due(self, number: int) -> bool:
        """Return whether a checkpoint is due after so many rounds or evaluations."""
        seconds, limits = time.perf_counter() - self.last_time, [self.options.checkpoint_seconds]
        if self.writing_seconds <= MAX_WRITING_SHARE * seconds:
            limits.append(self.max_seconds)
        is_late = any(limit is not None and seconds >= limit for limit in limits)
        return (number > 0 and number % self.options.checkpoint_rounds == 0) or is_late

    def write(self, save: Callable[[str | PathLike[str]], None], place: str) -> None:
        """Write a checkpoint if there is a path; warn if this fails, for instance on a full disk, once for each reason.

        Parameters
        ----------
        save
            The function that writes the run to a path.
        place
            The place in the run, in words, such as "round 3".
        """
        if self.options.checkpoint is None:
            return
        start_time = time.perf_counter()
        failure_text = ""
        try:
            save(self.options.checkpoint)
        except DataError as failure:
            failure_text = str(failure)
        except MemoryError as failure:
            failure_text = f"it needs more memory ({reason_of(failure)}). The run continues without it."
        if failure_text not in ("", self.failure_text):
            warnings.warn(f"the checkpoint of {place} was not written: {failure_text}", RuntimeWarning, stacklevel=6)
        self.failure_text = failure_text
        self.last_time = time.perf_counter()
        self.writing_seconds = self.last_time - start_time
