"""Points of a semidefinite program whose dual has no interior, from answers to its reduced form.

Let all multipliers map the columns of Q to 0, and let V span their orthogonal space. The reduced form only asks that
Vᵀ (G x + h) V is positive semidefinite. Along a direction d with Vᵀ (G d) V = 0, this matrix and the objective stay as
they are. If Qᵀ (G d) Q is positive definite, then G (x + t d) + h is positive definite for all large t, by its Schur
complement. The optimum often lies at infinity: t grows like 1 over the smallest eigenvalue of the reduced matrix, and
floats do not hold both. So the points are balls of radius 0, and balls prove that their matrices are semidefinite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import flint
import numpy as np
import scipy.linalg

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, balls, enclosures
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm
from boostopt.problem_certificates.cone_proofs.cone_membership import is_semidefinite, scaling_exponents
from boostopt.problem_certificates.cone_proofs.primal_bound import PointFailure, ProvedPoint
from boostopt.problem_certificates.cone_proofs.semidefinite.dual_faces import ReducedForm
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_answers import PRECISION, Matrix
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_bounds import feasible_ball_point

N_CORRECTIONS = 3
"""Number of corrections of the reduced matrices: each one removes the rounding errors of those before."""

CHANGE_WEIGHT = 1e-3
"""Weight of the size of a change, compared with the size of the entries off both blocks."""

LENGTH_FACTOR = 2.0
"""Multiple of the shortest way along the direction: about half of the reduced matrix is left."""

MIN_LENGTH = 1.0
"""Shortest way along the direction, whose matrices have the trace 1."""

REGULARIZATION = 1e-14
"""Multiple of the identity that is added to the scaled normal equations: residuals make up for it."""

STRICTNESS = 2.0**-60
"""Multiple of the identity below which a scaled matrix is not called definite."""


@dataclass(frozen=True, eq=False)
class FaceCone:
    """A semidefinite cone of a form with orthonormal bases of the range of its multipliers and of their kernel.

    Attributes
    ----------
    G, h
        The rows of its entries, and the constants.
    V, Q
        The bases of the range and of the kernel.
    name
        Its name, in words.
    """

    G: Any
    h: Float[Array, " rows"]
    V: Float[Array, "order k"]
    Q: Float[Array, "order r"]
    name: str

    @property
    def order(self) -> int:
        """The order of its matrices."""
        return len(self.V)

    def images(self, columns: Float[Array, "n k"]) -> Float[Array, "k order order"]:
        """Return the matrix G x for each column x."""
        return np.asarray(self.G @ columns).T.reshape(-1, self.order, self.order)

    def value(self, x: Float[Array, " n"]) -> Float[Array, "order order"]:
        """Return G x + h."""
        return self.images(x[:, None])[0] + self.h.reshape(self.order, self.order)

    def ball_image(self, x: Sequence[Ball]) -> Matrix:
        """Return the symmetric part of G x in balls."""
        return _symmetric_part(flint.arb_mat(self.order, self.order, ball_products(self.G, x)))

    def ball_constant(self) -> Matrix:
        """Return the symmetric part of h in balls."""
        return _symmetric_part(flint.arb_mat(self.order, self.order, balls(self.h)))


class FacePoints:
    """The points for answers to a reduced form.

    Parameters
    ----------
    form
        The original form, without equations.
    reduced
        Its reduced form.
    direction
        Nearly a direction along which the reduced matrices stay as they are, as of `recession_direction`.
    """

    def __init__(self, form: ConeForm, reduced: ReducedForm, direction: Float[Array, " n"]) -> None:
        self._form, self._reduced = form, reduced
        self._cones = list(_face_cones(form, reduced))
        dropped = np.setdiff1d(np.arange(form.n), reduced.columns)
        self._images_transposed: Any = reduced.images[:, reduced.columns].T.tocsr()
        gram = reduced.gram[np.ix_(reduced.columns, reduced.columns)]
        scales = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
        self._scales, self._gram = scales[:, None], gram * np.outer(scales, scales)
        self._factor = scipy.linalg.cho_factor(self._gram + REGULARIZATION * np.eye(len(gram)))
        # The columns of this matrix are changes that no reduced matrix sees.
        self._changes = np.zeros((form.n, len(dropped)))
        self._changes[dropped] = np.eye(len(dropped))
        self._changes[reduced.columns] = -self._solve(reduced.gram[np.ix_(reduced.columns, dropped)])
        self._direction = self._changes @ direction[dropped]

    def point(self, answer: ConicAnswer) -> ProvedPoint | PointFailure:
        """Return the point for an answer to the reduced form if it is proved feasible."""
        start = np.zeros(self._form.n)
        start[self._reduced.columns] = answer.x
        change = self._change(start)
        if change is None or not np.isfinite(change).all():
            return PointFailure("no way from a point of the reduced form into the cones is found")
        with flint.ctx.workprec(PRECISION):
            x = [a + b for a, b in zip(balls(start), self._corrected(change), strict=True)]
            return proved_ball_point(self._form, self._cones, x)

    def _solve(self, sides: Float[Array, "n k"]) -> Float[Array, "n k"]:
        """Return the changes of the reduced variables whose reduced matrices are nearest to some."""
        scaled = self._scales * sides
        result = scipy.linalg.cho_solve(self._factor, scaled)
        result = result + scipy.linalg.cho_solve(self._factor, scaled - self._gram @ result)
        return self._scales * result

    def _change(self, start: Float[Array, " n"]) -> Float[Array, " n"] | None:
        """Return nearly a change into the cones that the reduced matrices do not see; None if there is none."""
        if not self._changes.shape[1]:
            return None
        cones = [cone for cone in self._cones if cone.Q.shape[1]]
        roots, systems, sides = list[Array](), list[Array](), list[Array]()
        for cone in cones:
            values, vectors = np.linalg.eigh(cone.V.T @ cone.value(start) @ cone.V)
            if not (values > 0).all():
                return None
            roots.append((vectors / np.sqrt(values)).T @ cone.V.T)
            systems.append((roots[-1] @ cone.images(self._changes) @ cone.Q).reshape(self._changes.shape[1], -1).T)
            sides.append(-(roots[-1] @ cone.value(start) @ cone.Q).ravel())
        # The blocks between both spaces become small in the metric of the reduced matrices.
        sizes = CHANGE_WEIGHT * np.diag(np.linalg.norm(self._changes, axis=0))
        system, side = np.vstack([*systems, sizes]), np.concatenate([*sides, np.zeros(len(sizes))])
        if not (np.isfinite(system).all() and np.isfinite(side).all()):
            return None
        solution: Any = scipy.linalg.lstsq(system, side)
        change = self._changes @ solution[0]
        length = self._length_of_rows(start + change)
        for cone, root in zip(cones, roots, strict=True):
            matrix = cone.value(start + change)
            mixed = root @ matrix @ cone.Q
            need = mixed.T @ mixed - cone.Q.T @ matrix @ cone.Q
            along = cone.Q.T @ cone.images(self._direction[:, None])[0] @ cone.Q
            try:
                length = max(length, float(scipy.linalg.eigh(need, along, eigvals_only=True)[-1]))
            except (np.linalg.LinAlgError, ValueError):  # the direction is on the boundary, or products overflow
                return None
        return change + max(LENGTH_FACTOR * length, MIN_LENGTH) * self._direction

    def _length_of_rows(self, x: Float[Array, " n"]) -> float:
        """Return nearly the length of the way after which all rows of the form hold that change along it."""
        form, is_zero = self._form, self._reduced.face.is_zero_row
        values, slopes = (form.R @ x)[is_zero], (form.R @ self._direction)[is_zero]
        ends = np.where(slopes > 0, form.row_lower[is_zero], form.row_upper[is_zero])
        lengths = (ends - values) / slopes
        return float(lengths[np.isfinite(lengths)].max(initial=0.0))

    def _corrected(self, change: Float[Array, " n"]) -> list[Ball]:
        """Return a change near one that hardly changes the reduced matrices."""
        result, columns = balls(change), self._reduced.columns.tolist()
        rows = self._form.R[~self._reduced.face.is_zero_row]
        for _ in range(N_CORRECTIONS):
            residual = [float(value) for value in ball_products(rows, result)]
            for cone in self._cones:
                V = matrix_of(cone.V)
                residual += [float(value) for value in (V.transpose() * cone.ball_image(result) * V).entries()]
            step = -self._solve((self._images_transposed @ np.array(residual))[:, None])[:, 0]
            for j, value in zip(columns, balls(step), strict=True):
                result[j] += value
        return [value.mid() for value in result]


def _face_cones(form: ConeForm, reduced: ReducedForm) -> Iterator[FaceCone]:
    """Yield the cones of a form with the bases of its reduced form."""
    for group, bases in zip(form.groups, reduced.bases, strict=True):
        for k, (V, name) in enumerate(zip(bases, group.names, strict=True)):
            part = slice(k * group.size, (k + 1) * group.size)
            Q = scipy.linalg.null_space(V.T) if V.shape[1] else np.eye(len(V))
            yield FaceCone(group.G[part], group.h[part], V, Q, name)


def proved_ball_point(form: ConeForm, cones: Sequence[FaceCone], x: Sequence[Ball]) -> ProvedPoint | PointFailure:
    """Return a point if it is proved feasible. A matrix S is positive definite if Wᵀ S W is, for any square W.

    Parameters
    ----------
    form
        A form without equations.
    cones
        All its cones, which are semidefinite, with any bases.
    x
        The point; the midpoints of the balls are used.
    """
    x = [value.mid() for value in x]
    for values, low, high, names in (
        (x, form.lower, form.upper, form.column_names),
        (ball_products(form.R, x), form.row_lower, form.row_upper, form.row_names),
    ):
        for value, smallest, largest, name in zip(values, balls(low), balls(high), names, strict=True):
            if not (value >= smallest and value <= largest):
                return PointFailure(f"no slack is proved in {name}")
    for cone in cones:
        matrix = cone.ball_image(x) + cone.ball_constant()
        if not _is_definite(matrix, matrix_of(np.hstack([cone.V, cone.Q]))):
            return PointFailure(f"no slack is proved in {cone.name}")
    return feasible_ball_point(form, x)


def _is_definite(S: Matrix, W: Matrix) -> bool:
    """Return whether a symmetric matrix of balls is proved positive definite, by Wᵀ S W with a diagonal near 1.

    W must be square. It is regular if the proof succeeds.
    """
    order = S.nrows()
    mids, radii = (part.reshape(order, order) for part in enclosures((W.transpose() * S * W).entries()))
    diagonal = np.diag(mids)
    if not (np.isfinite(radii).all() and (diagonal > 0).all()):
        return False
    # Products with powers of two are exact, but for underflow, which the strictness exceeds by far.
    sums = scaling_exponents(diagonal)
    return is_semidefinite(np.ldexp(mids, sums), np.ldexp(radii, sums) + STRICTNESS * np.eye(order))


def _symmetric_part(X: Matrix) -> Matrix:
    """Return the symmetric part of a matrix, with radii."""
    return (X + X.transpose()) / 2


def ball_products(matrix: Any, x: Sequence[Ball]) -> list[Ball]:
    """Return the products of compressed rows with a vector of balls."""
    results, data, indices = list[Ball](), matrix.data.tolist(), matrix.indices.tolist()
    for start, end in pairwise(matrix.indptr.tolist()):
        total = ZERO
        for k in range(start, end):
            total += x[indices[k]] * data[k]
        results.append(total)
    return results


def matrix_of(entries: Float[Array, "m n"]) -> Matrix:
    """Return floats as a matrix of exact balls."""
    n_rows, n_columns = entries.shape
    return flint.arb_mat(n_rows, n_columns, balls(entries))
