"""The page of the atlas: tables between two markers, made from the solves that are stored."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.atlas_solves import (
    GOOD,
    Solves,
    best_forms,
    case_of,
    form_of,
    formulation_of,
    read,
    solver_of,
)
from benchmarks.pages import replace_between
from benchmarks.pages import row as table_row
from boostopt._utils.environment import describe_environment
from boostopt.comparison.failures import FAILURE_TEXTS
from boostopt.comparison.rendering.score_sentences import format_median_seconds, format_ratio
from boostopt.comparison.scores import SHIFT_SECONDS, shifted_geometric_mean
from boostopt.comparison.solve_record import FAILURE_KINDS, SolveRecord
from boostopt.instances.standard import TWO_COLUMN_FORMULATIONS

BEGIN, END = "<!-- made by benchmarks/atlas.py: begin -->", "<!-- made by benchmarks/atlas.py: end -->"
LIMIT = 60.0
GAPS = (1e-3, 1e-6, 1e-9)
LARGEST = ("random_wide", "random_tall")
NONE = "·"
NO_CONTRADICTION = "No interval contradicts another one."


def write_page(page: Path, archive: Path) -> None:
    """Put the tables between the markers of a page, replacing what is there.

    Raises
    ------
    DataError
        The page has not both markers, in this order.
    """
    replace_between(page, BEGIN, END, tables(read(archive)))


def tables(solves: Solves) -> str:
    """Return all tables as Markdown."""
    high = [row for row in solves.by_profile if row.ran and row.profile == "high"]
    parts = [
        ("Seconds to a certified gap of 1e-6", _SECONDS, certified_table(solves.certified, 1e-6)),
        ("Programs solved to each gap", _FAR, far_table(solves.certified)),
        ("Claims of an optimum", _SAYS, claims_table(solves.by_profile)),
        ("Why solves failed", _WHY, failures_table(high)),
        ("Where each solver fails", _WHERE, unreached_table(high)),
        ("The same request to all solvers", _SAME, ratio_table(solves.by_profile)),
        ("Forms", _FORMS, forms_table(high)),
        ("Memory", _MEMORY, memory_table(high)),
        ("Versions", made_with(solves), versions_table(solves.rows)),
    ]
    return "\n\n".join(f"## {title}\n\n{words}\n\n" + "\n".join(table) for title, words, table in parts)


_SECONDS = (
    "Each solver makes attempts, form after form, until the certified gap is small enough. The table shows shifted "
    f"geometric means over the programs of a formulation (shift {SHIFT_SECONDS:g} s). A failure counts as the limit of "
    f"{LIMIT:g} s. With failures, the mean is a lower bound (≥), and the number of failures is in brackets. The best "
    "mean is bold."
)
_FAR = (
    "The table shows how many programs a solver takes, and how many of them it brought to each certified gap. A solver "
    "may try several forms and accuracies."
)
_SAYS = (
    "The table counts the solves in which the solver says that it found an optimum, all forms together. It shows how "
    "many of these have a certified gap wider than each limit, and the widest gap. `default` means default settings, "
    "`high` means a request of 1e-9."
)
_WHY = (
    "The table counts the solves with a request of 1e-9, in all forms, whose certified gap is wider than "
    f"{GOOD:g}, by the kind of failure."
)
_WHERE = (
    "The request is 1e-9, and each program counts in its best form. For each kind of margins, the table lists the "
    f"formulations that the solver takes, but whose certified gap stayed wider than {GOOD:g}. "
    f"*All* means all formulations that the solver takes, and {NONE} means none."
)
_SAME = (
    "Each rival uses its best form of each program. All solvers get the same request, and stop by their own estimate. "
    "The ratio is the seconds of the rival divided by the seconds of `interior`. The table shows the geometric mean "
    f"over the programs on which both reached a certified gap of {GOOD:g}, and the least and the largest ratio."
)
_FORMS = (
    f"The request is 1e-9. The table shows on how many programs each form reached a certified gap of {GOOD:g}, and the "
    "mean seconds."
)
_MEMORY = (
    "The request is 1e-9, on the largest margins. The table shows by how many megabytes the peak memory of the "
    "solver's process exceeded the memory before the solve."
)


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield table_row(cells)
    yield table_row(["---", *["---:"] * (len(cells) - 1)])


def _in_order(names: Iterable[str]) -> list[str]:
    """Return names once, boostopt's own first."""
    return sorted(set(names), key=lambda name: (name.startswith("cvxpy:"), name))


