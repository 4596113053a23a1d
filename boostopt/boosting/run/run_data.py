"""The record of a run: everything that a file of the run holds."""

from __future__ import annotations

from dataclasses import dataclass

from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.run.run_state import State
from boostopt.boosting.run.trace import Trace
from boostopt.boosting.run.weight_history import History
from boostopt.oracles.base import StateDict as OracleState


@dataclass(frozen=True, eq=False)
class RunData:
    """All data of a run, as a checkpoint holds them.

    Attributes
    ----------
    problem
        The problem.
    pool
        The hypotheses.
    state
        The state of the run.
    history
        The weights of the rounds, if they are stored.
    trace
        The rounds as a table.
    oracle, digest, oracle_state
        The class in words, the digest of examples and class, and the state of the oracle.
    guarantee
        The edge that every answer of the oracle is promised to reach; None if nothing is promised.
    majority
        The class of more examples, 1 or -1.
    reason
        The reason why the run stopped; "" before it stops.
    formulation_digest
        SHA-256 of the user's file that states the formulation; "" if it is not stated in a file.
    """

    problem: Problem
    pool: ColumnPool
    state: State
    history: History
    trace: Trace
    oracle: str
    digest: str
    oracle_state: OracleState
    guarantee: float | None
    majority: int
    reason: str = ""
    formulation_digest: str = ""
