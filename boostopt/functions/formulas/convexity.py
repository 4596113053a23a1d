"""Whether a formula is convex on a box: proved by intervals that are halved until f'' >= 0 is certain on each.

Near an end of the box f'' may be infinite, so its sign is asked of f'' times a power of the variable as well, and of
both multiplied out. A formula is refused in words, by a point at which f'' < 0 where there is one.
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
"""Pieces of all boxes in one round, times the powers that are computed on each; four pieces of a box in any case."""

MAX_POWERS = 400
"""Powers in f' and in f'': a text that makes more is refused; what comes from strangers must be judged in seconds."""

MAX_EXPANDED_TERMS = 30
"""Terms up to which f'' is also multiplied by powers, and out."""

FIRST_ROUNDS, SIGN_ROUNDS, MAX_ROUNDS = 6, 16, 60
"""Rounds of halving: before points are tried, for the sign of an argument, and at most."""

TEST_POINTS = np.concatenate([np.geomspace(1e-9, 0.5, 40), 1.0 - np.geomspace(0.4, 1e-9, 40)])
"""Places in a box at which a point is looked for where f'' < 0."""


@dataclass(frozen=True, eq=False)
class BoxFamily:
    """A box for one variable, and what the other names stand for in each of its rows.

    Attributes
    ----------
    variable
        The name of the variable.
    low, high
        Ends of the box, shape (n,).
    names
        The other names, intervals of shape (n,).
    symbolic_bounds
        The names that the ends have, if they have: at them sums vanish exactly.
    nonnegative_keys
        Keys of sums that are not negative in the box.
    """

    variable: str
    low: np.ndarray
    high: np.ndarray
    names: Mapping[str, Interval]
    symbolic_bounds: tuple[Expression, ...] = ()
    nonnegative_keys: frozenset[str] = frozenset()

    def names_on(self, piece: Interval, rows: np.ndarray) -> dict[str, Interval]:
        """Return all names on pieces of some rows' boxes."""
        own = {name: Interval(values.lower[rows], values.upper[rows]) for name, values in self.names.items()}
        return {**own, self.variable: piece}

    def enclose_at(self, of: Expression, x: np.ndarray) -> Interval:
        """Return a sum at one point of each box."""
        return enclose(of, {**self.names, self.variable: exact_interval(x)}, self.nonnegative_keys)


@dataclass(frozen=True)
class ConvexFormula:
    """A convex formula with its first two derivatives, and the keys of sums that are not negative in its box."""

    value: Expression
    slope: Expression
    curvature: Expression
    known: frozenset[str] = frozenset()


