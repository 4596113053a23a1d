"""Data sets and answers from files: right where they are right, and nothing but a DataError where they are not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

from boostopt import DataError, Dataset, load_dataset, stump_matrix
from boostopt.data.answer_files import load_answer
from boostopt.data.datasets import load_features, load_table
from boostopt.data.source_examples import MAX_DENSE_BYTES
from boostopt.data.source_forms import SKLEARN_DATASETS

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}

SVMLIGHT = b"1 1:0.5 3:-2\n-1 2:1e1\n# a comment\n1 1:4 2:5 3:6 # another\n"
CSV = b"a,label,b\n0.5,yes,-2\n1e1,no,0\n4,yes,6\n"

X = np.array([[0.5, -2.0], [10.0, 0.0], [4.0, 6.0]])
y = np.array([1, -1, 1])
U = np.array([[1.0, -1.0], [0.5, 0.0], [-0.25, 1.0]])


def write(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def archive(**members: bytes) -> bytes:
    """A zip archive of raw members; "__" in a name stands for a dot."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "."), content)
    return out.getvalue()


def npy_header(text: str) -> bytes:
    """The beginning of an array file, with a header of one's own."""
    header = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def refused(facts: str, load: Callable[[str], object], source: str) -> None:
    """The refusal names the source, and has the facts outside this name, which holds words of the test."""
    with pytest.raises(DataError) as refusal:
        load(source)
    message, name = str(refusal.value), repr(source)[1:-1]
    assert name in message
    assert re.search(facts, message.replace(name, "")), message


# Sets by name


def test_breast_cancer_comes_by_name() -> None:
    data = load_dataset("breast_cancer")
    features, labels = sklearn.datasets.load_breast_cancer(return_X_y=True)
    assert data.name == "breast_cancer"
    assert data.X is not None and data.y is not None
    np.testing.assert_array_equal(data.X, features)
    np.testing.assert_array_equal(data.y, 2 * labels - 1)
    assert data.y.dtype == np.int8
    assert data.U is None and data.c is None and data.d0 is None
    assert repr(data) == "Dataset('breast_cancer', 569 examples, 30 features)"


@pytest.mark.parametrize(
    "name, classes",
    [
        ("iris", "3 (0 (setosa), 1 (versicolor), 2 (virginica))"),
        ("wine", "3 (0 (class_0), 1 (class_1), 2 (class_2))"),
        ("digits", "10 (0, 1, 2, 3, 4, 5, ...)"),
    ],
)
def test_a_set_of_more_classes_needs_the_positive_one(name: str, classes: str) -> None:
    refused(rf"\b{re.escape(classes)}\. .*\bpositive=", load_dataset, name)


@pytest.mark.parametrize("name, positive", [("iris", "2"), ("digits", "7"), ("wine", "0")])
def test_the_positive_class_stands_against_all_others(name: str, positive: str) -> None:
    data = load_dataset(name, positive=positive)
    labels = getattr(sklearn.datasets, f"load_{name}")().target
    assert data.y is not None
    np.testing.assert_array_equal(data.y, np.where(labels == int(positive), 1, -1))


@pytest.mark.parametrize("name, positive, q", [("iris", "versicolor", "1"), ("breast_cancer", "malignant", "0")])
def test_the_positive_class_of_a_set_may_be_given_by_its_name(name: str, positive: str, q: str) -> None:
    by_name, by_number = load_dataset(name, positive=positive), load_dataset(name, positive=q)
    assert by_name.y is not None and by_number.y is not None
    np.testing.assert_array_equal(by_name.y, by_number.y)


def test_an_unknown_class_of_a_set_is_an_error_with_the_names() -> None:
    facts = r"'setos'.*'setosa'.*: 0 \(setosa\), 1 \(versicolor\), 2 \(virginica\)\.$"
    refused(facts, partial(load_dataset, positive="setos"), "iris")


def test_a_folder_of_the_name_of_a_set_does_not_hide_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "breast_cancer").mkdir()
    assert load_dataset("breast_cancer").X is not None


def test_every_embedded_name_is_one_of_scikit_learn() -> None:
    for name in SKLEARN_DATASETS:
        assert load_dataset(name, positive="0").name == name


# svmlight


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("stem", ["data.svm", "data.txt", "data"])
def test_svmlight_is_read_plain_and_compressed(tmp_path: Path, stem: str, suffix: str) -> None:
    data = load_dataset(write(tmp_path, stem + suffix, COMPRESS[suffix](SVMLIGHT)))
    assert data.X is not None and data.y is not None
    np.testing.assert_array_equal(data.X, [[0.5, 0, -2], [0, 10, 0], [4, 5, 6]])
    np.testing.assert_array_equal(data.y, [1, -1, 1])


@pytest.mark.parametrize("text", ["1 1:1\r\n-1 1:2\r\n", "\n\n1 1:1\n\n-1 1:2", "1 qid:3 1:1\n-1 qid:4 1:2\n"])
def test_svmlight_may_have_other_line_ends_blank_lines_and_queries(tmp_path: Path, text: str) -> None:
    data = load_dataset(write(tmp_path, "data.svm", text))
    assert data.X is not None and data.y is not None
    np.testing.assert_array_equal(data.X, [[1], [2]])
    np.testing.assert_array_equal(data.y, [1, -1])


