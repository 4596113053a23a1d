"""The common parts of the experiments of chapter 5 of the dissertation: sets, splits, hypothesis classes and runs.

Train and test file of the source are put together, drawn at random and cut 60 / 20 / 20, as in table 5.2; the draw of
print is lost. A set that is called "scaled" has its features brought to [-1, 1] over the whole file, as LIBSVM does.
"""

from __future__ import annotations

import lzma
import math
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dissertation_printed import ROWS
from benchmarks.evidence.experiment import SHARED, Parameters, Results
from boostopt import boost
from boostopt.boosting import Run
from boostopt.errors import DataError
from boostopt.oracles import DecisionStumps, KernelColumns, Oracle, RawFeatures

FILES: Mapping[str, tuple[str, ...]] = {
    "a9a": ("data/libsvm/a9a.svm.xz", "data/libsvm/a9a.t.svm.xz"),
    "german": ("data/libsvm/german.numer.svm.xz",),
    "diabetes": ("data/libsvm/diabetes.svm.xz",),
}
"""Files of a set, below the shared folder."""

DATA = tuple(name for names in FILES.values() for name in names)

SCALED = " scaled"
"""The end of the name of a set whose features are brought to [-1, 1]."""

READINGS = ("a9a", "german", "german scaled", "diabetes", "diabetes scaled")
"""The sets in both readings: print does not say whether features were scaled. Those of a9a are 0 or 1."""

SMALL_READINGS = READINGS[1:]
"""The readings of the small sets."""


def needs_scale(name: str, hypotheses: str) -> bool:
    """Return False for a class that is the same on a scaled set: stumps are."""
    return hypotheses != "stumps" or not name.endswith(SCALED)


CLASSES: Mapping[str, type[DecisionStumps] | type[RawFeatures] | type[KernelColumns]] = {
    "stumps": DecisionStumps,
    "raw": RawFeatures,
    "SVM": KernelColumns,
}
"""The oracles return the hypothesis of largest edge; all classes are closed under negation."""

ALGORITHMS: Mapping[str, str] = {
    "erlp": "erlpboost",
    "bin": "binary_erlpboost",
    "corr": "corrective_erlpboost",
    "corr bin": "corrective_binary_erlpboost",
}
"""Formulations by the names in print."""

RELATIVES = (("erlp", "corr"), ("bin", "corr bin"))
"""Totally corrective algorithms, each with its corrective relative."""

TOTAL = tuple(total for total, _ in RELATIVES)

CORRECTIVE = tuple(corrective for _, corrective in RELATIVES)

STABLE = 0.07
"""The largest change of the test error in a round that print calls stable."""

WORDS = {
    "erlp": "ERLPBoost",
    "bin": "Binary ERLPBoost",
    "corr": "Corrective ERLPBoost",
    "corr bin": "Corrective Binary ERLPBoost",
}

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""nu / N of table 5.3; 0 is nu = 1, as in tables 5.10 to 5.12."""

PRINTED_ROUNDS: Mapping[bool, int] = {False: 1000, True: 20_000}
"""Rounds of table 5.3: totally corrective, and corrective."""

ADABOOST_ROUNDS: Mapping[bool, int] = {False: 2000, True: 200}
"""Rounds of AdaBoost in the search, on large sets where True; print has 20,000."""

ENDS = ("practical", "optimum", "direct", "certified")
"""The stop reasons of runs that end by a rule."""

OWN = ("astro-ph", "news20", "real-sim")
"""Sets that are read from files of the user's."""

LARGE = (*OWN, "a9a")
"""Sets with a draw and fewer rounds, whose features stay sparse."""

FOLDER = "BOOSTOPT_EVIDENCE_SETS"
"""The variable of the folder with the user's files; the command's `--sets` sets it."""


def files_of(name: str) -> list[Path]:
    """Return the user's files of a set: those that begin with its name, in order; none without a folder."""
    folder = os.environ.get(FOLDER)
    return sorted(Path(folder).glob(f"{name}*")) if folder and name in OWN else []


def at_hand(names: Sequence[str]) -> list[str]:
    """Return the names of sets with those of which the user has files."""
    return [*names, *(name for name in OWN if files_of(name))]


def left_out(results: Results) -> str:
    """Say which sets of print have no units."""
    names = [name for name in OWN if not results.select(data=name)]
    return f"The files of {', '.join(names)} were not at hand: the pictures and tables leave them out." if names else ""


