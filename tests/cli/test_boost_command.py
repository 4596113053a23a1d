"""`boostopt boost`: what it proves, exit statuses, streams, files, interrupts, bad input."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runner import document, examples, refused, run, write_csv, write_examples

import boostopt.cli.commands.boost
from boostopt import Run, boost, stump_matrix
from boostopt._utils import files
from boostopt.boosting.run import progress_line
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import TraceRow
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


def test_the_command_makes_the_run_of_the_library(data: Path) -> None:
    file_document = document("boost", "erlpboost", "--data", data, *COARSE)
    X, y = examples()
    own_run = boost("erlpboost", DecisionStumps(X, y), nu=0.3 * 40, epsilon=0.2)
    assert file_document["class"]["lower"] == own_run.class_certificate.lower
    assert file_document["class"]["upper"] == own_run.class_certificate.upper
    assert (file_document["rounds"], file_document["reason"]) == (own_run.rounds, own_run.reason)
    assert file_document["parameters"]["nu"] == 12.0
    assert file_document["trace"]["gap"] == own_run.trace["gap"].tolist()
    weights = [pair["weight"] for pair in file_document["weights"]]
    assert weights == sorted(own_run.w[own_run.w > 0].tolist(), reverse=True)
    assert file_document["reached"] is True and file_document["class"]["bounded"] is True


def test_a_round_may_add_several_columns(data: Path) -> None:
    file_document = document(
        "boost", "lpboost", "--data", data, "--update", "total", *COARSE, "--columns-per-round", "4"
    )
    assert file_document["reached"] is True and file_document["trace"]["hypotheses"][0] > 1


def test_a_named_backend_that_turns_passes_off_is_said_so(data: Path) -> None:
    line = "Without --backend, the run makes passes over the data"
    assert line in run("boost", "lpboost", "--data", data, *COARSE, "--backend", "interior").stderr
    assert line not in run("boost", "lpboost", "--data", data, *COARSE).stderr
    # AdaBoost makes no passes anyway.
    assert line not in run("boost", "adaboost", "--data", data, "--max-rounds", 3, "--backend", "interior").stderr
    assert line not in run("boost", "lpboost", "--data", data, *COARSE, "--update", "total").stderr


def test_a_full_disk_is_an_error_before_the_run(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MIN_FREE_BYTES", 1 << 62)
    refused(
        r"certificate\.json cannot be written\b.*\bfree bytes\b",
        *("boost", "lpboost", "--data", data, *COARSE, "--certificate", tmp_path / "certificate.json"),
    )
    assert run("boost", "lpboost", "--data", data, *COARSE).exit_code == 0


def test_the_table_says_what_is_proved_and_progress_goes_to_the_standard_error(data: Path) -> None:
    result = run("boost", "erlpboost", "--data", data, *COARSE)
    assert result.exit_code == 0
    assert re.search(r"^│ best soft margin of the class +│ \[.+, .+\] +│$", result.stdout, re.MULTILINE)
    assert re.search(r"^│ gap +│ \S+, within \w+ = 0\.2 +│$", result.stdout, re.MULTILINE)
    assert "round 1" not in result.stdout
    assert re.match(r"erlpboost: round 1, \d+ hypotheses, soft margin ", result.stderr)


def test_a_run_that_is_cut_short_exits_with_1_and_prints_the_same(data: Path) -> None:
    result = run("boost", "erlpboost", "--data", data, *COARSE, "--max-rounds", 2)
    assert result.exit_code == 1
    assert StopReason.ROUND_LIMIT in result.stdout
    assert re.search(r"^│ gap +│ \S+, NOT within \w+ = 0\.2 +│$", result.stdout, re.MULTILINE)


def test_algorithms_that_nothing_need_stop_have_done_what_was_asked_at_their_limit(data: Path) -> None:
    file_document = document("boost", "adaboost", "--data", data, "--max-rounds", 7, "--epsilon", 0.001)
    assert (file_document["rounds"], file_document["reached"]) == (7, True)
    assert file_document["class"]["gap"] > 0.001
    refused(r"\badaboost\b.*\bnone\b.*--max-rounds\b.*--time-limit\b", "boost", "adaboost", "--data", data)


def test_a_program_without_a_soft_margin_is_reached_when_its_rule_holds(data: Path) -> None:
    arguments = ("boost", "qp_reg_adaboost", "--data", data, "--set", "C=0.1", "--epsilon", 0.1)
    file_document = document(*arguments)
    assert file_document["class"] is None
    assert file_document["reason"].startswith("priced:")
    assert document(*arguments, "--max-rounds", 1, status=1)["reached"] is False
    assert re.search(r"^│ gap +│ no soft margin; (?!NOT\b)", run(*arguments).stdout, re.MULTILINE)


def test_a_heuristic_oracle_has_no_bound_and_its_rule_counts(data: Path) -> None:
    arguments = ("boost", "erlpboost", "--data", data, *COARSE, "--oracle", "tree", "--option", "max_depth=1")
    file_document = document(*arguments)
    assert file_document["class"]["bounded"] is False and file_document["class"]["upper"] is None
    assert file_document["reason"].startswith("direct:")
    assert document(*arguments, "--max-rounds", 1, status=1)["reached"] is False
    assert re.search(r"^│ gap +│ not known: .*\bheuristic\b", run(*arguments).stdout, re.MULTILINE)


@pytest.mark.parametrize("formulation, more", [("softboost", COARSE), ("totalboost", COARSE[2:])])
def test_parameters_that_are_set_anew_are_those_of_the_last_round(
    data: Path, formulation: str, more: tuple[str, ...]
) -> None:
    file_document = document("boost", formulation, "--data", data, *more)
    # gamma is the smallest edge less epsilon; the last program was made before the oracle's last answer.
    assert file_document["parameters"]["gamma"] >= file_document["trace"]["smallest_edge"][-1] - 0.2 - 1e-9
    assert file_document["class"]["gap"] <= 0.2 + 1e-9


def test_a_run_that_ends_in_its_first_round_is_printed(data: Path) -> None:
    result = run("boost", "ata", "--data", data, "--set", "phi=0.01", "--max-rounds", 5)
    assert result.exit_code == 1
    assert re.search(r"^│ stopped +│ .*\bedge\b.* 0\.98 by", result.stdout, re.MULTILINE)


def test_the_columns_of_a_margin_matrix_are_the_class(margins: Path) -> None:
    file_document = document("boost", "erlpboost", "--data", margins, *COARSE)
    assert file_document["hypotheses"] <= 20 and file_document["class"]["gap"] <= 0.2
    both = document("boost", "svm", "--data", margins, "--set", "C=0.1", "--reflexive", "--epsilon", 0.1)
    assert both["reached"] is True
    refused(r"\bsvm\b.*\bsign\b.*\breflexive\b", "boost", "svm", "--data", margins, "--set", "C=0.1")
    refused(r"margins\.npz .*\bU\b.*--oracle\b", "boost", "lpboost", "--data", margins, "--oracle", "stump")


def test_multiplicities_count(tmp_path: Path) -> None:
    X, y = examples(20)
    c = np.arange(20) % 3
    np.savez(tmp_path / "weighted.npz", X=X, y=y, c=c)
    np.savez(tmp_path / "copied.npz", X=X.repeat(c, axis=0), y=y.repeat(c))
    weighted = document("boost", "lpboost", "--data", tmp_path / "weighted.npz", *COARSE)
    copied = document("boost", "lpboost", "--data", tmp_path / "copied.npz", *COARSE)
    assert weighted["examples"] == 13
    assert weighted["examples_with_multiplicity"] == c.sum() == copied["examples"]
    weighted_class, copied_class = weighted["class"], copied["class"]
    assert max(weighted_class["lower"], copied_class["lower"]) <= min(weighted_class["upper"], copied_class["upper"])


def test_hypotheses_have_the_names_of_their_columns(tmp_path: Path) -> None:
    rows = [(n, (7 * n) % 5, "up" if n > 9 else "down") for n in range(20)]
    table = write_csv(tmp_path / "t.csv", "height,noise,label", rows)
    file_document = document("boost", "lpboost", "--data", table, "--nu", 1)
    assert file_document["weights"][0]["hypothesis"] == "height > 9.5"
    assert file_document["class"]["lower"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("oracle", "options", "description"),
    [
        ("stump", (), r"\bstumps\b.* 4\b"),
        ("feature", (), r"\b4 features\b"),
        ("kernel", ("kernel=rbf", "gamma=0.5"), r"\brbf kernel\b.* 0\.5\b"),
        ("rbf", ("K=3", "iterations=1"), r"\bRBF\b"),
    ],
)
def test_every_class_of_hypotheses_can_be_boosted(
    data: Path, oracle: str, options: tuple[str, ...], description: str
) -> None:
    option_words = [word for option in options for word in ("--option", option)]
    file_document = document(
        "boost", "lpboost", "--data", data, "--nu", "0.5", "--epsilon", 0.4, "--oracle", oracle, *option_words
    )
    assert re.search(description, file_document["oracle"])


# Files


@pytest.mark.thorough
def test_the_command_saves_the_run_and_a_certificate_that_others_verify(data: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("run.npz", "class.json", "picture.png")]
    named = [
        word for flag, path in zip(("--out", "--certificate", "--picture"), files, strict=True) for word in (flag, path)
    ]
    file_document = document("boost", "erlpboost", "--data", data, *COARSE, *named)
    X, y = examples()
    # The loaded run computes the lower bound again, in floating point.
    assert (
        file_document["class"]["lower"] - 1e-12
        < Run.load(files[0]).class_certificate.lower
        <= file_document["class"]["lower"]
    )
    verification = verify(files[1], DecisionStumps(X, y))
    assert verification, verification.reason
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_that_is_there_is_gone_on_from(data: Path, tmp_path: Path) -> None:
    whole = document("boost", "erlpboost", "--data", data, *COARSE)
    arguments = ("boost", "erlpboost", "--data", data, *COARSE, "--checkpoint", tmp_path / "run.npz")
    part = document(*arguments, "--max-rounds", 2, status=1)
    assert part["rounds"] == 2
    rest = document(*arguments)
    # The rounds that were made are kept, and the rest ends where a run in one go does.
    assert rest["trace"]["gap"][:2] == part["trace"]["gap"][:2] == whole["trace"]["gap"][:2]
    assert rest["rounds"] > 2 and rest["reached"] is True
    resumed_class, whole_class = rest["class"], whole["class"]
    assert max(resumed_class["lower"], whole_class["lower"]) <= min(resumed_class["upper"], whole_class["upper"])
    refused(r"\bcheckpoint\b.*run\.npz.* nu = 20\.0\b.* nu = 12\.0\b", *arguments[:4], "--nu", "0.5", *arguments[6:])


def test_ctrl_c_finishes_the_round_prints_and_saves_what_there_is(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupting_progress(*streams: object) -> Any:
        def show(row: TraceRow) -> None:
            if row.round == 2:
                os.kill(os.getpid(), signal.SIGINT)

        return show

    monkeypatch.setattr(progress_line, "PlainProgress", interrupting_progress)
    out, checkpoint = tmp_path / "run.npz", tmp_path / "going.npz"
    arguments = ("boost", "erlpboost", "--data", data, *COARSE)
    file_document = document(*arguments, "--out", out, "--checkpoint", checkpoint, status=130)
    assert (file_document["rounds"], file_document["reason"], file_document["reached"]) == (
        2,
        StopReason.INTERRUPTED,
        False,
    )
    assert file_document["class"]["lower"] <= file_document["class"]["upper"]
    assert Run.load(out).rounds == 2
    result = run(*arguments, "--checkpoint", tmp_path / "other.npz")
    assert result.exit_code == 130
    assert re.search(rf"^interrupted: {re.escape(str(tmp_path / 'other.npz'))} .*\n\Z", result.stderr, re.MULTILINE)
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
    assert re.fullmatch(rf"{re.escape(str(checkpoint))} .*\ninterrupted\n", result.stderr)


# Bad input


@pytest.mark.parametrize(
    "arguments, facts",
    [
        (("lpbost", "--nu", "0.1"), "'lpbost'.*'lpboost'"),
        (("lpboost",), r"\blpboost\b.*\bnu\b.*\bnone\b.*--nu\b"),
        (("lpboost", "--nu", "2.5"), r"--nu\b.*\(0, 1\].* 2\.5\b"),
        (("lpboost", "--nu", "0.3", "--epsilon", "0"), r"--epsilon\b.*\bpositive\b.* 0\.0\b"),
        (("lpboost", "--nu", "0.3", "--oracle", "stumps"), r"'stumps'.*'stump'.*\bkernel\b"),
        (("lpboost", "--nu", "0.3", "--option", "depth=2"), r"\bstump\b.*'depth'.*\bnone\.$"),
        (("lpboost", "--nu", "0.3", "--option", "max_depth=2"), r"\bstump\b.*'max_depth'.*--oracle\b.*\btree\.$"),
        (
            ("lpboost", "--nu", "0.3", "--oracle", "kernel", "--option", "values=predict"),
            r"\bkernel\b.*'values'.*\bgamma\b.*\btree\b.*--oracle\b.*\brbf\.$",
        ),
        (("lpboost", "--nu", "0.3", "--option", "depth"), r"--option\b.*\bname=value\b.*'depth'"),
        (("lpboost", "--nu", "0.3", "--oracle", "tree", "--option", "depth=2"), r"\btree\b.*'depth'.*'max_depth'"),
        (("lpboost", "--nu", "0.3", "--update", "step"), r"--update step\b.*\blpboost\b.*--update total\.$"),
        (("lpboost", "--nu", "0.3", "--backend", "nonsense"), r"'nonsense'.*\bcvxpy:highs\b"),
        (("lpboost", "--nu", "0.3", "--max-rounds", "0"), r"--max-rounds\b.* 1\b.* 0\."),
        (("lpboost", "--nu", "0.3", "--epsilon", "0.1", "--set", "epsilon=1"), r"\bepsilon\b.*--epsilon\b.*--set\b"),
        (("lpboost", "--nu", "0.3", "--out", "no/run.npz"), r"\bfolder\b.*'no/run\.npz'"),
        (("lpboost", "--nu", "0.3", "--checkpoint", "no/run.npz"), r"\bfolder\b.*'no/run\.npz'"),
        (("lpboost", "--nu", "0.3", "--picture", "p.txt"), r"--picture\b.*\.png\b.*'p\.txt'"),
        (("lpboost", "--nu", "0.3", "--out", "a", "--certificate", "a"), r"'a' twice\b"),
        (("adaboost",), r"\badaboost\b.*--max-rounds or --time-limit\.$"),
        (("adaboost_reg",), r"\bAdaBoost_REG\b.*\bC\b.*\bnone\b.*--set\b.*\bC=NUMBER"),
    ],
)
def test_bad_input_is_an_error(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], facts: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(facts, "boost", *arguments, "--data", data)
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]


def test_no_result_replaces_the_data(data: Path) -> None:
    content = data.read_bytes()
    refused(rf"'{re.escape(str(data))}' twice\b", "boost", "lpboost", "--nu", "0.3", "--data", data, "--out", data)
    assert data.read_bytes() == content


PROTOTYPE = """
from boostopt.authoring import COUNT, CappedSimplex, CappedSimplexIndicator, parameter, prototype


