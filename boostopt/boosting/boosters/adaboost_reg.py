r"""AdaBoost_REG: AdaBoost that counts the past weight of an example as margin.

    mu_t = sum_{r <= t} b_r w_r / |b^t|,   rho~ = sum_{r <= t} b_r u_r + C |b^t| mu_t^p,   |b^t| = sum_{r <= t} b_r
    b_t minimizes G(b) = sum_n exp(-rho~_n / 2),   d proportional to c exp(-rho~ / 2)

w_r is the weight d_n / c_n of a copy of an example in round r. The functions need only the sums S = sum b u, A = sum b
w and B = sum b: rho~ = S + C B (A / B)^p, at A = B = 0 the limit. (Printed as recursions, (18) with C zeta |b| for the
increment (C / 2) b_t w_t and (19) with C for C / 2: neither agrees with the functional.)

p = 1: G is convex in b, its derivative -(1/2) sum (u + C w) exp(-rho~ / 2), so that b / 2 is the entropy projection of
d along u + C w. It exists if C w_n < |u_n| for some misclassified example; otherwise G decreases for ever.
p = 2: the exponent is concave in b, G may have several minima (the paper prints only one): the signs of the slope on a
grid bracket them, Brent's method computes each, and the best is taken. Beyond b_max = min over n of 2 (ln G(0) - l_n) /
|v_n|, over the examples with v_n = u_n + C w_n^2 < 0 and l_n the logarithm of their term, one term alone is larger than
G(0).

If G decreases for ever, the step is limited to `reach` over the largest rate of change of an rho~_n. A larger C then
gives shorter steps, and d stays near the uniform distribution, while d would oscillate with longer steps.

AdaBoost_REG is not a convex program: mu depends on the weights of all rounds, so the functional changes from round to
round, and for p = 2 it is not convex either. With C = 0 it is AdaBoost, b being twice its step.

Source: Raetsch, Onoda, Mueller 2001, (12)-(19), figure 10.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.reweighting import Booster, Reweighting, certified_nu
from boostopt.boosting.run.run_state import MEMORY_PAST_WEIGHT, State
from boostopt.boosting.updates.base import UpdateContext
from boostopt.functions.numerics.root_finding import find_root
from boostopt.programs.parameters import LARGEST, POSITIVE, Domain, parameter
from boostopt.programs.step_rules.adaboost_step_sizes import step_to_edge

NOT_NEGATIVE = Domain(f"[0, {LARGEST:g}]", lambda value, examples: 0.0 <= value <= LARGEST)
ONE_OR_TWO = Domain("{1, 2}", lambda value, examples: value in (1.0, 2.0))

GRID = 65
"""The number of points of each of the two grids, an even and a geometric one, of slopes for p = 2."""

FIRST_GRID_FRACTION = 1e-6
"""The first point of the geometric grid, as a fraction of the bracket."""

MAX_BLOCK_ENTRIES = 2**14
"""The largest number of entries of a matrix of steps and examples, which fits into the cache of a core."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The accuracy of a root, relative to the bracket, and of a rate, relative to the largest one."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of AdaBoost_REG."""

    C: float = parameter("the factor by which past weight counts as margin", NOT_NEGATIVE)
    p: float = parameter("the power of the average past weight", ONE_OR_TWO, 1.0)
    reach: float = parameter(
        "the change of a margin in a step along which the functional falls without end", POSITIVE, 1.0
    )
    nu: float = certified_nu()


class AdaBoostREG(Booster):
    """The formulation of AdaBoost_REG."""

    name = "AdaBoost_REG"
    title = "AdaBoost_REG"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, (12)-(19), figure 10",)
    Parameters = Parameters
    is_symmetric = True

    def reweighting(self, problem: Problem) -> Reweighting:
        return AdaBoostREGUpdate(problem)


@dataclass(frozen=True, eq=False)
class RegularizedFunctional:
    """G as a function of the step b of the newest hypothesis, in logarithms.

    For a column of k steps, shape (k, 1), the values of the examples have one row for each step.

    Attributes
    ----------
    log_c
        Logarithms of the multiplicities, shape (N,).
    S, A, B
        Sums over the rounds so far of b u, shape (N,), of b w, shape (N,), and of b.
    u, w
        Margins of the newest hypothesis and the weight of a copy of each example, shape (N,).
    C, p
        Parameters.
    """

    log_c: ExampleVector
    S: ExampleVector
    A: ExampleVector
    B: float
    u: ExampleVector
    w: ExampleVector
    C: float
    p: float

    def mu(self, b: float | Float[Array, "k 1"]) -> Float[Array, " *steps N"]:
        """Return the average weight mu; before the first step the limit, the weight w."""
        return (self.A + b * self.w) / (self.B + b) if self.B > 0.0 else self.w

    def rho(self, b: float | Float[Array, "k 1"]) -> Float[Array, " *steps N"]:
        """Return the margins rho~, which include the past weights."""
        return self.S + b * self.u + self.C * (self.B + b) * self.mu(b) ** self.p

    def rates(self, b: float | Float[Array, "k 1"]) -> Float[Array, " *steps N"]:
        """Return the derivatives of rho~ by b."""
        if self.p == 1.0:
            return self.limit_rates
        mu = self.mu(b)
        return self.u + self.C * mu * (2.0 * self.w - mu)

    @cached_property
    def limit_rates(self) -> ExampleVector:
        """The limits of the derivatives for large b, which are upper bounds of them, because rho~ is convex in b."""
        return self.u + self.C * self.w**self.p

    def log_value_and_weights(self, b: Float[Array, "k 1"]) -> tuple[Float[Array, " k"], Float[Array, "k N"]]:
        """Return ln G(b) and the share of each example in G(b)."""
        log_terms = self.log_c - 0.5 * self.rho(b)
        largest = log_terms.max(axis=1)
        terms = np.exp(log_terms - largest[:, np.newaxis])
        total = terms.sum(axis=1)
        return largest + np.log(total), terms / total[:, np.newaxis]

    def log_value(self, b: float) -> float:
        """Return ln G(b)."""
        return float(self.log_value_and_weights(np.array([[b]]))[0][0])

    def slope(self, b: float) -> float:
        """Return 2 G'(b) / G(b)."""
        return float(self.slopes(np.array([b]))[0])

    def slopes(self, steps: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return 2 G'(b) / G(b) at many steps."""
        rows = max(1, MAX_BLOCK_ENTRIES // len(self.u))
        columns = [steps[start : start + rows, np.newaxis] for start in range(0, len(steps), rows)]
        return np.concatenate([-(self.rates(b) * self.log_value_and_weights(b)[1]).sum(axis=1) for b in columns])


def line_search(G: RegularizedFunctional, reach: float) -> float:
    """Return the step b >= 0 that minimizes G, limited if G decreases for ever; 0 if no step decreases G."""
    convex = G.p == 1.0 or G.C == 0.0
    if convex and G.slope(0.0) >= 0.0:
        return 0.0
    fastest = max(float(np.abs(G.limit_rates).max()), float(np.abs(G.rates(0.0)).max()))
    # A rate of 0 up to rounding would give an arbitrarily long step.
    endless = bool((G.limit_rates >= -ROUNDING * fastest).all())
    if convex:
        if endless:
            return reach / fastest
        # The column is scaled into [-1, 1] for the projection; b counts half the margin.
        return 2.0 / fastest * step_to_edge(G.limit_rates / fastest, G.log_c - 0.5 * G.rho(0.0), 0.0)
    return _best_local_minimum(G, reach / fastest if endless else _bracket_end(G))


def _bracket_end(G: RegularizedFunctional) -> float:
    """Return a step beyond which the term of a single example exceeds G(0)."""
    is_decreasing = G.limit_rates < 0.0
    log_ratio = G.log_value(0.0) - (G.log_c - 0.5 * G.rho(0.0))[is_decreasing]
    return float((2.0 * log_ratio / -G.limit_rates[is_decreasing]).min())


def _best_local_minimum(G: RegularizedFunctional, end: float) -> float:
    """Return the best minimum in [0, end], by Brent's method at the sign changes of the slope on a grid."""
    grid = np.union1d(np.linspace(0.0, end, GRID), end * np.geomspace(FIRST_GRID_FRACTION, 1.0, GRID))
    slopes = dict(zip(grid.tolist(), G.slopes(grid).tolist(), strict=True))

    def slope(b: float) -> float:
        # At the ends of a bracket, the slope of the grid, because rounding may change its sign.
        return slopes[b] if b in slopes else G.slope(b)

    brackets = [(low, high) for low, high in itertools.pairwise(slopes) if slopes[low] < 0.0 <= slopes[high]]
    roots = [find_root(slope, low, high, ROUNDING * end) for low, high in brackets]
    return min([0.0, end, *roots], key=G.log_value)


class AdaBoostREGUpdate(Reweighting):
    """The step that minimizes the functional, and the weights from its derivatives."""

    def step(self, context: UpdateContext) -> State:
        p, state = self.problem.template.parameters, context.state
        N = len(self.c)
        w = state.d / self.c
        A = cast(ExampleVector, state.memory.get(MEMORY_PAST_WEIGHT, np.zeros(N)))
        u = np.asarray(context.newest_margins, dtype=np.float64)
        G = RegularizedFunctional(self.log_c, state.m, A, state.weight_sum, u, w, p.C, p.p)
        b = line_search(G, p.reach)
        if not 0.0 < b < math.inf:
            return replace(state, stop_reason="no step of the newest hypothesis lowers the functional")
        next_state = self.went(context, b, lambda m: -0.5 * (m + p.C * (G.B + b) * G.mu(b) ** p.p))
        return replace(next_state, memory={**next_state.memory, MEMORY_PAST_WEIGHT: A + b * w})
