"""The atlas: a page of one session of the arena, whose results are stored beside it.

    python benchmarks/atlas.py --store docs/atlas.json.gz --page docs/atlas.md

`make atlas` makes a session of all open solvers first. This command makes no solve: it writes the tables of the stored
results between the markers of the page, and the pictures beside it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.arena import load, merge
from benchmarks.arena_tables import (
    GAPS,
    CheapestSolve,
    Winners,
    cheapest_solves,
    family_of,
    problem_lines,
    ratio_text,
    session_lines,
)
from benchmarks.pages import head as table_head
from benchmarks.pages import replace_between
from benchmarks.pages import row as table_row
from boostopt._utils.formatting import format_count
from boostopt.errors import BoostoptError

DOCS = Path(__file__).parents[1] / "docs"
STORE, PAGE, PICTURES = DOCS / "atlas.json.gz", DOCS / "atlas.md", DOCS / "images" / "atlas"

BEGIN, END = "<!-- made by benchmarks/atlas.py: begin -->", "<!-- made by benchmarks/atlas.py: end -->"

MAX_BYTES = 5_000_000
"""The largest size of the stored results, in bytes."""

MIN_PROBLEMS = 8
"""The least number of problems of a group that has pictures."""

LIMITS = (1e-6, 1e-3, 1e-1)
"""Gaps above which claims of an optimum are counted."""

REFERENCE = "interior"
"""The entrant beside which the others are put."""

KINDS = {"lpboost": "linear", "l1_adaboost": "linear", "qp_reg_adaboost": "quadratic", "qrlp_boost": "quadratic"}
"""The kind of a program by its formulation."""

LAST_KIND = "entropies"
"""The kind of all other programs that the reference takes."""

RIGHT = "--:"
"""The alignment of numbers in tables."""

Session = Mapping[str, Any]


@dataclass(frozen=True)
class ClaimCount:
    """The claims of an optimum of an entrant at one request, over the first solves of all problems.

    Attributes
    ----------
    entrant, request
        Who was asked, and for which value of all tolerances.
    n_solves
        The number of problems.
    gaps
        The certified gaps of the claims that have one, over max(1, |optimum|) as the tests of solvers are.
    n_without_gap
        The number of claims whose interval has one end at most.
    n_modest
        The number of solves without a claim whose certified gap is at most the least of `LIMITS`.
    """

    entrant: str
    request: float
    n_solves: int
    gaps: tuple[float, ...]
    n_without_gap: int
    n_modest: int

    @property
    def n_claims(self) -> int:
        """The number of claims."""
        return len(self.gaps) + self.n_without_gap


def scaled_gap(run: Mapping[str, Any]) -> float:
    """Return the certified gap of a solve over max(1, |optimum|); inf for none.

    The relative gap of a solve is its gap over the larger of |lower| and |upper|.
    """
    if run["relative_gap"] is None:
        return math.inf
    return run["relative_gap"] * min(1.0, max(abs(run["lower"]), abs(run["upper"])))


def claim_counts(session: Session) -> list[ClaimCount]:
    """Return the claims of each entrant at each request."""
    solves: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for run in session["runs"]:
        if run["ran"] and run["repeat"] == 0:
            solves.setdefault((run["entrant"], run["request"]), []).append(run)
    return [
        ClaimCount(
            entrant,
            request,
            len(runs),
            tuple(scaled_gap(run) for run in runs if run["claims"] and math.isfinite(scaled_gap(run))),
            sum(run["claims"] and math.isinf(scaled_gap(run)) for run in runs),
            sum(not run["claims"] and scaled_gap(run) <= LIMITS[0] for run in runs),
        )
        for (entrant, request), runs in sorted(solves.items(), key=lambda item: (item[0][0], -item[0][1]))
    ]


def claims_table(session: Session) -> Iterator[str]:
    """Yield how many claims of an optimum have a certified gap wider than each limit."""
    wider = [f"wider than {limit:g}" for limit in LIMITS]
    names = [
        "entrant",
        "asked for",
        "problems",
        "claims",
        *wider,
        "widest",
        "no gap",
        f"no claim, {LIMITS[0]:g} proved",
    ]
    yield from table_head(names, RIGHT)
    for count in claim_counts(session):
        yield table_row(
            [
                f"`{count.entrant}`",
                f"{count.request:g}",
                str(count.n_solves),
                str(count.n_claims),
                *(str(sum(gap > limit for gap in count.gaps)) for limit in LIMITS),
                f"{max(count.gaps):.1e}" if count.gaps else "-",
                str(count.n_without_gap),
                str(count.n_modest),
            ]
        )


def reference_ratios(
    winners: Winners, seconds: Callable[[CheapestSolve], float]
) -> dict[tuple[str, str], tuple[int, list[float]]]:
    """Return how many programs of each kind each rival took together with the reference, and its ratios of seconds.

    Parameters
    ----------
    winners
        The cheapest solves of a session, with those of the reference.
    seconds
        The seconds of a solve that are compared.
    """
    ratios: dict[tuple[str, str], tuple[int, list[float]]] = {}
    for (problem, entrant), winner in winners.items():
        if entrant == REFERENCE or family_of(problem) != "boosting" or (problem, REFERENCE) not in winners:
            continue
        key = entrant, KINDS.get(problem.partition(" on ")[0], LAST_KIND)
        n_problems, quotients = ratios.get(key, (0, list[float]()))
        reference = winners[problem, REFERENCE]
        if winner is not None and reference is not None:
            quotients = [*quotients, seconds(winner) / seconds(reference)]
        ratios[key] = n_problems + 1, quotients
    return ratios


def reference_table(session: Session) -> Iterator[str]:
    """Yield the seconds of each rival over those of the reference: of all phases, and of the solvers alone."""
    winners = cheapest_solves(session, GAPS[-1])
    wall_ratios = reference_ratios(winners, lambda solve: solve.wall_seconds)
    solver_ratios = reference_ratios(winners, lambda solve: solve.solver_seconds)
    ends = ["least", "largest"]
    yield from table_head(
        ["rival", "programs", "both take", "both reach", "all phases", *ends, "solver alone", *ends], RIGHT
    )
    for key, (n_problems, quotients) in sorted(wall_ratios.items()):
        cells = [f"`{key[0]}`", key[1], str(n_problems), str(len(quotients))]
        for ratios in (quotients, solver_ratios[key][1]):
            sides = [f"{value:.2f}" for value in (min(ratios), max(ratios))] if ratios else ["-", "-"]
            cells += [ratio_text(ratios), *sides]
        yield table_row(cells)


def versions_table(session: Session) -> Iterator[str]:
    """Yield the entrants with their versions."""
    yield from table_head(["entrant", "version"], RIGHT)
    versions = {run["entrant"]: run["version"] for run in session["runs"] if run["ran"]}
    for entrant, version in sorted(versions.items()):
        yield table_row([f"`{entrant}`", version or "of boostopt"])


def tables(session: Session, pictures: Iterable[str] = ()) -> str:
    """Return all tables of a session as Markdown, with the pictures of these paths."""
    solves = [run for run in session["runs"] if run["ran"]]
    n_problems = len({run["problem"] for run in solves})
    parts = [
        ("Seconds to a certified gap", "", session_lines(session)),
        (f"Each rival beside `{REFERENCE}`", REFERENCE_TEXT, reference_table(session)),
        ("Claims of an optimum", CLAIMS_TEXT, claims_table(session)),
        (
            "Profiles, and work against precision",
            "",
            [line for path in pictures for line in (f"![{path}]({path})", "")],
        ),
        ("Each problem", "", problem_lines(session)),
        ("Versions", f"{format_count(len(solves), 'solve')} of {n_problems} problems.", versions_table(session)),
    ]
    return "\n\n".join(
        "\n\n".join(filter(None, [f"## {title}", text, "\n".join(lines).strip("\n")])) for title, text, lines in parts
    )


REFERENCE_TEXT = (
    f"The seconds of each rival over those of `{REFERENCE}`, on the boosting programs where both reach a relative gap "
    f"of {GAPS[-1]:g}: the median, and the quartiles. A rival that reaches fewer programs may have left out the hard "
    "ones. *All phases* are the wall seconds of the model, the canonical form, the solver and the reading of the "
    "answer. *Solver alone* leaves the model and the canonical form out, and contains CVXPY's interface to the solver."
)
CLAIMS_TEXT = (
    "The first solve of each problem that an entrant takes. A *claim* is the solver's word that it found an optimum. "
    "Gaps are certified, over max(1, |optimum|). *No gap* counts claims whose interval has one end at most: the answer "
    "may be right although boostopt proves no gap of it. The last column counts solves without a claim that prove "
    f"{LIMITS[0]:g} all the same."
)


def stored_session(path: Path) -> Session:
    """Return the session of stored results.

    Raises
    ------
    DataError
        The file cannot be read, or is of another version of the set, or two of its intervals have no point in common.
    """
    (session,) = merge({str(path): load(path)})["sessions"]
    return session


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables and the pictures of the stored results; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path, default=STORE, help="the results of a session of the arena")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page whose tables are written")
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="the folder of the pictures")
    options = parser.parse_args(arguments)
    try:
        from benchmarks.arena_pictures import write_pictures  # loads matplotlib

        session = stored_session(options.store)
        paths = write_pictures([session], options.pictures, GAPS[-1], MIN_PROBLEMS)
        names = [path.relative_to(options.page.parent).as_posix() for path in paths]
        replace_between(options.page, BEGIN, END, tables(session, names))
    except BoostoptError as failure:
        print(failure, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
