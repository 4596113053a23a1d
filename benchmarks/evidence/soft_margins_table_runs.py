"""Raetsch, Onoda and Mueller 2001, table 1, by the protocol of that paper.

A set's units come in stages, each made of what the one before has found: cross-validation of single networks, of the
methods on a coarse grid and on a finer one, the test parts, and what each grid would have come to on them.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import ida_printed
from benchmarks.evidence.experiment import SHARED, Parameters, Results, round_digits
from benchmarks.ida_data import PUBLISHED, SEEDED, WHOLE, Part, part_of
from benchmarks.ida_methods import (
    Networks,
    Options,
    Outcome,
    Values,
    collect_networks,
    count,
    left_open,
    of_adaboost,
    of_lp_reg,
    of_qp_reg,
    of_svm,
    oracle_of,
)
from boostopt import boost
from boostopt.boosting.reweighting import REASON_PERFECT_HYPOTHESIS
from boostopt.boosting.run.combined_hypothesis import predicted_classes
from boostopt.oracles import Query
from boostopt.oracles.feature_validation import evaluate

DATA = "data/ida"
SETS = {file: title for file, (title, _) in ida_printed.NAMES.items()}
"""The sets in the order of print, and their names there."""

COLUMNS = {
    "RBF": "RBF",
    "AdaBoost": "AB",
    "AdaBoost_REG": "AB_R",
    "LP_REG": "LP_R-AB",
    "QP_REG": "QP_R-AB",
    "SVM": "SVM",
}
"""The methods, and their columns in print."""

ACCEPTED = "RBF", "AdaBoost", "AdaBoost_REG", "LP_REG", "QP_REG", "SVM"
"""Methods whose figures are held to those of print where ten published splits are at hand."""

PAIRS = (
    ("AdaBoost_REG", "AdaBoost"),
    ("AdaBoost_REG", "RBF"),
    ("AdaBoost_REG", "SVM"),
    ("LP_REG", "AdaBoost"),
    ("QP_REG", "AdaBoost"),
    ("QP_REG", "LP_REG"),
    ("RBF", "AdaBoost"),
    ("SVM", "RBF"),
)
"""Pairs whose means the text of the paper compares."""

LEVEL = 0.95
"""The level of the tests of significance."""

Axes = list[list[float]]
"""Values of each parameter of a method, the most regularized first: among equals the first is chosen."""

HALF_DECADES = tuple(round_digits((10.0 ** (k / 2) for k in range(-10, 9)), 3))
"""The half decades from 1e-5 to 1e4."""

COARSE: Mapping[str, Axes] = {
    "AdaBoost_REG": [list(HALF_DECADES[16:1:-1])],
    "LP_REG": [[0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01]],
    "QP_REG": [list(HALF_DECADES[:13])],
    "SVM": [list(HALF_DECADES[8:]), list(HALF_DECADES[4:13])],
}
"""The first stage: C / N^2, nu / N = 1 / (C N), C, and C with gamma times features times variance."""

QUICK: Mapping[str, Axes] = {
    "AdaBoost_REG": [[100.0, 1.0, 0.01]],
    "LP_REG": [[0.8, 0.4, 0.1]],
    "QP_REG": [[0.001, 0.1]],
    "SVM": [[1.0, 100.0], [0.1, 1.0]],
}

PARAMETERS = {
    "AdaBoost_REG": "AdaBoost_REG: C/N²",
    "LP_REG": "LP_REG: nu/N",
    "QP_REG": "QP_REG: C",
    "SVM": "SVM: C, gamma d var",
}


@dataclass(frozen=True)
class Row:
    """The splits of one kind of one set: a row of the table."""

    name: str
    kind: str
    splits: int


ROWS = (
    *(
        Row(name, PUBLISHED, 10)
        for name in ("banana", "heart", "titanic", "breast_cancer", "german", "ringnorm", "waveform")
    ),
    Row("image", PUBLISHED, 9),
    Row("diabetis", PUBLISHED, 1),
    Row("twonorm", PUBLISHED, 1),
    *(Row(name, SEEDED, 10) for name in ("thyroid", "diabetis", "twonorm", "flare_solar", "splice")),
)
"""The rows in their order of work: small sets with published splits come first."""

TEN = 10
"""Published splits of the sets that are held to print."""


@dataclass(frozen=True)
class Size:
    """The size of the experiment.

    Attributes
    ----------
    rows
        Sets and splits.
    selecting, folds
        Parameters are chosen by so many folds of the training parts of the first so many splits.
    rounds
        Of AdaBoost and AdaBoost_REG.
    K, iterations
        Numbers of centres and of steps of conjugate gradients, O in the paper, to choose from.
    coarse
        The first stage of the grids.
    n_between
        Values of the second stage on each side of the best of the first, up to its neighbour.
    """

    rows: tuple[Row, ...]
    selecting: int
    folds: int
    rounds: int
    K: tuple[int, ...]
    iterations: tuple[int, ...]
    coarse: Mapping[str, Axes]
    n_between: int


FULL = Size(ROWS, 5, 5, 200, (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 30, 40), (1, 2, 4, 7, 10), COARSE, 4)
SMALL = Size((Row("titanic", PUBLISHED, 3), Row("heart", PUBLISHED, 3)), 3, 3, 20, (2, 4, 8), (1, 4), QUICK, 1)


def units(quick: bool, done: Results) -> Iterator[Parameters]:
    size = SMALL if quick else FULL
    for row in size.rows:
        yield from _of_row(row, size, done)


def _of_row(row: Row, size: Size, done: Results) -> Iterator[Parameters]:
    """Yield the units of a row, stage by stage, as far as what they need is finished."""
    of_set = {"name": row.name, "kind": row.kind, "folds": size.folds}
    selecting = range(min(size.selecting, row.splits))
    folds = list(range(size.folds))

    def nets(split: int, parts: list[int]) -> Parameters:
        sizes = {"K": list(size.K), "iterations": list(size.iterations)}
        return {"stage": "nets", **of_set, "split": split, "parts": parts, **sizes}

    first = [nets(split, folds) for split in selecting]
    yield from first
    if not _finished(first, done):
        return
    K, iterations = _choose_nets([done[unit] for unit in first], size)
    of_nets = {**of_set, "rounds": size.rounds, "K": K, "iterations": iterations}

    def grid(split: int, part: int, grids: Mapping[str, Axes]) -> Parameters:
        return {"stage": "grid", **of_nets, "split": split, "parts": [part], "grids": grids}

    coarse = {split: [grid(split, fold, size.coarse) for fold in folds] for split in selecting}
    yield from itertools.chain.from_iterable(coarse.values())
    if not all(_finished(units, done) for units in coarse.values()):
        return
    finer = {
        split: {m: _finer(size.coarse[m], point, size.n_between) for m, point in _best(units, done).items()}
        for split, units in coarse.items()
    }
    fine = {split: [grid(split, fold, grids) for fold in folds] for split, grids in finer.items()}
    yield from itertools.chain.from_iterable(fine.values())
    if not all(_finished(units, done) for units in fine.values()):
        return
    best = [_best(units, done) for units in fine.values()]
    medians = {
        m: [statistics.median_low(axis) for axis in zip(*(point[m] for point in best), strict=True)] for m in best[0]
    }
    splits = range(row.splits)
    yield from ({"stage": "test", **of_nets, "split": split, "chosen": medians} for split in splits)
    if row.kind == PUBLISHED and row.splits > 1:
        yield from (nets(split, [WHOLE]) for split in splits)
        yield from (grid(split, WHOLE, size.coarse) for split in splits)


def _finished(units: Sequence[Parameters], done: Results) -> bool:
    return all(unit in done for unit in units)


def _choose_nets(results: Sequence[Mapping[str, Any]], size: Size) -> tuple[int, int]:
    """Return the median over the splits of the best K, and at that K the median of the best number of steps.

    The two belong together: medians taken apart may be a pair that no split likes.
    """
    error_counts = [np.array(result["wrong"]).reshape(len(size.K), len(size.iterations)) for result in results]
    k = statistics.median_low([int(np.argmin(counts.min(axis=1))) for counts in error_counts])
    return size.K[k], statistics.median_low([size.iterations[int(np.argmin(counts[k]))] for counts in error_counts])


def _best(units: Sequence[Parameters], done: Results) -> dict[str, list[float]]:
    """Return for each method the point of the grid with the fewest errors over the folds of a split."""
    best = dict[str, list[float]]()
    for method, axes in units[0]["grids"].items():
        error_counts = np.sum([done[unit]["wrong"][method] for unit in units], axis=0)
        best[method] = list(_points(axes)[int(np.argmin(error_counts))])
    return best


def _points(axes: Axes) -> list[Values]:
    """Return the points of a grid, the last axis fastest."""
    return list(itertools.product(*axes))


def _finer(axes: Axes, best: Sequence[float], n_between: int) -> Axes:
    """Return values between the best ones and their neighbours, evenly by ratio, the best ones included."""
    finer = Axes()
    for axis, value in zip(axes, best, strict=True):
        index = axis.index(value)
        ends = axis[max(index - 1, 0) : index + 2]
        pairs = [np.geomspace(*pair, n_between + 2) for pair in itertools.pairwise(ends)]
        finer.append(round_digits(np.concatenate([pairs[0], *(pair[1:] for pair in pairs[1:])]), 4))
        # Without the neighbours, which the first stage has seen.
        finer[-1] = [v for v in finer[-1] if v == value or v not in axis]
    return finer


def worked(stage: str, **parameters: Any) -> Mapping[str, Any]:
    """Do a unit of a stage."""
    return STAGES[stage](**parameters)


def _nets(name: str, kind: str, folds: int, split: int, parts: list[int], K: list[int], iterations: list[int]) -> Any:
    """Return how many examples single networks have wrong, summed over the parts."""
    loaded = [_part(name, kind, split, part, folds) for part in parts]
    error_counts = [
        sum(_count_errors(part, _of_net(part, Options(K=k, iterations=steps))) for part in loaded)
        for k in K
        for steps in iterations
    ]
    return {"wrong": error_counts, "examples": sum(len(part.y_test) for part in loaded)}


def _grids(
    name: str,
    kind: str,
    folds: int,
    rounds: int,
    K: int,
    iterations: int,
    split: int,
    parts: list[int],
    grids: Mapping[str, Axes],
) -> Any:
    """Return how many examples each method has wrong at the points of its grid, summed over the parts."""
    options = Options(rounds=rounds, K=K, iterations=iterations)
    error_counts = {method: [0] * len(_points(axes)) for method, axes in grids.items()}
    loaded = [_part(name, kind, split, part, folds) for part in parts]
    for part in loaded:
        networks = collect_networks(part, options)
        for method, axes in grids.items():
            for k, values in enumerate(_points(axes)):
                error_counts[method][k] += _count_errors(part, METHODS[method](part, networks, options, values))
    return {"wrong": error_counts, "examples": sum(len(part.y_test) for part in loaded)}


def _test(
    name: str,
    kind: str,
    folds: int,
    rounds: int,
    K: int,
    iterations: int,
    split: int,
    chosen: Mapping[str, list[float]],
) -> Any:
    """Return test error and gap of each method at the values that were chosen for it.

    AdaBoost and AdaBoost_REG strive for no soft margin: their gap is what their weights leave open of the best soft
    margin of their networks, at the nu that was chosen for LP_REG.
    """
    options = Options(rounds=rounds, K=K, iterations=iterations)
    part = _part(name, kind, split, WHOLE, folds)
    networks, single = collect_networks(part, options), _of_net(part, options)
    result = dict[str, Any]({"RBF": {"error": single.error, "networks": 1}})
    nu = count(chosen["LP_REG"][0], part)
    for method, run in METHODS.items():
        outcome = run(part, networks, options, tuple(chosen.get(method, ())))
        gap = outcome.gap
        if outcome.U is not None and outcome.w is not None:
            gap = left_open(outcome.U, outcome.w, nu)
        used = int(np.count_nonzero(outcome.w)) if outcome.w is not None else None
        result[method] = {"error": outcome.error, "gap": gap, "networks": used}
    return result


def _part(name: str, kind: str, split: int, part: int, folds: int) -> Part:
    return part_of(SHARED / DATA, (name, kind, split, part), folds)


def _count_errors(part: Part, outcome: Outcome) -> int:
    return round(outcome.error * len(part.y_test))


def _of_net(part: Part, options: Options) -> Outcome:
    """Return what the first network of all runs comes to by itself."""
    N = len(part.y)
    column = oracle_of(part, options).best(Query(np.full(N, 1.0 / N))).columns[0]
    values = next(iter(evaluate([column.hypothesis], part.X_test)))
    return Outcome(float(np.mean(predicted_classes(values, "majority", part.majority) != part.y_test)))


def _of_adaboost_reg(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    """Run AdaBoost_REG with p = 2; a network without error ends it, and is left out unless it is the first."""
    run_for = partial(boost, "adaboost_reg", C=values[0] * len(part.y) ** 2, p=2)
    run = run_for(oracle_of(part, options), max_rounds=options.rounds)
    if run.reason.startswith(REASON_PERFECT_HYPOTHESIS) and run.rounds > 1:
        run = run_for(oracle_of(part, options), max_rounds=run.rounds - 1)
    error = float(np.mean(run.predict(part.X_test) != part.y_test))
    return Outcome(error, None, run.record.pool.margins, run.w)


METHODS: Mapping[str, Callable[[Part, Networks, Options, Values], Outcome]] = {
    "AdaBoost": of_adaboost,
    "AdaBoost_REG": _of_adaboost_reg,
    "LP_REG": of_lp_reg,
    "QP_REG": of_qp_reg,
    "SVM": of_svm,
}


STAGES: Mapping[str, Callable[..., Any]] = {"nets": _nets, "grid": _grids, "test": _test}
"""The function of each stage; the parameters of a unit are its arguments by name."""
