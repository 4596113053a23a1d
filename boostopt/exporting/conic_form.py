"""A side of a program as a numeric conic program, with the positions of d, w and of the constraint between them.

CVXPY compiles F over d and G over e (or their conjugates over m and w) separately. The rows that link the two are
written from U itself:

    primal   min over d, e   F(d) + G(e)         subject to   e - Uᵀd = 0 : w
    dual     min over w, m   F*(-m) + G*(w)      subject to   Uw - m = 0 : d

The multiplier is the change of the minimum for a unit on the right-hand side. The signs of these rows make it equal to
the variable of the other side. The dual is a minimum here, the minimum of -D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import OptionError
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program


@dataclass(frozen=True)
class ConeDimensions:
    """The cones of the rows, in the order of the rows: K in b - Ax in K.

    Attributes
    ----------
    zero, nonnegative
        Rows that are equations, and rows that are inequalities.
    second_order
        Sizes of the cones x_0 >= sqrt(x_1^2 + x_2^2 + ...).
    exponential
        Number of the cones x_2 >= x_1 exp(x_0 / x_1), x_1 > 0, of three rows each.
    power
        Exponents a of the cones x_0^a x_1^(1 - a) >= abs(x_2), of three rows each.
    """

    zero: int
    nonnegative: int
    second_order: tuple[int, ...] = ()
    exponential: int = 0
    power: tuple[float, ...] = ()

    @property
    def is_linear(self) -> bool:
        """True if all rows are equations and inequalities."""
        return not (self.second_order or self.exponential or self.power)

    @property
    def row_counts(self) -> tuple[int, int, int, int, int]:
        """Rows of each kind."""
        return self.zero, self.nonnegative, sum(self.second_order), 3 * self.exponential, 3 * len(self.power)


@dataclass(frozen=True, eq=False)
class ConicData:
    """min over x of offset + <q, x> + (1/2) <x, P x> subject to b - A x in K.

    P and A are scipy's sparse columns.
    """

    P: Any
    q: Float[Array, " n"]
    offset: float
    A: Any
    b: Float[Array, " rows"]
    cones: ConeDimensions


@dataclass(frozen=True, eq=False)
class ConicSide(ConicData):
    """A side of a program.

    The first variables are d (or w), followed by e (or m). The first rows are the link. Their multipliers are the
    variables of the other side.

    Attributes
    ----------
    side
        The side of the program.
    n_own, n_linked
        Numbers of the first variables (d, or w) and of the next ones (e, or m); there are `n_linked` link rows.
    """

    side: Side
    n_own: int
    n_linked: int


@dataclass(frozen=True, eq=False)
class _CompiledFunction(ConicData):
    """F or G (or a conjugate) over its variable, which comes first, and further variables."""

    size: int

    @property
    def n_auxiliary(self) -> int:
        return len(self.q) - self.size


def conic_program(program: Program, side: Side, quadratic: bool) -> ConicSide:
    """Return one side of a program in numbers; without `quadratic`, second-order cones replace a quadratic objective.

    Raises
    ------
    OptionError
        The program needs cones of other kinds, or has no derived dual.
    """
    if side not in program.available_sides:
        raise OptionError(
            f"the derived dual needs the conjugates of F and G in closed form; {program.formulation.name} has none. "
            'Export the primal: side="primal".'
        )
    N, t = program.margins.shape
    F, G = program.regularizer, program.edge_function
    U: Any = scipy.sparse.csr_array(program.margins.to_cvxpy_constant())
    if side == "primal":
        first_part = _compile_function(program, N, F.cvxpy_value, 1.0, quadratic)
        linked_part = _compile_function(program, t, G.cvxpy_value, 1.0, quadratic)
        link = [-U.T, scipy.sparse.eye_array(t)]
    else:
        first_part = _compile_function(program, t, G.cvxpy_conjugate, 1.0, quadratic)
        linked_part = _compile_function(program, N, F.cvxpy_conjugate, -1.0, quadratic)
        link = [U, -scipy.sparse.eye_array(N)]
    return _join_parts(side, first_part, linked_part, link)


def _compile_function(program: Program, size: int, function: Any, sign: float, quadratic: bool) -> _CompiledFunction:
    """Return a function of sign * x, compiled by CVXPY as a minimum over x."""
    x = cp.Variable(size)
    expression, constraints = function(x if sign > 0 else -x)
    problem = cp.Problem(cp.Minimize(expression), constraints)
    data = problem.get_problem_data("CLARABEL", solver_opts={"use_quad_obj": quadratic})[0]
    dims, compiled, rows, squares = data["dims"], data["param_prob"], data["A"], data.get("P")
    cones = ConeDimensions(dims.zero, dims.nonneg, tuple(map(int, dims.soc)), dims.exp, tuple(map(float, dims.p3d)))
    if sum(cones.row_counts) != rows.shape[0]:
        cone_names = "semidefinite cones" if len(dims.psd) else "power cones of more dimensions"
        raise OptionError(
            "expected a program of linear, second-order, exponential and three-dimensional power cones; "
            f"{program.formulation.name} needs {cone_names} too. Export the instance (.npz), and state it elsewhere."
        )
    n = rows.shape[1]
    order = _order_first(compiled.var_id_to_col[x.id], size, n)
    A = scipy.sparse.csc_array(rows)[:, order]
    P = scipy.sparse.csc_array((n, n) if squares is None else squares)[order][:, order]
    q, offset = compiled.apply_parameters()[:2]
    return _CompiledFunction(P, np.asarray(q)[order], float(offset), A, np.asarray(data["b"]), cones, size)


def _order_first(start: int, size: int, n: int) -> Int[Array, " n"]:
    """Return the order of n variables that puts the `size` variables from `start` on first."""
    indices = np.arange(n)
    is_first = (indices >= start) & (indices < start + size)
    return np.concatenate([indices[is_first], indices[~is_first]])


def _join_parts(
    side: Side, first_part: _CompiledFunction, linked_part: _CompiledFunction, link: list[Any]
) -> ConicSide:
    """Join both parts and the link; variables: first part, linked part, auxiliary; rows: the link, then by kind."""
    order = np.concatenate(
        [
            np.arange(first_part.size),
            len(first_part.q) + np.arange(linked_part.size),
            first_part.size + np.arange(first_part.n_auxiliary),
            len(first_part.q) + linked_part.size + np.arange(linked_part.n_auxiliary),
        ]
    )
    A: Any = scipy.sparse.block_diag([first_part.A, linked_part.A], format="csr")
    P: Any = scipy.sparse.block_diag([first_part.P, linked_part.P], format="csc")
    # The rows of each part are sorted by kind; the rows of both together are sorted again.
    kinds = np.concatenate([np.repeat(np.arange(5), part.cones.row_counts) for part in (first_part, linked_part)])
    rows = np.argsort(kinds, kind="stable")
    padding: Any = scipy.sparse.csr_array((linked_part.size, first_part.n_auxiliary + linked_part.n_auxiliary))
    all_rows: Any = scipy.sparse.vstack([scipy.sparse.hstack([*link, padding]), A[rows][:, order]], format="csc")
    all_rows.sum_duplicates()
    all_rows.eliminate_zeros()
    first_cones, linked_cones = first_part.cones, linked_part.cones
    return ConicSide(
        side=side,
        n_own=first_part.size,
        n_linked=linked_part.size,
        P=P[order][:, order],
        q=np.concatenate([first_part.q, linked_part.q])[order],
        offset=first_part.offset + linked_part.offset,
        A=all_rows,
        b=np.concatenate([np.zeros(linked_part.size), np.concatenate([first_part.b, linked_part.b])[rows]]),
        cones=ConeDimensions(
            linked_part.size + first_cones.zero + linked_cones.zero,
            first_cones.nonnegative + linked_cones.nonnegative,
            first_cones.second_order + linked_cones.second_order,
            first_cones.exponential + linked_cones.exponential,
            first_cones.power + linked_cones.power,
        ),
    )