def _grouped(rows: Iterable[SolveRecord], by: Callable[[SolveRecord], str]) -> dict[str, list[SolveRecord]]:
    groups: dict[str, list[SolveRecord]] = {}
    for row in rows:
        groups.setdefault(by(row), []).append(row)
    return groups


def _mean(rows: Sequence[SolveRecord], gap: float) -> tuple[float, int]:
    """Return the shifted geometric mean of the seconds to a gap, and how many did not come to it."""
    times = [row.seconds if row.scaled_gap <= gap else LIMIT for row in rows]
    return shifted_geometric_mean(times), sum(row.scaled_gap > gap for row in rows)


def certified_table(certified: Sequence[SolveRecord], gap: float) -> Iterator[str]:
    """Yield solvers against formulations."""
    rows = [row for row in certified if row.tol == gap]
    formulations = list(dict.fromkeys(map(formulation_of, rows)))
    yield from _head(["solver", *(f"`{name}`" for name in formulations)])
    by_solver = _grouped([row for row in rows if row.ran], solver_of)
    best = {
        name: min(_mean(solves, gap)[0] for solves in _grouped_by_solver(rows, name).values() if solves)
        for name in formulations
    }
    for solver in _in_order(by_solver):
        by_formulation = _grouped(by_solver[solver], formulation_of)
        yield table_row(
            [f"`{solver}`", *(_time(by_formulation.get(name, []), gap, best[name]) for name in formulations)]
        )


def _grouped_by_solver(rows: Iterable[SolveRecord], formulation: str) -> dict[str, list[SolveRecord]]:
    return _grouped([row for row in rows if row.ran and formulation_of(row) == formulation], solver_of)


def _time(rows: Sequence[SolveRecord], gap: float, best: float) -> str:
    if not rows:
        return NONE
    mean, failed = _mean(rows, gap)
    words = f"≥ {format_median_seconds(mean)} ({failed})" if failed else format_median_seconds(mean)
    return f"**{words}**" if mean == best and not failed else words


