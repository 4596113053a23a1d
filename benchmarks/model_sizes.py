"""Accuracy, area under the ROC curve, seconds and size of the pickle of six classifiers on ten tables.

    python benchmarks/model_sizes.py --page docs/classifiers.md

Each number is the mean over stratified folds. Seconds are those of the processor for one fit, one thread. With more
than two classes the area is the mean over the classes, each against the rest. The tables are those of `package_tables`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import pickle
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.package_tables import load_tables, require_packages
from benchmarks.pages import replace_between

FOLDS = 5

BEGIN, END = "<!-- sizes: begin -->", "<!-- sizes: end -->"
"""The markers around the table of the page."""


@dataclass(frozen=True)
class Score:
    """The score of a classifier on held-out rows.

    Attributes
    ----------
    accuracy, area
        The accuracy, and the area under the ROC curve.
    seconds
        Processor time of the fit.
    size
        Bytes of the pickle.
    """

    accuracy: float
    area: float
    seconds: float
    size: float

    @classmethod
    def mean(cls, scores: Sequence[Score]) -> Score:
        """Return the mean of each number."""
        columns = zip(*((score.accuracy, score.area, score.seconds, score.size) for score in scores), strict=True)
        return cls(*map(statistics.mean, columns))

    def __str__(self) -> str:
        size = f"{self.size / 1e3:.0f} kB"
        return f"{100 * self.accuracy:.1f}, {100 * self.area:.1f}, {self.seconds:.2g} s, {size}"


def classifiers() -> Mapping[str, Callable[[], Any]]:
    """Return the six classifiers, with their default settings but for the number of stumps of AdaBoost."""
    from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from boostopt.estimators import MarginBoostClassifier

    return {
        "default": lambda: MarginBoostClassifier(),
        '`nu="auto"`, `scoring="roc_auc"`': lambda: MarginBoostClassifier(nu="auto", scoring="roc_auc"),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "AdaBoost, 100 stumps": lambda: AdaBoostClassifier(n_estimators=100, random_state=0),
        "random forest": lambda: RandomForestClassifier(random_state=0),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    }


def measure(make: Callable[[], Any], X: Any, y: Any, folds: int) -> Score:
    """Return the mean scores of a classifier over the folds."""
    from sklearn.model_selection import StratifiedKFold

    scores = list[Score]()
    for training_rows, test_rows in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        model, start = make(), time.process_time()
        model.fit(X[training_rows], y[training_rows])
        seconds = time.process_time() - start
        accuracy = float(model.score(X[test_rows], y[test_rows]))
        area = roc_area(model, X[test_rows], y[test_rows])
        scores.append(Score(accuracy, area, seconds, float(len(pickle.dumps(model)))))
    return Score.mean(scores)


def roc_area(model: Any, X: Any, y: Any) -> float:
    """Return the area under the ROC curve; the mean over the classes if there are more than two."""
    from sklearn.metrics import roc_auc_score

    f = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
    classes = model.classes_
    if len(classes) == 2:
        return float(roc_auc_score(y == classes[1], f if f.ndim == 1 else f[:, 1]))
    return statistics.mean(float(roc_auc_score(y == label, f[:, k])) for k, label in enumerate(classes))


def format_table(scores: Mapping[str, Mapping[str, Score]]) -> str:
    """Return the table of the page from the scores by table and classifier."""
    names = list(next(iter(scores.values())))
    lines = [f"| table | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for table, table_scores in scores.items():
        lines.append(f"| {table} | {' | '.join(str(table_scores[name]) for name in names)} |")
    means = [Score.mean([table_scores[name] for table_scores in scores.values()]) for name in names]
    return "\n".join([*lines, f"| mean | {' | '.join(map(str, means))} |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, help="the page whose table is written")
    parser.add_argument("--folds", type=int, default=FOLDS, help=f"the number of folds (default: {FOLDS})")
    arguments = parser.parse_args()
    require_packages()
    warnings.simplefilter("ignore")
    scores = dict[str, dict[str, Score]]()
    for table, (frame, y) in load_tables().items():
        X = frame.to_numpy()
        scores[table] = {name: measure(make, X, np.asarray(y), arguments.folds) for name, make in classifiers().items()}
        print(table, *map(str, scores[table].values()), sep=" | ", file=sys.stderr, flush=True)
    text = format_table(scores)
    print(text)
    if arguments.page is not None:
        replace_between(arguments.page, BEGIN, END, text)


if __name__ == "__main__":
    main()
