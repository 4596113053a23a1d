"""`compare` of several formulations and data sets: one benchmark, and what is no program is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from invoked import document, refused, run
from problems import REFERENCE_U

SMALL = ("--nu", "0.4", "--backends", "interior,highs", "--repeats", "1", "--tol", "1e-6")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files of data, which is the one that we are in."""
    np.savez(tmp_path / "a.npz", U=REFERENCE_U)
    np.savez(tmp_path / "b.npz", U=-REFERENCE_U)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_formulations_and_data_with_commas_are_one_benchmark(here: Path) -> None:
    found = document("compare", "lpboost, erlpboost", "--data", "a.npz,b.npz", *SMALL, "--eta", "4")
    labels = list(found["programs"])
    assert [label.split(": N")[0] for label in labels] == [
        "a.npz: lpboost",
        "a.npz: erlpboost",
        "b.npz: lpboost",
        "b.npz: erlpboost",
    ]
    assert [about["parameters"].get("eta") for about in found["programs"].values()] == [None, 4.0, None, 4.0]
    assert found["settings"]["repeats"] == 1 and len(found["runs"]) == 8
    assert found["origin"]["data"] == "a.npz,b.npz" and found["origin"]["skipped"] == []


@pytest.mark.parametrize("formulations, data", [("lpboost", "a.npz,b.npz"), ("lpboost,svm", "a.npz")])
def test_either_may_be_several_and_parameters_go_where_they_are_known(here: Path, formulations: str, data: str) -> None:
    setting = ["--set", "C=2"] if "svm" in formulations else []
    found = document("compare", formulations, "--data", data, *SMALL, *setting)
    assert len(found["programs"]) == 2 and "scores" in found


def test_one_of_each_stays_a_plain_comparison(here: Path) -> None:
    found = document("compare", "lpboost", "--data", "a.npz", *SMALL[:4])
    assert found["formulation"] == "lpboost" and "scores" not in found


def test_a_file_with_a_comma_in_its_name_is_one(here: Path) -> None:
    (here / "a.npz").rename(here / "a,b.npz")
    found = document("compare", "lpboost", "--data", "a,b.npz", *SMALL[:4])
    assert found["formulation"] == "lpboost" and found["origin"]["data"] == "a,b.npz"


def test_what_cannot_be_bound_is_said_and_left_out(here: Path) -> None:
    result = run("compare", "lpboost,softboost", "--data", "a.npz,b.npz", *SMALL)
    assert result.exit_code == 0, result.stderr
    for name in ("a.npz", "b.npz"):
        assert f"left out: softboost on {name}. softboost needs gamma" in result.stderr
        assert f"softboost on {name}: left out. softboost needs gamma" in result.stdout
    assert "a.npz: lpboost" in result.stdout


def test_all_formulations_on_data_by_name(here: Path) -> None:
    found = document("compare", "all", "--data", "a.npz", "--nu", "0.4", "--backends", "interior", *SMALL[4:])
    made = {about["formulation"] for about in found["programs"].values()}
    skipped = {what.split(" on ")[0] for what, _ in found["origin"]["skipped"]}
    assert {"lpboost", "erlpboost"} <= made and "svm" in skipped and not made & skipped


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["lpboost", "--data", "a.npz,a.npz"], r"expected data sets, each once, separated by commas; got 'a\.npz,a"),
        (["lpboost", "--data", ","], "expected data sets, each once"),
        (["lpboost,lpboost", "--data", "a.npz"], "expected formulations, each once, separated by commas, or all"),
        (["lpboost,nonsense", "--data", "a.npz"], "unknown formulation 'nonsense'"),
        (["lpboost", "--data", "a.npz,c.npz"], "expected a file or one of .*; there is no file 'c.npz'"),
        (["lpboost,softboost", "--data", "a.npz", "--set", "C=1"], "unknown parameter of the formulations 'C'"),
        (["softboost,svm", "--data", "a.npz"], "expected formulations that the data are for; there is no program"),
        (["lpboost", "--data", "a.npz,b.npz", "--resume", "b.npz"], "each result needs a file of its own"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(here: Path, arguments: list[str], message: str) -> None:
    refused(message, "compare", *arguments, *SMALL)
