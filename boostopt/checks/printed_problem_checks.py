"""Comparisons of a formulation's printed problems with each other, with the derived problems and with the closed forms.

Agreement at the optimum shows strong duality only. So the checks also compare, at hypothesis weights that are not
optimal, the printed dual with the dual function that follows mechanically from the printed primal. They compare both
with the closed form -F*(-Uw) - G*(w) that every certificate uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.checks.cvxpy_checks import NO_CVXPY_EXPRESSION
from boostopt.checks.references.cvxpy_references import problem_with_exact_exponents
from boostopt.checks.references.dual_function import (
    MULTIPLIER_SIGNS,
    dual_function,
    label_edge_constraint,
    labelled_constraints,
)
from boostopt.checks.references.measurements import (
    INFEASIBLE_RESIDUAL,
    SOLVER_TOLERANCE,
    ComponentError,
    Findings,
    Measurement,
    NotApplicable,
    Note,
    absolute_difference,
    assertion,
    call_component,
    optimal_value,
    relative_scale,
)
from boostopt.checks.references.probes import EdgeProbe, RegularizerProbe
from boostopt.checks.references.random_instances import RandomInstance
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program
from boostopt.solving.solve import solve

N_SOLVES = 2
"""Number of arguments for which a solver is called, for F and G of one instance."""

MULTIPLIER_TOLERANCE = 1e-5
"""Accuracy of a solver's multipliers: the square root of its gap if the dual is flat."""

MAX_UNDECIDED_GAP = 1e-4
"""Scaled gap up to which a bound of F* or G* that is not tight is no mistake of the formulation."""

DERIVED_MESSAGE = "the formulation prints no {}: the derived one is used instead"
"""The reason why a check of a printed problem does not apply; the side is filled in."""

NO_DUAL_MESSAGE = "no dual is printed, and none can be derived"
"""The reason why a check of the dual does not apply."""


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


def compare_optima(name: str, a: float | None, b: float | None) -> Iterator[Measurement | Note]:
    """Compare two optimal values."""
    if a is None or b is None:
        yield Note("no solver found a value in one instance")
        return
    yield Measurement(
        absolute_difference(a, b), SOLVER_TOLERANCE * relative_scale(a, b), f"{name}: {a:.9g} against {b:.9g}, apart"
    )


def check_labels(probe: FormulationProbe) -> Findings:
    """Check that every constraint has a label, and that no label occurs twice."""
    for side, problem in (("primal", probe.primal), ("dual", probe.dual)):
        if problem is None or not probe.prints(side):
            yield NotApplicable(DERIVED_MESSAGE.format(side))
            continue
        names = [constraint.label for constraint in problem.constraints]
        missing = float(sum(not label for label in names))
        yield Measurement(missing, 0.5, f"constraints of the printed {side} without a label")
        yield Measurement(float(len(names) - len(set(names))), 0.5, f"labels that occur twice in the printed {side}")


def check_senses(probe: FormulationProbe) -> Findings:
    """Check that the primal is the d side and minimized, and that the dual is maximized."""
    import cvxpy as cp

    if probe.primal is None:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    yield assertion(isinstance(probe.primal.objective, cp.Minimize), "the printed primal must be minimized")
    if probe.dual is not None:
        yield assertion(isinstance(probe.dual.objective, cp.Maximize), "the printed dual must be maximized")


def check_strong_duality(probe: FormulationProbe) -> Findings:
    """Check that the printed problems have the same optimal value."""
    if probe.dual is None:
        yield NotApplicable(NO_DUAL_MESSAGE)
        return
    yield from compare_optima("printed primal and printed dual", probe.solved_primal[0], probe.solved_dual[0])


def check_stated_primal(probe: FormulationProbe) -> Findings:
    """Check that the printed primal has the value of min F(d) + G(Uᵀd)."""
    if not probe.prints("primal"):
        yield NotApplicable(DERIVED_MESSAGE.format("primal"))
        return
    if not (probe.F.has_cvxpy_expression and probe.G.has_cvxpy_expression):
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    derived = optimal_value(problem_with_exact_exponents(call_component(probe.program.cvxpy, "primal")))
    yield from compare_optima("printed and derived primal", probe.solved_primal[0], derived)


def check_stated_dual(probe: FormulationProbe) -> Findings:
    """Check that the printed dual has the value of max -F*(-Uw) - G*(w)."""
    if probe.dual is None or not probe.prints("dual") or "dual" not in probe.program.available_sides:
        yield NotApplicable(NO_DUAL_MESSAGE if probe.dual is None else DERIVED_MESSAGE.format("dual"))
        return
    derived = optimal_value(problem_with_exact_exponents(call_component(probe.program.cvxpy, "dual")))
    yield from compare_optima("printed and derived dual", probe.solved_dual[0], derived)


def check_certificate(probe: FormulationProbe) -> Findings:
    """Check that the interval from `solve` is narrow and contains the value of the printed primal."""
    proof, value = probe.certificate, probe.solved_primal[0]
    if probe.primal is None:
        yield Note(f"{NO_CVXPY_EXPRESSION}: only the gap was measured")
    elif value is None:
        yield Note("no solver found a value in one instance")
        return
    elif proof.infeasible or value == np.inf:
        description = f"only one of the two is infeasible: {proof!r}, the printed primal has {value:.9g}"
        yield assertion(proof.infeasible and value == np.inf, description)
        return
    else:
        outside = max(proof.lower - value, value - proof.upper, 0.0)
        description = f"the value {value:.9g} of the printed primal lies outside {proof!r} by"
        yield Measurement(outside, probe.tolerance(value), description)
    if not probe.exact and SOLVER_TOLERANCE < proof.scaled_gap <= MAX_UNDECIDED_GAP:
        yield Note(f"F* or G* is an upper bound only: in one instance the answer is only good to {proof.gap:.1e}")
        return
    yield Measurement(proof.scaled_gap, SOLVER_TOLERANCE, f"the certificate stays wide: {proof!r}")


