"""Raetsch, Onoda and Mueller 2001, table 1: the page, printed beside ours, and what the table claims."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import (
    Claim,
    Decision,
    Experiment,
    Parameters,
    Results,
    count_agreements,
    count_orders,
    printed_numbers,
)
from benchmarks.evidence.pages import picture, table
from benchmarks.evidence.soft_margins_table_runs import (
    ACCEPTED,
    COLUMNS,
    DATA,
    LEVEL,
    PAIRS,
    PARAMETERS,
    ROWS,
    SETS,
    TEN,
    Row,
    units,
    worked,
)
from benchmarks.ida_data import PUBLISHED, SEEDED, WHOLE
from benchmarks.ida_printed import PARTITIONS, allowed


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
        return next(row for row in printed_numbers("R_table1")["rows"] if row["set"] == SETS[self.row.name])

    def difference(self, method: str) -> float:
        """Return our mean less that of print."""
        return self.mean(method) - self.print[COLUMNS[method]][0]

    def allowed(self, method: str) -> float:
        """Return two standard errors of the difference."""
        return allowed(self.deviation(method), len(self.tests), self.print[COLUMNS[method]][1])

    def agrees(self, method: str) -> bool:
        """Return True if our mean equals the printed one within two standard errors."""
        return abs(self.difference(method)) <= self.allowed(method)


def _finished_rows(results: Results) -> list[Finished]:
    """Return the rows of which splits are finished, in the order of print."""
    rows = list[Finished]()
    for name, kind in itertools.product(SETS, (PUBLISHED, SEEDED)):
        units = sorted(results.select(stage="test", name=name, kind=kind), key=lambda unit: unit[0]["split"])
        if units:
            rows.append(Finished(Row(name, kind, len(units)), units[0][0], [result for _, result in units]))
    return rows


def _write_table(results: Results, folder: Path) -> str:
    rows = _finished_rows(results)
    if not rows:
        return "No split is tested yet."
    compared_rows = _compared_rows(rows)
    parts = [
        _protocol(rows),
        "### Test error\n\nIn percent, mean ± standard deviation over the splits, print below in italics. S1: "
        "AdaBoost_REG is significantly better (+) or worse (-) than AdaBoost; S2: than the SVM.\n\n" + _errors(rows),
        _significance(rows),
        "### Held to print\n\n"
        + (_accepted(compared_rows, results, folder) if compared_rows else "No such set is finished."),
        *(
            ["### Who is below whom\n\n" + _compared(rows), "### Mean % and Winner %\n\n" + _summary(rows)]
            if _one_a_set(rows)
            else []
        ),
        "### What was chosen\n\n" + _choices(rows, results),
        "### Certified gaps\n\n" + _gaps(rows),
    ]
    return "\n\n".join(parts)


def _compared_rows(rows: Sequence[Finished]) -> list[Finished]:
    """Return the rows that are held to print: sets with ten published splits, of which several are finished."""
    published = [row for row in rows if row.row.kind == PUBLISHED and row.row.splits > 1]
    return [row for row in published if Row(row.row.name, PUBLISHED, TEN) in ROWS]


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
        if row is [rival for rival in rows if rival.row.name == row.row.name][-1]:
            cells = [f"*{row.print[c][0]:.1f} ± {row.print[c][1]:.1f}*" for c in COLUMNS.values()]
            lines.append(["*print*", *cells, row.print["S1"], row.print["S2"]])
    return table(["set, splits", *COLUMNS, "S1", "S2"], lines)


def _spread(values: Sequence[float]) -> str:
    mean = f"{statistics.fmean(values):.1f}"
    return f"{mean} ± {statistics.stdev(values):.1f}" if len(values) > 1 else mean


def _mark(row: Finished, rival: str) -> str:
    """Return + or - where AdaBoost_REG is significantly better or worse by a paired t-test."""
    from scipy.stats import t

    better = np.subtract(row.errors(rival), row.errors("AdaBoost_REG"))
    n = len(better)
    if n < 2:
        return ""
    is_significant = abs(better.mean()) > t.ppf(0.5 + LEVEL / 2, n - 1) * better.std(ddof=1) / math.sqrt(n)
    return ("+" if better.mean() > 0.0 else "-") if is_significant else ""


def _unpaired(row: Mapping[str, Any], rival: str) -> str:
    """Return the mark of an unpaired t-test of two printed cells."""
    from scipy.stats import t

    (mean, deviation), (reg, reg_deviation) = row[rival], row["AB_R"]
    error = math.hypot(deviation, reg_deviation) / math.sqrt(PARTITIONS)
    is_significant = abs(mean - reg) > t.ppf(0.5 + LEVEL / 2, 2 * PARTITIONS - 2) * error
    return ("+" if mean > reg else "-") if is_significant else ""


def _significance(rows: Sequence[Finished]) -> str:
    """Say how our marks and those of print agree, and which marks of print do not follow from its own cells."""
    pairs = list[tuple[str, str]]()
    for row in _one_a_set(rows):
        pairs += [(_mark(row, "AdaBoost"), row.print["S1"]), (_mark(row, "SVM"), row.print["S2"])]
    equal = sum(ours == theirs for ours, theirs in pairs)
    against = sum({ours, theirs} == {"+", "-"} for ours, theirs in pairs)
    marks = [(row, name, rival) for row in _printed_sets() for name, rival in (("S1", "AB"), ("S2", "SVM"))]
    doubtful = [f"{row['set']} {name}" for row, name, rival in marks if _unpaired(row, rival) != row[name]]
    return (
        f"Our marks are those of paired t-tests at {LEVEL:.0%}. Of {len(pairs)} marks of sets with several splits, one "
        f"row a set, {equal} are as printed and {against} have the other sign; with fewer splits fewer differences are "
        f"significant. An unpaired test of the printed means and deviations over {PARTITIONS} splits gives "
        f"{len(marks) - len(doubtful)} of the {len(marks)} printed marks, and others at {', '.join(doubtful)}."
    )


def _compared(rows: Sequence[Finished]) -> str:
    """Count the sets on which one mean is below another, here and in print."""
    best_rows = _one_a_set(rows)
    lines = list[list[str]]()
    for method, rival in PAIRS:
        ours = sum(row.mean(method) < row.mean(rival) for row in best_rows)
        printed_signs, n_compared = (
            sum(row[COLUMNS[method]][0] < row[COLUMNS[rival]][0] for row in cells)
            for cells in ([row.print for row in best_rows], _printed_sets())
        )
        lines.append(
            [
                f"{method} below {rival}",
                f"{ours} of {len(best_rows)}",
                f"{printed_signs}",
                f"{n_compared} of {len(SETS)}",
            ]
        )
    return (
        "Sets on which the mean of one method is below that of another, one row a set, with several splits. The "
        "text of the paper counts ten where AdaBoost_REG is better than the single network; its table, below.\n\n"
        + table(["", "here", "print, the same sets", "print"], lines)
    )


def _printed_sets() -> list[dict[str, Any]]:
    """Return the printed rows of sets."""
    return [row for row in printed_numbers("R_table1")["rows"] if row["set"] in SETS.values()]


def _one_a_set(rows: Sequence[Finished]) -> list[Finished]:
    """Return for each set the row of most splits, where it has several."""
    largest_rows = {row.row.name: row for row in sorted(rows, key=lambda row: row.row.splits)}
    return [row for row in largest_rows.values() if row.row.splits > 1]


def _accepted(rows: Sequence[Finished], results: Results, folder: Path) -> str:
    """Say which means are within two standard errors of print, and of the others what is known."""
    cells = [(row, method) for row in rows for method in ACCEPTED]
    missed = [(row, m) for row, m in cells if not row.agrees(m)]
    lines = list[list[str]]()
    for row in rows:
        differences = [f"{row.difference(m):+.2f} of {row.allowed(m):.2f}" for m in ACCEPTED]
        lines.append(
            [row.title, *(f"**{s}**" if (row, m) in missed else s for m, s in zip(ACCEPTED, differences, strict=True))]
        )
    reasons = "\n".join(f"- {_reason(row, m, results)}" for row, m in missed)
    return (
        f"Our mean less that of print, and what two standard errors allow, "
        f"$2\\sqrt{{s^2 / n + s_\\text{{print}}^2 / {PARTITIONS}}}$ for n splits: {len(cells) - len(missed)} of "
        f"{len(cells)} are within, where about {0.05 * len(cells):.1f} would be without by chance. Bold is what "
        f"misses.\n\n" + table(["set, splits", *ACCEPTED], lines) + f"\n\n{reasons}\n\n" + _draw_errors(rows, folder)
    )


def _reason(row: Finished, method: str, results: Results) -> str:
    """Say of a mean that misses print in which direction, and what the choice of parameters has to do with it."""
    printed_text = (
        f"**{SETS[row.row.name]}, {method}**: {row.mean(method):.2f} here, {row.print[COLUMNS[method]][0]} in print."
    )
    mean_of_others = statistics.fmean(row.difference(m) for m in COLUMNS if m != method)
    text = f"{printed_text} The other methods are off by {mean_of_others:+.2f} on these splits, on average."
    hindsight = _hindsight(row, method, results)
    if hindsight is None:
        return text
    least_error, excess = hindsight, hindsight - row.print[COLUMNS[method]][0]
    if row.difference(method) < 0.0:
        verdict = "ours is the smaller error"
    elif excess > row.allowed(method):
        verdict = "no value comes near print: it is not the choice of the values"
    else:
        verdict = "a value is there that agrees with print: cross-validation does not choose it"
    grid = "all pairs of K and O" if method == "RBF" else "the coarse grid"
    return f"{text} In hindsight, on the test parts, the best of {grid} comes to {least_error:.2f}; {verdict}."


def _hindsight(row: Finished, method: str, results: Results) -> float | None:
    """Return the least mean test error of a grid, in percent; None where a split is missing or there is no grid."""
    selection = {name: row.parameters[name] for name in ("name", "kind")}
    if method == "RBF":
        counts = [result["wrong"] for result in _whole(results.select(stage="nets", **selection))]
        examples = [result["examples"] for result in _whole(results.select(stage="nets", **selection))]
    else:
        grids = _whole(results.select(stage="grid", **selection))
        counts = [result["wrong"][method] for result in grids if method in result["wrong"]]
        examples = [result["examples"] for result in grids]
    if len(counts) < len(row.tests):
        return None
    return 100.0 * float(np.mean(np.array(counts) / np.array(examples)[:, None], axis=0).min())


def _whole(units: Sequence[tuple[Parameters, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the results on the test parts."""
    return [result for parameters, result in units if parameters["parts"] == [WHOLE]]


