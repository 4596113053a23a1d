"""Files with wrong values anywhere: a page is made of them, or they are refused with the reason; no traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_results import linear
from support.document_edits import REMOVED, edited, places
from support.problems import reference_lpboost, right

import boostopt.reporting.report_data
from boostopt import DataError, benchmark
from boostopt.comparison.documents import load_results
from boostopt.reporting import to_html

CATALOGUE: list[Any] = [10**400, None, -1, "\x1b[2J\ud800", [], {}, True, 1e308, "", 0, [None], {"a": [{"b": 10**400}]}]

EACH = 3
"""Values of the catalogue that are put into a place; the next place has the next ones."""


def kinds_of_places(document: Any) -> list[tuple[Any, ...]]:
    """The first place of each kind: entries of a list are alike, but for the first line of a file of lines."""
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for place in places(document):
        named = tuple("entry" if isinstance(key, int) else key for key in place[1:])
        found.setdefault((min(place[0], 1) if isinstance(place[0], int) else place[0], *named), place)
    return list(found.values())


def written(kind: str, folder: Path) -> Any:
    """Return the content of a file of each kind; that of `resume` as its lines."""
    if kind == "comparison":
        return json.loads(linear().to_json())
    path = folder / "runs.jsonl"
    results = benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=path)
    if kind == "benchmark":
        return json.loads(results.to_json())
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["comparison", "benchmark", "ledger"])
def test_a_wrong_value_anywhere_makes_a_page_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    # Pictures are drawn of what has been checked, and take all the time.
    for pictures in ("_interval_pictures", "program_figures", "claim_figures"):
        monkeypatch.setattr(boostopt.reporting.report_data, pictures, lambda *arguments: ())
    file = tmp_path / "file"
    said = written(kind, tmp_path)
    refused = made = 0
    for k, place in enumerate(kinds_of_places(said)):
        for value in [REMOVED, *(CATALOGUE[(EACH * k + j) % len(CATALOGUE)] for j in range(EACH))]:
            changed = edited(said, place, value)
            lines = changed if kind == "ledger" else [changed]
            file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
            try:
                page = to_html(load_results(file))
            except DataError as failure:
                refused += 1
                assert str(failure).endswith((". Write it anew.", "name another file.", "then report."))
            else:
                made += 1
                assert "\x1b" not in page and page.rstrip().endswith("</html>")
    assert refused > 50 and made > 50
