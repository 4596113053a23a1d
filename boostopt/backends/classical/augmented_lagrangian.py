"""The augmented Lagrangian method for the dual [Glocer 2009].

The method keeps the bounds of the dual as constraints and moves its equations into the objective [Glocer 2009, section
4.1; LANCELOT: Conn, Gould, Toint 1991]. For the maximum edge, with c(w) = sum w - 1 and the dual Theta, an inner step
minimizes

    L(w, psi; lambda, mu) = -Theta(w, psi) - lambda c(w) + c(w)^2 / (2 mu)      subject to w >= 0, psi >= 0

by L-BFGS-B. If c is small, lambda becomes lambda - c / mu; otherwise mu decreases. (In the paper, Theta and lambda
have the opposite sign.) The gradients are those of the paper, corrected: with d the weights at (w, psi) or (w, beta),
they are -Uᵀd in w, 1/nu - d in psi and 1 - sum d in beta. For other edge functions, lambda is minus the further
variables of G.

The backend tries two forms. The first has the paper's variables: (w, psi) with the logarithm of a sum for a relative
entropy, (w, beta) if the conjugate is a sum over the examples. The second has w alone: the closed form of F* eliminates
psi and beta. It solves weak regularizers in stages. Each stage has a stronger regularizer, centred at the last stage's
weights.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
import scipy.optimize

from boostopt._utils.array_types import HypothesisVector
from boostopt.backends.base import NEEDS_SEPARABLE_REASON, Attempt, Backend, Capability, Task
from boostopt.backends.classical.augmented_lagrangian_forms import (
    DualForm,
    Lagrangian,
    ReducedDual,
    dual_forms,
    row_multipliers,
)
from boostopt.backends.incumbent_certificate import Incumbent
from boostopt.errors import require_not_none, unknown_name
from boostopt.functions.edge_functions.base import MAX_HYPOTHESIS_WEIGHT
from boostopt.programs.program import Program

NAME = "augmented_lagrangian"

FIRST_MU = 0.1
"""The first mu, and the factor by which mu decreases. Both are LANCELOT's, as are the exponents below."""

ETA_EXPONENT_AFTER_FAILURE, ETA_EXPONENT_AFTER_SUCCESS = 0.1, 0.9
"""Exponents of mu in the bound of c: of a new bound after mu has decreased, and of its factor after a new lambda."""

MIN_VIOLATION_TOL, MIN_GRADIENT_TOL = 1e-13, 1e-11
"""Smallest tolerances of c and of the inner steps: the rounding of sums of margins."""

MEMORY = 30
"""Number of corrections that L-BFGS-B stores."""

MAX_EVALUATIONS = 500
"""Maximum number of evaluations of the Lagrangian in one inner step, and in the first form as a whole."""

MAX_OUTER_ITERATIONS = 100
"""Maximum number of inner steps in one form."""

MAX_STALLED_ITERATIONS = 12
"""Maximum number of inner steps in a row without progress (see `PROGRESS`)."""

PROGRESS = 0.01
"""Fraction of the gap by which an inner step must narrow the interval to count as progress."""


@dataclass(frozen=True)
class AugmentedLagrangian(Backend):
    """The method of LANCELOT in the dual variables, with SciPy's L-BFGS-B for the steps within bounds."""

    @property
    def name(self) -> str:
        return NAME

    @property
    def version(self) -> str:
        return f"scipy {scipy.__version__}"

    def takes(self, program: Program) -> Capability:
        F = program.regularizer.pointwise()
        if F is None or not program.regularizer.has_closed_form_conjugate:
            return Capability(False, f"{NAME} {NEEDS_SEPARABLE_REASON}")
        centre, has_interior = 0.5 * (F.lower + F.upper), F.upper > F.lower
        with np.errstate(divide="ignore", invalid="ignore"):
            has_curvature = F.curvatures(centre) > 0
        if not has_curvature[has_interior].all():
            return Capability(False, f"{NAME} needs a strictly convex regularizer: the dual of this one has kinks")
        if program.edge_function.epigraph(program.margins.t) is None:
            return Capability(False, f"{NAME} needs an edge function made of linear rows and a quadratic")
        return Capability(True)

    def keeps_limit(self, program: Program) -> bool:
        return True  # L-BFGS-B is stopped between two evaluations of the Lagrangian

    def attempts(self, task: Task) -> Iterator[Attempt]:
        w, best = corrective_start(task), Incumbent(task)
        for dual in dual_forms(task.program.regularizer):
            run, is_continuation = _OuterIteration(task, dual, best, w), False
            while not task.deadline.passed:
                start_time = time.perf_counter()
                status = run.run()
                yield Attempt(
                    form=dual.form,
                    options={"mu": FIRST_MU, "memory": MEMORY},
                    status=status,
                    claims=best.goal_reached,
                    d=best.d,
                    w=best.w,
                    iterations=run.evaluations,
                    statistics={"outer steps": run.outer, "violation": run.violation},
                    times={"solve": time.perf_counter() - start_time},
                    is_continuation=is_continuation,
                )
                is_continuation = True
                if not best.goal_reached:
                    break
                if not best.tighten_goal():
                    return
            w = w if best.w is None else best.w


