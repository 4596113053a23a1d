"""Oracles of rows on a cluster: they return sums over the rows, and refuse arrays of the length of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from boostopt._utils.array_types import is_dask_collection
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles.base import Hypothesis, Oracle, Query
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.oracles.stumps.binning import LabelCounts, check_label_counts, count_labels
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.encoding import BinnedFeatures


class Placeable(Oracle):
    """An oracle of rows in memory that has a subclass for rows on a cluster.

    For a Dask collection, the constructor makes an object of the subclass. Only the class itself has such a
    subclass: a user's subclass is another class of hypotheses.
    """

    distributed: ClassVar[type[Placeable] | None] = None
    """The subclass for rows on a cluster, which `DistributedOracle` enters here."""

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        rows = arguments[0] if arguments else options.get("X", options.get("U"))
        distributed_class: Any = vars(cls).get("distributed") if is_dask_collection(rows) else None
        return object.__new__(distributed_class or cls)


class DistributedOracle(BinnedOracle):
    """An oracle of rows on a cluster, which supports data passes only."""

    aggregates_only = True

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in cls.__bases__:
            if issubclass(base, Placeable):
                base.distributed = cls  # pyright: ignore[reportAttributeAccessIssue]

    _rows: BinnedRows
    _balance: int

    def _set_rows(self, rows: BinnedRows, balance: int) -> None:
        """Set the encoded rows, and the difference of the sizes of class 1 and class -1, with multiplicity."""
        self._rows, self._balance = rows, balance

    @property
    def N(self) -> int:
        return self._rows.n_rows

    @property
    def n_rows(self) -> int:
        return self._rows.n_rows

    @property
    def total(self) -> float:
        return float(self._rows.n_examples)

    @property
    def balance(self) -> float:
        return float(self._balance)

    @property
    def binned_rows(self) -> BinnedRows:
        """The encoded rows, on the cluster."""
        return self._rows

    @property
    def c(self) -> NoReturn:
        raise self._unsupported("multiplicities")

    @property
    def y(self) -> Any:
        raise self._unsupported("labels")

    @property
    def digest(self) -> NoReturn:
        raise self._unsupported("a digest")

    def best(self, query: Query) -> NoReturn:
        """Raise ProblemError: weights of the examples are as long as the rows."""
        raise self._unsupported("the best hypothesis under given weights")

    def margins_of(self, hypothesis: Hypothesis) -> NoReturn:
        """Raise ProblemError: margins are as long as the rows."""
        raise self._unsupported("the margins of a hypothesis")

    def _unsupported(self, request: str) -> ProblemError:
        """Return the error for a request whose answer is as long as the rows."""
        return aggregates_only_error(request)


def aggregates_only_error(request: str) -> ProblemError:
    """Return the error for a request that rows on a cluster do not support."""
    return ProblemError(
        "rows on a cluster support data passes only, which boost uses for LPBoost, ERLPBoost, SoftBoost and "
        f"similar programs without options of steps; got a request for {request}. For anything else, load the rows "
        "into memory: X.compute(), y.compute(); in a command, leave out --cluster."
    )


def check_distributed(oracle: Oracle, kind: str) -> None:
    """Raise ProblemError unless an oracle has rows on a cluster: subclasses of users have no such oracle."""
    if not isinstance(oracle, DistributedOracle):
        raise ProblemError(
            f"{kind} itself takes rows on a cluster; got {type(oracle).__name__}, which is another class. Compute the "
            "collections before."
        )


class DistributedEncoder:
    """A collection whose rows are encoded on the cluster.

    Parameters
    ----------
    X, y, c
        Features, labels and multiplicities.
    **block_options
        The division of the collection into blocks: see `DaskBlocks`.

    Attributes
    ----------
    blocks
        The blocks of the collection; after the count, only the blocks with rows that count.
    block_counts
        The counts of labels and multiplicities of each block, including blocks without such rows.

    Raises
    ------
    ProblemError
        There is no client; chunks of X have unknown sizes; y or c do not match X.
    OptionError
        Dask is not installed.
    """

    blocks: Any
    block_counts: list[LabelCounts]

    def __init__(self, X: Any, y: Any, c: Any, **block_options: Any) -> None:
        try:
            from boostopt.rows.dask_blocks import DaskBlocks
        except ModuleNotFoundError as missing:
            raise OptionError(
                f"rows on a cluster need Dask: {missing}. Install it: pip install 'boostopt[dask]'."
            ) from missing
        self.blocks, self.block_counts = DaskBlocks(X, y, c, **block_options), list[LabelCounts]()

    def count(self, task: Callable[..., LabelCounts] = count_labels, classes: bool = True) -> list[LabelCounts]:
        """Count labels and multiplicities by a task, and drop the blocks without rows that count.

        Raises
        ------
        ProblemError
            Labels or multiplicities are invalid; there is one class only, but two are needed; there are too many
            examples, or none.
        """
        self.block_counts = self.blocks.map_labels(task)
        check_label_counts(self.block_counts, classes)
        self.blocks.keep([k for k, counts in enumerate(self.block_counts) if counts.n_counted])
        return self.block_counts

    @property
    def balance(self) -> int:
        """Difference of the sizes of class 1 and class -1, with multiplicity."""
        return sum(counts.balance for counts in self.block_counts)

    def rows(self, task: Callable[..., Any], large: Any, binned: BinnedFeatures) -> BinnedRows:
        """Return the encoded rows.

        Parameters
        ----------
        task
            A function that returns a row block from `large` and from the features, labels and multiplicities of a
            block.
        large
            A large argument, sent to the cluster once.
        binned
            The thresholds, with the codes of no rows.
        """
        from boostopt.rows.dask_rows import DaskRows

        parts, sizes = (
            self.blocks.map_blocks(task, large),
            [counts.n_counted for counts in self.block_counts if counts.n_counted],
        )
        return DaskRows(self.blocks.client, parts, sizes, sum(counts.total for counts in self.block_counts), binned)
