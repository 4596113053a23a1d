"""The command line: exit statuses, what goes to which stream, and no traceback for bad input."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from command_runner import refused, run
from support.problems import REFERENCE_D0, REFERENCE_ETA, REFERENCE_NU, REFERENCE_U, reference_lpboost
from typer.main import get_command

import boostopt
import boostopt.cli
import boostopt.cli.commands.compare
import boostopt.cli.commands.list
from boostopt import (
    Comparison,
    Program,
    compare,
    get_backend,
    get_formulation,
    list_backends,
    list_formulations,
    load_dataset,
)
from boostopt._utils.formatting import escape_unprintable, format_interval
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.boosting.boosters import BOOSTERS
from boostopt.cli.commands.list import first_sentence
from boostopt.exporting.export import FORMATS

PACKAGE = Path(boostopt.__file__).parent

OPTIMUM = 2 / 530
"""The optimum of LPBoost on the reference matrix with nu = 2.5."""

# nu = 2.5 is no fraction and no count on the command line: it comes as a further parameter.
REFERENCE = ("--set", f"nu={REFERENCE_NU}", "--backends", "cvxpy:highs")


LOUD_PAGE = '''
"""LPBoost that talks: when it is loaded, when it is bound and when it is solved, by every way there is to print."""

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass

from boostopt.authoring import COUNT, CappedSimplexIndicator, CappedSimplex, Formulation, MaximumEdge, parameter

KEPT = sys.stdout


def talk(when):
    print(f"printed when {when}")
    os.write(1, f"written when {when}\\n".encode())
    sys.__stdout__.write(f"kept when {when}\\n")
    KEPT.write(f"saved when {when}\\n")
    if sys.platform != "win32":
        ctypes.CDLL(None).printf(f"by C when {when}\\n".encode())
    subprocess.run([sys.executable, "-c", f"print('by a child when {when}')"])


talk("loaded")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    nu: float = parameter("number of examples", COUNT)


class LoudEdge(MaximumEdge):
    def cvxpy_value(self, e):
        talk("solved")
        return super().cvxpy_value(e)


class Loud(Formulation[Parameters]):
    name = "loud"
    title = "Loud"
    sources = ("none",)
    Parameters = Parameters

    def regularizer(self, p, examples):
        talk("bound")
        return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))

    def edge_function(self, p):
        return LoudEdge()

    def primal(self, U, p, examples):
        raise NotImplementedError

    def dual(self, U, p, examples):
        raise NotImplementedError
'''


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python as people do: with the buffers that it and the C library have unless told otherwise."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def started(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    return python("-m", "boostopt", *arguments)


def document(*arguments: object) -> dict[str, Any]:
    result = run("compare", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def save(path: Path, **arrays: Any) -> None:
    np.savez(path, **arrays)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The reference matrix as a file."""
    path = tmp_path / "reference.npz"
    save(path, U=REFERENCE_U)
    return path


# compare: exit status and streams


def test_a_comparison_that_reaches_the_tolerance_exits_with_0_and_prints_a_table(data: Path) -> None:
    result = run("compare", "lpboost", "--data", data, *REFERENCE)
    assert result.exit_code == 0
    assert result.stdout.startswith("lpboost: N = 6, t = 3, nu = 2.5, epsilon = 0.01")
    assert "1e-08: cvxpy:highs." in result.stdout


def test_a_comparison_that_does_not_reach_it_exits_with_1_and_prints_the_same(data: Path) -> None:
    # Rounding alone makes every interval wider than this.
    result = run("compare", "lpboost", "--data", data, *REFERENCE, "--tol", "1e-16")
    assert result.exit_code == 1
    assert "1e-16: cvxpy:highs." in result.stdout


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]], ids=["table", "json", "csv"])
def test_compare_without_an_able_backend_exits_with_1_and_a_reason(data: Path, form: list[str]) -> None:
    result = run("compare", "erlpboost", "--data", data, *REFERENCE, *form)
    assert result.exit_code == 1
    assert re.search(r"cvxpy:highs\b.*\bexponential\b", result.stdout)
    assert "error" not in result.stderr


def test_intervals_that_contradict_each_other_exit_with_1_however_narrow(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compare_wrongly(*arguments: Any, **options: Any) -> Comparison:
        good = compare(*arguments, **options)
        return replace(good, runs=(replace(good.rows[0], lower=1.0, upper=1.0), good.rows[1]))

    monkeypatch.setattr(boostopt.cli.commands.compare, "compare", compare_wrongly)
    command = ("compare", "lpboost", "--data", data, *REFERENCE[:2], "--backends", "cvxpy:highs,cvxpy:clarabel")
    result = run(*command)
    assert result.exit_code == 1
    assert "1e-08: " not in result.stdout
    assert "contradict" in result.stdout
    assert json.loads(run(*command, "--json").stdout)["overlap"] is False


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]], ids=["table", "json", "csv"])
def test_progress_goes_to_the_standard_error(data: Path, form: list[str]) -> None:
    result = run("compare", "lpboost", "--data", data, *REFERENCE, *form)
    assert re.fullmatch(r"cvxpy:highs \.\.\.\ncvxpy:highs: bounded, gap \d\.\de-\d\d, \d+\.\d\d s\n", result.stderr)
    assert "..." not in result.stdout


def test_json_is_the_comparison(data: Path) -> None:
    file_document = document(
        "erlpboost", "--data", data, "--set", "nu=2.5", "--backends", "cvxpy:highs, cvxpy:clarabel"
    )
    assert [row["backend"] for row in file_document["rows"]] == ["cvxpy:highs", "cvxpy:clarabel"]
    assert [row["able"] for row in file_document["rows"]] == [False, True]
    assert file_document["rows"][0]["lower"] is None
    assert (file_document["lower"], file_document["upper"]) == (
        file_document["rows"][1]["lower"],
        file_document["rows"][1]["upper"],
    )
    assert file_document["digest"] == reference_lpboost().margins.digest()


def test_csv_is_a_header_and_the_rows(data: Path) -> None:
    backends = "cvxpy:highs,cvxpy:clarabel"
    result = run("compare", "lpboost", "--data", data, *REFERENCE[:2], "--backends", backends, "--csv")
    assert result.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["backend"] for row in rows] == ["cvxpy:highs", "cvxpy:clarabel"]
    assert all(float(row["lower"]) <= OPTIMUM <= float(row["upper"]) for row in rows)
    assert result.stdout.endswith("\n") and not result.stdout.endswith("\n\n")


def test_a_table_in_a_file_is_plain_and_whole(data: Path) -> None:
    result = run("compare", "lpboost", "--data", data, *REFERENCE)
    lower, upper = compare(reference_lpboost(), ["cvxpy:highs"]).interval
    assert format_interval(lower, upper) in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.thorough
def test_all_installed_backends_are_compared_by_default(data: Path) -> None:
    result = run("compare", "lpboost", "--data", data, *REFERENCE[:2], "--tol", "1e-3", "--json")
    assert result.exit_code == 0
    assert [row["backend"] for row in json.loads(result.stdout)["rows"]] == list_backends()


def test_json_and_csv_exclude_each_other(data: Path) -> None:
    refused(r"--json\b.*--csv\b", "compare", "lpboost", "--data", data, *REFERENCE, "--json", "--csv")


# compare: what is solved


BREAST_CANCER = ("lpboost", "--data", "breast_cancer", "--columns", 10, "--backends", "cvxpy:highs")


@pytest.mark.every(2)
@pytest.mark.thorough_cases("50-50")
@pytest.mark.parametrize(
    "nu, count",
    [("0.1", 56.9), ("50", 50), ("1.0", 569), ("1", 1), (" 3 ", 3), ("1e-1", 56.9), ("569", 569), ("1e2", 100)],
)
def test_nu_with_a_point_is_a_fraction_and_without_one_a_count(nu: str, count: float) -> None:
    assert document(*BREAST_CANCER, "--nu", nu)["parameters"]["nu"] == pytest.approx(count, rel=1e-15)


