"""The table of CVXPY atoms with bounded rounding: their rules, and the layout of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt.errors import ProblemError
from boostopt.functions.formulas.intervals import Interval
from boostopt.functions.minorants.affine_forms import AffineForm, add_forms, broadcast_form, column_entries
from boostopt.functions.minorants.atoms.base import AtomRule
from boostopt.functions.minorants.atoms.cumulative import CumulativeMaximum, CumulativeSum
from boostopt.functions.minorants.atoms.entropies import RelativeEntropyAtom
from boostopt.functions.minorants.atoms.entrywise import (
    Entropy,
    Exponential,
    Huber,
    Logarithm,
    LogarithmOfOnePlus,
    Logistic,
    Power,
)
from boostopt.functions.minorants.atoms.means import GeometricMean, LogSumExp, SmallNorm
from boostopt.functions.minorants.atoms.nonsmooth import LargestSum, Norm, SortedProduct
from boostopt.functions.minorants.atoms.quadratic import QuadraticForm, SquaresOverNumber
from boostopt.functions.minorants.interval_sums import Coefficients
from boostopt.functions.minorants.multiplier_sets import DualNormBall

ENTRYWISE: dict[str, Any] = {
    "exp": Exponential,
    "log": Logarithm,
    "log1p": LogarithmOfOnePlus,
    "entr": Entropy,
    "logistic": Logistic,
}
"""Rules of smooth atoms without parameters, by the name of the atom."""

POWERS = ("Power", "PowerApprox", "power")
"""Names of powers in versions of CVXPY."""

MEANS = ("GeoMean", "GeoMeanApprox", "geo_mean")
"""Names of geometric means in versions of CVXPY."""

NORMS = {"abs": 1.0, "norm1": 1.0, "norm_inf": np.inf}
"""Exponents of norms, by the name of the atom."""

P_NORMS = ("Pnorm", "PnormApprox", "pnorm")
"""Names of p-norms in versions of CVXPY."""

ALL_ATOMS = (
    "exp, log, log1p, entr, logistic, huber, powers, kl_div, rel_entr, log_sum_exp, geo_mean, quad_over_lin, "
    "sum_squares, quad_form, norms of vectors, abs, max, min, sum_largest, dotsort, cumsum, cummax"
)
"""Names of all atoms with a rule, for messages."""


def atom_rule(atom: Any, arguments: Sequence[AffineForm]) -> tuple[AtomRule, list[AffineForm]]:
    """Return the rule of an atom that is not affine, and the arguments in the layout of the rule.

    Raises
    ------
    ProblemError
        The atom has no rule, or an argument that must be constant is not, or the matrix of a quadratic form is not
        semidefinite.
    """
    name = type(atom).__name__ if type(atom).__module__.startswith("cvxpy.") else ""
    if name in ENTRYWISE:
        return ENTRYWISE[name](), list(arguments)
    if name in POWERS:
        return Power(float(np.squeeze(atom.p.value))), list(arguments)
    if name == "huber":
        return Huber(float(np.squeeze(atom.M.value))), list(arguments)
    if name in ("kl_div", "rel_entr"):
        shapes = [argument.shape for argument in atom.args]
        operands = [broadcast_form(form, shape, atom.shape) for form, shape in zip(arguments, shapes, strict=True)]
        return RelativeEntropyAtom(name == "kl_div"), operands
    if name in ("max", "min"):
        return _columnwise_rule(atom, arguments[0], lambda k: LargestSum(k, 1.0, 1 if name == "max" else -1))
    if name in ("maximum", "minimum"):
        return _elementwise_extremum(atom, arguments, 1 if name == "maximum" else -1)
    if name == "sum_largest":
        return _columnwise_rule(atom, arguments[0], lambda k: LargestSum(k, min(float(atom.k), float(k))))
    if name == "abs":
        return Norm(1, 1.0, _dual_ball(atom, np.inf)), list(arguments)
    if name in NORMS or name in P_NORMS:
        return _norm_rule(atom, arguments[0], NORMS.get(name) or float(atom.p))
    if name == "log_sum_exp":
        return _columnwise_rule(atom, arguments[0], LogSumExp)
    if name in MEANS:
        return _columnwise_rule(atom, arguments[0], lambda k: GeometricMean(k, _mean_weights(atom, k)))
    if name == "quad_over_lin":
        rule, (x,) = _columnwise_rule(atom, arguments[0], SquaresOverNumber)
        count = column_entries(atom).shape[1]
        y = arguments[1]
        broadcast_y = y if y.m == count else y.left_multiply(Coefficients.selection(np.zeros(count, int), y.m))
        return rule, [x, broadcast_y]
    if name == "QuadForm":
        return _quadratic_form_rule(atom, arguments)
    if name in ("cumsum", "cummax"):
        return _cumulative_rule(atom, arguments[0], CumulativeSum if name == "cumsum" else CumulativeMaximum)
    if name == "dotsort":
        w = arguments[1]
        if w.is_constant and (w.offset.lower == w.offset.upper).all():
            return SortedProduct(arguments[0].m, w.offset.lower), [arguments[0]]
    raise ProblemError(
        f"{type(atom).__name__} must not stand in a described function: no bound of its rounding is known, so that "
        f"nothing could be proved. Write it with {ALL_ATOMS}."
    )


def _columnwise_rule(atom: Any, form: AffineForm, make: Any) -> tuple[AtomRule, list[AffineForm]]:
    """Return a rule for the columns along the axis of an atom, and the argument in the order of these columns."""
    entries = column_entries(atom)
    return make(len(entries)), [form.left_multiply(Coefficients.selection(entries.ravel(order="F"), form.m))]


def _elementwise_extremum(atom: Any, arguments: Sequence[AffineForm], sign: int) -> tuple[AtomRule, list[AffineForm]]:
    """Return the rule of the elementwise maximum (sign 1) or minimum (sign -1) of several arguments."""
    forms = [broadcast_form(form, a.shape, atom.shape) for form, a in zip(arguments, atom.args, strict=True)]
    k, m = len(forms), atom.size
    columns = [
        form.left_multiply(Coefficients.selection(i + k * np.arange(m), k * m).transposed)
        for i, form in enumerate(forms)
    ]
    return LargestSum(k, 1.0, sign), [add_forms(columns)]


def _dual_ball(atom: Any, q: float) -> DualNormBall:
    """Return the unit ball of the dual norm, with the sign that the curvature of the argument requires."""
    (argument,) = atom.args
    return DualNormBall(q, 0 if argument.is_affine() else 1 if argument.is_convex() else -1)


def _norm_rule(atom: Any, form: AffineForm, p: float) -> tuple[AtomRule, list[AffineForm]]:
    """Return the rule of a p-norm along an axis."""
    if p < 1.0:
        return _columnwise_rule(atom, form, lambda k: SmallNorm(k, p))
    q = np.inf if p == 1.0 else 1.0 if p == np.inf else p / (p - 1.0)
    return _columnwise_rule(atom, form, lambda k: Norm(k, p, _dual_ball(atom, q)))


def _mean_weights(atom: Any, k: int) -> list[Fraction]:
    """Return the weights of a geometric mean of k entries, 0 for those that CVXPY leaves out."""
    indices = np.arange(k)[atom._keep] if hasattr(atom, "_keep") else np.arange(k)
    weights = [Fraction(0)] * k
    for index, w in zip(indices, atom.w, strict=True):
        weights[int(index)] = Fraction(w)
    return weights


def _quadratic_form_rule(atom: Any, arguments: Sequence[AffineForm]) -> tuple[AtomRule, list[AffineForm]]:
    """Return the rule of a quadratic form with a constant matrix."""
    if not arguments[1].is_constant:
        raise ProblemError("the matrix of a quadratic form must be constant; got a variable one. Write it otherwise.")
    P = arguments[1].offset
    n = atom.args[1].shape[0]
    rule = QuadraticForm(Interval(P.lower.reshape((n, n), order="F"), P.upper.reshape((n, n), order="F")))
    if rule.sign == 0:
        raise ProblemError(
            "the matrix of a quadratic form must be positive or negative semidefinite; it could not be proved of one "
            "declared to be so. Symmetrize the matrix, or add a multiple of the unit matrix."
        )
    return rule, [arguments[0]]


def cumulative_order(atom: Any) -> Array | None:
    """Return the position in the result of the rule for each entry of a cumulative atom; None if the order is equal."""
    if type(atom).__name__ not in ("cumsum", "cummax") or len(atom.args[0].shape) < 2:
        return None
    entries = column_entries(atom).ravel(order="F")
    order = np.empty(len(entries), int)
    order[entries] = np.arange(len(entries))
    return order


def _cumulative_rule(atom: Any, form: AffineForm, kind: Any) -> tuple[AtomRule, list[AffineForm]]:
    """Return the rule of a cumulative sum or maximum along an axis."""
    if len(atom.args[0].shape) == 1:
        return kind(form.m), [form]
    if atom.axis is None:
        raise ProblemError(
            f"{type(atom).__name__} of a matrix must have an axis; got none. Reshape the matrix to a vector."
        )
    return _columnwise_rule(atom, form, kind)
