"""Classes of hypotheses over rows on a cluster, which support sums over the rows and no array as long as the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from boostopt._utils.array_types import is_dask_collection
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.stumps.threshold_sketches import LabelCounts, check_label_counts, count_labels
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.feature_encoding import BinnedFeatures


class Placeable:
    """A mixin of oracles of rows in memory for which there is a class of rows on a cluster.

    For a Dask collection, the constructor returns an object of that class. It does so for the oracle itself only: a
    user's subclass is another class of hypotheses.
    """

    distributed: ClassVar[type[DistributedClass] | None] = None
    """The class for rows on a cluster, which `DistributedClass` enters here."""

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        rows = arguments[0] if arguments else options.get("X", options.get("U"))
        distributed: Any = vars(cls).get("distributed") if is_dask_collection(rows) else None
        return object.__new__(cls) if distributed is None else distributed(*arguments, **options)


class DistributedClass(BinnedClass):
    """A class of hypotheses over rows on a cluster, which supports data passes only."""

    def __init_subclass__(cls, local: type[Placeable] | None = None, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if local is not None:
            local.distributed = cls

    _rows: BinnedRows
    _balance: int

    def _set_rows(self, rows: BinnedRows, balance: int) -> None:
        """Set the encoded rows, and the difference of the numbers of labels 1 and -1, with multiplicity."""
        self._rows, self._balance = rows, balance

    @property
    def N(self) -> int:
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


def subclass_error(oracle: Placeable, kind: type[Placeable]) -> ProblemError:
    """Return the error for a user's subclass of an oracle with rows on a cluster."""
    return ProblemError(
        f"{kind.__name__} itself takes rows on a cluster; got {type(oracle).__name__}, which is another class. "
        "Compute the collections before."
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
