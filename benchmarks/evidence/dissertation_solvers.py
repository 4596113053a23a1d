"""Figures 5.1 to 5.3 of the dissertation with several solvers of linear programs: what of LPBoost's curves is theirs.

An optimal distribution of a linear program is not unique, so solvers return others, and the oracle other hypotheses.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.evidence.dissertation_claims import CONVENTIONS, AskOfReading
from benchmarks.evidence.dissertation_figures import LP_EPSILONS, ZEROS, count_stability
from benchmarks.evidence.dissertation_runs import (
    CLASSES,
    DATA,
    SMALL_READINGS,
    STABLE,
    lpboost,
    needs_scale,
    present,
    seeds,
    split,
)
from benchmarks.evidence.experiment import Experiment, Parameters, Results, claim_by_reading
from benchmarks.evidence.pages import span, table

SOLVERS = {
    "highs:dual": "dual simplex",
    "highs:primal": "primal simplex",
    "highs:ipm": "interior points",
}
"""Backends, and the method of HiGHS that each of them is."""


def _units(quick: bool, done: Results) -> Iterator[Parameters]:
    for name, seed in itertools.product(("german",) if quick else SMALL_READINGS, range(1 if quick else 5)):
        for hypotheses, backend in itertools.product(CLASSES, SOLVERS):
            if needs_scale(name, hypotheses):
                yield {"data": name, "seed": seed, "hypotheses": hypotheses, "backend": backend}


def _changes(data: str, seed: int, hypotheses: str, backend: str) -> Mapping[str, Any]:
    """Return the largest changes of LPBoost's test error in a round at nu = 1, with one solver."""
    data_split = split(data, seed)
    fitted = lpboost(data_split.oracle(hypotheses), 0.0, LP_EPSILONS[hypotheses], history=True, backend=backend)
    return count_stability(fitted, data_split, False)


def _is_unstable(results: Results, name: str, kind: str, backend: str, zero: str) -> bool | None:
    """Return whether the error changes by more than is stable on most splits; None where there is none."""
    units = results.select(data=name, hypotheses=kind, backend=backend)
    changes = [result["changes"][zero] > STABLE for _, result in units]
    return 2 * sum(changes) > len(changes) if changes else None


def _every_solver(kind: str, unstable: bool = True) -> AskOfReading:
    """Return what asks of each solver whether LPBoost is unstable on most splits, or the contrary."""

    def ask(results: Results, name: str, zero: str) -> list[bool]:
        outcomes = [_is_unstable(results, name, kind, backend, zero) for backend in SOLVERS]
        return [is_unstable == unstable for is_unstable in outcomes if is_unstable is not None]

    return ask


def _write(results: Results, folder: Path) -> str:
    rows, dependent, compared = list[list[str]](), {zero: list[str]() for zero in CONVENTIONS}, 0
    for kind, name in itertools.product(
        present(results, "hypotheses", tuple(CLASSES)), present(results, "data", SMALL_READINGS)
    ):
        if not results.select(data=name, hypotheses=kind):
            continue
        compared += 1
        for zero in CONVENTIONS:
            verdicts = {_is_unstable(results, name, kind, backend, zero) for backend in SOLVERS} - {None}
            if len(verdicts) > 1:
                dependent[zero].append(f"{name}, {kind}")
        for backend, words in SOLVERS.items():
            units = [result for _, result in results.select(data=name, hypotheses=kind, backend=backend)]
            if units:
                row = [f"{name}, {kind}, {words}", f"{statistics.median(r['rounds'] for r in units):g}"]
                row += [span([r["changes"][zero] for r in units], ".3f") for zero in CONVENTIONS]
                rows.append([*row, span([r["zeros"] for r in units], ".2f")])
    conclusions = [
        f"If f = 0 counts as {ZEROS[zero]}, the answer depends on the solver in {len(places)} of {compared} cases"
        + (f" ({'; '.join(places)})" if places else "")
        for zero, places in dependent.items()
    ]
    header = ["", "rounds", *(f"largest change, 0 is {ZEROS[zero]}" for zero in CONVENTIONS), "most zeros"]
    return (
        f"LPBoost runs at nu = 1, as in figures 5.1 to 5.3, with three methods of HiGHS, over splits (their number: "
        f"{seeds(results)}). The dissertation used COIN-LP, and names no method. Optima of a linear program are not "
        f"unique, so the methods return other distributions, other hypotheses and other curves. Does the error change "
        f"by more than {STABLE:g} in a round on most splits? {'. '.join(conclusions)}. An answer that "
        f"depends on neither is about LPBoost. The sizes of its changes also depend on a solver and a "
        f"convention.\n\n" + table(header, rows)
    )


CHANGES = f"the error changes by more than {STABLE:g} in some round of most splits"
NO_CHANGE = f"the error changes by {STABLE:g} at most in a round of most splits"

EXPERIMENTS = (
    Experiment(
        name="T_lp_solvers",
        title="Figures 5.1 to 5.3 with three solvers of linear programs",
        source="Glocer 2009, section 5.1",
        page="dissertation",
        units=_units,
        work=_changes,
        write_page=_write,
        claims=tuple(
            claim_by_reading(
                sentence,
                f"With each of three methods of HiGHS {words}, f = 0 being an error or of the larger class.",
                names,
                CONVENTIONS,
                _every_solver(kind, unstable),
                "solvers",
                always=True,
            )
            for sentence, kind, names, unstable, words in (
                ("T 5.1 stumps", "stumps", SMALL_READINGS, True, CHANGES),
                ("T 5.2 unstable", "raw", ("german", "german scaled"), True, CHANGES),
                ("T 5.2 unstable", "raw", ("diabetes", "diabetes scaled"), False, NO_CHANGE),
                ("T 5.3 unstable", "SVM", SMALL_READINGS, True, CHANGES),
            )
        ),
        data=DATA,
    ),
)
