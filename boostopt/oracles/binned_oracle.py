"""The contract of an oracle whose hypotheses are splits of encoded rows, which boosting can read itself."""

from __future__ import annotations

from abc import abstractmethod

from boostopt.oracles.base import Hypothesis, Oracle
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split


class BinnedOracle(Oracle):
    """An oracle of the splits of encoded rows."""

    aggregates_only: bool = False
    """Whether it supports only looks at the rows, and raises ProblemError for every other request."""

    @property
    @abstractmethod
    def binned_rows(self) -> BinnedRows | None:
        """The rows; None if sums of integers do not apply, and `best` must find the hypotheses."""

    @abstractmethod
    def hypothesis_of(self, split: Split) -> Hypothesis:
        """Return the hypothesis of a split."""
