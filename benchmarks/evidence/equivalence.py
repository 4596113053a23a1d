"""Shalev-Shwartz and Singer 2008: theorem 9's rate against runs, half of the margin, outliers, conjugate pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.evidence.experiment import (
    Ask,
    Experiment,
    Parameters,
    Result,
    Results,
    ask_each_unit,
    counted_claim,
    printed_numbers,
    round_digits,
)
from benchmarks.evidence.pages import picture, span, table
from boostopt import boost, get_formulation
from boostopt._utils.array_types import Array, Float
from boostopt.errors import require_not_none
from boostopt.instances import hypercube
from boostopt.oracles import GivenMargins

COLORS = "#000000", "#d55e00", "#0072b2", "#009e73"
EPSILONS = 0.4, 0.2, 0.1, 0.05
M, COLUMNS = 100, 20
"""Examples and hypotheses, besides their negations."""

RELAXATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "hard margin": ("erlpboost", "lpboost", {"nu": 1.0}),
    "cap, k = 0.1 m": ("erlpboost", "lpboost", {"nu": 0.1 * M}),
    "2-ball": ("norm_ball", "norm_ball", {"p": 2.0, "r": 1.5 / math.sqrt(M)}),
    "2-penalty": ("norm_penalty", "norm_penalty", {"p": 2.0, "r": 0.5}),
}
"""The programs of each relaxation, with and without the entropy, and their parameters.

The ball's radius is half again the smallest, the norm of the uniform distribution.
"""

ROUNDING = 1e-7
"""The allowance for certified optima in inequalities that theory proves."""


def margins(noise: float, seed: int, relevant: int = 3) -> Float[Array, "N t"]:
    """Return margins of the coordinates on the hypercube, whose label is the majority of the first few."""
    data = hypercube(M, COLUMNS, seed, noise=noise, relevant=relevant)
    return require_not_none(data.y, "labels")[:, None] * data.X


def quote(place: str) -> str:
    """Return the statement that print has in a place."""
    return next(statement for location, statement, _ in printed_numbers("S_rates")["rows"] if location == place)


# Theorem 9


def _rates(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(1 if quick else 3):
        for noise in (0.02,) if quick else (0.0, 0.02):
            for relaxation in RELAXATIONS:
                for epsilon in EPSILONS[: 2 if quick else None]:
                    yield {"relaxation": relaxation, "epsilon": epsilon, "noise": noise, "seed": seed}


def _rate(relaxation: str, epsilon: float, noise: float, seed: int) -> Mapping[str, Any]:
    """Return what figure 1's algorithm does until its margin is known to be within epsilon of the best."""
    regularized, plain, parameters = RELAXATIONS[relaxation]
    U, eta = margins(noise, seed), 2.0 / epsilon * math.log(M)
    with_entropy = get_formulation(regularized).bind(U, epsilon=epsilon, eta=eta, two_sided=True, **parameters)
    smoothed = with_entropy.solve(tol=1e-9).certificate
    best = get_formulation(plain).bind(U, two_sided=True, **parameters).solve(tol=1e-9).certificate
    run = boost(
        regularized,
        GivenMargins(U, reflexive=True),
        epsilon=epsilon,
        eta=eta,
        two_sided=True,
        update="step",
        rules=("direct",),
        history=False,
        **parameters,
    )
    # The first suboptimality is that of w = 0; print counts it as that of t = 1.
    start = with_entropy.certify(w=np.zeros(COLUMNS)).lower
    values = np.array([start, *run.trace["value"]])
    excess = np.maximum(smoothed.upper - values, 0.0)
    bounds = 8.0 * eta / (np.arange(len(excess)) + 2.0)
    needs = excess[:-1] ** 2 / (8.0 * eta)
    certificate = run.class_certificate
    rounds_shown = np.unique(np.geomspace(1, run.rounds, 60).astype(int))
    rounds_within = np.flatnonzero(run.trace["soft_margin"] >= best.upper - epsilon)
    return {
        "rounds": run.rounds,
        "reached": int(rounds_within[0]) + 1 if len(rounds_within) else None,
        "end": run.reason.partition(";")[0],
        "bound": 32.0 * math.log(M) / epsilon**2 - 2.0,
        "at": rounds_shown.tolist(),
        "left": round_digits(excess[rounds_shown]),
        "nearest": float((excess / bounds).max()),
        "excess": float((excess - bounds).max()),
        "gains": [float((np.diff(values) - needs).min()), float((np.diff(values) / np.maximum(needs, 1e-300)).min())],
        "hypotheses": int((run.w != 0).sum()),
        "norm": float(np.abs(run.w).sum()),
        "proved": [certificate.lower, certificate.upper],
        "best": [best.lower, best.upper],
        "smoothed": [smoothed.lower, smoothed.upper],
    }


