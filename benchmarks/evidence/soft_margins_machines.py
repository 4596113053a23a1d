"""Raetsch, Onoda and Mueller 2001, figures 5, 6 and 9: support vector machines beside AdaBoost, and lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import Parameters, Results, ask_each_unit, counted_claim, round_digits
from benchmarks.evidence.pages import picture, span, table
from benchmarks.evidence.soft_margins_toy import (
    FILE,
    PATTERNS,
    StoredFunction,
    Toy,
    boosted,
    figure_of,
    first_of,
    in_print,
    of_seeds,
    on_grid,
    toy,
)
from boostopt import get_formulation
from boostopt._utils.array_types import Array, Float
from boostopt.oracles.kernels.kernel import Kernel
from boostopt.oracles.rbf.rbf_oracle import RBFHypothesis
from boostopt.pictures import decision_regions, margin_distributions

# Figure 5: support vector machines. Figure 6: what they and AdaBoost rest on.

HARD = 1e6
"""The price of a slack that is none."""

PRICES = {"hard margin": HARD, "C = 0.001": 1e-3, "C = 0.1": 0.1}
WIDTHS = {"2 width^2": 1 / (2 * 0.3**2), "width": 1 / 0.3}
"""Readings of a width 0.3: what the squared distance is divided by, and gamma."""


@dataclass(frozen=True, eq=False)
class Machine:
    """A support vector machine: y f on its patterns, f elsewhere, its multipliers, and the gap that is certified."""

    margins: Float[Array, " N"]
    f: Any
    alpha: Float[Array, " N"]
    gap: float


def machine(toy_data: Toy, gamma: float, C: float) -> Machine:
    """Solve a support vector machine without a bias, certified; features are those of the kernel's matrix.

    In the customary scaling, half of the squared norm and C times the slacks.
    """
    kernel = Kernel("rbf", gamma)
    values, vectors = np.linalg.eigh(kernel.block(toy_data.X, toy_data.X))
    is_support = values > 1e-10
    features = np.clip(vectors[:, is_support] * np.sqrt(values[is_support]), -1, 1)
    solution = get_formulation("svm").bind(toy_data.y[:, None] * features, C=2 * C).solve(tol=1e-6)
    alpha = solution.d / 2

    def f(X: Float[Array, "n 2"]) -> Float[Array, " n"]:
        return kernel.block(X, toy_data.X) @ (alpha * toy_data.y)

    return Machine(toy_data.y * f(toy_data.X), f, alpha, solution.certificate.scaled_gap)


def _units_5(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(1 if quick else 10):
        for width in list(WIDTHS)[: 1 if quick else 2]:
            yield {"width": width, "seed": seed}


def _machines(width: str, seed: int) -> Mapping[str, Any]:
    """Return margins and test errors of machines with three prices."""
    toy_data, result = toy("banana", 0.0, seed), dict[str, Any]()
    for name, C in PRICES.items():
        one = machine(toy_data, WIDTHS[width], C)
        result[name] = {
            "margins": round_digits(np.sort(one.margins / np.abs(one.f(toy_data.X)).max()), 5),
            "error": float(np.mean(toy_data.y_test * one.f(toy_data.X_test) <= 0)),
            "training": float(np.mean(one.margins <= 0)),
            "vectors": int(np.sum(one.alpha > 1e-6 * one.alpha.max())),
            "gap": one.gap,
        }
    return result


def _written_5(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    widths = [width for width in WIDTHS if results.select(width=width)]
    figure, axes = plt.subplots(1, len(widths), figsize=(5 * len(widths), 3.6), layout="constrained", squeeze=False)
    rows, ratios = list[list[str]](), list[list[str]]()
    for axis, width in zip(axes.flat, widths, strict=True):
        units = results.select(width=width)
        first = first_of(units)
        margin_distributions({name: np.array(first[name]["margins"]) for name in PRICES}, axes=axis)
        axis.set_title(f"exp(-distance^2 / ({width})), width = 0.3", fontsize=9)
        axis.legend(frameon=False, fontsize=8)
        for name in PRICES:
            values = [r[name] for _, r in units]
            rows.append([
                f"{name}; {width}",
                span([r["error"] for r in values]),
                span([r["training"] for r in values]),
                span([r["vectors"] for r in values], "d"),
                f"{max(r['gap'] for r in values):.0e}",
            ])  # fmt: skip
        quotients = [r["hard margin"]["error"] / r["C = 0.1"]["error"] for _, r in units]
        twice = of_seeds([quotient > 2 for quotient in quotients])
        ratios.append([width, in_print(5, "test error of hard"), span(quotients, ".2f"), twice])
    image = picture(folder, "R_figure_5", figure, "Margins of support vector machines with three prices of a slack")
    return (
        "Support vector machines with an RBF kernel of width 0.3, which has two readings, without a bias, on 300 rows "
        "of banana; margins are divided by the largest |f|. The quotient is that of the test errors of the hard margin "
        f"and of C = 0.1.\n\n{image}\n\n"
        + table(["squared distance divided by", "quotient, print", "ours", "more than 2 with"], ratios)
        + "\n\n"
        + table(["price; width", "test error", "training error", "support vectors", "largest relative gap"], rows)
    )


FACTORS = 0.25, 0.5, 1.0, 2.0, 4.0
"""Widths of the kernel, in average widths of the networks."""


def _units_6(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(1 if quick else 6):
        yield {"seed": seed, "rounds": 100 if quick else 1000}


def _supports(seed: int, rounds: int) -> Mapping[str, Any]:
    """Return which patterns support AdaBoost, and which support machines of several widths."""
    toy_data = toy("arcs", 0.0, seed)
    run = boosted(toy_data, 13, rounds, seed)
    pairs = zip(run.hypotheses, run.w, strict=True)
    widths = [(float(np.mean(h.network.widths)), w) for h, w in pairs if isinstance(h, RBFHypothesis)]
    width = float(np.average([one for one, _ in widths], weights=[w for _, w in widths]))
    support, result = run.influence > 1 / PATTERNS, dict[str, Any]()
    for factor in FACTORS:
        one = machine(toy_data, 1 / (2 * (factor * width) ** 2), 100.0)
        vectors = one.alpha > 1e-3 * one.alpha.max()
        result[str(factor)] = {
            "vectors": int(vectors.sum()),
            "both": int(np.sum(support & vectors)),
            "either": int(np.sum(support | vectors)),
            "error": float(np.mean(toy_data.y_test * one.f(toy_data.X_test) <= 0)),
            "gap": one.gap,
        }
        if seed == 0 and factor == 1.0:
            result["drawn"] = {"vectors": np.flatnonzero(vectors).tolist(), "f": on_grid(one.f, toy_data.X)}
    result |= {"width": width, "support": np.flatnonzero(support).tolist(), "error": float(run.trace["test_error"][-1])}
    if seed == 0:
        result |= {
            "X": [round_digits(x, 4) for x in toy_data.X],
            "y": toy_data.y.tolist(),
            "f": on_grid(run.decision_function, toy_data.X),
        }
    return result


def _written_6(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    image = ""
    if units := results.select(seed=0):
        first = units[0][1]
        X, y = np.array(first["X"]), np.array(first["y"])
        figure, axes = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained", sharex=True, sharey=True)
        panels = ("AdaBoost", first["f"], first["support"]), ("SVM", first["drawn"]["f"], first["drawn"]["vectors"])
        for axis, (name, f, circled) in zip(axes, panels, strict=True):
            decision_regions(StoredFunction(f), X, y, axes=axis)
            axis.plot(*X[circled].T, "o", ms=8, mfc="none", mec="k", mew=0.8)
            axis.set_title(name)
        image = picture(
            folder, "R_figure_6", figure, "Decision lines of AdaBoost and of an SVM, and what supports them"
        )
    rows, best = list[list[str]](), [_widest(r) for _, r in results]
    for factor in FACTORS:
        values = [r[str(factor)] for _, r in results]
        rows.append([
            f"{factor:g}",
            span([r["vectors"] for r in values], "d"),
            span([r["both"] for r in values], "d"),
            span([r["both"] / r["either"] for r in values], ".2f"),
            span([r["error"] for r in values]),
            f"{max(r['gap'] for r in values):.0e}",
        ])  # fmt: skip
    head = ["kernel width, in average widths", "support vectors", "in both", "in both, of those in either",
            "test error", "largest relative gap"]  # fmt: skip
    return (
        f"Low noise: two arcs of our own without input noise, for the rows of banana have noise. AdaBoost with 13 "
        f"centres, {span([p['rounds'] for p, _ in results], 'd')} rounds, has a test error of "
        f"{span([r['error'] for _, r in results])} and {span([len(r['support']) for _, r in results], 'd')} support "
        "patterns, those with more than an equal share of the influence; the SVM has C = 100. Print has the overlap "
        "largest where the kernel is as wide as the networks on average: of the widths tried it is largest at the "
        f"average itself with {of_seeds([factor == 1.0 for factor in best])}, at "
        f"{span(best, 'g')} times it in all.\n\n{image}\n\n" + table(head, rows)
    )


def _widest(r: Mapping[str, Any]) -> float:
    """Return the width of the kernel, in average widths, with which both rest on the same patterns most."""
    return max(FACTORS, key=lambda factor: r[str(factor)]["both"] / r[str(factor)]["either"])


# Figure 9: lines of the largest margin.

SIZE, DIRECTIONS = 4.0, 64
PANELS: Mapping[str, Any] = {"reliable": (), "an outlier": ((0.7, -0.9), 1.0), "a wrong label": ((0.2, 1.5), -1.0)}
SOFT = {"svm": 0.3, "lp": 0.2}
"""The price of a slack of the SVM; nu of LP_REG as a share of the patterns."""


def _units_9(quick: bool, done: Results) -> Iterator[Parameters]:
    yield from ({"seed": seed} for seed in range(2 if quick else 20))


def _lines(seed: int) -> Mapping[str, Any]:
    """Return the lines of both programs, hard and soft, for reliable data and with a pattern that is not."""
    rng, angles = np.random.default_rng(seed), 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    directions = np.stack([np.cos(angles), np.sin(angles)])
    clouds = np.vstack([centre + 0.45 * rng.normal(size=(14, 2)) for centre in (1.3, -1.3)])
    labels, result = np.repeat([1.0, -1.0], 14), dict[str, Any]()
    for title, added in PANELS.items():
        X = np.vstack([clouds, added[0]]) if added else clouds
        y = np.append(labels, added[1]) if added else labels
        hypotheses = np.column_stack([X / SIZE, np.ones(len(X))])
        lines = dict[str, Any]()
        for name, C in ("svm hard", 1e4), ("svm soft", SOFT["svm"]):
            solution = get_formulation("svm").bind(y[:, None] * hypotheses, C=C).solve(tol=1e-7)
            lines[name] = _line(X, y, solution.w, solution.certificate.scaled_gap)
        for name, nu in ("lp hard", 1.0), ("lp soft", SOFT["lp"] * len(y)):
            columns = y[:, None] * np.column_stack([X @ directions / SIZE, hypotheses[:, 2], -hypotheses[:, 2]])
            solution = get_formulation("lp_reg_adaboost").bind(columns, C=1 / nu).solve(tol=1e-9)
            w, constant = directions @ solution.w[:-2], solution.w[-2] - solution.w[-1]
            lines[name] = _line(X, y, np.append(w, constant), solution.certificate.scaled_gap)
        result[title] = {"X": [round_digits(x, 4) for x in X], "y": y.tolist(), "lines": lines}
    return result


def _line(X: Float[Array, "N 2"], y: Float[Array, " N"], w: Float[Array, " 3"], gap: float) -> dict[str, Any]:
    """Return normal, offset and smallest distance of a line, and the gap."""
    normal = w[:2] / SIZE
    length = float(np.linalg.norm(normal))
    normal, offset = normal / length, float(w[2]) / length
    return {"normal": normal.tolist(), "offset": offset, "margin": float((y * (X @ normal + offset)).min()), "gap": gap}


def turn_angle(result: Mapping[str, Any], title: str, name: str) -> float:
    """Return the degrees between a line and the hard one of the same program for reliable data."""
    reliable = result["reliable"]["lines"][f"{name.split()[0]} hard"]["normal"]
    cosine = float(np.dot(reliable, result[title]["lines"][name]["normal"]))
    return math.degrees(math.acos(max(-1.0, min(1.0, cosine))))


def _written_9(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained", sharex=True, sharey=True)
    separated = [(p, r) for p, r in results if _separated(r)]
    if not separated:
        return "No seed has been drawn yet whose patterns a line separates."
    first = first_of(separated)
    for axis, title in zip(axes, PANELS, strict=True):
        one, X, y = first[title], np.array(first[title]["X"]), np.array(first[title]["y"])
        hard = one["lines"]["svm hard"]
        _draw(axis, hard, 0.0, "-", "k")
        _draw(axis, hard, hard["margin"], "--", "k")
        _draw(axis, hard, -hard["margin"], "--", "k")
        if title != "reliable":
            _draw(axis, first["reliable"]["lines"]["svm hard"], 0.0, ":", "k")
            _draw(axis, one["lines"]["svm soft"], 0.0, "-.", "#009e73")
            _draw(axis, one["lines"]["lp soft"], 0.0, "-.", "#cc79a7")
            axis.plot(*X[-1], "o", ms=14, mfc="none", mec="#d55e00", mew=1.2)
        for label, marker, color in (1, "o", "#0072b2"), (-1, "^", "#d55e00"):
            axis.plot(*X[y == label].T, marker, color=color, ms=5, mec="white", mew=0.4)
        axis.set(title=title, xlabel="$x_0$", xlim=(-2.8, 2.8), ylim=(-2.8, 2.8), aspect="equal")
    axes[0].set_ylabel("$x_1$")
    image = picture(folder, "R_figure_9", figure, "Lines of the largest margin, with an outlier and with a wrong label")
    rows, less = list[list[str]](), dict[str, str]()
    for title in PANELS:
        separated_results = [r for _, r in separated]
        kinds = ("svm hard", "svm soft", "lp hard", "lp soft")
        cells = [span([turn_angle(r, title, name) for r in separated_results], ".0f") for name in kinds]
        rows.append([title, span([r[title]["lines"]["svm hard"]["margin"] for r in separated_results], ".2f"), *cells])
    for name in ("svm", "lp"):
        both = [
            (turn_angle(r, title, f"{name} soft"), turn_angle(r, title, f"{name} hard"))
            for _, r in separated
            for title in list(PANELS)[1:]
        ]
        less[name] = f"{sum(soft < hard for soft, hard in both)} of {len(both)}"
    changes = [far for _, r in separated for far in _direction_changes(r)]
    kept_shares = [share for _, r in separated for share in _kept_shares(r)]
    gap = max(line["gap"] for _, r in results for title in PANELS for line in r[title]["lines"].values())
    head = ["data", "margin of the SVM", "turned by: SVM, hard", "SVM, slack", "LP_REG, hard", "LP_REG, slack"]
    return (
        f"Points of our own, {len(separated)} of {len(results)} draws, those that a line separates in all panels. "
        "Solid and dashed, the line of the largest margin and its margin area; dotted, that of the reliable data. One "
        f"pattern turns the line by more than {TURNED} degrees in {sum(changes)} of {len(changes)} cases, and leaves "
        f"{span(kept_shares, '.0%')} of the margin. Not in print: a "
        f"slack (SVM, green, and LP_REG, purple). With it the line of the SVM turns less than the hard one in "
        f"{less['svm']}, that of LP_REG in {less['lp']}. LP_REG weights {DIRECTIONS} linear hypotheses, one for each "
        f"direction, and a constant of either sign. Every program is certified, the largest relative gap being "
        f"{gap:.0e}. Angles in degrees, ranges over draws.\n\n{image}\n\n" + table(head, rows)
    )


def _separated(r: Mapping[str, Any]) -> bool:
    """Return whether a line separates the patterns in all panels."""
    return all(r[title]["lines"]["svm hard"]["margin"] > 0 for title in PANELS)


TURNED = 10
"""Degrees by which a line must turn to be called another one."""


def _direction_changes(r: Mapping[str, Any]) -> list[bool]:
    """Return of each pattern that is not reliable whether it makes the line of the largest margin another one."""
    return [turn_angle(r, title, "svm hard") > TURNED for title in list(PANELS)[1:]]


def _kept_shares(r: Mapping[str, Any]) -> list[float]:
    """Return of each pattern that is not reliable the share of the margin that it leaves."""
    margins = [r[title]["lines"]["svm hard"]["margin"] for title in PANELS]
    return [margin / margins[0] for margin in margins[1:]]


def _draw(axis: Any, line: Mapping[str, Any], away: float, style: str, color: str) -> None:
    """Draw a line, or one that is parallel to it."""
    normal = np.array(line["normal"])
    along = np.array([-normal[1], normal[0]])
    ends = np.array([(away - line["offset"]) * normal + s * along for s in (-6, 6)])
    axis.plot(*ends.T, style, color=color, lw=1.2)


# What print says of these


FIGURE_5 = (
    counted_claim(
        "R figure 5",
        "The test error of the hard margin is more than twice that of C = 0.1.",
        ask_each_unit(lambda r: r["hard margin"]["error"] > 2 * r["C = 0.1"]["error"]),
        noun="draws, in two readings of the width",
    ),
)

FIGURE_6 = (
    counted_claim(
        "R figure 6",
        "Support patterns and support vectors overlap most where the kernel is as wide as the networks on average.",
        ask_each_unit(lambda r: _widest(r) == 1.0),
    ),
)

FIGURE_9 = (
    counted_claim(
        "R figure 9",
        f"The line turns by over {TURNED} degrees.",
        lambda results: [far for _, r in results if _separated(r) for far in _direction_changes(r)],
        noun="cases",
    ),
)

EXPERIMENTS = (
    figure_of("5", "margins of support vector machines", _units_5, _machines, _written_5, (FILE,), FIGURE_5),
    figure_of("6", "support patterns and support vectors", _units_6, _supports, _written_6, claims=FIGURE_6),
    figure_of("9", "lines of the largest margin", _units_9, _lines, _written_9, claims=FIGURE_9),
)
