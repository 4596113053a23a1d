"""Ratsch, Onoda and Muller 2001, table 1, by the protocol of that paper.

A set's units come in stages, each made of what the one before has found: cross-validation of single networks, of the
methods on a coarse grid and on a finer one, the test parts, and what each grid would have come to on them.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import SHARED, Experiment, Parameters, Results, printed, rounded
from benchmarks.evidence.pages import picture, table
from benchmarks.ida_data import PUBLISHED, SEEDED, WHOLE, Part, part_of
from benchmarks.ida_methods import (
    Networks,
    Options,
    Outcome,
    Values,
    collected,
    count,
    left_open,
    of_adaboost,
    of_lp_reg,
    of_qp_reg,
    of_svm,
    oracle_of,
)
from boostopt.boosting.boosters import adaboost_reg
from boostopt.boosting.classifier import decided
from boostopt.boosting.reweighting import ALONE
from boostopt.oracles import Query
from boostopt.oracles.features import evaluate

DATA = "data/ida"
SETS = {
    "banana": "Banana",
    "breast_cancer": "B. Cancer",
    "diabetis": "Diabetes",
    "german": "German",
    "heart": "Heart",
    "image": "Image",
    "ringnorm": "Ringnorm",
    "flare_solar": "F. Solar",
    "splice": "Splice",
    "thyroid": "Thyroid",
    "titanic": "Titanic",
    "twonorm": "Twonorm",
    "waveform": "Waveform",
}
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

ACCEPTED = "RBF", "AdaBoost", "AdaBoost_REG", "LP_REG", "SVM"
"""Methods whose figures are held to those of print where ten published splits are at hand."""

PARTITIONS = 100
"""Partitions that the means of print are over."""

PAIRS = (
    ("AdaBoost_REG", "AdaBoost"),
    ("AdaBoost_REG", "RBF"),
    ("AdaBoost_REG", "SVM"),
    ("LP_REG", "AdaBoost"),
    ("QP_REG", "AdaBoost"),
    ("RBF", "AdaBoost"),
)
"""Pairs whose means the text of the paper compares."""

LEVEL = 0.95
"""Of the tests of significance."""

Axes = list[list[float]]
"""Values of each parameter of a method, the most regularized first: among equals the first is chosen."""

HALF_DECADES = tuple(rounded((10.0 ** (k / 2) for k in range(-10, 9)), 3))
"""From 1e-5 to 1e4."""

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
"""In the order in which they are begun: small sets with published splits first."""

TEN = 10
"""Published splits of the sets that are held to print."""


@dataclass(frozen=True)
class Size:
    """How much is done.

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
    between
        Values of the second stage on each side of the best of the first, up to its neighbour.
    """

    rows: tuple[Row, ...]
    selecting: int
    folds: int
    rounds: int
    K: tuple[int, ...]
    iterations: tuple[int, ...]
    coarse: Mapping[str, Axes]
    between: int


FULL = Size(ROWS, 5, 5, 200, (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 30, 40), (1, 2, 4, 7, 10), COARSE, 4)
SMALL = Size((Row("titanic", PUBLISHED, 3), Row("heart", PUBLISHED, 3)), 3, 3, 20, (2, 4, 8), (1, 4), QUICK, 1)


def _units(quick: bool, done: Results) -> Iterator[Parameters]:
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
    K, iterations = _chosen_nets([done[unit] for unit in first], size)
    of_nets = {**of_set, "rounds": size.rounds, "K": K, "iterations": iterations}

    def grid(split: int, part: int, grids: Mapping[str, Axes]) -> Parameters:
        return {"stage": "grid", **of_nets, "split": split, "parts": [part], "grids": grids}

    coarse = {split: [grid(split, fold, size.coarse) for fold in folds] for split in selecting}
    yield from itertools.chain.from_iterable(coarse.values())
    if not all(_finished(units, done) for units in coarse.values()):
        return
    finer = {
        split: {m: _finer(size.coarse[m], at, size.between) for m, at in _best(units, done).items()}
        for split, units in coarse.items()
    }
    fine = {split: [grid(split, fold, grids) for fold in folds] for split, grids in finer.items()}
    yield from itertools.chain.from_iterable(fine.values())
    if not all(_finished(units, done) for units in fine.values()):
        return
    best = [_best(units, done) for units in fine.values()]
    chosen = {m: [statistics.median_low(axis) for axis in zip(*(at[m] for at in best), strict=True)] for m in best[0]}
    splits = range(row.splits)
    yield from ({"stage": "test", **of_nets, "split": split, "chosen": chosen} for split in splits)
    if row.kind == PUBLISHED and row.splits > 1:
        yield from (nets(split, [WHOLE]) for split in splits)
        yield from (grid(split, WHOLE, size.coarse) for split in splits)


def _finished(units: Sequence[Parameters], done: Results) -> bool:
    return all(unit in done for unit in units)


def _chosen_nets(found: Sequence[Mapping[str, Any]], size: Size) -> tuple[int, int]:
    """Return the median over the splits of the best K, and at that K the median of the best number of steps.

    The two belong together: medians taken apart may be a pair that no split likes.
    """
    wrong = [np.array(result["wrong"]).reshape(len(size.K), len(size.iterations)) for result in found]
    k = statistics.median_low([int(np.argmin(counts.min(axis=1))) for counts in wrong])
    return size.K[k], statistics.median_low([size.iterations[int(np.argmin(counts[k]))] for counts in wrong])


def _best(units: Sequence[Parameters], done: Results) -> dict[str, list[float]]:
    """Return for each method the point of the grid with the fewest errors over the folds of a split."""
    best = dict[str, list[float]]()
    for method, axes in units[0]["grids"].items():
        wrong = np.sum([done[unit]["wrong"][method] for unit in units], axis=0)
        best[method] = list(_points(axes)[int(np.argmin(wrong))])
    return best


def _points(axes: Axes) -> list[Values]:
    """Return the points of a grid, the last axis fastest."""
    return list(itertools.product(*axes))


def _finer(axes: Axes, best: Sequence[float], between: int) -> Axes:
    """Return values between the best ones and their neighbours, evenly by ratio, the best ones included."""
    finer = Axes()
    for axis, value in zip(axes, best, strict=True):
        at = axis.index(value)
        ends = axis[max(at - 1, 0) : at + 2]
        pairs = [np.geomspace(*pair, between + 2) for pair in itertools.pairwise(ends)]
        finer.append(rounded(np.concatenate([pairs[0], *(pair[1:] for pair in pairs[1:])]), 4))
        # Without the neighbours, which the first stage has seen.
        finer[-1] = [v for v in finer[-1] if v == value or v not in axis]
    return finer


def _worked(stage: str, **parameters: Any) -> Mapping[str, Any]:
    """Do a unit of a stage."""
    return {"nets": _nets, "grid": _grids, "test": _tested}[stage](**parameters)


def _nets(name: str, kind: str, folds: int, split: int, parts: list[int], K: list[int], iterations: list[int]) -> Any:
    """Return how many examples single networks have wrong, summed over the parts."""
    loaded = [_part(name, kind, split, part, folds) for part in parts]
    wrong = [
        sum(_wrong(part, _of_net(part, Options(K=k, iterations=steps))) for part in loaded)
        for k in K
        for steps in iterations
    ]
    return {"wrong": wrong, "examples": sum(len(part.y_test) for part in loaded)}


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
    wrong = {method: [0] * len(_points(axes)) for method, axes in grids.items()}
    loaded = [_part(name, kind, split, part, folds) for part in parts]
    for part in loaded:
        networks = collected(part, options)
        for method, axes in grids.items():
            for at, values in enumerate(_points(axes)):
                wrong[method][at] += _wrong(part, METHODS[method](part, networks, options, values))
    return {"wrong": wrong, "examples": sum(len(part.y_test) for part in loaded)}


def _tested(
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
    networks, single = collected(part, options), _of_net(part, options)
    found = dict[str, Any]({"RBF": {"error": single.error, "networks": 1}})
    nu = count(chosen["LP_REG"][0], part)
    for method, run in METHODS.items():
        outcome = run(part, networks, options, tuple(chosen.get(method, ())))
        gap = outcome.gap
        if outcome.U is not None and outcome.w is not None:
            gap = left_open(outcome.U, outcome.w, nu)
        used = int(np.count_nonzero(outcome.w)) if outcome.w is not None else None
        found[method] = {"error": outcome.error, "gap": gap, "networks": used}
    return found


def _part(name: str, kind: str, split: int, part: int, folds: int) -> Part:
    return part_of(SHARED / DATA, (name, kind, split, part), folds)


def _wrong(part: Part, outcome: Outcome) -> int:
    return round(outcome.error * len(part.y_test))


def _of_net(part: Part, options: Options) -> Outcome:
    """Return what the first network of all runs comes to by itself."""
    N = len(part.y)
    column = oracle_of(part, options).best(Query(np.full(N, 1.0 / N))).columns[0]
    values = next(iter(evaluate([column.hypothesis], part.X_test)))
    return Outcome(float(np.mean(decided(values, "majority", part.majority) != part.y_test)))


def _of_adaboost_reg(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    """Run AdaBoost_REG with p = 2; a network without error ends it, and is left out unless it is the first."""
    run_for = partial(adaboost_reg, C=values[0] * len(part.y) ** 2, p=2)
    run = run_for(oracle_of(part, options), max_rounds=options.rounds)
    if run.reason.startswith(ALONE) and run.rounds > 1:
        run = run_for(oracle_of(part, options), max_rounds=run.rounds - 1)
    error = float(np.mean(run.predict(part.X_test) != part.y_test))
    return Outcome(error, None, run.record.collected.margins, run.w)


METHODS: Mapping[str, Callable[[Part, Networks, Options, Values], Outcome]] = {
    "AdaBoost": of_adaboost,
    "AdaBoost_REG": _of_adaboost_reg,
    "LP_REG": of_lp_reg,
    "QP_REG": of_qp_reg,
    "SVM": of_svm,
}


@dataclass(frozen=True, eq=False)
class Finished:
    """The splits of a row that are finished.

    Attributes
    ----------
    row
        Which, with so many splits as are finished.
    parameters
        What was chosen.
    tests
        Of each split its results by the method.
    """

    row: Row
    parameters: Parameters
    tests: Sequence[Mapping[str, Any]]

    @property
    def title(self) -> str:
        return f"{SETS[self.row.name]}, {self.row.splits} {self.row.kind}"

    def errors(self, method: str) -> list[float]:
        """Return test errors in percent, split by split."""
        return [100.0 * test[method]["error"] for test in self.tests]

    def mean(self, method: str) -> float:
        return statistics.fmean(self.errors(method))

    def deviation(self, method: str) -> float:
        return statistics.stdev(self.errors(method))

    @property
    def print(self) -> Mapping[str, Any]:
        """The printed row."""
        return next(row for row in printed("R_table1")["rows"] if row["set"] == SETS[self.row.name])

    def difference(self, method: str) -> float:
        """Return our mean less that of print."""
        return self.mean(method) - self.print[COLUMNS[method]][0]

    def allowed(self, method: str) -> float:
        """Return two standard errors of the difference."""
        theirs = self.print[COLUMNS[method]][1]
        return 2.0 * math.sqrt(self.deviation(method) ** 2 / len(self.tests) + theirs**2 / PARTITIONS)


def _finished_rows(results: Results) -> list[Finished]:
    """Return the rows of which splits are finished, in the order of print."""
    rows = list[Finished]()
    for name, kind in itertools.product(SETS, (PUBLISHED, SEEDED)):
        found = sorted(results.where(stage="test", name=name, kind=kind), key=lambda unit: unit[0]["split"])
        if found:
            rows.append(Finished(Row(name, kind, len(found)), found[0][0], [result for _, result in found]))
    return rows


def _written(results: Results, folder: Path) -> str:
    rows = _finished_rows(results)
    if not rows:
        return "No split is tested yet."
    held = [row for row in rows if row.row.kind == PUBLISHED and row.row.splits > 1]
    held = [row for row in held if Row(row.row.name, PUBLISHED, TEN) in ROWS]
    parts = [
        _protocol(rows),
        "### Test error\n\nIn percent, mean ± standard deviation over the splits, print below in italics. S1: "
        "AdaBoost_REG is significantly better (+) or worse (-) than AdaBoost; S2: than the SVM.\n\n" + _errors(rows),
        _significance(rows),
        "### Held to print\n\n" + (_accepted(held, results, folder) if held else "No such set is finished."),
        *(
            ["### Who is below whom\n\n" + _compared(rows), "### Mean % and Winner %\n\n" + _summary(rows)]
            if _one_a_set(rows)
            else []
        ),
        "### What was chosen\n\n" + _choices(rows, results),
        "### Certified gaps\n\n" + _gaps(rows),
    ]
    return "\n\n".join(parts)


def _protocol(rows: Sequence[Finished]) -> str:
    p = rows[0].parameters
    return (
        f"The protocol is that of the paper: K centres and O steps of conjugate gradients are chosen for each set by "
        f"{p['folds']}-fold cross-validation of the single network on the training parts of the first splits, five of "
        f"them where there are so many, as is C on a coarse grid and then on a finer one around the best; the median "
        f"is used on all splits. AdaBoost and AdaBoost_REG (p = 2, C in multiples of N²) run {p['rounds']} rounds; a "
        f"network without error ends them and is left out, unless it is the first. LP_REG and QP_REG weight AdaBoost's "
        f"networks anew. No test part takes part in a choice. Print leaves open how a pair has a median: here O "
        f"is the median at the median K, and C and gamma of the SVM are medians apart. Among equally good values the "
        f"most regularized is taken, and where f(x) = 0 the class of more training examples.\n\n"
        f"Print is over {PARTITIONS} published splits. At hand are ten of seven sets, nine of image, one of twonorm, "
        f"and one of diabetes whose number is not known. *Seeded* splits are random partitions of the published sizes: "
        f"their rows are no results on the published ones."
    )


def _errors(rows: Sequence[Finished]) -> str:
    lines = list[list[str]]()
    for row in rows:
        marks = [_mark(row, "AdaBoost"), _mark(row, "SVM")]
        lines.append([row.title, *(_spread(row.errors(m)) for m in COLUMNS), *marks])
        if row is [other for other in rows if other.row.name == row.row.name][-1]:
            cells = [f"*{row.print[c][0]:.1f} ± {row.print[c][1]:.1f}*" for c in COLUMNS.values()]
            lines.append(["*print*", *cells, row.print["S1"], row.print["S2"]])
    return table(["set, splits", *COLUMNS, "S1", "S2"], lines)


def _spread(values: Sequence[float]) -> str:
    mean = f"{statistics.fmean(values):.1f}"
    return f"{mean} ± {statistics.stdev(values):.1f}" if len(values) > 1 else mean


def _mark(row: Finished, other: str) -> str:
    """Return + or - where AdaBoost_REG is significantly better or worse by a paired t-test."""
    from scipy.stats import t

    better = np.subtract(row.errors(other), row.errors("AdaBoost_REG"))
    n = len(better)
    if n < 2:
        return ""
    reached = abs(better.mean()) > t.ppf(0.5 + LEVEL / 2, n - 1) * better.std(ddof=1) / math.sqrt(n)
    return ("+" if better.mean() > 0.0 else "-") if reached else ""


def _unpaired(row: Mapping[str, Any], other: str) -> str:
    """Return the mark of an unpaired t-test of two printed cells."""
    from scipy.stats import t

    (mean, deviation), (reg, reg_deviation) = row[other], row["AB_R"]
    error = math.hypot(deviation, reg_deviation) / math.sqrt(PARTITIONS)
    reached = abs(mean - reg) > t.ppf(0.5 + LEVEL / 2, 2 * PARTITIONS - 2) * error
    return ("+" if mean > reg else "-") if reached else ""


def _significance(rows: Sequence[Finished]) -> str:
    """Say how our marks and those of print agree, and which marks of print do not follow from its own cells."""
    pairs = list[tuple[str, str]]()
    for row in _one_a_set(rows):
        pairs += [(_mark(row, "AdaBoost"), row.print["S1"]), (_mark(row, "SVM"), row.print["S2"])]
    equal = sum(ours == theirs for ours, theirs in pairs)
    against = sum({ours, theirs} == {"+", "-"} for ours, theirs in pairs)
    marks = [(row, name, other) for row in _printed_sets() for name, other in (("S1", "AB"), ("S2", "SVM"))]
    doubtful = [f"{row['set']} {name}" for row, name, other in marks if _unpaired(row, other) != row[name]]
    return (
        f"Our marks are those of paired t-tests at {LEVEL:.0%}. Of {len(pairs)} marks of sets with several splits, one "
        f"row a set, {equal} are as printed and {against} have the other sign; with fewer splits fewer differences are "
        f"significant. An unpaired test of the printed means and deviations over {PARTITIONS} splits gives "
        f"{len(marks) - len(doubtful)} of the {len(marks)} printed marks, and others at {', '.join(doubtful)}."
    )


def _compared(rows: Sequence[Finished]) -> str:
    """Count the sets on which one mean is below another, here and in print."""
    chosen = _one_a_set(rows)
    lines = list[list[str]]()
    for method, other in PAIRS:
        ours = sum(row.mean(method) < row.mean(other) for row in chosen)
        same, every = (
            sum(row[COLUMNS[method]][0] < row[COLUMNS[other]][0] for row in cells)
            for cells in ([row.print for row in chosen], _printed_sets())
        )
        lines.append([f"{method} below {other}", f"{ours} of {len(chosen)}", f"{same}", f"{every} of {len(SETS)}"])
    return (
        "Sets on which the mean of one method is below that of another, one row a set, with several splits. The "
        "text of the paper counts ten where AdaBoost_REG is better than the single network; its table, below.\n\n"
        + table(["", "here", "print, the same sets", "print"], lines)
    )


def _printed_sets() -> list[dict[str, Any]]:
    """Return the printed rows of sets."""
    return [row for row in printed("R_table1")["rows"] if row["set"] in SETS.values()]


def _one_a_set(rows: Sequence[Finished]) -> list[Finished]:
    """Return for each set the row of most splits, where it has several."""
    most = {row.row.name: row for row in sorted(rows, key=lambda row: row.row.splits)}
    return [row for row in most.values() if row.row.splits > 1]


def _accepted(rows: Sequence[Finished], results: Results, folder: Path) -> str:
    """Say which means are within two standard errors of print, and of the others what is known."""
    cells = [(row, method) for row in rows for method in ACCEPTED]
    missed = [(row, m) for row, m in cells if abs(row.difference(m)) > row.allowed(m)]
    lines = list[list[str]]()
    for row in rows:
        shown = [f"{row.difference(m):+.2f} of {row.allowed(m):.2f}" for m in ACCEPTED]
        lines.append(
            [row.title, *(f"**{s}**" if (row, m) in missed else s for m, s in zip(ACCEPTED, shown, strict=True))]
        )
    reasons = "\n".join(f"- {_reason(row, m, results)}" for row, m in missed)
    return (
        f"Our mean less that of print, and what two standard errors allow, "
        f"$2\\sqrt{{s^2 / n + s_\\text{{print}}^2 / {PARTITIONS}}}$ for n splits: {len(cells) - len(missed)} of "
        f"{len(cells)} are within, where about {0.05 * len(cells):.1f} would be without by chance. Bold is what "
        f"misses.\n\n" + table(["set, splits", *ACCEPTED], lines) + f"\n\n{reasons}\n\n" + _drawn(rows, folder)
    )


def _reason(row: Finished, method: str, results: Results) -> str:
    """Say of a mean that misses print in which direction, and what the choice of parameters has to do with it."""
    there = (
        f"**{SETS[row.row.name]}, {method}**: {row.mean(method):.2f} here, {row.print[COLUMNS[method]][0]} in print."
    )
    others = statistics.fmean(row.difference(m) for m in COLUMNS if m != method)
    said = f"{there} The other methods are off by {others:+.2f} on these splits."
    hindsight = _hindsight(row, method, results)
    if hindsight is None:
        return said
    least, off = hindsight, hindsight - row.print[COLUMNS[method]][0]
    if row.difference(method) < 0.0:
        verdict = "ours is the smaller error"
    elif off > row.allowed(method):
        verdict = "no value comes near print: it is not the choice of the values"
    else:
        verdict = "a value is there that agrees with print: cross-validation does not choose it"
    return f"{said} The best values in hindsight, on the test parts, come to {least:.2f}; {verdict}."


def _hindsight(row: Finished, method: str, results: Results) -> float | None:
    """Return the least mean test error of a grid, in percent; None where a split is missing or there is no grid."""
    same = {name: row.parameters[name] for name in ("name", "kind")}
    if method == "RBF":
        found = [result["wrong"] for result in _whole(results.where(stage="nets", **same))]
        examples = [result["examples"] for result in _whole(results.where(stage="nets", **same))]
    else:
        grids = _whole(results.where(stage="grid", **same))
        found = [result["wrong"][method] for result in grids if method in result["wrong"]]
        examples = [result["examples"] for result in grids]
    if len(found) < len(row.tests):
        return None
    return 100.0 * float(np.mean(np.array(found) / np.array(examples)[:, None], axis=0).min())


def _whole(units: Sequence[tuple[Parameters, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the results on the test parts."""
    return [result for parameters, result in units if parameters["parts"] == [WHOLE]]


