"""Raetsch, Onoda and Mueller 2001, figures 2, 4, 7 and 8: AdaBoost round by round, with noise and without."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import (
    Ask,
    Parameters,
    Results,
    ask_each_unit,
    counted_claim,
    printed_numbers,
    round_digits,
)
from benchmarks.evidence.pages import picture, span, table
from benchmarks.evidence.soft_margins_toy import (
    FILE,
    NEAR,
    PATTERNS,
    STEPS,
    StoredFunction,
    boosted,
    figure_of,
    first_of,
    heights_apart,
    in_print,
    log_odds,
    margins_of,
    of_seeds,
    on_grid,
    toy,
)
from boostopt._utils.array_types import Array, Float
from boostopt.oracles.rbf.network_fitting import fit_rbf
from boostopt.oracles.rbf.rbf_oracle import RBFHypothesis
from boostopt.pictures import decision_regions, margin_distributions

# Figure 2: weights and decision lines, round by round.

STAGES_2 = 1, 2, 3, 5, 10, 100
BAGGED = 10, 100


def _units_2(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(1 if quick else 5):
        yield {"seed": seed, "K": 13}


def _rounds_2(seed: int, K: int) -> Mapping[str, Any]:
    """Return weights, decisions and errors of AdaBoost after some rounds, and of bagging beside it."""
    toy_data = toy("banana", 0.0, seed)
    run, rng = boosted(toy_data, K, STAGES_2[-1], seed, history=True), np.random.default_rng(seed)
    networks = [
        fit_rbf(toy_data.X, toy_data.y, rng.multinomial(PATTERNS, np.full(PATTERNS, 1 / PATTERNS)).astype(np.float64),
                K=K, iterations=STEPS, random_state=rng)
        for _ in range(BAGGED[-1])
    ]  # fmt: skip
    result: dict[str, Any] = {"X": [round_digits(x, 4) for x in toy_data.X], "y": toy_data.y.tolist(), "stages": {}}
    for k in STAGES_2:
        stood = run.at_round(k)
        d = np.sort(stood.d)[::-1]
        stage: dict[str, Any] = {
            "d": round_digits(stood.d, 4),
            "heaviest": float(d[: PATTERNS // 10].sum()),
            "error": float(run.trace["test_error"][k - 1]),
        }
        if seed == 0:
            stage["f"] = on_grid(stood.decision_function, toy_data.X)
        if k in BAGGED:
            members = networks[:k]

            def bagging(X: Float[Array, "n 2"], members: Sequence[Any] = members) -> Float[Array, " n"]:
                return np.mean([np.sign(network.value(X)) for network in members], axis=0)

            stage["bagging"] = float(np.mean(toy_data.y_test * bagging(toy_data.X_test) <= 0))
            if seed == 0:
                stage["bagging_f"] = on_grid(bagging, toy_data.X)
        result["stages"][str(k)] = stage
    if seed == 0:
        single = [h for h in run.hypotheses[:5] if isinstance(h, RBFHypothesis)]
        result["single"] = [on_grid(lambda X, h=h: np.clip(h.network.value(X), -1, 1), toy_data.X) for h in single]
    return result


def _picture_2(first: Mapping[str, Any], folder: Path) -> str:
    import matplotlib.pyplot as plt

    X, y = np.array(first["X"]), np.array(first["y"])
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 7), layout="constrained", sharex=True, sharey=True)
    for axis, k in zip(axes.flat, STAGES_2, strict=True):
        stage = first["stages"][str(k)]
        # The area of a marker is proportional to what is passed: its diameter is to the weight.
        decision_regions(StoredFunction(stage["f"]), X, y, np.square(stage["d"]), axes=axis)
        for single in first["single"][: k if k <= 5 else 0]:
            StoredFunction(single).line(axis, "-.")
        if "bagging_f" in stage:
            StoredFunction(stage["bagging_f"]).line(axis, ":", "#d55e00", 1.6)
        axis.set(title=f"after {k} round{'s' if k > 1 else ''}")
        axis.label_outer()
    return picture(folder, "R_figure_2", figure, "Weights of the patterns and decision lines after six rounds")


def _concentrates(r: Mapping[str, Any]) -> bool:
    """Return whether the heaviest tenth has more weight after 100 rounds than after the first."""
    return r["stages"]["100"]["heaviest"] > r["stages"]["1"]["heaviest"]


def _written_2(results: Results, folder: Path) -> str:
    units = results.select(seed=0)
    image = _picture_2(units[0][1], folder) if units else ""
    rows = list[list[str]]()
    for k in STAGES_2:
        stages = [result["stages"][str(k)] for _, result in results]
        bagging = [stage["bagging"] for stage in stages if "bagging" in stage]
        rows.append([str(k), span([s["heaviest"] for s in stages]), span([s["error"] for s in stages]),
                     span(bagging) if bagging else ""])  # fmt: skip
    grown = [_concentrates(r) for _, r in results]
    worse = [r["stages"]["100"]["error"] > r["stages"]["100"]["bagging"] for _, r in results]
    return (
        f"AdaBoost with RBF networks of 13 centres on 300 rows of the set banana; networks have {STEPS} steps of "
        "conjugate gradients on all of this page. Diameters are proportional to "
        "weights; black is the line of the ensemble, dash-dotted those of the networks, dotted that of bagging. Print "
        "has no numbers here. The share of the weight that the heaviest tenth of the patterns has is larger after 100 "
        f"rounds than after the first with {of_seeds(grown)}; AdaBoost errs more than bagging after 100 rounds with "
        f"{of_seeds(worse)}. Ranges are over seeds.\n\n{image}\n\n"
        + table(["rounds", "weight of the heaviest tenth", "test error", "of bagging"], rows)
    )


# Figures 4, 7 and 8: ten thousand rounds.

CASES = (0.0, 13), (0.09, 13), (0.16, 13), (0.16, 7), (0.16, 30)
STAGES_7 = 20, 70, 200
WORDS = {"banana": "rows of banana", "arcs": "arcs"}


def _units_4(quick: bool, done: Results) -> Iterator[Parameters]:
    rounds = 200 if quick else 10_000
    for data, seeds in {"banana": 1 if quick else 3, "arcs": 1 if quick else 2}.items():
        for seed in range(seeds):
            for noise, K in CASES:
                yield {"data": data, "noise": noise, "K": K, "seed": seed, "rounds": rounds}
    if not quick:
        # The rows have noise already: this is the most that they allow without more.
        yield from ({"data": "banana", "noise": 0.0, "K": 30, "seed": seed, "rounds": rounds} for seed in range(3))


def smoothed(values: Float[Array, " t"]) -> Float[Array, " t"]:
    """Return means over the rounds within a tenth of each."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    positions = np.arange(1, len(values) + 1)
    low, high = np.floor(0.9 * positions).astype(int), np.minimum(np.ceil(1.1 * positions).astype(int), len(values))
    low = np.minimum(low, positions - 1)
    return (sums[high] - sums[low]) / (high - low)