@dataclass(frozen=True, eq=False)
class Split:
    """A draw of a set: features and labels for training, validation and test."""

    train: tuple[Any, Any]
    valid: tuple[Any, Any]
    test: tuple[Any, Any]

    @property
    def N(self) -> int:
        """Number of examples for training."""
        return len(self.train[1])

    def oracle(self, hypotheses: str) -> Oracle:
        """Return the oracle of a class over the training part."""
        return CLASSES[hypotheses](*self.train)


@cache
def examples(name: str) -> tuple[Any, Any]:
    """Return features and labels of all files of a set; those of a9a stay sparse."""
    import scipy.sparse
    from sklearn.datasets import load_svmlight_files

    with ExitStack() as opened:
        files = FILES.get(name.removesuffix(SCALED), ())
        parts = [opened.enter_context(lzma.open(SHARED / file)) for file in files] or list(map(str, files_of(name)))
        loaded = load_svmlight_files(parts)
    features: Any = scipy.sparse.vstack(loaded[::2], format="csr")
    if name not in LARGE:
        features = features.toarray()
    if name.endswith(SCALED):
        low, high = features.min(axis=0), features.max(axis=0)
        features = 2.0 * (features - low) / (high - low) - 1.0
    return features, np.concatenate(loaded[1::2])


def split(name: str, seed: int) -> Split:
    """Draw a set."""
    X, y = examples(name)
    train, valid, test = ROWS[name.removesuffix(SCALED)]
    if len(y) != train + valid + test:
        files = ", ".join(map(str, files_of(name)))
        raise DataError(
            f"expected {train + valid + test:,} examples of {name}, as in table 5.2; got {len(y):,}: {files}."
        )
    rows = np.random.default_rng(seed).permutation(len(y))
    cut = rows[:train], rows[train : train + valid], rows[train + valid :]
    return Split(*((X[part], y[part]) for part in cut))


def theory(algorithm: str, share: float, N: int, epsilon: float) -> float:
    """Return the eta of theory: (2 / epsilon) ln(N / nu), and with 1 added to the logarithm for the binary ones."""
    return 2.0 / epsilon * (math.log(N / count(share, N)) + ("bin" in algorithm))


def count(share: float, N: int) -> float:
    """Return nu as a number of examples; a share of 0 is nu = 1."""
    return max(1.0, share * N)


@dataclass(frozen=True, eq=False)
class Fit:
    """A run and the seconds of the processor that it took."""

    run: Run
    seconds: float

    def errors(self, data_split: Split) -> list[float]:
        """Return the shares of the validation and the test part that are wrong; where f = 0 the majority decides."""
        return [float(np.mean(self.run.predict(X) != y)) for X, y in (data_split.valid, data_split.test)]

    @property
    def ended_by_rule(self) -> bool:
        """Return True if a rule ended the run, and neither a limit nor stalled steps did."""
        return self.run.reason.partition(":")[0] in ENDS

    @property
    def facts(self) -> dict[str, Any]:
        """Seconds, rounds, hypotheses, the gap over the class, delta of the practical rule, whether a rule held."""
        gap, delta = self.run.class_certificate.gap, float(self.run.trace[-1].delta)
        return {
            "seconds": round(self.seconds, 3),
            "rounds": self.run.rounds,
            "hypotheses": len(self.run.hypotheses),
            "gap": float(f"{gap:.3g}"),
            "delta": float(f"{delta:.3g}") if math.isfinite(delta) else None,
            "held": self.ended_by_rule,
        }


def fit(algorithm: str, oracle: Oracle, share: float, eta: float, epsilon: float, rounds: int, **options: Any) -> Fit:
    """Run an algorithm of print: a program or a fixed step a round, until the practical rule of print holds."""
    how: dict[str, Any] = {"update": "step" if algorithm in CORRECTIVE else "total", "rules": ["practical"]}
    how |= {"nu": count(share, oracle.N), "eta": eta, "epsilon": epsilon, "max_rounds": rounds, "history": False}
    began = time.process_time()
    run = boost(ALGORITHMS[algorithm], oracle, **{**how, **options})
    return Fit(run, time.process_time() - began)


def lpboost(oracle: Oracle, share: float, epsilon: float, history: bool = False, backend: str = "auto") -> Fit:
    """Run LPBoost, algorithm 2.1, with a solver of linear programs."""
    began, nu = time.process_time(), count(share, oracle.N)
    how: dict[str, Any] = {"update": "total", "rules": ["optimum"], "max_rounds": 1000, "history": history}
    run = boost("lpboost", oracle, nu=nu, epsilon=epsilon, backend=backend, **how)
    return Fit(run, time.process_time() - began)


