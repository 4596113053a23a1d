"""Binding: what is accepted, what is refused and how, and formulations of one's own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import REFERENCE_U

from boostopt import Margins, OptionError, ProblemError, get_backend, get_formulation, list_formulations
from boostopt.errors import nearest
from boostopt.programs.parameters import smallest_fraction

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

MASKED = np.ma.masked_equal(np.array([[0.5, 0.0, 0.5, 0.0, 0.5, 0.5]]), 0.0)


def bind(name: str, U: object = REFERENCE_U, **parameters: object) -> object:
    return get_formulation(name).bind(U, **parameters)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("lpboost", {}, r"lpboost needs nu, the least number of examples.*, in \[1, sum of c\]; got none. Pass nu=..."),
        ("lpboost", {"nu": 0.99}, r"nu must lie in \[1, sum of c\] = \[1, 6\]; got 0.99"),
        ("lpboost", {"nu": 6.01}, r"nu must lie in \[1, sum of c\] = \[1, 6\]; got 6.01"),
        ("lpboost", {"nu": 4, "c": [0.5] * 6}, r"= \[1, 3\]; got 4"),
        ("lpboost", {"nu": np.nan}, "nu must lie in"),
        ("lpboost", {"nu": "many"}, "nu must be a real number; got 'many'"),
        ("lpboost", {"nu": [1, 2]}, "nu must be a real number"),
        ("lpboost", {"nu": 2, "epsilon": 0}, r"epsilon must lie in \[1e-100, 1e\+100\]; got 0"),
        ("erlpboost", {"nu": 2, "eta": 0}, r"eta must lie in \[1e-100, 1e\+100\]; got 0"),
        ("erlpboost", {"nu": 2, "eta": -1}, "got -1"),
        ("erlpboost", {"nu": 2, "eta": np.inf}, "got inf"),
        ("erlpboost", {"nu": 2, "eta": 1e-310}, "got 1e-310"),
        ("erlpboost", {"nu": 2, "epsilon": 1e-100}, "eta must lie in .*; got"),
        ("lpboost", {"nu": 0.5}, r"If 0\.5 is a fraction, pass 3\."),
        (
            "lpboost",
            {"nu": 0.1},
            "of the sum of c, it means 0.6 examples, which is fewer than one; the smallest .* is 0.1667",
        ),
        (
            "lpboost",
            {"nu": 0.5, "c": [0.1] * 6},
            r"got 0\.5\. It is .* Pass a value in this domain\. The weights of 6 examples sum to 0\.6, .* Scale the",
        ),
        ("lpboost", {"nu": 2, "c": MASKED[0]}, r"c must have no masked entries; got 2, the first at \(1\)\. Drop"),
        ("erlpboost", {"nu": 2, "d0": MASKED[0]}, r"d0 must have no masked entries; got 2, the first at \(1\)\. Drop"),
        ("lpboost", {"nu": 2, "c": [1e308] * 6}, "got 1e.308 at 0"),
        ("lpboost", {"nu": 2, "c": [5e-324, 1, 1, 1, 1, 1]}, "at 0"),
        ("erlpboost", {"nu": 2, "d0": [1e308] * 6}, "d0 must be non-negative with sum 1"),
        ("lpboost", {"nu": 2, "c": [1, 1, 0, 1, 1, 1]}, "multiplicities c must be positive; got 0 at 2"),
        ("lpboost", {"nu": 2, "c": [1, 1]}, r"c must be one number for each example, shape \(6,\); got shape \(2,\)"),
        ("lpboost", {"nu": 2, "c": [1, 1, 1, 1, 1, np.inf]}, "c must be finite; got inf at 5"),
        ("lpboost", {"nu": 2, "c": ["a"] * 6}, "c must be one number for each example"),
        ("erlpboost", {"nu": 2, "d0": [0.5, 0.6, -0.1, 0, 0, 0]}, "d0 must be non-negative with sum 1; got -0.1 at 2"),
        ("erlpboost", {"nu": 2, "d0": [0.1] * 6}, "d0 must sum to 1; got 0.6. Divide it by its sum"),
        ("erlpboost", {"nu": 2, "d0": [[1.0]]}, "d0 must be one number for each example"),
        ("erlpboost", {"nu": 3, "d0": [0.5, 0.5, 0, 0, 0, 0]}, "capped simplex is empty"),
        ("lpboost", {"nu": 2, "d0": [1 / 6] * 6}, "lpboost has no reference distribution d0"),
    ],
)
def test_bad_parameters_are_refused(name: str, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        bind(name, **parameters)


@pytest.mark.parametrize("total", [1.0, 1.5, 3, 6, 7, 49, 100, 569, 625, 999.9, 1000, 1024, 12345, 1e6, 3e8])
def test_the_smallest_fraction_is_accepted_and_four_digits_short_of_it_is_not(total: float) -> None:
    fraction = smallest_fraction(total)
    assert 1.0 <= fraction * total <= 1.001
    assert float(f"{fraction:.4g}") == fraction


def test_masked_margins_are_refused_and_a_mask_that_hides_nothing_is_none() -> None:
    U = np.ma.masked_array(REFERENCE_U, mask=False)
    assert get_formulation("lpboost").bind(U, nu=2).margins.digest() == Margins(REFERENCE_U).digest()
    U[4, 1] = np.ma.masked
    message = r"U must have no masked entries; got 1, the first at \(4, 1\)\. Drop what is masked, or say .* U\.filled"
    with pytest.raises(ProblemError, match=message):
        bind("lpboost", U, nu=2)


def test_masked_answers_are_refused() -> None:
    program = get_formulation("lpboost").bind(REFERENCE_U, nu=2)
    for name, size in (("d", 6), ("w", 3)):
        answer = {name: np.ma.masked_less(np.arange(size), 1)}
        with pytest.raises(ProblemError, match=rf"{name} must have no masked entries; got 1, the first at \(0\)\."):
            program.certify(**answer)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.float32])
def test_zeros_and_ones_of_any_type_of_number_are_margins_0_and_1(dtype: type) -> None:
    U = np.array([[1, 0], [0, 1], [1, 1]])
    program = get_formulation("lpboost").bind(U.astype(dtype), nu=1)
    assert program.margins.digest() == Margins(U.astype(float)).digest()
    np.testing.assert_array_equal(program.margins.edges(np.array([0.5, 0.5, 0.0])), [0.5, 0.5])


def test_true_and_false_are_refused_with_what_they_may_have_meant() -> None:
    with pytest.raises(
        ProblemError, match=r"got True and False\. .*means that a hypothesis is right, pass 2\.0 \* U - 1"
    ):
        bind("lpboost", REFERENCE_U > 0, nu=2)


FAULTY = {"raises": "raise ValueError('broken here')", "is": "return None", "calls": "import numpy; numpy.ones(-1)"}


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raises", r"it raises ValueError: broken here \(.*faulty\.py, line LINE\)\. Correct the page\."),
        ("is", r"it made None\. Correct the page\."),
        # The page's line, not that in the library it calls.
        ("calls", r"it raises ValueError: .* \(.*faulty\.py, line LINE\)\. Correct the page\."),
    ],
)
def test_a_page_that_fails_to_make_its_problem_is_named_with_the_reason(
    tmp_path: Path, side: str, fault: str, message: str
) -> None:
    page = tmp_path / "faulty.py"
    text, found = re.subn(rf"(def {side}.*:) return.*", rf"\1\n        {FAULTY[fault]}", PAGE)
    assert found == 1
    page.write_text(text)
    program = get_formulation(page).bind(REFERENCE_U, nu=2)
    line = text.splitlines().index(f"        {FAULTY[fault]}") + 1
    with pytest.raises(
        ProblemError, match=f"mine must make its {side}, a cvxpy.Problem; {message}".replace("LINE", str(line))
    ):
        program.cvxpy(side, "literal")


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("canonical", "return None", "mine must make its record of parameters; it made None"),
        (
            "canonical",
            "return p.mu",
            r"its record of parameters; it raises AttributeError: .*'mu' \(.*faulty\.py, line LINE",
        ),
        ("regularizer", "return 3", "mine must make its regularizer; it made 3"),
        (
            "edge_function",
            "raise KeyError('q')",
            r"its edge function; it raises KeyError: 'q' \(.*faulty\.py, line LINE\)",
        ),
    ],
)
def test_a_page_that_fails_to_bind_is_named_with_the_reason(
    tmp_path: Path, method: str, body: str, message: str
) -> None:
    page = tmp_path / "faulty.py"
    arguments = "p" if method == "edge_function" else "p, examples"
    page.write_text(f"{PAGE}\n    def {method}(self, {arguments}): {body}\n")
    line = len(page.read_text().splitlines())
    with pytest.raises(ProblemError, match=message.replace("LINE", str(line))):
        get_formulation(page).bind(REFERENCE_U, nu=2)


def test_an_unknown_parameter_is_refused_with_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"unknown parameter of erlpboost 'etta'\. Did you mean 'eta'"):
        bind("erlpboost", nu=2, etta=3)
    with pytest.raises(OptionError, match="unknown parameter of lpboost 'eta'"):
        bind("lpboost", nu=2, eta=3)


def test_none_means_the_default() -> None:
    program = get_formulation("erlpboost").bind(REFERENCE_U, nu=2, eta=None, epsilon=None, c=None, d0=None)
    assert program.parameters.epsilon == 0.01
    assert get_formulation("lpboost").bind(REFERENCE_U, nu=2, eta=None).parameters.nu == 2.0


def test_nu_may_be_the_sum_of_c_as_computed() -> None:
    c = np.array([0.1] * 6)
    with pytest.raises(ProblemError, match="nu must lie in"):
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
    for which in (page, str(page)):
        mine = get_formulation(which)
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
    with pytest.raises(OptionError, match=r"unknown formulation 'ridge'.* A file ridge\.py exists: pass its path\.$"):
        get_formulation("ridge")
    with pytest.raises(OptionError, match=r"unknown formulation 'lasso'\..* Known: [^.]*\.$"):
        get_formulation("lasso")


@pytest.mark.parametrize(
    "name, known, hint",
    [
        ("LPBoost", ["lpboost", "svm"], " Did you mean 'lpboost'?"),
        ("label", ["age", "dose"], ""),
        ("clarabel", ["cvxpy:clarabel", "cvxpy:scs"], " Did you mean 'cvxpy:clarabel'?"),
        ("proba", ["predict", "predict_proba"], " Did you mean 'predict_proba'?"),
        ("in", ["training", "raining"], ""),
        ("lbael", ["Label", "LABEL"], " Did you mean 'Label' or 'LABEL'?"),
    ],
)
def test_what_is_near_a_name_is_suggested(name: str, known: list[str], hint: str) -> None:
    assert nearest(name, known) == hint


def test_what_is_no_formulation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"unknown formulation 'ERLPBost'\. Did you mean 'erlpboost'"):
        get_formulation("ERLPBost")
    with pytest.raises(OptionError, match=r"unknown formulation 'erlpbost'\. Did you mean 'erlpboost'"):
        get_formulation("erlpbost")
    with pytest.raises(OptionError, match=r"there is no file .*nowhere\.py"):
        get_formulation("nowhere.py")
    text = tmp_path / "page.txt"
    text.write_text("")
    with pytest.raises(OptionError, match=r"a Python file ending in \.py"):
        get_formulation(text)
    empty = tmp_path / "empty.py"
    empty.write_text("")
    with pytest.raises(OptionError, match=r"exactly one formulation; .* has none"):
        get_formulation(empty)
    two = tmp_path / "two.py"
    two.write_text(PAGE + "\nclass Other(Mine): name = 'other'\n")
    with pytest.raises(OptionError, match="has Mine, Other"):
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
        ("def", "must run as Python; it ends with SyntaxError"),
        ("import nonsense", "ends with ModuleNotFoundError: No module named 'nonsense'"),
        (
            PAGE.replace('"mine", "Mine", (), Parameters, True', '"mine", "Mine", (), Parameters, True; del name'),
            "The class Mine is unfinished: write its name.",
        ),
        (
            PAGE.replace("def regularizer", "def regulariser"),
            "must define a formulation without abstract methods. The class Mine is abstract: write its regularizer",
        ),
        (
            PAGE.replace("def regularizer", "def regulariser") + "class Other(Mine):\n    pass\n",
            "has Mine, Other. The class Mine is abstract: write its regularizer. The class Other is abstract: wr",
        ),
        (
            PAGE + "    def __init__(self, nu): pass",
            r"the class Mine in .*faulty\.py must be constructed without arguments; it raises TypeError: .*'nu'",
        ),
    ],
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


def test_what_is_neither_name_nor_formulation_is_refused() -> None:
    with pytest.raises(OptionError, match="expected the name, the path or an instance of a formulation; got 3"):
        get_formulation(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match="expected the name or an instance of a backend; got None"):
        get_backend(None)  # pyright: ignore[reportArgumentType]


def test_an_unknown_side_or_form_is_refused() -> None:
    program = get_formulation("lpboost").bind(REFERENCE_U, nu=2)
    with pytest.raises(OptionError, match=r"unknown side 'prime'\. Did you mean 'primal'"):
        program.cvxpy("prime")
    with pytest.raises(OptionError, match="unknown form 'printed'"):
        program.cvxpy("primal", "printed")
