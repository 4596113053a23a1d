"""A formulation on a small random instance, with all that the checks of its printed problems compare, computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.checks.references.cvxpy_references import problem_with_exact_exponents
from boostopt.checks.references.dual_function import dual_function, label_edge_constraint, labelled_constraints
from boostopt.checks.references.measurements import (
    INFEASIBLE_RESIDUAL,
    SOLVER_TOLERANCE,
    ComponentError,
    call_component,
    optimal_value,
    relative_scale,
)
from boostopt.checks.references.random_instances import RandomInstance
from boostopt.checks.references.random_test_points import EdgeProbe, RegularizerProbe
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program
from boostopt.solving.solve import solve

N_SOLVES = 2
"""Number of arguments for which a solver is called, for F and G of one instance."""


class FormulationProbe:
    """A formulation with one of its instances, whose problems are constructed and solved once.

    Attributes
    ----------
    formulation
        The formulation.
    instance
        The instance.
    seed
        The seed of the random arguments.
    """

    formulation: Formulation[Any]
    instance: RandomInstance
    seed: int

    def __init__(self, formulation: Formulation[Any], instance: RandomInstance, seed: int) -> None:
        self.formulation, self.instance, self.seed = formulation, instance, seed

    @property
    def program(self) -> Program:
        """The program of the instance."""
        return self.instance.program

    @cached_property
    def F(self) -> RegularizerProbe:
        """The regularizer of the instance."""
        return RegularizerProbe(self.program.regularizer, self.seed, N_SOLVES)

    @cached_property
    def G(self) -> EdgeProbe:
        """The edge function of the instance."""
        return EdgeProbe(self.program.edge_function, self.program.margins.t, self.seed, N_SOLVES)

    @property
    def exact(self) -> bool:
        """True if F* and G* have closed forms, and not only upper bounds."""
        return self.F.F.has_closed_form_conjugate and self.G.G.has_closed_form_conjugate

    @cached_property
    def U(self) -> Float[Array, "N t"]:
        """The margin matrix."""
        return self.program.margins.to_array()

    @property
    def per_example(self) -> set[str]:
        """The parameters of the formulation that hold one number for each example."""
        return {
            name for name, parameter in self.formulation.parameters.items() if parameter.domain.kind == "per example"
        }

    @cached_property
    def primal(self) -> Any | None:
        """The primal as printed; None if there is none and CVXPY has no expression of a formula."""
        derivable = self.F.has_cvxpy_expression and self.G.has_cvxpy_expression
        return self._stated_problem("primal") if self.prints("primal") or derivable else None

    @cached_property
    def dual(self) -> Any | None:
        """The dual as printed, or else the derived one; None if there is neither."""
        derivable = "dual" in self.program.available_sides
        return self._stated_problem("dual") if self.prints("dual") or derivable else None

    def _stated_problem(self, side: str) -> Any:
        """Return the primal or the dual as the formulation prints it; ComponentError if it is no problem."""
        import cvxpy as cp

        # The formulation itself is called, so that a failure is reported with the line in its file.
        problem = call_component(
            getattr(self.formulation, side), self.U, self.program.parameters, self.program.examples
        )
        if not isinstance(problem, cp.Problem):
            raise ComponentError(
                f"{type(self.formulation).__name__}.{side} must return a cvxpy.Problem; got {problem!r}"[:300]
            )
        return problem_with_exact_exponents(problem)

    def prints(self, side: str) -> bool:
        """Return whether the formulation states a problem of its own."""
        return getattr(type(self.formulation), side) is not getattr(Formulation, side)

    @cached_property
    def solved_primal(self) -> tuple[float | None, dict[str, Any]]:
        """The optimal value of the primal as printed, and its multipliers by label; None for no primal."""
        return _solve_with_multipliers(self.primal)

    @cached_property
    def solved_dual(self) -> tuple[float | None, dict[str, Any]]:
        """The optimal value of the dual, None for no dual, and its multipliers by label."""
        return _solve_with_multipliers(self.dual)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the optimum from `solve`."""
        return call_component(solve, self.program).certificate

    @cached_property
    def weights(self) -> list[HypothesisVector]:
        """Hypothesis weights: random ones in the domain of G*, and others far outside."""
        rng, t = np.random.default_rng([self.seed, 10]), self.program.margins.t
        raw = [rng.exponential(size=t), rng.normal(size=t), rng.dirichlet(np.ones(t))]
        inside = [w for w in (self.G.project(w) for w in raw) if w is not None]
        outside = [
            w
            for w in (1.4 * inside[0] + 0.2, inside[0] - 0.7, *raw)
            if self.G.domain_violation(w) >= INFEASIBLE_RESIDUAL
        ]
        return [*inside[:2], *outside[:2]]

    @cached_property
    def dual_function_values(self) -> list[float | None]:
        """The dual function of the printed primal at the weights."""
        if self.primal is None:
            return [None] * len(self.weights)
        primal = label_edge_constraint(self.primal, self.U)
        return [dual_function(primal, w) for w in self.weights]

    def closed_form_dual(self, w: HypothesisVector) -> float:
        """Return the dual value -F*(-Uw) - G*(w), for w in the domain of G*."""
        return -self.F.conjugate_at(-(self.U @ w)).value - self.G.conjugate(w)

    def proved_lower_bound(self, w: HypothesisVector) -> float:
        """Return the lower bound that w proves.

        A bound of F* is tight only near the optimal d, so `solve` supplies this d.
        """
        lower = call_component(self.program.certify, None, w).lower
        projected_w = self.G.project(w)
        if self.program.regularizer.has_closed_form_conjugate or projected_w is None:
            return lower
        bound = self.F.conjugate_at(-(self.U @ projected_w), self.certificate.d).value
        return max(lower, -bound - self.G.conjugate(projected_w))

    def tolerance(self, *values: float) -> float:
        """Return the allowed difference of two optimal values."""
        return SOLVER_TOLERANCE * relative_scale(*values)


def _solve_with_multipliers(problem: Any | None) -> tuple[float | None, dict[str, Any]]:
    """Return the optimal value, None for no problem, and copies of the multipliers: later solves may overwrite them."""
    value = None if problem is None else optimal_value(problem)
    finite = value is not None and np.isfinite(value)
    multipliers = (
        {label: constraint.dual_value for label, constraint in labelled_constraints(problem).items()} if finite else {}
    )
    return value, {label: np.array(multiplier, dtype=np.float64).ravel() for label, multiplier in multipliers.items()}
