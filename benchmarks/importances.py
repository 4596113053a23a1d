"""Rank correlations of two importances of features with permutation importance, on ten sets.

    python benchmarks/importances.py --page docs/classifiers.md

Permutation importance is scikit-learn's: the mean decrease of the accuracy on the training examples over five random
orders of a feature. `feature_importances_` are the shares in the spread of the votes. The shares in the weights are the
sums of the absolute weights of all stumps on a feature, as in versions before. The tables are those of
`package_tables`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.package_tables import PACKAGES, load_tables, missing_packages
from benchmarks.pages import replace_between

REPEATS = 5
"""Random orders of each feature."""

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


def rank_correlations(X: Any, y: Any) -> tuple[float, float]:
    """Return Spearman's correlations with permutation importance: of the spreads, and of the weights."""
    from scipy.stats import spearmanr
    from sklearn.inspection import permutation_importance

    from boostopt.estimators import MarginBoostClassifier

    model = MarginBoostClassifier().fit(X, y)
    # scikit-learn and SciPy have no types of these results.
    permuted: Any = permutation_importance(model, X, y, n_repeats=REPEATS, random_state=0)
    spreads: Any = spearmanr(model.feature_importances_, permuted.importances_mean)
    weights: Any = spearmanr(weight_shares(model), permuted.importances_mean)
    return float(spreads.statistic), float(weights.statistic)


def format_table(correlations: Mapping[str, tuple[float, float]]) -> str:
    """Return the table of the page."""
    lines = ["| set | shares in the spread of the votes | shares in the weights |", "|---|---|---|"]
    lines += [f"| {name} | {spread:.2f} | {weight:.2f} |" for name, (spread, weight) in correlations.items()]
    means = [statistics.mean(column) for column in zip(*correlations.values(), strict=True)]
    return "\n".join([*lines, f"| mean | {means[0]:.2f} | {means[1]:.2f} |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, help="the page whose table is written")
    arguments = parser.parse_args()
    if missing_packages():
        sys.exit(f"expected {' and '.join(PACKAGES)}; {' and '.join(missing_packages())} is missing. Install it.")
    warnings.simplefilter("ignore")
    text = format_table({name: rank_correlations(X, y) for name, (X, y) in load_tables().items()})
    print(text)
    if arguments.page is not None:
        replace_between(arguments.page, BEGIN, END, text)


if __name__ == "__main__":
    main()
