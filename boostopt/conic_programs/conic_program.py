"""Convex programs in sparse numeric data: linear and quadratic programs with rows in cones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.immutable_arrays import as_immutable, immutable_copy
from boostopt.errors import ProblemError

Numbers = Literal["binary", "decimal"]
"""The rational number that a float states: its binary digits, or its shortest decimal ones."""

ConeKind = Literal["second_order", "exponential", "power", "semidefinite"]
"""The cones of rows that are not linear."""


@dataclass(frozen=True, eq=False)
class ConeConstraint:
    """A x + b lies in a cone.

    Attributes
    ----------
    kind
        "second_order": z_0 >= sqrt(z_1^2 + z_2^2 + ...). "exponential": z_1 exp(z_0 / z_1) <= z_2, z_1 > 0, and the
        closure, of three rows. "power": z_0^a z_1^(1 - a) >= abs(z_2), z_0, z_1 >= 0, of three rows. "semidefinite":
        the rows are the entries of a symmetric matrix with k rows, column by column, k^2 in all.
    A
        Sparse, shape (rows, n).
    b
        Shape (rows,).
    exponent
        The number a of a power cone, in (0, 1).
    name
        Name of the constraint; empty where the file has none.
    """

    kind: ConeKind
    A: Any
    b: Float[Array, " rows"]
    exponent: float = 0.5
    name: str = ""


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """min <c, x> + <x, P x> / 2 + offset over row_lower <= A x <= row_upper, lower <= x <= upper and rows in cones.

    All arrays are immutable.

    Attributes
    ----------
    A
        Compressed sparse columns, shape (m, n).
    c, lower, upper
        Shape (n,); bounds may be infinite.
    row_lower, row_upper
        Shape (m,); equal for an equation, infinite where there is no bound.
    P
        Symmetric, compressed sparse columns of shape (n, n); None for a linear objective.
    cones
        Constraints that are not linear.
    offset
        Constant of the objective.
    is_maximized
        Whether the file maximizes the negative of this objective.
    numbers
        "binary": a number means the rational number that its float is. "decimal": the shortest decimal that its float
        is nearest to, which restores what a file states by at most 15 digits.
    name
        Name of the program.
    column_names, row_names
        Names of variables and rows, n and m of them; empty where the file has none.

    Raises
    ------
    ProblemError
        Shapes do not agree, a number is nan, a cost or an entry is infinite, or P is not symmetric.
    """

    A: Any
    c: Float[Array, " n"]
    row_lower: Float[Array, " m"]
    row_upper: Float[Array, " m"]
    lower: Float[Array, " n"]
    upper: Float[Array, " n"]
    P: Any = None
    cones: tuple[ConeConstraint, ...] = ()
    offset: float = 0.0
    is_maximized: bool = False
    numbers: Numbers = "binary"
    name: str = ""
    column_names: Sequence[str] = ()
    row_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        A = _canonical_columns(self.A)
        m, n = A.shape
        object.__setattr__(self, "A", immutable_copy(A))
        for attribute, size in (("c", n), ("lower", n), ("upper", n), ("row_lower", m), ("row_upper", m)):
            array = np.asarray(getattr(self, attribute), dtype=np.float64)
            if array.shape != (size,) or np.isnan(array).any():
                raise ProblemError(
                    f"{attribute} must be {size} numbers for A of shape {A.shape}; got {_describe_array(array)}. "
                    "Pass one number for each."
                )
            object.__setattr__(self, attribute, as_immutable(array))
        if (self.lower == np.inf).any() or (self.upper == -np.inf).any():
            raise ProblemError(
                "lower must be below infinity and upper above minus infinity; got an infinite bound of the wrong sign. "
                "Pass -inf as lower and inf as upper for a variable without bounds."
            )
        if (self.row_lower == np.inf).any() or (self.row_upper == -np.inf).any():
            raise ProblemError(
                "row_lower must be below infinity and row_upper above minus infinity; got an infinite bound of the "
                "wrong sign. Pass -inf as row_lower and inf as row_upper for a row without bounds."
            )
        if not (np.isfinite(self.c).all() and np.isfinite(A.data).all() and np.isfinite(self.offset)):
            raise ProblemError(
                "costs, entries of A and the offset must be finite; got an infinite one or nan. Correct the number."
            )
        if self.P is not None:
            self._check_quadratic(n)

    def _check_quadratic(self, n: int) -> None:
        P = _canonical_columns(self.P)
        if P.shape != (n, n) or not np.isfinite(P.data).all() or (P - P.T).nnz:
            raise ProblemError(
                f"P must be a symmetric matrix of {n} rows with finite entries; got shape {P.shape}, or entries that "
                "differ from the transposed ones or are not finite. Pass both triangles."
            )
        object.__setattr__(self, "P", immutable_copy(P) if P.nnz else None)

    def to_fraction(self, value: float) -> Fraction:
        """Return the rational number that a finite number of the program means."""
        return Fraction(value) if self.numbers == "binary" else Fraction(repr(value))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of linear rows, and of variables."""
        m, n = self.A.shape
        return m, n

    @property
    def is_linear(self) -> bool:
        """Whether the program is a linear program."""
        return self.P is None and not self.cones

    def to_cvxpy(self) -> Any:
        """Return the program as a CVXPY problem of one variable x, with bounds and rows as constraints.

        The file's names of variables and rows are not stated: CVXPY names whole variables and constraints.
        """
        x = cp.Variable(self.shape[1], name="x")
        objective = self.c @ x + self.offset
        if self.P is not None:
            objective = objective + cp.quad_form(x, cp.psd_wrap(self.P)) / 2
        constraints = [*self._linear_constraints(x), *_cone_constraints(self.cones, x)]
        return cp.Problem(cp.Maximize(-objective) if self.is_maximized else cp.Minimize(objective), constraints)

    def _linear_constraints(self, x: Any) -> list[Any]:
        is_equation = self.row_lower == self.row_upper
        rows: Any = self.A.tocsr()
        is_bounded_above = np.isfinite(self.row_upper) & ~is_equation
        is_bounded_below = np.isfinite(self.row_lower) & ~is_equation
        has_lower, has_upper = np.isfinite(self.lower), np.isfinite(self.upper)
        constraints = list[Any]()
        if is_equation.any():
            constraints.append(rows[is_equation] @ x == self.row_lower[is_equation])
        if is_bounded_above.any():
            constraints.append(rows[is_bounded_above] @ x <= self.row_upper[is_bounded_above])
        if is_bounded_below.any():
            constraints.append(rows[is_bounded_below] @ x >= self.row_lower[is_bounded_below])
        if has_lower.any():
            constraints.append(x[np.flatnonzero(has_lower)] >= self.lower[has_lower])
        if has_upper.any():
            constraints.append(x[np.flatnonzero(has_upper)] <= self.upper[has_upper])
        return constraints


