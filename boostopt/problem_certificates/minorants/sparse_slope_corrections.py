"""Many slopes of x made exactly 0 at once, without a basis: the shortest changes of multipliers and slopes of atoms.

The slopes are linear in these numbers. Some changes next to those in floats make them 0 if the rows are independent:
see `nearest_sparse_solutions`. Slopes that depend on others are 0 by directions along which no row of the problem
changes: every minorant has the slope 0 along these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, ball, enclosing_balls, enclosures, pivots
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import LINALG, SparseSystem, factorization
from boostopt.problem_certificates.arithmetic.sparse_float_forms import (
    FloatForm,
    as_float_form,
    enclosed_rows,
    product,
    with_width,
)
from boostopt.problem_certificates.atoms.base import MinorantFamily
from boostopt.problem_certificates.minorants.lagrangian_minorant import AffineMinorant, Choice
from boostopt.problem_certificates.problem_reader import ReadProblem

N_REFINEMENTS = 20
"""Maximum number of steps towards changes with slopes 0 in floating point."""

MIN_PROGRESS = 0.5
"""Factor by which each of them must lower the largest slope."""

MIN_SIZE = 1e-12
"""Smallest size of a number that changes, relative to the largest."""

PROOF_SIZE = 1e-3
"""Smallest weight of a number in the proof that the rows are independent, relative to the largest."""

N_STEPS = 20
"""Maximum number of steps for the proposed changes."""

N_SOLVES = 3
"""Number of solves for each of them."""

MAX_USE = 0.9
"""Fraction of what is left of a multiplier that a step may take."""

MAX_COLUMN_FRACTION = 0.1
"""Fraction of the slopes up to which a number may change them: numbers that change more are first left as they are."""

MIN_LONG_COLUMN = 100
"""Number of slopes that a number may always change."""

N_NULL_VECTORS = 30
"""Maximum number of directions along which no row changes that are looked for."""

NULL_TOL = 1e-10
"""Square of the change of the rows, relative to the largest, up to which a direction may be one with no change."""

SHIFT = 1e-13
"""The addend of the diagonal of the matrix whose null vectors these are, relative to its largest entry."""

N_NULL_STEPS = 5
"""Number of steps of the inverse iteration for them."""

MAX_DENOMINATOR = 12
"""Largest denominator of the entries of such a direction that is tried."""

ROUNDING_TOL = 1e-5
"""Distance from whole numbers up to which entries are rounded."""


@dataclass(frozen=True)
class FreeNumber:
    """A number whose change makes slopes 0: a multiplier of a constraint, or y_i of a family, times its multiplier.

    Attributes
    ----------
    kind
        "inequality", "equality" or "family".
    size
        By about how much the number may change.
    position
        The position of the row of the constraint, or i.
    group
        The positions of the atom and of the group of the family.
    """

    kind: str
    size: float
    position: int
    group: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class SlopeChanges:
    """Changes of numbers that make slopes of x exactly 0.

    Attributes
    ----------
    numbers, changes
        The numbers, and balls that contain changes with these slopes.
    zeros
        The entries of x whose slopes are 0.
    """

    numbers: Sequence[FreeNumber]
    changes: Sequence[Ball]
    zeros: set[int]


def sparse_slope_changes(
    problem: ReadProblem,
    choice: Choice,
    families: Mapping[tuple[int, int], MinorantFamily],
    minorant: AffineMinorant,
    entries: Sequence[int],
) -> SlopeChanges | None:
    """Return changes of a choice that make slopes 0; None if none are proved.

    Parameters
    ----------
    problem, choice
        The problem and the choice.
    families
        The minorants of groups of atoms whose slopes may change.
    minorant
        The minorant of the choice with these families.
    entries
        The entries of x whose slopes are to be 0.
    """
    numbers, rows = free_rows(problem, choice, families, minorant)
    if not numbers:
        return None
    slopes, key = enclosures(minorant.slopes), tuple(entries)
    if not problem.dependent_entries.get(key):
        changes = _changes(rows, numbers, slopes, list(entries))
        if changes is not None:
            return SlopeChanges(numbers, changes, set(entries))
    if choice.linear is not None:
        return None
    if key not in problem.dependent_entries:
        problem.dependent_entries[key] = _dependent_entries(problem, entries)
    dependent = problem.dependent_entries[key]
    changes = _changes(rows, numbers, slopes, [j for j in entries if j not in dependent]) if dependent else None
    return None if changes is None else SlopeChanges(numbers, changes, set(entries))


def _changes(
    rows: FloatForm, numbers: Sequence[FreeNumber], slopes: tuple[Array, Array], entries: list[int]
) -> list[Ball] | None:
    """Return balls around changes of numbers that make the slopes of some entries 0; None if none are proved."""
    sizes = np.array([number.size for number in numbers])
    is_multiplier = np.array([number.kind == "inequality" for number in numbers])
    is_limited = np.array([number.kind != "equality" for number in numbers])
    A = _transposed_part(rows.matrix, entries)
    radius = None if rows.radius is None else _transposed_part(rows.radius, entries)
    weights = np.where(sizes >= MIN_SIZE * sizes.max(), np.maximum(sizes, PROOF_SIZE * sizes.max()), 0.0)
    is_short = np.bincount(A.indices, minlength=len(sizes)) <= max(MIN_LONG_COLUMN, MAX_COLUMN_FRACTION * len(entries))
    for is_free in [is_short] if is_short.all() else [is_short, np.ones(len(sizes), dtype=bool)]:
        system = SparseSystem(A, np.where(is_free, weights, 0.0), radius, is_rough=True)
        if system.sigma > 0:
            sides = slopes[0][entries], slopes[1][entries]
            sizes = np.where(is_free, sizes, 0.0)
            return _solution(system, A, radius, sides, sizes, (is_multiplier, is_limited))
    return None


def _solution(
    system: SparseSystem,
    A: Any,
    radius: Any,
    slopes: tuple[Array, Array],
    sizes: Float[Array, " k"],
    limits: tuple[Bool[Array, " k"], Bool[Array, " k"]],
) -> list[Ball] | None:
    """Return balls that contain a y with slopes + A y = 0; None if floats do not suffice.

    Most of y is in proportion to the squares of the sizes, so that small numbers keep their signs.
    """
    y = _proposed_solution(A, slopes[0], sizes, limits)
    best, best_size = y, np.inf
    with np.errstate(all="ignore"):
        for _ in range(N_REFINEMENTS):
            rest = slopes[0] + np.asarray(A @ y)
            size = float(np.abs(rest).max(initial=0.0))
            if not size < MIN_PROGRESS * best_size:
                break
            best, best_size = y, size
            y = y - system.correction(rest)
    if not np.isfinite(best).all():
        return None
    mids, radii = product(A, radius, (best, np.zeros(len(best))), slopes)
    return enclosing_balls(best, system.radii(np.abs(mids) + radii))


def _proposed_solution(
    A: Any, slopes: Float[Array, " m"], sizes: Float[Array, " k"], limits: tuple[Bool[Array, " k"], Bool[Array, " k"]]
) -> Float[Array, " k"]:
    """Return a y with nearly slopes + A y = 0 whose entries are within limits.

    Each step is the shortest in units of what is left of the sizes, and ends before these are used up.

    Parameters
    ----------
    A, slopes, sizes
        The system, and the sizes of the entries.
    limits
        Whether each entry is limited from below only, to more than minus its size; and whether it has any limit.
    """
    y, (is_multiplier, is_limited) = np.zeros(len(sizes)), limits
    with np.errstate(all="ignore"):
        for _ in range(N_STEPS):
            room = np.where(is_multiplier, sizes + y, np.where(is_limited, sizes - np.abs(y), sizes))
            step = _shortest_solution(A, -(slopes + np.asarray(A @ y)), room)
            if step is None:
                break
            use = np.where(is_multiplier, -step, np.where(is_limited, np.abs(step), 0.0))
            use = use / np.where(room > 0, room, np.inf)
            fraction = min(1.0, MAX_USE / max(float(use.max(initial=0.0)), MAX_USE))
            y = y + fraction * step
            if fraction == 1.0:
                break
    return y


def _shortest_solution(A: Any, target: Float[Array, " m"], sizes: Float[Array, " k"]) -> Float[Array, " k"] | None:
    """Return a y with nearly A y = target that is the shortest in units of the sizes; None if floats fail."""
    unscaled = scipy.sparse.csr_array(A @ scipy.sparse.diags_array(sizes))
    scales = 1 / _row_norms(unscaled)
    scaled: Any = scipy.sparse.csr_array(scipy.sparse.diags_array(scales) @ unscaled)
    gram = scipy.sparse.csc_array(scaled @ scaled.T + scipy.sparse.eye_array(A.shape[0]) * SHIFT)
    factor = factorization(gram)
    if factor is None:
        return None
    y, rest = np.zeros(len(sizes)), scales * target
    for _ in range(N_SOLVES):
        y = y + np.asarray(scaled.T @ factor.solve(rest - np.asarray(scaled @ y)))
    return y * sizes if np.isfinite(y).all() else None


def _row_norms(matrix: Any) -> Float[Array, " m"]:
    """Return the norms of the rows of a sparse matrix in compressed rows, 1 for rows of zeros."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    norms = np.sqrt(np.bincount(rows, matrix.data * matrix.data, matrix.shape[0]))
    return np.where(norms > 0, norms, 1.0)