class OwnCap(CappedSimplexIndicator):
    pass


own = prototype(
    "own", lambda p, examples: OwnCap(CappedSimplex(examples.c, p.nu)), nu=parameter("number of examples", COUNT)
)
"""


@pytest.mark.parametrize(
    "arguments, facts",
    [
        (("qp_reg_adaboost", "--set", "C=0.1"), r"\bqp_reg_adaboost\b.*\bmargin\b.*--certificate\b"),
        (("own.py", "--nu", "0.3"), r"\bregularizer\b.*\bOwnCap\b"),
    ],
    ids=["margin", "regularizer"],
)
def test_a_certificate_that_cannot_be_is_an_error_before_the_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], facts: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(PROTOTYPE)
    assert run("boost", *arguments, "--data", data, "--epsilon", "0.1").exit_code == 0
    monkeypatch.setattr(boostopt.cli.commands.boost, "boost", None)
    refused(facts, "boost", *arguments, "--data", data, "--epsilon", "0.1", "--certificate", "c.json")


DESCRIPTION = """
import cvxpy as cp

from boostopt.authoring import COUNT, CappedSimplex, CvxpyRegularizer, parameter, prototype


def squares(p, examples):
    uniform = examples.c / examples.total
    return CvxpyRegularizer(CappedSimplex(examples.c, p.nu), lambda d: cp.sum_squares(d - uniform), uniform)


