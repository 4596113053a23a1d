"""Answers of an interior-point method to programs whose cones are semidefinite. Nothing that it says is believed.

The direction is that of Helmberg, Rendl, Vanderbei and Wolkowicz, Kojima, Shindoh and Hara, and Monteiro, with the
predictor and corrector of Mehrotra. The start is that of Toh, Todd and Tütüncü. For S = G x + h and multipliers Z,
the Newton system has the matrix Gᵀ (Z (x) S^-1) G, of as many rows as there are variables. Systems in the entries of
the matrices, as Clarabel's, are larger by far for large matrices.

References
----------
Helmberg, Rendl, Vanderbei, Wolkowicz 1996, "An interior-point method for semidefinite programming", SIAM Journal on
Optimization 6. Toh, Todd, Tütüncü 1999, "SDPT3", Optimization Methods and Software 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph

from boostopt._utils.array_types import Array, Float, Int
from boostopt.conic_programs.solver_clock import count_answers, solver_call
from boostopt.problem_certificates.cone_proofs.clarabel_answers import HUGE, ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup, dense, row_norms
from boostopt.problem_certificates.cone_proofs.semidefinite.newton_matrices import matrix_products

LAPACK: Any = scipy.linalg.lapack
"""SciPy's factorizations, which have no annotations."""

MAX_STEPS = 100
"""Maximum number of Newton steps."""

STEP_FRACTION = 0.95
"""Fraction of the way to the boundary of the cones."""

MIN_STEP = 1e-4
"""Fraction of a Newton step below which the method stops."""

N_POOR_STEPS = 3
"""Number of steps without progress after which the method stops."""

MAX_RESIDUAL = 1e-9
"""Relative residual of points that suffices."""

MAX_DUAL_RESIDUAL = 1e-6
"""The same of multipliers: those that are returned are moved until theirs is that of rounding."""

N_POINTS = 8
"""Number of the last points that are kept."""

GAP_FRACTION = 0.5
"""A point is kept besides the one before it if its gap is this fraction of the other's."""

N_REFINEMENTS = 3
"""Number of steps of multipliers towards exact reduced costs."""

MAX_SCALED_ENTRIES = 80_000
"""Number of entries of the matrices of all variables up to which multipliers are refined by a QR factorization."""

MIN_INDEPENDENCE = 1e-14
"""Distance of a scaled image of norm 1 from the others below which they are called dependent."""

MAX_SMALL_ORDER = 12
"""Order of matrices up to which those of one order are computed together."""

MAX_FEW_ENTRIES = 50_000
"""Number of entries of a matrix up to which it is multiplied with vectors as a dense one."""

MIN_LANCZOS_ORDER = 60
"""Order from which on a smallest eigenvalue is found by the method of Lanczos."""

N_LANCZOS_STEPS = 60
"""Number of its steps after which all eigenvalues are computed."""

LANCZOS_ERROR = 0.005
"""Relative error of an eigenvalue that suffices."""

N_UNTRIED_STEPS = 5
"""Number of its steps between two looks at this error."""

SHORTER = 0.8
"""Factor of a step whose end lies outside the cones."""

MAX_PROGRAM_SIZE = 3000
"""Number of variables up to which the method is used: its Newton matrix is dense."""


def has_semidefinite_answer(form: ConeForm) -> bool:
    """Return whether the method takes a form: semidefinite cones and rows, no equations and no fixed variables."""
    return (
        bool(form.groups)
        and form.n <= MAX_PROGRAM_SIZE
        and form.P is None
        and not len(form.e)
        and not form.is_fixed.any()
        and all(group.kind == "semidefinite" for group in form.groups)
    )


def semidefinite_answers(form: ConeForm, goal: float) -> Iterator[ConicAnswer]:
    """Yield the last points and multipliers of the method, the most accurate ones first.

    An earlier point has more slack. The multipliers are moved within their cones until their reduced costs are exact
    up to rounding.

    Parameters
    ----------
    form
        A form that `has_semidefinite_answer`.
    goal
        The relative gap at which the method stops.
    """
    with solver_call():
        method = _Method(form)
    return count_answers(method.run(goal))