def percent(values: list[float]) -> str:
    """Return shares as percent: the mean, and the range where there are several."""
    mean = f"{100 * np.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.1f} to {100 * max(values):.1f})"


def present(results: Results, name: str, order: tuple[str, ...]) -> list[str]:
    """Return which values of a parameter there are, in an order."""
    values = {parameters[name] for parameters, _ in results}
    return [value for value in order if value in values]


PROTOCOL = (
    "These rules hold for all of this page. The rows of all files of a set are put together, drawn at random and cut "
    "60 / 20 / 20, as in table 5.2. The draw of the dissertation is lost. german and diabetes are LIBSVM's files "
    "without scaling, except where they are called scaled. Classes are stumps, the features themselves (raw), and the "
    "data matrix times one of its rows (SVM), each closed under negation. The oracle returns the hypothesis with the "
    "largest edge. The dissertation does not say how columns come into [-1, 1]. Here all SVM columns, and features "
    "outside [-1, 1], are divided by their largest absolute value on the training part. If f(x) = 0, the prediction is "
    "the class of more training examples, unless the text says otherwise."
)
"""The common protocol of all experiments of the page."""


def seeds(results: Results) -> str:
    """Return how many splits of which sets there are, in words."""
    seeds_by_name = {
        name: {p["seed"] for p, _ in results.select(data=name)} for name in present(results, "data", tuple(ROWS))
    }
    return ", ".join(f"{name} {len(seed_set)}" for name, seed_set in seeds_by_name.items())


def points_of(results: Results, parameters: Parameters) -> list[dict[str, Any]]:
    """Return the points of a unit over eta; those that were cut off are replaced by their continuations, if any.

    A continuation without certificates has rounds and errors, and no seconds of `boost`. Its seconds are those of the
    rounds before it, in proportion.
    """
    points = list[dict[str, Any]]()
    selection = {name: parameters[name] for name in ("data", "seed", "hypotheses")}
    for point in results[parameters]["points"]:
        units = results.select(continuation=parameters["algorithm"], eta=point["eta"], **selection)
        for _, continuation in units:
            seconds = point["seconds"] * continuation["rounds"] / point["rounds"]
            point = {**point, "seconds": seconds, **continuation}
        points.append(point)
    return points


def points_by_eta(
    results: Results, name: str, hypotheses: str, algorithm: str, **selection: Any
) -> list[list[dict[str, Any]]]:
    """Return the points of an algorithm over eta, at each eta those of all splits, or of the one that is wanted."""
    units = results.select(data=name, hypotheses=hypotheses, algorithm=algorithm, **selection)
    return [list(at_one) for at_one in zip(*(points_of(results, parameters) for parameters, _ in units), strict=True)]


def curves(results: Results, name: str, hypotheses: str, algorithm: str, measure: str) -> dict[float, list[float]]:
    """Return values of the search over all splits by nu / N, at epsilon = 0.001."""
    units = dict[float, list[float]]()
    for _, result in results.select(data=name, hypotheses=hypotheses, algorithm=algorithm):
        for point in result["points"]:
            if point["epsilon"] == 0.001:
                units.setdefault(point["share"], []).append(point[measure])
    return units


def best_point(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the point of the smallest error on the validation part, the first of equal ones."""
    return min(points, key=lambda point: point["valid"])


def sooner(one: Mapping[str, Any], rival: Mapping[str, Any], measure: str = "seconds") -> bool | None:
    """Return whether a run takes less than another to its end; None where that is not known.

    A run without an end by a rule takes what it took at least. `as_in_print` counts the rounds of print as an end.
    """
    if one["held"] and one[measure] < rival[measure]:
        return True
    return False if rival["held"] and rival[measure] <= one[measure] else None


def as_in_print(point: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """Return a point of a curve that counts as ended if it has all rounds that print allows."""
    return {**point, "held": point["held"] or point["rounds"] >= PRINTED_ROUNDS[algorithm in CORRECTIVE]}


def has_ended(point: Mapping[str, Any], algorithm: str, name: str) -> bool:
    """Return whether a run of the search on a set ended as in print, and no limit below that of print cut it off.

    AdaBoost has no rule: it ends before its limit where no hypothesis is better than chance, or one has no error.
    """
    if algorithm == "SVM":
        return True
    if algorithm == "ada":
        return bool(point["rounds"] < ADABOOST_ROUNDS[name in LARGE])
    return bool(as_in_print(point, algorithm)["held"])


def is_in_range(figure: float, ours: Sequence[float]) -> bool:
    """Return whether a printed figure, of two digits, is in the range of ours."""
    return min(ours) - 0.005 <= figure <= max(ours) + 0.005
