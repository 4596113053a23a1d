"""Comparisons of a page's printed problems with each other, with the derived problems and with the closed forms.

Agreement at the optimum shows strong duality only. So the checks also compare, at hypothesis weights that are not
optimal, the printed dual with the dual function that follows mechanically from the printed primal. They compare both
with the closed form -F*(-Uw) - G*(w) that every certificate uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.certificates.certificate import Certificate
from boostopt.checks.cvxpy_checks import UNSTATED
from boostopt.checks.references.cvxpy_references import exact_problem
from boostopt.checks.references.dual_function import SIDES, dual_function, labelled, with_edges
from boostopt.checks.references.measurements import (
    OFF,
    SOLVED,
    Measured,
    Measurements,
    NotAsked,
    PieceFailed,
    Remark,
    apart,
    ask,
    held,
    optimum,
    scale_of,
)
from boostopt.checks.references.probes import EdgeProbe, RegularizerProbe
from boostopt.checks.references.random_instances import Instance
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program
from boostopt.solving.solve import solve

SOLVES = 2
"""Number of arguments for which a solver is called, for F and G of one instance."""

MULTIPLIER = 1e-5
"""Accuracy of a solver's multipliers: the square root of its gap if the dual is flat."""

UNDECIDED = 1e-4
"""Scaled gap up to which a bound of F* or G* that is not tight is no mistake of the page."""

DERIVED = "the page prints no {}: the derived one is used instead"
NO_DUAL = "no dual is printed, and none can be derived"


