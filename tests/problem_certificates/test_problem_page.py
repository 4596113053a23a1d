"""Pages of problems: every atom has TeX, which is well-formed; slopes and signs of multipliers are those of CVXPY."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from convex_problems import PROBLEMS, cp
from matplotlib.mathtext import MathTextParser

from boostopt import ProblemError, ProblemPage, problem_page
from boostopt.problem_certificates.pages.atom_formulas import ATOM_FORMULAS, MEANINGS
from boostopt.problem_certificates.pages.constraint_formulas import constraint_formulas
from boostopt.problem_certificates.pages.expression_names import ExpressionNames
from boostopt.problem_certificates.pages.expression_typesetter import ExpressionTypesetter
from boostopt.problem_certificates.pages.tex_formulas import Formula

PARSER = MathTextParser("agg")
SAMPLE = ("lasso", "svm", "second-order cone", "maximum cut")
"""Problems whose TeX matplotlib reads in the fast suite."""

RNG = np.random.default_rng(0)
A, B, C = RNG.normal(size=(3, 2)), RNG.normal(size=3), RNG.normal(size=(2, 2))
NAMES = {"A": A, "b": B, "C": C}


def texts(page: ProblemPage) -> list[str]:
    """Return all rows of a page."""
    rows = [*page.statement, *page.lagrangian, *(row for part in page.conditions.values() for row in part)]
    return [*rows, *(name for name, _ in page.symbols)]


def assert_closed(text: str) -> None:
    """Braces and brackets close."""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert text.count(r"\left(") == text.count(r"\right)")


def assert_readable(text: str) -> None:
    """Check that Matplotlib can read the TeX of a row."""
    plain = re.sub(r"&|\\textstyle", "", text)
    for sign, replacement in (
        (r"\\ge(?![a-z])", r"\\geq"),
        (r"\\le(?![a-z])", r"\\leq"),
        (r"\\[lr]([vV])ert", r"\\\1ert"),
    ):
        plain = re.sub(sign, replacement, plain)
    PARSER.parse(f"${plain}$")


def stationarity(objective: Any, constraints: list[Any] | None = None) -> str:
    """Return the row of a problem of one variable."""
    (row,) = problem_page(cp.Problem(cp.Minimize(objective), constraints or []), NAMES).conditions["stationarity"]
    return row


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_atom_of_the_suite_has_well_formed_tex(name: str) -> None:
    problem = PROBLEMS[name]()
    page = problem_page(problem)
    for text in texts(page):
        assert_closed(text)
    assert len(page.conditions["stationarity"]) <= len(problem.variables())
    statement = "\n".join(page.statement)
    for variable in page.symbols[: len(problem.variables())]:
        assert variable[0] in statement and variable[1].startswith("variable in")


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.thorough) for name in PROBLEMS]
)
def test_matplotlib_reads_the_page(name: str) -> None:
    for text in set(texts(problem_page(PROBLEMS[name]()))):
        assert_readable(text)


def classes_in(expression: Any) -> set[str]:
    """Return the names of the classes of an expression."""
    inner = [expression.f] if type(expression).__name__ == "perspective" else []
    return {type(expression).__name__}.union(*(classes_in(argument) for argument in (*expression.args, *inner)))


def test_every_atom_of_the_suite_is_in_a_table_or_explained() -> None:
    problems = [make() for make in PROBLEMS.values()]
    parts = [part for problem in problems for c in (problem.objective, *problem.constraints) for part in c.args]
    classes = set[str]().union(*map(classes_in, parts))
    sums = {"Constant", "Variable", "Parameter", "AddExpression", "NegExpression"}
    assert classes - sums - ATOM_FORMULAS.keys() <= MEANINGS.keys()


def test_the_page_of_a_lasso_is_the_one_of_the_textbook() -> None:
    x = cp.Variable(2, name="x")
    page = problem_page(cp.Problem(cp.Minimize(cp.sum_squares(A @ x - B) + 5 * cp.norm1(x))), NAMES)
    assert page.statement == (r"\min_{x} & \lVert A x - b \rVert_{2}^{2} + 5 \lVert x \rVert_{1}",)
    assert page.conditions["stationarity"] == (r"0 \in \partial_{x} (5 \lVert x \rVert_{1}) + 2 A^{\top} (A x - b)",)
    assert not page.conditions["dual feasibility"] and not page.conditions["complementarity"]
    assert dict(page.symbols)["A"] == r"data in $\mathbb{R}^{3 \times 2}$"


def test_the_page_of_a_portfolio_has_names_labels_and_signs() -> None:
    w, budget = cp.Variable(2, name="w", nonneg=True), cp.Parameter(name="budget")
    limits = [(cp.sum(w) == budget).set_label("budget"), w <= 0.6]
    page = problem_page(cp.Problem(cp.Maximize(cp.sum(w) - cp.quad_form(w, np.eye(2))), limits))
    assert page.statement == (
        r"\max_{w} & \mathbf{1}^{\top} w - w^{\top} I w",
        r"& \mathbf{1}^{\top} w = \text{budget} \quad : \; \nu_{1} \quad \text{(budget)}",
        r"& w \le 0.6 \quad : \; \lambda_{2}",
        r"& w \in \mathbb{R}^{2}_{+}",
    )
    assert page.lagrangian[0] == r"-\mathbf{1}^{\top} w + w^{\top} I w"
    assert page.lagrangian[1:] == (
        r"+ \nu_{1} \left(\mathbf{1}^{\top} w - \text{budget}\right)",
        r"+ \lambda_{2}^{\top} (w - 0.6)",
    )
    assert page.conditions["dual feasibility"] == (r"\lambda_{2} \ge 0",)
    assert page.conditions["complementarity"] == (r"\lambda_{2} \circ (w - 0.6) = 0",)
    assert page.conditions["stationarity"] == (
        r"0 \in -\mathbf{1} + 2 I w + \nu_{1} \mathbf{1} + \lambda_{2} + N_{\mathbb{R}^{2}_{+}}(w)",
    )
    assert dict(page.symbols)[r"\nu_{1}"] == "multiplier, `problem.constraints[0].dual_value`"


@pytest.mark.parametrize(
    ("make", "row"),
    [
        (lambda x: A @ x == B, r"A^{\top} \nu_{1}"),
        (lambda x: x @ C == B[:2], r"C \nu_{1}"),
        (lambda x: B[:2] @ x == 1, r"\nu_{1} a"),
        (lambda x: 3 * x == 1, r"3 \nu_{1}"),
        (lambda x: -x / 4 == 1, r"-0.25 \nu_{1}"),
        (lambda x: cp.multiply(B[:2], x) == 1, r"\nu_{1} \circ a"),
        (lambda x: cp.sum(x) == 1, r"\nu_{1} \mathbf{1}"),
        (lambda x: x[0] == 1, r"\nabla_{x} (\nu_{1} x[0])"),
        (lambda x: x >= 0, r"-\lambda_{1}"),
        (lambda x: x <= 1, r"\lambda_{1}"),
        (lambda x: cp.diag(x) >> 0, r"-\operatorname{diag}(Z_{1})"),
    ],
)
def test_the_adjoint_of_affine_atoms_of_vectors(make: Callable[[Any], Any], row: str) -> None:
    x = cp.Variable(2, name="x")
    assert stationarity(cp.Constant(0.0), [make(x)]) == f"0 = {row}"


@pytest.mark.parametrize(
    ("make", "row"),
    [
        (lambda X: A @ X == 1, r"A^{\top} \nu_{1}"),
        (lambda X: X @ C == 1, r"\nu_{1} C^{\top}"),
        (lambda X: X @ B[:2] == 1, r"\nu_{1} a^{\top}"),
        (lambda X: B[:2] @ X == 1, r"a \nu_{1}^{\top}"),
        (lambda X: 1 == X.T, r"\nu_{1}^{\top}"),
        (lambda X: cp.trace(X) == 1, r"\nu_{1} I"),
        (lambda X: cp.diag(X) == 1, r"\operatorname{diag}(\nu_{1})"),
        (lambda X: cp.sum(X) == 1, r"\nu_{1} \mathbf{1} \mathbf{1}^{\top}"),
        (lambda X: cp.sum(X, axis=0) == 1, r"\mathbf{1} \nu_{1}^{\top}"),
        (lambda X: cp.sum(X, axis=1) == 1, r"\nu_{1} \mathbf{1}^{\top}"),
        (lambda X: cp.sum(cp.multiply(C, X)) == 1, r"\nu_{1} C"),
        (lambda X: X << 1, "Z_{1}"),
    ],
)
def test_the_adjoint_of_affine_atoms_of_matrices(make: Callable[[Any], Any], row: str) -> None:
    X = cp.Variable((2, 2), name="X")
    assert stationarity(cp.Constant(0.0), [make(X)]) == f"0 = {row}"


@pytest.mark.parametrize(
    ("make", "row"),
    [
        (lambda x: cp.sum_squares(A @ x), r"2 A^{\top} A x"),
        (lambda x: cp.quad_form(x, C @ C.T), "2 B x"),
        (lambda x: cp.sum(cp.exp(A @ x)), r"A^{\top} \exp(A x)"),
        (lambda x: -cp.sum(cp.log(x)), r"-x^{\circ -1}"),
        (lambda x: cp.sum(cp.logistic(A @ x)), r"A^{\top} \operatorname{sigmoid}(A x)"),
        (lambda x: cp.log_sum_exp(A @ x), r"A^{\top} \operatorname{softmax}(A x)"),
        (lambda x: cp.sum(cp.square(A @ x)), r"2 A^{\top} A x"),
        (lambda x: cp.square(cp.sum(x)), r"2 \mathbf{1}^{\top} x \mathbf{1}"),
    ],
)
def test_gradients_of_smooth_atoms(make: Callable[[Any], Any], row: str) -> None:
    assert stationarity(make(cp.Variable(2, name="x"))) == f"0 = {row}"


def test_variables_of_one_kink_have_one_inclusion_and_others_their_own() -> None:
    x, y, z = (cp.Variable(2, name=name) for name in "xyz")
    problem = cp.Problem(cp.Minimize(cp.norm1(x - y) + cp.sum_squares(z)), [cp.sum(x + z) == 1])
    assert problem_page(problem).conditions["stationarity"] == (
        r"0 \in \partial_{(x, y)} (\lVert x - y \rVert_{1}) + (\nu_{1} \mathbf{1}, 0)",
        r"0 = 2 z + \nu_{1} \mathbf{1}",
    )


@pytest.mark.every(3)
@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
@pytest.mark.parametrize(
    "make",
    [
        lambda x, y, z: [x <= 1, y == 2, z >= x],
        lambda x, y, z: [cp.SOC(y, cp.hstack([x, z])), y <= 2],
        lambda x, y, z: [cp.ExpCone(x, y, 4 - z), y == 1, x >= -1],
        lambda x, y, z: [cp.PowCone3D(2 - x, y, z, 0.3), y <= 2, x >= -1],
        lambda x, y, z: [cp.PowConeND(cp.hstack([2 - x, y]), z, np.array([0.4, 0.6])), y <= 2, x >= -1],
        lambda x, y, z: [cp.bmat([[y, z], [z, 2 - x]]) >> 0, y <= 3, x >= -1],
    ],
    ids=["rows", "second-order", "exponential", "power", "long power", "semidefinite"],
)
def test_the_lagrangian_is_stationary_at_the_multipliers_of_cvxpy(
    make: Callable[..., list[Any]], sense: Callable[[Any], Any]
) -> None:
    """The signs on the page are those of CVXPY: with its duals in the terms, the gradient is 0."""
    x, y, z = cp.Variable(name="x"), cp.Variable(name="y"), cp.Variable(name="z")
    cost = cp.square(x - 3) + cp.square(y - 3) + cp.square(z - 3)
    sign = 1.0 if sense is cp.Minimize else -1.0
    problem = cp.Problem(sense(sign * cost), make(x, y, z))
    problem.solve(solver="CLARABEL")
    names = ExpressionNames([part for c in (problem.objective, *problem.constraints) for part in c.args], {})
    total: Any = cost
    for k, constraint in enumerate(problem.constraints):
        formulas = constraint_formulas(constraint, k, ExpressionTypesetter(names))
        for term, place in zip(formulas.terms, formulas.places, strict=True):
            dual = np.asarray(eval(place, {"constraints": problem.constraints}))
            total = total + term.weight.number * cp.sum(
                cp.multiply(dual.reshape(term.expression.shape), term.expression)
            )
    for variable in (x, y, z):
        assert total.grad[variable] == pytest.approx(0.0, abs=1e-4)


def test_constraints_of_one_form_in_a_row_are_shortened() -> None:
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [row @ x >= 1 for row in RNG.normal(size=(9, 3))])
    page = problem_page(problem)
    assert page.statement[1:] == (
        r"& a_{1}^{\top} x \ge 1 \quad : \; \lambda_{1}",
        r"& \quad \vdots",
        r"& a_{9}^{\top} x \ge 1 \quad : \; \lambda_{9}",
    )
    assert page.conditions["stationarity"] == (r"0 = \mathbf{1} - \lambda_{1} a_{1} + \cdots - \lambda_{9} a_{9}",)
    assert (r"a_{1}, \ldots, a_{9}", r"data in $\mathbb{R}^{3}$") in page.symbols


def test_names_are_those_of_the_user_or_letters_that_are_free() -> None:
    x, alpha, rate = cp.Variable(2), cp.Variable(name="alpha"), cp.Variable(name="learning_rate")
    first, second = cp.Variable(name="x_max"), cp.Variable(name="x_max")
    problem = cp.Problem(cp.Minimize(cp.sum(x) + alpha + rate + first + second), [x >= 0])
    names = [name for name, _ in problem_page(problem).symbols]
    assert names[:-1] == ["y", r"\alpha", r"\text{learning\_rate}", r"x_{\text{max}}", r"x_{\text{max}}^{(2)}"]
    assert problem_page(problem, {"x": x, "module": np}).symbols[0][0] == "x"
    hats = cp.Problem(cp.Minimize(cp.Variable(name="lambda")), [cp.Variable(name="nu") == 0])
    assert problem_page(hats).statement[1] == r"& \nu = 0 \quad : \; \hat{\nu}_{1}"


@pytest.mark.parametrize(
    ("name", "tex"),
    [
        ("a|b", r"{\text{a}\vert{}\text{b}}"),
        ("<img src=x>", r"{\text{}{<}\text{img src=x}{>}\text{}}"),
        ("*a*", r"{\text{}\ast{}\text{a}\ast{}\text{}}"),
        ("[a](u)", r"{\text{}\lbrack{}\text{a}\rbrack{}\text{(u)}}"),
        ("`a`", r"\text{'a'}"),
        (
            "first\n\n| x | y |\x1b[31m",
            r"{\text{first }\vert{}\text{ x }\vert{}\text{ y }\vert{}\text{ }\lbrack{}\text{31m}}",
        ),
        ("x_a|b", r"x_{{\text{a}\vert{}\text{b}}}"),
        ("5$ & 1\\2", r"\text{5\$ \& 1/2}"),
    ],
)
def test_no_name_ends_a_cell_or_becomes_markup(name: str, tex: str) -> None:
    x, data = cp.Variable(2, name=name), np.array([2.0, 3.0])
    problem = cp.Problem(cp.Minimize(data @ x), [(x >= 1).set_label(name)])
    page = problem_page(problem, {f"{name} of data": data})
    assert page.symbols[0][0] == tex
    for text in texts(page):
        assert_closed(text)
    for text in (*page.statement, *page.lagrangian):
        assert_readable(text)
    table = [line for line in str(page).splitlines() if line.startswith("|")]
    assert all(line.count("|") == 3 for line in table)
    prose = re.sub(r"`problem\.[^`]*`|\*\*", "", str(page))
    assert not re.search(r"<[A-Za-z/!?]|[`*\x1b]|\]\(", prose)


def test_atoms_without_a_formula_are_shown_by_their_names() -> None:
    x = cp.Variable(4, name="x")
    page = problem_page(cp.Problem(cp.Minimize(cp.norm1(cp.cumsum(x)))))
    assert page.statement == (r"\min_{x} & \lVert \operatorname{cumsum}(x) \rVert_{1}",)
    assert r"\nabla" not in page.conditions["stationarity"][0]


def test_a_page_is_shown_by_notebooks_and_has_latex() -> None:
    x = cp.Variable(name="x")
    page = problem_page(cp.Problem(cp.Minimize(cp.square(x)), [x >= 1]))
    markdown = str(page)
    assert markdown.count("$$") == 6 and "| $x$ | variable in" in markdown
    assert markdown == page._repr_markdown_()  # pyright: ignore[reportPrivateUsage]
    assert page.latex.startswith(r"\begin{array}{ll}") and r"\text{stationarity} & \displaystyle 0 = 2 x" in page.latex
    assert repr(page) == r"ProblemPage('\\min_{x} & x^{2}'); print(page) shows its Markdown"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: cp.Problem(cp.Minimize(-cp.square(x))), "convex by CVXPY's rules"),
        (lambda x: cp.Problem(cp.Minimize(x), [cp.square(x) >= 1]), "convex by CVXPY's rules"),
        (lambda x: cp.Problem(cp.Minimize(cp.Variable(boolean=True))), "which is boolean. Typeset"),
        (lambda x: cp.Problem(cp.Minimize(cp.Variable(pos=True) ** 0.5)), "geometric program"),
        (lambda x: "x >= 0", "must be a cvxpy.Problem"),
    ],
)
def test_problems_without_kkt_conditions_are_refused(make: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        problem_page(make(cp.Variable(name="x")))


def test_brackets_are_where_they_are_needed() -> None:
    assert Formula("a + b", 0).transpose == Formula(r"(a + b)^{\top}")
    assert Formula("x^{2}").power("3").text == r"\left(x^{2}\right)^{3}"
    assert Formula(r"X^{\top}").transpose.text == "X"


def test_sparse_data_and_constants_without_names() -> None:
    import scipy.sparse

    x = cp.Variable(3, name="x")
    matrix = scipy.sparse.csc_array(np.diag([1.0, 2.0, 3.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = problem_page(cp.Problem(cp.Minimize(cp.sum(matrix @ x)), [0 * x == np.zeros(3)]))
    assert page.statement[0] == r"\min_{x} & \mathbf{1}^{\top} A x"


def test_constraints_and_terms_of_a_loop_are_shortened_as_blocks() -> None:
    x, u = cp.Variable((2, 7), name="x"), cp.Variable((2, 6), name="u")
    cost, limits = 0, []
    for t in range(6):
        cost += cp.sum_squares(x[:, t]) + cp.norm1(u[:, t])
        limits += [x[:, t + 1] == C @ x[:, t] + u[:, t], u[:, t] <= t]
    page = problem_page(cp.Problem(cp.Minimize(cost), limits), NAMES)
    assert page.statement == (
        r"\min_{x, u} & \lVert x[{:}, 0] \rVert_{2}^{2} + \lVert u[{:}, 0] \rVert_{1} + \cdots + "
        r"\lVert x[{:}, 5] \rVert_{2}^{2} + \lVert u[{:}, 5] \rVert_{1}",
        r"& x[{:}, 1] = C x[{:}, 0] + u[{:}, 0] \quad : \; \nu_{1}",
        r"& u[{:}, 0] \le 0 \quad : \; \lambda_{2}",
        r"& \quad \vdots",
        r"& x[{:}, 6] = C x[{:}, 5] + u[{:}, 5] \quad : \; \nu_{11}",
        r"& u[{:}, 5] \le 5 \quad : \; \lambda_{12}",
    )
    for row in page.conditions["stationarity"]:
        assert r"\cdots" in row and "x[{:}, 3]" not in row and "u[{:}, 3]" not in row


def test_a_transpose_of_data_has_the_name_of_the_data() -> None:
    x = cp.Variable(2, name="x")
    matrix = RNG.normal(size=(3, 2))
    design = cp.Problem(cp.Minimize(cp.sum_squares(matrix.T @ (matrix @ x) - 1)))
    assert problem_page(design, {"V": matrix}).statement == (r"\min_{x} & \lVert V^{\top} V x - 1 \rVert_{2}^{2}",)
    assert problem_page(design).statement == (r"\min_{x} & \lVert A A^{\top} x - 1 \rVert_{2}^{2}",)
    assert [name for name, _ in problem_page(design, {"V": matrix}).symbols] == ["x", "V"]


def test_a_symmetric_matrix_is_its_transpose() -> None:
    L, X = np.array([[2.0, -1.0], [-1.0, 2.0]]), cp.Variable((2, 2), symmetric=True, name="X")
    page = problem_page(cp.Problem(cp.Maximize(cp.trace(L @ X)), [cp.diag(X) == 1, X >> 0]), names={"L": L})
    assert page.statement[0] == r"\max_{X} & \langle L, X \rangle"
    assert page.conditions["stationarity"][0].startswith(r"0 \in -L + \operatorname{diag}(\nu_{1}) - Z_{2} + N")
    assert ("X", r"variable in $\mathbb{R}^{2 \times 2}$, symmetric: in $\mathbb{S}^{2}$") in page.symbols
    square = cp.Variable((2, 2), name="Y")
    square_page = problem_page(cp.Problem(cp.Minimize(cp.trace(L @ square))), names={"L": L})
    assert square_page.statement[0] == r"\min_{Y} & \langle L, Y^{\top} \rangle"
