"""A program as the arrays of a linear program for HiGHS, and the relation between two linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float
from boostopt.errors import require_not_none
from boostopt.functions.edge_functions.base import Epigraph
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix

LINEAR_PROGRAM_EXPECTED = "a linear program, as `unfit` finds it"


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """A program whose F is a linear function on a box and whose G is polyhedral, as arrays.

    Attributes
    ----------
    margins
        U, shape (N, t).
    cost
        Coefficients of d: those of F, and U times the slope of G; shape (N,).
    lower, upper
        Ends of the box, shape (N,).
    on_simplex
        Whether the weights sum to 1.
    epigraph
        G as k rows over the edges, with j further variables.
    """

    margins: MarginMatrix
    cost: ExampleVector
    lower: ExampleVector
    upper: ExampleVector
    on_simplex: bool
    epigraph: Epigraph

    @classmethod
    def from_program(cls, program: Program) -> LinearProgram:
        """Return a program as a linear program; `not_linear_reason` tells for which programs there is none."""
        F = require_not_none(program.regularizer.pointwise(), LINEAR_PROGRAM_EXPECTED)
        G = require_not_none(program.edge_function.epigraph(program.margins.t), LINEAR_PROGRAM_EXPECTED)
        cost = F.derivatives(0.5 * (F.lower + F.upper))
        if G.slope.any():
            cost = cost + program.margins.margins(G.slope)
        return cls(program.margins, cost, F.lower, F.upper, F.on_simplex, G)

    @property
    def N(self) -> int:
        """Number of examples."""
        return self.margins.N

    @property
    def rows(self) -> int:
        """Number k of rows over the edges."""
        return len(self.epigraph.b)

    def row_coefficients(self, i: int) -> ExampleVector:
        """Return the coefficients of d in row i: U times row i of A."""
        A = self.epigraph.A
        if A is None:
            return self.margins.column(i)
        return sum((A[i, q] * self.margins.column(int(q)) for q in np.flatnonzero(A[i])), start=np.zeros(self.N))

    def shifts(self, indices: Array) -> Float[Array, " k"]:
        """Return the constant to subtract from all terms of each row, so that most terms become 0.

        The weights sum to 1, so this is allowed. Of margins of -1 and 1, only the errors of the hypothesis then stay
        nonzero. A pivot costs as much as U has nonzero entries.
        """
        return np.array([self._shift(int(i)) for i in indices], dtype=np.float64)

    def _shift(self, i: int) -> float:
        if not self.on_simplex:
            return 0.0
        terms = self.row_coefficients(i)
        return max((0.0, 1.0, -1.0), key=lambda value: np.count_nonzero(terms == value))

    def rows_on_first_edges(self, t: int) -> Bool[Array, " k"]:
        """Return which rows involve only the first t edges."""
        A = self.epigraph.A
        return np.arange(self.rows) < t if A is None else np.asarray(~A[:, t:].any(axis=1))

    def extension_of(self, old: LinearProgram) -> tuple[Array, Array] | None:
        """Return which rows come from an older program, in their order, and which are new.

        None if anything has changed but costs, bounds and appended hypotheses.
        """
        G, old_G, t = self.epigraph, old.epigraph, old.margins.t
        if self.on_simplex != old.on_simplex or not extends_matrix(self.margins, old.margins):
            return None
        is_old = self.rows_on_first_edges(t)
        if G.A is not None or old_G.A is not None:
            A = np.eye(self.margins.t) if G.A is None else G.A
            if not np.array_equal(A[is_old, :t], np.eye(t) if old_G.A is None else old_G.A):
                return None
        equal_rows = np.array_equal(G.B[is_old], old_G.B) and np.array_equal(G.equality[is_old], old_G.equality)
        return (np.flatnonzero(is_old), np.flatnonzero(~is_old)) if equal_rows else None


def not_linear_reason(program: Program) -> str:
    """Return why a program is not a linear program of the kind that HiGHS gets here, "" if it is one."""
    F, G = program.regularizer.pointwise(), program.edge_function.epigraph(program.margins.t)
    if F is None:
        return "its regularizer is not known to be a linear function on a box"
    # Linear cones alone would not exclude piecewise linear functions.
    width = F.upper - F.lower
    if not np.array_equal(F.derivatives(F.lower + 0.25 * width), F.derivatives(F.lower + 0.75 * width)):
        return "its regularizer is piecewise linear, not linear, on the box"
    if G is None or G.Q.any():
        return "its edge function has no description by linear rows"
    return ""


def extends_matrix(margins: MarginMatrix, older: MarginMatrix) -> bool:
    """Return whether the first columns are those of an older matrix: by its origin, or else number by number."""
    if margins.is_extension_of(older):
        return True
    if margins.N != older.N or margins.t < older.t:
        return False
    pairs = zip(margins.blocks(), older.blocks(), strict=True)
    return all(_equal(new[:, : older.t], old) for (_, new), (_, old) in pairs)


def _equal(a: Any, b: Any) -> bool:
    if scipy.sparse.issparse(a) or scipy.sparse.issparse(b):
        difference: Any = scipy.sparse.csr_array(a) - scipy.sparse.csr_array(b)
        return int(difference.count_nonzero()) == 0
    return np.array_equal(a, b)
