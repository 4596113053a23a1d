"""Warmuth, Glocer and Raetsch 2007: table 1, five boosters with RBF networks on the IDA sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import (
    SHARED,
    Claim,
    Decision,
    Experiment,
    Parameters,
    Result,
    Results,
    count_agreements,
    count_orders,
    printed_numbers,
    round_digits,
)
from benchmarks.evidence.pages import table
from benchmarks.evidence.softboost import CERTIFIED, SOURCE
from benchmarks.ida_data import PUBLISHED, SEEDED, WHOLE, Part, part_of
from benchmarks.ida_methods import Options, count, left_open, oracle_of
from benchmarks.ida_printed import allowed
from boostopt import boost
from boostopt.boosting.run.run import Run
from boostopt.oracles.rbf.network_fitting import fit_rbf

FOLDER = SHARED / "data" / "ida"
SETS: Mapping[str, tuple[str, str, int]] = {
    "Banana": ("banana", PUBLISHED, 10),
    "B.Cancer": ("breast_cancer", PUBLISHED, 10),
    "Diabetes": ("diabetis", SEEDED, 5),
    "German": ("german", PUBLISHED, 5),
    "Heart": ("heart", PUBLISHED, 10),
    "Ringnorm": ("ringnorm", PUBLISHED, 10),
    "F.Solar": ("flare_solar", SEEDED, 10),
    "Thyroid": ("thyroid", SEEDED, 10),
    "Titanic": ("titanic", PUBLISHED, 10),
    "Waveform": ("waveform", PUBLISHED, 10),
}
"""The printed name of each set, its file, the kind of its splits, and how many are used."""

CENTRES, STEPS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30), (1, 2, 4, 10)
"""Centres and steps of the networks from which cross-validation chooses."""

FOLDS = 5
NU = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02)
GRIDS: Mapping[str, tuple[float, ...]] = {
    "AdaBoost": (0.0,),
    "LPBoost": NU,
    "SoftBoost": NU,
    "BrownBoost": (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
    "AdaBoost reg": (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03),
}
"""The values of nu / N, c, or C / N^2 by method. The most regularized value comes first and wins a tie."""

PAIRS = (
    *((method, "AdaBoost") for method in GRIDS if method != "AdaBoost"),
    *((method, "BrownBoost") for method in ("LPBoost", "SoftBoost", "AdaBoost reg")),
)
"""Methods of which the first is better on most sets of print."""


def _table_units(quick: bool, done: Results) -> Iterator[Parameters]:
    sets = ("Heart", "Titanic") if quick else SETS
    for name in sets:
        splits = 1 if quick else SETS[name][2]
        selecting = {"part": "networks", "name": name, "splits": min(splits, 5), "every": 4 if quick else 1}
        yield selecting
        if selecting in done:
            size = {key: done[selecting][key] for key in ("K", "iterations")}
            rounds = {"rounds": 50, "every": 4} if quick else {"rounds": 200, "every": 1}
            for split in range(splits):
                yield {"part": "split", "name": name, "split": split, **size, **rounds}


def _table_work(part: str, name: str, **numbers: int) -> Mapping[str, Any]:
    """Return the networks that a set needs, or what each method comes to on a split."""
    return _networks(name, **numbers) if part == "networks" else _split(name, **numbers)


def _networks(name: str, splits: int, every: int) -> Result:
    """Return the centres and steps of a single network with the smallest error in cross-validation over some splits."""
    file, kind, _ = SETS[name]
    sizes = [(K, iterations) for K in CENTRES[::every] for iterations in STEPS[::every]]
    error_counts = np.zeros(len(sizes))
    for split in range(splits):
        for fold in range(FOLDS):
            part = part_of(FOLDER, (file, kind, split, fold), FOLDS)
            for k, (K, iterations) in enumerate(sizes):
                network = fit_rbf(part.X, part.y, random_state=part.seed, K=K, iterations=iterations)
                error_counts[k] += int((np.sign(network.value(part.X_test)) != part.y_test).sum())
    best = int(np.argmin(error_counts))
    total = splits * len(part_of(FOLDER, (file, kind, 0, WHOLE), FOLDS).y)
    size = dict(zip(("K", "iterations"), sizes[best], strict=True))
    return {**size, "error": error_counts[best] / total, "errors": round_digits(error_counts / total, 4)}


def _split(name: str, split: int, K: int, iterations: int, rounds: int, every: int) -> Result:
    """Return of each method the values that cross-validation of the training part chooses, and the test error."""
    file, kind, _ = SETS[name]
    options = Options(rounds=rounds, K=K, iterations=iterations)
    parts = [part_of(FOLDER, (file, kind, split, fold), FOLDS) for fold in range(FOLDS)]
    whole, result = part_of(FOLDER, (file, kind, split, WHOLE), FOLDS), Result()
    for method, values in GRIDS.items():
        grid = values[::every]
        error_counts = (
            [0]
            if len(grid) == 1
            else [sum(_count_errors(_boosted(method, p, options, v), p) for p in parts) for v in grid]
        )
        value = grid[int(np.argmin(error_counts))]
        run = _boosted(method, whole, options, value)
        result[method] = {
            "value": value,
            "error": _count_errors(run, whole) / len(whole.y_test),
            "rounds": run.rounds,
            "gap": left_open(run.record.pool.margins, run.w, count(value, whole)) if method in CERTIFIED else None,
            "ended": run.rounds < rounds,
        }
    return result


def _boosted(method: str, part: Part, options: Options, value: float) -> Run:
    """Return the run of a method over networks that are fitted to its own weights."""
    oracle, rounds = oracle_of(part, options), options.rounds
    if method == "AdaBoost":
        return boost("adaboost", oracle, keep_faultless=False, max_rounds=rounds, rules=(), history=False)
    if method == "BrownBoost":
        return boost("brownboost", oracle, time=value, max_rounds=rounds, history=False)
    if method == "AdaBoost reg":
        return boost("adaboost_reg", oracle, C=value * len(part.y) ** 2, p=2, max_rounds=rounds, history=False)
    nu = count(value, part)
    return boost(method.lower(), oracle, nu=nu, epsilon=options.epsilon, max_rounds=rounds, history=False)


def _count_errors(run: Run, part: Part) -> int:
    """Return how many examples of the test part are classified wrongly; where f = 0 the majority decides."""
    return int((run.predict(part.X_test) != part.y_test).sum())


def _table_written(results: Results, folder: Path) -> str:
    theirs = _printed_rows()
    ours = {name: [r for _, r in results.select(part="split", name=name)] for name in SETS}
    ours = {name: units for name, units in ours.items() if units}
    most_rounds = max((p["rounds"] for p, _ in results.select(part="split")), default=0)
    if not ours:
        return "No split is finished."
    figures = {name: {method: _of_units(units, method) for method in GRIDS} for name, units in ours.items()}
    rows, parameter_rows = list[Sequence[object]](), list[Sequence[object]]()
    far = dict.fromkeys(GRIDS, 0)
    for name, units in ours.items():
        cells, cells_there = list[str](), list[str]()
        for method in GRIDS:
            (average, deviation), (printed_mean, spread) = figures[name][method], theirs[name][method]
            is_far_off = _is_far(figures[name][method], len(units), (printed_mean, spread))
            far[method] += is_far_off
            cells.append(f"{average:.1f}{f' ± {deviation:.1f}' if len(units) > 1 else ''}{' *' if is_far_off else ''}")
            starred = " (starred)" if method in theirs[name]["starred"] else ""
            cells_there.append(f"*{printed_mean} ± {spread}*{starred}")
        rows += [[name, f"{len(units)} {SETS[name][1]}", *cells], ["*in print*", "100 published", *cells_there]]
        sizes = [f"{r['K']}, {r['iterations']}" for _, r in results.select(part="networks", name=name)]
        parameter_rows.append(
            [
                *(name, "; ".join(sizes)),
                *(_describe_choices(units, method) for method, grid in GRIDS.items() if len(grid) > 1),
                *(f"{max(unit[method]['gap'] for unit in units):.0e}" for method in CERTIFIED),
            ]
        )
    parameters = ("nu / N", "nu / N", "c", "C / N²")
    header = [f"{method}: {name}" for method, name in zip(list(GRIDS)[1:], parameters, strict=True)]
    header = ["set", "K, steps", *header, *(f"{method}: gap" for method in CERTIFIED)]
    return (
        f"{_table_text(ours, figures, theirs, far, most_rounds)}\n\n{table(['set', 'splits', *GRIDS], rows)}\n\n"
        f"Chosen on the splits, the median with least and most:\n\n{table(header, parameter_rows)}"
    )


def _figure(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation; one value has the deviation 0."""
    return mean(values), stdev(values) if len(values) > 1 else 0.0


