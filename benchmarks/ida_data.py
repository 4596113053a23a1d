"""The IDA sets: published splits where there are some, seeded ones kept apart from them, folds of training parts.

A set is one file NAME.npz: X, y, and the row numbers of its splits, published (`train_splits`, `test_splits`,
`split_numbers`) and seeded (`seeded_train_splits`, `seeded_test_splits`, only where at most one is published).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8
from boostopt.errors import DataError

PUBLISHED, SEEDED = "published", "seeded"
ENOUGH = 2
"""The number of published splits from which on seeded ones are not used."""

Unit = tuple[str, str, int, int]
"""Set, kind of its splits, split, fold; all from 0, the fold -1 for the split as a whole."""

WHOLE = -1


@dataclass(frozen=True)
class Rows:
    """The splits of one kind of one set: a row of the table.

    Attributes
    ----------
    name
        The set.
    kind
        "published" or "seeded".
    splits
        The number of splits that are used, from the first.
    certain
        Whether they are known to be the published ones: one file has a split whose number is not known.
    """

    name: str
    kind: str
    splits: int
    certain: bool

    def units(self, selecting: int, folds: int) -> Iterator[Unit]:
        """Yield the folds of the splits that select parameters, then the splits."""
        for split in range(min(selecting, self.splits)):
            yield from ((self.name, self.kind, split, fold) for fold in range(folds))
        yield from ((self.name, self.kind, split, WHOLE) for split in range(self.splits))


@dataclass(frozen=True, eq=False)
class Part:
    """Examples to learn from and examples to test on.

    Attributes
    ----------
    X, y
        Features, shape (N, features), and labels -1 and 1, shape (N,), to learn from.
    X_test, y_test
        The same to test on.
    seed
        Of all that is drawn.
    """

    X: Float[Array, "N features"]
    y: Int8[Array, " N"]
    X_test: Float[Array, "n features"]
    y_test: Int8[Array, " n"]
    seed: int

    @property
    def majority(self) -> int:
        """The class of more training examples; ties: positive."""
        return 1 if int(self.y.sum(dtype=int)) >= 0 else -1


def names(folder: Path) -> list[str]:
    """Return the sets there are.

    Raises
    ------
    DataError
        There is none.
    """
    stems = sorted(path.stem for path in folder.glob("*.npz"))
    if not stems:
        raise DataError(
            f"expected the IDA sets, files NAME.npz; found none in {folder}. Pass their folder with --data."
        )
    return stems


def rows_of(folder: Path, requested: Sequence[str], splits: int) -> list[Rows]:
    """Return the rows of the table: the published splits of a set, and seeded ones where too few are published.

    Raises
    ------
    DataError
        There is no such set.
    """
    rows, available = list[Rows](), names(folder)
    for name in requested:
        if name not in available:
            raise DataError(f"expected a set of {folder}: {', '.join(available)}; got {name!r}. Name one of them.")
        with np.load(folder / f"{name}.npz") as file:
            published, numbers = len(file["train_splits"]), file["split_numbers"]
            seeded = len(file["seeded_train_splits"]) if published < ENOUGH else 0
        if published:
            rows.append(Rows(name, PUBLISHED, min(published, splits), bool((numbers > 0).all())))
        if seeded:
            rows.append(Rows(name, SEEDED, min(seeded, splits), True))
    return rows


def digest(folder: Path, name: str) -> str:
    """Return SHA-256 of the file of a set."""
    return hashlib.sha256((folder / f"{name}.npz").read_bytes()).hexdigest()


def part_of(folder: Path, unit: Unit, folds: int) -> Part:
    """Return what a unit learns from and tests on: a split's two parts, or two parts of its training part."""
    name, kind, split, fold = unit
    X, y, train, test = _loaded(folder, name, kind)
    training, test_rows, seed = train[split], test[split], split
    if fold != WHOLE:
        left_out = fold_numbers(y[training], folds, split) == fold
        # No two units of a set draw the same numbers.
        training, test_rows, seed = training[~left_out], training[left_out], 1000 + folds * split + fold
    return Part(X[training], y[training], X[test_rows], y[test_rows], seed)


def fold_numbers(y: Int8[Array, " N"], folds: int, seed: int) -> Int[Array, " N"]:
    """Return the fold of each example: each class is shuffled and dealt out, the second going on after the first."""
    shuffled = np.random.default_rng(seed).permutation(len(y))
    dealt = shuffled[np.argsort(y[shuffled], kind="stable")]
    numbers = np.empty(len(y), dtype=np.int64)
    numbers[dealt] = np.arange(len(y)) % folds
    return numbers


@cache
def _loaded(
    folder: Path, name: str, kind: str
) -> tuple[Float[Array, "n features"], Int8[Array, " n"], Int[Array, "splits N"], Int[Array, "splits test"]]:
    """Return X, y and the row numbers of the splits of one kind."""
    prefix = "" if kind == PUBLISHED else "seeded_"
    with np.load(folder / f"{name}.npz") as file:
        return file["X"], file["y"], file[f"{prefix}train_splits"], file[f"{prefix}test_splits"]
