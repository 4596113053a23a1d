"""A grid over nu and epsilon for the classifier on german.numer: seconds and accuracies, as users would search it.

The data come from ../shared/data, beside the repository; where they are not there the line is left out, and that is
said.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boostopt import load_dataset

GERMAN = Path(__file__).parents[2] / "shared" / "data" / "libsvm" / "german.numer.svm.xz"
SECONDS = 60.0
NUS, EPSILONS = (0.2, 0.3, 0.45, 0.6), (0.1, 0.03, 0.01)
FOLDS, JOBS = 5, 2

HEADER = "| work | seconds | fits | best nu | best epsilon | its accuracy | linear SVM's | meant to be | met |"


@dataclass(frozen=True)
class Line:
    """A line of the report.

    Attributes
    ----------
    work
        The search that was measured.
    seconds
        The duration, the last fit to all examples included.
    fits
        Classifiers fitted.
    nu, epsilon
        The best values.
    accuracy, rival
        Mean accuracy of these on the folds, and that of scikit-learn's linear support vector machine, unsearched.
    target
        The target, in words.
    is_met
        True if the target is met.
    """

    work: str
    seconds: float
    fits: int
    nu: float
    epsilon: float
    accuracy: float
    rival: float
    target: str
    is_met: bool


def examples() -> tuple[Any, Any]:
    """Return features and labels of german.numer: 1000 examples, 24 features."""
    data = load_dataset(str(GERMAN))
    return data.X, data.y


def measure() -> Line:
    """Search once."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    from boostopt.estimators import MarginBoostClassifier

    X, y = examples()
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    grid = {"marginboostclassifier__nu": NUS, "marginboostclassifier__epsilon": EPSILONS}
    pipeline = make_pipeline(StandardScaler(), MarginBoostClassifier())
    began = time.perf_counter()
    search = GridSearchCV(pipeline, grid, cv=folds, n_jobs=JOBS).fit(X, y)
    seconds = time.perf_counter() - began
    best = search.best_params_
    rival = cross_val_score(make_pipeline(StandardScaler(), LinearSVC()), X, y, cv=folds)
    return Line(
        f"GridSearchCV over {len(NUS)} nu and {len(EPSILONS)} epsilon, {FOLDS} folds, stumps, german.numer",
        seconds,
        FOLDS * len(NUS) * len(EPSILONS) + 1,
        best["marginboostclassifier__nu"],
        best["marginboostclassifier__epsilon"],
        float(search.best_score_),
        float(np.mean(rival)),
        f"<= {SECONDS:.0f} s with {JOBS} processes",
        seconds <= SECONDS,
    )


def lines() -> list[Line]:
    """Measure in a process of its own, with one thread for linear algebra in each of its processes."""
    if not GERMAN.exists():
        return []
    one = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__], env=one, stdout=subprocess.PIPE, text=True, check=True)
    return [Line(**json.loads(done.stdout.splitlines()[-1]))]


def left_out() -> str:
    """Say what cannot be measured for want of data, "" for nothing."""
    has_german = GERMAN.exists()
    return "" if has_german else f"The classifier's grid is left out: {GERMAN.name} is not in shared/data/libsvm."


def row(line: Line) -> str:
    """Return a row of the table."""
    numbers = (f"{line.seconds:.3g}", line.fits, line.nu, line.epsilon, f"{line.accuracy:.3f}", f"{line.rival:.3f}")
    return f"| {' | '.join(map(str, (line.work, *numbers, line.target, 'yes' if line.is_met else 'no')))} |"


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    print(json.dumps(asdict(measure())))


if __name__ == "__main__":
    main()