def prove_convex(f: Expression, box: BoxFamily) -> ConvexFormula:
    """Return a formula with its derivatives, once it is proved to be convex and finite within a box.

    Raises
    ------
    FormulaError
        It is not: it has a pole or no slope somewhere, its f'' is negative at a point, or it cannot be told.
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
                f"{_example_suffix(box, undecided[1])}. Write it as a sum of convex terms, or state it by CVXPY: {NONSMOOTH_ALTERNATIVE}"
            )
    return ConvexFormula(f, slope, curvature, box.nonnegative_keys)


def _example_suffix(box: BoxFamily, n: int) -> str:
    """Return which example a fault is in, as the end of a clause; all edges have one box."""
    return f" (example {n})" if box.variable == "d" else ""


def check_length(derived: Expression) -> None:
    """Refuse a derivative that takes too long to be computed on many pieces."""
    if sum(1 for _ in iterate_powers(derived)) > MAX_POWERS:
        raise FormulaError("its derivatives are too long: write it with fewer terms")


def check_slope(slope: Expression) -> None:
    """Refuse a slope that jumps."""
    if any(base.kind == "step" for base, _ in iterate_powers(slope)):
        raise FormulaError(
            "its slope jumps where max(x, 0) begins. Write a function that has a slope, max(x, 0)**2 or huber(x, M); "
            f"or state it by CVXPY, which may have kinks: {NONSMOOTH_ALTERNATIVE}"
        )


def check_finite(f: Expression, box: BoxFamily) -> None:
    """Refuse a formula with a logarithm, a quotient or a root of what is not positive within the box."""
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


def _check_positive(inner: Expression, box: BoxFamily, what: str) -> None:
    """Refuse what is not positive between the ends of the box."""
    if not _is_provably_positive(inner, box):
        raise FormulaError(
            f"{what} must be defined within the box: that the argument is positive there is not certain. "
            f"Write it with an argument that is linear in d, or state it by CVXPY: {NONSMOOTH_ALTERNATIVE}"
        )


def _is_provably_positive(inner: Expression, box: BoxFamily) -> bool:
    """Whether a sum is certainly positive between the ends: linear and not negative at them, or positive all over."""
    if not differentiate(inner, box.variable).depends_on(box.variable):
        ends = [_at_end(inner, box, end) for end in (0, 1)]
        both = ends[0] + ends[1]
        return bool(((ends[0].lower >= 0) & (ends[1].lower >= 0) & (both.lower > 0)).all())
    return _find_undecided_piece([inner], box, strict=True, rounds=SIGN_ROUNDS) is None


def _at_end(of: Expression, box: BoxFamily, end: int) -> Interval:
    """Return a sum at an end of the boxes, exactly where the end has a name."""
    if box.symbolic_bounds:
        made = enclose(substitute(of, {box.variable: box.symbolic_bounds[end]}), box.names)
        return Interval(np.broadcast_to(made.lower, box.low.shape), np.broadcast_to(made.upper, box.low.shape))
    made = box.enclose_at(of, (box.low, box.high)[end])
    return Interval(np.broadcast_to(made.lower, box.low.shape), np.broadcast_to(made.upper, box.low.shape))


def _nonnegative_sums(f: Expression, box: BoxFamily) -> frozenset[str]:
    """Return the keys of those sums in a formula that are linear and not negative in the box."""
    sums = {base.arguments[0].key: base.arguments[0] for base, _ in iterate_powers(f) if base.kind == "sum"}
    linear = {
        key: inner for key, inner in sums.items() if not differentiate(inner, box.variable).depends_on(box.variable)
    }
    return frozenset(key for key, inner in linear.items() if _is_provably_positive(inner, box))


def _equivalent_forms(of: Expression, box: BoxFamily) -> list[Expression]:
    """Return sums that have the sign of f'': multiplied out, and times positive powers by which nothing is divided."""
    if len(of.terms) > MAX_EXPANDED_TERMS:
        return [of]
    shifted = of
    for base in {base.key: base for term in of.terms for base, _ in term.factors}.values():
        positive = base.kind == "name" or (base.kind == "sum" and base.arguments[0].key in box.nonnegative_keys)
        least = min(dict(term.factors).get(base, Fraction(0)) for term in of.terms)
        if positive and least < 0:
            shifted = collect_terms(
                term for each in shifted.terms for term in (Expression((each,)) * power_expression(base, -least)).terms
            )
    made = [of, shifted]
    for each in (of, shifted):
        try:
            made.append(expand(each))
        except FormulaError:  # too long when multiplied out: the others may do
            continue
    return list(dict.fromkeys(made))


def _find_undecided_piece(
    candidates: list[Expression], box: BoxFamily, strict: bool = False, rounds: int = MAX_ROUNDS
) -> tuple[float, int] | None:
    """Return a piece, by its middle and its row, on which no candidate is certainly >= 0; None where all are."""
    rows = np.arange(len(box.low))
    piece = Interval(box.low[rows], box.high[rows])
    powers = 1 + sum(1 for of in candidates for _ in iterate_powers(of))
    most = max(MAX_WORK // powers, 4 * len(rows))
    for _ in range(rounds):
        names, certain = box.names_on(piece, rows), np.zeros(len(rows), dtype=bool)
        for of in candidates:
            low = enclose(of, names, box.nonnegative_keys).lower
            certain = certain | ((low > 0) if strict else (low >= 0))
        if certain.all():
            return None
        rows, low, high = rows[~certain], piece.lower[~certain], piece.upper[~certain]
        middle = _middle(low, high)
        stuck = (middle <= low) | (middle >= high)
        if stuck.any() or 2 * len(rows) > most:
            break
        rows = np.concatenate([rows, rows])
        piece = Interval(np.concatenate([low, middle]), np.concatenate([middle, high]))
    return float(piece.lower[-1] + 0.5 * (piece.upper[-1] - piece.lower[-1])), int(rows[-1])


def _middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return where pieces are cut: by their sizes where the ends are of different ones."""
    with np.errstate(all="ignore"):
        even = 0.5 * (low + high)
        return np.where((low > 0) & (high > 4.0 * low), np.sqrt(low) * np.sqrt(high), even)


def _check_points(curvature: Expression, box: BoxFamily) -> None:
    """Refuse a formula by a point of a grid at which f'' < 0, if there is one."""
    for share in TEST_POINTS:
        x = box.low + share * (box.high - box.low)
        bend = box.enclose_at(curvature, x)
        high = np.broadcast_to(bend.upper, x.shape)
        if (high < 0).any():
            n = int(np.argmin(high))
            raise FormulaError(
                f"it must be convex; its second derivative is {high[n]:.6g} at {box.variable} = {x[n]:.6g}"
                f"{_example_suffix(box, n)}. Correct it{', or make the box smaller' if box.variable == 'd' else ''}"
            )


def format_expression(of: Expression) -> str:
    """Return a sum as a short text for a message."""
    parts = list[str]()
    for term in of.terms:
        factors = [_printed(base) + ("" if power == 1 else f"**{power}") for base, power in term.factors]
        number = [f"{float(term.coefficient):.6g}"] if term.coefficient != 1 or not factors else []
        parts.append("*".join([*number, *factors]))
    text = " + ".join(parts) or "0"
    return text if len(text) <= 60 else text[:57] + "..."


def _printed(base: Factor) -> str:
    """Return a base as a text."""
    if base.kind == "sum":
        return f"({format_expression(base.arguments[0])})"
    return base.name or (
        f"{base.kind}({', '.join(map(format_expression, base.arguments))})" if base.arguments else str(base.number)
    )
