"""A substitute for an oracle of rows on a cluster in a run that is loaded without the rows."""

from __future__ import annotations

from typing import NoReturn

from boostopt.errors import ProblemError
from boostopt.oracles.distributed.placement import DistributedOracle
from boostopt.rows.row_block import Split


class DetachedOracle(DistributedOracle):
    """A substitute for an oracle of rows on a cluster, in a run loaded without its rows: its description and sizes."""

    reflexive: bool

    def __init__(self, words: str, N: int, total: float, majority: int, reflexive: bool) -> None:
        self._words, self._N, self._total, self._majority, self.reflexive = words, N, total, majority, reflexive

    def __str__(self) -> str:
        return self._words

    @property
    def N(self) -> int:
        return self._N

    @property
    def total(self) -> float:
        return self._total

    @property
    def balance(self) -> NoReturn:
        raise rows_missing_error()

    @property
    def majority(self) -> int:
        return self._majority

    @property
    def binned_rows(self) -> NoReturn:
        raise rows_missing_error()

    def hypothesis_of(self, split: Split) -> NoReturn:
        raise rows_missing_error()

    def _unsupported(self, request: str) -> ProblemError:
        return rows_missing_error()


def raise_rows_missing() -> NoReturn:
    """Raise the error for a distribution that needs the rows of a run."""
    raise rows_missing_error()


def rows_missing_error() -> ProblemError:
    """Return the error for a request that needs the rows of a run."""
    return ProblemError(
        "this run was stored without its rows: it has hypotheses, weights, trace and both "
        "ends of the certificate, which run.verify_class(oracle) tells anew, and nothing as long as the rows. Boost "
        "again for more."
    )