class PageProbe:
    """A page with one of its instances: its problems are built and solved once."""

    page: Formulation[Any]
    instance: Instance
    seed: int

    def __init__(self, page: Formulation[Any], instance: Instance, seed: int) -> None:
        self.page, self.instance, self.seed = page, instance, seed

    @property
    def program(self) -> Program:
        return self.instance.program

    @cached_property
    def F(self) -> RegularizerProbe:
        """The regularizer of the instance."""
        return RegularizerProbe(self.program.regularizer, self.seed, SOLVES)

    @cached_property
    def G(self) -> EdgeProbe:
        """Its edge function."""
        return EdgeProbe(self.program.edge_function, self.program.margins.t, self.seed, SOLVES)

    @property
    def exact(self) -> bool:
        """Whether F* and G* are known, and not only upper bounds of them."""
        return self.F.F.exact and self.G.G.exact

    @cached_property
    def U(self) -> Float[Array, "N t"]:
        return self.program.margins.to_array()

    @property
    def per_example(self) -> set[str]:
        """The parameters of the page that hold one number for each example."""
        return {name for name, its in self.page.parameters.items() if its.domain.kind == "per example"}

    @cached_property
    def primal(self) -> Any | None:
        """The primal as printed; None where none is and CVXPY has no expression of a formula."""
        derivable = self.F.stated and self.G.stated
        return self._printed("primal") if self.prints("primal") or derivable else None

    @cached_property
    def dual(self) -> Any | None:
        """The dual as printed, or else the derived one; None if there is neither."""
        derivable = "dual" in self.program.sides
        return self._printed("dual") if self.prints("dual") or derivable else None

    def _printed(self, side: str) -> Any:
        import cvxpy as cp

        # The page itself is called, so that a failure is reported with the page's line.
        problem = ask(getattr(self.page, side), self.U, self.program.parameters, self.program.examples)
        if not isinstance(problem, cp.Problem):
            raise PieceFailed(f"{type(self.page).__name__}.{side} must return a cvxpy.Problem; got {problem!r}"[:300])
        return exact_problem(problem)

    def prints(self, side: str) -> bool:
        """Return whether the page states a problem of its own."""
        return getattr(type(self.page), side) is not getattr(Formulation, side)

    @cached_property
    def solved_primal(self) -> tuple[float | None, dict[str, Any]]:
        """The optimal value of the primal as printed, and its multipliers by label; None for no primal."""
        return _solved(self.primal)

    @cached_property
    def solved_dual(self) -> tuple[float | None, dict[str, Any]]:
        """The same for the dual; the value is None if there is no dual."""
        return _solved(self.dual)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the optimum from `solve`."""
        return ask(solve, self.program).certificate

    @cached_property
    def weights(self) -> list[Float[Array, " t"]]:
        """Hypothesis weights: random ones in the domain of G*, and others far outside."""
        rng, t = np.random.default_rng([self.seed, 10]), self.program.margins.t
        raw = [rng.exponential(size=t), rng.normal(size=t), rng.dirichlet(np.ones(t))]
        inside = [w for w in (self.G.project(w) for w in raw) if w is not None]
        outside = [w for w in (1.4 * inside[0] + 0.2, inside[0] - 0.7, *raw) if self.G.off(w) >= OFF]
        return [*inside[:2], *outside[:2]]

    @cached_property
    def mechanical(self) -> list[float | None]:
        """The dual function of the printed primal at the weights."""
        if self.primal is None:
            return [None] * len(self.weights)
        primal = with_edges(self.primal, self.U)
        return [dual_function(primal, w) for w in self.weights]

    def closed(self, w: Float[Array, " t"]) -> float:
        """The dual value -F*(-Uw) - G*(w), for w in the domain of G*."""
        return -self.F.conjugate_at(-(self.U @ w)).value - self.G.conjugate(w)

    def proved(self, w: Float[Array, " t"]) -> float:
        """The lower end that w proves. A bound of F* is tight only near the optimal d, so `solve` supplies this d."""
        lower = ask(self.program.certify, None, w).lower
        near = self.G.project(w)
        if self.program.regularizer.exact or near is None:
            return lower
        bound = self.F.conjugate_at(-(self.U @ near), self.certificate.d).value
        return max(lower, -bound - self.G.conjugate(near))

    def tolerance(self, *values: float) -> float:
        """Return the allowed difference of two optimal values."""
        return SOLVED * scale_of(*values)


def _solved(problem: Any | None) -> tuple[float | None, dict[str, Any]]:
    """Return the optimal value, None for no problem, and copies of the multipliers: later solves may overwrite them."""
    value = None if problem is None else optimum(problem)
    finite = value is not None and np.isfinite(value)
    multipliers = {label: constraint.dual_value for label, constraint in labelled(problem).items()} if finite else {}
    return value, {label: np.array(multiplier, dtype=np.float64).ravel() for label, multiplier in multipliers.items()}


def compared(name: str, a: float | None, b: float | None) -> Iterator[Measured | Remark]:
    """Compare two optimal values."""
    if a is None or b is None:
        yield Remark("no solver found a value in one instance")
        return
    yield Measured(apart(a, b), SOLVED * scale_of(a, b), f"{name}: {a:.9g} against {b:.9g}, apart")


def labels(probe: PageProbe) -> Measurements:
    """Every constraint has a label, and no label occurs twice."""
    for side, problem in (("primal", probe.primal), ("dual", probe.dual)):
        if problem is None or not probe.prints(side):
            yield NotAsked(DERIVED.format(side))
            continue
        names = [constraint.label for constraint in problem.constraints]
        missing = float(sum(not label for label in names))
        yield Measured(missing, 0.5, f"constraints of the printed {side} without a label")
        yield Measured(float(len(names) - len(set(names))), 0.5, f"labels that occur twice in the printed {side}")


def senses(probe: PageProbe) -> Measurements:
    """The primal is the d side and minimized, the dual is maximized."""
    import cvxpy as cp

    if probe.primal is None:
        yield NotAsked(UNSTATED)
        return
    yield held(isinstance(probe.primal.objective, cp.Minimize), "the printed primal must be minimized")
    if probe.dual is not None:
        yield held(isinstance(probe.dual.objective, cp.Maximize), "the printed dual must be maximized")


def strong_duality(probe: PageProbe) -> Measurements:
    """The printed problems have the same optimal value."""
    if probe.dual is None:
        yield NotAsked(NO_DUAL)
        return
    yield from compared("printed primal and printed dual", probe.solved_primal[0], probe.solved_dual[0])


def literal_primal(probe: PageProbe) -> Measurements:
    """The printed primal has the value of min F(d) + G(Uᵀd)."""
    if not probe.prints("primal"):
        yield NotAsked(DERIVED.format("primal"))
        return
    if not (probe.F.stated and probe.G.stated):
        yield NotAsked(UNSTATED)
        return
    derived = optimum(exact_problem(ask(probe.program.cvxpy, "primal")))
    yield from compared("printed and derived primal", probe.solved_primal[0], derived)


def literal_dual(probe: PageProbe) -> Measurements:
    """The printed dual has the value of max -F*(-Uw) - G*(w)."""
    if probe.dual is None or not probe.prints("dual") or "dual" not in probe.program.sides:
        yield NotAsked(NO_DUAL if probe.dual is None else DERIVED.format("dual"))
        return
    derived = optimum(exact_problem(ask(probe.program.cvxpy, "dual")))
    yield from compared("printed and derived dual", probe.solved_dual[0], derived)


def certificate(probe: PageProbe) -> Measurements:
    """The certificate from `solve` is narrow, and its interval contains the value of the printed primal."""
    proof, value = probe.certificate, probe.solved_primal[0]
    if probe.primal is None:
        yield Remark(f"{UNSTATED}: only the gap was measured")
    elif value is None:
        yield Remark("no solver found a value in one instance")
        return
    elif proof.infeasible or value == np.inf:
        what = f"only one of the two is infeasible: {proof!r}, the printed primal has {value:.9g}"
        yield held(proof.infeasible and value == np.inf, what)
        return
    else:
        outside = max(proof.lower - value, value - proof.upper, 0.0)
        what = f"the value {value:.9g} of the printed primal lies outside {proof!r} by"
        yield Measured(outside, probe.tolerance(value), what)
    if not probe.exact and SOLVED < proof.scaled_gap <= UNDECIDED:
        yield Remark(f"F* or G* is an upper bound only: in one instance the answer is only good to {proof.gap:.1e}")
        return
    yield Measured(proof.scaled_gap, SOLVED, f"the certificate stays wide: {proof!r}")


def printed_dual(probe: PageProbe) -> Measurements:
    """For fixed w, the printed dual has the value of the dual function of the printed primal."""
    import cvxpy as cp

    if probe.dual is None:
        yield NotAsked(NO_DUAL)
        return
    t = probe.program.margins.t
    variables = [variable for variable in probe.dual.variables() if variable.name() == "w"]
    if len(variables) != 1 or variables[0].size != t:
        names = ", ".join(sorted(variable.name() for variable in probe.dual.variables()))
        raise PieceFailed(f'the printed dual must have a variable "w" of size t = {t}; its variables are {names}')
    at = cp.Parameter(t)
    fixed = cp.Problem(probe.dual.objective, [*probe.dual.constraints, cp.vec(variables[0], order="F") == at])
    for w, mechanical in zip(probe.weights, probe.mechanical, strict=True):
        at.value = w
        printed = optimum(fixed)
        if printed is None or mechanical is None:
            yield Remark("no solver found a value at one w")
            continue
        what = f"at w the printed dual is {printed:.9g} and the dual function of the printed primal {mechanical:.9g}"
        yield Measured(apart(printed, mechanical), probe.tolerance(printed, mechanical), f"{what}; apart", {"w": w})


def closed_dual(probe: PageProbe) -> Measurements:
    """The closed form -F*(-Uw) - G*(w), -inf outside the domain of G*, is the dual function of the printed primal."""
    if not probe.exact:
        yield from _bounds(probe)
        return
    for w, mechanical in zip(probe.weights, probe.mechanical, strict=True):
        if mechanical is None:
            yield Remark("no solver found a value at one w")
            continue
        inside = probe.G.off(w) < OFF
        closed = probe.closed(w) if inside else -np.inf
        what = f"at w -F*(-Uw) - G*(w) is {closed:.9g} and the dual function of the printed primal {mechanical:.9g}"
        yield Measured(apart(closed, mechanical), probe.tolerance(closed, mechanical), f"{what}; apart", {"w": w})


def _bounds(probe: PageProbe) -> Measurements:
    """If F* or G* is an upper bound only, -F*(-Uw) - G*(w) is at most the optimum."""
    if probe.primal is None:
        yield NotAsked(UNSTATED)
        return
    value = probe.solved_primal[0]
    if value is None:
        yield Remark("no solver found a value in one instance")
        return
    yield Remark("F* or G* is an upper bound only: the value at w must be at most the optimum")
    for w in probe.weights:
        bound = probe.closed(w)
        if probe.G.off(w) < OFF:
            what = f"at w -F*(-Uw) - G*(w) is {bound:.9g}, above the optimum {value:.9g} by"
            yield Measured(bound - value, probe.tolerance(bound, value), what, {"w": w})


def multiplier_w(probe: PageProbe) -> Measurements:
    """The multiplier of the constraint labelled "w" has the sign of the conventions and proves the optimum."""
    value, multipliers = probe.solved_primal
    parts = [sign * multipliers[label] for label, sign in SIDES.items() if label in multipliers]
    if not parts or value is None:
        yield NotAsked("no constraint is labelled w in a primal that was solved")
        return
    w = np.sum(parts, axis=0)
    yield Measured(
        probe.G.off(w),
        MULTIPLIER * scale_of(float(np.abs(w).max())),
        "the multiplier leaves the domain of G*",
        {"w": w},
    )
    lower = probe.proved(w)
    what = f"the multiplier proves {lower:.9g} of the optimum {value:.9g}, short by"
    # Where no bound is tight, not even the best answer proves the optimum.
    known = 0.0 if probe.exact else probe.certificate.gap
    yield Measured(value - lower, MULTIPLIER * scale_of(value) + known, what, {"w": w})


def multiplier_d(probe: PageProbe) -> Measurements:
    """The multipliers of the constraint labelled "d" are example weights that prove the optimum."""
    value, multipliers = probe.solved_dual
    if "d" not in multipliers or value is None:
        yield NotAsked("no constraint is labelled d in a dual that was solved")
        return
    d = multipliers["d"]
    yield Measured(
        probe.F.outside(d),
        MULTIPLIER * scale_of(float(np.abs(d).max())),
        "the multiplier leaves the domain of F",
        {"d": d},
    )
    upper = ask(probe.program.certify, d, None).upper
    what = f"the multiplier proves {upper:.9g} of the optimum {value:.9g}, beyond it by"
    yield Measured(upper - value, MULTIPLIER * scale_of(value), what, {"d": d})
