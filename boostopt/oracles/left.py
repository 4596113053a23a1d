"""What is left of an oracle of rows on a cluster, where a run is told without them."""

from __future__ import annotations

from boostopt.errors import ProblemError
from boostopt.oracles.base import Answer, Hypothesis, Query
from boostopt.oracles.rows_oracle import RowsOracle
from boostopt.rows.kernels import Split
from boostopt.rows.rows import Rows
from boostopt.shapes import Array, Float


class Left(RowsOracle):
    """What is left of an oracle of rows on a cluster where a run is told elsewhere: the class in words, and sizes."""

    only_looks = True

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
    def majority(self) -> int:
        return self._majority

    @property
    def c(self) -> Float[Array, " N"]:
        raise gone()

    @property
    def y(self) -> Float[Array, " N"]:
        raise gone()

    @property
    def digest(self) -> str:
        raise gone()

    @property
    def rows(self) -> Rows:
        raise gone()

    def best(self, query: Query) -> Answer:
        raise gone()

    def hypothesis(self, split: Split) -> Hypothesis:
        raise gone()

    def margins_of(self, hypothesis: Hypothesis) -> Float[Array, " N"]:
        raise gone()


def gone() -> ProblemError:
    """Return the error for what only the rows of a run could tell."""
    return ProblemError(
        "this run was stored without its rows: it has hypotheses, weights, trace and both "
        "ends of the certificate, which run.verify_class(oracle) tells anew, and nothing as long as the rows. Boost "
        "again for more."
    )