def open_augmented_lagrangian(name: str) -> Backend:
    """Return the backend, which has no variants.

    Raises
    ------
    OptionError
        The name contains a variant.
    """
    if name != NAME:
        raise unknown_name("backend", name, installed_names())
    return AugmentedLagrangian()


def installed_names() -> list[str]:
    """Return the name of the backend. SciPy is always installed."""
    return [NAME]


class _OuterIteration:
    """The outer iteration in one form."""

    def __init__(self, task: Task, dual: DualForm, best: Incumbent, w: HypothesisVector) -> None:
        G = require_not_none(
            task.program.edge_function.epigraph(task.program.margins.t), "a program that this backend takes"
        )
        self.task, self.dual, self.best = task, dual, best
        self.evaluations, self.outer, self.violation = 0, 0, np.inf
        self._lagrangian = Lagrangian(task.program.margins, G, dual, np.zeros(len(G.g)), FIRST_MU)
        lower_bounds = np.concatenate([np.where(G.equality, -np.inf, 0.0), dual.lower_y])
        # Duals of infeasible programs are unbounded.
        self._bounds = [(max(low, -MAX_HYPOTHESIS_WEIGHT), MAX_HYPOTHESIS_WEIGHT) for low in lower_bounds.tolist()]
        self._z = np.concatenate([row_multipliers(G, w), dual.initial_y])
        self._gradient_tol, self._violation_tol = FIRST_MU, FIRST_MU**ETA_EXPONENT_AFTER_FAILURE

    def run(self) -> str:
        """Minimize and update until the interval is narrow enough or progress stops; return the reason for the end."""
        stalled, has_stages = 0, isinstance(self.dual, ReducedDual)
        while not self.best.goal_reached:
            if self.task.deadline.passed:
                return f"time limit, violation {self.violation:.1e}"
            if self.outer == MAX_OUTER_ITERATIONS or stalled == MAX_STALLED_ITERATIONS:
                reason = "step limit" if stalled < MAX_STALLED_ITERATIONS else "no progress"
                return f"{reason}, violation {self.violation:.1e}"
            if not has_stages and self.evaluations >= MAX_EVALUATIONS:
                return f"evaluation limit, violation {self.violation:.1e}"
            previous_gap, lagrangian = self.best.gap, self._lagrangian
            self._minimize(max(self._gradient_tol, MIN_GRADIENT_TOL))
            v, y = lagrangian.split(self._z)
            w, self.violation = lagrangian.weights(v), lagrangian.violation(v)
            m = lagrangian.U.margins(w)
            self.best.add(self.dual.evaluate(m, y).d, w)
            stalled = 0 if self.best.gap < (1.0 - PROGRESS) * previous_gap else stalled + 1
            if self.violation <= max(self._violation_tol, MIN_VIOLATION_TOL):
                self._lagrangian = replace(lagrangian, estimate=lagrangian.first_order_estimate(v))
                self._violation_tol *= lagrangian.mu**ETA_EXPONENT_AFTER_SUCCESS
                self._gradient_tol *= lagrangian.mu
                if isinstance(self.dual, ReducedDual):
                    stalled = 0 if self.dual.steps > 1.0 else stalled
                    self.dual.start_next_stage(m)
            else:
                mu = lagrangian.mu * FIRST_MU
                self._lagrangian = replace(lagrangian, mu=mu)
                self._violation_tol, self._gradient_tol = mu**ETA_EXPONENT_AFTER_FAILURE, mu
        return f"gap reached, violation {self.violation:.1e}"

    def _minimize(self, tolerance: float) -> None:
        """Minimize the Lagrangian over z within the bounds, up to a projected gradient of `tolerance`."""
        self.outer += 1
        if not len(self._z):
            return

        def stop(intermediate_result: Any) -> None:
            if self.task.deadline.passed:
                raise StopIteration

        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            answer: Any = scipy.optimize.minimize(
                self._lagrangian,
                self._z,
                jac=True,
                method="L-BFGS-B",
                bounds=self._bounds,
                callback=stop,
                options={"ftol": 0.0, "gtol": tolerance, "maxfun": MAX_EVALUATIONS, "maxcor": MEMORY},
            )
        self.evaluations += int(answer.nfev)
        if np.isfinite(answer.x).all():
            self._z = np.asarray(answer.x, dtype=np.float64)


def corrective_start(task: Task) -> HypothesisVector:
    """Return the weights of the start, or the first hypothesis alone, after one corrective step.

    The step goes towards a subgradient w' of G at the edges of d(w): w becomes (1 - alpha) w + alpha w' [Glocer 2009,
    section 4.1; the last weight there is alpha, and the earlier ones are rescaled].
    """
    program, start = task.program, task.start
    U, F, G = program.margins, program.regularizer, program.edge_function
    start_w = None if start is None else start.weights(U.t)
    w = G.project(np.eye(1, U.t)[0] if start_w is None else start_w)
    w = G.subgradient(U.edges(F.project(None))) if w is None else w
    d = F.conjugate_at(-U.margins(w)).d
    target = G.subgradient(U.edges(d))
    direction_margins = U.margins(target - w)
    slope, norm = (
        float(direction_margins @ d) - G.conjugate(target) + G.conjugate(w),
        float(np.abs(direction_margins).max()),
    )
    alpha = min(max(slope / (F.objective_scale * norm**2), 0.0), 1.0) if norm > 0 else 0.0
    return (1.0 - alpha) * w + alpha * target