def theorem_3(m: Float[Array, " N"], error_rates: Float[Array, " t"]) -> bool:
    """Return whether shares of small margins obey theorem 3 with phi = 1/2, from the errors of the networks."""
    for theta in (-0.2, 0.0, 0.1, 0.2, 0.3):
        log_bound = np.sum(
            math.log(2) + 0.5 * ((1 - theta) * np.log(error_rates) + (1 + theta) * np.log1p(-error_rates))
        )
        if np.mean(m <= theta) > math.exp(min(float(log_bound), 0.0)) + 1e-12:
            return False
    return True


def corollary_4(epsilon: float) -> float:
    """Return the bound of the smallest margin in the limit, from the largest error of a network, phi = 1/2."""
    A, B = -math.log(2 * epsilon), -math.log(2 * (1 - epsilon))
    return (A + B) / (A - B) if A != B else 0.0  # 1/2 - epsilon is its limit


def _long(data: str, noise: float, K: int, seed: int, rounds: int) -> Mapping[str, Any]:
    """Return what becomes of margins and test error in many rounds of AdaBoost."""
    toy_data = toy(data, noise, seed)
    run = boosted(toy_data, K, rounds, seed)
    m, error_rates = margins_of(run), (1 - run.trace["edge"]) / 2
    errors = smoothed(run.trace["test_error"])
    positions = np.unique(np.geomspace(1, run.rounds, 150).astype(int))
    epsilon = float(error_rates.max())
    early = boosted(toy_data, K, min(STAGES_7[-1], rounds), seed, history=True)
    result: dict[str, Any] = {
        "rounds": run.rounds,
        "margins": round_digits(np.sort(m), 5),
        "of_classes": [float(m[toy_data.y == label].min()) for label in (1, -1)],
        "near": int(np.sum(m <= m.min() + NEAR)),
        "corollary_4": corollary_4(epsilon),
        "theorem_3": theorem_3(m, error_rates),
        "length": float(run.record.state.weight_sum),
        "length_200": float(early.record.state.weight_sum),
        "at": positions.tolist(),
        "errors": round_digits(errors[positions - 1], 4),
        "least": [int(np.argmin(errors)) + 1, float(errors.min())],
        "last": float(errors[-1]),
        "first": float(run.trace["test_error"][0]),
    }
    if K == 30:
        for k in STAGES_7:
            stood = early.at_round(k)
            margins = stood.program.margins.margins(stood.w) / stood.w.sum()
            result[f"margins_{k}"] = round_digits(np.sort(margins), 5)
        bayes = log_odds(toy_data)
        result["bayes"] = float(np.mean(toy_data.y_test * bayes(toy_data.X_test) <= 0))
        if seed == 0:
            result |= {
                "X": [round_digits(x, 4) for x in toy_data.X],
                "y": toy_data.y.tolist(),
                "influence": round_digits(run.influence, 4),
                "f": on_grid(run.decision_function, toy_data.X),
                "bayes_f": on_grid(lambda X: np.clip(bayes(X), -5, 5), toy_data.X),
            }
    return result