def check_dual_at_w(probe: FormulationProbe) -> Findings:
    """Check, for fixed w, that the printed dual has the value of the dual function of the printed primal."""
    import cvxpy as cp

    if probe.dual is None:
        yield NotApplicable(NO_DUAL_MESSAGE)
        return
    t = probe.program.margins.t
    variables = [variable for variable in probe.dual.variables() if variable.name() == "w"]
    if len(variables) != 1 or variables[0].size != t:
        names = ", ".join(sorted(variable.name() for variable in probe.dual.variables()))
        raise ComponentError(f'the printed dual must have a variable "w" of size t = {t}; its variables are {names}')
    w_parameter = cp.Parameter(t)
    problem = cp.Problem(
        probe.dual.objective, [*probe.dual.constraints, cp.vec(variables[0], order="F") == w_parameter]
    )

    def printed_dual(w: HypothesisVector) -> float | None:
        w_parameter.value = w
        return optimal_value(problem)

    yield from _compare_with_dual_function(probe, "the printed dual", printed_dual)


def check_closed_form_dual(probe: FormulationProbe) -> Findings:
    """Check that -F*(-Uw) - G*(w), or -inf outside the domain of G*, is the dual function of the printed primal."""
    if not probe.exact:
        yield from _check_upper_bounds(probe)
        return

    def closed_form_dual(w: HypothesisVector) -> float:
        return probe.closed_form_dual(w) if probe.G.domain_violation(w) < INFEASIBLE_RESIDUAL else -np.inf

    yield from _compare_with_dual_function(probe, "-F*(-Uw) - G*(w)", closed_form_dual)


def _compare_with_dual_function(
    probe: FormulationProbe, name: str, dual: Callable[[HypothesisVector], float | None]
) -> Findings:
    """Compare a dual with the dual function of the printed primal, at the weights w of a probe.

    Parameters
    ----------
    probe
        The probe.
    name
        The name of the dual, for messages.
    dual
        The value of the dual at w; None if no solver finds it.
    """
    for w, expected in zip(probe.weights, probe.dual_function_values, strict=True):
        value = None if expected is None else dual(w)
        if value is None or expected is None:
            yield Note("no solver found a value at one w")
            continue
        yield Measurement(
            absolute_difference(value, expected),
            probe.tolerance(value, expected),
            f"at w {name} is {value:.9g} and the dual function of the printed primal {expected:.9g}; apart",
            {"w": w},
        )


def _check_upper_bounds(probe: FormulationProbe) -> Findings:
    """Check, if F* or G* is an upper bound only, that -F*(-Uw) - G*(w) is at most the optimum."""
    if probe.primal is None:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    value = probe.solved_primal[0]
    if value is None:
        yield Note("no solver found a value in one instance")
        return
    yield Note("F* or G* is an upper bound only: the value at w must be at most the optimum")
    for w in probe.weights:
        bound = probe.closed_form_dual(w)
        if probe.G.domain_violation(w) < INFEASIBLE_RESIDUAL:
            description = f"at w -F*(-Uw) - G*(w) is {bound:.9g}, above the optimum {value:.9g} by"
            yield Measurement(bound - value, probe.tolerance(bound, value), description, {"w": w})


def check_multiplier_w(probe: FormulationProbe) -> Findings:
    """Check that the multiplier of the constraint "w" has the sign of the conventions and proves the optimum."""
    value, multipliers = probe.solved_primal
    parts = [sign * multipliers[label] for label, sign in MULTIPLIER_SIGNS.items() if label in multipliers]
    if not parts or value is None:
        yield NotApplicable("no constraint is labelled w in a primal that was solved")
        return
    w = np.sum(parts, axis=0)
    yield Measurement(
        probe.G.domain_violation(w),
        MULTIPLIER_TOLERANCE * relative_scale(float(np.abs(w).max())),
        "the multiplier leaves the domain of G*",
        {"w": w},
    )
    lower = probe.proved_lower_bound(w)
    description = f"the multiplier proves {lower:.9g} of the optimum {value:.9g}, short by"
    # If no bound is tight, not even the best answer proves the optimum.
    gap = 0.0 if probe.exact else probe.certificate.gap
    yield Measurement(value - lower, MULTIPLIER_TOLERANCE * relative_scale(value) + gap, description, {"w": w})


def check_multiplier_d(probe: FormulationProbe) -> Findings:
    """Check that the multipliers of the constraint labelled "d" are example weights that prove the optimum."""
    value, multipliers = probe.solved_dual
    if "d" not in multipliers or value is None:
        yield NotApplicable("no constraint is labelled d in a dual that was solved")
        return
    d = multipliers["d"]
    yield Measurement(
        probe.F.domain_violation(d),
        MULTIPLIER_TOLERANCE * relative_scale(float(np.abs(d).max())),
        "the multiplier leaves the domain of F",
        {"d": d},
    )
    upper = call_component(probe.program.certify, d, None).upper
    description = f"the multiplier proves {upper:.9g} of the optimum {value:.9g}, beyond it by"
    yield Measurement(upper - value, MULTIPLIER_TOLERANCE * relative_scale(value), description, {"d": d})
