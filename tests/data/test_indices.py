"""Indices of svmlight text: whether they begin with 0 or 1 belongs to the model and the data set."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import boostopt.cli
from boostopt import DataError, load_dataset
from boostopt.data.datasets import load_features, load_table
from boostopt.estimators import MarginBoostClassifier

WITH_0 = "1 0:1 1:0.5 2:3\n-1 0:-1 1:0.25\n1 0:2 2:1\n-1 0:-2 2:2\n"
"""Index 0 decides the class, and occurs."""

WITHOUT_0 = "1 1:0.5 2:3\n-1 1:2\n"
"""New examples in the same indices, of which 0 does not occur; one-based, they would look like columns 0 and 1."""


def write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(boostopt.cli.app, [str(argument) for argument in arguments], catch_exceptions=False)


def fit(folder: Path, data: str, *options: str) -> str:
    """A model file that was fitted to data."""
    model = str(folder / "m.npz")
    result = run("fit", "--data", data, "--out", model, "--nu", "1.0", "--max-iter", "2", *options)
    assert result.exit_code in (0, 1), result.stderr
    return model


# The data set


@pytest.mark.parametrize("load", [load_dataset, load_table])
@pytest.mark.parametrize(
    "text, zero_based, expected, names",
    [
        ("1 0:1\n-1 2:3\n", None, [[1, 0, 0], [0, 0, 3]], (0, 1, 2)),
        ("1 1:1\n-1 2:3\n", None, [[1, 0], [0, 3]], (1, 2)),
        ("1 1:1\n-1 2:3\n", True, [[0, 1, 0], [0, 0, 3]], (0, 1, 2)),
        ("1 1:1\n-1 2:3\n", False, [[1, 0], [0, 3]], (1, 2)),
        ("1 0:1\n-1 2:3\n", True, [[1, 0, 0], [0, 0, 3]], (0, 1, 2)),
        ("1 0:0\n-1 2:3\n", None, [[0, 0, 0], [0, 0, 3]], (0, 1, 2)),
    ],
)
def test_indices_begin_with_0_if_it_occurs_or_is_said(
    tmp_path: Path, load: Any, text: str, zero_based: bool | None, expected: Any, names: tuple[int, ...]
) -> None:
    data = load(write(tmp_path, "a.svm", text), zero_based=zero_based)
    assert data.X.tolist() == expected
    assert data.zero_based is (names[0] == 0)
    assert data.features == tuple(f"feature {index}" for index in names)


def test_an_index_0_in_one_based_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\bindex 1; .*\b0\. .*\bzero_based=True"):
        load_dataset(write(tmp_path, "a.svm", WITH_0), zero_based=False)


@pytest.mark.parametrize("name", ["wine", "a.csv", "a.npz"])
@pytest.mark.parametrize("load", [load_dataset, load_table])
def test_sources_without_indices_do_not_take_their_beginning(tmp_path: Path, load: Any, name: str) -> None:
    write(tmp_path, "a.csv", "a,label\n1,0\n2,1\n")
    np.savez(tmp_path / "a.npz", X=[[1.0], [2.0]], y=[0, 1])
    with pytest.raises(DataError, match=r"svmlight text .*\bzero_based="):
        load(name if name == "wine" else str(tmp_path / name), zero_based=True)
    assert load_table(str(tmp_path / "a.npz")).zero_based is None


# The model


def test_new_examples_are_read_by_the_indices_of_the_model(tmp_path: Path) -> None:
    """Read one column off, both rows were called 1."""
    model = fit(tmp_path, write(tmp_path, "train.svm", WITH_0))
    new = write(tmp_path, "new.svm", "1 1:0.5 2:3\n-1 1:2\n")
    result = run("predict", model, "--data", new, "--scores")
    loaded: Any = MarginBoostClassifier.load(model)
    expected = loaded.decision_function(np.array([[0, 0.5, 3], [0, 2, 0]]))
    assert [float(line.split(",")[1]) for line in result.stdout.splitlines()[1:]] == expected.tolist()
    assert "accuracy" in result.stderr and "warning" not in result.stderr
    assert loaded.zero_based_ is True
    assert run("predict", model, "--data", new, "--scores", "--zero-based").stdout == result.stdout


def test_a_test_file_that_lacks_index_0_keeps_its_accuracy(tmp_path: Path) -> None:
    """The last of three features decides: one column off, it is the second one, which says the opposite."""
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(30) < 0.5, 1, -1)
    rows = [f"{y} 1:{-y} 2:{y}\n" for y in signs]
    model = fit(tmp_path, write(tmp_path, "train.svm", "1 0:1 1:-1 2:1\n" + "".join(rows)))
    result = run("predict", model, "--data", write(tmp_path, "test.svm", "".join(rows)))
    assert "accuracy 1.0000: 30 of 30 " in result.stderr


def test_guesses_that_differ_are_refused(tmp_path: Path) -> None:
    """Nothing in the training examples shows that their indices begin with 0; the new ones do."""
    model = fit(tmp_path, write(tmp_path, "train.svm", "1 1:1 2:3\n-1 1:-1\n-1 1:-2 2:3\n"))
    loaded: Any = MarginBoostClassifier.load(model)
    assert loaded.zero_based_ is False
    new = write(tmp_path, "new.svm", "1 0:1 1:2\n")
    result = run("predict", model, "--data", new)
    assert result.exit_code == 2 and re.search(r"\bindex 1; .*\b0\.", result.stderr)
    result = run("predict", model, "--data", new, "--zero-based")
    assert result.exit_code == 2 and "expected --one-based" in result.stderr


def test_a_model_that_is_fitted_with_the_right_beginning_reads_the_index_0(tmp_path: Path) -> None:
    model = fit(tmp_path, write(tmp_path, "train.svm", "1 1:1 2:3\n-1 1:-1\n-1 1:-2 2:3\n"), "--zero-based")
    assert run("predict", model, "--data", write(tmp_path, "new.svm", "1 0:1 1:2\n")).exit_code == 0


def test_words_name_features_by_the_indices_of_the_file(tmp_path: Path) -> None:
    source = write(tmp_path, "a.svm", "1 1:1 2:0.5 7:1\n-1 2:0.25 7:-1\n1 1:2 7:2\n-1 1:3 2:1 7:-2\n")
    model: Any = MarginBoostClassifier.load(fit(tmp_path, source))
    assert "feature 7" in model.in_words(1)[0] and not hasattr(model, "feature_names_in_")
    assert load_dataset(source).features[-1] == "feature 7"
    boosted = run("boost", "lpboost", "--data", source, "--nu", "1", "--epsilon", "0.5")
    assert "feature 7" in boosted.stdout


def test_a_further_fit_in_python_forgets_the_indices_of_the_file(tmp_path: Path) -> None:
    model: Any = MarginBoostClassifier.load(fit(tmp_path, write(tmp_path, "a.svm", WITH_0)))
    model.set_params(nu=2, max_iter=None).fit(np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1])
    assert not hasattr(model, "zero_based_")


def edit(model: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the description in a model file."""
    with np.load(model) as file:
        arrays = dict(file)
    about = json.loads(arrays.pop("meta").tobytes())
    change(about)
    np.savez(model, meta=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays)


