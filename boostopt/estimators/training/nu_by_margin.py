"""The choice of nu by the margin: the smallest of a few shares at which a soft margin above that of f = 0 is proved.

The soft margin is the mean of the nu smallest margins, so it increases with nu. If more examples are noise than a small
nu gives up, the best soft margin is that of f = 0, and the weights say nothing about new examples. The shares end at
the largest one that gives up no class. If nothing is proved there either, the last share of two classes is larger: the
constant prediction of the larger class then has a positive soft margin, so the model is at least as good, and it is the
constant prediction unless hypotheses have a larger margin.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from boostopt.boosting.run.run import Run
from boostopt.estimators.training.binary_fit import FitSettings
from boostopt.estimators.training.margin_summary import NU_LIMIT_BINARY, NU_LIMIT_MULTICLASS

R = TypeVar("R")

FIRST_NU = 0.1
"""The smallest share that is tried, unless it gives a class up."""

LIMIT_FRACTIONS = (0.5, 0.7, 0.85, 1.0)
"""The other shares, as multiples of the largest nu that gives up no class: see `margin_summary`."""

CONSTANT_FACTOR = 1.25
"""The last share of two classes, as such a multiple."""

SHARE_DIGITS = 12
"""Significant digits of a share: rows in memory and on a cluster give the same one, although their sums are rounded."""


def nu_candidates(*class_shares: Sequence[float]) -> list[float]:
    """Return the shares that are tried, ascending.

    Parameters
    ----------
    *class_shares
        The weight fractions of the classes. If class weights multiply the weights, also those without them: a user who
        gives a class little weight permits the model to give it up.
    """
    is_multiclass = len(class_shares[0]) > 2
    limit = max(map(min, class_shares)) * (NU_LIMIT_MULTICLASS if is_multiclass else NU_LIMIT_BINARY)
    first = min(FIRST_NU, limit)
    multiples = [limit * fraction for fraction in LIMIT_FRACTIONS]
    multiples += [] if is_multiclass else [min(limit * CONSTANT_FACTOR, 1.0)]
    return sorted({_round_share(share) for share in (first, *(share for share in multiples if share > first))})


def choose_nu_by_margin(
    settings: FitSettings,
    fit: Callable[[FitSettings], R],
    runs_of: Callable[[R], Sequence[Run]],
    shares_of: Callable[[R], Sequence[Sequence[float]]],
) -> tuple[FitSettings, R]:
    """Return the settings with the chosen share, and the fit with it.

    Parameters
    ----------
    settings
        The settings of the fit, except nu. All trials share the time limit.
    fit
        Fits the classes with a share.
    runs_of, shares_of
        Return the runs of a fit, and the weight fractions of the classes as `nu_candidates` takes them.
    """
    start, time_limit = time.monotonic(), settings.time_limit
    settings = replace(settings, nu=FIRST_NU)
    result = fit(settings)
    candidates = nu_candidates(*shares_of(result)) if "nu" in settings.formulation.parameters else [FIRST_NU]
    for nu in candidates:
        if nu != settings.nu:
            remaining = None if time_limit is None else time_limit - (time.monotonic() - start)
            if remaining is not None and remaining <= 0.0:
                break
            settings = replace(settings, nu=nu, time_limit=remaining)
            result = fit(settings)
        if all(map(settings.is_proved, runs_of(result))):
            break
    return settings, result


def _round_share(share: float) -> float:
    """Return a share with `SHARE_DIGITS` digits."""
    return min(float(f"{share:.{SHARE_DIGITS}g}"), 1.0)