page = prototype("squares", squares, nu=parameter("number of examples", COUNT))
"""


@pytest.mark.thorough_cases("description")
@pytest.mark.parametrize(
    ("arguments", "further"),
    [
        (("logitboost_cg", "--set", "D=5"), ()),
        (("description.py", "--nu", "0.3"), ("--formulation", "description.py")),
    ],
    ids=["price", "description"],
)
def test_values_that_are_no_soft_margin_have_certificate_files(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], further: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "description.py").write_text(DESCRIPTION)
    how = ("--data", data, "--epsilon", "0.1", "--max-rounds", "5", "--certificate", "proof.json")
    assert run("boost", *arguments, *how).exit_code in (0, 1)
    assert run("verify", "proof.json", "--data", data, *further).exit_code == 0


@pytest.mark.parametrize("option", ["max_depth=0", "max_depth=deep", "min_samples_leaf=0", "max_leaf_nodes=1"])
@pytest.mark.parametrize(("command", "nu"), [("boost", "0.3"), ("path", "0.3,0.4")])
def test_options_that_trees_do_not_take_are_bad_input(data: Path, option: str, command: str, nu: str) -> None:
    arguments = ("erlpboost", "--data", data, "--nu", nu, "--oracle", "tree", "--option", option)
    name, _, value = option.partition("=")
    refused(rf"--option\b.*\btree\b.*'{name}'.*\b{value}\b", command, *arguments)


def test_values_between_commas_are_none_left_out(data: Path) -> None:
    refused(r"--nu\b.*\bnumber\b.*''", "path", "erlpboost", "--data", data, "--nu", "0.1,,0.2")
    refused(r"--eta\b.*'1,,2'", "path", "erlpboost", "--data", data, "--nu", "0.2", "--eta", "1,,2")
