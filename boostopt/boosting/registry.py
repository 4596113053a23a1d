"""The pages that boosting knows by name: boosters that state no program, and the formulations."""

from __future__ import annotations

from typing import Any

from boostopt.programs.catalogue import get_formulation
from boostopt.programs.formulation import Formulation

PAGES: dict[str, Formulation[Any]] = {}
"""Boosters by the names that users type: `boosting.boosters` puts its pages here."""


def resolve_formulation(which: object) -> Formulation[Any]:
    """Return the page of a booster by its name; of any other name, path or object that of a formulation.

    Raises
    ------
    OptionError
        The name is unknown, or the file is not there or does not define exactly one formulation.
    """
    return get_formulation(which, PAGES)


def booster_hint(page: Formulation[Any]) -> str:
    """Return how the algorithm of a page that states one update is run, "" where boosting knows none of its name."""
    if page.name not in PAGES:
        return ""
    return f' Run the algorithm by its name: boost("{page.name}", oracle, ...).'
