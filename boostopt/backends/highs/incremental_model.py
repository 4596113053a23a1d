"""Linear programs in HiGHS that are built once and then changed in place, so that the basis carries over.

Two spaces, each the dual of the other. In d-space a hypothesis is a row, in w-space a column:

    d-space   min <cost, d> + <g, x>
              s.t.  A Uᵀd + B x <= b : y,   sum d = 1 : beta,   lower <= d <= upper : psi

    w-space   min <b', y> + (1 - sum lower) beta + <upper - lower, psi>         (b' = b - A Uᵀlower)
              s.t.  U Aᵀy + beta + psi >= -cost : d - lower,   Bᵀy = -g : x,   y >= 0, psi >= 0

For an equation, y is free in sign. Without the simplex there is no beta. On the simplex, a multiple of sum d = 1 is
subtracted from each row. This keeps y and changes beta, and most entries of a row of signs become 0.

An appended row keeps a basis of d-space dual feasible, and an appended column keeps a basis of w-space primal feasible.
So do new ends of the box. This determines the simplex variant for each space. Rows and columns are never deleted,
because HiGHS would then drop the basis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector, Int8
from boostopt.backends.highs.linear_program import LinearProgram
from boostopt.errors import BoostoptError

MAX_CONVERTED_ENTRIES = 2**22
"""Number of entries of U that are converted at a time when rows or columns are added."""


class HighsRejected(BoostoptError):
    """HiGHS did not accept a part of a model."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Costs and bounds of the columns and rows in HiGHS."""

    cost: Float[Array, " columns"]
    column_lower: Float[Array, " columns"]
    column_upper: Float[Array, " columns"]
    row_lower: Float[Array, " rows"]
    row_upper: Float[Array, " rows"]


@dataclass(frozen=True)
class RunReport:
    """The report of a run of HiGHS: the model status as HiGHS names it, and the counts."""

    status: str
    optimal: bool
    iterations: int
    statistics: Mapping[str, float]