@pytest.mark.parametrize(
    "text",
    [
        b"1 1:x\n-1 1:2\n",
        b"a 1:1\nb 1:2\n",
        b"1,2 1:3\n-1 1:1\n",
        b"1;0.5\n0;0.25\n",
        b"1 -1:1\n-1 1:1\n",
        b"1 2:1 1:1\n-1 1:1\n",
        b"1 1:1 1:2\n-1 1:1\n",
        b"1 1:\n-1 1:2\n",
        b"1 :1\n-1 :2\n",
        b"1 99999999999:1\n-1 1:1\n",
        b"1 99999999999999999999999:1\n-1 1:1\n",
        b"1 1:1\x00\n-1 1:2\n",
        b"1 \xe9:1\n-1 1:2\n",
        b"\xff\xfe\x00garbage\x80\x81",
        b"a,label\n1,0\n",
    ],
)
def test_text_other_than_svmlight_is_an_error(tmp_path: Path, text: bytes) -> None:
    source = write(tmp_path, "data.svm", text)
    refused(r"svmlight.*\('label index:value \.\.\.'\): .*[^.]\.$", load_dataset, source)


@pytest.mark.parametrize("label", ["9007199254740993", "-1e300", "inf"])
def test_a_label_of_svmlight_that_float64_merges_with_others_is_an_error(tmp_path: Path, label: str) -> None:
    source = write(tmp_path, "data.svm", f"{label} 1:1\n1 1:2\n")
    refused(r"labels.*2\^53 = 9007199254740992", load_dataset, source)


@pytest.mark.parametrize(
    "labels, expected",
    [
        (["9007199254740993", "9007199254740992"], np.array([2**53 + 1, 2**53])),
        (["-9223372036854775808", "9223372036854775807"], np.array([-(2**63), 2**63 - 1])),
        (["9223372036854775808", "1"], np.array(["9223372036854775808", "1"])),
        (["1" * 400, "2" * 400], np.array(["1" * 400, "2" * 400])),
        (["1" * 5000, "2" * 5000], np.array(["1" * 5000, "2" * 5000])),
        (["1e400", "2e400"], np.array(["1e400", "2e400"])),
        (["1e9999999999999999999", "1"], np.array(["1e9999999999999999999", "1"])),
        (["9007199254740993.5", "9007199254740993.25"], np.array(["9007199254740993.5", "9007199254740993.25"])),
        (["1e+16", "0.5"], np.array([1e16, 0.5])),
        (["9007199254740993", "0.5"], np.array(["9007199254740993", "0.5"])),
        (["3", "7.0"], np.array([3, 7])),
    ],
    ids=lambda value: str(value)[:40],
)
def test_labels_that_float64_would_merge_stay_what_they_are(tmp_path: Path, labels: list[str], expected: Any) -> None:
    source = write(tmp_path, "data.csv", "a,label\n" + "".join(f"{n},{label}\n" for n, label in enumerate(labels)))
    label_array = load_table(source).labels
    assert label_array is not None and label_array.dtype.kind == expected.dtype.kind
    assert label_array.tolist() == expected.tolist()
    larger = load_dataset(source).y
    one = load_dataset(source, positive=labels[0]).y
    assert larger is not None and one is not None and set(larger.tolist()) == {-1, 1} and one.tolist() == [1, -1]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**53, 2**53 + 1]),
        np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64),
        np.array([np.longdouble("1e400"), np.longdouble("2e400")]),
        np.array([1e300, np.nextafter(1e300, np.inf)]),
    ],
    ids=["int64", "uint64", "long double", "float64"],
)
def test_numbers_of_an_array_stay_what_they_are(tmp_path: Path, labels: np.ndarray) -> None:
    source = write(tmp_path, "data.npz", npz(X=np.array([[1.0], [2.0]]), y=labels))
    label_array = load_table(source).labels
    assert label_array is not None and list(map(str, label_array)) == list(map(str, labels))
    y = load_dataset(source).y
    assert y is not None and sorted(y.tolist()) == [-1, 1]


@pytest.mark.parametrize("load", [load_dataset, load_table, lambda source: load_features(source, (), 1)])
def test_labels_that_are_complex_are_an_error(tmp_path: Path, load: Any) -> None:
    source = write(tmp_path, "data.npz", npz(X=np.array([[1.0], [2.0]]), y=np.array([1j, 2j])))
    refused(r"\by\b.*\bcomplex128\.", load, source)


@pytest.mark.parametrize("text", ["", " \n\n\t"])
@pytest.mark.parametrize("suffix", COMPRESS)
def test_empty_svmlight_is_an_error(tmp_path: Path, text: str, suffix: str) -> None:
    source = write(tmp_path, "data.svm" + suffix, COMPRESS[suffix](text.encode()))
    refused("empty.*'label index:value", load_dataset, source)


def test_svmlight_of_comments_alone_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path, "data.svm", "# nothing\n")
    refused(r"\bX\b.*got \(0, ", load_dataset, source)


def test_a_sparse_file_that_is_too_wide_is_an_error_before_memory_is_taken(tmp_path: Path) -> None:
    source = write(tmp_path, "data.svm", "1 2000000000:1\n-1 1:1\n")
    refused(rf"\(2, 2000000000\).*at most {MAX_DENSE_BYTES:,} bytes", load_dataset, source)


def test_a_sparse_file_may_take_the_most_bytes_of_a_dense_array_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path, "data.svm", "1 1:1 5:2\n-1 2:1\n")
    monkeypatch.setattr("boostopt.data.source_examples.MAX_DENSE_BYTES", 8 * 2 * 5)
    X = load_dataset(source).X
    assert X is not None and X.shape == (2, 5)
    monkeypatch.setattr("boostopt.data.source_examples.MAX_DENSE_BYTES", 8 * 2 * 5 - 1)
    refused(r"\(2, 5\).*\b79 bytes", load_dataset, source)


# CSV