def _transposed_part(matrix: Any, entries: list[int]) -> Any:
    """Return some columns of a sparse matrix as compressed rows."""
    columns: Any = scipy.sparse.csc_array(matrix)
    width = columns.shape[1]
    if width <= max(entries, default=-1):
        pointers = np.append(columns.indptr, [columns.indptr[-1]] * (max(entries) + 1 - width))
        shape = columns.shape[0], max(entries) + 1
        columns = scipy.sparse.csc_array((columns.data, columns.indices, pointers), shape=shape)
    return scipy.sparse.csr_array(columns[:, entries].T)


def family_numbers(
    family: MinorantFamily, mu: Ball, position: tuple[int, int], group: Sequence[int], is_free: Bool[Array, " k"]
) -> Iterator[tuple[FreeNumber, list[int], list[Ball]]]:
    """Yield the numbers of a family whose arguments are free, with the places and weights of their directions.

    Parameters
    ----------
    family, mu, position
        The family of minorants, its multiplier, and the positions of its atom and of its group.
    group
        The positions of its arguments among those of the atom.
    is_free
        Whether an argument of the atom may change.
    """
    multiplier = abs(float(mu.mid()))
    for entry, (column, size) in enumerate(zip(family.directions, family.sizes, strict=True)):
        places = [group[i] for i, _ in column]
        if is_free[places].all():
            yield FreeNumber("family", size * multiplier, entry, position), places, [weight for _, weight in column]


