"""The proof of the interval of a conic program, by the rows and cones of the program, so that it can be saved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.exact_optimum import ExactOptimum, RationalProof, exact_optimum_of
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, equations_and_rows
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormInterval
from boostopt.problem_certificates.cone_proofs.dual_bound import Multipliers


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
    """

    y: Float[Array, " m"]
    cones: tuple[Float[Array, " _"], ...]
    w: Float[Array, " n"]


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
    """

    program: ConicProgram
    status: str
    x: Float[Array, " n"] | None
    ray: Float[Array, " n"] | None
    multipliers: ProgramMultipliers | None
    shifts: Float[Array, " n"] | None
    rational_proof: RationalProof | None

    @property
    def exact(self) -> ExactOptimum | None:
        """The exact optimum of the minimum, where it proves the interval or the status; else None."""
        if self.rational_proof is None:
            return None
        return exact_optimum_of(replace(self.program, is_maximized=False), self.rational_proof)


def program_proof(
    program: ConicProgram, form: ConeForm, interval: FormInterval, shifts: Float[Array, " n"] | None
) -> ProgramProof:
    """Return the proof of an interval of a program, from that of its form."""
    multipliers = None if interval.multipliers is None else _by_rows(program, form, interval.multipliers)
    x = None if interval.x is None else interval.x[0]
    positive_shifts = None if shifts is None else np.maximum(shifts, 0.0)
    return ProgramProof(program, interval.status, x, interval.ray, multipliers, positive_shifts, interval.exact)


def _by_rows(program: ConicProgram, form: ConeForm, multipliers: Multipliers) -> ProgramMultipliers:
    """Return the multipliers of a form by the rows and cones of its program."""
    is_equation, is_row = equations_and_rows(program)
    y = np.zeros(program.shape[0])
    y[is_equation], y[is_row] = multipliers.y, multipliers.rows
    parts = dict[int, Float[Array, " _"]]()
    for group, z in zip(form.groups, multipliers.cones, strict=True):
        parts |= dict(zip(group.positions, np.split(z, group.count), strict=True))
    return ProgramMultipliers(y, tuple(parts[k] for k in range(len(program.cones))), multipliers.w)
