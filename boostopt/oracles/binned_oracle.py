"""The contract of an oracle whose hypotheses are splits of encoded rows, to which boosting has access."""

from __future__ import annotations

from abc import abstractmethod

from boostopt.oracles.base import Hypothesis, Oracle
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split


class BinnedOracle(Oracle):
    """An oracle whose hypotheses are splits of encoded rows."""

    aggregates_only: bool = False
    """Whether the oracle supports data passes only, and raises ProblemError for every other request."""

    @property
    @abstractmethod
    def binned_rows(self) -> BinnedRows | None:
        """The rows; None if sums of integers do not apply, so that hypotheses come from `best`."""

    @abstractmethod
    def hypothesis_of(self, split: Split) -> Hypothesis:
        """Return the hypothesis of a split."""
