"""The call of `boost` by the functions of the boosters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostopt.boosting.api import boost
from boostopt.boosting.reweighting import Booster
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError
from boostopt.oracles.base import Oracle


def run_of(booster: Booster, oracle: Oracle, parameters: Mapping[str, Any], options: Mapping[str, Any]) -> Run:
    """Run a booster with its parameters and options.

    Raises
    ------
    OptionError
        An option is a parameter or the formulation itself.
    """
    for name in options.keys() & {*parameters, "formulation", "oracle"}:
        raise OptionError(
            f"the function of {booster.name} already has its formulation and its parameters; got {name}. Leave it "
            f'out, or call boost("{booster.name.lower()}", oracle, ...).'
        )
    return boost(booster, oracle, **parameters, **options)