def _of_units(units: Sequence[Result], method: str) -> tuple[float, float]:
    """Return mean and standard deviation of a method's errors, in percent."""
    return _figure([100 * unit[method]["error"] for unit in units])


def _is_far(ours: tuple[float, float], splits: int, printed_mean: tuple[float, float]) -> bool:
    """Return whether a mean is further from the printed one than twice the standard error of both."""
    return splits > 1 and abs(ours[0] - printed_mean[0]) > allowed(ours[1], splits, printed_mean[1])


def _describe_choices(units: Sequence[Result], method: str) -> str:
    """Return the median of the values chosen, with the least and the most."""
    values = [unit[method]["value"] for unit in units]
    return f"{median(values):g} ({min(values):g} to {max(values):g})"


def _table_text(
    ours: Mapping[str, Sequence[Result]],
    figures: Mapping[str, Mapping[str, tuple[float, float]]],
    theirs: Mapping[str, Any],
    far: Mapping[str, int],
    rounds: int,
) -> str:
    """Return how the table was made and what of print it bears out."""
    orders = list[str]()
    for method, rival in PAIRS:
        n_printed, n_here = (_count_below(means, figures, method, rival) for means in (theirs, figures))
        orders.append(f"- {method} below {rival}: {n_printed} of {len(figures)} sets in print, {n_here} here.")
    apart_here = [abs(row["LPBoost"][0] - row["SoftBoost"][0]) for row in figures.values()]
    apart_there = [abs(theirs[name]["LPBoost"][0] - theirs[name]["SoftBoost"][0]) for name in figures]
    units = [unit for several in ours.values() for unit in several]
    limited = {m: sum(not unit[m]["ended"] for unit in units) for m in ("LPBoost", "SoftBoost", "BrownBoost")}
    return f"""\
Every booster asks for RBF networks fitted to its own weights. Their centres K and steps of conjugate gradients are
those of the single network with the smallest error in five-fold cross-validation over the first five splits, for each
set; print took those of the authors of *Soft Margins for AdaBoost*, which are lost. As in print the parameter of
each method is chosen on each split, by five-fold cross-validation of its training part. Print tries 100 values a
method, here it is {", ".join(f"{len(grid)} for {name}" for name, grid in GRIDS.items() if len(grid) > 1)}. AdaBoost
and AdaBoost reg (p = 2) have {rounds} rounds, the others end by their own rule or after {rounds}, LPBoost and SoftBoost
with delta = {Options.epsilon:g}. No bound over all networks is known: gaps are those to the best soft margin of the
networks collected, certified, the largest over the splits. They may exceed delta,
for the learner need not return the largest edge. Of the {len(units)} runs on whole training parts
{", ".join(f"{number} of {name}" for name, number in limited.items())} went on to the limit. Seeded splits are random
ones of the published sizes, used where one or none of the published is at hand; Diabetes and German, the slowest, have
five splits. A network without errors ends AdaBoost and is left out, unless it is the first.

Percent, mean ± standard deviation over the splits. A star marks what is further from print than twice the standard
error of both: {", ".join(f"{name} {n}" for name, n in far.items())} of {len(figures)} sets.

LPBoost and SoftBoost differ by at most {max(apart_there):.1f} in print and {max(apart_here):.1f} here; their mean
distance is {mean(apart_there):.2f} and {mean(apart_here):.2f}. Orders of the means:

{chr(10).join(orders)}"""