def _drawn(rows: Sequence[Finished], folder: Path) -> str:
    """Draw the differences as shares of what is allowed."""
    import matplotlib.pyplot as plt

    size = (10, 1.0 + 0.35 * len(rows))
    figure, panels = plt.subplots(1, len(ACCEPTED), figsize=size, sharex=True, sharey=True, layout="constrained")
    at = np.arange(len(rows))[::-1]
    for axes, method in zip(panels, ACCEPTED, strict=True):
        shares = np.array([row.difference(method) / row.allowed(method) for row in rows])
        axes.axvspan(-1.0, 1.0, color="0.9", lw=0)
        axes.axvline(0.0, color="0.5", lw=0.8)
        axes.scatter(shares, at, c=np.where(np.abs(shares) > 1.0, "C3", "C0"), s=22, zorder=2)
        axes.set(title=method, yticks=at, yticklabels=[SETS[row.row.name] for row in rows])
    panels[0].set_ylim(-0.6, len(rows) - 0.4)
    figure.supxlabel("mean test error here less that of print, over two standard errors", fontsize=10)
    shown = picture(folder, "R_table_1", figure, "Mean test errors less those of print, over two standard errors")
    return f"{shown}\n\nWithin the grey band a mean agrees with print; red is what misses."


def _summary(rows: Sequence[Finished]) -> str:
    """Return the last two lines of the table, over the published splits and over one row of each set."""
    chosen = _one_a_set(rows)
    published = [row for row in chosen if row.row.kind == PUBLISHED]
    lines, said = list[list[str]](), list[str]()
    for words, group in (("published splits", published), ("one row a set", chosen)):
        if not group:
            continue
        sets = f"{words}, {len(group)} sets"
        shares = _shares([[row.mean(m) for m in COLUMNS] for row in group])
        theirs = _shares([[row.print[c][0] for c in COLUMNS.values()] for row in group])
        won = [_won(row) for row in group]
        lines += [
            [f"Mean %, {sets}", *map(_spread, shares)],
            ["*the same sets, from the cells of print*", *(f"*{_spread(share)}*" for share in theirs)],
            [f"Winner %, {sets}", *map(_spread, zip(*won, strict=True))],
        ]
        said.append(
            f"Over {sets}, the least Mean % has {_extreme(shares, min)} (from the cells of print "
            f"{_extreme(theirs, min)}), the largest Winner % {_extreme(list(zip(*won, strict=True)), max)}."
        )
    for name in ("Mean%", "Winner%"):
        row = next(row for row in printed("R_table1")["rows"] if row["set"] == name)
        cells = [f"*{row[c][0]:.1f} ± {row[c][1]:.1f}*" for c in COLUMNS.values()]
        lines.append([f"*{name[:-1]} %, print, {len(SETS)} sets*", *cells])
        end = min if name == "Mean%" else max
        at = end(COLUMNS, key=lambda m: row[COLUMNS[m]][0])
        said.append(f"In print, over {len(SETS)} sets, the {end.__name__}imum of {name[:-1]} % has {at}.")
    return (
        "Mean %: the error over the least of the set, less 1, mean ± standard deviation over the sets. Winner %: the "
        "share of splits that a method wins, ties shared. " + " ".join(said) + "\n\n" + table(["", *COLUMNS], lines)
    )


