"""`boostopt boost`: what it proves, exit statuses, streams, files, interrupts, bad input."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from invoked import document, examples, refused, run, write_csv, write_examples

import boostopt.cli.commands.boost
from boostopt import Run, boost, stump_matrix
from boostopt.boosting.run import progress_line
from boostopt.boosting.run.trace import Row
from boostopt.oracles import DecisionStumps
from boostopt.verification import verify


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_examples(tmp_path / "data.npz")


@pytest.fixture
def margins(tmp_path: Path) -> Path:
    """Margins of twenty stumps, without the examples."""
    X, y = examples()
    np.savez(tmp_path / "margins.npz", U=np.asarray(stump_matrix(X, y, 20), dtype=np.float64))
    return tmp_path / "margins.npz"


COARSE = ("--nu", "0.3", "--epsilon", "0.2")


def test_it_is_the_run_of_the_library(data: Path) -> None:
    found = document("boost", "erlpboost", "--data", data, *COARSE)
    X, y = examples()
    own = boost("erlpboost", DecisionStumps(X, y), nu=0.3 * 40, epsilon=0.2)
    assert found["class"]["lower"] == own.class_certificate.lower
    assert found["class"]["upper"] == own.class_certificate.upper
    assert (found["rounds"], found["reason"]) == (own.rounds, own.reason)
    assert found["parameters"]["nu"] == 12.0
    assert found["trace"]["gap"] == own.trace["gap"].tolist()
    weights = [pair["weight"] for pair in found["weights"]]
    assert weights == sorted(own.w[own.w > 0].tolist(), reverse=True)
    assert found["reached"] is True and found["class"]["bounded"] is True


def test_the_number_of_columns_may_be_left_to_the_clock(data: Path) -> None:
    found = document("boost", "lpboost", "--data", data, "--update", "total", *COARSE, "--columns-per-round", "auto")
    assert found["reached"] is True


def test_the_table_says_what_is_proved_and_progress_goes_to_the_standard_error(data: Path) -> None:
    result = run("boost", "erlpboost", "--data", data, *COARSE)
    assert result.exit_code == 0
    assert "best soft margin of the class" in result.stdout and "within epsilon = 0.2" in result.stdout
    assert "round 1" not in result.stdout
    assert re.match(r"erlpboost: round 1, \d hypotheses, soft margin ", result.stderr)


def test_a_run_that_is_cut_short_exits_with_1_and_prints_the_same(data: Path) -> None:
    result = run("boost", "erlpboost", "--data", data, *COARSE, "--max-rounds", 2)
    assert result.exit_code == 1
    assert "the limit on rounds" in result.stdout and "NOT within epsilon = 0.2" in result.stdout


def test_algorithms_that_nothing_need_stop_have_done_what_was_asked_at_their_limit(data: Path) -> None:
    found = document("boost", "adaboost", "--data", data, "--max-rounds", 7, "--epsilon", 0.001)
    assert (found["rounds"], found["reached"]) == (7, True)
    assert found["class"]["gap"] > 0.001
    refused("adaboost needs a limit, because it may never stop", "boost", "adaboost", "--data", data)


def test_a_program_without_a_soft_margin_is_reached_when_its_rule_holds(data: Path) -> None:
    arguments = ("boost", "qp_reg_adaboost", "--data", data, "--set", "C=0.1", "--epsilon", 0.1)
    found = document(*arguments)
    assert found["class"] is None
    assert found["reason"].startswith("priced:")
    assert document(*arguments, "--max-rounds", 1, status=1)["reached"] is False
    assert "no soft margin; a stopping rule holds" in run(*arguments).stdout


def test_a_heuristic_oracle_has_no_bound_and_its_rule_counts(data: Path) -> None:
    arguments = ("boost", "erlpboost", "--data", data, *COARSE, "--oracle", "tree", "--option", "max_depth=1")
    found = document(*arguments)
    assert found["class"]["bounded"] is False and found["class"]["upper"] is None
    assert found["reason"].startswith("direct:")
    assert document(*arguments, "--max-rounds", 1, status=1)["reached"] is False
    assert "no bound of the class" in run(*arguments).stdout


@pytest.mark.parametrize("formulation, more", [("softboost", COARSE), ("totalboost", COARSE[2:])])
def test_parameters_that_are_set_anew_are_those_of_the_last_round(
    data: Path, formulation: str, more: tuple[str, ...]
) -> None:
    found = document("boost", formulation, "--data", data, *more)
    # gamma is the smallest edge less epsilon; the last program was made before the oracle's last answer.
    assert found["parameters"]["gamma"] >= found["trace"]["smallest_edge"][-1] - 0.2 - 1e-9
    assert found["class"]["gap"] <= 0.2 + 1e-9


def test_a_run_that_ends_in_its_first_round_is_printed(data: Path) -> None:
    result = run("boost", "ata", "--data", data, "--set", "phi=0.01", "--max-rounds", 5)
    assert result.exit_code == 1
    assert "has no larger edge than its target" in result.stdout


def test_of_a_margin_matrix_the_columns_are_the_class(margins: Path) -> None:
    found = document("boost", "erlpboost", "--data", margins, *COARSE)
    assert found["hypotheses"] <= 20 and found["class"]["gap"] <= 0.2
    both = document("boost", "svm", "--data", margins, "--set", "C=0.1", "--reflexive", "--epsilon", 0.1)
    assert both["reached"] is True
    refused("svm has edges without a sign", "boost", "svm", "--data", margins, "--set", "C=0.1")
    refused(".* holds U, whose columns are the class", "boost", "lpboost", "--data", margins, "--oracle", "stump")


def test_multiplicities_count(tmp_path: Path) -> None:
    X, y = examples(20)
    c = np.arange(20) % 3
    np.savez(tmp_path / "weighted.npz", X=X, y=y, c=c)
    np.savez(tmp_path / "copied.npz", X=X.repeat(c, axis=0), y=y.repeat(c))
    weighted = document("boost", "lpboost", "--data", tmp_path / "weighted.npz", *COARSE)
    copied = document("boost", "lpboost", "--data", tmp_path / "copied.npz", *COARSE)
    assert weighted["examples"] == 13
    assert weighted["examples_with_multiplicity"] == c.sum() == copied["examples"]
    own, other = weighted["class"], copied["class"]
    assert max(own["lower"], other["lower"]) <= min(own["upper"], other["upper"])


def test_hypotheses_have_the_names_of_their_columns(tmp_path: Path) -> None:
    rows = [(n, (7 * n) % 5, "up" if n > 9 else "down") for n in range(20)]
    table = write_csv(tmp_path / "t.csv", "height,noise,label", rows)
    found = document("boost", "lpboost", "--data", table, "--nu", 1)
    assert found["weights"][0]["hypothesis"] == "height > 9.5"
    assert found["class"]["lower"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "oracle, options, words",
    [
        ("stump", (), "decision stumps on 4 features"),
        ("feature", (), "4 features as they are"),
        ("kernel", ("kernel=rbf", "gamma=0.5"), "rbf kernel, gamma 0.5"),
        ("rbf", ("K=3", "iterations=1"), "RBF networks"),
    ],
)
def test_every_class_of_hypotheses_can_be_boosted(
    data: Path, oracle: str, options: tuple[str, ...], words: str
) -> None:
    said = [word for option in options for word in ("--option", option)]
    found = document("boost", "lpboost", "--data", data, "--nu", "0.5", "--epsilon", 0.4, "--oracle", oracle, *said)
    assert words in found["oracle"]


# Files


@pytest.mark.thorough
def test_what_is_saved_is_the_run_and_a_certificate_that_others_verify(data: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("run.npz", "class.json", "picture.png")]
    named = [
        word for flag, path in zip(("--out", "--certificate", "--picture"), files, strict=True) for word in (flag, path)
    ]
    found = document("boost", "erlpboost", "--data", data, *COARSE, *named)
    X, y = examples()
    # What is loaded tells the lower end anew, in floating point.
    assert found["class"]["lower"] - 1e-12 < Run.load(files[0]).class_certificate.lower <= found["class"]["lower"]
    verification = verify(files[1], DecisionStumps(X, y))
    assert verification, verification.reason
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_that_is_there_is_gone_on_from(data: Path, tmp_path: Path) -> None:
    whole = document("boost", "erlpboost", "--data", data, *COARSE)
    arguments = ("boost", "erlpboost", "--data", data, *COARSE, "--checkpoint", tmp_path / "run.npz")
    part = document(*arguments, "--max-rounds", 3, status=1)
    assert part["rounds"] == 3
    rest = document(*arguments)
    # The rounds that were made are kept, and the rest ends where a run in one go does.
    assert rest["trace"]["gap"][:2] == part["trace"]["gap"][:2] == whole["trace"]["gap"][:2]
    assert rest["rounds"] > 3 and rest["reached"] is True
    own, other = rest["class"], whole["class"]
    assert max(own["lower"], other["lower"]) <= min(own["upper"], other["upper"])
    refused("expected a checkpoint of this run", *arguments[:4], "--nu", "0.5", *arguments[6:])


def test_ctrl_c_finishes_the_round_prints_and_saves_what_there_is(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*shown: object) -> Any:
        def show(row: Row) -> None:
            if row.round == 2:
                os.kill(os.getpid(), signal.SIGINT)

        return show

    monkeypatch.setattr(progress_line, "Lines", pressed)
    out, checkpoint = tmp_path / "run.npz", tmp_path / "going.npz"
    arguments = ("boost", "erlpboost", "--data", data, *COARSE)
    found = document(*arguments, "--out", out, "--checkpoint", checkpoint, status=130)
    assert (found["rounds"], found["reason"], found["reached"]) == (2, "interrupted by the user", False)
    assert found["class"]["lower"] <= found["class"]["upper"]
    assert Run.load(out).rounds == 2
    result = run(*arguments, "--checkpoint", tmp_path / "other.npz")
    assert result.exit_code == 130
    assert result.stderr.endswith(f"interrupted: {tmp_path / 'other.npz'} has the run, the same command goes on\n")
    monkeypatch.undo()
    assert document(*arguments, "--checkpoint", checkpoint)["rounds"] > 2


def test_a_second_ctrl_c_ends_at_once_and_says_where_the_checkpoint_is(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(boostopt.cli.commands.boost, "boost", stopped)
    checkpoint = tmp_path / "run.npz"
    checkpoint.write_bytes(b"")
    result = run("boost", "erlpboost", "--data", data, *COARSE, "--checkpoint", checkpoint)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == f"{checkpoint} has the run as it was stored last: the same command goes on.\ninterrupted\n"


# Bad input


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("lpbost", "--nu", "0.1"), "unknown formulation 'lpbost'"),
        (("lpboost",), "lpboost needs nu"),
        (("lpboost", "--nu", "2.5"), "--nu with a decimal point is a fraction"),
        (("lpboost", "--nu", "0.3", "--epsilon", "0"), "epsilon must be a positive number"),
        (("lpboost", "--nu", "0.3", "--oracle", "stumps"), "unknown oracle 'stumps'. Did you mean 'stump'"),
        (("lpboost", "--nu", "0.3", "--option", "depth=2"), r"unknown option of stump 'depth'\..*none\.$"),
        (
            ("lpboost", "--nu", "0.3", "--option", "max_depth=2"),
            "unknown option of stump 'max_depth'. Known: none. It is an option of tree: pass --oracle tree.",
        ),
        (
            ("lpboost", "--nu", "0.3", "--oracle", "kernel", "--option", "values=predict"),
            "unknown option of kernel 'values'.* It is an option of rbf and tree: pass --oracle rbf.",
        ),
        (("lpboost", "--nu", "0.3", "--option", "depth"), "--option takes name=value; got 'depth'"),
        (("lpboost", "--nu", "0.3", "--oracle", "tree", "--option", "depth=2"), "unknown option of tree 'depth'"),
        (("lpboost", "--nu", "0.3", "--update", "step"), "update='step' needs a strongly convex regularizer"),
        (("lpboost", "--nu", "0.3", "--backend", "nonsense"), "unknown backend 'nonsense'"),
        (("lpboost", "--nu", "0.3", "--max-rounds", "0"), "--max-rounds must be None, or a whole number"),
        (
            ("lpboost", "--nu", "0.3", "--epsilon", "0.1", "--set", "epsilon=1"),
            "epsilon is given twice, by --epsilon and by --set",
        ),
        (("lpboost", "--nu", "0.3", "--out", "no/run.npz"), "expected the path of a file in a writable folder"),
        (("lpboost", "--nu", "0.3", "--checkpoint", "no/run.npz"), "expected the path of a file in a writable folder"),
        (("lpboost", "--nu", "0.3", "--picture", "p.txt"), r"--picture takes a file ending in \.png"),
        (("lpboost", "--nu", "0.3", "--out", "a", "--certificate", "a"), "each result needs a file of its own"),
        (("adaboost_reg",), "AdaBoost_REG needs C, the factor by which past weight counts as margin"),
    ],
)
def test_bad_input_is_an_error(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(message, "boost", *arguments, "--data", data)
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]


def test_no_result_replaces_the_data(data: Path) -> None:
    before = data.read_bytes()
    refused(
        "each result needs a file of its own, and none that of the data",
        "boost",
        "lpboost",
        "--nu",
        "0.3",
        "--data",
        data,
        "--out",
        data,
    )
    assert data.read_bytes() == before


PROTOTYPE = """
from boostopt.authoring import COUNT, Cap, CappedSimplex, parameter, prototype


