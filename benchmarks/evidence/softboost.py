"""Warmuth, Glocer and Raetsch 2007: figures 1 to 3, LPBoost, SoftBoost and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import (
    Claim,
    Decision,
    Experiment,
    Parameters,
    Result,
    Results,
    ask_each_unit,
    count_cases,
    counted_claim,
    printed_numbers,
    round_digits,
)
from benchmarks.evidence.pages import picture, span, table
from benchmarks.ida_data import fold_numbers
from boostopt import boost
from boostopt._utils.array_types import Array, Float, Int8
from boostopt.boosting.run.run import Run
from boostopt.errors import require_not_none
from boostopt.instances import iteration_lower_bound, softboost_synthetic
from boostopt.oracles import GivenMargins, RawFeatures

SOURCE = "Warmuth, Glocer and Rätsch 2007"
BLACK, GREEN, BLUE, RED = "#000000", "#009e73", "#0072b2", "#d55e00"
STYLES = {
    "LPBoost": (BLACK, ":"),
    "BrownBoost": (GREEN, "-."),
    "SoftBoost": (RED, "-"),
    "SmoothBoost": (BLUE, "--"),
}
"""Colour and line of a booster in all figures."""

CERTIFIED = ("LPBoost", "SoftBoost")
"""The boosters that end within delta of the largest soft margin."""


def _thinned(values: Float[Array, " rounds"]) -> Result:
    """Return a curve over the rounds at 200 of them at most, evenly on a logarithmic axis."""
    rounds = len(values)
    rounds_shown = (
        np.arange(1, rounds + 1) if rounds <= 200 else np.unique(np.geomspace(1, rounds, 200).round().astype(int))
    )
    return {"at": rounds_shown.tolist(), "margins": round_digits(values[rounds_shown - 1])}


def _interval(run: Run) -> list[float]:
    """Return what a run proves of the largest soft margin over the class."""
    certificate = run.class_certificate
    return [certificate.lower, certificate.upper]


# Figure 1: the matrix on which LPBoost needs N / 2 rounds.


def _worst_units(quick: bool, done: Results) -> Iterator[Parameters]:
    for N in (8, 16) if quick else (8, 16, 32, 64, 128, 256):
        for copies in (1, 2):
            yield {"N": N, "copies": copies}


def _worst(N: int, copies: int) -> Mapping[str, Any]:
    """Return the rounds of LPBoost and SoftBoost on the matrix, each row copied, at nu = the number of copies."""
    instance = iteration_lower_bound(N, 0.01 / N, copies)
    result: Result = {"delta": instance.answers["delta"]}
    for name in ("LPBoost", "SoftBoost"):
        run = boost(name.lower(), GivenMargins(instance.U), nu=copies, epsilon=0.1)
        order = [hypothesis.state()["q"] for hypothesis in run.hypotheses]
        result[name] = {
            "rounds": run.rounds,
            "interval": _interval(run),
            "in order": order == list(range(len(order))),
            **_thinned(run.trace["soft_margin"]),
        }
        if name == "LPBoost":
            known_optima = instance.answers["LPBoost optimum after t = 1, ..., N / 2 rounds"]
            margins = run.trace["soft_margin"][: N // 2]
            result["half"] = float(margins[-1])
            result["off"] = float(np.abs(margins - known_optima[: len(margins)]).max())
    return result


def _worst_written(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    entries = printed_numbers(printed_numbers("N_figure_1")["same_as"].removesuffix(".json"))
    small = results.select(N=8, copies=1)
    rows, units = list[Sequence[object]](), [(p, r) for p, r in results if p["copies"] == 1]
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    for p, result in sorted(results, key=lambda unit: (unit[0]["copies"], unit[0]["N"])):
        lp, soft = result["LPBoost"], result["SoftBoost"]
        missing = _missing(result)
        rows.append(
            [
                *(p["N"], p["copies"], lp["rounds"], soft["rounds"], f"{result['half']:.4f}", f"{missing:.4f}"),
                *(f"{lp['interval'][0]:.5f} to {lp['interval'][1]:.5f}", f"{result['off']:.0e}"),
            ]
        )
    units.sort(key=lambda unit: unit[0]["N"])
    for name in ("LPBoost", "SoftBoost"):
        color, line = STYLES[name]
        sizes = [p["N"] for p, _ in units]
        axes[0].plot(sizes, [r[name]["rounds"] for _, r in units], line, marker="o", color=color, label=name)
        last = units[-1][1][name]
        axes[1].semilogx(last["at"], last["margins"], line, color=color, marker="." if name == "SoftBoost" else "")
    axes[0].set(xlabel="N", ylabel="rounds")
    axes[0].legend(frameon=False)
    axes[1].set(xlabel="rounds", ylabel=f"smallest margin, N = {units[-1][0]['N']}")
    image = picture(folder, "N_figure_1", figure, "Rounds of LPBoost and SoftBoost against N, and margins by rounds")
    late = sum(_is_late(p, r) for p, r in results)
    ordered = sum(r["LPBoost"]["in order"] for _, r in results)
    far = sum(_is_far(r) for _, r in results)
    text = (
        "Theorem 1 says that LPBoost may need N / 2 rounds. The matrix of the figure is the library's "
        "`iteration_lower_bound`. "
    )
    if small:
        equal, total = _equal_entries(entries, small[0][1]["delta"])
        text += f"Of the {total} printed entries {equal} are equal to it. "
    text += (
        f"The small constant is 0.01 / N here, nu is the number of copies of each row, and runs stop within 0.1. "
        f"LPBoost takes the columns in their order in {ordered} of {len(results)} runs and needs more than N / 2 "
        f"rounds in {late}. After N / 2 rounds it is 0.99 or more below SoftBoost's last margin in {far}. SoftBoost "
        f"needs {span((r['SoftBoost']['rounds'] for _, r in results), '.0f')} rounds for every N."
    )
    header = ["N", "copies", "LPBoost, rounds", "SoftBoost, rounds", "LPBoost after N / 2", "what is missing then"]
    header += ["certified optimum", "largest distance from print"]
    return (
        f"{text}\n\n{_printed_matrix(entries)}\n\n{image}\n\n{table(header, rows)}\n\n"
        "The last column compares the soft margin of each of the first N / 2 rounds with the printed bottom row."
    )


def _is_late(p: Parameters, result: Mapping[str, Any]) -> bool:
    """Return whether LPBoost needed more than N / 2 rounds."""
    return result["LPBoost"]["rounds"] > p["N"] // 2


def _missing(result: Mapping[str, Any]) -> float:
    """Return by how much LPBoost's margin after N / 2 rounds is below SoftBoost's last one."""
    return result["SoftBoost"]["interval"][0] - result["half"]


def _is_far(result: Mapping[str, Any]) -> bool:
    return _missing(result) >= 0.99


def _equal_entries(entries: Mapping[str, Any], delta: float) -> tuple[int, int]:
    """Return how many printed entries are those of the library's matrix, and how many there are."""
    ours = iteration_lower_bound(8, delta).U
    theirs = np.array([[a + b * delta for a, b in row] for row in entries["rows"]])
    equal = int(np.isclose(ours, theirs, rtol=0.0, atol=1e-12).sum())
    return equal, theirs.size