def far_table(certified: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield how many programs each solver brought to each gap."""
    by_solver = _grouped([row for row in certified if row.ran], solver_of)
    yield from _head(["solver", "programs", *(f"{gap:g}" for gap in GAPS)])
    for solver in _in_order(by_solver):
        solves = by_solver[solver]
        counts = [sum(row.tol == gap and row.has_target_gap for row in solves) for gap in GAPS]
        yield table_row([f"`{solver}`", str(len({row.program for row in solves})), *map(str, counts)])


def claims_table(records: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield how often a claim of an optimum is not true."""
    yield from _head(["solver", "asked for", "claims an optimum", "of solves", "> 1e-6", "> 1e-3", "> 0.1", "widest"])
    by_solver = _grouped([row for row in records if row.ran], solver_of)
    for solver in _in_order(by_solver):
        for profile, solves in sorted(_grouped(by_solver[solver], lambda row: row.profile or "").items()):
            claiming = [row.scaled_gap for row in solves if row.claims]
            wider = [str(sum(gap > limit for gap in claiming)) for limit in (1e-6, 1e-3, 0.1)]
            widest = f"{max(claiming):.0e}" if claiming else NONE
            yield table_row([f"`{solver}`", profile, str(len(claiming)), str(len(solves)), *wider, widest])


def failures_table(high: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield the failures of each solver by kind."""
    by_solver = _grouped(high, solver_of)
    yield from _head(["solver", "solves", "good", *FAILURE_KINDS])
    for solver in _in_order(by_solver):
        solves = by_solver[solver]
        bad = [row for row in solves if row.scaled_gap > GOOD]
        counts = Counter(row.failure for row in bad)
        cells = [str(counts[kind]) if counts[kind] else NONE for kind in FAILURE_KINDS]
        yield table_row([f"`{solver}`", str(len(solves)), str(len(solves) - len(bad)), *cells])
    yield ""
    yield ". ".join(f"*{kind}*: {words}" for kind, words in FAILURE_TEXTS.items()) + "."


def unreached_table(high: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield what each solver did not come to, for each kind of margins."""
    best = best_forms(high)
    cases = list(dict.fromkeys(map(case_of, best)))
    yield from _head(["solver", *(f"`{case}`" for case in cases)])
    by_solver = _grouped(best, solver_of)
    for solver in _in_order(by_solver):
        by_case = _grouped(by_solver[solver], case_of)
        yield table_row([f"`{solver}`", *(_given_up(by_case.get(case, [])) for case in cases)])


def _given_up(rows: Sequence[SolveRecord]) -> str:
    bad = sorted(formulation_of(row) for row in rows if row.scaled_gap > GOOD)
    if len(bad) == len(rows):
        return "all" if rows else ""
    return ", ".join(bad) or NONE


def ratio_table(records: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield the seconds of the best form of each rival over those of the interior point."""
    yield from _head(["rival", "asked for", "both reached the gap", "ratio", "least", "largest"])
    best = best_forms(row for row in records if row.ran)
    interior_solves = {
        (row.program, row.profile): row for row in best if row.backend == "interior" and row.scaled_gap <= GOOD
    }
    by_solver = _grouped([row for row in best if row.backend != "interior"], solver_of)
    for solver in _in_order(by_solver):
        for profile, solves in sorted(_grouped(by_solver[solver], lambda row: row.profile or "").items()):
            both = [row for row in solves if row.scaled_gap <= GOOD and (row.program, profile) in interior_solves]
            ratios = [row.seconds / interior_solves[row.program, profile].seconds for row in both]
            if not ratios:
                yield table_row([f"`{solver}`", profile, f"0 of {len(solves)}", NONE, NONE, NONE])
                continue
            middle = math.exp(statistics.fmean(map(math.log, ratios)))
            spread = [format_ratio(value) for value in (middle, min(ratios), max(ratios))]
            yield table_row([f"`{solver}`", profile, f"{len(both)} of {len(solves)}", *spread])


def forms_table(high: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield how each form serves each solver."""
    rows = [row for row in high if form_of(row)]
    for title, entropies in (("entropies", True), ("linear and quadratic programs, norms", False)):
        selection = [row for row in rows if ("rated" in _forms_of(rows, row)) == entropies]
        forms = list(dict.fromkeys(sorted(map(form_of, selection), key=_place)))
        yield from _head([title, *(f"`{form}`" for form in forms)])
        for solver, solves in sorted(_grouped(selection, solver_of).items()):
            by_form = _grouped(solves, form_of)
            yield table_row([f"`{solver}`", *(_served(by_form.get(form, [])) for form in forms)])
        yield ""


def _forms_of(rows: Sequence[SolveRecord], row: SolveRecord) -> set[str]:
    """Return the words in the forms in which a program was handed over."""
    return {part for record in rows if record.program == row.program for part in form_of(record).split("-")}


def _place(form: str) -> int:
    return ["primal", "density", "rated", "density-rated", "dual", "dual-rated"].index(form)


def _served(rows: Sequence[SolveRecord]) -> str:
    if not rows:
        return NONE
    mean, failed = _mean(rows, GOOD)
    return f"{len(rows) - failed} of {len(rows)}, {format_median_seconds(mean)} s"


def memory_table(high: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield the memory of each solver."""
    yield from _head(["solver", "median", "most", "on"])
    large = [row for row in high if case_of(row) in LARGEST and formulation_of(row) not in TWO_COLUMN_FORMULATIONS]
    by_solver = _grouped([row for row in large if row.peak_memory is not None], solver_of)
    for solver in _in_order(by_solver):
        solves = sorted(by_solver[solver], key=lambda row: row.peak_memory or 0)
        middle, largest = solves[len(solves) // 2].peak_memory or 0, solves[-1].peak_memory or 0
        yield table_row([f"`{solver}`", f"{middle / 1e6:.0f}", f"{largest / 1e6:.0f}", solves[-1].program])


def made_with(solves: Solves) -> str:
    """Say what was solved, on what, and whether the intervals agree."""
    contradictory = solves.contradicted
    agree = (
        f"**The intervals of {', '.join(contradictory)} contradict each other.**" if contradictory else NO_CONTRADICTION
    )
    return (
        f"The tables show {len(solves.rows)} solves of {len(solves.programs)} programs. {agree} Each solve ran once, "
        f"in a process of its own on one core, for at most {LIMIT:g} s. "
        f"{describe_environment(', '.join(solves.versions), solves.machine)}"
    )


def versions_table(rows: Sequence[SolveRecord]) -> Iterator[str]:
    """Yield the solvers with their versions."""
    yield from _head(["solver", "version"])
    versions = {solver_of(row): row.version for row in rows}
    for solver in _in_order(versions):
        yield table_row([f"`{solver}`", versions[solver] or "of boostopt"])
