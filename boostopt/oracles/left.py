"""What is left of an oracle of rows on a cluster, where a run is told without them."""

from __future__ import annotations

from typing import NoReturn

from boostopt.errors import ProblemError
from boostopt.oracles.elsewhere import Elsewhere
from boostopt.rows.kernels import Split


class Left(Elsewhere):
    """What is left of an oracle of rows on a cluster where a run is told elsewhere: the class in words, and sizes."""

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
        raise gone()

    @property
    def majority(self) -> int:
        return self._majority

    @property
    def rows(self) -> NoReturn:
        raise gone()

    def hypothesis(self, split: Split) -> NoReturn:
        raise gone()

    def _refused(self, what: str) -> ProblemError:
        return gone()


def without_rows() -> NoReturn:
    """Raise the error for a distribution that only the rows of a run could tell."""
    raise gone()


def gone() -> ProblemError:
    """Return the error for what only the rows of a run could tell."""
    return ProblemError(
        "this run was stored without its rows: it has hypotheses, weights, trace and both "
        "ends of the certificate, which run.verify_class(oracle) tells anew, and nothing as long as the rows. Boost "
        "again for more."
    )
