"""`compare` of several formulations and data sets: one benchmark, and what is no program is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_runner import document, refused, run
from support.problems import REFERENCE_U

from boostopt import ProblemError, get_formulation

SMALL = ("--nu", "0.4", "--backends", "interior,highs", "--repeats", "1", "--tol", "1e-6")


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, a folder with two data files."""
    np.savez(tmp_path / "a.npz", U=REFERENCE_U)
    np.savez(tmp_path / "b.npz", U=-REFERENCE_U)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_formulations_and_data_with_commas_are_one_benchmark(data_folder: Path) -> None:
    file_document = document("compare", "lpboost, erlpboost", "--data", "a.npz,b.npz", *SMALL, "--eta", "4")
    labels = list(file_document["programs"])
    assert [label.split(": N")[0] for label in labels] == [
        "a.npz: lpboost",
        "a.npz: erlpboost",
        "b.npz: lpboost",
        "b.npz: erlpboost",
    ]
    assert [about["parameters"].get("eta") for about in file_document["programs"].values()] == [None, 4.0, None, 4.0]
    assert file_document["settings"]["repeats"] == 1 and len(file_document["runs"]) == 8
    assert file_document["origin"]["data"] == "a.npz,b.npz" and file_document["origin"]["skipped"] == []


@pytest.mark.parametrize("formulations, data", [("lpboost", "a.npz,b.npz"), ("lpboost,svm", "a.npz")])
def test_either_may_be_several_and_parameters_go_where_they_are_known(
    data_folder: Path, formulations: str, data: str
) -> None:
    setting = ["--set", "C=2"] if "svm" in formulations else []
    file_document = document("compare", formulations, "--data", data, *SMALL, *setting)
    assert len(file_document["programs"]) == 2 and "scores" in file_document


def test_one_of_each_stays_a_plain_comparison(data_folder: Path) -> None:
    file_document = document("compare", "lpboost", "--data", "a.npz", *SMALL[:4])
    assert file_document["formulation"] == "lpboost" and "scores" not in file_document


def test_a_file_with_a_comma_in_its_name_is_one(data_folder: Path) -> None:
    (data_folder / "a.npz").rename(data_folder / "a,b.npz")
    file_document = document("compare", "lpboost", "--data", "a,b.npz", *SMALL[:4])
    assert file_document["formulation"] == "lpboost" and file_document["origin"]["data"] == "a,b.npz"


def test_files_that_cannot_be_bound_are_reported_and_left_out(data_folder: Path) -> None:
    result = run("compare", "lpboost,softboost", "--data", "a.npz,b.npz", *SMALL)
    assert result.exit_code == 0, result.stderr
    for name in ("a.npz", "b.npz"):
        missing_parameter = rf"\bsoftboost on {re.escape(name)}\b.*\bsoftboost\b.*\bgamma\b"
        assert re.search(missing_parameter, result.stderr) and re.search(missing_parameter, result.stdout)
    assert "a.npz: lpboost" in result.stdout


def test_all_formulations_on_data_by_name(data_folder: Path) -> None:
    file_document = document("compare", "all", "--data", "a.npz", "--nu", "0.4", "--backends", "interior", *SMALL[4:])
    compared = {about["formulation"] for about in file_document["programs"].values()}
    skipped = {label.split(" on ")[0] for label, _ in file_document["origin"]["skipped"]}
    assert {"lpboost", "erlpboost"} <= compared and "svm" in skipped and not compared & skipped