def _written_4(results: Results, folder: Path) -> str:
    parts = list[str]()
    for data, words in WORDS.items():
        if units := results.select(data=data):
            parts.append(_figure_4(units, data, words, folder))
            if thirty := [(p, r) for p, r in units if p["K"] == 30]:
                parts += [_figure_7(thirty, data, words, folder), _figure_8(thirty, data, words, folder)]
    about = (
        "The toy data of print are the set banana, distorted by uniform noise on the inputs whose scale print leaves "
        "open: it is read as a variance, sigma^2, of each input, and no label is turned over. The published rows of "
        "banana are noisy as they are (the best error is about 0.1); the noise is added to them. So that there are "
        "data without it too, two arcs of our own are taken besides. 300 patterns to learn from, 2000 to test on; "
        "ranges are over seeds, curves of the first. No oracle can tell that it found the best network, so that the "
        "margins are those of the runs, not of the class."
    )
    return "\n\n".join([about, *parts])


Found = list[tuple[Parameters, dict[str, Any]]]


def _select_units(units: Found, **selection: Any) -> Found:
    return [(p, r) for p, r in units if all(p[name] == value for name, value in selection.items())]


def _falls(units: Found, cases: Sequence[tuple[float, int]]) -> list[bool]:
    """Return for each seed with all of some cases whether the smallest margin falls from each to the next."""
    verdicts = list[bool]()
    for seed in sorted({p["seed"] for p, _ in units}):
        selections = [_select_units(units, seed=seed, noise=noise, K=K) for noise, K in cases]
        if all(selections):
            smallest = [one[0][1]["margins"][0] for one in selections]
            verdicts.append(all(a > b for a, b in itertools.pairwise(smallest)))
    return verdicts


def _is_long(r: Mapping[str, Any]) -> bool:
    """Return whether |b| is above the printed length after 200 rounds."""
    return r["length_200"] > in_print("note 3", "|b| after 200")


def _figure_4(units: Found, data: str, words: str, folder: Path) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
    for axis, cases in (axes[0], CASES[:3]), (axes[1], (CASES[3], CASES[2], CASES[4])):
        curves = dict[str, Any]()
        for noise, centres in cases:
            if selected := _select_units(units, noise=noise, K=centres):
                curves[f"{noise:.0%}, {centres} centres"] = np.array(first_of(selected)["margins"])
        if curves:
            margin_distributions(curves, axes=axis)
            axis.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    image = picture(folder, f"R_figure_4_{data}", figure, f"AdaBoost's margins by noise and by centres, {words}")
    rows = list[list[str]]()
    for noise, centres in sorted({(p["noise"], p["K"]) for p, _ in units}):
        selected = [r for _, r in _select_units(units, noise=noise, K=centres)]
        rows.append([
            f"{noise:.0%}, {centres} centres",
            span([r["margins"][0] for r in selected]),
            span([r["corollary_4"] for r in selected]),
            span([r["near"] for r in selected], "d"),
            span([abs(r["of_classes"][0] - r["of_classes"][1]) for r in selected], ".4f"),
            span([r["length_200"] for r in selected], ".0f"),
            span([r["length"] for r in selected], ".0f"),
        ])  # fmt: skip
    noisy, larger = _falls(units, CASES[:3]), _falls(units, (CASES[4], CASES[2], CASES[3]))
    rounds = span([r["rounds"] for _, r in units], ",d")
    printed_least = in_print("note 3", "|b| after 200")
    head = ["noise, network", "smallest margin", "corollary 4", f"patterns within {NEAR}", "classes apart",
            f"length of b after 200 (print: often above {printed_least})", "in the end"]  # fmt: skip
    long = [_is_long(r) for _, r in units]
    return (
        f"### Figure 4, {words}\n\nMargins after {rounds} rounds (print: {in_print(4, 'AdaBoost iterations'):,}). The "
        f"smallest margin falls with the noise with {of_seeds(noisy)}, and grows with the centres with "
        f"{of_seeds(larger)}; print says both. Corollary 4 bounds it from below in the limit, by the largest error of "
        f"a network; theorem 3 holds in {sum(r['theorem_3'] for _, r in units)} of {len(units)} runs. The step is the "
        "patterns near the smallest margin; those of both classes are to come to the same (lemma 5). Print has the "
        f"length of b above {printed_least} often after 200 rounds: here in {sum(long)} of {len(long)} runs.\n\n"
        f"{image}\n\n" + table(head, rows)
    )


