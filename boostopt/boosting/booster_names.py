"""The registry of the formulations by name, with the boosters that state no program."""

from __future__ import annotations

from typing import Any

from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation

BOOSTERS_BY_NAME: dict[str, Formulation[Any]] = {}
"""The boosters by the names that users type; `boosting.boosters` registers them."""


def resolve_formulation(formulation: object) -> Formulation[Any]:
    """Return the booster of a name, or the formulation of another name, a path or an object.

    Raises
    ------
    OptionError
        The name is unknown, or the file does not exist or does not define exactly one formulation.
    """
    return get_formulation(formulation, BOOSTERS_BY_NAME)


def booster_hint(formulation: Formulation[Any]) -> str:
    """Return advice to run a formulation that states one update by the booster of its name; "" without a booster."""
    if formulation.name not in BOOSTERS_BY_NAME:
        return ""
    return f' Run the algorithm by its name: boost("{formulation.name}", oracle, ...).'
