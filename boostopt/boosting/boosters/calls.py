"""Boosters as functions, with their parameters as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostopt.boosting.api import boost
from boostopt.boosting.reweighting import Booster
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError
from boostopt.oracles.base import Oracle


def run_of(page: Booster, oracle: Oracle, parameters: Mapping[str, Any], options: Mapping[str, Any]) -> Run:
    """Return the run of a booster.

    Raises
    ------
    OptionError
        An option is a parameter or the page itself.
    """
    for name in options.keys() & {*parameters, "formulation", "oracle"}:
        raise OptionError(
            f"the function of {page.name} already has its page and its parameters; got {name}. Leave it out, or call "
            f'boost("{page.name.lower()}", oracle, ...).'
        )
    return boost(page, oracle, **parameters, **options)