def _printed_matrix(entries: Mapping[str, Any]) -> str:
    """Return the printed matrix with its bottom row."""

    def cell(a: float, b: float) -> str:
        size = "δ" if abs(b) == 1 else f"{abs(b):g}δ"
        if b == 0 or a == 0:
            return size if b else f"{a:g}"
        return f"{a:g} {'+' if b > 0 else '-'} {size}"

    rows = [[str(n + 1), *(cell(a, b) for a, b in row)] for n, row in enumerate(entries["rows"])]
    bottom = [cell(a, b) for a, b in entries["bottom_row_P_LP"]]
    rows.append(["optimum after column t", *bottom[:-1], f"≥ {bottom[-1]}"])
    return table(["printed, example", *(f"column {t + 1}" for t in range(len(bottom)))], rows)


# Figures 2 and 3: wrong labels in synthetic data.

TRAIN, ALL = 500, 2000
SHARES = (0.02, 0.05, 0.08, *(k / 20 for k in range(2, 17)))
"""Values of nu / N of figure 2."""

WORDS = """\
2000 examples have 100 features, uniform on [0, 1]; for the first 1000 the first ten are raised by 1/2, and these
columns are rescaled into [0, 1]. A tenth of all labels is turned over. 500 examples train, 1500 test. The hypotheses
are the columns and their negations, as they are. The draw of print is lost: ranges are over the seeds."""