@pytest.mark.parametrize("suffix", COMPRESS)
def test_csv_is_read_with_its_label_column_anywhere(tmp_path: Path, suffix: str) -> None:
    data = load_dataset(write(tmp_path, "data.csv" + suffix, COMPRESS[suffix](CSV)))
    assert data.X is not None and data.y is not None
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbflabel,a\n1,3\n0,4\n",
        b'"label","a"\n"1","3"\n"0","4"\n',
        b"label,a\r\n1,3\r\n0,4\r\n",
        b"label,a\n\n1,3\n\n0,4",
        b" label , a\n 1 , 3\n 0 , 4\n",
        b"label,a\n1.0,3\n0e5,4\n",
    ],
    ids=["byte order mark", "quoted", "line ends", "blank lines", "blanks", "numbers written otherwise"],
)
def test_csv_may_be_written_otherwise(tmp_path: Path, text: bytes) -> None:
    data = load_dataset(write(tmp_path, "data.csv", text))
    assert data.X is not None and data.y is not None
    np.testing.assert_array_equal(data.X, [[3], [4]])
    np.testing.assert_array_equal(data.y, [1, -1])


def test_a_quoted_cell_may_hold_the_separator(tmp_path: Path) -> None:
    data = load_dataset(write(tmp_path, "data.csv", 'a,"class, coded"\n1,"no, never"\n2,yes\n'), label="class, coded")
    assert data.y is not None
    np.testing.assert_array_equal(data.y, [-1, 1])


@pytest.mark.parametrize(
    "labels, expected",
    [
        (["0", "1", "0"], [-1, 1, -1]),
        (["2", "1", "2"], [1, -1, 1]),
        (["10", "9", "9"], [1, -1, -1]),  # as numbers, not as text
        (["+1", "+1", "-1"], [1, 1, -1]),  # numbers too
        (["b", "a", "b"], [1, -1, 1]),
        (["yes ", "no", " yes"], [1, -1, 1]),
        (["a", "7", "a"], [1, -1, 1]),  # text comes after numbers
    ],
)
def test_the_larger_class_is_1(tmp_path: Path, labels: list[str], expected: list[int]) -> None:
    text = "a,label\n" + "".join(f"0,{label}\n" for label in labels)
    data = load_dataset(write(tmp_path, "data.csv", text))
    assert data.y is not None
    np.testing.assert_array_equal(data.y, expected)


def test_positive_turns_two_classes_round(tmp_path: Path) -> None:
    data = load_dataset(write(tmp_path, "data.csv", CSV), positive="no")
    assert data.y is not None
    np.testing.assert_array_equal(data.y, -y)


@pytest.mark.parametrize("labels", [("-1", "3", "1"), ("-1.0", "3.0", "+1.5")])
def test_positive_is_compared_as_a_number_where_it_is_one(tmp_path: Path, labels: tuple[str, ...]) -> None:
    text = "a,label\n" + "".join(f"0,{label}\n" for label in labels)
    data = load_dataset(write(tmp_path, "data.csv", text), positive="3")
    assert data.y is not None
    np.testing.assert_array_equal(data.y, [-1, 1, -1])


