"""The machinery of the IDA benchmark on a tiny set: what is chosen, certified, resumed and written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import ida_data, ida_methods, ida_printed, ida_table, ida_work
from benchmarks.ida_ledger import Ledger
from boostopt.errors import DataError

COMMAND = Path(__file__).parents[1] / "benchmarks" / "ida.py"
DATA = Path(__file__).parents[2] / "shared" / "data" / "ida"
PAGE = f"# Title\n\nBefore.\n\n{ida_table.BEGIN}\nold\n{ida_table.END}\n\nAfter.\n"
TRAIN, ROUNDS, FOLDS, EPSILON = 40, 6, 2, 0.1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One set of 60 noisy examples with one published split and three seeded ones."""
    folder, rng = tmp_path_factory.mktemp("ida"), np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] ** 2 + 0.5 * rng.normal(size=60) > 0.5, 1, -1).astype(np.int8)
    orders = np.array([rng.permutation(60) for _ in range(4)])
    splits = {"train_splits": orders[:1, :TRAIN], "test_splits": orders[:1, TRAIN:]}
    seeded = {"seeded_train_splits": orders[1:, :TRAIN], "seeded_test_splits": orders[1:, TRAIN:]}
    arrays: dict[str, Any] = {"X": X, "y": y, "split_numbers": np.array([-1], np.int16), **splits, **seeded}
    np.savez(folder / "tiny.npz", **arrays)
    return folder


def command(folder: Path, resume: Path, *more: object) -> list[str]:
    arguments = ["--data", folder, "--resume", resume, "--splits", 1, "--rounds", ROUNDS, *more]
    # Developers may change the package meanwhile: that its units are then not taken is another test.
    arguments += ["--folds", FOLDS, "--epsilon", EPSILON, "--any-version"]
    return [sys.executable, str(COMMAND), *map(str, arguments)]


def results(path: Path) -> dict[tuple[Any, ...], Any]:
    """Return the results of the units of a file, without their seconds and the version."""

    def timeless(content: Any) -> Any:
        if isinstance(content, dict):
            return {k: timeless(v) for k, v in content.items() if "seconds" not in k and k not in ("cpu", "version")}
        return content

    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    result_by_unit = {tuple(line["unit"]): timeless(line) for line in lines}
    assert len(result_by_unit) == len(lines), "a unit was done twice"
    return result_by_unit