def _cone_constraints(cones: Sequence[ConeConstraint], x: Any) -> Iterator[Any]:
    """Yield the constraints of CVXPY; cones of one kind and size are one constraint."""
    groups = dict[tuple[ConeKind, int, float], list[ConeConstraint]]()
    for cone in cones:
        exponent = cone.exponent if cone.kind == "power" else 0.0
        groups.setdefault((cone.kind, len(cone.b), exponent), []).append(cone)
    for (kind, size, exponent), members in groups.items():
        if kind == "semidefinite":
            order = round(np.sqrt(size))
            yield from (cp.reshape(cone.A @ x + cone.b, (order, order), order="F") >> 0 for cone in members)
            continue
        A: Any = scipy.sparse.vstack([cone.A for cone in members], format="csr")
        b = np.concatenate([cone.b for cone in members])
        parts = [A[k::size] @ x + b[k::size] for k in range(size)]  # entry k of each cone
        if kind == "second_order":
            yield cp.SOC(parts[0], cp.vstack(parts[1:]), axis=0) if size > 1 else parts[0] >= 0
        elif kind == "exponential":
            yield cp.ExpCone(parts[0], parts[1], parts[2])
        else:
            yield cp.PowCone3D(parts[0], parts[1], parts[2], exponent)


def _canonical_columns(matrix: Any) -> Any:
    """Return sparse columns without duplicates and zeros, in memory of their own."""
    columns: Any = scipy.sparse.coo_array(matrix).astype(np.float64).tocsc()
    columns.sum_duplicates()
    columns.eliminate_zeros()
    return columns


def _describe_array(array: Array) -> str:
    return f"shape {array.shape}" + (" with nan" if np.isnan(array).any() else "")
