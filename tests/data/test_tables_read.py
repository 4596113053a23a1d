"""Tables as text: how wide they may be, what separates them, what of them is a number, and what a spreadsheet runs."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from boostopt import DataError, load_dataset
from boostopt._utils import files
from boostopt.cli import app
from boostopt.data import csv_tables as tables
from boostopt.data.answer_files import load_answer
from boostopt.data.csv_tables import guard_formula, read_table, table_to_csv, unguard_formula
from boostopt.data.datasets import load_features, load_table


def write(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


# Sizes


@pytest.mark.thorough
def test_a_wide_table_is_read_in_time_that_grows_with_its_width_alone(tmp_path: Path) -> None:
    """A search for each name among all names would take minutes of processor time."""
    names = [f"c{j}" for j in range(100_000)]
    row = ",".join(["0.5"] * len(names))
    source = write(tmp_path, "wide.csv", ",".join([*names, "label"]) + f"\n{row},0\n{row},1\n")
    began = time.process_time()
    data, few = load_dataset(source), load_features(source, names[::-1], len(names))
    with pytest.raises(DataError, match=r"'x'\. .*\b99,901 more"):
        load_dataset(source, label="x")
    assert time.process_time() - began < 10.0
    assert data.X is not None and data.X.shape == (2, 100_000) and data.features == tuple(names)
    assert few.X.shape == (2, 100_000) and few.labels is not None


def test_a_table_that_is_too_large_as_an_array_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, "data.csv", "a,b,label\n" + "1,2,0\n" * 60)
    monkeypatch.setattr(tables, "MAX_UNPACKED_BYTES", 900)
    with pytest.raises(DataError, match=r"\b900 bytes\b.*; 57 rows of 2 columns"):
        load_dataset(source)


@pytest.mark.parametrize("name", ["data.csv.gz", "data.svm.gz", "answer.sol.gz"])
def test_archives_without_end_are_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, name, gzip.compress(b"0" * 100_000))
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 10_000)
    with pytest.raises(DataError, match=r"\b10,000 bytes; unpacked"):
        (load_answer if name.startswith("answer") else load_table)(source)


def zeros(path: Path, shape: tuple[int, int], n_bytes: int, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """An npz file with an array X of zeros, of which so many bytes are there."""
    with zipfile.ZipFile(path, "w", compression) as archive, archive.open("X.npy", "w") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)  # pyright: ignore[reportArgumentType]
        for _ in range(n_bytes // 1000):
            file.write(bytes(1000))
    return path


def test_packed_zeros_are_refused_by_their_size_before_they_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = zeros(tmp_path / "zeros.npz", (1000, 100), 800_000)
    assert source.stat().st_size < 8_000
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 700_000)
    with pytest.raises(DataError, match=r"\b700,000 bytes\b.*\b800,\d{3}\b"):
        load_table(str(source))
    # A file that is as large as its arrays is what it says.
    whole = zeros(tmp_path / "whole.npz", (1000, 100), 800_000, zipfile.ZIP_STORED)
    assert files.read_npz(whole)["X"].shape == (1000, 100)


@pytest.mark.parametrize("shape", [(10**5, 10**4), (10**9, 0)])
def test_an_array_that_claims_more_than_there_is_is_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    source = zeros(tmp_path / "zeros.npz", shape, 0)
    with pytest.raises(DataError, match=r"\bX\.npy\b.*\b8,000,000,000\b|not empty; got"):
        load_table(str(source))


def test_arrays_in_npz_files_are_read_whatever_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 100_000)
    for size in (10, 10_000, 20_000):
        path = tmp_path / f"{size}.npz"
        with path.open("wb") as file:
            files.write_npz(file, {"a": np.zeros(size)})
        assert len(files.read_npz(path)["a"]) == size


def test_an_index_that_no_data_set_has_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path, "data.svm", "1 1:1\n-1 100000000:1\n")
    with pytest.raises(DataError, match=r"shape \(2, 100000000\), and 2 .*\b1,600,000,000 bytes"):
        load_dataset(source)


def test_too_little_memory_is_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError("Unable to allocate 9.9 TiB")

    monkeypatch.setattr("boostopt.cli.option_groups.load_table", fails)
    result = CliRunner().invoke(app, ["fit", "--data", "iris", "--out", str(tmp_path / "m.npz")])
    assert result.exit_code == 2
    assert re.fullmatch(r"error: .*\bmemory\b.*: Unable to allocate 9\.9 TiB\. .+\n", result.stderr)


# Numbers


def test_truth_values_are_numbers_as_features_and_words_as_labels(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "a,b,label\n1,True,True\n2, False,False\n")
    data, table = load_dataset(source), load_table(source)
    assert data.X is not None and data.X.tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert table.labels is not None and table.labels.tolist() == ["True", "False"]
    with pytest.raises(DataError, match=r", line 3: .*'yes' .*'b'"):
        load_dataset(write(tmp_path, "data.csv", "a,b,label\n1,True,0\n2,yes,1\n"))


@pytest.mark.parametrize("load", [load_dataset, load_table])
def test_a_name_with_an_underscore_is_no_number(tmp_path: Path, load: object) -> None:
    source = write(tmp_path, "data.csv", "a,label\n1,0\n1_000,1\n")
    with pytest.raises(DataError, match=r", line 3: .*'1_000' .*'a'"):
        load(source)  # pyright: ignore[reportCallIssue]


def test_a_label_with_an_underscore_is_a_text(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "a,label\n1,1000\n2,1_000\n3,1_000\n")
    labels = load_table(source).labels
    assert labels is not None and labels.tolist() == ["1000", "1_000", "1_000"]
    y = load_dataset(source, positive="1_000").y
    assert y is not None and y.tolist() == [-1, 1, 1]


@pytest.mark.parametrize(
    "text", ["1 1:1\n-1 1:1_000\n", "1 1:1\n-1 1_0:1\n", "1 1:1\n1_0 1:1\n"], ids=["value", "index", "label"]
)
def test_svmlight_has_no_underscores_but_in_comments(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r", line 2: .*svmlight.* underscore"):
        load_dataset(write(tmp_path, "data.svm", text))
    assert load_dataset(write(tmp_path, "data.svm", "1 1:1 # an_example\n-1 1:2\n#_\n")).X is not None


@pytest.mark.parametrize("name, text", [("answer.csv", "d\n1_0\n"), ("answer.txt", "d_1 1_0\n")])
def test_weights_of_an_answer_have_no_underscores(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DataError, match="1_0"):
        load_answer(write(tmp_path, name, text))


# Separators


@pytest.mark.parametrize("name", ["data.tsv", "data.tab", "data.TSV.gz"])
def test_text_with_tabs_is_read(tmp_path: Path, name: str) -> None:
    text = b'a\t"b, c"\tlabel\tw\n1\t2\tx\t1\n3\t4\ty\t2\n'
    data = load_dataset(write(tmp_path, name, gzip.compress(text) if name.endswith("gz") else text), weights="w")
    assert data.X is not None and data.X.tolist() == [[1, 2], [3, 4]]
    assert data.features == ("a", "b, c") and data.c.tolist() == [1, 2]
    answer = load_answer(write(tmp_path, "answer.tsv", "d\tw\n0.5\t1\n0.5\t\n"))
    assert answer.d.tolist() == [0.5, 0.5] and answer.w.tolist() == [1]


def test_text_with_commas_is_no_text_with_tabs(tmp_path: Path) -> None:
    source = write(tmp_path, "data.tsv", "a,label\n1,0\n2,1\n")
    with pytest.raises(DataError, match=r"\btabs; .*\bcommas\. .*\btabs\b.* \.csv\."):
        load_dataset(source)


@pytest.mark.parametrize("sign, ending", [("\t", r"\.tsv"), (",", r"\.csv")])
def test_a_table_under_another_ending_is_refused_as_what_it_is(tmp_path: Path, sign: str, ending: str) -> None:
    source = write(tmp_path, "data.txt", sign.join(["a", "label"]) + "\n" + sign.join(["1", "0"]) + "\n")
    with pytest.raises(DataError, match=rf"\btable: .* {ending},"):
        load_dataset(source)


# The index of a data frame

INDEXED = ",a,label\n0,1,x\n1,2,y\n"


def test_the_index_of_a_data_frame_is_no_feature_unsaid(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", INDEXED)
    for load in (load_dataset, load_table):
        with pytest.warns(UserWarning, match=r"column '' .*--drop \"\",.*\bdrop=\[''\]"):
            assert load(source).features == ("", "a")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert load(source, drop=[""]).features == ("a",)
            assert load(source, weights="").features == ("a",)
    again = write(tmp_path, "again.csv", INDEXED.replace(",a", "Unnamed: 0,a", 1))
    with pytest.warns(UserWarning, match=r"--drop \"Unnamed: 0\""):
        load_dataset(again)


@pytest.mark.parametrize(
    "command", [["compare", "lpboost", "--nu", "1", "--backends", "interior"], ["fit"], ["export"]]
)
def test_commands_say_which_column_to_drop(tmp_path: Path, command: list[str]) -> None:
    source = write(tmp_path, "data.csv", INDEXED)
    out = {"fit": ["--out", "m.npz"], "export": ["lpboost", "--nu", "1", "--out", "p.npz"]}.get(command[0], [])
    out = [str(tmp_path / word) if word.endswith(".npz") else word for word in out]
    for drop, warned in (([], 1), (["--drop", ""], 0)):
        result = CliRunner().invoke(app, [*command, *out, "--data", source, *drop])
        assert result.exit_code in (0, 1), result.stderr
        assert result.stderr.count("warning: ") == warned and result.stderr.count("data.csv: the column '' ") == warned


# Formulas that a spreadsheet runs

FORMULAS = ["=1+1", "+x", "-x", "@SUM(A1)", " =x", "'=x", "''-x", "\tx", "\rx", "\uff1dx", "-1+1", "-1_000"]
PLAIN = ["x", "'x", "'", "", "-1.5", "+2", "-inf", "1e5", "'-1.5 m", "a=b", "score_=x"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_cell_that_a_spreadsheet_would_run_has_an_apostrophe(text: str) -> None:
    assert guard_formula(text) == f"'{text}" and unguard_formula(f"'{text}") == text


@pytest.mark.parametrize("value", [*PLAIN[:8], -1.5, -2, None, True, "a=b", "score_=x"])
def test_numbers_and_other_texts_stay_as_they_are(value: object) -> None:
    assert guard_formula(value) is value


@pytest.mark.thorough
@given(st.text("'=+-@ \t1.ex_\uff1d", max_size=6))
@example("'-1.5")
def test_guarded_text_is_read_as_it_was(text: str) -> None:
    assert unguard_formula(guard_formula(text)) == text
    assert not re.match(r"\s*[=+\-@]", guard_formula(text)) or tables.is_number_text(text)


def test_names_and_labels_of_a_table_are_read_as_they_were_written(tmp_path: Path) -> None:
    names, labels = ["=1+1", "+x", "-x", "@x", "'=x", "-1.5"], ["=cmd|'/C calc'!A1", "-no", "'-1"]
    rows = [[*(str(float(n)) for n in range(6)), label] for label in labels]
    source = write(tmp_path, "data.csv", table_to_csv([*names, "label"], rows))
    table = load_table(source)
    assert table.features == tuple(names) and table.labels is not None and table.labels.tolist() == labels
    header, _ = read_table(Path(source))
    assert header == [*names, "label"]


def test_predictions_hold_no_formula(tmp_path: Path) -> None:
    labels = ["=1+1", "-x"]
    rows = "".join(f"{n},{labels[n % 2]}\n" for n in range(6))
    source = write(tmp_path, "data.csv", f"a,label\n{rows}")
    model, out = str(tmp_path / "m.npz"), str(tmp_path / "out.csv")
    assert CliRunner().invoke(app, ["fit", "--data", source, "--out", model, "--max-iter", "1"]).exit_code in (0, 1)
    assert CliRunner().invoke(app, ["predict", model, "--data", source, "--out", out, "--scores"]).exit_code == 0
    cells = list(csv.reader(io.StringIO(Path(out).read_text())))
    assert {row[0] for row in cells[1:]} <= {"'=1+1", "'-x"}
    assert all(float(row[1]) <= 1 for row in cells[1:])
    again = load_table(out, label="prediction").labels
    assert again is not None and set(again.tolist()) <= set(labels)


# Pipes


@pytest.mark.thorough
def test_a_report_on_a_pipe_does_not_wait(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = "import sys; from boostopt.comparison.documents import load_results; load_results(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(pipe)], capture_output=True, text=True, timeout=100)
    assert re.search("DataError: .*pipe.* no regular file", done.stderr)
