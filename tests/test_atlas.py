"""The atlas: its tables are those of the stored session; its claims and ratios are counted as the page says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena_tables import cheapest_solves
from benchmarks.atlas import (
    BEGIN,
    END,
    MAX_BYTES,
    PAGE,
    PICTURES,
    STORE,
    claim_counts,
    claims_table,
    main,
    reference_ratios,
    reference_table,
    scaled_gap,
    stored_session,
    tables,
)

PROGRAMS = ("lpboost on signs 200 x 20", "erlpboost on signs 200 x 20")


def solve_entry(
    problem: str, entrant: str, request: float, seconds: float, gap: float | None, claims: bool = True, repeat: int = 0
) -> dict[str, Any]:
    """Return a solve whose optimum is 1/2."""
    return {
        **{"problem": problem, "entrant": entrant, "request": request, "repeat": repeat, "version": "1.0"},
        **{"wall_seconds": seconds, "cpu_seconds": seconds, "solver_seconds": seconds / 2, "form": None, "load": 1.0},
        **{"relative_gap": gap, "lower": 0.5 * (1.0 - (gap or 0.0)), "upper": 0.5, "claims": claims, "ran": True},
        **{"denies_optimum": False, "status": "fine"},
    }


def hand_session() -> dict[str, Any]:
    """Return a session of a rival beside the reference on two boosting programs and one other problem."""
    machine = {"cpu": "none", "cores": 1, "system": "none", "python": "3"}
    settings = {"requests": [1e-3, 1e-6], "repeats": 2, "time_limit": 9.0, "forms": []}
    runs = [
        *(solve_entry(PROGRAMS[0], "interior", 1e-6, 2.0, 1e-7, repeat=repeat) for repeat in (0, 1)),
        *(solve_entry(PROGRAMS[1], "interior", 1e-6, 3.0, 1e-7, repeat=repeat) for repeat in (0, 1)),
        *(solve_entry(PROGRAMS[0], "rival", 1e-6, 5.0, 1e-6, repeat=repeat) for repeat in (0, 1)),
        *(solve_entry(PROGRAMS[1], "rival", 1e-6, 1.0, 0.5, repeat=repeat) for repeat in (0, 1)),
        solve_entry("lasso", "rival", 1e-6, 1.0, 1e-6, claims=False),
        solve_entry("lasso", "rival", 1e-3, 1.0, None),
        {**solve_entry("ridge", "rival", 1e-3, 0.0, None), "ran": False},
    ]
    return {
        **{"date": "2026-01-02T03:04:05+00:00", "starts": ["2026"], "boostopt": "0", "machine": machine},
        **{"settings": settings, "problems": {}, "runs": runs},
    }


def test_claims_are_counted_over_the_first_solves() -> None:
    counts = {(count.entrant, count.request): count for count in claim_counts(hand_session())}
    rival = counts["rival", 1e-6]
    assert (rival.n_solves, rival.n_modest) == (3, 1)
    assert sorted(rival.gaps) == pytest.approx([5e-7, 0.25])  # over max(1, |optimum|), and not over |optimum|
    coarse = counts["rival", 1e-3]
    assert (coarse.gaps, coarse.n_solves, coarse.n_claims, coarse.n_without_gap) == ((), 1, 1, 1)
    assert counts["interior", 1e-6].gaps == pytest.approx([5e-8, 5e-8])
    rows = [line.split(" | ") for line in claims_table(hand_session())]
    assert ["| `rival`", "1e-06", "3", "2", "1", "1", "1", "2.5e-01", "0", "1 |"] in rows
    assert ["| `rival`", "0.001", "1", "1", "0", "0", "0", "-", "1", "0 |"] in rows


def test_gaps_of_large_optima_are_relative() -> None:
    run = {"relative_gap": 1e-3, "lower": 999.0, "upper": 1000.0}
    assert scaled_gap(run) == 1e-3
    assert scaled_gap({**run, "relative_gap": None}) == math.inf


def test_ratios_are_of_programs_that_both_reach() -> None:
    linear, entropies = ("rival", "linear"), ("rival", "entropies")
    ratios = reference_ratios(cheapest_solves(hand_session(), 1e-6), lambda solve: solve.wall_seconds)
    assert ratios == {linear: (1, [2.5]), entropies: (1, [])}
    ratios = reference_ratios(cheapest_solves(hand_session(), 1e-7), lambda solve: solve.wall_seconds)
    assert ratios == {linear: (1, []), entropies: (1, [])}
    (*_, row_of_entropies, row_of_linear) = reference_table(hand_session())
    assert row_of_entropies == "| `rival` | entropies | 1 | 0 | - | - | - | - | - | - |"
    cells = "2.50 (2.50 to 2.50) | 2.50 | 2.50"
    assert row_of_linear == f"| `rival` | linear | 1 | 1 | {cells} | {cells} |"


def test_the_stored_page_is_that_of_the_stored_solves() -> None:
    session, page = stored_session(STORE), PAGE.read_text(encoding="utf-8")
    assert STORE.stat().st_size <= MAX_BYTES
    pictures = sorted(path.relative_to(PAGE.parent).as_posix() for path in PICTURES.glob("*.svg"))
    head, _, rest = page.partition(BEGIN)
    tables_text, _, _ = rest.partition(END)
    names = [line.removeprefix("![").partition("]")[0] for line in tables_text.splitlines() if line.startswith("![")]
    assert sorted(names) == pictures and pictures
    assert tables_text.strip() == tables(session, names)
    assert len({run["entrant"] for run in session["runs"]}) >= 8 and "What was found" in head


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--page", str(tmp_path / "page.md"), "--pictures", str(tmp_path / "pictures")]
    assert main(["--store", str(tmp_path / "nothing.json.gz"), *places]) == 2
    assert "nothing.json.gz cannot be read" in capsys.readouterr().err
    (tmp_path / "other.json").write_text(json.dumps({"arena": "0", "sessions": []}))
    assert main(["--store", str(tmp_path / "other.json"), *places]) == 2
    assert "has version 0" in capsys.readouterr().err
    (tmp_path / "cut.json.gz").write_bytes(STORE.read_bytes()[:1000])
    assert main(["--store", str(tmp_path / "cut.json.gz"), *places]) == 2
    assert "cut.json.gz cannot be read" in capsys.readouterr().err
