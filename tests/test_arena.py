"""The arena: its set is frozen, its results are of one version, and its tables are those of the solves."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.arena import main, merge
from benchmarks.arena_problems import DEGENERATE, INSTANCES, MIN_OPTIMUM, VERSION, Draws, arena_problems
from benchmarks.arena_session import (
    SESSION_FILE,
    LoadLog,
    SessionSettings,
    check_digests,
    entrants_with_forms,
    frozen_digests,
    measure,
    takes_family,
)
from benchmarks.arena_tables import (
    CheapestSolve,
    cheapest_solves,
    failure_lines,
    kinds,
    names_in_tables,
    page_lines,
    ratio_text,
    session_lines,
    shifted_mean,
)
from boostopt import certify_problem, compare, solve
from boostopt.errors import DataError, OptionError
from boostopt.programs.program import Program

SET = arena_problems(None)
ENTRANT = Path(__file__).parents[1] / "benchmarks" / "arena_entrant.py"
SMALL = [name for name in SET if "200 x 20" in name or "500 x 60" in name or SET[name].family == "cvxpy"]


def test_the_set_has_the_stated_sizes() -> None:
    assert 60 <= len(SET) <= 120 and len(SET) == len(frozen_digests().keys() & SET.keys())
    degenerate = [name for name, problem in SET.items() if problem.is_degenerate]
    assert len(degenerate) == 10 and all(name.partition(" on ")[2] in DEGENERATE for name in degenerate)
    sizes = {tuple(map(int, name.split()[-3::2])) for name, problem in SET.items() if problem.family == "boosting"}
    assert max(N for N, _ in sizes) == 100_000 and max(t for _, t in sizes) == 1000


@pytest.mark.parametrize("name", SMALL)
def test_problems_are_those_of_the_version(name: str) -> None:
    assert SET[name].digest == frozen_digests()[name]


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in SET if name not in SMALL])
def test_large_problems_are_those_of_the_version(name: str) -> None:
    assert SET[name].digest == frozen_digests()[name]


def test_files_of_others_are_those_of_the_version() -> None:
    files = [problem for problem in arena_problems(INSTANCES).values() if problem.family == "files"]
    if not files:
        pytest.skip(f"{INSTANCES} has no files")
    assert len(files) >= 10
    check_digests({problem.name: problem.digest for problem in files}, "the folder")


def test_draws_are_those_of_the_raw_stream() -> None:
    first = int(np.random.PCG64(7).random_raw()) >> 48
    assert Draws(7).uniform(3)[0] == first / 65536 and 0.0 <= Draws(7).uniform(1000).max() < 1.0
    assert abs(Draws(8).bell(4000).mean()) < 0.05 and Draws(8).bell(4000).var() == pytest.approx(1 / 3, rel=0.1)


@pytest.mark.parametrize(
    "case",
    [
        *("signs 200 x 20", "signs 1000 x 50", "real 1000 x 50", "sparse 2000 x 100"),
        *(pytest.param(case, marks=pytest.mark.thorough) for case in ("real 100000 x 24", "real 2000 x 1000")),
    ],
)
def test_examples_and_hypotheses_are_distinct(case: str) -> None:
    U = SET[f"lpboost on {case}"].data()["U"]
    assert U.shape == tuple(map(int, case.split()[1::2]))
    assert len(np.unique(U, axis=0)) == U.shape[0] and len(np.unique(U.T, axis=0)) == U.shape[1]


def size_of_optimum(name: str) -> float:
    """Return the least |optimum| that the interval of an answer allows."""
    problem = SET[name].make()
    proved: Any
    if isinstance(problem, Program):
        proved = solve(problem, "auto", 1e-4).certificate
    else:
        problem.solve("CLARABEL")
        proved = certify_problem(problem)
    return max(proved.lower, -proved.upper)


@pytest.mark.parametrize("name", ["lpboost on signs 200 x 20", "norm_ball on sparse 2000 x 100", "lasso", "markowitz"])
def test_the_optimum_is_not_small(name: str) -> None:
    assert size_of_optimum(name) >= MIN_OPTIMUM


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(SET))
def test_no_optimum_is_small(name: str) -> None:
    assert size_of_optimum(name) >= MIN_OPTIMUM


def test_optima_of_files_are_not_small() -> None:
    optima = {"netlib/afiro": -464.7531428571429, "maros_meszaros/HS35": 1.0 / 9.0}
    files = arena_problems(INSTANCES)
    if not optima.keys() <= files.keys():
        pytest.skip(f"{INSTANCES} has no files")
    for name, optimum in optima.items():
        (run,) = compare(files[name].make(), "clarabel", 1e-6).runs
        assert run.lower <= optimum <= run.upper and max(run.lower, -run.upper) >= MIN_OPTIMUM


def test_a_digest_is_of_the_statement_and_of_the_data() -> None:
    problem = SET["lasso"]
    data = dict(problem.data())
    changed = {**data, "b": data["b"] + 2.0**-16}
    assert replace(problem, data=lambda: changed).digest != problem.digest
    assert replace(problem, statement="ridge").digest != problem.digest
    assert replace(problem, data=lambda: data).digest == problem.digest


def test_entrants_take_the_problems_that_they_are_made_for() -> None:
    assert takes_family("interior", "boosting") and not takes_family("interior", "cvxpy")
    assert takes_family("mine.py", "boosting") and not takes_family("mine.py", "files")
    assert takes_family("mine.py:solve", "cvxpy") and not takes_family("mine.py:solve", "boosting")
    assert takes_family("cvxpy:scs", "boosting") and takes_family("cvxpy:scs", "files")


@pytest.mark.thorough
def test_a_session_has_every_solve_and_files_merge(tmp_path: Path) -> None:
    problems = {name: SET[name] for name in ("lpboost on signs 200 x 20", "chebyshev regression")}
    entrants = ["interior", str(ENTRANT), f"{ENTRANT}:solve", "cvxpy:clarabel"]
    document = measure(problems, entrants, SessionSettings(requests=[1e-3, 1e-7], repeats=2))
    (session,) = document["sessions"]
    runs = session["runs"]
    assert {run["entrant"] for run in runs} == {*("interior", ENTRANT.name, f"{ENTRANT.name}:solve", "cvxpy:clarabel")}
    assert len(runs) == (3 + 2) * 2 * 2 and all(run["ran"] for run in runs)
    assert all(run["wall_seconds"] > 0.0 and run["cpu_seconds"] > 0.0 and run["load"] >= 0.0 for run in runs)
    assert all(run["relative_gap"] <= 1e-4 for run in runs if run["request"] == 1e-7)
    paths = [tmp_path / f"{k}.json" for k in (1, 2)]
    for k, path in enumerate(paths):
        later = {**session, "date": f"2027-01-0{k + 1}"}
        path.write_text(json.dumps({**document, "sessions": [later]}))
    assert main(["--merge", *map(str, paths), "--to", str(tmp_path / "all.json")]) == 0
    assert main(["--verify", str(tmp_path / "all.json")]) == 0
    assert len(json.loads((tmp_path / "all.json").read_text())["sessions"]) == 2


def test_the_entrant_to_copy_is_short_and_solves() -> None:
    assert len(ENTRANT.read_text().splitlines()) <= 40
    program, problem = SET["lpboost on signs 200 x 20"].make(), SET["chebyshev regression"].make()
    assert compare(program, str(ENTRANT), "mid").has_target_gap
    assert compare(problem, f"{ENTRANT}:solve", 1e-6).has_target_gap


def solve_entry(problem: str, entrant: str, request: float, wall: float, gap: float | None) -> dict[str, Any]:
    return {
        **{"problem": problem, "entrant": entrant, "request": request, "wall_seconds": wall, "cpu_seconds": wall / 2},
        **{"relative_gap": gap, "ran": True, "load": 1.25, "solver_seconds": wall / 4, "form": "primal"},
        **{"lower": 1.0 - (gap or 0.0), "upper": 1.0, "denies_optimum": False, "status": ""},
    }


def hand_session(runs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Return a session of two entrants on two problems: b reaches 1e-6 on one of them."""
    if runs is None:
        runs = [solve_entry("p", "a", 1e-3, wall, 5e-4) for wall in (1.0, 2.0, 4.0)]
        runs += [solve_entry("p", "a", 1e-6, wall, 5e-7) for wall in (3.0, 3.0, 3.0)]
        runs += [solve_entry("p", "b", 1e-6, 0.5, 1e-7), solve_entry("q", "b", 1e-6, 0.25, 1e-2)]
        runs += [solve_entry("q", "a", 1e-6, 1.0, 1e-7), solve_entry("q", "a", 1e-6, 1.0, None)]
    machine = {"cpu": "none", "cores": 1, "system": "none", "python": "3"}
    settings = {"requests": [1e-3, 1e-6], "repeats": 3, "time_limit": 9.0, "forms": ["dual"]}
    times = {"date": "2026", "starts": ["2026", "2027"]}
    return {**times, "boostopt": "0", "machine": machine, "settings": settings, "problems": {}, "runs": runs}