class _Batch:
    """Semidefinite matrices of one order: the entries of S are rows of G x + h.

    Parameters
    ----------
    order
        The order.
    entries
        For each entry of the matrices, in C order, its row of the group; shape (k * order^2,).
    group, place
        The group, and its position in the form.

    Attributes
    ----------
    gram
        The function that returns Gᵀ (Z (x) S^-1) G.
    """

    def __init__(self, order: int, entries: Int[Array, " rows"], group: ConeGroup, place: int) -> None:
        self.order, self.place, self.entries = order, place, entries
        self.count = len(entries) // order**2
        self.shape = (self.count, order, order)
        self.h = group.h[entries].reshape(self.shape)
        G: Any = scipy.sparse.csr_array(group.G[entries])
        columns: Any = scipy.sparse.csr_array(G.T)
        self.G_norms = np.sqrt(np.bincount(G.indices, G.data**2, minlength=G.shape[1]))
        self.gram = matrix_products(columns, order)
        self.G, self.G_transposed = _dense_if_small(G), _dense_if_small(columns)

    def values(self, x: Float[Array, " n"]) -> Array:
        """Return G x."""
        return (self.G @ x).reshape(self.shape)

    def scaled_images(self, roots: Array) -> Float[Array, "n rows"]:
        """Return the entries of Lᵀ A L for the matrices A of each variable and the lower triangles L of some others."""
        columns = dense(self.G_transposed).reshape(-1, *self.shape)
        variables, cones = np.nonzero(columns.any(axis=(2, 3)))
        results = np.zeros(columns.shape)
        results[variables, cones] = roots[cones].transpose(0, 2, 1) @ columns[variables, cones] @ roots[cones]
        return results.reshape(len(columns), -1)


def _dense_if_small(matrix: Any) -> Any:
    return matrix.toarray() if math.prod(matrix.shape) <= MAX_FEW_ENTRIES else matrix


def _batches(group: ConeGroup, place: int) -> list[_Batch]:
    """Return the matrices of a group, divided into blocks that no entry joins."""
    order = math.isqrt(group.size)
    has_entry = (np.diff(group.G.indptr) > 0) | (group.h != 0)
    patterns = has_entry.reshape(group.count, order, order)
    blocks = dict[int, list[Array]]()
    for k, pattern in enumerate(patterns):
        _, labels = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(pattern), directed=False)
        by_label = np.argsort(labels, kind="stable")
        for block in np.split(by_label, np.flatnonzero(np.diff(labels[by_label])) + 1):
            entries = (k * group.size + block[:, None] * order + block).ravel()
            if has_entry[entries].any():
                blocks.setdefault(len(block), []).append(entries)
    return [
        _Batch(size, entries, group, place)
        for size, parts in blocks.items()
        for entries in ([np.concatenate(parts)] if size <= MAX_SMALL_ORDER else parts)
    ]


_Factors = list[Array] | None
"""The factors of `_inverse_factors`."""


@dataclass
class _Point:
    """S, Z and x; the last matrices are the diagonal ones of the rows."""

    x: Float[Array, " n"]
    S: list[Array]
    Z: list[Array]