def _figure_7(units: Found, data: str, words: str, folder: Path) -> str:
    import matplotlib.pyplot as plt

    noisy = _select_units(units, noise=0.16) or units
    figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
    first = first_of(noisy)
    stages = {f"{k} rounds": np.array(first[f"margins_{k}"]) for k in STAGES_7}
    margin_distributions({**stages, f"{first['rounds']:,} rounds in all": np.array(first["margins"])}, axes=axis)
    axis.legend(frameon=False, fontsize=8)
    image = picture(folder, f"R_figure_7_{data}", figure, f"AdaBoost's margins after four numbers of rounds, {words}")
    rows = list[list[str]]()
    for name in (*(f"margins_{k}" for k in STAGES_7), "margins"):
        margins_of_runs = [np.array(r[name]) for _, r in noisy]
        all_rounds = span([r["rounds"] for _, r in noisy], ",d")
        label = name.removeprefix("margins_") if "_" in name else f"{all_rounds} in all"
        rows.append([
            label,
            span([float(m[0]) for m in margins_of_runs]),
            span([float(np.median(m)) for m in margins_of_runs]),
            span([float(np.ptp(np.quantile(m, (0.05, 0.8)))) for m in margins_of_runs]),
        ])  # fmt: skip
    late = [r for _, r in noisy if r["rounds"] > STAGES_7[-1]]
    sentence = ""
    if late:
        sentence = (
            f" Here the largest difference of the heights of both is {span(map(_to_come, late), '.2f')}, within "
            f"{ALMOST} with {of_seeds([_to_come(r) <= ALMOST for r in late])}. Of the smallest margin, what is gained "
            f"after round 200 is {span(map(_gained_late, late), '.2f')} times what is gained from round 20 to 200."
        )
    return (
        f"### Figure 7, {words}\n\n30 centres, sigma^2 = 16 %. Print calls the distribution after 200 rounds almost "
        f"the asymptotic one.{sentence}\n\n{image}\n\n"
        + table(["rounds", "smallest margin", "median", "from the 5 % to the 80 % quantile"], rows)
    )


ALMOST = 0.1
"""The difference of the heights of two distributions that are called almost the same."""


def _to_come(r: Mapping[str, Any]) -> float:
    """Return the largest difference of the heights of the margins after round 200 and in the end."""
    return heights_apart(r["margins_200"], r["margins"])


def _gained_late(r: Mapping[str, Any]) -> float:
    """Return what the smallest margin gains after round 200, as a share of what it gains from round 20 to 200."""
    return (r["margins"][0] - r["margins_200"][0]) / (r["margins_200"][0] - r["margins_20"][0])


def _overfits(r: Mapping[str, Any]) -> bool:
    """Return whether the test error rises in the end."""
    return r["last"] > r["least"][1] + 0.005


def _in_time(r: Mapping[str, Any]) -> bool:
    """Return whether the least test error comes at about the printed number of rounds."""
    printed_round = in_print(8, "iterations of least")
    return 0.5 * printed_round <= r["least"][0] <= 2 * printed_round


