"""`boostopt fit` and `boostopt predict`: from a table to a model file to predictions, streams, statuses, bad input."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_runner import document, examples, refused, run, write_csv, write_examples
from sklearn.datasets import load_iris

import boostopt.estimators.training.binary_fit
from boostopt.boosting.run.trace import TraceRow
from boostopt.estimators import MarginBoostClassifier

ROUGH = ("--epsilon", "0.4")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file of three classes in words, with a column that is no feature."""
    X, _ = examples(60)
    kinds = np.digitize(X[:, 0] + X[:, 1], [-0.8, 0.8])
    rows = [(f"p{n}", *x, ("small", "middle", "large")[kind]) for n, (x, kind) in enumerate(zip(X, kinds, strict=True))]
    return write_csv(tmp_path_factory.mktemp("table") / "t.csv", "id,a,b,c,d,kind", rows)


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    """A model fitted to it."""
    path = table.with_name("model.npz")
    assert run("fit", "--data", table, "--label", "kind", "--drop", "id", "--out", path, *ROUGH).exit_code == 0
    return path


def read(text: str) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of CSV text."""
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


# fit


def test_the_command_fits_the_classifier_of_the_library(tmp_path: Path) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    file_document = document("fit", "--data", data, "--out", out, "--nu", "0.3", *ROUGH)
    X, y = examples()
    classifier: Any = MarginBoostClassifier(nu=0.3, epsilon=0.4).fit(X, y)
    loaded = MarginBoostClassifier.load(out)
    np.testing.assert_array_equal(loaded.decision_function(X), classifier.decision_function(X))
    assert loaded.get_params() == classifier.get_params()
    assert file_document["training_accuracy"] == classifier.score(X, y)
    assert file_document["runs"][0]["lower"] == classifier.certificate_.lower
    assert file_document["classes"] == {"-1": int((y < 0).sum()), "1": int((y > 0).sum())}
    assert file_document["reached"] is True and file_document["bytes"] == out.stat().st_size


def test_examples_are_held_out_and_probabilities_learned(tmp_path: Path) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    how = ("--early-stopping", "--validation-fraction", "0.2", "--random-state", "3", "--probability", "--nu", "0.3")
    file_document = document("fit", "--data", data, "--out", out, *how, *ROUGH)
    X, y = examples()
    options: Any = {"early_stopping": True, "validation_fraction": 0.2, "random_state": 3, "probability": True}
    classifier: Any = MarginBoostClassifier(nu=0.3, epsilon=0.4, **options).fit(X, y)
    assert file_document["held_out_accuracy"] == [classifier.validation_score_[-1]]
    accuracy_text = f" {file_document['held_out_accuracy'][0]:.2%} "
    assert accuracy_text in run("fit", "--data", data, "--out", out, *how, *ROUGH).stdout
    header, rows = read(run("predict", out, "--data", data, "--scores", "--probabilities").stdout)
    assert header == ["prediction", "score_1", "probability_-1", "probability_1"]
    np.testing.assert_array_equal(np.array(rows, dtype=float)[:, 2:], classifier.predict_proba(X))
    proof = ("--certificate", tmp_path / "proof.json")
    refused(r"--certificate\b.*--early-stopping\b", "fit", "--data", data, "--out", out, *how, *proof)


@pytest.mark.thorough
def test_every_fit_prints_the_same_fields(tmp_path: Path) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    plain, early, kernel, program = (
        document("fit", "--data", data, "--out", out, "--nu", "0.3", *how)
        for how in (
            ROUGH,
            ("--early-stopping", "--n-iter-no-change", "1", "--epsilon", "0.001"),
            ("--base", "kernel", *ROUGH),
            ("--formulation", "adaboost", "--max-iter", "5"),
        )
    )
    for document_of_fit in (early, kernel, program):
        assert document_of_fit.keys() == plain.keys() and document_of_fit["runs"][0].keys() == plain["runs"][0].keys()
    assert plain["reached"] and plain["runs"][0]["within_epsilon"] and plain["held_out_accuracy"] is None
    assert early["reached"] and not early["runs"][0]["within_epsilon"] and len(early["held_out_accuracy"]) == 1
    assert kernel["feature_importances"] is None and plain["feature_importances"]


def test_the_progress_of_a_program_is_its_value(tmp_path: Path) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    for how, progress_text in {
        ("--formulation", "svm", "--set", "C=1"): "value of the program -",
        ("--formulation", "erlpboost"): "soft margin ",
    }.items():
        lines = run("fit", "--data", data, "--out", out, *how, "--max-iter", "2").stderr
        assert re.search(rf"^class 1: round 1, \d+ hypothes.s, {progress_text}", lines, re.MULTILINE), lines


def test_a_model_without_probabilities_says_how_to_learn_them(model: Path, table: Path) -> None:
    facts = r"--probabilities\b.*model\.npz\b.*`boostopt fit --probability`"
    refused(facts, "predict", model, "--data", table, "--probabilities")


def test_more_than_two_classes_in_words_are_told_apart(table: Path, tmp_path: Path) -> None:
    result = run("fit", "--data", table, "--label", "kind", "--drop", "id", "--out", tmp_path / "m.npz", *ROUGH)
    assert result.exit_code == 0
    for kind in ("large", "middle", "small"):
        assert re.search(rf"^│ .*\bsoft margin of {kind} +│ \[.+, .+\] +│$", result.stdout, re.MULTILINE)
    assert re.search(r"^│ training accuracy +│ \d+\.\d\d% +│$", result.stdout, re.MULTILINE)
    line_titles = [line.partition(":")[0] for line in result.stderr.splitlines() if ": round 1," in line]
    classes = [title.partition(",")[0] for title in line_titles]
    assert list(dict.fromkeys(classes)) == ["class large", "class middle", "class small"]
    assert len(set(line_titles)) == len(line_titles) > 3  # each fit of the search for nu has a title of its own
    assert "class large, trial 2 of nu" in line_titles
    loaded: Any = MarginBoostClassifier.load(tmp_path / "m.npz")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_a_fit_that_is_cut_short_exits_with_1_and_writes_the_model(tmp_path: Path) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    result = run("fit", "--data", data, "--out", out, "--max-iter", 1, "--epsilon", "0.001")
    assert result.exit_code == 1
    assert re.search(r"^warning: .*--max-iter = 1\b", result.stderr, re.MULTILINE)
    assert re.search(r"^│ gap +│ \S+, NOT within \w+ = 0\.001 +│$", result.stdout, re.MULTILINE)
    assert re.search(r"│ boosting +│ 1 round, \d hypothes[ie]s with a weight +│", result.stdout)
    assert MarginBoostClassifier.load(out).n_iter_ == 1


def test_a_time_limit_reaches_the_classifier(tmp_path: Path) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    result = run("fit", "--data", data, "--out", out, "--epsilon", "1e-6", "--time-limit", "1e-9")
    assert result.exit_code == 1 and out.exists()
    assert re.search(r"^warning: .*--time-limit = 1e-09\b", result.stderr, re.MULTILINE)
    assert MarginBoostClassifier.load(out).time_limit is None  # it is of the machine


@pytest.mark.parametrize(
    "base, options", [("feature", ()), ("kernel", ("kernel=rbf",)), ("rbf", ("K=3", "iterations=1"))]
)
def test_every_base_is_fitted_saved_and_predicts(tmp_path: Path, base: str, options: tuple[str, ...]) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    option_words = [word for option in options for word in ("--option", option)]
    arguments = (
        "fit",
        "--data",
        data,
        "--out",
        out,
        "--base",
        base,
        *option_words,
        "--epsilon",
        "0.5",
        "--max-iter",
        10,
    )
    assert run(*arguments).exit_code in (0, 1)
    result = run("predict", out, "--data", data)
    assert result.exit_code == 0
    assert set(result.stdout.split()[1:]) <= {"-1", "1"}


@pytest.mark.thorough
def test_class_weights_and_sample_weights_reach_the_classifier(tmp_path: Path) -> None:
    X, y = examples()
    c = 1 + np.arange(len(y)) % 3
    rows = [(*x, n, "no" if label < 0 else "yes") for x, n, label in zip(X.tolist(), c.tolist(), y, strict=True)]
    table, out = write_csv(tmp_path / "t.csv", "a,b,c,d,times,label", rows), tmp_path / "m.npz"
    arguments = ("fit", "--data", table, "--out", out, "--weights", "times", *ROUGH)
    words = np.where(y < 0, "no", "yes")
    for text, class_weight in (("balanced", "balanced"), ("yes=3", {"yes": 3.0})):
        assert run(*arguments, "--class-weight", text).exit_code == 0
        classifier: Any = MarginBoostClassifier(class_weight=class_weight, epsilon=0.4).fit(X, words, c)
        loaded = MarginBoostClassifier.load(out).decision_function(pd.DataFrame(X, columns=list("abcd")))
        np.testing.assert_array_equal(loaded, classifier.decision_function(X))


def test_parameters_of_the_formulation_reach_it(tmp_path: Path) -> None:
    data, out = write_examples(tmp_path / "data.npz"), tmp_path / "model.npz"
    arguments = ("fit", "--data", data, "--out", out, "--formulation", "qp_reg_adaboost", "--set", "C=0.2", *ROUGH)
    result = run(*arguments)
    assert result.exit_code == 0
    assert re.match(r"qp_reg_adaboost: 40\b", result.stdout)
    assert re.search(r"^│ gap +│ no soft margin; (?!NOT\b)", result.stdout, re.MULTILINE)
    loaded = MarginBoostClassifier.load(out)
    assert loaded.parameters == {"C": 0.2}
    with pytest.raises(AttributeError, match=r"\bqp_reg_adaboost\b.*\bbound\b"):
        loaded.certificate_  # noqa: B018


def test_algorithms_that_nothing_need_stop_are_not_said_to_be_within_epsilon(tmp_path: Path) -> None:
    data = write_examples(tmp_path / "data.npz")
    arguments = ("fit", "--data", data, "--out", tmp_path / "m.npz", "--formulation", "adaboost", "--max-iter", 5)
    result = run(*arguments, "--epsilon", "0.01")
    assert result.exit_code == 0
    assert re.search(r"^│ gap +│ \d\.\d\de[+-]\d\d; .*\brounds\b", result.stdout, re.MULTILINE)
    assert "epsilon" not in result.stdout


def test_ctrl_c_writes_no_model_and_says_where_the_checkpoint_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out, checkpoint = write_examples(tmp_path / "data.npz"), tmp_path / "m.npz", tmp_path / "c.npz"
    real = boostopt.estimators.training.binary_fit.boost

    def stopped(*arguments: Any, **options: Any) -> Any:
        def pressed(row: TraceRow) -> None:
            if row.round == 2:
                raise KeyboardInterrupt

        return real(*arguments, **{**options, "progress": pressed, "checkpoint_rounds": 1})

    monkeypatch.setattr(boostopt.estimators.training.binary_fit, "boost", stopped)
    arguments = ("fit", "--data", data, "--out", out, "--nu", "0.1", "--epsilon", "0.05", "--checkpoint", checkpoint)
    result = run(*arguments)
    assert (result.exit_code, result.stdout, out.exists()) == (130, "", False)
    assert re.fullmatch(rf"{re.escape(str(checkpoint))} .*\ninterrupted\n", result.stderr)
    monkeypatch.undo()
    assert run(*arguments).exit_code == 0


# predict


def test_columns_are_found_by_name_in_any_order(model: Path, table: Path, tmp_path: Path) -> None:
    X, _ = examples(60)
    plain = run("predict", model, "--data", table, "--label", "kind", "--scores")
    header, rows = read(plain.stdout)
    assert header == ["prediction", "score_large", "score_middle", "score_small"]
    classifier: Any = MarginBoostClassifier.load(model)
    named = pd.DataFrame(X, columns=list("abcd"))
    assert [row[0] for row in rows] == classifier.predict(named).tolist()
    # Numbers are written with all their digits.
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), classifier.decision_function(named))
    reordered_table = write_csv(
        tmp_path / "o.csv", "d,colour,b,a,c", [(x[3], "red", x[1], x[0], x[2]) for x in X.tolist()]
    )
    result = run("predict", model, "--data", reordered_table, "--scores")
    assert result.stdout == plain.stdout
    assert re.fullmatch(rf"warning: {re.escape(str(reordered_table))} .*: colour\.\n", result.stderr)


def test_if_the_data_have_the_classes_the_share_that_is_right_is_said(model: Path, table: Path, tmp_path: Path) -> None:
    result = run("predict", model, "--data", table, "--label", "kind")
    _, rows = read(result.stdout)
    truth = [line.split(",")[-1] for line in table.read_text().splitlines()[1:]]
    right = sum(row[0] == label for row, label in zip(rows, truth, strict=True))
    assert re.search(rf"^accuracy {right / 60:.4f}: {right} of 60\b.*\n\Z", result.stderr, re.MULTILINE)
    blank = write_csv(tmp_path / "b.csv", "a,b,c,d,kind", [(1, 2, 3, 4, ""), (1, 2, 3, 4, "NA")])
    assert run("predict", model, "--data", blank, "--label", "kind").stderr == ""
    half = write_csv(tmp_path / "h.csv", "a,b,c,d,kind", [(1, 2, 3, 4, ""), (1, 2, 3, 4, rows[0][0])])
    stderr = run("predict", model, "--data", half, "--label", "kind").stderr
    assert re.fullmatch(rf"warning: {re.escape(str(half))} .* 1 of 2\b.*\naccuracy [01]\.0000: [01] of 1\b.*\n", stderr)
    strange = write_csv(tmp_path / "s.csv", "a,b,c,d,kind", [(1, 2, 3, 4, "huge")])
    stderr = run("predict", model, "--data", strange, "--label", "kind").stderr
    assert re.fullmatch(r"warning: .* huge\b.*\naccuracy 0\.0000: 0 of 1\b.*\n", stderr)


def test_predictions_go_into_a_file(model: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    result = run("predict", model, "--data", table, "--label", "kind", "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_text() == run("predict", model, "--data", table, "--label", "kind").stdout
    assert f"saved: {out}\n" in result.stderr


def test_sets_by_name_are_fitted_and_predicted(tmp_path: Path) -> None:
    assert run("fit", "--data", "breast_cancer", "--out", tmp_path / "m.npz", *ROUGH).exit_code == 0
    result = run("predict", tmp_path / "m.npz", "--data", "breast_cancer", "--scores")
    header, rows = read(result.stdout)
    assert header == ["prediction", "score_1"] and len(rows) == 569
    assert all((float(f) > 0) == (label == "1") for label, f in rows if float(f) != 0)
    assert float(result.stderr.split()[1].rstrip(":")) > 0.9


@pytest.mark.parametrize("suffix", ["npz", "svm", "csv"])
def test_features_without_names_are_taken_in_their_order(tmp_path: Path, suffix: str) -> None:
    X, y = examples()
    np.savez(tmp_path / "train.npz", X=X, y=y)
    path = tmp_path / f"new.{suffix}"
    if suffix == "npz":
        np.savez(path, X=X)
    elif suffix == "csv":
        write_csv(path, "a,b,c,d", X)
    else:  # the last feature is 0 in all rows and so is not there
        X[:, 3] = 0.0
        path.write_text("".join(f"0 1:{a!r} 2:{b!r} 3:{c!r}\n" for a, b, c, _ in X.tolist()))
    assert run("fit", "--data", tmp_path / "train.npz", "--out", tmp_path / "m.npz", *ROUGH).exit_code == 0
    result = run("predict", tmp_path / "m.npz", "--data", path)
    assert result.exit_code == 0
    predictions: Any = MarginBoostClassifier.load(tmp_path / "m.npz").predict(X)
    assert [int(row[0]) for row in read(result.stdout)[1]] == predictions.tolist()


@pytest.mark.thorough
def test_whole_numbers_numbers_and_words_stay_what_they_are(tmp_path: Path) -> None:
    X, y = examples()
    large = ("9007199254740992", "9007199254740993")  # float64 has the first one only
    for classes, labels in (((3, "7.0"), {"3", "7"}), (("1a", " 2,b "), {"1a", "2,b"}), (large, set(large))):
        cells = [f'"{classes[int(label > 0)]}"' for label in y]
        table = write_csv(tmp_path / "t.csv", "a,b,c,d,label", [(*x, cell) for x, cell in zip(X, cells, strict=True)])
        assert run("fit", "--data", table, "--out", tmp_path / "m.npz", *ROUGH).exit_code == 0
        _, rows = read(run("predict", tmp_path / "m.npz", "--data", table).stdout)
        assert {row[0] for row in rows} == labels


# Bad input


@pytest.mark.parametrize(
    ("text", "more", "facts"),
    [
        ("a,label\n1,x\n2,y\n", ("--label", "kind"), r"t\.csv\b.*'kind'.*\ba,\slabel\b.*--label\b"),
        ("a,label\n1,x\n2,x\n", (), r"\btwo classes\b.* 1\b"),
        ("a,label\n1,x\nnan,y\n", (), r"t\.csv\b.*\b3\b.*\bnan\b.*'a'"),
        ("a,label\n1,x\n2,\n", (), r"t\.csv\b.*\b3\b.*\bnone\b.*'label'"),
        ("a,b,label\n1,red,x\n2,red,y\n", (), r"t\.csv\b.*\b2\b.*'red'.*'b'.*--drop\b"),
        ("a;label\n1;x\n", (), r"t\.csv\b.*'label'.*\ba;label\b.*\bsemicolons\b"),
        ("a,label\n1,x\n2,y\n", ("--drop", "b"), r"t\.csv\b.*'b'.* a\..*--drop\.$"),
        ("a,label\n1,x\n2,y\n", ("--drop", "label"), r"t\.csv\b.*'label'.*--drop\b"),
        ("a,a,label\n1,1,x\n2,2,y\n", (), r"t\.csv\b.* 2\b.* 'a'"),
        ("a,label\n1,0.5\n2,0.25\n", (), r"t\.csv: .*\bcontinuous\b"),
        ("a,label\n", (), r"t\.csv\b.*\bheader\b.*\brows\b"),
        ("a,label\n1,x\n2,y\n", ("--class-weight", ""), r"--class-weight\b.*\bclass=number\b.*''"),
        ("a,label\n1,x\n2,y\n", ("--class-weight", "z=2"), r"'z'.* x, y\."),
        ("a,label\n1,x\n2,y\n", ("--class-weight", "x=-1"), r"--class-weight\b.* -1\b.*'x'"),
        ("a,label\n1,x\n2,y\n", ("--base", "tree"), r"'tree'.*\bMarginBoostClassifier\(base="),
        ("a,label\n1,x\n2,y\n", ("--option", "gamma=1"), r"\bstump\b.*'gamma'.*--base\b.*\bkernel\b"),
        ("a,label\n1,x\n2,y\n", ("--base", "stumps"), r"'stumps'.*'stump'.*\bstump\b.*\btree2\."),
        ("a,label\n1,x\n2,y\n", ("--set", "nu=57"), r"--set\b.*\bnu\b.*--nu\b.*\b57\b"),
        ("a,label\n1,x\n2,y\n", ("--nu", "x"), r"--nu\b.*\bauto\b.*'x'"),
        ("a,label\n1,x\n2,y\n", ("--nu", "1.5"), r"\bnu\b.*\(0, 1\].*\bauto\b.* 1\.5\b"),
        ("a,label\n1,x\n2,y\n", ("--epsilon", "-1"), r"--epsilon\b.*\bpositive\b.* -1\.0\b"),
        ("a,label\n1,x\n2,y\n", ("--time-limit", "0"), r"--time-limit\b.*\bpositive\b.*\b0\.0\b"),
        ("a,label\n1,x\n2,y\n", ("--max-iter", "0"), r"--max-iter\b.* 1\b.* 0\."),
        ("a,label\n1,x\n2,y\n", ("--set", "C=1"), r"\berlpboost\b.*'C'.*\bepsilon\b.*\beta\b.*\bnu\b"),
        ("a,label\n1,x\n2,y\n", ("--formulation", "nonsense"), r"'nonsense'.*\berlpboost\b"),
    ],
)
def test_bad_input_is_an_error_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, more: tuple[str, ...], facts: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text)
    refused(facts, "fit", "--data", "t.csv", "--out", "m.npz", *more)
    assert not Path("m.npz").exists()


def test_unwritable_and_unreadable_files_are_errors_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MarginBoostClassifier, "fit", None)
    refused(r"\bfolder\b.*no/m\.npz'", "fit", "--data", "iris", "--out", tmp_path / "no" / "m.npz")
    refused(rf"\bfolder\b.*'{re.escape(str(tmp_path))}'", "fit", "--data", "iris", "--out", tmp_path)
    refused(r"\bbreast_cancer\b.*\bno file 'no\.csv'", "fit", "--data", "no.csv", "--out", tmp_path / "m")
    np.savez(tmp_path / "u.npz", U=np.ones((2, 1)))
    refused(r"u\.npz\b.*\bX\b.* U\.", "fit", "--data", tmp_path / "u.npz", "--out", tmp_path / "m")
    np.savez(tmp_path / "x.npz", X=np.ones((2, 1)))
    refused(r"x\.npz\b.*\bX and y\b.* no y\.", "fit", "--data", tmp_path / "x.npz", "--out", tmp_path / "m")
    refused(r"\bCSV\b.*'iris'.*--drop\b", "fit", "--data", "iris", "--out", tmp_path / "m", "--drop", "a")


def test_predict_refuses_what_is_no_model_or_lacks_columns(model: Path, table: Path, tmp_path: Path) -> None:
    refused(r"\bmodel\b.*\bno file\b.*no\.npz'", "predict", tmp_path / "no.npz", "--data", table)
    refused(r"\bmodel\b.*`boostopt fit`.*t\.csv'.*\btruncated\b", "predict", table, "--data", table)
    np.savez(tmp_path / "other.npz", X=np.ones((2, 2)))
    refused(r"`boostopt fit`.*other\.npz\b.*'meta'", "predict", tmp_path / "other.npz", "--data", table)
    write_examples(tmp_path / "data.npz")
    assert (
        run("boost", "lpboost", "--nu", 9, "--data", tmp_path / "data.npz", "--out", tmp_path / "run.npz").exit_code
        == 0
    )
    refused(r"\bclassifier\b.*run\.npz\b.*'boostopt run'", "predict", tmp_path / "run.npz", "--data", table)
    lacking = write_csv(tmp_path / "l.csv", "a,c", [(1, 2)])
    refused(r"l\.csv\b.*'b', 'd'.*'a', 'c'", "predict", model, "--data", lacking)
    words = write_csv(tmp_path / "w.csv", "a,b,c,d", [(1, 2, 3, "x")])
    refused(r"w\.csv, line 2: .*'x'.* 'd'", "predict", model, "--data", words)
    np.savez(tmp_path / "five.npz", X=np.ones((2, 5)))
    refused(r"five\.npz\b.* 4\b.* 5\b", "predict", model, "--data", tmp_path / "five.npz")
    refused(rf"\breplace\b.*'{re.escape(str(model))}'", "predict", model, "--data", table, "--out", model)


def test_iris_by_name_is_what_scikit_learn_has(tmp_path: Path) -> None:
    iris: Any = load_iris()
    X, y = iris.data, iris.target
    assert run("fit", "--data", "iris", "--out", tmp_path / "m.npz", *ROUGH).exit_code == 0
    classifier: Any = MarginBoostClassifier(epsilon=0.4).fit(X, y)
    _, rows = read(run("predict", tmp_path / "m.npz", "--data", "iris").stdout)
    assert [int(row[0]) for row in rows] == classifier.predict(X).tolist()
