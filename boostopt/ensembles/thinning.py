"""Few members with a large soft margin: chosen by a heuristic, judged by a certificate.

Which k columns have the largest soft margin together is a combinatorial question. Here the members of least weight are
dropped a few at a time, the soft margin of the others being maximized anew each time; then columns with large edges
under the last distribution are tried in their places, as in column generation. Whatever comes of it, what is lost is
proved: the certified soft margin of the few stands against the certified upper bound over all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.objectives.soft_margin import SoftMarginObjective
from boostopt.rows.margin_matrix import Margins
from boostopt.solving.solution import Solution
from boostopt.solving.solve import solve

DROP_FRACTIONS = (0.5, 0.35, 0.2, 0.1)
"""Shares of the columns that are dropped between two solves, each tried: none of them is always the best."""

MAX_EXCHANGES = 30
"""Exchanges of a column that are made at most."""

MAX_CANDIDATES = 10
"""Columns of largest edge that are tried for an exchange before it is given up."""


@dataclass(frozen=True, eq=False)
class ColumnSubset:
    """Some columns with the weights of their largest soft margin.

    Attributes
    ----------
    columns
        Numbers of the columns that have a weight, shape (k,), ascending.
    w
        Their weights, shape (k,), none of them 0.
    soft_margin
        The certified soft margin of w.
    solution
        The solved program over these columns and those that it gave no weight.
    """

    columns: Int[Array, " k"]
    w: Float[Array, " k"]
    soft_margin: float
    solution: Solution


def drop_small_weights(w: Float[Array, " t"], max_dropped_fraction: float) -> Float[Array, " t"]:
    """Return weights without the smallest ones, which sum to at most `max_dropped_fraction` of all: what interior points leave over.

    The others are scaled to the sum |w| that there was. The soft margin falls by at most twice that share.
    """
    order = np.argsort(np.abs(w))
    below = np.cumsum(np.abs(w)[order]) <= max_dropped_fraction * np.abs(w).sum()
    kept = w.copy()
    kept[order[below]] = 0.0
    left = float(np.abs(kept).sum())
    return kept * (float(np.abs(w).sum()) / left) if below.any() and left > 0.0 else kept


def certified_soft_margin(
    goal: SoftMarginObjective, U: Margins, w: Float[Array, " t"], d: Float[Array, " N"] | None = None
) -> float:
    """Return the soft margin of weights, rounding taken off."""
    return goal.program(U).certify(d, w).lower


class SubsetSearch:
    """The search for few columns.

    Parameters
    ----------
    goal
        The soft margin.
    U
        Margins, shape (N, t).
    tol
        Scaled gap of the solves.
    """

    def __init__(self, goal: SoftMarginObjective, U: Margins, tol: float) -> None:
        self._goal, self._U, self._tol = goal, U, tol
        # The ways to few columns often meet.
        self._choices: dict[bytes, ColumnSubset] = {}

    def best(self, columns: Int[Array, " n"], k: int) -> ColumnSubset:
        """Return at most k columns of large soft margin, found from the ones that are given."""
        starts = [*(self._eliminate(columns, k, share) for share in DROP_FRACTIONS), self._select_forward(k)]
        return max((self._exchange(start, k) for start in starts), key=lambda choice: choice.soft_margin)

    def _solve_subset(self, columns: Int[Array, " k"]) -> ColumnSubset:
        """Maximize the soft margin over some columns, once; those that get no weight are left out."""
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
        """Drop columns of least weight until at most k have a weight."""
        choice = self._solve_subset(columns)
        while len(choice.columns) > k:
            most = max(k, min(int((1.0 - share) * len(choice.columns)), len(choice.columns) - 1))
            heaviest = np.argsort(-np.abs(choice.w), kind="stable")[:most]
            choice = self._solve_subset(np.sort(choice.columns[heaviest]))
        return choice

    def _select_forward(self, k: int) -> ColumnSubset:
        """Start with the column that is best alone, and add the one of largest edge while at most k have a weight."""
        goal, signs = self._goal, (1.0,) if self._goal.nonnegative_weights else (1.0, -1.0)
        columns = [self._U.column(q) for q in range(self._U.t)]
        alone = [max(goal.soft_margin(sign * u, 1.0) for sign in signs) for u in columns]
        there = np.array([int(np.argmax(alone))])
        best = last = self._solve_subset(there)
        while len(last.columns) <= k:
            best = max(best, last, key=lambda choice: choice.soft_margin)
            new = np.setdiff1d(self._columns_by_edge(last)[:1], there)
            if not len(new):
                break
            # Those without a weight stay: two that vote against each other need a third to be worth anything.
            there = np.sort(np.append(there, new))
            last = self._solve_subset(there)
        return best

    def _exchange(self, choice: ColumnSubset, k: int) -> ColumnSubset:
        """Exchange columns while that raises the soft margin."""
        for _ in range(MAX_EXCHANGES):
            better = self._find_exchange(choice, k)
            if better is None:
                break
            choice = better
        return choice

    def _find_exchange(self, choice: ColumnSubset, k: int) -> ColumnSubset | None:
        """Return a choice of larger soft margin that holds a column of large edge; None if none is found."""
        for q in self._columns_by_edge(choice)[:MAX_CANDIDATES]:
            other = self._eliminate(np.sort(np.append(choice.columns, q)), k, DROP_FRACTIONS[0])
            if other.soft_margin > choice.soft_margin + self._tol:
                return other
        return None

    def _columns_by_edge(self, choice: ColumnSubset) -> Int[Array, " n"]:
        """Return the columns whose edge is larger than that of every one chosen, the largest first.

        Under the last d others bound the soft margin no less than the chosen ones do, and would add nothing to it.
        """
        e = self._U.edges(choice.solution.d)
        e = e if self._goal.nonnegative_weights else np.abs(e)
        level = e[choice.columns].max(initial=-np.inf)
        order = np.argsort(-e, kind="stable")
        return order[e[order] > level]
