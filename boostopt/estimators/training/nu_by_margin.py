"""The choice of nu by the margin: the smallest of a few shares at which a soft margin above that of f = 0 is proved.

The soft margin is the mean of the nu smallest margins, so it increases with nu. If more examples are noise than a small
nu gives up, the best soft margin is that of f = 0, and the weights say nothing about new examples. The shares end at
the largest one that gives up no class.

If nothing is proved for two classes, f = 0 is nearly the best. A run of histogram Newton then gets weights with a small
logistic loss, and the share is the first one of the search. Its shares end below the largest one, near which constant
predictions are nearly the best. For other runs of two classes the last share is larger: the constant prediction of the
larger class then has a positive soft margin, so the model is at least as good, and it is the constant prediction unless
hypotheses have a larger margin.

The shares are searched by bisection, because the best soft margin increases with nu. The search begins in the middle:
on noisy rows a fit takes the longer, the smaller nu is.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_file import stored_parameters
from boostopt.errors import require_not_none
from boostopt.estimators.training.binary_fit import CLEAR_MARGIN, LAST_MARGIN_FACTOR, FitSettings
from boostopt.estimators.training.margin_summary import NU_LIMIT_BINARY, NU_LIMIT_MULTICLASS
from boostopt.estimators.training.training_data import WeightedExamples

R = TypeVar("R")

FIRST_NU = 0.1
"""The smallest share that is tried, unless it gives a class up."""

LIMIT_FRACTIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
"""The other shares, as multiples of the largest nu that gives up no class: see `margin_summary`."""

START_FRACTION = 0.5
"""The share with which the search begins, as such a multiple."""

REFINED_LAST_FRACTION = 0.85
"""The last share of two classes for refinable runs, as such a multiple."""

CONSTANT_FACTOR = 1.25
"""The last share of two classes for other runs, as such a multiple."""

LARGE_CLASS_MARGINS = {"tree2": 0.05}
"""Soft margins above that of f = 0 that must be proved for large classes of hypotheses, by `base`: trees of depth two
prove small ones on noise, and new examples are then predicted worse than at a larger share. The search for them begins
with the first of `LIMIT_FRACTIONS`, because a fit with `FIRST_NU` takes long."""

SHARE_DIGITS = 12
"""Significant digits of a share: rows in memory and on a cluster give the same one, although their sums are rounded."""


def nu_limit(*class_shares: Sequence[float]) -> float:
    """Return the largest share that gives up no class, for the arguments of `nu_candidates`."""
    factor = NU_LIMIT_MULTICLASS if len(class_shares[0]) > 2 else NU_LIMIT_BINARY
    return max(map(min, class_shares)) * factor


def nu_candidates(*class_shares: Sequence[float]) -> list[float]:
    """Return the shares that are searched, ascending.

    Parameters
    ----------
    *class_shares
        The weight fractions of the classes. If class weights multiply the weights, also those without them: a user who
        gives a class little weight permits the model to give it up.
    """
    limit = nu_limit(*class_shares)
    first = min(FIRST_NU, limit)
    multiples = [limit * fraction for fraction in LIMIT_FRACTIONS]
    multiples += [] if len(class_shares[0]) > 2 else [min(limit * CONSTANT_FACTOR, 1.0)]
    return sorted({_round_share(share) for share in (first, *(share for share in multiples if share > first))})


def share_of_checkpoint(
    settings: FitSettings, examples: WeightedExamples, class_shares: Sequence[Sequence[float]], files: Sequence[Path]
) -> float | None:
    """Return the share of the first checkpoint of a fit with a share that is searched; None if there is none.

    A search with other limits may choose another share, and the fit would not continue from its checkpoint.
    """
    stored_nus = (parameters["nu"] for parameters in map(stored_parameters, files) if "nu" in parameters)
    stored_nu = next(stored_nus, None)
    if not isinstance(stored_nu, int | float) or "nu" not in settings.formulation.parameters:
        return None
    for share in nu_candidates(*class_shares):
        nu = replace(settings, nu=share).scale_weights(examples)[1]["nu"]
        if math.isclose(nu, stored_nu):
            return share
    return None


def choose_nu_by_margin(
    settings: FitSettings,
    fit: Callable[[FitSettings], R],
    runs_of: Callable[[R], Sequence[Run]],
    class_shares: Sequence[Sequence[float]],
    first_fit: R | None = None,
    start: float | None = None,
) -> tuple[FitSettings, R]:
    """Return the settings with the chosen share, and the fit with it.

    Parameters
    ----------
    settings
        The settings of the fit, except nu. All trials share the time limit. If no margin is proved, the first trial is
        returned if its run is refinable, and the last one otherwise.
    fit
        Fits the classes with a share.
    runs_of
        Returns the runs of a fit.
    class_shares
        The weight fractions of the classes, as `nu_candidates` takes them.
    first_fit
        The fit with `FIRST_NU` if there is one, which is not repeated; None otherwise.
    start
        The value of `time.monotonic` at which the time limit began; None for now.
    """
    start, time_limit = time.monotonic() if start is None else start, settings.time_limit
    candidates = nu_candidates(*class_shares) if "nu" in settings.formulation.parameters else [FIRST_NU]
    limit, last = nu_limit(*class_shares), len(candidates) - 1
    first, position, refined_last = (
        bisect_left(candidates, _round_share(limit * fraction), hi=last)
        for fraction in (LIMIT_FRACTIONS[0], START_FRACTION, REFINED_LAST_FRACTION)
    )
    is_large = isinstance(settings.base, str) and settings.base in LARGE_CLASS_MARGINS
    margin = max(LARGE_CLASS_MARGINS[settings.base] if is_large else 0.0, settings.margin_tolerance)
    lowest = first - 1 if is_large else -1
    low, high = lowest, last + 1  # nothing is proved up to low, and a margin from high on
    trial = None if first_fit is None else (replace(settings, nu=FIRST_NU), first_fit)
    proved: tuple[FitSettings, R] | None = None
    unproved: tuple[FitSettings, R] | None = None  # a trial that gets other weights if nothing is proved
    while high - low > 1:
        nu, is_first = candidates[position], (low, high) == (lowest, last + 1)
        if first_fit is not None and nu == FIRST_NU:
            trial = replace(settings, nu=nu), first_fit
        else:
            remaining = time_limit
            if trial is not None and time_limit is not None:
                remaining = time_limit - (time.monotonic() - start)
                if remaining <= 0.0:
                    break
            trial_settings = replace(settings, nu=nu, time_limit=remaining)
            trial = trial_settings, fit(trial_settings)
        runs = runs_of(trial[1])
        if is_first and len(runs) == 1 and settings.is_refinable(runs[0]):
            unproved, high = trial, refined_last + 1
        if all(settings.is_proved(run, margin) for run in runs):
            high, proved = position, trial
            if not all(settings.is_proved(run, LAST_MARGIN_FACTOR * margin) for run in runs):
                break
        else:
            low = position
        is_clear = is_first and all(settings.is_proved(run, CLEAR_MARGIN) for run in runs)
        position = low + 1 if is_clear else (low + high) // 2
    return require_not_none(proved or unproved or trial, "a trial")


def _round_share(share: float) -> float:
    """Return a share with `SHARE_DIGITS` digits."""
    return min(float(f"{share:.{SHARE_DIGITS}g}"), 1.0)
