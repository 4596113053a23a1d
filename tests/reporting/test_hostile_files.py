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

VALUES_PER_PLACE = 3
"""Values of the catalogue that are put into a place; the next place has the next ones."""


def kinds_of_places(document: Any) -> list[tuple[Any, ...]]:
    """Return the first place of each kind. Entries of a list are of one kind, except the first line of a file."""
    places_by_kind: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for place in places(document):
        named = tuple("entry" if isinstance(key, int) else key for key in place[1:])
        places_by_kind.setdefault((min(place[0], 1) if isinstance(place[0], int) else place[0], *named), place)
    return list(places_by_kind.values())


def file_content(kind: str, folder: Path) -> Any:
    """Return the content of a file of a kind. A file of `resume` gives its lines."""
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
    # Pictures show checked values and take nearly all the time.
    for pictures in ("_interval_pictures", "program_figures", "claim_figures"):
        monkeypatch.setattr(boostopt.reporting.report_data, pictures, lambda *arguments: ())
    file = tmp_path / "file"
    content = file_content(kind, tmp_path)
    n_refusals = n_pages = 0
    for k, place in enumerate(kinds_of_places(content)):
        for value in [
            REMOVED,
            *(CATALOGUE[(VALUES_PER_PLACE * k + j) % len(CATALOGUE)] for j in range(VALUES_PER_PLACE)),
        ]:
            changed = edited(content, place, value)
            lines = changed if kind == "ledger" else [changed]
            file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
            try:
                page = to_html(load_results(file))
            except DataError as failure:
                n_refusals += 1
                assert str(failure).endswith((". Write it anew.", "name another file.", "then report."))
            else:
                n_pages += 1
                assert "\x1b" not in page and page.rstrip().endswith("</html>")
    assert n_refusals > 50 and n_pages > 50