class _Method:
    """The interior-point method for a form."""

    def __init__(self, form: ConeForm) -> None:
        self.form = form
        self.batches = [batch for place, group in enumerate(form.groups) for batch in _batches(group, place)]
        unit: Any = scipy.sparse.eye_array(form.n, format="csr")
        self._limits = [form.row_lower > -HUGE, form.row_upper < HUGE, form.lower > -HUGE, form.upper < HUGE]
        has_row_lower, has_row_upper, has_lower, has_upper = self._limits
        L: Any = scipy.sparse.csr_array(
            scipy.sparse.vstack([form.R[has_row_lower], -form.R[has_row_upper], unit[has_lower], -unit[has_upper]])
        )
        self.L_norms = row_norms(L)
        self.L, self.L_transposed = _dense_if_small(L), _dense_if_small(scipy.sparse.csr_array(L.T))
        self.sides = -np.concatenate(
            [
                form.row_lower[has_row_lower],
                -form.row_upper[has_row_upper],
                form.lower[has_lower],
                -form.upper[has_upper],
            ]
        )
        self.degree = len(self.sides) + sum(batch.count * batch.order for batch in self.batches)

    def run(self, goal: float) -> Iterator[ConicAnswer]:
        """Yield the answers at the last points, the most accurate ones first."""
        if not self.degree:
            return
        point, status = self._start(), "InsufficientProgress"
        factors = _inverse_factors(point.S), _inverse_factors(point.Z)
        points = list[tuple[float, float, _Point]]()
        best, n_poor = np.full(3, math.inf), 0
        limits = np.array([goal, MAX_RESIDUAL, MAX_DUAL_RESIDUAL])
        with np.errstate(all="ignore"):
            for _ in range(MAX_STEPS):
                primal, dual = self._residuals(point)
                errors = self._errors(point, primal, dual)
                is_done = bool((errors <= limits).all())
                # The gap relative to its scale may grow where the objective changes its sign.
                progress = np.array([self._products(point.S, point.Z), *errors[1:]])
                entry = (float(errors.max()), float(progress[0]), point)
                if not points or progress[0] < GAP_FRACTION * points[-1][1]:
                    points = [*points[1 - N_POINTS :], entry]
                elif entry[0] < points[-1][0]:
                    points[-1] = entry
                n_poor = 0 if ((progress < 0.9 * best) & (errors > limits)).any() else n_poor + 1
                best = np.minimum(best, progress)
                step = None if is_done or n_poor > N_POOR_STEPS else self._step(point, factors, primal, dual)
                if step is None:
                    status = "Solved" if is_done else status
                    break
                point, factors = step
        for _, _, point in reversed(points):
            with np.errstate(all="ignore"):
                result = self._answer(point, status)
            yield result

    def _start(self) -> _Point:
        form = self.form
        scales = 1 + np.abs(form.c)
        S, Z = list[Array](), list[Array]()
        for batch in self.batches:
            ratio = float((scales / (1 + batch.G_norms)).max(initial=0.0))
            size = max(float(batch.G_norms.max(initial=0.0)), float(np.linalg.norm(batch.h)))
            unit = np.tile(np.eye(batch.order), (batch.count, 1, 1))
            root = math.sqrt(batch.order)
            S.append(max(10.0, root, size) * unit)
            Z.append(max(10.0, root, batch.order * ratio) * unit)
        largest = max(10.0, float(self.L_norms.max(initial=0.0)), float(np.abs(self.sides).max(initial=0.0)))
        S.append(np.full(len(self.sides), largest))
        Z.append(np.full(len(self.sides), max(10.0, float(scales.max(initial=0.0)))))
        return _Point(np.zeros(form.n), S, Z)

    def _residuals(self, point: _Point) -> tuple[list[Array], Float[Array, " n"]]:
        """Return G x + h - S and c - Gᵀ Z."""
        primal = [value - S for value, S in zip(self._values(point.x), point.S, strict=True)]
        return primal, self.form.c - self._sums(point.Z)

    def _values(self, x: Float[Array, " n"]) -> list[Array]:
        """Return G x + h."""
        constants = [*(batch.h for batch in self.batches), self.sides]
        return [image + h for image, h in zip(self._images(x), constants, strict=True)]

    def _images(self, x: Float[Array, " n"]) -> list[Array]:
        """Return G x."""
        return [*(batch.values(x) for batch in self.batches), self.L @ x]

    def _sums(self, matrices: list[Array]) -> Float[Array, " n"]:
        """Return Gᵀ of some matrices."""
        total = self.L_transposed @ matrices[-1]
        for batch, matrix in zip(self.batches, matrices[:-1], strict=True):
            total = total + batch.G_transposed @ matrix.ravel()
        return total

    def _gram(self, Z: list[Array], inverses: list[Array]) -> Float[Array, "n n"]:
        """Return the symmetric part of Gᵀ (Z (x) S^-1) G."""
        weights = Z[-1] * inverses[-1]
        if isinstance(self.L, np.ndarray):
            total = (self.L_transposed * weights) @ self.L
        else:
            total = (self.L_transposed @ scipy.sparse.diags_array(weights) @ self.L).toarray()
        for batch, matrices, blocks in zip(self.batches, Z[:-1], inverses[:-1], strict=True):
            total = total + batch.gram(matrices, blocks)
        return (total + total.T) / 2

    def _products(self, first: list[Array], second: list[Array]) -> float:
        return sum(float(np.vdot(a, b)) for a, b in zip(first, second, strict=True))

    def _errors(self, point: _Point, primal: list[Array], dual: Float[Array, " n"]) -> Float[Array, " k"]:
        """Return the relative gap and the relative residuals of both sides."""
        value = float(self.form.c @ point.x)
        scale = max(1.0, abs(value + self.form.offset))
        gap = self._products(point.S, point.Z) / scale
        size = max((float(np.abs(S).max(initial=0.0)) for S in point.S), default=1.0)
        primal_error = max((float(np.abs(part).max(initial=0.0)) for part in primal), default=0.0) / (1 + size)
        dual_error = float(np.abs(dual).max(initial=0.0)) / (1 + self.form.cost_scale)
        return np.nan_to_num(np.array([gap, primal_error, dual_error]), nan=math.inf)

    def _step(
        self, point: _Point, factors: tuple[_Factors, _Factors], primal: list[Array], dual: Float[Array, " n"]
    ) -> tuple[_Point, tuple[_Factors, _Factors]] | None:
        """Return the point after a step, with its factors; None if there is no step that is long enough."""
        S_factors, Z_factors = factors
        if S_factors is None or Z_factors is None:
            return None
        inverses = [_inverse(factor) for factor in S_factors]
        try:
            solve = _solver(self._gram(point.Z, inverses))
        except scipy.linalg.LinAlgError:
            return None
        mu = self._products(point.S, point.Z) / self.degree
        if not mu > 0:  # all numbers underflow where the objective falls for ever
            return None
        has_residual = any(rest.any() for rest in primal)

        def direction(fixed: list[Array]) -> tuple[Array, list[Array], list[Array], list[Array]]:
            """Return the steps of x, S and Z, and that of S times S^-1, for the part of the step of Z that is known."""
            values = fixed
            if has_residual:
                values = [
                    part - _triple_product(Z, rest, inverse)
                    for part, Z, rest, inverse in zip(fixed, point.Z, primal, inverses, strict=True)
                ]
            x = solve(self._sums([_symmetric(part) for part in values]) - dual)
            steps = self._images(x)
            if has_residual:
                steps = [image + rest for image, rest in zip(steps, primal, strict=True)]
            ratios = [_product(step, inverse) for step, inverse in zip(steps, inverses, strict=True)]
            terms = zip(fixed, point.Z, ratios, strict=True)
            return x, steps, [_symmetric(part - _product(Z, ratio)) for part, Z, ratio in terms], ratios

        _, S_step, Z_step, ratios = direction([-Z for Z in point.Z])
        lengths = min(1.0, _longest(S_factors, S_step)), min(1.0, _longest(Z_factors, Z_step))
        nearer = self._products(_ends(point.S, S_step, lengths[0]), _ends(point.Z, Z_step, lengths[1]))
        gap_ratio = max(0.0, nearer / self.degree / mu)
        power = max(1.0, 3 * min(lengths) ** 2)
        target = min(1.0, gap_ratio**power) * mu
        x, S_step, Z_step, _ = direction(
            [
                target * inverse - Z - _product(step, ratio)
                for inverse, Z, step, ratio in zip(inverses, point.Z, Z_step, ratios, strict=True)
            ]
        )
        fraction = max(STEP_FRACTION, 1 - 10 * gap_ratio) if min(lengths) > 0.9 else STEP_FRACTION
        fraction = min(fraction, 0.98)
        if not np.isfinite(x).all():
            return None
        length, S, S_factors = _safe_step(point.S, S_step, min(1.0, fraction * _longest(S_factors, S_step)))
        dual_length, Z, Z_factors = _safe_step(point.Z, Z_step, min(1.0, fraction * _longest(Z_factors, Z_step)))
        if max(length, dual_length) <= MIN_STEP:
            return None
        x = point.x + length * x
        return _Point(x, self._values(x) if length == 1.0 or not has_residual else S, Z), (S_factors, Z_factors)

    def _refined(self, Z: list[Array]) -> list[Array]:
        """Return multipliers whose reduced costs are nearly 0, by short steps in the metric of their cones."""
        n_rows = len(self.sides) + sum(len(batch.entries) for batch in self.batches)
        is_small = 0 < self.form.n <= n_rows and n_rows * self.form.n <= MAX_SCALED_ENTRIES
        for steps_of in (self._steps_by_images, self._steps_by_gram) if is_small else (self._steps_by_gram,):
            try:
                steps, result = steps_of(Z), Z
                for _ in range(N_REFINEMENTS):
                    changes = steps(self.form.c - self._sums(result))
                    result = [part + change for part, change in zip(result, changes, strict=True)]
            except scipy.linalg.LinAlgError:
                continue
            if all(np.isfinite(part).all() for part in result):
                return result
        return Z

    def _steps_by_gram(self, Z: list[Array]) -> Callable[[Array], list[Array]]:
        """Return the function that returns the shortest steps of multipliers with some sums Gᵀ of them."""
        solve = _solver(self._gram(Z, Z))

        def steps(sums: Float[Array, " n"]) -> list[Array]:
            images = self._images(solve(sums))
            return [_symmetric(_triple_product(part, image, part)) for part, image in zip(Z, images, strict=True)]

        return steps

    def _steps_by_images(self, Z: list[Array]) -> Callable[[Array], list[Array]]:
        """Return the same by a factorization of all scaled images, whose condition is the root of that of a gram."""
        roots = [np.linalg.cholesky(part) for part in Z[:-1]]
        pairs = zip(self.batches, roots, strict=True)
        parts = [*(batch.scaled_images(root) for batch, root in pairs), dense(self.L_transposed) * Z[-1]]
        images = np.hstack(parts)
        sizes = np.linalg.norm(images, axis=1)
        Q, R = np.linalg.qr((images / sizes[:, None]).T)
        if not np.abs(np.diag(R)).min() > MIN_INDEPENDENCE:
            raise scipy.linalg.LinAlgError("the matrices of the variables depend on each other")
        cuts = np.cumsum([part.shape[1] for part in parts])[:-1]

        def steps(sums: Float[Array, " n"]) -> list[Array]:
            weights = Q @ scipy.linalg.solve_triangular(R, sums / sizes, trans=1, check_finite=False)
            *matrices, row_steps = np.split(weights, cuts)
            changes = [
                _symmetric(root @ matrix.reshape(root.shape) @ root.transpose(0, 2, 1))
                for root, matrix in zip(roots, matrices, strict=True)
            ]
            return [*changes, Z[-1] * row_steps]

        return steps

    def _answer(self, point: _Point, status: str) -> ConicAnswer:
        form = self.form
        multipliers = self._refined(point.Z)
        cones = [np.zeros(len(group.h)) for group in form.groups]
        for batch, Z in zip(self.batches, multipliers, strict=False):
            cones[batch.place][batch.entries] = Z.ravel()
        rows = np.zeros(len(form.row_lower))
        has_row_lower, has_row_upper = self._limits[:2]
        n_lower, n_upper = int(has_row_lower.sum()), int(has_row_upper.sum())
        rows[has_row_lower] += multipliers[-1][:n_lower]
        rows[has_row_upper] -= multipliers[-1][n_lower : n_lower + n_upper]
        return ConicAnswer(point.x, np.zeros(0), rows, cones, status)


