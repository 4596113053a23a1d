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


def cross_validate_nu(plan: FitSettings, examples: WeightedExamples) -> NuScores:
    """Return the cross-validation scores of values of nu.

    Equal examples are in the same fold, and each example counts with its weight, so that an example of weight k counts
    as k copies here, too.

    Parameters
    ----------
    plan
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
    several = len(shares) > 2
    largest = (NU_LIMIT_MULTICLASS if several else NU_LIMIT_BINARY) * float(shares.min())
    nus = np.array(NU_FRACTIONS) * min(largest, 1.0)
    fold_plan = replace(plan, checkpoint=None, verbose=False)
    folds = StratifiedKFold(min(MAX_FOLDS, smallest), shuffle=True, random_state=plan.seed or 0)
    parts = folds.split(np.zeros(len(codes)), codes)
    tasks = [
        delayed(_correct_weight)(
            fold_plan, *(examples.take(np.flatnonzero(np.isin(groups, part))) for part in both), nus
        )
        for both in parts
    ]
    right: Any = Parallel(n_jobs=plan.n_jobs)(tasks)
    return NuScores(nus, np.sum(right, axis=0) / examples.c.sum())


def _correct_weight(
    plan: FitSettings,
    training_examples: WeightedExamples,
    validation_examples: WeightedExamples,
    nus: Float[Array, " k"],
) -> Float[Array, " k"]:
    """Return the weight of the held-out examples that is predicted correctly at each nu."""
    several = len(training_examples.classes) > 2
    positive_codes = range(len(training_examples.classes)) if several else (1,)
    # For each class: the values of the runs along the path, in columns by nu.
    paths = [_runs_along_path(plan, training_examples, k, nus) for k in positive_codes]
    right = np.zeros(len(nus))
    for j in range(len(nus)):
        f = stack_columns(runs[j].decision_function(validation_examples.X) for runs in paths)
        predicted = f.argmax(axis=1) if several else predicted_classes(f, "majority", paths[0][j].majority) > 0
        right[j] = validation_examples.c[predicted == validation_examples.codes].sum()
    return right


def _runs_along_path(plan: FitSettings, examples: WeightedExamples, k: int, nus: Float[Array, " k"]) -> list[Run]:
    """Return the runs of class k at ascending nus; each begins at the end of the next larger nu's run, as in `path`.

    Histogram Newton from its own start is faster than steps from another run's end. If the formulation supports
    histogram Newton, each run therefore starts by itself.
    """
    runs = list[Run]()
    previous_run, total = None, 0.0
    for nu in reversed(nus.tolist()):
        settings = replace(plan, nu=nu)
        earlier, total = total, float(settings.bound(examples.c)[0].sum())
        # If a share of the weights is less than one example, the weights are scaled, and the examples differ.
        run = settings.fit_binary(examples, k, previous_run if total == earlier else None, None)
        runs.append(run)
        previous_run = None if isinstance(run, HistogramRun) or run.problem.update is UpdateKind.REWEIGHTING else run
    return runs[::-1]