class HighsModel(ABC):
    """A linear program in HiGHS. It is changed in place; `version` counts the changes."""

    lp: LinearProgram
    version: int

    space: ClassVar[str]
    hypotheses_are_columns: ClassVar[bool]

    def __init__(self, lp: LinearProgram) -> None:
        import highspy

        self.highs: Any = highspy.Highs()
        ends = highspy.HighsModelStatus
        self._error, self._optimal = highspy.HighsStatus.kError, ends.kOptimal
        self._without_optimum = (ends.kInfeasible, ends.kUnbounded, ends.kUnboundedOrInfeasible)
        self.set(output_flag=False, log_to_console=False)
        self.lp, self.version = lp, 0
        self.row_order: Any = np.arange(lp.rows)  # the row of the epigraph at each position of the model
        self.row_shifts: Any = lp.shifts(self.row_order)
        self.coefficients: Coefficients = self.compute_coefficients()
        self._add_fixed_part()
        self._append(self.row_order, 0)

    @property
    def num_leading(self) -> int:
        """Number of rows (columns in w-space) before the rows of the epigraph."""
        return int(self.lp.on_simplex)

    @abstractmethod
    def compute_coefficients(self) -> Coefficients:
        """Return the costs and bounds of `lp`."""

    @abstractmethod
    def _add_fixed_part(self) -> None:
        """Add the rows and columns whose number does not grow."""

    @abstractmethod
    def _read_weights(self, solution: Any) -> tuple[ExampleVector, Float[Array, " k"]]:
        """Return d and the multipliers y of the model's rows."""

    @abstractmethod
    def _ray(self) -> Float[Array, " k"] | None:
        """Return a direction of y that proves that no d is feasible, if HiGHS has one."""

    def update_to(self, lp: LinearProgram) -> bool:
        """Change the model to a related program and keep the basis; return False if the program is not related."""
        grown = lp.extension_of(self.lp)
        if grown is None:
            return False
        n_old_rows, added = grown
        self.version += 1
        self.lp, self.row_order = lp, np.concatenate([n_old_rows[self.row_order], added])
        self.row_shifts = np.concatenate([self.row_shifts, lp.shifts(added)])
        old, self.coefficients = self.coefficients, self.compute_coefficients()
        self._change(old, self.coefficients)
        self._append(added, len(n_old_rows))
        return True

    def reset_keeping_basis(self) -> bool:
        """Reset everything but the program and the basis, as in a new model at this basis; return False without one."""
        basis = self.highs.getBasis()
        if not basis.valid:
            return False
        self._check(self.highs.passModel(self.highs.getLp()), "its own program")
        return self.highs.setBasis(basis) != self._error

    def statuses(self) -> tuple[Int8[Array, " columns"], Int8[Array, " rows"]] | None:
        """Return the basis as HiGHS's numbers for columns and rows, in the order of a new model."""
        basis = self.highs.getBasis()
        if not basis.valid:
            return None
        columns, rows = (
            np.array([int(status) for status in part], dtype=np.int8) for part in (basis.col_status, basis.row_status)
        )
        grown = (columns if self.hypotheses_are_columns else rows)[self.index_of_row(0) :]
        grown[self.row_order] = grown.copy()
        return columns, rows

    def set_basis(self, columns: Int8[Array, " columns"], rows: Int8[Array, " rows"]) -> bool:
        """Set a basis, given in the order of a new model; return False if it does not fit this model."""
        import highspy

        shape, kinds = (self.highs.getNumCol(), self.highs.getNumRow()), highspy.HighsBasisStatus
        entries = np.concatenate([columns, rows])
        named = {int(kind): kind for kind in (kinds.kLower, kinds.kBasic, kinds.kUpper, kinds.kZero, kinds.kNonbasic)}
        if (len(columns), len(rows)) != shape or not np.isin(entries, list(named)).all():
            return False
        if np.count_nonzero(entries == int(kinds.kBasic)) != len(rows):
            return False
        basis = highspy.HighsBasis()
        basis.col_status = [named[status] for status in columns.tolist()]
        basis.row_status = [named[status] for status in rows.tolist()]
        return self.highs.setBasis(basis) != self._error

    def set(self, **options: Any) -> None:
        """Set options."""
        for name, value in options.items():
            self._check(self.highs.setOptionValue(name, value), f"the option {name} = {value!r}")

    @property
    def seconds(self) -> float:
        """Seconds of all runs of this model, to which the time limit of HiGHS applies."""
        return float(self.highs.getRunTime())

    def run(self) -> RunReport:
        """Run HiGHS from its current state."""
        failed = self.highs.run() == self._error
        info, status = self.highs.getInfo(), self.highs.getModelStatus()
        words = self.highs.modelStatusToString(status)
        simplex, ipm = int(info.simplex_iteration_count), int(info.ipm_iteration_count)
        return RunReport(
            status=f"{words} (error)" if failed else words,
            optimal=status == self._optimal and not failed,
            iterations=max(simplex, 0) + max(ipm, 0),
            statistics={
                "objective": float(info.objective_function_value),
                "max_primal_infeasibility": float(info.max_primal_infeasibility),
                "max_dual_infeasibility": float(info.max_dual_infeasibility),
            },
        )

    def read_answer(self) -> tuple[ExampleVector | None, HypothesisVector | None]:
        """Return the weights d and w at the end of the last run, None if there are none; w is a ray if there is one."""
        solution = self.highs.getSolution()
        # If the program has an optimum, a request for a ray would make HiGHS search for one.
        ray = self._ray() if self.highs.getModelStatus() in self._without_optimum else None
        d = w = None
        if solution.value_valid and solution.dual_valid:
            d, y = self._read_weights(solution)
            w = self._weights(y) + self.lp.epigraph.slope
        return (d, w) if ray is None else (d, self._weights(ray))

    def _weights(self, y: Float[Array, " k"]) -> HypothesisVector:
        """Return the hypothesis weights from multipliers in the order of the model."""
        ordered = np.empty_like(y)
        ordered[self.row_order] = y
        return self.lp.epigraph.weights(ordered)

    def _change(self, old: Coefficients, new: Coefficients) -> None:
        """Send the costs and bounds that differ: HiGHS drops its factorization even for unchanged values."""
        columns, rows = len(old.cost), len(old.row_lower)
        changed = np.flatnonzero(old.cost != new.cost[:columns]).astype(np.int32)
        if len(changed):
            self._check(self.highs.changeColsCost(len(changed), changed, new.cost[changed]), "costs")
        lower, upper = new.column_lower, new.column_upper
        changed = np.flatnonzero((old.column_lower != lower[:columns]) | (old.column_upper != upper[:columns]))
        if len(changed):
            self._check(
                self.highs.changeColsBounds(len(changed), changed.astype(np.int32), lower[changed], upper[changed]),
                "bounds",
            )
        lower, upper = new.row_lower, new.row_upper
        changed = np.flatnonzero((old.row_lower != lower[:rows]) | (old.row_upper != upper[:rows]))
        if len(changed):
            self._check(
                self.highs.changeRowsBounds(len(changed), changed.astype(np.int32), lower[changed], upper[changed]),
                "row bounds",
            )

    def _append(self, indices: Array, first_row: int) -> None:
        """Append rows of the epigraph from number `first_row` on, as rows or as columns."""
        lp, step, sent = self.lp, max(MAX_CONVERTED_ENTRIES // self.lp.N, 1), self.coefficients
        for start in range(0, len(indices), step):
            chunk, shift = indices[start : start + step], self.row_shifts[first_row + start :]
            over_d = [lp.row_coefficients(int(i)) - away for i, away in zip(chunk, shift, strict=False)]
            block: Any = scipy.sparse.csr_array(np.hstack([over_d, lp.epigraph.B[chunk]]))
            count, first = len(chunk), self.index_of_row(first_row + start)
            span = slice(first, first + count)
            matrix = (block.nnz, block.indptr[:-1].astype(np.int32), block.indices.astype(np.int32), block.data)
            if self.hypotheses_are_columns:
                bounds = sent.column_lower[span], sent.column_upper[span]
                self._check(self.highs.addCols(count, sent.cost[span], *bounds, *matrix), "columns")
            else:
                bounds = sent.row_lower[span], sent.row_upper[span]
                self._check(self.highs.addRows(count, *bounds, *matrix), "rows")

    @abstractmethod
    def index_of_row(self, k: int) -> int:
        """Return the position of the k-th row of the epigraph, among the rows or among the columns."""

    def _check(self, status: Any, action: str) -> None:
        if status == self._error:
            raise HighsRejected(f"HiGHS refused {action}")


class ExampleSpace(HighsModel):
    """d-space: columns d and x, a row for each row of the epigraph."""

    space = "d"
    hypotheses_are_columns = False

    def compute_coefficients(self) -> Coefficients:
        lp, G = self.lp, self.lp.epigraph
        free, one = np.full(len(G.g), np.inf), np.ones(self.num_leading)
        b = G.b[self.row_order] - self.row_shifts
        return Coefficients(
            cost=np.concatenate([lp.cost, G.g]),
            column_lower=np.concatenate([lp.lower, -free]),
            column_upper=np.concatenate([lp.upper, free]),
            row_lower=np.concatenate([one, np.where(G.equality[self.row_order], b, -np.inf)]),
            row_upper=np.concatenate([one, b]),
        )

    def _add_fixed_part(self) -> None:
        columns, N, sent = len(self.coefficients.cost), self.lp.N, self.coefficients
        self._check(self.highs.addVars(columns, sent.column_lower, sent.column_upper), "columns")
        self._check(self.highs.changeColsCost(columns, np.arange(columns, dtype=np.int32), sent.cost), "costs")
        if self.lp.on_simplex:
            self._check(self.highs.addRow(1.0, 1.0, N, np.arange(N, dtype=np.int32), np.ones(N)), "the simplex")

    def index_of_row(self, k: int) -> int:
        return self.num_leading + k

    def _read_weights(self, solution: Any) -> tuple[ExampleVector, Float[Array, " k"]]:
        # HiGHS's multipliers belong to the lower bounds: minus ours.
        return np.array(solution.col_value)[: self.lp.N], -np.array(solution.row_dual)[self.num_leading :]

    def _ray(self) -> Float[Array, " k"] | None:
        _, exists, ray = self.highs.getDualRay()
        return -np.array(ray)[self.num_leading :] if exists else None


class HypothesisSpace(HighsModel):
    """w-space: columns psi, beta and one for each row of the epigraph, a row for each example and each x."""

    space = "w"
    hypotheses_are_columns = True

    def compute_coefficients(self) -> Coefficients:
        lp, G, N = self.lp, self.lp.epigraph, self.lp.N
        b, free = G.b, np.full(self.num_leading, np.inf)
        if lp.lower.any():
            b = b - G.rows(lp.margins.edges(lp.lower))
        k, y_lower = lp.rows, np.where(G.equality[self.row_order], -np.inf, 0.0)
        total = 1.0 - float(lp.lower.sum())
        return Coefficients(
            cost=np.concatenate(
                [lp.upper - lp.lower, np.full(self.num_leading, total), b[self.row_order] - total * self.row_shifts]
            ),
            column_lower=np.concatenate([np.zeros(N), -free, y_lower]),
            column_upper=np.full(N + self.num_leading + k, np.inf),
            row_lower=np.concatenate([-lp.cost, -G.g]),
            row_upper=np.concatenate([np.full(N, np.inf), -G.g]),
        )

    def _add_fixed_part(self) -> None:
        N, sent = self.lp.N, self.coefficients
        examples, no_entries = np.arange(N, dtype=np.int32), np.zeros(0, np.int32)
        rows = len(sent.row_lower)
        starts = np.zeros(rows, np.int32)
        self._check(
            self.highs.addRows(rows, sent.row_lower, sent.row_upper, 0, starts, no_entries, np.zeros(0)), "rows"
        )
        bounds = sent.column_lower[:N], sent.column_upper[:N]
        self._check(self.highs.addCols(N, sent.cost[:N], *bounds, N, examples, examples, np.ones(N)), "psi")
        if self.lp.on_simplex:
            self._check(self.highs.addCol(sent.cost[N], -np.inf, np.inf, N, examples, np.ones(N)), "beta")

    def index_of_row(self, k: int) -> int:
        return self.lp.N + self.num_leading + k

    def _read_weights(self, solution: Any) -> tuple[ExampleVector, Float[Array, " k"]]:
        d = self.lp.lower + np.array(solution.row_dual)[: self.lp.N]
        return d, np.array(solution.col_value)[self.index_of_row(0) :]

    def _ray(self) -> Float[Array, " k"] | None:
        _, exists, ray = self.highs.getPrimalRay()
        return np.array(ray)[self.index_of_row(0) :] if exists else None


SPACES: dict[str, type[HighsModel]] = {space.space: space for space in (ExampleSpace, HypothesisSpace)}