@pytest.mark.parametrize("nu", ["2.5", "0.0", "-0.5", "nan", "inf", "1.0000001"])
def test_a_fraction_outside_0_and_1_is_an_error_that_tells_it_from_a_count(nu: str) -> None:
    refused(rf"--nu\b.*\(0, 1\].* {re.escape(nu)}\b.*--set nu=", "compare", *BREAST_CANCER, "--nu", nu)


@pytest.mark.parametrize("nu", ["abc", "", "1/2", "0,1", "10%"])
def test_a_nu_that_is_no_number_is_an_error(nu: str) -> None:
    refused(rf"--nu\b.*\bnumber\b.* {re.escape(repr(nu))}", "compare", *BREAST_CANCER, "--nu", nu)


@pytest.mark.parametrize("nu, got", [("0", "0"), ("-5", "-5"), ("570", "570")])
def test_a_count_outside_its_domain_is_an_error_with_the_number_of_examples(nu: str, got: str) -> None:
    refused(rf"\bnu\b.*\[1, 569\].* {got}\.", "compare", *BREAST_CANCER, "--nu", nu)


@pytest.mark.parametrize("nu, count", [("0.001", "0.569"), ("0.00175", "0.99575"), ("1e-4", "0.0569")])
def test_a_fraction_that_is_less_than_one_example_is_an_error_with_the_smallest(nu: str, count: str) -> None:
    expected = rf"--nu\b.* 569\b.* {re.escape(nu)}\b.* {re.escape(count)}\b.* 1\b.* 0\.001758\.$"
    refused(expected, "compare", *BREAST_CANCER, "--nu", nu)
    assert document(*BREAST_CANCER, "--nu", "0.001758")["parameters"]["nu"] == pytest.approx(0.001758 * 569)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "formulation, remedy",
    [
        ("lpboost", r"--nu 0\.1\b.*--nu 50\b"),
        ("svm", "--set C=NUMBER"),
    ],
)
@pytest.mark.parametrize("command", ["compare", "boost", "export", "certify", "path", "fit"])
def test_a_parameter_that_is_needed_and_missing_is_an_error_that_names_its_option(
    tmp_path: Path, command: str, formulation: str, remedy: str
) -> None:
    name = "nu" if formulation == "lpboost" else "C"
    save(tmp_path / "answer.npz", w=np.ones(100))
    more: dict[str, list[object]] = {
        "export": ["--out", tmp_path / "m.mps"],
        "certify": [tmp_path / "answer.npz"],
        "path": ["--eta", "1,2"],
        "fit": ["--out", tmp_path / "m.npz"],
    }
    if command == "fit" and formulation == "lpboost":
        return  # --nu has a default there
    if command == "path":
        # A path needs values to go along, so that no parameter of a support vector machine is missing.
        formulation, remedy, name = "erlpboost", r"--nu 0\.1\b.*--nu 50\b", "nu"
    named = ["--formulation", formulation] if command == "fit" else [formulation]
    expected = rf"\b{formulation}\b.*\b{name}\b.*\bnone\b.*{remedy}"
    refused(expected, command, *named, *more.get(command, []), "--data", "breast_cancer")


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint8])
def test_a_fraction_counts_multiplicities(tmp_path: Path, dtype: type) -> None:
    # Their sum, 400, is more than eight bits hold.
    save(tmp_path / "data.npz", U=np.tile([[1], [-1]], (100, 1)), c=np.full(200, 2, dtype=dtype))
    file_document = document("lpboost", "--data", tmp_path / "data.npz", "--nu", "0.25", "--backends", "cvxpy:highs")
    assert file_document["parameters"]["nu"] == 100
    assert file_document["examples_with_multiplicity"] == 400


def test_eta_epsilon_and_the_reference_distribution_reach_the_program(tmp_path: Path) -> None:
    save(tmp_path / "data.npz", U=REFERENCE_U, d0=REFERENCE_D0)
    arguments = ("erlpboost", "--data", tmp_path / "data.npz", "--set", "nu=2.5", "--backends", "cvxpy:clarabel")
    file_document = document(*arguments, "--eta", REFERENCE_ETA, "--epsilon", 0.05)
    assert file_document["parameters"] == {"nu": 2.5, "eta": REFERENCE_ETA, "epsilon": 0.05, "two_sided": False}
    program = get_formulation("erlpboost").bind(REFERENCE_U, nu=2.5, eta=REFERENCE_ETA, d0=REFERENCE_D0)
    certified = program.solve("cvxpy:clarabel").certificate
    assert max(file_document["lower"], certified.lower) <= min(file_document["upper"], certified.upper)
    canonical = document(*arguments)["parameters"]
    assert canonical["eta"] == get_formulation("erlpboost").bind(REFERENCE_U, nu=2.5, d0=REFERENCE_D0).parameters.eta


@pytest.mark.parametrize("hypotheses", ["boosted", "random"])
def test_columns_hypotheses_and_seed_choose_the_stumps(hypotheses: str) -> None:
    hypothesis_options = () if hypotheses == "boosted" else ("--hypotheses", hypotheses)
    data = load_dataset("breast_cancer")
    for seed in (0, 3):
        file_document = document(
            *BREAST_CANCER, "--nu", 50, *hypothesis_options, *(("--random-state", seed) if seed else ())
        )
        program = get_formulation("lpboost").bind(data.margin_matrix(10, seed, hypotheses), nu=50)
        assert file_document["hypotheses"] == 10
        assert file_document["digest"] == program.margins.digest()
    refused(r"\bhypotheses\b.*\bboosted, random\b.*'any'", "compare", *BREAST_CANCER, "--hypotheses", "any")


@pytest.mark.thorough
def test_a_hundred_columns_are_drawn_by_default() -> None:
    file_document = document("lpboost", "--data", "breast_cancer", "--nu", "0.1", "--backends", "cvxpy:highs")
    assert file_document["hypotheses"] == 100


def test_label_and_positive_reach_the_data(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("kind,a\nx,1\ny,2\nz,3\n")
    arguments = ("lpboost", "--data", tmp_path / "data.csv", "--label", "kind", "--nu", 1, "--backends", "cvxpy:highs")
    file_document = document(*arguments, "--positive", "z")
    assert (file_document["examples"], file_document["hypotheses"]) == (3, 2)
    assert file_document["lower"] == pytest.approx(1.0)  # z is where a is above 2.5
    refused(r"data\.csv\b.* 3\b.*\(x, y, z\).*--positive", "compare", *arguments)


def test_weights_in_a_column_are_multiplicities(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,label,times\n1,x,3\n2,y,1\n3,x,2.5\n")
    arguments = ("lpboost", "--data", tmp_path / "data.csv", "--nu", 2, "--backends", "cvxpy:highs")
    assert document(*arguments, "--weights", "times")["examples_with_multiplicity"] == 6.5
    assert document(*arguments)["examples_with_multiplicity"] == 3
    refused(r"data\.csv\b.*'time'.*'times'.*--weights", "compare", *arguments, "--weights", "time")
    save(tmp_path / "answer.npz", w=np.ones(2))
    certify_arguments = (
        "certify",
        "lpboost",
        tmp_path / "answer.npz",
        *arguments[1:-2],
        "--weights",
        "times",
        "--json",
    )
    assert json.loads(run(*certify_arguments).stdout)["examples_with_multiplicity"] == 6.5


def test_arrays_that_nothing_reads_are_named_in_a_warning(tmp_path: Path) -> None:
    save(tmp_path / "data.npz", U=REFERENCE_U, C=np.ones(6), weights=np.ones(6))
    result = run("compare", "lpboost", "--data", tmp_path / "data.npz", *REFERENCE)
    assert result.exit_code == 0
    warning = rf"warning: {re.escape(str(tmp_path / 'data.npz'))} .*: C, weights\.\n"
    assert re.match(warning, result.stderr)
    assert "warning" not in result.stdout
    save(tmp_path / "answer.npz", w=np.ones(3), W=np.ones(3))
    result = run("certify", "lpboost", tmp_path / "answer.npz", "--data", tmp_path / "data.npz", *REFERENCE[:2])
    assert re.fullmatch(rf"{warning}warning: {re.escape(str(tmp_path / 'answer.npz'))} .*: W\.\n", result.stderr)


def test_data_and_answer_are_read_from_one_file(tmp_path: Path) -> None:
    d, w = reference_answer()
    save(tmp_path / "both.npz", U=REFERENCE_U, d=d, w=w)
    arguments = ("certify", "lpboost", tmp_path / "both.npz", "--data", tmp_path / "both.npz", *REFERENCE[:2])
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    save(tmp_path / "both.npz", U=REFERENCE_U, d=d, w=w, psi=np.ones(6))
    warning = rf"warning: {re.escape(str(tmp_path / 'both.npz'))} .*: psi\.\n"
    assert re.fullmatch(warning, run(*arguments).stderr)


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "json"])
def test_a_formulation_of_ones_own_comes_by_its_path(tmp_path: Path, data: Path, form: list[str]) -> None:
    page = tmp_path / "mine.py"
    page.write_text(LOUD_PAGE)
    result = run("compare", page, "--data", data, *REFERENCE, *form)
    assert result.exit_code == 0
    assert "loud" in result.stdout


