"""An edge function as one formula: G(e) = sum_q g(e_q) on [-1, 1].

The edges of weights on the simplex lie in this interval. As for a regularizer, boostopt reads and differentiates the
formula and proves that it is convex. For ANY x in [-1, 1],

    g*(w) <= w x - g(x) + max(w - g'(x), 0) (1 - x) + max(g'(x) - w, 0) (1 + x),

and Newton's method finds an x near the maximizer. Values and slopes are intervals that contain the exact ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt._utils.cvxpy_tools import cp, required_cones
from boostopt.errors import ProblemError, reason_of
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.edge_functions.base import EdgeFunction, Epigraph, clip_to_finite, nonnegative_residuals
from boostopt.functions.formulas.compilation import ArrayFunction, Compiler
from boostopt.functions.formulas.conjugate_maximizers import MonotoneDerivative
from boostopt.functions.formulas.convexity import BoxFamily, ConvexFormula, prove_convex
from boostopt.functions.formulas.cvxpy_translation import to_cvxpy
from boostopt.functions.formulas.expressions import FormulaError, constant_expression
from boostopt.functions.formulas.formula_and_conjugate_bounds import Tangents
from boostopt.functions.formulas.formula_validation import (
    INTERIOR_CONE,
    check_number_parameters,
    empty_parameters,
    formula_latex,
    formula_text,
    read_text,
)
from boostopt.functions.formulas.intervals import Interval, allowance, exact_interval
from boostopt.functions.formulas.parsing import parse_formula

EDGE_BOX = np.array([-1.0]), np.array([1.0])
"""The box of one edge."""


@dataclass(frozen=True, eq=False)
class FormulaEdges(EdgeFunction):
    """The sum of one formula over the edges, on [-1, 1]^t; `edge_formula` constructs it.

    Use it with regularizers whose weights sum to at most 1.

    Parameters
    ----------
    text
        The formula, in e and the parameters.
    parameters
        The values of the parameters by name, numbers.

    Raises
    ------
    ProblemError
        The text is not a formula, or g is not convex on [-1, 1].
    """

    text: str
    parameters: Mapping[str, float] = field(default_factory=empty_parameters)

    kind: ClassVar[str] = "formula"
    has_closed_form_conjugate = False
    """G* has bounds, but no CVXPY expression."""

    _formula: ConvexFormula = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", check_number_parameters(self.parameters))
        try:
            expression = parse_formula(read_text(self.text), self.parameters, (), ("e",), "e")
            formula = prove_convex(
                expression, BoxFamily("e", *EDGE_BOX, {}, (constant_expression(-1), constant_expression(1)))
            )
        except FormulaError as fault:
            raise ProblemError(
                f"the formula {self.text!r} of an edge is not allowed: {reason_of(fault)}. Correct it."
            ) from fault
        object.__setattr__(self, "_formula", formula)

    @cached_property
    def _functions(self) -> tuple[ArrayFunction, ArrayFunction, ArrayFunction]:
        """The functions g, g' and g''."""
        compiler = Compiler("e", {})
        parts = self._formula.value, self._formula.slope, self._formula.curvature
        g, slope, curvature = (compiler.function(part) for part in parts)
        return g, slope, curvature

    def _slope(self, t: int) -> MonotoneDerivative:
        """Return the derivative of g for t edges."""
        return MonotoneDerivative.on_box(self._functions[1], self._functions[2], np.full(t, -1.0), np.full(t, 1.0))

    def _required_cones(self) -> frozenset[str]:
        e = cp.Variable(2)
        value = to_cvxpy(self._formula.value, e, "e", {})
        if value is None:
            return frozenset({"linear", INTERIOR_CONE})
        return required_cones(cp.Problem(cp.Minimize(value), [e <= 1, e >= -1]))

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    def statement(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, "parameters": dict(self.parameters)}

    def value(self, e: HypothesisVector) -> float:
        values = self._functions[0](np.clip(e, -1.0, 1.0))
        return float(np.where(np.isnan(values), np.inf, values).sum())

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return float(self._conjugates(w).upper.sum())

    def _conjugates(self, w: HypothesisVector) -> Interval:
        """Return intervals whose upper bounds are conjugate bounds g*(w_q)."""
        return self._tangents(len(w)).conjugates(exact_interval(w))

    def _tangents(self, t: int) -> Tangents:
        """Return the tangents of g for t edges."""
        low, high = (exact_interval(np.full(t, end[0])) for end in EDGE_BOX)
        return Tangents(self._formula, "e", {}, low, high, self._slope(t))

    def _enclose_values(self, e: HypothesisVector, radius: HypothesisVector | float) -> Interval:
        """Enclose g at all edges of [-1, 1] within a radius of e."""
        low, high = (
            np.clip(np.nextafter(e + change, end), -1.0, 1.0) for change, end in ((-radius, -9.0), (radius, 9.0))
        )
        return self._tangents(len(e)).values(Interval(low, high))

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        # Where the slope is infinite at an end, use the slope next to the end; if it overflows, any number is valid.
        inner = self._slope(len(e))
        return clip_to_finite(self._functions[1](np.clip(e, inner.low, inner.high)))

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return clip_to_finite(w)

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        return nonnegative_residuals(w, {"w finite": 0.0})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        with np.errstate(invalid="ignore"):
            terms = self._functions[0](np.clip(e, -1.0, 1.0)) + self._conjugates(w).upper - w * e
        return np.where(np.isnan(terms), np.inf, np.maximum(terms, 0.0))

    def increase_bound(self, e: HypothesisVector, edge_changes: HypothesisVector) -> float:
        increases = self._enclose_values(e, edge_changes) + -self._enclose_values(e, 0.0)
        return max(increases.total().upper, 0.0)

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        """Return the size of the terms as a scale. The bounds of a formula do not depend on it."""
        compiler, inner = Compiler("e", {}), self._slope(len(e))
        x = np.clip(e, inner.low, inner.high)
        f, slope = (compiler.compile_absolute_terms(part)(x) for part in (self._formula.value, self._formula.slope))
        return float(np.nan_to_num(f + mass * slope + np.abs(w)).sum())

    def value_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        return allowance(self.value(e), self._enclose_values(e, unit * mass).total().upper)

    def conjugate_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        bounds = self._conjugates(w)
        return allowance(float(bounds.upper.sum()), bounds.total().upper)

    def epigraph(self, t: int) -> Epigraph | None:
        """Return rows e - p = 0 with a multiple of the squares of p; None if g is not a convex quadratic function."""
        curvature = self._formula.curvature.constant_value
        if curvature is None or curvature <= 0:
            return None
        zeros, slope = np.zeros(t), self._functions[1](np.zeros(t))
        return Epigraph(None, -np.eye(t), zeros, np.full(t, True), zeros, float(curvature) * np.eye(t), slope)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        value = to_cvxpy(self._formula.value, e, "e", {})
        if value is None:
            raise ProblemError(
                f"a model in CVXPY needs a formula that is a sum of atoms; the formula {self.text!r} of an edge cannot "
                "be written so. Write it as such a sum."
            )
        return value, []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("the conjugate of a formula is not known as an expression of CVXPY. Use the primal.")

    @cached_property
    def latex(self) -> str:
        """The formula as LaTeX, by SymPy."""
        return formula_latex(self.text)


def edge_formula(text: Any, **parameters: Any) -> FormulaEdges:
    """Return the edge function G(e) = sum_q g(e_q) on [-1, 1] that a formula states.

    Parameters
    ----------
    text
        The function g as a text or as an expression of SymPy, in the edge e and the parameters, in the grammar of
        `formula`.
    parameters
        The values of the other names, numbers.

    Raises
    ------
    ProblemError
        The text is not a formula, or boostopt cannot prove that it is convex on [-1, 1], or it has no slope there.
    """
    return FormulaEdges(formula_text(text), parameters)