@pytest.fixture(scope="module")
def whole(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The file and the page of a run without interruption."""
    folder_of_run = tmp_path_factory.mktemp("whole")
    resume, page = folder_of_run / "ida.jsonl", folder_of_run / "page.md"
    page.write_text(PAGE)
    done = subprocess.run(command(folder, resume, "--table", page), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("All splits are finished.\n")
    return resume, page


@pytest.mark.thorough
def test_a_killed_run_goes_on_to_the_same_results(folder: Path, whole: tuple[Path, Path], tmp_path: Path) -> None:
    resume = tmp_path / "ida.jsonl"
    killed = subprocess.Popen(command(folder, resume), stderr=subprocess.PIPE)
    end = time.monotonic() + 120.0
    while not resume.exists() or resume.read_bytes().count(b"\n") < 3:
        assert killed.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    killed.kill()
    # The end of the pipe comes when the last of the worker processes is gone.
    killed.communicate(timeout=60.0)
    content = resume.read_bytes()
    content = content[: content.rfind(b"\n") + 1]
    assert content.count(b"\n") < len(results(whole[0]))
    with resume.open("ab") as file:
        file.write(b'{"unit": ["tiny", "publi')
    subprocess.run(command(folder, resume), capture_output=True, check=True)
    assert resume.read_bytes().startswith(content)
    assert results(resume) == results(whole[0])


@pytest.mark.thorough
def test_a_finished_run_does_nothing_again_and_writes_the_same_page(folder: Path, whole: tuple[Path, Path]) -> None:
    resume, page = whole
    contents = resume.read_bytes(), page.read_text()
    subprocess.run(command(folder, resume, "--table", page), capture_output=True, check=True)
    assert (resume.read_bytes(), page.read_text()) == contents


@pytest.mark.thorough
def test_a_budget_ends_a_run_with_1(folder: Path, tmp_path: Path) -> None:
    resume = tmp_path / "ida.jsonl"
    done = subprocess.run(command(folder, resume, "--budget", 0), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and re.fullmatch(r"2 splits\b.*\bmissing\b.*\n", done.stderr)
    assert results(resume) == {}


@pytest.mark.thorough
def test_units_are_the_folds_and_then_the_splits_of_each_kind(whole: tuple[Path, Path]) -> None:
    expected = {("tiny", kind, 0, fold) for kind in ("published", "seeded") for fold in (-1, 0, 1)}
    assert set(results(whole[0])) == expected


@pytest.mark.thorough
def test_every_method_certifies_what_it_promises(whole: tuple[Path, Path]) -> None:
    for unit, line in results(whole[0]).items():
        if unit[3] != ida_data.WHOLE:
            continue
        outcomes = line["outcomes"]
        for name in ida_methods.METHODS:
            assert 0.0 <= outcomes[name]["error"] <= 1.0
        assert all(0.0 <= outcomes[name]["gap"] <= EPSILON for name in ("LPBoost", "SoftBoost", "ERLPBoost"))
        assert all(0.0 <= outcomes[name]["gap"] <= 1e-6 for name in ("LP_REG", "QP_REG"))
        assert all(0.0 <= outcomes[name]["gap"] <= 2.0 for name in ("AdaBoost", "AdaBoost_REG"))
        assert outcomes["RBF-SVM"]["gap"] is None and 1 <= outcomes["networks"] <= ROUNDS


def test_the_gap_of_adaboost_is_the_optimum_less_its_soft_margin(folder: Path) -> None:
    part = ida_data.part_of(folder, ("tiny", "seeded", 1, ida_data.WHOLE), 5)
    networks = ida_methods.collect_networks(part, ida_methods.Options(rounds=ROUNDS))
    nu, w = 8, networks.w / networks.w.sum()
    # The soft margin for a whole nu: the mean of the nu smallest margins.
    soft_margin = np.sort(networks.U.to_array() @ w)[:nu].mean()
    solution = ida_methods.optimum(networks.U, nu)
    expected = solution.certificate.lower - soft_margin
    assert ida_methods.left_open(networks.U, w, nu) == pytest.approx(expected, abs=1e-8)
    assert expected > 1e-3


@pytest.mark.thorough
def test_the_page_has_whole_tables_between_its_markers(whole: tuple[Path, Path]) -> None:
    text = whole[1].read_text()
    assert text.startswith("# Title\n\nBefore.\n\n") and text.endswith(f"{ida_table.END}\n\nAfter.\n")
    assert "old" not in text
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert [len(table) for table in tables] == [5, 4, 4]
    for table in tables:
        assert len({line.count("|") for line in table}) == 1
        assert [line.split(" | ")[1] for line in table[2:4]] == ["1 published (?)", "1 seeded (*)"]
    assert [cell for cell in tables[0][-1].strip("| ").split(" | ") if cell] == ["*in print †*"]


def test_a_page_without_markers_is_refused(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{ida_table.END}\n{ida_table.BEGIN}\n")
    work = ida_work.Work.load(folder, [], ida_methods.Options(), tmp_path / "ida.jsonl", any_version=False)
    with pytest.raises(DataError, match="one is missing"):
        ida_table.write_page(page, work, {})


def test_the_median_of_the_best_values_is_chosen() -> None:
    """Three splits of two folds: the best values are at 1, 4 and 2, the middle one at 2; ties go to the first."""
    lines = list[dict[str, Any]]()
    for split, best in enumerate((1, 4, 2)):
        for fold in range(2):
            errors = {name: [0.5] * len(ida_methods.points(name)) for name in ida_methods.GRIDS}
            # The mean over the folds counts: 0.1 in one fold alone is not enough.
            errors["LP_REG"][0] = 0.1 if fold == 0 else 0.6
            errors["LP_REG"][best] = 0.2
            errors["RBF-SVM"][5 * split + best] = 0.0
            lines.append({"unit": ["a", "seeded", split, fold], "errors": errors})
    parameters = ida_work.selected(lines)
    assert parameters["LP_REG"] == (ida_methods.NU[2],)
    assert parameters["LPBoost"] == (ida_methods.NU[0],)
    assert parameters["RBF-SVM"] == (10.0, 1.0)


def test_folds_deal_out_each_class_evenly() -> None:
    y = np.array([1] * 23 + [-1] * 17, dtype=np.int8)
    numbers = ida_data.fold_numbers(y, 5, seed=3)
    for label in (1, -1):
        counts = np.bincount(numbers[y == label], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.bincount(numbers).tolist() == [8] * 5


def test_the_folds_of_a_split_never_see_its_test_part(folder: Path) -> None:
    whole = ida_data.part_of(folder, ("tiny", "published", 0, ida_data.WHOLE), 5)
    tested = list[tuple[float, ...]]()
    for fold in range(5):
        part = ida_data.part_of(folder, ("tiny", "published", 0, fold), 5)
        assert len(part.y) + len(part.y_test) == TRAIN
        tested += [tuple(x) for x in part.X_test.tolist()]
    assert sorted(tested) == sorted(tuple(x) for x in whole.X.tolist())


def test_units_of_other_options_data_or_versions_are_not_taken(tmp_path: Path) -> None:
    path, unit = tmp_path / "ida.jsonl", ("a", "seeded", 0, 0)
    line = {"unit": unit, "version": "1", "data": "x", "seconds": 1.0, "cpu": 1.0, "chosen": {"QP_REG": (0.1,)}}
    Ledger(path, {"rounds": 50}, "1").write(line)
    again = Ledger(path, {"rounds": 50}, "1")
    assert again.finished(unit, "x") is not None
    assert again.finished(unit, "y") is None
    assert again.finished(unit, "x", {"QP_REG": (0.1,)}) is not None
    assert again.finished(unit, "x", {"QP_REG": (1.0,)}) is None
    assert Ledger(path, {"rounds": 50}, "2").finished(unit, "x") is None
    assert Ledger(path, {"rounds": 50}, None).finished(unit, "x") is not None
    with pytest.raises(DataError, match="made with these options"):
        Ledger(path, {"rounds": 49}, "1")


@pytest.mark.parametrize("text", ["no JSON\n", "[1]\n", '{"unit": 1}\n'])
def test_a_damaged_file_is_refused_with_the_number_of_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ida.jsonl"
    Ledger(path, {}, "1")
    with path.open("a") as file:
        file.write(text)
    with pytest.raises(DataError, match="line 2: expected"):
        Ledger(path, {}, "1")


@pytest.mark.parametrize(("name", "message"), [("other", "got 'other'"), (None, "found none")])
def test_sets_that_are_not_there_are_named(folder: Path, tmp_path: Path, name: str | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ida_data.rows_of(folder if name else tmp_path, [name or "tiny"], 1)


@pytest.mark.skipif(not DATA.exists(), reason="the IDA sets are not beside the repository: ../shared/data/ida")
def test_seeded_splits_are_used_for_five_sets_alone() -> None:
    names = ida_data.names(DATA)
    rows = ida_data.rows_of(DATA, names, 10)
    seeded = {row.name: row.splits for row in rows if row.kind == ida_data.SEEDED}
    assert seeded == dict.fromkeys(("diabetis", "flare_solar", "splice", "thyroid", "twonorm"), 10)
    published = {row.name: row.splits for row in rows if row.kind == ida_data.PUBLISHED}
    few = {"diabetis": 1, "twonorm": 1, "image": 9}
    assert published == {name: few.get(name, 10) for name in names if name not in ("flare_solar", "splice", "thyroid")}
    assert [row.name for row in rows if not row.certain] == ["diabetis"]
    assert all(ida_printed.printed_figures(name) for name in names) and len(names) == 13


def test_the_page_quotes_print_as_the_benchmark_writes_it() -> None:
    """Each line in print stands below its set, with the figures of the printed tables."""
    lines = (Path(__file__).parents[1] / "docs" / "ida.md").read_text(encoding="utf-8").split("\n")
    methods = (
        next(line for line in lines if line.startswith("| set | splits | AdaBoost |")).strip("| ").split(" | ")[2:]
    )
    name, quoted = "", list[str]()
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] != "*in print †*":
            name = cells[0]
            continue
        quoted.append(name)
        figures = ida_printed.printed_figures(name)
        for method, cell in zip(methods, cells[2:], strict=True):
            if method in figures:
                assert cell.strip("* ‡") == "{:.1f} ± {:.1f}".format(*figures[method])
                assert ("‡" in cell) == (method in ida_printed.SOFTBOOST)
            else:
                assert not cell
    assert sorted(quoted) == sorted(ida_printed.SETS) and len(quoted) == 13
