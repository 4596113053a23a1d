"""The part of a formulation that only boosting reads: update, stopping rules, final weights, parameters of a round."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from boostopt._utils.validation import check_callable, check_choice, check_names, check_string
from boostopt.programs.program import Program
from boostopt.programs.step_rules.boosting_state import BoostingState


class Choice(StrEnum):
    """The base of choices that users name by strings; a choice prints as its string."""

    def __repr__(self) -> str:
        return repr(self.value)


C = TypeVar("C", bound=Choice)


def parse_choice(kind: type[C], name: str, value: object) -> C:
    """Return the member of a string; OptionError, with the list of the members, for any other value."""
    return kind(check_choice(name, value, tuple(kind)))


class UpdateKind(Choice):
    """The updates of the weights after a new hypothesis."""

    TOTAL = "total"
    """The program over all hypotheses is solved."""
    NEWTON = "newton"
    """Newton steps on the program over all hypotheses."""
    STEP = "step"
    """A convex combination with the newest hypothesis by a step of closed form. If the formulation bounds the edges,
    the weight of the newest hypothesis increases instead."""
    LINE_SEARCH = "line_search"
    """The rule STEP with the best combination."""
    PAIRWISE = "pairwise"
    """Weight moves from the hypothesis with the smallest edge to the newest one."""
    BLENDED_PAIRWISE = "blended_pairwise"
    """The rule PAIRWISE between two hypotheses of the ensemble if this improves more."""
    PROGRAM = "program"
    """The program over the combination and the newest hypothesis is solved."""
    MLPBOOST = "mlpboost"
    """The better of a corrective step and LPBoost's weights."""
    PROJECTION = "projection"
    """A step is added to the newest weight: the multiplier of an entropy projection."""
    REWEIGHTING = "reweighting"
    """A rule of a `Booster` sets d and adds a step; it states no program."""


class FinalWeights(Choice):
    """The weights of the final classifier."""

    PROGRAM = "program"
    """The weights of the last program."""
    LP = "lp"
    """The weights of the largest soft margin over the hypotheses."""
    SCALED = "scaled"
    """The weights divided by their sum."""


def no_iteration_bound(program: Program) -> float:
    """Return inf: no bound on the number of hypotheses is known."""
    return math.inf


def no_round_parameters(progress: BoostingState) -> Mapping[str, float]:
    """Return no parameters: boosting sets none."""
    return {}


def no_guaranteed_edge(parameters: Any) -> float | None:
    """Return None: the algorithm assumes no edge."""
    return None


def no_edge_excess(parameters: Any) -> float:
    """Return 0: any excess of an edge over its target suffices."""
    return 0.0


def keep_perfect_hypothesis(parameters: Any) -> bool:
    """Return True: a perfect hypothesis becomes the whole classifier."""
    return True


@dataclass(frozen=True, init=False)
class BoostingSpec:
    """The rules by which boosting runs a formulation.

    A formulation states `boosting = BoostingSpec(...)` with the fields that differ from the defaults. The functions of
    parameters get the record of the formulation. The constructor has a keyword for each field: the rules are
    independent, and no module of `formulations/` states more than four of them, so that records of several rules would
    only nest what it writes.

    Attributes
    ----------
    update
        The update of the weights after a new hypothesis; "total" by default.
    rules
        The names of the stopping rules of column generation, strongest guarantee first.
    final_weights
        The weights of the final classifier; "program" by default.
    smoothed_formulation
        The name of the formulation with F smoothed for epsilon; "" for none. If F is not smooth, Newton steps go
        through its programs. Its parameters have the same names.
    extra_success_reasons
        Beginnings of the reasons of runs that reached the guarantee of the algorithm, in addition to its rules.
    iteration_bound
        Function of a program that returns the proved bound on the number of hypotheses of column generation; inf if no
        bound is known.
    next_parameters
        Function of the progress that returns the parameters that boosting sets in every round.
    guaranteed_edge
        Function of the parameters that returns the edge that the algorithm assumes of every answer of the oracle; None
        if it assumes none.
    min_edge_excess
        Function of the parameters that returns the least excess of an edge over its target for a "projection".
    keeps_perfect_hypothesis
        Function of the parameters that returns whether a hypothesis becomes the whole classifier if no "projection" is
        long enough for it.
    """

    update: UpdateKind
    rules: tuple[str, ...]
    final_weights: FinalWeights
    smoothed_formulation: str
    extra_success_reasons: tuple[str, ...]
    iteration_bound: Callable[[Program], float]
    next_parameters: Callable[[BoostingState], Mapping[str, float]]
    guaranteed_edge: Callable[[Any], float | None]
    min_edge_excess: Callable[[Any], float]
    keeps_perfect_hypothesis: Callable[[Any], bool]

    def __init__(
        self,
        *,
        update: UpdateKind | str = UpdateKind.TOTAL,
        rules: str | Sequence[str] = (),
        final_weights: FinalWeights | str = FinalWeights.PROGRAM,
        smoothed_formulation: str = "",
        extra_success_reasons: str | Sequence[str] = (),
        iteration_bound: Callable[[Program], float] = no_iteration_bound,
        next_parameters: Callable[[BoostingState], Mapping[str, float]] = no_round_parameters,
        guaranteed_edge: Callable[[Any], float | None] = no_guaranteed_edge,
        min_edge_excess: Callable[[Any], float] = no_edge_excess,
        keeps_perfect_hypothesis: Callable[[Any], bool] = keep_perfect_hypothesis,
    ) -> None:
        """Check the fields and convert strings.

        Raises
        ------
        OptionError
            A field has another type, or update or final_weights is unknown.
        """
        values = {
            "update": parse_choice(UpdateKind, "update", update),
            "rules": check_names("rules", rules),
            "final_weights": parse_choice(FinalWeights, "final_weights", final_weights),
            "smoothed_formulation": check_string(
                "smoothed_formulation", smoothed_formulation, "the name of a formulation"
            ),
            "extra_success_reasons": check_names("extra_success_reasons", extra_success_reasons),
            "iteration_bound": check_callable("iteration_bound", iteration_bound, "a function of a program"),
            "next_parameters": check_callable("next_parameters", next_parameters, "a function of the progress"),
            "guaranteed_edge": check_callable("guaranteed_edge", guaranteed_edge, "a function of the parameters"),
            "min_edge_excess": check_callable("min_edge_excess", min_edge_excess, "a function of the parameters"),
            "keeps_perfect_hypothesis": check_callable(
                "keeps_perfect_hypothesis", keeps_perfect_hypothesis, "a function of the parameters"
            ),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions, which may depend on all that a formulation and a run have."""
        return (
            self.iteration_bound,
            self.next_parameters,
            self.guaranteed_edge,
            self.min_edge_excess,
            self.keeps_perfect_hypothesis,
        )