def _figure_8(units: Found, data: str, words: str, folder: Path) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
    for (p, r), color in zip(
        sorted(_select_units(units, seed=0), key=lambda pair: -pair[0]["noise"]), "kb", strict=False
    ):
        axes[0].semilogx(r["at"], r["errors"], color=color, label=f"noise added {p['noise']:.0%}")
        axes[0].axhline(r["bayes"], color=color, ls=":", lw=1)
    axes[0].set(xlabel="rounds", ylabel="test error, smoothed")
    if axes[0].lines:
        axes[0].legend(frameon=False)
    if selected := _select_units(units, seed=0, noise=0.16):
        r = selected[0][1]
        X = np.array(r["X"])
        decision_regions(StoredFunction(r["f"]), X, np.array(r["y"]), axes=axes[1])
        support = np.array(r["influence"]) > 1 / PATTERNS
        axes[1].plot(*X[support].T, "o", ms=8, mfc="none", mec="k", mew=0.7)
        StoredFunction(r["bayes_f"]).line(axes[1], "--", "k", 1.6)
    image = picture(folder, f"R_figure_8_{data}", figure, f"Test error against rounds, and the decision line, {words}")
    rows = list[list[str]]()
    for noise in sorted({p["noise"] for p, _ in units}):
        selected_results = [r for _, r in _select_units(units, noise=noise)]
        rows.append([
            f"{noise:.0%}",
            span([r["first"] for r in selected_results]),
            span([r["least"][1] for r in selected_results]),
            span([r["least"][0] for r in selected_results], ",d"),
            span([r["last"] for r in selected_results]),
            span([r["bayes"] for r in selected_results]),
        ])  # fmt: skip
    rises, late = ([holds(r) for _, r in units] for holds in (_overfits, _in_time))
    printed_least = in_print(8, "iterations of least")
    round_text = f"at round (print: about {printed_least})"
    head = ["noise added", "first network", "least", round_text, "in the end", "the best line, about"]
    of_banana = next(row for row in printed_numbers("R_table1")["rows"] if row["set"] == "Banana")
    single, ada = (of_banana[method][0] for method in ("RBF", "AB"))
    return (
        f"### Figure 8, {words}\n\n30 centres. Test errors are smoothed, over the rounds within a tenth of each, but "
        f"for that of the first network. Overfitting, a test error in the end that is more than 0.005 above its "
        f"least, is in {sum(rises)} of {len(rises)} runs. The least lies between half and twice the printed number of "
        f"rounds in {sum(late)} of {len(late)}. Table 1 of print has the single network at {single} % on banana and "
        f"AdaBoost at {ada} % after 200 rounds. Circles: patterns with more than an equal share of the influence; "
        "dashed, the line of densities estimated from 3000 other patterns; dotted, its test error.\n\n"
        f"{image}\n\n" + table(head, rows)
    )


# What print says of these


def _all_falls(cases: Sequence[tuple[float, int]]) -> Ask:
    """Return what asks whether the smallest margin falls from case to case, for each of the data and seeds."""
    return lambda results: [fell for data in WORDS for fell in _falls(results.select(data=data), cases)]


FIGURE_2 = (
    counted_claim(
        "R figure 2",
        "The heaviest tenth of the patterns has more weight after 100 rounds than after the first.",
        ask_each_unit(_concentrates),
    ),
)

FIGURES_4_7_8 = (
    counted_claim("R figure 4 noise", "The smallest margin is less at each higher noise.", _all_falls(CASES[:3])),
    counted_claim(
        "R figure 4 centres",
        "The smallest margin is larger at each higher number of centres.",
        _all_falls((CASES[4], CASES[2], CASES[3])),
    ),
    counted_claim(
        "R theorem 3",
        "On every run the product bounds the share of small margins.",
        ask_each_unit(lambda r: r["theorem_3"]),
        always=True,
        noun="runs",
    ),
    counted_claim(
        "R lemma 5",
        "The smallest margins of the classes are nearly the same in the end.",
        ask_each_unit(lambda r: abs(r["of_classes"][0] - r["of_classes"][1]) < NEAR / 2),
        noun="runs",
    ),
    counted_claim(
        "R note 3",
        "|b| is above 100 after 200 rounds.",
        ask_each_unit(_is_long),
        noun="runs",
    ),
    counted_claim(
        "R figure 7",
        f"The distributions of margins after 200 rounds and in the end differ by {ALMOST} at most.",
        lambda results: [
            _to_come(r) <= ALMOST for _, r in results.select(K=30, noise=0.16) if r["rounds"] > STAGES_7[-1]
        ],
    ),
    counted_claim(
        "R figure 8 overfits",
        "The test error in the end is above the least of the run.",
        ask_each_unit(_overfits, K=30, noise=0.16),
        noun="runs",
    ),
    counted_claim(
        "R figure 8 time",
        "The least test error is after 40 to 160 rounds.",
        ask_each_unit(_in_time, K=30, noise=0.16),
        noun="runs",
    ),
)

EXPERIMENTS = (
    figure_of("2", "weights and decision lines", _units_2, _rounds_2, _written_2, (FILE,), FIGURE_2),
    figure_of("4, 7 and 8", "margins, noise and overfitting", _units_4, _long, _written_4, (FILE,), FIGURES_4_7_8),
)