def test_the_cheapest_request_is_one_that_every_repeat_reaches() -> None:
    coarse, fine = (cheapest_solves(hand_session(), gap) for gap in (1e-3, 1e-6))
    assert coarse["p", "a"] == CheapestSolve(2.0, 1.0, 0.5, 1.5, 1e-3, "primal")
    assert fine["p", "a"] == CheapestSolve(3.0, 1.5, 0.75, 0.0, 1e-6, "primal")
    assert fine["q", "a"] is None and fine["q", "b"] is None and fine["p", "b"] is not None


def test_a_table_compares_on_the_common_problems() -> None:
    lines = session_lines(hand_session())
    rows = [line.split("|")[1:-1] for line in lines if line.startswith(("| a", "| b"))]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells[0] == ["a", "0.001", "1", "4.00 (4.00 to 4.00)", "1", "2", "1", "0.5", "150%"]
    assert cells[1] == ["b", "0.001", "1", "1.00 (1.00 to 1.00)", "1", "0.5", "0.25", "0.125", "-"]
    assert (
        "2026, 1 continuation:" in lines[0]
        and "load 1.2 in the median" in lines[0]
        and "100% of the solves" in lines[0]
    )


def test_the_best_form_is_that_of_each_problem() -> None:
    pinned = [("cvxpy:scs:dual", 1.0), ("cvxpy:scs", 2.0), ("cvxpy:scs:primal", 3.0), ("cvxpy:ecos:dual", 0.5)]
    runs = [solve_entry("p", entrant, 1e-6, wall, 1e-7) for entrant, wall in pinned]
    runs += [solve_entry("q", entrant, 1e-6, 4.0 - wall, 1e-7) for entrant, wall in pinned]
    winners = cheapest_solves(hand_session(runs), 1e-6)
    seconds = {key: winner.wall_seconds for key, winner in winners.items() if winner is not None}
    assert {entrant for _, entrant in winners} == {"cvxpy:scs", "cvxpy:scs, best form", "cvxpy:ecos:dual"}
    assert seconds["p", "cvxpy:scs, best form"] == 1.0 and seconds["q", "cvxpy:scs, best form"] == 1.0
    assert seconds["p", "cvxpy:scs"] == seconds["q", "cvxpy:scs"] == 2.0 and seconds["p", "cvxpy:ecos:dual"] == 0.5
    assert any("best form" in line and "dual" in line for line in session_lines(hand_session(runs)))
    assert names_in_tables(["a", "cvxpy:scs:dual"]) == {"a": ("a",), "cvxpy:scs:dual": ("cvxpy:scs:dual",)}


