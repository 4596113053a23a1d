"""Equations that constraints of a file imply, although they are written as inequalities or matrices.

Let f >= 0 be 0 only where some linear functions of its arguments are 0. A sum of such atoms with positive factors, and
of an affine part that is not negative on feasible points, is at most 0 only where every term is 0. If E is positive
semidefinite and vᵀ E v <= 0, then E v = 0. If a sum of <V M Vᵀ, E>, for some matrices E and positive definite M, plus
multiples of equations is 0 at every point, then E V = 0 for each of them. So these rows are 0 at every feasible point,
and may have any multipliers: the Lagrangian of the constraints as they are written need not have a bound that is
attained, or even near.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction

from boostopt.verification.problem_kernel.atoms import (
    Atom,
    Divergence,
    EuclideanNorm,
    HuberLoss,
    LargestAbsoluteValue,
    Perspective,
    PNorm,
    Power,
    QuadraticForm,
    SquaresOverLast,
    SumOfAbsoluteValues,
    SumOfSquares,
)
from boostopt.verification.problem_kernel.matrix_atoms import MatrixFraction, NuclearNorm, SpectralNorm
from boostopt.verification.problem_kernel.problem_schema import ImpliedEquations, Problem, Rows
from boostopt.verification.problem_kernel.rationals_and_balls import ZERO, is_definite
from boostopt.verification.trusted_kernel.json_parsing import reject

Combination = Sequence[tuple[int, Fraction]]
"""Positions of arguments with coefficients."""

Row = Mapping[int, Fraction]
"""Coefficients by the position of the unknown."""

ONE = Fraction(1)

ATOMS_OF_SIZES = (
    SumOfAbsoluteValues,
    LargestAbsoluteValue,
    EuclideanNorm,
    PNorm,
    SumOfSquares,
    HuberLoss,
    SpectralNorm,
    NuclearNorm,
)
"""Atoms that are never negative, and 0 only where all arguments are."""


def implied_rows(problem: Problem, item: ImpliedEquations, earlier: Sequence[Rows] = ()) -> Rows:
    """Return affine functions that are 0 at every feasible point; Rejected if the constraint does not imply any.

    Parameters
    ----------
    problem
        The problem.
    item
        The constraint that implies them, and the constraint, if one is needed, by which a term is not negative.
    earlier
        Affine functions that are proved to be 0 at every feasible point; exposing matrices may use them as equations.
    """
    if item.constraint == "matrices":
        return _rows_of_faces(problem, item, earlier)
    if item.constraint == "matrix":
        return _rows_of_null_vector(problem, item)
    rows = problem.inequalities if item.constraint == "inequality" else problem.equalities
    row, offset = rows.rows[item.place], rows.offsets[item.place]
    if item.constraint == "equality" and all(value <= 0 for k, value in row.items() if k >= problem.n):
        row, offset = {k: -value for k, value in row.items()}, -offset
    atoms = {k: value for k, value in row.items() if k >= problem.n and value != 0}
    affine_part = {k: value for k, value in row.items() if k < problem.n and value != 0}
    if not atoms or any(value < 0 for value in atoms.values()):
        reject("a constraint that implies equations must have atoms, with positive factors")
    _require_nonnegative(problem, affine_part, offset, item)
    entries = [entry for k in atoms for entry in _zero_entries(problem, k)]
    entries += [(affine_part, offset)] if affine_part else []
    return Rows([row for row, _ in entries], [offset for _, offset in entries])


def zero_combinations(atom: Atom, size: int) -> Sequence[Combination] | None:
    """Return linear functions of the arguments that are 0 wherever an atom is; None if it may be negative.

    Parameters
    ----------
    atom
        The atom.
    size
        The number of its arguments.
    """
    if isinstance(atom, ATOMS_OF_SIZES) or (isinstance(atom, Power) and atom.p > 1):
        return _units(size)
    if isinstance(atom, SquaresOverLast):
        return _units(size - 1)
    if isinstance(atom, MatrixFraction):
        return _units(atom.n * atom.k)
    if isinstance(atom, Divergence):
        return [[(0, ONE), (1, -ONE)]]
    # The infimum at the slopes 0 is finite if P is proved to be positive semidefinite.
    if isinstance(atom, QuadraticForm) and atom.sign > 0 and atom.infimum(ONE, [ZERO] * size) is not None:
        return [[(j, value) for j, value in enumerate(row) if value] for row in atom.P]
    if isinstance(atom, Perspective):
        return zero_combinations(atom.function, size - 1)
    return None


def _units(size: int) -> list[Combination]:
    """Return each of the first arguments by itself."""
    return [[(i, ONE)] for i in range(size)]


def _zero_entries(problem: Problem, z: int) -> list[tuple[Row, Fraction]]:
    """Return affine functions with their offsets that are 0 wherever the value z of an atom is."""
    # An atom without groups begins where the next one does.
    node = problem.nodes[bisect_right(problem.nodes, z, key=lambda node: node.start) - 1]
    group = node.members[z - node.start]
    combinations = zero_combinations(node.atom, len(group))
    if combinations is None:
        reject(f"the atom {node.name} implies no equations where it is 0")
    return [
        _combination([(weight, node.arguments.rows[group[i]], node.arguments.offsets[group[i]]) for i, weight in pairs])
        for pairs in combinations
    ]


def _rows_of_null_vector(problem: Problem, item: ImpliedEquations) -> Rows:
    """Return E v for a matrix E whose form vᵀ E v is not positive on feasible points."""
    size, entries = problem.matrices[item.place]
    if len(item.vector) != size:
        reject(f"a null vector must have {size} numbers; it has {len(item.vector)}")
    products = _product(entries, item.vector)
    form, offset = _combination(
        [(-weight, *product) for weight, product in zip(item.vector, products, strict=True) if weight]
    )
    if any(k >= problem.n for k in form):
        reject("the form of a null vector must be affine")
    _require_nonnegative(problem, form, offset, item)
    return Rows([row for row, _ in products], [offset for _, offset in products])


def _product(entries: Rows, vector: Sequence[Fraction]) -> list[tuple[dict[int, Fraction], Fraction]]:
    """Return E v as affine functions with their offsets."""
    size = len(vector)
    return [
        _combination(
            [
                (weight, entries.rows[i * size + j], entries.offsets[i * size + j])
                for j, weight in enumerate(vector)
                if weight
            ]
        )
        for i in range(size)
    ]


def _rows_of_faces(problem: Problem, item: ImpliedEquations, earlier: Sequence[Rows]) -> Rows:
    """Return E V for the matrices E of some faces, whose exposing matrices are a combination of equations."""
    equations = [problem.equalities, *earlier]
    if len(item.equations) != sum(map(len, equations)):
        reject(f"exposing matrices must have {sum(map(len, equations))} multiples of equations")
    pairs = [pair for rows in equations for pair in zip(rows.rows, rows.offsets, strict=True)]
    terms = [(weight, *pair) for weight, pair in zip(item.equations, pairs, strict=True) if weight]
    result = list[tuple[dict[int, Fraction], Fraction]]()
    for face in item.faces:
        M, V = face.weights, face.vectors
        is_symmetric = all(M[i][j] == M[j][i] for i in range(len(M)) for j in range(i))
        if not is_symmetric or not is_definite(M):
            reject("the weights of a face must be a positive definite matrix")
        for j, vector in enumerate(V):
            products = _product(problem.matrices[face.place][1], vector)
            sums = [sum((row[j] * v[i] for row, v in zip(M, V, strict=True)), ZERO) for i in range(len(vector))]
            terms += [(weight, *product) for weight, product in zip(sums, products, strict=True) if weight]
            result += products
    form, offset = _combination(terms)
    if form or offset:
        reject("exposing matrices, with the multiples of equations, must add up to 0 at every point")
    return Rows([row for row, _ in result], [offset for _, offset in result])


def _require_nonnegative(problem: Problem, row: Row, offset: Fraction, item: ImpliedEquations) -> None:
    """Reject unless an affine function of x is not negative on feasible points, by bounds and one constraint."""
    if item.limit is not None:
        kind, place = item.limit
        rows = problem.inequalities if kind == "inequality" else problem.equalities
        limit, shared = rows.rows[place], sorted(k for k, value in rows.rows[place].items() if value and k in row)
        if any(k >= problem.n for k in limit) or not shared:
            reject("the constraint that limits a term must be affine, and have an unknown of the term")
        factor = -row[shared[0]] / limit[shared[0]]
        if kind == "inequality" and factor < 0:
            reject("the inequality that limits a term must have the other sign")
        # The term is -factor times a row that is at most 0, or is 0, and the rest.
        row, offset = _combination([(ONE, row, offset), (factor, limit, rows.offsets[place])])
    for k, value in row.items():
        side = problem.lower[k] if value > 0 else problem.upper[k]
        if side is None:
            reject("a term of a constraint that implies equations is not proved to be non-negative")
        offset += value * side
    if offset < 0:
        reject("a term of a constraint that implies equations is not proved to be non-negative")


def _combination(terms: Sequence[tuple[Fraction, Row, Fraction]]) -> tuple[dict[int, Fraction], Fraction]:
    """Return a linear combination of rows with offsets, without coefficients that are 0."""
    result, constant = dict[int, Fraction](), ZERO
    for weight, row, offset in terms:
        constant += weight * offset
        for k, value in row.items():
            result[k] = result.get(k, ZERO) + weight * value
    return {k: value for k, value in result.items() if value}, constant
