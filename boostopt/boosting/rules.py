"""When boosting stops, and how accurate its solves are until then.

A rule is a condition on where the run stands together with what it promises. The formulations name theirs, the
strongest first; `RULES` has them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from boostopt.arguments import number, positive
from boostopt.boosting.problem import Problem
from boostopt.boosting.state import State
from boostopt.errors import OptionError


@dataclass(frozen=True, eq=False)
class View:
    """The part of a run that rules look at.

    Attributes
    ----------
    problem
        What is boosted.
    state
        Where the run stands.
    guarantee
        The edge that every answer of the oracle is known to reach; None if none is known.
    """

    problem: Problem
    state: State
    guarantee: float | None

    @property
    def epsilon(self) -> float:
        """The accuracy that is wanted."""
        return self.problem.epsilon

    @property
    def reachable(self) -> float:
        """A soft margin not above what the oracle can do: of the smallest edge so far, a guarantee included."""
        return self.state.bounds.smallest_target


@dataclass(frozen=True)
class Rule:
    """A stopping rule.

    Attributes
    ----------
    name
        How formulations and users call it.
    says
        What holds when it fires, in words, with {epsilon}, {measure} and {reachable} to be filled in.
    holds
        Whether it fires.
    obstacle
        Why it cannot fire for a problem: "" if it can.
    doubt
        Why it promises nothing of the soft margin for a problem, but of the regularized program alone: "" if it does.
        Such a rule is taken where it is asked for by name.
    implies
        What follows from `says` where there is no doubt, as its continuation.
    primal
        Whether it needs the largest edge of the hypotheses collected before the newest, in every round.
    """

    name: str
    says: str
    holds: Callable[[View], bool]
    obstacle: Callable[[Problem], str] = lambda problem: ""
    doubt: Callable[[Problem], str] = lambda problem: ""
    implies: str = ""
    primal: bool = False

    def words(self, view: View) -> str:
        """Return why a run stopped."""
        of = view.problem.of_class[0].measure
        numbers = {"epsilon": f"{view.epsilon:g}", "reachable": f"{view.reachable:.6g}", "measure": of}
        implied = promising_nothing(self.doubt(view.problem)) or self.implies
        return f"{self.name}: {(self.says + implied).format(**numbers)}"


def promising_nothing(doubt: str) -> str:
    """Return a doubt as the continuation of a reason; "" for none."""
    return f"; that promises nothing of the soft margin, for {doubt}" if doubt else ""


def _no_goal(problem: Problem) -> str:
    return "" if problem.goal is not None else "the program has no soft margin"


def _no_entropy(problem: Problem) -> str:
    """Say that there is no regularized program over all hypotheses, the largest edge with an entropy, if so."""
    if problem.goal is None or not problem.smooth:
        return _no_goal(problem) or "the regularizer is not strongly convex"
    return "" if problem.edges.mixes else "the program is not the largest edge"


def small_eta(problem: Problem) -> str:
    """Say that the entropy costs more than half of the accuracy, if it does."""
    if problem.affordable:
        return ""
    return (
        f"the regularizer may cost {problem.F.price:.4g} of it, more than epsilon / 2 = "
        f"{0.5 * problem.epsilon:.4g}: a larger eta is needed"
    )


def _direct(view: View) -> bool:
    return view.reachable - view.state.soft_margin <= view.epsilon


def _regularized(view: View) -> bool:
    return view.state.bounds.smallest_value - view.state.value <= 0.5 * view.epsilon


def _simple(view: View) -> bool:
    bounds = view.state.bounds
    return bounds.smallest_primal - bounds.primal <= 0.5 * view.epsilon


def _practical(view: View) -> bool:
    return view.state.bounds.smallest_primal - view.state.value <= 0.5 * view.epsilon


def _optimum(view: View) -> bool:
    return len(view.state.w) > 0 and view.reachable - view.state.value <= view.epsilon


def _infeasible(view: View) -> bool:
    certificate = view.state.certificate
    return certificate is not None and certificate.infeasible


def _boundary(view: View) -> bool:
    """Infeasible, or at its boundary: gamma = g_t - epsilon is reached by the weights, the dual not attained."""
    return _infeasible(view) or _direct(view)


def _priced(view: View) -> bool:
    """No hypothesis of the class would change P by more than epsilon, at the d that the oracle was asked with.

    Where the largest edge bounds the program over the class, that bound is what counts. Where edges up to a level cost
    nothing, d is scaled by level / edge: all hypotheses of the class then cost nothing, and P changes by what F rises
    by.
    """
    F, G, edge, d = view.problem.F, view.problem.edges, view.state.bounds.edge, view.state.d
    if len(view.state.w) == 0:
        return False
    bounds, level = view.state.bounds, G.free_edge
    if view.problem.goal is None and math.isfinite(bounds.upper):
        return bounds.upper - view.state.value <= view.epsilon
    if level is not None and edge <= level:
        return True
    if level is not None and level > 0.0 and not F.on_simplex:
        return F.value(d * (level / edge)) - F.value(d) <= view.epsilon
    return G.rise(view.state.bounds.known, edge) <= view.epsilon


def _not_separable(problem: Problem) -> str:
    """Say that G is a maximum, whose value is not a sum over the hypotheses."""
    return "G is the largest edge" if problem.edges.mixes else ""


def _without_bound(problem: Problem) -> str:
    return "the program has no bound of the edges" if problem.edges.edge_bound is None else ""


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("direct", "the {measure} is within epsilon = {epsilon} of {reachable}", _direct, _no_goal),
        Rule(
            "regularized",
            "the regularized bounds are within epsilon / 2",
            _regularized,
            _no_entropy,
            small_eta,
            ", and so the {measure} within epsilon = {epsilon} of {reachable}",
        ),
        Rule(
            "simple",
            "P^t(d) has come within epsilon / 2 of the last optimum",
            _simple,
            _no_entropy,
            small_eta,
            primal=True,
        ),
        Rule(
            "practical",
            "P^t(d) has come within epsilon / 2 of the last dual value",
            _practical,
            _no_entropy,
            small_eta,
        ),
        Rule("optimum", "the optimum has come within epsilon = {epsilon} of {reachable}", _optimum, _no_goal),
        Rule("boundary", "no distribution has all edges below {reachable} - {epsilon}", _boundary, _without_bound),
        Rule("infeasible", "no distribution has all edges below {reachable} - {epsilon}", _infeasible, _without_bound),
        Rule(
            "priced", "no hypothesis changes the value of d by more than epsilon = {epsilon}", _priced, _not_separable
        ),
    )
}
"""The stopping rules by name."""


@dataclass(frozen=True)
class Schedule:
    """The accuracy of the solves: loose while the run is far from its end, tight near it.

    Attributes
    ----------
    share
        Tolerance as a share of what is between the reachable soft margin and that of the weights.
    shift
        How far, in the 1-norm, the distribution may be from the optimal one: a gap x leaves it within sqrt(2 x / s),
        s the modulus of strong convexity. A looser solve asks the oracle at random.
    loosest, finest
        Ends of the tolerance.
    """

    share: float = 0.03
    shift: float = 0.03
    loosest: float = 1e-2
    finest: float = 1e-8

    def __post_init__(self) -> None:
        """Raise OptionError for negative numbers, ends that are not positive, or ends the wrong way round."""
        for name in ("share", "shift"):  # with 0 every solve is as fine as it may be
            number(name, getattr(self, name), "a number of at least 0", lambda x: 0.0 <= x < math.inf)
        for name in ("loosest", "finest"):
            positive(name, getattr(self, name))
        if not self.finest <= self.loosest < 1.0:
            raise OptionError(
                "finest and loosest must be tolerances, the finest at most the loosest and that below 1; got "
                f"{self.finest:g} and {self.loosest:g}. Exchange them, or leave them out."
            )

    def tolerance(self, view: View) -> float:
        """Return the scaled gap that the next solve is to reach."""
        if not view.problem.smooth:
            return self.finest
        if view.problem.goal is None or view.problem.edges.edge_bound is not None:
            # The optimum rises by epsilon^2 / 2 a round: the solve must see that.
            return float(np.clip(self.share * view.epsilon**2, self.finest * 1e-2, 1e-6))
        gap = max(view.reachable - view.state.soft_margin, view.epsilon)
        near = 0.5 * self.shift**2 * view.problem.F.strong_convexity
        return float(np.clip(min(self.share * gap, near), self.finest, self.loosest))
