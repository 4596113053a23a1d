"""The stopping rules of boosting, and the schedule of the accuracy of its solves.

A rule is a condition on the state of the run, together with its promise. Each formulation names its rules, with the
strongest first. `RULES` has all rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from boostopt._utils.validation import check_number, check_positive
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.run.run_state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.errors import OptionError


@dataclass(frozen=True, eq=False)
class RuleContext:
    """The part of a run that rules use.

    Attributes
    ----------
    problem
        The problem.
    state
        The state of the run.
    guarantee
        The edge that every answer of the oracle is known to reach; None if none is known.
    """

    problem: Problem
    state: State
    guarantee: float | None

    @property
    def epsilon(self) -> float:
        """The accuracy at which the run stops."""
        return self.problem.epsilon

    @property
    def reachable(self) -> float:
        """A lower bound of the optimum over the class, from the smallest edge so far and the guarantee."""
        return self.state.bounds.smallest_target


@dataclass(frozen=True)
class Rule:
    """A stopping rule.

    Attributes
    ----------
    name
        The name of the rule.
    condition
        The condition in words, with the fields {epsilon}, {measure}, {reachable} and {edge}, the smallest edge.
    holds
        A function of a `RuleContext` that says whether the rule holds.
    why_inapplicable
        A function of a problem that returns why the rule cannot hold for it; "" if it can.
    caveat
        A function of a problem that returns why the rule promises nothing about the value that the run bounds, such as
        the soft margin, only about the regularized program; "" if it promises this value. A rule with a doubt applies
        only if it is passed by name.
    conclusion
        The words after `condition` if there is no doubt: what follows for the value.
    needs_primal_value
        Whether the rule needs, in every round, the largest edge of the hypotheses collected before the newest.
    """

    name: str
    condition: str
    holds: Callable[[RuleContext], bool]
    why_inapplicable: Callable[[Problem], str] = lambda problem: ""
    caveat: Callable[[Problem], str] = lambda problem: ""
    conclusion: str = ""
    needs_primal_value: bool = False

    def message(self, view: RuleContext) -> str:
        """Return the reason of a run that this rule stops."""
        measure = view.problem.measure
        # If F0 is an indicator, the reachable value is the smallest edge.
        edge = view.reachable if view.problem.has_soft_margin else view.state.bounds.smallest_edge
        bounds = {"reachable": f"{view.reachable:.6g}", "edge": f"{edge:.6g}"}
        numbers = {"epsilon": f"{view.epsilon:g}", "measure": measure, **bounds}
        implication = caveat_clause(self.caveat(view.problem), measure) or self.conclusion
        return f"{self.name}: {(self.condition + implication).format(**numbers)}"


def caveat_clause(doubt: str, measure: str) -> str:
    """Return the clause of a reason for a doubt; "" without a doubt."""
    return f"; this promises nothing about the {measure}, because {doubt}" if doubt else ""


def _missing_objective(problem: Problem) -> str:
    return "" if problem.objective is not None else "the program has no soft margin"


def _missing_entropy(problem: Problem) -> str:
    """Return the obstacle if the program is not the largest edge with an entropy; "" otherwise."""
    if problem.objective is None or not problem.smooth:
        return _missing_objective(problem) or "the regularizer is not strongly convex"
    return "" if problem.edge_function.is_largest_edge else "the edge function is not the largest edge"


def eta_too_small(problem: Problem) -> str:
    """Return a doubt if the regularizer may cost more than epsilon / 2; "" otherwise."""
    if problem.affordable:
        return ""
    if not math.isfinite(problem.F.price):
        return "the largest value of the regularizer is not known, and it may cost more than epsilon / 2"
    weaker = "a larger eta" if "eta" in problem.formulation.parameters else "a weaker regularizer"
    return (
        f"the regularizer may cost {problem.F.price:.4g} of it, more than epsilon / 2 = "
        f"{0.5 * problem.epsilon:.4g}: {weaker} is needed"
    )


def _direct(view: RuleContext) -> bool:
    return bool(view.reachable - view.state.soft_margin <= view.epsilon)


def _regularized(view: RuleContext) -> bool:
    return bool(view.state.bounds.smallest_value - view.state.dual_objective <= 0.5 * view.epsilon)


def _simple(view: RuleContext) -> bool:
    bounds = view.state.bounds
    return bool(bounds.smallest_primal - bounds.primal <= 0.5 * view.epsilon)


def _practical(view: RuleContext) -> bool:
    return bool(view.state.bounds.smallest_primal - view.state.dual_objective <= 0.5 * view.epsilon)


def _optimum(view: RuleContext) -> bool:
    return bool(len(view.state.w) > 0 and view.reachable - view.state.dual_objective <= view.epsilon)


def _infeasible(view: RuleContext) -> bool:
    certificate = view.state.certificate
    return certificate is not None and certificate.infeasible


def _boundary(view: RuleContext) -> bool:
    """Return whether the program is infeasible, or at the boundary: the soft margin reaches gamma = g_t - epsilon."""
    return _infeasible(view) or (view.problem.has_soft_margin and _direct(view))


def _priced(view: RuleContext) -> bool:
    """Return whether no hypothesis of the class changes P by more than epsilon, at the d of the last query.

    If the largest edge bounds the program over the class, this bound decides. If edges up to a level cost nothing, d is
    scaled by level / edge. Then no hypothesis of the class has a cost, and P changes by the increase of F.
    """
    F, G, edge, d = view.problem.F, view.problem.edge_function, view.state.bounds.edge, view.state.d
    if len(view.state.w) == 0:
        return False
    bounds, level = view.state.bounds, G.zero_cost_edge
    if view.problem.objective is None and math.isfinite(bounds.upper):
        return bool(bounds.upper - view.state.dual_objective <= view.epsilon)
    if level is not None and edge <= level:
        return True
    if level is not None and level > 0.0 and not F.on_simplex:
        return bool(F.value(d * (level / edge)) - F.value(d) <= view.epsilon)
    return bool(G.added_hypothesis_cost(view.state.bounds.pool_edge_value, edge) <= view.epsilon)


def _not_separable(problem: Problem) -> str:
    """Return the obstacle if G is a maximum, whose value is not a sum over the hypotheses; "" otherwise."""
    return "G is the largest edge" if problem.edge_function.is_largest_edge else ""


def _missing_edge_bound(problem: Problem) -> str:
    return "the program has no bound on the edges" if problem.edge_function.edge_bound is None else ""


def index_rules(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Return rules by their names.

    Raises
    ------
    ValueError
        `StopReason` has no member that begins the reasons of a rule. A run would end with `StopReason.OTHER`.
    """
    index = {rule.name: rule for rule in rules}
    for name in index:
        if not name or StopReason.from_text(f"{name}: ") != name:
            raise ValueError(f'expected a StopReason for each rule; {name!r} has none. Add NAME = "{name}", ":".')
    return index


