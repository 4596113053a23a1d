"""Convex programs in sparse numeric data: linear and quadratic programs with rows in cones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.formatting import format_count
from boostopt._utils.immutable_arrays import as_immutable, immutable_copy
from boostopt._utils.validation import check_flag
from boostopt.errors import ProblemError, reason_of, short_repr

Numbers = Literal["binary", "decimal"]
"""The rational number that a float states: its binary digits, or its shortest decimal ones."""

ConeKind = Literal["second_order", "exponential", "power", "semidefinite"]
"""The cones of rows that are not linear."""


class _Record:
    """A record that pickling and copying build anew, so that its arrays are checked and immutable again."""

    def __reduce__(self) -> tuple[Any, ...]:
        record: Any = self
        return type(self), tuple(getattr(self, entry.name) for entry in fields(record))


@dataclass(frozen=True, eq=False)
class ConeConstraint(_Record):
    """A x + b lies in a cone. The arrays are immutable.

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

    Raises
    ------
    ProblemError
        The kind is unknown, the number of rows is none of its kind, the shapes do not agree, a number is not finite,
        the exponent is not in (0, 1), rows of a semidefinite matrix are not symmetric, or the name is no text.
    """

    kind: ConeKind
    A: Any
    b: Float[Array, " rows"]
    exponent: float = 0.5
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(ConeKind):
            raise ProblemError(
                f"kind must be one of {', '.join(get_args(ConeKind))}; got {self.kind!r}. Pass one of these."
            )
        rows = _canonical(self.A, "csr")
        b = _real("b", self.b)
        order = math.isqrt(b.size)
        has_size = {"second_order": b.size >= 1, "semidefinite": b.size == order**2 >= 1}.get(self.kind, b.size == 3)
        if b.shape != rows.shape[:1] or not has_size:
            raise ProblemError(
                f"A and b of a constraint {self.kind!r} must have the same number of rows (3 for exponential and power "
                f"cones, a square for semidefinite ones); got shapes {rows.shape} and {b.shape}. Correct the rows."
            )
        if not (np.isfinite(rows.data).all() and np.isfinite(b).all() and 0.0 < self.exponent < 1.0):
            raise ProblemError(
                f"A and b must be finite and the exponent in (0, 1); got the exponent {self.exponent}, or an entry "
                "that is infinite or nan. Correct the number."
            )
        if self.kind == "semidefinite":
            transposed = np.arange(b.size).reshape(order, order).T.ravel()
            if (rows[transposed] - rows).nnz or (b[transposed] != b).any():
                raise ProblemError(
                    "rows of a semidefinite constraint must be a symmetric matrix for each x; got others. Pass both "
                    "triangles."
                )
        object.__setattr__(self, "A", immutable_copy(rows))
        object.__setattr__(self, "b", as_immutable(b))
        object.__setattr__(self, "exponent", float(self.exponent))
        object.__setattr__(self, "name", _text("name", self.name))

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"ConeConstraint({name}{self.kind}, {format_count(len(self.b), 'row')})"


@dataclass(frozen=True, eq=False)
class ConicProgram(_Record):
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
        Shapes or numbers of names do not agree, a number is nan, a cost or an entry is infinite, P is not symmetric,
        a name is no text, `is_maximized` is no flag, or `numbers` is unknown.
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
        A = _canonical(self.A, "csc")
        m, n = A.shape
        object.__setattr__(self, "A", immutable_copy(A))
        for attribute, size in (("c", n), ("lower", n), ("upper", n), ("row_lower", m), ("row_upper", m)):
            array = _real(attribute, getattr(self, attribute))
            if array.shape != (size,) or np.isnan(array).any():
                raise ProblemError(
                    f"{attribute} must be {format_count(size, 'number')} for A of shape {A.shape}; got "
                    f"{_describe_array(array)}. "
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
        if self.numbers not in get_args(Numbers):
            raise ProblemError(f"numbers must be 'binary' or 'decimal'; got {self.numbers!r}. Pass one of the two.")
        object.__setattr__(self, "offset", float(self.offset))
        if self.P is not None:
            self._check_quadratic(n)
        self._check_cones(n)
        for attribute, size in (("column_names", n), ("row_names", m)):
            names = tuple(getattr(self, attribute))
            if len(names) not in (0, size):
                raise ProblemError(
                    f"{attribute} must be {format_count(size, 'name')} or none; got {len(names)}. Pass one for each."
                )
            object.__setattr__(self, attribute, tuple(_text(attribute, name) for name in names))
        object.__setattr__(self, "name", _text("name", self.name))
        object.__setattr__(self, "is_maximized", check_flag("is_maximized", self.is_maximized, error=ProblemError))

    def __repr__(self) -> str:
        m, n = self.shape
        contents = [
            "maximize" if self.is_maximized else "minimize",
            format_count(m, "linear row"),
            format_count(n, "variable"),
            format_count(self.A.nnz, "non-zero"),
        ]
        if self.P is not None:
            contents.append(f"a quadratic objective with {format_count(self.P.nnz, 'non-zero')}")
        if self.cones:
            contents.append(format_count(len(self.cones), "cone"))
        return f"ConicProgram({', '.join([repr(self.name)] * bool(self.name) + contents)})"

    def _check_cones(self, n: int) -> None:
        cones: tuple[Any, ...] = tuple(self.cones)
        object.__setattr__(self, "cones", cones)
        for k, cone in enumerate(cones):
            if not isinstance(cone, ConeConstraint) or cone.A.shape[1] != n:
                shape = f"A of shape {cone.A.shape}" if isinstance(cone, ConeConstraint) else repr(cone)
                raise ProblemError(
                    f"cones must be ConeConstraints of {n} variables; got {shape} as number {k}. Pass a column for "
                    "each variable."
                )

    def _check_quadratic(self, n: int) -> None:
        P = _canonical(self.P, "csc")
        if P.shape != (n, n) or not np.isfinite(P.data).all() or (P - P.T).nnz:
            raise ProblemError(
                f"P must be a symmetric matrix of {n} rows with finite entries; got shape {P.shape}, or entries that "
                "differ from the transposed ones or are not finite. Pass both triangles."
            )
        object.__setattr__(self, "P", immutable_copy(P) if P.nnz else None)

    def to_fraction(self, value: float) -> Fraction:
        """Return the rational number that a finite number of the program means."""
        return Fraction(float(value)) if self.numbers == "binary" else Fraction(repr(float(value)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of linear rows, and of variables."""
        m, n = self.A.shape
        return m, n

    @property
    def is_linear(self) -> bool:
        """True if the program is a linear program."""
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


