"""`boostopt new`: what it writes runs, passes, is taken by every command, and a line that is broken is named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_runner import document, refused, run, write_examples

import boostopt
from boostopt._utils.user_modules import load_user_module
from boostopt.checks import check_backend, check_formulation, check_oracle, check_regularizer
from boostopt.checks.backend_checks import BACKEND_CHECKS
from boostopt.checks.oracle_checks import ORACLE_CHECKS
from boostopt.cli.commands.new import Template, read_templates

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "idea_to_boosted.md"
KINDS = {
    "cvxpy": ("regularizer", "--as", "cvxpy"),
    "class": ("regularizer", "--as", "class"),
    "formula": ("regularizer", "--as", "formula"),
    "edge": ("edge", "--as", "formula"),
    "cvxpy edge": ("edge", "--as", "cvxpy"),
    "loss": ("loss",),
    "formulation": ("formulation",),
    "oracle": ("oracle",),
    "backend": ("backend",),
}
PARAMETERS = {
    "cvxpy": ("--nu", 8, "--eta", 20),
    "class": ("--nu", 8, "--eta", 20),
    "edge": ("--nu", 8, "--set", "a=3"),
    "cvxpy edge": ("--nu", 8, "--set", "k=3"),
    "loss": ("--set", "l1=0.5"),
    "formulation": ("--nu", 8, "--set", "mu=0.2"),
}
for_each_kind = pytest.mark.parametrize("kind", list(KINDS))
each_page = pytest.mark.parametrize("kind", PARAMETERS)
slow = pytest.mark.thorough


@pytest.fixture(autouse=True)
def one_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gross mistakes show on one instance."""
    monkeypatch.setattr("boostopt.checks.formulation_checks.N_INSTANCES", 1)


def create_file(folder: Path, kind: str, name: str = "mine") -> Path:
    result = run("new", KINDS[kind][0], name, *KINDS[kind][1:], "--to", folder)
    assert result.exit_code == 0, result.stderr
    path = folder / f"{name}.py"
    assert result.stdout.splitlines()[0] == f"written: {path}"
    return path


def replace_line(path: Path, line: str, change: str) -> Path:
    text = path.read_text()
    assert text.count(line) == 1
    path.write_text(text.replace(line, change))
    return path


@slow
@for_each_kind
def test_the_test_of_a_template_passes(tmp_path: Path, kind: str) -> None:
    module = load_user_module(create_file(tmp_path, kind), "a piece")
    vars(module)["test_mine"]()


@pytest.mark.thorough_cases("loss")
@pytest.mark.parametrize("kind", ["loss", "oracle", *(pytest.param(kind, marks=slow) for kind in ("class", "backend"))])
def test_check_takes_it(tmp_path: Path, kind: str) -> None:
    result = run("check", create_file(tmp_path, kind))
    assert result.exit_code == 0, result.stdout
    assert re.match(r"(mine|Mine): all \d+ checks passed", result.stdout)


@for_each_kind
def test_no_placeholder_is_left(tmp_path: Path, kind: str) -> None:
    text = create_file(tmp_path, kind, "my_own").read_text()
    assert "new_name" not in text and "NewName" not in text
    assert re.search(r"^def test_my_own\(", text, re.MULTILINE)


WRONG = [
    ("self.a * (1 + self.eta * y)", "self.a * (1 - self.eta * y)", "argmax"),
    ("(d - self.a) ** 2", "(d + self.a) ** 2", "cvxpy-value"),
    ("return 1 / self.eta", "return 10 / self.eta", "strong_convexity"),
    ("/ self.domain.nu - 1)", "/ self.domain.nu - 1) / 10", "value_bound"),
    ("beta + self.upper @ psi", "beta - self.upper @ psi", "cvxpy-conjugate"),
]


QUICK = ("return (d - self.a) / (self.eta * self.a)", "return (d - self.a) / self.a", "slope")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "change", "check"), [QUICK, *(pytest.param(*fault, marks=slow, id=fault[2]) for fault in WRONG)]
)
def test_a_broken_closed_form_fails_its_check(tmp_path: Path, line: str, change: str, check: str) -> None:
    path = replace_line(create_file(tmp_path, "class"), line, change)
    rng = np.random.default_rng(0)
    program = boostopt.get_formulation(path).bind(rng.uniform(-1, 1, (8, 2)), nu=3, eta=2.0)
    report = check_regularizer(program.regularizer)
    assert check in [failed.name for failed in report.failures]


