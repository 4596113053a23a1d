"""Regularizers from one formula: F(d) = sum_n f(d_n; d0_n, c_n, u_n) on the capped simplex.

boostopt reads the formula, differentiates it symbolically, and proves that f is convex on every box. Newton's method
finds the maximizer of y x - f(x). By convexity, the bound of the conjugate holds for ANY x of the box,

    f*(y) <= y x - f(x) + max(y - f'(x), 0) (u - x) + max(f'(x) - y, 0) x.

An inexact maximizer makes the bound larger, never smaller. Values and slopes are intervals that contain the exact
numbers at x and d. So the rounding allowance depends on x and d, and not on a scale that is fixed in advance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float
from boostopt._utils.cvxpy_tools import cp, required_cones
from boostopt._utils.validation import check_flag, read_fields
from boostopt.errors import ProblemError, reason_of
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.formulas.compilation import ArrayFunction, Compiler
from boostopt.functions.formulas.conjugate_maximizers import MonotoneDerivative
from boostopt.functions.formulas.convexity import BoxFamily, ConvexFormula, prove_convex
from boostopt.functions.formulas.curvature_bounds import CurvatureBounds
from boostopt.functions.formulas.cvxpy_translation import to_cvxpy
from boostopt.functions.formulas.expressions import Expression, Factor, FormulaError, power_expression
from boostopt.functions.formulas.formula_and_conjugate_bounds import Tangents
from boostopt.functions.formulas.formula_validation import (
    INTERIOR_CONE,
    check_parameters,
    check_reference,
    empty_parameters,
    formula_latex,
    formula_text,
    multiplicity_error,
    parse_regularizer_formula,
)
from boostopt.functions.formulas.intervals import Interval, allowance, exact_interval
from boostopt.functions.numerics.support_expansion import expand
from boostopt.functions.regularizer_statements import Statement, statement_with_caps
from boostopt.functions.regularizers.base import ConjugatePoint, Enclosures, Regularizer, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import (
    CappedSimplex,
    exact_caps,
    feasible_box,
    read_domain,
    renormalize_in_box,
)
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.separable import Separable, interpolate_to_sum_one

LARGEST = 1e300
"""Size that replaces a size too large for a float."""

WEIGHT_SUM_TOL = 1e-12
"""Largest distance from 1 of the sum of the weights at a multiplier. Any multiplier gives a bound, and the distance
loosens the bound by about its square."""


@dataclass(frozen=True, eq=False)
class FormulaRegularizer(Separable):
    """The sum of one formula over the examples, on the capped simplex; `formula` returns it.

    Parameters
    ----------
    text
        The formula, in d, d0, c, u (the caps c / nu) and the parameters.
    domain
        The capped simplex.
    d0
        The reference distribution, shape (N,); None for c / sum c. If the formula contains d0, an example with d0_n = 0
        has weight 0.
    parameters
        The values of the parameters by name: numbers, or arrays of shape (N,).
    is_smoothing
        Whether the whole formula only smooths the soft margin of the cap, as an entropy does.

    Raises
    ------
    ProblemError
        The text is not a formula, or f is not convex on the boxes, or an example with c_n = k does not count as k
        copies, or `is_smoothing` is neither True nor False.
    """

    text: str
    domain: CappedSimplex
    d0: ExampleVector | None = None
    parameters: Mapping[str, float | Array] = field(default_factory=empty_parameters)
    is_smoothing: bool = False

    kind: ClassVar[str] = "formula"
    has_closed_form_conjugate = False
    """F* is known, but not as an expression of CVXPY."""

    _parsed: Expression = field(init=False, repr=False)
    _formula: ConvexFormula = field(init=False, repr=False)
    _counts: ExampleVector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        read_fields(self, domain=read_domain)
        advice = "Pass True if the formula only smooths the soft margin, as an entropy does."
        object.__setattr__(self, "is_smoothing", check_flag("is_smoothing", self.is_smoothing, advice, ProblemError))
        object.__setattr__(self, "_counts", self.domain.c)
        object.__setattr__(self, "parameters", check_parameters(self.parameters, self.N))
        expression = parse_regularizer_formula(self.text, self.parameters)
        object.__setattr__(self, "_parsed", expression)
        d0 = check_reference(self.d0, self.domain.c)
        object.__setattr__(self, "d0", d0)
        if expression.depends_on("d0") and (d0 == 0).any():
            object.__setattr__(self, "domain", CappedSimplex(np.where(d0 > 0, self.domain.c, 0.0), self.domain.nu))
        try:
            object.__setattr__(self, "_formula", prove_convex(expression, self._box))
        except FormulaError as fault:
            reason = reason_of(fault)
            advice = "" if "Correct it" in reason else " Correct it."
            raise ProblemError(f"the formula {self.text!r} is not allowed: {reason}.{advice}") from fault
        counts = self._counts[self.in_support]
        message = multiplicity_error(self.text, expression, self.names, self.upper_in_support, counts)
        if message:
            raise ProblemError(message)

    @property
    def N(self) -> int:
        return len(self.domain.c)

    @cached_property
    def upper(self) -> ExampleVector:
        return self.domain.upper

    @cached_property
    def in_support(self) -> Bool[Array, " N"]:
        """The examples that may have weight, as a mask."""
        return self.upper > 0

    @cached_property
    def upper_in_support(self) -> Float[Array, " n"]:
        """The caps of the examples that may have weight."""
        return self.upper[self.in_support]

    @cached_property
    def names(self) -> dict[str, Any]:
        """The values of the names in the formula, for the examples that may have weight."""
        values = {"d0": self.d0, "c": self.domain.c, "u": self.upper, **self.parameters}
        return {
            name: np.asarray(value)[self.in_support]
            for name, value in values.items()
            if isinstance(value, np.ndarray) and self._parsed.depends_on(name)
        }

    @cached_property
    def _distinct_columns(self) -> tuple[Array, Array]:
        """The distinct columns (u, names...) of the examples in support, and how often each occurs."""
        columns = np.column_stack([self.upper_in_support, *self.names.values()])
        return np.unique(columns, axis=0, return_counts=True)

    @cached_property
    def _box(self) -> BoxFamily:
        """The boxes on which f must be convex, without duplicates."""
        rows = self._distinct_columns[0].T
        names = {name: exact_interval(row) for name, row in zip(("u", *self.names), rows, strict=True)}
        names["u"] = exact_caps(self.domain, rows[0])
        ends = Expression(()), power_expression(Factor("name", name="u"))
        return BoxFamily("d", np.zeros(rows.shape[1]), names["u"].upper, names, ends)

    @cached_property
    def _tangents(self) -> Tangents:
        """The tangents of f with rounding, for the examples in support."""
        caps = exact_caps(self.domain, self.upper_in_support)
        names = {**{name: exact_interval(value) for name, value in self.names.items()}, "u": caps}
        return Tangents(
            self._formula, "d", names, exact_interval(np.zeros(len(self.upper_in_support))), caps, self._slope
        )

    @cached_property
    def _functions(self) -> tuple[ArrayFunction, ArrayFunction, ArrayFunction]:
        """The functions f, f' and f'' for arrays, of the examples in support."""
        compiler = Compiler("d", self.names)
        expressions = self._formula.value, self._formula.slope, self._formula.curvature
        f, slope, curvature = (compiler.function(expression) for expression in expressions)
        return f, slope, curvature

    @cached_property
    def _slope(self) -> MonotoneDerivative:
        """The derivative f' on the boxes of the examples in support, with its inverse."""
        return MonotoneDerivative.on_box(
            self._functions[1], self._functions[2], np.zeros(len(self.upper_in_support)), self.upper_in_support
        )

    @cached_property
    def _boundary_derivatives(self) -> tuple[ExampleVector, ExampleVector]:
        """The derivatives f_n' at 0 and at the caps, infinite if they have no limit there."""
        slope, upper = self._functions[1], self.upper_in_support
        at_zero = np.nan_to_num(slope(np.zeros(len(upper))), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        at_cap = np.nan_to_num(slope(upper), nan=np.inf, posinf=np.inf, neginf=-np.inf)
        return self._expand(at_zero), self._expand(at_cap)

    @property
    def unsmoothed(self) -> Regularizer:
        # A formula may be a term of the problem, or an entropy that only smooths. Its author says which.
        return CappedSimplexIndicator(self.domain) if self.is_smoothing else self

    @cached_property
    def strong_convexity(self) -> float:
        return CurvatureBounds(self._formula, self._box, self._distinct_columns[1]).strong_convexity

    @cached_property
    def value_bound(self) -> float:
        """The largest sum of the chords of f from 0 to the caps; nan if f is infinite at an end of a box."""
        at_zero, at_cap = self.values(np.zeros(self.N)), self.values(self.upper)
        if not (np.isfinite(at_zero).all() and np.isfinite(at_cap).all()):
            return np.nan
        chord_slopes = np.divide(at_cap - at_zero, self.upper, out=np.zeros(self.N), where=self.in_support)
        return float(at_zero.sum()) + self.support(chord_slopes)

    @cached_property
    def magnitude(self) -> float:
        """The size of the terms at `weight_scale`. It is a scale only: no bound of a formula depends on it."""
        compiler, x = Compiler("d", self.names), self.weight_scale[self.in_support]
        expressions = self._formula.value, self._formula.slope
        f, slope = (compiler.compile_absolute_terms(expression)(x) for expression in expressions)
        size = float((f + x * slope).sum())
        return size if np.isfinite(size) else LARGEST

    @cached_property
    def weight_scale(self) -> ExampleVector:
        scale = (
            self.d0 if self._parsed.depends_on("d0") and self.d0 is not None else self.domain.c / self.domain.c.sum()
        )
        return np.where(self.in_support, scale, 1.0 / self.N)

    @cached_property
    def objective_scale(self) -> float:
        """The inverse of sum_n d_n^2 f_n''(d_n) at d proportional to the caps, eta for an entropy.

        1 if the sum is 0 or infinite.
        """
        d = self.domain.renormalize(self.upper / self.upper.sum())
        curvature = float((d**2 * self.curvatures(d)).sum())
        return 1.0 / curvature if 0.0 < curvature < np.inf else 1.0

    def values(self, d: ExampleVector) -> ExampleVector:
        values = self._functions[0](np.clip(d, 0.0, self.upper)[self.in_support])
        return self._expand(np.where(np.isnan(values), np.inf, values))

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        slopes = self._functions[1](np.clip(d, 0.0, self.upper)[self.in_support])
        return self._expand(np.where(np.isnan(slopes), np.where(d[self.in_support] > 0, np.inf, -np.inf), slopes))

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return self._expand(self._functions[2](d[self.in_support]))

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return self._expand(self._slope.inverse(y[self.in_support]))

    def conjugate_terms(self, y: ExampleVector) -> ExampleVector:
        """Return f_n*(y_n), or a larger number."""
        return self._expand(self._tangents.conjugates(exact_interval(y[self.in_support])).upper)

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        beta, lower_x, upper_x = self._slope.solve_simplex_multiplier(z[self.in_support], WEIGHT_SUM_TOL)
        terms = self._tangents.conjugates(exact_interval(z[self.in_support]) + exact_interval(np.array(-beta)), lower_x)
        psi, zeta = self._box_multipliers(z - beta)
        d = renormalize_in_box(self._expand(interpolate_to_sum_one(lower_x, upper_x)), self.lower, self.upper)
        bounds = terms.total() + exact_interval(beta)
        value = float(bounds.middle if bounds.is_finite else bounds.upper)
        multipliers = {"beta": beta, "psi": psi, "zeta": zeta}
        return ConjugatePoint(value, d, multipliers, slack=allowance(value, float(bounds.upper)))

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        return point.slack

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        return allowance(self.value(d), self.enclosures.values(feasible_box(d, self.enclosures.upper)).total().upper)

    @cached_property
    def enclosures(self) -> Enclosures:
        return _ExpandedEnclosures(self.in_support, self._tangents)

    def solve_simplex_multiplier(self, z: ExampleVector) -> tuple[float, ExampleVector]:
        beta, lower_x, upper_x = self._slope.solve_simplex_multiplier(z[self.in_support], WEIGHT_SUM_TOL)
        return beta, self._expand(interpolate_to_sum_one(lower_x, upper_x))

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return self._minimizer.copy() if d is None else self.domain.repair(d, self.weight_scale)

    @cached_property
    def _minimizer(self) -> ExampleVector:
        return self.conjugate_at(np.zeros(self.N)).d

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        # If the slope at a cap is infinite, the distance of a solver's weight to the cap is noise.
        is_steep = np.isinf(self._boundary_derivatives[1])
        below_cap = np.minimum(d, (1.0 - min_relative_weight) * self.upper)
        return super().stationarity(np.where(is_steep, below_cap, d), min_relative_weight)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        if self._parsed.depends_on("d0") and not np.array_equal(np.asarray(self.d0), d0):
            return None
        if self._parsed.depends_on("c") and not np.array_equal(self._counts, c):
            return None
        arrays = {f"formula {name}": value for name, value in self.parameters.items() if isinstance(value, np.ndarray)}
        values = {k: "array" if isinstance(v, np.ndarray) else v for k, v in self.parameters.items()}
        in_support = d0 > 0 if self._parsed.depends_on("d0") else None
        numbers = {"kind": self.kind, "text": self.text, "parameters": values}
        statement = statement_with_caps(numbers, self.upper, c, (self.domain.nu, *nus), in_support)
        return Statement(statement.numbers, {**statement.arrays, **arrays})

    def _required_cones(self) -> frozenset[str]:
        d = cp.Variable(self.N)
        value = self._cvxpy_expression(d)
        if value is None:
            return frozenset({"linear", INTERIOR_CONE})
        return required_cones(cp.Problem(cp.Minimize(value), CappedSimplexIndicator(self.domain).cvxpy_value(d)[1]))

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value = self._cvxpy_expression(d)
        if value is None:
            raise ProblemError(
                f"a model in CVXPY needs a formula that is a sum of atoms; the formula {self.text!r} cannot be written "
                'so. Use the backend "interior", which takes any formula.'
            )
        return value, CappedSimplexIndicator(self.domain).cvxpy_value(d)[1]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("CVXPY has no expression for the conjugate of a formula. Use the primal.")

    @cached_property
    def latex(self) -> str:
        """The formula as LaTeX, by SymPy."""
        return formula_latex(self.text)

    def _cvxpy_expression(self, d: Any) -> Any:
        """Return F(d) as an expression of CVXPY; None if the formula is no sum of atoms."""
        d_in_support = d if self.in_support.all() else d[np.flatnonzero(self.in_support)]
        return to_cvxpy(self._formula.value, d_in_support, "d", self.names)

    def _expand(self, values: Float[Array, " n"]) -> ExampleVector:
        """Return an array over all examples from one over the examples in support; 0 for the others."""
        return expand(values, self.in_support)

    def _box_multipliers(self, y: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        at_zero, at_cap = self._boundary_derivatives
        psi, zeta = np.maximum(y - at_cap, 0.0), np.maximum(at_zero - y, 0.0)
        return np.where(self.in_support, psi, 0.0), np.where(self.in_support, zeta, 0.0)


@dataclass(frozen=True, eq=False)
class _ExpandedEnclosures:
    """The enclosures of a formula for all examples: 0 for examples that cannot have weight.

    Attributes
    ----------
    in_support
        The examples that may have weight, as a mask of shape (N,).
    tangents
        The tangents of f for these examples.
    """

    in_support: Bool[Array, " N"]
    tangents: Tangents

    @property
    def upper(self) -> Interval:
        return self._expand(self.tangents.high)

    def values(self, d: Interval) -> Interval:
        return self._expand(self.tangents.values(self._restrict(d)))

    def slopes(self, d: Interval) -> Interval:
        return self._expand(self.tangents.slopes(self._restrict(d)))

    def _restrict(self, x: Interval) -> Interval:
        """Return the intervals of the examples in support."""
        return Interval(x.lower[self.in_support], x.upper[self.in_support])

    def _expand(self, x: Interval) -> Interval:
        """Return intervals of all examples from those of the examples in support; 0 for the others."""
        if self.in_support.all():
            return x
        full = np.zeros((2, len(self.in_support)))
        full[:, self.in_support] = x.lower, x.upper
        return Interval(full[0], full[1])


def formula(
    text: Any, domain: CappedSimplex, d0: Any = None, *, is_smoothing: bool = False, **parameters: Any
) -> FormulaRegularizer:
    """Return the regularizer F(d) = sum_n f(d_n) on the capped simplex, from a formula for f.

    Parameters
    ----------
    text
        The function f as a text or as an expression of SymPy. It may contain the weight d, the reference weight d0, the
        multiplicity c, the cap u = c / nu and the parameters, with ``+ - * / **``, numbers, log, exp, sqrt, max, min
        and huber(x, M).
    domain
        The capped simplex: CappedSimplex(c, nu).
    d0
        The reference distribution, shape (N,); c / sum c by default.
    is_smoothing
        Whether the whole formula only smooths the soft margin of the cap, as an entropy does. A run then bounds the
        best soft margin over its class, without the formula, and not the best value of the program. If F has further
        terms, write each as a regularizer of its own and add it: `formula(text, domain, is_smoothing=True) + other`.
    parameters
        The values of the other names: numbers, or arrays of shape (N,).

    Returns
    -------
    A regularizer with exact certificates. It supports the backend `interior`, multiplicities, merging, and certificate
    files.

    Raises
    ------
    ProblemError
        The text is not a formula; or boostopt cannot prove that f is convex on every box; or f has no slope there; or
        an example with c_n = k would not count as k copies.
    """
    return FormulaRegularizer(formula_text(text), domain, d0, parameters, is_smoothing)