class OwnCap(Cap):
    pass


own = prototype(
    "own", lambda p, examples: OwnCap(CappedSimplex(examples.c, p.nu)), nu=parameter("number of examples", COUNT)
)
"""


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("qp_reg_adaboost", "--set", "C=0.1"), "qp_reg_adaboost has no soft margin over a class to certify"),
        (("own.py", "--nu", "0.3"), "a certificate file can only state a regularizer .* got OwnCap"),
    ],
    ids=["no soft margin", "a regularizer of one's own"],
)
def test_a_certificate_that_cannot_be_is_an_error_before_the_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(PROTOTYPE)
    assert run("boost", *arguments, "--data", data, "--epsilon", "0.1").exit_code == 0
    monkeypatch.setattr(boostopt.cli.commands.boost, "boost", None)
    refused(message, "boost", *arguments, "--data", data, "--epsilon", "0.1", "--certificate", "c.json")


@pytest.mark.parametrize("option", ["max_depth=0", "max_depth=deep", "min_samples_leaf=0", "max_leaf_nodes=1"])
@pytest.mark.parametrize(("command", "nu"), [("boost", "0.3"), ("path", "0.3,0.4")])
def test_options_that_trees_do_not_take_are_bad_input(data: Path, option: str, command: str, nu: str) -> None:
    arguments = ("erlpboost", "--data", data, "--nu", nu, "--oracle", "tree", "--option", option)
    refused(
        rf"--option of a tree: The '{option.partition('=')[0]}' parameter .*Correct the option", command, *arguments
    )


def test_values_between_commas_are_none_left_out(data: Path) -> None:
    expected = "--nu must be a number; got ''"
    refused(expected, "path", "erlpboost", "--data", data, "--nu", "0.1,,0.2")
    expected = "--eta takes numbers separated by commas; got '1,,2'"
    refused(expected, "path", "erlpboost", "--data", data, "--nu", "0.2", "--eta", "1,,2")
