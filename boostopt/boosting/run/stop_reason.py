"""The stop reasons of runs.

A reason is a text in files and in output. The text begins with a member of `StopReason`, and details follow. Code that
depends on the reason uses `Run.stop_reason`, so that the wording of the details never matters.
"""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """The reason why a run ended. The values begin the texts in files, so they never change.

    Attributes
    ----------
    separator
        The character between the value and its details, other than a semicolon: a colon after a label, a space if the
        details continue the sentence. Rules of users may have similar names.
    """

    separator: str

    def __new__(cls, text: str, separator: str = ";") -> StopReason:
        """Return the member of a text and its separator."""
        member = str.__new__(cls, text)
        member._value_ = text
        member.separator = separator
        return member

    # Stopping rules; `boostopt.boosting.stopping_rules` states them.
    DIRECT = "direct", ":"
    REGULARIZED = "regularized", ":"
    SIMPLE = "simple", ":"
    PRACTICAL = "practical", ":"
    OPTIMUM = "optimum", ":"
    BOUNDARY = "boundary", ":"
    INFEASIBLE = "infeasible", ":"
    PRICED = "priced", ":"

    # Limits, and the user.
    INTERRUPTED = "interrupted by the user"
    ROUND_LIMIT = "the limit on rounds"
    TIME_LIMIT = "the time limit"
    NO_SMALLER_TEST_ERROR = "no smaller test error"

    # No further round would change the weights, or could.
    CONVERGED = "converged: the oracle returns hypotheses that are known, and the program no longer rises"
    SOLVER_STUCK = "the solver is stuck", ":"
    STEPS_STUCK = "the steps are stuck", ":"
    GUARANTEE_BROKEN = "the guarantee is broken", ":"

    # Data passes.
    CERTIFIED = "certified", ":"
    SAMPLE_EXHAUSTED = "the sample gives no better weights"
    WHOLE_NUMBERS_EXHAUSTED = "converged: whole numbers give no better weights"

    # An exception after the first round.
    FAILED_IN_ROUND = "failed in round", " "
    FAILED_AFTER_PASSES = "failed after", " "

    # Ends of single algorithms.
    ONE_HYPOTHESIS = "the newest hypothesis alone", " "
    TIME_USED = "the time is up", ":"
    FEW_SMALL_MARGINS = "fewer than", " "
    SMALL_MEAN_WEIGHT = "the mean weight, and with it the training error, is below", " "

    # Any other reason of an update; also the empty text of a run that has not ended.
    OTHER = ""

    @classmethod
    def from_text(cls, reason: str) -> StopReason:
        """Return the member that begins a reason, the text of `Run.reason`; OTHER for none of them."""
        for member in cls:
            if member and reason.startswith(member):
                details = reason.removeprefix(member)
                if not details or details.startswith((";", member.separator)):
                    return member
        return cls.OTHER


LIMITS = (StopReason.ROUND_LIMIT, StopReason.TIME_LIMIT)
"""The reasons of runs that reached a limit."""