def test_ratios_have_their_quartiles_and_failures_are_infinite() -> None:
    assert ratio_text([1.0, 2.0, 3.0, 4.0, math.inf]) == "3.00 (2.00 to 4.00)"
    assert ratio_text([1.0, 2.0]) == "1.50 (1.25 to 1.75)" and ratio_text([1.0, 2.0, 4.0, math.inf]).startswith(
        "3.00 (1"
    )
    assert ratio_text([1.0, math.inf]) == "inf (inf to inf)" and ratio_text([]) == "-"


def test_a_group_names_its_formulations_or_its_problems() -> None:
    assert kinds(["lpboost on signs 200 x 20", "lpboost on real 1000 x 50", "lasso", "netlib/afiro"]) == [
        *("lpboost", "lasso", "netlib/afiro"),
    ]
    assert any("2 problems that these entrants take**: p, q" in line for line in session_lines(hand_session()))


def test_a_page_has_every_problem_with_its_interval_and_pictures() -> None:
    text = "\n".join(page_lines([hand_session()], ["work.svg"]))
    assert "| p | [0.9999999, 1] | 3 (1e-06, primal) | 0.5 (1e-06, primal) |" in text
    assert "| q | [1, 1] | - | - |" in text and "![work.svg](work.svg)" in text


def test_solves_without_a_gap_say_why_and_a_single_solve_has_no_spread() -> None:
    runs = [solve_entry("p", "a", 1e-6, 1.0, 1e-7), {**solve_entry("q", "a", 1e-6, 1.0, None), "status": "sing\nular"}]
    lines = session_lines(hand_session(runs))
    assert lines[-1] == "- a: 1 of 2 solves proves no gap: sing ular (1)"
    (row,) = (line for line in lines if line.startswith("| a | 1e-06"))
    winner = cheapest_solves(hand_session(runs), 1e-6)["p", "a"]
    assert row.endswith("| - |") and winner is not None and math.isnan(winner.spread)
    assert failure_lines(hand_session(runs[:1])) == []


