"""CBF, version 3: variables of one sign or free, linear rows with one bound, cones of three kinds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.writers.refusals import refusal

CONTENTS = (
    "linear objectives, variables of one sign, rows with one bound, and second-order, exponential and power cones"
)

CONES = {(True, True): "L=", (True, False): "L+", (False, True): "L-", (False, False): "F"}
"""Cones of numbers by whether they are bounded below and above."""


def cbf_lines(program: ConicProgram) -> Iterator[str]:
    """Yield the lines of a file.

    Raises
    ------
    OptionError
        The format does not hold the program.
    """
    if program.P is not None:
        raise refusal("CBF", CONTENTS, "a quadratic objective")
    if any(cone.kind == "semidefinite" for cone in program.cones):
        raise refusal("CBF", CONTENTS, "a semidefinite constraint")
    bounds = np.concatenate([program.lower, program.upper])
    if (np.isfinite(bounds) & (bounds != 0.0)).any():
        raise refusal("CBF", CONTENTS, "a bound of a variable that is not 0")
    if (
        np.isfinite(program.row_lower) & np.isfinite(program.row_upper) & (program.row_lower != program.row_upper)
    ).any():
        raise refusal("CBF", CONTENTS, "a row with two bounds")
    n = program.shape[1]
    sign = -1.0 if program.is_maximized else 1.0
    exponents = sorted({cone.exponent for cone in program.cones if cone.kind == "power"})
    yield from ("VER", "3", "")
    if exponents:
        yield from ("POWCONES", f"{len(exponents)} {2 * len(exponents)}")
        for exponent in exponents:
            yield from ("2", repr(exponent), _decimal(1 - Fraction(repr(exponent))))
        yield ""
    yield from ("OBJSENSE", "MAX" if program.is_maximized else "MIN", "")
    signs = _runs(program.lower, program.upper)
    yield from ("VAR", f"{n} {len(signs)}", *signs, "")
    rows = [*_runs(program.row_lower, program.row_upper), *_cone_lines(program, exponents)]
    matrices, constants = [program.A], [_row_constants(program)]
    for cone in program.cones:
        order = [2, 1, 0] if cone.kind == "exponential" else slice(None)
        matrices.append(cone.A[order])
        constants.append(cone.b[order])
    A: Any = scipy.sparse.coo_array(scipy.sparse.vstack(matrices, format="csr"))
    b = np.concatenate(constants)
    if len(b):
        yield from ("CON", f"{len(b)} {len(rows)}", *rows, "")
    costs = [(j, cost) for j, cost in enumerate((sign * program.c).tolist()) if cost]
    yield from _section("OBJACOORD", [f"{j} {cost!r}" for j, cost in costs])
    if program.offset:
        yield from ("OBJBCOORD", repr(sign * program.offset), "")
    entries = zip(A.row.tolist(), A.col.tolist(), A.data.tolist(), strict=True)
    yield from _section("ACOORD", [f"{i} {j} {entry!r}" for i, j, entry in sorted(entries)])
    yield from _section("BCOORD", [f"{i} {constant!r}" for i, constant in enumerate(b.tolist()) if constant])


def _section(name: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (name, str(len(lines)), *lines, "")


def _runs(lower: Array, upper: Array) -> list[str]:
    """Return the cones of numbers, with their sizes, in the order of the numbers."""
    kinds = [CONES[bool(a), bool(b)] for a, b in zip(np.isfinite(lower), np.isfinite(upper), strict=True)]
    return [f"{kind} {len(list(run))}" for kind, run in itertools.groupby(kinds)]


def _row_constants(program: ConicProgram) -> Array:
    bounds = np.where(np.isfinite(program.row_lower), program.row_lower, program.row_upper)
    if not np.isfinite(bounds).all():
        raise refusal("CBF", CONTENTS, "a row without bounds")
    return -bounds


def _cone_lines(program: ConicProgram, exponents: Sequence[float]) -> Iterator[str]:
    for cone in program.cones:
        if cone.kind == "second_order":
            yield f"Q {len(cone.b)}"
        else:
            yield "EXP 3" if cone.kind == "exponential" else f"@{exponents.index(cone.exponent)}:POW 3"


def _decimal(value: Fraction) -> str:
    """Return a number whose denominator is a power of 10 without rounding."""
    digits = next(k for k in itertools.count() if 10**k % value.denominator == 0)
    return f"{value.numerator * (10**digits // value.denominator)}e-{digits}"
