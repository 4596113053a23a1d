"""The proof of the interval of a conic program, by the rows and cones of the program, so that it can be saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.exact_optimum import ExactOptimum, RationalProof, exact_optimum_of
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer, solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, SlackElimination, equations_and_rows
from boostopt.problem_certificates.cone_proofs.cone_form_interval import UNBOUNDED, FormCertifier, FormInterval
from boostopt.problem_certificates.cone_proofs.dual_bound import Multipliers
from boostopt.problem_certificates.cone_proofs.exact_interval import has_floats, nearest_floats


@dataclass(frozen=True, eq=False)
class ProgramMultipliers:
    """Multipliers of a conic program, near those that prove a lower bound.

    Attributes
    ----------
    y
        Those of the rows, shape (m,).
    cones
        Those of the cones, as many as each has rows.
    w
        The point of the tangent of the quadratic form, shape (n,).
    exact_cones
        Those of the cones in fractions, where floats do not hold enough of their digits; else None.
    null_vectors
        For each cone a matrix of whole numbers whose columns its multiplier, a matrix, maps to 0; None if they are not
        known. A matrix of the shape (0, 0) says nothing.
    exact_y
        Those of the rows in fractions, where floats lose what cancels in them; else None.
    """

    y: Float[Array, " m"]
    cones: tuple[Float[Array, " _"], ...]
    w: Float[Array, " n"]
    exact_cones: tuple[Sequence[Fraction], ...] | None = None
    null_vectors: tuple[Float[Array, "_ _"], ...] | None = None
    exact_y: Sequence[Fraction] | None = None


@dataclass(frozen=True, eq=False)
class ProgramProof:
    """The proof of a certificate of a conic program; its vectors lie near those that prove it.

    Attributes
    ----------
    program
        The program.
    status
        "infeasible" or "unbounded" if this is proved; else "".
    x
        A feasible point, shape (n,); None if none is proved.
    ray
        A direction of a program that is unbounded, shape (n,); None if there is none.
    multipliers
        The multipliers; None if nothing is proved by them.
    shifts
        Numbers with which the quadratic form is semidefinite, shape (n,); None for a linear objective.
    rational_proof
        The proof of the exact optimum, where it proves the interval or the status; else None.
    exact_x
        The feasible point in fractions, where floats do not hold enough of its digits; else None.
    answer
        The last answer of a solver that was used; None if none was needed. Nothing that it holds is proved.
    """

    program: ConicProgram
    status: str
    x: Float[Array, " n"] | None
    ray: Float[Array, " n"] | None
    multipliers: ProgramMultipliers | None
    shifts: Float[Array, " n"] | None
    rational_proof: RationalProof | None
    exact_x: Sequence[Fraction] | None = None
    answer: ConicAnswer | None = None

    @property
    def exact(self) -> ExactOptimum | None:
        """The exact optimum of the minimum, where it proves the interval or the status; else None."""
        if self.rational_proof is None:
            return None
        return exact_optimum_of(replace(self.program, is_maximized=False), self.rational_proof)


def smaller_answer(elimination: SlackElimination, answer: ConicAnswer) -> ConicAnswer:
    """Return an answer to the whole form of an elimination, which has slack variables, as one to the smaller form."""
    return replace(answer, x=elimination.entries_without_slacks(answer.x), y=np.zeros(0), active=None)


def lifted_interval(elimination: SlackElimination, interval: FormInterval) -> FormInterval:
    """Return the interval of the smaller form of an elimination with the proofs of the whole one."""
    point, ray = interval.multipliers, interval.ray
    return replace(
        interval,
        x=None if interval.x is None else elimination.point(interval.x),
        ray=None if ray is None else elimination.direction(ray),
        multipliers=None
        if point is None
        else replace(
            point, y=elimination.equation_multipliers(point.y, point.cones), w=elimination.nearest_point(point.w)
        ),
    )


def _lifted_answer(elimination: SlackElimination, answer: ConicAnswer) -> ConicAnswer:
    """Return the answer to the smaller form of an elimination as one to the whole form."""
    if not elimination.columns.size:
        return answer  # with its active rows
    lift = elimination.direction if answer.status in UNBOUNDED else elimination.nearest_point
    y = elimination.equation_multipliers(answer.y, answer.cones)
    return replace(answer, x=lift(answer.x), y=y, active=None)


def program_proof(
    program: ConicProgram,
    interval: FormInterval,
    certifier: FormCertifier | None = None,
    elimination: SlackElimination | None = None,
) -> ProgramProof:
    """Return the proof of an interval of a program.

    Parameters
    ----------
    program
        The program.
    interval
        The interval, with the proofs of the whole form.
    certifier, elimination
        Those of an interval that was not proved by the exact optimum alone.
    """
    x = None if interval.x is None else interval.x[0]
    proof = ProgramProof(program, interval.status, x, interval.ray, None, None, interval.exact, interval.exact_x)
    if certifier is None or elimination is None:
        return proof
    multipliers, shifts = interval.multipliers, certifier.shifts
    return replace(
        proof,
        multipliers=None if multipliers is None else _by_rows(program, elimination.whole, multipliers),
        shifts=None if shifts is None else np.maximum(shifts, 0.0),
        answer=None if certifier.answer is None else _lifted_answer(elimination, certifier.answer),
    )


def certified_answer(proof: ProgramProof, form: ConeForm) -> ConicAnswer:
    """Return the answer that a proof certifies: the exact optimum, the last answer of a solver, or a new one.

    Parameters
    ----------
    proof
        The proof of a program.
    form
        The form of the program.
    """
    rational = proof.rational_proof
    numbers = None if rational is None or rational.x is None or rational.y is None else (rational.x, rational.y)
    if numbers is not None and all(map(has_floats, numbers)):
        (x, _), (y, _) = map(nearest_floats, numbers)
        is_equation, is_row = equations_and_rows(proof.program)
        return ConicAnswer(x, y[is_equation], y[is_row], [], "Solved")
    return solve_form(form) if proof.answer is None else proof.answer


def _by_rows(program: ConicProgram, form: ConeForm, multipliers: Multipliers) -> ProgramMultipliers:
    """Return the multipliers of a form by the rows and cones of its program."""
    is_equation, is_row = equations_and_rows(program)
    y = np.zeros(program.shape[0])
    y[is_equation], y[is_row] = multipliers.y, multipliers.rows
    parts: dict[int, Float[Array, " _"]] = {}
    for group, z in zip(form.groups, multipliers.cones, strict=True):
        parts |= dict(zip(group.positions, z.reshape(group.count, group.size), strict=True))
    order = range(len(program.cones))
    exact_parts: dict[int, Sequence[Fraction]] = {}
    for group, values in zip(form.groups, multipliers.exact_cones or (), strict=False):
        exact_parts |= {k: values[i * group.size : (i + 1) * group.size] for i, k in enumerate(group.positions)}
    exact_cones = None if multipliers.exact_cones is None else tuple(exact_parts[k] for k in order)
    null_vectors = None
    if multipliers.face is not None:
        pairs = zip(form.groups, multipliers.face.null_vectors, strict=True)
        vectors = {k: Q for group, matrices in pairs for k, Q in zip(group.positions, matrices, strict=True)}
        null_vectors = tuple(vectors.get(k, np.zeros((0, 0))) for k in order)
    exact_y = None
    if multipliers.exact_y is not None:
        exact_y = list(map(Fraction, y.tolist()))
        for i, value in zip(np.flatnonzero(is_equation).tolist(), multipliers.exact_y, strict=True):
            exact_y[i] = value
    return ProgramMultipliers(y, tuple(parts[k] for k in order), multipliers.w, exact_cones, null_vectors, exact_y)
