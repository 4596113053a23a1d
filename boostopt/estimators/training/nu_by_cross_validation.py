"""The choice of nu by cross-validation, along a path of nu in each fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    log_loss,
    roc_auc_score,
)
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

from boostopt._utils.array_types import Array, ExampleVector, Float, Int
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.combined_hypothesis import predicted_classes
from boostopt.boosting.run.run import Run
from boostopt.errors import ProblemError
from boostopt.estimators.binary_model import stack_columns
from boostopt.estimators.training.binary_fit import FitSettings
from boostopt.estimators.training.nu_by_margin import nu_limit
from boostopt.estimators.training.training_data import OracleCache, WeightedExamples
from boostopt.programs.boosting_spec import UpdateKind

NU_FRACTIONS = (0.1, 0.3, 1.0)
"""The first candidates of nu, as multiples of the largest nu that gives up no class: see `baseline_and_nu_warnings`."""

FOLD_EPSILON = 0.02
"""The smallest epsilon of fits to folds: these fits serve to compare scores, and their certificates are not used."""

MAX_FOLDS = 3
"""The number of folds; it is reduced to the number of rows of the smallest class."""


SIGMOID_C = 100.0
"""The inverse strength of the penalty on the slope of the sigmoids of the logarithmic loss."""


@dataclass(frozen=True, eq=False)
class NuScores:
    """Values of nu with their cross-validation scores.

    Attributes
    ----------
    nus
        Shares of the weights, ascending, shape (k,).
    fold_scores
        The score of each fold at each nu, shape (folds, k); a larger score is better.
    fold_weights
        The weight of the held-out examples of each fold, shape (folds,).
    """

    nus: Float[Array, " k"]
    fold_scores: Float[Array, "folds k"]
    fold_weights: Float[Array, " folds"]

    @property
    def scores(self) -> Float[Array, " k"]:
        """The mean score at each nu, where each fold counts with its weight."""
        return np.average(self.fold_scores, axis=0, weights=self.fold_weights)

    def with_scores(self, nus: Float[Array, " m"], fold_scores: Float[Array, "folds m"]) -> NuScores:
        """Return the scores of these and of further values of nu."""
        order = np.argsort(np.concatenate([self.nus, nus]))
        fold_scores = np.hstack([self.fold_scores, fold_scores])[:, order]
        return replace(self, nus=np.concatenate([self.nus, nus])[order], fold_scores=fold_scores)

    @property
    def best_nu(self) -> float:
        """The smallest nu whose score is at most one standard error below the highest.

        A smaller nu gives up fewer examples and needs more votes. The standard error is that of the mean difference of
        the two scores over the folds, so that the difficulty of a fold, which all nu share, does not count: the rule of
        Breiman, Friedman, Olshen and Stone [1984, section 3.4.3] with paired differences.
        """
        best = int(self.scores.argmax())
        losses = self.fold_scores[:, [best]] - self.fold_scores
        standard_errors = losses.std(axis=0, ddof=1) / np.sqrt(len(losses))
        return float(self.nus[np.flatnonzero(self.scores[best] - self.scores <= standard_errors)[0]])


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold of the cross-validation.

    Attributes
    ----------
    training_examples, held_out_examples
        The two parts of the examples.
    starts
        Runs of histogram Newton over the training examples, without the rows, by class and nu.
    """

    training_examples: WeightedExamples
    held_out_examples: WeightedExamples
    starts: dict[int, dict[float, HistogramRun]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class HeldOutFold:
    """The held-out examples of a fold, with the decision function at one nu.

    Attributes
    ----------
    codes
        The index of each example's class, shape (n,).
    c
        The weights, shape (n,).
    f
        The decision function of each class against the rest, shape (n, classes); shape (n, 1) with two classes.
    predicted
        The index of the predicted class, shape (n,).
    """

    codes: Int[Array, " n"]
    c: ExampleVector
    f: Float[Array, "n columns"]
    predicted: Int[Array, " n"]

    @property
    def labels(self) -> Int[Array, "n columns"]:
        """The labels of one class against the others: 1 if an example belongs to the class of a column of f, else 0."""
        positive_codes = np.arange(self.f.shape[1]) if self.f.shape[1] > 1 else np.array([1])
        return (self.codes[:, np.newaxis] == positive_codes).astype(np.int64)


def _mean_over_classes(score: Callable[..., float], folds: list[HeldOutFold]) -> list[float]:
    """Return the mean over the columns of f of a score of two classes, for each fold."""
    return [
        float(np.mean([score(y, f, sample_weight=fold.c) for y, f in zip(fold.labels.T, fold.f.T, strict=True)]))
        for fold in folds
    ]


def _score_predictions(score: Callable[..., float], folds: list[HeldOutFold]) -> list[float]:
    """Return a score of the predicted classes, for each fold."""
    return [float(score(fold.codes, fold.predicted, sample_weight=fold.c)) for fold in folds]


def _negative_log_losses(folds: list[HeldOutFold]) -> list[float]:
    """Return minus the logarithmic loss of probabilities, for each fold.

    The probability of a class is a sigmoid of f, whose two numbers are fitted to the held-out examples of all folds.
    A small penalty keeps them finite where f separates the classes. With more than two classes the sigmoids are divided
    by their sum.
    """
    labels = np.concatenate([fold.labels for fold in folds])
    f = np.concatenate([fold.f for fold in folds])
    c = np.concatenate([fold.c for fold in folds])
    sigmoids = [
        LogisticRegression(C=SIGMOID_C).fit(f[:, [j]], labels[:, j], sample_weight=c / c.mean())
        for j in range(f.shape[1])
    ]
    losses = list[float]()
    for fold in folds:
        p = np.column_stack([sigmoid.predict_proba(fold.f[:, [j]])[:, 1] for j, sigmoid in enumerate(sigmoids)])
        p = np.hstack([1.0 - p, p]) if p.shape[1] == 1 else p / p.sum(axis=1, keepdims=True)
        losses.append(-float(log_loss(fold.codes, p, sample_weight=fold.c, labels=range(p.shape[1]))))
    return losses


FOLD_SCORES: Mapping[str, Callable[[list[HeldOutFold]], list[float]]] = {
    "accuracy": partial(_score_predictions, accuracy_score),
    "balanced_accuracy": partial(_score_predictions, balanced_accuracy_score),
    "roc_auc": partial(_mean_over_classes, roc_auc_score),
    "average_precision": partial(_mean_over_classes, average_precision_score),
    "neg_log_loss": _negative_log_losses,
}
"""The scores of `SCORING_NAMES`: functions from held-out folds to one number a fold."""


def cross_validate_nu(settings: FitSettings, examples: WeightedExamples) -> NuScores:
    """Return the cross-validation scores of values of nu.

    The first candidates are three multiples of the largest nu that gives up no class, with or without the class
    weights: a user who gives a class little weight permits the model to give it up. A finer grid follows: the
    geometric means of the best one and its neighbours. The folds are stratified folds of the rows: each of the equal
    rows goes to a fold of its own choice, with its share of their weight. A row of weight k counts as k rows if all
    weights are whole numbers. The epsilon of the fits is at least `FOLD_EPSILON`.

    Parameters
    ----------
    settings
        The settings of the fit, except nu.
    examples
        The examples with their weights.

    Raises
    ------
    ProblemError
        A class has only one row.
    """
    rows = np.repeat(np.arange(len(examples.c)), examples.copies)
    smallest = int(np.bincount(examples.codes[rows]).min())
    if smallest < 2:
        raise ProblemError(
            'nu="auto" holds out rows of each class, so each class needs at least two; got a class with one. Set nu to '
            "a number."
        )
    epsilon = max(settings.epsilon, FOLD_EPSILON)
    fold_settings = replace(settings, epsilon=epsilon, needs_smaller_gap=False, checkpoint=None, verbose=False)
    splitter = StratifiedKFold(min(MAX_FOLDS, smallest), shuffle=True, random_state=settings.seed or 0)

    def take(part: Int[Array, " n"]) -> WeightedExamples:
        return examples.take_copies(np.bincount(rows[part], minlength=len(examples.c)))

    splits = splitter.split(np.zeros(len(rows)), examples.codes[rows])
    folds = [Fold(take(training_rows), take(held_out_rows)) for training_rows, held_out_rows in splits]
    score = partial(_score_nus, fold_settings, folds)
    # Less than one row: the soft margin is the smallest margin for all of these nu.
    limit = min(nu_limit(*examples.class_shares()), 1.0)
    candidates = _without_repetitions(np.array(NU_FRACTIONS) * limit, 1.0 / len(rows))
    coarse = NuScores(candidates, score(candidates), np.array([fold.held_out_examples.c.sum() for fold in folds]))
    candidates = _without_repetitions(finer_nus(coarse), 1.0 / len(rows))
    candidates = candidates[~np.isin(candidates, coarse.nus)]
    return coarse.with_scores(candidates, score(candidates)) if len(candidates) else coarse


def finer_nus(scores: NuScores) -> Float[Array, " k"]:
    """Return the geometric means of the nu with the highest score and its neighbours, ascending."""
    best = int(scores.scores.argmax())
    neighbours = np.concatenate([scores.nus[max(best - 1, 0) : best], scores.nus[best + 1 : best + 2]])
    return np.sqrt(scores.nus[best] * neighbours)


def _without_repetitions(nus: Float[Array, " k"], smallest: float) -> Float[Array, " n"]:
    """Return the different values among nus, ascending, with those below the smallest replaced by it."""
    return np.unique(np.maximum(nus, min(smallest, float(nus.max(initial=0.0)))))


def _score_nus(settings: FitSettings, folds: Sequence[Fold], nus: Float[Array, " k"]) -> Float[Array, "folds k"]:
    """Return the score of each fold at each nu, and add the new runs to the starts of the folds."""
    results: Any = Parallel(n_jobs=settings.n_jobs)(delayed(_held_out_folds)(settings, fold, nus) for fold in folds)
    for fold, (_, starts) in zip(folds, results, strict=True):
        fold.starts.update(starts)  # another process has a copy
    score = FOLD_SCORES[settings.scoring]
    return np.array([score(list(at_nu)) for at_nu in zip(*(held_out for held_out, _ in results), strict=True)]).T


def _held_out_folds(
    settings: FitSettings, fold: Fold, nus: Float[Array, " k"]
) -> tuple[list[HeldOutFold], dict[int, dict[float, HistogramRun]]]:
    """Return the held-out examples with the decision function at each nu, and the starts with the new runs."""
    examples, held_out = fold.training_examples, fold.held_out_examples
    is_multiclass = len(examples.classes) > 2
    positive_codes = range(len(examples.classes)) if is_multiclass else (1,)
    # For each class, the runs along the path of nu.
    paths = [_runs_along_path(settings, examples, k, nus, fold.starts.setdefault(k, {})) for k in positive_codes]
    folds = list[HeldOutFold]()
    for j in range(len(nus)):
        f = stack_columns(runs[j].decision_function(held_out.X) for runs in paths)
        predicted = f.argmax(axis=1) if is_multiclass else predicted_classes(f, "majority", paths[0][j].majority) > 0
        folds.append(HeldOutFold(held_out.codes, held_out.c, f.reshape(len(predicted), -1), predicted.astype(np.int64)))
    return folds, fold.starts


def _runs_along_path(
    settings: FitSettings,
    examples: WeightedExamples,
    k: int,
    nus: Float[Array, " k"],
    starts: dict[float, HistogramRun],
) -> list[Run]:
    """Return the runs of class k at ascending nus; each run starts from the run of the next larger nu, as in `path`.

    Runs of histogram Newton start from those of an earlier path too: `starts` has them by nu, and the new ones join.
    """
    runs = list[Run]()
    previous_run, total, cache = None, 0.0, OracleCache()
    for nu in reversed(nus.tolist()):
        nu_settings = replace(settings, nu=nu)
        previous_total, total = total, float(nu_settings.scale_weights(examples)[0].sum())
        larger_nu = min((share for share in starts if share > nu), default=None)
        # If a share of the weights is less than one example, the weights are scaled, and the examples differ.
        start = previous_run if total == previous_total else None
        start = start if larger_nu is None else starts[larger_nu]
        run = nu_settings.fit_binary(examples, k, start, None, cache=cache)
        runs.append(run)
        if isinstance(run, HistogramRun):
            starts[nu] = run.without_rows()
        previous_run = None if isinstance(run, HistogramRun) or run.problem.update is UpdateKind.REWEIGHTING else run
    return runs[::-1]
