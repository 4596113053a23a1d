"""The exact optimum of a linear program of boostopt: the value, d and w as fractions.

The program is stated as a linear program whose numbers are floats. A product such as C c_n or a quotient such as
c_n / nu is no float. So it is a row with a slack s_n between 0 and c_n, for example nu d_n - s_n = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.exact_optimum import ExactOptimum, ExactStatus, exact_optimum
from boostopt.errors import OptionError
from boostopt.functions.regularizer_statements import Statement, defines_own_kind, statement_of

if TYPE_CHECKING:
    from boostopt.programs.program import Program

REGULARIZER_KINDS = ("cap", "hinge", "shortfall")
"""The kinds of F that are linear on a box."""

EDGE_KINDS = ("maximum", "absolute", "bounded")
"""The kinds of G that are linear in a largest edge, or bound the edges."""


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """The exact optimum of a program, with example and hypothesis weights that attain it.

    Neither d nor w need be unique: they are those of one optimal basis.

    Attributes
    ----------
    program
        The program.
    optimum
        The exact optimum of the linear program that states it, with its proof.
    value
        The optimal value; None if no example weights are feasible.
    d, w
        Example weights, shape (N,), and hypothesis weights, shape (t,); None if no example weights are feasible.
    """

    program: Program
    optimum: ExactOptimum
    value: Fraction | None = None
    d: tuple[Fraction, ...] | None = None
    w: tuple[Fraction, ...] | None = None

    @property
    def status(self) -> ExactStatus:
        """The proved status: "optimal" or "infeasible"."""
        return self.optimum.status

    def is_proved(self) -> bool:
        """Return whether both programs prove the value: F(d) + G(Uᵀd) and -F*(-Uw) - G*(w) are equal to it.

        The functions are evaluated in fractions, by the checker of certificate files. That no example weights are
        feasible is proved by the multipliers of the linear program that states this program.
        """
        from boostopt.verification.exact_proofs.exact_bounds import bounds_in_fractions

        if self.value != self.optimum.value:
            return False
        if not replace(self.optimum, program=linear_program_of(self.program)).is_proved():
            return False
        if self.status == "infeasible":
            return True
        if self.value is None or self.d is None or self.w is None:
            return False
        return bounds_in_fractions(self.program, self.d, self.w) == (self.value, self.value)

    def in_words(self) -> str:
        """Return the proved fact, in a sentence."""
        return self.optimum.in_words()

    def save(
        self,
        path: str | PathLike[str],
        origin: Mapping[str, Any] | None = None,
        data: str | PathLike[str] | None = None,
    ) -> None:
        """Save the linear program with its exact optimum: see `ExactOptimum.save`.

        Raises
        ------
        ProblemError
            The file would be too large, or `data` is a file with other content or lies in another folder.
        DataError
            The file cannot be written.
        """
        self.optimum.save(path, origin, data)


def solve_exactly(program: Program) -> ExactSolution:
    """Return the exact optimum of a linear program; see `Program.solve_exactly`."""
    _, G = _statements(program)
    t = program.margins.t
    optimum = exact_optimum(linear_program_of(program))
    if optimum.x is None or optimum.y is None:
        return ExactSolution(program, optimum)
    signs = (1, -1) if G["kind"] == "absolute" else (1,)
    parts = [[-sign * value for value in optimum.y[k * t : (k + 1) * t]] for k, sign in enumerate(signs)]
    w = tuple(sum(values, Fraction(0)) for values in zip(*parts, strict=True))
    return ExactSolution(program, optimum, optimum.value, optimum.x[: program.margins.N], w)


def linear_program_of(program: Program) -> ConicProgram:
    """Return the primal as a linear program over d, the largest edge gamma if there is one, and slacks.

    The first rows are Uᵀd <= gamma, or -Uᵀd <= gamma after them for the largest absolute edge; then sum d = 1 where F
    demands it; then the rows of the box.

    Raises
    ------
    OptionError
        F or G is not linear.
    """
    F, G = _statements(program)
    N, t = program.margins.shape
    U: Any = scipy.sparse.csr_array(program.margins.to_cvxpy_constant())
    box = _box(program, F)
    has_gamma, on_simplex = G["kind"] != "bounded", F.numbers["kind"] == "cap"
    n_gammas, n_slacks, n_equations = int(has_gamma), len(box.costs) - N, int(on_simplex)
    signs = (1.0, -1.0) if G["kind"] == "absolute" else (1.0,)
    n_edges = len(signs) * t
    blocks = [[sign * U.T, -np.ones((t, n_gammas)), np.zeros((t, n_slacks))] for sign in signs]
    blocks.append([np.ones((n_equations, N)), np.zeros((n_equations, n_gammas + n_slacks))])
    blocks.append([box.A[:, :N], np.zeros((box.A.shape[0], n_gammas)), box.A[:, N:]])
    rows = [scipy.sparse.hstack([scipy.sparse.csr_array(block) for block in row]) for row in blocks]
    sides = np.concatenate([np.full(n_edges, 0.0 if has_gamma else G["gamma"]), np.ones(n_equations), box.zeros])
    return ConicProgram(
        A=scipy.sparse.vstack(rows),
        c=np.insert(box.costs, [N] * n_gammas, 1.0),
        row_lower=np.concatenate([np.full(n_edges, -np.inf), sides[n_edges:]]),
        row_upper=sides,
        lower=np.insert(box.lower, [N] * n_gammas, -np.inf),
        upper=np.insert(box.upper, [N] * n_gammas, np.inf),
        name=program.formulation.name,
        column_names=[*_numbered("d", N), *["gamma"] * n_gammas, *_numbered("s", n_slacks)],
        row_names=[*_numbered("edge", n_edges), *["sum of d"] * n_equations, *_numbered("box", len(box.zeros))],
    )


@dataclass(frozen=True, eq=False)
class _Box:
    """The box of F over d and slacks: A (d, slacks) = 0 with bounds, and the costs of F.

    Attributes
    ----------
    A
        Compressed sparse rows, shape (rows, N + slacks).
    costs, lower, upper
        Shape (N + slacks,).
    """

    A: Any
    costs: Array
    lower: Array
    upper: Array

    @classmethod
    def with_slacks(cls, factors: Any, costs: Array, lower: Array, upper: Array) -> _Box:
        """Return the box of d = factors times the slacks, for free d: shapes (N, slacks), (N + slacks,), (slacks,)."""
        N = factors.shape[0]
        A = scipy.sparse.hstack([scipy.sparse.eye(N), -factors], format="csr")
        return cls(A, costs, np.append(np.full(N, -np.inf), lower), np.append(np.full(N, np.inf), upper))

    @property
    def zeros(self) -> Array:
        """Right sides of the rows, shape (rows,)."""
        return np.zeros(self.A.shape[0])


def _box(program: Program, F: Statement) -> _Box:
    """Return the box of F."""
    c, N = program.examples.c, program.examples.N
    zeros, unit = np.zeros(N), scipy.sparse.eye(N)
    if F.numbers["kind"] == "hinge":  # d = C s, 0 <= s <= c
        return _Box.with_slacks(F.numbers["C"] * unit, np.append(-np.ones(N), zeros), zeros, c)
    if F.numbers["kind"] == "shortfall":  # d = s + C k, 0 <= s <= c, k = c
        factors = scipy.sparse.hstack([unit, F.numbers["C"] * unit])
        costs = np.concatenate([zeros, np.full(N, -F.numbers["theta"]), zeros])
        return _Box.with_slacks(factors, costs, np.append(zeros, c), np.append(c, c))
    caps, nu = _caps(F, c)
    if fsum([*caps.tolist(), -nu]) < 0:  # such a nu means the sum of the caps: d = tau c
        factors, infinite = scipy.sparse.csr_array(caps[:, None]), np.array([np.inf])
        return _Box.with_slacks(factors, np.zeros(N + 1), -infinite, infinite)
    if nu == 1.0:
        return _Box(scipy.sparse.csr_array((0, N)), zeros, zeros, caps)
    A = scipy.sparse.hstack([nu * unit, -unit], format="csr")  # nu d = s, 0 <= s <= c
    free = np.full(N, np.inf)
    return _Box(A, np.zeros(2 * N), np.append(-free, zeros), np.append(free, caps))


def _numbered(name: str, count: int) -> list[str]:
    """Return names with numbers from 0."""
    return [f"{name} {k}" for k in range(count)]


def _caps(F: Statement, c: Array) -> tuple[Array, float]:
    """Return the numerators and the denominator of the caps of d."""
    if F.numbers["caps"] == "given":
        return F.arrays["caps"], 1.0
    return (c if F.numbers["caps"] == "c / nu" else np.ones(len(c))), float(F.numbers["nu"])


def _statements(program: Program) -> tuple[Statement, Mapping[str, Any]]:
    """Return F and G by kind and numbers.

    Raises
    ------
    OptionError
        F or G is not linear.
    """
    F, G, examples = program.regularizer, program.edge_function, program.examples
    statement = statement_of(F, examples.c, examples.d0)
    edges = G.statement() if defines_own_kind(G) else None
    is_linear = statement is not None and statement.numbers["kind"] in REGULARIZER_KINDS
    if statement is None or not is_linear or edges is None or edges["kind"] not in EDGE_KINDS:
        raise OptionError(
            f"an exact optimum needs a linear program, such as lpboost; got {program.formulation.name} with F = "
            f"{type(F).__name__} and G = {type(G).__name__}. Call solve() for a certified interval."
        )
    return statement, edges
