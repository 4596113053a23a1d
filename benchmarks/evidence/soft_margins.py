"""Raetsch, Onoda and Mueller 2001: the experiments of the figures, in the order of the paper."""

from __future__ import annotations

import re

from benchmarks.evidence import soft_margins_adaboost, soft_margins_machines, soft_margins_regularized
from benchmarks.evidence.experiment import Experiment


def _figure(experiment: Experiment) -> int:
    """Return the number of the figure, the first of several."""
    return int(re.findall(r"\d+", experiment.title)[0])


EXPERIMENTS = tuple(
    sorted(
        (
            *soft_margins_adaboost.EXPERIMENTS,
            *soft_margins_machines.EXPERIMENTS,
            *soft_margins_regularized.EXPERIMENTS,
        ),
        key=_figure,
    )
)