def test_an_unknown_positive_class_is_an_error_with_the_near_ones(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", CSV)
    refused("'yess'.*'yes'.*: no, yes\\.", partial(load_dataset, positive="yess"), source)


def test_a_label_column_that_is_not_there_is_an_error_with_the_near_ones(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", CSV)
    refused(r"'lable'.*'label'.*: a, b, label\. .*\blabel=", partial(load_dataset, label="lable"), source)


def test_names_with_commas_or_spaces_are_listed_in_quotes(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", '"blood pressure, systolic",age,"a b"\n1,2,3\n')
    # No name is near "label": "age" is not meant, and nothing stands between the name and the list.
    refused(r"'label'\. \w+: 'blood pressure, systolic', age, 'a b'\. .*\blabel=", load_dataset, source)


@pytest.mark.parametrize(
    "drop",
    [["blood pressure, systolic", "id,day"], ["id", " blood pressure, systolic ", "day"]],
    ids=["names with commas between", "each by itself"],
)
def test_columns_to_drop_are_names_or_names_with_commas_between(tmp_path: Path, drop: list[str]) -> None:
    source = write(tmp_path, "data.csv", '"blood pressure, systolic",id,a,day,label\nx,P1,1,Mo,0\ny,P2,2,Tu,1\n')
    assert load_dataset(source, drop=drop).features == ("a",)
    assert load_table(source, drop=drop).features == ("a",)
    refused("'blood pressure'.*\\bdrop=", partial(load_dataset, drop=["blood pressure, systoli"]), source)


@pytest.mark.parametrize("sign, name", [(";", "semicolons"), ("\t", "tabs")])
@pytest.mark.parametrize(
    "header, row, facts",
    [
        ("a|b|label", "1|2|0", "'label'"),
        ("a|b|c|d,label", "1|2|3|0", "^, line 2: .*2 cells.* 1\\."),
        ("a|b, c|d|label", "1|2|3|0", "'label'"),
        ("a|b|label", "1,5|2|0", "'label'"),
        ('"a"|"b"|label', "1|2|0", "^, line 1: .*',' expected"),
    ],
    ids=["label", "cells", "label with comma", "decimal comma", "quotes"],
)
def test_cells_that_something_else_separates_are_an_error_that_says_so(
    tmp_path: Path, sign: str, name: str, header: str, row: str, facts: str
) -> None:
    source = write(tmp_path, "data.csv", f"{header}\n{row}\n".replace("|", sign))
    renamed = r".* \.tsv" if sign == "\t" else ""
    refused(rf"{facts}.*\bcommas;.*\b{name}\..* commas{renamed}\.$", load_dataset, source)


def test_columns_that_a_model_lacks_may_be_there_with_other_separators(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "a;b\n1;2\n")
    refused("'a', 'b'.*commas;.*semicolons", lambda source: load_features(source, ["a", "b"], 2), source)


def test_a_label_column_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    # Taking one of them would leave the answer among the features.
    source = write(tmp_path, "data.csv", "a,label,label\n1,0,0\n2,1,1\n")
    refused("2 columns 'label'", load_dataset, source)


@pytest.mark.parametrize("load", [load_dataset, load_table])
def test_two_features_of_one_name_are_an_error_but_where_they_are_left_out(tmp_path: Path, load: Any) -> None:
    source = write(tmp_path, "data.csv", "a,a,b,label\n1,2,3,0\n3,4,5,1\n")
    refused("2 columns 'a'", load, source)
    assert load(source, drop=["a"]).features == ("b",)


@pytest.mark.parametrize(
    "text, line, cells",
    [("a,label\n1,0\n2,1,3\n", 3, 3), ("a,b,label\n1,0\n", 2, 2), ("a,label\n\n\n1,0\n2\n", 5, 1)],
)
def test_a_ragged_row_is_an_error_with_its_line(tmp_path: Path, text: str, line: int, cells: int) -> None:
    source = write(tmp_path, "data.csv", text)
    columns = text.partition("\n")[0].count(",") + 1
    refused(rf"^, line {line}: .*\b{columns} cells.*got {cells}\.", load_dataset, source)


@pytest.mark.parametrize(
    "text, line, cell",
    [
        ("a,label\n1,0\nx,1\n", 3, "'x'"),
        ("a,label\n\n1,0\n\n\nx,1\n", 6, "'x'"),
        ('a,label\n"1\n",0\nx,1\n', 4, "'x'"),
        ('a,label\n1,0\n"2,5",1\n', 3, "'2,5'"),
        ("a,label\n1\x00,0\n2,1\n", 2, r"'1\x00'"),
    ],
    ids=["text", "after blank lines", "after a cell of two lines", "decimal comma", "NUL"],
)
def test_a_cell_that_is_no_number_is_an_error_with_the_line_an_editor_shows(
    tmp_path: Path, text: str, line: int, cell: str
) -> None:
    source = write(tmp_path, "data.csv", text)
    refused(rf"^, line {line}: .*'label'.*number;.*: {re.escape(cell)} .*'a'", load_dataset, source)


@pytest.mark.parametrize(
    "text",
    [
        b"a,label\n\xe9,0\n2,1\n",
        "a,label\n1,0\n".encode("utf-16"),
    ],
    ids=["Latin-1", "UTF-16"],
)
def test_text_other_than_utf_8_is_an_error(tmp_path: Path, text: bytes) -> None:
    source = write(tmp_path, "data.csv", text)
    refused("CSV.*UTF-8: ", load_dataset, source)


@pytest.mark.parametrize(
    "text, line, why",
    [
        (b'a,label\n"1,0\n2,1\n', 3, "end of data"),
        (b'a,label\n"1"x,0\n', 2, "',' expected"),
        (b"a,label\n1,0\n" + b"1" * 200_000 + b",0\n", 3, "131072"),
    ],
    ids=["open quote", "text after a quote", "endless cell"],
)
def test_text_other_than_csv_is_an_error_with_its_line(tmp_path: Path, text: bytes, line: int, why: str) -> None:
    source = write(tmp_path, "data.csv", text)
    refused(f"^, line {line}: .*CSV.*{why}", load_dataset, source)


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_csv_is_an_error(tmp_path: Path, text: str) -> None:
    source = write(tmp_path, "data.csv", text)
    refused("empty.*header", load_dataset, source)


def test_a_header_alone_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "a,label\n")
    refused("header.*no rows", load_dataset, source)


def test_a_label_column_alone_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "label\n0\n1\n")
    refused(r"\bX\b.*got \(2, 0\) of float64", load_dataset, source)


IMPUTE = "It is a missing value: impute it (scikit-learn's SimpleImputer), or leave the row out."


@pytest.mark.parametrize(
    "cell, fact, remedy",
    [
        ("", "there is none in column 'b'.", IMPUTE),
        ("  ", "there is none in column 'b'.", IMPUTE),
        ("NA", "could not convert string to float: 'NA' in column 'b'.", IMPUTE),
        ("?", "could not convert string to float: '?' in column 'b'.", IMPUTE),
        ("red", "could not convert string to float: 'red' in column 'b'.", "Encode it, or leave it out with drop=..."),
    ],
)
def test_a_missing_value_is_to_be_imputed_and_text_to_be_encoded(
    tmp_path: Path, cell: str, fact: str, remedy: str
) -> None:
    """The one test here of whole sentences: what was expected, what came, and what to do."""
    source = write(tmp_path, "data.csv", f"a,b,label\n1,2,0\n3,{cell},1\n")
    expected = f", line 3: every column but 'label' must be a number; {fact} {remedy}"
    refused(f"^{re.escape(expected)}$", load_dataset, source)


def test_further_columns_without_a_number_are_named(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "a,b,c,d,label\n1,2,red,,0\n")
    refused(r"'red' in column 'c', and no number in 'd' either\. Encode it", load_dataset, source)
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [1, 2], "d": ["x", "y"], "label": [0, 1]})
    table.to_parquet(tmp_path / "data.parquet")
    refused(
        r"string in column 'b', and no number in 'd' either\. Encode it", load_dataset, str(tmp_path / "data.parquet")
    )


@pytest.mark.parametrize(
    "value, number_text", [("nan", "nan"), ("inf", "inf"), ("-Infinity", "-inf"), ("1e999", "inf")]
)
def test_a_feature_that_is_not_finite_is_an_error_with_its_place(tmp_path: Path, value: str, number_text: str) -> None:
    source = write(tmp_path, "data.csv", f"a,b,label\n1,2,0\n\n3,{value},1\n")
    remedy = "SimpleImputer" if number_text == "nan" else "Correct"
    refused(rf"^, line 4: .*'label'.*finite; got {number_text} .*'b'\. .*\b{remedy}\b", load_dataset, source)
    arrays = write(tmp_path, "data.npz", npz(X=np.array([[1.0, 2.0], [3.0, float(value)]]), y=np.array([0, 1])))
    refused(rf"finite; got {number_text} at row 1, feature 1\.", load_dataset, arrays)


