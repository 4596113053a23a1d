"""Thin ensembles: few members with a large soft margin, selected by a heuristic and bounded by a certificate.

Which k columns have together the largest soft margin is a combinatorial problem. The backward search drops the members
of smallest weight, a few at a time, and maximizes the soft margin of the others after each step. The forward search
adds columns one by one. Then exchanges try columns with large edges under the last distribution, as in column
generation. The loss is proved for any choice: it compares the certified soft margin of the few members with the
certified upper bound over all members.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector, Int
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.solving.solution import Solution
from boostopt.solving.solve import solve

DROP_FRACTIONS = (0.5, 0.35, 0.2, 0.1)
"""Fractions of the columns that are dropped between two solves; each is tried, because none is always the best."""

MAX_EXCHANGES = 30
"""Maximum number of exchanges of a column."""

MAX_CANDIDATES = 10
"""Number of columns with the largest edges that are tried before the exchanges stop."""


@dataclass(frozen=True, eq=False)
class ColumnSubset:
    """Selected columns with the weights of their largest soft margin.

    Attributes
    ----------
    columns
        The indices of the columns with nonzero weight, shape (k,), ascending.
    w
        The nonzero weights of these columns, shape (k,).
    soft_margin
        The certified soft margin of w.
    solution
        The solved program over these columns and the columns that got no weight.
    """

    columns: Int[Array, " k"]
    w: Float[Array, " k"]
    soft_margin: float
    solution: Solution


def drop_small_weights(w: HypothesisVector, max_dropped_fraction: float) -> HypothesisVector:
    """Return weights without the smallest ones, which sum to at most the fraction `max_dropped_fraction` of all.

    Interior-point solvers leave such weights. The other weights are scaled so that sum |w| remains the same. The soft
    margin decreases by at most twice the dropped fraction.
    """
    order = np.argsort(np.abs(w))
    is_small = np.cumsum(np.abs(w)[order]) <= max_dropped_fraction * np.abs(w).sum()
    thinned = w.copy()
    thinned[order[is_small]] = 0.0
    remaining_weight = float(np.abs(thinned).sum())
    return (
        thinned * (float(np.abs(w).sum()) / remaining_weight) if is_small.any() and remaining_weight > 0.0 else thinned
    )


def certified_soft_margin(
    goal: SoftMarginObjective, U: MarginMatrix, w: HypothesisVector, d: ExampleVector | None = None
) -> float:
    """Return a lower bound of the soft margin of weights, rounded down."""
    return goal.program(U).certify(d, w).lower


class SubsetSearch:
    """The search for a subset of at most k columns with a large soft margin.

    Attributes
    ----------
    goal
        The objective: the soft margin.
    U
        Margins, shape (N, t).
    tol
        The scaled gap of the solves.
    """

    def __init__(self, goal: SoftMarginObjective, U: MarginMatrix, tol: float) -> None:
        self._goal, self._U, self._tol = goal, U, tol
        # The searches often reach the same subset.
        self._choices: dict[bytes, ColumnSubset] = {}

    def best(self, columns: Int[Array, " n"], k: int) -> ColumnSubset:
        """Return at most k columns with a large soft margin, selected from the given columns."""
        starts = [*(self._eliminate(columns, k, share) for share in DROP_FRACTIONS), self._select_forward(k)]
        return max((self._exchange(start, k) for start in starts), key=lambda choice: choice.soft_margin)

    def _solve_subset(self, columns: Int[Array, " k"]) -> ColumnSubset:
        """Maximize the soft margin over some columns, once for each subset; columns without a weight are left out."""
        key = columns.tobytes()
        if key in self._choices:
            return self._choices[key]
        U = self._U.take_columns(columns)
        solution = solve(self._goal.program(U), tol=self._tol).raise_if_failed()
        w = drop_small_weights(solution.w, self._tol)
        active = np.flatnonzero(w)
        self._choices[key] = ColumnSubset(
            columns[active], w[active], certified_soft_margin(self._goal, U, w, solution.d), solution
        )
        return self._choices[key]

    def _eliminate(self, columns: Int[Array, " n"], k: int, share: float) -> ColumnSubset:
        """Return a subset after dropping the columns of smallest weight until at most k have a weight."""
        choice = self._solve_subset(columns)
        while len(choice.columns) > k:
            n_remaining = max(k, min(int((1.0 - share) * len(choice.columns)), len(choice.columns) - 1))
            heaviest = np.argsort(-np.abs(choice.w), kind="stable")[:n_remaining]
            choice = self._solve_subset(np.sort(choice.columns[heaviest]))
        return choice

    def _select_forward(self, k: int) -> ColumnSubset:
        """Return a subset grown from the best single column by columns of largest edge, up to k weights."""
        goal, signs = self._goal, (1.0,) if self._goal.nonnegative_weights else (1.0, -1.0)
        columns = [self._U.column(q) for q in range(self._U.t)]
        single_margins = [max(goal.soft_margin(sign * u, 1.0) for sign in signs) for u in columns]
        selected = np.array([int(np.argmax(single_margins))])
        best = last = self._solve_subset(selected)
        while len(last.columns) <= k:
            best = max(best, last, key=lambda choice: choice.soft_margin)
            new = np.setdiff1d(self._columns_by_edge(last)[:1], selected)
            if not len(new):
                break
            # Columns without a weight stay: two columns that vote against each other may need a third one to be useful.
            selected = np.sort(np.append(selected, new))
            last = self._solve_subset(selected)
        return best

    def _exchange(self, choice: ColumnSubset, k: int) -> ColumnSubset:
        """Return a subset after exchanges of columns that increase the soft margin."""
        for _ in range(MAX_EXCHANGES):
            better = self._find_exchange(choice, k)
            if better is None:
                break
            choice = better
        return choice

    def _find_exchange(self, choice: ColumnSubset, k: int) -> ColumnSubset | None:
        """Return a subset of larger soft margin with a column of large edge; None if no exchange improves."""
        for q in self._columns_by_edge(choice)[:MAX_CANDIDATES]:
            candidate = self._eliminate(np.sort(np.append(choice.columns, q)), k, DROP_FRACTIONS[0])
            if candidate.soft_margin > choice.soft_margin + self._tol:
                return candidate
        return None

    def _columns_by_edge(self, choice: ColumnSubset) -> Int[Array, " n"]:
        """Return the columns whose edge exceeds the edges of all selected columns, in decreasing order of the edge.

        Under the last d, the other columns satisfy the bound of the selected ones and would not increase the soft
        margin.
        """
        e = self._U.edges(choice.solution.d)
        e = e if self._goal.nonnegative_weights else np.abs(e)
        level = e[choice.columns].max(initial=-np.inf)
        order = np.argsort(-e, kind="stable")
        return order[e[order] > level]
