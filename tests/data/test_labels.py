"""Labels: typed texts stay texts, texts of a file are numbers in their usual spelling, missing ones are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker
from typer.testing import CliRunner

import boostopt.cli
from boostopt import DataError, load_dataset
from boostopt.data.class_labels import infer_label_type, is_missing, match_class, match_classes
from boostopt.data.csv_tables import BOOLEAN_TEXTS, MISSING_VALUE_TEXTS
from boostopt.data.datasets import load_features, load_table

NAMES_OF_MISSING = ("NA", "N/A", "null", "None", "?", "#N/A", "nan", "NaN", "Nan", "NULL", "na", "<NA>")


def write(folder: Path, labels: list[str], name: str = "data.csv") -> str:
    """A CSV file with these labels, and a feature."""
    path = folder / name
    path.write_text("a,label\n" + "".join(f"{n},{label}\n" for n, label in enumerate(labels)))
    return str(path)


def read(folder: Path, labels: list[str]) -> list[Any]:
    """The labels of a CSV file as they are read."""
    label_array = load_table(write(folder, labels)).labels
    assert label_array is not None
    return label_array.tolist()


def parquet(folder: Path, labels: Any) -> str:
    """The same as a parquet file with typed labels."""
    pytest.importorskip("pyarrow")
    import pandas as pd

    pd.DataFrame({"a": np.arange(len(labels)), "label": labels}).to_parquet(folder / "data.parquet")
    return str(folder / "data.parquet")


def npz(folder: Path, labels: Any) -> str:
    """The same as an npz file."""
    np.savez(folder / "data.npz", X=np.arange(len(labels))[:, np.newaxis], y=np.array(labels))
    return str(folder / "data.npz")


# Texts that look like numbers


@pytest.mark.parametrize("make", [parquet, npz])
@pytest.mark.parametrize("labels", [["1", "2", "1"], ["01", "1", "2"], ["1e3", "1000", "1"], ["True", "TRUE", "1"]])
def test_typed_texts_stay_texts(tmp_path: Path, make: Any, labels: list[str]) -> None:
    source = make(tmp_path, labels)
    label_array = load_table(source).labels
    assert label_array is not None and label_array.tolist() == labels and label_array.dtype.kind == "U"
    y = load_dataset(source, positive=labels[0]).y
    assert y is not None and y.tolist() == [1 if label == labels[0] else -1 for label in labels]


@pytest.mark.parametrize(
    "labels, expected",
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["+1", "-1"], [1, -1]),
        (["1.0", "2.0"], [1, 2]),
        (["0.5", "1", "-2.25"], [0.5, 1.0, -2.25]),
        (["01", "02"], ["01", "02"]),
        (["1e3", "2"], ["1e3", "2"]),
        (["1.50", "2"], ["1.50", "2"]),
        ([".5", "1."], [".5", "1."]),
        (["+-1", "1"], ["+-1", "1"]),
        (["0x10", "1_0"], ["0x10", "1_0"]),
        (["inf", "1"], ["inf", "1"]),
        (["\u0661", "2"], ["\u0661", "2"]),
        (["01", "x"], ["01", "x"]),
    ],
)
def test_texts_of_a_file_are_numbers_in_their_usual_spelling_alone(
    tmp_path: Path, labels: list[str], expected: list[Any]
) -> None:
    label_values = read(tmp_path, labels)
    assert label_values == expected and [type(label) for label in label_values] == [type(label) for label in expected]


@pytest.mark.parametrize(
    "labels, spellings, kind",
    [
        (["01", "1", "2"], "'01' and '1'", "number"),
        (["1e3", "1000", "2"], "'1000' and '1e3'", "number"),
        (["1", "1.0", "-1"], "'1' and '1.0'", "number"),
        (["+1", "1", "-1"], "'+1' and '1'", "number"),
        (["0.0", "-0.0", "1"], "'-0.0' and '0.0'", "number"),
        (["1", "01", "x"], "'01' and '1'", "number"),
        (["True", "TRUE", "False"], "'TRUE' and 'True'", "truth value"),
        (["true", "false", "TRUE"], "'TRUE' and 'true'", "truth value"),
    ],
)
@pytest.mark.parametrize("load", [load_table, load_dataset])
def test_two_spellings_of_one_label_are_refused(
    tmp_path: Path, load: Any, labels: list[str], spellings: str, kind: str
) -> None:
    with pytest.raises(DataError, match=rf"{re.escape(spellings)},.* {kind}\."):
        load(write(tmp_path, labels))


@pytest.mark.parametrize("words", [("TRUE", "FALSE"), ("true", "false"), ("True", "False")])
def test_truth_values_are_numbers_as_features_however_they_are_written(tmp_path: Path, words: tuple[str, str]) -> None:
    (tmp_path / "data.csv").write_text(f"a,label\n{words[0]},{words[0]}\n{words[1]},{words[1]}\n")
    data = load_dataset(str(tmp_path / "data.csv"))
    assert data.X is not None and data.X.tolist() == [[1.0], [0.0]]
    assert data.y is not None and data.y.tolist() == [1, -1] and data.classes == words[::-1]


@pytest.mark.parametrize("make", [parquet, npz])
def test_typed_truth_values_stay_truth_values(tmp_path: Path, make: Any) -> None:
    source = make(tmp_path, [True, False])
    label_array = load_table(source).labels
    assert label_array is not None and label_array.dtype == bool
    assert load_dataset(source).classes == ("False", "True")
    with typechecker.unchecked():
        for positive in (False, "False", "false", "0", 0):
            assert load_dataset(source, positive=positive).classes == ("True", "False")  # pyright: ignore[reportArgumentType]


def test_decimal_numbers_of_a_parquet_file_are_numbers(tmp_path: Path) -> None:
    from decimal import Decimal

    for labels, expected in ((["1.00", "2.00"], [1, 2]), (["0.50", "2.00"], [0.5, 2.0])):
        label_array = load_table(parquet(tmp_path, list(map(Decimal, labels)))).labels
        assert label_array is not None and label_array.tolist() == expected and label_array.dtype.kind in "if"


@pytest.mark.parametrize("seed", range(5))
def test_numbers_that_python_writes_are_read_as_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = rng.integers(-(2**63), 2**63 - 1, 20, endpoint=True) >> rng.integers(0, 63, 20)
    floats = rng.normal(size=20) * 10.0 ** rng.integers(-300, 300, 20)
    for numbers in (np.unique(whole), np.unique(floats)):
        texts = np.array(list(map(repr, numbers.tolist())), dtype=object)
        inferred = infer_label_type("it", texts, len(texts), is_typed=False)
        assert inferred.dtype == numbers.dtype and inferred.tolist() == numbers.tolist()


# Missing labels


@pytest.mark.parametrize("label", NAMES_OF_MISSING)
@pytest.mark.parametrize("load", [load_table, load_dataset])
def test_a_spelling_of_a_missing_value_is_no_class_unsaid(tmp_path: Path, load: Any, label: str) -> None:
    source = write(tmp_path, ["x", label, "y"])
    with pytest.raises(DataError, match=rf", line 3: .*; .*{re.escape(repr(label))},.*'label'"):
        load(source)
    for missing in ([], ["-"]):
        load(source, missing_values=missing, **({} if load is load_table else {"positive": "x"}))
    with pytest.raises(DataError, match=r", line 2: .*'x',.*'label'"):
        load(source, missing_values="x")


@pytest.mark.parametrize("make", [parquet, npz])
def test_a_typed_text_may_be_missing_too(tmp_path: Path, make: Any) -> None:
    """`astype(str)` writes a missing value as None."""
    source = make(tmp_path, ["x", "None", "y"])
    with pytest.raises(DataError, match=r", row 1: .*'None',.*\bmissing_values="):
        load_table(source)
    label_array = load_table(source, missing_values=()).labels
    assert label_array is not None and label_array.tolist() == ["x", "None", "y"]


def test_a_blank_label_is_missing_whatever_is_listed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r", line 3: .* none .*'label'"):
        load_table(write(tmp_path, ["x", "", "y"]), missing_values=["NA"])


@pytest.mark.parametrize("cell", NAMES_OF_MISSING)
def test_spellings_of_missing_labels_are_missing_features_too(tmp_path: Path, cell: str) -> None:
    (tmp_path / "data.csv").write_text(f"a,label\n1,0\n{cell},1\n")
    with pytest.raises(DataError, match=r", line 3: .*SimpleImputer"):
        load_dataset(str(tmp_path / "data.csv"))


def test_the_spellings_of_pandas_are_missing() -> None:
    pytest.importorskip("pandas")
    from pandas._libs.parsers import STR_NA_VALUES

    assert {text.lower() for text in STR_NA_VALUES} | {"?"} == MISSING_VALUE_TEXTS
    assert all(is_missing(text) for text in STR_NA_VALUES)


# The labels of new examples, read as the classes of a model


@pytest.mark.parametrize(
    "classes, label, expected",
    [
        (["01", "x"], "01", "01"),
        (["01", "x"], "1", None),
        (["1", "2"], 1, "1"),
        (["1", "2"], 1.0, "1"),
        (["1.0", "2.0"], 1.0, "1.0"),
        ([1, 2], "1", 1),
        ([1, 2], "01", 1),  # as models of earlier versions were fitted to it
        ([1, 2], 1.0, 1),
        ([1, 2], np.float64(1.0), 1),
        ([1, 2], "1.0", 1),
        ([1, 2], "x", None),
        ([-1, 1], "True", None),
        ([0, 1], "TRUE", 1),
        ([0, 1], True, 1),
        ([False, True], "false", False),
        ([False, True], 1, True),
        ([False, True], "1", True),
        (["FALSE", "TRUE"], "true", "TRUE"),
        (["FALSE", "TRUE"], True, "TRUE"),
        ([0.1, 0.5], "0.1", 0.1),
        ([2**53, 2**53 + 1], str(2**53 + 1), 2**53 + 1),
        (["NA", "x"], "NA", "NA"),
    ],
)
def test_a_label_is_read_as_the_classes_are(classes: list[Any], label: Any, expected: Any) -> None:
    match = match_class(label, classes)
    assert match == expected and type(match) is type(expected)


def test_labels_of_new_examples_may_be_missing_or_strange() -> None:
    labels = np.array(["NA", "x", "", "y", "NA "], dtype=object)
    assert match_classes("it", labels, ["x", "z"]) == [None, "x", None, "y", None]
    assert match_classes("it", labels, ["NA", "x"]) == ["NA", "x", None, "y", "NA"]
    assert match_classes("it", np.array([1.0, np.nan, 3.0]), [1, 2]) == [1, None, "3.0"]
    with pytest.raises(DataError, match="'01' and '1',"):
        match_classes("it", np.array(["1", "01"], dtype=object), [1, 2])


def test_every_truth_value_is_read_as_one_of_a_model(tmp_path: Path) -> None:
    for text, truth in BOOLEAN_TEXTS.items():
        source = write(tmp_path, [text])
        labels = load_features(source, (), 1).labels
        assert match_classes(source, labels, [False, True]) == [truth]


def test_predict_reads_labels_as_those_of_the_model(tmp_path: Path) -> None:
    """A file with 01 alone was read as one with the number 1, and every row counted as wrong."""

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(boostopt.cli.app, list(arguments), catch_exceptions=False)

    model, train = str(tmp_path / "m.npz"), write(tmp_path, ["01", "01", "01", "x", "x", "x"])
    assert run("fit", "--data", train, "--out", model, "--nu", "2", "--max-iter", "1").exit_code in (0, 1)
    for labels, message in (
        (["01", "01"], "^accuracy 1.0000: 2 of 2 "),
        (["1", "01"], r"^warning: .*\bno class 1: .*\naccuracy 0.5000: 1 of 2 "),
    ):
        result = run("predict", model, "--data", write(tmp_path, labels, "new.csv"))
        assert re.search(message, result.stderr)