@slow
@pytest.mark.parametrize(
    ("kind", "line", "change", "check"),
    [
        ("cvxpy", "cp.multiply(1 / a, cp.square(d - a))", "cp.square(d - a)", "copies"),
        ("loss", "return -1 + logit", "return -1 - logit", "F: slope"),
        ("formulation", "rho - U @ w - psi", "rho + U @ w - psi", "literal-dual"),
    ],
)
def test_a_broken_page_fails_its_check(tmp_path: Path, kind: str, line: str, change: str, check: str) -> None:
    report = check_formulation(replace_line(create_file(tmp_path, kind), line, change))
    assert check in [failed.name for failed in report.failures]


def test_numpy_numbers_of_a_class_give_truth_values_of_python(tmp_path: Path) -> None:
    path = create_file(tmp_path, "class")
    regularizer = boostopt.get_formulation(path).bind(np.eye(8), nu=3, eta=np.float64(2.0)).regularizer
    assert type(regularizer.value_bound) is np.float64
    assert regularizer.smoothing_within(10.0) is True and regularizer.smoothing_within(1e-9) is False
    assert regularizer.is_indicator is False and regularizer.unsmoothed.is_indicator is True


def line_of(path: Path, text: str) -> int:
    """The number of the first line that contains a text."""
    return path.read_text()[: path.read_text().index(text)].count("\n") + 1


def test_a_refused_expression_is_named_by_the_line_of_its_function(tmp_path: Path) -> None:
    path = replace_line(create_file(tmp_path, "cvxpy"), "cp.square(d - a)", "-cp.square(d - a)")
    (failed,) = check_formulation(path).failures
    assert failed.name == "binds"
    assert f"(mine.py:{line_of(path, 'lambda d: value')} in <lambda>)" in failed.words


def test_a_line_that_raises_is_named(tmp_path: Path) -> None:
    path = replace_line(create_file(tmp_path, "cvxpy"), "cp.square(d - a)", "cp.squar(d - a)")
    line = line_of(path, "cp.squar(")
    result = run("check", path)
    assert result.exit_code == 1
    assert re.search(rf"\bmine\.py:{line} in value\b", result.stdout)


@pytest.mark.parametrize(
    ("line", "change", "check"),
    [
        ("h = max(self", "h = min(self", "best"),
        ("edge + rounding", "0.9 * edge", "largest"),
        ("self.X.tobytes() + self._y.tobytes()", "self.X.tobytes()", "digest"),
        ('int(state["sign"])', '-int(state["sign"])', "state"),
        ("for sign in (1, -1)", "for sign in (1, 1)", "members"),
        ("(self._y * hypothesis(self.X))", "hypothesis(self.X)", "columns"),
    ],
)
def test_a_broken_oracle_fails_its_check(tmp_path: Path, line: str, change: str, check: str) -> None:
    report = check_oracle(replace_line(create_file(tmp_path, "oracle"), line, change))
    assert check in [failed.name for failed in report.failures]