def _draw(seed: int) -> tuple[Float[Array, "n features"], Int8[Array, " n"], Int8[Array, " n"]]:
    """Return shuffled examples with labels as they are and before a tenth was turned over; the first 500 train."""
    data, clean = softboost_synthetic(ALL, seed), softboost_synthetic(ALL, seed, noise=0.0)
    order = np.random.default_rng(seed).permutation(ALL)
    return (
        require_not_none(data.X, "features")[order],
        require_not_none(data.y, "labels")[order],
        require_not_none(clean.y, "labels")[order],
    )


def _error_units(quick: bool, done: Results) -> Iterator[Parameters]:
    shares = [0.05, 0.2, 0.4, 0.5, 0.8] if quick else list(SHARES)
    for seed in range(1 if quick else 10):
        for name in ("LPBoost", "SoftBoost"):
            yield {"algorithm": name, "seed": seed, "shares": shares}


def _errors(algorithm: str, seed: int, shares: list[float]) -> Mapping[str, Any]:
    """Return test errors, shares of f = 0 and certified intervals at values of nu / N."""
    X, y, clean = _draw(seed)
    lines = list[Result]()
    for share in shares:
        oracle, test = RawFeatures(X[:TRAIN], y[:TRAIN]), (X[TRAIN:], y[TRAIN:])
        run = boost(algorithm.lower(), oracle, nu=share * TRAIN, epsilon=1e-3, test=test, history=False)
        lines.append(
            {
                "share": share,
                "error": float(run.trace[-1].test_error),
                "clean": float(np.mean(run.predict(X[TRAIN:]) != clean[TRAIN:])),
                "zero": float(run.trace[-1].zero_share),
                "rounds": run.rounds,
                "interval": _interval(run),
            }
        )
    return {"lines": lines}


