"""The choice of multipliers and of slopes at kinks by a convex program, whose solution need not be trusted.

At a kink, an atom has many minorants. With the tangents of the other atoms fixed, the bound is a concave function of
the multipliers and of the slopes at kinks times their multipliers: the dual of a conic form without its auxiliary
variables. Where many kinks depend on each other, its maximizer is a better choice than `stationary_multipliers` finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp, solve_quietly
from boostopt.problem_certificates.arithmetic.balls import midpoints
from boostopt.problem_certificates.atoms.base import UNBOUNDED, Tangents
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice
from boostopt.problem_certificates.problem_reader import AtomNode, ReadProblem

MAX_SLOPES = 200_000
"""Maximum number of slopes that are chosen: a program with more takes too long."""

MIN_MULTIPLIER = 1e-12
"""Multiplier of a group, relative to the largest one, from which its slopes follow from the program."""

MIN_DENSITY = 0.1
"""Fraction of non-zero coefficients of arguments from which they may be cumulative sums."""

MAX_SPARSITY = 0.1
"""Fraction of these that differ from those of the argument before, up to which they are cumulative sums."""

SOLVER_TOL = 1e-11
"""Tolerances of the solver. Errors of slopes are errors of the bound."""


@dataclass(frozen=True)
class SlopeProducts:
    """Slopes times the sizes of the multipliers of an atom with kinks, as variables of the program.

    Attributes
    ----------
    products
        The variable, shape (m, k).
    sizes
        The absolute values of the multipliers as a CVXPY expression, shape (m,).
    """

    products: Any
    sizes: Any

    def changed(self, tangents: Tangents) -> Tangents:
        """Return tangents with the slopes of the solution, where a group has a multiplier."""
        sizes = np.maximum(np.asarray(self.sizes.value, dtype=float).reshape(-1, 1), 0.0)
        has_multiplier = sizes > MIN_MULTIPLIER * max(float(sizes.max(initial=0.0)), 1e-300)
        slopes = self.products.value / np.where(has_multiplier, sizes, 1.0)
        return tangents.with_parameters(np.where(has_multiplier, tangents.oriented(slopes), tangents.parameters))


class AffineFunctions:
    """Affine functions of CVXPY variables, by their coefficients.

    A function of values of atoms is a function of multipliers through many others. CVXPY would read the expressions of
    all these again for each use, and so twice as many for each further atom.

    Parameters
    ----------
    constant
        The constant of each function.
    parts
        Variables with their coefficients, one row for each function.
    """

    def __init__(self, constant: Float[Array, " n"], parts: Mapping[Any, Any] | None = None) -> None:
        self._constant = constant
        self._parts = dict(parts or {})

    @classmethod
    def of_variable(cls, matrix: Any, variable: Any) -> AffineFunctions:
        """Return a matrix times a variable."""
        return cls(np.zeros(matrix.shape[0]), {variable: scipy.sparse.csr_array(matrix)})

    def __getitem__(self, rows: slice) -> AffineFunctions:
        return AffineFunctions(self._constant[rows], {x: matrix[rows] for x, matrix in self._parts.items()})

    def __add__(self, addend: AffineFunctions) -> AffineFunctions:
        parts = {**self._parts}
        for x, matrix in addend._parts.items():
            parts[x] = parts[x] + matrix if x in parts else matrix
        return AffineFunctions(self._constant + addend._constant, parts)

    def transformed(self, matrix: Any) -> AffineFunctions:
        """Return a sparse matrix times the functions."""
        return AffineFunctions(
            matrix @ self._constant, {x: scipy.sparse.csr_array(matrix @ part) for x, part in self._parts.items()}
        )

    def expression(self) -> Any:
        """Return the functions as one CVXPY expression."""
        terms = [matrix @ x for x, matrix in self._parts.items() if matrix.nnz]
        return sum(terms, cp.Constant(self._constant))


def program_choice(problem: ReadProblem, choice: Choice, bounds: Propagation) -> Choice | None:
    """Return the choice with the largest bound among those with the tangents of a choice at atoms without kinks.

    Parameters
    ----------
    problem
        The problem.
    choice
        The tangents of the atoms without kinks, and the semidefinite multipliers, which stay as they are.
    bounds
        The box of the bound.

    Returns
    -------
    None if no atom has slopes to choose, if there are too many, or if the solver fails.
    """
    count = sum(node.members.size for node in problem.nodes if node.function.has_kinks)
    if not 0 < count <= MAX_SLOPES:
        return None
    program = _MultiplierProgram(problem, choice, bounds)
    return program.solution() if program.slope_products else None


class _MultiplierProgram:
    """The program over multipliers and slopes at kinks.

    Attributes
    ----------
    slope_products
        The variables for slopes, by the position of the atom.
    """

    slope_products: dict[int, SlopeProducts]

    def __init__(self, problem: ReadProblem, choice: Choice, bounds: Propagation) -> None:
        self._problem, self._choice, self._bounds = problem, choice, bounds
        self.slope_products = {}
        self._constraints = list[Any]()
        self._inequality: Any = cp.Variable(len(choice.inequality), nonneg=True) if len(choice.inequality) else None
        self._equality: Any = cp.Variable(len(choice.equality)) if len(choice.equality) else None
        slopes, offset = self._pullback()
        objective = offset.expression()[0] + self._box_minimum(slopes.expression())
        self._program = cp.Problem(cp.Maximize(objective), self._constraints)

    def solution(self) -> Choice | None:
        """Return the choice of the solver; None if it fails."""
        options = {"tol_gap_abs": SOLVER_TOL, "tol_gap_rel": SOLVER_TOL, "tol_feas": SOLVER_TOL}
        if solve_quietly(self._program, "CLARABEL", ignore_dpp=True, **options) is not None:
            return None
        variables = self._program.variables()
        if any(variable.value is None or not np.isfinite(variable.value).all() for variable in variables):
            return None
        tangents = list(self._choice.tangents)
        for index, item in self.slope_products.items():
            tangents[index] = item.changed(tangents[index])
        result = self._choice.with_tangents(tangents)
        # A variable whose rows are all 0 is not in the program, and its multipliers stay as they are.
        if self._inequality is not None and self._inequality.value is not None:
            result = replace(result, inequality=np.maximum(self._inequality.value, 0.0))
        if self._equality is not None and self._equality.value is not None:
            result = replace(result, equality=self._equality.value)
        return result

    def _pullback(self) -> tuple[AffineFunctions, AffineFunctions]:
        """Return the slopes of x and the offset of the minorant."""
        problem, choice = self._problem, self._choice
        constant = np.zeros(problem.n_values)
        if choice.linear is not None:
            constant[: problem.n] = choice.linear
        weight = choice.objective_weight
        constant += problem.objective.float_pullback(np.array([weight]))
        constant_offset = weight * (float(problem.objective.float_offsets[0]) - choice.level)
        for constraint, factor in zip(problem.matrices, choice.factors, strict=True):
            multipliers = -(factor @ factor.T).ravel()
            constant += constraint.rows.float_pullback(multipliers)
            constant_offset += float(constraint.rows.float_offsets @ multipliers)
        total, offset = AffineFunctions(constant), AffineFunctions(np.array([constant_offset]))
        for rows, multipliers in (
            (problem.inequalities.rows, self._inequality),
            (problem.equalities.rows, self._equality),
        ):
            if multipliers is not None:
                total += AffineFunctions.of_variable(rows.floats.T, multipliers)
                offset += AffineFunctions.of_variable(_row(rows.float_offsets), multipliers)
        for index in reversed(range(len(problem.nodes))):
            node = problem.nodes[index]
            mu = total[node.start : node.start + len(node.members)]
            sums, constants = self._argument_multipliers(index, node, mu)
            total += self._transposed_product(node.arguments.floats, sums)
            offset += constants
            offset += sums.transformed(_row(node.arguments.float_offsets))
        return total[: problem.n], offset

    def _argument_multipliers(
        self, index: int, node: AtomNode, mu: AffineFunctions
    ) -> tuple[AffineFunctions, AffineFunctions]:
        """Return the multipliers of the arguments of an atom, and the sum of multipliers times offsets."""
        (m, k), tangents = node.members.shape, self._choice.tangents[index]
        sizes: Any = node.function.sign * mu.expression()
        self._constraints.append(sizes >= 0)
        variable = cp.Variable(m * k)
        products = cp.reshape(variable, (m, k), order="C")
        constraints = node.function.slope_constraints(products, sizes, tangents.orientations)
        if not constraints:
            slopes = node.function.slopes(tangents)
            matrix = _indicators(slopes.ravel(), node.members, np.repeat(np.arange(m), k), len(node.arguments), m)
            return mu.transformed(matrix), mu.transformed(_row(self._offsets(node, tangents)))
        self._constraints += constraints
        self.slope_products[index] = SlopeProducts(products, sizes)
        signs = np.full(m * k, float(node.function.sign))
        matrix = _indicators(signs, node.members, np.arange(m * k), len(node.arguments), m * k)
        return AffineFunctions.of_variable(matrix, variable), AffineFunctions(np.zeros(1))

    def _transposed_product(self, matrix: Any, sums: AffineFunctions) -> AffineFunctions:
        """Return Aᵀ y, for cumulative sums by the few entries that a row of A adds to the one before it."""
        if matrix.nnz <= MIN_DENSITY * matrix.shape[0] * matrix.shape[1] or matrix.shape[0] == 1:
            return sums.transformed(matrix.T)
        shift = scipy.sparse.eye_array(matrix.shape[0], k=-1, format="csr")
        differences = scipy.sparse.csr_array(matrix - shift @ matrix)
        differences.eliminate_zeros()
        if differences.nnz > MAX_SPARSITY * matrix.nnz:
            return sums.transformed(matrix.T)
        later_sums = cp.Variable(matrix.shape[0])
        self._constraints.append(later_sums - shift.T @ later_sums == sums.expression())
        return AffineFunctions.of_variable(differences.T, later_sums)

    def _offsets(self, node: AtomNode, tangents: Tangents) -> Float[Array, " m"]:
        """Return the offsets of the minorants of an atom in floating point."""
        if node.function.is_homogeneous:
            return np.zeros(len(node.members))
        ranges: Any = [UNBOUNDED] * len(node.arguments)
        if node.function.needs_bounds:
            pairs = zip(node.arguments.rows, node.arguments.offsets, strict=True)
            ranges = [self._bounds.row_bounds(row, offset) for row, offset in pairs]
        groups = enumerate(node.members.tolist())
        offsets = midpoints(node.function.minorant(tangents, k, [ranges[i] for i in group])[1] for k, group in groups)
        return np.nan_to_num(offsets)

    def _box_minimum(self, slopes: Any) -> Any:
        """Return the minimum of <slopes, x> over the box as a concave expression, with constraints for open sides."""
        lower, upper = self._bounds.box
        is_below, is_above = np.isfinite(lower), np.isfinite(upper)
        ends = np.where(is_below, lower, 0.0), np.where(is_above, upper, 0.0)
        both = np.flatnonzero(is_below & is_above)
        result: Any = 0.0
        if len(both):
            centers, radii = (ends[0] + ends[1])[both] / 2, np.maximum(ends[1] - ends[0], 0.0)[both] / 2
            result = result + centers @ slopes[both] - radii @ cp.abs(slopes[both])
        for side, end, sign in ((is_below & ~is_above, ends[0], 1), (is_above & ~is_below, ends[1], -1)):
            if (entries := np.flatnonzero(side)).size:
                self._constraints.append(sign * slopes[entries] >= 0)
                result = result + end[entries] @ slopes[entries]
        if (entries := np.flatnonzero(~is_below & ~is_above)).size:
            self._constraints.append(slopes[entries] == 0)
        return result


def _row(values: Float[Array, " n"]) -> Any:
    """Return numbers as a sparse matrix of one row."""
    return scipy.sparse.csr_array(values.reshape(1, -1))


def _indicators(values: Array, members: Array, columns: Array, n_rows: int, n_columns: int) -> Any:
    """Return the matrix that sums values by the arguments that they belong to."""
    return scipy.sparse.csr_array((values, (members.ravel(), columns)), shape=(n_rows, n_columns))