def test_the_command_refuses_names_of_no_problem_and_makes_the_folder(tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "new" / "results.json"
    assert main(["--entrants", "cvxpy:clarabel", "--problems", "lassso", "--to", str(target)]) == 2
    assert "'lassso'" in capsys.readouterr().err and target.parent.is_dir()


def test_forms_enter_beside_the_solvers_behind_cvxpy() -> None:
    entrants = ["interior", "cvxpy:scs", "mine.py", "cvxpy:ecos:dual"]
    assert entrants_with_forms(entrants, ["primal"]) == [*entrants, "cvxpy:scs:primal"]
    assert takes_family("cvxpy:scs:primal", "boosting") and not takes_family("cvxpy:scs:primal", "cvxpy")
    with pytest.raises(OptionError, match="'tilted'"):
        entrants_with_forms(entrants, ["tilted"])


def test_intervals_without_a_common_point_are_refused() -> None:
    runs = [solve_entry("p", "a", 1e-6, 1.0, 1e-7), {**solve_entry("p", "b", 1e-6, 1.0, 0.5), "upper": 0.75}]
    with pytest.raises(DataError, match="'p' that have a point in common"):
        merge({"a": {"arena": VERSION, "sessions": [hand_session(runs)]}})
    denials = [runs[0], {**runs[0], "lower": None, "upper": None, "denies_optimum": True}, runs[0]]
    with pytest.raises(DataError, match="point in common"):
        merge({"a": {"arena": VERSION, "sessions": [hand_session(denials)]}})


@pytest.mark.thorough
def test_a_kept_session_continues_and_no_other_does(tmp_path: Path) -> None:
    problems, lines = {"transport": SET["transport"]}, list[str]()
    settings = SessionSettings(requests=[1e-3], repeats=2)
    keep = tmp_path / "keep"
    with pytest.raises(DataError, match=r"2 are left.*again"):
        measure(problems, ["cvxpy:clarabel"], settings, keep, 1e-9, lines.append)
    assert lines == []
    (session,) = measure(problems, ["cvxpy:clarabel"], settings, keep, None, lines.append)["sessions"]
    assert len(lines) == len(session["runs"]) == 2 and len(session["starts"]) == 2
    (again,) = measure(problems, ["cvxpy:clarabel"], settings, keep, None, lines.append)["sessions"]
    assert again["runs"] == session["runs"] and len(lines) == 2 and again["date"] == session["date"]
    content = json.loads((keep / SESSION_FILE).read_text())
    (keep / SESSION_FILE).write_text(json.dumps({**content, "boostopt": "0.0"}))
    with pytest.raises(DataError, match=r"its boostopt is 0\.0"):
        measure(problems, ["cvxpy:clarabel"], settings, keep)


def test_loads_of_earlier_parts_are_read_without_an_incomplete_line(tmp_path: Path) -> None:
    line = {"program": "p", "backend": "a", "tol": 1e-3, "repeat": 0, "load": 1.5}
    (tmp_path / "programs_loads.jsonl").write_text(json.dumps(line) + '\n{"program": "p", "ba')
    log = LoadLog(tmp_path, "programs", lambda text: None)
    assert log.loads == {("p", "a", 1e-3, 0): 1.5}
    assert (tmp_path / "programs_loads.jsonl").read_text() == json.dumps(line) + "\n"


def test_the_mean_is_geometric_and_shifted() -> None:
    assert shifted_mean([0.09, 0.0]) == pytest.approx(math.sqrt(0.1 * 0.01) - 0.01)
    assert math.isnan(shifted_mean([]))


def test_other_versions_and_other_problems_are_refused() -> None:
    session = {**hand_session(), "problems": {"lasso": SET["lasso"].digest}}
    document = {"arena": VERSION, "sessions": [session]}
    assert merge({"a": document})["sessions"] == [session]
    with pytest.raises(DataError, match="each session once"):
        merge({"a": document, "b": document})
    with pytest.raises(DataError, match="version 1"):
        merge({"a": document, "b": {**document, "arena": "1"}})
    changed_session = {**session, "problems": {"lasso": "0" * 64}}
    with pytest.raises(DataError, match="'lasso'"):
        merge({"b": {"arena": VERSION, "sessions": [changed_session]}})


def test_the_command_says_that_a_file_is_of_another_version(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"arena": "0", "sessions": []}')
    assert main(["--verify", str(path)]) == 2
    assert "version 0" in capsys.readouterr().err
    assert main(["--verify", str(tmp_path / "none.json")]) == 2