# Bad input


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            "compare lpboost --data breast_cancr --nu 1",
            "expected a file or one of breast_cancer, digits, iris, wine; there is no file 'breast_cancr'. "
            "Did you mean 'breast_cancer'?",
        ),
        (
            "boost lpboost --data wine --positive 1",
            "lpboost needs nu, the least number of examples that share the weight: each gets at most c / nu, "
            "in [1, sum of c]; got none. Pass --nu 0.1 (a fraction of the examples) or --nu 50 (a number of them).",
        ),
        (
            "path lpboost --data wine --positive 1 --nu 2.5",
            "--nu with a decimal point is a fraction of the examples in (0, 1]; got 2.5. "
            "Omit the point to give a number of examples; use --set nu=... for a number that is not whole.",
        ),
        (
            "compare lpboost --data wine --positive 1 --nu 0.001",
            "--nu with a decimal point is a fraction of the sum of c (one for each example by default), 178; "
            "0.001 of it is 0.178, and nu must be at least 1. The smallest fraction is 0.005618.",
        ),
        (
            "compare lpboost --data wine --positive 1 --nu 5 --tol 0",
            "--tol must lie in (0, 1); got 0.0. It is the gap over max(1, |lower|, |upper|): "
            "pass a number such as 1e-8.",
        ),
        (
            "compare lpboost --data wine --positive 1 --nu 5 --eta 1",
            "unknown parameter of lpboost 'eta'. Known: epsilon, nu, two_sided.",
        ),
        (
            "boost lpboost --data wine --positive 1 --nu 5 --option max_depth=2",
            "unknown option of stump 'max_depth'. Known: none. It is an option of tree: pass --oracle tree.",
        ),
        (
            "compare lpboost --data wine --nu 5 --report r.txt",
            "--report writes HTML, so its file ends in .html or .htm; got 'r.txt'. Name such a file.",
        ),
        (
            "fit --data wine --out no/m.npz",
            "expected the path of a file in a writable folder; got 'no/m.npz'. Make the folder, "
            "or choose another place.",
        ),
        (
            "fit --data blank.csv --out m.npz",
            "blank.csv, line 3: every column but 'label' must be finite; got nan in column 'a'. "
            "It is a missing value: impute it (scikit-learn's SimpleImputer), or leave the row out.",
        ),
    ],
    ids=["data", "missing", "fraction", "smallest", "tol", "parameter", "option", "ending", "folder", "line"],
)
def test_an_error_says_what_was_expected_what_came_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("blank.csv").write_text("a,label\n1,x\nnan,y\n")
    result = run(*arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == f"error: {message}"


@pytest.mark.parametrize("command", [["compare"], ["certify"]])
def test_an_unknown_formulation_is_an_error_with_the_near_names(data: Path, command: list[str]) -> None:
    answer = [data] if command == ["certify"] else []
    refused(r"'lpbost'.*'lpboost'.*'erlpboost'.*, lpboost, ", *command, "lpbost", *answer, "--data", data)


def test_a_page_that_is_not_there_is_an_error(tmp_path: Path, data: Path) -> None:
    page = tmp_path / "no.py"
    refused(rf"\bformulation\b.*\bno file {re.escape(str(page))}\.", "compare", page, "--data", data, *REFERENCE)


def test_a_page_that_states_nothing_is_an_error(tmp_path: Path, data: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    expected = r"\bone formulation\b.*empty\.py\b.*\bnone\b"
    refused(expected, "compare", tmp_path / "empty.py", "--data", data, *REFERENCE)


@pytest.mark.parametrize(
    "backends, expected",
    [
        ("cvxpy:hihgs", r"'cvxpy:hihgs'.*'cvxpy:highs'"),
        ("cvxpy:highs,clarabel", r"'clarabel'.*'cvxpy:clarabel'"),
        ("cvxpy:highs,cvxpy:highs", r"\bbackends\b.*\bcvxpy:highs,\scvxpy:highs\."),
        (",", r"\bbackends\b.*\bnone\b"),
    ],
)
def test_backends_that_are_none_are_an_error(data: Path, backends: str, expected: str) -> None:
    refused(expected, "compare", "lpboost", "--data", data, *REFERENCE[:2], "--backends", backends)


@pytest.mark.parametrize(
    "source, expected",
    [
        ("breast_cancr", r"\bfile\b.*'breast_cancr'.*'breast_cancer'"),
        ("no/such.csv", r"\bbreast_cancer\b.*\bno\b.*'no/such\.csv'"),
        ("iris", r"\biris\b.*\b3\b.*\bsetosa\b.*--positive"),
    ],
)
def test_data_that_are_none_are_an_error(source: str, expected: str) -> None:
    refused(expected, "compare", "lpboost", "--data", source, "--nu", 1)


@pytest.mark.parametrize(
    "arrays, expected",
    [
        ({"U": 2 * REFERENCE_U}, r"\bU\b.*\[-1, 1\].* 2 at \(0, 0\)"),
        ({"U": REFERENCE_U[0]}, r"\bU\b.*\(N, t\).*\(3,\)"),
        ({"U": REFERENCE_U, "c": np.float64(1)}, r"\bc\b.*\(6,\).*\(\)"),
        ({"U": REFERENCE_U, "c": np.array(["a"] * 6)}, r"\bc\b.*\(6,\).*<U1"),
        ({"U": REFERENCE_U, "c": np.zeros(6)}, r"\bc\b.*\bpositive\b.*\b0\b.*\b0\b"),
        ({"U": REFERENCE_U, "c": np.full(6, np.nan)}, r"\bc\b.*\bfinite\b.*\bnan\b.*\b0\b"),
        ({"U": REFERENCE_U, "d0": REFERENCE_D0}, r"\blpboost\b.*\bd0\b.*\bc\b"),
    ],
)
@pytest.mark.parametrize("nu", ["0.5", "2"])
def test_arrays_that_describe_no_problem_are_an_error(
    tmp_path: Path, arrays: dict[str, Any], expected: str, nu: str
) -> None:
    save(tmp_path / "data.npz", **arrays)
    refused(expected, "compare", "lpboost", "--data", tmp_path / "data.npz", "--nu", nu)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "options, expected",
    [
        (["--random-state", "-1"], r"--random-state\b.*\b0\b.* -1\b"),
        (["--tol", "0"], r"\btol\b.*\(0, 1\).* 0\.0\b"),
        (["--tol", "1"], r"\btol\b.*\(0, 1\).* 1\.0\b"),
        (["--tol", "nan"], r"\btol\b.*\(0, 1\).* nan\b"),
        (["--time-limit", "0"], r"--time-limit\b.*\bpositive\b.*\b0\.0\b"),
        (["--time-limit", "nan"], r"--time-limit\b.*\bpositive\b.*\bnan\b"),
        (["--epsilon", "0"], r"\bepsilon\b.*\[1e-100, 1e\+100\].* 0\b"),
        (["--eta", "1"], r"\blpboost\b.*'eta'.*\bepsilon\b.*\bnu\b"),
        (["--set", "epsilonn=1"], r"\blpboost\b.*'epsilonn'.*'epsilon'"),
        (["--set", "epsilon"], r"--set\b.*\bname=value\b.*'epsilon'"),
        (["--set", "epsilon=x"], r"--set\b.*\bname=value\b.*'epsilon=x'"),
        (["--set", "=1"], r"\blpboost\b.*''.*\bepsilon\b.*\bnu\b"),
        # Names of the arguments of `bind`, which are no parameters of a formulation.
        (["--set", "c=1"], r"\blpboost\b.*'c'.*\bepsilon\b.*\bnu\b"),
        (["--set", "d0=1"], r"\blpboost\b.*'d0'.*\bepsilon\b.*\bnu\b"),
        (["--set", "U=1"], r"\blpboost\b.*'U'.*\bepsilon\b.*\bnu\b"),
        (["--set", "self=1"], r"\blpboost\b.*'self'.*\bepsilon\b.*\bnu\b"),
    ],
)
def test_options_out_of_range_are_an_error(options: list[str], expected: str) -> None:
    refused(expected, "compare", *BREAST_CANCER, "--nu", 50, *options)


@pytest.mark.parametrize("eta", ["0", "-1", "nan", "inf"])
def test_an_eta_that_is_not_positive_is_an_error(data: Path, eta: str) -> None:
    expected = rf"\beta\b.*\[1e-100, 1e\+100\].* {eta}\b"
    refused(expected, "compare", "erlpboost", "--data", data, "--nu", "2", "--eta", eta)


def test_the_tolerance_is_checked_also_where_no_backend_is_able(data: Path) -> None:
    refused(r"\btol\b.*\(0, 1\).* 0\.0\b", "compare", "erlpboost", "--data", data, *REFERENCE, "--tol", "0")


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["compare", "lpboost", "--daat", "x"], "--daat"),
        (["compare", "lpboost"], "'--data'.*'--all'"),
        (["compare", "--data", "x"], r"'formulation'\."),
        (["compare", "lpboost", "--data", "x", "--columns", "many"], "'--columns'.*'many'"),
        (["compare", "lpboost", "--data", "x", "--columns", "0"], r"'--columns'.* 1\b.* 0\."),
        (["compare", "lpboost", "--data", "x", "--columns", "-2"], r"'--columns'.* 1\b.* -2\."),
        (["boost", "lpboost", "--data", "x", "--columns-per-round", "0"], r"-per-round'.*\b1\b.* 0\."),
        (["boost", "lpboost", "--data", "x", "--columns-per-round", "auto"], r"-per-round'.*'auto'"),
        (["compare", "lpboost", "--data", "x", "--tol", "small"], r"'--tol'.*\bdefault\b.*'small'"),
        (["compare", "erlpboost", "--data", "x", "--eta", "abc"], "'--eta'.*'abc'"),
        (["boost", "erlpboost", "--data", "x", "--max-rounds", "1.5"], r"'--max-rounds'.*'1\.5'"),
        (["certify", "lpboost", "--data", "x"], r"'answer'\."),
        (["comprae"], "'comprae'.*'compare'"),
    ],
)
def test_a_call_that_cannot_be_read_exits_with_2(arguments: list[str], expected: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.search(rf"^error: .*{expected}", result.stderr, re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize("command", ["compare", "boost", "path", "certify", "verify", "export", "fit", "predict"])
def test_the_help_names_the_data_sets_and_its_example_is_that_of_the_page(command: str) -> None:
    text = run(command, "--help").stdout
    assert re.search(r"\bbreast_cancer,\s+digits,\s+iris,\s+wine\b", text)
    (example,) = re.findall(r"Example: (.*?)\n\n", text.replace("\\\n", ""), re.DOTALL)
    page = Path(__file__).parents[2] / "docs" / "commands.md"
    page_lines = [" ".join(line.split()) for line in page.read_text(encoding="utf-8").replace("\\\n", "").splitlines()]
    assert " ".join(example.split()) in page_lines


def test_the_help_points_to_the_examples_and_explains_nu_and_the_backend() -> None:
    assert re.search(r"\bboostopt compare --help\b", run("--help").stdout)
    for command in ("boost", "fit"):
        text = " ".join(run(command, "--help").stdout.split())
        assert re.search(r"--nu .*\b1 is\b.*\b1\.0\b", text)
        assert re.search(r"--backend .*\bsolver\b", text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "lpboost", "--report", "no/r.html"],
        ["compare", "lpboost", "--resume", "no/r.jsonl"],
        ["certify", "lpboost", "answer.npz", "--save", "no/c.json"],
        ["export", "lpboost", "--out", "no/m.mps"],
    ],
)
def test_a_folder_that_is_not_there_is_an_error_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("boostopt.cli.option_groups.load_dataset", None)
    refused(rf"\bfolder\b.*'{re.escape(arguments[-1])}'", *arguments, "--data", "breast_cancer", "--nu", "5")


