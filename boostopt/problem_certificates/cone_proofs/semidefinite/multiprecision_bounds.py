"""Both bounds of a small semidefinite program from answers with more digits than floats have, in balls.

The multipliers Z get the reduced costs 0 exactly: for M = Gᵀ (Z (x) Z) G and M d = c - Gᵀ Z, the multipliers
Z + Z (G d) Z have them. Balls enclose d and these multipliers. Cholesky's method in balls, if all pivots are positive,
proves that each symmetric matrix in them is positive definite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np

from boostopt._utils.array_types import Array
from boostopt.problem_certificates.arithmetic.balls import (
    ZERO,
    Ball,
    ball,
    balls,
    dyadic_fractions,
    enclosures,
    midpoints,
    round_down,
    round_up,
)
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm
from boostopt.problem_certificates.cone_proofs.dual_bound import DualBound, Multipliers
from boostopt.problem_certificates.cone_proofs.primal_bound import PointFailure, ProvedPoint
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_answers import (
    PRECISION,
    Matrix,
    PreciseAnswer,
    PreciseBlock,
    lower_factor,
    precise_blocks,
    sum_of_products,
    symmetric,
)

PROOF_PRECISION = 768
"""Bits of the balls: the entries of M have the sizes of squares of the smallest and the largest eigenvalues."""

N_CORRECTIONS = 2
"""Number of corrections of the multipliers before the one that is enclosed."""


def precise_point(form: ConeForm, answer: PreciseAnswer) -> ProvedPoint | PointFailure:
    """Return the point of an answer if it is proved feasible.

    Parameters
    ----------
    form
        A form that `has_precise_answer`.
    answer
        Its answer, of any quality.
    """
    with flint.ctx.workprec(PROOF_PRECISION):
        for k, block in enumerate(precise_blocks(form)):
            if lower_factor(block.image(answer.x) + block.h) is None:
                return PointFailure(f"no slack is proved in {_name(form, k)}")
        return feasible_ball_point(form, answer.x)


def feasible_ball_point(form: ConeForm, x: Sequence[Ball]) -> ProvedPoint | PointFailure:
    """Return a feasible point, given by balls of radius 0, with its objective; or the failure if this overflows."""
    upper = round_up(sum_of_products(balls(form.c), x) + ball(form.offset))
    enclosure = enclosures(x)
    if not (math.isfinite(upper) and np.isfinite(enclosure[1]).all()):
        return PointFailure("the objective overflows")
    return ProvedPoint(enclosure, upper, dyadic_fractions(x))


def precise_bound(form: ConeForm, answer: PreciseAnswer) -> DualBound:
    """Return the bound by multipliers near those of an answer, with the reduced costs 0.

    Parameters
    ----------
    form
        A form that `has_precise_answer`.
    answer
        Its answer, of any quality.
    """
    with flint.ctx.workprec(PROOF_PRECISION):
        return _bound(form, list(answer.Z))


def _bound(form: ConeForm, multipliers: list[Matrix]) -> DualBound:
    failure = DualBound(-math.inf, "no exact solution of the dual equations is proved near the multipliers")
    blocks = precise_blocks(form)
    for _ in range(N_CORRECTIONS + 1):
        # Cholesky reads one triangle, and the bound both: without radii, a symmetric matrix stays one.
        multipliers = [symmetric(matrix) for matrix in multipliers]
        corrected = _corrected(form, blocks, multipliers)
        if corrected is None:
            return failure
        multipliers = corrected
    for k, matrix in enumerate(multipliers):
        if lower_factor(matrix) is None:
            return DualBound(-math.inf, f"the multiplier of {_name(form, k)} is not proved")
    total = ball(form.offset)
    for block, matrix in zip(blocks, multipliers, strict=True):
        total -= sum_of_products(block.h.entries(), matrix.entries())
    lower = round_down(total)
    if not math.isfinite(lower):
        return DualBound(-math.inf, "the bound overflows")
    return DualBound(lower, point=_in_floats(form, multipliers))


def _corrected(form: ConeForm, blocks: Sequence[PreciseBlock], multipliers: list[Matrix]) -> list[Matrix] | None:
    """Return enclosures of multipliers with exact reduced costs, near some of radius 0; None without a proof."""
    gram = [[ZERO] * form.n for _ in range(form.n)]
    residual = balls(form.c)
    negative = [-matrix for matrix in multipliers]
    for block, matrix, opposite in zip(blocks, multipliers, negative, strict=True):
        block.add_gram(gram, matrix, matrix)
        block.add_sums(residual, opposite)
    try:
        d = flint.arb_mat(gram).solve(flint.arb_mat(form.n, 1, residual)).entries()
    except ZeroDivisionError:  # the matrix is not proved regular
        return None
    return [matrix + matrix * block.image(d) * matrix for block, matrix in zip(blocks, multipliers, strict=True)]


def _in_floats(form: ConeForm, multipliers: list[Matrix]) -> Multipliers:
    """Return the floats nearest to multipliers, by the groups of the form, with their digits in fractions."""
    remaining = iter(multipliers)
    cones, exact_cones = list[Array](), list[list[Fraction]]()
    for group in form.groups:
        parts = [next(remaining).entries() for _ in range(group.count)]
        cones.append(np.concatenate([midpoints(part) for part in parts]))
        with flint.ctx.workprec(PRECISION):
            exact_cones.append(dyadic_fractions(+value for part in parts for value in part))
    return Multipliers(np.zeros(0), np.zeros(0), cones, np.zeros(form.n), exact_cones)


def _name(form: ConeForm, k: int) -> str:
    return [name for group in form.groups for name in group.names][k]
