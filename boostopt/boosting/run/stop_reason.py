"""The stop reasons of runs.

A reason is a text in files and in output. The text begins with a member of `StopReason`, and details follow. Code that
depends on the reason uses `Run.stop_reason`, so that the wording of the details never matters.
"""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """The reason why a run ended. The values begin the texts in files, so they never change."""

    # Stopping rules; `boostopt.boosting.rules` states them.
    DIRECT = "direct"
    REGULARIZED = "regularized"
    SIMPLE = "simple"
    PRACTICAL = "practical"
    OPTIMUM = "optimum"
    BOUNDARY = "boundary"
    INFEASIBLE = "infeasible"
    PRICED = "priced"

    # Limits, and the user.
    INTERRUPTED = "interrupted by the user"
    ROUND_LIMIT = "the limit on rounds"
    TIME_LIMIT = "the time limit"
    NO_SMALLER_TEST_ERROR = "no smaller test error"

    # No further round would change the weights, or could.
    CONVERGED = "converged: the oracle returns hypotheses that are known, and the program no longer rises"
    SOLVER_STUCK = "the solver is stuck"
    STEPS_STUCK = "the steps are stuck"
    GUARANTEE_BROKEN = "the guarantee is broken"

    # Data passes.
    CERTIFIED = "certified"
    SAMPLE_EXHAUSTED = "the sample gives no better weights"
    WHOLE_NUMBERS_EXHAUSTED = "converged: whole numbers give no better weights"

    # An exception after the first round.
    FAILED_IN_ROUND = "failed in round"
    FAILED_AFTER_PASSES = "failed after"

    # Ends of single algorithms.
    ONE_HYPOTHESIS = "the newest hypothesis alone"
    TIME_USED = "the time is up"
    FEW_SMALL_MARGINS = "fewer than"
    SMALL_MEAN_WEIGHT = "the mean weight, and with it the training error, is below"

    # Any other reason of an update; also the empty text of a run that has not ended.
    OTHER = ""

    @classmethod
    def from_text(cls, reason: str) -> StopReason:
        """Return the member that begins a reason, the text of `Run.reason`; OTHER for none of them."""
        for member in cls:
            if member and reason.startswith(member):
                details = reason.removeprefix(member)
                if not details or details.startswith((";", _separator(member))):
                    return member
        return cls.OTHER


def _separator(member: StopReason) -> str:
    """Return the separator of a reason and its details, other than a semicolon: user rules may have similar names."""
    return " " if member in SENTENCES else ":" if member in LABELS else ";"


LABELS = frozenset(
    {
        StopReason.DIRECT,
        StopReason.REGULARIZED,
        StopReason.SIMPLE,
        StopReason.PRACTICAL,
        StopReason.OPTIMUM,
        StopReason.BOUNDARY,
        StopReason.INFEASIBLE,
        StopReason.PRICED,
        StopReason.SOLVER_STUCK,
        StopReason.STEPS_STUCK,
        StopReason.GUARANTEE_BROKEN,
        StopReason.CERTIFIED,
        StopReason.TIME_USED,
    }
)
"""The reasons that are followed by a colon."""

SENTENCES = frozenset(
    {
        StopReason.FAILED_IN_ROUND,
        StopReason.FAILED_AFTER_PASSES,
        StopReason.ONE_HYPOTHESIS,
        StopReason.FEW_SMALL_MARGINS,
        StopReason.SMALL_MEAN_WEIGHT,
    }
)
"""The reasons whose details continue the sentence."""

LIMITS = (StopReason.ROUND_LIMIT, StopReason.TIME_LIMIT)
"""The reasons of runs that reached a limit."""
