"""Constraints of CVXPY by kind: the expression that is <= 0, = 0 or positive semidefinite, its multiplier, its name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.formatting import escape_unprintable
from boostopt.errors import ProblemError
from boostopt.problem_certificates.atoms.cone_inequalities import (
    CONE_DUALS,
    CONSTRAINT_REASONS,
    long_power_cone_inequality,
    power_cone_inequality,
)

SIMPLER_WORDS = (
    (re.compile(r"\[[-+0-9.e\s\[\]]{16,}(?:\]|$)"), "[...]"),
    (re.compile(r"Promote\(([^(),]+), \([^()]*\)\)"), r"\1"),
    (re.compile(r"quad_over_lin\(((?:[^(),]|\([^()]*\))*), 1\.0, None, False\)"), r"sum_squares(\1)"),
    (re.compile(r"(, None)?, False\)"), ")"),
    (re.compile(r"\bSum\("), "sum("),
    (re.compile(r"\bPnorm(Approx)?\("), "norm("),
    (re.compile(r"\bPower(Approx)?\("), "power("),
    (re.compile(r"\bdiag_mat\(([^(),]*), 0\)"), r"diag(\1)"),
    (re.compile(r" \+ -0\.0(?![.0-9])"), ""),
    (re.compile(r" \+ -(?=[^-])"), " - "),
    (re.compile(r"^([-+0-9.e]+) <= (?![-+0-9.e]+$)(.+)$"), r"\2 >= \1"),
)
"""Patterns in the text of a constraint, with what replaces each: long arrays, and what the user did not write."""

MAX_NAME_LENGTH = 48
"""The number of characters of a constraint in its name."""


def constraint_parts(constraint: Any) -> tuple[str, Any, Any]:
    """Return what kind of constraint it is, the expression that is <= 0, = 0 or positive semidefinite, and its dual.

    Raises
    ------
    ProblemError
        The constraint is of a kind that no rule covers.
    """
    name = type(constraint).__name__ if type(constraint).__module__.startswith("cvxpy.") else ""
    dual = present_dual(constraint)
    if name == "Inequality":
        return "inequality", constraint.args[0] - constraint.args[1], dual
    if name == "NonPos":
        return "inequality", constraint.args[0], dual
    if name == "NonNeg":
        return "inequality", -constraint.args[0], dual
    if name == "Equality":
        return "equality", constraint.args[0] - constraint.args[1], dual
    if name == "Zero":
        return "equality", constraint.args[0], dual
    if name == "PSD":
        if len(constraint.args[0].shape) > 2:
            raise ProblemError(
                f"semidefinite constraints must be of one matrix; got shape {constraint.args[0].shape}. Write one "
                "constraint for each matrix."
            )
        return "matrix", constraint.args[0], dual
    if name == "SOC":
        bound, X = constraint.args
        norms = cp.norm(X, 2) if X.ndim <= 1 else cp.norm(X, 2, axis=constraint.axis)
        norms = cp.reshape(norms, bound.shape, order="F") if norms.shape != bound.shape else norms
        return "inequality", norms - bound, dual
    if name == "ExpCone":
        x, y, z = constraint.args
        return "inequality", x + cp.rel_entr(y, z), dual
    if name in ("PowCone3D", "PowCone3DApprox"):
        return "inequality", power_cone_inequality(constraint), dual
    if name == "PowConeND":
        return "inequality", long_power_cone_inequality(constraint), dual
    raise ProblemError(
        "constraints must be inequalities, equalities, semidefinite, second-order, exponential or power cones; got "
        f"{type(constraint).__name__}. {CONSTRAINT_REASONS.get(name, 'Write it with atoms, such as power or norm.')}"
    )


def present_dual(constraint: Any) -> Any:
    """Return the dual that a constraint has now, as the multiplier of what `constraint_parts` returns.

    A cone is one inequality, whose multiplier is one of the duals of the cone, or its size.
    """
    name = type(constraint).__name__
    if name not in CONE_DUALS:
        return getattr(constraint, "dual_value", None)
    dual = constraint.dual_variables[CONE_DUALS[name]].value
    return dual if dual is None or name == "SOC" else np.abs(dual)


def plain_words(text: str) -> str:
    """Return the text of a CVXPY object on one line, without long arrays and without arguments that are not written."""
    words = " ".join(text.split())
    for pattern, replacement in SIMPLER_WORDS:
        words = pattern.sub(replacement, words)
    return escape_unprintable(words)


def constraint_name(problem: Any, constraint: Any) -> str:
    """Return the name of a constraint: its number in the problem, and its label or its beginning.

    An attribute of a variable has the name of the variable.
    """
    words = shortened(getattr(constraint, "label", None) or plain_words(str(constraint)), MAX_NAME_LENGTH)
    numbers = [k for k, item in enumerate(problem.constraints) if item is constraint]
    return f"[{numbers[0]}] {words}" if numbers else words


def shortened(text: str, max_length: int) -> str:
    """Return a text, cut to a number of characters with dots at its end."""
    return text if len(text) <= max_length else f"{text[: max_length - 3]}..."