def _extreme(of_methods: Sequence[Sequence[float]], end: Callable[..., Any]) -> str:
    """Return the method with the least or the largest mean."""
    return end(zip(map(statistics.fmean, of_methods), COLUMNS, strict=True))[1]


def _shares(means: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return for each method the percents by which it exceeds the best of each set; sets without any error left out."""
    kept = [row for row in means if min(row) > 0.0]
    return [[100.0 * (row[k] / min(row) - 1.0) for row in kept] for k in range(len(COLUMNS))]


def _won(row: Finished) -> list[float]:
    """Return for each method the percent of the splits that it wins."""
    errors = np.array([row.errors(m) for m in COLUMNS])
    wins = np.isclose(errors, errors.min(axis=0), rtol=0.0, atol=1e-9)
    return (100.0 * (wins / wins.sum(axis=0)).mean(axis=1)).tolist()


def _choices(rows: Sequence[Finished], results: Results) -> str:
    lines = list[list[str]]()
    for row in rows:
        p = row.parameters
        values = [", ".join(f"{value:.3g}" for value in p["chosen"][m]) for m in PARAMETERS]
        networks = [sorted(test[m]["networks"] for test in row.tests) for m in ("AdaBoost", "AdaBoost_REG")]
        counts = [f"{t[0]}, {statistics.median_low(t)}, {t[-1]}" for t in networks]
        lines.append([row.title, f"{p['K']}, {p['iterations']}", *_validated(row, results), *values, *counts])
    header = ["set, splits", "K, O", "chosen, least", "apart: K, O", "RBF", *PARAMETERS.values()]
    header += ["networks, AdaBoost", "AdaBoost_REG"]
    return (
        "Beside K and O stands the error of the single network in cross-validation, in percent, and the least of all "
        "pairs; then the pair that medians taken apart would give, and the test error of the single network with it. "
        "Networks: least, median and most of the splits; equal ones count once, and a run ends early where a network "
        "makes no error.\n\n" + table(header, lines)
    )


def _validated(row: Finished, results: Results) -> list[str]:
    """Return errors of single networks: in cross-validation of the chosen and the best one, and of medians apart.

    The latter is the other reading of a median of pairs, with its test error once all splits are finished.
    """
    units = results.where(stage="nets", name=row.row.name, kind=row.row.kind)
    folds = [(p, result) for p, result in units if p["parts"] != [WHOLE]]
    sizes, examples = folds[0][0], sum(result["examples"] for _, result in folds)
    centres, iterations = sizes["K"], sizes["iterations"]
    counts = np.array([result["wrong"] for _, result in folds])
    wrong, p = counts.sum(axis=0), row.parameters
    at = centres.index(p["K"]) * len(iterations) + iterations.index(p["iterations"])
    k, o = (statistics.median_low(axis.tolist()) for axis in np.divmod(counts.argmin(axis=1), len(iterations)))
    tests = _whole(units)
    other = [100.0 * result["wrong"][k * len(iterations) + o] / result["examples"] for result in tests]
    return [
        f"{100.0 * wrong[at] / examples:.1f}, {100.0 * wrong.min() / examples:.1f}",
        f"{centres[k]}, {iterations[o]}",
        _spread(other) if len(other) >= len(row.tests) else "",
    ]


def _gaps(rows: Sequence[Finished]) -> str:
    methods = ("LP_REG", "QP_REG", "AdaBoost", "AdaBoost_REG")
    lines = [[row.title, *(f"{max(test[m]['gap'] for test in row.tests):.1e}" for m in methods)] for row in rows]
    return (
        "The largest over the splits: of LP_REG in its soft margin, of QP_REG relative to its value, of AdaBoost and "
        "AdaBoost_REG what their weights leave open of the best soft margin of their networks at LP_REG's nu.\n\n"
        + table(["set, splits", *methods], lines)
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="R_table_1",
        title="Table 1: test errors on 13 sets",
        source="Ratsch, Onoda and Muller 2001, table 1",
        page="soft_margins_table",
        units=_units,
        work=_worked,
        written=_written,
        data=tuple(f"{DATA}/{name}.npz" for name in SETS),
    ),
)
