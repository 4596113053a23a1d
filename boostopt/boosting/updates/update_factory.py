"""The updates by name, and the construction of the update of a problem."""

from __future__ import annotations

import math
from collections.abc import Mapping

from boostopt._utils.validation import check_instance
from boostopt.backends.base import Backend
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.reweighting import Booster
from boostopt.boosting.updates.base import Update
from boostopt.boosting.updates.convex_combination_update import LineSearch, ShortStep, TwoColumnProgram
from boostopt.boosting.updates.coordinate_ascent_update import CoordinateLineSearch, CoordinateStep
from boostopt.boosting.updates.entropy_projection_update import EntropyProjection
from boostopt.boosting.updates.mlpboost_update import MLPBoost
from boostopt.boosting.updates.newton_update import Newton
from boostopt.boosting.updates.pairwise_update import BlendedPairwise, Pairwise
from boostopt.boosting.updates.totally_corrective_update import TotallyCorrective
from boostopt.programs.boosting_spec import UpdateKind

CORRECTIVE_UPDATES: Mapping[str, type[Update]] = {
    "step": ShortStep,
    "line_search": LineSearch,
    "pairwise": Pairwise,
    "blended_pairwise": BlendedPairwise,
}
"""The corrective steps of `CORRECTIVE_STEPS` by name."""


MLPBOOST_DEFAULT_STEP = "line_search"
"""The default corrective step of MLPBoost."""


def make_update(
    problem: Problem, backend: str | Backend, idle: float = math.inf, corrective: str | None = None
) -> Update:
    """Return the update of a problem.

    Parameters
    ----------
    problem
        The problem, which names the update.
    backend
        The backend that solves programs.
    idle
        The multiple of the gap below which hypotheses leave a totally corrective program: see `Stabilization`.
    corrective
        The corrective step of MLPBoost; None for the default.
    """
    if problem.update is UpdateKind.REWEIGHTING:
        booster = check_instance(
            "a formulation that reweights", problem.formulation, Booster, "a Booster", "Derive it from Booster."
        )
        return booster.reweighting(problem)
    if problem.update is UpdateKind.TOTAL:
        return TotallyCorrective(problem, backend, idle)
    if problem.update is UpdateKind.PROGRAM:
        return TwoColumnProgram(problem, backend)
    if problem.update is UpdateKind.MLPBOOST:
        return MLPBoost(problem, backend, CORRECTIVE_UPDATES[corrective or MLPBOOST_DEFAULT_STEP](problem))
    simple: dict[str, type[Update]] = {"newton": Newton, **CORRECTIVE_UPDATES, "projection": EntropyProjection}
    if problem.edge_function.edge_bound is not None:
        simple |= {"step": CoordinateStep, "line_search": CoordinateLineSearch}
    return simple[problem.update](problem)
