"""Raetsch, Onoda and Mueller 2001, figures 3, 11 and 13: losses, AdaBoost_REG, LP_REG and QP_REG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import (
    Claim,
    Decision,
    Parameters,
    Results,
    ask_each_unit,
    counted_claim,
    of_last,
    round_digits,
)
from benchmarks.evidence.pages import picture, span, table
from benchmarks.evidence.soft_margins_adaboost import ALMOST
from benchmarks.evidence.soft_margins_toy import (
    CENTRES,
    FILE,
    PATTERNS,
    STEPS,
    boosted,
    figure_of,
    first_of,
    heights_apart,
    in_print,
    margins_of,
    of_seeds,
    toy,
)
from boostopt import get_formulation
from boostopt._utils.array_types import Array, Float
from boostopt.boosting.boosters.adaboost_reg import RegularizedFunctional
from boostopt.estimators import RBFNetworkClassifier
from boostopt.oracles.feature_validation import evaluate
from boostopt.pictures import margin_distributions

# Figure 3: losses.

LENGTHS = 3, 5, 10, 100
PHIS = {"1/3": 1 / 3, "1/2": 1 / 2, "2/3": 2 / 3}
HIGHEST = 5.0
"""The largest loss in a picture."""


def _units_3(quick: bool, done: Results) -> Iterator[Parameters]:
    yield {"lengths": LENGTHS, "phis": list(PHIS)}


def loss(rho: Float[Array, " k"], length: float, phi: float) -> Float[Array, " k"]:
    """Return AdaBoost's error at margins, |b| being the length."""
    return np.exp(-length * (rho / 2 - (0.5 - phi)))


def _losses(lengths: Sequence[int], phis: Sequence[str]) -> Mapping[str, Any]:
    """Return the losses at margins, where those of AdaBoost are 1, and how wide their steps are."""
    rho, zero = np.linspace(-1, 1, 201), np.zeros(1)
    agrees = max(
        abs(RegularizedFunctional(zero, np.array([b * m]), zero, float(b), zero, zero, 0.0, 1.0).log_value(0.0)
            - math.log(loss(np.array([m]), b, 0.5)[0]))
        for b in lengths for m in rho.tolist()
    )  # fmt: skip
    ours = {p: {str(b): round_digits(np.minimum(loss(rho, b, PHIS[p]), 2 * HIGHEST), 4) for b in lengths} for p in phis}
    fine = np.linspace(-1, 1, 200_001)
    widths, crossings = dict[str, float](), dict[str, dict[str, float]]()
    for p in phis:
        crossed = {str(b): fine[np.argmax(loss(fine, b, PHIS[p]) <= 1 + 1e-9)] for b in lengths}
        crossings[p] = {b: round(float(location), 4) for b, location in crossed.items()}
    for b in lengths:
        transition = fine[(loss(fine, b, 0.5) < 2) & (loss(fine, b, 0.5) > 0.5)]
        widths[str(b)] = round(float(np.ptp(transition)), 4)
    factor = loss(np.array([0.2]), 100, 0.5)[0] / loss(np.array([0.3]), 100, 0.5)[0]
    return {
        "rho": round_digits(rho, 4),
        "losses": ours,
        "one_at": crossings,
        "widths": widths,
        "factor": factor,
        "apart": agrees,
    }


