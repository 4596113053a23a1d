"""Rudin, Daubechies and Schapire 2004: AdaBoost as a map of the simplex, its cycles, and margins round by round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
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
    counted_claim,
    of_last,
    printed_numbers,
    round_digits,
)
from benchmarks.evidence.pages import picture, table
from boostopt import boost, get_formulation
from boostopt._utils.array_types import Array, Float
from boostopt.boosting.dynamics import (
    contraction,
    find_cycle,
    iterate,
    reduced_map,
    triangle_coordinates,
    unfolded_triangle,
)
from boostopt.instances import cycle_3x3, cycle_mxm, manifold_4x5
from boostopt.oracles import GivenMargins

COLORS = "#0072b2", "#d55e00", "#009e73", "#000000", "#e69f00"
CYCLES = "cycle of the columns 0, 1, 2", "cycle of the columns 0, 2, 1"
SAME = 1e-6
"""The largest difference of two equal distributions."""


def printed_value(quantity: str) -> Any:
    """Return what print gives for a quantity."""
    return next(row["value"] for row in printed_numbers("D_numbers")["rows"] if row["quantity"] == quantity)


def drawn_at(figure: str, quantity: str) -> Any:
    """Return what print gives for a quantity of a figure."""
    rows = printed_numbers("D_numbers")["rows"]
    return next(row["value"] for row in rows if row.get("figure") == figure and row["quantity"].startswith(quantity))


def best_margin(M: Float[Array, "N t"]) -> list[float]:
    """Return certified bounds of the largest margin."""
    certificate = get_formulation("lp_adaboost").bind(M).solve(tol=1e-10).certificate
    return [certificate.lower, certificate.upper]


# The numbers of section 3


def _examples(quick: bool, done: Results) -> Iterator[Parameters]:
    starts = 20 if quick else 200
    yield {"example": "3 x 3", "m": 3, "starts": starts}
    for m in (4, 5, 6):
        yield {"example": "m x m", "m": m, "starts": starts}
    yield {"example": "4 x 5", "rounds": 300}


def _example(example: str, **parameters: Any) -> Mapping[str, Any]:
    """Return what becomes of AdaBoost on one of the paper's matrices."""
    return _manifold(**parameters) if example == "4 x 5" else _cycles(**parameters)


def _cycles(m: int, starts: int) -> Mapping[str, Any]:
    """Return what random starts on 1 1' - 2 I come to."""
    instance = cycle_mxm(m)
    M, rng = instance.U, np.random.default_rng(m)
    known_cycle = np.sort(instance.answers["cycle"], axis=1)
    max_error, ends, orders, margins, factors = 0.0, 0, list[str](), list[float](), list[float]()
    for d in rng.dirichlet(np.ones(m), size=starts):
        cycle = find_cycle(M, *iterate(M, d, 60 * m))
        if cycle is None or cycle.period != m:
            continue
        ends += 1
        max_error = max(max_error, float(np.abs(np.sort(cycle.points, axis=1) - known_cycle).max()))
        max_error = max(max_error, float(np.abs(cycle.edges - instance.answers["edge in every round"]).max()))
        orders.append(" ".join(map(str, cycle.choices)))
        margins.append(float((M @ cycle.w).min()))
        factors.append(contraction(M, cycle))
    sums = {
        str(keep): float(iterate(M, rng.dirichlet(np.ones(m)), 60, renormalize=keep)[0][-1].sum()) - 1.0
        for keep in (True, False)
    }
    return {
        "best": best_margin(M),
        "ends": ends,
        "off": max_error,
        "orders": {order: orders.count(order) for order in sorted(set(orders))},
        "margins": [min(margins), max(margins)],
        "contraction": [min(factors), max(factors)],
        "excess of the sum": sums,
    }


