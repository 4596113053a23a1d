"""Cases in which other classifiers do better: accuracy and seconds of MarginBoostClassifier and of scikit-learn's.

Every classifier has its default settings, except that MarginBoostClassifier is shown with a fixed nu too, the share of
the examples that may be given up, and over decision trees of depth 4 in place of stumps. Stratified 5-fold
cross-validation with the same folds for all; seconds of the processor for a fit, median over the folds, one thread
each. Two sets come from ../shared/data, beside the repository. Sets that are missing are left out and named.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from boostopt import MarginWarning, load_dataset

SHARED = Path(__file__).parents[2] / "shared" / "data"
GERMAN, BANANA = SHARED / "libsvm" / "german.numer.svm.xz", SHARED / "ida" / "banana.npz"
FOLDS = 5
DEPTH, TREES = 4, 100
"""The depth of decision trees, and their largest number."""

XOR_EXAMPLES = 1000
MANY_EXAMPLES = 1000
"""Examples of banana that are taken, the first ones."""


@dataclass(frozen=True, eq=False)
class Examples:
    """A data set.

    Attributes
    ----------
    name
        The name on the page.
    X, y
        Features, shape (N, features), and labels, shape (N,).
    """

    name: str
    X: Any
    y: Any

    @property
    def words(self) -> str:
        """Name and sizes."""
        return f"{self.name}, {self.X.shape[0]} x {self.X.shape[1]}, {len(np.unique(self.y))} classes"


@dataclass(frozen=True)
class Score:
    """The score of a classifier on a data set.

    Attributes
    ----------
    accuracy, deviation
        Mean and standard deviation over the folds, of 1.
    seconds
        Median of the seconds of a fit.
    """

    accuracy: float
    deviation: float
    seconds: float

    def __str__(self) -> str:
        return f"{100 * self.accuracy:.1f} ± {100 * self.deviation:.1f}, {self.seconds:.2g} s"


def sets() -> Iterator[Examples]:
    """Yield the sets, those beside the repository where they are there."""
    from sklearn import datasets

    for name in ("breast_cancer", "wine", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield Examples(name, X, y)
    if GERMAN.exists():
        data = load_dataset(str(GERMAN))
        yield Examples("german.numer", data.X, data.y)
    if BANANA.exists():
        with np.load(BANANA) as arrays:
            yield Examples("banana", arrays["X"][:MANY_EXAMPLES], arrays["y"][:MANY_EXAMPLES])
    points = np.random.default_rng(0).uniform(-1.0, 1.0, size=(XOR_EXAMPLES, 2))
    yield Examples("x_0 x_1 > 0", points, np.where(points.prod(axis=1) > 0, 1, -1))


def classifiers() -> Mapping[str, Callable[[], Any]]:
    """Return what makes each classifier, by its name."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    from boostopt.estimators import MarginBoostClassifier

    return {
        "MarginBoost": lambda: MarginBoostClassifier(),
        "MarginBoost, nu=0.1": lambda: MarginBoostClassifier(nu=0.1),
        "MarginBoost, nu=0.1, trees": lambda: MarginBoostClassifier(
            nu=0.1, base=DecisionTreeClassifier(max_depth=DEPTH, random_state=0), max_iter=TREES
        ),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "random forest": lambda: RandomForestClassifier(random_state=0),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }


def score(make: Callable[[], Any], examples: Examples) -> Score:
    """Cross-validate a classifier."""
    from sklearn.model_selection import StratifiedKFold

    accuracies, seconds = list[float](), list[float]()
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(examples.X, examples.y):
        model, began = make(), time.process_time()
        model.fit(examples.X[train], examples.y[train])
        seconds.append(time.process_time() - began)
        accuracies.append(float(model.score(examples.X[test], examples.y[test])))
    return Score(statistics.mean(accuracies), statistics.stdev(accuracies), statistics.median(seconds))


def left_out() -> str:
    """Say which sets are not there, "" for none."""
    missing = [path.name for path in (GERMAN, BANANA) if not path.exists()]
    return f"Left out, for they are not in ../shared/data: {', '.join(missing)}." if missing else ""


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    # Over trees there is no upper bound, so that a rule may not have held when the rounds are over. On some sets no
    # soft margin above 0 is proved; the accuracy tells what this costs.
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", MarginWarning)
    makers = classifiers()
    print(f"| data | {' | '.join(makers)} |\n|---|{'---|' * len(makers)}")
    for examples in sets():
        scores = [str(score(make, examples)) for make in makers.values()]
        print(f"| {examples.words} | {' | '.join(scores)} |", flush=True)
    print(left_out())


if __name__ == "__main__":
    main()