BY_ITSELF = "no more hypotheses have a weight than there were rounds"
"""The statement that holds by construction and decides nothing."""

CONDITIONS = {
    "theorem 9, as its proof has it: accurate within 32 ln m / eps^2 - 2 rounds": lambda p, r: (
        r["reached"] is not None and r["rounds"] <= r["bound"]
    ),
    "lemma 20: the suboptimality after k rounds is at most 8 eta / (k + 2)": lambda p, r: r["excess"] <= ROUNDING,
    "lemma 11: a round gains at least beta eps_t^2 / 8": lambda p, r: r["gains"][0] >= -ROUNDING,
    "(7): the entropy changes the optimum by at most eps / 2": lambda p, r: (
        -ROUNDING <= r["smoothed"][0] - r["best"][1] <= p["epsilon"] / 2 + ROUNDING
    ),
    BY_ITSELF: lambda p, r: r["hypotheses"] <= r["rounds"],
}
"""The claims about the algorithm of figure 1, as conditions on a run."""


def _rates_written(results: Results, folder: Path) -> str:
    curves = _curves(results, folder)
    against = _against_epsilon(results, folder)
    rows = list[list[str]]()
    for name in RELAXATIONS:
        for epsilon in EPSILONS:
            units = [result for _, result in results.select(relaxation=name, epsilon=epsilon)]
            if units:
                rows.append(
                    [
                        name,
                        f"{epsilon:g}",
                        f"{units[0]['bound']:,.0f}",
                        span([r["rounds"] for r in units], ","),
                        span([r["reached"] for r in units if r["reached"]], ","),
                        span([r["hypotheses"] for r in units], ","),
                        f"{max(r['nearest'] for r in units):.3f}",
                        f"{min(r['gains'][1] for r in units):.1f}",
                    ]
                )
    claim_rows = [
        [claim, f"{sum(holds(p, r) for p, r in results)} of {len(results)}"] for claim, holds in CONDITIONS.items()
    ]
    header = ["", "eps", "bound", "rounds, certified", "rounds, in truth", "hypotheses", "nearest", "least gain"]
    return (
        f"Print has no experiment of the rate. Ours: {M} examples of the hypercube, {COLUMNS} coordinates and their "
        "negations, labels the majority of the first three, none or two of them wrong; radius of the 2-ball "
        f"{RELAXATIONS['2-ball'][2]['r']:g}, penalty {RELAXATIONS['2-penalty'][2]['r']:g}. Figure 1's algorithm, from "
        f"w = 0, with {quote('figure 1')}. Theorem 9 says: {quote('Theorem 9')}; its proof has the constant, "
        "T + 2 >= 32 ln m / eps^2 (erratum S3). A run ends when its certificate over the class says that the relaxed "
        "margin is within eps of the best; “in truth” is when it was, by a certified optimum. “Nearest” is the largest "
        "share of 8 eta / (k + 2) that was left after any number k of rounds, “least gain” the smallest gain of a "
        "round over beta eps_t^2 / 8. In the first picture dotted lines are the bound of lemma 20, which ends at the "
        "round of theorem 9, the dot; curves are of the first seed. In the second one bands are ranges over data and "
        f"seeds, lines the largest.\n\n{curves}\n\n{against}\n\n"
        + table(header, rows)
        + "\n\n"
        + table(["claim", "holds in runs"], claim_rows)
    )


