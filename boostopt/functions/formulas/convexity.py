"""Proof by interval arithmetic that a formula is convex on a box.

The box is bisected until f'' >= 0 is certain on each piece. Near an end of the box f'' may be infinite. So the proof
also uses f'' times a power of the variable, which has the same sign, and both of them multiplied out. If the proof
fails, the error names a point at which f'' < 0, if one was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from boostopt.functions.formulas.differentiation import differentiate, expand, substitute
from boostopt.functions.formulas.expressions import (
    NONSMOOTH_ALTERNATIVE,
    Expression,
    Factor,
    FormulaError,
    collect_terms,
    iterate_powers,
    power_expression,
)
from boostopt.functions.formulas.intervals import Interval, enclose, exact_interval

MAX_WORK = 2_000_000
"""Maximum number of pieces of all boxes in one round, times the number of powers that are computed on each piece. Four
pieces of each box are always allowed."""

MAX_POWERS = 400
"""Maximum number of powers in f' and in f''. A formula with more powers is rejected, because the formulas of untrusted
files must be checked in seconds."""

MAX_EXPANDED_TERMS = 30
"""Maximum number of terms of an f'' that is also multiplied by powers and multiplied out."""

FIRST_ROUNDS, SIGN_ROUNDS, MAX_ROUNDS = 6, 16, 60
"""Numbers of rounds of bisection: before points are tried, for the sign of an argument, and at most."""

MAX_POINTS = 100_000
"""Maximum number of points, in all boxes together, at which f'' is computed at once."""

TEST_POINTS = np.concatenate([np.geomspace(1e-9, 0.5, 40), 1.0 - np.geomspace(0.4, 1e-9, 40)])
"""Points at which f'' < 0 is tried, as fractions of the box."""


@dataclass(frozen=True, eq=False)
class BoxFamily:
    """Boxes for one variable, one for each of n rows, with the values of the other names in each row.

    Attributes
    ----------
    variable
        The name of the variable.
    low, high
        The ends of the boxes, shape (n,).
    names
        The other names, intervals of shape (n,).
    symbolic_bounds
        The ends as expressions, if they have names. With them, expressions that vanish at an end are exactly 0.
    nonnegative_keys
        Keys of the sums that are not negative in the boxes.
    """

    variable: str
    low: np.ndarray
    high: np.ndarray
    names: Mapping[str, Interval]
    symbolic_bounds: tuple[Expression, ...] = ()
    nonnegative_keys: frozenset[str] = frozenset()

    def names_on(self, piece: Interval, rows: np.ndarray) -> dict[str, Interval]:
        """Return the intervals of all names on pieces of the boxes of some rows."""
        names = {name: Interval(values.lower[rows], values.upper[rows]) for name, values in self.names.items()}
        return {**names, self.variable: piece}

    def enclose_at(self, expression: Expression, x: np.ndarray) -> Interval:
        """Enclose an expression at one point of each box."""
        return enclose(expression, {**self.names, self.variable: exact_interval(x)}, self.nonnegative_keys)


@dataclass(frozen=True)
class ConvexFormula:
    """A convex formula with its derivatives.

    Attributes
    ----------
    value, slope, curvature
        f, f' and f''.
    nonnegative_keys
        Keys of the sums in f that are not negative in its box.
    """

    value: Expression
    slope: Expression
    curvature: Expression
    nonnegative_keys: frozenset[str] = frozenset()


def prove_convex(f: Expression, box: BoxFamily) -> ConvexFormula:
    """Prove that a formula is convex and finite within a box, and return it with its derivatives.

    Raises
    ------
    FormulaError
        The formula has a pole or no slope somewhere, f'' is negative at a point, or the proof failed.
    """
    check_finite(f, box)
    box = replace(box, nonnegative_keys=_nonnegative_sums(f, box))
    slope = differentiate(f, box.variable)
    check_slope(slope)
    check_length(slope)
    curvature = differentiate(slope, box.variable)
    check_length(curvature)
    if _find_undecided_piece([curvature], box, rounds=FIRST_ROUNDS) is not None:
        _check_points(curvature, box)
        undecided = _find_undecided_piece(_equivalent_forms(curvature, box), box)
        if undecided is not None:
            raise FormulaError(
                f"that it is convex could not be proved near {box.variable} = {undecided[0]:.6g}"
                f"{_format_example(box, undecided[1])}. Write it as a sum of convex terms, or state it by CVXPY: "
                f"{NONSMOOTH_ALTERNATIVE}"
            )
    return ConvexFormula(f, slope, curvature, box.nonnegative_keys)


def _format_example(box: BoxFamily, n: int) -> str:
    """Return the index of the example as the end of a clause; "" for edges, which all have the same box."""
    return f" (example {n})" if box.variable == "d" else ""


def check_length(derivative: Expression) -> None:
    """Reject a derivative that takes too long to be computed on many pieces."""
    if sum(1 for _ in iterate_powers(derivative)) > MAX_POWERS:
        raise FormulaError("its derivatives are too long: write it with fewer terms")


def check_slope(slope: Expression) -> None:
    """Reject a derivative with a jump."""
    if any(base.kind == "step" for base, _ in iterate_powers(slope)):
        raise FormulaError(
            "its slope jumps where max(x, 0) begins. Write a function that has a slope, max(x, 0)**2 or huber(x, M); "
            f"or state it by CVXPY, which may have kinks: {NONSMOOTH_ALTERNATIVE}"
        )


def check_finite(f: Expression, box: BoxFamily) -> None:
    """Reject a formula with a logarithm, a quotient or a root of an argument that is not positive within the box."""
    for base, power in iterate_powers(f):
        whole = power.denominator == 1
        if base.kind == "huber" and not _is_provably_positive(base.arguments[1], box):
            raise FormulaError(
                f"M of a huber(x, M) must be positive; that {format_expression(base.arguments[1])} is, is not certain"
            )
        if base.kind == "log":
            _check_positive(base.arguments[0], box, f"the logarithm of {format_expression(base.arguments[0])}")
        if base.kind in ("sum", "real", "huber") and not (whole and power > 0):
            inner = base.arguments[0] if base.kind == "sum" else power_expression(base)
            if not (_is_provably_positive(inner, box) or (whole and _is_provably_positive(-inner, box))):
                _check_positive(inner, box, f"{format_expression(inner)} to the power {power}")
        if base.kind == "log" and not (whole and power > 0):
            raise FormulaError(f"it has a logarithm to the power {power}; only whole powers of logarithms are taken")
        if base.kind == "positive" and power < 1:
            raise FormulaError("a positive part, max(x, 0), must be raised to a power of at least 1")


def _check_positive(inner: Expression, box: BoxFamily, description: str) -> None:
    """Reject an argument that is not positive between the ends of the box."""
    if not _is_provably_positive(inner, box):
        raise FormulaError(
            f"{description} must be defined within the box: that the argument is positive there is not certain. "
            f"Write it with an argument that is linear in d, or state it by CVXPY: {NONSMOOTH_ALTERNATIVE}"
        )


def _is_provably_positive(inner: Expression, box: BoxFamily) -> bool:
    """Return whether an expression is certainly positive between the ends of the box.

    This holds if it is linear and not negative at both bounds, or positive on the whole box.
    """
    if not differentiate(inner, box.variable).depends_on(box.variable):
        bounds = [_enclose_at_bound(inner, box, end) for end in (0, 1)]
        both = bounds[0] + bounds[1]
        return bool(((bounds[0].lower >= 0) & (bounds[1].lower >= 0) & (both.lower > 0)).all())
    return _find_undecided_piece([inner], box, strict=True, rounds=SIGN_ROUNDS) is None


def _enclose_at_bound(expression: Expression, box: BoxFamily, end: int) -> Interval:
    """Enclose an expression at an end of the boxes, exactly if the end has a name."""
    if box.symbolic_bounds:
        enclosure = enclose(substitute(expression, {box.variable: box.symbolic_bounds[end]}), box.names)
        return Interval(
            np.broadcast_to(enclosure.lower, box.low.shape), np.broadcast_to(enclosure.upper, box.low.shape)
        )
    enclosure = box.enclose_at(expression, (box.low, box.high)[end])
    return Interval(np.broadcast_to(enclosure.lower, box.low.shape), np.broadcast_to(enclosure.upper, box.low.shape))


def _nonnegative_sums(f: Expression, box: BoxFamily) -> frozenset[str]:
    """Return the keys of the sums in a formula that are linear and not negative in the box."""
    sums = {base.arguments[0].key: base.arguments[0] for base, _ in iterate_powers(f) if base.kind == "sum"}
    linear = {
        key: inner for key, inner in sums.items() if not differentiate(inner, box.variable).depends_on(box.variable)
    }
    return frozenset(key for key, inner in linear.items() if _is_provably_positive(inner, box))


def _equivalent_forms(expression: Expression, box: BoxFamily) -> list[Expression]:
    """Return expressions with the sign of f'': times powers that cancel divisions, and both forms multiplied out."""
    if len(expression.terms) > MAX_EXPANDED_TERMS:
        return [expression]
    shifted = expression
    for base in {base.key: base for term in expression.terms for base, _ in term.factors}.values():
        positive = base.kind == "name" or (base.kind == "sum" and base.arguments[0].key in box.nonnegative_keys)
        min_power = min(dict(term.factors).get(base, Fraction(0)) for term in expression.terms)
        if positive and min_power < 0:
            shifted = collect_terms(
                term
                for form in shifted.terms
                for term in (Expression((form,)) * power_expression(base, -min_power)).terms
            )
    forms = [expression, shifted]
    for form in (expression, shifted):
        try:
            forms.append(expand(form))
        except FormulaError:  # too long when multiplied out: other forms may suffice
            continue
    return list(dict.fromkeys(forms))


def _find_undecided_piece(
    candidates: list[Expression], box: BoxFamily, strict: bool = False, rounds: int = MAX_ROUNDS
) -> tuple[float, int] | None:
    """Return a piece on which no candidate is certainly >= 0 (> 0 if strict), None if there is no such piece.

    Returns
    -------
    The middle of the piece and its row.
    """
    rows = np.arange(len(box.low))
    piece = Interval(box.low[rows], box.high[rows])
    powers = 1 + sum(1 for candidate in candidates for _ in iterate_powers(candidate))
    max_pieces = max(MAX_WORK // powers, 4 * len(rows))
    for _ in range(rounds):
        names, is_nonnegative = box.names_on(piece, rows), np.zeros(len(rows), dtype=bool)
        for candidate in candidates:
            low = enclose(candidate, names, box.nonnegative_keys).lower
            is_nonnegative = is_nonnegative | ((low > 0) if strict else (low >= 0))
        if is_nonnegative.all():
            return None
        rows, low, high = rows[~is_nonnegative], piece.lower[~is_nonnegative], piece.upper[~is_nonnegative]
        middle = _split_point(low, high)
        at_resolution = (middle <= low) | (middle >= high)
        if at_resolution.any() or 2 * len(rows) > max_pieces:
            break
        rows = np.concatenate([rows, rows])
        piece = Interval(np.concatenate([low, middle]), np.concatenate([middle, high]))
    return float(piece.lower[-1] + 0.5 * (piece.upper[-1] - piece.lower[-1])), int(rows[-1])


def _split_point(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the points at which pieces are halved: geometric means if the ends differ by a factor, else midpoints."""
    with np.errstate(all="ignore"):
        even = 0.5 * (low + high)
        return np.where((low > 0) & (high > 4.0 * low), np.sqrt(low) * np.sqrt(high), even)


