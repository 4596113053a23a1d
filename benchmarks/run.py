"""All that is claimed about speed, measured in one run: ratios first, as a Markdown table and as JSON.

Seconds depend on the machine, ratios much less. With --quick a part of it, in four minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from benchmarks import boosting, busy, classifier, columns, masters
from benchmarks.masters import Line
from boostopt._utils.environment import environment_info

PACKAGES = ("numpy", "scipy", "cvxpy", "clarabel", "scs", "highspy")
HEADER = "| work | figure | meant to be | met | ours, s | gap | iterations | rival | rival, s | rival's gap |"


def lines(quick: bool) -> Iterator[Line]:
    """Measure one line after another."""
    repeats = 3 if quick else 7
    yield from masters.entropies(repeats, quick)
    yield from masters.linear_and_quadratic(repeats, quick)
    yield from masters.appended(quick)
    yield from masters.polished(repeats, quick)
    yield from columns_one_by_one(quick)
    yield from masters.large(quick)


def columns_one_by_one(quick: bool) -> Iterator[Line]:
    """LPBoost's columns one by one, HiGHS kept alive against HiGHS rebuilt."""
    N, count = (1000, 30) if quick else (2000, 100)
    for nu, measurement in columns.measure(N, count, rival_every=1 if quick else 2).items():
        ours, theirs = measurement["incremental_seconds"], measurement["rebuilt_seconds"]
        is_met = measurement["ratio"] >= 8.0 and (quick or ours <= 4.0)
        yield Line(
            f"lpboost, {count} columns one by one, N={N}, {nu}",
            ours,
            measurement["incremental_worst_gap"],
            measurement["incremental_iterations"],
            "cvxpy:highs rebuilt",
            theirs,
            measurement["rebuilt_worst_gap"],
            f"1/{theirs / ours:.1f} of its time, {ours:.1f} s",
            "<= 1/8, 4 s",
            is_met,
        )


def row(line: Line) -> str:
    """Return a row of the table."""
    theirs = (line.rival, f"{line.theirs:.2f}", f"{line.rival_gap:.0e}") if line.rival else ("", "", "")
    ours = (f"{line.ours:.4g}", f"{line.gap:.0e}", line.iterations)
    cells = (line.work, line.figure, line.target, "yes" if line.is_met else "no", *ours, *theirs)
    return f"| {' | '.join(map(str, cells))} |"


def report(table_lines: Iterable[Line]) -> list[Line]:
    """Print the table as it grows; return what was measured."""
    print(f"{HEADER}\n{'|---' * (HEADER.count('|') - 1)}|", flush=True)
    printed_lines = list[Line]()
    for line in table_lines:
        printed_lines.append(line)
        print(row(line), flush=True)
    return printed_lines


def report_boosting(quick: bool) -> list[boosting.Line]:
    """Print the table of boosting as it grows; return what was measured."""
    print(f"\n{boosting.HEADER}\n{'|---' * (boosting.HEADER.count('|') - 1)}|", flush=True)
    printed_lines = list[boosting.Line]()
    for line in boosting.lines(quick):
        printed_lines.append(line)
        print(boosting.row(line), flush=True)
    print(boosting.left_out())
    return printed_lines


def report_classifier() -> list[classifier.Line]:
    """Print the table of the classifier; return what was measured."""
    print(f"\n{classifier.HEADER}\n{'|---' * (classifier.HEADER.count('|') - 1)}|", flush=True)
    printed_lines = list(classifier.lines())
    for line in printed_lines:
        print(classifier.row(line), flush=True)
    print(classifier.left_out())
    return printed_lines


def report_busy(quick: bool) -> list[busy.Line]:
    """Print the table of threads as it grows; return what was measured."""
    print(f"\n{busy.HEADER}\n{'|---' * (busy.HEADER.count('|') - 1)}|", flush=True)
    printed_lines = list[busy.Line]()
    for line in busy.lines(quick):
        printed_lines.append(line)
        print(busy.row(line), flush=True)
    return printed_lines


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="a part of it, in four minutes")
    options.add_argument("--json", type=Path, help="where the figures go as JSON")
    arguments = options.parse_args()
    began = time.perf_counter()
    made_on = environment_info() | {name: version(name) for name in PACKAGES}
    print(", ".join(f"{name}: {value}" for name, value in made_on.items()), "\n")
    solve_lines, boosted, searched = (
        report(lines(arguments.quick)),
        report_boosting(arguments.quick),
        report_classifier(),
    )
    threads = report_busy(arguments.quick)
    seconds = time.perf_counter() - began
    targets = [line.is_met for line in (*solve_lines, *boosted, *searched, *threads)]
    print(f"\n{sum(targets)} of {len(targets)} as they were meant to be, in {seconds:.0f} s.")
    if arguments.json:
        document = {
            "machine": made_on,
            "seconds": seconds,
            "lines": [asdict(line) for line in solve_lines],
            "boosting": [asdict(line) for line in boosted],
            "classifier": [asdict(line) for line in searched],
            "threads": [asdict(line) for line in threads],
        }
        unfinished = arguments.json.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(document, indent=2))
        unfinished.replace(arguments.json)


if __name__ == "__main__":
    main()
