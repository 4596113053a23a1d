"""Slow readers of the files that are exported, and other solvers for what they hold; boostopt is not imported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import scipy.sparse


@dataclass
class Cbf:
    """A file in the Conic Benchmark Format: min <c, x> + constant, g = Ax + b in the cones."""

    version: int = 0
    sense: str = ""
    powers: list[list[float]] = field(default_factory=list[list[float]])
    variables: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    cones: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    c: np.ndarray = field(default_factory=lambda: np.zeros(0))
    constant: float = 0.0
    entries: list[tuple[float, ...]] = field(default_factory=list[tuple[float, ...]])
    b: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def sparse(self) -> Any:
        """A in sparse rows; entries at one place add up."""
        i, j, values = np.array(self.entries).reshape(-1, 3).T
        return scipy.sparse.csr_array((values, (i.astype(int), j.astype(int))), shape=(len(self.b), len(self.c)))

    @property
    def A(self) -> np.ndarray:
        """A in full: for small files."""
        return self.sparse.toarray()


def read_cbf(path: Path) -> Cbf:
    """Read a file line by line, as the format describes it. An unknown keyword is an error."""
    text = (line.strip() for line in path.read_text("ascii").splitlines())
    lines = iter([line for line in text if line and not line.startswith("#")])
    file = Cbf()
    for keyword in lines:
        match keyword:
            case "VER":
                file.version = int(next(lines))
            case "OBJSENSE":
                file.sense = next(lines)
            case "POWCONES":
                cones, numbers = map(int, next(lines).split())
                file.powers = [[float(next(lines)) for _ in range(int(next(lines)))] for _ in range(cones)]
                assert sum(map(len, file.powers)) == numbers
            case "VAR":
                file.variables = list(_cones(lines))
                file.c = np.zeros(sum(size for _, size in file.variables))
            case "CON":
                file.cones = list(_cones(lines))
                file.b = np.zeros(sum(size for _, size in file.cones))
            case "OBJACOORD":
                for j, value in _rows_of_numbers(lines):
                    file.c[int(j)] += value
            case "OBJBCOORD":
                file.constant = float(next(lines))
            case "ACOORD":
                file.entries += _rows_of_numbers(lines)
            case "BCOORD":
                for i, value in _rows_of_numbers(lines):
                    file.b[int(i)] += value
            case keyword:
                raise ValueError(f"unknown keyword {keyword!r}")
    return file


def _cones(lines: Iterator[str]) -> Iterator[tuple[str, int]]:
    size, count = map(int, next(lines).split())
    cones = [(kind, int(rows)) for kind, rows in (next(lines).split() for _ in range(count))]
    assert sum(rows for _, rows in cones) == size
    return iter(cones)


def _rows_of_numbers(lines: Iterator[str]) -> Iterator[tuple[float, ...]]:
    return iter([tuple(map(float, next(lines).split())) for _ in range(int(next(lines)))])


def solve_cbf(file: Cbf, accuracy: float = 1e-10) -> tuple[np.ndarray, np.ndarray, float, str]:
    """Solve by Clarabel; return the variables, the multipliers of the rows, the optimum and the status."""
    assert file.sense == "MIN"
    assert [kind for kind, _ in file.variables] == ["F"]
    clarabel: Any = import_module("clarabel")
    kinds: dict[str, Any] = {"L=": clarabel.ZeroConeT, "L+": clarabel.NonnegativeConeT, "Q": clarabel.SecondOrderConeT}
    cones: list[Any] = []
    order: list[int] = []
    for kind, size in file.cones:
        rows = list(range(len(order), len(order) + size))
        if kind == "EXP":  # x_0 >= x_1 exp(x_2 / x_1) in the file, the other way round in Clarabel
            cones.append(clarabel.ExponentialConeT())
            rows.reverse()
        elif kind.startswith("@"):
            first, second = file.powers[int(kind[1:].removesuffix(":POW"))]
            cones.append(clarabel.PowerConeT(first / (first + second)))
        else:
            cones.append(kinds[kind](size))
        order += rows
    n = len(file.c)
    zero_hessian = scipy.sparse.csc_matrix((n, n))
    A = scipy.sparse.csc_matrix(-file.sparse[order])
    solution = clarabel.DefaultSolver(
        zero_hessian, file.c, A, file.b[order], cones, _settings(clarabel, accuracy)
    ).solve()
    y = np.empty(len(order))
    y[order] = solution.z
    # In the Lagrangian <c, x> - <y, g>, y is the increase of the minimum with a unit on the right of a row.
    return np.array(solution.x), y, solution.obj_val + file.constant, str(solution.status)


def _settings(clarabel: Any, accuracy: float) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    return settings


def solve_read(highs: Any, accuracy: float = 1e-10) -> tuple[np.ndarray, np.ndarray, float, str]:
    """Solve by Clarabel a quadratic model that HiGHS has read; return variables, multipliers, optimum and status.

    Equations are the first rows of the file and of the result.
    """
    clarabel: Any = import_module("clarabel")
    model = highs.getModel()
    lp, matrix, hessian = model.lp_, model.lp_.a_matrix_, model.hessian_
    n, k = lp.num_col_, lp.num_row_
    A = scipy.sparse.csc_array((matrix.value_, matrix.index_, matrix.start_), shape=(k, n))
    P = scipy.sparse.csc_array((hessian.value_, hessian.index_, hessian.start_), shape=(n, n))
    lower, upper = np.array(lp.row_lower_), np.array(lp.row_upper_)
    equal = int(np.sum(lower == upper))
    assert np.all(lower[:equal] == upper[:equal]) and np.all(np.isinf(lower[equal:]))
    ends = [(sign, sign * np.array(end)) for sign, end in ((1.0, lp.col_upper_), (-1.0, lp.col_lower_))]
    finite = [(sign, np.flatnonzero(np.isfinite(end)), end) for sign, end in ends]
    unit: Any = scipy.sparse.csr_array(scipy.sparse.eye_array(n))
    rows = scipy.sparse.vstack([A, *(sign * unit[indices] for sign, indices, _ in finite)])
    b = np.concatenate([upper, *(end[indices] for _, indices, end in finite)])
    cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(b) - equal)]
    # HiGHS has the lower triangle, Clarabel takes the upper one.
    numbers = scipy.sparse.csc_matrix(P.T), np.array(lp.col_cost_), scipy.sparse.csc_matrix(rows), b
    solution = clarabel.DefaultSolver(*numbers, cones, _settings(clarabel, accuracy)).solve()
    return np.array(solution.x), -np.array(solution.z)[:k], solution.obj_val + lp.offset_, str(solution.status)


def opened(path: Path) -> Any:
    """A model in HiGHS, read from its file."""
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    return highs


def solve_mps(path: Path, tolerance: float = 1e-9) -> Any:
    """Solve by HiGHS, from the file alone."""
    highs = opened(path)
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        highs.setOptionValue(option, tolerance)
    highs.run()
    return highs


def by_name(highs: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Values of the columns and multipliers of the rows, by their names in the file."""
    lp, solution = highs.getLp(), highs.getSolution()
    columns = dict(zip(lp.col_names_, solution.col_value, strict=True))
    return columns, dict(zip(lp.row_names_, solution.row_dual, strict=True))


def weights(values: dict[str, float], letter: str, count: int) -> np.ndarray:
    """The weights d_1, ..., d_N or w_1, ..., w_t among values by name."""
    return np.array([values[f"{letter}_{i}"] for i in range(1, count + 1)])