@pytest.mark.parametrize(
    "labels, classes",
    [(["a", "b", "c"], "3 (a, b, c)"), (["1", "b", "0"], "3 (0, 1, b)")],
)
def test_other_than_two_classes_are_an_error(tmp_path: Path, labels: list[str], classes: str) -> None:
    source = write(tmp_path, "data.csv", "a,label\n" + "".join(f"0,{label}\n" for label in labels))
    refused(rf"\b{re.escape(classes)}\. .*\bpositive=", load_dataset, source)


def test_a_positive_class_without_others_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "a,label\n1,x\n2,x\n")
    for positive in ("x", None):
        refused(r"two classes.*\bone, x\.", partial(load_dataset, positive=positive), source)


def test_the_column_of_the_classes_or_of_the_weights_is_not_dropped(tmp_path: Path) -> None:
    source = write(tmp_path, "data.csv", "a,w,label\n1,1,x\n2,1,y\n")
    refused(r"'label'.*\bclasses,.*\bdrop=", partial(load_dataset, drop="label"), source)
    refused(r"'w'.*\bweights,.*\bdrop=", partial(load_dataset, weights="w", drop="w"), source)


@pytest.mark.parametrize("name", ["table.xlsx", "table.ODS"])
def test_a_spreadsheet_is_refused_with_the_way_out(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04")
    refused(r"a spreadsheet\..*\bCSV\b", load_dataset, str(path))


def test_one_array_of_numpy_is_no_svmlight_text(tmp_path: Path) -> None:
    np.save(tmp_path / "U.npy", np.eye(3))
    refused(r"one array of NumPy;.*np\.savez", load_dataset, str(tmp_path / "U.npy"))


@pytest.mark.parametrize("label", ["", "  "])
@pytest.mark.parametrize("positive", [None, "1"])
def test_a_missing_label_is_no_class(tmp_path: Path, label: str, positive: str | None) -> None:
    source = write(tmp_path, "data.csv", f"a,label\n1,1\n2,{label}\n")
    refused("^, line 3: .* none .*'label'", partial(load_dataset, positive=positive), source)


# Weights in a column


@pytest.mark.parametrize(
    "text",
    [
        b"a,label,b,times\n0.5,yes,-2,1\n10,no,0,2.5\n4,yes,6,3\n",
        b"times,a,b,label\n1,0.5,-2,yes\n2.5,10,0,no\n3,4,6,yes\n",
        b"a,times,label,b\n0.5,1,yes,-2\n10,2.5,no,0\n4,3,yes,6\n",
    ],
    ids=["last", "first", "beside the label"],
)
def test_a_column_of_csv_may_hold_the_weights_and_is_no_feature_then(tmp_path: Path, text: bytes) -> None:
    source = write(tmp_path, "data.csv", text)
    data = load_dataset(source, weights="times")
    np.testing.assert_array_equal(data.c, [1.0, 2.5, 3.0])
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    plain = load_dataset(source)
    assert plain.c is None and plain.X is not None and plain.X.shape == (3, 3)


@pytest.mark.parametrize(
    "name, content, weights, facts",
    [
        ("a.csv", CSV, "c", r"'c'\. .*: a, b, label\. .*\bweights="),
        ("a.csv", CSV, "label", "weights; .*'label'"),
        ("a.csv", b"a,c,c,label\n1,1,1,x\n2,1,1,y\n", "c", "2 columns 'c'"),
        ("a.csv", b"a,c,label\n1,,x\n2,1,y\n", "c", "^, line 2: .*'label'.* 'c'"),
        ("a.svm", SVMLIGHT, "c", r"CSV.*\bweights="),
        ("a.npz", npz(X=X, y=y), "c", r"CSV.*\bweights=.* npz .* c\.$"),
    ],
    ids=["unknown", "the classes", "twice", "blank", "svmlight", "npz"],
)
def test_weights_that_are_in_no_column_are_an_error(
    tmp_path: Path, name: str, content: bytes, weights: str, facts: str
) -> None:
    source = write(tmp_path, name, content)
    refused(facts, partial(load_dataset, weights=weights), source)


def test_the_embedded_sets_have_no_column_of_weights() -> None:
    refused(r"CSV or parquet .*\bweights=", partial(load_dataset, weights="c"), "breast_cancer")


# npz


@pytest.mark.parametrize(
    "labels, positive",
    [
        (y, None),
        (y > 0, None),
        (y.astype(float), "1"),
        (np.array([7, 3, 7], dtype=np.uint8), "7"),
        (np.array(["yes", "no", "yes"]), "yes"),
        (np.array([b"a", b"b", b"a"]), "a"),
    ],
    ids=["int", "bool", "float", "unsigned", "text", "bytes"],
)
def test_npz_holds_features_and_labels_of_any_type(tmp_path: Path, labels: np.ndarray, positive: str | None) -> None:
    data = load_dataset(write(tmp_path, "data.npz", npz(X=X.astype(np.float32), y=labels)), positive=positive)
    assert data.X is not None and data.y is not None
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.c is None and data.d0 is None


def test_npz_may_hold_multiplicities_and_a_reference_distribution(tmp_path: Path) -> None:
    c, d0 = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25, 0.25])
    for content in (npz(X=X, y=y, c=c, d0=d0), npz(U=U, c=c, d0=d0)):
        data = load_dataset(write(tmp_path, "data.npz", content))
        np.testing.assert_array_equal(data.c, c)
        np.testing.assert_array_equal(data.d0, d0)


