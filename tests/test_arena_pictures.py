"""Pictures of the arena: profiles are shares of the problems that all entrants take; each family has its pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena_pictures import (
    data_profiles,
    gap_profiles,
    performance_profiles,
    seconds_to_gap,
    sessions_of_groups,
    summaries_by_entrant,
    work_precision_lines,
    write_pictures,
)
from benchmarks.arena_tables import cheapest_solves, family_of, shifted_mean

PROGRAMS = ("lpboost on signs 200 x 20", "erlpboost on signs 200 x 20", "norm_ball on signs 200 x 20")


def solve(problem: str, entrant: str, request: float, seconds: float, gap: float | None, ran: bool = True) -> Any:
    return {
        "problem": problem,
        "entrant": entrant,
        "request": request,
        "relative_gap": gap,
        "wall_seconds": seconds,
        "cpu_seconds": seconds,
        "solver_seconds": seconds,
        "form": None,
        "ran": ran,
    }


SESSION: Any = {
    "date": "2026-01-02T03:04:05+00:00",
    "runs": [
        solve(PROGRAMS[0], "a", 1e-3, 1.0, 1e-4),
        solve(PROGRAMS[0], "a", 1e-3, 3.0, 2e-4),
        solve(PROGRAMS[0], "a", 1e-6, 5.0, 1e-7),
        solve(PROGRAMS[0], "b", 1e-3, 4.0, 1e-8),
        solve(PROGRAMS[0], "b", 1e-6, 10.0, 1e-9),
        solve(PROGRAMS[1], "a", 1e-3, 1.0, None),
        solve(PROGRAMS[1], "b", 1e-3, 2.0, 1e-7),
        solve(PROGRAMS[2], "b", 1e-3, 0.5, 1e-9),
        solve(PROGRAMS[2], "a", 1e-3, 0.0, None, ran=False),
    ],
}


def steps(curve: Any) -> list[tuple[float, float]]:
    abscissas, shares = curve
    return list(zip(abscissas.tolist(), shares.tolist(), strict=True))


def test_profiles_count_the_problems_that_all_entrants_take() -> None:
    summaries = summaries_by_entrant(SESSION, "boosting")
    assert set(summaries["a"]) == set(summaries["b"]) == set(PROGRAMS[:2])
    seconds = seconds_to_gap(SESSION, summaries, 1e-6)
    assert seconds == {
        "a": {PROGRAMS[0]: 5.0, PROGRAMS[1]: math.inf},
        "b": {PROGRAMS[0]: 4.0, PROGRAMS[1]: 2.0},
    }
    assert steps(performance_profiles(seconds)["a"]) == [(1.25, 0.5)]
    assert steps(performance_profiles(seconds)["b"]) == [(1.0, 0.5), (1.0, 1.0)]
    assert steps(data_profiles(seconds)["b"]) == [(2.0, 0.5), (4.0, 1.0)]
    assert steps(gap_profiles(summaries)["a"]) == [(1e-7, 0.5)]


def test_the_worst_repeat_decides_the_gap_and_the_median_the_seconds() -> None:
    summary = summaries_by_entrant(SESSION, "boosting")["a"][PROGRAMS[0]][1e-3]
    assert (summary.relative_gap, summary.cpu_seconds) == (2e-4, 2.0)
    winner = cheapest_solves(SESSION, 2e-4)[PROGRAMS[0], "a"]
    assert winner is not None and winner.wall_seconds == 2.0 and winner.request == 1e-3


def test_a_killed_solve_counts_its_wall_seconds() -> None:
    killed = {**solve(PROGRAMS[0], "a", 1e-3, 30.0, None), "cpu_seconds": None}
    runs = [killed, solve(PROGRAMS[1], "a", 1e-3, 1.0, 1e-4), solve(PROGRAMS[2], "a", 1e-3, 1.0, 1e-4)]
    summaries = summaries_by_entrant({"runs": runs}, "boosting")
    assert summaries["a"][PROGRAMS[0]][1e-3].cpu_seconds == 30.0
    assert work_precision_lines(summaries)["a"] == [(1e-3, pytest.approx(shifted_mean([30.0, 1.0, 1.0])), 1e-4)]


def test_a_request_without_a_median_gap_has_no_point() -> None:
    lines = work_precision_lines(summaries_by_entrant(SESSION, "boosting"))
    assert [request for request, _, _ in lines["a"]] == [1e-6]
    assert [request for request, _, _ in lines["b"]] == [1e-3, 1e-6]
    assert lines["a"][0][1] == pytest.approx(5.0)


def test_groups_are_problems_that_the_same_entrants_take() -> None:
    parts = sessions_of_groups(SESSION, 1)
    problems = {name: {run["problem"] for run in part["runs"]} for name, (_, part) in parts.items()}
    assert problems == {"boosting_0": set(PROGRAMS[:2]), "boosting_1": {PROGRAMS[2]}}
    assert list(sessions_of_groups(SESSION, 2)) == ["boosting_0"]


def test_a_form_beside_its_solver_has_no_line() -> None:
    runs = [
        solve(PROGRAMS[0], entrant, 1e-3, 1.0, 1e-4) for entrant in ("cvxpy:scs", "cvxpy:scs:dual", "cvxpy:ecos:dual")
    ]
    assert list(summaries_by_entrant({"runs": runs}, "boosting")) == ["cvxpy:scs", "cvxpy:ecos:dual"]


@pytest.mark.thorough
def test_each_group_of_problems_has_its_pictures(tmp_path: Path) -> None:
    file_solve = solve("afiro.mat", "a", 1e-3, 1.0, 1e-5)
    assert family_of("afiro.mat") == "files"
    session = {**SESSION, "runs": [*SESSION["runs"], file_solve]}
    assert write_pictures([session], tmp_path / "pictures", 1e-6) == []
    paths = write_pictures([session], tmp_path / "pictures", 1e-6, min_problems=1)
    groups = ("boosting_0_0", "boosting_1_0", "files_0_0")
    assert [path.name for path in paths] == [f"{kind}_{name}.svg" for name in groups for kind in ("profiles", "work")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    assert all("<svg" in text for text in texts)
    write_pictures([session], tmp_path / "pictures", 1e-6, min_problems=1)
    assert [path.read_text(encoding="utf-8") for path in paths] == texts