def _draw_errors(rows: Sequence[Finished], folder: Path) -> str:
    """Draw the differences as shares of what is allowed."""
    import matplotlib.pyplot as plt

    size = (10, 1.0 + 0.35 * len(rows))
    figure, panels = plt.subplots(1, len(ACCEPTED), figsize=size, sharex=True, sharey=True, layout="constrained")
    heights = np.arange(len(rows))[::-1]
    for axes, method in zip(panels, ACCEPTED, strict=True):
        shares = np.array([row.difference(method) / row.allowed(method) for row in rows])
        axes.axvspan(-1.0, 1.0, color="0.9", lw=0)
        axes.axvline(0.0, color="0.5", lw=0.8)
        axes.scatter(shares, heights, c=np.where(np.abs(shares) > 1.0, "C3", "C0"), s=22, zorder=2)
        axes.set(title=method, yticks=heights, yticklabels=[SETS[row.row.name] for row in rows])
    panels[0].set_ylim(-0.6, len(rows) - 0.4)
    figure.supxlabel("mean test error here less that of print, over two standard errors", fontsize=10)
    image = picture(folder, "R_table_1", figure, "Mean test errors less those of print, over two standard errors")
    return f"{image}\n\nWithin the grey band a mean agrees with print; red is what misses."


def _summary(rows: Sequence[Finished]) -> str:
    """Return the last two lines of the table, over the published splits and over one row of each set."""
    best_rows = _one_a_set(rows)
    published = [row for row in best_rows if row.row.kind == PUBLISHED]
    lines, sentences = list[list[str]](), list[str]()
    for words, group in (("published splits", published), ("one row a set", best_rows)):
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
        sentences.append(
            f"Over {sets}, the least Mean % has {_extreme(shares, min)} (from the cells of print "
            f"{_extreme(theirs, min)}), the largest Winner % {_extreme(list(zip(*won, strict=True)), max)}."
        )
    for name in ("Mean%", "Winner%"):
        row = next(row for row in printed_numbers("R_table1")["rows"] if row["set"] == name)
        cells = [f"*{row[c][0]:.1f} ± {row[c][1]:.1f}*" for c in COLUMNS.values()]
        lines.append([f"*{name[:-1]} %, print, {len(SETS)} sets*", *cells])
        end = min if name == "Mean%" else max
        printed_best = _best_in_print(name)
        sentences.append(
            f"In print, over {len(SETS)} sets, the {end.__name__}imum of {name[:-1]} % has {printed_best}."
        )
    return (
        "Mean %: the error over the least of the set, less 1, mean ± standard deviation over the sets. Winner %: the "
        "share of splits that a method wins, ties shared. "
        + " ".join(sentences)
        + "\n\n"
        + table(["", *COLUMNS], lines)
    )