def _errors_written(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    axis = printed_numbers("N_figures_2_3_axes")["figures"]["2"]
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    by_share = {name: _by_share(results, name) for name in ("LPBoost", "SoftBoost")}
    for name, entries_by_share in by_share.items():
        color, line = STYLES[name]
        shares = list(entries_by_share)
        errors = [[entry["error"] for entry in entries] for entries in entries_by_share.values()]
        axes.plot(shares, [median(values) for values in errors], line, color=color, label=name)
        axes.fill_between(shares, [*map(min, errors)], [*map(max, errors)], color=color, alpha=0.15, lw=0)
    ticks = axis["y ticks"]
    axes.set(xlabel=axis["x"], ylabel=axis["y"], xlim=(0, axis["x ticks"][-1]), ylim=(ticks[0], ticks[-1]))
    axes.legend(frameon=False, loc="lower right")
    image = picture(folder, "N_figure_2", figure, "Test error of LPBoost and SoftBoost against nu / N")
    rows = list[list[str]]()
    for share in sorted(set[float]().union(*by_share.values())):
        row = [f"{share:g}"]
        for entries_by_share in by_share.values():
            entries = entries_by_share.get(share, [])
            for key, digits in (("error", 3), ("clean", 3), ("zero", 2)):
                row.append(span((entry[key] for entry in entries), f".{digits}f") if entries else "")
        rows.append(row)
    header = ["nu / N"]
    for name in by_share:
        header += [f"{name}: error", "right labels", "f = 0"]
    gaps = [entry["interval"][1] - entry["interval"][0] for _, r in results for entry in r["lines"]]
    verdicts = _error_verdicts(by_share, ticks[0])
    return (
        f"{WORDS}\n\ndelta is {axis['delta']:g}, and all {len(gaps)} runs are certified over the class: the largest "
        f"gap is {max(gaps):.5f}. Curves are medians over the seeds, bands their ranges, on the printed axes, which do "
        f"not reach the errors of small nu / N; where f = 0 the class of more training examples is predicted.\n\n"
        f"{verdicts}\n\n{image}\n\n"
        f"{table(header, rows)}\n\n“Right labels” is the error on the test part before labels were turned over."
    )


def _by_share(results: Results, name: str) -> dict[float, list[Result]]:
    """Return the entries of a booster by nu / N, one of each seed."""
    entries_by_share = dict[float, list[Result]]()
    for _, result in results.select(algorithm=name):
        for entry in result["lines"]:
            entries_by_share.setdefault(entry["share"], []).append(entry)
    return dict(sorted(entries_by_share.items()))


STABLE, BEGINS, SAME = 0.02, 0.15, 0.01
"""The excess of a stable error over the smallest, the first nu / N, and the largest difference of equal errors."""


def _medians(by_share: Mapping[str, Mapping[float, Sequence[Result]]]) -> dict[str, dict[float, float]]:
    """Return of each booster the median error over the seeds at each nu / N."""
    return {
        name: {share: median(entry["error"] for entry in entries) for share, entries in entries_by_share.items()}
        for name, entries_by_share in by_share.items()
        if entries_by_share
    }


def _stable(errors: Mapping[float, float]) -> list[float]:
    """Return the values of nu / N at which the error is nearly the least."""
    return [share for share, error in errors.items() if error <= min(errors.values()) + STABLE]


def _below_a_tenth(errors: Mapping[float, float]) -> list[float]:
    """Return the errors at nu / N below 0.1."""
    return [error for share, error in errors.items() if share < 0.1]


def _bad_below_a_tenth(errors: Mapping[float, float]) -> bool:
    return min(_below_a_tenth(errors)) > min(errors.values()) + STABLE


def _end_of_axis() -> float:
    """Return the largest error of the printed axis."""
    return printed_numbers("N_figures_2_3_axes")["figures"]["2"]["y ticks"][-1]


def _begins_in_time(errors: Mapping[float, float]) -> bool:
    return _stable(errors)[0] <= BEGINS


def _grows_again(errors: Mapping[float, float]) -> bool:
    return errors[max(errors)] > min(errors.values()) + STABLE


def _median_distances(medians: Mapping[str, Mapping[float, float]]) -> dict[float, float]:
    """Return how far apart the boosters are at each nu / N."""
    lp, soft = medians["LPBoost"], medians["SoftBoost"]
    return {share: abs(lp[share] - soft[share]) for share in lp if share in soft}


def _error_verdicts(by_share: Mapping[str, Mapping[float, Sequence[Result]]], lowest: float) -> str:
    """Return what the text of print says of the figure, and whether it is so here."""
    lines, medians = list[str](), _medians(by_share)
    for name, errors in medians.items():
        least_error, last, stable, small = min(errors.values()), max(errors), _stable(errors), _below_a_tenth(errors)
        begins = f"the stable range begins {'as printed' if _begins_in_time(errors) else 'later'}"
        lines.append(
            f"{name}: print is bad below nu / N = 0.1, then stable, and worse again for large nu. Here the median over "
            f"the seeds is {span(small, '.3f')} below 0.1 ({_holds(_bad_below_a_tenth(errors))}), within {STABLE} of "
            f"the least, {least_error:.3f}, from {stable[0]:g} to {stable[-1]:g} ({begins}), and {errors[last]:.3f} at "
            f"{last:g} ({_holds(_grows_again(errors))})."
        )
    lines.append(
        f"The printed axis goes down to {lowest:g}, though a tenth of the test labels is wrong. Here the least median "
        f"is {min(min(errors.values()) for errors in medians.values()):.3f}."
    )
    if len(medians) > 1:
        distances = _median_distances(medians)
        silent = [share for share in distances if max(entry["zero"] for entry in by_share["LPBoost"][share]) > 0.5]
        spoken = [distances[share] for share in distances if share not in silent]
        silence = (
            f" Up to nu / N = {silent[-1]:g} LPBoost's f is 0 on most examples with a seed or more." if silent else ""
        )
        lines.append(
            f"Both boosters are nearly the same in print.{silence} Elsewhere their medians differ by at most "
            f"{max(spoken):.3f} here ({_holds(max(spoken) < SAME)}), at all nu / N by {max(distances.values()):.3f}."
        )
    return "\n".join(f"- {line}" for line in lines)


def _holds(true: bool) -> str:
    """Return whether it is as printed."""
    return "so it is" if true else "not so"


BROWN = 0.35
"""BrownBoost's c in figure 3, which print chose by cross-validation."""

CLOCKS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Values of c from which cross-validation chooses here."""


def _margin_units(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(1 if quick else 10):
        yield {"part": "c", "seed": seed}
        for nu in (200,) if quick else (200, 175, 150):
            yield {"part": "margins", "seed": seed, "nu": nu}


def _margins(part: str, seed: int, nu: int = 200) -> Mapping[str, Any]:
    """Return soft margins by rounds of four boosters, or the c that cross-validation chooses for BrownBoost."""
    X, y = (array[:TRAIN] for array in _draw(seed)[:2])
    if part == "c":
        return _clock(X, y, seed)
    lp = boost("lpboost", RawFeatures(X, y), nu=nu, epsilon=0.01)
    g = lp.class_certificate.lower
    smooth: dict[str, Any] = {"kappa": nu / TRAIN, "gamma": g / 2, "theta": (g / 2) / (2 + g / 2)}
    runs = {
        "LPBoost": lp,
        "SoftBoost": boost("softboost", RawFeatures(X, y), nu=nu, epsilon=0.01),
        "BrownBoost": boost("brownboost", RawFeatures(X, y), time=BROWN, nu=nu, max_rounds=1000),
        "SmoothBoost": boost("smoothboost", RawFeatures(X, y), **smooth, nu=nu, max_rounds=100_000),
    }
    result: Result = {"g": g, "best": _interval(boost("lpboost", RawFeatures(X, y), nu=nu, epsilon=1e-6))}
    for name, run in runs.items():
        margins = run.trace["soft_margin"]
        result[name] = {
            "rounds": run.rounds,
            "end": run.reason.partition(";")[0],
            "last": float(margins[-1]),
            **_thinned(margins),
        }
        result[name]["tenth"] = float(margins[min(10, len(margins)) - 1])
    for name in ("LPBoost", "SoftBoost"):
        result[name]["interval"] = _interval(runs[name])
    return result


def _clock(X: Float[Array, "N features"], y: Int8[Array, " N"], seed: int) -> Result:
    """Return BrownBoost's errors in five-fold cross-validation for each c."""
    folds = fold_numbers(y, 5, seed)
    errors = list[float]()
    for c in CLOCKS:
        error_count = 0
        for fold in range(5):
            is_training = folds != fold
            run = boost("brownboost", RawFeatures(X[is_training], y[is_training]), time=c, max_rounds=1000)
            error_count += int((run.predict(X[~is_training]) != y[~is_training]).sum())
        errors.append(error_count / len(y))
    return {"errors": round_digits(errors), "chosen": CLOCKS[int(np.argmin(errors))]}


def _margins_written(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    axis = printed_numbers("N_figures_2_3_axes")["figures"]["3"]
    margin_units = results.select(part="margins", nu=axis["nu"])
    if not margin_units:
        return "No unit at the printed nu is finished."
    figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    for position, (_, result) in enumerate(margin_units):
        for name, (color, line) in STYLES.items():
            curve = result[name]
            look = {"lw": 0.6, "alpha": 0.4} if position else {"lw": 1.6, "label": name}
            axes.semilogx(curve["at"], curve["margins"], line, color=color, **look)
            axes.plot(curve["at"][-1], curve["last"], "o", color=color, ms=2 if position else 4)
    ticks = axis["y ticks"]
    axes.set(xlabel="number of iterations", ylabel=axis["y"], xlim=(1, 10_000), ylim=(ticks[0], ticks[-1]))
    axes.legend(frameon=False, loc="upper left")
    image = picture(folder, "N_figure_3", figure, "Soft margin against rounds of four boosters")
    rows = [
        [
            nu,
            len(units := [r for _, r in results.select(part="margins", nu=nu)]),
            span((r["best"][1] for r in units), ".4f"),
            *(
                f"{span((r[name]['rounds'] for r in units), '.0f')}; {span((r[name]['last'] for r in units), '.4f')}"
                for name in STYLES
            ),
        ]
        for nu in _decreasing(results)
    ]
    gaps = [r[n]["interval"][1] - r[n]["interval"][0] for _, r in results.select(part="margins") for n in CERTIFIED]
    header = ["nu", "seeds", "best", *(f"{name}: rounds; soft margin" for name in STYLES)]
    return (
        f"The data are those of figure 2. nu is {axis['nu']}, delta {axis['delta']:g}. BrownBoost has c = {BROWN}; "
        f"SmoothBoost has g from LPBoost, gamma = g/2, theta = (g/2)/(2 + g/2) and kappa = nu / N. LPBoost and "
        f"SoftBoost certify their soft margin over the class: the largest gap is {max(gaps):.4f}. Axes are printed, "
        f"but for the rounds, which go on to 10,000. Thick, the first seed; thin, the others; dots where runs end.\n\n"
        f"{_margin_verdicts(results, axis['nu'])}\n\n{image}\n\n{table(header, rows)}\n\n"
        "“Best” is the largest soft margin over the class, certified."
    )


def _decreasing(results: Results) -> list[int]:
    """Return the values of nu, the largest first."""
    return sorted({p["nu"] for p, _ in results.select(part="margins")}, reverse=True)


def _slower(results: Results) -> list[bool]:
    """Return of each seed with all values of nu whether SmoothBoost's rounds rise as nu falls."""
    nus, slower = _decreasing(results), list[bool]()
    for seed in sorted({p["seed"] for p, _ in results.select(part="margins")}):
        units = [r for nu in nus for _, r in results.select(part="margins", nu=nu, seed=seed)]
        if len(units) == len(nus) > 1:
            slower.append(all(a["SmoothBoost"]["rounds"] < b["SmoothBoost"]["rounds"] for a, b in pairwise(units)))
    return slower


def _times(r: Mapping[str, Any], name: str) -> float:
    """Return the rounds of a booster over those of LPBoost."""
    return r[name]["rounds"] / r["LPBoost"]["rounds"]


def _remaining_time(r: Mapping[str, Any], name: str) -> float:
    """Return by how much the last soft margin of a booster is below the best."""
    return r["best"][1] - r[name]["last"]


STATEMENTS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "SoftBoost and LPBoost need about as many rounds: a factor of 1.5.": lambda r: (
        2 / 3 <= _times(r, "SoftBoost") <= 1.5
    ),
    "SoftBoost starts more slowly: its soft margin after ten rounds is smaller.": lambda r: (
        r["SoftBoost"]["tenth"] < r["LPBoost"]["tenth"]
    ),
    "SmoothBoost takes dramatically longer: ten times the rounds.": lambda r: _times(r, "SmoothBoost") >= 10,
    "SmoothBoost nearly reaches the best soft margin: within delta.": lambda r: (
        _remaining_time(r, "SmoothBoost") <= 0.01
    ),
    "BrownBoost ends in fewer rounds than LPBoost.": lambda r: _times(r, "BrownBoost") < 1,
    "BrownBoost does not maximize the soft margin: it ends below the others.": lambda r: (
        r["BrownBoost"]["last"] == min(r[name]["last"] for name in STYLES)
    ),
}
"""The printed statements about figure 3, as conditions on the runs with a seed."""


def _margin_verdicts(results: Results, nu: int) -> str:
    """Return what the text of print says of the figure, and with how many seeds it is so."""
    units = [r for _, r in results.select(part="margins", nu=nu)]
    quotients, longer = ([_times(r, name) for r in units] for name in ("SoftBoost", "SmoothBoost"))
    short, remaining = ([_remaining_time(r, name) for r in units] for name in ("SmoothBoost", "BrownBoost"))
    n_near, slow, long, close, fewer, least_margin = (
        f"{sum(map(holds, units))} of {len(units)} seeds" for holds in STATEMENTS.values()
    )
    lines = [
        f"LPBoost and SoftBoost need about as many rounds: SoftBoost {span(quotients, '.2f')} times those of LPBoost, "
        f"within a factor 1.5 with {n_near}.",
        f"SoftBoost starts more slowly: after ten rounds its soft margin is below LPBoost's with {slow}.",
        f"SmoothBoost takes dramatically longer: {span(longer, '.0f')} times the rounds of LPBoost, ten times or more "
        f"with {long}. It nearly gets there: it ends {span(short, '.4f')} below the "
        f"best, within delta with {close}.",
        f"BrownBoost ends in fewer rounds than LPBoost with {fewer}. It does not maximize the soft margin: it "
        f"ends {span(remaining, '.4f')} below the best, and below the three others with {least_margin}.",
    ]
    smaller = _decreasing(results)
    if slower := _slower(results):
        lines.append(
            f"SmoothBoost is slower still for smaller nu: its rounds rise from nu = {', '.join(map(str, smaller))} "
            f"with {sum(slower)} of {len(slower)} seeds."
        )
    chosen_c = [r["chosen"] for _, r in results.select(part="c")]
    if chosen_c:
        lines.append(
            f"Cross-validation chooses c = {BROWN}. Here five folds choose {span(chosen_c, '.2f')} from "
            f"{', '.join(f'{c:g}' for c in CLOCKS)}; the median is {median(chosen_c):g}."
        )
    return "What print says, and what is here:\n\n" + "\n".join(f"- {line}" for line in lines)


# What print says of these


def _of_figure_1(results: Results) -> Decision | None:
    """Return whether the printed matrix takes N / 2 rounds."""
    return count_cases((_is_late(p, r) and r["LPBoost"]["in order"] for p, r in results), "matrices", always=True)


def _entries(results: Results) -> Decision | None:
    """Return whether the printed entries are those of the library's matrix."""
    small = results.select(N=8, copies=1)
    if not small:
        return None
    equal, total = _equal_entries(
        printed_numbers(printed_numbers("N_figure_1")["same_as"].removesuffix(".json")), small[0][1]["delta"]
    )
    return Decision(total == equal, f"{equal} of {total} entries")


FIGURE_1 = (
    Claim("N theorem 1", "LPBoost takes more than N / 2 rounds, and the columns in their order.", _of_figure_1),
    Claim("N figure 1 matrix", "The printed entries are those of the library's matrix.", _entries),
    counted_claim(
        "N figure 1 margin",
        "After N / 2 rounds LPBoost's margin is 0.99 or more below the best.",
        ask_each_unit(_is_far),
        "matrices",
        always=True,
    ),
)


def _of_errors(
    sentence: str,
    says: str,
    holds: Callable[[Mapping[float, float]], bool],
    ours: Callable[[Mapping[float, float]], str],
    is_weaker: bool = False,
) -> Claim:
    """Return a claim on the median errors of both boosters."""

    def decide(results: Results) -> Decision | None:
        medians = _medians({name: _by_share(results, name) for name in CERTIFIED})
        if len(medians) < len(CERTIFIED):
            return None
        words = "; ".join(f"{name}: {ours(errors)}" for name, errors in medians.items())
        return Decision(all(map(holds, medians.values())), words)

    return Claim(sentence, says, decide, is_weaker)


def _nearly_equal(results: Results) -> Decision | None:
    medians = _medians({name: _by_share(results, name) for name in CERTIFIED})
    if len(medians) < len(CERTIFIED):
        return None
    distances = _median_distances(medians)
    worst_share = max(distances, key=lambda share: distances[share])
    equal_shares = [share for share in distances if all(distances[s] < SAME for s in distances if s >= share)]
    return Decision(
        distances[worst_share] < SAME,
        f"{distances[worst_share]:.3f} apart at {worst_share:g}, less than {SAME} from {min(equal_shares):g} on",
    )


FIGURE_2 = (
    _of_errors(
        "N figure 2 small",
        f"The median error below 0.1 is over the least by more than {STABLE}, on the printed axis, as of classifiers "
        "that are not 0 everywhere.",
        lambda errors: _bad_below_a_tenth(errors) and max(_below_a_tenth(errors)) <= _end_of_axis(),
        lambda errors: f"{span(_below_a_tenth(errors), '.3f')}, least {min(errors.values()):.3f}",
    ),
    _of_errors(
        "N figure 2 small",
        f"The median error below 0.1 is over the least by more than {STABLE}, where f = 0 counts as the larger class; "
        "LPBoost is 0 on most examples there.",
        _bad_below_a_tenth,
        lambda errors: f"{span(_below_a_tenth(errors), '.3f')}, least {min(errors.values()):.3f}",
        is_weaker=True,
    ),
    _of_errors(
        "N figure 2 stable",
        f"The median error is within {STABLE} of the least from {BEGINS:g} on.",
        _begins_in_time,
        lambda e: f"from {_stable(e)[0]:g}",
    ),
    _of_errors(
        "N figure 2 large",
        f"The median error at the last nu / N is over the least by more than {STABLE}.",
        _grows_again,
        lambda errors: f"{errors[max(errors)]:.3f} at {max(errors):g}",
    ),
    Claim("N figure 2 equal", f"The medians differ by less than {SAME} at all nu / N.", _nearly_equal),
)


def _of_curves(sentence: str, says: str, holds: Callable[[Mapping[str, Any]], bool]) -> Claim:
    """Return a claim on the curves of figure 3, at the printed nu."""
    nu = printed_numbers("N_figures_2_3_axes")["figures"]["3"]["nu"]
    return counted_claim(sentence, says, ask_each_unit(holds, part="margins", nu=nu))


def _chosen_clock(results: Results) -> Decision | None:
    chosen_c = [r["chosen"] for _, r in results.select(part="c")]
    if not chosen_c:
        return None
    is_between = min(chosen_c) <= BROWN <= max(chosen_c)
    return Decision(is_between, f"{span(chosen_c, '.2f')}, median {median(chosen_c):g}", f"{BROWN}")


FIGURE_3 = (
    *(
        _of_curves(f"N figure 3 {word}", says, holds)
        for word, (says, holds) in zip(
            ("rounds", "start", "longer", "near", "fewer", "below"), STATEMENTS.items(), strict=True
        )
    ),
    counted_claim("N figure 3 slower", "SmoothBoost's rounds rise from each nu to the next smaller one.", _slower),
    Claim("N figure 3 c", "0.35 is in the range of what five folds choose.", _chosen_clock),
)


EXPERIMENTS = (
    Experiment(
        name="N_figure_1",
        title="Figure 1: LPBoost needs N / 2 rounds",
        source=f"{SOURCE}, figure 1 and theorem 1",
        page="softboost",
        units=_worst_units,
        work=_worst,
        write_page=_worst_written,
        claims=FIGURE_1,
    ),
    Experiment(
        name="N_figure_2",
        title="Figure 2: test error against nu / N",
        source=f"{SOURCE}, figure 2",
        page="softboost",
        units=_error_units,
        work=_errors,
        write_page=_errors_written,
        claims=FIGURE_2,
    ),
    Experiment(
        name="N_figure_3",
        title="Figure 3: soft margin against rounds",
        source=f"{SOURCE}, figure 3",
        page="softboost",
        units=_margin_units,
        work=_margins,
        write_page=_margins_written,
        claims=FIGURE_3,
    ),
)