@slow
@pytest.mark.parametrize(
    ("line", "change", "check"),
    [
        ("[-1.0], F.upper", "[-1.0], 3 * F.upper", "accuracy"),
        ("A_ub=np.hstack([-U,", "A_ub=np.hstack([U,", "claims"),
        ("answer.x[:t]", "answer.x[: t - 1]", "answers"),
    ],
)
def test_a_broken_backend_fails_its_check(
    tmp_path: Path, line: str, change: str, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boostopt.checks.backend_checks.list_formulations", lambda: ["lpboost", "erlpboost"])
    report = check_backend(replace_line(create_file(tmp_path, "backend"), line, change))
    assert check in [failed.name for failed in report.failures]


@slow
def test_a_backend_that_raises_is_named_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostopt.checks.backend_checks.list_formulations", lambda: ["lpboost", "erlpboost"])
    path = replace_line(create_file(tmp_path, "backend"), "N, t = U.shape", "N, t = U.shapes")
    failed = check_backend(path)["answers"]
    assert not failed.passed
    assert failed.words.startswith(f"mine.py:{line_of(path, 'U.shapes')} in Mine.attempts raised AttributeError: ")


@pytest.mark.thorough
def test_a_slow_backend_fails_the_check_of_accuracy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostopt.checks.backend_checks.list_formulations", lambda: ["lpboost", "erlpboost"])
    monkeypatch.setattr("boostopt.checks.backend_checks.TIME_LIMIT", 0.01)
    path = create_file(tmp_path, "backend")
    replace_line(
        path, "        is_optimal = answer.status == 0\n", "        is_optimal, answer.x[:t] = False, 1.0 / t\n"
    )
    replace_line(path, "w=answer.x[:t] if is_optimal else None", "w=answer.x[:t]")
    report = check_backend(path)
    assert [failed.name for failed in report.failures] == ["accuracy"]
    assert "within 0.01 s" in report["accuracy"].words


def test_backends_are_held_to_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostopt.checks.backend_checks.list_formulations", lambda: ["lpboost", "erlpboost"])
    assert check_backend("interior").passed
    report = check_backend("interior", tol=1e-15)
    assert [check.name for check in report.failures] == ["claims", "accuracy"]


@slow
@each_page
def test_every_command_takes_a_page(tmp_path: Path, kind: str) -> None:
    page, data = create_file(tmp_path, kind), write_examples(tmp_path / "data.npz")
    how = ("--data", data, *PARAMETERS[kind])
    rough = (*how, "--epsilon", 0.9)
    assert document("boost", page, *rough)["formulation"] == "mine"
    assert run("compare", page, *how, "--columns", 6, "--backends", "cvxpy:clarabel", "--tol", 1e-4).exit_code == 0
    assert run("export", page, *how, "--columns", 6, "--out", tmp_path / "instance.npz").exit_code == 0
    model = tmp_path / "model.npz"
    assert run("fit", "--formulation", page, *rough, "--out", model).exit_code == 0
    page.unlink()  # a model is plain numbers
    assert run("predict", model, "--data", data).exit_code == 0


@slow
def test_a_path_and_a_report_take_a_page(tmp_path: Path) -> None:
    page, data = create_file(tmp_path, "class"), write_examples(tmp_path / "data.npz")
    values = ("--nu", "8,16", "--eta", 20, "--epsilon", 0.9)
    assert len(document("path", page, "--data", data, *values)["runs"]) == 2
    out = tmp_path / "comparison.json"
    how = ("--nu", 8, "--eta", 20, "--columns", 6, "--backends", "interior", "--tol", 1e-6, "--json")
    out.write_text(run("compare", page, "--data", data, *how).stdout)
    assert "mine" in run("report", out).stdout


@slow
def test_a_certificate_over_the_class_is_verified_with_the_page(tmp_path: Path) -> None:
    page, data, proof = create_file(tmp_path, "class"), write_examples(tmp_path / "data.npz"), tmp_path / "proof.json"
    how = ("--nu", 8, "--eta", 20, "--epsilon", 0.9, "--certificate", proof)
    assert run("boost", page, "--data", data, *how).exit_code == 0
    assert run("verify", proof, "--data", data, "--formulation", page).exit_code == 0
    without = run("verify", proof, "--data", data)
    assert without.exit_code == 1 and "--formulation" in without.stdout


def test_a_run_says_which_page_it_needs_and_whether_that_has_changed(tmp_path: Path) -> None:
    page, data = create_file(tmp_path, "class"), write_examples(tmp_path / "data.npz")
    saved, checkpoint = tmp_path / "run.npz", tmp_path / "checkpoint.npz"
    how = ("boost", page, "--data", data, "--nu", 8, "--eta", 20, "--epsilon", 0.9)
    assert run(*how, "--out", saved, "--checkpoint", checkpoint).exit_code == 0
    with pytest.raises(boostopt.DataError, match=r"\bmine\.py\b.*\bformulation\b"):
        boostopt.Run.load(saved)
    with pytest.raises(boostopt.OptionError, match=r"\bno\b.*\bmoved\.py"):
        boostopt.Run.load(saved, formulation=tmp_path / "moved.py")
    assert boostopt.Run.load(saved, formulation=page).rounds > 0
    replace_line(page, "return 1 / self.eta", "return 0.5 / self.eta")
    with pytest.warns(UserWarning, match=r"\bmine\.py\b.*\bchanged\b"):
        boostopt.Run.load(saved, formulation=page)
    refused(r"checkpoint\.npz\b.*\btext of the formulation [0-9a-f]{12}\b", *how, "--checkpoint", checkpoint)


def test_a_resumed_comparison_solves_a_changed_page_anew(tmp_path: Path) -> None:
    from boostopt.programs.program_identity import program_digest

    page, U = create_file(tmp_path, "cvxpy"), np.array([[1.0], [-1.0], [1.0]])
    old_digest = program_digest(boostopt.get_formulation(page).bind(U, nu=2, eta=1.0))
    replace_line(page, "(2 * p.eta)", "(3 * p.eta)")
    assert program_digest(boostopt.get_formulation(page).bind(U, nu=2, eta=1.0)) != old_digest


@slow
def test_an_oracle_and_a_backend_are_named_by_their_files(tmp_path: Path) -> None:
    oracle, backend = create_file(tmp_path, "oracle", "medians"), create_file(tmp_path, "backend", "linear")
    data, proof, model = write_examples(tmp_path / "data.npz"), tmp_path / "proof.json", tmp_path / "model.npz"
    how = ("--data", data, "--nu", 16, "--epsilon", 0.9)
    boosted = ("boost", "lpboost", *how, "--oracle", oracle, "--backend", backend, "--certificate", proof)
    assert re.match(r"medians\b.* 4\b", document(*boosted)["oracle"])
    assert run("verify", proof, "--data", data, "--oracle", oracle).exit_code == 0
    assert run("fit", *how, "--base", oracle, "--out", model).exit_code == 0
    assert run("predict", model, "--data", data, "--base", oracle).exit_code == 0
    columns = ("--columns", 6, "--nu", 8, "--tol", 1e-8)
    file_document = document("compare", "lpboost", "--data", data, *columns, "--backends", f"{backend},interior")
    assert file_document["overlap"] is True
    option = ("--oracle", oracle, "--option", "depth=2")
    refused(r"\bMedians 'depth'.*\bnone\.$", "boost", "lpboost", *how, *option)
    refused(r"\bbackend\b.*medians\.py\b", *boosted[:-3], oracle)


@slow
def test_commands_on_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^ *```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line.split()[1:] for block in blocks for line in block.splitlines() if line.strip()]
    assert len(lines) >= 17
    for words in lines:
        result = run(*words)
        assert result.exit_code == 0, (words, result.stdout, result.stderr)
    (text,) = re.findall(r"```text\n(chi: .*)\n```", PAGE.read_text(encoding="utf-8"))
    replace_line(Path("chi.py"), *QUICK[:2])
    monkeypatch.undo()  # the page shows checks of all instances
    monkeypatch.chdir(tmp_path)
    assert text in run("check", "chi.py").stdout.replace("\n", " ")


def test_every_check_is_explained_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = [
        re.findall(r"^\| `([^`]+)` \|", page.split(f"| {head} | what must hold |")[1].split("\n\n")[0], re.MULTILINE)
        for head in ("of an oracle", "of a backend")
    ]
    assert tables == [list(ORACLE_CHECKS), list(BACKEND_CHECKS)]


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("two words", r"\bletters\b.*'two\swords'"),
        ("lambda", r"'lambda'.*\bPython\b"),
        ("lpboost", r"\bboostopt\b.*'lpboost'"),
        ("AdaBoost", r"\bboostopt\b.*'adaboost'"),
        ("stump", r"\bboostopt\b.*'stump'"),
        ("numpy", r"\bnumpy\.py\b.*\bhide\b.*\bnumpy\b"),
        ("regularizer", r"\bfile\b.*'regularizer'"),
    ],
)
def test_names_that_will_not_do_are_refused(tmp_path: Path, name: str, facts: str) -> None:
    refused(facts, "new", "regularizer", name, "--to", tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = create_file(tmp_path, "cvxpy")
    path.write_text("mine")
    refused(r"\bmine\.py exists\b", "new", "oracle", "mine", "--to", tmp_path)
    assert path.read_text() == "mine"
    refused(r"\bmine\.py\b.* is a file\b", "new", "oracle", "mine", "--to", path / "nowhere")
    refused(r"\bregularizer 'text'.*\bclass, cvxpy, formula\b", "new", "regularizer", "other", "--as", "text")


def test_the_folder_is_made(tmp_path: Path) -> None:
    assert create_file(tmp_path / "new" / "folder", "cvxpy").is_file()


def test_every_template_has_a_command_and_cases() -> None:
    templates = [template for forms in read_templates().values() for template in forms]
    assert {(template.kind, template.form) for template in templates} == {
        (words[0], words[2] if len(words) > 1 else "") for words in KINDS.values()
    }
    listing = run("new", "--help").stdout
    assert all(re.search(rf"^  {template.kind} ", listing, re.MULTILINE) for template in templates)


def test_the_entry_of_a_template_is_not_copied(tmp_path: Path) -> None:
    path = create_file(tmp_path, "oracle")
    assert path.read_text().startswith('"""mine: ')
    assert "boostopt boost lpboost" in run("new", "oracle", "other", "--to", tmp_path).stdout


def test_a_template_without_an_entry_is_refused() -> None:
    with pytest.raises(ValueError, match=r"# /// boostopt new\b.*'new_name: no entry'"):
        Template.from_source("new_name: no entry")


def test_an_exception_of_ones_own_file_is_a_line_that_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "oracle", "slabs").exit_code == 0
    source = (tmp_path / "slabs.py").read_text()
    faulty_source = source.replace(
        "def best(self, query: Query) -> Answer:", "def best(self, query: Query) -> Answer:\n        1 / 0"
    )
    assert faulty_source != source
    (tmp_path / "slabs.py").write_text(faulty_source)
    refused(
        r"\bslabs\.py, line \d+ in best\b.*\bZeroDivisionError: division by zero\.",
        "boost", "lpboost", "--data", "breast_cancer", "--positive", "benign", "--nu", "0.2", "--oracle", "slabs.py",
    )  # fmt: skip