def test_a_margin_matrix_is_taken_as_it_is(tmp_path: Path) -> None:
    data = load_dataset(write(tmp_path, "data.npz", npz(U=U)))
    assert data.X is None and data.y is None and data.c is None and data.d0 is None
    np.testing.assert_array_equal(data.margin_matrix(1, 0), U)


def test_features_become_the_margins_of_stumps(tmp_path: Path) -> None:
    data = load_dataset(write(tmp_path, "data.npz", npz(X=X, y=y)))
    np.testing.assert_array_equal(data.margin_matrix(3, 4), stump_matrix(X, y, 3, 4))


def test_a_data_set_of_neither_has_no_margin_matrix() -> None:
    with pytest.raises(DataError, match=r"^mine\b.*\bX\b.*\by\b.*\bU\b"):
        Dataset("mine", X=X).margin_matrix(3, 0)


@pytest.mark.parametrize("suffix, members", [("compressed", {"X": X, "y": y}), ("with more", {"X": X, "y": y, "z": U})])
def test_npz_may_be_compressed_and_hold_more(tmp_path: Path, suffix: str, members: dict[str, Any]) -> None:
    out = io.BytesIO()
    np.savez_compressed(out, **members)
    data = load_dataset(write(tmp_path, "data.npz", out.getvalue()))
    assert data.X is not None
    np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize(
    "arrays, unread",
    [
        ({"X": X, "y": y, "c": np.ones(3), "d0": np.ones(3)}, ()),
        ({"X": X, "y": y, "C": np.ones(3), "D0": np.ones(3)}, ("C", "D0")),
        ({"U": U, "X": X, "y": y, "c": np.ones(3)}, ("X", "y")),
        ({"U": U, "weights": np.ones(3)}, ("weights",)),
    ],
)
def test_arrays_that_nothing_reads_are_named(tmp_path: Path, arrays: dict[str, Any], unread: tuple[str, ...]) -> None:
    assert load_dataset(write(tmp_path, "data.npz", npz(**arrays))).unread == unread


@pytest.mark.parametrize(
    "content, names",
    [
        (npz(), "none"),
        (npz(X=X), "X"),
        (npz(y=y, data=X), "y, data"),
        (archive(X=b"no array", y=b"no array"), "none"),
        (archive(U=b"no array", a__txt=b""), "none"),
        (archive(U__npy=b""), "none"),
    ],
    ids=["empty", "no labels", "other names", "bytes for X", "bytes for U", "nothing for U"],
)
def test_npz_without_the_arrays_is_an_error_that_says_what_there_is(tmp_path: Path, content: bytes, names: str) -> None:
    source = write(tmp_path, "data.npz", content)
    refused(rf"\bX\b.*\by\b.*\bU; .* {names}\.$", load_dataset, source)


@pytest.mark.parametrize(
    "features, array_text",
    [
        (np.float64(3.0), "() of float64"),
        (np.zeros(3), "(3,) of float64"),
        (np.zeros((0, 2)), "(0, 2) of float64"),
        (np.zeros((3, 0)), "(3, 0) of float64"),
        (np.zeros((3, 1, 1)), "(3, 1, 1) of float64"),
        (X.astype(complex), "(3, 2) of complex128"),
        (X.astype("U4"), "(3, 2) of <U4"),
        (X.astype("M8[s]"), "(3, 2) of datetime64[s]"),
    ],
)
def test_features_of_a_wrong_shape_or_type_are_an_error(tmp_path: Path, features: np.ndarray, array_text: str) -> None:
    source = write(tmp_path, "data.npz", npz(X=features, y=y))
    refused(rf"\bX\b.*got {re.escape(array_text)}\.", load_dataset, source)


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="no float is longer than float64 here")
def test_a_feature_that_float64_cannot_hold_is_not_finite(tmp_path: Path) -> None:
    huge = X.astype(np.longdouble)
    huge[1, 0] = np.longdouble("1e4000")
    source = write(tmp_path, "data.npz", npz(X=huge, y=y))
    refused(r"finite; got inf at row 1, feature 0\.", load_dataset, source)


@pytest.mark.parametrize("labels", [y[:2], np.float64(1.0), y[:, np.newaxis], np.zeros(0), np.ones(4)])
def test_other_than_one_label_for_each_example_is_an_error(tmp_path: Path, labels: np.ndarray) -> None:
    source = write(tmp_path, "data.npz", npz(X=X, y=labels))
    refused(rf"\blabel\b.*\b3\b.*got shape {re.escape(str(labels.shape))}\.", load_dataset, source)


@pytest.mark.parametrize("labels", [[np.nan, 1, 1], [np.nan, 0, 1], [np.nan] * 3])
def test_a_label_that_is_nan_is_no_class(tmp_path: Path, labels: list[float]) -> None:
    source = write(tmp_path, "data.npz", npz(X=X, y=np.array(labels)))
    refused(r"^, row 0: .*\blabel; .* none\.", load_dataset, source)


@pytest.mark.parametrize("matrix", [np.float64(1.0), np.zeros(3), np.zeros((2, 2, 2))])
def test_a_margin_matrix_that_is_none_is_an_error(tmp_path: Path, matrix: np.ndarray) -> None:
    source = write(tmp_path, "data.npz", npz(U=matrix))
    refused(rf"\bU\b.*got {re.escape(str(matrix.shape))}\.", load_dataset, source)