@pytest.mark.parametrize(
    "arguments, facts",
    [
        (["lpboost", "--data", "a.npz,a.npz"], r"\bdata\b.*\bonce\b.*'a\.npz,a\.npz'"),
        (["lpboost", "--data", ","], r"\bdata sets\b.*''"),
        (["lpboost,lpboost", "--data", "a.npz"], r"\bformulations\b.*\bonce\b.*\ball\b.*'lpboost,lpboost'"),
        (["lpboost,nonsense", "--data", "a.npz"], r"'nonsense'.*\berlpboost\b"),
        (["lpboost", "--data", "a.npz,c.npz"], r"\bbreast_cancer\b.*\bno\b.*'c\.npz'"),
        (["lpboost,softboost", "--data", "a.npz", "--set", "C=1"], r"'C'.*\bepsilon\b.*\bgamma\b.*\bnu\b"),
        (["softboost,svm", "--data", "a.npz"], r"\bprogram\b.*\bsoftboost\b.*\bgamma\b.*\bsvm\b.*\bC\b"),
        (["lpboost", "--data", "a.npz,b.npz", "--resume", "b.npz"], r"'b\.npz' twice\b"),
    ],
)
def test_inconsistent_arguments_are_refused_before_any_work(
    data_folder: Path, arguments: list[str], facts: str
) -> None:
    refused(facts, "compare", *arguments, *SMALL)


def test_options_that_have_an_effect_are_not_said_to_have_none(data_folder: Path) -> None:
    """The matrix drawn for all formulations was once taken for a matrix of the file."""
    rng = np.random.default_rng(0)
    for name in ("c.csv", "d.csv"):
        rows = "".join(f"{x:.3f},{z:.3f},{int(x + z > 0)}\n" for x, z in rng.normal(size=(12, 2)))
        (data_folder / name).write_text(f"x,z,label\n{rows}")
    shared = ("--backends", "interior", "--repeats", "1", "--tol", "1e-6", "--nu", "4", "--columns", "6")
    result = run("compare", "lpboost", "--data", "c.csv,d.csv", *shared, "--json")
    assert "--columns" not in result.stderr
    assert [about["hypotheses"] for about in json.loads(result.stdout)["programs"].values()] == [6, 6]
    result = run("compare", "lpboost", "--data", "a.npz,c.csv", *shared)
    (warning,) = re.findall(r"^warning: .*", result.stderr, re.MULTILINE)
    assert re.search(r"\ba\.npz .*--columns, --hypotheses\b.*--random-state\b", warning)


WEIGHTED = {
    "compare": ("lpboost", "--backends", "interior"),
    "boost": ("lpboost",),
    "path": ("lpboost",),
    "export": ("lpboost", "--out", "x.npz"),
    "fit": ("--out", "m.npz"),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("command", WEIGHTED)
@pytest.mark.parametrize("nu", ["2", "0.1"])
def test_every_command_says_that_weights_of_sum_1_must_be_scaled(data_folder: Path, command: str, nu: str) -> None:
    rows = "".join(f"{n},{n % 2},{1 / 16}\n" for n in range(16))
    (data_folder / "w.csv").write_text(f"x,label,w\n{rows}")
    arguments = (command, *WEIGHTED[command], "--data", "w.csv", "--weights", "w", "--nu", nu)
    if (command, nu) == ("fit", "0.1"):  # a share of the weights, whatever their scale
        assert run(*arguments, "--max-iter", "1").exit_code in (0, 1)
        return
    refused(r"\bnu\b.* 16\b.*\bsum to 1\b.*\bScale\b", *arguments)


@pytest.mark.parametrize("scale", [1 / 16, 1 / 32])
def test_programs_say_that_weights_must_be_scaled(scale: float) -> None:
    c = np.full(16, scale)
    U = np.where(np.arange(32).reshape(16, 2) % 3, 1, -1)
    for nu in (2.0, 0.1):
        with pytest.raises(ProblemError, match=rf"\bnu\b.* {nu:g}\b.* 16\b.*\bsum to {16 * scale:g}\b.*\bScale\b"):
            get_formulation("lpboost").bind(U, nu=nu, c=c)
    with pytest.raises(ProblemError, match=r"\bnu\b.* 0\.01\b.* 0\.0625\.$"):
        get_formulation("lpboost").bind(U, nu=0.01)
