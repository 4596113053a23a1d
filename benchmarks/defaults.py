"""The choice of the defaults of MarginBoostClassifier, and their comparison with other classifiers' defaults.

    python benchmarks/defaults.py --keep build/defaults.json --page docs/classifiers.md

Candidates are nu, epsilon and a limit on the rounds. Of the sets in alphabetical order every second one chooses; the
others only confirm. The IDA sets have their first published splits (seeded ones where none are published), the others
stratified draws, the same for all classifiers. Accuracies are means over the splits, on the held-out part. Seconds are
those of the processor (time.process_time) of one fit, median over the splits, one thread each: the machine may be busy.

Sets from ../shared/data, beside the repository, are left out where they are not there, and that is said. So are the
ten tables of `package_tables` where their packages are not installed.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import itertools
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from benchmarks.ida_data import WHOLE, part_of, rows_of
from benchmarks.package_tables import load_tables, missing_packages
from benchmarks.pages import replace_between
from boostopt import load_dataset
from boostopt._utils.files import write_atomically

SHARED = Path(__file__).parents[2] / "shared" / "data"
NUS, EPSILONS, ROUNDS = ("margin", 0.05, 0.1, 0.2), (0.01, 0.03), 1000
FEW_ROUNDS, AT_NU = (10, 20), "margin"
"""Smaller limits on the rounds, and the nu at which they are tried."""

SPLITS = 10
A9A_TRAINED, A9A_TESTED = 3000, 5000
NOISY, FLIPPED = 2000, 0.2
"""Rows of the set of this name, and the share of their labels that are turned."""

CLOSE = 0.0025
"""Accuracies are called equal that differ by less: faster candidates are then preferred."""

ADABOOST, MAJORITY = "AdaBoost, 100 stumps", "the majority"
"""The rival that the defaults are to be as good as, and the one that they are never to be worse than."""

BEGIN, END = "<!-- defaults: begin -->", "<!-- defaults: end -->"
"""The markers around the tables of the page; benchmarks/defaults.py writes the tables."""

Split = tuple[Any, Any, Any, Any]
"""Features and labels to learn from, features and labels to test on."""


@dataclass(frozen=True)
class Candidate:
    """Parameters of the classifier that may become its defaults."""

    nu: float | str
    epsilon: float
    max_iter: int

    def __str__(self) -> str:
        return f"nu={self.nu}, epsilon={self.epsilon:g}, max_iter={self.max_iter}"

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """The key by which candidates are ordered: nu that is no number comes last."""
        number = math.inf if isinstance(self.nu, str) else self.nu
        return number, self.epsilon, self.max_iter


@dataclass(frozen=True)
class Score:
    """The score of a classifier on a data set.

    Attributes
    ----------
    accuracy
        Mean over the splits.
    seconds
        Median over the splits.
    """

    accuracy: float
    seconds: float


def candidates() -> list[Candidate]:
    """Return what is tried."""
    whole = itertools.product(NUS, EPSILONS, (ROUNDS,))
    few = itertools.product((AT_NU,), EPSILONS[:1], FEW_ROUNDS)
    return [Candidate(*parameters) for parameters in (*whole, *few)]


def make_classifier(**parameters: Any) -> Any:
    """Return the classifier with some parameters."""
    from boostopt.estimators import MarginBoostClassifier

    return MarginBoostClassifier(**parameters)


def defaults() -> Candidate:
    """Return what the classifier has now."""
    model = make_classifier()
    return Candidate(model.nu, model.epsilon, model.max_iter)


def make_rivals() -> Mapping[str, Callable[[], Any]]:
    """Return scikit-learn's classifiers, AdaBoost with 100 stumps and the others with their default settings."""
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
        ADABOOST: lambda: AdaBoostClassifier(n_estimators=100, random_state=0),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        MAJORITY: lambda: DummyClassifier(),
    }