def test_a_name_with_a_comma_is_dropped_by_an_option_of_its_own(tmp_path: Path) -> None:
    rows = [f"P{n},{n % 7},{n},{'ab'[n % 2]}" for n in range(30)]
    (tmp_path / "data.csv").write_text('id,age,"blood pressure, systolic",label\n' + "\n".join(rows) + "\n")
    arguments = ("lpboost", "--data", tmp_path / "data.csv", "--nu", 5, "--backends", "cvxpy:highs")
    refused(r"data\.csv\b.*'P0'.*'id'", "compare", *arguments, "--drop", "blood pressure, systolic")
    result = run("compare", *arguments, "--drop", "id", "--drop", "blood pressure, systolic")
    assert result.exit_code == 0, result.stderr


def test_an_unknown_option_suggests_the_near_one() -> None:
    assert re.search(r"--daat.*--data\b", run("compare", "lpboost", "--daat", "breast_cancer").stderr)


def test_the_version_is_that_of_the_package() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"boostopt {boostopt.__version__}\n")


@pytest.mark.parametrize("command", [[], ["compare"], ["certify"], ["list"]])
def test_every_command_has_help(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


# certify


def reference_answer() -> tuple[np.ndarray, np.ndarray]:
    solution = reference_lpboost().solve("cvxpy:highs", tol=1e-12)
    return solution.d, solution.w


def certified(text: str) -> tuple[float, float]:
    """The printed interval."""
    (interval,) = re.findall(r"optimum certified in *│ *\[([^,]+), ([^\]]+)\]", text)
    return float(interval[0]), float(interval[1])


@pytest.mark.parametrize("sides", ["d w", "d", "w"])
@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_an_answer_of_a_solver_is_certified_from_its_file(tmp_path: Path, data: Path, suffix: str, sides: str) -> None:
    d, w = reference_answer()
    options = {name: values for name, values in (("d", d), ("w", w)) if name in sides}
    path = tmp_path / f"answer{suffix}"
    if suffix == ".npz":
        save(path, **options)
    else:
        rows = itertools.zip_longest(
            *([repr(float(value)) for value in side] for side in options.values()), fillvalue=""
        )
        path.write_text("".join(",".join(row) + "\n" for row in [tuple(options), *rows]))
    result = run("certify", "lpboost", path, "--data", data, *REFERENCE[:2])
    certificate = reference_lpboost().certify(**options)
    assert format_interval(certificate.lower, certificate.upper) in result.stdout
    assert result.exit_code == (0 if certificate.scaled_gap <= 1e-8 else 1)
    if sides == "d w":
        assert result.exit_code == 0
        assert certificate.gap < 1e-12


def test_certify_draws_the_same_stumps_as_compare(tmp_path: Path) -> None:
    U = load_dataset("breast_cancer").margin_matrix(10, 4, "boosted")
    solution = get_formulation("lpboost").bind(U, nu=50).solve("cvxpy:highs")
    save(tmp_path / "answer.npz", d=solution.d, w=solution.w)
    arguments = ("certify", "lpboost", tmp_path / "answer.npz", "--data", "breast_cancer", "--columns", 10, "--nu", 50)
    assert run(*arguments, "--random-state", 4).exit_code == 0
    assert run(*arguments, "--random-state", 5).exit_code == 1


def test_the_tolerance_decides_whether_an_answer_is_good_enough(tmp_path: Path, data: Path) -> None:
    save(tmp_path / "answer.npz", w=[1.0, 0.0, 0.0])
    gap = reference_lpboost().certify(w=[1.0, 0.0, 0.0]).scaled_gap
    arguments = ("certify", "lpboost", tmp_path / "answer.npz", "--data", data, *REFERENCE[:2], "--tol")
    assert run(*arguments, gap + 1e-9).exit_code == 0
    assert run(*arguments, gap - 1e-9).exit_code == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"d": np.full(6, -1.0), "w": np.full(3, -1.0)},
        {"d": np.full(6, 1e300), "w": np.array([1e-300, 0, 0])},
        {"d": np.zeros(6), "w": np.zeros(3)},
        {"w": np.array([1e308, 1.0, -3.0])},
        {"d": np.arange(6), "w": np.array([True, False, False])},
        {"d": np.random.default_rng(0).normal(size=6)},
    ],
    ids=["negative", "scales", "zeros", "one side", "integers", "noise"],
)
def test_garbage_is_certified_to_be_garbage(tmp_path: Path, data: Path, answer: dict[str, np.ndarray]) -> None:
    save(tmp_path / "answer.npz", **answer)
    result = run("certify", "lpboost", tmp_path / "answer.npz", "--data", data, *REFERENCE[:2])
    assert result.exit_code == 1
    lower, upper = certified(result.stdout)
    assert -1.0 - 1e-9 <= lower <= OPTIMUM <= upper <= 1.0 + 1e-9


