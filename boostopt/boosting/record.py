"""The record of a run: all that it is made of, and all that a file of it holds."""

from __future__ import annotations

from dataclasses import dataclass

from boostopt.boosting.collected import Collected
from boostopt.boosting.history import History
from boostopt.boosting.problem import Problem
from boostopt.boosting.state import State
from boostopt.boosting.trace import Trace
from boostopt.oracles.base import State as OracleState

FINAL_WEIGHTS = ("program", "lp", "scaled")
"""The ways in which the weights of the classifier are taken: see `Formulation.final_weights`."""


@dataclass(frozen=True, eq=False)
class Record:
    """All that a run is made of: what a checkpoint holds.

    Attributes
    ----------
    problem
        What was boosted.
    collected
        The hypotheses.
    state
        Where the run stands.
    history
        The weights of the rounds, where they were kept.
    trace
        The rounds as a table.
    oracle, digest, oracle_state
        The class in words, the number of examples and class, and where the oracle stood.
    guarantee
        The edge that every answer is promised to reach; None if nothing is promised.
    majority
        The class of more examples, 1 or -1.
    reason
        Why the run stopped, "" while it has not.
    page_digest
        SHA-256 of the file of the user's that stated the formulation; "" for one of no file.
    """

    problem: Problem
    collected: Collected
    state: State
    history: History
    trace: Trace
    oracle: str
    digest: str
    oracle_state: OracleState
    guarantee: float | None
    majority: int
    reason: str = ""
    page_digest: str = ""