def _product(A: Array, B: Array) -> Array:
    """Return A B of matrices, or of diagonal ones that are given by their diagonals."""
    return A * B if A.ndim == 1 else A @ B


def _triple_product(A: Array, X: Array, B: Array) -> Array:
    """Return A X B of these."""
    return _product(_product(A, X), B)


def _symmetric(X: Array) -> Array:
    return X if X.ndim == 1 else (X + X.transpose(0, 2, 1)) / 2


def _solver(M: Float[Array, "n n"]) -> Any:
    """Return the function that solves systems of a matrix that is nearly positive definite."""
    scales = 1 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    scaled = M * np.outer(scales, scales)
    for regularization in (0.0, 1e-15, 1e-13, 1e-11):
        try:
            factor = scipy.linalg.cho_factor(scaled + regularization * np.eye(len(M)), check_finite=False)
        except scipy.linalg.LinAlgError:
            continue

        def solve(right: Float[Array, " n"], factor: Any = factor) -> Float[Array, " n"]:
            result = np.asarray(scipy.linalg.cho_solve(factor, scales * right, check_finite=False))
            residual = scales * right - scaled @ result
            return scales * (result + scipy.linalg.cho_solve(factor, residual, check_finite=False))

        return solve
    raise scipy.linalg.LinAlgError("not positive definite")