def _canonical(matrix: Any, layout: Literal["csc", "csr"]) -> Any:
    """Return a sparse matrix without duplicates and zeros, in memory of its own."""
    try:
        entries: Any = scipy.sparse.coo_array(matrix)
    except (TypeError, ValueError) as failure:
        raise ProblemError(
            f"A and P must be matrices; got one that SciPy refuses: {reason_of(failure)}. Pass a sparse matrix."
        ) from failure
    _real("entries of a matrix", entries.data[:0])
    compressed: Any = entries.astype(np.float64).asformat(layout)
    compressed.sum_duplicates()
    compressed.eliminate_zeros()
    return compressed


def _text(name: str, value: Any) -> str:
    """Return a text; raise ProblemError for other values."""
    if not isinstance(value, str):
        raise ProblemError(f"{name} must be text; got {short_repr(value)}. Pass a string, or leave it out.")
    return str(value)


def _real(name: str, values: Any) -> Array:
    """Return floats; raise ProblemError for texts, objects and complex numbers."""
    array: Array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ProblemError(f"{name} must be real numbers; got the type {array.dtype}. Pass an array of floats.")
    return array.astype(np.float64)


def _describe_array(array: Array) -> str:
    return f"shape {array.shape}" + (" with nan" if np.isnan(array).any() else "")