def _best_in_print(name: str) -> str:
    """Return the method that is best in one of the last two lines of the table."""
    row = next(row for row in printed_numbers("R_table1")["rows"] if row["set"] == name)
    return (min if name == "Mean%" else max)(COLUMNS, key=lambda m: row[COLUMNS[m]][0])


def _extreme(of_methods: Sequence[Sequence[float]], end: Callable[..., Any]) -> str:
    """Return the method with the least or the largest mean."""
    return end(zip(map(statistics.fmean, of_methods), COLUMNS, strict=True))[1]


def _shares(means: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return for each method the percents by which it exceeds the best of each set; sets without any error left out."""
    positive_rows = [row for row in means if min(row) > 0.0]
    return [[100.0 * (row[k] / min(row) - 1.0) for row in positive_rows] for k in range(len(COLUMNS))]


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
    units = results.select(stage="nets", name=row.row.name, kind=row.row.kind)
    folds = [(p, result) for p, result in units if p["parts"] != [WHOLE]]
    sizes, examples = folds[0][0], sum(result["examples"] for _, result in folds)
    centres, iterations = sizes["K"], sizes["iterations"]
    counts = np.array([result["wrong"] for _, result in folds])
    error_counts, p = counts.sum(axis=0), row.parameters
    index = centres.index(p["K"]) * len(iterations) + iterations.index(p["iterations"])
    k, o = (statistics.median_low(axis.tolist()) for axis in np.divmod(counts.argmin(axis=1), len(iterations)))
    tests = _whole(units)
    rival_errors = [100.0 * result["wrong"][k * len(iterations) + o] / result["examples"] for result in tests]
    return [
        f"{100.0 * error_counts[index] / examples:.1f}, {100.0 * error_counts.min() / examples:.1f}",
        f"{centres[k]}, {iterations[o]}",
        _spread(rival_errors) if len(rival_errors) >= len(row.tests) else "",
    ]


def _gaps(rows: Sequence[Finished]) -> str:
    methods = ("LP_REG", "QP_REG", "AdaBoost", "AdaBoost_REG")
    lines = [[row.title, *(f"{max(test[m]['gap'] for test in row.tests):.1e}" for m in methods)] for row in rows]
    return (
        "The largest over the splits: of LP_REG in its soft margin, of QP_REG relative to its value, of AdaBoost and "
        "AdaBoost_REG what their weights leave open of the best soft margin of their networks at LP_REG's nu.\n\n"
        + table(["set, splits", *methods], lines)
    )


# What the table claims


def _as_printed(method: str, is_published: bool) -> Claim:
    """Return the claim that the errors of a method are those of the table, on all sets or those with published splits.

    Seeded splits are random partitions as the published ones are: the standard errors are those of both.
    """

    def decide(results: Results) -> Decision | None:
        rows = _finished_rows(results)
        compared_rows = _compared_rows(rows) if is_published else _one_a_set(rows)
        return count_agreements((row.agrees(method) for row in compared_rows), "sets")

    words = "the sets with ten published splits" if is_published else "all sets, by published or seeded splits"
    says = f"The means are within two standard errors on {words}, as often as chance has it."
    return Claim(f"R table 1 {method}", says, decide, is_weaker=is_published)


def _order(sentence: str, method: str, rival: str) -> Claim:
    """Return the claim that a method is better than another on more than half of the sets, as by the printed cells.

    It is open as long as print does not have it on those of its sets that are finished here.
    """
    n_printed = sum(row[COLUMNS[method]][0] < row[COLUMNS[rival]][0] for row in _printed_sets())

    def decide(results: Results) -> Decision | None:
        rows = _one_a_set(_finished_rows(results))
        n_here = sum(row.mean(method) < row.mean(rival) for row in rows)
        n_same = sum(row.print[COLUMNS[method]][0] < row.print[COLUMNS[rival]][0] for row in rows)
        if 2 * n_same <= len(rows):
            return None
        theirs = f"{n_printed} of {len(SETS)}" + (
            f", {n_same} of the same {len(rows)}" if len(rows) < len(SETS) else ""
        )
        return Decision(2 * n_here > len(rows), f"{n_here} of {len(rows)} sets", theirs)

    return Claim(sentence, f"{method} has a smaller mean error than {rival} on more than half of the sets.", decide)


def _as_ordered(sentence: str, method: str, rival: str) -> Claim:
    """Return the claim that two methods have the printed order on each set that is finished."""
    n_printed = sum(row[COLUMNS[method]][0] < row[COLUMNS[rival]][0] for row in _printed_sets())

    def decide(results: Results) -> Decision | None:
        differences = {
            SETS[row.row.name]: (
                row.mean(method) - row.mean(rival),
                row.print[COLUMNS[method]][0] - row.print[COLUMNS[rival]][0],
            )
            for row in _one_a_set(_finished_rows(results))
        }
        return count_orders(differences, f"{n_printed} of {len(SETS)}")

    says = f"On each set where the printed means of {method} and {rival} differ, ours have their order."
    return Claim(sentence, says, decide)


def _improves(method: str, rival: str) -> Callable[[Results], Decision | None]:
    """Return what decides whether a method is better than another on more sets than it is worse."""

    def decide(results: Results) -> Decision | None:
        rows = _one_a_set(_finished_rows(results))
        if not rows:
            return None
        ours, theirs = (
            [sum(sign(difference) for difference in differences) for sign in (_is_less, _is_none, _is_more)]
            for differences in (
                [row.mean(method) - row.mean(rival) for row in rows],
                [row[COLUMNS[method]][0] - row[COLUMNS[rival]][0] for row in _printed_sets()],
            )
        )
        words = [f"{better} better, {equal} equal, {worse} worse" for better, equal, worse in (ours, theirs)]
        return Decision(ours[0] > ours[2], f"{words[0]}, of {len(rows)} sets", words[1])

    return decide


SAME = 0.005
"""Means in percent that are this close are equal."""


def _is_less(difference: float) -> bool:
    return difference < -SAME


def _is_none(difference: float) -> bool:
    return abs(difference) <= SAME


def _is_more(difference: float) -> bool:
    return difference > SAME


def _marks(results: Results, rival: str) -> list[tuple[Finished, str]]:
    """Return the rows, one a set, and the marks of AdaBoost_REG against a method."""
    return [(row, _mark(row, rival)) for row in _one_a_set(_finished_rows(results))]


def _significant(results: Results) -> Decision | None:
    """Return whether AdaBoost_REG is significantly better than AdaBoost on as many sets as print says."""
    marks = _marks(results, "AdaBoost")
    if not marks:
        return None
    better, worse = (sum(mark == sign for _, mark in marks) for sign in "+-")
    printed_better = sum(row["S1"] == "+" for row in _printed_sets())
    return Decision(better >= printed_better, f"{better} of {len(marks)} sets, worse on {worse}", f"{printed_better}")


def _worse_once(results: Results) -> Decision | None:
    """Return whether thyroid is the only set on which AdaBoost_REG is significantly worse than AdaBoost."""
    marks = _marks(results, "AdaBoost")
    worse = [SETS[row.row.name] for row, mark in marks if mark == "-"]
    printed_worse = [row["set"] for row in _printed_sets() if row["S1"] == "-"]
    return Decision(worse == printed_worse, ", ".join(worse) or "none", ", ".join(printed_worse)) if marks else None


def _significant_machine(results: Results) -> Decision | None:
    """Return whether AdaBoost_REG wins more than half of the significant differences to the SVM."""
    marks = [mark for _, mark in _marks(results, "SVM") if mark]
    if not marks:
        return None
    theirs = [row["S2"] for row in _printed_sets() if row["S2"]]
    won, printed_won = (sum(mark == "+" for mark in signs) for signs in (marks, theirs))
    text = f"{printed_won} of {len(theirs)} by the marks"
    return Decision(2 * won > len(marks), f"{won} of {len(marks)} significant differences", text)


def _best(name: str, values: Callable[[Sequence[Finished]], Sequence[Sequence[float]]]) -> Claim:
    """Return the claim that a method is best in one of the last two lines."""
    printed_best = _best_in_print(name)

    def decide(results: Results) -> Decision | None:
        rows = _one_a_set(_finished_rows(results))
        if not rows:
            return None
        best_here = _extreme(values(rows), min if name == "Mean%" else max)
        return Decision(best_here == printed_best, best_here, printed_best)

    return Claim(f"R {name}", f"{printed_best} is best by {name[:-1]} % over the sets that are finished.", decide)


COUNTED_ORDERS = {
    "R table 1 REG AB": ("AdaBoost_REG", "AdaBoost"),
    "R 5.2 REG RBF": ("AdaBoost_REG", "RBF"),
    "R table 1 REG SVM": ("AdaBoost_REG", "SVM"),
}
"""Keys of sentences that count sets of the table, with the method that is below another one, and the other."""

ORDERS = {
    "R 5.2 LP": ("LP_REG", "AdaBoost"),
    "R 5.2 QP LP": ("QP_REG", "LP_REG"),
    "R 5.2 RBF AB": ("RBF", "AdaBoost"),
    "R 5.2 RBF SVM": ("SVM", "RBF"),
}
"""Keys of sentences about most sets, with the method that print has below another one, and the other."""

TABLE_1 = (
    *(_as_printed(method, is_published) for is_published in (False, True) for method in ACCEPTED),
    *(_as_ordered(sentence, method, rival) for sentence, (method, rival) in COUNTED_ORDERS.items()),
    *(_order(sentence, method, rival) for sentence, (method, rival) in ORDERS.items()),
    Claim(
        "R 5.2 QP", "QP_REG has a smaller mean error on more sets than a larger one.", _improves("QP_REG", "AdaBoost")
    ),
    Claim(
        "R 5.2 REG AB", "AdaBoost_REG is significantly better on as many sets, with ten splits for 100.", _significant
    ),
    Claim("R 5.2 REG AB once", "AdaBoost_REG is significantly worse on this set alone.", _worse_once),
    Claim(
        "R 5.2 REG SVM",
        "AdaBoost_REG wins more than half of the significant differences, with ten splits for 100.",
        _significant_machine,
    ),
    _best("Mean%", lambda rows: _shares([[row.mean(m) for m in COLUMNS] for row in rows])),
    _best("Winner%", lambda rows: list(zip(*map(_won, rows), strict=True))),
)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="R_table_1",
        title="Table 1: test errors on 13 sets",
        source="Rätsch, Onoda and Müller 2001, table 1",
        page="soft_margins_table",
        units=units,
        work=worked,
        write_page=_write_table,
        claims=TABLE_1,
        data=tuple(f"{DATA}/{name}.npz" for name in SETS),
    ),
)