def _manifold(rounds: int) -> Mapping[str, Any]:
    """Return what an oracle that is not the best makes of the 4 x 5 matrix, and what the best does."""
    instance = manifold_4x5()
    M, known_cycle = instance.U, instance.answers
    order, ends = known_cycle["order of columns"], known_cycle["ends of the manifold"]
    back, edges = 0.0, list[float]()
    for share in np.linspace(0, 1, 11):
        points, choices = iterate(M, (1 - share) * ends[0] + share * ends[1], rounds, choose=order.tolist())
        back = max(back, float(np.abs(points[3:] - points[:-3]).max()))
        edges.extend((points[:-1] * M[:, choices].T).sum(axis=1))
    turn = GivenMargins(M, choose=np.tile(order, rounds // 3))
    run = boost("adaboost", turn, d0=instance.parameters["d0"], max_rounds=rounds, rules=())
    free = boost("adaboost", GivenMargins(M), d0=[0.1, 0.2, 0.3, 0.4], max_rounds=rounds, rules=())
    second = iterate(M, instance.parameters["d0"], 1, choose=order.tolist())[0][1]
    return {
        "best": best_margin(M),
        "comes back to within": back,
        "edges": [min(edges), max(edges)],
        "second": round_digits(second),
        "off": float(np.abs(second - known_cycle["cycle"][1]).max()),
        "margin": float(run.trace["soft_margin"][-1]),
        "margin of the best oracle": float(free.trace["soft_margin"][-1]),
    }


def _examples_written(results: Results, folder: Path) -> str:
    rows = list[list[str]]()
    for p, result in results.select(example="3 x 3"):
        orders = ", ".join(f"{count} in {order}" for order, count in result["orders"].items())
        rows += [
            ["3 x 3: best margin", printed_value("its maximum margin"), _interval(result["best"])],
            ["3 x 3: random starts that end in one of the two cycles", "", f"{result['ends']} of {p['starts']}"],
            ["3 x 3: how many in which (columns from 0)", "", orders],
            ["3 x 3: farthest from the printed points and edge", "0", f"{result['off']:.0e}"],
            ["3 x 3: contraction over a period", "", _interval(result["contraction"])],
            ["3 x 3: sum of d after 60 rounds, less 1", "0", f"{result['excess of the sum']['False']:.1e}"],
            ["the same, divided by the sum in each round", "", f"{result['excess of the sum']['True']:.1e}"],
        ]
    for p, result in results.select(example="m x m"):
        m = p["m"]
        rows += [
            [f"{m} x {m}: starts that end in a cycle of period {m}", "", f"{result['ends']} of {p['starts']}"],
            [f"{m} x {m}: margins of the cycles, and the best", "the best", _of_best(result)],
        ]
    for _, result in results.select(example="4 x 5"):
        best, of_cycle = printed_value("its maximum margin; margin of the cycle")
        rows += [
            ["4 x 5: best margin", best, _interval(result["best"])],
            ["4 x 5: margin with hypotheses 5, 4, 3 in turn", of_cycle, f"{result['margin']:.6f}"],
            ["4 x 5: their edges", "above the best margin", _interval(result["edges"])],
            [
                "4 x 5: largest change over a period, on the whole manifold",
                "0",
                f"{result['comes back to within']:.0e}",
            ],
            ["4 x 5: second distribution", printed_value("d_2"), ", ".join(f"{x:.4f}" for x in result["second"])],
            ["4 x 5: margin with the best hypotheses", "", f"{result['margin of the best oracle']:.6f}"],
        ]
    agree = sum(_agrees(p, result) for p, result in results)
    return (
        f"The matrices of section 3, on which cycles are known in closed form: {agree} of {len(results)} come to these "
        "forms, to within 0.000001. Best margins are certified. Where print has no figure the middle column has what "
        "the closed form gives. The map keeps the sum of d by itself only in exact arithmetic: an error grows from "
        "round to round (erratum D1).\n\n" + table(["", "printed, or expected", "ours"], rows)
    )


def _agrees(p: Parameters, result: Mapping[str, Any]) -> bool:
    """Return whether an example comes to its closed form."""
    best = result["best"]
    if p["example"] == "4 x 5":
        stays = abs(best[0] - 1 / 2) < SAME and abs(result["margin"] - 1 / 3) < SAME and result["off"] < SAME
        return stays and result["comes back to within"] < SAME and result["edges"][0] > best[1]
    ends = result["ends"] == p["starts"] and result["off"] < SAME
    return ends and max(abs(margin - best[1]) for margin in result["margins"]) < SAME


def _of_best(result: Mapping[str, Any]) -> str:
    return f"{_interval(result['margins'])} of {_interval(result['best'])}"


def _interval(ends: Sequence[float]) -> str:
    """Return an interval in figures: one number where its ends are the same to six digits."""
    low, high = (f"{round(end, 6) + 0.0:.6f}" for end in ends)
    return low if low == high else f"{low} to {high}"


# Figures 1 and 2


def _figure_1_units(quick: bool, done: Results) -> Iterator[Parameters]:
    yield {"grid": 21 if quick else 41, "rounds": 3}


def _figure_1_work(grid: int, rounds: int) -> Mapping[str, Any]:
    """Return what some rounds make of a grid of distributions, and the hypothesis that is chosen first."""
    M = cycle_3x3().U
    points = np.array([(a, b, grid - a - b) for a in range(1, grid) for b in range(1, grid - a)]) / grid
    images = [points]
    for _ in range(rounds):
        images.append(np.array([reduced_map(M, d) for d in images[-1]]))
    six = np.vstack([cycle_3x3().answers[name] for name in CYCLES])
    return {
        "first": np.argmax(points @ M, axis=1).tolist(),
        "images": [[round_digits(row, 5) for row in triangle_coordinates(image).T] for image in images],
        "largest": [[float(image.max(axis=1).min()), float(image.max())] for image in images],
        "away": [float(np.abs(image[:, None] - six).sum(axis=2).min(axis=1).max()) for image in images],
    }


def _figure_1_written(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    _, result = list(results)[-1]
    figure, axes = plt.subplots(1, len(result["images"]), figsize=(10, 2.7), layout="constrained")
    for k, (axis, image) in enumerate(zip(axes, result["images"], strict=True)):
        _triangle(axis)
        for j in range(3):
            mine = np.array(result["first"]) == j
            axis.plot(*np.array(image)[:, mine], "o", color=COLORS[j], ms=2, label=f"hypothesis {j + 1}")
        axis.set_title(f"after {k} rounds" if k != 1 else "after 1 round")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3, frameon=False, markerscale=2
    )
    figure_text = picture(folder, "D_figure_1", figure, "A grid of distributions and its images under three rounds")
    folds = all(abs(low - 0.5) < SAME and abs(high - 0.5) < SAME for low, high in result["largest"][1:])
    away = ", ".join(f"{distance:.3f}" for distance in result["away"])
    return (
        "A grid of the simplex of three examples, and where rounds of AdaBoost map it; colours are of the hypothesis "
        f"chosen first. After a round {'every' if folds else 'not every'} distribution lies on the inner triangle. The "
        f"largest distances from the six points of the two cycles are {away}: the iterates draw together.\n\n"
        f"{figure_text}"
    )


def _triangle(axis: Any) -> None:
    """Draw the simplex of three examples with its inner triangle."""
    corners, middles = triangle_coordinates(np.eye(3)), triangle_coordinates((1 - np.eye(3)) / 2)
    axis.plot(*corners[[0, 1, 2, 0]].T, color="0.2", lw=0.8)
    axis.plot(*middles[[0, 1, 2, 0]].T, color="0.6", lw=0.6)
    axis.set_aspect("equal")
    axis.axis("off")


def _figure_2ab_units(quick: bool, done: Results) -> Iterator[Parameters]:
    yield {"points": 600 if quick else 1500}


def _on_the_line(position: float) -> Float[Array, " 3"]:
    """Return the distribution at a position along the inner triangle: see `unfolded_triangle`."""
    j, share = int(position) % 3, position % 1
    d = np.zeros(3)
    d[[j, (j + 1) % 3, (j + 2) % 3]] = 0.5, share / 2, (1 - share) / 2
    return d


def _figure_2ab_work(points: int) -> Mapping[str, Any]:
    """Return the map on the unfolded triangle, once, twice and three times, and where the cycles are."""
    instance = cycle_3x3()
    position = 3 * (np.arange(points) + 0.5) / points
    image, values = np.array([_on_the_line(x) for x in position]), list[list[float]]()
    for _ in range(3):
        image = np.array([reduced_map(instance.U, d) for d in image])
        values.append(round_digits(unfolded_triangle(image), 5))
    of_cycles, moves = list[float](), dict[str, list[float]]()
    for name in CYCLES:
        of_cycles += unfolded_triangle(instance.answers[name]).tolist()
    for times in (1, 2, 3):
        ends = [unfolded_triangle(iterate(instance.U, _on_the_line(x), times)[0][-1:])[0] for x in of_cycles]
        away = np.abs(np.array(ends) - of_cycles)
        moves[str(times)] = np.minimum(away, 3 - away).tolist()
    # The mean slope on a short piece about each point of a cycle.
    neighbours = [np.argsort(np.abs(position - x))[:3] for x in of_cycles]
    slopes = [float(np.ptp(np.array(values[2])[indices]) / np.ptp(position[indices])) for indices in neighbours]
    return {"values": values, "cycles": round_digits(of_cycles), "moved": moves, "slopes": round_digits(slopes)}


def _figure_2ab_written(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    p, result = list(results)[-1]
    position = 3 * (np.arange(p["points"]) + 0.5) / p["points"]
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for axis, times, title in zip(axes, (1, 3), ("(a) one round", "(b) three rounds"), strict=True):
        value = np.array(result["values"][times - 1])
        jumps = np.append(np.abs(np.diff(value)) > 0.1, False)
        axis.plot(position, np.where(jumps, np.nan, value), color=COLORS[3], lw=1.2)
        axis.plot([0, 3], [0, 3], color="0.6", lw=0.7)
        if times == 3:
            axis.plot(result["cycles"], result["cycles"], "o", color=COLORS[1], ms=5, label="the two cycles")
            axis.legend(frameon=False, loc="lower right")
        axis.set(title=title, xlabel="position of $d_t$", ylabel=f"position of $d_{{t+{times}}}$", aspect="equal")
        axis.set(xlim=(0, 3), ylim=(0, 3), xticks=range(4), yticks=range(4))
    image = picture(folder, "D_figure_2ab", figure, "AdaBoost as a map of the unfolded inner triangle")
    stay = {times: max(moves) < SAME for times, moves in result["moved"].items()}
    stable_times = [times for times, all_stay in stay.items() if all_stay]
    return (
        "The inner triangle, cut open, is the interval from 0 to 3, and AdaBoost a map of it. Print says of (b) that "
        "the map is iterated twice, and draws $d_{t+3}$ (erratum D3). The six points of the cycles come back after "
        f"{' and '.join(stable_times)} iterations of 1, 2 and 3. The graph crosses the diagonal there with slopes up "
        f"to {max(result['slopes']):.3f}: the points attract.\n\n{image}"
    )


def _figure_2c_units(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(2 if quick else 4):
        yield {"seed": seed, "rounds": drawn_at("2c", "timesteps")}


def _figure_2c_work(seed: int, rounds: int) -> Mapping[str, Any]:
    """Return the first two weights of each round of a random start, and how far its end is from a cycle."""
    instance = cycle_3x3()
    points, _ = iterate(instance.U, np.random.default_rng(seed).dirichlet(np.ones(3)), rounds)
    away = [float(np.abs(points[-1] - instance.answers[name]).sum(axis=1).min()) for name in CYCLES]
    return {"points": [round_digits(row) for row in points[:, :2].T], "away": away}


def _figure_2c_written(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(2.7 * len(results), 3), layout="constrained", squeeze=False)
    box = np.array(drawn_at("2c", "axis"))
    inside = 0
    for axis, (p, result) in zip(axes[0], results, strict=True):
        points = np.array(result["points"])
        late = points[:, 3:]
        inside += bool(((late >= box[:, :1]) & (late <= box[:, 1:])).all())
        color = COLORS[int(np.argmin(result["away"]))]
        axis.scatter(*points, s=4 + 3 * np.arange(points.shape[1]), facecolor="none", edgecolor=color, lw=0.7)
        axis.set(title=f"seed {p['seed']}", xlabel="$d_{t,1}$", ylabel="$d_{t,2}$", xlim=box[0], ylim=box[1])
    image = picture(folder, "D_figure_2c", figure, "Rounds of AdaBoost on three examples, later ones in larger rings")
    ends = sum(_on_a_cycle(result) for _, result in results)
    return (
        "Rounds of AdaBoost on the 3 x 3 matrix on the printed axes, later ones in larger rings. The start of print "
        f"is not known; {ends} of {len(results)} random starts are on a cycle after "
        f"{drawn_at('2c', 'timesteps')} rounds, and {inside} keep within the printed axes from the third round on. "
        f"Colours tell the two cycles apart.\n\n{image}"
    )


def _on_a_cycle(result: Mapping[str, Any]) -> bool:
    return min(result["away"]) < SAME


LONG = 5000
"""Rounds within which cycles are looked for that the printed number of rounds does not show."""


def _figure_2d_units(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(3 if quick else 20):
        yield {"seed": seed, "rounds": drawn_at("2d", "timesteps")[0], "longest": 1000 if quick else LONG}


def _random(seed: int) -> Float[Array, "11 21"]:
    """Return a random matrix, drawn until no hypothesis is right everywhere, or wrong: AdaBoost would end there."""
    rng = np.random.default_rng(seed)
    while True:
        M = rng.choice([-1.0, 1.0], size=(11, 21))
        if (np.abs(M.sum(axis=0)) < len(M)).all():
            return M


def _figure_2d_work(seed: int, rounds: int, longest: int) -> Mapping[str, Any]:
    """Return the two weights that move most of AdaBoost on a random matrix, and the periods that are seen."""
    M = _random(seed)
    points, choices = iterate(M, np.full(11, 1 / 11), longest)
    soon, late = (find_cycle(M, points[: end + 1], choices[:end], tol=1e-7) for end in (rounds, longest))
    widest = np.sort(np.argsort(points[rounds // 2 : rounds].std(axis=0))[-2:])
    margins = None
    if late is not None:
        alive = late.points.max(axis=0) > 1e-9
        margins = [float(np.ptp((M @ late.w)[alive])), float((M @ late.w).min())]
    return {
        "points": [round_digits(row, 4) for row in points[:rounds, widest].T],
        "coordinates": (widest + 1).tolist(),
        "period soon": soon and soon.period,
        "period": late and late.period,
        "margins": margins,
        "best": best_margin(M),
    }


EVEN = 1e-4
"""The tolerance for equal margins. If a run repeats to 1e-7, its margins have about this accuracy times the period."""


def _is_long(result: Mapping[str, Any], key: str = "period") -> bool:
    """Return whether a cycle longer than 3 was seen, in all rounds or soon."""
    return (result[key] or 0) > 3


def _is_even(result: Mapping[str, Any]) -> bool:
    """Return whether the examples that take part in a cycle have the same margin."""
    return result["margins"][0] < EVEN


def _figure_2d_written(results: Results, folder: Path) -> str:
    import matplotlib.pyplot as plt

    by_period = {result["period"] or 0: p["seed"] for p, result in results}
    shown_seeds = [by_period[period] for period in sorted(by_period) if period > 3][:6] or list(by_period.values())[:1]
    figure, axes = plt.subplots(1, len(shown_seeds), figsize=(2.4 * len(shown_seeds), 2.8), squeeze=False)
    figure.set_layout_engine("constrained")
    x, y = drawn_at("2d", "axes")
    for axis, seed in zip(axes[0], shown_seeds, strict=True):
        result = results.select(seed=seed)[0][1]
        axis.plot(*result["points"], "o", color=COLORS[0], ms=2, alpha=0.5)
        first, second = result["coordinates"]
        title = f"period {result['period']}" + ("" if result["period soon"] else ", later")
        axis.set(title=title, xlabel=f"$d_{{t,{first}}}$", ylabel=f"$d_{{t,{second}}}$")
        axis.set(xlim=x, ylim=y)
    image = picture(folder, "D_figure_2d", figure, "Five hundred rounds of AdaBoost on random matrices, two weights")
    rows = [
        [
            str(p["seed"]),
            result["period soon"] or "none seen",
            result["period"] or "none seen",
            f"{result['margins'][1]:.6f}" if result["margins"] else "",
            _interval(result["best"]),
        ]
        for p, result in sorted(results, key=lambda unit: unit[0]["seed"])
    ]
    rounds, longest = (max(p[name] for p, _ in results) for name in ("rounds", "longest"))
    longer, soon = (sum(_is_long(result, name) for _, result in results) for name in ("period", "period soon"))
    cycles = [result for _, result in results if result["margins"]]
    even = sum(map(_is_even, cycles))
    n_even = sum(result["margins"][1] > result["best"][1] - EVEN for result in cycles)
    return (
        f"{rounds} rounds of AdaBoost on random 11 x 21 matrices of 1 and -1, from the uniform distribution. No "
        "hypothesis is right everywhere, or wrong: such matrices are drawn again. The "
        "matrix of print is not known, nor which rows its two coordinates are: drawn are the two weights that move "
        "most, on the printed axes; “later” are cycles that these rounds do not reach. A cycle longer than 3, as in "
        f"print, is reached with {soon} of {len(results)} seeds, within {longest} rounds with {longer}. In {even} of "
        f"{len(cycles)} cycles the examples that take part have the same margin; in {n_even} it is "
        "the best there is, which is chance: the matrix of `default_rng(74)` has a cycle of period 61 with the margin "
        "0.2650, and its best margin is 0.2727 (`test_a_cycle_need_not_have_the_best_margin`)."
        f"\n\n{image}\n\n"
        + table(["seed", f"period in {rounds} rounds", f"in {longest}", "margin of the cycle", "best margin"], rows)
    )


# What print says of these


def _of_example(sentence: str, says: str, example: str, ours: Callable[[Parameters, Result], str]) -> Claim:
    """Return a claim that the matrices of an example come to the closed form."""

    def decide(results: Results) -> Decision | None:
        units = results.select(example=example)
        if not units:
            return None
        return Decision(all(_agrees(p, result) for p, result in units), "; ".join(ours(p, r) for p, r in units))

    return Claim(sentence, says, decide)


def _ends(p: Parameters, result: Result) -> str:
    return f"{result['ends']} of {p['starts']} random starts with m = {p['m']}"


SECTION_3 = (
    _of_example(
        "D 3x3",
        "AdaBoost ends on one of the two cycles in closed form, from 200 random starts.",
        "3 x 3",
        _ends,
    ),
    _of_example(
        "D mxm",
        "AdaBoost ends on a cycle of period m with the best margin, from 200 random starts.",
        "m x m",
        _ends,
    ),
    _of_example(
        "D manifold",
        "The printed choices of the 4 x 5 matrix repeat with period 3, and the margin stays below the best.",
        "4 x 5",
        lambda p, result: f"margin {result['margin']:.6f}, the best is {result['best'][0]:.6f}",
    ),
)


def _third_map(result: Result) -> Decision:
    """Return whether the map that is drawn is the third iterate: the cycles stay, and the graph is flat there."""
    moves, slopes = result["moved"], result["slopes"]
    stays = max(moves["3"]) < SAME <= min(moves["2"]) and max(slopes) < 1
    return Decision(stays, f"three times; slopes up to {max(slopes):.2f}", "twice, drawn three times")


def _twice(result: Result) -> Decision:
    moves = result["moved"]["2"]
    return Decision(max(moves) < SAME, f"the points of the cycles move by {min(moves):.3f} or more")


FIGURE_2AB = (
    Claim("D figure 2b", "They are those of the map iterated three times, with slopes below 1.", of_last(_third_map)),
    Claim(
        "D figure 2b twice", "The map iterated twice leaves the points of the cycles where they are.", of_last(_twice)
    ),
)

FIGURE_2C = (
    counted_claim(
        "D figure 2c",
        "After 50 rounds the weights are those of one of the two cycles.",
        ask_each_unit(_on_a_cycle),
    ),
)

FIGURE_2D = (
    counted_claim(
        "D figure 2d",
        "Within 500 rounds AdaBoost comes to a cycle longer than 3.",
        ask_each_unit(lambda result: _is_long(result, "period soon")),
    ),
    counted_claim(
        "D figure 2d",
        f"AdaBoost comes to such a cycle within {LONG:,} rounds, ten times those of print.",
        ask_each_unit(_is_long),
        is_weaker=True,
    ),
    counted_claim(
        "D orbits",
        f"No random matrix has a fixed point or a cycle of length 2 within {LONG:,} rounds.",
        ask_each_unit(lambda result: result["period"] is None or result["period"] > 2),
        "matrices",
        always=True,
    ),
    counted_claim(
        "D equal margins",
        "The margins of the examples with a weight on a cycle differ by rounding alone.",
        lambda results: [_is_even(result) for _, result in results if result["margins"]],
        "cycles",
        always=True,
    ),
)


EXPERIMENTS = (
    Experiment(
        name="D_section_3",
        title="Section 3: cycles in closed form",
        source="Rudin, Daubechies and Schapire 2004, section 3",
        page="dynamics",
        units=_examples,
        work=_example,
        write_page=_examples_written,
        claims=SECTION_3,
    ),
    Experiment(
        name="D_figure_1",
        title="Figure 1: three rounds on the simplex",
        source="Rudin, Daubechies and Schapire 2004, figure 1",
        page="dynamics",
        units=_figure_1_units,
        work=_figure_1_work,
        write_page=_figure_1_written,
    ),
    Experiment(
        name="D_figure_2ab",
        title="Figures 2(a) and 2(b): the map of the unfolded triangle",
        source="Rudin, Daubechies and Schapire 2004, figures 2(a) and 2(b)",
        page="dynamics",
        units=_figure_2ab_units,
        work=_figure_2ab_work,
        write_page=_figure_2ab_written,
        claims=FIGURE_2AB,
    ),
    Experiment(
        name="D_figure_2c",
        title="Figure 2(c): fifty rounds",
        source="Rudin, Daubechies and Schapire 2004, figure 2(c)",
        page="dynamics",
        units=_figure_2c_units,
        work=_figure_2c_work,
        write_page=_figure_2c_written,
        claims=FIGURE_2C,
    ),
    Experiment(
        name="D_figure_2d",
        title="Figure 2(d): a random matrix",
        source="Rudin, Daubechies and Schapire 2004, figure 2(d)",
        page="dynamics",
        units=_figure_2d_units,
        work=_figure_2d_work,
        write_page=_figure_2d_written,
        claims=FIGURE_2D,
    ),
)
