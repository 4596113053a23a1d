"""A regularizer as one formula: F(d) = sum_n f(d_n; d0_n, c_n, u_n) on the capped simplex.

boostopt reads and differentiates the formula exactly and proves that f is convex on every box. Newton's method finds
the maximizer of y x - f(x). By convexity, the bound of the conjugate holds for ANY x of the box,

    f*(y) <= y x - f(x) + max(y - f'(x), 0) (u - x) + max(f'(x) - y, 0) x.

An inexact maximizer makes the bound larger, never smaller. Values and slopes are intervals that contain the exact ones
at the x and the d that were used: what they may lose to rounding is counted there, and is no scale known in advance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float
from boostopt._utils.cvxpy_tools import cp, required_cones
from boostopt._utils.validation import check_flag, read_fields
from boostopt.errors import ProblemError, reason_of
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.formulas.compilation import ArrayFunction, Compiler
from boostopt.functions.formulas.convexity import BoxFamily, ConvexFormula, prove_convex
from boostopt.functions.formulas.cvxpy_translation import to_cvxpy
from boostopt.functions.formulas.expressions import Expression, Factor, FormulaError, power_expression
from boostopt.functions.formulas.function_bounds import CurvatureBounds
from boostopt.functions.formulas.inputs import (
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
from boostopt.functions.formulas.maximizers import MonotoneDerivative
from boostopt.functions.formulas.tangents import Tangents
from boostopt.functions.numerics.expansion import expand
from boostopt.functions.regularizers.base import ConjugatePoint, Enclosures, Regularizer, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import (
    CappedSimplex,
    exact_caps,
    feasible_box,
    read_domain,
    renormalize_in_box,
)
from boostopt.functions.regularizers.indicators import CappedSimplexIndicator
from boostopt.functions.regularizers.separable import Separable, interpolate_to_sum_one
from boostopt.functions.statements import Statement, statement_with_caps

LARGEST = 1e300
"""Stands for a size that is no float."""

WEIGHT_SUM_TOL = 1e-12
"""By how much the weights at a multiplier may miss 1: any multiplier gives a bound, which loses the square of that."""


@dataclass(frozen=True, eq=False)
class FormulaRegularizer(Separable):
    """The sum of one formula over the examples, on the capped simplex; `formula` makes it.

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
    d0: Float[Array, " N"] | None = None
    parameters: Mapping[str, float | Array] = field(default_factory=empty_parameters)
    is_smoothing: bool = False

    kind: ClassVar[str] = "formula"
    has_closed_form_conjugate = False
    """F* is known, but not as an expression of CVXPY."""

    _parsed: Expression = field(init=False, repr=False)
    _formula: ConvexFormula = field(init=False, repr=False)
    _counts: Float[Array, " N"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        read_fields(self, domain=read_domain)
        advice = "Pass True if the formula only smooths the soft margin, as an entropy does."
        object.__setattr__(self, "is_smoothing", check_flag("is_smoothing", self.is_smoothing, advice, ProblemError))
        object.__setattr__(self, "_counts", self.domain.c)
        object.__setattr__(self, "parameters", check_parameters(self.parameters, self.N))
        read = parse_regularizer_formula(self.text, self.parameters)
        object.__setattr__(self, "_parsed", read)
        d0 = check_reference(self.d0, self.domain.c)
        object.__setattr__(self, "d0", d0)
        if read.depends_on("d0") and (d0 == 0).any():
            object.__setattr__(self, "domain", CappedSimplex(np.where(d0 > 0, self.domain.c, 0.0), self.domain.nu))
        try:
            object.__setattr__(self, "_formula", prove_convex(read, self._box))
        except FormulaError as fault:
            raise ProblemError(f"the formula {self.text!r} is not allowed: {reason_of(fault)}.") from fault
        if fault := multiplicity_error(
            self.text, read, self.names, self.upper_in_support, self._counts[self.in_support]
        ):
            raise ProblemError(fault)

    @property
    def N(self) -> int:
        return len(self.domain.c)

    @cached_property
    def upper(self) -> Float[Array, " N"]:
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
        own = {"d0": self.d0, "c": self.domain.c, "u": self.upper, **self.parameters}
        return {
            name: np.asarray(value)[self.in_support]
            for name, value in own.items()
            if isinstance(value, np.ndarray) and self._parsed.depends_on(name)
        }

    @cached_property
    def _distinct_columns(self) -> tuple[Array, Array]:
        """The different columns (u, names...) of the examples, and how often each occurs."""
        columns = np.column_stack([self.upper_in_support, *self.names.values()])
        return np.unique(columns, axis=0, return_counts=True)

    @cached_property
    def _box(self) -> BoxFamily:
        """The boxes on which f must be convex, one of each kind."""
        kinds = self._distinct_columns[0].T
        names = {name: exact_interval(column) for name, column in zip(("u", *self.names), kinds, strict=True)}
        names["u"] = exact_caps(self.domain, kinds[0])
        ends = Expression(()), power_expression(Factor("name", name="u"))
        return BoxFamily("d", np.zeros(kinds.shape[1]), names["u"].upper, names, ends)

    @cached_property
    def _tangents(self) -> Tangents:
        caps = exact_caps(self.domain, self.upper_in_support)
        names = {**{name: exact_interval(value) for name, value in self.names.items()}, "u": caps}
        return Tangents(
            self._formula, "d", names, exact_interval(np.zeros(len(self.upper_in_support))), caps, self._slope
        )

    @cached_property
    def _functions(self) -> tuple[ArrayFunction, ArrayFunction, ArrayFunction]:
        compiler = Compiler("d", self.names)
        parts = self._formula.value, self._formula.slope, self._formula.curvature
        f, slope, bend = (compiler.function(part) for part in parts)
        return f, slope, bend

    @cached_property
    def _slope(self) -> MonotoneDerivative:
        return MonotoneDerivative.on_box(
            self._functions[1], self._functions[2], np.zeros(len(self.upper_in_support)), self.upper_in_support
        )

    @cached_property
    def _boundary_derivatives(self) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """F' at both ends of the box, infinite where it has no limit."""
        slope, high = self._functions[1], self.upper_in_support
        low = np.nan_to_num(slope(np.zeros(len(high))), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        return self._expand(low), self._expand(np.nan_to_num(slope(high), nan=np.inf, posinf=np.inf, neginf=-np.inf))

    @property
    def unsmoothed(self) -> Regularizer:
        # A formula may be a term of the problem or an entropy: only its author knows.
        return CappedSimplexIndicator(self.domain) if self.is_smoothing else self

    @cached_property
    def strong_convexity(self) -> float:
        return CurvatureBounds(self._formula, self._box, self._distinct_columns[1]).strong_convexity

    @cached_property
    def value_bound(self) -> float:
        """The largest sum of the chords from 0 to the caps; nan if f is infinite at an end."""
        at_zero, at_cap = self.values(np.zeros(self.N)), self.values(self.upper)
        if not (np.isfinite(at_zero).all() and np.isfinite(at_cap).all()):
            return np.nan
        rise = np.divide(at_cap - at_zero, self.upper, out=np.zeros(self.N), where=self.in_support)
        return float(at_zero.sum()) + self.support(rise)

    @cached_property
    def magnitude(self) -> float:
        """The size of the terms at `weight_scale`, as a scale: no bound of a formula depends on it."""
        compiler, x = Compiler("d", self.names), self.weight_scale[self.in_support]
        f, slope = (compiler.compile_absolute_terms(part)(x) for part in (self._formula.value, self._formula.slope))
        size = float((f + x * slope).sum())
        return size if np.isfinite(size) else LARGEST

    @cached_property
    def weight_scale(self) -> Float[Array, " N"]:
        scale = (
            self.d0 if self._parsed.depends_on("d0") and self.d0 is not None else self.domain.c / self.domain.c.sum()
        )
        return np.where(self.in_support, scale, 1.0 / self.N)

    @cached_property
    def objective_scale(self) -> float:
        """The inverse of the second derivative of F along its own point, eta for an entropy; 1 if that is 0."""
        d = self.domain.renormalize(self.upper / self.upper.sum())
        bend = float((d**2 * self.curvatures(d)).sum())
        return 1.0 / bend if 0.0 < bend < np.inf else 1.0

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        values = self._functions[0](np.clip(d, 0.0, self.upper)[self.in_support])
        return self._expand(np.where(np.isnan(values), np.inf, values))

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        slopes = self._functions[1](np.clip(d, 0.0, self.upper)[self.in_support])
        return self._expand(np.where(np.isnan(slopes), np.where(d[self.in_support] > 0, np.inf, -np.inf), slopes))

    def curvatures(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return self._expand(self._functions[2](d[self.in_support]))

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        return self._expand(self._slope.inverse(y[self.in_support]))

    def conjugate_terms(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return f_n*(y_n), or a larger number."""
        return self._expand(self._tangents.conjugates(exact_interval(y[self.in_support])).upper)

    def conjugate_at(self, z: Float[Array, " N"], near: Float[Array, " N"] | None = None) -> ConjugatePoint:
        beta, below, above = self._slope.solve_simplex_multiplier(z[self.in_support], WEIGHT_SUM_TOL)
        terms = self._tangents.conjugates(exact_interval(z[self.in_support]) + exact_interval(np.array(-beta)), below)
        psi, zeta = self._box_multipliers(z - beta)
        d = renormalize_in_box(self._expand(interpolate_to_sum_one(below, above)), self.lower, self.upper)
        bounds = terms.total() + exact_interval(beta)
        value = float(bounds.middle if bounds.is_finite else bounds.upper)
        multipliers = {"beta": beta, "psi": psi, "zeta": zeta}
        return ConjugatePoint(value, d, multipliers, slack=allowance(value, float(bounds.upper)))

    def conjugate_slack(self, at: ConjugatePoint, unit: float) -> float:
        return at.slack

    def value_slack(self, d: Float[Array, " N"], unit: float) -> float:
        return allowance(self.value(d), self.enclosures.values(feasible_box(d, self.enclosures.upper)).total().upper)

    @cached_property
    def enclosures(self) -> Enclosures:
        return _Expanded(self.in_support, self._tangents)

    def solve_simplex_multiplier(self, z: Float[Array, " N"]) -> tuple[float, Float[Array, " N"]]:
        beta, below, above = self._slope.solve_simplex_multiplier(z[self.in_support], WEIGHT_SUM_TOL)
        return beta, self._expand(interpolate_to_sum_one(below, above))

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        return self._minimizer.copy() if d is None else self.domain.repair(d, self.weight_scale)

    @cached_property
    def _minimizer(self) -> Float[Array, " N"]:
        return self.conjugate_at(np.zeros(self.N)).d

    def stationarity(self, d: Float[Array, " N"], min_relative_weight: float) -> StationarityConditions:
        # Where the slope is infinite at the cap, a solver's weights are noise there.
        infinite = np.isinf(self._boundary_derivatives[1])
        return super().stationarity(
            np.where(infinite, np.minimum(d, (1.0 - min_relative_weight) * self.upper), d), min_relative_weight
        )

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()) -> Statement | None:
        if self._parsed.depends_on("d0") and not np.array_equal(np.asarray(self.d0), d0):
            return None
        if self._parsed.depends_on("c") and not np.array_equal(self._counts, c):
            return None
        arrays = {f"formula {name}": value for name, value in self.parameters.items() if isinstance(value, np.ndarray)}
        numbers = {k: "array" if isinstance(v, np.ndarray) else v for k, v in self.parameters.items()}
        live = d0 > 0 if self._parsed.depends_on("d0") else None
        about = {"kind": self.kind, "text": self.text, "parameters": numbers}
        stated = statement_with_caps(about, self.upper, c, (self.domain.nu, *nus), live)
        return Statement(stated.numbers, {**stated.arrays, **arrays})

    @computed_attribute
    def cones(self) -> frozenset[str]:
        d = cp.Variable(self.N)
        value = self._cvxpy_expression(d)
        if value is None:
            return frozenset({"linear", INTERIOR_CONE})
        return required_cones(cp.Problem(cp.Minimize(value), CappedSimplexIndicator(self.domain).cvxpy_value(d)[1]))

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value = self._cvxpy_expression(d)
        if value is None:
            raise ProblemError(
                f"a model in CVXPY needs a formula that is a sum of atoms; the formula {self.text!r} cannot be written "
                'so. Use the backend "interior", which takes any formula.'
            )
        return value, CappedSimplexIndicator(self.domain).cvxpy_value(d)[1]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("the conjugate of a formula is not known as an expression of CVXPY. Use the primal.")

    @cached_property
    def latex(self) -> str:
        """The formula as LaTeX, by SymPy."""
        return formula_latex(self.text)

    def _cvxpy_expression(self, d: Any) -> Any:
        return to_cvxpy(
            self._formula.value, d if self.in_support.all() else d[np.flatnonzero(self.in_support)], "d", self.names
        )

    def _expand(self, of_live: Float[Array, " n"]) -> Float[Array, " N"]:
        """Return an array over all examples, 0 for those that can have no weight."""
        return expand(of_live, self.in_support)

    def _box_multipliers(self, y: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        at_low, at_high = self._boundary_derivatives
        psi, zeta = np.maximum(y - at_high, 0.0), np.maximum(at_low - y, 0.0)
        return np.where(self.in_support, psi, 0.0), np.where(self.in_support, zeta, 0.0)


@dataclass(frozen=True, eq=False)
class _Expanded:
    """Intervals of all examples: 0 for those that can have no weight."""

    live: Bool[Array, " N"]
    tangents: Tangents

    @property
    def upper(self) -> Interval:
        return self._all(self.tangents.high)

    def values(self, d: Interval) -> Interval:
        return self._all(self.tangents.values(self._live(d)))

    def slopes(self, d: Interval) -> Interval:
        return self._all(self.tangents.slopes(self._live(d)))

    def _live(self, x: Interval) -> Interval:
        return Interval(x.lower[self.live], x.upper[self.live])

    def _all(self, of_live: Interval) -> Interval:
        if self.live.all():
            return of_live
        full = np.zeros((2, len(self.live)))
        full[:, self.live] = of_live.lower, of_live.upper
        return Interval(full[0], full[1])


def formula(
    text: Any, domain: CappedSimplex, d0: Any = None, *, is_smoothing: bool = False, **parameters: Any
) -> FormulaRegularizer:
    """Return the regularizer F(d) = sum_n f(d_n) that a formula states, on the capped simplex.

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
        best soft margin over its class, the formula left out, and not the best value of the program. If F has further
        terms, state them by themselves and add them: `formula(text, domain, is_smoothing=True) + other`.
    parameters
        The values of the other names: numbers, or arrays of shape (N,).

    Returns
    -------
    A regularizer with exact certificates. It supports the backend `interior`, multiplicities, merging, and certificate
    files.

    Raises
    ------
    ProblemError
        The text is not a formula; or boostopt cannot prove that f is convex on every box, or f has no slope there; or
        an example with c_n = k would not count as k copies.
    """
    return FormulaRegularizer(formula_text(text), domain, d0, parameters, is_smoothing)
