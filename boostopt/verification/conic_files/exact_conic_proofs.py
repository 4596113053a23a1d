"""Proofs of conic programs in fractions, near the floats of a certificate.

Equations hold exactly after a small change of some unknowns: those of the rows for a point, and those of the reduced
costs, of columns without bounds, for multipliers. The checker of files evaluates every bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.conic_programs.conic_program import ConeConstraint, ConicProgram
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form, row_norms
from boostopt.problem_certificates.cone_proofs.cone_membership import distances
from boostopt.problem_certificates.cone_proofs.conic_program_proof import ProgramMultipliers
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import equations_with_remainders
from boostopt.problem_certificates.cone_proofs.primal_bound import point_with_sizes
from boostopt.verification.conic_files.conic_statement import triangle_rows
from boostopt.verification.conic_files.rational_equation_solutions import exact_products, solution_near

Values = Sequence[Fraction]

MAX_ROUNDS = 6
"""Largest number of times that columns with reduced costs of the wrong sign get equations."""


@dataclass(frozen=True)
class ExactMultipliers:
    """Multipliers in fractions.

    Attributes
    ----------
    y
        Those of the rows.
    z
        Those of the cones, for the rows that a file states.
    w
        The point of the tangent.
    """

    y: Values
    z: Sequence[Values]
    w: Values


def exact_point(
    program: ConicProgram, x: Float[Array, " n"], exact_x: Sequence[Fraction] | None = None
) -> list[Fraction] | None:
    """Return a point in fractions near a point that satisfies all equations; None if none is computed.

    Parameters
    ----------
    program
        The program.
    x
        The point.
    exact_x
        The point in fractions, where floats do not hold enough of its digits; else None.
    """
    form = cone_form(program)
    start, sizes = point_with_sizes(form, x, 0.0)
    with_remainders = equations_with_remainders(form.E, form.e) if program.cones else None
    matrix, numbers, _ = with_remainders or (form.E, form.e, None)
    sides = [program.to_fraction(side) for side in numbers.tolist()]
    values = [program.to_fraction(value) if is_end else Fraction(value) for value, is_end in _with_ends(program, start)]
    values = values if exact_x is None else exact_x
    return solution_near(matrix, sides, values, sizes, program.to_fraction)


def exact_ray(program: ConicProgram, ray: Float[Array, " n"]) -> list[Fraction] | None:
    """Return a direction in fractions near one of floats along which no equation changes; None if none is computed."""
    form: Any = cone_form(program)
    has_low, has_high = np.isfinite(program.lower), np.isfinite(program.upper)
    ray = np.where(has_low & has_high, 0.0, np.where(has_low, np.maximum(ray, 0.0), ray))
    ray = np.where(has_high & ~has_low, np.minimum(ray, 0.0), ray)
    sizes = np.where(has_low | has_high, np.abs(ray), np.maximum(np.abs(ray), 1.0))
    equations: Any = form.E if program.P is None else scipy.sparse.vstack([form.E, form.P], format="csr")
    zeros = [Fraction(0)] * equations.shape[0]
    return solution_near(equations, zeros, list(map(Fraction, ray.tolist())), sizes, program.to_fraction)


def exact_multipliers(
    program: ConicProgram, multipliers: ProgramMultipliers, has_objective: bool = True
) -> ExactMultipliers | None:
    """Return multipliers in fractions near those of floats, with reduced costs of the right signs; None if none are.

    Parameters
    ----------
    program
        The program.
    multipliers
        The multipliers.
    has_objective
        Whether the reduced costs are those of the objective, and not those of a proof of infeasibility.
    """
    if not has_objective:
        program = replace(program, P=None, c=np.zeros(program.shape[1]))
    system, faces = _reduced_cost_system(program), _face_equations(program, multipliers.null_vectors)
    start, sizes = _start(program, multipliers)
    values = list(map(Fraction, start.tolist()))
    if multipliers.exact_y is not None:
        values[: program.shape[0]] = multipliers.exact_y
    if multipliers.exact_cones is not None:
        place = program.shape[0]
        for cone, exact in zip(program.cones, multipliers.exact_cones, strict=True):
            rows = triangle_rows(cone)
            values[place : place + len(rows)] = [exact[i] for i in rows.tolist()]
            place += len(rows)
    costs = [program.to_fraction(cost) for cost in program.c.tolist()]
    has_low, has_high = np.isfinite(program.lower), np.isfinite(program.upper)
    is_equation: Bool[Array, " n"] = ~has_low & ~has_high
    for _ in range(MAX_ROUNDS):
        rows = np.flatnonzero(is_equation)
        equations: Any = system[rows] if faces is None else scipy.sparse.vstack([system[rows], faces], format="csr")
        sides = [costs[j] for j in rows] + [Fraction(0)] * (equations.shape[0] - len(rows))
        solution = solution_near(equations, sides, values, sizes, program.to_fraction)
        if solution is None:
            return None
        products = exact_products(system, solution, program.to_fraction)
        reduced = [cost - product for cost, product in zip(costs, products, strict=True)]
        signs = np.array([(value > 0) - (value < 0) for value in reduced])
        is_wrong = ((signs > 0) & ~has_low) | ((signs < 0) & ~has_high)
        if not (is_wrong & ~is_equation).any():
            return _parts(program, solution)
        is_equation = is_equation | is_wrong
    return None


def _with_ends(program: ConicProgram, x: Float[Array, " n"]) -> list[tuple[float, bool]]:
    """Return numbers, and whether each is one of its bounds, which mean what the numbers of the program mean."""
    is_end = (x == program.lower) | (x == program.upper)
    return list(zip(x.tolist(), is_end.tolist(), strict=True))


def _reduced_cost_system(program: ConicProgram) -> Any:
    """Return the matrix of multipliers whose product is c minus the reduced costs, in compressed rows."""
    blocks = [program.A.T]
    for cone in program.cones:
        rows = triangle_rows(cone)
        weights = np.where(_are_off_diagonal(cone), 2.0, 1.0)
        blocks.append((scipy.sparse.diags_array(weights) @ cone.A[rows]).T)
    if program.P is not None:
        blocks.append(-program.P)
    return scipy.sparse.csr_array(scipy.sparse.hstack(blocks, format="csr"))


def _face_equations(program: ConicProgram, null_vectors: Sequence[Array] | None) -> Any | None:
    """Return the equations Z q = 0 of the multipliers, in compressed rows; None if there are none."""
    if null_vectors is None or not any(Q.size for Q in null_vectors):
        return None
    blocks: list[Any] = [scipy.sparse.csr_array((0, program.shape[0]))]
    for cone, Q in zip(program.cones, null_vectors, strict=True):
        rows, order = triangle_rows(cone), len(Q)
        parts: list[Any] = [scipy.sparse.csr_array((0, len(rows)))]
        if Q.size:
            positions = np.zeros(order**2, dtype=int)
            positions[rows] = np.arange(len(rows))
            positions = positions.reshape(order, order)
            places = np.repeat(np.arange(order), order), np.maximum(positions, positions.T).ravel()
            parts += [scipy.sparse.coo_array((np.tile(q, order), places), (order, len(rows))) for q in Q.T]
        blocks.append(scipy.sparse.vstack(parts))
    if program.P is not None:
        blocks.append(scipy.sparse.csr_array((0, program.shape[1])))
    return scipy.sparse.block_diag(blocks, format="csr")


def _are_off_diagonal(cone: ConeConstraint) -> Bool[Array, " rows"]:
    """Return which rows that a file states are entries of a matrix off its diagonal."""
    rows = triangle_rows(cone)
    if cone.kind != "semidefinite":
        return np.zeros(len(rows), dtype=bool)
    order = math.isqrt(len(cone.b))
    return np.asarray(rows % order != rows // order)


def _start(program: ConicProgram, multipliers: ProgramMultipliers) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Return all multipliers as one vector, and by how much each may change."""
    form = cone_form(program)
    scale = form.cost_scale
    has_low, has_high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    y = np.where((multipliers.y > 0) & ~has_low, 0.0, multipliers.y)
    y = np.where((y < 0) & ~has_high, 0.0, y)
    norms = np.maximum(row_norms(scipy.sparse.csr_array(program.A)), 1e-12)
    free_sizes = np.maximum(np.abs(y), max(1.0, scale) / norms)
    parts, sizes = [y], [np.where(has_low & has_high, free_sizes, np.abs(y))]
    depths, null_vectors = dict[int, float](), multipliers.null_vectors or [np.zeros((0, 0))] * len(program.cones)
    for group in form.groups:
        z = np.concatenate([multipliers.cones[k] for k in group.positions])
        depths |= dict(zip(group.positions, distances(group, z, is_dual=True).tolist(), strict=True))
    for k, cone in enumerate(program.cones):
        z, rows = multipliers.cones[k], triangle_rows(cone)
        depth = depths[k] if math.isfinite(depths[k]) else 0.0
        if null_vectors[k].size:
            V = scipy.linalg.null_space(null_vectors[k].T)
            image = V.T @ z.reshape(len(V), -1) @ V
            depth = float(np.linalg.eigvalsh((image + image.T) / 2).min(initial=math.inf))
            depth = depth if math.isfinite(depth) else 1.0
        size = np.full(len(z), max(depth, 0.0))
        if cone.kind == "semidefinite":
            matrix = z.reshape(math.isqrt(len(z)), -1)
            z = ((matrix + matrix.T) / 2).ravel()
            if multipliers.exact_cones is not None:
                # The equations hold in nearly all digits: entries change hardly, in proportion to their largest sizes.
                roots = np.sqrt(np.maximum(np.diag(matrix), 0.0))
                size = np.outer(roots, roots).ravel()
        parts.append(z[rows])
        sizes.append(size[rows])
    if program.P is not None:
        has_curvature = np.asarray(abs(program.P) @ np.ones(program.shape[1])) > 0
        parts.append(multipliers.w)
        sizes.append(np.where(has_curvature, np.maximum(1.0, np.abs(multipliers.w)), 0.0))
    return np.concatenate(parts), np.concatenate(sizes)


def _parts(program: ConicProgram, solution: Sequence[Fraction]) -> ExactMultipliers:
    """Return the multipliers of rows and cones, and the point of the tangent."""
    place = program.shape[0]
    y, z = solution[:place], list[Values]()
    for cone in program.cones:
        size = len(triangle_rows(cone))
        z.append(solution[place : place + size])
        place += size
    return ExactMultipliers(y, z, solution[place:])
