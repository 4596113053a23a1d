"""Binding: what is accepted, what is refused and how, and formulations of one's own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.problems import REFERENCE_U

from boostopt import MarginMatrix, OptionError, ProblemError, get_backend, get_formulation, list_formulations
from boostopt.errors import did_you_mean
from boostopt.programs.parameters import min_fraction_for_count

PAGE = '''
"""ERLPBoost again, as a user may state it: one file, nothing else."""
import numpy as np
from dataclasses import dataclass
from boostopt.authoring import COUNT, POSITIVE, Formulation, MaximumEdge, RelativeEntropy, minimize, maximize, parameter

@dataclass(frozen=True, kw_only=True)
class Parameters:
    nu: float = parameter("the cap", COUNT)
    eta: float = parameter("the strength", POSITIVE, 7.0)

class Mine(Formulation):
    name, title, sources, Parameters, takes_reference = "mine", "Mine", (), Parameters, True
    def regularizer(self, p, examples): return RelativeEntropy.capped(examples.c, p.nu, p.eta, examples.d0)
    def edge_function(self, p): return MaximumEdge()
    def primal(self, U, p, examples): return minimize(0, subject_to={})
    def dual(self, U, p, examples): return maximize(0, subject_to={})
'''

MEANING = "the least number of examples that share the weight: each gets at most c / nu"

MASKED = np.ma.masked_equal(np.array([[0.5, 0.0, 0.5, 0.0, 0.5, 0.5]]), 0.0)


def bind(name: str, U: object = REFERENCE_U, **parameters: object) -> object:
    return get_formulation(name).bind(U, **parameters)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, f"lpboost needs nu, {MEANING}, in [1, sum of c]; got none. Pass nu=..."),
        (
            {"nu": 0.99},
            f"nu must lie in [1, sum of c] = [1, 6]; got 0.99. It is {MEANING}. Pass a value in this domain. "
            "If 0.99 is a fraction, pass 5.94.",
        ),
        (
            {"nu": 0.1},
            f"nu must lie in [1, sum of c] = [1, 6]; got 0.1. It is {MEANING}. Pass a value in this domain. "
            "If 0.1 is a fraction of the sum of c, it means 0.6 examples, which is fewer than one; the smallest "
            "fraction is 0.1667.",
        ),
        (
            {"nu": 0.5, "c": [0.1] * 6},
            f"nu must lie in [1, sum of c] = [1, 0.6]; got 0.5. It is {MEANING}. Pass a value in this domain. "
            "The weights of 6 examples sum to 0.6, and nu counts an example as often as its weight says. Scale the "
            "weights so that their sum is the number of examples.",
        ),
    ],
    ids=("none", "fraction", "small fraction", "light weights"),
)
def test_a_refusal_says_the_domain_the_value_and_what_to_pass(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        bind("lpboost", **parameters)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("lpboost", {"nu": 6.01}, r"^nu\b.*\[1, 6\].* 6\.01\."),
        ("lpboost", {"nu": 4, "c": [0.5] * 6}, r"^nu\b.*\[1, 3\].* 4\."),
        ("lpboost", {"nu": np.nan}, r"^nu\b.*\[1, 6\].* nan\."),
        ("lpboost", {"nu": "many"}, r"^nu\b.*\breal\b.*'many'"),
        ("lpboost", {"nu": [1, 2]}, r"^nu\b.*\breal\b.* \[1, 2\]\."),
        ("lpboost", {"nu": 2, "epsilon": 0}, r"^epsilon\b.*\[1e-100, 1e\+100\].* 0\."),
        ("erlpboost", {"nu": 2, "eta": 0}, r"^eta\b.*\[1e-100, 1e\+100\].* 0\."),
        ("erlpboost", {"nu": 2, "eta": -1}, r"^eta\b.* -1\."),
        ("erlpboost", {"nu": 2, "eta": np.inf}, r"^eta\b.* inf\."),
        ("erlpboost", {"nu": 2, "eta": 1e-310}, r"^eta\b.* 1e-310\."),
        ("erlpboost", {"nu": 2, "epsilon": 1e-100}, r"^eta\b.*\[1e-100, 1e\+100\].* 2\.197\d*e\+100\."),
        ("lpboost", {"nu": 0.5}, r"^nu\b.*\[1, 6\].* 0\.5\..* 3\.$"),
        ("lpboost", {"nu": 2, "c": MASKED[0]}, r"^c\b.* 2,.* \(1\)\..*\bc\.filled\b"),
        ("erlpboost", {"nu": 2, "d0": MASKED[0]}, r"^d0\b.* 2,.* \(1\)\..*\bd0\.filled\b"),
        ("lpboost", {"nu": 2, "c": [1e308] * 6}, r"\bc\b.* 1e\+308 at 0,.*\[1e-100, 1e\+100\]"),
        ("lpboost", {"nu": 2, "c": [5e-324, 1, 1, 1, 1, 1]}, r"\bc\b.* 4\.94066e-324 at 0,.*\[1e-100, 1e\+100\]"),
        ("erlpboost", {"nu": 2, "d0": [1e308] * 6}, r"^d0\b.* 1e\+308 at 0\."),
        ("lpboost", {"nu": 2, "c": [1, 1, 0, 1, 1, 1]}, r"\bc\b.* 0 at 2,.*\[1e-100, 1e\+100\]"),
        ("lpboost", {"nu": 2, "c": [1, 1]}, r"^c\b.*\(6,\).*\(2,\)"),
        ("lpboost", {"nu": 2, "c": [1, 1, 1, 1, 1, np.inf]}, r"^c\b.* inf at 5\."),
        ("lpboost", {"nu": 2, "c": ["a"] * 6}, r"^c\b.*\(6,\).*\(6,\).*\bU1\b"),
        ("erlpboost", {"nu": 2, "d0": [0.5, 0.6, -0.1, 0, 0, 0]}, r"^d0\b.* -0\.1 at 2\."),
        ("erlpboost", {"nu": 2, "d0": [0.1] * 6}, r"^d0\b.*\bsum\b.* 1;.* 0\.6\."),
        ("erlpboost", {"nu": 2, "d0": [[1.0]]}, r"^d0\b.*\(6,\).*\(1, 1\)"),
        ("erlpboost", {"nu": 3, "d0": [0.5, 0.5, 0, 0, 0, 0]}, r"\bempty\b.* 2,.*\bnu = 3\b"),
        ("lpboost", {"nu": 2, "d0": [1 / 6] * 6}, r"\blpboost\b.*\bd0\."),
    ],
    ids=(
        *("nu-above", "nu-above-light-weights", "nu-nan", "nu-text", "nu-list", "epsilon-zero"),
        *("eta-zero", "eta-negative", "eta-infinite", "eta-tiny", "eta-by-epsilon", "nu-half", "c-masked", "d0-masked"),
        *("c-huge", "c-tiny", "d0-huge", "c-zero", "c-short", "c-infinite", "c-text"),
        *("d0-negative", "d0-sum", "d0-shape", "d0-beyond-the-caps", "d0-unknown"),
    ),
)
def test_bad_parameters_are_refused(name: str, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        bind(name, **parameters)


@pytest.mark.parametrize("total", [1.0, 1.5, 3, 6, 7, 49, 100, 569, 625, 999.9, 1000, 1024, 12345, 1e6, 3e8])
def test_the_smallest_fraction_is_accepted_and_four_digits_short_of_it_is_not(total: float) -> None:
    fraction = min_fraction_for_count(total)
    assert 1.0 <= fraction * total <= 1.001
    assert float(f"{fraction:.4g}") == fraction


def test_masked_margins_are_refused_and_a_mask_that_hides_nothing_is_none() -> None:
    U = np.ma.masked_array(REFERENCE_U, mask=False)
    assert get_formulation("lpboost").bind(U, nu=2).margins.digest() == MarginMatrix(REFERENCE_U).digest()
    U[4, 1] = np.ma.masked
    with pytest.raises(ProblemError, match=r"^U\b.* 1,.* \(4, 1\)\..*\bU\.filled\b"):
        bind("lpboost", U, nu=2)


def test_masked_answers_are_refused() -> None:
    program = get_formulation("lpboost").bind(REFERENCE_U, nu=2)
    for name, size in (("d", 6), ("w", 3)):
        answer = {name: np.ma.masked_less(np.arange(size), 1)}
        with pytest.raises(ProblemError, match=rf"^{name}\b.* 1,.* \(0\)\..*\b{name}\.filled\b"):
            program.certify(**answer)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.float32])
def test_zeros_and_ones_of_any_type_of_number_are_margins_0_and_1(dtype: type) -> None:
    U = np.array([[1, 0], [0, 1], [1, 1]])
    program = get_formulation("lpboost").bind(U.astype(dtype), nu=1)
    assert program.margins.digest() == MarginMatrix(U.astype(float)).digest()
    np.testing.assert_array_equal(program.margins.edges(np.array([0.5, 0.5, 0.0])), [0.5, 0.5])


def test_true_and_false_are_refused_with_what_they_may_have_meant() -> None:
    with pytest.raises(ProblemError, match=r"\bTrue\b.*\bFalse\b.*\b2\.0 \* U - 1\b"):
        bind("lpboost", REFERENCE_U > 0, nu=2)


FAULTY = {"raises": "raise KeyError('q')", "is": "return None", "calls": "import numpy; numpy.ones(-1)"}


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raises", r"\bKeyError: 'q' \(.*PLACE\)"),
        ("is", r"\bNone\b"),
        # The page's line, not that in the library it calls.
        ("calls", r"\bValueError: .* \(.*PLACE\)"),
    ],
    ids=("raises", "is", "calls"),
)
def test_a_page_that_fails_to_make_its_problem_is_named_with_the_reason(
    tmp_path: Path, side: str, fault: str, message: str
) -> None:
    page = tmp_path / "faulty.py"
    text, n_changes = re.subn(rf"(def {side}.*:) return.*", rf"\1\n        {FAULTY[fault]}", PAGE)
    assert n_changes == 1
    page.write_text(text)
    program = get_formulation(page).bind(REFERENCE_U, nu=2)
    line = text.splitlines().index(f"        {FAULTY[fault]}") + 1
    message = message.replace("PLACE", rf"faulty\.py, line {line}")
    with pytest.raises(ProblemError, match=rf"^mine\b.*\b{side}\b.*\bcvxpy\.Problem;.*{message}"):
        program.cvxpy(side, "literal")


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("fill_parameters", "return None", r"\brecord\b.*\bNone\b"),
        ("fill_parameters", "return p.mu", r"\brecord\b.*\bAttributeError:.*'mu'.*PLACE\)"),
        ("regularizer", "return 3", r"\bregularizer\b.*\b3\b"),
        ("edge_function", "raise KeyError('q')", r"\bedge\b.*\bKeyError:.*'q'.*PLACE\)"),
    ],
    ids=("no record", "record raises", "no regularizer", "edges raise"),
)
def test_a_page_that_fails_to_bind_is_named_with_the_reason(
    tmp_path: Path, method: str, body: str, message: str
) -> None:
    page = tmp_path / "faulty.py"
    arguments = "p" if method == "edge_function" else "p, examples"
    page.write_text(f"{PAGE}\n    def {method}(self, {arguments}): {body}\n")
    line = len(page.read_text().splitlines())
    message = message.replace("PLACE", rf"faulty\.py, line {line}")
    with pytest.raises(ProblemError, match=rf"^mine\b.*{message}"):
        get_formulation(page).bind(REFERENCE_U, nu=2)


def test_an_unknown_parameter_is_refused_with_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"'etta'.*'eta'"):
        bind("erlpboost", nu=2, etta=3)
    with pytest.raises(OptionError, match=r"\blpboost 'eta'"):
        bind("lpboost", nu=2, eta=3)


def test_none_means_the_default() -> None:
    program = get_formulation("erlpboost").bind(REFERENCE_U, nu=2, eta=None, epsilon=None, c=None, d0=None)
    assert program.parameters.epsilon == 0.01
    assert get_formulation("lpboost").bind(REFERENCE_U, nu=2, eta=None).parameters.nu == 2.0


def test_nu_may_be_the_sum_of_c_as_computed() -> None:
    c = np.array([0.1] * 6)
    with pytest.raises(ProblemError, match=r"^nu\b.*\[1, 0\.6\].* 1\."):
        bind("lpboost", nu=1, c=c)
    for c in (np.full(6, 0.7), np.random.default_rng(0).uniform(0.2, 2, 6)):
        program = get_formulation("lpboost").bind(REFERENCE_U, nu=float(c.sum()), c=c)
        np.testing.assert_allclose(program.certify(w=[1, 0, 0]).d, c / c.sum(), rtol=1e-12)


def test_parameters_are_described() -> None:
    parameters = get_formulation("erlpboost").parameters
    assert list(parameters) == ["nu", "epsilon", "eta", "two_sided"]
    assert parameters["nu"].required
    assert parameters["epsilon"].default == 0.01
    assert np.isnan(parameters["eta"].default)
    assert parameters["eta"].domain.text == "[1e-100, 1e+100]"


def test_formulations_by_name_path_and_object(tmp_path: Path) -> None:
    assert {"lpboost", "erlpboost"} <= set(list_formulations())
    page = tmp_path / "mine.py"
    page.write_text(PAGE)
    for source in (page, str(page)):
        mine = get_formulation(source)
        assert mine.name == "mine"
        assert get_formulation(mine) is mine
        ours = get_formulation("erlpboost").bind(REFERENCE_U, nu=2, eta=7).solve(tol=1e-9)
        assert mine.bind(REFERENCE_U, nu=2).solve(tol=1e-9).certificate.overlaps(ours.certificate)


@pytest.mark.parametrize("name", ["ERLPBoost", "erlpBOOST", " erlpboost "])
def test_case_does_not_count_in_the_name_of_a_formulation(name: str) -> None:
    assert get_formulation(name).name == "erlpboost"


@pytest.mark.parametrize("name", ["Arc-GV", "arc gv", "arc_gv"])
def test_hyphens_and_spaces_stand_for_underscores(name: str) -> None:
    assert get_formulation(name).name == "arc_gv"


def test_a_file_without_its_ending_is_pointed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ridge.py").write_text(PAGE)
    with pytest.raises(OptionError, match=r"'ridge'.*\bridge\.py\b"):
        get_formulation("ridge")
    with pytest.raises(OptionError, match=r"'lasso'\.[^.]*\.$"):
        get_formulation("lasso")


@pytest.mark.parametrize(
    ("name", "candidates", "similar_names"),
    [
        ("LPBoost", ["lpboost", "svm"], ["lpboost"]),
        ("label", ["age", "dose"], []),
        ("clarabel", ["cvxpy:clarabel", "cvxpy:scs"], ["cvxpy:clarabel"]),
        ("proba", ["predict", "predict_proba"], ["predict_proba"]),
        ("in", ["training", "raining"], []),
        ("lbael", ["Label", "LABEL"], ["Label", "LABEL"]),
    ],
    ids=("case", "none", "part", "longer part", "short part", "two"),
)
def test_similar_names_are_suggested(name: str, candidates: list[str], similar_names: list[str]) -> None:
    hint = did_you_mean(name, candidates)
    assert re.findall("'([^']+)'", hint) == similar_names
    assert bool(hint) == bool(similar_names)


def test_unknown_formulations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"'ERLPBost'.*'erlpboost'"):
        get_formulation("ERLPBost")
    with pytest.raises(OptionError, match=r"'erlpbost'.*'erlpboost'"):
        get_formulation("erlpbost")
    with pytest.raises(OptionError, match=r" nowhere\.py\."):
        get_formulation("nowhere.py")
    text = tmp_path / "page.txt"
    text.write_text("")
    with pytest.raises(OptionError, match=r"\.py;.*\bpage\.txt\b"):
        get_formulation(text)
    empty = tmp_path / "empty.py"
    empty.write_text("")
    with pytest.raises(OptionError, match=r"\bone\b.*\bempty\.py\b.*\bnone\b"):
        get_formulation(empty)
    two = tmp_path / "two.py"
    two.write_text(PAGE + "\nclass Other(Mine): name = 'other'\n")
    with pytest.raises(OptionError, match=r"\btwo\.py\b.*\bMine\b.*\bOther\b"):
        get_formulation(two)


@pytest.mark.parametrize("name", ("lpboost", "erlpboost"))
def test_a_copy_of_a_shipped_page_works_by_path(tmp_path: Path, name: str) -> None:
    shipped = sys.modules[type(get_formulation(name)).__module__].__file__
    assert shipped is not None
    copy = tmp_path / "copy.py"
    copy.write_text(Path(shipped).read_text().replace(f'"{name}"', '"mine"'))
    mine = get_formulation(str(copy))
    assert repr(mine) == "<formulation mine>"
    ours = get_formulation(name).bind(REFERENCE_U, nu=2).solve(tol=1e-6)
    assert mine.bind(REFERENCE_U, nu=2).solve(tol=1e-6).certificate.overlaps(ours.certificate)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def", r"\bSyntaxError\b"),
        ("import nonsense", r"\bModuleNotFoundError\b.*'nonsense'"),
        (
            PAGE.replace('"mine", "Mine", (), Parameters, True', '"mine", "Mine", (), Parameters, True; del name'),
            r"\bMine\b.*\bname\.$",
        ),
        (
            PAGE.replace("def regularizer", "def regulariser"),
            r"\babstract\b.*\bMine\b.*\bregularizer\.$",
        ),
        (
            PAGE.replace("def regularizer", "def regulariser") + "class Other(Mine):\n    pass\n",
            r"\bMine\b.*\bOther\b.*\bMine\b.*\bregularizer\b.*\bOther\b.*\bregularizer\.$",
        ),
        (
            PAGE + "    def __init__(self, nu): pass",
            r"\bMine\b.*\bfaulty\.py\b.*\bTypeError\b.*'nu'",
        ),
    ],
    ids=("syntax", "import", "unfinished", "abstract", "both abstract", "arguments"),
)
def test_a_page_with_a_fault_is_refused_with_the_fault(tmp_path: Path, text: str, message: str) -> None:
    page = tmp_path / "faulty.py"
    page.write_text(text)
    with pytest.raises(OptionError, match=message):
        get_formulation(page)


def test_a_page_may_have_an_abstract_base(tmp_path: Path) -> None:
    page = tmp_path / "based.py"
    text = PAGE.replace("def regularizer", "def written_below")
    page.write_text(text + "class Below(Mine):\n    regularizer = Mine.written_below\n")
    assert type(get_formulation(page)).__name__ == "Below"


def test_objects_other_than_names_and_formulations_are_refused() -> None:
    with pytest.raises(OptionError, match=r"\bformulation\b.*\b3\b.*\blist_formulations\b"):
        get_formulation(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match=r"\bbackend\b.*\bNone\b.*\blist_backends\b"):
        get_backend(None)  # pyright: ignore[reportArgumentType]


def test_an_unknown_side_or_form_is_refused() -> None:
    program = get_formulation("lpboost").bind(REFERENCE_U, nu=2)
    with pytest.raises(OptionError, match=r"'prime'.*'primal'"):
        program.cvxpy("prime")
    with pytest.raises(OptionError, match=r"'printed'.*\bliteral\b"):
        program.cvxpy("primal", "printed")