def free_rows(
    problem: ReadProblem,
    choice: Choice,
    families: Mapping[tuple[int, int], MinorantFamily],
    minorant: AffineMinorant,
) -> tuple[list[FreeNumber], FloatForm]:
    """Return the numbers that change slopes of x, and the changes by a unit change of each, as rows over x."""
    n = problem.n
    is_active = np.zeros(problem.n_values, dtype=bool)
    is_active[:n] = True
    values: FloatForm = FloatForm.of_unknowns(np.arange(n), (n,))
    numbers, forms = list[FreeNumber](), list[FloatForm]()
    for index, node in enumerate(problem.nodes):
        arguments = _over_x(node.arguments, values, n)
        is_free = ~node.arguments.depends_on(~is_active)
        columns = list[Sequence[tuple[int, Ball]]]()
        gradients: list[Sequence[tuple[int, Ball]]] = [()] * len(node.members)
        for k, group in enumerate(node.members.tolist()):
            if (index, k) not in minorant.groups:
                continue
            gradient, mu = minorant.groups[index, k]
            gradients[k] = list(zip(group, gradient, strict=True))
            is_active[node.start + k] = True
            family = families.get((index, k))
            if family is None:
                continue
            for number, places, weights in family_numbers(family, mu, (index, k), group, is_free):
                numbers.append(number)
                columns.append(list(zip(places, weights, strict=True)))
        if columns:
            forms.append(_combinations(arguments, columns))
        values = FloatForm.concatenated([values, _combinations(arguments, gradients)])
    equality_size = float(np.abs(choice.equality).max(initial=1.0))
    for kind, rows, multipliers in (
        ("inequality", problem.inequalities.rows, choice.inequality),
        ("equality", problem.equalities.rows, np.full(len(choice.equality), equality_size)),
    ):
        selected = np.flatnonzero(~rows.depends_on(~is_active) & (multipliers > 0))
        if len(selected):
            numbers += [FreeNumber(kind, float(multipliers[i]), i) for i in selected.tolist()]
            part = rows.form().selected(selected, (len(selected),)).block(problem.n_values)
            forms.append(_over_x(part, values, n))
    result = FloatForm.concatenated(forms) if forms else FloatForm.of_unknowns(np.zeros(0, dtype=int), (0,))
    return numbers, result