def _inverse_factors(parts: list[Array]) -> _Factors:
    """Return L^-1 with L Lᵀ = X for each X, and diagonal ones themselves; None if one is not positive definite."""
    if not (parts[-1] > 0).all():
        return None
    try:
        return [*(_inverse_triangles(np.linalg.cholesky(X)) for X in parts[:-1]), parts[-1]]
    except np.linalg.LinAlgError:
        return None


def _inverse_triangles(L: Array) -> Array:
    """Return the inverses of lower triangles."""
    return np.linalg.inv(L) if len(L) > 1 else LAPACK.dtrtri(L[0], lower=1)[0][None]


def _inverse(factor: Array) -> Array:
    """Return the inverse of X by the factor of `_inverse_factors`."""
    return 1 / factor if factor.ndim == 1 else factor.transpose(0, 2, 1) @ factor


def _ends(points: list[Array], steps: list[Array], length: float) -> list[Array]:
    return [point + length * step for point, step in zip(points, steps, strict=True)]


def _safe_step(points: list[Array], steps: list[Array], length: float) -> tuple[float, list[Array], _Factors]:
    """Return a length up to which the step stays in the cones, the matrices there, and their factors."""
    while length > MIN_STEP:
        matrices = _ends(points, steps, length)
        factors = _inverse_factors(matrices)
        if factors is not None:
            return length, matrices, factors
        length *= SHORTER
    return 0.0, points, _inverse_factors(points)