def _curves(results: Results, folder: Path) -> str:
    """Return the picture of what is left of the optimum, round by round, against the bound."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(RELAXATIONS), figsize=(11, 5.4), sharex=True, sharey=True)
    figure.set_layout_engine("constrained")
    for row, (noise, words) in zip(axes, ((0.0, "no wrong labels"), (0.02, "two wrong labels")), strict=True):
        for axis, name in zip(row, RELAXATIONS, strict=True):
            for epsilon, color in zip(EPSILONS, COLORS, strict=True):
                for _, result in results.select(relaxation=name, epsilon=epsilon, noise=noise, seed=0):
                    axis.loglog(result["at"], result["left"], color=color, lw=1.3)
                k = np.geomspace(1, 32.0 * math.log(M) / epsilon**2 - 2.0, 50)
                axis.loglog(k, 16.0 / epsilon * math.log(M) / (k + 2.0), ":", color=color, lw=1.0)
                axis.plot(k[-1:], [epsilon / 2], "o", color=color, ms=3, label=f"eps = {epsilon:g}")
            axis.set_title(f"{name}, {words}", fontsize=9)
        row[0].set_ylabel("suboptimality")
    for axis in axes[1]:
        axis.set_xlabel("rounds")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=4, frameon=False)
    alt = "Suboptimality of figure 1's algorithm, and the dotted bound of lemma 20 that ends at theorem 9's round"
    return picture(folder, "S_theorem_9_curves", figure, alt)


def _against_epsilon(results: Results, folder: Path) -> str:
    """Return the picture of the rounds over epsilon, a band over data and seeds."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    for name, color in zip(RELAXATIONS, COLORS, strict=True):
        units = {e: [r["rounds"] for _, r in results.select(relaxation=name, epsilon=e)] for e in EPSILONS}
        rounds_shown = [epsilon for epsilon in EPSILONS if units[epsilon]]
        low, high = [min(units[e]) for e in rounds_shown], [max(units[e]) for e in rounds_shown]
        axes.fill_between(rounds_shown, low, high, color=color, alpha=0.15, lw=0)
        axes.loglog(rounds_shown, high, "o-", color=color, ms=3, lw=1.2, label=name)
    axes.loglog(EPSILONS, [32 * math.log(M) / e**2 - 2 for e in EPSILONS], ":", color="0.3", label="32 ln m / eps² - 2")
    axes.set(xlabel="eps", ylabel="rounds", xticks=EPSILONS, xticklabels=[f"{e:g}" for e in EPSILONS])
    axes.minorticks_off()
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return picture(folder, "S_theorem_9_rounds", figure, "Rounds until the certificate is narrow enough, and the bound")


# Half of the margin: section 5


ALGORITHMS = {"figure 1": "figure 1, eps = gamma / 2", "adaboost": "AdaBoost", "adaboost_star": "AdaBoost*"}


