"""Checks of the CVXPY expressions of a piece, an F or a G: its values and its cones."""

from __future__ import annotations

from collections.abc import Iterable

from boostopt._utils.array_types import Array, Float
from boostopt.checks.references.cvxpy_references import as_written, cones_used, curvature, minimum
from boostopt.checks.references.measurements import (
    SOLVED,
    Measured,
    Measurements,
    NotAsked,
    Remark,
    apart,
    ask,
    scale_of,
)
from boostopt.checks.references.probes import Probe

UNSTATED = "CVXPY has no expression of the formula"
"""Why a statement for CVXPY is not checked."""


def cvxpy_value(probe: Probe, points: Iterable[Float[Array, " n"]], symbol: str) -> Measurements:
    """A piece and its CVXPY expression have the same value, and the expression is convex by CVXPY's rules."""
    if not probe.stated:
        yield NotAsked(UNSTATED)
        return
    import cvxpy as cp

    model = probe.piece.cvxpy_value
    yield from curvature(model, cp.Variable(probe.n))
    for x in points:
        value, theirs = probe.value(x), minimum(model, x)
        if theirs is None:
            yield Remark("no solver found the value at one argument")
            continue
        what = f"|value({symbol}) - cvxpy_value({symbol})|, value({symbol}) = {value:.9g} and CVXPY's is {theirs:.9g}"
        yield Measured(apart(value, theirs), SOLVED * scale_of(value), what, {symbol: x})


def cones(probe: Probe) -> Measurements:
    """A piece declares all cones that CVXPY needs for it and for its conjugate."""
    if not probe.stated:
        yield NotAsked(UNSTATED)
        return
    import cvxpy as cp

    piece, declared = probe.piece, ask(lambda: probe.piece.cones)
    models = [piece.cvxpy_value, piece.cvxpy_conjugate] if piece.exact else [piece.cvxpy_value]
    for model in models:
        value, constraints = as_written(model, cp.Variable(probe.n))
        missing = cones_used(cp.Problem(cp.Minimize(value), constraints), declared) - declared
        what = f"cones needed but not declared: {', '.join(sorted(missing))}; declared {', '.join(sorted(declared))}"
        yield Measured(float(len(missing)), 0.5, what)
