"""Tables of a session of the arena: what each entrant reached, what that cost, and how far repeats differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.arena_problems import arena_problems
from benchmarks.arena_session import solver_of_form
from boostopt._utils.formatting import format_count, format_interval
from boostopt.backends.cvxpy.cvxpy_backend import NAME_PREFIX

GAPS = (1e-3, 1e-6)
"""The relative gaps of the tables, over |optimum|."""

SHIFT = 0.01
"""Shift of the geometric means, in seconds."""

BEST_FORM = ", best form"
"""The end of the name of a solver whose forms count together, by the fastest on each problem."""

MAX_QUIET_LOAD = 1.5
"""The load up to which a machine counts as quiet: one solve at a time, and the command itself."""

MAX_STATUS_LETTERS = 100
"""The largest number of letters of a status below the tables."""

FAMILIES = {name: problem.family for name, problem in arena_problems(None).items()}
"""Family by problem, without the files of others."""

Session = Mapping[str, Any]


def family_of(problem: str) -> str:
    """Return the family of a problem by name; what is not in the set without files of others is a file."""
    return FAMILIES.get(problem, "files")


@dataclass(frozen=True)
class CheapestSolve:
    """The cheapest request, and form, of an entrant each of whose repeats proves a gap on a problem.

    Attributes
    ----------
    wall_seconds, cpu_seconds, solver_seconds
        Medians over the repeats, without the certificate; the last is the solver's alone. nan if not measured.
    spread
        The largest less the smallest wall seconds, over their median; nan for a single solve.
    request
        The request.
    form
        The form of the program; None for a CVXPY problem.
    """

    wall_seconds: float
    cpu_seconds: float
    solver_seconds: float
    spread: float
    request: float
    form: str | None


Winners = Mapping[tuple[str, str], CheapestSolve | None]
"""Cheapest solves by problem and entrant; None where the gap is not reached."""


def names_in_tables(entrants: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the rows of tables in which the solves of each entrant count: its own, and that of the best form."""
    solvers = [solver for entrant in entrants if (solver := solver_of_form(entrant)) in entrants]
    return {
        entrant: (f"{solver_of_form(entrant)}{BEST_FORM}",)
        if solver_of_form(entrant) in entrants
        else (entrant, f"{entrant}{BEST_FORM}")
        if entrant in solvers
        else (entrant,)
        for entrant in entrants
    }


def cheapest_solves(session: Session, gap: float) -> dict[tuple[str, str], CheapestSolve | None]:
    """Return, by problem and entrant, the cheapest request each of whose repeats proves a relative gap; None for none.

    If a solver enters in further forms, it has a second row with the cheapest form of each problem.
    """
    runs = [run for run in session["runs"] if run["ran"]]
    rows = names_in_tables(list(dict.fromkeys(run["entrant"] for run in runs)))
    groups: dict[tuple[str, str], dict[tuple[float, str], list[Any]]] = {}
    for run in runs:
        for name in rows[run["entrant"]]:
            groups.setdefault((run["problem"], name), {}).setdefault((run["request"], run["entrant"]), []).append(run)
    return {key: _cheapest_group(by_request.values(), gap) for key, by_request in groups.items()}


def _cheapest_group(groups: Iterable[Sequence[Any]], gap: float) -> CheapestSolve | None:
    """Return the group of repeats with the least wall seconds among those that all prove a gap; None for none."""
    candidates = list[CheapestSolve]()
    for runs in groups:
        if all(run["relative_gap"] is not None and run["relative_gap"] <= gap for run in runs):
            wall = [run["wall_seconds"] for run in runs]
            candidates.append(
                CheapestSolve(
                    median(wall),
                    _median_of_known(run["cpu_seconds"] for run in runs),
                    _median_of_known(run["solver_seconds"] for run in runs),
                    (max(wall) - min(wall)) / max(median(wall), 1e-9) if len(wall) > 1 else math.nan,
                    runs[0]["request"],
                    runs[0]["form"],
                )
            )
    return min(candidates, key=lambda candidate: candidate.wall_seconds, default=None)


def _median_of_known(values: Iterable[float | None]) -> float:
    """Return the median of the values that were measured; nan for none."""
    measured_values = [value for value in values if value is not None]
    return median(measured_values) if measured_values else math.nan


def shifted_mean(seconds: Iterable[float]) -> float:
    """Return the geometric mean of seconds, shifted by `SHIFT`."""
    logarithms = [math.log(value + SHIFT) for value in seconds]
    return math.exp(math.fsum(logarithms) / len(logarithms)) - SHIFT if logarithms else math.nan


def problem_groups(winners: Winners) -> dict[tuple[str, ...], list[str]]:
    """Return the problems by family and the entrants that take them: (family, entrant, ...)."""
    entrants: dict[str, list[str]] = {}
    for problem, entrant in winners:
        entrants.setdefault(problem, []).append(entrant)
    groups: dict[tuple[str, ...], list[str]] = {}
    for problem, names in entrants.items():
        groups.setdefault((family_of(problem), *sorted(names)), []).append(problem)
    return groups