def _halves(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(1 if quick else 5):
        for relevant in (3,) if quick else (3, 5, 7):
            yield {"relevant": relevant, "seed": seed}


def _half(relevant: int, seed: int) -> Mapping[str, Any]:
    """Return the rounds that each algorithm takes to half of the best margin."""
    U = margins(0.0, seed, relevant)
    best = get_formulation("lp_adaboost").bind(U, two_sided=True).solve(tol=1e-9).certificate
    accuracy, oracle = best.lower / 2, GivenMargins(U, reflexive=True)
    options = dict[str, Any](nu=1.0, two_sided=True, update="step", rules=("direct",), epsilon=accuracy)
    limit = math.ceil(8.0 * math.log(M) / best.lower**2)
    runs = {
        "figure 1": boost("erlpboost", oracle, eta=2.0 / accuracy * math.log(M), history=False, **options),
        "adaboost": boost("adaboost", oracle, rules=(), max_rounds=limit, history=False),
        "adaboost_star": boost("adaboost_star", oracle, accuracy=accuracy, rules=(), max_rounds=limit, history=False),
    }
    rounds_within = {name: np.flatnonzero(run.trace["soft_margin"] >= best.upper / 2) for name, run in runs.items()}
    return {
        "best": [best.lower, best.upper],
        "rounds": {name: int(indices[0]) + 1 if len(indices) else None for name, indices in rounds_within.items()},
        "certified": runs["figure 1"].rounds,
        "bounds": {"figure 1": 128.0 * math.log(M) / best.lower**2 - 2.0, "adaboost_star": float(limit)},
    }


def _halves_written(results: Results, folder: Path) -> str:
    rows = list[list[str]]()
    for relevant in sorted({p["relevant"] for p, _ in results}):
        units = [result for _, result in results.select(relevant=relevant)]
        best, bounds = [r["best"][0] for r in units], [r["bounds"] for r in units]
        row = [f"{relevant}", f"{min(best):.3f} to {max(best):.3f}"]
        row += [span([r["rounds"][name] for r in units if r["rounds"][name]], ",") for name in ALGORITHMS]
        row += [span([r["certified"] for r in units], ",")]
        row += [span([math.floor(b[name]) for b in bounds], ",") for name in ("figure 1", "adaboost_star")]
        rows.append(row)
    n_within = sum(_is_within(result) for _, result in results)
    header = ["relevant", "best margin", *ALGORITHMS.values(), "figure 1, certified", "its bound", "AdaBoost*'s bound"]
    return (
        f"Print: {quote('5')}. Rounds to half of the best margin, on {M} examples of the hypercube whose labels are "
        f"the majority of the first few of {COLUMNS} coordinates; seeds: {len({p['seed'] for p, _ in results})}. Best "
        "margins are certified. The bound is theorem 9's with eps = gamma / 2, 128 ln m / gamma^2 - 2; that of "
        f"AdaBoost* with the accuracy gamma / 2 is 8 ln m / gamma^2. In {n_within} of {len(results)} cases all three "
        "come to half of the margin, figure 1's algorithm and AdaBoost* within their bounds.\n\n" + table(header, rows)
    )


def _is_within(result: Mapping[str, Any]) -> bool:
    """Return whether all algorithms came to half of the margin, those with a bound within it."""
    rounds = result["rounds"]
    return all(rounds.values()) and all(rounds[name] <= bound for name, bound in result["bounds"].items())


# The cap: section 4.1


def _caps(quick: bool, done: Results) -> Iterator[Parameters]:
    for seed in range(1 if quick else 5):
        for bad in (0, 1, 2, 4, 8):
            yield {"bad": bad, "seed": seed}


def _cap(bad: int, seed: int) -> Mapping[str, Any]:
    """Return the soft margin with some wrong labels, for a k that depends on their number and for k = 0.1 m."""
    U, gamma = margins(bad / M, seed), 1.0 / 3.0
    result = dict[str, Any]()
    for name, k in (("outliers", max(2.0 * bad * (gamma + 1.0) / gamma, 1.0)), ("tenth", 0.1 * M)):
        solution = get_formulation("lpboost").bind(U, nu=k, two_sided=True).solve(tol=1e-9)
        m = U @ solution.w
        # rho is the largest level that no more than k examples lie below.
        rho = float(np.sort(m)[math.floor(k)])
        result[name] = {
            "k": k,
            "optimum": [solution.certificate.lower, solution.certificate.upper],
            "half": int((m >= gamma / 2 - ROUNDING).sum()),
            "at least rho": int((m >= rho - ROUNDING).sum()),
            "rho": rho,
        }
    return result


def _caps_written(results: Results, folder: Path) -> str:
    rows = list[list[str]]()
    for bad in sorted({p["bad"] for p, _ in results}):
        units = [result for _, result in results.select(bad=bad)]
        wide, tenth = [r["outliers"] for r in units], [r["tenth"] for r in units]
        rows.append(
            [
                str(bad),
                f"{wide[0]['k']:g}",
                _figure(min(r["optimum"][0] for r in wide)),
                span([r["half"] for r in wide], ","),
                _figure(min(r["optimum"][0] for r in tenth)),
                _figure(min(r["rho"] for r in tenth)),
                span([r["at least rho"] for r in tenth], ","),
            ]
        )
    holds = sum(_half_is_kept(result) for _, result in results)
    tenths = sum(result["tenth"]["at least rho"] >= 0.9 * M for _, result in results)
    header = ["wrong labels v", "k", "soft margin", "margins >= 1/6", "k = 0.1 m: soft margin", "rho", "margins >= rho"]
    return (
        f"Print: {quote('4.1')}, v being the number of bad examples. With the majority of three coordinates all but "
        f"the v wrong examples have the margin 1/3, so that k = 8 v. So it is in {holds} of {len(results)} cases, "
        "the soft margin being at least 1/6. With k = 0.1 m print has 90% of the examples at a margin of at least rho: "
        f"{tenths} of {len(results)}. Optima are certified; the smallest over the seeds is shown.\n\n"
        + table(header, rows)
    )


def _figure(value: float) -> str:
    """Return a number in figures, without the sign of a zero."""
    return f"{round(value, 4) + 0.0:.4f}"


def _half_is_kept(result: Mapping[str, Any]) -> bool:
    """Return whether the soft margin is at least gamma / 2, and so are the margins of m - k examples."""
    wide = result["outliers"]
    return wide["optimum"][0] >= 1 / 6 - ROUNDING and wide["half"] >= M - wide["k"]


# Appendix B


EXPONENTS = 1.5, 2.0, 4.0
SIZE, SCALE = 5, 0.7
"""Length of the vectors, and the c and nu of the table."""


def _pairs(quick: bool, done: Results) -> Iterator[Parameters]:
    for row in range(len(printed_numbers("S_appendixB")["rows"])):
        yield {"row": row, "draws": 3 if quick else 20}


def _pair(row: int, draws: int) -> Mapping[str, Any]:
    """Return by how much a printed conjugate misses the supremum that it stands for, on random points."""
    max_error, rng = 0.0, np.random.default_rng(row)
    for p in EXPONENTS:
        for _ in range(draws):
            theta, shift = rng.normal(size=(2, SIZE))
            max_error = max(max_error, abs(_supremum(row, p, theta, shift) - _conjugate(row, p, theta, shift)))
    return {"off": max_error, "points": draws * len(EXPONENTS)}


def _supremum(row: int, p: float, theta: Float[Array, " n"], shift: Float[Array, " n"]) -> float:
    """Return max_d theta . d - f(d) by a solver, f being that of a row of the table."""
    import cvxpy as cp

    def half(x: Any) -> Any:
        return 0.5 * cp.square(cp.pnorm(x, cast(Any, p)))

    d: Any = cp.Variable(SIZE)
    simplex: Any = [cp.sum(d) == 1, d >= 0]
    rows: dict[int, Callable[[], tuple[Any, Any]]] = {
        0: lambda: (0.0, [cp.pnorm(d, cast(Any, p)) <= SCALE]),
        1: lambda: (0.0, simplex),
        2: lambda: (cp.sum(cp.rel_entr(d, np.full(SIZE, 1 / SIZE))), simplex),
        3: lambda: (half(d), []),
        4: lambda: (SCALE * half(d), []),
        5: lambda: (half(d + shift), []),
        6: lambda: (half(SCALE * d), []),
    }
    f, constraints = rows[row]()
    return float(cast(Any, cp.Problem(cp.Maximize(theta @ d - f), constraints).solve(solver=cp.CLARABEL)))


def _conjugate(row: int, p: float, theta: Float[Array, " n"], shift: Float[Array, " n"]) -> float:
    """Return the printed f*(theta) of a row."""
    q = p / (p - 1.0)

    def half(x: Float[Array, " n"]) -> float:
        return 0.5 * float(np.linalg.norm(x, q)) ** 2

    return {
        0: lambda: SCALE * float(np.linalg.norm(theta, q)),
        1: lambda: float(theta.max()),
        2: lambda: math.log(float(np.exp(theta).mean())),
        3: lambda: half(theta),
        4: lambda: SCALE * half(theta / SCALE),
        5: lambda: half(theta) - float(theta @ shift),
        6: lambda: half(theta / SCALE),
    }[row]()


def _pairs_written(results: Results, folder: Path) -> str:
    pairs = printed_numbers("S_appendixB")["rows"]
    units = sorted(results, key=lambda unit: unit[0]["row"])
    rows = [[*map(_code, pairs[p["row"]]), r["points"], f"{r['off']:.0e}"] for p, r in units]
    right = sum(_agrees(result) for _, result in results)
    return (
        f"The conjugates against suprema that a solver finds, at random points: {right} of {len(results)} pairs agree "
        "to 0.00001. Norms are p-norms, p = 1.5, 2 and 4; the last three rows are tried on the fourth function.\n\n"
        + table(["f(d)", "f*(theta), printed", "points", "largest difference"], rows)
    )


def _agrees(result: Mapping[str, Any]) -> bool:
    """Return whether a printed conjugate is the supremum, as far as a solver finds it."""
    return result["off"] <= 1e-5


def _code(formula: str) -> str:
    """Return a formula as it stands in a cell of a table."""
    return "`" + formula.replace("|", "\\|") + "`"


# What print says of these


def _of_runs(holds: Callable[[Parameters, Result], bool]) -> Ask:
    """Return what asks every run, with its parameters."""
    return lambda results: [holds(p, result) for p, result in results]


SENTENCES_9 = {
    "theorem 9, as its proof has it": "S theorem 9 proof",
    "lemma 20": "S lemma 20",
    "lemma 11": "S lemma 11",
    "(7)": "S (7)",
}
"""Keys of what print says at each place."""

THEOREM_9 = tuple(
    counted_claim(SENTENCES_9[place], f"{says[0].upper()}{says[1:]}.", _of_runs(holds), "runs", always=True)
    for place, says, holds in (
        (*statement.split(": "), holds) for statement, holds in CONDITIONS.items() if statement != BY_ITSELF
    )
)

HALF = (
    counted_claim(
        "S 5 half",
        "All three algorithms come to half of the best margin, those with a bound within it.",
        ask_each_unit(_is_within),
        "matrices",
        always=True,
    ),
)

OUTLIERS = (
    counted_claim(
        "S 4.1 outliers",
        "With k of 2 v (gamma + 1) / gamma, v labels being wrong, all but k examples have half of the margin gamma.",
        ask_each_unit(_half_is_kept),
        "cases",
        always=True,
    ),
)

CONJUGATES = (
    counted_claim(
        "S appendix B",
        "A solver's suprema at random points are the printed conjugates.",
        ask_each_unit(_agrees),
        "rows",
        always=True,
    ),
)

SOURCE = "Shalev-Shwartz and Singer 2008"

EXPERIMENTS = (
    Experiment(
        name="S_theorem_9",
        title="Theorem 9: rounds to an accuracy",
        source=f"{SOURCE}, theorem 9, lemmas 11 and 20, (7)",
        page="equivalence",
        units=_rates,
        work=_rate,
        write_page=_rates_written,
        claims=THEOREM_9,
    ),
    Experiment(
        name="S_half_margin",
        title="Section 5: rounds to half of the margin",
        source=f"{SOURCE}, remark after theorem 9",
        page="equivalence",
        units=_halves,
        work=_half,
        write_page=_halves_written,
        claims=HALF,
    ),
    Experiment(
        name="S_outliers",
        title="Section 4.1: bad examples below the cap",
        source=f"{SOURCE}, section 4.1",
        page="equivalence",
        units=_caps,
        work=_cap,
        write_page=_caps_written,
        claims=OUTLIERS,
    ),
    Experiment(
        name="S_appendix_B",
        title="Appendix B: conjugate pairs",
        source=f"{SOURCE}, appendix B",
        page="equivalence",
        units=_pairs,
        work=_pair,
        write_page=_pairs_written,
        claims=CONJUGATES,
    ),
)
