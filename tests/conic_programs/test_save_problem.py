"""Files that are written: the same program is read, or the format refuses it; damaged files are refused in words."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker
from conic_programs.small_programs import INF, linear_program, random_program
from conic_programs.test_readers import CBF, INSTANCES, QPS, SDPA
from conic_programs.test_small_files import FOLDER
from hypothesis import given, settings
from hypothesis import strategies as st
from support.speeds import many

from boostopt import ConicProgram, load_problem, save_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.conic_programs.writers.save_problem import FORMATS, differences
from boostopt.errors import DataError, OptionError, ProblemError


def random_conic_program(seed: int) -> ConicProgram:
    """Return a program with numbers of all sizes, with or without cones, P, names and an offset."""
    rng = np.random.default_rng(seed)
    program = random_program(seed, int(rng.integers(0, 5)), 4, "any")
    facts: dict[str, Any] = {"c": rng.normal(size=4) * 10.0 ** rng.integers(-9, 9)}
    if rng.random() < 0.4:
        B = rng.normal(size=(4, 4))
        facts["P"] = B + B.T
    if rng.random() < 0.5:
        facts["column_names"] = [f"x{j}" for j in range(4)]
    facts["is_maximized"] = bool(rng.random() < 0.3)
    facts["offset"] = float(rng.choice([0.0, 0.1, -1e-3]))
    facts["numbers"] = str(rng.choice(["binary", "decimal"]))
    cones = list[ConeConstraint]()
    for kind in rng.choice(["second_order", "exponential", "power", "semidefinite"], rng.integers(0, 4)):
        size = {"second_order": int(rng.integers(1, 5)), "semidefinite": 4}.get(str(kind), 3)
        A, b = rng.normal(size=(size, 4)) * (rng.random((size, 4)) < 0.7), rng.normal(size=size)
        if kind == "semidefinite":
            A[2], b[2] = A[1], b[1]
        cones.append(ConeConstraint(kind, A, b, float(rng.choice([0.25, 0.3, 0.5])), "a cone"))
    return replace(program, cones=tuple(cones), **facts)


@settings(max_examples=many(60, 20), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(FORMATS)))
def test_random_programs_are_read_as_they_were_written(tmp_path_factory: Any, seed: int, ending: str) -> None:
    program, path = random_conic_program(seed), tmp_path_factory.mktemp("programs") / f"program{ending}"
    try:
        save_problem(program, path)
    except OptionError as refusal:
        assert ending != ".npz" and ".npz" in str(refusal) and not path.exists()
        return
    copy = load_problem(path)
    assert differences(program, copy) == []
    if ending == ".npz":
        assert (copy.numbers, copy.column_names, copy.name) == (program.numbers, program.column_names, program.name)
        assert [cone.name for cone in copy.cones] == [cone.name for cone in program.cones]


def files_of_others() -> list[Path]:
    folders = [path for path in INSTANCES.iterdir() if path.is_dir()] if INSTANCES.is_dir() else []
    return sorted(path for folder in folders for path in folder.iterdir() if path.stat().st_size < 20_000)


@pytest.mark.thorough
@pytest.mark.parametrize("path", files_of_others(), ids=lambda path: path.name)
def test_files_of_others_are_written_as_the_same_program(tmp_path: Path, path: Path) -> None:
    program = load_problem(path)
    ending = ".cbf" if path.suffix == ".gz" else path.suffix
    for target in (tmp_path / f"program{ending}", tmp_path / "program.npz"):
        save_problem(program, target)
        assert differences(program, load_problem(target)) == []


CONE = ConeConstraint("second_order", np.ones((2, 1)), np.zeros(2))
MATRIX = ConeConstraint("semidefinite", np.ones((1, 1)), np.zeros(1))


@pytest.mark.parametrize(
    ("ending", "facts", "part"),
    [
        (".mps", {"cones": (CONE,)}, "rows in cones"),
        (".mps", {"row_lower": [-INF], "row_upper": [INF]}, "without bounds"),
        (".mps", {"row_lower": [1e-20], "row_upper": [1.0]}, None),
        (".mps", {"row_lower": [1e-20], "row_upper": [-1.0]}, "width"),
        (".mps", {"row_lower": [0.1], "row_upper": [1e17 / 3]}, None),
        (".mps", {"row_names": ["two words"]}, "spaces"),
        (".mps", {"column_names": ["MARKER"]}, "reader says"),
        (".cbf", {"P": np.eye(1)}, "quadratic"),
        (".cbf", {"lower": [1.0]}, "bound"),
        (".cbf", {"row_lower": [0.0], "row_upper": [1.0]}, "two bounds"),
        (".cbf", {"cones": (MATRIX,)}, "semidefinite"),
        (".dat-s", {"cones": (CONE,)}, "bounds of variables"),
        (".mat", {"cones": (CONE,)}, "cones"),
        (".mat", {"upper": [1e30]}, "larger"),
    ],
)
def test_formats_refuse_what_they_do_not_hold(
    tmp_path: Path, ending: str, facts: dict[str, Any], part: str | None
) -> None:
    facts = {key: np.array(value) if key in ("lower", "upper") else value for key, value in facts.items()}
    rows = facts.pop("row_lower", [1.0]), facts.pop("row_upper", [INF])
    program = replace(linear_program([[2.0]], [1.0], rows), **facts)
    target = tmp_path / f"program{ending}"
    if part is None:
        save_problem(program, target)
        assert differences(program, load_problem(target)) == []
    else:
        with pytest.raises(OptionError, match=part):
            save_problem(program, target)
        assert not target.exists()
    save_problem(program, tmp_path / "program.npz")
    assert differences(program, load_problem(tmp_path / "program.npz")) == []


def test_other_endings_and_objects(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.npz, \.mps"):
        save_problem(linear_program([[2.0]], [1.0], ([1.0], [INF])), tmp_path / "program.txt")


def test_archives_that_are_not_as_the_layout_states(tmp_path: Path) -> None:
    program = replace(random_conic_program(1), cones=(CONE_OF_FOUR,), P=np.eye(4))
    save_problem(program, tmp_path / "program.npz")
    with np.load(tmp_path / "program.npz") as archive:
        arrays = dict(archive)
    changes: dict[str, Any] = {
        "layout": np.array("another layout"),
        "n": np.array(5),
        "c": arrays["c"].astype(str),
        "upper": arrays["upper"].astype(np.longdouble),  # would be rounded
        "P_columns": arrays["P_columns"] + 9,
        "A_starts": arrays["A_starts"][:-1],
        "cone_sizes": np.array([1]),
        "cone_kinds": np.array(["round"]),
        "offset": np.array([1.0, 2.0]),
        "lower": np.full(4, np.nan),
        "is_maximized": np.array(2),
        "numbers": np.array("octal"),
        "column_names": np.array(["a"]),
    }
    for name, change in changes.items():
        np.savez(tmp_path / "changed.npz", **(arrays | {name: change}))
        with pytest.raises(DataError, match=r"changed\.npz: expected"):
            load_problem(tmp_path / "changed.npz")
        np.savez(tmp_path / "changed.npz", **{key: array for key, array in arrays.items() if key != name})
        with pytest.raises(DataError, match=r"changed\.npz: expected"):
            load_problem(tmp_path / "changed.npz")


CONE_OF_FOUR = ConeConstraint("second_order", np.ones((2, 4)), np.zeros(2))


def text_files() -> dict[str, str]:
    files = {"a.qps": QPS, "a.cbf": CBF + "ACOORD\n2\n0 0 1.0\n1 3 2.0\nBCOORD\n1\n0 -1.0\n", "a.dat-s": SDPA}
    return files | {path.name: path.read_text() for path in FOLDER.iterdir()}


def cut(text: str, rng: np.random.Generator) -> str:
    return text[: rng.integers(0, len(text))]


def replace_a_field(text: str, rng: np.random.Generator) -> str:
    fields = text.split(" ")
    words = ["nan", "inf", "-1", "9" * 400, "1e999", "", "\u00b2", "\u0661", "x" * 9, "\x00", "-", "1.5", "99999999"]
    fields[rng.integers(0, len(fields))] = str(rng.choice(words))
    return " ".join(fields)


def swap_lines(text: str, rng: np.random.Generator) -> str:
    lines = text.splitlines()
    i, j = rng.integers(0, len(lines), 2)
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines) + "\n"


def drop_or_double_a_line(text: str, rng: np.random.Generator) -> str:
    lines = text.splitlines()
    i = int(rng.integers(0, len(lines)))
    return "\n".join([*lines[:i], *([lines[i]] * int(rng.choice([0, 2]))), *lines[i + 1 :]]) + "\n"


@settings(max_examples=many(60, 20), deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(text_files())),
    st.sampled_from([cut, replace_a_field, swap_lines, drop_or_double_a_line]),
)
def test_damaged_texts_are_programs_or_are_refused(
    tmp_path_factory: Any, seed: int, name: str, damage: Callable[[str, np.random.Generator], str]
) -> None:
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_text(damage(text_files()[name], np.random.default_rng(seed)), encoding="utf-8")
    try:
        program = load_problem(path)
    except DataError as refusal:
        assert name in str(refusal) and "expected" in str(refusal)
        return
    # It is a program: written and read again, it is the same one.
    save_problem(program, path.with_name("again.npz"))
    assert differences(program, load_problem(path.with_name("again.npz"))) == []


@settings(max_examples=many(30, 10), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([".npz", ".mat"]))
def test_damaged_archives_are_programs_or_are_refused(tmp_path_factory: Any, seed: int, ending: str) -> None:
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("damaged")
    save_problem(replace(random_program(3, 4, 4, "any"), P=np.eye(4)), folder / f"a{ending}")
    content = bytearray((folder / f"a{ending}").read_bytes())
    if rng.random() < 0.5:
        content = content[: rng.integers(0, len(content))]
    else:
        for place in rng.integers(0, len(content), 3):
            content[place] = rng.integers(0, 256)
    (folder / f"b{ending}").write_bytes(bytes(content))
    try:
        assert isinstance(load_problem(folder / f"b{ending}"), ConicProgram)
    except DataError as refusal:
        assert f"b{ending}" in str(refusal)


def test_compressed_files_that_are_cut(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb") as file:
        file.write(QPS.encode())
    for size in (0, 1, 12, len(stream.getvalue()) - 1):
        (tmp_path / "a.qps.gz").write_bytes(stream.getvalue()[:size])
        with pytest.raises(DataError, match=r"a\.qps\.gz"):
            load_problem(tmp_path / "a.qps.gz")


HUGE = "9" * 12


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.dat-s", SDPA.replace("(2, -1)", f"({HUGE}, -1)"), 4),
        ("a.dat-s", SDPA.replace("(2, -1)", f"(2, -{HUGE})"), 4),
        ("a.dat-s", SDPA.replace("(2, -1)", f"({'9' * 5000}, -1)"), 4),
        ("a.dat-s", SDPA.replace("2 = number of v", f"{HUGE} = number of v"), 2),
        ("a.dat-s", SDPA.replace("2 = number of v", f"{'9' * 5000} = number of v"), 2),
        ("a.cbf", CBF.replace("6 2\nF 3", f"{HUGE}6 2\nF {HUGE}3"), 12),
        ("a.cbf", CBF.replace("13 5", f"{'9' * 5000} 5"), 16),
        ("a.cbf", CBF + f"ACOORD\n{HUGE}\n", 23),
    ],
)
def test_numbers_of_entries_that_no_memory_holds(tmp_path: Path, name: str, text: str, line: int) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=rf"line {line}: expected .*; got .*Correct the line"):
        load_problem(tmp_path / name)


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.1, 0.3), (-0.3, 0.1), (1e-300, 1e300), (0.1, float(np.nextafter(0.1, 1.0))), (-1e17, 0.3)]
)
def test_both_ends_of_a_range_are_written(tmp_path: Path, lower: float, upper: float) -> None:
    program = linear_program([[1.0]], [1.0], ([lower], [upper]))
    save_problem(program, tmp_path / "range.mps")
    assert differences(program, load_problem(tmp_path / "range.mps")) == []


@pytest.mark.parametrize(
    ("ending", "facts", "part"),
    [
        (".mps", {"column_names": ["\ud800"]}, "Unicode"),
        (".mps", {"name": "\ud800"}, "Unicode"),
        (".npz", {"name": "a\0"}, "character 0"),
        (".npz", {"cones": (replace(CONE, name="a\0"),)}, "character 0"),
    ],
)
def test_names_that_a_format_changes_are_refused(tmp_path: Path, ending: str, facts: dict[str, Any], part: str) -> None:
    program = linear_program([[1.0]], [1.0], ([0.0], [INF]), **facts)
    with pytest.raises(OptionError, match=part):
        save_problem(program, tmp_path / f"a{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "facts", [{"name": 5}, {"column_names": [5]}, {"row_names": [None]}, {"is_maximized": 2}, {"is_maximized": "no"}]
)
def test_names_are_texts_and_the_sense_is_a_flag(facts: dict[str, Any]) -> None:
    with typechecker.unchecked(), pytest.raises(ProblemError, match=next(iter(facts))):
        linear_program([[1.0]], [1.0], ([0.0], [INF]), **facts)
    with typechecker.unchecked():
        assert linear_program([[1.0]], [1.0], ([0.0], [INF]), is_maximized=1).is_maximized is True
    with typechecker.unchecked(), pytest.raises(ProblemError, match="name"):
        replace(CONE, name=facts)
