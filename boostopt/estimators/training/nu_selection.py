"""The nu of a classifier by cross-validation, along a path of nu in each fold."""

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

NU_FRACTIONS = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0)
"""The values of nu, as shares of the largest that gives no class up: see `margin_warnings`."""

MAX_FOLDS = 5
"""Into which the examples are dealt out; fewer where a class has fewer."""


@dataclass(frozen=True, eq=False)
class NuScores:
    """Values of nu and how they did.

    Attributes
    ----------
    nus
        Shares of the weights, ascending, shape (k,).
    scores
        The share of the weight of held-out examples that is predicted right at each, shape (k,).
    """

    nus: Float[Array, " k"]
    scores: Float[Array, " k"]

    @property
    def best_nu(self) -> float:
        """The nu with the highest score; of several the largest, which gives more examples up and needs fewer votes."""
        return float(self.nus[np.flatnonzero(self.scores == self.scores.max())[-1]])


def cross_validate_nu(plan: FitSettings, examples: WeightedExamples) -> NuScores:
    """Return how values of nu do on held-out examples.

    Equal examples are in one fold, and each counts with its weight, so that a weight is a number of copies here too.

    Parameters
    ----------
    plan
        The parameters of the classifier, but nu.
    examples
        The examples with their weights.

    Raises
    ------
    ProblemError
        A class has one example only.
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
    alone = replace(plan, checkpoint=None, verbose=False)
    folds = StratifiedKFold(min(MAX_FOLDS, smallest), shuffle=True, random_state=plan.seed or 0)
    parts = folds.split(np.zeros(len(codes)), codes)
    tasks = [
        delayed(_correct_weight)(alone, *(examples.take(np.flatnonzero(np.isin(groups, part))) for part in both), nus)
        for both in parts
    ]
    right: Any = Parallel(n_jobs=plan.n_jobs)(tasks)
    return NuScores(nus, np.sum(right, axis=0) / examples.c.sum())


def _correct_weight(
    plan: FitSettings, learnt: WeightedExamples, held: WeightedExamples, nus: Float[Array, " k"]
) -> Float[Array, " k"]:
    """Return the weight of the held-out examples that is predicted right at each nu."""
    several = len(learnt.classes) > 2
    told = range(len(learnt.classes)) if several else (1,)
    # For each class the runs along the path, and their values side by side at each nu.
    paths = [_runs_along_path(plan, learnt, k, nus) for k in told]
    right = np.zeros(len(nus))
    for j in range(len(nus)):
        f = stack_columns(runs[j].decision_function(held.X) for runs in paths)
        predicted = f.argmax(axis=1) if several else predicted_classes(f, "majority", paths[0][j].majority) > 0
        right[j] = held.c[predicted == held.codes].sum()
    return right


def _runs_along_path(plan: FitSettings, examples: WeightedExamples, k: int, nus: Float[Array, " k"]) -> list[Run]:
    """Return the runs of class k at ascending nus; each begins where that of the next larger nu ended, as in `path`.

    Looks are faster than steps that begin elsewhere: where they serve each run is one by itself.
    """
    runs = list[Run]()
    before, total = None, 0.0
    for nu in reversed(nus.tolist()):
        here = replace(plan, nu=nu)
        earlier, total = total, float(here.bound(examples.c)[0].sum())
        # Where a share of the weights is less than one example they are scaled: then the examples are others.
        run = here.fit_binary(examples, k, before if total == earlier else None, None)
        runs.append(run)
        before = None if isinstance(run, HistogramRun) or run.problem.update == "reweighting" else run
    return runs[::-1]
