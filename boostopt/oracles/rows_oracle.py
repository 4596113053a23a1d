"""The contract of an oracle whose hypotheses are splits of coded rows, so that boosting may look at the rows itself."""

from __future__ import annotations

from abc import abstractmethod

from boostopt.oracles.base import Hypothesis, Oracle
from boostopt.rows.kernels import Split
from boostopt.rows.rows import Rows


class RowsOracle(Oracle):
    """An oracle of the splits of coded rows."""

    only_looks: bool = False
    """Whether looks at the rows are all that it serves: it raises ProblemError when it is asked anything else."""

    @property
    @abstractmethod
    def rows(self) -> Rows | None:
        """The rows; None where sums of whole numbers do not serve, and the oracle must be asked."""

    @abstractmethod
    def hypothesis(self, split: Split) -> Hypothesis:
        """Return the hypothesis that a split is."""
