"""Rank correlations of two importances of features with permutation importance, on ten sets.

    python benchmarks/importances.py --page docs/classifiers.md

Permutation importance is scikit-learn's: the mean decrease of the accuracy on the training examples over five random
orders of a feature; of the balanced accuracy for fits with balanced classes. A constant prediction has no ranks, and
means are those of the other sets. `feature_importances_` are the shares in the spread of the votes. The shares in the
weights are the sums of the absolute weights of all stumps on a feature, as in versions before. The tables are those of
`package_tables`.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.package_tables import load_tables, require_packages
from benchmarks.pages import replace_between

REPEATS = 5
"""Random orders of each feature."""

FITS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "accuracy"),
    ({"class_weight": "balanced"}, "balanced_accuracy"),
)
"""Parameters of the fits, and the scores whose decrease is the permutation importance."""

COLUMNS = ("spread, default", "weights, default", "spread, balanced", "weights, balanced")
"""The columns of the table: what the shares are of, and the fit."""

BEGIN, END = "<!-- importances: begin -->", "<!-- importances: end -->"
"""The markers around the table of the page."""


def weight_shares(model: Any) -> np.ndarray[Any, Any]:
    """Return the sums of the absolute weights of the stumps on each feature, with sum 1; the mean over the classes."""
    shares = list[Any]()
    for run in model.runs_:
        sizes = np.zeros(model.n_features_in_)
        for hypothesis, weight in zip(run.hypotheses, run.w, strict=True):
            sizes[hypothesis.feature] += abs(weight) * np.isfinite(hypothesis.threshold)
        shares.append(sizes / max(sizes.sum(), np.finfo(float).tiny))
    return np.mean(shares, axis=0)


def rank_correlations(X: Any, y: Any, parameters: Mapping[str, Any], scoring: str) -> tuple[float, float]:
    """Return Spearman's correlations with permutation importance: of the spreads, and of the weights.

    Both are nan for a constant prediction.
    """
    from scipy.stats import spearmanr
    from sklearn.inspection import permutation_importance

    from boostopt.estimators import MarginBoostClassifier

    model = MarginBoostClassifier(**parameters).fit(X, y)
    # scikit-learn and SciPy have no types of these results.
    permuted: Any = permutation_importance(model, X, y, n_repeats=REPEATS, random_state=0, scoring=scoring)
    if not (model.feature_importances_.any() and permuted.importances_mean.any()):
        return math.nan, math.nan
    spreads: Any = spearmanr(model.feature_importances_, permuted.importances_mean)
    weights: Any = spearmanr(weight_shares(model), permuted.importances_mean)
    return float(spreads.statistic), float(weights.statistic)


def format_table(correlations: Mapping[str, Sequence[float]]) -> str:
    """Return the table of the page from the correlations of each set, one for each column."""
    lines = [f"| {' | '.join(('set', *COLUMNS))} |", "|---" * (len(COLUMNS) + 1) + "|"]
    means = [statistics.mean(v for v in column if v == v) for column in zip(*correlations.values(), strict=True)]
    for name, row in {**correlations, "mean": means}.items():
        lines.append(f"| {name} | {' | '.join('constant' if v != v else f'{v:.2f}' for v in row)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, help="the page whose table is written")
    arguments = parser.parse_args()
    require_packages()
    warnings.simplefilter("ignore")
    correlations = {
        name: [value for parameters, scoring in FITS for value in rank_correlations(X, y, parameters, scoring)]
        for name, (X, y) in load_tables().items()
    }
    text = format_table(correlations)
    print(text)
    if arguments.page is not None:
        replace_between(arguments.page, BEGIN, END, text)


if __name__ == "__main__":
    main()