def _written_3(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    result = next(iter(results))[1]
    rho = np.array(result["rho"])
    positive = rho > 0
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    for axis in axes:
        axis.plot(rho, rho <= 0, color="0.5", lw=2.5, label="0/1")
        axis.plot(rho, (1 - rho) ** 2, ":", color="0.3", label="squared")
        axis.plot(rho[positive], -np.log2(rho[positive]), "--", color="0.3", label="Kullback-Leibler")
        axis.set(xlabel=r"margin $y\,f(x)$", ylim=(0, HIGHEST / 1.6))
    for probability, axis in (("1/2",), axes[0]), (("1/3", "2/3"), axes[1]):
        for phi, style in zip(probability, ("-", "-."), strict=False):
            for b, color in zip(LENGTHS, ("#56b4e9", "#0072b2", "#d55e00", "#000000"), strict=True):
                name = rf"$\phi$ = {phi}, $|b|$ = {b}"
                axis.plot(rho, result["losses"][phi][str(b)], style, color=color, lw=1.1, label=name)
        axis.legend(frameon=False, fontsize=7)
    axes[0].set_ylabel("loss")
    image = picture(folder, "R_figure_3", figure, "Losses against the margin, AdaBoost's for four lengths of b")
    max_error = _max_crossing_error(result)
    rows = [[str(b), f"{result['widths'][str(b)]:.4f}", f"{4 * math.log(2) / b:.4f}"] for b in LENGTHS]
    return (
        r"Losses as functions of the margin; AdaBoost's error is $\exp(-\lvert b\rvert(\rho/2-(1/2-\phi)))$, with "
        "the half that print lacks in (2), and the Kullback-Leibler error has the minus that it lacks in the text. At "
        f"phi = 1/2 it is the term of the functional of the package, up to {result['apart']:.0e} in logarithms. Every "
        f"curve is 1 at 1 - 2 phi, up to {max_error:.0e}; the longer b, the steeper the step there. Between margins "
        f"0.2 and 0.3 it falls by the factor {result['factor']:.1f} at a length of 100; in print: "
        f"{in_print('2.4.2', 'factor')}.\n\n{image}\n\n"
        + table(["length of b", "width from loss 2 to 1/2", "4 ln 2 / length"], rows)
    )


def _max_crossing_error(result: Mapping[str, Any]) -> float:
    """Return how far from 1 - 2 phi a curve is 1, at most."""
    return max(
        abs(location - (1 - 2 * PHIS[p])) for p, crossed in result["one_at"].items() for location in crossed.values()
    )


# Figure 11: AdaBoost_REG. Figure 13: LP_REG and QP_REG.

SOFTNESS = 0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0
SINGLE = 7, 13, 20, 30


def _units_11(quick: bool, done: Results) -> Iterator[Parameters]:
    rounds = 100 if quick else 1000
    for seed in range(1 if quick else 3):
        yield from ({"kind": "network", "K": K, "seed": seed} for K in SINGLE)
        for C in (0.0, 0.01, 0.3) if quick else SOFTNESS:
            yield {"kind": "AdaBoost_REG", "C": C, "K": CENTRES, "seed": seed, "rounds": rounds}


def _run_softened(kind: str, K: int, seed: int, C: float = 0.0, rounds: int = 0) -> Mapping[str, Any]:
    """Return margins and test error of a network, its outputs scaled, or of AdaBoost_REG, C being in N^2."""
    toy_data = toy("banana", 0.0, seed)
    if kind == "network":
        network = RBFNetworkClassifier(K=K, iterations=STEPS, random_state=seed).fit(toy_data.X, toy_data.y)
        f = network.decision_function(toy_data.X)
        m, error = toy_data.y * f / np.abs(f).max(), float(np.mean(network.predict(toy_data.X_test) != toy_data.y_test))
        return {"margins": round_digits(np.sort(m), 5), "error": error}
    run = boosted(toy_data, K, rounds, seed, C * PATTERNS**2)
    error = float(run.trace["test_error"][-1])
    return {"margins": round_digits(np.sort(margins_of(run)), 5), "error": error, "rounds": run.rounds}


def margin_distances(m: Sequence[float], network: Sequence[float]) -> tuple[float, float]:
    """Return the largest difference of two distributions of margins, and that at the scale of a network's that is best.

    Margins are in ascending order.
    """
    scaled = (heights_apart(m, scale * np.asarray(network)) for scale in np.geomspace(0.1, 10.0, 121).tolist())
    return heights_apart(m, network), min(scaled)


Distances = dict[int, dict[float, tuple[float, float]]]
"""The distances of AdaBoost_REG's margins to those of the network, for each seed and C."""


def _distances(results: Results) -> Distances:
    distances_by_case: Distances = {}
    for p, r in results.select(kind="AdaBoost_REG"):
        if network_units := results.select(kind="network", K=p["K"], seed=p["seed"]):
            distances_by_case.setdefault(p["seed"], {})[p["C"]] = margin_distances(
                r["margins"], network_units[0][1]["margins"]
            )
    return distances_by_case


def _nearest(distances: Distances, k: int) -> list[tuple[float, float, bool]]:
    """Return of each seed the least distance over C > 0, where it is, and whether it is less than AdaBoost's."""
    whole = [by_parameter for by_parameter in distances.values() if 0.0 in by_parameter and len(by_parameter) > 1]
    best = [min((distance[k], C) for C, distance in by_parameter.items() if C > 0) for by_parameter in whole]
    return [
        (least_distance, C, least_distance < by_parameter[0.0][k])
        for (least_distance, C), by_parameter in zip(best, whole, strict=True)
    ]


def _written_11(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    single = {f"{K} centres": results.select(kind="network", K=K) for K in SINGLE}
    soft = {C: results.select(kind="AdaBoost_REG", C=C) for C in SOFTNESS}
    soft = {C: units for C, units in soft.items() if units}
    curves_shown = {rf"C = {C:g} $N^2$": soft[C] for C in (0.0, 0.01, 0.03, 0.3, 3.0) if C in soft}
    for axis, curves in (axes[0], {name: units for name, units in single.items() if units}), (axes[1], curves_shown):
        if curves:
            margin_distributions(
                {name: np.array(first_of(units)["margins"]) for name, units in curves.items()}, axes=axis
            )
            axis.legend(frameon=False, fontsize=8)
    image = picture(folder, "R_figure_11", figure, "Margins of single networks, and of AdaBoost_REG for several C")
    rows = list[list[str]]()
    for name, units in single.items():
        if units:
            errors = span([r["error"] for _, r in units])
            rows.append([f"a network, {name}", span([r["margins"][0] for _, r in units]), "", "", errors])
    distances = _distances(results)
    for C, units in soft.items():
        distances_at = [by_parameter[C] for by_parameter in distances.values() if C in by_parameter]
        cells = [span([one[k] for one in distances_at], ".2f") if distances_at else "" for k in (0, 1)]
        smallest, errors = span([r["margins"][0] for _, r in units]), span([r["error"] for _, r in units])
        rows.append([f"AdaBoost_REG, C = {C:g} N^2", smallest, *cells, errors])
    sentences = list[str]()
    for k, words in enumerate(("at the scale of the picture", "at the best scale")):
        if best := _nearest(distances, k):
            sentences.append(
                f"{words} the least distance over C > 0 is {span([distance for distance, _, _ in best], '.2f')}, "
                f"at C = {span([C for _, C, _ in best], 'g')} N^2, and less than AdaBoost's with "
                f"{of_seeds([closer for _, _, closer in best])}"
            )
    rounds = span([r["rounds"] for _, r in results.select(kind="AdaBoost_REG")] or [0], ",d")
    head = ["classifier", "smallest margin", "distance to the network", "at the best scale", "test error"]
    return (
        "300 rows of banana; left single networks, their outputs divided by the largest, right AdaBoost_REG with p = 2 "
        f"after {rounds} rounds (print: {in_print('11,13', 'iterations')}) over networks of {CENTRES} centres; C = 0 "
        "is AdaBoost. Print names neither C nor centres nor scale here. The distance of two distributions is the "
        "largest difference of their heights; of a run it is taken to the network with as many centres. Print finds "
        f"the distribution for some C quite like that of a network: {'; '.join(sentences)}.\n\n{image}\n\n"
        + table(head, rows)
    )


NUS = 0.02, 0.1, 0.3, 0.6, 0.9
COSTS = 1e-4, 1e-3, 1e-2, 0.1, 1.0


def _units_13(quick: bool, done: Results) -> Iterator[Parameters]:
    yield from ({"seed": seed, "rounds": 100 if quick else 1000} for seed in range(1 if quick else 5))


def _programs(seed: int, rounds: int) -> Mapping[str, Any]:
    """Return margins of LP_REG and QP_REG over the networks of AdaBoost, their errors, and what is certified."""
    toy_data = toy("banana", 0.0, seed)
    run = boosted(toy_data, CENTRES, rounds, seed)
    U, H = run.record.pool.margins, np.column_stack(list(evaluate(run.hypotheses, toy_data.X_test)))
    result: dict[str, Any] = {"AdaBoost": float(run.trace["test_error"][-1])}
    named = [(f"LP_REG, nu = {nu:g} N", "lp_reg_adaboost", 1 / (nu * PATTERNS)) for nu in NUS]
    named += [(f"QP_REG, C = {C:g}", "qp_reg_adaboost", C) for C in COSTS]
    for name, formulation, C in named:
        # A linear program is solved to a vertex, so that margins of 1 are told from others.
        tol = 1e-9 if formulation == "lp_reg_adaboost" else 1e-6
        solution = get_formulation(formulation).bind(U, C=C).solve(tol=tol)
        w = solution.w / solution.w.sum()
        m = U.margins(w)
        result[name] = {
            "margins": round_digits(np.sort(m), 5),
            "extreme": float(np.mean(np.abs(np.abs(m) - 1) < 1e-6)),
            "networks": int(np.sum(w > 1e-6)),
            "error": float(np.mean(toy_data.y_test * (H @ w) <= 0)),
            "gap": solution.certificate.scaled_gap,
        }
    return result


def _is_extreme(r: Mapping[str, Any], kind: str) -> bool:
    """Return whether some program of a kind has margins of 1 and -1 alone."""
    return any(one["extreme"] == 1.0 for name, one in r.items() if name.startswith(kind))


def _written_13(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    first = first_of(list(results))
    names = [name for name in first if name != "AdaBoost"]
    for axis, kind in zip(axes, ("LP_REG", "QP_REG"), strict=True):
        margins_by_kind = {
            name.split(", ")[1]: np.array(first[name]["margins"]) for name in names if name.startswith(kind)
        }
        margin_distributions(margins_by_kind, axes=axis)
        axis.set_title(kind)
        axis.legend(frameon=False, fontsize=8)
    image = picture(folder, "R_figure_13", figure, "Margins of LP_REG and of QP_REG for several prices of a slack")
    rows = list[list[str]]()
    for name in names:
        errors = [r[name] for _, r in results]
        rows.append([
            name,
            span([r["margins"][0] for r in errors]),
            span([r["extreme"] for r in errors], ".2f"),
            span([r["networks"] for r in errors], "d"),
            span([r["error"] for r in errors]),
            f"{max(r['gap'] for r in errors):.0e}",
        ])  # fmt: skip
    lp_extremes, qp = ([_is_extreme(r, kind) for _, r in results] for kind in ("LP", "QP"))
    head = ["program", "smallest margin", "margins of 1 or -1", "networks with weight", "test error", "largest gap"]
    return (
        f"Both programs over the networks of {span([p['rounds'] for p, _ in results], ',d')} rounds of AdaBoost "
        f"(print: {in_print('11,13', 'iterations')}), {CENTRES} centres, 300 rows of banana; print names no C, and nu "
        "= 1/C. Print finds that LP_REG may have margins of 1 and -1 exactly: all of them are, for some nu, with "
        f"{of_seeds(lp_extremes)}; of QP_REG with "
        f"{of_seeds(qp)}. AdaBoost itself has a test error of {span([r['AdaBoost'] for _, r in results])}. Every "
        f"program is certified.\n\n{image}\n\n" + table(head, rows)
    )


# What print says of these


def _factor(result: Mapping[str, Any]) -> Decision:
    factor = result["factor"]
    return Decision(abs(factor - math.exp(5)) < 0.01, f"{factor:.1f}", in_print("2.4.2", "factor"))


def _step(result: Mapping[str, Any]) -> Decision:
    """Return whether every curve passes through 1 there, from 2 to 1/2 within a width that shrinks as one over |b|."""
    max_error, widths = _max_crossing_error(result), result["widths"]
    steep = all(abs(widths[str(b)] * b - 4 * math.log(2)) < 0.01 for b in LENGTHS)
    first, last = (widths[str(b)] for b in (LENGTHS[0], LENGTHS[-1]))
    ours = f"1 there within {max_error:.0e}; from 2 to 1/2 in {first:.2f} to {last:.2f}"
    return Decision(max_error < 1e-3 and steep, ours)


FIGURE_3 = (
    Claim("R 2.4.2 factor", "The quotient of the losses at margins 0.2 and 0.3 is e^5.", of_last(_factor)),
    Claim("R figure 3 step", "Every curve is 1 at 1 - 2 phi, in a width of 4 ln 2 / |b|.", of_last(_step)),
)

FIGURE_11 = (
    counted_claim(
        "R figure 11",
        f"For some C the distributions of margins differ by {ALMOST} at most, as in figure 7.",
        lambda results: [distance <= ALMOST for distance, _, _ in _nearest(_distances(results), 0)],
    ),
    counted_claim(
        "R figure 11",
        "For some C the margins of AdaBoost_REG are closer to those of a single network than AdaBoost's are.",
        lambda results: [closer for _, _, closer in _nearest(_distances(results), 0)],
        is_weaker=True,
    ),
)

FIGURE_13 = (
    counted_claim(
        "R figure 13",
        "For some nu all margins of LP_REG are 1 or -1.",
        ask_each_unit(lambda r: _is_extreme(r, "LP")),
    ),
)

EXPERIMENTS = (
    figure_of("3", "losses", _units_3, _losses, _written_3, claims=FIGURE_3),
    figure_of("11", "margins of AdaBoost_REG", _units_11, _run_softened, _written_11, (FILE,), FIGURE_11),
    figure_of("13", "margins of LP_REG and QP_REG", _units_13, _programs, _written_13, (FILE,), FIGURE_13),
)