def _longest(factors: list[Array], directions: list[Array]) -> float:
    """Return nearly the length of the longest step along directions in the cones, by `_inverse_factors` of a point."""
    smallest = 0.0
    for L, D in zip(factors, directions, strict=True):
        if L.ndim == 1:
            smallest = min(smallest, float((D / L).min(initial=0.0)))
            continue
        is_small = L.shape[1] < MIN_LANCZOS_ORDER
        try:
            values = np.linalg.eigvalsh(L @ D @ L.transpose(0, 2, 1)) if is_small else _smallest_eigenvalue(L[0], D[0])
        except np.linalg.LinAlgError:  # numbers that are not finite
            return 0.0
        smallest = min(smallest, float(np.min(values)))
    return math.inf if smallest == 0 else -1 / smallest


def _smallest_eigenvalue(L: Float[Array, "n n"], D: Float[Array, "n n"]) -> float:
    """Return nearly the smallest eigenvalue of L D Lᵀ, by the method of Lanczos, rather too small a number."""
    vector = np.random.default_rng(0).normal(size=len(D))
    vector /= np.linalg.norm(vector)
    previous, size = np.zeros(len(D)), 0.0
    T = np.zeros((N_LANCZOS_STEPS, N_LANCZOS_STEPS))
    for k in range(N_LANCZOS_STEPS):
        image = L @ (D @ (vector @ L)) - size * previous
        T[k, k] = image @ vector
        image -= T[k, k] * vector
        size = float(np.linalg.norm(image))
        if k % N_UNTRIED_STEPS == N_UNTRIED_STEPS - 1 or not size > 0:
            values, vectors = np.linalg.eigh(T[: k + 1, : k + 1])
            error = size * abs(float(vectors[k, 0]))
            if error <= LANCZOS_ERROR * abs(values[0]) or values[0] - error > -STEP_FRACTION:
                return float(values[0]) - error
        if k + 1 < N_LANCZOS_STEPS:
            T[k, k + 1] = T[k + 1, k] = size
        previous, vector = vector, image / size
    return float(np.linalg.eigvalsh(L @ D @ L.T)[0])