def _check_points(curvature: Expression, box: BoxFamily) -> None:
    """Reject a formula if f'' < 0 at a point of a grid."""
    rows = np.arange(len(box.low))
    for fractions in np.array_split(TEST_POINTS, min(len(TEST_POINTS), 1 + TEST_POINTS.size * rows.size // MAX_POINTS)):
        x = (box.low + fractions[:, None] * (box.high - box.low)).ravel()
        names = box.names_on(exact_interval(x), np.tile(rows, len(fractions)))
        bends = np.broadcast_to(enclose(curvature, names, box.nonnegative_keys).upper, x.shape)
        is_negative = bends < 0
        if is_negative.any():
            k = int(np.argmax(is_negative)) // rows.size * rows.size  # the first point at which a row is negative
            k += int(np.argmin(bends[k : k + rows.size]))
            raise FormulaError(
                f"it must be convex; its second derivative is {bends[k]:.6g} at {box.variable} = {x[k]:.6g}"
                f"{_format_example(box, k % rows.size)}. "
                f"Correct it{', or make the box smaller' if box.variable == 'd' else ''}"
            )


def format_expression(expression: Expression) -> str:
    """Return an expression as a short text for a message."""
    parts = list[str]()
    for term in expression.terms:
        factors = [_format_base(base) + ("" if power == 1 else f"**{power}") for base, power in term.factors]
        number = [f"{float(term.coefficient):.6g}"] if term.coefficient != 1 or not factors else []
        parts.append("*".join([*number, *factors]))
    text = " + ".join(parts) or "0"
    return text if len(text) <= 60 else text[:57] + "..."


def _format_base(base: Factor) -> str:
    """Return a base as a text."""
    if base.kind == "sum":
        return f"({format_expression(base.arguments[0])})"
    return base.name or (
        f"{base.kind}({', '.join(map(format_expression, base.arguments))})" if base.arguments else str(base.number)
    )