@pytest.mark.parametrize(
    "answer, expected",
    [
        ({"d": np.ones(5)}, r"\bd\b.* 6\b.*\(N,\).*\(5,\)"),
        ({"w": np.ones((3, 1))}, r"\bw\b.* 3\b.*\(t,\).*\(3, 1\)"),
        ({"w": np.float64(1.0)}, r"\bw\b.* 3\b.*\(t,\).*\(\)"),
        ({"w": np.array(["a", "b", "c"])}, r"\bw\b.* 3\b.*\(t,\).*<U1"),
        ({"w": 1j * np.ones(3)}, r"\bw\b.* 3\b.*\(t,\).*\bcomplex128"),
        ({"v": np.ones(3)}, r"answer\.npz\b.*\bd,\sw\b.*\bv\."),
        ({"d": np.full(6, np.nan), "w": np.full(3, np.nan)}, r"answer\.npz\b.*\bd\b.*\bnan\b.*\(0\).*\b6\b"),
        ({"d": np.ones(6), "w": np.array([1.0, -np.inf, 0])}, r"answer\.npz\b.*\bw\b.*\s-inf\b.*\(1\).*\b1\b"),
    ],
)
def test_an_answer_to_another_question_is_an_error(
    tmp_path: Path, data: Path, answer: dict[str, np.ndarray], expected: str
) -> None:
    save(tmp_path / "answer.npz", **answer)
    refused(expected, "certify", "lpboost", tmp_path / "answer.npz", "--data", data, *REFERENCE[:2])


def test_an_answer_that_cannot_be_read_is_an_error(tmp_path: Path, data: Path) -> None:
    (tmp_path / "answer.npz").write_bytes(b"garbage")
    arguments = ("--data", data, *REFERENCE[:2])
    refused(r"answer\.npz\b.*\btruncated\b", "certify", "lpboost", tmp_path / "answer.npz", *arguments)
    refused(r"\banswer\b.*\bno file\b.*no\.csv'", "certify", "lpboost", tmp_path / "no.csv", *arguments)


@pytest.mark.parametrize("tol", ["0", "1", "-1", "nan"])
def test_a_tolerance_out_of_range_is_an_error_for_certify_too(tmp_path: Path, data: Path, tol: str) -> None:
    save(tmp_path / "answer.npz", w=np.ones(3))
    expected = rf"\btol\b.*\(0, 1\).* {re.escape(str(float(tol)))}\b"
    refused(expected, "certify", "lpboost", tmp_path / "answer.npz", "--data", data, *REFERENCE[:2], "--tol", tol)


# list