def _over_x(block: Any, values: FloatForm, n: int) -> FloatForm:
    """Return the coefficients of rows over all unknowns as rows over x; `values` are the first unknowns over x."""
    form = as_float_form(block.form())
    form = FloatForm(form.shape, form.matrix, form.radius, None)
    if block.is_affine(n):
        return form
    width = len(values)
    weights, radius = (None if part is None else with_width(part, width) for part in (form.matrix, form.radius))
    return values.image(weights, radius, form.shape)


def _combinations(form: FloatForm, terms: Sequence[Sequence[tuple[int, Ball]]]) -> FloatForm:
    """Return combinations of the entries of a form, each by pairs of a position and a weight."""
    rows = list[dict[int, Ball]]()
    for pairs in terms:
        row = dict[int, Ball]()
        for place, weight in sorted(pairs, key=lambda pair: pair[0]):
            row[place] = row.get(place, ZERO) + weight  # sums of balls: floats would need a bound of their rounding
        rows.append(row)
    mids, radius = enclosed_rows(rows, len(form))
    return form.image(mids, radius if radius.nnz else None, (len(terms),))


def _dependent_entries(problem: ReadProblem, entries: Sequence[int]) -> set[int]:
    """Return entries whose slopes are 0 if those of the others are, whatever the minorant; none if none are proved.

    Each is the position of an entry of a direction d along which no row of the problem changes, and no other such
    direction has it. The slopes of a minorant are combinations of these rows, so that their product with d is 0.
    """
    blocks = [problem.objective, problem.inequalities.rows, problem.equalities.rows]
    blocks += [node.arguments for node in problem.nodes] + [item.rows for item in problem.matrices]
    forms = [as_float_form(block.form()) for block in blocks if len(block)]
    rows = FloatForm.concatenated([FloatForm(form.shape, form.matrix, form.radius, None) for form in forms])
    by_entry = _transposed_part(rows.matrix, list(entries))
    if rows.radius is not None and _transposed_part(rows.radius, list(entries)).data.any():
        return set()  # products with whole numbers are not exact
    return {entries[position] for position, d in _whole_null_vectors(by_entry) if _is_null(by_entry, d)}


def _whole_null_vectors(by_entry: Any) -> list[tuple[int, Float[Array, " k"]]]:
    """Return whole numbers d with nearly A d = 0 for the transpose of A, and a position where all others have 0."""
    rows = scipy.sparse.csr_array(by_entry.T)
    A: Any = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / _row_norms(rows)) @ rows)
    gram, k = scipy.sparse.csc_array(A.T @ A), A.shape[1]
    size = float(gram.diagonal().max(initial=0.0))
    if not 0 < size < np.inf or not k:
        return []
    try:
        factor = LINALG.splu(scipy.sparse.csc_array(gram + scipy.sparse.eye_array(k) * (SHIFT * size)))
    except RuntimeError:  # exactly singular
        return []
    space = np.random.default_rng(0).normal(size=(k, min(k, N_NULL_VECTORS)))
    for _ in range(N_NULL_STEPS):
        space = np.linalg.qr(factor.solve(space))[0]
    values, vectors = np.linalg.eigh(space.T @ (gram @ space))
    basis = (space @ vectors[:, values <= NULL_TOL * size]).T
    if not len(basis) or len(basis) == space.shape[1] < k:
        return []
    positions = pivots(basis)[1][: len(basis)]
    reduced = np.linalg.solve(basis[:, positions], basis)
    result = list[tuple[int, Array]]()
    for position, row in zip(positions.tolist(), reduced, strict=True):
        for denominator in range(1, MAX_DENOMINATOR + 1):
            d = np.round(denominator * row)
            if np.abs(denominator * row - d).max() <= ROUNDING_TOL:
                result.append((position, d))
                break
    return result


def _is_null(by_entry: Any, d: Float[Array, " k"]) -> bool:
    """Return whether A d = 0 exactly for the transpose of A."""
    totals = dict[int, Ball]()
    for i in np.flatnonzero(d).tolist():
        part, factor = slice(by_entry.indptr[i], by_entry.indptr[i + 1]), ball(float(d[i]))
        for row, value in zip(by_entry.indices[part].tolist(), by_entry.data[part].tolist(), strict=True):
            totals[row] = totals.get(row, ZERO) + factor * ball(value)
    return all(total == 0 for total in totals.values())