@pytest.mark.parametrize("name", ["c", "d0"])
@pytest.mark.parametrize(
    "values", [np.float64(2.0), np.ones(2), np.ones((3, 1)), np.array(["a"] * 3), np.ones(3, complex)]
)
@pytest.mark.parametrize("rest", [{"U": U}, {"X": X, "y": y}], ids=["U", "X and y"])
def test_weights_other_than_one_number_for_each_example_are_an_error(
    tmp_path: Path, name: str, values: np.ndarray, rest: dict[str, Any]
) -> None:
    source = write(tmp_path, "data.npz", npz(**{name: values}, **rest))
    array_text = re.escape(f"{values.shape} of {values.dtype}.")
    refused(rf"^: {name} .*\(3,\); got {array_text}", load_dataset, source)


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.mark,)


def pickled(mark: Path) -> dict[str, bytes]:
    bomb = np.empty((1, 1), dtype=object)
    bomb[0, 0] = Bomb(mark)
    buffer = io.BytesIO()
    np.save(buffer, bomb, allow_pickle=True)
    return {"in npz": npz(U=bomb), "in npy": buffer.getvalue(), "bare": pickle.dumps(Bomb(mark))}


@pytest.mark.parametrize("form", ["in npz", "in npy", "bare"])
@pytest.mark.parametrize("load", [load_dataset, load_answer])
def test_pickled_objects_are_never_loaded(tmp_path: Path, load: Callable[[str], object], form: str) -> None:
    mark = tmp_path / "exploded"
    source = write(tmp_path, "data.npz", pickled(mark)[form])
    refused("(not an npz file,|plain arrays: )", load, source)
    assert not mark.exists()


def test_the_bomb_of_the_test_above_would_go_off(tmp_path: Path) -> None:
    mark = tmp_path / "exploded"
    with np.load(write(tmp_path, "data.npz", pickled(mark)["in npz"]), allow_pickle=True) as file:
        file["U"]
    assert mark.exists()


def array_alone() -> bytes:
    out = io.BytesIO()
    np.save(out, U)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage" * 50, npz(X=X, y=y)[:-10], npz(X=X, y=y)[:100], array_alone()],
    ids=["empty", "garbage", "truncated", "cut short", "an array alone"],
)
@pytest.mark.parametrize("load", [load_dataset, load_answer])
def test_content_other_than_npz_is_an_error(tmp_path: Path, load: Callable[[str], object], content: bytes) -> None:
    source = write(tmp_path, "data.npz", content)
    refused(r"not an npz file,.*np\.savez", load, source)


def flipped(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :]


@pytest.mark.parametrize(
    "content",
    [
        flipped(npz(U=U), npz(U=U).index(U.tobytes())),
        npz(U=np.array([[None]])),
        archive(U__npy=b"\x93NUMPY\x01\x00"),
        archive(U__npy=b"\x93NUMPY\x09\x00aa"),
        archive(U__npy=npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3)}")),
        archive(U__npy=npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000000, 100)}")),
        archive(U__npy=npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000000000000, 1)}")),
        archive(U__npy=npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 1)}")),
        archive(U__npy=npy_header("{'descr': 'zzz', 'fortran_order': False, 'shape': (1, 1)}")),
        archive(U__npy=npy_header("{'descr': '<f8'")),
        archive(U__npy=npy_header("{[]: 1}")),
        archive(U__npy=npy_header("()")),
        archive(U__npy=npy_header("1" * 20_000)),
        array_alone() + npz(U=U),
    ],
    ids=[
        "checksum",
        "objects",
        "half a header",
        "unknown version",
        "no data",
        "more than memory",
        "more than an index",
        "negative",
        "unknown type",
        "unfinished",
        "unhashable",
        "no dictionary",
        "endless",
        "an array before it",
    ],
)
def test_damaged_npz_is_an_error(tmp_path: Path, content: bytes) -> None:
    source = write(tmp_path, "data.npz", content)
    refused("plain arrays: .", load_dataset, source)


# Files that are not there, are cut short or are something else


@pytest.mark.parametrize(
    "source, similar_name",
    [
        ("breast_cancr", "breast_cancer"),
        ("zzz", None),
        ("", None),
        ("no/such/data.csv", None),
        ("breast_cancer.csv", None),
        ("data.npz", None),
        ("nul\0.csv", None),
        ("x" * 5000, None),
        ("x" * 300 + ".csv", None),
    ],
    ids=["near a name", "no name", "empty name", "csv", "name with a suffix", "npz", "NUL", "endless", "too long"],
)
def test_missing_data_sets_are_errors_that_say_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, similar_name: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    hint = "[^']* path" if similar_name is None else f"[^']* '{similar_name}'"
    refused(f" breast_cancer, digits, iris, wine; .* ''\\. {hint}[.?]$", load_dataset, source)