def test_list_says_of_each_formulation_what_it_is_who_takes_it_and_why_others_do_not() -> None:
    result = run("list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    header_line = lines.index("lpboost  nu, [epsilon], [two_sided]")
    assert lines[header_line + 1] == f"    {first_sentence(get_formulation('lpboost'))}"
    for name in ("erlpboost", "lpboost"):
        (block,) = [
            block
            for block in result.stdout.split("\n\n")
            if name in re.findall(r"\w+", block.partition("    solved by ")[0]) and "    solved by " in block
        ]
        words = " ".join(block.split())
        able = [backend for backend in list_backends() if get_backend(backend).takes(_smallest(name))]
        assert f" solved by {', '.join(able)} " in words
        assert (re.search(r"cvxpy:highs\b[^.]*\bexponential\b", words) is not None) == (name == "erlpboost")


def test_a_sentence_stands_for_every_formulation_and_booster() -> None:
    pages = [*map(get_formulation, list_formulations()), *BOOSTERS_BY_NAME.values()]
    sentences = [first_sentence(page) for page in pages]
    assert all(re.fullmatch(r"[A-Z].*[a-z0-9]\.", words) for words in sentences), sentences
    assert len(set(sentences)) == len(pages)


class Terminal(io.StringIO):
    """A standard output that people look at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [50, 60, 80, 100])
def test_on_a_narrow_terminal_the_list_keeps_every_word_whole(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    terminal = Terminal()
    for name, value in (("COLUMNS", str(width)), ("TERM", "dumb"), ("LINES", "25")):
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stdout", terminal)
    boostopt.cli.commands.list.list_command()
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line or "│" in line for line in lines)
    words = " ".join(" ".join(lines).split())
    solvers = ", ".join(name for name in list_backends() if get_backend(name).takes(_smallest("erlpboost")))
    assert f" erlpboost nu, [epsilon], [eta], [two_sided] {first_sentence(get_formulation('erlpboost'))} " in words
    assert re.search(rf" unnormalized_erlpboost [a-z ]+ {re.escape(solvers)} ", words)
    assert re.search(r"cvxpy:highs\b[^.]*\bexponential\b", words)


def _smallest(name: str) -> Program:
    return get_formulation(name).example_program()


# As a process of its own


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="what C holds back cannot be flushed from outside")
@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_nothing_but_the_report_is_on_the_standard_output_whatever_is_printed(
    tmp_path: Path, data: Path, form: str
) -> None:
    (tmp_path / "loud.py").write_text(LOUD_PAGE)
    result = started("compare", tmp_path / "loud.py", "--data", data, *REFERENCE, form)
    assert result.returncode == 0, result.stderr
    if form == "--json":
        assert json.loads(result.stdout)["formulation"] == "loud"
    else:
        (row,) = csv.DictReader(io.StringIO(result.stdout))
        assert row["backend"] == "cvxpy:highs"
    for moment in ("loaded", "bound", "solved"):
        for how in ("printed", "written", "kept", "saved", "by C", "by a child"):
            assert f"{how} when {moment}\n" not in result.stdout
            assert f"{how} when {moment}\n" in result.stderr


QUIET = """
import ctypes, os, sys
from boostopt.backends.isolation.standard_output import stdout_to_stderr

def talk(when):
    print("printed", when)
    ctypes.CDLL(None).printf(f"by C {when}\\n".encode())
    sys.__stdout__.write(f"kept {when}\\n")

kept = sys.stdout
talk("before")
try:
    with stdout_to_stderr():
        talk("inside")
        kept.write("saved inside\\n")
        raise KeyError("inside")
except KeyError:
    talk("after")
assert sys.stdout is kept
"""


@pytest.mark.skipif(sys.platform == "win32", reason="what C holds back cannot be flushed from outside")
def test_the_standard_output_is_turned_away_for_a_while_only() -> None:
    result = python("-c", QUIET)
    assert result.returncode == 0, result.stderr
    before_and_after = [f"{how} {moment}" for moment in ("before", "after") for how in ("printed", "by C", "kept")]
    assert sorted(result.stdout.splitlines()) == sorted(before_and_after)
    assert sorted(result.stderr.splitlines()) == ["by C inside", "kept inside", "printed inside", "saved inside"]


REPLACED = """
import sys
from boostopt.backends.isolation.standard_output import stdout_to_stderr

sys.stdout = sys.stderr
sys.__stdout__.write("before\\n")
with stdout_to_stderr():
    sys.__stdout__.write("inside\\n")
sys.__stdout__.write("after\\n")
"""


@pytest.mark.thorough
def test_buffered_output_goes_to_the_standard_error_too() -> None:
    result = python("-c", REPLACED)
    assert (result.stdout, result.stderr) == ("before\nafter\n", "inside\n")


def test_output_of_python_goes_to_the_standard_error_also_with_replaced_streams() -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        print("before")  # noqa: T201
        with stdout_to_stderr():
            print("inside")  # noqa: T201
        print("after")  # noqa: T201
    assert (out.getvalue(), err.getvalue()) == ("before\nafter\n", "inside\n")


@pytest.mark.thorough
def test_the_process_exits_with_0_and_separates_the_streams() -> None:
    result = started("compare", *BREAST_CANCER, "--nu", "0.1", "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["reached"] is True
    label_note = r"breast_cancer: benign\b.* 1\b.*\bmalignant\b.* -1\b.*--positive\b.*\n"
    assert re.match(rf"{label_note}cvxpy:highs \.\.\.\ncvxpy:highs: bounded, gap ", result.stderr)


@pytest.mark.thorough
def test_the_process_exits_with_1_where_no_backend_supports_the_program() -> None:
    result = started("compare", "erlpboost", *BREAST_CANCER[1:], "--nu", "0.1")
    assert result.returncode == 1
    assert re.search(r"^cvxpy:highs: .*cvxpy:highs\b.*\bexponential\b", result.stdout, re.MULTILINE)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments, beginning",
    [
        (["compare", "lpboost", "--data", "breast_cancr", "--nu", "0.1"], r"error:\s.*'breast_cancr'"),
        (["list", "--jsn"], "Usage: "),
    ],
)
def test_the_process_exits_with_2_for_bad_input_and_shows_no_traceback(arguments: list[str], beginning: str) -> None:
    result = started(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert re.match(beginning, result.stderr)
    assert "Traceback" not in result.stderr


def test_a_parameter_given_twice_is_an_error(data: Path) -> None:
    refused(r"\bnu\b.*--nu\b.*--set\b", "compare", "lpboost", "--data", data, "--nu", "3", "--set", "nu=2")


def test_progress_says_that_a_backend_is_not_run_and_the_result_why(data: Path) -> None:
    result = run("compare", "erlpboost", "--data", data, "--nu", "3", "--eta", "5", "--backends", "cvxpy:highs")
    assert result.exit_code == 1
    assert re.fullmatch(r"cvxpy:highs \.\.\.\ncvxpy:highs: not run\n", result.stderr)
    assert re.search(r"^cvxpy:highs: not run\. cvxpy:highs\b", result.stdout, re.MULTILINE)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="what C holds back cannot be flushed from outside")
def test_with_isolated_solvers_the_report_alone_is_on_the_standard_output(tmp_path: Path, data: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD_PAGE)
    result = started("compare", tmp_path / "loud.py", "--data", data, *REFERENCE, "--isolate", "--json")
    assert result.returncode == 0, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["result"], row["isolated"], row["answered_by"]) == ("reached", True, "cvxpy:highs")
    assert "by C when solved" in row["printed"]


def test_forms_are_rows_of_their_own(data: Path) -> None:
    result = run("compare", "lpboost", "--data", data, *REFERENCE, "--forms", "primal, dual,ladder", "--json")
    rows = json.loads(result.stdout)["rows"]
    assert [row["backend"] for row in rows] == ["cvxpy:highs:primal", "cvxpy:highs:dual", "cvxpy:highs"]
    assert [row["form"] for row in rows] == ["primal", "dual", "primal"]
    refused("'duel'.*'dual'", "compare", "lpboost", "--data", data, *REFERENCE, "--forms", "duel")


@pytest.mark.thorough
def test_profiles_and_repeats_make_it_a_benchmark_that_can_be_resumed(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    command = ["compare", "lpboost", "--data", data, *REFERENCE, "--repeats", "2", "--resume", file]
    result = run(*command, "--profiles", "1e-3,1e-6", "--json")
    assert result.exit_code == 0, result.stderr
    file_document = json.loads(result.stdout)
    assert [(score["tol"], score["result"], score["runs"]) for score in file_document["scores"]] == [
        (1e-3, "reached", 2),
        (1e-6, "reached", 2),
    ]
    first, *_, last = result.stderr.splitlines()
    assert first.startswith("[1/4] cvxpy:highs to ") and last.startswith("[4/4] cvxpy:highs to ")
    size = file.stat().st_size
    again = run(*command, "--profiles", "1e-3,1e-6")
    assert again.exit_code == 0
    assert file.stat().st_size == size
    assert re.search(r"^Fastest\b.* 1e-06\b.*: cvxpy:highs\.", again.stdout, re.MULTILINE)
    rows = list(csv.DictReader(io.StringIO(run(*command, "--profiles", "all", "--csv").stdout)))
    assert [row["tol"] for row in rows] == [tol for tol in ("0.001", "1e-06", "1e-09") for _ in range(2)]


def test_a_benchmark_that_does_not_reach_its_finest_gap_exits_with_1(data: Path) -> None:
    result = run("compare", "lpboost", "--data", data, *REFERENCE, "--repeats", "1", "--profiles", "1e-3,1e-16")
    assert result.exit_code == 1
    assert re.search(r"^cvxpy:highs: failed\b.* 1e-16\b.* gap \d\.\de-\d\d\b", result.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--profiles", "1e-3", "--tol", "1e-4"], r"--tol\b.*--profiles\b"),
        (["--profiles", "fine"], r"--profiles\b.*\bdefault\b.*\bhigh\b.*'fine'"),
        (["--repeats", "0"], r"\brepeats\b.* 1\b.* 0\."),
        (["--resume", "/"], r"\bfolder\b.*'/'|/ .*\bdirectory\b"),
    ],
)
def test_options_of_a_benchmark_are_checked(data: Path, options: list[str], expected: str) -> None:
    refused(expected, "compare", "lpboost", "--data", data, *REFERENCE, *options)


def test_ctrl_c_ends_with_a_word_and_130(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(boostopt.cli.commands.compare, "compare", interrupted)
    result = run("compare", "lpboost", "--data", data, *REFERENCE)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "interrupted"


def test_certify_as_json_says_what_is_proved(data: Path, tmp_path: Path) -> None:
    solution = reference_lpboost().solve("cvxpy:highs", tol=1e-12)
    save(tmp_path / "answer.npz", d=solution.d, w=solution.w)
    result = run("certify", "lpboost", tmp_path / "answer.npz", "--data", data, "--set", "nu=2.5", "--json")
    assert result.exit_code == 0
    file_document = json.loads(result.stdout)
    assert file_document["lower"] <= OPTIMUM <= file_document["upper"]
    assert file_document["reached"]
    assert len(file_document["example_gaps"]) == file_document["examples"] == 6
    assert len(file_document["hypothesis_gaps"]) == file_document["hypotheses"] == 3
    assert max(file_document["kkt"].values()) < 1e-9
    save(tmp_path / "half.npz", w=solution.w)
    result = run("certify", "lpboost", tmp_path / "half.npz", "--data", data, "--set", "nu=2.5", "--json")
    assert json.loads(result.stdout)["kkt"]["sum d = 1"] is None  # missing: infinitely wrong


# Files of one call


def test_options_that_a_source_cannot_follow_are_not_ignored(tmp_path: Path) -> None:
    margins, named = tmp_path / "U.npz", tmp_path / "Xy.npz"
    np.savez(margins, U=np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]))
    np.savez(named, X=np.array([[0.0], [1.0], [2.0]]), y=np.array([-1, 1, 1]))
    for command in ("boost", "compare"):
        for data in (margins, named, "breast_cancer"):
            expected = rf"\bCSV\b.*'{re.escape(str(data))}'.*--label"
            refused(expected, command, "lpboost", "--data", data, "--nu", "1", "--label", "class")
    refused(r"\bCSV\b.*Xy\.npz'.*--label", "fit", "--data", named, "--out", "m.npz", "--label", "class")
    result = run("boost", "lpboost", "--data", margins, "--nu", "1", "--epsilon", "0.1", "--positive", "1")
    assert result.exit_code == 0
    assert re.search(r"^warning: .*U\.npz .*--positive\b", result.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "endings"),
    [
        (("compare", "lpboost", "--data", "none.npz", "--report", "r.txt"), r"--report\b.*\.html\b.*\.htm\b"),
        (("report", "none.json", "-o", "r.pdf"), r"--output\b.*\.html\b.*\.htm\b"),
        (("certify", "lpboost", "a.npz", "--data", "none.npz", "--save", "c.txt"), r"--save\b.* \.json\b"),
        (("boost", "lpboost", "--data", "none.npz", "--out", "run.json"), r"--out\b.* \.npz\b"),
        (("boost", "lpboost", "--data", "none.npz", "--certificate", "c.npz"), r"--certificate\b.* \.json\b"),
        (("fit", "--data", "none.npz", "--out", "m.txt"), r"--out\b.* \.npz\b"),
        (("fit", "--data", "none.npz", "--out", "m.npz", "--certificate", "c.txt"), r"--certificate\b.* \.json\b"),
        (("predict", "m.npz", "--data", "none.npz", "--out", "p.xlsx"), r"--out\b.*\.csv\b.*\.txt\b"),
        (("export", "lpboost", "--data", "none.npz", "--out", "m.lp"), r"\.cbf\s\(.*\.mps\s\(.*\.npz\s\("),
    ],
    ids=lambda parameter: " ".join(parameter[:1] + parameter[-2:]) if isinstance(parameter, tuple) else "",
)
def test_an_ending_of_another_format_is_refused_before_the_data_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], endings: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(rf"{endings}.* '{command[-1]}'", *command)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ("export", "lpboost", "--data", "data.npz", "--nu", "2", "--out", "data.npz"),
        ("export", "lpboost", "--data", "data.npz", "--nu", "2", "--out", "link.npz"),
        ("certify", "lpboost", "answer.npz", "--data", "data.npz", "--nu", "2", "--save", "data.npz"),
        ("certify", "lpboost", "answer.npz", "--data", "data.npz", "--nu", "2", "--save", "./answer.npz"),
        ("compare", "lpboost", "--data", "data.npz", "--nu", "2", "--report", "r.x", "--resume", "./r.x"),
        ("compare", "lpboost", "--data", "data.npz", "--nu", "2", "--resume", "data.npz"),
        ("compare", "lpboost", "--data", "data.npz", "--nu", "2", "--report", "data.npz"),
        ("boost", "lpboost", "--data", "data.npz", "--nu", "2", "--checkpoint", "x.json", "--certificate", "x.json"),
        ("boost", "lpboost", "--data", "data.npz", "--nu", "2", "--out", "y.npz", "--certificate", "./y.npz"),
        ("boost", "lpboost", "--data", "data.npz", "--nu", "2", "--out", "y.npz", "--checkpoint", "y.npz"),
        ("fit", "--data", "iris", "--out", "m.npz", "--checkpoint", "{folder}/m.npz"),
    ],
    ids=lambda command: " ".join(command[:1] + command[-4:]),
)
def test_no_file_is_written_twice_and_none_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(Path("data.npz"), U=REFERENCE_U)
    save(Path("answer.npz"), w=[1.0, 0.0, 0.0])
    Path("link.npz").symlink_to("data.npz")
    contents_by_name = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    named = re.escape(Path(command[-1]).name)
    refused(rf"{named}'.*\btwice\b", *(word.format(folder=tmp_path) for word in command))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == contents_by_name


@pytest.mark.parametrize(
    "command", ["export --out", "certify answer.npz --save", "compare --resume", "compare --report"]
)
def test_special_files_are_refused_before_the_work(tmp_path: Path, data: Path, command: str) -> None:
    save(tmp_path / "answer.npz", w=[1.0, 0.0, 0.0])
    os.mkfifo(tmp_path / "pipe.npz")
    name, *answer, option = command.replace("answer", str(tmp_path / "answer")).split()
    arguments = (name, "lpboost", *answer, "--data", data, "--nu", "nonsense", option, tmp_path / "pipe.npz")
    refused(r"pipe\.npz\b.*\bregular\b", *arguments)


# Data


@pytest.mark.parametrize("command", ["compare", "boost", "path", "export", "fit"])
def test_two_features_of_one_name_are_refused_by_every_command(tmp_path: Path, command: str) -> None:
    table = tmp_path / "dup.csv"
    table.write_text("a,a,label\n1,2,0\n3,4,1\n")
    more = {"export": ("--out", tmp_path / "o.mps"), "fit": ("--out", tmp_path / "m.npz")}.get(command, ())
    page = () if command == "fit" else ("lpboost", "--nu", "1")
    refused(r"dup\.csv\b.* 2\b.* 'a'", command, *page, "--data", table, *more)


@pytest.mark.parametrize("suffix", ["npz", "csv"])
@pytest.mark.parametrize("command", ["compare", "export"])
def test_multiplicities_without_a_finite_sum_are_an_error_and_no_warning(
    tmp_path: Path, command: str, suffix: str
) -> None:
    path, more = tmp_path / f"data.{suffix}", ("--out", tmp_path / "o.mps") if command == "export" else ()
    if suffix == "npz":
        save(path, U=REFERENCE_U, c=np.full(6, 1e308))
    else:
        path.write_text("a,c,label\n1,1e308,0\n2,1e308,1\n")
        more = (*more, "--weights", "c")
    refused(rf"{path.name}\b.*\bc\b.*\bsum\b", command, "lpboost", "--data", path, "--nu", "0.5", *more)


# Streams


def shell(prefix: str, *arguments: object, suffix: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line by a shell that does something before, with other streams."""
    command = ["sh", "-c", f'{prefix} exec "$0" -m boostopt "$@" {suffix}', sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command, stream",
    [("boost", "closed"), ("fit", "closed"), ("boost", "full"), ("compare", "full"), ("list", "full")],
)
def test_a_standard_error_that_cannot_be_written_stops_nothing(tmp_path: Path, command: str, stream: str) -> None:
    table, model = tmp_path / "t.csv", tmp_path / "m.npz"
    table.write_text("a,label\n" + "".join(f"{n},{n % 3 > 0:d}\n" for n in range(12)))
    arguments, status, output_text = {
        "boost": (("lpboost", "--nu", "0.5", "--data", table, "--epsilon", "0.5"), 0, "seconds"),
        "fit": (("--out", model, "--data", table, "--epsilon", "0.5"), 0, "seconds"),
        "compare": (("lpboost", "--nu", "0.5", "--data", table, "--backends", "interior"), 0, "1e-08: interior."),
        "list": (("--backends", "nonsense"), 2, ""),
    }[command]
    # No byte can be written into a file where its largest size is 0.
    prefix, suffix = ("ulimit -f 0;", f"2>{tmp_path}/full") if stream == "full" else ("", "2>&-")
    done = shell(prefix, command, *arguments, suffix=suffix)
    assert done.returncode == status and output_text in done.stdout
    assert model.exists() == (command == "fit")


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["list", "--help"], ["list"], ["list", "--json"]])
def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path, arguments: list[str]) -> None:
    done = shell("ulimit -f 0;", *arguments, suffix=f">{tmp_path}/full")
    assert done.returncode == 2
    assert re.fullmatch(r"error: .*\boutput\b.*\.\n", done.stderr)


