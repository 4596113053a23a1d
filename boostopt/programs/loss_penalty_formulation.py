"""Formulations, one for each pair of a loss of the margins and a penalty of the hypothesis weights.

    max over w of -(loss(Uw) + penalty(w)),    min over d of F(d) + G(Uᵀd),    F* the loss at -m, G* the penalty

Shen, Li, van den Hengel 2013 state this family. Each loss and each penalty is stated once, with its text and its
function. A formulation combines one of each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from boostopt._utils.validation import check_choice, check_flag
from boostopt.errors import OptionError, unknown_name
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.intercept import InterceptEdges
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.formulation import Formulation
from boostopt.programs.loss_penalty_catalogue import LOSSES, PENALTIES, MarginLoss, WeightPenalty
from boostopt.programs.loss_penalty_texts import page_of, title_of
from boostopt.programs.program import Examples

SIGNED_PREFIX = "signed_"
"""Prefix of a penalty's name if weights are free in sign."""

INTERCEPT_SUFFIX = "intercept"
"""Suffix of a name if the first hypothesis has a weight of any sign that costs nothing."""

SEPARATOR = "+"
"""Separator between the names of a loss and a penalty."""


class LossPenaltyFormulation(Formulation[Any]):
    """A formulation: F the conjugate of a loss, G the conjugate of a penalty, and the derived problems."""

    is_symmetric = True
    loss: MarginLoss
    penalty: WeightPenalty
    signed: bool
    intercept: bool

    def __init__(self, loss: str, penalty: str, signed: bool, intercept: bool) -> None:
        self.loss, self.penalty = LOSSES[loss], PENALTIES[penalty]
        self.signed, self.intercept = signed, intercept
        self._names = loss, penalty

    # The constants of other formulations depend on the pair.

    def _pair_name(self) -> str:
        loss, penalty = self._names
        end = f"{SEPARATOR}{INTERCEPT_SUFFIX}" if self.intercept else ""
        return f"{loss}{SEPARATOR}{SIGNED_PREFIX if self.signed else ''}{penalty}{end}"

    def _pair_title(self) -> str:
        return title_of(self.loss.text, self.penalty.text, self.signed, self.intercept)

    def _pair_sources(self) -> tuple[str, ...]:
        return (self.loss.text.source, self.penalty.text.source)

    def _pair_parameters(self) -> type[Any]:
        return _parameters(*self._names)

    name: ClassVar[str] = computed_attribute(_pair_name)
    title: ClassVar[str] = computed_attribute(_pair_title)
    sources: ClassVar[tuple[str, ...]] = computed_attribute(_pair_sources)
    Parameters: ClassVar[type[Any]] = computed_attribute(_pair_parameters)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, LossPenaltyFormulation) and value.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return parse_combination, (self.name,)

    def regularizer(self, p: Any, examples: Examples) -> Regularizer:
        return self.loss.regularizer(p, examples)

    def edge_function(self, p: Any) -> EdgeFunction:
        G = self.penalty.edge_function(p, self.signed)
        return InterceptEdges(G) if self.intercept else G

    @property
    def text(self) -> str:
        """The text of the formulation, composed of the texts of the loss and of the penalty."""
        return page_of(self.loss.text, self.penalty.text, self.signed, self.intercept)


def combine(loss: str, penalty: str, signed: bool = False, intercept: bool = False) -> Formulation[Any]:
    """Return the formulation of a loss of the margins with a penalty of the hypothesis weights.

    You can bind, solve, certify, compare and boost it like any other formulation. Every function and command takes it
    by its name, such as "hinge+elastic_net" or "logistic+signed_l1".

    Parameters
    ----------
    loss
        "hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", "exponential", "soft_margin" or
        "cvar". Parameters: the price `C` of the loss at one example, 1 by default; the width `mu` of the smoothed
        hinge; `nu` of the soft margin; the share `alpha` of the examples for "cvar".
    penalty
        "simplex", "l1_ball", "l1", "l2_squared", "l2_ball", "elastic_net" or "linf_ball". Parameters: the radius `r` of
        a ball, the prices `l1` of the 1-norm and `l2` of half of the squared 2-norm.
    signed
        Whether hypothesis weights may be negative.
    intercept
        Whether the first column of U is an intercept: its weight may have any sign and costs nothing. If this column
        holds the labels, its weight is the bias of a linear model. The names of these formulations end in "+intercept".
        Column generation does not support an intercept.

    Raises
    ------
    OptionError
        A name is unknown, or the penalty has no form with signed weights, or no form with an intercept.
    """
    for role, name, table in (("loss", loss, LOSSES), ("penalty", penalty, PENALTIES)):
        check_choice(role, name, table)
    if (
        check_flag("signed", signed, "Pass whether weights may be negative.")
        and PENALTIES[penalty].text.problems[1] is None
    ):
        raise OptionError(
            f"the penalty {penalty} needs non-negative weights; got signed=True. Use l1_ball with r = 1 for signed "
            "weights."
        )
    check_flag("intercept", intercept, "Pass whether the first column of U is an intercept.")
    if intercept and PENALTIES[penalty].text.problems[1] is None:
        raise OptionError(f"an intercept needs a penalty that allows the weights 0; got {penalty}. Use l1_ball.")
    return LossPenaltyFormulation(loss, penalty, signed, intercept)


def parse_combination(name: str) -> Formulation[Any]:
    """Return the formulation that "loss+penalty" names.

    Raises
    ------
    OptionError
        As `combine` does.
    """
    loss, _, rest = name.partition(SEPARATOR)
    penalty, separator, end = rest.partition(f"{SEPARATOR}{INTERCEPT_SUFFIX}")
    if end:
        raise unknown_name("penalty", rest, PENALTIES)
    penalty = penalty.strip("_")
    return combine(
        loss.strip("_"), penalty.removeprefix(SIGNED_PREFIX), penalty.startswith(SIGNED_PREFIX), bool(separator)
    )


@cache
def _parameters(loss: str, penalty: str) -> type[Any]:
    """Return the class of the records of parameters of a loss and a penalty."""
    fields = {**LOSSES[loss].parameters, **PENALTIES[penalty].parameters}
    kinds = [(name, Any, default) for name, default in fields.items()]
    members = {"__reduce__": lambda p: (_make_parameters, (loss, penalty, {name: getattr(p, name) for name in fields}))}
    return dataclasses.make_dataclass("Parameters", kinds, frozen=True, kw_only=True, namespace=members)


def _make_parameters(loss: str, penalty: str, values: Mapping[str, Any]) -> Any:
    """Return a record of parameters, for pickle."""
    return _parameters(loss, penalty)(**values)


def is_combination_name(name: str) -> bool:
    """Return whether a name is the name of a loss with a penalty, as `combine` returns it."""
    try:
        return SEPARATOR in name and parse_combination(name).name == name
    except OptionError:
        return False