def ratios(winners: Winners, problems: Sequence[str], entrants: Sequence[str]) -> dict[str, list[float]]:
    """Return the wall seconds of each entrant over the least of all, on each problem that one of them reaches.

    A problem that an entrant does not reach has the ratio inf.
    """
    quotients: dict[str, list[float]] = {entrant: [] for entrant in entrants}
    for problem in problems:
        seconds = {
            entrant: math.inf if (winner := winners[problem, entrant]) is None else winner.wall_seconds
            for entrant in entrants
        }
        min_seconds = min(seconds.values())
        if math.isfinite(min_seconds):
            for entrant, value in seconds.items():
                quotients[entrant].append(value / min_seconds)
    return quotients


def head_lines(session: Session) -> list[str]:
    """Return what is timed, by whom, on what, as lines of Markdown."""
    machine, settings = session["machine"], session["settings"]
    runs = [run for run in session["runs"] if run["ran"]]
    loads = [run["load"] for run in runs if run["load"] is not None]
    n_quiet = sum(load <= MAX_QUIET_LOAD for load in loads)
    load_text = (
        f"load {median(loads):.1f} in the median, at most {max(loads):.1f}, up to {MAX_QUIET_LOAD:g} at "
        f"{n_quiet / len(loads):.0%} of the solves"
        if loads
        else "load unknown"
    )
    entrants = list(dict.fromkeys(run["entrant"] for run in runs))
    requests = ", ".join(f"{request:g}" for request in settings["requests"])
    specialists = [name for name in entrants if not name.startswith(NAME_PREFIX) and ".py" not in name]
    continuations = format_count(len(session["starts"]) - 1, "continuation")
    lines = [
        f"Session of {session['date']}, {continuations}: boostopt {session['boostopt']}, {machine['cpu']}, "
        f"{format_count(machine['cores'], 'core')}, one thread, {machine['system']}, "
        f"Python {machine['python']}, {load_text}.",
        "",
        "- **What is timed**: the model, CVXPY's canonical form, the solver and the reading of the answer, in a "
        "process of its own with one thread; neither the start of the process nor the certificate. *solver s* is the "
        "solver alone, and all that a function of a file does.",
        f"- **What was asked**: {requests} as the value of all tolerances of optimality (those of infeasibility, and "
        f"limits of iterations, are CVXPY's and the solvers' own), {format_count(settings['repeats'], 'solve')} each, "
        f"at most {settings['time_limit']:g} s for a solve, all entrants in shuffled order, boosting programs first. "
        "Of the requests whose repeats all prove the gap, the one with the least median wall seconds counts. Gaps are "
        "certified, relative to the optimum.",
    ]
    if specialists:
        lines.append(
            f"- **Who is specialised**: {', '.join(specialists)}: for boosting programs alone, without CVXPY, whose "
            "canonical form counts in the seconds of the others."
            + (" `interior` is made for the dense systems of these programs." if "interior" in specialists else "")
        )
    if any(len(rows) > 1 for rows in names_in_tables(entrants).values()):
        lines.append(
            f"- **Forms**: each solver behind CVXPY also enters in the forms {', '.join(settings['forms'])}. The row "
            f"*{BEST_FORM.strip(', ')}* has the fastest form of each problem, chosen by the same seconds."
        )
    lines.append(
        "- **Columns**: *reached* problems; *ratio*, the median over the problems of the wall seconds over the least "
        "of all entrants there, and the quartiles, inf where the gap is not reached; *s*, geometric means shifted by "
        f"{SHIFT:g} s over the *common* problems, which all entrants reach that reach half of the group; *spread*, "
        "the largest less the smallest wall seconds over the median of the repeats, its median over these problems."
    )
    return lines


