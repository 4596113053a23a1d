"""The atlas: what is run, stored and read again, and its page."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

import pytest

from benchmarks import atlas
from benchmarks.atlas_page import BEGIN, END, tables, write_page
from benchmarks.atlas_solves import KINDS, MOST_BYTES, best_forms, form_of, read, solver_of, store
from boostopt.errors import DataError
from boostopt.instances.standard import standard_programs

ROOT = Path(__file__).parents[1]
ARCHIVE, PAGE = ROOT / "docs" / "atlas.tar.xz", ROOT / "docs" / "atlas.md"
SOLVERS = ("clarabel", "osqp")
LABELS = ("lpboost on random_tiny", "corrective_erlpboost on random_tiny")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The solves of two small programs by three solvers."""
    keep = tmp_path_factory.mktemp("keep")
    programs = standard_programs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "OWN", ("interior",))
        patch.setattr(atlas, "SOLVERS", SOLVERS)
        for kind in KINDS:
            (keep / kind).mkdir()
        for label in LABELS:
            assert atlas.finish(label, programs[label], keep, time.monotonic() + 600) == 0
    store(keep, keep / "atlas.tar.xz", LABELS)
    return keep / "atlas.tar.xz"


@pytest.mark.thorough
def test_every_solve_of_the_plan_is_stored_and_read_again(archive: Path) -> None:
    solves = read(archive)
    linear = [row for row in solves.by_profile if row.program.startswith("lpboost")]
    # interior once, two solvers in three forms, each by two profiles
    assert len(linear) == 2 * (1 + 2 * 3)
    assert len(solves.by_profile) == len(linear) + 2 * (1 + 6)  # OSQP takes no exponential cone
    assert len(solves.certified) == 3 * (1 + 2) + 3 * (1 + 1)
    assert not solves.contradicted and len(solves.programs) == 2
    assert all(row.isolated and row.claimed_gap is not None for row in solves.rows if row.profile == "high")
    assert {form_of(row) for row in linear} == {"", "primal", "density", "dual"}
    assert {solver_of(row) for row in linear} == {"interior", "cvxpy:clarabel", "cvxpy:osqp"}


@pytest.mark.thorough
def test_finished_programs_are_not_solved_again(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas, "OWN", ("interior",))
    monkeypatch.setattr(atlas, "SOLVERS", SOLVERS)
    files = {path: path.read_bytes() for path in archive.parent.glob("*/*.jsonl")}
    label = "lpboost on random_tiny"
    assert atlas.finish(label, standard_programs()[label], archive.parent, -math.inf) == 0
    assert {path: path.read_bytes() for path in archive.parent.glob("*/*.jsonl")} == files


@pytest.mark.thorough
def test_finish_after_the_deadline_counts_missing_solves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas, "OWN", ("interior",))
    monkeypatch.setattr(atlas, "SOLVERS", ())
    for kind in KINDS:
        (tmp_path / kind).mkdir()
    label = "lpboost on random_tiny"
    assert atlas.finish(label, standard_programs()[label], tmp_path, -math.inf) == len(atlas.PROFILES) + len(atlas.GAPS)


@pytest.mark.thorough
def test_equal_solves_make_an_equal_archive(archive: Path) -> None:
    store(archive.parent, archive.parent / "again.tar.xz", LABELS)
    assert (archive.parent / "again.tar.xz").read_bytes() == archive.read_bytes()
    with pytest.raises(DataError, match="expected finished solves"):
        store(archive.parent, archive.parent / "none.tar.xz", ())


@pytest.mark.thorough
def test_the_page_gets_its_tables_between_the_markers(archive: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nhere before\n{END}\nafter\n")
    write_page(page, archive)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith(f"{END}\nafter\n") and "here before" not in text
    assert tables(read(archive)) in text and "No interval contradicts another one." in text
    page.write_text("no markers")
    with pytest.raises(DataError, match="expected the lines"):
        write_page(page, archive)
    assert page.read_text() == "no markers"


@pytest.mark.thorough
def test_an_atlas_continues_from_its_archive(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored_archive, keep, page = tmp_path / "atlas.tar.xz", tmp_path / "keep", tmp_path / "page.md"
    stored_archive.write_bytes(archive.read_bytes())
    page.write_text(f"{BEGIN}\n{END}")
    programs = {label: standard_programs()[label] for label in LABELS}
    monkeypatch.setattr(atlas, "OWN", ("interior",))
    monkeypatch.setattr(atlas, "SOLVERS", SOLVERS)
    monkeypatch.setattr(atlas, "standard_programs", lambda ida: programs)
    arguments = [
        "atlas.py",
        "--keep",
        str(keep),
        "--store",
        str(stored_archive),
        "--page",
        str(page),
        "--budget",
        "1e-9",
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    assert atlas.main() == 0
    assert stored_archive.read_bytes() == archive.read_bytes() and tables(read(archive)) in page.read_text()


@pytest.mark.thorough
def test_the_best_form_is_the_earliest_good_one(archive: Path) -> None:
    solves = read(archive)
    best = {(row.program, solver_of(row), row.profile): row for row in best_forms(solves.by_profile)}
    for row in solves.by_profile:
        best_row = best[row.program, solver_of(row), row.profile]
        assert (best_row.scaled_gap > 1e-6) <= (row.scaled_gap > 1e-6)
        assert row.scaled_gap > 1e-6 or best_row.seconds <= row.seconds


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["atlas.py", "--keep", "build/nothing", "--store", "build/nothing.tar.xz", "--data", "nowhere"]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.chdir(ROOT / "tests")
    assert atlas.main() == 2
    assert "nowhere/diabetis.npz" in capsys.readouterr().err


@pytest.mark.thorough
def test_the_stored_page_is_that_of_the_stored_solves() -> None:
    assert ARCHIVE.stat().st_size <= MOST_BYTES
    solves = read(ARCHIVE)
    assert not solves.contradicted and len({solver_of(row) for row in solves.rows}) >= 10
    assert tables(solves) in PAGE.read_text(encoding="utf-8")