@pytest.mark.parametrize("name", ["folder", "folder.csv", "folder.npz", "folder.svm.gz"])
def test_a_folder_is_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    refused("folder of parquet files; '' ", load_dataset, str(tmp_path / name))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("stem, content", [("data.svm", SVMLIGHT * 20), ("data.csv", CSV)])
def test_a_compressed_file_that_is_cut_short_or_damaged_is_an_error(
    tmp_path: Path, stem: str, content: bytes, suffix: str
) -> None:
    whole = COMPRESS[suffix](content)
    for damaged in (whole[:-6], whole[: len(whole) // 2], whole[:5], b"not compressed at all", b"\0" * 40):
        source = write(tmp_path, stem + suffix, damaged)
        refused("truncated: .", load_dataset, source)


@pytest.mark.thorough
def test_no_damage_to_a_file_escapes_as_anything_else(tmp_path: Path) -> None:
    """Bytes changed, dropped and added at random: a data set of two classes, or a DataError."""
    rng = np.random.default_rng(0)
    compressed = io.BytesIO()
    np.savez_compressed(compressed, U=U, c=np.ones(3))
    samples = {
        "data.npz": npz(X=X, y=y, c=np.ones(3)),
        "small.npz": compressed.getvalue(),
        "data.csv": CSV,
        "data.svm": SVMLIGHT,
        "data.csv.gz": gzip.compress(CSV),
        "data.svm.xz": lzma.compress(SVMLIGHT),
        "data.svm.bz2": bz2.compress(SVMLIGHT),
    }
    outcomes = {"loaded": 0, "refused": 0}
    for name, content in samples.items():
        for _ in range(300):
            damaged = bytearray(content)
            for _ in range(int(rng.integers(1, 4))):
                position, byte = int(rng.integers(len(damaged))), int(rng.integers(256))
                match int(rng.integers(4)):
                    case 0:
                        del damaged[position]
                    case 1:
                        damaged.insert(position, b'0123456789:,.-+e" \n\0'[byte % 20])
                    case _:
                        damaged[position] = byte
            try:
                data = load_dataset(write(tmp_path, name, bytes(damaged)))
            except DataError:
                outcomes["refused"] += 1
                continue
            outcomes["loaded"] += 1
            if data.U is None:
                assert data.X is not None and data.y is not None
                assert np.isfinite(data.X).all()
                assert set(data.y.tolist()) == {-1, 1}
    assert min(outcomes.values()) > 100, outcomes  # both happen, or the damage is not what it should be


# Answers


def test_an_answer_comes_from_npz(tmp_path: Path) -> None:
    d, w = np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0])
    answer = load_answer(write(tmp_path, "answer.npz", npz(d=d, w=w, status=np.array("optimal"))))
    np.testing.assert_array_equal(answer.d, d)
    np.testing.assert_array_equal(answer.w, w)
    assert answer.unread == ("status",)
    half = load_answer(write(tmp_path, "half.npz", npz(w=w)))
    assert half.d is None and half.unread == ()


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    "text, d, w",
    [
        ("d,w\n0.5,1\n0.25,0\n0.25,\n", [0.5, 0.25, 0.25], [1.0, 0.0]),
        ("w,d\n1,0.5\n0,0.5\n0, \n,\n", [0.5, 0.5], [1.0, 0.0, 0.0]),
        ("name,d\nfirst,0.5\nsecond,0.5\n", [0.5, 0.5], None),
        ("w\n1e0\n-2\n+.5\n", None, [1.0, -2.0, 0.5]),
    ],
    ids=["w shorter", "d shorter", "other columns", "raw numbers"],
)
def test_an_answer_comes_from_csv(
    tmp_path: Path, text: str, d: list[float] | None, w: list[float] | None, suffix: str
) -> None:
    answer = load_answer(write(tmp_path, "answer.csv" + suffix, COMPRESS[suffix](text.encode())))
    for weights, expected in ((answer.d, d), (answer.w, w)):
        assert (weights is None) == (expected is None)
        if expected is not None:
            np.testing.assert_array_equal(weights, expected)


@pytest.mark.parametrize(
    "name, content, weights, facts",
    [
        ("answer.npz", npz(d=np.array([0.5, np.nan, np.inf])), "d", "nan at (1), 2"),
        ("answer.npz", npz(d=np.ones(2), w=np.array([-np.inf])), "w", "-inf at (0), 1"),
        ("answer.npz", npz(w=np.array([[1.0, np.nan]])), "w", "nan at (0, 1), 1"),
        ("answer.csv", b"d,w\n1,0.5\ninf,0.5\n", "d", "inf at (1), 1"),
    ],
    ids=["d", "w", "a matrix", "csv"],
)
def test_an_answer_that_is_not_finite_is_an_error(
    tmp_path: Path, name: str, content: bytes, weights: str, facts: str
) -> None:
    source = write(tmp_path, name, content)
    refused(rf"^: {weights} .*finite; got {re.escape(facts)}\b", load_answer, source)


@pytest.mark.parametrize("name", ["answer.csv", "answer.npz", "answer", "x" * 5000, "nul\0.npz"])
def test_an_answer_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    refused("file of an .*; .* ''", load_answer, name)


@pytest.mark.parametrize("name", ["answer.json.gz", "answer"])
def test_an_answer_of_another_kind_is_an_error(tmp_path: Path, name: str) -> None:
    source = write(tmp_path, name, "d\n1\n")
    refused(r"\.npz, \.csv, \.sol or \.txt; got ''", load_answer, source)


@pytest.mark.parametrize(
    "name, content, names",
    [
        ("answer.csv", b"x,y\n1,2\n", "x, y"),
        ("answer.npz", npz(weights=U), "weights"),
        ("answer.npz", npz(), "nothing"),
        ("answer.npz", archive(d=b"no array"), "nothing"),
    ],
)
def test_an_answer_without_weights_is_an_error_that_says_what_there_is(
    tmp_path: Path, name: str, content: bytes, names: str
) -> None:
    source = write(tmp_path, name, content)
    refused(rf"\bd, w\b.*; .* {names}\.$", load_answer, source)


@pytest.mark.parametrize(
    "text, name, cell", [("d,w\n1,2\nx,3\n", "d", "'x'"), ("d,w\n1,\n2,3\n", "w", "''"), ("w\n1;2\n", "w", "'1;2'")]
)
def test_a_weight_that_is_no_number_is_an_error(tmp_path: Path, text: str, name: str, cell: str) -> None:
    source = write(tmp_path, "answer.csv", text)
    refused(f"column {name!r} .*numbers; .*: {cell}", load_answer, source)


def test_a_column_of_weights_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path, "answer.csv", "d,w,d\n1,1,2\n")
    refused("2 columns 'd'", load_answer, source)


def test_an_empty_answer_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path, "answer.csv", "")
    refused("empty.*header", load_answer, source)
