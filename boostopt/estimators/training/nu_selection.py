"""The choice of nu by cross-validation, along a path of nu in each fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.combined_hypothesis import predicted_classes
from boostopt.boosting.run.run import Run
from boostopt.errors import ProblemError
from boostopt.estimators.binary_model import stack_columns
from boostopt.estimators.training.binary_fit import FitSettings
from boostopt.estimators.training.margin_warnings import NU_LIMIT_BINARY, NU_LIMIT_MULTICLASS
from boostopt.estimators.training.training_data import WeightedExamples
from boostopt.programs.boosting_spec import UpdateKind

NU_FRACTIONS = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0)
"""The candidate values of nu, as multiples of the largest nu that gives up no class: see `margin_warnings`."""

MAX_FOLDS = 5
"""The number of folds; it is reduced to the number of examples of the smallest class."""


@dataclass(frozen=True, eq=False)
class NuScores:
    """Values of nu with their cross-validation scores.

    Attributes
    ----------
    nus
        Shares of the weights, ascending, shape (k,).
    scores
        The share of the weight of held-out examples that is predicted correctly at each nu, shape (k,).
    """

    nus: Float[Array, " k"]
    scores: Float[Array, " k"]

    @property
    def best_nu(self) -> float:
        """The nu with the highest score; in a tie the largest, which gives up more examples and needs fewer votes."""
        return float(self.nus[np.flatnonzero(self.scores == self.scores.max())[-1]])


def cross_validate_nu(settings: FitSettings, examples: WeightedExamples) -> NuScores:
    """Return the cross-validation scores of values of nu.

    Equal examples are in the same fold, and each example counts with its weight, so that an example of weight k counts
    as k copies here, too.

    Parameters
    ----------
    settings
        The settings of the fit, except nu.
    examples
        The examples with their weights.

    Raises
    ------
    ProblemError
        A class has only one example.
    """
    groups, codes = examples.groups
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise ProblemError(
            'nu="auto" holds out examples of each class, so each class needs at least two different examples; got a '
            "class with one. Set nu to a number."
        )
    shares = np.bincount(examples.codes, examples.c) / examples.c.sum()
    nu_limit = (NU_LIMIT_MULTICLASS if len(shares) > 2 else NU_LIMIT_BINARY) * float(shares.min())
    nus = np.array(NU_FRACTIONS) * min(nu_limit, 1.0)
    fold_settings = replace(settings, checkpoint=None, verbose=False)
    folds = StratifiedKFold(min(MAX_FOLDS, smallest), shuffle=True, random_state=settings.seed or 0)
    splits = folds.split(np.zeros(len(codes)), codes)
    tasks = [
        delayed(_correct_weight)(
            fold_settings, *(examples.take(np.flatnonzero(np.isin(groups, part))) for part in split), nus
        )
        for split in splits
    ]
    correct_weights: Any = Parallel(n_jobs=settings.n_jobs)(tasks)
    return NuScores(nus, np.sum(correct_weights, axis=0) / examples.c.sum())


def _correct_weight(
    settings: FitSettings,
    training_examples: WeightedExamples,
    validation_examples: WeightedExamples,
    nus: Float[Array, " k"],
) -> Float[Array, " k"]:
    """Return the weight of the held-out examples that is predicted correctly at each nu."""
    is_multiclass = len(training_examples.classes) > 2
    positive_codes = range(len(training_examples.classes)) if is_multiclass else (1,)
    # For each class, the runs along the path of nu.
    paths = [_runs_along_path(settings, training_examples, k, nus) for k in positive_codes]
    correct_weight = np.zeros(len(nus))
    for j in range(len(nus)):
        f = stack_columns(runs[j].decision_function(validation_examples.X) for runs in paths)
        predicted = f.argmax(axis=1) if is_multiclass else predicted_classes(f, "majority", paths[0][j].majority) > 0
        correct_weight[j] = validation_examples.c[predicted == validation_examples.codes].sum()
    return correct_weight


def _runs_along_path(settings: FitSettings, examples: WeightedExamples, k: int, nus: Float[Array, " k"]) -> list[Run]:
    """Return the runs of class k at ascending nus; each run starts from the run of the next larger nu, as in `path`.

    Histogram Newton without a start is faster than other updates from an earlier run. If the formulation supports
    histogram Newton, each run therefore begins without a start.
    """
    runs = list[Run]()
    previous_run, total = None, 0.0
    for nu in reversed(nus.tolist()):
        nu_settings = replace(settings, nu=nu)
        previous_total, total = total, float(nu_settings.scale_weights(examples.c)[0].sum())
        # If a share of the weights is less than one example, the weights are scaled, and the examples differ.
        run = nu_settings.fit_binary(examples, k, previous_run if total == previous_total else None, None)
        runs.append(run)
        previous_run = None if isinstance(run, HistogramRun) or run.problem.update is UpdateKind.REWEIGHTING else run
    return runs[::-1]