RULES: Mapping[str, Rule] = index_rules(
    (
        Rule(
            StopReason.DIRECT.value,
            "the {measure} is within epsilon = {epsilon} of {reachable}",
            _direct,
            _missing_objective,
        ),
        Rule(
            StopReason.REGULARIZED.value,
            "the regularized bounds are within epsilon / 2",
            _regularized,
            _missing_entropy,
            eta_too_small,
            ", and so the {measure} within epsilon = {epsilon} of {reachable}",
        ),
        Rule(
            StopReason.SIMPLE.value,
            "P^t(d) has come within epsilon / 2 of the last optimum",
            _simple,
            _missing_entropy,
            eta_too_small,
            needs_primal_value=True,
        ),
        Rule(
            StopReason.PRACTICAL.value,
            "P^t(d) has come within epsilon / 2 of the last dual value",
            _practical,
            _missing_entropy,
            eta_too_small,
        ),
        Rule(
            StopReason.OPTIMUM.value,
            "the optimum has come within epsilon = {epsilon} of {reachable}",
            _optimum,
            _missing_objective,
        ),
        Rule(
            StopReason.BOUNDARY.value,
            "no distribution has all edges below {edge} - {epsilon}",
            _boundary,
            _missing_edge_bound,
        ),
        Rule(
            StopReason.INFEASIBLE.value,
            "no distribution has all edges below {edge} - {epsilon}",
            _infeasible,
            _missing_edge_bound,
        ),
        Rule(
            StopReason.PRICED.value,
            "no hypothesis changes the value of d by more than epsilon = {epsilon}",
            _priced,
            _not_separable,
        ),
    )
)
"""The stopping rules by name."""


def rule_of(reason: str) -> Rule | None:
    """Return the stopping rule for which a run ended, from the text of `Run.reason`; None for another end."""
    return RULES.get(StopReason.from_text(reason))


@dataclass(frozen=True)
class Schedule:
    """The accuracy of the solves: loose while the run is far from its end, tight near its end.

    Attributes
    ----------
    share
        The tolerance as a share of the distance between the reachable soft margin and that of the weights, at least 0.
    shift
        The largest distance, in the 1-norm, of the distribution from the optimal one, at least 0. A gap x keeps the
        distance within sqrt(2 x / s), where s is the modulus of strong convexity. After a looser solve, the query to
        the oracle would be random.
    loosest, finest
        The largest and the smallest tolerance; finest <= loosest < 1.
    """

    share: float = 0.03
    shift: float = 0.03
    loosest: float = 1e-2
    finest: float = 1e-8

    def __post_init__(self) -> None:
        """Raise OptionError for negative numbers, or tolerances that are not positive or not in order."""
        for name in ("share", "shift"):  # with 0, every solve uses the finest tolerance
            check_number(name, getattr(self, name), "a number of at least 0", lambda x: 0.0 <= x < math.inf)
        for name in ("loosest", "finest"):
            check_positive(name, getattr(self, name))
        if not self.finest <= self.loosest < 1.0:
            raise OptionError(
                "finest and loosest must be tolerances with finest <= loosest < 1; got "
                f"{self.finest:g} and {self.loosest:g}. Exchange them, or leave them out."
            )

    def tolerance(self, view: RuleContext) -> float:
        """Return the scaled gap that the next solve must reach."""
        if not view.problem.smooth:
            return self.finest
        if view.problem.objective is None or view.problem.edge_function.edge_bound is not None:
            # The optimum rises by epsilon^2 / 2 a round: the solve must see that.
            return float(np.clip(self.share * view.epsilon**2, self.finest * 1e-2, 1e-6))
        gap = max(view.reachable - view.state.soft_margin, view.epsilon)
        shift_gap = 0.5 * self.shift**2 * view.problem.F.strong_convexity
        return float(np.clip(min(self.share * gap, shift_gap), self.finest, self.loosest))