def sets(splits: int) -> dict[str, list[Split]]:
    """Return the sets that are there, in alphabetical order, with their splits."""
    splits_by_set = dict[str, list[Split]]()
    ida = SHARED / "ida"
    if ida.exists():
        for name in sorted(path.stem for path in ida.glob("*.npz")):
            rows = max(rows_of(ida, [name], splits), key=lambda row: row.splits)
            parts = [part_of(ida, (name, rows.kind, k, WHOLE), 1) for k in range(rows.splits)]
            splits_by_set[name] = [(part.X, part.y, part.X_test, part.y_test) for part in parts]
    for name, source in (
        ("a9a", SHARED / "libsvm" / "a9a.svm.xz"),
        ("german.numer", SHARED / "libsvm" / "german.numer.svm.xz"),
    ):
        if source.exists():
            data = load_dataset(str(source))
            sizes = (A9A_TRAINED, A9A_TESTED) if name == "a9a" else (None, 0.3)
            splits_by_set[name] = list(draw_splits(data.X, data.y, splits, *sizes))
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    for name, load in (("breast_cancer (WDBC)", load_breast_cancer), ("digits", load_digits), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        splits_by_set[name] = list(draw_splits(X, y, splits, None, 0.3))
    splits_by_set["noisy"] = list(draw_splits(*noisy(), splits, None, 0.3))
    for name, (table, labels) in load_tables().items():
        splits_by_set[name] = list(draw_splits(table.to_numpy(), labels, splits, None, 0.3))
    return dict(sorted(splits_by_set.items()))


def noisy() -> tuple[Any, Any]:
    """Return rows of ten features of which three tell the class, and some labels are turned."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(NOISY, 10))
    y = X[:, 0] + X[:, 1] + X[:, 2] > 0
    return X, (y ^ (rng.random(NOISY) < FLIPPED)).astype(int)


def draw_splits(X: Any, y: Any, splits: int, trained: int | None, tested: float) -> Iterator[Split]:
    """Yield stratified draws."""
    from sklearn.model_selection import StratifiedShuffleSplit

    rows = X.toarray() if hasattr(X, "toarray") else X
    draw = StratifiedShuffleSplit(splits, train_size=trained, test_size=tested, random_state=0)
    for train, test in draw.split(rows, y):
        yield rows[train], y[train], rows[test], y[test]


def score(make: Callable[[], Any], splits: Sequence[Split]) -> Score:
    """Fit and test on each split."""
    accuracies, seconds = list[float](), list[float]()
    for X, y, X_test, y_test in splits:
        model, began = make(), time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - began)
        accuracies.append(float(model.score(X_test, y_test)))
    return Score(statistics.mean(accuracies), statistics.median(seconds))


def halves(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the sets that choose, and those that confirm."""
    ordered = sorted(names)
    return ordered[::2], ordered[1::2]


def together(scores: Mapping[str, Score], names: Sequence[str]) -> Score:
    """Return the mean accuracy and the geometric mean of the seconds over some sets."""
    seconds = [math.log(max(scores[name].seconds, 1e-4)) for name in names]
    return Score(statistics.mean(scores[name].accuracy for name in names), math.exp(statistics.mean(seconds)))


def choose_candidate(scores_by_candidate: Mapping[Candidate, Mapping[str, Score]], names: Sequence[str]) -> Candidate:
    """Return the fastest of the candidates whose mean accuracy on the sets is as good as the best.

    A limit on the rounds that ends most fits is no default, for it would end them with a warning: it is measured alone.
    """
    scores = {
        candidate: together(scores, names)
        for candidate, scores in scores_by_candidate.items()
        if candidate.max_iter == ROUNDS
    }
    best = max(score.accuracy for score in scores.values())
    close = [candidate for candidate in scores if scores[candidate].accuracy > best - CLOSE]
    return min(close, key=lambda candidate: (scores[candidate].seconds, candidate.sort_key))


def tables(
    scores_by_candidate: Mapping[Candidate, Mapping[str, Score]], rivals: Mapping[str, Mapping[str, Score]]
) -> str:
    """Return what goes on the page."""
    now, names = defaults(), sorted(next(iter(scores_by_candidate.values())))
    choosing, confirming = halves(names)
    columns = {"default": scores_by_candidate[now], **rivals}
    head = ["set", *columns]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        cells = [f"{100 * scores[name].accuracy:.1f}, {scores[name].seconds:.2g} s" for scores in columns.values()]
        lines.append(f"| {name}{'*' if name in choosing else ''} | {' | '.join(cells)} |")
    means = [together(scores, names) for scores in columns.values()]
    lines.append(f"| all | {' | '.join(f'{100 * mean.accuracy:.1f}, {mean.seconds:.2g} s' for mean in means)} |")
    ranks = mean_ranks([[scores[name].accuracy for name in names] for scores in columns.values()])
    lines.append(f"| mean rank | {' | '.join(f'{rank:.2f}' for rank in ranks)} |")
    lines += ["", "| nu | epsilon | max_iter | the sets that choose | the others |", "|---" * 5 + "|"]
    for candidate in sorted(scores_by_candidate, key=lambda candidate: candidate.sort_key):
        halved = (together(scores_by_candidate[candidate], half) for half in (choosing, confirming))
        cells = [f"{100 * mean.accuracy:.1f}, {mean.seconds:.2g} s" for mean in halved]
        mark = "**" if candidate == now else ""
        numbers = [f"{mark}{value}{mark}" for value in (candidate.nu, f"{candidate.epsilon:g}", candidate.max_iter)]
        lines.append(f"| {' | '.join([*numbers, *cells])} |")
    return "\n".join(lines)


def mean_ranks(accuracies: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean rank of each row over the columns: 1 for the largest number; equal numbers share a rank."""
    from scipy.stats import rankdata

    ranks: Any = rankdata([[-round(value, 6) for value in row] for row in accuracies], axis=0)
    return ranks.mean(axis=1).tolist()


def compare_with(scores: Mapping[str, Score], rival: Mapping[str, Score]) -> str:
    """Return on how many sets scores are better and worse than those of a rival, and the ratio of the seconds."""
    better = sum(scores[name].accuracy > rival[name].accuracy + 1e-9 for name in scores)
    worse = sum(scores[name].accuracy < rival[name].accuracy - 1e-9 for name in scores)
    ratio = together(scores, list(scores)).seconds / together(rival, list(scores)).seconds
    return f"better on {better} sets, worse on {worse}, {ratio:.2f} times the seconds"


def write_page(page: Path, text: str) -> None:
    """Put tables on the page."""
    replace_between(page, BEGIN, END, text)


def left_out() -> str:
    """Say which sets are not there, "" for none."""
    missing = [f"../shared/data/{name}" for name in ("ida", "libsvm") if not (SHARED / name).exists()]
    missing += missing_packages()
    return f"Left out, for they are not there: {', '.join(missing)}." if missing else ""


Found = dict[str, dict[str, Score]]
"""The scores of each classifier on each data set, by their names."""


def measured(data: Mapping[str, Sequence[Split]], keep: Path | None) -> Found:
    """Measure all classifiers on all sets; what a file holds is not done again, and what is done goes into it."""
    makers: dict[str, Callable[[], Any]] = {
        **{
            str(candidate): (lambda candidate=candidate: make_classifier(**vars(candidate)))
            for candidate in candidates()
        },
        **make_rivals(),
    }
    scores_by_maker: Found = {name: {} for name in makers}
    if keep is not None and keep.exists():
        document = json.loads(keep.read_text(encoding="utf-8"))
        scores_by_maker |= {
            name: {set_name: Score(*score) for set_name, score in scores.items()} for name, scores in document.items()
        }
    for name, splits in data.items():
        for maker, make in makers.items():
            if name not in scores_by_maker[maker]:
                scores_by_maker[maker][name] = score(make, splits)
        print(name, file=sys.stderr, flush=True)
        if keep is not None:
            document = {
                maker: {set_name: astuple(set_score) for set_name, set_score in scores.items()}
                for maker, scores in scores_by_maker.items()
            }
            text = json.dumps(document, indent=1).encode()
            write_atomically(keep, lambda file, text=text: file.write(text))
    return scores_by_maker


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, help="the file of what is measured: the same call goes on with it")
    parser.add_argument("--page", type=Path, help="the page whose tables are written")
    parser.add_argument("--splits", type=int, default=SPLITS, help=f"of each set at most (default: {SPLITS})")
    arguments = parser.parse_args()
    if arguments.page is not None and left_out():
        sys.exit(f"{left_out()} The page needs all of them.")
    # The table also has bad settings, and their warnings are expected.
    warnings.simplefilter("ignore")
    data = sets(arguments.splits)
    scores_by_maker = measured(data, arguments.keep)
    of_candidates = {candidate: scores_by_maker[str(candidate)] for candidate in candidates()}
    choosing, confirming = halves(list(data))
    best, now = choose_candidate(of_candidates, choosing), defaults()
    confirming_best = choose_candidate(of_candidates, confirming)
    print(f"Chosen by {', '.join(choosing)}: {best}; the others alone would choose {confirming_best}.")
    print(f"The defaults are {now}{'' if now == best else ', which is another one'}.\n")
    for rival in (ADABOOST, MAJORITY):
        print(f"Against {rival}: {compare_with(of_candidates[now], scores_by_maker[rival])}.")
    text = tables(of_candidates, {name: scores_by_maker[name] for name in make_rivals()})
    print(text, left_out(), sep="\n\n")
    if arguments.page is not None:
        write_page(arguments.page, text)


if __name__ == "__main__":
    main()