def test_ctrl_c_while_the_commands_are_loaded_ends_with_a_word() -> None:
    code = """
import sys

import builtins
load = builtins.__import__
def stopped(name, *rest):
    if name == "boostopt.cli":
        raise KeyboardInterrupt
    return load(name, *rest)
builtins.__import__ = stopped
from boostopt.__main__ import main
main()
"""
    done = python("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    assert '"boostopt.__main__:main"' in (Path(__file__).parents[2] / "pyproject.toml").read_text()


def test_control_characters_are_shown_as_escapes() -> None:
    assert escape_unprintable("é\x1b[31m\x9b\r\ud800\n") == "é\\x1b[31m\\x9b\\r\\ud800\\n"
    refused(r"'a\\x1b\[31m'", "compare", "a\x1b[31m", "--data", "iris")


@pytest.mark.thorough
def test_a_name_of_the_data_is_no_command_to_a_terminal(tmp_path: Path) -> None:
    table, model = tmp_path / "t.csv", tmp_path / "m.npz"
    cells = [(n, (-1) ** n, ("no", "y\x1b[1mes", "may\x07be")[n % 3]) for n in range(30)]
    table.write_text("\x1b[31ma,b\x9b,label\n" + "".join(f"{a},{b},{label}\n" for a, b, label in cells))
    results = [
        run("fit", "--data", table, "--out", model, "--epsilon", "0.5"),
        run("boost", "lpboost", "--data", table, "--nu", "0.5", "--epsilon", "0.5", "--positive", "no"),
        run("boost", "lpboost", "--data", table, "--nu", "0.5", "--label", "x\x1b"),
        run("compare", "lpboost", "--data", table, "--nu", "0.5"),
    ]
    unlabelled_table = tmp_path / "o.csv"
    unlabelled_table.write_text("\x1b[31ma,b\x9b,c\x1b,label\n1,2,3,y\x07\n")
    results.append(run("predict", model, "--data", unlabelled_table))
    texts = [result.stdout + result.stderr for result in results[:-1]] + [results[-1].stderr]
    assert not any(letter in text for letter in "\x1b\x07\x9b" for text in texts)
    assert r"y\x1b[1mes" in texts[0] and r"\x1b[31ma" in texts[0] and r"\x1b[31ma" in texts[1]
    assert [result.exit_code for result in results] == [0, 0, 2, 2, 0]


@pytest.mark.thorough
def test_letters_that_the_output_has_not_are_shown_in_escapes(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("é,label\n" + "".join(f"{n},{'ü' if n < 8 else 'o'}\n" for n in range(12)))
    done = shell("PYTHONIOENCODING=ascii", "fit", "--data", table, "--out", tmp_path / "m.npz", "--epsilon", "0.5")
    assert done.returncode == 0, done.stderr
    assert r"\xfc" in done.stdout and r"\xe9" in done.stdout and "Traceback" not in done.stderr


@pytest.mark.every(2)
@pytest.mark.parametrize("command", [("compare",), ("certify", "answer.npz"), ("export",), ("check",)])
def test_a_booster_is_told_from_a_formulation_that_nobody_knows(command: tuple[str, ...]) -> None:
    name, *further = command
    data = [] if name == "check" else ["--data", "breast_cancer"]
    out = ["--out", "x.mps"] if name == "export" else []
    result = run(name, "smoothboost", *further, *data, *out)
    assert result.exit_code == 2
    assert re.search(r"'smoothboost'.*`boostopt boost smoothboost`", result.stderr)
    # It has the name of a formulation, too.
    assert "`boostopt boost" not in run(name, "adaboost_reg", *further, *data, *out).stderr


def test_messages_name_options_as_they_are_typed() -> None:
    result = run("boost", "erlpboost", "--data", "breast_cancer", "--nu", "0.1", "--max-rounds", "0")
    assert result.exit_code == 2 and re.search(r"^error: --max-rounds ", result.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("folder", "entries"),
    [
        ("cli/commands", {name.replace("-", "_") for name in cast(Any, get_command(boostopt.cli.app)).commands}),
        ("exporting/formats", {f"{ending.removeprefix('.')}_format" for ending in FORMATS}),
        ("boosting/boosters", {name.casefold() for name in BOOSTERS}),
    ],
)
def test_each_file_of_a_folder_is_an_entry(folder: str, entries: set[str]) -> None:
    assert entries == {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}


def test_commands_are_listed_by_name() -> None:
    names = re.findall(r"^  ([a-z-]+)  ", run("--help").stdout.partition("Commands:")[2], re.MULTILINE)
    assert len(names) > 10 and names == sorted(names)


INTERRUPTED_COMMAND = """
import sys, types

def run():
    print("half of the results")
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        raise SystemExit(130) from None

sys.modules["boostopt.cli"] = types.SimpleNamespace(main=run)
from boostopt.__main__ import main
main()
"""


def test_an_interrupt_in_code_of_a_text_ends_with_the_status(tmp_path: Path) -> None:
    """`python -m` ends by the signal if the interrupt passed through `exec` of a text, as dataclasses call it."""
    (tmp_path / "command.py").write_text(INTERRUPTED_COMMAND)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-m", "command"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "half of the results\n", "")


INTERRUPTED_IMPORT = """
import os, signal, sys, threading

class Interrupter:
    def find_spec(self, name, *_):
        if name == "boostopt._utils.lazy_names":
            os.kill(os.getpid(), signal.SIGINT)

sys.argv = [sys.argv[1]]
if sys.argv == ["boostopt"]:
    import boostopt
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    for name in [name for name in sys.modules if name.startswith("boostopt")]:
        del sys.modules[name]
    thread = threading.Thread(target=__import__, args=("boostopt",))
    thread.start()
    thread.join()
    del sys.modules["boostopt"], sys.modules["boostopt._utils.lazy_names"]
sys.meta_path.insert(0, Interrupter())
try:
    import boostopt
except KeyboardInterrupt:
    print("as in any program")
"""


@pytest.mark.parametrize("program", ["-m", "boostopt", "training.py"])
def test_an_interrupt_while_the_package_is_loaded_ends_the_command_line_without_a_traceback(program: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    expected = (0, "as in any program\n", "") if program == "training.py" else (130, "", "")
    assert (done.returncode, done.stdout, done.stderr) == expected