@pytest.fixture
def model(tmp_path: Path) -> str:
    return fit(tmp_path, write(tmp_path, "a.svm", WITH_0))


@pytest.mark.parametrize("saved", [0, "yes", [True]])
def test_a_model_file_with_another_beginning_is_refused(model: str, saved: Any) -> None:
    edit(model, lambda about: about.update(zero_based=saved))
    with pytest.raises(DataError, match=r"\bzero_based\b.*\btrue or false\b"):
        MarginBoostClassifier.load(model)


def test_a_model_file_of_an_earlier_version_is_read_and_says_what_it_assumes(tmp_path: Path, model: str) -> None:
    edit(model, lambda about: [about.pop(key) for key in ("zero_based", "digest")])
    new = write(tmp_path, "new.svm", "1 1:0.5 2:3\n")
    assert re.search("^warning: .*--zero-based", run("predict", model, "--data", new).stderr)
    assert "warning" not in run("predict", model, "--data", new, "--zero-based").stderr


@pytest.mark.parametrize(
    "text, expected, is_said",
    [
        ("1 0:1 2:3\n", [[1, 0, 3]], False),
        ("1 1:1 3:3\n", [[1, 0, 3]], False),  # 0-based, there were four features
        ("1 1:1 2:3\n", [[1, 3, 0]], True),
    ],
)
def test_for_a_model_that_does_not_know_it_is_said_what_is_assumed(
    tmp_path: Path, text: str, expected: Any, is_said: bool
) -> None:
    source = write(tmp_path, "a.svm", text)
    with warnings.catch_warnings(record=True) as warning_records:
        warnings.simplefilter("always")
        assert load_features(source, (), 3).X.tolist() == expected
    assert len(warning_records) == is_said
    assert all(re.search(r"\b1, .*\bzero_based=True", str(record.message)) for record in warning_records)
    for zero_based in (True, False):
        if is_said:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert load_features(source, (), 3, zero_based=zero_based).zero_based is zero_based


@pytest.mark.parametrize(
    "text, zero_based, indices, index",
    [("1 1:1 5:2\n", False, "1 to 3", 5), ("1 1:1 3:2\n", True, "0 to 2", 3), ("1 0:1 3:2\n", None, "0 to 2", 3)],
)
def test_an_index_beyond_the_features_of_a_model_is_said(
    tmp_path: Path, text: str, zero_based: bool | None, indices: str, index: int
) -> None:
    with pytest.raises(DataError, match=rf"\b3 features .*\b{indices}; got {index}\."):
        load_features(write(tmp_path, "a.svm", text), (), 3, zero_based=zero_based)


@pytest.mark.thorough
def test_several_data_sets_take_the_options_that_they_have(tmp_path: Path) -> None:
    source = write(tmp_path, "a.svm", "1 1:1 2:3\n-1 1:-1\n1 2:1\n")
    table = write(tmp_path, "a.csv", "a,kind\n1,x\n2,y\n3,y\n")
    options = ("--nu", "2", "--backends", "interior", "--label", "kind", "--zero-based", "--repeats", "1", "--csv")
    result = run("compare", "lpboost", "--data", f"{source},{table}", *options)
    assert result.exit_code in (0, 1), result.stderr


# Files of another look


def test_a_byte_order_mark_is_no_label(tmp_path: Path) -> None:
    data = load_dataset(write(tmp_path, "a.svm", b"\xef\xbb\xbf1 1:1\n-1 1:2\n"))
    assert data.y is not None and data.y.tolist() == [1, -1]
