"""What the formula of a regularizer is made of: d0, the parameters, and the law of copies that it must obey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import is_number, non_negative_weights, number, real_numbers
from boostopt.errors import ProblemError, shown
from boostopt.functions.formulas.compilation import Compiler
from boostopt.functions.formulas.differentiation import replaced
from boostopt.functions.formulas.expressions import FormulaFault, Sum
from boostopt.functions.formulas.inputs import check_parameters, read_text
from boostopt.functions.formulas.parsing import parsed

COPIED = 1e-9
"""Relative agreement of f of k copies with k times f."""

SHARES = (0.137, 0.411, 0.73, 0.94)
"""Places in the box at which copies are counted."""


def read_parameters(parameters: Mapping[str, object], N: int) -> dict[str, float | Array]:
    """Return the parameters: finite floats, or finite arrays of one number for each example."""
    check_parameters(parameters)
    read = dict[str, float | Array]()
    for name, value in parameters.items():
        if is_number(value):
            read[name] = number(name, value, error=ProblemError)
            continue
        expected = f"a finite number, or {N} of them, shape (N,)"
        array = real_numbers(name, value, expected, "Pass such a parameter.", lambda shape: shape == (N,))
        if not np.isfinite(array).all():
            raise ProblemError(f"{name} must be {expected}; it is not finite. Pass such a parameter.")
        read[name] = array
    return read


def read_reference(d0: object, c: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return the reference distribution, c / sum c where none is given."""
    if d0 is None:
        return c / c.sum()
    read = non_negative_weights("d0", d0, len(c))
    if abs(float(read.sum()) - 1.0) > 1e-8:
        raise ProblemError(f"d0 must have the sum 1; got {float(read.sum()):.10g}. Divide it by its sum.")
    return read


def read_formula(text: object, parameters: Mapping[str, float | Array]) -> Sum:
    """Return the formula of one weight.

    Raises
    ------
    ProblemError
        It is no formula in d, d0, c, u and the parameters.
    """
    text = read_text(text)
    numbers = {name: value for name, value in parameters.items() if isinstance(value, float)}
    arrays = {name for name, value in parameters.items() if isinstance(value, np.ndarray)}
    try:
        return parsed(text, numbers, ("d", "d0", "c", "u"), arrays)
    except FormulaFault as fault:
        raise ProblemError(f"the formula {shown(text)} cannot be read: {str(fault).rstrip('.')}.") from fault


def copies_fault(
    text: str, read: Sum, names: Mapping[str, Any], upper: Float[Array, " n"], c: Float[Array, " n"]
) -> str:
    """Return why an example with c_n = k does not count as k copies, "" where it does or where every c_n is 1.

    k copies with a k-th of the weight each have k f(d / k): f(k d; k d0, k c, k u) must be k f(d; d0, c, u).
    """
    if (c == 1.0).all():
        return ""
    own, positive = Compiler("d", {**names, "c": c, "u": upper}), ("d", "d0", "c", "u")
    for copies in ("2", "3", "1/c"):  # the last one leaves one of each
        k = parsed(copies, {}, positive)
        several = own.function(replaced(read, {name: k * parsed(name, {}, positive) for name in positive}))
        number = own.function(k)(upper)
        for share in SHARES:
            d = share * upper
            apart = np.abs(several(d) - number * own.function(read)(d))
            size = COPIED * (number * own.sizes(read)(d) + 1e-300)
            if not (apart <= size).all():
                return (
                    f"the formula {text!r} must count an example with c = k as k copies, f(k d; k d0, k c) = "
                    "k f(d; d0, c); it does not. Write c * f(d / c) for f(d): d**2/c and not d**2."
                )
    return ""
