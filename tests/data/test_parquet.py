"""Data sets from parquet files: those of the same table as CSV, and nothing but a DataError where they are wrong."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pandas as pd

import boostopt.data.parquet
from boostopt import DataError, load_dataset
from boostopt.data.datasets import load_features, load_table
from boostopt.errors import OptionError

N = 12


def table(n: int = N) -> Any:
    """Numbers of several kinds, classes in words and as numbers, weights, and what is no feature."""
    k = np.arange(n)
    return pd.DataFrame(
        {
            "a": k / 4.0,
            "id": [f"r{number}" for number in k],
            "b": (k % 5).astype(np.int8),
            "label": np.where(k % 3 == 0, "yes", "no"),
            "copies": k % 4,
            "c": (-k).astype(np.float32),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The table as one file, and as twelve in a folder."""
    whole = table()
    whole.to_parquet(tmp_path / "rows.parquet")
    whole.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "parts").mkdir()
    for k in range(N):
        whole[k : k + 1].to_parquet(tmp_path / "parts" / f"part-{k}.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    (tmp_path / "parts" / "_metadata.parquet").touch()
    return tmp_path


SOURCES = ("rows.parquet", "parts", "parts/part-*.parquet")


@pytest.mark.parametrize("source", SOURCES)
def test_a_parquet_file_gives_the_table_of_a_csv_file(folder: Path, source: str) -> None:
    from_parquet, from_csv = (
        load_dataset(str(folder / name), "label", None, "copies", ["id"]) for name in (source, "rows.csv")
    )
    for name in ("X", "y", "c"):
        np.testing.assert_array_equal(getattr(from_parquet, name), getattr(from_csv, name))
    assert from_parquet.features == from_csv.features == ("a", "b", "c")


@pytest.mark.parametrize("source", SOURCES)
def test_labels_stay_as_they_are_and_features_are_found_by_name(folder: Path, source: str) -> None:
    path = str(folder / source)
    fitted = load_table(path, "label", "copies", "id")
    assert fitted.labels is not None and fitted.labels.tolist() == table()["label"].tolist()
    dataset = load_features(path, ["c", "a"], 2)
    np.testing.assert_array_equal(dataset.X, table()[["c", "a"]].to_numpy())
    assert dataset.labels is not None and dataset.labels.tolist() == fitted.labels.tolist()
    assert dataset.unread == ("id", "b", "copies")
    numbers = load_table(path, "b", None, ["id", "label"])
    assert numbers.labels is not None and numbers.labels.dtype == np.int64


def test_an_index_is_no_column_and_kinds_of_numbers_are_numbers(tmp_path: Path) -> None:
    frame = table().set_index("id").drop(columns="copies")
    frame["b"] = frame["b"].astype("Int64")
    frame["label"] = frame["label"].astype("category")
    frame["flag"] = frame["c"] < -3
    frame.to_parquet(tmp_path / "rows.parquet")
    dataset = load_dataset(str(tmp_path / "rows.parquet"))
    assert dataset.features == ("a", "b", "c", "flag") and dataset.X is not None
    np.testing.assert_array_equal(dataset.X[:, 3], frame["flag"].to_numpy(float))
    frame.assign(label=frame["flag"]).to_parquet(tmp_path / "flags.parquet")
    labels = load_table(str(tmp_path / "flags.parquet"), "label").labels
    assert labels is not None and labels.tolist() == frame["flag"].astype(int).tolist()


def test_features_without_a_class_are_enough_for_predictions(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table()[["a", "c"]].to_parquet(path)
    assert load_features(str(path), (), 2).labels is None
    blank = table()
    blank.loc[3, "label"] = None
    blank.drop(columns="id").to_parquet(path)
    dataset = load_features(str(path), (), 4)
    assert dataset.labels is not None and dataset.labels[3] == "" and dataset.X.shape == (N, 4)


def test_the_index_of_a_data_frame_is_told_by_its_name(tmp_path: Path) -> None:
    table().drop(columns="id").assign(**{"Unnamed: 0": range(N)}).to_parquet(tmp_path / "rows.parquet")
    with pytest.warns(UserWarning, match=r"'Unnamed: 0' .*--drop"):
        load_table(str(tmp_path / "rows.parquet"))


def edited(column: str, value: Any, n: int | None = 5) -> Any:
    """The table without what is no feature, with another value at row n, or everywhere."""
    frame = table().drop(columns="id")
    if n is None:
        return frame.assign(**{column: value})
    frame.loc[n, column] = value
    return frame


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "missing": (lambda: edited("a", np.nan), r", row 5: .*finite; .*nan .*'a'\. .*SimpleImputer"),
    "infinite": (lambda: edited("c", np.inf), r", row 5: .*finite; .*inf .*'c'\. Correct"),
    "blank": (lambda: edited("label", None), ", row 5: .* none .*'label'"),
    "text": (table, r"number; .*string .*'id'\. .*\bdrop="),
    "times": (lambda: edited("a", pd.Timestamp("2020-01-01"), None), r"number; .*timestamp\[.*'a'"),
    "no label": (lambda: edited("a", 0.0).drop(columns="label"), r"'label'\. .*: a, b, copies, c\. .*\blabel="),
    "one class": (lambda: edited("label", "yes", None), r"two classes.*\bone, yes\."),
    "no rows": (lambda: table(0), r"\.parquet .*\bno rows\."),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_tables_are_refused_with_a_reason(case: str, tmp_path: Path) -> None:
    make, facts = WRONG[case]
    make().to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=facts):
        load_dataset(str(tmp_path / "rows.parquet"))


def test_files_that_do_not_fit_together_are_told(folder: Path) -> None:
    part = folder / "parts" / "part-7.parquet"
    table().drop(columns="b").to_parquet(part)
    with pytest.raises(DataError, match=r"columns; .*part-0\.parquet .*part-7\.parquet .*'b'\."):
        load_dataset(str(folder / "parts"), drop="id")
    table().assign(b=table()["id"]).to_parquet(part)
    with pytest.raises(DataError, match=r"/parts: .*\bone kind\b.*: "):
        load_dataset(str(folder / "parts"), drop="id")
    part.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"part-7\.parquet .*\breadable\b.*: "):
        load_dataset(str(folder / "parts"), drop="id")


def test_missing_files_are_named(folder: Path) -> None:
    (folder / "empty").mkdir()
    for source, expected in (
        ("none.parquet", "a file or one of "),
        ("none-*.parquet", "the pattern of "),
        ("empty", "a file or a folder of "),
        ("rows.*", "a file or one of "),
    ):
        path = str(folder / source)
        with pytest.raises(DataError, match=f"^expected {expected}.*{re.escape(repr(path))}"):
            load_dataset(path)


def test_a_folder_that_cannot_be_listed_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: str) -> list[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(DataError, match=r"/parts .*: Permission denied"):
        load_dataset(str(folder / "parts"))


def test_a_file_whose_name_is_a_pattern_is_that_file(folder: Path) -> None:
    (folder / "rows.parquet").rename(folder / "rows[1].parquet")
    assert load_table(str(folder / "rows[1].parquet"), drop="id").X.shape == (N, 4)


def test_numbers_that_would_fill_the_memory_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boostopt.data.parquet, "MAX_UNPACKED_BYTES", 8 * N * 5 - 1)
    with pytest.raises(DataError, match=rf"\b479 bytes\b.*; {N} rows of 5 columns"):
        load_table(str(folder / "rows.parquet"), drop="id")


def test_a_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match=r"\bpyarrow: .*'boostopt\[dask\]'"):
        load_dataset(str(folder / "rows.parquet"))