def _count_below(means: Mapping[str, Any], names: Iterable[str], method: str, rival: str) -> int:
    """Return on how many sets the mean of one method is below that of another."""
    return sum(means[name][method][0] < means[name][rival][0] for name in names)


def _printed_rows() -> dict[str, Any]:
    return {row["data set"]: row for row in printed_numbers("N_table_1")["rows"]}


def _several(results: Results) -> dict[str, list[Result]]:
    """Return the splits of the sets that have several: of one alone no error of the mean is known."""
    ours = {name: [r for _, r in results.select(part="split", name=name)] for name in SETS}
    return {name: units for name, units in ours.items() if len(units) > 1}


def _order(method: str, rival: str) -> Claim:
    """Return the claim that two methods have the printed order on each set; open until all are finished."""
    n_printed = _count_below(_printed_rows(), SETS, method, rival)

    def decide(results: Results) -> Decision | None:
        several, theirs = _several(results), _printed_rows()
        if len(several) < len(SETS):
            return None
        differences = {
            name: (
                _of_units(units, method)[0] - _of_units(units, rival)[0],
                theirs[name][method][0] - theirs[name][rival][0],
            )
            for name, units in several.items()
        }
        return count_orders(differences, f"{n_printed} of {len(SETS)}")

    says = f"On each set where the printed means of {method} and {rival} differ, ours have their order."
    return Claim(f"N table 1 {method} {rival}", says, decide)


def _as_printed(method: str) -> Claim:
    """Return the claim that a method's errors are those of the table."""

    def decide(results: Results) -> Decision | None:
        theirs, several = _printed_rows(), _several(results)
        return count_agreements(
            (
                not _is_far(_of_units(units, method), len(units), theirs[name][method])
                for name, units in several.items()
            ),
            "sets",
        )

    says = "The mean errors are within two standard errors, set by set, as often as chance has it."
    return Claim(f"N table 1 {method}", says, decide)


TABLE_1 = (*map(_as_printed, GRIDS), *(_order(method, rival) for method, rival in PAIRS))

EXPERIMENTS = (
    Experiment(
        name="N_table_1",
        title="Table 1: test errors with RBF networks",
        source=f"{SOURCE}, table 1",
        page="softboost",
        units=_table_units,
        work=_table_work,
        write_page=_table_written,
        claims=TABLE_1,
        data=tuple(f"data/ida/{file}.npz" for file, _, _ in SETS.values()),
    ),
)
