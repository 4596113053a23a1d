"""Oracles of rows on a cluster: they return sums over the rows, and refuse everything that is as long as the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from boostopt._utils.array_types import is_dask_collection
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles.base import Hypothesis, Oracle, Query
from boostopt.oracles.binned_oracle import RowsOracle
from boostopt.oracles.stumps.binning import Census, census, check_censuses
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.encoding import BinnedFeatures


class Placeable(Oracle):
    """An oracle of rows in memory with a subclass for rows on a cluster: a Dask collection makes an object of that one.

    Only the class itself has such a subclass: a subclass of a user's is another class of hypotheses.
    """

    distributed: ClassVar[type[Placeable] | None] = None
    """The subclass for rows on a cluster; it names itself by `Elsewhere`."""

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        rows = arguments[0] if arguments else options.get("X", options.get("U"))
        own: Any = vars(cls).get("distributed") if is_dask_collection(rows) else None
        return object.__new__(own or cls)


class Elsewhere(RowsOracle):
    """An oracle of rows on a cluster, which supports looks only."""

    only_looks = True

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in cls.__bases__:
            if issubclass(base, Placeable):
                base.distributed = cls  # pyright: ignore[reportAttributeAccessIssue]

    _rows: BinnedRows
    _balance: int

    def _placed(self, rows: BinnedRows, balance: int) -> None:
        """Set the encoded rows, and the number of examples of class 1 minus those of class -1, with multiplicity."""
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
    def rows(self) -> BinnedRows:
        """The encoded rows, on the cluster."""
        return self._rows

    @property
    def c(self) -> NoReturn:
        raise self._refused("multiplicities")

    @property
    def y(self) -> Any:
        raise self._refused("labels")

    @property
    def digest(self) -> NoReturn:
        raise self._refused("a digest")

    def best(self, query: Query) -> NoReturn:
        """Raise ProblemError: weights of the examples are as long as the rows."""
        raise self._refused("the best hypothesis under given weights")

    def margins_of(self, hypothesis: Hypothesis) -> NoReturn:
        """Raise ProblemError: margins are as long as the rows."""
        raise self._refused("the margins of a hypothesis")

    def _refused(self, what: str) -> ProblemError:
        """Return the error for a question whose answer is as long as the rows."""
        return looks_alone(what)


def looks_alone(what: str) -> ProblemError:
    """Return the error for a request that rows on a cluster do not support."""
    return ProblemError(
        "rows on a cluster support looks only, which boost uses for LPBoost, ERLPBoost, SoftBoost and similar programs "
        f"without options of steps; got a request for {what}. For anything else, load the rows into memory: "
        "X.compute(), y.compute(); in a command, leave out --cluster."
    )


def check_elsewhere(oracle: Oracle, kind: str) -> None:
    """Raise ProblemError unless an oracle is of rows on a cluster: subclasses have no such oracle."""
    if not isinstance(oracle, Elsewhere):
        raise ProblemError(
            f"{kind} itself takes rows on a cluster; got {type(oracle).__name__}, which is another class. Compute the "
            "collections before."
        )


class Placing:
    """A collection whose rows are encoded on the cluster.

    Parameters
    ----------
    X, y, c
        Features, labels and multiplicities.
    **how
        The division of the collection into blocks: see `DaskBlocks`.

    Attributes
    ----------
    blocks
        The blocks of the collection; after the count, only the blocks with rows that count.
    counted
        The counts of labels and multiplicities of each block, including blocks without such rows.

    Raises
    ------
    ProblemError
        There is no client; chunks of X have unknown sizes; y or c do not match X.
    OptionError
        Dask is not installed.
    """

    blocks: Any
    counted: list[Census]

    def __init__(self, X: Any, y: Any, c: Any, **how: Any) -> None:
        try:
            from boostopt.rows.dask_blocks import DaskBlocks
        except ModuleNotFoundError as missing:
            raise OptionError(
                f"rows on a cluster need Dask: {missing}. Install it: pip install 'boostopt[dask]'."
            ) from missing
        self.blocks, self.counted = DaskBlocks(X, y, c, **how), list[Census]()

    def count(self, task: Callable[..., Census] = census, classes: bool = True) -> list[Census]:
        """Count labels and multiplicities by a task, and leave out the blocks without rows that count.

        Raises
        ------
        ProblemError
            Labels or multiplicities are invalid; there is one class only, but two are needed; there are too many
            examples, or none.
        """
        self.counted = self.blocks.labels(task)
        check_censuses(self.counted, classes)
        self.blocks.chosen([k for k, each in enumerate(self.counted) if each.n])
        return self.counted

    @property
    def balance(self) -> int:
        """Number of examples of class 1 minus those of class -1, with multiplicity."""
        return sum(each.balance for each in self.counted)

    def rows(self, task: Callable[..., Any], large: Any, coded: BinnedFeatures) -> BinnedRows:
        """Return the rows.

        Parameters
        ----------
        task
            A function that makes a part from `large` and from the features, labels and multiplicities of a block.
        large
            A large argument, sent to the cluster once.
        coded
            The thresholds, with the codes of no rows.
        """
        from boostopt.rows.dask_rows import DaskRows

        parts, sizes = self.blocks.parts(task, large), [each.n for each in self.counted if each.n]
        return DaskRows(self.blocks.client, parts, sizes, sum(each.total for each in self.counted), coded)
