"""The description and the sizes of an oracle, all that a run keeps of it when it is loaded without its rows."""

from __future__ import annotations

from typing import NoReturn

from boostopt.errors import ProblemError
from boostopt.oracles.base import HypothesisClass


class OracleWithoutRows(HypothesisClass):
    """The summary of an oracle whose rows are gone: its description and sizes."""

    reflexive: bool

    def __init__(self, description: str, N: int, total: float, majority: int, reflexive: bool) -> None:
        self._description, self._N, self._total, self._majority = description, N, total, majority
        self.reflexive = reflexive

    def __str__(self) -> str:
        return self._description

    @property
    def N(self) -> int:
        return self._N

    @property
    def total(self) -> float:
        return self._total

    @property
    def balance(self) -> float:
        raise rows_missing_error()

    @property
    def majority(self) -> int:
        return self._majority

    def unsupported_error(self, request: str) -> ProblemError:
        return rows_missing_error()


def raise_rows_missing() -> NoReturn:
    """Raise the error for a distribution that needs the rows of a run."""
    raise rows_missing_error()


def rows_missing_error() -> ProblemError:
    """Return the error for a request that needs the rows of a run."""
    return ProblemError(
        "this run was stored without its rows: it has hypotheses, weights, trace and both "
        "bounds of the certificate, which run.verify_class(oracle) recomputes, and nothing as long as the rows. Boost "
        "again for more."
    )
