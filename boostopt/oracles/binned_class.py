"""Classes whose hypotheses are splits of encoded rows, over which boosting makes data passes."""

from __future__ import annotations

from abc import abstractmethod

from boostopt.oracles.base import Hypothesis, HypothesisClass, Oracle
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split


class BinnedClass(HypothesisClass):
    """A class whose hypotheses are splits of encoded rows. The rows may be on a cluster."""

    @property
    @abstractmethod
    def binned_rows(self) -> BinnedRows | None:
        """The rows; None if sums of integers do not apply, so that hypotheses come from `Oracle.best`."""

    @abstractmethod
    def hypothesis_of(self, split: Split) -> Hypothesis:
        """Return the hypothesis of a split."""


class BinnedOracle(Oracle, BinnedClass):
    """An oracle whose hypotheses are splits of encoded rows in memory."""
