"""The statements of sections 5.1, 5.2, 5.4 and 5.5 of the dissertation, as conditions on our runs.

Splits are draws: a statement holds on a set with more than half of them. Classes, entropies, eta and nu are fixed
cases: it holds on a set where it does in all of them, but where print itself says "mostly". A set with its features
scaled counts as a set of its own where it was run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.evidence.dissertation_runs import (
    CLASSES,
    READINGS,
    RELATIVES,
    SMALL_READINGS,
    STABLE,
    TOTAL,
    as_in_print,
    points_by_eta,
    points_of,
    sooner,
)
from benchmarks.evidence.experiment import Claim, Decision, Results, claim_by_reading, claim_by_set

ALL = tuple(CLASSES)
CORRECTIVE_FIRST = tuple((corrective, total) for total, corrective in RELATIVES)

BINARY_LAST = (("corr", "corr bin"),)
"""Corrective ERLPBoost and its binary relative."""

AskOfSet = Callable[[Results, str], Sequence[bool | None]]
"""Returns of each draw or case on a set whether a statement holds there."""

AskOfReading = Callable[[Results, str, str], Sequence[bool | None]]
"""Returns the same in a reading of what print leaves open."""


# Section 5.1

CONVENTIONS: Mapping[str, str] = {"error": "0 an error", "majority": "0 the larger class"}
"""The two ways to count f = 0 between which print does not decide."""

CAPPED = ("0.1", "0.3", "0.5", "0.7")
"""The nu / N of capped runs; at 0.9 LPBoost stops within a few rounds."""


def _unstable(kind: str, unstable: bool = True) -> AskOfReading:
    """Return what asks whether LPBoost at nu = 1 changes by more than is stable."""

    def ask(results: Results, name: str, zero: str) -> list[bool]:
        units = results.select(data=name, hypotheses=kind)
        return [(result["LPBoost 0"]["changes"][zero] > STABLE) == unstable for _, result in units]

    return ask


def _capped(kinds: Sequence[str]) -> AskOfReading:
    """Return what asks of each class and nu whether capped LPBoost is unstable on most splits."""

    def ask(results: Results, name: str, zero: str) -> list[bool]:
        values = list[bool]()
        for kind in kinds:
            for share in CAPPED:
                units = results.select(data=name, hypotheses=kind)
                changes = [result[f"LPBoost {share}"]["changes"][zero] > STABLE for _, result in units]
                if changes:
                    values.append(2 * sum(changes) > len(changes))
        return values

    return ask


def _erlpboost(kind: str) -> AskOfReading:
    """Return what asks of each split whether ERLPBoost is stable at every eta.

    A stable run that was cut off before the rounds of print leaves it open.
    """

    def ask(results: Results, name: str, zero: str) -> list[bool | None]:
        outcomes = list[bool | None]()
        for _, result in results.select(data=name, hypotheses=kind):
            runs = [as_in_print(run, "erlp") for key, run in result.items() if key.startswith("ERLP")]
            is_stable = all(run["changes"][zero] <= STABLE for run in runs)
            outcomes.append(None if is_stable and not all(run["held"] for run in runs) else is_stable)
        return outcomes

    return ask


def _rounds_by_nu(results: Results, name: str, kind: str) -> list[list[int]]:
    """Return the rounds of LPBoost on each split, by nu."""
    units = results.select(data=name, hypotheses=kind)
    return [[result[f"LPBoost {share}"]["rounds"] for share in ("0", *CAPPED, "0.9")] for _, result in units]


def _earlier(results: Results, name: str) -> list[bool]:
    """Return of each class whether LPBoost never takes more rounds at a larger nu on most splits, and less at last."""
    outcomes = list[bool]()
    for kind in ALL:
        falls = [
            rounds == sorted(rounds, reverse=True) and rounds[-1] < rounds[0]
            for rounds in _rounds_by_nu(results, name, kind)
        ]
        if falls:
            outcomes.append(2 * sum(falls) > len(falls))
    return outcomes


def _less_at_last(results: Results, name: str) -> list[bool]:
    """Return of each run whether LPBoost takes fewer rounds at the largest nu than at the least one."""
    return [rounds[-1] < rounds[0] for kind in ALL for rounds in _rounds_by_nu(results, name, kind)]


def _drifts(results: Results, name: str) -> list[bool]:
    runs = [
        run
        for _, result in results.select(data=name, hypotheses="stumps")
        for key, run in result.items()
        if key.startswith("ERLPBoost")
    ]
    return [run["best_at"] > 1 and run["last"] > run["best"] + 0.01 for run in runs]


INSTABILITY = (
    claim_by_reading(
        "T 5.1 stumps",
        f"LPBoost's error changes by more than {STABLE:g} in some round, f = 0 being an error or of the larger class.",
        SMALL_READINGS,
        CONVENTIONS,
        _unstable("stumps"),
        "splits",
    ),
    claim_by_reading(
        "T 5.1 a9a",
        f"LPBoost's error never changes by more than {STABLE:g}, f = 0 being an error or of the larger class.",
        ("a9a",),
        CONVENTIONS,
        _unstable("stumps", False),
        "splits",
    ),
    claim_by_reading(
        "T 5.2 unstable",
        f"LPBoost's error changes by more than {STABLE:g} in some round, f = 0 being an error or of the larger class.",
        ("a9a", "german", "german scaled"),
        CONVENTIONS,
        _unstable("raw"),
        "splits",
    ),
    claim_by_reading(
        "T 5.2 unstable",
        f"On diabetes it never changes by more than {STABLE:g}, f = 0 being an error or of the larger class.",
        ("diabetes", "diabetes scaled"),
        CONVENTIONS,
        _unstable("raw", False),
        "splits",
    ),
    claim_by_reading(
        "T 5.3 unstable",
        f"LPBoost's error changes by more than {STABLE:g} in some round, f = 0 being an error or of the larger class.",
        READINGS,
        CONVENTIONS,
        _unstable("SVM"),
        "splits",
    ),
    claim_by_reading(
        "T 5.4",
        f"With nu / N from 0.1 to 0.7 some round of most splits changes the error by more than {STABLE:g}, "
        "f = 0 being an error or of the larger class.",
        READINGS,
        CONVENTIONS,
        _capped(("stumps", "raw")),
        "classes and nu",
        always=True,
    ),
    claim_by_reading(
        "T 5.6",
        f"With nu / N from 0.1 to 0.7 some round of most splits changes the error by more than {STABLE:g}, "
        "f = 0 being an error or of the larger class.",
        READINGS,
        CONVENTIONS,
        _capped(("SVM",)),
        "values of nu",
        always=True,
    ),
    claim_by_set(
        "T 5.4 stop",
        "From nu = 1 to 0.9 N LPBoost takes no more rounds at each larger nu on most splits, and fewer at the last.",
        READINGS,
        _earlier,
        "classes",
        always=True,
    ),
    replace(
        claim_by_set(
            "T 5.4 stop",
            "LPBoost takes fewer rounds at nu = 0.9 N than at nu = 1.",
            READINGS,
            _less_at_last,
            "runs",
        ),
        is_weaker=True,
    ),
    *(
        claim_by_reading(
            f"T 5.{7 + k}",
            f"At every eta the error changes by {STABLE:g} in a round at most, f = 0 being an error or of the larger "
            "class.",
            READINGS,
            CONVENTIONS,
            _erlpboost(kind),
            "splits",
        )
        for k, kind in enumerate(ALL)
    ),
    claim_by_set(
        "T 5.7 drift",
        "The error falls before round 50 and is larger at the end by 0.01 or more.",
        SMALL_READINGS,
        _drifts,
        "runs",
    ),
)


# Sections 5.2 and 5.4

SMALL_ETA, LARGE_ETA = 20, 1000
NEAR = 0.02
"""The difference of errors that are the same in a figure."""


def _above_grid(results: Results, name: str, kind: str, limit: float) -> list[list[float] | None]:
    """Return by how much the mean error at the eta of theory exceeds that at each eta of the grid up to an eta.

    There is a list for each entropy, None where a run was cut off before the rounds of print.
    """
    values = list[list[float] | None]()
    for algorithm in TOTAL:
        by_eta = points_by_eta(results, name, kind, algorithm)
        if by_eta:
            *grid, theory = [points for points in by_eta if points[0]["eta"] <= limit or points is by_eta[-1]]
            have_ended = all(as_in_print(point, algorithm)["held"] for points in (*grid, theory) for point in points)
            excess = [_mean_error(theory) - _mean_error(points) for points in grid]
            values.append(excess if have_ended else None)
    return values


def _mean_error(points: Sequence[dict[str, Any]]) -> float:
    return statistics.mean(point["test"] for point in points)


def _theory(kind: str, holds: Callable[[float], bool], limit: float = math.inf) -> AskOfSet:
    """Return what asks by how much the eta of theory is worse than the best of the grid up to an eta."""
    return lambda results, name: [
        None if excess is None else holds(max(excess)) for excess in _above_grid(results, name, kind, limit)
    ]


def _never_worse(kind: str, limit: float) -> AskOfSet:
    """Return what asks whether no eta of the grid has an error that is larger than at theory by more than a limit."""
    return lambda results, name: [
        None if excess is None else min(excess) >= -limit for excess in _above_grid(results, name, kind, math.inf)
    ]


def _pairs(results: Results, name: str, kinds: Sequence[str], one: str, rival: str) -> list[tuple[Any, Any]]:
    """Return the points of two algorithms at the same eta of the first split."""
    return [
        pair
        for kind in kinds
        for pair in zip(
            *(
                [
                    point
                    for parameters, _ in results.select(data=name, hypotheses=kind, algorithm=a, seed=0)
                    for point in points_of(results, parameters)
                ]
                for a in (one, rival)
            ),
            strict=False,
        )
    ]


def _ratios(results: Results, name: str, measure: str) -> list[float]:
    """Return what corrective algorithms take over what totally corrective ones do, where both ended."""
    both = [
        (as_in_print(a, one), as_in_print(b, rival))
        for one, rival in RELATIVES
        for a, b in _pairs(results, name, ALL, one, rival)
    ]
    return [b[measure] / a[measure] for a, b in both if a["held"] and b["held"]]


def _more_rounds(results: Results) -> Decision | None:
    """Return whether the median of the ratios of rounds is 10 or more, and the largest 100 or more, set by set."""
    by_set, words = dict[str, bool](), list[str]()
    for name in READINGS:
        ratios = _ratios(results, name, "rounds")
        if ratios:
            by_set[name] = statistics.median(ratios) >= 10 and max(ratios) >= 100
            words.append(f"{name} {statistics.median(ratios):.1f} times, at most {max(ratios):.0f}")
    return Decision(all(by_set.values()), "; ".join(words), "10, sometimes 100 times", by_set) if by_set else None


def _faster(
    kind: str,
    pairs: Sequence[tuple[str, str]] = RELATIVES,
    is_included_eta: Callable[[float], bool] = lambda eta: True,
    times: float = 1.0,
    faster: bool = True,
) -> AskOfSet:
    """Return what asks whether the first algorithm of each pair takes less time to its end.

    A run ends by the rule or after the rounds of print. One that was cut off before takes its seconds at least, and
    a case is open where these do not decide it.

    Parameters
    ----------
    kind
        The class of hypotheses.
    pairs
        Algorithms, the one that should be faster first.
    is_included_eta
        Whether an eta is asked about.
    times
        So many times the seconds of the first must be below those of the second.
    faster
        False asks for the contrary.
    """

    def ask(results: Results, name: str) -> list[bool | None]:
        outcomes = list[bool | None]()
        for one, rival in pairs:
            for a, b in _pairs(results, name, (kind,), one, rival):
                if is_included_eta(a["eta"]):
                    first = {**as_in_print(a, one), "seconds": times * a["seconds"]}
                    is_sooner = sooner(first, as_in_print(b, rival))
                    outcomes.append(None if is_sooner is None else is_sooner == faster)
        return outcomes

    return ask


def _mixed(results: Results) -> Decision | None:
    """Return whether totally corrective algorithms are faster on german over raw features at some eta, not at all."""
    outcomes = _faster("raw")(results, "german")
    if not outcomes:
        return None
    n, n_true, n_open = len(outcomes), outcomes.count(True), outcomes.count(None)
    holds = True if 0 < n_true < n - n_open else None if n_open else False
    return Decision(holds, f"german {n_true} of {n - n_open} runs{f', {n_open} open' if n_open else ''}")


def _more_errors(
    kinds: Sequence[str], is_included_eta: Callable[[float], bool], holds: Callable[[float], bool]
) -> AskOfSet:
    """Return what asks by how much the error of corrective algorithms exceeds that of totally corrective ones.

    A run that was cut off before the rounds of print has another error, and leaves it open.
    """

    def ask(results: Results, name: str) -> list[bool | None]:
        outcomes = list[bool | None]()
        for total, corrective in RELATIVES:
            for a, b in _pairs(results, name, kinds, total, corrective):
                if is_included_eta(a["eta"]):
                    is_known = as_in_print(a, total)["held"] and as_in_print(b, corrective)["held"]
                    outcomes.append(holds(b["test"] - a["test"]) if is_known else None)
        return outcomes

    return ask


def _never_twice(results: Results, name: str) -> list[bool]:
    """Return of each run of a totally corrective algorithm whether every round found another hypothesis."""
    return [
        point["rounds"] == point["hypotheses"]
        for algorithm in TOTAL
        for parameters, _ in results.select(data=name, algorithm=algorithm, seed=0)
        for point in points_of(results, parameters)
    ]


def _is_small(eta: float) -> bool:
    return eta <= SMALL_ETA


def _is_large(eta: float) -> bool:
    return eta >= LARGE_ETA


PAIRS_OF_RUNS = "pairs of runs that ended"

ETA = (
    claim_by_set(
        "T 5.10",
        f"The mean error at the eta of theory is within {NEAR:g} of the best of the grid.",
        ("a9a",),
        _theory("stumps", lambda excess: excess <= NEAR),
        "entropies",
        always=True,
    ),
    claim_by_set(
        "T 5.10",
        f"On german and diabetes it is not within {NEAR:g}.",
        SMALL_READINGS,
        _theory("stumps", lambda excess: excess > NEAR),
        "entropies",
        always=True,
    ),
    claim_by_set(
        "T 5.10 small",
        "At no eta of the grid, all below that of theory, the mean error is larger by more than 0.005.",
        SMALL_READINGS,
        _never_worse("stumps", 0.005),
        "entropies",
        always=True,
    ),
    claim_by_set(
        "T 5.11 a9a",
        "The mean error at the eta of theory is within 0.005 of the best of the grid.",
        ("a9a",),
        _theory("raw", lambda excess: excess <= 0.005),
        "entropies",
        always=True,
    ),
    claim_by_set(
        "T 5.11 small",
        f"The best eta up to {SMALL_ETA} has a smaller mean error than the eta of theory, by 0.01 or more.",
        SMALL_READINGS,
        _theory("raw", lambda excess: excess > 0.01, SMALL_ETA),
        "entropies",
        always=True,
    ),
    claim_by_set(
        "T 5.12",
        f"The mean error at the eta of theory is within {NEAR:g} of the best of the grid.",
        READINGS,
        _theory("SVM", lambda excess: excess <= NEAR),
        "entropies",
        always=True,
    ),
    claim_by_set(
        "T 5.19 small",
        f"Totally corrective algorithms take less time at all eta up to {SMALL_ETA}.",
        READINGS,
        _faster("stumps", is_included_eta=_is_small),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.19 large",
        f"Corrective algorithms take less time at all eta from {LARGE_ETA:,} on.",
        SMALL_READINGS,
        _faster("stumps", CORRECTIVE_FIRST, _is_large),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.19 a9a",
        f"Corrective algorithms nowhere take less time at eta from {LARGE_ETA:,} on.",
        ("a9a",),
        _faster("stumps", CORRECTIVE_FIRST, _is_large, faster=False),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.19 binary",
        "On the sets at hand Corrective Binary ERLPBoost nowhere takes less time.",
        READINGS,
        _faster("stumps", (("corr bin", "corr"),), faster=False),
        "values of eta",
        always=True,
    ),
    claim_by_set(
        "T 5.20",
        "Totally corrective algorithms take less time at every eta.",
        ("a9a", "diabetes"),
        _faster("raw"),
        "runs",
        always=True,
    ),
    Claim("T 5.20 german", "Totally corrective algorithms take less time at some eta, and not at all of them.", _mixed),
    claim_by_set(
        "T 5.20 binary",
        "Corrective Binary ERLPBoost takes more time at every eta.",
        READINGS,
        _faster("raw", BINARY_LAST),
        "values of eta",
        always=True,
    ),
    claim_by_set(
        "T 5.21",
        "Totally corrective algorithms take at most half of the time at every eta.",
        SMALL_READINGS,
        _faster("SVM", times=2.0),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.21",
        "On a9a they nowhere take at most half of the time.",
        ("a9a",),
        _faster("SVM", times=2.0, faster=False),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.21 binary",
        "Corrective Binary ERLPBoost takes more time at every eta.",
        READINGS,
        _faster("SVM", BINARY_LAST),
        "values of eta",
        always=True,
    ),
    claim_by_set(
        "T 5.22 small",
        f"At eta up to {SMALL_ETA} the errors of both differ by at most {NEAR:g}.",
        READINGS,
        _more_errors(ALL, _is_small, lambda more: abs(more) <= NEAR),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.22 a9a",
        f"From eta = {LARGE_ETA:,} on the corrective error is at most 0.005 above the other.",
        ("a9a",),
        _more_errors(("stumps",), _is_large, lambda more: more <= 0.005),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.22 others",
        f"From eta = {LARGE_ETA:,} on the corrective error is the larger one.",
        SMALL_READINGS,
        _more_errors(("stumps",), _is_large, lambda more: more > 0.0),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.23",
        "The ties are read as those of the sets at hand: errors differ by at most "
        f"{NEAR:g} from eta = {LARGE_ETA:,} on.",
        READINGS,
        _more_errors(("raw",), _is_large, lambda more: abs(more) <= NEAR),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.24",
        f"From eta = {LARGE_ETA:,} on the corrective error is the larger one.",
        ("a9a",),
        _more_errors(("SVM",), _is_large, lambda more: more > 0.0),
        "runs",
        always=True,
    ),
    claim_by_set(
        "T 5.24 others",
        f"From eta = {LARGE_ETA:,} on the corrective error is at most {NEAR:g} above the other.",
        SMALL_READINGS,
        _more_errors(("SVM",), _is_large, lambda more: more <= NEAR),
        "runs",
        always=True,
    ),
    Claim(
        "T 5.25",
        "Where both ended, by the rule or after the rounds of print, the median of the ratios of rounds is 10 or more, "
        "the largest 100 or more.",
        _more_rounds,
    ),
    claim_by_set(
        "T 5.25 order",
        "Where both ended, by the rule or after the rounds of print, the ratio of the numbers of hypotheses is from "
        "0.1 to 10.",
        READINGS,
        lambda results, name: [0.1 <= ratio <= 10 for ratio in _ratios(results, name, "hypotheses")],
        PAIRS_OF_RUNS,
        always=True,
    ),
    claim_by_set(
        "T 5.25 twice",
        "Every round of a totally corrective run finds another hypothesis, the last one too.",
        READINGS,
        _never_twice,
        "runs",
        always=True,
    ),
)


# Section 5.5


BOTH_WAYS = ("erlp", "step")


def at_epsilon(results: Results, epsilon: float | None) -> Results:
    """Return the units with an epsilon of their own, or with that of the figures where it is None."""
    return Results(line for line in results.lines if line["parameters"].get("epsilon") == epsilon)


def _sooner(
    kinds: Sequence[str], measure: str, ways: tuple[str, str] = BOTH_WAYS, epsilon: float | None = None
) -> AskOfSet:
    """Return what asks whether ERLPBoost takes less than the corrective algorithm with the fixed step, or the contrary.

    A run that did not come to the end takes what it took at least.
    """

    def ask(all_results: Results, name: str) -> list[bool]:
        results, values = at_epsilon(all_results, epsilon), list[bool]()
        for kind in kinds:
            both = [results.select(data=name, hypotheses=kind, way=way) for way in ways]
            if all(both):
                one, rival = (curve[0][1] for curve in both)
                values.append(sooner(one, rival, measure) is True)
        return values

    return ask


SMALL_EPSILON = (
    claim_by_set(
        "T 5.28 rounds",
        "ERLPBoost comes to the end in fewer rounds than the fixed step.",
        ("diabetes",),
        _sooner(ALL, "rounds"),
        "classes",
        always=True,
    ),
    claim_by_set(
        "T 5.28 time",
        "ERLPBoost comes to the end in less time than the fixed step.",
        ("diabetes",),
        _sooner(ALL, "seconds"),
        "classes",
        always=True,
    ),
    claim_by_set(
        "T 5.29",
        "ERLPBoost comes to the end in less time than the fixed step.",
        ("german",),
        _sooner(("stumps", "SVM"), "seconds"),
        "classes",
        always=True,
    ),
    claim_by_set(
        "T 5.29 raw",
        "The fixed step comes to the end in less time than ERLPBoost.",
        ("german",),
        _sooner(("raw",), "seconds", ("step", "erlp")),
        "classes",
        always=True,
    ),
    claim_by_set(
        "T 5.5 1e-8",
        "The fixed step comes to the end in less time than ERLPBoost at this epsilon.",
        ("german",),
        _sooner(("raw",), "seconds", ("step", "erlp"), 1e-8),
        "classes",
        always=True,
    ),
)
