"""The choice of an update by the name that a problem gives."""

from __future__ import annotations

import math
from collections.abc import Mapping

from boostopt._utils.validation import check_instance
from boostopt.backends.base import Backend
from boostopt.boosting.problem import Problem
from boostopt.boosting.reweighting import Booster
from boostopt.boosting.updates.base import Update
from boostopt.boosting.updates.coordinate_ascent import Raising, RaisingFurther
from boostopt.boosting.updates.corrective import LineSearch, PairProgram, Step
from boostopt.boosting.updates.entropy_projection import Projection
from boostopt.boosting.updates.mlpboost import MLPBoost
from boostopt.boosting.updates.newton_update import Newton
from boostopt.boosting.updates.pairwise import BlendedPairwise, Pairwise
from boostopt.boosting.updates.totally_corrective import Total
from boostopt.errors import OptionError

CLASSES: Mapping[str, type[Update]] = {
    "step": Step,
    "line_search": LineSearch,
    "pairwise": Pairwise,
    "blended_pairwise": BlendedPairwise,
}
"""The corrective steps by name, those of `STEPS`."""


STEP_OF_MLPBOOST = "line_search"
"""The corrective step beside the weights of LPBoost, where none is named."""


def make(problem: Problem, backend: str | Backend, idle: float = math.inf, corrective: str | None = None) -> Update:
    """Return the update that a problem names.

    Of a totally corrective one idle hypotheses leave the program; `corrective` is the step of MLPBoost.
    """
    if problem.update == "reweighting":
        page = check_instance("a page that reweights", problem.page, Booster, "a Booster", "Derive it from Booster.")
        return page.reweighting(problem)
    if problem.update == "total":
        return Total(problem, backend, idle)
    if problem.update == "program":
        return PairProgram(problem, backend)
    if problem.update == "mlpboost":
        return MLPBoost(problem, backend, CLASSES[corrective or STEP_OF_MLPBOOST](problem))
    simple: dict[str, type[Update]] = {"newton": Newton, **CLASSES, "projection": Projection}
    if problem.edges.edge_bound is not None:
        if problem.update == "newton":
            raise OptionError(
                f'update="newton" of {problem.page.name}, which bounds the edges, needs looks; looks do not support '
                'this oracle or these options. Use update="total".'
            )
        simple |= {"step": Raising, "line_search": RaisingFurther}
    return simple[problem.update](problem)