def session_lines(session: Session) -> list[str]:
    """Return the tables of a session as lines of Markdown: what each entrant reached, and what that cost."""
    lines = head_lines(session)
    winners_by_gap = {gap: cheapest_solves(session, gap) for gap in GAPS}
    for (family, *entrants), problems in problem_groups(winners_by_gap[GAPS[0]]).items():
        lines += [
            "",
            f"**{family}, {format_count(len(problems), 'problem')} that these entrants take**: "
            f"{', '.join(kinds(problems))}",
            "",
            "| entrant | gap | reached | ratio | common | wall s | CPU s | solver s | spread |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for gap, winners in winners_by_gap.items():
            lines += _group_rows(winners, problems, entrants, gap)
    return lines + failure_lines(session)


def failure_lines(session: Session) -> list[str]:
    """Return, for each entrant, how many of its solves prove no gap and in what words; [] if all prove one."""
    lines = list[str]()
    for entrant in dict.fromkeys(run["entrant"] for run in session["runs"]):
        solves = [run for run in session["runs"] if run["entrant"] == entrant and run["ran"]]
        words = Counter(run["status"] or "no words" for run in solves if run["relative_gap"] is None)
        if words:
            texts = [f"{' '.join(text.split())[:MAX_STATUS_LETTERS]} ({count})" for text, count in words.most_common(3)]
            lines.append(
                f"- {entrant}: {words.total()} of {format_count(len(solves), 'solve')} "
                f"{'proves' if words.total() == 1 else 'prove'} no gap: {'; '.join(texts)}"
            )
    return ["", *lines] if lines else []


def kinds(problems: Sequence[str]) -> list[str]:
    """Return the formulations of boosting programs, and the names of other problems, once each."""
    return list(
        dict.fromkeys(name.partition(" on ")[0] if family_of(name) == "boosting" else name for name in problems)
    )


def _group_rows(winners: Winners, problems: Sequence[str], entrants: Sequence[str], gap: float) -> list[str]:
    """Return a row of each entrant for a gap."""
    solved_problems = {name: [one for one in problems if winners[one, name] is not None] for name in entrants}
    counted = [name for name in entrants if 2 * len(solved_problems[name]) >= len(problems)]
    common = [one for one in problems if all(one in solved_problems[name] for name in counted)] if counted else []
    quotients = ratios(winners, problems, entrants)
    rows = list[str]()
    for name in entrants:
        solves = [winner for one in common if name in counted and (winner := winners[one, name]) is not None]
        cells = (
            [
                f"{shifted_mean(getattr(solve, attribute) for solve in solves):.3g}"
                for attribute in ("wall_seconds", "cpu_seconds", "solver_seconds")
            ]
            if solves
            else ["-"] * 3
        )
        spread = _median_of_known(None if math.isnan(solve.spread) else solve.spread for solve in solves)
        spread_text = "-" if math.isnan(spread) else f"{spread:.0%}"
        rows.append(
            f"| {name} | {gap:g} | {len(solved_problems[name])} | {ratio_text(quotients[name])} | {len(solves)} | "
            f"{' | '.join(cells)} | {spread_text} |"
        )
    return rows


def quartile(values: Sequence[float], share: float) -> float:
    """Return a quantile of values, interpolated between two finite ones; inf beside an infinite one."""
    ordered, place = sorted(values), share * (len(values) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if low == high else low + (place - math.floor(place)) * (high - low)


def ratio_text(quotients: Sequence[float]) -> str:
    """Return the median of ratios with their quartiles; "-" for none."""
    if not quotients:
        return "-"
    low, middle, high = (quartile(quotients, share) for share in (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def problem_lines(session: Session) -> list[str]:
    """Return a table of each problem: its interval by all answers, and the wall seconds, request and form of each."""
    winners, intervals = cheapest_solves(session, GAPS[-1]), session_intervals(session)
    lines = list[str]()
    for (family, *entrants), problems in problem_groups(winners).items():
        lines += [
            "",
            f"**{family}, wall seconds to a relative gap of {GAPS[-1]:g}, with the request and the form**",
            "",
            f"| problem | optimum | {' | '.join(entrants)} |",
            f"|---|--:|{'--:|' * len(entrants)}",
        ]
        for problem in problems:
            cells = " | ".join(_cell(winners[problem, entrant]) for entrant in entrants)
            lines.append(f"| {problem} | {format_interval(*intervals[problem])} | {cells} |")
    return lines


def _cell(winner: CheapestSolve | None) -> str:
    """Return the text of a cheapest solve."""
    if winner is None:
        return "-"
    return f"{winner.wall_seconds:.3g} ({winner.request:g}{f', {winner.form}' if winner.form else ''})"


def session_intervals(session: Session) -> dict[str, tuple[float, float]]:
    """Return the intersection of all certified intervals by problem; an empty one is (inf, -inf)."""
    intervals: dict[str, tuple[float, float]] = {}
    for run in session["runs"]:
        if run["ran"]:
            lower, upper = intervals.get(run["problem"], (-math.inf, math.inf))
            own_lower = -math.inf if run["lower"] is None else run["lower"]
            own_upper = math.inf if run["upper"] is None else run["upper"]
            both = max(lower, own_lower), min(upper, own_upper)
            intervals[run["problem"]] = (math.inf, -math.inf) if run["denies_optimum"] else both
    return intervals


def page_lines(sessions: Sequence[Session], pictures: Sequence[str] = ()) -> list[str]:
    """Return a page of sessions as lines of Markdown: the head and tables of each, its problems, and its pictures."""
    lines = ["# The arena", ""]
    for session in sessions:
        lines += [f"## {session['date'][:10]}", "", *session_lines(session), *problem_lines(session), ""]
    return [*lines, *(f"![{name}]({name})" for name in pictures)]
