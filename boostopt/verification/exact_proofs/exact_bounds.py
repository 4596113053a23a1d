"""Both bounds of a program in fractions, at weights that are exactly feasible."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from boostopt.programs.program import Program
from boostopt.verification.certificate_writer import parse_written, statement_and_arrays
from boostopt.verification.trusted_kernel.checker import build_regularizer
from boostopt.verification.trusted_kernel.conjugates import SeparableTerm, Vector
from boostopt.verification.trusted_kernel.edge_terms import EdgeTerms, build_edge_terms
from boostopt.verification.trusted_kernel.exact_numbers import Rationals


def bounds_in_fractions(
    program: Program, d: Sequence[Fraction], w: Sequence[Fraction]
) -> tuple[Fraction, Fraction] | None:
    """Return -F*(-Uw) - G*(w) and F(d) + G(Uᵀd); None if d or w is not feasible.

    Parameters
    ----------
    program
        A program whose F and G have rational values.
    d, w
        Example weights, shape (N,), and hypothesis weights, shape (t,).

    Raises
    ------
    ProblemError
        F or G is not one of boostopt with a closed form.
    Irrational
        F or G needs a logarithm, an exponential or a root.
    """
    N, t = program.margins.shape
    if len(d) != N or len(w) != t or not all(type(value) is Fraction for value in (*d, *w)):
        return None
    statement, arrays = statement_and_arrays(program, np.zeros(t))
    claim = {"outcome": "solved", "lower": "-inf", "upper": "inf"}
    document = parse_written({**statement, "claim": claim, "proof": {"beta": 0.0}, "made": {}}, arrays)
    A, U = Rationals(), program.margins.to_cvxpy_constant()
    F, G = build_regularizer(document, A), build_edge_terms(A, document.G)
    example_weights, hypothesis_weights = A.stack(d), A.stack(w)
    is_in_box = bool((example_weights >= F.box.lower).all() and (example_weights <= F.box.upper).all())
    edges = A.edges(U, example_weights)
    if not is_in_box or (F.box.on_simplex and sum(d) != 1) or not (edges <= G.max_edge).all():
        return None
    if not _is_in_domain(G, hypothesis_weights):
        return None
    z = -A.margins(U, hypothesis_weights)
    beta = _simplex_multiplier(F.box, z) if F.box.on_simplex else Fraction(0)
    conjugate = A.total(F.box.conjugates(z - beta)) + beta
    return -conjugate - G.conjugate(hypothesis_weights), F.value(A, example_weights) + G.value(edges)


def _simplex_multiplier(box: SeparableTerm, z: Vector) -> Fraction:
    """Return the multiplier of sum d = 1 for the indicator of a box: the z at which the largest ones fill the mass."""
    mass = Fraction(0)
    for value, cap in sorted(zip(z.tolist(), box.upper.tolist(), strict=True), reverse=True):
        mass += cap
        if mass >= 1:
            return value
    return min(z.tolist())


def _is_in_domain(G: EdgeTerms, w: Vector) -> bool:
    """Return whether hypothesis weights satisfy the constraints of G."""
    if G.weight_constraint == "ball":
        return bool(abs(w).sum() <= 1)
    return bool((w >= 0).all()) and (G.weight_constraint == "positive" or w.sum() == 1)
