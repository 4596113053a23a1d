"""The hypotheses of a run with their margins, without duplicates."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector
from boostopt._utils.immutable_arrays import as_immutable
from boostopt.errors import BoostoptError, DataError, ProblemError, reason_of, require_not_none
from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle
from boostopt.rows.margin_matrix import MarginMatrix

MARGIN_TOL = 1e-9
"""The largest violation of [-1, 1] by rounding, which is clipped; a larger violation is an error."""

MARGIN_ROUNDING = 1e-15
"""The largest difference of a stored margin from the recomputed one: other machines may round sums differently."""


@dataclass(frozen=True, eq=False)
class CheckedColumn(Column):
    """A column with checked margins, which are immutable and hashed once."""

    @classmethod
    def check(cls, column: Column, N: int) -> CheckedColumn:
        """Check a column of an oracle and return it.

        Raises
        ------
        ProblemError
            The margins have a wrong length, are not finite or leave [-1, 1].
        """
        return cls(column.hypothesis, checked_margins(column, N), column.edge)

    def edge_under(self, d: ExampleVector) -> float:
        """Return u . d, computed from the margins; the edge that the oracle states is not used."""
        return float(self.margins.astype(np.float64) @ d)

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of the margins, equal for equal margins of any type."""
        return fingerprint_of(self.margins)


@dataclass(frozen=True, eq=False)
class CheckedAnswer(Answer):
    """An answer of an oracle with checked columns."""

    columns: tuple[CheckedColumn, ...]

    @classmethod
    def check(cls, answer: Answer, N: int) -> CheckedAnswer:
        """Check the columns of an answer and return it.

        Raises
        ------
        ProblemError
            The margins of a column have a wrong length, are not finite or leave [-1, 1].
        """
        return cls(
            tuple(CheckedColumn.check(column, N) for column in answer.columns), answer.edge_bound, answer.not_best_edge
        )


class ColumnPool:
    """The hypotheses of a run with their margins. No hypothesis is ever removed, so the first t remain the first t.

    Attributes
    ----------
    N
        The number of examples.
    hypotheses
        The hypotheses in the order in which they were added.
    """

    def __init__(self, N: int) -> None:
        self.N = N
        self.hypotheses: list[Hypothesis] = []
        self._margins: MarginMatrix | None = None
        self._by_name: dict[Hypothesis, int] = {}
        self._by_values: dict[bytes, int] = {}

    @property
    def t(self) -> int:
        """The number of hypotheses."""
        return len(self.hypotheses)

    @property
    def margins(self) -> MarginMatrix:
        """The margin matrix U, shape (N, t); the pool must not be empty."""
        return require_not_none(self._margins, "a hypothesis before its margins are asked for")

    def find(self, column: CheckedColumn) -> int | None:
        """Return the number of the hypothesis with the name or the margins of a column; None for a new one."""
        q = self._by_name.get(column.hypothesis)
        return q if q is not None else self._by_values.get(column.fingerprint)

    def add(self, column: CheckedColumn) -> int:
        """Add a new hypothesis and return its number."""
        margins = column.margins
        self._margins = MarginMatrix(margins[:, np.newaxis]) if self._margins is None else self._margins.append(margins)
        q = len(self.hypotheses)
        self.hypotheses.append(column.hypothesis)
        self._by_name[column.hypothesis] = q
        self._by_values[column.fingerprint] = q
        return q

    def find_or_add(self, column: CheckedColumn) -> int:
        """Return the number of the hypothesis of a column; add it if it is new."""
        q = self.find(column)
        return self.add(column) if q is None else q

    def margins_with(self, u: ExampleVector) -> MarginMatrix:
        """Return U with a further column, which is not added to the hypotheses."""
        return MarginMatrix(u[:, np.newaxis]) if self._margins is None else self._margins.append(u)

    def restore(self, hypotheses: list[Hypothesis], U: MarginMatrix) -> None:
        """Add the hypotheses of an earlier pool with their dense margins U."""
        # One by one, in their order: sums over another memory layout are rounded differently.
        for hypothesis, margins in zip(hypotheses, np.ascontiguousarray(U.arrays()["dense"].T), strict=True):
            self.add(CheckedColumn.check(Column(hypothesis, margins, np.nan), self.N))


def checked_margins(column: Column, N: int) -> Array:
    """Return the margins of a column, within [-1, 1]."""
    u = np.asarray(column.margins)
    advice = f"The oracle returned them for {column.hypothesis}. Correct the oracle."
    if u.shape != (N,) or u.dtype.kind not in "iuf":
        raise ProblemError(
            f"a column must be {N} real numbers, one for each example; got shape {u.shape} of {u.dtype}. {advice}"
        )
    low, high = float(u.min()), float(u.max())
    if not (low >= -1.0 - MARGIN_TOL and high <= 1.0 + MARGIN_TOL):
        finite = bool(np.isfinite(u).all())
        values = f"values from {low:.6g} to {high:.6g}" if finite else "a value that is not finite"
        raise ProblemError(f"a column must have values in [-1, 1]; got {values}. {advice}")
    # A copy, because the oracle may change its own array later.
    return as_immutable(u if low >= -1.0 and high <= 1.0 else np.clip(u, -1.0, 1.0))


def fingerprint_of(margins: Array) -> bytes:
    """Return a hash of the values of a column, independent of its dtype."""
    values = margins if margins.dtype == np.int8 else _canonical_dtype(margins)
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).digest()


def _canonical_dtype(margins: Array) -> Array:
    """Return integers as int8, other numbers as float64 without negative zeros."""
    integers = margins.astype(np.int8)
    return integers if (integers == margins).all() else margins.astype(np.float64) + 0.0


def check_stored_margins(pool: ColumnPool, oracle: Oracle) -> None:
    """Raise DataError unless the margins in a file are those of its hypotheses, up to their last bits.

    Margins of hypotheses that the oracle cannot evaluate are not checked.
    """
    for q, hypothesis in enumerate(pool.hypotheses):
        if not hypothesis.is_evaluable:
            continue
        try:
            margins = oracle.margins_of(hypothesis)
        except BoostoptError as failure:
            raise DataError(
                f"expected hypotheses of {oracle}; got {hypothesis}: {reason_of(failure)}. The file of the run was "
                "changed: make the run again."
            ) from failure
        if margins is not None and not np.allclose(pool.margins.column(q), margins, rtol=0.0, atol=MARGIN_ROUNDING):
            raise DataError(
                f"expected the margins of {hypothesis} on the examples; the file of the run has others. It was "
                "changed: make the run again."
            )
